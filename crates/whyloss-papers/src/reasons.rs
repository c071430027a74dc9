//! Why what does not reproduce does not, as far as we know: a cause that was looked for and found, with the measurement
//! that showed it, for each cell and claim that fails. `docs/reproduction.md` says more.

/// The experiment; the claim's id, or the cell's row and column; the reason. An entry for a whole experiment has `*`.
const REASONS: &[(&str, &str, &str)] = &[
    (
        "cen-table-1",
        "*",
        "the radio's parameters are not all stated; of two dozen readings the one shown comes nearest, and the most literal loses 74 %",
    ),
    (
        "cen-table-2",
        "throughput, TFRC",
        "TFRC answers loss events, and bursts merge losses into events: with independent losses of the same rate it comes to 86 %",
    ),
    (
        "cen-table-3",
        "throughput, TFRC",
        "bursts merge losses into events: 32 % with independent losses",
    ),
    (
        "cen-table-3",
        "throughput, ZigZag",
        "bursts merge losses into events: 35 % with independent losses; the paper lies between",
    ),
    (
        "cen-table-3",
        "throughput, mBiaz",
        "two states, one of which is a trap until chance frees it: 100 seeds give 78 ± 4",
    ),
    (
        "cen-table-3",
        "Mw, mBiaz",
        "the two states of its throughput",
    ),
    (
        "cen-fig-10",
        "*",
        "received it would be 91 %: the paper's TCP numbers lie nearer to what is received than to what crossed the link",
    ),
];

/// Why a cell (`row, column`) or a claim (its id) of an experiment fails, if the cause is known.
pub(crate) fn reason(experiment: &str, what: &str) -> Option<&'static str> {
    let of = |key: &str| {
        REASONS
            .iter()
            .find(|(id, known, _)| *id == experiment && *known == key)
            .map(|(_, _, why)| *why)
    };
    of(what).or_else(|| of("*"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;

    #[test]
    fn reasons_are_of_experiments_and_given_once() {
        for (index, (id, what, _)) in REASONS.iter().enumerate() {
            assert!(experiment::find(id).is_some(), "{id}");
            let again = |other: &&(&str, &str, &str)| other.0 == *id && other.1 == *what;
            assert_eq!(
                REASONS.iter().filter(again).count(),
                1,
                "{id} {what} {index}"
            );
        }
    }
}
