use proptest::prelude::*;

use whyloss::Rate;

use super::*;
use crate::Opportunities;
use crate::jitter::{JitterLaw, JitterSpec};
use crate::link::Link;
use crate::markov::MarkovRates;
use crate::queue::{CodelSpec, FqCodelSpec, PieSpec, QueueSpec};

mod arq;

fn micros(micros: u64) -> Time {
    Time::from_nanos(micros * 1_000)
}

/// An offered packet: time in microseconds, flow, size and ECN field.
type Offer = (u64, u32, u32, Ecn);

/// Offers packets whose tickets are their indices. Passes each packet that the link returns to
/// `told`, with the time of its event.
fn drive(
    link: &mut EventLink,
    offers: impl IntoIterator<Item = Offer>,
    mut told: impl FnMut(&EventLink, Time, u32, Fate),
) {
    let mut drain = |link: &mut EventLink, until: Time| {
        while link.next_event() <= until {
            let now = link.next_event();
            while let Some((ticket, fate)) = link.poll(now) {
                told(link, now, ticket, fate);
            }
        }
    };
    for (ticket, (at, flow, size, ecn)) in (0..).zip(offers) {
        drain(link, micros(at));
        link.offer(micros(at), ticket, flow, size, ecn);
    }
    drain(link, Time::from_nanos(u64::MAX - 1));
}

/// Returns an offer of a packet of flow 0 that is not ECN-capable.
fn offer(&(at, size): &(u64, u32)) -> Offer {
    (at, 0, size, Ecn::NotCapable)
}

/// Returns the fate of each packet, by ticket. Packets have these times in microseconds and sizes.
fn fates(link: &mut EventLink, offers: &[(u64, u32)]) -> Vec<Fate> {
    let mut fates = vec![Fate::Held; offers.len()];
    drive(link, offers.iter().map(offer), |_, now, ticket, fate| {
        assert_eq!(fate.when(), now);
        fates[ticket as usize] = fate;
    });
    fates
}

/// Returns a link on which packets of 1000 bytes take 1 ms, with a delay of 10 ms.
fn plain() -> LinkSpec {
    LinkSpec {
        rate: Rate::from_mbps(8),
        delay: Duration::from_millis(10),
        ..LinkSpec::default()
    }
}

/// Returns a link with a delay of 30 ms behind a queue of 200 packets with this discipline.
fn managed(discipline: Discipline) -> LinkSpec {
    LinkSpec {
        delay: Duration::from_millis(30),
        queue: QueueSpec {
            limit: Limit::Packets(200),
            discipline,
        },
        ..plain()
    }
}

/// PIE counts the whole backlog and drops the same packets as on a link without events.
#[test]
fn pie_sees_the_whole_backlog() {
    let spec = managed(Discipline::Pie(PieSpec::default()));
    // A tenth more than the link carries, for ten seconds.
    let offers: Vec<_> = (0..11_000).map(|i| (i * 909, 1_000)).collect();
    let mut plain = Link::new(&spec, Streams::new(1), 0);
    let expected = offers
        .iter()
        .map(|&(at, size)| plain.offer(micros(at), size));
    let expected: Vec<_> = expected.collect();
    let found = fates(&mut EventLink::new(&spec, Streams::new(1), 0), &offers);
    assert_eq!(found, expected);
    let refused = found.iter().filter(|fate| matches!(fate, Fate::Lost(..)));
    assert!((500..1_500).contains(&refused.count()));
}

/// Packets have the same fates whether they are reported as transmission begins or as the fates are
/// due.
#[test]
fn what_is_told_at_turns_is_what_is_told_later() {
    let spec = LinkSpec {
        channel: ChannelSpec::Bernoulli { loss: 0.05 },
        ..managed(Discipline::Codel(CodelSpec::default()))
    };
    assert!(EventLink::knows_at_turns(&spec));
    let trace = Some(traced(&[1]));
    assert!(!EventLink::knows_at_turns(&LinkSpec {
        trace,
        ..spec.clone()
    }));
    // More than the link carries for two seconds, then less.
    let offers: Vec<_> = (0..4_000).map(|i| (i * (800 + i / 4), 1_000)).collect();
    let later = fates(&mut EventLink::new(&spec, Streams::new(1), 0), &offers);
    let mut link = EventLink::new(&spec, Streams::new(1), 0);
    link.tell_at_turns();
    let mut told = vec![Fate::Held; offers.len()];
    drive(
        &mut link,
        offers.iter().map(offer),
        |_, now, ticket, fate| {
            let arrival = now + Duration::from_millis(1) + spec.delay;
            assert!(
                [
                    Fate::Delivered(arrival),
                    Fate::Lost(Cause::Wireless, now),
                    Fate::Lost(Cause::Congestion, now)
                ]
                .contains(&fate)
            );
            told[ticket as usize] = fate;
        },
    );
    assert_eq!(told, later);
    let lost = |cause| {
        told.iter()
            .filter(|fate| matches!(fate, Fate::Lost(of, _) if *of == cause))
            .count()
    };
    assert!(lost(Cause::Congestion) > 10 && lost(Cause::Wireless) > 100);
}

