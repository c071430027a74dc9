//! Prints the loss and error rates of each plausible reading of the CDMA channel next to Table 1 of
//! Cen, Cosman and Voelker (2002).
//!
//! usage: `cargo run --release -p whyloss-cdma --example readings [TRIALS [READING]]` (by default,
//! 100 trials as in the paper, and all readings)

use whyloss_cdma::{Convolution, Energy, Interference, Level, Parameters, Received, Trial};
use whyloss_link::Streams;

type Reading = (&'static str, fn(&mut Parameters));

/// The readings. The first ones change one point each; the others combine changes that move the
/// loss in the same direction.
const READINGS: [Reading; 23] = [
    ("as taken", |_| ()),
    ("E_b per code bit", |p| p.energy = Energy::PerCodeBit),
    ("E_b on each path", |p| p.received = Received::OnEachPath),
    ("no interference", |p| p.interference = Interference::None),
    ("own paths do not interfere", |p| {
        p.interference = Interference::OtherUsers;
    }),
    ("N chips per information bit", |p| p.spreading_gain /= 2),
    ("T_c an information bit", |p| p.doppler /= 2.0),
    ("T_c a chip", by_chip),
    ("fixed bandwidth", fixed_bandwidth),
    ("interleaver of 32 columns", |p| {
        p.interleaver_columns = Some(32);
    }),
    ("memory 4", |p| p.code = Convolution::Memory4),
    ("memory 8", |p| p.code = Convolution::Memory8),
    ("E_b per code bit; no interference", |p| {
        p.energy = Energy::PerCodeBit;
        p.interference = Interference::None;
    }),
    ("E_b per code bit; memory 8", |p| {
        p.energy = Energy::PerCodeBit;
        p.code = Convolution::Memory8;
    }),
    ("E_b per code bit; 32 columns", |p| {
        p.energy = Energy::PerCodeBit;
        p.interleaver_columns = Some(32);
    }),
    ("E_b per code bit; memory 8; 32 columns", |p| {
        p.energy = Energy::PerCodeBit;
        p.code = Convolution::Memory8;
        p.interleaver_columns = Some(32);
    }),
    ("E_b per code bit; fixed bandwidth", |p| {
        p.energy = Energy::PerCodeBit;
        fixed_bandwidth(p);
    }),
    ("E_b per code bit; T_c a chip", |p| {
        p.energy = Energy::PerCodeBit;
        by_chip(p);
    }),
    ("E_b on each path; memory 4", |p| {
        p.received = Received::OnEachPath;
        p.code = Convolution::Memory4;
    }),
    ("E_b on each path; memory 4; 32 columns", |p| {
        p.received = Received::OnEachPath;
        p.code = Convolution::Memory4;
        p.interleaver_columns = Some(32);
    }),
    ("E_b on each path; T_c an information bit", |p| {
        p.received = Received::OnEachPath;
        p.doppler /= 2.0;
    }),
    ("E_b on each path; N chips per information bit", |p| {
        p.received = Received::OnEachPath;
        p.spreading_gain /= 2;
    }),
    (
        "E_b on each path; N chips per information bit; 32 columns",
        |p| {
            p.received = Received::OnEachPath;
            p.spreading_gain /= 2;
            p.interleaver_columns = Some(32);
        },
    ),
];

/// Takes f_D·T_c as a value per chip; a code bit lasts N chips.
fn by_chip(p: &mut Parameters) {
    p.doppler *= f64::from(p.spreading_gain);
}

/// Keeps the chip rate: at gain 32, a code bit lasts twice as long, and 2.62e-4 holds for gain 16.
fn fixed_bandwidth(p: &mut Parameters) {
    p.doppler *= f64::from(p.spreading_gain) / 16.0;
}

const LEVELS: [(Level, &str); 3] = [
    (Level::High, "high"),
    (Level::Medium, "medium"),
    (Level::Low, "low"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trials = match std::env::args().nth(1) {
        Some(count) => count.parse()?,
        None => 100,
    };
    println!(
        "| reading | level | packets lost | ± | bit errors | bursts of 1 | of 2 | of 3 or more |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    println!("| paper | high | 7.8 % | | 8.7e-5 | | about 25 % | very few |");
    println!("| paper | medium | 3.1 % | | 2.8e-5 | | | |");
    println!("| paper | low | 1.0 % | | 7.1e-6 | | | |");
    let only = std::env::args().nth(2);
    for (reading, change) in READINGS {
        if only.as_ref().is_some_and(|only| only != reading) {
            continue;
        }
        for (level, name) in LEVELS {
            let mut parameters = Parameters::cen(level);
            change(&mut parameters);
            println!(
                "| {reading} | {name} | {} |",
                summary(&run(&parameters, trials)?)
            );
        }
    }
    Ok(())
}

/// Returns the trials of one channel, on all cores; trial i draws from stream i.
fn run(parameters: &Parameters, trials: u64) -> Result<Vec<Trial>, Box<dyn std::error::Error>> {
    parameters.check()?;
    let threads = std::thread::available_parallelism()?.get() as u64;
    let mut results = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                scope.spawn(move || {
                    let mine = (worker..trials).step_by(threads as usize);
                    mine.map(|i| {
                        let random = Streams::new(1).stream("cdma", i);
                        Ok((i, parameters.trial(Parameters::CEN_SLOTS, random)?))
                    })
                    .collect::<Result<Vec<_>, whyloss_link::channel::ChannelError>>()
                })
            })
            .collect();
        let joined = workers.into_iter().map(|worker| {
            worker
                .join()
                .map_err(|_| "a worker died")?
                .map_err(Box::from)
        });
        joined.collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()
    })?
    .concat();
    results.sort_unstable_by_key(|(i, _)| *i);
    Ok(results.into_iter().map(|(_, trial)| trial).collect())
}

/// Returns the loss rate with its standard error over trials, the bit error rate, and the shares of
/// bursts of 1, 2 and more packets.
fn summary(trials: &[Trial]) -> String {
    let rates: Vec<f64> = trials
        .iter()
        .map(|trial| {
            trial.lost.iter().filter(|&&lost| lost).count() as f64 / trial.lost.len() as f64
        })
        .collect();
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let squares: f64 = rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum();
    let error = (squares / (n - 1.0) / n).sqrt();
    let bit_errors: u64 = trials.iter().map(|trial| trial.bit_errors).sum();
    let bits: u64 = trials.iter().map(|trial| trial.bits).sum();
    let mut bursts = [0.0; 3];
    for trial in trials {
        for run in trial.lost.chunk_by(|a, b| a == b).filter(|run| run[0]) {
            bursts[run.len().min(3) - 1] += 1.0;
        }
    }
    let all: f64 = bursts.iter().sum();
    let [one, two, more] = bursts.map(|count| 100.0 * count / all);
    format!(
        "{:.2} % | {:.2} | {:.1e} | {one:.1} % | {two:.1} % | {more:.1} %",
        100.0 * mean,
        100.0 * error,
        bit_errors as f64 / bits as f64
    )
}
