//! Switches of the literal simulator: admission, queues, marking, pausing.

use super::route::Router;
use super::{Event, Frame, Kind, Packet, Port, World};
use poolsweep::scenario::links::NetworkPlan;
use poolsweep::scenario::startup::{LimitForm, Startup};
use poolsweep::scenario::{EcnHandler, Role, Switch as Settings};
use poolsweep::sim::observe::DropReason;
use poolsweep::sim::random::{Seeds, Stream};
use rand_core::Rng;
use std::collections::VecDeque;

pub struct Switch {
    pub startup: Startup,
    /// Place of its first port among all ports.
    pub first: usize,
    /// By port, then pool.
    pub occupancy: Vec<[u64; 8]>,
    pub headroom: Vec<[u64; 8]>,
    pub queued: Vec<[u64; 8]>,
    averages: Vec<[f64; 8]>,
    paused: Vec<[bool; 8]>,
    /// Number of the last pause, to forget the refreshes of earlier ones.
    rounds: Vec<[u64; 8]>,
    /// By port, then class.
    pub queues: Vec<[VecDeque<Packet>; 8]>,
    ecn: EcnHandler,
    draws: Stream,
    pub router: Router,
    /// Time a received PFC frame takes to act.
    pub response: u64,
    /// Under the UET policy: the egress limit, and whether packets are trimmed.
    uet: Option<(u64, bool)>,
}

/// Section 8: the fixed limit, and whether there is trimming.
fn uet_limit(settings: &Settings) -> Option<(u64, bool)> {
    let buffer = &settings.shared_buffer_manager;
    let trims = settings.packet_trimmer.trimming_enabled;
    buffer.uet_policy_enabled.then(|| {
        let times = if trims { 1 } else { buffer.queue_drop_threshold };
        (times * buffer.plane_bdp.0, trims)
    })
}

impl Switch {
    pub fn new(
        settings: &Settings,
        seeds: &Seeds,
        plan: &NetworkPlan,
        at: usize,
        first: usize,
    ) -> Switch {
        let own = &plan.switches[at];
        let ports = own.ports.len();
        let startup = Startup::new(settings, ports as u32).expect("start-up");
        Switch {
            startup,
            first,
            occupancy: vec![[0; 8]; ports],
            headroom: vec![[0; 8]; ports],
            queued: vec![[0; 8]; ports],
            averages: vec![[0.0; 8]; ports],
            paused: vec![[false; 8]; ports],
            rounds: vec![[0; 8]; ports],
            queues: (0..ports).map(|_| Default::default()).collect(),
            ecn: settings.ecn_handler.clone(),
            draws: seeds.switch_stream(own.node, "ecn"),
            router: Router::new(settings, seeds, plan, at),
            response: settings.pfc_response_time.0,
            uet: uet_limit(settings),
        }
    }

    fn pool_of(&self, tc: u8) -> usize {
        if self.uet.is_some() {
            return usize::from(tc);
        }
        usize::from(self.startup.class_pool[usize::from(tc)])
    }

    /// Whether a port has paused its sender for the pool of a class.
    pub fn holds(&self, port: usize, tc: u8) -> bool {
        self.paused[port - self.first][self.pool_of(tc)]
    }

    /// Whether a packet of class `tc` is lossless and in the pool of class `other`.
    pub fn waits_with(&self, tc: u8, other: u8) -> bool {
        self.startup.is_lossless(tc) && self.pool_of(tc) == self.pool_of(other)
    }

    pub fn ingress_total(&self, pool: usize) -> u64 {
        self.occupancy.iter().map(|port| port[pool]).sum()
    }

    fn egress_total(&self, pool: usize) -> u64 {
        self.queued.iter().map(|port| port[pool]).sum()
    }

    fn size(&self, pool: usize) -> u64 {
        self.startup.pools[pool].expect("classes with traffic have a pool").size
    }

