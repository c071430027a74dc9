//! Reads the parameters of a TCP flow: a base, and each option that differs from it.

use whyloss::Duration;
use whyloss::congestion::{
    self, ControllerKind, ControllerSpec, Growth, VegasDialect, WirelessPolicy,
};

use crate::host::tcp::{Echo, HEADERS, Options, Recovery, RtoOptions, RttSampling};

use super::own::own;
use super::scheme::Windowed;
use super::{Choice, positive, positive_or_none};
use crate::registry::{OutsideController, Registry};
use crate::scenario::error::{Fault, suggest};
use crate::scenario::fields::{Field, code};

pub(super) const KEYS: [&str; 23] = [
    "base",
    "recovery",
    "delayed_ack",
    "ack_every",
    "window",
    "initial_window",
    "initial_ssthresh",
    "segment",
    "segments",
    "handshake",
    "limited_transmit",
    "rtt_sampling",
    "rtt_tick",
    "echo",
    "timestamp_tick",
    "controller",
    "growth",
    "wireless",
    "rto_initial",
    "rto_min",
    "rto_max",
    "rto_tick",
    "ecn",
];

pub(super) const POLICIES: [&str; 6] = [
    "keep",
    "keep-window",
    "as-congestion",
    "flight-size",
    "percent",
    "keep-unless-queued",
];

/// The largest window in segments; a larger one is surely unintended.
const LARGEST_WINDOW: u64 = 1 << 20;
/// The default of `window` with `base = "ns2"`: large enough not to limit (ns-2's own default is
/// 20).
const NS2_WINDOW: u32 = 1_000;

/// Reads the fields of [`Options`], whose keys are in [`KEYS`]. Packets of `packet` bytes are full
/// segments with their headers. A controller from outside replaces that of the options.
pub(super) fn options(
    choice: &Choice<'_>,
    scheme: Option<&Windowed>,
    packet: u32,
    registry: &Registry,
) -> Result<(Options, Option<OutsideController>), Fault> {
    let segment_size = segment(choice, packet)?;
    let mut outside = scheme.and_then(|scheme| scheme.outside.clone());
    if let Some(field) = choice.get("controller") {
        outside = own(&field, "controller", registry.own_controllers())?;
    }
    let scheme = scheme.map(|scheme| scheme.spec);
    let recovery = recovery(choice, scheme)?;
    let window = choice.get("window").map(|field| segments(&field));
    let window = window.transpose()?;
    let ns2 = choice.or("base", false, |field| {
        field.one_of(&[("rfc", false), ("ns2", true)])
    })?;
    if let (true, Recovery::Rack, Some(field)) = (ns2, recovery, choice.get("recovery")) {
        return Err(field.fault(
            r#""rack" is none of ns-2's recoveries; leave out base = "ns2", or take "sack""#,
        ));
    }
    let base = if ns2 {
        Options::ns2(recovery, segment_size, window.unwrap_or(NS2_WINDOW))
    } else {
        Options::rfc(segment_size)
    };
    let kind = match scheme {
        Some(scheme) => {
            if ns2 {
                scheme.kind.of_ns2()
            } else {
                scheme.kind
            }
        }
        None if recovery == Recovery::Vegas && !ns2 => ControllerKind::Vegas(VegasDialect::Paper),
        None => base.controller.kind,
    };
    let kind = match outside {
        Some(_) => kind,
        None => choice.or("controller", kind, |field| controller(field, ns2, registry))?,
    };
    let policy = scheme.map_or(base.controller.wireless, |scheme| scheme.wireless);
    let options = Options {
        recovery,
        receive_window: window.unwrap_or(base.receive_window),
        initial_window: choice.or("initial_window", base.initial_window, segments)?,
        initial_ssthresh: choice.or("initial_ssthresh", base.initial_ssthresh, |field| {
            segments(field).map(Some)
        })?,
        segments: choice.or("segments", base.segments, |field| {
            field.integer(1..=1 << 40).map(Some)
        })?,
        handshake: choice.or("handshake", base.handshake, Field::flag)?,
        limited_transmit: choice.or("limited_transmit", base.limited_transmit, Field::flag)?,
        rtt_sampling: choice.or("rtt_sampling", base.rtt_sampling, |field| {
            field.one_of(&[
                ("once-per-window", RttSampling::OncePerWindow),
                ("every-ack", RttSampling::EveryAck),
            ])
        })?,
        rtt_tick: choice.or("rtt_tick", base.rtt_tick, |field| {
            let tick = positive(field)?;
            if tick > Duration::from_secs(1) {
                return Err(field.unexpected("a tick of at most 1 s"));
            }
            Ok(tick)
        })?,
        echo: choice.or("echo", base.echo, |field| {
            field.one_of(&[("earliest", Echo::Earliest), ("latest", Echo::Latest)])
        })?,
        timestamp_tick: choice.or("timestamp_tick", base.timestamp_tick, positive_or_none)?,
        controller: ControllerSpec {
            kind,
            wireless: choice.or("wireless", policy, wireless)?,
        },
        growth: choice.or("growth", base.growth, |field| {
            field.one_of(&[
                ("per-byte", Growth::PerByte),
                ("per-ack", Growth::PerAck),
                ("per-window", Growth::PerWindow),
            ])
        })?,
        rto: rto(choice, base.rto)?,
        ecn: choice.or("ecn", base.ecn, Field::flag)?,
        delayed_ack: choice.or("delayed_ack", base.delayed_ack, positive_or_none)?,
        ack_every: choice.or("ack_every", base.ack_every, |field| {
            field.integer(1..=255).map(|count| count as u8)
        })?,
        ..base
    };
    Ok((options, outside))
}

