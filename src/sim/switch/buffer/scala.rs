//! The documented Scala switch, default policy and UET policy.
//!
//! Rules: headroom first once a port has paused, pools at ingress and at egress, egress limits
//! for lossy classes, pause above Xoff, resume at Xon with headroom empty. The UET policy differs
//! in its start-up, in the wider limit of trimmable retransmits and in trimming.

mod seen;

pub use seen::ScalaSeen;

use super::watch::{Bound, Limits, Off, Watch};
use super::{Arrival, BufferManager, Departed, Enqueued, Place, Seen};
use crate::scenario::Role;
use crate::scenario::startup::{LimitForm, Startup};
use crate::sim::observe::DropReason;

/// Counters of one port in one pool.
#[derive(Debug, Clone, Copy, Default)]
struct PortPool {
    /// Bytes the port brought into the pool.
    occupancy: u64,
    /// Bytes in the port's headroom.
    headroom: u64,
    /// Bytes queued to leave by the port.
    queue: u64,
    /// The port has paused its sender.
    paused: bool,
}

/// Totals and limits of one pool.
#[derive(Debug, Clone, Default)]
struct Pool<W: Watch> {
    size: u64,
    ingress: u64,
    egress: u64,
    /// Fixed limit of an egress queue; not read with a dynamic limit.
    limit: u64,
    /// That of trimmable retransmits.
    retransmit_limit: u64,
    /// Headroom of a port in this pool.
    headroom: u64,
    group: u8,
    exists: bool,
    compared: Compared<W>,
}

/// Comparisons of one pool's limits.
#[derive(Debug, Clone, Default)]
struct Compared<W: Watch> {
    size: W::Bound,
    limit: W::Bound,
    retransmit_limit: W::Bound,
    dynamic: W::Limits,
    headroom: W::Bound,
}

/// Shared buffer manager of the Scala switch; `W`: whether it keeps what it compared.
#[derive(Debug, Clone)]
pub struct Scala<W: Watch = Off> {
    class_pool: [u8; 8],
    lossless: u8,
    xoff: u64,
    xon: u64,
    /// Dynamic egress limit's factor; `None`: fixed limits.
    alpha: Option<f64>,
    trims: bool,
    /// A packet that may be trimmed was refused.
    trimmable: bool,
    xoff_compared: W::Bound,
    xon_compared: W::Bound,
    pools: [Pool<W>; 8],
    /// Port-major, `stride` pools a port.
    ports: Vec<PortPool>,
    stride: usize,
}

impl Scala {
    /// The manager of a switch with `ports` connected ports, as its start-up laid it out.
    pub fn new(startup: &Startup, ports: usize) -> Scala {
        Scala::started(startup, ports)
    }
}

impl<W: Watch> Scala<W> {
    /// As [`Scala::new`], with or without what it compares.
    pub fn started(startup: &Startup, ports: usize) -> Self {
        let mut pools: [Pool<W>; 8] = Default::default();
        let mut stride = 1;
        for (index, pool) in startup.pools.iter().enumerate() {
            if let Some(pool) = pool {
                pools[index] = Pool {
                    size: pool.size,
                    ingress: 0,
                    egress: 0,
                    limit: pool.static_limit,
                    retransmit_limit: retransmit_limit(startup.limit, pool.static_limit),
                    headroom: pool.headroom_per_port,
                    group: pool.priority_group,
                    exists: true,
                    compared: Compared::default(),
                };
                stride = index + 1;
            }
        }
        Scala {
            class_pool: startup.class_pool,
            lossless: startup.lossless,
            xoff: startup.xoff,
            xon: startup.xon,
            alpha: match startup.limit {
                LimitForm::Alpha(alpha) => Some(alpha),
                LimitForm::EvenSplit | LimitForm::FixedCap | LimitForm::Uet { .. } => None,
            },
            trims: startup.limit == LimitForm::Uet { trimming: true },
            trimmable: false,
            xoff_compared: W::Bound::default(),
            xon_compared: W::Bound::default(),
            pools,
            ports: vec![PortPool::default(); ports * stride],
            stride,
        }
    }

    #[inline]
    fn index(&self, port: usize, pool: usize) -> usize {
        port * self.stride + pool
    }
}

/// Limit of trimmable retransmits, where the others' is `limit`, bytes.
fn retransmit_limit(form: LimitForm, limit: u64) -> u64 {
    match form {
        LimitForm::Uet { .. } => limit + limit / 2,
        LimitForm::Alpha(_) | LimitForm::EvenSplit | LimitForm::FixedCap => limit,
    }
}

impl<W: Watch> BufferManager for Scala<W> {
    const WATCHES: bool = W::ON;

    #[inline(always)]
    fn arrive(&mut self, port: usize, tc: u8, bytes: u64) -> Arrival {
        let p = self.pool_of(tc);
        let index = self.index(port, p);
        let at = &mut self.ports[index];
        let pool = &mut self.pools[p];
        let mut pause = false;
        if self.lossless >> tc & 1 != 0 {
            if at.paused {
                let full = at.headroom + bytes > pool.headroom;
                pool.compared.headroom.compared(at.headroom + bytes, !full);
                if full {
                    return Arrival { admitted: Err(DropReason::IngressHeadroom), pause };
                }
                at.headroom += bytes;
                return Arrival { admitted: Ok(Place::Headroom), pause };
            }
            pause = at.occupancy + bytes > self.xoff;
            self.xoff_compared.compared(at.occupancy + bytes, !pause);
            at.paused = pause;
        }
        let full = pool.ingress + bytes > pool.size;
        pool.compared.size.compared(pool.ingress + bytes, !full);
        if full {
            return Arrival { admitted: Err(DropReason::IngressPool), pause };
        }
        at.occupancy += bytes;
        pool.ingress += bytes;
        Arrival { admitted: Ok(Place::Pool), pause }
    }

