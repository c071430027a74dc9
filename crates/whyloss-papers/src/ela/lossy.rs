//! Sections 6 and 8: UDP, TCP, IFTP, and later IFTP-W, over links of their own with bit errors (Figs 2 to 5 and 9 to 12,
//! ELA-18, -20; claims ELA-31, -34 … -36, -38).
//!
//! Section 6 states neither how long nor how often it ran: Section 8's 120 s and ten runs.

use super::decide::{alive, within};
use super::network::Network;
use super::probability;
use super::protocols::{HEADER, PACKET, Protocol, UDP_RATE};
use super::study::{BER, Metric, RATES, Study, View, place, short, together};
use whyloss_study::{Claim, Outcome};
use whyloss_study::{Context, ExperimentError};

/// The protocols of Section 6.
fn three() -> Vec<Protocol> {
    vec![
        Protocol::udp(UDP_RATE),
        Protocol::tcp(),
        Protocol::iftp(PACKET),
    ]
}

/// The protocols of Section 8.
fn four() -> Vec<Protocol> {
    let mut protocols = three();
    protocols.push(Protocol::iftp_w(PACKET, HEADER));
    protocols
}

/// The note of every figure.
const NETWORK: &str = "Every client has its own wireless link of 1 Mbit/s with an infinite buffer, as Fig. 1 draws it; 120 s each. UDP \
         sends 1 Mbit/s in the mean over 1 Mbit/s, so its queue wanders. The paper draws this figure without printing its \
         data.";

fn figure(
    context: &Context<'_>,
    identity: (&str, &str),
    protocols: fn() -> Vec<Protocol>,
    metrics: &[Metric],
    claims: fn(&View) -> Vec<Claim>,
) -> Result<Outcome, ExperimentError> {
    let plans = together(&RATES, |ber| Network::one_router(ber, protocols()));
    let study = Study::measure(context, &RATES, vec![(String::new(), plans)])?;
    let claims = claims(study.first());
    let notes = vec![NETWORK.into()];
    Ok(study.outcome(identity, BER, metrics, claims, notes))
}

const JITTER: &[Metric] = &[Metric::Variance, Metric::Deviation];

/// `ela-fig-2`.
pub(crate) fn fig_2(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let identity = (
        "ela-fig-2",
        "Fig. 2: throughput over the bit error rate, Section 6",
    );
    figure(context, identity, three, &[Metric::Throughput], throughput)
}

/// `ela-fig-3`.
pub(crate) fn fig_3(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let identity = (
        "ela-fig-3",
        "Fig. 3: goodput over the bit error rate, Section 6",
    );
    figure(context, identity, three, &[Metric::Goodput], |view| {
        let mut claims = same_goodput(view, "ELA-35");
        claims.push(probability::claim(view, &whole(&["udp", "tcp", "iftp"])));
        claims
    })
}

/// `ela-fig-4`.
pub(crate) fn fig_4(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let identity = (
        "ela-fig-4",
        "Fig. 4: delay over the bit error rate, Section 6",
    );
    figure(context, identity, three, &[Metric::Delay], delay)
}

/// `ela-fig-5`.
pub(crate) fn fig_5(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let identity = (
        "ela-fig-5",
        "Fig. 5: jitter over the bit error rate, Section 6",
    );
    figure(context, identity, three, JITTER, jitter)
}

/// `ela-fig-9`.
pub(crate) fn fig_9(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let identity = (
        "ela-fig-9",
        "Fig. 9: throughput over the bit error rate, with IFTP-W",
    );
    let reading = |name: &str, errors_in_acks| {
        let plans = together(&RATES, |ber| Network {
            errors_in_acks,
            ..Network::one_router(ber, four())
        });
        (name.to_owned(), plans)
    };
    let panels = vec![
        reading("acknowledgements with errors", true),
        reading("acknowledgements without errors", false),
    ];
    let study = Study::measure(context, &RATES, panels)?;
    let claims = study.views.iter().flat_map(improvement).collect();
    let notes = vec![
        NETWORK.into(),
        "The paper does not say whether errors befall acknowledgements. An acknowledgement of IFTP stands for one packet, so a \
         lost one looks like a lost packet: with 40 sensitive bytes of data, and 40 in each acknowledgement, errors in \
         acknowledgements double IFTP-W's losses. The second reading was added after the first runs."
            .into(),
    ];
    Ok(study.outcome(identity, BER, &[Metric::Throughput], claims, notes))
}

