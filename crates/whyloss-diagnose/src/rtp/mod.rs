//! RTP streams (RFC 3550), found among datagrams without being told of, and what RTCP says of them.
//!
//! Numbers are used once, so a gap at the point of capture is a loss before it. What is lost beyond it only the receiver
//! knows: it asks for it (NACK, RFC 4585), lists what arrived (RFC 8888; transport-wide feedback where the packets carry
//! the numbers that it speaks of), or counts it (reports), and then nobody can say which packets they were.

mod clock;
mod feedback;
mod header;
mod stream;

use std::collections::HashMap;
use std::net::SocketAddr;

use self::feedback::Told;
use self::header::{Header, is_rtcp};
use self::stream::Stream;
use crate::flow::Flow;

/// Numbers in a row from which on datagrams are a stream.
const PROBATION: u32 = 4;
/// A step of numbers that still is "in a row".
const STEP: u16 = 16;
/// Candidates and senders of reports that are remembered, for each stream that may be.
const REMEMBERED: usize = 2;

/// When and in which frame something passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) now: u64,
    pub(crate) frame: u64,
}

type Ends = [SocketAddr; 2];

/// The streams that are alive.
pub(crate) struct Streams {
    alive: HashMap<(Ends, u32), Stream>,
    candidates: HashMap<(Ends, u32), Candidate>,
    /// When sender reports passed, by their sender and the middle of their NTP time.
    reports: HashMap<(u32, u32), u64>,
    limit: usize,
    pub(crate) evicted: u64,
    /// RTCP that could not be read, cut packets for the most part.
    pub(crate) unread: u64,
    others: u64,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    last: Header,
    seen: u32,
    waiting: [Option<(Seen, Header, u32)>; PROBATION as usize],
}

impl Streams {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            alive: HashMap::new(),
            candidates: HashMap::new(),
            reports: HashMap::new(),
            limit: limit.max(1),
            evicted: 0,
            unread: 0,
            others: 0,
        }
    }

    /// A datagram passes; streams that have to make room go to `done`.
    pub(crate) fn on_datagram(
        &mut self,
        ends: Ends,
        seen: Seen,
        (bytes, length): (&[u8], u32),
        done: &mut dyn FnMut(Flow),
    ) {
        if is_rtcp(bytes) {
            self.on_rtcp(ends, seen, bytes);
            return;
        }
        let Some(header) = Header::read(bytes, length) else {
            self.others += 1;
            return;
        };
        let key = (ends, header.ssrc);
        if let Some(stream) = self.alive.get_mut(&key) {
            stream.on_packet(seen, header, length, bytes);
        } else {
            self.on_candidate(key, seen, header, length, done);
        }
    }

    /// Lets datagrams that look like RTP show that they count.
    fn on_candidate(
        &mut self,
        key: (Ends, u32),
        seen: Seen,
        header: Header,
        length: u32,
        done: &mut dyn FnMut(Flow),
    ) {
        if self.candidates.len() >= REMEMBERED * self.limit && !self.candidates.contains_key(&key) {
            self.candidates.clear();
        }
        let new = Candidate {
            last: header,
            seen: 0,
            waiting: [None; PROBATION as usize],
        };
        let candidate = self.candidates.entry(key).or_insert(new);
        let step = header.sequence.wrapping_sub(candidate.last.sequence);
        let goes_on = candidate.seen == 0
            || ((1..=STEP).contains(&step) && header.payload_type == candidate.last.payload_type);
        if !goes_on {
            self.others += u64::from(candidate.seen);
            *candidate = new;
        }
        candidate.waiting[candidate.seen as usize] = Some((seen, header, length));
        candidate.last = header;
        candidate.seen += 1;
        if candidate.seen < PROBATION {
            return;
        }
        let waiting = candidate.waiting;
        self.candidates.remove(&key);
        if self.alive.len() >= self.limit {
            self.evict(done);
        }
        let mut stream = Stream::new(key.0);
        for (seen, header, length) in waiting.into_iter().flatten() {
            stream.on_packet(seen, header, length, &[]);
        }
        self.alive.insert(key, stream);
    }

    fn on_rtcp(&mut self, ends: Ends, seen: Seen, bytes: &[u8]) {
        let mut told = Vec::new();
        if !feedback::read(bytes, &mut told) {
            self.unread += 1;
        }
        for told in told {
            if let Told::Sender { ssrc, middle } = told {
                if self.reports.len() >= REMEMBERED * self.limit {
                    self.reports.clear();
                }
                self.reports.insert((ssrc, middle), seen.now);
                continue;
            }
            let sent = match told {
                Told::Block(block) => self.reports.get(&(block.ssrc, block.middle)).copied(),
                _ => None,
            };
            // Reports have ports of their own, or share those of the media: addresses and source tell whose they are.
            for ((other, ssrc), stream) in &mut self.alive {
                let towards = other[0].ip() == ends[1].ip() && other[1].ip() == ends[0].ip();
                if towards && told.ssrc().is_none_or(|about| about == *ssrc) {
                    stream.on_told(seen, &told, sent);
                }
            }
        }
    }

    /// Puts the eighth aside that was quiet for longest.
    fn evict(&mut self, done: &mut dyn FnMut(Flow)) {
        let alive = self.alive.iter();
        let mut last: Vec<(u64, (Ends, u32))> =
            alive.map(|(key, one)| (one.last(), *key)).collect();
        let many = (last.len() / 8).max(1);
        last.select_nth_unstable(many - 1);
        for (_, key) in &last[..many] {
            if let Some(stream) = self.alive.remove(key) {
                self.evicted += 1;
                done(stream.flow(None));
            }
        }
    }

    /// Those that are left, in the order of their beginning, and how many datagrams were of none.
    pub(crate) fn finish(mut self) -> (Vec<Flow>, u64) {
        self.others += self
            .candidates
            .values()
            .map(|one| u64::from(one.seen))
            .sum::<u64>();
        // What lies before the capture in one direction lies beyond it in the other.
        let beyond: HashMap<Ends, u64> = self
            .alive
            .iter()
            .filter_map(|((ends, _), stream)| Some((*ends, stream.beyond()?)))
            .collect();
        let mut left: Vec<(Ends, Stream)> = self
            .alive
            .into_iter()
            .map(|(key, one)| (key.0, one))
            .collect();
        left.sort_by_key(|(_, stream)| stream.first());
        let flows = left.into_iter().map(|(ends, stream)| {
            let back = beyond.iter().filter(|(other, _)| {
                other[0].ip() == ends[1].ip() && other[1].ip() == ends[0].ip()
            });
            let before = back.map(|(_, ns)| *ns).min();
            stream.flow(before)
        });
        (flows.collect(), self.others)
    }
}
