//! Measures segments that come in IP fragments, without reassembling them.
//!
//! The first fragment contains everything except the length of the segment. The segment therefore
//! waits, with a count of the bytes that have arrived. Once all fragments have arrived, the segment
//! gets its full length.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use super::Segment;

/// The maximum number of waiting segments. Beyond it, the oldest is given up.
const WAITING: usize = 64;

/// The fields that the fragments of one packet share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) ends: (IpAddr, IpAddr),
    pub(super) protocol: u8,
    pub(super) id: u32,
}

/// The part of the packet that a fragment holds, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    pub(super) offset: u32,
    pub(super) length: u32,
    pub(super) more: bool,
}

/// The segment of a first fragment, the length of its header, its two ends and its identification.
pub(super) type First = (Segment, u32, SocketAddr, SocketAddr, Option<u16>);

#[derive(Debug)]
struct Waiting {
    key: Key,
    first: Option<First>,
    arrived: u32,
    /// The length of the packet; known once the last fragment has arrived.
    total: Option<u32>,
}

/// Segments that wait for fragments.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    waiting: VecDeque<Waiting>,
    dropped: u64,
}

/// A reassembled segment with its full length, its two ends and its identification.
pub(super) type Whole = (Segment, SocketAddr, SocketAddr, Option<u16>);

impl Fragments {
    pub(super) fn first(&mut self, key: Key, fragment: Fragment, first: First) -> Option<Whole> {
        self.take(key, fragment, Some(first))
    }

    pub(super) fn later(&mut self, key: Key, fragment: Fragment) -> Option<Whole> {
        self.take(key, fragment, None)
    }

    /// Returns the number of segments given up or still waiting.
    pub(super) fn lost(&self) -> u64 {
        self.dropped + self.waiting.len() as u64
    }

    fn take(&mut self, key: Key, fragment: Fragment, first: Option<First>) -> Option<Whole> {
        let place = self.waiting.iter().position(|waiting| waiting.key == key);
        let place = place.unwrap_or_else(|| {
            if self.waiting.len() == WAITING {
                self.waiting.pop_front();
                self.dropped += 1;
            }
            self.waiting.push_back(Waiting {
                key,
                first: None,
                arrived: 0,
                total: None,
            });
            self.waiting.len() - 1
        });
        let waiting = &mut self.waiting[place];
        waiting.first = waiting.first.or(first);
        waiting.arrived = waiting.arrived.saturating_add(fragment.length);
        if !fragment.more {
            waiting.total = Some(fragment.offset.saturating_add(fragment.length));
        }
        let total = waiting.total?;
        let (mut segment, header, source, destination, id) = waiting.first?;
        if waiting.arrived < total {
            return None;
        }
        self.waiting.remove(place);
        segment.length = total.checked_sub(header)?;
        Some((segment, source, destination, id))
    }
}
