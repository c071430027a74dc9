//! Reads recordings from logs and captures: what a link's channel did to each packet that reached
//! it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde::Deserialize;
use whyloss::Cause;
use whyloss_sim::recording::{MOST_PACKETS, Recording, Table, Trial, time_column};
use whyloss_sim::text::one_line;

use super::jitter::Delays;
use super::words::digits;
use crate::network::table;
use crate::{Diagnosis, Error, Flow};

/// A line of `packets.jsonl`.
#[derive(Deserialize)]
struct Line<'l> {
    link: &'l str,
    fate: &'l str,
    offer: u64,
    enqueued: u64,
    waiting: u32,
    scheduled: u64,
    #[serde(default)]
    bytes: u64,
}

/// Passes each line of `packets.jsonl` to `take`.
fn lines(path: &Path, mut take: impl FnMut(&Line<'_>)) -> Result<(), Error> {
    let wrong = |problem| Error::Header {
        kind: "the log of an emulated link",
        problem,
    };
    let mut reader = BufReader::new(File::open(path)?);
    let mut text = String::new();
    for number in 1_usize.. {
        text.clear();
        if std::io::Read::take(&mut reader, 1 << 20).read_line(&mut text)? == 0 {
            break;
        }
        if number > MOST_PACKETS {
            return Err(wrong(format!("it has more than {MOST_PACKETS} packets")));
        }
        let line: Line<'_> = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("line {number} is none of it: {error}")))?;
        take(&line);
    }
    Ok(())
}

/// Returns the entry of a link, and creates it if it is missing.
fn entry<'m, T: Default>(links: &'m mut BTreeMap<String, T>, link: &str) -> &'m mut T {
    links.entry(link.to_owned()).or_default()
}

/// Reads the log of an emulated link, `packets.jsonl` of `whyloss link --log`, as one trial. `link`
/// names the link; the default is the only one whose channel lost packets. Packets that a queue
/// dropped are left out, because they never met the channel. Packets and times are those of arrival
/// at the link, so queueing blurs models in continuous time.
///
/// # Errors
/// Returns an error if the file cannot be read, if a line does not belong to such a log, or if it
/// is unclear which link is meant.
pub fn emulated(path: &Path, link: Option<&str>) -> Result<Recording, Error> {
    let mut links: BTreeMap<String, Vec<(u64, u64, bool)>> = BTreeMap::new();
    lines(path, |line| {
        let lost = match line.fate {
            // A fault happens in the emulator after the packet crossed the link.
            "delivered" | "fault" => false,
            "channel" => true,
            _ => return,
        };
        entry(&mut links, line.link).push((line.offer, line.enqueued, lost));
    })?;
    let unclear = |problem| Error::Part {
        path: path.to_owned(),
        problem,
    };
    let names = |links: &BTreeMap<String, _>| links.keys().cloned().collect::<Vec<_>>().join(", ");
    let all = names(&links);
    let mut recording = Recording::default();
    links.retain(|name, packets: &mut Vec<(u64, u64, bool)>| {
        let chosen = link.is_none_or(|link| link == name);
        let lossy = packets.iter().any(|(.., lost)| *lost);
        if chosen && !lossy {
            let count = packets.len();
            let note = format!("the channel of link {name} lost none of {count} packets: left out");
            recording.notes.push(note);
        }
        chosen && lossy
    });
    if links.len() > 1 {
        return Err(unclear(format!(
            "several links lost packets, and each has a channel of its own: {}; choose one by --link",
            names(&links)
        )));
    }
    if let Some(link) = link.filter(|_| links.is_empty() && recording.notes.is_empty()) {
        return Err(unclear(format!(
            "no link is called {link}; its links: {all}"
        )));
    }
    for mut packets in links.into_values() {
        // The log has a line when a packet leaves or is lost; the line of a lost packet comes
        // earlier by the link's delay.
        packets.sort_unstable();
        recording.trials.push(Trial {
            lost: packets.iter().map(|(.., lost)| *lost).collect(),
            times: packets.iter().map(|(_, time, _)| *time as i64).collect(),
        });
    }
    Ok(recording)
}

/// Reads a Parquet table (feature `parquet`) with the columns that [`whyloss_sim::recording`] takes
/// from CSV. `column` names the column that holds the packets.
///
/// # Errors
/// Returns an error if the file cannot be read, has no such column, or a row holds no packet.
pub fn parquet(path: &Path, column: Option<&str>) -> Result<Recording, Error> {
    let wrong = |problem| Error::Part {
        path: path.to_owned(),
        problem,
    };
    let mut recorded = None;
    let mut number = 0_u64;
    table::read(path, &mut |row| {
        number += 1;
        let table = recorded.get_or_insert_with(|| Table::new(row.names().into_iter(), column));
        if let Ok(rows) = table
            && let Err(problem) = rows.push(|at| row.cell(at).map(str::as_bytes))
        {
            recorded = Some(Err(format!("row {number}: {problem}")));
        }
    })?;
    let table = recorded.unwrap_or_else(|| Err("the table has no row".to_owned()));
    table.and_then(Table::finish).map_err(wrong)
}

