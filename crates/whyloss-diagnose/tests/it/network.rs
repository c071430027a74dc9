//! The network whose captures are diagnosed.

/// CUBIC over a wire with a short queue and a radio that loses 0.3 %.
pub(crate) const NETWORK: &str = r#"
duration = "20 s"
[[link]]
name = "wire"
from = "s"
to = "r"
rate = "4 Mbit/s"
delay = "10 ms"
queue = { packets = 15 }
[[link]]
name = "radio"
from = "r"
to = "d"
rate = "20 Mbit/s"
delay = "10 ms"
queue = { packets = 100 }
channel = { kind = "bernoulli", loss = 0.003 }
[[flow]]
from = "s"
to = "d"
transport = { kind = "tcp", controller = "cubic" }
"#;
