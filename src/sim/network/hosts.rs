//! The ends of the network: delivery, slow receivers, NIC-sent PFC, holds.

use super::{Network, order};
use crate::sim::event::{EventList, Kind};
use crate::sim::host::receiver::Signal;
use crate::sim::host::sender::Sender;
use crate::sim::meter::Depth;
use crate::sim::observe::DropReason;
use crate::sim::packet::{Frame, Packet, PfcFrame};
use crate::sim::switch::buffer::BufferManager;
use std::collections::BTreeMap;

/// How a host answers PFC, and what its own PFC frames are like.
#[derive(Debug, Clone, Copy)]
pub struct Behaviour {
    /// PFC has no effect.
    pub ignore_pfc: bool,
    /// Time from a PFC frame's arrival to its effect, ps.
    pub response: u64,
    /// Quanta its pauses ask for, by class; above 0.
    pub quanta: [u16; 8],
    /// Bytes of its PFC frames on the wire.
    pub pfc_wire: u16,
}

impl Behaviour {
    /// A PFC frame of the host's for `tc`; a pause asks for the quanta of `class`, the host's own
    /// number of it.
    pub fn frame(&self, tc: u8, class: u8, pause: bool) -> PfcFrame {
        let quanta = if pause { self.quanta[usize::from(class & 7)] } else { 0 };
        PfcFrame { tc, quanta, wire: self.pfc_wire }
    }
}

/// Classes a host keeps paused for a while.
#[derive(Debug, Clone)]
pub struct Holding {
    /// The classes.
    pub classes: Vec<u8>,
    /// First pause.
    pub from: u64,
    /// Resume.
    pub until: Option<u64>,
}

/// What hosts are told to do beyond sending.
#[derive(Debug, Default)]
pub struct HostSide {
    /// Behaviour of each host.
    pub behaviours: Vec<Behaviour>,
    /// Holds by host.
    pub holds: BTreeMap<u32, Holding>,
    /// Next half-time check of a receiver's pause, by host and class.
    pub refresh_at: BTreeMap<(u32, u8), u64>,
    /// Hosts that may send PFC frames, in order.
    pub pfc_senders: Vec<u32>,
    /// When each host is to be woken by flows that start; 0: not scheduled, or at once.
    pub wake_at: Vec<u64>,
}

