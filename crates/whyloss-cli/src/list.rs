//! `whyloss list`: every experiment and every classifier, one line each.

use std::fmt::Write as _;
use std::io::Write;

use whyloss::registry::Entry;
use whyloss::{congestion, receiver, sender};

use crate::error::CliError;

pub(crate) fn run(out: &mut dyn Write) -> Result<(), CliError> {
    let experiments: Vec<_> = whyloss_papers::all()
        .map(|experiment| [experiment.id, experiment.title].map(str::to_owned))
        .collect();
    section(out, "experiments (whyloss reproduce ID)", &experiments)?;
    writeln!(out)?;
    section(
        out,
        "receiver classifiers (of TFRC flows)",
        &rows(receiver::REGISTRY),
    )?;
    writeln!(out)?;
    section(
        out,
        "sender classifiers (of TCP and IFTP flows)",
        &rows(sender::REGISTRY),
    )?;
    writeln!(out)?;
    let controllers = congestion::REGISTRY.iter().map(|entry| {
        let summary = format!("{} ({})", entry.summary, entry.source);
        [entry.id.to_owned(), entry.name.to_owned(), summary]
    });
    let controllers: Vec<_> = controllers.collect();
    section(out, "controllers (of TCP flows)", &controllers)
}

fn rows<C>(registry: &[Entry<C>]) -> Vec<[String; 3]> {
    let row = |entry: &Entry<C>| {
        let summary = format!("{} ({})", entry.summary, entry.source);
        [entry.id.to_owned(), entry.name.to_owned(), summary]
    };
    registry.iter().map(row).collect()
}

/// A heading, and the rows below it in aligned columns.
fn section<const N: usize>(
    out: &mut dyn Write,
    heading: &str,
    rows: &[[String; N]],
) -> Result<(), CliError> {
    let mut widths = [0; N];
    for row in rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = text.chars().count().max(*width);
        }
    }
    writeln!(out, "{heading}")?;
    for row in rows {
        let mut line = String::new();
        for (width, text) in widths.iter().zip(row) {
            let _ = write!(line, "  {text:<width$}");
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_each() {
        let mut out = Vec::new();
        run(&mut out).expect("memory does not fail");
        let text = String::from_utf8(out).expect("text");
        let ids = |rows: Vec<[String; 3]>| rows.into_iter().map(|[id, ..]| id);
        let ids: Vec<_> = ids(rows(receiver::REGISTRY))
            .chain(ids(rows(sender::REGISTRY)))
            .chain(congestion::REGISTRY.iter().map(|entry| entry.id.to_owned()))
            .collect();
        for id in &ids {
            let start = format!("  {id} ");
            assert_eq!(
                text.lines().filter(|line| line.starts_with(&start)).count(),
                ids.iter().filter(|other| *other == id).count(),
            );
        }
        let lines = whyloss_papers::all().count() + ids.len() + 7;
        assert_eq!(text.lines().count(), lines);
    }
}
