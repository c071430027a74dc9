//! Tests with logs like those of quinn and noq.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Cursor;

use serde_json::{Value, json};
use whyloss::Cause;

use crate::loss::Side;
use crate::{Diagnosis, Options, Vantage, diagnose};

/// Writes events as quinn-proto 0.11.19 does: packets have no frames, and times are 32-bit reals.
/// After each transmission, arrival and loss, metrics have the values that changed.
struct Quinn {
    text: String,
    now: f64,
    /// The departure and size of the packets in flight, by number.
    flight: BTreeMap<u64, (f64, u64)>,
    received: u64,
    written: [Value; 3],
    latest: f64,
    smoothed: Option<f64>,
}

impl Quinn {
    fn new() -> Self {
        let mut log = Self {
            text: "{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{}}\n"
                .to_owned(),
            now: 0.0,
            flight: BTreeMap::new(),
            received: 0,
            written: Default::default(),
            latest: 0.333,
            smoothed: None,
        };
        // A packet of the handshake also counts as in flight.
        log.event(
            "transport:packet_sent",
            &json!({"header": {"packet_type": "initial", "packet_number": 0, "length": 1200}}),
        );
        log.flight.insert(u64::MAX, (0.0, 1200));
        log.metrics();
        log.now = 25.0;
        log.event(
            "transport:packet_received",
            &json!({"header": {"packet_type": "initial", "packet_number": 0}}),
        );
        log.flight.clear();
        log.metrics();
        log
    }

    fn event(&mut self, name: &str, data: &Value) {
        let line = json!({"time": self.now as f32, "name": name, "data": data, "group_id": "ab"});
        let _ = writeln!(self.text, "{line}");
    }

    fn metrics(&mut self) {
        let flight: u64 = self.flight.values().map(|packet| packet.1).sum();
        let smoothed = self.smoothed.unwrap_or(self.latest);
        let now = [
            json!(self.latest as f32),
            json!(smoothed as f32),
            json!(flight),
        ];
        let mut changed = serde_json::Map::new();
        let names = ["latest_rtt", "smoothed_rtt", "bytes_in_flight"];
        for ((name, new), old) in names.into_iter().zip(&now).zip(&self.written) {
            if new != old {
                changed.insert(name.to_owned(), new.clone());
            }
        }
        self.written = now;
        if !changed.is_empty() {
            self.event("recovery:metrics_updated", &Value::Object(changed));
        }
    }

    fn sent(&mut self, number: u64, bytes: u64) {
        self.event(
            "transport:packet_sent",
            &json!({"header": {"packet_type": "1RTT", "packet_number": number, "length": bytes}}),
        );
    }

    /// Sends packets at one instant, which have metrics unless they are a probe of the MTU.
    fn transmit(&mut self, packets: &[(u64, u64)], probe: bool) {
        for &(number, bytes) in packets {
            self.sent(number, bytes);
            self.flight.insert(number, (self.now, bytes));
        }
        if !probe {
            self.metrics();
        }
    }

    /// Receives an acknowledgement that the peer held for so many ms. Three later numbers declare a
    /// packet lost.
    fn acknowledged(&mut self, numbers: &[u64], held: f64) {
        let number = self.received;
        self.received += 1;
        self.event(
            "transport:packet_received",
            &json!({"header": {"packet_type": "1RTT", "packet_number": number}}),
        );
        let largest = numbers.iter().copied().max().unwrap_or(0);
        for number in numbers {
            let packet = self.flight.remove(number);
            if let Some((at, _)) = packet.filter(|_| *number == largest) {
                self.latest = (self.now - at) / 1e3;
                let net = self.latest - held / 1e3;
                let smoothed = self.smoothed.map(|old| (7.0 * old + net) / 8.0);
                self.smoothed = smoothed.or(Some(self.latest));
            }
        }
        let lost: Vec<u64> = self
            .flight
            .range(..(largest + 1).saturating_sub(3))
            .map(|(&number, _)| number)
            .collect();
        for number in lost {
            let packet = self.flight.remove(&number);
            let bytes = packet.map_or(0, |packet| packet.1);
            self.event("recovery:packet_lost", &json!({"header": {"packet_type": "1RTT", "packet_number": number, "length": bytes}, "trigger": "reordering_threshold"}));
        }
        self.metrics();
    }
}

fn read(text: &str) -> Diagnosis {
    let text = Cursor::new(text.as_bytes().to_vec());
    diagnose(Box::new(text), Options::default()).expect("a log")
}

