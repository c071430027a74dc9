//! Diagnoses RTP of simulated sources, captured at the receiver and in the middle, with its RTCP
//! reports.

use std::io::Cursor;
use std::time::Duration;

use etherparse::PacketBuilder;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapTsResolution, PcapWriter};
use whyloss::{Cause, Confusion};
use whyloss_diagnose::loss::{Evidence, Side};
use whyloss_diagnose::{Diagnosis, Options, Vantage, diagnose};
use whyloss_link::Fate;
use whyloss_sim::packet::Payload;
use whyloss_sim::{Event, Scenario, Simulation, Watch};

const SENDER: [u8; 4] = [192, 0, 2, 1];
const RECEIVER: [u8; 4] = [198, 51, 100, 2];
const SSRC: u32 = 0x5151_5151;
/// The ticks per second of a payload type that does not determine them.
const RATE: u64 = 90_000;

/// Returns a network with a video source next to two TCP flows. The bottleneck has a rate of `rate`
/// Mbit/s and a queue of `queue` packets, and the radio a loss of `loss`.
fn network(rate: f64, queue: u32, loss: f64) -> String {
    let tcp = |number: u32| {
        format!(
            "[[flow]]\nname = \"tcp-{number}\"\nfrom = \"s\"\nto = \"d\"\ntransport = {{ kind = \"tcp\", controller = \"cubic\" }}\n"
        )
    };
    format!(
        "duration = \"60 s\"\n[[link]]\nname = \"wire\"\nfrom = \"s\"\nto = \"r\"\nrate = \"{rate} Mbit/s\"\n\
         delay = \"10 ms\"\nqueue = {{ packets = {queue} }}\n[[link]]\nname = \"radio\"\nfrom = \"r\"\nto = \"d\"\n\
         rate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = {{ packets = 100 }}\n\
         channel = {{ kind = \"bernoulli\", loss = {loss} }}\n[[flow]]\nname = \"video\"\nfrom = \"s\"\nto = \"d\"\n\
         transport = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}\n{}{}",
        tcp(1),
        tcp(2)
    )
}

/// The fates of flow 0's packets: number, departure, arrival or loss, and cause.
#[derive(Default)]
struct Log {
    arrived: Vec<(u64, u64, u64)>,
    lost: Vec<(u64, Cause)>,
}

impl Watch for Log {
    fn on(&mut self, event: &Event<'_>) {
        match *event {
            Event::Offered { packet, fate, .. } => {
                if let (0, Payload::Datagram(number), Fate::Lost(cause, _)) =
                    (packet.flow, packet.payload, fate)
                {
                    self.lost.push((number, cause));
                }
            }
            Event::Arrived {
                flow, at, packet, ..
            } => {
                if let (0, Payload::Datagram(number)) = (flow, packet.payload) {
                    self.arrived
                        .push((number, packet.sent.as_nanos(), at.as_nanos()));
                }
            }
            _ => {}
        }
    }
}

/// A datagram in IPv4.
fn datagram(from: [u8; 4], to: [u8; 4], ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    PacketBuilder::ipv4(from, to, 64)
        .udp(ports.0, ports.1)
        .write(&mut bytes, payload)
        .expect("memory");
    bytes
}

/// Returns an RTP packet with this number and departure, and perhaps a transport-wide number.
fn rtp(number: u64, sent: u64, transport: Option<u16>) -> Vec<u8> {
    let mut payload = vec![if transport.is_some() { 0x90 } else { 0x80 }, 96];
    payload.extend((number as u16).to_be_bytes());
    payload.extend(((u128::from(sent) * u128::from(RATE) / 1_000_000_000) as u32).to_be_bytes());
    payload.extend(SSRC.to_be_bytes());
    if let Some(transport) = transport {
        payload.extend([0xbe, 0xde, 0, 1, 0x31]);
        payload.extend(transport.to_be_bytes());
        payload.push(0);
    }
    payload.resize(payload.len() + 500, 7);
    datagram(SENDER, RECEIVER, (5004, 5004), &payload)
}

