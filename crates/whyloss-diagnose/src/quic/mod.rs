//! Diagnoses QUIC connections from the logs of their endpoints (qlog).
//!
//! Events read, under their older and newer names (drafts 02 to 12 of the events, and the arrays of
//! draft 01):
//!
//! | event | information |
//! |---|---|
//! | `transport:packet_sent`, `quic:packet_sent` | number, size and time of sent packets |
//! | `transport:packet_received`, `quic:packet_received` | numbers of received packets, and the acknowledgements in them |
//! | `recovery:packet_lost`, `quic:packet_lost` | the packets that the endpoint declared lost |
//! | `recovery:metrics_updated`, `quic:recovery_metrics_updated` | window; without frames, ACKs |
//! | `connectivity:connection_started`, `quic:connection_started` | addresses |
//!
//! Only packets of 0-RTT and 1-RTT count. Those of the handshake are few and have separate number
//! spaces.

mod metrics;
mod ranges;
mod receiver;
mod sender;

use foldhash::{HashMap, HashMapExt as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde_json::{Map, Value};
use whyloss::event::Detection;

use self::metrics::Metrics;
use self::ranges::Ranges;
use self::receiver::Receiver;
use self::sender::Sender;
use crate::delay::Delays;
use crate::flow::{Direction, Flow, Protocol};
use crate::memory::Memory;
use crate::rates::Rates;
use crate::vantage::Vantage;

/// The time units of qlog by name, each in ns.
const UNITS: [(&str, f64); 3] = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
/// The packets of the handshake, which have separate numbers.
const HANDSHAKE: [&str; 4] = ["initial", "handshake", "retry", "version_negotiation"];
/// The longest connection id in bytes. QUIC's ids have at most 20 bytes, which take 40 as text.
const LONGEST_ID: usize = 256;
/// The limit of packet numbers (RFC 9000 §12.3).
const NUMBERS: u64 = 1 << 62;
/// The number of events after which a connection's memory is counted again. Before, it is counted
/// whenever the events have doubled.
const COUNTED: u64 = 64;

/// The connections of a log.
pub(crate) struct Log {
    trace: Format,
    alive: HashMap<String, Connection>,
    limit: usize,
    begun: u64,
    memory: Memory,
    /// The numbers of connections closed at the limit of connections, and at the memory limit.
    pub(crate) evicted: u64,
    pub(crate) short: u64,
    /// The number of events of connections whose id is too long.
    pub(crate) unnamed: u64,
    /// The number of events read.
    pub(crate) records: u64,
    /// The number of events without a time, or with a packet without a number.
    pub(crate) malformed: u64,
}

/// The format of a trace's events.
#[derive(Clone, Debug)]
struct Format {
    number: u64,
    /// The field names of events that are arrays.
    fields: Vec<String>,
    /// The unit of time, in ns.
    unit: f64,
    /// The time zero, in ns since 1970.
    origin: f64,
    delta: bool,
    last: f64,
    group: String,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            number: 0,
            fields: Vec::new(),
            unit: 1e6,
            origin: 0.0,
            delta: false,
            last: 0.0,
            group: String::new(),
        }
    }
}

impl Format {
    fn new(number: u64, about: &Value) -> Self {
        let common = &about["common_fields"];
        let unit = ["/configuration/time_units", "/common_fields/time_units"]
            .into_iter()
            .find_map(|path| about.pointer(path)?.as_str())
            .and_then(|name| UNITS.into_iter().find(|unit| unit.0 == name))
            .map_or(1e6, |unit| unit.1);
        let fields = about["event_fields"].as_array();
        let fields = fields.map_or_else(Vec::new, |fields| {
            let names = fields.iter().map(|name| name.as_str().unwrap_or_default());
            names.map(str::to_lowercase).collect()
        });
        let delta = common["time_format"]
            .as_str()
            .is_some_and(|format| ["delta", "relative_to_previous_event"].contains(&format));
        Self {
            number,
            fields,
            unit,
            origin: real(&common["reference_time"]).unwrap_or(0.0) * unit,
            delta,
            last: 0.0,
            group: group(|key| common.get(key)).unwrap_or_default(),
        }
    }

