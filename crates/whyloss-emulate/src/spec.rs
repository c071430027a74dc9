//! The user's description of a run: a scenario file, or a few options that make one.
//!
//! Links, queues and channels have the names, units and messages of scenarios
//! (`docs/reference/scenario-links.md`), because the scenario parser reads them. A file may hold
//! links alone, or a whole scenario. Only its links are used.

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

/// Pairs of texts: a key and its value, or a name and its text.
pub type Pairs = Vec<(String, String)>;

/// The links of a run, with the texts that describe them.
#[derive(Clone, Debug)]
pub struct Links {
    /// The scenario of the links.
    pub scenario: Scenario,
    /// The text of the scenario.
    pub text: String,
    /// The settings in addition to the text, for a replay. Traces of links have their names in
    /// `traces`.
    pub sets: Pairs,
    /// The trace files: their names in a replay, and their text.
    pub traces: Pairs,
}

/// One direction of a link, as given by options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// The rate: `10mbit`, `trace:FILE`, `recorded:NAME`, or a chain of rates as in scenarios.
    pub rate: String,
    /// The delay, such as `50ms`.
    pub delay: String,
    /// The extra delay of each packet: empty for none, the mean of an exponential distribution
    /// (`5ms`), or jitter as in scenarios.
    pub jitter: String,
    /// Link-layer retransmission as in scenarios; empty for none.
    pub arq: String,
    /// The queue: a number of packets, `100kB`, `unlimited`, or a queue as in scenarios.
    pub queue: String,
    /// The losses: `none`, `0.01`, `bernoulli:0.01`, `gilbert:1s,50ms,0.3`, `bits:1e-5`, or a
    /// channel as in scenarios.
    pub loss: String,
    /// Later changes of the link, in any order.
    pub changes: Vec<Change>,
}

/// Describes a host of a run.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// The host's name in logs and in the environment of commands.
    pub name: String,
    /// The index of the host's node in the network.
    pub node: usize,
    /// The command that runs on the host; `None` for the machine itself, outside.
    pub command: Option<Vec<OsString>>,
    /// Whether the run lasts as long as this command. Other commands are ended after the last
    /// leading one.
    pub leads: bool,
}

/// Describes a run: its hosts, links and routes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The hosts of the run.
    pub hosts: Vec<HostPlan>,
    /// The links of the run.
    pub links: Vec<LinkPlan>,
    /// The links from each host to each other host, by index; `None` if there is no route.
    pub routes: Vec<Vec<Option<Vec<usize>>>>,
}

/// Explains why the links are invalid.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A handover sends packets twice, which the emulator cannot do.
    #[error(
        "link `{0}`: the emulator sends no packet twice, as `handovers` with `waiting = \"copied\"` do; `waiting` can be \"kept\" or \"lost\" here, and `whyloss run` simulates copies"
    )]
    Copies(String),
    /// The value of an option is invalid.
    #[error("`{value}` is no {what}: expected {expected}")]
    Option {
        /// The kind of value that was expected.
        what: &'static str,
        /// The given value.
        value: String,
        /// The valid forms, in words.
        expected: &'static str,
    },
    /// The network has no node with this name.
    #[error("no node is called `{name}`; the nodes are {nodes}")]
    Node {
        /// The requested node name.
        name: String,
        /// The names of all nodes of the network, as one text.
        nodes: String,
    },
}

/// The name of the link towards the client.
pub const DOWN: &str = "down";
/// The name of the link away from the client.
pub const UP: &str = "up";

impl Links {
    /// Reads the links of a scenario file. `file` names it in messages; each item of `sets` is a
    /// key and a value, as in [`whyloss_sim::scenario::ScenarioFile::parse`].
    ///
    /// # Errors
    /// Returns the first fault and its place.
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

