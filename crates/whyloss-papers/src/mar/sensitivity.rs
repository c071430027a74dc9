//! What the paper leaves open, one choice at a time, at a few points of Figs 2, 3 and 5.

use whyloss::congestion::{ControllerKind, ControllerSpec, Decrease, WirelessPolicy};
use whyloss_link::ChannelSpec;
use whyloss_link::queue::Limit;
use whyloss_sim::Scenario;
use whyloss_sim::host::tcp::{Echo, Options, Recovery, RtoOptions, RttSampling};

use whyloss_study::{Context, ExperimentError, Line, Outcome, Plan};

use super::accuracy::base as fig_1;
use super::measure::{ACCURACY, GOODPUT, outcome, run_one};
use super::network::{SEGMENT, correlated, independent};
use super::scheme::{Schemes, base};

/// A reading of the paper.
struct Reading {
    name: &'static str,
    schemes: Schemes,
    /// Parameters of the predictor.
    predictor: &'static [(&'static str, f64)],
    /// What it does to the network.
    network: fn(&mut Scenario),
}

impl Reading {
    fn on(name: &'static str, base: Options) -> Self {
        Self {
            name,
            schemes: Schemes::on(base),
            predictor: &[],
            network: |_| {},
        }
    }

    fn as_taken(name: &'static str) -> Self {
        Self::on(name, base())
    }
}

fn readings() -> Vec<Reading> {
    let rfc = Options {
        recovery: Recovery::NewReno,
        ..Options::rfc(SEGMENT)
    };
    let flight = ControllerSpec {
        kind: ControllerKind::Reno(Decrease::FlightSize),
        ..base().controller
    };
    let predictor = |name, predictor| Reading {
        predictor,
        ..Reading::as_taken(name)
    };
    let network = |name, network| Reading {
        network,
        ..Reading::as_taken(name)
    };
    vec![
        Reading::as_taken("as taken"),
        Reading::on("TCP of the RFCs", rfc),
        Reading::on(
            "round trips include delayed acknowledgements",
            Options {
                echo: Echo::Earliest,
                ..base()
            },
        ),
        Reading::on(
            "one round trip a window",
            Options {
                rtt_sampling: RttSampling::OncePerWindow,
                ..base()
            },
        ),
        Reading::on(
            "NewReno halves FlightSize",
            Options {
                controller: flight,
                ..base()
            },
        ),
        Reading::on(
            "timer at least 0.2 s",
            Options {
                rto: RtoOptions::ns2(),
                ..base()
            },
        ),
        Reading::on(
            "no delayed acknowledgements",
            Options {
                delayed_ack: None,
                ..base()
            },
        ),
        Reading::on(
            "window of 64 KiB",
            Options {
                receive_window: 43,
                initial_ssthresh: Some(43),
                ..base()
            },
        ),
        Reading {
            schemes: Schemes {
                wireless: WirelessPolicy::Percent(100),
                ..Schemes::on(base())
            },
            ..Reading::as_taken("FlightSize is the window")
        },
        predictor("predictor asked at losses alone", &[("at_losses", 1.0)]),
        predictor(
            "round trips in ticks of 100 ms (ns-2 until March 2002)",
            &[("tick_ms", 100.0)],
        ),
        predictor(
            "round trips in ticks of 10 ms (ns-2 since)",
            &[("tick_ms", 10.0)],
        ),
        predictor("smoothed round trip", &[("rtt", 1.0)]),
        predictor("V_P of what is under way", &[("flight", 1.0)]),
        predictor("timeouts are congestion", &[("timeouts", 0.0)]),
        predictor("α = β = 20 segments", &[("alpha", 20.0), ("beta", 20.0)]),
        network("errors before the queue", |scenario| {
            for link in &mut scenario.links {
                link.link.channel_before_queue = true;
            }
        }),
        network("acknowledgements are lost too", |scenario| {
            let channel = scenario.links[2].link.channel.clone();
            scenario.links[3].link.channel = channel;
        }),
        network("queues of half the product", |scenario| {
            for link in &mut scenario.links {
                if let Limit::Packets(limit) = &mut link.link.queue.limit {
                    *limit /= 2;
                }
            }
        }),
    ]
}

/// Where they are compared: what is lost, and whether there is cross traffic.
fn places() -> [(&'static str, ChannelSpec, bool); 6] {
    [
        ("PER 0.0001", independent(1e-4), false),
        ("PER 0.001", independent(1e-3), false),
        ("PER 0.01", independent(1e-2), false),
        ("40 % in the bad state", correlated(0.4), false),
        ("PER 0.0001, cross traffic", independent(1e-4), true),
        ("PER 0.001, cross traffic", independent(1e-3), true),
    ]
}

/// `mar-sensitivity`.
pub(crate) fn all(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let readings = readings();
    let mut plan = Plan::table();
    for (place, channel, cross) in places() {
        for reading in &readings {
            let schemes = &reading.schemes;
            for flow in [
                schemes.newreno(),
                schemes.lp_with(reading.predictor),
                schemes.ideal(),
                schemes.westwood_nr(),
                schemes.westwood_on_newreno(),
                schemes.westwood_abse(),
            ] {
                let network = fig_1(channel.clone(), &flow);
                let network = if cross {
                    network.with_cross_traffic()
                } else {
                    network
                };
                let mut scenario = network.scenario();
                (reading.network)(&mut scenario);
                let id = format!("{place}: {} {}", reading.name, flow.id);
                plan = plan.line(&id, flow.name, |_| scenario.clone());
            }
        }
    }
    let runs = run_one(context, plan)?;
    let (goodput, accuracy) = (runs.lines(&GOODPUT), runs.lines(&ACCURACY));
    let mut cells = Vec::new();
    for (place, ..) in places() {
        for reading in &readings {
            let row = format!("{place}: {}", reading.name);
            let of = |id: &str| goodput.line(&format!("{row} {id}"));
            let (newreno, lp, ideal) = (of("newreno"), of("newreno-lp"), of("newreno-ideal-lp"));
            let columns: [(&str, Line); 9] = [
                ("accuracy", accuracy.line(&format!("{row} newreno-lp"))),
                ("NewReno", newreno.clone()),
                ("LP", lp.clone()),
                ("Ideal-LP", ideal.clone()),
                ("LP / NewReno", lp.over(&newreno)),
                ("LP / Ideal-LP", lp.over(&ideal)),
                ("Westwood-NR", of("westwood-nr")),
                (
                    "Westwood-NR on NewReno's recovery",
                    of("westwood-on-newreno"),
                ),
                ("Westwood-NR with ABSE", of("westwood-abse")),
            ];
            for (column, line) in columns {
                cells.extend(line.named(column).cells(&row));
            }
        }
    }
    let title = "Accuracy and goodput under other readings of the paper";
    Ok(outcome("mar-sensitivity", title, std::slice::from_ref(&runs))
        .cells(cells)
        .note(
            "One thing varies at a time, on the network of Fig. 1 at 10 Mbit/s. The module of Westwood-NR repairs losses in a way \
             of its own, so what changes NewReno's recovery does not change it.",
        ))
}
