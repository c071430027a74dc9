//! Formats a diagnosis as one self-contained page: each flow over time, with its losses coloured by
//! verdict.

use whyloss::Cause;
use whyloss_study::report::page::{Entry, Page, Table};
use whyloss_study::{Figure, Look, Panel, Series, Sign};

use super::{score, summary};
use crate::Diagnosis;
use crate::flow::Flow;
use crate::loss::{Loss, Side};
use crate::track::Point;

/// The maximum number of flows drawn. Those with the most losses are chosen.
const MOST_DRAWN: usize = 12;
/// The minimum number of packets for which a flow without losses is drawn.
const DRAWN_FROM: u64 = 100;
/// The number of positions along the time axis. Losses of one kind at one position become one mark.
const PLACES: u64 = 600;
/// The time without a packet that breaks a line of delays, as a share of the flow's duration.
const GAP: f64 = 1.0 / 40.0;
/// The verdicts on a loss, and their names.
const KINDS: [(Option<Cause>, &str); 3] = [
    (Some(Cause::Congestion), "lost: congestion"),
    (Some(Cause::Wireless), "lost: wireless"),
    (None, "lost, cannot tell"),
];

/// Returns the HTML page and its figures. Set `annotated` if the capture with comments is in the
/// same directory.
pub fn page(diagnosis: &Diagnosis, title: &str, annotated: bool) -> (String, Vec<Figure>) {
    let mut page = Page::new(&format!("Why packets died: {title}"));
    page.section("flows", "Flows");
    let flows = diagnosis.worst(None, MOST_DRAWN);
    page.table(&table(&flows));
    let mut notes = diagnosis.notes.clone();
    if flows.len() < diagnosis.flows.len() {
        notes.push(format!(
            "{} flows that lost no more are not shown",
            diagnosis.flows.len() - flows.len()
        ));
    }
    if let Some(partial) = &diagnosis.partial {
        notes.push(format!("partial: {partial}; this is what came before"));
    }
    notes.push("captured: where along the flow's way; ?: the cause is unclear".to_owned());
    page.notes(&notes);
    let mut figures = Vec::new();
    let drawn = |flow: &&Flow| !flow.losses.is_empty() || flow.counts.data_packets >= DRAWN_FROM;
    for flow in flows.into_iter().filter(drawn) {
        let id = format!("flow-{}", flow.number);
        page.section(&id, &title_of(flow));
        page.text(&summary::paragraph(flow));
        for figure in pictures(flow, &id) {
            page.figure_with_file(&figure);
            figures.push(figure);
        }
        if !flow.cannot_tell.is_empty() {
            let cannot = flow.cannot_tell.iter();
            page.notes(
                &cannot
                    .map(|what| format!("cannot tell {what}"))
                    .collect::<Vec<_>>(),
            );
        }
    }
    if let Some(told) = &diagnosis.score {
        page.section("truth", "Beside the network's log");
        page.text(&format!("{}.", score::sentence(told)));
        let mut table = Table::new(score::COLUMNS);
        for row in score::rows(told) {
            table.row(row.map(Entry::from));
        }
        page.table(&table);
    }
    let capture = (
        "annotated.pcapng",
        "the capture with a comment at each lost packet; in Wireshark, filter by `frame.comment`",
    );
    let tables = [
        (
            "diagnosis.json",
            "all numbers, and every loss with the answer of every classifier",
        ),
        (
            "losses.csv",
            "every loss with the answer of every classifier",
        ),
    ];
    page.files(tables.into_iter().chain(annotated.then_some(capture)));
    let html = page.finish(&format!(
        "Written by whyloss {}.",
        env!("CARGO_PKG_VERSION")
    ));
    (html, figures)
}

fn title_of(flow: &Flow) -> String {
    format!("Flow {}", name_of(flow))
}

fn name_of(flow: &Flow) -> String {
    let number = flow.number;
    match flow.names() {
        [name, to] if to.is_empty() => format!("{number}: {name}"),
        [source, destination] => format!("{number}: {source} to {destination}"),
    }
}

