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

use whyloss_study::{Check, Claim, Context, ExperimentError, Line, Metric, Outcome, Weight};

use super::decide::{alive, at, better, everywhere, listed, ratio, within};
use super::measure::{
    self, DEVIATION, FlowRun, GOODPUT, Reading, THROUGHPUT, VARIANCE, measure, place, short,
};
use super::network::{CALIBRATED_BITS, Errors, Medium};
use super::protocols::{HEADER, VIDEO};
use super::settings::{self, BER_6, FIVE, FOUR, ONE, SIX, Setting, THREE, TWO, title};

const JITTER: &[Metric<FlowRun>] = &[DEVIATION, VARIANCE];

fn figure(
    context: &Context<'_>,
    (number, what): (u32, &str),
    setting: Setting,
    metrics: &[Metric<FlowRun>],
    claims: fn(&Reading, settings::Reading) -> Vec<Claim>,
) -> Result<Outcome, ExperimentError> {
    let reading = |&reading: &settings::Reading| {
        let weight = if reading == setting.named() {
            Weight::Counted
        } else {
            Weight::Beside
        };
        (title(reading), weight, (setting.plan)(reading))
    };
    let readings = measure(context, setting.readings.iter().map(reading).collect())?;
    let each = readings.iter().zip(setting.readings);
    let claims = each.flat_map(|(reading, &of)| claims(reading, of));
    let (id, title) = (
        format!("ela-fig-{number}"),
        format!("Fig. {number}: {what}"),
    );
    // The paper leaves UDP out of these figures, so that the others can be told apart.
    Ok(measure::outcome((&id, &title), &readings, metrics, Some("udp")).claims(claims).note(
        "\"labelled\": an error per bit with the probability that the label says; \"calibrated\": a whole packet is lost with \
         1 − e^(−88·BER), as Tables 1 and 2 say. \"own links\": a wireless link of 1 Mbit/s for each client; \"shared\": one \
         for all. Runs of 10 s. A sentence counts in the reading that the paper's words name, and is shown beside it in the \
         others: the error rate is the labelled one, and where flows \"fight for bandwidth\" (scenarios 2 to 6) the medium is \
         shared.",
    ))
}

/// `ela-fig-21`.
pub(crate) fn fig_21(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (21, "throughput of each protocol alone");
    figure(context, what, ONE, &[THROUGHPUT], |reading, _| {
        let ids = ["udp", "tcp", "iftp", "iftpv"];
        let much = reading.check(ids, &THROUGHPUT, |[udp, others @ ..]| {
            // The others come to 0.87 of the link at best, so "much" cannot mean twice where hardly anything is lost.
            let lossy = udp.only(|ber| ber >= 0.9e-5);
            others.into_iter().all(|other| {
                everywhere(udp, other, |udp, other| udp / other > 1.0)
                    && everywhere(&lossy, other, |udp, other| udp / other >= 2.0)
            })
        });
        let over_tcp = reading.check(
            ["iftp", "iftpv", "tcp"],
            &THROUGHPUT,
            |[iftp, iftpv, tcp]| {
                let over = |own: &Line| {
                    let low = own.only(|ber| ber <= 3.1e-6);
                    everywhere(&low, tcp, |own, tcp| own > tcp)
                };
                over(iftp) && over(iftpv)
            },
        );
        vec![
            reading.claim(
                "ELA-42a",
                "UDP's throughput is much higher than the others' (higher at every BER, at least twice from 1e-5 up)",
                much,
            ),
            iftpv_better(reading, "ELA-42b"),
            reading.claim(
                "ELA-42c",
                "IFTP and IFTPV outperform TCP at every BER below 1e-5",
                over_tcp,
            ),
        ]
    })
}

/// `ela-fig-22`.
pub(crate) fn fig_22(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (22, "goodput of each protocol alone");
    figure(context, what, ONE, &[GOODPUT], |reading, _| {
        let printed = |id: &str| {
            let line = reading.line(id, &GOODPUT);
            let rates = [1e-3, 1e-4, 1e-5, 1e-6].map(|ber| at(&line, ber));
            rates.iter().sum::<f64>() / rates.len() as f64
        };
        let (iftpv, udp) = (printed("iftpv"), printed("udp"));
        vec![
            like_tcp(reading, "ELA-42d"),
            reading.claim(
                "ELA-42e",
                "IFTPV's goodput is very similar to IFTP's (within 0.005)",
                within(reading, ["iftpv", "iftp"], &GOODPUT, 0.005),
            ),
            reading.claim(
                "ELA-42f",
                "on average over the BERs of Table 1, IFTPV's goodput is better than UDP's (by 0.005 at least)",
                Check {
                    holds: iftpv >= udp + 0.005,
                    evidence: format!("{iftpv:.4} and {udp:.4}"),
                },
            ),
        ]
    })
}

