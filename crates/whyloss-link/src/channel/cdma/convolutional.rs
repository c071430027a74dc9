//! Rate-1/2 convolutional codes and their soft-decision Viterbi decoder.
//!
//! Generators are the best known by free distance for each memory (J. G. Proakis, *Digital Communications*, table
//! 8.2-1); those of memory 4 and 6 are also the rate-1/2 members of Hagenauer's rate-compatible families (IEEE Trans.
//! Commun. 36, 1988), that of memory 8 the code of IS-95 and cdma2000. A block starts in state 0 and ends there after
//! `memory` zero bits of tail.
//!
//! The decoder is made for speed in plain Rust: 8-bit path metrics, one array pass per bit that compilers vectorise. A
//! state is the last `memory` bits, the newest lowest, so states j and j + S/2 lead to 2j and 2j + 1; since both
//! generators have both end taps, the four branches of such a butterfly carry one pair of code bits and its complement.
//! Metrics count the soft values of the code bits that a path contradicts. Any state can be reached from any other in
//! `memory` steps, so two metrics differ by at most `2·memory·soft_max`; with `2·(memory + 2)·soft_max < 255` nothing
//! saturates but paths from a wrong start, which lie beyond that difference anyway, and decoding is exact.

/// A rate-1/2 code; `HALF` is half its number of states.
#[derive(Clone, Debug)]
pub(super) struct Code<const HALF: usize> {
    memory: usize,
    /// Per butterfly j, `[0xff; 2]` or 0 for each code bit of the branch from state j with input 0.
    outputs: [[u8; HALF]; 2],
    /// Both code bits (as 0..4) for each register content, the newest bit lowest.
    encoder: Vec<u8>,
}

impl<const HALF: usize> Code<HALF> {
    /// The code with these generators, written as usual: the highest bit is the current input's tap.
    pub(super) fn new(generators: [u32; 2]) -> Self {
        let memory = HALF.ilog2() as usize + 1;
        // Our register has the newest bit lowest.
        let taps = generators.map(|g| g.reverse_bits() >> (31 - memory));
        let bits = |register: u32| taps.map(|taps| ((register & taps).count_ones() & 1) as u8);
        let encoder = (0..4 * HALF as u32).map(|register| {
            let [first, second] = bits(register);
            first | second << 1
        });
        let output = |which: usize| core::array::from_fn(|j| 0xff * bits(2 * j as u32)[which]);
        Self {
            memory,
            outputs: [output(0), output(1)],
            encoder: encoder.collect(),
        }
    }

    /// Tail bits per block.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// The largest soft value, in absolute terms, that the decoder takes.
    pub(super) fn soft_max(&self) -> i8 {
        (254 / (2 * (self.memory + 2))) as i8
    }

    /// The code bits of `info` and its tail, two per bit.
    pub(super) fn encode(&self, info: &[bool]) -> Vec<bool> {
        let mut register = 0;
        let tail = core::iter::repeat_n(&false, self.memory);
        let pairs = info.iter().chain(tail).flat_map(|&bit| {
            register = (register << 1 | usize::from(bit)) & (4 * HALF - 1);
            let pair = self.encoder[register];
            [pair & 1 != 0, pair & 2 != 0]
        });
        pairs.collect()
    }

    /// Whether a block is certain to be decoded rightly, whatever it carries: `soft` are its soft values, positive where
    /// they favour the bit that was sent.
    ///
    /// The code is linear and the channel symmetric, so we may think of the all-zero block. It survives if at no time
    /// another path into state 0 is as good as the one that never left it. Costs no decisions and no trace back.
    pub(super) fn survives(&self, soft: &[i8]) -> bool {
        let mut paths = Paths::new(self);
        for pair in soft.chunks_exact(2) {
            let branch = Branch::new([pair[0], pair[1]]);
            let [stay, merge] = paths.into_zero(self, &branch);
            if merge <= stay {
                return false;
            }
            paths.step(self, &branch, |_, _, _| ());
        }
        true
    }

    /// The most likely information bits; `soft` are positive where they favour a zero.
    pub(super) fn decode(&self, soft: &[i8]) -> Vec<bool> {
        let mut paths = Paths::new(self);
        let mut decisions: Vec<[[u8; HALF]; 2]> = Vec::with_capacity(soft.len() / 2);
        for pair in soft.chunks_exact(2) {
            let branch = Branch::new([pair[0], pair[1]]);
            let mut from_high = [[0; HALF]; 2];
            paths.step(self, &branch, |bit, j, high| {
                from_high[bit][j] = high;
            });
            decisions.push(from_high);
        }
        let mut state = 0;
        let mut info: Vec<bool> = decisions
            .iter()
            .rev()
            .map(|from_high| {
                let bit = state & 1;
                state = state / 2 + HALF * usize::from(from_high[bit][state / 2]);
                bit != 0
            })
            .collect();
        info.reverse();
        info.truncate((soft.len() / 2).saturating_sub(self.memory));
        info
    }
}

