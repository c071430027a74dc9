//! The receiving end of a call: jitter buffer, NACK, PLI, and reports.
//!
//! ```text
//! shown    a complete frame, if the previous one was shown or it is a key frame after a loss
//! NACK     immediately for each number that an arrival skips, then once per repair time, at most ten times
//! PLI      if the next frame is not whole `patience` after a piece of a later one; every 300 ms until a key frame
//! report   each `interval`, about all numbers since the previous one, and again about a late arrival
//! ```
//!
//! The repair time is the duration of the last repair; 100 ms before the first.

use std::collections::{BTreeMap, VecDeque};

use rtcp_types::{Nack, PayloadFeedback, Pli, TransportFeedback};
use whyloss::{Duration, Time};

use super::packet::{self, Packet, Piece, SSRC};
use super::reports;
use super::screen::{Screen, Shown};
use super::{Feedback, Settings};

/// The maximum number of frames in the jitter buffer.
const FRAMES: usize = 512;
/// The number of arrivals remembered for reports.
const ARRIVALS: usize = 1 << 12;
/// The maximum number of missing packets. With more, the receiver requests a key frame.
const MISSING: usize = 1 << 10;
/// The number of times that a packet is requested (libwebrtc: `kMaxNackRetries`).
const ASKS: u32 = 10;
/// The time between two PLIs.
const KEYS: Duration = Duration::from_millis(300);

/// A frame that has arrived in part.
#[derive(Clone, Debug)]
struct Partial {
    there: Vec<bool>,
    lacks: u16,
    key: bool,
    captured: u32,
    bytes: u64,
}

/// A packet that has not arrived.
#[derive(Clone, Copy, Debug)]
struct Missing {
    asks: u32,
    first: Time,
    next: Time,
}

/// The receiving end of a call.
pub struct Receiver {
    settings: Settings,
    /// The arrivals, starting at number `first`; numbers are extended past every wrap-around.
    arrivals: VecDeque<Option<Time>>,
    first: u64,
    /// The first number of the next report.
    unreported: u64,
    reports: u8,
    /// The time of the next report, if a packet arrived.
    due: Option<Time>,
    missing: BTreeMap<u64, Missing>,
    repair_time: Duration,
    frames: BTreeMap<u32, Partial>,
    /// The number of the next frame to show.
    next: u32,
    /// When a later frame began to wait for this frame.
    waits: Option<Time>,
    /// The time of the next PLI, if only a key frame helps.
    lost: Option<Time>,
    screen: Screen,
    shown: VecDeque<Shown>,
    outbox: VecDeque<Vec<u8>>,
}

impl Receiver {
    /// Creates a receiver that waits for the first packet.
    pub fn new(settings: Settings) -> Self {
        Self {
            screen: Screen::new(&settings),
            settings,
            arrivals: VecDeque::new(),
            first: 0,
            unreported: 0,
            reports: 0,
            due: None,
            missing: BTreeMap::new(),
            repair_time: Duration::from_millis(100),
            frames: BTreeMap::new(),
            next: 0,
            waits: None,
            lost: None,
            shown: VecDeque::new(),
            outbox: VecDeque::new(),
        }
    }

    /// Returns the next frame that was shown; `None` if there are no more.
    pub fn poll_shown(&mut self) -> Option<Shown> {
        self.shown.pop_front()
    }

    /// Handles a datagram. Returns whether it is a packet of a call.
    pub fn receive(&mut self, now: Time, bytes: &[u8]) -> bool {
        let Some(packet) = Packet::read(bytes) else {
            return false;
        };
        let number = self.arrived(now, packet.number);
        self.missing.remove(&number);
        if let Some(lost) = packet.repairs {
            let lost = nearest(number, lost);
            if let Some(missing) = self.missing.remove(&lost) {
                self.repair_time = now - missing.first;
            }
        }
        self.keep(now, &packet.piece);
        self.show(now);
        true
    }

    /// Records an arrival and the numbers that it skips. Returns its extended number.
    fn arrived(&mut self, now: Time, number: u16) -> u64 {
        self.due.get_or_insert(now + self.settings.interval);
        if self.arrivals.is_empty() {
            // Start one range higher, so that a number just below does not wrap.
            self.first = 1 << 16 | u64::from(number);
            self.unreported = self.first;
            self.arrivals.push_back(Some(now));
            return self.first;
        }
        let end = self.first + self.arrivals.len() as u64;
        let id = nearest(end, number);
        if id >= end {
            for lost in end..id {
                self.arrivals.push_back(None);
                if self.settings.nack && self.missing.len() < MISSING {
                    let missing = Missing {
                        asks: 0,
                        first: now,
                        next: now,
                    };
                    self.missing.insert(lost, missing);
                }
            }
            self.arrivals.push_back(Some(now));
            while self.arrivals.len() > ARRIVALS {
                self.arrivals.pop_front();
                self.first += 1;
            }
            self.unreported = self.unreported.max(self.first);
        } else if let Some(slot) = id
            .checked_sub(self.first)
            .and_then(|at| self.arrivals.get_mut(at as usize))
        {
            // The first copy counts.
            if slot.is_none() {
                *slot = Some(now);
                self.unreported = self.unreported.min(id);
            }
        }
        id
    }

