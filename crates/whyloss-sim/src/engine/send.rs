//! A packet enters a link, and all links that are fused beyond it.

use whyloss::{Cause, Time};
use whyloss_link::Fate;

use super::hops::Hop;
use super::network::Network;
use super::parcel::Parcel;
use super::recorder::Recorder;
use super::wire::{Decision, Offer};
use crate::observe::Observer;

/// The outcome of [sending](Network::send) a packet. Its parcel has moved: `hop` is the hop that
/// the packet has reached, and `due` is when it is there.
///
/// | outcome | of | `hop` | what is left to do |
/// |---|---|---|---|
/// | `InTransit` | any packet | its next stop, or the source where it is parked | nothing |
/// | `AtSink` | data | its fused sink | deliver it |
/// | `AtSource` | an answer | its fused source | foresee or [park](Network::park_at_source) it |
/// | `AtGate` | data [sent there](Network::send_to_gate) | its gate | send it on, or park it |
/// | `Lost` | any packet | the link that loses it | [report](super::ends::Ends::lose) the loss |
/// | `Held` | any packet | a busy link | [give](Network::hold) it to the link |
pub(crate) enum Sent {
    InTransit,
    AtSink,
    /// No packet is parked there before it.
    AtSource,
    AtGate,
    /// The packet is or will be lost at this time, for this cause.
    Lost(Cause, Time),
    Held,
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Network {
    /// Sends a packet into the link of its `hop`, at the time at which it is `due` there, and on to
    /// the first hop that is not fused, or to its fused end. The packet is put in transit over the
    /// link before that hop.
    #[inline(always)]
    pub(crate) fn send<O: Observer>(
        &mut self,
        parcel: &mut Parcel,
        recorder: &mut Recorder<'_, O>,
    ) -> Sent {
        self.cross::<O, true>(parcel, recorder)
    }

    /// Sends a packet of a gated source to its [gate](super::shortcuts::Gate), where its time may
    /// be now. The caller sends it on, or [parks](Network::park_at_gate) it, unless it is lost.
    #[inline(always)]
    pub(crate) fn send_to_gate<O: Observer>(
        &mut self,
        parcel: &mut Parcel,
        recorder: &mut Recorder<'_, O>,
    ) -> Sent {
        self.cross::<O, false>(parcel, recorder)
    }

    /// Sends a packet like [`Self::send`]. Without `PUT`, stops at its gate.
    #[inline(always)]
    fn cross<O: Observer, const PUT: bool>(
        &mut self,
        parcel: &mut Parcel,
        recorder: &mut Recorder<'_, O>,
    ) -> Sent {
        let mut at = parcel.due;
        let mut index = parcel.hop as usize;
        let mut hop = self.table.hops[index];
        loop {
            // The link that the packet leaves, and when it is at its far end.
            let (link, arrival) = if !O::LINKS && hop.is_stretch() {
                let stretch = &mut self.table.stretches[hop.index()];
                let (arrival, counted) = stretch.cross(at, self.window);
                let last = stretch.last as usize;
                if !counted {
                    self.count_each(hop.index(), at);
                }
                (last, arrival)
            } else {
                match self.offer(at, hop.index(), parcel, recorder) {
                    Ok(arrival) => (hop.index(), arrival),
                    Err(sent) => {
                        (parcel.hop, parcel.due) = (index as u32, at);
                        return sent;
                    }
                }
            };
            at = arrival;
            index += 1;
            hop = self.table.hops[index];
            if !hop.is_fused() {
                (parcel.hop, parcel.due) = (index as u32, at);
                if !PUT {
                    return Sent::AtGate;
                }
                self.put(link, *parcel);
                return Sent::InTransit;
            }
            if hop.is_end() {
                (parcel.hop, parcel.due) = (index as u32, at);
                if hop == Hop::FUSED_SINK {
                    return Sent::AtSink;
                }
                if self.transits[link].is_empty() {
                    return Sent::AtSource;
                }
                self.park_at_source(parcel.copy());
                return Sent::InTransit;
            }
        }
    }

    /// Offers a packet to a link and counts its fate. Returns its arrival time, or why it has none.
    #[inline(always)]
    fn offer<O: Observer>(
        &mut self,
        at: Time,
        link: usize,
        parcel: &mut Parcel,
        recorder: &mut Recorder<'_, O>,
    ) -> Result<Time, Sent> {
        let (wire, size) = (&mut self.wires[link], parcel.size);
        let waiting = if O::QUEUE_LENGTH {
            wire.link.queue_len(at)
        } else {
            0
        };
        let fate = wire.link.offer(at, size);
        if !O::LINKS
            && let Fate::Delivered(arrival) = fate
        {
            wire.record(size, Decision::sent(fate), self.window);
            return Ok(arrival);
        }
        self.decide(Offer { link, at, waiting }, parcel, fate, recorder)
    }

    /// Settles an offer like [`Self::offer`], after the link has given a fate, for all fates.
    #[inline(never)]
    fn decide<O: Observer>(
        &mut self,
        offer: Offer,
        parcel: &mut Parcel,
        fate: Fate,
        recorder: &mut Recorder<'_, O>,
    ) -> Result<Time, Sent> {
        if fate == Fate::Held {
            return Err(Sent::Held);
        }
        let ecn = parcel.ecn(&self.aside);
        let decision = self.wires[offer.link].decision(offer.at, parcel.size, ecn, fate);
        self.settle(offer, parcel, decision, recorder);
        match decision.fate {
            Fate::Lost(cause, when) => Err(Sent::Lost(cause, when)),
            fate => Ok(fate.when()),
        }
    }

    /// Reports and applies the decision of a link about a packet.
    #[inline]
    pub(super) fn settle<O: Observer>(
        &mut self,
        offer: Offer,
        parcel: &mut Parcel,
        decision: Decision,
        recorder: &mut Recorder<'_, O>,
    ) {
        if O::LINKS {
            recorder.offered(offer, &parcel.open(&self.aside), decision);
        }
        self.apply(offer.link, parcel, decision);
    }

    /// Counts the decision of a link about a packet, and writes mark and damage into it.
    #[inline]
    pub(super) fn apply(&mut self, link: usize, parcel: &mut Parcel, decision: Decision) {
        self.wires[link].record(parcel.size, decision, self.window);
        if decision.marked {
            parcel.mark(&mut self.aside);
        }
        if let Fate::Damaged(_, first) = decision.fate {
            *parcel = parcel.copy().damaged(first, &mut self.aside);
        }
    }
}

#[cfg(test)]
mod tests {
    use whyloss::Duration;
    use whyloss_link::Streams;

