//! Parses quantities with their unit: `20 ms`, `150 kbit/s`, `762 B`.
//!
//! A number, an optional space, a unit. Decimal prefixes are powers of ten, and case matters:
//! `Mbit/s` is a million bits per second, `mbit/s` is rejected. Each unit has one spelling. Other
//! common spellings are recognised for the error message.

use super::schema::Shape;

/// One kind of quantity: its units, as multiples of the smallest that scenarios store.
pub(super) struct Quantity {
    /// The shape in a scenario's description.
    pub(super) shape: Shape,
    /// The expected form, with an example, for messages.
    pub(super) expected: &'static str,
    units: &'static [(&'static str, f64)],
    /// Other spellings, and the unit each one means.
    aliases: &'static [(&'static str, &'static str)],
}

/// The quantity of durations, in nanoseconds.
pub(super) const DURATION: Quantity = Quantity {
    shape: Shape::Duration,
    expected: r#"a duration such as "20 ms" (units: ns, us, ms, s, min)"#,
    units: &[
        ("ns", 1.0),
        ("us", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 60e9),
    ],
    aliases: &[
        ("µs", "us"),
        ("μs", "us"),
        ("usec", "us"),
        ("msec", "ms"),
        ("millis", "ms"),
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("m", "min"),
        ("minutes", "min"),
    ],
};

/// The quantity of rates, in bits per second.
pub(super) const RATE: Quantity = Quantity {
    shape: Shape::Rate,
    expected: r#"a rate such as "150 kbit/s" (units: bit/s, kbit/s, Mbit/s, Gbit/s)"#,
    units: &[
        ("bit/s", 1.0),
        ("kbit/s", 1e3),
        ("Mbit/s", 1e6),
        ("Gbit/s", 1e9),
    ],
    aliases: &[
        ("bps", "bit/s"),
        ("b/s", "bit/s"),
        ("kbps", "kbit/s"),
        ("kb/s", "kbit/s"),
        ("bit", "bit/s"),
        ("kbit", "kbit/s"),
        ("mbit", "Mbit/s"),
        ("gbit", "Gbit/s"),
        ("k", "kbit/s"),
        ("mbps", "Mbit/s"),
        ("mb/s", "Mbit/s"),
        ("m", "Mbit/s"),
        ("gbps", "Gbit/s"),
        ("gb/s", "Gbit/s"),
        ("g", "Gbit/s"),
    ],
};

/// The quantity of sizes, in bytes.
pub(super) const SIZE: Quantity = Quantity {
    shape: Shape::Size,
    expected: r#"a size such as "762 B" (units: B, kB, MB)"#,
    units: &[("B", 1.0), ("kB", 1e3), ("MB", 1e6)],
    aliases: &[
        ("byte", "B"),
        ("octet", "B"),
        ("bytes", "B"),
        ("octets", "B"),
        ("k", "kB"),
        ("m", "MB"),
    ],
};

/// Parses a duration as written in scenarios, such as `20 ms`.
///
/// # Errors
/// Returns an error message with the expected form.
pub fn duration(text: &str) -> Result<whyloss::Duration, String> {
    let refused = |_| format!("expected {}", DURATION.expected);
    let nanos = DURATION.parse(text).map_err(refused)?;
    let nanos = i64::try_from(nanos).unwrap_or(i64::MAX);
    Ok(whyloss::Duration::from_nanos(nanos))
}

/// Explains why a text is not a quantity.
#[derive(Debug, PartialEq)]
pub(super) enum Refusal {
    /// The text does not start with a number, or nothing follows the number.
    Shape,
    /// The number is below zero.
    Negative,
    /// The quantity is above zero but rounds to zero; this is the smallest unit.
    Vanishes(&'static str),
    /// The unit is unknown; the user may have meant the unit given here.
    Unit(Option<&'static str>),
}

impl Quantity {
    /// Returns the quantity in the smallest unit, rounded to a whole number; saturates.
    pub(super) fn parse(&self, text: &str) -> Result<u64, Refusal> {
        let text = text.trim();
        let end = text
            .find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+'))
            .ok_or(Refusal::Shape)?;
        let (number, unit) = (&text[..end], text[end..].trim_start());
        let number: f64 = number.parse().map_err(|_| Refusal::Shape)?;
        let Some(&(_, scale)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return Err(Refusal::Unit(self.meant(unit)));
        };
        if number.is_sign_negative() {
            return Err(Refusal::Negative);
        }
        let whole = libm::round(number * scale) as u64;
        if whole == 0 && number > 0.0 {
            return Err(Refusal::Vanishes(self.units[0].0));
        }
        Ok(whole)
    }

    fn meant(&self, unit: &str) -> Option<&'static str> {
        let same = |other: &str| other.eq_ignore_ascii_case(unit);
        let alias = self.aliases.iter().find(|(name, _)| same(name));
        alias
            .map(|&(_, name)| name)
            .or_else(|| self.units.iter().map(|u| u.0).find(|name| same(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(DURATION.parse("20 ms"), Ok(20_000_000));
        assert_eq!(DURATION.parse("40.64ms"), Ok(40_640_000));
        assert_eq!(DURATION.parse(" 2 min "), Ok(120_000_000_000));
        assert_eq!(RATE.parse("1.5 Mbit/s"), Ok(1_500_000));
        assert_eq!(SIZE.parse("762 B"), Ok(762));
        assert_eq!(SIZE.parse("0 B"), Ok(0));
        assert_eq!(
            DURATION.parse(&format!("{} s", "9".repeat(400))),
            Ok(u64::MAX)
        );
    }

    #[test]
    fn refusals() {
        for text in ["", "ms", "20", "1.2.3 ms", "- ms", ". s", "ten ms", "1e3 "] {
            assert!(DURATION.parse(text).is_err(), "{text}");
        }
        assert_eq!(DURATION.parse("-20 ms"), Err(Refusal::Negative));
        assert_eq!(RATE.parse("150 kbps"), Err(Refusal::Unit(Some("kbit/s"))));
        assert_eq!(RATE.parse("150 Kbit/s"), Err(Refusal::Unit(Some("kbit/s"))));
        assert_eq!(RATE.parse("150 kbit"), Err(Refusal::Unit(Some("kbit/s"))));
        assert_eq!(SIZE.parse("762 furlongs"), Err(Refusal::Unit(None)));
        assert_eq!(DURATION.parse("0.1 ns"), Err(Refusal::Vanishes("ns")));
        assert_eq!(RATE.parse("0.4 bit/s"), Err(Refusal::Vanishes("bit/s")));
        assert_eq!(DURATION.parse("0.0 ms"), Ok(0));
    }
}
