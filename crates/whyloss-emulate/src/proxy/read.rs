//! The readers of the proxy. A thread for each socket takes datagrams in batches and puts them into
//! one inbox, whose budget of bytes all readers share.

use std::io;
use std::net::{SocketAddr, UdpSocket};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use std::{thread, time};

use crate::rests::Rests;

/// The bytes of datagrams that may wait for the forwarder, besides one more batch of each reader.
const MOST_BYTES: usize = 16 << 20;
/// The pause of a reader when the budget is used up, or after an error.
const PAUSE: time::Duration = time::Duration::from_micros(200);
/// The maximum number of datagrams per read, where the system supports several.
const AT_ONCE: usize = if cfg!(target_os = "linux") { 32 } else { 1 };

/// A datagram from a reader.
pub(super) struct Heard {
    /// The client's address if a client sent the datagram, else the number of the client to which
    /// it goes.
    pub(super) from: Result<SocketAddr, u32>,
    /// The IP packet that carries the datagram.
    pub(super) packet: Vec<u8>,
}

/// The datagrams of one read.
pub(super) type Batch = Vec<Heard>;

/// The queue in which readers put datagrams for the forwarder, in a budget that they share.
#[derive(Clone)]
pub(super) struct Inbox {
    pub(super) sender: SyncSender<Batch>,
    /// The bytes that wait.
    pub(super) bytes: Arc<AtomicUsize>,
    /// Buffers that the clients' readers use in turn.
    pub(super) buffers: Arc<Mutex<Buffers>>,
}

/// Lets a reader continue until it is dropped.
pub(super) struct Stays(Arc<AtomicBool>);