/// The cost of each value of a pair of code bits.
struct Branch {
    zero: [u8; 2],
    one: [u8; 2],
}

impl Branch {
    #[inline]
    fn new(soft: [i8; 2]) -> Self {
        Self {
            zero: soft.map(|soft| (-soft).max(0) as u8),
            one: soft.map(|soft| soft.max(0) as u8),
        }
    }

    /// What any branch and its complement cost together.
    #[inline]
    fn total(&self) -> u8 {
        self.zero[0] + self.zero[1] + self.one[0] + self.one[1]
    }

    /// What the branch with these output masks costs.
    #[inline]
    fn cost(&self, outputs: [u8; 2]) -> u8 {
        let bit = |i: usize| self.zero[i] ^ (outputs[i] & (self.zero[i] ^ self.one[i]));
        bit(0) + bit(1)
    }
}

/// The metrics of the best paths into all states: those below HALF, then the others.
struct Paths<const HALF: usize> {
    low: [u8; HALF],
    high: [u8; HALF],
    /// Above this the smallest metric is subtracted from all.
    threshold: u8,
}

impl<const HALF: usize> Paths<HALF> {
    fn new(code: &Code<HALF>) -> Self {
        // More than any path from state 0 can cost when it first gets elsewhere.
        let reach = 2 * code.memory as u8 * code.soft_max() as u8 + 1;
        let mut low = [reach; HALF];
        low[0] = 0;
        Self {
            low,
            high: [reach; HALF],
            threshold: 255 - reach - 2 * code.soft_max() as u8,
        }
    }

    /// The metrics into state 0, from state 0 and from the other state that leads there.
    #[inline]
    fn into_zero(&self, code: &Code<HALF>, branch: &Branch) -> [u8; 2] {
        let cost = branch.cost([code.outputs[0][0], code.outputs[1][0]]);
        [
            self.low[0].saturating_add(cost),
            self.high[0].saturating_add(branch.total() - cost),
        ]
    }

    /// Extends all paths by one bit and tells `decide` for each (bit, j) whether the better path into state 2j + bit
    /// came from state j + HALF (1) or from j (0, also if they are as good).
    #[inline(always)]
    fn step(
        &mut self,
        code: &Code<HALF>,
        branch: &Branch,
        mut decide: impl FnMut(usize, usize, u8),
    ) {
        let total = branch.total();
        let mut next = [[0_u8; HALF]; 2];
        for j in 0..HALF {
            let cost = branch.cost([code.outputs[0][j], code.outputs[1][j]]);
            let complement = total - cost;
            let (low, high) = (self.low[j], self.high[j]);
            let (a, b) = (low.saturating_add(cost), high.saturating_add(complement));
            next[0][j] = a.min(b);
            decide(0, j, u8::from(b < a));
            let (a, b) = (low.saturating_add(complement), high.saturating_add(cost));
            next[1][j] = a.min(b);
            decide(1, j, u8::from(b < a));
        }
        let [zeros, ones] = next;
        for k in 0..HALF / 2 {
            self.low[2 * k] = zeros[k];
            self.low[2 * k + 1] = ones[k];
            self.high[2 * k] = zeros[HALF / 2 + k];
            self.high[2 * k + 1] = ones[HALF / 2 + k];
        }
        if self.low[0] > self.threshold {
            self.renormalise();
        }
    }

