//! The possible contents of a scenario file, derived from the parser.
//!
//! The parser reads a document in which every value is a probe: it satisfies every request and
//! records it. One reading takes one path through the parser, with one optional key in each table
//! and one kind in each choice. The parser reads repeatedly until every path is taken. The
//! description therefore follows every change of the parser.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::error::Fault;
use crate::registry::Registry;

/// Describes the form of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A text, with a description of its valid values.
    Text(String),
    /// The name of a node, link or flow, with `{i}` for the copy's number.
    Name,
    /// A duration or time, such as `20 ms`.
    Duration,
    /// Two times between which one is drawn.
    Times,
    /// A rate, such as `150 kbit/s`.
    Rate,
    /// A file of opportunities to send, such as `trace:lte.trace`.
    Trace,
    /// A size, such as `762 B`.
    Size,
    /// A truth value, `true` or `false`.
    Flag,
    /// A whole number between these, both included.
    Whole(u64, u64),
    /// A number between these, both included.
    Number(f64, f64),
    /// One word of this list.
    Words(Vec<String>),
    /// A list; the path with `[]` appended describes its items.
    List,
    /// A list of pairs of a time and a value; the path with `[]` appended describes the value.
    Changes,
    /// A table, whose keys are in [`Description::tables`].
    Table,
    /// A kind by its name alone, or a table with the name under this key. The path with `<NAME>`
    /// appended describes the table.
    Kinds(&'static str, Vec<String>),
}

/// The description of a scenario file, by path: `link[].channel<bernoulli>.loss`.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// The forms of a value, in the order in which the parser requested them.
    pub shapes: BTreeMap<String, Vec<Shape>>,
    /// The keys of a table in order, each with whether it is required.
    pub tables: BTreeMap<String, Vec<(String, bool)>>,
    /// The alternative sets of required keys, for a table that can be written in more than one way.
    /// A table needs all keys of one set.
    pub alternatives: BTreeMap<String, Vec<Vec<String>>>,
}

/// Describes the possible scenario files, with the classifiers of `registry`.
pub fn describe(registry: &Registry) -> Description {
    let probe = Probe::default();
    loop {
        let end = super::parse::probe(&probe, registry);
        let mut state = probe.0.borrow_mut();
        state.conclude(end.err().as_ref());
        if !state.next() {
            break;
        }
    }
    let state = probe.0.take();
    let required = |path: &String, key: &String| {
        let always = state.always.get(path);
        always.is_some_and(|keys| keys.contains(key))
    };
    let tables = state.keys.iter().map(|(path, keys)| {
        let keys = keys.iter().map(|key| (key.clone(), required(path, key)));
        (path.clone(), keys.collect())
    });
    let alternatives = state.enough.iter().filter_map(|(path, sets)| {
        let least = |set: &&BTreeSet<String>| {
            sets.iter()
                .all(|other| other == *set || !other.is_subset(set))
        };
        let sets = sets.iter().filter(least);
        let sets: Vec<Vec<String>> = sets.map(|set| set.iter().cloned().collect()).collect();
        (sets.len() > 1).then(|| (path.clone(), sets))
    });
    Description {
        tables: tables.collect(),
        alternatives: alternatives.collect(),
        shapes: state.shapes,
    }
}

/// A value that records how it is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe(Rc<RefCell<State>>);

#[derive(Debug, Default)]
struct State {
    shapes: BTreeMap<String, Vec<Shape>>,
    keys: BTreeMap<String, Vec<String>>,
    /// The required keys of each table that was read to its end.
    always: BTreeMap<String, BTreeSet<String>>,
    /// The keys that each of these readings had.
    enough: BTreeMap<String, BTreeSet<BTreeSet<String>>>,
    /// The current way: at each fork, the chosen branch and the number of branches.
    way: Vec<(usize, usize)>,
    forks: usize,
    /// The key that this reading has in addition to the needed ones, by the path of the table.
    present: BTreeMap<String, Option<String>>,
    needed: BTreeMap<String, BTreeSet<String>>,
}

impl State {
    /// Returns which of `count` ways to take at the next fork.
    fn fork(&mut self, count: usize) -> usize {
        let at = self.forks;
        self.forks += 1;
        if at == self.way.len() {
            self.way.push((0, count));
        }
        self.way[at].0
    }

    /// Advances to the next way. Returns whether there is one.
    fn next(&mut self) -> bool {
        self.forks = 0;
        self.present.clear();
        while let Some((taken, count)) = self.way.pop() {
            if taken + 1 < count {
                self.way.push((taken + 1, count));
                return true;
            }
        }
        false
    }

    /// Records the keys that a reading needed, except for tables that it did not finish.
    fn conclude(&mut self, fault: Option<&Fault>) {
        for (path, needed) in std::mem::take(&mut self.needed) {
            let stem = path.split('<').next().unwrap_or_default();
            if fault.is_some_and(|fault| fault.path.starts_with(stem)) {
                continue;
            }
            let mut had = needed.clone();
            had.extend(self.present.get(&path).cloned().flatten());
            self.enough.entry(path.clone()).or_default().insert(had);
            match self.always.get_mut(&path) {
                Some(always) => always.retain(|key| needed.contains(key)),
                None => {
                    self.always.insert(path, needed);
                }
            }
        }
    }
}

impl Probe {
    /// Records that the value at this path was read in this form.
    pub(super) fn note(&self, path: &str, shape: Shape) {
        let mut state = self.0.borrow_mut();
        let shapes = state.shapes.entry(path.to_owned()).or_default();
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }

    /// Records that the table at this path takes these keys.
    pub(super) fn table(&self, path: &str, keys: &[&str]) {
        let mut state = self.0.borrow_mut();
        let present = state.fork(keys.len() + 1);
        let present = present.checked_sub(1).map(|index| keys[index].to_owned());
        state.present.insert(path.to_owned(), present);
        state.needed.entry(path.to_owned()).or_default();
        let known = state.keys.entry(path.to_owned()).or_default();
        for key in keys {
            if known.iter().all(|known| known != key) {
                known.push((*key).to_owned());
            }
        }
    }

    /// Returns whether an optional key is present in this reading.
    pub(super) fn has(&self, path: &str, key: &str) -> bool {
        let state = self.0.borrow();
        state
            .present
            .get(path)
            .is_some_and(|present| present.as_deref() == Some(key))
    }

    /// Records that this key is required.
    pub(super) fn needs(&self, path: &str, key: &str) {
        let mut state = self.0.borrow_mut();
        state
            .needed
            .entry(path.to_owned())
            .or_default()
            .insert(key.to_owned());
    }

    /// Records that the value at this path is one of these kinds. Returns the kind of this reading.
    pub(super) fn kind<'k>(
        &self,
        path: &str,
        selector: &'static str,
        kinds: &[&'k str],
    ) -> &'k str {
        let names = kinds.iter().map(ToString::to_string).collect();
        self.note(path, Shape::Kinds(selector, names));
        let fork = self.0.borrow_mut().fork(kinds.len());
        kinds[fork]
    }
}
