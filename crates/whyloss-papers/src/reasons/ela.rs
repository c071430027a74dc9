//! ElAarag, Moedinger and Hogg.

use super::Reason;
use super::Whose::{Open, Papers};

pub(super) const REASONS: &[Reason] = &[
    (
        "ela-fig-2",
        "ELA-34c",
        Open,
        "at 1e-5, where 8 % of the packets are lost, Reno loses retransmissions, too, and waits for its timer; IFTP repairs nothing. With a timer of 0.2 s they have 0.10 and 0.11 Mbit/s (`ela-sensitivity`)",
    ),
    (
        "ela-fig-8",
        "ELA-37c",
        Open,
        "2.2 to 2.6 times at 200 to 800 kbit/s: Reno repairs one loss of a window and waits a second for the others; with SACK it is 1.15 times at 400 kbit/s (`ela-sensitivity`)",
    ),
    (
        "ela-fig-9",
        "ELA-31a",
        Open,
        "no protocol that halves can: with 0.32 % lost, as of 40 sensitive bytes, TCP itself has 0.69 ± 0.01 Mbit/s, and IFTP-W 0.73 if acknowledgements meet no errors; if they do, 0.55, since each stands for one packet. IFTPV-W has 0.83",
    ),
    (
        "ela-fig-12",
        "ELA-38e",
        Open,
        "at low BERs IFTP-W stays at its largest window, where the queue stands still, while IFTP's comes and goes",
    ),
    (
        "ela-fig-14",
        "ELA-31c",
        Papers,
        "arithmetic: 40 bytes at 1e-4 are lost with 1 − e^−0.032 = 3.15 %",
    ),
    (
        "ela-fig-21",
        "ELA-42c",
        Open,
        "at 3e-7 it is 1 % below, far within their intervals: without timeouts IFTP is Reno, as it is meant to be",
    ),
    (
        "ela-fig-22",
        "ELA-42d",
        Open,
        "by 0.2 points at most beyond what is allowed: a run that loses more sends less, which biases the mean of the runs' ratios; pooled over runs, all lose what the closed form says (ELA-12)",
    ),
    (
        "ela-fig-22",
        "ELA-42f",
        Papers,
        "bit errors do not know protocols: pooled over runs, all lose what the closed form says (ELA-12)",
    ),
    (
        "ela-fig-23",
        "ELA-42g",
        Open,
        "where hardly anything is lost, all windows stay at 50 packets and all queues are alike",
    ),
    (
        "ela-fig-25",
        "ELA-43b",
        Open,
        "TCP sends bursts and repairs, IFTPV paces: at a full queue TCP loses 9 points more",
    ),
    (
        "ela-fig-27",
        "ELA-44a",
        Open,
        "at a true BER of 1e-5 8 % of the packets are lost: TCP halves, IFTPV keeps its window, and has up to five times as much",
    ),
    (
        "ela-fig-24",
        "ELA-43a",
        Open,
        "ahead but for 1e-6, where it is 5 % behind: all have 0.06 Mbit/s there, nearly all losses are congestion's, and IFTPV halves as IFTP does",
    ),
    (
        "ela-fig-27",
        "ELA-44b",
        Open,
        "IFTPV keeps its window at random losses, and is ahead at every rate",
    ),
    (
        "ela-fig-27",
        "ELA-44c",
        Open,
        "at a true BER of 1e-5 TCP and IFTPV cannot use what UDP leaves of the link",
    ),
    (
        "ela-fig-30",
        "ELA-45b",
        Open,
        "a random loss leaves IFTPV's window as it is, so it is above TCP where losses are many; the paper has it below there, where its rationale would have it above",
    ),
    (
        "ela-fig-30",
        "ELA-45c",
        Open,
        "over a shared link nearly all losses are a full queue's, where IFTPV loses 1.5 points more than TCP (Fig. 31): it has a fifth less",
    ),
    (
        "ela-fig-30",
        "ELA-45d",
        Open,
        "a random loss leaves IFTPV's window as it is: up to five times TCP",
    ),
    (
        "ela-fig-31",
        "ELA-45e",
        Open,
        "own links: by 0.1 points at most beyond what is allowed, as in Fig. 22; shared: at a full queue pacing loses 1.5 points more than TCP's bursts",
    ),
    (
        "ela-fig-32",
        "ELA-45f",
        Open,
        "where hardly anything is lost, TCP has nothing to retransmit, and its jitter is about IFTPV's",
    ),
    (
        "ela-fig-33",
        "ELA-46a",
        Open,
        "IFTP-W loses only errors in 512 of 1464 bytes: with labelled BERs 1 − e^−0.41 against 1 − e^−1.17 at 1e-4; calibrated, over links of their own, IFTPV is ahead from 1e-4 up (by three quarters at 1e-3) and 3 % behind at 3e-5",
    ),
    (
        "ela-fig-35",
        "ELA-46c",
        Open,
        "within 3 %, where hardly anything is lost; labelled, shared: IFTPV sends more, and so waits longer",
    ),
    (
        "ela-fig-36",
        "ELA-47a",
        Open,
        "labelled: IFTPV loses 69 % of its packets, IFTP-W with 40 sensitive bytes 3.1 %; keeping the window cannot make up for that. Calibrated: 0.88 against 0.024 %, and IFTPV is ahead from 512 sensitive bytes up",
    ),
    (
        "ela-fig-37",
        "ELA-47b",
        Open,
        "with all 1464 bytes sensitive they lose the same; a run that loses more sends less, which biases the mean of the runs' ratios",
    ),
    (
        "ela-fig-38",
        "ELA-47c",
        Open,
        "IFTPV sends more where its loss is the same, and so meets more queue; IFTP-W more with less sensitive",
    ),
    (
        "ela-early-loss",
        "ELA-39",
        Open,
        "1.0 % of TCP's and 0.9 % of IFTP's: from half of 32 the largest window is ten seconds away, of 120",
    ),
    (
        "ela",
        "ELA-17b",
        Open,
        "no variance of our runs: it would be with a link of 1.5 Mbit/s, 31 ± 2 ms² (`ela-sensitivity`)",
    ),
    (
        "ela-table-1",
        "*",
        Papers,
        "the printed goodputs contradict the labelled error rate: 8192 bits are clean with e^(−8192·BER), which is 0.0003, 0.44, 0.92 and 0.992; and UDP sends 1.015 Mbit/s in all eight rows, where the text says 1",
    ),
    (
        "ela-table-2",
        "*",
        Papers,
        "the printed goodputs contradict the labelled error rate: 8192 bits are clean with e^(−8192·BER), which is 0.0003, 0.44, 0.92 and 0.992; and UDP sends 1.015 Mbit/s in all eight rows, where the text says 1",
    ),
];
