//! Links between UDP sockets: `whyloss link --udp LISTEN=TARGET`, which needs neither a TUN device
//! nor root.
//!
//! ```text
//! client ⇄ LISTEN ─ links ─ a socket for each client ⇄ TARGET
//! ```
//!
//! Each datagram crosses the links as the IP packet that carries it, which has 28 more bytes with
//! IPv4 and 48 with IPv6. A damaged packet would fail its receiver's checksum, so the proxy drops
//! it and the log says `damaged`. A thread reads each socket, and the caller's thread forwards.
//! Clients share the memory for reading, and a budget of bytes that wait for the forwarder.

mod clients;
pub(crate) mod read;
mod write;

use std::collections::HashSet;
use std::io;
use std::iter;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time;

use etherparse::PacketBuilder;
use socket2::SockRef;
use whyloss::{Duration, Time};

use crate::clock::{Clock, time_of_day};
use crate::forward::{Due, Forwarder, Recorder};
use crate::log::{Log, Names, WriteError};
use crate::network::Network;
use crate::spec::Plan;
use crate::summary::{Counter, Snapshot, Summary};

use clients::{Clients, Ends};
use read::{Batch, Heard, Inbox, Stays, buffers, read};
use write::{AT_ONCE, Way};

/// The index of the target's host in the plan.
const SERVER: usize = 0;
/// The index of the clients' host in the plan.
const CLIENT: usize = 1;

/// The maximum number of batches between the readers and the forwarder. Later datagrams wait in the
/// kernel's buffers.
const BACKLOG: usize = 4_096;
/// The requested size of the kernel's buffers, in bytes.
const BUFFER: usize = 4 << 20;
/// The longest sleep, and the interval at which readers check whether to continue.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
/// The number of batches taken before a turn ends.
const BURST: usize = 32;
/// The time between two searches for idle clients, and between two reports to a live view.
const SWEEP: Duration = Duration::from_millis(500);
/// The TTL of the carrying packets, which no hop lowers.
const TTL: u8 = 64;

/// The settings of the proxy.
#[derive(Clone, Debug)]
pub struct ProxyOptions {
    /// The address to listen at. Port 0 takes a free port.
    pub listen: SocketAddr,
    /// The address to which datagrams are forwarded.
    pub target: SocketAddr,
    /// The directory for the log; `None` writes no log.
    pub log: Option<PathBuf>,
    /// The seed of queues and channels.
    pub seed: u64,
    /// The smallest lateness that counts as the emulator's fault.
    pub late_bound: Duration,
    /// The longest time of the run; `None` for no limit.
    pub most_time: Option<Duration>,
    /// The flag that ends the run when it is set.
    pub stop: Arc<AtomicBool>,
}

