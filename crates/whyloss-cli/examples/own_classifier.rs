//! Adds a receiver classifier, `half`, to the `whyloss` command. Scenario files take it by name.
//!
//! ```text
//! cargo run --release -p whyloss-cli --example own_classifier -- arena half zbs2
//! cargo run --release -p whyloss-cli --example own_classifier -- run scenarios/wlh.toml \
//!     --set 'flow.video.classifier={ name = "half", share = 0.3 }'
//! ```

use std::process::ExitCode;

use whyloss::receiver::{Arrival, ReceiverClassifier};
use whyloss::registry::{Entry, Parameter};
use whyloss::{Cause, Duration};
use whyloss_cli::{OutsideReceiver, Registry};

/// Calls a gap wireless if the delay of the packet behind it is in the lower part of all delays so
/// far.
struct Half {
    share: f64,
    low: Duration,
    high: Duration,
}

impl ReceiverClassifier for Half {
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        let delay = arrival.rott();
        self.low = self.low.min(delay);
        self.high = self.high.max(delay);
        let range = (self.high - self.low).as_secs_f64();
        let cause = if (delay - self.low).as_secs_f64() < self.share * range {
            Cause::Wireless
        } else {
            Cause::Congestion
        };
        (missing > 0).then_some(cause)
    }
}

const HALF: Entry<OutsideReceiver> = Entry::new(
    ("half", "Half"),
    "wireless while the delay lies in the lower part of its range",
    "this example",
    &[Parameter::real(0.5, 0.0, 1.0, "share of the range that counts as low").named("share")],
    |values| {
        let share = values.value("share");
        let (low, high) = (Duration::MAX, Duration::from_nanos(i64::MIN));
        Ok(OutsideReceiver::new(move || {
            Box::new(Half { share, low, high })
        }))
    },
);

/// Runs the command with the additional classifier.
pub fn main() -> ExitCode {
    // A sweep reuses only rows of the same version, so change it with the algorithm.
    whyloss_cli::main(&Registry::new().receiver(HALF).version("1"))
}
