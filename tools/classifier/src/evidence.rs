//! Writes a row for each loss event of flows under `whyloss`: the true cause, and the evidence that
//! the scheme's own trees weigh.
//!
//! Rows have the format of `dump.rs`, but the clock's place has 1 if the loss came in the first
//! slow start, and 0 otherwise.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex};

use whyloss::Cause;
use whyloss::congestion::{Controller as _, Start, Under, Whyloss, evidence};
use whyloss::event::{AckEvent, Detection, LossEvent};
use whyloss::sender::SenderClassifier;
use whyloss_sim::decider::{Decider, OutsideSender};
use whyloss_sim::scenario::Transport as Carrier;
use whyloss_sim::{Event, Watch};
use whyloss_study::arena::Variant;

use crate::dump;
use crate::schemes::Setting;

const HEAD: usize = 6;

type Row = [i16; HEAD + evidence::COUNT];

/// Follows a flow's events with a controller of its own. Its verdicts do not matter, because
/// `whyloss` ignores them.
struct Following {
    flow: i16,
    controller: Option<Whyloss>,
    rows: Arc<Mutex<Vec<Row>>>,
}

impl Following {
    fn controller(&mut self, segment_size: u32) -> &mut Whyloss {
        let start = Start::new(segment_size.max(1));
        self.controller
            .get_or_insert_with(|| Whyloss::new(&start, Under::Cubic))
    }
}

impl SenderClassifier for Following {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.controller(ack.segment_size).on_ack(ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        let controller = self.controller(loss.segment_size);
        let starting = controller.ssthresh() == u64::MAX;
        let counts = loss.detection != Detection::PersistentCongestion;
        let described = counts.then(|| controller.clone().decide(loss).evidence);
        if loss.detection.is_timeout() {
            controller.on_timeout(loss);
        } else {
            controller.on_loss(loss);
        }
        if let (Some(Some(described)), Ok(mut rows)) = (described, self.rows.lock()) {
            let mut row = [0; HEAD + evidence::COUNT];
            row[2] = i16::from(starting);
            row[HEAD - 1] = self.flow;
            row[HEAD..].copy_from_slice(&described);
            rows.push(row);
        }
        Cause::Congestion
    }
}

/// Adds the true causes to the latest row of their flow.
struct Listener(Arc<Mutex<Vec<Row>>>);

impl Watch for Listener {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Judged { flow, truth, .. } = *event
            && let Ok(mut rows) = self.0.lock()
            && let Some(row) = rows
                .iter_mut()
                .rfind(|row| usize::from(row[HEAD - 1].cast_unsigned()) == flow)
        {
            let count = &mut row[3 + usize::from(truth == Cause::Wireless)];
            *count = count.saturating_add(1);
        }
    }
}

/// Writes the rows of all networks, in any order; if `clean`, without channel losses and beside a
/// flow of CUBIC.
pub(crate) fn run(
    setting: Setting,
    clean: bool,
    out: &Path,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let variant = [Variant::Drawn, Variant::BesideClean][usize::from(clean)];
    let rows = |index| {
        let mut scenario = setting.scenario(index, "whyloss", variant)?;
        let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
        for (number, flow) in (0..).zip(&mut scenario.flows) {
            if flow.background || flow.name == "plain" {
                continue;
            }
            if let Carrier::Tcp { classifier, .. } | Carrier::Quic { classifier, .. } =
                &mut flow.transport
            {
                let rows = Arc::clone(&rows);
                *classifier = Decider::Outside(OutsideSender::new(move || {
                    Box::new(Following {
                        flow: number,
                        controller: None,
                        rows: Arc::clone(&rows),
                    })
                }));
            }
        }
        whyloss_sim::Simulation::new(&scenario, 1)
            .watch(&mut Listener(Arc::clone(&rows)))
            .run()?;
        let mut rows = std::mem::take(&mut *rows.lock().map_err(|_| "a watcher failed")?);
        for row in &mut rows {
            row[0] = index as i16;
        }
        Ok(rows)
    };
    dump::write(setting.drawn.networks, out, &evidence::NAMES, 1, rows)
}
