//! Builds classifiers, estimators, controllers, policies and schemes by name.
//!
//! Each family has a registry of [`Entry`]s and a `find` function. An entry checks the given
//! parameters and builds its algorithm. If the algorithm is known at compile time, use its own
//! constructors instead.
//!
//! ```
//! use whyloss::{bandwidth, congestion, policy, receiver, schemes, sender};
//!
//! let zbs3 = receiver::find("zbs3").expect("registered").build(&[("lock_seconds", 1.0)])?;
//! let fqrtt = sender::find("fqrtt").expect("registered").build(&[])?;
//! let cubic = congestion::find("cubic").expect("registered").build(&[])?;
//! let abse = bandwidth::find("abse").expect("registered").build(&[])?;
//! let milder = policy::find("percent").expect("registered").build(&[("percent", 80.0)])?;
//! let newreno_lp = schemes::find("newreno-lp").expect("registered").build(&[])?;
//! # let _ = (zbs3, fqrtt, cubic, abse, milder, newreno_lp);
//! # Ok::<(), whyloss::registry::ParameterError>(())
//! ```

use core::fmt;

/// An entry of a registry: describes an algorithm and builds it as a `C`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry<C> {
    /// The name in scenarios and on the command line.
    pub id: &'static str,
    /// The algorithm's name in its paper.
    pub name: &'static str,
    /// A summary of the algorithm in one line.
    pub summary: &'static str,
    /// The authors and the publication of the algorithm.
    pub source: &'static str,
    /// The parameters that can be set.
    pub parameters: &'static [Parameter],
    /// The constructor. It gets values in range. Its error is the violated relation between them.
    construct: fn(&Values<'_>) -> Result<C, &'static str>,
}

/// A parameter of an algorithm that is built by name.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// The name in scenarios and overrides.
    pub name: &'static str,
    /// The value of the parameter if the user gives none.
    pub default: f64,
    /// The smallest value that the parameter allows.
    pub min: f64,
    /// The largest value that the parameter allows.
    pub max: f64,
    /// Whether only whole numbers are allowed. A switch is a whole number, 0 or 1.
    pub whole: bool,
    /// A description for lists and error messages, in one line.
    pub doc: &'static str,
}

impl<C> Entry<C> {
    /// Creates an entry. `construct` gets values in range. Its error is the violated relation
    /// between them, such as `"beta <= alpha"`.
    pub const fn new(
        (id, name): (&'static str, &'static str),
        summary: &'static str,
        source: &'static str,
        parameters: &'static [Parameter],
        construct: fn(&Values<'_>) -> Result<C, &'static str>,
    ) -> Self {
        Self {
            id,
            name,
            summary,
            source,
            parameters,
            construct,
        }
    }

    /// Builds the algorithm. `overrides` replace defaults; the last override of a name applies.
    ///
    /// # Errors
    /// Returns an error if a name is unknown, a value is out of range, or a relation between values
    /// is violated.
    pub fn build(&self, overrides: &[(&str, f64)]) -> Result<C, ParameterError> {
        let error = |problem| ParameterError {
            id: self.id,
            known: self.parameters,
            problem,
        };
        for &(name, given) in overrides {
            let Some(parameter) = self.parameters.iter().find(|p| p.name == name) else {
                return Err(error(Problem::Unknown(Name::new(name))));
            };
            if !parameter.allows(given) {
                return Err(error(Problem::NotAllowed { parameter, given }));
            }
        }
        (self.construct)(&Values {
            parameters: self.parameters,
            overrides,
        })
        .map_err(|relation| error(Problem::Relation(relation)))
    }
}

impl Parameter {
    /// Returns whether the parameter allows `value`.
    pub fn allows(&self, value: f64) -> bool {
        (self.min..=self.max).contains(&value) && (!self.whole || value % 1.0 == 0.0)
    }
}

/// The error when building by name fails.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ParameterError {
    /// The id of the entry.
    pub id: &'static str,
    /// The parameters of the entry.
    pub known: &'static [Parameter],
    /// The fault in the parameters.
    pub problem: Problem,
}

