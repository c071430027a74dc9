//! Rate-1/2 convolutional codes and their soft-decision Viterbi decoder.
//!
//! Generators are the best known by free distance for each memory (J. G. Proakis, *Digital
//! Communications*, table 8.2-1). Those of memory 4 and 6 are also the rate-1/2 members of
//! Hagenauer's rate-compatible families (IEEE Trans. Commun. 36, 1988). IS-95 and cdma2000 use the
//! code of memory 8. A block starts in state 0 and ends there after `memory` zero bits of tail.
//!
//! For speed, the decoder works on 16 blocks at a time, one per lane. Path metrics have 8 bits, and
//! each operation covers a row of lanes. A state is the last `memory` bits, the newest lowest, so
//! states j and j + S/2 lead to 2j and 2j + 1. Both generators have both end taps, so the four
//! branches of such a butterfly carry one pair of code bits and its complement. Metrics count the
//! soft values of the code bits that a path contradicts. Any state can be reached from any other in
//! `memory` steps, so two metrics differ by at most `2·memory·soft_max`. With `2·(memory +
//! 2)·soft_max < 255`, only paths from a wrong start saturate. These are beyond that difference in
//! any case, so decoding is exact.

/// The number of blocks that are decoded at a time.
pub(super) const LANES: usize = 16;

/// One number for each block.
type Row<T> = [T; LANES];

/// A rate-1/2 code.
#[derive(Clone, Debug)]
pub(super) struct Code {
    memory: usize,
    /// Both code bits, as 0..4, for each content of the register; the newest bit is the lowest.
    outputs: Vec<u8>,
    /// The code bits on the branch from each state j < S/2 with input 0, which fills the register
    /// with 2j.
    butterflies: Vec<u8>,
}

impl Code {
    /// Returns the code with these generators, written as usual: the highest bit, set in both, is
    /// the current input's tap.
    pub(super) fn new(generators: [u32; 2]) -> Self {
        let memory = generators[0].max(1).ilog2() as usize;
        // The register here has the newest bit lowest.
        let taps = generators.map(|g| g.reverse_bits() >> (31 - memory));
        let output = |register: u32| {
            let [first, second] = taps.map(|taps| ((register & taps).count_ones() & 1) as u8);
            first | second << 1
        };
        Self {
            memory,
            outputs: (0..2 << memory).map(output).collect(),
            butterflies: (0..1 << memory).step_by(2).map(output).collect(),
        }
    }

    /// Returns the number of tail bits per block.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// Returns the largest soft value, in absolute terms, that the decoder takes.
    pub(super) fn soft_max(&self) -> i8 {
        (254 / (2 * (self.memory + 2))) as i8
    }

    /// Returns the code bits of `info` and its tail, two per bit.
    pub(super) fn encode(&self, info: &[bool]) -> Vec<bool> {
        let mut register = 0;
        let tail = core::iter::repeat_n(&false, self.memory);
        let pairs = info.iter().chain(tail).flat_map(|&bit| {
            register = (register << 1 | usize::from(bit)) % self.outputs.len();
            let pair = self.outputs[register];
            [pair & 1 != 0, pair & 2 != 0]
        });
        pairs.collect()
    }

    /// Returns which blocks are certain to be decoded correctly, whatever they carry. `soft` holds
    /// their soft values, two rows per bit, positive where they favour the bit that was sent.
    ///
    /// The code is linear and the channel symmetric, so the all-zero block represents all blocks.
    /// It survives if no other path into state 0 is ever as good as the path that never left it.
    /// The check needs no decisions and no trace back.
    pub(super) fn survivors(&self, soft: &[Row<i8>]) -> Row<bool> {
        let mut paths = Paths::new(self);
        let mut beaten = [0_u8; LANES];
        for pair in soft.chunks_exact(2) {
            paths.step(self, &[pair[0], pair[1]], |state, [low, high]| {
                if state == 0 {
                    for i in 0..LANES {
                        beaten[i] |= u8::from(high[i] <= low[i]);
                    }
                }
            });
        }
        beaten.map(|beaten| beaten == 0)
    }

    /// Returns the most likely information bits of each block; `soft` has two rows per bit,
    /// positive where they favour a zero.
    pub(super) fn decode(&self, soft: &[Row<i8>]) -> Row<Vec<bool>> {
        let states = 1 << self.memory;
        let steps = soft.len() / 2;
        let mut paths = Paths::new(self);
        // For each step and state, whether its best path came from the state in the higher half.
        let mut from_high = vec![[0_u8; LANES]; steps * states];
        for (pair, from_high) in soft.chunks_exact(2).zip(from_high.chunks_exact_mut(states)) {
            paths.step(self, &[pair[0], pair[1]], |state, [low, high]| {
                let row = &mut from_high[state];
                for i in 0..LANES {
                    row[i] = u8::from(high[i] < low[i]);
                }
            });
        }
        core::array::from_fn(|lane| {
            let mut state = 0;
            let mut info = vec![false; steps];
            for (bit, from_high) in info.iter_mut().zip(from_high.chunks_exact(states)).rev() {
                *bit = state & 1 != 0;
                state = state / 2 + states / 2 * usize::from(from_high[state][lane]);
            }
            info.truncate(steps.saturating_sub(self.memory));
            info
        })
    }
}

