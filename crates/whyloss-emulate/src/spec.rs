//! What a user says of a run: a scenario file, or a few options that make one.
//!
//! Links, queues and channels have the names, the units and the messages of scenarios
//! (`docs/reference/scenarios.md`), because they are read by the scenario parser. A file may be a
//! whole scenario, of which the links count, or links alone.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use whyloss::Duration;
use whyloss_link::Backlog;
use whyloss_sim::Scenario;
use whyloss_sim::scenario::{Connection, Router, ScenarioError};

use crate::network::LinkPlan;

mod change;

pub use change::Change;

/// Keys and values, or names and texts.
pub type Pairs = Vec<(String, String)>;

/// The links of a run, and what was said of them.
#[derive(Clone, Debug)]
pub struct Links {
    /// The scenario whose links they are.
    pub scenario: Scenario,
    /// Its text.
    pub text: String,
    /// What was set beside it, with the traces of links by their names in `traces`: what a replay
    /// needs.
    pub sets: Pairs,
    /// The files of traces: what a replay calls them, and their text.
    pub traces: Pairs,
}

/// One direction of a link, as the options have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// `10mbit`, `trace:FILE`, `recorded:NAME`, or a chain of rates as scenarios have it.
    pub rate: String,
    /// `50ms`.
    pub delay: String,
    /// Extra delay of each packet: empty for none, the mean of an exponential law (`5ms`), or
    /// jitter as scenarios have it.
    pub jitter: String,
    /// Packets, `100kB`, `unlimited`, or a queue as scenarios have it.
    pub queue: String,
    /// `none`, `0.01`, `bernoulli:0.01`, `gilbert:1s,50ms,0.3`, `bits:1e-5`, or a channel as
    /// scenarios have it.
    pub loss: String,
    /// Later changes, in any order.
    pub changes: Vec<Change>,
}

/// What a host is.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// Its name in logs, and in the commands' environment.
    pub name: String,
    /// The node of the network that it is.
    pub node: usize,
    /// What runs there; `None`: the host is the machine itself, outside.
    pub command: Option<Vec<OsString>>,
    /// Whether the run goes on as long as this command does. The others are ended after the last
    /// such.
    pub leads: bool,
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The hosts.
    pub hosts: Vec<HostPlan>,
    /// The links.
    pub links: Vec<LinkPlan>,
    /// The links from each host to each other, by index.
    pub routes: Vec<Vec<Option<Vec<usize>>>>,
}

/// Why there are no such links.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A handover that sends packets twice.
    #[error(
        "link `{0}`: the emulator sends no packet twice, as `handovers` with `waiting = \"copied\"` do; `waiting` can be \"kept\" or \"lost\" here, and `whyloss run` simulates copies"
    )]
    Copies(String),
    /// An option is wrong.
    #[error("`{value}` is no {what}: expected {expected}")]
    Option {
        /// What it should be.
        what: &'static str,
        /// What it was.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A node that is none.
    #[error("no node is called `{name}`; the nodes are {nodes}")]
    Node {
        /// What was asked for.
        name: String,
        /// What there is.
        nodes: String,
    },
}

/// The name of the link towards the client, and of the way back.
pub const DOWN: &str = "down";
/// See [`DOWN`].
pub const UP: &str = "up";

impl Links {
    /// The links of a scenario file. `file` names it in messages; each of `sets` is a key and a
    /// value, as in [`whyloss_sim::scenario::ScenarioFile::parse`].
    ///
    /// # Errors
    /// The first thing that is wrong, and where.
    pub fn from_toml(text: &str, file: &str, sets: &[(String, String)]) -> Result<Self, SpecError> {
        let text = whole(text);
        let scenario = Scenario::from_toml(&text, file, sets)?;
        let copies = |link: &&Connection| {
            let mut handovers = link.link.handovers.iter();
            handovers.any(|handover| handover.waiting == Backlog::Copied)
        };
        if let Some(link) = scenario.links.iter().find(copies) {
            return Err(SpecError::Copies(link.name.clone()));
        }
        let (sets, traces) = traces(&text, file, sets);
        Ok(Self {
            scenario,
            text,
            sets,
            traces,
        })
    }