/// A fault in the parameters of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// No parameter has this name.
    Unknown(Name),
    /// The value is out of range, or is not whole although it must be.
    NotAllowed {
        /// The parameter that the value is for.
        parameter: &'static Parameter,
        /// The value given.
        given: f64,
    },
    /// This relation between values is violated.
    Relation(&'static str),
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        match &self.problem {
            Problem::Unknown(name) => write!(f, "{id} has no parameter `{name}`")?,
            Problem::NotAllowed { parameter, given } => {
                let Parameter { name, min, max, .. } = parameter;
                let kind = if parameter.whole {
                    "a whole number "
                } else {
                    ""
                };
                write!(
                    f,
                    "`{name}` of {id} must be {kind}from {min} to {max}, not {given}"
                )?;
            }
            Problem::Relation(relation) => write!(f, "parameters of {id} must have {relation}")?,
        }
        f.write_str("; it has ")?;
        if self.known.is_empty() {
            f.write_str("no parameters")?;
        }
        for (index, parameter) in self.known.iter().enumerate() {
            let Parameter { name, default, .. } = parameter;
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{name} (default {default})")?;
        }
        Ok(())
    }
}

impl core::error::Error for ParameterError {}

/// Returns the most similar name in `known` if at most a third of the letters differ.
pub fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let near = known.map(|known| (distance(name.as_bytes(), known.as_bytes()), known));
    let near = near.filter(|(distance, known)| 3 * distance <= known.len().max(3));
    near.min_by_key(|near| near.0).map(|near| near.1)
}

/// Returns the edit distance (Levenshtein) between names of up to 32 bytes.
fn distance(one: &[u8], other: &[u8]) -> usize {
    const ROOM: usize = 32;
    if one.len() > ROOM || other.len() > ROOM {
        return usize::MAX / 4;
    }
    let mut row: [usize; ROOM + 1] = core::array::from_fn(|index| index);
    for (above, a) in one.iter().enumerate() {
        let mut corner = core::mem::replace(&mut row[0], above + 1);
        for (index, b) in other.iter().enumerate() {
            let changed = corner + usize::from(a != b);
            corner = row[index + 1];
            row[index + 1] = changed.min(corner + 1).min(row[index] + 1);
        }
    }
    row[other.len()]
}

/// The start of a user-given name, stored without allocation so that errors borrow nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; Self::ROOM],
    len: usize,
    cut: bool,
}

impl Name {
    const ROOM: usize = 32;

    pub(crate) fn new(name: &str) -> Self {
        let len = name.floor_char_boundary(Self::ROOM);
        let mut bytes = [0; Self::ROOM];
        bytes[..len].copy_from_slice(&name.as_bytes()[..len]);
        Self {
            bytes,
            len,
            cut: len < name.len(),
        }
    }

    /// Returns the first 32 bytes of the name, or fewer so as not to split a character.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        f.write_str(if self.cut { "…" } else { "" })
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// The parameter values from which an algorithm is built, each in its parameter's range.
#[derive(Debug)]
pub struct Values<'a> {
    parameters: &'static [Parameter],
    overrides: &'a [(&'a str, f64)],
}

impl Values<'_> {
    /// Returns the value of a listed parameter, and NaN for any other name.
    pub fn value(&self, name: &str) -> f64 {
        let given = self.overrides.iter().rev().find(|given| given.0 == name);
        let default = || self.parameters.iter().find(|p| p.name == name);
        given.map_or_else(
            || default().map_or(f64::NAN, |p| p.default),
            |given| given.1,
        )
    }
}

impl Parameter {
    /// Creates a parameter whose values are real numbers from `min` to `max`.
    pub const fn real(default: f64, min: f64, max: f64, doc: &'static str) -> Self {
        Self {
            name: "",
            default,
            min,
            max,
            whole: false,
            doc,
        }
    }

    /// Creates a parameter whose values are whole numbers from `min` to `max`.
    pub const fn whole(default: u32, min: u32, max: u32, doc: &'static str) -> Self {
        Self {
            whole: true,
            ..Self::real(default as f64, min as f64, max as f64, doc)
        }
    }

    /// Creates a switch: 0 or 1.
    pub const fn switch(default: bool, doc: &'static str) -> Self {
        Self::whole(default as u32, 0, 1, doc)
    }

    /// Sets the name by which users set the parameter.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }
}

