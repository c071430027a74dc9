//! Checks a scenario before it is run, whether it comes from a file or from code.
//!
//! Each rule rejects a scenario that is impossible (a route with a gap), measures nothing (an empty
//! window) or would exhaust the memory. Many such scenarios come from a typing error.

mod application;
mod link;
mod problem;
mod queue;
mod rtp;
mod transport;

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::ops::RangeInclusive;

use whyloss::{Duration, Rate, Time};

pub use problem::{CheckError, Place, Problem};

use super::{Flow, Router, Scenario};
use crate::engine::event_queue::{EventQueue, entities};

/// The maximum number of nodes, of links and of flows in a scenario.
pub const MOST: usize = 10_000;
/// The longest simulated time of a run.
pub const LONGEST: Time = Time::from_nanos(1_000_000_000_000_000);
/// The highest rate of a link or source.
pub const FASTEST: Rate = Rate::from_mbps(1_000_000);
/// The longest delay of a link.
pub const LONGEST_DELAY: Duration = Duration::from_secs(3_600);
/// The maximum number of bytes in flight on a link: its rate times its delay.
pub const MOST_IN_FLIGHT: u64 = 4_000_000_000;
/// The maximum number of packets that may wait at a link.
pub const MOST_WAITING: u32 = 10_000_000;
/// The maximum size of an IPv4 packet in bytes, headers included.
pub const LARGEST_PACKET: u32 = 65_535;
/// The shortest section of a packet that a checksum may cover, in bytes: the headers of IPv4 and
/// UDP (20 and 8 bytes), which identify the packet's flow.
pub const LEAST_COVERAGE: u32 = 28;

/// The lowest and the highest noise of receivers' clocks.
const NOISE: RangeInclusive<Duration> = Duration::from_nanos(1)..=Duration::from_secs(60);

type Checked = Result<(), CheckError>;

