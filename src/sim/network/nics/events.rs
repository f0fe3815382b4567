//! Events of hosts whose NIC reacts, and the frames they start.

use super::super::{Network, order};
use super::rows::flow_row;
use super::{Nics, Open, nics};
use crate::scenario::NicModel;
use crate::sim::event::{EventList, Kind, NEVER};
use crate::sim::host::receiver::Signal;
use crate::sim::meter::Depth;
use crate::sim::nic::egress::Urgent;
use crate::sim::nic::ingress::Arrived;
use crate::sim::nic::stats::FlowStats;
use crate::sim::nic::{Done, Incoming, Message, PacketKind, Transport, Whole};
use crate::sim::observe::{DropReason, End};
use crate::sim::packet::{Frame, Packet, PfcFrame};
use crate::sim::switch::buffer::BufferManager;
use crate::sim::switch::route::FlowHashes;
use crate::sim::traffic::FlowStart;

/// NIC class of packets that a switch has cut: that of control, whatever they were.
const TRIMMED_CLASS: u8 = 1;
/// What becomes of a packet at a NIC without pools.
const TAKEN: Arrived = Arrived { fits: true, held: 0, signal: Signal::None };

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// Schedules the first flow of each host.
    pub(in crate::sim::network) fn arm_nics(&mut self) {
        for host in 0..self.hosts.len() as u32 {
            self.schedule_flows(host);
        }
    }

    /// Schedules the next flow of a host, once.
    fn schedule_flows(&mut self, host: u32) {
        if let Some(start) = self.source.peek(host).map(|flow| flow.start) {
            let armed = &mut nics!(self).hosts[host as usize].flows_at;
            if *armed != Some(start) {
                *armed = Some(start);
                self.schedule(start, Kind::FlowStart, order(host, 0, 0));
            }
        }
    }

    /// Flows start at a host.
    pub(in crate::sim::network) fn nic_flows(&mut self, host: u32) {
        self.advance_nic(host, Kind::FlowStart);
        while let Some(flow) = self.source.pop_before(host, self.now + 1) {
            self.post(flow);
        }
        self.post_late_steps(host);
        self.settle_done();
        self.drive_nic(host);
        self.schedule_flows(host);
        self.look_for_drain();
    }

    /// Transfers of collectives that were to start later than what they waited for, and do now.
    fn post_late_steps(&mut self, host: u32) {
        let now = self.now;
        let mut turn = 0;
        while let Some(&flow) = nics!(self).late_steps.get(turn) {
            if flow.src == host && flow.start <= now {
                nics!(self).late_steps.remove(turn);
                self.post(flow);
            } else {
                turn += 1;
            }
        }
    }

    /// Hands a flow to its sender's transport.
    fn post(&mut self, flow: FlowStart) {
        // A step may start at a host that the event is not about.
        self.advance_nic(flow.src, Kind::TxEnd);
        let now = self.now;
        let nics = nics!(self);
        let slot = nics.open(flow);
        self.flows.started += 1;
        let message = Message {
            flow: slot,
            src: flow.src,
            dst: flow.dst,
            bytes: flow.bytes,
            tc: flow.tc,
            id: flow.id,
        };
        let (transport, mut io) = nics.parts(flow.src);
        transport.post(now, &message, &mut io);
    }

    /// Acts on what transports have completed.
    #[inline]
    pub(super) fn settle_done(&mut self) {
        if !nics!(self).done.is_empty() {
            self.settle_done_slowly();
        }
    }

    fn settle_done_slowly(&mut self) {
        let now = self.now;
        let mut turn = 0;
        while let Some(&what) = nics!(self).done.get(turn) {
            turn += 1;
            let nics = nics!(self);
            match what {
                Done::Acknowledged(slot) => {
                    let start = nics.close(slot, now);
                    self.flows.finished += 1;
                    if now >= self.flows.measure_from {
                        self.flows.completion_times.push(now - start);
                    }
                }
                Done::Sent(slot) => {
                    let id = nics.open[slot as usize].spec.id;
                    nics.steps.sent(id, now, &mut nics.next_steps);
                }
                Done::Received(slot) => {
                    let id = nics.open[slot as usize].spec.id;
                    nics.steps.received(id, now, &mut nics.next_steps);
                }
            }
            self.post_steps();
        }
        nics!(self).done.clear();
    }

    /// Posts the transfers of collectives that may start now, and schedules later ones.
    fn post_steps(&mut self) {
        let now = self.now;
        for turn in 0..nics!(self).next_steps.len() {
            let flow = nics!(self).next_steps[turn];
            if flow.start <= now {
                self.post(flow);
                nics!(self).woken.push(flow.src);
            } else {
                self.schedule(flow.start, Kind::FlowStart, order(flow.src, 0, 0));
                nics!(self).late_steps.push(flow);
            }
        }
        nics!(self).next_steps.clear();
    }

    /// A deadline of a NIC's transport, or a packet that becomes ready at its idle port.
    #[inline]
    pub(in crate::sim::network) fn nic_timer(&mut self, host: u32) {
        // Some deadlines are handled without an event: none counts.
        self.events -= 1;
        self.advance_nic(host, Kind::Timer);
        let now = self.now;
        let nics = nics!(self);
        if nics.transport.deadline(host) <= now {
            let (transport, mut io) = nics.parts(host);
            transport.timer(now, host, &mut io);
            self.settle_done();
        }
        self.drive_nic(host);
    }

    /// A frame arrives at a NIC.
    #[inline]
    pub(in crate::sim::network) fn nic_arrival(&mut self, host: u32) {
        if self.late {
            self.late_pfc(host);
            return;
        }
        let h = host as usize;
        let Some((_, frame)) = self.host_inbound[h].pop_front() else { return };
        let key = match self.host_inbound[h].front() {
            Some(&(at, _)) => self.ranks.nic_arrival(at, host),
            None => NEVER,
        };
        self.list.set(self.ranks.nic_arrival_slot(host), key);
        if D::SWITCHES {
            let wire = self.framing().frame(&frame);
            self.tally.counters_mut(h).receive(wire);
        }
        self.advance_nic(host, Kind::HostArrival);
        match frame {
            Frame::Pfc(pfc) => self.host_pfc(host, pfc),
            Frame::Data(packet) => self.nic_packet(host, packet),
        }
    }

    #[inline(always)]
    pub(super) fn nic_packet(&mut self, host: u32, packet: Packet) {
        let (now, h) = (self.now, host as usize);
        let nics = nics!(self);
        let carried = nics.packets.take(packet.flow());
        if self.late
            && let Some(other) = nics.transport.ends_flow(&carried.header)
        {
            self.take_before(other);
        }
        let nics = nics!(self);
        let cut = packet.is_cut();
        let data = carried.header.kind == PacketKind::Data && !cut;
        let class = if cut { TRIMMED_CLASS } else { carried.class };
        let payload = data.then(|| packet.ip().saturating_sub(nics.transport.overhead()));
        let (arrived, pool) = match nics.model {
            NicModel::Hpcc => (TAKEN, 0),
            _ => {
                let ingress = &mut nics.hosts[h].ingress;
                (ingress.arrive(now, class, packet.ip(), payload), ingress.pool(class))
            }
        };
        if arrived.signal != Signal::None {
            self.nic_signal(host, class, arrived.signal);
        }
        if !arrived.fits {
            let (reason, bytes) = (DropReason::NicReceivePool, packet.ip());
            self.tally.drop(now, h, packet.tc(), reason, bytes, false);
            self.tally.dropped_ip += bytes;
            nics!(self).transport.lost(&carried.header);
            self.drive_nic(host);
            self.nics_done();
            return;
        }
        self.tally.arrived_ip += packet.ip();
        if data {
            self.tally.deliver(packet.ip(), now);
        }
        let incoming = Incoming {
            header: carried.header,
            entropy: carried.entropy,
            ip: packet.ip() as u16,
            whole: match (cut, packet.is_trimmed_on_last_hop()) {
                (false, _) => Whole::Whole,
                (true, false) => Whole::Trimmed,
                (true, true) => Whole::TrimmedLastHop,
            },
            ce: packet.ce(),
            held: arrived.held,
            pool,
        };
        let (transport, mut io) = nics!(self).parts(host);
        transport.receive(now, host, &incoming, &mut io);
        self.settle_done();
        if self.late {
            // Who lets it be late arms what is next.
            self.start_frames(host);
            return;
        }
        self.drive_nic(host);
        self.nics_done();
    }

    /// A packet of a reactive NIC was dropped on its way.
    pub(in crate::sim::network) fn lose_packet(&mut self, packet: Packet) {
        let nics = nics!(self);
        let carried = nics.packets.take(packet.flow());
        nics.transport.lost(&carried.header);
        self.look_for_drain();
        self.nics_done();
    }

    /// The job may have drained.
    #[inline]
    fn nics_done(&mut self) {
        self.last_done = self.now;
        let nics = nics!(self);
        if self.drain && nics.unfinished == 0 && nics.quiet() && !self.source.pending() {
            self.end_at((self.now + 1).min(self.end_time), End::Drained);
        }
    }

    /// A NIC pauses or resumes its switch for a class of its own.
    fn nic_signal(&mut self, host: u32, class: u8, signal: Signal) {
        let now = self.now;
        let nics = nics!(self);
        let tc = nics.tc_of(class);
        let nic = &mut nics.hosts[host as usize];
        let pause = signal == Signal::Pause;
        let frame = self.host_side.behaviour(host).frame(tc, class, pause);
        nic.egress.queue_urgent(Urgent::Pfc(frame));
        if pause {
            let at = now + nic.line.pause_time(frame.quanta) / 2;
            self.host_side.refresh_at.insert((host, tc), at);
            self.schedule(at, Kind::Refresh, order(host, 0, tc));
            self.arm_release(host);
        } else {
            self.host_side.refresh_at.remove(&(host, tc));
        }
    }

    fn arm_release(&mut self, host: u32) {
        let nic = &mut nics!(self).hosts[host as usize];
        let at = nic.ingress.next_release();
        if !nic.release_armed && at != NEVER {
            nic.release_armed = true;
            self.schedule(at, Kind::Service, order(host, 0, 0));
        }
    }

    /// The host link of a NIC that has paused its switch has taken a packet.
    pub(in crate::sim::network) fn nic_release(&mut self, host: u32) {
        self.advance_nic(host, Kind::Service);
        let now = self.now;
        let nic = &mut nics!(self).hosts[host as usize];
        nic.release_armed = false;
        let resumed = nic.ingress.release(now);
        for class in (0..8).filter(|class| resumed >> class & 1 != 0) {
            self.nic_signal(host, class, Signal::Resume);
        }
        self.arm_release(host);
        self.drive_nic(host);
    }

    /// Half a pause time after a NIC's pause.
    pub(in crate::sim::network) fn nic_half_time(&mut self, host: u32, tc: u8) {
        self.advance_nic(host, Kind::Refresh);
        let now = self.now;
        let nics = nics!(self);
        let Some(class) = nics.class_of(tc) else { return };
        let signal = nics.hosts[host as usize].ingress.half_time(now, class);
        self.nic_signal(host, class, signal);
        self.drive_nic(host);
    }

    /// A host's NIC queues a PFC frame.
    pub(in crate::sim::network) fn nic_queue_pfc(&mut self, host: u32, frame: PfcFrame) {
        self.advance_nic(host, Kind::Refresh);
        nics!(self).hosts[host as usize].egress.queue_urgent(Urgent::Pfc(frame));
        self.drive_nic(host);
    }

    /// The switch holds or releases a class of a host, in an event of `kind`.
    pub(in crate::sim::network) fn nic_paused(
        &mut self,
        host: u32,
        kind: Kind,
        tc: u8,
        held: bool,
    ) {
        self.advance_nic(host, kind);
        let nics = nics!(self);
        if let Some(class) = nics.class_of(tc) {
            nics.hosts[host as usize].egress.set_paused(class, held);
        }
        if !held {
            let now = self.now;
            let (transport, mut io) = nics.parts(host);
            transport.resumed(now, host, &mut io);
        }
        self.drive_nic(host);
    }
}

