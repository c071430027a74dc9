//! A flow with its losses, counts and path: the unit of a diagnosis.

use std::net::SocketAddr;

use crate::delay::{Delays, Histogram};
use crate::ledger::Ledger;
use crate::loss::{Counts, Event, Loss, Side};
use crate::portrait::{Portrait, side_with_queue};
use crate::rates::Rates;
use crate::tcp::{Connection, Half};
use crate::track::Track;
use crate::vantage::Vantage;
use crate::verdict::{self, Features};

/// The largest relative drift of two clocks that are not synchronised.
const DRIFT: f64 = 1e-4;
/// The drift, in ms, from which the limits of the data mention it.
const DRIFTED_MS: f64 = 10.0;

/// The transport of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// TCP, from a capture.
    Tcp,
    /// QUIC, from a qlog.
    Quic,
    /// RTP over UDP, from a capture.
    Rtp,
    /// UDP datagrams, from the log of a network.
    Udp,
    /// A flow of a simulated run, whatever its transport.
    Simulated,
}

impl Protocol {
    /// Returns the protocol's name as reports show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Quic => "QUIC",
            Self::Rtp => "RTP",
            Self::Udp => "UDP",
            Self::Simulated => "simulated",
        }
    }
}

/// The data of a connection or stream in one direction, and its diagnosis.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The flow's number in this diagnosis, from 1.
    pub number: u64,
    /// The transport protocol of the flow.
    pub protocol: Protocol,
    /// The flow's name in a network's log or a simulated run; `None` in captures.
    pub name: Option<String>,
    /// The address and port of the sender; unspecified in logs without addresses.
    pub source: SocketAddr,
    /// The address and port of the receiver; unspecified in logs without addresses.
    pub destination: SocketAddr,
    /// The times of the first and the last packet, in ns since 1970.
    pub span: (u64, u64),
    /// The sequence number on the wire that corresponds to offset 0.
    pub first_sequence: u32,
    /// The number of bytes from offset 0 that were acknowledged without a gap by the end; 0 if no
    /// acknowledgement was seen.
    pub acknowledged: u64,
    /// The place where the capture was taken.
    pub vantage: Vantage,
    /// Counts of packets and bytes, and of events that only look like losses.
    pub counts: Counts,
    /// The losses before the point of capture, then those beyond, each in the order of departure.
    pub losses: Vec<Loss>,
    /// The loss events, to which [`Loss::event`](crate::loss::Loss::event) points.
    pub events: Vec<Event>,
    /// The delays, rates and losses of the path.
    pub portrait: Portrait,
    /// The questions that the data leave open, one sentence each.
    pub cannot_tell: Vec<String>,
    /// The delays that show the queue over time, in µs: round trips, or one-way delays up to the
    /// point of capture, as at the receiver.
    pub delays: Track,
    /// The kilobytes delivered over time; empty if no acknowledgements were seen.
    pub delivered: Track,
    /// The features of each loss for the combined verdict; `None` if they are not known.
    pub features: Vec<Option<Features>>,
}

impl Flow {
    /// Returns the number of packets lost on this side of the point of capture.
    pub fn lost(&self, side: Side) -> u64 {
        self.losses
            .iter()
            .filter(|loss| loss.side == side)
            .map(|loss| u64::from(loss.packets))
            .sum()
    }

    /// Returns the probability that a loss, given by its index in [`losses`](Self::losses), is
    /// wireless; `None` if the data does not show its features.
    pub fn wireless(&self, index: usize) -> Option<f64> {
        let features = self.features.get(index)?.as_ref()?;
        let before = self.losses.get(index)?.side == Side::Before;
        Some(wireless(features, before, self.protocol))
    }

    /// Returns the entry of [`cannot_tell`](Self::cannot_tell) about losses that the data do not
    /// show; `None` if they show.
    pub fn unseen(&self) -> Option<&str> {
        let mut limits = self.cannot_tell.iter();
        let unseen = limits.find(|limit| limit.starts_with("what was lost"));
        unseen.map(String::as_str)
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>()
            + self.losses.capacity() * size_of::<Loss>()
            + self.events.capacity() * size_of::<Event>()
            + self.features.capacity() * size_of::<Option<Features>>()
            + self.delays.memory()
            + self.delivered.memory()
            + self.cannot_tell.iter().map(String::capacity).sum::<usize>()
            + self.name.as_ref().map_or(0, String::capacity)
    }

