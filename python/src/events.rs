//! The Python classes of events for classifiers and controllers, created by a run or by the user.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use whyloss::event::{AckEvent, Detection, LossEvent, SentEvent};
use whyloss::{Duration, Time, receiver};

/// The epoch of the clock in ns, late enough that no time is negative.
pub(crate) const EPOCH: i64 = 1 << 60;

/// Converts seconds to the nearest whole nanoseconds. Adding 1.5 · 2⁵² leaves the integer in the
/// low bits, without a function call. Above 2⁵¹ ns (26 days), rounds as usual.
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

/// Returns a time on a clock with an arbitrary epoch, because receiver classifiers use only
/// differences.
#[inline]
pub(crate) fn shifted(nanos: i64) -> Time {
    Time::from_nanos(EPOCH.saturating_add(nanos).max(0).cast_unsigned())
}

/// Returns a time on the sender's clock, which starts at 0.
pub(crate) fn time(seconds: f64) -> Time {
    Time::from_nanos(nanos(seconds).max(0).cast_unsigned())
}

fn span(seconds: Option<f64>) -> Option<Duration> {
    seconds.map(|seconds| Duration::from_nanos(nanos(seconds)))
}

/// Returns the time of the argument `time_s`, on the sender's clock.
pub(crate) fn moment(time_s: f64) -> PyResult<Time> {
    seconds("time_s", time_s).map(time)
}

/// Returns an error if the value is not a finite number of seconds.
pub(crate) fn seconds(name: &str, value: f64) -> PyResult<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(PyValueError::new_err(format!(
        "{name} is {value}, expected a finite number of seconds"
    )))
}

/// A packet that arrives, as a receiver classifier sees it.
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

/// The types of the fields of events.
trait Field: Sized {
    /// Returns an error if the field is a time and not a finite number of seconds.
    fn checked(self, _name: &str) -> PyResult<Self> {
        Ok(self)
    }
}

impl Field for u32 {}
impl Field for u64 {}
impl Field for bool {}

impl Field for f64 {
    fn checked(self, name: &str) -> PyResult<Self> {
        seconds(name, self)
    }
}

impl Field for Option<f64> {
    fn checked(self, name: &str) -> PyResult<Self> {
        self.map(|value| seconds(name, value)).transpose()
    }
}

/// Declares the class of an event. Its constructor takes some fields by position and others by
/// name.
macro_rules! event {
    (
        $(#[$about:meta])*
        $class:ident($($need:ident: $need_type:ty,)+ $([$place:ident: $place_type:ty = $first:tt])?) {
            $($field:ident: $type:ty = $default:tt,)+
        }
    ) => {
        $(#[$about])*
        #[pyclass(module = "whyloss", frozen, get_all)]
        #[derive(Clone)]
        pub(crate) struct $class {
            $($need: $need_type,)+
            $($place: $place_type,)?
            $($field: $type,)+
        }

        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = ($($need,)+ $($place = $first,)? *, $($field = $default),+))]
            #[allow(clippy::too_many_arguments, reason = "they have names in Python")]
            fn new(
                $($need: $need_type,)+
                $($place: $place_type,)?
                $($field: $type,)+
            ) -> PyResult<Self> {
                Ok(Self {
                    $($need: $need.checked(stringify!($need))?,)+
                    $($place: $place.checked(stringify!($place))?,)?
                    $($field: $field.checked(stringify!($field))?,)+
                })
            }
        }
    };
}

event! {
    /// A sent packet.
    Sent(time_s: f64, size_bytes: u32,) {
        in_flight_bytes: u64 = 0,
        retransmission: bool = false,
        app_limited: bool = false,
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

event! {
    /// An acknowledgement at a sender.
    Ack(time_s: f64, [acked_bytes: u64 = 0]) {
        segment_size: u32 = 0,
        sacked_bytes: u64 = 0,
        acknowledged_bytes: u64 = 0,
        in_flight_bytes: u64 = 0,
        window_bytes: u64 = 0,
        rtt_s: Option<f64> = None,
        in_recovery: bool = false,
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
    /// Returns the event, with `segment_size` if the object has none.
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

event! {
    /// A loss event at a sender.
    Loss(time_s: f64,) {
        segment_size: u32 = 0,
        timeout: bool = false,
        first_byte: u64 = 0,
        in_flight_bytes: u64 = 0,
        window_bytes: u64 = 0,
        rtt_s: Option<f64> = None,
        min_rtt_s: Option<f64> = None,
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
    /// Returns the event, with `segment_size` if the object has none.
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

/// Returns the segment size of the event, or else that of the receiver of the event.
fn known(own: u32, other: u32) -> u32 {
    if own > 0 { own } else { other.max(1) }
}
