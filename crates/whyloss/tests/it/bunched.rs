//! Shows how late stamps and a full socket buffer change verdicts, for a receiver that reads many
//! packets at a time.
//!
//! ```text
//! path     10 Mbit/s, a queue of 60 packets of 1000 bytes, a radio that corrupts one packet in 200
//! sender   paced, from 8 to 12 Mbit/s and back over 4 s, for a minute
//! reader   wakes, and takes all waiting packets from a socket buffer, which drops packets that do not fit
//! ```

use std::collections::HashMap;

use whyloss::losses::LossTracker;
use whyloss::receiver::{Arrival, find};
use whyloss::{Cause, Duration, Time};

/// The part of the path that lost a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum By {
    Queue,
    Radio,
    Buffer,
}

/// Returns the packets that the path delivers and those that it loses.
fn path() -> (Vec<Arrival>, HashMap<u64, By>) {
    const SLOT: u64 = 800_000;
    let (mut now, mut free) = (0_u64, 0_u64);
    let (mut arrivals, mut lost) = (Vec::new(), HashMap::new());
    let mut random = 1_u64;
    for number in 0.. {
        if now >= 60_000_000_000 {
            break;
        }
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let phase = now % 4_000_000_000;
        let rate = 8.0 + 4.0 * (1.0 - (phase as f64 / 2e9 - 1.0).abs());
        now += (8e6 / rate) as u64 / 1000 * 1000;
        if free.saturating_sub(now) > 60 * SLOT {
            lost.insert(number, By::Queue);
            continue;
        }
        free = free.max(now) + SLOT;
        if (random >> 33).is_multiple_of(200) {
            lost.insert(number, By::Radio);
            continue;
        }
        let (sent, received) = (Time::from_nanos(now), Time::from_nanos(free + 20_000_000));
        arrivals.push(Arrival::new(number, sent, received, 1000));
    }
    (arrivals, lost)
}

/// How a caller reads its socket.
#[derive(Clone, Copy)]
struct Reader {
    /// The time between two wake-ups.
    every: Duration,
    /// How long after the start of each second the reader does not wake.
    stall: Duration,
    /// The number of packets that the socket's buffer holds.
    buffer: usize,
    /// Whether the reader stamps packets as it reads them, or has the kernel's stamps.
    own_stamps: bool,
}

const PROMPT: Reader = Reader {
    every: Duration::ZERO,
    stall: Duration::ZERO,
    buffer: usize::MAX,
    own_stamps: true,
};

impl Reader {
    /// Returns when a packet that arrives at `at` is read.
    fn reads(&self, at: Time) -> Time {
        let at = at.as_nanos();
        let every = self.every.as_nanos().max(1) as u64;
        let read = at.div_ceil(every) * every;
        let stalled = read / 1_000_000_000 * 1_000_000_000 + self.stall.as_nanos() as u64;
        Time::from_nanos(read.max(stalled))
    }

    /// Returns the packets in reading order, with their stamps. Adds the packets that the buffer
    /// drops to `lost`.
    fn read(&self, arrivals: &[Arrival], lost: &mut HashMap<u64, By>) -> Vec<Arrival> {
        let mut read: Vec<Arrival> = Vec::new();
        let mut waiting: (Time, usize) = (Time::ZERO, 0);
        for arrival in arrivals {
            let at = self.reads(arrival.received);
            waiting = if waiting.0 == at {
                (at, waiting.1 + 1)
            } else {
                (at, 1)
            };
            if waiting.1 > self.buffer {
                lost.insert(arrival.sequence, By::Buffer);
                continue;
            }
            let received = if self.own_stamps {
                at
            } else {
                arrival.received
            };
            read.push(Arrival::new(
                arrival.sequence,
                arrival.sent,
                received,
                arrival.size,
            ));
        }
        read
    }
}

/// Returns the number of losses called wireless and of all losses, each by the part that lost the
/// packet: queue, radio, buffer.
fn judge(classifier: &str, reader: Reader) -> ([usize; 3], [usize; 3]) {
    let (arrivals, mut lost) = path();
    let read = reader.read(&arrivals, &mut lost);
    let classifier = find(classifier)
        .expect("registered")
        .build(&[])
        .expect("defaults");
    let mut tracker = LossTracker::new(classifier, 64).wait_for_packets(3);
    let mut called = [0; 3];
    let mut told = 0;
    let mut hear = |loss: whyloss::losses::Loss| {
        for number in loss.first..loss.first + loss.count {
            told += 1;
            if loss.cause == Cause::Wireless {
                called[lost[&number] as usize] += 1;
            }
        }
    };
    for arrival in &read {
        tracker.on_packet(arrival, &mut hear);
    }
    tracker.finish(None, Time::MAX, &mut hear);
    let all =
        [By::Queue, By::Radio, By::Buffer].map(|by| lost.values().filter(|of| **of == by).count());
    (called, all)
}

const fn ms(ms: i64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn late_stamps_make_trees_cautious_and_zbs_wrong() {
    let late = [
        Reader {
            every: ms(20),
            ..PROMPT
        },
        Reader {
            stall: ms(200),
            ..PROMPT
        },
    ];
    let ([queue, radio, _], [dropped, corrupted, _]) = judge("trees", PROMPT);
    assert!(
        queue == 0 && 4 * radio > 3 * corrupted && dropped > 2_000,
        "{queue} {radio}"
    );
    for reader in late {
        let ([queue, fewer, _], _) = judge("trees", reader);
        assert!(queue < 10 && fewer < radio, "{queue} {fewer}");
        let ([queue, ..], _) = judge("zbs3", reader);
        assert!(queue > dropped / 4, "{queue}");
    }
}

/// To a classifier, drops of the socket buffer look like radio losses, even more so with kernel
/// stamps.
#[test]
fn a_full_socket_buffer_looks_like_the_radio() {
    let full = Reader {
        stall: ms(200),
        buffer: 100,
        ..PROMPT
    };
    for classifier in ["trees", "zbs3"] {
        let kernel = Reader {
            own_stamps: false,
            ..full
        };
        let ([queue, _, buffer], [dropped, _, lost]) = judge(classifier, kernel);
        assert!(2 * buffer > lost, "{classifier}: {buffer} of {lost}");
        assert!(queue < dropped / 10, "{classifier}: {queue}");
    }
    let ([_, _, buffer], _) = judge("trees", full);
    assert!(buffer > 100, "{buffer}");
}
