//! Flowlets: a flow may change its member of an equal-cost set where it pauses.
//!
//! Owns the slots of every switch, the choice of a member and what is counted of members. Knows
//! neither queues nor pauses: it asks for both when it has to choose. Time moves in a slot only
//! when a packet is admitted at egress, which the switch says afterwards ([`Balancer::admitted`]).

use super::{Routes, SetId};
use crate::sim::random::Stream;
use crate::sim::switch::buffer::watch::{Bound, Interval};
use rand_core::Rng;

/// Slots of a set.
pub const SLOTS: usize = 512;
/// Sets of a switch that have slots: the first it sees.
const TABLES: u32 = 128;

/// How the switches of a tier tell flowlets apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowletSettings {
    /// A slot that is silent this long is assigned again, ps; 0: at every packet.
    pub gap: u64,
    /// Members whose port is held for the packet's class are passed over.
    pub pfc_aware: bool,
}

/// A hash's place in the flow table of a set.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// When its last packet was admitted at egress; [`NEVER`] before the first.
    last: u64,
    /// Place of its member in the set; [`EMPTY`] before the first choice.
    member: u32,
}

const NEVER: u64 = u64::MAX;
const EMPTY: u32 = u32::MAX;

/// No table yet, and none any more: others were seen before.
const UNSEEN: u32 = u32::MAX;
const LATE: u32 = u32::MAX - 1;

/// What a member of a set carried, and how it came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemberStats {
    /// Charged bytes admitted at its port by way of this set.
    pub bytes: u64,
    /// Packets likewise.
    pub packets: u64,
    /// Choices that ended here, the slot's member so far among them.
    pub assignments: u64,
    /// Slots that came here from another member.
    pub movements_in: u64,
    /// Slots that left for another member.
    pub movements_out: u64,
    /// Choices it was passed over at because its port was held.
    pub paused_skips: u64,
    /// Choices that ended here although its port was held.
    pub paused_selections: u64,
}

/// A packet that has several members to go by.
#[derive(Debug, Clone, Copy)]
pub struct Asking {
    /// The switch, by its place in the network's list.
    pub switch: usize,
    /// The set its destination is reached by.
    pub set: SetId,
    /// Its hash at this switch.
    pub hash: u64,
    /// The time, ps.
    pub now: u64,
}

/// The member a packet takes, for when the packet is admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Port, local to the switch.
    pub port: u32,
    /// Place among all members.
    place: u32,
    /// Slot, or [`EMPTY`] where the hash alone chose.
    slot: u32,
}

impl Choice {
    /// There was nothing to choose.
    pub const NONE: Choice = Choice { port: 0, place: EMPTY, slot: EMPTY };

    /// The only member of its set.
    pub fn of_port(port: u32) -> Choice {
        Choice { port, ..Choice::NONE }
    }

    /// Whether the packet had several members to go by.
    #[inline]
    pub fn is_choice(self) -> bool {
        self.place != EMPTY
    }
}

/// One switch.
#[derive(Debug)]
struct Own {
    settings: FlowletSettings,
    stream: Stream,
    /// Sets that have been seen.
    seen: u32,
    /// What the gap was compared with, where that is kept.
    gap: Interval,
}

/// The flow tables of all switches, and the counts of all members.
#[derive(Debug)]
pub struct Balancer {
    /// By switch; none: the hash alone chooses.
    switches: Vec<Option<Own>>,
    /// By set: its table.
    tables: Vec<u32>,
    slots: Vec<Slot>,
    stats: Vec<MemberStats>,
    /// The members that tie, for one choice.
    tied: Vec<u32>,
}

impl Balancer {
    /// Tables for the switches of a network, empty. By switch: settings and the stream ties are
    /// broken with, if it has flowlets.
    pub fn new(
        routes: &Routes,
        switches: impl Iterator<Item = Option<(FlowletSettings, Stream)>>,
    ) -> Balancer {
        let own = |(settings, stream)| Own { settings, stream, seen: 0, gap: Interval::default() };
        Balancer {
            switches: switches.map(|of| of.map(own)).collect(),
            tables: vec![UNSEEN; routes.set_count()],
            slots: Vec::new(),
            stats: vec![MemberStats::default(); routes.place_count()],
            tied: Vec::new(),
        }
    }

