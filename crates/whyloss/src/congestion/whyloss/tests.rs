use super::*;
use crate::congestion::tests::START;
use proptest::prelude::*;
use std::boxed::Box;
use std::vec::Vec;

const MS: u64 = 1_000_000;

/// A path whose round-trip times the test chooses, with a full window.
struct Path {
    now: u64,
    acknowledged: u64,
    controllers: [Box<dyn Controller>; 2],
}

impl Path {
    /// Whyloss, and its base controller by itself.
    fn new(under: Under) -> Self {
        let base: Box<dyn Controller> = match under {
            Under::Cubic => Box::new(Cubic::new(&START, CubicDialect::Rfc9438)),
            Under::Reno => Box::new(Reno::new(&START, Decrease::FlightSize)),
        };
        Self {
            now: 0,
            acknowledged: 0,
            controllers: [Box::new(Whyloss::new(&START, under)), base],
        }
    }

    fn windows(&self) -> [u64; 2] {
        [0, 1].map(|at: usize| self.controllers[at].window())
    }

    /// Acknowledges `count` segments, one per millisecond.
    fn acks(&mut self, count: u32, rtt_us: u64) {
        for _ in 0..count {
            self.now += MS;
            self.acknowledged += 1000;
            for controller in &mut self.controllers {
                let window = controller.window();
                let ack = AckEvent::new(Time::from_nanos(self.now), 1000).acked(1000);
                let ack = ack.acknowledged(self.acknowledged).in_flight(window);
                let rtt = Duration::from_micros(rtt_us as i64);
                controller.on_ack(&ack.window(window).rtt(Some(rtt)));
            }
        }
    }

    fn loss(&mut self, detection: Detection) {
        self.now += MS;
        for controller in &mut self.controllers {
            let window = controller.window();
            let loss = LossEvent::new(Time::from_nanos(self.now), detection, 1000);
            let loss = loss
                .first(self.acknowledged)
                .in_flight(window)
                .window(window);
            if detection.is_timeout() {
                controller.on_timeout(&loss);
            } else {
                controller.on_loss(&loss);
            }
        }
    }

    fn mark(&mut self) {
        let now = Time::from_nanos(self.now);
        for controller in &mut self.controllers {
            let window = controller.window();
            controller.on_mark(&MarkEvent::new(now, 1000).in_flight(window).window(window));
        }
    }

    fn set(&mut self, window: u64) {
        for controller in &mut self.controllers {
            controller.set_window(window, window);
        }
    }
}

/// Returns a path on which a window of 100 segments has waited 50 of 150 ms, so 33 were in the
/// queue.
fn with_a_queue() -> Path {
    let mut path = Path::new(Under::Cubic);
    path.acks(20, 100_000);
    path.set(100_000);
    path.acks(400, 150_000);
    path.set(100_000);
    path
}

#[test]
fn a_loss_at_an_empty_queue_cuts_nothing() {
    let mut path = with_a_queue();
    path.acks(400, 103_900);
    path.set(100_000);
    path.loss(Detection::Duplicates);
    assert_eq!(path.windows(), [100_000, 70_000]);
}

/// All samples are equal, so each loss ranks in the middle. T spares the losses before R reaches
/// 0.68.
#[test]
fn losses_in_the_middle_of_flat_delays_cut_nothing() {
    let mut path = Path::new(Under::Cubic);
    path.acks(3, 100_000);
    path.loss(Detection::Duplicates);
    for _ in 0..3 {
        path.acks(300, 100_000);
        path.set(100_000);
        path.loss(Detection::Duplicates);
        assert_eq!(path.windows(), [100_000, 70_000]);
    }
}

#[test]
fn a_loss_at_a_queue_cuts_in_full_until_others_came_at_an_empty_one() {
    let mut path = with_a_queue();
    path.acks(1, 104_100);
    path.set(100_000);
    path.loss(Detection::Duplicates);
    assert_eq!(path.windows(), [70_000, 70_000]);
    path.acks(400, 100_000);
    for _ in 0..3 {
        path.acks(1, 100_000);
        path.loss(Detection::Duplicates);
    }
    // ρ is 1 − (15/16)³ = 0.18 > 1/8, so the odds decide, and they suggest a channel.
    path.set(100_000);
    path.acks(10, 110_000);
    path.set(100_000);
    path.loss(Detection::Duplicates);
    assert_eq!(path.windows(), [100_000, 70_000]);
}