/// The metrics of the best paths into all states.
struct Paths {
    metrics: Vec<Row<u8>>,
    next: Vec<Row<u8>>,
    /// When the metric of state 0 exceeds this, the smallest metric is subtracted from all.
    threshold: u8,
}

impl Paths {
    fn new(code: &Code) -> Self {
        // Exceeds the largest difference of two metrics, so paths from other start states lose.
        let reach = 2 * code.memory as u8 * code.soft_max() as u8 + 1;
        let mut metrics = vec![[reach; LANES]; 1 << code.memory];
        metrics[0] = [0; LANES];
        Self {
            next: metrics.clone(),
            metrics,
            threshold: 255 - reach - 2 * code.soft_max() as u8,
        }
    }

    /// Extends all paths by one bit. Passes the metrics of each state's two best paths to `decide`:
    /// the path from the lower half of the states and the one from the higher half. A tie goes to
    /// the lower half.
    #[inline]
    fn step(
        &mut self,
        code: &Code,
        soft: &[Row<i8>; 2],
        mut decide: impl FnMut(usize, [Row<u8>; 2]),
    ) {
        let costs = pair_costs(soft);
        let (low, high) = self.metrics.split_at(self.metrics.len() / 2);
        let butterflies = self.next.chunks_exact_mut(2).zip(low.iter().zip(high));
        for ((j, (next, (&low, &high))), &output) in butterflies.enumerate().zip(&code.butterflies)
        {
            let cost = costs[usize::from(output & 3)];
            let complement = costs[usize::from(!output & 3)];
            let zero = [add(low, cost), add(high, complement)];
            let one = [add(low, complement), add(high, cost)];
            next[0] = min(zero);
            next[1] = min(one);
            decide(2 * j, zero);
            decide(2 * j + 1, one);
        }
        core::mem::swap(&mut self.metrics, &mut self.next);
        if self.metrics[0]
            .iter()
            .fold(0, |most, &metric| metric.max(most))
            > self.threshold
        {
            self.renormalise();
        }
    }

    fn renormalise(&mut self) {
        let mut least = [u8::MAX; LANES];
        for row in &self.metrics {
            for i in 0..LANES {
                least[i] = least[i].min(row[i]);
            }
        }
        for row in &mut self.metrics {
            for i in 0..LANES {
                row[i] -= least[i];
            }
        }
    }
}

// Rows are passed by value, so that the compiler can rely on their not overlapping.

#[inline]
fn add(a: Row<u8>, b: Row<u8>) -> Row<u8> {
    let mut sum = [0; LANES];
    for i in 0..LANES {
        sum[i] = a[i].saturating_add(b[i]);
    }
    sum
}

#[inline]
fn min([a, b]: [Row<u8>; 2]) -> Row<u8> {
    let mut least = [0; LANES];
    for i in 0..LANES {
        least[i] = a[i].min(b[i]);
    }
    least
}

