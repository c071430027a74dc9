//! A bandwidth estimator for real-time media that distinguishes a full queue from a lossy radio.
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
//! - Numbers count packets in order of departure. Reports may come in any order, late, twice, or
//!   not at all. A packet without a report counts neither as lost nor as arrived.
//! - The clocks of sender and receiver may differ in offset and speed. If a clock jumps, the
//!   estimator needs a few rounds to recover.
//! - [`target`](Estimator::target) is always finite and between the bounds.
//! - A sender that probes needs no special call: a burst above the target raises the target if the
//!   path carries the burst.
//! - Memory is fixed at [`Estimator::new`]: 40 KiB. Nothing allocates afterwards.
//! - Call [`timeout`](Estimator::timeout) when [`poll_timeout`](Estimator::poll_timeout) is due.
//!
//! # Parts
//!
//! | file | decision |
//! |---|---|
//! | `delay.rs` | the queueing delay, and whether it grows |
//! | `loss.rs` | the cause of each loss |
//! | `ecn.rs` | the share of arrived packets that are marked |
//! | `train.rs` | the capacity that a burst or a probe shows |
//! | `burst.rs` | whether the bursts of a pacer pass without waiting |
//! | `rate.rs` | the next target |
//! | `fates.rs`, `round.rs` | none; they keep reports in order and measure the rates of a round |
//!
//! # Features
//!
//! `rtc-interceptor` implements the trait of webrtc-rs, `str0m` reads its events, and `rtcp` reads
//! feedback from RTCP bytes. `media` has both ends of a call without its video, and `sim` puts them
//! into `whyloss-sim`. All are off by default.

pub mod bandwidth;
mod burst;
mod delay;
mod ecn;
mod fates;
#[cfg(feature = "rtcp")]
pub mod feedback;
#[cfg(any(feature = "rtc-interceptor", feature = "str0m"))]
mod instant;
#[cfg(feature = "rtc-interceptor")]
pub mod interceptor;
mod loss;
#[cfg(feature = "media")]
pub mod media;
#[cfg(feature = "media")]
pub mod nada;
mod rate;
#[cfg(feature = "rtcp")]
pub mod rfc8888;
mod rival;
mod round;
#[cfg(feature = "media")]
pub mod scream;
#[cfg(feature = "sim")]
pub mod sim;
#[cfg(feature = "str0m")]
pub mod str0m;
mod train;

use burst::Bursts;
use delay::Delay;
use ecn::Marks;
use fates::Fates;
use loss::Losses;
use rate::{Control, Seen};
use round::Round;
use train::Trains;
use whyloss::receiver::Arrival;
pub use whyloss::{Cause, Duration, Time};

/// The number of arrivals that end a round. A line through fewer of them says little about a queue.
/// With a slow sender, a round ends after [`SLOW`].
const FEW: u32 = 8;
const SLOW: Duration = Duration::from_secs(1);
/// The bounds of the silence after which the target is halved.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// The ECN codepoint with which a packet arrived (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: not ECN-capable, or not reported.
    #[default]
    NotEct,
    /// ECT(0): ECN-capable, with classic reactions to marks.
    Ect0,
    /// ECT(1): ECN-capable, with L4S reactions (RFC 9331).
    Ect1,
    /// CE: marked by a queue.
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

/// The fate of a packet in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrived with this codepoint, at this time on the receiver's clock. The time is
    /// `None` if the report has no time.
    Arrived(Option<Time>, Ecn),
    /// The packet did not arrive. The report may give the cause if the path reports it; otherwise
    /// the estimator infers it.
    Lost(Option<Cause>),
}

/// A receiver's report of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The packet's number, which increases by one per packet in order of departure, from any
    /// start.
    pub id: u64,
    /// When the pacer released the packet, on the sender's clock.
    pub departed: Time,
    /// The size on the wire, in bytes.
    pub size: u32,
    /// The fate that the receiver reports.
    pub fate: Fate,
}

/// The measurements behind the target, for logs and plots. A round is the time between two changes
/// of the target, without a pause of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// The queueing delay of the latest round, without noise, in seconds.
    pub queue: f64,
    /// The growth of the queueing delay in that round, in seconds per second; 0 if it is within two
    /// standard errors.
    pub trend: f64,
    /// The capacity at the last congestion, in bit/s; 0 before the first.
    pub capacity: f64,
    /// The share of the round's packets that were lost, in [0, 1].
    pub lost: f64,
    /// The share of the round's packets that a full queue dropped, in [0, 1], estimated from the
    /// odds of each loss.
    pub refused: f64,
    /// The time from the first departure of the round to its report, in seconds: a round trip plus
    /// the feedback interval.
    pub trip: f64,
}

