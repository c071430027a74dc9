//! A socket of UDP or UDP-Lite, with the kernel's stamps and checksums over part of a packet.
#![expect(
    unsafe_code,
    reason = "three socket options that no crate has, each call on its own"
)]

use std::io::{self, IoSliceMut};
use std::mem;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, setsockopt, sockopt::ReceiveTimestampns,
};
use nix::sys::time::TimeSpec;
use socket2::{Domain, Protocol, Socket, Type};
use whyloss::{Duration, Time};

use super::EndpointError;
use crate::clock::{Clock, time_of_day};

/// The options of UDP-Lite (RFC 3828; linux/udp.h).
const SEND_COVERAGE: i32 = 10;
const RECEIVE_COVERAGE: i32 = 11;
/// The size of a header of UDP or UDP-Lite, in bytes.
const HEADER: i32 = 8;

/// A socket.
#[derive(Debug)]
pub(super) struct Wire {
    socket: UdpSocket,
    /// The address that errors name: the socket's own, or that of the connected peer.
    at: SocketAddr,
    lite: bool,
    /// The number of payload bytes that a partial checksum covers.
    section: Option<u16>,
    partial: bool,
    clock: Clock,
}

/// A datagram that arrived.
#[derive(Debug)]
pub(super) struct Datagram {
    pub(super) length: usize,
    pub(super) from: SocketAddr,
    /// The time of arrival by the kernel's stamp, on the socket's clock.
    pub(super) at: Time,
}

impl Wire {
    /// Returns a socket at this address. After [`Self::set_partial`], checksums cover the first
    /// `section` bytes of each payload.
    pub(super) fn bind(
        at: SocketAddrV4,
        lite: bool,
        section: Option<u16>,
        clock: Clock,
    ) -> Result<Self, EndpointError> {
        let protocol = if lite {
            Protocol::UDPLITE
        } else {
            Protocol::UDP
        };
        let failed = |source| EndpointError::Socket {
            at: at.into(),
            source,
        };
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(protocol)).map_err(|error| {
            if lite {
                EndpointError::NoUdpLite(error)
            } else {
                failed(error)
            }
        })?;
        let ready = (|| {
            socket.set_nonblocking(true)?;
            // Requests 1 MiB, so that no burst is lost while this process waits to run.
            let _ = socket.set_recv_buffer_size(1 << 20);
            socket.bind(&SocketAddr::V4(at).into())?;
            setsockopt(&socket, ReceiveTimestampns, &true)?;
            Ok(())
        })();
        ready.map_err(failed)?;
        let wire = Self {
            socket: socket.into(),
            at: at.into(),
            lite,
            section,
            partial: false,
            clock,
        };
        if lite {
            // A datagram's header must at least be covered.
            wire.option(libc::IPPROTO_UDPLITE, RECEIVE_COVERAGE, HEADER)
                .map_err(failed)?;
        }
        Ok(wire)
    }

    pub(super) fn connect(&mut self, peer: SocketAddr) -> Result<(), EndpointError> {
        self.at = peer;
        self.socket
            .connect(peer)
            .map_err(|error| self.failed(error))
    }

    /// Returns the socket's own address, or that of the peer to which it is connected.
    pub(super) fn at(&self) -> SocketAddr {
        self.at
    }

    /// Wraps an I/O error of the session's socket.
    pub(super) fn failed(&self, source: io::Error) -> EndpointError {
        EndpointError::Socket {
            at: self.at,
            source,
        }
    }

    /// Returns the socket's port.
    pub(super) fn port(&self) -> u16 {
        self.socket.local_addr().map_or(0, |address| address.port())
    }

    /// Sets whether checksums of sent datagrams cover the section alone (with UDP: nothing, because
    /// the application checks) or everything.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses the option.
    pub(super) fn set_partial(&mut self, partial: bool) -> Result<(), EndpointError> {
        let Some(section) = self.section.filter(|_| partial != self.partial) else {
            return Ok(());
        };
        self.partial = partial;
        let done = if self.lite {
            let coverage = if partial {
                HEADER + i32::from(section)
            } else {
                0
            };
            self.option(libc::IPPROTO_UDPLITE, SEND_COVERAGE, coverage)
        } else {
            self.option(libc::SOL_SOCKET, libc::SO_NO_CHECK, i32::from(partial))
        };
        done.map_err(|error| self.failed(error))
    }

    /// Sends to the connected peer. Datagrams for which the kernel has no room are lost, as on the
    /// path.
    pub(super) fn send(&self, packet: &[u8]) -> io::Result<()> {
        lossy(self.socket.send(packet))
    }

    pub(super) fn send_to(&self, packet: &[u8], peer: SocketAddr) -> io::Result<()> {
        lossy(self.socket.send_to(packet, peer))
    }

    /// Receives a datagram; `None` if none has arrived.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Datagram>> {
        let mut parts = [IoSliceMut::new(buffer)];
        let mut space = nix::cmsg_space!(libc::timespec);
        let flags = MsgFlags::MSG_DONTWAIT;
        let message = match recvmsg::<SockaddrIn>(
            self.socket.as_raw_fd(),
            &mut parts,
            Some(&mut space),
            flags,
        ) {
            Ok(message) => message,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let stamped = message.cmsgs().ok().and_then(|mut all| {
            all.find_map(|one| match one {
                ControlMessageOwned::ScmTimestampns(at) => {
                    Some(time::Duration::from(at).as_nanos() as u64)
                }
                _ => None,
            })
        });
        // The kernel stamps with the time of day, which may be changed, so only the age of the
        // stamp is used.
        let ago = stamped
            .map_or(0, |at| time_of_day().saturating_sub(at))
            .min(1_000_000_000);
        let at = self.clock.now() - Duration::from_nanos(ago as i64);
        let from = message
            .address
            .map_or(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0), |address| {
                SocketAddrV4::new(address.ip(), address.port())
            });
        Ok(Some(Datagram {
            length: message.bytes,
            from: from.into(),
            at,
        }))
    }

    /// Waits until something has arrived, or until this time.
    pub(super) fn wait(&self, until: Time) -> Result<(), EndpointError> {
        let span = (until - self.clock.now()).max(Duration::ZERO);
        let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let span = TimeSpec::from_duration(time::Duration::from_nanos(span.as_nanos() as u64));
        match ppoll(&mut fds, Some(span), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(self.failed(error.into())),
        }
    }

    fn option(&self, level: i32, name: i32, value: i32) -> io::Result<()> {
        let size = mem::size_of::<i32>() as libc::socklen_t;
        // SAFETY: the descriptor is open, and the value lives through the call and has the given
        // size.
        let done = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                level,
                name,
                (&raw const value).cast(),
                size,
            )
        };
        if done == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

/// Treats a full queue of the kernel as a loss.
fn lossy(sent: io::Result<usize>) -> io::Result<()> {
    match sent {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(()),
        Err(error) => Err(error),
    }
}
