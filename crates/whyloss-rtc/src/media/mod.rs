//! The two ends of a video call without the video: a model of the encoder, a pacer, retransmissions
//! (*repairs*), a jitter buffer, and feedback. Both ends are sans-I/O, so the simulator and sockets
//! run the same code.
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
//! A repair takes the next number of the stream, so one series of reports covers all packets. RFC
//! 4588 uses a separate stream instead.

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

/// The bytes of the IPv4 and UDP headers of a datagram.
pub const HEADERS: u32 = 28;

/// Selects the format in which the receiver reports arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Feedback {
    /// Transport-wide congestion control feedback (TWCC).
    #[default]
    Twcc,
    /// The feedback of RFC 8888.
    Rfc8888,
}

/// The settings of a call, which must be the same at both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The format of the reports; TWCC by default.
    pub feedback: Feedback,
    /// The time between two reports; 50 ms by default.
    pub interval: Duration,
    /// The initial target, in bit/s; 300,000 by default.
    pub start: f64,
    /// The lowest target and encoder rate, in bit/s on the wire; 150,000 by default.
    pub least: f64,
    /// The highest target and encoder rate, in bit/s on the wire; 1,500,000 by default.
    pub most: f64,
    /// The number of frames per second; 30 by default.
    pub frame_rate: f64,
    /// The time between two key frames. With `None` (the default), only the first frame and
    /// requested ones are key frames.
    pub key_interval: Option<Duration>,
    /// The time that the encoder takes to follow its target; 200 ms by default.
    pub reaction: Duration,
    /// The ratio of the pacer's rate to the target; 1.5 by default.
    pub pacing: f64,
    /// Whether the receiver requests lost packets (NACK); true by default.
    pub nack: bool,
    /// How long the jitter buffer waits for a packet before it requests a key frame; 500 ms by
    /// default.
    pub patience: Duration,
    /// The delay above that of the fastest frame at which a frame is late, and the duration at
    /// which a still picture is frozen; 200 ms by default.
    pub late: Duration,
    /// The start and end of a pause in which the encoder is off; `None`, the default, for no pause.
    pub pause: Option<(Time, Time)>,
    /// The size of the largest datagram in bytes; 1,200 by default.
    pub datagram: u32,
}

impl Default for Settings {
    /// Returns settings with the rates, frame rate, and reaction of RFC 8593, table 1.
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
    /// Returns the time between two frames.
    pub(crate) fn tick(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.frame_rate)
    }

    /// Returns whether the encoder is off at this time.
    pub(crate) fn pauses(&self, at: Time) -> bool {
        self.pause.is_some_and(|(from, to)| from <= at && at < to)
    }
}

#[cfg(test)]
mod tests;
