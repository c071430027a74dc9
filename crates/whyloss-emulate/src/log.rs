//! Writes the log on a thread of its own: records (`packets.jsonl`) and a capture per host.
//!
//! A capture (`HOST.pcapng`) has the packets that the host sent, as the emulator took them, with
//! their fates in comments. It also has the packets that the host received, as the kernel took
//! them. Packets are written when their fates are known, with their own times; sort by time to see
//! their order (`reordercap`, or Wireshark's time column). Packets are cut to their first bytes. If
//! a file cannot be written to its end, it is cut back to its last complete record, and the run
//! reports the missing part.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time;

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgWriteError, PcapNgWriter};
use pcap_file::{DataLink, Endianness};
use whyloss::{Duration, Time};
use whyloss_sim::replace_file;

use crate::clock::monotonic;
use crate::header::Headers;
use crate::network::{Hop, Outcome};
use crate::record::{Fate, Fault, Record, State};

/// The number of bytes of a packet that a capture keeps.
pub(crate) const SNAP_LENGTH: usize = 160;

/// The number of records passed to the writer at once, because waking it costs more than writing a
/// record.
const BATCH: usize = 1 << 9;

/// The longest time for which a record waits for its batch.
const OLDEST: Duration = Duration::from_millis(10);

/// Maximum number of batches that wait for the disk. When it is reached, the emulator waits too,
/// which its lateness shows.
const BACKLOG: usize = 1 << 7;

/// The longest time for which a record waits in memory.
const FLUSH: time::Duration = time::Duration::from_millis(100);

/// The number of bytes that are written at once.
const CHUNK: usize = 1 << 16;

/// The error of a file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; it ends with its last whole record", path.display())]
pub struct WriteError {
    /// The path of the file or directory.
    pub path: PathBuf,
    /// The error of the operating system.
    pub source: io::Error,
}

impl WriteError {
    fn new(path: &Path, source: io::Error) -> Self {
        Self {
            path: path.to_owned(),
            source,
        }
    }
}

/// A packet's fate at a link.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) hop: Hop,
    pub(crate) headers: Headers,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) bytes: u32,
    pub(crate) departed: Option<Time>,
    pub(crate) fate: Fate,
    pub(crate) fault: Option<Fault>,
    /// The end of the packet's way, if this link was its last: when it was taken from its host, and
    /// its first bytes as sent and as received.
    pub(crate) end: Option<Ended>,
}

/// A packet whose way has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) read: Time,
    pub(crate) sent: Box<[u8]>,
    pub(crate) received: Option<Box<[u8]>>,
}

/// The names in a log.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) hosts: Vec<String>,
    pub(crate) links: Vec<String>,
}

/// The writing end.
#[derive(Debug)]
pub(crate) struct Log {
    sender: SyncSender<Vec<Entry>>,
    batch: Vec<Entry>,
    /// The time at which the batch must be written.
    due: Time,
    thread: JoinHandle<Result<(), WriteError>>,
}

impl Log {
    /// Opens the files in `directory`, which is made if it is not there. `epoch` is the time of day
    /// at time 0.
    pub(crate) fn create(
        directory: &Path,
        names: Names,
        epoch: time::Duration,
    ) -> Result<Self, WriteError> {
        fs::create_dir_all(directory).map_err(|error| WriteError::new(directory, error))?;
        let mut writer = Writer {
            records: Whole::create(directory.join("packets.jsonl"))?,
            sides: Vec::new(),
            names,
            epoch,
        };
        for host in &writer.names.hosts {
            let path = directory.join(format!("{host}.pcapng"));
            writer.sides.push(Side::create(path, host)?);
        }
        let (sender, receiver) = sync_channel(BACKLOG);
        let thread = thread::spawn(move || writer.run(&receiver));
        Ok(Self {
            sender,
            batch: Vec::with_capacity(BATCH),
            due: Time::ZERO,
            thread,
        })
    }

    /// Writes an entry. After a failed write, does nothing.
    pub(crate) fn write(&mut self, entry: Entry) {
        self.batch.push(entry);
        if self.batch.len() >= BATCH {
            self.hand_over();
        }
    }

    /// Passes on entries that have waited for long. Must be called regularly.
    pub(crate) fn turn(&mut self, now: Time) {
        if now >= self.due {
            self.hand_over();
            self.due = now + OLDEST;
        }
    }

    fn hand_over(&mut self) {
        if !self.batch.is_empty() {
            let batch = mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
            // The writer has gone only after an error, which `finish` answers.
            let _ = self.sender.send(batch);
        }
    }

    /// Returns whether writing has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Writes the remaining batches.
    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        self.hand_over();
        drop(self.sender);
        match self.thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// A file that holds whole records only.
#[derive(Debug)]
struct Whole {
    path: PathBuf,
    file: File,
    waiting: Vec<u8>,
    /// The number of bytes in the file.
    written: u64,
}

impl Whole {
    fn create(path: PathBuf) -> Result<Self, WriteError> {
        let file = replace_file(&path).map_err(|error| WriteError::new(&path, error))?;
        Ok(Self {
            path,
            file,
            waiting: Vec::with_capacity(2 * CHUNK),
            written: 0,
        })
    }

