//! Runs a call between two peers of str0m, over a link in virtual time that loses one packet in
//! ten.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use str0m::bwe::{Bitrate, BweKind};
use str0m::format::Codec;
use str0m::media::{Direction, MediaKind};
use str0m::net::{Protocol, Receive};
use str0m::rtp::RtpWrite;
use str0m::{Candidate, Event, Input, Output, Rtc};
use whyloss_rtc::Estimator;
use whyloss_rtc::str0m::Whyloss;

const STEP: Duration = Duration::from_millis(1);
const PROPAGATION: Duration = Duration::from_millis(20);
const CAPACITY: f64 = 3e6;
/// The bytes of a payload, and those of the headers and the tag around it.
const PAYLOAD: usize = 1_100;
const AROUND: usize = 28;

/// A queue of a second, followed by a radio.
struct Link {
    free: Instant,
    under_way: VecDeque<(Instant, Vec<u8>)>,
    random: Xoshiro256PlusPlus,
    lost: f64,
    longest: Duration,
}

impl Link {
    fn new(now: Instant) -> Self {
        Self {
            free: now,
            under_way: VecDeque::new(),
            random: Xoshiro256PlusPlus::seed_from_u64(1),
            lost: 0.0,
            longest: Duration::ZERO,
        }
    }

    fn push(&mut self, now: Instant, datagram: &[u8]) {
        let waited = self.free.saturating_duration_since(now);
        if waited > Duration::from_secs(1) {
            return;
        }
        self.longest = self.longest.max(waited);
        let takes = 8.0 * (datagram.len() + AROUND) as f64 / CAPACITY;
        self.free = self.free.max(now) + Duration::from_secs_f64(takes);
        if (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 >= self.lost {
            let at = self.free + PROPAGATION;
            self.under_way.push_back((at, datagram.to_vec()));
        }
    }
}

struct Peer {
    rtc: Rtc,
    here: SocketAddr,
    there: SocketAddr,
    due: Instant,
}

impl Peer {
    fn new(rtc: Rtc, here: &str, there: &str, now: Instant) -> Self {
        let at = |text: &str| text.parse().expect("an address");
        let (here, there) = (at(here), at(there));
        let mut peer = Self {
            rtc,
            here,
            there,
            due: now,
        };
        let host = Candidate::host(here, "udp").expect("a candidate");
        peer.rtc.add_local_candidate(host).expect("a candidate");
        peer
    }

    /// Reads the due packets from one link and sends packets to the other.
    fn turn(&mut self, now: Instant, from: &mut Link, to: &mut Link, take: &mut dyn FnMut(&Event)) {
        while let Some((_, datagram)) = from.under_way.pop_front_if(|(at, _)| *at <= now) {
            let receive = Receive {
                proto: Protocol::Udp,
                source: self.there,
                destination: self.here,
                contents: datagram.as_slice().try_into().expect("a datagram"),
            };
            let input = Input::Receive(now, receive);
            self.rtc.handle_input(input).expect("takes it");
            self.poll(now, to, take);
        }
        if self.due <= now {
            self.rtc.handle_input(Input::Timeout(now)).expect("time");
        }
        self.poll(now, to, take);
    }

