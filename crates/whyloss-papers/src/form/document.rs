//! The keys of a paper's file (docs/guides/papers.md explains each).

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Table};

/// A text that knows where it stands.
pub(crate) type Text = Spanned<String>;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    pub(crate) id: Text,
    pub(crate) citation: String,
    /// Replications, unless a figure has its own.
    pub(crate) seeds: u64,
    /// Of every interval.
    pub(crate) confidence: Option<f64>,
    /// How evidence writes lines: `short`, or with intervals.
    pub(crate) evidence: Option<Text>,
    /// What a cell is scored as, by its unit; `*` stands for any other.
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
    /// Tables that figures share: see [`Figure::like`].
    #[serde(default)]
    pub(crate) like: BTreeMap<String, Figure>,
    #[serde(default)]
    pub(crate) figure: Vec<Figure>,
    /// Reasons that hold for every figure.
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
    /// See `whyloss_study::metric`.
    pub(crate) of: Text,
}

/// The changes of a line, a place of an axis, or an item of a dimension to a network.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LineSpec {
    /// As figures call it.
    pub(crate) name: String,
    /// Keys of the scenario.
    #[serde(default)]
    pub(crate) set: Table,
    /// Keys of each of the figure's flows.
    #[serde(default)]
    pub(crate) flow: Table,
    /// A change that no key of a scenario makes, by name.
    pub(crate) adjust: Option<Text>,
    /// It is no run of its own, but looks at that of another line …
    pub(crate) of: Option<Text>,
    /// … at the flows whose names begin so.
    pub(crate) flows: Option<String>,
    /// The network that it runs over, if not the figure's.
    pub(crate) network: Option<Text>,
    /// Metrics that it is read in instead of others.
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
    /// Keys of the scenario; `{x}`, `{x/100}` and `{x*8}` stand for the place.
    #[serde(default)]
    pub(crate) set: Table,
    #[serde(default)]
    pub(crate) flow: Table,
    /// The same with a value for each place.
    #[serde(default)]
    pub(crate) each: BTreeMap<String, Vec<toml::Value>>,
    /// A network for each place.
    pub(crate) networks: Option<Vec<Text>>,
}

/// One item of a dimension: of the topologies, say, or of the readings of a paper.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    /// The name in expressions.
    #[serde(default)]
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) network: Option<Text>,
    #[serde(default)]
    pub(crate) set: Table,
    #[serde(default)]
    pub(crate) flow: Table,
    pub(crate) adjust: Option<Text>,
    /// A value for each place of the axis.
    #[serde(default)]
    pub(crate) each: BTreeMap<String, Vec<toml::Value>>,
    /// Keys of the flows of one line alone, by its name.
    #[serde(default)]
    pub(crate) line: BTreeMap<String, Table>,
    /// Where it stands on an axis of its dimension (`across`).
    pub(crate) x: Option<f64>,
    /// The same for the runs of one plan alone, by its name; `own` is the figure's.
    #[serde(default)]
    pub(crate) on: BTreeMap<String, Table>,
    /// Metrics that lines are read in instead of others.
    #[serde(default)]
    pub(crate) instead: BTreeMap<String, Text>,
    /// Texts that templates have: `{rate.letter}`.
    #[serde(default)]
    pub(crate) text: BTreeMap<String, String>,
}

/// One table or figure of a paper.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Figure {
    pub(crate) id: Option<Text>,
    /// Title in a few words.
    pub(crate) title: Option<String>,
    /// The title of its outcome.
    pub(crate) heading: Option<String>,
    /// Where in the paper it stands.
    pub(crate) at: Option<String>,
    /// Tables of `like` that say what this one does not; the first comes first.
    pub(crate) like: Option<Vec<Text>>,
    pub(crate) seeds: Option<u64>,
    /// A probe of ours instead of the rest, by name.
    pub(crate) program: Option<Text>,
    /// A file in `networks`.
    pub(crate) network: Option<Text>,
    /// The network's flows that lines are about.
    pub(crate) flows: Option<Vec<String>>,
    pub(crate) set: Table,
    pub(crate) flow: Table,
    pub(crate) axis: Option<Text>,
    /// Some of the axis's places.
    pub(crate) x: Option<Vec<f64>>,
    pub(crate) lines: Option<Vec<Text>>,
    /// Names that expressions have for lines.
    pub(crate) alias: Option<BTreeMap<String, String>>,
    /// Names for several lines, as arguments of functions.
    pub(crate) group: Option<BTreeMap<String, Vec<String>>>,
    pub(crate) over: Option<Vec<Text>>,
    pub(crate) probe: Option<Text>,
    pub(crate) until: Option<Until>,
    /// Further runs, under names.
    pub(crate) plan: Option<BTreeMap<String, PlanSpec>>,
    /// How the evidence of claims calls a line that was read in a metric: `{metric} of {line}`.
    pub(crate) called: Option<String>,
    /// The metric of lines that name none.
    pub(crate) metric: Option<Text>,
    #[serde(rename = "let")]
    pub(crate) lets: Option<BTreeMap<String, Let>>,
    pub(crate) rows: Option<Vec<Row>>,
    pub(crate) panels: Option<Vec<Panel>>,
    pub(crate) caption: Option<String>,
    /// Further pictures.
    pub(crate) picture: Option<Vec<Picture>>,
    pub(crate) stated: Option<Vec<Stated>>,
    pub(crate) claim: Option<Vec<Claim>>,
    /// Dimensions over which all claims are repeated.
    pub(crate) each_claim: Option<Vec<Text>>,
    pub(crate) notes: Option<Vec<String>>,
    pub(crate) reason: Option<BTreeMap<String, Reason>>,
}

