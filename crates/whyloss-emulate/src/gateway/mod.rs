//! Connects a link to the networks of this machine: translated addresses, forwarding, and a
//! resolver.
//!
//! A separate process, the gateway, holds all of it. The emulator holds the gateway's standard
//! input and never writes to it. When the emulator ends for any reason, the gateway reads the end
//! of that input, undoes its changes and ends. Another process, `nft`, owns the table of rules, and
//! the kernel removes the table with its owner.

mod resolver;
mod settings;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::{fs, thread};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::addresses::{LENGTH6, Prefix, with_ipv4};
use settings::Settings;

/// The prefix of the names of devices of runs, outside the hosts. Rules match it, so no other
/// device may have it: neither one that the kernel or udev names (`wlan0`, `wlp3s0`), nor a host's.
pub(crate) const DEVICES: &str = "whylink";

/// The word that reports a running gateway; any other text is an error.
const READY: &str = "ready";

/// The environment variable that carries the resolver's configuration to the first process of a
/// command.
pub(crate) const VARIABLE: &str = "WHYLOSS_RESOLV_CONF";

const RESOLV_CONF: &str = "/etc/resolv.conf";

/// The gateway, from the emulator's side.
#[derive(Debug)]
pub(crate) struct Gateway {
    process: Child,
}

