//! Runs classifiers without a simulation: over tables of arrivals, and event by event.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt8Type;
use arrow_array::{Array, ArrayRef, Float64Array, UInt8Array, UInt64Array};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use whyloss::losses::{self, HOLES, LossTracker, Seen};
use whyloss::receiver::{self, Arrival, ReceiverClassifier as _};
use whyloss::sender::SenderClassifier as _;
use whyloss::{Cause, Time, sender};

use crate::columns::Numbers;
use crate::events::{self, EPOCH, nanos, shifted};
use crate::names::{self, Either, Parameters, word};
use crate::table::{Table, Texts};

/// A classifier of either end.
#[pyclass(module = "whyloss")]
pub(crate) struct Classifier {
    name: String,
    end: End,
}

#[expect(clippy::large_enum_variant, reason = "there are few of them")]
enum End {
    Receiver(Receiver),
    Sender(sender::Classifier),
}

/// A receiver classifier in its initial state, with the current stream.
struct Receiver {
    fresh: receiver::Classifier,
    live: receiver::Classifier,
    /// The width of sequence numbers in bits, if given.
    bits: Option<u32>,
    /// The number of newer packets after which a missing one counts as lost.
    wait: u64,
    /// The current stream of `feed` and `on_packet`, if there is one.
    stream: Option<Stream>,
}

/// One stream of arrivals.
struct Stream {
    tracker: LossTracker<receiver::Classifier>,
    /// The gaps that may still be pending, the latest last.
    gaps: VecDeque<Gap>,
    /// The modulus of sequence numbers minus one.
    mask: u64,
    /// The number of arrivals so far.
    rows: u64,
    /// The time of the last arrival.
    latest: Time,
}

/// The missing numbers, starting at `first`, and the arrival that revealed them.
struct Gap {
    first: u64,
    missing: u64,
    revealed: Time,
    row: u64,
}

/// Consecutive lost packets and their cause.
#[pyclass(module = "whyloss", frozen, get_all)]
#[derive(Clone)]
pub(crate) struct Lost {
    first: u64,
    count: u64,
    verdict: &'static str,
    revealed_s: f64,
}

#[pymethods]
impl Lost {
    fn __repr__(&self) -> String {
        let Self {
            first,
            count,
            verdict,
            revealed_s,
        } = self;
        format!("Lost(first={first}, count={count}, verdict={verdict:?}, revealed_s={revealed_s})")
    }
}

impl From<losses::Loss> for Lost {
    fn from(loss: losses::Loss) -> Self {
        Self {
            first: loss.first,
            count: loss.count,
            verdict: word(loss.cause),
            revealed_s: unshifted(loss.revealed) as f64 / 1e9,
        }
    }
}

fn unshifted(time: Time) -> i64 {
    time.as_nanos().cast_signed().saturating_sub(EPOCH)
}

#[pymethods]
impl Classifier {
    #[new]
    #[pyo3(signature = (name, *, end = None, bits = None, wait = 3, **parameters))]
    fn new(
        name: String,
        end: Option<&str>,
        bits: Option<u32>,
        wait: u64,
        parameters: Option<Parameters>,
    ) -> PyResult<Self> {
        let parameters = parameters.unwrap_or_default();
        if let Some(bits) = bits.filter(|bits| !(2..=64).contains(bits)) {
            return Err(PyValueError::new_err(format!(
                "bits is {bits}, expected the width of sequence numbers: 2 to 64, such as 16 for RTP"
            )));
        }
        let end = match names::classifier(&name, end, &parameters)? {
            Either::Sender(classifier) => End::Sender(classifier),
            Either::Receiver(classifier) => End::Receiver(Receiver {
                fresh: classifier.clone(),
                live: classifier,
                bits,
                wait,
                stream: None,
            }),
        };
        Ok(Self { name, end })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn end(&self) -> &'static str {
        match self.end {
            End::Receiver(_) => "receiver",
            End::Sender(_) => "sender",
        }
    }

