//! Reads transport-wide and RFC 8888 feedback from RTCP bytes, for senders whose stack does not.
//!
//! [`Session`] remembers the latest departures, reads each compound RTCP packet, and passes its
//! reports to the estimator.
//!
//! ```
//! use whyloss_rtc::feedback::Session;
//! use whyloss_rtc::{Estimator, Time};
//!
//! let mut session = Session::new(Estimator::new(300e3, 100e3, 10e6));
//! let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
//! session.on_sent(7, ms(100), 1_200);
//! // Transport-wide feedback: one packet, number 7, arrived at 64 ms on the receiver's clock.
//! let feedback = [0x8f, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0, 7, 0, 1, 0, 0, 1, 0, 0x20, 1, 0, 0];
//! assert_eq!(session.on_rtcp(ms(140), &feedback), 1);
//! assert_eq!(session.estimator().target(), 300e3);
//! ```
//!
//! | format | 16-bit numbers | resolution |
//! |---|---|---|
//! | transport-wide (draft-holmer-rmcat-transport-wide-cc-extensions-01) | transport's | 250 µs |
//! | RFC 8888, with ECN | RTP's, of one stream per session | 1/1024 s, back from the report |
//!
//! Each RTP stream has its own numbers. Without [`with_ssrc`](Session::with_ssrc), a session
//! therefore ignores all RFC 8888 feedback once reports have named a second stream.
//!
//! Numbers wrap at 2¹⁶; each refers to the latest packet sent with it. A session remembers 8,192
//! packets, so feedback may be up to 8,191 packets old.

use crate::bandwidth::Bandwidth;
use crate::{Ecn, Estimator, Fate, Report, Time, rfc8888};
use rtcp_types::{Compound, Packet, Twcc, TwccPacketStatus};

/// The number of latest packets whose feedback is accepted. Older packets are forgotten.
const RING: u64 = 1 << 13;
/// The number of reports passed on at a time.
const BATCH: usize = 256;

/// Connects an estimator to RTCP feedback.
#[derive(Clone, Debug)]
pub struct Session<E = Estimator> {
    estimator: E,
    /// The stream whose RFC 8888 feedback to read.
    stream: Stream,
    /// The extended number, departure and size of each packet.
    sent: Box<[(u64, Time, u32)]>,
    /// The number of the latest sent packet, extended past every wrap-around.
    latest: Option<u64>,
    transport: Clock,
    report: Clock,
    batch: Vec<Report>,
}

/// The stream whose reports count, by its SSRC.
#[derive(Clone, Copy, Debug)]
enum Stream {
    /// No report has named a stream yet.
    Unknown,
    /// All reports so far have named this stream.
    First(u32),
    /// Reports have named several streams, and the user chose none.
    Several,
    /// The user chose this stream.
    Named(u32),
}

impl Stream {
    /// Records that a report names the stream `ssrc`.
    fn sees(&mut self, ssrc: u32) {
        *self = match *self {
            Self::Unknown => Self::First(ssrc),
            Self::First(first) if first != ssrc => Self::Several,
            known => known,
        };
    }

    fn is(self, ssrc: u32) -> bool {
        matches!(self, Self::First(own) | Self::Named(own) if own == ssrc)
    }
}

/// Extends a receiver's clock that wraps after a period.
#[derive(Clone, Debug)]
struct Clock {
    period: u64,
    last: Option<u64>,
}

impl Clock {
    /// Returns the time congruent to `ns` that is nearest to the previous one.
    fn read(&mut self, ns: u64) -> u64 {
        // Start one period later, so that a time just before the first does not wrap.
        let last = self.last.unwrap_or(self.period + ns % self.period);
        let apart = (ns % self.period + self.period - last % self.period) % self.period;
        let at = if apart < self.period / 2 {
            last.saturating_add(apart)
        } else {
            last.saturating_sub(self.period - apart)
        };
        self.last = Some(at);
        at
    }
}

/// The step of transport-wide feedback and that of its reference times, in ns.
const STEP: i64 = 250_000;
const REFERENCE: u64 = 64_000_000;

