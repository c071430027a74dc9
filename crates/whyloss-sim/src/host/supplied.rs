//! A source that may send only what its application has produced, whatever the transport.
//!
//! The transport decides when a packet may leave, the supply whether there is one. The source is woken at every capture;
//! between two it sleeps as the transport does.
//!
//! | | when there is nothing to send |
//! |---|---|
//! | datagrams | nothing leaves; the rate at which they are sent paces the packets of a frame |
//! | TCP | its acknowledgements say that the application limits it, so the window does not grow; it does not shrink either: neither the restart after an idle time (RFC 5681 §4.1) nor the decay of RFC 7661 |
//! | IFTP | n does not grow at the end of a period in which a packet might have left and there was none |
//! | TFRC | the sender is data-limited: its reports count as RFC 5348 §4.3 and §8.2.1 say, and it makes up for at most one round trip of unused time |

use whyloss::Time;

use super::Source;
use super::supply::Supply;
use crate::packet::Payload;

/// A source and its application.
#[derive(Debug)]
pub(crate) struct Supplied {
    pub(crate) source: Source,
    supply: Supply,
}

impl Supplied {
    pub(crate) fn new(source: Source, supply: Supply) -> Self {
        Self { source, supply }
    }

    /// When the source must be woken.
    pub(crate) fn next_timeout(&self) -> Time {
        match &self.source {
            Source::Datagrams(_) if !self.supply.is_waiting() => self.supply.due(),
            source => source.next_timeout().min(self.supply.due()),
        }
    }

    /// The next packet that may leave at `now`.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Payload> {
        let waiting = self.supply.refresh(now);
        match &mut self.source {
            Source::Tcp(sender) => {
                sender.supply(self.supply.produced());
                return self.source.poll(now);
            }
            Source::Capable(sender) => {
                sender.supply(self.supply.produced());
                return self.source.poll(now);
            }
            Source::Datagrams(source) => {
                if !waiting {
                    return None;
                }
                source.not_before(now);
            }
            Source::Iftp(source) => source.sender.set_has_data(now, waiting),
            Source::Tfrc(sender) => sender.set_has_data(now, waiting),
            Source::Outside(_) | Source::Web(_) | Source::Supplied(_) => {}
        }
        let payload = self.source.poll(now)?;
        self.supply.take(now);
        match &mut self.source {
            Source::Iftp(source) => {
                source.sender.set_has_data(now, self.supply.is_waiting());
            }
            Source::Tfrc(sender) => sender.set_has_data(now, self.supply.is_waiting()),
            _ => {}
        }
        Some(payload)
    }
}
