//! Generates the training data of the classifiers `trees`, for receivers and senders, and tests
//! models in closed loop. `docs/evidence/classifier.md` describes the procedure.
#![forbid(unsafe_code)]

mod dump;
mod evidence;
mod judge;
mod look;
mod model;
mod networks;
mod scenario;
mod schemes;
mod senders;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use whyloss_study::arena::{Laws, Queue, Radios, Transport};

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
    /// The seed with which networks are drawn.
    #[arg(long, global = true, default_value_t = 1000)]
    seed: u64,
    /// The number of networks.
    #[arg(long, global = true, default_value_t = 60)]
    networks: u64,
    /// The drivers, which decide in the judged flows, separated by commas: classifiers in scenario
    /// syntax (`spike`, `{ name = "mbiaz", upper = 1.3 }`), `oracle`, or files of models that
    /// train.py wrote (`*.txt`).
    #[arg(long, global = true, default_value = "oracle")]
    drivers: String,
    /// The distributions from which networks are drawn: the arena's; long, with round trips uniform
    /// from 10 to 400 ms and each last hop as fast as a backbone; or uniform, without log-uniform
    /// values.
    #[arg(long, global = true, default_value = "arena", value_parser = laws)]
    laws: Laws,
    /// A file of channels, one per line as in a scenario, from which the channel of each noisy link
    /// is drawn.
    #[arg(long, global = true)]
    channels: Option<PathBuf>,
    /// A recording whose losses noisy links replay, as in the arena.
    #[arg(long, global = true, conflicts_with = "channels")]
    recordings: Option<PathBuf>,
    /// The half of its trials that is replayed: odd, or even (0, 2, 4, …).
    #[arg(long, global = true, default_value = "odd", value_parser = half)]
    half: usize,
    /// The transport of the flows: tfrc, with receiver classifiers; newreno or cubic, with sender
    /// classifiers (`dump` then takes the two in turn).
    #[arg(long, global = true, default_value = "tfrc", value_parser = transport)]
    transport: Transport,
    /// More options of TCP in scenario syntax: `ack_every = 8, rtt_tick = "10 ms"`.
    #[arg(long, global = true, default_value = "")]
    tcp: String,
}

#[derive(Subcommand)]
enum Command {
    /// Write a row for each gap (the truth, and the signals under three clocks), or for each loss
    /// event of senders.
    Dump {
        /// The length of a run in seconds, of which the first ten do not count.
        #[arg(long, default_value_t = 130)]
        seconds: u32,
        /// The output file; two more files are written next to it.
        #[arg(long)]
        out: PathBuf,
    },
    /// Let the drivers decide in a scenario file.
    Run {
        /// The file.
        file: PathBuf,
        /// The prefix of the names of the flows in which the drivers decide.
        #[arg(long)]
        flows: String,
        /// An override of a key, as in `whyloss run`.
        #[arg(long = "set", value_name = "KEY=VALUE")]
        sets: Vec<String>,
        /// The number of seeds, starting with seed 1.
        #[arg(long, default_value_t = 5)]
        seeds: u64,
    },
    /// Print the signals of each loss event of a scenario's first flow.
    Look {
        /// The file.
        file: PathBuf,
        /// An override of a key, as in `whyloss run`.
        #[arg(long = "set", value_name = "KEY=VALUE")]
        sets: Vec<String>,
    },
    /// Compare whole schemes: the packets that each receives, and its harm to a flow without a
    /// classifier in networks without channel losses.
    Schemes {
        /// Controllers, or controllers with classifiers (`cubic+trees`), separated by commas;
        /// goodput is relative to the first.
        contenders: String,
        /// Use QUIC for the judged flows.
        #[arg(long)]
        quic: bool,
        /// Limit the queues of narrow links to 4 to 8 packets.
        #[arg(long)]
        shallow: bool,
        /// The queues that replace the drawn ones, as in the arena.
        #[arg(long, default_value = "drawn", value_parser = queue)]
        queue: Queue,
        /// The length of a run in seconds, of which the first ten do not count.
        #[arg(long, default_value_t = 130)]
        seconds: u32,
        /// The number of seeds of each network.
        #[arg(long, default_value_t = 1)]
        seeds: u64,
        /// Instead, write the rows on which the trees of `whyloss` are grown to this file.
        #[arg(long)]
        evidence: Option<PathBuf>,
        /// Write the rows of networks whose channels lose nothing.
        #[arg(long, requires = "evidence")]
        clean: bool,
        /// Measure only the harm.
        #[arg(long)]
        only_harm: bool,
        /// Write the values of each network to this file.
        #[arg(long)]
        csv: Option<PathBuf>,
    },
    /// Compare the drivers in closed loop.
    Judge {
        /// The clock noise, in ns.
        #[arg(long)]
        noise: Option<u64>,
        /// Write the values of each network to this file.
        #[arg(long)]
        csv: Option<PathBuf>,
        /// The queues that replace the drawn ones, as in the arena: droptail, red, codel, fq-codel
        /// or pie.
        #[arg(long, default_value = "drawn", value_parser = queue)]
        queue: Queue,
        /// Let noisy links retransmit, as in the arena.
        #[arg(long)]
        arq: bool,
        /// Also measure the harm to a flow without a classifier, which takes three times as many
        /// runs.
        #[arg(long)]
        harm: bool,
    },
}

