//! A paper as data: networks as scenario files, and figures and tables as entries of a TOML file.
//!
//! ```text
//! PAPER/paper.toml           metrics, lines, axes, and an entry for each figure
//! PAPER/networks/NAME.toml   scenario files, as for `whyloss run`
//!
//! Paper    the contents of the file (`document`), read and checked
//!   plan ↓     for each line and each place of the axis a scenario: the network with keys set
//! Part     the runs of one combination of plan and dimension items
//!   scope ↓    expressions about lines: evidence and verdicts
//! Outcome  rows, panels, claims, notes
//! ```

mod document;
mod error;
mod outcome;
mod plan;
mod print;
mod scope;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use whyloss_sim::scenario::suggest;
use whyloss_study::report::summary::{Whose, Why};
use whyloss_study::{Context, Experiment, ExperimentError, Metric, Outcome};

pub(crate) use self::document::Text;
use self::document::{Document, Figure, Reason};
pub use self::error::PaperError;
pub(crate) use self::error::{Fault, fault};
use self::plan::Scenarios;
pub use self::print::Printed;
pub(crate) use self::scope::{Writing, short};

/// The maximum size of a file in bytes.
const MOST_BYTES: u64 = 4_000_000;
/// The name of a paper's main file.
pub const FILE: &str = "paper.toml";

/// A scenario file with the names of its links and flows.
#[derive(Debug)]
pub(crate) struct Network {
    text: String,
    links: Vec<String>,
    flows: Vec<String>,
}

impl Network {
    fn new(text: String) -> Self {
        // An invalid file is reported when it is read as a scenario.
        let table: toml::Table = toml::from_str(&text).unwrap_or_default();
        let names = |what: &str| {
            let all = table
                .get(what)
                .and_then(toml::Value::as_array)
                .into_iter()
                .flatten();
            let name = |item: &toml::Value| Some(item.get("name")?.as_str()?.to_owned());
            all.filter_map(name).collect()
        };
        Self {
            links: names("link"),
            flows: names("flow"),
            text,
        }
    }

    /// Returns the keys that a key with `*` represents: `link.core-*.rate` is the rate of every
    /// link whose name starts with `core-`.
    fn expanded(&self, key: &str) -> Vec<String> {
        let mut steps = key.splitn(3, '.');
        let (what, name, rest) = (steps.next(), steps.next(), steps.next());
        let (Some(what), Some(start), Some(rest)) =
            (what, name.and_then(|name| name.strip_suffix('*')), rest)
        else {
            return vec![key.to_owned()];
        };
        let names = self.names(what).filter(|name| name.starts_with(start));
        names.map(|name| format!("{what}.{name}.{rest}")).collect()
    }

    /// Returns the names of the items of kind `what`: `link` or `flow`.
    fn names(&self, what: &str) -> impl Iterator<Item = &str> {
        let names = if what == "link" {
            &self.links
        } else {
            &self.flows
        };
        names.iter().map(String::as_str)
    }
}

/// A paper, read from its directory.
#[derive(Debug)]
pub struct Paper {
    file: String,
    text: String,
    document: Document,
    figures: Vec<Figure>,
    metrics: BTreeMap<String, Metric>,
    networks: BTreeMap<String, Network>,
    /// The scenarios read so far.
    scenarios: Mutex<Scenarios>,
    /// The format of evidence.
    notation: Writing,
    /// The directory in which files of networks are found.
    directory: String,
}

/// A function that returns the text of a paper's file by the file's name.
pub(crate) type Read<'a> = &'a dyn Fn(&str) -> Result<String, String>;

