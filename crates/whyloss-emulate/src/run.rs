//! A run of the emulator: hosts, links between them in real time, and the fate of every packet.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{thread, time};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use whyloss::{Duration, Time};

use crate::addresses::{ipv4_of, is_forwarded, with_ipv4};
use crate::clock::{Clock, time_of_day};
use crate::device;
use crate::forward::{Due, Forwarder, Recorder};
use crate::gateway;
use crate::header::destination;
use crate::init;
use crate::log::{Log, Names, WriteError};
use crate::network::Network;
use crate::place::{Ground, Place, end_all};
use crate::real_time::RealTime;
use crate::segments::{Joined, LARGEST, Segments};
use crate::spec::{HostPlan, Plan};
use crate::summary::{Counter, Snapshot, Summary};

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory for the log; `None` writes no log.
    pub log: Option<PathBuf>,
    /// The seed of queues and channels.
    pub seed: u64,
    /// The smallest lateness that counts as the emulator's fault.
    pub late_bound: Duration,
    /// The size of the largest packet, in bytes. Hosts fragment larger packets, or reject them with
    /// the MTU.
    pub mtu: u16,
    /// Whether the hosts reach the networks of this machine, and its name servers.
    pub internet: bool,
    /// Whether the forwarder requests real-time priority, and keeps cores awake.
    pub real_time: bool,
    /// The longest time of the run, after which commands are ended; `None` for no limit.
    pub most_time: Option<Duration>,
    /// The program and its first arguments that play a [role](crate::init::Role).
    pub init: Vec<OsString>,
    /// The flag that ends the run from outside.
    pub stop: Arc<AtomicBool>,
}

