//! The sources of data: a pattern, sent as fast as the rate allows or in frames; a file; or
//! standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;

use whyloss::{Duration, Time};
use whyloss_sim::scenario::{Application, Stream};

use super::EndpointError;
use super::pattern::{EMPTY, digest, fill};

/// The number of packets that are read ahead.
const AHEAD: usize = 64;
/// The time between two checks of a source without data.
const LOOK: Duration = Duration::from_millis(5);

/// The source of the data to send.
#[derive(Debug)]
pub(super) struct Source {
    kind: Kind,
    size: usize,
    session: u32,
    /// The number of packets that may still leave.
    left: u64,
    /// The number of bytes taken so far, and their digest.
    pub(super) bytes: u64,
    pub(super) digest: u64,
}

#[derive(Debug)]
enum Kind {
    Greedy,
    Frames(Frames),
    Chunks {
        path: PathBuf,
        from: Receiver<io::Result<Vec<u8>>>,
        next: Option<Vec<u8>>,
        ended: bool,
    },
}

/// Frames at regular times, each of whole packets.
#[derive(Debug)]
struct Frames {
    stream: Stream,
    /// When the next frame is captured.
    due: Time,
    /// The captured frames with packets left: capture time and number of packets.
    waiting: std::collections::VecDeque<(Time, u32)>,
}

/// The maximum number of frames that wait for the transport; older ones are discarded.
const MOST_FRAMES: usize = 100_000;

impl Source {
    pub(super) fn application(
        application: &Application,
        size: usize,
        session: u32,
        now: Time,
    ) -> Result<Self, EndpointError> {
        let kind = match application {
            Application::Greedy => Kind::Greedy,
            // A flow that is read from words has none, but a program may make one that has.
            Application::Transfers(_) => return Err(EndpointError::Transfers),
            Application::Stream(stream) => Kind::Frames(Frames {
                stream: stream.clone(),
                due: now,
                waiting: std::collections::VecDeque::new(),
            }),
        };
        Ok(Self {
            kind,
            size,
            session,
            left: u64::MAX,
            bytes: 0,
            digest: EMPTY,
        })
    }

