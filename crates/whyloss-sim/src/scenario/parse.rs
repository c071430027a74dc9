//! Reads scenarios from TOML. The reference begins in `docs/reference/scenarios.md`.
//!
//! The parser walks the document itself, so that every error has its line and its key. It checks
//! types, units and names. [`Scenario::check`] checks the conditions on every scenario, from a file
//! or from code; its faults are mapped back to their lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use whyloss::Time;
use whyloss_link::LinkSpec;

use super::check::MOST;
use super::choices;
use super::document::{self, Item, Value};
use super::error::{At, Fault, ScenarioError, suggest};
use super::fields::{Field, Fields};
use super::names::Template;
use super::origins::Origins;
use super::schema::Probe;
use super::{Connection, Flow, Scenario};
use crate::registry::Registry;

/// A scenario file: the scenario, and its seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioFile {
    /// The model to simulate. It passes [`Scenario::check`].
    pub scenario: Scenario,
    /// The first seed; later seeds count up from it.
    pub seed: u64,
    /// The number of seeds, counting up from the first.
    pub seeds: u64,
}

/// The maximum number of seeds of one command.
pub const MOST_SEEDS: u64 = 100_000;

const TOP: [&str; 9] = [
    "title",
    "duration",
    "measure_from",
    "most_packets",
    "clock_noise",
    "seed",
    "seeds",
    "link",
    "flow",
];
const LINK: [&str; 16] = [
    "name",
    "from",
    "to",
    "count",
    "in_turn",
    "rate",
    "delay",
    "delay_changes",
    "queue",
    "channel",
    "arq",
    "jitter",
    "aggregation",
    "handovers",
    "both_ways",
    "reverse_channel",
];
const FLOW: [&str; 15] = [
    "name",
    "from",
    "to",
    "count",
    "packet",
    "coverage",
    "transport",
    "application",
    "scheme",
    "classifier",
    "start",
    "stop",
    "background",
    "route",
    "return_route",
];

impl ScenarioFile {
    /// Reads a scenario file.
    ///
    /// `file` names the text in messages; files that the text refers to are looked up in the
    /// directory of `file`. Each override is a key and its new value: `("link.shared.rate", "1
    /// Mbit/s")`. Links and flows are addressed by name, or by index from 0.
    ///
    /// # Errors
    /// Returns the first fault, with its line and its key.
    pub fn parse(
        text: &str,
        file: &str,
        overrides: &[(String, String)],
    ) -> Result<Self, ScenarioError> {
        Self::parse_with(text, file, overrides, &Registry::new())
    }

    /// Reads a scenario file like [`Self::parse`]. Algorithms may also have the names in
    /// `registry`.
    ///
    /// # Errors
    /// Returns the first fault, with its line and its key.
    pub fn parse_with(
        text: &str,
        file: &str,
        overrides: &[(String, String)],
        registry: &Registry,
    ) -> Result<Self, ScenarioError> {
        let directory = Path::new(file).parent().unwrap_or(Path::new(""));
        let root = document::read(text, overrides);
        let read = root.and_then(|root| read_document(&root, directory, registry));
        read.map_err(|fault| fault.show(file, text, overrides))
    }
}

impl Scenario {
    /// Returns the scenario of a scenario file; see [`ScenarioFile::parse`].
    ///
    /// # Errors
    /// Returns the first fault, with its line and its key.
    pub fn from_toml(
        text: &str,
        file: &str,
        overrides: &[(String, String)],
    ) -> Result<Self, ScenarioError> {
        ScenarioFile::parse(text, file, overrides).map(|parsed| parsed.scenario)
    }

    /// Returns the scenario of a scenario file; see [`ScenarioFile::parse_with`].
    ///
    /// # Errors
    /// Returns the first fault, with its line and its key.
    pub fn from_toml_with(
        text: &str,
        file: &str,
        overrides: &[(String, String)],
        registry: &Registry,
    ) -> Result<Self, ScenarioError> {
        let parsed = ScenarioFile::parse_with(text, file, overrides, registry);
        parsed.map(|parsed| parsed.scenario)
    }

    /// Returns the scenario of a valid text.
    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        let scenario = Self::from_toml(text, "a scenario", &[]);
        scenario.unwrap_or_else(|error| panic!("{error}\n{text}"))
    }
}