impl Gateway {
    /// Starts the gateway for the device of a run, and waits until it is up.
    pub(crate) fn start(init: &[OsString], device: &str, slot: Prefix) -> io::Result<Self> {
        let (program, arguments) = init.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut process = Command::new(program)
            .args(arguments)
            .args(["gateway", "--", device])
            .args([slot.first().to_string(), slot.length.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Keeps Ctrl-C from the gateway, which must outlive the command and the emulator.
            .process_group(0)
            .spawn()?;
        let mut answer = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut answer)?;
        }
        let gateway = Self { process };
        match answer.trim() {
            READY => Ok(gateway),
            "" => Err(io::Error::other("the gateway ended without a word")),
            problem => Err(io::Error::other(problem.to_owned())),
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // The gateway's answer went to the terminal. The run ends only after all is undone.
        let _ = self.process.wait();
    }
}

/// Returns whether `nft`, which creates the rules, cannot be found.
pub(crate) fn nft_is_missing() -> bool {
    let mut version = Command::new("nft");
    version
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    version
        .status()
        .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Returns the resolver's configuration for hosts behind a link: the gateway's address, and the
/// machine's other lines.
pub(crate) fn resolv_conf(gateway: Ipv4Addr) -> String {
    let mut text = format!("nameserver {gateway}\n");
    for line in fs::read_to_string(RESOLV_CONF).unwrap_or_default().lines() {
        if line.starts_with("search") || line.starts_with("options") {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// Shows this text as `/etc/resolv.conf` in the mount namespace of the calling process, which must
/// not share that namespace. Nothing is written to a disk: the file system of the text has no other
/// name, and goes with the namespace.
pub(crate) fn show_resolv_conf(text: &str) -> io::Result<()> {
    const NONE: Option<&str> = None;
    let shelf = std::env::temp_dir();
    let file = shelf.join("resolv.conf");
    mount(Some("tmpfs"), &shelf, Some("tmpfs"), MsFlags::empty(), NONE)?;
    let shown = fs::write(&file, text).and_then(|()| {
        let bind = MsFlags::MS_BIND;
        Ok(mount(Some(&file), RESOLV_CONF, NONE, bind, NONE)?)
    });
    umount2(&shelf, MntFlags::MNT_DETACH)?;
    shown
}

/// Runs as the gateway until standard input ends. `arguments` are those of [`Gateway::start`].
pub(crate) fn play(arguments: &[OsString]) -> io::Result<()> {
    // The gateway ends only with its input, not by a signal.
    let _signals = Signals::new([SIGINT, SIGHUP, SIGTERM])?;
    let up = parse(arguments).and_then(|(device, slot)| Up::new(&device, slot));
    let mut output = io::stdout();
    match up {
        Ok(up) => {
            let ended = wait_for_end(&mut output);
            up.undo()?;
            ended
        }
        Err(error) => {
            // The emulator reads one line only.
            writeln!(output, "{}", error.to_string().replace('\n', " "))?;
            Ok(())
        }
    }
}

/// Reports that the gateway is up, and waits for the emulator's end. A killed emulator may be gone
/// before it reads the report, so an error here must not keep the caller from undoing its changes.
fn wait_for_end(output: &mut impl io::Write) -> io::Result<()> {
    match writeln!(output, "{READY}").and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
        said => said?,
    }
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn parse(arguments: &[OsString]) -> io::Result<(String, Prefix)> {
    let words: Vec<_> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let wrong = || io::Error::other("link-init gateway: expected DEVICE ADDRESS LENGTH");
    let [device, address, length] = words[..] else {
        return Err(wrong());
    };
    let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
    let length = length.parse().ok().filter(|&length| length <= 32);
    let slot = Prefix::of(address, length.ok_or_else(wrong)?);
    Ok((device.to_owned(), slot))
}

/// Everything that the gateway holds.
struct Up {
    settings: Settings,
    rules: Rules,
}

impl Up {
    fn new(device: &str, slot: Prefix) -> io::Result<Self> {
        let mut settings = Settings::begin()?;
        let opened = settings.forward(device).and_then(|opened| {
            let rules = Rules::hold(device, slot, &opened)?;
            resolver::serve(slot.first())?;
            Ok(rules)
        });
        match opened {
            Ok(rules) => Ok(Self { settings, rules }),
            Err(error) => {
                settings.end()?;
                Err(error)
            }
        }
    }

    fn undo(self) -> io::Result<()> {
        // Remove the rules first: they restrict forwarding to packets of runs.
        let dropped = self.rules.drop();
        self.settings.end().and(dropped)
    }
}

/// The table of rules, and the process that owns it.
struct Rules {
    nft: Child,
    input: ChildStdin,
}

impl Rules {
    /// Creates the table of rules. The devices in `opened` forward only packets of runs.
    fn hold(device: &str, slot: Prefix, opened: &[String]) -> io::Result<Self> {
        let (output, writer) = io::pipe()?;
        let mut nft = Command::new("nft")
            .arg("--interactive")
            .stdin(Stdio::piped())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("cannot run `nft`: {error}")))?;
        let mut input = nft.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(input, "{}", rules(device, slot, opened))?;
        writeln!(input, "list chain inet whyloss_{device} {LAST}")?;
        let held = Self { nft, input };
        let mut lines = BufReader::new(output).lines();
        for line in lines.by_ref() {
            let line = line?;
            if line.contains(&format!("chain {LAST}")) {
                // The output is read to its end, so that nft never waits.
                thread::spawn(move || lines.for_each(drop));
                return Ok(held);
            }
            if line.contains("Error") {
                held.drop()?;
                return Err(io::Error::other(format!(
                    "the kernel or `nft` does not take the rules for NAT ({line})"
                )));
            }
        }
        held.drop()?;
        Err(io::Error::other(
            "`nft` ended without making the rules for NAT",
        ))
    }

    fn drop(mut self) -> io::Result<()> {
        drop(self.input);
        self.nft.wait()?;
        Ok(())
    }
}

/// The name of the table's last chain. If `nft` lists this chain, the table is complete.
const LAST: &str = "whole";

/// Returns the table, on one line, which `nft` takes as one transaction.
fn rules(device: &str, slot: Prefix, opened: &[String]) -> String {
    let network4 = format!("{}/{}", Ipv4Addr::from(slot.base), slot.length);
    let base6 = with_ipv4(Ipv4Addr::from(slot.base));
    let network6 = format!("{base6}/{}", LENGTH6 + slot.length);
    let mut text = format!(
        "table inet whyloss_{device} {{ flags owner; \
         chain nat {{ type nat hook postrouting priority srcnat; \
         ip saddr {network4} oifname != \"{DEVICES}*\" masquerade; \
         ip6 saddr {network6} oifname != \"{DEVICES}*\" masquerade; }}; \
         chain forward {{ type filter hook forward priority filter; "
    );
    for opened in opened {
        let _ = write!(
            text,
            "iifname \"{opened}\" oifname != \"{DEVICES}*\" drop; "
        );
    }
    let _ = write!(text, "}}; chain {LAST} {{ }}; }}");
    text
}
