//! Tests the errors of the checks and the places that they name.

use super::*;
use crate::host::datagrams::{Law, Pattern};
use crate::scenario::{Connection, Transport};
use whyloss::tfrc;
use whyloss_link::{ChannelSpec, LinkSpec};

/// Returns a valid scenario: links a → b and back, and one on/off flow.
fn good() -> Scenario {
    let link = LinkSpec {
        rate: Rate::from_mbps(1),
        ..LinkSpec::default()
    };
    let connection = |name: &str, from, to| Connection {
        name: name.into(),
        from,
        to,
        link: link.clone(),
    };
    let transport = Transport::Datagrams {
        rate: Rate::from_kbps(75),
        pattern: Pattern::Bursts {
            law: Law::Exponential,
            burst: Duration::from_millis(500),
            idle: Duration::ZERO,
        },
    };
    let mut flow = Flow::new("flow", (0, 1), 762, transport);
    flow.route = vec![0];
    Scenario {
        nodes: vec!["a".into(), "b".into()],
        links: vec![connection("there", 0, 1), connection("back", 1, 0)],
        flows: vec![flow],
        end: Time::from_nanos(1),
        ..Scenario::default()
    }
}

/// Scenarios built in code are checked for mistakes that a file cannot contain.
#[test]
fn code_can_be_wrong_too() {
    fn tfrc(scenario: &mut Scenario, change: fn(&mut tfrc::Options)) {
        let mut options = tfrc::Options::rfc5348();
        change(&mut options);
        scenario.flows[0].transport = Transport::Tfrc {
            options,
            classifier: crate::decider::ReceiverDecider::unaware(),
        };
    }
    type Spoil = fn(&mut Scenario);
    let spoils: [(Spoil, Place); 15] = [
        (|s| s.links[1].to = 9, Place::Link(1, "to")),
        (|s| s.flows[0].source = 9, Place::Flow(0, "from")),
        (|s| s.flows[0].route = vec![9], Place::Flow(0, "route")),
        (
            |s| s.flows[0].route = vec![0, 1, 0],
            Place::Flow(0, "route"),
        ),
        (
            |s| s.links[0].link.delay = Duration::from_nanos(-1),
            Place::Link(0, "delay"),
        ),
        (
            |s| s.links[0].link.channel = ChannelSpec::Bernoulli { loss: f64::NAN },
            Place::Link(0, "channel"),
        ),
        (|s| s.links[1].name = "there".into(), Place::Link(1, "name")),
        (|s| s.nodes[1] = "a".into(), Place::Node(1)),
        (|s| s.nodes[1] = "b\n".into(), Place::Node(1)),
        (|s| s.flows.clear(), Place::Scenario("flow")),
        (|s| s.links.truncate(1), Place::Flow(0, "return_route")),
        (
            |s| tfrc(s, |options| options.filter = f64::NAN),
            Place::Flow(0, "transport.filter"),
        ),
        (
            |s| tfrc(s, |options| options.loss_threshold = 0),
            Place::Flow(0, "transport.loss_threshold"),
        ),
        (
            |s| tfrc(s, |options| options.initial_rate = Some(0.0)),
            Place::Flow(0, "transport.initial_rate"),
        ),
        (
            |s| tfrc(s, |options| options.header = 65_000),
            Place::Flow(0, "packet"),
        ),
    ];
    assert_eq!(good().check(), Ok(()));
    for (spoil, place) in spoils {
        let mut scenario = good();
        spoil(&mut scenario);
        assert_eq!(scenario.check().map_err(|e| e.place), Err(place));
    }
}

#[test]
fn rates_read_well() {
    for (rate, text) in [
        (Rate::from_kbps(1_500), "1500 kbit/s"),
        (Rate::from_mbps(10), "10 Mbit/s"),
        (Rate::from_bps(0), "0 bit/s"),
    ] {
        assert_eq!(bits_per_second(rate).to_string(), text);
    }
}
