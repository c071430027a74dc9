//! The six scenarios of Section 10 as networks: what they hold, over which axis, under which readings.

use whyloss_link::queue::Limit;

use whyloss_study::Plan;

use super::friendliness::kbps;
use super::measure::{BER, COVERAGE, Item, RATES, UDP_RATE as UDP_AXIS, together};
use super::network::{Errors, Medium, Network};
use super::protocols::{PACKET, Protocol, UDP_RATE, VIDEO};

/// How the error rate and the medium are read.
pub(crate) type Reading = (Errors, Medium);

/// All of them.
const READINGS: [Reading; 4] = [
    (Errors::Labelled, Medium::Own),
    (Errors::Calibrated, Medium::Own),
    (Errors::Labelled, Medium::Shared),
    (Errors::Calibrated, Medium::Shared),
];

/// Readings of a flow that is alone.
pub(crate) const ALONE: [Reading; 2] = [
    (Errors::Labelled, Medium::Own),
    (Errors::Calibrated, Medium::Own),
];

/// UDP's rates in scenario 3, kbit/s.
const UDP_RATES: [f64; 11] = [
    10.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0, 900.0, 1000.0,
];
/// Coverages in scenario 6, bytes.
const COVERAGES: [f64; 8] = [40.0, 128.0, 256.0, 512.0, 768.0, 1024.0, 1280.0, 1464.0];
/// BER of scenario 3.
const BER_3: f64 = 1e-5;
/// Sensitive bytes of IFTP-W in scenario 5.
const COVERAGE_5: u32 = 512;
/// BER of scenario 6.
pub(crate) const BER_6: f64 = 1e-4;

pub(crate) fn title((errors, medium): Reading) -> String {
    format!("{}, {}", errors.name(), medium.name())
}

/// One of the scenarios.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) readings: &'static [Reading],
    pub(crate) plan: fn(Reading) -> Plan<Item>,
}

impl Setting {
    /// The reading that the paper's words name: the error rate as it is labelled; a medium of one's own for who "exists alone
    /// in the network", a shared one where flows "fight for bandwidth".
    pub(crate) fn named(&self) -> Reading {
        let shared = (Errors::Labelled, Medium::Shared);
        if self.readings.contains(&shared) {
            shared
        } else {
            (Errors::Labelled, Medium::Own)
        }
    }
}

/// Scenario 1's networks.
pub(crate) fn alone(reading: Reading, ber: f64, protocol: Protocol) -> Network {
    Network {
        buffer: Limit::Unlimited,
        ..Network::two_routers(reading, ber, vec![protocol])
    }
}

/// Scenario 2's networks.
pub(crate) fn all_compete(reading: Reading, ber: f64, udp: Protocol) -> Network {
    let protocols = vec![
        udp,
        Protocol::tcp(),
        Protocol::iftp(PACKET),
        Protocol::iftpv(PACKET),
    ];
    Network::two_routers(reading, ber, protocols)
}

pub(crate) const ONE: Setting = Setting {
    readings: &ALONE,
    plan: |reading| {
        let protocols = [
            Protocol::udp(UDP_RATE),
            Protocol::tcp(),
            Protocol::iftp(PACKET),
            Protocol::iftpv(PACKET),
        ];
        protocols
            .into_iter()
            .fold(Plan::new(&BER, &RATES), |plan, of| {
                plan.line(of.id, of.name, |ber| {
                    (alone(reading, ber, of.clone()), of.id)
                })
            })
    },
};

pub(crate) const TWO: Setting = Setting {
    readings: &READINGS,
    plan: |reading| {
        together(&BER, &RATES, |ber| {
            all_compete(reading, ber, Protocol::udp(UDP_RATE))
        })
    },
};

pub(crate) const THREE: Setting = Setting {
    readings: &READINGS,
    plan: |reading| {
        together(&UDP_AXIS, &UDP_RATES, |x| {
            let protocols = vec![
                Protocol::udp(kbps(x)),
                Protocol::tcp(),
                Protocol::iftpv(PACKET),
            ];
            Network::two_routers(reading, BER_3, protocols)
        })
    },
};

pub(crate) const FOUR: Setting = Setting {
    readings: &READINGS,
    plan: |reading| {
        together(&BER, &RATES, |ber| {
            let protocols = vec![
                Protocol::tcp(),
                Protocol::iftp(PACKET),
                Protocol::iftpv(PACKET),
            ];
            Network::two_routers(reading, ber, protocols)
        })
    },
};

fn tolerant_and_differentiating(reading: Reading, ber: f64, coverage: u32) -> Network {
    let protocols = vec![Protocol::iftp_w(VIDEO, coverage), Protocol::iftpv(VIDEO)];
    Network::two_routers(reading, ber, protocols)
}

pub(crate) const FIVE: Setting = Setting {
    readings: &READINGS,
    plan: |reading| {
        together(&BER, &RATES, |ber| {
            tolerant_and_differentiating(reading, ber, COVERAGE_5)
        })
    },
};

pub(crate) const SIX: Setting = Setting {
    readings: &READINGS,
    plan: |reading| {
        together(&COVERAGE, &COVERAGES, |coverage| {
            tolerant_and_differentiating(reading, BER_6, coverage as u32)
        })
    },
};
