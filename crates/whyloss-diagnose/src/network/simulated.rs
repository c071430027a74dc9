//! Reads the tables of a simulated run (`whyloss run --trace`, `docs/reference/traces.md`).
//!
//! `arrivals` lists the packets that arrived, and `losses` the lost ones with their causes; both
//! have the departure times. `sources` is optional and has the round trips. `links` and `transfers`
//! are not read.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use whyloss::Cause;

use super::table::{self, Row};
use super::{About, Network, Outcome, Room, Transmission};
use crate::error::Error;
use crate::flow::Protocol;
use crate::{Diagnosis, Options};

/// The tables that are read.
const TABLES: [&str; 3] = ["arrivals", "losses", "sources"];

/// The first bytes of every CSV table of a trace.
pub(crate) const HEAD: &[u8] = b"time";

/// The packets of one flow.
#[derive(Default)]
struct Packets {
    sent: Vec<Transmission>,
    /// The shortest round trip, in ns.
    round_trip: Option<u64>,
}

/// Returns the file of a table, as CSV or Parquet.
fn file(directory: &Path, table: &str) -> Option<PathBuf> {
    ["csv", "parquet"]
        .into_iter()
        .map(|ending| directory.join(table).with_extension(ending))
        .find(|path| path.is_file())
}

/// Returns whether a directory holds a trace.
pub(crate) fn is_here(directory: &Path) -> bool {
    file(directory, TABLES[0]).is_some() && file(directory, TABLES[1]).is_some()
}

/// Returns whether this is the name of a table.
pub(crate) fn is_table(name: &str) -> bool {
    TABLES.contains(&name) || matches!(name, "links" | "transfers")
}

/// Reads the trace in a directory.
///
/// # Errors
/// Returns an error if a table cannot be read, or has other columns.
pub(crate) fn read(directory: &Path, options: Options) -> Result<Diagnosis, Error> {
    let mut network = Network::new(options);
    let mut flows: BTreeMap<String, Packets> = BTreeMap::new();
    let (mut rows, mut wrong) = (0, 0);
    for name in TABLES {
        let Some(path) = file(directory, name) else {
            continue;
        };
        let (before, wrong_before) = (rows, wrong);
        table::read(&path, &mut |row| {
            rows += 1;
            let known = if network.room.full.is_some() {
                Some(())
            } else if name == "sources" {
                round_trip(row, &mut network.room, &mut flows)
            } else {
                transmission(row, rows - before, &mut network, &mut flows)
            };
            // A packet beyond the memory limit is not a malformed row.
            wrong += u64::from(known.is_none() && network.room.full.is_none());
        })?;
        if wrong - wrong_before == rows - before && rows > before {
            return Err(Error::Part {
                path,
                problem: format!(
                    "its rows have not what table `{name}` of a trace has (`docs/reference/traces.md`; `sent_s` is new: run it again)"
                ),
            });
        }
    }
    flows.retain(|_, packets| !packets.sent.is_empty());
    for (name, packets) in flows {
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        let about = About {
            protocol: Protocol::Simulated,
            ends: [nowhere; 2],
            name: Some(name),
            base_rtt_ms: packets.round_trip.map(|ns| ns as f64 / 1e6),
            first_sequence: 0,
        };
        network.flow(about, packets.sent);
    }
    let mut diagnosis = network.finish();
    diagnosis.frames = rows;
    if wrong > 0 {
        let note = format!("{wrong} rows lack something and were passed over");
        diagnosis.notes.push(note);
    }
    Ok(diagnosis)
}

/// Returns the flow that the row names, and creates it if it is new. Returns `None` if the row
/// names no flow, or the memory limit is reached.
fn flow<'a>(
    row: &Row<'_>,
    room: &mut Room,
    flows: &'a mut BTreeMap<String, Packets>,
) -> Option<&'a mut Packets> {
    let name = row.text("flow")?;
    if !flows.contains_key(name) {
        if !room.takes_flow(name.len()) {
            return None;
        }
        flows.insert(name.to_owned(), Packets::default());
    }
    flows.get_mut(name)
}

fn round_trip(row: &Row<'_>, room: &mut Room, flows: &mut BTreeMap<String, Packets>) -> Option<()> {
    let flow = flow(row, room, flows)?;
    if let Some(rtt) = row.nanos("rtt_s") {
        flow.round_trip = Some(flow.round_trip.map_or(rtt, |least| least.min(rtt)));
    }
    Some(())
}

/// Reads a row of `arrivals` or `losses`. Only `losses` has a `truth`.
fn transmission(
    row: &Row<'_>,
    frame: u64,
    network: &mut Network,
    flows: &mut BTreeMap<String, Packets>,
) -> Option<()> {
    let at = row.nanos("time_s")?;
    let sequence = row.whole("sequence")?;
    let (sent, bytes, outcome) = match row.text("truth") {
        None => {
            let sent = at.checked_sub(row.nanos("rott_s")?)?;
            let bytes = row.whole("size_bytes")?;
            (sent, bytes, Outcome::Arrived(at))
        }
        Some(truth) => {
            let cause = match truth {
                "congestion" => Cause::Congestion,
                "wireless" => Cause::Wireless,
                _ => return None,
            };
            let sent = row.nanos("sent_s")?;
            let place = network.place(row.text("where")?)?;
            network.count(place, cause);
            (sent, 0, Outcome::Lost(at, cause))
        }
    };
    let flow = flow(row, &mut network.room, flows)?;
    if !network.room.takes_packet() {
        return None;
    }
    flow.sent.push(Transmission {
        sent,
        tie: sequence,
        offset: sequence,
        bytes: bytes.min(u64::from(u32::MAX)) as u32,
        frame,
        hops: 1,
        outcome,
    });
    Some(())
}
