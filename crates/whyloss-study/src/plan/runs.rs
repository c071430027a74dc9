//! Turns a list of runs into a plan, with factored axes if possible and else one axis that lists
//! all runs.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::{Document, Network, Plan, PlanError, Until};
use crate::axis::{Axis, Choice};

/// One run of a plan, with all of its seeds.
#[derive(Clone, Debug)]
pub struct Told {
    /// The run's value in each column of the plan, with the column's name.
    pub places: Vec<(String, Value)>,
    /// The index of the run's scenario among the plan's networks.
    pub network: usize,
    /// The settings as keys and values.
    pub set: Table,
}

/// The parts of a plan besides its points.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The name of the plan in messages.
    pub name: String,
    /// The number of seeds of each run; with `until`, the lowest number.
    pub seeds: u64,
    /// The metrics in the notation of [`crate::Metric::find`].
    pub metrics: Vec<String>,
    /// The rule of precision; `None` to run exactly `seeds`. It has the metric that must be
    /// precise, the largest half interval relative to the mean, the confidence in (0, 1), and the
    /// highest number of seeds.
    pub until: Option<(String, f64, f64, u64)>,
}

/// The key under which the scenario is factored like any other setting.
const SCENARIO: &str = "\0scenario";

impl Plan {
    /// Builds the plan of these runs. Its axes are the runs' columns if each setting depends on
    /// only one of them; otherwise one axis lists the runs.
    ///
    /// # Errors
    /// Returns an error if `runs` is empty or the plan has no metrics.
    pub fn of_runs(beside: Beside, networks: &[Network], runs: &[Told]) -> Result<Self, PlanError> {
        let told = factors(runs);
        let (mut always, mut axes) = told.unwrap_or_else(|| (Table::new(), listed(runs)));
        let used = always.remove(SCENARIO);
        let first = used
            .as_ref()
            .and_then(Value::as_integer)
            .map_or(0, |first| first as usize);
        for axis in &mut axes {
            // Column names must be unique.
            while taken(&beside.metrics, &axis.name) {
                axis.name.to_mut().push('_');
            }
            for choice in axis.choices.iter_mut().flatten() {
                if let Some(Value::Integer(network)) = choice.set.remove(SCENARIO) {
                    let network = &networks[network as usize];
                    choice.scenario = Some(network.file.clone());
                }
            }
        }
        let Some(first) = networks.get(first) else {
            return Err(super::refused(&beside.name, "there is no run"));
        };
        let document = Document {
            scenario: Some(first.file.clone()),
            seeds: beside.seeds,
            first_seed: 1,
            metrics: beside.metrics,
            set: always.into(),
            axes,
            draws: None,
            until: beside
                .until
                .map(|(metric, within, confidence, most)| Until {
                    metric,
                    within,
                    confidence,
                    most,
                }),
        };
        Self::new(&beside.name, first.clone(), document, |name| {
            let found = networks.iter().find(|network| network.file == name);
            found
                .cloned()
                .ok_or_else(|| super::refused(&beside.name, &format!("no scenario is {name:?}")))
        })
    }
}

fn taken(metrics: &[String], name: &str) -> bool {
    let words = metrics.iter().map(|text| text.split(['=', ' ']).next());
    super::columns::is_taken(metrics, name) || words.flatten().any(|word| word == name)
}

/// Returns the settings of a run, including its scenario.
fn all(run: &Told) -> Table {
    let mut all = run.set.clone();
    all.insert(SCENARIO.to_owned(), Value::Integer(run.network as i64));
    all
}

fn choice(name: Value, set: Table) -> Choice {
    Choice {
        name,
        scenario: None,
        network: None,
        set,
    }
}

fn axis(name: String, choices: Vec<Choice>) -> Axis {
    Axis {
        choices: Some(choices),
        ..Axis::named(name)
    }
}

