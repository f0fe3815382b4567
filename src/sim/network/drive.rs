//! The loop: the earliest event, again and again.

use super::{Network, Port, order_parts};
use crate::sim::event::{EventList, Kind, NEVER, Ranked};
use crate::sim::meter::Depth;
use crate::sim::switch::buffer::BufferManager;
use std::cmp::Reverse;

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// No event is left before the end of the job.
    Ended,
    /// The budget of events ran out.
    Budget,
}

/// More events than one can bring about at a time, those counted ahead included.
const FEW_EVENTS: u64 = 64;

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// Handles events until the job ends.
    pub fn run(&mut self) -> Stop {
        loop {
            if let Some(stop) = self.step() {
                return stop;
            }
        }
    }

    /// Handles one event.
    #[inline(always)]
    pub fn step(&mut self) -> Option<Stop> {
        if self.events >= self.watch
            && let Some(stop) = self.watched()
        {
            return Some(stop);
        }
        let key = self.list.first().min(self.rare_key);
        if key >= self.end_key {
            return Some(Stop::Ended);
        }
        self.events += 1;
        self.key = key;
        let now = self.ranks.time(key);
        debug_assert!(now >= self.now, "time never goes back");
        self.now = now;
        match self.ranks.ranked(key) {
            Ranked::TxEnd(port) => self.tx_end(port),
            Ranked::Arrival(port) => self.arrival(port),
            Ranked::NicTxEnd(host) => self.nic_tx_end(host),
            Ranked::NicArrival(host) => self.nic_arrival(host),
            Ranked::NicTimer(host) => self.nic_timer(host),
            Ranked::Rare => self.rare_event(),
        }
        None
    }

    /// From so many events on every event has to count when it happens, so that the budget ends
    /// where it would if nothing were counted ahead.
    pub(super) fn near_budget(&self) -> u64 {
        let ahead = if self.quiet_ends { self.ports.len() as u64 } else { 0 };
        match self.quiet_ends || self.late {
            true => self.budget.saturating_sub(FEW_EVENTS + ahead),
            false => self.budget,
        }
    }

    /// The budget of events runs out soon, or now; or the packets on their way to hosts may be the
    /// last ones.
    #[cold]
    fn watched(&mut self) -> Option<Stop> {
        self.end_lateness();
        if self.quiet_ends && self.events >= self.near_budget() {
            self.quiet_ends = false;
            for port in 0..self.ports.len() {
                if self.ports[port].free > self.key {
                    self.arm_end(port);
                }
            }
        }
        self.watch = self.near_budget();
        let ended = self.list.first().min(self.rare_key) >= self.end_key;
        match ended {
            true => Some(Stop::Ended),
            false => (self.events >= self.budget).then_some(Stop::Budget),
        }
    }

    /// Takes back ends of frames that were counted and do not happen.
    pub(super) fn uncount_ends(&mut self) {
        let ended = |port: &&Port| port.free >= self.end_key && !port.is_sending();
        self.events -= self.ports.iter().filter(ended).count() as u64;
    }

    #[cold]
    fn rare_event(&mut self) {
        let Some(Reverse(entry)) = self.rare.pop() else { return };
        let (key, order) = ((entry >> 64) as u64, entry as u64);
        self.rare_key = self.rare.peek().map_or(NEVER, |Reverse(next)| (next >> 64) as u64);
        let (node, port, class) = order_parts(order);
        let kind = |kind| self.ranks.rare(self.now, kind) == key;
        let is_host = (node as usize) < self.hosts.len();
        if kind(Kind::Report) {
            self.report(order);
        } else if kind(Kind::Service) {
            if self.nics.is_some() {
                self.nic_release(node);
            } else {
                self.service_end(node);
            }
        } else if kind(Kind::HostArrival) {
            self.host_arrival(node);
        } else if kind(Kind::Effect) {
            self.effect(node, port);
        } else if kind(Kind::Expiry) {
            self.expiry(node, port, class);
        } else if kind(Kind::Refresh) {
            if is_host {
                self.host_refresh(node, class);
            } else {
                self.refresh(node, port, class);
            }
        } else if kind(Kind::FlowStart) {
            if self.nics.is_some() {
                self.nic_flows(node);
            } else {
                self.wake(node);
            }
        } else {
            unreachable!("no other rare kind is scheduled");
        }
    }
}
