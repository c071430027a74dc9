//! What loss differentiation gains: Figs 4 to 7.
//!
//! Thresholds, fixed before the first run: "same" and "not below" mean within 2 % of the other's goodput, "approaches the
//! bound" 90 % of it, "practically overlaps" 95 % of it; "higher" is decided where at least one packet in a thousand is
//! lost, since below that congestion is the main cause.

use whyloss::{Duration, Rate};
use whyloss_sim::Measurement;
use whyloss_study::{
    Axis, Cell, Check, Claim, Context, ExperimentError, Line, Outcome, Panel, Plan, Runs,
};

use super::accuracy::{BAD, RATES};
use super::measure::{ACCURACY, GOODPUT, labelled, outcome, run};
use super::network::{Network, RTT, correlated, independent};
use super::scheme::Schemes;
use crate::variant::Variant;

const NEWRENO: &str = "newreno";
const LP: &str = "newreno-lp";
const IDEAL: &str = "newreno-ideal-lp";
const WESTWOOD: &str = "westwood-nr";
/// Round-trip times of Fig. 7 in ms; the paper prints no range.
const RTTS: [f64; 8] = [50.0, 100.0, 150.0, 200.0, 250.0, 300.0, 400.0, 500.0];
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

/// A panel of goodputs, and below it one of what LP and NewReno have of the bound.
struct Study {
    /// `(a) `.
    letter: &'static str,
    /// `2 Mbit/s`.
    rate: String,
    runs: Runs<Measurement>,
}

impl Study {
    fn goodput(&self, id: &str) -> Line {
        self.runs.line(id, &GOODPUT)
    }

    /// LP's goodput over the bound's, seed by seed.
    fn of_bound(&self) -> Line {
        self.goodput(LP).over(&self.goodput(IDEAL))
    }

    fn of_newreno(&self) -> Line {
        self.goodput(LP).over(&self.goodput(NEWRENO))
    }

    fn cells(&self) -> Vec<Cell> {
        let goodput = self.runs.lines(&GOODPUT);
        let mut cells = goodput.cells(&format!("goodput, {}", self.rate));
        let row = format!("quotients and accuracy, {}", self.rate);
        let mut accuracy = self.runs.line(LP, &ACCURACY).named("accuracy of LP (%)");
        accuracy.unit = "";
        for line in [self.of_newreno(), self.of_bound(), accuracy] {
            cells.extend(line.cells(&row));
        }
        cells
    }

    fn panels(&self) -> [Panel; 2] {
        let bound = self.of_bound();
        let equal = bound.constant("equal", "equal", 1.0);
        let newreno = self.goodput(NEWRENO).over(&self.goodput(IDEAL));
        let shares = [newreno.named("NewReno"), bound.named("NewReno-LP"), equal];
        let shares = self.runs.gather(("goodput / that of Ideal-LP", ""), shares);
        let goodput = labelled(self.runs.lines(&GOODPUT));
        [
            goodput.panel(&format!("{}{}", self.letter, self.rate)),
            shares.panel(&format!("{}: share of the bound", self.rate)),
        ]
    }

    /// A claim about this panel.
    fn claim(&self, id: &str, text: &str, check: Check) -> Claim {
        check.claim(id, &format!("{}: {text}", self.rate))
    }

    fn against_newreno(&self, mainly_wireless: f64) -> Claim {
        self.claim(
            "MAR-33a",
            "LP is nowhere more than 2 % below NewReno, and above it wherever losses are mainly wireless",
            Check::of([&self.of_newreno()], |[ratio]| {
                let lossy = ratio.only(|x| x >= mainly_wireless);
                ratio.every(|ratio| ratio >= 0.98) && lossy.every(|ratio| ratio > 1.0)
            }),
        )
    }

    fn same_without_loss(&self) -> Claim {
        let least = self.runs.xs()[0];
        self.claim(
            "MAR-33b",
            "LP comes to what NewReno does as losses vanish (within 2 %)",
            self.of_newreno().only(|x| x <= least).near(1.0, 0.02),
        )
    }

