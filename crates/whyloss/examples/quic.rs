//! Sends numbered packets over a radio of 10 Mbit/s and 50 ms that loses one in a given number.
//!
//! `cargo run -p whyloss --features alloc --example quic -- bbr keep trees 200`

use std::collections::VecDeque;

use whyloss::connection::Connection;
use whyloss::schemes::{Scheme, SchemeError};
use whyloss::{Duration, Rate, Time};

const PACKET: u32 = 1200;
const LINK: Rate = Rate::from_mbps(10);
/// The length of the queue: twice the bandwidth-delay product.
const QUEUE: Duration = Duration::from_millis(100);
const ROUND_TRIP: Duration = Duration::from_millis(50);

/// Runs a connection for `seconds`. Returns the percentage of the link used and the loss events.
pub(crate) fn run(scheme: &Scheme, lost_one_in: u64, seconds: u64) -> (f64, [u64; 2]) {
    let mut connection = Connection::new(scheme, PACKET);
    // When the link is idle, when the next paced packet may leave, and the packets in flight.
    let (mut now, mut free, mut departure) = (Time::ZERO, Time::ZERO, Time::ZERO);
    let mut under_way: VecDeque<(u64, Option<Time>)> = VecDeque::new();
    let (mut number, mut delivered, mut causes) = (0, 0, [0, 0]);
    let size = u64::from(PACKET);
    while now < Time::from_nanos(seconds * 1_000_000_000) {
        // Send all packets that the window and the pacing rate allow.
        let open = connection.in_flight() + size <= connection.window();
        if open && departure <= now {
            connection.on_packet_sent(number, size, now, false);
            let fits = free - now < QUEUE;
            if fits {
                free = free.max(now) + LINK.transmission_time(PACKET);
            }
            let arrives = fits && number % lost_one_in.max(1) != lost_one_in / 2;
            under_way.push_back((number, arrives.then_some(free + ROUND_TRIP)));
            number += 1;
            if let Some(rate) = connection.pacing_rate() {
                departure = now + rate.transmission_time(PACKET);
            }
            continue;
        }
        // Advance to the next acknowledgement, or to the next paced packet if it comes first.
        let mut coming = under_way.iter().enumerate();
        let next = coming.find_map(|(index, &(number, at))| Some((index, number, at?)));
        match next {
            Some((_, _, arrives)) if open && departure < arrives => now = departure,
            Some((index, acked, arrives)) => {
                now = now.max(arrives);
                connection.on_packets_acked([acked], now);
                under_way.remove(index);
                delivered += 1;
                // An acknowledged number three or more later reveals a loss (RFC 9002 §6.1.1).
                let gone = under_way.iter().take_while(|packet| packet.0 + 3 <= acked);
                let gone: Vec<u64> = gone.map(|packet| packet.0).collect();
                under_way.drain(..gone.len());
                if let Some(verdict) = connection.on_packets_lost(gone, now) {
                    causes[verdict.cause as usize] += 1;
                }
            }
            None if open => now = departure,
            None => {
                now += Duration::from_secs(1);
                connection.on_timeout(now);
                connection.on_packets_lost(under_way.drain(..).map(|packet| packet.0), now);
            }
        }
    }
    let bits = 8.0 * f64::from(delivered) * f64::from(PACKET);
    let share = 100.0 * bits / LINK.as_bps() as f64 / now.as_secs_f64();
    (share, causes)
}

fn main() -> Result<(), SchemeError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let nth = |index: usize, default| arguments.get(index).map_or(default, String::as_str);
    let scheme = Scheme::of(nth(0, "cubic"), nth(1, "keep"), nth(2, "trees"))?;
    let (share, [congestion, wireless]) = run(&scheme, nth(3, "200").parse().unwrap_or(200), 30);
    println!("{share:.0} % of the link; losses: {congestion} congestion, {wireless} wireless");
    Ok(())
}
