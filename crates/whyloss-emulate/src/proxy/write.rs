//! The writer of the proxy. On Linux, datagrams of one size in one direction leave in one system
//! call (`UDP_SEGMENT`, udp(7)). The kernel splits them before they are received.

use std::net::{SocketAddr, UdpSocket};

/// The maximum number of packets per system call.
pub(super) const AT_ONCE: usize = if cfg!(target_os = "linux") { 32 } else { 1 };

/// The output: a socket, and the destination unless the socket is connected.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) socket: &'a UdpSocket,
    pub(super) to: Option<SocketAddr>,
}

impl Way<'_> {
    /// Sends datagrams of one size in one call. Returns whether the kernel took them. If not, send
    /// them one by one: one may be too large for the path, or the device computes no checksums.
    #[cfg(target_os = "linux")]
    pub(super) fn send_together<'a>(self, datagrams: impl Iterator<Item = &'a [u8]>) -> bool {
        use std::io::IoSlice;
        use std::os::fd::AsRawFd as _;

        use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};

        let slices: Vec<_> = datagrams.map(IoSlice::new).collect();
        let size = slices.first().map_or(0, |slice| slice.len());
        let all = size * slices.len();
        let Some(segment) = u16::try_from(size).ok().filter(|&size| size > 0) else {
            return false;
        };
        if slices.len() < 2 || all > MOST_BYTES {
            return false;
        }
        let to = self.to.map(SockaddrStorage::from);
        let segments = [ControlMessage::UdpGsoSegments(&segment)];
        let fd = self.socket.as_raw_fd();
        let sent = sendmsg(fd, &slices, &segments, MsgFlags::empty(), to.as_ref());
        sent == Ok(all)
    }

    /// Returns false: other systems send one datagram at a time.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn send_together<'a>(self, _: impl Iterator<Item = &'a [u8]>) -> bool {
        false
    }

    /// Sends a datagram. Returns whether the kernel took it.
    pub(super) fn send(self, data: &[u8]) -> bool {
        let send = || match self.to {
            None => self.socket.send(data),
            Some(to) => self.socket.send_to(data, to),
        };
        // The first try removes an error that an earlier datagram caused.
        send()
            .or_else(|_| send())
            .is_ok_and(|sent| sent == data.len())
    }
}

/// The largest UDP payload, in bytes.
#[cfg(target_os = "linux")]
const MOST_BYTES: usize = 65_507;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Datagrams that leave together arrive separately, whole and in order.
    #[test]
    fn together_and_apart() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = receiver.local_addr().unwrap();
        let way = Way {
            socket: &socket,
            to: Some(to),
        };
        let datagrams: Vec<[u8; 1_200]> = (0..20).map(|number| [number; 1_200]).collect();
        assert!(way.send_together(datagrams.iter().map(<[u8; 1_200]>::as_slice)));
        let mut buffer = [0; 2_000];
        for sent in datagrams {
            assert_eq!(receiver.recv(&mut buffer).unwrap(), 1_200);
            assert_eq!(buffer[..1_200], sent);
        }
        // Together, these two datagrams are too long for one message.
        let long = vec![0; 40_000];
        assert!(!way.send_together([&long[..], &long[..]].into_iter()));
        assert!(way.send(&long));
        assert_eq!(receiver.recv(&mut buffer).unwrap(), buffer.len());
    }
}
