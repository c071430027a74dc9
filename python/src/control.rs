//! Runs estimators, controllers and schemes without a simulation: over tables of events, and event
//! by event.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, UInt64Array};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use whyloss::bandwidth::delivery_rate::{DeliveryRate, LostPacket, RateSample, Snapshot};
use whyloss::bandwidth::{AnyEstimator, BandwidthEstimator};
use whyloss::congestion::{ControllerSpec, Start, UnderPolicy};
use whyloss::event::{AckEvent, Detection, LossEvent, SentEvent};
use whyloss::schemes::{self, CongestionControl, Scheme as Parts};
use whyloss::{Cause, Duration, Rate, Time, bandwidth, congestion, policy};

use crate::columns::Numbers;
use crate::events::{Ack, Loss, Sent, moment, nanos};
use crate::names::{self, Either, Parameters, build, word};
use crate::table::{Table, Texts};

/// The columns of one batch of a table of acknowledgements. Missing columns are zero.
struct Acks<'a> {
    time: Numbers<'a>,
    acked: Numbers<'a>,
    sent: Numbers<'a>,
    in_flight: Numbers<'a>,
    window: Numbers<'a>,
    rtt: Option<&'a Float64Array>,
    rows: usize,
}

impl<'a> Acks<'a> {
    fn of(table: &'a Table) -> PyResult<Vec<Self>> {
        let whole = |name: &str, batch: usize| {
            if table.has(name) {
                Numbers::of(name, table.arrays(name)?[batch])
            } else {
                Ok(Numbers::None)
            }
        };
        let times = table.arrays("time_s")?;
        table.arrays("acked_bytes")?;
        let batch = |batch: usize| {
            let rtt = if table.has("rtt_s") {
                Some(table.arrays("rtt_s")?[batch])
            } else {
                None
            };
            let rtt = rtt.map(|rtt| {
                rtt.as_primitive_opt::<Float64Type>()
                    .ok_or_else(|| PyTypeError::new_err("column `rtt_s` is no column of reals"))
            });
            Ok(Acks {
                time: Numbers::of("time_s", times[batch])?,
                acked: whole("acked_bytes", batch)?,
                sent: whole("sent_bytes", batch)?,
                in_flight: whole("in_flight_bytes", batch)?,
                window: whole("window_bytes", batch)?,
                rtt: rtt.transpose()?,
                rows: times[batch].len(),
            })
        };
        (0..times.len()).map(batch).collect()
    }

    fn at(&self, row: usize) -> Time {
        Time::from_nanos(self.time.nanos(row).max(0).cast_unsigned())
    }

    fn rtt(&self, row: usize) -> Option<Duration> {
        let rtt = self.rtt.filter(|rtt| rtt.is_valid(row))?;
        Some(Duration::from_nanos(nanos(rtt.value(row))))
    }

    /// Returns the acknowledgement of a row, after which `acknowledged` bytes are acknowledged in
    /// total.
    fn ack(&self, row: usize, segment_size: u32, acknowledged: u64) -> AckEvent {
        AckEvent::new(self.at(row), segment_size)
            .acked(self.acked.whole(row))
            .acknowledged(acknowledged)
            .in_flight(self.in_flight.whole(row))
            .window(self.window.whole(row))
            .rtt(self.rtt(row))
    }
}

/// A bandwidth estimator from the registry.
#[pyclass(module = "whyloss")]
pub(crate) struct Estimator {
    inner: AnyEstimator,
    segment_size: u32,
    acknowledged: u64,
}

#[pymethods]
impl Estimator {
    #[new]
    #[pyo3(signature = (name, segment_size = 1500, **parameters))]
    #[expect(clippy::needless_pass_by_value, reason = "it comes from Python")]
    fn new(name: String, segment_size: u32, parameters: Option<Parameters>) -> PyResult<Self> {
        let parameters = parameters.unwrap_or_default();
        let spec = build(bandwidth::REGISTRY, "estimator", &name, &parameters)?;
        let segment_size = segment_size.max(1);
        Ok(Self {
            inner: spec.build(segment_size),
            segment_size,
            acknowledged: 0,
        })
    }

