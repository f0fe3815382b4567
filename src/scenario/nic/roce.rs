//! Settings of the RoCE transport: its block `ScalaRoceTransport`, under documented names.
//!
//! Owns names and defaults. Names in CamelCase are the documented ones; names in snake_case are
//! ours, and stand where the documentation leaves something open or for the published DCQCN.
//! Refuses to check values.

use crate::units::{BitRate, Bytes, Ps};
use serde::{Deserialize, Serialize};

/// Largest `MSS`: 58 more on the wire must stay below the MTU of 4,184.
pub const MAX_MSS: Bytes = Bytes(4_125);

/// Default of `cnp_interval` with [`RateControl::Dcqcn`].
pub const DCQCN_CNP_INTERVAL: Ps = Ps(50_000_000);

/// What slows a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateControl {
    /// The documented loop of reduction and increase halves.
    #[default]
    Scala,
    /// DCQCN as published.
    Dcqcn,
    /// Nothing: line rate whatever is marked.
    None,
}

/// How a slowed queue pair's packets leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Serialization itself takes size ÷ rate, and the port sends nothing else meanwhile. The
    /// default: the documentation says that the port sends such a packet at the allowed rate.
    #[default]
    Occupies,
    /// Serialization at line rate; starts of a queue pair's packets are size ÷ rate apart.
    Spaced,
}

/// What happens to numbered packets still in the egress queue when their queue pair goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StalePackets {
    /// They are sent. The default: only payload not numbered yet is documented to be discarded.
    #[default]
    Sent,
    /// They are taken back.
    Flushed,
}

/// Which UDP source port data packets carry, for equal-cost choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourcePort {
    /// 49,152 + (id of the queue pair's first flow) mod 16,384, for good.
    #[default]
    QueuePair,
    /// 49,152 + (id of the flow) mod 16,384.
    Flow,
}

/// The RoCE transport of every NIC.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Roce {
    /// Largest payload of a packet, 1 B to [`MAX_MSS`].
    #[serde(rename = "MSS")]
    pub mss: Bytes,
    /// Time a queue pair waits for an acknowledgement before it goes back, above 0.
    #[serde(rename = "RetransmitTimeout")]
    pub retransmit_timeout: Ps,
    /// Whether acknowledgements are held.
    #[serde(rename = "AckCoalescingEnabled")]
    pub ack_coalescing_enabled: bool,
    /// Packets held before the next one is acknowledged.
    #[serde(rename = "AckThreshold")]
    pub ack_threshold: u64,
    /// Longest time an acknowledgement is held, above 0.
    #[serde(rename = "AckDelay")]
    pub ack_delay: Ps,
    /// Whether senders mark data ECN-capable and react to CNPs.
    #[serde(rename = "EnableECN")]
    pub enable_ecn: bool,
    /// Class of ACKs, NAKs and CNPs, 0 to 7.
    #[serde(rename = "RdmaControlPacketTC")]
    pub rdma_control_packet_tc: u64,
    /// One reduction half and one increase half, whole nanoseconds, 2 or more.
    #[serde(rename = "ControlIntervalDurationNs")]
    pub control_interval_duration_ns: u64,
    /// Weight of the newest half in the congestion estimate, 0 to 1.
    #[serde(rename = "CongestionProbabilityWeight")]
    pub congestion_probability_weight: f64,
    /// Increases that only halve the distance to the target before it grows.
    #[serde(rename = "FastRecoveryAttempt")]
    pub fast_recovery_attempt: u64,
    /// With `NumberActiveIncreaseSteps` the additive step: (1 − this) × target ÷ steps; 0 to 1.
    #[serde(rename = "InitialTargetRatePercentage")]
    pub initial_target_rate_percentage: f64,
    /// See `InitialTargetRatePercentage`; 1 or more.
    #[serde(rename = "NumberActiveIncreaseSteps")]
    pub number_active_increase_steps: u64,
    /// Increase halves skipped for one taken while CNPs continue.
    #[serde(rename = "NumOfControlLoopsPerIncrease")]
    pub num_of_control_loops_per_increase: u64,
    /// Lowest rate as a part of line rate, above 0 to 1.
    #[serde(rename = "MinimumRatePercentage")]
    pub minimum_rate_percentage: f64,
    /// What slows a queue pair.
    pub rate_control: RateControl,
    /// Least time between two CNPs to a queue pair; none: 0 with `scala`, where no spacing is
    /// documented, and 50 µs with `dcqcn`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp_interval: Option<Ps>,
    /// How a slowed queue pair's packets leave.
    pub pacing: Pacing,
    /// What going back does to packets in the egress queue.
    pub stale_packets: StalePackets,
    /// Congestion estimate of a new queue pair, 0 to 1. Not documented; 1 as DCQCN starts, which
    /// lets the first cut halve the rate if every packet is marked (0: a quarter off).
    pub initial_congestion_estimate: f64,
    /// Which UDP source port data packets carry.
    pub source_port: SourcePort,
    /// From the first thing to send at an idle NIC to its first fetch.
    pub start_delay: Ps,
    /// Parameters of `rate_control: dcqcn`.
    pub dcqcn: Dcqcn,
}

