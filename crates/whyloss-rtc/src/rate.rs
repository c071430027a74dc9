//! Rate control: sets the target from the queue, the losses and the marks of each round.
//!
//! ```text
//! ahead     = queue + trend·trip/2                   s, the queue when the next packets reach it
//! congested ⇔ ahead > 10 ms; once congested, ahead > 2.5 ms
//! capacity  = sent·(1 − refused)/(1 + trend)         bit/s, at most the target when the queue began
//! known     ← known + (capacity − known)/4           or capacity, if they are more than a quarter apart
//!
//! congested   target ← known·(1 − min((ahead + 5 ms)/(2·trip), 1/2))
//! rival       target ← target + packet·dt/trip², or 7/10 of it if refused (`rival.rs`)
//! refused     target ← target·(1 − refused),         if the queue holds a packet and at least 2.5 ms
//!             and, without a queue, to 29/32 of the rate that the path took, if that is less than the target
//! else        target ← target + max((known − target)/2, gain·step)
//! step        target; after a congestion that a queue showed, max(√(target·2.5 Mbit/s²·dt), target/2)
//! dt          s since the previous round
//! gain        1 at the start; 1/64 after a congestion; 1.5-fold a round above known·(1 + 1/64)
//!             with bursts: 1 + dt/200 ms a round, but only while they do not wait (`burst.rs`)
//! ```
//!
//! A round holds only packets that left after the last change, so that each change sees its own
//! effect.
//!
//! - **Down.** A rate of capacity·(1 − q/T) empties a queue of q in T, two trips here. It aims 5 ms
//!   below empty, so that the queue empties in each cycle and the delay measurement sees its base.
//!   PIE and CoDel allow 15 and 5 ms (RFC 8033, RFC 8289).
//! - **Back.** Halving the way to the known capacity is BIC's search (Xu, Harfoush & Rhee, INFOCOM
//!   2004).
//! - **Up.** At the start, the target doubles per round like slow start (RFC 5681). Above the known
//!   capacity, the gain grows like CUBIC's convex part (RFC 9438): a path that widens fivefold is
//!   full again after about twenty rounds. Encoders follow a target two rounds late, so a gain that
//!   grows meanwhile overshoots. Frames that wait for themselves warn earlier than the queue.
//! - **Fairness.** A shared queue takes the same share from each flow, so flows become equal only
//!   if the smaller one gains relatively more. Steps with the root of the rate do that (Bansal &
//!   Balakrishnan, INFOCOM 2001). If rounds differ in length, steps with the root of the time are
//!   between equal steps per round and equal steps per second. Fast flows keep half of a
//!   proportional step.
//! - **Rivals.** A queue that another sender fills never drains. The target then takes TCP's steps,
//!   slower by the share of a trip that is not a round-trip time.
//! - **Losses.** A full queue holds at least one packet. Below a rate that the path took within the
//!   last 10 s, a loss with an empty queue is therefore not congestion. Above it, a policer without
//!   a queue may drop packets. The target then falls to a sixteenth below that rate, where a
//!   policer drops nothing: losses that the odds still call refused show their mistake. This share
//!   and two standard errors are subtracted at other rates.
//! - **Floor.** With a queue, `refused` removes exactly the dropped share, so no loss lowers the
//!   target below the delivered rate. Radio losses lower it only if the odds mistake them above the
//!   rate that the path took, and then by at most a quarter.
//! - **Idle senders.** The target never rises above twice the rate that arrived (GCC: 1.5 times,
//!   draft-ietf-rmcat-gcc-02, section 5.5). A train that was faster than the target raises it
//!   immediately, at the start and while the sender stays below its target. At the start, a full
//!   train also ends the doubling.
//!
//! Only `known`, `gain` and `proven` are kept after a congestion.

use crate::delay::Queue;
use crate::rival::Rival;
use crate::train::Shown;
use whyloss::{Duration, Time};

/// The queueing delay in seconds above which the target falls.
const LIMIT: f64 = 0.010;
/// The gain after a congestion.
const CAUTION: f64 = 1.0 / 64.0;
/// The time in s in which the gain doubles while bursts do not wait.
const DOUBLES: f64 = 0.2;
/// The scale of steps that grow with the root of rate and time, in bit/s².
const ROOT: f64 = 2.5e6;
/// The share of the target that remains after a drop alongside a rival: CUBIC's β (RFC 9438,
/// section 4.6).
const LEFT: f64 = 0.7;
/// The relative distance below a rate that the path took at which no policer drops packets.
const BELOW: f64 = 1.0 / 16.0;
/// The relative distance below that rate to which a loss with an empty queue lowers the target.
const TEST: f64 = BELOW + 2.0 * CAUTION;
/// The length of each of the two buckets that hold the rate that the path took.
const BUCKET: Duration = Duration::from_secs(5);
/// The highest rate: 1 Tbit/s.
const MOST: f64 = 1e12;

