//! The ports of hosts whose NIC reacts: which frame starts when.
//!
//! A port needs no event a frame: what it starts, and what its transport does at its deadlines,
//! follows from the host's own state until something reaches the host. So both are done late, in
//! their order and at the times they have: before anything reaches the host
//! ([`Network::advance_nic`]), and when the next frame could arrive at the switch. Nothing is done
//! too late, because a frame arrives after it starts, and everything the start of a frame leads
//! to comes after it. Only the steps of a collective may wait for the start of a frame itself; a
//! job with collectives gives every end of a frame its event (`Nics::prompt`). The results are
//! those of handling every one at its instant.

use super::super::Network;
use super::late::answer_at;
use super::{Nics, nics};
use crate::sim::event::{EventList, Kind, NEVER};
use crate::sim::link::spacing;
use crate::sim::meter::Depth;
use crate::sim::nic::egress::{Next, Picked};
use crate::sim::nic::packets::Carried;
use crate::sim::nic::{Outgoing, Transport};
use crate::sim::packet::{Frame, Label, Packet};
use crate::sim::switch::buffer::BufferManager;
use crate::sim::switch::route::FlowHashes;

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// Gives every end of a frame of a NIC its event, as jobs with collectives have it, and every
    /// end of a frame of a switch and every arrival at a host: the same observations. To be called before the first event; tests compare.
    pub fn make_nics_prompt(&mut self) {
        (self.early, self.quiet_ends, self.late) = (false, false, false);
        if let Some(nics) = self.nics.as_deref_mut() {
            nics.prompt = true;
        }
    }

    /// Does what a host does by itself before the event of `kind` at this instant: starts frames,
    /// handles deadlines, gives back the room of frames that have ended. To be called before
    /// anything reaches the host.
    #[inline]
    pub(in crate::sim::network) fn advance_nic(&mut self, host: u32, kind: Kind) {
        if self.late {
            self.take_late(host);
        }
        self.advance_port(host, kind);
        if !self.caught_up.is_empty() {
            self.catch_up(kind);
        }
    }

    /// The same of a host at which nothing is left to arrive before the event.
    #[inline(always)]
    pub(super) fn advance_port(&mut self, host: u32, kind: Kind) {
        let now = self.now;
        let nics = nics!(self);
        let nic = &mut nics.hosts[host as usize];
        let busy = nic.egress.free_at() > now;
        if (busy || nic.egress.is_still()) && nics.transport.deadline(host) > now {
            // A frame is in serialization or nothing waits, and nothing is due.
            nic.touched = now;
            nic.egress.settle(if kind > Kind::TxEnd { now } else { now.saturating_sub(1) });
        } else {
            self.advance_slowly(host, kind);
        }
    }

    fn advance_slowly(&mut self, host: u32, kind: Kind) {
        let now = self.now;
        // Whether what falls due then, as `own` kind, comes before the event.
        let before = |at: u64, own: Kind| at < now || (at == now && kind > own);
        loop {
            let nics = nics!(self);
            let nic = &mut nics.hosts[host as usize];
            let (next, deadline) = (nic.egress.next(nic.touched), nics.transport.deadline(host));
            match next {
                Next::Free(at) if at <= deadline && before(at, Kind::TxEnd) => {
                    self.nic_frame_end(host, at);
                }
                Next::Ready(at) if at < deadline && before(at, Kind::Timer) => {
                    self.start_nic_frame(host, at, false);
                }
                _ if before(deadline, Kind::Timer) => {
                    nic.touched = nic.touched.max(deadline);
                    nic.egress.settle(deadline);
                    let (transport, mut io) = nics.parts(host);
                    transport.timer(deadline, host, &mut io);
                }
                _ => break,
            }
        }
        let nic = &mut nics!(self).hosts[host as usize];
        let ended = if kind > Kind::TxEnd { now } else { now.saturating_sub(1) };
        nic.egress.settle(ended);
        nic.touched = now;
    }

    /// A frame's end at a port where something waits for it.
    fn nic_frame_end(&mut self, host: u32, at: u64) {
        let nics = nics!(self);
        let nic = &mut nics.hosts[host as usize];
        nic.touched = at;
        nic.egress.settle(at);
        if nic.egress.take_wanted() || nic.egress.starved() != 0 && nic.egress.has_room() {
            let (transport, mut io) = nics.parts(host);
            transport.room(at, host, &mut io);
        }
        self.start_nic_frame(host, at, true);
    }

    /// A frame's end as an event of its own. Not one that is counted: whether there are any is
    /// no property of the job.
    pub(in crate::sim::network) fn nic_tx_end(&mut self, host: u32) {
        self.events -= 1;
        self.nic_frame_end(host, self.now);
        self.settle_done();
        self.arm_nic(host);
        self.drive_woken(host);
    }

    /// Starts what a port may start now, in the event that reached its host, and arms what is
    /// next.
    #[inline]
    pub(super) fn drive_nic(&mut self, host: u32) {
        self.start_frames(host);
        self.arm_nic(host);
        if !nics!(self).woken.is_empty() {
            self.drive_woken(host);
        }
    }

    /// Starts what a port may start now.
    #[inline(always)]
    pub(super) fn start_frames(&mut self, host: u32) {
        let now = self.now;
        let nic = &mut nics!(self).hosts[host as usize];
        nic.touched = now;
        if nic.egress.free_at() > now || nic.egress.is_still() {
            self.settle_done();
        } else {
            self.start_frames_now(host);
        }
    }

    fn start_frames_now(&mut self, host: u32) {
        let now = self.now;
        loop {
            let nic = &nics!(self).hosts[host as usize];
            match nic.egress.next(now) {
                Next::Free(at) if at <= now => self.nic_frame_end(host, now),
                Next::Ready(at) if at <= now => self.start_nic_frame(host, now, false),
                // A frame that starts may make way for a flow's last packet.
                _ if !nics!(self).done.is_empty() => self.settle_done(),
                _ => break,
            }
        }
    }

    /// Drives the hosts other than `host` that a step of a collective has given something to send.
    #[cold]
    fn drive_woken(&mut self, host: u32) {
        while let Some(other) = nics!(self).woken.pop() {
            if other != host {
                self.drive_nic(other);
            }
        }
    }

    /// Arms a host's deadline, and whatever stands for its next frame.
    #[inline]
    pub(super) fn arm_nic(&mut self, host: u32) {
        let nics = nics!(self);
        let mut key = NEVER;
        let deadline = nics.transport.deadline(host);
        if deadline < self.end_time {
            key = self.ranks.nic_timer(deadline.max(self.now), host);
        }
        let nic = &mut nics.hosts[host as usize];
        if nics.prompt {
            key = key.min(match nic.egress.next(nic.touched) {
                Next::Free(at) => self.ranks.nic_tx_end(at, host),
                Next::Ready(at) => self.ranks.nic_timer(at, host),
                Next::Never => NEVER,
            });
        }
        if nic.armed != key {
            nic.armed = key;
            self.list.set(self.ranks.nic_slot(host), key);
        }
        let port = nic.port as usize;
        if self.ports[port].inbound.is_empty() {
            self.announce_nic(host, port);
        }
    }

    /// Nothing is on a host's link: arms the earliest instant at which its next frame could arrive
    /// at the switch.
    fn announce_nic(&mut self, host: u32, port: usize) {
        let framing = self.framing();
        let nics = nics!(self);
        let nic = &mut nics.hosts[host as usize];
        let next = if nics.prompt { Next::Never } else { nic.egress.next(nic.touched) };
        let mut arrives = match next {
            Next::Free(at) | Next::Ready(at) => {
                at + nic.line.serialize(nic.egress.next_wire(framing)) + nic.line.delay
            }
            Next::Never => NEVER,
        };
        if self.late
            && let Some(&(at, Frame::Data(_))) = self.host_inbound[host as usize].front()
        {
            arrives = arrives.min(answer_at(at, nic.egress.free_at(), &nic.line, framing));
        }
        let key = match arrives < self.end_time {
            true => self.ranks.arrival(arrives, port),
            false => NEVER,
        };
        if nic.announced != key {
            nic.announced = key;
            self.list.set(self.ranks.arrival_slot(port), key);
        }
    }

    /// The last frame on a host's link has just arrived at its switch: the next one.
    #[inline]
    pub(in crate::sim::network) fn next_uplink(&mut self, host: u32) {
        // What stands in the slot is the key of the frame that arrived.
        nics!(self).hosts[host as usize].announced = 0;
        if !nics!(self).prompt {
            self.advance_nic(host, Kind::Arrival);
        }
        self.arm_nic(host);
    }

    /// The instant that was announced for a host's next frame: whether it arrives now.
    #[inline]
    pub(in crate::sim::network) fn uplink_arrives(&mut self, host: u32, port: usize) -> bool {
        self.next_uplink(host);
        self.ports[port].inbound.front().is_some_and(|&(at, _)| at == self.now)
    }

    /// Starts the next frame of an idle port at `at`, if there is one. `before`: at the end of a
    /// frame, which precedes what falls due with it.
    #[inline]
    fn start_nic_frame(&mut self, host: u32, at: u64, before: bool) {
        let framing = self.framing();
        let nics = nics!(self);
        let nic = &mut nics.hosts[host as usize];
        nic.touched = at;
        if let Some(frame) = nic.uncounted.take() {
            self.pauses.sent(host as usize, frame.tc, frame.pauses(), 1);
            self.tally.count_pfc(frame.pauses(), 1);
        }
        let Some(picked) = nic.egress.pick(at, before) else { return };
        let (wire, end, frame) = match picked {
            Picked::Pfc(frame) => {
                let wire = u64::from(frame.wire);
                let end = at + nic.line.serialize(wire);
                nic.uncounted = Some(frame);
                nic.egress.started(end);
                (wire, end, Frame::Pfc(frame))
            }
            Picked::Packet(out) => {
                let wire = framing.wire(u64::from(out.ip));
                let time = match nics.transport.rate(at, &out) {
                    0 => nic.line.serialize(wire),
                    rate => spacing(wire, rate),
                };
                nic.egress.started(at + time);
                let packet = nics.launch(at, at + time, host, &out);
                (wire, at + time, Frame::Data(packet))
            }
        };
        let nic = &mut nics.hosts[host as usize];
        nic.frames += 1;
        nic.wire += wire;
        nic.last_wire = wire;
        let (arrives, port) = (end + nic.line.delay, nic.port as usize);
        let inbound = &mut self.ports[port].inbound;
        inbound.push_back((arrives, frame));
        if inbound.len() == 1 {
            nic.announced = NEVER;
            if arrives < self.end_time {
                nic.announced = self.ranks.arrival(arrives, port);
            }
            self.list.set(self.ranks.arrival_slot(port), nic.announced);
        }
    }
}