    /// Returns the time of an event, in ns.
    fn time(&mut self, event: &Map<String, Value>) -> Option<u64> {
        let given = event.get("time").or_else(|| event.get("relative_time"));
        let mut time = real(given?)? * self.unit;
        if self.delta {
            time += self.last;
            self.last = time;
        }
        // A time since 1970 already contains the origin. The sum uses whole numbers, because reals
        // are exact only to 256 ns.
        let origin = if time > 1e18 { 0.0 } else { self.origin };
        let sane = |ns: f64| (0.0..9e18).contains(&ns);
        (sane(time) && sane(origin)).then(|| time.round() as u64 + origin as u64)
    }
}

/// Returns the connection that an event belongs to, by the keys of the event or of its trace.
fn group<'a>(of: impl Fn(&'static str) -> Option<&'a Value>) -> Option<String> {
    let named = ["group_id", "ODCID", "odcid"].into_iter().find_map(of)?;
    Some(
        named
            .as_str()
            .map_or_else(|| named.to_string(), str::to_owned),
    )
}

/// Returns a number, which may be a JSON string.
fn real(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let real = real(value)?;
        (0.0..=9e15).contains(&real).then_some(real as u64)
    })
}

/// One connection, from the log of one end.
#[derive(Clone, Debug, Default)]
struct Connection {
    number: u64,
    last: u64,
    ends: Option<[SocketAddr; 2]>,
    sent: Sender,
    received: Receiver,
    metrics: Metrics,
    ranges: Ranges,
    /// The bytes at the last count of memory, and the number of events so far.
    held: usize,
    events: u64,
}

impl Log {
    pub(crate) fn new(limit: usize, memory: Memory) -> Self {
        Self {
            trace: Format::default(),
            alive: HashMap::new(),
            limit: limit.max(1),
            begun: 0,
            memory,
            evicted: 0,
            short: 0,
            unnamed: 0,
            records: 0,
            malformed: 0,
        }
    }

    /// Returns whether this record is an event of a qlog.
    pub(crate) fn knows(record: &Value) -> bool {
        record.get("name").is_some()
            && (record.get("time").is_some() || record.get("data").is_some())
    }

    /// Begins a trace.
    pub(crate) fn on_trace(&mut self, about: &Value, done: &mut dyn FnMut(Vec<Flow>)) {
        let number = self.trace.number + 1;
        if number > 1 {
            self.flush(done);
        }
        self.trace = Format::new(number, about);
    }

    /// Handles an event.
    pub(crate) fn on_event(&mut self, event: Value, done: &mut dyn FnMut(Vec<Flow>)) {
        self.records += 1;
        let event = match event {
            Value::Object(event) => event,
            Value::Array(values) => self.trace.fields.iter().cloned().zip(values).collect(),
            _ => {
                self.malformed += 1;
                return;
            }
        };
        let Some(now) = self.trace.time(&event) else {
            self.malformed += 1;
            return;
        };
        let name = ["name", "event_type", "event"];
        let name = name.into_iter().find_map(|key| event.get(key));
        let name = name.and_then(Value::as_str).unwrap_or_default();
        let name = name.rsplit(':').next().unwrap_or_default().to_lowercase();
        let data = event.get("data").unwrap_or(&Value::Null);
        let group = group(|key| event.get(key)).unwrap_or_else(|| self.trace.group.clone());
        if group.len() > LONGEST_ID {
            self.unnamed += 1;
            return;
        }
        if !self.alive.contains_key(&group) {
            if self.alive.len() >= self.limit {
                self.evicted += self.evict(done);
            }
            self.begun += 1;
            let connection = Connection {
                number: self.begun,
                ..Connection::default()
            };
            self.alive.insert(group.clone(), connection);
        }
        if let Some(connection) = self.alive.get_mut(&group) {
            connection.last = now;
            let told = connection.on_event(now, self.records, &name, data);
            self.malformed += u64::from(told.is_none());
            if let Some((before, after)) = connection.account() {
                self.memory.alive(before, after);
            }
        }
        if self.memory.is_short() {
            self.short += self.evict(done);
        }
    }

