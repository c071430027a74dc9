//! Instructions per delivered packet on `scenarios/dumbbell.toml`, counted by callgrind.
//!
//! The whole run is one measurement: divide by the packets that `examples/dumbbell.rs` prints for seed 1. The limit
//! below fails the benchmark when a change makes the engine dearer than its budget.

use gungraun::prelude::*;
