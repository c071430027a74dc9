//! Decodes packets, sixteen at a time, and counts their wrong bits.
//!
//! Most packets arrive with so little noise that they decode correctly whatever their bits are.
//! Only the other packets get random bits to encode and decode. The result is the same, because the
//! code is linear and the channel symmetric.

use super::Trial;
use super::convolutional::{Code, LANES};
use whyloss_link::Random;

/// Packets collected for one pass of the decoder, which decodes [`LANES`] packets together.
struct Batch {
    soft: Vec<[i8; LANES]>,
    slots: Vec<usize>,
}

impl Batch {
    fn new(coded: usize) -> Self {
        Self {
            soft: vec![[0; LANES]; coded],
            slots: Vec::with_capacity(LANES),
        }
    }

    fn push(&mut self, slot: usize, soft: impl Iterator<Item = i8>) {
        let lane = self.slots.len();
        for (row, soft) in self.soft.iter_mut().zip(soft) {
            row[lane] = soft;
        }
        self.slots.push(slot);
    }

    fn is_full(&self) -> bool {
        self.slots.len() == LANES
    }
}

pub(super) struct Receiver {
    code: Code,
    /// The number of information bits per packet.
    bits: usize,
    arrived: Batch,
    doubtful: Batch,
    trial: Trial,
}

impl Receiver {
    pub(super) fn new(code: Code, bits: usize) -> Self {
        let coded = 2 * (bits + code.memory());
        Self {
            code,
            bits,
            arrived: Batch::new(coded),
            doubtful: Batch::new(coded),
            trial: Trial {
                lost: Vec::new(),
                bit_errors: 0,
                bits: 0,
            },
        }
    }

    /// Receives the next slot as soft values, positive where they favour the sent bits.
    pub(super) fn receive(&mut self, soft: impl Iterator<Item = i8>, random: &mut Random) {
        self.arrived.push(self.trial.lost.len(), soft);
        self.trial.lost.push(false);
        self.trial.bits += self.bits as u64;
        if self.arrived.is_full() {
            self.sift(random);
        }
    }

    /// Decodes the remaining packets.
    pub(super) fn finish(mut self, random: &mut Random) -> Trial {
        self.sift(random);
        self.decode(random);
        self.trial
    }

    /// Keeps the packets whose decoding is in doubt.
    fn sift(&mut self, random: &mut Random) {
        let survivors = self.code.survivors(&self.arrived.soft);
        for lane in 0..self.arrived.slots.len() {
            if survivors[lane] {
                continue;
            }
            let soft = self.arrived.soft.iter().map(|row| row[lane]);
            self.doubtful.push(self.arrived.slots[lane], soft);
            if self.doubtful.is_full() {
                self.decode(random);
            }
        }
        self.arrived.slots.clear();
    }

    /// Encodes random bits for the packets in doubt and decodes them.
    fn decode(&mut self, random: &mut Random) {
        let batch = &mut self.doubtful;
        let sent: Vec<Vec<bool>> = (0..batch.slots.len())
            .map(|lane| {
                let info: Vec<bool> = (0..self.bits).map(|_| random.chance(0.5)).collect();
                for (row, one) in batch.soft.iter_mut().zip(self.code.encode(&info)) {
                    if one {
                        row[lane] = -row[lane];
                    }
                }
                info
            })
            .collect();
        if sent.is_empty() {
            return;
        }
        let decoded = self.code.decode(&batch.soft);
        for ((slot, sent), decoded) in batch.slots.drain(..).zip(&sent).zip(&decoded) {
            let wrong = sent.iter().zip(decoded).filter(|(a, b)| a != b).count();
            self.trial.lost[slot] = wrong > 0;
            self.trial.bit_errors += wrong as u64;
        }
    }
}
