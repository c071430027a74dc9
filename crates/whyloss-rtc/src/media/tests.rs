use proptest::prelude::*;

use super::packet::{Packet, Piece};
use super::*;
use crate::Estimator;
use crate::bandwidth::Bandwidth;
use crate::feedback::Session;
use crate::{Ecn, Fate, Report};

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// Records all reports.
#[derive(Default)]
struct Heard(Vec<Report>);

impl Bandwidth for Heard {
    fn on_reports(&mut self, _now: Time, reports: &[Report]) {
        self.0.extend(reports);
    }

    fn target(&self) -> f64 {
        1e6
    }
}

fn packet(number: u16, frame: u32) -> Packet {
    Packet {
        number,
        transport: Some(number),
        repairs: None,
        piece: Piece {
            frame,
            index: 0,
            pieces: 1,
            key: frame == 0,
            captured: 90 * u32::from(number),
            bytes: 100,
        },
    }
}

/// Every second packet arrives, across the wrap-around of numbers. Both formats report this to the
/// sender, each with its resolution.
#[test]
fn reports_tell_the_sender_what_arrived() {
    for (feedback, steps) in [(Feedback::Twcc, 4_000.0), (Feedback::Rfc8888, 1_024.0)] {
        let mut session = Session::new(Heard::default());
        let settings = Settings {
            feedback,
            nack: false,
            ..Settings::default()
        };
        let mut receiver = Receiver::new(settings);
        for k in 0..1_400_u64 {
            let number = 65_000_u16.wrapping_add(k as u16);
            session.on_sent(number, ms(k), 128);
            if k % 2 == 0 {
                let mut bytes = Vec::new();
                packet(number, k as u32).write(&mut bytes);
                assert!(receiver.receive(ms(k + 40), &bytes));
            }
        }
        let mut bytes = Vec::new();
        while receiver.poll_transmit(ms(1_500), &mut bytes) {
            session.on_rtcp(ms(1_540), &bytes);
            bytes.clear();
        }
        let heard = &session.estimator().0;
        // The last packet is lost, but no later packet reveals it.
        assert_eq!(heard.len(), 1_399);
        let mut offset = None;
        for (k, report) in (0..).zip(heard) {
            assert_eq!(report.departed, ms(k));
            if k % 2 == 1 {
                assert_eq!(report.fate, Fate::Lost(None));
                continue;
            }
            let Fate::Arrived(Some(at), Ecn::NotEct) = report.fate else {
                panic!("{report:?}");
            };
            let apart = at.as_secs_f64() - ms(k + 40).as_secs_f64();
            let offset = *offset.get_or_insert(apart);
            assert!((apart - offset).abs() < 1.1 / steps, "{k} {apart} {offset}");
        }
    }
}

proptest! {
    /// For any bytes in any order, neither end panics or grows without bound.
    #[test]
    fn any_bytes_do_no_harm(
        datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..60),
        kinds in prop::collection::vec(0..4_u8, 60),
    ) {
        let estimator = Box::new(Estimator::new(3e5, 1e5, 1e6));
        let mut sender = Sender::new(Settings::default(), estimator, [1; 4], ms(0));
        let mut receiver = Receiver::new(Settings::default());
        for (k, (mut bytes, kind)) in datagrams.into_iter().zip(kinds).enumerate() {
            let now = ms(40 * k as u64);
            // Valid headers make the parsers read the rest.
            let heads: [&[u8]; 4] = [&[], &[0x80, 96], &[0x8b, 205], &[0x81, 205]];
            for (byte, head) in bytes.iter_mut().zip(heads[usize::from(kind)]) {
                *byte = *head;
            }
            receiver.receive(now, &bytes);
            sender.receive(now, &bytes);
            sender.wake(now);
            let mut sent = Vec::new();
            let mut count = 0;
            while sender.poll_transmit(now, &mut sent) && count < 2_000 {
                sent.clear();
                count += 1;
            }
            receiver.wake(now);
            while receiver.poll_transmit(now, &mut sent) && count < 2_000 {
                sent.clear();
                count += 1;
            }
            prop_assert!(count < 2_000);
            prop_assert!(sender.next_timeout() > now);
            prop_assert!(receiver.next_timeout() > now);
        }
    }

    /// Reading a written packet returns the same fields.
    #[test]
    fn packets_read_as_written(
        number: u16,
        transport: Option<u16>,
        repairs: Option<u16>,
        frame: u32,
        index in 0..100_u16,
        more in 1..100_u16,
        key: bool,
        captured: u32,
        bytes in 0..1_300_u16,
    ) {
        let piece = Piece { frame, index, pieces: index + more, key, captured, bytes };
        let packet = Packet { number, transport, repairs, piece };
        let mut written = Vec::new();
        packet.write(&mut written);
        prop_assert!(!super::packet::is_rtcp(&written));
        let around = super::packet::overhead(transport.is_some(), repairs.is_some());
        prop_assert_eq!(written.len() as u32, around + u32::from(bytes));
        prop_assert_eq!(Packet::read(&written), Some(packet));
    }
}

