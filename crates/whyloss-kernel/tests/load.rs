//! Controls in this machine's kernel, under names of their own (feature `bpf`, root).
#![cfg(all(feature = "bpf", target_os = "linux"))]

use whyloss_kernel::control::CONTROLS;
use whyloss_kernel::{find, load, said};

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
        assert_eq!(
            find::sockets(&loaded).unwrap_or_else(|error| panic!("{error}\n{}", said())),
            []
        );
        drop(held);
        assert_eq!(ours(), None);
    }
}