/// The measurements of one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) queue: Queue,
    /// The time from the first departure to now.
    pub(crate) trip: Duration,
    /// The sending rate in bit/s, lost packets included, if known.
    pub(crate) sent: Option<f64>,
    /// The share of the sent packets that a full queue dropped.
    pub(crate) refused: f64,
    /// The share of the sent packets that did not arrive.
    pub(crate) lost: f64,
    /// The number of sent packets, and the bytes of each.
    pub(crate) packets: f64,
    pub(crate) size: f64,
    /// The share of the target that remains after marks.
    pub(crate) marks: Option<f64>,
    pub(crate) train: Option<Shown>,
    /// Whether bursts do not wait; `None` without bursts.
    pub(crate) quiet: Option<bool>,
}

#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub(crate) target: f64,
    least: f64,
    most: f64,
    gain: f64,
    pub(crate) known: f64,
    congested: bool,
    /// Whether a queue, not a policer, indicated the last congestion.
    queued: bool,
    /// The end of the latest round, and the seconds since the previous one.
    at: Time,
    dt: f64,
    /// The target at which the queue began to build, in bit/s.
    ceiling: f64,
    proven: Most,
    /// The share of packets that the odds call refused where no queue or policer drops packets.
    mistaken: f64,
    rival: Rival,
}

impl Control {
    pub(crate) fn new(initial: f64, least: f64, most: f64) -> Self {
        let sound = |rate: f64| if rate > 0.0 { rate.min(MOST) } else { 0.0 };
        let (one, other) = (sound(least), sound(most));
        let (least, most) = (one.min(other), one.max(other));
        Self {
            target: sound(initial).clamp(least, most),
            least,
            most,
            gain: 1.0,
            known: 0.0,
            congested: false,
            queued: false,
            at: Time::ZERO,
            dt: 0.0,
            ceiling: 0.0,
            proven: Most::default(),
            mistaken: 0.0,
            rival: Rival::default(),
        }
    }

    fn set(&mut self, target: f64) {
        if target.is_finite() {
            self.target = target.clamp(self.least, self.most);
        }
    }

    /// Updates the target at the end of a round.
    pub(crate) fn on_round(&mut self, now: Time, seen: &Seen) {
        let trip = seen.trip.as_secs_f64();
        self.dt = (now - self.at).as_secs_f64().clamp(0.0, 1.0);
        self.at = now;
        let refused = self.believed(now, seen);
        let accepted = seen.sent.map(|sent| sent * (1.0 - refused));
        let ahead = seen.queue.delay + seen.queue.trend * trip / 2.0;
        let limit = if self.congested { LIMIT / 4.0 } else { LIMIT };
        if self
            .rival
            .on_round(ahead > limit, seen.queue.delay, refused > CAUTION)
        {
            self.compete(seen, refused);
            return;
        }
        if ahead > limit {
            if !self.congested {
                self.ceiling = self.target;
            }
            (self.congested, self.queued) = (true, true);
            if let Some(accepted) = accepted {
                let capacity = accepted / (1.0 + seen.queue.trend).max(0.1);
                self.learn(capacity.min(self.ceiling));
            }
            let drain = ((ahead + LIMIT / 2.0) / (2.0 * trip)).min(0.5);
            self.set(self.known * (1.0 - drain));
            return;
        }
        self.congested = false;
        self.set(self.target * (1.0 - refused));
        if let Some(left) = seen.marks {
            self.set(self.target * left);
            self.learn(self.target);
        } else if refused > CAUTION {
            self.queued = false;
            self.learn(self.target);
        } else {
            self.rise(seen);
        }
    }

    /// Sets a target that claims a share of the queue alongside a rival.
    fn compete(&mut self, seen: &Seen, refused: f64) {
        let trip = seen.trip.as_secs_f64();
        if refused > CAUTION {
            self.set(self.target * LEFT);
        } else {
            let risen = self.target + 8.0 * seen.size * self.dt / (trip * trip);
            self.set(risen.min(2.0 * seen.sent.unwrap_or(0.0)).max(self.target));
        }
        (self.congested, self.queued) = (true, true);
        (self.known, self.gain) = (self.target, CAUTION);
    }

