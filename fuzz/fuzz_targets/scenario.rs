//! Any scenario file and any override: the parser answers with a scenario that passes its checks,
//! or with an error that can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyloss_sim::scenario::ScenarioFile;

fuzz_target!(|input: &str| {
    // Lines behind a line of `%` are overrides.
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