impl Nics {
    /// What equal-cost choices depend on, of a packet of a host: as of an earlier one to the same
    /// destination with the same source port.
    #[inline]
    fn hashes(&mut self, host: u32, dst: u32, entropy: u16) -> FlowHashes {
        let known = &mut self.hosts[host as usize].hashes;
        let place = (dst ^ u32::from(entropy)) as usize % known.len();
        let (to, port, hashes) = &mut known[place];
        if (*to, *port) != (dst, entropy) {
            (*to, *port) = (dst, entropy);
            *hashes = FlowHashes::between(host, dst, entropy);
        }
        *hashes
    }

    /// A packet starts to be serialized: the packet as the network carries it.
    #[inline(always)]
    fn launch(&mut self, now: u64, end: u64, host: u32, out: &Outgoing) -> Packet {
        let (transport, mut io) = self.parts(host);
        transport.sending(now, end, host, out, &mut io);
        self.committed += u64::from(out.ip);
        let hashes = match self.choices {
            true => self.hashes(host, out.dst, out.entropy),
            false => Default::default(),
        };
        let carried =
            Carried { header: out.header, hashes, entropy: out.entropy, class: out.class };
        let slot = self.packets.insert(carried);
        let tc = if self.policy { out.code_point.class() } else { out.tc };
        let label = Label::new(tc, out.ect, out.code_point).unscheduled(out.unscheduled);
        Packet::new(slot, out.dst, out.ip, label)
    }
}
