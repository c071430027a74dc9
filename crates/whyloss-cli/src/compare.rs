//! `whyloss compare`: compares two runs, sweeps or diagnoses, number by number.
//!
//! Reads `results.json`, `sweep.json` or `diagnosis.json` from each directory and pairs the numbers
//! at the same place. Seeds are paired as well: a network makes the same draws under the same seed,
//! so differences vary less than the values themselves.
//!
//! ```text
//! d_s = b_s − a_s for each seed s that both have;   difference d̄ ± half its 95 % interval
//! ```

mod overlay;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use whyloss_sim::text::one_line;
use whyloss_study::Figure;
use whyloss_study::report::page::{Entry, Page, Table};
use whyloss_study::report::{self, counted};
use whyloss_study::statistics::{Summary, mean};

use crate::error::CliError;

#[derive(Debug, Args)]
#[command(
    after_help = "Each difference is the mean of B − A over the seeds in both, ± half the width of its 95 % confidence interval. A * marks an interval that excludes 0.\n\n\
                  Example: whyloss compare before after --out changes"
)]
pub(crate) struct CompareArgs {
    /// Directory written by `whyloss run --out`, `whyloss sweep --out` or `whyloss diagnose --out`.
    #[arg(value_name = "A")]
    first: PathBuf,
    /// Directory to compare with A, written by the same command.
    #[arg(value_name = "B")]
    second: PathBuf,
    /// Also show numbers that are equal.
    #[arg(long)]
    all: bool,
    /// Write an HTML page to this directory, with a sortable table, and charts that show both
    /// results.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Aligned columns.
    Table,
    /// One JSON object per line.
    Json,
}

/// The files that can be compared. Each directory has one of them.
const FILES: [&str; 3] = ["results.json", "sweep.json", "diagnosis.json"];
/// The maximum size of a compared file, in bytes.
const LARGEST: u64 = 256 << 20;

/// The values of a number by seed. A diagnosis has one value, under seed 0.
type Values = BTreeMap<u64, f64>;

/// All numbers of a file in the file's order, each with its item (such as a flow) and its metric.
struct Numbers {
    file: &'static str,
    rows: Vec<([String; 2], Values)>,
}

/// A number that both files have, with its two means and the mean difference.
struct Row<'a> {
    of: &'a str,
    metric: &'a str,
    means: [f64; 2],
    difference: Summary,
}

impl Row<'_> {
    fn is_same(&self) -> bool {
        self.difference.mean == Some(0.0) && self.difference.ci95.unwrap_or(0.0) == 0.0
    }

    /// Returns whether the confidence interval of the difference excludes 0.
    fn stands_out(&self) -> bool {
        let Summary { mean, ci95, .. } = self.difference;
        mean.zip(ci95).is_some_and(|(mean, half)| mean.abs() > half)
    }

    /// Returns the table's cells for the two means, the difference and its interval.
    fn cells(&self) -> [String; 4] {
        let Summary { mean, ci95, .. } = self.difference;
        let star = if self.stands_out() { " *" } else { "" };
        let [a, b] = self.means.map(short);
        [
            a,
            b,
            mean.map_or("–".into(), |mean| format!("{mean:+.4}")),
            ci95.map_or("–".into(), |half| format!("±{}{star}", short(half))),
        ]
    }
}

