//! Checks the conditions on a link's queue.

use whyloss::Rate;
use whyloss_link::QueueSpec;
use whyloss_link::queue::{CodelSpec, Discipline, Limit, RedSpec};

use super::{
    At, Checked, MOST_IN_FLIGHT, MOST_WAITING, expect, expect_bytes, expect_packet,
    expect_positive_span,
};

/// Checks the queue of a link with this rate.
pub(super) fn check(queue: &QueueSpec, rate: Rate, place: At) -> Checked {
    match queue.limit {
        Limit::Packets(limit) => {
            let possible = (1..=MOST_WAITING).contains(&limit);
            let expected = format_args!("1 to {MOST_WAITING} packets");
            expect(possible, place("queue.packets"), limit, expected)
        }
        Limit::Bytes(limit) => expect_bytes(limit, MOST_IN_FLIGHT, place("queue.bytes")),
        Limit::Unlimited => Ok(()),
    }?;
    match &queue.discipline {
        Discipline::DropTail => Ok(()),
        Discipline::Red(red) => check_red(red, rate, place),
        Discipline::Pie(pie) => expect_positive_span(pie.target, place("queue.aqm.target")),
        Discipline::Codel(codel) => check_codel(codel, place),
        Discipline::FqCodel(fq) => {
            expect_packet(fq.quantum, place("queue.aqm.quantum"))?;
            check_codel(&fq.codel, place)
        }
    }
}

fn check_codel(codel: &CodelSpec, place: At) -> Checked {
    expect_positive_span(codel.target, place("queue.aqm.target"))?;
    expect_positive_span(codel.interval, place("queue.aqm.interval"))
}

fn check_red(red: &RedSpec, rate: Rate, place: At) -> Checked {
    expect_packet(red.mean_packet, place("queue.red.mean_packet"))?;
    expect_positive_span(red.target_delay, place("queue.red.target_delay"))?;
    for (key, value) in [
        ("queue.red.max_p", red.max_p),
        ("queue.red.weight", red.weight.unwrap_or(1.0)),
    ] {
        let possible = value > 0.0 && value <= 1.0;
        expect(possible, place(key), value, "more than 0, at most 1")?;
    }
    let most = f64::from(MOST_WAITING);
    let (min, max) = red.thresholds(rate);
    let possible = (0.0..=most).contains(&min);
    let expected = format_args!("0 to {MOST_WAITING} packets");
    expect(possible, place("queue.red.min"), min, expected)?;
    let possible = max > min && max <= 3.0 * most;
    let expected = format_args!("more packets than the lower threshold, {min}");
    expect(possible, place("queue.red.max"), max, expected)
}
