//! Section 9: what IFTP-W's sensitive section costs, for video and audio packets (Figs 13 to 20, ELA-21, -22, -40, -41).
//!
//! The paper draws surfaces over BER and coverage; here is a line for each coverage. UDP and TCP run beside IFTP-W as in
//! the paper, with packets of 1024 bytes (ELA-A10), each over a wireless link of its own.

use super::decide::alive;
use super::network::Network;
use super::probability;
use super::protocols::{AUDIO, HEADER, Protocol, UDP_RATE, VIDEO};
use super::study::{BER, Metric, Plan, RATES, Study, View, average, place, short};
use whyloss_study::{Claim, Outcome};
use whyloss_study::{Context, ExperimentError};

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
    fn plans(self) -> Vec<Plan> {
        let plan = |&coverage: &u32| {
            let network = |&ber: &f64| {
                let protocols = vec![
                    Protocol::udp(UDP_RATE),
                    Protocol::tcp(),
                    Protocol::iftp_w(self.size, coverage),
                ];
                Network::one_router(ber, protocols)
            };
            Plan {
                id: id(coverage),
                name: format!("{coverage} B sensitive"),
                networks: RATES.iter().map(network).collect(),
                flow: 2,
                drawn: true,
            }
        };
        self.coverages.iter().map(plan).collect()
    }
}

fn figure(
    context: &Context<'_>,
    number: u32,
    media: Media,
    metrics: &[Metric],
    claims: impl Fn(&View) -> Vec<Claim>,
) -> Result<Outcome, ExperimentError> {
    let study = Study::measure(context, &RATES, vec![(String::new(), media.plans())])?;
    let what = metrics.first().map_or("", |metric| metric.name());
    let title = format!(
        "Fig. {number}: {what} of IFTP-W with {} packets, over BER and coverage",
        media.name
    );
    let notes = vec![
        "The paper draws a surface; here is a line for each length of the sensitive section. 120 s, links of their own. \
         With everything sensitive IFTP-W is IFTP, byte for byte."
            .into(),
    ];
    let id = format!("ela-fig-{number}");
    let claims = claims(study.first());
    Ok(study.outcome((&id, &title), BER, metrics, claims, notes))
}

const JITTER: &[Metric] = &[Metric::Variance, Metric::Deviation];

/// `ela-fig-13`.
pub(crate) fn fig_13(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 13, VIDEO_PACKETS, &[Metric::Throughput], |view| {
        let mut claims = throughput(view, VIDEO_PACKETS);
        let mean = |ber| view.mean(&id(HEADER), Metric::Throughput, view.at(ber));
        claims.push(Claim::new(
            "ELA-40b",
            "from a BER of 1e-4 on, even 40 sensitive bytes leave too little for streaming (less than half of what they leave at 1e-6)",
            [1e-4, 3e-4, 1e-3]
                .iter()
                .all(|&ber| mean(ber) < 0.5 * mean(1e-6)),
            view.evidence(&[&id(HEADER)], Metric::Throughput),
        ));
        claims
    })
}

/// `ela-fig-14`.
pub(crate) fn fig_14(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 14, VIDEO_PACKETS, &[Metric::Goodput], |view| {
        let mut claims = goodput(view, VIDEO_PACKETS);
        let lost = 1.0 - view.mean(&id(HEADER), Metric::Goodput, view.at(1e-4));
        claims.push(Claim::new(
            "ELA-31c",
            "at a BER of 1e-4 the goodput of video packets is high enough for some length of the sensitive section (less than 2 % lost)",
            lost < 0.02,
            format!(
                "with 40 bytes, the fewest, {:.2} % are lost; closed form {:.2} %",
                100.0 * lost,
                100.0 * probability::loss(1e-4, HEADER)
            ),
        ));
        claims
    })
}

/// `ela-fig-15`.
pub(crate) fn fig_15(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 15, VIDEO_PACKETS, &[Metric::Delay], |view| {
        vec![increases(view, "ELA-41a", Metric::Delay)]
    })
}

/// `ela-fig-16`.
pub(crate) fn fig_16(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 16, VIDEO_PACKETS, JITTER, |view| {
        vec![increases(view, "ELA-41b", Metric::Deviation)]
    })
}

/// `ela-fig-17`.
pub(crate) fn fig_17(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let video = Study::measure(
        context,
        &RATES,
        vec![(String::new(), VIDEO_PACKETS.plans())],
    )?;
    figure(context, 17, AUDIO_PACKETS, &[Metric::Throughput], |view| {
        let mut claims = throughput(view, AUDIO_PACKETS);
        let mean = |view: &View, i| view.mean(&id(HEADER), Metric::Throughput, i);
        let shares: Vec<f64> = view
            .all()
            .into_iter()
            .map(|i| mean(view, i) / mean(video.first(), i))
            .collect();
        let listed: Vec<String> = shares.iter().map(|share| short(*share)).collect();
        claims.push(Claim::new(
            "ELA-41e",
            "audio's throughput is significantly less than video's (a quarter at most, at every BER, with 40 sensitive bytes)",
            shares.iter().all(|&share| share <= 0.25),
            format!("audio over video from 1e-3 to 1e-7: {}", listed.join(", ")),
        ));
        claims
    })
}

