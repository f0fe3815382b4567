//! Settings of the `hpcc` NIC: its block `HPCC`.
//!
//! Owns names, which are those of HPCC's ns-3 code where it has one, and defaults. Refuses to check
//! values.

use crate::units::{BitRate, Bytes, Ps};
use serde::{Deserialize, Serialize};

/// What decides a flow's rate and window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HpccRateControl {
    /// Line rate and no window.
    #[default]
    None,
    /// HPCC's law on the telemetry of switches.
    Hpcc,
    /// PowerTCP's.
    PowerTcp,
}

/// The host of HPCC's ns-3 code: go-back-N, a window law or none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
    /// What decides a flow's rate and window.
    pub rate_control: HpccRateControl,
    /// Round-trip time without queues: a window is what the rate sends in it.
    #[serde(rename = "BASE_RTT")]
    pub base_rtt: Ps,
    /// HPCC: the utilization it aims at, above 0.
    #[serde(rename = "U_TARGET")]
    pub u_target: f64,
    /// HPCC: increases in a row before it follows the utilization again.
    #[serde(rename = "MI_THRESH")]
    pub mi_thresh: u64,
    /// HPCC: additive increase.
    #[serde(rename = "RATE_AI")]
    pub rate_ai: BitRate,
    /// Lowest rate of a law.
    #[serde(rename = "MIN_RATE")]
    pub min_rate: BitRate,
    /// HPCC: react to every acknowledgement, not to one a round trip only.
    #[serde(rename = "FAST_REACT")]
    pub fast_react: bool,
    /// PowerTCP: weight of the newest window, 0 to 1.
    pub gamma: f64,
    /// PowerTCP: flows that share a line; each adds that part of it a round trip.
    pub expected_flows: u64,
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
            rate_control: HpccRateControl::None,
            base_rtt: Ps(13_000_000),
            u_target: 0.95,
            mi_thresh: 5,
            rate_ai: BitRate(50_000_000),
            min_rate: BitRate(100_000_000),
            fast_react: true,
            gamma: 0.9,
            expected_flows: 10,
            ect: true,
        }
    }
}
