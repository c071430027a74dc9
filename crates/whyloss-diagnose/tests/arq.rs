//! Checks that simulated links with retransmission are recognised with their parameters, and that
//! links without it show none.

use whyloss::{Duration, Rate, Time};
use whyloss_diagnose::fit::arq::fit;
use whyloss_diagnose::fit::jitter::Delays;
use whyloss_link::{
    ArqSpec, ChannelSpec, Ecn, EventLink, Fate, JitterLaw, JitterSpec, LinkSpec, Random, Streams,
};

const SIZE: u32 = 1_000;

/// Records `packets` packets over a link, at exponential intervals with mean `spacing` s.
fn record(spec: &LinkSpec, seed: u64, packets: u32, spacing: f64) -> Delays {
    let streams = Streams::new(seed);
    let mut link = EventLink::new(spec, streams, 0);
    let mut steps = streams.stream("steps", 0);
    let mut delays = Delays {
        delay: vec![f64::INFINITY; packets as usize],
        ..Delays::default()
    };
    let (mut now, mut sent) = (Time::ZERO, Vec::<Time>::new());
    for ticket in 0..=packets {
        now += Duration::from_secs_f64(steps.exponential(spacing));
        let until = if ticket == packets { Time::MAX } else { now };
        while link.next_event() <= until && link.next_event() < Time::MAX {
            let at = link.next_event();
            while let Some((ticket, fate)) = link.poll(at) {
                if let Fate::Delivered(when) = fate {
                    delays.delay[ticket as usize] = (when - sent[ticket as usize]).as_secs_f64();
                }
            }
        }
        if ticket < packets {
            sent.push(now);
            link.offer(now, ticket, 0, SIZE, Ecn::NotCapable);
        }
    }
    delays.sent = sent
        .iter()
        .map(|sent| (*sent - Time::ZERO).as_secs_f64())
        .collect();
    delays
}

fn between(random: &mut Random, least: f64, most: f64) -> f64 {
    least * libm::pow(most / least, random.uniform())
}

fn law(random: &mut Random) -> JitterLaw {
    match (random.uniform() * 3.0) as u32 {
        0 => JitterLaw::Uniform,
        1 => JitterLaw::Exponential,
        _ => JitterLaw::Pareto(2.5),
    }
}

/// Draws a link that retransmits: tries are lost with 5 to 40 %, and retries take 1 to 20 ms. Two
/// in three links have jitter, whose mean is 2 to 20 % of the retry time.
fn retransmitting(random: &mut Random) -> LinkSpec {
    let turnaround = between(random, 0.001, 0.02);
    let has_jitter = random.uniform() < 2.0 / 3.0;
    let parallel = random.uniform() < 0.5;
    let in_order = !parallel || random.uniform() < 0.5;
    LinkSpec {
        rate: Rate::from_mbps(20),
        delay: Duration::from_millis(15),
        channel: ChannelSpec::Bernoulli {
            loss: between(random, 0.05, 0.4),
        },
        arq: Some(ArqSpec {
            tries: 2 + (random.uniform() * 6.0) as u32,
            turnaround: Duration::from_secs_f64(turnaround),
            parallel,
            in_order,
        }),
        jitter: has_jitter.then(|| JitterSpec {
            law: law(random),
            mean: Duration::from_secs_f64(turnaround * between(random, 0.02, 0.2)),
            in_order,
        }),
        ..LinkSpec::default()
    }
}

/// Draws a link with jitter, and with independent losses or none.
fn plain(random: &mut Random) -> LinkSpec {
    LinkSpec {
        rate: Rate::from_mbps(20),
        delay: Duration::from_millis(15),
        channel: ChannelSpec::Bernoulli {
            loss: (random.uniform() - 0.3).max(0.0) * 0.15,
        },
        jitter: Some(JitterSpec {
            law: law(random),
            mean: Duration::from_secs_f64(between(random, 0.0005, 0.02)),
            in_order: random.uniform() < 0.5,
        }),
        ..LinkSpec::default()
    }
}

