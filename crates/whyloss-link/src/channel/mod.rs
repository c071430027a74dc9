//! Channels: the error model of a link.
//!
//! A channel decides the fate of each packet when the packet's last bit leaves, in the order of
//! departure. A corrupted packet has therefore used the link's time. The decision depends only on
//! that time, the packet's size and the channel's own random stream. [`ChannelSpec`] describes a
//! channel, and [`Channel`] is its state machine. To choose a channel:
//!
//! | channel | indexed by | losses |
//! |---|---|---|
//! | [`ChannelSpec::Bernoulli`] | packet | independent |
//! | [`GilbertElliott`] | packet | two-state Markov chain, ns-2's order of events |
//! | [`TimedGilbertElliott`] | time | two-state Markov process with exponential sojourns |
//! | [`BurstRenewal`] | packet | bursts of a stated length distribution between good runs that are geometric or vary more |
//! | [`ErrorPattern`] | packet | a recorded pattern |
//! | [`TimedPattern`] | time | a recorded pattern whose packets have times |
//! | [`ChannelSpec::BitErrors`] | bit | none: it damages bits, and the receiver decides |

mod bernoulli;
mod bit_errors;
mod burst_renewal;
mod error;
mod gilbert_elliott;
mod pattern;
mod runs;
mod timed_gilbert_elliott;
mod timed_pattern;
pub mod trace_file;

use whyloss::Time;

use bernoulli::Bernoulli;
use bit_errors::BitErrors;
use burst_renewal::Bursts;
use gilbert_elliott::Chain;
use pattern::Replay;
use timed_gilbert_elliott::Process;
use timed_pattern::TimedReplay;

pub use burst_renewal::BurstRenewal;
pub use error::ChannelError;
pub use gilbert_elliott::GilbertElliott;
pub use pattern::{ErrorPattern, NextTrial};
pub use runs::Runs;
pub use timed_gilbert_elliott::TimedGilbertElliott;
pub use timed_pattern::TimedPattern;

use crate::random::Random;

/// Describes a channel; [`ChannelSpec::build`] makes the state machine.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum ChannelSpec {
    /// No channel: every packet arrives undamaged.
    #[default]
    None,
    /// Loses each packet independently.
    Bernoulli {
        /// The probability of loss, in [0, 1].
        loss: f64,
    },
    /// Loses packets by a two-state chain that steps once per packet.
    GilbertElliott(GilbertElliott),
    /// Loses packets by a two-state process in continuous time.
    TimedGilbertElliott(TimedGilbertElliott),
    /// Loses packets in bursts of a stated length distribution between good runs.
    BurstRenewal(BurstRenewal),
    /// Damages bits independently, with exponential gaps between them (ELA-12).
    BitErrors {
        /// The bit error rate (BER), in [0, 1]: k bits are clean with probability e^(−rate·k).
        rate: f64,
    },
    /// Replays a recorded pattern of lost and good packets, one entry per packet.
    Pattern {
        /// The recording, shared by all channels that replay it.
        pattern: ErrorPattern,
        /// The point at which the replay continues after the end of a trial.
        next: NextTrial,
    },
    /// Replays a recorded pattern by time.
    TimedPattern {
        /// The recording, shared by all channels that replay it.
        pattern: TimedPattern,
        /// The point at which the replay continues after the end of a trial.
        next: NextTrial,
    },
    /// Sends each packet in several slots of another channel and loses it if any slot is lost. In
    /// CEN-27 (5), a 762-byte packet travels as two coded 381-byte packets.
    Slots {
        /// The channel of the slots.
        channel: Box<ChannelSpec>,
        /// The number of slots per packet, at least 1.
        per_packet: u32,
    },
}

