//! The network of one job: hosts, switches, links and the loop that drives them.
//!
//! Owns all state of a running job. One file a concern: `build` lays it out, `drive` is the
//! loop, `forward` moves packets through switches, `pause` handles PFC, `hosts` the ends, `tally`
//! what is measured, `shared` what whole switches hold, `held` what stands in the buffers,
//! `balance` what equal-cost members carry, `deadlock` pauses that wait in a circle, `audit` checks
//! conservation. Generic over
//! the buffer manager, the event list and the depth of measurement, so nothing is dispatched
//! dynamically per packet.

mod audit;
mod balance;
mod build;
mod deadlock;
mod drive;
mod forward;
mod held;
mod hosts;
mod nics;
mod pause;
mod shared;
mod tally;

pub use build::{RowLimits, SimError};
pub(super) use build::{TierSettings, fits, lines};
pub use drive::Stop;

use super::event::{EventList, NEVER, Ranks};
use super::flows::FlowTable;
use super::host::receiver::Receiver;
use super::host::sender::Sender;
use super::link::Line;
use super::meter::{Depth, Extremes, Gauges};
use super::observe::{End, Observations};
use super::packet::{Frame, Framing, Packet, PfcFrame};
use super::reuse::{GroupSeen, Groups, Outcome};
use super::switch::buffer::BufferManager;
use super::switch::ecn::Marker;
use super::switch::route::{Balancer, Forwarding, MemberStats};
use super::traffic::FlowSource;
use nics::Nics;
use pause::{Pauses, PendingEffect};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::marker::PhantomData;
use tally::{Plan, Tally};

/// What is at the other end of a switch port's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    Host(u32),
    Port(u32),
}

/// A switch port: what the per-packet path reads and writes of it.
///
/// In this order, so that what every packet touches shares a cache line and a class that is not
/// in use costs none. Seven lines: with an even number, ports would compete for part of a cache.
#[derive(Debug)]
#[repr(C, align(64))]
struct Port {
    line: Line,
    /// From which event on it may start a frame, by that event's key: 0 while it is idle, `NEVER`
    /// while the end of its frame is an event to come, or that end where it is no event because
    /// nothing waits for it.
    free: u64,
    /// The last frame that started, in serialization unless the port is free.
    sending: Frame,
    peer: Peer,
    switch: u32,
    /// Place among the ports of its switch.
    local: u16,
    /// Classes with something queued, a bit each.
    ready: u8,
    /// Classes held by the peer, a bit each.
    paused: u8,
    /// PFC frames wait.
    pfc_waits: bool,
    /// Class that was served last, where classes take turns.
    turn: u8,
    /// Faces the upper tier.
    up: bool,
    /// Frames on the way to this port.
    inbound: VecDeque<InFlight>,
    /// PFC frames queued, each with the packets of class 0 that go between the one before it and
    /// itself, where class 0 and PFC share a queue.
    pfc: VecDeque<(PfcFrame, u32)>,
    /// Packets queued, by class.
    queues: [VecDeque<Packet>; 8],
}

impl Port {
    /// Whether a frame is in serialization whose end is an event to come.
    fn is_sending(&self) -> bool {
        self.free == NEVER
    }

    /// Where classes take turns, one packet each: class 0 first, which does not count as a turn,
    /// then the next one above the last. `sendable`, a bit a class, is not 0.
    #[inline]
    fn take_turn(&mut self, sendable: u8) -> usize {
        if sendable & 1 != 0 {
            if let Some((_, behind)) = self.pfc.front_mut() {
                *behind -= 1;
            }
            return 0;
        }
        // Classes above the last one, then round from the first.
        let above = sendable & !1 & (0xff_u8 << self.turn << 1);
        let from = if above != 0 { above } else { sendable };
        self.turn = from.trailing_zeros() as u8;
        usize::from(self.turn)
    }
}

/// A switch.
#[derive(Debug)]
struct Switch<M> {
    manager: M,
    marker: Marker,
    /// Place of its first port among all switch ports.
    first_port: usize,
    ports: usize,
    node: u32,
    /// Time from a PFC frame's arrival to its effect, ps.
    response: u64,
}

/// A frame on a link and when it arrives.
type InFlight = (u64, Frame);

