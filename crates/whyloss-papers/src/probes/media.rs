//! Measures frames that reach a viewer and a listener. This is an extension: the paper measures
//! packets, not frames.
//!
//! Each protocol has its own stream and its own wireless link, on the network of Section 5.2:
//!
//! | | packets | frames | rate |
//! |---|---|---|---|
//! | video | 1464 B (Section 9) | two packets, 25 a second | 585.6 kbit/s |
//! | voice | 92 B (Section 9) | one packet, every 20 ms | 36.8 kbit/s |
//!
//! ```text
//! usable   whole + damaged: the share of frames that have arrived when they are played
//! damaged  with errors outside the first 40 bytes, which alone have a checksum (UDP-Lite, IFTP-W,
//!          IFTPV-W)
//! ```
//!
//! The limits are those of ELA-31: codecs tolerate 2 % loss (video) and about 1 % (audio).
//!
//! A sender without retransmission drops a frame that has waited for 40 ms and would delay later
//! ones; TCP cannot. UDP sends packets as they are produced. Frames count after the first 20 s,
//! when windows have settled.

use whyloss_sim::{FrameCounts, Needs, Scenario};

use whyloss_study::{
    Axis, Cell, Context, ExperimentError, Figure, Grid, Line, Lines, Look, Outcome, Panel, Runs,
    Series,
};

use crate::form::{Writing, short};

/// A media stream, and how the figure shows it.
struct Medium {
    id: &'static str,
    title: &'static str,
    /// The scenario, with a flow for each protocol.
    network: &'static str,
    /// The share of lost frames at which the codec still works (ELA-31).
    bears: f64,
    /// The two bit error rates at which playout delays are compared.
    at: [f64; 2],
}

/// Playout delays in ms. The path alone takes 111 (voice) and 135 (video).
const PLAYOUTS: [i64; 12] = [
    125, 150, 175, 200, 250, 300, 400, 600, 1_000, 2_000, 5_000, 10_000,
];
/// The index of the playout delay for cells and for the figure over the bit error rate: the path's
/// latency plus a waiting frame.
const USUAL: usize = 3;
/// The bit error rates: those of the paper, and one between any two of them.
const RATES: [f64; 9] = [1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7];
/// The axis of bit error rates.
const BER: Axis = Axis::log("bit error rate");
/// The flows with their names. Those of `COVERED` have a checksum of only 40 bytes of each packet.
const PROTOCOLS: [(&str, &str); 8] = [
    ("udp", "UDP"),
    ("udp-lite", "UDP-Lite"),
    ("tcp", "TCP"),
    ("tfrc", "TFRC"),
    ("iftp", "IFTP"),
    ("iftp-w", "IFTP-W"),
    ("iftpv", "IFTPV"),
    ("iftpv-w", "IFTPV-W"),
];
const COVERED: [&str; 3] = ["udp-lite", "iftp-w", "iftpv-w"];

/// Runs `ela-media-video`.
pub(crate) fn video(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let medium = Medium {
        id: "ela-media-video",
        title: "Extension: video frames in time over the bit error rate",
        network: "networks/media-video.toml",
        bears: 0.02,
        at: [3e-7, 3e-6],
    };
    medium.outcome(context)
}

/// Runs `ela-media-voice`.
pub(crate) fn voice(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let medium = Medium {
        id: "ela-media-voice",
        title: "Extension: voice frames in time over the bit error rate",
        network: "networks/media-voice.toml",
        bears: 0.01,
        at: [3e-6, 3e-5],
    };
    medium.outcome(context)
}

/// The counts of a protocol's frames in one run, for each playout delay.
type Frames = Vec<FrameCounts>;

/// A function from frame counts to a share of the frames.
type Share = fn(&FrameCounts) -> Option<f64>;

const SHARES: [(&str, Share); 4] = [
    ("whole", |f| f.share(f.whole)),
    ("damaged", |f| f.share(f.damaged)),
    ("late", |f| f.share(f.late)),
    ("never", |f| f.share(f.never())),
];

