//! Maps a part of the scenario back to the line of the file that made it.

use super::check::{CheckError, Place};
use super::document::{Item, Value};
use super::error::Fault;

/// The entry of the file that each part of the scenario was read from.
#[derive(Default)]
pub(super) struct Origins {
    links_read: usize,
    flows_read: usize,
    /// The `[[link]]` of each link, and whether the link is its way back.
    pub(super) links: Vec<(usize, bool)>,
    /// The `[[flow]]` of each flow.
    pub(super) flows: Vec<usize>,
    /// The `[[link]]` and the key that name each node first.
    pub(super) nodes: Vec<(usize, &'static str)>,
}

impl Origins {
    /// Returns the number of the `[[link]]` that is being read.
    pub(super) fn next_link(&mut self) -> usize {
        self.links_read += 1;
        self.links_read - 1
    }

    /// Returns the number of the `[[flow]]` that is being read.
    pub(super) fn next_flow(&mut self) -> usize {
        self.flows_read += 1;
        self.flows_read - 1
    }

    /// Returns the fault that the check found, at its line.
    pub(super) fn locate(&self, document: &Item, error: &CheckError) -> Fault {
        let (list, entry, keys) = match error.place {
            Place::Scenario(key) => (key, None, String::new()),
            Place::Node(node) => {
                let (entry, key) = self.nodes[node];
                ("link", Some(entry), key.to_owned())
            }
            Place::Link(link, key) => {
                let (entry, back) = self.links[link];
                let keys = match key.strip_prefix("channel") {
                    Some(rest) if back => format!("reverse_channel{rest}"),
                    _ => key.to_owned(),
                };
                ("link", Some(entry), keys)
            }
            Place::Flow(flow, key) => ("flow", Some(self.flows[flow]), key.to_owned()),
        };
        // Descend as far as the file has keys, because a default has no line.
        let mut item = child(document, list).unwrap_or(document);
        let mut path = list.to_owned();
        if let (Some(entry), Value::List(items)) = (entry, &item.value) {
            item = &items[entry];
            path = format!("{path}[{entry}]");
        }
        for key in keys.split('.').filter(|key| !key.is_empty()) {
            path = format!("{path}.{key}");
            item = child(item, key).unwrap_or(item);
        }
        Fault::new(&item.at, path, error.problem.to_string())
    }
}

fn child<'a>(item: &'a Item, key: &str) -> Option<&'a Item> {
    match &item.value {
        Value::Table(table) => table.find(key),
        _ => None,
    }
}
