//! Arrivals at hosts that are no events.
//!
//! What a packet does at its host shows only in frames that the host sends from then on, and the
//! first of them is at a switch no earlier than a serialization and a delay later. So packets are
//! taken late: before anything else reaches the host, and when such a frame could arrive at the
//! switch, in their order and at the times they have. A frame of PFC is an event, because it is rare
//! and may take effect later still. Only NICs that take everything at once may be late (`hpcc`);
//! those with pools send pauses of their own.
//!
//! Two things could tell: the end of a job that runs until it has drained, and an answer that ends
//! its flow, from when on the receiver's counts are nobody's. So what the other end of such a flow
//! has received before is taken first, and once the packets on their way to hosts could be the last
//! ones, every arrival is an event again.

use super::super::Network;
use super::nics;
use crate::sim::event::{EventList, Kind, NEVER};
use crate::sim::link::Line;
use crate::sim::meter::Depth;
use crate::sim::packet::{Frame, Framing, Packet};
use crate::sim::switch::buffer::BufferManager;

/// When what a host sends because of an arrival at `at` could be at the switch, if its port is
/// busy until `free`.
pub(super) fn answer_at(at: u64, free: u64, line: &Line, framing: Framing) -> u64 {
    at.max(free) + line.serialize(framing.wire(0)) + line.delay
}

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// A frame is on its way to a host whose arrivals are late.
    #[inline]
    pub(in crate::sim::network) fn send_late(&mut self, host: u32, frame: Frame, at: u64) {
        let framing = self.framing();
        let inbound = &mut self.host_inbound[host as usize];
        let first = inbound.is_empty();
        inbound.push_back((at, frame));
        let nic = &mut nics!(self).hosts[host as usize];
        if matches!(frame, Frame::Pfc(_)) {
            nic.pfc_inbound += 1;
            if nic.pfc_inbound == 1 && at < self.end_time {
                let key = self.ranks.nic_arrival(at, host);
                self.list.set(self.ranks.nic_arrival_slot(host), key);
            }
            return;
        }
        // Counted here: it happens unless the job ends before.
        self.events += 1;
        self.late_frames += 1;
        let port = nic.port as usize;
        if first && self.ports[port].inbound.is_empty() {
            let at = answer_at(at, nic.egress.free_at(), &nic.line, framing);
            let key = self.ranks.arrival(at, port);
            if key < nic.announced && at < self.end_time {
                nic.announced = key;
                self.list.set(self.ranks.arrival_slot(port), key);
            }
        }
        self.look_for_drain();
    }

    /// Whether the packets on their way to hosts may be the last of the job: then they are not
    /// late any more.
    #[inline]
    pub(in crate::sim::network) fn look_for_drain(&mut self) {
        let nics = nics!(self);
        let last = nics.packets.live() == self.late_frames
            // Each of them ends at most one flow.
            && nics.unfinished <= self.late_frames as u64;
        if last && self.late && self.drain && !self.source.pending() {
            self.watch = 0;
        }
    }

    /// Takes what has arrived at a host before the event that is handled.
    #[inline(always)]
    pub(super) fn take_late(&mut self, host: u32) {
        while let Some(&(at, Frame::Data(packet))) = self.host_inbound[host as usize].front()
            && self.ranks.nic_arrival(at, host) < self.key
        {
            self.host_inbound[host as usize].pop_front();
            self.take(host, at, packet);
        }
    }

    /// A packet that arrived at `at`: as if that event were handled.
    fn take(&mut self, host: u32, at: u64, packet: Packet) {
        self.late_frames -= 1;
        let event = (self.now, self.key);
        (self.now, self.key) = (at, self.ranks.nic_arrival(at, host));
        if D::SWITCHES {
            let wire = self.framing().frame(&Frame::Data(packet));
            self.tally.counters_mut(host as usize).receive(wire);
        }
        self.advance_port(host, Kind::HostArrival);
        self.nic_packet(host, packet);
        (self.now, self.key) = event;
    }

    /// An answer arrives at a host that ends its flow: `other` takes what it has received before.
    #[cold]
    pub(super) fn take_before(&mut self, other: u32) {
        self.take_late(other);
        // What is due there is done up to the event that is handled, once that is known again.
        self.caught_up.push(other);
    }

    /// Does what is due at hosts that have taken packets on behalf of others, in an event of
    /// `kind`.
    #[cold]
    pub(super) fn catch_up(&mut self, kind: Kind) {
        while let Some(other) = self.caught_up.pop() {
            self.advance_nic(other, kind);
            self.arm_nic(other);
        }
    }

    /// A frame of PFC arrives at a host; what was sent to it before has arrived.
    #[cold]
    pub(super) fn late_pfc(&mut self, host: u32) {
        let h = host as usize;
        while let Some((at, frame)) = self.host_inbound[h].pop_front() {
            let pfc = match frame {
                Frame::Data(packet) => {
                    self.take(host, at, packet);
                    continue;
                }
                Frame::Pfc(pfc) => pfc,
            };
            nics!(self).hosts[h].pfc_inbound -= 1;
            let mut later = self.host_inbound[h].iter();
            let key = match later.find(|(_, frame)| matches!(frame, Frame::Pfc(_))) {
                Some(&(at, _)) => self.ranks.nic_arrival(at, host),
                None => NEVER,
            };
            self.list.set(self.ranks.nic_arrival_slot(host), key);
            if D::SWITCHES {
                let wire = self.framing().frame(&frame);
                self.tally.counters_mut(h).receive(wire);
            }
            self.advance_nic(host, Kind::HostArrival);
            self.host_pfc(host, pfc);
            self.arm_nic(host);
            return;
        }
    }

    /// From here on every arrival at a host is an event, and counts when it happens.
    #[cold]
    pub(in crate::sim::network) fn end_lateness(&mut self) {
        if !self.late {
            return;
        }
        for host in 0..self.hosts.len() as u32 {
            self.advance_nic(host, Kind::Report);
        }
        self.late = false;
        for host in 0..self.hosts.len() as u32 {
            self.arm_nic(host);
            if let Some(&(at, _)) = self.host_inbound[host as usize].front() {
                let key = self.ranks.nic_arrival(at, host);
                self.list.set(self.ranks.nic_arrival_slot(host), key);
            }
        }
        self.uncount_late();
    }

    /// Takes back arrivals that were counted and have not happened.
    pub(in crate::sim::network) fn uncount_late(&mut self) {
        self.events -= self.late_frames as u64;
        self.late_frames = 0;
    }
}
