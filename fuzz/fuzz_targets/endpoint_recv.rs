//! Fuzzes the receiving end with valid and invalid messages in any order from any address. Only the
//! end of its session, with `once`, may end it. It must send at most one answer per message, and no
//! answer longer than the message before the peer has returned a cookie.
#![no_main]

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss::iftp::packet::{Header, Sum};
use whyloss::tfrc::Data;
use whyloss::{Duration, Time};
use whyloss_emulate::endpoint::arrivals::Skew;
use whyloss_emulate::endpoint::flow::Flow;
use whyloss_emulate::endpoint::pattern::short_digest;
use whyloss_emulate::endpoint::receiving::ReceivingEnd;
use whyloss_emulate::endpoint::recv::ReceiveOptions;
use whyloss_emulate::endpoint::wire::{Carrier, Message, Terms, TfrcData, iftp_format};

const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Arbitrary, Debug)]
enum Operation {
    Wait(u32),
    Noise(Vec<u8>),
    /// A complete and valid opening.
    Open(u32),
    /// A hello with its request.
    Hello(Ask),
    /// A start with its request and any cookie; `None` for the last cookie that this peer received.
    Start(Ask, Option<u64>),
    /// A data packet, `step` numbers after the last one, with the digest `check`; `None` for the
    /// right digest.
    Data {
        step: i32,
        stamp: u64,
        rtt: i64,
        t_rto: i64,
        round: u32,
        urgent: bool,
        check: Option<u32>,
        payload: u8,
    },
    Iftp {
        step: i16,
        stamp: u32,
        payload: u8,
    },
    End(u64),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Ask {
    iftp: bool,
    packet: u16,
    coverage: u16,
    first: u32,
    pattern: bool,
}

#[derive(Arbitrary, Debug)]
struct Input {
    iftp: bool,
    classifier: u8,
    once: bool,
    skew: i32,
    /// The actions of a peer: one of four, in one of two sessions.
    operations: Vec<(u8, bool, Operation)>,
}

fuzz_target!(|input: Input| {
    let classifier =
        ["unaware", "zigzag", "spike", "zbs", "mbiaz"][usize::from(input.classifier % 5)];
    let words = if input.iftp {
        vec![("transport", "iftp")]
    } else {
        vec![("transport", "tfrc"), ("classifier", classifier)]
    };
    let Ok(flow) = Flow::parse(&words) else {
        return;
    };
    let options = ReceiveOptions {
        at: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 5000),
        flow,
        out: None,
        out_limit: 1 << 20,
        lite: false,
        once: input.once,
        stats: None,
        arrivals: None,
        patience: PATIENCE,
        skew: Skew {
            offset: Duration::from_nanos(i64::from(input.skew)),
            drift: 0.0,
        },
        truth: None,
        stop: Arc::default(),
    };
    let mut end = ReceivingEnd::new(&options).expect("no file is named");
    let mut now = Time::ZERO;
    // The cookies that peers received, the peers that returned one, and the number of the last data
    // packet.
    let (mut cookies, mut proven, mut last) = ([0; 4], [false; 4], 0_u32);
    for (peer, session, operation) in input.operations {
        let index = usize::from(peer % 4);
        let from = SocketAddr::from(([10, 0, 0, 1 + peer % 2], 1 + u16::from(peer % 4)));
        let session = 1 + u32::from(session);
        let terms = |ask: Ask| Terms {
            session,
            carrier: if ask.iftp {
                Carrier::Iftp
            } else {
                Carrier::Tfrc
            },
            packet: ask.packet,
            coverage: ask.coverage,
            first: ask.first,
            pattern: ask.pattern,
        };
        let datagram = match operation {
            Operation::Wait(nanos) => {
                let until = now + Duration::from_nanos(i64::from(nanos));
                let mut steps = 0;
                while end.next_timeout(now) <= until {
                    now = now.max(end.next_timeout(now));
                    let outcome = end.advance(now).expect("no file is written");
                    while end.poll().is_some() {}
                    if outcome.is_some() {
                        assert!(input.once, "a peer ended a receiver that goes on");
                        return;
                    }
                    steps += 1;
                    assert!(steps < 100_000, "it turns without end");
                }
                now = until;
                continue;
            }
            Operation::Noise(bytes) => bytes,
            Operation::Open(first) => {
                last = first.wrapping_sub(1);
                proven[index] = true;
                let ask = Ask {
                    iftp: input.iftp,
                    packet: 1_200,
                    coverage: 1_200,
                    first,
                    pattern: false,
                };
                let hello = Message::Hello(terms(ask)).encode(session);
                end.take(now, now, from, &hello)
                    .expect("no file is written");
                let Some((_, Message::Cookie(cookie))) =
                    end.poll().and_then(|(answer, _)| Message::decode(&answer))
                else {
                    panic!("a question without an answer");
                };
                Message::Start(terms(ask), cookie).encode(session)
            }
            Operation::Hello(ask) => Message::Hello(terms(ask)).encode(session),
            Operation::Start(ask, cookie) => {
                proven[index] |= cookie.is_none();
                Message::Start(terms(ask), cookie.unwrap_or(cookies[index])).encode(session)
            }
            Operation::Data {
                step,
                stamp,
                rtt,
                t_rto,
                round,
                urgent,
                check,
                payload,
            } => {
                let data = Data {
                    sequence: 0,
                    stamp: Time::from_nanos(stamp),
                    rtt: Duration::from_nanos(rtt),
                    t_rto: Duration::from_nanos(t_rto),
                    round,
                    urgent,
                };
                last = last.wrapping_add_signed(step);
                let payload = vec![1; usize::from(payload)];
                TfrcData {
                    number: last,
                    data,
                    check: check.unwrap_or(short_digest(&payload)),
                }
                .encode(session, &payload)
            }
            Operation::Iftp {
                step,
                stamp,
                payload,
            } => {
                last = last.wrapping_add_signed(i32::from(step));
                let format = iftp_format(false);
                let mut bytes = vec![0; format.data_header() + usize::from(payload)];
                let header = Header {
                    source_port: (session >> 16) as u16,
                    destination_port: session as u16,
                    number: last as u16,
                    stamp,
                };
                let _ = format.encode_data(&header, 0, &mut bytes, Sum::default());
                bytes
            }
            Operation::End(packets) => Message::End {
                packets,
                bytes: 0,
                digest: 0,
            }
            .encode(session),
        };
        end.take(now, now, from, &datagram)
            .expect("no file is written");
        let mut answers = 0;
        while let Some((answer, to)) = end.poll() {
            answers += 1;
            assert_eq!(to, from, "an answer to somebody else");
            assert!(
                proven[index] || answer.len() <= datagram.len(),
                "more than was asked"
            );
            if let Some((_, Message::Cookie(cookie))) = Message::decode(&answer) {
                cookies[index] = cookie;
            }
        }
        assert!(answers <= 1, "more answers than questions");
        let received = end.received();
        assert!(received.packets >= received.wrong);
    }
});