    /// Returns the directions of a connection that have data.
    pub(crate) fn of_connection(mut connection: Connection) -> impl Iterator<Item = Self> {
        [0, 1].into_iter().filter_map(move |side| {
            let half = connection.halves[side].take()?;
            // A handshake alone is not a flow of data.
            (half.ledger.counts.data_bytes > 2).then(|| Self::of_half(&connection, side, *half))
        })
    }

    fn of_half(connection: &Connection, side: usize, mut half: Half) -> Self {
        half.finish();
        let (before, mut beyond) = (connection.before(side), connection.beyond(side));
        if let Some(least) = half.delays.least() {
            beyond = Some(beyond.map_or(u64::from(least) * 1000, |ns| {
                ns.min(u64::from(least) * 1000)
            }));
        }
        let span = (
            half.first_data.unwrap_or(connection.first),
            half.last_data.max(connection.first),
        );
        let base = beyond.map(|ns| ns + before.unwrap_or(0));
        let delivered = (
            half.acknowledged().max(half.delivered),
            span.1.saturating_sub(span.0),
        );
        let largest = half.largest;
        let rates = half.rates().clone();
        let features = judge(
            &mut half.ledger,
            (&half.delays, &half.one_way),
            &rates,
            (largest, Protocol::Tcp),
        );
        let vantage = Vantage::of(before, beyond);
        let portrait = Portrait::new(
            &half.ledger.losses,
            (&half.delays, &half.one_way),
            vantage,
            base,
            half.rates(),
            delivered,
        );
        let mut flow = Self {
            number: 0,
            protocol: Protocol::Tcp,
            name: None,
            source: connection.ends[side],
            destination: connection.ends[1 - side],
            span,
            first_sequence: half.first_sequence(),
            acknowledged: half.acknowledged(),
            vantage,
            counts: Counts {
                copies: connection.copied[side],
                ..half.ledger.counts
            },
            portrait,
            cannot_tell: Vec::new(),
            features,
            delays: with_queue(vantage, &mut half.delays, &mut half.one_way),
            delivered: half.delivered_track(),
            events: std::mem::take(&mut half.ledger.events),
            losses: std::mem::take(&mut half.ledger.losses),
        };
        flow.cannot_tell = flow.limits(&half);
        flow
    }

    /// Returns the limits of the data that weaken the diagnosis, one sentence each.
    fn limits(&self, half: &Half) -> Vec<String> {
        let mut limits = Vec::new();
        let mut say = |text: String| limits.push(text);
        if let Vantage::Unknown(why) = self.vantage {
            say(format!("where the capture was taken: {why}"));
        }
        if half.delays.least().is_none() && half.first_data.is_some() {
            say("what was lost behind the point of capture: no acknowledgements of this data were captured".to_owned());
        }
        if !half.stamps && (!self.losses.is_empty() || self.vantage == Vantage::Receiver) {
            say("by timestamps which transmission arrived, and one-way delays: there are none, or they were cut off".to_owned());
        } else if half.tick().is_none() && self.losses.iter().any(|loss| loss.side == Side::Before)
        {
            say("causes of losses before the point of capture: the clock of the timestamps could not be made out".to_owned());
        }
        if !half.sack && !self.losses.is_empty() && half.delays.least().is_some() {
            say("by SACK which packets arrived: no block was seen".to_owned());
        }
        if half.delays.stand_still() && !self.losses.is_empty() {
            say("causes of losses behind the point of capture: acknowledgements have the time of what they acknowledge, so delays are not known".to_owned());
        }
        if half.cut {
            say("what options say: the capture cut some of them off".to_owned());
        }
        limits.extend(self.few());
        limits
    }

