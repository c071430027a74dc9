//! The hosts of a run: a network namespace, a device and a command for each.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid, getgid, getuid};

use crate::addresses::{ALL, Prefix};
use crate::clock::monotonic;
use crate::device::{Shape, Tun, loopback_up};
use crate::gateway::{self, DEVICES, Gateway};
use crate::init;
use crate::run::RunError;
use crate::spec::HostPlan;

/// The name of a host's device inside its namespace.
const DEVICE: &str = "whyloss0";

/// The time that commands have to end after the request.
const GRACE: Duration = Duration::from_secs(4);
/// The time that the kernel has to end commands by force.
const FORCE: Duration = Duration::from_secs(5);

/// A host and its running command.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) tun: Tun,
    /// The addresses that it answers for.
    pub(crate) prefix: Prefix,
    pub(crate) outside: bool,
    pub(crate) leads: bool,
    /// The host's network namespace.
    namespace: File,
    child: Option<Child>,
    /// The exit code of the command, once it has ended.
    pub(crate) ended: Option<u8>,
}

/// The place of a run: the namespace in which it began, and the addresses of its hosts.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The network namespace that the run began in.
    home: File,
    slot: Prefix,
    hosts: Vec<Prefix>,
    /// The name of the device outside.
    device: String,
    mtu: u16,
}

/// Makes the process root in a new user namespace, with an empty network, and returns `true`. Does
/// nothing if the caller is already root. The process must have only one thread.
///
/// # Errors
/// Returns an error if the kernel does not allow user namespaces.
pub fn become_root() -> Result<bool, RunError> {
    // Entering the current network again tests whether the process may leave it and come back. The
    // root of a user namespace may lack that right.
    let here = File::open("/proc/self/ns/net").map_err(RunError::NoUserNamespace)?;
    if geteuid().is_root() && setns(&here, CloneFlags::CLONE_NEWNET).is_ok() {
        return Ok(false);
    }
    let (user, group) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(|error| RunError::NoUserNamespace(error.into()))?;
    let map = |file: &str, text: String| fs::write(file, text).map_err(RunError::NoUserNamespace);
    map("/proc/self/setgroups", "deny".into())?;
    map("/proc/self/uid_map", format!("0 {user} 1"))?;
    map("/proc/self/gid_map", format!("0 {group} 1"))?;
    loopback_up().map_err(|source| RunError::Setup {
        what: "the loopback device",
        source,
    })?;
    Ok(true)
}

impl Ground {
    /// Finds addresses that no other run has.
    pub(crate) fn find(count: usize, mtu: u16) -> Result<Self, RunError> {
        let failed = |what| move |source| RunError::Setup { what, source };
        let home = File::open("/proc/self/ns/net").map_err(failed("this network namespace"))?;
        let addresses =
            getifaddrs().map_err(|error| failed("the addresses in use")(error.into()))?;
        let (mut taken, mut inside) = (Vec::new(), None);
        for interface in addresses {
            let ipv4 = |address: Option<nix::sys::socket::SockaddrStorage>| {
                Some(address?.as_sockaddr_in()?.ip())
            };
            let Some(address) = ipv4(interface.address).filter(|&address| ALL.contains(address))
            else {
                continue;
            };
            if interface.interface_name == DEVICE {
                let mask = ipv4(interface.netmask).map_or(32, |mask| u32::from(mask).count_ones());
                inside = Some(Prefix::of(address, mask as u8));
            } else {
                taken.push(address);
            }
        }
        let mut free = Prefix::slots(inside)
            .filter(|slot| taken.iter().all(|&address| !slot.contains(address)));
        let slot = free.next().ok_or(RunError::NoAddresses)?;
        let hosts = slot.hosts(count).ok_or(RunError::TooManyHosts {
            count,
            nested: inside.is_some(),
        })?;
        Ok(Self {
            home,
            slot,
            hosts,
            device: name_of(slot),
            mtu,
        })
    }

    /// Returns the addresses of the hosts, in the order of their plans.
    pub(crate) fn addresses(&self, plans: &[HostPlan]) -> Vec<Ipv4Addr> {
        let prefixes = self.prefixes(plans);
        prefixes.iter().map(|prefix| prefix.first()).collect()
    }

