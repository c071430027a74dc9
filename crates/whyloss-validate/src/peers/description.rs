//! Writes a case in the syntax of the scripts in `peers/`, and reads their results.

use core::fmt::Write;

use whyloss::{Rate, Time};
use whyloss_link::queue::{CodelSpec, Discipline, Limit, RedSpec};
use whyloss_link::{ChannelSpec, LinkSpec};

use super::PeerError;
use crate::case::{Case, Observed};
use whyloss_sim::Scenario;
use whyloss_sim::scenario::Transport;

/// The queue limit, in packets, that means "no limit" in a peer.
const UNLIMITED: u32 = 1_000_000;

/// A request to a peer: a case, its seeds and options.
pub(crate) struct Asked<'a> {
    pub(crate) case: &'a Case,
    /// The seeds, one run each.
    pub(crate) seeds: &'a [u64],
    /// The tick of TCP's retransmission timers in seconds; `None` for the peer's own.
    pub(crate) tick: Option<f64>,
    /// The numbers of the packets that the last link of the route loses, in place of its channel.
    pub(crate) lost: &'a [u64],
    /// The index of the link whose packets the peer lists.
    pub(crate) traced: Option<usize>,
}

impl<'a> Asked<'a> {
    /// Returns a request for a run with each of these seeds.
    pub(crate) fn runs(case: &'a Case, seeds: &'a [u64]) -> Self {
        Self {
            case,
            seeds,
            tick: None,
            lost: &[],
            traced: None,
        }
    }

    /// Returns the request in the format of the peers' scripts.
    ///
    /// # Errors
    /// Returns an error if the case has a feature that no script supports.
    pub(crate) fn description(&self) -> Result<String, PeerError> {
        let (case, net) = (self.case, &self.case.scenario);
        let mut text = "seed".to_owned();
        for seed in self.seeds {
            let _ = write!(text, " {seed}");
        }
        if let Some(tick) = self.tick {
            let _ = write!(text, "\ntick {tick}");
        }
        text.push('\n');
        if net.uses_ecn() {
            text.push_str("ecn\n");
        }
        if self.lost.is_empty() {
            text.push_str(&links(net)?);
        } else {
            let mut list = "list".to_owned();
            for number in self.lost {
                let _ = write!(list, " {number}");
            }
            let last = last_link(case, 0);
            text.push_str(&links_with(net, queue, |index, link| {
                if last == Some(index) {
                    Ok(list.clone())
                } else {
                    channel(&link.channel)
                }
            })?);
        }
        for flow in &net.flows {
            let _ = writeln!(
                text,
                "flow {} {} {} {} {} {} {} {}",
                case.stack,
                flow.source,
                flow.sink,
                flow.packet_size,
                flow.start.0.as_secs_f64(),
                flow.start.1.as_secs_f64(),
                u8::from(case.delayed_ack),
                case.window,
            );
        }
        if let Some(link) = self.traced {
            let _ = writeln!(text, "trace {link}");
        }
        if net.measure_from > Time::ZERO {
            let _ = writeln!(text, "from {}", net.measure_from.as_secs_f64());
        }
        let _ = writeln!(text, "end {}", net.end.as_secs_f64());
        Ok(text)
    }

    /// Returns the results of each run from the output of the peer. Other lines of the output are
    /// ignored.
    ///
    /// # Errors
    /// Returns an error if the output does not have the form that the scripts document.
    pub(crate) fn observed(&self, answer: &str) -> Result<Vec<Observed>, PeerError> {
        let mut runs = Vec::new();
        let mut lines = Vec::new();
        for line in answer.lines() {
            match line.split(' ').next() {
                Some("link" | "flow") => lines.push(line),
                Some("done") => runs.push(self.one(&core::mem::take(&mut lines))?),
                _ => {}
            }
        }
        if runs.len() == self.seeds.len() {
            Ok(runs)
        } else {
            Err(PeerError::nonsense("an answer to every run", answer))
        }
    }

