//! Repeats Martignon and Fratta's test bed with the kernel's TCP: Figs 10 and 11, and friendliness
//! among real flows.
//!
//! Their server, router and client were a Linux 2.2 with their changes, a NIST Net router and
//! another host (MAR-12). Here the link is `whyloss link` in network namespaces, and the TCP is
//! that of this kernel. Each experiment runs twice: without features newer than 2.2, as far as the
//! kernel allows, and as the kernel ships.
//!
//! The thresholds were fixed before the first run and are those of the simulated figures. The order
//! of two controls is checked at losses of at least 0.5 % (20 % in the bad state). It holds if the
//! better control is never more than 2 % below the other one, and above it on average. The fair
//! share must be met within 10 %, and Jain's indices within 0.002. Both TCPs decide a claim about
//! the test bed.

use std::path::PathBuf;

use whyloss_study::statistics::{jain, mean};
use whyloss_study::{
    Axis, Check, Claim, Context, ExperimentError, Grid, Line, Look, Outcome, Runs,
};

use crate::bed::{Bed, Transfer, Transferred};
use crate::control::find;
use crate::error::KernelError;
use crate::load::{Held, load};

/// The confidence level of all intervals of the paper (Section 4).
const CONFIDENCE: f64 = 0.975;
/// The maximum number of repetitions of a run in which the emulator had a fault.
const AGAIN: u32 = 11;
/// The queue limit of the router in packets, as in the simulation of the test bed.
const QUEUE: u32 = 100;
/// The measured duration of a transfer in seconds, without the warm-up.
const SECONDS: u32 = 15;
const OMIT: u32 = 3;
/// The measured duration of a transfer in a quick run, in seconds.
const BRIEFLY: u32 = 6;

/// The loss rates of Fig. 10, in %.
const LOSSES: [f64; 6] = [0.1, 0.5, 1.0, 2.0, 4.0, 10.0];
/// The loss rates in the bad state of Fig. 11, in %.
const BAD: [f64; 4] = [20.0, 40.0, 60.0, 100.0];

/// The controls of the paper, each with its name in the paper.
const PAPER: [(&str, &str); 4] = [
    ("reno", "NewReno"),
    ("newreno-lp", "NewReno-LP"),
    ("tibet", "TIBET"),
    ("westwood", "Westwood"),
];
/// Common controls and the other controls of this project.
const OTHERS: [(&str, &str); 8] = [
    ("whyloss", "Whyloss"),
    ("cubic", "CUBIC"),
    ("cubic-lp", "CUBIC-LP"),
    ("bbr", "BBR"),
    ("westwood-lp", "Westwood-LP"),
    ("balde", "BaLDE"),
    ("veno", "Veno"),
    ("veno-enhanced", "enhanced Veno"),
];

/// The two TCPs, and whether each is plain.
const BEDS: [(&str, bool); 2] = [
    ("without SACK, RACK's options and tail probes", true),
    ("as Linux ships", false),
];