    /// Judges all arrivals of a stream; returns a row for each gap.
    #[pyo3(signature = (arrivals, *, last = None))]
    fn judge(
        &mut self,
        py: Python<'_>,
        arrivals: &Bound<'_, PyAny>,
        last: Option<u64>,
    ) -> PyResult<Table> {
        let receiver = self.receiver("judge")?;
        let mut stream = None;
        let mut verdicts = receiver.feed(py, arrivals, &mut stream)?;
        if let Some(stream) = &mut stream {
            stream.finish(last, &mut verdicts);
        }
        verdicts.table()
    }

    /// Continues with more arrivals; returns a row for each gap that now counts as lost.
    fn feed(&mut self, py: Python<'_>, arrivals: &Bound<'_, PyAny>) -> PyResult<Table> {
        let receiver = self.receiver("feed")?;
        let mut stream = receiver.stream.take();
        let fed = receiver.feed(py, arrivals, &mut stream);
        receiver.stream = stream;
        fed?.table()
    }

    /// Ends the stream of `feed` and `on_packet`; returns the pending gaps.
    #[pyo3(signature = (last = None))]
    fn finish(&mut self, last: Option<u64>) -> PyResult<Table> {
        let receiver = self.receiver("finish")?;
        let mut verdicts = Verdicts::default();
        if let Some(mut stream) = receiver.stream.take() {
            stream.finish(last, &mut verdicts);
        }
        verdicts.table()
    }

    /// Processes a packet as it arrives; returns the packets that now count as lost.
    fn on_packet(&mut self, arrival: &events::Arrival) -> PyResult<Vec<Lost>> {
        let receiver = self.receiver("on_packet")?;
        let fresh = || {
            Stream::new(
                receiver.fresh.clone(),
                receiver.bits.unwrap_or(64),
                receiver.wait,
            )
        };
        let stream = receiver.stream.get_or_insert_with(fresh);
        let mut lost = Vec::new();
        stream.take(&arrival.event(), |loss, _| lost.push(loss.into()));
        Ok(lost)
    }

    /// Processes an arrival with `missing` packets directly before it, as a run does; returns the
    /// verdict on them.
    #[pyo3(signature = (arrival, missing = 0))]
    fn on_arrival(&mut self, arrival: &events::Arrival, missing: u64) -> PyResult<Option<&str>> {
        let receiver = self.receiver("on_arrival")?;
        Ok(receiver
            .live
            .on_arrival(&arrival.event(), missing)
            .map(word))
    }

    /// Processes an acknowledgement (at a sender).
    fn on_ack(&mut self, ack: &events::Ack) -> PyResult<()> {
        self.sender("on_ack")?.on_ack(&ack.event(0));
        Ok(())
    }

    /// Returns the cause of a loss event (at a sender).
    fn on_loss(&mut self, loss: &events::Loss) -> PyResult<&'static str> {
        Ok(word(self.sender("on_loss")?.on_loss(&loss.event(0))))
    }

    fn __repr__(&self) -> String {
        format!("<whyloss.Classifier {} of a {}>", self.name, self.end())
    }
}

impl Classifier {
    fn receiver(&mut self, method: &str) -> PyResult<&mut Receiver> {
        match &mut self.end {
            End::Receiver(receiver) => Ok(receiver),
            End::Sender(_) => Err(PyTypeError::new_err(format!(
                "`{}` is a sender classifier, which has on_ack and on_loss, not {method}",
                self.name
            ))),
        }
    }

    fn sender(&mut self, method: &str) -> PyResult<&mut sender::Classifier> {
        match &mut self.end {
            End::Sender(classifier) => Ok(classifier),
            End::Receiver(_) => Err(PyTypeError::new_err(format!(
                "`{}` is a receiver classifier, which has judge, feed, on_packet and on_arrival, not {method}",
                self.name
            ))),
        }
    }
}

