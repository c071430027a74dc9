//! Writes the capture that a node of a simulated network would take.
//!
//! ```sh
//! cargo run --release -p whyloss-diagnose --example capture -- \
//!     docs/captures/uplink.toml phone uplink.pcapng
//! ```
//!
//! `whyloss run --pcap` writes a capture of each link in one direction. This capture has both
//! directions, like one that `tcpdump` takes at that node.

use whyloss_sim::{NodeCapture, Scenario, Simulation};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, node, out] = arguments.as_slice() else {
        return Err("expected SCENARIO NODE FILE".into());
    };
    let text = std::fs::read_to_string(scenario)?;
    let scenario = Scenario::from_toml(&text, scenario, &[])?;
    let nodes = &scenario.nodes;
    let index = nodes.iter().position(|name| name == node);
    let index = index.ok_or_else(|| format!("no node `{node}`; there are {}", nodes.join(", ")))?;
    let mut capture = NodeCapture::new(&scenario, index, std::path::Path::new(out));
    Simulation::new(&scenario, 1).watch(&mut capture).run()?;
    capture.finish()?;
    Ok(())
}
