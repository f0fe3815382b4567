//! Pauses that wait for one another in a circle.
//!
//! A held port and class waits for the ingress that holds it to drain. It waits for ever if every
//! lossless packet of that ingress stands in queues that are held themselves and wait for ever, none
//! is on the wire that counts as inside until it has left, and no resume is under way (the ingress
//! may have paused again since). What is left of the held ports when those that may still move are
//! taken away, and those that nobody waits for, is the circle: it is certain, not a guess.
//!
//! Looked for when a pause takes effect at a port that faces a switch, when the last packet of a
//! held ingress that could still move has left, and only in networks whose paths can close a circle
//! at all. Never at report boundaries: what is recorded must not change a result.

use super::{Network, Peer, Port};
use crate::sim::event::EventList;
use crate::sim::meter::Depth;
use crate::sim::observe::{End, HeldPort};
use crate::sim::packet::{Frame, Packet};
use crate::sim::switch::buffer::BufferManager;
use std::collections::{BTreeMap, BTreeSet};

/// A circle that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Circle {
    /// When.
    pub at: u64,
    /// The held ports and classes in it.
    pub ports: Vec<HeldPort>,
}

/// A switch port, by its place among all, and a class held there.
type Held = (usize, u8);

/// Where the lossless packets of an ingress port and pool stand.
#[derive(Debug, Default)]
struct Standing {
    /// Ports and classes in whose queues they wait.
    queues: BTreeSet<Held>,
    /// One is being sent.
    moves: bool,
}

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// A pause took effect at `port`: it may close a circle.
    #[cold]
    pub(super) fn look_for_deadlock(&mut self, port: usize) {
        if !matches!(self.ports[port].peer, Peer::Host(_)) {
            self.look_everywhere();
        }
    }

    /// A packet that came in by `from` has left, and its pool is held for its sender still: it may
    /// have been the last that could move. To be looked at when its port has gone on to the next.
    #[cold]
    pub(super) fn suspect(&mut self, from: usize, pool: usize) {
        let own = &self.ports[from];
        let Peer::Port(peer) = own.peer else { return };
        let manager = &self.switches[own.switch as usize].manager;
        if self.ports[peer as usize].paused != 0 && manager.paused(usize::from(own.local), pool) {
            self.suspected = Some((from, pool));
        }
    }

    /// Looks at what was suspected.
    #[cold]
    pub(super) fn look_at_suspected(&mut self) {
        if let Some((from, pool)) = self.suspected.take()
            && self.deadlock.is_none()
            && !self.can_move(from, pool)
        {
            self.look_everywhere();
        }
    }

    /// Whether a lossless packet that came in by a port to a pool is being sent, or stands in a queue
    /// that is not held. What is in other pools does not count: their packets may go on for ever.
    fn can_move(&self, from: usize, pool: usize) -> bool {
        let switch = &self.switches[self.ports[from].switch as usize];
        let local = usize::from(self.ports[from].local);
        let ours = |packet: &Packet| {
            let tc = packet.tc();
            packet.in_port() == local
                && switch.manager.lossless(tc)
                && switch.manager.pool_of(tc) == pool
        };
        self.ports[switch.first_port..switch.first_port + switch.ports].iter().any(|port| {
            let free = port.queues.iter().enumerate().filter(|(tc, _)| port.paused >> tc & 1 == 0);
            Self::sends(port).is_some_and(|packet| ours(&packet))
                || free.flat_map(|(_, queue)| queue).any(ours)
        })
    }

    /// What a port sends, if it is still charged to the port it came in by.
    fn sends(port: &Port) -> Option<Packet> {
        match port.sending {
            Frame::Data(packet) if port.is_sending() && !M::RELEASES_AT_START => Some(packet),
            _ => None,
        }
    }

    fn look_everywhere(&mut self) {
        let ports = self.circle();
        if ports.is_empty() {
            return;
        }
        self.deadlock = Some(Circle { at: self.now, ports });
        if self.stop_on_deadlock {
            self.end_at((self.now + 1).min(self.end_time), End::Deadlock);
        }
    }

    /// The held ports and classes that wait for one another, in order; empty if none do.
    fn circle(&self) -> Vec<HeldPort> {
        // What each held port and class waits for: the queues in which the packets of the ingress
        // that holds it stand, if they are all in queues.
        let mut waits: BTreeMap<Held, BTreeSet<Held>> = BTreeMap::new();
        let mut known: BTreeMap<usize, BTreeMap<(usize, usize), Standing>> = BTreeMap::new();
        for (port, own) in self.ports.iter().enumerate() {
            let Peer::Port(peer) = own.peer else { continue };
            let peer = peer as usize;
            let s = self.ports[peer].switch as usize;
            for tc in (0..8).filter(|tc| own.paused >> tc & 1 != 0) {
                let manager = &self.switches[s].manager;
                let pool = manager.pool_of(tc);
                let paused = manager.paused(usize::from(self.ports[peer].local), pool);
                if !paused || self.resume_under_way(port, peer, tc) {
                    continue;
                }
                let standing = known.entry(s).or_insert_with(|| self.standing(s));
                if let Some(of) = standing.get(&(peer, pool))
                    && !of.moves
                {
                    waits.insert((port, tc), of.queues.clone());
                }
            }
        }
        loop {
            let before = waits.len();
            let still: BTreeSet<Held> = waits.keys().copied().collect();
            waits.retain(|_, queues| queues.is_subset(&still));
            if waits.len() == before {
                break;
            }
        }
        loop {
            let before = waits.len();
            let waited_for: BTreeSet<Held> = waits.values().flatten().copied().collect();
            waits.retain(|held, _| waited_for.contains(held));
            if waits.len() == before {
                break;
            }
        }
        let named = waits.into_keys().map(|(port, tc)| {
            let own = &self.ports[port];
            let node = self.switches[own.switch as usize].node;
            HeldPort { node, port: u32::from(own.local), tc }
        });
        named.collect()
    }

    /// Whether a resume of a class is to be sent, is sent or on its way to a port, or has arrived
    /// there and not taken effect.
    fn resume_under_way(&self, port: usize, peer: usize, tc: u8) -> bool {
        let resumes = |frame: &Frame| matches!(frame, Frame::Pfc(f) if f.tc == tc && f.quanta == 0);
        let (own, peer) = (&self.ports[port], &self.ports[peer]);
        peer.pfc.iter().any(|&(frame, _)| resumes(&Frame::Pfc(frame)))
            || peer.is_sending() && resumes(&peer.sending)
            || own.inbound.iter().any(|(_, frame)| resumes(frame))
            || self.effects[self.hosts.len() + port].iter().any(|e| resumes(&Frame::Pfc(e.frame)))
    }

    /// Where the lossless packets of a switch stand, by the port they came in by and their pool.
    fn standing(&self, s: usize) -> BTreeMap<(usize, usize), Standing> {
        let switch = &self.switches[s];
        let mut all: BTreeMap<(usize, usize), Standing> = BTreeMap::new();
        for port in switch.first_port..switch.first_port + switch.ports {
            let own = &self.ports[port];
            let ingress =
                |in_port: usize, tc: u8| (switch.first_port + in_port, switch.manager.pool_of(tc));
            if let Some(packet) = Self::sends(own)
                && switch.manager.lossless(packet.tc())
            {
                all.entry(ingress(packet.in_port(), packet.tc())).or_default().moves = true;
            }
            for packet in own.queues.iter().flatten() {
                let tc = packet.tc();
                if switch.manager.lossless(tc) {
                    all.entry(ingress(packet.in_port(), tc)).or_default().queues.insert((port, tc));
                }
            }
        }
        all
    }
}
