//! Section 9: what IFTP-W's sensitive section costs, for video and audio packets (Figs 13 to 20, ELA-21, -22, -40, -41).
//!
//! The paper draws surfaces over BER and coverage; here is a line for each coverage. UDP and TCP run beside IFTP-W as in
//! the paper, with packets of 1024 bytes (ELA-A10), each over a wireless link of its own.

use whyloss_study::{
    Check, Claim, Context, ExperimentError, Line, Lines, Metric, Outcome, Plan, Weight,
};

use super::decide::{GRAIN, alive, at, everywhere, listed};
use super::measure::{
    BER, DELAY, DEVIATION, FlowRun, GOODPUT, Item, RATES, Reading, THROUGHPUT, VARIANCE, measure,
    outcome, place, short,
};
use super::network::Network;
use super::probability;
use super::protocols::{AUDIO, HEADER, Protocol, UDP_RATE, VIDEO};

/// What is sent.
#[derive(Clone, Copy, Debug)]
struct Media {
    name: &'static str,
    size: u32,
    coverages: &'static [u32],
}

const VIDEO_PACKETS: Media = Media {
    name: "video",
    size: VIDEO,
    coverages: &[HEADER, 128, 256, 512, 1024, VIDEO],
};
const AUDIO_PACKETS: Media = Media {
    name: "audio",
    size: AUDIO,
    coverages: &[HEADER, 53, 66, 79, AUDIO],
};

fn id(coverage: u32) -> String {
    format!("c{coverage}")
}

impl Media {
    fn plan(self) -> Plan<Item> {
        self.coverages
            .iter()
            .fold(Plan::new(&BER, &RATES), |plan, &coverage| {
                plan.line(&id(coverage), &format!("{coverage} B sensitive"), |ber| {
                    let protocols = vec![
                        Protocol::udp(UDP_RATE),
                        Protocol::tcp(),
                        Protocol::iftp_w(self.size, coverage),
                    ];
                    (Network::one_router(ber, protocols), "iftp-w")
                })
            })
    }

    fn measure(self, context: &Context<'_>) -> Result<Vec<Reading>, ExperimentError> {
        measure(context, vec![(String::new(), Weight::Counted, self.plan())])
    }

    /// Whether each step up in coverage satisfies `holds` wherever there is a line.
    fn every_step(self, lines: &Lines, holds: impl Fn(f64, f64) -> bool) -> bool {
        self.coverages.windows(2).all(|pair| {
            let [less, more] = [pair[0], pair[1]].map(|coverage| lines.line(&id(coverage)));
            everywhere(&less, &more, &holds)
        })
    }
}

fn figure(
    context: &Context<'_>,
    number: u32,
    media: Media,
    metrics: &[Metric<FlowRun>],
    claims: impl Fn(&Reading) -> Vec<Claim>,
) -> Result<Outcome, ExperimentError> {
    let readings = media.measure(context)?;
    let what = metrics.first().map_or("", |metric| metric.name);
    let title = format!(
        "Fig. {number}: {what} of IFTP-W with {} packets, over BER and coverage",
        media.name
    );
    let id = format!("ela-fig-{number}");
    let claims = readings.iter().flat_map(claims);
    Ok(outcome((&id, &title), &readings, metrics, None).claims(claims).note(
        "The paper draws a surface; here is a line for each length of the sensitive section. 120 s, links of their own. \
         With everything sensitive IFTP-W is IFTP, byte for byte.",
    ))
}

const JITTER: &[Metric<FlowRun>] = &[VARIANCE, DEVIATION];

/// `ela-fig-13`.
pub(crate) fn fig_13(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 13, VIDEO_PACKETS, &[THROUGHPUT], |reading| {
        let too_little = reading.check([&id(HEADER)], &THROUGHPUT, |[line]| {
            let high = line.only(|ber| ber >= 0.9e-4);
            high.every(|mean| mean < 0.5 * at(line, 1e-6))
        });
        vec![
            throughput(reading, VIDEO_PACKETS),
            too_little.claim(
                "ELA-40b",
                "from a BER of 1e-4 on, even 40 sensitive bytes leave too little for streaming (less than half of what they leave at 1e-6)",
            ),
        ]
    })
}

/// `ela-fig-14`.
pub(crate) fn fig_14(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 14, VIDEO_PACKETS, &[GOODPUT], |reading| {
        let lost = 1.0 - at(&reading.line(&id(HEADER), &GOODPUT), 1e-4);
        let enough = Check {
            holds: lost < 0.02,
            evidence: format!(
                "with 40 bytes, the fewest, {:.2} % are lost; closed form {:.2} %",
                100.0 * lost,
                100.0 * probability::loss(1e-4, HEADER)
            ),
        };
        let mut claims = goodput(reading, VIDEO_PACKETS);
        claims.push(enough.claim(
            "ELA-31c",
            "at a BER of 1e-4 the goodput of video packets is high enough for some length of the sensitive section (less than 2 % lost)",
        ));
        claims
    })
}

/// `ela-fig-15`.
pub(crate) fn fig_15(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 15, VIDEO_PACKETS, &[DELAY], |reading| {
        vec![increases(reading, "ELA-41a", &DELAY)]
    })
}

/// `ela-fig-16`.
pub(crate) fn fig_16(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 16, VIDEO_PACKETS, JITTER, |reading| {
        vec![increases(reading, "ELA-41b", &DEVIATION)]
    })
}