/// ELA-31 and the improvement of IFTP-W over IFTP.
fn improvement(view: &View) -> Vec<Claim> {
    let at = view.at(1e-5);
    let mean = |id: &str| view.mean(id, Metric::Throughput, at);
    let (tolerant, plain) = (mean("iftp-w"), mean("iftp"));
    vec![
        view.claim(
            "ELA-31a",
            "at a BER of 1e-5 IFTP-W keeps more than 0.8 Mbit/s",
            tolerant > 0.8,
            format!("{} Mbit/s; {}", short(tolerant), law(HEADER)),
        ),
        view.claim(
            "ELA-31b",
            "at a BER of 1e-5 IFTP has less than 0.2 Mbit/s",
            plain < 0.2,
            format!("{} Mbit/s; {}", short(plain), law(PACKET)),
        ),
        view.claim(
            "ELA-38a",
            "IFTP-W's throughput is above IFTP's at every BER",
            everywhere(view, |i| {
                view.mean("iftp-w", Metric::Throughput, i)
                    > view.mean("iftp", Metric::Throughput, i)
            }),
            view.evidence(&["iftp-w", "iftp"], Metric::Throughput),
        ),
    ]
}

/// `ela-fig-10`.
pub(crate) fn fig_10(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let identity = (
        "ela-fig-10",
        "Fig. 10: goodput over the bit error rate, with IFTP-W",
    );
    figure(context, identity, four, &[Metric::Goodput], |view| {
        let mut claims = same_goodput(view, "ELA-38b");
        let above = everywhere(view, |i| {
            let mean = |id: &str| view.mean(id, Metric::Goodput, i);
            // A line without packets has no goodput to be above.
            ["udp", "tcp", "iftp"]
                .iter()
                .all(|id| mean(id).is_nan() || mean("iftp-w") > mean(id))
        });
        claims.push(Claim::new(
            "ELA-38c",
            "IFTP-W's goodput is above that of the others at every BER",
            above,
            view.evidence(&["iftp-w", "udp"], Metric::Goodput),
        ));
        let mut sensitive = whole(&["udp", "tcp", "iftp"]);
        sensitive.push(("iftp-w".into(), HEADER));
        claims.push(probability::claim(view, &sensitive));
        claims
    })
}

/// `ela-fig-11`.
pub(crate) fn fig_11(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let identity = (
        "ela-fig-11",
        "Fig. 11: delay over the bit error rate, with IFTP-W",
    );
    figure(context, identity, four, &[Metric::Delay], |view| {
        let mut claims = delay(view);
        claims.push(slightly_higher(view, "ELA-38d", Metric::Delay));
        claims
    })
}

/// `ela-fig-12`.
pub(crate) fn fig_12(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let identity = (
        "ela-fig-12",
        "Fig. 12: jitter over the bit error rate, with IFTP-W",
    );
    figure(context, identity, four, JITTER, |view| {
        let mut claims = jitter(view);
        claims.push(slightly_higher(view, "ELA-38e", Metric::Deviation));
        claims
    })
}

/// Of these lines, everything is sensitive.
fn whole(ids: &[&str]) -> Vec<(String, u32)> {
    ids.iter().map(|&id| (id.to_owned(), PACKET)).collect()
}

fn everywhere(view: &View, holds: impl Fn(usize) -> bool) -> bool {
    view.all().into_iter().all(holds)
}

/// The square-root law over the unloaded round trip at 1e-5, beside which a measured rate can be judged.
fn law(coverage: u32) -> String {
    let loss = probability::loss(1e-5, coverage);
    let network = Network::one_router(1e-5, three());
    // The way there, and 40 bytes back.
    let round_trip = network.latency(PACKET) + network.latency(HEADER);
    let packets = libm::sqrt(1.5 / loss);
    let rate = packets * f64::from(8 * PACKET) / round_trip.as_secs_f64() / 1e6;
    format!(
        "a loss rate of {loss:.5} and √(3/2p) packets per {:.0} ms would be {rate:.3} Mbit/s",
        1e3 * round_trip.as_secs_f64()
    )
}

