//! Describes a flow and the recommended action in one paragraph.

use std::fmt::Write as _;

use crate::flow::{Flow, Protocol, packets};
use crate::loss::Side;
use crate::vantage::Vantage;

/// The number of losses with a known cause below which the summary gives no shares.
const FEW: u64 = 10;
/// The median queueing delay, in ms, that a user notices: a fifth of the one-way delay of 400 ms
/// that ITU-T G.114 allows for a conversation.
const SLOW_MS: f64 = 80.0;
/// The minimum share of one cause to count as the flow's problem.
const MOST: f64 = 0.8;
/// The doubt about the link's share, if both causes have one.
const LARGER: &str =
    ". A loss by the link at a full queue looks the same, so the link's share may be larger.";

/// Returns whether a queue makes the path slow: its median delay is above [`SLOW_MS`], whatever the
/// clocks' drift.
pub(crate) fn is_slow(flow: &Flow) -> bool {
    let queueing = flow.portrait.queueing_ms;
    queueing.is_some_and(|[half, ..]| half - flow.drift_ms() > SLOW_MS)
}

/// Returns a paragraph about the lost packets, their causes and the cost in speed.
pub fn paragraph(flow: &Flow) -> String {
    let mut text = String::new();
    let causes = flow.portrait.by_cause;
    let lost = causes.total();
    if lost == 0 {
        text = nothing_lost(flow);
        slow(&mut text, flow);
        return text;
    }
    let sides = [(Side::Before, "before"), (Side::Beyond, "behind")]
        .map(|(side, name)| (flow.lost(side), name));
    let _ = write!(
        text,
        "{} of {} lost",
        packets(lost),
        flow.counts.data_packets + flow.lost(Side::Before)
    );
    match sides {
        [(0, _), _] | [_, (0, _)] => text.push_str(". "),
        [(a, x), (b, y)] => {
            let _ = write!(text, ", {a} {x} the point of capture and {b} {y} it. ");
        }
    }
    let told = causes.congestion + causes.wireless;
    if told < FEW {
        let _ = write!(
            text,
            "The cause of {told} of them is clear, too few to say what this path suffers from."
        );
        slow(&mut text, flow);
    } else {
        verdict(&mut text, flow, told);
    }
    speed(&mut text, flow);
    text
}

fn nothing_lost(flow: &Flow) -> String {
    if flow.portrait.base_rtt_ms.is_none() {
        return "Whether anything was lost behind the point of capture cannot be told.".to_owned();
    }
    let mut text = "No loss was found".to_owned();
    let mut others = Vec::new();
    let counts = &flow.counts;
    for (many, what, rest) in [
        (counts.spurious, "retransmission", " of what had arrived"),
        (counts.reordered, "packet", " overtaken by others"),
        (counts.keep_alives, "keep-alive", ""),
    ] {
        if many > 0 {
            let plural = if many == 1 { "" } else { "s" };
            others.push(format!("{many} {what}{plural}{rest}"));
        }
    }
    if !others.is_empty() {
        let _ = write!(text, "; what looks like one: {}", others.join(", "));
    }
    text.push('.');
    text
}

/// Adds a sentence about the queue that makes the path slow, if there is one.
fn slow(text: &mut String, flow: &Flow) {
    if let Some([half, most, _]) = flow.portrait.queueing_ms
        && is_slow(flow)
    {
        let _ = write!(
            text,
            " The queueing delay is above {half:.0} ms half of the time and {most:.0} ms a tenth of it: a queue makes this path slow, or a radio that sends packets again and again."
        );
    }
}