/// Returns a datagram with RTCP of the receiver.
fn rtcp(payload: &[u8]) -> Vec<u8> {
    datagram(RECEIVER, SENDER, (5005, 5005), payload)
}

fn diagnosis(mut frames: Vec<(u64, Vec<u8>)>) -> Diagnosis {
    frames.sort_by_key(|frame| frame.0);
    let header = PcapHeader {
        datalink: DataLink::RAW,
        ts_resolution: PcapTsResolution::NanoSecond,
        ..PcapHeader::default()
    };
    let mut writer = PcapWriter::with_header(Vec::new(), header).expect("memory");
    for (at, bytes) in frames {
        let packet = PcapPacket::new(Duration::from_nanos(at), bytes.len() as u32, &bytes);
        writer
            .write_packet(&packet.expect("a packet"))
            .expect("memory");
    }
    let reader = Box::new(Cursor::new(writer.into_inner()));
    diagnose(reader, Options::default()).expect("a diagnosis")
}

/// Checks that all losses of one network are found, and no others. Returns verdicts by true cause,
/// and the number of losses without a verdict.
fn judge(rate: f64, queue: u32, loss: f64) -> (Confusion, usize) {
    let scenario = Scenario::from_toml(&network(rate, queue, loss), "test", &[]);
    let mut log = Log::default();
    Simulation::new(&scenario.expect("a scenario"), 3)
        .watch(&mut log)
        .run()
        .expect("a run");
    let first = log.arrived[0].0;
    let last = log.arrived[log.arrived.len() - 1].0;
    // Numbers begin shortly before the wrap of 16 bits.
    let frames = log.arrived.iter();
    let frames = frames.map(|&(number, sent, at)| (at, rtp(number + 65_000, sent, None)));
    let diagnosis = diagnosis(frames.collect());
    let [flow] = diagnosis.flows.as_slice() else {
        panic!("{} flows", diagnosis.flows.len())
    };
    assert_eq!(flow.protocol.name(), "RTP");
    let mut lost: Vec<(u64, Cause)> = log
        .lost
        .iter()
        .filter(|(number, _)| (first..last).contains(number))
        .map(|&(number, cause)| (number - first, cause))
        .collect();
    lost.sort_unstable_by_key(|(number, _)| *number);
    let found: Vec<u64> = flow.losses.iter().map(|loss| loss.offset).collect();
    let numbers: Vec<u64> = lost.iter().map(|(number, _)| *number).collect();
    assert_eq!(found, numbers);
    let (mut confusion, mut silent) = (Confusion::default(), 0);
    for (loss, (_, truth)) in flow.losses.iter().zip(&lost) {
        assert_eq!((loss.side, loss.evidence), (Side::Before, Evidence::Number));
        match loss.verdict {
            Some(verdict) => confusion.record(*truth, verdict.cause),
            None => silent += 1,
        }
    }
    // The reports of the receiver are missing, and the diagnosis says so.
    assert!(matches!(flow.vantage, Vantage::Unknown(_)));
    assert!(flow.cannot_tell.iter().any(|what| what.contains("no RTCP")));
    (confusion, silent)
}

/// The figures of docs/evidence/diagnosis.md. To print them, run `cargo test -p whyloss-diagnose
/// --test it -- --nocapture simulated_sources`.
#[test]
fn losses_of_simulated_sources_are_found_with_their_causes() {
    let (mut all, mut withheld) = (Confusion::default(), 0);
    for rate in [3.0, 5.0, 8.0] {
        for queue in [15, 40] {
            for loss in [0.0, 0.003, 0.01] {
                let (confusion, silent) = judge(rate, queue, loss);
                all.merge(&confusion);
                withheld += silent;
            }
        }
    }
    let told = all.total(Cause::Congestion) + all.total(Cause::Wireless);
    println!(
        "RTP at its receiver: {told} verdicts, {withheld} withheld, accuracy {:?}, Mc {:?}, Mw {:?}; {all:?}",
        all.accuracy(),
        all.mc(),
        all.mw()
    );
    assert!(told > 500 && all.total(Cause::Congestion) > 100 && all.total(Cause::Wireless) > 100);
    assert!(all.accuracy() > Some(0.7), "{all:?}");
}