    fn one(&self, answer: &[&str]) -> Result<Observed, PeerError> {
        let net = &self.case.scenario;
        // The fields of a link: packets that arrived, were dropped, left, were corrupted, and were
        // marked; then the waiting time of those that left, if the peer reports it.
        let mut links = vec![None; net.links.len()];
        let mut flows = vec![None; net.flows.len()];
        for &line in answer {
            let nonsense = || PeerError::nonsense("a line about a link or a flow", line);
            let mut words = line.split_whitespace().skip(1);
            let index: Option<usize> = words.next().and_then(|word| word.parse().ok());
            let index = index.ok_or_else(nonsense)?;
            let numbers: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
            let place = match numbers.ok_or_else(nonsense)?[..] {
                [arrived, dropped, left, corrupted, marked, ref wait @ ..] if wait.len() < 2 => {
                    let wait = wait.first().copied().unwrap_or(f64::NAN);
                    let link = links.get_mut(index);
                    link.map(|link| *link = Some([arrived, dropped, left, corrupted, marked, wait]))
                }
                [packets] => flows.get_mut(index).map(|flow| *flow = Some(packets)),
                _ => None,
            };
            place.ok_or_else(nonsense)?;
        }
        let links: Option<Vec<[f64; 6]>> = links.into_iter().collect();
        let flows: Option<Vec<f64>> = flows.into_iter().collect();
        let (Some(links), Some(flows)) = (links, flows) else {
            let found = answer.join(", ");
            return Err(PeerError::nonsense("every link and flow", &found));
        };
        let packets = net.flows.iter().zip(flows).enumerate();
        let packets = packets.map(|(index, (flow, acknowledged))| match &flow.transport {
            Transport::Tcp { options, .. } => {
                acknowledged + f64::from(u8::from(!options.handshake))
            }
            _ => last_link(self.case, index).map_or(0.0, |link| links[link][2] - links[link][3]),
        });
        let mut observed = Observed {
            packets: packets.collect(),
            ..Observed::default()
        };
        for &link in &self.case.bottlenecks {
            observed.offered += links[link][0];
            observed.dropped += links[link][1];
            observed.marked += links[link][4];
        }
        let waits = self.case.bottlenecks.iter().map(|&link| links[link][5]);
        observed.wait = waits.sum();
        Ok(observed)
    }
}

/// Returns the nodes and links of a network in the syntax of the scripts.
///
/// # Errors
/// Returns an error if no script knows a queue or channel of the network.
pub fn links(net: &Scenario) -> Result<String, PeerError> {
    links_with(net, queue, |_, link| channel(&link.channel))
}

/// Returns the same text as [`links`], but with queues and channels written by `queue` and
/// `channel`. `channel` also gets the link's number.
///
/// # Errors
/// Returns the errors of `queue` and `channel`.
pub fn links_with(
    net: &Scenario,
    queue: impl Fn(&LinkSpec) -> Result<String, PeerError>,
    channel: impl Fn(usize, &LinkSpec) -> Result<String, PeerError>,
) -> Result<String, PeerError> {
    let mut text = format!("nodes {}\n", net.nodes.len());
    for (index, connection) in net.links.iter().enumerate() {
        let link = &connection.link;
        let _ = writeln!(
            text,
            "link {} {} {} {} {} {}",
            connection.from,
            connection.to,
            link.rate.as_bps(),
            link.delay.as_secs_f64(),
            queue(link)?,
            channel(index, link)?,
        );
    }
    Ok(text)
}

/// Returns the index of the link that leads to a flow's sink. Every sink has one.
fn last_link(case: &Case, flow: usize) -> Option<usize> {
    let sink = case.scenario.flows.get(flow)?.sink;
    case.scenario.links.iter().position(|link| link.to == sink)
}

/// Describes a queue: its limit, which does not count the packet in transmission, and its
/// discipline.
fn queue(link: &LinkSpec) -> Result<String, PeerError> {
    let limit = match link.queue.limit {
        Limit::Packets(limit) => limit,
        Limit::Unlimited => UNLIMITED,
        Limit::Bytes(_) => return Err(PeerError::Unknown("a queue limited in bytes")),
    };
    match &link.queue.discipline {
        Discipline::DropTail => Ok(format!("droptail {limit}")),
        Discipline::Red(red) => Ok(format!("red {limit} {}", red_words(red, link.rate)?)),
        Discipline::Codel(codel) => Ok(format!("codel {limit} {}", codel_words(codel))),
        Discipline::FqCodel(fq) => Ok(format!(
            "fq-codel {limit} {} {}",
            codel_words(&fq.codel),
            fq.quantum
        )),
        Discipline::Pie(pie) => Ok(format!(
            "pie {limit} {} {}",
            pie.target.as_secs_f64(),
            pie.ecn
        )),
    }
}

fn codel_words(codel: &CodelSpec) -> String {
    format!(
        "{} {} {}",
        codel.target.as_secs_f64(),
        codel.interval.as_secs_f64(),
        codel.ecn
    )
}

