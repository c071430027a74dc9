//! The library of channels fitted to public recordings: parameters alone, with where they come
//! from.
//!
//! `recorded.toml` beside this file is the output of the commands that its entries name.

use std::sync::LazyLock;

use toml::de::{DeTable, DeValue};

const LIBRARY: &str = include_str!("recorded.toml");

/// A channel fitted to a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its name in `channel = { kind = "recorded", name = "…" }`.
    pub name: &'static str,
    /// Author and place of publication.
    pub source: &'static str,
    /// The year of the recording.
    pub year: &'static str,
    /// The link and the packets that were recorded.
    pub measures: &'static str,
    /// The terms of the data. The parameters are facts about it, and part of this project.
    pub licence: &'static str,
    /// The command that makes the parameters from the data.
    pub command: &'static str,
    /// Trials that it was fitted to.
    pub trials: u64,
    /// The channel, as a scenario has it.
    pub channel: &'static str,
}

/// Returns all fitted channels, in the order of the file.
pub fn channels() -> impl Iterator<Item = &'static Recorded> {
    static ALL: LazyLock<Vec<Recorded>> = LazyLock::new(|| {
        let table = DeTable::parse(LIBRARY).map(toml::Spanned::into_inner);
        let entries = table.unwrap_or_default().into_iter();
        let entries = entries.filter_map(|(_, entry)| {
            let DeValue::Table(entry) = entry.into_inner() else {
                return None;
            };
            let text = |key: &str| match entry.get(key).map(toml::Spanned::get_ref) {
                Some(DeValue::String(text)) => &*text.to_string().leak(),
                _ => "",
            };
            let channel = entry.get("channel")?.span();
            let trials = match entry.get("trials").map(toml::Spanned::get_ref) {
                Some(DeValue::Integer(trials)) => trials.to_string().parse().ok()?,
                _ => return None,
            };
            Some((
                channel.start,
                Recorded {
                    name: text("name"),
                    source: text("source"),
                    year: text("year"),
                    measures: text("measures"),
                    licence: text("licence"),
                    command: text("command"),
                    trials,
                    channel: &LIBRARY[channel],
                },
            ))
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|(place, _)| *place);
        entries.into_iter().map(|(_, entry)| entry).collect()
    });
    ALL.iter()
}

#[cfg(test)]
mod tests {
    use whyloss_link::ChannelSpec;

    use super::*;
    use crate::Scenario;

    /// Every entry is whole, and a link can have it.
    #[test]
    fn every_entry_is_a_channel() {
        assert!(channels().count() > 0);
        for entry in channels() {
            for text in [
                entry.name,
                entry.source,
                entry.year,
                entry.measures,
                entry.licence,
                entry.command,
            ] {
                assert!(!text.is_empty(), "{entry:?}");
            }
            assert!(entry.trials > 0);
            let text = format!(
                "duration = \"1 s\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\ntransport = \"tfrc\"\n[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                 queue = \"unlimited\"\nchannel = {{ kind = \"recorded\", name = \"{}\" }}\n",
                entry.name
            );
            let scenario = Scenario::from_toml(&text, "library", &[]).expect(entry.name);
            let channel = &scenario.links[0].link.channel;
            assert_ne!(*channel, ChannelSpec::None, "{entry:?}");
        }
    }

    #[test]
    fn the_nearest_name_is_told() {
        let text = "duration = \"1 s\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                    queue = \"unlimited\"\nchannel = { kind = \"recorded\", name = \"wifi-802.11-nois-1\" }\n";
        let error = Scenario::from_toml(text, "library", &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains("no recorded channel is called"), "{error}");
    }
}