/// Compares the diagnosis of a capture at the source with the truth. Transport-wide feedback of the
/// sink, or RFC 8888's, reports each packet every 100 ms.
fn judge_behind(rate: f64, queue: u32, loss: f64, wide: bool) -> (Confusion, usize) {
    let scenario = Scenario::from_toml(&network(rate, queue, loss), "test", &[]);
    let mut log = Log::default();
    Simulation::new(&scenario.expect("a scenario"), 3)
        .watch(&mut log)
        .run()
        .expect("a run");
    // The link has 1 Mbit/s, and packets have 1500 bytes.
    let last = log.arrived[log.arrived.len() - 1].0;
    let times: std::collections::HashMap<u64, u64> = log
        .arrived
        .iter()
        .map(|&(number, _, at)| (number, at))
        .collect();
    let (zero, since, _) = log.arrived[0];
    let apart = (log.arrived[log.arrived.len() - 1].1 - since) / (last - zero);
    let sent = |number: u64| since + (number - zero) * apart;
    let mut frames: Vec<(u64, Vec<u8>)> = (zero..=last)
        .map(|number| {
            (
                sent(number),
                rtp(number, sent(number), wide.then_some(number as u16)),
            )
        })
        .collect();
    let mut next = zero;
    // Each report comes long enough after its last packet for all to have arrived.
    for at in (1..600).map(|step| since + step * 100_000_000) {
        let end = (next..=last)
            .find(|&number| sent(number) + 400_000_000 > at)
            .unwrap_or(last + 1);
        if end == next {
            continue;
        }
        frames.push((at, rtcp(&feedback(next, end, at, &times, wide))));
        next = end;
    }
    let diagnosis = diagnosis(frames);
    let flow = &diagnosis.flows[0];
    let lost = log.lost.iter().filter(|(number, _)| *number >= zero);
    let causes: std::collections::HashMap<u64, Cause> = lost
        .map(|&(number, cause)| (number - zero, cause))
        .collect();
    let (mut confusion, mut silent) = (Confusion::default(), 0);
    for loss in &flow.losses {
        assert_eq!(
            (loss.side, loss.evidence),
            (Side::Beyond, Evidence::Feedback)
        );
        match loss.verdict {
            Some(verdict) => confusion.record(causes[&loss.offset], verdict.cause),
            None => silent += 1,
        }
    }
    let told = causes
        .keys()
        .filter(|&&number| number < next - zero)
        .count();
    assert_eq!(flow.losses.len(), told);
    assert!(
        flow.cannot_tell
            .iter()
            .all(|what| !what.contains("not when the others arrived"))
    );
    (confusion, silent)
}

/// Returns a report at `at` about the packets `first..end`.
fn feedback(
    first: u64,
    end: u64,
    at: u64,
    times: &std::collections::HashMap<u64, u64>,
    wide: bool,
) -> Vec<u8> {
    let mut body = SSRC.to_be_bytes().to_vec();
    if wide {
        let reference = (at / 64_000_000).saturating_sub(20);
        body.extend((first as u16).to_be_bytes());
        body.extend(((end - first) as u16).to_be_bytes());
        body.extend(&(reference as u32).to_be_bytes()[1..]);
        body.push(0);
        // All symbols are large deltas, seven per chunk.
        let numbers: Vec<u64> = (first..end).collect();
        for chunk in numbers.chunks(7) {
            let bits = chunk
                .iter()
                .enumerate()
                .fold(0xc000_u16, |bits, (place, number)| {
                    bits | if times.contains_key(number) {
                        2 << (12 - 2 * place)
                    } else {
                        0
                    }
                });
            body.extend(bits.to_be_bytes());
        }
        let mut ticks = reference * 256;
        for arrived in numbers.iter().filter_map(|number| times.get(number)) {
            let now = arrived / 250_000;
            body.extend(((now as i64 - ticks as i64) as i16).to_be_bytes());
            ticks = now;
        }
        body.resize(body.len().next_multiple_of(4), 0);
    } else {
        body.extend((first as u16).to_be_bytes());
        body.extend(((end - first) as u16).to_be_bytes());
        for number in first..end {
            let status = times.get(&number).map_or(0, |arrived| {
                0x8000 | ((at - arrived) * 1024 / 1_000_000_000) as u16
            });
            body.extend(status.to_be_bytes());
        }
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(((u128::from(at) * 65_536 / 1_000_000_000) as u32).to_be_bytes());
    }
    let mut report = vec![if wide { 0x8f } else { 0x8b }, 205];
    report.extend(((body.len() / 4 + 1) as u16).to_be_bytes());
    report.extend([0, 0, 0, 9]);
    report.extend(body);
    report
}

