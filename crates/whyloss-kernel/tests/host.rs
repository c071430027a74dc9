//! Compares the programs' arithmetic with the library's on this machine, without root (feature
//! `bpf`).
#![cfg(all(feature = "bpf", target_os = "linux"))]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use whyloss::congestion::evidence::{self, COUNT};
use whyloss::congestion::{Controller as _, Decision, Start, Under, Whyloss};
use whyloss::event::{AckEvent, Detection, LossEvent};
use whyloss::sender::trees::{self, Signals};
use whyloss::{Duration, Time};

/// Compiles a file of `tests/host` with the programs' headers. Returns the executable.
fn compiled(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("whyloss-{name}"));
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let status = Command::new(clang)
        // A fused multiply-add would round only once.
        .args(["-O2", "-ffp-contract=off", "-Wall", "-Werror", "-I"])
        .arg(here.join("src/bpf"))
        .arg(here.join(format!("tests/host/{name}.c")))
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(status.success());
    program
}

#[test]
fn reals_are_the_processors() {
    let output = Command::new(compiled("real")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}

/// An acknowledgement, and perhaps a loss found after it (`struct event` of
/// `tests/host/signals.c`).
struct Event {
    now_us: u64,
    acked: u32,
    rtt_us: u32,
    in_flight: u32,
    cwnd: u32,
    mss: u32,
    lost: u32,
    state: u32,
    timeout: bool,
    starting: bool,
}

impl Event {
    fn bytes(&self, odds: [i32; 2]) -> Vec<u8> {
        let mut bytes = self.now_us.to_ne_bytes().to_vec();
        for value in [
            self.acked,
            self.rtt_us,
            self.in_flight,
            self.cwnd,
            self.mss,
            self.lost,
            self.state,
            u32::from(self.timeout),
            odds[0].cast_unsigned(),
            odds[1].cast_unsigned(),
            u32::from(self.starting),
            0,
        ] {
            bytes.extend(value.to_ne_bytes());
        }
        bytes
    }
}

/// Draws a flow of `count` acknowledgements.
fn flow(mut seed: u64, count: usize) -> Vec<Event> {
    let mut draw = |below: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut now_us = 1_000_000 + draw(1 << 40);
    let (base, room) = (1_000 + draw(200_000), 1 + draw(100_000));
    let slot = 1 + draw(3_000);
    let losses = 5 + draw(500);
    // Acknowledgements of hundreds of segments increase weights until densities are scaled down.
    let largest = [3, 20, 400][draw(3) as usize];
    let (mut cwnd, mut queued, mut recovering, mut calm) = (10, 0, 0, 0);
    let mut mss = 1_448;
    let mut event = |_| {
        now_us += draw(2 * slot);
        // Sometimes the application pauses and the path changes.
        if draw(2_000) == 0 {
            now_us += draw(150_000_000);
            mss = [536, 1_228, 1_448, 65_483][draw(4) as usize];
        }
        queued = (queued + draw(room / 10 + 2))
            .saturating_sub(draw(room / 10 + 2))
            .min(room);
        // Sometimes the queue stays empty for round trips.
        calm = if draw(500) == 0 {
            400
        } else {
            u64::saturating_sub(calm, 1)
        };
        if calm > 0 {
            queued = 0;
        }
        cwnd = (cwnd + draw(3)).saturating_sub(draw(3)).clamp(1, 5_000);
        let lost = draw(losses) == 0;
        recovering = if lost {
            cwnd
        } else {
            u64::saturating_sub(recovering, 1)
        };
        let acked = match draw(10) {
            0 | 1 => 0,
            2..7 => mss,
            7 | 8 => mss * draw(largest),
            _ => draw(mss) + 1,
        };
        Event {
            now_us,
            acked: acked as u32,
            rtt_us: if draw(20) == 0 {
                0
            } else {
                (base + queued) as u32
            },
            in_flight: (cwnd * mss) as u32,
            cwnd: cwnd as u32,
            mss: mss as u32,
            lost: if lost { cwnd as u32 } else { 0 },
            state: if recovering > 0 { 3 } else { 0 },
            timeout: draw(10) == 0,
            starting: draw(4) == 0,
        }
    };
    (0..count).map(&mut event).collect()
}

/// A loss after an event, and its cut in thousandths if it was found. If it was not, only the
/// signals at the end of the evidence are known.
#[derive(Debug, PartialEq)]
struct Loss {
    evidence: [i16; COUNT],
    cut: u32,
}

/// Judges a loss after each event with the library. Also returns its log-odds, and those of the
/// scheme's trees above the ones at which cuts begin; zeros during the warm-up.
fn judged(flow: &[Event]) -> Vec<(Loss, [i32; 2])> {
    let mut signals = Signals::new();
    let mut controller = Whyloss::new(&Start::new(1_448), Under::Cubic);
    let mut acknowledged = 0;
    let judge = |event: &Event| {
        acknowledged += u64::from(event.acked);
        let now = Time::from_nanos(event.now_us * 1_000);
        let window = u64::from(event.cwnd) * u64::from(event.mss);
        let rtt = Duration::from_nanos(i64::from(event.rtt_us) * 1_000);
        let ack = AckEvent::new(now, event.mss)
            .acked(u64::from(event.acked))
            .acknowledged(acknowledged)
            .in_flight(u64::from(event.in_flight))
            .window(window)
            .rtt((event.rtt_us > 0).then_some(rtt))
            .in_recovery(event.state >= 3);
        signals.on_ack(&ack);
        controller.on_ack(&ack);
        let detection = if event.timeout {
            Detection::Timeout
        } else {
            Detection::Duplicates
        };
        let loss = LossEvent::new(now, detection, event.mss)
            .first(acknowledged)
            .in_flight(u64::from(event.lost) * u64::from(event.mss))
            .window(window);
        let seen = signals.clone().on_loss(&loss);
        let decision = if event.lost > 0 {
            let ssthresh = if event.starting { u64::MAX } else { window };
            controller.set_window(window, ssthresh);
            signals.on_loss(&loss);
            controller.decide(&loss)
        } else {
            let mut about = [0; COUNT];
            let from = COUNT - trees::COUNT;
            about[from..].copy_from_slice(&seen.unwrap_or_default());
            Decision {
                cut: 1_000,
                evidence: Some(about),
            }
        };
        let own = decision.evidence.as_ref().map_or(0, evidence::log_odds);
        let odds = [
            seen.as_ref().map_or(i32::MIN, trees::log_odds),
            own - evidence::FIRST_CUT,
        ];
        let loss = Loss {
            evidence: decision.evidence.unwrap_or([0; COUNT]),
            cut: decision.cut as u32,
        };
        (loss, odds)
    };
    flow.iter().map(judge).collect()
}

#[test]
fn signals_and_cuts_are_the_librarys() {
    let program = compiled("signals");
    let (mut known, mut cuts) = (0, [0; 3]);
    for seed in 0..16 {
        let flow = flow(seed, 30_000);
        let library = judged(&flow);
        let told = flow.iter().zip(&library);
        let bytes: Vec<u8> = told
            .flat_map(|(event, (_, odds))| event.bytes(*odds))
            .collect();
        let heard = Path::new(env!("CARGO_TARGET_TMPDIR")).join("whyloss-events");
        std::fs::write(&heard, bytes).unwrap();
        let output = Command::new(&program)
            .stdin(Stdio::from(std::fs::File::open(&heard).unwrap()))
            .output()
            .unwrap();
        assert!(output.status.success());
        let ours = output.stdout.chunks_exact(2 * COUNT + 4).map(|bytes| {
            let number = |at: usize| i16::from_ne_bytes([bytes[2 * at], bytes[2 * at + 1]]);
            Loss {
                evidence: std::array::from_fn(number),
                cut: u32::from_ne_bytes(*bytes.last_chunk().unwrap()),
            }
        });
        assert_eq!(ours.len(), library.len());
        for (index, (ours, (library, _))) in ours.zip(library).enumerate() {
            assert_eq!(ours, library, "event {index} of flow {seed}");
            known += usize::from(library.evidence != [0; COUNT]);
            cuts[usize::from(library.cut > 0) + usize::from(library.cut == 1_000)] += 1;
        }
    }
    // The comparison needs flows with such losses.
    assert!(
        known > 300_000 && cuts[0] > 100 && cuts[1] > 10,
        "{known} {cuts:?}"
    );
}
