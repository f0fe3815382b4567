//! What the buffers of whole switches hold: the rows of `switch_buffers`.
//!
//! Owns the extremes of every sum over ports. Counts and time-weighted sums of a switch are those
//! of its ports added up when an interval ends; only extremes have to be followed change by change.

use super::Network;
use crate::sim::event::EventList;
use crate::sim::meter::{Depth, Extremes};
use crate::sim::observe::{BuffId, Occupancy, Side, SwitchBuff, SwitchBufferRow};
use crate::sim::switch::buffer::BufferManager;

/// Places of a pool among the sums of a switch: ingress by side, egress by side, the pool itself.
const EGRESS: usize = 2;
const POOL: usize = 4;
const PLACES: usize = 5;

/// Changes and integral of each sum of each switch in one interval.
#[derive(Debug, Default)]
pub struct Sums(Vec<(u64, u128)>);

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// Sums of a switch: some a pool, and last one for everything.
    pub(super) fn sums_per_switch(stride: usize) -> usize {
        stride * PLACES + 1
    }

    /// A packet was charged to port `from` and queued at `out`, or has left both: `change` applies
    /// the bytes to everything that sums over them. `from_pool` is the part that is not headroom.
    #[inline(always)]
    pub(super) fn measure_switch(
        &mut self,
        from: usize,
        out: usize,
        pool: usize,
        from_pool: u64,
        bytes: u64,
        change: impl Fn(&mut Extremes, u64),
    ) {
        let per_switch = Self::sums_per_switch(self.stride);
        let from = &self.ports[from];
        let (in_up, out_up) = (usize::from(from.up), usize::from(self.ports[out].up));
        let first = from.switch as usize * per_switch;
        let levels = &mut self.switch_levels[first..first + per_switch];
        let of_pool = &mut levels[pool * PLACES..pool * PLACES + PLACES];
        if from_pool != 0 {
            change(&mut of_pool[in_up], from_pool);
            change(&mut of_pool[POOL], from_pool);
        }
        change(&mut of_pool[EGRESS + out_up], bytes);
        change(&mut levels[per_switch - 1], bytes);
    }

    /// Room for the sums of an interval.
    pub(super) fn no_sums(&self) -> Sums {
        Sums(vec![(0, 0); self.switch_levels.len()])
    }

    /// Adds what a counter of a port did in the interval to the sums it is part of.
    pub(super) fn add_to_sums(
        &self,
        sums: &mut Sums,
        (port, pool, buff): (usize, usize, usize),
        of_port: &Occupancy,
    ) {
        let port = &self.ports[port];
        let per_switch = Self::sums_per_switch(self.stride);
        let switch = &mut sums.0[port.switch as usize * per_switch..][..per_switch];
        let up = usize::from(port.up);
        let mut add = |place: usize, count: u64, integral: u128| {
            switch[place].0 += count;
            switch[place].1 += integral;
        };
        let everything = per_switch - 1;
        if buff == BuffId::Egress as usize {
            add(pool * PLACES + EGRESS + up, of_port.count, of_port.integral);
            // Whatever changes pools and headroom together changes one egress queue, once.
            add(everything, of_port.count, 0);
        } else {
            if buff == BuffId::Ingress as usize {
                add(pool * PLACES + up, of_port.count, of_port.integral);
                add(pool * PLACES + POOL, of_port.count, of_port.integral);
            }
            add(everything, 0, of_port.integral);
        }
    }

    /// Ends an interval of `length` ps: keeps its rows, and lets extremes start again.
    pub(super) fn close_switches(&mut self, sums: &Sums, length: u64, zeros: bool) {
        let per_switch = Self::sums_per_switch(self.stride);
        let keep = self.plan.switch_buffers && length > 0;
        for (index, &(count, integral)) in sums.0.iter().enumerate() {
            let level = self.switch_levels[index];
            self.switch_levels[index].restart();
            let (s, place) = (index / per_switch, index % per_switch);
            let (pool, everything) = (place / PLACES, place + 1 == per_switch);
            // What held nothing and did not change has no row.
            let missing = !everything && self.plan.limits[s][pool][0] == u64::MAX;
            if !keep || missing || (level.max == 0 && !zeros) {
                continue;
            }
            let switch = &self.switches[s];
            let (buff, side) = match place % PLACES {
                _ if everything => (SwitchBuff::Shared, Side::Whole),
                0 => (SwitchBuff::Ingress, Side::Down),
                1 => (SwitchBuff::Ingress, Side::Up),
                EGRESS => (SwitchBuff::Egress, Side::Down),
                3 => (SwitchBuff::Egress, Side::Up),
                _ => (SwitchBuff::Shared, Side::Whole),
            };
            let ports = &self.ports[switch.first_port..switch.first_port + switch.ports];
            if side != Side::Whole && !ports.iter().any(|p| p.up == (side == Side::Up)) {
                continue;
            }
            let (sizes, total) = &self.plan.sizes[s];
            let occupancy = Occupancy {
                sim_time: self.now,
                length,
                limit: if everything { *total } else { sizes[pool] },
                count,
                min: level.min,
                max: level.max,
                integral,
            };
            let pool = if everything { -1 } else { pool as i8 };
            let row = SwitchBufferRow { node: switch.node, side, buff, pool, occupancy };
            self.rows.switch_buffers.push(row);
        }
    }
}
