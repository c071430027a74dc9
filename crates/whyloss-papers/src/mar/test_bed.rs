//! Figs 10 and 11, the test bed (MAR-12), simulated: server, router and client on 10 Mbit/s links, a router that delays by
//! 50 ms each way and loses packets, and the TCP of Linux 2.2 as far as the paper and that kernel's sources say.
//!
//! The paper states no window. Linux 2.2 lets 64 KiB be under way, which is 5.2 Mbit/s at 100 ms; both that and a window
//! that never limits are run, and a claim must hold with either.
//!
//! Thresholds, fixed before the first run: an order is looked at where at least 0.5 % are lost (20 % in the bad state) and
//! holds if the one is nowhere more than 2 % below the other, and above it on average.

use whyloss::{Duration, Rate};
use whyloss_link::ChannelSpec;
use whyloss_sim::Scenario;
use whyloss_sim::host::tcp::{Options, RtoOptions};

use super::accuracy::BAD;
use super::evidence;
use super::measure::{CONFIDENCE, Estimate, Families, Line, goodput, panel};
use super::network::{HEADERS, Hop, Network, SEGMENT, correlated, independent};
use super::scheme::{Schemes, base};
use crate::experiment::{Context, ExperimentError};
use crate::variant::Variant;
use crate::{Cell, Claim, Figure, Outcome, Panel};

/// Loss rates of Fig. 10, %.
const LOSSES: [f64; 12] = [
    0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0,
];
/// Payload of a segment: 1500 bytes less headers and a time stamp.
const PAYLOAD: u32 = SEGMENT - HEADERS - 12;
/// 64 KiB in segments.
const SMALL: u32 = 65_535 / PAYLOAD;
/// Packets that the server's network card queues (`txqueuelen`).
const QUEUE: u32 = 100;

/// The TCP of the test bed: Linux 2.2 waits for at least 200 ms, in ticks of 10 ms, before it calls a segment lost.
fn linux(window: Option<u32>) -> Options {
    let options = Options {
        segment_size: PAYLOAD,
        rto: RtoOptions {
            max: Duration::from_secs(120),
            ..RtoOptions::ns2()
        },
        ..base()
    };
    match window {
        Some(window) => Options {
            receive_window: window,
            initial_ssthresh: None,
            ..options
        },
        None => options,
    }
}

fn variants(window: Option<u32>) -> [Variant; 4] {
    let schemes = Schemes::on(linux(window));
    [
        schemes.newreno(),
        schemes.lp(),
        schemes.tibet(),
        schemes.westwood(),
    ]
}

/// The router loses what it is about to delay, after the server's link carried it.
fn scenario(channel: ChannelSpec, flow: &Variant) -> Scenario {
    let hop = |delay, channel| Hop {
        rate: Rate::from_mbps(10),
        delay,
        channel,
        cross: false,
    };
    let hops = vec![
        hop(Duration::from_millis(50), channel),
        hop(Duration::ZERO, ChannelSpec::None),
    ];
    let mut network = Network::new(hops, vec![flow]);
    network.queue = Some(QUEUE);
    let mut scenario = network.scenario();
    for flow in &mut scenario.flows {
        flow.packet_size = SEGMENT;
    }
    scenario
}

struct Bed {
    title: &'static str,
    /// In the order of [`variants`].
    goodput: Vec<Line>,
}

impl Bed {
    fn line(&self, name: &str) -> Option<&Line> {
        self.goodput.iter().find(|line| line.name == name)
    }

    /// One variant over another.
    fn over(&self, above: &str, below: &str) -> Line {
        let points = match (self.line(above), self.line(below)) {
            (Some(above), Some(below)) => above
                .points
                .iter()
                .map(|point| Estimate {
                    mean: point.mean / below.at(point.x),
                    half_width: None,
                    ..*point
                })
                .collect(),
            _ => Vec::new(),
        };
        Line {
            name: format!("{above} / {below}"),
            points,
        }
    }

    fn panel(&self, x_label: &str) -> Panel {
        panel(
            self.title,
            (x_label, "goodput (Mbit/s)"),
            false,
            &self.goodput,
            0,
        )
    }
}

fn measure(
    context: &Context<'_>,
    xs: &[f64],
    channel: impl Fn(f64) -> ChannelSpec,
) -> Result<(Vec<Bed>, u64), ExperimentError> {
    let windows = [
        ("window of 64 KiB", Some(SMALL)),
        ("window without limit", None),
    ];
    let mut plans = Vec::new();
    for (title, window) in windows {
        for variant in variants(window) {
            let points = xs.iter().map(|&x| (x, scenario(channel(x), &variant)));
            let id = format!("{title} {}", variant.id);
            plans.push((id, variant.name.to_owned(), points.collect()));
        }
    }
    let families = Families::measure(context, plans)?;
    // Payload is less than what `goodput` takes it for.
    let share = f64::from(PAYLOAD) / f64::from(SEGMENT);
    let mut beds = Vec::new();
    for (title, window) in windows {
        let mut lines = Vec::new();
        for variant in variants(window) {
            let family = families.family(&format!("{title} {}", variant.id))?;
            lines.push(family.line(|run| goodput(run).map(|goodput| share * goodput)));
        }
        beds.push(Bed {
            title,
            goodput: lines,
        });
    }
    Ok((beds, families.seeds))
}

