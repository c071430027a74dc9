//! Runs calls as flows of `whyloss-sim`: the ends of [`media`](crate::media) in virtual time.
//!
//! [`install`] lets scenarios contain RTP flows. The seed only draws the sizes of frames, so the
//! same seed gives the same run.

use whyloss::{Duration, Time};
use whyloss_sim::host::outside::{Beginning, Host, Hosts, Truth};
use whyloss_sim::host::rtp::{self, CallResult, Estimator as Name, Feedback as Format, Options};
use whyloss_sim::observe::SourceState;

use crate::bandwidth::Bandwidth;
use crate::media::{Feedback, Receiver, Sender, Settings, packet};
use crate::nada::Nada;
use crate::scream::Scream;
use crate::{Estimator, Fate, Report};

/// Installs RTP flows for all runs of this process. Call it before scenarios with RTP flows are
/// read. Only the first call counts.
pub fn install() {
    rtp::install(knows, hosts);
}

/// Returns whether this build has the estimator.
pub fn knows(name: Name) -> bool {
    match name {
        Name::Whyloss | Name::Nada | Name::Scream | Name::Oracle => true,
        Name::Gcc => cfg!(feature = "rtc-interceptor"),
    }
}

/// Creates the estimator with this name. If its feature is missing, creates Whyloss's instead. The
/// rates are in bit/s.
pub fn estimator(name: Name, initial: f64, least: f64, most: f64) -> Box<dyn Bandwidth> {
    match name {
        Name::Nada => Box::new(Nada::new(initial, least, most)),
        Name::Scream => Box::new(Scream::new(initial, least, most)),
        #[cfg(feature = "rtc-interceptor")]
        Name::Gcc => {
            let gcc = rtc_interceptor::Gcc::new(initial, least, most);
            Box::new(crate::interceptor::Theirs::new(gcc))
        }
        _ => Box::new(Estimator::new(initial, least, most)),
    }
}

/// Returns the settings of a call whose largest datagram has `datagram` bytes.
pub fn settings(options: &Options, datagram: u32) -> Settings {
    Settings {
        feedback: match options.feedback {
            Format::Twcc => Feedback::Twcc,
            Format::Rfc8888 => Feedback::Rfc8888,
        },
        interval: options.interval,
        start: options.start.as_bps() as f64,
        least: options.least.as_bps() as f64,
        most: options.most.as_bps() as f64,
        frame_rate: options.frame_rate,
        key_interval: options.key_interval,
        reaction: options.reaction,
        pacing: options.pacing,
        nack: options.nack,
        patience: options.patience,
        late: options.late,
        pause: options.pause,
        datagram,
    }
}

/// Creates the two ends of a call.
#[expect(clippy::needless_pass_by_value, reason = "an engine takes it so")]
fn hosts(options: &Options, beginning: Beginning) -> Hosts {
    let settings = settings(options, beginning.datagram);
    let estimator = estimator(
        options.estimator,
        settings.start,
        settings.least,
        settings.most,
    );
    let estimator = match options.estimator {
        Name::Oracle => Box::new(Told {
            estimator,
            truth: beginning.judge.truth(),
            first: None,
            reports: Vec::new(),
        }),
        _ => estimator,
    };
    let sender = Sender::new(settings.clone(), estimator, beginning.seed, beginning.start);
    let goal = beginning.capacity.map_or(settings.most, |rate| {
        (rate.as_bps() as f64).min(settings.most)
    });
    Hosts {
        source: Box::new(Source(sender)),
        sink: Box::new(Sink {
            receiver: Receiver::new(settings.clone()),
            call: Call::new(settings, goal, &beginning),
        }),
    }
}

/// An estimator that receives the cause of every loss.
struct Told {
    estimator: Box<dyn Bandwidth>,
    truth: Truth,
    /// The sequence number of the first packet. Datagrams count from 0.
    first: Option<u64>,
    reports: Vec<Report>,
}

impl Bandwidth for Told {
    fn on_sent(&mut self, now: Time, id: u64, size: u32) {
        self.first.get_or_insert(id);
        self.estimator.on_sent(now, id, size);
    }

    fn on_reports(&mut self, now: Time, reports: &[Report]) {
        let first = self.first.unwrap_or(0);
        self.reports.clear();
        self.reports.extend_from_slice(reports);
        for report in &mut self.reports {
            if report.fate == Fate::Lost(None) {
                report.fate = Fate::Lost(self.truth.cause(report.id - first));
            }
        }
        self.estimator.on_reports(now, &self.reports);
    }

