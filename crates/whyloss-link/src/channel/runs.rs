//! Draws how many packets in a row meet the same fate, instead of drawing each packet's fate.
//!
//! ```text
//! chain     the pair (state, fate) is a Markov chain of four values, each of which stays for
//!           1 + ⌊ln U / ln stay⌋ packets
//! renewal   bursts of drawn lengths, good runs of 1 + ⌊ln U / ln(1 − start)⌋ packets
//! ```
//!
//! The distribution is that of [`super::Channel`] in equilibrium; a test compares the two. The
//! random numbers differ, because a run of any length takes two draws.

use super::burst_renewal::{BurstRenewal, draw};
use super::gilbert_elliott::GilbertElliott;
use crate::random::Random;

/// Draws runs of packets from a channel indexed by packet; made by [`super::ChannelSpec::runs`].
#[derive(Clone, Debug)]
pub struct Runs {
    law: Law,
    random: Random,
}

#[derive(Clone, Debug)]
enum Law {
    Chain(Box<Chain>),
    Bursts(Box<Bursts>),
}

impl Runs {
    pub(super) fn chain(spec: &GilbertElliott, random: Random) -> Self {
        let law = Law::Chain(Box::new(Chain::new(spec)));
        Self { law, random }
    }

    pub(super) fn bursts(spec: &BurstRenewal, random: Random) -> Self {
        let law = Law::Bursts(Box::new(Bursts::new(spec)));
        Self { law, random }
    }

    /// Restarts in equilibrium.
    pub fn restart(&mut self) {
        match &mut self.law {
            Law::Chain(chain) => chain.next = chain.start,
            Law::Bursts(bursts) => bursts.last = None,
        }
    }

    /// Draws whether the next packets are lost, and how many have this fate. The packets after them
    /// may have the same fate.
    #[inline]
    pub fn draw(&mut self) -> (bool, u64) {
        match &mut self.law {
            Law::Chain(chain) => chain.draw(&mut self.random),
            Law::Bursts(bursts) => bursts.draw(&mut self.random),
        }
    }
}

/// Draws the length of a run that continues with probability `stay` after each packet. `scale` is 1
/// over the logarithm of that probability.
#[inline]
fn geometric((stay, scale): (f64, f64), random: &mut Random) -> u64 {
    let u = 1.0 - random.uniform();
    // Most short runs need no logarithm.
    if u > stay {
        return 1;
    }
    1_u64.saturating_add((libm::log(u) * scale) as u64)
}

fn scale(stay: f64) -> (f64, f64) {
    // If `stay` is 1, its logarithm is made negative, so that the run is endless.
    (stay, 1.0 / libm::log(stay).min(-f64::MIN_POSITIVE))
}

/// The values of a chain: twice the state, plus 1 if the packet is lost.
#[derive(Clone, Debug)]
struct Chain {
    /// The cumulative probabilities of the first packet's value.
    start: [f64; 4],
    /// For each value, the cumulative probabilities of the other value that follows.
    others: [[f64; 4]; 4],
    /// The probabilities of keeping each value, and their scales.
    scales: [(f64, f64); 4],
    /// The cumulative probabilities of the next value.
    next: [f64; 4],
}

impl Chain {
    fn new(spec: &GilbertElliott) -> Self {
        let (enter, leave) = (spec.p_good_to_bad, spec.p_bad_to_good);
        let bad = if enter > 0.0 {
            enter / (enter + leave)
        } else {
            0.0
        };
        let values = |good: f64, bad: f64| {
            [
                good * (1.0 - spec.loss_good),
                good * spec.loss_good,
                bad * (1.0 - spec.loss_bad),
                bad * spec.loss_bad,
            ]
        };
        let cumulate = |weights: [f64; 4]| {
            let all: f64 = weights.iter().sum();
            let mut sum = 0.0;
            weights.map(|weight| {
                sum += weight / all;
                sum
            })
        };
        let after = [values(1.0 - enter, enter), values(leave, 1.0 - leave)];
        let of = |value: usize| {
            let mut others = after[value / 2];
            let stay = std::mem::take(&mut others[value]);
            (cumulate(others), scale(stay))
        };
        let of = [0, 1, 2, 3].map(of);
        let start = cumulate(values(1.0 - bad, bad));
        Self {
            start,
            others: of.map(|(others, _)| others),
            scales: of.map(|(_, scale)| scale),
            next: start,
        }
    }

    #[inline]
    fn draw(&mut self, random: &mut Random) -> (bool, u64) {
        let u = random.uniform();
        let value = self.next[..3].iter().filter(|&&sum| u >= sum).count();
        self.next = self.others[value];
        (value % 2 == 1, geometric(self.scales[value], random))
    }
}

#[derive(Clone, Debug)]
struct Bursts {
    loss: f64,
    weight: f64,
    /// The probabilities that shorter and longer good runs continue, and their scales.
    scales: [(f64, f64); 2],
    /// P(length ≤ k) of the bursts, and P(remaining ≤ k) of the burst that the first packet may be
    /// in.
    lengths: [Vec<f64>; 2],
    /// Whether the last packets were lost; `None` before the first.
    last: Option<bool>,
}

