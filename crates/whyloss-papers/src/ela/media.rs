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

use std::sync::Arc;

use whyloss::{Duration, Time, tfrc};
use whyloss_sim::decider::ReceiverDecider;
use whyloss_sim::host::datagrams::{Pattern, Spacing};
use whyloss_sim::media::StreamResult;
use whyloss_sim::scenario::{Application, Scenario, Stream, Transport};
use whyloss_sim::{FrameCounts, Media};

use super::network::Network;
use super::protocols::{AUDIO, HEADER, Protocol, VIDEO, WIRED};
use super::study::{RATES, place, short};
use whyloss_study::Mean;
use whyloss_study::Replications;
use whyloss_study::{CONFIDENCE, Cell, Figure, Outcome, Panel, Series};
use whyloss_study::{Context, ExperimentError};

/// A media stream, and what is shown of it.
struct Sheet {
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
/// How long a frame waits for its transport.
const PATIENCE: Duration = Duration::from_millis(40);
/// Frames count from here on.
const SETTLED: Duration = Duration::from_secs(20);

/// Runs `ela-media-video`.
pub(crate) fn video(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let sheet = Sheet {
        id: "ela-media-video",
        title: "Extension: video frames in time over the bit error rate",
        packet: VIDEO,
        interval: Duration::from_millis(40),
        packets: 2,
        bears: 0.02,
        at: [3e-7, 3e-6],
    };
    sheet.outcome(context)
}

/// Runs `ela-media-voice`.
pub(crate) fn voice(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let sheet = Sheet {
        id: "ela-media-voice",
        title: "Extension: voice frames in time over the bit error rate",
        packet: AUDIO,
        interval: Duration::from_millis(20),
        packets: 1,
        bears: 0.01,
        at: [3e-6, 3e-5],
    };
    sheet.outcome(context)
}

/// What became of the frames of each protocol for each playout delay in one run.
type Frames = Vec<Vec<FrameCounts>>;

/// A share of the frames.
type Share = fn(&FrameCounts) -> Option<f64>;

const SHARES: [(&str, Share); 4] = [
    ("whole", |f| f.share(f.whole)),
    ("damaged", |f| f.share(f.damaged)),
    ("late", |f| f.share(f.late)),
    ("never", |f| f.share(f.never())),
];

impl Sheet {
    fn outcome(&self, context: &Context<'_>) -> Result<Outcome, ExperimentError> {
        let protocols = protocols(self.packet);
        let scenarios = RATES.map(|ber| self.scenario(ber, &protocols));
        let runs = context.each(
            &scenarios,
            |scenario| format!("media {scenario:?}"),
            |scenario, seed| {
                let mut media = Media::new(scenario);
                whyloss_sim::run(scenario, seed, &mut media)
                    .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
                let counts = media.flows.iter().flatten().map(StreamResult::counts);
                Ok(counts.collect::<Frames>())
            },
        )?;
        let seeds = runs.iter().map(|runs| runs.len() as u64).min();
        let view = View {
            sheet: self,
            protocols,
            runs,
        };
        Ok(Outcome {
            id: self.id.into(),
            title: self.title.into(),
            seeds: seeds.unwrap_or(0),
            confidence: CONFIDENCE,
            cells: view.cells(),
            claims: Vec::new(),
            figures: vec![view.over_errors(), view.over_playout()],
            notes: view.notes(),
        })
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

/// The index of one of [`RATES`].
fn rate(ber: f64) -> usize {
    let near = |&rate: &f64| (rate / ber - 1.0).abs() < 1e-9;
    RATES.iter().position(near).unwrap_or(0)
}

/// What was measured.
struct View<'a> {
    sheet: &'a Sheet,
    protocols: Vec<Protocol>,
    /// For each of [`RATES`].
    runs: Vec<Replications<Frames>>,
}

impl View<'_> {
    /// The mean of a share in %.
    fn mean(&self, rate: usize, protocol: usize, playout: usize, share: Share) -> Mean {
        let one = |run: &Arc<Frames>| share(&run[protocol][playout]).map(|share| 100.0 * share);
        let values: Vec<f64> = self.runs[rate].iter().filter_map(one).collect();
        Mean::of(&values)
    }

