//! Divides the runs of sweeps among processes that share a directory.

use std::str::FromStr;

use super::Key;

/// The maximum number of shares.
const MOST: u32 = 10_000;

/// One of several equal shares of all runs, such as `2/8`.
///
/// The key of a run decides its share. A run that several sweeps need therefore has one share, and
/// finished runs do not move the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of the share, from 1.
    number: u32,
    of: u32,
}

impl Share {
    /// Returns whether the share has the run with this key.
    pub(super) fn has(self, key: Key) -> bool {
        key % Key::from(self.of) == Key::from(self.number - 1)
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/');
        let share = numbers.and_then(|(number, of)| {
            let (number, of) = (number.parse().ok()?, of.parse().ok()?);
            let share = Self { number, of };
            ((1..=of).contains(&number) && of <= MOST).then_some(share)
        });
        share.ok_or_else(|| format!("expected a number and a count up to {MOST}, such as 2/8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_one_share() {
        let shares = ["1/3", "2/3", "3/3"].map(|text| text.parse::<Share>().expect("a share"));
        for key in [0, 1, 2, 3, u128::MAX] {
            assert_eq!(shares.iter().filter(|share| share.has(key)).count(), 1);
        }
        assert!("1/1".parse::<Share>().is_ok_and(|all| all.has(7)));
        for wrong in [
            "", "2", "0/8", "9/8", "1/0", "1/10001", "-1/8", "1/8/8", "a/8",
        ] {
            assert!(wrong.parse::<Share>().is_err(), "{wrong}");
        }
    }
}
