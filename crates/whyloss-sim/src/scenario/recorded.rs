//! The library of channel and rate models fitted to public recordings, with the parameters and
//! sources of each.
//!
//! `recorded.toml` next to this file is the output of the commands that its entries name.

use std::sync::LazyLock;

use toml::de::{DeTable, DeValue};

use super::error::suggest;
use super::fields::code;

const LIBRARY: &str = include_str!("recorded.toml");

/// Names the key of a link that a model sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The losses of a link: `channel = { kind = "recorded", name = "…" }`.
    Channel,
    /// The rate of a link: `rate = "recorded:…"`.
    Rate,
}

/// A model fitted to a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The key of a link that takes the model.
    pub kind: Kind,
    /// The name of the model.
    pub name: &'static str,
    /// The author and place of publication.
    pub source: &'static str,
    /// The year of the recording.
    pub year: &'static str,
    /// The link and the packets that were recorded.
    pub measures: &'static str,
    /// The terms of the data. The parameters are facts about the data and part of this project.
    pub licence: &'static str,
    /// The command that makes the parameters from the data.
    pub command: &'static str,
    /// The number of trials in the recording.
    pub trials: u64,
    /// The model, written as in a scenario.
    pub law: &'static str,
}

/// Returns all fitted channels, in the order of the file.
pub fn channels() -> impl Iterator<Item = &'static Recorded> {
    laws().filter(|entry| entry.kind == Kind::Channel)
}

/// Returns all fitted rates, in the order of the file.
pub fn rates() -> impl Iterator<Item = &'static Recorded> {
    laws().filter(|entry| entry.kind == Kind::Rate)
}

/// Returns the model of this kind and name.
///
/// # Errors
/// Returns an error message with the nearest name if the library has no such model.
pub(super) fn find(kind: Kind, name: &str) -> Result<&'static Recorded, String> {
    let entries = || laws().filter(|entry| entry.kind == kind);
    entries().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<_> = entries().map(|entry| entry.name).collect();
        let hint = suggest(name, names.iter().copied());
        let what = match kind {
            Kind::Channel => "channel",
            Kind::Rate => "rate",
        };
        format!("no recorded {what} is called {}{hint}", code(name))
    })
}

/// Returns all models, in the order of the file.
pub fn laws() -> impl Iterator<Item = &'static Recorded> {
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
            let (kind, law) = match (entry.get("channel"), entry.get("rate")) {
                (Some(channel), _) => (Kind::Channel, channel.span()),
                (None, rate) => (Kind::Rate, rate?.span()),
            };
            let trials = match entry.get("trials").map(toml::Spanned::get_ref) {
                Some(DeValue::Integer(trials)) => trials.to_string().parse().ok()?,
                _ => return None,
            };
            Some((
                law.start,
                Recorded {
                    kind,
                    name: text("name"),
                    source: text("source"),
                    year: text("year"),
                    measures: text("measures"),
                    licence: text("licence"),
                    command: text("command"),
                    trials,
                    law: &LIBRARY[law],
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

    /// Every entry is complete, and a link accepts it.
    #[test]
    fn every_entry_is_a_law() {
        assert!(channels().count() > 0 && rates().count() > 0);
        for entry in laws() {
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
            let name = entry.name;
            let key = match entry.kind {
                Kind::Channel => format!(
                    "rate = \"1 Mbit/s\"\nchannel = {{ kind = \"recorded\", name = \"{name}\" }}"
                ),
                Kind::Rate => format!("rate = \"recorded:{name}\""),
            };
            let text = format!(
                "duration = \"1 s\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\ntransport = \"tfrc\"\n[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\ndelay = \"1 ms\"\n\
                 queue = \"unlimited\"\n{key}\n"
            );
            let scenario = Scenario::from_toml(&text, "library", &[]).expect(entry.name);
            let link = &scenario.links[0].link;
            match entry.kind {
                Kind::Channel => assert_ne!(link.channel, ChannelSpec::None, "{entry:?}"),
                Kind::Rate => assert!(link.rates.is_some(), "{entry:?}"),
            }
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
