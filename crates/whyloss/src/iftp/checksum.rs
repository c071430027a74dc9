//! The Internet checksum (RFC 1071): words of 16 bits, big-endian, added in one's complement.

/// An incomplete one's complement sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(u32);

impl Sum {
    /// Returns the sum of an IPv4 pseudo-header: addresses, protocol, and payload length (RFC 768).
    /// For UDP-Lite, the length is the network layer's, not the coverage (RFC 3828, 3.1).
    #[must_use]
    pub fn ipv4(source: [u8; 4], destination: [u8; 4], protocol: u8, length: u16) -> Self {
        let [high, low] = length.to_be_bytes();
        Self::default()
            .with(&source)
            .with(&destination)
            .with(&[0, protocol, high, low])
    }

    /// Adds `bytes`; an odd last byte is the high half of a word.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let mut words = bytes.chunks_exact(2);
        let mut sum = u64::from(self.0);
        for word in &mut words {
            sum += u64::from(u16::from_be_bytes([word[0], word[1]]));
        }
        if let [odd] = words.remainder() {
            sum += u64::from(*odd) << 8;
        }
        while sum >> 16 != 0 {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        Self(sum as u32)
    }

    /// Returns the checksum to send: the complement of the sum, or all ones if that is zero (RFC
    /// 768, RFC 3828).
    #[must_use]
    pub fn checksum(self) -> u16 {
        match !(self.0 as u16) {
            0 => u16::MAX,
            checksum => checksum,
        }
    }

    /// Returns whether the added bytes, checksum included, are undamaged.
    #[must_use]
    pub fn is_valid(self) -> bool {
        self.0 == 0xFFFF
    }
}

#[cfg(test)]
mod tests {
    use super::Sum;

    /// RFC 1071, 3: 0001 f203 f4f5 f6f7 add up to 2ddf0, so ddf2.
    #[test]
    fn the_example_of_the_rfc() {
        let sum = Sum::default().with(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.checksum(), !0xddf2);
    }

    #[test]
    fn odd_ends_and_zeros() {
        assert_eq!(Sum::default().with(&[0x12]).checksum(), !0x1200);
        assert_eq!(Sum::default().checksum(), 0xFFFF);
        // A computed checksum of zero is sent as all ones, which is the other form of zero.
        assert_eq!(Sum::default().with(&[0xFF, 0xFF]).checksum(), 0xFFFF);
        assert!(
            Sum::default()
                .with(&[0xFF, 0xFF])
                .with(&[0xFF, 0xFF])
                .is_valid()
        );
    }

    /// 10.0.0.1 → 10.0.0.2, protocol 253, 12 bytes: 0a00 + 0001 + 0a00 + 0002 + 00fd + 000c = 150c.
    #[test]
    fn a_pseudo_header_by_hand() {
        let sum = Sum::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 253, 12);
        assert_eq!(sum.checksum(), !0x150c);
    }
}