/// Returns the place of a key.
type At<'a> = &'a dyn Fn(&'static str) -> Place;

impl Scenario {
    /// Checks that the scenario can be run.
    ///
    /// # Errors
    /// Returns the first fault and its place.
    pub fn check(&self) -> Checked {
        self.check_times()?;
        self.check_sizes()?;
        self.check_names()?;
        for index in 0..self.links.len() {
            self.check_link(index)?;
        }
        for index in 0..self.flows.len() {
            self.check_flow(index)?;
        }
        let router = Router::new(self);
        for (index, flow) in self.flows.iter().enumerate() {
            self.check_route(index, flow, &router)?;
        }
        Ok(())
    }

    fn check_times(&self) -> Checked {
        let (place, end) = (Place::Scenario("duration"), seconds(self.end));
        let expected = format_args!("more than 0 s and at most {}", seconds(LONGEST));
        let possible = self.end > Time::ZERO && self.end <= LONGEST;
        expect(possible, place, &end, expected)?;
        let latest = EventQueue::latest(entities(self));
        let expected = format_args!("at most {} with so many links and flows", seconds(latest));
        expect(self.end <= latest, place, &end, expected)?;
        if let Some(noise) = self.clock_noise {
            let (place, found) = (Place::Scenario("clock_noise"), noise.as_nanos());
            let found = format_args!("{found} ns");
            expect(NOISE.contains(&noise), place, found, "1 ns to 60 s")?;
        }
        require(
            self.measure_from < self.end,
            Place::Scenario("measure_from"),
            || Problem::EmptyWindow {
                from: seconds(self.measure_from).to_string(),
                end: end.to_string(),
            },
        )
    }

    fn check_sizes(&self) -> Checked {
        for (what, count) in [
            ("link", self.links.len()),
            ("flow", self.flows.len()),
            ("node", self.nodes.len()),
        ] {
            let place = Place::Scenario(what);
            require(count > 0, place, || Problem::Empty(what))?;
            require(count <= MOST, place, || Problem::TooMany { what, count })?;
        }
        Ok(())
    }

    fn check_names(&self) -> Checked {
        let nodes = self.nodes.iter().map(String::as_str).enumerate();
        let links = self.links.iter().map(|l| l.name.as_str()).enumerate();
        let flows = self.flows.iter().map(|f| f.name.as_str()).enumerate();
        unique("node", nodes, Place::Node)?;
        unique("link", links, |index| Place::Link(index, "name"))?;
        unique("flow", flows, |index| Place::Flow(index, "name"))
    }

    fn check_link(&self, index: usize) -> Checked {
        let link = &self.links[index];
        let place: At = &|key| Place::Link(index, key);
        self.check_ends((link.from, link.to), place)?;
        link::check(&link.link, place)
    }

    fn check_flow(&self, index: usize) -> Checked {
        let flow = &self.flows[index];
        let place: At = &|key| Place::Flow(index, key);
        self.check_ends((flow.source, flow.sink), place)?;
        expect_packet(flow.packet_size, place("packet"))?;
        if let Some(coverage) = flow.coverage {
            let most = flow.wire_size();
            let least = LEAST_COVERAGE.min(most);
            let expected =
                format_args!("{least} B (IP's and UDP's headers) to {most} B (the packet)");
            let possible = (least..=most).contains(&coverage);
            expect(possible, place("coverage"), bytes(coverage), expected)?;
        }
        let (earliest, latest) = flow.start;
        require(earliest <= latest, place("start"), || backwards(flow.start))?;
        require(latest < self.end, place("start"), || {
            Problem::StartsAfterEnd {
                start: seconds(latest).to_string(),
                end: seconds(self.end).to_string(),
            }
        })?;
        if let Some(stop) = flow.stop {
            require(stop.0 <= stop.1, place("stop"), || backwards(stop))?;
            require(latest <= stop.0, place("stop"), || {
                Problem::StopsBeforeStart {
                    stop: seconds(stop.0).to_string(),
                    start: seconds(latest).to_string(),
                }
            })?;
        }
        transport::check(flow, place)?;
        application::check(flow, place)
    }

    fn check_ends(&self, (from, to): (usize, usize), place: At) -> Checked {
        let exists = |node| node < self.nodes.len();
        require(exists(from), place("from"), || Problem::NoSuchNode(from))?;
        require(exists(to), place("to"), || Problem::NoSuchNode(to))?;
        require(from != to, place("to"), || {
            Problem::Loop(self.nodes[to].clone())
        })
    }

    fn check_route(&self, index: usize, flow: &Flow, router: &Router<'_>) -> Checked {
        let (source, sink) = (flow.source, flow.sink);
        for (key, route, from, to) in [
            ("route", &flow.route, source, sink),
            ("return_route", &flow.return_route, sink, source),
        ] {
            let place = Place::Flow(index, key);
            if route.is_empty() {
                require(router.route(from, to).is_some(), place, || {
                    Problem::NoRoute {
                        from: self.nodes[from].clone(),
                        to: self.nodes[to].clone(),
                        back: key == "return_route",
                    }
                })?;
            } else {
                self.check_chain(route, from, to, place)?;
            }
        }
        Ok(())
    }

    /// Checks that each link of `route` starts where the previous one ends, from `from` to `to`.
    fn check_chain(&self, route: &[usize], from: usize, to: usize, place: Place) -> Checked {
        let mut at = from;
        let mut used = vec![false; self.links.len()];
        for &step in route {
            let Some(link) = self.links.get(step) else {
                return fail(place, Problem::NoSuchLink(step));
            };
            require(link.from == at, place, || Problem::RouteGap {
                at: self.nodes[at].clone(),
                link: link.name.clone(),
                starts: self.nodes[link.from].clone(),
            })?;
            require(!used[step], place, || {
                Problem::RouteRepeats(link.name.clone())
            })?;
            used[step] = true;
            at = link.to;
        }
        require(at == to, place, || Problem::RouteElsewhere {
            at: self.nodes[at].clone(),
            to: self.nodes[to].clone(),
        })
    }
}

fn check_rate(rate: Rate, place: Place) -> Checked {
    let possible = rate.as_bps() > 0 && rate <= FASTEST;
    let expected = format_args!("more than 0 bit/s and at most {}", bits_per_second(FASTEST));
    expect(possible, place, bits_per_second(rate), expected)
}

fn check_delay(rate: Rate, delay: Duration, place: Place) -> Checked {
    let possible = (Duration::ZERO..=LONGEST_DELAY).contains(&delay);
    let expected = format_args!("0 to {} s", LONGEST_DELAY.as_secs_f64());
    expect(possible, place, span(delay), expected)?;
    let bits = u128::from(rate.as_bps()) * delay.as_nanos().unsigned_abs() as u128;
    let bytes = (bits / 8_000_000_000) as u64;
    require(bytes <= MOST_IN_FLIGHT, place, || Problem::InFlight {
        rate: bits_per_second(rate).to_string(),
        delay: span(delay).to_string(),
        bytes,
    })
}

/// Checks that changes come in the order of their times.
fn check_order<T>(changes: &[(Time, T)], place: Place) -> Checked {
    match changes.windows(2).find(|pair| pair[0].0 > pair[1].0) {
        Some(pair) => fail(place, backwards((pair[0].0, pair[1].0))),
        None => Ok(()),
    }
}

fn unique<'a>(
    what: &'static str,
    names: impl Iterator<Item = (usize, &'a str)>,
    place: impl Fn(usize) -> Place,
) -> Checked {
    let mut seen = BTreeMap::new();
    for (index, name) in names {
        let length = name.chars().count();
        let printable = !name.chars().any(char::is_control);
        require(
            (1..=100).contains(&length) && printable,
            place(index),
            || Problem::BadName(name.chars().take(100).collect()),
        )?;
        require(seen.insert(name, index).is_none(), place(index), || {
            Problem::Duplicate {
                what,
                name: name.to_owned(),
            }
        })?;
    }
    Ok(())
}

fn require(holds: bool, place: Place, problem: impl FnOnce() -> Problem) -> Checked {
    if holds {
        Ok(())
    } else {
        fail(place, problem())
    }
}

fn fail(place: Place, problem: Problem) -> Checked {
    Err(CheckError { place, problem })
}

/// Rejects a value unless `holds`.
fn expect(holds: bool, place: Place, found: impl Display, expected: impl Display) -> Checked {
    require(holds, place, || Problem::OutOfRange {
        found: found.to_string(),
        expected: expected.to_string(),
    })
}

fn expect_bytes(found: impl Into<u64>, most: u64, place: Place) -> Checked {
    let found = found.into();
    let expected = format_args!("1 B to {most} B");
    expect((1..=most).contains(&found), place, bytes(found), expected)
}

fn expect_packet(found: u32, place: Place) -> Checked {
    expect_bytes(found, LARGEST_PACKET.into(), place)
}

fn expect_span(found: Duration, least: Duration, place: Place) -> Checked {
    let possible = (least..=LONGEST_DELAY).contains(&found);
    let expected = format_args!("{} to {}", span(least), span(LONGEST_DELAY));
    expect(possible, place, span(found), expected)
}

fn expect_positive_span(found: Duration, place: Place) -> Checked {
    let possible = found > Duration::ZERO && found <= LONGEST_DELAY;
    let expected = format_args!("more than 0 s, at most {}", span(LONGEST_DELAY));
    expect(possible, place, span(found), expected)
}

fn backwards((first, second): (Time, Time)) -> Problem {
    Problem::Backwards {
        first: seconds(first).to_string(),
        second: seconds(second).to_string(),
    }
}

fn bytes(count: impl Display) -> impl Display {
    fmt::from_fn(move |f| write!(f, "{count} B"))
}

fn seconds(time: Time) -> impl Display {
    fmt::from_fn(move |f| write!(f, "{} s", time.as_secs_f64()))
}

fn span(span: Duration) -> impl Display {
    let seconds = span.as_secs_f64();
    let (value, unit) = if seconds.abs() < 1.0 {
        (span.as_nanos() as f64 / 1e6, "ms")
    } else {
        (seconds, "s")
    };
    fmt::from_fn(move |f| write!(f, "{value} {unit}"))
}

/// Formats a rate in the largest unit that leaves no fraction.
fn bits_per_second(rate: Rate) -> impl Display {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let bps = rate.as_bps();
    let mut whole = UNITS.iter().filter(|(scale, _)| bps.is_multiple_of(*scale));
    let (scale, prefix) = whole.next().filter(|_| bps > 0).unwrap_or(&(1, ""));
    fmt::from_fn(move |f| write!(f, "{} {prefix}bit/s", bps / scale))
}

#[cfg(test)]
mod tests;
