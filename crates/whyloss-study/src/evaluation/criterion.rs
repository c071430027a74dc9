//! The criteria of the evaluation: measures, networks, and the sections of RFC 9743 that require
//! them.

use serde::Deserialize;
use toml::{Table, Value};

use super::Carrier;

/// One criterion of the evaluation.
#[derive(Clone, Debug)]
pub struct Criterion {
    /// The criterion's id, such as `bufferbloat`.
    pub id: String,
    /// The section of RFC 9743 that requires the criterion.
    pub section: String,
    /// The title, in a few words.
    pub title: String,
    /// The name of the axis whose numbers name the cases; empty if the cases have names.
    pub axis: String,
    /// Whether the controller of every contender also runs with the oracle.
    pub(super) truth: bool,
    /// The transport of the judged flows; `None` for that of the setting.
    pub(super) carrier: Option<Carrier>,
    /// Whether tables show the mean and a quantile over the cases instead of each case.
    pub(super) many: bool,
    /// Whether each case runs with one seed only.
    pub(super) once: bool,
    pub(super) cases: Vec<Case>,
    pub(super) measures: Vec<Measure>,
    /// The notes below its tables.
    pub(super) notes: Vec<String>,
}

/// A network of a criterion: a scenario, and the settings that change it.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) x: Option<f64>,
    pub(super) scenario: String,
    /// The name of the scenario in the sweep.
    pub(super) file: String,
    pub(super) set: Table,
}

/// Describes one measured value of a criterion.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Measure {
    pub(super) name: String,
    pub(super) unit: String,
    /// A metric of a sweep, without a name.
    pub(super) of: String,
    pub(super) against: Option<Against>,
    #[serde(rename = "as")]
    pub(super) column: Option<Column>,
}

/// The reference with which a value is compared.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Against {
    /// The decrease relative to CUBIC, in %.
    Cubic,
    /// The share of the value that the same controller reaches with the oracle.
    Truth,
}

/// The columns of the overview that measures enter.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Column {
    /// Packets received, as a share of those with the oracle.
    Received,
    /// Harm to a CUBIC or Reno flow where no channel loses.
    Harm,
    /// Jain's index of fairness over the flows.
    Jain,
}

impl Measure {
    /// Returns the unit in the form of the tables' cells; empty for an unknown unit.
    pub(super) fn unit(&self) -> &'static str {
        let units = ["%", "ms", "Mbit/s"];
        let known = units.iter().find(|unit| **unit == self.unit);
        known.copied().unwrap_or_default()
    }

    /// Returns the metric of a sweep, with a separate name if it is an expression.
    pub(super) fn metric(&self, index: usize) -> String {
        let whole = self.of.starts_with("transfers.") || self.of.starts_with("flow.");
        if whole && !self.of.contains(' ') {
            self.of.clone()
        } else {
            format!("m{index} = {}", self.of)
        }
    }
}

/// A part of the RFC, or a peer, that the evaluation leaves out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uncovered {
    /// The section of the RFC; `peer` for a peer that is left out; `QUIC` for criteria over TCP
    /// alone.
    pub section: String,
    /// The heading of the section.
    pub what: String,
    /// The reason for the omission.
    pub why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    criterion: Vec<Written>,
    uncovered: Vec<Uncovered>,
}

/// A criterion as written in its file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    section: String,
    title: String,
    network: String,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    axis: String,
    #[serde(default)]
    truth: bool,
    /// Whether the criterion applies to TCP alone.
    #[serde(default)]
    tcp: bool,
    case: Vec<WrittenCase>,
    measure: Vec<Measure>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCase {
    name: Value,
    set: Table,
}

impl Criterion {
    /// Returns the criterion over QUIC, under a separate id; `None` if the criterion does not apply
    /// to QUIC.
    #[must_use]
    pub fn over_quic(mut self) -> Option<Self> {
        if self.carrier.is_some() {
            return None;
        }
        self.carrier = Some(Carrier::Quic);
        self.id.push_str("-quic");
        self.title.push_str(", over QUIC");
        for case in &mut self.cases {
            // QUIC needs packets of at least this size.
            case.scenario = case.scenario.replace("\"1000 B\"", "\"1228 B\"");
        }
        Some(self)
    }
}

/// The criteria that an evaluation over TCP also runs over QUIC: those that decide whether to
/// enable a scheme.
pub const OVER_QUIC: [&str; 6] = [
    "beside-cubic",
    "drawn-harm",
    "drawn",
    "recorded",
    "aqm-harm",
    "satellite",
];

const CRITERIA: &str = include_str!("../../evaluation/criteria.toml");
/// The narrow path that most criteria run on.
pub(super) const PATH: &str = include_str!("../../evaluation/networks/path.toml");
const ROUND_TRIPS: &str = include_str!("../../evaluation/networks/round-trips.toml");

fn document() -> Document {
    toml::from_str(CRITERIA).unwrap_or_else(|error| panic!("criteria.toml: {error}"))
}

/// Returns the criteria of the built-in file, in the order of the sections of the RFC.
///
/// # Panics
/// Never panics: a test parses the built-in file.
pub fn criteria() -> Vec<Criterion> {
    document().criterion.into_iter().map(read).collect()
}

/// Returns the omitted parts and peers, with reasons. `has_quic` tells whether an evaluation over
/// TCP also runs [`OVER_QUIC`].
///
/// # Panics
/// Never panics: a test parses the built-in file.
pub fn uncovered(carrier: Carrier, has_quic: bool) -> Vec<Uncovered> {
    let over_quic = |criterion: &Criterion| match carrier {
        Carrier::Tcp => has_quic && OVER_QUIC.contains(&criterion.id.as_str()),
        Carrier::Quic => criterion.carrier.is_none(),
    };
    let all = criteria();
    let rest: Vec<&str> = all
        .iter()
        .filter(|one| !over_quic(one))
        .map(|one| one.id.as_str())
        .collect();
    let what = if rest.len() == all.len() {
        "All criteria over QUIC".to_owned()
    } else {
        format!("Over QUIC: {}", rest.join(", "))
    };
    let mut uncovered = document().uncovered;
    uncovered.push(Uncovered {
        section: "QUIC".to_owned(),
        what,
        why: "they run over TCP alone".to_owned(),
    });
    uncovered
}

fn read(written: Written) -> Criterion {
    let (scenario, file) = match written.network.as_str() {
        "round-trips" => (ROUND_TRIPS, "round-trips.toml"),
        _ => (PATH, "path.toml"),
    };
    let case = |case: WrittenCase| {
        let mut set = written.set.clone();
        set.extend(case.set);
        let x = case
            .name
            .as_float()
            .or(case.name.as_integer().map(|x| x as f64));
        Case {
            name: case
                .name
                .as_str()
                .map_or_else(|| case.name.to_string(), str::to_owned),
            x,
            scenario: scenario.to_owned(),
            file: file.to_owned(),
            set,
        }
    };
    Criterion {
        cases: written.case.into_iter().map(case).collect(),
        id: written.id,
        section: written.section,
        title: written.title,
        axis: written.axis,
        truth: written.truth,
        carrier: written.tcp.then_some(Carrier::Tcp),
        many: false,
        once: false,
        measures: written.measure,
        notes: Vec::new(),
    }
}