    /// A link there and a link back.
    ///
    /// # Errors
    /// The first option that is wrong.
    pub fn pair(down: &Direction, up: &Direction) -> Result<Self, SpecError> {
        let mut text = String::new();
        for (name, from, to, direction) in [
            (DOWN, "server", "client", down),
            (UP, "client", "server", up),
        ] {
            let rate = link_rate(&direction.rate)?;
            let jitter = jitter(&direction.jitter)?;
            let delay = quantity(&direction.delay, "delay", "such as 50ms or 1.5 s", TIMES)?;
            let queue = queue(&direction.queue)?;
            let channel = channel(&direction.loss)?;
            let handovers = change::handovers(direction)?;
            let _ = write!(
                text,
                "[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nboth_ways = false\nrate = {rate}\n{jitter}\
                 delay = \"{delay}\"\nqueue = {queue}\nchannel = {channel}\n{handovers}\n"
            );
        }
        Self::from_toml(&text, "the options", &[])
    }

    /// The links as a network has them.
    pub fn plans(&self) -> Vec<LinkPlan> {
        let plan = |link: &whyloss_sim::scenario::Connection| LinkPlan {
            name: link.name.clone(),
            spec: link.link.clone(),
        };
        self.scenario.links.iter().map(plan).collect()
    }

    /// The node with this name.
    ///
    /// # Errors
    /// Names those there are.
    pub fn node(&self, name: &str) -> Result<usize, SpecError> {
        let nodes = &self.scenario.nodes;
        nodes
            .iter()
            .position(|node| node == name)
            .ok_or_else(|| SpecError::Node {
                name: name.to_owned(),
                nodes: nodes.join(", "),
            })
    }

    /// The nodes where a lone server and a lone client are: the first link's near end and the last
    /// link's far end, the links back not among them.
    pub fn ends(&self) -> (usize, usize) {
        let links = &self.scenario.links;
        if links.len() == 2 {
            return (links[0].from, links[0].to);
        }
        let flow = self.scenario.flows.first();
        flow.map_or((0, 0), |flow| (flow.source, flow.sink))
    }

    /// The plan of a server and a client at the [ends](Self::ends), with nothing else on the
    /// network. The client leads: it starts when the server listens, and the run ends with it.
    pub fn both(&self, server: Vec<OsString>, client: Vec<OsString>) -> Plan {
        let (near, far) = self.ends();
        let host = |(name, node, command, leads): (&str, usize, _, _)| HostPlan {
            name: name.into(),
            node,
            command: Some(command),
            leads,
        };
        let hosts = [
            ("server", near, server, false),
            ("client", far, client, true),
        ];
        self.plan(hosts.map(host).into())
    }

    /// The plan with hosts at these nodes.
    pub fn plan(&self, hosts: Vec<HostPlan>) -> Plan {
        let router = Router::new(&self.scenario);
        let route = |from: &HostPlan, to: &HostPlan| {
            router
                .route(from.node, to.node)
                .filter(|route| !route.is_empty())
        };
        let routes = hosts
            .iter()
            .map(|from| hosts.iter().map(|to| route(from, to)).collect())
            .collect();
        Plan {
            links: self.plans(),
            routes,
            hosts,
        }
    }
}

/// Adds what a scenario must have and a run does not need.
/// What is set beside a text that was read from `file`, and the traces that both name, under names
/// of their own.
fn traces(text: &str, file: &str, sets: &[(String, String)]) -> (Pairs, Pairs) {
    let directory = Path::new(file).parent().unwrap_or(Path::new(""));
    let mut traces = Vec::new();
    let mut renamed = |rate: &str| {
        // Whoever read the scenario could read it.
        let text = fs::read_to_string(directory.join(rate.strip_prefix("trace:")?)).ok()?;
        let name = format!("{}.trace", traces.len() + 1);
        let rate = format!("trace:{name}");
        traces.push((name, text));
        Some(rate)
    };
    let table = text.parse::<toml::Table>().unwrap_or_default();
    let links = table.get("link").and_then(toml::Value::as_array);
    let links = links.into_iter().flatten().enumerate();
    let mut all: Vec<_> = links
        .filter_map(|(index, link)| {
            let rate = renamed(link.get("rate")?.as_str()?)?;
            Some((format!("link.{index}.rate"), rate))
        })
        .collect();
    all.extend(sets.iter().map(|(key, value)| {
        let value = renamed(value).unwrap_or_else(|| value.clone());
        (key.clone(), value)
    }));
    (all, traces)
}

