//! The per-packet path: arrival, admission, scheduling, departure.

use super::{Network, Peer};
use crate::sim::event::{EventList, NEVER};
use crate::sim::host::sender::Upcoming;
use crate::sim::meter::{Depth, Extremes, port_gauge};
use crate::sim::nic::hpcc::law::Hop;
use crate::sim::observe::{BuffId, DropReason, End};
use crate::sim::packet::{Frame, Packet};
use crate::sim::switch::buffer::{BufferManager, Departed, Enqueued, Place};
use crate::sim::switch::route::Choice;

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// A frame arrives at a switch port.
    #[inline]
    pub(super) fn arrival(&mut self, port: usize) {
        let at = &mut self.ports[port];
        let frame = if let Some((_, frame)) = at.inbound.pop_front() {
            self.arm_inbound(port);
            frame
        } else {
            let Peer::Host(host) = at.peer else {
                unreachable!("a switch's frames are in flight before they arrive")
            };
            if self.nics.is_some() {
                self.uplink(host, port);
                return;
            }
            // The frame its host announced is the one that arrives.
            let delay = at.line.delay;
            let sender = &mut self.hosts[host as usize];
            let sent = sender.send_and_announce(&mut self.flows).or_else(|| {
                let packet = sender.send_last(&mut self.flows, &mut self.source)?;
                Some((packet, sender.announce_simply(&mut self.flows, &mut self.source)))
            });
            match sent {
                Some((packet, Some(end))) => {
                    let key = self.ranks.arrival(end + delay, port);
                    self.list.set(self.ranks.arrival_slot(port), key);
                    Frame::Data(packet)
                }
                Some((packet, None)) => {
                    self.announce(host, port);
                    Frame::Data(packet)
                }
                None => {
                    let frame = sender.send_announced(&mut self.flows, &mut self.source);
                    self.announce(host, port);
                    frame
                }
            }
        };
        self.arrived(port, frame);
    }

    /// The instant has come at which the next frame of a NIC that reacts could arrive.
    fn uplink(&mut self, host: u32, port: usize) {
        if self.uplink_arrives(host, port)
            && let Some((_, frame)) = self.ports[port].inbound.pop_front()
        {
            self.arm_inbound(port);
            self.arrived(port, frame);
        } else {
            // Nothing happened.
            self.events -= 1;
        }
    }

    #[inline(always)]
    fn arrived(&mut self, port: usize, frame: Frame) {
        if D::SWITCHES {
            let wire = self.framing().frame(&frame);
            self.tally.counters_mut(self.hosts.len() + port).receive(wire);
        }
        match frame {
            Frame::Data(packet) => self.data_arrival(port, packet),
            Frame::Pfc(pfc) => self.pfc_arrival(port, pfc),
        }
    }

    /// Computes what a host with nothing in flight sends next, and arms its arrival.
    pub(super) fn announce(&mut self, host: u32, port: usize) {
        let sender = &mut self.hosts[host as usize];
        let slot = self.ranks.arrival_slot(port);
        let key = match sender.announce(self.now, &mut self.flows, &mut self.source) {
            Upcoming::Frame(next) => {
                let at = next.end + sender.line().delay;
                // A rate cap may fall due long after the end, where no key reaches.
                if at < self.end_time { self.ranks.arrival(at, port) } else { NEVER }
            }
            Upcoming::Wake(at) => {
                self.schedule_wake(host, at);
                NEVER
            }
            Upcoming::Nothing => NEVER,
        };
        self.list.set(slot, key);
    }

    /// Arms the next arrival of a port from what is in flight to it, or from its host.
    #[inline]
    pub(super) fn arm_inbound(&mut self, port: usize) {
        let at = &self.ports[port];
        if let Some(&(time, _)) = at.inbound.front() {
            self.list.set(self.ranks.arrival_slot(port), self.ranks.arrival(time, port));
        } else {
            match at.peer {
                Peer::Host(host) if self.nics.is_none() => self.announce(host, port),
                Peer::Host(host) => self.next_uplink(host),
                Peer::Port(_) => self.list.set(self.ranks.arrival_slot(port), NEVER),
            }
        }
    }

    #[inline(always)]
    fn data_arrival(&mut self, port: usize, mut packet: Packet) {
        let at = &self.ports[port];
        let (s, local) = (at.switch as usize, at.local);
        packet = packet.arrived_by(local);
        let (local, bytes) = (usize::from(local), self.framing().charged(packet));
        self.tally.hops += 1;
        let switch = &mut self.switches[s];
        if M::CLOCK {
            switch.manager.set_now(self.now);
            switch.manager.set_unscheduled(packet.is_unscheduled());
        }
        let arrival = switch.manager.arrive(local, packet.tc(), bytes);
        if arrival.pause {
            self.send_pause(port, packet.tc());
        }
        let place = match arrival.admitted {
            Ok(place) => place,
            Err(reason) => {
                let manager = &self.switches[s].manager;
                // A port that had paused charges headroom: a full pool means it had not.
                let unpaused = manager.lossless(packet.tc())
                    && match M::RELEASES_AT_START {
                        true => !manager.paused(local, manager.pool_of(packet.tc())),
                        false => reason == DropReason::IngressPool,
                    };
                self.drop_packet(port, packet, reason, unpaused);
                return;
            }
        };
        let mut choice = Choice::NONE;
        let out_local = match self.routes.single(s, packet.dst()) {
            Some(only) => only,
            None => {
                let (id, hashes) = match &self.nics {
                    Some(nics) => nics.identity(packet),
                    None => {
                        let details = self.flows.details(packet.flow());
                        (details.spec.id, details.hashes)
                    }
                };
                if self.balancer.is_some() {
                    choice = self.balance(s, packet, id, hashes);
                    choice.port as usize
                } else {
                    self.routes.port(s, packet.dst(), id, hashes)
                }
            }
        };
        let switch = &mut self.switches[s];
        let out = switch.first_port + out_local;
        let retransmit = packet.is_retransmit();
        match switch.manager.enqueue(local, out_local, packet.tc(), bytes, place, retransmit) {
            Ok(enqueued) => {
                let pool = switch.manager.pool_of(packet.tc());
                if enqueued.pause {
                    self.send_pause(port, packet.tc());
                }
                if choice.is_choice() {
                    self.balanced(choice, bytes);
                }
                self.queue_packet(port, out, pool, packet, enqueued);
            }
            Err(reason) => self.refused(port, out, packet, reason, choice),
        }
    }

    /// A packet that came in by `port` has been admitted at `out`.
    #[inline(always)]
    fn queue_packet(
        &mut self,
        port: usize,
        out: usize,
        pool: usize,
        packet: Packet,
        enqueued: Enqueued,
    ) {
        let bytes = self.framing().charged(packet);
        let to = &mut self.ports[out];
        if !M::OWN_MARKS && self.marking {
            let switch = &self.switches[to.switch as usize];
            switch.marker.admit(&mut self.averages[out][pool & 7], enqueued.queue);
        }
        to.queues[usize::from(packet.tc() & 7)].push_back(packet);
        to.ready |= 1 << (packet.tc() & 7);
        let (idle, switch) = (to.free <= self.key, to.switch as usize);
        if !M::OWN_FRAMES || self.switches[switch].manager.charges(packet.tc()) {
            self.measure_admission(port, out, pool, bytes, enqueued);
        }
        if idle {
            self.start_next(out);
        } else if M::RELEASES_AT_START {
            self.arm_end(out);
        }
    }

    /// Something waits for the end of a port's frame: that is an event now, if it was not.
    #[inline]
    pub(super) fn arm_end(&mut self, port: usize) {
        let p = &mut self.ports[port];
        if p.free != NEVER {
            self.list.set(self.ranks.tx_slot(port), p.free);
            p.free = NEVER;
            // It was counted when the frame started.
            self.events -= 1;
        }
    }

    /// A packet that came in by `port` was refused at `out`: it is trimmed or dropped.
    #[cold]
    fn refused(
        &mut self,
        port: usize,
        out: usize,
        packet: Packet,
        reason: DropReason,
        choice: Choice,
    ) {
        let framing = self.framing();
        let (to, local) = (&self.ports[out], usize::from(self.ports[port].local));
        let (out_local, last_hop) = (usize::from(to.local), matches!(to.peer, Peer::Host(_)));
        let manager = &mut self.switches[to.switch as usize].manager;
        if M::WATCHES && packet.is_trimmable() {
            manager.refused_trimmable();
        }
        if !(manager.trims() && packet.is_trimmable()) {
            self.drop_packet(out, packet, reason, false);
            return;
        }
        let cut = packet.trim(last_hop);
        let pool = manager.pool_of(cut.tc());
        match manager.trim(local, out_local, framing.charged(cut)) {
            Ok(enqueued) => {
                let place = self.hosts.len() + out;
                let less = framing.charged(packet) - framing.charged(cut);
                self.tally.trim(place, less, packet.ip() - cut.ip());
                if choice.is_choice() {
                    self.balanced(choice, framing.charged(cut));
                }
                self.queue_packet(port, out, pool, cut, enqueued);
            }
            Err(reason) => self.drop_packet(out, cut, reason, false),
        }
    }

    /// A frame has been serialized.
    #[inline]
    pub(super) fn tx_end(&mut self, port: usize) {
        let sent = &self.ports[port];
        let (frame, s) = (sent.sending, sent.switch as usize);
        if let Frame::Data(packet) = frame {
            if !M::RELEASES_AT_START {
                let local = usize::from(sent.local);
                self.release(s, port, local, packet);
            }
        } else {
            self.count_pfc_sent(port);
        }
        if D::SWITCHES {
            let wire = self.framing().frame(&frame);
            self.tally.counters_mut(self.hosts.len() + port).send(wire);
        }
        if !M::RELEASES_AT_START || !self.early {
            self.put_on_link(port, frame, self.now);
        }
        self.start_next_inline(port, true);
        if self.suspected.is_some() {
            self.look_at_suspected();
        }
    }

    /// A frame whose serialization ends at `end` is on its way to the other end of a port's link.
    #[inline(always)]
    fn put_on_link(&mut self, port: usize, frame: Frame, end: u64) {
        let sent = &self.ports[port];
        let at = end + sent.line.delay;
        match sent.peer {
            Peer::Host(host) => self.send_to_host(host, frame, at),
            Peer::Port(next) => {
                let next = next as usize;
                let inbound = &mut self.ports[next].inbound;
                inbound.push_back((at, frame));
                if inbound.len() == 1 {
                    self.list.set(self.ranks.arrival_slot(next), self.ranks.arrival(at, next));
                }
            }
        }
    }

    /// Gives back what a packet that leaves by `port` was charged.
    #[inline(always)]
    fn release(&mut self, s: usize, port: usize, local: usize, packet: Packet) {
        let in_port = packet.in_port();
        let bytes = self.framing().charged(packet);
        let switch = &mut self.switches[s];
        if M::CLOCK {
            switch.manager.set_now(self.now);
        }
        let departed = switch.manager.depart(in_port, local, packet.tc(), bytes);
        let pool = switch.manager.pool_of(packet.tc());
        let from = switch.first_port + in_port;
        if !M::OWN_FRAMES || switch.manager.charges(packet.tc()) {
            self.measure_departure(from, port, pool, bytes, departed);
        }
        if departed.resume {
            self.send_resume(from, pool);
        } else if self.circles {
            self.suspect(from, pool);
        }
    }

    /// A port that is free picks its next frame: PFC first, then the highest class that is not
    /// held, or whose turn it is.
    pub(super) fn start_next(&mut self, port: usize) {
        self.start_next_inline(port, false);
        if self.suspected.is_some() {
            self.look_at_suspected();
        }
    }

    /// `ended`: in the event that is the end of the port's frame, whose key is in the port's slot.
    #[inline(always)]
    fn start_next_inline(&mut self, port: usize, ended: bool) {
        let p = &mut self.ports[port];
        let slot = self.ranks.tx_slot(port);
        let frame = if p.pfc_waits && !(M::ROUND_ROBIN && p.pfc[0].1 > 0) {
            let (frame, _) = p.pfc.pop_front().expect("a PFC frame waits");
            p.pfc_waits = !p.pfc.is_empty();
            Frame::Pfc(frame)
        } else {
            let sendable = match M::ROUND_ROBIN {
                true => p.ready & !(p.paused & !1),
                false => p.ready & !p.paused,
            };
            if sendable == 0 {
                p.free = 0;
                if ended {
                    self.list.set(slot, NEVER);
                }
                return;
            }
            let tc = match M::ROUND_ROBIN {
                true => p.take_turn(sendable),
                false => 7 - (sendable.leading_zeros() as usize & 7),
            };
            let queue = &mut p.queues[tc];
            let mut packet = queue.pop_front().expect("a ready class has a packet");
            if queue.is_empty() {
                p.ready &= !(1 << tc);
            }
            if M::RELEASES_AT_START {
                // Busy, so that a resume of this port's own would wait.
                p.free = NEVER;
                let (s, local) = (p.switch as usize, usize::from(p.local));
                self.release(s, port, local, packet);
                if M::OWN_FRAMES && self.telemetry {
                    self.stamp(port, packet);
                }
            }
            if M::OWN_MARKS {
                self.mark_by_queue(port, &mut packet);
            } else if packet.ect() {
                let p = &self.ports[port];
                let switch = &mut self.switches[p.switch as usize];
                let pool = switch.manager.pool_of(packet.tc());
                if M::WATCHES {
                    switch.marker.see(self.averages[port][pool & 7], pool);
                }
                if switch.marker.marks(self.averages[port][pool & 7], pool) && !packet.ce() {
                    packet.mark();
                    self.tally.marks += 1;
                    self.pauses.mark(self.hosts.len() + port, packet.tc());
                }
            }
            Frame::Data(packet)
        };
        let wire = self.framing().frame(&frame);
        if M::OWN_FRAMES && self.telemetry {
            self.started[port] += wire;
        }
        let p = &mut self.ports[port];
        p.sending = frame;
        let end = self.now + p.line.serialize(wire);
        let key = self.ranks.tx_end(end, port);
        if M::RELEASES_AT_START && self.early {
            let nothing_waits = p.ready == 0 && !p.pfc_waits && matches!(frame, Frame::Data(_));
            let quiet = !D::SWITCHES && nothing_waits && self.quiet_ends;
            p.free = if quiet { key } else { NEVER };
            self.put_on_link(port, frame, end);
            if quiet {
                self.events += 1;
                if ended {
                    self.list.set(slot, NEVER);
                }
                return;
            }
        } else {
            p.free = NEVER;
        }
        self.list.set(slot, key);
    }

    /// Writes what a port is like into a packet that it starts.
    fn stamp(&mut self, port: usize, packet: Packet) {
        let p = &self.ports[port];
        let manager = &self.switches[p.switch as usize].manager;
        let hop = Hop {
            queue: (0..8).map(|pool| manager.held(usize::from(p.local), pool).2).sum(),
            sent: self.started[port],
            time: self.now,
            rate: p.line.rate,
        };
        if let Some(nics) = &mut self.nics {
            nics.stamp(packet, hop);
        }
    }

    /// Marks a packet that starts by what is left in its queue.
    #[inline(always)]
    fn mark_by_queue(&mut self, port: usize, packet: &mut Packet) {
        if !packet.ect() {
            return;
        }
        let p = &self.ports[port];
        let switch = &mut self.switches[p.switch as usize];
        let probability = switch.manager.mark_probability(usize::from(p.local), packet.tc());
        if switch.marker.draws(probability) && !packet.ce() {
            packet.mark();
            self.tally.marks += 1;
            self.pauses.mark(self.hosts.len() + port, packet.tc());
        }
    }

    #[inline(always)]
    fn measure_admission(
        &mut self,
        port: usize,
        out: usize,
        pool: usize,
        bytes: u64,
        enqueued: Enqueued,
    ) {
        let buff = match enqueued.place {
            Place::Pool => BuffId::Ingress,
            Place::Headroom => BuffId::Headroom,
        };
        if D::PORTS {
            let (stride, now) = ((self.stride, M::COUNTERS), self.now);
            let gauge = port_gauge(port, pool, stride, buff);
            if M::COUNTERS > 3 && enqueued.place == Place::Pool {
                let reserve = self.reserve_of(port);
                self.gauges.rise_in_parts(gauge, enqueued.ingress, now, reserve);
            } else {
                self.gauges.rise(gauge, enqueued.ingress, now);
            }
            self.gauges.rise(port_gauge(out, pool, stride, BuffId::Egress), enqueued.queue, now);
        } else {
            let peaks = &mut self.tally.peaks;
            peaks[buff as usize] = peaks[buff as usize].max(enqueued.ingress);
            peaks[BuffId::Egress as usize] = peaks[BuffId::Egress as usize].max(enqueued.queue);
        }
        if D::SWITCHES {
            let from_pool = if enqueued.place == Place::Pool { bytes } else { 0 };
            self.measure_switch(port, out, pool, from_pool, bytes, Extremes::rise);
        }
    }

    /// Bytes a port may hold of a pool that count as its own, where that is recorded.
    #[inline]
    pub(super) fn reserve_of(&self, port: usize) -> u64 {
        self.switches[self.ports[port].switch as usize].manager.reserve()
    }

    #[inline(always)]
    fn measure_departure(
        &mut self,
        from: usize,
        out: usize,
        pool: usize,
        bytes: u64,
        departed: Departed,
    ) {
        if D::PORTS {
            let (stride, now) = ((self.stride, M::COUNTERS), self.now);
            self.gauges.fall(port_gauge(out, pool, stride, BuffId::Egress), departed.queue, now);
            if departed.from_pool != 0 {
                let gauge = port_gauge(from, pool, stride, BuffId::Ingress);
                if M::COUNTERS > 3 {
                    let reserve = self.reserve_of(from);
                    self.gauges.fall_in_parts(gauge, departed.ingress, now, reserve);
                } else {
                    self.gauges.fall(gauge, departed.ingress, now);
                }
            }
            if departed.from_headroom != 0 {
                let gauge = port_gauge(from, pool, stride, BuffId::Headroom);
                self.gauges.fall(gauge, departed.headroom, now);
            }
        }
        if D::SWITCHES {
            self.measure_switch(from, out, pool, departed.from_pool, bytes, Extremes::fall);
        }
    }

    /// A packet is dropped at a port; `unpaused`: lossless, on arrival, at a port that had not
    /// paused the pool before.
    #[cold]
    pub(super) fn drop_packet(
        &mut self,
        port: usize,
        packet: Packet,
        reason: DropReason,
        unpaused: bool,
    ) {
        let (place, bytes) = (self.hosts.len() + port, self.framing().charged(packet));
        self.tally.drop(self.now, place, packet.tc(), reason, bytes, unpaused);
        // What could not be queued trimmed is dropped as it came.
        let ip = match reason {
            DropReason::TrimFailed => packet.sent_ip(),
            _ => packet.ip(),
        };
        self.tally.dropped_ip += ip;
        if self.nics.is_some() {
            self.lose_packet(packet);
        } else {
            self.flows.lose(packet.flow(), packet.sent_ip());
            self.done(self.now);
        }
    }

    /// A packet was delivered, served or dropped at `at`: the job may have drained.
    #[inline]
    pub(super) fn done(&mut self, at: u64) {
        self.last_done = self.last_done.max(at);
        let finished = self.flows.unfinished() == 0 && self.in_service == 0;
        if self.drain && finished && !self.source.pending() {
            self.end_at((self.last_done + 1).min(self.end_time), End::Drained);
        }
    }
}
