//! What a run compared the limits of HPCC's switch with.

use super::super::watch::{Bound, Interval, Watch};
use super::Hpcc;
use serde::{Deserialize, Serialize};

/// Comparisons of a switch. The reserve, the resume offset and the shifts have to be equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HpccSeen {
    /// With the bytes that queues share: a queue passes its threshold if they are at least what is
    /// used of them and 2^shift times what the queue asks for.
    pub shared: Interval,
    /// With the headroom of a queue, by port.
    pub headroom: Vec<Interval>,
}

/// Thresholds of a switch.
#[derive(Debug, Clone, PartialEq)]
pub struct HpccStart {
    /// Bytes that queues share.
    pub shared: u64,
    /// Headroom of a queue, by port, bytes.
    pub headroom: Vec<u64>,
}

impl<W: Watch> Hpcc<W> {
    pub(super) fn all_compared(&self) -> HpccSeen {
        HpccSeen {
            shared: self.shared_compared.interval(),
            headroom: self.limits.iter().map(|port| port.headroom_compared.interval()).collect(),
        }
    }

    /// Its thresholds.
    pub fn start(&self) -> HpccStart {
        let headroom = self.limits.iter().map(|port| port.headroom).collect();
        HpccStart { shared: self.shared, headroom }
    }
}

impl HpccSeen {
    /// Whether a switch that starts so would have answered alike.
    pub fn holds(&self, start: &HpccStart) -> bool {
        let mut ports = self.headroom.iter().zip(&start.headroom);
        self.shared.holds(start.shared)
            && self.headroom.len() == start.headroom.len()
            && ports.all(|(seen, &headroom)| seen.holds(headroom))
    }

    /// Takes in another switch's with the same ports.
    pub fn add(&mut self, other: &HpccSeen) {
        self.shared.add(&other.shared);
        self.headroom.iter_mut().zip(&other.headroom).for_each(|(seen, other)| seen.add(other));
    }
}