/// Three packets leave every 3 ms over a path with a round trip of 20 ms and a queue that fills and
/// empties. The full queue drops packets, and the channel loses some while the queue is short. The
/// peer acknowledges every other packet and holds each second one for 4 ms. Some packets are bare
/// acknowledgements, and one is a probe of the MTU.
#[test]
fn metrics_replace_the_frames_that_quinn_does_not_log() {
    let height = |n: u64| (n % 800).min(800 - n % 800) as f64 / 400.0;
    let is_full = |n: u64| [398, 399].contains(&(n % 800));
    let is_bad = |n: u64| n % 97 == 50 && height(n) < 0.4;
    // Every fiftieth number is a bare acknowledgement.
    let number = |n: u64| n + n / 50 + 1;
    let arrived: Vec<u64> = (0..8000).filter(|&n| !is_full(n) && !is_bad(n)).collect();
    let mut arrivals = arrived
        .chunks(2)
        .map(|pair| {
            let last = pair[pair.len() - 1];
            let held = if last % 4 < 2 { 0.5 } else { 0.0 };
            (50.0 + last as f64 + 60.0 * height(last) + held, pair, held)
        })
        .peekable();
    let mut log = Quinn::new();
    for first in (0..8000).step_by(3) {
        let at = 30.0 + first as f64;
        while let Some((now, pair, held)) = arrivals.next_if(|arrival| arrival.0 < at) {
            log.now = now;
            let numbers: Vec<u64> = pair.iter().map(|&n| number(n)).collect();
            log.acknowledged(&numbers, held);
        }
        log.now = at;
        for n in (first..first + 3).filter(|n| n % 50 == 0) {
            log.sent(number(n) - 1, 35);
            log.now += 0.01;
        }
        let (probes, packets): (Vec<u64>, Vec<u64>) = (first..first + 3).partition(|&n| n == 200);
        let of = |all: Vec<u64>, bytes| -> Vec<(u64, u64)> {
            all.iter().map(|&n| (number(n), bytes)).collect()
        };
        log.transmit(&of(packets, 1200), false);
        if !probes.is_empty() {
            log.transmit(&of(probes, 1326), true);
        }
    }
    for (now, pair, held) in arrivals {
        log.now = now;
        let numbers: Vec<u64> = pair.iter().map(|&n| number(n)).collect();
        log.acknowledged(&numbers, held);
    }
    let diagnosis = read(&log.text);
    assert_eq!((diagnosis.partial, diagnosis.flows.len()), (None, 1));
    let flow = &diagnosis.flows[0];
    assert_eq!(flow.vantage, Vantage::Sender);
    assert_eq!(flow.counts.data_packets, 8001);
    let lost: Vec<u64> = (0..8000)
        .filter(|&n| is_full(n) || is_bad(n))
        .map(number)
        .collect();
    let found: Vec<u64> = flow.losses.iter().map(|loss| loss.offset).collect();
    assert_eq!(found, lost);
    assert_eq!(flow.lost(Side::Beyond), lost.len() as u64);
    let base = flow.portrait.base_rtt_ms.expect("delays");
    assert!((20.0..22.5).contains(&base), "{base}");
    let causes = flow.portrait.by_cause;
    assert!(causes.unknown < causes.total() / 4, "{causes:?}");
    let right = flow.losses.iter().filter(|loss| {
        let cause = Cause::congestion_if((0..8000).any(|n| is_full(n) && number(n) == loss.offset));
        loss.verdict.is_some_and(|verdict| verdict.cause == cause)
    });
    let told = causes.congestion + causes.wireless;
    assert!(right.count() as u64 * 20 >= told * 19, "{causes:?}");
}

/// The second packet seems acknowledged, because the third one's size is the same.
#[test]
fn a_loss_revokes_a_presumed_acknowledgement() {
    let mut log = Quinn::new();
    let packets: Vec<(u64, u64)> = (0..8).map(|number| (number, 1200)).collect();
    log.transmit(&packets, false);
    log.now = 50.0;
    log.acknowledged(&[0, 2], 0.0);
    log.now = 51.0;
    log.acknowledged(&[3, 4, 5, 6, 7], 0.0);
    let flow = &read(&log.text).flows[0];
    let lost: Vec<u64> = flow.losses.iter().map(|loss| loss.offset).collect();
    assert_eq!((lost, flow.counts.unresolved), (vec![1], 0));
    assert_eq!(flow.portrait.base_rtt_ms, Some(25.0));
}

#[test]
fn an_endpoint_that_downloads_sends_no_data() {
    let mut log = Quinn::new();
    for number in 0..1000 {
        log.now += 1.0;
        log.acknowledged(&[], 0.0);
        log.sent(number, 40);
        // quinn also declares bare acknowledgements lost.
        if number % 100 == 99 {
            log.event("recovery:packet_lost", &json!({"header": {"packet_type": "1RTT", "packet_number": number - 50, "length": 0}}));
        }
    }
    assert!(read(&log.text).flows.is_empty());
}

