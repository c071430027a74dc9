//! Runs a small transport of this file as hosts from outside, in both engines. It uses the judge,
//! datagrams of any size, and timers at both ends.

use std::collections::VecDeque;
use std::sync::Mutex;

use proptest::prelude::*;
use whyloss::event::{AckEvent, Detection, LossEvent, SentEvent};
use whyloss::sender::SenderClassifier;
use whyloss::{Cause, Duration};
use whyloss_link::{Backlog, Handover};

use super::*;
use crate::decider::{Lookup, LookupOf, SENDERS, SenderDecider};
use crate::scenario::{Scenario, Transport};
use crate::{Measurement, Simulation};

/// Keeps eight datagrams in flight. A datagram is lost if three later ones were answered, or
/// nothing arrived for a second.
struct Sender {
    judge: Judge,
    sizes: u64,
    next: u64,
    offset: u64,
    /// The number, offset and size of each datagram in flight.
    under_way: VecDeque<(u64, u64, u64)>,
    patience: Time,
}

impl Sender {
    fn lose(&mut self, now: Time, detection: Detection, first: u64) {
        let loss = LossEvent::new(now, detection, 1000).first(first);
        self.judge.on_loss(&loss);
    }
}

impl Host for Sender {
    fn receive(&mut self, now: Time, datagram: &[u8]) {
        let number = u64::from_le_bytes(datagram[..8].try_into().expect("a number"));
        self.patience = now + Duration::from_secs(1);
        self.under_way.retain(|sent| sent.0 != number);
        let mut lost = None;
        while let Some(&(oldest, offset, _)) = self.under_way.front()
            && oldest + 3 <= number
        {
            lost.get_or_insert(offset);
            self.under_way.pop_front();
        }
        if let Some(first) = lost {
            self.lose(now, Detection::Duplicates, first);
        }
        let edge = self.under_way.front().map_or(self.offset, |sent| sent.1);
        self.judge
            .on_ack(&AckEvent::new(now, 1000).acknowledged(edge));
    }

    fn wake(&mut self, now: Time) {
        self.patience = now + Duration::from_secs(1);
        if let Some((_, first, _)) = self.under_way.front().copied() {
            self.under_way.clear();
            self.lose(now, Detection::Timeout, first);
        }
    }

    fn next_timeout(&self) -> Time {
        self.patience
    }

    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> bool {
        if self.under_way.len() >= 8 {
            return false;
        }
        self.sizes = self
            .sizes
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let size = 8 + (self.sizes >> 33) % 1400;
        datagram.extend(self.next.to_le_bytes());
        datagram.resize(size as usize, 0);
        self.judge
            .on_sent(&SentEvent::new(now, size).offset(self.offset));
        self.under_way.push_back((self.next, self.offset, size));
        (self.next, self.offset) = (self.next + 1, self.offset + size);
        true
    }

    fn state(&self) -> SourceState {
        SourceState {
            in_flight: Some(self.under_way.iter().map(|sent| sent.2).sum()),
            ..SourceState::default()
        }
    }
}

/// Answers each datagram twice: immediately, and again after 30 ms.
#[derive(Default)]
struct Receiver {
    owed: VecDeque<u64>,
    again: VecDeque<(Time, u64)>,
    bytes: u64,
}

impl Host for Receiver {
    fn receive(&mut self, now: Time, datagram: &[u8]) {
        let number = u64::from_le_bytes(datagram[..8].try_into().expect("a number"));
        self.bytes += datagram.len() as u64;
        self.owed.push_back(number);
        self.again
            .push_back((now + Duration::from_millis(30), number));
    }

    fn wake(&mut self, now: Time) {
        while let Some((_, number)) = self.again.pop_front_if(|again| again.0 <= now) {
            self.owed.push_back(number);
        }
    }

    fn next_timeout(&self) -> Time {
        self.again.front().map_or(Time::MAX, |again| again.0)
    }

    fn poll_transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> bool {
        let Some(number) = self.owed.pop_front() else {
            return false;
        };
        datagram.extend(number.to_le_bytes());
        datagram.resize(8 + number as usize % 40, 0);
        true
    }

    fn delivered(&self) -> u64 {
        self.bytes
    }
}