fn whole(text: &str) -> String {
    let Ok(table) = text.parse::<toml::Table>() else {
        // The scenario parser says what is wrong with it.
        return text.to_owned();
    };
    let mut whole = String::new();
    if !table.contains_key("duration") {
        whole += "duration = \"1 s\"\n";
    }
    whole += text;
    let ends = table.get("link").and_then(|links| {
        let links = links.as_array()?;
        let end = |link: Option<&toml::Value>, key| link?.get(key)?.as_str().map(str::to_owned);
        let back = links.iter().rev().find(|link| {
            links.len() != 2
                || link.get("both_ways").is_none()
                || link.get("name").and_then(|n| n.as_str()) == Some(DOWN)
        });
        Some((end(links.first(), "from")?, end(back, "to")?))
    });
    if let Some((from, to)) = ends.filter(|_| !table.contains_key("flow")) {
        let (from, to) = (from.replace("{i}", "1"), to.replace("{i}", "1"));
        let _ = write!(
            whole,
            "\n[[flow]]\nfrom = {from:?}\nto = {to:?}\ntransport = \"tfrc\"\n"
        );
    }
    whole
}

/// How tc writes units, and how scenarios do.
const RATES: &[(&str, &str)] = &[
    ("gbit", "Gbit/s"),
    ("mbit", "Mbit/s"),
    ("kbit", "kbit/s"),
    ("bit", "bit/s"),
];
const TIMES: &[(&str, &str)] = &[
    ("ns", "ns"),
    ("us", "us"),
    ("ms", "ms"),
    ("min", "min"),
    ("s", "s"),
];
const SIZES: &[(&str, &str)] = &[("kB", "kB"), ("MB", "MB"), ("B", "B")];

/// A span of time, such as `50ms`.
///
/// # Errors
/// If it is none.
pub fn duration(text: &str) -> Result<Duration, SpecError> {
    let expected = "such as 50ms or 1.5 s";
    let written = quantity(text, "span of time", expected, TIMES)?;
    let (number, unit) = written.split_once(' ').unwrap_or((&written, "s"));
    let unit = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "min" => 60.0,
        _ => 1.0,
    };
    Ok(Duration::from_secs_f64(
        number.parse::<f64>().unwrap_or(0.0) * unit,
    ))
}

/// A rate in bytes per second, such as `10mbit`.
///
/// # Errors
/// If it is none, or zero.
pub fn rate(text: &str) -> Result<f64, SpecError> {
    let expected = "such as 10mbit or 1.5 Mbit/s, and more than 0";
    let written = quantity(text, "rate", expected, RATES)?;
    let (number, unit) = written.split_once(' ').unwrap_or((&written, ""));
    let bits = match unit {
        "Gbit/s" => 1e9,
        "Mbit/s" => 1e6,
        "kbit/s" => 1e3,
        _ => 1.0,
    };
    let rate = number.parse::<f64>().unwrap_or(0.0) * bits / 8.0;
    if rate > 0.0 && rate.is_finite() {
        return Ok(rate);
    }
    Err(SpecError::Option {
        what: "rate",
        value: text.to_owned(),
        expected,
    })
}