    #[inline(always)]
    fn enqueue(
        &mut self,
        in_port: usize,
        out_port: usize,
        tc: u8,
        bytes: u64,
        place: Place,
        retransmit: bool,
    ) -> Result<Enqueued, DropReason> {
        let p = self.pool_of(tc);
        let from = self.index(in_port, p);
        let to = self.index(out_port, p);
        let pool = &mut self.pools[p];
        if self.lossless >> tc & 1 == 0 {
            let queued = self.ports[to].queue + bytes;
            let refused = match self.alpha {
                Some(alpha) => queued as f64 > alpha * pool.size.saturating_sub(pool.egress) as f64,
                None => queued > pool.limit && !(retransmit && queued <= pool.retransmit_limit),
            };
            // Whatever form is in force: all forms refuse what is more than their limit.
            match retransmit {
                true => pool.compared.retransmit_limit.compared(queued, !refused),
                false => pool.compared.limit.compared(queued, !refused),
            }
            pool.compared.dynamic.offered(queued, pool.egress, !refused);
            let reason = if refused {
                Some(DropReason::EgressQueueLimit)
            } else {
                let full = pool.egress + bytes > pool.size;
                pool.compared.size.compared(pool.egress + bytes, !full);
                full.then_some(DropReason::EgressPool)
            };
            if let Some(reason) = reason {
                self.ports[from].occupancy -= bytes;
                pool.ingress -= bytes;
                return Err(reason);
            }
        }
        pool.egress += bytes;
        self.ports[to].queue += bytes;
        let queue = self.ports[to].queue;
        let at = &self.ports[from];
        let ingress = match place {
            Place::Pool => at.occupancy,
            Place::Headroom => at.headroom,
        };
        Ok(Enqueued { ingress, queue, place, pause: false })
    }

    #[inline]
    fn trims(&self) -> bool {
        self.trims
    }

    fn refused_trimmable(&mut self) {
        self.trimmable = true;
    }

    fn seen(&self) -> Option<Seen> {
        W::ON.then(|| Seen::Scala(Box::new(self.compared())))
    }

    #[cold]
    #[inline(never)]
    fn trim(
        &mut self,
        in_port: usize,
        out_port: usize,
        bytes: u64,
    ) -> Result<Enqueued, DropReason> {
        // The start-up refuses trimming beside a lossless class: nothing here pauses or takes
        // headroom.
        let tc = Role::Trimmed.class();
        let place = self.arrive(in_port, tc, bytes).admitted;
        place
            .and_then(|place| self.enqueue(in_port, out_port, tc, bytes, place, false))
            .map_err(|_| DropReason::TrimFailed)
    }

    #[inline(always)]
    fn depart(&mut self, in_port: usize, out_port: usize, tc: u8, bytes: u64) -> Departed {
        let p = self.pool_of(tc);
        let from = self.index(in_port, p);
        let to = self.index(out_port, p);
        let pool = &mut self.pools[p];
        self.ports[to].queue -= bytes;
        pool.egress -= bytes;
        let queue = self.ports[to].queue;
        let at = &mut self.ports[from];
        let lossless = self.lossless >> tc & 1 != 0;
        let from_headroom = if lossless { bytes.min(at.headroom) } else { 0 };
        let from_pool = bytes - from_headroom;
        at.headroom -= from_headroom;
        at.occupancy -= from_pool;
        pool.ingress -= from_pool;
        let asks = lossless && at.paused && at.headroom == 0;
        let resume = asks && at.occupancy <= self.xon;
        if W::ON && asks {
            self.xon_compared.compared(at.occupancy, resume);
        }
        if resume {
            at.paused = false;
        }
        Departed {
            from_headroom,
            from_pool,
            headroom: at.headroom,
            ingress: at.occupancy,
            queue,
            resume,
        }
    }

    #[inline]
    fn pool_of(&self, tc: u8) -> usize {
        usize::from(self.class_pool[usize::from(tc & 7)] & 7)
    }

    #[inline]
    fn lossless(&self, tc: u8) -> bool {
        self.lossless >> tc & 1 != 0
    }

    fn priority_group(&self, pool: usize) -> u8 {
        self.pools[pool].group
    }

    fn paused(&self, port: usize, pool: usize) -> bool {
        pool < self.stride && self.ports[self.index(port, pool)].paused
    }

    fn held(&self, port: usize, pool: usize) -> (u64, u64, u64) {
        if pool >= self.stride {
            return (0, 0, 0);
        }
        let at = &self.ports[self.index(port, pool)];
        (at.occupancy, at.headroom, at.queue)
    }

    fn pool_held(&self, pool: usize) -> (u64, u64) {
        (self.pools[pool].ingress, self.pools[pool].egress)
    }
}

#[cfg(test)]
mod tests;
