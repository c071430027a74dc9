//! The document behind a scenario: a tree of values with their positions in the text, after the
//! overrides.
//!
//! An override `key=value` addresses links and flows by name, or by index from 0, and everything
//! below by key: `link.shared.rate`, `flow.0.classifier.name`, `duration`. A name that ends with
//! `*` selects all names with that beginning: `flow.web-*.start`. The value is TOML; any other text
//! is a string, so that it needs no quotes beyond those of the shell. The override replaces a value
//! or adds a key. A classifier, transport, application or channel given by its name alone becomes a
//! table when a key below it is set.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{At, Fault, quote, suggest};
use super::schema::Probe;

/// A value and its position in the text.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) at: At,
    pub(super) value: Value,
}

/// A value of TOML.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    /// An integer that fits into 64 bits.
    Integer(i64),
    /// The digits of an integer that does not fit.
    Huge(String),
    Real(f64),
    Flag(bool),
    List(Vec<Item>),
    Table(Table),
    /// A date or time, which no key takes.
    Date,
    /// A probe, which represents any value: see [`super::schema`].
    Probe(Probe),
}

/// Keys and values, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Table(pub(super) Vec<Entry>);

/// One entry `key = value` of a table.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_at: At,
    pub(super) item: Item,
}

impl Table {
    pub(super) fn find(&self, key: &str) -> Option<&Item> {
        self.0.iter().find(|e| e.key == key).map(|e| &e.item)
    }

    fn find_mut(&mut self, key: &str) -> Option<&mut Item> {
        self.0
            .iter_mut()
            .find(|e| e.key == key)
            .map(|e| &mut e.item)
    }
}

impl Item {
    /// Returns the probe, if this value is one.
    pub(super) fn probe(&self) -> Option<&Probe> {
        match &self.value {
            Value::Probe(probe) => Some(probe),
            _ => None,
        }
    }