    /// The member of a set, which has several, that a packet takes.
    ///
    /// `load` gives the egress bytes of a port of the switch, `held` whether the packet's class is
    /// paused there; `watched`: what the gap is compared with is kept.
    pub fn choose(
        &mut self,
        routes: &Routes,
        asking: Asking,
        load: impl Fn(u32) -> u64,
        held: impl Fn(u32) -> bool,
        watched: bool,
    ) -> Choice {
        let Asking { switch, set, hash, now } = asking;
        let members = routes.members(set);
        let first = routes.places(set).start;
        let taken = |member: u32, slot| Choice {
            port: members[member as usize],
            place: first as u32 + member,
            slot,
        };
        let hashed = (hash % members.len() as u64) as u32;
        let Some(own) = &mut self.switches[switch] else { return taken(hashed, EMPTY) };
        let table = &mut self.tables[set.0 as usize];
        if *table == UNSEEN {
            *table = LATE;
            if own.seen < TABLES {
                own.seen += 1;
                *table = (self.slots.len() / SLOTS) as u32;
                let empty = Slot { last: NEVER, member: EMPTY };
                self.slots.resize(self.slots.len() + SLOTS, empty);
            }
        }
        if *table == LATE {
            return taken(hashed, EMPTY);
        }
        let at = *table as usize * SLOTS + (hash % SLOTS as u64) as usize;
        let slot = &mut self.slots[at];
        let fresh = slot.last != NEVER && now - slot.last < own.settings.gap;
        if watched && slot.last != NEVER {
            own.gap.compared(now - slot.last + 1, fresh);
        }
        if fresh {
            return taken(slot.member, at as u32);
        }
        let stats = &mut self.stats[first..first + members.len()];
        let aware = own.settings.pfc_aware && !members.iter().all(|&port| held(port));
        let mut least = u64::MAX;
        self.tied.clear();
        for (member, &port) in (0u32..).zip(members) {
            if aware && held(port) {
                stats[member as usize].paused_skips += 1;
                continue;
            }
            let bytes = load(port);
            if bytes < least {
                least = bytes;
                self.tied.clear();
            }
            if bytes == least {
                self.tied.push(member);
            }
        }
        let member = match self.tied.as_slice() {
            tied if tied.contains(&slot.member) => slot.member,
            [only] => *only,
            tied => tied[(own.stream.next_u64() % tied.len() as u64) as usize],
        };
        let chosen = &mut stats[member as usize];
        chosen.assignments += 1;
        chosen.paused_selections += u64::from(held(members[member as usize]));
        if slot.member != EMPTY && slot.member != member {
            chosen.movements_in += 1;
            stats[slot.member as usize].movements_out += 1;
        }
        slot.member = member;
        taken(member, at as u32)
    }

    /// The packet of a choice was admitted at its port at `now`, with these charged bytes.
    #[inline]
    pub fn admitted(&mut self, choice: Choice, bytes: u64, now: u64) {
        let stats = &mut self.stats[choice.place as usize];
        stats.bytes += bytes;
        stats.packets += 1;
        if choice.slot != EMPTY {
            self.slots[choice.slot as usize].last = now;
        }
    }

    /// What a switch compared its gap with, ps.
    pub fn gap(&self, switch: usize) -> Interval {
        self.switches[switch].as_ref().map_or_else(Interval::default, |own| own.gap)
    }

    /// Counts of all members, set by set.
    pub fn stats(&self) -> &[MemberStats] {
        &self.stats
    }

    /// Slots of a set: none where the hash alone chooses, or has so far.
    pub fn slots_of(&self, set: SetId) -> u64 {
        match self.tables[set.0 as usize] {
            UNSEEN | LATE => 0,
            _ => SLOTS as u64,
        }
    }
}

#[cfg(test)]
#[path = "balance_tests.rs"]
mod tests;