/// Explains why the proxy does not run.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The proxy cannot listen at the address.
    #[error("--udp: cannot listen at {address}: {source}{}", hint(source))]
    Listen {
        /// The address at which the proxy should listen.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// No socket can send to the target.
    #[error("--udp: cannot send to {address}: {source}")]
    Target {
        /// The address of the target.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The thread that reads datagrams could not be started.
    #[error("--udp: cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// A socket failed.
    #[error("--udp: the socket at {address} failed: {source}")]
    Socket {
        /// The local address of the socket.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The log could not be written.
    #[error(transparent)]
    Log(#[from] WriteError),
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => {
            "; another program has the port: choose another, or port 0 for a free one"
        }
        io::ErrorKind::PermissionDenied => "; ports below 1024 need root: choose a higher one",
        _ => "",
    }
}

/// A proxy that listens for clients.
#[derive(Debug)]
pub struct Proxy {
    options: ProxyOptions,
    socket: Arc<UdpSocket>,
    address: SocketAddr,
}

impl Proxy {
    /// Opens the socket that clients send to.
    ///
    /// # Errors
    /// Returns an error if the address cannot be used, or if no socket can send to the target.
    pub fn bind(options: ProxyOptions) -> Result<Self, ProxyError> {
        let failed = |source| ProxyError::Listen {
            address: options.listen,
            source,
        };
        let socket = UdpSocket::bind(options.listen).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        prepare(&socket).map_err(failed)?;
        // Without this check, all datagrams to a wrong target would be strays.
        clients::socket(options.target).map_err(|source| ProxyError::Target {
            address: options.target,
            source,
        })?;
        Ok(Self {
            options,
            socket: Arc::new(socket),
            address,
        })
    }

    /// Returns the address that clients send to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Forwards datagrams until it is stopped or its time is over. The plan has two hosts: the
    /// server, then the clients. `live` gets the counts twice a second, and ends the run if it
    /// returns `false`. Raises the process's soft limit of open files, because each client has a
    /// socket.
    ///
    /// # Errors
    /// Returns an error if a socket fails, or the log cannot be written.
    pub fn run(
        self,
        plan: &Plan,
        live: &mut dyn FnMut(&Snapshot<'_>) -> bool,
    ) -> Result<Summary, ProxyError> {
        let names = Names {
            hosts: plan.hosts.iter().map(|host| host.name.clone()).collect(),
            links: plan.links.iter().map(|link| link.name.clone()).collect(),
        };
        let clock = Clock::start();
        let epoch = time::Duration::from_nanos(time_of_day());
        let log = self.options.log.as_deref();
        let log = log.map(|directory| Log::create(directory, names.clone(), epoch));
        let mut forwarder = Forwarder::new(
            clock,
            Network::new(&plan.links, plan.routes.clone(), self.options.seed),
            Recorder {
                counter: Counter::new(names.links.iter().cloned()),
                log: log.transpose()?,
            },
            self.options.late_bound,
        );
        #[cfg(target_os = "linux")]
        {
            // This number is valid, so the call cannot fail.
            let _ = nix::sys::prctl::set_timerslack(1);
            raise_file_limit();
        }
        let stays = Stays::default();
        let (sender, receiver) = sync_channel(BACKLOG);
        let inbox = Inbox {
            sender,
            bytes: Arc::default(),
            buffers: Arc::new(Mutex::new(buffers())),
        };
        let reader = self.read_clients(inbox.clone(), stays.flag());
        let reader = thread::Builder::new()
            .spawn(reader)
            .map_err(ProxyError::Thread)?;
        let ends = Ends {
            listen: self.address,
            target: self.options.target,
        };
        let mut clients = Clients::new(ends, inbox.clone());
        let mut next_sweep = Time::ZERO + SWEEP;
        loop {
            self.turn(&mut forwarder, &mut clients, &receiver, &inbox);
            let now = clock.now();
            let most = self.options.most_time;
            let is_over = most.is_some_and(|most| now - Time::ZERO >= most);
            let has_failed = forwarder.recorder.log.as_ref().is_some_and(Log::has_failed);
            let mut goes_on = !is_over && !has_failed && !self.options.stop.load(Ordering::Relaxed);
            if now >= next_sweep {
                clients.forget_idle(now);
                let waiting = forwarder.waiting(now, plan.links.len());
                goes_on &= live(&Snapshot {
                    now,
                    links: &forwarder.recorder.counter.links,
                    waiting: &waiting,
                    lateness: forwarder.recorder.counter.lateness(),
                });
                next_sweep = now + SWEEP;
            }
            if reader.is_finished() || !goes_on {
                break;
            }
        }
        let ports = clients
            .sockets()
            .filter_map(|socket| socket.local_addr().ok());
        let ports = ports.chain([self.address]).map(|address| address.port());
        forwarder.recorder.counter.faults.device += dropped(&ports.collect());
        drop((stays, receiver, inbox));
        // The files of the summary may need the descriptors of the sockets.
        clients.end();
        let read = match reader.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let now = clock.now();
        // After a failed read, the log still has all packets.
        let finished = forwarder.finish();
        read.map_err(|source| ProxyError::Socket {
            address: self.address,
            source,
        })?;
        let counter = finished?;
        Ok(counter.summary(now, self.options.seed, false, self.options.late_bound))
    }

    /// Waits for a datagram or a due event, and handles all of them.
    fn turn(
        &self,
        forwarder: &mut Forwarder,
        clients: &mut Clients,
        receiver: &Receiver<Batch>,
        inbox: &Inbox,
    ) {
        forwarder.rests.begin_turn();
        let now = forwarder.deliver(AT_ONCE, &mut |due| self.write(clients, due));
        let sleep = (forwarder.next_due() - now).min(LONGEST_SLEEP);
        let sleep = time::Duration::from_nanos(sleep.max(Duration::ZERO).as_nanos() as u64);
        let first = receiver.recv_timeout(sleep).ok();
        let more = iter::from_fn(|| receiver.try_recv().ok());
        for Heard { from, packet } in first.into_iter().chain(more).take(BURST).flatten() {
            inbox.bytes.fetch_sub(packet.len(), Ordering::Relaxed);
            let now = forwarder.deliver(AT_ONCE, &mut |due| self.write(clients, due));
            let number = match from {
                Err(number) => Some(number),
                Ok(address) => clients.number_of(address),
            };
            let client = number.and_then(|number| Some((number, clients.get_mut(number)?)));
            match client {
                None => forwarder.recorder.counter.strays += 1,
                Some((number, client)) => {
                    client.last = now;
                    let is_up = from.is_ok();
                    let ends = if is_up {
                        (CLIENT, SERVER)
                    } else {
                        (SERVER, CLIENT)
                    };
                    forwarder.offer(now, ends, packet, number);
                }
            }
        }
        // The buffers of datagrams are dropped, because no TUN device reuses them.
        forwarder.buffers.clear();
    }

    /// Reads datagrams of clients.
    fn read_clients(
        &self,
        inbox: Inbox,
        stays: Arc<AtomicBool>,
    ) -> impl FnOnce() -> io::Result<()> + Send + 'static {
        let (socket, listen, target) = (self.socket.clone(), self.address, self.options.target);
        move || {
            read(&socket, &stays, &Mutex::new(buffers()), |datagrams| {
                let batch = datagrams.iter().map(|&(data, from)| {
                    let to = if target.is_ipv4() == from.is_ipv4() {
                        target
                    } else {
                        listen
                    };
                    let packet = whole(from, to, data);
                    let from = Ok(from);
                    Heard { from, packet }
                });
                inbox.put(batch.collect(), &stays)
            })
        }
    }

    /// Sends datagrams that have crossed their links. Those of one size and destination leave
    /// together.
    fn write(&self, clients: &Clients, packets: &mut [Due]) {
        let run = |due: &Due| {
            let packet = &due.transit.payload;
            // The receiver's checksum would reject a damaged packet.
            let size = packet.data.len();
            (size, due.transit.to, packet.tag, packet.is_damaged())
        };
        for packets in packets.chunk_by_mut(|a, b| run(a) == run(b)) {
            let (_, to, number, is_damaged) = run(&packets[0]);
            // A client that was forgotten in the meantime is absent, so nothing is sent.
            let client = clients.get(number).filter(|_| !is_damaged);
            let way = client.map(|client| match to {
                SERVER => Way {
                    socket: &client.socket,
                    to: None,
                },
                _ => Way {
                    socket: &self.socket,
                    to: Some(client.address),
                },
            });
            let datagrams = packets.iter().map(Due::datagram);
            let all = is_damaged || way.is_some_and(|way| way.send_together(datagrams));
            for due in packets {
                due.taken = all || way.is_some_and(|way| way.send(due.datagram()));
            }
        }
    }
}

impl Due {
    fn datagram(&self) -> &[u8] {
        payload(&self.transit.payload.data)
    }
}

/// Lets the process open as many files as it may. Most systems let it begin with 1,024, fewer than
/// the sockets of [most clients](clients::MOST).
#[cfg(target_os = "linux")]
fn raise_file_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let files = Resource::RLIMIT_NOFILE;
    if let Ok((soft, hard)) = getrlimit(files)
        && soft < hard
    {
        // With the old limit, there are fewer clients.
        let _ = setrlimit(files, hard, hard);
    }
}

/// Returns the number of datagrams that the kernel dropped at the sockets with these ports, because
/// a buffer was full.
#[cfg(target_os = "linux")]
pub(crate) fn dropped(ports: &HashSet<u16>) -> u64 {
    let mut dropped = 0;
    for file in ["/proc/self/net/udp", "/proc/self/net/udp6"] {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        // A line has a number, the local address and port in hexadecimal digits, …, and the drops
        // at the end.
        for line in text.lines().skip(1) {
            let mut words = line.split_ascii_whitespace();
            let port = words.nth(1).and_then(|local| local.rsplit_once(':'));
            let port = port.and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
            let drops = words.next_back().and_then(|drops| drops.parse().ok());
            if port.is_some_and(|port| ports.contains(&port)) {
                dropped += drops.unwrap_or(0);
            }
        }
    }
    dropped
}

/// Returns 0: other systems do not report drops.
#[cfg(not(target_os = "linux"))]
fn dropped(_: &HashSet<u16>) -> u64 {
    0
}

pub(crate) fn prepare(socket: &UdpSocket) -> io::Result<()> {
    // The kernel grants at most `net.core.rmem_max`, which on most machines holds a hundred
    // datagrams. Root may have more.
    let _ = SockRef::from(socket).set_recv_buffer_size(BUFFER);
    #[cfg(target_os = "linux")]
    {
        use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};
        let _ = setsockopt(socket, RcvBufForce, &BUFFER);
    }
    let sleep = LONGEST_SLEEP.as_nanos() as u64;
    socket.set_read_timeout(Some(time::Duration::from_nanos(sleep)))
}

