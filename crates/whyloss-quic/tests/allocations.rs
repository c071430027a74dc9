//! Checks that a connection allocates only the rings of its ledger after the handshake. They grow
//! with the data in flight.

use allocation_counter::measure;
use whyloss::congestion;
use whyloss::schemes::{self, Scheme};
use whyloss::sender;
use whyloss_quic::bench::Acknowledgements;

#[expect(
    clippy::disallowed_methods,
    reason = "only the epoch: all else is virtual time"
)]
fn begun(scheme: Scheme) -> Acknowledgements {
    Acknowledgements::new(scheme, std::time::Instant::now())
}

/// Returns every controller with every classifier, and every named scheme.
fn schemes() -> Vec<(String, Scheme)> {
    let mut schemes = Vec::new();
    for controller in congestion::REGISTRY {
        for classifier in sender::REGISTRY {
            let name = format!("{}, {}", controller.id, classifier.id);
            // Combinations that need parameters have no name.
            if let Ok(scheme) = Scheme::of(controller.id, "keep", classifier.id) {
                schemes.push((name, scheme));
            }
        }
    }
    for entry in schemes::REGISTRY {
        schemes.push((entry.id.to_owned(), entry.build(&[]).expect("its defaults")));
    }
    schemes
}

/// Makes every report of a stack, a thousand times.
fn all_that_happens(connection: &mut Acknowledgements) {
    for round in 0..1000 {
        for _ in 0..10 {
            connection.one();
        }
        let named = round % 2 == 0;
        match round % 10 {
            9 => connection.lose_persistently(named),
            8 => connection.rarities(),
            _ => connection.lose(named),
        }
    }
}

#[test]
fn nothing_is_allocated_once_the_ring_has_its_size() {
    let schemes = schemes();
    assert!(schemes.len() > 50, "{}", schemes.len());
    for (name, scheme) in schemes {
        let mut connection = begun(scheme);
        // A ring sometimes holds two more packets than at the start. It has its final size after
        // the first loss.
        connection.lose(true);
        connection.one();
        let held = connection.held();
        let counted = measure(|| all_that_happens(&mut connection));
        assert_eq!(counted.count_total, 0, "{name}");
        assert_eq!(connection.held(), held, "{name}");
    }
}

/// The counter includes the allocations of a new connection, and of rings that grow with the data
/// sent.
#[test]
fn what_grows_is_counted() {
    let scheme = || {
        schemes::find("newreno-lp")
            .expect("known")
            .build(&[])
            .expect("its defaults")
    };
    let counted = measure(|| {
        begun(scheme());
    });
    // 200 packets in flight need rings of 4, 8, … 256 entries, one allocation each. The test's own
    // list adds another.
    assert!((7..=12).contains(&counted.count_total), "{counted:?}");
}