/// `ela-fig-23`.
pub(crate) fn fig_23(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (23, "jitter of each protocol alone");
    figure(context, what, ONE, JITTER, |reading, _| {
        let ids = ["iftp", "iftpv", "udp", "tcp"];
        let low = reading.check(ids, &DEVIATION, |[iftp, iftpv, udp, tcp]| {
            let low = |own: &Line| {
                let own = alive(reading, &[&own.id, "udp", "tcp"], own);
                let below = |other| everywhere(&own, other, |own, other| own < other);
                below(udp) && below(tcp)
            };
            low(iftp) && low(iftpv)
        });
        vec![reading.claim(
            "ELA-42g",
            "IFTP's and IFTPV's jitter is low (below UDP's and TCP's, wherever 10 kbit/s get through)",
            low,
        )]
    })
}

/// `ela-fig-24`.
pub(crate) fn fig_24(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (24, "throughput of four protocols that compete");
    figure(context, what, TWO, &[THROUGHPUT], |reading, _| {
        vec![iftpv_better(reading, "ELA-43a")]
    })
}

/// `ela-fig-25`.
pub(crate) fn fig_25(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (25, "goodput of four protocols that compete");
    figure(context, what, TWO, &[GOODPUT], |reading, _| {
        vec![like_tcp(reading, "ELA-43b")]
    })
}

/// `ela-fig-26`.
pub(crate) fn fig_26(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (26, "jitter of four protocols that compete");
    figure(context, what, TWO, JITTER, |reading, _| {
        vec![low_jitter(reading, "ELA-43c")]
    })
}

/// `ela-fig-27`.
pub(crate) fn fig_27(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (27, "throughput of TCP and IFTPV over UDP's rate");
    figure(
        context,
        what,
        THREE,
        &[THROUGHPUT],
        |reading, (_, medium)| {
            let [udp, tcp, iftpv] = reading.lines(["udp", "tcp", "iftpv"], &THROUGHPUT);
            let rates = iftpv.means().count();
            let below = iftpv
                .means()
                .filter(|(x, mean)| mean.value < at(&tcp, *x))
                .count();
            let mostly = reading.check(["tcp", "iftpv"], &THROUGHPUT, |_| {
                2 * below > rates && below < rates
            });
            let evidence = format!("less at {below} of {rates} rates; {}", mostly.evidence);
            let mut claims = vec![
            reading.claim(
                "ELA-44a",
                "IFTPV is TCP-friendly: between two thirds and one and a half times TCP's throughput at every rate of UDP",
                ratio(&iftpv, &tcp, (2.0 / 3.0, 1.5)),
            ),
            reading.claim(
                "ELA-44b",
                "IFTPV's throughput is mostly less than TCP's (at more than half of the rates), but can be greater (at one at least)",
                mostly.put(evidence),
            ),
        ];
            if medium == Medium::Shared {
                let used = udp.by_mean("", |x, mean| mean + at(&tcp, x) + at(&iftpv, x));
                claims.push(reading.claim(
                    "ELA-44c",
                    "the link's utilisation lies between 60 and 100 % at every rate",
                    Check {
                        holds: used.every(|used| (0.6..=1.0).contains(&used)),
                        evidence: format!(
                            "Mbit/s of 1: {}",
                            listed(used.means().map(|(_, mean)| mean.value))
                        ),
                    },
                ));
            }
            claims
        },
    )
}

/// `ela-fig-28`.
pub(crate) fn fig_28(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (28, "goodput of TCP and IFTPV over UDP's rate");
    figure(context, what, THREE, &[GOODPUT], |_, _| Vec::new())
}

/// `ela-fig-29`.
pub(crate) fn fig_29(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (29, "jitter of TCP and IFTPV over UDP's rate");
    figure(context, what, THREE, JITTER, |reading, _| {
        vec![low_jitter(reading, "ELA-44d")]
    })
}

/// `ela-fig-30`.
pub(crate) fn fig_30(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (30, "throughput of TCP, IFTP and IFTPV without UDP");
    figure(context, what, FOUR, &[THROUGHPUT], |reading, _| {
        let ids = ["tcp", "iftp", "iftpv"];
        let [tcp, _, iftpv] = reading.lines(ids, &THROUGHPUT);
        let [own, other] = [&iftpv, &tcp].map(|line| line.only(|ber| ber >= 0.9e-5).average());
        let lower = reading.check(ids, &THROUGHPUT, |_| own < other);
        let evidence = format!(
            "{} and {} Mbit/s; {}",
            short(own),
            short(other),
            lower.evidence
        );
        let surpasses = reading.check(ids, &THROUGHPUT, |[tcp, _, iftpv]| {
            at(iftpv, 1e-7) > at(tcp, 1e-7)
        });
        let living = alive(reading, &["iftpv", "tcp"], &iftpv);
        vec![
            iftpv_better(reading, "ELA-45a"),
            reading.claim(
                "ELA-45b",
                "from 1e-3 to 1e-5, IFTPV's throughput is on average lower than TCP's",
                lower.put(evidence),
            ),
            reading.claim(
                "ELA-45c",
                "as BER falls IFTPV's throughput eventually surpasses TCP's (at 1e-7)",
                surpasses,
            ),
            reading.claim(
                "ELA-45d",
                "IFTPV and TCP share fairly (between half of and twice TCP's throughput, wherever 10 kbit/s get through)",
                ratio(&living, &tcp, (0.5, 2.0)),
            ),
        ]
    })
}

