//! Networks drawn at random: one TCP transfer from `s` over two routers to `d`, with losses of both
//! causes.
//!
//! ```text
//! s ── r1 ══ r2 ── d        the bottleneck is r1 ══ r2; the noisy link is any of the three
//! c ──╯       ╰── e         other traffic
//! ```
//!
//! Ranges are those of access networks. Rates are 1 to 40 Mbit/s, round trips 4 to 300 ms, and
//! buffers 0.15 to 3 bandwidth-delay products. One queue in five is random early detection. Errors
//! are absent, single or bursty, and affect 0.05 to 5 % of packets.

use whyloss_link::{Random, Streams};

/// A network, with its identity in the table.
pub(crate) struct Network {
    /// Whether the channel is bad for stretches of time, and the network's number.
    pub(crate) id: (bool, u64),
    pub(crate) controller: &'static str,
    pub(crate) scenario: String,
}

const CONTROLLERS: [&str; 3] = ["reno", "cubic", "bbr"];

/// Returns network number `index`, which is always the same. With `radio`, its channel loses
/// packets in stretches of time.
pub(crate) fn draw(index: u64, radio: bool) -> Network {
    let mut random = Streams::new(0x_d1a6).stream("network", index);
    let controller = CONTROLLERS[(index % 3) as usize];
    let rate = log_uniform(&mut random, 1e6, 40e6);
    let rtt = log_uniform(&mut random, 4e-3, 0.3);
    let shares = [random.uniform() * 0.4 + 0.02, random.uniform() * 0.4 + 0.02];
    let delays = [shares[0], 1.0 - shares[0] - shares[1], shares[1]].map(|share| share * rtt / 2.0);
    let product = rate * rtt / 8.0 / 1500.0;
    let buffer = (product * log_uniform(&mut random, 0.15, 3.0))
        .max(5.0)
        .round();
    let queue = if random.chance(0.2) {
        format!(
            "{{ packets = {}, red = \"adaptive\" }}",
            (buffer * 2.0).max(20.0)
        )
    } else {
        format!("{{ packets = {buffer} }}")
    };
    let channel = in_stretches(channel(&mut random), radio.then_some(index));
    // The index of the noisy link, most often the last.
    let noisy = [0, 1, 2, 2, 2][random.below(5) as usize];
    let channels: Vec<&str> = (0..3)
        .map(|link| {
            if link == noisy {
                channel.as_str()
            } else {
                "\"none\""
            }
        })
        .collect();
    let back = if random.chance(0.2) {
        "{ kind = \"bernoulli\", loss = 0.01 }"
    } else {
        "\"none\""
    };
    let edge = rate * log_uniform(&mut random, 1.5, 20.0);
    // Enough packets for losses to show.
    let seconds = (20_000.0 * 12_000.0 / rate).clamp(20.0, 60.0);
    let delayed = ["\"none\"", "\"40 ms\"", "\"100 ms\""][random.below(3) as usize];
    let rto = ["200 ms", "1 s"][random.below(2) as usize];
    let other = traffic(&mut random, rate, seconds);
    let scenario = format!(
        r#"
duration = "{seconds:.3} s"
[[link]]
name = "first"
from = "s"
to = "r1"
rate = "{edge:.0} bit/s"
delay = "{:.0} ns"
queue = {{ packets = 2000 }}
channel = {}
[[link]]
name = "shared"
from = "r1"
to = "r2"
rate = "{rate:.0} bit/s"
delay = "{:.0} ns"
queue = {queue}
channel = {}
reverse_channel = {back}
[[link]]
name = "last"
from = "r2"
to = "d"
rate = "{edge:.0} bit/s"
delay = "{:.0} ns"
queue = {{ packets = 2000 }}
channel = {}
[[link]]
from = "c"
to = "r1"
rate = "{edge:.0} bit/s"
delay = "1 ms"
queue = {{ packets = 2000 }}
[[link]]
from = "r2"
to = "e"
rate = "{edge:.0} bit/s"
delay = "1 ms"
queue = {{ packets = 2000 }}
[[flow]]
name = "judged"
from = "s"
to = "d"
transport = {{ kind = "tcp", recovery = "sack", controller = "{controller}", delayed_ack = {delayed}, rto_min = "{rto}" }}
{other}
"#,
        delays[0] * 1e9,
        channels[0],
        delays[1] * 1e9,
        channels[1],
        delays[2] * 1e9,
        channels[2],
    );
    Network {
        id: (radio, index),
        controller,
        scenario,
    }
}

fn channel(random: &mut Random) -> String {
    let loss = log_uniform(random, 5e-4, 0.05);
    match random.below(10) {
        0 | 1 => "\"none\"".to_owned(),
        2..=5 => format!("{{ kind = \"bernoulli\", loss = {loss:.6} }}"),
        6 | 7 => format!(
            "{{ kind = \"gilbert-elliott\", loss = {loss:.6}, stay = {:.3} }}",
            0.1 + 0.6 * random.uniform()
        ),
        _ => format!("{{ kind = \"burst-renewal\", loss = {loss:.6}, lengths = [0.7, 0.2, 0.1] }}"),
    }
}

/// Returns the channel, or a substitute for a radio. The substitute is bad for 10 to 200 ms every
/// 0.3 to 3 s on average, and loses 5 to 50 % of packets while bad.
fn in_stretches(channel: String, radio: Option<u64>) -> String {
    let Some(index) = radio.filter(|_| channel.starts_with('{')) else {
        return channel;
    };
    let mut random = Streams::new(0x_d1a6).stream("radio", index);
    let random = &mut random;
    format!(
        "{{ kind = \"timed-gilbert-elliott\", mean_good = \"{:.0} ns\", mean_bad = \"{:.0} ns\", loss_bad = {:.4} }}",
        log_uniform(random, 0.3, 3.0) * 1e9,
        log_uniform(random, 0.01, 0.2) * 1e9,
        log_uniform(random, 0.05, 0.5),
    )
}

fn traffic(random: &mut Random, rate: f64, seconds: f64) -> String {
    let mut flows = String::new();
    let mut flow = |name: &str, transport: String, from: &str, to: &str, start: f64| {
        use std::fmt::Write as _;
        let _ = write!(
            flows,
            "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nbackground = true\ntransport = {transport}\nstart = \"{start:.3} s\"\n"
        );
    };
    if random.chance(0.4) {
        let share = rate * (0.05 + 0.4 * random.uniform());
        flow(
            "burst",
            format!(
                "{{ kind = \"on-off\", rate = \"{:.0} bit/s\", burst = \"500 ms\", idle = \"500 ms\" }}",
                share * 2.0
            ),
            "c",
            "e",
            0.0,
        );
    }
    if random.chance(0.3) {
        let share = rate * (0.05 + 0.3 * random.uniform());
        flow(
            "noise",
            format!("{{ kind = \"poisson\", rate = \"{share:.0} bit/s\" }}"),
            "c",
            "e",
            0.0,
        );
    }
    for other in 0..random.below(4) {
        flow(
            &format!("tcp{other}"),
            "{ kind = \"tcp\", controller = \"cubic\" }".to_owned(),
            "c",
            "e",
            seconds * 0.5 * random.uniform(),
        );
    }
    if random.chance(0.2) {
        flow(
            "back",
            "\"tcp\"".to_owned(),
            "e",
            "c",
            seconds * 0.3 * random.uniform(),
        );
    }
    flows
}

fn log_uniform(random: &mut Random, from: f64, to: f64) -> f64 {
    from * (to / from).powf(random.uniform())
}