    /// Ports and pools paused with no lossless packet of theirs inside.
    pub fn stuck_pauses(&self, ports: &[Port]) -> u64 {
        let mut stuck = 0;
        for (local, pools) in self.paused.iter().enumerate() {
            for pool in (0..8).filter(|&pool| pools[pool]) {
                let ours = |packet: &Packet| {
                    packet.from == self.first + local
                        && self.pool_of(packet.tc) == pool
                        && self.startup.is_lossless(packet.tc)
                };
                let sending = (0..self.queues.len()).any(|port| {
                    matches!(&ports[self.first + port].sending, Some(Frame::Data(p)) if ours(p))
                });
                stuck += u64::from(!sending && !self.queues.iter().flatten().flatten().any(ours));
            }
        }
        stuck
    }
}

impl World {
    /// Section 4, steps 2 to 6.
    pub fn admit(&mut self, at: usize, port: usize, mut packet: Packet) {
        self.touched = Some(at);
        packet.from = port;
        let b = packet.charged();
        let local = port - self.switches[at].first;
        let pool = self.switches[at].pool_of(packet.tc);
        let lossless = self.switches[at].startup.is_lossless(packet.tc);
        let paused_before = self.switches[at].paused[local][pool];
        if lossless && paused_before {
            let s = &mut self.switches[at];
            let limit = s.startup.pools[pool].expect("a pool").headroom_per_port;
            if s.headroom[local][pool] + b > limit {
                self.dropped(port, &packet, pool as u8, DropReason::IngressHeadroom);
                return;
            }
            s.headroom[local][pool] += b;
            self.offer(at, packet, pool, false);
            return;
        }
        if lossless && self.switches[at].occupancy[local][pool] + b > self.switches[at].startup.xoff
        {
            self.switches[at].paused[local][pool] = true;
            self.switch_pause(at, port, pool);
        }
        let s = &mut self.switches[at];
        if s.ingress_total(pool) + b > s.size(pool) {
            if lossless {
                self.meters.dropped_without_pause();
            }
            self.dropped(port, &packet, pool as u8, DropReason::IngressPool);
            return;
        }
        s.occupancy[local][pool] += b;
        self.offer(at, packet, pool, true);
    }

    /// Section 5, steps 1 to 4.
    fn offer(&mut self, at: usize, packet: Packet, pool: usize, in_pool: bool) {
        let b = packet.charged();
        let spec = self.flows[packet.flow].spec;
        let s = &mut self.switches[at];
        let loads: Vec<u64> = s.queued.iter().map(|pools| pools.iter().sum()).collect();
        let held: Vec<bool> = (0..loads.len())
            .map(|local| self.ports[s.first + local].held[usize::from(packet.tc)].is_some())
            .collect();
        let out = s.router.port(&spec, self.now, &loads, &held);
        if !s.startup.is_lossless(packet.tc) {
            assert!(in_pool, "headroom is for lossless packets");
            let q = s.queued[out][pool];
            let left = s.size(pool).saturating_sub(s.egress_total(pool));
            let over = match s.startup.limit {
                LimitForm::Alpha(alpha) => (q + b) as f64 > alpha * left as f64,
                LimitForm::EvenSplit | LimitForm::FixedCap => {
                    q + b > s.startup.pools[pool].expect("a pool").static_limit
                }
                LimitForm::Uet { .. } => {
                    let (limit, _) = s.uet.expect("the policy");
                    match packet.role {
                        Role::TrimmableRetransmit => 2 * (q + b) > 3 * limit,
                        _ => q + b > limit,
                    }
                }
            };
            let reason = if over {
                Some(DropReason::EgressQueueLimit)
            } else if s.egress_total(pool) + b > s.size(pool) {
                Some(DropReason::EgressPool)
            } else {
                None
            };
            if let Some(reason) = reason {
                s.occupancy[packet.from - s.first][pool] -= b;
                let trims = s.uet.is_some_and(|(_, trims)| trims);
                match packet.role {
                    Role::Trimmable | Role::TrimmableRetransmit if trims => {
                        self.trim(at, out, packet);
                    }
                    _ => {
                        let leaving = s.first + out;
                        self.dropped(leaving, &packet, pool as u8, reason);
                    }
                }
                return;
            }
        }
        self.enqueue(at, out, packet, pool);
    }

