//! Finds the names that the user may have meant by a misspelt one.

/// The minimum similarity of a proposed name, from 0 (nothing in common) to 1 (equal).
const ALIKE: f64 = 0.5;
/// The maximum number of proposed names.
const MOST: usize = 3;

/// Returns the names most similar to `name`, the most similar first.
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
    // The sort is stable, so equally similar names keep their order.
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