    /// Returns by how much drifting clocks may change queueing delays, in ms; 0 if one clock
    /// measured them.
    pub(crate) fn drift_ms(&self) -> f64 {
        let one_clock = match self.vantage {
            Vantage::Log => true,
            Vantage::Receiver | Vantage::Between(_) => false,
            Vantage::Sender | Vantage::Unknown(_) => {
                self.protocol != Protocol::Rtp && self.portrait.base_rtt_ms.is_some()
            }
        };
        if one_clock {
            return 0.0;
        }
        self.span.1.saturating_sub(self.span.0) as f64 / 1e6 * DRIFT
    }

    /// Returns the doubts due to few losses, drifting clocks, an early end, or too many losses, one
    /// sentence each.
    fn few(&self) -> Vec<String> {
        let mut limits = Vec::new();
        let mut say = |text: String| limits.push(text);
        let total = self.portrait.by_cause.total();
        if (1..10).contains(&total) {
            say(format!(
                "shares of causes with any certainty: {total} packets lost are too few"
            ));
        }
        let drift = self.drift_ms();
        if drift >= DRIFTED_MS && self.portrait.queueing_ms.is_some() {
            say(format!(
                "queueing delays to better than {drift:.0} ms: the clocks of the sender and of the capture may drift apart"
            ));
        }
        if self.counts.unresolved > 0 {
            let were = if self.counts.unresolved == 1 {
                "was"
            } else {
                "were"
            };
            say(format!(
                "whether {} that {were} sent again, or missing, arrived: the capture ends before that shows",
                packets(self.counts.unresolved)
            ));
        }
        if self.counts.losses_not_kept > 0 {
            say(format!(
                "details of {} more: only the first 65536 losses of a flow are kept",
                packets(self.counts.losses_not_kept)
            ));
        }
        limits
    }

    /// Diagnoses one direction of numbered packets. `limits` are the limits of the data.
    pub(crate) fn of_direction(mut direction: Direction, limits: Vec<String>) -> Self {
        let features = judge(
            &mut direction.ledger,
            (&direction.delays, &direction.one_way),
            &direction.rates.histogram,
            (direction.largest, direction.protocol),
        );
        let mut flow = Self::of_record(direction);
        flow.features = features;
        flow.cannot_tell.splice(0..0, limits);
        flow
    }

    /// Diagnoses a direction whose causes are known.
    pub(crate) fn of_record(mut direction: Direction) -> Self {
        let delays = (&direction.delays, &direction.one_way);
        let rates = &direction.rates.histogram;
        let base = direction.delays.least().map(|us| u64::from(us) * 1000);
        let passed = direction.span.1.saturating_sub(direction.span.0);
        let delivered = (direction.delivered, passed);
        let vantage = direction.vantage;
        let portrait = Portrait::new(
            &direction.ledger.losses,
            delays,
            vantage,
            base,
            rates,
            delivered,
        );
        let [source, destination] = direction.ends;
        let mut flow = Self {
            number: 0,
            protocol: direction.protocol,
            name: None,
            source,
            destination,
            span: direction.span,
            first_sequence: 0,
            acknowledged: 0,
            vantage,
            counts: direction.ledger.counts,
            portrait,
            cannot_tell: Vec::new(),
            features: Vec::new(),
            delays: with_queue(vantage, &mut direction.delays, &mut direction.one_way),
            delivered: direction.rates.track,
            events: direction.ledger.events,
            losses: direction.ledger.losses,
        };
        flow.cannot_tell.extend(flow.few());
        flow
    }

    /// Returns the sender and the receiver as text: addresses, or the flow's name and an empty
    /// string.
    pub fn names(&self) -> [String; 2] {
        match &self.name {
            Some(name) => [name.clone(), String::new()],
            None => [self.source, self.destination].map(|end| end.to_string()),
        }
    }
}

/// Returns the track of the delays that show the queue.
fn with_queue(vantage: Vantage, beyond: &mut Delays, one_way: &mut Delays) -> Track {
    let delays = match side_with_queue(vantage, beyond, one_way) {
        Side::Beyond => beyond,
        Side::Before => one_way,
    };
    std::mem::take(&mut delays.track)
}

