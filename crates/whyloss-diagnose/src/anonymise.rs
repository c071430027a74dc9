//! Replaces addresses so that those of one network keep a common prefix.
//!
//! For each bit, a keyed hash of the preceding bits decides whether to flip it. Two addresses
//! therefore keep the length of their common prefix (Xu, Fan, Ammar & Moon, "Prefix-preserving IP
//! address anonymization", 2002, with SipHash instead of AES). Each run draws a new key and does
//! not store it.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Replaces addresses under one random key.
#[derive(Clone, Debug, Default)]
pub struct Anonymiser(RandomState);

impl Anonymiser {
    /// Returns the replacement of `address`, in the same family.
    pub fn address(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(v4) => {
                Ipv4Addr::from(self.bits(u128::from(u32::from(v4)), 32) as u32).into()
            }
            IpAddr::V6(v6) => Ipv6Addr::from(self.bits(u128::from(v6), 128)).into(),
        }
    }

    /// Replaces the address of `socket` and keeps its port.
    pub fn socket(&self, socket: SocketAddr) -> SocketAddr {
        SocketAddr::new(self.address(socket.ip()), socket.port())
    }

    fn bits(&self, bits: u128, width: u32) -> u128 {
        (0..width).fold(0, |done, index| {
            let rest = width - index;
            let prefix = if rest == 128 { 0 } else { bits >> rest };
            let flip = u128::from(self.0.hash_one((width, index, prefix)) & 1);
            done | ((bits >> (rest - 1) & 1) ^ flip) << (rest - 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_stay_and_addresses_differ() {
        let anonymiser = Anonymiser::default();
        let of = |text: &str| text.parse().map(|address| anonymiser.address(address));
        let bits = |address: IpAddr| match address {
            IpAddr::V4(v4) => u128::from(u32::from(v4)) << 96,
            IpAddr::V6(v6) => u128::from(v6),
        };
        for (a, b, shared) in [
            ("192.0.2.1", "192.0.2.7", 29),
            ("10.0.0.1", "192.0.2.1", 0),
            ("2001:db8::1", "2001:db8::2", 126),
        ] {
            let (Ok(a), Ok(b)) = (of(a), of(b)) else {
                panic!("addresses")
            };
            assert_eq!((bits(a) ^ bits(b)).leading_zeros(), shared);
        }
        assert_eq!(of("192.0.2.1"), of("192.0.2.1"));
    }
}
