//! PFC at switch ports: sending, refreshing, receiving, running out.

use super::{Network, order};
use crate::scenario::links::PAUSE_QUANTA;
use crate::sim::event::{EventList, Kind};
use crate::sim::meter::Depth;
use crate::sim::observe::PfcEventRow;
use crate::sim::packet::{Frame, PfcFrame};
use crate::sim::switch::buffer::BufferManager;

/// A pause or resume that has arrived and takes effect later.
#[derive(Debug, Clone, Copy)]
pub struct PendingEffect {
    arrived: u64,
    pub(super) frame: PfcFrame,
}

/// What PFC did at one port and class.
#[derive(Debug, Clone, Copy, Default)]
pub struct PauseMeter {
    /// Pause frames sent.
    pub xoff_tx: u64,
    /// Pause frames received.
    pub xoff_rx: u64,
    /// Resume frames sent.
    pub xon_tx: u64,
    /// Resume frames received.
    pub xon_rx: u64,
    /// Packets newly marked.
    pub marked: u64,
    /// Start of the present hold, or of the part of it that was not yet added up.
    held_since: Option<u64>,
    /// Held time added up so far.
    pub held: u64,
    /// Held time in this interval.
    pub interval_held: u64,
    /// Its longest stretch, cut to the interval.
    pub interval_longest: u64,
    /// Stretch under way, cut to the interval.
    stretch: u64,
    /// Held time when the warm-up ended.
    warm_up_held: u64,
    active: bool,
}

impl PauseMeter {
    fn add_up(&mut self, now: u64) {
        if let Some(since) = self.held_since {
            let more = now - since;
            self.held += more;
            self.interval_held += more;
            self.stretch += more;
            self.interval_longest = self.interval_longest.max(self.stretch);
            self.held_since = Some(now);
        }
    }

    /// Held time since the warm-up ended.
    pub fn measured(&self) -> u64 {
        self.held - self.warm_up_held
    }
}

/// Pause state and meters of every port, hosts first, eight classes each.
#[derive(Debug, Default)]
pub struct Pauses {
    meters: Vec<PauseMeter>,
    /// Meters that moved or were held in this interval.
    active: Vec<u32>,
    /// When a class's hold runs out; meaningful while it is held.
    until: Vec<u64>,
    /// Classes with an expiry in the heap.
    expiry_armed: Vec<u8>,
    /// When the pause of a switch port and pool is sent again.
    refresh_at: Vec<u64>,
    refresh_armed: Vec<bool>,
}

impl Pauses {
    /// State for that many ports.
    pub fn new(hosts: usize, ports: usize) -> Pauses {
        let all = hosts + ports;
        Pauses {
            meters: vec![PauseMeter::default(); all * 8],
            active: Vec::new(),
            until: vec![0; all * 8],
            expiry_armed: vec![0; all],
            refresh_at: vec![0; all * 8],
            refresh_armed: vec![false; all * 8],
        }
    }

    fn meter(&mut self, place: usize, tc: u8) -> &mut PauseMeter {
        let index = place * 8 + usize::from(tc);
        let meter = &mut self.meters[index];
        if !meter.active {
            meter.active = true;
            self.active.push(index as u32);
        }
        meter
    }

    /// A packet was newly marked.
    pub fn mark(&mut self, place: usize, tc: u8) {
        self.meter(place, tc).marked += 1;
    }

    /// PFC frames were sent.
    pub fn sent(&mut self, place: usize, tc: u8, pause: bool, frames: u64) {
        let meter = self.meter(place, tc);
        if pause { meter.xoff_tx += frames } else { meter.xon_tx += frames }
    }

    /// A PFC frame was received.
    pub fn received(&mut self, place: usize, tc: u8, pause: bool) {
        let meter = self.meter(place, tc);
        if pause { meter.xoff_rx += 1 } else { meter.xon_rx += 1 }
    }

