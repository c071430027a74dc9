//! Compares the estimator with a copy that receives the true causes of loss, on networks that were
//! not used to choose any parameter.

use crate::path::{Channel, Full, Path};
use crate::peers::{Peer, Theirs, Whyloss};
use crate::run;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::Arc;

const NETWORKS: u64 = 40;
const DURATION: f64 = 40.0;

/// Reads the column `received` of a recording; each line is a link.
fn recordings(file: &str) -> Result<Vec<Arc<[bool]>>, String> {
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let bits = |line: &str| {
        let bits: Arc<[bool]> = line
            .rsplit(',')
            .next()?
            .chars()
            .map(|bit| bit == '1')
            .collect();
        let lost = bits.iter().filter(|received| !**received).count();
        // Keep links that lose at most a fifth of their packets; a call cannot work on others.
        (lost > 0 && 5 * lost <= bits.len()).then_some(bits)
    };
    let links: Vec<_> = text.lines().skip(1).filter_map(bits).collect();
    if links.is_empty() {
        return Err(format!(
            "{file} has no link that loses up to a fifth of its packets"
        ));
    }
    Ok(links)
}

pub(crate) fn judge(file: Option<&str>) -> Result<(), String> {
    let links = file.map(recordings).transpose()?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3_117);
    let mut draw = move || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    println!(
        "| Mbit/s | one way | queue | channel | GCC | told | judged | of told | queue told | judged |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let (mut shares, mut queues) = (Vec::new(), Vec::new());
    for number in 0..NETWORKS {
        let capacity = 0.5e6 * 100_f64.powf(draw());
        let seconds = 0.05 * 20_f64.powf(draw());
        let (share, length) = (0.005 + 0.145 * draw(), 1.0 + 9.0 * draw());
        let (channel, name) = match &links {
            Some(links) => {
                let link = (draw() * links.len() as f64) as usize;
                (
                    Channel::Recorded(links[link].clone()),
                    format!("link {link}"),
                )
            }
            None if number % 2 == 0 => (Channel::Random(share), format!("{:.1} %", 100.0 * share)),
            None => (
                Channel::Bursts(share, length),
                format!("{:.1} % by {length:.1}", 100.0 * share),
            ),
        };
        let path = Path {
            propagation: 0.005 + 0.095 * draw(),
            full: Full::Waiting(seconds * capacity),
            jitter: if number % 4 < 2 { 0.0 } else { 0.010 * draw() },
            channel,
            ..Path::new(capacity)
        };
        let run = |peer: &mut dyn Peer| {
            let outcome = run::run(&path, DURATION, 9_400 + number, peer);
            let (from, to) = outcome.tail();
            (outcome.used(from, to), outcome.waits((from, to)).1)
        };
        let gcc = run(&mut Theirs::new(300e3, crate::LEAST, crate::MOST)).0;
        let (told, told_queue) = run(&mut Whyloss::new(300e3, true));
        let (judged, queue) = run(&mut Whyloss::new(300e3, false));
        println!(
            "| {:.1} | {:.0} ms | {:.0} ms | {name} | {:.0} % | {:.0} % | {:.0} % | {:.2} | {:.0} ms | {:.0} ms |",
            capacity / 1e6,
            1e3 * path.propagation,
            1e3 * seconds,
            100.0 * gcc,
            100.0 * told,
            100.0 * judged,
            judged / told,
            1e3 * told_queue,
            1e3 * queue,
        );
        shares.push(judged / told);
        queues.push((queue, told_queue));
    }
    let count =
        |holds: &dyn Fn(usize) -> bool| (0..shares.len()).filter(|at| holds(at.to_owned())).count();
    println!(
        "\nof told: mean {:.3}, least {:.3}; at least 0.93 in {} of {NETWORKS}; p95 of queue at most 1.1 times in {}, or by no more than 5 ms above in {}",
        shares.iter().sum::<f64>() / shares.len() as f64,
        shares.iter().copied().fold(f64::INFINITY, f64::min),
        count(&|at| shares[at] >= 0.93),
        count(&|at| queues[at].0 <= 1.1 * queues[at].1),
        count(&|at| queues[at].0 <= (1.1 * queues[at].1).max(queues[at].1 + 0.005)),
    );
    Ok(())
}
