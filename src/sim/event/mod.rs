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
/// Rare kinds live in a heap beside the slots; the two kinds every packet costs, ends of
/// serialization and arrivals at switches, have a slot a port. Hosts whose NIC reacts have two
/// slots of their own: one for the end of serialization or the timer, whichever is first, and one
/// for arrivals.
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

/// Translates between kinds, ports, hosts and ranks.
#[derive(Debug, Clone, Copy)]
pub struct Ranks {
    ports: u64,
    /// Hosts whose NIC reacts.
    nics: u64,
    bits: u32,
    /// Ranks of the first port's end of serialization and arrival.
    tx_base: u64,
    arrival_base: u64,
}

/// What a rank stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranked {
    /// End of serialization at this switch port.
    TxEnd(usize),
    /// Arrival at this switch port.
    Arrival(usize),
    /// End of serialization at this host's NIC.
    NicTxEnd(u32),
    /// Arrival at this host's NIC.
    NicArrival(u32),
    /// A timer of this host's NIC.
    NicTimer(u32),
    /// One of the rare kinds, told apart by the heap's entry.
    Rare,
}

impl Ranks {
    /// Ranks for a network with `ports` switch ports and `nics` hosts whose NIC reacts.
    pub fn new(ports: usize, nics: usize) -> Ranks {
        let (ports, nics) = (ports as u64, nics as u64);
        let bits = rank_bits(ports, nics);
        Ranks { ports, nics, bits, tx_base: 1 + nics, arrival_base: 3 + 2 * nics + ports }
    }

    /// Time of a key.
    #[inline]
    pub fn time(&self, key: u64) -> u64 {
        key >> self.bits
    }

    /// Key of the end of serialization at a switch port.
    #[inline]
    pub fn tx_end(&self, time: u64, port: usize) -> u64 {
        time << self.bits | (self.tx_base + port as u64)
    }

    /// Key of an arrival at a switch port.
    #[inline]
    pub fn arrival(&self, time: u64, port: usize) -> u64 {
        time << self.bits | (self.arrival_base + port as u64)
    }

    /// Key of the end of serialization at a NIC that reacts.
    #[inline]
    pub fn nic_tx_end(&self, time: u64, host: u32) -> u64 {
        time << self.bits | (1 + u64::from(host))
    }

    /// Key of an arrival at a NIC that reacts.
    #[inline]
    pub fn nic_arrival(&self, time: u64, host: u32) -> u64 {
        time << self.bits | (2 + self.nics + self.ports + u64::from(host))
    }

    /// Key of a timer of a NIC that reacts.
    #[inline]
    pub fn nic_timer(&self, time: u64, host: u32) -> u64 {
        time << self.bits | (6 + 2 * (self.nics + self.ports) + u64::from(host))
    }

    /// Key of a rare kind; events of one kind and instant are ordered by the heap's second part.
    pub fn rare(&self, time: u64, kind: Kind) -> u64 {
        let both = self.nics + self.ports;
        let rank = match kind {
            Kind::Report => 0,
            Kind::TxEnd | Kind::Arrival => unreachable!("these kinds have slots"),
            Kind::Service => 1 + both,
            Kind::HostArrival => 2 + both,
            Kind::Effect => 3 + 2 * both,
            Kind::Expiry => 4 + 2 * both,
            Kind::Refresh => 5 + 2 * both,
            Kind::Timer => 6 + 2 * both,
            Kind::FlowStart => 7 + 2 * both + self.nics,
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

    /// Slot of a NIC's end of serialization or timer, whichever is first; beside the one below, as
    /// those of ports are.
    #[inline]
    pub fn nic_slot(&self, host: u32) -> usize {
        2 * (self.ports as usize + host as usize)
    }

    /// Slot of a NIC's next arrival.
    #[inline]
    pub fn nic_arrival_slot(&self, host: u32) -> usize {
        self.nic_slot(host) + 1
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        2 * (self.ports + self.nics) as usize
    }

    /// What the rank of a key stands for.
    #[inline]
    pub fn ranked(&self, key: u64) -> Ranked {
        let rank = key & ((1 << self.bits) - 1);
        if rank.wrapping_sub(self.tx_base) < self.ports {
            Ranked::TxEnd((rank - self.tx_base) as usize)
        } else if rank.wrapping_sub(self.arrival_base) < self.ports {
            Ranked::Arrival((rank - self.arrival_base) as usize)
        } else {
            self.ranked_rarely(rank)
        }
    }

    #[inline]
    fn ranked_rarely(&self, rank: u64) -> Ranked {
        let both = self.nics + self.ports;
        if rank.wrapping_sub(1) < self.nics {
            Ranked::NicTxEnd((rank - 1) as u32)
        } else if rank.wrapping_sub(2 + both) < self.nics {
            Ranked::NicArrival((rank - 2 - both) as u32)
        } else if rank.wrapping_sub(6 + 2 * both) < self.nics {
            Ranked::NicTimer((rank - 6 - 2 * both) as u32)
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
        let r = Ranks::new(3, 0);
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

    #[test]
    fn hosts_come_before_switches_inside_a_kind() {
        let r = Ranks::new(2, 3);
        let keys = [
            (r.rare(7, Kind::Report), Ranked::Rare),
            (r.nic_tx_end(7, 0), Ranked::NicTxEnd(0)),
            (r.nic_tx_end(7, 2), Ranked::NicTxEnd(2)),
            (r.tx_end(7, 0), Ranked::TxEnd(0)),
            (r.tx_end(7, 1), Ranked::TxEnd(1)),
            (r.rare(7, Kind::Service), Ranked::Rare),
            (r.nic_arrival(7, 0), Ranked::NicArrival(0)),
            (r.nic_arrival(7, 2), Ranked::NicArrival(2)),
            (r.arrival(7, 0), Ranked::Arrival(0)),
            (r.arrival(7, 1), Ranked::Arrival(1)),
            (r.rare(7, Kind::Effect), Ranked::Rare),
            (r.rare(7, Kind::Expiry), Ranked::Rare),
            (r.rare(7, Kind::Refresh), Ranked::Rare),
            (r.nic_timer(7, 0), Ranked::NicTimer(0)),
            (r.nic_timer(7, 2), Ranked::NicTimer(2)),
            (r.rare(7, Kind::FlowStart), Ranked::Rare),
            (r.rare(8, Kind::Report), Ranked::Rare),
        ];
        assert!(keys.is_sorted_by(|a, b| a.0 < b.0), "{keys:?}");
        for (key, ranked) in keys {
            assert_eq!(r.ranked(key), ranked);
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
