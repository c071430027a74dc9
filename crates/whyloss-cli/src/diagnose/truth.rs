//! What became of packets, by the log that `whyloss link` writes.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use whyloss::Cause;
use whyloss_diagnose::truth::{Fate, Passage, Truth};
use whyloss_emulate::archive;
use whyloss_emulate::record::{self, Record};

use crate::error::CliError;

/// TCP's number in IP.
const TCP: u8 = 6;

/// The log in this directory.
pub(super) fn read(directory: &Path) -> Result<Truth, CliError> {
    let mut truth = Truth::default();
    for record in archive::stream(directory).map_err(CliError::Archive)? {
        if let Some(passage) = passage(&record.map_err(CliError::Archive)?) {
            truth.add(&passage);
        }
    }
    Ok(truth)
}

/// A packet of TCP.
fn passage(record: &Record) -> Option<Passage> {
    let headers = &record.headers;
    if headers.protocol != TCP {
        return None;
    }
    let socket = |ip, port| Some(SocketAddr::new(IpAddr::V4(ip), port?));
    Some(Passage {
        source: socket(headers.source, headers.source_port)?,
        destination: socket(headers.destination, headers.destination_port)?,
        sequence: headers.sequence?,
        packet: record.packet,
        bytes: record.bytes,
        time: record.enqueued,
        fate: match record.fate {
            record::Fate::Overflow | record::Fate::Aqm => Fate::Lost(Cause::Congestion),
            // TCP's checksum covers all of a segment: one that was damaged is dropped.
            record::Fate::Channel | record::Fate::Damaged => Fate::Lost(Cause::Wireless),
            record::Fate::Fault => Fate::Fault,
            record::Fate::Delivered | record::Fate::Unfinished => Fate::Arrived,
        },
    })
}