/// Returns the cost of each pair of code bits, the first bit lowest.
#[inline]
fn pair_costs(soft: &[Row<i8>; 2]) -> [Row<u8>; 4] {
    let mut costs = [[0; LANES]; 4];
    for i in 0..LANES {
        let [first, second] = [soft[0][i], soft[1][i]];
        let zero = [(-first).max(0) as u8, (-second).max(0) as u8];
        let one = [first.max(0) as u8, second.max(0) as u8];
        costs[0][i] = zero[0] + zero[1];
        costs[1][i] = one[0] + zero[1];
        costs[2][i] = zero[0] + one[1];
        costs[3][i] = one[0] + one[1];
    }
    costs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns rows with the block in one lane and noise in the others.
    fn rows(soft: &[i8], lane: usize) -> Vec<Row<i8>> {
        let row = |(i, &soft): (usize, &i8)| {
            let mut row: Row<i8> = core::array::from_fn(|j| ((i * 7 + j * 5) % 19) as i8 - 9);
            row[lane] = soft;
            row
        };
        soft.iter().enumerate().map(row).collect()
    }

    fn decode(code: &Code, soft: &[i8]) -> Vec<bool> {
        let lane = soft.len() % LANES;
        code.decode(&rows(soft, lane))[lane].clone()
    }

    fn survives(code: &Code, soft: &[i8]) -> bool {
        let lane = soft.len() % LANES;
        code.survivors(&rows(soft, lane))[lane]
    }

    /// Returns the cost of sending `info`: the sum of the soft values that its code bits
    /// contradict.
    fn cost(code: &Code, info: &[bool], soft: &[i8]) -> i32 {
        let bits = code.encode(info);
        let against = bits
            .iter()
            .zip(soft)
            .filter(|(bit, soft)| **bit == (**soft > 0));
        against.map(|(_, soft)| i32::from(soft.abs())).sum()
    }

    /// Tries all blocks. Returns the lowest cost and the number of blocks that have it.
    fn by_force(code: &Code, soft: &[i8]) -> (i32, usize) {
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

    /// Decodes like a textbook, with one integer per state and whole paths. Returns the lowest
    /// cost.
    fn textbook(code: &Code, soft: &[i8]) -> i32 {
        let mut metrics = vec![i32::MAX / 2; 1 << code.memory];
        metrics[0] = 0;
        for pair in soft.chunks_exact(2) {
            let mut next = vec![i32::MAX; 1 << code.memory];
            for (state, metric) in metrics.iter().enumerate() {
                for bit in 0..2 {
                    let register = (state << 1 | bit) & (code.outputs.len() - 1);
                    let output = code.outputs[register];
                    let cost: i32 = (0..2)
                        .filter(|i| (output >> i & 1 == 1) == (pair[*i as usize] > 0))
                        .map(|i| i32::from(pair[i as usize].abs()))
                        .sum();
                    let to = register % (1 << code.memory);
                    next[to] = next[to].min(metric + cost);
                }
            }
            metrics = next;
        }
        metrics[0]
    }

    /// Returns the smallest number of ones in a block that is not all zero.
    fn free_distance(code: &Code) -> usize {
        let blocks = (1..1_u32 << 12).map(|word| {
            let info: Vec<bool> = (0..12).map(|i| word >> i & 1 != 0).collect();
            code.encode(&info).iter().filter(|&&bit| bit).count()
        });
        blocks.min().unwrap()
    }

    #[test]
    fn the_codes_have_their_free_distance() {
        assert_eq!(free_distance(&Code::new([0o23, 0o35])), 7);
        assert_eq!(free_distance(&Code::new([0o133, 0o171])), 10);
        assert_eq!(free_distance(&Code::new([0o561, 0o753])), 12);
    }

    #[test]
    fn the_impulse_response_is_the_generators() {
        let code = Code::new([0o23, 0o35]);
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

    fn check_block(code: &Code, soft: &[i8]) -> Result<(), TestCaseError> {
        let decoded = decode(code, soft);
        prop_assert_eq!(cost(code, &decoded, soft), textbook(code, soft));
        Ok(())
    }

    proptest! {
        #[test]
        fn decoding_is_maximum_likelihood(
            soft in proptest::collection::vec(-21_i8..=21, 2 * (10 + 4)),
        ) {
            let code = Code::new([0o23, 0o35]);
            let decoded = decode(&code, &soft);
            prop_assert_eq!(cost(&code, &decoded, &soft), by_force(&code, &soft).0);
        }

        #[test]
        fn fast_equals_textbook(soft in proptest::collection::vec(any::<i8>(), 2 * 150)) {
            let clamp = |max: i8| -> Vec<i8> { soft.iter().map(|s| (*s).clamp(-max, max)).collect() };
            let four = Code::new([0o23, 0o35]);
            check_block(&four, &clamp(four.soft_max()))?;
            let six = Code::new([0o133, 0o171]);
            check_block(&six, &clamp(six.soft_max()))?;
            let eight = Code::new([0o561, 0o753]);
            check_block(&eight, &clamp(eight.soft_max()))?;
        }

        #[test]
        fn a_survivor_is_decoded_whatever_it_carries(
            info in proptest::collection::vec(any::<bool>(), 60),
            noise in proptest::collection::vec(-10_i8..=15, 2 * 66),
        ) {
            let code = Code::new([0o133, 0o171]);
            let sent = code.encode(&info);
            let soft: Vec<i8> = sent.iter().zip(&noise).map(|(&one, &n)| if one { -n } else { n }).collect();
            let right = decode(&code, &soft) == info;
            if survives(&code, &noise) {
                prop_assert!(right);
            } else if right {
                // Another path was as good on the way, or the decoded one won a tie at the end.
                prop_assert!(cost(&code, &info, &soft) == textbook(&code, &soft));
            }
        }

        #[test]
        fn without_noise_decoding_is_exact(
            info in proptest::collection::vec(any::<bool>(), 1..200), amplitude in 1_i8..=15,
        ) {
            let code = Code::new([0o133, 0o171]);
            let sent = code.encode(&info);
            let soft: Vec<i8> = sent.iter().map(|&one| if one { -amplitude } else { amplitude }).collect();
            prop_assert_eq!(decode(&code, &soft), info);
            prop_assert!(survives(&code, &vec![amplitude; soft.len()]));
        }
    }
}
