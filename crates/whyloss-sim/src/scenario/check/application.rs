//! Checks the conditions on a flow's application.

use whyloss::Duration;

use super::transport::{LARGEST_TRANSFER, MOST_TRANSFERS};
use super::{Checked, LONGEST_DELAY, Place, Problem, fail, out_of_range, span};
use crate::host::datagrams::{Pattern, Spacing};
use crate::host::supply::{Application, Arrivals, SizedTransfers, Stream};
use crate::scenario::{Flow, Transport};

/// Maximum number of packets per frame.
const LARGEST_FRAME: u32 = 100_000;
/// The shortest interval between frames. Each frame is an event.
const SHORTEST: Duration = Duration::from_micros(1);
/// Maximum number of playout delays. Each is counted for every frame.
const MOST_PLAYOUTS: usize = 100;

pub(super) fn check(flow: &Flow, place: impl Fn(&'static str) -> Place) -> Checked {
    let stream = match &flow.application {
        Application::Greedy => return Ok(()),
        Application::Stream(stream) => stream,
        Application::Transfers(transfers) => {
            return check_transfers(&flow.transport, transfers, place);
        }
    };
    check_transport(&flow.transport, stream, place("application"))?;
    for (key, value, least) in [
        ("application.interval", Some(stream.interval), SHORTEST),
        ("application.patience", stream.patience, Duration::ZERO),
    ]
    .into_iter()
    .chain(
        stream
            .playout
            .iter()
            .map(|&delay| ("application.playout", Some(delay), Duration::ZERO)),
    ) {
        if let Some(value) = value
            && (value < least || value > LONGEST_DELAY)
        {
            let expected = format!("{} to {}", span(least), span(LONGEST_DELAY));
            return out_of_range(place(key), span(value), expected);
        }
    }
    if !(1..=LARGEST_FRAME).contains(&stream.packets) {
        let found = format!("{} packets a frame", stream.packets);
        let expected = format!("1 to {LARGEST_FRAME}");
        return out_of_range(place("application.rate"), found, expected);
    }
    let playouts = stream.playout.len();
    if !(1..=MOST_PLAYOUTS).contains(&playouts) {
        let expected = format!("1 to {MOST_PLAYOUTS} of them");
        return out_of_range(place("application.playout"), playouts.to_string(), expected);
    }
    Ok(())
}

fn check_transfers(
    transport: &Transport,
    transfers: &SizedTransfers,
    place: impl Fn(&'static str) -> Place,
) -> Checked {
    let refuse = |why| fail(place("application"), Problem::Application(why));
    match transport {
        Transport::Outside { .. } | Transport::Quic { .. } => {}
        Transport::Tcp { options, .. } if options.segments.is_none() => {}
        Transport::Tcp { .. } => {
            return refuse("its transfers say how many segments there are, so `segments` cannot");
        }
        Transport::Web { .. } => return refuse("web traffic has transfers of its own"),
        Transport::Datagrams { .. }
        | Transport::Iftp { .. }
        | Transport::Rtp { .. }
        | Transport::Tfrc { .. } => {
            return refuse("transfers need a transport that delivers everything: tcp or quic");
        }
    }
    if !(1..=LARGEST_TRANSFER).contains(&transfers.size) {
        let expected = format!("1 B to {LARGEST_TRANSFER} B");
        let found = format!("{} B", transfers.size);
        return out_of_range(place("application.size"), found, expected);
    }
    match transfers.arrivals {
        Arrivals::Poisson { per_second } if !(per_second > 0.0 && per_second <= MOST_TRANSFERS) => {
            let expected = format!("more than 0, at most {MOST_TRANSFERS}");
            out_of_range(
                place("application.per_second"),
                per_second.to_string(),
                expected,
            )
        }
        _ => Ok(()),
    }
}

fn check_transport(transport: &Transport, stream: &Stream, place: Place) -> Checked {
    let refuse = |why| fail(place, Problem::Application(why));
    match transport {
        Transport::Outside { .. } | Transport::Quic { .. } | Transport::Rtp { .. } => {
            refuse("a media stream needs a transport other than QUIC, RTP or a host from outside")
        }
        Transport::Web { .. } => refuse("web traffic has transfers of its own"),
        Transport::Datagrams { pattern, .. } if !is_steady(pattern) => {
            refuse("of the sources without congestion control only a steady one can carry it")
        }
        Transport::Tcp { options, .. } if options.segments.is_some() => {
            refuse("its frames say how many segments there are, so `segments` cannot")
        }
        Transport::Tcp { .. } if stream.patience.is_some() => {
            refuse("TCP delivers everything, so there can be no `patience`")
        }
        _ => Ok(()),
    }
}

/// Returns whether the pattern is a single constant rate.
fn is_steady(pattern: &Pattern) -> bool {
    matches!(pattern, Pattern::Steady { spacing: Spacing::Regular, changes } if changes.is_empty())
}
