//! Checks the conditions on a link's queue.

use whyloss::{Duration, Rate};
use whyloss_link::QueueSpec;
use whyloss_link::queue::{CodelSpec, Discipline, Limit, RedSpec};

use super::{
    Checked, LARGEST_PACKET, LONGEST_DELAY, MOST_IN_FLIGHT, MOST_WAITING, Place, out_of_range, span,
};

/// Checks the queue of a link with this rate.
pub(super) fn check(
    queue: &QueueSpec,
    rate: Rate,
    place: impl Fn(&'static str) -> Place,
) -> Checked {
    match queue.limit {
        Limit::Packets(limit) if limit == 0 || limit > MOST_WAITING => {
            let expected = format!("1 to {MOST_WAITING} packets");
            out_of_range(place("queue.packets"), limit.to_string(), expected)
        }
        Limit::Bytes(limit) if limit == 0 || limit > MOST_IN_FLIGHT => {
            let expected = format!("1 B to {MOST_IN_FLIGHT} B");
            out_of_range(place("queue.bytes"), format!("{limit} B"), expected)
        }
        _ => Ok(()),
    }?;
    match &queue.discipline {
        Discipline::DropTail => Ok(()),
        Discipline::Red(red) => check_red(red, rate, place),
        Discipline::Pie(pie) => check_span(pie.target, place("queue.aqm.target")),
        Discipline::Codel(codel) => check_codel(codel, place),
        Discipline::FqCodel(fq) => {
            if fq.quantum == 0 || fq.quantum > LARGEST_PACKET {
                let expected = format!("1 B to {LARGEST_PACKET} B");
                let found = format!("{} B", fq.quantum);
                return out_of_range(place("queue.aqm.quantum"), found, expected);
            }
            check_codel(&fq.codel, place)
        }
    }
}

fn check_codel(codel: &CodelSpec, place: impl Fn(&'static str) -> Place) -> Checked {
    check_span(codel.target, place("queue.aqm.target"))?;
    check_span(codel.interval, place("queue.aqm.interval"))
}

fn check_span(found: Duration, place: Place) -> Checked {
    if found <= Duration::ZERO || found > LONGEST_DELAY {
        let expected = format!("more than 0 s, at most {}", span(LONGEST_DELAY));
        return out_of_range(place, span(found), expected);
    }
    Ok(())
}

fn check_red(red: &RedSpec, rate: Rate, place: impl Fn(&'static str) -> Place) -> Checked {
    if red.mean_packet == 0 || red.mean_packet > LARGEST_PACKET {
        let expected = format!("1 B to {LARGEST_PACKET} B");
        let found = format!("{} B", red.mean_packet);
        return out_of_range(place("queue.red.mean_packet"), found, expected);
    }
    if red.target_delay <= Duration::ZERO || red.target_delay > LONGEST_DELAY {
        let expected = format!("more than 0 s, at most {}", span(LONGEST_DELAY));
        let found = span(red.target_delay);
        return out_of_range(place("queue.red.target_delay"), found, expected);
    }
    for (key, value) in [
        ("queue.red.max_p", red.max_p),
        ("queue.red.weight", red.weight.unwrap_or(1.0)),
    ] {
        if !(value > 0.0 && value <= 1.0) {
            let expected = "more than 0, at most 1".to_owned();
            return out_of_range(place(key), value.to_string(), expected);
        }
    }
    let most = f64::from(MOST_WAITING);
    let (min, max) = red.thresholds(rate);
    if !(0.0..=most).contains(&min) {
        let expected = format!("0 to {MOST_WAITING} packets");
        return out_of_range(place("queue.red.min"), min.to_string(), expected);
    }
    if !(max > min && max <= 3.0 * most) {
        let expected = format!("more packets than the lower threshold, {min}");
        return out_of_range(place("queue.red.max"), max.to_string(), expected);
    }
    Ok(())
}
