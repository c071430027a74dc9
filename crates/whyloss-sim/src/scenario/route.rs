//! Finds routes: the links that a flow's packets take.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use super::{Flow, Scenario};

/// Finds routes in one scenario.
#[derive(Debug)]
pub struct Router<'a> {
    scenario: &'a Scenario,
    /// The links that leave each node, by index.
    leaving: Vec<Vec<usize>>,
    /// The known results: for each start node, the link that reaches each node first.
    found: RefCell<BTreeMap<usize, Vec<Option<u32>>>>,
}

/// The number of nodes whose routes are kept.
const KEPT: usize = 64;

impl<'a> Router<'a> {
    /// Returns a router over the scenario's links.
    pub fn new(scenario: &'a Scenario) -> Self {
        let mut leaving = vec![Vec::new(); scenario.nodes.len()];
        for (index, link) in scenario.links.iter().enumerate() {
            leaving[link.from].push(index);
        }
        Self {
            scenario,
            leaving,
            found: RefCell::default(),
        }
    }

    /// Returns the indices of the links on the route with the fewest hops; `None` if there is no
    /// route. Among equal routes, it is the one whose links come first in the scenario.
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let links = &self.scenario.links;
        // Most hosts have one outgoing link. The search then begins at its far end, so that hosts
        // share searches.
        let (mut start, mut way_out) = (from, Vec::new());
        while let [link] = self.leaving[start][..]
            && start != to
            && way_out.len() < links.len()
        {
            way_out.push(link);
            start = links[link].to;
        }
        let mut found = self.found.borrow_mut();
        if found.len() >= KEPT && !found.contains_key(&start) {
            found.clear();
        }
        let via = found.entry(start).or_insert_with(|| self.search(start));
        let mut route = Vec::new();
        let mut node = to;
        while node != start {
            let link = via[node]? as usize;
            route.push(link);
            node = links[link].from;
        }
        way_out.extend(route.into_iter().rev());
        Some(way_out)
    }

    /// Searches breadth first. Returns the link that reaches each node first.
    fn search(&self, from: usize) -> Vec<Option<u32>> {
        let mut via = vec![None; self.leaving.len()];
        let mut frontier = VecDeque::from([from]);
        while let Some(node) = frontier.pop_front() {
            for &link in &self.leaving[node] {
                let next = self.scenario.links[link].to;
                if next != from && via[next].is_none() {
                    via[next] = Some(link as u32);
                    frontier.push_back(next);
                }
            }
        }
        via
    }

    /// Returns the indices of a flow's links from source to sink, and back. These are the links
    /// that the flow names, or else the route with the fewest hops. Returns `None` if there is no
    /// route.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Connection;
    use whyloss_link::LinkSpec;

    fn network(nodes: usize, links: &[(usize, usize)]) -> Scenario {
        Scenario {
            nodes: (0..nodes).map(|n| format!("n{n}")).collect(),
            links: links
                .iter()
                .map(|&(from, to)| Connection {
                    name: format!("{from}->{to}"),
                    from,
                    to,
                    link: LinkSpec::default(),
                })
                .collect(),
            ..Scenario::default()
        }
    }

    #[test]
    fn fewest_hops_win() {
        // 0→1→2→3 and the shortcut 0→3, which comes last.
        let net = network(4, &[(0, 1), (1, 2), (2, 3), (0, 3)]);
        assert_eq!(Router::new(&net).route(0, 3), Some(vec![3]));
        assert_eq!(Router::new(&net).route(0, 2), Some(vec![0, 1]));
        assert_eq!(Router::new(&net).route(3, 0), None);
    }

    #[test]
    fn ties_go_to_the_first_link() {
        // Two ways of two hops from 0 to 3, and two parallel links at the end of one of them.
        let net = network(4, &[(2, 3), (0, 2), (0, 1), (1, 3), (1, 3)]);
        assert_eq!(Router::new(&net).route(0, 3), Some(vec![1, 0]));
        assert_eq!(Router::new(&net).route(1, 3), Some(vec![3]));
    }

    /// Returns the best of all simple paths, by length, then by the indices of its links.
    fn naive(net: &Scenario, from: usize, to: usize, seen: &mut Vec<usize>) -> Option<Vec<usize>> {
        if from == to {
            return Some(Vec::new());
        }
        seen.push(from);
        let mut best: Option<Vec<usize>> = None;
        for (index, link) in net.links.iter().enumerate() {
            if link.from == from
                && !seen.contains(&link.to)
                && let Some(rest) = naive(net, link.to, to, seen)
            {
                let route = [vec![index], rest].concat();
                let key = |route: &Vec<usize>| (route.len(), route.clone());
                if best.as_ref().is_none_or(|best| key(&route) < key(best)) {
                    best = Some(route);
                }
            }
        }
        seen.pop();
        best
    }

    proptest::proptest! {
        #[test]
        fn agrees_with_trying_every_path(
            links in proptest::collection::vec((0usize..6, 0usize..6), 0..14),
        ) {
            let net = network(6, &links);
            let router = Router::new(&net);
            for from in 0..6 {
                for to in 0..6 {
                    let expected = naive(&net, from, to, &mut Vec::new());
                    proptest::prop_assert_eq!(router.route(from, to), expected);
                }
            }
        }
    }
}
