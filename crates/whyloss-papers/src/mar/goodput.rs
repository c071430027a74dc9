//! What loss differentiation gains: Figs 4 to 7.
//!
//! Thresholds, fixed before the first run: "same" and "not below" mean within 2 % of the other's goodput, "approaches the
//! bound" 90 % of it, "practically overlaps" 95 % of it; "higher" is decided where at least one packet in a thousand is
//! lost, since below that congestion is the main cause.

use whyloss::{Duration, Rate};

use super::accuracy::{BAD, RATES};
use super::evidence;
use super::measure::{
    CONFIDENCE, Estimate, Families, Family, Line, Plan, accuracy, constant, goodput, panel,
};
use super::network::{Network, RTT, correlated, independent};
use super::scheme::Schemes;
use crate::experiment::{Context, ExperimentError};
use crate::variant::Variant;
use crate::{Cell, Claim, Figure, Outcome, Panel};

const NEWRENO: &str = "newreno";
const LP: &str = "newreno-lp";
const IDEAL: &str = "newreno-ideal-lp";
const WESTWOOD: &str = "westwood-nr";
/// Round-trip times of Fig. 7 in ms; the paper prints no range.
const RTTS: [i64; 8] = [50, 100, 150, 200, 250, 300, 400, 500];
/// The loss rate of Fig. 7.
const LOSS: f64 = 0.005;
/// From here on losses are mainly wireless.
const MAINLY_WIRELESS: f64 = 1e-3;

/// The lines of Figs 4 to 6.
fn variants() -> Vec<Variant> {
    let schemes = Schemes::paper();
    vec![
        schemes.newreno(),
        schemes.lp(),
        schemes.ideal(),
        schemes.westwood_nr(),
    ]
}

/// One panel of a figure: what it is called, and the lines in it.
struct Study {
    /// `(a) 2 Mbit/s`.
    title: String,
    /// `2 Mbit/s`.
    rate: String,
    x_label: &'static str,
    log_x: bool,
    goodput: Vec<Line>,
    lp: Family,
    newreno: Family,
    ideal: Family,
    /// LP's accuracy.
    accuracy: Line,
}

