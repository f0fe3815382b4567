//! Buffer managers: pure state machines that admit, charge and release.
//!
//! Owns the interface every buffer model implements. A manager takes ports, classes and bytes and
//! answers with what happened; it has no clock, no events and no I/O, which is how the worked
//! examples are tested packet by packet. A new model is one file here and one line in the
//! scenario's enum. The network is generic over the manager: no dynamic dispatch per packet.

mod scala;

pub use scala::Scala;

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
}

/// Counters a departed packet has left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    /// Offers what trimming leaves of a refused packet to the same egress port, as a packet of
    /// the trimmed class of `bytes` charged bytes. A refusal leaves nothing charged.
    fn trim(&mut self, in_port: usize, out_port: usize, bytes: u64)
    -> Result<Enqueued, DropReason>;

    /// A packet has left by `out_port`: release it.
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
