//! Runs a call with webrtc-rs at the other end: its RTP reads our packets, its RFC 8888 recorder
//! reports them, and its RTCP reads our reports.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration as Span, Instant};

use bytes::Bytes;
use rtc_interceptor::{CcFeedbackRecorder, convert_twcc};
use rtc_rtcp::transport_feedbacks::cc_feedback_report::Ecn;
use rtc_rtcp::transport_feedbacks::transport_layer_cc::TransportLayerCc;
use rtc_rtcp::transport_feedbacks::transport_layer_nack::{NackPair, TransportLayerNack};
use rtc_shared::marshal::{Marshal, Unmarshal};
use whyloss_rtc::media::packet::{Packet, Piece, SSRC};
use whyloss_rtc::media::socket::send;
use whyloss_rtc::media::{Feedback, Receiver, Settings};
use whyloss_rtc::{Duration, Estimator, Time};

/// Reports arrivals every 20 ms, except one packet in twenty. Returns the number of packets read.
#[expect(clippy::disallowed_methods, reason = "sockets are an edge")]
fn peer(there: &UdpSocket, stop: &AtomicBool) -> u32 {
    let timeout = Some(Span::from_millis(5));
    there.set_read_timeout(timeout).expect("a timeout");
    let (start, mut reported) = (Instant::now(), Instant::now());
    let mut recorder = CcFeedbackRecorder::new();
    let (mut buffer, mut read, mut from) = ([0; 2_048], 0, None);
    while !stop.load(Ordering::Relaxed) {
        if let Ok((length, sender)) = there.recv_from(&mut buffer) {
            let mut bytes = Bytes::copy_from_slice(&buffer[..length]);
            let packet = rtc_rtp::Packet::unmarshal(&mut bytes).expect("RTP");
            assert_eq!((packet.header.ssrc, packet.header.payload_type), (SSRC, 96));
            read += 1;
            from = Some(sender);
            if read % 20 != 7 {
                let number = packet.header.sequence_number;
                recorder.add_packet(Instant::now(), SSRC, number, Ecn::default());
            }
        }
        let now = Instant::now();
        if let Some(sender) = from.filter(|_| now - reported > Span::from_millis(20)) {
            reported = now;
            let stamp = (now - start).as_nanos() * 65_536 / 1_000_000_000;
            let report = recorder.build_report(now, 1, stamp as u32, 1_200);
            let report = report.marshal().expect("RTCP");
            there.send_to(&report, sender).expect("sends");
        }
    }
    read
}

#[test]
fn a_receiver_of_webrtc_rs_lets_the_target_rise() {
    let there = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let here = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = there.local_addr().expect("an address");
    here.connect(address).expect("connects");
    let (stop, never) = (AtomicBool::new(false), AtomicBool::new(false));
    let settings = Settings {
        feedback: Feedback::Rfc8888,
        ..Settings::default()
    };
    let (sent, read) = thread::scope(|scope| {
        let peer = scope.spawn(|| peer(&there, &stop));
        let estimator = Box::new(Estimator::new(300e3, 150e3, 1.5e6));
        let (time, patience) = (Duration::from_secs(2), Duration::from_secs(5));
        let sent = send(&here, settings, estimator, time, patience, &never);
        stop.store(true, Ordering::Relaxed);
        (sent.expect("sends"), peer.join().expect("no panic"))
    });
    assert!(read > 40 && sent.reports > 10, "{sent:?}");
    // One packet in twenty is lost, but not in a queue.
    assert!(sent.target > 300e3, "{sent:?}");
}

/// Packets 0 to 9 arrive, except 3 and 4. webrtc-rs reads the same arrivals from our report, the
/// missing numbers from our NACK, and the transport-wide number from our header.
#[test]
fn webrtc_rs_reads_what_we_write() {
    let mut receiver = Receiver::new(Settings::default());
    let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
    for number in (0..10_u16).filter(|number| !(3..5).contains(number)) {
        let piece = Piece {
            frame: u32::from(number),
            pieces: 1,
            key: number == 0,
            bytes: 100,
            ..Piece::default()
        };
        let packet = Packet {
            number,
            transport: Some(number),
            repairs: None,
            piece,
        };
        let mut bytes = Vec::new();
        packet.write(&mut bytes);
        let read = rtc_rtp::Packet::unmarshal(&mut Bytes::copy_from_slice(&bytes)).expect("RTP");
        let extension = read
            .header
            .get_extension(1)
            .expect("a transport-wide number");
        assert_eq!(extension[..], number.to_be_bytes());
        assert_eq!(read.payload.len(), 108);
        receiver.receive(ms(100 + 7 * u64::from(number)), &bytes);
    }
    let (mut arrived, mut asked) = (Vec::new(), Vec::new());
    let mut bytes = Vec::new();
    while receiver.poll_transmit(ms(200), &mut bytes) {
        let packets = rtc_rtcp::packet::unmarshal(&mut Bytes::from(std::mem::take(&mut bytes)));
        for packet in packets.expect("RTCP") {
            if let Some(feedback) = packet.as_any().downcast_ref::<TransportLayerCc>() {
                arrived = convert_twcc(feedback);
                // webrtc-rs also reads the unused symbols of the last chunk.
                arrived.truncate(usize::from(feedback.packet_status_count));
            }
            if let Some(nack) = packet.as_any().downcast_ref::<TransportLayerNack>() {
                asked.extend(nack.nacks.iter().flat_map(NackPair::packet_list));
            }
        }
    }
    assert_eq!(asked, [3, 4]);
    assert_eq!(arrived.len(), 10);
    for told in &arrived {
        let lost = (3..5).contains(&told.sequence_number);
        assert_eq!(told.arrived, !lost, "{told:?}");
        if let Some(at) = told.arrival {
            let expected = 100 + 7 * u64::from(told.sequence_number);
            assert!(
                at.as_millis().abs_diff(u128::from(expected)) <= 1,
                "{told:?}"
            );
        }
    }
}