/// `ela-fig-31`.
pub(crate) fn fig_31(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (31, "goodput of TCP, IFTP and IFTPV without UDP");
    figure(context, what, FOUR, &[GOODPUT], |reading, _| {
        vec![like_tcp(reading, "ELA-45e")]
    })
}

/// `ela-fig-32`.
pub(crate) fn fig_32(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (32, "jitter of TCP, IFTP and IFTPV without UDP");
    figure(context, what, FOUR, JITTER, |reading, _| {
        vec![low_jitter(reading, "ELA-45f")]
    })
}

/// `ela-fig-33`.
pub(crate) fn fig_33(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (33, "throughput of IFTP-W and IFTPV");
    figure(context, what, FIVE, &[THROUGHPUT], |reading, _| {
        vec![reading.claim(
            "ELA-46a",
            "IFTPV outperforms IFTP-W in throughput (nowhere below by more than 1 %, somewhere 5 % above)",
            better(reading, ["iftpv", "iftp-w"]),
        )]
    })
}

/// `ela-fig-34`.
pub(crate) fn fig_34(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (34, "goodput of IFTP-W and IFTPV");
    figure(context, what, FIVE, &[GOODPUT], |reading, _| {
        vec![greater_goodput(reading, "ELA-46b")]
    })
}

/// `ela-fig-35`.
pub(crate) fn fig_35(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (35, "jitter of IFTP-W and IFTPV");
    figure(context, what, FIVE, JITTER, |reading, _| {
        vec![lower_jitter(reading, "ELA-46c")]
    })
}

/// `ela-fig-36`.
pub(crate) fn fig_36(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (
        36,
        "throughput of IFTPV and IFTP-W over the sensitive length",
    );
    figure(context, what, SIX, &[THROUGHPUT], |reading, (errors, _)| {
        let greater = reading.check(["iftpv", "iftp-w"], &THROUGHPUT, |[a, b]| {
            everywhere(a, b, |a, b| a > b)
        });
        let evidence = format!("{}; {}", loss_rates(errors), greater.evidence);
        vec![reading.claim(
            "ELA-47a",
            "IFTPV's throughput is greater than IFTP-W's whatever the length of the sensitive section",
            greater.put(evidence),
        )]
    })
}

/// `ela-fig-37`.
pub(crate) fn fig_37(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (37, "goodput of IFTPV and IFTP-W over the sensitive length");
    figure(context, what, SIX, &[GOODPUT], |reading, _| {
        vec![greater_goodput(reading, "ELA-47b")]
    })
}

/// `ela-fig-38`.
pub(crate) fn fig_38(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (38, "jitter of IFTPV and IFTP-W over the sensitive length");
    figure(context, what, SIX, JITTER, |reading, _| {
        vec![lower_jitter(reading, "ELA-47c")]
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

fn iftpv_better(reading: &Reading, claim: &str) -> Claim {
    reading.claim(
        claim,
        "IFTPV maintains a better throughput than IFTP (nowhere below by more than 1 %, somewhere 5 % above)",
        better(reading, ["iftpv", "iftp"]),
    )
}

fn like_tcp(reading: &Reading, claim: &str) -> Claim {
    reading.claim(
        claim,
        "IFTPV's goodput is within 0.1 % of TCP's at every BER",
        within(reading, ["iftpv", "tcp"], &GOODPUT, 0.001),
    )
}

fn low_jitter(reading: &Reading, claim: &str) -> Claim {
    let [tcp, iftpv] = reading.lines(["tcp", "iftpv"], &DEVIATION);
    let tcp = alive(reading, &["iftpv", "tcp"], &tcp);
    reading.claim(
        claim,
        "TCP's jitter is very high against IFTPV's (twice its standard deviation at least, wherever 10 kbit/s get through)",
        ratio(&tcp, &iftpv, (2.0, f64::INFINITY)),
    )
}

/// IFTP-W's goodput is greater.
fn greater_goodput(reading: &Reading, claim: &str) -> Claim {
    let check = reading.check(["iftp-w", "iftpv"], &GOODPUT, |[tolerant, other]| {
        let first = reading.runs.xs()[0];
        // At full coverage, and without a lost packet, they are the same.
        everywhere(tolerant, other, |own, other| {
            other.is_nan() || own >= other - 0.001
        }) && at(tolerant, first) > at(other, first)
    });
    reading.claim(
        claim,
        "IFTP-W's goodput is greater than IFTPV's (nowhere below by more than 0.001, and above at the highest BER or the least coverage)",
        check,
    )
}

fn lower_jitter(reading: &Reading, claim: &str) -> Claim {
    let check = reading.check(["iftpv", "iftp-w"], &DEVIATION, |[own, other]| {
        let own = alive(reading, &["iftpv", "iftp-w"], own);
        everywhere(&own, other, |own, other| own < other)
    });
    reading.claim(
        claim,
        "IFTPV's jitter is lower than IFTP-W's, wherever 10 kbit/s get through",
        check,
    )
}
