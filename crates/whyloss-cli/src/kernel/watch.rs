//! `whyloss kernel watch`: prints each loss with its verdict, the core's verdict, and the true
//! cause if a log has it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use whyloss::Cause;
use whyloss_emulate::spec;
use whyloss_kernel::control::Control;
use whyloss_kernel::event::{Detection, Ends, Event, Kind};
use whyloss_kernel::find::{Loaded, loaded};
use whyloss_kernel::judge::{Judge, Tally};
use whyloss_kernel::watch::Watch;

use super::WatchArgs;
use super::truth::{Confusion, Truth};
use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;

/// The time to wait for events.
const POLL: Duration = Duration::from_millis(20);
/// How long a loss waits for its log entry, in µs. The emulator writes at least every 100 ms.
const LOG_DELAY_US: u64 = 400_000;

/// A watched control.
struct Watched {
    watch: Watch,
    judge: Judge,
    ends: BTreeMap<u64, Ends>,
}

/// A loss to print.
struct Loss {
    control: usize,
    ends: Option<Ends>,
    event: Event,
    detection: Detection,
    core: Option<Cause>,
}

pub(super) fn watch(
    controls: &[&Control],
    args: &WatchArgs,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let time = args.time.as_deref().map(spec::duration).transpose();
    let time = time.map_err(|error| CliError::Link(error.into()))?;
    let end = time.map(|time| now_us() + time.as_nanos().unsigned_abs() / 1_000);
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    let over = || stop.load(Ordering::Relaxed) || end.is_some_and(|end| now_us() >= end);
    let mut all = begin(controls, args.wait, &over)?;
    let mut truth = args.truth.as_deref().map(Truth::of);
    let mut confusion = Confusion::default();
    let mut waiting: VecDeque<Loss> = VecDeque::new();
    let begun = now_us();
    let heading = format!(
        "{:>9}  {:<42} {:<14} {:<10} {:>6} {:>6} {:>9} {:>9} {:>6} {:>6}  {:<10}{}",
        "s",
        "socket",
        "found by",
        "verdict",
        "odds",
        "V_P",
        "RTT ms",
        "least ms",
        "cwnd",
        "then",
        "core",
        if truth.is_some() { " truth" } else { "" }
    );
    writeln!(out, "{heading}")?;
    loop {
        let last_round = over();
        let wait = POLL / all.len() as u32;
        for (index, watched) in all.iter_mut().enumerate() {
            let Watched { watch, judge, ends } = watched;
            let mut others = Vec::new();
            watch.poll(wait, |event, introduced| {
                if let Some(introduced) = introduced {
                    ends.insert(event.id, introduced);
                }
                let core = judge.hear(&event);
                if args.every && !matches!(event.kind, Kind::Asked(_)) {
                    others.push((event, ends.get(&event.id).copied()));
                }
                if let Kind::Asked(detection) = event.kind {
                    waiting.push_back(Loss {
                        control: index,
                        ends: ends.get(&event.id).copied(),
                        event,
                        detection,
                        core,
                    });
                }
                if event.kind == Kind::Closed {
                    ends.remove(&event.id);
                }
            })?;
            for (event, ends) in others {
                writeln!(out, "{}", other(&event, ends, index, begun))?;
            }
        }
        if let Some(truth) = &mut truth {
            truth.read_on()?;
        }
        // The log reports a loss a little later than the kernel's program.
        let waits = truth.is_some() && !last_round;
        let due = |loss: &mut Loss| !waits || loss.event.now_us + LOG_DELAY_US < now_us();
        while let Some(loss) = waiting.pop_front_if(due) {
            let line = line(&loss, begun, truth.as_mut(), &mut confusion);
            writeln!(out, "{line}")?;
        }
        if last_round {
            break;
        }
    }
    let mut tally = Tally::default();
    for watched in &all {
        tally.add(watched.judge.tally());
    }
    writeln!(out, "\n{}", summary(&tally))?;
    if truth.is_some() {
        writeln!(out, "{confusion}")?;
    }
    Ok(())
}