impl Paper {
    /// Reads the paper in a directory, and checks everything that can be checked before a run.
    ///
    /// # Errors
    /// Returns the first fault, with its file, its line and its key.
    pub fn open(folder: &Path) -> Result<&'static Self, PaperError> {
        let read = |name: &str| {
            let path = folder.join(name);
            let cannot = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
            let data = fs::metadata(&path).map_err(cannot)?;
            if !data.is_file() || data.len() > MOST_BYTES {
                return Err(format!(
                    "{} is no file of at most {MOST_BYTES} bytes",
                    path.display()
                ));
            }
            fs::read_to_string(&path).map_err(cannot)
        };
        let name = folder.to_string_lossy();
        // Outcomes refer to the paper, so it is never freed; a command opens only one or two.
        let paper: &'static Self =
            Box::leak(Box::new(Self::read(name.trim_end_matches('/'), &read)?));
        paper.check()?;
        Ok(paper)
    }

    /// Reads a paper's files. `directory` is the name of the paper in messages.
    pub(crate) fn read(directory: &str, read: Read<'_>) -> Result<Self, PaperError> {
        let file = format!("{directory}/{FILE}");
        let text = read(FILE).map_err(|message| PaperError::whole(&file, message))?;
        let document: Document =
            toml::from_str(&text).map_err(|error| PaperError::of_toml(&file, &text, &error))?;
        let mut paper = Self {
            file,
            text,
            document,
            figures: Vec::new(),
            metrics: BTreeMap::new(),
            networks: BTreeMap::new(),
            scenarios: Mutex::default(),
            notation: Writing::default(),
            directory: directory.to_owned(),
        };
        match paper.prepare(read) {
            Ok(()) => Ok(paper),
            Err(fault) => Err(paper.show(fault)),
        }
    }

    fn prepare(&mut self, read: Read<'_>) -> Result<(), Fault> {
        for (id, spec) in &self.document.metric {
            let mut metric = Metric::parse(spec.of.get_ref())
                .map_err(|error| fault(&spec.of, format!("metric `{id}`: {error}")))?;
            metric.id.clone_from(id);
            metric.name.clone_from(&spec.name);
            metric.unit.clone_from(&spec.unit);
            metric.log = spec.log;
            self.metrics.insert(id.clone(), metric);
        }
        self.notation = Writing::of(self.document.evidence.as_ref())?;
        let paper = self.document.id.get_ref().clone();
        let mut figures: Vec<Figure> = Vec::new();
        for figure in &self.document.figure {
            let whole = self.whole(figure, 0)?;
            let Some(id) = &whole.id else {
                return Err(Fault::whole("a figure has no `id`"));
            };
            if !id.get_ref().starts_with(&format!("{paper}-")) {
                return Err(fault(
                    id,
                    format!("the id of a figure begins with `{paper}-`"),
                ));
            }
            if figures
                .iter()
                .any(|other| other.id.as_ref().map(toml::Spanned::get_ref) == Some(id.get_ref()))
            {
                return Err(fault(
                    id,
                    format!("there is a figure `{}` already", id.get_ref()),
                ));
            }
            for text in names_of_networks(&whole, &self.document) {
                let name = text.get_ref();
                if !self.networks.contains_key(name) {
                    if name.contains(['/', '\\']) {
                        return Err(fault(
                            text,
                            "expected the name of a file in `networks`, such as \"wired.toml\"",
                        ));
                    }
                    let network = read(&format!("networks/{name}"))
                        .map_err(|message| fault(text, message))?;
                    self.networks.insert(name.clone(), Network::new(network));
                }
            }
            figures.push(whole);
        }
        self.figures = figures;
        Ok(())
    }

    /// Returns a figure with the keys of the tables in `like` added.
    fn whole(&self, figure: &Figure, depth: usize) -> Result<Figure, Fault> {
        let mut whole = figure.clone();
        for like in figure.like.iter().flatten() {
            if depth > 8 {
                return Err(fault(like, "`like` leads back to itself"));
            }
            let shared = find(&self.document.like, like, "table of `like`")?;
            whole = whole.or(&self.whole(shared, depth + 1)?);
        }
        Ok(whole)
    }

    /// Adds the file and the line to a fault.
    fn show(&self, fault: Fault) -> PaperError {
        fault.show(&self.file, &self.text)
    }

    /// Returns the paper's id, such as `cen`.
    pub fn id(&'static self) -> &'static str {
        self.document.id.get_ref()
    }

    /// Returns the citation of the paper.
    pub fn citation(&'static self) -> &'static str {
        &self.document.citation
    }

    /// Returns the id, title and number of replications of each table and figure.
    pub fn figures(&'static self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        self.figures.iter().map(|figure| {
            let id = figure.id.as_ref().map_or("", |id| id.get_ref());
            let title = figure.title.as_deref().or(figure.heading.as_deref());
            (
                id,
                title.unwrap_or(id),
                figure.seeds.unwrap_or(self.document.seeds),
            )
        })
    }

    pub(crate) fn figure(&self, id: &str) -> Option<&Figure> {
        let is = |figure: &&Figure| figure.id.as_ref().is_some_and(|of| of.get_ref() == id);
        self.figures.iter().find(is)
    }

    /// Returns the experiments of the paper.
    pub fn experiments(&'static self) -> impl Iterator<Item = Experiment> {
        self.figures().map(move |(id, title, seeds)| Experiment {
            id,
            paper: self.id(),
            title,
            seeds,
            // Papers live as long as the program.
            run: Box::leak(Box::new(move |context: &Context<'_>| self.run(id, context))),
        })
    }

    /// Returns each reason's figure and its claim or cell. The figure is `None` if the reason holds
    /// for all figures.
    #[cfg(test)]
    pub(crate) fn reasons(&'static self) -> Vec<(Option<&'static str>, &'static str)> {
        let all = self
            .document
            .reason
            .keys()
            .map(|what| (None, what.as_str()));
        let of_figure = |figure: &'static Figure| {
            let id = figure.id.as_ref().map(|id| id.get_ref().as_str());
            let reasons = figure.reason.iter().flat_map(BTreeMap::keys);
            reasons.map(move |what| (id, what.as_str()))
        };
        all.chain(self.figures.iter().flat_map(of_figure)).collect()
    }

    /// Runs the experiment `id`.
    ///
    /// # Errors
    /// Returns the errors of [`Context::each`], and faults of the file that appear only in a run.
    pub fn run(&'static self, id: &str, context: &Context<'_>) -> Result<Outcome, ExperimentError> {
        let Some(figure) = self.figure(id) else {
            return Ok(Outcome::new(id, id, 0));
        };
        self.outcome(figure, context)
    }

    /// Reads every scenario and every expression of every figure, without running anything.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn check(&'static self) -> Result<(), PaperError> {
        for figure in self
            .figures
            .iter()
            .filter(|figure| figure.program.is_none())
        {
            let parts = self.unrun(figure).map_err(|fault| self.show(fault))?;
            self.told(figure, &parts)
                .map_err(|fault| self.show(fault))?;
        }
        Ok(())
    }

    /// Returns why a cell (`row, column`) or a claim (its id) of an experiment fails, if the cause
    /// is known. The reason for a claim also covers those of its readings (`ELA-42b (shared)`) that
    /// have no separate reason.
    pub fn reason(&'static self, experiment: &str, what: &str) -> Option<Why> {
        let figure = self.figure(experiment)?;
        let claim = what.split_once(" (").map(|(claim, _)| claim);
        let own = figure.reason.as_ref();
        let of_any = |reasons: &'static BTreeMap<String, Reason>| {
            reasons.get(what).or_else(|| reasons.get(claim?))
        };
        let found = own
            .and_then(of_any)
            .or_else(|| of_any(&self.document.reason));
        found.or_else(|| own?.get("*")).map(why)
    }
}

