//! Checks the conditions on a flow's application.

use whyloss::Duration;

use super::transport::{check_transfer_size, check_transfers_per_second};
use super::{At, Checked, Place, Problem, expect, expect_span, fail};
use crate::host::datagrams::{Pattern, Spacing};
use crate::host::supply::{Application, Arrivals, SizedTransfers, Stream};
use crate::scenario::{Flow, Transport};

/// The maximum number of packets per frame.
const LARGEST_FRAME: u32 = 100_000;
/// The shortest interval between frames. Each frame is an event.
const SHORTEST: Duration = Duration::from_micros(1);
/// The maximum number of playout delays. Each is counted for every frame.
const MOST_PLAYOUTS: usize = 100;

pub(super) fn check(flow: &Flow, place: At) -> Checked {
    let stream = match &flow.application {
        Application::Greedy => return Ok(()),
        Application::Stream(stream) => stream,
        Application::Transfers(transfers) => {
            return check_transfers(&flow.transport, transfers, place);
        }
    };
    check_transport(&flow.transport, stream, place("application"))?;
    expect_span(stream.interval, SHORTEST, place("application.interval"))?;
    if let Some(patience) = stream.patience {
        expect_span(patience, Duration::ZERO, place("application.patience"))?;
    }
    for &delay in &stream.playout {
        expect_span(delay, Duration::ZERO, place("application.playout"))?;
    }
    let possible = (1..=LARGEST_FRAME).contains(&stream.packets);
    let found = format_args!("{} packets a frame", stream.packets);
    let expected = format_args!("1 to {LARGEST_FRAME}");
    expect(possible, place("application.rate"), found, expected)?;
    let playouts = stream.playout.len();
    let possible = (1..=MOST_PLAYOUTS).contains(&playouts);
    let expected = format_args!("1 to {MOST_PLAYOUTS} of them");
    expect(possible, place("application.playout"), playouts, expected)
}

fn check_transfers(transport: &Transport, transfers: &SizedTransfers, place: At) -> Checked {
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
    check_transfer_size(transfers.size, place("application.size"))?;
    match transfers.arrivals {
        Arrivals::Poisson { per_second } => {
            check_transfers_per_second(per_second, place("application.per_second"))
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
