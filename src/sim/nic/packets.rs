//! What packets on their way carry for the transport at the other end.
//!
//! Owns a slab of headers: a packet in the network is two words, one of which is the place of its
//! header here. A place is used again as soon as its packet has arrived or was dropped.

use super::Header;
use crate::sim::switch::route::FlowHashes;

/// A header under way.
#[derive(Debug, Clone, Copy)]
pub struct Carried {
    /// For the other end.
    pub header: Header,
    /// UDP source port.
    pub entropy: u16,
    /// Class in the NICs' queues and pools.
    pub class: u8,
}

/// Headers by place.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<Carried>,
    /// What equal-cost choices depend on, by place: hashes and source port. Apart from the rest,
    /// because every switch with a choice looks at it. Empty in networks without choices.
    hashes: Vec<(FlowHashes, u16)>,
    free: Vec<u32>,
}

impl Packets {
    /// Keeps a header, and its hashes in networks with choices; its place.
    #[inline]
    pub fn insert(&mut self, carried: Carried, hashes: Option<FlowHashes>) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = carried;
                slot
            }
            None => {
                self.slots.push(carried);
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets under way")
            }
        };
        if let Some(hashes) = hashes {
            if self.hashes.len() < self.slots.len() {
                self.hashes.push(Default::default());
            }
            self.hashes[slot as usize] = (hashes, carried.entropy);
        }
        slot
    }

    /// Hashes and source port of a packet under way, in networks with choices.
    #[inline]
    pub fn hashes(&self, slot: u32) -> (FlowHashes, u16) {
        self.hashes[slot as usize]
    }

    /// A header under way.
    #[inline]
    pub fn get(&self, slot: u32) -> &Carried {
        &self.slots[slot as usize]
    }

    /// Takes a header out: its packet has arrived or is gone.
    #[inline]
    pub fn take(&mut self, slot: u32) -> Carried {
        self.free.push(slot);
        self.slots[slot as usize]
    }

    /// Packets under way.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