fn transport(name: &str) -> Result<Transport, String> {
    let known = Transport::ALL.iter().find(|known| known.id() == name);
    known
        .copied()
        .ok_or("no transport of the arena has this name".to_owned())
}

fn laws(name: &str) -> Result<Laws, String> {
    Ok(match name {
        "arena" => Laws::Arena,
        "long" => Laws::Long,
        "uniform" => Laws::Uniform,
        _ => return Err("networks are drawn by laws arena, long or uniform".to_owned()),
    })
}

/// Returns the number of the first trial of a half.
fn half(name: &str) -> Result<usize, String> {
    let halves = ["even", "odd"];
    let place = halves.iter().position(|half| *half == name);
    place.ok_or("a half is even or odd".to_owned())
}

fn queue(name: &str) -> Result<Queue, String> {
    Ok(match name {
        "drawn" => Queue::Drawn,
        "droptail" => Queue::DropTail,
        "red" => Queue::Red,
        "codel" => Queue::Codel,
        "fq-codel" => Queue::FqCodel,
        "pie" => Queue::Pie,
        _ => return Err("no queue of the arena has this name".to_owned()),
    })
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args = Args::parse();
    whyloss_quic::sim::install();
    let drivers = networks::Drivers::new(&args.drivers)?;
    let mut drawn = networks::Drawn {
        seed: args.seed,
        networks: args.networks,
        varied: None,
        queue: Queue::Drawn,
        arq: false,
        laws: args.laws,
        radios: match (&args.channels, &args.recordings) {
            (Some(path), _) => networks::given(path)?,
            (None, Some(path)) => networks::replayed(path, args.half)?,
            (None, None) => Radios::Drawn,
        },
        transport: args.transport,
        tcp: if args.tcp.is_empty() {
            ""
        } else {
            format!(", {}", args.tcp).leak()
        },
    };
    match args.command {
        Command::Dump { out, seconds } => {
            drawn.varied = Some(seconds);
            if args.transport == Transport::Tfrc {
                dump::run(drawn, &drivers, &out)
            } else {
                senders::run(drawn, &drivers, &out)
            }
        }
        Command::Run {
            file,
            flows,
            sets,
            seeds,
        } => scenario::run(&file, &flows, &sets, seeds, &drivers),
        Command::Look { file, sets } => look::run(&file, &sets, &args.drivers, args.seed),
        Command::Schemes {
            contenders,
            quic,
            shallow,
            queue,
            seconds,
            only_harm,
            csv,
            evidence,
            clean,
            seeds,
        } => {
            drawn.queue = queue;
            let setting = schemes::Setting {
                drawn,
                quic,
                shallow,
                seconds,
                seeds,
            };
            let contenders: Vec<String> = contenders.split(',').map(str::to_owned).collect();
            if let Some(out) = evidence {
                return evidence::run(setting, clean, &out);
            }
            schemes::run(setting, &contenders, only_harm, csv.as_deref())
        }
        Command::Judge {
            noise,
            csv,
            queue,
            arq,
            harm,
        } => {
            (drawn.queue, drawn.arq) = (queue, arq);
            judge::run(drawn, &drivers, noise, harm, csv.as_deref())
        }
    }
}
