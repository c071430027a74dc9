//! Keeps documents up to date. Runs the examples in the README and in `docs/` (and longer error
//! messages), and checks that the list of dependencies is complete.
//!
//! `TRYCMD=overwrite cargo test -p whyloss-cli --test documents` writes the current output into the
//! documents.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn examples_print_what_they_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Examples name files as seen from the root of the repository.
    std::env::set_current_dir(root).expect("the root of the repository");
    trycmd::TestCases::new()
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .register_bin("whyloss", Path::new(env!("CARGO_BIN_EXE_whyloss")))
        .case("README.md")
        .case("docs/*.md")
        .case("docs/*/*.md")
        .case("crates/whyloss-cli/tests/cases/*.trycmd");
}

/// The plan on the page uses every kind of key, and `whyloss sweep` runs it.
#[test]
fn the_plan_of_the_page_is_a_plan() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = root.join("docs/guides/sweeps.md");
    let page = std::fs::read_to_string(page).expect("a file of the repository");
    let (_, plan) = page.split_once("## Every key").expect("its section");
    let (_, plan) = plan.split_once("```toml\n").expect("a plan");
    let (plan, _) = plan.split_once("```").expect("its end");
    // Its scenarios have paths relative to this folder.
    let file = root.join("docs/plans/page.toml");
    let plan = whyloss_study::Plan::parse(plan, &file.to_string_lossy());
    let plan = plan.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plan.points(), 3 * 2 * 2 * 20);
    let sweep = whyloss_study::sweep::Sweep::new(plan);
    assert!(
        sweep.is_ok(),
        "{:?}",
        sweep.err().map(|error| error.to_string())
    );
}

/// Three texts name the same packages: the message of a build without programs for the kernel, that
/// of a build without a tool, and the page about the feature.
#[test]
fn packages_for_the_kernel_are_one_list() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list = |file: &str| {
        let text = std::fs::read_to_string(root.join(file)).expect("a file of the repository");
        let (_, packages) = text.split_once("apt-get install ").expect("a list");
        let end = packages.find(['`', '"', '\n', '\\']).expect("its end");
        packages[..end].trim().to_owned()
    };
    let page = list("docs/guides/kernel.md");
    assert!(page.split(' ').count() > 3, "{page}");
    assert_eq!(list("crates/whyloss-cli/src/error.rs"), page);
    assert_eq!(list("crates/whyloss-kernel/build.rs"), page);
}

/// Every dependency of every manifest has a row, and every row names a dependency.
#[test]
fn dependencies_are_named_with_their_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &Path| std::fs::read_to_string(path).expect("a file of the repository");
    let mut manifests = vec![root.join("Cargo.toml"), root.join("fuzz/Cargo.toml")];
    for entry in std::fs::read_dir(root.join("crates")).expect("the crates") {
        manifests.push(entry.expect("a crate").path().join("Cargo.toml"));
    }
    let mut depended_on = BTreeSet::new();
    for manifest in manifests {
        let mut here = false;
        for line in read(&manifest).lines() {
            if line.starts_with('[') {
                here = line.ends_with("dependencies]");
            } else if let (true, Some((name, _))) = (here, line.split_once(" = ")) {
                depended_on.insert(name.to_owned());
            }
        }
    }
    depended_on.retain(|name| !name.starts_with("whyloss"));
    let page = read(&root.join("docs/contributing/dependencies.md"));
    let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
    let named: BTreeSet<String> = rows
        .filter_map(|row| row.split_once(" | "))
        .flat_map(|(names, _)| names.split(", "))
        .filter(|name| *name != "crate")
        .map(str::to_owned)
        .collect();
    assert_eq!(depended_on, named);
    assert!(named.contains("libm") && named.contains("arbitrary"));
}