/// Reads the recovery of losses. The default with Vegas is Vegas's own recovery.
fn recovery(choice: &Choice<'_>, scheme: Option<ControllerSpec>) -> Result<Recovery, Fault> {
    let named = choice.get("controller").and_then(|field| field.item.text());
    let repairs = match (named, scheme.map(|scheme| scheme.kind)) {
        (Some("vegas"), _) | (None, Some(ControllerKind::Vegas(_))) => Recovery::Vegas,
        _ => Recovery::default(),
    };
    choice.or("recovery", repairs, |field| {
        field.one_of(&[
            ("reno", Recovery::Reno),
            ("newreno", Recovery::NewReno),
            ("sack", Recovery::Sack),
            ("fast-retransmit", Recovery::FastRetransmit),
            ("vegas", Recovery::Vegas),
            ("rack", Recovery::Rack),
        ])
    })
}

/// Returns the bytes that a full segment counts for.
fn segment(choice: &Choice<'_>, packet: u32) -> Result<u32, Fault> {
    choice.or(
        "segment",
        packet.saturating_sub(HEADERS),
        |field| match field.bytes()? {
            bytes @ 1..=65_535 => Ok(bytes as u32),
            _ => Err(field.unexpected("from 1 to 65535 bytes")),
        },
    )
}

/// Reads a controller by its name.
fn controller(field: &Field<'_>, ns2: bool, registry: &Registry) -> Result<ControllerKind, Fault> {
    let expected = r#"a controller, such as "westwood""#;
    let ids = congestion::REGISTRY.iter().map(|entry| entry.id);
    let name = field.name_of(expected, ids)?;
    let Some(entry) = congestion::find(name) else {
        let ids = registry.controllers().map(|line| line.id);
        let hint = suggest(name, ids);
        return Err(field.fault(format!("no controller is called {}{hint}", code(name))));
    };
    let kind = entry.build(&[]);
    let kind = kind.map_err(|error| field.fault(error.to_string()))?;
    Ok(if ns2 { kind.of_ns2() } else { kind })
}

/// Reads the reaction to a loss called wireless: a name, or a table with a policy and its
/// parameter.
pub(super) fn wireless(field: &Field<'_>) -> Result<WirelessPolicy, Fault> {
    let expected = r#"a policy, such as "keep" or { kind = "percent", percent = 80 }"#;
    let choice = Choice::of(field, "wireless", expected, &POLICIES)?;
    let percent = |most| {
        choice.only(&["percent"])?;
        let field = choice.need("percent", "a whole number of percent")?;
        field.integer(1..=most)
    };
    let policy = match choice.name {
        "keep" => WirelessPolicy::Keep,
        "keep-window" => WirelessPolicy::KeepWindow,
        "as-congestion" => WirelessPolicy::AsCongestion,
        "flight-size" => WirelessPolicy::FlightSize,
        "percent" => return Ok(WirelessPolicy::Percent(percent(100)? as u8)),
        "keep-unless-queued" => {
            return Ok(WirelessPolicy::KeepUnlessQueued(percent(10_000)? as u16));
        }
        _ => return Err(choice.unknown("policy", POLICIES)),
    };
    choice.only(&[])?;
    Ok(policy)
}

fn rto(choice: &Choice<'_>, base: RtoOptions) -> Result<RtoOptions, Fault> {
    let rto = RtoOptions {
        initial: choice.or("rto_initial", base.initial, positive)?,
        min: choice.or("rto_min", base.min, positive)?,
        max: choice.or("rto_max", base.max, positive)?,
        tick: choice.or("rto_tick", base.tick, positive)?,
    };
    check_rto(choice, rto)
}

/// Refuses timeouts of which the largest is below the smallest.
pub(super) fn check_rto(choice: &Choice<'_>, rto: RtoOptions) -> Result<RtoOptions, Fault> {
    match choice.get("rto_max").or_else(|| choice.get("rto_min")) {
        Some(field) if rto.max < rto.min => {
            Err(field.fault("the largest timeout would be below the smallest"))
        }
        _ => Ok(rto),
    }
}

fn segments(field: &Field<'_>) -> Result<u32, Fault> {
    field.integer(1..=LARGEST_WINDOW).map(|count| count as u32)
}
