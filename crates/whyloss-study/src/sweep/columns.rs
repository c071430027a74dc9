//! The columns of a sweep's metrics. A metric for all flows has a column for each.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::metric::Metric;

/// The flows for which each metric has separate values, at one point.
pub(super) type Flows = Vec<Vec<String>>;

/// Lists of flows, of which most points have the same.
#[derive(Default)]
pub(super) struct Lists(Mutex<HashSet<Arc<Flows>>>);

impl Lists {
    /// Returns the stored list that equals this one.
    pub(super) fn share(&self, flows: Flows) -> Arc<Flows> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lists.get(&flows) {
            return Arc::clone(known);
        }
        let new = Arc::new(flows);
        lists.insert(Arc::clone(&new));
        new
    }
}

/// The column of a metric.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The metric in a plan's notation.
    pub(super) text: String,
    /// The index of the plan's metric.
    metric: usize,
    /// The flow that it is about, if its metric has a column for each flow.
    pub(super) flow: Option<String>,
}

impl Column {
    /// Returns whether a point lacks the column's flow, but has one whose name begins with its
    /// name. Earlier versions stored the value of the latter.
    pub(super) fn is_mistaken(&self, flows: &Flows) -> bool {
        let of_point = &flows[self.metric];
        let is_mistaken = |flow: &String| {
            !of_point.contains(flow) && of_point.iter().any(|other| other.starts_with(flow))
        };
        self.flow.as_ref().is_some_and(is_mistaken)
    }
}

/// Returns the columns of metrics with these texts, from the flows at each point.
pub(super) fn columns(texts: &[String], metrics: &[Metric], points: &[Arc<Flows>]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for (metric, (text, parsed)) in texts.iter().zip(metrics).enumerate() {
        let flows = flows(points.iter().map(|flows| &flows[metric]));
        if flows.is_empty() {
            columns.push(Column {
                text: text.clone(),
                metric,
                flow: None,
            });
        }
        for flow in flows {
            let text = parsed.text(Some(flow));
            // A plan may also name the metric of one of the flows.
            if columns.iter().all(|known| known.text != text) {
                columns.push(Column {
                    text,
                    metric,
                    flow: Some(flow.clone()),
                });
            }
        }
    }
    columns
}

/// Returns the flows of a metric that have a column each; empty if one column suffices, because no
/// point has several flows.
fn flows<'a>(points: impl Iterator<Item = &'a Vec<String>> + Clone) -> Vec<&'a String> {
    let several = points.clone().filter(|flows| flows.len() > 1);
    let mut all: Vec<&String> = Vec::new();
    if several.clone().next().is_none() {
        return all;
    }
    // Points with a single flow come last, so that they change no order of columns.
    for of_point in several.chain(points.filter(|flows| flows.len() == 1)) {
        if !of_point.iter().eq(all.iter().copied()) {
            for flow in of_point {
                if !all.contains(&flow) {
                    all.push(flow);
                }
            }
        }
    }
    all
}
