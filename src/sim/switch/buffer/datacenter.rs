//! The `SwitchMmu` of ns3-datacenter, with its `sonic` rules.
//!
//! Rules: pools at ingress and egress are counters of the same bytes. A lossless queue over its
//! ingress threshold takes headroom until that is empty again, and pauses while it has any; a lossy
//! one is refused. Egress has a threshold a queue and a pool a kind. Bytes leave headroom first and
//! are released as transmission starts. Queue 0 is charged nowhere. Reverie has rules of its own:
//! one shared pool without headroom, and lossless packets are tested at ingress only, lossy ones at
//! egress only. Thresholds are [`thresholds`]'s.

mod seen;
mod thresholds;

pub use seen::{DatacenterSeen, DatacenterStart};

use super::watch::{Bound, Off, Watch};
use super::{Arrival, BufferManager, Departed, Enqueued, Place, Seen};
use crate::scenario::{BufferAlgorithm, DatacenterBuffer, Marks};
use crate::sim::link::Line;
use crate::sim::observe::DropReason;
use thresholds::{QUEUES, SideState};

/// Buffer manager of the `ns3-datacenter` model; `W`: whether it keeps what it compared.
#[derive(Debug, Clone)]
pub struct Datacenter<W: Watch = Off> {
    settings: DatacenterBuffer,
    lossless: u8,
    /// Headroom of each queue of a port, by port, and what all may hold together.
    headroom: Vec<u64>,
    headroom_total: u64,
    reserved: u64,
    marks: Vec<Marks>,
    now: u64,
    /// When the first packet came that is charged.
    first: Option<u64>,
    /// Whether the packet that arrives is unscheduled.
    unscheduled: bool,
    /// Bytes each port brought into each queue, reserve and headroom included.
    ingress: SideState,
    /// Bytes queued to leave.
    egress: SideState,
    /// Of the ingress bytes, those in headroom.
    xoff_used: Vec<u64>,
    paused: Vec<bool>,
    total_used: u64,
    xoff_total_used: u64,
    reserved_used: u64,
    /// Egress bytes of lossy and of lossless queues.
    egress_used: [u64; 2],
    compared: Compared<W>,
}

/// Comparisons of those thresholds that other thresholds do not depend on.
#[derive(Debug, Clone)]
struct Compared<W: Watch> {
    /// By port.
    headroom: Vec<W::Bound>,
    headroom_total: W::Bound,
    buffer_pool: W::Bound,
    xon: W::Bound,
    xon_offset: W::Bound,
}

impl Datacenter {
    /// The manager of a switch with these lines at its ports.
    pub fn new(
        settings: &DatacenterBuffer,
        lines: &[Line],
        marks: impl Fn(u64) -> Marks,
    ) -> Datacenter {
        Datacenter::started(settings, lines, marks)
    }
}

impl<W: Watch> Datacenter<W> {
    /// As [`Datacenter::new`], with or without what it compares.
    pub fn started(
        settings: &DatacenterBuffer,
        lines: &[Line],
        marks: impl Fn(u64) -> Marks,
    ) -> Self {
        let headroom: Vec<u64> =
            lines.iter().map(|line| settings.headroom(line.rate, line.delay)).collect();
        let count = lines.len() * QUEUES;
        let of_ports = headroom.iter().fold(0u64, |sum, &port| sum.saturating_add(port));
        let of_all = of_ports.saturating_mul(QUEUES as u64);
        Datacenter {
            settings: *settings,
            lossless: settings.lossless(),
            headroom_total: settings.xoff_total.map_or(of_all, |total| total.0),
            headroom,
            reserved: settings.ingress_reserve.0.saturating_mul(count as u64),
            marks: lines.iter().map(|line| marks(line.rate)).collect(),
            now: 0,
            first: None,
            unscheduled: false,
            ingress: SideState::new(settings.algorithm, lines),
            egress: SideState::new(settings.algorithm, lines),
            xoff_used: vec![0; count],
            paused: vec![false; count],
            total_used: 0,
            xoff_total_used: 0,
            reserved_used: 0,
            egress_used: [0; 2],
            compared: Compared {
                headroom: vec![W::Bound::default(); lines.len()],
                headroom_total: W::Bound::default(),
                buffer_pool: W::Bound::default(),
                xon: W::Bound::default(),
                xon_offset: W::Bound::default(),
            },
        }
    }

