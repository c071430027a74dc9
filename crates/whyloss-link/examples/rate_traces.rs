//! Makes the packet-delivery traces of `scenarios/traces`, in mahimahi's format. A Markov process
//! draws their rates.
//!
//! usage: `cargo run -p whyloss-link --example rate_traces DIR`
//!
//! ```text
//! state k       rate r_k for an exponential time of mean m_k; then one of the other states, with equal probability
//! mean rate     Σ r_k·m_k / Σ m_k, in the long run
//! each ms       r_k · 1 ms / 12 000 bit more opportunities; the fraction is kept
//! ```
//!
//! The rates and times are this project's own choice, in the range that people report for such
//! links. Recordings of a real link, such as mahimahi's own, can replace these traces.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use whyloss_link::{Random, Streams};

/// The length of a trace in milliseconds, after which it begins again.
const LENGTH: u32 = 30_000;

/// The number of bits that an opportunity sends.
const OPPORTUNITY: f64 = 12_000.0;

/// A kind of link: its states with their rates in Mbit/s and mean times in ms.
struct Kind {
    name: &'static str,
    states: &'static [(f64, f64)],
}

const KINDS: [Kind; 5] = [
    // A stationary user whose neighbours join and leave.
    Kind {
        name: "lte-still",
        states: &[(9.0, 2_000.0), (6.0, 2_000.0), (4.0, 1_000.0)],
    },
    // A user in a car: states change within seconds, with short outages.
    Kind {
        name: "lte-driving",
        states: &[(10.0, 1_000.0), (5.0, 1_000.0), (1.5, 800.0), (0.0, 150.0)],
    },
    // The previous generation of mobile networks.
    Kind {
        name: "hspa",
        states: &[(3.0, 1_500.0), (1.2, 1_500.0), (0.4, 700.0)],
    },
    // A shared channel whose stations take turns of a few tens of milliseconds.
    Kind {
        name: "wifi-busy",
        states: &[(12.0, 40.0), (3.0, 60.0), (0.0, 10.0)],
    },
    // Satellites: long states, changing rates, and occasional gaps.
    Kind {
        name: "leo",
        states: &[(8.0, 3_000.0), (5.0, 3_000.0), (0.0, 250.0)],
    },
];

impl Kind {
    /// Returns the times of opportunities in ms, one per line.
    fn trace(&self, mut random: Random) -> String {
        let (mut state, mut until, mut credit) = (0, 0.0, 0.0);
        let mut text = String::new();
        let mut last = 0;
        for now in 1..=LENGTH {
            while f64::from(now) > until {
                // Moves to another state, each with the same probability.
                let others = self.states.len() as u64 - 1;
                state = (state + 1 + random.below(others) as usize) % self.states.len();
                until += random.exponential(self.states[state].1);
            }
            credit += self.states[state].0 * 1e3 / OPPORTUNITY;
            while credit >= 1.0 {
                credit -= 1.0;
                last = now;
                let _ = writeln!(text, "{now}");
            }
        }
        // The last time is the trace's length.
        if last < LENGTH {
            let _ = writeln!(text, "{LENGTH}");
        }
        text
    }
}

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1) else {
        eprintln!("usage: rate_traces DIR");
        return ExitCode::from(2);
    };
    for (index, kind) in (0..).zip(&KINDS) {
        let random = Streams::new(1).stream("rate trace", index);
        let path = Path::new(&directory).join(format!("{}.trace", kind.name));
        if let Err(error) = fs::write(&path, kind.trace(random)) {
            eprintln!("cannot write {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
