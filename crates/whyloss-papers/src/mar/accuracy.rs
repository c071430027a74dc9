//! How often the Vegas predictor is right: Figs 2 and 3, and the further scenarios that Section 4 only mentions.
//!
//! Thresholds, fixed before the first run: "very accurate" is 80 % of the loss events at every rate, "approaches an ideal
//! estimator" 90 %, and "always higher than 70 %" is meant literally.

use whyloss::{Cause, Duration, Rate};
use whyloss_link::ChannelSpec;
use whyloss_sim::Scenario;

use super::evidence;
use super::measure::{CONFIDENCE, Families, Line, accuracy, loss_events, panel};
use super::network::{Hop, Network, correlated, independent};
use super::probe;
use super::scheme::Schemes;
use crate::experiment::{Context, ExperimentError};
use crate::variant::Variant;
use crate::{Cell, Claim, Figure, Outcome};

/// Packet error rates of the figures (MAR-9).
pub(crate) const RATES: [f64; 13] = [
    1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1,
];
/// Packet error rates in the bad state, % (MAR-10).
pub(crate) const BAD: [f64; 8] = [0.0, 5.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0];

const TEN: Rate = Rate::from_mbps(10);

/// The base network (MAR-8).
pub(crate) fn base(channel: ChannelSpec, flow: &Variant) -> Network<'_> {
    Network::wired_cum_wireless((TEN, TEN), channel, flow)
}

/// What a family says about its verdicts: accuracy, Mc, Mw in per cent, and how many loss events a run has.
struct Verdicts {
    accuracy: Line,
    mc: Line,
    mw: Line,
    events: Line,
}

impl Verdicts {
    fn of(families: &Families, id: &str) -> Result<Self, ExperimentError> {
        let family = families.family(id)?;
        let percent = |share: Option<f64>| share.map(|share| 100.0 * share);
        Ok(Self {
            accuracy: family.line(accuracy).named("accuracy"),
            mc: family
                .line(|run| percent(loss_events(run).mc()))
                .named("Mc"),
            mw: family
                .line(|run| percent(loss_events(run).mw()))
                .named("Mw"),
            events: family
                .line(|run| {
                    let events = loss_events(run);
                    let causes = [Cause::Congestion, Cause::Wireless];
                    Some(causes.map(|cause| events.total(cause) as f64).iter().sum())
                })
                .named("loss events"),
        })
    }

    fn cells(&self, row: &str) -> Vec<Cell> {
        let mut cells = Vec::new();
        for line in [&self.accuracy, &self.mc, &self.mw] {
            cells.extend(line.cells(row, "%"));
        }
        cells.extend(self.events.cells(&format!("{row}, in a run"), ""));
        cells
    }
}

