//! Links by name: the profiles of `profiles.toml`, each with the source of its numbers.

use std::sync::LazyLock;

use serde::Deserialize;

/// A typical link under a name. Where a field is `None`, the caller chooses the value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The name by which a user selects the profile.
    pub name: String,
    /// The kind of link, in a few words.
    pub about: String,
    /// The rate towards the client, such as `1.6mbit` or `recorded:NAME`.
    pub rate_down: Option<String>,
    /// The rate away from the client.
    pub rate_up: Option<String>,
    /// The delay each way, such as `150ms`.
    pub delay: Option<String>,
    /// The channel with its losses each way, such as `recorded:NAME`.
    pub loss: Option<String>,
    /// The document that is the source of the numbers.
    pub source: String,
}

#[derive(Deserialize)]
struct File {
    profile: Vec<Profile>,
}

/// All profiles, in the order of `profiles.toml`.
pub static PROFILES: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    let file: Result<File, _> = toml::from_str(include_str!("profiles.toml"));
    // A test checks that this text is valid.
    file.map(|file| file.profile).unwrap_or_default()
});

/// Returns the profile of this name; `None` if there is none.
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Direction, Links};

    #[test]
    fn each_profile_makes_links() {
        let file: File = toml::from_str(include_str!("profiles.toml")).unwrap();
        assert_eq!(file.profile.len(), PROFILES.len());
        for profile in PROFILES.iter() {
            let or = |value: &Option<String>, default: &str| {
                value.as_deref().unwrap_or(default).to_owned()
            };
            let direction = |rate| Direction {
                rate: or(rate, "10mbit"),
                delay: or(&profile.delay, "50ms"),
                queue: "83".into(),
                loss: or(&profile.loss, "none"),
                ..Direction::default()
            };
            let links = Links::pair(&direction(&profile.rate_down), &direction(&profile.rate_up));
            assert!(links.is_ok(), "{}: {links:?}", profile.name);
            assert!(!profile.source.is_empty(), "{}", profile.name);
            assert_eq!(find(&profile.name), Some(profile));
        }
        assert_eq!(find("nosuch"), None);
    }
}