    /// Returns a link towards the client and a link back.
    ///
    /// # Errors
    /// Returns an error that names the first invalid option.
    pub fn pair(down: &Direction, up: &Direction) -> Result<Self, SpecError> {
        let mut text = String::new();
        for (name, from, to, direction) in [
            (DOWN, "server", "client", down),
            (UP, "client", "server", up),
        ] {
            let rate = link_rate(&direction.rate)?;
            let jitter = jitter(&direction.jitter)?;
            let delay = quantity(&direction.delay, "delay", "such as 50ms or 1.5 s", TIMES)?;
            let arq = arq(&direction.arq)?;
            let queue = queue(&direction.queue)?;
            let channel = channel(&direction.loss)?;
            let handovers = change::handovers(direction)?;
            let _ = write!(
                text,
                "[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nboth_ways = false\nrate = {rate}\n{jitter}{arq}\
                 delay = \"{delay}\"\nqueue = {queue}\nchannel = {channel}\n{handovers}\n"
            );
        }
        Self::from_toml(&text, "the options", &[])
    }

    /// Returns the plan of each link.
    pub fn plans(&self) -> Vec<LinkPlan> {
        let plan = |link: &whyloss_sim::scenario::Connection| LinkPlan {
            name: link.name.clone(),
            spec: link.link.clone(),
        };
        self.scenario.links.iter().map(plan).collect()
    }

    /// Returns the index of the node with this name.
    ///
    /// # Errors
    /// Returns an error that lists the known names if no node has this name.
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

    /// Returns the indices of the nodes for a single server and a single client. They are the near
    /// end of the first link and the far end of the last one. Links in the reverse direction do not
    /// count.
    pub fn ends(&self) -> (usize, usize) {
        let links = &self.scenario.links;
        if links.len() == 2 {
            return (links[0].from, links[0].to);
        }
        let flow = self.scenario.flows.first();
        flow.map_or((0, 0), |flow| (flow.source, flow.sink))
    }

    /// Returns the plan of a server and a client at the [ends](Self::ends), with nothing else on
    /// the network. The client leads: it starts when the server listens, and the run ends with it.
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

    /// Returns the plan with hosts at these nodes.
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

/// Replaces the trace files of rates by new names. Returns the changed settings for the text read
/// from `file`, and the content of each trace under its new name.
fn traces(text: &str, file: &str, sets: &[(String, String)]) -> (Pairs, Pairs) {
    let directory = Path::new(file).parent().unwrap_or(Path::new(""));
    let mut traces = Vec::new();
    let mut renamed = |rate: &str| {
        // The scenario's reader has already read this file.
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

/// Adds the keys that a scenario needs and a run does not: the duration, and a flow between the
/// ends.
fn whole(text: &str) -> String {
    let Ok(table) = text.parse::<toml::Table>() else {
        // The scenario parser then reports the fault.
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

/// The units of rates, in the notations of tc and of scenarios.
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

/// Parses a duration such as `50ms`.
///
/// # Errors
/// Returns an error if `text` has another form.
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

/// Parses a rate such as `10mbit`, and returns it in bytes per second.
///
/// # Errors
/// Returns an error if `text` has another form, or the rate is zero.
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

/// Parses a size such as `1 GiB`, and returns it in bytes.
///
/// # Errors
/// Returns an error if `text` has another form.
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
    // A number that is too large becomes the maximum: no file is as large.
    Ok((number.parse::<f64>().unwrap_or(0.0) * unit) as u64)
}

/// Returns a number with its unit, in the syntax of scenarios.
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

/// Returns a link's rate, in the syntax of scenarios.
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

/// Returns a line with a link's jitter, if it has one.
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

/// Returns a line with a link's retransmission, if it has one.
fn arq(text: &str) -> Result<String, SpecError> {
    match text {
        "" => Ok(String::new()),
        _ if text.starts_with('{') => Ok(format!("arq = {text}\n")),
        _ => Err(SpecError::Option {
            what: "retransmission",
            value: text.to_owned(),
            expected: "a table as in scenarios ({ tries = 7, turnaround = \"4 ms\" })",
        }),
    }
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
        // Rust writes NaN and infinity differently from TOML.
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
