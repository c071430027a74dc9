//! Changes of a link at a given time: the option `--at-time`, which makes handovers of a scenario.

use std::fmt::Write as _;

use whyloss::Duration;

use super::{DOWN, Direction, RATES, SpecError, TIMES, UP, channel, duration, quantity, queue};

/// A change of a link at a given time, written as `10s: loss=0.05 rate=1mbit`.
///
/// The texts have the forms of [`Direction`]; an empty string leaves that part unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The time since the start of the run, such as `10s`.
    pub at: String,
    /// The link, [`DOWN`] or [`UP`]; `None` for both.
    pub way: Option<&'static str>,
    /// The new fixed rate, such as `10mbit`.
    pub rate: String,
    /// The new delay, such as `50ms`.
    pub delay: String,
    /// The new queue limit: a number of packets, `100kB` or `unlimited`.
    pub queue: String,
    /// The new channel, such as `bernoulli:0.01`.
    pub loss: String,
}

impl Change {
    /// Parses the changes of one text: one for each direction that it names.
    ///
    /// # Errors
    /// Returns an error if `text` has another form, or sets a value twice.
    pub fn parse(text: &str) -> Result<Vec<Self>, SpecError> {
        let wrong = || SpecError::Option {
            what: "change over time",
            value: text.to_owned(),
            expected: "a time and what changes then, such as `10s: loss=0.05 rate-down=1mbit`; rate, delay, queue and loss can \
                       change, each with -down or -up for one way alone",
        };
        let (at, rest) = text.split_once(':').ok_or_else(wrong)?;
        duration(at.trim())?;
        let mut changes: Vec<Self> = Vec::new();
        for (key, value) in assignments(rest).ok_or_else(wrong)? {
            let (key, way) = match key.rsplit_once('-') {
                None => (key, None),
                Some((key, DOWN)) => (key, Some(DOWN)),
                Some((key, UP)) => (key, Some(UP)),
                Some(_) => return Err(wrong()),
            };
            let place = changes.iter().position(|change| change.way == way);
            let place = place.unwrap_or_else(|| {
                changes.push(Self {
                    at: at.trim().to_owned(),
                    way,
                    rate: String::new(),
                    delay: String::new(),
                    queue: String::new(),
                    loss: String::new(),
                });
                changes.len() - 1
            });
            let change = &mut changes[place];
            let part = match key {
                "rate" => &mut change.rate,
                "delay" => &mut change.delay,
                "queue" => &mut change.queue,
                "loss" => &mut change.loss,
                _ => return Err(wrong()),
            };
            if !part.is_empty() || value.is_empty() {
                return Err(wrong());
            }
            *part = value;
        }
        if changes.is_empty() {
            return Err(wrong());
        }
        Ok(changes)
    }

    /// Returns the change as a handover of a scenario.
    fn handover(&self) -> Result<String, SpecError> {
        let at = quantity(&self.at, "time", "such as 10s or 1.5 min", TIMES)?;
        let mut text = format!("{{ at = \"{at}\"");
        if !self.rate.is_empty() {
            let expected = "a rate that stays, such as 10mbit; a recorded or drawn rate can only be there from the start";
            let rate = quantity(&self.rate, "rate to change to", expected, RATES)?;
            let _ = write!(text, ", rate = \"{rate}\"");
        }
        if !self.delay.is_empty() {
            let delay = quantity(&self.delay, "delay", "such as 50ms or 1.5 s", TIMES)?;
            let _ = write!(text, ", delay = \"{delay}\"");
        }
        if !self.queue.is_empty() {
            let _ = write!(text, ", queue = {}", queue(&self.queue)?);
        }
        if !self.loss.is_empty() {
            let _ = write!(text, ", channel = {}", channel(&self.loss)?);
        }
        Ok(text + " }")
    }
}

/// Splits `key=value key=value`. Outside braces, a value ends before the next word that starts with
/// a key. Returns `None` if there is text before the first key.
fn assignments(text: &str) -> Option<Vec<(&str, String)>> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut depth = 0;
    for word in text.split_whitespace() {
        let word = if depth == 0 {
            word.trim_end_matches(',')
        } else {
            word
        };
        let key = word.split_once('=').filter(|(key, _)| {
            let is_name = |c: char| c.is_ascii_alphabetic() || c == '-';
            depth == 0 && !key.is_empty() && key.chars().all(is_name)
        });
        match (key, found.last_mut()) {
            (Some((key, value)), _) => found.push((key, value.to_owned())),
            (None, Some((_, value))) => {
                value.push(' ');
                value.push_str(word);
            }
            (None, None) => return None,
        }
        depth += word.matches(['{', '[']).count();
        depth = depth.saturating_sub(word.matches(['}', ']']).count());
    }
    Some(found)
}

