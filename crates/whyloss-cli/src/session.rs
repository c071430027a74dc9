//! `whyloss send` and `whyloss recv`: run TFRC, IFTP and video calls between two hosts.

mod call;
mod watch;

use std::net::{Ipv4Addr, SocketAddrV4, ToSocketAddrs as _};
use std::path::PathBuf;

use clap::Args;
use whyloss::Duration;
use whyloss_emulate::endpoint::EndpointError;
use whyloss_emulate::endpoint::arrivals::Skew;
use whyloss_emulate::endpoint::flow::{Flow, FlowError};
use whyloss_emulate::endpoint::recv::{ReceiveOptions, receive_watched};
use whyloss_emulate::endpoint::send::{SendOptions, send};
use whyloss_emulate::spec;

use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;

/// The transport of a session, in scenario syntax (docs/reference/scenario-flows.md).
#[derive(Debug, Args)]
struct FlowArgs {
    /// Transport protocol: `tfrc`, `iftp`, `rtp` (a video call), or a table with options: '{ kind =
    /// "rtp", late = "100 ms" }'. Give `send` and `recv` the same kind.
    #[arg(long, value_name = "TRANSPORT", default_value = "tfrc")]
    transport: String,
    /// Loss classifier from `whyloss list`. With TFRC, give a receiver classifier to `recv`; with
    /// IFTP, a sender classifier to `send`. The other end ignores it.
    #[arg(long, value_name = "NAME", default_value = "unaware")]
    classifier: String,
    /// Use UDP-Lite instead of UDP, so that the kernel verifies only the covered part of a packet.
    /// Needs Linux before version 7.0, which removed UDP-Lite. Give this option to both `send` and
    /// `recv`.
    #[arg(long)]
    udp_lite: bool,
    /// Write statistics as JSON Lines to this file every second and at the end; `-` is standard
    /// output.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Fail if nothing arrives from the other end for this long.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    patience: String,
    /// At the end, score the verdicts against the true causes that `whyloss link --log` wrote to
    /// this directory.
    #[arg(long, value_name = "DIR")]
    truth: Option<PathBuf>,
}

const SEND: &str = "Example: whyloss send 10.0.0.1:5000 --file film.mp4";

const RECV: &str = "Example: whyloss recv 5000 --classifier trees --out film.mp4 --stats -";

#[derive(Debug, Args)]
#[command(after_help = SEND)]
pub(crate) struct SendArgs {
    /// Address of `whyloss recv`.
    #[arg(value_name = "HOST:PORT")]
    peer: String,
    #[command(flatten)]
    flow: FlowArgs,
    /// Bandwidth estimator that sets the rate of a video call: `whyloss`, `nada`, `scream`, or
    /// `gcc` in builds with `--features rtc`. Implies --transport rtp [default with --transport
    /// rtp: whyloss].
    #[arg(long, value_name = "NAME", conflicts_with_all = ["application", "file", "packets", "first", "coverage", "classifier"])]
    estimator: Option<String>,
    /// Feedback format of the video call: `twcc` or `rfc8888` [default: twcc].
    #[arg(long, value_name = "FORMAT", requires = "estimator")]
    feedback: Option<String>,
    /// Size of a data packet, including IP and UDP headers.
    #[arg(long, value_name = "SIZE", default_value = "1200B")]
    packet: String,
    /// Number of bytes that the checksum of each packet covers; damage in the rest is accepted
    /// (IFTP-W) [default: --packet].
    #[arg(long, value_name = "SIZE")]
    coverage: Option<String>,
    /// Traffic to generate: `greedy` (always more data), `voice`, or a video in scenario syntax: '{
    /// kind = "video", fps = 25, rate = "400 kbit/s" }'.
    #[arg(long, value_name = "APPLICATION", default_value = "greedy")]
    application: String,
    /// Send this file instead of generated traffic; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "application")]
    file: Option<PathBuf>,
    /// Stop after this many packets.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    packets: Option<u64>,
    /// Stop after this time, such as `60s`.
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Upper limit of the sending rate, headers included.
    #[arg(long, value_name = "RATE", default_value = "100mbit")]
    max_rate: String,
    /// Sequence number of the first packet.
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: u32,
}

#[derive(Debug, Args)]
#[command(after_help = RECV)]
pub(crate) struct RecvArgs {
    /// Address and port to listen on.
    #[arg(value_name = "[ADDRESS:]PORT")]
    at: String,
    #[command(flatten)]
    flow: FlowArgs,
    /// Write received data to this file, each packet at its offset; `-` is standard output, in
    /// order of arrival.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Size limit of the --out file and of the --arrivals file. Further data is dropped and
    /// counted, and the command exits with 1.
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    out_limit: String,
    /// Keep accepting sessions after the first, one at a time, even if one fails. Each session
    /// empties the --out file.
    #[arg(long)]
    keep: bool,
    /// Serve a page on localhost that shows rate and losses live, and print its address.
    #[arg(long)]
    live: bool,
    /// Write every arrival and verdict as JSON Lines to this file; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    arrivals: Option<PathBuf>,
    /// Set the receiver's clock ahead by this time, to test classifiers with clocks that differ.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    clock_offset: String,
    /// Run the receiver's clock faster by this many parts per million, or slower if negative.
    #[arg(
        long,
        value_name = "PPM",
        default_value_t = 0.0,
        value_parser = drift,
        allow_negative_numbers = true
    )]
    clock_drift: f64,
}

