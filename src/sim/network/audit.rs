//! Conservation, recomputed from scratch.
//!
//! Owns no state: sums what is inside and compares it with what went in and out and with every
//! counter. Tests call it after every event.

use super::Network;
use super::tally::Tally;
use crate::sim::event::EventList;
use crate::sim::meter::Depth;
use crate::sim::packet::Frame;
use crate::sim::switch::buffer::BufferManager;

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// Checks that IP bytes in = out + dropped + cut by trimming + inside, and that every counter of every buffer
    /// equals what is really there. Costs a walk over everything.
    pub fn audit(&self) -> Result<(), String> {
        let flow = self.flows.live_flows();
        let committed = self.hosts.iter().map(|h| h.committed_bytes()).sum::<u64>()
            + self.nics.as_ref().map_or(0, |nics| nics.committed);
        // IP bytes inside, and those that trimmed packets inside have lost.
        let (mut inside, mut cut_inside) = (0u64, 0u64);
        let stride = 8;
        let mut queued = vec![0u64; self.ports.len() * stride];
        let mut brought = vec![0u64; self.ports.len() * stride];
        for (port, p) in self.ports.iter().enumerate() {
            let switch = &self.switches[p.switch as usize];
            let sending = match p.sending {
                Frame::Data(packet) if p.is_sending() && !self.early => Some(packet),
                _ => None,
            };
            let queues = p.queues.iter().flatten().copied();
            if M::RELEASES_AT_START
                && let Some(packet) = sending
            {
                inside += packet.ip();
                cut_inside += packet.sent_ip() - packet.ip();
            }
            for packet in queues.chain(sending.filter(|_| !M::RELEASES_AT_START)) {
                let pool = switch.manager.pool_of(packet.tc());
                if switch.manager.charges(packet.tc()) {
                    let bytes = self.framing().charged(packet);
                    queued[port * stride + pool] += bytes;
                    let from = switch.first_port + packet.in_port();
                    brought[from * stride + pool] += bytes;
                }
                inside += packet.ip();
                cut_inside += packet.sent_ip() - packet.ip();
            }
        }
        let in_flight = self.ports.iter().map(|p| &p.inbound).chain(&self.host_inbound).flatten();
        for (_, frame) in in_flight {
            if let Frame::Data(packet) = frame {
                inside += packet.ip();
                cut_inside += packet.sent_ip() - packet.ip();
            }
        }
        inside += self.tally.beyond_end;
        cut_inside += self.tally.cut_beyond_end;
        let Tally { arrived_ip: out, dropped_ip: dropped, cut_ip: cut, .. } = self.tally;
        if committed != out + dropped + cut + inside {
            return Err(format!(
                "at {} ps: {committed} B in, {out} B out + {dropped} B dropped + {cut} B cut + \
                 {inside} B inside",
                self.now
            ));
        }
        let live: u64 = flow.map(|(_, f)| f.outstanding - f.remaining).sum();
        if self.nics.is_none() && live != inside + cut_inside {
            return Err(format!(
                "flows miss {live} B, {inside} B are inside and {cut_inside} B cut off them"
            ));
        }
        for switch in &self.switches {
            let mut totals = [(0u64, 0u64); 8];
            for local in 0..switch.ports {
                for (pool, total) in totals.iter_mut().enumerate() {
                    let (occupancy, headroom, queue) = switch.manager.held(local, pool);
                    let at = (switch.first_port + local) * stride + pool;
                    if occupancy + headroom != brought[at] || queue != queued[at] {
                        return Err(format!(
                            "node {} port {local} pool {pool}: occupancy {occupancy} + headroom \
                             {headroom} for {} B inside, queue {queue} for {} B queued",
                            switch.node, brought[at], queued[at]
                        ));
                    }
                    total.0 += occupancy;
                    total.1 += queue;
                }
            }
            for (pool, total) in totals.iter().enumerate() {
                if switch.manager.pool_held(pool) != *total {
                    return Err(format!(
                        "node {} pool {pool}: {:?} for {total:?} over its ports",
                        switch.node,
                        switch.manager.pool_held(pool)
                    ));
                }
            }
        }
        Ok(())
    }
}
