//! Section 10: IFTPV in six scenarios (Figs 21 to 38, ELA-23 … -28, claims ELA-42 … -47), 60 runs of 10 s.
//!
//! | scenario | flows | over | buffers |
//! |---|---|---|---|
//! | 1 | UDP, TCP, IFTP, IFTPV, each alone | BER | infinite |
//! | 2 | all four together | BER | 50K |
//! | 3 | UDP, TCP, IFTPV at a BER of 1e-5 | UDP's rate | 50K |
//! | 4 | TCP, IFTP, IFTPV | BER | 50K |
//! | 5 | IFTP-W (512 of 1464 bytes), IFTPV (1464) | BER | 50K |
//! | 6 | the same at a BER of 1e-4 | IFTP-W's coverage | 50K |
//!
//! Each is read in four ways (scenario 1, where nobody shares anything, in two): see `network`; `settings` has
//! the networks.

use super::decide::{alive, better, ratio, within};
use super::network::{CALIBRATED_BITS, Errors, Medium};
use super::protocols::{HEADER, VIDEO};
use super::settings::{BER_6, FIVE, FOUR, ONE, Reading, SIX, Setting, THREE, TWO, title};
use super::study::{Metric, Study, View, average, place, short};
use whyloss_study::Weight;
use whyloss_study::{Claim, Outcome};
use whyloss_study::{Context, ExperimentError};

const JITTER: &[Metric] = &[Metric::Deviation, Metric::Variance];
const THROUGHPUT: &[Metric] = &[Metric::Throughput];
const GOODPUT: &[Metric] = &[Metric::Goodput];

fn figure(
    context: &Context<'_>,
    (number, what): (u32, &str),
    setting: Setting,
    metrics: &[Metric],
    claims: fn(&View, Reading) -> Vec<Claim>,
) -> Result<Outcome, ExperimentError> {
    let panels = setting.readings.iter().map(|&reading| {
        let mut plans = (setting.plans)(reading);
        // The paper leaves UDP out of these figures, so that the others can be told apart.
        for plan in &mut plans {
            plan.drawn = plan.id != "udp";
        }
        (title(reading), plans)
    });
    let study = Study::measure(context, setting.xs, panels.collect())?;
    let views = study.views.iter().zip(setting.readings);
    let claims = views
        .flat_map(|(view, &reading)| {
            let weight = if reading == setting.named() {
                Weight::Counted
            } else {
                Weight::Beside
            };
            let claims = claims(view, reading);
            claims.into_iter().map(move |claim| claim.weighing(weight))
        })
        .collect();
    let notes = vec![
        "\"labelled\": an error per bit with the probability that the label says; \"calibrated\": a whole packet is lost with \
         1 − e^(−88·BER), as Tables 1 and 2 say. \"own links\": a wireless link of 1 Mbit/s for each client; \"shared\": one \
         for all. Runs of 10 s. A sentence counts in the reading that the paper's words name, and is shown beside it in the \
         others: the error rate is the labelled one, and where flows \"fight for bandwidth\" (scenarios 2 to 6) the medium is \
         shared."
            .into(),
    ];
    let id = format!("ela-fig-{number}");
    let title = format!("Fig. {number}: {what}");
    Ok(study.outcome((&id, &title), setting.axis, metrics, claims, notes))
}

/// `ela-fig-21`.
pub(crate) fn fig_21(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (21, "throughput of each protocol alone");
    figure(context, what, ONE, THROUGHPUT, |view, _| {
        let others = ["tcp", "iftp", "iftpv"];
        // The others come to 0.87 of the link at best, so "much" cannot mean twice where hardly anything is lost.
        let udp_over = |id: &str, index| {
            let mean = |id: &str| view.mean(id, Metric::Throughput, index);
            mean("udp") / mean(id)
        };
        let much = others.iter().all(|id| {
            view.all().iter().all(|&i| udp_over(id, i) > 1.0)
                && view
                    .within(1e-5, 1e-3)
                    .iter()
                    .all(|&i| udp_over(id, i) >= 2.0)
        });
        let low = view.within(0.0, 3e-6);
        let over_tcp = |claim: &str, id: &str| {
            let name = view.name(id);
            let mean = |id: &str, i| view.mean(id, Metric::Throughput, i);
            let holds = low.iter().all(|&i| mean(id, i) > mean("tcp", i));
            let text = format!("{name} outperforms TCP at every BER below 1e-5");
            view.claim(
                claim,
                &text,
                holds,
                view.evidence(&[id, "tcp"], Metric::Throughput),
            )
        };
        vec![
            view.claim(
                "ELA-42a",
                "UDP's throughput is much higher than the others' (higher at every BER, at least twice from 1e-5 up)",
                much,
                view.evidence(&["udp", "tcp", "iftp", "iftpv"], Metric::Throughput),
            ),
            iftpv_better(view, "ELA-42b"),
            over_tcp("ELA-42c", "iftp"),
            over_tcp("ELA-42c", "iftpv"),
        ]
    })
}

