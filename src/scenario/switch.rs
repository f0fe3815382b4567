//! Settings of a switch, under their documented names.

mod datacenter;
mod hpcc;
mod marks;

pub use datacenter::{BufferAlgorithm, DatacenterBuffer};
pub use hpcc::HpccBuffer;
pub use marks::{EcnMaps, Marks};

use super::tiers::TierSwitch;
use super::topology::TierName;
use super::traffic::Role;
use crate::units::{BitRate, Bytes, Ps};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which buffer model a switch runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchModel {
    /// The documented Scala switch.
    #[default]
    Scala,
    /// The `SwitchMmu` of HPCC's ns-3 code.
    Hpcc,
    /// The `SwitchMmu` of ns3-datacenter.
    Ns3Datacenter,
}

impl SwitchModel {
    /// Its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            SwitchModel::Scala => "scala",
            SwitchModel::Hpcc => "hpcc",
            SwitchModel::Ns3Datacenter => "ns3-datacenter",
        }
    }
}

/// How a flow's identity picks a member of an equal-cost set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum EcmpHashMethod {
    /// Low 9 bits of (destination address − 1).
    #[serde(rename = "dpr")]
    Dpr,
    /// Folded xor of addresses and ports.
    #[serde(rename = "hash")]
    Hash,
    /// The same with a salt per switch.
    #[serde(rename = "hashWithSalt")]
    HashWithSalt,
    /// Folded CRC-32 of the identity.
    #[serde(rename = "crc32")]
    Crc32,
    /// CRC-32 continued from a salt per switch.
    #[default]
    #[serde(rename = "crc32WithSalt")]
    Crc32WithSalt,
    /// `dpr` unless its value is not below the number of members, then `crc32`.
    #[serde(rename = "dprWithFallback")]
    DprWithFallback,
    /// Flow id modulo members: the ideal spread.
    #[serde(rename = "flowId")]
    FlowId,
}

/// How packets of one flow spread over an equal-cost set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBalancingMethod {
    /// One member per flow, by hash.
    #[default]
    None,
    /// A new member after each gap.
    Flowlet,
}

/// One side's interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Interface {
    /// Rate of the interface; none: 400 Gbps.
    #[serde(rename = "DataRate")]
    pub data_rate: Option<BitRate>,
}

/// The cable a device owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Medium {
    /// One-way propagation delay; none: 500 ns.
    #[serde(rename = "Delay")]
    pub delay: Option<Ps>,
}

/// Interfaces of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkInterface {
    /// Interfaces towards the upper tier.
    #[serde(rename = "UplinkNetworkInterface")]
    pub uplink: Interface,
    /// Interfaces towards the lower tier.
    #[serde(rename = "DownlinkNetworkInterface")]
    pub downlink: Interface,
    /// Cables of the up-links (a link takes the delay of its lower-tier end).
    #[serde(rename = "TransmissionMedium")]
    pub medium: Medium,
}

/// The shared buffer: pools, headroom, thresholds and egress limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each attribute is documented in `scenario::attributes`")]
pub struct SharedBufferManager {
    #[serde(rename = "TotalSharedBufferSize")]
    pub total_shared_buffer_size: Bytes,
    #[serde(rename = "UETPolicyEnabled")]
    pub uet_policy_enabled: bool,
    #[serde(rename = "PoolAllocationMap")]
    pub pool_allocation_map: [f64; 8],
    #[serde(rename = "TrafficClassPoolMapping")]
    pub traffic_class_pool_mapping: [i64; 8],
    #[serde(rename = "EnablePFC")]
    pub enable_pfc: [i64; 8],
    #[serde(rename = "HeadRoomPerPortLimit")]
    pub head_room_per_port_limit: Bytes,
    #[serde(rename = "StaticPoolXoffThreshold")]
    pub static_pool_xoff_threshold: Bytes,
    #[serde(rename = "StaticPoolXonThreshold")]
    pub static_pool_xon_threshold: Bytes,
    #[serde(rename = "LossyAlpha")]
    pub lossy_alpha: f64,
    #[serde(rename = "QueueDropThresholdEnable")]
    pub queue_drop_threshold_enable: bool,
    #[serde(rename = "QueueDropThreshold")]
    pub queue_drop_threshold: u64,
    #[serde(rename = "PlaneBDP")]
    pub plane_bdp: Bytes,
    #[serde(rename = "BufferStatsReportInterval")]
    pub buffer_stats_report_interval: Ps,
}

impl SharedBufferManager {
    /// Class of a packet: that of its role under the UET policy (none: no-trim data), that of its
    /// code point without it. 0 to 7 for a code point of 0 to 63.
    #[inline]
    pub fn class_of(&self, dscp: u64, role: Option<Role>) -> u8 {
        match self.uet_policy_enabled {
            true => role.unwrap_or_default().class(),
            false => u8::try_from(dscp / 8).unwrap_or(u8::MAX),
        }
    }
}