/// An owner that polls late gets each packet, with the time of the packet's turn.
#[test]
fn who_asks_late_is_told_of_everybody() {
    let spec = managed(Discipline::Codel(CodelSpec::default()));
    let mut link = EventLink::new(&spec, Streams::new(1), 0);
    link.tell_at_turns();
    for ticket in 0..5 {
        link.offer(Time::ZERO, ticket, 0, 1_000, Ecn::NotCapable);
    }
    for ticket in 0..5 {
        let arrival = Duration::from_millis(i64::from(ticket) + 1) + spec.delay;
        let told = link.poll(micros(1_000_000));
        assert_eq!(told, Some((ticket, Fate::Delivered(Time::ZERO + arrival))));
    }
    assert_eq!(link.poll(micros(1_000_000)), None);
}

/// Returns a trace with these gaps between opportunities, in milliseconds, and one more.
fn traced(gaps: &[u32]) -> Opportunities {
    let mut at = 0;
    let times = gaps.iter().chain([&1]).map(|gap| {
        at += gap;
        at.to_string()
    });
    Opportunities::parse(&times.collect::<Vec<_>>().join("\n")).expect("ascending times")
}

proptest! {
    /// A specification that needs no events gives the same fates on both kinds of links.
    #[test]
    fn agrees_with_a_link_that_answers_at_once(
        gaps in prop::collection::vec((0u64..3_000, prop::sample::select(vec![40u32, 1_000])), 1..120),
        limit in prop::sample::select(vec![Limit::Unlimited, Limit::Packets(4), Limit::Bytes(3_500)]),
        loss in prop::sample::select(vec![0.0, 0.2]),
        before: bool,
        trace in prop::option::of(prop::collection::vec(0u32..4, 1..9)),
    ) {
        let channel = if loss > 0.0 { ChannelSpec::Bernoulli { loss } } else { ChannelSpec::None };
        let spec = LinkSpec {
            rate: Rate::from_mbps(8),
            trace: trace.map(|gaps| traced(&gaps)),
            delay: Duration::from_millis(3),
            queue: QueueSpec::drop_tail(limit),
            channel,
            channel_before_queue: before,
            ..LinkSpec::default()
        };
        let mut at = 0;
        let offers: Vec<_> = gaps.iter().map(|&(gap, size)| { at += gap; (at, size) }).collect();
        let mut plain = Link::new(&spec, Streams::new(1), 0);
        let expected: Vec<_> = offers.iter().map(|&(at, size)| plain.offer(micros(at), size)).collect();
        let found = fates(&mut EventLink::new(&spec, Streams::new(1), 0), &offers);
        prop_assert_eq!(found, expected);
    }
}