/// Creates a real-valued parameter that has no name yet.
pub(crate) const fn real(default: f64, min: f64, max: f64, doc: &'static str) -> Parameter {
    Parameter::real(default, min, max, doc)
}

/// Creates a whole-number parameter that has no name yet.
pub(crate) const fn whole(default: u32, min: u32, max: u32, doc: &'static str) -> Parameter {
    Parameter::whole(default, min, max, doc)
}

/// Creates a switch that has no name yet.
pub(crate) const fn switch(default: bool, doc: &'static str) -> Parameter {
    Parameter::switch(default, doc)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::Entry;
    use crate::receiver::find;
    use crate::{bandwidth, congestion, policy, receiver, schemes, sender};

    fn check<C>(registry: &[Entry<C>]) {
        for (index, entry) in registry.iter().enumerate() {
            let others = &registry[..index];
            let unique = |other: &Entry<C>| other.id != entry.id && other.summary != entry.summary;
            assert!(others.iter().all(unique), "{} names two", entry.id);
            for parameter in entry.parameters {
                let ends = [parameter.default, parameter.min, parameter.max];
                assert!(
                    ends.iter().all(|&value| parameter.allows(value)),
                    "{parameter:?}"
                );
            }
            assert!(entry.build(&[]).is_ok(), "{}", entry.id);
        }
    }

    #[test]
    fn entries_are_sound() {
        check(receiver::REGISTRY);
        check(sender::REGISTRY);
        check(congestion::REGISTRY);
        check(bandwidth::REGISTRY);
        check(policy::REGISTRY);
        check(schemes::REGISTRY);
        check(schemes::IDEAL);
        check(schemes::IFTP);
        assert!(find("vegas").is_none() && sender::find("zigzag").is_none());
    }

    /// Returns the complaint about building `id` with `overrides`.
    fn complaint(id: &str, overrides: &[(&str, f64)]) -> std::string::String {
        match find(id).map(|entry| entry.build(overrides)) {
            Some(Err(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        assert_eq!(
            complaint("mbiaz", &[("uper", 1.3)]),
            "mbiaz has no parameter `uper`; it has upper (default 1.2), update_first (default 1)"
        );
        assert_eq!(
            complaint("mbiaz", &[("upper", 0.5)]),
            "`upper` of mbiaz must be from 1 to 10, not 0.5; it has upper (default 1.2), update_first (default 1)"
        );
        assert!(complaint("zbs", &[("lock_packets", 2.5)]).starts_with(
            "`lock_packets` of zbs must be a whole number from 0 to 1000000, not 2.5;"
        ));
        assert!(
            complaint("zigzag", &[("alpha", f64::NAN)]).contains("from 0.0001 to 0.5, not NaN;")
        );
        assert!(complaint("spike", &[("alpha", 0.2)]).starts_with(
            "parameters of spike must have beta <= alpha; it has alpha (default 0.5)"
        ));
        assert_eq!(
            complaint("unaware", &[("mc", 0.1)]),
            "unaware has no parameter `mc`; it has no parameters"
        );
        // The name is cut at 32 bytes, without splitting the 16th ä, which follows 1 + 15·2 bytes.
        assert!(
            complaint("unaware", &[("xäääääääääääääääääääää", 0.1)])
                .starts_with("unaware has no parameter `xäääääääääääääää…`;")
        );
    }

    #[test]
    fn the_nearest_name_by_hand() {
        for (one, other, edits) in [
            ("", "abc", 3),
            ("cubik", "cubic", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(super::distance(one.as_bytes(), other.as_bytes()), edits);
        }
        let ids = || congestion::REGISTRY.iter().map(|entry| entry.id);
        assert_eq!(super::nearest("westwod", ids()), Some("westwood"));
        assert_eq!(super::nearest("brr", ids()), Some("bbr"));
        assert_eq!(super::nearest("xyz", ids()), None);
        assert_eq!(super::nearest(&"x".repeat(40), ids()), None);
    }

    #[test]
    fn the_last_override_counts() {
        let entry = find("spike").unwrap();
        assert!(
            entry
                .build(&[("alpha", 0.2), ("beta", 0.1), ("alpha", 0.05)])
                .is_err()
        );
        assert!(
            entry
                .build(&[("alpha", 0.05), ("beta", 0.1), ("alpha", 0.2)])
                .is_ok()
        );
    }
}
