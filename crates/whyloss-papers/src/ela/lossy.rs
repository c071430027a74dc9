//! Sections 6 and 8: UDP, TCP, IFTP, and later IFTP-W, over links of their own with bit errors (Figs 2 to 5 and 9 to 12,
//! ELA-18, -20; claims ELA-31, -34 … -36, -38).
//!
//! Section 6 states neither how long nor how often it ran: Section 8's 120 s and ten runs.

use whyloss_study::{Check, Claim, Context, ExperimentError, Line, Metric, Outcome, Weight};

use super::decide::{alive, at, everywhere, within};
use super::measure::{
    BER, DELAY, DEVIATION, FlowRun, GOODPUT, RATES, Reading, THROUGHPUT, VARIANCE, measure,
    outcome, place, short, together,
};
use super::network::Network;
use super::probability;
use super::protocols::{HEADER, PACKET, Protocol, UDP_RATE};

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
    (number, what): (u32, &str),
    protocols: fn() -> Vec<Protocol>,
    metrics: &[Metric<FlowRun>],
    claims: fn(&Reading) -> Vec<Claim>,
) -> Result<Outcome, ExperimentError> {
    let plan = together(&BER, &RATES, |ber| Network::one_router(ber, protocols()));
    let readings = measure(context, vec![(String::new(), Weight::Counted, plan)])?;
    let (id, title) = (
        format!("ela-fig-{number}"),
        format!("Fig. {number}: {what}"),
    );
    let claims = readings.iter().flat_map(claims);
    Ok(outcome((&id, &title), &readings, metrics, None)
        .claims(claims)
        .note(NETWORK))
}

const JITTER: &[Metric<FlowRun>] = &[VARIANCE, DEVIATION];

/// `ela-fig-2`.
pub(crate) fn fig_2(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (2, "throughput over the bit error rate, Section 6");
    figure(context, what, three, &[THROUGHPUT], throughput)
}

/// `ela-fig-3`.
pub(crate) fn fig_3(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (3, "goodput over the bit error rate, Section 6");
    figure(context, what, three, &[GOODPUT], |reading| {
        let whole = whole(&["udp", "tcp", "iftp"]);
        vec![
            same_goodput(reading, "ELA-35"),
            probability::claim(reading, &whole),
        ]
    })
}

/// `ela-fig-4`.
pub(crate) fn fig_4(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (4, "delay over the bit error rate, Section 6");
    figure(context, what, three, &[DELAY], delay)
}

/// `ela-fig-5`.
pub(crate) fn fig_5(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (5, "jitter over the bit error rate, Section 6");
    figure(context, what, three, JITTER, jitter)
}

/// `ela-fig-9`.
pub(crate) fn fig_9(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let reading = |name: &str, weight, errors_in_acks| {
        let plan = together(&BER, &RATES, |ber| Network {
            errors_in_acks,
            ..Network::one_router(ber, four())
        });
        (name.to_owned(), weight, plan)
    };
    let readings = measure(
        context,
        vec![
            reading("acknowledgements with errors", Weight::Counted, true),
            reading("acknowledgements without errors", Weight::Beside, false),
        ],
    )?;
    let identity = (
        "ela-fig-9",
        "Fig. 9: throughput over the bit error rate, with IFTP-W",
    );
    Ok(outcome(identity, &readings, &[THROUGHPUT], None)
        .claims(readings.iter().flat_map(improvement))
        .note(NETWORK)
        .note(
            "The paper does not say whether errors befall acknowledgements. An acknowledgement of IFTP stands for one packet, so a \
             lost one looks like a lost packet: with 40 sensitive bytes of data, and 40 in each acknowledgement, errors in \
             acknowledgements double IFTP-W's losses. The second reading was added after the first runs, and stands \
             beside the first, which counts.",
        ))
}

