//! Settings of the `hpcc` NIC: its block `HPCC`.
//!
//! Owns names, which are those of HPCC's ns-3 code where it has one, and defaults. Refuses to check
//! values.

use crate::units::{Bytes, Ps};
use serde::{Deserialize, Serialize};

/// The host of HPCC's ns-3 code without congestion control: line rate, no window, go-back-N.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HpccNic {
    /// Largest payload of a packet, 1 to 65,501 B.
    #[serde(rename = "PACKET_PAYLOAD_SIZE")]
    pub payload: Bytes,
    /// A receiver acknowledges whenever it has a whole multiple of this in order.
    #[serde(rename = "L2_CHUNK_SIZE")]
    pub chunk: Bytes,
    /// And every packet from which on it has so much in order.
    #[serde(rename = "L2_ACK_INTERVAL")]
    pub ack_interval: Bytes,
    /// Acknowledgements use queue 0 of the switches, not that of their data.
    #[serde(rename = "ACK_HIGH_PRIO")]
    pub ack_high_prio: bool,
    /// Shortest time between two negative acknowledgements of the same bytes.
    #[serde(rename = "NACK_INTERVAL")]
    pub nack_interval: Ps,
    /// Whether data is ECN-capable. Marks are counted; nothing reacts to them.
    pub ect: bool,
}

impl Default for HpccNic {
    fn default() -> Self {
        HpccNic {
            payload: Bytes(1_000),
            chunk: Bytes(4_000),
            ack_interval: Bytes(1),
            ack_high_prio: false,
            nack_interval: Ps(500_000_000),
            ect: true,
        }
    }
}