impl Study {
    fn of(
        families: &Families,
        title: String,
        rate: String,
        variants: &[Variant],
        (x_label, log_x): (&'static str, bool),
    ) -> Result<Self, ExperimentError> {
        let family = |id: &str| families.family(&format!("{rate} {id}")).cloned();
        let goodput: Result<Vec<Line>, _> = variants
            .iter()
            .map(|variant| Ok::<_, ExperimentError>(family(variant.id)?.line(self::goodput)))
            .collect();
        let (newreno, lp, ideal) = (family(NEWRENO)?, family(LP)?, family(IDEAL)?);
        let accuracy = lp.line(accuracy);
        Ok(Self {
            title,
            rate,
            x_label,
            log_x,
            goodput: goodput?,
            accuracy,
            newreno,
            lp,
            ideal,
        })
    }

    /// LP's goodput over the bound's, seed by seed.
    fn of_bound(&self) -> Line {
        self.lp.ratio(&self.ideal, goodput)
    }

    fn of_newreno(&self) -> Line {
        self.lp.ratio(&self.newreno, goodput)
    }

    fn line(&self, variants: &[Variant], id: &str) -> Option<&Line> {
        let index = variants.iter().position(|variant| variant.id == id)?;
        self.goodput.get(index)
    }

    fn cells(&self) -> Vec<Cell> {
        let goodput = self.goodput.iter();
        let row = format!("goodput, {}", self.rate);
        let mut cells: Vec<Cell> = goodput
            .flat_map(|line| line.cells(&row, "Mbit/s"))
            .collect();
        let row = format!("quotients and accuracy, {}", self.rate);
        for line in [self.of_newreno(), self.of_bound()] {
            cells.extend(line.cells(&row, ""));
        }
        let accuracy = self.accuracy.clone().named("accuracy of LP (%)");
        cells.extend(accuracy.cells(&row, ""));
        cells
    }

    /// Goodput, and below it what LP and NewReno have of the bound.
    fn panels(&self) -> [Panel; 2] {
        let bound = self.of_bound();
        let equal = constant("equal", 1.0, &bound);
        let newreno = self.newreno.ratio(&self.ideal, goodput);
        let lines = [newreno.named("NewReno"), bound.named("NewReno-LP"), equal];
        [
            panel(
                &self.title,
                (self.x_label, "goodput (Mbit/s)"),
                self.log_x,
                &self.goodput,
                0,
            ),
            panel(
                &format!("{}: share of the bound", self.rate),
                (self.x_label, "goodput / that of Ideal-LP"),
                self.log_x,
                &lines,
                1,
            ),
        ]
    }
}

/// The panels of a figure: goodputs above, quotients below.
fn figure(name: &str, caption: &str, studies: &[Study]) -> Figure {
    let (above, below): (Vec<Panel>, Vec<Panel>) =
        studies.iter().map(|study| study.panels().into()).unzip();
    Figure {
        name: name.into(),
        caption: caption.into(),
        panels: above.into_iter().chain(below).collect(),
    }
}

/// MAR-33 and MAR-34 over packet error rates.
fn against_newreno(study: &Study, mainly_wireless: f64) -> Claim {
    let ratio = study.of_newreno();
    let lossy = ratio.where_x(|x| x >= mainly_wireless);
    let (everywhere, there) = (ratio.lowest(), lossy.lowest());
    Claim::new(
        "MAR-33a",
        &format!(
            "{}: LP is nowhere more than 2 % below NewReno, and above it wherever losses are mainly wireless",
            study.rate
        ),
        everywhere.is_some_and(|p| p.mean >= 0.98) && there.is_some_and(|p| p.mean > 1.0),
        format!(
            "LP/NewReno: lowest {}, where mainly wireless {}, highest {}",
            evidence::at(everywhere),
            evidence::at(there),
            evidence::at(ratio.highest())
        ),
    )
}

fn same_without_loss(study: &Study) -> Claim {
    let ratio = study.of_newreno();
    let first = ratio.points.first().copied();
    Claim::new(
        "MAR-33b",
        &format!(
            "{}: LP comes to what NewReno does as losses vanish (within 2 %)",
            study.rate
        ),
        first.is_some_and(|p| (p.mean - 1.0).abs() <= 0.02),
        format!("LP/NewReno {}", evidence::at(first)),
    )
}

fn against_bound(study: &Study, id: &str, words: &str, share: f64) -> Claim {
    let bound = study.of_bound();
    let lowest = bound.lowest();
    Claim::new(
        id,
        &format!(
            "{}: LP {words} its bound (at least {:.0} % of it everywhere)",
            study.rate,
            100.0 * share
        ),
        lowest.is_some_and(|p| p.mean >= share),
        format!(
            "LP/Ideal-LP: lowest {}, highest {}",
            evidence::at(lowest),
            evidence::at(bound.highest())
        ),
    )
}

/// MAR-35: Westwood-NR is ahead of LP and NewReno, most where much is lost: on average at rates from `most_lost` on.
fn westwood(study: &Study, variants: &[Variant], most_lost: f64) -> Vec<Claim> {
    let lines = [WESTWOOD, NEWRENO, LP].map(|id| study.line(variants, id));
    let [Some(westwood), Some(newreno), Some(lp)] = lines else {
        return Vec::new();
    };
    let lead = |point: &Estimate| Estimate {
        mean: point.mean / newreno.at(point.x).max(lp.at(point.x)),
        half_width: None,
        ..*point
    };
    let lead = Line {
        name: String::new(),
        points: westwood.points.iter().map(lead).collect(),
    };
    let lowest = lead.lowest();
    let average = |line: &Line| {
        let means: Vec<f64> = line.points.iter().map(|point| point.mean).collect();
        crate::statistics::mean(&means).unwrap_or(f64::NAN)
    };
    let above = average(&lead.where_x(|x| x >= most_lost));
    let below = average(&lead.where_x(|x| x < most_lost));
    vec![
        Claim::new(
            "MAR-35a",
            &format!(
                "{}: Westwood-NR is nowhere more than 2 % below the better of LP and NewReno",
                study.rate
            ),
            lowest.is_some_and(|point| point.mean >= 0.98),
            format!(
                "Westwood-NR over the better: lowest {}, highest {}",
                evidence::at(lowest),
                evidence::at(lead.highest())
            ),
        ),
        Claim::new(
            "MAR-35b",
            &format!(
                "{}: Westwood-NR's lead is greater at error rates from {most_lost} on than below (on average)",
                study.rate
            ),
            above > below,
            format!(
                "Westwood-NR over the better: {above:.2} and {below:.2}; {}",
                evidence::all(&lead)
            ),
        ),
    ]
}

/// Families of every variant at these rates.
fn plans<'a>(
    rate: &str,
    variants: &'a [Variant],
    xs: &[f64],
    network: impl Fn(f64, &'a Variant) -> Network<'a>,
) -> Vec<Plan> {
    let plan = |variant: &'a Variant| {
        let points = xs.iter().map(|&x| (x, network(x, variant).scenario()));
        (
            format!("{rate} {}", variant.id),
            variant.name.to_owned(),
            points.collect(),
        )
    };
    variants.iter().map(plan).collect()
}