    #[cold]
    fn renormalise(&mut self) {
        let all = || self.low.iter().chain(&self.high);
        let least = all().copied().min().unwrap_or(0);
        for metric in self.low.iter_mut().chain(&mut self.high) {
            *metric -= least;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The cost of sending `info`: the soft values that its code bits contradict.
    fn cost<const HALF: usize>(code: &Code<HALF>, info: &[bool], soft: &[i8]) -> i32 {
        let bits = code.encode(info);
        let against = bits
            .iter()
            .zip(soft)
            .filter(|(bit, soft)| **bit == (**soft > 0));
        against.map(|(_, soft)| i32::from(soft.abs())).sum()
    }

    /// The lowest cost of any block, and how many blocks have it, by trying them all.
    fn by_force<const HALF: usize>(code: &Code<HALF>, soft: &[i8]) -> (i32, usize) {
        let len = soft.len() / 2 - code.memory;
        let costs = (0..1_u32 << len).map(|word| {
            let info: Vec<bool> = (0..len).map(|i| word >> i & 1 != 0).collect();
            cost(code, &info, soft)
        });
        costs.fold((i32::MAX, 0), |(best, ways), cost| match cost.cmp(&best) {
            core::cmp::Ordering::Less => (cost, 1),
            core::cmp::Ordering::Equal => (best, ways + 1),
            core::cmp::Ordering::Greater => (best, ways),
        })
    }

    /// A decoder as in a textbook: one integer per state, whole paths, no tricks.
    fn textbook<const HALF: usize>(code: &Code<HALF>, soft: &[i8]) -> i32 {
        let mut metrics = vec![i32::MAX / 2; 2 * HALF];
        metrics[0] = 0;
        for pair in soft.chunks_exact(2) {
            let mut next = vec![i32::MAX; 2 * HALF];
            for (state, metric) in metrics.iter().enumerate() {
                for bit in 0..2 {
                    let register = (state << 1 | bit) & (4 * HALF - 1);
                    let output = code.encoder[register];
                    let cost: i32 = (0..2)
                        .filter(|i| (output >> i & 1 == 1) == (pair[*i as usize] > 0))
                        .map(|i| i32::from(pair[i as usize].abs()))
                        .sum();
                    let to = register & (2 * HALF - 1);
                    next[to] = next[to].min(metric + cost);
                }
            }
            metrics = next;
        }
        metrics[0]
    }

    /// The smallest number of ones in a block that is not all zero.
    fn free_distance<const HALF: usize>(code: &Code<HALF>) -> usize {
        let blocks = (1..1_u32 << 12).map(|word| {
            let info: Vec<bool> = (0..12).map(|i| word >> i & 1 != 0).collect();
            code.encode(&info).iter().filter(|&&bit| bit).count()
        });
        blocks.min().unwrap()
    }

    #[test]
    fn the_codes_have_their_free_distance() {
        assert_eq!(free_distance(&Code::<8>::new([0o23, 0o35])), 7);
        assert_eq!(free_distance(&Code::<32>::new([0o133, 0o171])), 10);
        assert_eq!(free_distance(&Code::<128>::new([0o561, 0o753])), 12);
    }

    #[test]
    fn the_impulse_response_is_the_generators() {
        let code = Code::<8>::new([0o23, 0o35]);
        let bits = code.encode(&[true]);
        let stream = |i: usize| {
            bits.iter()
                .skip(i)
                .step_by(2)
                .map(|&b| u8::from(b))
                .collect()
        };
        let (first, second): (Vec<u8>, Vec<u8>) = (stream(0), stream(1));
        assert_eq!(first, [1, 0, 0, 1, 1]);
        assert_eq!(second, [1, 1, 1, 0, 1]);
    }

    fn check_block<const HALF: usize>(code: &Code<HALF>, soft: &[i8]) -> Result<(), TestCaseError> {
        let decoded = code.decode(soft);
        prop_assert_eq!(cost(code, &decoded, soft), textbook(code, soft));
        Ok(())
    }

    proptest! {
        #[test]
        fn decoding_is_maximum_likelihood(
            soft in proptest::collection::vec(-21_i8..=21, 2 * (10 + 4)),
        ) {
            let code = Code::<8>::new([0o23, 0o35]);
            let decoded = code.decode(&soft);
            prop_assert_eq!(cost(&code, &decoded, &soft), by_force(&code, &soft).0);
        }

        #[test]
        fn fast_equals_textbook(soft in proptest::collection::vec(any::<i8>(), 2 * 150)) {
            let clamp = |max: i8| -> Vec<i8> { soft.iter().map(|s| (*s).clamp(-max, max)).collect() };
            let four = Code::<8>::new([0o23, 0o35]);
            check_block(&four, &clamp(four.soft_max()))?;
            let six = Code::<32>::new([0o133, 0o171]);
            check_block(&six, &clamp(six.soft_max()))?;
            let eight = Code::<128>::new([0o561, 0o753]);
            check_block(&eight, &clamp(eight.soft_max()))?;
        }

        #[test]
        fn a_survivor_is_decoded_whatever_it_carries(
            info in proptest::collection::vec(any::<bool>(), 60),
            noise in proptest::collection::vec(-10_i8..=15, 2 * 66),
        ) {
            let code = Code::<32>::new([0o133, 0o171]);
            let sent = code.encode(&info);
            let soft: Vec<i8> = sent.iter().zip(&noise).map(|(&one, &n)| if one { -n } else { n }).collect();
            let right = code.decode(&soft) == info;
            if code.survives(&noise) {
                prop_assert!(right);
            } else if right {
                // It was beaten or tied somewhere on the way, or won a tie at the end.
                prop_assert!(cost(&code, &info, &soft) == textbook(&code, &soft));
            }
        }

        #[test]
        fn without_noise_decoding_is_exact(
            info in proptest::collection::vec(any::<bool>(), 1..200), amplitude in 1_i8..=15,
        ) {
            let code = Code::<32>::new([0o133, 0o171]);
            let sent = code.encode(&info);
            let soft: Vec<i8> = sent.iter().map(|&one| if one { -amplitude } else { amplitude }).collect();
            prop_assert_eq!(code.decode(&soft), info);
            prop_assert!(code.survives(&vec![amplitude; soft.len()]));
        }
    }
}
