//! `whyloss link`: runs commands behind an emulated link that knows why it lost each packet.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use whyloss::Duration;
use whyloss_emulate::profiles::{self, PROFILES, Profile};
use whyloss_emulate::spec::{self, Change, DOWN, Direction, Links, UP};
use whyloss_emulate::summary::Summary;
use whyloss_emulate::{Snapshot, archive};
use whyloss_sim::text::printable;

use whyloss_study::report::renew;

use crate::error::CliError;
use crate::nearest::nearest;

#[cfg(target_os = "linux")]
mod hosts;
mod page;
mod udp;

#[cfg(target_os = "linux")]
pub(crate) use hosts::{InitArgs, run_init};

// The rate and the delay of a link if neither an option nor a profile gives them.
const DEFAULT_RATE: &str = "10mbit";
const DEFAULT_DELAY: &str = "50ms";

// The headings of the options in the help.
const LINK: &str = "Link";
const PER_DIRECTION: &str = "Per direction";
const COMMANDS_AND_NETWORKS: &str = "Commands and networks";
const OUTPUT: &str = "Output";
const TIMING: &str = "Timing";

#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, after_help = AFTER, help_template = TEMPLATE)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command"
)]
pub(crate) struct LinkArgs {
    /// Scenario file with a chain of links, in place of --rate, --delay, --queue and --loss.
    #[arg(value_name = "PATH.toml")]
    file: Option<PathBuf>,
    /// Override a key of the file, such as `link.radio.delay=20ms`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = crate::run::assignment, requires = "file", help_heading = LINK)]
    sets: Vec<(String, String)>,
    /// Use the rates, delays and losses of a named profile; --rate, --delay and --loss override
    /// them.
    #[arg(long, value_name = "NAME", conflicts_with = "file", help_heading = LINK)]
    profile: Option<String>,
    /// List the profiles and the sources of their values.
    #[arg(long, exclusive = true, help_heading = LINK)]
    list_profiles: bool,
    /// Link rate: `10mbit`, `trace:FILE` (mahimahi format: one time in ms per line, each allowing
    /// one 1500-byte packet), `recorded:NAME` (see `whyloss list`), or a chain of rates in scenario
    /// syntax [default: 10mbit].
    #[arg(long, value_name = "RATE", conflicts_with = "file", help_heading = LINK)]
    rate: Option<String>,
    /// One-way propagation delay in each direction [default: 50ms].
    #[arg(long, value_name = "TIME", conflicts_with = "file", help_heading = LINK)]
    delay: Option<String>,
    /// Random extra delay of each packet in each direction: the mean of an exponential distribution
    /// (`5ms`), or jitter in scenario syntax [default: none].
    #[arg(long, value_name = "JITTER", conflicts_with = "file", help_heading = LINK)]
    jitter: Option<String>,
    /// Link-layer retransmission in each direction, in scenario syntax: '{ tries = 7, turnaround =
    /// "4 ms" }' [default: none].
    #[arg(long, value_name = "ARQ", conflicts_with = "file", help_heading = LINK)]
    arq: Option<String>,
    /// Queue size in each direction: packets (`83`), bytes (`100kB`), `unlimited`, or a queue in
    /// scenario syntax: '{ packets = 83, red = "adaptive" }' [default: 83].
    #[arg(long, value_name = "QUEUE", conflicts_with = "file", help_heading = LINK)]
    queue: Option<String>,
    /// Channel losses in each direction: a loss probability such as `0.01`, or a CHANNEL as listed
    /// below [default: none].
    #[arg(long, value_name = "CHANNEL", conflicts_with = "file", help_heading = LINK)]
    loss: Option<String>,
    /// Link rate towards the command [default: --rate].
    #[arg(long, value_name = "RATE", conflicts_with = "file", help_heading = PER_DIRECTION)]
    rate_down: Option<String>,
    /// Link rate away from the command [default: --rate].
    #[arg(long, value_name = "RATE", conflicts_with = "file", help_heading = PER_DIRECTION)]
    rate_up: Option<String>,
    /// Delay towards the command [default: --delay].
    #[arg(long, value_name = "TIME", conflicts_with = "file", help_heading = PER_DIRECTION)]
    delay_down: Option<String>,
    /// Delay away from the command [default: --delay].
    #[arg(long, value_name = "TIME", conflicts_with = "file", help_heading = PER_DIRECTION)]
    delay_up: Option<String>,
    /// Queue towards the command [default: --queue].
    #[arg(long, value_name = "QUEUE", conflicts_with = "file", help_heading = PER_DIRECTION)]
    queue_down: Option<String>,
    /// Queue away from the command [default: --queue].
    #[arg(long, value_name = "QUEUE", conflicts_with = "file", help_heading = PER_DIRECTION)]
    queue_up: Option<String>,
    /// Channel losses towards the command [default: --loss].
    #[arg(long, value_name = "CHANNEL", conflicts_with = "file", help_heading = PER_DIRECTION)]
    loss_down: Option<String>,
    /// Channel losses away from the command [default: --loss].
    #[arg(long, value_name = "CHANNEL", conflicts_with = "file", help_heading = PER_DIRECTION)]
    loss_up: Option<String>,
    /// Change rate, delay, queue or loss at a time after the start: '10s: loss=0.05
    /// rate-down=1mbit'. The suffixes -down and -up select one direction. May be repeated.
    #[arg(long, value_name = "TIME: CHANGES", help_heading = LINK)]
    at_time: Vec<String>,
    /// Run a shell command at each end of the link, on an isolated network. The client starts when
    /// the server listens, and the server is stopped when the client has ended.
    #[arg(long, num_args = 2, value_names = ["SERVER", "CLIENT"], conflicts_with = "command", help_heading = COMMANDS_AND_NETWORKS)]
    both: Option<Vec<OsString>>,
    /// Let the command reach the Internet through the link, with this machine's networks and DNS
    /// (IPv4 and IPv6).
    #[arg(long, conflicts_with_all = ["both", "at"], help_heading = COMMANDS_AND_NETWORKS)]
    internet: bool,
    /// Forward UDP from LISTEN (PORT or ADDRESS:PORT) through the link to TARGET (HOST:PORT), until
    /// COMMAND ends or on Ctrl-C. Does not need root.
    #[arg(long, value_name = "LISTEN=TARGET", conflicts_with_all = ["both", "at", "internet", "clients", "mtu"], help_heading = COMMANDS_AND_NETWORKS)]
    udp: Option<String>,
    /// Number of clients that share the link, each in its own network namespace.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=200), help_heading = COMMANDS_AND_NETWORKS)]
    clients: u16,
    /// Run a shell command at a node of PATH.toml; may be repeated. The run ends when the commands
    /// at the --leads nodes have ended.
    #[arg(long, value_name = "NODE=COMMAND", value_parser = at, requires = "file", conflicts_with_all = ["both", "command"], help_heading = COMMANDS_AND_NETWORKS)]
    at: Vec<(String, String)>,
    /// End the run when the commands at these nodes have ended [default: all nodes of --at].
    #[arg(long, value_name = "NODE,…", value_delimiter = ',', requires = "at", help_heading = COMMANDS_AND_NETWORKS)]
    leads: Vec<String>,
    /// Write the fate of every packet and an HTML page to this directory.
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    log: Option<PathBuf>,
    /// MTU in bytes. IPv6 needs at least 1280.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(576..), help_heading = LINK)]
    mtu: u16,
    /// Seed for queues and channels.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = LINK)]
    seed: u64,
    /// Longest delay that the emulator itself may add to a packet; if it adds more, `whyloss` exits
    /// with 1.
    #[arg(long, value_name = "TIME", default_value = "10ms", help_heading = TIMING)]
    late_bound: String,
    /// Stop all commands after this time, such as `60s`.
    #[arg(long, value_name = "TIME", help_heading = TIMING)]
    time: Option<String>,
    /// Serve a live page on localhost with rates, queues, losses and lateness; also print them if
    /// standard error is a terminal.
    #[arg(long, help_heading = OUTPUT)]
    live: bool,
    /// Do not request real-time priority, and let idle cores sleep. Other programs then get more
    /// processor time, but more packets may be late.
    #[arg(long, help_heading = TIMING)]
    no_real_time: bool,
    /// Print the summary only if packets left too late or the kernel dropped any.
    #[arg(long, help_heading = OUTPUT)]
    quiet: bool,
    /// Replay the packets logged in this directory over the same links in virtual time. Exit with 1
    /// if the fate or time of a packet differs.
    #[arg(long, value_name = "DIR", exclusive = true, help_heading = OUTPUT)]
    replay: Option<PathBuf>,
    /// Command to run behind the link, with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "Examples:\n  \
                          whyloss link --internet --rate 10mbit --delay 25ms --loss-down 0.01 -- curl https://example.org\n  \
                          whyloss link --udp 5000=127.0.0.1:6000 --rate 2mbit --delay 30ms --loss 0.05";

/// The examples precede the usage: the options fill several screens.
const TEMPLATE: &str =
    "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

const AFTER: &str = "CHANNEL:\n  \
                       none                no losses\n  \
                       0.01                loss probability; the same as bernoulli:0.01\n  \
                       gilbert:1s,50ms,0.3 mean time good, mean time bad, loss probability while bad\n  \
                       bits:1e-6           bit error rate\n  \
                       recorded:NAME       model of a recorded link (see `whyloss list`)\n  \
                       pattern:PATH        recording, replayed packet by packet\n  \
                       '{ kind = … }'      channel in scenario syntax\n\n\
                     Environment variables of the commands:\n  \
                       WHYLOSS_ADDRESS  the command's own address\n  \
                       WHYLOSS_SERVER   address of the server, or of this machine without --both\n  \
                       WHYLOSS_CLIENT   address of the client\n  \
                       WHYLOSS_S1       with PATH.toml, address of the node `s1`; each node has such a variable\n  \
                       WHYLOSS_UDP      with --udp, listening address\n\
                     Each name with a 6 appended (WHYLOSS_SERVER6) holds the IPv6 address.\n\n\
                     Needs root, except with --udp. --both and --at also run in a user namespace with access to /dev/net/tun.";

fn at(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((node, command)) if !node.is_empty() => Ok((node.into(), command.into())),
        _ => Err("expected NODE=COMMAND, such as `s1=iperf3 -s`".into()),
    }
}