    /// Processes acknowledgements in order; returns the estimate after each.
    fn estimate(&mut self, py: Python<'_>, acks: &Bound<'_, PyAny>) -> PyResult<Table> {
        let table = Table::from_python(acks)?;
        let (mut times, mut rates) = (Vec::new(), Vec::new());
        for acks in Acks::of(&table)? {
            py.detach(|| {
                for row in 0..acks.rows {
                    self.acknowledged += acks.acked.whole(row);
                    self.inner
                        .on_ack(&acks.ack(row, self.segment_size, self.acknowledged));
                    times.push(acks.at(row).as_secs_f64());
                    rates.push(
                        self.inner
                            .estimate()
                            .map_or(f64::NAN, |rate| rate.as_bps() as f64),
                    );
                }
            });
        }
        Table::of(vec![
            ("time_s".into(), "s", crate::table::reals(times)),
            ("estimate_bps".into(), "bit/s", crate::table::reals(rates)),
        ])
    }
}

/// A sender's controller that receives events from Python: under its policy, or with a classifier.
trait Told {
    fn on_sent(&mut self, sent: &SentEvent);
    fn on_ack(&mut self, ack: &AckEvent);
    fn on_rate_sample(&mut self, sample: &RateSample);
    fn on_packet_lost(&mut self, packet: &LostPacket);
    fn on_recovery_end(&mut self, now: Time);
    /// Processes a loss event and returns its cause: that of the classifier, else `cause`.
    fn on_loss(&mut self, loss: &LossEvent, cause: Cause) -> Cause;
    fn wants_rate_samples(&self) -> bool;
    fn spares_losses(&self) -> bool;
    fn window(&self) -> u64;
    fn ssthresh(&self) -> u64;
    fn pacing_rate(&self) -> Option<Rate>;
}

macro_rules! told {
    ($type:ty, $loss:expr, $governed:expr) => {
        impl Told for $type {
            fn on_sent(&mut self, sent: &SentEvent) {
                self.on_sent(sent);
            }
            fn on_ack(&mut self, ack: &AckEvent) {
                self.on_ack(ack);
            }
            fn on_rate_sample(&mut self, sample: &RateSample) {
                self.on_rate_sample(sample);
            }
            fn on_packet_lost(&mut self, packet: &LostPacket) {
                self.on_packet_lost(packet);
            }
            fn on_recovery_end(&mut self, now: Time) {
                self.on_recovery_end(now, u64::MAX);
            }
            fn on_loss(&mut self, loss: &LossEvent, cause: Cause) -> Cause {
                ($loss)(self, loss, cause)
            }
            fn wants_rate_samples(&self) -> bool {
                ($governed)(self).wants_rate_samples()
            }
            fn spares_losses(&self) -> bool {
                ($governed)(self).spares_losses()
            }
            fn window(&self) -> u64 {
                self.window()
            }
            fn ssthresh(&self) -> u64 {
                self.ssthresh()
            }
            fn pacing_rate(&self) -> Option<Rate> {
                self.pacing_rate()
            }
        }
    };
}

fn governed(control: &UnderPolicy) -> &UnderPolicy {
    control
}

told!(
    UnderPolicy,
    |control: &mut UnderPolicy, loss: &LossEvent, cause| {
        if loss.detection.is_timeout() {
            control.on_timeout(loss, cause);
        } else {
            control.on_loss(loss, cause);
        }
        cause
    },
    governed
);
told!(
    CongestionControl,
    |control: &mut CongestionControl, loss: &LossEvent, _| control.on_loss(loss),
    CongestionControl::control
);

/// The sender of a connection, with the ledger that rate samples need. Packets are acknowledged in
/// sending order. A loss is that of the oldest packet.
struct Live<T> {
    name: String,
    control: T,
    segment_size: u32,
    acknowledged: u64,
    rate: DeliveryRate,
    under_way: VecDeque<(Snapshot, u32)>,
    /// The bytes in flight that were reported as sent; `under_way` has their packets.
    told: u64,
}

