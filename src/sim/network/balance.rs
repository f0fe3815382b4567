//! Packets that have a choice of ports, where flowlets choose or members are counted.

use super::Network;
use crate::sim::event::EventList;
use crate::sim::meter::Depth;
use crate::sim::observe::LoadBalancingRow;
use crate::sim::packet::Packet;
use crate::sim::switch::buffer::BufferManager;
use crate::sim::switch::route::{Asking, Choice, FlowHashes, MemberStats, SetId};
use std::sync::Arc;

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// The member a packet takes at switch `s`; [`Choice::NONE`] but for the port if there is one.
    #[inline(never)]
    pub(super) fn balance(
        &mut self,
        s: usize,
        packet: Packet,
        id: u64,
        hashes: FlowHashes,
    ) -> Choice {
        let (dst, tc) = (packet.dst(), packet.tc());
        let routes = self.routes.routes();
        let set = routes.set(s, dst);
        let members = routes.members(set);
        let (Some(balancer), false) = (&mut self.balancer, members.len() == 1) else {
            return Choice::of_port(members[0]);
        };
        let hash = self.routes.hash(s, dst, id, hashes, members.len());
        let switch = &self.switches[s];
        let ports = &self.ports[switch.first_port..switch.first_port + switch.ports];
        let load = |port: u32| switch.manager.queued(port as usize);
        let held = |port: u32| ports[port as usize].paused >> (tc & 7) & 1 != 0;
        let asking = Asking { switch: s, set, hash, now: self.now };
        balancer.choose(routes, asking, load, held, M::WATCHES)
    }

    /// The packet of a choice was admitted with these charged bytes.
    #[inline(never)]
    pub(super) fn balanced(&mut self, choice: Choice, bytes: u64) {
        if let Some(balancer) = &mut self.balancer {
            balancer.admitted(choice, bytes, self.now);
        }
    }

    /// The rows of an interval that ends now: all members of every set that was used in it.
    pub(super) fn close_balance(&mut self, length: u64, zeros: bool) {
        if !self.plan.load_balancing || length == 0 {
            return;
        }
        let Some(balancer) = self.balancer.take() else { return };
        let routes = self.routes.routes();
        let stats = balancer.stats();
        self.members_before.resize(stats.len(), MemberStats::default());
        for (s, switch) in self.switches.iter().enumerate() {
            let sets = routes.sets_of(s).map(SetId);
            let several = sets.filter(|&set| routes.members(set).len() > 1);
            for (group, set) in (0..).zip(several) {
                let places = routes.places(set);
                let now = &stats[places.clone()];
                let before = &self.members_before[places];
                if now == before && !zeros {
                    continue;
                }
                let members = routes.members(set);
                let names: Vec<String> = members.iter().map(u32::to_string).collect();
                let group_ports: Arc<str> = names.join(",").into();
                let moved = |(now, before): (&MemberStats, &MemberStats)| now.bytes - before.bytes;
                let group_bytes = now.iter().zip(before).map(moved).sum();
                for ((&port, &stats), &before) in members.iter().zip(now).zip(before) {
                    self.rows.load_balancing.push(LoadBalancingRow {
                        sim_time: self.now,
                        node: switch.node,
                        group,
                        group_ports: Arc::clone(&group_ports),
                        group_size: members.len() as u32,
                        slots: balancer.slots_of(set),
                        port,
                        stats,
                        before,
                        group_bytes,
                    });
                }
            }
        }
        self.members_before.copy_from_slice(stats);
        self.balancer = Some(balancer);
    }
}
