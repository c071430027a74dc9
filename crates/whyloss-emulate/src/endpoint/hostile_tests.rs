//! Tests both ends against peers that send anything, legal or not, in any order.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use proptest::prelude::*;
use whyloss::tfrc::{Data, Feedback};
use whyloss::{Duration, Time};

use super::EndpointError;
use super::arrivals::Skew;
use super::flow::Flow;
use super::receiving::ReceivingEnd;
use super::recv::ReceiveOptions;
use super::send::SendOptions;
use super::sending::SendingEnd;
use super::wire::{Message, Refusal, TfrcData, TfrcFeedback};

const SESSION: u32 = 7;
const SECOND: Duration = Duration::from_secs(1);

fn flow(transport: &str) -> Flow {
    Flow::parse(&[("transport", transport)]).unwrap()
}

fn sending(transport: &str, max_rate: f64) -> SendOptions {
    SendOptions {
        peer: "10.0.0.1:5000".parse().unwrap(),
        flow: flow(transport),
        file: None,
        packets: None,
        time: Some(SECOND * 4),
        max_rate,
        lite: false,
        stats: None,
        patience: SECOND * 2,
        first: 0,
        truth: None,
        stop: Arc::default(),
    }
}

fn receiving(transport: &str, once: bool) -> ReceiveOptions {
    ReceiveOptions {
        at: "0.0.0.0:5000".parse().unwrap(),
        flow: flow(transport),
        out: None,
        out_limit: 1 << 30,
        lite: false,
        once,
        stats: None,
        arrivals: None,
        patience: SECOND * 2,
        skew: Skew::default(),
        truth: None,
        stop: Arc::default(),
    }
}

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Returns an end whose session was accepted, with a round trip of 1 ms for the opening.
fn accepted(options: &SendOptions) -> (SendingEnd, Time) {
    let mut end = SendingEnd::new(options, SESSION, at(0)).unwrap();
    end.poll(at(0)).unwrap().unwrap();
    let (cookie, accept) = (
        Message::Cookie(1).encode(SESSION),
        Message::Accept.encode(SESSION),
    );
    end.take(at(0), at(0), &accept);
    assert!(end.asking(at(0)).is_some(), "nothing was asked for yet");
    end.take(at(0), at(0), &cookie);
    end.poll(at(1)).unwrap().unwrap();
    end.take(at(1), at(1), &accept);
    assert!(end.asking(at(1)).is_none());
    (end, at(1))
}

/// The answers of a hostile receiver to a data packet of TFRC: their numbers and contents.
#[derive(Clone, Copy, Debug)]
struct Evil {
    times: usize,
    p: f64,
    x: f64,
    /// The share of the time since the packet left that is reported as a hold.
    held: f64,
    /// The time from the packet to its report.
    wait: Duration,
    /// The receiver answers every packet whose count is a multiple of this.
    every: u64,
}

/// Runs a session against such a receiver. Returns when it ended, the bytes of each second of data,
/// and the result.
fn run(options: &SendOptions, evil: Evil) -> (Time, Vec<u64>, Result<(), EndpointError>) {
    let (mut end, mut now) = accepted(options);
    let began = now;
    let (mut seconds, mut packets) = (vec![0; 5], 0);
    let mut answers = VecDeque::<(Time, Vec<u8>)>::new();
    loop {
        let mut burst = 0;
        while let Some(outgoing) = end.poll(now).unwrap() {
            burst += 1;
            assert!(burst < 10_000_000);
            let Some((_, data, _)) = TfrcData::decode(&outgoing.bytes) else {
                continue;
            };
            assert!(
                now - began < options.time.unwrap(),
                "a packet after the end"
            );
            seconds[((now - began).as_nanos() / SECOND.as_nanos()) as usize] +=
                outgoing.bytes.len() as u64 + 28;
            packets += 1;
            if packets % evil.every != 0 {
                continue;
            }
            let arrives = now + evil.wait;
            let hold = Duration::from_secs_f64(evil.wait.as_secs_f64() * evil.held);
            let feedback = Feedback {
                echo: data.data.stamp,
                hold,
                receive_rate: evil.x,
                loss_event_rate: evil.p,
                new_loss_event: true,
            };
            let bytes = TfrcFeedback {
                number: data.number,
                feedback,
            }
            .encode(SESSION);
            answers.extend(std::iter::repeat_n((arrives, bytes), evil.times));
        }
        if let Some(outcome) = end.outcome() {
            return (now, seconds, outcome);
        }
        let due = answers.front().map_or(Time::MAX, |answer| answer.0);
        let next = end.next_timeout(now).min(due);
        assert!(next < Time::MAX, "nothing will ever happen");
        now = now.max(next);
        while let Some((_, bytes)) = answers.pop_front_if(|answer| answer.0 <= now) {
            end.take(now, now, &bytes);
        }
    }
}

