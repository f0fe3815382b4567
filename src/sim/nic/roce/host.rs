//! The sending side of one NIC: whose turn it is, its fetches and its deadlines.

use super::timers::Timers;
use crate::sim::nic::NEVER;
use crate::sim::nic::host_link::{Fetcher, Pace};
use crate::sim::nic::turns::Turns;
use std::collections::VecDeque;

/// One NIC.
#[derive(Debug, Clone)]
pub struct Host {
    /// Line rate, bit/s.
    pub line: u64,
    /// Time of bytes at it.
    pub pace: Pace,
    /// Host link.
    pub fetcher: Fetcher,
    /// Deadlines of its queue pairs.
    pub timers: Timers,
    /// Next time packets are generated, or [`NEVER`].
    pub at: u64,
    /// Queue pairs with something to send.
    pub turns: Turns,
    /// Queue pairs whose reply waits for room in the control pool.
    pub owed: VecDeque<u32>,
}

impl Host {
    /// An idle NIC: line rate and host link's rate in bit/s.
    pub fn new(line: u64, host_link: u64) -> Host {
        Host {
            line,
            pace: Pace::new(line),
            fetcher: Fetcher::new(Pace::new(host_link)),
            timers: Timers::default(),
            at: NEVER,
            turns: Turns::default(),
            owed: VecDeque::new(),
        }
    }

    /// Packets are generated from `at` on unless they are already going to be.
    #[inline]
    pub fn kick(&mut self, at: u64) {
        if self.at == NEVER {
            self.at = at;
        }
    }
}
