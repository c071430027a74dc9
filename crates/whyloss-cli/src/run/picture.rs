//! Collects the data of a run's figures: means and extremes over short times, and the times of
//! losses.
//!
//! A [`Timeline`] takes a trace and keeps a fixed number of bins, however long the run. Losses of
//! one kind less than half a pixel apart become one mark.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use whyloss::{Cause, Time};
use whyloss_sim::trace::tables::{ARRIVALS, LINKS, LOSSES, SOURCES};
use whyloss_sim::trace::{Batch, Cell, Sink};
use whyloss_sim::{OutputError, Scenario};
use whyloss_study::outcome::{CAUSES, word};
use whyloss_study::{Figure, Look, Panel, Series, Sign};

/// The number of bins along the time axis, about one per pixel of a panel.
const BINS: usize = 320;
/// The length of time without a value that breaks a line, as a share of the run.
const GAP: f64 = 1.0 / 40.0;
/// The number of positions along the time axis where a loss can be marked.
const PLACES: usize = 800;

/// A timeline that a page may read while a run writes it.
#[derive(Clone, Debug)]
pub(super) struct Shared(Arc<Mutex<Timeline>>);

impl Shared {
    pub(super) fn new(timeline: Timeline) -> Self {
        Self(Arc::new(Mutex::new(timeline)))
    }

    /// Returns a copy of the timeline so far.
    pub(super) fn so_far(&self) -> Timeline {
        self.lock().clone()
    }

    /// Locks the timeline, even after a panic of another thread: rows are added one by one, so it
    /// is never inconsistent.
    fn lock(&self) -> MutexGuard<'_, Timeline> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Shared {
    fn write(&mut self, batch: &Batch) -> Result<(), OutputError> {
        self.lock().write(batch)
    }

    fn finish(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}

/// The time series of every flow and link.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    end_s: f64,
    flows: Vec<Flow>,
    links: Vec<Link>,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    name: String,
    window: Bins,
    threshold: Bins,
    in_flight: Bins,
    rate: Bins,
    rtt: Bins,
    rott: Bins,
    /// The number of bytes that arrived.
    received: Bins,
    /// For each position along the time axis: whether it has a loss of each of [`KINDS`].
    losses: Vec<[bool; KINDS.len()]>,
}

#[derive(Clone, Debug, Default)]
struct Link {
    name: String,
    bps: f64,
    /// The later rates that handovers set, each with its time in seconds.
    changes: Vec<(f64, f64)>,
    /// The initial time from a packet's last bit to its arrival, in seconds.
    delay_s: f64,
    waiting: Bins,
    /// The time spent in transmission, in seconds.
    busy: Bins,
    /// For each position along the time axis: whether a packet was lost for each of [`CAUSES`].
    losses: Vec<[bool; CAUSES.len()]>,
}

/// The sum, count and extremes of the values in each bin.
#[derive(Clone, Debug)]
struct Bins(Vec<Bin>);

#[derive(Clone, Copy, Debug)]
struct Bin {
    sum: f64,
    count: u32,
    low: f64,
    high: f64,
}

impl Default for Bins {
    fn default() -> Self {
        let empty = Bin {
            sum: 0.0,
            count: 0,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
        };
        Self(vec![empty; BINS])
    }
}

impl Bins {
    fn add(&mut self, part: f64, value: f64) {
        let bin = &mut self.0[((part * BINS as f64) as usize).min(BINS - 1)];
        bin.sum += value;
        bin.count += 1;
        bin.low = bin.low.min(value);
        bin.high = bin.high.max(value);
    }

    /// Distributes `value` over the bins of an interval, given as shares of the run.
    fn spread(&mut self, from: f64, to: f64, value: f64) {
        let (from, to) = (from.max(0.0) * BINS as f64, to * BINS as f64);
        let mut at = from;
        while at < to && at < BINS as f64 {
            let next = (at.floor() + 1.0).min(to);
            self.0[at as usize].sum += value * (next - at) / (to - from);
            at = next;
        }
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|bin| bin.count == 0)
    }

    /// Returns the bins with values, each with the time of its middle in seconds.
    fn known(&self, end_s: f64) -> impl Iterator<Item = (f64, &Bin)> {
        let middle = move |index: usize| (index as f64 + 0.5) / BINS as f64 * end_s;
        let bins = self.0.iter().enumerate();
        bins.filter(|(_, bin)| bin.count > 0)
            .map(move |(index, bin)| (middle(index), bin))
    }

    fn means(&self, end_s: f64, scale: f64) -> impl Iterator<Item = (f64, f64)> {
        self.known(end_s)
            .map(move |(at, bin)| (at, bin.sum / f64::from(bin.count) * scale))
    }

    fn range(&self, end_s: f64, scale: f64) -> impl Iterator<Item = (f64, f64, f64)> {
        self.known(end_s)
            .map(move |(at, bin)| (at, bin.low * scale, bin.high * scale))
    }

    /// Returns the middle of each bin, in s, and the bin's sum per second, times `scale`.
    fn per_second(&self, end_s: f64, scale: f64) -> impl Iterator<Item = (f64, f64)> {
        let bins = self.0.iter().enumerate();
        bins.map(move |(index, bin)| {
            let at = (index as f64 + 0.5) / BINS as f64 * end_s;
            (at, bin.sum * BINS as f64 / end_s * scale)
        })
    }
}

