//! Finds what programs in C link with.

use std::path::PathBuf;

/// Returns where cargo puts the library of C that it has built for this test.
pub(crate) fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let beside = program.parent().unwrap();
    let places = [beside, beside.parent().unwrap()];
    let files = places.map(|place| place.join("libwhyloss_capi.a"));
    let found = files.into_iter().find(|file| file.exists());
    found.expect("cargo builds the static library with the test")
}
