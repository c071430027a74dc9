//! Material to grow the receiver classifier `trees` on, and models tried in a loop. `docs/classifier.md` says how to use it.
#![forbid(unsafe_code)]

mod dump;
mod judge;
mod model;
mod networks;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
    /// What networks are drawn with.
    #[arg(long, global = true, default_value_t = 1000)]
    seed: u64,
    /// How many networks.
    #[arg(long, global = true, default_value_t = 60)]
    networks: u64,
    /// A model to ask as the driver `model`, as train.py writes it.
    #[arg(long, global = true)]
    model: Option<PathBuf>,
    /// Who decides in the flows: classifiers, `oracle`, or `model`.
    #[arg(long, global = true, value_delimiter = ',', default_value = "oracle")]
    drivers: Vec<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Write a row for each gap: the truth, and the signals under three clocks.
    Dump {
        /// The file; two more lie beside it.
        #[arg(long)]
        out: PathBuf,
    },
    /// Let the drivers compete in a loop.
    Judge {
        /// Nanoseconds of clock noise.
        #[arg(long)]
        noise: Option<u64>,
    },
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args = Args::parse();
    let drivers = networks::Drivers::new(&args.drivers, args.model.as_deref())?;
    let drawn = networks::Drawn {
        seed: args.seed,
        networks: args.networks,
        vary: matches!(args.command, Command::Dump { .. }),
    };
    match args.command {
        Command::Dump { out } => dump::run(drawn, &drivers, &out),
        Command::Judge { noise } => judge::run(drawn, &drivers, noise),
    }
}
