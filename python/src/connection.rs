//! The Python class of a connection by packet numbers.

use pyo3::prelude::*;
use whyloss::{Duration, Rate, connection};

use crate::control::parts;
use crate::events::{moment, nanos, seconds};
use crate::names::{Parameters, word};

/// A connection under a scheme, by packet numbers.
#[pyclass(module = "whyloss")]
pub(crate) struct Connection {
    name: String,
    inner: connection::Connection,
}

#[pymethods]
impl Connection {
    #[new]
    #[pyo3(signature = (name = None, mtu = 1200, *, controller = None, policy = "keep", percent = None, classifier = "unaware", **parameters))]
    fn new(
        name: Option<String>,
        mtu: u32,
        controller: Option<String>,
        policy: &str,
        percent: Option<f64>,
        classifier: &str,
        parameters: Option<Parameters>,
    ) -> PyResult<Self> {
        let (name, parts) = parts(name, controller, policy, percent, classifier, parameters)?;
        let inner = connection::Connection::new(&parts, mtu.max(1));
        Ok(Self { name, inner })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn window_bytes(&self) -> u64 {
        self.inner.window()
    }

    #[getter]
    fn in_flight_bytes(&self) -> u64 {
        self.inner.in_flight()
    }

    #[getter]
    fn pacing_bps(&self) -> Option<u64> {
        self.inner.pacing_rate().map(Rate::as_bps)
    }

    #[getter]
    fn verdict(&self) -> Option<&'static str> {
        self.inner.last_verdict().map(|verdict| word(verdict.cause))
    }

    #[getter]
    fn odds(&self) -> Option<f64> {
        self.inner.last_verdict()?.odds
    }

    #[pyo3(signature = (number, size_bytes, time_s, *, app_limited = false))]
    fn on_packet_sent(
        &mut self,
        number: u64,
        size_bytes: u32,
        time_s: f64,
        app_limited: bool,
    ) -> PyResult<()> {
        let now = moment(time_s)?;
        self.inner
            .on_packet_sent(number, size_bytes.into(), now, app_limited);
        Ok(())
    }

    fn on_rtt(&mut self, rtt_s: f64) -> PyResult<()> {
        let rtt = nanos(seconds("rtt_s", rtt_s)?);
        self.inner.on_rtt(Duration::from_nanos(rtt));
        Ok(())
    }

    fn on_packets_acked(&mut self, numbers: Vec<u64>, time_s: f64) -> PyResult<()> {
        self.inner.on_packets_acked(numbers, moment(time_s)?);
        Ok(())
    }

    fn on_packets_lost(
        &mut self,
        numbers: Vec<u64>,
        time_s: f64,
    ) -> PyResult<Option<&'static str>> {
        let said = self.inner.on_packets_lost(numbers, moment(time_s)?);
        Ok(said.map(|verdict| word(verdict.cause)))
    }

    fn on_ecn_ce(&mut self, time_s: f64) -> PyResult<()> {
        self.inner.on_ecn_ce(moment(time_s)?);
        Ok(())
    }

    fn on_spurious(&mut self, time_s: f64) -> PyResult<()> {
        self.inner.on_spurious(moment(time_s)?);
        Ok(())
    }

    fn on_timeout(&mut self, time_s: f64) -> PyResult<&'static str> {
        Ok(word(self.inner.on_timeout(moment(time_s)?).cause))
    }

    fn on_persistent_congestion(&mut self, time_s: f64) -> PyResult<&'static str> {
        let now = moment(time_s)?;
        Ok(word(self.inner.on_persistent_congestion(now).cause))
    }

    fn __repr__(&self) -> String {
        let (name, window) = (&self.name, self.inner.window());
        format!("<whyloss.Connection under {name}, window {window} bytes>")
    }
}