const HONEST: Evil = Evil {
    times: 1,
    p: 0.0,
    x: 1e300,
    held: 0.0,
    wait: Duration::from_millis(50),
    every: 1,
};

#[test]
fn no_feedback_makes_a_sender_exceed_its_limits() {
    let rate = 1e5;
    for transport in ["tfrc", "{ kind = \"tfrc\", base = \"ns2\" }"] {
        for evil in [
            HONEST,
            Evil {
                p: 1e-300,
                ..HONEST
            },
            Evil {
                p: f64::NAN,
                ..HONEST
            },
            Evil {
                x: f64::INFINITY,
                ..HONEST
            },
            Evil {
                held: 1.0,
                ..HONEST
            },
            Evil {
                held: 1.0,
                p: 1e-9,
                times: 9,
                ..HONEST
            },
            Evil {
                held: 1.0,
                wait: Duration::from_nanos(1),
                ..HONEST
            },
            Evil {
                every: 7,
                p: 1e-300,
                times: 3,
                ..HONEST
            },
        ] {
            let options = sending(transport, rate);
            let (ended, seconds, outcome) = run(&options, evil);
            // The end gets no answer, so it is repeated for `patience`. An impossible report does
            // not count as a sign of life.
            assert!(
                matches!(outcome, Err(EndpointError::Silent { .. })),
                "{evil:?}"
            );
            assert!(
                ended - at(1) <= options.time.unwrap() + options.patience,
                "{evil:?}"
            );
            for bytes in seconds {
                assert!(
                    bytes as f64 <= 1.02 * rate + 6_000.0,
                    "{bytes} bytes a second: {evil:?}"
                );
            }
        }
    }
}

/// Over a path of 50 ms, a lying receiver gets at most four times the bytes of an honest one.
#[test]
fn lies_double_a_rate_no_faster_than_the_truth() {
    let sent = |evil| run(&sending("tfrc", 1e9), evil).1[0];
    let slow = Evil { x: 0.0, ..HONEST };
    let (honest, cheat) = (sent(slow), sent(Evil { held: 1.0, ..slow }));
    assert!(cheat <= 4 * honest, "{cheat} bytes, {honest} without lies");
    // One report of an inexplicable loss event rate changes nothing: it is ignored.
    let once = Evil {
        every: u64::MAX,
        ..HONEST
    };
    let impossible = Evil {
        p: 1e-300,
        ..HONEST
    };
    assert_eq!(sent(impossible), sent(once));
}

#[test]
fn a_stop_ends_a_session_in_60_ms() {
    for stopped_at in [0, 1, 5_000] {
        let options = sending("tfrc", 1e6);
        let (mut end, mut now) = accepted(&options);
        let from = now + Duration::from_millis(stopped_at);
        let ended = loop {
            if now >= from {
                end.stop(now);
            }
            while end.poll(now).unwrap().is_some() {}
            if let Some(outcome) = end.outcome() {
                break outcome;
            }
            let next = end.next_timeout(now).max(now);
            now = if now < from { next.min(from) } else { next };
        };
        // The sender gives up a silent receiver after 2 s.
        let stopped = matches!(ended, Err(EndpointError::Interrupted));
        assert!(stopped || now < from, "{ended:?}");
        assert!(now <= from + Duration::from_millis(60), "{stopped_at}");
    }
    // Without an answer from the receiver, `stop` ends a sender immediately.
    let mut end = SendingEnd::new(&sending("tfrc", 1e6), SESSION, at(0)).unwrap();
    end.stop(at(0));
    assert!(matches!(
        end.outcome(),
        Some(Err(EndpointError::Interrupted))
    ));
}