    /// Returns the text of a string.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Describes the value for error messages (`found …`).
    pub(super) fn describe(&self) -> String {
        match &self.value {
            Value::Text(text) => quote(text),
            Value::Integer(number) => number.to_string(),
            Value::Huge(digits) => match digits.char_indices().nth(40) {
                Some((end, _)) => format!("{}…", &digits[..end]),
                None => digits.clone(),
            },
            // Hundreds of digits say less than a power of ten.
            Value::Real(number) if number.abs() >= 1e15 => format!("{number:e}"),
            Value::Real(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
            Value::Date => "a date".to_owned(),
            Value::Probe(_) => "a probe".to_owned(),
        }
    }
}

/// Returns the document in `text` with `overrides` applied in order.
pub(super) fn read(text: &str, overrides: &[(String, String)]) -> Result<Item, Fault> {
    let table = DeTable::parse(text).map_err(|error| {
        let end = text.trim_end().len();
        let span = error.span().unwrap_or(end..end);
        let mut message = format!("this is not TOML: {}", error.message());
        if let ("duplicate key", Some(key)) = (error.message(), text.get(span.clone())) {
            message = format!("{message} {}", quote(key));
        }
        Fault::new(&At::File(span), "", message)
    })?;
    let mut root = Item {
        at: At::File(0..0),
        value: Value::Table(convert_table(table.into_inner(), &At::File)),
    };
    for (index, (key, value)) in overrides.iter().enumerate() {
        apply(&mut root, index, key, value)?;
    }
    Ok(root)
}

fn convert(spanned: Spanned<DeValue<'_>>, at: &impl Fn(Range<usize>) -> At) -> Item {
    let span = spanned.span();
    let value = match spanned.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Huge(number.as_str().to_owned()),
        },
        DeValue::Float(number) => Value::Real(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Flag(flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::List(items.into_iter().map(|i| convert(i, at)).collect()),
        DeValue::Table(table) => Value::Table(convert_table(table, at)),
    };
    Item {
        at: at(span),
        value,
    }
}

fn convert_table(table: DeTable<'_>, at: &impl Fn(Range<usize>) -> At) -> Table {
    let mut entries: Vec<(usize, Entry)> = table
        .into_iter()
        .map(|(key, value)| {
            let span = key.span();
            let entry = Entry {
                key_at: at(span.clone()),
                key: key.into_inner().into_owned(),
                item: convert(value, at),
            };
            (span.start, entry)
        })
        .collect();
    entries.sort_by_key(|&(start, _)| start);
    Table(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn apply(root: &mut Item, index: usize, key: &str, value: &str) -> Result<(), Fault> {
    let offset = key.len() + 1;
    let key_at = At::Override(index, 0..key.len());
    let value_at = |span: Range<usize>| At::Override(index, offset + span.start..offset + span.end);
    let new = match DeValue::parse(value) {
        Ok(parsed) => convert(parsed, &value_at),
        Err(_) => Item {
            at: value_at(0..value.len()),
            value: Value::Text(value.to_owned()),
        },
    };

    let normal = key.replace('[', ".").replace(']', "");
    let mut steps: Vec<&str> = normal.split('.').map(str::trim).collect();
    let last = steps.pop().unwrap_or_default();
    if last.is_empty() || steps.iter().any(|step| step.is_empty()) {
        let message = "an override is written `key=value`, such as `link.shared.rate=1 Mbit/s`";
        return Err(Fault::new(&key_at, "", message));
    }

    put(root, &steps, last, &new, &key_at, "")
}

/// Sets the key `last` to `new` in every table that `steps` lead to from `item`, whose path is
/// `path`.
fn put(
    item: &mut Item,
    steps: &[&str],
    last: &str,
    new: &Item,
    key_at: &At,
    path: &str,
) -> Result<(), Fault> {
    if let Some((step, rest)) = steps.split_first() {
        let below = match path {
            "" => (*step).to_owned(),
            path => format!("{path}.{step}"),
        };
        let mut items = descend(item, step, path, key_at)?.into_iter();
        return items.try_for_each(|item| put(item, rest, last, new, key_at, &below));
    }
    let refusal = |message| Err(Fault::new(key_at, path, message));
    let found = item.describe();
    match &mut item.value {
        Value::Table(table) => {
            if let Some(old) = table.find_mut(last) {
                *old = new.clone();
            } else {
                table.0.push(Entry {
                    key: last.to_owned(),
                    key_at: key_at.clone(),
                    item: new.clone(),
                });
            }
            Ok(())
        }
        Value::List(_) => refusal(format!(
            "`{last}` is one of them: name a key of it, such as `{path}.{last}.name`"
        )),
        _ => refusal(format!(
            "it is {found}, so there is no `{last}` in it to set"
        )),
    }
}

/// Returns the items to which `step` leads, each a table or a list of tables.
fn descend<'a>(
    item: &'a mut Item,
    step: &str,
    path: &str,
    key_at: &At,
) -> Result<Vec<&'a mut Item>, Fault> {
    let found = item.describe();
    match &mut item.value {
        Value::Table(table) => {
            let found = table.0.iter().position(|entry| entry.key == step);
            let position = found.unwrap_or(table.0.len());
            if found.is_none() {
                table.0.push(Entry {
                    key: step.to_owned(),
                    key_at: key_at.clone(),
                    item: Item {
                        at: key_at.clone(),
                        value: Value::Table(Table::default()),
                    },
                });
            }
            let entry = &mut table.0[position].item;
            if let (Value::Text(name), Some(selector)) = (&entry.value, selector(step)) {
                let name = Item {
                    at: entry.at.clone(),
                    value: Value::Text(name.clone()),
                };
                entry.value = Value::Table(Table(vec![Entry {
                    key: selector.to_owned(),
                    key_at: entry.at.clone(),
                    item: name,
                }]));
            }
            Ok(vec![entry])
        }
        Value::List(items) => {
            let all = step.strip_suffix('*');
            let is_meant = |item: &Item| {
                let address = address(item);
                all.zip(address).is_some_and(|(all, a)| a.starts_with(all))
            };
            if items.iter().any(is_meant) {
                return Ok(items.iter_mut().filter(|item| is_meant(item)).collect());
            }
            let named = items
                .iter()
                .position(|i| address(i).is_some_and(|a| a == step));
            let by_index = || step.parse().ok().filter(|&i: &usize| i < items.len());
            if let Some(position) = named.or_else(by_index) {
                return Ok(vec![&mut items[position]]);
            }
            let names: Vec<String> = items.iter().filter_map(address).collect();
            let hint = suggest(step, names.iter().map(String::as_str));
            let message = format!("no {path} is called `{step}`{hint}");
            Err(Fault::new(key_at, path, message))
        }
        _ => Err(Fault::new(
            key_at,
            path,
            format!("it is {found}, so there is no `{step}` in it to set"),
        )),
    }
}

/// Returns the key under which a table holds the name of a value that can be given by its name
/// alone.
pub(super) fn selector(key: &str) -> Option<&'static str> {
    match key {
        "transport" | "application" | "channel" | "reverse_channel" | "red" | "aqm"
        | "wireless" => Some("kind"),
        "classifier" | "controller" | "scheme" => Some("name"),
        _ => None,
    }
}

/// Returns the name of a link or flow for an override: its name, else `from->to`, as the file
/// spells it.
fn address(item: &Item) -> Option<String> {
    let Value::Table(table) = &item.value else {
        return None;
    };
    let text = |key| table.find(key).and_then(Item::text);
    match text("name") {
        Some(name) => Some(name.to_owned()),
        None => Some(format!("{}->{}", text("from")?, text("to")?)),
    }
}