    /// A class is held from now on.
    pub fn hold(&mut self, place: usize, tc: u8, now: u64) {
        let meter = self.meter(place, tc);
        if meter.held_since.is_none() {
            meter.held_since = Some(now);
            meter.stretch = 0;
        }
    }

    /// A class is held no longer.
    pub fn release(&mut self, place: usize, tc: u8, now: u64) {
        let meter = self.meter(place, tc);
        meter.add_up(now);
        meter.held_since = None;
        meter.stretch = 0;
    }

    /// Ends an interval at `now`; `row` gets every meter that moved or was held, in order.
    pub fn close(&mut self, now: u64, zeros: bool, mut row: impl FnMut(usize, &PauseMeter)) {
        self.active.sort_unstable();
        for &index in &self.active {
            self.meters[index as usize].add_up(now);
        }
        if zeros {
            self.meters.iter().enumerate().for_each(|(index, meter)| row(index, meter));
        } else {
            for &index in &self.active {
                row(index as usize, &self.meters[index as usize]);
            }
        }
        let meters = &mut self.meters;
        self.active.retain(|&index| {
            let meter = &mut meters[index as usize];
            meter.interval_held = 0;
            meter.interval_longest = 0;
            meter.stretch = 0;
            meter.active = meter.held_since.is_some();
            meter.active
        });
    }

    /// The warm-up ends at `now`.
    pub fn warm_up_ends(&mut self, now: u64) {
        for meter in &mut self.meters {
            meter.add_up(now);
            meter.warm_up_held = meter.held;
        }
    }

    /// Every meter with its place.
    pub fn meters(&self) -> impl Iterator<Item = (usize, &PauseMeter)> {
        self.meters.iter().enumerate()
    }