/// `mar-fig-2`.
pub(crate) fn fig_2(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let lp = Schemes::paper().lp();
    let points = |cross: bool| {
        RATES.map(|per| {
            let network = base(independent(per), &lp);
            let network = if cross {
                network.with_cross_traffic()
            } else {
                network
            };
            (per, network.scenario())
        })
    };
    let panels = [
        ("MAR-40a", "(a) no cross traffic", points(false)),
        ("MAR-40b", "(b) cross traffic", points(true)),
    ];
    let plan = |(_, title, points): &(&str, &str, [(f64, Scenario); 13])| {
        let (id, name) = ((*title).to_owned(), lp.name.to_owned());
        (id, name, points.to_vec())
    };
    let families = Families::measure(context, panels.iter().map(plan).collect())?;
    let (mut cells, mut claims, mut drawn) = (Vec::new(), Vec::new(), Vec::new());
    for (id, title, points) in &panels {
        let verdicts = Verdicts::of(&families, title)?;
        let queued = probe::queued(context, points)?;
        cells.extend(verdicts.cells(title));
        cells.extend(queued.cells(title, "%"));
        let lowest = verdicts.accuracy.lowest();
        claims.push(Claim::new(
            id,
            &format!(
                "Fig. 2{title}: the predictor is right about at least 80 % of the loss events at every packet error rate"
            ),
            lowest.is_some_and(|point| point.mean >= 80.0),
            format!("accuracy in %: {}", evidence::all(&verdicts.accuracy)),
        ));
        let axes = ("packet error rate", "%");
        let (mc, mw) = (verdicts.mc.bare(), verdicts.mw.bare());
        let lines = [verdicts.accuracy, mc, mw, queued];
        drawn.push(panel(title, axes, true, &lines, 3));
    }
    let mut notes = notes();
    notes.push(
        "Independent losses strike whatever packet comes, so the share of packets that meet at least β = 3 others waiting at \
         the bottleneck (counted there) is what a predictor that goes by the queue must call congestion: its least Mw."
            .into(),
    );
    Ok(Outcome {
        id: "mar-fig-2".into(),
        title: "Fig. 2: accuracy of the Vegas predictor, independent losses".into(),
        seeds: families.seeds,
        confidence: CONFIDENCE,
        cells,
        claims,
        figures: vec![Figure {
            name: "mar-fig-2".into(),
            caption: "Loss events given their true cause; dashed: congestion called wireless (Mc), wireless called congestion \
                      (Mw), and packets that meet β others waiting"
                .into(),
            panels: drawn,
        }],
        notes,
    })
}

/// `mar-fig-3`.
pub(crate) fn fig_3(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let lp = Schemes::paper().lp();
    let points = BAD.map(|bad| (bad, base(correlated(bad / 100.0), &lp).scenario()));
    let plan = ("correlated".into(), lp.name.into(), points.into());
    let families = Families::measure(context, vec![plan])?;
    let verdicts = Verdicts::of(&families, "correlated")?;
    let lowest = verdicts.accuracy.lowest();
    Ok(Outcome {
        id: "mar-fig-3".into(),
        title: "Fig. 3: accuracy of the Vegas predictor, correlated losses".into(),
        seeds: families.seeds,
        confidence: CONFIDENCE,
        cells: verdicts.cells("no cross traffic"),
        claims: vec![Claim::new(
            "MAR-40c",
            "Fig. 3: with correlated losses the predictor approaches an ideal one (90 % at every packet error rate)",
            lowest.is_some_and(|point| point.mean >= 90.0),
            format!("accuracy in %: {}", evidence::all(&verdicts.accuracy)),
        )],
        figures: vec![Figure {
            name: "mar-fig-3".into(),
            caption: "Loss events given their true cause, correlated losses; dashed: Mc, Mw".into(),
            panels: vec![panel(
                "no cross traffic",
                ("packet error rate in the bad state (%)", "%"),
                false,
                &[verdicts.accuracy, verdicts.mc.bare(), verdicts.mw.bare()],
                2,
            )],
        }],
        notes: notes(),
    })
}

/// Numbers of connections, and of hops (MAR-29).
const CONNECTIONS: [usize; 5] = [1, 2, 5, 10, 20];
const HOPS: [usize; 4] = [1, 2, 3, 5];
/// Rates at which they are looked at.
const FEW_RATES: [f64; 3] = [1e-4, 1e-3, 1e-2];

/// So many wired links with cross traffic of their own, 50 ms together, and the wireless link.
fn chain(hops: usize, per: f64, flow: &Variant) -> Network<'_> {
    let wired = Hop {
        rate: TEN,
        delay: Duration::from_millis(50) / hops as i64,
        channel: ChannelSpec::None,
        cross: true,
    };
    let wireless = Hop {
        rate: TEN,
        delay: Duration::from_micros(10),
        channel: independent(per),
        cross: false,
    };
    let mut links = vec![wired; hops];
    links.push(wireless);
    Network::new(links, vec![flow])
}

