//! Runs the simulator and the diagnosis in a web page, with bytes as input and output.
//!
//! | module | input | parts of the answer |
//! |---|---|---|
//! | [`diagnosis`] | a capture or log | the files that `whyloss diagnose --out` writes |
//! | [`playground`] | a scenario file | results, as `whyloss run --format json`, and data for a canvas |
//! | [`choices`] | none | names of algorithms, colours of causes |
//!
//! A page calls these modules through [`calls`], which needs no generated glue code. `build.py`
//! builds the page.

pub mod calls;
pub mod choices;
pub mod diagnosis;
pub mod playground;