fn drawn(kind: &str, draw: fn(&mut Random) -> LinkSpec, seed: u64) -> (LinkSpec, Delays) {
    let mut random = Streams::new(seed).stream(kind, 0);
    let spec = draw(&mut random);
    let packets = between(&mut random, 1_000.0, 3_000.0) as u32;
    let delays = record(&spec, seed, packets, 0.02);
    (spec, delays)
}

fn transmission(spec: &LinkSpec) -> f64 {
    f64::from(SIZE) * 8.0 / spec.rate.as_bps() as f64
}

/// At least nine in ten of `draws` links with retransmission are recognised. At least nine in ten
/// of their intervals contain the loss of a try, the retry time and the limit on tries.
fn come_back(draws: u64) {
    let (mut recognised, mut held, mut order) = (0, [0; 3], [0; 2]);
    for seed in 0..draws {
        let (spec, delays) = drawn("retransmitting", retransmitting, seed);
        let found = match fit(&delays, transmission(&spec), 1) {
            Ok(found) => found,
            Err(why) => {
                println!("{seed}: {why}, of {spec:?}");
                continue;
            }
        };
        recognised += 1;
        let arq = spec.arq.expect("retransmission");
        let ChannelSpec::Bernoulli { loss } = spec.channel else {
            unreachable!("drawn above")
        };
        let retry = arq.turnaround.as_secs_f64() + transmission(&spec);
        let within = |(_, [least, most]): (f64, [f64; 2]), truth| (least..=most).contains(&truth);
        let [fewest, most] = found.tries.1;
        let holds = [
            within(found.loss, loss),
            within(found.retry, retry),
            (fewest..=most).contains(&arq.tries),
        ];
        for (held, holds) in held.iter_mut().zip(holds) {
            *held += u64::from(holds);
        }
        if found.is_order_known {
            let told = (found.spec.parallel, found.spec.in_order);
            order[usize::from(told == (arq.parallel, arq.in_order))] += 1;
        }
    }
    println!("{recognised} of {draws}, intervals {held:?}, order wrong and right {order:?}");
    assert!(recognised * 10 >= draws * 9);
    assert!(held.iter().all(|held| held * 10 >= recognised * 9));
    assert!(order[0] * 10 <= order[1]);
}

/// At least nine in ten of `draws` links without retransmission show none.
fn show_none(draws: u64) {
    let shown = |seed: &u64| {
        let (spec, delays) = drawn("plain", plain, *seed);
        fit(&delays, transmission(&spec), 1).is_ok()
    };
    let shown = (0..draws).filter(shown).count() as u64;
    println!("{shown} of {draws}");
    assert!(shown * 10 <= draws);
}

#[test]
fn retransmission_comes_back() {
    come_back(10);
}

#[test]
fn jitter_is_no_retransmission() {
    show_none(10);
}

#[test]
#[ignore = "takes a minute; step 20 of CI runs it"]
fn sixty_links_of_either_kind() {
    std::thread::scope(|scope| {
        scope.spawn(|| show_none(60));
        come_back(60);
    });
}

/// A packet in 50 is delayed by 5 to 100 ms, in addition to the jitter. The delays are not
/// multiples of one time, so no retransmission is found.
#[test]
fn stalls_are_no_retransmission() {
    let mut random = Streams::new(5).stream("stalls", 0);
    let delay = (0..2_000).map(|index| {
        let stall = if index % 50 == 7 {
            between(&mut random, 0.005, 0.1)
        } else {
            0.0
        };
        0.02 + random.exponential(0.0005) + stall
    });
    let delays = Delays {
        delay: delay.collect(),
        ..Delays::default()
    };
    assert!(fit(&delays, 0.0, 1).is_err());
}

#[test]
fn too_little_is_said() {
    let of = |delay: Vec<f64>| {
        fit(
            &Delays {
                delay,
                ..Delays::default()
            },
            0.0,
            1,
        )
        .unwrap_err()
    };
    assert!(of(vec![0.02; 50]).starts_with("50 packets that waited for no other"));
    let few = (0..500).map(|index| if index % 100 == 3 { 0.03 } else { 0.02 });
    assert!(of(few.collect()).starts_with("fewer than 10 of 500 packets came later"));
}
