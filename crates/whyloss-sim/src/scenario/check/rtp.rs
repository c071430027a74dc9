//! Checks the conditions on a call over RTP.

use whyloss::Duration;

use super::transport::check_datagram;
use super::{Checked, LONGEST_DELAY, Place, bits_per_second, check_rate, out_of_range, span};
use crate::host::{outside, rtp::Options};
use crate::scenario::Flow;

/// Headers of UDP and RTP and a hundred bytes: smaller packets would hold next to no video.
const LEAST_PACKET: u32 = outside::HEADERS + 130;
/// The shortest interval of reports and deadlines, so that a run ends in reasonable time.
const LEAST_SPAN: Duration = Duration::from_millis(1);

pub(super) fn check(
    options: &Options,
    flow: &Flow,
    place: impl Fn(&'static str) -> Place,
) -> Checked {
    check_datagram(flow, LEAST_PACKET, &place)?;
    let (least, most) = (options.least, options.most);
    check_rate(least, place("transport.least"))?;
    check_rate(most, place("transport.most"))?;
    for (key, rate, from, to) in [
        ("transport.most", most, least, most),
        ("transport.start", options.start, least, most),
    ] {
        if rate < from || rate > to {
            let limit = bits_per_second;
            let expected = match key {
                "transport.most" => format!("at least {}, which `least` is", limit(from)),
                _ => format!("`least` to `most`, {} to {}", limit(from), limit(to)),
            };
            return out_of_range(place(key), limit(rate), expected);
        }
    }
    for (key, value, least) in [
        ("transport.interval", Some(options.interval), LEAST_SPAN),
        ("transport.key_interval", options.key_interval, LEAST_SPAN),
        ("transport.reaction", Some(options.reaction), Duration::ZERO),
        ("transport.patience", Some(options.patience), LEAST_SPAN),
        ("transport.late", Some(options.late), LEAST_SPAN),
    ] {
        if let Some(value) = value
            && (value < least || value > LONGEST_DELAY)
        {
            let expected = format!("{} to {}", span(least), span(LONGEST_DELAY));
            return out_of_range(place(key), span(value), expected);
        }
    }
    for (key, value, least, most) in [
        ("transport.frame_rate", options.frame_rate, 1.0, 1_000.0),
        ("transport.pacing", options.pacing, 1.0, 100.0),
    ] {
        if !(least..=most).contains(&value) {
            return out_of_range(place(key), value.to_string(), format!("{least} to {most}"));
        }
    }
    match options.pause {
        Some((from, to)) if to < from => {
            let at = |time: whyloss::Time| span(time - whyloss::Time::ZERO);
            let found = format!("{} to {}", at(from), at(to));
            out_of_range(place("transport.pause"), found, "its end second".to_owned())
        }
        _ => Ok(()),
    }
}
