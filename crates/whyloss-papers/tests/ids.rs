//! Checks that `docs/reference/ids.md` lists exactly the ids that the repository cites.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const PREFIXES: [&str; 5] = ["CEN-", "MAR-", "MIL-", "BAL-", "ELA-"];

/// A statement's number (`CEN-43`, `CEN-A5`) and its part (`a`), if one is named.
type Id = (String, Option<char>);

/// Parses the number and the part at the beginning of `text` (`A5`, `43a`). Also returns the rest.
fn number(text: &str) -> Option<((bool, u32), Option<char>, &str)> {
    let open = text.starts_with('A');
    let text = if open { &text[1..] } else { text };
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let value = text[..end].parse().ok()?;
    let rest = &text[end..];
    let mut following = rest.chars();
    let part = following.next().filter(char::is_ascii_lowercase);
    let after = if part.is_some() {
        following.as_str()
    } else {
        rest
    };
    let ends = !after.starts_with(|c: char| c.is_alphanumeric());
    ends.then_some(((open, value), part, after))
}

/// Returns every id in `text`, including those of ranges (`CEN-16 … -23`) and lists (`MAR-7, -8`).
fn cited(text: &str) -> BTreeSet<Id> {
    let mut found = BTreeSet::new();
    for prefix in PREFIXES {
        let mut add = |open: bool, value: u32, part| {
            let letter = if open { "A" } else { "" };
            found.insert((format!("{prefix}{letter}{value}"), part));
        };
        for (at, _) in text.match_indices(prefix) {
            if text[..at].ends_with(|c: char| c.is_alphanumeric()) {
                continue;
            }
            let mut next = number(&text[at + prefix.len()..]);
            let mut range_from = None;
            while let Some(((open, value), part, rest)) = next {
                for between in range_from.unwrap_or(value)..value {
                    add(open, between, None);
                }
                add(open, value, part);
                // An id may continue with a comma, a word or dots, and a number without the paper's
                // name.
                let joint = [", -", " and -", " to -", " … -"];
                let follows = joint
                    .iter()
                    .find_map(|joint| Some((*joint, rest.strip_prefix(joint)?)));
                let many =
                    follows.is_some_and(|(joint, _)| joint.contains('…') || joint.contains("to"));
                range_from = many.then_some(value + 1);
                next = follows.and_then(|(_, rest)| number(rest));
            }
        }
    }
    found
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files(&path, found);
        } else if ["rs", "md", "toml", "py"]
            .contains(&path.extension().and_then(|e| e.to_str()).unwrap_or(""))
        {
            found.push(path);
        }
    }
}

#[test]
fn every_id_is_listed_and_every_listed_id_is_cited() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the repository");
    let list =
        fs::read_to_string(root.join("docs/reference/ids.md")).expect("docs/reference/ids.md");
    let mut listed: BTreeMap<&str, &str> = BTreeMap::new();
    for line in list.lines() {
        let row = line
            .strip_prefix("| ")
            .and_then(|row| row.split_once(" | "));
        let Some((id, text)) =
            row.filter(|(id, _)| PREFIXES.iter().any(|prefix| id.starts_with(prefix)))
        else {
            continue;
        };
        assert!(listed.insert(id, text).is_none(), "{id} is listed twice");
    }
    let names = |text: &str, part: char| {
        text.contains(&format!("({part})"))
            || text.contains(&format!("({part}, "))
            || text.contains(&format!(", {part})"))
    };

    let (mut paths, mut all) = (Vec::new(), BTreeSet::new());
    files(&root, &mut paths);
    let mut wrong = Vec::new();
    for path in paths {
        if path.ends_with("docs/reference/ids.md") || path.ends_with("tests/ids.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a text");
        for (id, part) in cited(&text) {
            let known = listed.get(id.as_str());
            let known = known.is_some_and(|text| part.is_none_or(|part| names(text, part)));
            if !known {
                let part = part.map_or_else(String::new, String::from);
                let path = path.strip_prefix(&root).unwrap_or(&path).display();
                wrong.push(format!(
                    "{id}{part}, cited in {path}, is not in docs/reference/ids.md"
                ));
            }
            all.insert((id, part));
        }
    }
    for (id, text) in listed {
        let is_cited = |part| all.contains(&(id.to_owned(), part));
        let parts = ('a'..='z').filter(|&part| names(text, part));
        let parts: Vec<char> = parts.collect();
        if !is_cited(None) && !parts.iter().any(|&part| is_cited(Some(part))) {
            wrong.push(format!(
                "{id} is in docs/reference/ids.md, but nothing cites it"
            ));
        }
        for part in parts.into_iter().filter(|&part| !is_cited(Some(part))) {
            wrong.push(format!(
                "{id}{part} is in docs/reference/ids.md, but nothing cites it"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ids_are_read_as_they_are_meant() {
    let id = |number: &str, part| (number.to_owned(), part);
    let text = "(CEN-16 … -18, MAR-7, -8), BAL-A8: CEN-43a. SCEN-1 CEN-x";
    let expected = [
        id("CEN-16", None),
        id("CEN-17", None),
        id("CEN-18", None),
        id("CEN-43", Some('a')),
        id("MAR-7", None),
        id("MAR-8", None),
        id("BAL-A8", None),
    ];
    assert_eq!(cited(text), BTreeSet::from(expected));
}