/// Reads a probe, which records how it is read.
pub(super) fn probe(probe: &Probe, registry: &Registry) -> Result<(), Fault> {
    let root = Item {
        at: At::File(0..0),
        value: Value::Probe(probe.clone()),
    };
    read_document(&root, Path::new(""), registry).map(drop)
}

fn read_document(
    root: &Item,
    directory: &Path,
    registry: &Registry,
) -> Result<ScenarioFile, Fault> {
    let document = Field {
        path: String::new(),
        item: root,
    };
    let top = document.fields("a table")?;
    top.only(&TOP)?;
    let mut builder = Builder {
        directory: directory.to_owned(),
        registry,
        scenario: Scenario::default(),
        nodes: BTreeMap::new(),
        links: BTreeMap::new(),
        origins: Origins::default(),
    };
    let mut group: Vec<Copies<'_>> = Vec::new();
    for link in tables(&top, "link")? {
        let link = builder.link(&link)?;
        if !link.in_turn {
            builder.copies(&group)?;
            group.clear();
        }
        group.push(link);
    }
    builder.copies(&group)?;
    for flow in tables(&top, "flow")? {
        builder.flow(&flow)?;
    }
    let most = i64::MAX as u64;
    let scenario = Scenario {
        title: optional(&top, "title", |f| f.text("a text"))?
            .unwrap_or_default()
            .to_owned(),
        measure_from: optional(&top, "measure_from", Field::time)?.unwrap_or(Time::ZERO),
        end: top
            .need("duration", r#"how long the run lasts, such as "220 s""#)?
            .time()?,
        most_packets: optional(&top, "most_packets", |f| f.integer(1..=most))?,
        clock_noise: optional(&top, "clock_noise", Field::duration)?,
        ..builder.scenario
    };
    let file = ScenarioFile {
        scenario,
        seed: optional(&top, "seed", |f| f.integer(0..=most))?.unwrap_or(1),
        seeds: optional(&top, "seeds", |f| f.integer(1..=MOST_SEEDS))?.unwrap_or(1),
    };
    match file.scenario.check() {
        Ok(()) => Ok(file),
        Err(error) => Err(builder.origins.locate(root, &error)),
    }
}

/// Returns the tables of `[[key]]`, whose keys are not checked yet.
fn tables<'a>(top: &Fields<'a>, key: &str) -> Result<Vec<Field<'a>>, Fault> {
    match top.get(key) {
        None => Ok(Vec::new()),
        Some(field) => field.list(&format!("a list of tables, each headed [[{key}]]")),
    }
}

/// Returns the value of a key that may be missing.
fn optional<'a, T>(
    fields: &Fields<'a>,
    key: &str,
    read: impl FnOnce(&Field<'a>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    fields.get(key).map(|field| read(&field)).transpose()
}

/// The content of one `[[link]]`.
#[derive(Clone)]
struct Copies<'a> {
    from: Template<'a>,
    to: Template<'a>,
    name: Option<Template<'a>>,
    count: Option<u64>,
    /// Whether the link's copies alternate with those of the link before.
    in_turn: bool,
    forward: LinkSpec,
    /// The way back, if there is one.
    backward: Option<LinkSpec>,
    /// The number of the table, for messages.
    entry: usize,
    field: Field<'a>,
}

/// The part of the scenario that has been read.
struct Builder<'r> {
    scenario: Scenario,
    nodes: BTreeMap<String, usize>,
    links: BTreeMap<String, usize>,
    origins: Origins,
    /// The directory in which files are looked up.
    directory: PathBuf,
    /// The registry in which names are looked up.
    registry: &'r Registry,
}