impl Default for Stays {
    fn default() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

impl Stays {
    /// Returns the flag that the reader checks.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}

impl Drop for Stays {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Buffers for the datagrams of one read.
pub(crate) type Buffers = Vec<Vec<u8>>;

impl Inbox {
    /// Waits for room in the budget as long as `stays` is set. Returns whether the batch was added.
    pub(super) fn put(&self, batch: Batch, stays: &AtomicBool) -> bool {
        while self.bytes.load(Ordering::Relaxed) >= MOST_BYTES {
            if !stays.load(Ordering::Relaxed) {
                return false;
            }
            thread::sleep(PAUSE);
        }
        let bytes = batch.iter().map(|heard| heard.packet.len()).sum();
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.sender.send(batch).is_ok()
    }
}

/// Returns buffers for a batch of the largest datagrams.
pub(crate) fn buffers() -> Buffers {
    vec![vec![0; u16::MAX.into()]; AT_ONCE]
}

/// A datagram in the buffer into which it was read, and its sender.
pub(crate) type Read<'a> = (&'a [u8], SocketAddr);

/// Reads datagrams in batches and passes them to `take`, as long as `stays` is set and `take`
/// returns true.
pub(crate) fn read(
    socket: &UdpSocket,
    stays: &AtomicBool,
    buffers: &Mutex<Buffers>,
    mut take: impl FnMut(&[Read<'_>]) -> bool,
) -> io::Result<()> {
    repeat(stays, || receive(socket, buffers, &mut take))
}

/// Reads like [`read`] from a connected socket, but continues after any error. Such a socket
/// reports the ICMP errors of routers and firewalls on the way, of many kinds.
pub(super) fn read_connected(
    socket: &UdpSocket,
    stays: &AtomicBool,
    buffers: &Mutex<Buffers>,
    mut take: impl FnMut(&[Read<'_>]) -> bool,
) {
    persist(stays, || receive(socket, buffers, &mut take));
}

/// Repeats `receive` even after errors.
fn persist(stays: &AtomicBool, mut receive: impl FnMut() -> io::Result<bool>) {
    while repeat(stays, &mut receive).is_err() {
        // A permanent error must not keep a core busy.
        thread::sleep(PAUSE);
    }
}

/// Calls `receive` as long as `stays` is set and `receive` returns true.
fn repeat(stays: &AtomicBool, mut receive: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let mut rests = Rests::default();
    while stays.load(Ordering::Relaxed) {
        rests.begin_turn();
        match receive() {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // The error is a timeout, a signal, or an ICMP error about an earlier datagram.
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted
                | io::ErrorKind::ConnectionRefused
                | io::ErrorKind::ConnectionReset => {}
                _ => return Err(error),
            },
        }
    }
    Ok(())
}

/// Waits for a datagram, and takes all that have arrived, at most one per buffer. Returns whether
/// all were taken.
#[cfg(target_os = "linux")]
fn receive(
    socket: &UdpSocket,
    buffers: &Mutex<Buffers>,
    take: &mut dyn FnMut(&[Read<'_>]) -> bool,
) -> io::Result<bool> {
    use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg};

    // Readers that wait for a datagram keep no buffers from others.
    socket.peek(&mut [0])?;
    // If another reader panicked, the buffers are still valid.
    let mut buffers = buffers
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(buffers.len(), None);
    let mut slices: Vec<_> = buffers
        .iter_mut()
        .map(|buffer| [io::IoSliceMut::new(buffer)])
        .collect();
    let received = recvmmsg(
        socket.as_raw_fd(),
        &mut headers,
        slices.iter_mut(),
        MsgFlags::MSG_DONTWAIT,
        None,
    )?;
    let source = |address: SockaddrStorage| {
        let four = address
            .as_sockaddr_in()
            .map(|four| SocketAddr::V4((*four).into()));
        four.or_else(|| Some(SocketAddr::V6((*address.as_sockaddr_in6()?).into())))
    };
    let one = |message: nix::sys::socket::RecvMsg<'_, '_, SockaddrStorage>| {
        Some((message.bytes, source(message.address?)?))
    };
    let received: Vec<_> = received.map(one).collect();
    let datagrams: Vec<_> = received
        .into_iter()
        .zip(&*buffers)
        .filter_map(|(datagram, buffer)| {
            let (length, from) = datagram?;
            Some((&buffer[..length], from))
        })
        .collect();
    Ok(take(&datagrams))
}

/// Waits for a datagram. Where a datagram cannot be peeked at first, each reader has a separate
/// buffer.
#[cfg(not(target_os = "linux"))]
fn receive(
    socket: &UdpSocket,
    _: &Mutex<Buffers>,
    take: &mut dyn FnMut(&[Read<'_>]) -> bool,
) -> io::Result<bool> {
    let mut buffer = [0; u16::MAX as usize];
    let (length, from) = socket.recv_from(&mut buffer)?;
    Ok(take(&[(&buffer[..length], from)]))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    /// A reader beyond the budget waits until the forwarder takes a datagram, or the run ends.
    #[test]
    fn readers_wait_for_the_budget() {
        let (sender, receiver) = sync_channel(8);
        let inbox = Inbox {
            sender,
            bytes: Arc::default(),
            buffers: Arc::new(Mutex::new(buffers())),
        };
        let heard = || {
            vec![Heard {
                from: Err(0),
                packet: vec![0; MOST_BYTES],
            }]
        };
        assert!(inbox.put(heard(), &AtomicBool::new(true)));
        assert!(!inbox.put(heard(), &AtomicBool::new(false)));
        let stays = AtomicBool::new(true);
        thread::scope(|scope| {
            let waits = scope.spawn(|| inbox.put(heard(), &stays));
            let taken = receiver.recv().expect("the first");
            assert!(receiver.try_recv().is_err());
            inbox
                .bytes
                .fetch_sub(taken[0].packet.len(), Ordering::Relaxed);
            assert!(waits.join().expect("no panic"));
        });
        assert_eq!(inbox.bytes.load(Ordering::Relaxed), MOST_BYTES);
    }

    #[test]
    fn errors_do_not_end_the_reader_of_a_connected_socket() {
        let mut results = [
            io::ErrorKind::HostUnreachable,
            io::ErrorKind::NetworkUnreachable,
            io::ErrorKind::Other,
        ]
        .map(|kind| Err(kind.into()))
        .into_iter()
        .chain([Ok(true), Ok(false)]);
        persist(&AtomicBool::new(true), || results.next().unwrap());
        assert!(results.next().is_none());
    }
}
