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
use whyloss_sim::host::tcp::{Options, RtoOptions};
use whyloss_sim::{Measurement, Scenario};
use whyloss_study::{Axis, Check, Claim, Context, ExperimentError, Line, Metric, Outcome, Plan};

use super::accuracy::BAD;
use super::measure::{self, labelled, run};
use super::network::{HEADERS, Hop, Network, SEGMENT, correlated, independent};
use super::scheme::{Schemes, base};
use crate::variant::Variant;

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

/// The payload of a segment is less than what the other figures' goodput takes it for.
const GOODPUT: Metric<Measurement> = Metric::new("goodput", "Mbit/s", |run| {
    let share = f64::from(PAYLOAD) / f64::from(SEGMENT);
    (measure::GOODPUT.of)(run).map(|goodput| share * goodput)
});

const WINDOWS: [(&str, Option<u32>); 2] = [
    ("window of 64 KiB", Some(SMALL)),
    ("window without limit", None),
];

/// Goodput with either window. `claims` are decided on both.
fn figure(
    context: &Context<'_>,
    (id, title): (&str, &str),
    (axis, xs): (&Axis, &[f64]),
    channel: impl Fn(f64) -> ChannelSpec,
    claims: impl Fn(&dyn Fn(&str) -> [Line; 2]) -> Vec<Claim>,
) -> Result<Outcome, ExperimentError> {
    let plans = WINDOWS.map(|(_, window)| {
        variants(window)
            .iter()
            .fold(Plan::new(axis, xs), |plan, variant| {
                plan.line(variant.name, variant.name, |x| {
                    scenario(channel(x), variant)
                })
            })
    });
    let runs = run(context, &plans)?;
    let beds: Vec<_> = runs
        .iter()
        .map(|runs| labelled(runs.lines(&GOODPUT)))
        .collect();
    let line = |name: &str| [0, 1].map(|bed: usize| beds[bed].line(name));
    let titled = || WINDOWS.iter().map(|(title, _)| title).zip(&beds);
    Ok(measure::outcome(id, title, &runs)
        .cells(titled().flat_map(|(title, bed)| bed.cells(&format!("goodput, {title}"))))
        .claims(claims(&line))
        .captioned(
            "Steady-state goodput on the test bed, simulated",
            titled().map(|(title, bed)| bed.panel(title)),
        )
        .notes([
            "A simulation of the paper's test bed, not a test bed: 10 Mbit/s links, 50 ms each way, a network card that queues \
             100 packets, Linux 2.2's 1448 bytes of payload, and its timer of at least 200 ms in ticks of 10 ms. What else \
             that kernel did (quick acknowledgements at the start, bursts at timer ticks) is left out."
            ,
            "TIBET's filter constants, and how Westwood was filtered in the authors' kernel, are not in the paper: see the \
             estimators' files."
            ,
        ]))
}

/// The order of variants where at least this much is lost.
fn orders(letter: &str, line: &dyn Fn(&str) -> [Line; 2], much: f64) -> Vec<Claim> {
    let pairs = [
        ("1", ("Westwood", "NewReno-LP")),
        ("2", ("NewReno-LP", "TIBET")),
        ("3", ("TIBET", "NewReno")),
    ];
    let claim = |(number, (above, below)): (&str, (&str, &str))| {
        let (over, under) = (line(above), line(below));
        let lines = [0, 1].map(|bed: usize| {
            let name = format!("{}: {above}/{below}", WINDOWS[bed].0);
            let ratio = over[bed].by_mean(&name, |x, mean| mean / under[bed].at(x).value);
            ratio.only(|x| x >= much)
        });
        Check::of(lines.each_ref(), |lines| {
            lines.iter().all(|line| line.every(|ratio| ratio >= 0.98) && line.average() > 1.0)
        })
        .claim(
            &format!("MAR-39{letter}{number}"),
            &format!(
                "{above} is nowhere more than 2 % below {below}, and above it on average, where at least {much} % are lost"
            ),
        )
    };
    pairs.map(claim).into()
}

/// `mar-fig-10`.
pub(crate) fn fig_10(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let names = (
        "mar-fig-10",
        "Fig. 10: goodput on the test bed, independent losses",
    );
    let axis = Axis::linear("packet loss rate (%)");
    let channel = |percent: f64| independent(percent / 100.0);
    figure(context, names, (&axis, &LOSSES), channel, |line| {
        let mut claims = orders("a", line, 0.5);
        let (lp, tibet) = (line("NewReno-LP"), line("TIBET"));
        let leads = [0, 1].map(|bed: usize| {
            let name = format!("{}: LP's lead", WINDOWS[bed].0);
            lp[bed].by_mean(&name, |x, mean| mean - tibet[bed].at(x).value)
        });
        let greatest = Check::of(leads.each_ref(), |leads| {
            leads.iter().all(|lead| {
                let greatest = lead.highest();
                greatest.is_some_and(|(x, lead)| lead.value > 0.0 && (1.0..=4.0).contains(&x))
            })
        });
        claims.push(greatest.claim(
            "MAR-32",
            "LP's lead over TIBET (in Mbit/s) is greatest between 1 and 4 % of loss",
        ));
        claims
    })
}

/// `mar-fig-11`.
pub(crate) fn fig_11(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let names = (
        "mar-fig-11",
        "Fig. 11: goodput on the test bed, correlated losses",
    );
    let axis = Axis::linear("packet error rate in the bad state (%)");
    let channel = |percent: f64| correlated(percent / 100.0);
    figure(context, names, (&axis, &BAD), channel, |line| {
        orders("b", line, 20.0)
    })
}