    fn against_bound(&self, id: &str, words: &str, share: f64) -> Claim {
        let percent = 100.0 * share;
        self.claim(
            id,
            &format!("LP {words} its bound (at least {percent:.0} % of it everywhere)"),
            self.of_bound().at_least(share),
        )
    }

    /// Westwood-NR is ahead of LP and NewReno, most where much is lost: on average at rates from `most_lost` on (MAR-35).
    fn westwood(&self, most_lost: f64) -> [Claim; 2] {
        let (newreno, lp) = (self.goodput(NEWRENO), self.goodput(LP));
        let lead = self
            .goodput(WESTWOOD)
            .by_mean("Westwood-NR over the better", |x, mean| {
                mean / newreno.at(x).value.max(lp.at(x).value)
            });
        [
            self.claim(
                "MAR-35a",
                "Westwood-NR is nowhere more than 2 % below the better of LP and NewReno",
                lead.at_least(0.98),
            ),
            self.claim(
                "MAR-35b",
                &format!(
                    "Westwood-NR's lead is greater at error rates from {most_lost} on than below (on average)"
                ),
                Check::of([&lead], |[lead]| {
                    let (above, below) = (lead.only(|x| x >= most_lost), lead.only(|x| x < most_lost));
                    above.average() > below.average()
                }),
            ),
        ]
    }
}

