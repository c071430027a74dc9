//! Networks drawn at random, and links whose losses were recorded: criteria with a case for each.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use whyloss_sim::recording::Recording;

use super::criterion::{Against, Case, Column, Criterion, Measure, PATH};
use crate::arena::{self, Network, Transport, Variant};
use crate::report::{self, ReportError};

/// The seed of the drawn networks. It was never used to choose or tune anything.
const SEED: u64 = 20_261_126;
/// The number of recorded links that are replayed, evenly spread over all links.
const LINKS: usize = 204;
/// The highest loss rate of a recorded link that is used; beyond it, no transport works.
const MOST_LOSS: f64 = 0.3;

fn measure(
    name: &str,
    unit: &str,
    of: &str,
    against: Option<Against>,
    column: Option<Column>,
) -> Measure {
    Measure {
        name: name.into(),
        unit: unit.into(),
        of: of.into(),
        against,
        column,
    }
}

fn received() -> Measure {
    measure(
        "received, share of told",
        "",
        "sum(delivered@own) + sum(delivered@judged)",
        Some(Against::Truth),
        Some(Column::Received),
    )
}

/// Returns criteria over networks drawn as in the arena: the packets received, and the harm to a
/// CUBIC flow where no channel loses packets.
pub fn drawn(networks: u64) -> Vec<Criterion> {
    let setting = arena::Setting::default();
    let case = |index: u64, variant: Variant| {
        let network = Network::draw(SEED, index, &setting);
        let text = network
            .scenario(Transport::Cubic, variant)
            .replace("\"130 s\"", "\"70 s\"")
            .replace(
                "controller = \"cubic\"",
                "controller = \"cubic\", recovery = \"rack\"",
            );
        // Keys of a flow would override those of the scheme.
        let own = "controller = \"cubic\", recovery = \"rack\" }
classifier = \"unaware\"";
        let text = text.replace(own, "recovery = \"rack\" }");
        Case {
            name: format!("network {index}"),
            x: None,
            scenario: text,
            file: format!("drawn-{index}.toml"),
            set: toml::Table::new(),
        }
    };
    let criterion = |id: &str, section: &str, title: &str, variant, measures| Criterion {
        id: id.into(),
        section: section.into(),
        title: title.into(),
        axis: String::new(),
        truth: variant == Variant::Drawn,
        carrier: None,
        many: true,
        // In the worst of 40 networks, chance alone takes a third from a flow that delivers little.
        // The harm therefore needs more than one seed.
        once: variant == Variant::Drawn,
        cases: (0..networks).map(|index| case(index, variant)).collect(),
        measures,
        notes: vec![format!(
            "{networks} networks of the arena, drawn with seed {SEED}; `whyloss arena --seed {SEED} --transport cubic --show N` prints one."
        )],
    };
    vec![
        criterion(
            "drawn-harm",
            "5.2.1",
            "Drawn networks without channel losses: harm to a CUBIC flow",
            Variant::BesideClean,
            vec![measure(
                "harm",
                "%",
                "flow.plain.delivered",
                Some(Against::Cubic),
                Some(Column::Harm),
            )],
        ),
        criterion(
            "drawn",
            "6.4",
            "Wireless paths: drawn networks and channels",
            Variant::Drawn,
            vec![
                received(),
                measure(
                    "Jain's index",
                    "",
                    "jain(delivered@judged)",
                    None,
                    Some(Column::Jain),
                ),
            ],
        ),
    ]
}

/// Returns the criterion whose channels replay recorded links, and writes their patterns into
/// `patterns`. Removes no file, because other processes may be reading it. Returns `None` if no
/// link loses more than 0 and at most 30 % of its packets.
///
/// # Errors
/// Returns an error if a pattern cannot be written.
pub fn recorded(recording: &Recording, patterns: &Path) -> Result<Option<Criterion>, ReportError> {
    let links = recording.trials.iter();
    let links = links.filter(|link| link.losses() > 0 && link.loss() <= MOST_LOSS);
    let links: Vec<_> = links.collect();
    let (found, step) = (links.len(), links.len().div_ceil(LINKS).max(1));
    report::prepare(patterns)?;
    let absolute = std::path::absolute(patterns);
    let absolute = absolute.unwrap_or_else(|_| patterns.to_owned());
    let mut cases = Vec::new();
    for (number, link) in links.into_iter().step_by(step).enumerate() {
        let file = format!("link-{}.txt", number + 1);
        let digits = link.lost.iter().map(|lost| if *lost { '1' } else { '0' });
        let text: String = digits.chain(['\n']).collect();
        if !fs::read_to_string(patterns.join(&file)).is_ok_and(|there| there == text) {
            report::write(patterns, &file, &text)?;
        }
        // Round trips alternate between 20, 60 and 200 ms; the buffer is one bandwidth-delay
        // product.
        let one_way = [10, 30, 100][number % 3];
        let mut set = toml::Table::new();
        let mut put = |key: &str, value: toml::Value| set.insert(key.to_owned(), value);
        for link in ["down", "up"] {
            put(
                &format!("link.{link}.delay"),
                format!("{one_way} ms").into(),
            );
        }
        put("link.down.queue.packets", (5 * one_way / 3).into());
        let channel = [
            ("kind", "pattern".to_owned()),
            ("file", absolute.join(file).to_string_lossy().into_owned()),
        ];
        let channel: toml::Table = channel
            .map(|(key, value)| (key.to_owned(), value.into()))
            .into_iter()
            .collect();
        put("link.down.channel", channel.into());
        cases.push(Case {
            name: format!("link {}", number + 1),
            x: None,
            scenario: PATH.to_owned(),
            file: "path.toml".to_owned(),
            set,
        });
    }
    let mut note = String::new();
    let _ = write!(
        note,
        "Channels replay {} of the {found} recorded links that lose at most 30 %. Links have 10 Mbit/s and round trips of 20, 60 or 200 ms.",
        cases.len()
    );
    Ok((!cases.is_empty()).then(|| Criterion {
        id: "recorded".into(),
        section: "6.4".into(),
        title: "Wireless paths: recorded radios".into(),
        axis: String::new(),
        truth: true,
        carrier: None,
        many: true,
        once: true,
        cases,
        measures: vec![Measure {
            column: None,
            ..received()
        }],
        notes: vec![note],
    }))
}