impl<E: Bandwidth> Session<E> {
    /// Creates a session that passes reports to `estimator`.
    pub fn new(estimator: E) -> Self {
        let clock = |period| Clock { period, last: None };
        Self {
            estimator,
            stream: Stream::Unknown,
            sent: vec![(u64::MAX, Time::ZERO, 0); RING as usize].into_boxed_slice(),
            latest: None,
            transport: clock(REFERENCE << 24),
            report: clock(rfc8888::PERIOD),
            batch: Vec::with_capacity(BATCH),
        }
    }

    /// Reads RFC 8888 feedback only about the stream with this SSRC. A sender of several streams,
    /// such as sound and video, needs this, because one report covers all of them.
    #[must_use]
    pub fn with_ssrc(self, ssrc: u32) -> Self {
        Self {
            stream: Stream::Named(ssrc),
            ..self
        }
    }

    /// Returns the estimator that gets the reports.
    pub fn estimator(&self) -> &E {
        &self.estimator
    }

    /// Returns the estimator mutably, to handle its timeout.
    pub fn estimator_mut(&mut self) -> &mut E {
        &mut self.estimator
    }

    /// Records the departure of packet `number` at `now`, with `size` bytes on the wire.
    pub fn on_sent(&mut self, number: u16, now: Time, size: u32) {
        let id = match self.latest {
            None => 1 << 16 | u64::from(number),
            Some(latest) => latest + u64::from(number.wrapping_sub(latest as u16)),
        };
        self.latest = Some(id);
        self.sent[(id % RING) as usize] = (id, now, size);
        self.estimator.on_sent(now, id, size);
    }

    /// Reads a compound RTCP packet that arrived at `now`. Returns how many packets of this session
    /// it reports.
    ///
    /// Skips other RTCP packets and stops at the first malformed byte.
    pub fn on_rtcp(&mut self, now: Time, bytes: &[u8]) -> usize {
        let mut reports = 0;
        let Ok(compound) = Compound::parse(bytes) else {
            return 0;
        };
        for packet in compound {
            if let Ok(Packet::TransportFeedback(feedback)) = packet
                && let Ok(twcc) = feedback.parse_fci::<Twcc<'_>>()
            {
                reports += self.on_twcc(now, &twcc);
            }
        }
        let streams = rfc8888::reports(bytes).flat_map(|report| report.streams());
        streams.for_each(|stream| self.stream.sees(stream.ssrc));
        for report in rfc8888::reports(bytes) {
            reports += self.on_ccfb(now, &report);
        }
        reports
    }

    /// Returns the time in ns of a reference time in transport-wide feedback.
    pub(crate) fn reference(&mut self, reference: u32) -> u64 {
        self.transport.read(REFERENCE * u64::from(reference))
    }

    fn on_twcc(&mut self, now: Time, twcc: &Twcc<'_>) -> usize {
        let mut at = self.reference(twcc.reference_time());
        let mut reports = 0;
        for packet in twcc.packets() {
            let Ok((number, status)) = packet else { break };
            let fate = match status {
                TwccPacketStatus::NotReceived => Fate::Lost(None),
                TwccPacketStatus::Received { delta } => {
                    at = at.saturating_add_signed(STEP * i64::from(delta));
                    Fate::Arrived(Some(Time::from_nanos(at)), Ecn::NotEct)
                }
            };
            reports += self.report(now, number, fate);
        }
        self.hand_on(now);
        reports
    }

    fn on_ccfb(&mut self, now: Time, report: &rfc8888::Report<'_>) -> usize {
        let told = self.report.read(report.at);
        let (mut reports, own) = (0, self.stream);
        for stream in report.streams().filter(|stream| own.is(stream.ssrc)) {
            for (place, arrival) in (0_u16..).zip(stream.packets()) {
                let fate = arrival.map_or(Fate::Lost(None), |arrival| {
                    let at = arrival.before.map(|before| told.saturating_sub(before));
                    Fate::Arrived(at.map(Time::from_nanos), arrival.ecn)
                });
                reports += self.report(now, stream.first.wrapping_add(place), fate);
            }
        }
        self.hand_on(now);
        reports
    }

