//! For any file and override, the parser returns a scenario that passes its checks, or an error at
//! an existing position.

use proptest::prelude::*;
use whyloss_sim::scenario::{Location, ScenarioFile};

const EXAMPLES: [&str; 6] = [
    include_str!("../../../../scenarios/wlh.toml"),
    include_str!("../../../../scenarios/two-hop.toml"),
    include_str!("../../../../scenarios/dumbbell.toml"),
    include_str!("../../../../scenarios/iftp.toml"),
    include_str!("../../../../scenarios/parking-lot.toml"),
    include_str!("../../../../scenarios/media.toml"),
];

/// Pieces that pass the first checks more often than random characters.
const PIECES: [&str; 24] = [
    "",
    "0",
    "-1",
    "nan",
    "inf",
    "1e300",
    "99999999999999999999",
    "\"\"",
    "\"{i}\"",
    "\"0 ms\"",
    "\"99999999999 s\"",
    "\"-1 kbit/s\"",
    "\"é\"",
    "[]",
    "{}",
    "{ kind = \"none\" }",
    "{ name = \"zbs2\", upper = 0 }",
    "[[link]]",
    "[flow]",
    "1979-05-27",
    "true",
    "\n",
    "\u{1b}[2J",
    "count = 10000\n",
];

fn holds(text: &str, overrides: &[(String, String)]) -> Result<(), TestCaseError> {
    match ScenarioFile::parse(text, "property.toml", overrides) {
        Ok(file) => {
            prop_assert!(file.scenario.check().is_ok());
            prop_assert!(file.seeds > 0);
        }
        Err(error) => {
            let shown = error.to_string();
            prop_assert!(
                !shown.chars().any(|c| c.is_control() && c != '\n'),
                "{shown:?}"
            );
            prop_assert!(shown.len() < 4_000, "{shown}");
            match error.location {
                Location::File { line, column, .. } => {
                    let lines: Vec<&str> = text.split('\n').collect();
                    prop_assert!(line <= lines.len());
                    prop_assert!(column <= lines[line - 1].chars().count() + 1);
                }
                Location::Override { index } => prop_assert!(index < overrides.len()),
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text(text in any::<String>()) {
        holds(&text, &[])?;
    }

    #[test]
    fn any_toml_like_text(text in "([\\[\\]{}=\",.#\\-0-9a-z_ \n]|link|flow|\"\"\"){0,80}") {
        holds(&text, &[])?;
    }

    #[test]
    fn spoilt_examples(
        example in 0..EXAMPLES.len(),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..40, 0..PIECES.len()), 1..4),
    ) {
        let mut text = EXAMPLES[example].to_owned();
        for (place, length, piece) in cuts {
            let start = text.floor_char_boundary(place.index(text.len() + 1));
            let end = text.floor_char_boundary((start + length).min(text.len()));
            text.replace_range(start..end.max(start), PIECES[piece]);
        }
        holds(&text, &[])?;
    }

    #[test]
    fn any_override(
        example in 0..EXAMPLES.len(),
        keys in proptest::collection::vec(
            "((link|flow|seeds|duration|rate|channel|classifier|transport|kind|name|count|shared|video|last|[0-9]|\\[0\\]|é|\u{1b})\\.?){0,4}",
            1..4,
        ),
        piece in 0..PIECES.len(),
    ) {
        let overrides: Vec<_> = keys
            .into_iter()
            .map(|key| (key.trim_end_matches('.').to_owned(), PIECES[piece].to_owned()))
            .collect();
        holds(EXAMPLES[example], &overrides)?;
    }
}