/// `ela-fig-22`.
pub(crate) fn fig_22(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (22, "goodput of each protocol alone");
    figure(context, what, ONE, GOODPUT, |view, _| {
        let printed = [1e-3, 1e-4, 1e-5, 1e-6].map(|ber| view.at(ber));
        let mean = |id: &str| average(&printed.map(|index| view.mean(id, Metric::Goodput, index)));
        let (iftpv, udp) = (mean("iftpv"), mean("udp"));
        vec![
            like_tcp(view, "ELA-42d"),
            within(
                view,
                ("ELA-42e", "IFTPV's goodput is very similar to IFTP's (within 0.005)"),
                ("iftpv", "iftp"),
                Metric::Goodput,
                0.005,
            ),
            view.claim(
                "ELA-42f",
                "on average over the BERs of Table 1, IFTPV's goodput is better than UDP's (by 0.005 at least)",
                iftpv >= udp + 0.005,
                format!("{iftpv:.4} and {udp:.4}"),
            ),
        ]
    })
}

/// `ela-fig-23`.
pub(crate) fn fig_23(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (23, "jitter of each protocol alone");
    figure(context, what, ONE, JITTER, |view, _| {
        let low = |id: &str| {
            let name = view.name(id);
            let mean = |id: &str, i| view.mean(id, Metric::Deviation, i);
            let places = alive(view, &[id, "udp", "tcp"]);
            let holds = !places.is_empty()
                && places
                    .iter()
                    .all(|&i| mean(id, i) < mean("udp", i) && mean(id, i) < mean("tcp", i));
            let text = format!(
                "{name}'s jitter is low (below UDP's and TCP's, wherever 10 kbit/s get through)"
            );
            view.claim(
                "ELA-42g",
                &text,
                holds,
                view.evidence(&[id, "udp", "tcp"], Metric::Deviation),
            )
        };
        vec![low("iftp"), low("iftpv")]
    })
}

/// `ela-fig-24`.
pub(crate) fn fig_24(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (24, "throughput of four protocols that compete");
    figure(context, what, TWO, THROUGHPUT, |view, _| {
        vec![iftpv_better(view, "ELA-43a")]
    })
}

/// `ela-fig-25`.
pub(crate) fn fig_25(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (25, "goodput of four protocols that compete");
    figure(context, what, TWO, GOODPUT, |view, _| {
        vec![like_tcp(view, "ELA-43b")]
    })
}

/// `ela-fig-26`.
pub(crate) fn fig_26(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (26, "jitter of four protocols that compete");
    figure(context, what, TWO, JITTER, |view, _| {
        vec![low_jitter(view, "ELA-43c")]
    })
}

/// `ela-fig-27`.
pub(crate) fn fig_27(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (27, "throughput of TCP and IFTPV over UDP's rate");
    figure(context, what, THREE, THROUGHPUT, |view, (_, medium)| {
        let mean = |id: &str, i| view.mean(id, Metric::Throughput, i);
        let places = view.all();
        let below = places
            .iter()
            .filter(|&&i| mean("iftpv", i) < mean("tcp", i))
            .count();
        let mut claims = vec![
            ratio(
                view,
                (
                    "ELA-44a",
                    "IFTPV is TCP-friendly: between two thirds and one and a half times TCP's throughput at every rate of UDP",
                ),
                ("iftpv", "tcp"),
                Metric::Throughput,
                &places,
                (2.0 / 3.0, 1.5),
            ),
            view.claim(
                "ELA-44b",
                "IFTPV's throughput is mostly less than TCP's (at more than half of the rates), but can be greater (at one at least)",
                2 * below > places.len() && below < places.len(),
                format!(
                    "less at {below} of {} rates; {}",
                    places.len(),
                    view.evidence(&["tcp", "iftpv"], Metric::Throughput)
                ),
            ),
        ];
        if medium == Medium::Shared {
            let used: Vec<f64> = places
                .iter()
                .map(|&i| mean("udp", i) + mean("tcp", i) + mean("iftpv", i))
                .collect();
            let listed: Vec<String> = used.iter().map(|used| short(*used)).collect();
            claims.push(view.claim(
                "ELA-44c",
                "the link's utilisation lies between 60 and 100 % at every rate",
                used.iter().all(|used| (0.6..=1.0).contains(used)),
                format!("Mbit/s of 1: {}", listed.join(", ")),
            ));
        }
        claims
    })
}

