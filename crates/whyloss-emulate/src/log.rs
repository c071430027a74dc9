//! Writes the log on a separate thread: records (`packets.jsonl`) and a capture per host.
//!
//! A capture (`HOST.pcapng`) has the packets that the host sent, as the emulator took them, with
//! their fates in comments. It also has the packets that the host received, as the kernel took
//! them. Packets are written when their fates are known, with their original times. To see them in
//! order, sort by time (`reordercap`, or Wireshark's time column). Packets are cut to their first
//! bytes. If a file cannot be written to its end, it is cut back to its last complete record, and
//! the run reports the missing part.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::mem;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};
use whyloss::{Duration, Time};
use whyloss_sim::replace_file;

use crate::clock::monotonic;
use crate::header::Headers;
use crate::network::{Hop, Outcome};
use crate::record::{Fate, Fault, Record, State};

/// The number of bytes of a packet that a capture keeps.
const SNAP_LENGTH: usize = 160;

/// The number of records in a batch for the writer, because waking it costs more than writing a
/// record.
const BATCH: usize = 1 << 9;

/// The longest time for which a record waits for its batch.
const OLDEST: Duration = Duration::from_millis(10);

/// The maximum number of batches that wait for the disk. When it is reached, the emulator also
/// waits, which its lateness shows.
const BACKLOG: usize = 1 << 7;

/// The longest time for which a record waits in memory.
const FLUSH: time::Duration = time::Duration::from_millis(100);

/// The number of bytes per write.
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
}

/// The end of a packet's journey.
#[derive(Debug)]
pub(crate) struct Ended<T> {
    /// When the packet was taken from its host.
    pub(crate) read: Time,
    /// The first bytes of the packet as its host sent it.
    pub(crate) sent: T,
    /// The first bytes of the packet as it left; `None` if it did not.
    pub(crate) received: Option<T>,
}

/// Entries for the writer.
#[derive(Debug, Default)]
struct Batch {
    /// The entries. The entry at a packet's last link also has the end of its journey, with
    /// positions in `bytes`.
    entries: Vec<(Entry, Option<Ended<Range<usize>>>)>,
    bytes: Vec<u8>,
}

impl Batch {
    /// Copies the first bytes of a packet. Returns their position.
    fn keep(&mut self, packet: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes
            .extend_from_slice(&packet[..packet.len().min(SNAP_LENGTH)]);
        start..self.bytes.len()
    }
}

/// The names in a log.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) hosts: Vec<String>,
    pub(crate) links: Vec<String>,
}

/// The end of the log that the forwarder uses.
#[derive(Debug)]
pub(crate) struct Log {
    sender: SyncSender<Batch>,
    /// Written batches. Their memory is reused, because memory that one thread allocates and
    /// another frees makes both wait.
    written: Receiver<Batch>,
    batch: Batch,
    /// When the batch must be passed on.
    due: Time,
    thread: JoinHandle<Result<(), WriteError>>,
}

impl Log {
    /// Opens the files in `directory`, which is created if it does not exist. `epoch` is the time
    /// of day at time 0.
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
            writer.sides.push(Whole::capture(path, host)?);
        }
        let (sender, receiver) = sync_channel(BACKLOG);
        let (returned, written) = channel();
        let thread = thread::spawn(move || writer.run(&receiver, &returned));
        Ok(Self {
            sender,
            written,
            batch: Batch::default(),
            due: Time::ZERO,
            thread,
        })
    }

    /// Writes an entry, with the end of the packet's journey if it has ended. After a failed write,
    /// does nothing.
    pub(crate) fn write(&mut self, entry: Entry, end: Option<Ended<&[u8]>>) {
        let end = end.map(|end| {
            let sent = self.batch.keep(end.sent);
            Ended {
                read: end.read,
                received: end.received.map(|received| {
                    if std::ptr::eq(received, end.sent) {
                        sent.clone()
                    } else {
                        self.batch.keep(received)
                    }
                }),
                sent,
            }
        });
        self.batch.entries.push((entry, end));
        if self.batch.entries.len() >= BATCH {
            self.hand_over();
        }
    }

    /// Passes on entries that have waited too long. Call it regularly.
    pub(crate) fn turn(&mut self, now: Time) {
        if now >= self.due {
            self.hand_over();
            self.due = now + OLDEST;
        }
    }

    fn hand_over(&mut self) {
        if !self.batch.entries.is_empty() {
            let next = self.written.try_recv().unwrap_or_default();
            let batch = mem::replace(&mut self.batch, next);
            // The writer ends early only after an error, which `finish` returns.
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

/// A file that keeps only whole records.
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
            // The file may be incomplete.
            let _ = self.file.set_len(self.written);
            self.waiting.clear();
            return Err(WriteError::new(&self.path, error));
        }
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }
}

