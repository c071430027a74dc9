//! Fig. 8: UDP, TCP and IFTP-W over a bottleneck with a finite buffer, while UDP's rate grows (ELA-19, -37).
//!
//! The paper states neither the buffer nor UDP's rates: 50K as in Section 10, and up to 2 Mbit/s (ELA-A9); no bit errors,
//! which the section does not mention, and Section 8's 120 s.

use whyloss::Rate;

use whyloss_study::{Check, Claim, Context, ExperimentError, Line, Outcome, Plan, Weight};

use super::decide::{at, ratio};
use super::measure::{GOODPUT, Item, Reading, THROUGHPUT, UDP_RATE, measure, outcome, together};
use super::network::{FINITE, Medium, Network};
use super::protocols::{HEADER, PACKET, Protocol};

/// UDP's rates, kbit/s.
const UDP_RATES: [f64; 11] = [
    10.0, 200.0, 400.0, 600.0, 800.0, 900.0, 1000.0, 1200.0, 1400.0, 1700.0, 2000.0,
];

/// The rate at a place on that axis.
pub(crate) fn kbps(x: f64) -> Rate {
    Rate::from_kbps(x as u64)
}

fn plan(medium: Medium) -> Plan<Item> {
    together(&UDP_RATE, &UDP_RATES, |x| Network {
        medium,
        buffer: FINITE,
        ..Network::one_router(
            0.0,
            vec![
                Protocol::udp(kbps(x)),
                Protocol::tcp(),
                Protocol::iftp_w(PACKET, HEADER),
            ],
        )
    })
}

/// `ela-fig-8`.
pub(crate) fn fig_8(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    // Section 7 is about competition: the shared medium is what its words name.
    let readings = [
        (Medium::Shared, Weight::Counted),
        (Medium::Own, Weight::Beside),
    ];
    let reading = |(medium, weight): (Medium, Weight)| (medium.name().into(), weight, plan(medium));
    let readings = measure(context, readings.map(reading).into())?;
    let identity = ("ela-fig-8", "Fig. 8: TCP, IFTP-W and UDP over UDP's rate");
    Ok(outcome(identity, &readings, &[THROUGHPUT, GOODPUT], None)
        .claims(readings.iter().flat_map(claims))
        .note(
            "\"shared\": one wireless link of 1 Mbit/s for all, with 50 000 bytes of buffer; \"own links\": one for each client, \
             as Fig. 1 draws it, so that nobody can notice anybody. 120 s, no bit errors.",
        ))
}

fn claims(reading: &Reading) -> [Claim; 4] {
    let [udp, tcp, tolerant] = reading.lines(["udp", "tcp", "iftp-w"], &THROUGHPUT);
    let falls = |claim: &str, line: &Line| {
        let text = format!(
            "{} sends less as UDP sends more (at 1 Mbit/s of UDP at most half of what it has at 10 kbit/s)",
            line.name
        );
        let check = reading.check([&line.id], &THROUGHPUT, |[line]| {
            at(line, 1000.0) <= 0.5 * at(line, 10.0)
        });
        reading.claim(claim, &text, check)
    };
    let share = udp.by_mean("UDP's throughput over its rate:", |x, mean| 1e3 * mean / x);
    [
        falls("ELA-37a", &tcp),
        falls("ELA-37b", &tolerant),
        reading.claim(
            "ELA-37c",
            "IFTP-W is as friendly as TCP: between half of and twice TCP's throughput at every rate of UDP",
            ratio(&tolerant, &tcp, (0.5, 2.0)),
        ),
        reading.claim(
            "ELA-37d",
            "once UDP sends 1 Mbit/s its throughput is reduced (at least 5 % less than it sends; up to 600 kbit/s within 5 %)",
            Check::of([&share], |[share]| {
                at(share, 1000.0) <= 0.95 && share.only(|x| x <= 600.0).every(|share| share >= 0.95)
            }),
        ),
    ]
}
