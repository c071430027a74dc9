//! ZBS, ZBS2, ZBS3: select ZigZag, mBiaz or Spike by the state of the path.
//!
//! Cen, Cosman & Voelker, MMCN 2002, section 7. The 2003 variant follows two public ports of the
//! journal version (IEEE/ACM ToN 11(5)), whose text was not available (CEN-15).
//!
//! ```text
//! T_avg  ← 0.75·T_avg + 0.25·T/(n+1)           T_narr = T_avg/T_min
//!
//! ZBS    T_narr < 0.95 → ZigZag;  < 1.1 → mBiaz;  < 1.5 → ZigZag;  else Spike
//! ZBS2   as ZBS, but at 1.5 or more:  rott_dev < 0.5·T_min → ZigZag;  else Spike
//! ZBS3   rott − rott_min < 0.05·T_min → Spike;  rott_dev < 0.5·T_min → ZigZag;  else as ZBS
//! 2003   rott − rott_min < 0.05·T_min → Spike;
//!        T_narr < 0.875 → ZigZag;  < 1.5 → mBiaz;  < 2 → ZigZag;  else Spike
//!        T_avg ← 0.875·T_avg + 0.125·T/(n+1)
//!
//! T         ns, between this arrival and the one before;  n packets are missing between them
//! T_min     ns, the smallest T so far (not divided by n+1)
//! rott      ns, of this packet;  rott_min and rott_dev are Spike's and ZigZag's own
//! ```
//!
//! T_narr is near 1 if the flow has the narrow link to itself (WLH), and near N if N flows share it
//! (WB).
//!
//! *Lock*: a selected base scheme is kept for 3 s or 50 packets, whichever ends first. Then each
//! arrival evaluates the rule until it selects another scheme, which is locked again. The initial
//! ZigZag is also locked. The 2003 variant has no lock by default, because the port that was read
//! has none (the Rust crate packet_loss_classification).
//!
//! Where the source is silent:
//! - Every packet updates all three base schemes, whichever one decides.
//! - T_avg starts with the first T/(n+1) (CEN-A4). Zero counts, because packets read with one stamp
//!   average out; negative times do not count.
//! - Without T_min, the path is unknown, and the rule selects ZigZag.
//! - The lock also covers ZBS3's own tests: it holds the final choice (CEN-A8).

use super::biaz::Biaz;
use super::spike::Spike;
use super::zigzag::ZigZag;
use super::{Arrival, ReceiverClassifier, in_order};
use crate::{Cause, Duration, Time};

/// The rule that selects the base scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Rule {
    /// Selects only by T_narr, as ZBS does.
    Zbs,
    /// Selects like ZBS, but ZigZag instead of Spike if rott hardly varies.
    Zbs2,
    /// Selects Spike if queues are empty, ZigZag if rott hardly varies, and otherwise like ZBS.
    Zbs3,
    /// Selects by the rules of the journal version of 2003.
    Zbs2003,
}

/// A base scheme of the hybrids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Base {
    /// The classifier mBiaz.
    MBiaz,
    /// The classifier Spike.
    Spike,
    /// The classifier ZigZag.
    ZigZag,
}

/// How long a base scheme is kept at least. The lock ends when either limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lock {
    /// The limit of the time since the arrival that selected the scheme, on the receiver's clock.
    pub span: Duration,
    /// The limit of the number of packets received since then.
    pub packets: u64,
}

impl Lock {
    /// No lock: every arrival evaluates the rule.
    pub const NONE: Self = Self {
        span: Duration::ZERO,
        packets: 0,
    };
    /// The lock of the paper: 3 s or 50 packets.
    pub const PAPER: Self = Self {
        span: Duration::from_secs(3),
        packets: 50,
    };
}

/// ZBS, ZBS2, ZBS3 or the 2003 variant: ZigZag, mBiaz or Spike, selected by the state of the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Zbs {
    bases: Bases,
    choice: Choice,
    update_first: bool,
}

/// The base schemes. All of them receive every arrival, whichever one decides.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bases {
    pub(super) biaz: Biaz,
    pub(super) spike: Spike,
    pub(super) zigzag: ZigZag,
}

