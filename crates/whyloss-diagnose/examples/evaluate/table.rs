//! The table of `docs/diagnosis.md`.

use whyloss::Cause;
use whyloss_diagnose::classifiers::{receivers, senders};
use whyloss_diagnose::loss::Side;

use crate::{Found, PLACES, Score};

pub(crate) fn print(scores: &[Score], found: &[Found]) {
    let networks = scores.iter().filter(|score| score.place == 0).count();
    println!("{networks} networks\n");
    finding(scores, found);
    vantages(scores);
    for side in [Side::Beyond, Side::Before] {
        causes(found, side);
    }
    calibration(found);
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        "–".to_owned()
    } else {
        format!("{:.2}", 100.0 * part as f64 / whole as f64)
    }
}

fn finding(scores: &[Score], found: &[Found]) {
    println!(
        "| capture | losses | lost | recall % | precision % | lost again | recall % |\n|---|---|---|---|---|---|---|"
    );
    for (place, (_, name)) in PLACES.iter().enumerate() {
        for (index, side) in [Side::Before, Side::Beyond].into_iter().enumerate() {
            let of = |what: usize| -> u64 {
                scores
                    .iter()
                    .filter(|s| s.place == place)
                    .map(|s| s.originals[index][what])
                    .sum()
            };
            let again = |what: usize| -> u64 {
                scores
                    .iter()
                    .filter(|s| s.place == place)
                    .map(|s| s.again[what])
                    .sum()
            };
            let mine = || {
                found
                    .iter()
                    .filter(|one| one.place == place && one.side == side)
            };
            let (true_, all) = (
                mine().filter(|one| one.truth.is_some()).count() as u64,
                mine().count() as u64,
            );
            if of(0) + all == 0 {
                continue;
            }
            let again =
                (side == Side::Beyond).then(|| (again(0).to_string(), percent(again(1), again(0))));
            let (many, recall) = again.unwrap_or_default();
            println!(
                "| {name} | {} | {} | {} | {} | {many} | {recall} |",
                if side == Side::Before {
                    "before it"
                } else {
                    "beyond it"
                },
                of(0),
                percent(of(1), of(0)),
                percent(true_, all),
            );
        }
    }
    println!();
    println!("| controller | lost | recall % |\n|---|---|---|");
    for controller in ["reno", "cubic", "bbr"] {
        let of = |what: usize| -> u64 {
            let mine = scores
                .iter()
                .filter(|s| s.controller == controller && s.place == 0);
            mine.map(|s| s.originals[1][what] + s.again[what]).sum()
        };
        println!("| {controller} | {} | {} |", of(0), percent(of(1), of(0)));
    }
    println!();
}

fn vantages(scores: &[Score]) {
    println!("| capture | sender | between | receiver | unknown |\n|---|---|---|---|---|");
    for (place, (_, name)) in PLACES.iter().enumerate() {
        let many = |vantage| {
            scores
                .iter()
                .filter(|s| s.place == place && s.vantage.name() == vantage)
                .count()
        };
        let [a, b, c, d] = ["sender", "between", "receiver", "unknown"].map(many);
        println!("| {name} | {a} | {b} | {c} | {d} |");
    }
    println!();
}

/// Losses of each cause, and how many of them were called the other.
#[derive(Default)]
struct Matrix {
    congestion: [u64; 2],
    wireless: [u64; 2],
    silent: u64,
}

impl Matrix {
    fn add(&mut self, truth: Cause, verdict: Option<Cause>) {
        let Some(verdict) = verdict else {
            self.silent += 1;
            return;
        };
        let row = if truth == Cause::Congestion {
            &mut self.congestion
        } else {
            &mut self.wireless
        };
        row[0] += 1;
        row[1] += u64::from(verdict != truth);
    }

    fn print(&self, name: &str) {
        let all = self.congestion[0] + self.wireless[0];
        let wrong = self.congestion[1] + self.wireless[1];
        println!(
            "| {name} | {} | {} | {} | {} | {} |",
            percent(all, all + self.silent),
            percent(all - wrong, all),
            percent(self.congestion[1], self.congestion[0]),
            percent(self.wireless[1], self.wireless[0]),
            all,
        );
    }
}

fn causes(found: &[Found], side: Side) {
    let losses = || {
        found
            .iter()
            .filter(move |one| one.side == side)
            .filter_map(|one| Some((one, one.truth?)))
    };
    let (name, ids): (_, Vec<&str>) = match side {
        Side::Beyond => ("beyond", senders().map(|entry| entry.id).collect()),
        Side::Before => ("before", receivers().map(|entry| entry.id).collect()),
    };
    println!("Losses {name} the point of capture\n");
    println!(
        "| classifier | answers % | accuracy % | Mc % | Mw % | losses |\n|---|---|---|---|---|---|"
    );
    let score = |verdict: &dyn Fn(&Found) -> Option<Cause>| {
        let mut matrix = Matrix::default();
        losses().for_each(|(one, truth)| matrix.add(truth, verdict(one)));
        matrix
    };
    score(&|_| Some(Cause::Congestion)).print("(always congestion)");
    for (index, id) in ids.iter().enumerate() {
        score(&|one| one.votes.of(index)).print(id);
    }
    score(&|one| Some(one.verdict?.cause)).print("**combined**");
    for (place, (_, name)) in PLACES.iter().enumerate() {
        let mut matrix = Matrix::default();
        losses()
            .filter(|(one, _)| one.place == place)
            .for_each(|(one, truth)| matrix.add(truth, one.verdict.map(|verdict| verdict.cause)));
        if matrix.congestion[0] + matrix.wireless[0] > 0 {
            matrix.print(&format!("combined, {name}"));
        }
    }
    println!();
}

fn calibration(found: &[Found]) {
    println!(
        "| confidence | beyond: losses | right % | mean confidence % | before: losses | right % | mean confidence % |\n|---|---|---|---|---|---|---|"
    );
    let bins = [0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0001];
    for bin in bins.windows(2) {
        let mut cells = Vec::new();
        for side in [Side::Beyond, Side::Before] {
            let (mut all, mut right, mut sum) = (0_u64, 0_u64, 0.0);
            for one in found.iter().filter(|one| one.side == side) {
                if let (Some(truth), Some(sure)) = (one.truth, one.verdict)
                    && (bin[0]..bin[1]).contains(&sure.confidence)
                {
                    all += 1;
                    right += u64::from(sure.cause == truth);
                    sum += sure.confidence;
                }
            }
            cells.push(format!(
                "{all} | {} | {:.1}",
                percent(right, all),
                100.0 * sum / all.max(1) as f64
            ));
        }
        println!(
            "| {:.0}–{:.0} % | {} | {} |",
            bin[0] * 100.0,
            bin[1].min(1.0) * 100.0,
            cells[0],
            cells[1]
        );
    }
}

pub(crate) fn print_each(scores: &[Score]) {
    for score in scores {
        let Score {
            place,
            network,
            controller,
            vantage,
            originals,
            again,
            spurious,
        } = score;
        println!(
            "{} {network} {controller} {vantage:?} before {:?} beyond {:?} again {again:?} spurious {spurious}",
            PLACES[*place].0, originals[0], originals[1]
        );
    }
}
