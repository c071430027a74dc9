//! Runs SCReAM's window in complete TCP bulk flows: alone on 10 Mbit/s, with a round trip of 100
//! ms.

use crate::delays;
use whyloss_sim::Scenario;

use crate::aqm::bottleneck;

/// The delay of the path in ms: propagation, and a packet of 1500 bytes at 10 Mbit/s.
const WAY: f64 = 50.0 + 1.2;

/// Returns the packets delivered from 60 to 90 s (at most 25,000), the mean wait in ms, and the
/// packets lost.
fn alone(controller: &str, queue: &str) -> (u64, f64, u64) {
    let transport = format!(
        r#"{{ kind = "tcp", controller = "{controller}", recovery = "sack", delayed_ack = "none" }}"#
    );
    let times = [("duration", "90 s"), ("measure_from", "60 s")];
    let times = times.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let text = bottleneck(queue, &transport, (10, 100), 1);
    let scenario = Scenario::from_toml(&text, "test", &times).expect("valid");
    let run = delays::run(&scenario);
    let wait = run.delays[0].mean_ms().expect("arrivals") - WAY;
    let flow = &run.measurement.flows[0];
    (flow.delivered, wait, flow.lost.congestion)
}

/// When the window neither grows nor shrinks, the queueing delay is the target, 0.1 s. A flat delay
/// has no trend, so fast increase resumes every few seconds until a trend shows. The added data
/// drains by a segment per round trip.
#[test]
fn the_queue_is_at_the_fixed_target() {
    let (delivered, wait, lost) = alone("scream-fixed", "{ packets = 1000 }");
    assert!(delivered > 24_900, "{delivered}");
    assert!((95.0..130.0).contains(&wait), "{wait}");
    assert_eq!(lost, 0);
}

/// Alone on a link, SCReAM takes its own queue for that of others: the false positive that RFC 8298
/// warns of.
#[test]
fn it_takes_its_own_queue_for_that_of_others() {
    let (delivered, wait, _) = alone("scream", "{ packets = 1000 }");
    assert!(delivered > 24_900, "{delivered}");
    assert!(wait > 300.0, "{wait}");
}

/// A queue that is shorter than the target overflows sometimes, and its losses stay few.
#[test]
fn a_short_queue_costs_few_losses() {
    for controller in ["scream", "scream-fixed"] {
        let (delivered, wait, lost) = alone(controller, "{ packets = 50 }");
        assert!(delivered > 24_900, "{controller}: {delivered}");
        assert!(wait < 60.0, "{controller}: {wait}");
        assert!((1..100).contains(&lost), "{controller}: {lost}");
    }
}