fn throughput(view: &View) -> Vec<Claim> {
    let mean = |id: &str, i| view.mean(id, Metric::Throughput, i);
    let clean = view.at(1e-7);
    let lost_only = everywhere(view, |i| {
        let goodput = |i| view.mean("udp", Metric::Goodput, i);
        let expected = mean("udp", clean) * goodput(i) / goodput(clean);
        (mean("udp", i) - expected).abs() <= 0.02 * mean("udp", clean)
    });
    let share = |id: &str, i| mean(id, i) / mean(id, clean);
    let below = view.within(0.0, 3e-5);
    let severe = view.at(1e-5);
    let shares = |ids: &[&str]| {
        let listed = ids.iter().map(|id| {
            let values: Vec<String> = view
                .all()
                .into_iter()
                .map(|i| format!("{}: {:.3}", place(view.xs[i]), share(id, i)))
                .collect();
            format!("{} {}", view.name(id), values.join(", "))
        });
        format!(
            "shares of the throughput at 1e-7: {}",
            listed.collect::<Vec<_>>().join("; ")
        )
    };
    vec![
        Claim::new(
            "ELA-34a",
            "UDP's throughput falls only by the packets that are lost (within 2 % of what it has at 1e-7)",
            lost_only,
            format!(
                "{}; {}",
                view.evidence(&["udp"], Metric::Throughput),
                view.evidence(&["udp"], Metric::Goodput)
            ),
        ),
        Claim::new(
            "ELA-34b",
            "UDP is not crippled until the BER nears 1e-4 (three quarters are left at 3e-5, less than half at 1e-4)",
            below.iter().all(|&i| share("udp", i) >= 0.75) && share("udp", view.at(1e-4)) < 0.5,
            shares(&["udp"]),
        ),
        Claim::new(
            "ELA-34c",
            "IFTP's throughput is like TCP's at every BER (within a quarter, or 20 kbit/s)",
            everywhere(view, |i| {
                let (iftp, tcp) = (mean("iftp", i), mean("tcp", i));
                (iftp - tcp).abs() <= (0.25 * tcp).max(0.02)
            }),
            view.evidence(&["tcp", "iftp"], Metric::Throughput),
        ),
        Claim::new(
            "ELA-34d",
            "TCP and IFTP react severely (at 1e-5 less than half of what they have at 1e-7, where UDP keeps 90 %)",
            share("tcp", severe) < 0.5 && share("iftp", severe) < 0.5 && share("udp", severe) > 0.9,
            shares(&["tcp", "iftp"]),
        ),
    ]
}

/// UDP, TCP and IFTP lose the same share of their packets, within two points.
fn same_goodput(view: &View, id: &str) -> Vec<Claim> {
    let pairs = [("tcp", "udp"), ("iftp", "udp"), ("iftp", "tcp")];
    let text = "UDP, TCP and IFTP have the same goodput at every BER (within 0.02)";
    let claims = pairs.map(|pair| within(view, (id, text), pair, Metric::Goodput, 0.02));
    let evidence: Vec<&str> = claims.iter().map(|claim| claim.evidence.as_str()).collect();
    vec![Claim::new(
        id,
        text,
        claims.iter().all(|claim| claim.holds),
        evidence.join("; "),
    )]
}

fn delay(view: &View) -> Vec<Claim> {
    let high = view.within(1e-4, 3e-4);
    let mean = |id: &str, i| view.mean(id, Metric::Delay, i);
    vec![
        Claim::new(
            "ELA-36a",
            "at a high BER (1e-4 and 3e-4) TCP's delay is at least twice that of UDP and of IFTP",
            high.iter().all(|&i| {
                mean("tcp", i) >= 2.0 * mean("udp", i) && mean("tcp", i) >= 2.0 * mean("iftp", i)
            }),
            view.evidence(&["tcp", "udp", "iftp"], Metric::Delay),
        ),
        Claim::new(
            "ELA-36b",
            "UDP's delay is above IFTP's at every BER where IFTP delivers",
            alive(view, &["iftp", "udp"])
                .into_iter()
                .all(|i| mean("udp", i) > mean("iftp", i)),
            view.evidence(&["udp", "iftp"], Metric::Delay),
        ),
    ]
}

fn jitter(view: &View) -> Vec<Claim> {
    let high = view.within(1e-4, 3e-4);
    let mean = |id: &str, i| view.mean(id, Metric::Deviation, i);
    vec![Claim::new(
        "ELA-36c",
        "at a high BER (1e-4 and 3e-4) the standard deviation of TCP's delay is at least twice that of UDP and of IFTP",
        high.iter().all(|&i| {
            mean("tcp", i) >= 2.0 * mean("udp", i) && mean("tcp", i) >= 2.0 * mean("iftp", i)
        }),
        view.evidence(&["tcp", "udp", "iftp"], Metric::Deviation),
    )]
}

/// IFTP-W's metric is like IFTP's, in some cases slightly higher.
fn slightly_higher(view: &View, id: &str, metric: Metric) -> Claim {
    let mean = |id: &str, i| view.mean(id, metric, i);
    let places = alive(view, &["iftp", "iftp-w"]);
    let like = places
        .iter()
        .all(|&i| mean("iftp-w", i) >= 0.95 * mean("iftp", i));
    let higher = places
        .iter()
        .any(|&i| mean("iftp-w", i) > 1.02 * mean("iftp", i));
    let text = format!(
        "IFTP-W's {} is nowhere below IFTP's (by more than 5 %), and somewhere above (2 %)",
        metric.name()
    );
    Claim::new(
        id,
        &text,
        like && higher,
        view.evidence(&["iftp-w", "iftp"], metric),
    )
}
