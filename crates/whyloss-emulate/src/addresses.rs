//! The addresses of the hosts of a run, chosen so that parallel and nested runs do not collide.
//!
//! ```text
//! 100.64.0.0/10   shared address space (RFC 6598), as mahimahi uses it
//!   run           64 slots of /16 on the machine; inside a host, the slots of the host's prefix
//!                (3 bits, the first is the host's)
//!     host        a prefix of the run's slot: 4 bits, or as many as needed; the first is the
//!                 outside's
//! ```
//!
//! A host owns its whole prefix, so that plain routes reach a run inside it.
//!
//! The IPv6 address of a host is a unique local prefix (RFC 4193) followed by its IPv4 address in
//! the last 32 bits (as in RFC 6052). One plan of addresses therefore serves both families.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of IPv4 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The first address of the range, as a number.
    pub base: u32,
    /// The number of leading bits that all addresses share.
    pub length: u8,
}

/// The addresses of all runs.
pub const ALL: Prefix = Prefix {
    base: u32::from_be_bytes([100, 64, 0, 0]),
    length: 10,
};

/// The prefix of all IPv6 addresses of runs: a unique local address (RFC 4193) that contains
/// `whyloss`.
const PREFIX6: [u8; 12] = *b"\xfdwhyloss\0\0\0\0";
/// The length of the IPv6 prefix, in bits.
pub const LENGTH6: u8 = 96;

/// Returns the IPv6 address that belongs to an IPv4 address of a run.
pub fn with_ipv4(address: Ipv4Addr) -> Ipv6Addr {
    let mut bytes = [0; 16];
    bytes[..12].copy_from_slice(&PREFIX6);
    bytes[12..].copy_from_slice(&address.octets());
    bytes.into()
}

/// Returns the IPv4 address that identifies a host: the address itself, or the one in an IPv6
/// address of a run. Returns `None` for any other IPv6 address.
pub fn ipv4_of(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(address) => {
            let bytes = address.octets();
            let inner = bytes.strip_prefix(&PREFIX6)?;
            Some(Ipv4Addr::from(*inner.first_chunk::<4>()?))
        }
    }
}

/// Returns whether routers forward packets to this address. They do not for link-local addresses
/// and groups.
pub fn is_forwarded(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => true,
        IpAddr::V6(address) => !address.is_multicast() && !address.is_unicast_link_local(),
    }
}

/// The number of bits that distinguish runs on a machine.
const RUN_BITS: u8 = 6;
/// The number of bits that distinguish runs inside a host.
const INNER_BITS: u8 = 3;
/// The minimum number of bits that distinguish the hosts of a run.
const HOST_BITS: u8 = 4;

impl Prefix {
    /// Returns part number `index` of the range, with a prefix that is `bits` longer. Returns
    /// `None` if the range has no such part.
    pub fn part(self, bits: u8, index: u32) -> Option<Self> {
        let length = self
            .length
            .checked_add(bits)
            .filter(|&length| length <= 30)?;
        (u64::from(index) < 1 << bits).then(|| Self {
            base: self.base | index << (32 - length),
            length,
        })
    }

    /// Returns the first address, which belongs to the owner of the range.
    pub fn first(self) -> Ipv4Addr {
        Ipv4Addr::from(self.base | 1)
    }

    /// Returns whether an address is in the range.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        let shift = 32 - u32::from(self.length);
        u64::from(u32::from(address)) >> shift == u64::from(self.base) >> shift
    }

    /// Returns the range of a host that has this address and prefix length.
    pub fn of(address: Ipv4Addr, length: u8) -> Self {
        let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
        Self {
            base: u32::from(address) & mask,
            length,
        }
    }

    /// Returns the slots that runs may take: on the machine for `None`, or inside a host with this
    /// range.
    pub fn slots(inside: Option<Self>) -> impl Iterator<Item = Self> {
        let (range, bits) = inside.map_or((ALL, RUN_BITS), |host| (host, INNER_BITS));
        (1..1 << bits).filter_map(move |index| range.part(bits, index))
    }

    /// Returns the ranges of the outside and of `count` hosts; `None` if they do not fit.
    pub fn hosts(self, count: usize) -> Option<Vec<Self>> {
        let needed = (count as u64 + 1).next_power_of_two().trailing_zeros() as u8;
        let bits = needed.max(HOST_BITS.min(30u8.saturating_sub(self.length)));
        (0..=count as u32)
            .map(|index| self.part(bits, index))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_in_a_run_by_hand() {
        let slot = Prefix::slots(None).next().unwrap();
        assert_eq!(
            (slot.first(), slot.length),
            (Ipv4Addr::new(100, 65, 0, 1), 16)
        );
        let hosts = slot.hosts(2).unwrap();
        assert_eq!(hosts[0].first(), slot.first());
        assert_eq!(
            (hosts[2].first(), hosts[2].length),
            (Ipv4Addr::new(100, 65, 32, 1), 20)
        );
        let inner = Prefix::slots(Some(Prefix::of(hosts[2].first(), 20)))
            .next()
            .unwrap();
        assert_eq!(
            (inner.first(), inner.length),
            (Ipv4Addr::new(100, 65, 34, 1), 23)
        );
        let innermost = inner.hosts(1).unwrap()[1];
        assert_eq!(innermost.length, 27);
        assert!(hosts[2].contains(innermost.first()) && !hosts[1].contains(innermost.first()));
        // After one more slot, the host is full.
        let last = Prefix::slots(Some(innermost)).next().unwrap();
        assert_eq!(last.length, 30);
        assert!(last.hosts(1).is_none());
    }

    #[test]
    fn an_ipv6_address_has_the_ipv4_address_in_it() {
        let four = Ipv4Addr::new(100, 65, 16, 1);
        let six = with_ipv4(four);
        assert_eq!(six.to_string(), "fd77:6879:6c6f:7373::6441:1001");
        assert_eq!(ipv4_of(six.into()), Some(four));
        assert_eq!(ipv4_of("2001:db8::1".parse().unwrap()), None);
        assert!(is_forwarded(six.into()));
        assert!(!is_forwarded("ff02::2".parse().unwrap()));
        assert!(!is_forwarded("fe80::1".parse().unwrap()));
    }

    #[test]
    fn many_hosts() {
        let slot = Prefix::slots(None).last().unwrap();
        assert_eq!(slot.first(), Ipv4Addr::new(100, 127, 0, 1));
        let hosts = slot.hosts(200).unwrap();
        assert_eq!((hosts.len(), hosts[200].length), (201, 24));
        assert!(slot.hosts(20_000).is_none());
    }
}