/// Formats a number with at most four decimals, without trailing zeros.
fn short(real: f64) -> String {
    let text = format!("{real:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

pub(crate) fn run(args: &CompareArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let paths = [&args.first, &args.second];
    let [a, b] = [read(paths[0])?, read(paths[1])?];
    if a.file != b.file {
        let problem = format!(
            "it has {}, where `{}` has {}",
            b.file,
            name(paths[0]),
            a.file
        );
        return Err(wrong(paths[1], problem));
    }
    let rows = pair(&a, &b);
    if rows.is_empty() {
        let problem = format!(
            "it shares neither a seed nor the name of a number with `{}`",
            name(paths[0])
        );
        return Err(wrong(paths[1], problem));
    }
    let shown: Vec<&Row<'_>> = rows
        .iter()
        .filter(|row| args.all || !row.is_same())
        .collect();
    match args.format {
        Format::Table => table(out, &shown, rows.len())?,
        Format::Json => json_lines(out, &shown)?,
    }
    if let Some(dir) = &args.out {
        report::renew(dir).map_err(CliError::Out)?;
        let series = paths.map(|path| parse(&path.join("series.json")).ok());
        let figures = match &series {
            [Some(a), Some(b)] => overlay::figures(a, b),
            _ => Vec::new(),
        };
        let html = page(paths, &shown, rows.len(), &figures);
        report::write(dir, "index.html", &html).map_err(CliError::Out)?;
    }
    out.flush()?;
    Ok(())
}

fn name(path: &Path) -> String {
    one_line(&path.to_string_lossy()).into_owned()
}

fn wrong(path: &Path, problem: String) -> CliError {
    CliError::Compared {
        path: path.to_owned(),
        problem,
    }
}

/// Reads the numbers from the file in a directory.
fn read(dir: &Path) -> Result<Numbers, CliError> {
    let found = FILES.into_iter().find(|file| dir.join(file).is_file());
    let Some(file) = found else {
        let problem = "it has no results.json, sweep.json or diagnosis.json; `whyloss run`, \
                       `whyloss sweep` and `whyloss diagnose` write them with --out";
        return Err(wrong(dir, problem.to_owned()));
    };
    let path = dir.join(file);
    let value = parse(&path).map_err(|error| wrong(&path, error.to_string()))?;
    let Value::Object(object) = value else {
        return Err(wrong(&path, "it is no JSON object".to_owned()));
    };
    Ok(Numbers {
        file,
        rows: numbers(&object),
    })
}

fn parse(path: &Path) -> io::Result<Value> {
    let mut text = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST {
        let message = format!("it has more than {} MiB", LARGEST >> 20);
        return Err(io::Error::other(message));
    }
    Ok(serde_json::from_slice(&text)?)
}

fn numbers(object: &Map<String, Value>) -> Vec<([String; 2], Values)> {
    let seeds = object.get("seeds").and_then(Value::as_array);
    let seeds: Vec<u64> = match seeds {
        Some(seeds) => seeds.iter().filter_map(Value::as_u64).collect(),
        None => vec![0],
    };
    let mut rows = Vec::new();
    for (section, value) in object {
        match value {
            Value::Object(item) => flatten(section, "", item, &seeds, &mut rows),
            Value::Array(items) => {
                for item in items.iter().filter_map(Value::as_object) {
                    let called = item.get("name").and_then(Value::as_str);
                    let numbered = || item.get("flow").map(Value::to_string);
                    let called = called.map(str::to_owned).or_else(numbered);
                    let of = format!("{section}: {}", called.unwrap_or_default());
                    flatten(&of, "", item, &seeds, &mut rows);
                }
            }
            _ => {}
        }
    }
    rows
}

/// Adds the numbers of an item. A number in a group is named `group.number`. Lists, such as that of
/// all losses, are skipped.
fn flatten(
    of: &str,
    before: &str,
    item: &Map<String, Value>,
    seeds: &[u64],
    rows: &mut Vec<([String; 2], Values)>,
) {
    for (key, value) in item {
        let metric = format!("{before}{key}");
        let values: Vec<Option<f64>> = match value {
            Value::Number(number) => vec![number.as_f64()],
            Value::Object(group) => {
                let Some(values) = group.get("values").and_then(Value::as_array) else {
                    flatten(of, &format!("{metric}."), group, seeds, rows);
                    continue;
                };
                values.iter().map(Value::as_f64).collect()
            }
            _ => continue,
        };
        let known = seeds.iter().copied().zip(values);
        let known: Values = known
            .filter_map(|(seed, value)| Some((seed, value?)))
            .collect();
        rows.push(([of.to_owned(), metric], known));
    }
}

/// Returns the values of each name. Several points of a sweep that an earlier version stored may
/// share one.
fn by_name(numbers: &Numbers) -> BTreeMap<&[String; 2], Vec<&Values>> {
    let mut names: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (key, values) in &numbers.rows {
        names.entry(key).or_default().push(values);
    }
    names
}

/// Pairs the numbers that both files have for a common seed, in the order of the first file.
fn pair<'a>(a: &'a Numbers, b: &'a Numbers) -> Vec<Row<'a>> {
    let [first, second] = [a, b].map(by_name);
    let mut passed: BTreeMap<&[String; 2], usize> = BTreeMap::new();
    let paired = a.rows.iter().filter_map(|(key, values)| {
        let others = second.get(key)?;
        // Numbers of one name pair by their order, but only if none is missing.
        if others.len() != first[key].len() {
            return None;
        }
        let place = passed.entry(key).or_default();
        let (first, second) = (values, others[*place]);
        *place += 1;
        let both = first
            .iter()
            .filter_map(|(seed, a)| Some((*a, *second.get(seed)?)));
        let (first, second): (Vec<f64>, Vec<f64>) = both.unzip();
        let differences: Vec<f64> = second.iter().zip(&first).map(|(b, a)| b - a).collect();
        Some(Row {
            of: &key[0],
            metric: &key[1],
            means: [mean(&first)?, mean(&second)?],
            difference: Summary::of(&differences),
        })
    });
    paired.collect()
}

const COLUMNS: [&str; 6] = ["of", "metric", "A", "B", "B − A", "±"];

fn cells(row: &Row<'_>) -> [String; 6] {
    let [a, b, difference, half] = row.cells();
    let [of, metric] = [row.of, row.metric].map(|text| one_line(text).into_owned());
    [of, metric, a, b, difference, half]
}

fn summary(shown: &[&Row<'_>], all: usize) -> String {
    let same = shown.iter().filter(|row| row.is_same()).count() + all - shown.len();
    format!("{}, {same} of them equal", counted(all as u64, "number"))
}

fn table(out: &mut dyn Write, shown: &[&Row<'_>], all: usize) -> io::Result<()> {
    let mut lines = vec![COLUMNS.map(str::to_owned)];
    lines.extend(shown.iter().map(|row| cells(row)));
    let widths: Vec<usize> = (0..COLUMNS.len())
        .map(|column| {
            let texts = lines.iter().map(|line| line[column].chars().count());
            texts.max().unwrap_or(0)
        })
        .collect();
    for line in &lines {
        let mut text = String::new();
        for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            let padded = match column {
                0 | 1 | 5 => format!("{cell:<width$}  "),
                _ => format!("{cell:>width$}  "),
            };
            text.push_str(&padded);
        }
        writeln!(out, "{}", text.trim_end())?;
    }
    writeln!(out, "{}", summary(shown, all))
}

fn json_lines(out: &mut dyn Write, shown: &[&Row<'_>]) -> io::Result<()> {
    for row in shown {
        let [a, b] = row.means;
        let Summary { count, mean, ci95 } = row.difference;
        let object = json!({
            "of": row.of, "metric": row.metric, "a": a, "b": b,
            "difference": mean, "ci95": ci95, "seeds": count,
        });
        writeln!(out, "{object}")?;
    }
    Ok(())
}

fn page(paths: [&PathBuf; 2], shown: &[&Row<'_>], all: usize, figures: &[Figure]) -> String {
    let mut page = Page::new("Two results beside each other");
    page.section("differences", "Differences");
    let [a, b] = paths.map(|path| name(path));
    page.text(&format!(
        "A is `{a}`, B is `{b}`. {}. A star marks an interval without 0.",
        summary(shown, all)
    ));
    let mut table = Table::new(COLUMNS);
    for row in shown {
        table.row(cells(row).map(Entry::from));
    }
    page.table(&table);
    if !figures.is_empty() {
        page.section("pictures", "Over each other");
        for figure in figures {
            page.figure(figure);
        }
    }
    page.finish(&format!(
        "Compared by whyloss {}.",
        env!("CARGO_PKG_VERSION")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Numbers {
        let object = serde_json::from_str(text).expect("JSON");
        Numbers {
            file: FILES[0],
            rows: numbers(&object),
        }
    }

    #[test]
    fn seeds_pair_and_groups_have_a_dot() {
        let a = of(
            r#"{"seeds":[1,2,3],"flows":[{"name":"x","lost":{"congestion":{"mean":0,"values":[5,6,null]}}}]}"#,
        );
        let b = of(
            r#"{"seeds":[2,1,4],"flows":[{"name":"x","lost":{"congestion":{"mean":0,"values":[8,5,9]}}}]}"#,
        );
        let rows = pair(&a, &b);
        let [row] = &rows[..] else {
            panic!("one number")
        };
        assert_eq!((row.of, row.metric), ("flows: x", "lost.congestion"));
        // Seed 1 has 5 and 5, seed 2 has 6 and 8.
        assert_eq!(row.means.map(short), ["5.5", "6.5"]);
        assert_eq!(row.difference.mean, Some(1.0));
        // The half width is t(0.975; 1) = 12.706 times the standard error, √2/√2.
        assert!((row.difference.ci95.expect("two seeds") - 12.706).abs() < 1e-3);
        assert!(!row.is_same() && !row.stands_out());
    }

    #[test]
    fn points_of_one_name_pair_by_their_order() {
        let a = of(
            r#"{"seeds":[1],"points":[{"name":"x","sent":{"values":[1]}},{"name":"x","sent":{"values":[2]}}]}"#,
        );
        let b = of(r#"{"seeds":[1],"points":[{"name":"x","sent":{"values":[2]}}]}"#);
        let rows = pair(&a, &a);
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(Row::is_same));
        // It is not known which of the two points is missing.
        assert!(pair(&a, &b).is_empty() && pair(&b, &a).is_empty());
    }

    #[test]
    fn one_seed_has_no_interval() {
        let a = of(
            r#"{"seeds":[1],"total":{"sent":10,"mc":null},"flows":[{"flow":3,"losses":[1,2],"rate":1.5}]}"#,
        );
        let rows = pair(&a, &a);
        assert_eq!(rows.len(), 3, "sent, the flow's number, and its rate");
        assert!(rows.iter().all(Row::is_same));
        assert_eq!(rows[2].cells(), ["10", "10", "+0.0000", "–"]);
    }
}