impl ChannelSpec {
    /// Checks that the values describe a possible channel.
    ///
    /// # Errors
    /// Returns a [`ChannelError`] that names the invalid value and its permitted range.
    pub fn check(&self) -> Result<(), ChannelError> {
        match self {
            // A pattern is checked when it is built.
            Self::None | Self::Pattern { .. } | Self::TimedPattern { .. } => Ok(()),
            Self::Bernoulli { loss } => error::probability("loss", *loss),
            Self::BitErrors { rate } => {
                ChannelError::in_range("rate", *rate, 0.0..=1.0, "bit errors per bit, in [0, 1]")
            }
            Self::GilbertElliott(spec) => spec.check(),
            Self::TimedGilbertElliott(spec) => spec.check(),
            Self::BurstRenewal(spec) => spec.check(),
            Self::Slots {
                channel,
                per_packet,
            } => {
                ChannelError::in_range(
                    "per_packet",
                    f64::from(*per_packet),
                    1.0..=1024.0,
                    "1 to 1024 slots",
                )?;
                if matches!(**channel, Self::BitErrors { .. }) {
                    return Err(ChannelError::SlotsOfBits);
                }
                channel.check()
            }
        }
    }

    /// Returns whether the channel can damage a packet without losing it.
    pub fn damages(&self) -> bool {
        matches!(self, Self::BitErrors { .. })
    }

    /// Returns the stationary share of lost packets, in [0, 1]. Returns `None` if the share depends
    /// on the times or sizes of packets.
    pub fn loss_rate(&self) -> Option<f64> {
        self.clear_run(1).map(|clear| 1.0 - clear)
    }

    /// Returns the stationary probability that `n` packets in a row are good; `None` if it depends
    /// on when packets arrive.
    fn clear_run(&self, n: u32) -> Option<f64> {
        match self {
            Self::None => Some(1.0),
            Self::BitErrors { .. } => None,
            Self::Bernoulli { loss } => Some(libm::pow(1.0 - loss, f64::from(n))),
            Self::GilbertElliott(spec) => Some(spec.clear_run(n)),
            Self::TimedGilbertElliott(spec) => (n == 1).then(|| 1.0 - spec.loss_rate()),
            Self::BurstRenewal(spec) => Some(spec.clear_run(n)),
            Self::Pattern { pattern, next } => match next {
                NextTrial::Same => Some(pattern.clear_run(n)),
                NextTrial::Random => (n == 1).then(|| 1.0 - pattern.loss_rate()),
            },
            Self::TimedPattern { pattern, .. } => (n == 1).then(|| 1.0 - pattern.loss_rate()),
            Self::Slots {
                channel,
                per_packet,
            } => channel.clear_run(n.checked_mul(*per_packet)?),
        }
    }

    /// Returns a source that draws runs instead of packets; `None` for channels that depend on time
    /// or replay a recording. The source begins in equilibrium.
    pub fn runs(&self, random: Random) -> Option<Runs> {
        match self {
            Self::Bernoulli { loss } => {
                let chain = GilbertElliott {
                    p_good_to_bad: *loss,
                    p_bad_to_good: 1.0 - loss,
                    loss_good: 0.0,
                    loss_bad: 1.0,
                };
                Some(Runs::chain(&chain, random))
            }
            Self::GilbertElliott(spec) => Some(Runs::chain(spec, random)),
            Self::BurstRenewal(spec) => Some(Runs::bursts(spec, random)),
            _ => None,
        }
    }

    /// Builds the channel, which draws from `random`. Never panics, but the channel is meaningful
    /// only if [`ChannelSpec::check`] passes.
    pub fn build(&self, random: Random) -> Channel {
        Channel(match self {
            Self::None => Machine::None,
            Self::Bernoulli { loss } => Machine::Bernoulli(Bernoulli::new(*loss, random)),
            Self::BitErrors { rate } => Machine::Bits(BitErrors::new(*rate, random)),
            Self::GilbertElliott(spec) => Machine::Chain(Chain::new(*spec, random)),
            Self::TimedGilbertElliott(spec) => Machine::Process(Process::new(*spec, random)),
            Self::BurstRenewal(spec) => Machine::Bursts(Bursts::new(spec, random)),
            Self::Pattern { pattern, next } => {
                Machine::Replay(Replay::new(pattern.clone(), *next, random))
            }
            Self::TimedPattern { pattern, next } => {
                Machine::TimedReplay(TimedReplay::new(pattern.clone(), *next, random))
            }
            Self::Slots {
                channel,
                per_packet,
            } => Machine::Slots(Box::new(channel.build(random)), *per_packet),
        })
    }
}

