//! Replays a log: runs the links again in virtual time, and compares every fate.
//!
//! Creates every link of a run anew from its specification and seed, and offers it the packets at
//! the times in the log. Each answer must equal the answer in the log.

use whyloss::Time;

use crate::network::{LinkPlan, Offer, Outcome, Service};
use crate::record::{Fate, Record};

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The number of packets that links were offered.
    pub offers: u64,
    /// The number of answers that differ from the log in fate, time or damaged bits.
    pub differences: u64,
    /// A description of the first difference; `None` if there is none.
    pub first: Option<String>,
}

/// Replays `records`, the log of a run, through the links of that run. `seed` is the run's seed.
pub fn replay(plans: &[LinkPlan], seed: u64, mut records: Vec<Record>) -> Replayed {
    let links = plans.iter().enumerate();
    let mut links: Vec<Service> = links.map(|(i, plan)| Service::new(plan, seed, i)).collect();
    records.sort_unstable_by_key(|record| record.offer);
    let mut replayed = Replayed {
        offers: records.len() as u64,
        ..Replayed::default()
    };
    // The number of waiting packets, for packets whose fate comes later.
    let mut waited = vec![0; records.len()];
    for (index, record) in records.iter().enumerate() {
        let Some(link) = plans.iter().position(|plan| plan.name == record.link) else {
            replayed.differ(format!(
                "packet {}: no link is called {}",
                record.packet, record.link
            ));
            continue;
        };
        let (link, now) = (&mut links[link], Time::from_nanos(record.enqueued));
        replayed.tell(link, now, &records, &waited);
        let packet = Offer {
            ticket: index as u32,
            flow: record.headers.flow(),
            size: record.bytes,
        };
        let (waiting, outcome, _) = link.offer(now, packet);
        waited[index] = waiting;
        if outcome != Outcome::Held {
            replayed.compare(record, waiting, &outcome);
        }
    }
    for link in &mut links {
        replayed.tell(link, Time::MAX, &records, &waited);
    }
    replayed
}

impl Replayed {
    /// Compares the fates that a link reports up to `now` with the log, including their times.
    fn tell(&mut self, link: &mut Service, now: Time, records: &[Record], waited: &[usize]) {
        while link.next_event() <= now && link.next_event() < Time::MAX {
            let at = link.next_event();
            while let Some((ticket, outcome, _)) = link.poll(at) {
                let index = ticket as usize;
                self.compare(&records[index], waited[index], &outcome);
            }
        }
    }

    fn compare(&mut self, record: &Record, waiting: usize, outcome: &Outcome) {
        if !agrees(record, waiting, outcome) {
            self.differ(format!(
                "packet {} at {}: the log says {} at {} ns with {} waiting, the link {outcome:?} with {waiting}",
                record.packet,
                record.link,
                record.fate.name(),
                record.scheduled,
                record.waiting,
            ));
        }
    }

    fn differ(&mut self, difference: String) {
        self.differences += 1;
        self.first.get_or_insert(difference);
    }
}