    /// Returns a file, or standard input for `-`.
    pub(super) fn file(path: &Path, size: usize, session: u32) -> Result<Self, EndpointError> {
        let (sender, from) = sync_channel(AHEAD);
        let mut reader: Box<dyn Read + Send> = if path.as_os_str() == "-" {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path).map_err(failed(path))?)
        };
        thread::spawn(move || {
            loop {
                let mut chunk = Vec::with_capacity(size);
                let read = reader.by_ref().take(size as u64).read_to_end(&mut chunk);
                let last = chunk.len() < size;
                let chunk = read.map(|_| chunk);
                let failed = chunk.is_err();
                let empty = chunk.as_ref().is_ok_and(Vec::is_empty);
                if (!empty && sender.send(chunk).is_err()) || last || failed {
                    return;
                }
            }
        });
        let kind = Kind::Chunks {
            path: path.to_owned(),
            from,
            next: None,
            ended: false,
        };
        Ok(Self {
            kind,
            size,
            session,
            left: u64::MAX,
            bytes: 0,
            digest: EMPTY,
        })
    }

    /// Limits the source to this number of packets.
    pub(super) fn up_to(self, packets: u64) -> Self {
        Self {
            left: packets,
            ..self
        }
    }

    /// Returns whether the receiver can check the payloads.
    pub(super) fn is_pattern(&self) -> bool {
        !matches!(self.kind, Kind::Chunks { .. })
    }

    /// Returns whether there is a packet to send.
    pub(super) fn has_data(&mut self, now: Time) -> Result<bool, EndpointError> {
        match &mut self.kind {
            _ if self.left == 0 => Ok(false),
            Kind::Greedy => Ok(true),
            Kind::Frames(frames) => Ok(frames.refresh(now)),
            Kind::Chunks {
                path,
                from,
                next,
                ended,
            } => {
                if next.is_none() && !*ended {
                    match from.try_recv() {
                        Ok(chunk) => *next = Some(chunk.map_err(failed(path))?),
                        Err(TryRecvError::Empty) => {}
                        Err(TryRecvError::Disconnected) => *ended = true,
                    }
                }
                Ok(next.is_some())
            }
        }
    }

    /// Returns whether the source has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.left == 0
            || matches!(
                self.kind,
                Kind::Chunks {
                    ended: true,
                    next: None,
                    ..
                }
            )
    }

    /// Returns the time of the next check, unless only the transport decides.
    pub(super) fn next(&self, now: Time) -> Time {
        match &self.kind {
            _ if self.left == 0 => Time::MAX,
            Kind::Greedy
            | Kind::Chunks { ended: true, .. }
            | Kind::Chunks { next: Some(_), .. } => Time::MAX,
            Kind::Frames(frames) => frames.due,
            Kind::Chunks { .. } => now + LOOK,
        }
    }

    /// Returns the payload of packet `number`.
    pub(super) fn take(&mut self, number: u32) -> Vec<u8> {
        let payload = match &mut self.kind {
            Kind::Chunks { next, .. } => next.take().unwrap_or_default(),
            Kind::Greedy => pattern(self.session, number, self.size),
            Kind::Frames(frames) => {
                frames.take();
                pattern(self.session, number, self.size)
            }
        };
        self.left -= 1;
        self.bytes += payload.len() as u64;
        if !self.is_pattern() {
            self.digest = digest(self.digest, &payload);
        }
        payload
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> EndpointError {
    let path = path.to_owned();
    |source| EndpointError::Source { path, source }
}

fn pattern(session: u32, number: u32, size: usize) -> Vec<u8> {
    let mut payload = vec![0; size];
    fill(session, number, &mut payload);
    payload
}

impl Frames {
    fn refresh(&mut self, now: Time) -> bool {
        while self.due <= now {
            self.waiting.push_back((self.due, self.stream.packets));
            self.due += self.stream.interval.max(Duration::from_nanos(1));
            if self.waiting.len() > MOST_FRAMES {
                self.waiting.pop_front();
            }
        }
        // A frame whose first packet has left does not expire.
        while let (Some(&(captured, left)), Some(patience)) =
            (self.waiting.front(), self.stream.patience)
            && left == self.stream.packets
            && now - captured > patience
        {
            self.waiting.pop_front();
        }
        !self.waiting.is_empty()
    }

    fn take(&mut self) {
        if let Some((_, left)) = self.waiting.front_mut() {
            *left -= 1;
            if *left == 0 {
                self.waiting.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use whyloss_sim::scenario::{Arrivals, SizedTransfers};

    use super::*;

    #[test]
    fn frames_come_in_time() {
        let stream = Stream {
            interval: Duration::from_millis(20),
            packets: 2,
            patience: Some(Duration::from_millis(30)),
            playout: Vec::new(),
        };
        let millis = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let mut source =
            Source::application(&Application::Stream(stream), 10, 1, millis(0)).expect("a stream");
        assert!(source.has_data(millis(0)).unwrap());
        assert_eq!(source.take(0).len(), 10);
        // The first frame has begun to leave. The second, captured at 20 ms, is discarded at 51 ms.
        assert!(source.has_data(millis(51)).unwrap());
        source.take(1);
        assert!(source.has_data(millis(51)).unwrap());
        source.take(2);
        source.take(3);
        assert!(!source.has_data(millis(52)).unwrap());
        assert_eq!(source.next(millis(52)), millis(60));
    }

    #[test]
    fn transfers_are_refused() {
        let transfers = Application::Transfers(SizedTransfers {
            size: 1_000,
            arrivals: Arrivals::Once,
        });
        let error = Source::application(&transfers, 10, 1, Time::ZERO).unwrap_err();
        assert!(matches!(error, EndpointError::Transfers), "{error}");
    }

    #[test]
    fn a_pattern_ends_after_so_many_packets() {
        let now = Time::ZERO;
        let mut source = Source::application(&Application::Greedy, 10, 1, now)
            .expect("greedy")
            .up_to(2);
        source.take(0);
        assert!(source.has_data(now).unwrap() && !source.has_ended());
        source.take(1);
        assert!(!source.has_data(now).unwrap() && source.has_ended());
        assert_eq!(source.next(now), Time::MAX);
    }

    #[test]
    fn a_file_comes_in_whole_packets() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [7; 25]).unwrap();
        let mut source = Source::file(file.path(), 10, 1).unwrap();
        let mut sizes = Vec::new();
        while !source.has_ended() {
            if source.has_data(Time::ZERO).unwrap() {
                sizes.push(source.take(0).len());
            }
        }
        assert_eq!(sizes, [10, 10, 5]);
        assert_eq!((source.bytes, source.digest), (25, digest(EMPTY, &[7; 25])));
    }
}