    use super::super::ends::World;
    use super::super::shortcuts::Shortcuts;
    use super::*;
    use crate::scenario::Scenario;

    /// Two sources share a link to a sink: their packets stop before it, and nowhere else.
    #[test]
    fn a_sent_packet_says_where_and_when_it_is() {
        let text = r#"
            duration = "1 s"
            link = [
                { from = "a", to = "r", rate = "8 Mbit/s", delay = "1 ms", queue = "unlimited" },
                { from = "b", to = "r", rate = "8 Mbit/s", delay = "1 ms", queue = "unlimited" },
                { from = "r", to = "t", rate = "4 Mbit/s", delay = "1 ms", queue = { packets = 1 } },
            ]
            flow = [
                { from = "a", to = "t", transport = { kind = "cbr", rate = "1 Mbit/s" } },
                { from = "b", to = "t", transport = { kind = "cbr", rate = "1 Mbit/s" } },
            ]
        "#;
        let observer = &mut ();
        let scenario = Scenario::from_toml(text, "a scenario", &[]).expect("valid");
        let (mut world, routes) = World::new(&scenario, Streams::new(1), Shortcuts::ALL, observer);
        let World { recorder, network } = &mut world;
        let first = routes[0].there;
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut parcel = Parcel {
            size: 1_000,
            hop: first,
            ..Parcel::default()
        };
        // 1 ms of transmission and 1 ms of delay.
        let sent = network.send::<()>(&mut parcel, recorder);
        assert!(matches!(sent, Sent::InTransit));
        assert_eq!((parcel.hop, parcel.due), (first + 1, at(2)));
        let (now, link) = network.events.pop().expect("its arrival");
        let (parcel, _) = network.take_due(now, link).expect("the packet");
        assert_eq!((parcel.hop, parcel.due, now), (first + 1, at(2), at(2)));
        // 2 ms of transmission and 1 ms of delay. The second waits; there is no room for a third.
        let [one, two, three] = [(); 3].map(|()| {
            let mut parcel = parcel;
            let sent = network.send::<()>(&mut parcel, recorder);
            (sent, parcel.hop, parcel.due)
        });
        assert!(matches!(one, (Sent::AtSink, hop, due) if hop == first + 2 && due == at(5)));
        assert!(matches!(two, (Sent::AtSink, hop, due) if hop == first + 2 && due == at(7)));
        let (Sent::Lost(Cause::Congestion, when), hop, due) = three else {
            panic!("a full queue");
        };
        assert_eq!((when, hop, due), (at(2), first + 1, at(2)));
    }
}
