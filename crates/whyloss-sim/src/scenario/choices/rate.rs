//! Reads the rate of a link: a fixed rate, a recorded trace, or a chain of rates.

use std::fs;
use std::path::Path;

use whyloss::Rate;
use whyloss_link::{MarkovRates, Opportunities};

use super::channel::of_library;
use crate::scenario::document::Value;
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;
use crate::scenario::recorded;
use crate::scenario::schema::Shape;

/// The expected form.
pub(in crate::scenario) const RATE: &str = r#"how fast bits leave, such as "150 kbit/s", "trace:FILE", "recorded:NAME" or { rates = [ … ], means = [ … ] }"#;

/// The largest size of a trace file, in bytes.
const MOST_BYTES: u64 = 100_000_000;

/// A rate, or the mean of a varying one with its variation.
#[derive(Default)]
pub(in crate::scenario) struct LinkRate {
    pub(in crate::scenario) mean: Rate,
    pub(in crate::scenario) trace: Option<Opportunities>,
    pub(in crate::scenario) chain: Option<MarkovRates>,
}

/// Reads a rate; a trace is looked up in `directory`.
pub(in crate::scenario) fn rate(field: &Field<'_>, directory: &Path) -> Result<LinkRate, Fault> {
    let probed = field.noted(|| Shape::Trace);
    if let Value::Table(_) = field.item.value {
        return drawn(field);
    }
    if let Value::Text(text) = &field.item.value
        && let Some(file) = text.strip_prefix("trace:")
    {
        return traced(field, &directory.join(file));
    }
    if let Value::Text(text) = &field.item.value
        && let Some(name) = text.strip_prefix("recorded:")
    {
        let found = recorded::find(recorded::Kind::Rate, name);
        let entry = found.map_err(|problem| field.fault(problem))?;
        return of_library(field, entry, drawn);
    }
    let mean = field.rate()?;
    if probed {
        drawn(field)?;
    }
    Ok(LinkRate {
        mean,
        ..LinkRate::default()
    })
}

/// Reads a chain of rates.
fn drawn(field: &Field<'_>) -> Result<LinkRate, Fault> {
    let fields = field.fields(RATE)?;
    fields.only(&["rates", "means"])?;
    let expected = r#"a list of rates, such as ["10 Mbit/s", "0 bit/s"]"#;
    let rates = fields.need("rates", expected)?.list(expected)?;
    let expected = r#"a list with the mean time at each rate, such as ["1 s", "150 ms"]"#;
    let means_field = fields.need("means", expected)?;
    let means = means_field.list(expected)?;
    if rates.len() != means.len() {
        return Err(means_field.fault(format!(
            "found {} times for {} rates, expected one for each",
            means.len(),
            rates.len()
        )));
    }
    let states = rates.iter().zip(&means);
    let states = states.map(|(rate, mean)| Ok((rate.rate()?, mean.duration()?)));
    let states = states.collect::<Result<_, Fault>>()?;
    if field.item.probe().is_some() {
        return Ok(LinkRate::default());
    }
    let chain = MarkovRates::new(states).map_err(|error| field.fault(error.to_string()))?;
    Ok(LinkRate {
        mean: chain.mean(),
        trace: None,
        chain: Some(chain),
    })
}

/// Reads a recorded trace.
fn traced(field: &Field<'_>, path: &Path) -> Result<LinkRate, Fault> {
    let unreadable = |error: std::io::Error| {
        field.fault(format!("cannot read the trace {}: {error}", path.display()))
    };
    let data = fs::metadata(path).map_err(unreadable)?;
    if !data.is_file() || data.len() > MOST_BYTES {
        return Err(field.fault(format!(
            "{} is not a file of at most {MOST_BYTES} bytes",
            path.display()
        )));
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let trace = Opportunities::parse(&text)
        .map_err(|error| field.fault(format!("{}: {error}", path.display())))?;
    Ok(LinkRate {
        mean: trace.rate(),
        trace: Some(trace),
        chain: None,
    })
}
