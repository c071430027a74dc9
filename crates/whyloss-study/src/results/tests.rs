//! Tests of the results of a run.

use whyloss_sim::{Needs, Simulation};

use super::*;
use crate::Metric as Expression;

/// Three copies of a `[[flow]]` with a transfer each, a flow whose transfer does not end, and one
/// without transfers.
#[test]
fn transfers_of_copies_are_counted_together() {
    let text = r#"
        duration = "10 s"
        link = [{ from = "a", to = "b", rate = "1 Mbit/s", delay = "20 ms", queue = "unlimited" }]

        [[flow]]
        name = "get"
        count = 3
        from = "a"
        to = "b"
        start = ["0 s", "4 s"]
        transport = { kind = "tcp", initial_window = 10, delayed_ack = "none" }
        application = { kind = "transfers", size = "146 kB" }

        [[flow]]
        name = "ge"
        from = "a"
        to = "b"
        start = "9 s"
        transport = "tcp"
        application = { kind = "transfers", size = "20 MB" }

        [[flow]]
        from = "a"
        to = "b"
        transport = { kind = "cbr", rate = "10 kbit/s" }
    "#;
    let scenario = Scenario::from_toml(text, "test.toml", &[]).expect("valid");
    let run = Simulation::new(&scenario, 1).measure(Needs::default());
    let run = run.expect("it runs");
    let results = Results::new(&scenario, &[&run]);
    let names: Vec<&str> = results
        .transfers
        .iter()
        .map(|item| item.name.as_str())
        .collect();
    assert_eq!(names, ["get-1", "get-2", "get-3", "get", "ge"]);
    let value = |index: usize, key| {
        let metric = results.transfers[index].metric(key).expect(key);
        metric.values[0].as_f64().expect(key)
    };
    assert_eq!((value(3, "completed"), value(3, "unfinished")), (3.0, 0.0));
    assert_eq!((value(4, "completed",), value(4, "unfinished")), (0.0, 1.0));
    let mut each = [0, 1, 2].map(|index| value(index, "mean_ms"));
    each.sort_by(f64::total_cmp);
    let near =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-3, "{found}");
    near(value(3, "mean_ms"), each.iter().sum::<f64>() / 3.0);
    near(value(3, "p50_ms"), each[1]);
    near(value(3, "max_ms"), each[2]);
    let metric = |name: &str| {
        let metric = Expression::find(name).expect("a metric");
        let is_about = metric.is_about(&scenario);
        (is_about, metric.of(&(&run).into(), None))
    };
    for (name, index) in [("get", 3), ("get-2", 1)] {
        let key = format!("transfers.{name}.p95_ms");
        assert_eq!(metric(&key), (true, Some(value(index, "p95_ms"))));
    }
    assert_eq!(metric("transfers.get-4.p95_ms"), (false, None));
}