    fn poll(&mut self, now: Instant, to: &mut Link, take: &mut dyn FnMut(&Event)) {
        loop {
            match self.rtc.poll_output().expect("an output") {
                Output::Timeout(due) => {
                    self.due = due;
                    return;
                }
                Output::Transmit(datagram) => to.push(now, &datagram.contents),
                Output::Event(event) => take(&event),
            }
        }
    }
}

/// The result of a call: the rate in bit/s in its last ten seconds, and the longest wait in the
/// queue then.
struct Seen {
    rate: f64,
    wait: Duration,
}

/// Runs a call of 40 s whose encoder follows our estimator, or str0m's.
fn call(ours: bool) -> Seen {
    // The only real instant is the epoch; all other times are virtual.
    #[expect(clippy::disallowed_methods)]
    let start = Instant::now();
    let build = |bwe: bool| {
        let config = Rtc::builder()
            .set_rtp_mode(true)
            .enable_raw_packets(true)
            .set_crypto_provider(str0m::crypto::from_feature_flags().into());
        let config = if bwe {
            config.enable_bwe(Some(Bitrate::kbps(300)))
        } else {
            config
        };
        config.build(start)
    };
    let (one, other) = ("1.1.1.1:1000", "2.2.2.2:2000");
    let mut left = Peer::new(build(!ours), one, other, start);
    let mut right = Peer::new(build(false), other, one, start);
    let mut api = left.rtc.sdp_api();
    let mid = api.add_media(MediaKind::Video, Direction::SendOnly, None, None, None);
    let (offer, pending) = api.apply().expect("an offer");
    let answer = right.rtc.sdp_api().accept_offer(offer).expect("an answer");
    let accepted = left.rtc.sdp_api().accept_answer(pending, answer);
    accepted.expect("negotiates");
    left.rtc.bwe().set_bitrate(Bitrate::ZERO, Bitrate::mbps(10));
    let vp8 = |rtc: &Rtc| {
        let all = rtc.codec_config();
        let found = all.iter().find(|params| params.spec().codec == Codec::Vp8);
        found.map(str0m::format::PayloadParams::pt).expect("VP8")
    };
    let payload_type = vp8(&left.rtc);

    let mut estimator = Whyloss::new(Estimator::new(300e3, 100e3, 10e6));
    let mut target = Bitrate::kbps(300);
    let (mut forth, mut back) = (Link::new(start), Link::new(start));
    let (mut credit, mut number, mut late) = (0.0, 0_u64, 0.0);
    for ms in 0..40_000 {
        let now = start + STEP * ms;
        if left.rtc.is_connected() {
            forth.lost = 0.1;
            credit += target.as_f64() * STEP.as_secs_f64() / 8.0;
        }
        if ms == 30_000 {
            forth.longest = Duration::ZERO;
        }
        while credit > 0.0 {
            credit -= (PAYLOAD + 64) as f64;
            number += 1;
            late += f64::from(u8::from(ms >= 30_000)) * (PAYLOAD + 64) as f64;
            let mut direct = left.rtc.direct_api();
            let stream = direct.stream_tx_by_mid(mid, None).expect("a stream");
            // Each packet contains a whole frame: the VP8 descriptor, then arbitrary bytes.
            let mut payload = vec![0_u8; PAYLOAD];
            payload[0] = 0x10;
            let packet = RtpWrite::new(payload_type, number.into(), 90 * ms, now, payload);
            stream.write_rtp(packet);
            left.due = now;
        }
        left.turn(now, &mut back, &mut forth, &mut |event| {
            estimator.on_event(now, event);
            if let Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) = event
                && !ours
            {
                target = *estimate;
            }
        });
        right.turn(now, &mut forth, &mut back, &mut |_| {});
        estimator.handle_timeout(now);
        if ours {
            target = estimator.target();
        }
    }
    Seen {
        rate: 8.0 * late / 10.0,
        wait: forth.longest,
    }
}

#[test]
fn fills_a_lossy_link_without_a_queue() {
    let (ours, theirs) = (call(true), call(false));
    for (name, seen) in [("whyloss", &ours), ("str0m", &theirs)] {
        let (kbit, ms) = (seen.rate / 1e3, seen.wait.as_millis());
        println!("{name}: {kbit:.0} kbit/s, {ms} ms in the queue at most");
    }
    assert!(
        (0.9..1.05).contains(&(ours.rate / CAPACITY)),
        "{}",
        ours.rate
    );
    assert!(ours.wait < Duration::from_millis(50), "{:?}", ours.wait);
    assert!(ours.rate > theirs.rate, "{}", theirs.rate);
}