/// Returns a line with a link's changes over time, if it has any.
pub(super) fn handovers(direction: &Direction) -> Result<String, SpecError> {
    if direction.changes.is_empty() {
        return Ok(String::new());
    }
    if let Some(change) = direction
        .changes
        .iter()
        .find(|change| direction.rate.starts_with("trace:") && !change.rate.is_empty())
    {
        return Err(SpecError::Option {
            what: "change of a link that follows a trace",
            value: format!("{}: rate=…", change.at),
            expected: "--rate without `trace:`, or changes of delay, queue and loss alone",
        });
    }
    let mut changes: Vec<_> = direction.changes.iter().collect();
    // Changes of one time stay in the given order.
    changes.sort_by_key(|change| duration(&change.at).unwrap_or(Duration::MAX));
    let changes: Result<Vec<_>, _> = changes.into_iter().map(Change::handover).collect();
    Ok(format!("handovers = [{}]\n", changes?.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Links;
    use crate::spec::tests::direction;
    use whyloss::Rate;
    use whyloss_link::ChannelSpec;

    #[test]
    fn changes_are_handovers() {
        let changes = |texts: &[&str]| {
            let changes = texts.iter().map(|text| Change::parse(text));
            changes
                .collect::<Result<Vec<_>, _>>()
                .map(|changes| changes.concat())
        };
        let given = [
            "20s: loss=none queue=20",
            "10s: loss=0.05 rate-down=1.5 Mbit/s, delay-down=5ms",
            "1 min: loss={ kind = \"gilbert-elliott\", loss=0.1, stay=0.5 }",
        ];
        let changes_of = |way| Direction {
            changes: changes(&given)
                .unwrap()
                .into_iter()
                .filter(|change| change.way.is_none_or(|w| w == way))
                .collect(),
            ..direction("10mbit", "0.01")
        };
        let links = Links::pair(&changes_of(DOWN), &changes_of(UP)).unwrap();
        let [down, up] = [0, 1].map(|index| links.plans()[index].spec.handovers.clone());
        let times = |handovers: &[whyloss_link::Handover]| {
            let times = handovers.iter().map(|handover| handover.at.as_secs_f64());
            times.collect::<Vec<_>>()
        };
        assert_eq!(times(&down), [10.0, 10.0, 20.0, 60.0]);
        assert_eq!(times(&up), [10.0, 20.0, 60.0]);
        assert_eq!(down[0].channel, Some(ChannelSpec::Bernoulli { loss: 0.05 }));
        let (rate, delay) = (Rate::from_kbps(1_500), Duration::from_millis(5));
        assert_eq!((down[1].rate, down[1].delay), (Some(rate), Some(delay)));
        assert_eq!(down[2].channel, Some(ChannelSpec::None));
        assert!(matches!(
            down[3].channel,
            Some(ChannelSpec::GilbertElliott(_))
        ));
        for wrong in [
            "10s",
            "10s:",
            "10s: 5",
            "10s: loss",
            "10s: speed=3",
            "10s: loss-left=1",
            "10s: loss=1 loss=0",
        ] {
            let said = Change::parse(wrong).unwrap_err().to_string();
            assert!(
                said.contains("is no change over time: expected a time"),
                "{wrong}: {said}"
            );
        }
        assert!(
            Change::parse("soon: loss=1")
                .unwrap_err()
                .to_string()
                .contains("span of time")
        );
        for (wrong, rate, said) in [
            (
                "1s: rate=recorded:5g-car",
                "10mbit",
                "is no rate to change to",
            ),
            ("1s: rate=0mbit", "10mbit", "rate"),
            ("1s: loss=2", "10mbit", "loss"),
            (
                "1s: queue={ packets = 3, red = \"classic\" }",
                "10mbit",
                "found a discipline",
            ),
            ("1s: rate=1mbit", "trace:/nowhere", "without `trace:`"),
        ] {
            let changes = changes(&[wrong]).unwrap();
            let down = Direction {
                changes,
                ..direction(rate, "none")
            };
            let error = Links::pair(&down, &direction("1mbit", "none"))
                .unwrap_err()
                .to_string();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
