//! Measures the frames that the viewer sees: late frames, lost frames, and freezes.
//!
//! ```text
//! expected  ticks of the window at which the encoder is on and whose frame could arrive in time
//! late      shown more than `late` after the fastest frame so far would have been, counted from capture
//! never     expected − shown: lost, given up, or skipped by the encoder
//! freeze    the picture stands still for more than `late` beyond a tick; the time beyond it is frozen
//! ```
//!
//! A frame is shown after all earlier frames, so a frame that waits for a repair delays the later
//! ones.

use whyloss::{Duration, Time};

use super::Settings;

/// A frame that the receiver shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The time from capture to display. Over sockets, it includes the offset between the two
    /// clocks.
    pub delay: Duration,
    /// Whether the frame is late by [`Settings::late`](super::Settings::late).
    pub late: bool,
    /// The time beyond one tick for which the picture stood still before this frame; zero if the
    /// pause is too short for a freeze.
    pub frozen: Duration,
    /// The bytes of video in the frame.
    pub bytes: u64,
}

/// Times frames as they are shown.
#[derive(Clone, Debug)]
pub(crate) struct Screen {
    late: Duration,
    tick: Duration,
    pause: Option<(Time, Time)>,
    least: Option<Duration>,
    last: Option<Time>,
}

impl Screen {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            late: settings.late,
            tick: settings.tick(),
            pause: settings.pause,
            least: None,
            last: None,
        }
    }

    pub(crate) fn show(&mut self, now: Time, delay: Duration, bytes: u64) -> Shown {
        let least = self.least.map_or(delay, |least| least.min(delay));
        self.least = Some(least);
        let still = self.last.map_or(Duration::ZERO, |last| {
            // A pause of the encoder does not count as a freeze.
            let paused = self.pause.is_some_and(|(from, to)| last < to && from < now);
            if paused {
                Duration::ZERO
            } else {
                now - last - self.tick
            }
        });
        self.last = Some(now);
        Shown {
            delay,
            late: delay - least > self.late,
            frozen: if still > self.late {
                still
            } else {
                Duration::ZERO
            },
            bytes,
        }
    }
}