impl Medium {
    fn outcome(&self, context: &Context<'_>) -> Result<Outcome, ExperimentError> {
        let scenarios = RATES.map(|ber| self.scenario(ber));
        let scenarios: Vec<Scenario> = scenarios.into_iter().collect::<Result<_, _>>()?;
        let each = PROTOCOLS.iter().enumerate();
        let grid = each.fold(Grid::new(&BER, &RATES), |grid, (flow, (id, name))| {
            let items = scenarios.iter().map(|scenario| (scenario.clone(), flow));
            grid.line_of(id, name, items.collect())
        });
        let grids = [grid];
        let runs = Grid::run_all(
            context,
            &grids,
            |(scenario, _)| format!("media {scenario:?}"),
            |(scenario, _), seed| {
                let needs = Needs {
                    frames: true,
                    ..Needs::default()
                };
                let run = whyloss_sim::Simulation::new(scenario, seed)
                    .measure(needs)
                    .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
                let streams = run.frames.into_iter().filter(|counts| !counts.is_empty());
                Ok(streams.collect::<Vec<Frames>>())
            },
        )?;
        let runs = runs.iter().zip(&grids);
        let mut runs =
            runs.map(|(runs, grid)| runs.each(grid, |(_, flow), all| all[*flow].clone()));
        let runs = runs.next().ok_or(ExperimentError::Stopped)?;
        let damaged = |line: Line| {
            let covered = COVERED.contains(&line.id.as_str());
            Some(line.measured().drawn(Look::line(covered)))
        };
        let mut outcome = Outcome::new(self.id, self.title, runs.seeds())
            .cells(cells(&runs))
            .notes(self.notes(&runs));
        outcome.figures = vec![
            self.over_errors(&runs, damaged),
            self.over_playout(&runs, damaged),
        ];
        Ok(outcome)
    }

    fn scenario(&self, ber: f64) -> Result<Scenario, ExperimentError> {
        let keys = ["channel", "reverse_channel"];
        let set = keys.map(|key| (format!("link.radio.{key}.rate"), ber.to_string()));
        let text = crate::file("ela", self.network);
        let scenario = Scenario::from_toml(text, self.network, &set);
        scenario.map_err(|error| ExperimentError::Failed(Box::new(error)))
    }

    /// Returns a panel of these lines and the codec's limit.
    fn panel(&self, title: &str, lines: &Lines, xs: &[f64]) -> Panel {
        let enough = 100.0 * (1.0 - self.bears);
        let ends = [xs.first(), xs.last()].into_iter().flatten();
        let mut panel = lines.panel(title);
        panel.series.push(Series::new(
            &format!("{enough} %: what the codec needs"),
            Look::Dashed,
            ends.map(|&x| (x, enough)),
        ));
        panel
    }

    fn over_errors(&self, runs: &Runs<Frames>, drawn: impl Fn(Line) -> Option<Line>) -> Figure {
        let panel = |title: &str, share| {
            let lines = shares(runs, share).shown(&drawn);
            self.panel(title, &lines, &RATES)
        };
        Figure {
            name: self.id.into(),
            caption: format!(
                "{}: what is there {} ms after its capture",
                self.title, PLAYOUTS[USUAL]
            ),
            panels: vec![
                panel("usable: whole or damaged", FrameCounts::usable),
                panel("whole", |f| f.share(f.whole)),
            ],
        }
    }

    fn over_playout(&self, runs: &Runs<Frames>, drawn: impl Fn(Line) -> Option<Line>) -> Figure {
        let xs = PLAYOUTS.map(|ms| ms as f64);
        let axis = Axis::log("playout delay, ms");
        let panel = |ber: f64| {
            let lines = shares(runs, FrameCounts::usable);
            let lines = lines.iter().map(|line| {
                let runs = runs.at(&line.id, ber);
                let points = xs.iter().enumerate().map(|(playout, &x)| {
                    let usable = |frames: &Frames| frames[playout].usable();
                    (
                        x,
                        runs.iter()
                            .map(|run| usable(run).map(|of| 100.0 * of))
                            .collect(),
                    )
                });
                Line::of(&line.id, &line.name, "%", points)
            });
            let lines = Lines::new("share of frames", "%", &axis, lines).shown(&drawn);
            let title = format!(
                "usable at a bit error rate of {}",
                Writing::Short.place(ber)
            );
            self.panel(&title, &lines, &xs)
        };
        Figure {
            name: format!("{}-playout", self.id),
            caption: "What is there so long after its capture, whole or damaged".into(),
            panels: self.at.map(panel).into(),
        }
    }