    /// Closes the eighth of the connections that was idle for longest. Returns their number.
    fn evict(&mut self, done: &mut dyn FnMut(Vec<Flow>)) -> u64 {
        let alive = self.alive.iter();
        let mut last: Vec<(u64, u64, String)> = alive
            .map(|(key, one)| (one.last, one.number, key.clone()))
            .collect();
        if last.is_empty() {
            return 0;
        }
        let many = (last.len() / 8).max(1);
        last.select_nth_unstable(many - 1);
        for (.., key) in &last[..many] {
            if let Some(connection) = self.alive.remove(key) {
                self.memory.alive(connection.held, 0);
                done(connection.flows());
            }
        }
        many as u64
    }

    /// Closes all connections.
    pub(crate) fn flush(&mut self, done: &mut dyn FnMut(Vec<Flow>)) {
        let mut left: Vec<Connection> = self.alive.drain().map(|(_, one)| one).collect();
        left.sort_by_key(|connection| connection.number);
        for connection in left {
            self.memory.alive(connection.held, 0);
            done(connection.flows());
        }
    }
}

/// Returns which of [`HANDSHAKE`] a packet is, if any. A packet without a type is none.
fn handshake(header: &Value, data: &Value) -> Option<usize> {
    let kind = header["packet_type"]
        .as_str()
        .or_else(|| data["packet_type"].as_str())?;
    HANDSHAKE
        .iter()
        .position(|one| kind.eq_ignore_ascii_case(one))
}

impl Connection {
    /// Handles an event. Returns `None` if it lacks a field that events with its name need.
    fn on_event(&mut self, now: u64, record: u64, name: &str, data: &Value) -> Option<()> {
        let header = &data["header"];
        let packet = || {
            let number = [&header["packet_number"], &data["packet_number"]];
            let number = number.into_iter().find_map(whole);
            number.filter(|&number| number < NUMBERS)
        };
        let metrics = &mut self.metrics;
        if name.starts_with("packet_") {
            metrics.on_packet(now, name, data, &mut self.sent);
        }
        if let Some(kind) = handshake(header, data) {
            self.ranges.on_handshake(kind, name, packet(), data);
            return Some(());
        }
        match name {
            "packet_sent" if metrics.are_needed() => {
                metrics.on_sent(now, record, packet()?, size(data), &mut self.sent);
            }
            "packet_sent" if asks_for_answer(data) => {
                self.sent.on_sent(now, record, packet()?, size(data));
            }
            "packet_received" => {
                metrics.on_arrival(now);
                self.ranges.read(data, |ranges, held| {
                    self.sent.on_ack(now, ranges, held);
                });
                let asks = asks_for_answer(data);
                self.received
                    .on_packet(now, record, packet()?, size(data), asks);
            }
            "packet_lost" => {
                let detection = match data["trigger"].as_str() {
                    // quinn always names the other threshold.
                    _ if metrics.are_needed() && !metrics.follows_arrival(now) => {
                        Detection::TimeThreshold
                    }
                    Some("time_threshold") => Detection::TimeThreshold,
                    Some("pto_expired") => Detection::Timeout,
                    _ => Detection::Duplicates,
                };
                if metrics.are_needed() {
                    metrics.on_lost(now, packet()?, detection, &mut self.sent);
                } else {
                    self.sent.on_lost(now, packet()?, detection);
                }
            }
            "metrics_updated" | "recovery_metrics_updated" | "metric_update" => {
                if let Some(window) = data
                    .get("congestion_window")
                    .or(data.get("cwnd"))
                    .and_then(whole)
                {
                    self.sent.on_window(window);
                }
                metrics.on_update(now, data, &mut self.sent);
            }
            "connection_started" => self.on_addresses(data),
            _ => {}
        }
        Some(())
    }

    /// Counts the memory if that is due. Returns the numbers of bytes before and after.
    fn account(&mut self) -> Option<(usize, usize)> {
        self.events += 1;
        if !self.events.is_multiple_of(COUNTED) && !self.events.is_power_of_two() {
            return None;
        }
        let before = self.held;
        self.held = size_of::<Self>()
            + LONGEST_ID
            + self.sent.memory()
            + self.received.memory()
            + self.metrics.memory();
        Some((before, self.held))
    }

