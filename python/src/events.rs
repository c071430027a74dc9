//! What classifiers and controllers are told, as objects of Python's: made by a run, or by hand.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use whyloss::event::{AckEvent, Detection, LossEvent, SentEvent};
use whyloss::{Duration, Time, receiver};

/// A clock that starts late enough for whatever was sent before it.
pub(crate) const EPOCH: i64 = 1 << 60;

/// Seconds as the whole nanoseconds nearest to them, without a call per value: 1.5 · 2⁵² more, and the last bits count.
/// Beyond 2⁵¹ ns (26 days), where that ends, as usual.
#[inline]
pub(crate) fn nanos(seconds: f64) -> i64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let nanos = seconds * 1e9;
    if nanos.abs() < 2_251_799_813_685_248.0 {
        (nanos + SHIFT).to_bits().cast_signed() - SHIFT.to_bits().cast_signed()
    } else {
        nanos.round() as i64
    }
}

/// A time on a clock of any epoch: what a receiver classifier looks at are differences.
#[inline]
pub(crate) fn shifted(nanos: i64) -> Time {
    Time::from_nanos(EPOCH.saturating_add(nanos).max(0).cast_unsigned())
}

/// A time on the sender's clock, which starts at 0.
pub(crate) fn time(seconds: f64) -> Time {
    Time::from_nanos(nanos(seconds).max(0).cast_unsigned())
}

fn span(seconds: Option<f64>) -> Option<Duration> {
    seconds.map(|seconds| Duration::from_nanos(nanos(seconds)))
}

/// A time that Python gives as `time_s`, on the sender's clock.
pub(crate) fn moment(time_s: f64) -> PyResult<Time> {
    seconds("time_s", time_s).map(time)
}

/// Refuses what is no number of seconds.
fn seconds(name: &str, value: f64) -> PyResult<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(PyValueError::new_err(format!(
        "{name} is {value}, expected a finite number of seconds"
    )))
}

fn perhaps(name: &str, value: Option<f64>) -> PyResult<Option<f64>> {
    value.map(|value| seconds(name, value)).transpose()
}

/// An arrival at a receiver.
#[pyclass(module = "whyloss", frozen, get_all)]
#[derive(Clone)]
pub(crate) struct Arrival {
    sequence: u64,
    sent_s: f64,
    received_s: f64,
    rott_s: f64,
    size_bytes: u32,
}

#[pymethods]
impl Arrival {
    #[new]
    #[pyo3(signature = (sequence, sent_s, received_s, size_bytes = 0))]
    fn new(sequence: u64, sent_s: f64, received_s: f64, size_bytes: u32) -> PyResult<Self> {
        Ok(Self {
            sequence,
            sent_s: seconds("sent_s", sent_s)?,
            received_s: seconds("received_s", received_s)?,
            rott_s: received_s - sent_s,
            size_bytes,
        })
    }

    fn __repr__(&self) -> String {
        let Self {
            sequence,
            sent_s,
            received_s,
            size_bytes,
            ..
        } = self;
        format!(
            "Arrival(sequence={sequence}, sent_s={sent_s}, received_s={received_s}, size_bytes={size_bytes})"
        )
    }
}

impl From<&receiver::Arrival> for Arrival {
    fn from(arrival: &receiver::Arrival) -> Self {
        Self {
            sequence: arrival.sequence,
            sent_s: arrival.sent.as_secs_f64(),
            received_s: arrival.received.as_secs_f64(),
            rott_s: arrival.rott().as_secs_f64(),
            size_bytes: arrival.size,
        }
    }
}

impl Arrival {
    pub(crate) fn event(&self) -> receiver::Arrival {
        let (received, rott) = (nanos(self.received_s), nanos(self.rott_s));
        let sent = received.saturating_sub(rott);
        receiver::Arrival::new(
            self.sequence,
            shifted(sent),
            shifted(received),
            self.size_bytes,
        )
    }
}

/// A packet that leaves a sender.
#[pyclass(module = "whyloss", frozen, get_all)]
#[derive(Clone)]
pub(crate) struct Sent {
    time_s: f64,
    size_bytes: u32,
    in_flight_bytes: u64,
    retransmission: bool,
    app_limited: bool,
}

#[pymethods]
impl Sent {
    #[new]
    #[pyo3(signature = (time_s, size_bytes, *, in_flight_bytes = 0, retransmission = false, app_limited = false))]
    fn new(
        time_s: f64,
        size_bytes: u32,
        in_flight_bytes: u64,
        retransmission: bool,
        app_limited: bool,
    ) -> PyResult<Self> {
        Ok(Self {
            time_s: seconds("time_s", time_s)?,
            size_bytes,
            in_flight_bytes,
            retransmission,
            app_limited,
        })
    }
}

impl Sent {
    pub(crate) fn event(&self) -> SentEvent {
        SentEvent::new(time(self.time_s), self.size_bytes.into())
            .in_flight(self.in_flight_bytes)
            .retransmission(self.retransmission)
            .app_limited(self.app_limited)
    }
}

