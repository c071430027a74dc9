//! Prints the table of `docs/evidence/diagnosis.md`.

use whyloss::Cause;
use whyloss_diagnose::classifiers::{receivers, senders};
use whyloss_diagnose::loss::Side;

use crate::{Found, PLACES, QUIC, Score};

pub(crate) fn print(scores: &[Score], found: &[Found]) {
    let networks = scores.iter().filter(|score| score.place == 0).count();
    println!("{networks} networks\n");
    finding(scores, found);
    vantages(scores);
    for side in [Side::Beyond, Side::Before] {
        causes(found, side);
    }
    quic(found);
    calibration(found);
    by_controller(found);
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
        "| capture | losses | lost | recall % | without a trace | recall of the others % | precision % | lost again | recall % |\n\
         |---|---|---|---|---|---|---|---|---|"
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
            let traceless: u64 = scores
                .iter()
                .filter(|s| s.place == place)
                .map(|s| s.traceless)
                .sum();
            let (traceless, of_others) = if side == Side::Before {
                (traceless.to_string(), percent(of(1), of(0) - traceless))
            } else {
                Default::default()
            };
            let again =
                (side == Side::Beyond).then(|| (again(0).to_string(), percent(again(1), again(0))));
            let (many, recall) = again.unwrap_or_default();
            println!(
                "| {name} | {} | {} | {} | {traceless} | {of_others} | {} | {many} | {recall} |",
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

/// The number of losses of each cause, and of those called the other cause.
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
            .filter(move |one| one.side == side && one.place != QUIC)
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

/// Prints the verdicts on losses that QUIC senders logged.
fn quic(found: &[Found]) {
    let mine = || found.iter().filter(|one| one.place == QUIC);
    let right = mine().filter(|one| one.truth.is_some()).count() as u64;
    println!(
        "Losses in QUIC's logs: precision {} % of {}\n",
        percent(right, mine().count() as u64),
        mine().count()
    );
    println!(
        "| classifier | answers % | accuracy % | Mc % | Mw % | losses |\n|---|---|---|---|---|---|"
    );
    let print = |name: &str, verdict: &dyn Fn(&Found) -> Option<Cause>| {
        let mut matrix = Matrix::default();
        let known = mine().filter_map(|one| Some((one, one.truth?)));
        known.for_each(|(one, truth)| matrix.add(truth, verdict(one)));
        matrix.print(name);
    };
    print("(always congestion)", &|_| Some(Cause::Congestion));
    for (index, entry) in senders().enumerate() {
        print(entry.id, &|one| one.votes.of(index));
    }
    print("**combined**", &|one| Some(one.verdict?.cause));
    println!();
}

/// The kinds of losses whose confidence is checked: TCP beyond and before the point of capture, and
/// QUIC.
const KINDS: [&str; 3] = ["beyond", "before", "QUIC"];

fn kind(one: &Found) -> usize {
    match (one.place == QUIC, one.side) {
        (true, _) => 2,
        (false, Side::Before) => 1,
        (false, Side::Beyond) => 0,
    }
}

/// Returns the number of verdicts, the share of correct ones, and the mean confidence.
fn right<'a>(found: impl Iterator<Item = &'a Found>) -> String {
    let (mut all, mut right, mut sum) = (0_u64, 0_u64, 0.0);
    for one in found {
        if let (Some(truth), Some(sure)) = (one.truth, one.verdict) {
            all += 1;
            right += u64::from(sure.cause == truth);
            sum += sure.confidence;
        }
    }
    if all == 0 {
        return "0 | – | –".to_owned();
    }
    let mean = 100.0 * sum / all as f64;
    format!("{all} | {} | {mean:.1}", percent(right, all))
}

fn heading(first: &str) {
    let columns = KINDS.map(|kind| format!(" {kind}: losses | right % | mean confidence % |"));
    println!("| {first} |{}\n|---|{}", columns.concat(), "---|".repeat(9));
}

fn calibration(found: &[Found]) {
    heading("confidence");
    let bins = [0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0001];
    for bin in bins.windows(2) {
        let cells = [0, 1, 2].map(|of| {
            right(found.iter().filter(|one| {
                kind(one) == of
                    && one
                        .verdict
                        .is_some_and(|sure| (bin[0]..bin[1]).contains(&sure.confidence))
            }))
        });
        println!(
            "| {:.0}–{:.0} % | {} |",
            bin[0] * 100.0,
            bin[1].min(1.0) * 100.0,
            cells.join(" | ")
        );
    }
    println!();
}

/// Prints verdicts of at least 90 % confidence, by controller and by verdict.
fn by_controller(found: &[Found]) {
    heading("90 % sure and more");
    for controller in ["reno", "cubic", "bbr"] {
        for cause in [Cause::Congestion, Cause::Wireless] {
            let cells = [0, 1, 2].map(|of| {
                right(found.iter().filter(|one| {
                    kind(one) == of
                        && one.controller == controller
                        && one
                            .verdict
                            .is_some_and(|sure| sure.cause == cause && sure.confidence >= 0.9)
                }))
            });
            println!("| {controller}, {cause:?} | {} |", cells.join(" | "));
        }
    }
    println!();
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
            traceless,
        } = score;
        println!(
            "{} {network:?} {controller} {vantage:?} before {:?} beyond {:?} again {again:?} spurious {spurious} traceless {traceless}",
            PLACES[*place].0, originals[0], originals[1]
        );
    }
}
