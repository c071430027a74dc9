//! Compares a program with the core: the core's algorithms receive the program's events and must
//! make the same decisions.
//!
//! Classifiers use integers on both sides, so their states after each acknowledgement and their
//! verdicts must be equal. Estimates in fixed point may differ from the core's reals by rounding.
//! [`Bound`] follows this error through each filter, sample by sample. The opening comment of the
//! filter's file in `src/bpf` derives it.

use std::collections::BTreeMap;

use whyloss::bandwidth::{AnyEstimator, BandwidthEstimator as _};
use whyloss::congestion::{Controller as _, Decision, Start, Under, Whyloss};
use whyloss::event::{AckEvent, Detection as Found, LossEvent};
use whyloss::sender::trees::{self, Signals};
use whyloss::sender::{Classifier, SenderClassifier as _};
use whyloss::{Cause, Duration, Time};

use crate::control::Algorithm;
use crate::event::{Detection, Event, Kind, Recovery};

mod bound;

pub use bound::Bound;

/// The result of the comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// The number of sockets followed from their first event.
    pub sockets: u64,
    /// The number of sockets that were first seen later; their events are not compared.
    pub met_late: u64,
    /// The number of sockets whose events were dropped because the buffer was full; their later
    /// events are not compared.
    pub broken: u64,
    /// The number of events received.
    pub events: u64,
    /// The number of events compared.
    pub compared: u64,
    /// The number of acknowledgements compared.
    pub acks: u64,
    /// The number of acknowledgements after which the classifiers' states differ.
    pub states_differ: u64,
    /// The number of losses compared.
    pub losses: u64,
    /// The number of losses with different verdicts or cuts.
    pub verdicts_differ: u64,
    /// The number of estimates compared.
    pub estimates: u64,
    /// The number of estimates that differ by more than rounding explains.
    pub estimates_differ: u64,
    /// The largest difference between two estimates, in bytes/s.
    pub farthest: f64,
    /// The largest difference as a share of its rounding bound.
    pub nearest_to_bound: f64,
}

impl Tally {
    /// Returns whether all comparisons agree.
    pub fn agrees(&self) -> bool {
        self.states_differ + self.verdicts_differ + self.estimates_differ == 0
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Self) {
        self.sockets += other.sockets;
        self.met_late += other.met_late;
        self.broken += other.broken;
        self.events += other.events;
        self.compared += other.compared;
        self.acks += other.acks;
        self.states_differ += other.states_differ;
        self.losses += other.losses;
        self.verdicts_differ += other.verdicts_differ;
        self.estimates += other.estimates;
        self.estimates_differ += other.estimates_differ;
        self.farthest = self.farthest.max(other.farthest);
        self.nearest_to_bound = self.nearest_to_bound.max(other.nearest_to_bound);
    }
}

/// The library's algorithms for one socket.
#[derive(Clone, Debug)]
struct Beside {
    classifier: Classifier,
    /// The signals and the controller, for the control that acts on the odds.
    odds: Option<(Signals, Whyloss)>,
    estimator: Option<(AnyEstimator, Bound)>,
    /// The serial number of the next event.
    next: u32,
    /// The number of bytes acknowledged since the beginning.
    acknowledged: u64,
    mss: u32,
}

/// Compares one control with the core.
#[derive(Clone, Debug)]
pub struct Judge {
    algorithm: Algorithm,
    sockets: BTreeMap<u64, Beside>,
    tally: Tally,
}

impl Judge {
    /// Creates a judge for this algorithm.
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            sockets: BTreeMap::new(),
            tally: Tally::default(),
        }
    }

    /// Returns the result so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Updates the core with an event. Returns the core's verdict if the event is an answer about a
    /// loss on a followed socket.
    pub fn hear(&mut self, event: &Event) -> Option<Cause> {
        self.tally.events += 1;
        if event.kind == Kind::Socket {
            self.meet(event);
            return None;
        }
        let beside = self.sockets.get_mut(&event.id)?;
        if event.serial != beside.next {
            self.sockets.remove(&event.id);
            self.tally.broken += 1;
            return None;
        }
        beside.next = beside.next.wrapping_add(1);
        self.tally.compared += 1;
        if event.mss != beside.mss {
            beside.mss = event.mss;
            if let Some((estimator, bound)) = &mut beside.estimator {
                estimator.on_mtu_change(event.mss);
                bound.on_mtu_change(event.mss);
            }
        }
        match event.kind {
            Kind::Ack => {
                beside.on_ack(event, &mut self.tally);
                None
            }
            Kind::Asked(detection) => {
                let cause = beside.on_loss(event, detection, &mut self.tally);
                self.tally.losses += u64::from(detection != Detection::Mark);
                self.tally.verdicts_differ += u64::from(cause != event.cause);
                Some(cause)
            }
            Kind::Closed => {
                self.sockets.remove(&event.id);
                None
            }
            Kind::Socket | Kind::State | Kind::Undo => None,
        }
    }

    fn meet(&mut self, event: &Event) {
        if !event.fresh {
            self.tally.met_late += 1;
            return;
        }
        self.tally.sockets += 1;
        let estimator = self.algorithm.estimator();
        let beside = Beside {
            odds: (self.algorithm == Algorithm::Whyloss).then(|| {
                let start = Start::new(event.mss.max(1));
                (Signals::new(), Whyloss::new(&start, Under::Cubic))
            }),
            classifier: self.algorithm.classifier(),
            estimator: estimator.map(|spec| {
                let bound = Bound::of(self.algorithm, event.mss);
                (spec.build(event.mss), bound)
            }),
            next: 1,
            acknowledged: 0,
            mss: event.mss,
        };
        self.sockets.insert(event.id, beside);
    }
}

