//! What holds of all papers' files.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;

#[test]
fn every_paper_is_sound() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("papers");
    for (name, files) in FILES {
        let paper = Paper::open(&folder.join(name));
        let paper = paper.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(paper.id(), *name);
        assert!(citation(name).is_some(), "{name} is not among the papers");
        // What is compiled in is what is there.
        let mut there: Vec<String> = vec![FILE.into()];
        for entry in std::fs::read_dir(folder.join(name).join("networks"))
            .into_iter()
            .flatten()
        {
            let file = entry.expect("a file").file_name();
            there.push(format!("networks/{}", file.to_string_lossy()));
        }
        let listed: BTreeSet<String> = files.iter().map(|(file, _)| (*file).to_owned()).collect();
        assert_eq!(listed, there.into_iter().collect(), "{name}");
    }
}

#[test]
fn an_id_stands_in_one_place() {
    for experiment in all() {
        assert_eq!(find(experiment.id).map(|e| e.paper), Some(experiment.paper));
        assert!(experiment.seeds > 0, "{}", experiment.id);
        let entry = format!("id = \"{}\"", experiment.id);
        let files = FILES.iter().flat_map(|(_, files)| *files);
        let count: usize = files.map(|(_, text)| text.matches(&entry).count()).sum();
        assert_eq!(count, 1, "{}", experiment.id);
    }
    let ids: BTreeSet<&str> = all().map(|experiment| experiment.id).collect();
    assert_eq!(ids.len(), all().count());
    assert!(find("no-such-id").is_none());
}

#[test]
fn reasons_are_of_what_is_claimed() {
    for paper in papers() {
        for (figure, what) in paper.reasons() {
            let known = figure.is_none_or(|figure| find(figure).is_some());
            assert!(known && !what.is_empty(), "{figure:?} {what}");
        }
    }
}