/// Runs beside a figure's own. The figure supplies the keys that it leaves out.
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

/// Replicate until a metric is precise.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Until {
    pub(crate) metric: Text,
    /// Half of the interval, as a share of the mean.
    pub(crate) within: f64,
    pub(crate) most: u64,
    /// How notes call a place, such as `{topology}, {queue}`.
    #[serde(default)]
    pub(crate) place: String,
}

/// A line that is made of others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Let {
    pub(crate) of: Text,
    pub(crate) name: Option<String>,
    pub(crate) unit: Option<String>,
    pub(crate) look: Option<Text>,
    /// Without intervals.
    #[serde(default)]
    pub(crate) bare: bool,
}

/// Cells: every point of some lines, or those at some places.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "its keys in a paper's file")]
pub(crate) struct Row {
    pub(crate) row: String,
    /// Lines, with `;` between.
    pub(crate) of: Option<Text>,
    /// Every line in this metric, or in each of several, which a template calls `{metric}` …
    pub(crate) metric: Option<Text>,
    pub(crate) metrics: Option<Vec<Text>>,
    /// … or these of them alone, by id or group …
    pub(crate) lines: Option<Vec<String>>,
    /// … of this plan.
    pub(crate) plan: Option<Text>,
    pub(crate) at: Option<Vec<f64>>,
    /// Whether cells at some places say where they are.
    pub(crate) placed: bool,
    pub(crate) column: Option<String>,
    pub(crate) each: Option<Vec<Text>>,
    /// Rows that are repeated together.
    pub(crate) rows: Option<Vec<Row>>,
    /// Numbers, or texts of what is selected: `{row.printed}`.
    pub(crate) paper: Vec<Number>,
    /// How far from the paper's a value may lie: the larger of a number and a share of the paper's.
    pub(crate) tolerance: Option<f64>,
    pub(crate) share: Option<f64>,
    /// Which of the paper's values, from 0, are shown and no target.
    pub(crate) shown: Vec<usize>,
    /// Whether a constant was fitted to the paper's values.
    pub(crate) fitted: bool,
    /// Scores if every loss is called congestion, and if each is called by its cause: a line or a
    /// number.
    pub(crate) unaware: Option<Text>,
    pub(crate) oracle: Option<Text>,
}

/// A number, or a text that is filled to be one.
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
    /// Some of the lines, by id or group.
    pub(crate) lines: Option<Vec<String>>,
    pub(crate) plan: Option<Text>,
    /// The labels of the axes, if not those of axis and metric.
    pub(crate) x: Option<String>,
    pub(crate) log_x: bool,
    pub(crate) y: Option<String>,
    pub(crate) log: bool,
    pub(crate) each: Option<Vec<Text>>,
    /// Lines that are dashed.
    pub(crate) dashed: Vec<String>,
    pub(crate) bare: bool,
    /// Whether lines go on where nothing was measured.
    pub(crate) measured: bool,
    /// Curves that a probe drew over time in the first run of lines, instead.
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
    /// Above this it is not drawn.
    pub(crate) below: Option<f64>,
    /// Where it was run; the place of a table if it is left out.
    pub(crate) x: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Picture {
    /// The suffix of the figure's name in the name of its file.
    pub(crate) suffix: String,
    pub(crate) caption: String,
    pub(crate) each: Option<Vec<Text>>,
    pub(crate) panels: Vec<Panel>,
}

/// A number of the paper, beside the cell that it belongs to.
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
    /// The lines compared, if `holds` does not tell.
    pub(crate) of: Option<Text>,
    /// The evidence in other words.
    pub(crate) evidence: Option<Text>,
    pub(crate) weight: Option<Text>,
    pub(crate) each: Option<Vec<Text>>,
    /// Items of a dimension at which alone it is made: `medium=shared`.
    pub(crate) only: Option<Text>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reason {
    /// `ours`, `open` or `paper`.
    pub(crate) whose: Text,
    pub(crate) why: String,
}

impl Figure {
    /// Returns this one's keys, and those of `other` where it is silent.
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

/// The figure's own come first.
fn joined<T: Clone>(own: Option<&Vec<T>>, others: Option<&Vec<T>>) -> Vec<T> {
    let mut all = own.cloned().unwrap_or_default();
    all.extend(others.cloned().unwrap_or_default());
    all
}
