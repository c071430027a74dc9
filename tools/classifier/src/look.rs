//! Prints a row for each loss event of a flow in a scenario file: the true cause, the odds, and the
//! signals.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use whyloss::event::{AckEvent, LossEvent, SentEvent};
use whyloss::sender::trees::{COUNT, NAMES, Signals, log_odds};
use whyloss::sender::{self, SenderClassifier};
use whyloss::{Cause, Time};
use whyloss_sim::decider::{Decider, OutsideSender};
use whyloss_sim::scenario::Transport as Carrier;
use whyloss_sim::{Event, Scenario, Watch};

type Ear = Arc<Mutex<Option<(LossEvent, Option<[i16; COUNT]>)>>>;

struct Describing {
    signals: Signals,
    inner: Option<sender::Classifier>,
    ear: Ear,
}

impl SenderClassifier for Describing {
    fn on_sent(&mut self, sent: &SentEvent) {
        let _ = sent;
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.signals.on_ack(ack);
        if let Some(inner) = &mut self.inner {
            inner.on_ack(ack);
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        let described = self.signals.on_loss(loss);
        if let Ok(mut ear) = self.ear.lock() {
            *ear = Some((*loss, described));
        }
        self.inner
            .as_mut()
            .map_or(Cause::Wireless, |inner| inner.on_loss(loss))
    }
}

struct Listener {
    ears: Vec<Ear>,
    network: u64,
    rows: String,
    from: Time,
}

impl Watch for Listener {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Judged {
            flow,
            at,
            truth,
            verdict,
            ..
        } = *event
        {
            let Some(ear) = self.ears.get(flow) else {
                return;
            };
            if let Ok(mut ear) = ear.lock()
                && let Some((loss, described)) = ear.take()
                && at >= self.from
            {
                let _ = write!(
                    self.rows,
                    "{},{flow},{:.3},{},{},{},{},",
                    self.network,
                    at.as_nanos() as f64 / 1e9,
                    u8::from(truth == Cause::Congestion),
                    u8::from(verdict == Cause::Congestion),
                    loss.window / u64::from(loss.segment_size),
                    loss.rtt.map_or(0, |rtt| rtt.as_nanos() / 1000),
                );
                let _ = match described {
                    Some(signals) => writeln!(self.rows, "{},{signals:?}", log_odds(&signals)),
                    None => writeln!(self.rows, "none"),
                };
            }
        }
    }
}

/// Returns the rows of a run, in which `driver` replaces the classifier of the judged flows. If
/// `driver` names no classifier, every loss is called wireless.
pub(crate) fn rows(
    mut scenario: Scenario,
    network: u64,
    driver: &str,
    seed: u64,
) -> Result<String, Box<dyn Error + Send + Sync>> {
    let mut ears = Vec::new();
    for flow in &mut scenario.flows {
        let ear = Ear::default();
        ears.push(Arc::clone(&ear));
        if flow.background {
            continue;
        }
        let name = driver.to_owned();
        if let Carrier::Tcp { classifier, .. } | Carrier::Quic { classifier, .. } =
            &mut flow.transport
        {
            *classifier = Decider::Outside(OutsideSender::new(move || {
                Box::new(Describing {
                    signals: Signals::new(),
                    inner: sender::find(&name).and_then(|entry| entry.build(&[]).ok()),
                    ear: Arc::clone(&ear),
                })
            }));
        }
    }
    let mut listener = Listener {
        ears,
        network,
        rows: String::new(),
        from: Time::ZERO,
    };
    let run = whyloss_sim::Simulation::new(&scenario, seed)
        .watch(&mut listener)
        .run()?;
    for flow in &run.flows {
        if !flow.background {
            let _ = writeln!(
                listener.rows,
                "# {network} {:.1} kbit/s",
                flow.throughput_bps(run.window) / 1e3
            );
        }
    }
    Ok(listener.rows)
}

/// Returns the names of the columns.
pub(crate) fn head() -> String {
    let names: Vec<&str> = NAMES.iter().map(|name| name.0).collect();
    format!(
        "network,flow,s,truth,verdict,window,rtt_us,odds,{}",
        names.join(",")
    )
}

/// Prints the rows for a scenario file.
pub(crate) fn run(
    file: &Path,
    sets: &[String],
    driver: &str,
    seed: u64,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let text = std::fs::read_to_string(file)?;
    let sets = sets.iter().filter_map(|set| set.split_once('='));
    let sets: Vec<(String, String)> = sets
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let scenario = Scenario::from_toml(&text, &file.to_string_lossy(), &sets)?;
    println!("{}\n{}", head(), rows(scenario, 0, driver, seed)?);
    Ok(())
}