    #[inline(always)]
    fn index(port: usize, tc: u8) -> usize {
        port * QUEUES + usize::from(tc & 7)
    }

    /// Whether a class is lossless, as a place in tables of two.
    #[inline(always)]
    fn kind(&self, tc: u8) -> usize {
        usize::from(self.lossless >> tc & 1)
    }

    #[inline]
    fn is_reverie(&self) -> bool {
        self.settings.algorithm == BufferAlgorithm::Reverie
    }

    /// Time since the first packet, ps.
    #[inline(always)]
    fn time(&self) -> u64 {
        self.now - self.first.unwrap_or(self.now)
    }

    /// All bytes but those in headroom.
    #[inline]
    fn outside_headroom(&self) -> u64 {
        self.total_used - self.xoff_total_used
    }

    /// What a queue may hold at ingress now; `unscheduled`: for the sake of such a packet.
    #[inline(always)]
    fn ingress_threshold(&mut self, index: usize, unscheduled: bool) -> i64 {
        let settings = &self.settings;
        let used = self.outside_headroom();
        let (pool, used) = match settings.algorithm {
            BufferAlgorithm::Reverie => (settings.shared_pool.0, used),
            // Headroom may hold bytes that are within a reserve too.
            _ => (
                settings.ingress_pool.0.saturating_sub(self.reserved),
                used.saturating_sub(self.reserved_used),
            ),
        };
        let free = (pool as i64).saturating_sub(used as i64);
        let alpha = match settings.algorithm {
            BufferAlgorithm::Abm | BufferAlgorithm::Fab if unscheduled => {
                settings.alpha_unscheduled
            }
            _ => settings.alpha_ingress,
        };
        let time = self.time();
        self.ingress.threshold(index, alpha, (free, pool), time)
    }

    /// What a queue may hold at egress now, for the sake of the packet that arrives.
    #[inline(always)]
    fn egress_threshold(&mut self, index: usize, (pool, used): (u64, u64)) -> i64 {
        let settings = &self.settings;
        let free = (pool as i64).saturating_sub(used as i64);
        let alpha = match settings.algorithm {
            BufferAlgorithm::Abm | BufferAlgorithm::Fab | BufferAlgorithm::Reverie
                if self.unscheduled =>
            {
                settings.alpha_unscheduled
            }
            _ => settings.alpha_egress,
        };
        let time = self.time();
        self.egress.threshold(index, alpha, (free, pool), time)
    }

    /// The pool of a kind at egress and what is used of it.
    #[inline(always)]
    fn egress_pool(&self, kind: usize) -> (u64, u64) {
        let settings = &self.settings;
        if self.is_reverie() {
            return (settings.shared_pool.0, self.outside_headroom());
        }
        let pool = [settings.egress_pool_lossy.0, settings.egress_pool_lossless.0][kind];
        (pool, self.egress_used[kind])
    }

    /// Reverie tests lossless packets at ingress only and lossy ones at egress only.
    #[inline(always)]
    fn tests(&self, ingress: bool, kind: usize) -> bool {
        !self.is_reverie() || ingress == (kind == 1)
    }

    #[inline(always)]
    fn ingress_refusal(&mut self, port: usize, tc: u8, bytes: u64) -> Option<DropReason> {
        let (index, kind) = (Self::index(port, tc), self.kind(tc));
        if !self.tests(true, kind) {
            return None;
        }
        let after = self.total_used + bytes;
        let pool = self.settings.ingress_pool.0;
        if kind == 1 {
            // Nothing but headroom keeps a lossless packet out while there is room in all: the
            // first one into headroom is not tested against it.
            let xoff = self.xoff_used[index];
            if xoff > 0 {
                if bytes + self.ingress.bytes[index] > self.settings.ingress_reserve.0 {
                    let full = bytes + xoff > self.headroom[port];
                    self.compared.headroom[port].compared(bytes + xoff, !full);
                    if full {
                        return Some(DropReason::IngressHeadroom);
                    }
                }
                let full = bytes + self.xoff_total_used > self.headroom_total;
                self.compared.headroom_total.compared(bytes + self.xoff_total_used, !full);
                if full {
                    return Some(DropReason::IngressHeadroom);
                }
            }
            let full = after > pool.saturating_add(self.headroom_total);
            self.compared.headroom_total.compared(after.saturating_sub(pool), !full);
            if full {
                return Some(DropReason::IngressPool);
            }
        } else {
            let threshold = self.ingress_threshold(index, self.unscheduled);
            let queue = bytes + self.ingress.bytes[index];
            if queue as i64 > threshold && queue > self.settings.ingress_reserve.0 {
                return Some(DropReason::IngressAdmission);
            }
            if after - self.xoff_total_used > pool {
                return Some(DropReason::IngressPool);
            }
        }
        self.over_all(after).then_some(DropReason::IngressPool)
    }

