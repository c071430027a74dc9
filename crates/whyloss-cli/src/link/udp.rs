//! `whyloss link --udp LISTEN=TARGET`: datagrams through the link, from socket to socket.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use whyloss_emulate::proxy::{Proxy, ProxyOptions};
use whyloss_emulate::spec::{HostPlan, Links};

use super::{LinkArgs, View, begin_log, duration, report};
use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;

/// Forwards until the command ends, `--time` has passed, or a signal arrives.
pub(super) fn run(args: &LinkArgs, links: &Links, ends: &str) -> Result<(), CliError> {
    let (listen, target) = addresses(ends)?;
    let over = Arc::new(AtomicBool::new(false));
    let proxy = Proxy::bind(ProxyOptions {
        listen,
        target,
        log: args.log.clone(),
        seed: args.seed,
        late_bound: duration(&args.late_bound)?,
        most_time: args.time.as_deref().map(duration).transpose()?,
        stop: over.clone(),
    })?;
    let interrupted = stop_on_interrupt().map_err(CliError::Signal)?;
    begin_log(args, links)?;
    let address = proxy.address();
    if !args.quiet {
        // This goes to standard error, because standard output belongs to the command.
        let _ = writeln!(
            std::io::stderr(),
            "forwarding UDP from {address} to {target}"
        );
    }
    let mut view = View::start(args.live)?;
    let command = start(args, address, over)?;
    let summary = proxy.run(&links.plan(hosts(links)), &mut |snapshot| {
        view.show(snapshot);
        !interrupted.load(Ordering::Relaxed)
    });
    view.bar.finish_and_clear();
    let summary = summary?;
    report(args, links, &summary)?;
    view.end(args.log.as_deref());
    if interrupted.load(Ordering::Relaxed) {
        return Err(CliError::Interrupted {
            cut_short: Vec::new(),
            not_run: Vec::new(),
        });
    }
    if summary.is_faulty() {
        return Err(CliError::Faulty);
    }
    // After `--time`, the command may still run, so there is no status to wait for.
    let status = command.filter(thread::JoinHandle::is_finished);
    match status.and_then(|command| command.join().ok()).flatten() {
        Some(status) if !status.success() => Err(CliError::Command {
            host: "client".into(),
            code: status.code().unwrap_or(1) as u8,
        }),
        _ => Ok(()),
    }
}

/// Returns the two ends of the links: the target's side first, as [`Proxy::run`] expects.
fn hosts(links: &Links) -> Vec<HostPlan> {
    let (near, far) = links.ends();
    let host = |(name, node): (&str, usize)| HostPlan {
        name: name.into(),
        node,
        command: None,
        leads: false,
    };
    [("server", near), ("client", far)].map(host).into()
}

/// Starts the command, if there is one, and sets `over` when it ends.
fn start(
    args: &LinkArgs,
    address: SocketAddr,
    over: Arc<AtomicBool>,
) -> Result<Option<thread::JoinHandle<Option<ExitStatus>>>, CliError> {
    let Some((program, arguments)) = args.command.split_first() else {
        return Ok(None);
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("WHYLOSS_UDP", address.to_string());
    let mut child = command.spawn().map_err(|error| {
        let name = program.to_string_lossy();
        CliError::Start(std::io::Error::new(
            error.kind(),
            format!("cannot start `{name}`: {error}"),
        ))
    })?;
    Ok(Some(thread::spawn(move || {
        let status = child.wait();
        over.store(true, Ordering::Relaxed);
        status.ok()
    })))
}

/// Reads two addresses from `LISTEN=TARGET`.
fn addresses(text: &str) -> Result<(SocketAddr, SocketAddr), CliError> {
    let wrong = |why: String| CliError::Address {
        text: text.to_owned(),
        expected: "LISTEN=TARGET, such as 5000=example.org:6000 or 0.0.0.0:5000=127.0.0.1:6000",
        why,
    };
    let (listen, target) = text
        .split_once('=')
        .ok_or_else(|| wrong("it has no `=`".into()))?;
    if target.is_empty() {
        return Err(wrong("the target is missing".into()));
    }
    let listen = match listen.parse::<u16>() {
        Ok(port) => (Ipv4Addr::LOCALHOST, port).into(),
        Err(_) => resolve(listen).map_err(wrong)?,
    };
    let target = resolve(target).map_err(wrong)?;
    if target.port() == 0 {
        return Err(wrong("no target has port 0".into()));
    }
    Ok((listen, target))
}

fn resolve(text: &str) -> Result<SocketAddr, String> {
    let mut addresses = text
        .to_socket_addrs()
        .map_err(|error| format!("{text}: {error}"))?;
    addresses
        .next()
        .ok_or_else(|| format!("{text} has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_an_address_and_a_port() {
        assert!(addresses("0=127.0.0.1:6000").is_ok());
        for (text, expected) in [
            ("5000", "(it has no `=`)"),
            ("5000=", "(the target is missing)"),
            ("5000=127.0.0.1:0", "(no target has port 0)"),
        ] {
            let error = addresses(text).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