/// The choice among the base schemes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    rule: Rule,
    lock: Lock,
    /// The gain of T_avg.
    gain: f64,
    /// The lowest values of T_narr for mBiaz, ZigZag again, and Spike.
    thresholds: [f64; 3],
    /// The mean time T_avg between packets, in ns.
    t_avg: Option<f64>,
    base: Base,
    /// When `base` was selected.
    since: Time,
    /// The number of packets received since then.
    packets: u64,
}

impl Zbs {
    /// Creates ZBS2 as published.
    pub fn zbs2() -> Self {
        Self::new(Rule::Zbs2, Biaz::MBIAZ, Lock::PAPER)
    }

    /// Creates ZBS3 as published.
    pub fn zbs3() -> Self {
        Self::new(Rule::Zbs3, Biaz::MBIAZ, Lock::PAPER)
    }

    /// Creates ZBS of the journal version, without a lock.
    pub fn zbs_2003() -> Self {
        Self::new(Rule::Zbs2003, Biaz::MBIAZ_2003, Lock::NONE)
    }

    /// Creates the hybrid with this rule. `upper` is the c of its mBiaz, as in [`Biaz::new`].
    pub fn new(rule: Rule, upper: f64, lock: Lock) -> Self {
        Self {
            bases: Bases::new(upper),
            choice: Choice::new(rule, lock),
            update_first: true,
        }
    }

    /// Sets whether the revealing packet updates everything, including the choice of base scheme,
    /// before (default) or after the decision.
    #[must_use]
    pub fn update_first(mut self, update_first: bool) -> Self {
        self.update_first = update_first;
        self
    }

    /// Sets which delay ZigZag compares, see [`ZigZag::delay_before_gap`].
    #[must_use]
    pub fn delay_before_gap(mut self, delay_before_gap: bool) -> Self {
        self.bases.zigzag = self.bases.zigzag.delay_before_gap(delay_before_gap);
        self
    }

    /// Returns the current base scheme.
    pub fn base(&self) -> Base {
        self.choice.base
    }

    /// Returns T_narr, the mean inter-arrival time T_avg divided by the smallest one, T_min. It is
    /// about the number of flows that share the link. Returns `None` until both are known.
    pub fn t_narr(&self) -> Option<f64> {
        Some(self.choice.t_avg? / self.bases.biaz.t_min()?.as_nanos() as f64)
    }

    /// Returns the base scheme mBiaz, with its smallest inter-arrival time.
    pub fn biaz(&self) -> &Biaz {
        &self.bases.biaz
    }

    /// Returns the base scheme Spike, with its state, rott_min and rott_max.
    pub fn spike(&self) -> &Spike {
        &self.bases.spike
    }

    /// Returns the base scheme ZigZag, with its rott_mean and rott_dev.
    pub fn zigzag(&self) -> &ZigZag {
        &self.bases.zigzag
    }

    #[inline]
    fn update(&mut self, arrival: &Arrival, interval: Option<Duration>, missing: u64) {
        self.bases.update(arrival, interval);
        self.choice.update(&self.bases, arrival, interval, missing);
    }

    #[inline]
    fn judge(&self, compared: Option<Duration>, interval: Option<Duration>, missing: u64) -> Cause {
        match self.choice.base {
            Base::MBiaz => self.bases.biaz.judge(interval, missing),
            Base::Spike => self.bases.spike.judge(),
            Base::ZigZag => self.bases.zigzag.judge(compared, missing),
        }
    }
}

impl Bases {
    pub(super) fn new(upper: f64) -> Self {
        Self {
            biaz: Biaz::new(upper),
            spike: Spike::new(Spike::ALPHA, Spike::BETA),
            zigzag: ZigZag::new(ZigZag::ALPHA, Duration::ZERO),
        }
    }

    #[inline]
    pub(super) fn update(&mut self, arrival: &Arrival, interval: Option<Duration>) {
        let rott = arrival.rott();
        self.biaz.update(arrival, interval);
        self.spike.update(rott);
        self.zigzag.update(rott);
    }
}

impl Choice {
    pub(super) fn new(rule: Rule, lock: Lock) -> Self {
        Self {
            rule,
            lock,
            gain: rule.gain(),
            thresholds: rule.thresholds(),
            t_avg: None,
            base: Base::ZigZag,
            since: Time::ZERO,
            packets: 0,
        }
    }

