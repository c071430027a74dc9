//! TUN devices, their addresses and routes: the ioctls of Linux.
//!
//! Everything here acts in the network namespace of the calling thread. A device stays in the
//! namespace where it was created, and exists as long as its descriptor is open.
#![expect(
    unsafe_code,
    reason = "ioctls on structures of the kernel, each call on its own"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Read, Seek, SeekFrom, Write};
use std::iter;
use std::mem;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use crate::addresses::{LENGTH6, with_ipv4};
use crate::segments::{DESCRIPTION, Joined};

nix::ioctl_write_int_bad!(set_offload, libc::TUNSETOFFLOAD);
nix::ioctl_read_bad!(get_index, libc::SIOCGIFINDEX, libc::ifreq);
nix::ioctl_write_ptr_bad!(set_address, libc::SIOCSIFADDR, libc::ifreq);
nix::ioctl_write_ptr_bad!(set_address6, libc::SIOCSIFADDR, libc::in6_ifreq);
nix::ioctl_write_ptr_bad!(add_route6, libc::SIOCADDRT, Route6);
nix::ioctl_write_ptr_bad!(set_netmask, libc::SIOCSIFNETMASK, libc::ifreq);
nix::ioctl_write_ptr_bad!(set_mtu, libc::SIOCSIFMTU, libc::ifreq);
nix::ioctl_write_ptr_bad!(set_queue, libc::SIOCSIFTXQLEN, libc::ifreq);
nix::ioctl_write_ptr_bad!(set_flags, libc::SIOCSIFFLAGS, libc::ifreq);
nix::ioctl_write_ptr_bad!(add_route, libc::SIOCADDRT, libc::rtentry);
nix::ioctl_write_ptr_bad!(make_tun, libc::TUNSETIFF, libc::ifreq);

/// The number of packets that may wait in a TUN device. The emulator needs more than a second to
/// forward as many.
const QUEUE: i32 = 30_000;

/// The kernel's `struct in6_rtmsg`, whose fields libc keeps private; all zeros is the route to
/// everything.
#[repr(C)]
#[derive(Default)]
struct Route6 {
    destination: [u8; 16],
    source: [u8; 16],
    gateway: [u8; 16],
    kind: u32,
    destination_length: u16,
    source_length: u16,
    metric: u32,
    info: libc::c_ulong,
    flags: u32,
    index: libc::c_int,
}

/// Opens the device that creates TUN devices.
pub(crate) fn open() -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")
}

/// The name, the addresses and the size of a TUN device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'a> {
    pub(crate) name: &'a str,
    /// The IPv4 address; the IPv6 address follows from it.
    pub(crate) address: Ipv4Addr,
    /// The number of leading bits that the IPv4 addresses behind the device share.
    pub(crate) prefix: u8,
    /// The size of the largest packet, in bytes.
    pub(crate) mtu: u16,
    /// Whether packets without another route enter the device.
    pub(crate) default: bool,
}

/// A TUN device.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
    /// Whether the kernel accepts segments of UDP.
    has_udp: bool,
    name: String,
    /// The counters of the devices in its namespace.
    counters: File,
    /// The value of the device's drop counter at its creation.
    dropped: u64,
}