/// A number of bytes, such as `1 GiB`.
///
/// # Errors
/// If it is none.
pub fn bytes(text: &str) -> Result<u64, SpecError> {
    const BYTES: &[(&str, &str)] = &[
        ("GiB", "GiB"),
        ("MiB", "MiB"),
        ("KiB", "KiB"),
        ("GB", "GB"),
        ("MB", "MB"),
        ("kB", "kB"),
        ("B", "B"),
    ];
    let written = quantity(text, "size", "such as 1 GiB or 500 MB", BYTES)?;
    let (number, unit) = written.split_once(' ').unwrap_or((&written, "B"));
    let unit = match unit {
        "GiB" => 1_073_741_824.0,
        "MiB" => 1_048_576.0,
        "KiB" => 1_024.0,
        "GB" => 1e9,
        "MB" => 1e6,
        "kB" => 1e3,
        _ => 1.0,
    };
    // Saturates: a file cannot be as large.
    Ok((number.parse::<f64>().unwrap_or(0.0) * unit) as u64)
}

/// A number with its unit, as scenarios write it.
fn quantity(
    text: &str,
    what: &'static str,
    expected: &'static str,
    units: &[(&str, &str)],
) -> Result<String, SpecError> {
    let wrong = || SpecError::Option {
        what,
        value: text.to_owned(),
        expected,
    };
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .ok_or_else(wrong)?;
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim();
    number.parse::<f64>().map_err(|_| wrong())?;
    let known = units.iter().find(|(short, long)| {
        unit == *long
            || (unit.eq_ignore_ascii_case(short) && !short.contains('B'))
            || unit == *short
    });
    known
        .map(|(_, long)| format!("{number} {long}"))
        .ok_or_else(wrong)
}

/// A link's rate, as scenarios write it.
fn link_rate(text: &str) -> Result<String, SpecError> {
    if text.starts_with('{') {
        return Ok(text.to_owned());
    }
    let is_named = ["trace:", "recorded:"]
        .iter()
        .any(|kind| text.starts_with(kind));
    let written = if is_named {
        text.to_owned()
    } else {
        let expected = "such as 10mbit, 1.5 Mbit/s, trace:FILE, recorded:NAME, or as in scenarios \
                        ({ rates = [\"8 Mbit/s\", \"1 Mbit/s\"], means = [\"2 s\", \"1 s\"] })";
        quantity(text, "rate", expected, RATES)?
    };
    Ok(toml::Value::from(written).to_string())
}

/// A line with a link's jitter, if it has one.
fn jitter(text: &str) -> Result<String, SpecError> {
    if text.is_empty() {
        return Ok(String::new());
    }
    if text.starts_with('{') {
        return Ok(format!("jitter = {text}\n"));
    }
    let expected = "the mean of an exponential law, such as 5ms, or as in scenarios ({ kind = \"uniform\", mean = \"5 ms\" })";
    let mean = quantity(text, "jitter", expected, TIMES)?;
    Ok(format!(
        "jitter = {{ kind = \"exponential\", mean = \"{mean}\" }}\n"
    ))
}

fn queue(text: &str) -> Result<String, SpecError> {
    let expected = "packets (83), bytes (100kB), `unlimited`, or as in scenarios ({ packets = 83, red = \"adaptive\" })";
    if text.starts_with('{') {
        return Ok(text.to_owned());
    }
    if text == "unlimited" {
        return Ok("\"unlimited\"".into());
    }
    if text.parse::<u32>().is_ok() {
        return Ok(format!("{{ packets = {text} }}"));
    }
    Ok(format!(
        "{{ bytes = \"{}\" }}",
        quantity(text, "queue", expected, SIZES)?
    ))
}

