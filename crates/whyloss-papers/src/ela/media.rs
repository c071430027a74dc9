//! What a viewer and a listener get: an extension, since the paper measures packets, not frames.
//!
//! A stream of its own for each protocol over the network of Section 5.2, each with a wireless link of its own:
//!
//! | | packets | frames | rate |
//! |---|---|---|---|
//! | video | 1464 B (Section 9) | two packets, 25 a second | 585.6 kbit/s |
//! | voice | 92 B (Section 9) | one packet, every 20 ms | 36.8 kbit/s |
//!
//! ```text
//! usable   whole + damaged: the share of frames that are there when they are played
//! damaged  with errors outside the first 40 bytes, under a checksum that covers no more (UDP-Lite, IFTP-W, IFTPV-W)
//! ```
//!
//! The limits to compare with are those of ELA-31: codecs bear 2 % of loss (video), about 1 % (audio).
//!
//! A sender without retransmission throws a frame away that has waited for 40 ms: it would hold up those behind it. TCP
//! cannot. UDP's packets leave as they are produced. Frames count from 20 s on, when windows have settled.

use whyloss::{Duration, Time, tfrc};
use whyloss_sim::decider::ReceiverDecider;
use whyloss_sim::host::datagrams::{Pattern, Spacing};
use whyloss_sim::scenario::{Application, Scenario, Stream, Transport};
use whyloss_sim::{FrameCounts, Needs};

use whyloss_study::{
    Axis, Cell, Context, ExperimentError, Figure, Line, Lines, Look, Outcome, Panel, Plan, Runs,
    Series,
};

use super::network::Network;
use super::protocols::{AUDIO, HEADER, Protocol, VIDEO, WIRED};
use crate::form::{Writing, short};

/// A media stream, and what is shown of it.
struct Medium {
    id: &'static str,
    title: &'static str,
    packet: u32,
    interval: Duration,
    packets: u32,
    /// The loss that its codec bears (ELA-31).
    bears: f64,
    /// The bit error rates at which playout delays are compared.
    at: [f64; 2],
}

/// Playout delays in ms. The path alone takes 111 (voice) and 135 (video).
const PLAYOUTS: [i64; 12] = [
    125, 150, 175, 200, 250, 300, 400, 600, 1_000, 2_000, 5_000, 10_000,
];
/// The one that cells and the figure over the bit error rate have: a path's latency and room for a frame that waits.
const USUAL: usize = 3;
/// Bit error rates: the paper's, and one between each two.
const RATES: [f64; 9] = [1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7];
/// Bit error rates as an axis.
const BER: Axis = Axis::log("bit error rate");
/// How long a frame waits for its transport.
const PATIENCE: Duration = Duration::from_millis(40);
/// Frames count from here on.
const SETTLED: Duration = Duration::from_secs(20);

/// Runs `ela-media-video`.
pub(crate) fn video(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let medium = Medium {
        id: "ela-media-video",
        title: "Extension: video frames in time over the bit error rate",
        packet: VIDEO,
        interval: Duration::from_millis(40),
        packets: 2,
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
        packet: AUDIO,
        interval: Duration::from_millis(20),
        packets: 1,
        bears: 0.01,
        at: [3e-6, 3e-5],
    };
    medium.outcome(context)
}

/// What became of the frames of a protocol in one run, for each playout delay.
type Frames = Vec<FrameCounts>;

/// A share of the frames.
type Share = fn(&FrameCounts) -> Option<f64>;

const SHARES: [(&str, Share); 4] = [
    ("whole", |f| f.share(f.whole)),
    ("damaged", |f| f.share(f.damaged)),
    ("late", |f| f.share(f.late)),
    ("never", |f| f.share(f.never())),
];

