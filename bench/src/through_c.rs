//! Drives one connection through Rust and through the C interface with the same packets, to compare
//! their cost.

use std::ffi::CString;
use std::hint::black_box;
use std::ptr::{null, null_mut};

use whyloss::connection::Connection;
use whyloss::{Rate, Time, congestion, schemes};
use whyloss_capi::scheme::{
    Allowance, Scheme, SchemeOptions, UNPACED, whyloss_scheme_allowance, whyloss_scheme_drop,
    whyloss_scheme_init, whyloss_scheme_on_acked, whyloss_scheme_on_lost, whyloss_scheme_on_sent,
    whyloss_scheme_size,
};
use whyloss_capi::{ABI, Status};

const MTU: u32 = 1200;
/// The number of packets that a connection tracks.
const PACKETS: usize = 1024;
/// The number of packets per round.
const FLIGHT: u64 = 32;

/// The number of calls per round. Each sent packet takes one call. Each acknowledgement of two
/// packets takes two, because a query of the window and the pacing rate follows. Losses are too
/// rare to count.
pub const CALLS: u64 = FLIGHT + 2 * FLIGHT / 2;

/// A connection that handles the events of packets.
pub trait End {
    /// Handles the sending of packet `number`.
    fn sent(&mut self, number: u64, now: u64);
    /// Handles an acknowledgement of these packets.
    fn acked(&mut self, numbers: &[u64], now: u64);
    /// Handles the loss of this packet.
    fn lost(&mut self, number: u64, now: u64);
    /// Returns the window, the bytes in flight, the pacing rate, and the burst size.
    fn allowance(&mut self) -> [u64; 4];
}

/// Runs this number of rounds of 50 ms each, with a loss of every 500th packet.
pub fn run(end: &mut impl End, rounds: u64) -> u64 {
    let (mut now, mut sum) = (1_000_000_000, 0_u64);
    for round in 0..rounds {
        let numbers = round * FLIGHT..(round + 1) * FLIGHT;
        for number in numbers.clone() {
            now += 100_000;
            end.sent(number, now);
        }
        now += 50_000_000 + round % 7 * 90_000;
        for number in numbers.step_by(2) {
            now += 200_000;
            if number % 500 == 0 {
                end.acked(&[number + 1], now);
                end.lost(number, now);
            } else {
                end.acked(&[number, number + 1], now);
            }
            sum = sum.wrapping_add(end.allowance().iter().sum());
        }
    }
    sum
}

/// The connection in Rust.
#[derive(Debug)]
pub struct ThroughRust(Connection);

impl ThroughRust {
    /// Creates a connection with the scheme of this name.
    pub fn new(name: &str) -> Self {
        let mut schemes = schemes::REGISTRY.iter();
        let entry = schemes.find(|entry| entry.id == name);
        let scheme = entry.and_then(|entry| entry.build(&[]).ok());
        let scheme = scheme.expect("the registry has the scheme");
        let mut connection = Connection::new(&scheme, MTU).most_packets(PACKETS);
        connection.reserve().expect("there is memory");
        Self(connection)
    }
}

impl End for ThroughRust {
    fn sent(&mut self, number: u64, now: u64) {
        let now = Time::from_nanos(now);
        self.0.on_packet_sent(number, MTU.into(), now, false);
    }

    fn acked(&mut self, numbers: &[u64], now: u64) {
        let now = Time::from_nanos(now);
        self.0.on_packets_acked(numbers.iter().copied(), now);
    }

    fn lost(&mut self, number: u64, now: u64) {
        self.0.on_packets_lost([number], Time::from_nanos(now));
    }

    fn allowance(&mut self) -> [u64; 4] {
        let pacing = self.0.pacing_rate();
        let quantum = pacing.map_or(u64::MAX, |rate| congestion::send_quantum(rate, MTU));
        let rate = pacing.map_or(UNPACED, Rate::as_bps);
        [self.0.window(), self.0.in_flight(), rate, quantum].map(|value| value >> 8)
    }
}

/// The same connection behind function pointers, as in a C program.
#[derive(Debug)]
pub struct ThroughC {
    scheme: *mut Scheme,
    _memory: Vec<u128>,
    calls: Calls,
}

type Sent = unsafe extern "C" fn(*mut Scheme, u64, u32, u64, i32) -> Status;
type Acked = unsafe extern "C" fn(*mut Scheme, *const u64, usize, u64) -> Status;

#[derive(Clone, Copy, Debug)]
struct Calls {
    sent: Sent,
    acked: Acked,
    allowance: unsafe extern "C" fn(*mut Scheme, *mut Allowance) -> Status,
}

impl ThroughC {
    /// Creates a connection with the scheme of this name.
    pub fn new(name: &str) -> Self {
        let name = CString::new(name).expect("a name has no zeros");
        let size = whyloss_scheme_size();
        let mut memory = vec![0_u128; size.div_ceil(16)];
        let scheme = memory.as_mut_ptr().cast();
        let options = SchemeOptions {
            abi: ABI,
            mtu: MTU,
            name: name.as_ptr(),
            parameters: null(),
            packets: PACKETS,
        };
        // SAFETY: the memory has the requested size, and the options outlive the call.
        let status =
            unsafe { whyloss_scheme_init(scheme, size, &raw const options, null_mut(), 0) };
        assert_eq!(status, Status::Ok);
        // `black_box` prevents inlining, which is also impossible in C programs.
        let calls = black_box(Calls {
            sent: whyloss_scheme_on_sent,
            acked: whyloss_scheme_on_acked,
            allowance: whyloss_scheme_allowance,
        });
        Self {
            scheme,
            _memory: memory,
            calls,
        }
    }
}

impl End for ThroughC {
    fn sent(&mut self, number: u64, now: u64) {
        // SAFETY: `new` initialised the scheme.
        let status = unsafe { (self.calls.sent)(self.scheme, number, MTU, now, 0) };
        debug_assert_eq!(status, Status::Ok);
    }

    fn acked(&mut self, numbers: &[u64], now: u64) {
        let (first, count) = (numbers.as_ptr(), numbers.len());
        // SAFETY: the scheme is initialised, and `first` points to `count` numbers.
        let status = unsafe { (self.calls.acked)(self.scheme, first, count, now) };
        debug_assert_eq!(status, Status::Ok);
    }

    fn lost(&mut self, number: u64, now: u64) {
        let first = &raw const number;
        // SAFETY: the scheme is initialised, and `first` points to one number.
        let status = unsafe { whyloss_scheme_on_lost(self.scheme, first, 1, now, null_mut()) };
        debug_assert_eq!(status, Status::Ok);
    }

    fn allowance(&mut self) -> [u64; 4] {
        let mut said = Allowance {
            window: 0,
            in_flight: 0,
            pacing_bps: 0,
            quantum: 0,
        };
        // SAFETY: the scheme is initialised, and `said` is writable.
        let status = unsafe { (self.calls.allowance)(self.scheme, &raw mut said) };
        debug_assert_eq!(status, Status::Ok);
        [said.window, said.in_flight, said.pacing_bps, said.quantum].map(|value| value >> 8)
    }
}

impl Drop for ThroughC {
    fn drop(&mut self) {
        // SAFETY: `new` initialised the scheme, and nothing uses it after the drop.
        unsafe { whyloss_scheme_drop(self.scheme) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_decide_alike() {
        for name in ["newreno", "whyloss", "bbr"] {
            let rust = run(&mut ThroughRust::new(name), 1000);
            assert_eq!(rust, run(&mut ThroughC::new(name), 1000), "{name}");
        }
    }
}
