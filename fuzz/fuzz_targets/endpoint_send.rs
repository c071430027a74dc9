//! Fuzzes the sending end with valid and invalid messages in any order. It must send at most
//! `max_rate` in each second and no data after `time`, and must end by `time` plus `patience`.
#![no_main]

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss::iftp::packet::{Header, Sum};
use whyloss::tfrc::Feedback;
use whyloss::{Duration, Time};
use whyloss_emulate::endpoint::flow::Flow;
use whyloss_emulate::endpoint::send::SendOptions;
use whyloss_emulate::endpoint::sending::SendingEnd;
use whyloss_emulate::endpoint::wire::{
    Message, Refusal, TfrcData, TfrcFeedback, iftp_format, sequence_of,
};

const SESSION: u32 = 7;
const RATE: f64 = 1e5;
const TIME: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest session: the opening is repeated for at most 10 s.
const MOST: Duration = Duration::from_secs(15);
const STOP: Duration = Duration::from_millis(60);

#[derive(Arbitrary, Debug)]
enum Operation {
    /// Advances the clock, and sends the packets that are due.
    Wait(u32),
    Noise(Vec<u8>),
    /// A complete and valid opening.
    Open,
    Cookie(u64, bool),
    Accept(bool),
    Ended(u64, u64),
    Reset(u8, bool),
    /// A report of one of the last packets, repeated `times`. A `None` stands for the true
    /// timestamp, an unlimited receive rate, or no losses. `hold` is a share of the time since the
    /// packet left (`Ok`), or any value (`Err`).
    Feedback {
        back: u8,
        stamp: Option<u64>,
        hold: Result<u8, i64>,
        receive_rate: Option<f64>,
        loss_event_rate: Option<f64>,
        new_loss_event: bool,
        times: u8,
    },
    Ack {
        back: u8,
        stamp: Option<u32>,
        times: u8,
    },
    Stop,
}

#[derive(Arbitrary, Debug)]
struct Input {
    transport: u8,
    first: u32,
    operations: Vec<Operation>,
}

fuzz_target!(|input: Input| {
    let transport = match input.transport % 4 {
        0 => "tfrc",
        1 => "{ kind = \"tfrc\", base = \"ns2\" }",
        2 => "iftp",
        _ => "{ kind = \"iftp\", window = \"blocking\" }",
    };
    let Ok(flow) = Flow::parse(&[("transport", transport)]) else {
        return;
    };
    let options = SendOptions {
        peer: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 5000),
        flow,
        file: None,
        packets: None,
        time: Some(TIME),
        max_rate: RATE,
        lite: false,
        stats: None,
        patience: PATIENCE,
        first: input.first,
        truth: None,
        stop: Arc::default(),
    };
    let end = SendingEnd::new(&options, SESSION, Time::ZERO).expect("no file is named");
    let mut host = Host {
        end,
        now: Time::ZERO,
        packets: Vec::new(),
        seconds: Vec::new(),
        accepted: None,
        has_ended: false,
    };
    let mut most = Time::ZERO + MOST;
    for operation in input.operations {
        host.send();
        if host.has_ended {
            break;
        }
        let session = |right: bool| SESSION + u32::from(!right);
        match operation {
            Operation::Wait(nanos) => host.wait(host.now + Duration::from_nanos(i64::from(nanos))),
            Operation::Noise(bytes) => host.take(&bytes, 1),
            Operation::Open => {
                host.take(&Message::Cookie(1).encode(SESSION), 1);
                host.send();
                host.take(&Message::Accept.encode(SESSION), 1);
            }
            Operation::Cookie(value, right) => {
                host.take(&Message::Cookie(value).encode(session(right)), 1)
            }
            Operation::Accept(right) => host.take(&Message::Accept.encode(session(right)), 1),
            Operation::Ended(packets, wrong) => {
                host.take(&Message::Ended { packets, wrong }.encode(SESSION), 1);
            }
            Operation::Reset(kind, right) => {
                let refusal = match kind % 3 {
                    0 => Refusal::Unknown,
                    1 => Refusal::Busy,
                    _ => Refusal::Carrier,
                };
                host.take(&Message::Reset(refusal).encode(session(right)), 1);
            }
            Operation::Feedback {
                back,
                stamp,
                hold,
                receive_rate,
                loss_event_rate,
                new_loss_event,
                times,
            } => {
                let Some((number, own)) = host.recent(back) else {
                    continue;
                };
                let feedback = Feedback {
                    echo: stamp.map_or(own, Time::from_nanos),
                    hold: match hold {
                        Ok(share) => (host.now - own) / 255 * i64::from(share),
                        Err(nanos) => Duration::from_nanos(nanos),
                    },
                    receive_rate: receive_rate.unwrap_or(1e300),
                    loss_event_rate: loss_event_rate.unwrap_or(0.0),
                    new_loss_event,
                };
                host.take(&TfrcFeedback { number, feedback }.encode(SESSION), times);
            }
            Operation::Ack { back, stamp, times } => {
                let Some((number, own)) = host.recent(back) else {
                    continue;
                };
                let format = iftp_format(false);
                let header = Header {
                    source_port: (SESSION >> 16) as u16,
                    destination_port: SESSION as u16,
                    number: number as u16,
                    stamp: stamp.unwrap_or(format.stamp(own)),
                };
                let mut bytes = [0; 16];
                if let Ok(length) = format.encode_ack(&header, &mut bytes, Sum::default()) {
                    host.take(&bytes[..length], times);
                }
            }
            Operation::Stop => {
                host.end.stop(host.now);
                most = most.min(host.now + STOP);
            }
        }
    }
    // Without further messages, the session ends in time.
    host.wait(most);
    host.send();
    assert!(host.has_ended, "it does not end in time");
});