    /// Arms the end of a hold; `true` if the heap needs an entry for it.
    fn arm_expiry(&mut self, place: usize, tc: u8, until: u64) -> bool {
        self.until[place * 8 + usize::from(tc)] = until;
        let armed = self.expiry_armed[place] >> tc & 1 != 0;
        self.expiry_armed[place] |= 1 << tc;
        !armed
    }
}

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// A switch port pauses its sender for the pool of a class.
    #[cold]
    pub(super) fn send_pause(&mut self, port: usize, tc: u8) {
        let manager = &self.switches[self.ports[port].switch as usize].manager;
        let pool = manager.pool_of(tc);
        self.queue_pause_frames(port, pool);
    }

    /// Queues a pause frame a class of the pool's group and arms the refresh.
    fn queue_pause_frames(&mut self, port: usize, pool: usize) {
        let group = self.queue_group(port, pool, true);
        if !M::PAUSES_EXPIRE {
            return;
        }
        let at = self.now + self.ports[port].line.pause_time(PAUSE_QUANTA) / 2;
        let place = (self.hosts.len() + port) * 8 + pool;
        self.pauses.refresh_at[place] = at;
        if !self.pauses.refresh_armed[place] {
            self.pauses.refresh_armed[place] = true;
            self.schedule_refresh(port, group, at);
        }
    }

    fn schedule_refresh(&mut self, port: usize, group: u8, at: u64) {
        let p = &self.ports[port];
        let node = self.switches[p.switch as usize].node;
        let lowest = group.trailing_zeros() as u8;
        self.schedule(at, Kind::Refresh, order(node, usize::from(p.local), lowest));
    }

    /// A switch port resumes its sender for a pool.
    #[cold]
    pub(super) fn send_resume(&mut self, port: usize, pool: usize) {
        self.pauses.refresh_at[(self.hosts.len() + port) * 8 + pool] = 0;
        self.queue_group(port, pool, false);
    }

    /// Queues one PFC frame a class of a pool's group, in rising order; returns the group.
    fn queue_group(&mut self, port: usize, pool: usize, pause: bool) -> u8 {
        let group = self.switches[self.ports[port].switch as usize].manager.priority_group(pool);
        let (quanta, wire) = (if pause { PAUSE_QUANTA } else { 0 }, self.framing().pfc);
        for tc in (0..8).filter(|tc| group >> tc & 1 != 0) {
            let p = &mut self.ports[port];
            let behind = match M::ROUND_ROBIN {
                // Those that no earlier frame waits for.
                true => p.queues[0].len() as u32 - p.pfc.iter().map(|(_, n)| n).sum::<u32>(),
                false => 0,
            };
            p.pfc.push_back((PfcFrame { tc, quanta, wire }, behind));
        }
        let p = &mut self.ports[port];
        p.pfc_waits = !p.pfc.is_empty();
        if p.pfc_waits && p.free <= self.key {
            self.start_next(port);
        } else if p.pfc_waits {
            self.arm_end(port);
        }
        group
    }

    /// A refresh falls due at a switch port.
    pub(super) fn refresh(&mut self, node: u32, local: usize, lowest: u8) {
        let port = self.port_of(node, local);
        let manager = &self.switches[self.ports[port].switch as usize].manager;
        let pool = manager.pool_of(lowest);
        let place = (self.hosts.len() + port) * 8 + pool;
        self.pauses.refresh_armed[place] = false;
        let at = self.pauses.refresh_at[place];
        if at == self.now {
            self.queue_pause_frames(port, pool);
        } else if at > self.now {
            // Resumed and paused again since: the later pause's own refresh.
            self.pauses.refresh_armed[place] = true;
            let group = manager.priority_group(pool);
            self.schedule_refresh(port, group, at);
        }
    }

    /// The serialization of a PFC frame has ended at a switch port.
    #[cold]
    pub(super) fn count_pfc_sent(&mut self, port: usize) {
        if let Frame::Pfc(frame) = self.ports[port].sending {
            self.pauses.sent(self.hosts.len() + port, frame.tc, frame.pauses(), 1);
            self.tally.count_pfc(frame.pauses(), 1);
        }
    }

    /// A PFC frame arrives at a switch port.
    #[cold]
    pub(super) fn pfc_arrival(&mut self, port: usize, frame: PfcFrame) {
        self.pauses.received(self.hosts.len() + port, frame.tc, frame.pauses());
        if self.plan.pfc_events {
            let p = &self.ports[port];
            let node = self.switches[p.switch as usize].node;
            self.pfc_event(node, u32::from(p.local), frame);
        }
        let switch = &self.switches[self.ports[port].switch as usize];
        let (node, response) = (switch.node, switch.response);
        if response == 0 {
            self.pfc_effect(port, frame, self.now);
        } else {
            let local = usize::from(self.ports[port].local);
            let place = self.hosts.len() + port;
            self.effects[place].push_back(PendingEffect { arrived: self.now, frame });
            let at = self.now + response;
            self.schedule(at, Kind::Effect, order(node, local, frame.tc));
        }
    }

    /// Keeps what was received now.
    fn pfc_event(&mut self, node: u32, port: u32, frame: PfcFrame) {
        let (tc, pause) = (frame.tc, frame.pauses());
        self.rows.pfc_events.push(PfcEventRow { sim_time: self.now, node, port, tc, pause });
    }

    /// A PFC frame takes effect at a switch port.
    fn pfc_effect(&mut self, port: usize, frame: PfcFrame, arrived: u64) {
        let place = self.hosts.len() + port;
        let bit = 1 << frame.tc;
        if frame.pauses() {
            let until = arrived + self.ports[port].line.pause_time(frame.quanta);
            if M::PAUSES_EXPIRE && until <= self.now {
                return;
            }
            self.ports[port].paused |= bit;
            self.pauses.hold(place, frame.tc, self.now);
            if M::PAUSES_EXPIRE && self.pauses.arm_expiry(place, frame.tc, until) {
                let p = &self.ports[port];
                let node = self.switches[p.switch as usize].node;
                let key = order(node, usize::from(p.local), frame.tc);
                self.schedule(until, Kind::Expiry, key);
            }
            if self.circles && self.deadlock.is_none() {
                self.look_for_deadlock(port);
            }
        } else {
            self.release_port(port, frame.tc);
        }
    }

    fn release_port(&mut self, port: usize, tc: u8) {
        let p = &mut self.ports[port];
        if p.paused >> tc & 1 == 0 {
            return;
        }
        p.paused &= !(1 << tc);
        let idle = p.free <= self.key;
        self.pauses.release(self.hosts.len() + port, tc, self.now);
        if idle {
            self.start_next(port);
        }
    }

    /// A PFC frame takes effect after its response time, at a switch port or a host.
    pub(super) fn effect(&mut self, node: u32, local: usize) {
        if (node as usize) < self.hosts.len() {
            if let Some(effect) = self.effects[node as usize].pop_front() {
                self.host_effect(node, effect.frame, effect.arrived, Kind::Effect);
            }
        } else {
            let port = self.port_of(node, local);
            if let Some(effect) = self.effects[self.hosts.len() + port].pop_front() {
                self.pfc_effect(port, effect.frame, effect.arrived);
            }
        }
    }

    /// Has a pause or resume take effect at a host, or schedules it.
    pub(super) fn host_pfc(&mut self, host: u32, frame: PfcFrame) {
        self.pauses.received(host as usize, frame.tc, frame.pauses());
        if self.plan.pfc_events {
            self.pfc_event(host, 0, frame);
        }
        let behaviour = self.host_side.behaviour(host);
        if behaviour.ignore_pfc {
            return;
        }
        if behaviour.response == 0 {
            self.host_effect(host, frame, self.now, Kind::HostArrival);
        } else {
            let at = self.now + behaviour.response;
            self.effects[host as usize].push_back(PendingEffect { arrived: self.now, frame });
            self.schedule(at, Kind::Effect, order(host, 0, frame.tc));
        }
    }

    fn host_effect(&mut self, host: u32, frame: PfcFrame, arrived: u64, kind: Kind) {
        let place = host as usize;
        let held = self.hosts[place].paused() >> frame.tc & 1 != 0;
        if frame.pauses() {
            let until = arrived + self.hosts[place].line().pause_time(frame.quanta);
            if M::PAUSES_EXPIRE && until <= self.now {
                return;
            }
            self.pauses.hold(place, frame.tc, self.now);
            if M::PAUSES_EXPIRE && self.pauses.arm_expiry(place, frame.tc, until) {
                self.schedule(until, Kind::Expiry, order(host, 0, frame.tc));
            }
            if held {
                return;
            }
        } else if !held {
            return;
        } else {
            self.pauses.release(place, frame.tc, self.now);
        }
        self.hold_host(host, kind, frame.tc, frame.pauses());
    }

    /// A pause may have run out.
    pub(super) fn expiry(&mut self, node: u32, local: usize, tc: u8) {
        let is_host = (node as usize) < self.hosts.len();
        let (place, held) = if is_host {
            (node as usize, self.hosts[node as usize].paused())
        } else {
            let port = self.port_of(node, local);
            (self.hosts.len() + port, self.ports[port].paused)
        };
        self.pauses.expiry_armed[place] &= !(1 << tc);
        if held >> tc & 1 == 0 {
            return;
        }
        let until = self.pauses.until[place * 8 + usize::from(tc)];
        if until > self.now {
            // Paused again since this was armed.
            self.pauses.expiry_armed[place] |= 1 << tc;
            self.schedule(until, Kind::Expiry, order(node, local, tc));
        } else if is_host {
            self.pauses.release(place, tc, self.now);
            self.hold_host(node, Kind::Expiry, tc, false);
        } else {
            self.release_port(place - self.hosts.len(), tc);
        }
    }

    /// Place of a switch's port among all switch ports.
    pub(super) fn port_of(&self, node: u32, local: usize) -> usize {
        let switch = node as usize - self.hosts.len();
        self.switches[switch].first_port + local
    }
}

/// Port and class a meter's place stands for.
pub fn meter_parts(index: usize) -> (usize, u8) {
    (index / 8, (index % 8) as u8)
}
