//! The CDMA radio channel of Cen, Cosman and Voelker (MMCN 2002, section 5.2, Table 1), from its
//! physics.
//!
//! Their error patterns came from a simulation "based on" Zhao, Cosman and Milstein, *Tradeoffs of
//! source coding, channel coding and spreading in CDMA systems* (MILCOM 2000): convolutional code,
//! interleaver, direct-sequence spreading, frequency-selective Rayleigh fading. Neither that paper
//! nor its traces are available, so this crate simulates the same chain with the same parameters.
//! No parameter was fitted to Table 1.
//!
//! ```text
//! information bits → rate-1/2 convolutional code, zero tail per packet → block interleaver over 2 or 3 packets
//!   → BPSK, spread by N → L Rayleigh paths, K users, noise → RAKE (maximal ratio) → soft Viterbi
//!
//! RAKE output for a code bit b = ±1 of unit energy:   y = g·b + √(g·σ²)·ν,   g = Σ_l |α_l|²,  ν ~ N(0, 1)
//! σ² = N₀/(2·E_s) + I,      E_s = E_b/2 (E_b per information bit) or E_b (per code bit)
//! I  = 0 | (K − 1)/(3N) | (K − 1/L)/(3N)     no interference | by other users | also by the user's other paths
//! packet lost ⇔ any decoded information bit wrong
//! ```
//!
//! The interference terms are the Gaussian approximation for asynchronous users with random
//! sequences (Pursley 1977). Eng and Milstein (1995) give it for multipath, with L equal paths and
//! L RAKE fingers. Channel estimates are perfect; there is no power control and no shadowing.
//!
//! The paper leaves these points open; [`Parameters::cen`] takes these readings:
//!
//! | open | reading taken | why |
//! |---|---|---|
//! | T_c in f_D·T_c = 2.62e-4 | duration of a code bit | 300 kbit/s coded: f_D = 79 Hz, 42 km/h at 2 GHz. As a chip (4.8 Mchip/s) it would be 1.26 kHz, 680 km/h |
//! | E_b | per information bit, received on all paths together | the field's convention with channel coding and diversity |
//! | noise | thermal alone; interference adds to it | users are listed next to E_b/N₀, and not I₀ |
//! | spreading gain N | chips per code bit; the bit rate stays | "150 Kbps" is said of all levels |
//! | own paths | interfere | the same group's analyses include them |
//! | code | memory 6, (133, 171) octal | only the rate is given; Hagenauer's RCPC family, which the authors' later work names, has it at rate 1/2, and it is the field's default |
//! | trellis | tail per packet | packets are decoded and judged one by one |
//! | interleaver | nearly square block | only its size is given |
//!
//! These readings together do not give Table 1: they lose 74, 77 and 59 % of packets, against 7.8,
//! 3.1 and 1.0 %. No reading tried alone does either. With E_b per code bit and an interleaver of
//! 32 columns, the bit error rates are 7.1e-5, 2.9e-5 and 1.1e-5 (the paper: 8.7e-5, 2.8e-5,
//! 7.1e-6), and the losses 2.6, 1.5 and 0.5 %. With E_b on each path and memory 4, the high level
//! comes close: 9.7 % of packets are lost, and 27 % of bursts have two packets, 5 % more. The
//! example `readings` prints all results. Until the original parameters are found, use
//! [`BurstRenewal::cen`](whyloss_link::channel::BurstRenewal::cen), which meets the stated rates.
//! This channel shows the effect of the physics on packets.
#![forbid(unsafe_code)]

mod convolutional;
mod fading;
mod interleaver;
mod noise;
mod receiver;

use whyloss_link::Random;
use whyloss_link::channel::ChannelError;

use convolutional::Code;
use fading::Fading;
use noise::Normal;
use receiver::Receiver;

/// Describes a CDMA channel; the crate documents the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The spreading gain N, in chips per code bit.
    pub spreading_gain: u32,
    /// The number K of users on the air, this one included.
    pub users: u32,
    /// The number L of paths that the receiver resolves, all of equal mean power.
    pub paths: u32,
    /// The energy per bit over the noise density, E_b/N₀, in decibels, averaged over fading.
    pub eb_n0_db: f64,
    /// The kind of bit that has the energy E_b.
    pub energy: Energy,
    /// Whether the receiver gets the energy E_b on all paths together or on each path.
    pub received: Received,
    /// The sources of interference at the receiver.
    pub interference: Interference,
    /// The Doppler frequency times the duration of a code bit, f_D·T, which has no unit.
    pub doppler: f64,
    /// The convolutional code of the packets.
    pub code: Convolution,
    /// The number of packets that are interleaved together.
    pub interleaver_packets: u32,
    /// The number of columns of the interleaver's rectangle; `None` for the smallest square.
    pub interleaver_columns: Option<u32>,
    /// The packet size in information bytes.
    pub packet_bytes: u32,
}

