//! The block interleaver: code bits are written into a rectangle by rows and sent by columns.
//!
//! The rectangle is the smallest nearly square one that holds the block: neither neighbours in the code nor neighbours
//! on the air stay close. Cells beyond the block stay empty and are not sent.

/// The place on the air of each code bit of a block of `len` bits.
pub(super) fn places(len: usize) -> Vec<u32> {
    let columns = (len.isqrt()..)
        .find(|side| side * side >= len)
        .unwrap_or(1)
        .max(1);
    let mut places = vec![0; len];
    let sent = (0..columns).flat_map(|column| (column..len).step_by(columns));
    for (place, bit) in (0..).zip(sent) {
        places[bit] = place;
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_in_columns_out() {
        // 0 1 2
        // 3 4 5
        // 6       is sent as 0 3 6 1 4 2 5.
        assert_eq!(places(7), [0, 3, 5, 1, 4, 6, 2]);
    }

    proptest! {
        #[test]
        fn every_place_once_and_neighbours_far(len in 0_usize..3_000) {
            let places = places(len);
            let mut sorted = places.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.iter().zip(0..).all(|(&place, i)| place == i));
            let rows = len.isqrt() as i64 - 1;
            prop_assert!(places.windows(2).all(|w| (i64::from(w[0]) - i64::from(w[1])).abs() >= rows));
        }
    }
}
