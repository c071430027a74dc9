//! Reads a table key by key and checks the type, unit and range of every value. Unknown keys are
//! rejected first, because a misspelt key often explains a missing one.

use std::ops::RangeInclusive;

use whyloss::{Duration, Rate, Time};

use super::document::{Item, Table, Value};
use super::error::{At, Fault, suggest};
use super::schema::{Probe, Shape};
use super::units::{DURATION, Quantity, RATE, Refusal, SIZE};

/// The limit 2⁵³, up to which reals represent every whole number.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// A table whose keys are known.
pub(super) struct Fields<'a> {
    pub(super) path: String,
    pub(super) at: &'a At,
    source: Source<'a>,
}

/// The source of the values of a table.
enum Source<'a> {
    Table(&'a Table),
    /// The values of a probe: every key has this value.
    Probe(&'a Probe, &'a Item),
}

/// A value and the path of its key.
#[derive(Clone)]
pub(super) struct Field<'a> {
    pub(super) path: String,
    pub(super) item: &'a Item,
}

impl<'a> Fields<'a> {
    /// Returns the key's value, if the key is present.
    pub(super) fn get(&self, key: &str) -> Option<Field<'a>> {
        let item = match self.source {
            Source::Table(table) => table.find(key)?,
            Source::Probe(probe, item) => probe.has(&self.path, key).then_some(item)?,
        };
        Some(self.field(key, item))
    }

    fn field(&self, key: &str, item: &'a Item) -> Field<'a> {
        let path = if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        };
        Field { path, item }
    }

    /// Returns the value of a required key.
    pub(super) fn need(&self, key: &str, expected: &str) -> Result<Field<'a>, Fault> {
        if let Source::Probe(probe, item) = self.source {
            probe.needs(&self.path, key);
            return Ok(self.field(key, item));
        }
        self.get(key).ok_or_else(|| {
            let message = format!("`{key}` is missing; expected {expected}");
            Fault::new(self.at, self.path.clone(), message)
        })
    }

    /// Rejects keys other than `known`.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Fault> {
        self.only_of("unknown key", known)
    }

    /// Rejects keys other than `known`. The message starts with `opening`, which names the table.
    pub(super) fn only_of(&self, opening: &str, known: &[&str]) -> Result<(), Fault> {
        let table = match self.source {
            Source::Table(table) => table,
            Source::Probe(probe, _) => {
                probe.table(&self.path, known);
                return Ok(());
            }
        };
        match table.0.iter().find(|e| !known.contains(&&*e.key)) {
            None => Ok(()),
            Some(entry) => {
                let hint = suggest(&entry.key, known.iter().copied());
                let message = format!("{opening} {}{hint}", code(&entry.key));
                Err(Fault::new(&entry.key_at, self.path.clone(), message))
            }
        }
    }
}

/// Returns a name from the user, formatted as code.
pub(super) fn code(name: &str) -> String {
    let name: String = name.chars().take(40).flat_map(char::escape_debug).collect();
    format!("`{name}`")
}

