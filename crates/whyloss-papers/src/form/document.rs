//! Declares the keys of a paper's file (docs/reference/papers.md explains each).

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Table};

/// A text with its position in the file.
pub(crate) type Text = Spanned<String>;

/// The content of a paper's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    pub(crate) id: Text,
    pub(crate) citation: String,
    /// The default number of replications of a figure.
    pub(crate) seeds: u64,
    /// The confidence level of all intervals; `None` for 0.95.
    pub(crate) confidence: Option<f64>,
    /// The format of lines in evidence, `short` or `merged`; `None` for lines with intervals.
    pub(crate) evidence: Option<Text>,
    /// The metric under which a cell is scored, by the cell's unit. `*` means any other unit.
    #[serde(default)]
    pub(crate) score: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) metric: BTreeMap<String, MetricSpec>,
    #[serde(default)]
    pub(crate) line: BTreeMap<String, LineSpec>,
    #[serde(default)]
    pub(crate) axis: BTreeMap<String, AxisSpec>,
    #[serde(default)]
    pub(crate) over: BTreeMap<String, Vec<Item>>,
    /// Tables of keys that several figures share; see [`Figure::like`].
    #[serde(default)]
    pub(crate) like: BTreeMap<String, Figure>,
    #[serde(default)]
    pub(crate) figure: Vec<Figure>,
    /// Reasons for differences that hold for every figure.
    #[serde(default)]
    pub(crate) reason: BTreeMap<String, Reason>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MetricSpec {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) unit: String,
    #[serde(default)]
    pub(crate) log: bool,
    /// The expression of the metric, in the language of `whyloss_study::metric`.
    pub(crate) of: Text,
}

/// The changes of a line, a point of an axis, or an item of a dimension to a network.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LineSpec {
    /// The name that figures show.
    pub(crate) name: String,
    /// The scenario keys that the line sets.
    #[serde(default)]
    pub(crate) set: Table,
    /// The keys that the line sets in each flow of the figure.
    #[serde(default)]
    pub(crate) flow: Table,
    /// The name of a change that no scenario key can express.
    pub(crate) adjust: Option<Text>,
    /// The line whose runs this one shows; `None` if this line has separate runs.
    pub(crate) of: Option<Text>,
    /// The prefix of the names of the flows that are measured; `None` for those of the figure.
    pub(crate) flows: Option<String>,
    /// The network; `None` for that of the figure.
    pub(crate) network: Option<Text>,
    /// Metrics of the figure, each with the metric that replaces it for this line.
    #[serde(default)]
    pub(crate) instead: BTreeMap<String, Text>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AxisSpec {
    pub(crate) label: String,
    #[serde(default)]
    pub(crate) log: bool,
    pub(crate) x: Vec<f64>,
    /// The scenario keys to set. In values, `{x}`, `{x/100}` and `{x*8}` mean the place on the
    /// axis.
    #[serde(default)]
    pub(crate) set: Table,
    #[serde(default)]
    pub(crate) flow: Table,
    /// Scenario keys, each with one value per place on the axis.
    #[serde(default)]
    pub(crate) each: BTreeMap<String, Vec<toml::Value>>,
    /// One network per place on the axis.
    pub(crate) networks: Option<Vec<Text>>,
}

/// One item of a dimension, such as a topology or a reading of the paper.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    /// The item's name in expressions.
    #[serde(default)]
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) network: Option<Text>,
    #[serde(default)]
    pub(crate) set: Table,
    #[serde(default)]
    pub(crate) flow: Table,
    pub(crate) adjust: Option<Text>,
    /// Scenario keys, each with one value per place on the axis.
    #[serde(default)]
    pub(crate) each: BTreeMap<String, Vec<toml::Value>>,
    /// The keys of the flows of single lines, by the line's name.
    #[serde(default)]
    pub(crate) line: BTreeMap<String, Table>,
    /// The item's place on the x axis, if `across` makes an axis of its dimension.
    pub(crate) x: Option<f64>,
    /// The keys for the runs of single plans, by the plan's name. `own` is the figure's own plan.
    #[serde(default)]
    pub(crate) on: BTreeMap<String, Table>,
    /// Metrics, each with the metric that replaces it for the lines.
    #[serde(default)]
    pub(crate) instead: BTreeMap<String, Text>,
    /// Texts that fill templates such as `{rate.letter}`.
    #[serde(default)]
    pub(crate) text: BTreeMap<String, String>,
}