    /// Adds a piece to its frame.
    fn keep(&mut self, now: Time, piece: &Piece) {
        let ahead = piece.frame.wrapping_sub(self.next).cast_signed();
        if ahead < 0 || self.frames.len() >= FRAMES && !self.frames.contains_key(&piece.frame) {
            return;
        }
        let frame = self.frames.entry(piece.frame).or_insert_with(|| Partial {
            there: vec![false; usize::from(piece.pieces)],
            lacks: piece.pieces,
            key: piece.key,
            captured: piece.captured,
            bytes: 0,
        });
        if let Some(there) = frame.there.get_mut(usize::from(piece.index))
            && !*there
        {
            *there = true;
            frame.lacks -= 1;
            frame.bytes += u64::from(piece.bytes);
        }
        if ahead > 0 && self.waits.is_none() {
            self.waits = Some(now);
        }
    }

    /// Shows the frames that are complete.
    fn show(&mut self, now: Time) {
        if self.lost.is_some() {
            let whole = |(_, frame): &(&u32, &Partial)| frame.key && frame.lacks == 0;
            if let Some((&number, _)) = self.frames.iter().find(whole) {
                self.next = number;
                self.frames = self.frames.split_off(&number);
                (self.lost, self.waits) = (None, None);
            }
        }
        if self.lost.is_some() {
            return;
        }
        while let Some(frame) = self.frames.get(&self.next).filter(|frame| frame.lacks == 0) {
            let delay = packet::since(frame.captured, now);
            let shown = self.screen.show(now, delay, frame.bytes);
            self.shown.push_back(shown);
            self.frames.remove(&self.next);
            self.next = self.next.wrapping_add(1);
            self.waits = None;
        }
        let later = self.frames.keys().any(|number| *number != self.next);
        if later && self.waits.is_none() {
            self.waits = Some(now);
        }
    }

    /// Returns when [`wake`](Self::wake) is due; [`Time::MAX`] means never.
    pub fn next_timeout(&self) -> Time {
        let asks = self.missing.values().map(|missing| missing.next).min();
        let waits = self.waits.filter(|_| self.lost.is_none());
        let waits = waits.map(|since| since + self.settings.patience);
        let times = [self.due, asks, waits, self.lost];
        times.into_iter().flatten().min().unwrap_or(Time::MAX)
    }

    /// Handles the deadlines that are due at `now`.
    pub fn wake(&mut self, now: Time) {
        self.act(now);
    }

    fn act(&mut self, now: Time) {
        if self.lost.is_none()
            && self
                .waits
                .is_some_and(|at| at + self.settings.patience <= now)
        {
            self.lost = Some(now);
        }
        if self.lost.is_some_and(|at| at <= now) {
            let packet = PayloadFeedback::builder_owned(Pli::builder());
            let packet = packet.sender_ssrc(SSRC ^ 1).media_ssrc(SSRC);
            self.outbox.push_back(reports::rtcp(&packet));
            self.lost = Some(now + KEYS);
        }
        self.ask(now);
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.report(now);
        }
    }

    /// Requests the missing packets that are due.
    fn ask(&mut self, now: Time) {
        let mut nack = Nack::builder();
        let (mut some, wait) = (false, self.repair_time.max(Duration::from_millis(10)));
        self.missing.retain(|&number, missing| {
            if missing.next > now {
                return true;
            }
            if missing.asks == ASKS {
                return false;
            }
            some = true;
            nack = std::mem::replace(&mut nack, Nack::builder()).add_rtp_sequence(number as u16);
            missing.asks += 1;
            missing.next = now + wait;
            true
        });
        if some {
            let packet = TransportFeedback::builder_owned(nack);
            let packet = packet.sender_ssrc(SSRC ^ 1).media_ssrc(SSRC);
            self.outbox.push_back(reports::rtcp(&packet));
        }
    }

    fn report(&mut self, now: Time) {
        let end = self.first + self.arrivals.len() as u64;
        while self.unreported < end {
            let skipped = (self.unreported - self.first) as usize;
            let arrivals = self.arrivals.iter().skip(skipped).copied();
            let first = self.unreported as u16;
            let (report, many) = match self.settings.feedback {
                Feedback::Twcc => reports::twcc(first, self.reports, arrivals),
                Feedback::Rfc8888 => reports::rfc8888(first, now, arrivals),
            };
            self.reports = self.reports.wrapping_add(1);
            self.outbox.push_back(report);
            self.unreported += many.max(1) as u64;
        }
    }

    /// Appends the next RTCP packet to `bytes`. Returns false if there is none.
    pub fn poll_transmit(&mut self, now: Time, bytes: &mut Vec<u8>) -> bool {
        self.act(now);
        let Some(packet) = self.outbox.pop_front() else {
            return false;
        };
        bytes.extend(packet);
        true
    }
}

/// Returns the number nearest to `near` whose low 16 bits are `number`.
fn nearest(near: u64, number: u16) -> u64 {
    let apart = number.wrapping_sub(near as u16).cast_signed();
    near.saturating_add_signed(i64::from(apart))
}