    fn prefixes(&self, plans: &[HostPlan]) -> Vec<Prefix> {
        let mut inner = self.hosts[1..].iter();
        let prefix = |plan: &HostPlan| match plan.command {
            None => self.hosts[0],
            Some(_) => *inner.next().unwrap_or(&self.hosts[0]),
        };
        plans.iter().map(prefix).collect()
    }

    /// Creates the hosts, without starting their commands.
    pub(crate) fn build(&self, plans: &[HostPlan]) -> Result<Vec<Place>, RunError> {
        let prefixes = self.prefixes(plans).into_iter();
        plans
            .iter()
            .zip(prefixes)
            .map(|(plan, prefix)| self.place(plan, prefix))
            .collect()
    }

    fn place(&self, plan: &HostPlan, prefix: Prefix) -> Result<Place, RunError> {
        let outside = plan.command.is_none();
        let made = if outside {
            // The route to all hosts leads to this device.
            let length = self.slot.length;
            Tun::create(self.shape(&self.device, prefix.first(), length))
                .and_then(|tun| Ok((tun, self.home.try_clone()?)))
        } else {
            self.inside(prefix)
        };
        let (tun, namespace) = made.map_err(|source| RunError::Setup {
            what: "a network namespace with a TUN device",
            source,
        })?;
        Ok(Place {
            tun,
            prefix,
            outside,
            leads: plan.leads,
            namespace,
            child: None,
            ended: None,
        })
    }

    fn shape<'a>(&self, name: &'a str, address: Ipv4Addr, prefix: u8) -> Shape<'a> {
        Shape {
            name,
            address,
            prefix,
            mtu: self.mtu,
            default: name == DEVICE,
        }
    }

    /// Returns a device in a new network namespace.
    fn inside(&self, prefix: Prefix) -> io::Result<(Tun, File)> {
        unshare(CloneFlags::CLONE_NEWNET)?;
        let made = (|| {
            loopback_up()?;
            // Hosts forward for runs inside them.
            fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
            // Without IPv6 in the kernel, there is nothing to forward.
            let _ = fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1");
            let tun = Tun::create(self.shape(DEVICE, prefix.first(), prefix.length))?;
            Ok((tun, File::open("/proc/thread-self/ns/net")?))
        })();
        setns(&self.home, CloneFlags::CLONE_NEWNET)?;
        made
    }

    /// Opens the gateway to the networks of this machine; dropping the returned value closes it.
    pub(crate) fn open_gateway(&self, init: &[OsString]) -> Result<Gateway, RunError> {
        Gateway::start(init, &self.device, self.slot).map_err(RunError::Gateway)
    }

    /// Returns the environment variable that gives the name server to a command's first process.
    pub(crate) fn resolver(&self) -> (String, String) {
        let text = gateway::resolv_conf(self.slot.first());
        (gateway::VARIABLE.to_owned(), text)
    }

    /// Calls `act` in the network namespace of a host.
    fn at<T>(&self, place: &Place, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        setns(&place.namespace, CloneFlags::CLONE_NEWNET)?;
        let done = act();
        setns(&self.home, CloneFlags::CLONE_NEWNET)?;
        done
    }

    /// Starts a host's command, with these variables in its environment.
    pub(crate) fn start(
        &self,
        place: &mut Place,
        plan: &HostPlan,
        init: &[OsString],
        variables: &[(String, String)],
    ) -> io::Result<()> {
        let Some(command) = &plan.command else {
            return Ok(());
        };
        let (program, arguments) = init.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut keeper = Command::new(program);
        keeper
            .args(arguments)
            .arg(std::process::id().to_string())
            .arg("--")
            .args(command)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env("WHYLOSS_HOST", &plan.name);
        if !plan.leads {
            keeper.stdin(Stdio::null());
        }
        place.child = Some(self.at(place, || keeper.spawn())?);
        Ok(())
    }

    /// Waits until a host's command has opened a listening socket, has ended, or has run out of
    /// time.
    pub(crate) fn await_listener(
        &self,
        place: &mut Place,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        for _ in 0..LISTEN.as_millis() / POLL.as_millis() {
            let sockets = self.at(place, || {
                let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}"));
                let tcp = read("tcp").unwrap_or_default() + &read("tcp6").unwrap_or_default();
                let udp = ["udp", "udp6", "udplite"].map(|name| read(name).unwrap_or_default());
                // A listening TCP socket is in the state LISTEN. For UDP, any socket counts.
                let listening = tcp
                    .lines()
                    .any(|line| line.split_ascii_whitespace().nth(3) == Some("0A"));
                Ok(listening || udp.iter().any(|text| text.lines().count() > 1))
            })?;
            if sockets || place.poll() || stop() {
                break;
            }
            thread::sleep(POLL);
        }
        Ok(())
    }
}