/// A running job.
#[derive(Debug)]
pub struct Network<M, E, D> {
    // Time.
    now: u64,
    /// Key of the event that is handled.
    key: u64,
    ranks: Ranks,
    list: E,
    /// Rare events: the key, followed by what orders events of one kind and instant.
    rare: BinaryHeap<Reverse<u128>>,
    /// Key at the top of `rare`.
    rare_key: u64,
    /// Events with this key or a later one do not happen.
    end_key: u64,
    end_time: u64,
    /// The job ends when it has drained.
    drain: bool,
    /// What ends the job.
    end: End,
    /// Latest instant at which a packet was delivered, served or dropped.
    last_done: u64,
    /// Packets that slow receivers have accepted and not yet served.
    in_service: u64,
    /// Events handled, and those to come that are counted already (see `quiet_ends`, `late`).
    events: u64,
    budget: u64,
    /// With so many events the budget is near; 0: see `watched`.
    watch: u64,
    /// A frame is on its link as it starts: nothing but the ends of the link can tell.
    early: bool,
    /// The end of a frame that nothing waits for is not handled as an event.
    quiet_ends: bool,
    /// Packets arrive at hosts without events: see `nics::late`.
    late: bool,
    /// Packets on their way to hosts, while they are late.
    late_frames: usize,
    /// Hosts that took packets because a flow of theirs has ended at its other end.
    caught_up: Vec<u32>,

    // Switches.
    switches: Vec<Switch<M>>,
    ports: Vec<Port>,
    /// Some packet may be ECN-capable and marking is on: averages are kept.
    marking: bool,
    /// ECN averages, by port and pool.
    averages: Vec<[f64; 8]>,
    /// Pools a port: the highest pool that exists, plus one.
    stride: usize,
    routes: Forwarding,
    /// Frame sizes, where the switches' model has its own.
    own_framing: Framing,
    /// Flowlets, or counts of members.
    balancer: Option<Box<Balancer>>,
    /// Counts of members at the start of the interval.
    members_before: Vec<MemberStats>,
    /// Switches write telemetry into packets.
    telemetry: bool,
    /// Wire bytes of the frames each port has started, kept for telemetry.
    started: Vec<u64>,

    // Hosts.
    hosts: Vec<Sender>,
    /// Switch port of each host.
    host_port: Vec<u32>,
    receivers: Vec<Option<Box<Receiver>>>,
    /// Frames on the way to hosts that are looked at on arrival: PFC, and data of slow receivers.
    host_inbound: Vec<VecDeque<InFlight>>,
    host_side: hosts::HostSide,
    /// Hosts whose NIC reacts: all of them, or none.
    nics: Option<Box<Nics>>,
    flows: FlowTable,
    source: FlowSource,

    // Pauses.
    pauses: Pauses,
    effects: Vec<VecDeque<PendingEffect>>,
    /// Pauses can wait for one another in a circle.
    circles: bool,
    /// The first circle ends the job, at an instant that nothing can know before.
    stop_on_deadlock: bool,
    /// A port whose packets may have come to stand still in this event.
    suspected: Option<(usize, usize)>,
    /// The first circle found.
    deadlock: Option<deadlock::Circle>,

    // Measurement.
    gauges: Gauges<u32>,
    /// Sums over the ports of switches.
    switch_levels: Vec<Extremes>,
    tally: Tally,
    plan: Plan,
    interval_start: u64,
    rows: Observations,
    depth: PhantomData<D>,
}

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// How large frames are: a constant for models without frames of their own.
    #[inline(always)]
    fn framing(&self) -> Framing {
        if M::OWN_FRAMES { self.own_framing } else { Framing::ETHERNET }
    }

    /// What every switch compared with its thresholds, where that is kept.
    pub(super) fn outcome(&self, groups: &Groups) -> Outcome {
        let switches = self.switches.iter().enumerate().filter_map(|(at, switch)| {
            let buffer = switch.manager.seen()?;
            let gap = self.balancer.as_ref().map_or_else(Default::default, |b| b.gap(at));
            Some((at, GroupSeen { buffer, ecn: switch.marker.seen(), gap }))
        });
        Outcome::gather(groups, switches)
    }

    /// Schedules a rare event; one at or after the end of the job is forgotten.
    fn schedule(&mut self, time: u64, kind: super::event::Kind, order: u64) {
        if time < self.end_time {
            let key = self.ranks.rare(time, kind);
            self.rare.push(Reverse(u128::from(key) << 64 | u128::from(order)));
            self.rare_key = self.rare_key.min(key);
        }
    }
}

/// Order of rare events inside a kind: node, then port, then class (or purpose).
fn order(node: u32, port: usize, class: u8) -> u64 {
    u64::from(node) << 32 | (port as u64) << 8 | u64::from(class)
}

/// Node, port and class of an [`order`].
fn order_parts(order: u64) -> (u32, usize, u8) {
    ((order >> 32) as u32, (order >> 8 & 0xff_ffff) as usize, order as u8)
}
