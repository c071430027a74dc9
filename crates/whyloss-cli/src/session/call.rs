//! Video calls over sockets: `whyloss send --estimator NAME` and `whyloss recv --transport rtp`.

use std::io::{self, ErrorKind, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

use whyloss_emulate::spec;
use whyloss_rtc::media::socket;
use whyloss_rtc::sim;
use whyloss_sim::host::outside::HEADERS;
use whyloss_sim::host::rtp::Options;
use whyloss_sim::scenario::{Scenario, Transport};

use super::{RecvArgs, SendArgs, address, duration, wrong};
use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;

/// The transport by which both ends know a call.
pub(super) const TRANSPORT: &str = "rtp";

/// A day: calls without `--time` are not endless.
const LONGEST: &str = "86400s";

/// Reads the options as scenario files do, so that a wrong name gets the same sentence.
fn options(estimator: &str, feedback: &str) -> Result<Options, CliError> {
    let link =
        r#"{ from = "a", to = "b", rate = "1 Mbit/s", delay = "1 ms", queue = "unlimited" }"#;
    let text = format!(
        "duration = \"1 s\"\nlink = [{link}]\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n[flow.transport]\nkind = \"rtp\"\nestimator = {estimator:?}\nfeedback = {feedback:?}\n"
    );
    let scenario = Scenario::from_toml(&text, "the call", &[])?;
    match scenario.flows[0].transport {
        Transport::Rtp { options } => Ok(options),
        _ => Ok(Options::default()),
    }
}

fn network(at: SocketAddrV4) -> impl Fn(io::Error) -> CliError {
    move |error| CliError::Address {
        text: at.to_string(),
        expected: "an address that a socket can use",
        why: error.to_string(),
    }
}

pub(super) fn send(args: &SendArgs) -> Result<(), CliError> {
    let name = args.estimator.as_deref().unwrap_or("whyloss");
    let options = options(name, &args.feedback)?;
    if !sim::knows(options.estimator) {
        return Err(CliError::NoEstimator(name.to_owned()));
    }
    let peer = address(&args.peer)?;
    let packet = u32::try_from(spec::bytes(&args.packet).map_err(wrong)?).unwrap_or(u32::MAX);
    if !(200..=1_500).contains(&packet) {
        return Err(CliError::Packet(packet));
    }
    let settings = sim::settings(&options, packet - HEADERS);
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

pub(super) fn receive(args: &RecvArgs, at: SocketAddrV4) -> Result<(), CliError> {
    let here = UdpSocket::bind(at).map_err(network(at))?;
    let patience = duration(&args.flow.patience)?;
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    let settings = sim::settings(&Options::default(), 0);
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
