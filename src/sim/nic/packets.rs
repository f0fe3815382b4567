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
    /// What equal-cost choices depend on; up to date only in networks with choices.
    pub hashes: FlowHashes,
    /// UDP source port.
    pub entropy: u16,
    /// Class in the NICs' queues and pools.
    pub class: u8,
}

/// Headers by place.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<Carried>,
    free: Vec<u32>,
}

impl Packets {
    /// Keeps a header; its place.
    #[inline]
    pub fn insert(&mut self, carried: Carried) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = carried;
            slot
        } else {
            self.slots.push(carried);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets under way")
        }
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