impl<T: Told> Live<T> {
    fn new(name: String, control: T, segment_size: u32) -> Self {
        Self {
            name,
            control,
            segment_size,
            acknowledged: 0,
            rate: DeliveryRate::default(),
            under_way: VecDeque::new(),
            told: 0,
        }
    }

    fn sent(&mut self, sent: &SentEvent) {
        if self.control.wants_rate_samples() {
            if sent.app_limited {
                self.rate.mark_app_limited();
            }
            let size = u32::try_from(sent.bytes).unwrap_or(u32::MAX);
            let packet = self.rate.on_sent(sent.now, size, sent.retransmission);
            self.under_way.push_back((packet, size));
            self.told += u64::from(size);
        }
        self.control.on_sent(sent);
    }

    /// Processes an acknowledgement and fills in its missing fields.
    fn ack(&mut self, mut ack: AckEvent) -> Result<(), String> {
        let delivered = ack.acked.saturating_add(ack.sacked);
        if self.control.wants_rate_samples() {
            if delivered > self.told {
                return Err(format!(
                    "{delivered} bytes are acknowledged, of which {} are known to have left: `{}` goes by delivery rates, and must \
                     be told of every packet that leaves (the event \"sent\", or on_sent)",
                    self.told, self.name
                ));
            }
            self.deliver(ack.now, delivered);
            if self.rate.in_flight() + u64::from(self.segment_size) > self.control.window() {
                self.rate.mark_window_limited();
            }
            if ack.in_flight == 0 {
                ack.in_flight = self.rate.in_flight();
            }
            if let Some(sample) = self.rate.sample(ack.now) {
                self.control.on_rate_sample(&sample);
            }
        }
        self.acknowledged = self.acknowledged.saturating_add(ack.acked);
        ack.acknowledged = ack.acknowledged.max(self.acknowledged);
        if ack.window == 0 {
            ack.window = self.control.window();
        }
        self.control.on_ack(&ack);
        Ok(())
    }

    /// Records that `bytes` bytes arrived.
    fn deliver(&mut self, now: Time, mut bytes: u64) {
        self.told -= bytes.min(self.told);
        while bytes > 0
            && let Some((mut packet, size)) = self.under_way.pop_front()
        {
            if u64::from(size) > bytes {
                let part = bytes as u32;
                self.rate.on_acked(now, &mut packet.split(part));
                self.under_way.push_front((packet, size - part));
                return;
            }
            self.rate.on_acked(now, &mut packet);
            bytes -= u64::from(size);
        }
    }

    /// Processes a loss event and fills in its missing fields.
    fn lose(&mut self, mut loss: LossEvent, cause: Cause) -> Cause {
        if loss.window == 0 {
            loss.window = self.control.window();
        }
        if loss.in_flight == 0 {
            loss.in_flight = self.rate.in_flight();
        }
        let cause = self.control.on_loss(&loss, cause);
        // After a timeout, nothing is in flight.
        let lost = if loss.detection.is_timeout() {
            self.under_way.len()
        } else {
            1
        };
        for (mut packet, size) in self.under_way.drain(..lost.min(self.under_way.len())) {
            self.told -= u64::from(size);
            if self.control.spares_losses() {
                self.rate.on_spared_loss(&mut packet);
            } else if let Some(lost) = self.rate.on_lost(loss.now, &mut packet) {
                self.control.on_packet_lost(&lost);
            }
        }
        cause
    }

    fn ssthresh(&self) -> Option<u64> {
        Some(self.control.ssthresh()).filter(|&bytes| bytes != u64::MAX)
    }

    fn pacing(&self) -> Option<u64> {
        self.control.pacing_rate().map(Rate::as_bps)
    }

    /// Processes the rows of a table; returns the window after each.
    fn follow(&mut self, py: Python<'_>, events: &Bound<'_, PyAny>) -> PyResult<Table>
    where
        T: Send,
    {
        let table = Table::from_python(events)?;
        let kinds = table.arrays("event")?;
        let mut after = After::default();
        let mut first = 0;
        for (acks, kinds) in Acks::of(&table)?.into_iter().zip(kinds) {
            let kinds = Texts::of(kinds)?;
            py.detach(|| {
                for row in 0..acks.rows {
                    self.row(&acks, row, kinds.get(row), &mut after)
                        .map_err(|wrong| {
                            PyValueError::new_err(format!("row {}: {wrong}", first + row))
                        })?;
                }
                Ok::<_, PyErr>(())
            })?;
            first += acks.rows;
        }
        after.table()
    }

