//! Deadlines of the queue pairs at one host.
//!
//! Owns their order. An entry may stand earlier than what it stands for is due: a deadline that
//! moves back costs nothing, the entry is put back as it comes up. A queue pair has one entry of
//! a kind at most, which its owner keeps track of, so that entries are as many as queue pairs and
//! come up once in a timeout each. Refuses to know what is due.

use crate::sim::nic::NEVER;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What may fall due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An acknowledgement has been held long enough.
    Ack,
    /// The time between two CNPs is over.
    Cnp,
    /// Nothing has been acknowledged for long.
    Retransmit,
}

/// Deadlines of a host, the earliest first; equal ones by kind, then by queue pair.
#[derive(Debug, Clone, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, Kind, u32)>>,
}

impl Timers {
    /// Adds an entry.
    pub fn push(&mut self, at: u64, kind: Kind, pair: u32) {
        self.heap.push(Reverse((at, kind, pair)));
    }

    /// The earliest entry's time, or [`NEVER`].
    #[inline]
    pub fn earliest(&self) -> u64 {
        self.heap.peek().map_or(NEVER, |Reverse((at, ..))| *at)
    }

    /// Takes the earliest entry if it has come up.
    pub fn pop(&mut self, now: u64) -> Option<(Kind, u32)> {
        if self.earliest() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, kind, pair))| (kind, pair))
    }
}
