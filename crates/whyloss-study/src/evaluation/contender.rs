//! Competing schemes, and their assignment to a scenario's judged flows.

use std::fmt;

use whyloss_sim::Registry;
use whyloss_sim::scenario::suggest;

/// A scheme, a controller, or a controller with a classifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The contender's name in tables.
    pub name: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Scheme(String),
    Pair(String, String),
}

/// The transport of the judged flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// The flows use TCP with RACK-TLP.
    #[default]
    Tcp,
    /// The flows use QUIC with quinn's engine, which the program must have installed.
    Quic,
}

impl Carrier {
    /// Returns the transport's name in tables and ids.
    pub fn id(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Quic => "quic",
        }
    }
}

/// The error for a name that no scheme, controller or classifier has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown(String);

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unknown {}

/// The contenders of every evaluation: the names in tables, and their schemes.
const PEERS: [(&str, &str); 9] = [
    ("CUBIC", "cubic"),
    ("NewReno", "newreno"),
    ("BBR", "bbr"),
    ("Copa", "copa"),
    ("Westwood", "westwood"),
    ("Vegas", "vegas"),
    ("CUBIC+fqRTT", "cubic+fqrtt"),
    ("CUBIC+isolated", "cubic+isolated"),
    ("CUBIC+trees", "cubic+trees"),
];

impl Contender {
    /// Finds a contender by `scheme`, `controller` or `controller+classifier`.
    ///
    /// # Errors
    /// Returns an error if no contender has this name; the message suggests the nearest name.
    pub fn find(text: &str, registry: &Registry) -> Result<Self, Unknown> {
        let name = text.to_owned();
        let controllers: Vec<_> = registry.controllers().map(|line| line.id).collect();
        let known = |id: &str| controllers.contains(&id);
        if let Some((controller, classifier)) = text.split_once('+') {
            let senders: Vec<_> = registry.senders().lines().map(|line| line.id).collect();
            let hint = if !known(controller) {
                format!(
                    "no controller is called `{controller}`{}",
                    suggest(controller, controllers.iter().copied())
                )
            } else if senders.contains(&classifier) {
                let what = What::Pair(controller.into(), classifier.into());
                return Ok(Self { name, what });
            } else {
                format!(
                    "no sender classifier is called `{classifier}`{}",
                    suggest(classifier, senders.iter().copied())
                )
            };
            return Err(Unknown(hint));
        }
        let schemes: Vec<_> = registry.schemes().map(|line| line.id).collect();
        if schemes.contains(&text) {
            let what = What::Scheme(text.into());
            return Ok(Self { name, what });
        }
        if known(text) {
            let what = What::Pair(text.into(), "unaware".into());
            return Ok(Self { name, what });
        }
        Err(Unknown(format!(
            "no scheme and no controller is called `{text}`{}",
            suggest(text, schemes.iter().copied())
        )))
    }

    fn pair(name: &str, controller: &str, classifier: &str) -> Self {
        let what = What::Pair(controller.into(), classifier.into());
        Self {
            name: name.into(),
            what,
        }
    }

    /// Returns plain CUBIC, which treats every loss as congestion.
    pub fn cubic() -> Self {
        Self::pair(PEERS[0].0, "cubic", "unaware")
    }

    /// Returns the judged contender and its peers, without duplicates.
    pub(super) fn all(judged: &Self) -> Vec<Self> {
        let peers = PEERS.iter().map(|&(name, of)| match of.split_once('+') {
            Some((controller, classifier)) => Self::pair(name, controller, classifier),
            None => Self {
                name: name.into(),
                what: What::Scheme(of.into()),
            },
        });
        let peers = peers.filter(|peer| peer.what != judged.what);
        std::iter::once(judged.clone()).chain(peers).collect()
    }

    /// Returns this contender's controller with the oracle, which knows the cause of every loss.
    #[must_use]
    pub fn told(&self) -> Self {
        Self::pair(&format!("{}, told", self.name), self.base(), "oracle")
    }

    /// Returns the id of the controller under this contender.
    pub(super) fn base(&self) -> &str {
        match &self.what {
            What::Pair(controller, _) => controller,
            What::Scheme(scheme) => BASES
                .iter()
                .find(|(known, _)| scheme.starts_with(known))
                .map_or("cubic", |base| base.1),
        }
    }

    /// Returns whether the contender knows the true cause of every loss.
    pub(super) fn is_told(&self) -> bool {
        matches!(&self.what, What::Pair(_, classifier) if classifier == "oracle")
    }

    /// Returns the settings that assign this contender to a flow of a scenario.
    pub(super) fn sets(&self, flow: &str, carrier: Carrier) -> Vec<(String, String)> {
        let key = |what: &str| format!("flow.{flow}.{what}");
        let mut sets = Vec::new();
        if carrier == Carrier::Quic {
            let stack = "{ kind = \"quic\", stack = \"quinn\" }";
            sets.push((key("transport"), stack.to_owned()));
        }
        let name = match &self.what {
            What::Scheme(scheme) => {
                sets.push((key("scheme"), scheme.clone()));
                scheme
            }
            What::Pair(controller, classifier) => {
                sets.push((key("transport.controller"), controller.clone()));
                sets.push((key("classifier"), classifier.clone()));
                controller
            }
        };
        // `vegas` is also a loss recovery. Without it, Vegas does not leave slow start as in the
        // paper.
        if carrier == Carrier::Tcp && name.starts_with("vegas") {
            sets.push((key("transport.recovery"), "vegas".to_owned()));
        }
        sets
    }
}

/// The controller in a scheme, by the beginning of its name; CUBIC for any other name.
const BASES: [(&str, &str); 9] = [
    ("whyloss-reno", "reno"),
    ("newreno", "reno"),
    ("bbr", "bbr"),
    ("copa", "copa"),
    ("westwood-plus", "westwood-plus"),
    ("westwood", "westwood"),
    ("vegas", "vegas"),
    ("veno", "veno"),
    ("scream", "scream"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_or_told_apart() {
        let registry = Registry::new();
        let find = |text: &str| Contender::find(text, &registry);
        assert!(find("whyloss").is_ok_and(|found| found.told().what
            == What::Pair("cubic".into(), "oracle".into())));
        assert!(find("cubic+trees").is_ok() && find("copa-default").is_ok());
        let message = |text: &str| find(text).expect_err(text).to_string();
        assert_eq!(
            message("whylos"),
            "no scheme and no controller is called `whylos`; did you mean `whyloss`?"
        );
        assert!(message("cubik+trees").ends_with("did you mean `cubic`?"));
        assert!(message("cubic+treees").ends_with("did you mean `trees`?"));
        assert_eq!(
            Contender::all(&Contender::find("bbr", &registry).expect("known")).len(),
            PEERS.len()
        );
        let all = Contender::all(&find("whyloss").expect("known"));
        assert_eq!(all.last().map(|one| one.name.as_str()), Some("CUBIC+trees"));
    }
}
