//! A flood of forged packets, which a receiver must withstand.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use whyloss::tfrc::{Data, Feedback};
use whyloss::{Duration, Time};

use crate::endpoint::pattern::fill;
use crate::endpoint::wire::{Carrier, Message, Terms, TfrcData, TfrcFeedback};

/// Sends this number of forged packets to a receiver. Returns the number of replies, their bytes,
/// and the bytes sent.
///
/// # Errors
/// Returns an error if the socket fails.
pub fn flood(peer: SocketAddr, packets: u32) -> io::Result<(u64, u64, u64)> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_nonblocking(true)?;
    let (mut replies, mut reply_bytes, mut sent_bytes) = (0, 0, 0);
    let mut buffer = [0; 2048];
    for number in 0..packets {
        let packet = forged(number);
        // A packet that finds no room counts as sent.
        if let Ok(length) = socket.send_to(&packet, peer) {
            sent_bytes += length as u64;
        }
        while let Ok(length) = socket.recv(&mut buffer) {
            replies += 1;
            reply_bytes += length as u64;
        }
    }
    Ok((replies, reply_bytes, sent_bytes))
}

/// Returns a forged datagram: an opening with a wrong cookie, data or feedback of a session that
/// does not exist, or noise.
fn forged(number: u32) -> Vec<u8> {
    let mut noise = vec![0; 64 + (number % 1_000) as usize];
    fill(number, number, &mut noise);
    let session = u32::from_be_bytes([noise[0], noise[1], noise[2], noise[3]]);
    let terms = Terms {
        session,
        carrier: Carrier::Tfrc,
        packet: 1_500,
        coverage: 1_500,
        first: number,
        pattern: true,
    };
    match number % 5 {
        0 => Message::Hello(terms).encode(session),
        1 => Message::Start(terms, u64::from(session)).encode(session),
        2 => {
            let data = Data {
                sequence: 0,
                stamp: Time::MAX,
                rtt: Duration::MAX,
                t_rto: Duration::from_nanos(i64::MIN),
                round: number,
                urgent: true,
            };
            TfrcData {
                number,
                data,
                check: 0,
            }
            .encode(session, &noise)
        }
        3 => {
            let feedback = Feedback {
                echo: Time::MAX,
                hold: Duration::from_nanos(-1),
                receive_rate: f64::NAN,
                loss_event_rate: f64::INFINITY,
                new_loss_event: true,
            };
            TfrcFeedback { number, feedback }.encode(session)
        }
        _ => noise,
    }
}