/// Names the three channels of Cen et al.'s Table 1 by their loss rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A spreading gain of 16 and an interleaver of 2 packets (the paper: 7.8 % of packets lost,
    /// bit error rate 8.7e-5).
    High,
    /// A spreading gain of 16 and an interleaver of 3 packets (3.1 %, 2.8e-5).
    Medium,
    /// A spreading gain of 32 and an interleaver of 2 packets (1.0 %, 7.1e-6).
    Low,
}

/// Says which kind of bit has the energy per bit E_b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Energy {
    /// E_b is the energy of an information bit; a code bit has half of it.
    PerInformationBit,
    /// E_b is the energy of a code bit.
    PerCodeBit,
}

/// Says on which paths the receiver gets the energy per bit E_b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// E_b is received on all paths together.
    OnAllPaths,
    /// E_b is received on each path, so that L paths together receive L times as much.
    OnEachPath,
}

/// Lists what disturbs a path besides thermal noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interference {
    /// Only thermal noise disturbs a path.
    None,
    /// The signals of the other users.
    OtherUsers,
    /// The signals of the other users, and this user's signal on the other paths.
    OtherUsersAndOwnPaths,
}

/// Names a convolutional code of rate 1/2 by its memory, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convolution {
    /// The code (23, 35) in octal, with free distance 7.
    Memory4,
    /// The code (133, 171) in octal, with free distance 10.
    Memory6,
    /// The code (753, 561) in octal, with free distance 12, which IS-95 and cdma2000 use.
    Memory8,
}

/// The fate of each packet in one run of the radio, and the counts of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Whether the packet of each slot was lost.
    pub lost: Vec<bool>,
    /// The number of information bits that were decoded wrongly.
    pub bit_errors: u64,
    /// The number of information bits sent.
    pub bits: u64,
}

impl Parameters {
    /// Returns the channel of Cen et al. at one of the levels of their Table 1 (CEN-25, CEN-26).
    pub const fn cen(level: Level) -> Self {
        let (spreading_gain, interleaver_packets) = match level {
            Level::High => (16, 2),
            Level::Medium => (16, 3),
            Level::Low => (32, 2),
        };
        Self {
            spreading_gain,
            users: 5,
            paths: 4,
            eb_n0_db: 4.0,
            energy: Energy::PerInformationBit,
            received: Received::OnAllPaths,
            interference: Interference::OtherUsersAndOwnPaths,
            doppler: 2.62e-4,
            code: Convolution::Memory6,
            interleaver_packets,
            interleaver_columns: None,
            packet_bytes: 381,
        }
    }

    /// The number of slots in one of the paper's 100 trials: 12 s of 381-byte packets at 150
    /// kbit/s.
    pub const CEN_SLOTS: usize = 590;

    /// Checks that the values describe a possible channel.
    ///
    /// # Errors
    /// Returns an error that names the invalid value and its permitted range.
    pub fn check(&self) -> Result<(), ChannelError> {
        const MANY: u32 = u32::MAX;
        let columns = self.interleaver_columns.unwrap_or(1);
        for (name, value, most, expected) in [
            ("spreading_gain", self.spreading_gain, MANY, "at least 1"),
            ("users", self.users, MANY, "at least 1"),
            ("paths", self.paths, fading::MAX_PATHS, "1 to 8"),
            (
                "interleaver_packets",
                self.interleaver_packets,
                64,
                "1 to 64",
            ),
            ("interleaver_columns", columns, MANY, "at least 1"),
            ("packet_bytes", self.packet_bytes, 65_535, "1 to 65535"),
        ] {
            ChannelError::in_range(name, f64::from(value), 1.0..=f64::from(most), expected)?;
        }
        ChannelError::in_range("eb_n0_db", self.eb_n0_db, -50.0..=100.0, "in [-50, 100] dB")?;
        ChannelError::in_range(
            "doppler",
            self.doppler,
            1e-7..=0.1,
            "in [1e-7, 0.1] Doppler periods per code bit",
        )
    }