impl Beside {
    fn on_ack(&mut self, event: &Event, tally: &mut Tally) {
        let ack = ack(event, &mut self.acknowledged);
        self.classifier.on_ack(&ack);
        tally.acks += 1;
        if let Classifier::Vegas(vegas) = &self.classifier {
            tally.states_differ += u64::from(vegas.is_congested() != event.congested);
        }
        if let Some((signals, controller)) = &mut self.odds {
            controller.on_ack(&ack);
            signals.on_ack(&ack);
            let loss = loss(event, Found::Duplicates, self.acknowledged);
            let now = signals.clone().on_loss(&loss);
            let odds = now.as_ref().map(trees::log_odds);
            let about = now.map(|signals| digest(&signals));
            tally.states_differ += u64::from(!describes(event, odds, about));
        }
        if let Some((estimator, bound)) = &mut self.estimator {
            bound.on_ack(&ack, bytes_per_second(estimator));
            estimator.on_ack(&ack);
            let core = bytes_per_second(estimator);
            let program = event.estimate as f64 / 16.0;
            let distance = (core - program).abs();
            let allowed = bound.bytes_per_second(core);
            tally.estimates += 1;
            tally.estimates_differ += u64::from(distance > allowed);
            tally.farthest = tally.farthest.max(distance);
            tally.nearest_to_bound = tally.nearest_to_bound.max(distance / allowed);
        }
    }

    fn on_loss(&mut self, event: &Event, detection: Detection, tally: &mut Tally) -> Cause {
        let found = match detection {
            // ECN marks and drops in the host's own queue need no classifier.
            Detection::Mark => return Cause::Congestion,
            Detection::Duplicates => Found::Duplicates,
            Detection::Probe => Found::TimeThreshold,
            Detection::Timeout => Found::Timeout,
        };
        let loss = loss(event, found, self.acknowledged);
        let Some((signals, controller)) = &mut self.odds else {
            return self.classifier.on_loss(&loss);
        };
        let then = signals.on_loss(&loss);
        // The window and the program's first cut both come from the kernel.
        let ssthresh = if event.cut.first {
            u64::MAX
        } else {
            loss.window
        };
        controller.set_window(loss.window, ssthresh);
        let Decision { cut, evidence } = controller.decide(&loss);
        let odds = then.as_ref().map(trees::log_odds);
        let about = evidence.map(|evidence| digest(&evidence));
        tally.states_differ += u64::from(!describes(event, odds, about));
        let cause = if cut == 0 {
            Cause::Wireless
        } else {
            Cause::Congestion
        };
        // A verdict that differs is counted where verdicts are compared.
        let alike = cause != event.cause || cut == u64::from(event.cut.thousandths);
        tally.verdicts_differ += u64::from(!alike);
        cause
    }
}

/// Converts a loss into the library's event.
fn loss(event: &Event, found: Found, acknowledged: u64) -> LossEvent {
    let mss = event.mss.max(1);
    LossEvent::new(time(event.now_us), found, mss)
        .first(acknowledged)
        .in_flight(u64::from(event.packets_out) * u64::from(mss))
        .window(u64::from(event.cwnd) * u64::from(mss))
        .rtt((event.used_rtt_us > 0).then(|| micros(event.used_rtt_us)))
        .min_rtt(event.min_rtt_us.map(micros))
}

/// Returns whether the program computed these odds, from quantities with this digest.
fn describes(event: &Event, odds: Option<i32>, digest: Option<u32>) -> bool {
    event.odds == odds && digest.is_none_or(|digest| event.digest == digest)
}

/// Computes FNV-1a over whole quantities, like `digest_of` of `whyloss.bpf.c`.
fn digest(quantities: &[i16]) -> u32 {
    quantities
        .iter()
        .fold(2_166_136_261, |digest: u32, &quantity| {
            (digest ^ u32::from(quantity.cast_unsigned())).wrapping_mul(16_777_619)
        })
}

/// Returns the library's estimate in bytes/s; 0 before the first.
fn bytes_per_second(estimator: &AnyEstimator) -> f64 {
    let rate = estimator.estimate();
    rate.map_or(0.0, |rate| rate.as_bps() as f64 / 8.0)
}

/// Converts an acknowledgement into the library's event and adds its bytes to `acknowledged`.
fn ack(event: &Event, acknowledged: &mut u64) -> AckEvent {
    *acknowledged += u64::from(event.acked);
    let mss = event.mss.max(1);
    // The peer's clock wraps every 50 days, which costs longer connections one sample.
    let stamp = (event.stamp > 0).then(|| Time::from_nanos(u64::from(event.stamp) * 1_000_000));
    AckEvent::new(time(event.now_us), mss)
        .acked(u64::from(event.acked))
        .acknowledged(*acknowledged)
        .in_flight(u64::from(event.nxt.wrapping_sub(event.una)))
        .window(u64::from(event.cwnd) * u64::from(mss))
        .rtt(event.rtt_us.map(micros))
        .receiver_stamp(stamp)
        .in_recovery(matches!(event.state, Recovery::Recovery | Recovery::Loss))
}

fn time(us: u64) -> Time {
    Time::from_nanos(us.saturating_mul(1_000))
}

fn micros(us: u32) -> Duration {
    Duration::from_nanos(i64::from(us) * 1_000)
}

#[cfg(test)]
mod tests;