    /// Returns the current base scheme.
    pub(super) fn base(&self) -> Base {
        self.base
    }

    /// Updates the choice with an arrival that the base schemes have processed.
    #[inline]
    pub(super) fn update(
        &mut self,
        bases: &Bases,
        arrival: &Arrival,
        interval: Option<Duration>,
        missing: u64,
    ) {
        self.packets += 1;
        let Some(interval) = interval else {
            // The first arrival starts the initial lock.
            self.since = arrival.received;
            return;
        };
        if interval >= Duration::ZERO {
            let sample = per_packet(interval, missing);
            let old = self.t_avg.unwrap_or(sample);
            self.t_avg = Some((1.0 - self.gain) * old + self.gain * sample);
        }

        if self.packets < self.lock.packets && arrival.received - self.since < self.lock.span {
            return;
        }
        let base = self.choose(bases, arrival.rott());
        if base != self.base {
            self.base = base;
            self.since = arrival.received;
            self.packets = 0;
        }
    }

    /// Returns the base scheme that the rule selects for a packet of this rott.
    #[inline]
    fn choose(&self, bases: &Bases, rott: Duration) -> Base {
        let (Some(t_avg), Some(t_min), Some(rott_min)) =
            (self.t_avg, bases.biaz.t_min(), bases.spike.rott_min())
        else {
            return Base::ZigZag;
        };
        let t_min = t_min.as_nanos() as f64;
        let steady = || bases.zigzag.dev_nanos() < 0.5 * t_min;
        if matches!(self.rule, Rule::Zbs3 | Rule::Zbs2003)
            && ((rott - rott_min).as_nanos() as f64) < 0.05 * t_min
        {
            return Base::Spike;
        }
        if self.rule == Rule::Zbs3 && steady() {
            return Base::ZigZag;
        }
        let t_narr = t_avg / t_min;
        let [mbiaz, zigzag, spike] = self.thresholds;
        if t_narr < mbiaz {
            Base::ZigZag
        } else if t_narr < zigzag {
            Base::MBiaz
        } else if t_narr < spike || (self.rule == Rule::Zbs2 && steady()) {
            Base::ZigZag
        } else {
            Base::Spike
        }
    }
}

impl Default for Zbs {
    /// Returns ZBS as published.
    fn default() -> Self {
        Self::new(Rule::Zbs, Biaz::MBIAZ, Lock::PAPER)
    }
}

impl ReceiverClassifier for Zbs {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        let interval = self.bases.biaz.interval(arrival);
        let compared = self.bases.zigzag.compared(arrival.rott());
        in_order(
            self,
            self.update_first,
            missing,
            |state| state.update(arrival, interval, missing),
            |state| state.judge(compared, interval, missing),
        )
    }
}

impl Rule {
    /// Returns the gain of T_avg.
    #[inline]
    fn gain(self) -> f64 {
        match self {
            Self::Zbs | Self::Zbs2 | Self::Zbs3 => 0.25,
            Self::Zbs2003 => 0.125,
        }
    }

    /// Returns the lowest values of T_narr for mBiaz, ZigZag again, and Spike.
    #[inline]
    fn thresholds(self) -> [f64; 3] {
        match self {
            Self::Zbs | Self::Zbs2 | Self::Zbs3 => [0.95, 1.1, 1.5],
            Self::Zbs2003 => [0.875, 1.5, 2.0],
        }
    }
}

/// Returns T/(n+1), the spacing per packet, in ns.
#[inline]
fn per_packet(interval: Duration, missing: u64) -> f64 {
    // Skip the division if there is no gap, as usual.
    if missing == 0 {
        interval.as_nanos() as f64
    } else {
        across_gap(interval, missing)
    }
}