/// The environment of an experiment: its loaded controls and a directory for files.
#[derive(Debug)]
struct Place {
    bed: Bed,
    held: Vec<(&'static str, Held)>,
}

impl Place {
    fn new(ids: impl Iterator<Item = &'static str>) -> Result<Self, ExperimentError> {
        let failed = |error: KernelError| ExperimentError::Failed(Box::new(error));
        let program =
            std::env::current_exe().map_err(|error| ExperimentError::Failed(Box::new(error)))?;
        let process = std::process::id();
        crate::error::check_machine().map_err(failed)?;
        let mut held: Vec<(&'static str, Held)> = Vec::new();
        for id in ids {
            let known = held.iter().any(|(other, _)| *other == id);
            if let Some(control) = find(id).filter(|_| !known) {
                // The name is unique, so it does not collide with loaded controls.
                let name = format!("wlr{process}_{}", control.algorithm.number());
                held.push((control.id, load(control, &name).map_err(failed)?));
            }
        }
        Ok(Self {
            bed: Bed {
                program,
                scratch: scratch(process),
            },
            held,
        })
    }

    /// Returns the kernel's name for a control.
    fn name(&self, id: &str) -> String {
        let held = self.held.iter().find(|(other, _)| *other == id);
        held.map_or(id, |(_, held)| held.name()).to_owned()
    }

    fn transfer(&self, id: &str, loss: String, plain: bool) -> Transfer {
        Transfer {
            rate: "10mbit".into(),
            delay: "50ms".into(),
            queue: QUEUE,
            loss,
            seed: 0,
            seconds: SECONDS,
            omit: OMIT,
            flows: vec![self.name(id)],
            segment: None,
            plain,
        }
    }

    fn run(
        &self,
        context: &Context<'_>,
        plans: &[Grid<Transfer>],
    ) -> Result<Vec<Runs<Transferred>>, ExperimentError> {
        let work = |transfer: &Transfer, seed: u64| {
            let transfer = Transfer {
                seed,
                ..transfer.clone()
            };
            // Each transfer has a separate directory.
            let name = format!("{:016x}", fingerprint(&format!("{transfer:?}")));
            let once = || self.bed.start(&name, &transfer)?.finish();
            let mut done = once();
            for _ in 0..AGAIN {
                let faulty = done.as_ref().is_ok_and(|done| done.faults > 0.0);
                if !faulty || context.stopped() {
                    break;
                }
                done = once();
            }
            let done = done.map_err(|error| ExperimentError::Failed(Box::new(error)));
            // Delete the logs, which have thousands of packets per second.
            let _ = std::fs::remove_dir_all(self.bed.scratch.join(name));
            done
        };
        let runs = Grid::run_all(context, plans, |transfer| format!("{transfer:?}"), work)?;
        let runs = runs.into_iter();
        Ok(runs.map(|runs| runs.with_confidence(CONFIDENCE)).collect())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The scratch directory is no longer needed.
        let _ = std::fs::remove_dir_all(&self.bed.scratch);
    }
}

fn scratch(process: u32) -> PathBuf {
    std::env::temp_dir().join(format!("whyloss-bed-{process}"))
}

/// Returns the 64-bit FNV-1a hash of the text.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns the transfer; `None` if the emulator had a fault, so that the run does not count.
fn counted(run: &Transferred) -> Option<&Transferred> {
    (run.faults == 0.0).then_some(run)
}

fn goodput(run: &Transferred) -> Option<f64> {
    counted(run).and_then(|run| mean(&run.goodput))
}

/// Returns a sentence with the number of runs that do not count.
fn faulty<'a>(runs: impl Iterator<Item = (&'a Runs<Transferred>, Vec<&'static str>)>) -> String {
    let (mut faulty, mut all) = (0, 0);
    for (runs, ids) in runs {
        for (id, x) in ids
            .iter()
            .flat_map(|id| runs.xs().iter().map(move |x| (id, *x)))
        {
            let runs = runs.at(id, x);
            all += runs.len();
            faulty += runs.iter().filter(|run| run.faults > 0.0).count();
        }
    }
    format!(
        "In {faulty} of {all} runs the emulator was at fault (a packet left more than 10 ms late), as often as they were made again: they count \
         for nothing."
    )
}

/// Returns a line of a simulated figure: the mean goodput at the same points.
fn simulated(simulation: &Outcome, panel: &str, name: &str, xs: &[f64]) -> Line {
    let panels = simulation.figures.iter().flat_map(|figure| &figure.panels);
    let series = panels
        .filter(|other| other.title == panel)
        .flat_map(|panel| &panel.series)
        .find(|series| series.name == name);
    let points = series.map_or(&[][..], |series| &series.points);
    let at = |x: f64| points.iter().find(|point| (point.0 - x).abs() < 1e-9);
    let values = xs.iter().map(|&x| (x, vec![at(x).map(|point| point.1)]));
    let title = format!("{name}, simulated");
    Line::of(&title, &title, "Mbit/s", values).drawn(Look::Dashed)
}

/// A figure of goodput over loss rates. Figs 10 and 11 differ only in the channel.
struct Figure<'a> {
    id: &'a str,
    title: &'a str,
    axis: Axis,
    xs: &'a [f64],
    channel: &'a dyn Fn(f64) -> String,
    /// The lowest loss rate in per cent at which the order of controls is checked.
    much: f64,
    letter: &'a str,
    others: bool,
    seconds: u32,
}