impl Receiver {
    /// Processes the rows of a table; begins a stream if there is none.
    fn feed(
        &self,
        py: Python<'_>,
        arrivals: &Bound<'_, PyAny>,
        stream: &mut Option<Stream>,
    ) -> PyResult<Verdicts> {
        let table = Table::from_python(arrivals)?;
        let column = |name: &str| table.arrays(name);
        let (times, sequences, rotts) = (column("time_s")?, column("sequence")?, column("rott_s")?);
        let sizes = if table.has("size_bytes") {
            Some(column("size_bytes")?)
        } else {
            None
        };
        if table.has("flow") {
            one_flow(&table)?;
        }
        let fresh = || {
            let bits = self.bits.unwrap_or_else(|| width(&sequences));
            Stream::new(self.fresh.clone(), bits, self.wait)
        };
        let stream = stream.get_or_insert_with(fresh);
        let mut verdicts = Verdicts::default();
        for batch in 0..times.len() {
            let time = Numbers::of("time_s", times[batch])?;
            let sequence = Numbers::of("sequence", sequences[batch])?;
            let rott = Numbers::of("rott_s", rotts[batch])?;
            let size = match &sizes {
                Some(sizes) => Numbers::of("size_bytes", sizes[batch])?,
                None => Numbers::None,
            };
            let rows = times[batch].len();
            py.detach(|| match (&time, &sequence, &rott, &size) {
                // The types of traces, which need no type checks in the loop.
                (
                    Numbers::Real(time),
                    Numbers::U64(sequence),
                    Numbers::Real(rott),
                    Numbers::U64(size),
                ) => {
                    let (time, sequence, rott, size) = (
                        &time[..rows],
                        &sequence[..rows],
                        &rott[..rows],
                        &size[..rows],
                    );
                    stream.feed(rows, &mut verdicts, |row| {
                        (nanos(time[row]), sequence[row], nanos(rott[row]), size[row])
                    });
                }
                _ => stream.feed(rows, &mut verdicts, |row| {
                    (
                        time.nanos(row),
                        sequence.whole(row),
                        rott.nanos(row),
                        size.whole(row),
                    )
                }),
            });
        }
        Ok(verdicts)
    }
}

/// Returns the width of sequence numbers in bits: that of a column of unsigned 16 or 32 bits, else
/// 64.
fn width(sequences: &[&ArrayRef]) -> u32 {
    match sequences.first().map(Array::data_type) {
        Some(DataType::UInt16) => 16,
        Some(DataType::UInt32) => 32,
        _ => 64,
    }
}

impl Stream {
    fn new(classifier: receiver::Classifier, bits: u32, wait: u64) -> Self {
        let mut tracker = LossTracker::new(classifier, bits);
        if bits == 64 {
            // Numbers that never wrap also count all packets lost in an outage.
            tracker = tracker.longest_jump(u64::MAX);
        }
        if wait > 0 {
            tracker = tracker.wait_for_packets(wait);
        }
        Self {
            tracker,
            gaps: VecDeque::new(),
            mask: u64::MAX >> (64 - bits.clamp(2, 64)),
            rows: 0,
            latest: Time::ZERO,
        }
    }

    #[inline]
    fn feed(
        &mut self,
        rows: usize,
        verdicts: &mut Verdicts,
        arrival: impl Fn(usize) -> (i64, u64, i64, u64),
    ) {
        for row in 0..rows {
            let (time, sequence, rott, size) = arrival(row);
            let (received, sent) = (shifted(time), shifted(time.saturating_sub(rott)));
            let arrival = Arrival::new(sequence, sent, received, size as u32);
            self.take(&arrival, |loss, revealed| verdicts.push(&loss, revealed));
        }
    }