fn hosts() -> Outside {
    Outside::new(|beginning| Hosts {
        source: Box::new(Sender {
            judge: beginning.judge,
            sizes: beginning.seed[0],
            next: 0,
            offset: 0,
            under_way: VecDeque::new(),
            patience: beginning.start + Duration::from_secs(1),
        }),
        sink: Box::new(Receiver::default()),
    })
}

/// Returns a scenario with `flows` of these flows alongside a TCP flow. The last hop loses a share
/// `loss` of the packets, behind a queue of `queue`.
fn scenario(loss: f64, queue: u32, flows: usize, classifier: &SenderDecider) -> Scenario {
    let text = format!(
        r#"
        duration = "10 s"
        link = [
            {{ from = "a", to = "m", rate = "10 Mbit/s", delay = "5 ms", queue = {{ packets = 50 }} }},
            {{ from = "m", to = "b", rate = "1 Mbit/s", delay = "20 ms", queue = {{ packets = {queue} }}, channel = {{ kind = "bernoulli", loss = {loss} }}, reverse_channel = {{ kind = "bernoulli", loss = {loss} }} }},
        ]
        flow = [
            {{ name = "tcp", from = "a", to = "b", transport = "tcp" }},
            {{ name = "own", from = "a", to = "b", transport = "tcp", count = {flows} }},
        ]"#
    );
    let mut scenario = Scenario::of(&text);
    let hosts = hosts();
    for flow in &mut scenario.flows[1..] {
        flow.transport = Transport::Outside {
            hosts: hosts.clone(),
            classifier: classifier.clone(),
        };
    }
    scenario
}

fn oracle() -> SenderDecider {
    SenderDecider::Oracle(Lookup {
        of: LookupOf::Window,
        remembers: false,
        timeouts: true,
    })
}

fn counted(run: Result<Measurement, crate::RunError>) -> Measurement {
    let run = run.expect("runs");
    Measurement { events: 0, ..run }
}

#[test]
fn an_oracle_is_right_about_a_host_from_outside_and_others_are_scored() {
    let run = counted(Simulation::new(&scenario(0.03, 6, 1, &oracle()), 1).run());
    let own = &run.flows[1];
    assert!(
        own.lost.congestion > 20 && own.lost.wireless > 10,
        "{own:?}"
    );
    assert_eq!(own.gaps.accuracy(), Some(1.0));
    // The losses of its last round trip have no verdict yet.
    let judged = own.packets.total(Cause::Congestion) + own.packets.total(Cause::Wireless);
    assert!(
        judged + 8 >= own.lost.congestion + own.lost.wireless,
        "{own:?}"
    );
    // Goodput counts the bytes of arrived datagrams, without headers.
    assert_eq!(
        own.application_bytes + own.received * u64::from(HEADERS),
        own.received_bytes
    );
    assert_eq!(run.flows[0].application_bytes, 0);

    let unaware = SENDERS
        .build("unaware", &[])
        .expect("known")
        .expect("built");
    let run = counted(crate::Simulation::new(&scenario(0.03, 6, 1, &unaware), 1).run());
    let gaps = &run.flows[1].gaps;
    assert_eq!(gaps.mw(), Some(1.0));
    assert_eq!(gaps.mc(), Some(0.0));
}

/// After arrival, drop or loss in either direction, the slot of a datagram is free again.
#[test]
fn datagrams_leave_nothing_behind() {
    let mut scenario = scenario(0.2, 6, 1, &oracle());
    let [source, _] = watch(&mut scenario);
    counted(Simulation::new(&scenario, 1).run());
    // There are at most as many new buffers as datagrams in flight at the same time.
    assert!(source.lock().expect("one thread").buffers <= 24);
}

/// Copies the datagrams that wait at the last hop at 3 s, in either direction.
fn copy(scenario: &mut Scenario) {
    for connection in &mut scenario.links[1..] {
        connection.link.handovers = vec![Handover {
            at: Time::ZERO + Duration::from_secs(3),
            pause: Duration::from_millis(100),
            rate: None,
            delay: None,
            channel: None,
            limit: None,
            waiting: Backlog::Copied,
            in_order: true,
        }];
    }
}