/// Acknowledgements wait up to 15 of 100 ms, in no order, and one segment in a hundred is lost.
/// No queue is seen, and delays are not flat.
#[test]
fn losses_at_any_delay_leave_a_window_that_never_saw_a_queue() {
    let mut path = Path::new(Under::Cubic);
    path.acks(3, 100_000);
    path.loss(Detection::Duplicates);
    let mut spared = 0;
    for loss in 0..20 {
        path.set(50_000);
        for ack in 0..100 {
            path.acks(1, 100_000 + (7919 * (100 * loss + ack)) % 15_000);
        }
        path.set(50_000);
        path.loss(Detection::Duplicates);
        spared += u32::from(path.windows() == [50_000, 35_000]);
    }
    assert!(spared >= 8, "{spared} of 20");
}

#[test]
fn marks_and_persistent_congestion_cut_in_full() {
    let mut path = with_a_queue();
    path.acks(1, 100_000);
    path.set(100_000);
    path.loss(Detection::PersistentCongestion);
    let [own, base] = path.windows();
    assert_eq!(own, base);
    let mut path = with_a_queue();
    path.acks(1, 100_000);
    path.set(100_000);
    path.mark();
    assert_eq!(path.windows(), [70_000, 70_000]);
}

/// A timeout that cuts nothing was spurious. Then the window grows as if it had never expired.
#[test]
fn a_spurious_timeout_returns_to_the_curve() {
    let run = |expires: bool| {
        let mut path = with_a_queue();
        path.loss(Detection::Duplicates);
        path.acks(400, 100_000);
        let own = &path.controllers[0];
        let (window, ssthresh) = (own.window(), own.ssthresh());
        if expires {
            path.loss(Detection::Timeout);
            let own = &mut path.controllers[0];
            assert_eq!((own.window(), own.own_cut()), (1000, Some(0)));
            own.on_spurious_loss(Time::from_nanos(path.now), window, ssthresh);
        }
        path.acks(2000, 100_000);
        path.controllers[0].window()
    };
    let [undisturbed, undone] = [false, true].map(run);
    assert!(
        undone.abs_diff(undisturbed) < 1000,
        "{undone} {undisturbed}"
    );
}

/// Only the first of several timeouts for the same packet is evidence.
#[test]
fn a_repeated_timeout_does_not_count() {
    let mut path = Whyloss::new(&START, Under::Cubic);
    for ack in 1..=100 {
        let heard = AckEvent::new(Time::from_nanos(ack * MS), 1000).acked(1000);
        let heard = heard.acknowledged(1000 * ack).in_flight(10_000);
        let rtt = Some(Duration::from_micros(100_000));
        path.on_ack(&heard.window(10_000).rtt(rtt));
    }
    let loss = LossEvent::new(Time::from_nanos(400 * MS), Detection::Timeout, 1000);
    let loss = loss.first(100_000).in_flight(10_000).window(10_000);
    path.on_timeout(&loss);
    let (means, past, ssthresh) = (path.means, path.past, path.ssthresh());
    for _ in 0..5 {
        path.on_timeout(&loss.window(1000).in_flight(1000).repeated(true));
    }
    assert_eq!(
        (path.means, path.past, path.ssthresh()),
        (means, past, ssthresh)
    );
    assert_eq!(path.own_cut(), Some(FULL));
}

/// Acknowledges 200 segments at delays of 100 to 115 ms, in no order.
fn wait(path: &mut Whyloss, from: u64) -> LossEvent {
    for ack in from + 1..=from + 200 {
        let heard = AckEvent::new(Time::from_nanos(ack * MS), 1000).acked(1000);
        let heard = heard.acknowledged(1000 * ack).in_flight(50_000);
        let rtt = Duration::from_micros((100_000 + 7919 * ack % 15_000).cast_signed());
        path.on_ack(&heard.window(50_000).rtt(Some(rtt)));
    }
    let now = Time::from_nanos((from + 201) * MS);
    let loss = LossEvent::new(now, Detection::Duplicates, 1000).first(1000 * (from + 200));
    loss.in_flight(50_000).window(50_000)
}

