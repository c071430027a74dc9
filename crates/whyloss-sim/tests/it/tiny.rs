//! A tiny network with every transport and both kinds of loss: three flows over a slow, noisy link
//! for half a second.

use whyloss::{Duration, Rate, Time};
use whyloss_link::queue::Limit;
use whyloss_link::{ChannelSpec, LinkSpec, QueueSpec};
use whyloss_sim::Scenario;
use whyloss_sim::decider::{RECEIVERS, ReceiverDecider, SenderDecider};
use whyloss_sim::host::datagrams::{Law, Pattern};
use whyloss_sim::host::tcp;
use whyloss_sim::scenario::{Connection, Flow, Transport};

/// Returns the classifier of this id with its default parameters.
fn classifier(id: &str) -> ReceiverDecider {
    let built = RECEIVERS.build(id, &[]).expect("registered");
    built.expect("its own parameters are in range")
}

/// Returns a scenario of three flows from `a` over `r` to `b` and back, until `end_ms`.
pub(crate) fn scenario(end_ms: i64) -> Scenario {
    let connection = |name: &str, from, to, link: &LinkSpec| Connection {
        name: name.to_owned(),
        from,
        to,
        link: link.clone(),
    };
    let lan = LinkSpec {
        rate: Rate::from_mbps(10),
        delay: Duration::from_millis(1),
        ..LinkSpec::default()
    };
    let radio = LinkSpec {
        rate: Rate::from_kbps(800),
        delay: Duration::from_millis(10),
        queue: QueueSpec::drop_tail(Limit::Packets(5)),
        channel: ChannelSpec::Bernoulli { loss: 0.08 },
        ..LinkSpec::default()
    };
    let flow = |name: &str, transport| {
        let mut flow = Flow::new(name, (0, 2), 762, transport);
        flow.start.1 = Time::ZERO + Duration::from_millis(10);
        flow
    };
    let on_off = Transport::Datagrams {
        rate: Rate::from_kbps(200),
        pattern: Pattern::Bursts {
            law: Law::Exponential,
            burst: Duration::from_millis(100),
            idle: Duration::from_millis(50),
        },
    };
    Scenario {
        title: "tiny".to_owned(),
        nodes: ["a", "r", "b"].map(str::to_owned).to_vec(),
        links: vec![
            connection("a->r", 0, 1, &lan),
            connection("radio", 1, 2, &radio),
            connection("b->r", 2, 1, &lan),
            connection("r->a", 1, 0, &lan),
        ],
        flows: vec![
            flow(
                "tcp",
                Transport::Tcp {
                    classifier: SenderDecider::unaware(),
                    controller: None,
                    options: tcp::Options::rfc(710),
                },
            ),
            flow(
                "video 1",
                Transport::Tfrc {
                    options: whyloss::tfrc::Options::rfc5348(),
                    classifier: classifier("zigzag"),
                },
            ),
            flow("cross", on_off),
        ],
        measure_from: Time::ZERO,
        end: Time::ZERO + Duration::from_millis(end_ms),
        most_packets: None,
        clock_noise: None,
    }
}