    fn on_addresses(&mut self, data: &Value) {
        let nested = |side: &str| {
            let end = &data[side];
            ["ip_v4", "ip_v6"].into_iter().find_map(|version| {
                let ip: IpAddr = end[version].as_str()?.parse().ok()?;
                let port = end[version.replace("ip", "port")].as_u64().unwrap_or(0);
                Some(SocketAddr::new(ip, port as u16))
            })
        };
        let flat = |side: &str| {
            let ip: IpAddr = data[format!("{side}_ip")].as_str()?.parse().ok()?;
            let port = whole(&data[format!("{side}_port")]).unwrap_or(0);
            Some(SocketAddr::new(ip, port as u16))
        };
        let source = nested("local").or_else(|| flat("src"));
        let destination = nested("remote").or_else(|| flat("dst"));
        if let (Some(source), Some(destination)) = (source, destination) {
            self.ends = Some([source, destination]);
        }
    }

    /// Returns the sent flow and the received flow, if they have packets.
    fn flows(mut self) -> Vec<Flow> {
        let none = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        let [local, remote] = self.ends.unwrap_or([none; 2]);
        let (mut sent, mut received) = (self.sent, self.received);
        self.metrics.settle(&mut sent);
        sent.finish();
        received.finish();
        let mut flows = Vec::new();
        if let Some(span) = sent.span {
            let mut limits = Vec::new();
            if sent.delays.least().is_none() {
                limits.push(
                    "what was lost: the log has no acknowledgements of these packets".to_owned(),
                );
            } else if self.metrics.are_needed() {
                limits.push(
                    "which packets were declared lost in error: the log has no frames, so acknowledgements are inferred from its metrics".to_owned(),
                );
            }
            flows.push(Flow::of_direction(
                Direction {
                    protocol: Protocol::Quic,
                    ends: [local, remote],
                    span,
                    vantage: Vantage::Sender,
                    delivered: sent.delivered,
                    largest: sent.largest,
                    ledger: sent.ledger,
                    delays: sent.delays,
                    one_way: Delays::default(),
                    rates: sent.rates,
                },
                limits,
            ));
        }
        if let Some(span) = received.span.filter(|_| received.data) {
            let why = "causes of losses among what was received: QUIC's packets have no timestamps, so only their sender can tell";
            let skipped =
                "packet numbers that its sender left out on purpose from packets that were lost";
            let any = received.ledger.losses.is_empty();
            let limits = if any {
                Vec::new()
            } else {
                vec![why.to_owned(), skipped.to_owned()]
            };
            flows.push(Flow::of_direction(
                Direction {
                    protocol: Protocol::Quic,
                    ends: [remote, local],
                    span,
                    vantage: Vantage::Receiver,
                    delivered: received.received,
                    largest: 1,
                    ledger: received.ledger,
                    delays: Delays::default(),
                    one_way: Delays::default(),
                    rates: Rates::default(),
                },
                limits,
            ));
        }
        flows
    }
}

/// Returns the size of a packet from the field that this draft of qlog uses.
fn size(data: &Value) -> u32 {
    let places = [
        data.pointer("/raw/length"),
        data.pointer("/header/packet_size"),
        data.get("packet_size"),
        data.pointer("/header/payload_length"),
        data.pointer("/raw/payload_length"),
        data.pointer("/header/length"),
    ];
    let size = places.into_iter().flatten().find_map(whole);
    size.unwrap_or(0).min(u64::from(u16::MAX)) as u32
}

/// Returns whether the packet elicits an acknowledgement: it has more than acknowledgements,
/// padding and closing frames. Unknown contents count as yes.
fn asks_for_answer(data: &Value) -> bool {
    data["frames"].as_array().is_none_or(|frames| {
        frames.is_empty()
            || frames
                .iter()
                .any(|frame| !is_of(frame, &["ack", "padding", "connection_close"]))
    })
}

/// Returns whether a frame has one of these types.
fn is_of(frame: &Value, types: &[&str]) -> bool {
    let kind = frame["frame_type"].as_str().unwrap_or_default();
    types.iter().any(|one| kind.eq_ignore_ascii_case(one))
}

#[cfg(test)]
mod quinn_tests;
#[cfg(test)]
mod tests;
