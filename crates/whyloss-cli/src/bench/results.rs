//! Measurements, and the ratios that follow from them.

use super::child::Measured;

/// The least, the middle and the greatest of some repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Summarizes these values; `None` if there are none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let half = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[half]
        } else {
            f64::midpoint(values[half - 1], values[half])
        };
        Some(Self { min, median, max })
    }
}

/// Who simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Simulator {
    Whyloss,
    Ns2,
    Ns3,
}

impl Simulator {
    /// In the order of the rows' sides.
    pub(crate) const ALL: [Self; 3] = [Self::Whyloss, Self::Ns2, Self::Ns3];
    pub(crate) const PEERS: [Self; 2] = [Self::Ns2, Self::Ns3];

    /// For people, and in CSV.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Whyloss => "whyloss",
            Self::Ns2 => "ns-2",
            Self::Ns3 => "ns-3",
        }
    }
}

/// One simulator on one network: a measurement for each repetition.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Side {
    pub(crate) runs: Vec<Measured>,
    pub(crate) instructions: Option<f64>,
    /// Simulated time of a run.
    pub(crate) seconds: f64,
    /// Packets that a run delivers; the same in all repetitions.
    pub(crate) packets: Option<f64>,
    /// Deliveries of Whyloss in that time with the peer's loss recovery.
    pub(crate) expected: Option<f64>,
}

impl Side {
    /// Packets delivered per CPU second.
    pub(crate) fn rate(&self) -> Option<Spread> {
        Spread::of(self.runs.iter().map(Measured::rate))
    }

    /// The greatest of the peaks, where the machine tells it.
    pub(crate) fn peak_bytes(&self) -> Option<u64> {
        let peak = self.runs.iter().map(|run| run.peak_bytes).max();
        peak.filter(|&bytes| bytes > 0)
    }

    /// Events per delivered packet, where they are counted; the same in all repetitions.
    pub(crate) fn events(&self) -> Option<f64> {
        let run = self.runs.first().filter(|run| run.events > 0)?;
        Some(run.events as f64 / run.packets as f64)
    }
}

/// One network.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// Flows of the growing workload.
    pub(crate) flows: Option<u32>,
    sides: [Side; 3],
}

impl Row {
    pub(crate) fn new(name: &str, flows: Option<u32>) -> Self {
        Self {
            name: name.to_owned(),
            flows,
            ..Self::default()
        }
    }

    pub(crate) fn side(&self, simulator: Simulator) -> &Side {
        &self.sides[simulator as usize]
    }

    pub(crate) fn side_mut(&mut self, simulator: Simulator) -> &mut Side {
        &mut self.sides[simulator as usize]
    }

    /// How many times as many packets per CPU second as a peer, repetition by repetition.
    pub(crate) fn ratio(&self, peer: Simulator) -> Option<Spread> {
        let ours = &self.side(Simulator::Whyloss).runs;
        let pairs = ours.iter().zip(&self.side(peer).runs);
        Spread::of(pairs.map(|(ours, peer)| ours.rate() / peer.rate()))
    }
}

/// Replications of WLH per second of wall time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sweep {
    pub(crate) replications: u64,
    pub(crate) threads: u16,
    pub(crate) one: Vec<Measured>,
    pub(crate) all: Vec<Measured>,
}

impl Sweep {
    fn rates(&self, runs: &[Measured]) -> Vec<f64> {
        let count = self.replications as f64;
        runs.iter().map(|run| count / run.wall_seconds).collect()
    }

    pub(crate) fn on_one(&self) -> Option<Spread> {
        Spread::of(self.rates(&self.one))
    }

    pub(crate) fn on_all(&self) -> Option<Spread> {
        Spread::of(self.rates(&self.all))
    }

    /// How many times as fast on all cores, repetition by repetition.
    pub(crate) fn speedup(&self) -> Option<Spread> {
        let rates = [&self.one, &self.all].map(|runs| self.rates(runs));
        Spread::of(rates[0].iter().zip(&rates[1]).map(|(one, all)| all / one))
    }
}