fn channel(text: &str) -> Result<String, SpecError> {
    let expected = "`none`, a probability of loss (0.01), bernoulli:LOSS, gilbert:GOOD,BAD,LOSS (such as gilbert:1s,50ms,0.3), bits:RATE, recorded:NAME, pattern:PATH, \
                    with a probability from 0 to 1 for LOSS and RATE, or as in scenarios ({ kind = \"bernoulli\", loss = 0.01 })";
    let wrong = || SpecError::Option {
        what: "channel",
        value: text.to_owned(),
        expected,
    };
    if text.starts_with('{') {
        return Ok(text.to_owned());
    }
    if text == "none" {
        return Ok("\"none\"".into());
    }
    let text = if text.parse::<f64>().is_ok() {
        &format!("bernoulli:{text}")
    } else {
        text
    };
    let number = |text: &str| {
        // Rust writes what is no number otherwise than TOML.
        let value = text.parse().ok().filter(|value: &f64| value.is_finite());
        let value = value.map(|value| format!("{value:?}"));
        value.ok_or_else(wrong)
    };
    let quoted = |text: &str| toml::Value::from(text).to_string();
    match text.split_once(':') {
        Some(("recorded", name)) => Ok(format!(
            "{{ kind = \"recorded\", name = {} }}",
            quoted(name)
        )),
        Some(("pattern", path)) => Ok(format!("{{ kind = \"pattern\", file = {} }}", quoted(path))),
        Some(("bernoulli", loss)) => Ok(format!(
            "{{ kind = \"bernoulli\", loss = {} }}",
            number(loss)?
        )),
        Some(("bits", rate)) => Ok(format!(
            "{{ kind = \"bit-errors\", rate = {} }}",
            number(rate)?
        )),
        Some(("gilbert", rest)) => {
            let [good, bad, loss] = rest.split(',').collect::<Vec<_>>()[..] else {
                return Err(wrong());
            };
            let mean = |text| quantity(text, "mean time in a state", "such as 50ms", TIMES);
            Ok(format!(
                "{{ kind = \"timed-gilbert-elliott\", mean_good = \"{}\", mean_bad = \"{}\", loss_bad = {} }}",
                mean(good)?,
                mean(bad)?,
                number(loss)?
            ))
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyloss::Rate;
    use whyloss_link::ChannelSpec;

    pub(crate) fn direction(rate: &str, loss: &str) -> Direction {
        Direction {
            rate: rate.into(),
            delay: "50ms".into(),
            queue: "83".into(),
            loss: loss.into(),
            ..Direction::default()
        }
    }

    #[test]
    fn options_are_scenarios() {
        let down = direction("10mbit", "gilbert:1s,50ms,0.3");
        let links = Links::pair(&down, &direction("1.5 Mbit/s", "bernoulli:0.01")).unwrap();
        let plans = links.plans();
        assert_eq!(
            (plans[0].name.as_str(), plans[0].spec.rate),
            (DOWN, Rate::from_mbps(10))
        );
        assert_eq!(plans[1].spec.rate, Rate::from_kbps(1_500));
        assert_eq!(plans[0].spec.delay, Duration::from_millis(50));
        assert!(
            matches!(plans[0].spec.channel, ChannelSpec::TimedGilbertElliott(spec) if (spec.loss_bad - 0.3).abs() < 1e-12)
        );
        assert_eq!(plans[1].spec.channel, ChannelSpec::Bernoulli { loss: 0.01 });
        let ends = (links.node("server").unwrap(), links.node("client").unwrap());
        assert_eq!(links.ends(), ends);
        assert!(
            links
                .node("moon")
                .unwrap_err()
                .to_string()
                .contains("server, client")
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |rate, loss| {
            let down = direction(rate, loss);
            Links::pair(&down, &down).unwrap_err().to_string()
        };
        assert!(error("10", "none").starts_with("`10` is no rate: expected such as 10mbit"));
        assert!(error("10mbit", "bernoulli").starts_with("`bernoulli` is no channel"));
        assert!(
            error("10mbit", "bernoulli:2").contains("loss"),
            "{}",
            error("10mbit", "bernoulli:2")
        );
        assert!(error("trace:/nowhere", "none").contains("cannot read the trace /nowhere"));
    }

    #[test]
    fn links_alone_are_a_file() {
        let text = "[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = { packets = 3 }\n";
        let links = Links::from_toml(text, "x.toml", &[]).unwrap();
        assert_eq!(links.plans().len(), 2);
        let (a, b) = (links.node("a").unwrap(), links.node("b").unwrap());
        assert_eq!(links.ends(), (a, b));
    }
}