fn mbps(rate: u64) -> String {
    format!("{rate} Mbit/s")
}

/// Figs 4 and 5: C_SN of these rates, and 10 Mbit/s of radio.
fn independent_losses(
    context: &Context<'_>,
    (id, title, letters): (&str, &str, &[&str]),
    rates: &[u64],
) -> Result<Outcome, ExperimentError> {
    let variants = variants();
    let ten = Rate::from_mbps(10);
    let plans = rates.iter().flat_map(|&rate| {
        plans(&mbps(rate), &variants, &RATES, move |per, variant| {
            Network::wired_cum_wireless((Rate::from_mbps(rate), ten), independent(per), variant)
        })
    });
    let families = Families::measure(context, plans.collect())?;
    let study = |(&rate, letter): (&u64, &&str)| {
        let title = format!("{letter}{}", mbps(rate));
        Study::of(
            &families,
            title,
            mbps(rate),
            &variants,
            ("packet error rate", true),
        )
    };
    let studies: Vec<Study> = rates
        .iter()
        .zip(letters)
        .map(study)
        .collect::<Result<_, _>>()?;
    let claims = studies.iter().flat_map(|study| {
        let mut claims = vec![
            against_newreno(study, MAINLY_WIRELESS),
            same_without_loss(study),
            against_bound(study, "MAR-34a", "approaches", 0.90),
        ];
        claims.extend(westwood(study, &variants, 1e-2));
        claims
    });
    Ok(Outcome {
        id: id.into(),
        title: title.into(),
        seeds: families.seeds,
        confidence: CONFIDENCE,
        cells: studies.iter().flat_map(Study::cells).collect(),
        claims: claims.collect(),
        figures: vec![figure(
            id,
            "Steady-state goodput over the packet error rate of the wireless link",
            &studies,
        )],
        notes: notes(),
    })
}

/// `mar-fig-4`.
pub(crate) fn fig_4(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let names = (
        "mar-fig-4",
        "Fig. 4: goodput over packet error rate, 2 and 5 Mbit/s",
        &["(a) ", "(b) "][..],
    );
    independent_losses(context, names, &[2, 5])
}

/// `mar-fig-5`.
pub(crate) fn fig_5(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let names = (
        "mar-fig-5",
        "Fig. 5: goodput over packet error rate, 10 Mbit/s",
        &[""][..],
    );
    let mut outcome = independent_losses(context, names, &[10])?;
    outcome.notes.push(
        "The caption repeats the 2 Mbit/s of Fig. 4(a); the text has 2, 5 and 10 Mbit/s, so this is 10.".into(),
    );
    Ok(outcome)
}

