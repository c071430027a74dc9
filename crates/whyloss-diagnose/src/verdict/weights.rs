//! Weights of the combined verdict.
//!
//! Found by `cargo run --release -p whyloss-diagnose --example evaluate -- --fit`; do not edit by
//! hand.

/// The weights for losses beyond the point of capture: delays are round trips, votes those of
/// sender classifiers.
pub(super) const BEYOND: [f64; 32] = [
    -0.5874, -11.7504, 7.2593, -1.6926, -1.5603, 1.8985, 0.1900, -0.6650, 0.4496, 0.1979, -1.9136,
    -0.7058, 0.2542, -1.0790, 0.0354, 0.0330, 0.8185, 0.1963, 0.5006, -0.2457, -0.0374, 0.0024,
    0.1083, -0.0604, -0.1794, 0.3158, 0.4427, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000,
];

/// The weights for losses before the point of capture: delays are one-way, votes those of receiver
/// classifiers.
pub(super) const BEFORE: [f64; 32] = [
    0.3977, -10.6361, 5.0141, -1.6407, -0.8290, 1.6355, 0.5430, -0.5773, 0.3760, 0.0120, -1.1360,
    -0.4760, 0.0050, -0.8824, -0.0030, -0.2941, 0.6516, 0.2566, 0.3993, 0.1583, -0.0861, -0.3753,
    0.0733, 0.1714, 0.5292, -0.6414, 0.0216, 0.1880, 0.8142, 0.0000, 0.0000, 0.0000,
];

/// The ratio of congestion losses to losses by the link before the point of capture.
pub(super) const PRIOR: f64 = 4.8959;
