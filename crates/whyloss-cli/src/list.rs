//! `whyloss list`: prints one line for each experiment and each algorithm of the registries.

use std::fmt::Write as _;
use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use whyloss::registry::Parameter;
use whyloss::{bandwidth, policy, schemes};
use whyloss_sim::Registry;
use whyloss_sim::decider::Line;
use whyloss_sim::scenario::recorded::{self, Recorded};

use crate::error::CliError;

#[derive(Debug, Args)]
#[command(after_help = "Example: whyloss list --format json")]
pub(crate) struct ListArgs {
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Text, one section per kind.
    Table,
    /// One JSON object.
    Json,
}

pub(crate) fn run(
    args: &ListArgs,
    registry: &Registry,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    match args.format {
        Format::Table => table(registry, out),
        Format::Json => json(registry, out),
    }
}

fn json(registry: &Registry, out: &mut dyn Write) -> Result<(), CliError> {
    let papers = whyloss_papers::papers()
        .map(|paper| json!({ "id": paper.id(), "citation": paper.citation() }));
    let experiments = crate::reproduce::known().map(|experiment| {
        json!({
            "id": experiment.id,
            "paper": experiment.paper,
            "title": experiment.title,
            "seeds": experiment.seeds,
        })
    });
    let law = |key: &str, entry: &Recorded| {
        json!({
            "name": entry.name,
            key: entry.law,
            "source": entry.source,
            "year": entry.year,
            "measures": entry.measures,
            "licence": entry.licence,
            "command": entry.command,
        })
    };
    let object = json!({
        "papers": papers.collect::<Vec<_>>(),
        "experiments": experiments.collect::<Vec<_>>(),
        "receiver_classifiers": objects(registry.receivers().lines()),
        "sender_classifiers": objects(registry.senders().lines()),
        "controllers": objects(registry.controllers()),
        "policies": objects(policy::REGISTRY.iter().map(Line::from)),
        "schemes": objects(registry.schemes()),
        "iftp_schemes": objects(schemes::IFTP.iter().map(Line::from)),
        "estimators": objects(bandwidth::REGISTRY.iter().map(Line::from)),
        "recorded_channels": recorded::channels().map(|entry| law("channel", entry)).collect::<Vec<_>>(),
        "recorded_rates": recorded::rates().map(|entry| law("rate", entry)).collect::<Vec<_>>(),
    });
    Ok(writeln!(out, "{object}")?)
}

fn objects(lines: impl Iterator<Item = Line>) -> Vec<Value> {
    let parameter = |parameter: &Parameter| {
        json!({
            "name": parameter.name,
            "default": parameter.default,
            "min": parameter.min,
            "max": parameter.max,
            "whole": parameter.whole,
            "meaning": parameter.doc,
        })
    };
    let object = |line: Line| {
        json!({
            "id": line.id,
            "name": line.name,
            "summary": line.summary,
            "source": line.source,
            "parameters": line.parameters.iter().map(parameter).collect::<Vec<_>>(),
        })
    };
    lines.map(object).collect()
}

fn table(registry: &Registry, out: &mut dyn Write) -> Result<(), CliError> {
    let experiments: Vec<_> = crate::reproduce::known()
        .map(|experiment| [experiment.id, experiment.title].map(str::to_owned))
        .collect();
    section(out, "experiments (whyloss reproduce ID)", &experiments)?;
    for (heading, rows) in registries(registry) {
        writeln!(out)?;
        section(out, heading, &rows)?;
    }
    Ok(())
}

/// Returns the heading and the rows of each registry.
fn registries(registry: &Registry) -> Vec<(&'static str, Vec<[String; 3]>)> {
    vec![
        (
            "receiver classifiers (of TFRC flows)",
            rows(registry.receivers().lines()),
        ),
        (
            "sender classifiers (of TCP and IFTP flows)",
            rows(registry.senders().lines()),
        ),
        ("controllers (of TCP flows)", rows(registry.controllers())),
        (
            "policies for losses called wireless (of TCP flows)",
            rows(policy::REGISTRY.iter().map(Line::from)),
        ),
        (
            "schemes: a classifier, a controller and a policy (of TCP flows)",
            rows(registry.schemes()),
        ),
        (
            "schemes of IFTP flows",
            rows(schemes::IFTP.iter().map(Line::from)),
        ),
        (
            "bandwidth estimators (within controllers)",
            rows(bandwidth::REGISTRY.iter().map(Line::from)),
        ),
        (
            "channels fitted to recordings (of links)",
            fitted(recorded::channels()),
        ),
        (
            "models of rates fitted to recordings (of links, as `recorded:NAME`)",
            fitted(recorded::rates()),
        ),
    ]
}

fn fitted<'e>(entries: impl Iterator<Item = &'e Recorded>) -> Vec<[String; 3]> {
    let row = |entry: &Recorded| {
        let origin = format!("{}, {}", entry.source, entry.year);
        [entry.name, entry.measures, &origin].map(str::to_owned)
    };
    entries.map(row).collect()
}

fn rows(lines: impl Iterator<Item = Line>) -> Vec<[String; 3]> {
    let row = |line: Line| {
        let summary = format!("{} ({})", line.summary, line.source);
        [line.id.to_owned(), line.name.to_owned(), summary]
    };
    lines.map(row).collect()
}

/// Returns a heading, and the rows below it in aligned columns.
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
        let ours = Registry::new();
        table(&ours, &mut out).expect("memory does not fail");
        let text = String::from_utf8(out).expect("text");
        let registries = registries(&ours);
        let rows = registries.iter().flat_map(|(_, rows)| rows);
        let ids: Vec<_> = rows.map(|[id, ..]| id.clone()).collect();
        for id in &ids {
            let start = format!("  {id} ");
            assert_eq!(
                text.lines().filter(|line| line.starts_with(&start)).count(),
                ids.iter().filter(|other| *other == id).count(),
            );
        }
        // The experiments have a heading. Each registry has a blank line and a heading.
        let headings = 1 + 2 * registries.len();
        let lines = crate::reproduce::known().count() + ids.len() + headings;
        assert_eq!(text.lines().count(), lines);
    }
}
