//! Fig. 8: UDP, TCP and IFTP-W over a bottleneck with a finite buffer, while UDP's rate grows (ELA-19, -37).
//!
//! The paper states neither the buffer nor UDP's rates: 50K as in Section 10, and up to 2 Mbit/s (ELA-A9); no bit errors,
//! which the section does not mention, and Section 8's 120 s.

use whyloss::Rate;

use super::decide::ratio;
use super::network::{FINITE, Medium, Network};
use super::protocols::{HEADER, PACKET, Protocol};
use super::study::{Axis, Metric, Plan, Study, View, short, together};
use whyloss_study::Weight;
use whyloss_study::{Claim, Outcome};
use whyloss_study::{Context, ExperimentError};

/// UDP's rates, kbit/s.
const UDP_RATES: [f64; 11] = [
    10.0, 200.0, 400.0, 600.0, 800.0, 900.0, 1000.0, 1200.0, 1400.0, 1700.0, 2000.0,
];

/// UDP's rate as an axis.
pub(crate) const UDP_RATE: Axis = Axis {
    label: "UDP's rate, kbit/s",
    log: false,
};

/// The rate at a place on that axis.
pub(crate) fn kbps(x: f64) -> Rate {
    Rate::from_kbps(x as u64)
}

fn plans(medium: Medium) -> (String, Vec<Plan>) {
    let network = |x| Network {
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
    };
    (medium.name().into(), together(&UDP_RATES, network))
}

/// `ela-fig-8`.
pub(crate) fn fig_8(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let panels = vec![plans(Medium::Shared), plans(Medium::Own)];
    let study = Study::measure(context, &UDP_RATES, panels)?;
    // Section 7 is about competition: the shared medium, which comes first, is what its words name.
    let weight = |index| match index {
        0 => Weight::Counted,
        _ => Weight::Beside,
    };
    let views = study.views.iter().enumerate();
    let claims = views
        .flat_map(|(index, view)| {
            let claims = claims(view).into_iter();
            claims.map(move |claim| claim.weighing(weight(index)))
        })
        .collect();
    let notes = vec![
        "\"shared\": one wireless link of 1 Mbit/s for all, with 50 000 bytes of buffer; \"own links\": one for each client, \
         as Fig. 1 draws it, so that nobody can notice anybody. 120 s, no bit errors."
            .into(),
    ];
    let identity = ("ela-fig-8", "Fig. 8: TCP, IFTP-W and UDP over UDP's rate");
    Ok(study.outcome(
        identity,
        UDP_RATE,
        &[Metric::Throughput, Metric::Goodput],
        claims,
        notes,
    ))
}

fn claims(view: &View) -> Vec<Claim> {
    let mean = |id: &str, x| view.mean(id, Metric::Throughput, view.at(x));
    let falls = |claim: &str, id: &str| {
        let name = view.name(id);
        view.claim(
            claim,
            &format!(
                "{name} sends less as UDP sends more (at 1 Mbit/s of UDP at most half of what it has at 10 kbit/s)"
            ),
            mean(id, 1000.0) <= 0.5 * mean(id, 10.0),
            view.evidence(&[id], Metric::Throughput),
        )
    };
    let share = |x| 1e3 * mean("udp", x) / x;
    let shares: Vec<String> = UDP_RATES
        .iter()
        .map(|&x| format!("{x}: {}", short(share(x))))
        .collect();
    vec![
        falls("ELA-37a", "tcp"),
        falls("ELA-37b", "iftp-w"),
        ratio(
            view,
            (
                "ELA-37c",
                "IFTP-W is as friendly as TCP: between half of and twice TCP's throughput at every rate of UDP",
            ),
            ("iftp-w", "tcp"),
            Metric::Throughput,
            &view.all(),
            (0.5, 2.0),
        ),
        view.claim(
            "ELA-37d",
            "once UDP sends 1 Mbit/s its throughput is reduced (at least 5 % less than it sends; up to 600 kbit/s within 5 %)",
            share(1000.0) <= 0.95 && [10.0, 200.0, 400.0, 600.0].iter().all(|&x| share(x) >= 0.95),
            format!("UDP's throughput over its rate: {}", shares.join(", ")),
        ),
    ]
}
