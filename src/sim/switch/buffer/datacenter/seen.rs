//! What a run compared the limits of ns3-datacenter's switch with.

use super::super::watch::{Bound, Interval, Watch};
use super::Datacenter;
use serde::{Deserialize, Serialize};

/// Comparisons of a switch. Thresholds follow from pools, reserve and factors, which have to be
/// equal, as has everything else that is not here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatacenterSeen {
    /// With the headroom of a queue, by port.
    pub headroom: Vec<Interval>,
    /// With the headroom of the switch.
    pub headroom_total: Interval,
    /// With the whole buffer.
    pub buffer_pool: Interval,
    /// With Xon.
    pub xon: Interval,
    /// With the offset of a resume.
    pub xon_offset: Interval,
}

/// Thresholds of a switch, bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct DatacenterStart {
    /// Headroom of a queue, by port.
    pub headroom: Vec<u64>,
    /// Headroom of the switch.
    pub headroom_total: u64,
    /// The whole buffer.
    pub buffer_pool: u64,
    /// A queue resumes below this.
    pub xon: u64,
    /// A queue resumes so far below its threshold.
    pub xon_offset: u64,
}

impl<W: Watch> Datacenter<W> {
    pub(super) fn all_compared(&self) -> DatacenterSeen {
        let of = &self.compared;
        DatacenterSeen {
            headroom: of.headroom.iter().map(W::Bound::interval).collect(),
            headroom_total: of.headroom_total.interval(),
            buffer_pool: of.buffer_pool.interval(),
            xon: of.xon.interval(),
            xon_offset: of.xon_offset.interval(),
        }
    }

    /// Its thresholds.
    pub fn start(&self) -> DatacenterStart {
        DatacenterStart {
            headroom: self.headroom.clone(),
            headroom_total: self.headroom_total,
            buffer_pool: self.settings.buffer_pool.0,
            xon: self.settings.xon.0,
            xon_offset: self.settings.xon_offset.0,
        }
    }
}

impl DatacenterSeen {
    /// Whether a switch that starts so would have answered alike.
    pub fn holds(&self, start: &DatacenterStart) -> bool {
        let mut ports = self.headroom.iter().zip(&start.headroom);
        self.headroom.len() == start.headroom.len()
            && ports.all(|(seen, &headroom)| seen.holds(headroom))
            && self.headroom_total.holds(start.headroom_total)
            && self.buffer_pool.holds(start.buffer_pool)
            && self.xon.holds(start.xon)
            && self.xon_offset.holds(start.xon_offset)
    }

    /// Takes in another switch's with the same ports.
    pub fn add(&mut self, other: &DatacenterSeen) {
        self.headroom.iter_mut().zip(&other.headroom).for_each(|(seen, other)| seen.add(other));
        self.headroom_total.add(&other.headroom_total);
        self.buffer_pool.add(&other.buffer_pool);
        self.xon.add(&other.xon);
        self.xon_offset.add(&other.xon_offset);
    }
}
