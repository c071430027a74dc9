//! A bandwidth estimator for real-time media that tells a full queue from a lossy radio.
//!
//! [`Estimator`] turns per-packet reports into the bitrate at which to send. It has no clock and
//! does no I/O.
//!
//! ```
//! use whyloss_rtc::{Ecn, Estimator, Fate, Report, Time};
//!
//! let mut estimator = Estimator::new(300e3, 100e3, 10e6);
//! let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
//! // Ten packets left 30 ms apart, at 320 kbit/s, and arrived on a clock that is 6 s ahead.
//! let reports = (0..10).map(|id| Report {
//!     id,
//!     departed: ms(1_000 + 30 * id),
//!     size: 1_200,
//!     fate: Fate::Arrived(Some(ms(7_020 + 30 * id)), Ecn::NotEct),
//! });
//! estimator.on_reports(ms(1_320), reports);
//! assert_eq!(estimator.target(), 600e3);
//! ```
//!
//! # Contract
//!
//! - Numbers count packets in the order of departure. Reports may come in any order, late, twice,
//!   or not at all; a packet that no report speaks of counts neither as lost nor as arrived.
//! - The two clocks share neither epoch nor pace. A clock that jumps costs a few rounds.
//! - [`target`](Estimator::target) is finite and between the bounds at any time.
//! - A sender that probes needs nothing special: a burst above the target raises it if the path
//!   carries the burst.
//! - Memory is fixed at [`Estimator::new`]: 40 KiB. Nothing allocates afterwards.
//! - Call [`timeout`](Estimator::timeout) when [`poll_timeout`](Estimator::poll_timeout) is due.
//!
//! # Parts
//!
//! | file | what it decides |
//! |---|---|
//! | `delay.rs` | how long the queue is, and whether it grows |
//! | `loss.rs` | why each packet was lost |
//! | `ecn.rs` | how much of what arrived is marked |
//! | `train.rs` | what a burst or a probe shows of the capacity |
//! | `rate.rs` | where the target goes |
//! | `fates.rs`, `round.rs` | what they share: reports in order, and rates of a round |
//!
//! # Features
//!
//! `rtc-interceptor` implements the trait of webrtc-rs, and `rtcp` reads feedback from RTCP bytes.
//! `media` has both ends of a call without its video, and `sim` puts them into `whyloss-sim`. All
//! are off by default.

pub mod bandwidth;
mod delay;
mod ecn;
mod fates;
#[cfg(feature = "rtcp")]
pub mod feedback;
#[cfg(feature = "rtc-interceptor")]
pub mod interceptor;
mod loss;
#[cfg(feature = "media")]
pub mod media;
#[cfg(feature = "media")]
pub mod nada;
mod rate;
mod round;
#[cfg(feature = "sim")]
pub mod sim;
mod train;

use delay::Delay;
use ecn::Marks;
use fates::Fates;
use loss::Losses;
use rate::{Control, Seen};
use round::Round;
use train::Trains;
use whyloss::receiver::Arrival;
pub use whyloss::{Cause, Duration, Time};

/// Arrivals that make a round: a line through fewer says little of a queue. A slow sender's round
/// ends after [`SLOW`] with fewer.
const FEW: u32 = 8;
const SLOW: Duration = Duration::from_secs(1);

/// The ECN codepoint with which a packet arrived (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable, or not reported.
    #[default]
    NotEct,
    /// ECN-capable, classic.
    Ect0,
    /// ECN-capable, L4S (RFC 9331).
    Ect1,
    /// Marked by a queue.
    Ce,
}

impl Ecn {
    /// Returns the codepoint of the two low bits of `bits`, as IP headers and RFC 8888 carry it.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrived, at this time on the receiver's clock if the report tells it, with this
    /// codepoint.
    Arrived(Option<Time>, Ecn),
    /// It did not arrive. A path that knows why may tell the cause; without it, the estimator
    /// judges.
    Lost(Option<Cause>),
}

/// A receiver's report of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Number of the packet, counted up by one from any start in the order of departure.
    pub id: u64,
    /// Time of departure on the sender's clock: when the pacer released it.
    pub departed: Time,
    /// Bytes on the wire.
    pub size: u32,
    /// The fate that the receiver reports.
    pub fate: Fate,
}

/// State behind the target, for logs and pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Queue of the latest round, seconds, its noise taken off.
    pub queue: f64,
    /// Growth of the queue in that round, seconds per second; 0 if it is within two standard
    /// errors.
    pub trend: f64,
    /// Capacity at the last congestion, bit/s; 0 before the first.
    pub capacity: f64,
    /// Share of the packets of the latest round that were lost.
    pub lost: f64,
    /// Share of them that a full queue refused, by the odds of the losses.
    pub refused: f64,
    /// Time from the first departure of the latest round to its report, seconds: a round trip and
    /// the interval of feedback.
    pub trip: f64,
}