impl Options {
    /// Returns default options: no log, seed 1, packets of 1500 bytes that are late after 10 ms,
    /// and real-time priority. [`Self::init`] explains `init`.
    pub fn new(init: Vec<OsString>) -> Self {
        Self {
            log: None,
            seed: 1,
            late_bound: Duration::from_millis(10),
            mtu: 1500,
            internet: false,
            real_time: true,
            most_time: None,
            init,
            stop: Arc::new(AtomicBool::new(false)),
        }
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Done {
    /// The counts of the run.
    pub summary: Summary,
    /// The exit code of each host's command, 128 plus the signal if a signal ended it. `None` for
    /// the outside host, and for commands that the run stopped.
    pub exits: Vec<(String, Option<u8>)>,
    /// Whether the run was stopped by a signal, or at its time limit.
    pub cut_short: bool,
}

/// Explains why a run could not start or failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The kernel rejected a request of the run.
    #[error(
        "cannot make {what}: {source}; this needs root (or a user namespace and access to /dev/net/tun)"
    )]
    Setup {
        /// The part that could not be created.
        what: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The device that creates TUN devices is missing, or may not be opened.
    #[error(
        "cannot open /dev/net/tun ({}): {}; a container needs `--device /dev/net/tun --cap-add NET_ADMIN`",
        .0,
        to_open(.0)
    )]
    NoTun(#[source] io::Error),
    /// The program that makes rules for NAT is missing.
    #[error(
        "--internet needs the command `nft`, which is missing: install the package nftables (`sudo apt-get install nftables`)"
    )]
    NoNft,
    /// The gateway to the machine's networks could not be opened.
    #[error("--internet: {0}")]
    Gateway(#[source] io::Error),
    /// The kernel does not allow user namespaces.
    #[error("cannot make a user namespace: {0}; run it as root")]
    NoUserNamespace(#[source] io::Error),
    /// All addresses are in use.
    #[error(
        "no addresses are left: 63 runs on a machine, 7 inside a host, and hosts can be nested at most three deep"
    )]
    NoAddresses,
    /// The run has more hosts than addresses.
    #[error(
        "no addresses are left for {count} {}: {}",
        if *count == 1 { "host" } else { "hosts" },
        if *nested { "this run is inside a host of another run, and hosts can be nested at most three deep" } else { "a run has 16,383 hosts at most" }
    )]
    TooManyHosts {
        /// The number of hosts that the network has.
        count: usize,
        /// Whether the run is inside a host of another.
        nested: bool,
    },
    /// A command could not be started.
    #[error("cannot start the command at {host}: {source}")]
    Start {
        /// The name of the host.
        host: String,
        /// The error of the kernel.
        source: io::Error,
    },
    /// A device failed.
    #[error("the device of {host} failed: {source}")]
    Device {
        /// The name of the host.
        host: String,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The log could not be written.
    #[error(transparent)]
    Log(#[from] WriteError),
    /// The run could not wait for events.
    #[error("cannot wait for packets: {0}")]
    Poll(#[source] io::Error),
}

/// Returns the way to open `/dev/net/tun` after this error.
fn to_open(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "run it as root, or give this user access to the device",
        _ => "`sudo modprobe tun` makes it",
    }
}

/// The number of packets that may leave together while turns are crowded.
const AT_ONCE: usize = 64;
/// The number of segments taken from one device per turn.
const BURST: usize = 32;
/// The longest sleep between two checks of commands and signals.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
/// The number of attempts to find free addresses.
const TRIES: usize = 20;
/// The time between two reports to a live view.
const LIVE: Duration = Duration::from_millis(500);

/// Runs a plan until its leading commands have ended.
///
/// # Errors
/// Returns an error if a part of the run cannot be created or fails. All parts are removed in this
/// case.
pub fn run(
    plan: &Plan,
    options: &Options,
    live: &mut dyn FnMut(&Snapshot<'_>),
) -> Result<Done, RunError> {
    check(plan, options)?;
    let inside = plan.hosts.iter().filter(|host| host.command.is_some());
    let count = inside.count();
    let (ground, mut places) = make(&plan.hosts, count, options.mtu)?;
    let gateway = options.internet.then(|| ground.open_gateway(&options.init));
    let gateway = gateway.transpose()?;
    let names = Names {
        hosts: plan.hosts.iter().map(|host| host.name.clone()).collect(),
        links: plan.links.iter().map(|link| link.name.clone()).collect(),
    };
    let clock = Clock::start();
    let epoch = time::Duration::from_nanos(time_of_day());
    let log = options
        .log
        .as_deref()
        .map(|dir| Log::create(dir, names.clone(), epoch));
    let mut forwarder = Forwarder::new(
        clock,
        Network::new(&plan.links, plan.routes.clone(), options.seed),
        Recorder {
            counter: Counter::new(names.links.iter().cloned()),
            log: log.transpose()?,
        },
        options.late_bound,
    );
    start(&ground, plan, options, &mut places)?;
    // The commands, which were started before, keep the usual priority.
    let real_time = options.real_time.then(RealTime::ask);
    // This number is valid, so the call cannot fail.
    let _ = set_timerslack(1);
    let mut room = vec![0; LARGEST];
    let mut next_live = Time::ZERO + LIVE;
    let mut failed = None;
    let cut_short = loop {
        if let Err(error) = turn(&mut forwarder, &places, &names, &mut room) {
            failed = Some(error);
            break true;
        }
        let now = clock.now();
        if now >= next_live {
            let waiting = forwarder.waiting(now, plan.links.len());
            live(&Snapshot {
                now,
                links: &forwarder.recorder.counter.links,
                waiting: &waiting,
                lateness: forwarder.recorder.counter.lateness(),
            });
            next_live = now + LIVE;
        }
        if options.stop.load(Ordering::Relaxed)
            || options
                .most_time
                .is_some_and(|most| now - Time::ZERO >= most)
        {
            break true;
        }
        if forwarder.recorder.log.as_ref().is_some_and(Log::has_failed) {
            break true;
        }
        if places
            .iter_mut()
            .filter(|place| place.leads)
            .fold(true, |ended, place| place.poll() & ended)
        {
            break false;
        }
    };
    let exits = names
        .hosts
        .iter()
        .cloned()
        .zip(places.iter().map(|place| place.ended))
        .collect();
    end_all(&mut places, |places| match failed {
        None => failed = turn(&mut forwarder, places, &names, &mut room).err(),
        // Another turn would fail too, and immediately.
        Some(_) => thread::sleep(time::Duration::from_nanos(LONGEST_SLEEP.as_nanos() as u64)),
    });
    let had_priority = real_time.as_ref().is_some_and(RealTime::has_priority);
    drop(real_time);
    drop(gateway);
    let now = clock.now();
    // After a failed turn, the log still has all packets.
    let finished = forwarder.finish();
    if let Some(error) = failed {
        return Err(error);
    }
    let mut counter = finished?;
    for place in &mut places {
        // A device whose counter cannot be read counts as one without drops.
        counter.faults.device += place.tun.dropped().unwrap_or(0);
    }
    let summary = counter.summary(now, options.seed, had_priority, options.late_bound);
    Ok(Done {
        summary,
        exits,
        cut_short,
    })
}

/// Checks that the machine has the programs and the device that a run needs.
fn check(plan: &Plan, options: &Options) -> Result<(), RunError> {
    for host in &plan.hosts {
        let found = host.command.as_deref().map_or(Ok(()), init::find);
        found.map_err(|source| RunError::Start {
            host: host.name.clone(),
            source,
        })?;
    }
    device::open().map_err(RunError::NoTun)?;
    if options.internet && gateway::nft_is_missing() {
        return Err(RunError::NoNft);
    }
    Ok(())
}

/// Creates the hosts. If another run takes the same addresses at the same time, uses other
/// addresses.
fn make(hosts: &[HostPlan], count: usize, mtu: u16) -> Result<(Ground, Vec<Place>), RunError> {
    for _ in 0..TRIES {
        let ground = Ground::find(count, mtu)?;
        match ground.build(hosts) {
            Ok(places) => return Ok((ground, places)),
            Err(RunError::Setup { source, .. }) if source.kind() == io::ErrorKind::ResourceBusy => {
            }
            Err(error) => return Err(error),
        }
    }
    Err(RunError::NoAddresses)
}

/// Starts the commands. Those that do not lead start first. The leading ones start when these
/// listen on a port.
fn start(
    ground: &Ground,
    plan: &Plan,
    options: &Options,
    places: &mut [Place],
) -> Result<(), RunError> {
    let addresses = ground.addresses(&plan.hosts);
    let mut variables = Vec::new();
    if options.internet {
        variables.push(ground.resolver());
    }
    for (host, address) in plan.hosts.iter().zip(&addresses) {
        let name: String = host
            .name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_uppercase()
                } else {
                    '_'
                }
            })
            .collect();
        variables.push((format!("WHYLOSS_{name}"), address.to_string()));
        variables.push((format!("WHYLOSS_{name}6"), with_ipv4(*address).to_string()));
    }
    for leads in [false, true] {
        let chosen = || {
            plan.hosts
                .iter()
                .enumerate()
                .filter(|(_, host)| host.leads == leads)
        };
        for (index, host) in chosen() {
            let mut own = variables.clone();
            own.push(("WHYLOSS_ADDRESS".into(), addresses[index].to_string()));
            let address6 = with_ipv4(addresses[index]);
            own.push(("WHYLOSS_ADDRESS6".into(), address6.to_string()));
            ground
                .start(&mut places[index], host, &options.init, &own)
                .map_err(|source| RunError::Start {
                    host: host.name.clone(),
                    source,
                })?;
        }
        if !leads {
            for (index, host) in chosen().filter(|(_, host)| host.command.is_some()) {
                let stop = || options.stop.load(Ordering::Relaxed);
                ground
                    .await_listener(&mut places[index], &stop)
                    .map_err(|source| RunError::Start {
                        host: host.name.clone(),
                        source,
                    })?;
            }
        }
    }
    Ok(())
}

