//! Draws networks at random from stated distributions and writes them as scenario files for
//! `whyloss run`.
//!
//! ```text
//! last hop     s1…sN ─access─ r1 ═core═ r2 ─last 1…N, wireless─ d1…dN     a radio link for each flow
//! backbone     s1…sN ─access─ r1 ═core, wireless═ r2 ─last─ d1…dN         one radio link for all
//! two queues   s1…sN ─access─ r1 ═core═ r2 ═radio, wireless═ r3 ─last─ d1…dN
//! ```
//!
//! | quantity | distribution |
//! |---|---|
//! | family | the three above in turn |
//! | rate R of the bottleneck | log-uniform, 0.2 to 30 Mbit/s; each last hop has R/N; with two queues, the radio has R to 2R |
//! | round trip of the farthest flow | log-uniform, 10 to 400 ms; access links take 2 to 30 % of it |
//! | buffer | log-uniform, 0.25 to 2 bandwidth-delay products, at least 3 packets |
//! | queue | DropTail in three of four networks, otherwise adaptive RED between a sixth and half of the buffer (at least 12 packets) |
//! | flows N | log-uniform, 1 to 16, each with at least 100 kbit/s |
//! | losses | log-uniform, 0.1 to 10 %, towards the receiver |
//! | their pattern | with equal probability: independent, Gilbert–Elliott by packet, or by time |
//! | Gilbert–Elliott by packet | a loss follows a loss with probability 0.1 to 0.6 |
//! | by time | bad states of 5 to 200 ms (log-uniform) lose 30 to 100 % |
//! | cross traffic on the core | each kind drawn separately; with two queues, also on the radio |
//! | its bursts | probability 0.6, half exponential and half Pareto; 5 to 40 % on average |
//! | one CUBIC flow | probability 0.25 |
//! | web transfers | probability 0.25; 2 to 15 % |
//!
//! Packets have 1000 bytes. A core that is not the bottleneck has 1.2 R to 4 R; local networks have
//! 10 R. Under [`Laws::Long`], round trips are uniform, each last hop has R, and the core has 1.2
//! N·R to 4 N·R. Under [`Laws::Uniform`], rates, round trips, buffers, losses and N are uniform.

use std::fmt::Write as _;

use whyloss_link::{Random, Streams};
use whyloss_sim::scenario::recorded;

use super::{Laws, Queue, Radios, Setting, Transport, Trials};

/// The size of a packet, in bytes.
pub(super) const PACKET: u32 = 1_000;
/// The times in seconds at which measurement begins, and at which the run ends.
pub(super) const WARM_UP: u32 = 10;
pub(super) const END: u32 = 130;

/// Names the shape of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// A separate wireless link for each receiver.
    LastHop,
    /// One wireless bottleneck that all flows share.
    Backbone,
    /// A wired bottleneck, then a wireless link nearly as narrow.
    TwoQueues,
}

impl Family {
    /// Lists every family; networks cycle through them in this order.
    pub const ALL: [Self; 3] = [Self::LastHop, Self::Backbone, Self::TwoQueues];

    /// Returns the name used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::LastHop => "last hop",
            Self::Backbone => "backbone",
            Self::TwoQueues => "two queues",
        }
    }

    /// Returns the name used in file names.
    pub fn id(self) -> &'static str {
        match self {
            Self::LastHop => "last-hop",
            Self::Backbone => "backbone",
            Self::TwoQueues => "two-queues",
        }
    }
}

/// Describes one network that was drawn at random.
#[derive(Clone, Debug)]
pub struct Network {
    /// The number of the network, counted from 0.
    pub index: u64,
    /// The topology family of the network.
    pub family: Family,
    /// The number of judged flows.
    pub flows: u64,
    /// The rate of the bottleneck, in bit/s.
    pub rate: f64,
    /// The longest round-trip time among the flows, without queueing, in s.
    pub round_trip: f64,
    /// The queue capacity of the noisy link, in packets.
    pub buffer: u64,
    /// The share of packets that the channel of the noisy link loses, in [0, 1].
    pub loss: f64,
    queue: String,
    core_queue: String,
    /// Either one channel for all noisy links, or one per link.
    channels: Vec<String>,
    arq: bool,
    pub(super) ecn: bool,
    varying: bool,
    core: f64,
    radio: f64,
    /// The one-way delays in s: of each access link, then of the core and of the links behind it.
    access: Vec<f64>,
    delays: [f64; 2],
    cross: [Cross; 2],
}