fn table(flows: &[&Flow]) -> Table {
    let mut table = Table::new([
        "flow",
        "",
        "captured",
        "packets",
        "lost",
        "congestion",
        "wireless",
        "?",
        "Mbit/s",
        "base RTT, ms",
    ]);
    for flow in flows {
        let causes = flow.portrait.by_cause;
        let count = |count: u64| Entry::from(count.to_string());
        let real =
            |real: Option<f64>| real.map_or(Entry::from("–"), |real| format!("{real:.1}").into());
        table.row([
            name_of(flow).into(),
            flow.protocol.name().into(),
            flow.vantage.place().into(),
            count(flow.counts.data_packets),
            count(causes.total()),
            count(causes.congestion),
            count(causes.wireless),
            count(causes.unknown),
            real(flow.portrait.mean_mbps),
            real(flow.portrait.base_rtt_ms),
        ]);
    }
    table
}

/// Draws deliveries and delay over time, with the losses on both. Two separate figures remain
/// readable on a telephone.
fn pictures(flow: &Flow, id: &str) -> Vec<Figure> {
    let start = flow.span.0;
    let seconds = |time: u64| time.saturating_sub(start) as f64 / 1e9;
    let mut figures = Vec::new();
    let delivered: Vec<(f64, f64)> = flow
        .delivered
        .points()
        .map(|point| (seconds(point.time), point.mean / 1000.0))
        .collect();
    if delivered.len() > 1 {
        let mut series = vec![Series::new("delivered", Look::Line, delivered)];
        series.extend(marks(flow, |loss| {
            flow.delivered.at(loss.time).map(|kb| kb / 1000.0)
        }));
        figures.push(Figure::of(
            &format!("{id}-delivered"),
            "What was delivered over time. A mark is a lost packet.",
            Panel::new("", ("time, s", "delivered, MB"), series),
        ));
    }
    let least = flow
        .delays
        .points()
        .map(|point| point.low)
        .min()
        .unwrap_or(0);
    let above = |micros: f64| (micros - f64::from(least)).max(0.0) / 1000.0;
    let points: Vec<Point> = flow.delays.points().collect();
    if points.len() > 1 {
        let gap = seconds(flow.span.1) * GAP;
        let mean = points
            .iter()
            .map(|point| (seconds(point.time), above(point.mean)));
        let range = points.iter().map(|point| {
            (
                seconds(point.time),
                above(point.low.into()),
                above(point.high.into()),
            )
        });
        let mut series = vec![
            Series::new("mean", Look::Line, mean).broken(gap),
            Series::band("least to most", range).broken(gap),
        ];
        series.extend(marks(flow, |loss| {
            let around = loss.around.before.map(f64::from);
            around.or_else(|| flow.delays.at(loss.time)).map(above)
        }));
        figures.push(Figure::of(
            &format!("{id}-delay"),
            "The delay over time. A mark is a lost packet, at the delay of those just before it.",
            Panel::new("", ("time, s", "delay above the least, ms"), series),
        ));
    }
    figures
}

/// Returns the losses by verdict, each at the height that `height` returns.
fn marks(flow: &Flow, height: impl Fn(&Loss) -> Option<f64>) -> Vec<Series> {
    let span = flow.span.1.saturating_sub(flow.span.0).max(1);
    let kinds = KINDS.into_iter().filter_map(|(cause, name)| {
        let sign = Sign::of_loss(cause, cause);
        let losses = flow
            .losses
            .iter()
            .filter(|loss| loss.verdict.map(|verdict| verdict.cause) == cause);
        let mut last = None;
        let points: Vec<(f64, f64)> = losses
            .filter_map(|loss| {
                let since = loss.time.saturating_sub(flow.span.0);
                let place = (
                    u128::from(since) * u128::from(PLACES) / u128::from(span),
                    loss.side == Side::Before,
                );
                if last.replace(place) == Some(place) {
                    return None;
                }
                Some((since as f64 / 1e9, height(loss)?))
            })
            .collect();
        (!points.is_empty()).then(|| Series::new(name, Look::Signs(sign), points))
    });
    kinds.collect()
}
