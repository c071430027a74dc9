//! Formats the score of a diagnosis against a network's own log.

use std::fmt::Write as _;

use serde_json::{Value, json};
use whyloss::{Cause, Confusion};

use crate::truth::Score;

/// The column names of [`rows`].
pub const COLUMNS: [&str; 5] = ["verdict", "losses", "accuracy %", "Mc %", "Mw %"];

/// Returns the share of losses found as a sentence.
pub fn sentence(score: &Score) -> String {
    if score.lost == [0; 2] && score.unfounded == 0 {
        return "classifiers at the receiver, on losses whose causes are known".to_owned();
    }
    let share = |index: usize| {
        let (found, lost) = (score.found[index], score.lost[index]);
        let percent = share(lost.checked_sub(1).map(|_| found as f64 / lost as f64));
        format!("{found} of {lost} ({percent} %)")
    };
    let mut text = format!(
        "found {} of the packets that the network lost first, {} of those sent again; {} that it does not know of",
        share(0),
        share(1),
        score.unfounded
    );
    if score.faults > 0 {
        let _ = write!(
            text,
            "; {} were lost by what measured, and count for nothing",
            score.faults
        );
    }
    if score.silent > 0 {
        let _ = write!(text, "; {} without a verdict", score.silent);
    }
    text
}

/// Returns a row for the combined verdict, then a row for each classifier that gave verdicts.
pub fn rows(score: &Score) -> Vec<[String; 5]> {
    let combined = [("combined", score.combined)];
    let all = combined
        .into_iter()
        .chain(score.classifiers.iter().copied());
    all.filter(|(_, confusion)| verdicts(confusion) > 0)
        .map(|(id, confusion)| {
            [
                id.to_owned(),
                verdicts(&confusion).to_string(),
                share(confusion.accuracy()),
                share(confusion.mc()),
                share(confusion.mw()),
            ]
        })
        .collect()
}

/// Appends the score as text.
pub(super) fn render(text: &mut String, score: &Score) {
    let rows = rows(score);
    if rows.is_empty() && score.lost == [0; 2] && score.unfounded == 0 {
        return;
    }
    let _ = writeln!(text, "\nbeside the network's log: {}", sentence(score));
    if rows.is_empty() {
        return;
    }
    let [first, rest @ ..] = COLUMNS;
    let mut line = |cells: [&str; 5]| {
        let [id, rest @ ..] = cells;
        let _ = write!(text, "  {id:<14}");
        for cell in rest {
            let _ = write!(text, "{cell:>12}");
        }
        text.push('\n');
    };
    line([first, rest[0], rest[1], rest[2], rest[3]]);
    for row in &rows {
        line(row.each_ref().map(String::as_str));
    }
}

/// Returns the score as JSON.
pub(super) fn json(score: &Score) -> Value {
    let of = |confusion: &Confusion| {
        let (c, w) = (Cause::Congestion, Cause::Wireless);
        json!({
            "congestion": {"congestion": confusion.count(c, c), "wireless": confusion.count(c, w)},
            "wireless": {"congestion": confusion.count(w, c), "wireless": confusion.count(w, w)},
            "accuracy": confusion.accuracy(),
            "mc": confusion.mc(),
            "mw": confusion.mw(),
        })
    };
    let classifiers = score.classifiers.iter();
    let classifiers = classifiers.filter(|(_, confusion)| verdicts(confusion) > 0);
    json!({
        "lost": {"first": score.lost[0], "again": score.lost[1]},
        "found": {"first": score.found[0], "again": score.found[1]},
        "unfounded": score.unfounded,
        "faults": score.faults,
        "silent": score.silent,
        "combined": of(&score.combined),
        "classifiers": classifiers
            .map(|(id, confusion)| ((*id).to_owned(), of(confusion)))
            .collect::<serde_json::Map<_, _>>(),
    })
}

fn verdicts(confusion: &Confusion) -> u64 {
    confusion.total(Cause::Congestion) + confusion.total(Cause::Wireless)
}

fn share(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.1}", share * 100.0))
}
