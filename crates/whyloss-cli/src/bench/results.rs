//! Holds the measurements of `whyloss bench`, and computes their ratios.

use super::child::Measured;

/// The lowest, median and highest value of several repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Returns the spread of these values; `None` if there are none.
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

/// Names a simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Simulator {
    Whyloss,
    Ns2,
    Ns3,
}

impl Simulator {
    /// All simulators, in the order of a row's sides.
    pub(crate) const ALL: [Self; 3] = [Self::Whyloss, Self::Ns2, Self::Ns3];
    pub(crate) const PEERS: [Self; 2] = [Self::Ns2, Self::Ns3];

    /// Returns the name that tables and CSV show.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Whyloss => "whyloss",
            Self::Ns2 => "ns-2",
            Self::Ns3 => "ns-3",
        }
    }
}

/// The results of one simulator on one network, with a measurement per repetition.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Side {
    pub(crate) runs: Vec<Measured>,
    pub(crate) instructions: Option<f64>,
    /// The simulated time of a run, in seconds.
    pub(crate) seconds: f64,
    /// The number of packets that a run delivers, equal in all repetitions.
    pub(crate) packets: Option<f64>,
    /// The number of packets that Whyloss delivers in the same simulated time with the peer's loss
    /// recovery.
    pub(crate) expected: Option<f64>,
}

impl Side {
    /// Returns the number of packets delivered per CPU second.
    pub(crate) fn rate(&self) -> Option<Spread> {
        Spread::of(self.runs.iter().map(Measured::rate))
    }

    /// Returns the largest peak memory of the runs, in bytes; `None` if the system does not report
    /// it.
    pub(crate) fn peak_bytes(&self) -> Option<u64> {
        let peak = self.runs.iter().map(|run| run.peak_bytes).max();
        peak.filter(|&bytes| bytes > 0)
    }

    /// Returns the number of events per delivered packet; `None` if the simulator does not count
    /// events.
    pub(crate) fn events(&self) -> Option<f64> {
        let run = self.runs.first().filter(|run| run.events > 0)?;
        Some(run.events as f64 / run.packets as f64)
    }
}

/// The results on one network.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The number of flows in the `flows` workload; `None` in others.
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

    /// Returns the ratio of our packets per CPU second to those of a peer. The repetitions are
    /// paired.
    pub(crate) fn ratio(&self, peer: Simulator) -> Option<Spread> {
        let ours = &self.side(Simulator::Whyloss).runs;
        let pairs = ours.iter().zip(&self.side(peer).runs);
        Spread::of(pairs.map(|(ours, peer)| ours.rate() / peer.rate()))
    }
}

/// The replications of the wireless last hop per second of wall time, on one thread and on all.
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

    /// Returns the ratio of the speed on all threads to that on one. The repetitions are paired.
    pub(crate) fn speedup(&self) -> Option<Spread> {
        let rates = [&self.one, &self.all].map(|runs| self.rates(runs));
        Spread::of(rates[0].iter().zip(&rates[1]).map(|(one, all)| all / one))
    }
}

/// Memory in bytes, computed from the difference of two runs that differ in one number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Memory {
    /// Memory per flow, with its scenario and its results. Hosts and links are shared.
    pub(crate) per_flow: Option<f64>,
    /// Memory per packet in flight on a link.
    pub(crate) per_packet: Option<f64>,
}

/// The results on all networks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Results {
    pub(crate) repetitions: u32,
    pub(crate) rows: Vec<Row>,
    pub(crate) memory: Memory,
    pub(crate) sweep: Option<Sweep>,
    /// Tools that this machine lacks, with the command that installs each.
    pub(crate) missing: Vec<String>,
    /// The measurements that a peer failed, with the reason.
    pub(crate) failures: Vec<String>,
    /// Quantities that this command does not measure.
    pub(crate) gaps: Vec<String>,
}

impl Results {
    /// Returns the rows with the lowest and the highest number of flows; `None` unless there are
    /// two.
    fn ends(&self) -> Option<(&Row, &Row)> {
        let growing = || self.rows.iter().filter(|row| row.flows.is_some());
        let fewest = growing().min_by_key(|row| row.flows)?;
        let most = growing().max_by_key(|row| row.flows)?;
        (fewest.flows < most.flows).then_some((fewest, most))
    }

    /// Returns the lowest and the highest number of flows, and the ratio of their CPU times per
    /// packet, highest over lowest. The repetitions are paired.
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

    /// Ratios compare neighbouring runs: if the machine slows down for both, they stay equal.
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