/// Returns one axis with a place for each run.
fn listed(runs: &[Told]) -> Vec<Axis> {
    let place = |run: &Told| {
        let names = run.places.iter().map(|(_, place)| match place {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        choice(names.join(", ").into(), all(run))
    };
    vec![axis("run".to_owned(), runs.iter().map(place).collect())]
}

/// Returns the settings that all runs share, and an axis for each column. Returns `None` if the
/// runs are not the product of their columns, or a setting depends on two columns.
fn factors(runs: &[Told]) -> Option<(Table, Vec<Axis>)> {
    let columns: Vec<&str> = runs
        .first()?
        .places
        .iter()
        .map(|of| of.0.as_str())
        .collect();
    let same = |run: &Told| {
        run.places
            .iter()
            .map(|of| of.0.as_str())
            .eq(columns.iter().copied())
    };
    if !runs.iter().all(same) {
        return None;
    }
    // The places of each column, and each run's indices into them.
    let mut places: Vec<Vec<&Value>> = vec![Vec::new(); columns.len()];
    let mut numbers: Vec<Vec<usize>> = Vec::new();
    for run in runs {
        let mut of_run = Vec::new();
        for (column, of) in places.iter_mut().zip(&run.places) {
            let at = column.iter().position(|known| **known == of.1);
            of_run.push(at.unwrap_or(column.len()));
            if at.is_none() {
                column.push(&of.1);
            }
        }
        numbers.push(of_run);
    }
    let points: usize = places.iter().map(Vec::len).product();
    let distinct: BTreeSet<&Vec<usize>> = numbers.iter().collect();
    if points != runs.len() || distinct.len() != runs.len() {
        return None;
    }
    let sets: Vec<Table> = runs.iter().map(all).collect();
    let keys: BTreeSet<&String> = sets.iter().flat_map(Table::keys).collect();
    let mut always = Table::new();
    let mut of_columns: Vec<Vec<Table>> = places
        .iter()
        .map(|places| vec![Table::new(); places.len()])
        .collect();
    // The owner of each key: 0 for all runs, else the column's number from 1.
    let mut owners: BTreeMap<&str, usize> = BTreeMap::new();
    for key in keys {
        let values: Vec<Option<&Value>> = sets.iter().map(|set| set.get(key)).collect();
        let first = values.first().copied().flatten();
        if values.iter().all(|value| *value == first) {
            always.extend(first.map(|first| (key.clone(), first.clone())));
            owners.insert(key, 0);
            continue;
        }
        let told = (0..columns.len()).find_map(|column| {
            let mut told: Vec<Option<Option<&Value>>> = vec![None; places[column].len()];
            let agrees = numbers
                .iter()
                .zip(&values)
                .all(|(number, value)| *told[number[column]].get_or_insert(*value) == *value);
            agrees.then_some((column, told))
        });
        let (column, told) = told?;
        for (set, value) in of_columns[column].iter_mut().zip(told) {
            set.extend(value.flatten().map(|value| (key.clone(), value.clone())));
        }
        owners.insert(key, column + 1);
    }
    // Setting a table after one of its keys would discard that key.
    let late = owners.iter().any(|(key, owner)| {
        let mut below = owners.iter();
        below.any(|(other, of)| other.starts_with(&format!("{key}.")) && of < owner)
    });
    if late {
        return None;
    }
    let axes = columns.iter().zip(places).zip(of_columns);
    let axes = axes.map(|((name, places), sets)| {
        let choices = places.into_iter().cloned().zip(sets);
        let choices = choices.map(|(place, set)| choice(place, set));
        axis((*name).to_owned(), choices.collect())
    });
    Some((always, axes.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str, x: i64, set: &str) -> Told {
        Told {
            places: vec![("line".into(), line.into()), ("x".into(), x.into())],
            network: usize::from(line == "b"),
            set: toml::from_str(set).expect("TOML"),
        }
    }

    fn plan(runs: &[Told]) -> Plan {
        let network = |file: &str| Network {
            file: file.into(),
            text: String::new(),
        };
        let beside = Beside {
            name: "plan.toml".into(),
            seeds: 3,
            metrics: vec!["x = total.mw".into()],
            until: None,
        };
        Plan::of_runs(beside, &[network("a.toml"), network("b.toml")], runs).expect("a plan")
    }

    fn told(plan: &Plan) -> BTreeSet<String> {
        let points = (0..plan.points()).map(|point| plan.point(point));
        points
            .map(|point| format!("{} {:?}", plan.networks[point.network].file, point.set))
            .collect()
    }

    #[test]
    fn what_hangs_on_one_column_is_an_axis() {
        let runs = [("a", 1), ("a", 2), ("b", 1), ("b", 2)];
        let runs = runs.map(|(line, x)| run(line, x, &format!("loss = {x}\nend = 5")));
        let plan = plan(&runs);
        // Columns and metrics must not share a name.
        assert_eq!(plan.axes().collect::<Vec<_>>(), ["line", "x_"]);
        let text = plan.to_toml();
        for line in [
            "scenario = \"a.toml\"\nseeds = 3\nmetrics = [\"x = total.mw\"]",
            "[set]\nend = 5",
            "    { name = \"b\", scenario = \"b.toml\", set = {} },",
            "    { name = 2, set = { loss = 2 } },",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert_eq!(told(&plan).len(), 4);
    }

    #[test]
    fn what_hangs_on_two_columns_is_listed() {
        let runs = [("a", 1), ("a", 2), ("b", 1), ("b", 2)];
        let sets = ["loss = 1", "loss = 2", "loss = 3", "loss = 4"];
        let runs: Vec<Told> = runs
            .into_iter()
            .zip(sets)
            .map(|((line, x), set)| run(line, x, set))
            .collect();
        let listed = plan(&runs);
        assert_eq!(listed.axes().collect::<Vec<_>>(), ["run"]);
        assert!(
            listed
                .to_toml()
                .contains("{ name = \"b, 2\", scenario = \"b.toml\", set = { loss = 4 } },")
        );
        assert_eq!(told(&listed).len(), 4);
        // The table depends on a later column than its key. Setting it after the key would discard
        // the key.
        let table = |(line, x): (&str, i64)| {
            let set = format!("\"c.key\" = \"{line}\"\nc = {{ key = \"of\", x = {x} }}");
            run(line, x, &set)
        };
        let runs = [("a", 1), ("a", 2), ("b", 1), ("b", 2)].map(table);
        assert_eq!(plan(&runs).axes().collect::<Vec<_>>(), ["run"]);
    }
}
