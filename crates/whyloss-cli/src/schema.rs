//! `whyloss schema`: prints the JSON Schema of scenario files, with which editors complete and
//! check them.
//!
//! It is derived from the parser ([`whyloss_sim::scenario::schema`]) and written in JSON Schema
//! draft 7, which Taplo and Even Better TOML read. `docs/reference/scenario.schema.json` is a copy,
//! which a test keeps up to date.

use std::io::Write;

use serde_json::{Map, Value, json};
use whyloss_sim::Registry;
use whyloss_sim::scenario::schema::{Description, Shape, describe};

use crate::error::CliError;

pub(crate) fn run(registry: &Registry, out: &mut dyn Write) -> Result<(), CliError> {
    Ok(out.write_all(render(registry).as_bytes())?)
}

/// Returns the schema as JSON text.
fn render(registry: &Registry) -> String {
    let description = describe(registry);
    let mut schema = table(&description, "", None);
    if let Value::Object(schema) = &mut schema {
        let about = [
            ("$schema", "http://json-schema.org/draft-07/schema#"),
            ("title", "Whyloss scenario"),
            ("description", "A scenario of `whyloss run`."),
        ];
        for (key, value) in about {
            schema.insert(key.to_owned(), json!(value));
        }
    }
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the schema of a table with these keys. `kind` is the key that selects the table among
/// its alternatives, and the value it has here.
fn table(description: &Description, path: &str, kind: Option<(&str, &str)>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some((selector, name)) = kind {
        properties.insert(selector.to_owned(), json!({ "const": name }));
        required.push(selector.to_owned());
    }
    for (key, needed) in description.tables.get(path).into_iter().flatten() {
        if kind.is_some_and(|(selector, _)| selector == key) {
            continue;
        }
        let below = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        properties.insert(key.clone(), value(description, &below));
        if *needed {
            required.push(key.clone());
        }
    }
    let mut object = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    if let Some(sets) = description.alternatives.get(path) {
        let sets = sets.iter().map(|set| json!({ "required": set }));
        object["anyOf"] = sets.collect();
    }
    object
}

/// Returns the schema of the value at a path.
fn value(description: &Description, path: &str) -> Value {
    let shapes = description.shapes.get(path).into_iter().flatten();
    let mut forms: Vec<Value> = Vec::new();
    for shape in shapes {
        for form in form(description, path, shape) {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    match forms.len() {
        1 => forms.remove(0),
        _ => json!({ "anyOf": forms }),
    }
}

fn form(description: &Description, path: &str, shape: &Shape) -> Vec<Value> {
    let quantity = |units: &str, examples: Value| {
        json!({
            "type": "string",
            "pattern": format!(r"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)\s*({units})\s*$"),
            "examples": examples,
        })
    };
    let duration = || quantity("ns|us|ms|s|min", json!(["20 ms", "60 s"]));
    let element = || value(description, &format!("{path}[]"));
    let one = match shape {
        Shape::Text(expected) => json!({ "type": "string", "description": expected }),
        Shape::Name => json!({
            "type": "string",
            "minLength": 1,
            "maxLength": 64,
            "description": "letters, digits, `-` and `_`; `{i}` is the number of the copy",
        }),
        Shape::Duration => duration(),
        Shape::Times => json!({
            "type": "array",
            "items": duration(),
            "minItems": 2,
            "maxItems": 2,
            "description": "two times, between which one is drawn",
        }),
        Shape::Rate => quantity(
            "bit/s|kbit/s|Mbit/s|Gbit/s",
            json!(["150 kbit/s", "10 Mbit/s"]),
        ),
        Shape::Trace => json!({
            "type": "string",
            "pattern": "^(trace|recorded):.",
            "examples": ["trace:lte.trace", "recorded:5g-car"],
        }),
        Shape::Size => quantity("B|kB|MB", json!(["1500 B", "20 kB"])),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Whole(least, most) => bounded("integer", (*least > 0, json!(least)), json!(most)),
        Shape::Number(least, most) => {
            let bounds = ((*least > f64::MIN), json!(least));
            let most = if *most < f64::MAX {
                json!(most)
            } else {
                Value::Null
            };
            bounded("number", bounds, most)
        }
        Shape::Words(words) => json!({ "enum": words }),
        Shape::List => json!({ "type": "array", "items": element() }),
        Shape::Changes => json!({
            "type": "array",
            "items": { "type": "array", "items": [duration(), element()], "minItems": 2, "maxItems": 2 },
        }),
        Shape::Table => table(description, path, None),
        Shape::Kinds(selector, names) => return kinds(description, path, selector, names),
    };
    vec![one]
}

fn bounded(kind: &str, (has_least, least): (bool, Value), most: Value) -> Value {
    let mut form = json!({ "type": kind });
    if has_least || kind == "integer" {
        form["minimum"] = least;
    }
    if !most.is_null() {
        form["maximum"] = most;
    }
    form
}

/// Returns the schemas of a choice: the names that need no further key, then a table per name.
fn kinds(description: &Description, path: &str, selector: &str, names: &[String]) -> Vec<Value> {
    let keys = |name: &String| {
        let keys = description.tables.get(&format!("{path}<{name}>"));
        keys.into_iter().flatten()
    };
    let alone = |name: &&String| {
        let path = format!("{path}<{name}>");
        keys(name).all(|(_, required)| !required) && !description.alternatives.contains_key(&path)
    };
    let alone: Vec<&String> = names.iter().filter(alone).collect();
    let mut forms = Vec::new();
    if !alone.is_empty() {
        forms.push(json!({ "enum": alone }));
    }
    forms.extend(names.iter().map(|name| {
        table(
            description,
            &format!("{path}<{name}>"),
            Some((selector, name)),
        )
    }));
    forms
}
