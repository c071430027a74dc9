//! The `whyloss` command: parses, calls, prints.

fn main() {}
