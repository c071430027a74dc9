//! Routes: the links that a flow's packets take.

use std::collections::VecDeque;

use super::{Flow, Scenario};

impl Scenario {
    /// The links from one node to another with the fewest hops, by index; `None` if there is no way. Among equals, the
    /// route whose links come first in the scenario.
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        // Breadth first from `from`; `via[node]` is the link that reached the node first.
        let mut via: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut frontier = VecDeque::from([from]);
        while let Some(node) = frontier.pop_front() {
            if node == to {
                break;
            }
            for (index, link) in self.links.iter().enumerate() {
                if link.from == node && link.to != from && via[link.to].is_none() {
                    via[link.to] = Some(index);
                    frontier.push_back(link.to);
                }
            }
        }
        let mut route = Vec::new();
        let mut node = to;
        while node != from {
            let link = via[node]?;
            route.push(link);
            node = self.links[link].from;
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