/// The kinds of losses: the true cause, and the classifier's verdict; `None` if it gave none.
const KINDS: [(Cause, Option<Cause>); 6] = [
    (Cause::Congestion, Some(Cause::Congestion)),
    (Cause::Congestion, Some(Cause::Wireless)),
    (Cause::Congestion, None),
    (Cause::Wireless, Some(Cause::Congestion)),
    (Cause::Wireless, Some(Cause::Wireless)),
    (Cause::Wireless, None),
];

/// Returns the name of a kind of loss.
fn name_of((truth, verdict): (Cause, Option<Cause>)) -> String {
    match verdict {
        Some(verdict) => format!("{}, called {}", word(truth), word(verdict)),
        None => format!("{}, not judged", word(truth)),
    }
}

impl Link {
    /// Returns the rate at this time in seconds.
    fn bps_at(&self, at: f64) -> f64 {
        let past = self.changes.iter().rev().find(|change| change.0 <= at);
        past.map_or(self.bps, |change| change.1)
    }
}

impl Timeline {
    /// Returns empty series for a scenario's flows and links.
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self::until(scenario, (scenario.end - Time::ZERO).as_secs_f64())
    }

    /// Returns empty series for a scenario's flows and links, for a run of `end_s` seconds.
    pub(crate) fn until(scenario: &Scenario, end_s: f64) -> Self {
        let flow = |flow: &whyloss_sim::scenario::Flow| Flow {
            name: flow.name.clone(),
            losses: vec![[false; KINDS.len()]; PLACES],
            ..Flow::default()
        };
        let link = |link: &whyloss_sim::scenario::Connection| Link {
            name: link.name.clone(),
            bps: link.link.rate.as_bps() as f64,
            changes: (link.link.handovers.iter())
                .filter_map(|change| Some((change.at.as_secs_f64(), change.rate?.as_bps() as f64)))
                .collect(),
            delay_s: link.link.delay.as_secs_f64(),
            losses: vec![[false; CAUSES.len()]; PLACES],
            ..Link::default()
        };
        Self {
            end_s,
            flows: scenario.flows.iter().map(flow).collect(),
            links: scenario.links.iter().map(link).collect(),
        }
    }

    fn source(&mut self, row: &[Cell]) {
        let Some((part, flow)) = self.place(row) else {
            return;
        };
        let flow = &mut self.flows[flow];
        let bins = [
            (&mut flow.window, row[2]),
            (&mut flow.threshold, row[3]),
            (&mut flow.in_flight, row[4]),
            (&mut flow.rate, row[5]),
        ];
        for (bins, cell) in bins {
            if let Some(value) = number(cell) {
                bins.add(part, value);
            }
        }
        // The latest sample if there is one, else the smoothed round-trip time.
        if let Some(rtt) = number(row[6]).or_else(|| number(row[7])) {
            flow.rtt.add(part, rtt);
        }
    }

    fn arrival(&mut self, row: &[Cell]) {
        if let (Some((part, flow)), Some(rott), Some(size)) =
            (self.place(row), number(row[3]), number(row[4]))
        {
            self.flows[flow].rott.add(part, rott);
            self.flows[flow].received.add(part, size);
        }
    }

    fn loss(&mut self, row: &[Cell], causes: &[String]) {
        let cause = |cell| match cell {
            Cell::Word(index) => match causes.get(index as usize).map(String::as_str) {
                Some(name) => CAUSES.into_iter().find(|&cause| word(cause) == name),
                None => None,
            },
            _ => None,
        };
        let (Some((part, flow)), Some(truth)) = (self.place(row), cause(row[4])) else {
            return;
        };
        let kind = (truth, cause(row[5]));
        let kind = KINDS.iter().position(|&known| known == kind);
        if let Some(kind) = kind {
            let place = ((part * PLACES as f64) as usize).min(PLACES - 1);
            self.flows[flow].losses[place][kind] = true;
        }
    }

    fn hop(&mut self, row: &[Cell], fates: &[String]) {
        let (Some((part, link)), Some(size), Some(waiting), Some(done)) = (
            self.place(row),
            number(row[3]),
            number(row[4]),
            number(row[6]),
        ) else {
            return;
        };
        let fate = match row[5] {
            Cell::Word(word) => fates.get(word as usize).map_or("", String::as_str),
            _ => "",
        };
        let link = &mut self.links[link];
        link.waiting.add(part, waiting);
        let cause = match fate {
            "congestion" => Some(0),
            "wireless" => Some(1),
            _ => None,
        };
        if let Some(cause) = cause {
            let place = ((part * PLACES as f64) as usize).min(PLACES - 1);
            link.losses[place][cause] = true;
        }
        // A packet lost on arrival used none of the link's time.
        if matches!(fate, "delivered" | "damaged") || (fate == "wireless" && row[6] != row[0]) {
            // The row of a packet that the channel corrupts has the time when its last bit leaves.
            // Other rows have the time when that bit arrives.
            let left = if fate == "wireless" {
                done
            } else {
                done - link.delay_s
            };
            let transmission = size * 8.0 / link.bps_at(left);
            let (start, end) = ((left - transmission) / self.end_s, left / self.end_s);
            link.busy.spread(start, end, transmission);
        }
    }

    /// Returns the time of a row as a share of the run, and the index of its flow or link.
    fn place(&self, row: &[Cell]) -> Option<(f64, usize)> {
        match (number(row[0]), row[1]) {
            (Some(time), Cell::Word(of)) => Some((time / self.end_s, of as usize)),
            _ => None,
        }
    }
}

