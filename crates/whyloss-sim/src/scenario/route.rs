//! Routes: the links that a flow's packets take.

use std::collections::VecDeque;

use super::{Flow, Scenario};

/// Finds routes in one scenario.
#[derive(Debug)]
pub struct Router<'a> {
    scenario: &'a Scenario,
    /// The links that leave each node, by index.
    leaving: Vec<Vec<usize>>,
}

impl<'a> Router<'a> {
    /// A router over the scenario's links.
    pub fn new(scenario: &'a Scenario) -> Self {
        let mut leaving = vec![Vec::new(); scenario.nodes.len()];
        for (index, link) in scenario.links.iter().enumerate() {
            leaving[link.from].push(index);
        }
        Self { scenario, leaving }
    }

    /// The links from one node to another with the fewest hops; `None` if there is no way. Among equals, the route
    /// whose links come first in the scenario.
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        // Breadth first from `from`; `via[node]` is the link that reached the node first.
        let links = &self.scenario.links;
        let mut via: Vec<Option<usize>> = vec![None; self.leaving.len()];
        let mut frontier = VecDeque::from([from]);
        while let Some(node) = frontier.pop_front() {
            if node == to {
                break;
            }
            for &link in &self.leaving[node] {
                let next = links[link].to;
                if next != from && via[next].is_none() {
                    via[next] = Some(link);
                    frontier.push_back(next);
                }
            }
        }
        let mut route = Vec::new();
        let mut node = to;
        while node != from {
            let link = via[node]?;
            route.push(link);
            node = links[link].from;
        }
        route.reverse();
        Some(route)
    }

    /// The links of a flow from source to sink, and back: those it names, else those with the fewest hops; `None` if
    /// there is no way.
    pub fn routes_of(&self, flow: &Flow) -> Option<(Vec<usize>, Vec<usize>)> {
        let choose = |named: &Vec<usize>, from, to| {
            if named.is_empty() {
                self.route(from, to)
            } else {
                Some(named.clone())
            }
        };
        let there = choose(&flow.route, flow.source, flow.sink)?;
        Some((there, choose(&flow.return_route, flow.sink, flow.source)?))
    }
}