    fn notes(&self, runs: &Runs<Frames>) -> [String; 4] {
        let enough = 100.0 * (1.0 - self.bears);
        let highest = |line: &Line| {
            // Start with the lowest rate, and continue as long as the limit holds.
            let rates = RATES.into_iter().rev();
            let good = rates.take_while(|&ber| line.at(ber).value >= enough).last();
            good.map_or("none".to_owned(), |ber| Writing::Short.place(ber))
        };
        let lines = shares(runs, FrameCounts::usable);
        let list = lines
            .iter()
            .map(|line| format!("{} {}", line.name, highest(line)));
        [
            "An extension: the paper measures packets, and has no number to compare with here."
                .into(),
            format!(
                "The highest bit error rate up to which {} % of the frames are usable {} ms after their capture, of those \
                 measured: {}.",
                short(enough),
                PLAYOUTS[USUAL],
                list.collect::<Vec<_>>().join(", ")
            ),
            "Whether a damaged frame is of use is the codec's business: here it counts if the first 40 bytes of each packet are \
             right. Protocols without a coverage have no damaged frames. Over TCP a frame is there when all before it is."
                .into(),
            "Except over TCP, a frame that has waited for 40 ms before its first packet leaves is thrown away: never. Every protocol \
             has a wireless link of its own; frames of the first 20 s do not count."
                .into(),
        ]
    }
}

/// Returns a share of the frames over the bit error rate, at the usual playout delay.
fn shares(runs: &Runs<Frames>, share: Share) -> Lines {
    runs.lines(("share of frames", "%"), |frames| {
        share(&frames[USUAL]).map(|share| 100.0 * share)
    })
}

/// Returns a row for each bit error rate of the paper and each share, with a column per protocol.
fn cells(runs: &Runs<Frames>) -> Vec<Cell> {
    let rows = RATES
        .into_iter()
        .step_by(2)
        .flat_map(|ber| SHARES.map(|share| (ber, share)));
    let cells = rows.flat_map(|(ber, (name, share))| {
        let row = format!("{}, {name}", Writing::Short.place(ber));
        let lines = shares(runs, share);
        let cell = |line: &Line| line.at(ber).cell(&row, &line.name, "%");
        lines.iter().map(cell).collect::<Vec<_>>()
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::find;
    use whyloss_study::experiment::Unwatched;

    /// UDP loses a frame with its first damaged bit, and UDP-Lite with the first damaged bit among
    /// 40 bytes.
    #[test]
    fn datagrams_meet_the_closed_form() {
        let stop = AtomicBool::new(false);
        for (id, bits, packets) in [
            ("ela-media-video", 8 * 1464, 2),
            ("ela-media-voice", 8 * 92, 1),
        ] {
            let experiment = find(id).expect("registered");
            let context = Context::new(&Unwatched, &stop).with_seeds(3);
            let outcome = (experiment.run)(&context).expect("not stopped");
            let mean = |row: String, column: &str| {
                let mut cells = outcome.cells.iter();
                let cell = cells.find(|cell| cell.row == row && cell.column == column);
                cell.and_then(|cell| cell.mean).expect("measured")
            };
            // Each of three runs has 100 s of frames.
            let frames = 3.0 * 100.0 * if packets == 2 { 25.0 } else { 50.0 };
            for ber in [1e-3, 1e-4, 1e-5, 1e-6, 1e-7] {
                let near = |found: f64, bits: u32| {
                    let exact = libm::exp(-ber * f64::from(bits * packets));
                    let deviation = 100.0 * libm::sqrt(exact * (1.0 - exact) / frames);
                    // The limit is 5 σ and half a frame.
                    let allowed = 5.0 * deviation + 50.0 / frames;
                    assert!(
                        (found - 100.0 * exact).abs() < allowed,
                        "{id} {ber}: {found} {exact}"
                    );
                };
                let row = |name| format!("{}, {name}", Writing::Short.place(ber));
                near(mean(row("whole"), "UDP"), bits);
                near(mean(row("whole"), "UDP-Lite"), bits);
                let usable = mean(row("whole"), "UDP-Lite") + mean(row("damaged"), "UDP-Lite");
                near(usable, 8 * 40);
            }
        }
    }
}
