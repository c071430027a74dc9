//! `whyloss diagnose`: why packets of a capture died.

mod page;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use whyloss_diagnose::anonymise::Anonymiser;
use whyloss_diagnose::truth::Truth;
use whyloss_diagnose::{Diagnosis, Options, diagnose, diagnose_path, report};

use whyloss_sim::output::{Whole, note};
use whyloss_sim::text::one_line;
use whyloss_study::report as study;

use crate::error::CliError;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DiagnoseArgs {
    /// Captures, logs, and directories that `whyloss link --log` or `whyloss run --trace` wrote; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show one flow, with each of its losses.
    #[arg(long, value_name = "N")]
    flow: Option<u64>,
    /// Write a page with pictures, `diagnosis.json`, `losses.csv` and, of a capture, `annotated.pcapng` for Wireshark into this
    /// directory; of several files, into one below it each.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Replace addresses, keeping networks together, and write packets without payload.
    #[arg(long)]
    anonymise: bool,
    /// Where `whyloss link --log` wrote what became of every packet: sets the truth beside each verdict, and counts.
    #[arg(long, value_name = "DIR")]
    truth: Option<PathBuf>,
    /// Connections followed at a time.
    #[arg(long, value_name = "N", default_value_t = Options::default().connections as u32, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
}

const HELP: &str = "Reads pcap, pcapng and qlog, as they are or compressed with gzip or zstd, and what emulated links and simulated runs \
    say of their packets. Take captures with at least 96 bytes of \
    each packet (`tcpdump -s 96`), so that TCP's options are in them.";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A table and a paragraph about each flow that lost something.
    Table,
    /// One JSON object per file.
    Json,
    /// A row per lost packet.
    Csv,
}

pub(crate) fn run(args: &DiagnoseArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let anonymiser = Anonymiser::default();
    // All are looked at before the first is read: a name that is wrong is found at once.
    for path in args.files.iter().filter(|path| !is_standard_input(path)) {
        fs::metadata(path).map_err(|source| refuse(path, source.into()))?;
    }
    for (index, path) in args.files.iter().enumerate() {
        let options = Options {
            connections: args.connections as usize,
            ..Options::default()
        };
        let read = if is_standard_input(path) {
            diagnose(Box::new(io::stdin()), options)
        } else {
            diagnose_path(path, options)
        };
        let mut diagnosis = read.map_err(|source| refuse(path, source))?;
        check(&diagnosis, args.flow, path)?;
        if let Some(log) = &args.truth {
            let mut truth = Truth::read(log).map_err(|source| refuse(log, source))?;
            diagnosis.compare(&mut truth);
        }
        if args.anonymise {
            diagnosis.anonymise(&anonymiser);
        }
        if let Some(out) = &args.out {
            let anonymiser = args.anonymise.then_some(&anonymiser);
            write(args, out, index, &diagnosis, anonymiser)?;
        }
        if args.files.len() > 1 && matches!(args.format, Format::Table) {
            writeln!(out, "{}\n", one_line(&path.to_string_lossy()))?;
        }
        match args.format {
            Format::Table => {
                out.write_all(report::text::render(&diagnosis, args.flow).as_bytes())?;
            }
            Format::Json => writeln!(out, "{}", report::json::render(&diagnosis, args.flow))?,
            Format::Csv => out.write_all(report::csv::render(&diagnosis, args.flow).as_bytes())?,
        }
    }
    out.flush()?;
    Ok(())
}

/// Writes all there is to know of one file, the `index`th that was named.
fn write(
    args: &DiagnoseArgs,
    out: &Path,
    index: usize,
    diagnosis: &Diagnosis,
    anonymiser: Option<&Anonymiser>,
) -> Result<(), CliError> {
    let path = &args.files[index];
    let name = path
        .file_name()
        .map_or("standard input".into(), |name| name.to_string_lossy());
    let name = if is_standard_input(path) {
        "standard input".into()
    } else {
        name
    };
    let dir = if args.files.len() > 1 {
        let same = |other: &&PathBuf| other.file_name() == path.file_name();
        let before = args.files[..index].iter().filter(same).count();
        out.join(match before {
            0 => name.to_string(),
            before => format!("{name}-{}", before + 1),
        })
    } else {
        out.to_owned()
    };
    study::renew(&dir).map_err(CliError::Out)?;
    // A pipe cannot be read again; a log has no packets.
    let again = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let annotated = again && annotate(&dir, path, diagnosis, anonymiser)?;
    // Names of files tell of hosts, too.
    let title = match anonymiser {
        Some(_) => "anonymised".to_owned(),
        None => name.to_string(),
    };
    let (html, figures) = page::page(diagnosis, &title, annotated);
    for figure in &figures {
        let svg = study::svg::render(figure);
        study::write(&dir, &format!("{}.svg", figure.name), &svg).map_err(CliError::Out)?;
    }
    let json = report::json::render(diagnosis, None).to_string();
    for (name, text) in [
        ("diagnosis.json", json),
        ("losses.csv", report::csv::render(diagnosis, None)),
        ("index.html", html),
    ] {
        study::write(&dir, name, &text).map_err(CliError::Out)?;
    }
    Ok(())
}

/// Writes the capture with comments, whole or not at all; false if the input is no capture.
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