impl HostSide {
    /// Behaviour of a host.
    pub fn behaviour(&self, host: u32) -> Behaviour {
        self.behaviours[host as usize]
    }
}

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// A switch has sent a frame to a host, where it arrives at `at`.
    #[inline]
    pub(super) fn send_to_host(&mut self, host: u32, frame: Frame, at: u64) {
        if self.late {
            self.send_late(host, frame, at);
            return;
        }
        match frame {
            Frame::Data(packet)
                if self.receivers[host as usize].is_none()
                    && self.nics.is_none()
                    && !self.stop_on_deadlock =>
            {
                // A receiver that takes frames at once needs no event: the time is known, and the
                // job does not end before it unless something is left inside.
                if at < self.end_time {
                    if D::SWITCHES {
                        let wire = self.framing().wire(packet.ip());
                        self.tally.receive_later(host as usize, at, wire);
                    }
                    self.deliver(packet, at);
                } else {
                    self.tally.send_beyond_end(packet);
                }
            }
            frame => {
                let inbound = &mut self.host_inbound[host as usize];
                inbound.push_back((at, frame));
                if inbound.len() == 1 && at < self.end_time {
                    if self.nics.is_some() {
                        let key = self.ranks.nic_arrival(at, host);
                        self.list.set(self.ranks.nic_arrival_slot(host), key);
                    } else {
                        self.schedule(at, Kind::HostArrival, order(host, 0, 0));
                    }
                }
            }
        }
    }

    #[inline]
    fn deliver(&mut self, packet: Packet, at: u64) {
        self.accept(packet, at);
        self.done(at);
    }

    /// A packet has reached its host, and its pool if there is one.
    #[inline]
    fn accept(&mut self, packet: Packet, at: u64) {
        self.tally.arrived_ip += packet.ip();
        if packet.is_cut() {
            self.flows.receive_trimmed(packet.flow(), packet.sent_ip(), packet.ce());
            return;
        }
        self.tally.deliver(packet.ip(), at);
        self.flows.receive(packet.flow(), packet.ip(), packet.ce(), at);
    }

    /// A frame arrives at a host that looks at it.
    pub(super) fn host_arrival(&mut self, host: u32) {
        let h = host as usize;
        let Some((_, frame)) = self.host_inbound[h].pop_front() else { return };
        if let Some(&(at, _)) = self.host_inbound[h].front() {
            self.schedule(at, Kind::HostArrival, order(host, 0, 0));
        }
        if D::SWITCHES {
            let wire = self.framing().frame(&frame);
            self.tally.counters_mut(h).receive(wire);
        }
        match frame {
            Frame::Pfc(pfc) => self.host_pfc(host, pfc),
            Frame::Data(packet) => {
                let Some(receiver) = &mut self.receivers[h] else {
                    self.deliver(packet, self.now);
                    return;
                };
                let (fits, was_idle, signal) = receiver.arrive(packet);
                let service = receiver.service_time();
                self.signal(host, packet.tc(), signal, Kind::HostArrival);
                if !fits {
                    let (reason, bytes) = (DropReason::NicReceivePool, packet.ip());
                    self.tally.drop(self.now, h, packet.tc(), reason, bytes, false);
                    self.tally.dropped_ip += bytes;
                    self.flows.lose(packet.flow(), packet.sent_ip());
                    self.done(self.now);
                } else {
                    self.in_service += 1;
                    self.accept(packet, self.now);
                    if was_idle {
                        self.serve_after(host, service);
                    }
                }
            }
        }
    }

    fn serve_after(&mut self, host: u32, service: Option<u64>) {
        if let Some(service) = service {
            self.schedule(self.now + service, Kind::Service, order(host, 0, 0));
        }
    }

    /// A slow receiver has served a packet.
    pub(super) fn service_end(&mut self, host: u32) {
        let Some(receiver) = &mut self.receivers[host as usize] else { return };
        let Some((packet, signal)) = receiver.serve() else { return };
        let next = receiver.service_time();
        self.serve_after(host, next);
        self.signal(host, packet.tc(), signal, Kind::Service);
        self.in_service -= 1;
        self.done(self.now);
    }

    /// A receiver pauses or resumes its switch.
    fn signal(&mut self, host: u32, tc: u8, signal: Signal, kind: Kind) {
        let pause = match signal {
            Signal::None => return,
            Signal::Pause => true,
            Signal::Resume => false,
        };
        let frame = self.host_side.behaviour(host).frame(tc, tc, pause);
        if pause {
            let at = self.now + self.hosts[host as usize].line().pause_time(frame.quanta) / 2;
            self.host_side.refresh_at.insert((host, tc), at);
            self.schedule(at, Kind::Refresh, order(host, 0, tc));
        } else {
            self.host_side.refresh_at.remove(&(host, tc));
        }
        self.touch_host(host, kind, |sender| sender.queue_pfc(frame));
    }

    /// A hold's next frame, or a receiver's half-time check, falls due.
    pub(super) fn host_refresh(&mut self, host: u32, tc: u8) {
        if let Some(hold) = self.host_side.holds.get(&host)
            && hold.classes.contains(&tc)
        {
            let pause = hold.until != Some(self.now);
            let frame = self.host_side.behaviour(host).frame(tc, tc, pause);
            if pause {
                let half = self.hosts[host as usize].line().pause_time(frame.quanta) / 2;
                let at = hold.until.unwrap_or(u64::MAX).min(self.now + half);
                self.schedule(at, Kind::Refresh, order(host, 0, tc));
            }
            if self.nics.is_some() {
                self.nic_queue_pfc(host, frame);
            } else {
                self.touch_host(host, Kind::Refresh, |sender| sender.queue_pfc(frame));
            }
        } else if self.host_side.refresh_at.get(&(host, tc)) == Some(&self.now) {
            if let Some(receiver) = &mut self.receivers[host as usize] {
                let signal = receiver.half_time(tc);
                self.signal(host, tc, signal, Kind::Refresh);
            } else {
                self.nic_half_time(host, tc);
            }
        }
    }

    /// Flows start at an idle host none of whose earlier ones may send.
    pub(super) fn schedule_wake(&mut self, host: u32, at: u64) {
        if std::mem::replace(&mut self.host_side.wake_at[host as usize], at) != at || at == 0 {
            self.schedule(at, Kind::FlowStart, order(host, 0, 0));
        }
    }

    /// Flows join at a host that had announced no frame.
    pub(super) fn wake(&mut self, host: u32) {
        let port = self.host_port[host as usize] as usize;
        let stale = self.host_side.wake_at[host as usize] != self.now;
        if stale
            || self.hosts[host as usize].has_announced()
            || !self.ports[port].inbound.is_empty()
        {
            return;
        }
        let sender = &mut self.hosts[host as usize];
        sender.wake(self.now, &mut self.flows, &mut self.source);
        self.announce(host, port);
    }

    /// The switch holds or releases a class of a host.
    pub(super) fn hold_host(&mut self, host: u32, kind: Kind, tc: u8, held: bool) {
        if self.nics.is_some() {
            self.hosts[host as usize].set_paused(tc, held);
            self.nic_paused(host, kind, tc, held);
        } else {
            self.touch_host(host, kind, |sender| sender.set_paused(tc, held));
        }
    }

    /// Something reaches a host now: what it has sent so far is fixed, `change` happens, and what
    /// it sends next is computed again.
    pub(super) fn touch_host(&mut self, host: u32, kind: Kind, change: impl FnOnce(&mut Sender)) {
        self.advance_host(host, kind);
        let sender = &mut self.hosts[host as usize];
        change(sender);
        sender.settle(self.now);
        let port = self.host_port[host as usize] as usize;
        self.hosts[host as usize].retract();
        self.arm_inbound(port);
    }

    /// Puts on the link every frame a host starts before the event of `kind` at this instant.
    pub(super) fn advance_host(&mut self, host: u32, kind: Kind) {
        let port = self.host_port[host as usize] as usize;
        let sender = &mut self.hosts[host as usize];
        let delay = sender.line().delay;
        let inbound = &mut self.ports[port].inbound;
        sender.advance(self.now, kind, &mut self.flows, &mut self.source, |(end, frame)| {
            inbound.push_back((end + delay, frame));
        });
        if !inbound.is_empty() {
            sender.retract();
        }
    }
}
