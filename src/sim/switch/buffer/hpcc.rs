//! The `SwitchMmu` of HPCC's ns-3 code.
//!
//! Rules: a port and queue fills its reserve, then shared bytes up to a threshold that is a share
//! of what is free, then headroom; it pauses at the threshold or with anything in headroom, and
//! resumes an offset below the threshold. Bytes leave headroom first, whichever packet leaves, and
//! are released as transmission starts. Egress refuses nothing. Queue 0 is charged nowhere.

mod seen;

pub use seen::{HpccSeen, HpccStart};

use super::watch::{Bound, Off, Watch};
use super::{Arrival, BufferManager, Departed, Enqueued, Place, Seen};
use crate::scenario::{HpccBuffer, Marks};
use crate::sim::link::Line;
use crate::sim::observe::DropReason;

/// Queues a port.
const QUEUES: usize = 8;

/// Counters of one queue of a port.
#[derive(Debug, Clone, Copy, Default)]
struct Queue {
    /// Bytes the port brought into the queue, without headroom.
    ingress: u64,
    headroom: u64,
    /// Bytes queued to leave by the port.
    egress: u64,
    paused: bool,
}

/// What does not change of one port.
#[derive(Debug, Clone, Copy)]
struct Limits<W: Watch> {
    /// Headroom of each of its queues.
    headroom: u64,
    headroom_compared: W::Bound,
    shift: u32,
    /// 2^shift.
    times: u64,
    marks: Marks,
}

/// Buffer manager of the `hpcc` model; `W`: whether it keeps what it compared.
#[derive(Debug, Clone)]
pub struct Hpcc<W: Watch = Off> {
    reserve: u64,
    resume_offset: u64,
    /// Bytes that queues may share: the buffer less one headroom and one reserve a port.
    shared: u64,
    shared_used: u64,
    shared_compared: W::Bound,
    limits: Vec<Limits<W>>,
    /// Port-major.
    queues: Vec<Queue>,
}

impl Hpcc {
    /// The manager of a switch with these lines at its ports. `host_rate`, bit/s, is the one at
    /// which a port has the whole shift. Shared space below 0, which checks refuse, is 0 here.
    pub fn new(
        settings: &HpccBuffer,
        lines: &[Line],
        marks: impl Fn(u64) -> Marks,
        host_rate: u64,
    ) -> Hpcc {
        Hpcc::started(settings, lines, marks, host_rate)
    }
}

impl<W: Watch> Hpcc<W> {
    /// As [`Hpcc::new`], with or without what it compares.
    pub fn started(
        settings: &HpccBuffer,
        lines: &[Line],
        marks: impl Fn(u64) -> Marks,
        host_rate: u64,
    ) -> Self {
        let limits: Vec<Limits<W>> = lines
            .iter()
            .map(|line| {
                let shift = settings.shift_at(line.rate, host_rate);
                Limits {
                    headroom: settings.headroom(line.rate, line.delay),
                    headroom_compared: W::Bound::default(),
                    shift,
                    times: 1u64.checked_shl(shift).unwrap_or(u64::MAX),
                    marks: marks(line.rate),
                }
            })
            .collect();
        let headroom = limits.iter().fold(0u64, |sum, port| sum.saturating_add(port.headroom));
        let reserves = settings.reserve.0.saturating_mul(lines.len() as u64);
        Hpcc {
            reserve: settings.reserve.0,
            resume_offset: settings.resume_offset.0,
            shared: settings.buffer_size.0.saturating_sub(headroom).saturating_sub(reserves),
            shared_used: 0,
            shared_compared: W::Bound::default(),
            queues: vec![Queue::default(); lines.len() * QUEUES],
            limits,
        }
    }

    #[inline]
    fn index(port: usize, tc: u8) -> usize {
        port * QUEUES + usize::from(tc & 7)
    }

    /// Shared bytes a queue of a port may hold now.
    #[inline]
    fn threshold(&self, port: usize) -> u64 {
        self.shared.saturating_sub(self.shared_used) >> self.limits[port].shift
    }

    /// `bytes` of a queue of a port were at most its threshold, or not: the shared bytes were at
    /// least what is used and 2^shift times that, or not.
    #[inline]
    fn compared(&mut self, port: usize, bytes: u64, passed: bool) {
        if W::ON {
            let least = bytes.saturating_mul(self.limits[port].times);
            let least = least.saturating_add(self.shared_used);
            self.shared_compared.compared(least, passed);
        }
    }
}

impl<W: Watch> BufferManager for Hpcc<W> {
    const WATCHES: bool = W::ON;
    const RELEASES_AT_START: bool = true;
    const ROUND_ROBIN: bool = true;
    const PAUSES_EXPIRE: bool = false;
    const OWN_FRAMES: bool = true;
    const OWN_MARKS: bool = true;
    const COUNTERS: usize = 5;

    fn reserve(&self) -> u64 {
        self.reserve
    }

    fn limits(&self, pool: usize) -> Option<[u64; 5]> {
        if pool == 0 {
            return Some([u64::MAX; 5]);
        }
        // Of an empty switch, at the port that may hold most.
        let shared = (0..self.limits.len()).map(|port| self.threshold(port)).max().unwrap_or(0);
        let headroom = self.limits.iter().map(|port| port.headroom).max().unwrap_or(0);
        Some([self.reserve + shared, self.shared, headroom, shared, self.reserve])
    }

