//! Data packets at the receiving end: each transport's arrivals, verdicts, and answers.

use whyloss::iftp;
use whyloss::iftp::packet::{Header, Sum};
use whyloss::receiver::{Arrival, ReceiverClassifier};
use whyloss::{Cause, Time, tfrc};

use super::super::EndpointError;
use super::super::arrivals::{Called, Line};
use super::super::pattern::{differences, short_digest};
use super::super::wire::{self, BELOW, Carrier, DATA_HEADER, TfrcData, TfrcFeedback, iftp_format};
use super::{Engine, MOST_DAMAGED, MOST_VERDICTS, ReceivingEnd};

impl ReceivingEnd {
    /// Handles a data packet of TFRC; returns `None` if it is ignored.
    pub(super) fn tfrc(&mut self, packet: &[u8], at: Time) -> Result<Option<()>, EndpointError> {
        let own = self.own(at);
        let Some(session) = &mut self.session else {
            return Ok(None);
        };
        let Some((number, data, payload)) = TfrcData::decode(packet) else {
            return Ok(None);
        };
        if number != session.terms.session {
            return Ok(None);
        }
        let expanded = wire::expand(data.number, session.terms.first, session.seen.expected());
        let Some((sequence, missing)) =
            expanded.and_then(|number| Some((number, session.seen.missing(number)?)))
        else {
            return Ok(None);
        };
        session.heard = at;
        let again = !session.seen.mark(sequence);
        let Engine::Tfrc(end) = &mut session.engine else {
            return Ok(None);
        };
        let (receiver, classifier) = &mut **end;
        let size = packet.len() as u32 + BELOW;
        let data_of = tfrc::Data {
            sequence,
            ..data.data
        };
        let arrival = Arrival::new(sequence, data.data.stamp, own, size);
        let verdict = classifier.on_arrival(&arrival, missing);
        let feedback = receiver.on_data(own, &data_of, size, |_| {
            verdict.unwrap_or(Cause::Congestion)
        });
        self.received.loss_event_rate = Some(receiver.loss_event_rate());
        let wrong = short_digest(payload) != data.check;
        let called = verdict.map(Called::from);
        self.arrived(
            sequence,
            data.data.stamp,
            own,
            size,
            missing,
            called,
            Vec::new(),
            again,
            wrong,
            payload,
        )?;
        if let Some(feedback) = feedback {
            self.feed_back(&feedback);
        }
        Ok(Some(()))
    }

    /// Handles a data packet of IFTP; returns `None` if it is ignored.
    pub(super) fn iftp(&mut self, packet: &[u8], at: Time) -> Result<Option<()>, EndpointError> {
        let own = self.own(at);
        let Some(session) = &mut self.session else {
            return Ok(None);
        };
        let terms = session.terms;
        let format = iftp_format(terms.coverage < terms.packet);
        // Where no checksum covers UDP's length, it may be damaged like any other field.
        let cut = terms.pattern && packet.len() as u32 + BELOW != u32::from(terms.packet);
        let Some((header, covered)) = format
            .decode_data(packet, Sum::default())
            .ok()
            .filter(|_| !cut)
        else {
            self.received.refused += 1;
            return Ok(Some(()));
        };
        let ports = (u32::from(header.source_port) << 16) | u32::from(header.destination_port);
        if ports != terms.session {
            return Ok(None);
        }
        let expanded = wire::expand_short(header.number, terms.first, session.seen.expected());
        let Some((sequence, missing)) =
            expanded.and_then(|number| Some((number, session.seen.missing(number)?)))
        else {
            return Ok(None);
        };
        session.heard = at;
        let again = !session.seen.mark(sequence);
        let peer = session.peer;
        let stamp = Time::from_nanos(u64::from(header.stamp) * format.tick_nanos());
        let ack = iftp::Receiver.on_data(&iftp::Data { sequence, stamp });
        let mut answer = [0; 16];
        let reply = Header {
            number: terms.first.wrapping_add(ack.sequence as u32) as u16,
            stamp: header.stamp,
            ..header
        };
        if let Ok(length) = format.encode_ack(&reply, &mut answer, Sum::default()) {
            self.say(answer[..length].to_vec(), peer);
        }
        let payload = &packet[format.data_header()..];
        let number = terms.first.wrapping_add(sequence as u32);
        let mut damaged = Vec::new();
        if terms.pattern {
            let before = (BELOW as usize + format.data_header()) as u32 * 8;
            damaged = differences(terms.session, number, payload);
            damaged.truncate(MOST_DAMAGED);
            for bit in &mut damaged {
                *bit += before;
            }
        }
        // The covered part must be as it was sent, because the checksum is valid.
        let wrong = damaged
            .iter()
            .any(|&bit| bit < (covered as u32 + BELOW) * 8);
        let size = packet.len() as u32 + BELOW;
        let called = (missing > 0).then_some(Called::Congestion);
        self.arrived(
            sequence, stamp, own, size, missing, called, damaged, again, wrong, payload,
        )?;
        Ok(Some(()))
    }

    /// Counts, logs and passes on a data packet.
    #[expect(
        clippy::too_many_arguments,
        reason = "what both transports know of an arrival"
    )]
    fn arrived(
        &mut self,
        sequence: u64,
        sent: Time,
        received: Time,
        size: u32,
        missing: u64,
        verdict: Option<Called>,
        damaged: Vec<u32>,
        again: bool,
        wrong: bool,
        payload: &[u8],
    ) -> Result<(), EndpointError> {
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        let number = session.terms.first.wrapping_add(sequence as u32);
        if let Some(called) = verdict {
            match called {
                Called::Congestion => self.received.missing_congestion += missing,
                Called::Wireless => self.received.missing_wireless += missing,
            }
            let most = self.options.truth.as_ref().map_or(0, |_| MOST_VERDICTS);
            let room = most.saturating_sub(session.missing.len()) as u64;
            let lost = (1..=missing.min(room))
                .rev()
                .map(|back| (number.wrapping_sub(back as u32), called));
            session.missing.extend(lost);
        }
        if again {
            self.received.repeated += 1;
        } else {
            self.received.packets += 1;
            self.received.bytes += payload.len() as u64;
            self.received.late += u64::from(sequence + 1 < session.seen.expected());
            self.received.damaged += u64::from(!damaged.is_empty());
            self.received.wrong += u64::from(wrong);
            let (carrier, packet) = (session.terms.carrier, session.terms.packet);
            let headers = BELOW as usize
                + match carrier {
                    Carrier::Tfrc => DATA_HEADER,
                    Carrier::Iftp => iftp_format(false).data_header(),
                };
            let size = usize::from(packet).saturating_sub(headers);
            let written = self.sink.write(sequence, size, payload)?;
            self.received.beyond += u64::from(!written);
        }
        let logged = self.arrivals.write(&Line {
            number,
            sequence,
            sent: sent.as_nanos(),
            received: received.as_nanos(),
            size,
            missing,
            verdict,
            damaged,
        })?;
        self.received.unlogged += u64::from(!logged);
        Ok(())
    }

    /// Sends TFRC's feedback.
    pub(super) fn feed_back(&mut self, feedback: &tfrc::Feedback) {
        let Some(session) = &self.session else {
            return;
        };
        let number = session
            .terms
            .first
            .wrapping_add(session.seen.expected().wrapping_sub(1) as u32);
        let packet = TfrcFeedback {
            number,
            feedback: *feedback,
        };
        let (packet, peer) = (packet.encode(session.terms.session), session.peer);
        self.say(packet, peer);
    }
}