struct Host {
    end: SendingEnd,
    now: Time,
    /// Records the numbers and timestamps of data packets, and the bytes sent in each second.
    packets: Vec<(u32, Time)>,
    seconds: Vec<u64>,
    accepted: Option<Time>,
    has_ended: bool,
}

impl Host {
    fn take(&mut self, bytes: &[u8], times: u8) {
        for _ in 0..times {
            self.end.take(self.now, self.now, bytes);
            if self.end.asking(self.now).is_none() {
                self.accepted.get_or_insert(self.now);
            }
        }
    }

    /// Advances the clock, and handles the timers that expire meanwhile.
    fn wait(&mut self, until: Time) {
        let mut steps = 0;
        loop {
            self.send();
            let next = self.end.next_timeout(self.now);
            if self.has_ended || next > until {
                break;
            }
            self.now = self.now.max(next);
            steps += 1;
            assert!(steps < 1_000_000, "it turns without end");
        }
        self.now = self.now.max(until);
        let _ = self.end.sent(self.now);
    }

    fn send(&mut self) {
        while let Some(outgoing) = self.end.poll(self.now).expect("a pattern can be read") {
            let Some(number) = sequence_of(&outgoing.bytes) else {
                continue;
            };
            let since = self.now - self.accepted.expect("data before there is a session");
            assert!(since < TIME, "data after its time");
            let data = TfrcData::decode(&outgoing.bytes);
            let stamp = data.map_or(self.now, |(_, data, _)| data.data.stamp);
            self.packets.push((number, stamp));
            let second = (since.as_nanos() / 1_000_000_000) as usize;
            self.seconds.resize(self.seconds.len().max(second + 1), 0);
            self.seconds[second] += outgoing.bytes.len() as u64 + 28;
            assert!(
                self.seconds[second] as f64 <= 1.02 * RATE + 6_000.0,
                "a second with too much"
            );
        }
        self.has_ended |= self.end.outcome().is_some();
    }

    fn recent(&self, back: u8) -> Option<(u32, Time)> {
        self.packets.iter().rev().nth(usize::from(back)).copied()
    }
}
