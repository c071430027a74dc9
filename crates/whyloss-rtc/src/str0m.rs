//! Passes the packets in str0m's [`Event::RawPacket`] to the estimator.
//!
//! str0m accepts no foreign estimator, so the application uses this one to set the encoder's rate.
//!
//! ```
//! use std::time::Instant;
//! use str0m::{Output, Rtc, RtcError};
//! use whyloss_rtc::{Estimator, str0m::Whyloss};
//!
//! // `enable_bwe` stays off, or str0m's estimate would pace the packets.
//! fn connect(now: Instant) -> (Rtc, Whyloss) {
//!     let rtc = Rtc::builder().enable_raw_packets(true).build(now);
//!     (rtc, Whyloss::new(Estimator::new(300e3, 100e3, 10e6)))
//! }
//!
//! /// Returns when to poll again; the encoder follows `estimator.target()`.
//! fn poll(rtc: &mut Rtc, estimator: &mut Whyloss, now: Instant) -> Result<Instant, RtcError> {
//!     estimator.handle_timeout(now);
//!     loop {
//!         match rtc.poll_output()? {
//!             Output::Timeout(due) => {
//!                 return Ok(estimator.poll_timeout().map_or(due, |own| own.min(due)));
//!             }
//!             Output::Event(event) => estimator.on_event(now, &event),
//!             Output::Transmit(datagram) => { /* to the socket */ }
//!         }
//!     }
//! }
//! ```

use crate::feedback::Session;
use crate::instant::{Clock, nanos};
use crate::{Ecn, Estimator, Fate};
use std::time::{Duration, Instant};
use str0m::Event;
use str0m::bwe::Bitrate;
use str0m::rtp::RawPacket;
use str0m::rtp::rtcp::{Rtcp, Twcc};

/// The bytes of the IPv4 and UDP headers and of SRTP's tag, which raw packets do not contain.
const AROUND: usize = 44;
/// The unit of transport-wide reference times.
const REFERENCE: Duration = Duration::from_millis(64);

/// An [`Estimator`] that reads the events of str0m.
#[derive(Clone, Debug)]
pub struct Whyloss {
    session: Session,
    clock: Clock,
}

impl Whyloss {
    /// Wraps `estimator`.
    pub fn new(estimator: Estimator) -> Self {
        Self {
            session: Session::new(estimator),
            clock: Clock::default(),
        }
    }

    /// Returns the estimator.
    pub fn estimator(&self) -> &Estimator {
        self.session.estimator()
    }

    /// Updates the estimator with an event that `Rtc::poll_output` returned at `now`.
    pub fn on_event(&mut self, now: Instant, event: &Event) {
        match event.as_raw_packet() {
            Some(RawPacket::RtpTx(header, bytes)) => {
                if let Some(number) = header.ext_vals.transport_cc {
                    let size = u32::try_from(bytes.len() + AROUND).unwrap_or(u32::MAX);
                    self.session.on_sent(number, self.clock.read(now), size);
                }
            }
            Some(RawPacket::RtcpRx(Rtcp::Twcc(twcc))) => self.on_twcc(now, twcc),
            _ => {}
        }
    }

    fn on_twcc(&mut self, now: Instant, twcc: &Twcc) {
        let heard = self.clock.read(now);
        let reference = self.session.reference(twcc.reference_time);
        // Any instant will do, because str0m adds the reference time and the steps to it. Any
        // number with the same low bits will do, because the session extends it.
        let zero = now + REFERENCE * twcc.reference_time;
        let near = 1 << 16 | u64::from(twcc.base_seq);
        for (number, _, at) in twcc.clone().into_iter(now, near.into()) {
            let fate = match at {
                None => Fate::Lost(None),
                Some(at) => {
                    let later = nanos(at.saturating_duration_since(zero)).as_nanos();
                    let sooner = nanos(zero.saturating_duration_since(at)).as_nanos();
                    let at = reference.saturating_add(later).saturating_sub(sooner);
                    Fate::Arrived(Some(crate::Time::from_nanos(at)), Ecn::NotEct)
                }
            };
            self.session.report(heard, *number as u16, fate);
        }
        self.session.hand_on(heard);
    }

    /// Returns the bitrate to send at, headers included.
    pub fn target(&self) -> Bitrate {
        Bitrate::bps(self.estimator().target() as u64)
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) is due; `None` if there is no
    /// deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.clock.instant(self.estimator().poll_timeout()?)
    }

    /// Halves the target if `now` is past [`poll_timeout`](Self::poll_timeout).
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.clock.read(now);
        self.session.estimator_mut().timeout(now);
    }
}