    /// Section 8: the packet is cut and offered to the queue of trimmed packets.
    fn trim(&mut self, at: usize, out: usize, packet: Packet) {
        let s = &mut self.switches[at];
        let cut = Packet {
            ip: if packet.ip > 44 { 44 } else { packet.ip },
            tc: 1,
            role: Role::Trimmed,
            trimmed: true,
            ..packet
        };
        let (b, leaving) = (cut.charged(), s.first + out);
        let (limit, _) = s.uet.expect("the policy");
        if s.ingress_total(1) + b > s.size(1)
            || s.queued[out][1] + b > limit
            || s.egress_total(1) + b > s.size(1)
        {
            self.dropped(leaving, &cut, 1, DropReason::TrimFailed);
            return;
        }
        s.occupancy[packet.from - s.first][1] += b;
        self.meters.trimmed(leaving, packet.charged() - b);
        self.enqueue(at, out, cut, 1);
    }

    fn enqueue(&mut self, at: usize, out: usize, packet: Packet, pool: usize) {
        let b = packet.charged();
        let s = &mut self.switches[at];
        s.queued[out][pool] += b;
        s.router.flowlets.admitted(b, self.now);
        let w = s.ecn.ewma_weight;
        let average = &mut s.averages[out][pool];
        *average = (1.0 - w) * *average + w * s.queued[out][pool] as f64;
        s.queues[out][usize::from(packet.tc)].push_back(packet);
        let leaving = s.first + out;
        self.pick(leaving);
    }

    /// The packet a port sends next, marked as it starts.
    pub fn pick_queued(&mut self, at: usize, port: usize) -> Option<Packet> {
        let s = &mut self.switches[at];
        let local = port - s.first;
        let tc = (0..8)
            .rev()
            .find(|&tc| self.ports[port].held[tc].is_none() && !s.queues[local][tc].is_empty())?;
        let mut packet = s.queues[local][tc].pop_front().expect("not empty");
        if packet.ect && s.ecn.enable_ecn {
            let pool = s.pool_of(packet.tc);
            let band = s.startup.pools[pool].expect("a pool");
            let (lower, upper) = (band.ecn_lower, band.ecn_upper);
            let average = s.averages[local][pool];
            let mark = if average < lower {
                false
            } else if average >= upper {
                true
            } else {
                let chance = s.ecn.max_mark_probability * (average - lower) / (upper - lower);
                let draw = (s.draws.next_u64() >> 11) as f64 * (-53f64).exp2();
                draw < chance
            };
            if mark && !packet.ce {
                packet.ce = true;
                self.meters.marked(port, packet.tc);
            }
        }
        Some(packet)
    }

    /// Section 5, step 6.
    pub fn release(&mut self, at: usize, port: usize, packet: Packet) {
        self.touched = Some(at);
        let b = packet.charged();
        let s = &mut self.switches[at];
        let pool = s.pool_of(packet.tc);
        s.queued[port - s.first][pool] -= b;
        let from = packet.from - s.first;
        if !s.startup.is_lossless(packet.tc) {
            s.occupancy[from][pool] -= b;
            return;
        }
        let of_headroom = b.min(s.headroom[from][pool]);
        s.headroom[from][pool] -= of_headroom;
        s.occupancy[from][pool] -= b - of_headroom;
        if s.paused[from][pool]
            && s.headroom[from][pool] == 0
            && s.occupancy[from][pool] <= s.startup.xon
        {
            s.paused[from][pool] = false;
            let group = s.startup.pools[pool].expect("a pool").priority_group;
            self.send_pfc(packet.from, group, false);
        }
    }

    /// Sends the pause frames of a pool and comes back after half of their time.
    fn switch_pause(&mut self, at: usize, port: usize, pool: usize) {
        let s = &mut self.switches[at];
        let local = port - s.first;
        s.rounds[local][pool] += 1;
        let round = s.rounds[local][pool];
        let group = s.startup.pools[pool].expect("a pool").priority_group;
        self.send_pfc(port, group, true);
        let lowest = group.trailing_zeros() as u8;
        let again = self.now + self.half_time(port, lowest);
        let event = Event::Refresh { port, pool, round };
        self.schedule(again, Kind::Refresh, port, lowest, event);
    }

    pub fn switch_refresh(&mut self, port: usize, pool: usize, round: u64) {
        let at = self.ports[port].switch.expect("a switch");
        let s = &self.switches[at];
        let local = port - s.first;
        if s.paused[local][pool] && s.rounds[local][pool] == round {
            self.switch_pause(at, port, pool);
        }
    }
}