    /// Notes that a record is complete. Must be called after each record.
    fn record_done(&mut self) -> Result<(), WriteError> {
        if self.waiting.len() < CHUNK {
            Ok(())
        } else {
            self.flush()
        }
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        if let Err(error) = self.file.write_all(&self.waiting) {
            // Part of it may be there.
            let _ = self.file.set_len(self.written);
            self.waiting.clear();
            return Err(WriteError::new(&self.path, error));
        }
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }
}

/// The capture of one host.
struct Side {
    writer: PcapNgWriter<Vec<u8>>,
    file: Whole,
}

/// The record of a packet in a capture.
#[derive(Debug)]
struct Block {
    data: Box<[u8]>,
    bytes: u32,
    comment: Option<String>,
}

struct Writer {
    records: Whole,
    sides: Vec<Side>,
    names: Names,
    epoch: time::Duration,
}

impl Writer {
    fn run(mut self, receiver: &Receiver<Vec<Entry>>) -> Result<(), WriteError> {
        // However steadily entries come, none waits longer than `FLUSH` for its file.
        let mut flushed = monotonic();
        loop {
            let since = time::Duration::from_nanos(monotonic().saturating_sub(flushed));
            match receiver.recv_timeout(FLUSH.saturating_sub(since)) {
                Ok(batch) => batch.into_iter().try_for_each(|entry| self.entry(entry))?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.flush(),
            }
            if since >= FLUSH {
                self.flush()?;
                flushed = monotonic();
            }
        }
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        self.records.flush()?;
        self.sides.iter_mut().try_for_each(|side| side.file.flush())
    }

    fn entry(&mut self, entry: Entry) -> Result<(), WriteError> {
        let Entry {
            hop,
            headers,
            from,
            to,
            bytes,
            departed,
            fate,
            fault,
            end,
        } = entry;
        let comment = comment(&hop, fate, fault, &self.names.links[hop.link]);
        if let Some(end) = end {
            let sent = Block {
                data: end.sent,
                bytes,
                comment,
            };
            self.sides[from].block(end.read, self.epoch, &sent)?;
            if let (Some(data), Some(at)) = (end.received, departed) {
                let received = Block {
                    data,
                    bytes,
                    comment: None,
                };
                self.sides[to].block(at, self.epoch, &received)?;
            }
        }
        let scheduled = hop.outcome.at().as_nanos();
        let record = Record {
            offer: hop.offer,
            packet: hop.packet,
            link: self.names.links[hop.link].clone(),
            from: self.names.hosts[from].clone(),
            to: self.names.hosts[to].clone(),
            headers,
            bytes,
            enqueued: hop.enqueued.as_nanos(),
            waiting: hop.waiting as u32,
            scheduled,
            departed: departed.map(Time::as_nanos),
            fate,
            bits: match hop.outcome {
                Outcome::Damaged(_, bits) => bits,
                _ => Vec::new(),
            },
            state: hop
                .bad_state
                .map(|bad| if bad { State::Bad } else { State::Good }),
            fault,
        };
        let written = serde_json::to_writer(&mut self.records.waiting, &record);
        written.map_err(|error| WriteError::new(&self.records.path, error.into()))?;
        self.records.waiting.push(b'\n');
        self.records.record_done()
    }
}

impl Side {
    fn create(path: PathBuf, host: &str) -> Result<Self, WriteError> {
        let file = Whole::create(path)?;
        let refuse = |error: PcapNgWriteError| WriteError::new(&file.path, io::Error::other(error));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(
                "whyloss",
            ))],
            ..SectionHeaderBlock::default()
        };
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: SNAP_LENGTH as u32,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(host)),
                InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
            ],
        };
        let mut writer = PcapNgWriter::with_section_header(Vec::new(), section).map_err(refuse)?;
        writer.write_pcapng_block(interface).map_err(refuse)?;
        let mut side = Self { writer, file };
        side.take()?;
        Ok(side)
    }

    /// Writes a full block to the file.
    fn take(&mut self) -> Result<(), WriteError> {
        self.file.waiting.append(self.writer.get_mut());
        self.file.record_done()
    }

    fn block(&mut self, at: Time, epoch: time::Duration, block: &Block) -> Result<(), WriteError> {
        let comment = block
            .comment
            .as_deref()
            .map(|text| EnhancedPacketOption::Common(CommonOption::Comment(Cow::Borrowed(text))));
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: epoch + time::Duration::from_nanos(at.as_nanos()),
            original_len: block.bytes,
            data: Cow::Borrowed(&block.data),
            options: comment.into_iter().collect(),
        };
        let written = self.writer.write_pcapng_block(block);
        written.map_err(|error| WriteError::new(&self.file.path, io::Error::other(error)))?;
        self.take()
    }
}

/// Returns the comment that a capture gives a packet, unless the packet was delivered undamaged.
fn comment(hop: &Hop, fate: Fate, fault: Option<Fault>, link: &str) -> Option<String> {
    let waiting = hop.waiting;
    let state = match hop.bad_state {
        Some(true) => ", in the bad state",
        Some(false) => ", in the good state",
        None => "",
    };
    Some(match fate {
        Fate::Delivered => return None,
        Fate::Damaged => match &hop.outcome {
            Outcome::Damaged(_, bits) => {
                let first = bits.first().copied().unwrap_or_default();
                format!(
                    "damaged: {} bits from bit {first} of the packet ({link})",
                    bits.len()
                )
            }
            _ => format!("damaged ({link})"),
        },
        Fate::Overflow => format!("lost: congestion (queue full, {waiting} waiting at {link})"),
        Fate::Aqm => format!("lost: congestion (dropped early, {waiting} waiting at {link})"),
        Fate::Channel => format!("lost: wireless (corrupted on {link}{state})"),
        Fate::Fault => match fault {
            Some(Fault::Device) => "emulator's fault: the kernel did not take it".into(),
            _ => "emulator's fault: delivered late".into(),
        },
        Fate::Unfinished => format!("in flight on {link} when the run ended"),
    })
}
