//! What two points must have in common for one run to answer both.
//!
//! Owns which settings are thresholds that runs keep comparisons of; everything else has to be
//! equal, what is recorded included.

use crate::scenario::{
    DatacenterBuffer, EcnHandler, Flowlet, HpccBuffer, PacketTrimmer, Scenario,
    SharedBufferManager, SwitchModel,
};
use crate::sim::random::Seeds;
use std::fmt;

/// Everything about a job but its thresholds, as a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Structure([u8; 16]);

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The structure of a job; `version` tells simulators of other semantics apart.
pub fn structure(scenario: &Scenario, seeds: Seeds, version: u32) -> Structure {
    let mut rest = scenario.clone();
    match rest.switch.model {
        SwitchModel::Scala => without_pools(&mut rest),
        SwitchModel::Hpcc => {
            let usual = HpccBuffer::default();
            let own = &mut rest.switch.hpcc;
            own.buffer_size = usual.buffer_size;
            own.headroom_factor = usual.headroom_factor;
        }
        SwitchModel::Ns3Datacenter => {
            let usual = DatacenterBuffer::default();
            let own = &mut rest.switch.datacenter;
            own.buffer_pool = usual.buffer_pool;
            own.xoff = usual.xoff;
            own.xoff_factor = usual.xoff_factor;
            own.xoff_total = usual.xoff_total;
            own.xon = usual.xon;
            own.xon_offset = usual.xon_offset;
        }
    }
    rest.switch.load_balancing_flowlet.gap = Flowlet::default().gap;
    for tier in rest.switch.tiers.values_mut() {
        tier.load_balancing_flowlet.gap = None;
    }
    let mut hasher = blake3::Hasher::new();
    // A scenario has no keys but text: it cannot fail.
    hasher.update(&serde_json::to_vec(&rest).unwrap_or_default());
    hasher.update(format!("{version} {seeds:?}").as_bytes());
    let mut first = [0; 16];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Structure(first)
}

/// Takes the thresholds of pools and marking out, of every switch and of tiers.
fn without_pools(rest: &mut Scenario) {
    let usual = SharedBufferManager::default();
    let buffer = &mut rest.switch.shared_buffer_manager;
    *buffer = SharedBufferManager {
        uet_policy_enabled: buffer.uet_policy_enabled,
        traffic_class_pool_mapping: buffer.traffic_class_pool_mapping,
        enable_pfc: buffer.enable_pfc,
        buffer_stats_report_interval: buffer.buffer_stats_report_interval,
        ..usual
    };
    let marking = &mut rest.switch.ecn_handler;
    *marking = EcnHandler {
        enable_ecn: marking.enable_ecn,
        ewma_weight: marking.ewma_weight,
        ..EcnHandler::default()
    };
    rest.switch.packet_trimmer = PacketTrimmer::default();
    for tier in rest.switch.tiers.values_mut() {
        let buffer = &mut tier.shared_buffer_manager;
        buffer.total_shared_buffer_size = None;
        buffer.pool_allocation_map = None;
        buffer.head_room_per_port_limit = None;
        buffer.static_pool_xoff_threshold = None;
        buffer.static_pool_xon_threshold = None;
        buffer.lossy_alpha = None;
        buffer.queue_drop_threshold_enable = None;
        buffer.queue_drop_threshold = None;
        buffer.plane_bdp = None;
        tier.ecn_handler.min_threshold = None;
        tier.ecn_handler.max_threshold = None;
        tier.ecn_handler.max_mark_probability = None;
        tier.packet_trimmer.trimming_enabled = None;
    }
}