    fn row(
        &mut self,
        acks: &Acks<'_>,
        row: usize,
        kind: Option<&str>,
        after: &mut After,
    ) -> Result<(), String> {
        let (at, size) = (acks.at(row), self.segment_size);
        let window = match &acks.window {
            Numbers::None => self.control.window(),
            given => given.whole(row),
        };
        let loss = |detection| {
            LossEvent::new(at, detection, size)
                .in_flight(acks.in_flight.whole(row))
                .window(window)
                .rtt(acks.rtt(row))
        };
        let mut verdict = None;
        match kind {
            Some("sent") => {
                let bytes = match &acks.sent {
                    Numbers::None => u64::from(size),
                    given => given.whole(row),
                };
                self.sent(&SentEvent::new(at, bytes));
            }
            Some("ack") => self.ack(acks.ack(row, size, 0).window(window))?,
            Some("loss") => {
                verdict = Some(self.lose(loss(Detection::Duplicates), Cause::Congestion));
            }
            Some("recovered") => self.control.on_recovery_end(at),
            Some("timeout") => {
                verdict = Some(self.lose(loss(Detection::Timeout), Cause::Congestion));
            }
            other => {
                let found = other.map_or("nothing".to_owned(), |word| format!("{word:?}"));
                return Err(format!(
                    "`event` is {found}, expected \"sent\", \"ack\", \"loss\", \"recovered\" or \"timeout\""
                ));
            }
        }
        after.time.push(at.as_secs_f64());
        after.window.push(self.control.window());
        after.threshold.push(self.ssthresh());
        after
            .pacing
            .push(self.pacing().map_or(f64::NAN, |bps| bps as f64));
        after.verdict.push(verdict.map(word));
        Ok(())
    }
}

/// The window, threshold and pacing rate after each event, as columns.
#[derive(Default)]
struct After {
    time: Vec<f64>,
    window: Vec<u64>,
    threshold: Vec<Option<u64>>,
    pacing: Vec<f64>,
    verdict: Vec<Option<&'static str>>,
}

impl After {
    fn table(self) -> PyResult<Table> {
        Table::of(vec![
            ("time_s".into(), "s", crate::table::reals(self.time)),
            (
                "cwnd_bytes".into(),
                "bytes",
                Arc::new(UInt64Array::from(self.window)) as ArrayRef,
            ),
            (
                "ssthresh_bytes".into(),
                "bytes",
                Arc::new(UInt64Array::from(self.threshold)),
            ),
            (
                "pacing_bps".into(),
                "bit/s",
                crate::table::reals(self.pacing),
            ),
            ("verdict".into(), "", crate::table::texts(self.verdict)),
        ])
    }
}

/// Returns the policy of this name.
fn policy(name: &str, percent: Option<f64>) -> PyResult<policy::WirelessPolicy> {
    let percent = percent.map(|percent| ("percent".to_owned(), percent));
    build(
        policy::REGISTRY,
        "policy",
        name,
        &percent.into_iter().collect(),
    )
}

/// Returns a scheme by its name or its parts. Also returns the name to show.
pub(crate) fn parts(
    name: Option<String>,
    controller: Option<String>,
    policy: &str,
    percent: Option<f64>,
    classifier: &str,
    parameters: Option<Parameters>,
) -> PyResult<(String, Parts)> {
    let parameters = parameters.unwrap_or_default();
    let none = Parameters::new();
    match (name, controller) {
        (Some(name), None) => {
            let parts = build(schemes::REGISTRY, "scheme", &name, &parameters)?;
            Ok((name, parts))
        }
        (None, Some(controller)) => {
            let kind = build(congestion::REGISTRY, "controller", &controller, &none)?;
            let wireless = self::policy(policy, percent)?;
            let Either::Sender(classifier) =
                names::classifier(classifier, Some("sender"), &parameters)?
            else {
                return Err(PyTypeError::new_err("no sender classifier"));
            };
            Ok((controller, Parts::new(kind, wireless, classifier)))
        }
        _ => Err(PyTypeError::new_err(
            "expected the name of a scheme, such as \"newreno-lp\", or its parts: controller=\"cubic\", policy=\"keep\", classifier=\"fqrtt\"",
        )),
    }
}

