//! The sending end of a call: encoder, pacer, repairs, and the estimator.
//!
//! ```text
//! encoder   (target − repairs)·video share, between the bounds; a tick is skipped if the pacer holds over 250 ms
//! pacer     one packet each size/(pacing·target); repairs first
//! repairs   each lost packet that NACK names, if it left within the last 4,096
//! PLI       a key frame on the next tick, at most every 300 ms
//! ```

use std::collections::VecDeque;

use rtcp_types::{Compound, Nack, Packet as Rtcp, Pli};
use whyloss::{Duration, Time};

use super::encoder::Encoder;
use super::packet::{self, Packet, Piece, SSRC};
use super::{Feedback, HEADERS, Settings};
use crate::bandwidth::Bandwidth;
use crate::feedback::Session;

/// The number of packets that can be repaired.
const HISTORY: usize = 1 << 12;
/// The maximum number of waiting repairs. More requests are ignored.
const REPAIRS: usize = 1 << 10;
/// The time in s within which the pacer's queue must empty. Otherwise, frames are skipped.
const BACKLOG: f64 = 0.25;
/// The shortest time between two requested key frames.
const KEYS: Duration = Duration::from_millis(300);
/// The weight of each frame's repairs in their mean rate.
const WEIGHT: f64 = 1.0 / 16.0;
/// The shortest time to a deadline, so that time advances.
const STEP: Duration = Duration::from_micros(1);

/// The sending end of a call.
pub struct Sender {
    settings: Settings,
    session: Session<Box<dyn Bandwidth>>,
    encoder: Encoder,
    start: Time,
    /// The numbers of ticks and of frames so far.
    ticks: i64,
    frames: u32,
    /// The time of the last key frame, and whether a new one was requested.
    keyed: Option<Time>,
    wanted: bool,
    queue: VecDeque<Piece>,
    /// The bytes in the queue, on the wire.
    queued: f64,
    repairs: VecDeque<u16>,
    /// The bytes of repairs since the last frame, and their mean rate in bit/s.
    repaired: f64,
    repair_rate: f64,
    history: Box<[Option<(u16, Piece)>]>,
    number: u16,
    /// When the pacer is free, and the late start that it makes up for.
    free: Time,
    slack: Duration,
    now: Time,
}

impl Sender {
    /// Creates a sender that starts at `start` with this estimator. `seed` fixes the sizes of all
    /// frames.
    pub fn new(
        settings: Settings,
        estimator: Box<dyn Bandwidth>,
        seed: [u64; 4],
        start: Time,
    ) -> Self {
        Self {
            session: Session::new(estimator).with_ssrc(SSRC),
            encoder: Encoder::new(seed, settings.reaction, settings.frame_rate),
            settings,
            start,
            ticks: 0,
            frames: 0,
            keyed: None,
            wanted: true,
            queue: VecDeque::new(),
            queued: 0.0,
            repairs: VecDeque::new(),
            repaired: 0.0,
            repair_rate: 0.0,
            history: vec![None; HISTORY].into_boxed_slice(),
            number: 0,
            free: start,
            slack: Duration::ZERO,
            now: start,
        }
    }

    /// Lets the pacer make up for wake-ups that are up to `slack` late. Operating-system timers
    /// often are. The default is zero.
    #[must_use]
    pub fn with_slack(self, slack: Duration) -> Self {
        Self { slack, ..self }
    }

    /// Returns the estimator's target within the bounds of the settings, in bit/s on the wire.
    pub fn target(&self) -> f64 {
        let target = self.session.estimator().target();
        target.clamp(self.settings.least, self.settings.most)
    }

    fn with_transport(&self) -> bool {
        self.settings.feedback == Feedback::Twcc
    }

    /// Returns the bytes of video in a full packet.
    fn video(&self) -> u32 {
        let around = packet::overhead(self.with_transport(), true);
        (self.settings.datagram.saturating_sub(around)).max(1)
    }

    fn tick(&self) -> Time {
        self.start + self.settings.tick() * self.ticks
    }