/// For two seconds, packets arrive at twice the link's rate. CoDel with `ecn` marks the ECN-capable
/// half of what it would drop, and drops the other half. A full queue drops both.
#[test]
fn capable_packets_are_marked_not_dropped() {
    let link = |limit, ecn| {
        let codel = CodelSpec {
            ecn,
            ..CodelSpec::default()
        };
        let spec = LinkSpec {
            rate: Rate::from_mbps(8),
            queue: QueueSpec {
                limit,
                discipline: Discipline::Codel(codel),
            },
            ..LinkSpec::default()
        };
        EventLink::new(&spec, Streams::new(1), 0)
    };
    // Counts lost and marked packets among 4000; those with odd tickets are ECN-capable.
    let run = |mut link: EventLink| {
        let (mut lost, mut marked) = ([0; 2], [0; 2]);
        let ecn = |ticket| [Ecn::NotCapable, Ecn::Capable][ticket as usize % 2];
        let offers = (0..4_000).map(|ticket| (500 * ticket, 0, 1_000, ecn(ticket)));
        drive(&mut link, offers, |link, _, ticket, fate| {
            let odd = ticket as usize % 2;
            lost[odd] += i32::from(matches!(fate, Fate::Lost(..)));
            marked[odd] += i32::from(link.marked());
        });
        (lost, marked)
    };
    let (lost, marked) = run(link(Limit::Unlimited, false));
    assert!(lost[0] > 20 && lost[1] > 20 && marked == [0, 0], "{lost:?}");
    let (lost, marked) = run(link(Limit::Unlimited, true));
    assert!(lost[0] > 20 && marked[1] > 20, "{lost:?} {marked:?}");
    assert_eq!((lost[1], marked[0]), (0, 0));
    let (lost, _) = run(link(Limit::Packets(50), true));
    assert!(lost[1] > 500, "{lost:?}");
}

/// After an initial queue of 200 packets, 30 packets of 1 ms each arrive every 40 ms. CoDel drops
/// the standing queue: in the end, a packet waits only for its own burst.
#[test]
fn a_standing_queue_goes() {
    let spec = LinkSpec {
        delay: Duration::ZERO,
        ..managed(Discipline::Codel(CodelSpec::default()))
    };
    let mut offers = vec![(0, 1_000); 200];
    offers.extend((1..500).flat_map(|burst| vec![(burst * 40_000, 1_000); 30]));
    let fates = fates(&mut EventLink::new(&spec, Streams::new(1), 0), &offers);
    let waits = fates.iter().zip(&offers).filter_map(|(fate, &(at, _))| {
        let delivered = at > 15_000_000 && matches!(fate, Fate::Delivered(_));
        delivered.then(|| (fate.when() - micros(at)).as_nanos() / 1_000_000)
    });
    assert_eq!(waits.max(), Some(30));
}

/// Returns a handover that changes nothing.
fn handover(at: Time, waiting: Backlog) -> Handover {
    Handover {
        at,
        pause: Duration::ZERO,
        rate: None,
        delay: None,
        channel: None,
        limit: None,
        waiting,
        in_order: true,
    }
}

/// Returns when packets of 1000 bytes, offered at these times, arrive or are lost. Times are in
/// microseconds.
fn times(spec: &LinkSpec, offers: &[u64]) -> Vec<(bool, u64)> {
    let offers: Vec<_> = offers.iter().map(|&at| (at, 1_000)).collect();
    let fates = fates(&mut EventLink::new(spec, Streams::new(1), 0), &offers);
    let time = |fate: &Fate| {
        let arrives = matches!(fate, Fate::Delivered(_));
        (arrives, fate.when().as_nanos() / 1_000)
    };
    fates.iter().map(time).collect()
}

#[test]
fn bursts_by_the_closed_form() {
    // A burst has 4 packets, or 3 if 2.5 ms have passed after the third. It takes 2 + 4 ms or 2 + 3
    // ms.
    for (airtime, k, period) in [(10_000, 4, 6_000), (2_500, 3, 5_000), (0, 1, 3_000)] {
        let bursts = BurstSpec {
            packets: 4,
            airtime: Duration::from_micros(airtime),
            access: Duration::from_millis(2),
        };
        let spec = LinkSpec {
            bursts: Some(bursts),
            ..plain()
        };
        let found = times(&spec, &[0; 1_200]);
        for (index, &(arrives, at)) in found.iter().enumerate() {
            let burst = index as u64 / k + 1;
            assert_eq!((arrives, at), (true, burst * period + 10_000), "{index}");
        }
    }
}

/// A lone packet waits only for access. Packets that arrive during access join its burst; later
/// ones wait for another access.
#[test]
fn access_by_hand() {
    let spec = LinkSpec {
        bursts: Some(BurstSpec {
            packets: 8,
            airtime: Duration::from_millis(8),
            access: Duration::from_millis(2),
        }),
        ..plain()
    };
    let found = times(&spec, &[0, 20_000, 21_999, 22_500, 40_000]);
    let expected = [13_000, 34_000, 34_000, 37_000, 53_000].map(|at| (true, at));
    assert_eq!(found, expected);
}

