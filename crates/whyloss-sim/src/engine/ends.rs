//! A flow's two ends in the fast engine, their deadlines, and the losses of its packets.
//!
//! | file | what the ends do |
//! |---|---|
//! | `hear.rs` | the source: takes answers, in time or ahead of it |
//! | `transmit.rs` | the source: wakes, sends |
//! | `gated.rs` | the source, woken when its packet is at its gate |
//! | `deliver.rs` | the sink: takes data, wakes, replies |
//!
//! `now` is the time of the event. An end may act `as_of` another time: a fused sink or source acts
//! ahead of its time, a gated source after it. A segment of TCP and its acknowledgement, in a
//! network with all shortcuts:
//!
//! ```text
//! transmit               transmit.rs   the source sends a segment
//! → send                 send.rs       it enters the first link, and all fused beyond it
//! → put … take_due       transit.rs    it is in transit to its stop, until its event
//! → send                 send.rs       it enters the next link, and all fused beyond it
//! → deliver              deliver.rs    its fused sink takes it, and acknowledges it
//! → send                 send.rs       the acknowledgement crosses the fused links home
//! → hear_early           hear.rs       the fused source foresees it
//!   → transmit                             and sends the next segment, or does not:
//!   → park_at_source     transit.rs        the acknowledgement is parked
//!     … take_due → hear_parked             until its event
//! ```
//!
//! Calls that are not inlined get a [copy](Parcel::copy) of a parcel, so that the parcel of the hot
//! path itself stays in registers.

use whyloss::{Cause, Duration, Time};
use whyloss_link::Streams;

use super::flow::Flow;
use super::hops::Hop;
use super::network::{Network, Route};
use super::parcel::Parcel;
use super::recorder::Recorder;
use super::shortcuts::Shortcuts;
use super::truths::Truth;
use crate::observe::Observer;
use crate::packet::Packet;
use crate::scenario::Scenario;

/// The indices of a flow's ends.
pub(super) const SOURCE: usize = 0;
pub(super) const SINK: usize = 1;

/// Everything outside the hosts.
pub(super) struct World<'a, O> {
    pub(super) recorder: Recorder<'a, O>,
    pub(super) network: Network,
}

impl<'a, O: Observer> World<'a, O> {
    /// Creates the world of a scenario, with the shortcuts that it licenses and the observer
    /// allows. Returns it with the route of each flow.
    pub(super) fn new(
        scenario: &Scenario,
        streams: Streams,
        shortcuts: Shortcuts,
        observer: &'a mut O,
    ) -> (Self, Vec<Route>) {
        let (network, routes) = Network::new(scenario, streams, shortcuts.heard_by::<O>());
        let window = network.window;
        let recorder = Recorder { window, observer };
        (Self { recorder, network }, routes)
    }
}

/// The two ends of a flow.
pub(super) struct Ends {
    pub(super) flow: Flow,
    /// The deadlines for which events of the source and the sink are set.
    pub(super) armed: [Time; 2],
    /// The pending event of each end that an earlier one overtook.
    pub(super) overtaken: [Time; 2],
    /// The entities of the ends in the event queue. A gated source uses that of the link to its
    /// gate, so that one event serves its deadline and its packet's arrival (`gated.rs`).
    pub(super) entities: [u32; 2],
    /// The time from a gated source to its gate; zero for other sources.
    pub(super) crossing: Duration,
    /// Whether the sink is fused, so that it takes packets ahead of time.
    pub(super) sink_is_ahead: bool,
    /// The first hops of the ways there and back in the network's table.
    pub(super) there: u32,
    pub(super) back: u32,
}

impl Ends {
    /// Creates the ends of a flow whose source is woken at `start`.
    pub(super) fn new(
        flow: Flow,
        Route { there, back, gate }: Route,
        start: Time,
        network: &mut Network,
    ) -> Self {
        let source = network.links() + 2 * flow.index as usize;
        let mut ends = Self {
            flow,
            armed: [Time::MAX; 2],
            overtaken: [Time::MAX; 2],
            entities: [gate.map_or(source, |gate| gate.link), source + 1]
                .map(|entity| entity as u32),
            crossing: gate.map_or(Duration::ZERO, |gate| gate.crossing),
            sink_is_ahead: network.table.end_of(there) == Hop::FUSED_SINK,
            there,
            back,
        };
        ends.arm(SOURCE, start, network);
        ends
    }

