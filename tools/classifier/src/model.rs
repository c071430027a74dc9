//! Runs a model that train.py wrote in closed loop, with the signals of the released classifiers.
//!
//! The file has a line `threshold X` (log-odds), then a line for each tree: `tree` and its nodes,
//! each `signal:bound:left:right` with the numbers of its child nodes. A leaf is `255:0:V:0`, with
//! V in thousandths of log-odds. A logistic rule has a line `rule` with `signal:low:high:weight`
//! for each signal. The signal is first clipped to [low, high]; the threshold includes the rule's
//! constant.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use whyloss::Cause;
use whyloss::event::{AckEvent, LossEvent};
use whyloss::receiver::trees::{Past, Signals};
use whyloss::receiver::{Arrival, ReceiverClassifier};
use whyloss::sender::{self, SenderClassifier};

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
    rule: Vec<[f64; 4]>,
}

impl Model {
    pub(crate) fn read(path: &Path) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let text = std::fs::read_to_string(path)?;
        let (mut threshold, mut trees, mut rule) = (0.0, Vec::new(), Vec::new());
        for line in text.lines() {
            if let Some(value) = line.strip_prefix("threshold ") {
                threshold = value.parse()?;
            } else if let Some(nodes) = line.strip_prefix("tree ") {
                let nodes = nodes.split_whitespace().map(Node::read);
                trees.push(nodes.collect::<Result<Vec<_>, _>>()?);
            } else if let Some(terms) = line.strip_prefix("rule ") {
                for term in terms.split_whitespace() {
                    let numbers: Result<Vec<f64>, _> = term.split(':').map(str::parse).collect();
                    let term = numbers?.try_into();
                    rule.push(term.map_err(|_| format!("`{line}` is no rule"))?);
                }
            }
        }
        Ok(Self {
            threshold,
            trees,
            rule,
        })
    }

    fn log_odds(&self, signals: &[i16]) -> f64 {
        let leaf = |tree: &Vec<Node>| {
            let mut node = &tree[0];
            while let Some(&signal) = signals.get(node.signal) {
                let below = i64::from(signal) <= node.bound;
                let next = if below { node.left } else { node.right };
                node = &tree[next as usize];
            }
            node.left
        };
        let grown: i64 = self.trees.iter().map(leaf).sum();
        let term = |&[signal, low, high, weight]: &[f64; 4]| {
            let signal = signals.get(signal as usize).copied().unwrap_or(0);
            weight * f64::from(signal).clamp(low, high)
        };
        grown as f64 / 1e3 + self.rule.iter().map(term).sum::<f64>()
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

/// A model as a receiver classifier.
pub(crate) struct InLoop {
    signals: Signals,
    past: Past,
    model: Arc<Model>,
}

impl InLoop {
    pub(crate) fn new(model: Arc<Model>) -> Self {
        let (signals, past) = (Signals::new(), Past::new());
        Self {
            signals,
            past,
            model,
        }
    }
}

impl ReceiverClassifier for InLoop {
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        let described = self.signals.on_arrival(arrival, missing);
        let thousandths = |odds: f64| (1e3 * odds) as i32;
        (missing > 0).then(|| match described {
            Some(signals) => {
                let odds = thousandths(self.model.log_odds(&signals));
                self.past.cause(odds, thousandths(self.model.threshold))
            }
            None => Cause::Congestion,
        })
    }
}

/// A model as a sender classifier.
pub(crate) struct SenderInLoop {
    signals: sender::trees::Signals,
    model: Arc<Model>,
}

impl SenderInLoop {
    pub(crate) fn new(model: Arc<Model>) -> Self {
        let signals = sender::trees::Signals::new();
        Self { signals, model }
    }
}

impl SenderClassifier for SenderInLoop {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.signals.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        let described = self.signals.on_loss(loss);
        let odds = described.map(|signals| self.model.log_odds(&signals));
        match odds {
            Some(odds) if odds <= self.model.threshold => Cause::Wireless,
            _ => Cause::Congestion,
        }
    }
}
