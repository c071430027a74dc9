//! Runs a call between two peers of webrtc-rs, over a link in virtual time that loses one packet in
//! twenty.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rtc::media_stream::MediaStreamTrack;
use rtc::peer_connection::configuration::interceptor_registry::{
    CongestionFeedback, Registry, configure_congestion_control,
};
use rtc::peer_connection::configuration::media_engine::MediaEngine;
use rtc::peer_connection::transport::{CandidateConfig, CandidateHostConfig, RTCIceCandidate};
use rtc::peer_connection::{RTCPeerConnection, RTCPeerConnectionBuilder};
use rtc::rtp::{Packet, header::Header};
use rtc::rtp_transceiver::RTCRtpSenderId;
use rtc::rtp_transceiver::rtp_sender::{
    RTCRtpCodec, RTCRtpCodecParameters, RTCRtpCodingParameters, RTCRtpEncodingParameters,
    RtpCodecKind,
};
use rtc::sansio::Protocol;
use rtc::shared::{TaggedBytesMut, TransportContext, TransportProtocol};
use rtc::statistics::StatsSelector;
use whyloss_rtc::{Estimator, interceptor::Whyloss};

type Error = Box<dyn std::error::Error>;

const SSRC: u32 = 1;
const VIDEO: u8 = 96;
const PROPAGATION: Duration = Duration::from_millis(20);
/// The first and the highest target, in bit/s.
const FIRST: f64 = 300e3;
const HIGHEST: f64 = 10e6;

/// One end of the call, and the datagrams on their way to it.
struct Peer {
    connection: RTCPeerConnection,
    address: SocketAddr,
    coming: VecDeque<(Instant, TaggedBytesMut)>,
}

impl Peer {
    fn new(now: Instant, port: u16) -> Result<Self, Error> {
        let mut media = MediaEngine::default();
        let codec = RTCRtpCodecParameters {
            rtp_codec: codec(),
            payload_type: VIDEO,
        };
        media.register_codec(codec, RtpCodecKind::Video)?;
        let estimator = Whyloss::new(Estimator::new(FIRST, 100e3, HIGHEST));
        let twcc = CongestionFeedback::Twcc;
        let registry = configure_congestion_control(Registry::new(), estimator, twcc, &mut media)?;
        let mut connection = RTCPeerConnectionBuilder::new()
            .with_media_engine(media)
            .with_interceptor_registry(registry)
            .build(now)?;

        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let candidate = CandidateHostConfig {
            base_config: CandidateConfig {
                network: "udp".to_owned(),
                address: address.ip().to_string(),
                port,
                component: 1,
                ..CandidateConfig::default()
            },
            ..CandidateHostConfig::default()
        };
        let candidate = RTCIceCandidate::from(&candidate.new_candidate_host()?);
        connection.add_local_candidate(candidate.to_json()?)?;
        let coming = VecDeque::new();
        Ok(Self {
            connection,
            address,
            coming,
        })
    }

    /// Reads the datagrams that are due, and discards events and media.
    fn read(&mut self, now: Instant) -> Result<(), Error> {
        while let Some((_, datagram)) = self.coming.pop_front_if(|(due, _)| *due <= now) {
            self.connection.handle_read(datagram)?;
        }
        if self.connection.poll_timeout().is_some_and(|due| due <= now) {
            self.connection.handle_timeout(now)?;
        }
        while self.connection.poll_event().is_some() {}
        while self.connection.poll_read().is_some() {}
        Ok(())
    }

    /// Passes the outgoing datagrams to `peer`, except every twentieth packet of video.
    fn write(&mut self, now: Instant, peer: &mut Self) {
        while let Some(datagram) = self.connection.poll_write() {
            let is_lost = match datagram.message[..] {
                // The marker bit precedes the payload type.
                [first, kind, high, low, ..] if first >> 6 == 2 && kind & 127 == VIDEO => {
                    u16::from_be_bytes([high, low]) % 20 == 7
                }
                _ => false,
            };
            if is_lost {
                continue;
            }
            let due = now + PROPAGATION;
            let arrived = TaggedBytesMut {
                now: due,
                transport: TransportContext {
                    local_addr: peer.address,
                    peer_addr: self.address,
                    transport_protocol: TransportProtocol::UDP,
                    ecn: None,
                },
                message: datagram.message,
            };
            peer.coming.push_back((due, arrived));
        }
    }

    /// Returns the target in bit/s, or 0 until it first changes.
    fn target(&mut self, now: Instant) -> f64 {
        let stats = self.connection.get_stats(now, StatsSelector::None);
        stats
            .outbound_rtp_streams()
            .next()
            .map_or(0.0, |stream| stream.target_bitrate)
    }
}

fn codec() -> RTCRtpCodec {
    RTCRtpCodec {
        mime_type: "video/VP8".to_owned(),
        clock_rate: 90_000,
        ..RTCRtpCodec::default()
    }
}

/// Adds a video track.
fn video(connection: &mut RTCPeerConnection) -> Result<RTCRtpSenderId, Error> {
    let encoding = RTCRtpEncodingParameters {
        rtp_coding_parameters: RTCRtpCodingParameters {
            ssrc: Some(SSRC),
            ..RTCRtpCodingParameters::default()
        },
        codec: codec(),
        ..RTCRtpEncodingParameters::default()
    };
    let name = || "video".to_owned();
    let track = MediaStreamTrack::new(name(), name(), name(), RtpCodecKind::Video, vec![encoding]);
    Ok(connection.add_track(track)?)
}

#[test]
fn the_target_rises_over_a_lossy_link() -> Result<(), Error> {
    #[expect(
        clippy::disallowed_methods,
        reason = "only the epoch: all other times are virtual"
    )]
    let start = Instant::now();
    let mut caller = Peer::new(start, 5_000)?;
    let mut callee = Peer::new(start, 5_002)?;
    let sender = video(&mut caller.connection)?;
    let offer = caller.connection.create_offer(None)?;
    caller
        .connection
        .set_local_description(start, offer.clone())?;
    callee.connection.set_remote_description(start, offer)?;
    let answer = callee.connection.create_answer(None)?;
    callee
        .connection
        .set_local_description(start, answer.clone())?;
    caller.connection.set_remote_description(start, answer)?;

    assert!(caller.target(start) < FIRST);
    let (mut number, mut owed) = (0, 0.0);
    for ms in 0..5_000_u32 {
        let now = start + Duration::from_millis(ms.into());
        caller.read(now)?;
        callee.read(now)?;
        owed += caller.target(now).max(FIRST) / 8e3;
        while owed >= 1_200.0 {
            owed -= 1_200.0;
            number += 1;
            let header = Header {
                version: 2,
                payload_type: VIDEO,
                sequence_number: number,
                timestamp: ms * 90,
                ssrc: SSRC,
                ..Header::default()
            };
            let payload = Bytes::from_static(&[0; 1_188]);
            let mut sender = caller.connection.rtp_sender(sender).ok_or("no sender")?;
            sender.write_rtp(now, Packet { header, payload })?;
        }
        caller.write(now, &mut callee);
        callee.write(now, &mut caller);
    }
    // Nothing limits the link.
    let target = caller.target(start + Duration::from_secs(5));
    assert!(target >= HIGHEST, "{target}");
    Ok(())
}