fn from(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

/// Opens a session from an address that receives its answers.
fn open(end: &mut ReceivingEnd, now: Time, peer: SocketAddr, session: u32) -> Option<Message> {
    let terms = super::wire::Terms {
        session,
        carrier: super::wire::Carrier::Tfrc,
        packet: 1_200,
        coverage: 1_200,
        first: 0,
        pattern: false,
    };
    end.take(now, now, peer, &Message::Hello(terms).encode(session))
        .unwrap();
    let (answer, to) = end.poll()?;
    assert_eq!(to, peer);
    let (_, Message::Cookie(cookie)) = Message::decode(&answer)? else {
        return None;
    };
    end.take(
        now,
        now,
        peer,
        &Message::Start(terms, cookie).encode(session),
    )
    .unwrap();
    Message::decode(&end.poll()?.0).map(|(_, message)| message)
}

#[test]
fn a_session_that_fails_ends_alone() {
    let mut end = ReceivingEnd::new(&receiving("tfrc", false)).unwrap();
    assert_eq!(open(&mut end, at(0), from(1), 1), Some(Message::Accept));
    assert_eq!(
        open(&mut end, at(1_000), from(2), 2),
        Some(Message::Reset(Refusal::Busy))
    );
    // Silence of 2 s ends the first session; another may begin.
    assert!(end.advance(at(2_000)).unwrap().is_none());
    assert_eq!(open(&mut end, at(2_000), from(2), 2), Some(Message::Accept));
    // A restarted sender replaces its session.
    assert_eq!(open(&mut end, at(4_001), from(3), 3), Some(Message::Accept));
    assert!(end.advance(at(4_001)).unwrap().is_none());
    // A sender that announced its end may repeat it, although another took its place.
    let said = Message::End {
        packets: 0,
        bytes: 0,
        digest: 0,
    }
    .encode(3);
    for session in [3, 4] {
        end.take(at(4_100), at(4_100), from(3), &said).unwrap();
        let (answer, _) = end.poll().unwrap();
        let (_, message) = Message::decode(&answer).unwrap();
        assert!(matches!(message, Message::Ended { .. }));
        if session == 3 {
            let accepted = open(&mut end, at(4_100), from(4), 4);
            assert_eq!(accepted, Some(Message::Accept));
        }
    }
    // With `once`, the end of the session is the outcome of the receiver.
    let mut end = ReceivingEnd::new(&receiving("tfrc", true)).unwrap();
    assert_eq!(open(&mut end, at(0), from(1), 1), Some(Message::Accept));
    let outcome = end.advance(at(2_000)).unwrap();
    assert!(matches!(outcome, Some(Err(EndpointError::Silent { .. }))));
}

#[test]
fn sources_that_are_no_hosts_are_not_answered() {
    let mut end = ReceivingEnd::new(&receiving("tfrc", false)).unwrap();
    for source in [
        "255.255.255.255:5",
        "0.0.0.0:5",
        "224.0.0.1:5",
        "10.0.0.1:0",
    ] {
        assert_eq!(open(&mut end, at(0), source.parse().unwrap(), 1), None);
    }
    assert_eq!(end.received().ignored, 4);
}

/// A data packet with a payload of 1,120 bytes.
fn packet(session: u32, number: u32) -> Vec<u8> {
    let data = Data {
        sequence: 0,
        stamp: at(0),
        rtt: Duration::ZERO,
        t_rto: Duration::ZERO,
        round: 0,
        urgent: false,
    };
    let packet = TfrcData {
        number,
        data,
        check: super::pattern::short_digest(&[1; 1_120]),
    };
    packet.encode(session, &[1; 1_120])
}

#[test]
fn faults_of_every_session_count() {
    let mut end = ReceivingEnd::new(&receiving("tfrc", false)).unwrap();
    for session in 1..4 {
        let now = at(u64::from(session) * 3_000);
        let _ = end.advance(now).unwrap();
        assert_eq!(open(&mut end, now, from(1), session), Some(Message::Accept));
        let mut packet = packet(session, 0);
        // The last session is a clean one.
        packet[1_000] ^= u8::from(session < 3);
        end.take(now, now, from(1), &packet).unwrap();
        while end.poll().is_some() {}
    }
    assert_eq!(end.received().wrong, 0);
    let outcome = end.finish(at(9_001), true, 5_000);
    assert!(matches!(outcome, Err(EndpointError::Wrong(2))));
}

#[test]
fn a_session_has_one_last_line_of_statistics() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stats");
    let options = ReceiveOptions {
        stats: Some(path.clone()),
        ..receiving("tfrc", false)
    };
    let lines = || std::fs::read_to_string(&path).unwrap().lines().count();
    let mut end = ReceivingEnd::new(&options).unwrap();
    end.finish(at(0), false, 5_000).unwrap();
    assert_eq!(lines(), 0, "there was no session");
    // One session ends before the receiving end does, and one with it.
    for silence in [2_000, 0] {
        let mut end = ReceivingEnd::new(&options).unwrap();
        open(&mut end, at(0), from(1), 1).unwrap();
        assert!(end.advance(at(silence)).unwrap().is_none());
        end.finish(at(2_001), false, 5_000).unwrap();
        assert_eq!(lines(), 1, "{silence}");
    }
}

