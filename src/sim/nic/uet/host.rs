//! What the connections of one host share: turns, timers, the host link, control packets.
//!
//! Owns the order in which groups take turns and the deadlines of a host. Refuses to know what
//! happens at a deadline.

use super::super::egress::Egress;
use super::super::host_link::Fetcher;
use super::super::{NEVER, Outgoing};
use super::nscc::Gains;
use super::spray::Spraying;
use super::wire::CONTROL;
use crate::sim::random::Stream;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A transmission something falls due for: when, its connection, its number.
pub type Due = (u64, u32, u32);

/// A transmission that counts as failed then: when, its end, its connection, its number.
pub type Failure = (u64, u64, u32, u32);

/// Retransmission timers of a host: transmissions of one timeout stand in the order in which they
/// left, so that a timer costs a push, and an acknowledgement nothing: what it makes void is
/// skipped at the head.
#[derive(Debug)]
pub struct Timers {
    /// By backoff level: its timeout and what waits for it.
    levels: Vec<(u64, VecDeque<Due>)>,
    /// No later than the earliest.
    next: u64,
}

impl Timers {
    /// One level for each timeout.
    pub fn new(timeouts: &[u64]) -> Timers {
        let levels = timeouts.iter().map(|&timeout| (timeout, VecDeque::new())).collect();
        Timers { levels, next: NEVER }
    }

    /// Starts the timer of a transmission that leaves at `end` after so many retransmissions.
    #[inline]
    pub fn start(&mut self, end: u64, tries: u8, connection: u32, psn: u32) {
        let level = usize::from(tries).min(self.levels.len() - 1);
        let (timeout, queue) = &mut self.levels[level];
        let at = end.saturating_add(*timeout);
        if queue.is_empty() {
            self.next = self.next.min(at);
        }
        queue.push_back((at, connection, psn));
    }

    /// No later than the earliest timer, [`NEVER`] without one.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The earliest timer due at `now`. Void ones at the heads go, due or not; `left` says when
    /// the transmission that a timer is for left, unless it is void.
    pub fn pop(&mut self, now: u64, mut left: impl FnMut(u32, u32) -> Option<u64>) -> Option<Due> {
        let mut earliest: Option<(u64, usize)> = None;
        for (level, (timeout, queue)) in self.levels.iter_mut().enumerate() {
            // Of all transmissions of a host only one has its end.
            while let Some(&(at, connection, psn)) = queue.front()
                && left(connection, psn).is_none_or(|end| end.saturating_add(*timeout) != at)
            {
                queue.pop_front();
            }
            if let Some(&(at, ..)) = queue.front()
                && earliest.is_none_or(|(before, _)| at < before)
            {
                earliest = Some((at, level));
            }
        }
        self.next = earliest.map_or(NEVER, |(at, _)| at);
        match earliest {
            Some((at, level)) if at <= now => self.levels[level].1.pop_front(),
            _ => None,
        }
    }
}

/// A host.
#[derive(Debug)]
pub struct Host {
    /// Constants of its windows.
    pub gains: Gains,
    /// How its groups choose entropies.
    pub spraying: Spraying,
    /// For those choices only.
    pub draws: Stream,
    /// Groups with a turn to come, with their generations.
    pub ready: VecDeque<(u32, u32)>,
    /// When a pass of the transmit process is due after a message was posted.
    pub start: u64,
    /// Retransmission timers.
    pub timers: Timers,
    /// Deadlines of early failure detection; they may be void.
    pub failures: BinaryHeap<Reverse<Failure>>,
    /// Fetches of payload.
    pub fetcher: Fetcher,
    /// When the last acknowledgement may leave.
    pub held_until: u64,
    /// Control packets its port had no room for, with their readiness.
    unqueued: VecDeque<(u64, Outgoing)>,
}

impl Host {
    /// A host at rest.
    pub fn new(
        gains: Gains,
        spraying: Spraying,
        draws: Stream,
        timers: Timers,
        fetcher: Fetcher,
    ) -> Host {
        Host {
            gains,
            spraying,
            draws,
            ready: VecDeque::new(),
            start: NEVER,
            timers,
            failures: BinaryHeap::new(),
            fetcher,
            held_until: 0,
            unqueued: VecDeque::new(),
        }
    }

    /// Earliest deadline; may be early.
    #[inline]
    pub fn deadline(&self) -> u64 {
        let failure = self.failures.peek().map_or(NEVER, |Reverse((at, ..))| *at);
        self.start.min(self.timers.next()).min(failure)
    }

    /// Queues a control packet, or keeps it until there is room for it and those before it.
    #[inline]
    pub fn queue_control(&mut self, ready: u64, packet: Outgoing, egress: &mut Egress) {
        self.queue_unqueued(egress);
        if self.unqueued.is_empty() && egress.reserve(CONTROL, packet.ip) {
            egress.queue(ready, packet);
        } else {
            self.unqueued.push_back((ready, packet));
        }
    }

    /// Queues control packets that were kept, as far as there is room.
    #[inline]
    pub fn queue_unqueued(&mut self, egress: &mut Egress) {
        while let Some(&(ready, packet)) = self.unqueued.front() {
            if !egress.reserve(CONTROL, packet.ip) {
                return;
            }
            egress.queue(ready, packet);
            self.unqueued.pop_front();
        }
    }
}