/// The numbered packets of one direction.
pub(crate) struct Direction {
    pub(crate) protocol: Protocol,
    pub(crate) ends: [SocketAddr; 2],
    pub(crate) span: (u64, u64),
    pub(crate) vantage: Vantage,
    /// The bytes that arrived.
    pub(crate) delivered: u64,
    /// The bytes of the largest packet.
    pub(crate) largest: u32,
    pub(crate) ledger: Ledger,
    /// The round-trip times.
    pub(crate) delays: Delays,
    pub(crate) one_way: Delays,
    pub(crate) rates: Rates,
}

/// Formats a number of packets: "1 packet", "2 packets".
pub(crate) fn packets(many: u64) -> String {
    format!("{many} packet{}", if many == 1 { "" } else { "s" })
}

/// Returns the probability that a loss of a flow with this protocol is wireless.
fn wireless(features: &Features, before: bool, protocol: Protocol) -> f64 {
    match protocol {
        Protocol::Rtp => verdict::wireless_of_media(features),
        _ => verdict::wireless(features, before),
    }
}

/// Sets the combined verdict of each loss of a direction, and returns the features.
fn judge(
    ledger: &mut Ledger,
    (beyond, one_way): (&Delays, &Delays),
    rates: &Histogram,
    (largest, protocol): (u32, Protocol),
) -> Vec<Option<Features>> {
    let transmission = rates.quantile(0.9).filter(|&kbit| kbit > 0);
    let transmission = transmission.map(|kbit| f64::from(largest) * 8000.0 / f64::from(kbit));
    let lost = ledger
        .losses
        .iter()
        .map(|loss| u64::from(loss.packets))
        .sum();
    let of = |side| {
        if side == Side::Beyond {
            beyond
        } else {
            one_way
        }
    };
    let shared = [Side::Beyond, Side::Before].map(|side| {
        if side == Side::Beyond && beyond.stand_still() {
            return None;
        }
        let losses = ledger.losses.iter().filter(|loss| loss.side == side);
        verdict::Shared::new(
            of(side),
            losses.map(|loss| loss.around),
            transmission,
            (lost, ledger.counts.data_packets),
        )
    });
    let mut features = Vec::with_capacity(ledger.losses.len());
    for loss in &mut ledger.losses {
        let before = loss.side == Side::Before;
        let votes = loss
            .event
            .and_then(|event| ledger.events.get(event as usize))
            .map(|event| event.votes);
        let found = shared[usize::from(before)].as_ref().and_then(|shared| {
            let votes = votes.unwrap_or_default();
            let heard = before || protocol == Protocol::Rtp;
            shared.features(loss.around, loss.run, votes, heard)
        });
        loss.verdict =
            found.and_then(|features| verdict::verdict(wireless(&features, before, protocol)));
        features.push(found);
    }
    features
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a flow of this many seconds with this portrait.
    pub(crate) fn flow(seconds: u64, vantage: Vantage, portrait: Portrait) -> Flow {
        let mut flow = Flow::of_record(Direction {
            protocol: Protocol::Tcp,
            ends: [([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into()],
            span: (0, seconds * 1_000_000_000),
            vantage,
            delivered: 0,
            largest: 1448,
            ledger: Ledger::default(),
            delays: Delays::default(),
            one_way: Delays::default(),
            rates: Rates::default(),
        });
        flow.portrait = portrait;
        flow.portrait.base_rtt_ms = Some(20.0);
        flow
    }

    #[test]
    fn clocks_of_two_machines_drift() {
        for (seconds, vantage, drift) in [
            (1200, Vantage::Receiver, Some("120 ms")),
            (1200, Vantage::Between(0.5), Some("120 ms")),
            (60, Vantage::Receiver, None),
            (1200, Vantage::Sender, None),
            (1200, Vantage::Log, None),
        ] {
            let portrait = Portrait {
                queueing_ms: Some([1.0; 3]),
                ..Portrait::default()
            };
            let limits = flow(seconds, vantage, portrait).few();
            let said = limits
                .iter()
                .find_map(|limit| limit.strip_prefix("queueing delays to better than "));
            let said = said.and_then(|said| said.split_once(": "));
            assert_eq!(said.map(|(drift, _)| drift), drift, "{vantage:?}");
        }
    }
}
