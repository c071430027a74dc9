//! Follows TCP connections packet by packet in bounded memory.

mod clock;
mod connection;
mod copies;
mod covered;
mod echo;
mod gaps;
mod half;
mod sent;
#[cfg(test)]
mod tests;

pub(crate) use connection::Connection;
pub(crate) use half::Half;

use std::hash::{Hash, Hasher};
use std::net::{SocketAddr, SocketAddrV4};

use foldhash::{HashMap, HashMapExt as _};

use crate::memory::Memory;
use crate::packet::Segment;

/// The two ends of a connection, the smaller address first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// The two ends for IPv4, each with its address and port in one word.
    V4(u64, u64),
    Other(SocketAddr, SocketAddr),
}

impl Key {
    /// Creates the key of a connection. Also returns whether `a` is its first end.
    fn new(a: SocketAddr, b: SocketAddr) -> (Self, bool) {
        if let (SocketAddr::V4(a), SocketAddr::V4(b)) = (a, b) {
            let word =
                |end: SocketAddrV4| u64::from(end.ip().to_bits()) << 16 | u64::from(end.port());
            let (a, b) = (word(a), word(b));
            return (Self::V4(a.min(b), a.max(b)), a <= b);
        }
        (Self::Other(a.min(b), a.max(b)), a <= b)
    }
}

impl Hash for Key {
    /// Hashes the ends without the variant, because most keys have the same one.
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::V4(a, b) => (a, b).hash(state),
            Self::Other(a, b) => (a, b).hash(state),
        }
    }
}

/// The open connections.
pub(crate) struct Connections {
    alive: HashMap<Key, Connection>,
    limit: usize,
    begun: u64,
    /// The numbers of connections closed at the limit of connections, and at the memory limit.
    pub(crate) evicted: u64,
    pub(crate) short: u64,
    memory: Memory,
    /// The memory in use, in bytes.
    pub(crate) held: usize,
}

impl Connections {
    pub(crate) fn new(limit: usize, memory: Memory) -> Self {
        Self {
            alive: HashMap::new(),
            limit: limit.max(1),
            begun: 0,
            evicted: 0,
            short: 0,
            memory,
            held: 0,
        }
    }

    /// Handles a segment. Finished connections go to `done`.
    pub(crate) fn on_segment(
        &mut self,
        (source, destination): (SocketAddr, SocketAddr),
        (now, frame, ip_id): (u64, u64, Option<u16>),
        segment: &Segment,
        mut done: impl FnMut(Connection),
    ) {
        let (key, first) = Key::new(source, destination);
        let new = |begun: &mut u64| {
            *begun += 1;
            Connection::new([source, destination], first, *begun, now)
        };
        let connection = if let Some(connection) = self.alive.get_mut(&key) {
            let side = usize::from(connection.first_in_key != first);
            if connection.is_over_for(side, segment, now) {
                let old = std::mem::replace(connection, new(&mut self.begun));
                self.held -= old.held;
                self.memory.alive(old.held, 0);
                done(old);
            }
            connection
        } else {
            if self.alive.len() >= self.limit {
                self.evicted += self.evict(&mut done);
            }
            let connection = new(&mut self.begun);
            self.alive.entry(key).or_insert(connection)
        };
        let side = usize::from(connection.first_in_key != first);
        connection.on_segment(side, now, frame, ip_id, segment);
        if connection.is_due() {
            let (before, after) = (connection.held, connection.memory());
            connection.held = after;
            self.held = self.held + after - before;
            self.memory.alive(before, after);
        }
    }

    fn release(&mut self, connection: &Connection) {
        self.held -= connection.held;
        self.memory.alive(connection.held, 0);
    }

    /// Frees memory: closes the eighth of the connections that was idle for longest.
    pub(crate) fn make_room(&mut self, done: &mut impl FnMut(Connection)) {
        self.short += self.evict(done);
    }

    /// Closes the eighth of the connections that was idle for longest. Returns their number.
    fn evict(&mut self, done: &mut impl FnMut(Connection)) -> u64 {
        let mut last: Vec<(u64, Key)> = self
            .alive
            .iter()
            .map(|(key, one)| (one.last, *key))
            .collect();
        if last.is_empty() {
            return 0;
        }
        let many = (last.len() / 8).max(1);
        last.select_nth_unstable(many - 1);
        for (_, key) in &last[..many] {
            if let Some(connection) = self.alive.remove(key) {
                self.release(&connection);
                done(connection);
            }
        }
        many as u64
    }

    /// Closes the remaining connections in the order of their first packets.
    pub(crate) fn finish(self, mut done: impl FnMut(Connection)) {
        let mut left: Vec<_> = self.alive.into_values().collect();
        left.sort_by_key(|connection| connection.number);
        for connection in left {
            self.memory.alive(connection.held, 0);
            done(connection);
        }
    }
}