    /// Returns the share that a queue or policer dropped, without the mistakes of the odds; 0 if
    /// nothing could drop packets.
    fn believed(&mut self, now: Time, seen: &Seen) -> f64 {
        let proven = self.proven.most();
        let error = (self.mistaken / seen.packets).sqrt();
        let beyond = (seen.refused - self.mistaken - 2.0 * error).max(0.0);
        if let Some(sent) = seen.sent {
            // A refused share that is not believed must not confirm itself.
            self.proven.add(now, sent * (1.0 - seen.refused));
        }
        let full = seen.queue.delay >= (8.0 * seen.size / proven).max(LIMIT / 4.0);
        if full {
            return beyond;
        }
        if self.target > proven {
            // Lower the target enough for the next round to distinguish a policer from a mistake.
            let test = (1.0 - proven * (1.0 - TEST) / self.target).min(0.25);
            return if beyond > CAUTION {
                beyond.max(test)
            } else {
                beyond
            };
        }
        if self.target < proven * (1.0 - BELOW) {
            self.mistaken += (seen.refused - self.mistaken) / 8.0;
        }
        0.0
    }

    /// Returns the step at a gain of 1, in bit/s.
    fn step(&self) -> f64 {
        if self.queued {
            (self.target * ROOT * self.dt).sqrt().max(self.target / 2.0)
        } else {
            self.target
        }
    }

    fn rise(&mut self, seen: &Seen) {
        let sent = seen.sent.unwrap_or(0.0);
        let start = self.known <= 0.0;
        let back = (self.known - self.target) / 2.0;
        let mut risen =
            (self.target + back.max(self.gain * self.step())).min(2.0 * sent * (1.0 - seen.lost));
        if let Some(train) = seen.train
            && (start || sent < self.target / 2.0)
        {
            risen = if train.full && start {
                risen.min(train.rate)
            } else {
                risen
            };
            risen = risen.max(train.rate);
        }
        self.set(risen.max(self.target));
        let grow = match seen.quiet {
            Some(true) if !start => 1.0 + self.dt / DOUBLES,
            None if !start && self.target > self.known * (1.0 + CAUTION) => 1.5,
            _ => 1.0,
        };
        self.gain = (grow * self.gain).min(1.0);
    }

    /// Updates the known capacity with that at a congestion, in bit/s.
    fn learn(&mut self, capacity: f64) {
        self.gain = CAUTION;
        let apart = (capacity - self.known).abs();
        self.known = if apart < self.known / 4.0 {
            self.known + (capacity - self.known) / 4.0
        } else {
            capacity
        };
    }

    /// Handles the timeout without reports.
    pub(crate) fn on_silence(&mut self) {
        self.set(self.target / 2.0);
    }

    /// Handles a clock that went back to `now`.
    pub(crate) fn on_clock(&mut self, now: Time) {
        self.proven.since = now;
    }
}

/// The largest rate of the last one to two buckets, in bit/s.
#[derive(Clone, Debug, Default)]
struct Most {
    since: Time,
    now: f64,
    before: f64,
}

impl Most {
    fn add(&mut self, now: Time, rate: f64) {
        if now - self.since >= BUCKET {
            (self.since, self.before, self.now) = (now, self.now, 0.0);
        }
        self.now = self.now.max(rate.min(MOST));
    }

    fn most(&self) -> f64 {
        self.now.max(self.before)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "sums of halves and quarters are exact")]
mod tests {
    use super::*;

    fn seen(delay: f64, sent: f64) -> Seen {
        Seen {
            queue: Queue { delay, trend: 0.0 },
            trip: Duration::from_millis(100),
            sent: Some(sent),
            refused: 0.0,
            lost: 0.0,
            packets: 100.0,
            size: 1_200.0,
            marks: None,
            train: None,
            quiet: None,
        }
    }

    #[test]
    fn doubles_drains_and_returns_by_hand() {
        let mut control = Control::new(1e6, 1e5, 1e7);
        let mut round = |delay, sent| {
            control.on_round(Time::from_nanos(1), &seen(delay, sent));
            control.target
        };
        assert_eq!(round(0.0, 1e6), 2e6);
        // 20 ms + 5 ms of 200 ms are an eighth, so the target falls an eighth below the capacity.
        assert_eq!(round(0.020, 2e6), 1.75e6);
        // The target recovers half of the remaining distance per round, until the step is below
        // 1/64 of half the target.
        assert_eq!(round(0.0, 2e6), 1.875e6);
        assert_eq!(round(0.0, 2e6), 1.9375e6);
        assert_eq!(round(0.0, 2e6), 1.96875e6);
        assert_eq!(round(0.0, 2e6), 1.984_375e6);
        assert_eq!(round(0.0, 2e6), 1.984_375e6 * (1.0 + CAUTION / 2.0));
    }