/// Background traffic on a link, in shares of the link's rate.
#[derive(Clone, Debug, Default)]
struct Cross {
    bursts: Option<(f64, &'static str)>,
    tcp: bool,
    web: Option<f64>,
}

/// Changes a network to answer a separate question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Leaves the network as drawn.
    Drawn,
    /// Adds a flow without a classifier on the path of the first flow.
    Beside,
    /// Adds the flow of [`Self::Beside`] and makes every channel lossless.
    BesideClean,
}

impl Variant {
    /// Returns the suffix of file names after the network's number.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Drawn => "",
            Self::Beside => "-beside",
            Self::BesideClean => "-beside-clean",
        }
    }
}

impl Network {
    /// Draws network number `index` of `seed`. Every release draws the same network.
    pub fn draw(seed: u64, index: u64, setting: &Setting) -> Self {
        let mut random = Streams::new(seed).stream("arena", index);
        let family = Family::ALL[(index % 3) as usize];
        let uniform = setting.laws == Laws::Uniform;
        let law = if uniform { between } else { log_uniform };
        let mut rate = law(&mut random, 0.2e6, 30e6);
        let round_trip = if setting.laws == Laws::Long {
            between(&mut random, 0.01, 0.4)
        } else {
            law(&mut random, 0.01, 0.4)
        };
        let most = libm::floor(rate / 1e5).clamp(1.0, 16.0);
        let flows = libm::floor(law(&mut random, 1.0, 17.0)).min(most);
        if setting.laws == Laws::Long && family == Family::LastHop {
            rate *= flows;
        }
        let products = law(&mut random, 0.25, 2.0);
        let core = rate * log_uniform(&mut random, 1.2, 4.0);
        let radio = rate * log_uniform(&mut random, 1.0, 2.0);
        let red = [random.chance(0.25), random.chance(0.25)];
        let core_products = law(&mut random, 0.25, 2.0);
        let loss = law(&mut random, 0.001, 0.1);
        let drawn = channel(&mut random, loss);
        let recorded = recorded_channels(seed, index, flows as u64, setting.radios);
        let channels = recorded.unwrap_or_else(|| vec![drawn]);
        let share = 0.2 + 0.3 * random.uniform();
        let one_way = round_trip / 2.0;
        let cross = [Cross::draw(&mut random), Cross::draw(&mut random)];
        let access = (0..flows as u64).map(|_| one_way * (0.02 + 0.28 * random.uniform()));
        let access = access.collect();
        let (core, noisy) = match family {
            Family::LastHop => (core, rate / flows),
            Family::Backbone => (rate, rate),
            Family::TwoQueues => (rate, radio),
        };
        let packets = |rate: f64, products: f64| {
            let product = rate * round_trip / f64::from(8 * PACKET);
            libm::round(product * products).max(3.0) as u64
        };
        let buffer = packets(noisy, products);
        let core_buffer = if family == Family::Backbone {
            buffer
        } else {
            packets(core, core_products)
        };
        Self {
            index,
            family,
            flows: flows as u64,
            rate,
            round_trip,
            buffer,
            loss,
            queue: queue(setting, buffer, red[0]),
            // A core that is not the bottleneck hardly has a queue, so its discipline does not
            // matter.
            core_queue: queue(setting, core_buffer, red[1] && family == Family::TwoQueues),
            channels,
            arq: setting.arq,
            ecn: setting.ecn,
            varying: setting.varying,
            core,
            radio,
            access,
            delays: [one_way * share, one_way * (0.7 - share)],
            cross,
        }
    }

