//! Reads the known reasons for differences from `reasons.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::suite::Suite;

/// The cases that a reason covers. An empty word matches everything.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    suites: Vec<String>,
    #[serde(default)]
    kind: String,
    /// The text that the case's name contains.
    #[serde(default)]
    case: String,
    #[serde(default)]
    metric: String,
    why: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    reason: Vec<Reason>,
}

/// The parsed file. It is empty if the file is invalid, but a test checks the file.
static REASONS: LazyLock<Vec<Reason>> = LazyLock::new(|| read().unwrap_or_default().reason);

fn read() -> Result<File, toml::de::Error> {
    toml::from_str(include_str!("reasons.toml"))
}

/// Returns the known reason why a row (in [`Suite::Traces`], a trace) is not equivalent, if there
/// is one.
pub(crate) fn reason(suite: Suite, kind: &str, case: &str, metric: &str) -> Option<&'static str> {
    let fits = |reason: &&Reason| {
        reason.suites.iter().any(|of| of == suite.id())
            && (reason.kind.is_empty() || reason.kind == kind)
            && case.contains(&reason.case)
            && (reason.metric.is_empty() || reason.metric == metric)
    };
    REASONS.iter().find(fits).map(|reason| reason.why.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_of_suites() {
        let file = read().unwrap_or_else(|error| panic!("{error}"));
        assert!(!file.reason.is_empty());
        for reason in file.reason {
            let known = |of: &String| Suite::ALL.iter().any(|suite| suite.id() == of);
            assert!(
                reason.suites.iter().all(known) && !reason.why.is_empty(),
                "{reason:?}"
            );
        }
    }
}