/// `ela-fig-17`.
pub(crate) fn fig_17(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let video = VIDEO_PACKETS.measure(context)?;
    let video = video[0].line(&id(HEADER), &THROUGHPUT);
    figure(context, 17, AUDIO_PACKETS, &[THROUGHPUT], |reading| {
        let audio = reading.line(&id(HEADER), &THROUGHPUT);
        let shares = audio.by_mean("", |ber, mean| mean / at(&video, ber));
        let listed = listed(shares.means().map(|(_, share)| share.value));
        let less = Check {
            holds: shares.every(|share| share <= 0.25),
            evidence: format!("audio over video from 1e-3 to 1e-7: {listed}"),
        };
        vec![
            throughput(reading, AUDIO_PACKETS),
            less.claim(
                "ELA-41e",
                "audio's throughput is significantly less than video's (a quarter at most, at every BER, with 40 sensitive bytes)",
            ),
        ]
    })
}

/// `ela-fig-18`.
pub(crate) fn fig_18(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 18, AUDIO_PACKETS, &[GOODPUT], |reading| {
        goodput(reading, AUDIO_PACKETS)
    })
}

/// `ela-fig-19`.
pub(crate) fn fig_19(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 19, AUDIO_PACKETS, &[DELAY], |reading| {
        vec![constant(reading, "ELA-41c", &DELAY, 0.02)]
    })
}

/// `ela-fig-20`.
pub(crate) fn fig_20(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 20, AUDIO_PACKETS, JITTER, |reading| {
        let means = living_means(reading, &DEVIATION);
        let highest = means.iter().copied().fold(0.0, f64::max);
        let constant = Check {
            holds: highest < 1.0 && !means.is_empty(),
            evidence: format!("at most {} ms", short(highest)),
        };
        vec![constant.claim(
            "ELA-41d",
            "the jitter of audio packets is essentially constant (a standard deviation below 1 ms wherever packets get through)",
        )]
    })
}

/// Throughput falls as more is sensitive.
fn throughput(reading: &Reading, media: Media) -> Claim {
    let lossy = |line: Line| Some(line.only(|ber| ber >= 0.9e-6));
    let lines = reading.runs.lines(&THROUGHPUT).shown(lossy);
    let ends = [id(HEADER), id(media.size)];
    let ends = ends.each_ref().map(String::as_str);
    let check = reading.check(ends, &THROUGHPUT, |_| {
        let [least, whole] = ends.map(|id| lines.line(id));
        media.every_step(&lines, |less, more| more <= 1.02 * less + GRAIN)
            && everywhere(&least, &whole, |least, whole| least > whole)
    });
    let text = format!(
        "{}: throughput rises as less is sensitive (from 1e-3 to 1e-6: no step up in coverage gains more than 2 %, the \
         least coverage beats the whole packet)",
        media.name
    );
    check.claim("ELA-40a", &text)
}

/// Goodput falls as more is sensitive, and as the closed form says.
fn goodput(reading: &Reading, media: Media) -> Vec<Claim> {
    let lines = reading.runs.lines(&GOODPUT);
    let ends = [id(HEADER), id(media.size)];
    let ends = ends.each_ref().map(String::as_str);
    let check = reading.check(ends, &GOODPUT, |_| {
        media.every_step(&lines, |less, more| more.is_nan() || more <= less + 0.005)
    });
    let text = format!(
        "{}: goodput rises as less is sensitive (no step up in coverage gains more than 0.005)",
        media.name
    );
    let sensitive: Vec<(String, u32)> = media.coverages.iter().map(|&c| (id(c), c)).collect();
    vec![
        check.claim("ELA-40c", &text),
        probability::claim(reading, &sensitive),
    ]
}

/// The metric is higher at 1e-7 than at 1e-4, for every coverage.
fn increases(reading: &Reading, claim: &str, metric: &Metric<FlowRun>) -> Claim {
    let lines = reading.runs.lines(metric);
    let ends = |line: &Line| (at(line, 1e-4), at(line, 1e-7));
    let listed = lines.iter().map(|line| {
        let (high, low) = ends(line);
        format!("{}: {} and {}", line.name, short(high), short(low))
    });
    let listed: Vec<String> = listed.collect();
    let rises = |line: &Line| ends(line).1 >= 1.05 * ends(line).0;
    let check = Check {
        holds: lines.iter().all(rises),
        evidence: format!("at 1e-4 and at 1e-7, {}", listed.join("; ")),
    };
    let text = format!(
        "the {} of video packets increases as BER falls (by 5 % at least from 1e-4 to 1e-7, for every coverage)",
        metric.name
    );
    check.claim(claim, &text)
}

/// The means of all coverages, wherever packets get through.
fn living_means(reading: &Reading, metric: &Metric<FlowRun>) -> Vec<f64> {
    let lines = reading.runs.lines(metric);
    let living = lines.iter().map(|line| alive(reading, &[&line.id], line));
    let means =
        living.flat_map(|line| line.means().map(|(_, mean)| mean.value).collect::<Vec<_>>());
    means.collect()
}

/// The metric is the same everywhere.
fn constant(reading: &Reading, claim: &str, metric: &Metric<FlowRun>, share: f64) -> Claim {
    let means = living_means(reading, metric);
    let mean = whyloss_study::statistics::mean(&means).unwrap_or(f64::NAN);
    let ends = (f64::INFINITY, 0.0_f64);
    let ends = means
        .iter()
        .fold(ends, |(low, high), &m| (low.min(m), high.max(m)));
    let (low, high) = ends;
    let check = Check {
        holds: low >= (1.0 - share) * mean && high <= (1.0 + share) * mean,
        evidence: format!(
            "{} to {} {} over coverages and BERs from {} to {}",
            short(low),
            short(high),
            metric.unit,
            place(RATES[0]),
            place(RATES[RATES.len() - 1])
        ),
    };
    let text = format!(
        "the {} of audio packets is essentially constant (within {} % of its mean wherever packets get through)",
        metric.name,
        100.0 * share
    );
    check.claim(claim, &text)
}
