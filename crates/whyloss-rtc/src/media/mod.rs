//! The two ends of a video call without the video: an encoder's model, a pacer, repairs, a jitter
//! buffer, and feedback. Both are sans-I/O, so that the simulator and sockets run the same code.
//!
//! ```text
//! Sender     encoder → pacer → RTP            reads TWCC or RFC 8888 reports, NACK, and PLI
//! Receiver   RTP → jitter buffer → screen     writes them
//! ```
//!
//! | part | file | source |
//! |---|---|---|
//! | encoder | `encoder.rs` | RFC 8593, section 5 |
//! | pacer, repairs | `sender.rs` | draft-ietf-rmcat-gcc-02, section 4; RFC 4585; RFC 4588 |
//! | jitter buffer, NACK, freezes | `receiver.rs`, `screen.rs` | RFC 4585 |
//! | reports | `reports.rs` | draft-holmer-rmcat-transport-wide-cc-extensions-01; RFC 8888 |
//! | RTP | `packet.rs` | RFC 3550; RFC 8285 |
//!
//! A repair takes the next number of its stream, so that one series of reports covers all packets.
//! RFC 4588 gives it a stream of its own.

mod encoder;
pub mod packet;
mod receiver;
mod reports;
mod screen;
mod sender;
pub mod socket;

pub use receiver::Receiver;
pub use screen::Shown;
pub use sender::Sender;
use whyloss::{Duration, Time};

/// Bytes of the IPv4 and UDP headers below a datagram.
pub const HEADERS: u32 = 28;

/// The format in which the receiver reports arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Feedback {
    /// Transport-wide congestion control.
    #[default]
    Twcc,
    /// RFC 8888.
    Rfc8888,
}

/// The settings of a call; both ends need the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Format of the reports.
    pub feedback: Feedback,
    /// Time between two reports.
    pub interval: Duration,
    /// The first target, bit/s.
    pub start: f64,
    /// Bounds of the target and of the encoder, bit/s on the wire.
    pub least: f64,
    /// See `least`.
    pub most: f64,
    /// Frames a second.
    pub frame_rate: f64,
    /// Time between two key frames; without it, only the first frame and those that the receiver
    /// asks for are.
    pub key_interval: Option<Duration>,
    /// How long the encoder takes to follow its target.
    pub reaction: Duration,
    /// How many times the target the pacer sends.
    pub pacing: f64,
    /// Whether the receiver asks for lost packets.
    pub nack: bool,
    /// How long the jitter buffer waits for a packet before it asks for a key frame.
    pub patience: Duration,
    /// How much later than the fastest frame one counts as late, and a still picture as frozen.
    pub late: Duration,
    /// A pause in which the encoder is off.
    pub pause: Option<(Time, Time)>,
    /// Bytes of the largest datagram.
    pub datagram: u32,
}

impl Default for Settings {
    /// Rates, frame rate, and reaction as in RFC 8593, table 1.
    fn default() -> Self {
        Self {
            feedback: Feedback::Twcc,
            interval: Duration::from_millis(50),
            start: 300e3,
            least: 150e3,
            most: 1.5e6,
            frame_rate: 30.0,
            key_interval: None,
            reaction: Duration::from_millis(200),
            pacing: 1.5,
            nack: true,
            patience: Duration::from_millis(500),
            late: Duration::from_millis(200),
            pause: None,
            datagram: 1_200,
        }
    }
}

impl Settings {
    /// Time between two frames.
    pub(crate) fn tick(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.frame_rate)
    }

    /// Whether the encoder is off.
    pub(crate) fn pauses(&self, at: Time) -> bool {
        self.pause.is_some_and(|(from, to)| from <= at && at < to)
    }
}

#[cfg(test)]
mod tests;