/// A column of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The numbers of each trial, in the order of the rows.
    pub trials: Vec<Vec<f64>>,
    /// The time of each row, in s; empty if the table has none.
    pub times: Vec<f64>,
}

/// The maximum number of values of one table.
const MOST_NUMBERS: usize = 1 << 24;

/// Reads a column of non-negative numbers from CSV or Parquet. A column `trial` separates trials. A
/// column `time` (s), `time_ms`, `time_us` or `time_ns` has the time of each row. With `gaps`, an
/// empty cell is an infinite number.
///
/// # Errors
/// Returns a sentence with the row if a cell holds no such number.
pub fn series(path: &Path, column: &str, gaps: bool) -> Result<Series, Error> {
    let wrong = |problem| Error::Part {
        path: path.to_owned(),
        problem,
    };
    let mut columns = None;
    let (mut found, mut last) = (Series::default(), String::new());
    let (mut number, mut problem) = (0_u64, None);
    let mut take = |row: &table::Row<'_>, number: u64| -> Result<(), String> {
        let (value, time, trial) = if let Some(known) = columns {
            known
        } else {
            let names = row.names().into_iter();
            let names: Vec<String> = names.map(|name| name.trim().to_ascii_lowercase()).collect();
            let find = |wanted: &str| names.iter().position(|name| name == wanted);
            let value = find(&column.to_ascii_lowercase()).ok_or_else(|| {
                let names = one_line(&names.join(", ")).into_owned();
                let column = one_line(column);
                format!("no column is called `{column}`; the columns are {names}")
            })?;
            *columns.insert((value, time_column(&names), find("trial")))
        };
        let real = |at: usize| {
            let text = row.cell(at).unwrap_or("").trim();
            let value = text.parse().ok().filter(|value: &f64| value.is_finite());
            value.ok_or_else(|| format!("found `{}`; expected a number", one_line(text)))
        };
        let is_gap = gaps && row.cell(value).is_none_or(|text| text.trim().is_empty());
        let value = if is_gap { f64::INFINITY } else { real(value)? };
        if value < 0.0 {
            return Err(format!(
                "found {value}; expected a number that is not negative"
            ));
        }
        if let Some((at, unit)) = time {
            found.times.push(real(at)? * unit / 1e9);
        }
        let trial = trial.and_then(|at| row.cell(at)).unwrap_or("");
        if found.trials.is_empty() || trial != last {
            found.trials.push(Vec::new());
            trial.clone_into(&mut last);
        }
        if number as usize > MOST_NUMBERS {
            return Err(format!("more than {MOST_NUMBERS} numbers are not read"));
        }
        if let Some(own) = found.trials.last_mut() {
            own.push(value);
        }
        Ok(())
    };
    table::read(path, &mut |row| {
        number += 1;
        if problem.is_none()
            && let Err(said) = take(row, number)
        {
            problem = Some(format!("row {number}: {said}"));
        }
    })?;
    match problem {
        Some(problem) => Err(wrong(problem)),
        None if found.trials.is_empty() => Err(wrong("the table has no row".to_owned())),
        None => Ok(found),
    }
}

/// The delays of a link's packets.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkDelays {
    /// The name of the link.
    pub link: String,
    /// The delays of its packets.
    pub delays: Delays,
    /// The most frequent packet size in bytes; 0 if unknown.
    pub size: u64,
}

/// A packet at a link: when it was sent and when it arrived or was lost (ns), and its size in
/// bytes. The flags tell whether it was lost, and whether it found others waiting.
type Crossing = (u64, u64, u64, bool, bool);

/// Reads the delays of a link's packets from the log of an emulated link, or from table `links` of
/// a simulated run. `link` names the link; the default is the one with most packets. Packets that
/// found others waiting, or have an unusual size, are set aside.
///
/// # Errors
/// Returns an error if the input cannot be read, or has no such link.
pub fn delays(path: &Path, link: Option<&str>) -> Result<LinkDelays, Error> {
    let mut links: BTreeMap<String, Vec<Crossing>> = BTreeMap::new();
    let is_log = path.extension().is_some_and(|kind| kind == "jsonl");
    if is_log {
        lines(path, |line| {
            let crossing = |lost| {
                (
                    line.enqueued,
                    line.scheduled,
                    line.bytes,
                    lost,
                    line.waiting > 0,
                )
            };
            let own = entry(&mut links, line.link);
            match line.fate {
                "delivered" => own.push(crossing(false)),
                "channel" => own.push(crossing(true)),
                _ => {}
            }
        })?;
    } else {
        table::read(path, &mut |row| {
            let crossing = || {
                let lost = match row.text("fate")? {
                    "delivered" | "marked" | "damaged" => false,
                    "wireless" => true,
                    _ => return None,
                };
                let (sent, done) = (row.nanos("time_s")?, row.nanos("done_s")?);
                Some((
                    sent,
                    done,
                    row.whole("size_bytes")?,
                    lost,
                    row.whole("waiting")? > 0,
                ))
            };
            if let (Some(link), Some(crossing)) = (row.text("link"), crossing()) {
                entry(&mut links, link).push(crossing);
            }
        })?;
    }
    let names = links.keys().cloned().collect::<Vec<_>>().join(", ");
    let found = match link {
        Some(link) => links.remove_entry(link),
        None => links.into_iter().max_by_key(|(_, packets)| packets.len()),
    };
    let (link, mut packets) = found.ok_or_else(|| Error::Header {
        kind: if is_log {
            "the log of an emulated link"
        } else {
            "table `links` of a run"
        },
        problem: format!("no such link has packets in it; its links: {names}"),
    })?;
    packets.sort_unstable();
    let mut sizes: BTreeMap<u64, usize> = BTreeMap::new();
    for (_, _, size, ..) in &packets {
        *sizes.entry(*size).or_default() += 1;
    }
    let most = sizes.iter().max_by_key(|(_, count)| **count);
    // If no size is that frequent, all packets count.
    let size = most.filter(|(_, count)| **count * 2 > packets.len());
    let size = size.map(|(size, _)| *size);
    let mut delays = Delays::default();
    for (sent, done, own, lost, waited) in packets {
        delays.sent.push(sent as f64 / 1e9);
        delays.delay.push(if lost {
            f64::INFINITY
        } else {
            done.saturating_sub(sent) as f64 / 1e9
        });
        delays
            .aside
            .push(waited || size.is_some_and(|size| size != own));
    }
    Ok(LinkDelays {
        link,
        delays,
        size: size.unwrap_or(0),
    })
}

