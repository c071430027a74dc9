//! Checks the conditions on a flow's transport.

use whyloss::{Duration, Rate, iftp, tfrc};

use super::rtp;
use super::{
    At, Checked, FASTEST, LARGEST_PACKET, LONGEST_DELAY, Place, bits_per_second, bytes,
    check_order, check_rate, expect, expect_bytes, expect_positive_span, span,
};
use crate::host::datagrams::{Law, Pattern, Spacing};
use crate::host::web::Transfers;
use crate::host::{outside, tcp};
use crate::scenario::{Flow, Transport};

/// The smallest datagram that QUIC requires of a path, in bytes (RFC 9000 §14).
const LEAST_QUIC: u32 = 1200;
/// The maximum number of transfers per second of a flow.
const MOST_TRANSFERS: f64 = 1e6;
/// The largest mean size of a transfer, in bytes.
const LARGEST_TRANSFER: u64 = 1_000_000_000_000;

pub(super) fn check(flow: &Flow, place: At) -> Checked {
    match &flow.transport {
        Transport::Datagrams { rate, pattern } => {
            check_datagrams(*rate, pattern, flow.packet_size, place)
        }
        Transport::Iftp { options, .. } => check_iftp(options, flow, place),
        Transport::Outside { .. } => check_datagram(flow, outside::HEADERS + 1, place),
        Transport::Quic { .. } => check_datagram(flow, outside::HEADERS + LEAST_QUIC, place),
        Transport::Rtp { options } => rtp::check(options, flow, place),
        Transport::Tcp { options, .. } => check_tcp(options, flow, place),
        Transport::Tfrc { options, .. } => check_tfrc(options, flow, place),
        Transport::Web { options, transfers } => {
            check_tcp(options, flow, place)?;
            check_transfers(transfers, place)
        }
    }
}

fn check_iftp(options: &iftp::Options, flow: &Flow, place: At) -> Checked {
    // The header of IPv4, and the header of IFTP in the paper's figure.
    let headers = 20 + iftp::packet::Format::IFTP.data_header() as u32;
    let size = flow.packet_size;
    let expected = format_args!("at least the {headers} B of an IFTP packet's headers");
    expect(size >= headers, place("packet"), bytes(size), expected)?;
    for (key, packets) in [
        ("transport.initial_ssthresh", options.initial_ssthresh),
        ("transport.max_window", options.max_window),
        ("transport.duplicates", options.duplicates),
    ] {
        let possible = (1..=iftp::MOST_PACKETS).contains(&packets);
        let expected = format_args!("1 to {} packets", iftp::MOST_PACKETS);
        expect(possible, place(key), packets, expected)?;
    }
    let time = options.transmission_time.unwrap_or(Duration::ZERO);
    expect_span_from_zero(time, place("transport.transmission_time"))
}

fn expect_span_from_zero(found: Duration, place: Place) -> Checked {
    let possible = (Duration::ZERO..=LONGEST_DELAY).contains(&found);
    let expected = format_args!("0 s to {}", span(LONGEST_DELAY));
    expect(possible, place, span(found), expected)
}

/// Checks that datagrams of a host from outside have room for their bytes and arrive undamaged.
pub(super) fn check_datagram(flow: &Flow, least: u32, place: At) -> Checked {
    let size = flow.packet_size;
    let expected = format_args!("at least {least} B, headers of IPv4 and UDP included");
    expect(size >= least, place("packet"), bytes(size), expected)?;
    let (none, coverage) = (flow.coverage.is_none(), flow.coverage.unwrap_or(0));
    let expected = "none: a datagram from outside arrives whole or not at all";
    expect(none, place("coverage"), bytes(coverage), expected)
}

fn check_tcp(options: &tcp::Options, flow: &Flow, place: At) -> Checked {
    let possible = (1..=flow.packet_size).contains(&options.segment_size);
    let expected = "more than the 40 B of a TCP packet's headers";
    expect(possible, place("packet"), bytes(flow.packet_size), expected)
}

fn check_transfers(transfers: &Transfers, place: At) -> Checked {
    check_transfers_per_second(transfers.per_second, place("transport.transfers"))?;
    check_transfer_size(transfers.size, place("transport.size"))?;
    check_shape(transfers.shape, place("transport.shape"))
}

pub(super) fn check_transfers_per_second(found: f64, place: Place) -> Checked {
    let possible = found > 0.0 && found <= MOST_TRANSFERS;
    let expected = format_args!("more than 0, at most {MOST_TRANSFERS}");
    expect(possible, place, found, expected)
}

pub(super) fn check_transfer_size(found: u64, place: Place) -> Checked {
    expect_bytes(found, LARGEST_TRANSFER, place)
}

fn check_datagrams(rate: Rate, pattern: &Pattern, size: u32, place: At) -> Checked {
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
            let Spacing::Exponential { least } = *spacing else {
                return Ok(());
            };
            let possible = (Duration::ZERO..mean).contains(&least);
            let expected = format_args!("0 s to less than the mean interval of {}", span(mean));
            expect(possible, place("transport.least"), span(least), expected)
        }
        Pattern::Bursts { law, burst, idle } => {
            check_sending_rate(rate, size, place("transport.rate"))?;
            expect_positive_span(*burst, place("transport.burst"))?;
            expect_span_from_zero(*idle, place("transport.idle"))?;
            match *law {
                Law::Pareto { shape } => check_shape(shape, place("transport.shape")),
                Law::Constant | Law::Exponential => Ok(()),
            }
        }
    }
}

/// Rejects a rate at which packets take no time, because the source would send endlessly at one
/// instant.
fn check_sending_rate(rate: Rate, size: u32, place: Place) -> Checked {
    check_rate(rate, place)?;
    let possible = rate.transmission_time(size) > Duration::ZERO;
    let expected = "a rate at which a packet takes at least 1 ns";
    expect(possible, place, bits_per_second(rate), expected)
}

/// Checks a Pareto shape: above 1, because there is no mean at 1, and at most 100.
fn check_shape(shape: f64, place: Place) -> Checked {
    let expected = "more than 1, at most 100: at 1 there is no mean";
    expect(shape > 1.0 && shape <= 100.0, place, shape, expected)
}

fn check_tfrc(options: &tfrc::Options, flow: &Flow, place: At) -> Checked {
    let (size, header) = (flow.packet_size, options.header);
    let found = format_args!("{size} B with its {header} B header");
    let expected = format_args!("1 B to {LARGEST_PACKET} B");
    let possible = flow.wire_size() <= LARGEST_PACKET;
    expect(possible, place("packet"), found, expected)?;
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
        expect(range.contains(&value), place(key), value, expected)?;
    }
    let (threshold, place) = (options.loss_threshold, place("transport.loss_threshold"));
    expect(threshold > 0, place, threshold, "1 to 255")
}