impl Default for Roce {
    fn default() -> Self {
        Roce {
            mss: Bytes(4_096),
            retransmit_timeout: Ps(64_000_000_000),
            ack_coalescing_enabled: true,
            ack_threshold: 16,
            ack_delay: Ps(1_000_000_000),
            enable_ecn: true,
            rdma_control_packet_tc: 1,
            control_interval_duration_ns: 45_000,
            congestion_probability_weight: 0.5,
            fast_recovery_attempt: 3,
            initial_target_rate_percentage: 0.9,
            number_active_increase_steps: 10,
            num_of_control_loops_per_increase: 5,
            minimum_rate_percentage: 0.1,
            rate_control: RateControl::default(),
            cnp_interval: None,
            pacing: Pacing::default(),
            stale_packets: StalePackets::default(),
            initial_congestion_estimate: 1.0,
            source_port: SourcePort::default(),
            start_delay: Ps(80_000),
            dcqcn: Dcqcn::default(),
        }
    }
}

impl Roce {
    /// Least time between two CNPs to a queue pair, the default of its rate control if not given.
    pub fn effective_cnp_interval(&self) -> Ps {
        self.cnp_interval.unwrap_or(match self.rate_control {
            RateControl::Dcqcn => DCQCN_CNP_INTERVAL,
            RateControl::Scala | RateControl::None => Ps(0),
        })
    }
}

/// Parameters of DCQCN as published.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dcqcn {
    /// Gain of the congestion estimate α, 0 to 1.
    pub g: f64,
    /// Time without a CNP after which α decays once, above 0.
    pub alpha_timer: Ps,
    /// Time between two increases by time, above 0.
    pub rate_timer: Ps,
    /// IP bytes of data between two increases by bytes, above 0.
    pub byte_counter: Bytes,
    /// Increases by time, and by bytes, that only halve the distance to the target.
    pub fast_recovery: u64,
    /// Additive step.
    pub rate_ai: BitRate,
    /// Hyper step. The paper gives no value: ten times `rate_ai`, the ratio of public set-ups.
    pub rate_hai: BitRate,
    /// Lowest rate, above 0. The paper gives no value.
    pub min_rate: BitRate,
}

impl Default for Dcqcn {
    fn default() -> Self {
        Dcqcn {
            g: 1.0 / 256.0,
            alpha_timer: Ps(55_000_000),
            rate_timer: Ps(55_000_000),
            byte_counter: Bytes(10_000_000),
            fast_recovery: 5,
            rate_ai: BitRate(40_000_000),
            rate_hai: BitRate(400_000_000),
            min_rate: BitRate(100_000_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_names_are_read_and_unknown_ones_refused() {
        let text = r#"{"MSS": 1024, "AckThreshold": 3, "rate_control": "dcqcn", "pacing": "spaced",
                       "dcqcn": {"g": 0.5}}"#;
        let roce: Roce = serde_json::from_str(text).unwrap();
        assert_eq!((roce.mss, roce.ack_threshold, roce.dcqcn.g), (Bytes(1_024), 3, 0.5));
        assert_eq!(roce.retransmit_timeout, Roce::default().retransmit_timeout);
        assert_eq!(roce.effective_cnp_interval(), DCQCN_CNP_INTERVAL);
        assert_eq!(Roce::default().effective_cnp_interval(), Ps(0));
        assert!(serde_json::from_str::<Roce>(r#"{"mss": 1024}"#).is_err());
        assert!(serde_json::from_str::<Roce>(r#"{"dcqcn": {"G": 0.5}}"#).is_err());
    }

    #[test]
    fn what_is_written_reads_back() {
        let roce = Roce { cnp_interval: Some(Ps(7)), ..Roce::default() };
        for roce in [roce, Roce::default()] {
            let text = serde_json::to_string(&roce).unwrap();
            assert_eq!(serde_json::from_str::<Roce>(&text).unwrap(), roce);
        }
    }
}