/// `ela-fig-28`.
pub(crate) fn fig_28(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (28, "goodput of TCP and IFTPV over UDP's rate");
    figure(context, what, THREE, GOODPUT, |_, _| Vec::new())
}

/// `ela-fig-29`.
pub(crate) fn fig_29(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (29, "jitter of TCP and IFTPV over UDP's rate");
    figure(context, what, THREE, JITTER, |view, _| {
        vec![low_jitter(view, "ELA-44d")]
    })
}

/// `ela-fig-30`.
pub(crate) fn fig_30(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (30, "throughput of TCP, IFTP and IFTPV without UDP");
    figure(context, what, FOUR, THROUGHPUT, |view, _| {
        let mean = |id: &str, i| view.mean(id, Metric::Throughput, i);
        let high = view.within(1e-5, 1e-3);
        let over_high = |id: &str| {
            let means: Vec<f64> = high.iter().map(|&i| mean(id, i)).collect();
            average(&means)
        };
        let clean = view.at(1e-7);
        let evidence = view.evidence(&["tcp", "iftp", "iftpv"], Metric::Throughput);
        vec![
            iftpv_better(view, "ELA-45a"),
            view.claim(
                "ELA-45b",
                "from 1e-3 to 1e-5, IFTPV's throughput is on average lower than TCP's",
                over_high("iftpv") < over_high("tcp"),
                format!(
                    "{} and {} Mbit/s; {evidence}",
                    short(over_high("iftpv")),
                    short(over_high("tcp"))
                ),
            ),
            view.claim(
                "ELA-45c",
                "as BER falls IFTPV's throughput eventually surpasses TCP's (at 1e-7)",
                mean("iftpv", clean) > mean("tcp", clean),
                evidence,
            ),
            ratio(
                view,
                (
                    "ELA-45d",
                    "IFTPV and TCP share fairly (between half of and twice TCP's throughput, wherever 10 kbit/s get through)",
                ),
                ("iftpv", "tcp"),
                Metric::Throughput,
                &alive(view, &["iftpv", "tcp"]),
                (0.5, 2.0),
            ),
        ]
    })
}

/// `ela-fig-31`.
pub(crate) fn fig_31(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (31, "goodput of TCP, IFTP and IFTPV without UDP");
    figure(context, what, FOUR, GOODPUT, |view, _| {
        vec![like_tcp(view, "ELA-45e")]
    })
}

/// `ela-fig-32`.
pub(crate) fn fig_32(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (32, "jitter of TCP, IFTP and IFTPV without UDP");
    figure(context, what, FOUR, JITTER, |view, _| {
        vec![low_jitter(view, "ELA-45f")]
    })
}

/// `ela-fig-33`.
pub(crate) fn fig_33(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (33, "throughput of IFTP-W and IFTPV");
    figure(context, what, FIVE, THROUGHPUT, |view, _| {
        let words = (
            "ELA-46a",
            "IFTPV outperforms IFTP-W in throughput (nowhere below by more than 1 %, somewhere 5 % above)",
        );
        vec![better(view, words, ("iftpv", "iftp-w"), &view.all())]
    })
}

/// `ela-fig-34`.
pub(crate) fn fig_34(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (34, "goodput of IFTP-W and IFTPV");
    figure(context, what, FIVE, GOODPUT, |view, _| {
        vec![greater_goodput(view, "ELA-46b")]
    })
}

/// `ela-fig-35`.
pub(crate) fn fig_35(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (35, "jitter of IFTP-W and IFTPV");
    figure(context, what, FIVE, JITTER, |view, _| {
        vec![lower_jitter(view, "ELA-46c")]
    })
}

