//! Finds RTP streams (RFC 3550) among datagrams, without signalling, and reads their RTCP reports.
//!
//! Sequence numbers are used once, so a gap at the point of capture is a loss before it. Losses
//! after this point appear only in the reports of the receiver. It requests packets (NACK, RFC
//! 4585), lists arrivals (RFC 8888, or transport-wide feedback if packets carry its numbers), or
//! counts losses (reports). A count does not identify the packets.

mod clock;
mod feedback;
mod header;
mod stream;

use foldhash::{HashMap, HashMapExt as _};
use std::net::{IpAddr, SocketAddr};

use self::feedback::{Credit, Heard, Told};
use self::header::{Header, is_rtcp};
use self::stream::Stream;
use crate::flow::Flow;
use crate::memory::Memory;

/// The minimum number of consecutive packets for datagrams to count as a stream.
const PROBATION: u32 = 4;
/// The largest step of numbers that counts as consecutive.
const STEP: u16 = 16;
/// The number of remembered candidates and sender reports per possible stream.
const REMEMBERED: usize = 2;
const MOST_REMEMBERED: usize = 1 << 16;

/// The time and frame of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) now: u64,
    pub(crate) frame: u64,
}

type Ends = [SocketAddr; 2];

/// Returns the smallest of `all`: one in `share`, and at least one if there is any.
fn oldest<T: Ord>(all: &mut [T], share: usize) -> &[T] {
    let many = (all.len() / share).max(1).min(all.len());
    if many > 0 {
        all.select_nth_unstable(many - 1);
    }
    &all[..many]
}

/// The hosts at both ends.
type Hosts = [IpAddr; 2];

fn hosts(ends: Ends) -> Hosts {
    ends.map(|end| end.ip())
}

/// The state that all streams from one host to another share.
#[derive(Default)]
struct Transport {
    /// The number of open streams.
    streams: usize,
    /// The latest packet of each transport-wide number: the ports and source of its stream, and its
    /// index in that stream.
    numbers: HashMap<u16, ([u16; 2], u32, u64)>,
    /// Whether the receiver has reported transport-wide numbers.
    told: bool,
}

/// The bytes of memory per transport-wide number.
const NUMBER: usize = 48;
/// The bytes of memory per candidate and per report. A map may hold twice the space that its
/// entries need.
const CANDIDATE: usize = 2 * size_of::<((Ends, u32), Candidate)>();
const REPORT: usize = 2 * size_of::<((u32, u32), u64)>();

/// The open streams.
pub(crate) struct Streams {
    alive: HashMap<(Ends, u32), Stream>,
    /// The ends of each stream, by hosts and source. Reports have separate ports, or share those of
    /// the media.
    ends: HashMap<(Hosts, u32), Vec<Ends>>,
    transports: HashMap<Hosts, Transport>,
    credit: Credit,
    memory: Memory,
    /// The memory in use, in bytes.
    pub(crate) held: usize,
    /// The number of streams closed at the memory limit.
    pub(crate) short: u64,
    candidates: HashMap<(Ends, u32), Candidate>,
    /// When sender reports passed, by sender and the middle of their NTP time.
    reports: HashMap<(u32, u32), u64>,
    limit: usize,
    pub(crate) evicted: u64,
    /// The number of unreadable RTCP packets, most of them cut short.
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
    pub(crate) fn new(limit: usize, memory: Memory) -> Self {
        Self {
            alive: HashMap::new(),
            ends: HashMap::new(),
            transports: HashMap::new(),
            credit: Credit::new(),
            memory,
            held: 0,
            short: 0,
            candidates: HashMap::new(),
            reports: HashMap::new(),
            limit: limit.max(1),
            evicted: 0,
            unread: 0,
            others: 0,
        }
    }