/// The state machine of a channel, made by [`ChannelSpec::build`].
#[derive(Clone, Debug)]
pub struct Channel(Machine);

#[derive(Clone, Debug)]
enum Machine {
    None,
    Bernoulli(Bernoulli),
    Bits(BitErrors),
    Chain(Chain),
    Process(Process),
    Bursts(Bursts),
    Replay(Replay),
    TimedReplay(TimedReplay),
    Slots(Box<Channel>, u32),
}

/// The effect of a channel on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// The channel leaves the packet as it is.
    None,
    /// The packet arrives with damaged bits, the first at this offset in bits.
    /// [`Channel::damaged_bits`] has all of them.
    Damaged(u32),
    /// The packet is lost.
    Lost,
}

impl Channel {
    /// Decides the fate of a packet of `size` bytes whose last bit leaves at `at`. Times must not
    /// decrease.
    #[inline]
    pub fn harms(&mut self, at: Time, size: u32) -> Harm {
        // Most links have no channel, and most others a Bernoulli channel, so both avoid a call.
        match &mut self.0 {
            Machine::None => Harm::None,
            Machine::Bernoulli(bernoulli) => {
                if bernoulli.corrupts() {
                    Harm::Lost
                } else {
                    Harm::None
                }
            }
            _ => self.draw(at, size),
        }
    }

    /// Returns the damaged bits of the last packet, as offsets in bits, in ascending order. Only
    /// [`ChannelSpec::BitErrors`] has any.
    pub fn damaged_bits(&self) -> &[u32] {
        match &self.0 {
            Machine::Bits(errors) => errors.damaged(),
            _ => &[],
        }
    }

    /// Returns whether the last packet met the bad state; `None` for channels without two states.
    pub fn is_bad(&self) -> Option<bool> {
        match &self.0 {
            Machine::Chain(chain) => Some(chain.is_bad()),
            Machine::Process(process) => Some(process.is_bad()),
            Machine::Slots(channel, _) => channel.is_bad(),
            _ => None,
        }
    }

    #[inline(never)]
    fn draw(&mut self, at: Time, size: u32) -> Harm {
        let lost = match &mut self.0 {
            Machine::None => false,
            Machine::Bits(errors) => {
                return errors.damages(size).map_or(Harm::None, Harm::Damaged);
            }
            Machine::Bernoulli(bernoulli) => bernoulli.corrupts(),
            Machine::Chain(chain) => chain.corrupts(),
            Machine::Process(process) => process.corrupts(at),
            Machine::Bursts(bursts) => bursts.corrupts(),
            Machine::Replay(replay) => replay.corrupts(),
            Machine::TimedReplay(replay) => replay.corrupts(at),
            // All slots are drawn, even after a lost one, so that every packet uses the same number
            // of slots.
            Machine::Slots(channel, per_packet) => {
                let share = size / (*per_packet).max(1);
                (0..*per_packet).fold(false, |lost, _| {
                    (channel.harms(at, share) != Harm::None) | lost
                })
            }
        };
        if lost { Harm::Lost } else { Harm::None }
    }
}

#[cfg(test)]
mod tests {
    use whyloss::Duration;

    use super::*;
    use crate::random::Streams;

