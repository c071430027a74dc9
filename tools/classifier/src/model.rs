//! A model that train.py wrote, asked in a loop: the signals are those that ship.
//!
//! A line `threshold X` (log-odds), then a line for each tree: `tree` and its nodes, `signal:bound:left:right` with the
//! numbers of the nodes below; a leaf is `255:0:V:0`, in thousandths of log-odds.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use whyloss::Cause;
use whyloss::receiver::trees::{COUNT, Signals};
use whyloss::receiver::{Arrival, ReceiverClassifier};

struct Node {
    signal: usize,
    bound: i64,
    left: i64,
    right: i64,
}

/// Trees of any shape.
pub(crate) struct Model {
    threshold: f64,
    trees: Vec<Vec<Node>>,
}

impl Model {
    pub(crate) fn read(path: &Path) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let text = std::fs::read_to_string(path)?;
        let (mut threshold, mut trees) = (0.0, Vec::new());
        for line in text.lines() {
            if let Some(value) = line.strip_prefix("threshold ") {
                threshold = value.parse()?;
            } else if let Some(nodes) = line.strip_prefix("tree ") {
                let nodes = nodes.split_whitespace().map(Node::read);
                trees.push(nodes.collect::<Result<Vec<_>, _>>()?);
            }
        }
        Ok(Self { threshold, trees })
    }

    fn log_odds(&self, signals: &[i16; COUNT]) -> i64 {
        let leaf = |tree: &Vec<Node>| {
            let mut node = &tree[0];
            while let Some(&signal) = signals.get(node.signal) {
                let below = i64::from(signal) <= node.bound;
                let next = if below { node.left } else { node.right };
                node = &tree[next as usize];
            }
            node.left
        };
        self.trees.iter().map(leaf).sum()
    }
}

impl Node {
    fn read(text: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let numbers: Result<Vec<i64>, _> = text.split(':').map(str::parse).collect();
        let [signal, bound, left, right] = numbers?[..] else {
            return Err(format!("`{text}` is no node of a tree").into());
        };
        Ok(Self {
            signal: usize::try_from(signal)?,
            bound,
            left,
            right,
        })
    }
}

/// A model at a receiver.
pub(crate) struct InLoop {
    signals: Signals,
    model: Arc<Model>,
}

impl InLoop {
    pub(crate) fn new(model: Arc<Model>) -> Self {
        let signals = Signals::new();
        Self { signals, model }
    }
}

impl ReceiverClassifier for InLoop {
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        let described = self.signals.on_arrival(arrival, missing);
        let odds = described.map(|signals| self.model.log_odds(&signals) as f64 / 1e3);
        (missing > 0).then(|| match odds {
            Some(odds) if odds <= self.model.threshold => Cause::Wireless,
            _ => Cause::Congestion,
        })
    }
}