/// Waits for the next packet or due event, and handles it.
fn turn(
    forwarder: &mut Forwarder,
    places: &[Place],
    names: &Names,
    room: &mut [u8],
) -> Result<(), RunError> {
    forwarder.rests.begin_turn();
    let now = forwarder.clock.now();
    let sleep = (forwarder.next_due() - now)
        .min(LONGEST_SLEEP)
        .max(Duration::ZERO);
    let ready: Vec<bool> = {
        let mut fds: Vec<PollFd<'_>> = places
            .iter()
            .map(|place| PollFd::new(place.tun.as_fd(), PollFlags::POLLIN))
            .collect();
        let sleep = TimeSpec::from_duration(time::Duration::from_nanos(sleep.as_nanos() as u64));
        match ppoll(&mut fds, Some(sleep), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(RunError::Poll(error.into())),
        }
        fds.iter().map(|fd| fd.any().unwrap_or(false)).collect()
    };
    deliver(forwarder, places);
    for (from, _) in ready.iter().enumerate().filter(|(_, ready)| **ready) {
        let mut more = true;
        for _ in 0..BURST {
            more = take(forwarder, from, places, room).map_err(|source| RunError::Device {
                host: names.hosts[from].clone(),
                source,
            })?;
            if !more {
                break;
            }
        }
        forwarder.rests.more |= more;
    }
    Ok(())
}

