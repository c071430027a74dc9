//! Video calls over sockets: `whyloss send --estimator NAME` and `whyloss recv --transport rtp`.

use std::io::{self, ErrorKind, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

use whyloss_emulate::spec;
use whyloss_rtc::media::socket;
use whyloss_rtc::sim;
use whyloss_sim::host::outside::HEADERS;
use whyloss_sim::host::rtp::{Estimator, Options};
use whyloss_sim::scenario::{Scenario, Transport};

use super::{FlowArgs, RecvArgs, SendArgs, address, duration, wrong};
use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;

/// The duration of a call without `--time`: one day.
const LONGEST: &str = "86400s";

/// Reads the options of a call, in the syntax of scenario files. Returns `None` if `transport` is
/// not RTP and no estimator is given.
pub(super) fn options(
    transport: &str,
    estimator: Option<&str>,
    feedback: Option<&str>,
) -> Result<Option<Options>, CliError> {
    let text = "duration = \"1 s\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                queue = \"unlimited\"\n[[flow]]\nname = \"session\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"tfrc\"\n";
    let read = |sets: &[(&str, &str)]| {
        let sets = sets.iter();
        let sets: Vec<_> = sets
            .map(|(key, value)| (format!("flow.session.{key}"), (*value).to_owned()))
            .collect();
        let scenario = Scenario::from_toml(text, "the options", &sets)?;
        Ok::<_, CliError>(match scenario.flows[0].transport {
            Transport::Rtp { options } => Some(options),
            _ => None,
        })
    };
    let named = read(&[("transport", transport)])?;
    let Some(estimator) = estimator else {
        return Ok(named);
    };
    // An estimator implies a call, so another transport is an error.
    let transport = if named.is_some() && transport != "rtp" {
        transport
    } else {
        "{ kind = \"rtp\" }"
    };
    let mut sets = vec![("transport", transport), ("transport.estimator", estimator)];
    sets.extend(feedback.map(|feedback| ("transport.feedback", feedback)));
    read(&sets)
}

fn network(at: SocketAddrV4) -> impl Fn(io::Error) -> CliError {
    move |error| CliError::Address {
        text: at.to_string(),
        expected: "an address that a socket can use",
        why: error.to_string(),
    }
}

/// Returns an error if an option is set that a call ignores.
fn refuse(options: &[(&'static str, bool)]) -> Result<(), CliError> {
    match options.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(CliError::NotInCalls(name)),
        None => Ok(()),
    }
}

fn of_both(flow: &FlowArgs) -> [(&'static str, bool); 3] {
    [
        ("--stats", flow.stats.is_some()),
        ("--truth", flow.truth.is_some()),
        ("--udp-lite", flow.udp_lite),
    ]
}

pub(super) fn send(args: &SendArgs, options: &Options) -> Result<(), CliError> {
    refuse(&of_both(&args.flow))?;
    if options.estimator == Estimator::Oracle {
        return Err(CliError::NoTruth);
    }
    if !sim::knows(options.estimator) {
        let name = args.estimator.as_deref().unwrap_or("gcc");
        return Err(CliError::NoEstimator(name.to_owned()));
    }
    let peer = address(&args.peer)?;
    let packet = u32::try_from(spec::bytes(&args.packet).map_err(wrong)?).unwrap_or(u32::MAX);
    if !(200..=1_500).contains(&packet) {
        return Err(CliError::Packet(packet));
    }
    let settings = sim::settings(options, packet - HEADERS);
    let bounds = (settings.start, settings.least, settings.most);
    let estimator = sim::estimator(options.estimator, bounds.0, bounds.1, bounds.2);
    let here = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(network(peer))?;
    here.connect(peer).map_err(network(peer))?;
    let time = duration(args.time.as_deref().unwrap_or(LONGEST))?;
    let patience = duration(&args.flow.patience)?;
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    let sent = socket::send(&here, settings, estimator, time, patience, &stop);
    let sent = sent.map_err(|error| match error.kind() {
        ErrorKind::TimedOut => CliError::Address {
            text: peer.to_string(),
            expected: "a peer that reports what arrives, such as `whyloss recv --transport rtp`",
            why: "no report came".to_owned(),
        },
        _ => network(peer)(error),
    })?;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "sent {} packets, {} bytes; {} reports; target at the end {:.0} kbit/s",
        sent.packets,
        sent.bytes,
        sent.reports,
        sent.target / 1e3
    )?;
    Ok(())
}

pub(super) fn receive(
    args: &RecvArgs,
    at: SocketAddrV4,
    options: &Options,
) -> Result<(), CliError> {
    refuse(&of_both(&args.flow))?;
    refuse(&[
        ("--out", args.out.is_some()),
        ("--keep", args.keep),
        ("--live", args.live),
        ("--arrivals", args.arrivals.is_some()),
        ("--clock-offset", args.clock_offset != "0s"),
        ("--clock-drift", args.clock_drift != 0.0),
    ])?;
    let here = UdpSocket::bind(at).map_err(network(at))?;
    let patience = duration(&args.flow.patience)?;
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    let settings = sim::settings(options, 0);
    let received = socket::receive(&here, &settings, patience, &stop).map_err(network(at))?;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "received {} packets, {} bytes; showed {} frames, {} late; {} freezes of {:.0} ms in all",
        received.packets,
        received.bytes,
        received.shown,
        received.late,
        received.freezes,
        received.frozen.as_secs_f64() * 1e3
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyloss::Duration;
    use whyloss_sim::host::rtp::Feedback;

    #[test]
    fn a_call_has_the_choices_of_its_table() {
        let read = |transport, estimator, feedback| options(transport, estimator, feedback);
        assert!(matches!(read("tfrc", None, None), Ok(None)));
        let plain = read("rtp", None, None).ok().flatten();
        assert_eq!(plain, Some(Options::default()));
        let table = "{ kind = \"rtp\", late = \"100 ms\", nack = false, feedback = \"rfc8888\" }";
        let call = read(table, None, None).ok().flatten().expect("a call");
        assert_eq!((call.late, call.nack), (Duration::from_millis(100), false));
        assert_eq!(call.feedback, Feedback::Rfc8888);
        let call = read(table, Some("nada"), Some("twcc")).ok().flatten();
        let call = call.expect("a call");
        assert_eq!(call.late, Duration::from_millis(100));
        assert_eq!(
            (call.estimator, call.feedback),
            (Estimator::Nada, Feedback::Twcc)
        );
        let call = read("tfrc", Some("nada"), None).ok().flatten();
        assert_eq!(call.map(|call| call.estimator), Some(Estimator::Nada));
        assert!(read("{ kind = \"rtp\", late = 3 }", None, None).is_err());
    }
}
