//! Finds names that two columns share, and settings that a later axis makes ineffective.

use std::collections::BTreeSet;

use crate::axis::Axis;

/// The names of columns that no axis or metric can have.
const FIXED: [&str; 5] = ["point", "seed", "set", "error", "scenario"];

/// Returns the name of a metric's column: the text before `=`.
fn column(metric: &str) -> &str {
    metric.split_once('=').map_or(metric, |of| of.0).trim()
}

/// Returns whether a column has this name, besides those of axes.
pub(super) fn is_taken(metrics: &[String], name: &str) -> bool {
    FIXED.contains(&name) || metrics.iter().any(|metric| column(metric) == name)
}

/// Describes the first metric whose column has no name, or the name of another column.
pub(super) fn complaint<'a>(
    metrics: &[String],
    axes: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let mut names: BTreeSet<&str> = axes.chain(FIXED).collect();
    for metric in metrics {
        let name = column(metric);
        if name.is_empty() {
            return Some(format!("metric {metric:?}: expected a name before `=`"));
        }
        if !names.insert(name) {
            return Some(format!(
                "metric {metric:?}: a column `{name}` is there already"
            ));
        }
    }
    None
}

/// Describes the first setting of an axis that has no effect, because a later one replaces it at
/// every point.
pub(super) fn replaced(axes: &[Axis]) -> Option<String> {
    for (at, axis) in axes.iter().enumerate() {
        let keys = axis.keys();
        for (number, key) in keys.iter().enumerate() {
            if let Some(by) = keys[number + 1..].iter().find(|by| replaces(by, key)) {
                return Some(format!(
                    "axis {:?}: `{key}` has no effect, because `{by}` follows it",
                    axis.name
                ));
            }
        }
        for later in &axes[at + 1..] {
            let always = later.sets_always();
            let found = axis.sets_anywhere().into_iter().find_map(|key| {
                let by = always.iter().find(|by| replaces(by, key))?;
                Some((key, by))
            });
            if let Some((key, by)) = found {
                return Some(format!(
                    "axis {:?}: `{key}` has no effect, because axis {:?} sets `{by}` after it",
                    axis.name, later.name
                ));
            }
        }
    }
    None
}

/// Returns whether a later setting of `by` discards the value of `key`.
fn replaces(by: &str, key: &str) -> bool {
    let rest = key.strip_prefix(by);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