    /// Returns the losses of `n` packets that leave 1 ms apart.
    pub(super) fn losses(spec: &ChannelSpec, seed: u64, n: u64) -> Vec<bool> {
        spec.check().unwrap();
        let mut channel = spec.build(Streams::new(seed).stream("channel", 0));
        (0..n)
            .map(|i| channel.harms(Time::from_nanos(i * 1_000_000), 762) == Harm::Lost)
            .collect()
    }

    /// Returns the share of `true`.
    pub(super) fn rate(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
    }

    /// Counts bursts of length 1, 2, …; the last count includes all longer ones.
    pub(super) fn bursts<const N: usize>(lost: &[bool]) -> [f64; N] {
        let mut counts = [0.0; N];
        for run in lost.chunk_by(|a, b| a == b).filter(|run| run[0]) {
            counts[run.len().min(N) - 1] += 1.0;
        }
        counts
    }

    const TIMED: TimedGilbertElliott = TimedGilbertElliott {
        mean_good: Duration::from_millis(90),
        mean_bad: Duration::from_millis(10),
        loss_good: 0.01,
        loss_bad: 0.7,
    };

    fn zoo() -> Vec<ChannelSpec> {
        let pattern = ErrorPattern::new([
            vec![true, false, false, true, false],
            vec![false, false, true, false, false, false, false, false],
        ])
        .unwrap();
        vec![
            ChannelSpec::None,
            ChannelSpec::Bernoulli { loss: 0.078 },
            ChannelSpec::GilbertElliott(GilbertElliott::from_loss_and_stay(0.078, 0.25).unwrap()),
            ChannelSpec::TimedGilbertElliott(TIMED),
            ChannelSpec::BurstRenewal(BurstRenewal::cen(0.078)),
            ChannelSpec::Pattern {
                pattern: pattern.clone(),
                next: NextTrial::Random,
            },
            ChannelSpec::Slots {
                channel: Box::new(ChannelSpec::Bernoulli { loss: 0.04 }),
                per_packet: 2,
            },
        ]
    }

    #[test]
    fn same_seed_same_losses() {
        for spec in zoo() {
            assert_eq!(losses(&spec, 7, 2_000), losses(&spec, 7, 2_000));
        }
        let bernoulli = ChannelSpec::Bernoulli { loss: 0.5 };
        assert_ne!(losses(&bernoulli, 7, 100), losses(&bernoulli, 8, 100));
    }

    #[test]
    fn the_stationary_rate_holds_from_the_first_packet() {
        // One packet on each of 40 000 channels: σ of the rate is below 0.0025; 4 σ.
        // Gilbert–Elliott is excepted, because it starts in the good state, as in ns-2.
        for spec in zoo() {
            if matches!(spec, ChannelSpec::GilbertElliott(_)) {
                continue;
            }
            let expected = spec.loss_rate().unwrap();
            let first: Vec<bool> = (0..40_000).map(|seed| losses(&spec, seed, 1)[0]).collect();
            assert!((rate(&first) - expected).abs() < 0.01, "{spec:?}");
        }
    }

