//! Writes a scenario in the syntax of `peers/ns3.cc` of whyloss-validate, the program that runs
//! ns-3.
//!
//! ns-3 uses selective acknowledgements, because without them its NewReno (3.37) delivers a third
//! of the packets that one flow could. Work that only this comparison would need is left out: links
//! are not counted, and routes are given.

use core::fmt::Write;
use std::collections::{BTreeMap, BTreeSet};

use whyloss_sim::Scenario;
use whyloss_sim::scenario::Transport;
use whyloss_validate::peers::{PeerError, links};

use super::ways::ways;

/// The total packets in the buffers of all senders, and the limits for one sender. Sources fill the
/// buffers when they start, so their memory counts as that of the flows.
const BUFFERS: usize = 16_384;
const LEAST_BUFFER: usize = 64;
const MOST_BUFFER: usize = 1_024;

/// Returns the network and the command to simulate it.
///
/// # Errors
/// Returns an error if the scenario uses a feature that the program lacks.
pub(crate) fn input(scenario: &Scenario, seed: u64) -> Result<String, PeerError> {
    let mut text = format!("seed {seed}\n{}", links(scenario)?);
    let mut initial_window = 0;
    for flow in &scenario.flows {
        let Transport::Tcp { options, .. } = &flow.transport else {
            return Err(PeerError::Unknown("a transport that is not TCP"));
        };
        initial_window = options.initial_window;
        let _ = writeln!(
            text,
            "flow NewReno {} {} {} {} {} {} {}",
            flow.source,
            flow.sink,
            flow.packet_size,
            flow.start.0.as_secs_f64(),
            flow.start.1.as_secs_f64(),
            u8::from(options.delayed_ack.is_some()),
            options.receive_window,
        );
    }
    let buffer = BUFFERS / scenario.flows.len().max(1);
    let buffer = buffer.clamp(LEAST_BUFFER, MOST_BUFFER);
    let _ = writeln!(text, "tcp {initial_window} {buffer}");
    for (node, next) in defaults(scenario)? {
        let _ = writeln!(text, "default {node} {next}");
    }
    let _ = writeln!(text, "uncounted\nend {}", scenario.end.as_secs_f64());
    Ok(text)
}

/// Returns each node's default next hop, for packets to nodes that are not its neighbours.
fn defaults(scenario: &Scenario) -> Result<BTreeMap<usize, usize>, PeerError> {
    let neighbours: BTreeSet<(usize, usize)> = scenario
        .links
        .iter()
        .map(|link| (link.from, link.to))
        .collect();
    let mut defaults = BTreeMap::new();
    for (link, target) in ways(scenario)? {
        let through = !neighbours.contains(&(link.from, target));
        if through && *defaults.entry(link.from).or_insert(link.to) != link.to {
            return Err(PeerError::Unknown("a node with several ways to others"));
        }
    }
    Ok(defaults)
}

#[cfg(test)]
mod tests {
    use super::super::workload::{Load, Network};
    use super::*;

    fn words(load: Load) -> Result<String, PeerError> {
        input(&load.scenario().expect("a scenario"), 1)
    }

    #[test]
    fn one_flow_in_words() {
        assert_eq!(
            words(Load::whole(Network::OneFlow)).expect("words"),
            "seed 1\nnodes 2\nlink 0 1 10000000 0.05 droptail 83 none\n\
             link 1 0 10000000 0.05 droptail 83 none\n\
             flow NewReno 0 1 1500 0 0 0 1048576\ntcp 3 1024\nuncounted\nend 100\n"
        );
    }

    #[test]
    fn routers_send_across_what_is_not_for_their_hosts() {
        let load = Load {
            size: 100,
            ..Load::whole(Network::Flows)
        };
        let text = words(load).expect("words");
        // 200 hosts and 2 routers.
        assert_eq!(text.matches("\ndefault ").count(), 202);
        assert_eq!(text.matches(" bernoulli 0.001\n").count(), 1);
        assert_eq!(text.matches("\nflow ").count(), 100);
        assert!(text.contains("\ntcp 3 163\n"), "{text}");
    }

    #[test]
    fn what_ns3_is_not_told_of_is_refused() {
        let parking = words(Load::whole(Network::ParkingLot));
        assert!(matches!(parking, Err(PeerError::Unknown(_))));
    }
}