/// The order of two variants where much is lost.
fn order(id: &str, (above, below): (&str, &str), beds: &[Bed], much: f64) -> Claim {
    let lines = beds
        .iter()
        .map(|bed| (bed, bed.over(above, below).where_x(|x| x >= much)));
    let lines: Vec<(&Bed, Line)> = lines.collect();
    let mean = |line: &Line| {
        let sum: f64 = line.points.iter().map(|point| point.mean).sum();
        sum / line.points.len() as f64
    };
    let said = lines.iter().map(|(bed, line)| {
        format!(
            "{}: lowest {}, mean {:.3}, highest {}",
            bed.title,
            evidence::at(line.lowest()),
            mean(line),
            evidence::at(line.highest())
        )
    });
    Claim::new(
        id,
        &format!(
            "{above} is nowhere more than 2 % below {below}, and above it on average, where at least {much} % are lost"
        ),
        lines.iter().all(|(_, line)| {
            line.lowest().is_some_and(|point| point.mean >= 0.98) && mean(line) > 1.0
        }),
        format!("{above}/{below}, {}", said.collect::<Vec<_>>().join("; ")),
    )
}

fn orders(letter: &str, beds: &[Bed], much: f64) -> Vec<Claim> {
    let pairs = [
        ("1", ("Westwood", "NewReno-LP")),
        ("2", ("NewReno-LP", "TIBET")),
        ("3", ("TIBET", "NewReno")),
    ];
    let claim = |(number, pair)| order(&format!("MAR-39{letter}{number}"), pair, beds, much);
    pairs.map(claim).into()
}

fn outcome(
    (id, title, x_label): (&str, &str, &str),
    (beds, seeds): (Vec<Bed>, u64),
    claims: Vec<Claim>,
) -> Outcome {
    let cells = beds.iter().flat_map(|bed| {
        let row = format!("goodput, {}", bed.title);
        let cells: Vec<Cell> = bed
            .goodput
            .iter()
            .flat_map(|line| line.cells(&row, "Mbit/s"))
            .collect();
        cells
    });
    Outcome {
        id: id.into(),
        title: title.into(),
        seeds,
        confidence: CONFIDENCE,
        cells: cells.collect(),
        claims,
        figures: vec![Figure {
            name: id.into(),
            caption: "Steady-state goodput on the test bed, simulated".into(),
            panels: beds.iter().map(|bed| bed.panel(x_label)).collect(),
        }],
        notes: vec![
            "A simulation of the paper's test bed, not a test bed: 10 Mbit/s links, 50 ms each way, a network card that queues \
             100 packets, Linux 2.2's 1448 bytes of payload, and its timer of at least 200 ms in ticks of 10 ms. What else \
             that kernel did (quick acknowledgements at the start, bursts at timer ticks) is left out."
                .into(),
            "TIBET's filter constants, and how Westwood was filtered in the authors' kernel, are not in the paper: see the \
             estimators' files."
                .into(),
        ],
    }
}

/// `mar-fig-10`.
pub(crate) fn fig_10(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let (beds, seeds) = measure(context, &LOSSES, |percent| independent(percent / 100.0))?;
    let mut claims = orders("a", &beds, 0.5);
    let gap = |bed: &Bed| {
        let (lp, tibet) = (bed.line("NewReno-LP")?, bed.line("TIBET")?);
        let gaps = lp.points.iter().map(|point| Estimate {
            mean: point.mean - tibet.at(point.x),
            half_width: None,
            ..*point
        });
        let line = Line {
            name: String::new(),
            points: gaps.collect(),
        };
        line.highest()
    };
    let gaps: Vec<_> = beds.iter().map(gap).collect();
    let said = beds.iter().zip(&gaps);
    let said: Vec<String> = said
        .map(|(bed, gap)| format!("{}: {} %", bed.title, evidence::at(*gap)))
        .collect();
    claims.push(Claim::new(
        "MAR-32",
        "LP's lead over TIBET (in Mbit/s) is greatest between 1 and 4 % of loss",
        gaps.iter()
            .all(|gap| gap.is_some_and(|gap| gap.mean > 0.0 && (1.0..=4.0).contains(&gap.x))),
        format!("greatest lead, {}", said.join("; ")),
    ));
    let names = (
        "mar-fig-10",
        "Fig. 10: goodput on the test bed, independent losses",
        "packet loss rate (%)",
    );
    Ok(outcome(names, (beds, seeds), claims))
}

/// `mar-fig-11`.
pub(crate) fn fig_11(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let (beds, seeds) = measure(context, &BAD, |percent| correlated(percent / 100.0))?;
    let claims = orders("b", &beds, 20.0);
    let names = (
        "mar-fig-11",
        "Fig. 11: goodput on the test bed, correlated losses",
        "packet error rate in the bad state (%)",
    );
    Ok(outcome(names, (beds, seeds), claims))
}