#[cold]
fn across_gap(interval: Duration, missing: u64) -> f64 {
    interval.as_nanos() as f64 / (missing as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrival;
    use super::*;

    /// 762 bytes at 800 kbit/s, in ns.
    const SLOT: u64 = 7_620_000;
    const FREE: Lock = Lock::NONE;

    /// Feeds (time, one-way delay, missing) in ns; returns the base scheme after each.
    fn bases<const N: usize>(zbs: &mut Zbs, arrivals: [(u64, u64, u64); N]) -> [Base; N] {
        arrivals.map(|(received, delay, missing)| {
            zbs.on_arrival(&arrival(received, delay), missing);
            zbs.base()
        })
    }

    /// Returns a hybrid without a lock at this T_narr and rott_dev, with T_min = 1000 ns and
    /// rott_min = 100 ns.
    fn at(rule: Rule, t_narr: f64, rott_dev: i64) -> Zbs {
        let mut zbs = Zbs::new(rule, Biaz::MBIAZ, FREE);
        bases(&mut zbs, [(0, 100, 0), (1000, 100, 0)]);
        zbs.bases.zigzag = ZigZag::new(ZigZag::ALPHA, Duration::from_nanos(rott_dev));
        zbs.choice.t_avg = Some(t_narr * 1000.0);
        zbs
    }

    /// Returns the base scheme that the rule selects for a packet of this rott, ns.
    fn chosen(zbs: &Zbs, rott: i64) -> Base {
        zbs.choice.choose(&zbs.bases, Duration::from_nanos(rott))
    }

    #[test]
    fn t_narr_by_hand() {
        let mut zbs = Zbs::new(Rule::Zbs, Biaz::MBIAZ, FREE);
        bases(&mut zbs, [(0, 0, 0)]);
        assert_eq!(zbs.t_narr(), None);
        bases(&mut zbs, [(1000, 0, 0)]);
        assert_eq!(zbs.t_narr(), Some(1.0));
        // A gap of one packet ends after the time of one packet: 0.75·1000 + 0.25·1000/2 = 875,
        // below T_min.
        bases(&mut zbs, [(2000, 0, 1)]);
        assert_eq!(zbs.t_narr(), Some(0.875));
        // A repeated timestamp gives 0.75·875 = 656.25. A clock set back by 500 gives no sample.
        bases(&mut zbs, [(2000, 0, 0), (1500, 0, 0)]);
        assert_eq!(zbs.t_narr(), Some(0.65625));
        // With the gain of 2003, T_avg = 0.875·1000 + 0.125·3000 = 1250.
        let mut zbs = Zbs::new(Rule::Zbs2003, Biaz::MBIAZ_2003, FREE);
        bases(&mut zbs, [(0, 0, 0), (1000, 0, 0), (4000, 0, 0)]);
        assert_eq!(zbs.t_narr(), Some(1.25));
    }

    #[test]
    fn rules_by_hand() {
        use Base::{MBiaz, Spike, ZigZag};
        let by_t_narr = |rule, dev, rott| {
            [0.94, 0.95, 1.09, 1.1, 1.49, 1.5, 2.0, 9.0]
                .map(|t_narr| chosen(&at(rule, t_narr, dev), rott))
        };
        let zbs = [ZigZag, MBiaz, MBiaz, ZigZag, ZigZag, Spike, Spike, Spike];
        let zbs2 = [ZigZag, MBiaz, MBiaz, ZigZag, ZigZag, ZigZag, ZigZag, ZigZag];
        // With T_min = 1000, rott hardly varies if rott_dev is below 500, and queues are empty if
        // rott is below 100 + 50.
        for rott in [149, 150] {
            assert_eq!(by_t_narr(Rule::Zbs, 499, rott), zbs);
            assert_eq!(by_t_narr(Rule::Zbs2, 500, rott), zbs);
            assert_eq!(by_t_narr(Rule::Zbs2, 499, rott), zbs2);
        }
        assert_eq!(by_t_narr(Rule::Zbs3, 499, 149), [Spike; 8]);
        assert_eq!(by_t_narr(Rule::Zbs3, 499, 150), [ZigZag; 8]);
        assert_eq!(by_t_narr(Rule::Zbs3, 500, 150), zbs);
        let zbs_2003 = [0.874, 0.875, 1.49, 1.5, 1.99, 2.0]
            .map(|t_narr| chosen(&at(Rule::Zbs2003, t_narr, 0), 150));
        assert_eq!(zbs_2003, [ZigZag, MBiaz, MBiaz, ZigZag, ZigZag, Spike]);
        assert_eq!(by_t_narr(Rule::Zbs2003, 0, 149), [Spike; 8]);
    }

    #[test]
    fn thresholds_have_their_reasons() {
        let [wlh, _, wb] = Rule::Zbs.thresholds();
        // At 9 % congestion loss, 1 of 11 packets is lost, so 1 of 10 inter-arrival times of T_min
        // covers 2 packets.
        let slot = Duration::from_nanos(SLOT as i64);
        let sum = 9.0 * per_packet(slot, 0) + per_packet(slot, 1);
        assert!((sum / 10.0 / SLOT as f64 - wlh).abs() < 1e-12);
        // Two flows share a full link. The next packet of a flow is i slots away with probability
        // (1/2)^i, so Σ i·(1/2)^i = 2 on average. 1.5 is midway between 2 and the 1 of a single
        // flow. The paper prints Σ (1/2)^i, which is 1.
        let shared: f64 = (1..60).map(|i| f64::from(i) * 0.5_f64.powi(i)).sum();
        assert!((shared - 2.0).abs() < 1e-12);
        assert!((f64::midpoint(1.0, shared) - wb).abs() < 1e-12);
    }

    #[test]
    fn locked_for_fifty_packets() {
        // Back to back at 7.62 ms, 50 packets take 0.4 s. T_narr is 1, so ZBS selects mBiaz from
        // the start.
        let mut zbs = Zbs::new(Rule::Zbs, Biaz::MBIAZ, Lock::PAPER);
        for k in 1..50 {
            assert_eq!(bases(&mut zbs, [(k * SLOT, 0, 0)]), [Base::ZigZag], "{k}");
        }
        assert_eq!(bases(&mut zbs, [(50 * SLOT, 0, 0)]), [Base::MBiaz]);
        // The flow now gets every other slot, so T_narr tends to 2. The 50 packets after the choice
        // come first.
        for k in 1..50 {
            let time = (50 + 2 * k) * SLOT;
            assert_eq!(bases(&mut zbs, [(time, 0, 0)]), [Base::MBiaz], "{k}");
        }
        assert_eq!(bases(&mut zbs, [(150 * SLOT, 0, 0)]), [Base::Spike]);
    }

    #[test]
    fn locked_for_three_seconds() {
        // Packets come every 100 ms, then every 200 ms, so 3 s pass before 50 packets do.
        const TICK: u64 = 100_000_000;
        let mut zbs = Zbs::new(Rule::Zbs, Biaz::MBIAZ, Lock::PAPER);
        for k in 10..40 {
            assert_eq!(bases(&mut zbs, [(k * TICK, 0, 0)]), [Base::ZigZag], "{k}");
        }
        assert_eq!(bases(&mut zbs, [(40 * TICK, 0, 0)]), [Base::MBiaz]);
        for k in 1..15 {
            let time = (40 + 2 * k) * TICK;
            assert_eq!(bases(&mut zbs, [(time, 0, 0)]), [Base::MBiaz], "{k}");
        }
        assert_eq!(bases(&mut zbs, [(70 * TICK, 0, 0)]), [Base::Spike]);
    }

    #[test]
    fn after_the_lock_it_switches_as_soon_as_indicated() {
        let mut zbs = Zbs::new(Rule::Zbs, Biaz::MBIAZ, Lock::PAPER);
        for k in 0..120 {
            bases(&mut zbs, [(k * SLOT, 0, 0)]);
        }
        // T_narr rises immediately to 0.75 + 0.25·4 = 1.75.
        assert_eq!(zbs.base(), Base::MBiaz);
        assert_eq!(bases(&mut zbs, [(123 * SLOT, 0, 0)]), [Base::Spike]);
    }

    #[test]
    fn the_base_scheme_decides() {
        let gap = |base| {
            let mut zbs = Zbs::new(Rule::Zbs, Biaz::MBIAZ, Lock::PAPER);
            bases(&mut zbs, [(0, 1000, 0), (1000, 3000, 0), (2000, 2500, 0)]);
            zbs.choice.base = base;
            // The packet is on time, in a spike (rott > 2000), and above the mean.
            zbs.on_arrival(&arrival(4000, 2100), 1)
        };
        assert_eq!(gap(Base::MBiaz), Some(Cause::Wireless));
        assert_eq!(gap(Base::Spike), Some(Cause::Congestion));
        assert_eq!(gap(Base::ZigZag), Some(Cause::Congestion));
    }
}
