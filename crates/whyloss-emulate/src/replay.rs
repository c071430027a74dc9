//! Asks the links again: a log through `whyloss-link` in virtual time, fate for fate.
//!
//! Every link of a run is made anew with its specification and its seed, and offered the packets that the log says it was
//! offered, at the times at which it was. Whatever differs from what the log says happened is a difference.

use whyloss::Time;

use crate::network::{LinkPlan, Outcome, Service};
use crate::record::{Fate, Record};

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Packets that links were offered.
    pub offers: u64,
    /// How many fates, times and damaged bits were others than in the log.
    pub differences: u64,
    /// The first of them, in words.
    pub first: Option<String>,
}

/// Replays a log through the links of its run.
pub fn replay(plans: &[LinkPlan], seed: u64, mut records: Vec<Record>) -> Replayed {
    let links = plans.iter().enumerate();
    let mut links: Vec<Service> = links.map(|(i, plan)| Service::new(plan, seed, i)).collect();
    records.sort_unstable_by_key(|record| record.offer);
    let mut replayed = Replayed::default();
    for record in &records {
        replayed.offers += 1;
        let found = plans.iter().position(|plan| plan.name == record.link);
        let difference = match found {
            None => Some(format!(
                "packet {}: no link is called {}",
                record.packet, record.link
            )),
            Some(index) => {
                let now = Time::from_nanos(record.enqueued);
                let (waiting, outcome, _) = links[index].offer(now, record.bytes);
                (!agrees(record, waiting, &outcome)).then(|| {
                    format!(
                        "packet {} at {}: the log says {} at {} ns with {} waiting, the link {outcome:?} with {waiting}",
                        record.packet, record.link, record.fate.name(), record.scheduled, record.waiting,
                    )
                })
            }
        };
        if let Some(difference) = difference {
            replayed.differences += 1;
            replayed.first.get_or_insert(difference);
        }
    }
    replayed
}

fn agrees(record: &Record, waiting: usize, outcome: &Outcome) -> bool {
    let fate = match outcome {
        Outcome::Delivered(_) => record.fate == Fate::Delivered,
        Outcome::Damaged(..) => record.fate == Fate::Damaged,
        Outcome::Overflow(_) => record.fate == Fate::Overflow,
        Outcome::Aqm(_) => record.fate == Fate::Aqm,
        Outcome::Channel(_) => record.fate == Fate::Channel,
    };
    // What came of a packet after the link had let it through is not the link's doing.
    let later =
        matches!(record.fate, Fate::Fault | Fate::Unfinished) && outcome.arrival().is_some();
    let bits: &[u32] = match outcome {
        Outcome::Damaged(_, bits) => bits,
        _ => &[],
    };
    (fate || later)
        && record.scheduled == outcome.at().as_nanos()
        && record.waiting as usize == waiting
        && record.bits == bits
}