/// Packets depart in pairs, T apart. The share of pairs in which the second arrives first has the
/// closed form.
#[test]
fn jitter_lets_packets_overtake() {
    let mean = Duration::from_millis(10);
    for (law, gap) in [(JitterLaw::Uniform, 4.0), (JitterLaw::Exponential, 5.0)] {
        let share = match law {
            JitterLaw::Uniform => 0.5 * (1.0 - gap / 20.0_f64).powi(2),
            _ => 0.5 * libm::exp(-gap / 10.0),
        };
        let spec = |in_order| LinkSpec {
            jitter: Some(JitterSpec {
                law,
                mean,
                in_order,
            }),
            ..plain()
        };
        let n = 40_000;
        let pair = |i: u64| [i * 400_000, i * 400_000 + (gap * 1e3) as u64];
        let offers: Vec<_> = (0..n).flat_map(pair).collect();
        let found = times(&spec(false), &offers);
        let overtaken = found.chunks(2).filter(|pair| pair[0].1 > pair[1].1);
        let found = overtaken.count() as f64 / n as f64;
        let sigma = libm::sqrt(share * (1.0 - share) / n as f64);
        assert!(
            (found - share).abs() < 4.0 * sigma,
            "{law:?}: {found} {share}"
        );
        let found = times(&spec(true), &offers[..2_000]);
        assert!(found.is_sorted_by_key(|arrival| arrival.1));
    }
}

/// A delay without order lets no other part of the delay reorder packets. The delay without order
/// of each link lasts at most 2 µs.
#[test]
fn every_delay_keeps_its_own_order() {
    let arq = |in_order| ArqSpec {
        turnaround: Duration::from_millis(20),
        parallel: true,
        in_order,
        ..ArqSpec::default()
    };
    let jitter = |micros, in_order| JitterSpec {
        law: JitterLaw::Uniform,
        mean: Duration::from_micros(micros),
        in_order,
    };
    let mut links: [LinkSpec; 4] = std::array::from_fn(|_| LinkSpec {
        jitter: Some(jitter(1, false)),
        ..plain()
    });
    links[0].arq = Some(arq(true));
    links[0].channel = ChannelSpec::Bernoulli { loss: 0.1 };
    links[1].arq = Some(arq(false));
    links[1].jitter = Some(jitter(10_000, true));
    let (at, delay) = (micros(20_000), Duration::from_millis(5));
    links[2].delay_changes = vec![(at, delay)];
    links[3].handovers = vec![Handover {
        delay: Some(delay),
        ..handover(at, Backlog::Kept)
    }];
    for spec in links {
        let offers: Vec<_> = (0..2_000).map(|i| i * 2_000).collect();
        let arrivals = times(&spec, &offers).into_iter().map(|(_, at)| at);
        assert!(arrivals.is_sorted_by(|a, b| *a <= b + 2), "{spec:?}");
    }
}

/// At 20 ms, a handover halves the rate and the delay after a pause of 30 ms. One packet has just
/// left, and one waits.
#[test]
fn a_handover_by_hand() {
    let handover = Handover {
        pause: Duration::from_millis(30),
        rate: Some(Rate::from_mbps(4)),
        delay: Some(Duration::from_millis(5)),
        ..handover(micros(20_000), Backlog::Kept)
    };
    let spec = |handover| LinkSpec {
        handovers: vec![handover],
        ..plain()
    };
    let offers = [0, 19_000, 19_500, 30_000];
    let found = times(&spec(handover.clone()), &offers);
    assert_eq!(found, [11_000, 30_000, 57_000, 59_000].map(|at| (true, at)));
    let lossy = Handover {
        waiting: Backlog::Lost,
        ..handover
    };
    let found = times(&spec(lossy), &offers);
    let expected = [
        (true, 11_000),
        (true, 30_000),
        (false, 20_000),
        (true, 57_000),
    ];
    assert_eq!(found, expected);
}