/// Bytes, by differences between runs that differ in one thing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Memory {
    /// Per flow, its description and its results included; hosts and links are shared.
    pub(crate) per_flow: Option<f64>,
    /// Per packet on its way through a link.
    pub(crate) per_packet: Option<f64>,
}

/// Everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Results {
    pub(crate) repetitions: u32,
    pub(crate) rows: Vec<Row>,
    pub(crate) memory: Memory,
    pub(crate) sweep: Option<Sweep>,
    /// Tools that this machine lacks, with the command that installs each.
    pub(crate) missing: Vec<String>,
    /// Tasks that a peer failed, and why.
    pub(crate) failures: Vec<String>,
    /// Quantities that this command does not measure.
    pub(crate) gaps: Vec<String>,
}

impl Results {
    /// The rows of the growing workload: the fewest flows, and the most.
    fn ends(&self) -> Option<(&Row, &Row)> {
        let growing = || self.rows.iter().filter(|row| row.flows.is_some());
        let fewest = growing().min_by_key(|row| row.flows)?;
        let most = growing().max_by_key(|row| row.flows)?;
        (fewest.flows < most.flows).then_some((fewest, most))
    }

    /// Fewest and most flows, and by how much a packet costs more among the most, repetition by
    /// repetition.
    pub(crate) fn growth(&self) -> Option<(u32, u32, Spread)> {
        let (fewest, most) = self.ends()?;
        let [fewer, more] = [fewest, most].map(|row| &row.side(Simulator::Whyloss).runs);
        let pairs = fewer.iter().zip(more);
        let spread = Spread::of(pairs.map(|(few, many)| few.rate() / many.rate()))?;
        Some((fewest.flows?, most.flows?, spread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(packets: u64, cpu_seconds: f64) -> Measured {
        Measured {
            packets,
            cpu_seconds,
            events: 4 * packets,
            ..Measured::default()
        }
    }

    fn row(flows: u32, ours: &[f64], ns2: &[f64]) -> Row {
        let side = |seconds: &[f64]| Side {
            runs: seconds.iter().map(|&cpu| run(1000, cpu)).collect(),
            ..Side::default()
        };
        let mut row = Row::new("", Some(flows));
        *row.side_mut(Simulator::Whyloss) = side(ours);
        *row.side_mut(Simulator::Ns2) = side(ns2);
        row
    }

    #[test]
    fn medians_of_odd_and_even_numbers() {
        let of =
            |values: &[f64]| Spread::of(values.iter().copied()).map(|s| (s.min, s.median, s.max));
        assert_eq!(of(&[3.0, 1.0, 2.0]), Some((1.0, 2.0, 3.0)));
        assert_eq!(of(&[4.0, 1.0]), Some((1.0, 2.5, 4.0)));
        assert_eq!(of(&[]), None);
    }

    /// Ratios are of neighbours in time: a machine that slows down for both does not change them.
    #[test]
    fn ratios_are_taken_repetition_by_repetition() {
        let one = row(1, &[1.0, 2.0], &[5.0, 10.0]);
        let ratio = one.ratio(Simulator::Ns2).expect("a ratio");
        assert!((ratio.min - 5.0).abs() < 1e-12 && (ratio.max - 5.0).abs() < 1e-12);
        assert_eq!(one.ratio(Simulator::Ns3), None);
        assert_eq!(one.side(Simulator::Whyloss).events(), Some(4.0));
        let results = Results {
            rows: vec![one, row(10, &[3.0, 6.0], &[])],
            ..Results::default()
        };
        let (few, many, growth) = results.growth().expect("two sizes");
        assert_eq!((few, many), (1, 10));
        assert!((growth.median - 3.0).abs() < 1e-12);
    }

    #[test]
    fn speedup_is_by_wall_time() {
        let wall = |wall_seconds| Measured {
            wall_seconds,
            ..Measured::default()
        };
        let sweep = Sweep {
            replications: 100,
            threads: 2,
            one: vec![wall(2.0)],
            all: vec![wall(1.0)],
        };
        assert_eq!(sweep.on_one().map(|s| s.median), Some(50.0));
        assert_eq!(sweep.speedup().map(|s| s.median), Some(2.0));
    }
}
