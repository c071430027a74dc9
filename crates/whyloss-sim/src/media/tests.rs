use super::frames::KEPT;
use super::*;
use crate::Simulation;
use crate::packet::Payload;
use proptest::prelude::*;
use whyloss::Time;
use whyloss_link::{ArqSpec, Backlog, Handover, JitterLaw, JitterSpec, LinkSpec};

/// Returns a scenario with a frame of `packets` 1000-byte packets every 40 ms. A packet takes 8 ms
/// on the link and 100 ms to propagate. The run lasts 10.1 s and is measured from 1 s.
fn scenario(packets: u32, transport: &str, channel: &str, more: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "10.1 s"
        measure_from = "1 s"
        link = [{{ from = "a", to = "b", rate = "1 Mbit/s", delay = "100 ms", queue = "unlimited", channel = {channel} }}]
        flow = [{{ from = "a", to = "b", packet = "1000 B", transport = {transport}, application = {{ kind = "video", rate = "{} kbit/s", {more} }} }}]
        "#,
        200 * packets
    );
    Scenario::of(&text)
}

fn counts(scenario: &Scenario) -> Vec<FrameCounts> {
    let mut media = Media::new(scenario);
    Simulation::new(scenario, 1)
        .watch(&mut media)
        .run()
        .expect("it can be run");
    media.flows[0].as_ref().expect("a stream").counts()
}

const UDP: &str = r#"{ kind = "cbr", rate = "10 Mbit/s" }"#;
const CLEAN: &str = r#""none""#;

/// Two packets back to back take 116 ms. The window has the frames from 1.00 s to 9.984 s.
#[test]
fn udp_by_hand() {
    let playout = r#"playout = ["115 ms", "116 ms", "200 ms"]"#;
    let [short, exact, long] = counts(&scenario(2, UDP, CLEAN, playout))[..] else {
        panic!("three");
    };
    assert_eq!((short.frames, short.whole, short.late), (225, 0, 225));
    assert_eq!((exact.frames, exact.whole, exact.late), (225, 225, 0));
    // Up to 9.9 s: 9.88 s is the last.
    assert_eq!((long.frames, long.whole), (223, 223));
    assert_eq!(long.usable(), Some(1.0));
}

/// A handshake takes a segment of its own, so frames are complete as over UDP.
#[test]
fn a_handshake_is_no_part_of_a_frame() {
    let tcp = r#"{ kind = "tcp", handshake = true, initial_window = 50, delayed_ack = "none" }"#;
    let playout = r#"playout = ["115 ms", "116 ms"]"#;
    let [short, exact] = counts(&scenario(2, tcp, CLEAN, playout))[..] else {
        panic!("two");
    };
    assert_eq!((short.whole, exact.whole), (0, 225));
}

