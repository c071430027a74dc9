//! Checks the conditions on a call over RTP.

use whyloss::{Duration, Time};

use super::transport::check_datagram;
use super::{At, Checked, bits_per_second, check_rate, expect, expect_span, span};
use crate::host::{outside, rtp::Options};
use crate::scenario::Flow;

/// The headers of UDP and RTP and a hundred bytes. Smaller packets would carry almost no video.
const LEAST_PACKET: u32 = outside::HEADERS + 130;
/// The shortest interval of reports and deadlines, so that a run ends in reasonable time.
const LEAST_SPAN: Duration = Duration::from_millis(1);

pub(super) fn check(options: &Options, flow: &Flow, place: At) -> Checked {
    check_datagram(flow, LEAST_PACKET, place)?;
    let (least, most) = (options.least, options.most);
    check_rate(least, place("transport.least"))?;
    check_rate(most, place("transport.most"))?;
    let (possible, start) = (least <= most, options.start);
    let starts = (least..=most).contains(&start);
    let (least, most) = (bits_per_second(least), bits_per_second(most));
    let expected = format_args!("at least {least}, which `least` is");
    expect(possible, place("transport.most"), &most, expected)?;
    let expected = format_args!("`least` to `most`, {least} to {most}");
    expect(
        starts,
        place("transport.start"),
        bits_per_second(start),
        expected,
    )?;
    for (key, value, least) in [
        ("transport.interval", Some(options.interval), LEAST_SPAN),
        ("transport.key_interval", options.key_interval, LEAST_SPAN),
        ("transport.reaction", Some(options.reaction), Duration::ZERO),
        ("transport.patience", Some(options.patience), LEAST_SPAN),
        ("transport.late", Some(options.late), LEAST_SPAN),
    ] {
        if let Some(value) = value {
            expect_span(value, least, place(key))?;
        }
    }
    for (key, value, least, most) in [
        ("transport.frame_rate", options.frame_rate, 1.0, 1_000.0),
        ("transport.pacing", options.pacing, 1.0, 100.0),
    ] {
        let expected = format_args!("{least} to {most}");
        expect((least..=most).contains(&value), place(key), value, expected)?;
    }
    let (from, to) = options.pause.unwrap_or_default();
    let at = |time: Time| span(time - Time::ZERO);
    let (place, found) = (
        place("transport.pause"),
        format_args!("{} to {}", at(from), at(to)),
    );
    expect(from <= to, place, found, "its end second")
}
