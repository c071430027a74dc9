//! Checks that the header in `include/` is the one generated from the source.

use std::path::Path;

#[test]
fn the_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::generate_with_config(root, config)
        .expect("the source can be read")
        .write(&mut made);
    let made = String::from_utf8(made).unwrap();
    // The sections about safety are only for callers in Rust.
    let mut header = String::new();
    let mut skipping = false;
    for line in made.lines() {
        if line.trim_start() == "* # Safety" {
            skipping = true;
            let kept = header.trim_end_matches(" *\n").len();
            header.truncate(kept);
            continue;
        }
        skipping &= !line.trim_start().starts_with("*/");
        if !skipping {
            header.push_str(line);
            header.push('\n');
        }
    }
    let path = root.join("include/whyloss.h");
    if std::env::var_os("WRITE_HEADER").is_some() {
        std::fs::write(&path, &header).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == header,
        "include/whyloss.h is out of date; run WRITE_HEADER=1 cargo test -p whyloss-capi --features header --test header"
    );
}