/// From 20 to 30 ms, the channel loses every packet and the queue holds one. A packet of 1000 bytes
/// takes 1 ms to send and 10 ms to propagate.
#[test]
fn a_channel_and_a_limit_change_by_hand() {
    let change = |at, loss, limit| Handover {
        channel: Some(ChannelSpec::Bernoulli { loss }),
        limit: Some(Limit::Packets(limit)),
        ..handover(micros(at), Backlog::Kept)
    };
    let spec = LinkSpec {
        handovers: vec![change(20_000, 1.0, 1), change(30_000, 0.0, 9)],
        ..plain()
    };
    // The second packet is in transmission at 20 ms. Of the three at 25 ms, the queue drops the
    // last.
    let offers = [0, 19_500, 25_000, 25_000, 25_000, 40_000, 40_000, 40_000];
    let expected = [
        (true, 11_000),
        (true, 30_500),
        (false, 26_000),
        (false, 27_000),
        (false, 25_000),
        (true, 51_000),
        (true, 52_000),
        (true, 53_000),
    ];
    assert_eq!(times(&spec, &offers), expected);
}

/// Offers the packets to `link`. Returns the ticket and fate of each reported packet, in order, and
/// the arrival time of its copy at the link if one follows.
fn given(link: &mut EventLink, offers: &[(u64, u32, u32)]) -> Vec<(u32, Fate, Option<Time>)> {
    let mut given = Vec::new();
    let offers = offers.iter();
    let offers = offers.map(|&(at, flow, size)| (at, flow, size, Ecn::NotCapable));
    drive(link, offers, |link, now, ticket, fate| {
        assert_eq!(fate.when(), now);
        given.push((ticket, fate, link.comes_again()));
    });
    given
}

/// At 20 ms, a handover halves the rate after a pause of 30 ms. One packet is in flight, one in
/// transmission, and three wait and leave twice. Later packets follow. The limit of four holds for
/// later packets.
#[test]
fn a_bunch_is_copied_by_hand() {
    let spec = LinkSpec {
        queue: QueueSpec::drop_tail(Limit::Packets(4)),
        handovers: vec![Handover {
            pause: Duration::from_millis(30),
            rate: Some(Rate::from_mbps(4)),
            ..handover(micros(20_000), Backlog::Copied)
        }],
        ..plain()
    };
    let sizes = [1_000, 1_000, 1_000, 500, 250];
    let mut offers: Vec<_> = sizes.map(|size| (18_700, 0, size)).into();
    // These packets find six, four and three waiting.
    offers.extend([(49_000, 0, 1_000), (52_500, 0, 1_000), (53_100, 0, 1_000)]);
    let found = given(&mut EventLink::new(&spec, Streams::new(1), 0), &offers);
    let departs = |ticket, at: u64, again: bool| {
        let arrival = micros(at) + spec.delay;
        (
            ticket,
            Fate::Delivered(arrival),
            again.then_some(micros(20_000)),
        )
    };
    let full = |ticket, at| (ticket, Fate::Lost(Cause::Congestion, micros(at)), None);
    // From 50 ms, 1000 bytes take 2 ms.
    let mut expected = vec![
        departs(0, 19_700, false),
        departs(1, 20_700, false),
        departs(2, 52_000, true),
        departs(3, 53_000, true),
        departs(4, 53_500, true),
        departs(2, 55_500, false),
        departs(3, 56_500, false),
        departs(4, 57_000, false),
        departs(7, 59_000, false),
        full(5, 49_000),
        full(6, 52_500),
    ];
    expected.sort_by_key(|(_, fate, _)| fate.when());
    assert_eq!(found, expected);
}