fn agrees(record: &Record, waiting: usize, outcome: &Outcome) -> bool {
    let fate = match outcome {
        Outcome::Delivered(_) => record.fate == Fate::Delivered,
        Outcome::Damaged(..) => record.fate == Fate::Damaged,
        Outcome::Overflow(_) => record.fate == Fate::Overflow,
        Outcome::Aqm(_) => record.fate == Fate::Aqm,
        Outcome::Channel(_) => record.fate == Fate::Channel,
        Outcome::Held => false,
    };
    // The link does not decide the fate of a packet after it has let it through.
    let later =
        matches!(record.fate, Fate::Fault | Fate::Unfinished) && outcome.arrival().is_some();
    let bits: &[u32] = match outcome {
        Outcome::Damaged(_, bits) => bits,
        _ => &[],
    };
    (fate || later)
        && record.scheduled == outcome.at().as_nanos()
        && record.waiting as usize == waiting
        && record.bits == bits
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use proptest::prelude::*;

    use super::*;
    use crate::header::Headers;
    use crate::network::{Hop, Network, Sent, Transit, Watch};
    use crate::spec::{HostPlan, Links};

    /// Links in a row: each kind that answers later, and one that answers immediately.
    const LINKS: &[&str] = &[
        r#"queue = { packets = 4, aqm = { kind = "codel", target = "2 ms", interval = "10 ms" } }"#,
        r#"queue = { packets = 5, aqm = { kind = "fq-codel", target = "2 ms", interval = "10 ms" } }"#,
        r#"arq = { tries = 3, turnaround = "2 ms" }
channel = { kind = "bernoulli", loss = 0.3 }"#,
        r#"arq = { tries = 2, turnaround = "2 ms", parallel = true, in_order = false }
channel = { kind = "timed-gilbert-elliott", mean_good = "20 ms", mean_bad = "5 ms" }"#,
        r#"jitter = { kind = "exponential", mean = "3 ms", in_order = false }
channel = { kind = "bit-errors", rate = 2e-5 }"#,
        r#"jitter = { kind = "uniform", mean = "5 ms" }
channel = { kind = "bernoulli", loss = 0.1, before_queue = true }"#,
        r#"aggregation = { packets = 4, airtime = "4 ms", access = "1 ms" }"#,
        r#"handovers = [{ at = "50 ms", pause = "10 ms", waiting = "lost", rate = "2 Mbit/s" }]"#,
        r#"channel = { kind = "bit-errors", rate = 2e-5 }"#,
        r#"handovers = [{ at = "40 ms", channel = { kind = "bernoulli", loss = 0.3 }, queue = { packets = 2 } }, { at = "90 ms", channel = { kind = "bit-errors", rate = 1e-4 }, delay = "9 ms" }]"#,
    ];

    fn links(kinds: &[usize]) -> Links {
        use std::fmt::Write;
        let mut text = String::new();
        for (index, kind) in kinds.iter().enumerate() {
            let link = LINKS[*kind];
            let queue = if link.contains("queue") && link.contains("aqm") {
                ""
            } else {
                "queue = { packets = 6 }"
            };
            let _ = write!(
                text,
                "[[link]]\nfrom = \"n{index}\"\nto = \"n{}\"\nrate = \"4 Mbit/s\"\ndelay = \"3 ms\"\n{queue}\n{link}\n",
                index + 1
            );
        }
        Links::from_toml(&text, "the test", &[]).unwrap()
    }

    fn headers(port: u16) -> Headers {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Headers {
            protocol: 17,
            source: address,
            destination: address,
            source_port: Some(port),
            destination_port: Some(9),
            sequence: None,
            ip_id: None,
        }
    }

    /// Writes a log as the emulator does.
    struct Log {
        names: Vec<String>,
        records: Vec<Record>,
    }

    impl Log {
        fn write(&mut self, hop: &Hop, (headers, bytes): &(Headers, u32), fate: Fate) {
            self.records.push(Record {
                offer: hop.offer,
                packet: hop.packet,
                link: self.names[hop.link].clone(),
                from: String::new(),
                to: String::new(),
                headers: headers.clone(),
                bytes: *bytes,
                enqueued: hop.enqueued.as_nanos(),
                waiting: hop.waiting as u32,
                scheduled: hop.outcome.at().as_nanos(),
                departed: None,
                fate,
                bits: match &hop.outcome {
                    Outcome::Damaged(_, bits) => bits.clone(),
                    _ => Vec::new(),
                },
                state: None,
                fault: None,
            });
        }

        fn arrived(&mut self, hop: &Hop, packet: &(Headers, u32)) {
            let damaged = matches!(hop.outcome, Outcome::Damaged(..));
            let fate = if damaged {
                Fate::Damaged
            } else {
                Fate::Delivered
            };
            self.write(hop, packet, fate);
        }
    }

    impl Watch<(Headers, u32)> for Log {
        fn passed(&mut self, hop: &Hop, packet: &mut (Headers, u32)) {
            self.arrived(hop, packet);
        }

        fn lost(&mut self, hop: &Hop, packet: (Headers, u32)) {
            let fate = match hop.outcome {
                Outcome::Overflow(_) => Fate::Overflow,
                Outcome::Aqm(_) => Fate::Aqm,
                _ => Fate::Channel,
            };
            self.write(hop, &packet, fate);
        }
    }

    /// Offers packets after these gaps, in microseconds, and returns the log. The network is polled
    /// only then, as late as possible, and some packets are in flight at the end.
    fn log(links: &Links, offers: &[(u64, u32, u16)]) -> Vec<Record> {
        let hosts = [0, links.scenario.nodes.len() - 1].map(|node| HostPlan {
            name: String::new(),
            node,
            command: None,
            leads: false,
        });
        let plan = links.plan(hosts.into());
        let mut network = Network::new(&plan.links, plan.routes, 7);
        let names = plan.links.into_iter().map(|link| link.name).collect();
        let mut log = Log {
            names,
            records: Vec::new(),
        };
        let mut now = 0;
        for &(gap, size, port) in offers {
            now += gap * 1_000;
            let at = Time::from_nanos(now);
            let mut last = Time::ZERO;
            while let Some((due, Transit { hop, payload, .. })) =
                network.take_due(at, |_, _| {}, &mut log)
            {
                assert!(last <= due && due <= at, "at its time, in order");
                last = due;
                log.arrived(&hop, &payload);
            }
            assert!(network.next_due() > at);
            let sent = Sent {
                from: 0,
                to: 1,
                size,
                flow: headers(port).flow(),
            };
            let payload = (headers(port), size);
            network
                .send(at, sent, payload, |_, _| {}, &mut log)
                .unwrap();
        }
        for Transit { hop, payload, .. } in network.drain(|_, _| {}, &mut log) {
            log.write(&hop, &payload, Fate::Unfinished);
        }
        assert_eq!(network.under_way(), 0);
        log.records
    }

    fn offers(most_gap: u64) -> impl Strategy<Value = Vec<(u64, u32, u16)>> {
        prop::collection::vec((0..most_gap, 40u32..1_500, 1u16..4), 50..150)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Checks that the log has one record per packet and link, and that a replay gives each
        /// packet the fate and times in the log.
        #[test]
        fn links_answer_again_as_they_did(
            kinds in prop::collection::vec(0..LINKS.len(), 1..4),
            offers in offers(3_000),
        ) {
            let links = links(&kinds);
            let records = log(&links, &offers);
            let first = records.iter().filter(|record| record.link == links.plans()[0].name);
            prop_assert_eq!(first.count(), offers.len());
            let replayed = replay(&links.plans(), 7, records.clone());
            prop_assert_eq!(&replayed.first, &None);
            prop_assert_eq!(replayed.offers, records.len() as u64);
            // A log with other fates is found to differ.
            let mut wrong = records;
            wrong[0].scheduled += 1;
            prop_assert_eq!(replay(&links.plans(), 7, wrong).differences, 1);
        }
    }

    /// Packets of 1000 bytes take 2 ms each and arrive every millisecond, with unlimited room.
    /// CoDel's target is 2 ms, and its interval 10 ms.
    #[test]
    fn codel_drops_as_packets_leave() {
        let codel = LINKS[0].replace("packets = 4", "packets = 100");
        let text = format!(
            "[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"4 Mbit/s\"\ndelay = \"3 ms\"\n{codel}"
        );
        let links = Links::from_toml(&text, "the test", &[]).unwrap();
        let records = log(&links, &[(1_000, 1_000, 1); 30]);
        let mut dropped: Vec<&Record> = records
            .iter()
            .filter(|record| record.fate == Fate::Aqm)
            .collect();
        dropped.sort_by_key(|record| record.scheduled);
        // Packet k leaves the queue at 1 + 2k ms, after k ms there. Packet 2 waited for the target
        // but leaves only one packet behind, which is an exception. So the time above the target
        // counts from packet 3, at 7 ms, and the first departure 10 ms later is a drop.
        assert_eq!((dropped[0].packet, dropped[0].scheduled), (8, 17_000_000));
        assert!(records.iter().all(|record| record.fate != Fate::Overflow));
    }
}