pub(crate) fn run_link(args: &LinkArgs, out: &mut dyn Write) -> Result<(), CliError> {
    if let Some(directory) = &args.replay {
        return replay(directory, out);
    }
    if args.list_profiles {
        return list_profiles(out);
    }
    let links = links(args)?;
    match &args.udp {
        Some(ends) => udp::run(args, &links, ends),
        #[cfg(target_os = "linux")]
        None => hosts::run(args, &links),
        #[cfg(not(target_os = "linux"))]
        None => Err(CliError::OnlyUdp),
    }
}

fn duration(text: &str) -> Result<Duration, CliError> {
    spec::duration(text).map_err(|error| CliError::Link(error.into()))
}

/// Starts the log if `--log` is given, and removes the figures of an earlier run.
fn begin_log(args: &LinkArgs, links: &Links) -> Result<(), CliError> {
    let Some(directory) = &args.log else {
        return Ok(());
    };
    renew(directory).map_err(|source| CliError::Directory {
        option: "--log",
        source,
    })?;
    archive::begin(directory, links, args.seed).map_err(CliError::Archive)
}

/// Completes the log, and prints the summary unless `--quiet` hides it.
fn report(args: &LinkArgs, links: &Links, summary: &Summary) -> Result<(), CliError> {
    if let Some(directory) = &args.log {
        archive::end(directory, summary).map_err(CliError::Archive)?;
        #[cfg(feature = "parquet")]
        whyloss_emulate::packets::write(directory).map_err(CliError::Archive)?;
        page::write(directory, links, summary)?;
    }
    if !args.quiet || summary.is_faulty() {
        // The summary goes to standard error, because standard output belongs to the command.
        let _ = write!(std::io::stderr(), "{}", printable(&summary.render()));
    }
    Ok(())
}