fn why(reason: &'static Reason) -> Why {
    let whose = match reason.whose.get_ref().as_str() {
        "ours" => Whose::Ours,
        "paper" => Whose::Papers,
        _ => Whose::Open,
    };
    Why {
        whose,
        text: &reason.why,
    }
}

/// Returns every network that a figure names.
fn names_of_networks<'a>(figure: &'a Figure, document: &'a Document) -> Vec<&'a Text> {
    let mut names: Vec<&Text> = figure.network.iter().collect();
    let mut over: Vec<&Text> = figure.over.iter().flatten().collect();
    for plan in figure.plan.iter().flat_map(BTreeMap::values) {
        names.extend(&plan.network);
        over.extend(plan.over.iter().flatten());
    }
    let items = over
        .into_iter()
        .filter_map(|name| document.over.get(name.get_ref().split('=').next()?));
    names.extend(items.flatten().filter_map(|item| item.network.as_ref()));
    let plans = || figure.plan.iter().flat_map(BTreeMap::values);
    let lines = plans().filter_map(|plan| plan.lines.as_ref());
    let lines = lines.chain(&figure.lines).flatten();
    let lines = lines.filter_map(|id| document.line.get(id.get_ref()));
    names.extend(lines.filter_map(|line| line.network.as_ref()));
    let axes = plans()
        .filter_map(|plan| plan.axis.as_ref())
        .chain(&figure.axis);
    let axes = axes.filter_map(|name| document.axis.get(name.get_ref()));
    names.extend(axes.filter_map(|axis| axis.networks.as_ref()).flatten());
    names
}

/// Returns the entry of a table with this name.
pub(crate) fn find<'a, T>(
    table: &'a BTreeMap<String, T>,
    name: &Text,
    what: &str,
) -> Result<&'a T, Fault> {
    find_at(table, name.get_ref(), name, what)
}

/// Finds the entry of a table with this name. An error points to the text `at`.
pub(crate) fn find_at<'a, T>(
    table: &'a BTreeMap<String, T>,
    name: &str,
    at: &Text,
    what: &str,
) -> Result<&'a T, Fault> {
    table.get(name).ok_or_else(|| {
        let hint = suggest(name, table.keys().map(String::as_str));
        fault(at, format!("no {what} is called `{name}`{hint}"))
    })
}

#[cfg(test)]
mod tests;