/// Both panels of each rate, its lines the variants over the axis.
fn studies<'a>(
    context: &Context<'_>,
    (axis, xs): (&Axis, &[f64]),
    rates: &[(&'static str, u64)],
    variants: &'a [Variant],
    network: impl Fn(u64, f64, &'a Variant) -> Network<'a>,
) -> Result<Vec<Study>, ExperimentError> {
    let plan = |&(_, rate): &(&str, u64)| {
        variants.iter().fold(Plan::new(axis, xs), |plan, variant| {
            plan.line(variant.id, variant.name, |x| {
                network(rate, x, variant).scenario()
            })
        })
    };
    let plans: Vec<Plan> = rates.iter().map(plan).collect();
    let runs = run(context, &plans)?;
    let study = |(&(letter, rate), runs)| {
        let rate = format!("{rate} Mbit/s");
        Study { letter, rate, runs }
    };
    Ok(rates.iter().zip(runs).map(study).collect())
}

/// Goodputs above, quotients below, and the claims of each study.
fn figure(
    (id, title, caption): (&str, &str, &str),
    studies: &[Study],
    claims: impl Fn(&Study) -> Vec<Claim>,
) -> Outcome {
    let runs: Vec<_> = studies.iter().map(|study| study.runs.clone()).collect();
    let (above, below): (Vec<Panel>, Vec<Panel>) =
        studies.iter().map(|study| study.panels().into()).unzip();
    outcome(id, title, &runs)
        .cells(studies.iter().flat_map(Study::cells))
        .claims(studies.iter().flat_map(claims))
        .captioned(caption, above.into_iter().chain(below))
        .notes(notes())
}

/// Figs 4 and 5: C_SN of these rates, and 10 Mbit/s of radio.
fn independent_losses(
    context: &Context<'_>,
    (id, title): (&str, &str),
    rates: &[(&'static str, u64)],
) -> Result<Outcome, ExperimentError> {
    let variants = variants();
    let axis = Axis::log("packet error rate");
    let studies = studies(
        context,
        (&axis, &RATES),
        rates,
        &variants,
        |rate, per, variant| {
            let rates = (Rate::from_mbps(rate), Rate::from_mbps(10));
            Network::wired_cum_wireless(rates, independent(per), variant)
        },
    )?;
    let caption = "Steady-state goodput over the packet error rate of the wireless link";
    Ok(figure((id, title, caption), &studies, |study| {
        let mut claims = vec![
            study.against_newreno(MAINLY_WIRELESS),
            study.same_without_loss(),
            study.against_bound("MAR-34a", "approaches", 0.90),
        ];
        claims.extend(study.westwood(1e-2));
        claims
    }))
}

/// `mar-fig-4`.
pub(crate) fn fig_4(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let title = "Fig. 4: goodput over packet error rate, 2 and 5 Mbit/s";
    independent_losses(context, ("mar-fig-4", title), &[("(a) ", 2), ("(b) ", 5)])
}

/// `mar-fig-5`.
pub(crate) fn fig_5(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let title = "Fig. 5: goodput over packet error rate, 10 Mbit/s";
    Ok(independent_losses(context, ("mar-fig-5", title), &[("", 10)])?.note(
        "The caption repeats the 2 Mbit/s of Fig. 4(a); the text has 2, 5 and 10 Mbit/s, so this is 10.",
    ))
}

/// `mar-fig-6`.
pub(crate) fn fig_6(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let variants = variants();
    let axis = Axis::linear("packet error rate in the bad state (%)");
    let rates = [("(a) ", 2), ("(b) ", 5)];
    let studies = studies(
        context,
        (&axis, &BAD),
        &rates,
        &variants,
        |rate, bad, variant| {
            let rates = (Rate::from_mbps(10), Rate::from_mbps(rate));
            Network::wired_cum_wireless(rates, correlated(bad / 100.0), variant)
        },
    )?;
    let [slow, fast] = [0, 1].map(|index| {
        let study: &Study = &studies[index];
        let name = format!("LP/NewReno at {}", study.rate);
        study.of_newreno().only(|bad| bad >= 20.0).named(&name)
    });
    let names = (
        "mar-fig-6",
        "Fig. 6: goodput with correlated losses, wireless link of 2 and 5 Mbit/s",
        "Steady-state goodput with correlated losses",
    );
    let outcome = figure(names, &studies, |study| {
        let mut claims = vec![
            study.against_newreno(20.0),
            study.same_without_loss(),
            study.against_bound("MAR-34b", "practically overlaps", 0.95),
        ];
        claims.extend(study.westwood(50.0));
        claims
    });
    Ok(outcome
        .claim(
            "MAR-36a",
            "LP gains more over NewReno at 5 than at 2 Mbit/s, wherever at least 20 % are lost in the bad state",
            Check::of([&slow, &fast], |[slow, fast]| {
                slow.means().all(|(x, slow)| fast.at(x).value > slow.value)
            }),
        )
        .note(
            "The wireless link has the stated capacity and the wired one 10 Mbit/s; the paper does not say (MAR-A2). The link \
             is good for 1 s and bad for 50 ms on average.",
        ))
}

/// `mar-fig-7`.
pub(crate) fn fig_7(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let variants = variants();
    let axis = Axis::linear("round-trip time (ms)");
    let rates = [("(a) ", 2), ("(b) ", 5)];
    let studies = studies(
        context,
        (&axis, &RTTS),
        &rates,
        &variants[..3],
        |rate, rtt, variant| {
            let rtt = Duration::from_millis(rtt as i64);
            Network::single(Rate::from_mbps(rate), rtt, independent(LOSS), vec![variant])
        },
    )?;
    let names = (
        "mar-fig-7",
        "Fig. 7: goodput over round-trip time, 0.5 % loss",
        "Steady-state goodput over a single link that loses 0.5 %",
    );
    let outcome = figure(names, &studies, |study| {
        let gain = study
            .of_newreno()
            .only(|rtt| [50.0, 100.0, 200.0, 500.0].contains(&rtt));
        vec![
            study.against_newreno(0.0),
            study.against_bound("MAR-34c", "practically overlaps", 0.95),
            study.claim(
                "MAR-36b",
                "LP gains more over NewReno the longer the round trip (50, 100, 200, 500 ms)",
                gain.rises(),
            ),
        ]
    });
    Ok(outcome.note(
        "The paper prints no range of round-trip times; the queue is the bandwidth-delay product of each.",
    ))
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