/// After a spurious loss, the scheme decides as if the loss had never been reported.
#[test]
fn a_spurious_loss_is_no_evidence() {
    for starts in [false, true] {
        let mut path = Whyloss::new(&START, Under::Cubic);
        let first = wait(&mut path, 0);
        if !starts {
            path.on_loss(&first);
        }
        let loss = wait(&mut path, 200);
        let (mut spurious, mut real) = (path.clone(), path.clone());
        let (window, ssthresh) = (path.window(), path.ssthresh());
        spurious.on_loss(&loss);
        spurious.on_spurious_loss(loss.now, window, ssthresh);
        real.on_loss(&loss);
        let [spurious, real, path] = [&mut spurious, &mut real, &mut path].map(|path| {
            let loss = wait(path, 400);
            path.set_window(50_000, ssthresh);
            path.decide(&loss)
        });
        assert_eq!(spurious, path);
        assert_ne!(real, path);
    }
}

/// Of a transport that reports neither offsets nor windows, the first slow start spares eight losses
/// as well.
#[test]
fn a_slow_start_without_optional_fields_ends() {
    let mut path = Whyloss::new(&START, Under::Cubic);
    for step in 1..=200 {
        let now = Time::from_nanos(step * MS);
        let ack = AckEvent::new(now, 1000).acked(1000);
        path.on_ack(&ack.rtt(Some(Duration::from_millis(100))));
        if step > 20 && step % 10 == 0 {
            path.on_loss(
                &LossEvent::new(now, Detection::Duplicates, 1000).in_flight(path.window()),
            );
        }
    }
    assert!(path.ssthresh() < u64::MAX);
}

/// On a path where a channel explains the losses, the window also grows in a recovery from a
/// loss that cut nothing. Before the losses have shown this, the window stays.
#[test]
fn only_a_lossy_path_lets_the_window_grow_in_a_recovery() {
    for (odds, rank, spared) in [
        (LOSSY, UNSEEN, true),
        (LOSSY + 1, UNSEEN, true),
        (LOSSY, UNSEEN + 1, true),
        (LOSSY, UNSEEN, false),
    ] {
        let mut path = Whyloss::new(&START, Under::Reno);
        path.set_window(10_000, 10_000);
        (path.means, path.spared) = (Means { rank, odds }, spared);
        for ack in 1..=20 {
            let heard = AckEvent::new(Time::from_nanos(ack * MS), 1000).acked(1000);
            let heard = heard.acknowledged(1000 * ack).in_flight(10_000);
            path.on_ack(&heard.window(10_000).in_recovery(true));
        }
        let grows = (odds, rank, spared) == (LOSSY, UNSEEN, true);
        assert_eq!(path.window() > 10_000, grows, "{odds} {rank} {spared}");
    }
}

fn what() -> impl Strategy<Value = Vec<(u32, u64, u8)>> {
    prop::collection::vec((1..60_u32, 0..1000_u64, 0..8_u8), 1..60)
}

