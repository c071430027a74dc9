//! Writes a scenario in the syntax of `peers/bench.tcl`, for ns-2.

use core::fmt::Write;
use std::collections::BTreeSet;

use whyloss_link::queue::{Discipline, Limit};
use whyloss_link::{ChannelSpec, LinkSpec};
use whyloss_sim::Scenario;
use whyloss_sim::host::datagrams::{Pattern, Spacing};
use whyloss_sim::host::tcp::Recovery;
use whyloss_sim::scenario::Transport;
use whyloss_validate::peers::{PeerError, links_with};

use super::ways::ways;

/// The Tcl script that reads the network and simulates it.
pub(crate) const SCRIPT: &str = include_str!("../../peers/bench.tcl");
/// The queue limit, in packets, that means "no limit" in ns-2.
const UNLIMITED: u32 = 1_000_000;

/// Returns the network and the command to simulate it.
///
/// # Errors
/// Returns an error if the scenario uses a feature that the script lacks.
pub(crate) fn input(scenario: &Scenario, seed: u64) -> Result<String, PeerError> {
    let mut text = links_with(scenario, queue, |_, link| loss(&link.channel))?;
    routes(&mut text, scenario)?;
    for flow in &scenario.flows {
        let (from, to, bytes) = (flow.source, flow.sink, flow.packet_size);
        let (start0, start1) = (flow.start.0.as_secs_f64(), flow.start.1.as_secs_f64());
        let _ = match &flow.transport {
            Transport::Tcp { options, .. }
                if options.recovery == Recovery::NewReno && options.delayed_ack.is_none() =>
            {
                let window = options.receive_window;
                writeln!(text, "tcp {from} {to} {bytes} {start0} {start1} {window}")
            }
            Transport::Datagrams {
                rate,
                pattern: Pattern::Steady { spacing, changes },
            } if changes.is_empty() => {
                let bps = rate.as_bps();
                let dither = match spacing {
                    Spacing::Regular => 0,
                    Spacing::Dithered => 1,
                    Spacing::Exponential { .. } => {
                        return Err(PeerError::Unknown("a Poisson source"));
                    }
                };
                writeln!(
                    text,
                    "cbr {from} {to} {bytes} {start0} {start1} {bps} {dither}"
                )
            }
            Transport::Web { transfers, .. } => {
                let (rate, size, shape) = (transfers.per_second, transfers.size, transfers.shape);
                writeln!(text, "web {from} {to} {bytes} {rate} {size} {shape}")
            }
            _ => return Err(PeerError::Unknown("a transport")),
        };
    }
    let _ = writeln!(text, "simulate {} {seed}", scenario.end.as_secs_f64());
    Ok(text)
}

fn queue(link: &LinkSpec) -> Result<String, PeerError> {
    let limit = match link.queue.limit {
        Limit::Unlimited => UNLIMITED,
        Limit::Packets(packets) => packets,
        Limit::Bytes(_) => return Err(PeerError::Unknown("a queue limited in bytes")),
    };
    match &link.queue.discipline {
        Discipline::DropTail => Ok(format!("droptail {limit}")),
        Discipline::Red(red) if red.adaptive && red.min.is_none() && red.weight.is_none() => {
            Ok(format!("red {limit} {}", red.target_delay.as_secs_f64()))
        }
        Discipline::Red(_) => Err(PeerError::Unknown("RED that does not adapt")),
        _ => Err(PeerError::Unknown("a queue that controls its delay")),
    }
}

fn loss(channel: &ChannelSpec) -> Result<String, PeerError> {
    match channel {
        ChannelSpec::None => Ok("0".into()),
        ChannelSpec::Bernoulli { loss } => Ok(loss.to_string()),
        _ => Err(PeerError::Unknown("a channel with memory")),
    }
}

/// Writes the next hop of each flow at each node, in both directions. A node with a single outgoing
/// link uses it as its default route.
fn routes(text: &mut String, scenario: &Scenario) -> Result<(), PeerError> {
    let mut ways_out = vec![0; scenario.nodes.len()];
    for connection in &scenario.links {
        ways_out[connection.from] += 1;
    }
    for connection in &scenario.links {
        if ways_out[connection.from] == 1 {
            let _ = writeln!(text, "default {} {}", connection.from, connection.to);
        }
    }
    let mut known = BTreeSet::new();
    for (link, target) in ways(scenario)? {
        if ways_out[link.from] > 1 && known.insert((link.from, target)) {
            let _ = writeln!(text, "route {} {target} {}", link.from, link.to);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::workload::{Load, Network};
    use super::*;

    fn words(network: Network) -> Result<String, PeerError> {
        let scenario = Load::whole(network).scenario().expect("a scenario");
        input(&scenario, 1)
    }

    #[test]
    fn one_flow_in_words() {
        assert_eq!(
            words(Network::OneFlow).expect("words"),
            "nodes 2\nlink 0 1 10000000 0.05 droptail 83 0\nlink 1 0 10000000 0.05 droptail 83 0\n\
             default 0 1\ndefault 1 0\ntcp 0 1 1500 0 0 1048576\nsimulate 100 1\n"
        );
    }

    #[test]
    fn what_ns2_is_not_told_of_is_refused() {
        let parking = words(Network::ParkingLot).expect("words");
        assert_eq!(parking.matches("\nweb ").count(), 10);
        assert_eq!(parking.matches("\ncbr ").count(), 20);
        assert_eq!(parking.matches(" red 100 0.005 ").count(), 6);
        assert!(matches!(words(Network::Wlh), Err(PeerError::Unknown(_))));
    }
}