/// With `--wait`, waits until the controls are loaded. Returns the controls to watch.
fn begin(
    controls: &[&Control],
    wait: bool,
    over: &dyn Fn() -> bool,
) -> Result<Vec<Watched>, CliError> {
    loop {
        let loaded = loaded()?;
        let wanted = |name: &str| {
            loaded
                .iter()
                .find(|loaded| loaded.registered && loaded.name == name)
        };
        let found: Vec<&Loaded> = if controls.is_empty() {
            loaded.iter().filter(|loaded| loaded.registered).collect()
        } else {
            controls
                .iter()
                .filter_map(|control| wanted(control.name))
                .collect()
        };
        if !found.is_empty() && found.len() >= controls.len() {
            let watched = |loaded: &&Loaded| {
                Ok(Watched {
                    watch: Watch::begin(loaded)?,
                    judge: Judge::new(loaded.algorithm),
                    ends: BTreeMap::new(),
                })
            };
            return found.iter().map(watched).collect();
        }
        if !wait || over() {
            let missing = controls
                .iter()
                .find(|control| wanted(control.name).is_none());
            return Err(CliError::NothingToWatch(missing.map(|control| control.id)));
        }
        thread::sleep(POLL);
    }
}

fn line(loss: &Loss, begun: u64, truth: Option<&mut Truth>, confusion: &mut Confusion) -> String {
    let Loss { event, .. } = loss;
    let number = |value: Option<f64>, digits: usize| {
        value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
    };
    let millis = |us: Option<u32>| number(us.map(|us| f64::from(us) / 1e3), 3);
    let socket = loss.ends.map_or_else(
        || format!("{}/{}", loss.control, event.id),
        |ends| ends.to_string(),
    );
    let verdict = match loss.detection {
        Detection::Mark => "marked",
        _ => cause(event.cause),
    };
    let core = match loss.core {
        None => "not heard",
        Some(core) if core == event.cause && event.late => "same, late",
        Some(core) if core == event.cause => "the same",
        Some(_) => "OTHERWISE",
    };
    let truth = truth.map_or(String::new(), |truth| {
        if loss.detection == Detection::Mark {
            return " –".into();
        }
        let fates = loss
            .ends
            .map(|ends| truth.take(&ends, event, loss.detection));
        let fates = fates.unwrap_or_default();
        confusion.count(event.cause, &fates);
        format!(" {fates}")
    });
    format!(
        "{:>9.3}  {socket:<42} {:<14} {verdict:<10} {:>6} {:>6} {:>9} {:>9} {:>6} {:>6}  {core:<10}{truth}",
        event.now_us.saturating_sub(begun) as f64 / 1e6,
        loss.detection.name(),
        number(event.log_odds(), 2),
        number(event.backlog(), 2),
        millis((event.used_rtt_us > 0).then_some(event.used_rtt_us)),
        millis(event.min_rtt_us),
        event.cwnd,
        event.ssthresh,
    )
}

/// Returns the line for an event other than a loss.
fn other(event: &Event, ends: Option<Ends>, control: usize, begun: u64) -> String {
    let socket = ends.map_or_else(
        || format!("{control}/{}", event.id),
        |ends| ends.to_string(),
    );
    let what = match event.kind {
        Kind::Ack => format!(
            "acknowledges {} bytes, {}",
            event.acked,
            event
                .rtt_us
                .map_or("no round trip".into(), |us| format!("{us} µs"))
        ),
        Kind::Undo => "reduction taken back".into(),
        Kind::Closed => "closed".into(),
        Kind::Socket => "met".into(),
        Kind::State | Kind::Asked(_) => format!("state {:?}", event.state),
    };
    format!(
        "{:>9.3}  {socket:<42} {what}; {:?}, cwnd {}, threshold {}, {} out ({} arrived, {} lost)",
        event.now_us.saturating_sub(begun) as f64 / 1e6,
        event.state,
        event.cwnd,
        event.ssthresh,
        event.packets_out,
        event.sacked_out,
        event.lost_out
    )
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Congestion => "congestion",
        Cause::Wireless => "wireless",
    }
}

fn summary(tally: &Tally) -> String {
    let Tally {
        sockets,
        met_late,
        broken,
        events,
        compared,
        acks,
        ..
    } = tally;
    let mut text = format!(
        "{events} events, {compared} compared with the core, of {sockets} sockets ({met_late} more were met in the middle, of \
         {broken} events found no room)\n\
         {acks} acknowledgements: {} states of the classifier differ\n\
         {} losses: {} verdicts differ",
        tally.states_differ, tally.losses, tally.verdicts_differ
    );
    if tally.estimates > 0 {
        let _ = write!(
            text,
            "\n{} estimates: {} differ by more than rounding explains; the farthest by {:.3} bytes/s, the nearest to its bound at \
             {:.1} % of it",
            tally.estimates,
            tally.estimates_differ,
            tally.farthest,
            100.0 * tally.nearest_to_bound
        );
    }
    text
}

/// Returns the current time in µs, on the clock that the kernel programs use.
fn now_us() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC);
    now.map_or(0, |now| {
        now.tv_sec() as u64 * 1_000_000 + now.tv_nsec() as u64 / 1_000
    })
}