    /// Adds the report of one packet, if this session sent it.
    pub(crate) fn report(&mut self, now: Time, number: u16, fate: Fate) -> usize {
        let Some(latest) = self.latest else { return 0 };
        let Some(id) = latest.checked_sub(u64::from((latest as u16).wrapping_sub(number))) else {
            return 0;
        };
        let (known, departed, size) = self.sent[(id % RING) as usize];
        if known != id {
            return 0;
        }
        self.batch.push(Report {
            id,
            departed,
            size,
            fate,
        });
        if self.batch.len() == BATCH {
            self.hand_on(now);
        }
        1
    }

    /// Passes the added reports to the estimator.
    pub(crate) fn hand_on(&mut self, now: Time) {
        self.estimator.on_reports(now, &self.batch);
        self.batch.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn congestion_control_feedback_with_marks() {
        let mut session = Session::new(Estimator::new(1e6, 1e5, 1e7));
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        for number in [65_535, 0, 1] {
            session.on_sent(number, at(100), 1_000);
        }
        // Three packets of a stream, starting at number 65535, with ECT(1). The second is missing,
        // and the third is marked.
        let mut bytes = vec![0x8b, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xff, 0, 3];
        bytes.extend([0xa0, 1, 0, 0, 0xe0, 2, 0, 0]);
        bytes.extend([1, 2, 3, 4]);
        assert_eq!(session.on_rtcp(at(200), &bytes), 3);
        // Numbers that were not sent are not reported.
        bytes[12..14].copy_from_slice(&[0, 2]);
        assert_eq!(session.on_rtcp(at(200), &bytes), 0);
        for length in 0..bytes.len() {
            session.on_rtcp(at(300), &bytes[..length]);
        }
    }

    #[test]
    fn numbers_of_other_streams_are_not_ours() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let sent = |mut session: Session| {
            for number in 5..8 {
                session.on_sent(number, at(100), 1_000);
            }
            session
        };
        let session = || sent(Session::new(Estimator::new(1e6, 1e5, 1e7)));
        let report = |streams: &[[u8; 2]]| {
            let mut bytes = vec![0x8b, 205, 0, 2 + 3 * streams.len() as u8, 0, 0, 0, 1];
            for [ssrc, first] in streams {
                // One packet arrived, and one is lost.
                bytes.extend([0, 0, 0, *ssrc, 0, *first, 0, 2, 0x80, 1, 0, 0]);
            }
            bytes.extend([1, 2, 3, 4]);
            bytes
        };
        let (sound, video) = ([9, 5], [2, 6]);
        let both = report(&[sound, video]);
        assert_eq!(session().on_rtcp(at(200), &both), 0);
        let one_by_one = [report(&[sound]), report(&[video])].concat();
        assert_eq!(session().on_rtcp(at(200), &one_by_one), 0);
        assert_eq!(session().on_rtcp(at(200), &report(&[video])), 2);
        let mut alone = session();
        assert_eq!(alone.on_rtcp(at(200), &report(&[video])), 2);
        for other in [sound, video] {
            assert_eq!(alone.on_rtcp(at(300), &report(&[other])), 0);
        }
        assert_eq!(session().on_rtcp(at(200), &report(&[video, [2, 5]])), 4);
        for bytes in [both, one_by_one] {
            assert_eq!(session().with_ssrc(2).on_rtcp(at(200), &bytes), 2);
            assert_eq!(session().with_ssrc(9).on_rtcp(at(200), &bytes), 2);
            assert_eq!(session().with_ssrc(3).on_rtcp(at(200), &bytes), 0);
        }
    }

    #[test]
    fn clocks_go_on_past_their_period_and_back() {
        let mut clock = Clock {
            period: 1_000,
            last: None,
        };
        let read: Vec<u64> = [990, 10, 980, 400].map(|ns| clock.read(ns)).to_vec();
        assert_eq!(read, [1_990, 2_010, 1_980, 2_400]);
    }
}