#[test]
fn packets_without_metrics_are_data_if_no_sent_packet_has_metrics() {
    let mut log = Quinn::new();
    let header = log.text.lines().take(1).collect::<Vec<_>>().join("");
    log.text = format!("{header}\n");
    log.acknowledged(&[], 0.0);
    for number in 0..20 {
        log.now += 1.0;
        log.transmit(&[(number, 1200)], true);
    }
    log.now += 30.0;
    let numbers: Vec<u64> = (0..20).filter(|&number| number != 7).collect();
    log.acknowledged(&numbers, 0.0);
    let flow = &read(&log.text).flows[0];
    let lost: Vec<u64> = flow.losses.iter().map(|loss| loss.offset).collect();
    assert_eq!((flow.counts.data_packets, lost), (20, vec![7]));
}

/// noq writes ranges without their ends, and delays in units of 8 µs.
#[test]
fn ranges_of_noq_exclude_their_ends() {
    let ack = |held: f64, ranges: Value| json!([{"frame_type": "ack", "ack_delay": held, "acked_ranges": ranges}]);
    let mut text = "{\"qlog_format\":\"JSON-SEQ\",\"trace\":{}}\n".to_owned();
    let mut event = |time: f64, name: &str, kind: &str, number: u64, frames: Value| {
        let header = json!({"packet_type": kind, "packet_number": number, "length": 1200});
        let data = json!({"header": header, "frames": frames});
        let _ = writeln!(
            text,
            "{}",
            json!({"time": time, "name": format!("quic:{name}"), "data": data})
        );
    };
    let data = || json!([{"frame_type": "stream"}]);
    event(
        0.0,
        "packet_sent",
        "initial",
        0,
        json!([{"frame_type": "crypto"}]),
    );
    event(
        20.0,
        "packet_received",
        "initial",
        0,
        ack(100.0, json!([[0, 1]])),
    );
    for number in 0..8 {
        event(100.0, "packet_sent", "1RTT", number, data());
    }
    // Held for 10 ms.
    let held = ack(1250.0, json!([[0, 3]]));
    event(130.0, "packet_received", "1RTT", 0, held);
    let next = ack(0.0, json!([[0, 3], [4, 8]]));
    event(131.0, "packet_received", "1RTT", 1, next);
    event(131.0, "packet_lost", "1RTT", 3, Value::Null);
    let flow = &read(&text).flows[0];
    let lost: Vec<u64> = flow.losses.iter().map(|loss| loss.offset).collect();
    assert_eq!((lost, flow.counts.spurious), (vec![3], 0));
    assert_eq!(flow.portrait.base_rtt_ms, Some(20.0));
}

/// Metrics that contradict the packets do no harm, and no packet is lost twice.
#[test]
fn contradicting_metrics_do_no_harm() {
    let mut state = 1_u64;
    let mut draw = |from: &[Value]| {
        // Marsaglia's xorshift64 (Journal of Statistical Software 8(14), 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        from[(state >> 32) as usize % from.len()].clone()
    };
    let names = [
        "packet_sent",
        "packet_received",
        "packet_lost",
        "metrics_updated",
    ]
    .map(Value::from);
    let kinds = ["1RTT", "1RTT", "1RTT", "handshake"].map(Value::from);
    let sizes = [0, 40, 1200, 1200, 1400, u64::MAX].map(Value::from);
    let times = [0, 1, 1, 2, 3].map(Value::from);
    let flights = [0, 1, 1200, 3000, 5000, 20_000, 1 << 53, u64::MAX].map(Value::from);
    let rtts = [
        json!(0.02),
        json!(20),
        json!(-1),
        json!(1e300),
        json!("inf"),
        json!("NaN"),
    ];
    let mut number = 0_u64;
    for _ in 0..100 {
        let mut text = "{\"qlog_format\":\"JSON-SEQ\",\"trace\":{}}\n".to_owned();
        for _ in 0..200 {
            let next = [number % 100 + 1, number % 7, 1 << 61, number, number].map(Value::from);
            let header = json!({"packet_type": draw(&kinds), "packet_number": draw(&next), "length": draw(&sizes)});
            number += 1;
            let mut data = json!({"header": header, "bytes_in_flight": draw(&flights), "latest_rtt": draw(&rtts), "smoothed_rtt": draw(&rtts)});
            if number.is_multiple_of(5_000) {
                data["frames"] = json!([{"frame_type": "ack", "acked_ranges": [[0, number]]}]);
            }
            let event = json!({"time": draw(&times), "name": draw(&names), "data": data});
            let _ = writeln!(text, "{event}");
        }
        for flow in &read(&text).flows {
            let mut lost: Vec<u64> = flow.losses.iter().map(|loss| loss.offset).collect();
            lost.sort_unstable();
            let once = lost.windows(2).all(|two| two[0] < two[1]);
            assert!(flow.vantage != Vantage::Sender || once, "{text}");
        }
    }
}
