//! Why what differs differs, as far as we know: a cause that was looked for and found, with what showed it.

use crate::suite::Suite;

/// What a reason is for. An empty word fits everything.
struct Reason {
    suites: &'static [Suite],
    kind: &'static str,
    /// Words that the case has in it.
    case: &'static str,
    metric: &'static str,
    why: &'static str,
}

const NS3: &[Suite] = &[Suite::Ns3, Suite::Ns3Wheel];

/// The reason for a difference after a slow start into RED's long queue.
const FIRST_RECOVERY: &str = "the recovery after the first slow start: ours keeps 20 packets waiting in it, ns-3’s lets the \
    queue run empty, so that RED, whose mean is high then, drops 37 here and 6 there (NewReno); 35 are dropped before it on \
    either side, 21 and 19 in the 95 s after it. Beside ns-2’s SACK the drops over the same queue agree";

/// The first that fits counts.
const REASONS: &[Reason] = &[
    Reason {
        suites: &[Suite::ClosedForms],
        kind: "Mathis",
        case: "periodic loss",
        metric: "sent",
        why: "the law leaves out the round trip that repairs each loss and counts half segments: a cycle of 3/8·W² + 5/4·W \
              packets in W/2 + 2 whole rounds gives 370, 187.5 and 100.0 packets/s at 1/1000, 1/300 and 1/100, which is what \
              was measured",
    },
    Reason {
        suites: &[Suite::Traces],
        kind: "TFRC",
        case: "",
        metric: "",
        why: "a tie: the packet that answers the first report arrives exactly R after the packet reported on, and a report \
              is due after R; here it is due, in ns-2 rounding has it a moment early, so that its report waits for the next \
              arrival (48 ms)",
    },
    Reason {
        suites: &[Suite::Traces],
        kind: "Reno",
        case: "",
        metric: "",
        why: "one packet leaves one acknowledgement later here: the window counts whole bytes, in ns-2 it is a real number \
              and reaches the next segment a step earlier",
    },
    Reason {
        suites: &[Suite::Traces],
        kind: "",
        case: "",
        metric: "",
        why: "ns-2’s Agent/TCP/Linux retransmits at the fourth duplicate, after a third packet of limited transmit, and then \
              halves its rate: a packet per second acknowledgement, where RFC 6675 waits for the pipe to fall and then sends \
              one per acknowledgement",
    },
    Reason {
        suites: &[Suite::Ns2],
        kind: "TFRC",
        case: "path of 2 Mbit/s, loss 0 %, RED",
        metric: "queue drops",
        why: "the first slow start, which parts at a tie (see its packets): in the first 5 s 59 packets are dropped here and \
              25 there, in the 195 s after them 85 and 86",
    },
    Reason {
        suites: &[Suite::Ns2],
        kind: "Veno",
        case: "bursts",
        metric: "goodput",
        why: "Linux’s timer is SRTT + max(4·RTTVAR, 0.2 s), RFC 6298’s max(SRTT + 4·RTTVAR, minimum): in a run over WLH, \
              pauses of more than 0.4 s take 31 s of 200 there, 9 s here",
    },
    Reason {
        suites: &[Suite::Ns2],
        kind: "Veno",
        case: "loss 10 %",
        metric: "goodput",
        why: "Linux’s timer, as with bursts",
    },
    Reason {
        suites: &[Suite::Ns2],
        kind: "Westwood+",
        case: "",
        metric: "",
        why: "Linux 2.6.22 halves its rate packet by packet during a recovery (see its packets below), so that the link \
              never runs dry; RFC 6675 waits for the pipe to fall to a window of BWE·RTT_min",
    },
    Reason {
        suites: &[Suite::Ns2],
        kind: "Veno",
        case: "",
        metric: "",
        why: "Linux 2.6.22 retransmits at the fourth duplicate and halves its rate packet by packet during a recovery (see \
              its packets below)",
    },
    Reason {
        suites: NS3,
        kind: "NewReno",
        case: "path of 2 Mbit/s, loss 0 %, RED with ECN",
        metric: "queue drops",
        why: "the first slow start and its recovery: all that is dropped is dropped in the first 5 s, 92 here and 56 there (means of \
              six runs); in the 95 s after them neither drops anything, and 19 are marked here and 18 there",
    },
    Reason {
        suites: NS3,
        kind: "NewReno",
        case: "path of 2 Mbit/s, loss 0 %, RED",
        metric: "queue drops",
        why: FIRST_RECOVERY,
    },
    Reason {
        suites: NS3,
        kind: "NewReno, RFC 6675",
        case: "PIE",
        metric: "mean wait",
        why: "ns-3’s PIE holds to its target what the last packet that left had waited, and 0 if it left nobody behind; ours what \
              who comes now would wait. With the latter ns-3’s PIE has packets wait for 18.0 ms over the path (ours 17.8) and \
              14.1 over the dumbbell (ours 14.3)",
    },
    Reason {
        suites: NS3,
        kind: "NewReno",
        case: "",
        metric: "",
        why: "ns-3 halves what is in the pipe, without what was selectively acknowledged, where RFC 5681 halves FlightSize: \
              with its window halved instead its NewReno delivers 42 % at 1 % loss in the place of 36, 63 in the place of 57 \
              without delayed acknowledgements, and over the dumbbell it drops 1.21 % in the place of 1.07, with RED 1.33 in \
              the place of 1.10; what is left with RED is the first recovery (see the path with RED)",
    },
    Reason {
        suites: NS3,
        kind: "Reno by bytes",
        case: "",
        metric: "",
        why: "the acknowledgement that ends a recovery counts once more all that the recovery acknowledged, so that ns-3’s \
              LinuxReno gains segments there: with no more than two counted it delivers 62 % at 1 % loss in the place of 71, \
              66 in the place of 74 without delayed acknowledgements, 33 at 3 % in the place of 40; PFTK says 61 at 1 %",
    },
    Reason {
        suites: NS3,
        kind: "CUBIC",
        case: "path of 2 Mbit/s, loss 0 %, RED with ECN",
        metric: "queue drops",
        why: "the first slow start and its recovery: all that is dropped is dropped in the first 5 s, 171 here and 102 there (means of \
              six runs); in the 95 s after them neither drops anything",
    },
    Reason {
        suites: &[Suite::Ns3],
        kind: "CUBIC",
        case: "",
        metric: "",
        why: "ns-3.37’s CUBIC has no Reno-friendly region: ns-3.44’s, which has one, delivers 66 % at 1 % loss, and 43 % with \
              TcpFriendliness off; ours delivers 66 %",
    },
    Reason {
        suites: &[Suite::Ns3],
        kind: "BBR",
        case: "",
        metric: "",
        why: "ns-3.37’s BBR stalls in some runs (70 ± 32 % at 1 % loss); ns-3.44’s delivers 95 ± 1 %, ours 90 ± 1 %",
    },
    Reason {
        suites: NS3,
        kind: "Vegas",
        case: "",
        metric: "",
        why: "RFC 7323’s echo: with delayed acknowledgements a round trip includes up to 200 ms of delay, which looks like a \
              backlog; with the latest segment’s stamp ours delivers 99 % without loss instead of 56, and without delayed \
              acknowledgements the two are equivalent",
    },
    Reason {
        suites: NS3,
        kind: "Westwood+",
        case: "",
        metric: "",
        why: "ns-3 counts twice: the acknowledgement that ends a recovery counts all that it covers, of which duplicates have \
              told already and which AckedCount takes off. ns-3’s with AckedCount delivers 42 % at 3 % loss in the place of \
              75, ours without it 87 in the place of 38. Also, \
              a timer ends ns-3’s rounds after one RTT, and its RTT_min is the SYN’s: with our count, rounds, filter and cut it \
              drops 1.2 % at the dumbbell in the place of 1.4 to our 1.1, with RED 1.7 in the place of 3.3 to our 1.5, and with \
              full packets’ RTT_min as well it delivers 36 % at 3 % loss to our 38, 84 at 1 % to our 85",
    },
    Reason {
        suites: NS3,
        kind: "Veno",
        case: "path of 2 Mbit/s, loss 0 %, RED",
        metric: "queue drops",
        why: FIRST_RECOVERY,
    },
    Reason {
        suites: NS3,
        kind: "Veno",
        case: "",
        metric: "",
        why: "ns-3 rounds the expected window down, so that a backlog of two segments counts as three, and takes the new \
              window from what is in the pipe: at 1 % loss its Veno delivers 42 %; with β = 4, which undoes the rounding, 49; \
              with its window reduced instead of the pipe 52; with both 65 to our 70 (without delayed acknowledgements 71 \
              becomes 82 to our 84; at the dumbbell’s RED 1.2 % drops become 1.9 to our 2.0)",
    },
];

/// Why a row (or, of [`Suite::Traces`], a trace) is not equivalent, if that is known.
pub(crate) fn reason(suite: Suite, kind: &str, case: &str, metric: &str) -> Option<&'static str> {
    let fits = |reason: &&Reason| {
        reason.suites.contains(&suite)
            && (reason.kind.is_empty() || reason.kind == kind)
            && case.contains(reason.case)
            && (reason.metric.is_empty() || reason.metric == metric)
    };
    REASONS.iter().find(fits).map(|reason| reason.why)
}