    /// Simulates packets in `slots` consecutive slots over fading that starts in equilibrium.
    ///
    /// # Errors
    /// Returns the errors of [`Parameters::check`].
    pub fn trial(&self, slots: usize, random: Random) -> Result<Trial, ChannelError> {
        self.check()?;
        Ok(self.run(slots, random))
    }

    /// Returns σ², the variance of noise and interference on a path, for code bits of unit energy.
    fn variance(&self) -> f64 {
        let rate = match self.energy {
            Energy::PerInformationBit => 0.5,
            Energy::PerCodeBit => 1.0,
        };
        let received = match self.received {
            Received::OnAllPaths => 1.0,
            Received::OnEachPath => f64::from(self.paths),
        };
        let es_n0 = received * rate * libm::pow(10.0, self.eb_n0_db / 10.0);
        let interferers = match self.interference {
            Interference::None => 0.0,
            Interference::OtherUsers => f64::from(self.users) - 1.0,
            Interference::OtherUsersAndOwnPaths => {
                f64::from(self.users) - 1.0 / f64::from(self.paths)
            }
        };
        0.5 / es_n0 + interferers / (3.0 * f64::from(self.spreading_gain))
    }

    fn run(&self, slots: usize, mut random: Random) -> Trial {
        let code = Code::new(match self.code {
            Convolution::Memory4 => [0o23, 0o35],
            Convolution::Memory6 => [0o133, 0o171],
            Convolution::Memory8 => [0o753, 0o561],
        });
        let bits = 8 * self.packet_bytes as usize;
        let coded = 2 * (bits + code.memory());
        let block = coded * self.interleaver_packets as usize;
        let columns = match self.interleaver_columns {
            Some(columns) => columns as usize,
            None => interleaver::square(block),
        };
        let places = interleaver::places(block, columns);
        let normal = Normal::new();
        let mut fading = Fading::new(self.paths as usize, self.doppler, &normal, &mut random);
        let quantiser = Quantiser::new(self.variance(), code.soft_max());
        let mut receiver = Receiver::new(code, bits);

        // One block on the air.
        let mut powers = vec![0.0; places.len()];
        let mut noise = vec![0.0; places.len()];
        let mut soft = vec![0; places.len()];
        let mut sent = 0;
        while sent < slots {
            fading.powers(&normal, &mut random, &mut powers);
            normal.fill(&mut random, &mut noise);
            quantiser.soft_values(&powers, &noise, &mut soft);
            for packet in places.chunks_exact(coded).take(slots - sent) {
                let in_order = packet.iter().map(|&place| soft[place as usize]);
                receiver.receive(in_order, &mut random);
                sent += 1;
            }
        }
        receiver.finish(&mut random)
    }
}

/// Converts combined power and noise into the soft values of a decoder.
struct Quantiser {
    deviation: f32,
    scale: f32,
    max: f32,
}

impl Quantiser {
    /// Returns a quantiser with uniform steps up to `max`, which is reached at twice the mean
    /// amplitude.
    fn new(variance: f64, max: i8) -> Self {
        Self {
            deviation: libm::sqrt(variance) as f32,
            scale: 0.5 * f32::from(max),
            max: f32::from(max),
        }
    }

    /// Writes the RAKE's output for each code bit, positive where correct, rounded to the decoder's
    /// integers.
    fn soft_values(&self, powers: &[f32], noise: &[f32], out: &mut [i8]) {
        // After adding 1.5·2²³, the low bits hold the integer nearest to a small number.
        const ROUND: f32 = 12_582_912.0;
        for ((out, &power), &noise) in out.iter_mut().zip(powers).zip(noise) {
            // IEEE square roots are the same to the last bit on all machines.
            let y = self.scale * rake_output(power, self.deviation * noise);
            *out = (y.clamp(-self.max, self.max) + ROUND).to_bits() as i8;
        }
    }
}

/// Returns g + √g·noise: maximal-ratio combining of paths with combined power g and equal noise on
/// each.
#[inline]
fn rake_output(power: f32, noise: f32) -> f32 {
    power + power.sqrt() * noise
}

#[cfg(test)]
mod tests;