    #[test]
    fn impossible_channels_are_refused() {
        const EMPTY: &str = "trial 2 of the error pattern (counted from 1) is empty";
        const UNTIMED: &str = "trial 1 of the error pattern (counted from 1) needs a time for each";
        let nan = f64::NAN;
        let bernoulli = |loss| ChannelSpec::Bernoulli { loss }.check();
        let bit_errors = ChannelSpec::BitErrors { rate: 1.5 };
        let slots = ChannelSpec::Slots {
            channel: Box::new(ChannelSpec::BitErrors { rate: 1e-5 }),
            per_packet: 2,
        };
        let chain = |loss, stay| GilbertElliott::from_loss_and_stay(loss, stay).map(drop);
        let timed = |millis| {
            let mean_bad = Duration::from_millis(millis);
            TimedGilbertElliott { mean_bad, ..TIMED }.check()
        };
        let bursts = |loss, lengths: &[f64]| {
            let lengths = lengths.to_vec();
            let cen = BurstRenewal::cen(loss);
            BurstRenewal { lengths, ..cen }.check()
        };
        let varied = |loss, cv| {
            let good_run_cv = Some(cv);
            let cen = BurstRenewal::cen(loss);
            BurstRenewal { good_run_cv, ..cen }.check()
        };
        let pattern = |trials: &[&[bool]]| ErrorPattern::new(trials).map(drop);
        let times = |times: &[i64]| {
            let lost = ErrorPattern::new([vec![false, true]])?;
            TimedPattern::new(&lost, [times]).map(drop)
        };
        for (checked, message) in [
            (bernoulli(-0.1), "loss is -0.1"),
            (bernoulli(1.1), "loss is 1.1"),
            (
                bernoulli(1.5),
                "loss is 1.5; it must be a probability, in [0, 1]",
            ),
            (bernoulli(nan), "loss is NaN"),
            (bernoulli(f64::INFINITY), "loss is inf"),
            (
                bit_errors.check(),
                "rate is 1.5; it must be bit errors per bit, in [0, 1]",
            ),
            (slots.check(), "slots need a channel that loses packets"),
            (chain(0.6, 0.0), "loss is 0.6; it must be in [0, 1/(2"),
            (chain(0.1, nan), "stay is NaN"),
            (chain(0.5, 1.0), "stay is 1, so every packet"),
            (timed(0), "mean_bad is 0"),
            (timed(-1), "mean_bad is -0.001"),
            // The coefficient of variation is below that of a geometric distribution, or the runs
            // are too short for a mixture.
            (varied(0.078, 0.9), "good_run_cv is 0.9"),
            (varied(0.078, nan), "good_run_cv is NaN"),
            (varied(0.4, 2.0), "good_run_cv is 2"),
            (bursts(0.1, &[0.5, 0.25]), "probabilities sum to 0.75"),
            (bursts(0.6, &[1.0]), "mean burst it must be at most 0.5"),
            (bursts(0.1, &[]), "lengths is 0"),
            (bursts(nan, &[1.0]), "loss is NaN"),
            (bursts(0.1, &[1.5, -0.5]), "length's probability is 1.5"),
            (pattern(&[]), "the error pattern has no trial"),
            (pattern(&[&[true], &[]]), EMPTY),
            (times(&[2, 1]), UNTIMED),
            (times(&[1]), UNTIMED),
        ] {
            let error = checked.expect_err(message).to_string();
            assert!(error.contains(message), "{error}, not {message}");
        }
        for possible in [chain(0.5, 0.0), chain(0.0, 1.0), chain(1.0, 1.0), timed(10)] {
            assert_eq!(possible, Ok(()));
        }
    }

    #[test]
    fn two_slots_are_lost_more_often_than_one() {
        // 1 − 0.96² for independent slots; p + (1−p)·enter for the chain; p + (share of packets
        // that end a good run) for bursts.
        let two = |channel| ChannelSpec::Slots {
            channel: Box::new(channel),
            per_packet: 2,
        };
        let chain = GilbertElliott::from_loss_and_stay(0.078, 0.25).unwrap();
        let specs = [
            (two(ChannelSpec::Bernoulli { loss: 0.04 }), 0.0784),
            (
                two(ChannelSpec::GilbertElliott(chain)),
                0.078 + 0.922 * chain.p_good_to_bad,
            ),
            (
                two(ChannelSpec::BurstRenewal(BurstRenewal::cen(0.078))),
                0.078 + 0.078 / 1.25,
            ),
        ];
        for (spec, expected) in specs {
            let stated = spec.loss_rate().unwrap();
            assert!((stated - expected).abs() < 1e-12);
            // The 200 000 packets are correlated: σ is below 0.001, bursts included.
            assert!((rate(&losses(&spec, 3, 200_000)) - expected).abs() < 0.004);
        }
    }
}