proptest! {
    /// Every packet is reported exactly once, or twice if it was announced as copied. The link
    /// copies its backlog at some handovers and loses it at others.
    #[test]
    fn every_packet_comes_back_once_and_its_copy_once(
        gaps in prop::collection::vec((0u64..2_000, 0u32..3, prop::sample::select(vec![40u32, 1_000])), 1..150),
        handovers in prop::collection::vec((0u64..20_000, 0i64..30, 0u8..4, any::<bool>()), 1..5),
        discipline in prop::sample::select(vec![
            Discipline::DropTail,
            Discipline::Codel(CodelSpec::default()),
            Discipline::FqCodel(FqCodelSpec::default()),
        ]),
        limit in prop::sample::select(vec![Limit::Unlimited, Limit::Packets(9), Limit::Bytes(7_500)]),
        (tries, parallel, loss) in (1u32..3, any::<bool>(), prop::sample::select(vec![0.0, 0.3])),
    ) {
        let channel = if loss > 0.0 { ChannelSpec::Bernoulli { loss } } else { ChannelSpec::None };
        let mut at = 0;
        let spec = LinkSpec {
            rate: Rate::from_mbps(8),
            delay: Duration::from_millis(3),
            queue: QueueSpec { limit, discipline },
            channel,
            arq: Some(ArqSpec { tries, parallel, in_order: false, turnaround: Duration::from_millis(2) }),
            handovers: handovers.iter().map(|&(gap, pause, waiting, in_order)| {
                at += gap;
                let waiting = [Backlog::Copied, Backlog::Copied, Backlog::Kept, Backlog::Lost][usize::from(waiting)];
                Handover { pause: Duration::from_millis(pause), in_order, ..handover(micros(at), waiting) }
            }).collect(),
            ..LinkSpec::default()
        };
        let mut now = 0;
        let offers: Vec<_> = gaps.iter().map(|&(gap, flow, size)| { now += gap; (now, flow, size) }).collect();
        let mut link = EventLink::new(&spec, Streams::new(1), 0);
        let found = given(&mut link, &offers);
        let mut times = vec![(0, 0); offers.len()];
        for (ticket, _, again) in found {
            let (given, copies) = &mut times[ticket as usize];
            *given += 1;
            if let Some(since) = again {
                let of = |handover: &Handover| (handover.at, handover.waiting) == (since, Backlog::Copied);
                prop_assert!(spec.handovers.iter().any(of));
                prop_assert!(micros(offers[ticket as usize].0) <= since);
                *copies += 1;
            }
        }
        for (given, copies) in times {
            prop_assert!(copies <= 1 && given == 1 + copies, "{given} times, {copies} copies");
        }
        prop_assert_eq!((link.turns.len(), link.turns.bytes(), link.copied.len()), (0, 0, 0));
    }
}

/// The delay falls from 100 ms to 5 ms: a later packet waits for earlier ones, or overtakes them if
/// allowed.
#[test]
fn a_shorter_way_overtakes_if_it_may() {
    for (in_order, last) in [(true, 119_000), (false, 26_000)] {
        let spec = LinkSpec {
            delay: Duration::from_millis(100),
            handovers: vec![Handover {
                delay: Some(Duration::from_millis(5)),
                in_order,
                ..handover(micros(20_000), Backlog::Kept)
            }],
            ..plain()
        };
        let found = times(&spec, &[18_000, 20_000]);
        assert_eq!(found, [(true, 119_000), (true, last)]);
    }
}

/// On a link with a random rate, packets wait while the rate is 0, and the mean rate is the
/// chain's.
#[test]
fn a_drawn_rate_carries_its_mean() {
    let states = [(8, 20), (0, 20)];
    let state =
        |&(mbps, millis): &(u64, i64)| (Rate::from_mbps(mbps), Duration::from_millis(millis));
    let rates = MarkovRates::new(states.iter().map(state).collect()).expect("a chain");
    let spec = LinkSpec {
        rate: rates.mean(),
        rates: Some(rates),
        ..plain()
    };
    let n = 40_000;
    let found = times(&spec, &vec![0; n]);
    let seconds = found[n - 1].1 as f64 / 1e6;
    // Means of 4 Mbit/s; variance 2·8²·¼·τ/S with τ = 10 ms.
    let rate = n as f64 * 8e-3 / seconds;
    let sigma = libm::sqrt(2.0 * 64.0 * 0.25 * 0.01 / seconds);
    assert!((rate - 4.0).abs() < 4.0 * sigma, "{rate} ± {sigma}");
}

/// Packets wait in the queue until their opportunity, so CoDel and the limit see them.
#[test]
fn a_packet_waits_for_its_opportunity_in_the_queue() {
    let spec = LinkSpec {
        trace: Some(Opportunities::parse("40\n").expect("a trace")),
        queue: QueueSpec {
            limit: Limit::Packets(2),
            discipline: Discipline::Codel(CodelSpec::default()),
        },
        ..plain()
    };
    let mut link = EventLink::new(&spec, Streams::new(1), 0);
    // The queue holds two packets before the first opportunity, so the third finds it full.
    let offers: Vec<_> = (0..3).map(|_| (1_000, 1_500)).collect();
    let found = fates(&mut link, &offers);
    let arrives = |millis: u64| Fate::Delivered(micros(millis * 1_000) + spec.delay);
    let full = Fate::Lost(Cause::Congestion, micros(1_000));
    assert_eq!(found, [arrives(40), arrives(80), full]);
}