#[test]
fn a_file_holds_one_session() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let options = ReceiveOptions {
        out: Some(path.clone()),
        ..receiving("tfrc", false)
    };
    let mut end = ReceivingEnd::new(&options).unwrap();
    for (session, packets) in [(1, 3), (2, 1)] {
        let now = at(u64::from(session) * 3_000);
        let _ = end.advance(now).unwrap();
        assert_eq!(open(&mut end, now, from(1), session), Some(Message::Accept));
        for number in 0..packets {
            end.take(now, now, from(1), &packet(session, number))
                .unwrap();
        }
        while end.poll().is_some() {}
        let size = std::fs::metadata(&path).unwrap().len();
        assert_eq!(size, u64::from(packets) * 1_120);
    }
}

#[test]
fn a_file_ends_at_its_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let options = ReceiveOptions {
        out: Some(path.clone()),
        out_limit: 3_500,
        ..receiving("tfrc", true)
    };
    let mut end = ReceivingEnd::new(&options).unwrap();
    open(&mut end, at(0), from(1), SESSION).unwrap();
    for number in [0, 2, 3, 1 << 20] {
        end.take(at(1), at(1), from(1), &packet(SESSION, number))
            .unwrap();
    }
    assert_eq!((end.received().packets, end.received().beyond), (4, 2));
    assert_eq!(std::fs::metadata(path).unwrap().len(), 3 * 1_120);
}

#[test]
fn a_log_of_arrivals_ends_at_its_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("arrivals");
    let options = ReceiveOptions {
        arrivals: Some(path.clone()),
        out_limit: 300,
        ..receiving("tfrc", true)
    };
    let mut end = ReceivingEnd::new(&options).unwrap();
    open(&mut end, at(0), from(1), SESSION).unwrap();
    // A repeat is logged as well.
    for number in [0, 0, 1, 2, 3, 3] {
        end.take(at(1), at(1), from(1), &packet(SESSION, number))
            .unwrap();
    }
    let outcome = end.finish(at(2), true, 5_000);
    let log = std::fs::read(path).unwrap();
    let lines = super::arrivals::read(&log[..]).unwrap();
    assert!(log.len() <= 300 && lines.len() >= 2, "{lines:?}");
    let numbers: Vec<u32> = lines.iter().map(|line| line.number).collect();
    assert!([0, 0, 1, 2, 3, 3].starts_with(&numbers));
    let left_out = 6 - lines.len() as u64;
    assert_eq!(end.received().unlogged, left_out);
    assert!(
        matches!(outcome, Err(EndpointError::Unlogged { arrivals, .. }) if arrivals == left_out)
    );
}