    /// Whether this is more than the whole buffer.
    #[inline]
    fn over_all(&mut self, bytes: u64) -> bool {
        let over = bytes > self.settings.buffer_pool.0;
        self.compared.buffer_pool.compared(bytes, !over);
        over
    }

    #[inline(always)]
    fn egress_refusal(&mut self, port: usize, tc: u8, bytes: u64) -> Option<DropReason> {
        let (index, kind) = (Self::index(port, tc), self.kind(tc));
        if !self.tests(false, kind) {
            return None;
        }
        let (pool, used) = self.egress_pool(kind);
        // Computed in any case: it counts congested queues.
        let threshold = self.egress_threshold(index, (pool, used));
        // A full pool leaves every threshold at 0: the pool is what refuses then.
        if bytes + used > pool || self.over_all(bytes + self.total_used) {
            return Some(DropReason::EgressPool);
        }
        let queue = bytes + self.egress.compared(index);
        (queue as i64 > threshold).then_some(DropReason::EgressQueueLimit)
    }

    /// Keeps the bytes of reserves in use up to date as a queue goes from one length to another.
    #[inline(always)]
    fn count_reserved(&mut self, before: u64, after: u64) {
        let reserve = self.settings.ingress_reserve.0;
        self.reserved_used = self.reserved_used + after.min(reserve) - before.min(reserve);
    }
}

impl<W: Watch> BufferManager for Datacenter<W> {
    const WATCHES: bool = W::ON;
    const RELEASES_AT_START: bool = true;
    const ROUND_ROBIN: bool = true;
    const PAUSES_EXPIRE: bool = false;
    const OWN_FRAMES: bool = true;
    const OWN_MARKS: bool = true;
    const CLOCK: bool = true;
    const COUNTERS: usize = 5;

    fn reserve(&self) -> u64 {
        self.settings.ingress_reserve.0
    }

    fn limits(&self, pool: usize) -> Option<[u64; 5]> {
        if pool == 0 {
            return Some([u64::MAX; 5]);
        }
        let own = &self.settings;
        let lossless = self.lossless >> pool & 1 != 0;
        let headroom = match lossless {
            true => self.headroom.iter().copied().max().unwrap_or(0),
            false => u64::MAX,
        };
        let egress = if lossless { own.egress_pool_lossless.0 } else { own.egress_pool_lossy.0 };
        let shared = own.ingress_pool.0.saturating_sub(self.reserved);
        Some([own.ingress_pool.0, egress, headroom, shared, own.ingress_reserve.0])
    }

    #[inline(always)]
    fn set_now(&mut self, now: u64) {
        self.now = now;
    }

    #[inline]
    fn set_unscheduled(&mut self, unscheduled: bool) {
        self.unscheduled = unscheduled;
    }

