//! Reads RTCP: reports (RFC 3550), NACK (RFC 4585), and lists of arrived packets (RFC 8888,
//! transport-wide feedback).

use crate::steps::step;
use rtcp_types::{Compound, Nack, Packet, ReportBlock, Twcc, TwccPacketStatus};
use whyloss_rtc::rfc8888;

/// The maximum number of packets in one report.
const SPOKEN_OF: usize = 1 << 14;

/// A report of a receiver or a sender.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Told {
    /// A sender report, with the middle of its NTP time.
    Sender { ssrc: u32, middle: u32 },
    /// A report block on a stream.
    Block(Block),
    /// The numbers of missing packets (NACK).
    Nack { ssrc: u32, numbers: Vec<u16> },
    /// The fates of consecutive numbers of a stream.
    Arrived {
        ssrc: u32,
        first: u16,
        heard: Vec<Heard>,
    },
    /// The fates of consecutive transport-wide numbers, which all streams share.
    Transport { first: u16, heard: Vec<Heard> },
}

/// A receiver's report on one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The packet did not arrive.
    Missing,
    /// The packet arrived, at this time if the report has it.
    Arrived(Option<Instant>),
}

/// A time on a receiver's clock in ns, which wraps after a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instant {
    pub(super) ns: u64,
    pub(super) period: u64,
}

impl Instant {
    /// Returns the time since `other` in ns, if it is less than half a period.
    pub(super) fn since(self, other: Self) -> i64 {
        let period = i128::from(self.period.max(1));
        let apart = (i128::from(self.ns) - i128::from(other.ns)).rem_euclid(period);
        let apart = if apart >= period / 2 {
            apart - period
        } else {
            apart
        };
        apart as i64
    }
}

/// The step of transport-wide feedback in ns, and that of its 24-bit reference times.
const STEP: i64 = 250_000;
const REFERENCE: u64 = 64_000_000;

/// A report block of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) ssrc: u32,
    /// The cumulative number of lost packets, less duplicates.
    pub(super) lost: i32,
    /// The middle of the NTP time of the last sender report.
    pub(super) middle: u32,
    /// The time since that report arrived, in 1/65536 s.
    pub(super) since: u32,
}

impl Told {
    /// Returns the source of the stream; 0 for transport-wide numbers.
    pub(super) fn ssrc(&self) -> u32 {
        match self {
            Self::Sender { ssrc, .. } | Self::Nack { ssrc, .. } | Self::Arrived { ssrc, .. } => {
                *ssrc
            }
            Self::Block(block) => block.ssrc,
            Self::Transport { .. } => 0,
        }
    }

    /// Returns the number of packets that the report lists one by one.
    pub(super) fn packets(&self) -> usize {
        match self {
            Self::Sender { .. } | Self::Block(_) => 0,
            Self::Nack { numbers, .. } => numbers.len(),
            Self::Arrived { heard, .. } | Self::Transport { heard, .. } => heard.len(),
        }
    }
}

/// Limits the work on feedback, because a few bytes can list thousands of packets and any number of
/// streams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit(usize);

impl Credit {
    /// The number of steps that each packet of a stream earns, and the highest credit.
    const EARNED: usize = 64;
    const SAVED: usize = 1 << 18;

    pub(super) fn new() -> Self {
        Self(Self::SAVED)
    }

    /// Earns steps for a packet of a stream.
    pub(super) fn earn(&mut self) {
        self.0 = (self.0 + Self::EARNED).min(Self::SAVED);
    }

    /// Returns whether the credit covers `steps` steps; if so, subtracts them.
    pub(super) fn pays(&mut self, steps: usize) -> bool {
        let left = self.0.checked_sub(steps);
        if let Some(left) = left {
            step(steps);
            self.0 = left;
        }
        left.is_some()
    }
}

/// Reads an RTCP datagram and passes on its reports. Returns false if some of it cannot be read or
/// needs too much work.
pub(super) fn read(
    bytes: &[u8],
    credit: &mut Credit,
    take: &mut dyn FnMut(Told, &mut Credit),
) -> bool {
    let Ok(compound) = Compound::parse(bytes) else {
        return false;
    };
    let mut whole = true;
    for packet in compound {
        match packet {
            Ok(Packet::Sr(report)) => {
                let (ssrc, middle) = (report.ssrc(), (report.ntp_timestamp() >> 16) as u32);
                take(Told::Sender { ssrc, middle }, credit);
                report
                    .report_blocks()
                    .for_each(|block| take(of_block(&block), credit));
            }
            Ok(Packet::Rr(report)) => {
                report
                    .report_blocks()
                    .for_each(|block| take(of_block(&block), credit));
            }
            Ok(Packet::TransportFeedback(feedback)) => {
                let ssrc = feedback.media_ssrc();
                if let Ok(nack) = feedback.parse_fci::<Nack<'_>>() {
                    let numbers = nack.entries().take(SPOKEN_OF).collect();
                    take(Told::Nack { ssrc, numbers }, credit);
                } else if let Ok(twcc) = feedback.parse_fci::<Twcc<'_>>() {
                    let (told, all) = transport(&twcc, credit);
                    whole &= all;
                    take(told, credit);
                }
            }
            Ok(_) => {}
            Err(_) => whole = false,
        }
    }
    for report in rfc8888::reports(bytes) {
        let streams = report.streams();
        for stream in streams.take_while(|stream| stream.packets().len() <= SPOKEN_OF) {
            take(arrived(&report, &stream), credit);
        }
    }
    whole
}

