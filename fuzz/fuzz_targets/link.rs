//! Fuzzes a link with any queue, channel and delay changes. It gets packets of any size at
//! non-decreasing times.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss::{Duration, Rate, Time};
use whyloss_link::queue::{Discipline, Limit, RedSpec};
use whyloss_link::{ChannelSpec, Fate, Link, LinkSpec, QueueSpec, Streams};

#[derive(Arbitrary, Debug)]
struct Input {
    rate: u64,
    delay: i64,
    changes: Vec<(u32, i64)>,
    packets: Option<u16>,
    bytes: Option<u32>,
    red: bool,
    channel: u8,
    p: f64,
    before_queue: bool,
    seed: u64,
    offers: Vec<(u32, u16)>,
}

fuzz_target!(|input: Input| {
    let limit = match (input.packets, input.bytes) {
        (Some(packets), _) => Limit::Packets(packets.into()),
        (None, Some(bytes)) => Limit::Bytes(bytes.into()),
        (None, None) => Limit::Unlimited,
    };
    let p = if input.p.is_finite() {
        input.p.abs() % 1.0
    } else {
        0.5
    };
    let mut at = Time::ZERO;
    let changes = input.changes.iter().map(|&(later, delay)| {
        at += Duration::from_nanos(later.into());
        (at, Duration::from_nanos(delay % 1_000_000_000_000))
    });
    let spec = LinkSpec {
        rate: Rate::from_bps(1 + input.rate % 1_000_000_000_000),
        delay: Duration::from_nanos(input.delay % 1_000_000_000_000),
        delay_changes: changes.collect(),
        queue: QueueSpec {
            limit,
            discipline: if input.red {
                Discipline::Red(RedSpec::default())
            } else {
                Discipline::DropTail
            },
        },
        channel: match input.channel % 3 {
            0 => ChannelSpec::None,
            1 => ChannelSpec::Bernoulli { loss: p },
            _ => ChannelSpec::BitErrors { rate: p / 1000.0 },
        },
        channel_before_queue: input.before_queue,
        ..LinkSpec::default()
    };
    let mut link = Link::new(&spec, Streams::new(input.seed), 0);
    let (mut now, mut last) = (Time::ZERO, Time::ZERO);
    for (later, size) in input.offers {
        now += Duration::from_nanos(later.into());
        let size = u32::from(size).max(1);
        let fate = link.offer(now, size);
        match fate {
            Fate::Delivered(arrival) | Fate::Damaged(arrival, _) => {
                assert!(arrival >= now, "arrived before it left");
                assert!(arrival >= last, "overtook another");
                last = arrival;
            }
            Fate::Lost(_, at) => assert!(at >= now),
            Fate::Held => panic!("a link that answers at once has held a packet"),
        }
        if let Fate::Damaged(_, first) = fate {
            assert!(first < 8 * size);
            assert_eq!(link.damaged_bits().first(), Some(&first));
        }
        if let Limit::Packets(most) = limit {
            assert!(link.queue_len(now) <= most as usize);
        }
    }
});