/// Returns the name of the device outside of the run with this slot. If two runs choose the same
/// slot, one of them cannot create its device.
fn name_of(slot: Prefix) -> String {
    format!("{DEVICES}{:x}", slot.base >> (32 - slot.length))
}

/// The time that a command has to listen.
const LISTEN: Duration = Duration::from_secs(5);
/// The time between two checks for a listening command.
const POLL: Duration = Duration::from_millis(10);

impl Place {
    /// Returns whether the command has ended.
    pub(crate) fn poll(&mut self) -> bool {
        if self.ended.is_none()
            && let Some(child) = &mut self.child
            && let Ok(Some(status)) = child.try_wait()
        {
            self.ended = Some(init::code(status));
        }
        self.ended.is_some() || self.child.is_none()
    }

    fn signal(&self, signal: Signal) {
        if let Some(child) = self.child.as_ref().filter(|_| self.ended.is_none()) {
            // The child has not been waited for, so its process id is still valid.
            let _ = kill(Pid::from_raw(child.id() as i32), signal);
        }
    }
}

/// Ends the commands that still run: first with a signal that they can handle, then by force. Calls
/// `meanwhile` repeatedly while it waits.
pub(crate) fn end_all(places: &mut [Place], mut meanwhile: impl FnMut(&mut [Place])) {
    for (signal, most) in [(Signal::SIGTERM, GRACE), (Signal::SIGKILL, FORCE)] {
        for place in places.iter() {
            place.signal(signal);
        }
        let all_ended = await_end(most, monotonic, || {
            let all_ended = places
                .iter_mut()
                .fold(true, |ended, place| place.poll() & ended);
            if !all_ended {
                meanwhile(places);
            }
            all_ended
        });
        if all_ended {
            return;
        }
    }
}

/// Calls `turn` until it returns true, or until this time has passed by `now`, a clock in
/// nanoseconds. Returns whether `turn` returned true.
fn await_end(most: Duration, now: impl Fn() -> u64, mut turn: impl FnMut() -> bool) -> bool {
    let end = now() + most.as_nanos() as u64;
    loop {
        if turn() {
            return true;
        }
        if now() >= end {
            return false;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
        if let Some(child) = self.child.as_mut().filter(|_| self.ended.is_none()) {
            // An error means that the process has already ended.
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The gateway's rules recognize the devices of runs by the prefix of their names. The kernel
    /// accepts names of at most 15 bytes.
    #[test]
    fn names_of_devices_belong_to_runs_alone() {
        let others = [
            "wlan0",
            "wlp3s0",
            "wlo1",
            "wlx0024d7",
            "wwan0",
            "wpan0",
            "eth0",
            DEVICE,
        ];
        assert!(others.iter().all(|name| !name.starts_with(DEVICES)));
        let host = Prefix::slots(None).last().unwrap().hosts(1).unwrap()[1];
        let inner = Prefix::slots(Some(host)).last().unwrap().hosts(1).unwrap()[1];
        let innermost = Prefix::slots(Some(inner)).last().unwrap();
        assert_eq!(name_of(Prefix::slots(None).next().unwrap()), "whylink6441");
        assert_eq!((innermost.length, name_of(innermost).len()), (30, 15));
    }

    /// A turn ends at the first packet, so traffic makes turns short.
    #[test]
    fn commands_have_their_time_however_short_turns_are() {
        for turn in [1_000_000, 20_000_000] {
            let clock = Cell::new(7);
            let ended_after = |time: u64| {
                clock.set(7);
                await_end(
                    GRACE,
                    || clock.get(),
                    || {
                        clock.set(clock.get() + turn);
                        clock.get() > time
                    },
                )
            };
            assert!(ended_after(3_900_000_000));
            assert!(!ended_after(5_000_000_000));
        }
    }
}