/// ELA-31 and the improvement of IFTP-W over IFTP.
fn improvement(reading: &Reading) -> Vec<Claim> {
    let lines = reading.lines(["iftp-w", "iftp"], &THROUGHPUT);
    let [tolerant, plain] = lines.map(|line| at(&line, 1e-5));
    let beside_law = |holds, mean, coverage| Check {
        holds,
        evidence: format!("{} Mbit/s; {}", short(mean), law(coverage)),
    };
    vec![
        reading.claim(
            "ELA-31a",
            "at a BER of 1e-5 IFTP-W keeps more than 0.8 Mbit/s",
            beside_law(tolerant > 0.8, tolerant, HEADER),
        ),
        reading.claim(
            "ELA-31b",
            "at a BER of 1e-5 IFTP has less than 0.2 Mbit/s",
            beside_law(plain < 0.2, plain, PACKET),
        ),
        reading.claim(
            "ELA-38a",
            "IFTP-W's throughput is above IFTP's at every BER",
            reading.check(["iftp-w", "iftp"], &THROUGHPUT, |[tolerant, plain]| {
                everywhere(tolerant, plain, |a, b| a > b)
            }),
        ),
    ]
}

/// `ela-fig-10`.
pub(crate) fn fig_10(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (10, "goodput over the bit error rate, with IFTP-W");
    figure(context, what, four, &[GOODPUT], |reading| {
        let others = reading.lines(["udp", "tcp", "iftp"], &GOODPUT);
        let above = reading.check(["iftp-w", "udp"], &GOODPUT, |[tolerant, _]| {
            // A line without packets has no goodput to be above.
            let above = |other| everywhere(tolerant, other, |a, b| b.is_nan() || a > b);
            others.iter().all(above)
        });
        let mut sensitive = whole(&["udp", "tcp", "iftp"]);
        sensitive.push(("iftp-w".into(), HEADER));
        vec![
            same_goodput(reading, "ELA-38b"),
            above.claim(
                "ELA-38c",
                "IFTP-W's goodput is above that of the others at every BER",
            ),
            probability::claim(reading, &sensitive),
        ]
    })
}

/// `ela-fig-11`.
pub(crate) fn fig_11(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (11, "delay over the bit error rate, with IFTP-W");
    figure(context, what, four, &[DELAY], |reading| {
        let mut claims = delay(reading);
        claims.push(slightly_higher(reading, "ELA-38d", &DELAY));
        claims
    })
}

/// `ela-fig-12`.
pub(crate) fn fig_12(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let what = (12, "jitter over the bit error rate, with IFTP-W");
    figure(context, what, four, JITTER, |reading| {
        let mut claims = jitter(reading);
        claims.push(slightly_higher(reading, "ELA-38e", &DEVIATION));
        claims
    })
}

