//! Diagnoses captures and logs. Returns the lost packets and their causes as tables.

use std::path::Path;

use arrow_array::ArrayRef;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use whyloss_diagnose::classifiers;
use whyloss_diagnose::flow::Flow;
use whyloss_diagnose::loss::{Loss, Side};
use whyloss_diagnose::{Diagnosis, Error, Options, diagnose_path, report};

use crate::table::{Table, counts, flags, reals, texts};

create_exception!(
    whyloss,
    CaptureError,
    PyValueError,
    "A file that is no capture or log that can be read."
);

/// Diagnoses a file. Returns the diagnosis as JSON and as text, and tables of its flows and losses.
#[pyfunction]
pub(crate) fn diagnose(
    py: Python<'_>,
    path: &str,
    connections: usize,
) -> PyResult<(String, String, Table, Table)> {
    let diagnosis = py.detach(|| {
        let options = Options {
            connections,
            ..Options::default()
        };
        diagnose_path(Path::new(path), options).map_err(|error| match error {
            Error::Io(error) => unreadable(path, &error),
            error => CaptureError::new_err(format!("`{path}`: {error}")),
        })
    })?;
    let mut json = Vec::new();
    report::json::write(&diagnosis, None, &mut json)?;
    Ok((
        String::from_utf8_lossy(&json).into_owned(),
        report::text::render(&diagnosis, None),
        flows(&diagnosis)?,
        losses(&diagnosis)?,
    ))
}

/// Returns the system's error about a file, with the file's name. Python makes it a
/// `FileNotFoundError` or another subclass of OSError.
fn unreadable(path: &str, error: &std::io::Error) -> PyErr {
    let words = error.to_string();
    // Python adds the error number.
    let words = words
        .split(" (os error")
        .next()
        .unwrap_or(&words)
        .to_owned();
    PyOSError::new_err((error.raw_os_error(), words, path.to_owned()))
}

fn flows(diagnosis: &Diagnosis) -> PyResult<Table> {
    let flows = &diagnosis.flows;
    let text = |of: &dyn Fn(&Flow) -> String| texts(flows.iter().map(|flow| Some(of(flow))));
    let count = |of: &dyn Fn(&Flow) -> u64| counts(flows.iter().map(|flow| of(flow) as f64));
    let real = |of: &dyn Fn(&Flow) -> Option<f64>| {
        reals(flows.iter().map(|flow| of(flow).unwrap_or(f64::NAN)))
    };
    Table::of(vec![
        ("flow".to_owned(), "", count(&|flow| flow.number)),
        (
            "protocol".to_owned(),
            "",
            text(&|flow| flow.protocol.name().to_owned()),
        ),
        (
            "source".to_owned(),
            "",
            text(&|flow| flow.source.to_string()),
        ),
        (
            "destination".to_owned(),
            "",
            text(&|flow| flow.destination.to_string()),
        ),
        (
            "vantage".to_owned(),
            "",
            text(&|flow| flow.vantage.name().to_owned()),
        ),
        (
            "first_s".to_owned(),
            "s",
            real(&|flow| Some(flow.span.0 as f64 / 1e9)),
        ),
        (
            "last_s".to_owned(),
            "s",
            real(&|flow| Some(flow.span.1 as f64 / 1e9)),
        ),
        (
            "data_packets".to_owned(),
            "",
            count(&|flow| flow.counts.data_packets),
        ),
        (
            "spurious".to_owned(),
            "",
            count(&|flow| flow.counts.spurious),
        ),
        (
            "reordered".to_owned(),
            "",
            count(&|flow| flow.counts.reordered),
        ),
        (
            "lost".to_owned(),
            "",
            count(&|flow| flow.portrait.by_cause.total()),
        ),
        (
            "lost_congestion".to_owned(),
            "",
            count(&|flow| flow.portrait.by_cause.congestion),
        ),
        (
            "lost_wireless".to_owned(),
            "",
            count(&|flow| flow.portrait.by_cause.wireless),
        ),
        (
            "lost_unknown".to_owned(),
            "",
            count(&|flow| flow.portrait.by_cause.unknown),
        ),
        (
            "base_rtt_ms".to_owned(),
            "ms",
            real(&|flow| flow.portrait.base_rtt_ms),
        ),
        (
            "queueing_p50_ms".to_owned(),
            "ms",
            real(&|flow| flow.portrait.queueing_ms.map(|ms| ms[0])),
        ),
        (
            "queueing_p99_ms".to_owned(),
            "ms",
            real(&|flow| flow.portrait.queueing_ms.map(|ms| ms[2])),
        ),
        (
            "mean_mbps".to_owned(),
            "Mbit/s",
            real(&|flow| flow.portrait.mean_mbps),
        ),
        (
            "full_mbps".to_owned(),
            "Mbit/s",
            real(&|flow| flow.portrait.full_mbps),
        ),
        ("summary".to_owned(), "", text(&report::summary::paragraph)),
    ])
}

