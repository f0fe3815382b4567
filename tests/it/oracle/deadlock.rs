//! Pauses that wait for one another in a circle.

use super::{Event, Frame, Packet, World};
use poolsweep::sim::observe::HeldPort;
use std::collections::{BTreeMap, BTreeSet};

impl World {
    /// A pause took effect at a port.
    pub fn look_for_deadlock(&mut self, port: usize) {
        let faces_switch = self.ports[self.ports[port].peer].switch.is_some();
        if self.ports[port].switch.is_some() && faces_switch {
            self.look_for_circle();
        }
    }

    /// After a pause took effect, and after a switch has sent a packet.
    pub fn look_for_circle(&mut self) {
        if self.deadlock.is_some() {
            return;
        }
        // Every held port and class between switches, and the queues it cannot do without.
        let mut waits: BTreeMap<(usize, usize), BTreeSet<(usize, usize)>> = BTreeMap::new();
        for (at, own) in self.ports.iter().enumerate() {
            for tc in 0..8 {
                if own.switch.is_some()
                    && own.held[tc].is_some()
                    && !self.resume_under_way(at, tc as u8)
                {
                    waits.extend(self.waits_for(own.peer, tc as u8).map(|on| ((at, tc), on)));
                }
            }
        }
        // Whoever waits for something that may move, may move.
        while let Some(moves) = waits
            .iter()
            .find(|(_, on)| on.iter().any(|queue| !waits.contains_key(queue)))
            .map(|(held, _)| *held)
        {
            waits.remove(&moves);
        }
        // Whom nobody waits for is not part of a circle.
        while let Some(idle) =
            waits.keys().find(|held| !waits.values().any(|on| on.contains(held))).copied()
        {
            waits.remove(&idle);
        }
        if waits.is_empty() {
            return;
        }
        let named = waits.keys().map(|&(at, tc)| HeldPort {
            node: self.ports[at].node,
            port: self.ports[at].number,
            tc: tc as u8,
        });
        self.deadlock = Some((self.now, named.collect()));
        if self.stop_on_deadlock {
            self.end = self.end.min(self.now + 1);
        }
    }

    /// A resume is somewhere between the port that sends it and its effect at `held`.
    fn resume_under_way(&self, held: usize, tc: u8) -> bool {
        let sender = &self.ports[self.ports[held].peer];
        let is_one = |frame: &Frame| matches!(*frame, Frame::Pfc { tc: c, quanta: 0 } if c == tc);
        sender.pfc.contains(&(tc, 0))
            || sender.sending.as_ref().is_some_and(is_one)
            || self.events.values().any(|event| match event {
                Event::Arrival(port, frame) => *port == held && is_one(frame),
                Event::Effect(port, class, None) => (*port, *class) == (held, tc),
                _ => false,
            })
    }

    /// The queues in which the packets of an ingress that holds a class stand; `None` if it holds
    /// nothing, or one of them is being sent.
    fn waits_for(&self, ingress: usize, tc: u8) -> Option<BTreeSet<(usize, usize)>> {
        let switch = &self.switches[self.ports[ingress].switch?];
        if !switch.holds(ingress, tc) {
            return None;
        }
        let ours = |packet: &Packet| packet.from == ingress && switch.waits_with(packet.tc, tc);
        let mut queues = BTreeSet::new();
        for (local, classes) in switch.queues.iter().enumerate() {
            let leaving = switch.first + local;
            if let Some(Frame::Data(packet)) = &self.ports[leaving].sending
                && ours(packet)
            {
                return None;
            }
            for (class, queue) in classes.iter().enumerate() {
                if queue.iter().any(ours) {
                    queues.insert((leaving, class));
                }
            }
        }
        (!queues.is_empty()).then_some(queues)
    }
}