/// A datagram's bytes are kept until its copy has arrived.
#[test]
fn a_copy_has_the_bytes_of_its_datagram() {
    let mut scenario = scenario(0.0, 30, 1, &oracle());
    copy(&mut scenario);
    let [_, sink] = watch(&mut scenario);
    counted(Simulation::new(&scenario, 1).run());
    let came = &sink.lock().expect("one thread").numbers;
    let first: Vec<_> = came.windows(2).map(|pair| pair[1] <= pair[0]).collect();
    let back = first.iter().position(|&back| back).expect("copies");
    let copies = came[back + 1..].iter().take_while(|&&n| n <= came[back]);
    // The copies end with the last waiting datagram; new datagrams follow.
    let copies: Vec<_> = copies.copied().collect();
    assert!(copies.len() >= 3, "{copies:?}");
    assert_eq!(copies, came[back + 1 - copies.len()..=back]);
    assert_eq!(came[back + 1 + copies.len()], came[back] + 1);
    assert_eq!(first.iter().filter(|&&back| back).count(), 1);
}

/// Watches both hosts of the flow from outside.
fn watch(scenario: &mut Scenario) -> [Arc<Mutex<Seen>>; 2] {
    let Transport::Outside { hosts, .. } = &mut scenario.flows[1].transport else {
        panic!("from outside")
    };
    let seen: [Arc<Mutex<Seen>>; 2] = Default::default();
    let (inner, [at_source, at_sink]) = (hosts.clone(), seen.clone());
    *hosts = Outside::new(move |beginning| {
        let Hosts { source, sink } = inner.make(beginning);
        Hosts {
            source: Box::new(Watched(source, Arc::clone(&at_source))),
            sink: Box::new(Watched(sink, Arc::clone(&at_sink))),
        }
    });
    seen
}

/// The numbers of arriving datagrams, and the number of new buffers.
#[derive(Default)]
struct Seen {
    numbers: Vec<u64>,
    buffers: usize,
}

struct Watched(Box<dyn Host>, Arc<Mutex<Seen>>);

impl Host for Watched {
    fn receive(&mut self, now: Time, datagram: &[u8]) {
        let number = datagram.first_chunk().copied().map(u64::from_le_bytes);
        self.1.lock().expect("one thread").numbers.extend(number);
        self.0.receive(now, datagram);
    }

    fn wake(&mut self, now: Time) {
        self.0.wake(now);
    }

    fn next_timeout(&self) -> Time {
        self.0.next_timeout()
    }

    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> bool {
        let new = datagram.capacity() == 0;
        let sent = self.0.poll_transmit(now, datagram);
        self.1.lock().expect("one thread").buffers += usize::from(new && sent);
        sent
    }
}

#[test]
fn a_datagram_needs_a_place_for_its_bytes_and_arrives_whole() {
    let refused = |change: fn(&mut crate::scenario::Flow)| {
        let mut scenario = scenario(0.0, 6, 1, &oracle());
        change(&mut scenario.flows[1]);
        scenario.check().expect_err("wrong").to_string()
    };
    assert_eq!(
        refused(|flow| flow.packet_size = 28),
        "flow[1].packet: found 28 B, expected at least 29 B, headers of IPv4 and UDP included"
    );
    assert_eq!(
        refused(|flow| flow.coverage = Some(40)),
        "flow[1].coverage: found 40 B, expected none: a datagram from outside arrives whole or not at all"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The fast engine equals the plain one for hosts from outside, alone and alongside each other.
    #[test]
    fn both_engines_agree(
        loss in prop_oneof![Just(0.0), 0.0..0.1],
        queue in 1u32..30,
        flows in 1usize..4,
        seed: u64,
        copies: bool,
        classifier in prop_oneof![Just("oracle"), Just("random"), Just("veno")],
    ) {
        let classifier = SENDERS.build(classifier, &[]).expect("known").expect("built");
        let mut scenario = scenario(loss, queue, flows, &classifier);
        if copies {
            copy(&mut scenario);
        }
        let plain = counted(Simulation::new(&scenario, seed).plain().run());
        prop_assert_eq!(&counted(Simulation::new(&scenario, seed).run()), &plain);
        let mut delays = crate::Delays::new(&scenario);
        prop_assert_eq!(&counted(Simulation::new(&scenario, seed).observe(&mut delays)), &plain);
    }
}
