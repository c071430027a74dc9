//! Checks the conditions on a link, except on its ends.

use whyloss::Duration;
use whyloss_link::LinkSpec;
use whyloss_link::arq::MOST_TRIES;

use super::{
    At, Checked, Problem, backwards, check_delay, check_order, check_rate, expect, fail, queue,
    require, span,
};

/// Checks a link, except its ends.
pub(super) fn check(spec: &LinkSpec, place: At) -> Checked {
    check_rate(spec.rate, place("rate"))?;
    check_delay(spec.rate, spec.delay, place("delay"))?;
    check_order(&spec.delay_changes, place("delay_changes"))?;
    for &(_, delay) in &spec.delay_changes {
        check_delay(spec.rate, delay, place("delay_changes"))?;
    }
    queue::check(&spec.queue, spec.rate, place)?;
    if let Some(arq) = &spec.arq {
        let possible = (1..=MOST_TRIES).contains(&arq.tries);
        let expected = format_args!("1 to {MOST_TRIES} tries");
        expect(possible, place("arq.tries"), arq.tries, expected)?;
        check_delay(spec.rate, arq.turnaround, place("arq.turnaround"))?;
    }
    check_way(spec, place)?;
    let checked = spec.channel.check();
    checked.or_else(|error| fail(place("channel"), Problem::Channel(error)))
}

/// Checks jitter, aggregation, handovers and drawn rates.
fn check_way(spec: &LinkSpec, place: At) -> Checked {
    let together = |key, what| fail(place(key), Problem::Together(what));
    if let Some(rates) = &spec.rates {
        check_rate(rates.highest(), place("rate"))?;
        check_delay(rates.highest(), spec.delay, place("delay"))?;
    }
    if let Some(jitter) = &spec.jitter {
        check_delay(spec.rate, jitter.mean, place("jitter.mean"))?;
    }
    if let Some(bursts) = &spec.bursts {
        for (key, found) in [
            ("aggregation.airtime", bursts.airtime),
            ("aggregation.access", bursts.access),
        ] {
            let possible = (Duration::ZERO..=Duration::from_secs(1)).contains(&found);
            expect(possible, place(key), span(found), "0 s to 1 s")?;
        }
        if spec.arq.is_some_and(|arq| !arq.parallel) {
            return together(
                "arq",
                "a burst does not stop and wait: `arq` needs `parallel = true`",
            );
        }
    }
    let handovers = &spec.handovers;
    if let Some(pair) = handovers.windows(2).find(|pair| pair[0].at > pair[1].at) {
        return fail(place("handovers"), backwards((pair[0].at, pair[1].at)));
    }
    for handover in handovers {
        let rate = handover.rate.unwrap_or(spec.rate);
        check_rate(rate, place("handovers"))?;
        check_delay(
            rate,
            handover.delay.unwrap_or(spec.delay),
            place("handovers"),
        )?;
        check_delay(rate, handover.pause, place("handovers"))?;
        if let Some(channel) = &handover.channel {
            let checked = channel.check();
            checked.or_else(|error| fail(place("handovers"), Problem::Channel(error)))?;
        }
        require(
            handover.rate.is_none() || (spec.rates.is_none() && spec.trace.is_none()),
            place("handovers"),
            || Problem::Together("a rate that varies by itself cannot be changed by a handover"),
        )?;
    }
    if !handovers.is_empty() && !spec.delay_changes.is_empty() {
        return together(
            "delay_changes",
            "handovers change the delay themselves: found both `handovers` and `delay_changes`",
        );
    }
    Ok(())
}