impl<'a> Field<'a> {
    /// Returns a fault at this value.
    pub(super) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(&self.item.at, self.path.clone(), message)
    }

    /// Returns the fault that the value is not of the form `expected`.
    pub(super) fn unexpected(&self, expected: &str) -> Fault {
        self.fault(format!(
            "found {}, expected {expected}",
            self.item.describe()
        ))
    }

    /// Records how the value is read, if it is a [`Probe`]. Returns whether it is one.
    pub(super) fn noted(&self, shape: impl FnOnce() -> Shape) -> bool {
        let probe = self.item.probe();
        if let Some(probe) = probe {
            probe.note(&self.path, shape());
        }
        probe.is_some()
    }

    /// Returns whether the value is this word. Other values must also be possible.
    pub(super) fn is_word(&self, word: &str) -> bool {
        !self.noted(|| Shape::Words(vec![word.to_owned()])) && self.item.text() == Some(word)
    }

    pub(super) fn text(&self, expected: &str) -> Result<&'a str, Fault> {
        if self.noted(|| Shape::Text(expected.to_owned())) {
            return Ok("");
        }
        self.item.text().ok_or_else(|| self.unexpected(expected))
    }

    /// Reads a text that must be one of these names; the caller checks the name.
    pub(super) fn name_of(
        &self,
        expected: &str,
        known: impl IntoIterator<Item = &'static str>,
    ) -> Result<&'a str, Fault> {
        match self.item.probe() {
            Some(_) => self.one_of(&known.into_iter().map(|id| (id, id)).collect::<Vec<_>>()),
            None => self.text(expected),
        }
    }

    pub(super) fn flag(&self) -> Result<bool, Fault> {
        if self.noted(|| Shape::Flag) {
            return Ok(false);
        }
        match self.item.value {
            Value::Flag(flag) => Ok(flag),
            _ => Err(self.unexpected("true or false")),
        }
    }

    pub(super) fn integer(&self, range: RangeInclusive<u64>) -> Result<u64, Fault> {
        let (low, high) = (range.start(), range.end());
        if self.noted(|| Shape::Whole(*low, *high)) {
            return Ok(*low);
        }
        match self.item.value {
            Value::Integer(number) if u64::try_from(number).is_ok_and(|n| range.contains(&n)) => {
                Ok(number as u64)
            }
            // 1e3 is as whole as 1000. Above the limit, reals skip whole numbers.
            Value::Real(number)
                if number % 1.0 == 0.0
                    && (0.0..=WHOLE).contains(&number)
                    && range.contains(&(number as u64)) =>
            {
                Ok(number as u64)
            }
            _ if *high >= i64::MAX as u64 => {
                Err(self.unexpected(&format!("a whole number of at least {low}")))
            }
            _ => Err(self.unexpected(&format!("a whole number from {low} to {high}"))),
        }
    }

    /// Reads a finite number in `range`.
    pub(super) fn number(&self, range: RangeInclusive<f64>) -> Result<f64, Fault> {
        if self.noted(|| Shape::Number(*range.start(), *range.end())) {
            return Ok(range.start().max(0.5).min(*range.end()));
        }
        let number = match self.item.value {
            Value::Integer(number) => number as f64,
            Value::Real(number) => number,
            Value::Huge(ref digits) => digits.parse().unwrap_or(f64::NAN),
            _ => f64::NAN,
        };
        if number.is_finite() && range.contains(&number) {
            return Ok(number);
        }
        Err(match (*range.start(), *range.end()) {
            (f64::MIN, f64::MAX) => self.unexpected("a number"),
            (low, f64::MAX) => self.unexpected(&format!("a number of at least {low}")),
            (low, high) => self.unexpected(&format!("a number from {low} to {high}")),
        })
    }

    pub(super) fn rate(&self) -> Result<Rate, Fault> {
        self.quantity(&RATE).map(Rate::from_bps)
    }

    pub(super) fn bytes(&self) -> Result<u64, Fault> {
        self.quantity(&SIZE)
    }

    pub(super) fn time(&self) -> Result<Time, Fault> {
        self.quantity(&DURATION).map(Time::from_nanos)
    }

    pub(super) fn duration(&self) -> Result<Duration, Fault> {
        let nanos = self.quantity(&DURATION)?;
        Ok(Duration::from_nanos(
            i64::try_from(nanos).unwrap_or(i64::MAX),
        ))
    }

    /// Reads one time, or two times between which one is drawn.
    pub(super) fn time_range(&self) -> Result<(Time, Time), Fault> {
        self.noted(|| Shape::Times);
        if !matches!(self.item.value, Value::List(_)) {
            return self.time().map(|at| (at, at));
        }
        let expected =
            r#"a time such as "20 s", or two between which one is drawn, such as ["20 s", "22 s"]"#;
        match &self.list(expected)?[..] {
            [from, to] => Ok((from.time()?, to.time()?)),
            _ => Err(self.unexpected(expected)),
        }
    }

    /// Reads changes over time: a list of pairs of a time and the value that applies after it.
    pub(super) fn changes<T>(
        &self,
        expected: &str,
        read: impl Fn(&Self) -> Result<T, Fault>,
    ) -> Result<Vec<(Time, T)>, Fault> {
        if self.noted(|| Shape::Changes) {
            return read(&self.element()).map(|value| vec![(Time::ZERO, value)]);
        }
        let pair = |pair: &Self| match &pair.list(expected)?[..] {
            [from, value] => Ok((from.time()?, read(value)?)),
            _ => Err(pair.unexpected(expected)),
        };
        self.list(expected)?.iter().map(pair).collect()
    }

    pub(super) fn list(&self, expected: &str) -> Result<Vec<Field<'a>>, Fault> {
        if self.noted(|| Shape::List) {
            return Ok(vec![self.element()]);
        }
        let Value::List(items) = &self.item.value else {
            return Err(self.unexpected(expected));
        };
        let field = |(index, item)| Field {
            path: format!("{}[{index}]", self.path),
            item,
        };
        Ok(items.iter().enumerate().map(field).collect())
    }

    /// Returns an element that represents every element of a list, if this is a [`Probe`].
    fn element(&self) -> Self {
        Self {
            path: format!("{}[]", self.path),
            item: self.item,
        }
    }

    /// Reads a table with any keys.
    pub(super) fn fields(&self, expected: &str) -> Result<Fields<'a>, Fault> {
        let source = match &self.item.value {
            Value::Table(table) => Source::Table(table),
            Value::Probe(probe) => {
                // The keys of a kind form a separate table.
                if !self.path.ends_with('>') {
                    probe.note(&self.path, Shape::Table);
                }
                Source::Probe(probe, self.item)
            }
            _ => return Err(self.unexpected(expected)),
        };
        Ok(Fields {
            path: self.path.clone(),
            at: &self.item.at,
            source,
        })
    }

    /// Reads one of these names and returns its value.
    pub(super) fn one_of<T: Copy>(&self, known: &[(&str, T)]) -> Result<T, Fault> {
        let words = || known.iter().map(|(name, _)| (*name).to_owned()).collect();
        if let (true, Some(&(_, first))) = (self.noted(|| Shape::Words(words())), known.first()) {
            return Ok(first);
        }
        let names: Vec<String> = known.iter().map(|(name, _)| format!("{name:?}")).collect();
        let expected = names.join(" or ");
        let text = self.text(&expected)?;
        let value = known.iter().find(|(name, _)| *name == text);
        value
            .map(|&(_, value)| value)
            .ok_or_else(|| self.unexpected(&expected))
    }

    fn quantity(&self, quantity: &Quantity) -> Result<u64, Fault> {
        if self.noted(|| quantity.shape.clone()) {
            return Ok(1_000);
        }
        let text = self.text(quantity.expected)?;
        quantity.parse(text).map_err(|refusal| match refusal {
            Refusal::Unit(Some(unit)) => {
                let hint = format!("{}; did you mean `{unit}`?", quantity.expected);
                self.unexpected(&hint)
            }
            Refusal::Unit(None) | Refusal::Shape => self.unexpected(quantity.expected),
            Refusal::Vanishes(unit) => self.unexpected(&format!(
                "{}: nothing, or at least 1 {unit}, the least there is",
                quantity.expected
            )),
            Refusal::Negative => self.unexpected(&format!("{}, not below zero", quantity.expected)),
        })
    }
}