    /// Returns the network as a scenario file whose flows have no classifier.
    pub fn scenario(&self, transport: Transport, variant: Variant) -> String {
        let mut text = format!(
            "title = \"Network {} of the arena: {}\"\nduration = \"{END} s\"\nmeasure_from = \"{WARM_UP} s\"\n",
            self.index,
            self.family.name()
        );
        let channel_of = |link: u64| {
            let link = link as usize % self.channels.len().max(1);
            match self.channels.get(link) {
                Some(channel) if variant != Variant::BesideClean => channel,
                _ => "\"none\"",
            }
        };
        let channel = channel_of(0);
        let (none, wide) = ("\"none\"", "{ packets = 2000 }");
        let local = 10.0 * self.rate;
        let [core_delay, last_delay] = self.delays;
        let (arq, varying) = (self.arq, self.varying);
        // A link with a channel counts as noisy, even if the channel loses nothing.
        let mut link = |name: &str,
                        (from, to): (&str, &str),
                        rate: f64,
                        delay,
                        queue: &str,
                        channel: Option<&str>| {
            let rate = rate_words(rate, varying && channel.is_some());
            let channel = channel.unwrap_or(none);
            let _ = write!(
                text,
                "\n[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = {rate}\ndelay = \"{:.0} ns\"\nqueue = {queue}\nchannel = {channel}\n",
                delay * 1e9
            );
            if arq && channel != none {
                text.push_str("arq = { tries = 7, turnaround = \"8 ms\", parallel = true }\n");
            }
        };
        for (flow, delay) in (1..).zip(&self.access) {
            let name = format!("access-{flow}");
            link(
                &name,
                (&format!("s{flow}"), "r1"),
                local,
                *delay,
                wide,
                None,
            );
        }
        let (core_channel, end) = match self.family {
            Family::Backbone => (Some(channel), "r2"),
            Family::LastHop => (None, "r2"),
            Family::TwoQueues => (None, "r3"),
        };
        let core_queue = match self.family {
            Family::Backbone => &self.queue,
            _ => &self.core_queue,
        };
        link(
            "core",
            ("r1", "r2"),
            self.core,
            core_delay,
            core_queue,
            core_channel,
        );
        let mut behind = last_delay;
        if self.family == Family::TwoQueues {
            behind = last_delay / 10.0;
            let delay = last_delay - behind;
            link(
                "radio",
                ("r2", "r3"),
                self.radio,
                delay,
                &self.queue,
                Some(channel),
            );
        }
        for flow in 1..=self.flows {
            let (name, to) = (format!("last-{flow}"), format!("d{flow}"));
            if self.family == Family::LastHop {
                let rate = self.rate / self.flows as f64;
                let channel = channel_of(flow - 1);
                link(&name, (end, &to), rate, behind, &self.queue, Some(channel));
            } else {
                link(&name, (end, &to), local, behind, wide, None);
            }
        }
        // Background traffic enters and leaves over short local links.
        link("cross-in", ("c", "r1"), local, 0.001, wide, None);
        link("cross-out", ("r2", "e"), local, 0.001, wide, None);
        if self.family == Family::TwoQueues {
            link("radio-cross-out", ("r3", "f"), local, 0.001, wide, None);
        }
        if variant != Variant::Drawn {
            let delay = self.access.first().copied().unwrap_or_default();
            link("access-plain", ("plain", "r1"), local, delay, wide, None);
        }
        self.push_flows(&mut text, &transport.toml(self.ecn), variant);
        text
    }

    fn push_flows(&self, text: &mut String, kind: &str, variant: Variant) {
        for flow in 1..=self.flows {
            let _ = write!(
                text,
                "\n[[flow]]\nname = \"judged-{flow}\"\nfrom = \"s{flow}\"\nto = \"d{flow}\"\npacket = \"{PACKET} B\"\ntransport = {kind}\nclassifier = \"unaware\"\nstart = [\"0 s\", \"2 s\"]\n"
            );
        }
        if variant != Variant::Drawn {
            let _ = write!(
                text,
                "\n[[flow]]\nname = \"{PLAIN}\"\nfrom = \"plain\"\nto = \"d1\"\npacket = \"{PACKET} B\"\ntransport = {kind}\nstart = [\"0 s\", \"2 s\"]\nbackground = true\n"
            );
        }
        let ecn = self.ecn;
        self.cross[0].push(text, "core", ("c", "e"), self.core, ecn);
        if self.family == Family::TwoQueues {
            self.cross[1].push(text, "radio", ("r2", "f"), self.radio, ecn);
        }
    }
}

/// The name of the flow without a classifier.
pub(super) const PLAIN: &str = "plain";

impl Cross {
    /// Draws the traffic. It always draws the same number of random values.
    fn draw(random: &mut Random) -> Self {
        let (bursts, tcp, web) = (random.chance(0.6), random.chance(0.25), random.chance(0.25));
        let share = 0.05 + 0.35 * random.uniform();
        let law = ["exponential", "pareto"][random.below(2) as usize];
        let load = 0.02 + 0.13 * random.uniform();
        Self {
            bursts: bursts.then_some((share, law)),
            tcp,
            web: web.then_some(load),
        }
    }

