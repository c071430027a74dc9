//! Turns received sequence numbers into a trial. Holes are losses, numbers of 16 or 32 bits may
//! wrap, and late packets and copies are counted.

use super::Trial;

/// The longest hole in packets that counts as losses.
pub(super) const LONGEST_HOLE: u64 = 10_000;
/// The largest step back of a packet that is late, or comes twice.
const LATEST: u64 = 1_000;

/// A trial under construction from the numbers that arrived.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    trial: Trial,
    /// The first number, and the last one as in the table.
    first: u64,
    raw: Option<u64>,
    /// The highest number, wraps included.
    highest: u64,
    /// The offset that wraps add to numbers.
    base: u64,
    pub(super) copies: u64,
    pub(super) late: u64,
    pub(super) wraps: u64,
}

impl Numbers {
    /// Adds the number and the time of an arrival.
    pub(super) fn push(&mut self, raw: u64, time: Option<i64>) -> Result<(), String> {
        let Some(last) = self.raw else {
            (self.first, self.highest, self.raw) = (raw, raw, Some(raw));
            self.trial.lost.push(false);
            self.trial.times.extend(time);
            return Ok(());
        };
        let modulus = if last.max(raw) < 1 << 16 {
            1 << 16
        } else {
            1 << 32
        };
        let half = modulus / 2;
        let number = if last > raw && last - raw > half && last < modulus {
            self.base += modulus;
            self.wraps += 1;
            raw + self.base
        } else if raw > last && raw - last > half && self.base >= modulus {
            // A late packet from before the wrap.
            raw + self.base - modulus
        } else {
            raw + self.base
        };
        if number <= self.highest {
            let back = self.highest - number;
            if back > LATEST {
                return Err(format!(
                    "the numbers fall from {last} to {raw}; a step back of more than {LATEST} packets begins a new recording, or \
                     a counter of few bits wraps: part the table there by a column `trial`"
                ));
            }
            self.fill(number);
            return Ok(());
        }
        let hole = number - self.highest - 1;
        if hole > LONGEST_HOLE {
            return Err(format!(
                "the numbers jump from {last} to {raw}; a hole of more than {LONGEST_HOLE} packets is an interruption: \
                 part the table there by a column `trial`"
            ));
        }
        if let (Some(time), Some(&before)) = (time, self.trial.times.last()) {
            if time < before {
                return Err(format!(
                    "the time goes back by {} ns; expected rows in order of arrival",
                    before - time
                ));
            }
            let step = (time - before) / (hole as i64 + 1);
            let times = (1..=hole as i64).map(|index| before + index * step);
            self.trial.times.extend(times.chain([time]));
        }
        self.trial.lost.extend((0..hole).map(|_| true));
        self.trial.lost.push(false);
        (self.raw, self.highest) = (Some(raw), number);
        Ok(())
    }

    /// Corrects the trial for a packet that arrives late or twice.
    fn fill(&mut self, number: u64) {
        let place = number.checked_sub(self.first);
        // A number before the first left before the recording began.
        let is_late =
            place.is_none_or(|place| std::mem::take(&mut self.trial.lost[place as usize]));
        *if is_late {
            &mut self.late
        } else {
            &mut self.copies
        } += 1;
    }

    pub(super) fn len(&self) -> usize {
        self.trial.lost.len()
    }

    /// Returns the finished trial and begins another.
    pub(super) fn take(&mut self) -> Trial {
        let (copies, late, wraps) = (self.copies, self.late, self.wraps);
        let done = std::mem::take(self);
        (self.copies, self.late, self.wraps) = (copies, late, wraps);
        done.trial
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(numbers: &[u64]) -> (String, [u64; 3]) {
        let mut all = Numbers::default();
        for &number in numbers {
            all.push(number, None).expect("a number");
        }
        let counts = [all.copies, all.late, all.wraps];
        let trial = all.take();
        let digit = |&lost: &bool| if lost { '1' } else { '0' };
        (trial.lost.iter().map(digit).collect(), counts)
    }

    #[test]
    fn holes_are_losses_and_copies_are_none() {
        assert_eq!(
            lost(&[1000, 1001, 1003, 1003, 1004]),
            ("00100".into(), [1, 0, 0])
        );
        assert_eq!(lost(&[7, 9, 8, 10]), ("0000".into(), [0, 1, 0]));
        assert_eq!(lost(&[7, 5, 8]), ("00".into(), [0, 1, 0]));
    }

    #[test]
    fn numbers_wrap_at_16_and_32_bits() {
        assert_eq!(lost(&[65_534, 0, 1]), ("0100".into(), [0, 0, 1]));
        // The last packet before the wrap is late.
        assert_eq!(lost(&[65_534, 0, 65_535, 1]), ("0000".into(), [0, 1, 1]));
        assert_eq!(lost(&[u64::from(u32::MAX), 1]), ("010".into(), [0, 0, 1]));
    }

    #[test]
    fn an_interruption_is_no_loss() {
        let mut all = Numbers::default();
        all.push(1, None).expect("a number");
        let error = all.push(20_002, None).unwrap_err();
        assert!(error.contains("jump from 1 to 20002"), "{error}");
    }

    #[test]
    fn a_new_recording_is_no_late_packet() {
        let mut all = Numbers::default();
        for number in 0..2_000 {
            all.push(number, None).expect("a number");
        }
        all.push(1_000, None).expect("a late packet");
        let error = all.push(0, None).unwrap_err();
        assert!(error.contains("fall from 1999 to 0"), "{error}");
    }

    #[test]
    fn lost_packets_have_times_between_their_neighbours() {
        let mut all = Numbers::default();
        all.push(1, Some(100)).expect("a number");
        all.push(4, Some(400)).expect("a number");
        assert_eq!(all.take().times, [100, 200, 300, 400]);
    }
}