/// Estimates the rate at which a sender of media should send.
#[derive(Clone, Debug)]
pub struct Estimator {
    fates: Fates,
    losses: Losses,
    delay: Delay,
    marks: Marks,
    trains: Trains,
    round: Round,
    control: Control,
    stats: Stats,
    trip: Duration,
    /// When the latest reports came.
    now: Time,
    /// When the target last changed: packets that left before do not know it.
    changed: Time,
    /// When an arrival was last reported, unless a silence was noticed since.
    heard: Option<Time>,
}

impl Estimator {
    /// Starts at `initial` and stays between `least` and `most`, all in bit/s.
    ///
    /// Takes bounds in either order. A negative rate or NaN counts as 0, and no rate exceeds 1
    /// Tbit/s.
    pub fn new(initial: f64, least: f64, most: f64) -> Self {
        Self {
            fates: Fates::new(),
            losses: Losses::new(),
            delay: Delay::new(),
            marks: Marks::default(),
            trains: Trains::default(),
            round: Round::new(),
            control: Control::new(initial, least, most),
            stats: Stats::default(),
            trip: Duration::from_millis(100),
            now: Time::ZERO,
            changed: Time::ZERO,
            heard: None,
        }
    }

    /// Takes the reports that came at `now` on the sender's clock.
    ///
    /// The losses of a batch are read before its arrivals, which is why the reports must be
    /// readable twice.
    pub fn on_reports<R>(&mut self, now: Time, reports: R)
    where
        R: IntoIterator<Item = Report>,
        R::IntoIter: Clone,
    {
        if now < self.now {
            self.on_clock(now);
        }
        self.now = now;
        let reports = reports.into_iter();
        for report in reports.clone() {
            if let Fate::Lost(cause) = report.fate {
                self.fates.lost(report.id, cause);
            }
        }
        for report in reports {
            if let Fate::Arrived(received, ecn) = report.fate {
                self.on_arrival(&report, received, ecn);
            }
        }
        let slow = self.round.arrived > 1 && self.round.span() > SLOW;
        if self.round.arrived >= FEW || slow {
            self.end_round();
        }
    }

    fn on_arrival(&mut self, report: &Report, received: Option<Time>, ecn: Ecn) {
        self.heard = Some(self.now);
        let Some(gap) = self.fates.arrived(report.id) else {
            return;
        };
        self.marks.add(ecn);
        let Some(received) = received else {
            return;
        };
        let arrival = Arrival::new(report.id, report.departed, received, report.size);
        let (refused, lost) = self.losses.judge(&arrival, &gap);
        if report.departed >= self.changed && report.departed <= self.now {
            self.losses.refused += refused;
            self.losses.lost += lost;
            self.delay.add(&arrival);
            self.round.add(&arrival);
            self.trains.add(&arrival, self.control.target);
        }
    }

    fn end_round(&mut self) {
        self.trip = (self.now - self.round.began()).max(Duration::from_millis(1));
        let queue = self.delay.measure(self.now, self.trip);
        let arrived = f64::from(self.round.arrived);
        let (refused, lost) = (self.losses.refused, self.losses.lost);
        let seen = Seen {
            queue,
            trip: self.trip,
            sent: self.round.sent(lost / arrived),
            refused: refused / (arrived + lost),
            lost: lost / (arrived + lost),
            packets: arrived + lost,
            size: self.round.bytes / arrived,
            marks: self.marks.end(),
            train: self.trains.end(),
        };
        self.control.on_round(self.now, &seen);
        self.stats = Stats {
            queue: queue.delay,
            trend: queue.trend,
            capacity: self.control.known,
            lost: seen.lost,
            refused: seen.refused,
            trip: self.trip.as_secs_f64(),
        };
        self.losses.clear();
        self.round = Round::new();
        self.changed = self.now;
    }

    /// The sender's clock went back to `now`: times of before mean nothing.
    fn on_clock(&mut self, now: Time) {
        self.delay = Delay::new();
        self.round = Round::new();
        self.trains = Trains::default();
        self.control.on_clock(now);
        self.changed = now;
        self.heard = self.heard.map(|_| now);
    }

    /// The rate at which to send, bit/s.
    pub fn target(&self) -> f64 {
        self.control.target
    }

    /// State behind the target. No decision should rest on it.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The time at which [`timeout`](Self::timeout) is due if no report comes before: half a
    /// second, or four trips.
    pub fn poll_timeout(&self) -> Option<Time> {
        let patience = (self.trip * 4).max(Duration::from_millis(500));
        self.heard.map(|heard| heard + patience)
    }

    /// Halves the target if `now` is past [`poll_timeout`](Self::poll_timeout), once per silence.
    ///
    /// An idle sender hears nothing either, so a longer silence takes no more.
    pub fn timeout(&mut self, now: Time) {
        if self.poll_timeout().is_some_and(|due| now >= due) {
            self.control.on_silence();
            self.heard = None;
        }
    }
}