#[test]
fn nothing_counts_after_the_flow_stops() {
    let mut stopped = scenario(2, UDP, CLEAN, r#"playout = ["200 ms"]"#);
    stopped.flows[0].stop = Some((Time::from_secs_f64(2.0), Time::from_secs_f64(3.0)));
    // 1.00, 1.04, … 1.80 s.
    assert_eq!(
        (counts(&stopped)[0].frames, counts(&stopped)[0].whole),
        (21, 21)
    );
}

/// A frame of two packets takes 80 ms at 200 kbit/s, so only every second frame fits. The others
/// are discarded. A sent frame begins 80 ms after its capture and is complete 228 ms after it.
#[test]
fn the_impatient_loses_frames_instead_of_time() {
    let slow = r#"{ kind = "cbr", rate = "200 kbit/s" }"#;
    let playout = r#"playout = ["227 ms", "228 ms"]"#;
    let late = counts(&scenario(2, slow, CLEAN, playout))[1];
    assert_eq!((late.whole, late.late + late.never()), (0, late.frames));
    let patient = format!(r#"{playout}, patience = "100 ms""#);
    let [short, exact] = counts(&scenario(2, slow, CLEAN, &patient))[..] else {
        panic!("two");
    };
    assert_eq!((short.whole, short.late), (0, 111));
    assert_eq!((exact.frames, exact.whole, exact.never()), (222, 111, 111));
}

/// Packets overtake each other by some 300 ms, across many frames. All arrive, and frames that
/// the impatient discards are still told from those that left.
#[test]
fn frames_of_packets_that_overtake_are_complete() {
    let playout = r#"playout = ["3 s"], patience = "100 ms""#;
    for (rate, every) in [("10 Mbit/s", 1), ("200 kbit/s", 2)] {
        let transport = format!(r#"{{ kind = "cbr", rate = "{rate}" }}"#);
        let mut late = scenario(2, &transport, CLEAN, playout);
        late.links[0].link.jitter = Some(JitterSpec {
            law: JitterLaw::Exponential,
            mean: Duration::from_millis(100),
            in_order: false,
        });
        let [late] = counts(&late)[..] else {
            panic!("one");
        };
        assert_eq!((late.late, late.damaged), (0, 0));
        assert!(
            (late.whole * every).abs_diff(late.frames) < every,
            "{late:?}"
        );
    }
}

/// Incomplete frames are forgotten, oldest first, before they fill the memory.
#[test]
fn incomplete_frames_are_forgotten() {
    let lossy = r#"{ kind = "bernoulli", loss = 0.4 }"#;
    let patience = r#"playout = ["200 ms"], patience = "1 ms""#;
    let slow = r#"{ kind = "cbr", rate = "200 kbit/s" }"#;
    let mut scenario = scenario(2, slow, lossy, patience);
    scenario.end = Time::from_secs_f64(300.0);
    let mut media = Media::new(&scenario);
    Simulation::new(&scenario, 1)
        .watch(&mut media)
        .run()
        .expect("it can be run");
    let stream = media.flows[0].as_ref().expect("a stream");
    let (frames, offsets) = stream.remembered();
    assert!((KEPT - 8..=KEPT).contains(&frames), "{frames}");
    assert!((KEPT..KEPT + 9).contains(&offsets), "{offsets}");
    let [counts] = stream.counts()[..] else {
        panic!("one");
    };
    assert!(counts.whole > 1_000, "{counts:?}");
}

/// A frame has 16000 bits at an error rate of 10⁻⁴. Without coverage, e^(−1.6) of the frames are
/// whole and the others are missing. With 40 bytes of each packet covered, 1 − e^(−0.064) are
/// missing.
#[test]
fn coverage_turns_lost_frames_into_damaged_ones() {
    let channel = r#"{ kind = "bit-errors", rate = 1e-4 }"#;
    let of = |coverage, seed| {
        let mut scenario = scenario(2, UDP, channel, r#"playout = ["200 ms"]"#);
        scenario.flows[0].coverage = coverage;
        let mut media = Media::new(&scenario);
        Simulation::new(&scenario, seed)
            .watch(&mut media)
            .run()
            .expect("it can be run");
        media.flows[0].as_ref().expect("a stream").counts()[0]
    };
    let (mut frames, mut whole, mut damaged, mut never) = (0, 0, 0, 0);
    for seed in 1..=40 {
        let (all, some) = (of(None, seed), of(Some(40), seed));
        // The same packets are damaged.
        assert_eq!((all.whole, all.damaged), (some.whole, 0));
        assert_eq!((all.late, some.late), (0, 0));
        frames += some.frames;
        whole += some.whole;
        damaged += some.damaged;
        never += some.never();
    }
    // 4 σ.
    let near = |count: u64, share: f64| {
        let n = frames as f64;
        (count as f64 - share * n).abs() < 4.0 * (n * share * (1.0 - share)).sqrt()
    };
    assert!(near(whole, (-1.6f64).exp()), "{whole} of {frames}");
    assert!(near(never, 1.0 - (-0.064f64).exp()), "{never} of {frames}");
    assert!(
        near(damaged, (-0.064f64).exp() - (-1.6f64).exp()),
        "{damaged} of {frames}"
    );
}

/// A naive model, frame by frame and packet by packet, for packets sent in order from number 0.
struct Naive {
    packets: u64,
    /// The time of each packet's first arrival.
    arrivals: Vec<Option<Time>>,
    /// The packets that had damage.
    damaged: Vec<u64>,
    tcp: bool,
}

impl Watch for Naive {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Arrived { at, packet, .. } = *event {
            self.tcp = matches!(packet.payload, Payload::Segment(_));
            let sequence = packet.payload.sequence().expect("data") as usize;
            if self.arrivals.len() <= sequence {
                self.arrivals.resize(sequence + 1, None);
            }
            if self.arrivals[sequence].is_none() {
                self.arrivals[sequence] = Some(at);
                self.damaged
                    .extend(packet.is_damaged().then_some(sequence as u64));
            }
        }
    }
}

impl Naive {
    /// Returns when frame `k` was complete.
    fn complete(&self, k: u64) -> Option<Time> {
        let first = if self.tcp { 0 } else { k * self.packets };
        (first..(k + 1) * self.packets)
            .map(|packet| self.arrivals.get(packet as usize).copied().flatten())
            .try_fold(Time::ZERO, |latest, at| Some(latest.max(at?)))
    }

    fn counts(&self, playout: Duration) -> FrameCounts {
        let at = |ms: i64| Time::ZERO + Duration::from_millis(ms);
        let mut counts = FrameCounts {
            playout,
            ..FrameCounts::default()
        };
        for k in 0..253 {
            let captured = at(40 * k as i64);
            if captured < at(1_000) || captured + playout > at(10_100) {
                continue;
            }
            counts.frames += 1;
            let packets = k * self.packets..(k + 1) * self.packets;
            let damaged = self.damaged.iter().any(|number| packets.contains(number));
            match self.complete(k) {
                Some(there) if there <= captured + playout => {
                    counts.whole += u64::from(!damaged);
                    counts.damaged += u64::from(damaged);
                }
                Some(_) => counts.late += 1,
                None => {}
            }
        }
        counts
    }
}

/// Lets packets of a link overtake each other, except in the first way.
fn overtake(link: &mut LinkSpec, way: u8) {
    match way {
        1 => {
            link.jitter = Some(JitterSpec {
                law: JitterLaw::Exponential,
                mean: Duration::from_millis(60),
                in_order: false,
            });
        }
        2 => {
            link.arq = Some(ArqSpec {
                tries: 2,
                turnaround: Duration::from_millis(90),
                parallel: true,
                in_order: false,
            });
        }
        3 => {
            link.handovers = vec![Handover {
                at: Time::from_secs_f64(4.0),
                pause: Duration::ZERO,
                rate: None,
                delay: Some(Duration::from_millis(5)),
                channel: None,
                limit: None,
                waiting: Backlog::Kept,
                in_order: false,
            }];
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn agrees_with_looking_at_every_frame(
        packets in 1..6u32,
        loss in 0.0..0.3f64,
        coverage in prop::sample::select(vec![None, Some(28), Some(500)]),
        transport in prop::sample::select(vec![UDP, r#""iftp""#, r#""tfrc""#, r#""tcp""#]),
        (way, seed) in (0..4u8, 1..1000u64),
    ) {
        let channel = match coverage {
            None => format!(r#"{{ kind = "bernoulli", loss = {loss} }}"#),
            Some(_) => format!(r#"{{ kind = "bit-errors", rate = {} }}"#, loss / 8e3),
        };
        let mut scenario = scenario(packets, transport, &channel, "");
        scenario.flows[0].coverage = coverage;
        overtake(&mut scenario.links[0].link, way);
        let mut observers = (
            Media::new(&scenario),
            Naive {
                packets: u64::from(packets),
                arrivals: Vec::new(),
                damaged: Vec::new(),
                tcp: false,
            },
        );
        Simulation::new(&scenario, seed).watch(&mut observers).run().expect("it can be run");
        let counts = observers.0.flows[0].as_ref().expect("a stream").counts();
        prop_assert_eq!(counts.len(), 3);
        for counts in counts {
            prop_assert_eq!(counts, observers.1.counts(counts.playout));
        }
    }
}