fn red_words(red: &RedSpec, rate: Rate) -> Result<String, PeerError> {
    let Some(weight) = red.weight.filter(|_| !red.adaptive && !red.bytes) else {
        return Err(PeerError::Unknown("RED that is adaptive or counts bytes"));
    };
    let (min, max) = red.thresholds(rate);
    Ok(format!(
        "{min} {max} {} {weight} {} {} {} {}",
        1.0 / red.max_p,
        red.gentle,
        red.wait,
        red.mean_packet,
        red.ecn
    ))
}

fn channel(channel: &ChannelSpec) -> Result<String, PeerError> {
    match channel {
        ChannelSpec::None => Ok("none".into()),
        ChannelSpec::Bernoulli { loss } => Ok(format!("bernoulli {loss}")),
        ChannelSpec::GilbertElliott(chain) => Ok(format!(
            "chain {} {}",
            chain.p_good_to_bad,
            1.0 - chain.p_bad_to_good
        )),
        _ => Err(PeerError::Unknown("a channel that no peer has")),
    }
}

#[cfg(test)]
mod tests {
    use whyloss_link::QueueSpec;
    use whyloss_link::queue::{FqCodelSpec, PieSpec};

    use super::*;
    use crate::ns2_grid;

    fn case() -> Case {
        let mut cases = ns2_grid::cases(true);
        let wanted = |case: &Case| case.kind == "NewReno" && case.name.starts_with("path");
        let index = cases.iter().position(wanted).expect("in the grid");
        cases.swap_remove(index)
    }

    #[test]
    fn a_network_in_words() {
        let case = case();
        let text = Asked::runs(&case, &[7]).description().expect("words");
        assert_eq!(
            text,
            "seed 7\nnodes 3\n\
             link 0 1 2000000 0.05 droptail 16 none\n\
             link 1 0 2000000 0.05 droptail 999 none\n\
             link 1 2 10000000 0.00001 droptail 999 bernoulli 0.01\n\
             link 2 1 10000000 0.00001 droptail 999 none\n\
             flow Newreno 0 2 1500 0 1 1 1000\nend 200\n"
        );
    }

    #[test]
    fn queues_that_control_their_delay_in_words() {
        let words = |discipline| {
            let limit = Limit::Packets(1_000);
            queue(&LinkSpec {
                queue: QueueSpec { limit, discipline },
                ..LinkSpec::default()
            })
        };
        let codel = CodelSpec {
            ecn: true,
            ..CodelSpec::default()
        };
        for (discipline, expected) in [
            (Discipline::Codel(codel), "codel 1000 0.005 0.1 true"),
            (
                Discipline::FqCodel(FqCodelSpec::default()),
                "fq-codel 1000 0.005 0.1 false 1514",
            ),
            (Discipline::Pie(PieSpec::default()), "pie 1000 0.015 false"),
        ] {
            assert_eq!(words(discipline).expect("words"), expected);
        }
    }

    /// The last number of a link is the waiting time of packets. The waiting times of bottlenecks
    /// are added.
    #[test]
    fn waits_are_read_where_they_are_told() {
        let mut case = case();
        case.bottlenecks = vec![0, 2];
        let asked = Asked::runs(&case, &[7]);
        let answer = |wait: &str| {
            format!(
                "link 0 9 0 9 0 0{wait}\nlink 1 5 0 5 0 0{wait}\nlink 2 9 0 9 0 0{wait}\nlink 3 5 0 5 0 0{wait}\nflow 0 6\ndone\n"
            )
        };
        let wait = |text: &str| asked.observed(text).expect("an answer")[0].wait;
        assert!((wait(&answer(" 0.25")) - 0.5).abs() < 1e-12);
        assert!(wait(&answer("")).is_nan());
    }

    #[test]
    fn an_answer_in_numbers() {
        let case = case();
        let asked = Asked::runs(&case, &[7]);
        let answer = "cmd noise\nlink 0 10 2 8 0 3\nlink 1 5 0 5 0 0\nlink 2 8 0 8 1 3\nlink 3 5 0 5 0 0\nflow 0 6\ndone\n";
        let runs = asked.observed(answer).expect("an answer");
        let run = runs.first().expect("one run");
        assert_eq!((run.offered, run.dropped, run.marked), (10.0, 2.0, 3.0));
        assert_eq!(run.packets, [6.0]);
    }

    #[test]
    fn nonsense_is_refused() {
        let case = case();
        let asked = Asked::runs(&case, &[7]);
        for answer in [
            "",
            "Segmentation fault\n",
            "flow 0 6\ndone\n",
            "link 9 1 1 1 1 1\ndone\n",
            "link 0 one 2 3 4 5\ndone\n",
            "link 0 1\ndone\n",
        ] {
            let error = asked.observed(answer).expect_err("nonsense");
            assert!(error.to_string().contains("expected"), "{error}");
        }
    }
}
