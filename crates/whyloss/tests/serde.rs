//! Checks that the feature `serde` reads back what it wrote, under names that a reader can guess.
//!
//! `cargo test -p whyloss --features serde --test serde`

use serde::Serialize;
use serde::de::DeserializeOwned;
use whyloss::congestion::{self, Start};
use whyloss::event::{AckEvent, Detection, LossEvent, SentEvent};
use whyloss::receiver::Arrival;
use whyloss::{Cause, Confusion, Duration, Time, iftp, policy, tfrc};

/// Returns the JSON of a value, after checking that reading it back gives the same JSON.
fn there_and_back<T: Serialize + DeserializeOwned>(value: &T) -> String {
    let text = serde_json::to_string(value).expect("it can be written");
    let again: T = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(serde_json::to_string(&again).expect("as before"), text);
    text
}

#[test]
fn causes_times_and_scores() {
    assert_eq!(there_and_back(&Cause::Wireless), "\"Wireless\"");
    assert_eq!(there_and_back(&Time::from_nanos(1_500)), "1500");
    assert_eq!(there_and_back(&Duration::from_micros(-2)), "-2000");
    let mut scores = Confusion::default();
    scores.record(Cause::Congestion, Cause::Wireless);
    assert_eq!(there_and_back(&scores), r#"{"counts":[[0,1],[0,0]]}"#);
    assert!(serde_json::from_str::<Cause>("\"radio\"").is_err());
}

#[test]
fn events() {
    let now = Time::from_nanos(7);
    let ack = AckEvent::new(now, 1200)
        .acked(2400)
        .rtt(Some(Duration::from_millis(50)));
    let read: AckEvent = serde_json::from_str(&there_and_back(&ack)).expect("read above");
    assert_eq!(read, ack);
    there_and_back(&LossEvent::new(now, Detection::Duplicates, 1200).in_flight(9_000));
    there_and_back(&SentEvent::new(now, 1200).offset(4_800));
    there_and_back(&Arrival::new(3, now, now + Duration::from_millis(40), 200));
}

#[test]
fn options_of_everything_that_is_built_by_name() {
    for entry in congestion::REGISTRY {
        there_and_back(&entry.build(&[]).expect("the defaults are in range"));
    }
    for entry in policy::REGISTRY {
        there_and_back(&entry.build(&[]).expect("the defaults are in range"));
    }
    there_and_back(&Start::new(1200));
    there_and_back(&tfrc::Options::default());
    there_and_back(&iftp::Options::default());
}