impl Medium {
    fn outcome(&self, context: &Context<'_>) -> Result<Outcome, ExperimentError> {
        let protocols = protocols(self.packet);
        let each = protocols.iter().enumerate();
        let plan = each.fold(Plan::new(&BER, &RATES), |plan, (flow, protocol)| {
            let item = |ber| (self.scenario(ber, &protocols), flow);
            plan.line(protocol.id, protocol.name, item)
        });
        let plans = [plan];
        let runs = Plan::run_all_with(
            context,
            &plans,
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
        let runs = runs.into_iter().zip(&plans);
        let mut runs =
            runs.map(|(runs, plan)| runs.each(plan, |(_, flow), all| all[*flow].clone()));
        let runs = runs.next().ok_or(ExperimentError::Stopped)?;
        let damaged = |line: Line| {
            let protocol = protocols.iter().find(|protocol| protocol.id == line.id);
            let covered = protocol.is_some_and(|protocol| protocol.coverage.is_some());
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

    fn scenario(&self, ber: f64, protocols: &[Protocol]) -> Scenario {
        let mut scenario = Network::one_router(ber, protocols.to_vec()).scenario();
        scenario.measure_from = Time::ZERO + SETTLED;
        for flow in &mut scenario.flows {
            let tcp = matches!(flow.transport, Transport::Tcp { .. });
            flow.application = Application::Stream(Stream {
                interval: self.interval,
                packets: self.packets,
                patience: (!tcp).then_some(PATIENCE),
                playout: PLAYOUTS.map(Duration::from_millis).to_vec(),
            });
        }
        scenario
    }

    /// These lines and the codec's limit.
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
            // From the lowest rate up, as far as it holds.
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
            format!(
                "Whether a damaged frame is of use is the codec's business: here it counts if the first {HEADER} bytes of \
                 each packet are right. Protocols without a coverage have no damaged frames. Over TCP a frame is there \
                 when all before it is."
            ),
            format!(
                "Except over TCP, a frame that has waited for {} ms before its first packet leaves is thrown away: never. \
                 Every protocol has a wireless link of its own; frames of the first {} s do not count.",
                PATIENCE.as_nanos() / 1_000_000,
                SETTLED.as_secs_f64()
            ),
        ]
    }
}

/// A share of the frames over the bit error rate, for the usual playout delay.
fn shares(runs: &Runs<Frames>, share: Share) -> Lines {
    runs.lines_by(("share of frames", "%"), |frames| {
        share(&frames[USUAL]).map(|share| 100.0 * share)
    })
}

/// A row for each of the paper's bit error rates and each share, a column for each protocol.
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

/// The protocols, with packets of `size` bytes.
///
/// # Panics
/// If the registry has no unaware classifier: a mistake in this crate.
fn protocols(size: u32) -> Vec<Protocol> {
    let udp = |id, name, coverage| Protocol {
        id,
        name,
        size,
        coverage,
        transport: Transport::Datagrams {
            rate: WIRED,
            pattern: Pattern::Steady {
                spacing: Spacing::Regular,
                changes: Vec::new(),
            },
        },
    };
    vec![
        udp("udp", "UDP", None),
        udp("udp-lite", "UDP-Lite", Some(HEADER)),
        Protocol {
            size,
            ..Protocol::tcp().with_tcp(|options| options.segment_size = size)
        },
        Protocol {
            id: "tfrc",
            name: "TFRC",
            size,
            coverage: None,
            transport: Transport::Tfrc {
                options: tfrc::Options::rfc5348(),
                classifier: ReceiverDecider::unaware(),
            },
        },
        Protocol::iftp(size),
        Protocol::iftp_w(size, HEADER),
        Protocol::iftpv(size),
        Protocol {
            id: "iftpv-w",
            name: "IFTPV-W",
            coverage: Some(HEADER),
            ..Protocol::iftpv(size)
        },
    ]
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::find;
    use whyloss_study::experiment::Unwatched;

    /// UDP loses a frame with the first damaged bit, UDP-Lite with the first damaged one of 40 bytes.
    #[test]
    fn datagrams_meet_the_closed_form() {
        let stop = AtomicBool::new(false);
        for (id, bits, packets) in [
            ("ela-media-video", 8 * VIDEO, 2),
            ("ela-media-voice", 8 * AUDIO, 1),
        ] {
            let experiment = find(id).expect("registered");
            let context = Context::new(&Unwatched, &stop).with_seeds(3);
            let outcome = (experiment.run)(&context).expect("not stopped");
            let mean = |row: String, column: &str| {
                let mut cells = outcome.cells.iter();
                let cell = cells.find(|cell| cell.row == row && cell.column == column);
                cell.and_then(|cell| cell.mean).expect("measured")
            };
            // 100 s each.
            let frames = 3.0 * 100.0 * if packets == 2 { 25.0 } else { 50.0 };
            for ber in [1e-3, 1e-4, 1e-5, 1e-6, 1e-7] {
                let near = |found: f64, bits: u32| {
                    let exact = libm::exp(-ber * f64::from(bits * packets));
                    let deviation = 100.0 * libm::sqrt(exact * (1.0 - exact) / frames);
                    // 5 σ, and half a frame.
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
                near(usable, 8 * HEADER);
            }
        }
    }
}
