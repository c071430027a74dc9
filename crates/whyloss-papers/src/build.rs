//! Builds scenarios: nodes, and links in both directions.

use whyloss_link::LinkSpec;
use whyloss_sim::Scenario;
use whyloss_sim::scenario::Connection;

/// Adds a node, and returns its index.
pub(crate) fn node(net: &mut Scenario, name: String) -> usize {
    net.nodes.push(name);
    net.nodes.len() - 1
}

/// Adds a link from `from` to `to`.
pub(crate) fn simplex(net: &mut Scenario, from: usize, to: usize, link: LinkSpec) {
    let name = format!("{}->{}", net.nodes[from], net.nodes[to]);
    net.links.push(Connection {
        name,
        from,
        to,
        link,
    });
}