/// `ela-fig-36`.
pub(crate) fn fig_36(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (
        36,
        "throughput of IFTPV and IFTP-W over the sensitive length",
    );
    figure(context, what, SIX, THROUGHPUT, |view, (errors, _)| {
        let mean = |id: &str, i| view.mean(id, Metric::Throughput, i);
        let holds = view
            .all()
            .into_iter()
            .all(|i| mean("iftpv", i) > mean("iftp-w", i));
        vec![view.claim(
            "ELA-47a",
            "IFTPV's throughput is greater than IFTP-W's whatever the length of the sensitive section",
            holds,
            format!(
                "{}; {}",
                loss_rates(errors),
                view.evidence(&["iftpv", "iftp-w"], Metric::Throughput)
            ),
        )]
    })
}

/// `ela-fig-37`.
pub(crate) fn fig_37(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (37, "goodput of IFTPV and IFTP-W over the sensitive length");
    figure(context, what, SIX, GOODPUT, |view, _| {
        vec![greater_goodput(view, "ELA-47b")]
    })
}

/// `ela-fig-38`.
pub(crate) fn fig_38(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (38, "jitter of IFTPV and IFTP-W over the sensitive length");
    figure(context, what, SIX, JITTER, |view, _| {
        vec![lower_jitter(view, "ELA-47c")]
    })
}

/// What scenario 6's packets meet, and what a rate that halves at every loss could be.
fn loss_rates(errors: Errors) -> String {
    let bits = |coverage: u32| match errors {
        Errors::Labelled => f64::from(8 * coverage),
        Errors::Calibrated => CALIBRATED_BITS * f64::from(coverage) / f64::from(VIDEO),
    };
    let loss = |coverage| -libm::expm1(-bits(coverage) * BER_6);
    let packets = |coverage| libm::sqrt(1.5 / loss(coverage));
    let [least, whole] = [HEADER, VIDEO];
    format!(
        "at {} of IFTPV's packets {:.4} are lost, of IFTP-W's with {least} sensitive bytes {:.5}; √(3/2p) is {:.1} and {:.1} \
         packets in a round trip",
        place(BER_6),
        loss(whole),
        loss(least),
        packets(whole),
        packets(least)
    )
}

fn iftpv_better(view: &View, claim: &str) -> Claim {
    let words = (
        claim,
        "IFTPV maintains a better throughput than IFTP (nowhere below by more than 1 %, somewhere 5 % above)",
    );
    better(view, words, ("iftpv", "iftp"), &view.all())
}

fn like_tcp(view: &View, claim: &str) -> Claim {
    let words = (
        claim,
        "IFTPV's goodput is within 0.1 % of TCP's at every BER",
    );
    within(view, words, ("iftpv", "tcp"), Metric::Goodput, 0.001)
}

fn low_jitter(view: &View, claim: &str) -> Claim {
    let words = (
        claim,
        "TCP's jitter is very high against IFTPV's (twice its standard deviation at least, wherever 10 kbit/s get through)",
    );
    let places = alive(view, &["iftpv", "tcp"]);
    ratio(
        view,
        words,
        ("tcp", "iftpv"),
        Metric::Deviation,
        &places,
        (2.0, f64::INFINITY),
    )
}

/// IFTP-W's goodput is greater.
fn greater_goodput(view: &View, claim: &str) -> Claim {
    let mean = |id: &str, i| view.mean(id, Metric::Goodput, i);
    let holds = view.all().into_iter().all(|i| {
        // At full coverage, and without a lost packet, they are the same.
        let slack = 0.001;
        mean("iftpv", i).is_nan() || mean("iftp-w", i) >= mean("iftpv", i) - slack
    });
    let first = mean("iftp-w", 0) > mean("iftpv", 0);
    view.claim(
        claim,
        "IFTP-W's goodput is greater than IFTPV's (nowhere below by more than 0.001, and above at the highest BER or the least coverage)",
        holds && first,
        view.evidence(&["iftp-w", "iftpv"], Metric::Goodput),
    )
}

fn lower_jitter(view: &View, claim: &str) -> Claim {
    let mean = |id: &str, i| view.mean(id, Metric::Deviation, i);
    let places = alive(view, &["iftpv", "iftp-w"]);
    let holds = !places.is_empty() && places.iter().all(|&i| mean("iftpv", i) < mean("iftp-w", i));
    view.claim(
        claim,
        "IFTPV's jitter is lower than IFTP-W's, wherever 10 kbit/s get through",
        holds,
        view.evidence(&["iftpv", "iftp-w"], Metric::Deviation),
    )
}