impl Nics {
    /// A slot for a flow that starts.
    fn open(&mut self, flow: FlowStart) -> u32 {
        self.unfinished += 1;
        let open = Open { spec: flow, closed: false };
        if let Some(slot) = self.free.pop() {
            self.open[slot as usize] = open;
            slot
        } else {
            self.open.push(open);
            self.stats.push(FlowStats::default());
            self.open.len() as u32 - 1
        }
    }

    /// A flow is acknowledged to its end; when it started.
    fn close(&mut self, slot: u32, now: u64) -> u64 {
        let stats = std::mem::take(&mut self.stats[slot as usize]);
        let open = &mut self.open[slot as usize];
        open.closed = true;
        if let Some(rows) = &mut self.rows {
            rows.push(flow_row(&open.spec, &stats, Some(now)));
        }
        self.closed = self.closed.plus(&stats);
        self.unfinished -= 1;
        self.free.push(slot);
        open.spec.start
    }

    /// What an equal-cost choice depends on: an id of its own for `flowId`, and the hashes. The id
    /// is the source port, so that what spreads its packets does so there too.
    #[inline]
    pub(in crate::sim::network) fn identity(&self, packet: Packet) -> (u64, FlowHashes) {
        let carried = self.packets.get(packet.flow());
        (u64::from(carried.entropy), carried.hashes)
    }
}
