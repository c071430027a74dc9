//! Weights of the combined verdict.
//!
//! Found by `cargo run --release -p whyloss-diagnose --example evaluate -- --fit`; do not edit by hand.

/// For losses behind the point of capture: delays are round trips, votes those of sender classifiers.
pub(super) const BEYOND: [f64; 32] = [
    -0.1754, -10.2864, 6.6595, -1.1064, -1.3624, 0.9016, 0.3460, -0.9136, 0.3604, 0.1178, -1.6165,
    -0.5400, 0.1796, -1.0244, 0.1006, -0.0163, 0.2571, -0.0497, 0.0628, 0.1156, 0.0043, -0.2428,
    0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000,
];

/// For losses before it: delays are one-way, votes those of receiver classifiers.
pub(super) const BEFORE: [f64; 32] = [
    3.0860, -7.8789, 4.1456, -1.4774, -1.2985, 0.2437, 0.7190, -0.6167, 0.2793, 0.0351, -1.2248,
    -0.4396, -0.3802, -0.6141, -0.1311, 0.7919, -0.2892, -0.0383, -0.4474, 0.1051, -0.1255, 0.6296,
    -0.7335, 0.1421, 0.3662, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000,
];
