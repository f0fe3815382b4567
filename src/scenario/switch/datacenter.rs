//! Settings of the `ns3-datacenter` buffer model: its block `Ns3Datacenter`.
//!
//! Owns names and defaults, and what a port's rate and delay make of them. Refuses to check values:
//! `check` does.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// How thresholds follow from what is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum BufferAlgorithm {
    /// A multiple of what is free.
    #[default]
    #[serde(rename = "DT")]
    Dt,
    /// That, over the congested queues of the class, times the queue's share of its line, and with
    /// a larger factor for unscheduled packets.
    #[serde(rename = "ABM")]
    Abm,
    /// That of `DT`, with a larger factor for unscheduled packets.
    #[serde(rename = "FAB")]
    Fab,
    /// A multiple of what is free over the congested queues, against a smoothed queue.
    #[serde(rename = "Reverie")]
    Reverie,
    /// Complete sharing: all that is free.
    #[serde(rename = "CS")]
    CompleteSharing,
    /// Static partition: an even share a port and queue.
    #[serde(rename = "SP")]
    StaticPartition,
}

/// The `SwitchMmu` of ns3-datacenter. Everything is by port and queue; queue n is class n.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatacenterBuffer {
    /// How thresholds are computed, at ingress and at egress.
    #[serde(rename = "Algorithm")]
    pub algorithm: BufferAlgorithm,
    /// The whole buffer, headroom included.
    #[serde(rename = "BufferPool")]
    pub buffer_pool: Bytes,
    /// What ingress may hold without headroom.
    #[serde(rename = "IngressPool")]
    pub ingress_pool: Bytes,
    /// What egress may hold of lossless queues.
    #[serde(rename = "EgressPoolLossless")]
    pub egress_pool_lossless: Bytes,
    /// What egress may hold of lossy queues.
    #[serde(rename = "EgressPoolLossy")]
    pub egress_pool_lossy: Bytes,
    /// What Reverie's thresholds are a share of.
    #[serde(rename = "SharedPool")]
    pub shared_pool: Bytes,
    /// What each port and queue has to itself at ingress.
    #[serde(rename = "IngressReserve")]
    pub ingress_reserve: Bytes,
    /// Factor of ingress thresholds.
    #[serde(rename = "AlphaIngress")]
    pub alpha_ingress: f64,
    /// Factor of egress thresholds.
    #[serde(rename = "AlphaEgress")]
    pub alpha_egress: f64,
    /// Factor of `ABM` and `FAB`, and of Reverie at egress, for unscheduled packets.
    #[serde(rename = "AlphaUnsched")]
    pub alpha_unscheduled: f64,
    /// Headroom of a port and queue; none: `XoffFactor` × rate × one-way delay.
    #[serde(rename = "Xoff", skip_serializing_if = "Option::is_none")]
    pub xoff: Option<Bytes>,
    /// Headroom of a port and queue in multiples of rate × one-way delay.
    #[serde(rename = "XoffFactor")]
    pub xoff_factor: f64,
    /// Headroom of the switch; none: that of all ports and their eight queues.
    #[serde(rename = "XoffTotal", skip_serializing_if = "Option::is_none")]
    pub xoff_total: Option<Bytes>,
    /// A queue resumes below this.
    #[serde(rename = "Xon")]
    pub xon: Bytes,
    /// A queue resumes so far below its threshold.
    #[serde(rename = "XonOffset")]
    pub xon_offset: Bytes,
    /// Weight of the past in Reverie's smoothed queue, 0 to 1.
    #[serde(rename = "ReverieGamma")]
    pub gamma: f64,
    /// Whether each queue is lossless (1) or lossy (0).
    #[serde(rename = "LosslessQueues")]
    pub lossless_queues: [i64; 8],
}

impl Default for DatacenterBuffer {
    fn default() -> Self {
        DatacenterBuffer {
            algorithm: BufferAlgorithm::Dt,
            buffer_pool: Bytes(24 << 20),
            ingress_pool: Bytes(18 << 20),
            egress_pool_lossless: Bytes(24 << 20),
            egress_pool_lossy: Bytes(14 << 20),
            shared_pool: Bytes(18 << 20),
            ingress_reserve: Bytes(0),
            alpha_ingress: 1.0,
            alpha_egress: 1.0,
            alpha_unscheduled: 1_024.0,
            xoff: None,
            xoff_factor: 3.0,
            xoff_total: None,
            xon: Bytes(1_248),
            xon_offset: Bytes(2_496),
            gamma: 0.99,
            lossless_queues: [0, 1, 1, 1, 1, 1, 1, 1],
        }
    }
}

impl DatacenterBuffer {
    /// Whether nothing but defaults stands in it.
    pub fn is_usual(&self) -> bool {
        *self == DatacenterBuffer::default()
    }

    /// Headroom of a queue of a port of a rate (bit/s) and delay (ps), bytes.
    pub fn headroom(&self, rate: u64, delay: u64) -> u64 {
        match self.xoff {
            Some(xoff) => xoff.0,
            None => super::hpcc::headroom(self.xoff_factor, rate, delay),
        }
    }

    /// Lossless queues, a bit each. Queue 0 is never paused and charged nowhere.
    pub fn lossless(&self) -> u8 {
        let queues = self.lossless_queues.iter().enumerate().skip(1);
        queues.fold(0, |mask, (queue, &on)| mask | u8::from(on != 0) << queue)
    }
}