    /// Adds this traffic's flows to a scenario.
    fn push(&self, text: &mut String, link: &str, (from, to): (&str, &str), rate: f64, ecn: bool) {
        let ecn = if ecn { ", ecn = true" } else { "" };
        let mut flow = |name: &str, transport: &str| {
            let _ = write!(
                text,
                "\n[[flow]]\nname = \"{link}-{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\npacket = \"{PACKET} B\"\ntransport = {transport}\nbackground = true\n"
            );
        };
        if let Some((share, law)) = self.bursts {
            let peak = 2.0 * share * rate;
            flow(
                "bursts",
                &format!(
                    "{{ kind = \"on-off\", rate = \"{peak:.0} bit/s\", burst = \"500 ms\", idle = \"500 ms\", law = \"{law}\" }}"
                ),
            );
        }
        if self.tcp {
            flow(
                "tcp",
                &format!("{{ kind = \"tcp\", controller = \"cubic\"{ecn} }}"),
            );
        }
        if let Some(load) = self.web {
            let transfers = (load * rate / 8.0 / 12_000.0).max(0.01);
            flow(
                "web",
                &format!("{{ kind = \"web\", transfers = {transfers:.4}, size = \"12 kB\"{ecn} }}"),
            );
        }
    }
}

fn queue(setting: &Setting, buffer: u64, red: bool) -> String {
    let ecn = if setting.ecn { ", ecn = true" } else { "" };
    let aqm = |kind: &str| format!("{{ packets = 1000, aqm = {{ kind = \"{kind}\"{ecn} }} }}");
    let red = match setting.queue {
        Queue::Drawn => red,
        Queue::DropTail => false,
        Queue::Red => true,
        Queue::Codel => return aqm("codel"),
        Queue::FqCodel => return aqm("fq-codel"),
        Queue::Pie => return aqm("pie"),
    };
    if !red {
        return format!("{{ packets = {buffer} }}");
    }
    let buffer = buffer.max(12);
    let (min, max) = (buffer as f64 / 6.0, buffer as f64 / 2.0);
    format!(
        "{{ packets = {buffer}, red = {{ kind = \"adaptive\", min = {min:.3}, max = {max:.3}{ecn} }} }}"
    )
}

/// Returns a rate as TOML; with `varying`, a rate that varies around this value.
fn rate_words(rate: f64, varying: bool) -> String {
    let words = |share: f64| format!("\"{:.0} bit/s\"", share * rate);
    if !varying {
        return words(1.0);
    }
    let rates = [1.5, 1.0, 0.5].map(words).join(", ");
    format!("{{ rates = [{rates}], means = [\"1 s\", \"1 s\", \"1 s\"] }}")
}

/// Returns a channel that loses this share of packets.
fn channel(random: &mut Random, loss: f64) -> String {
    let kind = random.below(3);
    let stay = 0.1 + 0.5 * random.uniform();
    let mean_bad = log_uniform(random, 0.005, 0.2);
    let loss_bad = 0.3 + 0.7 * random.uniform();
    match kind {
        0 => format!("{{ kind = \"bernoulli\", loss = {loss:.6} }}"),
        1 => format!("{{ kind = \"gilbert-elliott\", loss = {loss:.6}, stay = {stay:.4} }}"),
        _ => {
            // The channel is bad for loss/loss_bad of the time.
            let mean_good = mean_bad * (loss_bad / loss - 1.0);
            format!(
                "{{ kind = \"timed-gilbert-elliott\", mean_good = \"{:.0} ns\", mean_bad = \"{:.0} ns\", loss_bad = {loss_bad:.4} }}",
                mean_good * 1e9,
                mean_bad * 1e9
            )
        }
    }
}

/// Returns recorded channels that replace the drawn one. A separate random stream leaves all other
/// draws unchanged. Fitted channels and recorded trials are listed by their losses. The trial that
/// a network replays therefore has about the losses of its fitted channel.
fn recorded_channels(seed: u64, index: u64, links: u64, radios: Radios) -> Option<Vec<String>> {
    let mut random = Streams::new(seed).stream("radio", index);
    let mut channel = |_| match radios {
        Radios::Drawn => None,
        Radios::Recorded => {
            let all: u64 = recorded::channels().map(|entry| entry.trials).sum();
            let mut left = random.below(all);
            let mut entries = recorded::channels();
            let entry = entries.find(|entry| match left.checked_sub(entry.trials) {
                Some(rest) => {
                    left = rest;
                    false
                }
                None => true,
            })?;
            let name = entry.name;
            Some(format!("{{ kind = \"recorded\", name = \"{name}\" }}"))
        }
        Radios::Replayed(Trials { path, numbers }) => {
            let trial = numbers.get(random.below(numbers.len() as u64) as usize)?;
            // A literal TOML string is safe, because the command rejects paths that contain `'''`.
            Some(format!(
                "{{ kind = \"pattern\", file = '''{path}''', trial = {trial} }}"
            ))
        }
        Radios::Given(channels) => {
            let at = random.below(channels.len() as u64);
            channels.get(at as usize).cloned()
        }
    };
    (0..links).map(&mut channel).collect()
}

