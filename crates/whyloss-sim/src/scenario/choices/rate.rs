//! Rates of links: so many bits per second, or a recorded trace.

use std::fs;
use std::path::Path;

use whyloss::Rate;
use whyloss_link::Opportunities;

use crate::scenario::document::Value;
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;
use crate::scenario::schema::Shape;

/// What is expected.
pub(in crate::scenario) const RATE: &str =
    r#"how fast bits leave, such as "150 kbit/s" or "trace:FILE""#;

/// Most bytes of a trace's file.
const MOST_BYTES: u64 = 100_000_000;

/// A rate, or the mean rate of a trace and the trace, which is looked up from `directory`.
pub(in crate::scenario) fn rate(
    field: &Field<'_>,
    directory: &Path,
) -> Result<(Rate, Option<Opportunities>), Fault> {
    field.noted(|| Shape::Trace);
    let file = match &field.item.value {
        Value::Text(text) => text.strip_prefix("trace:"),
        _ => None,
    };
    let Some(file) = file else {
        return Ok((field.rate()?, None));
    };
    let path = directory.join(file);
    let unreadable = |error: std::io::Error| {
        field.fault(format!("cannot read the trace {}: {error}", path.display()))
    };
    let data = fs::metadata(&path).map_err(unreadable)?;
    if !data.is_file() || data.len() > MOST_BYTES {
        return Err(field.fault(format!(
            "{} is not a file of at most {MOST_BYTES} bytes",
            path.display()
        )));
    }
    let text = fs::read_to_string(&path).map_err(unreadable)?;
    let trace = Opportunities::parse(&text)
        .map_err(|error| field.fault(format!("{}: {error}", path.display())))?;
    Ok((trace.rate(), Some(trace)))
}
