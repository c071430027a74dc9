//! Checks that the scenarios of the project are valid and agree with their comments.

use std::fs;
use std::path::{Path, PathBuf};

use whyloss::Rate;
use whyloss_link::queue::{Discipline, Limit};
use whyloss_sim::Scenario;
use whyloss_sim::scenario::{Router, ScenarioFile};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn read(name: &str, overrides: &[(&str, &str)]) -> ScenarioFile {
    let path = directory().join(name);
    let text = fs::read_to_string(&path).unwrap();
    let overrides: Vec<_> = overrides
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    ScenarioFile::parse(&text, &path.to_string_lossy(), &overrides)
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn all_are_valid() {
    let mut names: Vec<String> = fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|e| e == "toml"))
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "beside.toml",
            "call.toml",
            "codel-radio.toml",
            "downloads.toml",
            "dumbbell.toml",
            "iftp.toml",
            "lossy.toml",
            "media.toml",
            "parking-lot.toml",
            "quic.toml",
            "radio.toml",
            "satellite.toml",
            "two-hop.toml",
            "wb.toml",
            "wlan.toml",
            "wlh.toml"
        ]
    );
    for name in names {
        assert!(!read(&name, &[]).scenario.title.is_empty(), "{name}");
    }
}

/// Returns the rate in kbit/s and the queue limit of each link on the first flow's route.
fn way(scenario: &Scenario) -> Vec<(u64, Limit)> {
    let flow = &scenario.flows[0];
    let route = Router::new(scenario).route(flow.source, flow.sink).unwrap();
    route
        .into_iter()
        .map(|index| &scenario.links[index].link)
        .map(|link| (link.rate.as_bps() / 1000, link.queue.limit))
        .collect()
}

#[test]
fn cen_topologies() {
    // CEN-16, -17, -21.
    let packets = |n: u32| Limit::Packets(n - 1);
    let (lan, last) = ((10_000, packets(166)), (150, packets(6)));
    let wlh = read("wlh.toml", &[]).scenario;
    assert_eq!(way(&wlh), [lan, (260, packets(6)), last]);
    let wb = read("wb.toml", &[]).scenario;
    assert_eq!(way(&wb), [lan, (800, packets(13)), lan]);
    let wlan = read("wlan.toml", &[]).scenario;
    assert_eq!(way(&wlan), [lan, (800, packets(13))]);
    for scenario in [wlh, wb, wlan] {
        assert_eq!(scenario.flows.len(), 3);
        let wireless = scenario
            .links
            .iter()
            .filter_map(|link| link.link.channel.loss_rate())
            .filter(|&rate| rate > 0.0);
        let rates: Vec<f64> = wireless.collect();
        assert!(
            rates.len() == 1 && (rates[0] - 0.078).abs() < 1e-12,
            "{rates:?}"
        );
    }
}

#[test]
fn the_parking_lot_is_what_it_says() {
    let lot = read("parking-lot.toml", &[]).scenario;
    let (access, bottleneck) = ((15_000, Limit::Unlimited), (10_000, Limit::Packets(100)));
    let way = way(&lot);
    assert_eq!(way, [access, bottleneck, bottleneck, bottleneck, access]);
    let red: Vec<_> = lot
        .links
        .iter()
        .filter(|link| matches!(link.link.queue.discipline, Discipline::Red(_)))
        .collect();
    // Three links in both directions, all alike.
    assert_eq!(red.len(), 6);
    assert!(red.iter().all(|link| link.link == red[0].link));
    let router = Router::new(&lot);
    let flow = &lot.flows[0];
    let round_trip: f64 = [(flow.source, flow.sink), (flow.sink, flow.source)]
        .into_iter()
        .flat_map(|(from, to)| router.route(from, to).unwrap())
        .map(|index| lot.links[index].link.delay.as_secs_f64())
        .sum();
    assert!((round_trip - 0.08).abs() < 1e-5, "{round_trip}");
    for flow in lot
        .flows
        .iter()
        .filter(|flow| flow.name.starts_with("cross"))
    {
        assert_eq!(router.route(flow.source, flow.sink).unwrap().len(), 3);
    }
}

#[test]
fn the_comment_for_four_flows_works() {
    let four = read(
        "wlh.toml",
        &[
            ("link.lan.count", "4"),
            ("link.last.count", "4"),
            ("flow.video.count", "4"),
            ("link.shared.rate", "520 kbit/s"),
            ("link.shared.queue.packets", "7"),
        ],
    )
    .scenario;
    assert_eq!(four.flows.iter().filter(|f| !f.background).count(), 4);
    assert_eq!(four.nodes.len(), 10);
    let shared = four.links.iter().find(|l| l.name == "shared").unwrap();
    assert_eq!(shared.link.rate, Rate::from_kbps(520));
}
