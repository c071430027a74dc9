//! UDP, TCP, IFTP, IFTP-W and IFTPV as the paper has them (Sections 2, 4, 5.2, 7, 10.2).
//!
//! | | |
//! |---|---|
//! | UDP | 1 Mbit/s in the mean; the gap after the last bit of a packet on the source's link is exponential |
//! | TCP | Reno; every segment acknowledged, from a window of 1, threshold 32, at most 50 segments |
//! | IFTP, IFTP-W, IFTPV | the same constants; τ is the packet's time on the source's link |
//!
//! Packets have 1024 bytes on the wire and acknowledgements 40. The paper states no retransmission timer: RFC 6298's,
//! whose least timeout of 1 s is also that of the time (ELA-4), with a round trip of every acknowledgement.

use whyloss::schemes::{self, Scheme};
use whyloss::sender::Classifier;
use whyloss::{Rate, iftp};
use whyloss_sim::decider::Decider;
use whyloss_sim::host::datagrams::{Pattern, Spacing};
use whyloss_sim::host::tcp::{Options, Recovery};
use whyloss_sim::scenario::Transport;

use crate::variant::Variant;

/// Of every source's link.
pub(crate) const WIRED: Rate = Rate::from_mbps(10);

/// Bytes of a packet.
pub(crate) const PACKET: u32 = 1024;
/// Bytes of a video packet (Section 9).
pub(crate) const VIDEO: u32 = 1464;
/// Bytes of an audio packet (Section 9).
pub(crate) const AUDIO: u32 = 92;
/// Bytes of the header, which is always sensitive.
pub(crate) const HEADER: u32 = 40;
/// UDP's mean rate.
pub(crate) const UDP_RATE: Rate = Rate::from_mbps(1);
/// TCP's slow start threshold and largest window, packets: those of IFTP.
const SSTHRESH: u32 = 32;
const WINDOW: u32 = 50;

/// A protocol with its packets.
pub(crate) type Protocol = Variant;

impl Protocol {
    /// UDP whose packets carry so many bytes beyond the 1024 that make its rate.
    pub(crate) fn udp_with_header(rate: Rate, header: u32) -> Self {
        let size = PACKET + header;
        // The rate of the wire that sends as many packets.
        let wire = rate.as_bps() * u64::from(size) / u64::from(PACKET);
        Self {
            id: "udp",
            name: "UDP",
            size,
            coverage: None,
            transport: Transport::Datagrams {
                rate: Rate::from_bps(wire),
                pattern: Pattern::Steady {
                    spacing: Spacing::Exponential {
                        least: WIRED.transmission_time(size),
                    },
                    changes: Vec::new(),
                },
            },
        }
    }

    /// TCP Reno.
    pub(crate) fn tcp() -> Self {
        let options = Options {
            recovery: Recovery::Reno,
            initial_window: 1,
            initial_ssthresh: Some(SSTHRESH),
            receive_window: WINDOW,
            limited_transmit: false,
            delayed_ack: None,
            ..Options::rfc(PACKET)
        };
        Self {
            size: PACKET,
            ..Self::of_tcp("tcp", "TCP", options)
        }
    }

    /// IFTP.
    pub(crate) fn iftp(size: u32) -> Self {
        Self::of_iftp("iftp", "IFTP", schemes::iftp::scheme(), size)
    }

    fn of_iftp(
        id: &'static str,
        name: &'static str,
        scheme: Scheme<Classifier, iftp::Options>,
        size: u32,
    ) -> Self {
        Self {
            id,
            name,
            size,
            coverage: None,
            transport: Transport::Iftp {
                options: iftp::Options {
                    transmission_time: Some(WIRED.transmission_time(size)),
                    ..scheme.controller
                },
                classifier: Decider::of(scheme.classifier),
            },
        }
    }

    /// IFTP-W with so many sensitive bytes.
    pub(crate) fn iftp_w(size: u32, coverage: u32) -> Self {
        Self {
            id: "iftp-w",
            name: "IFTP-W",
            coverage: Some(coverage),
            ..Self::iftp(size)
        }
    }

    /// IFTPV.
    pub(crate) fn iftpv(size: u32) -> Self {
        Self::of_iftp("iftpv", "IFTPV", schemes::iftpv::scheme(), size)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::super::network::{Errors, FINITE, Medium, Network};
    use super::*;
    use whyloss::Duration;
    use whyloss_sim::trace::{CsvFiles, Trace, TraceOptions};

    /// Every file that a run's trace writes, by name.
    fn traced(network: &Network, directory: &Path) -> BTreeMap<String, Vec<u8>> {
        let scenario = network.scenario();
        let options = TraceOptions::default();
        let files = CsvFiles::create(directory).expect("files");
        let mut trace = Trace::new(&scenario, options, files);
        whyloss_sim::Simulation::new(&scenario, 7)
            .watch(&mut trace)
            .run()
            .expect("it can be run");
        trace.finish().expect("written");
        let files = std::fs::read_dir(directory).expect("a directory");
        let file = files.map(|file| {
            let file = file.expect("a file");
            let bytes = std::fs::read(file.path()).expect("readable");
            (file.file_name().to_string_lossy().into_owned(), bytes)
        });
        file.collect()
    }

    /// Section 9.1: "a simulation with IFTP is equivalent to an IFTP-W simulation run with an error-sensitive section length
    /// equal to the packet size".
    #[test]
    fn iftp_is_iftp_w_with_everything_sensitive_byte_for_byte() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut lost = 0;
        for (index, ber) in [1e-4, 1e-5, 1e-6].into_iter().enumerate() {
            let network = |protocol: Protocol| Network {
                buffer: FINITE,
                sending: Duration::from_secs(30),
                ..Network::two_routers(
                    (Errors::Labelled, Medium::Shared),
                    ber,
                    vec![
                        Protocol::udp_with_header(UDP_RATE, 0),
                        Protocol {
                            id: "media",
                            ..protocol
                        },
                    ],
                )
            };
            let of = |name: &str, protocol| {
                let directory = directory.path().join(format!("{name}-{index}"));
                traced(&network(protocol), &directory)
            };
            let iftp = of("iftp", Protocol::iftp(PACKET));
            let whole = of("iftp-w", Protocol::iftp_w(PACKET, PACKET));
            assert!(iftp == whole, "at {ber}");
            // The comparison is not of nothing, and sees a difference where there is one.
            lost += String::from_utf8_lossy(&iftp["losses.csv"])
                .lines()
                .filter(|row| row.contains(",media,"))
                .count();
            let header = of("header", Protocol::iftp_w(PACKET, HEADER));
            assert!(iftp != header, "at {ber}");
        }
        assert!(lost > 30, "{lost}");
    }
}
