//! Limits any transport to the data that its application has produced.
//!
//! The transport decides when a packet may leave; the supply decides whether there is one. The
//! source wakes at every capture and, between captures, when its transport does.
//!
//! | | when there is nothing to send |
//! |---|---|
//! | datagrams | nothing leaves; the rate at which they are sent paces the packets of a frame |
//! | TCP | the sender is application-limited, so the window does not grow; it does not shrink, because neither the restart after an idle time (RFC 5681 §4.1) nor the decay of RFC 7661 is implemented |
//! | IFTP | n does not grow at the end of a period in which a packet could have left, but none was available |
//! | TFRC | the sender is data-limited (RFC 5348 §4.3, §8.2.1), and may catch up on at most one round trip of unused time |

use whyloss::Time;

use super::Source;
use super::supply::Supply;
use super::transfers::Backlog;
use crate::packet::Payload;
#[cfg(doc)]
use crate::scenario::Transport;

/// A source and its application.
#[derive(Debug)]
pub(crate) struct Supplied {
    pub(crate) source: Source,
    content: Content,
    /// The number of TCP segments before the data, which [open](Transport::opening) the connection.
    opening: u64,
}

/// The content that a supplied source sends.
#[derive(Debug)]
pub(crate) enum Content {
    /// Frames of a media stream.
    Frames(Supply),
    /// Transfers of this many segments each.
    Transfers(Backlog, u64),
}

impl Supplied {
    pub(crate) fn new(source: Source, content: Content, opening: u64) -> Self {
        Self {
            source,
            content,
            opening,
        }
    }

    /// Returns the flow's transfers, if it has any.
    pub(crate) fn backlog(&mut self) -> Option<&mut Backlog> {
        match &mut self.content {
            Content::Transfers(backlog, _) => Some(backlog),
            Content::Frames(_) => None,
        }
    }

    /// Returns when to wake the source.
    pub(crate) fn next_timeout(&self) -> Time {
        match (&self.source, &self.content) {
            (Source::Datagrams(_), Content::Frames(supply)) if !supply.is_waiting() => supply.due(),
            (source, Content::Frames(supply)) => source.next_timeout().min(supply.due()),
            (source, Content::Transfers(backlog, _)) => source.next_timeout().min(backlog.due()),
        }
    }

    /// Returns the next packet that may leave at `now`.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Payload> {
        let supply = match &mut self.content {
            Content::Frames(supply) => supply,
            Content::Transfers(backlog, segments) => {
                if let Some(sender) = self.source.tcp_mut() {
                    let acknowledged = sender.acknowledged().saturating_sub(self.opening);
                    let begun = backlog.refresh(now, acknowledged / *segments);
                    let opening = if begun > 0 { self.opening } else { 0 };
                    sender.supply(opening + begun * *segments);
                }
                return self.source.poll(now);
            }
        };
        let waiting = supply.refresh(now);
        match &mut self.source {
            Source::Tcp(sender) => {
                sender.supply(self.opening + supply.produced());
                return self.source.poll(now);
            }
            Source::Datagrams(source) => {
                if !waiting {
                    return None;
                }
                // The source does not make up for time that has passed.
                source.next = source.next.max(now);
            }
            Source::Iftp(source) => source.sender.set_has_data(now, waiting),
            Source::Tfrc(sender) => sender.set_has_data(now, waiting),
            Source::Outside(_) | Source::Web(_) | Source::Supplied(_) => {}
        }
        let payload = self.source.poll(now)?;
        supply.take(now);
        match &mut self.source {
            Source::Iftp(source) => {
                source.sender.set_has_data(now, supply.is_waiting());
            }
            Source::Tfrc(sender) => sender.set_has_data(now, supply.is_waiting()),
            _ => {}
        }
        Some(payload)
    }
}