/// One table or figure of a paper.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Figure {
    pub(crate) id: Option<Text>,
    /// A short title.
    pub(crate) title: Option<String>,
    /// The title of the outcome; `None` for `title`.
    pub(crate) heading: Option<String>,
    /// The position in the paper, such as a page.
    pub(crate) at: Option<String>,
    /// The tables of `like` that supply missing keys. Earlier ones take precedence.
    pub(crate) like: Option<Vec<Text>>,
    pub(crate) seeds: Option<u64>,
    /// The name of a program that replaces the other keys.
    pub(crate) program: Option<Text>,
    /// The name of the network's file in `networks`.
    pub(crate) network: Option<Text>,
    /// The names of the network's flows that the lines set and measure.
    pub(crate) flows: Option<Vec<String>>,
    pub(crate) set: Table,
    pub(crate) flow: Table,
    pub(crate) axis: Option<Text>,
    /// The places of the axis that the figure uses; `None` for all.
    pub(crate) x: Option<Vec<f64>>,
    pub(crate) lines: Option<Vec<Text>>,
    /// Names of lines for use in expressions.
    pub(crate) alias: Option<BTreeMap<String, String>>,
    /// Names of lists of lines for use as arguments of functions.
    pub(crate) group: Option<BTreeMap<String, Vec<String>>>,
    pub(crate) over: Option<Vec<Text>>,
    pub(crate) probe: Option<Text>,
    pub(crate) until: Option<Until>,
    /// The other plans of runs, by name.
    pub(crate) plan: Option<BTreeMap<String, PlanSpec>>,
    /// The name of a measured line in the evidence of claims, such as `{metric} of {line}`.
    pub(crate) called: Option<String>,
    /// The default metric of lines in expressions.
    pub(crate) metric: Option<Text>,
    #[serde(rename = "let")]
    pub(crate) lets: Option<BTreeMap<String, Let>>,
    pub(crate) rows: Option<Vec<Row>>,
    pub(crate) panels: Option<Vec<Panel>>,
    pub(crate) caption: Option<String>,
    /// The pictures in addition to that of `panels`.
    pub(crate) picture: Option<Vec<Picture>>,
    pub(crate) stated: Option<Vec<Stated>>,
    pub(crate) claim: Option<Vec<Claim>>,
    /// The dimensions over which all claims are repeated.
    pub(crate) each_claim: Option<Vec<Text>>,
    pub(crate) notes: Option<Vec<String>>,
    pub(crate) reason: Option<BTreeMap<String, Reason>>,
}

/// A set of additional runs of a figure. The figure supplies missing keys.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PlanSpec {
    pub(crate) network: Option<Text>,
    pub(crate) flows: Option<Vec<String>>,
    pub(crate) set: Table,
    pub(crate) flow: Table,
    pub(crate) axis: Option<Text>,
    pub(crate) x: Option<Vec<f64>>,
    pub(crate) lines: Option<Vec<Text>>,
    pub(crate) over: Option<Vec<Text>>,
    pub(crate) probe: Option<Text>,
}

/// The precision of a metric at which replication stops.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Until {
    pub(crate) metric: Text,
    /// The half-width of the interval, as a share of the mean.
    pub(crate) within: f64,
    pub(crate) most: u64,
    /// The template for a point in notes, such as `{topology}, {queue}`.
    #[serde(default)]
    pub(crate) place: String,
}

/// A line computed from others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Let {
    pub(crate) of: Text,
    pub(crate) name: Option<String>,
    pub(crate) unit: Option<String>,
    pub(crate) look: Option<Text>,
    /// Whether the line is drawn without intervals.
    #[serde(default)]
    pub(crate) bare: bool,
}

/// The cells of a row: every point of some lines, or the points at some places.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "its keys in a paper's file")]
pub(crate) struct Row {
    pub(crate) row: String,
    /// Expressions of lines, separated by `;`. Alternatively, `metric` or `metrics` is given.
    pub(crate) of: Option<Text>,
    /// The metric or metrics in which every line is shown. Templates have a metric's name as
    /// `{metric}`.
    pub(crate) metric: Option<Text>,
    pub(crate) metrics: Option<Vec<Text>>,
    /// With `metric` or `metrics`: the lines to show, by id or group; `None` for all.
    pub(crate) lines: Option<Vec<String>>,
    /// With `metric` or `metrics`: the plan of the lines.
    pub(crate) plan: Option<Text>,
    pub(crate) at: Option<Vec<f64>>,
    /// Whether the columns of cells at given places show the place.
    pub(crate) placed: bool,
    pub(crate) column: Option<String>,
    pub(crate) each: Option<Vec<Text>>,
    /// The rows of a group that `at` and `each` repeat together.
    pub(crate) rows: Option<Vec<Row>>,
    /// The paper's numbers, or templates that take texts from the selected items, such as
    /// `{row.printed}`.
    pub(crate) paper: Vec<Number>,
    /// The accepted difference from the paper's value: the larger of this number and `share` of
    /// that value.
    pub(crate) tolerance: Option<f64>,
    pub(crate) share: Option<f64>,
    /// The indices from 0 of the paper's values that are shown but not scored.
    pub(crate) shown: Vec<usize>,
    /// Whether a constant was fitted to the paper's values.
    pub(crate) fitted: bool,
    /// The score if every loss is called congestion, and the score if each loss is called by its
    /// true cause: a line or a number.
    pub(crate) unaware: Option<Text>,
    pub(crate) oracle: Option<Text>,
}