/// Returns the likelier cause of a flow's loss; `None` if the data show nothing of it.
fn cause(flow: &Flow, index: usize) -> Option<Cause> {
    let likelier = |wireless: f64| {
        if wireless > 0.5 {
            Cause::Wireless
        } else {
            Cause::Congestion
        }
    };
    let verdict = flow.losses[index].verdict.map(|verdict| verdict.cause);
    verdict.or_else(|| flow.wireless(index).map(likelier))
}

/// Returns a recording of the losses that `diagnosis` attributes to the link, with one trial per
/// flow. Omits packets lost to congestion, and flows whose losses do not show. A loss of unclear
/// cause has its likelier one.
pub fn diagnosed(diagnosis: &Diagnosis) -> Recording {
    let mut recording = Recording::default();
    let (mut congested, mut unclear, mut lost_by_link) = (0, [0, 0], 0);
    // Where such flows lose packets, the losses are those before the point of capture.
    let mut flows = diagnosis.flows.iter();
    let is_behind = flows.any(|flow| flow.unseen().is_some() && !flow.losses.is_empty());
    for flow in &diagnosis.flows {
        let packets = flow.counts.data_packets as usize;
        if packets > MOST_PACKETS {
            continue;
        }
        let mut leave_out = |what: &str| {
            let note = format!("flow {} does not tell {what}: left out", flow.number);
            recording.notes.push(note);
        };
        if flow.losses.is_empty() {
            if let Some(what) = flow.unseen().filter(|_| !is_behind) {
                leave_out(what);
                continue;
            }
        } else if (0..flow.losses.len()).all(|index| cause(flow, index).is_none()) {
            leave_out("the causes of its losses");
            continue;
        }
        // Transmissions count from 1. `None` marks a packet that never reached the channel.
        let mut fates = vec![Some(false); packets];
        for (index, loss) in flow.losses.iter().enumerate() {
            let lost = u64::from(loss.packets);
            let by_link = cause(flow, index) == Some(Cause::Wireless);
            if loss.verdict.is_none() {
                unclear[usize::from(by_link)] += lost;
            } else if !by_link {
                congested += lost;
            }
            lost_by_link += lost * u64::from(by_link);
            let first = (loss.order as usize).saturating_sub(1);
            let last = first.saturating_add(loss.packets as usize).min(packets);
            for place in fates.get_mut(first..last).into_iter().flatten() {
                *place = by_link.then_some(true);
            }
        }
        let lost: Vec<bool> = fates.into_iter().flatten().collect();
        if !lost.is_empty() {
            recording.trials.push(Trial {
                lost,
                times: Vec::new(),
            });
        }
    }
    if diagnosis.flows.is_empty() {
        let frames = diagnosis.frames;
        recording.notes.push(format!(
            "none of its {frames} frames belongs to a flow with data"
        ));
    }
    if recording.trials.is_empty() {
        return recording;
    }
    if is_behind {
        let note = "flows do not tell what was lost behind the point of capture";
        recording.notes.push(note.to_owned());
    }
    recording.notes.push(format!(
        "causes are verdicts of `whyloss diagnose`, not the truth; {congested} losses to congestion are left out"
    ));
    let [to_queue, to_link] = unclear;
    if to_queue + to_link > 0 {
        let met = recording.packets();
        let share = |lost: u64, met: u64| lost as f64 / met.max(1) as f64;
        recording.notes.push(format!(
            "of the losses whose cause is unclear, {to_link} count as the link's and {to_queue} as congestion; with all or none of \
             them, {} or {} of the packets would be lost",
            digits(share(lost_by_link + to_queue, met + to_queue)),
            digits(share(lost_by_link - to_link, met - to_link))
        ));
    }
    recording
}
