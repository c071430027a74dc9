//! Why what does not reproduce does not, as far as we know: a cause that was looked for and found, with the measurement
//! that showed it, for each cell and claim that fails. `docs/reproduction.md` says more.

mod ela;

use Whose::{Open, Ours, Papers};
use whyloss_study::report::summary::{Whose, Why};

/// The experiment, or the paper; the claim's id, or the cell's row and column; where the cause lies; the reason. An entry for a whole
/// experiment has `*`.
type Reason = (&'static str, &'static str, Whose, &'static str);

const REASONS: &[Reason] = &[
    (
        "cen-table-1",
        "*",
        Open,
        "the radio's parameters are not all stated; of two dozen readings the one shown comes nearest, and the most literal loses 74 %",
    ),
    (
        "cen-table-2",
        "throughput, TFRC",
        Open,
        "the lost traces: with good runs of a longer tail (coefficient of variation 1.5) it is 87 %, with independent losses 85; our radio's good runs have no such tail",
    ),
    (
        "cen-table-2",
        "Mw, ZigZag",
        Open,
        "the lost traces: 70 % with good runs of a longer tail, 69 with the radio's own pattern; whose delay is compared changes nothing with one flow",
    ),
    (
        "cen-table-2",
        "congestion loss, TCP",
        Open,
        "how TCP's slow start ends, and when it fills the queue: 0.27 % with good runs of a longer tail, 0.48 at medium loss",
    ),
    (
        "cen-table-3",
        "throughput, mBiaz",
        Open,
        "two states, one of which is a trap until chance frees it: 95 % with good runs of a longer tail, in which it gets out",
    ),
    (
        "cen-table-3",
        "Mw, mBiaz",
        Open,
        "the two states of its throughput: 4 % with good runs of a longer tail",
    ),
    (
        "cen-table-3",
        "Mc, Spike",
        Papers,
        "Spike has about one congestion loss in a run of 200 s here, so the paper's 8.8 % rests on a handful of packets",
    ),
    (
        "cen",
        "CEN-39b",
        Ours,
        "Spike's Mw grows as losses get fewer and its queue fuller, ZigZag's does not; mBiaz with one flow has two states",
    ),
    (
        "cen",
        "CEN-47",
        Open,
        "mBiaz is below Biaz by more than the paper's, in its trap: with good runs of a longer tail the order is the paper's",
    ),
    (
        "cen",
        "CEN-49",
        Papers,
        "nobody has an Mc: about a hundred congestion losses in a run, none of them called wireless more than once",
    ),
    (
        "cen",
        "CEN-18",
        Ours,
        "schemes with two states (mBiaz, ZBS2, ZBS3 with one flow) draw different lots; the others agree within 2 points",
    ),
    (
        "cen",
        "CEN-51a",
        Ours,
        "the order of the classifiers is the paper's, the distance to one flow is not: see CEN-51b",
    ),
    (
        "cen",
        "CEN-51b",
        Ours,
        "with two flows everything is milder than stated; four give 12 %",
    ),
    (
        "cen",
        "CEN-42a",
        Ours,
        "1.47 where 1.5 is asked for: two flows pull the average down",
    ),
    (
        "cen",
        "CEN-42b",
        Ours,
        "Spike alone exceeds Omni: it calls 20 to 57 % of the congestion losses wireless",
    ),
    (
        "cen",
        "CEN-52a",
        Ours,
        "ZigZag's Mc is 0.6 % with two flows, below mBiaz's; from four on mBiaz is lowest. So it is with the delay of the packet before the gap; with that of the one after it ZigZag's Mc is 25 to 36 %",
    ),
    (
        "cen",
        "CEN-53",
        Ours,
        "Spike's Mc with two flows is 20 %, less than the high that is asked for",
    ),
    (
        "cen",
        "CEN-59a",
        Ours,
        "congestion loss is higher at five of seven numbers of flows, but Mc lower at three only: with eight, twelve and sixteen flows it is 10 to 17 % over the backbone and 7 over the last hop",
    ),
    (
        "cen",
        "CEN-61a",
        Ours,
        "ZigZag's own Mc is 5 % when it compares the packet before the gap, too low to be beaten; the hybrids' come from mBiaz and Spike",
    ),
    (
        "cen",
        "CEN-64",
        Ours,
        "as CEN-61a: throughput is matched everywhere, Mc is not",
    ),
    (
        "cen",
        "CEN-65b",
        Ours,
        "0.66 with two flows, where the link is hardly ever underutilised; 0.22 to 0.37 from four on",
    ),
    (
        "cen",
        "CEN-60",
        Ours,
        "with one flow a drop lowers T_narr below 0.95, which switches to ZigZag",
    ),
    (
        "cen",
        "CEN-63a",
        Ours,
        "ZBS2 and ZBS3 reach 4 to 10 % with twelve and sixteen flows, where rott_dev falls below half of T_min and ZigZag decides",
    ),
    (
        "cen",
        "CEN-63b",
        Ours,
        "with one flow mBiaz decides most of the time, with sixteen ZigZag some of it",
    ),
    (
        "cen",
        "CEN-65a",
        Ours,
        "beyond eight flows a flow's own packets hardly ever queue back to back, so T_min is overestimated",
    ),
    (
        "cen",
        "CEN-66b",
        Ours,
        "with one flow mBiaz's bound decides how soon it leaves its slow state; Spike's α moves congestion loss",
    ),
    (
        "cen",
        "CEN-14f",
        Ours,
        "by 0.6 points only, over the last hop with eight flows: too little wireless loss per flow to empty the link",
    ),
    (
        "mar",
        "MAR-40a",
        Open,
        "between 0.002 and 0.05 % the window that fills the link keeps a queue: 69 % of the packets meet three or more waiting at 0.01 %, and 72 % of the wireless losses are called congestion",
    ),
    (
        "mar",
        "MAR-40b",
        Open,
        "wireless losses that meet a queue of three or more count as congestion; with a clock of 100 ms, ns-2's until March 2002, the predictor sees no such queue (mar-sensitivity)",
    ),
    (
        "mar",
        "MAR-40c",
        Open,
        "half of the congestion losses are timeouts in the midst of repairing a window that lost dozens to the queue: the queue is empty by then, so they are called wireless; without them it is the queue of MAR-40a",
    ),
    (
        "mar",
        "MAR-31a",
        Open,
        "flows that together fill the link keep a queue: with five, 99 % of the packets meet three or more waiting at PER 0.001, and 97 % of the wireless losses, most of all losses, are called congestion",
    ),
    (
        "mar",
        "MAR-31b",
        Open,
        "each hop's queue of cross traffic adds to the round trip: from one to five hops Mw rises from 45 to 69 % at PER 0.001",
    ),
    (
        "mar",
        "MAR-34a",
        Open,
        "wireless losses that meet a queue halve the window (MAR-40a); with the thresholds at 20 segments it is 0.9 of the bound",
    ),
    (
        "mar",
        "MAR-34b",
        Open,
        "wireless losses that meet a queue halve the window (MAR-40a)",
    ),
    (
        "mar",
        "MAR-34c",
        Open,
        "wireless losses that meet a queue halve the window (MAR-40a); above 150 ms at 5 Mbit/s it is the bound within the interval",
    ),
    (
        "mar",
        "MAR-35a",
        Ours,
        "UCLA's module repairs losses by fast retransmit alone, and falls behind LP where much is lost (0.6 to 0.8 of it from 1 % on); with the same filter on NewReno's recovery, as it was run before, it is ahead everywhere (mar-sensitivity)",
    ),
    (
        "mar",
        "MAR-35b",
        Ours,
        "as MAR-35a: with the module's recovery there is no lead where much is lost",
    ),
    (
        "mar",
        "MAR-36b",
        Open,
        "up to 300 ms it grows; beyond, LP waits for timeouts, as repairing a few losses takes longer than the timer",
    ),
    (
        "mar",
        "MAR-30",
        Open,
        "the index depends on how long it is measured: 0.97 over 100 s, 0.993 to 0.995 over 450 s, 0.999 over 1950 s, which is within 0.002 of both",
    ),
    (
        "mar-jain",
        "*",
        Open,
        "the index grows with the time that is measured: see MAR-30",
    ),
    (
        "mar",
        "MAR-1",
        Open,
        "greater thresholds tolerate some queue and are right more often; the paper does not say which it tried",
    ),
    (
        "mar",
        "MAR-39a3",
        Ours,
        "at 10 % loss alone, where both have 0.21 Mbit/s; from 0.5 to 5 % TIBET has up to 2.7 times as much",
    ),
    (
        "mar",
        "MAR-32",
        Open,
        "at 2 % with a window of 64 KiB, as stated; without a limit at 0.5 %, where LP has the room to be ahead",
    ),
    (
        "mar",
        "MAR-39b2",
        Ours,
        "only with a window of 64 KiB, and not for wrong verdicts: 99 % are right, so its bound lies below TIBET too",
    ),
    (
        "bal",
        "BAL-29a",
        Open,
        "Westwood's time constant is 1 s, so it cannot be very slow; SARBE is as quick, but in some runs settles beside what is available: see BAL-29b",
    ),
    (
        "bal",
        "BAL-29b",
        Open,
        "SARBE averages per acknowledgement, and of packets that come back to back all but the first show the link's rate: 0.8 Mbit/s while 0.5 are available",
    ),
    (
        "bal",
        "BAL-28a",
        Open,
        "the filter and the acknowledgements decide: 0.65 ± 0.49 Mbit/s more with UCLA's filter by time, 2.2 if acknowledgements are delayed, 9.0 with a sample per acknowledgement (bal-sensitivity)",
    ),
    (
        "bal-fig-7",
        "gain at 1 % loss, BaLDE over Reno",
        Open,
        "45 timeouts in a run of BaLDE, whose length the paper does not state: 169 % if they last 0.2 s at least; 72 % with buffers of half a pipe",
    ),
    (
        "bal-fig-7",
        "gain at 1 % loss, BaLDE over Westwood",
        Open,
        "how long timeouts last, which the paper does not state: BaLDE waits for 45 in a run, UCLA's module for 10. At 0.2 s at least instead of 1 it is +13.9 ± 1.9 %; with one recovery for all three (Reno's, NewReno's, SACK's) +12 to +14, with buffers of half a pipe +17 (bal-sensitivity)",
    ),
    (
        "bal",
        "BAL-31a",
        Open,
        "above Reno everywhere; behind Westwood where timeouts are frequent, from 0.5 to 5 %: see the gain at 1 % loss",
    ),
    (
        "bal",
        "BAL-31b",
        Open,
        "after its first timeout Westwood's estimate is half of the pipe, as in Fig. 8 (b), and hardly a packet is lost to make up for it",
    ),
    (
        "bal-fig-10",
        "gain at 0.001 % loss, Westwood over BaLDE",
        Open,
        "five points, within the interval of ±6.4; timeouts, as BAL-33: with SACK's recovery on all three it is -15 %",
    ),
    (
        "bal",
        "BAL-33",
        Open,
        "an overestimate takes the window past what the queue holds, and Reno's recovery ends in a timeout: BaLDE has 33 in a run, Reno 14; with SACK's recovery BaLDE is 3 % above Reno, and Westwood 14 % below BaLDE",
    ),
    (
        "bal",
        "BAL-36a",
        Papers,
        "Reno's index is 0.997 without losses to speak of: there is no room above",
    ),
    (
        "bal",
        "BAL-36c",
        Open,
        "BaLDE takes bursts for the rate of the link (it estimates 3.5 Mbit/s at a share of 0.5), so whoever is ahead does not slow down at a loss; Westwood's index is 0.915 at least",
    ),
    (
        "bal",
        "BAL-37a",
        Open,
        "BaLDE estimates the link, not its share (BAL-36c), and does not slow down for Reno",
    ),
    (
        "bal",
        "BAL-37b",
        Open,
        "the estimate of BAL-36c opens the window past the queue again and again: 48 to 55 timeouts of a BaLDE flow in 100 s, 5 to 9 of Reno's",
    ),
    ("bal", "BAL-37c", Open, "as BAL-37b"),
    (
        "bal",
        "BAL-A8",
        Open,
        "7 % without errors, since the buffer goes on feeding the link while the window grows; 36 % at 0.1 % loss",
    ),
    (
        "mil",
        "MIL-34b",
        Open,
        "it falls steeply at first, as the windows do that the LDA spares",
    ),
    (
        "mil",
        "MIL-35b",
        Open,
        "at 6 % in each of three bottlenecks and both directions there is hardly a window left to keep",
    ),
    (
        "mil",
        "MIL-35c",
        Open,
        "noise: after hundreds of runs .07 to .09 differ by less than their intervals; the paper itself says how few packets these are",
    ),
    (
        "mil",
        "MIL-36a",
        Papers,
        "NewRenoLDA carries 4.2 times as much at the same loss rate, so it sees more losses; the paper's 121 cannot go with its own gain of 40 % and more",
    ),
    (
        "mil-table-1",
        "congestion events, NewRenoLDA / .09",
        Papers,
        "more than NewReno's in proportion to its throughput; the paper has 8 % more with 40 % more throughput",
    ),
    (
        "mil",
        "MIL-38a",
        Open,
        "the peak is at .04, where three bottlenecks run empty; tcp-eval's cross traffic, the one load that is left open, turns the gain into a loss (mil-sensitivity)",
    ),
    (
        "mil",
        "MIL-39a",
        Open,
        "20 flows fill the link whatever is corrupted until .04; from .05 on it falls for NewReno, from .07 on for the LDA",
    ),
    ("mil", "MIL-39b", Open, "true at .03, not at .02"),
    (
        "mil",
        "MIL-39c",
        Open,
        "both windows are below two packets there, held down by timeouts, which the LDA does not touch",
    ),
    (
        "mil",
        "MIL-50",
        Open,
        "up to 13 % less with RED where the network is full and the window is kept, or Westwood's; within 10 % elsewhere",
    ),
    (
        "mil",
        "MIL-51",
        Open,
        "at single rates only, by up to 2.5 points",
    ),
    (
        "mil-fig-6",
        "*",
        Open,
        "the module's factor gives the signs over one bottleneck, a gain at .01 and losses of 2 to 6 % above, not the sizes; three bottlenecks have hardly a congestion event to spare, and differences are noise",
    ),
    (
        "mil",
        "MIL-40c",
        Open,
        "it loses 2 to 6 % from .02 on, and at which rate most is noise: the intervals are ±3 to 4 %",
    ),
    (
        "mil",
        "MIL-40d",
        Open,
        "it loses most at .03, within the intervals of its neighbours",
    ),
    (
        "mil-fig-6",
        "mean AckdInterval, single-bottleneck",
        Open,
        "follows from throughput over all error rates, which the module's timeouts hold down: 29 in a run at .01, 97 at .08",
    ),
    (
        "mil-table-2",
        "*",
        Ours,
        "an ideal LDA leaves hardly an original action; the paper's leaves 795 of 994, so its look-up must miss most errors. Westwood's own count at .01 is 0.4 of the paper's, which sends faster",
    ),
    (
        "mil-table-3",
        "*",
        Ours,
        "as in Table 2: the paper's LDA leaves more original actions than an ideal one can",
    ),
    (
        "mil",
        "MIL-43c",
        Open,
        "the LDA differs from Westwood by noise, as in Fig. 6",
    ),
    (
        "mil",
        "MIL-43d",
        Open,
        "the LDA differs from Westwood by noise, as in Fig. 6",
    ),
    (
        "mil",
        "MIL-44b",
        Open,
        "true up to .03; beyond, both shares fall with the load, the one over three bottlenecks faster",
    ),
    (
        "mil",
        "MIL-45c",
        Open,
        "until .05; beyond, both send a packet or two per timeout, and the intervals hold 0",
    ),
    (
        "mil",
        "MIL-53d",
        Ours,
        "a third to two thirds begin early, hardly more than Vegas's own; what costs throughput is ns-2's window after a recovery, which falls to what the last cut left of it (see MIL-8b)",
    ),
    (
        "mil",
        "MIL-47a",
        Ours,
        "the other way round: Vegas has more losses, and a round trip with a loss is not counted",
    ),
    (
        "mil-table-4",
        "*",
        Ours,
        "Vegas's own columns hold; the paper's VegasLDA has a third fewer round trips than fit into 100 s, ours has not",
    ),
    (
        "mil-table-5",
        "*",
        Ours,
        "two thirds of the paper's counts at .09, for both variants: at path losses of a quarter each way a run is mostly timeouts",
    ),
    ("mil", "MIL-48b", Open, "−0.8 %"),
    (
        "mil",
        "MIL-48c",
        Open,
        "−4.9 % at .04, where the claim asks for −5; −12 to −25 % above",
    ),
    (
        "mil",
        "MIL-48d",
        Open,
        "the loss comes earlier, at .02 to .04, as three bottlenecks run empty earlier; beyond, timeouts rule both",
    ),
    (
        "mil-table-6",
        "*",
        Ours,
        "45 % of the losses that our VegasLDA finds at .01 are congestion, 5 % of the paper's; why was not found",
    ),
    (
        "mil",
        "MIL-49a",
        Ours,
        "at .02 they balance; at .01 our VegasLDA has more congestion losses than the paper's (mil-table-6)",
    ),
    (
        "mil",
        "MIL-49b",
        Open,
        "disturbed as stated from .05 on, by a fifth at .04",
    ),
    (
        "mil",
        "MIL-8a",
        Open,
        "within 2.3 %: an estimate above the window decides nothing",
    ),
    (
        "mil",
        "MIL-8b",
        Open,
        "4.2 times the throughput at .01 and nowhere less by more than 3 %; at the highest rates it makes no difference",
    ),
    (
        "mil",
        "MIL-40f",
        Open,
        "both lose at most rates: a correlation of 0.25",
    ),
];

fn all() -> impl Iterator<Item = &'static Reason> {
    REASONS.iter().chain(ela::REASONS)
}

/// Why a cell (`row, column`) or a claim (its id) of an experiment fails, if the cause is known. What is said of a claim holds
/// for each of its readings (`ELA-42b (shared)`) that has no reason of its own.
pub fn reason(experiment: &str, what: &str) -> Option<Why> {
    let paper = experiment.split('-').next().unwrap_or_default();
    let of = |id: &str, key: &str| {
        let known = all().find(|known| (known.0, known.1) == (id, key));
        known.map(|&(_, _, whose, text)| Why { whose, text })
    };
    let of_any = |id: &str| {
        let claim = what.split_once(" (").map(|(claim, _)| claim);
        of(id, what).or_else(|| of(id, claim?))
    };
    of_any(experiment)
        .or_else(|| of_any(paper))
        .or_else(|| of(experiment, "*"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    #[test]
    fn reasons_are_of_experiments_and_given_once() {
        for (index, (id, what, ..)) in all().enumerate() {
            let of_paper = crate::all().any(|experiment| experiment.paper == *id);
            assert!(of_paper || find(id).is_some(), "{id}");
            let again = |other: &&Reason| other.0 == *id && other.1 == *what;
            assert_eq!(all().filter(again).count(), 1, "{id} {what} {index}");
        }
    }
}
