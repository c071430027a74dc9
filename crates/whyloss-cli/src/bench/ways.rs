//! Computes the routes that the nodes of a network need.

use whyloss_sim::Scenario;
use whyloss_sim::scenario::{Connection, Router};
use whyloss_validate::peers::PeerError;

/// Returns every link on the routes of all flows, both ways, with the destination node of the
/// route.
///
/// # Errors
/// Returns an error if a flow has no route.
pub(crate) fn ways(scenario: &Scenario) -> Result<Vec<(&Connection, usize)>, PeerError> {
    let router = Router::new(scenario);
    let mut ways = Vec::new();
    for flow in &scenario.flows {
        let (there, back) = router
            .routes_of(flow)
            .ok_or(PeerError::Unknown("a flow without a way"))?;
        for (links, target) in [(there, flow.sink), (back, flow.source)] {
            ways.extend(
                links
                    .into_iter()
                    .map(|link| (&scenario.links[link], target)),
            );
        }
    }
    Ok(ways)
}
