//! The simulator and the diagnosis for a web page: bytes in, bytes out.
//!
//! | module | input | parts of the answer |
//! |---|---|---|
//! | [`diagnosis`] | a capture or log | the files that `whyloss diagnose --out` writes |
//! | [`playground`] | a scenario file | results, as `whyloss run --format json`, and data for a canvas |
//! | [`choices`] | none | names of algorithms, colours of causes |
//!
//! A page reaches them through [`calls`], which needs no generated glue. `build.py` makes that
//! page.

pub mod calls;
pub mod choices;
pub mod diagnosis;
pub mod playground;