impl Builder<'_> {
    /// Reads one `[[link]]`.
    fn link<'a>(&mut self, field: &Field<'a>) -> Result<Copies<'a>, Fault> {
        let entry = self.origins.next_link();
        let fields = field.fields("a table")?;
        fields.only(&LINK)?;
        let from = Template::of(&fields.need("from", "the name of the node that sends")?)?;
        let to = Template::of(&fields.need("to", "the name of the node that receives")?)?;
        let name = optional(&fields, "name", Template::of)?;
        let count = optional(&fields, "count", count)?;
        if count.is_some() && !from.numbered && !to.numbered {
            let message = "a link with `count` needs `{i}` in `from` or `to`, or all would be one";
            return Err(Fault::new(
                from.at,
                format!("{}.from", fields.path),
                message,
            ));
        }
        let both_ways = optional(&fields, "both_ways", Field::flag)?.unwrap_or(true);
        let rate = fields.need("rate", choices::RATE)?;
        let delay = fields.need("delay", r#"how long bits travel, such as "20 ms""#)?;
        let queue = fields.need("queue", choices::QUEUE)?;
        let (channel, channel_before_queue) =
            optional(&fields, "channel", |f| choices::channel(f, &self.directory))?
                .unwrap_or_default();
        let rate = choices::rate(&rate, &self.directory)?;
        let forward = LinkSpec {
            rate: rate.mean,
            trace: rate.trace,
            rates: rate.chain,
            delay: delay.duration()?,
            delay_changes: optional(&fields, "delay_changes", |f| {
                f.changes(DELAY_CHANGES, Field::duration)
            })?
            .unwrap_or_default(),
            queue: choices::queue(&queue)?,
            channel,
            channel_before_queue,
            arq: optional(&fields, "arq", choices::arq)?,
            jitter: optional(&fields, "jitter", choices::jitter)?,
            bursts: optional(&fields, "aggregation", choices::aggregation)?,
            handovers: optional(&fields, "handovers", |f| {
                choices::handovers(f, &self.directory)
            })?
            .unwrap_or_default(),
        };
        let (channel, channel_before_queue) = optional(&fields, "reverse_channel", |f| {
            choices::channel(f, &self.directory)
        })?
        .unwrap_or_default();
        if let (true, Some(field)) = (
            forward.channel_before_queue || channel_before_queue,
            fields
                .get("arq")
                .filter(|field| field.item.probe().is_none()),
        ) {
            return Err(field
                .fault("what a channel with `before_queue` loses is never sent, nor sent again"));
        }
        if let (false, Some(field)) = (both_ways, fields.get("reverse_channel")) {
            return Err(field.fault("this link has no way back: `both_ways` is false"));
        }
        let backward = LinkSpec {
            channel,
            channel_before_queue,
            ..forward.clone()
        };
        Ok(Copies {
            from,
            to,
            name,
            count,
            in_turn: optional(&fields, "in_turn", Field::flag)?.unwrap_or(false),
            forward,
            backward: both_ways.then_some(backward),
            entry,
            field: field.clone(),
        })
    }

    /// Connects `count` copies of each link: all copies of the first link, then of the next, unless
    /// the links take turns.
    fn copies(&mut self, group: &[Copies<'_>]) -> Result<(), Fault> {
        let most = group.iter().map(|link| link.count.unwrap_or(1)).max();
        for i in 1..=most.unwrap_or(0) {
            for link in group.iter().filter(|link| i <= link.count.unwrap_or(1)) {
                self.copy(link, i)?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, link: &Copies<'_>, i: u64) -> Result<(), Fault> {
        let Copies { entry, field, .. } = link;
        let ends = (link.from.expand(i), link.to.expand(i));
        let nodes = (
            self.node(&ends.0, *entry, "from"),
            self.node(&ends.1, *entry, "to"),
        );
        let name = link.name.as_ref();
        let name = name.map(|name| name.expand_or_number(i, link.count));
        let there = name
            .clone()
            .unwrap_or_else(|| format!("{}->{}", ends.0, ends.1));
        self.connect(there, nodes, &link.forward, (*entry, false), field)?;
        if let Some(backward) = &link.backward {
            let back = name.map_or_else(
                || format!("{}->{}", ends.1, ends.0),
                |name| format!("{name}-back"),
            );
            self.connect(back, (nodes.1, nodes.0), backward, (*entry, true), field)?;
        }
        Ok(())
    }

    fn connect(
        &mut self,
        name: String,
        (from, to): (usize, usize),
        link: &LinkSpec,
        origin: (usize, bool),
        field: &Field<'_>,
    ) -> Result<(), Fault> {
        self.room(self.scenario.links.len(), "link", field)?;
        let index = self.scenario.links.len();
        self.links.entry(name.clone()).or_insert(index);
        self.origins.links.push(origin);
        self.scenario.links.push(Connection {
            name,
            from,
            to,
            link: link.clone(),
        });
        Ok(())
    }

    /// Returns the index of the node called `name`. Creates the node if it is new.
    fn node(&mut self, name: &str, entry: usize, key: &'static str) -> usize {
        if let Some(&index) = self.nodes.get(name) {
            return index;
        }
        let index = self.scenario.nodes.len();
        self.nodes.insert(name.to_owned(), index);
        self.scenario.nodes.push(name.to_owned());
        self.origins.nodes.push((entry, key));
        index
    }

    /// Reads one `[[flow]]` and adds `count` flows.
    fn flow(&mut self, field: &Field<'_>) -> Result<(), Fault> {
        let entry = self.origins.next_flow();
        let fields = field.fields("a table")?;
        fields.only(&FLOW)?;
        let from_field = fields.need("from", "the name of the node that sends")?;
        let to_field = fields.need("to", "the name of the node that receives")?;
        let (from, to) = (Template::of(&from_field)?, Template::of(&to_field)?);
        let name = optional(&fields, "name", Template::of)?;
        let count = optional(&fields, "count", count)?;
        let packet_size = optional(&fields, "packet", Field::bytes)?.unwrap_or(1_500);
        // A value too large for the type is also too large for the check, which reports it.
        let packet_size = u32::try_from(packet_size).unwrap_or(u32::MAX);
        let coverage = optional(&fields, "coverage", Field::bytes)?
            .map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        let transport = choices::transport(
            &fields.need("transport", "what carries the flow, such as \"tfrc\"")?,
            fields.get("scheme").as_ref(),
            fields.get("classifier").as_ref(),
            packet_size,
            self.registry,
        )?;
        let mut flow = Flow::new("", (0, 0), packet_size, transport);
        flow.coverage = coverage;
        flow.application = optional(&fields, "application", |field| {
            choices::application(field, packet_size)
        })?
        .unwrap_or_default();
        flow.start = optional(&fields, "start", Field::time_range)?.unwrap_or_default();
        flow.stop = optional(&fields, "stop", Field::time_range)?;
        flow.background = optional(&fields, "background", Field::flag)?.unwrap_or(false);
        flow.copy_of = count.map(|_| match &name {
            Some(name) => name.text.into(),
            None => format!("{}->{}", from.text, to.text).into(),
        });
        for i in 1..=count.unwrap_or(1) {
            self.room(self.scenario.flows.len(), "flow", field)?;
            let ends = (from.expand(i), to.expand(i));
            let name = match &name {
                Some(name) => name.expand_or_number(i, count),
                None if count.is_some() && !from.numbered && !to.numbered => {
                    format!("{}->{}-{i}", ends.0, ends.1)
                }
                None => format!("{}->{}", ends.0, ends.1),
            };
            flow.name = name;
            flow.source = self.known_node(&ends.0, &from_field)?;
            flow.sink = self.known_node(&ends.1, &to_field)?;
            let route = self.route(&fields, "route", i)?;
            let return_route = self.route(&fields, "return_route", i)?;
            if (&route, &return_route) != (&flow.route, &flow.return_route) {
                (flow.route, flow.return_route) = (route, return_route);
            }
            self.origins.flows.push(entry);
            self.scenario.flows.push(flow.clone());
        }
        Ok(())
    }

    fn known_node(&self, name: &str, field: &Field<'_>) -> Result<usize, Fault> {
        if field.item.probe().is_some() {
            return Ok(0);
        }
        self.nodes.get(name).copied().ok_or_else(|| {
            let hint = suggest(name, self.nodes.keys().map(String::as_str));
            field.fault(format!("no link touches a node called `{name}`{hint}"))
        })
    }

    fn route(&self, fields: &Fields<'_>, key: &str, i: u64) -> Result<Vec<usize>, Fault> {
        let Some(field) = fields.get(key) else {
            return Ok(Vec::new());
        };
        let expected = r#"the names of links in order, such as ["access", "shared"]"#;
        let steps = field.list(expected)?;
        if steps.is_empty() {
            return Err(field.fault(format!(
                "found an empty list, expected {expected}; leave `{key}` out for the fewest hops"
            )));
        }
        let find = |step: &Field<'_>| {
            let name = Template::of_link(step)?.expand(i);
            self.links.get(&name).copied().ok_or_else(|| {
                let hint = suggest(&name, self.links.keys().map(String::as_str));
                step.fault(format!("no link is called `{name}`{hint}"))
            })
        };
        steps.iter().map(find).collect()
    }

    /// Returns a fault if there are more links, flows or nodes than a scenario may have.
    fn room(&self, count: usize, what: &'static str, field: &Field<'_>) -> Result<(), Fault> {
        if count < MOST && self.scenario.nodes.len() <= MOST {
            return Ok(());
        }
        Err(field.fault(format!(
            "this makes more than {MOST} {what}s, the most possible"
        )))
    }
}

const DELAY_CHANGES: &str =
    r#"pairs of a time and a delay, such as [["50 s", "60 ms"], ["80 s", "20 ms"]]"#;

fn count(field: &Field<'_>) -> Result<u64, Fault> {
    field.integer(0..=MOST as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages of the reference, each with the keys that it documents.
    const REFERENCE: [(&str, &str, &[&str]); 4] = [
        (
            "docs/reference/scenarios.md",
            include_str!("../../../../docs/reference/scenarios.md"),
            &TOP,
        ),
        (
            "docs/reference/scenario-links.md",
            include_str!("../../../../docs/reference/scenario-links.md"),
            &LINK,
        ),
        (
            "docs/reference/scenario-flows.md",
            include_str!("../../../../docs/reference/scenario-flows.md"),
            &FLOW,
        ),
        (
            "docs/reference/scenario-classifiers.md",
            include_str!("../../../../docs/reference/scenario-classifiers.md"),
            &[],
        ),
    ];

    /// The reference has a row for every key.
    #[test]
    fn every_key_is_documented() {
        for (page, text, keys) in REFERENCE {
            for key in keys {
                let row = [format!("`{key}`"), format!("`[[{key}]]`")];
                assert!(row.iter().any(|row| text.contains(row)), "{key} in {page}");
            }
        }
    }

    #[test]
    fn copies_take_turns() {
        let link = |name: &str, count: u64, more: &str| {
            format!(
                "[[link]]\nname = \"{name}\"\ncount = {count}\nfrom = \"{name}{{i}}\"\nto = \"r\"\n\
                 rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = {{ packets = 1 }}\nboth_ways = false\n{more}"
            )
        };
        let turns = "in_turn = true\n";
        let links = [link("a", 2, ""), link("b", 3, turns), link("c", 1, "")];
        let back = "[[link]]\nname = \"back\"\nfrom = \"r\"\nto = \"a1\"\nrate = \"1 Mbit/s\"\n\
                    delay = \"1 ms\"\nqueue = { packets = 1 }\nboth_ways = false\n";
        let flow = "[[flow]]\nfrom = \"a1\"\nto = \"r\"\ntransport = \"tcp\"\n";
        let text = format!("duration = \"1 s\"\n{}{back}{flow}", links.concat());
        let scenario = Scenario::from_toml(&text, "turns", &[]);
        let error = scenario.as_ref().err().map(ToString::to_string);
        let names = scenario.map(|of| of.links.into_iter().map(|link| link.name));
        let names: Vec<String> = names.into_iter().flatten().collect();
        assert_eq!(
            names,
            ["a-1", "b-1", "a-2", "b-2", "b-3", "c-1", "back"],
            "{error:?}"
        );
    }

    /// Returns the scenarios on a page.
    fn examples(text: &str) -> impl Iterator<Item = &str> {
        let blocks = text.split("```toml\n").skip(1);
        blocks.map(|block| block.split_once("```").unwrap().0)
    }

    #[test]
    fn the_references_examples_are_valid() {
        for (page, text, _) in REFERENCE {
            assert!(examples(text).count() > 0, "{page}");
            for example in examples(text) {
                let parsed = ScenarioFile::parse(example, page, &[]);
                assert!(parsed.is_ok(), "{:?}", parsed.err());
            }
        }
    }

    /// The first example is the file that the page runs.
    #[test]
    fn the_first_example_is_a_file() {
        let file = include_str!("../../../../scenarios/lossy.toml");
        let example = examples(REFERENCE[0].1).next().unwrap();
        assert!(file.ends_with(example));
    }
}
