//! `whyloss diagnose`: finds the lost packets of a capture and their causes.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use whyloss_diagnose::anonymise::Anonymiser;
use whyloss_diagnose::truth::Truth;
use whyloss_diagnose::{Diagnosis, Options, diagnose, diagnose_path, report};

use whyloss_sim::output::{OutputError, Whole, create_below, is_noted, note};
use whyloss_sim::text::one_line;
use whyloss_study::report as study;

use crate::error::CliError;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DiagnoseArgs {
    /// Captures, qlogs, and directories written by `whyloss link --log` or `whyloss run --trace`;
    /// `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show only flow N, with each of its losses.
    #[arg(long, value_name = "N")]
    flow: Option<u64>,
    /// Write an HTML page, `diagnosis.json`, `losses.csv` and, for a capture, `annotated.pcapng`
    /// (for Wireshark) to this directory. Each of several inputs gets its own subdirectory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Replace addresses in the report and in the files of --out, and drop payloads. Replaced
    /// addresses keep common prefixes.
    #[arg(long)]
    anonymise: bool,
    /// Score each verdict against the true causes that `whyloss link --log` wrote to this
    /// directory.
    #[arg(long, value_name = "DIR")]
    truth: Option<PathBuf>,
    /// Maximum number of connections to follow at a time. With more, the longest-idle ones are
    /// closed.
    #[arg(long, value_name = "N", default_value_t = Options::default().connections as u32, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// Memory limit, such as `512MiB`. At the limit, the longest-idle connections are closed, and
    /// the report says so.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = memory)]
    memory: u64,
}

/// The smallest memory limit, in bytes; with less, a diagnosis is not useful.
const LEAST_MEMORY: u64 = 16 << 20;

/// Parses a size in bytes. Rejects sizes below [`LEAST_MEMORY`].
fn memory(text: &str) -> Result<u64, String> {
    let expected = || {
        format!(
            "expected a size of at least {} MiB, such as `512 MiB` (units: MiB, GiB)",
            LEAST_MEMORY >> 20
        )
    };
    let text = text.trim();
    let (number, unit) = [("MiB", 20), ("GiB", 30)]
        .into_iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?.trim_end(), unit)))
        .ok_or_else(expected)?;
    let number: u64 = number.parse().map_err(|_| expected())?;
    let bytes = number.checked_mul(1 << unit).ok_or_else(expected)?;
    (bytes >= LEAST_MEMORY)
        .then_some(bytes)
        .ok_or_else(expected)
}

const HELP: &str = "Reads pcap, pcapng and qlog, plain or compressed with gzip or zstd, and logs of emulated links and simulated runs. \
    Capture at least 96 bytes of each packet (`tcpdump -s 96`) to include TCP options.\n\n\
    Example: whyloss diagnose slow.pcap --out why";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A table, and a paragraph on each flow with losses.
    Table,
    /// One JSON object per file.
    Json,
    /// One CSV row per lost packet.
    Csv,
}

pub(crate) fn run(args: &DiagnoseArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let anonymiser = Anonymiser::default();
    // All inputs are checked before the first is read, so that a wrong name is reported
    // immediately.
    for path in args.files.iter().filter(|path| !is_standard_input(path)) {
        fs::metadata(path).map_err(|source| refuse(path, source.into()))?;
    }
    let below = directories(&args.files);
    if let Some(out) = &args.out {
        let mut inputs = args.files.iter().chain(&args.truth);
        if let Some(path) = inputs.find(|path| is_in_the_way(path, out, &below)) {
            return Err(CliError::InputInOut(path.clone()));
        }
    }
    let mut options = Options {
        connections: args.connections as usize,
        memory: args.memory,
        ..Options::default()
    };
    let truth = args.truth.as_ref();
    let truth = truth.map(|log| Truth::read(log, options).map_err(|source| refuse(log, source)));
    let mut truth = truth.transpose()?;
    options.taken = truth.as_ref().map_or(0, Truth::bytes);
    for (index, path) in args.files.iter().enumerate() {
        let read = if is_standard_input(path) {
            diagnose(Box::new(io::stdin()), options)
        } else {
            diagnose_path(path, options)
        };
        let mut diagnosis = read.map_err(|source| refuse(path, source))?;
        check(&diagnosis, args.flow, path)?;
        if let Some(truth) = &mut truth {
            diagnosis.compare(truth);
        }
        if args.anonymise {
            diagnosis.anonymise(&anonymiser);
        }
        if let Some(out) = &args.out {
            let anonymiser = args.anonymise.then_some(&anonymiser);
            // If the first input cannot be read, the files of earlier runs remain.
            if index == 0 {
                study::renew(out).map_err(CliError::Out)?;
            }
            let dir = match &below[index] {
                None => out.to_owned(),
                Some(name) => {
                    directory_below(out, name).map_err(|error| CliError::Out(error.into()))?
                }
            };
            write(args, &dir, index, &diagnosis, anonymiser)?;
        }
        if args.files.len() > 1 && matches!(args.format, Format::Table) {
            writeln!(out, "{}\n", one_line(&path.to_string_lossy()))?;
        }
        match args.format {
            Format::Table => {
                out.write_all(report::text::render(&diagnosis, args.flow).as_bytes())?;
            }
            Format::Json => {
                report::json::write(&diagnosis, args.flow, out)?;
                writeln!(out)?;
            }
            Format::Csv => report::csv::write(&diagnosis, args.flow, out)?,
        }
    }
    out.flush()?;
    Ok(())
}

