//! Recordings out of logs and captures: what the link's channel did to each packet that reached it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde::Deserialize;
use whyloss::Cause;
use whyloss_sim::recording::{MOST_PACKETS, Recording, Table, Trial};

use crate::network::table;
use crate::{Diagnosis, Error};

/// A line of `packets.jsonl`.
#[derive(Deserialize)]
struct Line<'l> {
    link: &'l str,
    fate: &'l str,
    offer: u64,
    enqueued: u64,
}

/// Reads the log of an emulated link (`packets.jsonl` of `whyloss link --log`): a trial for each
/// link whose channel lost packets. Packets that a queue dropped never met the channel. Packets are
/// in the order in which they came to the link, with the times of that, so that models in time blur
/// by what a queue delays.
///
/// # Errors
/// If it cannot be read, or a line is none of such a log.
pub fn emulated(path: &Path) -> Result<Recording, Error> {
    let mut links: BTreeMap<String, Vec<(u64, u64, bool)>> = BTreeMap::new();
    let mut packets = 0;
    let mut reader = BufReader::new(File::open(path)?);
    let mut text = String::new();
    for number in 1_u64.. {
        text.clear();
        if std::io::Read::take(&mut reader, 1 << 20).read_line(&mut text)? == 0 {
            break;
        }
        let line: Line<'_> = serde_json::from_str(&text).map_err(|error| Error::Header {
            kind: "the log of an emulated link",
            problem: format!("line {number} is none of it: {error}"),
        })?;
        let lost = match line.fate {
            "delivered" => false,
            "channel" => true,
            _ => continue,
        };
        packets += 1;
        if packets > MOST_PACKETS {
            return Err(Error::Header {
                kind: "the log of an emulated link",
                problem: format!("it has more than {MOST_PACKETS} packets"),
            });
        }
        if !links.contains_key(line.link) {
            links.insert(line.link.to_owned(), Vec::new());
        }
        if let Some(link) = links.get_mut(line.link) {
            link.push((line.offer, line.enqueued, lost));
        }
    }
    let mut recording = Recording::default();
    for (link, mut packets) in links {
        if packets.iter().all(|(.., lost)| !lost) {
            let count = packets.len();
            let note = format!("the channel of link {link} lost none of {count} packets: left out");
            recording.notes.push(note);
            continue;
        }
        // A line is written as a packet leaves or is lost, which for a lost one is a link's delay
        // earlier.
        packets.sort_unstable();
        recording.trials.push(Trial {
            lost: packets.iter().map(|(.., lost)| *lost).collect(),
            times: packets.iter().map(|(_, time, _)| *time as i64).collect(),
        });
    }
    Ok(recording)
}

/// Reads a Parquet table (feature `parquet`) with the columns that [`whyloss_sim::recording`] takes
/// from CSV. `column` names the one that holds the packets.
///
/// # Errors
/// If it cannot be read, has no such column, or a row holds no packet.
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

/// Takes the losses that `diagnosis` attributes to the link: a trial for each flow. Losses to
/// congestion are left out, and so are those whose cause cannot be told.
pub fn diagnosed(diagnosis: &Diagnosis) -> Recording {
    let mut recording = Recording::default();
    let (mut congested, mut untold) = (0, 0);
    for flow in &diagnosis.flows {
        let packets = flow.counts.data_packets as usize;
        if packets > MOST_PACKETS {
            continue;
        }
        // Transmissions count from 1; `None` is one that never met the channel.
        let mut fates = vec![Some(false); packets];
        for loss in &flow.losses {
            let fate = match loss.verdict.map(|verdict| verdict.cause) {
                Some(Cause::Wireless) => Some(true),
                Some(Cause::Congestion) => {
                    congested += u64::from(loss.packets);
                    None
                }
                None => {
                    untold += u64::from(loss.packets);
                    None
                }
            };
            let first = (loss.order as usize).saturating_sub(1);
            let last = first.saturating_add(loss.packets as usize).min(packets);
            for place in fates.get_mut(first..last).into_iter().flatten() {
                *place = fate;
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
    recording.notes.push(format!(
        "causes are verdicts of `whyloss diagnose`, not the truth; {congested} losses to congestion and {untold} that cannot be \
         told are left out"
    ));
    recording
}