    /// Only tests: bytes are charged with the egress port known.
    #[inline(always)]
    fn arrive(&mut self, port: usize, tc: u8, bytes: u64) -> Arrival {
        let refusal = match tc {
            0 => None,
            _ => {
                self.first.get_or_insert(self.now);
                self.ingress_refusal(port, tc, bytes)
            }
        };
        Arrival { admitted: refusal.map_or(Ok(Place::Pool), Err), pause: false }
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
        if let Some(reason) = self.egress_refusal(out_port, tc, bytes) {
            return Err(reason);
        }
        let (from, to) = (Self::index(in_port, tc), Self::index(out_port, tc));
        let (kind, time) = (self.kind(tc), self.time());
        let before = self.ingress.bytes[from];
        self.ingress.add(from, bytes, time);
        self.total_used += bytes;
        self.count_reserved(before, before + bytes);
        let (mut place, mut pause) = (Place::Pool, false);
        if kind == 1 {
            // Computed in any case: it counts congested queues.
            let threshold = self.ingress_threshold(from, self.unscheduled);
            let over = self.xoff_used[from] > 0 || self.ingress.compared(from) as i64 > threshold;
            if over {
                self.xoff_used[from] += bytes;
                self.xoff_total_used += bytes;
                place = Place::Headroom;
            }
            pause = !self.paused[from] && self.xoff_used[from] > 0;
            self.paused[from] |= pause;
        }
        self.egress.add(to, bytes, time);
        self.egress_used[kind] += bytes;
        let headroom = self.xoff_used[from];
        let ingress = match place {
            Place::Pool => self.ingress.bytes[from] - headroom,
            Place::Headroom => headroom,
        };
        Ok(Enqueued { ingress, queue: self.egress.bytes[to], place, pause })
    }

    fn trims(&self) -> bool {
        false
    }

    fn seen(&self) -> Option<Seen> {
        W::ON.then(|| Seen::Datacenter(self.all_compared()))
    }

    fn trim(&mut self, _: usize, _: usize, _: u64) -> Result<Enqueued, DropReason> {
        Err(DropReason::TrimFailed)
    }

    #[inline(always)]
    fn depart(&mut self, in_port: usize, out_port: usize, tc: u8, bytes: u64) -> Departed {
        if tc == 0 {
            return Departed::default();
        }
        let (from, to) = (Self::index(in_port, tc), Self::index(out_port, tc));
        let (time, gamma, kind) = (self.time(), self.settings.gamma, self.kind(tc));
        let from_headroom = self.xoff_used[from].min(bytes);
        self.xoff_used[from] -= from_headroom;
        self.xoff_total_used -= from_headroom;
        let before = self.ingress.bytes[from];
        self.ingress.take(from, bytes, time, gamma);
        self.total_used -= bytes;
        self.count_reserved(before, before - bytes);
        self.egress.take(to, bytes, time, gamma);
        self.egress_used[kind] -= bytes;
        let (held, headroom) = (self.ingress.bytes[from], self.xoff_used[from]);
        let resume = self.paused[from] && headroom == 0 && {
            let (xon, offset) = (self.settings.xon.0, self.settings.xon_offset.0);
            let queue = self.ingress.compared(from);
            let below = queue < xon;
            self.compared.xon.compared(queue + 1, below);
            below || {
                let threshold = self.ingress_threshold(from, false);
                let passes = (queue + offset) as i64 <= threshold;
                // The offset is what may be so large: the comparison is the other way round.
                let beyond = threshold.saturating_sub(queue as i64).saturating_add(1).max(0);
                self.compared.xon_offset.compared(beyond as u64, !passes);
                passes
            }
        };
        if resume {
            self.paused[from] = false;
        }
        Departed {
            from_headroom,
            from_pool: bytes - from_headroom,
            headroom,
            ingress: held - headroom,
            queue: self.egress.bytes[to],
            resume,
        }
    }

    #[inline(always)]
    fn mark_probability(&self, out_port: usize, tc: u8) -> f64 {
        match tc {
            0 => 0.0,
            _ => {
                let queue = self.egress.bytes[Self::index(out_port, tc)];
                self.marks[out_port].probability(queue)
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
        self.lossless >> tc & 1 != 0
    }

    fn priority_group(&self, pool: usize) -> u8 {
        self.lossless & 1 << pool
    }

    fn paused(&self, port: usize, pool: usize) -> bool {
        self.paused[Self::index(port, pool as u8)]
    }

    fn held(&self, port: usize, pool: usize) -> (u64, u64, u64) {
        let index = Self::index(port, pool as u8);
        let headroom = self.xoff_used[index];
        (self.ingress.bytes[index] - headroom, headroom, self.egress.bytes[index])
    }

    fn pool_held(&self, pool: usize) -> (u64, u64) {
        (0..self.headroom.len())
            .map(|port| self.held(port, pool))
            .fold((0, 0), |sum, (occupancy, _, queue)| (sum.0 + occupancy, sum.1 + queue))
    }
}

#[cfg(test)]
mod tests;