/// The figures of docs/evidence/diagnosis.md. To print them, run `cargo test -p whyloss-diagnose
/// --test it -- --nocapture feedback_with_times`.
#[test]
fn feedback_with_times_tells_the_causes_of_losses_behind() {
    for wide in [true, false] {
        let (mut all, mut withheld) = (Confusion::default(), 0);
        for rate in [3.0, 5.0, 8.0] {
            for queue in [15, 40] {
                for loss in [0.0, 0.003, 0.01] {
                    let (confusion, silent) = judge_behind(rate, queue, loss, wide);
                    all.merge(&confusion);
                    withheld += silent;
                }
            }
        }
        let told = all.total(Cause::Congestion) + all.total(Cause::Wireless);
        println!(
            "RTP at its source, {}: {told} verdicts, {withheld} withheld, accuracy {:?}, Mc {:?}, Mw {:?}; {all:?}",
            if wide {
                "transport-wide feedback"
            } else {
                "RFC 8888"
            },
            all.accuracy(),
            all.mc(),
            all.mw()
        );
        assert!(told > 400, "{told} {withheld}");
        assert!(all.accuracy() > Some(0.7), "{all:?}");
    }
}

/// Returns 300 packets, 20 ms apart; 50 and 51 are missing here, 100 is late.
fn stream(transport: bool) -> Vec<(u64, Vec<u8>)> {
    let at = |number: u64| (number + 1) * 20_000_000;
    let numbers = (0..300).filter(|number| ![50, 51].contains(number));
    let mut frames: Vec<_> = numbers
        .map(|number| {
            let transport = transport.then_some(1000 + number as u16);
            (at(number), rtp(number, at(number), transport))
        })
        .collect();
    frames[98].0 += 45_000_000;
    frames
}

/// Returns the numbers of the losses, by side.
fn by_side(diagnosis: &Diagnosis) -> [Vec<u64>; 2] {
    [Side::Before, Side::Beyond].map(|side| {
        let losses = diagnosis.flows[0].losses.iter();
        let mut of: Vec<u64> = losses
            .filter(|loss| loss.side == side)
            .map(|loss| loss.offset)
            .collect();
        of.sort_unstable();
        of
    })
}

#[test]
fn a_receiver_that_asks_tells_what_was_lost_behind() {
    let mut frames = stream(false);
    // The receiver lacks 50, 51, 80 and 82; 50 and 80 are sent again.
    for (at, first, more) in [(53, 50, 1_u16), (84, 80, 0b10)] {
        let mut nack = vec![0x81, 205, 0, 3, 0, 0, 0, 9];
        nack.extend(SSRC.to_be_bytes());
        nack.extend(u16::to_be_bytes(first));
        nack.extend(more.to_be_bytes());
        frames.push((at * 20_000_000 + 5_000_000, rtcp(&nack)));
        let at = at * 20_000_000 + 9_000_000;
        frames.push((at, rtp(first.into(), u64::from(first) * 20_000_000, None)));
    }
    let diagnosis = diagnosis(frames);
    assert_eq!(by_side(&diagnosis), [vec![50, 51], vec![80, 82]]);
    // The reports lack arrival times, so there is no cause, and the diagnosis says so.
    let flow = &diagnosis.flows[0];
    let behind = flow.losses.iter().filter(|loss| loss.side == Side::Beyond);
    assert!(behind.clone().count() == 2 && behind.into_iter().all(|loss| loss.verdict.is_none()));
    assert!(
        flow.cannot_tell
            .iter()
            .any(|what| what.contains("not when the others arrived"))
    );
    let counts = diagnosis.flows[0].counts;
    assert_eq!((counts.reordered, counts.retransmissions), (1, 2));
}