/// Lines of which everything is sensitive.
fn whole(ids: &[&str]) -> Vec<(String, u32)> {
    ids.iter().map(|&id| (id.to_owned(), PACKET)).collect()
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

fn throughput(reading: &Reading) -> Vec<Claim> {
    let [udp, tcp, iftp] = reading.lines(["udp", "tcp", "iftp"], &THROUGHPUT);
    let goodput = reading.line("udp", &GOODPUT);
    let clean = at(&udp, 1e-7);
    let lost_only = everywhere(&udp, &goodput, |rate, share| {
        (rate - clean * share / at(&goodput, 1e-7)).abs() <= 0.02 * clean
    });
    let both = format!(
        "{}; {goodput}",
        reading.check(["udp"], &THROUGHPUT, |_| true).evidence
    );
    let of_clean = |line: &Line| line.by_mean(&line.name, |_, mean| mean / at(line, 1e-7));
    let shares = [&udp, &tcp, &iftp].map(of_clean);
    let evidence = |shares: &[Line]| {
        let listed = shares.iter().map(|line| {
            let places = line
                .means()
                .map(|(x, of)| format!("{}: {:.3}", place(x), of.value));
            format!("{} {}", line.name, places.collect::<Vec<_>>().join(", "))
        });
        let listed: Vec<String> = listed.collect();
        format!("shares of the throughput at 1e-7: {}", listed.join("; "))
    };
    let [of_udp, of_tcp, of_iftp] = &shares;
    let severe = |line: &Line| at(line, 1e-5);
    vec![
        Check {
            holds: lost_only,
            evidence: both,
        }
        .claim(
            "ELA-34a",
            "UDP's throughput falls only by the packets that are lost (within 2 % of what it has at 1e-7)",
        ),
        Check {
            holds: of_udp.only(|ber| ber <= 3.1e-5).every(|share| share >= 0.75)
                && at(of_udp, 1e-4) < 0.5,
            evidence: evidence(&shares[..1]),
        }
        .claim(
            "ELA-34b",
            "UDP is not crippled until the BER nears 1e-4 (three quarters are left at 3e-5, less than half at 1e-4)",
        ),
        reading.check(["tcp", "iftp"], &THROUGHPUT, |[tcp, iftp]| {
            everywhere(iftp, tcp, |iftp, tcp| (iftp - tcp).abs() <= (0.25 * tcp).max(0.02))
        })
        .claim(
            "ELA-34c",
            "IFTP's throughput is like TCP's at every BER (within a quarter, or 20 kbit/s)",
        ),
        Check {
            holds: severe(of_tcp) < 0.5 && severe(of_iftp) < 0.5 && severe(of_udp) > 0.9,
            evidence: evidence(&shares[1..]),
        }
        .claim(
            "ELA-34d",
            "TCP and IFTP react severely (at 1e-5 less than half of what they have at 1e-7, where UDP keeps 90 %)",
        ),
    ]
}

/// UDP, TCP and IFTP lose the same share of their packets, within two points.
fn same_goodput(reading: &Reading, id: &str) -> Claim {
    let pairs = [["tcp", "udp"], ["iftp", "udp"], ["iftp", "tcp"]];
    let [first, second, third] = pairs.map(|pair| within(reading, pair, &GOODPUT, 0.02));
    first.and(second).and(third).claim(
        id,
        "UDP, TCP and IFTP have the same goodput at every BER (within 0.02)",
    )
}

/// At 1e-4 and 3e-4 TCP's is at least twice the others'.
fn twice_when_high(reading: &Reading, metric: &Metric<FlowRun>) -> Check {
    reading.check(["tcp", "udp", "iftp"], metric, |[tcp, udp, iftp]| {
        let high = tcp.only(|ber| (0.9e-4..3.1e-4).contains(&ber));
        let twice = |other| everywhere(&high, other, |tcp, other| tcp >= 2.0 * other);
        twice(udp) && twice(iftp)
    })
}

fn delay(reading: &Reading) -> Vec<Claim> {
    vec![
        twice_when_high(reading, &DELAY).claim(
            "ELA-36a",
            "at a high BER (1e-4 and 3e-4) TCP's delay is at least twice that of UDP and of IFTP",
        ),
        reading
            .check(["udp", "iftp"], &DELAY, |[udp, iftp]| {
                let udp = alive(reading, &["iftp", "udp"], udp);
                everywhere(&udp, iftp, |udp, iftp| udp > iftp)
            })
            .claim(
                "ELA-36b",
                "UDP's delay is above IFTP's at every BER where IFTP delivers",
            ),
    ]
}

fn jitter(reading: &Reading) -> Vec<Claim> {
    vec![twice_when_high(reading, &DEVIATION).claim(
        "ELA-36c",
        "at a high BER (1e-4 and 3e-4) the standard deviation of TCP's delay is at least twice that of UDP and of IFTP",
    )]
}

/// IFTP-W's metric is like IFTP's, in some cases slightly higher.
fn slightly_higher(reading: &Reading, id: &str, metric: &Metric<FlowRun>) -> Claim {
    let text = format!(
        "IFTP-W's {} is nowhere below IFTP's (by more than 5 %), and somewhere above (2 %)",
        metric.name
    );
    let check = reading.check(["iftp-w", "iftp"], metric, |[tolerant, plain]| {
        let tolerant = alive(reading, &["iftp", "iftp-w"], tolerant);
        everywhere(&tolerant, plain, |own, other| own >= 0.95 * other)
            && tolerant
                .means()
                .any(|(x, own)| own.value > 1.02 * at(plain, x))
    });
    check.claim(id, &text)
}
