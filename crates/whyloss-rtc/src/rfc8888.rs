//! Reads RFC 8888 reports from RTCP bytes, because rtcp-types does not read them.
//!
//! ```text
//! report    sender's source (4 bytes), streams, time of the report (4: the middle of its NTP time)
//! stream    source (4), first number (2), how many follow (2), a metric of each (2), padded
//! metric    arrived (1 bit), ECN (2), 1/1024 s before the report (13)
//! ```

use crate::Ecn;

/// The period after which a report's clock wraps, in ns.
pub const PERIOD: u64 = 65_536_000_000_000;

/// Returns the reports in a compound RTCP packet, up to the first packet that is truncated.
pub fn reports(compound: &[u8]) -> impl Iterator<Item = Report<'_>> {
    let mut rest = compound;
    std::iter::from_fn(move || {
        while let [first, kind, high, low, after @ ..] = rest {
            let length = 4 * usize::from(u16::from_be_bytes([*high, *low]));
            let body = after.get(..length)?;
            rest = &after[length..];
            // Transport feedback (RFC 4585, section 6.1) with format 11.
            if (*kind, first & 31) == (205, 11)
                && let Some(report) = Report::read(body)
            {
                return Some(report);
            }
        }
        None
    })
}

/// A report of arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The time of the report on the receiver's clock, in ns modulo [`PERIOD`].
    pub at: u64,
    streams: &'a [u8],
}

impl<'a> Report<'a> {
    fn read(body: &'a [u8]) -> Option<Self> {
        let (streams, stamp) = body.get(4..)?.split_last_chunk()?;
        let at = u64::from(u32::from_be_bytes(*stamp)) * 1_000_000_000 / 65_536;
        Some(Self { at, streams })
    }

    /// Returns the streams of the report, up to the first one that is truncated.
    pub fn streams(&self) -> impl Iterator<Item = Stream<'a>> + use<'a> {
        let mut rest = self.streams;
        std::iter::from_fn(move || {
            let [a, b, c, d, high, low, more, less, after @ ..] = rest else {
                return None;
            };
            let many = usize::from(u16::from_be_bytes([*more, *less]));
            let metrics = after.get(..2 * many)?;
            rest = after.get(2 * (many + many % 2)..).unwrap_or(&[]);
            Some(Stream {
                ssrc: u32::from_be_bytes([*a, *b, *c, *d]),
                first: u16::from_be_bytes([*high, *low]),
                metrics,
            })
        })
    }
}

/// Consecutive packets of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'a> {
    /// The source (SSRC) of the stream.
    pub ssrc: u32,
    /// The sequence number of the first packet in the report.
    pub first: u16,
    metrics: &'a [u8],
}

impl<'a> Stream<'a> {
    /// Returns the arrival of each packet; `None` if it did not arrive.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = Option<Arrival>> + use<'a> {
        self.metrics.chunks_exact(2).map(|metric| {
            let word = u16::from_be_bytes([metric[0], metric[1]]);
            // The two largest values mean a longer or an unknown time.
            let before = u64::from(word & 0x1fff);
            let known = before < 0x1ffe;
            (word >> 15 == 1).then(|| Arrival {
                before: known.then(|| before * 1_000_000_000 / 1_024),
                ecn: Ecn::from_bits((word >> 13) as u8),
            })
        })
    }
}

/// The arrival of one packet, as a report describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The time from the arrival to the report, in ns; `None` if it is unknown or too long.
    pub before: Option<u64>,
    /// The ECN codepoint of the packet at its arrival.
    pub ecn: Ecn,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three packets of stream 2, starting at number 65535: the second is missing, the third is
    /// marked.
    #[test]
    fn reads_a_report_and_any_part_of_it() {
        let mut bytes = vec![0x8b, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xff, 0, 3];
        bytes.extend([0xa0, 1, 0, 0, 0xff, 0xff, 0, 0, 0, 1, 0x80, 0]);
        let report = reports(&bytes).next().expect("a report");
        assert_eq!(report.at, 1_500_000_000);
        let stream = report.streams().next().expect("a stream");
        assert_eq!((stream.ssrc, stream.first), (2, 65_535));
        let arrival = |before, ecn| Some(Arrival { before, ecn });
        let expected = [
            arrival(Some(976_562), Ecn::Ect1),
            None,
            arrival(None, Ecn::Ce),
        ];
        assert!(stream.packets().eq(expected));
        assert_eq!(report.streams().count(), 1);
        for length in 0..bytes.len() {
            assert_eq!(reports(&bytes[..length]).count(), 0);
        }
    }
}