fn replay(directory: &Path, out: &mut dyn Write) -> Result<(), CliError> {
    let replayed = archive::replay_run(directory).map_err(CliError::Replay)?;
    let (offers, differences) = (replayed.offers, replayed.differences);
    writeln!(out, "{offers} packets at links, {differences} fates differ")?;
    match replayed.first {
        None => Ok(()),
        Some(first) => Err(CliError::Differs(first)),
    }
}

fn profile(name: &str) -> Result<&'static Profile, CliError> {
    profiles::find(name).ok_or_else(|| CliError::NoProfile {
        name: name.to_owned(),
        nearest: nearest(name, PROFILES.iter().map(|profile| profile.name.as_str())),
    })
}

/// Prints each profile with the source of its values.
fn list_profiles(out: &mut dyn Write) -> Result<(), CliError> {
    let or = |value: &Option<String>, default: &str| {
        let value = value.as_deref();
        value.map_or_else(|| format!("({default})"), str::to_owned)
    };
    let cells = |profile: &Profile| {
        let [down, up] = [&profile.rate_down, &profile.rate_up].map(|rate| or(rate, DEFAULT_RATE));
        let delay = or(&profile.delay, DEFAULT_DELAY);
        [profile.name.clone(), down, up, delay]
    };
    let head = ["profile", "down", "up", "delay"].map(str::to_owned);
    let mut widths = head.each_ref().map(String::len);
    for profile in PROFILES.iter() {
        for (width, cell) in widths.iter_mut().zip(cells(profile)) {
            *width = cell.len().max(*width);
        }
    }
    let [name, down, up, delay] = widths;
    let mut line = |cells: [String; 4], about: &str| {
        let [a, b, c, d] = cells;
        writeln!(
            out,
            "{a:<name$}  {b:>down$}  {c:>up$}  {d:>delay$}  {about}"
        )
    };
    line(head, "about")?;
    for profile in PROFILES.iter() {
        line(cells(profile), &profile.about)?;
        let empty = || [const { String::new() }; 4];
        if let Some(loss) = &profile.loss {
            line(empty(), &format!("loss: {loss}"))?;
        }
        line(empty(), &format!("source: {}", profile.source))?;
    }
    writeln!(
        out,
        "\nValues in brackets have no source: they are the defaults of --rate and --delay."
    )?;
    Ok(())
}

