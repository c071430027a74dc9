//! Fuzzes the parser of scenario files and overrides with any text. It must return a scenario that
//! passes its own checks, or an error that can be printed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyloss_sim::scenario::ScenarioFile;

fuzz_target!(|input: &str| {
    // Lines after a line with `%` are overrides.
    let (text, rest) = input.split_once("\n%\n").unwrap_or((input, ""));
    let overrides: Vec<(String, String)> = rest
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    match ScenarioFile::parse(text, "fuzz.toml", &overrides) {
        Ok(file) => assert_eq!(file.scenario.check(), Ok(())),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