    /// Handles an RTCP packet from the receiver.
    pub fn receive(&mut self, now: Time, bytes: &[u8]) {
        self.now = now;
        self.session.on_rtcp(now, bytes);
        let Ok(compound) = Compound::parse(bytes) else {
            return;
        };
        for packet in compound {
            match packet {
                Ok(Rtcp::TransportFeedback(feedback)) => {
                    let Ok(nack) = feedback.parse_fci::<Nack<'_>>() else {
                        continue;
                    };
                    for lost in nack.entries() {
                        if self.repairs.len() < REPAIRS && !self.repairs.contains(&lost) {
                            self.repairs.push_back(lost);
                        }
                    }
                }
                Ok(Rtcp::PayloadFeedback(feedback)) => {
                    self.wanted |= feedback.parse_fci::<Pli<'_>>().is_ok();
                }
                _ => {}
            }
        }
    }

    /// Handles the deadlines that are due at `now`: frames to encode, and the estimator's timeout.
    pub fn wake(&mut self, now: Time) {
        self.now = now;
        self.session.estimator_mut().timeout(now);
        while self.tick() <= now {
            self.capture(self.tick());
            self.ticks += 1;
        }
    }

    /// Encodes the frame of the tick at `at`, unless the encoder is off or too far ahead.
    fn capture(&mut self, at: Time) {
        let fresh = self.repaired * 8.0 * self.settings.frame_rate;
        self.repair_rate += (fresh - self.repair_rate) * WEIGHT;
        self.repaired = 0.0;
        let (target, full) = (self.target(), self.video());
        let size = HEADERS + packet::overhead(self.with_transport(), false);
        let share = f64::from(full) / f64::from(full + size);
        let asked = (target - self.repair_rate).clamp(self.settings.least, self.settings.most);
        let rate = self.encoder.ask(at, share * asked);
        if self.settings.pauses(at) {
            self.wanted = true;
            return;
        }
        if self.queued * 8.0 > BACKLOG * target {
            return;
        }
        let since = self.keyed.map_or(Duration::MAX, |keyed| at - keyed);
        let due = self
            .settings
            .key_interval
            .is_some_and(|interval| since >= interval);
        let key = due || self.wanted && since >= KEYS;
        if key {
            (self.keyed, self.wanted) = (Some(at), false);
        }
        let bytes = (self.encoder.frame(rate, key) as u32).max(1);
        // Pieces have about the same size, as in WebRTC's packetisers.
        let pieces = bytes.div_ceil(full).min(u32::from(packet::PIECES));
        for index in 0..pieces {
            let piece = Piece {
                frame: self.frames,
                index: index as u16,
                pieces: pieces as u16,
                key,
                captured: packet::ticks(at),
                bytes: (bytes * (index + 1) / pieces - bytes * index / pieces).min(full) as u16,
            };
            self.queued += f64::from(size + u32::from(piece.bytes));
            self.queue.push_back(piece);
        }
        self.frames = self.frames.wrapping_add(1);
    }

    /// Returns when [`wake`](Self::wake) or [`poll_transmit`](Self::poll_transmit) is due.
    pub fn next_timeout(&self) -> Time {
        let mut due = self.tick();
        if !self.queue.is_empty() || !self.repairs.is_empty() {
            due = due.min(self.free);
        }
        match self.session.estimator().poll_timeout() {
            Some(silent) => due.min(silent.max(self.now + STEP)),
            None => due,
        }
    }

    /// Appends the next packet that may leave at `now` to `bytes`. Returns false if there is none.
    pub fn poll_transmit(&mut self, now: Time, bytes: &mut Vec<u8>) -> bool {
        if now < self.free {
            return false;
        }
        let size = HEADERS + packet::overhead(self.with_transport(), false);
        let mut repair = None;
        while let Some(lost) = self.repairs.pop_front() {
            if let Some((number, piece)) = self.history[usize::from(lost) % HISTORY]
                && number == lost
            {
                repair = Some((lost, piece));
                break;
            }
        }
        let (repairs, piece) = match repair {
            Some((lost, piece)) => (Some(lost), piece),
            None => match self.queue.pop_front() {
                Some(piece) => {
                    self.queued -= f64::from(size + u32::from(piece.bytes));
                    (None, piece)
                }
                None => return false,
            },
        };
        let number = self.number;
        self.number = number.wrapping_add(1);
        let transport = self.with_transport().then_some(number);
        let packet = Packet {
            number,
            transport,
            repairs,
            piece,
        };
        packet.write(bytes);
        // A repair may also be lost. It is then requested by its own number.
        self.history[usize::from(number) % HISTORY] = Some((number, piece));
        let size = HEADERS + bytes.len() as u32;
        if repairs.is_some() {
            self.repaired += f64::from(size);
        }
        self.session.on_sent(number, now, size);
        let rate = self.settings.pacing * self.target();
        let takes = Duration::from_secs_f64(8.0 * f64::from(size) / rate.max(1.0));
        self.free = self.free.max(now - self.slack) + takes;
        true
    }
}