fn number(cell: Cell) -> Option<f64> {
    match cell {
        Cell::Whole(value) => Some(value as f64),
        other => other.as_f64(),
    }
}

impl Sink for Timeline {
    fn write(&mut self, batch: &Batch) -> Result<(), OutputError> {
        let table = batch.table();
        for row in batch.rows() {
            if *table == SOURCES {
                self.source(row);
            } else if *table == ARRIVALS {
                self.arrival(row);
            } else if *table == LOSSES {
                self.loss(row, batch.words(4));
            } else if *table == LINKS {
                self.hop(row, batch.words(5));
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}

/// Returns the times in seconds of the positions with a loss of this kind.
fn times<const N: usize>(losses: &[[bool; N]], kind: usize, end_s: f64) -> Vec<f64> {
    let places = losses.iter().enumerate().filter(|(_, at)| at[kind]);
    places
        .map(|(place, _)| (place as f64 + 0.5) / PLACES as f64 * end_s)
        .collect()
}

/// Adds a row of loss marks for each kind, above all lines, so that the marks hide no line.
///
/// Each kind has a name, a sign and the times of its losses in seconds.
pub(crate) fn add_losses(
    series: &mut Vec<Series>,
    kinds: impl Iterator<Item = (String, Sign, Vec<f64>)>,
) {
    let points = series.iter().flat_map(|series| &series.points);
    let heights = points.map(|&(_, y, half)| y + half.unwrap_or(0.0));
    let top = heights.filter(|y| y.is_finite()).fold(0.0, f64::max);
    let top = if top > 0.0 { top } else { 1.0 };
    let mut lane = 1.0;
    for (name, sign, times) in kinds {
        if !times.is_empty() {
            let height = top * (1.0 + LANE * lane);
            lane += 1.0;
            let marks = times.into_iter().map(|at| (at, height));
            series.push(Series::new(&name, Look::Signs(sign), marks));
        }
    }
}

/// The height of a row of marks, as a share of the highest line.
const LANE: f64 = 0.06;

const TIME: &str = "time (s)";
/// Factors from bytes to kB, from bytes/s to kbit/s, and from seconds to ms.
const KB: f64 = 1e-3;
const KBPS: f64 = 8e-3;
const MS: f64 = 1e3;

impl Timeline {
    /// Returns the figure of flow `index`: its window or rate with the losses, and its delays.
    pub(super) fn flow(&self, index: usize) -> Figure {
        let (flow, end) = (&self.flows[index], self.end_s);
        let lines: [(&str, &Bins, bool); 3] = [
            ("window", &flow.window, false),
            ("in flight", &flow.in_flight, false),
            ("slow start threshold", &flow.threshold, true),
        ];
        let (title, axis, mut series): (_, _, Vec<Series>) = if flow.window.is_empty() {
            let mut series = Vec::new();
            if !flow.rate.is_empty() {
                let allowed = flow.rate.means(end, KBPS);
                series.push(Series::new("allowed", Look::Line, allowed));
            }
            let received = flow.received.per_second(end, KBPS);
            series.push(Series::new("received", Look::Dashed, received));
            ("rate and losses", "kbit/s", series)
        } else {
            // A threshold far above the window would flatten all other lines.
            let top = flow
                .window
                .0
                .iter()
                .fold(0.0, |top: f64, bin| top.max(bin.high));
            let low = |bins: &Bins| {
                bins.0
                    .iter()
                    .all(|bin| bin.count == 0 || bin.high <= 2.0 * top)
            };
            let series = lines
                .iter()
                .filter(|(_, bins, _)| !bins.is_empty() && low(bins));
            let series = series.map(|&(name, bins, dashed)| {
                Series::new(name, Look::line(dashed), bins.means(end, KB))
            });
            ("window and losses", "kB", series.collect())
        };
        let kinds = KINDS.iter().enumerate();
        let kinds = kinds.map(|(kind, &(truth, verdict))| {
            let sign = Sign::of_loss(Some(truth), verdict);
            (
                name_of((truth, verdict)),
                sign,
                times(&flow.losses, kind, end),
            )
        });
        add_losses(&mut series, kinds);
        let mut panels = vec![Panel::new(title, (TIME, axis), series)];
        for (name, bins) in [("round trip", &flow.rtt), ("one way", &flow.rott)] {
            if !bins.is_empty() {
                // Series with equal names have the same colour.
                let series = vec![
                    Series::new(name, Look::Line, bins.means(end, MS)).broken(end * GAP),
                    Series::band(name, bins.range(end, MS)).broken(end * GAP),
                ];
                panels.push(Panel::new(name, (TIME, "ms"), series));
            }
        }
        Figure {
            name: format!("flow-{}", index + 1),
            caption: format!("Flow {} over time.", flow.name),
            panels,
        }
    }

    /// Returns whether link number `index` lost a packet.
    pub(super) fn has_losses(&self, index: usize) -> bool {
        self.links[index].losses.iter().any(|at| at.contains(&true))
    }

    /// Returns the figure of link `index`: its queue and utilisation.
    pub(crate) fn link(&self, index: usize) -> Figure {
        let (link, end) = (&self.links[index], self.end_s);
        let mut queue = vec![
            Series::new("waiting", Look::Line, link.waiting.means(end, 1.0)).broken(end * GAP),
            Series::band("waiting", link.waiting.range(end, 1.0)).broken(end * GAP),
        ];
        let kinds = CAUSES.iter().enumerate();
        let kinds = kinds.map(|(kind, &cause)| {
            let name = format!("lost: {}", word(cause));
            let sign = Sign::of_loss(Some(cause), Some(cause));
            (name, sign, times(&link.losses, kind, end))
        });
        add_losses(&mut queue, kinds);
        let used = link.busy.per_second(end, 100.0);
        let used = vec![Series::new("used", Look::Line, used)];
        Figure {
            name: format!("link-{}", index + 1),
            caption: format!("Link {} over time.", link.name),
            panels: vec![
                Panel::new("queue and losses", (TIME, "packets waiting"), queue),
                Panel::new("utilisation", (TIME, "%"), used),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handovers_change_the_rate_that_is_used() {
        let text = r#"
            duration = "9 s"
            link = [{ from = "a", to = "b", rate = "2 Mbit/s", delay = "5 ms", queue = { packets = 9 }, handovers = [{ at = "1 s", rate = "20 Mbit/s" }, { at = "2 s", pause = "1 s" }, { at = "3 s", rate = "5 Mbit/s" }] }]
            flow = [{ from = "a", to = "b", transport = "tcp" }]
        "#;
        let scenario = Scenario::from_toml(text, "a scenario", &[]).expect("valid");
        let link = &Timeline::new(&scenario).links[0];
        let rates = [0.999, 1.0, 2.5, 3.0].map(|at| link.bps_at(at) as u64);
        assert_eq!(rates, [2_000_000, 20_000_000, 20_000_000, 5_000_000]);
    }
}