fn between(random: &mut Random, from: f64, to: f64) -> f64 {
    from + (to - from) * random.uniform()
}

fn log_uniform(random: &mut Random, from: f64, to: f64) -> f64 {
    from * libm::pow(to / from, random.uniform())
}

#[cfg(test)]
mod tests {
    use whyloss_sim::Scenario;

    use super::*;

    /// Every drawn network runs in every variant and with every transport.
    #[test]
    fn all_are_valid() {
        for index in 0..60 {
            let setting = Setting {
                ecn: index % 2 == 1,
                varying: index % 4 > 1,
                radios: [Radios::Drawn, Radios::Recorded][(index / 8 % 2) as usize],
                laws: [Laws::Arena, Laws::Long, Laws::Uniform][(index / 4 % 3) as usize],
                ..Setting::default()
            };
            let network = Network::draw(7, index, &setting);
            for transport in Transport::ALL {
                for variant in [Variant::Drawn, Variant::Beside, Variant::BesideClean] {
                    let text = network.scenario(transport, variant);
                    let scenario = Scenario::from_toml(&text, "drawn", &[]);
                    let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
                    assert_eq!(scenario.check().err(), None, "{text}");
                }
            }
        }
    }

    /// A trial that a link replays belongs to the band of its fitted channel.
    #[test]
    fn fitted_and_replayed_networks_are_paired() {
        let trials: u64 = recorded::channels().map(|entry| entry.trials).sum();
        let numbers: Vec<usize> = (1..=trials as usize).collect();
        let path = "links.csv";
        let numbers = numbers.leak();
        let replayed = Radios::Replayed(Trials { path, numbers });
        let mut seen = std::collections::HashSet::new();
        for index in 0..30 {
            let fitted = recorded_channels(5, index, 9, Radios::Recorded).expect("channels");
            let replayed = recorded_channels(5, index, 9, replayed).expect("channels");
            for (fitted, replayed) in fitted.iter().zip(&replayed) {
                let mut first = 1;
                for entry in recorded::channels() {
                    let band = first..first + entry.trials;
                    first = band.end;
                    let own = band
                        .clone()
                        .any(|n| replayed.contains(&format!("trial = {n} ")));
                    assert_eq!(fitted.contains(entry.name), own, "{fitted} {replayed}");
                    seen.extend(own.then_some(band.start));
                }
            }
        }
        assert_eq!(seen.len(), recorded::channels().count());
    }

    /// Checks the distributions of the table above: ranges, and medians of log-uniform values,
    /// which are the roots of the products of the ends.
    #[test]
    fn drawn_by_the_stated_laws() {
        let drawn: Vec<Network> = (0..3_000)
            .map(|index| Network::draw(1, index, &Setting::default()))
            .collect();
        let median = |of: fn(&Network) -> f64| {
            let mut values: Vec<f64> = drawn.iter().map(of).collect();
            values.sort_unstable_by(f64::total_cmp);
            values[values.len() / 2]
        };
        for (of, from, to) in [
            ((|n| n.rate) as fn(&Network) -> f64, 0.2e6, 30e6),
            (|n| n.round_trip, 0.01, 0.4),
            (|n| n.loss, 0.001, 0.1),
        ] {
            assert!(drawn.iter().all(|n| (from..to).contains(&of(n))));
            let (found, expected) = (median(of), libm::sqrt(from * to));
            // The sample median's rank deviates by 0.9 %, and its value by 4 to 5 %.
            assert!((found / expected - 1.0).abs() < 0.15, "{found} {expected}");
        }
        assert!(
            drawn
                .iter()
                .all(|n| (1..=16).contains(&n.flows) && n.buffer >= 3)
        );
        let red = drawn.iter().filter(|n| n.queue.contains("red")).count();
        // The expected number is 750, ±24.
        assert!((660..840).contains(&red), "{red}");
    }
}