impl Bursts {
    fn new(spec: &BurstRenewal) -> Self {
        let (weight, starts) = spec.starts();
        Self {
            loss: spec.loss,
            weight,
            scales: starts.map(|start| scale(1.0 - start)),
            lengths: [spec.cumulative(), spec.residual()],
            last: None,
        }
    }

    #[inline]
    fn draw(&mut self, random: &mut Random) -> (bool, u64) {
        let first = self.last.is_none();
        let lost = match self.last {
            None => random.chance(self.loss),
            Some(last) => !last,
        };
        self.last = Some(lost);
        if lost {
            let length = draw(&self.lengths[usize::from(first)], random);
            return (true, u64::from(length));
        }
        // Each kind of good run has half of the good packets.
        let share = if first { 0.5 } else { self.weight };
        let kind = usize::from(!random.chance(share));
        (false, geometric(self.scales[kind], random))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ChannelSpec, Harm};
    use super::*;
    use crate::random::Streams;
    use whyloss::Time;

    const PACKETS: usize = 40;
    const DRAWS: u64 = 60_000;

    /// Returns the packets of a stretch, drawn by runs.
    fn by_runs(runs: &mut Runs) -> Vec<bool> {
        runs.restart();
        let mut packets = Vec::new();
        while packets.len() < PACKETS {
            let (lost, length) = runs.draw();
            packets.extend((0..length.min(PACKETS as u64)).map(|_| lost));
        }
        packets.truncate(PACKETS);
        packets
    }

    /// Counts the fate of the first packet. Also counts runs of 1, 2 and more packets, by their
    /// fate and whether an end of the stretch cuts them.
    fn count(packets: &[bool], counts: &mut [f64; 14]) {
        counts[usize::from(packets[0])] += 1.0;
        let runs: Vec<&[bool]> = packets.chunk_by(|a, b| a == b).collect();
        for (at, run) in runs.iter().enumerate() {
            let cut = usize::from(at == 0 || at + 1 == runs.len());
            let length = run.len().min(3) - 1;
            counts[2 + 6 * cut + 3 * usize::from(run[0]) + length] += 1.0;
        }
    }

    #[test]
    fn runs_follow_the_law_of_packets() {
        let chain = |p_good_to_bad, p_bad_to_good, loss_good, loss_bad| {
            ChannelSpec::GilbertElliott(GilbertElliott {
                p_good_to_bad,
                p_bad_to_good,
                loss_good,
                loss_bad,
            })
        };
        let bursts = |loss, lengths: &[f64], good_run_cv| {
            let lengths = lengths.to_vec();
            ChannelSpec::BurstRenewal(BurstRenewal {
                loss,
                lengths,
                good_run_cv,
            })
        };
        let specs = [
            ChannelSpec::Bernoulli { loss: 0.3 },
            chain(0.1, 0.4, 0.0, 1.0),
            chain(0.1, 0.2, 0.05, 0.6),
            chain(0.9, 0.7, 0.1, 0.5),
            bursts(0.2, &[0.5, 0.2, 0.0, 0.3], None),
            bursts(0.1, &[0.7, 0.3], Some(2.0)),
        ];
        for spec in specs {
            let streams = Streams::new(7);
            let mut runs = spec.runs(streams.stream("runs", 0)).unwrap();
            let mut counts = [[0.0; 14]; 2];
            for index in 0..DRAWS {
                count(&by_runs(&mut runs), &mut counts[0]);
                let mut channel = spec.build(streams.stream("packets", index));
                let mut packets = (0..PACKETS + 30)
                    .map(|at| channel.harms(Time::from_nanos(at as u64), 1_000) == Harm::Lost);
                // A chain starts in its good state, so its first packets are skipped.
                packets.by_ref().take(30).for_each(drop);
                count(&packets.collect::<Vec<_>>(), &mut counts[1]);
            }
            for (drawn, plain) in counts[0].iter().zip(counts[1]) {
                // Counts of dependent runs vary at most a little more than Poisson's.
                let sigma = libm::sqrt(2.0 * (drawn + plain).max(1.0));
                assert!((drawn - plain).abs() < 4.0 * sigma, "{spec:?} {counts:?}");
            }
        }
    }

    #[test]
    fn extremes() {
        let all = |spec: ChannelSpec| {
            let random = Streams::new(1).stream("runs", 0);
            by_runs(&mut spec.runs(random).unwrap())
        };
        assert!(!all(ChannelSpec::Bernoulli { loss: 0.0 }).contains(&true));
        assert!(!all(ChannelSpec::Bernoulli { loss: 1.0 }).contains(&false));
        assert!(!all(ChannelSpec::BurstRenewal(BurstRenewal::cen(0.0))).contains(&true));
        assert!(
            ChannelSpec::None
                .runs(Streams::new(1).stream("runs", 0))
                .is_none()
        );
    }
}
