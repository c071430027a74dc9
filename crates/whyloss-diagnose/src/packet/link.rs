//! Parses link layers: finds the beginning of IP in a frame.
//!
//! Supports Ethernet (with VLAN, QinQ, MPLS, PPPoE), FDDI, Linux cooked (both versions), PPP, null
//! and loop, and raw IP. The numbers are link types of <https://www.tcpdump.org/linktypes.html> and
//! ether types of IANA.

use super::Pass;

const NULL: u32 = 0;
const ETHERNET: u32 = 1;
const PPP: u32 = 9;
const FDDI: u32 = 10;
const PPP_HDLC: u32 = 50;
const PPP_ETHER: u32 = 51;
const RAW: u32 = 101;
/// The numbers that some systems write for [`RAW`] in capture headers.
const RAW_DLT: [u32; 2] = [12, 14];
const LOOP: u32 = 108;
const LINUX_SLL: u32 = 113;
const IPV4: u32 = 228;
const IPV6: u32 = 229;
const LINUX_SLL2: u32 = 276;

/// The maximum number of nested VLAN tags and labels.
const TAGS: usize = 16;

/// Returns the bytes that start with the IP header.
pub(super) fn network(link: u32, bytes: &[u8]) -> Result<&[u8], Pass> {
    match link {
        ETHERNET => ether(bytes, 12),
        // Frame control and two addresses come first, then LLC with SNAP, as after a length of
        // 802.3.
        FDDI => ether_type(0, bytes.get(13..).ok_or(Pass::Short)?),
        LINUX_SLL => ether(bytes, 14),
        LINUX_SLL2 => {
            let rest = bytes.get(20..).ok_or(Pass::Short)?;
            ether_type(word(bytes, 0)?, rest)
        }
        RAW | IPV4 | IPV6 => ip(bytes),
        link if RAW_DLT.contains(&link) => ip(bytes),
        // The address family has the byte order of the capturing machine. The version of IP
        // identifies the family in any order.
        NULL | LOOP => ip(bytes.get(4..).ok_or(Pass::Short)?),
        PPP | PPP_HDLC => ppp(bytes.strip_prefix(&[0xff, 0x03]).unwrap_or(bytes)),
        PPP_ETHER => ppp(bytes.get(6..).ok_or(Pass::Short)?),
        _ => Err(Pass::Link),
    }
}

/// Returns the payload after the ether type at `at`.
pub(super) fn ether(bytes: &[u8], at: usize) -> Result<&[u8], Pass> {
    let rest = bytes.get(at + 2..).ok_or(Pass::Short)?;
    ether_type(word(bytes, at)?, rest)
}

/// Returns the payload after ether type `kind`, without tags.
pub(super) fn ether_type(kind: u16, rest: &[u8]) -> Result<&[u8], Pass> {
    let (mut kind, mut rest) = (kind, rest);
    for _ in 0..TAGS {
        match kind {
            0x0800 | 0x86dd => return ip(rest),
            // 802.1Q, 802.1ad, and the older numbers of QinQ.
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
                kind = word(rest, 2)?;
                rest = rest.get(4..).ok_or(Pass::Short)?;
            }
            // A PPPoE session.
            0x8864 => return ppp(rest.get(6..).ok_or(Pass::Short)?),
            0x8847 | 0x8848 => return mpls(rest),
            // 802.3 with a length, followed by LLC, perhaps with SNAP.
            0..=1500 => {
                let snap = rest
                    .strip_prefix(&[0xaa, 0xaa, 0x03, 0, 0, 0])
                    .ok_or(Pass::Other)?;
                kind = word(snap, 0)?;
                rest = &snap[2..];
            }
            _ => return Err(Pass::Other),
        }
    }
    Err(Pass::Malformed)
}

/// Returns the payload below a stack of labels. Labels do not name their payload, so the IP version
/// identifies it (RFC 4928).
fn mpls(bytes: &[u8]) -> Result<&[u8], Pass> {
    for label in 0..TAGS {
        let end = 4 * (label + 1);
        let bottom = bytes.get(end - 2).ok_or(Pass::Short)? & 1 == 1;
        if bottom {
            let rest = &bytes[end..];
            return match rest.first().ok_or(Pass::Short)? >> 4 {
                4 | 6 => ip(rest),
                // A pseudo-wire's control word (RFC 4385), followed by Ethernet.
                0 => ether(rest.get(4..).ok_or(Pass::Short)?, 12),
                _ => Err(Pass::Other),
            };
        }
    }
    Err(Pass::Malformed)
}

