//! Flowlets as section 9 reads, and what members of equal-cost sets carry.

use poolsweep::scenario::{LoadBalancingMethod, Switch as Settings};
use poolsweep::sim::observe::LoadBalancingRow;
use poolsweep::sim::random::Stream;
use poolsweep::sim::switch::route::MemberStats;
use rand_core::Rng;
use std::collections::BTreeMap;

struct Slot {
    member: usize,
    admitted: Option<u64>,
}

/// What was chosen for the packet in hand.
struct Chosen {
    set: usize,
    port: usize,
    slot: Option<u64>,
}

pub struct Flowlets {
    /// Gap and awareness, with `LoadBalancingMethod: flowlet`.
    settings: Option<(u64, bool)>,
    draws: Stream,
    /// Sets of several members, in the order of their numbers.
    sets: Vec<Vec<usize>>,
    /// Those that have been seen.
    seen: Vec<usize>,
    /// By set and slot.
    slots: BTreeMap<(usize, u64), Slot>,
    /// By set and port.
    stats: BTreeMap<(usize, usize), MemberStats>,
    before: BTreeMap<(usize, usize), MemberStats>,
    chosen: Option<Chosen>,
}

impl Flowlets {
    pub fn new(settings: &Settings, draws: Stream, sets: Vec<Vec<usize>>) -> Flowlets {
        let own = &settings.load_balancing_flowlet;
        let on = settings.load_balancing_method == LoadBalancingMethod::Flowlet;
        let every = sets.iter().enumerate();
        let stats: BTreeMap<(usize, usize), MemberStats> = every
            .flat_map(|(set, ports)| ports.iter().map(move |&port| ((set, port), set)))
            .map(|(key, _)| (key, MemberStats::default()))
            .collect();
        Flowlets {
            settings: on.then_some((own.gap.0, own.pfc_aware)),
            draws,
            sets,
            seen: Vec::new(),
            slots: BTreeMap::new(),
            before: stats.clone(),
            stats,
            chosen: None,
        }
    }

    pub fn nothing_to_choose(&mut self) {
        self.chosen = None;
    }

    pub fn choose(
        &mut self,
        members: &[usize],
        hash: u64,
        now: u64,
        loads: &[u64],
        held: &[bool],
    ) -> usize {
        let set = self.sets.iter().position(|set| set == members).expect("a known set");
        if self.settings.is_some() && !self.seen.contains(&set) {
            self.seen.push(set);
        }
        let early = self.seen.iter().position(|&seen| seen == set).is_some_and(|at| at < 128);
        let Some((gap, aware)) = self.settings.filter(|_| early) else {
            let port = members[hash as usize % members.len()];
            self.chosen = Some(Chosen { set, port, slot: None });
            return port;
        };
        let slot = hash % 512;
        self.chosen = Some(Chosen { set, port: 0, slot: Some(slot) });
        let old = self.slots.get(&(set, slot));
        let present = old.map(|slot| slot.member);
        if let Some(Slot { member, admitted: Some(last) }) = old
            && now - last < gap
        {
            let port = *member;
            self.chosen.as_mut().expect("just made").port = port;
            return port;
        }
        let free: Vec<usize> = members.iter().copied().filter(|&port| !held[port]).collect();
        let candidates = if aware && !free.is_empty() { free } else { members.to_vec() };
        for port in members.iter().filter(|port| !candidates.contains(port)) {
            self.stats.get_mut(&(set, *port)).expect("a member").paused_skips += 1;
        }
        let least = candidates.iter().map(|&port| loads[port]).min().expect("a candidate");
        let equal: Vec<usize> =
            candidates.into_iter().filter(|&port| loads[port] == least).collect();
        let port = match present {
            Some(present) if equal.contains(&present) => present,
            _ if equal.len() == 1 => equal[0],
            _ => equal[(self.draws.next_u64() % equal.len() as u64) as usize],
        };
        let mut count = |port: usize, add: fn(&mut MemberStats)| {
            add(self.stats.get_mut(&(set, port)).expect("a member"));
        };
        count(port, |s| s.assignments += 1);
        if held[port] {
            count(port, |s| s.paused_selections += 1);
        }
        if let Some(present) = present.filter(|&present| present != port) {
            count(port, |s| s.movements_in += 1);
            count(present, |s| s.movements_out += 1);
        }
        let admitted = self.slots.get(&(set, slot)).and_then(|slot| slot.admitted);
        self.slots.insert((set, slot), Slot { member: port, admitted });
        self.chosen.as_mut().expect("just made").port = port;
        port
    }

    /// The packet in hand was admitted at egress.
    pub fn admitted(&mut self, bytes: u64, now: u64) {
        let Some(Chosen { set, port, slot }) = self.chosen.take() else { return };
        let stats = self.stats.get_mut(&(set, port)).expect("a member");
        stats.packets += 1;
        stats.bytes += bytes;
        if let Some(slot) = slot {
            self.slots.get_mut(&(set, slot)).expect("chosen").admitted = Some(now);
        }
    }

    /// The rows of an interval that ends now.
    pub fn report(&mut self, now: u64, node: u32, zeros: bool) -> Vec<LoadBalancingRow> {
        let mut rows = Vec::new();
        for (set, ports) in self.sets.iter().enumerate() {
            let of = |all: &BTreeMap<(usize, usize), MemberStats>, port| all[&(set, port)];
            if !zeros && ports.iter().all(|&p| of(&self.stats, p) == of(&self.before, p)) {
                continue;
            }
            let sum = |all| ports.iter().map(|&port| of(all, port).bytes).sum::<u64>();
            let names: Vec<String> = ports.iter().map(usize::to_string).collect();
            let has_slots = self.seen.iter().take(128).any(|&seen| seen == set);
            for &port in ports {
                rows.push(LoadBalancingRow {
                    sim_time: now,
                    node,
                    group: set as u32,
                    group_ports: names.join(",").into(),
                    group_size: ports.len() as u32,
                    slots: if has_slots { 512 } else { 0 },
                    port: port as u32,
                    stats: of(&self.stats, port),
                    before: of(&self.before, port),
                    group_bytes: sum(&self.stats) - sum(&self.before),
                });
            }
        }
        self.before = self.stats.clone();
        rows
    }
}