proptest! {
    /// With a queue of fewer than six own segments and losses at its largest delays, the window
    /// equals the base controller's to the byte. The first loss ends slow start, before there
    /// are enough samples.
    #[test]
    fn without_a_queue_it_is_its_base_controller(
        events in what(),
        under in prop::sample::select(&[Under::Cubic, Under::Reno][..]),
    ) {
        let mut path = Path::new(under);
        path.acks(3, 100_000);
        path.loss(Detection::Duplicates);
        for (round, (count, jitter, loss)) in (0..).zip(events) {
            // Windows of at most 2000 segments wait for 0 to 250 µs of 100 ms.
            path.acks(count, 100_000 + jitter / 4);
            path.acks(1, 100_250 + round);
            match loss {
                0 => path.loss(Detection::Timeout),
                1..4 => path.loss(Detection::Duplicates),
                _ => {}
            }
            let [own, base] = path.windows();
            prop_assert!(own < 2_000_000);
            prop_assert_eq!(own, base);
        }
    }

    /// Every loss meets a queue of more than 4 ms at a window that fills the path. So ρ stays 0,
    /// and the trees call these losses congestion, however deep the queue is. The window then
    /// equals the base controller's to the byte.
    #[test]
    fn losses_at_a_queue_cut_in_full(events in what()) {
        let mut path = Path::new(Under::Cubic);
        path.acks(3, 100_000);
        path.loss(Detection::Duplicates);
        path.acks(20, 100_000);
        for (count, wait, loss) in events {
            path.set(100_000);
            // Sixty samples take r to within 1 % of a wait of 6 to 106 ms.
            path.acks(60 + count, 106_000 + 100 * wait);
            match loss {
                0 => path.loss(Detection::Timeout),
                1 => path.mark(),
                2..5 => path.loss(Detection::Duplicates),
                _ => {}
            }
            let [own, base] = path.windows();
            prop_assert_eq!(own, base);
        }
    }

    /// Every loss with less than a full cut has one of the guaranteed reasons.
    #[test]
    fn a_loss_is_spared_only_for_a_reason(
        events in what(),
        queue in 0..40_000_u64,
        window in 4..200_u64,
    ) {
        let mut path = Whyloss::new(&START, Under::Cubic);
        let (mut now, mut acknowledged) = (0, 0);
        for (count, wait, kind) in events {
            for ack in 0..u64::from(count) {
                now += MS;
                acknowledged += 1000;
                let rtt = 100_000 + (wait + 7919 * ack) % (queue + 1);
                let ack = AckEvent::new(Time::from_nanos(now), 1000).acked(1000);
                let ack = ack.acknowledged(acknowledged).window(1000 * window);
                let rtt = Duration::from_micros(rtt.cast_signed());
                path.on_ack(&ack.rtt(Some(rtt)));
            }
            if kind == 0 {
                continue;
            }
            let starts = path.ssthresh() == u64::MAX;
            let queue = path.history.queue(&path.signals);
            let loss = LossEvent::new(Time::from_nanos(now), Detection::Duplicates, 1000);
            let loss = loss.first(acknowledged).window(1000 * window);
            let cut = path.decide(&loss).cut;
            base!(path.on_loss(&loss));
            let may_be_channel = path.means.odds <= 0 && path.means.rank <= HIGH;
            if starts || cut == FULL || may_be_channel {
                continue;
            }
            let reason = if queue.is_seen(&loss) {
                queue.is_empty(4) || path.empties >= 8192
            } else {
                path.means.rank <= BLIND && queue.stays_flat()
            };
            prop_assert!(reason, "{cut} of {path:?} at {queue:?}");
        }
    }

    /// The window grows, but the delivered rate does not: nine losses end the first slow start.
    #[test]
    fn a_slow_start_that_brings_nothing_ends(events in prop::collection::vec((1..60_u32, 0..1000_u64), 9..12)) {
        let mut path = Path::new(Under::Cubic);
        // One acknowledgement arrives per millisecond, whatever the window.
        path.acks(400, 100_000);
        for (count, jitter) in events {
            path.acks(count, 100_000 + jitter / 4);
            path.loss(Detection::Duplicates);
        }
        prop_assert!(path.controllers[0].ssthresh() < u64::MAX);
    }

    /// Marks and persistent congestion always leave the window of the base controller.
    #[test]
    fn marks_and_persistent_congestion_always_cut_in_full(events in what()) {
        let mut path = Path::new(Under::Cubic);
        for (count, wait, loss) in events {
            path.acks(count, 100_000 + 100 * wait);
            match loss {
                0..4 => path.loss(Detection::Duplicates),
                4 => path.loss(Detection::Timeout),
                _ => {
                    let [window, _] = path.windows();
                    path.set(window);
                    if loss == 5 {
                        path.mark();
                    } else {
                        path.loss(Detection::PersistentCongestion);
                    }
                    let [own, base] = path.windows();
                    prop_assert_eq!(own, base);
                }
            }
        }
    }

    /// From the same window, a loss leaves a window between that of the base controller and that
    /// before. The former is larger at one segment, because ssthresh has at least two.
    #[test]
    fn a_cut_lies_between_nothing_and_its_base_controllers(events in what()) {
        let mut path = Path::new(Under::Cubic);
        for (count, wait, loss) in events {
            path.acks(count, 100_000 + 100 * wait);
            let [window, _] = path.windows();
            if loss > 0 {
                // A quarter of the losses come at one to four segments.
                let window = if loss > 2 { window } else { 1000 + 3 * wait };
                path.set(window);
                path.loss(Detection::Duplicates);
                let [own, base] = path.windows();
                let between = window.min(base)..=window.max(base);
                prop_assert!(between.contains(&own), "{} of {}, {}", own, window, base);
                prop_assert!(own <= window.max(2000), "{} of {}", own, window);
            }
        }
    }
}