#[test]
fn feedback_about_each_packet_tells_it_too() {
    for transport in [false, true] {
        let mut frames = stream(transport);
        let mut report = if transport {
            // The transport-wide numbers are 1080 to 1083: arrived, not, arrived, not.
            let mut report = vec![0x8f, 205, 0, 5, 0, 0, 0, 9];
            report.extend(SSRC.to_be_bytes());
            report.extend(1080_u16.to_be_bytes());
            report.extend([0, 4, 0, 0, 1, 0]);
            // Each status has two bits: small delta, none, small delta, none.
            report.extend([0b1101_0001, 0, 4, 4]);
            report
        } else {
            let mut report = vec![0x8b, 205, 0, 6, 0, 0, 0, 9];
            report.extend(SSRC.to_be_bytes());
            report.extend(80_u16.to_be_bytes());
            report.extend([0, 4, 0x80, 1, 0, 0, 0x80, 2, 0, 0]);
            report.extend([0, 1, 0, 0]);
            report
        };
        let words = (report.len() / 4 - 1) as u16;
        report[2..4].copy_from_slice(&words.to_be_bytes());
        frames.push((90 * 20_000_000, rtcp(&report)));
        let diagnosis = diagnosis(frames);
        assert_eq!(
            by_side(&diagnosis),
            [vec![50, 51], vec![81, 83]],
            "{transport}"
        );
    }
}

#[test]
fn reports_tell_the_round_trip_and_count_what_they_do_not_name() {
    let mut frames = stream(false);
    let sent = 2_000_000_000;
    let mut report = vec![0x80, 200, 0, 6];
    report.extend(SSRC.to_be_bytes());
    report.extend([0, 0, 0, 1, 0, 2, 0, 0]);
    report.extend([0; 12]);
    frames.push((sent, datagram(SENDER, RECEIVER, (5005, 5005), &report)));
    // The receiver holds the report for half a second; seven packets were lost in total.
    let mut answer = vec![0x81, 201, 0, 7, 0, 0, 0, 9];
    answer.extend(SSRC.to_be_bytes());
    answer.extend([10, 0, 0, 7, 0, 0, 0, 200, 0, 0, 0, 0]);
    answer.extend([0, 1, 0, 2, 0, 0, 0x80, 0]);
    frames.push((sent + 530_000_000, rtcp(&answer)));
    let diagnosis = diagnosis(frames);
    let flow = &diagnosis.flows[0];
    let told = "which 5 packets were lost behind the point of capture";
    assert!(
        flow.cannot_tell.iter().any(|what| what.starts_with(told)),
        "{:?}",
        flow.cannot_tell
    );
    assert!(
        matches!(flow.vantage, Vantage::Unknown(why) if why.contains("the other way")),
        "{:?}",
        flow.vantage
    );
}

#[test]
fn other_datagrams_are_no_streams() {
    let mut frames = Vec::new();
    for number in 0..1000_u64 {
        // The packets have RTP's version but random numbers, as in encrypted data.
        let mut payload = rtp(number * 7919 % 65_536, number, None);
        let ssrc = 28 + 8..28 + 12;
        payload[ssrc].copy_from_slice(&(number as u32).wrapping_mul(2_654_435_761).to_be_bytes());
        frames.push((number * 1_000_000, payload));
        let query = datagram(
            SENDER,
            RECEIVER,
            (53, 53),
            &[0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0],
        );
        frames.push((number * 1_000_000, query));
    }
    let diagnosis = diagnosis(frames);
    assert!(diagnosis.flows.is_empty());
    assert_eq!(diagnosis.skipped.other, 2000);
}