impl Tun {
    /// Creates the device, with IPv6 if the namespace has IPv6. With IFF_VNET_HDR, the kernel does
    /// not split [segments](crate::segments) of offloads.
    pub(crate) fn create(shape: Shape<'_>) -> io::Result<Self> {
        let Shape {
            name,
            address,
            prefix,
            mtu,
            default,
        } = shape;
        let file = open()?;
        let mut request = request(name)?;
        request.ifr_ifru.ifru_flags =
            (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL | libc::IFF_VNET_HDR)
                as libc::c_short;
        // SAFETY: the descriptor is open, and the request is a whole ifreq that lives through the
        // call.
        unsafe { make_tun(file.as_raw_fd(), &raw const request) }?;
        let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
        let with_udp = offloads | libc::TUN_F_USO4 | libc::TUN_F_USO6;
        let set = |offloads: u32| {
            // SAFETY: the descriptor is open, and the argument is a number.
            unsafe { set_offload(file.as_raw_fd(), offloads as libc::c_int) }
        };
        // Linux before 6.2 splits segments of UDP, and accepts none.
        let has_udp = set(with_udp).is_ok();
        if !has_udp {
            set(offloads)?;
        }
        quiet(name);
        let socket = control()?;
        let change = |set: unsafe fn(i32, *const libc::ifreq) -> nix::Result<i32>,
                      fill: &dyn Fn(&mut libc::ifreq)|
         -> io::Result<()> {
            let mut request = self::request(name)?;
            fill(&mut request);
            // SAFETY: as above; `set` is one of the ioctls on an ifreq.
            unsafe { set(socket.as_raw_fd(), &raw const request) }?;
            Ok(())
        };
        change(set_address, &|r| {
            r.ifr_ifru.ifru_addr = socket_address(address);
        })?;
        change(set_netmask, &|r| {
            r.ifr_ifru.ifru_netmask = socket_address(netmask(prefix));
        })?;
        change(set_mtu, &|r| r.ifr_ifru.ifru_mtu = i32::from(mtu))?;
        // The ioctl takes an integer in the same place. Only the machine's own root may set it: in
        // a user namespace, the length stays at 500.
        let longer = change(set_queue, &|r| r.ifr_ifru.ifru_mtu = QUEUE);
        longer.or_else(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Ok(()),
            _ => Err(error),
        })?;
        change(set_flags, &|r| {
            // Without IFF_MULTICAST and with IFF_NOARP, the device does not announce itself.
            let flags = libc::IFF_UP | libc::IFF_RUNNING | libc::IFF_NOARP;
            r.ifr_ifru.ifru_flags = flags as libc::c_short;
        })?;
        if default {
            default_route(&socket, name)?;
        }
        // A kernel or a namespace without IPv6 uses IPv4 alone.
        let _ = ipv6(shape);
        let mut tun = Self {
            file,
            has_udp,
            name: name.to_owned(),
            counters: File::open("/proc/thread-self/net/dev")?,
            dropped: 0,
        };
        tun.dropped = tun.dropped()?;
        Ok(tun)
    }

    /// Reads a segment that the host sent, with its description; `None` if there is none.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a packet to the host. Returns whether the kernel accepted it.
    pub(crate) fn write(&self, packet: &[u8]) -> bool {
        self.write_parts(&[IoSlice::new(&[0; DESCRIPTION]), IoSlice::new(packet)])
    }

    /// Writes packets to the host in one call. Returns whether the kernel accepted them.
    pub(crate) fn write_joined<'a>(
        &self,
        joined: &Joined,
        packets: impl Iterator<Item = &'a [u8]>,
    ) -> bool {
        let payloads = packets.map(|packet| IoSlice::new(&packet[joined.headers..]));
        let head = IoSlice::new(&joined.head);
        (self.has_udp || !joined.is_udp())
            && self.write_parts(&iter::once(head).chain(payloads).collect::<Vec<_>>())
    }

    fn write_parts(&self, parts: &[IoSlice<'_>]) -> bool {
        let size: usize = parts.iter().map(|part| part.len()).sum();
        matches!((&self.file).write_vectored(parts), Ok(length) if length == size)
    }

    /// Returns the number of packets that the device has dropped since its creation, because it was
    /// full or its host did not accept them.
    pub(crate) fn dropped(&mut self) -> io::Result<u64> {
        let mut text = String::new();
        self.counters.seek(SeekFrom::Start(0))?;
        self.counters.read_to_string(&mut text)?;
        let line = text.lines().find_map(|line| {
            let (name, counts) = line.split_once(':')?;
            (name.trim() == self.name).then(|| counts.split_ascii_whitespace())
        });
        // The received counts are bytes, packets, errs, drop, fifo, frame, compressed, multicast.
        // The sent counts follow.
        let counts: Vec<u64> = line
            .map(|counts| counts.map(|count| count.parse().unwrap_or(0)).collect())
            .unwrap_or_default();
        let total = [3, 11].iter().filter_map(|&at| counts.get(at)).sum::<u64>();
        Ok(total.saturating_sub(self.dropped))
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Activates the loopback device of this namespace.
pub(crate) fn loopback_up() -> io::Result<()> {
    let mut request = request("lo")?;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    let socket = control()?;
    // SAFETY: the descriptor is open, and the request is a whole ifreq that lives through the call.
    unsafe { set_flags(socket.as_raw_fd(), &raw const request) }?;
    Ok(())
}

/// Keeps IPv6 from announcing a device, because its packets would use the link. Call it before the
/// device is up.
fn quiet(name: &str) {
    // Without IPv6 in the kernel, there are no announcements.
    for (key, value) in [
        ("addr_gen_mode", "1"),
        ("accept_ra", "0"),
        ("router_solicitations", "0"),
        ("accept_dad", "0"),
    ] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/{key}"), value);
    }
}

/// Sets the IPv6 address and default route of a device that is up.
fn ipv6(shape: Shape<'_>) -> io::Result<()> {
    let mut request = request(shape.name)?;
    let family = AddressFamily::Inet6;
    let socket = socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: the descriptor is open, and the request is a whole ifreq that lives through the call.
    unsafe { get_index(socket.as_raw_fd(), &raw mut request) }?;
    // SAFETY: the call above has written this field.
    let index = unsafe { request.ifr_ifru.ifru_ifindex };
    let address = libc::in6_ifreq {
        ifr6_addr: libc::in6_addr {
            s6_addr: with_ipv4(shape.address).octets(),
        },
        ifr6_prefixlen: (LENGTH6 + shape.prefix).into(),
        ifr6_ifindex: index,
    };
    // SAFETY: the descriptor is open, and the request lives through the call.
    unsafe { set_address6(socket.as_raw_fd(), &raw const address) }?;
    if shape.default {
        let route = Route6 {
            flags: u32::from(libc::RTF_UP),
            metric: 1,
            index,
            ..Route6::default()
        };
        // SAFETY: the descriptor is open, and the route lives through the call.
        unsafe { add_route6(socket.as_raw_fd(), &raw const route) }?;
    }
    Ok(())
}

fn control() -> io::Result<OwnedFd> {
    Ok(socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?)
}

fn default_route(socket: &OwnedFd, name: &str) -> io::Result<()> {
    let mut device: Vec<libc::c_char> = name.bytes().map(|byte| byte as libc::c_char).collect();
    device.push(0);
    // SAFETY: a route of all zeros is a valid value of this plain structure.
    let mut route: libc::rtentry = unsafe { mem::zeroed() };
    route.rt_dst = socket_address(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = socket_address(Ipv4Addr::UNSPECIFIED);
    route.rt_flags = libc::RTF_UP;
    route.rt_dev = device.as_mut_ptr();
    // SAFETY: the route and the name that it points to live through the call.
    unsafe { add_route(socket.as_raw_fd(), &raw const route) }?;
    Ok(())
}

fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: an ifreq of all zeros is a valid value of this plain structure.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::other(format!(
            "the device name {name} is too long"
        )));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    Ok(request)
}

fn netmask(prefix: u8) -> Ipv4Addr {
    Ipv4Addr::from(u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0))
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    let mut data = [0 as libc::c_char; 14];
    for (place, byte) in data[2..6].iter_mut().zip(address.octets()) {
        *place = byte as libc::c_char;
    }
    libc::sockaddr {
        sa_family: libc::AF_INET as libc::sa_family_t,
        sa_data: data,
    }
}