struct Writer {
    records: Whole,
    /// The captures of the hosts.
    sides: Vec<Whole>,
    names: Names,
    epoch: time::Duration,
}

impl Writer {
    fn run(
        mut self,
        receiver: &Receiver<Batch>,
        returned: &Sender<Batch>,
    ) -> Result<(), WriteError> {
        // No entry waits longer than `FLUSH` for its file, at any rate of entries.
        let mut flushed = monotonic();
        loop {
            let since = time::Duration::from_nanos(monotonic().saturating_sub(flushed));
            match receiver.recv_timeout(FLUSH.saturating_sub(since)) {
                Ok(mut batch) => {
                    for (entry, end) in batch.entries.drain(..) {
                        self.entry(entry, end, &batch.bytes)?;
                    }
                    batch.bytes.clear();
                    // After the last batch, the forwarder no longer receives.
                    let _ = returned.send(batch);
                }
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
        self.sides.iter_mut().try_for_each(Whole::flush)
    }

    /// Writes an entry. Positions are those of the packet's bytes in `bytes`.
    fn entry(
        &mut self,
        entry: Entry,
        end: Option<Ended<Range<usize>>>,
        bytes: &[u8],
    ) -> Result<(), WriteError> {
        let Entry {
            hop,
            headers,
            from,
            to,
            bytes: size,
            departed,
            fate,
            fault,
        } = entry;
        if let Some(end) = end {
            let comment = comment(&hop, fate, fault, &self.names.links[hop.link]);
            let mut block =
                |host: usize, at: Time, place: Range<usize>, comment: Option<String>| {
                    let at = self.epoch.as_nanos() as u64 + at.as_nanos();
                    self.sides[host].block(at, size, &bytes[place], comment)
                };
            block(from, end.read, end.sent, comment)?;
            if let (Some(received), Some(at)) = (end.received, departed) {
                block(to, at, received, None)?;
            }
        }
        let scheduled = hop.outcome.at().as_nanos();
        let record = Record {
            offer: hop.offer,
            packet: hop.packet,
            link: self.names.links[hop.link].as_str(),
            from: &self.names.hosts[from],
            to: &self.names.hosts[to],
            headers,
            bytes: size,
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

impl Whole {
    /// Begins the capture of a host.
    fn capture(path: PathBuf, host: &str) -> Result<Self, WriteError> {
        let mut file = Self::create(path)?;
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
        let begun = PcapNgWriter::with_section_header(&mut file.waiting, section)
            .and_then(|mut writer| writer.write_pcapng_block(interface));
        match begun {
            Ok(_) => Ok(file),
            Err(error) => Err(WriteError::new(&file.path, io::Error::other(error))),
        }
    }

    /// Writes the first bytes of a packet of this size, at this time of day in nanoseconds, as an
    /// Enhanced Packet Block (draft-ietf-opsawg-pcapng-03, section 4.3).
    fn block(
        &mut self,
        at: u64,
        size: u32,
        data: &[u8],
        comment: Option<String>,
    ) -> Result<(), WriteError> {
        let block = &mut self.waiting;
        let start = block.len();
        let words = [
            6,
            0,
            0,
            (at >> 32) as u32,
            at as u32,
            data.len() as u32,
            size,
        ];
        block.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        // The length of each part and of each block is a multiple of four.
        let pad = |block: &mut Vec<u8>| block.resize(block.len().next_multiple_of(4), 0);
        block.extend_from_slice(data);
        pad(block);
        if let Some(text) = comment {
            block.extend(
                [1, text.len() as u16]
                    .iter()
                    .flat_map(|half| half.to_le_bytes()),
            );
            block.extend_from_slice(text.as_bytes());
            pad(block);
            block.extend_from_slice(&[0; 4]);
        }
        let length = ((block.len() - start + 4) as u32).to_le_bytes();
        block.extend_from_slice(&length);
        block[start + 4..start + 8].copy_from_slice(&length);
        self.record_done()
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
