//! Proposed settings and how they are laid over a scenario.

use super::{Outcome, TierSizing};
use crate::scenario::{Scenario, SharedBufferManager};
use crate::units::Bytes;

/// Why Xoff is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XoffRule {
    /// As set.
    AsSet,
    /// The largest that leaves lossy classes their share (all of it, if there are none).
    Largest,
    /// The least with which a port sends on while a resume is under way.
    Least,
}

/// Settings of a tier's `SharedBufferManager`; sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// `HeadRoomPerPortLimit`.
    pub headroom: u64,
    /// `StaticPoolXoffThreshold`.
    pub xoff: u64,
    /// Which rule chose it.
    pub xoff_rule: XoffRule,
    /// `StaticPoolXonThreshold`.
    pub xon: u64,
    /// Whether that is as set.
    pub xon_as_set: bool,
    /// `PoolAllocationMap`; `None` under the UET policy, which does not read it.
    pub allocation: Option<[f64; 8]>,
    /// `TrafficClassPoolMapping`; likewise.
    pub mapping: Option<[i64; 8]>,
}

impl Settings {
    /// Lays them over the settings of a switch.
    pub fn lay_over(&self, buffer: &mut SharedBufferManager) {
        buffer.head_room_per_port_limit = Bytes(self.headroom);
        buffer.static_pool_xoff_threshold = Bytes(self.xoff);
        buffer.static_pool_xon_threshold = Bytes(self.xon);
        if let Some(allocation) = self.allocation {
            buffer.pool_allocation_map = allocation;
        }
        if let Some(mapping) = self.mapping {
            buffer.traffic_class_pool_mapping = mapping;
        }
    }
}

/// The scenario with what was proposed for its tiers: under `switch` if there is one tier and
/// nothing is said of tiers, else under `switch.tiers`.
pub fn apply(scenario: &Scenario, sizings: &[TierSizing]) -> Scenario {
    let mut scenario = scenario.clone();
    let by_tier = by_tier(&scenario, sizings);
    for sizing in sizings {
        let Outcome::Fits { settings, .. } = &sizing.outcome else { continue };
        if !by_tier {
            settings.lay_over(&mut scenario.switch.shared_buffer_manager);
            continue;
        }
        let own = scenario.switch.tiers.entry(sizing.kind.tier.settings()).or_default();
        let buffer = &mut own.shared_buffer_manager;
        buffer.head_room_per_port_limit = Some(Bytes(settings.headroom));
        buffer.static_pool_xoff_threshold = Some(Bytes(settings.xoff));
        buffer.static_pool_xon_threshold = Some(Bytes(settings.xon));
        buffer.pool_allocation_map = settings.allocation.or(buffer.pool_allocation_map);
        buffer.traffic_class_pool_mapping = settings.mapping.or(buffer.traffic_class_pool_mapping);
    }
    scenario
}

/// Whether proposals belong under `switch.tiers`.
pub fn by_tier(scenario: &Scenario, sizings: &[TierSizing]) -> bool {
    sizings.len() > 1 || !scenario.switch.tiers.is_empty()
}
