//! Loads controls into this machine's kernel, under unique names (feature `bpf`, root).
#![cfg(all(feature = "bpf", target_os = "linux"))]

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use whyloss_kernel::control::CONTROLS;
use whyloss_kernel::{KernelError, find, load, said};

/// The name under which the other process loads a control.
const NAME: &str = "WHYLOSS_TEST_CONTROL";

fn is_registered(name: &str) -> bool {
    let loaded = find::loaded().unwrap();
    loaded
        .iter()
        .any(|loaded| loaded.name == name && loaded.registered)
}

/// The process that the test below kills. If run alone, it does nothing.
#[test]
fn a_process_that_holds_a_control() {
    if let Ok(name) = std::env::var(NAME) {
        let _held = load::load(&CONTROLS[0], &name).unwrap();
        sleep(Duration::from_mins(1));
    }
}

#[test]
fn nothing_is_left_after_kill_9() {
    let name = format!("wlk{}", std::process::id());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_process_that_holds_a_control"])
        .env(NAME, &name)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let becomes = |registered: bool| {
        (0..500).any(|_| {
            sleep(Duration::from_millis(20));
            is_registered(&name) == registered
        })
    };
    let was_there = becomes(true);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(was_there && becomes(false));
}

#[test]
fn every_control_passes_the_verifier_and_goes_again() {
    for control in CONTROLS {
        let name = format!(
            "wlt{}{}",
            std::process::id() % 100_000,
            control.algorithm.number()
        );
        let held = load::load(control, &name)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", control.id, said()));
        assert_eq!(held.name(), name);
        let ours = || {
            let loaded = find::loaded().unwrap();
            loaded
                .into_iter()
                .find(|loaded| loaded.name == name && loaded.registered)
        };
        let loaded = ours().unwrap();
        assert_eq!(
            (loaded.algorithm, loaded.holder),
            (control.algorithm, Some(std::process::id()))
        );
        match find::sockets(&loaded) {
            Ok(sockets) => assert_eq!(sockets, []),
            // Hardened kernels do not list sockets.
            Err(KernelError::NoIterators) => {}
            Err(error) => panic!("{error}\n{}", said()),
        }
        drop(held);
        assert_eq!(ours(), None);
    }
}