impl Default for SharedBufferManager {
    fn default() -> Self {
        SharedBufferManager {
            total_shared_buffer_size: Bytes(256_000_000),
            uet_policy_enabled: false,
            pool_allocation_map: [0.9, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            traffic_class_pool_mapping: [0, 1, 0, 0, 0, 0, 0, 0],
            enable_pfc: [1, 1, 0, 0, 0, 0, 0, 0],
            head_room_per_port_limit: Bytes(256_000),
            static_pool_xoff_threshold: Bytes(700_000),
            static_pool_xon_threshold: Bytes(300_000),
            lossy_alpha: 1.0,
            queue_drop_threshold_enable: false,
            queue_drop_threshold: 5,
            plane_bdp: Bytes(300_000),
            buffer_stats_report_interval: Ps(1_000_000_000),
        }
    }
}

/// ECN marking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each attribute is documented in `scenario::attributes`")]
pub struct EcnHandler {
    #[serde(rename = "EnableEcn")]
    pub enable_ecn: bool,
    #[serde(rename = "EwmaWeight")]
    pub ewma_weight: f64,
    #[serde(rename = "MinThreshold")]
    pub min_threshold: f64,
    #[serde(rename = "MaxThreshold")]
    pub max_threshold: f64,
    #[serde(rename = "MaxMarkProbability")]
    pub max_mark_probability: f64,
}

impl Default for EcnHandler {
    fn default() -> Self {
        EcnHandler {
            enable_ecn: true,
            ewma_weight: 0.10,
            min_threshold: 0.2,
            max_threshold: 0.8,
            max_mark_probability: 1.0,
        }
    }
}

/// UET packet trimming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PacketTrimmer {
    /// Cut packets that would be dropped.
    #[serde(rename = "TrimmingEnabled")]
    pub trimming_enabled: bool,
}

/// Flowlet switching.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each attribute is documented in `scenario::attributes`")]
pub struct Flowlet {
    #[serde(rename = "Gap")]
    pub gap: Ps,
    #[serde(rename = "PFCAware")]
    pub pfc_aware: bool,
}

impl Default for Flowlet {
    fn default() -> Self {
        Flowlet { gap: Ps(100_000_000), pfc_aware: true }
    }
}

/// Settings of every switch of a job.
///
/// Its text leaves out the [`Switch::OPTIONAL_BLOCKS`] that hold only defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each attribute is documented in `scenario::attributes`")]
pub struct Switch {
    pub model: SwitchModel,
    #[serde(rename = "EcmpHashMethod")]
    pub ecmp_hash_method: EcmpHashMethod,
    #[serde(rename = "LoadBalancingMethod")]
    pub load_balancing_method: LoadBalancingMethod,
    #[serde(rename = "NumUpLinks")]
    pub num_up_links: u64,
    #[serde(rename = "NumDownLinks")]
    pub num_down_links: u64,
    /// Time from the arrival of a PFC frame at a switch to its taking effect.
    #[serde(rename = "PfcResponseTime")]
    pub pfc_response_time: Ps,
    #[serde(rename = "NetworkInterface")]
    pub network_interface: NetworkInterface,
    #[serde(rename = "SharedBufferManager")]
    pub shared_buffer_manager: SharedBufferManager,
    #[serde(rename = "EcnHandler")]
    pub ecn_handler: EcnHandler,
    #[serde(rename = "PacketTrimmer")]
    pub packet_trimmer: PacketTrimmer,
    #[serde(rename = "LoadBalancingFlowlet")]
    pub load_balancing_flowlet: Flowlet,
    #[serde(rename = "HPCC", skip_serializing_if = "HpccBuffer::is_usual")]
    pub hpcc: HpccBuffer,
    #[serde(rename = "Ns3Datacenter", skip_serializing_if = "DatacenterBuffer::is_usual")]
    pub datacenter: DatacenterBuffer,
    #[serde(rename = "EcnMaps", skip_serializing_if = "EcnMaps::is_usual")]
    pub ecn_maps: EcnMaps,
    /// What differs at the switches of a tier.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tiers: BTreeMap<TierName, TierSwitch>,
}

impl Switch {
    /// Keys that the text of a scenario lacks while all below them is as by default.
    pub const OPTIONAL_BLOCKS: [&str; 3] = ["HPCC", "Ns3Datacenter", "EcnMaps"];

    /// The section with every block, as values of JSON: what a key comes to, whoever reads it.
    ///
    /// # Errors
    /// None is known; serialization may fail by its type.
    pub fn in_full(&self) -> Result<serde_json::Value, serde_json::Error> {
        let mut json = serde_json::to_value(self)?;
        let [hpcc, datacenter, ecn_maps] = Self::OPTIONAL_BLOCKS;
        json[hpcc] = serde_json::to_value(self.hpcc)?;
        json[datacenter] = serde_json::to_value(self.datacenter)?;
        json[ecn_maps] = serde_json::to_value(&self.ecn_maps)?;
        Ok(json)
    }
}

impl Default for Switch {
    fn default() -> Self {
        Switch {
            model: SwitchModel::default(),
            ecmp_hash_method: EcmpHashMethod::default(),
            load_balancing_method: LoadBalancingMethod::default(),
            num_up_links: 64,
            num_down_links: 64,
            pfc_response_time: Ps(0),
            network_interface: NetworkInterface::default(),
            shared_buffer_manager: SharedBufferManager::default(),
            ecn_handler: EcnHandler::default(),
            packet_trimmer: PacketTrimmer::default(),
            load_balancing_flowlet: Flowlet::default(),
            hpcc: HpccBuffer::default(),
            datacenter: DatacenterBuffer::default(),
            ecn_maps: EcnMaps::default(),
            tiers: BTreeMap::new(),
        }
    }
}
