//! Checks the conditions on a flow's transport.

use whyloss::{Duration, Rate, iftp, tfrc};

use super::rtp;
use super::{
    Checked, FASTEST, LARGEST_PACKET, LONGEST_DELAY, Place, bits_per_second, check_order,
    check_rate, out_of_range, span,
};
use crate::host::datagrams::{Law, Pattern, Spacing};
use crate::host::web::Transfers;
use crate::host::{outside, tcp};
use crate::scenario::{Flow, Transport};

/// The smallest datagram that QUIC requires of a path, in bytes (RFC 9000 §14).
const LEAST_QUIC: u32 = 1200;
/// Maximum number of transfers per second of a flow.
pub(super) const MOST_TRANSFERS: f64 = 1e6;
/// The largest mean size of a transfer, in bytes.
pub(super) const LARGEST_TRANSFER: u64 = 1_000_000_000_000;

pub(super) fn check(flow: &Flow, place: impl Fn(&'static str) -> Place) -> Checked {
    match &flow.transport {
        Transport::Datagrams { rate, pattern } => {
            check_datagrams(*rate, pattern, flow.packet_size, place)
        }
        Transport::Iftp { options, .. } => check_iftp(options, flow, place),
        Transport::Outside { .. } => check_datagram(flow, outside::HEADERS + 1, &place),
        Transport::Quic { .. } => check_datagram(flow, outside::HEADERS + LEAST_QUIC, &place),
        Transport::Rtp { options } => rtp::check(options, flow, place),
        Transport::Tcp { options, .. } => check_tcp(options, flow, place),
        Transport::Tfrc { options, .. } => check_tfrc(options, flow, place),
        Transport::Web { options, transfers } => {
            check_tcp(options, flow, &place)?;
            check_transfers(transfers, place)
        }
    }
}

fn check_iftp(
    options: &iftp::Options,
    flow: &Flow,
    place: impl Fn(&'static str) -> Place,
) -> Checked {
    // The header of IPv4, and the header of IFTP in the paper's figure.
    let headers = 20 + iftp::packet::Format::IFTP.data_header() as u32;
    if flow.packet_size < headers {
        let expected = format!("at least the {headers} B of an IFTP packet's headers");
        return out_of_range(place("packet"), format!("{} B", flow.packet_size), expected);
    }
    for (key, packets) in [
        ("transport.initial_ssthresh", options.initial_ssthresh),
        ("transport.max_window", options.max_window),
        ("transport.duplicates", options.duplicates),
    ] {
        if !(1..=iftp::MOST_PACKETS).contains(&packets) {
            let expected = format!("1 to {} packets", iftp::MOST_PACKETS);
            return out_of_range(place(key), packets.to_string(), expected);
        }
    }
    match options.transmission_time {
        Some(time) if time < Duration::ZERO || time > LONGEST_DELAY => {
            let expected = format!("0 s to {}", span(LONGEST_DELAY));
            out_of_range(place("transport.transmission_time"), span(time), expected)
        }
        _ => Ok(()),
    }
}

/// Checks that datagrams of a host from outside have room for their bytes, and arrive undamaged.
pub(super) fn check_datagram(
    flow: &Flow,
    least: u32,
    place: impl Fn(&'static str) -> Place,
) -> Checked {
    if flow.packet_size < least {
        let expected = format!("at least {least} B, headers of IPv4 and UDP included");
        return out_of_range(place("packet"), format!("{} B", flow.packet_size), expected);
    }
    match flow.coverage {
        Some(coverage) => {
            let expected = "none: a datagram from outside arrives whole or not at all".to_owned();
            out_of_range(place("coverage"), format!("{coverage} B"), expected)
        }
        None => Ok(()),
    }
}

fn check_tcp(
    options: &tcp::Options,
    flow: &Flow,
    place: impl Fn(&'static str) -> Place,
) -> Checked {
    if options.segment_size == 0 || options.segment_size > flow.packet_size {
        let expected = "more than the 40 B of a TCP packet's headers".to_owned();
        return out_of_range(place("packet"), format!("{} B", flow.packet_size), expected);
    }
    Ok(())
}

fn check_transfers(transfers: &Transfers, place: impl Fn(&'static str) -> Place) -> Checked {
    let per_second = transfers.per_second;
    if !(per_second > 0.0 && per_second <= MOST_TRANSFERS) {
        let expected = format!("more than 0, at most {MOST_TRANSFERS}");
        return out_of_range(
            place("transport.transfers"),
            per_second.to_string(),
            expected,
        );
    }
    if transfers.size == 0 || transfers.size > LARGEST_TRANSFER {
        let expected = format!("1 B to {LARGEST_TRANSFER} B");
        return out_of_range(
            place("transport.size"),
            format!("{} B", transfers.size),
            expected,
        );
    }
    check_shape(transfers.shape, place("transport.shape"))
}

fn check_datagrams(
    rate: Rate,
    pattern: &Pattern,
    size: u32,
    place: impl Fn(&'static str) -> Place,
) -> Checked {
    match pattern {
        Pattern::Steady { spacing, changes } => {
            let place_of_changes = place("transport.rate_changes");
            check_order(changes, place_of_changes)?;
            // A rate of zero means silence, which must end.
            if rate.as_bps() > 0 || changes.is_empty() {
                check_sending_rate(rate, size, place("transport.rate"))?;
            }
            for &(_, rate) in changes.iter().filter(|(_, rate)| rate.as_bps() > 0) {
                check_sending_rate(rate, size, place_of_changes)?;
            }
            let mean = rate.transmission_time(size);
            match *spacing {
                Spacing::Exponential { least } if least < Duration::ZERO || least >= mean => {
                    let expected = format!("0 s to less than the mean interval of {}", span(mean));
                    out_of_range(place("transport.least"), span(least), expected)
                }
                _ => Ok(()),
            }
        }
        Pattern::Bursts { law, burst, idle } => {
            check_sending_rate(rate, size, place("transport.rate"))?;
            let some = Duration::from_nanos(1);
            for (key, mean, least, bound) in [
                ("transport.burst", *burst, some, "more than 0 s, at most"),
                ("transport.idle", *idle, Duration::ZERO, "0 s to"),
            ] {
                if mean < least || mean > LONGEST_DELAY {
                    let expected = format!("{bound} {}", span(LONGEST_DELAY));
                    return out_of_range(place(key), span(mean), expected);
                }
            }
            match *law {
                Law::Pareto { shape } => check_shape(shape, place("transport.shape")),
                Law::Constant | Law::Exponential => Ok(()),
            }
        }
    }
}

/// Refuses a rate at which packets take no time, because the source would send for ever at one
/// instant.
fn check_sending_rate(rate: Rate, size: u32, place: Place) -> Checked {
    check_rate(rate, place)?;
    if rate.transmission_time(size) <= Duration::ZERO {
        let expected = "a rate at which a packet takes at least 1 ns".to_owned();
        return out_of_range(place, bits_per_second(rate), expected);
    }
    Ok(())
}

/// Checks a Pareto shape: above 1, because there is no mean at 1, and at most 100.
fn check_shape(shape: f64, place: Place) -> Checked {
    if shape > 1.0 && shape <= 100.0 {
        return Ok(());
    }
    let expected = "more than 1, at most 100: at 1 there is no mean".to_owned();
    out_of_range(place, shape.to_string(), expected)
}

fn check_tfrc(
    options: &tfrc::Options,
    flow: &Flow,
    place: impl Fn(&'static str) -> Place,
) -> Checked {
    if flow.wire_size() > LARGEST_PACKET {
        let found = format!(
            "{} B with its {} B header",
            flow.packet_size, options.header
        );
        return out_of_range(place("packet"), found, format!("1 B to {LARGEST_PACKET} B"));
    }
    let initial_rate = options.initial_rate.unwrap_or(1.0);
    for (key, value, range, expected) in [
        (
            "transport.filter",
            options.filter,
            0.0..=0.999,
            "0 to 0.999",
        ),
        (
            "transport.packets_per_ack",
            options.packets_per_ack,
            1.0..=100.0,
            "1 to 100",
        ),
        (
            "transport.discount_floor",
            options.discount_floor,
            0.0..=1.0,
            "0 to 1",
        ),
        (
            "transport.initial_rate",
            initial_rate,
            f64::MIN_POSITIVE..=FASTEST.as_bps() as f64 / 8.0,
            "more than 0, at most 1000 Gbit/s",
        ),
    ] {
        if !range.contains(&value) {
            return out_of_range(place(key), value.to_string(), expected.to_owned());
        }
    }
    let threshold = options.loss_threshold;
    if threshold == 0 {
        return out_of_range(
            place("transport.loss_threshold"),
            "0".into(),
            "1 to 255".into(),
        );
    }
    Ok(())
}
