//! Why what does not reproduce does not, as far as we know: a cause that was looked for and found, with the measurement
//! that showed it, for each cell and claim that fails. `docs/reproduction.md` says more.

mod ela;

/// The experiment, or the paper; the claim's id, or the cell's row and column; the reason. An entry for a whole
/// experiment has `*`.
type Reason = (&'static str, &'static str, &'static str);

const REASONS: &[Reason] = &[
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
    (
        "cen",
        "CEN-39b",
        "ZigZag turns round: with few wireless losses it sits at a full queue, where the packet after a drop has the lowest delay of the cycle",
    ),
    (
        "cen",
        "CEN-A11",
        "Spike measures against the largest delay ever, to which the shared link's queue adds while the warm-up traffic runs",
    ),
    (
        "cen",
        "CEN-47",
        "the throughput of TFRC, ZigZag and mBiaz in this table",
    ),
    ("cen", "CEN-41", "the throughput of TFRC in this table"),
    (
        "cen",
        "CEN-49",
        "nobody has an Mc: about a hundred congestion losses in a run, none of them called wireless more than once",
    ),
    (
        "cen",
        "CEN-18",
        "schemes with two states (mBiaz, ZBS2, ZBS3 with one flow) draw different lots; the others agree within 2.6 points",
    ),
    (
        "cen",
        "CEN-51a",
        "the order of the classifiers is the paper's, the distance to one flow is not: see CEN-51b",
    ),
    (
        "cen",
        "CEN-51b",
        "with two flows everything is milder than stated; four give 12 %",
    ),
    (
        "cen",
        "CEN-42a",
        "1.48 where 1.5 is asked for: without the point of two flows it is 1.52",
    ),
    (
        "cen",
        "CEN-42b",
        "Spike alone exceeds Omni: it calls 25 to 58 % of the congestion losses wireless",
    ),
    (
        "cen",
        "CEN-53",
        "Spike's Mc with two flows is 25 %, less than the high that is asked for",
    ),
    (
        "cen",
        "CEN-54b",
        "Biaz's Mc lies below ZigZag's with several flows, so ZigZag is third",
    ),
    (
        "cen",
        "CEN-65b",
        "half of T_min, where the claim asks for less than half",
    ),
    (
        "cen",
        "CEN-60",
        "with one flow a drop lowers T_narr below 0.95, which switches to ZigZag just for the packets after the drop",
    ),
    (
        "cen",
        "CEN-63a",
        "the switch to ZigZag of CEN-60 with one flow; ZBS2 and ZBS3 reach 11 to 16 % with many",
    ),
    (
        "cen",
        "CEN-63b",
        "the switch to ZigZag of CEN-60 with one flow",
    ),
    (
        "cen",
        "CEN-65a",
        "beyond eight flows a flow's own packets hardly ever queue back to back, so T_min is overestimated",
    ),
    (
        "cen",
        "CEN-66b",
        "with one flow mBiaz's bound decides how soon it leaves its slow state; Spike's α moves congestion loss",
    ),
    (
        "cen",
        "CEN-14f",
        "by 0.4 points only, over the last hop with eight flows: too little wireless loss per flow to empty the link",
    ),
    (
        "mar",
        "MAR-40a",
        "between 0.002 and 0.05 % the window that fills the link keeps a queue: 69 % of the packets meet three or more waiting at 0.01 %, and 72 % of the wireless losses are called congestion",
    ),
    (
        "mar",
        "MAR-40b",
        "as without cross traffic: wireless losses that meet a queue of three or more count as congestion, and here more do",
    ),
    (
        "mar",
        "MAR-40c",
        "half of the congestion losses are timeouts in the midst of repairing a window that lost dozens to the queue: the queue is empty by then, so they are called wireless; without them it is the queue of MAR-40a",
    ),
    (
        "mar",
        "MAR-31a",
        "flows that together fill the link keep a queue: with five, 99 % of the packets meet three or more waiting at PER 0.001, and 97 % of the wireless losses, most of all losses, are called congestion",
    ),
    (
        "mar",
        "MAR-31b",
        "each hop's queue of cross traffic adds to the round trip: from one to five hops Mw rises from 45 to 69 % at PER 0.001",
    ),
    (
        "mar",
        "MAR-34a",
        "wireless losses that meet a queue halve the window (MAR-40a); with the thresholds at 20 segments it is 0.9 of the bound",
    ),
    (
        "mar",
        "MAR-34b",
        "wireless losses that meet a queue halve the window (MAR-40a)",
    ),
    (
        "mar",
        "MAR-34c",
        "wireless losses that meet a queue halve the window (MAR-40a); above 150 ms at 5 Mbit/s it is the bound within the interval",
    ),
    (
        "mar",
        "MAR-35b",
        "the lead is greatest at 1 % (10 Mbit/s) and in fades without a survivor (2 Mbit/s), not where the claim looks",
    ),
    (
        "mar",
        "MAR-36b",
        "up to 300 ms it grows; beyond, LP waits for timeouts, as repairing a few losses takes longer than the timer",
    ),
    (
        "mar",
        "MAR-30",
        "the index depends on how long it is measured: 0.97 over 100 s, 0.993 to 0.995 over 450 s, 0.999 over 1950 s, which is within 0.002 of both",
    ),
    (
        "mar-jain",
        "*",
        "the index grows with the time that is measured: see MAR-30",
    ),
    (
        "mar",
        "MAR-1",
        "greater thresholds tolerate some queue and are right more often; the paper does not say which it tried",
    ),
    (
        "mar",
        "MAR-39a3",
        "at 10 % loss alone, where both have 0.21 Mbit/s; from 0.5 to 5 % TIBET has up to 2.7 times as much",
    ),
    (
        "mar",
        "MAR-32",
        "at 2 % with a window of 64 KiB, as stated; without a limit at 0.5 %, where LP has the room to be ahead",
    ),
    (
        "mar",
        "MAR-39b2",
        "only with a window of 64 KiB, and not for wrong verdicts: 99 % are right, so its bound lies below TIBET too",
    ),
    (
        "bal",
        "BAL-29a",
        "Westwood's time constant is 1 s, so it cannot be very slow; SARBE is as quick, but in some runs settles beside what is available: see BAL-29b",
    ),
    (
        "bal",
        "BAL-29b",
        "SARBE ignores the long interval before packets that come back to back and follows them, so it learns the link's rate: 0.8 Mbit/s while 0.5 are available",
    ),
    (
        "bal",
        "BAL-28a",
        "the filter decides: 1.6 Mbit/s more with UCLA's m = 2, 9.5 with a sample per acknowledgement",
    ),
    (
        "bal-fig-7",
        "gain at 1 % loss, BaLDE over Reno",
        "45 timeouts in a run of BaLDE, whose length the paper does not state: 169 % if they last 0.2 s at least; 72 % with buffers of half a pipe",
    ),
    (
        "bal",
        "BAL-31b",
        "after its first timeout Westwood's estimate is half of the pipe, as in Fig. 8 (b), and hardly a packet is lost to make up for it",
    ),
    (
        "bal-fig-10",
        "gain at 0.001 % loss, Westwood over BaLDE",
        "timeouts, as BAL-33: with SACK's recovery it is -13.6 %",
    ),
    (
        "bal",
        "BAL-33",
        "an overestimate takes the window past what the queue holds, and Reno's recovery ends in a timeout: BaLDE has 33 in a run, Reno 14; with SACK's recovery BaLDE is 3 % above Reno, and Westwood 14 % below BaLDE",
    ),
    (
        "bal",
        "BAL-36a",
        "Reno's index is 0.997 without losses to speak of: there is no room above",
    ),
    (
        "bal",
        "BAL-36c",
        "both take bursts for the rate of the link (BaLDE estimates 3.5 Mbit/s at a share of 0.5), so whoever is ahead does not slow down at a loss",
    ),
    (
        "bal",
        "BAL-37a",
        "BaLDE estimates the link, not its share (BAL-36c), and does not slow down for Reno",
    ),
    (
        "bal",
        "BAL-37b",
        "the estimate of BAL-36c opens the window past the queue again and again: 48 to 55 timeouts of a BaLDE flow in 100 s, 5 to 9 of Reno's",
    ),
    ("bal", "BAL-37c", "as BAL-37b"),
    (
        "bal",
        "BAL-38a",
        "with one flow of BaLDE among nine of Westwood, and with five, the two are alike within the interval; otherwise Westwood has 20 to 120 % more",
    ),
    (
        "bal",
        "BAL-38b",
        "with one flow of BaLDE among nine of Westwood the two are alike within the interval; otherwise Westwood has 36 to 91 % more",
    ),
    (
        "bal",
        "BAL-A8",
        "7 % without errors, since the buffer goes on feeding the link while the window grows; 36 % at 0.1 % loss",
    ),
    (
        "mil",
        "MIL-34b",
        "it falls steeply at first, as the windows do that the LDA spares",
    ),
    (
        "mil",
        "MIL-35b",
        "at 6 % in each of three bottlenecks and both directions there is hardly a window left to keep",
    ),
    (
        "mil",
        "MIL-35c",
        "noise: after hundreds of runs .07 to .09 differ by less than their intervals; the paper itself says how few packets these are",
    ),
    (
        "mil",
        "MIL-36a",
        "NewRenoLDA carries 4.2 times as much at the same loss rate, so it sees more losses; the paper's 121 cannot go with its own gain of 40 % and more",
    ),
    (
        "mil-table-1",
        "congestion events, NewRenoLDA / .09",
        "more than NewReno's in proportion to its throughput; the paper has 8 % more with 40 % more throughput",
    ),
    (
        "mil",
        "MIL-38a",
        "the peak is at .04, where three bottlenecks run empty; tcp-eval's cross traffic, the one load that is left open, turns the gain into a loss (mil-sensitivity)",
    ),
    (
        "mil",
        "MIL-39a",
        "20 flows fill the link whatever is corrupted until .04; from .05 on it falls for NewReno, from .07 on for the LDA",
    ),
    ("mil", "MIL-39b", "true at .03, not at .02"),
    (
        "mil",
        "MIL-39c",
        "both windows are below two packets there, held down by timeouts, which the LDA does not touch",
    ),
    (
        "mil",
        "MIL-50",
        "up to 13 % less with RED where the network is full and the window is kept, or Westwood's; within 10 % elsewhere",
    ),
    ("mil", "MIL-51", "at single rates only, by up to 2.5 points"),
    (
        "mil-fig-6",
        "*",
        "there is nothing to spare: Westwood's filter overestimates after bursts, so hardly a loss takes its window down (at .08, one in a thousand: mil-table-2), and the LDA differs from the original by noise",
    ),
    (
        "mil",
        "MIL-40b",
        "the LDA differs from Westwood by noise: see the improvements of Fig. 6",
    ),
    (
        "mil",
        "MIL-40c",
        "the LDA differs from Westwood by noise: see the improvements of Fig. 6",
    ),
    (
        "mil",
        "MIL-40d",
        "the LDA differs from Westwood by noise: see the improvements of Fig. 6",
    ),
    (
        "mil",
        "MIL-40e",
        "the LDA differs from Westwood by noise: see the improvements of Fig. 6",
    ),
    (
        "mil-fig-6",
        "MIL-42",
        "equal, within the noise: nothing is spared",
    ),
    (
        "mil-fig-6",
        "mean AckdInterval, single-bottleneck",
        "follows from throughput, and that from how Westwood repairs losses, which the paper leaves open",
    ),
    (
        "mil-fig-6",
        "mean AckdInterval, multiple-bottleneck",
        "follows from throughput: the paper's senders are 3.5 times as fast as ours over three bottlenecks",
    ),
    (
        "mil-table-2",
        "*",
        "depends on how Westwood repairs losses, which the paper leaves open (mil-sensitivity: 170 to 510 events at .01 in four ways); none has a fifth fewer with the LDA",
    ),
    (
        "mil-table-3",
        "*",
        "as in Table 2: the LDA cannot make events rarer where no cut is spared",
    ),
    (
        "mil",
        "MIL-43c",
        "the LDA differs from Westwood by noise, as in Fig. 6",
    ),
    (
        "mil",
        "MIL-43d",
        "the LDA differs from Westwood by noise, as in Fig. 6",
    ),
    (
        "mil",
        "MIL-44b",
        "true up to .03; beyond, both shares fall with the load, the one over three bottlenecks faster",
    ),
    (
        "mil",
        "MIL-45c",
        "until .05; beyond, both send a packet or two per timeout, and the intervals hold 0",
    ),
    (
        "mil",
        "MIL-53d",
        "a third to two thirds begin early, hardly more than Vegas's own; what costs throughput is ns-2's window after a recovery, which falls to what the last cut left of it (see MIL-8b)",
    ),
    (
        "mil",
        "MIL-47a",
        "the other way round: Vegas has more losses, and a round trip with a loss is not counted",
    ),
    (
        "mil-table-4",
        "*",
        "Vegas's own columns hold; the paper's VegasLDA has a third fewer round trips than fit into 100 s, ours has not",
    ),
    (
        "mil-table-5",
        "*",
        "two thirds of the paper's counts at .09, for both variants: at path losses of a quarter each way a run is mostly timeouts",
    ),
    ("mil", "MIL-48b", "−0.8 %"),
    (
        "mil",
        "MIL-48c",
        "−4.9 % at .04, where the claim asks for −5; −12 to −25 % above",
    ),
    (
        "mil",
        "MIL-48d",
        "the loss comes earlier, at .02 to .04, as three bottlenecks run empty earlier; beyond, timeouts rule both",
    ),
    (
        "mil-table-6",
        "*",
        "45 % of the losses that our VegasLDA finds at .01 are congestion, 5 % of the paper's; why was not found",
    ),
    (
        "mil",
        "MIL-49a",
        "at .02 they balance; at .01 our VegasLDA has more congestion losses than the paper's (mil-table-6)",
    ),
    (
        "mil",
        "MIL-49b",
        "disturbed as stated from .05 on, by a fifth at .04",
    ),
    (
        "mil",
        "MIL-8a",
        "within 2.3 %: an estimate above the window decides nothing",
    ),
    (
        "mil",
        "MIL-8b",
        "4.2 times the throughput at .01 and nowhere less by more than 3 %; at the highest rates it makes no difference",
    ),
];

fn all() -> impl Iterator<Item = &'static Reason> {
    REASONS.iter().chain(ela::REASONS)
}

/// Why a cell (`row, column`) or a claim (its id) of an experiment fails, if the cause is known. What is said of a claim holds
/// for each of its readings (`ELA-42b (shared)`) that has no reason of its own.
pub fn reason(experiment: &str, what: &str) -> Option<&'static str> {
    let paper = experiment.split('-').next().unwrap_or_default();
    let of = |id: &str, key: &str| {
        let known = all().find(|known| (known.0, known.1) == (id, key));
        known.map(|(_, _, why)| *why)
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
        for (index, (id, what, _)) in all().enumerate() {
            let of_paper = crate::all().any(|experiment| experiment.paper == *id);
            assert!(of_paper || find(id).is_some(), "{id}");
            let again = |other: &&(&str, &str, &str)| other.0 == *id && other.1 == *what;
            assert_eq!(all().filter(again).count(), 1, "{id} {what} {index}");
        }
    }
}