/// Returns the payload behind PPP's protocol field, which may be one byte long.
fn ppp(bytes: &[u8]) -> Result<&[u8], Pass> {
    let first = *bytes.first().ok_or(Pass::Short)?;
    let (protocol, rest) = if first & 1 == 1 {
        (u16::from(first), &bytes[1..])
    } else {
        (word(bytes, 0)?, &bytes[2..])
    };
    match protocol {
        0x0021 | 0x0057 => ip(rest),
        0x0281 | 0x0283 => mpls(rest),
        _ => Err(Pass::Other),
    }
}

fn ip(bytes: &[u8]) -> Result<&[u8], Pass> {
    match bytes.first().ok_or(Pass::Short)? >> 4 {
        4 | 6 => Ok(bytes),
        _ => Err(Pass::Other),
    }
}

/// Returns the 16 bits at `at`.
pub(super) fn word(bytes: &[u8], at: usize) -> Result<u16, Pass> {
    let bytes = bytes.get(at..at + 2).ok_or(Pass::Short)?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: [u8; 2] = [0x45, 0x77];

    fn behind(link: u32, header: &[u8]) -> Result<usize, Pass> {
        let frame = [header, &IP].concat();
        let found = network(link, &frame)?;
        assert_eq!(found, IP);
        Ok(frame.len() - found.len())
    }

    #[test]
    fn every_link_layer_leads_to_ip() {
        let ethernet = |kind: &[u8]| [&[0; 12], kind].concat();
        let qinq = [0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 0x08, 0];
        let pppoe = [0x88, 0x64, 0x11, 0, 0, 1, 0, 9, 0, 0x21];
        let labels = [0x88, 0x47, 0, 0, 0x10, 64, 0, 0, 0x21, 64];
        let snap = [0, 9, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        for (link, header) in [
            (ETHERNET, ethernet(&[8, 0])),
            (ETHERNET, ethernet(&[0x81, 0, 0, 7, 8, 0])),
            (ETHERNET, ethernet(&qinq)),
            (ETHERNET, ethernet(&pppoe)),
            (ETHERNET, ethernet(&labels)),
            (ETHERNET, ethernet(&snap)),
            (
                ETHERNET,
                [&[0; 12][..], &[0x91, 0, 0, 7, 0x81, 0, 0, 9, 8, 0]].concat(),
            ),
            (FDDI, [&[0x50; 13][..], &snap[2..]].concat()),
            (PPP_HDLC, vec![0xff, 3, 0, 0x21]),
            (PPP_ETHER, vec![0x11, 0, 0, 1, 0, 9, 0, 0x21]),
            (LINUX_SLL, [&[0; 14][..], &[8, 0]].concat()),
            (LINUX_SLL2, [&[8, 0][..], &[0; 18]].concat()),
            (NULL, vec![2, 0, 0, 0]),
            (LOOP, vec![0, 0, 0, 2]),
            (PPP, vec![0xff, 3, 0, 0x21]),
            (PPP, vec![0x21]),
            (RAW, vec![]),
        ] {
            assert_eq!(
                behind(link, &header),
                Ok(header.len()),
                "{link} {header:02x?}"
            );
        }
    }

    #[test]
    fn what_is_not_ip_or_not_there_is_passed_over() {
        assert_eq!(network(ETHERNET, &[0; 13]), Err(Pass::Short));
        assert_eq!(
            behind(ETHERNET, &[&[0; 12][..], &[8, 6]].concat()),
            Err(Pass::Other)
        );
        assert_eq!(network(RAW, &[0x05]), Err(Pass::Other));
        assert_eq!(network(4711, &IP), Err(Pass::Link));
        let tags = [&[0; 12][..], &[0x81, 0, 0, 1].repeat(20)].concat();
        assert_eq!(behind(ETHERNET, &tags), Err(Pass::Malformed));
    }
}