    /// Returns a parcel of `size` bytes that leaves an end at this hop, and has no payload yet.
    #[inline]
    pub(super) fn blank(&self, as_of: Time, size: u32, hop: u32) -> Parcel {
        Parcel {
            due: as_of,
            sent: as_of,
            flow: self.flow.index,
            size,
            hop,
            ..Parcel::default()
        }
    }

    /// Makes sure that a host is woken at its deadline. If the new deadline is later than the
    /// pending event, that event wakes the host to no effect and is set anew. This costs less than
    /// moving an event at every acknowledgement. If the new deadline is earlier, a new event
    /// overtakes the pending one, which then serves the deadlines after it. Otherwise a source
    /// whose window opens and closes would leave an event pending at each packet, because it sets
    /// its retransmission timer each time.
    ///
    /// ```text
    /// new deadline   armed  overtaken   queue      why
    /// 1.2 s          1.2    –           1.2
    /// 0.3 s          0.3    1.2         0.3 1.2    earlier: overtakes
    /// (event 0.3)    1.2    –           1.2        the overtaken event is valid again
    /// 1.5 s          1.2    –           1.2        later: nothing is set
    /// (event 1.2)    1.5    –           1.5        wakes to no effect, is set anew
    /// ```
    ///
    /// Only one overtaken event is kept. At 0.3 and 1.2, a deadline of 0.1 leaves 0.1 and 0.3; the
    /// event of 1.2 stays in the queue, and [`Self::disarm`] rejects it.
    #[inline]
    pub(super) fn arm(&mut self, end: usize, deadline: Time, network: &mut Network) {
        if deadline < self.armed[end] {
            self.overtake(end, deadline, network);
        }
    }

    /// Sets an event before the pending one. On the hot path, deadlines only move later.
    #[inline(never)]
    fn overtake(&mut self, end: usize, deadline: Time, network: &mut Network) {
        self.overtaken[end] = std::mem::replace(&mut self.armed[end], deadline);
        let crossing = if end == SOURCE {
            self.crossing
        } else {
            Duration::ZERO
        };
        let entity = self.entities[end] as usize;
        network.events.push(entity, deadline.later(crossing));
    }

    /// Returns whether an end's event for this deadline is valid, and clears it. It is invalid if
    /// two earlier events overtook it, or if the source has already caught up. In the second case,
    /// the event stays in the queue and has no effect.
    #[inline]
    pub(super) fn disarm(&mut self, deadline: Time, end: usize) -> bool {
        let counts = self.armed[end] == deadline;
        if counts {
            self.armed[end] = std::mem::replace(&mut self.overtaken[end], Time::MAX);
        }
        counts
    }

    /// Handles the loss of a packet at a link that it reaches at this time, or later.
    #[cold]
    pub(super) fn lose(
        &mut self,
        as_of: Time,
        parcel: Parcel,
        lost: (Cause, Time),
        network: &mut Network,
    ) {
        let packet = parcel.unpack(&mut network.aside);
        let tell_at = (parcel.due > as_of).then_some(parcel.due);
        self.report_loss(&packet, lost, tell_at, network);
    }

    /// Counts a packet that is lost for this cause at this time, and reports the cause:
    /// immediately, or `tell_at`, when the packet reaches the point of its loss (`truths.rs`). A
    /// source's judge must not learn of it earlier. The judge of a [fused
    /// sink](Self::sink_is_ahead) gets it immediately, because this sink also takes later packets
    /// ahead of time.
    pub(super) fn report_loss(
        &mut self,
        packet: &Packet,
        (cause, when): (Cause, Time),
        tell_at: Option<Time>,
        network: &mut Network,
    ) {
        self.flow.forget(&packet.payload);
        let Some(sequence) = packet.payload.sequence().filter(|_| !packet.copy) else {
            return;
        };
        self.flow.count_lost(when, cause, network.window);
        match tell_at {
            Some(at) if !(self.sink_is_ahead && self.flow.sink_judges()) => {
                let truth = Truth {
                    flow: self.flow.index,
                    sequence,
                    cause,
                };
                network.tell_later(packet.hop, at, truth);
            }
            _ => self.flow.tell(sequence, cause),
        }
    }
}
