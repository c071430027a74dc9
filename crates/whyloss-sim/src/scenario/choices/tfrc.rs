//! Reads the parameters of a TFRC flow: a base, and each option that differs from it.

use whyloss::tfrc::{
    FeedbackTiming, Increase, InitialWindow, LossClock, NoFeedback, Options, Pacing, ReceiveLimit,
    RetransmitTimeout, SlowStart,
};

use super::{Choice, positive, positive_or_none};
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

pub(super) const KEYS: [&str; 22] = [
    "base",
    "retransmit_timeout",
    "no_feedback_rtts",
    "no_feedback",
    "filter",
    "damping",
    "increase",
    "receive_limit",
    "initial_rate",
    "initial_window",
    "slow_start",
    "pacing",
    "backoff_limit",
    "cap_timeouts",
    "packets_per_ack",
    "loss_threshold",
    "new_event_needs_new_round",
    "loss_clock",
    "feedback",
    "discount_floor",
    "header",
    "ecn",
];

/// Reads the fields of [`Options`].
pub(super) fn options(choice: &Choice<'_>) -> Result<Options, Fault> {
    choice.only(&KEYS)?;
    let base = choice.or("base", Options::rfc5348(), |field| {
        field.one_of(&[("rfc5348", Options::rfc5348()), ("ns2", Options::ns2())])
    })?;
    Ok(Options {
        retransmit_timeout: choice.or(
            "retransmit_timeout",
            base.retransmit_timeout,
            retransmit_timeout,
        )?,
        no_feedback_rtts: choice.or("no_feedback_rtts", base.no_feedback_rtts, |field| {
            field.integer(1..=100).map(|rtts| rtts as u32)
        })?,
        no_feedback: choice.or("no_feedback", base.no_feedback, |field| {
            field.one_of(&[
                ("lower-limit", NoFeedback::LowerLimit),
                ("halve-rate", NoFeedback::HalveRate),
            ])
        })?,
        filter: choice.or("filter", base.filter, |field| field.number(0.0..=0.999))?,
        damping: choice.or("damping", base.damping, Field::flag)?,
        increase: choice.or("increase", base.increase, |field| {
            field.one_of(&[
                ("to-limit", Increase::ToLimit),
                ("packet-per-rtt", Increase::PacketPerRtt),
            ])
        })?,
        receive_limit: choice.or("receive_limit", base.receive_limit, |field| {
            field.one_of(&[("set", ReceiveLimit::Set), ("latest", ReceiveLimit::Latest)])
        })?,
        initial_rate: choice.or("initial_rate", base.initial_rate, |field| {
            initial_rate(field).map(Some)
        })?,
        initial_window: choice.or("initial_window", base.initial_window, |field| {
            field.one_of(&[
                ("bytes", InitialWindow::Bytes),
                ("packets", InitialWindow::Packets),
            ])
        })?,
        slow_start: choice.or("slow_start", base.slow_start, |field| {
            field.one_of(&[("doubling", SlowStart::Doubling), ("ramp", SlowStart::Ramp)])
        })?,
        pacing: choice.or("pacing", base.pacing, |field| {
            field.one_of(&[
                ("nominal", Pacing::Nominal),
                ("from-last-packet", Pacing::FromLastPacket),
            ])
        })?,
        backoff_limit: choice.or("backoff_limit", base.backoff_limit, positive_or_none)?,
        cap_timeouts: choice.or("cap_timeouts", base.cap_timeouts, Field::flag)?,
        packets_per_ack: choice.or("packets_per_ack", base.packets_per_ack, |field| {
            field.number(1.0..=100.0)
        })?,
        loss_threshold: choice.or("loss_threshold", base.loss_threshold, |field| {
            field.integer(1..=u64::from(u8::MAX)).map(|n| n as u8)
        })?,
        new_event_needs_new_round: choice.or(
            "new_event_needs_new_round",
            base.new_event_needs_new_round,
            Field::flag,
        )?,
        loss_clock: choice.or("loss_clock", base.loss_clock, |field| {
            field.one_of(&[
                ("arrival", LossClock::Arrival),
                ("sender", LossClock::Sender),
            ])
        })?,
        feedback: choice.or("feedback", base.feedback, |field| {
            field.one_of(&[
                ("timer", FeedbackTiming::Timer),
                ("on-arrival", FeedbackTiming::OnArrival),
            ])
        })?,
        discount_floor: choice.or("discount_floor", base.discount_floor, |field| {
            field.number(0.0..=1.0)
        })?,
        header: choice.or("header", base.header, header)?,
        ecn: choice.or("ecn", base.ecn, Field::flag)?,
    })
}

fn retransmit_timeout(field: &Field<'_>) -> Result<RetransmitTimeout, Fault> {
    let expected = r#""four-rtt" or { ticks = "100 ms" }"#;
    if field.is_word("four-rtt") {
        return Ok(RetransmitTimeout::FourRtt);
    }
    let fields = field.fields(expected)?;
    fields.only(&["ticks"])?;
    positive(&fields.need("ticks", expected)?).map(RetransmitTimeout::Ticks)
}

/// Reads the initial rate in bytes per second, the unit of the options.
fn initial_rate(field: &Field<'_>) -> Result<f64, Fault> {
    match field.rate()?.as_bps() {
        0 => Err(field.unexpected("a rate above zero")),
        bps => Ok(bps as f64 / 8.0),
    }
}

fn header(field: &Field<'_>) -> Result<u32, Fault> {
    match field.bytes()? {
        bytes @ 0..=1_000 => Ok(bytes as u32),
        _ => Err(field.unexpected("0 B to 1000 B")),
    }
}
