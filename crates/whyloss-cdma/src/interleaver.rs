//! The block interleaver: code bits are written into a rectangle by rows and sent by columns.
//!
//! Neighbours in the code are sent as far apart as the rectangle has rows. Cells beyond the block
//! stay empty and are not sent.

/// Returns the number of columns of the smallest square that holds `len` bits. In a square,
/// neighbours in the code are far apart on the air, and vice versa.
pub(super) fn square(len: usize) -> usize {
    let side = len.isqrt();
    if side * side < len { side + 1 } else { side }
}

/// Returns the position on the air of each code bit of a block of `len` bits, in a rectangle of
/// `columns` columns (at least 1).
pub(super) fn places(len: usize, columns: usize) -> Vec<u32> {
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
        assert_eq!(places(7, square(7)), [0, 3, 5, 1, 4, 6, 2]);
    }

    proptest! {
        #[test]
        fn every_place_once_and_neighbours_far(len in 0_usize..3_000, columns in 3_usize..100) {
            let places = places(len, columns);
            let mut sorted = places.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.iter().zip(0..).all(|(&place, i)| place == i));
            let rows = (len / columns) as i64;
            prop_assert!(places.windows(2).all(|w| (i64::from(w[0]) - i64::from(w[1])).abs() >= rows));
        }
    }
}