    fn target(&self) -> f64 {
        self.estimator.target()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.estimator.poll_timeout()
    }

    fn timeout(&mut self, now: Time) {
        self.estimator.timeout(now);
    }
}

struct Source(Sender);

impl Host for Source {
    fn receive(&mut self, now: Time, datagram: &[u8]) {
        self.0.receive(now, datagram);
    }

    fn wake(&mut self, now: Time) {
        self.0.wake(now);
    }

    fn next_timeout(&self) -> Time {
        self.0.next_timeout()
    }

    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> bool {
        self.0.poll_transmit(now, datagram)
    }

    fn state(&self) -> SourceState {
        SourceState {
            rate: Some(self.0.target() / 8.0),
            ..SourceState::default()
        }
    }
}

struct Sink {
    receiver: Receiver,
    call: Call,
}

impl Host for Sink {
    fn receive(&mut self, now: Time, datagram: &[u8]) {
        self.receiver.receive(now, datagram);
        self.call.received(now, datagram.len());
        while let Some(shown) = self.receiver.poll_shown() {
            self.call.shown(now, &shown);
        }
    }

    fn wake(&mut self, now: Time) {
        self.receiver.wake(now);
    }

    fn next_timeout(&self) -> Time {
        self.receiver.next_timeout()
    }

    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> bool {
        self.receiver.poll_transmit(now, datagram)
    }

    fn delivered(&self) -> u64 {
        self.call.bytes
    }

    fn call(&self) -> Option<CallResult> {
        Some(self.call.result())
    }
}

/// The time over which the received rate is measured, and its number of parts.
const SPAN: Duration = Duration::from_secs(1);
const PARTS: usize = 4;

/// The measurements of a call over the measurement window.
struct Call {
    settings: Settings,
    from: Time,
    until: Time,
    start: Time,
    /// The rate at which the path counts as full, in bit/s.
    goal: f64,
    /// The bits received in each part of the latest span, and when the latest part started.
    parts: [f64; PARTS],
    part: Time,
    result: CallResult,
    least: Option<Duration>,
    bytes: u64,
}

impl Call {
    fn new(settings: Settings, goal: f64, beginning: &Beginning) -> Self {
        Self {
            settings,
            from: beginning.measured.0.max(beginning.start),
            until: beginning.measured.1,
            start: beginning.start,
            goal: 0.9 * goal,
            parts: [0.0; PARTS],
            part: beginning.start,
            result: CallResult::default(),
            least: None,
            bytes: 0,
        }
    }

    fn received(&mut self, now: Time, bytes: usize) {
        if self.result.ramp.is_some() || now > self.until {
            return;
        }
        let length = Duration::from_nanos(SPAN.as_nanos() / PARTS as i64);
        while self.part + length <= now && self.result.ramp.is_none() {
            self.part += length;
            let rate = self.parts.iter().sum::<f64>() / SPAN.as_secs_f64();
            if rate >= self.goal {
                self.result.ramp = Some(self.part - self.start);
            }
            self.parts.rotate_right(1);
            self.parts[0] = 0.0;
        }
        self.parts[0] += 8.0 * (bytes as f64 + f64::from(whyloss_sim::host::outside::HEADERS));
    }

    fn shown(&mut self, now: Time, shown: &crate::media::Shown) {
        self.bytes += shown.bytes;
        if now > self.until {
            return;
        }
        self.least = Some(
            self.least
                .map_or(shown.delay, |least| least.min(shown.delay)),
        );
        if self.counts(now - shown.delay) {
            let result = &mut self.result;
            result.shown += 1;
            result.late += u64::from(shown.late);
            result.delays.record(shown.delay);
        }
        if now >= self.from && shown.frozen > Duration::ZERO {
            self.result.freezes += 1;
            self.result.frozen += shown.frozen;
        }
    }

    /// Returns whether a frame captured at this time counts, because it can be shown in time before
    /// the end.
    fn counts(&self, captured: Time) -> bool {
        let last = self.until - self.settings.late - self.least.unwrap_or(Duration::ZERO);
        self.from <= captured && captured <= last
    }

    fn result(&self) -> CallResult {
        let tick = self.settings.tick();
        let mut expected = 0;
        let mut at = self.start;
        while at <= self.until {
            // Round the time as RTP does, so that both ends agree at the edge of the window.
            let captured = self.until - packet::since(packet::ticks(at), self.until);
            let on = !self.settings.pauses(at);
            expected += u64::from(on && self.counts(captured));
            at += tick;
        }
        CallResult {
            expected: expected.max(self.result.shown),
            ..self.result.clone()
        }
    }
}