/// An acknowledgement at a sender.
#[pyclass(module = "whyloss", frozen, get_all)]
#[derive(Clone)]
pub(crate) struct Ack {
    time_s: f64,
    segment_size: u32,
    acked_bytes: u64,
    sacked_bytes: u64,
    acknowledged_bytes: u64,
    in_flight_bytes: u64,
    window_bytes: u64,
    rtt_s: Option<f64>,
    in_recovery: bool,
}

#[pymethods]
impl Ack {
    #[new]
    #[pyo3(signature = (time_s, acked_bytes = 0, *, segment_size = 0, sacked_bytes = 0, acknowledged_bytes = 0, in_flight_bytes = 0, window_bytes = 0, rtt_s = None, in_recovery = false))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn new(
        time_s: f64,
        acked_bytes: u64,
        segment_size: u32,
        sacked_bytes: u64,
        acknowledged_bytes: u64,
        in_flight_bytes: u64,
        window_bytes: u64,
        rtt_s: Option<f64>,
        in_recovery: bool,
    ) -> PyResult<Self> {
        Ok(Self {
            time_s: seconds("time_s", time_s)?,
            segment_size,
            acked_bytes,
            sacked_bytes,
            acknowledged_bytes,
            in_flight_bytes,
            window_bytes,
            rtt_s: perhaps("rtt_s", rtt_s)?,
            in_recovery,
        })
    }
}

impl From<&AckEvent> for Ack {
    fn from(ack: &AckEvent) -> Self {
        Self {
            time_s: ack.now.as_secs_f64(),
            segment_size: ack.segment_size,
            acked_bytes: ack.acked,
            sacked_bytes: ack.sacked,
            acknowledged_bytes: ack.acknowledged,
            in_flight_bytes: ack.in_flight,
            window_bytes: ack.window,
            rtt_s: ack.rtt.map(Duration::as_secs_f64),
            in_recovery: ack.in_recovery,
        }
    }
}

impl Ack {
    /// The event; `segment_size` where this has none.
    pub(crate) fn event(&self, segment_size: u32) -> AckEvent {
        AckEvent::new(time(self.time_s), known(self.segment_size, segment_size))
            .acked(self.acked_bytes)
            .sacked(self.sacked_bytes)
            .acknowledged(self.acknowledged_bytes)
            .in_flight(self.in_flight_bytes)
            .window(self.window_bytes)
            .rtt(span(self.rtt_s))
            .in_recovery(self.in_recovery)
    }
}

/// A loss event at a sender.
#[pyclass(module = "whyloss", frozen, get_all)]
#[derive(Clone)]
pub(crate) struct Loss {
    time_s: f64,
    segment_size: u32,
    timeout: bool,
    first_byte: u64,
    in_flight_bytes: u64,
    window_bytes: u64,
    rtt_s: Option<f64>,
    min_rtt_s: Option<f64>,
}

#[pymethods]
impl Loss {
    #[new]
    #[pyo3(signature = (time_s, *, segment_size = 0, timeout = false, first_byte = 0, in_flight_bytes = 0, window_bytes = 0, rtt_s = None, min_rtt_s = None))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn new(
        time_s: f64,
        segment_size: u32,
        timeout: bool,
        first_byte: u64,
        in_flight_bytes: u64,
        window_bytes: u64,
        rtt_s: Option<f64>,
        min_rtt_s: Option<f64>,
    ) -> PyResult<Self> {
        Ok(Self {
            time_s: seconds("time_s", time_s)?,
            segment_size,
            timeout,
            first_byte,
            in_flight_bytes,
            window_bytes,
            rtt_s: perhaps("rtt_s", rtt_s)?,
            min_rtt_s: perhaps("min_rtt_s", min_rtt_s)?,
        })
    }
}

impl From<&LossEvent> for Loss {
    fn from(loss: &LossEvent) -> Self {
        Self {
            time_s: loss.now.as_secs_f64(),
            segment_size: loss.segment_size,
            timeout: loss.detection.is_timeout(),
            first_byte: loss.first,
            in_flight_bytes: loss.in_flight,
            window_bytes: loss.window,
            rtt_s: loss.rtt.map(Duration::as_secs_f64),
            min_rtt_s: loss.min_rtt.map(Duration::as_secs_f64),
        }
    }
}

impl Loss {
    /// The event; `segment_size` where this has none.
    pub(crate) fn event(&self, segment_size: u32) -> LossEvent {
        let detection = if self.timeout {
            Detection::Timeout
        } else {
            Detection::Duplicates
        };
        let size = known(self.segment_size, segment_size);
        LossEvent::new(time(self.time_s), detection, size)
            .first(self.first_byte)
            .in_flight(self.in_flight_bytes)
            .window(self.window_bytes)
            .rtt(span(self.rtt_s))
            .min_rtt(span(self.min_rtt_s))
    }
}

/// The size of a segment: of the event, or else of whoever is told.
fn known(own: u32, other: u32) -> u32 {
    if own > 0 { own } else { other.max(1) }
}
