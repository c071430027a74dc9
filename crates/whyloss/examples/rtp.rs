//! Uses the trees classifier on an RTP stream and prints the lost packets and their causes.
//!
//! `cargo run -p whyloss --example rtp`

use whyloss::Time;
use whyloss::losses::{Loss, LossTracker};
use whyloss::receiver::{Arrival, trees::Trees};
use whyloss::stamps::StampClock;

fn main() {
    let mut clock = StampClock::abs_send_time();
    let mut tracker = LossTracker::rtp(Trees::default()).wait_for_packets(3);
    let told = |loss: Loss| {
        let (first, count) = (loss.first as u16, loss.count);
        println!("{count} from number {first} on lost: {:?}", loss.cause);
    };
    for packet in capture() {
        let sent = clock.time(packet.abs_send_time);
        let received = packet.since_start.into();
        let arrival = Arrival::new(packet.sequence.into(), sent, received, packet.size);
        tracker.on_packet(&arrival, told);
    }
    // The sender may announce its last packet, here 65 899.
    tracker.finish(Some(65_899 - 65_536), Time::MAX, told);
}

/// Input from a socket and an RTP parser.
struct Packet {
    sequence: u16,
    /// The RTP header extension abs-send-time: 24 bits, 18 of them a fraction of a second.
    abs_send_time: u32,
    /// The arrival time on the receiver's clock, since its start.
    since_start: std::time::Duration,
    size: u32,
}

/// Returns a call of ten seconds with a packet every 20 ms, whose sequence numbers wrap around. At
/// first, the radio loses packets while the queue is empty. After five seconds, a queue fills until
/// it drops packets.
fn capture() -> impl Iterator<Item = Packet> {
    let lost_on_the_air = |k: u32| matches!(k, 111 | 180 | 181 | 240);
    let dropped = |k: u32| k > 300 && k % 40 > 30 && k.is_multiple_of(3);
    (0..500_u32)
        .filter(move |&k| !lost_on_the_air(k) && !dropped(k))
        .map(|k| {
            let queued_ms = if k > 300 { u64::from(k % 40) * 4 } else { 0 };
            let jitter_us = u64::from(k * 7919 % 300);
            let micros = u64::from(k) * 20_000 + 40_000 + queued_ms * 1000 + jitter_us;
            Packet {
                sequence: 65_400_u16.wrapping_add(k as u16),
                abs_send_time: (u64::from(k) * 20_000 * (1 << 18) / 1_000_000) as u32,
                since_start: std::time::Duration::from_micros(micros),
                size: 200,
            }
        })
}
