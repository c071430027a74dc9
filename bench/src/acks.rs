//! Generates the acknowledgements for the benchmarks: a NewReno flow of 1000-byte segments on a
//! path of 100 ms and 1.6 Mbit/s (20 segments), with a queue of 10 segments. Its window is a
//! sawtooth from 15 to 30 segments. Round-trip times have up to 0.5 ms of noise, and one
//! acknowledgement in 300 follows a random loss. A loss causes three duplicates, a loss event, and
//! a recovery with a partial acknowledgement.

use whyloss::congestion::Controller;
use whyloss::event::{AckEvent, Detection, LossEvent};
use whyloss::sender::{Classifier, SenderClassifier};
use whyloss::{Duration, Time};

/// One step of the stream: an acknowledgement and, if it reveals a loss, the loss event.
pub type Told = (AckEvent, Option<LossEvent>);

const SEGMENT: u64 = 1000;
/// The number of segments that fill the path without a queue.
const PIPE: u64 = 20;
/// The number of segments in flight with a full queue.
const FULL: u64 = 30;
/// The time between acknowledgements, in ns, which is also the queueing delay per queued segment.
const SLOT: u64 = 5_000_000;

/// Returns a stream of `count` acknowledgements.
pub fn stream(count: u64) -> Vec<Told> {
    let mut flow = Flow {
        random: 1,
        now: 1_000_000_000,
        acknowledged: 0,
        window: FULL / 2 * SEGMENT,
        recover: None,
    };
    let mut told = Vec::new();
    while (told.len() as u64) < count {
        flow.step(&mut told);
    }
    told.truncate(count as usize);
    told
}

/// Feeds the stream to a classifier, and returns the number of verdicts.
pub fn feed(classifier: &mut Classifier, stream: &[Told]) -> u64 {
    let mut verdicts = 0;
    for (ack, loss) in stream {
        std::hint::black_box(&mut *classifier).on_ack(ack);
        if let Some(loss) = loss {
            std::hint::black_box(classifier.on_loss(loss));
            verdicts += 1;
        }
    }
    verdicts
}

/// Feeds the stream to a controller, and returns its window at the end, in bytes.
pub fn control(controller: &mut impl Controller, stream: &[Told]) -> u64 {
    for (ack, loss) in stream {
        std::hint::black_box(&mut *controller).on_ack(ack);
        if let Some(loss) = loss {
            std::hint::black_box(&mut *controller).on_loss(loss);
        }
    }
    controller.window()
}

struct Flow {
    random: u64,
    now: u64,
    acknowledged: u64,
    window: u64,
    /// The byte before which everything must be acknowledged to end the current recovery.
    recover: Option<u64>,
}

impl Flow {
    /// Returns a random number below `end`.
    fn draw(&mut self, end: u64) -> u64 {
        // Knuth's MMIX generator. Losses must be irregular, or the branch predictor learns them.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % end
    }

    fn step(&mut self, told: &mut Vec<Told>) {
        if self.recover.is_none() && (self.window >= FULL * SEGMENT || self.draw(300) == 0) {
            for _ in 0..3 {
                let duplicate = self.ack(0);
                told.push((duplicate, None));
            }
            let loss = self.loss();
            if let Some(last) = told.last_mut() {
                last.1 = Some(loss);
            }
            return;
        }
        // In a recovery, the first acknowledgement covers half of the data in flight, and the next
        // the rest.
        let acked = match self.recover {
            None => SEGMENT,
            Some(recover) if recover - self.acknowledged > self.window => self.window,
            Some(recover) => recover - self.acknowledged,
        };
        let ack = self.ack(acked);
        told.push((ack, None));
        self.recover = self.recover.filter(|&recover| self.acknowledged < recover);
        if self.recover.is_none() {
            self.window += SEGMENT * SEGMENT / self.window;
        }
    }

    fn ack(&mut self, acked: u64) -> AckEvent {
        self.now += SLOT;
        self.acknowledged += acked;
        let queued = (self.window / SEGMENT).saturating_sub(PIPE);
        let rtt = 100_000_000 + queued * SLOT + self.draw(500_000);
        AckEvent::new(Time::from_nanos(self.now), SEGMENT as u32)
            .acked(acked)
            .sacked(if acked == 0 { SEGMENT } else { 0 })
            .acknowledged(self.acknowledged)
            .in_flight(self.window)
            .window(self.window)
            .rtt((acked > 0).then_some(Duration::from_nanos(rtt as i64)))
            .receiver_stamp(Some(Time::from_nanos(self.now)))
            .in_recovery(self.recover.is_some())
    }

    fn loss(&mut self) -> LossEvent {
        let window = self.window;
        self.recover = Some(self.acknowledged + window);
        self.window = (window / 2).max(2 * SEGMENT);
        let now = Time::from_nanos(self.now);
        LossEvent::new(now, Detection::Duplicates, SEGMENT as u32)
            .first(self.acknowledged)
            .in_flight(window)
            .window(window)
    }
}
