//! The names that a misspelt one may have meant.

/// How alike two names must be (1: equal, 0: nothing in common) to be worth naming.
const ALIKE: f64 = 0.5;
/// More than this many are no help.
const MOST: usize = 3;

/// The names most like `name`, the likest first.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let name = name.to_lowercase();
    let mut alike: Vec<(f64, &str)> = names
        .into_iter()
        .map(|candidate| {
            let candidate_name = candidate.to_lowercase();
            let likeness = strsim::normalized_damerau_levenshtein(&name, &candidate_name);
            (likeness, candidate)
        })
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    // Stable: equally alike names keep their order.
    alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    alike
        .into_iter()
        .take(MOST)
        .map(|(_, name)| name.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_name() {
        let names = ["cen-table-2", "cen-table-3", "cen-fig-9", "mil-fig-1"];
        assert_eq!(nearest("cen-tabel-2", names)[0], "cen-table-2");
        assert_eq!(nearest("CEN-Fig-9", names)[0], "cen-fig-9");
        assert_eq!(nearest("cen-table-22", names)[0], "cen-table-2");
        assert!(nearest("westwood", names).is_empty());
    }
}