/// Reads packets of a host and forwards them; returns false if the host sent none.
fn take(
    forwarder: &mut Forwarder,
    from: usize,
    places: &[Place],
    room: &mut [u8],
) -> io::Result<bool> {
    let Some(length) = places[from].tun.read(room)? else {
        return Ok(false);
    };
    let mut now = deliver(forwarder, places);
    let Some(mut segments) = Segments::read(&room[..length]) else {
        forwarder.recorder.counter.strays += 1;
        return Ok(true);
    };
    loop {
        let mut data = forwarder.buffers.pop().unwrap_or_default();
        if !segments.next_into(&mut data) {
            forwarder.buffers.push(data);
            return Ok(true);
        }
        let address = destination(&data);
        if address.is_some_and(|address| !is_forwarded(address)) {
            // The kernel announces itself to its neighbours (MLD). No router forwards such a
            // packet.
            forwarder.buffers.push(data);
            continue;
        }
        let to = address.and_then(|address| host_of(places, address));
        let Some(to) = to.filter(|&to| to != from) else {
            forwarder.recorder.counter.strays += 1;
            forwarder.buffers.push(data);
            continue;
        };
        if forwarder.next_due() <= now {
            now = deliver(forwarder, places);
        }
        forwarder.offer(now, (from, to), data, segments.start() as u32);
    }
}

/// Delivers all due packets, and returns the present time. Packets leave one by one unless turns
/// are crowded, so that slow flows arrive as on a wire.
fn deliver(forwarder: &mut Forwarder, places: &[Place]) -> Time {
    let at_once = if forwarder.rests.crowd() { AT_ONCE } else { 1 };
    forwarder.deliver(at_once, &mut write(places))
}

/// Returns a function that writes packets to the devices of their hosts.
fn write(places: &[Place]) -> impl FnMut(&mut [Due]) {
    |mut due| {
        due.sort_by_key(|due| due.transit.to);
        while let Some(first) = due.first() {
            let (to, start) = (first.transit.to, first.transit.payload.tag);
            let same = due.iter().take_while(|due| {
                let packet = &due.transit.payload;
                (due.transit.to, packet.tag, packet.is_damaged()) == (to, start, false)
            });
            let tun = &places[to].tun;
            let joined = Joined::of(same.map(Due::data), start as usize);
            let count = joined.as_ref().map_or(1, |joined| joined.packets);
            let (now, later) = due.split_at_mut(count);
            let at_once =
                joined.is_some_and(|joined| tun.write_joined(&joined, now.iter().map(Due::data)));
            for due in now {
                due.taken = at_once || tun.write(due.data());
            }
            due = later;
        }
    }
}

/// Returns the index of the host whose range contains the address, else that of the outside host.
fn host_of(places: &[Place], address: IpAddr) -> Option<usize> {
    let address = ipv4_of(address);
    let within = |place: &Place| address.is_some_and(|address| place.prefix.contains(address));
    let inside = |place: &Place| !place.outside && within(place);
    let outside = || places.iter().position(|place| place.outside);
    places.iter().position(inside).or_else(outside)
}

/// Returns the command line that starts this program again with a hidden subcommand.
///
/// # Errors
/// Returns an error if the path of this program is unknown.
pub fn init_by(subcommand: &str) -> io::Result<Vec<OsString>> {
    Ok(vec![init::this_program()?, subcommand.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_access_is_not_called_missing() {
        for (kind, expected) in [
            (io::ErrorKind::NotFound, "modprobe"),
            (io::ErrorKind::PermissionDenied, "root"),
        ] {
            let text = RunError::NoTun(kind.into()).to_string();
            for word in ["modprobe", "root"] {
                assert_eq!(text.contains(word), word == expected, "{text}");
            }
        }
    }
}