/// Estimates the bitrate at which a media sender should send.
#[derive(Clone, Debug)]
pub struct Estimator {
    fates: Fates,
    losses: Losses,
    delay: Delay,
    marks: Marks,
    trains: Trains,
    bursts: Bursts,
    round: Round,
    control: Control,
    stats: Stats,
    trip: Duration,
    /// The time of the latest reports.
    now: Time,
    /// When the target last changed. Earlier packets do not follow this target.
    changed: Time,
    /// The time of the latest reported arrival; `None` before the first, and after a timeout until
    /// a round ends.
    heard: Option<Time>,
    /// Whether no round has ended since the latest timeout.
    silent: bool,
}

impl Estimator {
    /// Creates an estimator whose target starts at `initial` and stays between `least` and `most`,
    /// all in bit/s.
    ///
    /// The bounds may be in either order. A negative rate or NaN counts as 0, and no rate exceeds 1
    /// Tbit/s.
    pub fn new(initial: f64, least: f64, most: f64) -> Self {
        Self {
            fates: Fates::new(),
            losses: Losses::new(),
            delay: Delay::new(),
            marks: Marks::default(),
            trains: Trains::default(),
            bursts: Bursts::new(),
            round: Round::new(),
            control: Control::new(initial, least, most),
            stats: Stats::default(),
            trip: Duration::from_millis(100),
            now: Time::ZERO,
            changed: Time::ZERO,
            heard: None,
            silent: false,
        }
    }

    /// Updates the target with the reports that arrived at `now` on the sender's clock.
    ///
    /// Iterates over the reports twice: first over the lost packets, then over the arrived ones.
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
        if !self.silent || received.is_none() {
            // Arrivals without times end no round, so they count at once.
            self.heard = Some(self.now);
        }
        let Some(gap) = self.fates.arrived(report.id) else {
            return;
        };
        self.marks.add(ecn);
        let Some(received) = received else {
            return;
        };
        let arrival = Arrival::new(report.id, report.departed, received, report.size);
        let (refused, lost) = self.losses.judge(&arrival, &gap);
        self.bursts.add(self.now, &arrival, self.control.target);
        let target = self.control.target;
        if report.departed >= self.changed
            && report.departed <= self.now
            && !self.round.pauses_after(&arrival, target)
        {
            if self.round.pauses_before(&arrival, target) {
                self.drop_round();
            }
            self.losses.refused += refused;
            self.losses.lost += lost;
            self.delay.add(&arrival);
            self.round.add(&arrival);
            self.trains.add(&arrival, target);
        }
    }

    /// Begins a round without ending the open one.
    fn drop_round(&mut self) {
        self.losses.clear();
        self.delay.clear();
        self.trains.end();
        self.round = Round::new();
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
            quiet: self.bursts.end(self.now),
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
        (self.heard, self.silent) = (Some(self.now), false);
    }

    /// Handles a sender's clock that went back to `now`, which makes earlier times meaningless.
    fn on_clock(&mut self, now: Time) {
        self.delay = Delay::new();
        self.round = Round::new();
        self.trains = Trains::default();
        self.bursts = Bursts::new();
        self.control.on_clock(now);
        self.changed = now;
        self.heard = self.heard.map(|_| now);
    }

    /// Returns the bitrate to send at, in bit/s.
    pub fn target(&self) -> f64 {
        self.control.target
    }

    /// Returns the measurements behind the target. Programs should not base decisions on them.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns when [`timeout`](Self::timeout) is due: four [`trip`](Stats::trip)s, but at least
    /// half a second and at most ten seconds, after the latest report of an arrival. Returns `None`
    /// before the first arrival and after a timeout until a round ends.
    pub fn poll_timeout(&self) -> Option<Time> {
        let patience = (self.trip * 4).clamp(PATIENCE.0, PATIENCE.1);
        self.heard.map(|heard| heard + patience)
    }

    /// Halves the target if `now` is at or past [`poll_timeout`](Self::poll_timeout).
    ///
    /// A silence halves the target only once, because an idle sender also gets no reports. Another
    /// one counts only after a round, because a sparse sender is silent after each packet.
    pub fn timeout(&mut self, now: Time) {
        if self.poll_timeout().is_some_and(|due| now >= due) {
            self.control.on_silence();
            (self.heard, self.silent) = (None, true);
        }
    }
}

/// Compiles the code of the guide.
#[cfg(all(doctest, feature = "foreign"))]
#[doc = include_str!("../../../docs/guides/rtc.md")]
struct Guide;
