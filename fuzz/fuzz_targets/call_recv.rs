//! Fuzzes the receiving end of a call with any packets in any order. Each answer must be one RTCP
//! packet, and no frame may be shown twice.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss_rtc::media::packet::{Packet, Piece};
use whyloss_rtc::media::{Feedback, Receiver, Settings};
use whyloss_rtc::{Duration, Time};

#[derive(Arbitrary, Debug)]
enum Operation {
    /// Advances the clock by this time, in µs, and sends the packets that are due.
    Wait(u32),
    Noise(Vec<u8>),
    /// A packet, whose sequence number and frame are given relative to the previous packet.
    Packet {
        ahead: i16,
        frame: i8,
        index: u8,
        pieces: u8,
        key: bool,
        captured: u32,
        bytes: u8,
        repairs: Option<u16>,
    },
}

/// The highest number of answers at a time: one report for each remembered arrival (after a long
/// gap), a NACK, and a PLI.
const ANSWERS: usize = 4_098;

fuzz_target!(|input: (bool, bool, Vec<Operation>)| {
    let (nack, rfc8888, operations) = input;
    let settings = Settings {
        nack,
        feedback: if rfc8888 {
            Feedback::Rfc8888
        } else {
            Feedback::Twcc
        },
        ..Settings::default()
    };
    let mut receiver = Receiver::new(settings);
    let (mut now, mut number, mut frame) = (Time::ZERO + Duration::from_secs(1), 65_500_u16, 0_u32);
    let (mut packets, mut shown, mut bytes) = (0, 0, Vec::new());
    for operation in operations {
        match operation {
            Operation::Wait(micros) => {
                now += Duration::from_micros(i64::from(micros));
                if receiver.next_timeout() <= now {
                    receiver.wake(now);
                }
            }
            Operation::Noise(noise) => packets += u32::from(receiver.receive(now, &noise)),
            Operation::Packet {
                ahead,
                frame: later,
                index,
                pieces,
                key,
                captured,
                bytes,
                repairs,
            } => {
                number = number.wrapping_add_signed(ahead);
                frame = frame.wrapping_add_signed(i32::from(later));
                let packet = Packet {
                    number,
                    transport: (!rfc8888).then_some(number),
                    repairs,
                    piece: Piece {
                        frame,
                        index: u16::from(index.min(pieces)),
                        pieces: u16::from(pieces) + 1,
                        key,
                        captured,
                        bytes: u16::from(bytes),
                    },
                };
                let mut datagram = Vec::new();
                packet.write(&mut datagram);
                assert_eq!(Packet::read(&datagram), Some(packet));
                packets += u32::from(receiver.receive(now, &datagram));
            }
        }
        let mut answers = 0;
        while receiver.poll_transmit(now, &mut bytes) {
            answers += 1;
            let words = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
            assert_eq!((bytes[0] >> 6, 4 * (words + 1)), (2, bytes.len()));
            bytes.clear();
        }
        assert!(answers <= ANSWERS, "{answers}");
        while receiver.poll_shown().is_some() {
            shown += 1;
        }
        assert!(shown <= packets, "{shown} of {packets}");
    }
});
