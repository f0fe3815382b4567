//! What every reactive NIC has: receive pools, transmit pools and the link to its host.
//!
//! Owns sizes and rates as the attributes mean them. Refuses to know transports.

use super::{HostLink, NicModel};
use crate::units::{BitRate, Bytes};
use serde::{Deserialize, Serialize};

/// Classes of a NIC.
const CLASSES: usize = 8;
/// Payload bytes of a full transfer over the host link.
const TRANSFER: u128 = 512;
/// Bytes a transfer takes beside its payload.
const TRANSFER_OVERHEAD: u128 = 34;

/// How a NIC's port chooses among its classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum QueueScheduling {
    /// The highest class that may send.
    #[default]
    StrictPriority,
    /// One packet each in turn.
    RoundRobin,
    /// So many packets each in turn.
    WeightedRoundRobin,
}

/// Shares of a pool vector when nothing is said: data and control.
const SHARES: [f64; CLASSES] = [0.9, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

/// Size of each class's pool, rounded down to a byte. The conversion saturates.
fn pools(total: Bytes, shares: &[f64; CLASSES]) -> [u64; CLASSES] {
    shares.map(|share| (share * total.0 as f64).floor() as u64)
}

/// Receive pools of a reactive NIC, in bytes without the Ethernet header.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each attribute is documented in `scenario::attributes`")]
pub struct Ingress {
    #[serde(rename = "TotalBufferSize")]
    pub total_buffer_size: Bytes,
    #[serde(rename = "PoolAllocationVector")]
    pub pool_allocation_vector: [f64; CLASSES],
}

impl Default for Ingress {
    fn default() -> Self {
        Ingress { total_buffer_size: Bytes(4_000_000), pool_allocation_vector: SHARES }
    }
}

impl Ingress {
    /// Size of each class's pool, bytes without the Ethernet header; 0: there is none.
    pub fn pools(&self) -> [u64; CLASSES] {
        pools(self.total_buffer_size, &self.pool_allocation_vector)
    }
}

/// Transmit pools and queues of a reactive NIC, in wire bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[expect(missing_docs, reason = "each attribute is documented in `scenario::attributes`")]
pub struct Egress {
    #[serde(rename = "TotalBufferSize")]
    pub total_buffer_size: Bytes,
    #[serde(rename = "PoolAllocationVector")]
    pub pool_allocation_vector: [f64; CLASSES],
    #[serde(rename = "QueueSchedulingType")]
    pub queue_scheduling_type: QueueScheduling,
    #[serde(rename = "WRRQueueWeights")]
    pub wrr_queue_weights: [i64; CLASSES],
    pub pfc_frame_size: Bytes,
}

impl Egress {
    /// What the NIC of a model has unless something else is said.
    pub fn of_model(model: NicModel) -> Egress {
        let control = if model == NicModel::Uet { 5 } else { 3 };
        Egress {
            total_buffer_size: Bytes(256_000),
            pool_allocation_vector: SHARES,
            queue_scheduling_type: QueueScheduling::default(),
            wrr_queue_weights: [1, control, 0, 0, 0, 0, 0, 0],
            // The documentation gives both sizes, each on the pages of one NIC.
            pfc_frame_size: Bytes(if model == NicModel::Roce { 84 } else { 64 }),
        }
    }

    /// Size of each class's pool, wire bytes; 0: there is none.
    pub fn pools(&self) -> [u64; CLASSES] {
        pools(self.total_buffer_size, &self.pool_allocation_vector)
    }
}

/// [`Egress`] as a file gives it: what is left out depends on the model.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EgressInFile {
    #[serde(rename = "TotalBufferSize")]
    total_buffer_size: Option<Bytes>,
    #[serde(rename = "PoolAllocationVector")]
    pool_allocation_vector: Option<[f64; CLASSES]>,
    #[serde(rename = "QueueSchedulingType")]
    queue_scheduling_type: Option<QueueScheduling>,
    #[serde(rename = "WRRQueueWeights")]
    wrr_queue_weights: Option<[i64; CLASSES]>,
    pfc_frame_size: Option<Bytes>,
}

impl EgressInFile {
    /// With the model's defaults.
    pub(super) fn resolve(self, model: NicModel) -> Egress {
        let usual = Egress::of_model(model);
        Egress {
            total_buffer_size: self.total_buffer_size.unwrap_or(usual.total_buffer_size),
            pool_allocation_vector: self
                .pool_allocation_vector
                .unwrap_or(usual.pool_allocation_vector),
            queue_scheduling_type: self
                .queue_scheduling_type
                .unwrap_or(usual.queue_scheduling_type),
            wrr_queue_weights: self.wrr_queue_weights.unwrap_or(usual.wrr_queue_weights),
            pfc_frame_size: self.pfc_frame_size.unwrap_or(usual.pfc_frame_size),
        }
    }
}

impl From<Egress> for EgressInFile {
    fn from(egress: Egress) -> Self {
        EgressInFile {
            total_buffer_size: Some(egress.total_buffer_size),
            pool_allocation_vector: Some(egress.pool_allocation_vector),
            queue_scheduling_type: Some(egress.queue_scheduling_type),
            wrr_queue_weights: Some(egress.wrr_queue_weights),
            pfc_frame_size: Some(egress.pfc_frame_size),
        }
    }
}

impl HostLink {
    /// Rate at which payload crosses the link in full transfers (512 of 546 bytes), bit/s,
    /// rounded down.
    pub fn payload_rate(&self) -> u64 {
        let payload = u128::from(self.rate()) * TRANSFER / (TRANSFER + TRANSFER_OVERHEAD);
        u64::try_from(payload).unwrap_or(u64::MAX)
    }
}

/// What differs in one host's link; none: as every NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "as the fields of `HostLink`")]
pub struct OwnHostLink {
    #[serde(rename = "LaneBps", skip_serializing_if = "Option::is_none")]
    pub lane_bps: Option<BitRate>,
    #[serde(rename = "LaneCount", skip_serializing_if = "Option::is_none")]
    pub lane_count: Option<u64>,
}

impl OwnHostLink {
    /// Whether nothing differs.
    pub fn is_none(&self) -> bool {
        self.lane_bps.is_none() && self.lane_count.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_shares_rounded_down() {
        assert_eq!(Ingress::default().pools(), [3_600_000, 400_000, 0, 0, 0, 0, 0, 0]);
        let mut egress = Egress::of_model(NicModel::Uet);
        assert_eq!(egress.pools(), [230_400, 25_600, 0, 0, 0, 0, 0, 0]);
        egress.total_buffer_size = Bytes(1_001);
        assert_eq!(egress.pools()[..2], [900, 100]);
    }

    #[test]
    fn weights_follow_the_model() {
        assert_eq!(Egress::of_model(NicModel::Uet).wrr_queue_weights[..2], [1, 5]);
        assert_eq!(Egress::of_model(NicModel::Roce).wrr_queue_weights[..2], [1, 3]);
    }

    #[test]
    fn the_default_host_link_carries_472_9_gbps_of_payload() {
        let link = HostLink::default();
        assert_eq!(link.rate(), 504_320_000_000);
        assert_eq!(link.payload_rate(), 472_915_457_875);
        let slow = HostLink { lane_count: 13, ..link };
        assert!(slow.payload_rate() < 389_900_000_000, "behind full-rate receive");
    }
}
