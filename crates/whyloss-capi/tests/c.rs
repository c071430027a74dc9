//! Compiles the examples as C99 and as C++17 without a warning and runs them.

use std::path::{Path, PathBuf};
use std::process::Command;

mod compile;

/// Compiles an example and returns what it prints.
fn output(example: &str, compiler: &str, dialect: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{example}-{compiler}"));
    let variable = if compiler == "cc" { "CC" } else { "CXX" };
    let status = compile::compiler(variable, compiler)
        .args(dialect)
        .args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-I"])
        .arg(root.join("include"))
        .arg(root.join(format!("examples/{example}.c")))
        .args(["-x", "none"])
        .arg(compile::library())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .status()
        .unwrap_or_else(|error| panic!("{compiler} does not run: {error}"));
    assert!(
        status.success(),
        "{example} does not compile with {compiler}"
    );
    // To run them under valgrind: WHYLOSS_C_RUNNER="valgrind -q --error-exitcode=9
    // --leak-check=full".
    let runner = std::env::var("WHYLOSS_C_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let mut command = match words.next() {
        Some(first) => Command::new(first),
        None => Command::new(&program),
    };
    if !runner.trim().is_empty() {
        command.args(words).arg(&program);
    }
    let run = command.output().unwrap();
    assert!(
        run.status.success(),
        "{example}: {}",
        String::from_utf8_lossy(&run.stderr)
    );
    String::from_utf8(run.stdout).unwrap()
}

const C99: &[&str] = &["-std=c99", "-x", "c"];
const CPP17: &[&str] = &["-std=c++17", "-x", "c++"];

#[test]
fn examples_run_in_c_and_in_cpp() {
    for example in ["sender", "receiver", "media"] {
        let c = output(example, "cc", C99);
        assert_eq!(c, output(example, "c++", CPP17));
        assert!(c.ends_with('\n'), "{c}");
        match example {
            "sender" => assert!(c.contains(" 0 in flight, 80 losses"), "{c}"),
            "receiver" => assert!(
                c.ends_with(" by the radio\n") && !c.contains(", 0 by"),
                "{c}"
            ),
            _ => {
                let target = c.strip_prefix("target ").and_then(|c| c.split(' ').next());
                let target: u32 = target.unwrap().parse().unwrap();
                assert!(
                    (1600..2200).contains(&target) && c.contains(" 0 % refused"),
                    "{c}"
                );
            }
        }
    }
}