/// `ela-fig-18`.
pub(crate) fn fig_18(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 18, AUDIO_PACKETS, &[Metric::Goodput], |view| {
        goodput(view, AUDIO_PACKETS)
    })
}

/// `ela-fig-19`.
pub(crate) fn fig_19(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 19, AUDIO_PACKETS, &[Metric::Delay], |view| {
        vec![constant(view, "ELA-41c", Metric::Delay, 0.02)]
    })
}

/// `ela-fig-20`.
pub(crate) fn fig_20(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figure(context, 20, AUDIO_PACKETS, JITTER, |view| {
        let highest = audio_means(view, Metric::Deviation)
            .into_iter()
            .fold(0.0, f64::max);
        vec![Claim::new(
            "ELA-41d",
            "the jitter of audio packets is essentially constant (a standard deviation below 1 ms wherever packets get through)",
            highest < 1.0 && !audio_means(view, Metric::Deviation).is_empty(),
            format!("at most {} ms", short(highest)),
        )]
    })
}

/// Throughput falls as more is sensitive.
fn throughput(view: &View, media: Media) -> Vec<Claim> {
    let mean = |coverage, i| view.mean(&id(coverage), Metric::Throughput, i);
    let places = view.within(1e-6, 1e-3);
    let steps = places.iter().all(|&i| {
        let pairs = media.coverages.windows(2);
        // The grain of `decide`.
        pairs
            .into_iter()
            .all(|pair| mean(pair[1], i) <= 1.02 * mean(pair[0], i) + 0.002)
    });
    let ends = places
        .iter()
        .all(|&i| mean(HEADER, i) > mean(media.size, i));
    let ids = [id(HEADER), id(media.size)];
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    vec![Claim::new(
        "ELA-40a",
        &format!(
            "{}: throughput rises as less is sensitive (from 1e-3 to 1e-6: no step up in coverage gains more than 2 %, the \
             least coverage beats the whole packet)",
            media.name
        ),
        steps && ends,
        view.evidence(&ids, Metric::Throughput),
    )]
}

/// Goodput falls as more is sensitive, and as the closed form says.
fn goodput(view: &View, media: Media) -> Vec<Claim> {
    let mean = |coverage, i| view.mean(&id(coverage), Metric::Goodput, i);
    let steps = view.all().into_iter().all(|i| {
        let pairs = media.coverages.windows(2);
        pairs.into_iter().all(|pair| {
            let (less, more) = (mean(pair[0], i), mean(pair[1], i));
            more.is_nan() || more <= less + 0.005
        })
    });
    let sensitive: Vec<(String, u32)> = media.coverages.iter().map(|&c| (id(c), c)).collect();
    let ids = [id(HEADER), id(media.size)];
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    vec![
        Claim::new(
            "ELA-40c",
            &format!(
                "{}: goodput rises as less is sensitive (no step up in coverage gains more than 0.005)",
                media.name
            ),
            steps,
            view.evidence(&ids, Metric::Goodput),
        ),
        probability::claim(view, &sensitive),
    ]
}

/// The metric is higher at 1e-7 than at 1e-4, for every coverage.
fn increases(view: &View, claim: &str, metric: Metric) -> Claim {
    let mean = |id: &str, ber| view.mean(id, metric, view.at(ber));
    let ids = view.ids();
    let listed: Vec<String> = ids
        .iter()
        .map(|id| {
            format!(
                "{}: {} and {}",
                view.name(id),
                short(mean(id, 1e-4)),
                short(mean(id, 1e-7))
            )
        })
        .collect();
    Claim::new(
        claim,
        &format!(
            "the {} of video packets increases as BER falls (by 5 % at least from 1e-4 to 1e-7, for every coverage)",
            metric.name()
        ),
        ids.iter().all(|id| mean(id, 1e-7) >= 1.05 * mean(id, 1e-4)),
        format!("at 1e-4 and at 1e-7, {}", listed.join("; ")),
    )
}

/// The means of all coverages, wherever packets get through.
fn audio_means(view: &View, metric: Metric) -> Vec<f64> {
    let ids = view.ids();
    ids.iter()
        .flat_map(|id| {
            let places = alive(view, &[id]);
            places.into_iter().map(|i| view.mean(id, metric, i))
        })
        .collect()
}

/// The metric is the same everywhere.
fn constant(view: &View, claim: &str, metric: Metric, share: f64) -> Claim {
    let means = audio_means(view, metric);
    let mean = average(&means);
    let (low, high) = means
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), &m| {
            (low.min(m), high.max(m))
        });
    Claim::new(
        claim,
        &format!(
            "the {} of audio packets is essentially constant (within {} % of its mean wherever packets get through)",
            metric.name(),
            100.0 * share
        ),
        low >= (1.0 - share) * mean && high <= (1.0 + share) * mean,
        format!(
            "{} to {} {} over coverages and BERs from {} to {}",
            short(low),
            short(high),
            metric.unit(),
            place(RATES[0]),
            place(RATES[RATES.len() - 1])
        ),
    )
}
