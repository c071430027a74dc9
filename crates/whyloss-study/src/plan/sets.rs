//! The settings of all points: a table, or a list of tables if their order matters.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::{Table, Value};

/// Settings in the order in which they apply. TOML's tables have no order of their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets(Vec<Table>);

impl Sets {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Table::is_empty)
    }

    /// Returns each key with its value in TOML, in the order in which they apply.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (String, String)> {
        let pairs = self.0.iter().flatten();
        pairs.map(|(key, value)| (key.clone(), value.to_string()))
    }
}

impl From<Table> for Sets {
    fn from(table: Table) -> Self {
        Self(vec![table])
    }
}

impl<'de> Deserialize<'de> for Sets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = |value| match value {
            Value::Table(table) => Ok(table),
            other => Err(D::Error::custom(format!(
                "found {other}, expected a table of settings, or a list of them"
            ))),
        };
        let tables = match Value::deserialize(deserializer)? {
            Value::Array(tables) => tables.into_iter().map(table).collect(),
            one => table(one).map(|one| vec![one]),
        };
        tables.map(Self)
    }
}

impl Serialize for Sets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}