fn links(args: &LinkArgs) -> Result<Links, CliError> {
    let Some(path) = &args.file else {
        let profile = args.profile.as_deref().map(profile).transpose()?;
        // The option for one direction takes precedence over the one for both, the profile and the
        // default.
        let first = |values: [Option<&String>; 3], default: &str| {
            let value = values.into_iter().flatten().next();
            value.cloned().unwrap_or_else(|| default.to_owned())
        };
        let changes = args.at_time.iter().map(|text| Change::parse(text));
        let changes: Result<Vec<_>, _> = changes.collect();
        let changes = changes
            .map_err(|error| CliError::Link(error.into()))?
            .concat();
        let changes_of = |way| {
            let here = changes
                .iter()
                .filter(|change| change.way.is_none_or(|of| of == way));
            here.cloned().collect()
        };
        let direction = |way, own: [&Option<String>; 4], rate: Option<&String>| {
            let [own_rate, own_delay, own_queue, own_loss] = own.map(Option::as_ref);
            let delay = profile.and_then(|profile| profile.delay.as_ref());
            let loss = profile.and_then(|profile| profile.loss.as_ref());
            Direction {
                rate: first([own_rate, args.rate.as_ref(), rate], DEFAULT_RATE),
                delay: first([own_delay, args.delay.as_ref(), delay], DEFAULT_DELAY),
                jitter: args.jitter.clone().unwrap_or_default(),
                arq: args.arq.clone().unwrap_or_default(),
                queue: first([own_queue, args.queue.as_ref(), None], "83"),
                loss: first([own_loss, args.loss.as_ref(), loss], "none"),
                changes: changes_of(way),
            }
        };
        let down = direction(
            DOWN,
            [
                &args.rate_down,
                &args.delay_down,
                &args.queue_down,
                &args.loss_down,
            ],
            profile.and_then(|profile| profile.rate_down.as_ref()),
        );
        let up = direction(
            UP,
            [&args.rate_up, &args.delay_up, &args.queue_up, &args.loss_up],
            profile.and_then(|profile| profile.rate_up.as_ref()),
        );
        return Links::pair(&down, &up).map_err(|error| CliError::Link(error.into()));
    };
    if !args.at_time.is_empty() {
        return Err(CliError::ChangesOfFile);
    }
    let text = whyloss_sim::scenario::read_file(path).map_err(|source| CliError::Unreadable {
        kind: "scenario",
        path: path.clone(),
        source,
    })?;
    let links = Links::from_toml(&text, &path.to_string_lossy(), &args.sets);
    links.map_err(|error| CliError::Link(error.into()))
}

/// The live view: a page, and lines on a terminal.
struct View {
    bar: ProgressBar,
    /// The time and bytes at the previous line.
    last: (f64, Vec<u64>),
    page: Option<page::Watch>,
}

impl View {
    fn start(live: bool) -> Result<Self, CliError> {
        let terminal = live && std::io::stderr().is_terminal();
        let bar = if terminal {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Ok(Self {
            bar,
            last: (0.0, Vec::new()),
            page: live.then(page::Watch::start).transpose()?,
        })
    }

    fn show(&mut self, snapshot: &Snapshot<'_>) {
        self.bar.set_message(line(snapshot, &mut self.last));
        if let Some(page) = &mut self.page {
            page.show(snapshot);
        }
    }

    fn end(self, log: Option<&Path>) {
        if let Some(page) = self.page {
            page.end(log);
        }
    }
}

/// Formats one line per link for the terminal. `last` holds the time in seconds and the bytes per
/// link of the previous call.
fn line(snapshot: &Snapshot<'_>, last: &mut (f64, Vec<u64>)) -> String {
    let now = snapshot.now.as_secs_f64();
    last.1.resize(snapshot.links.len(), 0);
    let mut text = format!("{now:7.1} s");
    for ((link, waiting), before) in snapshot.links.iter().zip(snapshot.waiting).zip(&mut last.1) {
        let rate = (link.bytes - *before) as f64 * 8e-6 / (now - last.0).max(1e-9);
        *before = link.bytes;
        let _ = write!(
            text,
            "\n  {:<10} {rate:8.2} Mbit/s   queue {waiting:5}   lost: overflow {}, aqm {}, channel {}   damaged {}",
            link.name, link.overflow, link.aqm, link.channel, link.damaged
        );
    }
    last.0 = now;
    let millis = |nanos| Duration::from_nanos(nanos as i64).as_secs_f64() * 1e3;
    let late = snapshot.lateness;
    text + &format!(
        "\n  lateness p50 {:.3} ms, p99 {:.3} ms",
        millis(late.p50_ns),
        millis(late.p99_ns)
    )
}
