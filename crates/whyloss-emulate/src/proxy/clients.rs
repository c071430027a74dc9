//! The clients of the proxy. Each has a socket that represents it to the target, and a thread that
//! reads the target's answers.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use whyloss::{Duration, Time};

use super::read::{Heard, Inbox, Stays, read_connected};
use super::{prepare, whole};

/// The maximum number of simultaneous clients. Datagrams of additional clients are strays.
pub(super) const MOST: usize = 1_024;
/// The silence in both directions after which a client is forgotten.
const IDLE: Duration = Duration::from_secs(120);

/// A client.
pub(super) struct Client {
    pub(super) address: SocketAddr,
    pub(super) socket: Arc<UdpSocket>,
    /// The time of the last datagram in either direction.
    pub(super) last: Time,
    /// Ends the reader with the client.
    stays: Stays,
    reader: JoinHandle<()>,
}

/// The addresses at the two ends of the proxy.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) listen: SocketAddr,
    pub(super) target: SocketAddr,
}

/// The clients, by number and by address.
pub(super) struct Clients {
    by_number: HashMap<u32, Client>,
    numbers: HashMap<SocketAddr, u32>,
    next: u32,
    ends: Ends,
    inbox: Inbox,
}

impl Clients {
    /// Creates an empty list. Readers of new clients put datagrams into `inbox`.
    pub(super) fn new(ends: Ends, inbox: Inbox) -> Self {
        Self {
            by_number: HashMap::new(),
            numbers: HashMap::new(),
            next: 0,
            ends,
            inbox,
        }
    }

    /// Returns the number of a client; a new client gets a separate socket. Returns `None` if there
    /// are too many, or if the system has no socket or thread for another.
    pub(super) fn number_of(&mut self, address: SocketAddr) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&address) {
            return Some(number);
        }
        if self.numbers.len() >= MOST {
            return None;
        }
        let number = self.next;
        let client = self.open(number, address).ok()?;
        self.next = self.next.wrapping_add(1);
        self.numbers.insert(address, number);
        self.by_number.insert(number, client);
        Some(number)
    }

    /// Opens the socket of a client, and starts its reader.
    fn open(&self, number: u32, address: SocketAddr) -> io::Result<Client> {
        let Ends { listen, target } = self.ends;
        let socket = Arc::new(socket(target)?);
        let stays = Stays::default();
        let (reading, inbox, goes_on) = (socket.clone(), self.inbox.clone(), stays.flag());
        let source = if target.is_ipv4() == address.is_ipv4() {
            target
        } else {
            listen
        };
        let reader = thread::Builder::new().spawn(move || {
            read_connected(&reading, &goes_on, &inbox.buffers, |datagrams| {
                let batch = datagrams.iter().map(|(data, _)| Heard {
                    from: Err(number),
                    packet: whole(source, address, data),
                });
                inbox.put(batch.collect(), &goes_on)
            });
        })?;
        Ok(Client {
            address,
            socket,
            last: Time::ZERO,
            stays,
            reader,
        })
    }

    pub(super) fn get(&self, number: u32) -> Option<&Client> {
        self.by_number.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Client> {
        self.by_number.get_mut(&number)
    }

    /// Returns the sockets of the clients.
    pub(super) fn sockets(&self) -> impl Iterator<Item = &UdpSocket> {
        self.by_number.values().map(|client| &*client.socket)
    }

    /// Removes all clients, and waits until their sockets are closed. The inbox must be, too.
    pub(super) fn end(self) {
        let clients = self.by_number.into_values();
        let end = |client: Client| {
            drop(client.stays);
            client.reader
        };
        let readers: Vec<_> = clients.map(end).collect();
        for reader in readers {
            // A reader that panicked has closed its socket as well.
            let _ = reader.join();
        }
    }

    /// Removes clients that were silent for long.
    pub(super) fn forget_idle(&mut self, now: Time) {
        let Self {
            by_number, numbers, ..
        } = self;
        by_number.retain(|_, client| {
            let stays = now - client.last < IDLE;
            if !stays {
                numbers.remove(&client.address);
            }
            stays
        });
    }
}

/// Opens a socket that is connected to the target.
pub(super) fn socket(target: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = match target {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(target)?;
    prepare(&socket)?;
    Ok(socket)
}
