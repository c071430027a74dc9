//! Payloads that follow from the session and the packet's number, so that the receiver can check
//! them, and their digests.

/// Fills a payload with the pattern of a session and a packet number.
pub fn fill(session: u32, number: u32, payload: &mut [u8]) {
    let mut state = u64::from(session) << 32 | u64::from(number);
    for chunk in payload.chunks_mut(8) {
        // SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        chunk.copy_from_slice(&word.to_be_bytes()[..chunk.len()]);
    }
}

/// Returns the bits of a payload that differ from the pattern, counted from the first bit.
pub fn differences(session: u32, number: u32, payload: &[u8]) -> Vec<u32> {
    let mut expected = vec![0; payload.len()];
    fill(session, number, &mut expected);
    let mut bits = Vec::new();
    for (index, (a, b)) in payload.iter().zip(&expected).enumerate() {
        let differ = a ^ b;
        bits.extend(
            (0..8)
                .filter(|bit| differ & (0x80 >> bit) != 0)
                .map(|bit| index as u32 * 8 + bit),
        );
    }
    bits
}

/// Continues a digest over more bytes. The digest (FNV-1a) detects accidents, not attacks.
pub fn digest(so_far: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(so_far, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The digest of no bytes.
pub const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// Returns a digest of 32 bits.
pub fn short_digest(bytes: &[u8]) -> u32 {
    let digest = digest(EMPTY, bytes);
    (digest ^ digest >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flipped_bits_are_found() {
        let mut payload = [0; 21];
        fill(1, 2, &mut payload);
        assert!(differences(1, 2, &payload).is_empty());
        assert!(!differences(1, 3, &payload).is_empty());
        payload[0] ^= 0x80;
        payload[20] ^= 1;
        assert_eq!(differences(1, 2, &payload), [0, 167]);
        assert_ne!(short_digest(b"a"), short_digest(b"b"));
    }
}