fn losses(diagnosis: &Diagnosis) -> PyResult<Table> {
    let all: Vec<(&Flow, &Loss)> = diagnosis
        .flows
        .iter()
        .flat_map(|flow| flow.losses.iter().map(move |loss| (flow, loss)))
        .collect();
    let count = |of: &dyn Fn(&Loss) -> u64| counts(all.iter().map(|(_, loss)| of(loss) as f64));
    let mut columns: Vec<(String, &str, ArrayRef)> = vec![
        (
            "flow".to_owned(),
            "",
            counts(all.iter().map(|(flow, _)| flow.number as f64)),
        ),
        (
            "time_s".to_owned(),
            "s",
            reals(all.iter().map(|(_, loss)| loss.time as f64 / 1e9)),
        ),
        ("frame".to_owned(), "", count(&|loss| loss.frame)),
        ("offset".to_owned(), "", count(&|loss| loss.offset)),
        ("bytes".to_owned(), "B", count(&|loss| loss.bytes.into())),
        ("packets".to_owned(), "", count(&|loss| loss.packets.into())),
        (
            "before_capture".to_owned(),
            "",
            flags(all.iter().map(|(_, loss)| Some(loss.side == Side::Before))),
        ),
        (
            "retransmission".to_owned(),
            "",
            flags(all.iter().map(|(_, loss)| Some(loss.retransmission))),
        ),
        (
            "evidence".to_owned(),
            "",
            texts(all.iter().map(|(_, loss)| Some(loss.evidence.name()))),
        ),
        ("run".to_owned(), "", count(&|loss| loss.run.into())),
        (
            "delay_before_ms".to_owned(),
            "ms",
            reals(all.iter().map(|(_, loss)| {
                loss.around
                    .before
                    .map_or(f64::NAN, |us| f64::from(us) / 1000.0)
            })),
        ),
        (
            "cause".to_owned(),
            "",
            texts(
                all.iter()
                    .map(|(_, loss)| loss.verdict.map(|sure| report::name(sure.cause))),
            ),
        ),
        (
            "confidence".to_owned(),
            "",
            reals(
                all.iter()
                    .map(|(_, loss)| loss.verdict.map_or(f64::NAN, |sure| sure.confidence)),
            ),
        ),
    ];
    let mut names = classifiers::columns().into_iter();
    let counts = [
        classifiers::senders().count(),
        classifiers::receivers().count(),
    ];
    for (before, count) in counts.into_iter().enumerate() {
        for (index, name) in names.by_ref().take(count).enumerate() {
            let said = all.iter().map(|(flow, loss)| {
                let event = flow.events.get(loss.event? as usize)?;
                let asked = usize::from(event.detection.is_none()) == before;
                asked
                    .then(|| event.votes.of(index))
                    .flatten()
                    .map(report::name)
            });
            columns.push((name, "", texts(said)));
        }
    }
    Table::of(columns)
}