/// Returns the IP packet that carries a datagram. The ends have addresses of one family.
fn whole(from: SocketAddr, to: SocketAddr, data: &[u8]) -> Vec<u8> {
    let builder = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => PacketBuilder::ipv4(from.octets(), to.octets(), TTL),
        (from, to) => PacketBuilder::ipv6(six(from), six(to), TTL),
    };
    let builder = builder.udp(from.port(), to.port());
    let mut packet = Vec::with_capacity(builder.size(data.len()));
    // Writing to a vector cannot fail, but a datagram of the largest size with an IPv4 header is
    // not an IP packet. Its buffer stays empty.
    let _ = builder.write(&mut packet, data);
    packet
}

fn six(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// Returns the datagram in a packet that [`whole`] made.
fn payload(packet: &[u8]) -> &[u8] {
    let headers = match packet.first() {
        Some(byte) if byte >> 4 == 4 => 28,
        _ => 48,
    };
    packet.get(headers..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Direction, HostPlan, Links};

    /// Returns the plan of a fast link between two hosts, with this channel away from the client.
    fn plan(loss: &str) -> Plan {
        let direction = |loss: &str| Direction {
            rate: "1gbit".into(),
            delay: "1ms".into(),
            queue: "unlimited".into(),
            loss: loss.into(),
            ..Direction::default()
        };
        between(&Links::pair(&direction("none"), &direction(loss)).unwrap())
    }

    fn between(links: &Links) -> Plan {
        let (near, far) = links.ends();
        let host = |(name, node): (&str, usize)| HostPlan {
            name: name.into(),
            node,
            command: None,
            leads: false,
        };
        links.plan([("server", near), ("client", far)].map(host).into())
    }

    fn options(target: SocketAddr) -> ProxyOptions {
        ProxyOptions {
            listen: "127.0.0.1:0".parse().unwrap(),
            target,
            log: None,
            seed: 1,
            late_bound: Duration::from_secs(60),
            most_time: None,
            stop: Arc::default(),
        }
    }

    /// Sends datagrams through a proxy in bursts, to a target that sends them back. Returns how
    /// many came back, and the proxy's counts.
    fn echo(plan: Plan, bursts: usize) -> (usize, Summary) {
        let target = UdpSocket::bind("127.0.0.1:0").unwrap();
        let options = options(target.local_addr().unwrap());
        let stop = options.stop.clone();
        let proxy = Proxy::bind(options).unwrap();
        let address = proxy.address();
        let running = thread::spawn(move || proxy.run(&plan, &mut |_| true).unwrap());
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        for socket in [&client, &target] {
            socket
                .set_read_timeout(Some(time::Duration::from_millis(500)))
                .unwrap();
        }
        let (mut buffer, mut back) = ([0; 2_000], 0);
        for burst in 0..bursts {
            for number in 0..BURST_SENT {
                client
                    .send_to(&[burst as u8, number as u8, 7], address)
                    .unwrap();
            }
            let mut there = 0;
            while there < BURST_SENT
                && let Ok((length, from)) = target.recv_from(&mut buffer)
            {
                target.send_to(&buffer[..length], from).unwrap();
                there += 1;
            }
            for _ in 0..there {
                let (length, from) = client.recv_from(&mut buffer).unwrap();
                assert_eq!((length, buffer[2], from), (3, 7, address));
                back += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
        (back, running.join().unwrap())
    }

    /// More datagrams than leave at a time, but fewer than the smallest buffer holds.
    const BURST_SENT: usize = 96;

    #[test]
    fn all_datagrams_come_back() {
        let (back, summary) = echo(plan("none"), 5);
        assert_eq!(back, 5 * BURST_SENT);
        for link in &summary.links {
            assert_eq!(
                (link.delivered, link.bytes),
                (480, 480 * (28 + 3)),
                "{}",
                link.name
            );
        }
    }

    #[test]
    fn damaged_datagrams_arrive_nowhere() {
        let (back, summary) = echo(plan("bits:1"), 1);
        assert_eq!(back, 0);
        assert_eq!(
            (summary.links[1].damaged, summary.links[0].offered),
            (BURST_SENT as u64, 0)
        );
    }

    /// A later link does not repair a datagram.
    #[test]
    fn datagrams_damaged_on_the_way_arrive_nowhere() {
        let link = |from: &str, to: &str, channel: &str| {
            format!(
                "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\nqueue = {{ packets = 1000 }}\n{channel}"
            )
        };
        let channel = "reverse_channel = { kind = \"bit-errors\", rate = 1.0 }\n";
        let text = link("server", "air", "") + &link("air", "client", channel);
        let links = Links::from_toml(&text, "x.toml", &[]).unwrap();
        assert_eq!(echo(between(&links), 1).0, 0);
    }

    /// A datagram whose client was forgotten on its way is not sent, and counts as a fault.
    #[test]
    fn datagrams_of_forgotten_clients_are_not_delivered() {
        let (plan, address) = (plan("none"), "127.0.0.1:9".parse().unwrap());
        let proxy = Proxy::bind(options(address)).unwrap();
        let mut forwarder = Forwarder::new(
            Clock::start(),
            Network::new(&plan.links, plan.routes.clone(), 1),
            Recorder {
                counter: Counter::new(plan.links.iter().map(|link| link.name.clone())),
                log: None,
            },
            Duration::from_secs(60),
        );
        let now = forwarder.clock.now();
        for ends in [(CLIENT, SERVER), (SERVER, CLIENT)] {
            forwarder.offer(now, ends, whole(address, address, b"abc"), 7);
        }
        let ends = Ends {
            listen: proxy.address(),
            target: address,
        };
        let inbox = Inbox {
            sender: sync_channel(1).0,
            bytes: Arc::default(),
            buffers: Arc::default(),
        };
        let clients = Clients::new(ends, inbox);
        while forwarder.next_due() < Time::MAX {
            forwarder.deliver(AT_ONCE, &mut |due| proxy.write(&clients, due));
        }
        assert_eq!(forwarder.recorder.counter.faults.device, 2);
    }

    /// A socket may not send to everyone unless it asks for that.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_target_that_takes_no_datagrams_is_refused() {
        let target = "255.255.255.255:9".parse().unwrap();
        let error = Proxy::bind(options(target)).unwrap_err().to_string();
        assert!(
            error.starts_with("--udp: cannot send to 255.255.255.255:9: "),
            "{error}"
        );
    }

    #[test]
    fn a_packet_has_its_datagram() {
        let at = |text: &str| text.parse().unwrap();
        for (from, to, bytes) in [
            ("127.0.0.1:1", "127.0.0.2:2", 31),
            ("[::1]:1", "127.0.0.2:2", 51),
        ] {
            let packet = whole(at(from), at(to), b"abc");
            assert_eq!((packet.len(), payload(&packet)), (bytes, &b"abc"[..]));
        }
    }
}