/// A number, or a template that becomes one.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Number {
    Real(f64),
    Filled(String),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "its keys in a paper's file")]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) of: Option<Text>,
    pub(crate) metric: Option<Text>,
    /// The lines to draw, by id or group; `None` for all.
    pub(crate) lines: Option<Vec<String>>,
    pub(crate) plan: Option<Text>,
    /// The axis labels; `None` for those of axis and metric.
    pub(crate) x: Option<String>,
    pub(crate) log_x: bool,
    pub(crate) y: Option<String>,
    pub(crate) log: bool,
    pub(crate) each: Option<Vec<Text>>,
    /// The ids of the dashed lines.
    pub(crate) dashed: Vec<String>,
    pub(crate) bare: bool,
    /// Whether lines continue across places without a measurement.
    pub(crate) measured: bool,
    /// Curves of a probe over time, which replace lines.
    pub(crate) tracks: Vec<Track>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "its keys in a paper's file")]
pub(crate) struct Track {
    pub(crate) of: Text,
    pub(crate) track: Text,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) dashed: bool,
    /// The highest value that is drawn.
    pub(crate) below: Option<f64>,
    /// The place on the axis whose first run has the curve; `None` if there is no axis.
    pub(crate) x: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Picture {
    /// The suffix of the picture's file name, after the figure's id.
    pub(crate) suffix: String,
    pub(crate) caption: String,
    pub(crate) each: Option<Vec<Text>>,
    pub(crate) panels: Vec<Panel>,
}

/// The paper's number for one cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stated {
    pub(crate) row: Text,
    pub(crate) column: String,
    pub(crate) x: Option<f64>,
    pub(crate) paper: f64,
    pub(crate) tolerance: Option<f64>,
    pub(crate) unaware: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) holds: Text,
    /// The lines to show as evidence, if `holds` does not name them.
    pub(crate) of: Option<Text>,
    /// A text that replaces the evidence.
    pub(crate) evidence: Option<Text>,
    pub(crate) weight: Option<Text>,
    pub(crate) each: Option<Vec<Text>>,
    /// The items of a dimension to which the claim is restricted, such as `medium=shared`.
    pub(crate) only: Option<Text>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reason {
    /// The side to which the difference is due: `ours`, `open` or `paper`.
    pub(crate) whose: Text,
    pub(crate) why: String,
}

impl Figure {
    /// Returns this figure with missing keys taken from `other`. Tables and lists such as `set` and
    /// `notes` are joined.
    pub(crate) fn or(&self, other: &Self) -> Self {
        macro_rules! merged {
            ($($key:ident),+) => {
                Self {
                    $($key: self.$key.clone().or_else(|| other.$key.clone()),)+
                    set: merge(&other.set, &self.set),
                    flow: merge(&other.flow, &self.flow),
                    lets: Some(both(self.lets.as_ref(), other.lets.as_ref())),
                    reason: Some(both(self.reason.as_ref(), other.reason.as_ref())),
                    notes: Some(joined(self.notes.as_ref(), other.notes.as_ref())),
                    claim: Some(joined(self.claim.as_ref(), other.claim.as_ref())),
                }
            };
        }
        merged!(
            id, title, heading, at, like, seeds, program, network, flows, axis, x, lines, alias,
            group, over, probe, until, called, plan, metric, rows, panels, caption, picture,
            stated, each_claim
        )
    }
}

fn merge(below: &Table, above: &Table) -> Table {
    let both = below.iter().chain(above);
    both.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn both<T: Clone>(
    above: Option<&BTreeMap<String, T>>,
    below: Option<&BTreeMap<String, T>>,
) -> BTreeMap<String, T> {
    let mut all = below.cloned().unwrap_or_default();
    all.extend(above.cloned().unwrap_or_default());
    all
}

/// Joins two lists, with the figure's own items first.
fn joined<T: Clone>(own: Option<&Vec<T>>, others: Option<&Vec<T>>) -> Vec<T> {
    let mut all = own.cloned().unwrap_or_default();
    all.extend(others.cloned().unwrap_or_default());
    all
}
