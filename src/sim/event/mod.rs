//! Simulated time's order: keys, kinds, and the lists that hold pending events.
//!
//! Owns the total order of simultaneous events. Everything that can happen has a key
//! `time << bits | rank`; the rank is the order of kinds and, inside a kind, of nodes and ports.
//! The order is total, so every list hands events out in the same order. Refuses to know what an
//! event does.

mod heap;
mod tree;

use crate::scenario::links::rank_bits;

pub use heap::HeapList;
pub use tree::WinnerTree;

/// A key no event has: later than everything.
pub const NEVER: u64 = u64::MAX;

/// Pending events in fixed slots, at most one a slot.
pub trait EventList {
    /// A list of `slots` empty slots.
    fn with_slots(slots: usize) -> Self;
    /// Sets or replaces the key of a slot; [`NEVER`] empties it.
    fn set(&mut self, slot: usize, key: u64);
    /// The smallest key, or [`NEVER`].
    fn first(&mut self) -> u64;
}

/// Kinds of events in the order in which they are handled at equal time.
///
/// Kinds from `Service` on that are rare live in a heap beside the slots; the two kinds every
/// packet costs, ends of serialization and arrivals at switches, have a slot a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An interval or the warm-up ends.
    Report,
    /// End of serialization at a switch port, with the start of that port's next frame.
    TxEnd,
    /// End of receive service at a host.
    Service,
    /// Arrival of a frame at a host.
    HostArrival,
    /// Arrival of a frame at a switch port.
    Arrival,
    /// A pause or resume takes effect after its response time.
    Effect,
    /// A pause runs out.
    Expiry,
    /// A pause is sent again, or a host holds or releases classes.
    Refresh,
    /// A rate cap falls due at an idle host.
    Timer,
    /// Flows start at a host.
    FlowStart,
}

/// Translates between kinds, ports and ranks for a given number of switch ports.
#[derive(Debug, Clone, Copy)]
pub struct Ranks {
    ports: u64,
    bits: u32,
}

/// What a rank stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranked {
    /// End of serialization at this switch port.
    TxEnd(usize),
    /// Arrival at this switch port.
    Arrival(usize),
    /// One of the rare kinds, told apart by the heap's entry.
    Rare,
}

impl Ranks {
    /// Ranks for a network with `ports` switch ports.
    pub fn new(ports: usize) -> Ranks {
        let ports = ports as u64;
        Ranks { ports, bits: rank_bits(ports) }
    }

    /// Time of a key.
    #[inline]
    pub fn time(&self, key: u64) -> u64 {
        key >> self.bits
    }

    /// Key of the end of serialization at a switch port.
    #[inline]
    pub fn tx_end(&self, time: u64, port: usize) -> u64 {
        time << self.bits | (1 + port as u64)
    }

    /// Key of an arrival at a switch port.
    #[inline]
    pub fn arrival(&self, time: u64, port: usize) -> u64 {
        time << self.bits | (3 + self.ports + port as u64)
    }

    /// Key of a rare kind; events of one kind and instant are ordered by the heap's second part.
    pub fn rare(&self, time: u64, kind: Kind) -> u64 {
        let rank = match kind {
            Kind::Report => 0,
            Kind::TxEnd | Kind::Arrival => unreachable!("these kinds have slots"),
            Kind::Service => 1 + self.ports,
            Kind::HostArrival => 2 + self.ports,
            Kind::Effect => 3 + 2 * self.ports,
            Kind::Expiry => 4 + 2 * self.ports,
            Kind::Refresh => 5 + 2 * self.ports,
            Kind::Timer => 6 + 2 * self.ports,
            Kind::FlowStart => 7 + 2 * self.ports,
        };
        time << self.bits | rank
    }

    /// Slot of a port's end of serialization.
    #[inline]
    pub fn tx_slot(&self, port: usize) -> usize {
        2 * port
    }

    /// Slot of a port's next arrival.
    #[inline]
    pub fn arrival_slot(&self, port: usize) -> usize {
        2 * port + 1
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        2 * self.ports as usize
    }

    /// What the rank of a key stands for.
    #[inline]
    pub fn ranked(&self, key: u64) -> Ranked {
        let rank = key & ((1 << self.bits) - 1);
        if rank.wrapping_sub(1) < self.ports {
            Ranked::TxEnd(rank as usize - 1)
        } else if rank.wrapping_sub(3 + self.ports) < self.ports {
            Ranked::Arrival((rank - 3 - self.ports) as usize)
        } else {
            Ranked::Rare
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_follow_the_order_of_kinds() {
        let r = Ranks::new(3);
        let keys = [
            r.rare(7, Kind::Report),
            r.tx_end(7, 0),
            r.tx_end(7, 2),
            r.rare(7, Kind::Service),
            r.rare(7, Kind::HostArrival),
            r.arrival(7, 0),
            r.arrival(7, 2),
            r.rare(7, Kind::Effect),
            r.rare(7, Kind::Expiry),
            r.rare(7, Kind::Refresh),
            r.rare(7, Kind::Timer),
            r.rare(7, Kind::FlowStart),
            r.rare(8, Kind::Report),
        ];
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        assert_eq!(r.ranked(keys[2]), Ranked::TxEnd(2));
        assert_eq!(r.ranked(keys[6]), Ranked::Arrival(2));
        for rare in [0, 3, 4, 7, 8, 9, 10, 11] {
            assert_eq!(r.ranked(keys[rare]), Ranked::Rare, "{rare}");
        }
    }

    proptest! {
        /// Both lists hand out the same order, whatever is set, replaced and emptied.
        #[test]
        fn tree_and_heap_agree(slots in 1usize..600, steps in prop::collection::vec((0usize..600, 0u64..50), 1..300)) {
            let mut tree = WinnerTree::with_slots(slots);
            let mut heap = HeapList::with_slots(slots);
            let mut plain = vec![NEVER; slots];
            for (slot, time) in steps {
                let slot = slot % slots;
                let key = if time == 0 { NEVER } else { time << 8 | slot as u64 };
                tree.set(slot, key);
                heap.set(slot, key);
                plain[slot] = key;
                let least = plain.iter().copied().min().unwrap_or(NEVER);
                prop_assert_eq!(tree.first(), least);
                prop_assert_eq!(heap.first(), least);
            }
        }
    }
}