    /// Only tests: bytes are charged with the egress port known.
    #[inline(always)]
    fn arrive(&mut self, port: usize, tc: u8, bytes: u64) -> Arrival {
        let queue = &self.queues[Self::index(port, tc)];
        let (headroom, over) =
            (bytes + queue.headroom, bytes + queue.ingress.saturating_sub(self.reserve));
        let full = tc != 0 && headroom > self.limits[port].headroom;
        let refused = full && over > self.threshold(port);
        if W::ON && tc != 0 {
            // Either of the two lets it in; what the other one says is free then.
            if full {
                self.compared(port, over, !refused);
            }
            if !full || refused {
                self.limits[port].headroom_compared.compared(headroom, !full);
            }
        }
        let admitted = if refused { Err(DropReason::IngressAdmission) } else { Ok(Place::Pool) };
        Arrival { admitted, pause: false }
    }

    #[inline(always)]
    fn enqueue(
        &mut self,
        in_port: usize,
        out_port: usize,
        tc: u8,
        bytes: u64,
        place: Place,
        _retransmit: bool,
    ) -> Result<Enqueued, DropReason> {
        if tc == 0 {
            return Ok(Enqueued { ingress: 0, queue: 0, place, pause: false });
        }
        let threshold = self.threshold(in_port);
        let after = self.queues[Self::index(in_port, tc)].ingress + bytes;
        let over = after.saturating_sub(self.reserve);
        self.compared(in_port, over, over <= threshold);
        let from = &mut self.queues[Self::index(in_port, tc)];
        let place = if over > threshold {
            from.headroom += bytes;
            Place::Headroom
        } else {
            from.ingress = after;
            self.shared_used += over.min(bytes);
            Place::Pool
        };
        let to = &mut self.queues[Self::index(out_port, tc)];
        to.egress += bytes;
        let queue = to.egress;
        let threshold = self.threshold(in_port);
        let from = &mut self.queues[Self::index(in_port, tc)];
        let shared = from.ingress.saturating_sub(self.reserve);
        let pause = !from.paused && (from.headroom > 0 || shared >= threshold);
        let asked = !from.paused && from.headroom == 0;
        from.paused |= pause;
        let ingress = match place {
            Place::Pool => from.ingress,
            Place::Headroom => from.headroom,
        };
        if W::ON && asked {
            self.compared(in_port, shared + 1, !pause);
        }
        Ok(Enqueued { ingress, queue, place, pause })
    }

    fn trims(&self) -> bool {
        false
    }

    fn seen(&self) -> Option<Seen> {
        W::ON.then(|| Seen::Hpcc(self.all_compared()))
    }

    fn trim(&mut self, _: usize, _: usize, _: u64) -> Result<Enqueued, DropReason> {
        Err(DropReason::TrimFailed)
    }

    #[inline(always)]
    fn depart(&mut self, in_port: usize, out_port: usize, tc: u8, bytes: u64) -> Departed {
        if tc == 0 {
            return Departed::default();
        }
        let to = &mut self.queues[Self::index(out_port, tc)];
        to.egress -= bytes;
        let queue = to.egress;
        let from = &mut self.queues[Self::index(in_port, tc)];
        let from_headroom = from.headroom.min(bytes);
        let from_pool = bytes - from_headroom;
        self.shared_used -= from_pool.min(from.ingress.saturating_sub(self.reserve));
        from.headroom -= from_headroom;
        from.ingress -= from_pool;
        let (headroom, ingress, paused) = (from.headroom, from.ingress, from.paused);
        let shared = ingress.saturating_sub(self.reserve);
        let resume = paused
            && headroom == 0
            && (shared == 0 || shared + self.resume_offset <= self.threshold(in_port));
        if W::ON && paused && headroom == 0 && shared > 0 {
            self.compared(in_port, shared + self.resume_offset, resume);
        }
        if resume {
            self.queues[Self::index(in_port, tc)].paused = false;
        }
        Departed { from_headroom, from_pool, headroom, ingress, queue, resume }
    }

    #[inline]
    fn mark_probability(&self, out_port: usize, tc: u8) -> f64 {
        match tc {
            0 => 0.0,
            _ => {
                let queue = self.queues[Self::index(out_port, tc)].egress;
                self.limits[out_port].marks.probability(queue)
            }
        }
    }

    #[inline]
    fn charges(&self, tc: u8) -> bool {
        tc != 0
    }

    #[inline]
    fn pool_of(&self, tc: u8) -> usize {
        usize::from(tc & 7)
    }

    #[inline]
    fn lossless(&self, tc: u8) -> bool {
        tc != 0
    }

    fn priority_group(&self, pool: usize) -> u8 {
        if pool == 0 { 0 } else { 1 << pool }
    }

    fn paused(&self, port: usize, pool: usize) -> bool {
        self.queues[Self::index(port, pool as u8)].paused
    }

    fn held(&self, port: usize, pool: usize) -> (u64, u64, u64) {
        let queue = &self.queues[Self::index(port, pool as u8)];
        (queue.ingress, queue.headroom, queue.egress)
    }

    fn pool_held(&self, pool: usize) -> (u64, u64) {
        let queues = self.queues.iter().skip(pool).step_by(QUEUES);
        queues.fold((0, 0), |sum, queue| (sum.0 + queue.ingress, sum.1 + queue.egress))
    }
}

#[cfg(test)]
mod tests;