fn verdict(text: &mut String, flow: &Flow, told: u64) {
    let portrait = &flow.portrait;
    let wireless = portrait.by_cause.wireless as f64 / told as f64;
    let percent = |share: f64| (share * 100.0).round();
    let ms = |value: Option<f64>| value.map(|ms| format!("{ms:.1} ms"));
    let queue = ms(portrait.queueing_ms.map(|queueing| queueing[2]));
    if wireless >= MOST {
        let _ = write!(
            text,
            "A lossy link, not congestion: {} % of the losses with a clear cause came",
            percent(wireless)
        );
        match portrait.wireless_run {
            Some(run) if run < 1.05 => text.push_str(" one at a time"),
            Some(run) => {
                let _ = write!(text, " in bursts of {run:.1}");
            }
            None => {}
        }
        if let (Some(at), Some(queue)) = (ms(portrait.wireless_at_ms), queue) {
            let _ = write!(text, ", at a queueing delay of {at}");
            // Between both ends, losses and queues may be on different sides.
            if !matches!(flow.vantage, Vantage::Between(_)) {
                let _ = write!(text, "; 99 % of delays here are below {queue}");
            }
        }
        text.push('.');
    } else if wireless <= 1.0 - MOST {
        let _ = write!(
            text,
            "{}: {} % of the losses with a clear cause came with a full queue",
            if wireless == 0.0 {
                "Congestion"
            } else {
                "Mostly congestion"
            },
            percent(1.0 - wireless)
        );
        if let Some(at) = ms(portrait.buffer_ms) {
            let _ = write!(text, ", at a queueing delay of {at}");
        }
        if let Some(bytes) = portrait.buffer_bytes {
            let _ = write!(text, " (about {:.0} kB)", bytes / 1000.0);
        }
        text.push_str(if wireless == 0.0 {
            ". A loss by the link at a full queue looks the same, and a sender such as BBR keeps a queue whatever is lost."
        } else {
            LARGER
        });
    } else {
        let _ = write!(
            text,
            "Both causes, congestion and a lossy link: of the losses with a clear cause, {} % came with a full queue and {} % were lost by the link{LARGER}",
            percent(1.0 - wireless),
            percent(wireless)
        );
    }
    let unknown = portrait.by_cause.unknown;
    if unknown > 0 {
        let _ = write!(text, " The cause of {} is unclear.", packets(unknown));
    }
}

fn speed(text: &mut String, flow: &Flow) {
    if let (Some(mean), Some(full)) = (flow.portrait.mean_mbps, flow.portrait.full_mbps)
        && full > mean
    {
        let who = match flow.protocol {
            Protocol::Simulated => "The flow",
            protocol => protocol.name(),
        };
        let _ = write!(
            text,
            " {who} delivered {mean:.1} Mbit/s on average, and more than {full:.1} Mbit/s a tenth of the time."
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::tests::flow;
    use crate::portrait::{ByCause, Portrait};

    fn of(congestion: u64, wireless: u64) -> Portrait {
        Portrait {
            by_cause: ByCause {
                congestion,
                wireless,
                unknown: 0,
            },
            queueing_ms: Some([90.0, 130.0, 150.0]),
            ..Portrait::default()
        }
    }

    #[test]
    fn numbers_agree_with_their_nouns() {
        let mut flow = flow(10, Vantage::Sender, Portrait::default());
        (flow.counts.spurious, flow.counts.reordered) = (3, 1);
        flow.counts.keep_alives = 2;
        assert_eq!(
            paragraph(&flow),
            "No loss was found; what looks like one: 3 retransmissions of what had arrived, \
             1 packet overtaken by others, 2 keep-alives."
        );
    }

    /// Losses at a full queue may be the link's.
    #[test]
    fn the_links_share_may_be_larger_if_both_causes_have_one() {
        for (congestion, wireless, doubted) in [(9, 1, true), (5, 5, true), (1, 9, false)] {
            let text = paragraph(&flow(10, Vantage::Sender, of(congestion, wireless)));
            assert_eq!(
                text.contains("link's share may be larger."),
                doubted,
                "{text}"
            );
        }
    }

    #[test]
    fn a_slow_path_is_named_if_losses_do_not_name_it() {
        for (congestion, named) in [(0, true), (9, true), (10, false)] {
            let text = paragraph(&flow(10, Vantage::Sender, of(congestion, 0)));
            let said = text.contains("above 90 ms half of the time and 130 ms a tenth of it");
            assert_eq!(said, named, "{text}");
        }
    }

    /// Clocks that drift by 100 ppm make 120 ms in 20 minutes.
    #[test]
    fn drifting_clocks_are_no_queue() {
        for (seconds, vantage, slow) in [
            (60, Vantage::Receiver, true),
            (1200, Vantage::Receiver, false),
            (1200, Vantage::Sender, true),
        ] {
            assert_eq!(
                is_slow(&flow(seconds, vantage, of(0, 0))),
                slow,
                "{vantage:?}"
            );
        }
    }

    #[test]
    fn delays_of_two_sides_are_not_compared() {
        let mut portrait = of(0, 10);
        portrait.wireless_at_ms = Some(4.5);
        let at_receiver = paragraph(&flow(10, Vantage::Receiver, portrait.clone()));
        let between = paragraph(&flow(10, Vantage::Between(0.5), portrait));
        let below = "at a queueing delay of 4.5 ms; 99 % of delays here are below 150.0 ms.";
        assert!(at_receiver.contains(below), "{at_receiver}");
        assert!(between.contains("of 4.5 ms."), "{between}");
    }
}