proptest! {
    /// Noise in the shape of each message comes at any time: no panic, one session, and no more
    /// answers than datagrams.
    #[test]
    fn receivers_bear_anything(iftp: bool, once: bool, packets in prop::collection::vec(
        (0_u64..3_000, 0_u16..4, 0_u8..12, any::<u32>(), prop::collection::vec(any::<u8>(), 0..80)), 1..60)) {
        let transport = if iftp { "iftp" } else { "tfrc" };
        let mut end = ReceivingEnd::new(&receiving(transport, once)).unwrap();
        let mut now = 0;
        for (millis, port, kind, session, noise) in packets {
            now += millis;
            let mut packet = vec![b'W', b'L', 1, kind];
            packet.extend((session % 3).to_be_bytes());
            packet.extend(&noise);
            if kind == 0 {
                let _ = open(&mut end, at(now), from(port), session % 3);
            } else {
                end.take(at(now), at(now), from(port), &packet).unwrap();
            }
            let _ = end.advance(at(now)).unwrap();
            let mut answers = 0;
            while end.poll().is_some() {
                answers += 1;
            }
            prop_assert!(answers <= 2);
        }
    }

    /// A receiver reports any numbers at any time. The sender ends after its time and patience.
    #[test]
    fn senders_bear_anything(p in any::<f64>(), x in any::<f64>(), held in 0.0..1.0_f64, times in 1_usize..4,
        every in 1_u64..20, micros in 0_i64..300_000) {
        let options = sending("tfrc", 1e5);
        let wait = Duration::from_micros(micros);
        let (ended, seconds, _) = run(&options, Evil { times, p, x, held, wait, every });
        prop_assert!(ended - at(1) <= SECOND * 6);
        for bytes in seconds {
            prop_assert!(bytes as f64 <= 1.02e5 + 6_000.0);
        }
    }
}

/// Runs both ends over a path of 2 Mbit/s with 20 ms each way and a queue of 20 packets. Returns
/// what the sender counts after 10 s.
fn honest(transport: &str) -> (super::send::Sent, u64) {
    let options = SendOptions {
        time: Some(SECOND * 10),
        ..sending(transport, 1e8)
    };
    let mut sender = SendingEnd::new(&options, SESSION, at(0)).unwrap();
    let mut receiver = ReceivingEnd::new(&receiving(transport, true)).unwrap();
    let (delay, one) = (Duration::from_millis(20), Duration::from_nanos(4_800_000));
    // The arrival times of datagrams at each end.
    let mut there = VecDeque::<(Time, Vec<u8>)>::new();
    let mut back = there.clone();
    let (mut now, mut free) = (at(0), at(0));
    loop {
        while let Some(outgoing) = sender.poll(now).unwrap() {
            if free < now + one * 20 {
                free = free.max(now) + one;
                there.push_back((free + delay, outgoing.bytes));
            }
        }
        if let Some(outcome) = sender.outcome() {
            outcome.unwrap();
            return (sender.sent(now).clone(), receiver.received().packets);
        }
        let first = |queue: &VecDeque<(Time, Vec<u8>)>| {
            queue.front().map_or(Time::MAX, |datagram| datagram.0)
        };
        let own = sender.next_timeout(now).min(receiver.next_timeout(now));
        now = own.min(first(&there)).min(first(&back)).max(now);
        while let Some((_, datagram)) = there.pop_front_if(|datagram| datagram.0 <= now) {
            receiver.take(now, now, from(1), &datagram).unwrap();
        }
        assert!(receiver.advance(now).unwrap().is_none());
        while let Some((answer, _)) = receiver.poll() {
            back.push_back((now + delay, answer));
        }
        while let Some((_, datagram)) = back.pop_front_if(|datagram| datagram.0 <= now) {
            sender.take(now, now, &datagram);
        }
    }
}

#[test]
fn honest_receivers_meet_no_limit() {
    for transport in ["tfrc", "{ kind = \"tfrc\", base = \"ns2\" }", "iftp"] {
        let (sent, arrived) = honest(transport);
        assert_eq!(sent.ignored, 0, "{transport}");
        assert!(sent.surplus * 20 <= sent.answers, "{transport}: {sent:?}");
        assert_eq!(sent.arrived, Some(arrived), "{transport}");
        // 2,083 packets fill the path for 10 s.
        assert!(arrived > 1_700, "{transport}: {arrived} packets");
    }
}
