//! Reads the parameters of a TFRC flow: a base, and each option that differs from it.

use whyloss::tfrc::{
    FeedbackTiming, Increase, InitialWindow, LossClock, NoFeedback, Options, Pacing, ReceiveLimit,
    RetransmitTimeout, SlowStart,
};

use super::{Choice, positive, positive_or_none};
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

options! { Options, keys: KEYS, read: over {
    retransmit_timeout: retransmit_timeout,
    no_feedback_rtts: |field| field.integer(1..=100).map(|rtts| rtts as u32),
    no_feedback: |field| field.one_of(&[
        ("lower-limit", NoFeedback::LowerLimit),
        ("halve-rate", NoFeedback::HalveRate),
    ]),
    filter: |field| field.number(0.0..=0.999),
    damping: Field::flag,
    increase: |field| field.one_of(&[
        ("to-limit", Increase::ToLimit),
        ("packet-per-rtt", Increase::PacketPerRtt),
    ]),
    receive_limit: |field| field.one_of(&[
        ("set", ReceiveLimit::Set),
        ("latest", ReceiveLimit::Latest),
    ]),
    initial_rate: |field| initial_rate(field).map(Some),
    initial_window: |field| field.one_of(&[
        ("bytes", InitialWindow::Bytes),
        ("packets", InitialWindow::Packets),
    ]),
    slow_start: |field| field.one_of(&[
        ("doubling", SlowStart::Doubling),
        ("ramp", SlowStart::Ramp),
    ]),
    pacing: |field| field.one_of(&[
        ("nominal", Pacing::Nominal),
        ("from-last-packet", Pacing::FromLastPacket),
    ]),
    backoff_limit: positive_or_none,
    cap_timeouts: Field::flag,
    packets_per_ack: |field| field.number(1.0..=100.0),
    loss_threshold: |field| field.integer(1..=u64::from(u8::MAX)).map(|n| n as u8),
    new_event_needs_new_round: Field::flag,
    loss_clock: |field| field.one_of(&[
        ("arrival", LossClock::Arrival),
        ("sender", LossClock::Sender),
    ]),
    feedback: |field| field.one_of(&[
        ("timer", FeedbackTiming::Timer),
        ("on-arrival", FeedbackTiming::OnArrival),
    ]),
    discount_floor: |field| field.number(0.0..=1.0),
    header: header,
    ecn: Field::flag,
} }

/// Reads the fields of [`Options`].
pub(super) fn options(choice: &Choice<'_>) -> Result<Options, Fault> {
    choice.only(&[&["base"], KEYS].concat())?;
    let bases = [("rfc5348", Options::rfc5348()), ("ns2", Options::ns2())];
    let base = choice.or("base", Options::rfc5348(), |field| field.one_of(&bases))?;
    over(choice, &base)
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
