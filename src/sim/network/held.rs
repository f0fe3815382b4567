//! What the buffers hold at one instant: peaks after a warm-up, pauses nothing will end.

use super::Network;
use crate::sim::event::EventList;
use crate::sim::meter::Depth;
use crate::sim::observe::BuffId;
use crate::sim::packet::Frame;
use crate::sim::switch::buffer::BufferManager;

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// Peaks start at what is held. Gauges know it by themselves.
    pub(super) fn peaks_from_held(&mut self) {
        if D::PORTS {
            return;
        }
        for switch in &self.switches {
            for (local, pool) in (0..switch.ports).flat_map(|p| (0..8).map(move |n| (p, n))) {
                let (occupancy, headroom, queue) = switch.manager.held(local, pool);
                let peaks = &mut self.tally.peaks;
                for (buff, value) in [
                    (BuffId::Ingress, occupancy),
                    (BuffId::Headroom, headroom),
                    (BuffId::Egress, queue),
                ] {
                    peaks[buff as usize] = peaks[buff as usize].max(value);
                }
            }
        }
    }

    /// Port and pool pairs that are paused with no lossless byte of theirs inside.
    pub(super) fn stuck_pauses(&self) -> u64 {
        let mut inside = vec![false; self.ports.len() * 8];
        for p in &self.ports {
            let switch = &self.switches[p.switch as usize];
            let queued = p.queues.iter().flatten().copied();
            let sending = match p.sending {
                Frame::Data(packet) if p.is_sending() && !M::RELEASES_AT_START => Some(packet),
                _ => None,
            };
            for packet in queued.chain(sending) {
                if switch.manager.lossless(packet.tc()) {
                    let from = switch.first_port + packet.in_port();
                    inside[from * 8 + switch.manager.pool_of(packet.tc())] = true;
                }
            }
        }
        let mut stuck = 0;
        for (port, p) in self.ports.iter().enumerate() {
            let manager = &self.switches[p.switch as usize].manager;
            for pool in 0..8 {
                let paused = manager.paused(usize::from(p.local), pool);
                stuck += u64::from(paused && !inside[port * 8 + pool]);
            }
        }
        stuck
    }
}
