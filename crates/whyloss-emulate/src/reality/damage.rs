//! IFTP-W over a link that damages bits: compares the arrivals with the damage in the log.

use std::collections::{HashMap, VecDeque};

use super::jobs::Job;
use super::{Bench, RealityError, Table, arrivals_of, last_line, number};

/// The port of the receiver.
const PORT: u16 = 5000;
/// The number of bytes that the checksum covers, from the start of the IP packet.
const COVERAGE: u32 = 100;
/// The size of a packet, and of its headers, in bytes.
const PACKET: u32 = 762;
const HEADERS: u32 = 28 + 16;

pub(super) fn damage(bench: &Bench) -> Result<Table, RealityError> {
    // IFTP takes damage for congestion, and is slow.
    let (many, few) = if bench.quick {
        (150, 150)
    } else {
        (4_000, 500)
    };
    let mut table = Table::new(
        "damage",
        "Damaged payloads",
        &format!(
            "IFTP-W in packets of {PACKET} bytes, of which the first {COVERAGE} (from the IP header) are covered, over a link that damages bits \
             at a rate of 2e-5, {many} packets: over UDP, where the application checks its section, and over UDP-Lite, where the kernel does, too. \
             A packet with a damaged bit in the section must not be taken; one that is damaged beyond must be, with the very bits flipped \
             that the emulator's log has. IFTP, which covers all, must take none of its {few} where a bit is damaged."
        ),
        &[
            "protocol",
            "carrier",
            "data packets on the link",
            "damaged in the section",
            "of them taken",
            "damaged beyond",
            "of them not taken",
            "with other bits than the log's",
            "fates that differ",
        ],
    );
    for (protocol, carrier, flag, coverage, packets) in [
        ("IFTP-W", "UDP", "", COVERAGE, many),
        ("IFTP-W", "UDP-Lite", "--udp-lite", COVERAGE, many),
        ("IFTP", "UDP", "", PACKET, few),
    ] {
        let directory = bench.directory(&format!("damage-{protocol}-{carrier}"))?;
        let (program, log) = (bench.shell(), directory.join("log"));
        let path = |name: &str| super::quoted(&directory.join(name));
        let section = if coverage < PACKET {
            format!("--coverage '{coverage} B'")
        } else {
            String::new()
        };
        let recv = format!(
            "exec {program} recv {PORT} --transport iftp {flag} --arrivals {} --stats {}",
            path("arrivals.jsonl"),
            path("received.jsonl")
        );
        let send = format!(
            "exec {program} send $WHYLOSS_SERVER:{PORT} --transport iftp {flag} --packet '{PACKET} B' {section} --first 65000 --packets {packets} --stats {}",
            path("sent.jsonl")
        );
        let job = Job::new(
            &directory,
            &[
                "link",
                "--rate",
                "2mbit",
                "--delay",
                "20ms",
                "--queue",
                "30",
                "--loss-up",
                "bits:2e-5",
                "--late-bound",
                "100ms",
                "--log",
                &log.to_string_lossy(),
                "--both",
                &recv,
                &send,
            ],
        );
        let finished = job.run(bench, 120)?;
        if carrier == "UDP-Lite" && finished.err.contains("no UDP-Lite") {
            table.rows.push(vec![
                protocol.into(),
                "UDP-Lite: this kernel has none".into(),
            ]);
            continue;
        }
        finished.succeeded(&job)?;
        let records = crate::archive::records(&log)
            .map_err(|error| RealityError::Result(error.to_string()))?;
        // IFTP's numbers wrap after 65536 packets, but there are fewer. A first packet whose answer
        // is late is sent again under its number; the link keeps the order.
        let mut arrived: HashMap<u32, VecDeque<Vec<u32>>> = HashMap::new();
        for line in arrivals_of(&directory.join("arrivals.jsonl"))? {
            let number = line.number & 0xFFFF;
            arrived.entry(number).or_default().push_back(line.damaged);
        }
        let (mut data, mut within, mut beyond, mut missed, mut other) = (0, 0, 0, 0, 0);
        for record in &records {
            let number = record
                .headers
                .sequence
                .filter(|_| record.headers.destination_port == Some(PORT));
            let (Some(number), "up") = (number, record.link.as_str()) else {
                continue;
            };
            data += 1;
            if record.bits.first().is_some_and(|&bit| bit < coverage * 8) {
                within += 1;
                continue;
            }
            // A packet that left late is the emulator's fault, and still arrives.
            if !record.arrived() {
                continue;
            }
            let damaged = !record.bits.is_empty();
            let bits = record.bits.iter().copied();
            let bits: Vec<u32> = bits.filter(|&bit| bit >= HEADERS * 8).collect();
            beyond += u64::from(damaged);
            match arrived.get_mut(&number).and_then(VecDeque::pop_front) {
                Some(arrival) => other += u64::from(arrival != bits),
                None => missed += u64::from(damaged),
            }
        }
        // The remaining arrivals are unexpected: packets damaged in the covered section.
        let taken: usize = arrived.values().map(VecDeque::len).sum();
        let replayed = crate::archive::replay_run(&log)
            .map_err(|error| RealityError::Result(error.to_string()))?;
        table.rows.push(vec![
            protocol.into(),
            carrier.into(),
            format!("{data}"),
            format!("{within}"),
            format!("{taken}"),
            format!("{beyond}"),
            format!("{missed}"),
            format!("{other}"),
            format!("{} of {}", replayed.differences, replayed.offers),
        ]);
        let received = number(&last_line(&directory.join("received.jsonl"))?, &["packets"])?;
        let exact = taken == 0
            && missed + other == 0
            && within > 0
            && (beyond > 0 || coverage == PACKET)
            && received > 0.0;
        table.check(format!("{protocol} over {carrier}: {beyond} damaged payloads delivered exactly where the log says, {within} packets dropped exactly where the damage is covered"), exact);
        table.check(
            format!("{protocol} over {carrier}: the log replays, damaged bits and all"),
            replayed.differences == 0,
        );
    }
    Ok(table)
}