/// `mar-fig-6`.
pub(crate) fn fig_6(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let variants = variants();
    let rates = [2, 5];
    let plans = rates.into_iter().flat_map(|rate| {
        plans(&mbps(rate), &variants, &BAD, move |bad, variant| {
            let rates = (Rate::from_mbps(10), Rate::from_mbps(rate));
            Network::wired_cum_wireless(rates, correlated(bad / 100.0), variant)
        })
    });
    let families = Families::measure(context, plans.collect())?;
    let study = |(rate, letter): (u64, &str)| {
        let title = format!("{letter}{}", mbps(rate));
        let axis = ("packet error rate in the bad state (%)", false);
        Study::of(&families, title, mbps(rate), &variants, axis)
    };
    let studies: Vec<Study> = rates
        .into_iter()
        .zip(["(a) ", "(b) "])
        .map(study)
        .collect::<Result<_, _>>()?;
    let mut claims: Vec<Claim> = studies
        .iter()
        .flat_map(|study| {
            let mut claims = vec![
                against_newreno(study, 20.0),
                same_without_loss(study),
                against_bound(study, "MAR-34b", "practically overlaps", 0.95),
            ];
            claims.extend(westwood(study, &variants, 50.0));
            claims
        })
        .collect();
    let gains: Vec<Line> = studies
        .iter()
        .map(|study| study.of_newreno().where_x(|bad| bad >= 20.0))
        .collect();
    if let [slow, fast] = &gains[..] {
        claims.push(Claim::new(
            "MAR-36a",
            "LP gains more over NewReno at 5 than at 2 Mbit/s, wherever at least 20 % are lost in the bad state",
            slow.points.iter().all(|point| fast.at(point.x) > point.mean),
            format!("LP/NewReno at 2 Mbit/s: {}; at 5 Mbit/s: {}", evidence::all(slow), evidence::all(fast)),
        ));
    }
    let mut notes = notes();
    notes.push(
        "The wireless link has the stated capacity and the wired one 10 Mbit/s; the paper does not say (MAR-A2). The link \
         is good for 1 s and bad for 50 ms on average."
            .into(),
    );
    Ok(Outcome {
        id: "mar-fig-6".into(),
        title: "Fig. 6: goodput with correlated losses, wireless link of 2 and 5 Mbit/s".into(),
        seeds: families.seeds,
        confidence: CONFIDENCE,
        cells: studies.iter().flat_map(Study::cells).collect(),
        claims,
        figures: vec![figure(
            "mar-fig-6",
            "Steady-state goodput with correlated losses",
            &studies,
        )],
        notes,
    })
}

/// `mar-fig-7`.
pub(crate) fn fig_7(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let variants = &variants()[..3];
    let rates = [2, 5];
    let rtts = RTTS.map(|rtt| rtt as f64);
    let plans = rates.into_iter().flat_map(|rate| {
        plans(&mbps(rate), variants, &rtts, move |rtt, variant| {
            let rtt = Duration::from_millis(rtt as i64);
            Network::single(Rate::from_mbps(rate), rtt, independent(LOSS), vec![variant])
        })
    });
    let families = Families::measure(context, plans.collect())?;
    let study = |(rate, letter): (u64, &str)| {
        let title = format!("{letter}{}", mbps(rate));
        Study::of(
            &families,
            title,
            mbps(rate),
            variants,
            ("round-trip time (ms)", false),
        )
    };
    let studies: Vec<Study> = rates
        .into_iter()
        .zip(["(a) ", "(b) "])
        .map(study)
        .collect::<Result<_, _>>()?;
    let claims = studies.iter().flat_map(|study| {
        let gain = study.of_newreno();
        let places = [50.0, 100.0, 200.0, 500.0];
        let rising = places.windows(2).all(|pair| gain.at(pair[0]) < gain.at(pair[1]));
        [
            against_newreno(study, 0.0),
            against_bound(study, "MAR-34c", "practically overlaps", 0.95),
            Claim::new(
                "MAR-36b",
                &format!("{}: LP gains more over NewReno the longer the round trip (50, 100, 200, 500 ms)", study.rate),
                rising,
                format!("LP/NewReno: {}", evidence::all(&gain)),
            ),
        ]
    });
    let mut notes = notes();
    notes.push("The paper prints no range of round-trip times; the queue is the bandwidth-delay product of each.".into());
    Ok(Outcome {
        id: "mar-fig-7".into(),
        title: "Fig. 7: goodput over round-trip time, 0.5 % loss".into(),
        seeds: families.seeds,
        confidence: CONFIDENCE,
        cells: studies.iter().flat_map(Study::cells).collect(),
        claims: claims.collect(),
        figures: vec![figure(
            "mar-fig-7",
            "Steady-state goodput over a single link that loses 0.5 %",
            &studies,
        )],
        notes,
    })
}

fn notes() -> Vec<String> {
    let bdp = super::network::bdp(Rate::from_mbps(10), RTT);
    vec![
        format!(
            "Goodput is the payload that the receiver got for the first time between 50 and 500 s. Segments have 1500 bytes \
             of payload and 40 of headers; queues hold the bandwidth-delay product of the slowest link ({bdp} packets at \
             10 Mbit/s), as ns-2 counts. The paper prints no number for these figures."
        ),
        "Quotients are of runs under the same seed, which meet the same channel.".into(),
    ]
}