/// `mar-accuracy`.
pub(crate) fn further(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let lp = Schemes::paper().lp();
    let shared = |per| {
        CONNECTIONS.map(|n| {
            let mut network = base(independent(per), &lp);
            network.flows = vec![&lp; n];
            (n as f64, network.scenario())
        })
    };
    let mut plans = Vec::new();
    for per in FEW_RATES {
        plans.push((
            format!("connections {per}"),
            format!("PER {per}"),
            shared(per).into(),
        ));
        let chains = HOPS.map(|hops| (hops as f64, chain(hops, per, &lp).scenario()));
        plans.push((format!("hops {per}"), format!("PER {per}"), chains.into()));
    }
    let families = Families::measure(context, plans)?;
    let lines = |what: &str| -> Result<Vec<Line>, ExperimentError> {
        FEW_RATES
            .iter()
            .map(|per| Ok(families.family(&format!("{what} {per}"))?.line(accuracy)))
            .collect()
    };
    let claim = |id: &str, what: &str, lines: &[Line]| {
        let lowest: Vec<_> = lines.iter().map(Line::lowest).collect();
        let said = lines.iter().zip(&lowest);
        let said: Vec<String> = said
            .map(|(line, lowest)| format!("{}: lowest {}", line.name, evidence::at(*lowest)))
            .collect();
        Claim::new(
            id,
            &format!("{what}: accuracy is above 70 % in every scenario"),
            lowest
                .iter()
                .all(|point| point.is_some_and(|point| point.mean > 70.0)),
            said.join("; "),
        )
    };
    let (connections, hops) = (lines("connections")?, lines("hops")?);
    let mut cells = Vec::new();
    for (what, lines) in [("connections", &connections), ("hops", &hops)] {
        for line in lines {
            cells.extend(line.cells(&format!("accuracy over {what}"), "%"));
        }
        for per in FEW_RATES {
            let verdicts = Verdicts::of(&families, &format!("{what} {per}"))?;
            let mw = verdicts.mw.named(&format!("PER {per}"));
            cells.extend(mw.cells(&format!("Mw over {what}"), "%"));
        }
    }
    for per in FEW_RATES {
        let queued = probe::queued(context, &shared(per))?.named(&format!("PER {per}"));
        cells.extend(queued.cells("packets that meet β waiting over connections", "%"));
    }
    Ok(Outcome {
        id: "mar-accuracy".into(),
        title: "Section 4: accuracy with more connections and more hops".into(),
        seeds: families.seeds,
        confidence: CONFIDENCE,
        cells,
        claims: vec![
            claim("MAR-31a", "1 to 20 connections", &connections),
            claim(
                "MAR-31b",
                "1 to 5 wired hops, each with cross traffic",
                &hops,
            ),
        ],
        figures: vec![Figure {
            name: "mar-accuracy".into(),
            caption: "Loss events given their true cause in networks that the paper only mentions"
                .into(),
            panels: vec![
                panel("connections", ("connections", "%"), false, &connections, 0),
                panel(
                    "wired hops with cross traffic",
                    ("hops", "%"),
                    false,
                    &hops,
                    0,
                ),
            ],
        }],
        notes: notes(),
    })
}

fn notes() -> Vec<String> {
    [
        "A loss event is a third duplicate or a timeout; it is a congestion loss if its window lost any packet to a queue. \
         A timeout without a lost packet has no true cause and is not counted.",
        "The predictor is evaluated at each acknowledgement, with that acknowledgement's round trip, and read when a loss \
         is found (MAR-2). The TCP is ns-2's of 2004 with NewReno's recovery and acknowledgements delayed by up to 100 ms, \
         which echo the stamp of the latest segment: had they echoed that of the earliest, as RFC 7323 has it, a round trip \
         would include the delay, and V_P a segment more at a full window than its α (`mar-sensitivity`).",
        "The paper prints no number for these figures, and gives neither length nor number of its transfers: ours run for \
         500 s, of which the first 50 s are left out.",
    ]
    .map(Into::into)
    .into()
}