/// Declares the methods that controllers and schemes share.
macro_rules! live {
    ($type:ident, $what:literal, $($more:tt)*) => {
        #[pymethods]
        impl $type {
            $($more)*

            #[getter]
            fn name(&self) -> &str {
                &self.0.name
            }

            #[getter]
            fn cwnd_bytes(&self) -> u64 {
                self.0.control.window()
            }

            #[getter]
            fn ssthresh_bytes(&self) -> Option<u64> {
                self.0.ssthresh()
            }

            #[getter]
            fn pacing_bps(&self) -> Option<u64> {
                self.0.pacing()
            }

            #[getter]
            fn needs_sent(&self) -> bool {
                self.0.control.wants_rate_samples()
            }

            fn on_sent(&mut self, sent: &Sent) {
                self.0.sent(&sent.event());
            }

            fn on_ack(&mut self, ack: &Ack) -> PyResult<()> {
                self.0.ack(ack.event(self.0.segment_size)).map_err(PyValueError::new_err)
            }

            fn on_recovered(&mut self, time_s: f64) -> PyResult<()> {
                Told::on_recovery_end(&mut self.0.control, moment(time_s)?);
                Ok(())
            }

            fn follow(&mut self, py: Python<'_>, events: &Bound<'_, PyAny>) -> PyResult<Table> {
                self.0.follow(py, events)
            }

            fn __repr__(&self) -> String {
                format!("<whyloss.{} {}, window {} bytes>", $what, self.0.name, self.0.control.window())
            }
        }
    };
}

/// A congestion controller from the registry.
#[pyclass(module = "whyloss")]
pub(crate) struct Controller(Live<UnderPolicy>);

live! {
    Controller, "Controller",
    #[new]
    #[pyo3(signature = (name, segment_size = 1500, *, wireless = "keep", percent = None, **parameters))]
    fn new(
        name: String,
        segment_size: u32,
        wireless: &str,
        percent: Option<f64>,
        parameters: Option<Parameters>,
    ) -> PyResult<Self> {
        let parameters = parameters.unwrap_or_default();
        let kind = build(congestion::REGISTRY, "controller", &name, &parameters)?;
        let wireless = policy(wireless, percent)?;
        let segment_size = segment_size.max(1);
        let control = ControllerSpec { kind, wireless }.build(&Start::new(segment_size));
        Ok(Self(Live::new(name, control, segment_size)))
    }

    #[pyo3(signature = (loss, cause = "congestion"))]
    fn on_loss(&mut self, loss: &Loss, cause: &str) -> PyResult<()> {
        let cause = names::cause(cause)?;
        self.0.lose(loss.event(self.0.segment_size), cause);
        Ok(())
    }
}

/// A classifier, a controller and a policy: from the registry, or from parts.
#[pyclass(module = "whyloss")]
pub(crate) struct Scheme(Live<CongestionControl>);

live! {
    Scheme, "Scheme",
    #[new]
    #[pyo3(signature = (name = None, segment_size = 1500, *, controller = None, policy = "keep", percent = None, classifier = "unaware", **parameters))]
    fn new(
        name: Option<String>,
        segment_size: u32,
        controller: Option<String>,
        policy: &str,
        percent: Option<f64>,
        classifier: &str,
        parameters: Option<Parameters>,
    ) -> PyResult<Self> {
        let (name, parts) = parts(name, controller, policy, percent, classifier, parameters)?;
        let segment_size = segment_size.max(1);
        let control = parts.start_metered(&Start::new(segment_size));
        Ok(Self(Live::new(name, control, segment_size)))
    }

    fn on_loss(&mut self, loss: &Loss) -> &'static str {
        word(self.0.lose(loss.event(self.0.segment_size), Cause::Congestion))
    }
}
