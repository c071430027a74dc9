//! What a run writes as tables: CSV files, one for each flow or link and kind, as the run goes.
//!
//! | file | one row for each | columns |
//! |---|---|---|
//! | `<flow>.allowance.csv` | change of what congestion control allows | `time_s`, `cwnd_bytes` (TCP, IFTP) or `rate_bytes_per_s` (TFRC) |
//! | `<flow>.arrivals.csv` | data packet at its sink | `time_s`, `sequence`, `rott_s`, `size_bytes`, `first_damaged_bit` |
//! | `<flow>.losses.csv` | data packet lost | `time_s`, `sequence`, `where`, `truth`, `verdict`, `verdict_time_s` |
//! | `<link>.queue.csv` | packet that reaches the link | `time_s`, `waiting`, `fate` |
//!
//! Times are seconds of simulated time with nine decimals: exact, since the engine counts nanoseconds. They never
//! decrease in a file, but for `losses`: a packet may be lost on a later link after its successor was on an earlier one.
//! `docs/traces.md` says more of each column, and how names of flows and links become names of files.
//!
//! Memory does not grow with simulated time: a TFRC loss waits for its verdict until a later packet of the flow
//! arrives; all else is written at once.

mod table;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::Path;

use whyloss::receiver::Classifier;
use whyloss::{Cause, Duration, Time};
use whyloss_link::Fate;

use crate::observe::Observer;
use crate::output::{OutputError, create_directory, file_stems};
use crate::packet::{Packet, Payload};
use crate::scenario::{Scenario, Transport};

use self::table::{Optional, Seconds, Table};

/// Which rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Rows count from here …
    pub from: Time,
    /// … to here, or the end of the run if that is earlier; both ends belong to it.
    pub to: Time,
    /// After a row of `allowance`, `arrivals` or `queue`, none is written to that file for so long. Losses, and packets
    /// that a link loses, are always written.
    pub thin: Duration,
}

impl Default for TraceOptions {
    /// Every row.
    fn default() -> Self {
        Self {
            from: Time::ZERO,
            to: Time::MAX,
            thin: Duration::ZERO,
        }
    }
}

/// Writes what it sees of a run into a directory.
#[derive(Debug)]
pub struct Trace {
    options: TraceOptions,
    flows: Vec<FlowTables>,
    links: Vec<LinkTable>,
    error: Option<OutputError>,
}

#[derive(Debug)]
struct FlowTables {
    /// `None` without congestion control.
    allowance: Option<Table>,
    /// The last allowance written.
    allowed: Option<f64>,
    arrivals: Table,
    losses: Table,
    /// The name of the sink's node.
    sink: String,
    /// Losses that may still be judged, in the order of their sequence numbers.
    pending: VecDeque<Loss>,
}

#[derive(Debug)]
struct LinkTable {
    name: String,
    queue: Table,
}

#[derive(Clone, Copy, Debug)]
struct Loss {
    time: Time,
    sequence: u64,
    /// The link that lost it; `None`: the sink dropped it.
    link: Option<usize>,
    truth: Cause,
    verdict: Option<(Cause, Time)>,
}

impl Trace {
    /// Opens the files of a scenario in `directory`, which is made if it is not there; files of the same names are
    /// replaced.
    ///
    /// # Errors
    /// If the directory or a file cannot be made.
    pub fn create(
        scenario: &Scenario,
        directory: &Path,
        options: TraceOptions,
    ) -> Result<Self, OutputError> {
        create_directory(directory)?;
        let table = |stem: &str, kind: &str, header: &[&str]| {
            Table::create(directory.join(format!("{stem}.{kind}.csv")), header)
        };
        let stems = file_stems(scenario.flows.iter().map(|flow| flow.name.as_str()));
        let flows = scenario.flows.iter().zip(&stems).map(|(flow, stem)| {
            let unit = match flow.transport {
                Transport::Datagrams { .. } => None,
                Transport::Tcp { .. } | Transport::Iftp { .. } | Transport::Web { .. } => {
                    Some("cwnd_bytes")
                }
                Transport::Tfrc { .. } => Some("rate_bytes_per_s"),
            };
            let allowance = unit.map(|unit| table(stem, "allowance", &["time_s", unit]));
            let losses = [
                "time_s",
                "sequence",
                "where",
                "truth",
                "verdict",
                "verdict_time_s",
            ];
            Ok(FlowTables {
                allowance: allowance.transpose()?,
                allowed: None,
                arrivals: table(
                    stem,
                    "arrivals",
                    &[
                        "time_s",
                        "sequence",
                        "rott_s",
                        "size_bytes",
                        "first_damaged_bit",
                    ],
                )?,
                losses: table(stem, "losses", &losses)?,
                sink: scenario.nodes.get(flow.sink).cloned().unwrap_or_default(),
                pending: VecDeque::new(),
            })
        });
        let flows = flows.collect::<Result<_, _>>()?;
        let stems = file_stems(scenario.links.iter().map(|link| link.name.as_str()));
        let links = scenario.links.iter().zip(&stems).map(|(link, stem)| {
            let queue = table(stem, "queue", &["time_s", "waiting", "fate"])?;
            Ok(LinkTable {
                name: link.name.clone(),
                queue,
            })
        });
        let links = links.collect::<Result<_, _>>()?;
        let options = TraceOptions {
            to: options.to.min(scenario.end),
            ..options
        };
        Ok(Self {
            options,
            flows,
            links,
            error: None,
        })
    }

