//! Buffer managers: pure state machines that admit, charge and release.
//!
//! Owns the interface every buffer model implements. A manager takes ports, classes and bytes and
//! answers with what happened; it has no clock, no events and no I/O, which is how the worked
//! examples are tested packet by packet. A new model is one file here and one line in the
//! scenario's enum. The network is generic over the manager: no dynamic dispatch per packet.
//!
//! Where switches differ in more than their limits (when bytes are released, who goes next, whether
//! a pause ends by itself) the manager says so in constants, so that no model pays for another.

mod datacenter;
mod hpcc;
mod scala;
mod seen;
pub mod watch;

pub use datacenter::Datacenter;
pub use hpcc::Hpcc;
pub use scala::Scala;
pub use seen::{Seen, Start};

use crate::sim::observe::DropReason;

/// Where an arriving packet was charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The port's share of its pool.
    Pool,
    /// The port's headroom.
    Headroom,
}

/// Answer to [`BufferManager::arrive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Where the packet is charged, or why it is dropped.
    pub admitted: Result<Place, DropReason>,
    /// The port has just paused its sender for the pool.
    pub pause: bool,
}

/// Counters an admitted packet has left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enqueued {
    /// Now charged to the ingress port where the packet was: occupancy or headroom, bytes.
    pub ingress: u64,
    /// Now queued at the egress port for the pool, bytes.
    pub queue: u64,
    /// Where the packet is charged.
    pub place: Place,
    /// The ingress port has just paused its sender for the pool: only of managers that charge
    /// here, not on arrival.
    pub pause: bool,
}

/// Counters a departed packet has left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Departed {
    /// Bytes taken from the ingress port's headroom.
    pub from_headroom: u64,
    /// Bytes taken from the ingress port's occupancy.
    pub from_pool: u64,
    /// Headroom of the ingress port now, bytes.
    pub headroom: u64,
    /// Occupancy of the ingress port now, bytes.
    pub ingress: u64,
    /// Queue of the egress port for the pool now, bytes.
    pub queue: u64,
    /// The ingress port has just resumed its sender.
    pub resume: bool,
}

/// The shared buffer of one switch. Ports are local to the switch, bytes are charged bytes.
pub trait BufferManager {
    /// Bytes are released as the packet's transmission starts, not as it ends.
    const RELEASES_AT_START: bool = false;

    /// Class 0 goes first and is never paused, classes 1 to 7 take turns packet by packet; without
    /// it the highest class that is not paused goes first.
    const ROUND_ROBIN: bool = false;

    /// A pause ends by itself after its quanta, and is sent again before that.
    const PAUSES_EXPIRE: bool = true;

    /// Between NICs of the same projects, frames are as large as theirs.
    const OWN_FRAMES: bool = false;

    /// Marks by [`BufferManager::mark_probability`], not by an average of the queue.
    const OWN_MARKS: bool = false;

    /// Keeps what its thresholds were compared with ([`BufferManager::seen`]).
    const WATCHES: bool = false;

    /// Counters a port and pool that are recorded: the first so many of
    /// [`BuffId::ALL`](crate::sim::observe::BuffId::ALL).
    const COUNTERS: usize = 3;

    /// Bytes of ingress that a port and pool has to itself; read only where that is recorded.
    #[inline]
    fn reserve(&self) -> u64 {
        0
    }

    /// What the recorded counters of a pool are compared with; `None`: the start-up's limits.
    fn limits(&self, pool: usize) -> Option<[u64; 5]> {
        let _ = pool;
        None
    }

    /// Wants to know the time ([`BufferManager::set_now`]).
    const CLOCK: bool = false;

    /// The time of what comes next, ps; called only with [`BufferManager::CLOCK`].
    fn set_now(&mut self, now: u64) {
        let _ = now;
    }

    /// Whether the packet that arrives next is unscheduled; called only with
    /// [`BufferManager::CLOCK`].
    fn set_unscheduled(&mut self, unscheduled: bool) {
        let _ = unscheduled;
    }

    /// Probability with which a packet that has just been released at `out_port` is marked; called
    /// only with [`BufferManager::OWN_MARKS`].
    fn mark_probability(&self, out_port: usize, tc: u8) -> f64 {
        let _ = (out_port, tc);
        0.0
    }

    /// Whether packets of a class are charged at all.
    #[inline]
    fn charges(&self, tc: u8) -> bool {
        let _ = tc;
        true
    }

    /// A packet of class `tc` arrives at a port: charge it or drop it.
    fn arrive(&mut self, port: usize, tc: u8, bytes: u64) -> Arrival;

    /// Offers a packet that has arrived to an egress port. A refusal gives the ingress charge
    /// back. `retransmit`: a retransmission that may be trimmed, for which the limits may be wider.
    fn enqueue(
        &mut self,
        in_port: usize,
        out_port: usize,
        tc: u8,
        bytes: u64,
        place: Place,
        retransmit: bool,
    ) -> Result<Enqueued, DropReason>;

    /// Whether packets that may be trimmed are, where [`BufferManager::enqueue`] refuses them.
    fn trims(&self) -> bool;

    /// A packet that may be trimmed was refused; called only with [`BufferManager::WATCHES`].
    fn refused_trimmable(&mut self) {}

    /// What its thresholds were compared with; `None`: it does not keep it.
    fn seen(&self) -> Option<Seen> {
        None
    }

    /// Offers what trimming leaves of a refused packet to the same egress port, as a packet of
    /// the trimmed class of `bytes` charged bytes. A refusal leaves nothing charged.
    fn trim(&mut self, in_port: usize, out_port: usize, bytes: u64)
    -> Result<Enqueued, DropReason>;

    /// A packet has left by `out_port`, or starts to: release it.
    fn depart(&mut self, in_port: usize, out_port: usize, tc: u8, bytes: u64) -> Departed;

    /// Pool of a class.
    fn pool_of(&self, tc: u8) -> usize;

    /// Whether a class is lossless.
    fn lossless(&self, tc: u8) -> bool;

    /// Lossless classes of a pool, one bit a class.
    fn priority_group(&self, pool: usize) -> u8;

    /// Whether a port has paused its sender for a pool.
    fn paused(&self, port: usize, pool: usize) -> bool;

    /// Occupancy, headroom and egress queue of a port and pool, bytes.
    fn held(&self, port: usize, pool: usize) -> (u64, u64, u64);

    /// Bytes queued to leave by a port, of all pools, the frame in transmission included.
    fn queued(&self, port: usize) -> u64 {
        (0..8).map(|pool| self.held(port, pool).2).sum()
    }

    /// Ingress and egress totals of a pool, bytes.
    fn pool_held(&self, pool: usize) -> (u64, u64);
}