    /// Handles a datagram. Passes streams that are closed to free memory to `done`.
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
            self.credit.earn();
            let number = stream.on_packet(seen, header, length, bytes);
            self.account(&key);
            if let Some((number, place)) = number {
                let transport = self.transports.entry(hosts(ends)).or_default();
                let known = transport.numbers.len();
                let packet = (ends.map(|end| end.port()), header.ssrc, place);
                transport.numbers.insert(number, packet);
                let new = (transport.numbers.len() - known) * NUMBER;
                self.take(new);
            }
        } else {
            self.on_candidate(key, seen, header, length, done);
        }
    }

    /// Checks whether datagrams that look like RTP have consecutive numbers.
    fn on_candidate(
        &mut self,
        key: (Ends, u32),
        seen: Seen,
        header: Header,
        length: u32,
        done: &mut dyn FnMut(Flow),
    ) {
        if self.candidates.len() >= self.remembered() && !self.candidates.contains_key(&key) {
            self.forget_candidates();
        }
        let known = self.candidates.len();
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
        let (seen, waiting) = (candidate.seen, candidate.waiting);
        self.take((self.candidates.len() - known) * CANDIDATE);
        if seen < PROBATION {
            return;
        }
        self.candidates.remove(&key);
        self.free(CANDIDATE);
        if self.alive.len() >= self.limit {
            self.evicted += self.evict(done);
        }
        let mut stream = Stream::new(key.0);
        for (seen, header, length) in waiting.into_iter().flatten() {
            stream.on_packet(seen, header, length, &[]);
        }
        self.alive.insert(key, stream);
        let same = self.ends.entry((hosts(key.0), key.1)).or_default();
        same.push(key.0);
        self.transports.entry(hosts(key.0)).or_default().streams += 1;
        self.account(&key);
    }

    /// Drops the half of the candidates that was idle for longest.
    fn forget_candidates(&mut self) {
        let latest = |one: &Candidate| one.waiting.iter().flatten().map(|one| one.0.frame).max();
        let all = self.candidates.iter();
        let mut all: Vec<_> = all.map(|(key, one)| (latest(one), *key)).collect();
        for (_, key) in oldest(&mut all, 2) {
            if let Some(one) = self.candidates.remove(key) {
                self.others += u64::from(one.seen);
                self.free(CANDIDATE);
            }
        }
    }

    /// Drops the older half of the reports.
    fn forget_reports(&mut self) {
        let all = self.reports.iter();
        let mut all: Vec<_> = all.map(|(key, now)| (*now, *key)).collect();
        for (_, key) in oldest(&mut all, 2) {
            self.reports.remove(key);
            self.free(REPORT);
        }
    }

    fn remembered(&self) -> usize {
        self.limit.saturating_mul(REMEMBERED).min(MOST_REMEMBERED)
    }

    /// Counts the memory of a stream if that is due.
    fn account(&mut self, key: &(Ends, u32)) {
        if let Some(stream) = self.alive.get_mut(key)
            && let Some((before, after)) = stream.account()
        {
            self.held = self.held + after - before;
            self.memory.alive(before, after);
        }
    }

    fn on_rtcp(&mut self, ends: Ends, seen: Seen, bytes: &[u8]) {
        let mut credit = self.credit;
        let mut take = |told, credit: &mut Credit| self.on_told(ends, seen, told, credit);
        if !feedback::read(bytes, &mut credit, &mut take) {
            self.unread += 1;
        }
        self.credit = credit;
    }

    /// Handles a report. `ends` are those of the report; the stream that it describes flows in the
    /// other direction.
    fn on_told(&mut self, ends: Ends, seen: Seen, told: Told, credit: &mut Credit) {
        let towards = hosts([ends[1], ends[0]]);
        let sent = match told {
            Told::Sender { ssrc, middle } => {
                if self.reports.len() >= self.remembered() {
                    self.forget_reports();
                }
                if self.reports.insert((ssrc, middle), seen.now).is_none() {
                    self.take(REPORT);
                }
                return;
            }
            Told::Transport { first, heard } => {
                self.on_transport(towards, first, &heard);
                return;
            }
            Told::Block(block) => self.reports.get(&(block.ssrc, block.middle)).copied(),
            _ => None,
        };
        let Some(same) = self.ends.get(&(towards, told.ssrc())) else {
            return;
        };
        // The report's bytes pay for one stream. Others of the same hosts and source cost extra.
        let others = same.len().saturating_sub(1);
        if !credit.pays(others * (1 + told.packets())) {
            self.unread += 1;
            return;
        }
        let keys: Vec<(Ends, u32)> = same.iter().map(|&ends| (ends, told.ssrc())).collect();
        for key in &keys {
            if let Some(stream) = self.alive.get_mut(key) {
                stream.on_told(seen, &told, sent);
            }
            self.account(key);
        }
    }

    fn on_transport(&mut self, towards: Hosts, first: u16, heard: &[Heard]) {
        let Some(transport) = self.transports.get_mut(&towards) else {
            return;
        };
        transport.told = true;
        for (step, &heard) in (0..).zip(heard) {
            let number = first.wrapping_add(step);
            if let Some(&(ports, ssrc, place)) = transport.numbers.get(&number)
                && let Some(stream) = self.alive.get_mut(&(
                    [
                        SocketAddr::new(towards[0], ports[0]),
                        SocketAddr::new(towards[1], ports[1]),
                    ],
                    ssrc,
                ))
            {
                stream.on_transport(place, heard);
                if let Some((before, after)) = stream.account() {
                    self.held = self.held + after - before;
                    self.memory.alive(before, after);
                }
            }
        }
    }

    /// Frees memory: closes the eighth of the streams that was idle for longest, and drops half of
    /// the candidates and reports.
    pub(crate) fn make_room(&mut self, done: &mut dyn FnMut(Flow)) {
        self.forget_candidates();
        self.forget_reports();
        self.short += self.evict(done);
    }

    /// Closes the eighth of the streams that was idle for longest. Returns their number.
    fn evict(&mut self, done: &mut dyn FnMut(Flow)) -> u64 {
        let alive = self.alive.iter();
        let mut last: Vec<(u64, (Ends, u32))> =
            alive.map(|(key, one)| (one.last(), *key)).collect();
        let last = oldest(&mut last, 8);
        for (_, key) in last {
            if let Some(mut stream) = self.alive.remove(key) {
                self.release(key, &mut stream);
                done(stream.flow(None));
            }
        }
        last.len() as u64
    }

    /// Closes a stream.
    fn release(&mut self, key: &(Ends, u32), stream: &mut Stream) {
        let hosts = hosts(key.0);
        self.free(stream.held());
        let of = (hosts, key.1);
        if let Some(same) = self.ends.get_mut(&of) {
            same.retain(|ends| *ends != key.0);
            if same.is_empty() {
                self.ends.remove(&of);
            }
        }
        if let Some(transport) = self.transports.get_mut(&hosts) {
            stream.hear(transport.told);
            transport.streams -= 1;
            if transport.streams == 0 {
                let bytes = transport.numbers.len() * NUMBER;
                self.transports.remove(&hosts);
                self.free(bytes);
            }
        }
    }

    fn take(&mut self, bytes: usize) {
        self.held += bytes;
        self.memory.alive(0, bytes);
    }

    fn free(&mut self, bytes: usize) {
        self.held -= bytes;
        self.memory.alive(bytes, 0);
    }

    /// Closes the remaining streams in the order of their first packets. Returns the number of
    /// datagrams that belong to no stream.
    pub(crate) fn finish(mut self, done: &mut dyn FnMut(Flow)) -> u64 {
        self.others += self
            .candidates
            .values()
            .map(|one| u64::from(one.seen))
            .sum::<u64>();
        // The path before the capture in one direction is the path beyond it in the other.
        let mut beyond: HashMap<Hosts, u64> = HashMap::new();
        for ((ends, _), stream) in &self.alive {
            if let Some(ns) = stream.beyond() {
                let least = beyond.entry(hosts(*ends)).or_insert(ns);
                *least = ns.min(*least);
            }
        }
        let mut left: Vec<(Ends, Stream)> = self
            .alive
            .into_iter()
            .map(|(key, one)| (key.0, one))
            .collect();
        left.sort_by_key(|(_, stream)| stream.first());
        for (ends, mut stream) in left {
            let told = self.transports.get(&hosts(ends)).map(|one| one.told);
            stream.hear(told.unwrap_or(false));
            let before = beyond.get(&hosts([ends[1], ends[0]])).copied();
            self.memory.alive(stream.held(), 0);
            done(stream.flow(before));
        }
        self.memory.alive(self.held, 0);
        self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: usize = 17 * 100;

    /// Every other number of one stream among many passes. Then `many` requests for 1,700 numbers
    /// each follow.
    fn request(many: u64) -> Streams {
        let ends = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 5000)));
        let mut streams = Streams::new(1000, Memory::new(1 << 30));
        let mut now = 0;
        let mut pass = |ends, bytes: &[u8]| {
            now += 1_000_000;
            let seen = Seen { now, frame: now };
            streams.on_datagram(ends, seen, (bytes, bytes.len() as u32), &mut |_| ());
        };
        let rtp = |number: u16, ssrc: u32| {
            let mut bytes = vec![0x80, 0];
            bytes.extend(number.to_be_bytes());
            bytes.extend((u32::from(number) * 160).to_be_bytes());
            bytes.extend(ssrc.to_be_bytes());
            bytes.extend([0; 20]);
            bytes
        };
        for ssrc in 0..300 {
            (0..5).for_each(|number| pass(ends, &rtp(number, ssrc)));
        }
        (0..5000).for_each(|number| pass(ends, &rtp(number * 2, 999)));
        for turn in 0..many {
            let mut nack = vec![0x81, 205, 0, 2 + 100, 0, 0, 0, 1, 0, 0, 3, 231];
            for entry in 0..100 {
                nack.extend((turn as u16 * 31 + entry * 17).to_be_bytes());
                nack.extend([0xff; 2]);
            }
            pass([ends[1], ends[0]], &nack);
        }
        streams
    }

    #[test]
    fn requests_take_steps_in_proportion() {
        crate::steps::assert_linear(200, 30 * NUMBERS as u64, |many| {
            assert_eq!(request(many).unread, 0);
        });
    }

    #[test]
    fn candidates_and_reports_make_room_for_new_ones() {
        let mut streams = Streams::new(4, Memory::new(1 << 30));
        let ends = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 5000)));
        let mut frame = 0;
        let mut pass = |streams: &mut Streams, bytes: &[u8]| {
            frame += 1;
            let seen = Seen { now: frame, frame };
            streams.on_datagram(ends, seen, (bytes, bytes.len() as u32), &mut |_| ());
        };
        let rtp = |number: u8, ssrc: u8| {
            let mut bytes = vec![0x80, 0, 0, number, 0, 0, 0, number, 0, 0, 0, ssrc];
            bytes.extend([0; 20]);
            bytes
        };
        let report = |middle: u8| {
            let mut bytes = vec![0x80, 200, 0, 6, 0, 0, 0, 1, 0, 0, 0, middle];
            bytes.extend([0; 16]);
            bytes
        };
        // One stream mixes with sources that are never seen again, more of them than are
        // remembered.
        for number in 0..4 {
            pass(&mut streams, &rtp(number, 255));
            (0..5).for_each(|other| pass(&mut streams, &rtp(0, 10 * number + other)));
            (0..5).for_each(|other| pass(&mut streams, &report(10 * number + other)));
        }
        assert_eq!(streams.alive.len(), 1);
        let (candidates, reports) = (streams.candidates.len(), streams.reports.len());
        assert!(candidates <= 8 && reports <= 8);
        let stream: usize = streams.alive.values().map(Stream::held).sum();
        assert_eq!(
            streams.held,
            stream + candidates * CANDIDATE + reports * REPORT
        );
        assert_eq!(streams.finish(&mut |_| ()), 20);
    }

    #[test]
    fn streams_that_make_room_take_their_memory_with_them() {
        let mut streams = request(1);
        let held = streams.held;
        assert!(held > 301 * size_of::<Stream>());
        let mut over = 0;
        while !streams.alive.is_empty() {
            streams.make_room(&mut |_| over += 1);
        }
        assert_eq!((over, streams.short, streams.held), (301, 301, 0));
        assert!(streams.ends.is_empty() && streams.transports.is_empty());
    }
}