    /// Processes an arrival. Passes each loss that is now certain to `lost`, with the arrival that
    /// revealed it.
    #[inline]
    fn take(&mut self, arrival: &Arrival, mut lost: impl FnMut(losses::Loss, u64)) {
        let Self {
            tracker,
            gaps,
            mask,
            rows,
            latest,
        } = self;
        *latest = arrival.received;
        let seen = tracker.on_packet(arrival, |loss| {
            lost(loss, revealed(gaps, &loss, *mask, *rows));
        });
        if let Seen::New { missing } = seen
            && missing > 0
        {
            // At most [`HOLES`] gaps and this one can be pending.
            if gaps.len() > HOLES {
                gaps.pop_front();
            }
            gaps.push_back(Gap {
                first: arrival.sequence.wrapping_sub(missing) & *mask,
                missing,
                revealed: arrival.received,
                row: *rows,
            });
        }
        *rows += 1;
    }

    /// Ends the stream. `last` is the sequence number of the last packet sent, if known.
    fn finish(&mut self, last: Option<u64>, verdicts: &mut Verdicts) {
        let (gaps, mask, rows) = (&self.gaps, self.mask, self.rows);
        let told = |loss: losses::Loss| verdicts.push(&loss, revealed(gaps, &loss, mask, rows));
        self.tracker.finish(last, self.latest, told);
    }
}

/// Returns the arrival that revealed a loss: that of a pending gap, else this one.
fn revealed(gaps: &VecDeque<Gap>, loss: &losses::Loss, mask: u64, row: u64) -> u64 {
    let within = |gap: &&Gap| {
        gap.revealed == loss.revealed && loss.first.wrapping_sub(gap.first) & mask < gap.missing
    };
    gaps.iter().rev().find(within).map_or(row, |gap| gap.row)
}

/// The gaps with their verdicts, as columns.
#[derive(Default)]
struct Verdicts {
    row: Vec<u64>,
    time: Vec<f64>,
    first: Vec<u64>,
    missing: Vec<u64>,
    wireless: Vec<u8>,
}

impl Verdicts {
    fn push(&mut self, loss: &losses::Loss, row: u64) {
        self.row.push(row);
        self.time.push(unshifted(loss.revealed) as f64 / 1e9);
        self.first.push(loss.first);
        self.missing.push(loss.count);
        self.wireless.push(u8::from(loss.cause == Cause::Wireless));
    }

    fn table(self) -> PyResult<Table> {
        let words = Arc::new(arrow_array::StringArray::from(vec![
            "congestion",
            "wireless",
        ]));
        let verdict = arrow_array::DictionaryArray::<UInt8Type>::try_new(
            UInt8Array::from(self.wireless),
            words,
        );
        Table::of(vec![
            (
                "row".into(),
                "",
                Arc::new(UInt64Array::from(self.row)) as ArrayRef,
            ),
            (
                "time_s".into(),
                "s",
                Arc::new(Float64Array::from(self.time)),
            ),
            (
                "first_missing".into(),
                "packets",
                Arc::new(UInt64Array::from(self.first)),
            ),
            (
                "missing".into(),
                "packets",
                Arc::new(UInt64Array::from(self.missing)),
            ),
            (
                "verdict".into(),
                "",
                Arc::new(verdict.map_err(crate::table::refuse)?),
            ),
        ])
    }
}

/// Rejects arrivals of several flows, because the state of a classifier belongs to one flow.
fn one_flow(table: &Table) -> PyResult<()> {
    let mut only: Option<String> = None;
    for array in table.arrays("flow")? {
        // Usually all rows have one word. Checking every row would take longer than the verdicts.
        let same = array
            .as_any_dictionary_opt()
            .is_some_and(|few| few.values().len() <= 1);
        if same {
            continue;
        }
        let texts = Texts::of(array)?;
        for row in 0..array.len() {
            let flow = texts.get(row);
            match (&only, flow) {
                (None, Some(flow)) => only = Some(flow.to_owned()),
                (Some(only), Some(flow)) if only != flow => {
                    return Err(PyValueError::new_err(format!(
                        "found arrivals of flows `{only}` and `{flow}`; expected those of one flow, since a classifier's state is that of one"
                    )));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