    /// A row for each of the paper's bit error rates and each share, a column for each protocol.
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (rate, &ber) in RATES.iter().enumerate().step_by(2) {
            for (name, share) in SHARES {
                for (index, protocol) in self.protocols.iter().enumerate() {
                    let mean = self.mean(rate, index, USUAL, share);
                    cells.push(mean.cell(&format!("{}, {name}", place(ber)), protocol.name, "%"));
                }
            }
        }
        cells
    }

    /// A line for each protocol through the points of `xs`, and the codec's limit.
    fn panel(
        &self,
        title: &str,
        (x_label, xs): (&str, &[f64]),
        mean: impl Fn(usize, usize) -> Mean,
    ) -> Panel {
        let line = |(index, protocol): (usize, &Protocol)| {
            let point = |(at, &x): (usize, &f64)| {
                let Mean { value, half_width } = mean(index, at);
                let half_width = Some(half_width).filter(|half| half.is_finite());
                value.is_finite().then_some((x, value, half_width))
            };
            Series {
                name: protocol.name.into(),
                look: whyloss_study::Look::line(protocol.coverage.is_some()),
                points: xs.iter().enumerate().filter_map(point).collect(),
            }
        };
        let mut series: Vec<Series> = self.protocols.iter().enumerate().map(line).collect();
        let enough = 100.0 * (1.0 - self.sheet.bears);
        let ends = [xs.first(), xs.last()].into_iter().flatten();
        series.push(Series {
            name: format!("{enough} %: what the codec needs"),
            look: whyloss_study::Look::Dashed,
            points: ends.map(|&x| (x, enough, None)).collect(),
        });
        Panel {
            title: title.into(),
            x_label: x_label.into(),
            y_label: "share of frames, %".into(),
            log_x: true,
            log_y: false,
            series,
        }
    }

    fn over_errors(&self) -> Figure {
        let axis = ("bit error rate", &RATES[..]);
        let panel = |title: &str, share: Share| {
            self.panel(title, axis, |protocol, rate| {
                self.mean(rate, protocol, USUAL, share)
            })
        };
        Figure {
            name: self.sheet.id.into(),
            caption: format!(
                "{}: what is there {} ms after its capture",
                self.sheet.title, PLAYOUTS[USUAL]
            ),
            panels: vec![
                panel("usable: whole or damaged", FrameCounts::usable),
                panel("whole", |f| f.share(f.whole)),
            ],
        }
    }

    fn over_playout(&self) -> Figure {
        let xs = PLAYOUTS.map(|ms| ms as f64);
        let panel = |ber: f64| {
            let title = format!("usable at a bit error rate of {}", place(ber));
            self.panel(&title, ("playout delay, ms", &xs), |protocol, playout| {
                self.mean(rate(ber), protocol, playout, FrameCounts::usable)
            })
        };
        Figure {
            name: format!("{}-playout", self.sheet.id),
            caption: "What is there so long after its capture, whole or damaged".into(),
            panels: self.sheet.at.map(panel).into(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let enough = 1.0 - self.sheet.bears;
        let highest = |index: usize| {
            let usable = |rate: &usize| {
                self.mean(*rate, index, USUAL, FrameCounts::usable).value >= 100.0 * enough
            };
            // From the lowest rate up, as far as it holds.
            let good = (0..RATES.len()).rev().take_while(usable).last();
            good.map_or("none".to_owned(), |rate| place(RATES[rate]))
        };
        let list = self.protocols.iter().enumerate();
        let list = list.map(|(index, protocol)| format!("{} {}", protocol.name, highest(index)));
        vec![
            "An extension: the paper measures packets, and has no number to compare with here."
                .into(),
            format!(
                "The highest bit error rate up to which {} % of the frames are usable {} ms after their capture, of those \
                 measured: {}.",
                short(100.0 * enough),
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
                let row = |name| format!("{}, {name}", place(ber));
                near(mean(row("whole"), "UDP"), bits);
                near(mean(row("whole"), "UDP-Lite"), bits);
                let usable = mean(row("whole"), "UDP-Lite") + mean(row("damaged"), "UDP-Lite");
                near(usable, 8 * HEADER);
            }
        }
    }
}