/// Returns transport-wide feedback as far as the credit covers it, and whether it is complete.
fn transport(twcc: &Twcc<'_>, credit: &mut Credit) -> (Told, bool) {
    let period = REFERENCE << 24;
    let mut ns = REFERENCE * u64::from(twcc.reference_time());
    let mut all = true;
    let packets = twcc.packets().take(SPOKEN_OF).map_while(Result::ok);
    let packets = packets.take_while(|_| {
        all = credit.pays(1);
        all
    });
    // Each delta counts from the arrival before.
    let heard = packets.map(|(_, status)| match status {
        TwccPacketStatus::NotReceived => Heard::Missing,
        TwccPacketStatus::Received { delta } => {
            ns = ns.saturating_add_signed(STEP * i64::from(delta));
            Heard::Arrived(Some(Instant { ns, period }))
        }
    });
    let heard = heard.collect();
    let first = twcc.base_sequence_number();
    (Told::Transport { first, heard }, all)
}

fn of_block(block: &ReportBlock<'_>) -> Told {
    Told::Block(Block {
        ssrc: block.ssrc(),
        // The field is a signed 24-bit number, because duplicates reduce the count.
        lost: ((block.cumulative_lost() << 8) as i32) >> 8,
        middle: block.last_sender_report_timestamp(),
        since: block.delay_since_last_sender_report_timestamp(),
    })
}

/// Returns the report of one stream.
fn arrived(report: &rfc8888::Report<'_>, stream: &rfc8888::Stream<'_>) -> Told {
    let heard = |arrival: Option<rfc8888::Arrival>| {
        arrival.map_or(Heard::Missing, |arrival| {
            Heard::Arrived(arrival.before.map(|before| Instant {
                ns: (report.at + rfc8888::PERIOD - before) % rfc8888::PERIOD,
                period: rfc8888::PERIOD,
            }))
        })
    };
    Told::Arrived {
        ssrc: stream.ssrc,
        first: stream.first,
        heard: stream.packets().map(heard).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: &[u8]) -> (Vec<Told>, bool) {
        let mut all = Vec::new();
        let whole = read(bytes, &mut Credit::new(), &mut |told, _| all.push(told));
        (all, whole)
    }

    #[test]
    fn a_few_bytes_cannot_ask_for_any_amount_of_work() {
        // Each of these reports, 20 bytes of transport-wide feedback, lists 8,191 missing packets.
        let mut bytes = vec![0x8f, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2];
        bytes.extend([0, 0, 0x1f, 0xff, 0, 0, 0, 0, 0x1f, 0xff, 0, 0]);
        bytes[3] = (bytes.len() / 4 - 1) as u8;
        let (mut credit, mut steps) = (Credit::new(), 0);
        let mut heard = |told, _: &mut Credit| {
            if let Told::Transport { heard, .. } = told {
                steps += heard.len();
            }
        };
        let whole: Vec<bool> = (0..100)
            .map(|_| read(&bytes, &mut credit, &mut heard))
            .collect();
        assert!(whole[0] && !whole[99]);
        assert_eq!(steps, 1 << 18);
    }

    #[test]
    fn reports_and_nacks() {
        let mut bytes = vec![0x81, 201, 0, 7];
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 2]);
        // The fraction lost is 1/256, the total minus one (a packet came twice). Highest number,
        // jitter, last report and the delay of 1 s since then follow.
        bytes.extend([1, 0xff, 0xff, 0xff, 0, 0, 0, 9, 0, 0, 0, 0]);
        bytes.extend([0xab, 0xcd, 0xef, 1, 0, 1, 0, 0]);
        bytes.extend([0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 100, 0, 0b101]);
        let (told, whole) = told(&bytes);
        assert!(whole);
        let block = Block {
            ssrc: 2,
            lost: -1,
            middle: 0xabcd_ef01,
            since: 65_536,
        };
        let nack = Told::Nack {
            ssrc: 2,
            numbers: vec![100, 101, 103],
        };
        assert_eq!(told, [Told::Block(block), nack]);
    }

    #[test]
    fn congestion_control_feedback() {
        // The list has three packets of a stream, starting with number 65535. The second is
        // missing.
        let mut bytes = vec![0x8b, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xff, 0, 3];
        bytes.extend([0x80, 1, 0, 0, 0x80, 2, 0, 0]);
        bytes.extend([1, 2, 3, 4]);
        let (told, _) = told(&bytes);
        let [
            Told::Arrived {
                ssrc: 2,
                first: 65_535,
                heard,
            },
        ] = told.as_slice()
        else {
            panic!("{told:?}");
        };
        let &[
            Heard::Arrived(Some(one)),
            Heard::Missing,
            Heard::Arrived(Some(other)),
        ] = heard.as_slice()
        else {
            panic!("{heard:?}");
        };
        // The times are 1/1024 s and 2/1024 s before the report: 976,562.5 ns apart.
        assert_eq!(other.since(one), -976_563);
    }

    #[test]
    fn clocks_that_start_again_go_on() {
        let at = |ns| Instant { ns, period: 1000 };
        assert_eq!(at(10).since(at(990)), 20);
        assert_eq!(at(990).since(at(10)), -20);
        assert_eq!(at(300).since(at(100)), 200);
    }

    #[test]
    fn what_is_cut_is_said_to_be() {
        let (told, whole) = told(&[0x81, 201, 0, 7, 0, 0, 0, 1]);
        assert!(told.is_empty() && !whole);
    }
}
