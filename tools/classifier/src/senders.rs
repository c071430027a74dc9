//! Writes a row for each loss event of TCP senders: the true cause and the signals.
//!
//! Rows have the format of `dump.rs`, with the index of the kind of acknowledgements ([`ACKS`]) in
//! place of the clock.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex};

use whyloss::event::{AckEvent, LossEvent};
use whyloss::sender::trees::{COUNT, NAMES, Signals};
use whyloss::sender::{self, SenderClassifier};
use whyloss::{Cause, Time};
use whyloss_link::Fate;
use whyloss_sim::decider::{Decider, OutsideSender};
use whyloss_sim::packet::Payload;
use whyloss_sim::scenario::Transport as Carrier;
use whyloss_sim::{Event, Watch};
use whyloss_study::arena::Transport;

use crate::dump;
use crate::model::{Model, SenderInLoop};
use crate::networks::{Drawn, Drivers};

/// Kinds of acknowledgements, and the clock that measures round trips.
const ACKS: [&str; 6] = [
    "",
    ", delayed_ack = \"40 ms\"",
    ", ack_every = 8",
    ", rtt_tick = \"1 ms\"",
    ", rtt_tick = \"10 ms\"",
    ", delayed_ack = \"none\"",
];
const HEAD: usize = 6;

type Row = [i16; HEAD + COUNT];

/// The latest signals of a flow's sender, and the true causes of its losses.
#[derive(Default)]
struct Ear {
    /// The signals of the latest loss, for the next verdicts.
    described: Option<[i16; COUNT]>,
    truth: [i16; 2],
    /// The losses of the path in the window.
    lost: BTreeMap<u64, Cause>,
}

/// A classifier that records the signals and returns the verdicts of another classifier.
struct Describing {
    signals: Signals,
    inner: Inner,
    ear: Arc<Mutex<Ear>>,
}

enum Inner {
    Oracle,
    Known(sender::Classifier),
    Model(SenderInLoop),
}

impl SenderClassifier for Describing {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.signals.on_ack(ack);
        match &mut self.inner {
            Inner::Oracle => {}
            Inner::Known(inner) => inner.on_ack(ack),
            Inner::Model(inner) => inner.on_ack(ack),
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        let described = self.signals.on_loss(loss);
        let Ok(mut ear) = self.ear.lock() else {
            return Cause::Congestion;
        };
        ear.described = described;
        match &mut self.inner {
            Inner::Known(inner) => inner.on_loss(loss),
            Inner::Model(inner) => inner.on_loss(loss),
            Inner::Oracle => {
                let first = loss.first / u64::from(loss.segment_size.max(1));
                let lost = ear.lost.split_off(&first);
                let wireless =
                    !lost.is_empty() && lost.values().all(|&cause| cause == Cause::Wireless);
                ear.lost = lost;
                if wireless {
                    Cause::Wireless
                } else {
                    Cause::Congestion
                }
            }
        }
    }
}

struct Listener {
    flows: Vec<Option<Arc<Mutex<Ear>>>>,
    from: Time,
    head: [i16; 3],
    rows: Vec<Row>,
}

impl Listener {
    /// Records the latest signals of flow `flow`, if it has had verdicts.
    fn close(&mut self, flow: usize, at: Time) {
        let Some(ear) = &self.flows[flow] else { return };
        let Ok(mut ear) = ear.lock() else { return };
        if ear.truth == [0; 2] {
            return;
        }
        let [congestion, wireless] = std::mem::take(&mut ear.truth);
        if let Some(described) = ear.described.take()
            && at >= self.from
        {
            let [network, family, acks] = self.head;
            let mut row = [0; HEAD + COUNT];
            let head = [network, family, acks, congestion, wireless, flow as i16];
            row[..HEAD].copy_from_slice(&head);
            row[HEAD..].copy_from_slice(&described);
            self.rows.push(row);
        }
    }
}

impl Watch for Listener {
    fn on(&mut self, event: &Event<'_>) {
        match *event {
            Event::Sent { flow, packet, .. } => {
                if let (Some(ear), Payload::Segment(segment)) = (&self.flows[flow], &packet.payload)
                    && segment.retransmission
                    && let Ok(mut ear) = ear.lock()
                {
                    ear.lost.remove(&segment.sequence);
                }
            }
            Event::Offered { packet, fate, .. } => {
                let Fate::Lost(cause, _) = fate else { return };
                if let Payload::Segment(segment) = &packet.payload
                    && let Some(Some(ear)) = self.flows.get(packet.flow as usize)
                    && let Ok(mut ear) = ear.lock()
                {
                    ear.lost.insert(segment.sequence, cause);
                }
            }
            Event::Judged { flow, truth, .. } => {
                if let Some(ear) = &self.flows[flow]
                    && let Ok(mut ear) = ear.lock()
                {
                    let count = &mut ear.truth[usize::from(truth == Cause::Wireless)];
                    *count = count.saturating_add(1);
                }
            }
            Event::Reacted { flow, at, .. } => {
                self.close(flow, at);
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
    dump::write(drawn.networks, out, &NAMES, 1, rows)
}

fn listen(
    mut drawn: Drawn,
    drivers: &Drivers,
    index: u64,
) -> Result<Vec<Row>, Box<dyn Error + Send + Sync>> {
    let driver = &drivers.names[(index / 3) as usize % drivers.names.len()];
    let acks = (index / 2 % 6) as usize;
    drawn.transport = [Transport::NewReno, Transport::Cubic][(index % 2) as usize];
    drawn.tcp = ACKS[acks];
    let known = drivers.model(driver);
    let mut scenario = drawn.scenario(index, drivers, "unaware", None)?;
    let mut flows = Vec::new();
    for flow in &mut scenario.flows {
        let ear: Option<Arc<Mutex<Ear>>> = (!flow.background).then(Arc::default);
        if let (Some(ear), Carrier::Tcp { classifier, .. }) = (&ear, &mut flow.transport) {
            let (ear, model, name) = (Arc::clone(ear), known.map(Arc::clone), driver.clone());
            if name != "oracle" && model.is_none() && sender::find(&name).is_none() {
                return Err(format!("there is no classifier of senders called {name}").into());
            }
            *classifier = Decider::Outside(OutsideSender::new(move || {
                Box::new(Describing {
                    signals: Signals::new(),
                    inner: inner(&name, model.as_ref()),
                    ear: Arc::clone(&ear),
                })
            }));
        }
        flows.push(ear);
    }
    let family = drawn.network(index).family as i16;
    let mut listener = Listener {
        flows,
        from: scenario.measure_from,
        head: [index as i16, family, acks as i16],
        rows: Vec::new(),
    };
    whyloss_sim::Simulation::new(&scenario, 1)
        .watch(&mut listener)
        .run()?;
    Ok(listener.rows)
}

fn inner(name: &str, model: Option<&Arc<Model>>) -> Inner {
    let known = sender::find(name).and_then(|entry| entry.build(&[]).ok());
    match (model, known) {
        (Some(model), _) => Inner::Model(SenderInLoop::new(Arc::clone(model))),
        (None, Some(known)) => Inner::Known(known),
        (None, None) => Inner::Oracle,
    }
}
