//! Results as one JSON object on one line.
//!
//! ```text
//! { "scenario", "file", "seeds": [ … ], "window_s",
//!   "total": { metrics }, "flows": [ { "name", "background", metrics } ],
//!   "frames": [ { "name", "playout_ms", metrics } ], "transfers": [ { "name", metrics } ],
//!   "calls": [ { "name", metrics } ], "links": [ { "name", metrics } ],
//!   "closed": [ { "flow", "seed", "at_s", "reason" } ] }
//! ```
//!
//! `frames`, `transfers`, `calls` and `closed` are absent if the scenario has none of them.
//! `closed` lists the connections that closed during a run. A metric is a number, or null if
//! nothing could be measured. With several seeds it is `{ "mean", "ci95", "values" }`: the mean and
//! interval over the seeds with a value, and one value per seed. Metrics with the same text before
//! a dot in their keys form one object.

use std::path::Path;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::{Item, Metric, Results, Value};

/// Returns one object on one line, with the newline; `file` is the path of the scenario file.
pub fn render(results: &Results<'_>, file: &Path) -> String {
    let item = |item, named| ItemObject { item, named };
    let object = Object {
        scenario: results.title,
        file: &file.to_string_lossy(),
        seeds: &results.seeds,
        window_s: results.window.as_secs_f64(),
        total: item(&results.total, Named::No),
        flows: results.flows.iter().map(|i| item(i, Named::Flow)).collect(),
        frames: results
            .frames
            .iter()
            .map(|i| item(i, Named::Frames))
            .collect(),
        transfers: results
            .transfers
            .iter()
            .map(|i| item(i, Named::Flow))
            .collect(),
        calls: results.calls.iter().map(|i| item(i, Named::Flow)).collect(),
        links: results.links.iter().map(|i| item(i, Named::Link)).collect(),
        closed: results
            .closings
            .iter()
            .map(|closing| ClosingObject {
                flow: &closing.flow,
                seed: closing.seed,
                at_s: closing.closed.at.as_secs_f64(),
                reason: &closing.closed.reason,
            })
            .collect(),
    };
    // Strings, numbers and lists and maps of them always serialise.
    let mut line = serde_json::to_string(&object).unwrap_or_default();
    line.push('\n');
    line
}

#[derive(Serialize)]
struct Object<'a> {
    scenario: &'a str,
    file: &'a str,
    seeds: &'a [u64],
    window_s: f64,
    total: ItemObject<'a>,
    flows: Vec<ItemObject<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    frames: Vec<ItemObject<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transfers: Vec<ItemObject<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<ItemObject<'a>>,
    links: Vec<ItemObject<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    closed: Vec<ClosingObject<'a>>,
}

#[derive(Serialize)]
struct ClosingObject<'a> {
    flow: &'a str,
    seed: u64,
    at_s: f64,
    reason: &'a str,
}

struct ItemObject<'a> {
    item: &'a Item,
    named: Named,
}

#[derive(PartialEq)]
enum Named {
    No,
    Flow,
    Frames,
    Link,
}

impl Serialize for ItemObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.named != Named::No {
            map.serialize_entry("name", &self.item.name)?;
        }
        if self.named == Named::Flow {
            map.serialize_entry("background", &self.item.background)?;
        }
        if self.named == Named::Frames {
            map.serialize_entry("playout_ms", &self.item.playout_ms)?;
        }
        let group_of = |metric: &Metric| metric.key.split_once('.').map(|(group, _)| group);
        for members in self
            .item
            .metrics
            .chunk_by(|a, b| group_of(a).is_some() && group_of(a) == group_of(b))
        {
            match group_of(&members[0]) {
                Some(group) => map.serialize_entry(group, &Group(members))?,
                None => map.serialize_entry(members[0].key, &Number(&members[0]))?,
            }
        }
        map.end()
    }
}

/// Writes the metrics of one group.
struct Group<'a>(&'a [Metric]);

impl Serialize for Group<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|metric| {
            let member = metric
                .key
                .split_once('.')
                .map_or(metric.key, |(_, member)| member);
            (member, Number(metric))
        }))
    }
}

/// One metric, under one seed or several.
struct Number<'a>(&'a Metric);

impl Serialize for Number<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metric = self.0;
        if let [value] = metric.values[..] {
            return value.serialize(serializer);
        }
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("mean", &metric.mean())?;
        map.serialize_entry("ci95", &metric.ci95())?;
        map.serialize_entry("values", &metric.values)?;
        map.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => count.serialize(serializer),
            Self::Real(real) => real.serialize(serializer),
        }
    }
}