/// Returns a distinct directory name for each input: its file name, with a number if an earlier
/// input has the same name. A single input gets `None`.
fn directories(files: &[PathBuf]) -> Vec<Option<String>> {
    if let [_] = files {
        return vec![None];
    }
    let mut taken = HashSet::new();
    let mut number = |path: &PathBuf| {
        // The list of written files has one name per line, and a name must not be a path.
        let name = name(path).replace(|c: char| c.is_control() || c == '\\', "_");
        let numbered = (2_u64..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        // The range never ends: it has more numbers than there are files.
        names.find(|name| taken.insert(name.to_lowercase()))
    };
    files.iter().map(&mut number).collect()
}

/// Returns whether writing into `out`, or into its subdirectories `below`, would remove or
/// overwrite an input.
fn is_in_the_way(input: &Path, out: &Path, below: &[Option<String>]) -> bool {
    let Ok(whole) = input.canonicalize() else {
        return false;
    };
    let is_input = |dir: PathBuf| dir.canonicalize().is_ok_and(|dir| dir == whole);
    let mut dirs = below
        .iter()
        .map(|name| out.join(name.as_deref().unwrap_or("")));
    is_noted(out, input).unwrap_or(false) || dirs.any(is_input)
}

/// Creates the directory of one of several inputs. A later run may remove it.
fn directory_below(out: &Path, name: &str) -> Result<PathBuf, OutputError> {
    note(out, [name])?;
    create_below(out, name)
}

/// Returns the name of a file for the report.
fn name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy());
    match name {
        Some(name) if !is_standard_input(path) => name.into_owned(),
        _ => "standard input".to_owned(),
    }
}

/// Writes the page, `diagnosis.json`, `losses.csv` and the annotated capture of the file with this
/// index into a directory.
fn write(
    args: &DiagnoseArgs,
    dir: &Path,
    index: usize,
    diagnosis: &Diagnosis,
    anonymiser: Option<&Anonymiser>,
) -> Result<(), CliError> {
    let path = &args.files[index];
    // A pipe cannot be read again, and a log has no packets.
    let again =
        !is_standard_input(path) && fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let annotated = again && annotate(dir, path, diagnosis, anonymiser)?;
    // File names can also reveal hosts.
    let title = match anonymiser {
        Some(_) => "anonymised".to_owned(),
        None => one_line(&name(path)).into_owned(),
    };
    let (html, figures) = report::page::page(diagnosis, &title, annotated);
    for figure in &figures {
        let svg = study::svg::render(figure);
        study::write(dir, &format!("{}.svg", figure.name), &svg)?;
    }
    study::write_with(dir, "diagnosis.json", |file| {
        report::json::write(diagnosis, None, file)
    })?;
    study::write_with(dir, "losses.csv", |file| {
        report::csv::write(diagnosis, None, file)
    })?;
    study::write(dir, "index.html", &html)?;
    Ok(())
}

/// Writes the capture with comments on lost packets, completely or not at all. Returns `false` if
/// the input is not a capture.
fn annotate(
    dir: &Path,
    path: &Path,
    diagnosis: &Diagnosis,
    anonymiser: Option<&Anonymiser>,
) -> Result<bool, CliError> {
    const NAME: &str = "annotated.pcapng";
    let whole = dir.join(NAME);
    let failed = |source: io::Error| {
        let path = whole.clone();
        CliError::Out(study::ReportError::Write { path, source })
    };
    let again = File::open(path).map_err(|source| refuse(path, source.into()))?;
    note(dir, [NAME]).map_err(|error| CliError::Out(error.into()))?;
    let mut file = Whole::create(&whole).map_err(failed)?;
    let buffer = BufWriter::new(&mut file);
    match report::annotated::write(diagnosis, Box::new(again), buffer, anonymiser) {
        Ok(_) => file.finish().map(|()| true).map_err(failed),
        Err(whyloss_diagnose::Error::Header { .. } | whyloss_diagnose::Error::Piped) => Ok(false),
        Err(whyloss_diagnose::Error::Io(source)) => Err(failed(source)),
        Err(source) => Err(refuse(path, source)),
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn refuse(path: &Path, source: whyloss_diagnose::Error) -> CliError {
    CliError::Capture {
        path: path.to_owned(),
        source,
    }
}

fn check(diagnosis: &Diagnosis, flow: Option<u64>, path: &Path) -> Result<(), CliError> {
    match flow {
        Some(wanted) if diagnosis.flows.iter().all(|flow| flow.number != wanted) => {
            Err(CliError::NoFlow {
                path: path.to_owned(),
                wanted,
                flows: diagnosis.flows.len(),
            })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_inputs_share_a_directory() {
        let of = |files: &[&str]| {
            let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            let names = directories(&files).into_iter();
            names.map(Option::unwrap_or_default).collect::<Vec<_>>()
        };
        assert_eq!(of(&["b/a.pcap"]), [""]);
        assert_eq!(of(&["a\nb", "a\\b"]), ["a_b", "a_b-2"]);
        assert_eq!(
            of(&[
                "a.pcap-2", "a.pcap", "b/a.pcap", "-", "A.pcap-2", "b/a.pcap"
            ]),
            [
                "a.pcap-2",
                "a.pcap",
                "a.pcap-3",
                "standard input",
                "A.pcap-2-2",
                "a.pcap-4"
            ]
        );
    }

    #[test]
    fn sizes_of_memory_have_units() {
        assert_eq!(memory("512 MiB"), Ok(512 << 20));
        assert_eq!(memory("2GiB"), Ok(2 << 30));
        for wrong in [
            "1",
            "1 GB",
            "15 MiB",
            "-1 GiB",
            "99999999999999999999 GiB",
            "",
        ] {
            assert!(memory(wrong).is_err(), "{wrong}");
        }
    }
}