    /// Writes what is left, once the run is over.
    ///
    /// # Errors
    /// The first error of the whole run; nothing was written after it.
    pub fn finish(mut self) -> Result<(), OutputError> {
        for flow in 0..self.flows.len() {
            self.settle(flow, u64::MAX);
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        for flow in &mut self.flows {
            let tables = flow
                .allowance
                .iter_mut()
                .chain([&mut flow.arrivals, &mut flow.losses]);
            tables.into_iter().try_for_each(Table::flush)?;
        }
        self.links
            .iter_mut()
            .try_for_each(|link| link.queue.flush())
    }

    /// Whether rows of this time are wanted, and can be written.
    fn wants(&self, at: Time) -> bool {
        self.options.from <= at && at <= self.options.to && self.error.is_none()
    }

    /// Keeps the first error.
    fn note(&mut self, result: Result<(), OutputError>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }

    /// Writes the losses of packets before `sequence`: their time for a verdict is over.
    fn settle(&mut self, flow: usize, sequence: u64) {
        while let Some(loss) = self.flows[flow]
            .pending
            .pop_front_if(|loss| loss.sequence < sequence)
        {
            self.write_loss(flow, &loss);
        }
    }

    fn write_loss(&mut self, flow: usize, loss: &Loss) {
        if !self.wants(loss.time) {
            return;
        }
        let (verdict, when) = loss.verdict.unzip();
        let tables = &mut self.flows[flow];
        let place = loss
            .link
            .map_or(&tables.sink, |link| &self.links[link].name);
        let result = tables.losses.write(&[
            &Seconds::from(loss.time),
            &loss.sequence,
            place,
            &word(loss.truth),
            &Optional(verdict.map(word)),
            &Optional(when.map(Seconds::from)),
        ]);
        self.note(result);
    }
}

impl Trace {
    /// Notes the loss of a data packet.
    fn lost(&mut self, packet: &Packet, time: Time, link: Option<usize>, truth: Cause) {
        let Some(sequence) = packet.payload.sequence() else {
            return;
        };
        let flow = packet.flow as usize;
        let loss = Loss {
            time,
            sequence,
            link,
            truth,
            verdict: None,
        };
        if matches!(packet.payload, Payload::TfrcData(_)) {
            let pending = &mut self.flows[flow].pending;
            let index = pending.partition_point(|other| other.sequence < sequence);
            pending.insert(index, loss);
        } else {
            self.write_loss(flow, &loss);
        }
    }
}

impl Observer for Trace {
    const QUEUE_LENGTH: bool = true;

    fn offered(&mut self, link: usize, at: Time, packet: &Packet, waiting: usize, fate: Fate) {
        let lost = match fate {
            Fate::Delivered(_) | Fate::Damaged(..) => None,
            Fate::Lost(truth, time) => Some((truth, time)),
        };
        if self.wants(at) {
            let queue = &mut self.links[link].queue;
            if lost.is_some() || queue.due(at, self.options.thin) {
                let fate = match fate {
                    Fate::Delivered(_) => "delivered",
                    Fate::Damaged(..) => "damaged",
                    Fate::Lost(truth, _) => word(truth),
                };
                let result = queue.write(&[&Seconds::from(at), &waiting, &fate]);
                self.note(result);
            }
        }
        if let Some((truth, time)) = lost {
            self.lost(packet, time, Some(link), truth);
        }
    }

    fn dropped(&mut self, flow: usize, at: Time, packet: &Packet) {
        debug_assert_eq!(flow, packet.flow as usize);
        self.lost(packet, at, None, Cause::Wireless);
    }

    fn arrived(&mut self, flow: usize, at: Time, packet: &Packet, _: Option<&Classifier>) {
        let Some(sequence) = packet.payload.sequence() else {
            return;
        };
        self.settle(flow, sequence);
        if self.wants(at) {
            let arrivals = &mut self.flows[flow].arrivals;
            if arrivals.due(at, self.options.thin) {
                let rott = Seconds::from(at - packet.sent);
                let damage = packet.is_damaged().then_some(packet.first_damaged);
                let result = arrivals.write(&[
                    &Seconds::from(at),
                    &sequence,
                    &rott,
                    &packet.size,
                    &Optional(damage),
                ]);
                self.note(result);
            }
        }
    }

    fn judged(&mut self, flow: usize, at: Time, sequence: u64, _: Cause, verdict: Cause) {
        let pending = &mut self.flows[flow].pending;
        if let Ok(index) = pending.binary_search_by_key(&sequence, |loss| loss.sequence) {
            pending[index].verdict = Some((verdict, at));
        }
    }

    fn allowed(&mut self, flow: usize, at: Time, allowance: f64) {
        if !self.wants(at) {
            return;
        }
        let tables = &mut self.flows[flow];
        if let Some(table) = &mut tables.allowance
            && tables.allowed != Some(allowance)
            && table.due(at, self.options.thin)
        {
            tables.allowed = Some(allowance);
            let result = table.write(&[&Seconds::from(at), &allowance]);
            self.note(result);
        }
    }
}

fn word(cause: Cause) -> &'static str {
    match cause {
        Cause::Congestion => "congestion",
        Cause::Wireless => "wireless",
    }
}