impl Figure<'_> {
    fn make(
        &self,
        context: &Context<'_>,
        simulation: &Outcome,
    ) -> Result<Outcome, ExperimentError> {
        let others: &[_] = if self.others { &OTHERS } else { &[] };
        let ids = PAPER.iter().chain(others).map(|(id, _)| *id);
        let place = Place::new(ids)?;
        let plan = |lines: &[(&'static str, &str)], plain: bool| {
            lines
                .iter()
                .fold(Grid::new(&self.axis, self.xs), |plan, (id, name)| {
                    plan.line(id, name, |x| Transfer {
                        seconds: self.seconds,
                        ..place.transfer(id, (self.channel)(x), plain)
                    })
                })
        };
        let mut plans = BEDS.map(|(_, plain)| plan(&PAPER, plain)).to_vec();
        if self.others {
            plans.push(plan(&OTHERS, false));
        }
        let runs = place.run(context, &plans)?;
        let lines: Vec<_> = runs
            .iter()
            .map(|runs| {
                runs.lines(("goodput", "Mbit/s"), goodput)
                    .labelled("goodput (Mbit/s)")
            })
            .collect();
        let titles = BEDS
            .iter()
            .map(|(title, _)| *title)
            .chain(["other controls, as Linux ships"]);
        let mut outcome = Outcome::new(
            self.id,
            self.title,
            runs.iter().map(Runs::seeds).min().unwrap_or(0),
        )
        .with_confidence(CONFIDENCE);
        let mut panels = Vec::new();
        for (index, (title, lines)) in titles.zip(&lines).enumerate() {
            outcome = outcome.cells(lines.cells(&format!("goodput, {title}")));
            let beside = PAPER
                .iter()
                .filter(|_| index < BEDS.len())
                .map(|(_, name)| simulated(simulation, "window without limit", name, self.xs));
            let shown = beside.fold(lines.clone(), whyloss_study::Lines::with);
            if index == 0 {
                let simulated = shown.iter().filter(|line| line.look == Look::Dashed);
                outcome =
                    outcome.cells(simulated.flat_map(|line| line.cells("goodput, simulation")));
            }
            panels.push(shown.panel(title));
        }
        let line = |name: &str| [0, 1].map(|bed: usize| lines[bed].line(name));
        let mut claims = orders(self.letter, &line, self.much);
        if self.letter == "a" {
            claims.push(lead(&line));
        }
        let counted = runs.iter().enumerate().map(|(index, runs)| {
            let lines: &[(&'static str, &str)] = if index < BEDS.len() { &PAPER } else { &OTHERS };
            (runs, lines.iter().map(|(id, _)| *id).collect())
        });
        Ok(outcome
            .claims(claims)
            .captioned(
                "Goodput of this kernel's TCP through an emulated link of 10 Mbit/s, 100 ms there and back",
                panels,
            )
            .notes([
                faulty(counted),
                format!(
                    "One transfer of {} s each, after {OMIT} s that are not counted; room for {QUEUE} packets. Simulated: the same \
                     figure's simulation of Linux 2.2, window without limit, 50 to 500 s. Linux {}.",
                    self.seconds,
                    release()
                ),
            ]))
    }
}

fn release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

/// Checks the order of controls at loss rates of at least `much`, on both TCPs.
fn orders(letter: &str, line: &dyn Fn(&str) -> [Line; 2], much: f64) -> Vec<Claim> {
    let pairs = [
        ("1", ("westwood", "newreno-lp")),
        ("2", ("newreno-lp", "tibet")),
        ("3", ("tibet", "reno")),
    ];
    let called = |id: &str| {
        PAPER
            .iter()
            .find(|(other, _)| *other == id)
            .map_or("", |found| found.1)
    };
    let claim = |(number, (above, below)): (&str, (&str, &str))| {
        let (over, under) = (line(above), line(below));
        let lines = [0, 1].map(|bed: usize| {
            let name = format!("{}: {}/{}", BEDS[bed].0, called(above), called(below));
            let ratio = over[bed].by_mean(&name, |x, mean| mean / under[bed].at(x).value);
            let mut ratio = ratio.only(|x| x >= much);
            ratio.unit = "";
            ratio
        });
        let (above, below) = (called(above), called(below));
        Check::of(lines.each_ref(), |lines| {
            let holds = |line: &&Line| line.every(|ratio| ratio >= 0.98) && line.average() > 1.0;
            lines.iter().all(holds)
        })
        .claim(
            &format!("MAR-39{letter}{number}"),
            &format!(
                "{above} is nowhere more than 2 % below {below}, and above it on average, where at least {much} % are lost"
            ),
        )
    };
    pairs.map(claim).into()
}

/// Returns the claim about the loss rate at which the lead of LP over TIBET is largest.
fn lead(line: &dyn Fn(&str) -> [Line; 2]) -> Claim {
    let (lp, tibet) = (line("newreno-lp"), line("tibet"));
    let leads = [0, 1].map(|bed: usize| {
        let name = format!("{}: LP's lead", BEDS[bed].0);
        lp[bed].by_mean(&name, |x, mean| mean - tibet[bed].at(x).value)
    });
    Check::of(leads.each_ref(), |leads| {
        leads.iter().all(|lead| {
            let greatest = lead.highest();
            greatest.is_some_and(|(x, lead)| lead.value > 0.0 && (1.0..=4.0).contains(&x))
        })
    })
    .claim(
        "MAR-32",
        "LP's lead over TIBET (in Mbit/s) is greatest between 1 and 4 % of loss",
    )
}

/// Runs `mar-fig-10-kernel`, with independent losses. `simulation` is the outcome of `mar-fig-10`.
///
/// # Errors
/// Returns an error if this process may not load controls, or a transfer fails.
pub fn fig_10(context: &Context<'_>, simulation: &Outcome) -> Result<Outcome, ExperimentError> {
    let figure = Figure {
        id: "mar-fig-10-kernel",
        title: "Fig. 10 with a real kernel: goodput on the test bed, independent losses",
        axis: Axis::linear("packet loss rate (%)"),
        xs: &LOSSES,
        channel: &independent,
        much: 0.5,
        letter: "a",
        others: true,
        seconds: SECONDS,
    };
    figure.make(context, simulation)
}

/// Runs Fig. 10 at two loss rates, with only the paper's four controls.
///
/// # Errors
/// Returns the errors of [`fig_10`].
pub fn fig_10_quick(
    context: &Context<'_>,
    simulation: &Outcome,
) -> Result<Outcome, ExperimentError> {
    let figure = Figure {
        id: "mar-fig-10-kernel-quick",
        title: "Fig. 10 with a real kernel, at two loss rates",
        axis: Axis::linear("packet loss rate (%)"),
        xs: &[1.0, 4.0],
        channel: &independent,
        much: 0.5,
        letter: "a",
        others: false,
        seconds: BRIEFLY,
    };
    figure.make(context, simulation)
}

fn independent(percent: f64) -> String {
    format!("bernoulli:{}", percent / 100.0)
}

/// Runs `mar-fig-11-kernel`, with losses in bursts. `simulation` is the outcome of `mar-fig-11`.
///
/// # Errors
/// Returns the errors of [`fig_10`].
pub fn fig_11(context: &Context<'_>, simulation: &Outcome) -> Result<Outcome, ExperimentError> {
    let figure = Figure {
        id: "mar-fig-11-kernel",
        title: "Fig. 11 with a real kernel: goodput on the test bed, correlated losses",
        axis: Axis::linear("packet error rate in the bad state (%)"),
        xs: &BAD,
        channel: &|percent| format!("gilbert:1s,50ms,{}", percent / 100.0),
        much: 20.0,
        letter: "b",
        others: true,
        seconds: SECONDS,
    };
    figure.make(context, simulation)
}

/// The number of flows on the link.
const FLOWS: usize = 5;
/// The measured duration of the friendliness runs in seconds, and the time before it.
const TOGETHER: u32 = 40;
const SETTLING: u32 = 10;

/// The pairs of controls that share a link.
const PAIRS: [[(&str, &str); 2]; 5] = [
    [("newreno-lp", "NewReno-LP"), ("reno", "NewReno")],
    [("newreno-lp", "NewReno-LP"), ("cubic", "CUBIC")],
    [("newreno-lp", "NewReno-LP"), ("bbr", "BBR")],
    [("cubic-lp", "CUBIC-LP"), ("cubic", "CUBIC")],
    [("whyloss", "Whyloss"), ("cubic", "CUBIC")],
];

/// Runs `mar-fig-8-kernel`: five flows, with every mixture of two controls.
///
/// # Errors
/// Returns the errors of [`fig_10`].
pub fn fig_8(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let place = Place::new(PAIRS.iter().flatten().map(|(id, _)| *id))?;
    let counts: Vec<f64> = (0..=FLOWS).map(|n| n as f64).collect();
    let plans = PAIRS.map(|[one, other]| {
        let axis = Axis::named(format!("flows of {} among five", one.1));
        Grid::new(&axis, &counts).line("all", "all", |n| {
            let flow = |index: usize| place.name(if index < n as usize { one.0 } else { other.0 });
            Transfer {
                flows: (0..FLOWS).map(flow).collect(),
                seconds: TOGETHER,
                omit: SETTLING,
                ..place.transfer(one.0, "none".into(), false)
            }
        })
    });
    let runs = place.run(context, &plans)?;
    let mut outcome = Outcome::new(
        "mar-fig-8-kernel",
        "Fig. 8 with a real kernel: friendliness, five flows on an error-free link of 10 Mbit/s",
        runs.iter().map(Runs::seeds).min().unwrap_or(0),
    )
    .with_confidence(CONFIDENCE);
    let mut panels = Vec::new();
    let mut shares = Vec::new();
    for ([one, other], runs) in PAIRS.iter().zip(&runs) {
        // The order in the list determines which flows are of the first kind, so each position has
        // a line.
        let kind = |(id, name): (&str, &str), first: bool| {
            let values = runs.xs().iter().filter_map(|&x| {
                let n = x as usize;
                let of = |run: &Transferred| {
                    let (ones, others) = run.goodput.split_at_checked(n)?;
                    mean(if first { ones } else { others })
                };
                let there = if first { n > 0 } else { n < FLOWS };
                let values: Vec<_> = runs
                    .at("all", x)
                    .iter()
                    .map(|run| counted(run).and_then(of))
                    .collect();
                there.then_some((x, values))
            });
            Line::of(id, name, "Mbit/s", values)
                .with_confidence(CONFIDENCE)
                .drawn(Look::Bars)
        };
        let fair = runs
            .lines(("goodput", "Mbit/s"), goodput)
            .line("all")
            .called("all", "mean of all five")
            .bare();
        let lines = [kind(*one, true), kind(*other, false), fair];
        let title = format!("{} and {}", one.1, other.1);
        outcome = outcome.cells(lines.iter().flat_map(|line| line.cells(&title)));
        let drawn = runs.gather(("mean goodput (Mbit/s)", ""), lines.clone());
        panels.push(drawn.panel(&title));
        shares.push([0, 1].map(|index: usize| {
            let [.., fair] = &lines;
            lines[index].by_mean(&lines[index].name, |x, mean| mean / fair.at(x).value)
        }));
    }
    let index = |x: f64, name: &str| {
        let of = |run: &Transferred| counted(run).and_then(|run| jain(&run.goodput));
        let values = runs[0].at("all", x).iter().map(|run| of(run)).collect();
        Line::of("jain", name, "", [(x, values)]).with_confidence(CONFIDENCE)
    };
    let (lp, newreno) = (
        index(FLOWS as f64, "five of NewReno-LP"),
        index(0.0, "five of NewReno"),
    );
    let beside = |line: &Line, x: f64, paper: f64| {
        let cell = line.at(x).cell("Jain's index", &line.name, "");
        cell.beside(paper, 0.002)
    };
    let [lp_share, newreno_share] = &shares[0];
    Ok(outcome
        .cells([beside(&lp, FLOWS as f64, 0.9987), beside(&newreno, 0.0, 0.9995)])
        .captioned(
            "Mean goodput of each kind among five flows; line: of all five",
            panels,
        )
        .claim(
            "MAR-37a",
            "LP and NewReno both come to the fair share (within 10 %), however many of the five are LP",
            lp_share.near(1.0, 0.10).and(newreno_share.near(1.0, 0.10)),
        )
        .notes([
            faulty(runs.iter().map(|runs| (runs, vec!["all"]))),
            format!(
                "Five flows that start together, {TOGETHER} s after {SETTLING} s that are not counted; 100 ms there and back, room for \
                 {QUEUE} packets; this kernel's TCP as it ships (Linux {}).",
                release()
            ),
        ]))
}
