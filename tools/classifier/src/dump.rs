//! Writes a row for each gap: the true cause, and the signals under an exact and under noisy
//! clocks, all from one run.
//!
//! Rows are 16-bit integers, little-endian: network, family, clock, packets lost to queues, packets
//! lost to channels, flow, then the signals. Each network contributes at most about [`MOST`] gaps.
//! `FILE.names` lists the names of the signals.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;

use rayon::prelude::*;
use whyloss::receiver::Arrival;
use whyloss::receiver::trees::{COUNT, NAMES, Signals};
use whyloss::{Cause, Duration, Time};
use whyloss_link::Streams;
use whyloss_sim::clock::NoisyClock;
use whyloss_sim::packet::Payload;
use whyloss_sim::{Event, Observer, Order, Watch};

use crate::networks::{Drawn, Drivers};

/// The noise of the observing clocks, in ns.
const NOISES: [u64; 3] = [0, 20_000, 200_000];
const MOST: usize = 4_000;
const HEAD: usize = 6;

type Row = [i16; HEAD + COUNT];

/// Observes the judged flows.
struct Listener {
    flows: Vec<Option<Ear>>,
    from: Time,
    network: [i16; 2],
    rows: Vec<Row>,
}

struct Ear {
    clocks: Vec<(Option<NoisyClock>, Signals)>,
    expected: u64,
    truth: [i16; 2],
}

impl Observer for Listener {
    const ORDER: Order = Order::Place;
    const LINKS: bool = false;
    const SOURCES: bool = false;
}

impl Watch for Listener {
    fn on(&mut self, event: &Event<'_>) {
        match *event {
            Event::Judged { flow, truth, .. } => {
                if let Some(ear) = &mut self.flows[flow] {
                    let count = &mut ear.truth[usize::from(truth == Cause::Wireless)];
                    *count = count.saturating_add(1);
                }
            }
            Event::Arrived {
                flow, at, packet, ..
            } => {
                let (Some(ear), Payload::TfrcData(data)) = (&mut self.flows[flow], &packet.payload)
                else {
                    return;
                };
                let missing = data.sequence.saturating_sub(ear.expected);
                ear.expected = ear.expected.max(data.sequence.saturating_add(1));
                for (number, (clock, signals)) in (0..).zip(&mut ear.clocks) {
                    let stamp = clock.as_mut().map_or(at, |clock| clock.stamp(at));
                    let arrival = Arrival::new(data.sequence, data.stamp, stamp, packet.size);
                    if let Some(described) = signals.on_arrival(&arrival, missing)
                        && at >= self.from
                    {
                        let [network, family] = self.network;
                        let [congestion, wireless] = ear.truth;
                        let mut row = [0; HEAD + COUNT];
                        let head = [network, family, number, congestion, wireless, flow as i16];
                        row[..HEAD].copy_from_slice(&head);
                        row[HEAD..].copy_from_slice(&described);
                        self.rows.push(row);
                    }
                }
                ear.truth = [0; 2];
            }
            _ => {}
        }
    }
}

/// Writes the rows of all networks, in any order.
pub(crate) fn run(
    drawn: Drawn,
    drivers: &Drivers,
    out: &Path,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let rows = |index| listen(drawn, drivers, index);
    write(drawn.networks, out, &NAMES, NOISES.len(), rows)
}

/// Writes the rows of this many networks and a file with the names of the signals. Each network
/// contributes at most about [`MOST`] groups of `together` rows.
pub(crate) fn write<const ROW: usize>(
    networks: u64,
    out: &Path,
    names: &[(&str, &str)],
    together: usize,
    rows: impl Fn(u64) -> Result<Vec<[i16; ROW]>, Box<dyn Error + Send + Sync>> + Sync,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let file = Mutex::new(BufWriter::new(File::create(out)?));
    (0..networks).into_par_iter().try_for_each(
        |index| -> Result<(), Box<dyn Error + Send + Sync>> {
            let rows = rows(index)?;
            let mut file = file.lock().map_err(|_| "another thread failed")?;
            let every = rows.len() / together / MOST + 1;
            for row in rows.chunks(together).step_by(every).flatten().flatten() {
                file.write_all(&row.to_le_bytes())?;
            }
            Ok(())
        },
    )?;
    let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    std::fs::write(out.with_extension("names"), names.join("\n"))?;
    Ok(())
}

fn listen(
    drawn: Drawn,
    drivers: &Drivers,
    index: u64,
) -> Result<Vec<Row>, Box<dyn Error + Send + Sync>> {
    let driver = &drivers.names[(index / 3) as usize % drivers.names.len()];
    // In closed loop, the classifier's clock has noise in two of three networks.
    let own = driver == "trees" || drivers.model(driver).is_some();
    let noise = NOISES[(index / 6 % 3) as usize];
    let scenario = drawn.scenario(index, drivers, driver, (own && noise > 0).then_some(noise))?;
    let ear = |(at, flow): (usize, &whyloss_sim::scenario::Flow)| {
        let clock = |(number, noise): (usize, &u64)| {
            let random = Streams::new(100 * index + at as u64).stream("noise", number as u64);
            let mean = Duration::from_nanos(*noise as i64);
            let clock = (*noise > 0).then(|| NoisyClock::new(mean, random));
            (clock, Signals::new())
        };
        (!flow.background).then(|| Ear {
            clocks: NOISES.iter().enumerate().map(clock).collect(),
            expected: 0,
            truth: [0; 2],
        })
    };
    let family = drawn.network(index).family as i16;
    let mut listener = Listener {
        flows: scenario.flows.iter().enumerate().map(ear).collect(),
        from: scenario.measure_from,
        network: [index as i16, family],
        rows: Vec::new(),
    };
    whyloss_sim::Simulation::new(&scenario, 1).observe(&mut listener)?;
    // An early gap may have rows from only some clocks, so cut the rows to a multiple of the number
    // of clocks.
    let whole = listener.rows.len() / NOISES.len() * NOISES.len();
    listener.rows.truncate(whole);
    Ok(listener.rows)
}