    #[test]
    fn the_gain_follows_bursts_by_hand() {
        let mut control = Control::new(1e6, 1e5, 1e7);
        (control.known, control.gain, control.target) = (1e6, CAUTION, 1.5e6);
        let mut round = |ms: u64, quiet| {
            let seen = Seen {
                quiet,
                ..seen(0.0, 1e6)
            };
            control.on_round(Time::from_nanos(ms * 1_000_000), &seen);
            control.gain
        };
        assert_eq!(round(100, Some(false)), CAUTION);
        assert_eq!(round(200, Some(true)), 1.5 * CAUTION);
        assert_eq!(round(400, Some(true)), 3.0 * CAUTION);
        assert_eq!(round(500, None), 4.5 * CAUTION);
    }

    #[test]
    fn losses_count_beside_a_queue_or_above_what_the_path_took() {
        let mut control = Control::new(1e6, 1e5, 1e7);
        control.known = 1e6;
        control.gain = CAUTION;
        let lossy = |delay| Seen {
            refused: 0.5,
            ..seen(delay, 2e6)
        };
        // `proven` is still 0, so a policer may be dropping packets.
        control.on_round(Time::from_nanos(1), &lossy(0.0));
        assert_eq!(control.target, 5e5);
        // The path is known to carry 1 Mbit/s, at which a packet takes 9.6 ms. Losses then do not
        // count at an empty queue, but count at a short one.
        control.known = 5e5;
        control.on_round(Time::from_nanos(2), &lossy(0.0));
        assert_eq!(control.target, 5e5 * (1.0 + CAUTION));
        control.target = 5e5;
        control.on_round(Time::from_nanos(3), &lossy(0.0099));
        // An eighth of the half that was a mistake is subtracted, and twice √(0.0625/100): 0.5 −
        // 0.0625 − 0.05.
        assert!((control.target - 5e5 * (1.0 - 0.3875)).abs() < 1e-3);
    }

    #[test]
    fn a_refusal_without_a_queue_is_put_to_the_test() {
        let mut control = Control::new(1e6, 1e5, 1e7);
        (control.known, control.gain) = (1e6, CAUTION);
        let lossy = |sent| Seen {
            refused: 0.03125,
            ..seen(0.0, sent)
        };
        control.proven.add(Time::from_nanos(1), 1e6);
        control.target = 1.0625e6;
        // A loss of 3 % above the rate that the path took lowers the target to a tenth below that
        // rate.
        control.on_round(Time::from_nanos(1), &lossy(1e6));
        assert!((control.target - 1e6 * (1.0 - TEST)).abs() < 1e-3);
        // Losses continue below this rate, so the odds are mistaken and no longer count above it.
        for _ in 0..12 {
            control.on_round(Time::from_nanos(2), &lossy(0.9e6));
            control.target = 0.9e6;
        }
        (control.target, control.known) = (1.1e6, 1e6);
        control.on_round(Time::from_nanos(3), &lossy(1.1e6));
        assert!(control.target > 1.1e6, "{}", control.target);
    }

    #[test]
    fn idle_senders_rise_to_twice_what_they_sent_and_by_trains() {
        let mut control = Control::new(1e6, 1e5, 1e7);
        control.on_round(Time::from_nanos(1), &seen(0.0, 3e5));
        assert_eq!(control.target, 1e6);
        let (rate, full) = (4e6, false);
        let train = Some(Shown { rate, full });
        let seen = Seen {
            train,
            ..seen(0.0, 3e5)
        };
        control.on_round(Time::from_nanos(2), &seen);
        assert_eq!(control.target, 4e6);
    }

    #[test]
    fn bounds_are_made_sound() {
        let bounds = |initial, least, most| {
            let control = Control::new(initial, least, most);
            (control.target, control.least, control.most)
        };
        assert_eq!(bounds(5.0, 9.0, 1.0), (5.0, 1.0, 9.0));
        assert_eq!(bounds(f64::NAN, -1.0, f64::INFINITY), (0.0, 0.0, MOST));
    }
}