/// A lost piece delays its frame and the later ones until it is repaired. The picture continues
/// after 100 ms; 300 ms would be a freeze.
#[test]
fn a_repair_shows_the_frames_that_waited() {
    let mut receiver = Receiver::new(Settings::default());
    let send = |receiver: &mut Receiver, at: u64, packet: Packet| {
        let mut bytes = Vec::new();
        packet.write(&mut bytes);
        receiver.receive(ms(at), &bytes);
        std::iter::from_fn(|| receiver.poll_shown()).collect::<Vec<_>>()
    };
    assert_eq!(send(&mut receiver, 50, packet(0, 0)).len(), 1);
    assert_eq!(send(&mut receiver, 52, packet(2, 2)).len(), 0);
    let mut nack = Vec::new();
    assert!(receiver.poll_transmit(ms(52), &mut nack));
    // RFC 4585: one entry that begins with number 1.
    assert_eq!(
        (&nack[..2], &nack[12..]),
        (&[0x81, 205][..], &[0, 1, 0, 0][..])
    );
    let repair = Packet {
        number: 3,
        repairs: Some(1),
        ..packet(1, 1)
    };
    let shown = send(&mut receiver, 152, repair);
    assert_eq!(shown.len(), 2);
    assert_eq!(shown[0].delay.as_nanos() / 1_000_000, 151);
    assert!(!shown[0].late && shown[0].frozen == Duration::ZERO);
    let late = send(&mut receiver, 500, packet(4, 3));
    assert!(late[0].late && late[0].frozen > Duration::from_millis(300));
}

/// The first frame is lost. Nothing is shown until the receiver has requested a key frame.
#[test]
fn a_key_frame_ends_a_loss() {
    let mut receiver = Receiver::new(Settings {
        nack: false,
        ..Settings::default()
    });
    let mut bytes = Vec::new();
    packet(1, 1).write(&mut bytes);
    receiver.receive(ms(10), &bytes);
    let mut pli = Vec::new();
    receiver.wake(ms(510));
    while receiver.poll_transmit(ms(510), &mut pli) && pli[1] != 206 {
        pli.clear();
    }
    assert_eq!(&pli[..2], &[0x81, 206]);
    let estimator = Box::new(Estimator::new(3e5, 1e5, 1e6));
    let mut sender = Sender::new(Settings::default(), estimator, [1; 4], ms(0));
    let mut keys = 0;
    for at in 0..1_000 {
        sender.wake(ms(at));
        if at == 550 {
            sender.receive(ms(at), &pli);
        }
        let mut bytes = Vec::new();
        while sender.poll_transmit(ms(at), &mut bytes) {
            let packet = Packet::read(&bytes).expect("a packet");
            bytes.clear();
            keys += u32::from(packet.piece.key && packet.piece.index == 0);
            if packet.piece.key && keys == 2 {
                packet.write(&mut bytes);
                receiver.receive(ms(at), &bytes);
                bytes.clear();
            }
        }
    }
    assert_eq!(keys, 2);
    assert!(receiver.poll_shown().is_some());
}