/// The highest drift of a clock, in parts per million.
const MOST_DRIFT: f64 = 100_000.0;

fn drift(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(drift) if drift.abs() <= MOST_DRIFT => Ok(drift),
        _ => Err(format!(
            "expected a number from -{MOST_DRIFT} to {MOST_DRIFT}, such as 50"
        )),
    }
}

fn duration(text: &str) -> Result<Duration, CliError> {
    spec::duration(text).map_err(wrong)
}

fn wrong(error: spec::SpecError) -> CliError {
    CliError::Link(Box::new(error))
}

fn flow(args: &FlowArgs, more: &[(&str, &str)]) -> Result<Flow, CliError> {
    let words = [
        ("transport", args.transport.as_str()),
        ("classifier", &args.classifier),
    ];
    Flow::parse(&[&words, more].concat())
        .map_err(|error: FlowError| CliError::Flow(Box::new(error)))
}

/// Returns the first IPv4 address of a peer.
fn address(text: &str) -> Result<SocketAddrV4, CliError> {
    let peers = text.to_socket_addrs().map_err(|error| CliError::Address {
        text: text.to_owned(),
        expected: "HOST:PORT, such as 10.0.0.1:5000",
        why: error.to_string(),
    })?;
    let peer = peers.into_iter().find_map(|peer| match peer {
        std::net::SocketAddr::V4(peer) => Some(peer),
        std::net::SocketAddr::V6(_) => None,
    });
    peer.ok_or_else(|| CliError::Address {
        text: text.to_owned(),
        expected: "a host with an IPv4 address",
        why: "it has none".into(),
    })
}

pub(crate) fn run_send(args: &SendArgs) -> Result<(), CliError> {
    let estimator = args.estimator.as_deref();
    let feedback = args.feedback.as_deref();
    if let Some(options) = call::options(&args.flow.transport, estimator, feedback)? {
        return call::send(args, &options);
    }
    let mut more = vec![
        ("packet", args.packet.as_str()),
        ("application", &args.application),
    ];
    more.extend(
        args.coverage
            .as_deref()
            .map(|coverage| ("coverage", coverage)),
    );
    let flow = flow(&args.flow, &more)?;
    let peer = address(&args.peer)?;
    let options = SendOptions {
        peer,
        flow,
        file: args.file.clone(),
        packets: args.packets,
        time: args.time.as_deref().map(duration).transpose()?,
        max_rate: spec::rate(&args.max_rate).map_err(wrong)?,
        lite: args.flow.udp_lite,
        stats: args.flow.stats.clone(),
        patience: duration(&args.flow.patience)?,
        first: args.first,
        truth: args.flow.truth.clone(),
        stop: stop_on_interrupt().map_err(CliError::Signal)?,
    };
    let sent = send(&options).map_err(endpoint)?;
    match sent.wrong {
        None | Some(0) => Ok(()),
        Some(wrong) => Err(CliError::Endpoint(EndpointError::Wrong(wrong))),
    }
}

pub(crate) fn run_recv(args: &RecvArgs) -> Result<(), CliError> {
    let port = args
        .at
        .parse::<u16>()
        .map(|port| SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port));
    let at = port
        .or_else(|_| args.at.parse::<SocketAddrV4>())
        .map_err(|error| CliError::Address {
            text: args.at.clone(),
            expected: "a port, or ADDRESS:PORT with an IPv4 address",
            why: error.to_string(),
        })?;
    if let Some(options) = call::options(&args.flow.transport, None, None)? {
        return call::receive(args, at, &options);
    }
    let options = ReceiveOptions {
        at,
        flow: flow(&args.flow, &[])?,
        out: args.out.clone(),
        out_limit: spec::bytes(&args.out_limit).map_err(wrong)?,
        lite: args.flow.udp_lite,
        once: !args.keep,
        stats: args.flow.stats.clone(),
        arrivals: args.arrivals.clone(),
        patience: duration(&args.flow.patience)?,
        skew: Skew {
            offset: duration(&args.clock_offset)?,
            drift: args.clock_drift * 1e-6,
        },
        truth: args.flow.truth.clone(),
        stop: stop_on_interrupt().map_err(CliError::Signal)?,
    };
    let mut watch = args.live.then(watch::Watch::start).transpose()?;
    let received = receive_watched(&options, &mut |now, received| {
        if let Some(watch) = &mut watch {
            watch.show(now, received);
        }
    });
    if let (Some(watch), Ok(received)) = (&mut watch, &received) {
        watch.end(received);
    }
    received.map(|_| ()).map_err(endpoint)
}

fn endpoint(error: EndpointError) -> CliError {
    match error {
        EndpointError::Interrupted => CliError::Interrupted {
            cut_short: Vec::new(),
            not_run: Vec::new(),
        },
        error => CliError::Endpoint(error),
    }
}
