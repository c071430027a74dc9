//! `whyloss link` without `--udp`: hosts in network namespaces, each with its command.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use whyloss_emulate::Options;
use whyloss_emulate::init::{self, Role};
use whyloss_emulate::spec::{self, HostPlan, Links};

use super::{LinkArgs, View, begin_log, duration, report};
use crate::error::CliError;
use crate::interrupt::{requests, stop_on_interrupt};

/// The hidden subcommand that prepares a namespace and starts its command.
const INIT: &str = "link-init";

pub(super) fn run(args: &LinkArgs, links: &Links) -> Result<(), CliError> {
    let hosts = hosts(args, links)?;
    let mut options = Options {
        log: args.log.clone(),
        seed: args.seed,
        late_bound: duration(&args.late_bound)?,
        mtu: args.mtu,
        internet: args.internet,
        real_time: !args.no_real_time,
        most_time: args.time.as_deref().map(duration).transpose()?,
        init: whyloss_emulate::run::init_by(INIT).map_err(CliError::Signal)?,
        stop: Arc::new(AtomicBool::new(false)),
    };
    let outside = hosts.iter().any(|host| host.command.is_none());
    if whyloss_emulate::become_root().map_err(CliError::Emulate)? && outside {
        return Err(CliError::NeedsRoot);
    }
    options.stop = stop_on_interrupt().map_err(CliError::Signal)?;
    begin_log(args, links)?;
    let mut view = View::start(args.live)?;
    let done = whyloss_emulate::run(&links.plan(hosts), &options, &mut |snapshot| {
        view.show(snapshot);
    });
    view.bar.finish_and_clear();
    let done = done.map_err(CliError::Emulate)?;
    report(args, links, &done.summary)?;
    view.end(args.log.as_deref());
    if options.stop.load(Ordering::Relaxed) {
        return Err(CliError::Interrupted {
            cut_short: Vec::new(),
            not_run: Vec::new(),
        });
    }
    if done.summary.is_faulty() {
        return Err(CliError::Faulty);
    }
    let mut failed = done
        .exits
        .iter()
        .filter_map(|(host, code)| Some((host, (*code)?)));
    match failed.find(|(_, code)| *code != 0) {
        Some((host, code)) => Err(CliError::Command {
            host: host.clone(),
            code,
        }),
        None => Ok(()),
    }
}

fn hosts(args: &LinkArgs, links: &Links) -> Result<Vec<HostPlan>, CliError> {
    let shell = |command: &OsString| vec!["sh".into(), "-c".into(), command.clone()];
    if !args.at.is_empty() {
        let host = |(name, command): &(String, String)| {
            let leads = args.leads.is_empty() || args.leads.contains(name);
            let node = links.node(name)?;
            Ok(HostPlan {
                name: name.clone(),
                node,
                command: Some(shell(&command.into())),
                leads,
            })
        };
        let hosts: Result<Vec<_>, spec::SpecError> = args.at.iter().map(host).collect();
        return hosts.map_err(|error| CliError::Link(error.into()));
    }
    let (server, client) = match &args.both {
        Some(both) => (Some(shell(&both[0])), shell(&both[1])),
        None if args.command.is_empty() => return Err(CliError::NoCommand),
        None => (None, args.command.clone()),
    };
    let (near, far) = links.ends();
    let mut hosts = vec![HostPlan {
        name: "server".into(),
        node: near,
        command: server,
        leads: false,
    }];
    for number in 1..=args.clients {
        let name = if args.clients == 1 {
            "client".into()
        } else {
            format!("client-{number}")
        };
        hosts.push(HostPlan {
            name,
            node: far,
            command: Some(client.clone()),
            leads: true,
        });
    }
    Ok(hosts)
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The role of this process, as [`Role::parse`] reads it.
    role: String,
    /// The command to start.
    #[arg(last = true)]
    command: Vec<OsString>,
}

pub(crate) fn run_init(args: &InitArgs) -> Result<u8, CliError> {
    let role = Role::parse(&args.role).ok_or(CliError::NoCommand)?;
    let again = whyloss_emulate::run::init_by(INIT).map_err(CliError::Signal)?;
    init::may_play(role).map_err(CliError::NotFirst)?;
    init::play(role, &again, &args.command, requests()).map_err(CliError::Start)
}
