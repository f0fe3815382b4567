//! Settings of the Ultra Ethernet transport.
//!
//! Owns the documented attributes of packet delivery, congestion control and the host link under
//! their documented names, and, in lower case, the constants the documentation leaves open.
//! Refuses to check ranges (the checks do) and to derive anything (the transport does).

use crate::units::{BitRate, Bytes, Ps};
use serde::{Deserialize, Serialize};

/// How a message's packets are delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum DeliveryMethod {
    /// Reliable, unordered.
    #[default]
    #[serde(rename = "RUD")]
    Rud,
}

/// How a group chooses the entropy (UDP source port) of each transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum PacketSpraying {
    /// One value for the life of the group.
    None,
    /// Round and round a range of ports.
    #[default]
    #[serde(rename = "Default Packet Spraying")]
    Default,
    /// Values that came back unmarked are used again.
    #[serde(rename = "Recycled Entropy Packet Spraying")]
    RecycledEntropy,
}

/// `ScalaUETPdsManager`: packet delivery and segmentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PdsManager {
    /// Largest payload of a packet, bytes (1 to 65,447: its IP datagram has 88 more and 16 bits).
    #[serde(rename = "RdmaDataMSS")]
    pub rdma_data_mss: Bytes,
    /// First transmissions may be trimmed. Also changes the target delay and Quick Adapt.
    #[serde(rename = "TrimmingEnabled")]
    pub trimming_enabled: bool,
    /// Retransmissions have a code point of their own, whatever `TrimmingEnabled` says.
    #[serde(rename = "UseDistinctDSCPForRetransmits")]
    pub use_distinct_dscp_for_retransmits: bool,
    /// Connections to one destination share window, sprayer and scheduler turn.
    #[serde(rename = "PDCGroupsEnabled")]
    pub pdc_groups_enabled: bool,
    /// Fetch payload ahead of its turn. Not supported by this version: must be false.
    #[serde(rename = "PrefetchBufferEnable")]
    pub prefetch_buffer_enable: bool,
    /// Size of the prefetch buffer, bytes; not read while there is none.
    #[serde(rename = "PrefetchBufferSize")]
    pub prefetch_buffer_size: Bytes,
    /// The only one there is.
    #[serde(rename = "DefaultDeliveryMethod")]
    pub default_delivery_method: DeliveryMethod,
    /// Choice of entropy.
    #[serde(rename = "PacketSprayingType")]
    pub packet_spraying_type: PacketSpraying,
    /// Default spraying goes round 2 to this many ports (0 to 8).
    #[serde(rename = "EntropyMaskBits")]
    pub entropy_mask_bits: u64,
    /// First port of default spraying (0 to 65,535).
    #[serde(rename = "StartingPortOffset")]
    pub starting_port_offset: u64,
    /// Recycled entropies remembered: 2 to this (0 to 16).
    #[serde(rename = "REPSBufferSizeMaskBits")]
    pub reps_buffer_size_mask_bits: u64,
    /// Random entropies are below this (1 to 65,536).
    #[serde(rename = "EntropyValueSetSize")]
    pub entropy_value_set_size: u64,
    /// How long recycled entropies stay frozen after a failure, at least.
    #[serde(rename = "FreezingTimeout")]
    pub freezing_timeout: Ps,
    /// Recycled entropy takes a path for failed so many base RTTs after a transmission; 0: never.
    #[serde(rename = "FailureDetectionRTTMultiplier")]
    pub failure_detection_rtt_multiplier: u64,
    /// Timeout of a first transmission; doubles with each retransmission.
    #[serde(rename = "InitialRetransmitTimeout")]
    pub initial_retransmit_timeout: Ps,
    /// Doublings of the timeout (0 to 15).
    #[serde(rename = "MaxExponentialRTOBackoffCount")]
    pub max_exponential_rto_backoff_count: u64,
    /// One timeout for every transmission instead.
    #[serde(rename = "FixedRexmitTimeEnable")]
    pub fixed_rexmit_time_enable: bool,
    /// That timeout.
    #[serde(rename = "FixedRexmitTimeout")]
    pub fixed_rexmit_timeout: Ps,
    /// Transmissions 1, N + 1, … of a connection ask for an acknowledgement; otherwise N, 2N, ….
    #[serde(rename = "AckRequestFirstPacket")]
    pub ack_request_first_packet: bool,
    /// The last packet of a message asks for one too.
    #[serde(rename = "AckRequestLastPacket")]
    pub ack_request_last_packet: bool,
    /// N (1 to 1,024).
    #[serde(rename = "AckRequestEveryNthPacket")]
    pub ack_request_every_nth_packet: u64,
    /// From a message's being posted to its first pass of the transmit process.
    pub transmit_start: Ps,
    /// A packet after which the window has no room for a full one asks for an acknowledgement.
    /// The documentation has no such rule; without it a window below N packets waits for a timeout.
    pub ack_request_when_window_full: bool,
}

impl Default for PdsManager {
    fn default() -> Self {
        PdsManager {
            rdma_data_mss: Bytes(4_096),
            trimming_enabled: false,
            use_distinct_dscp_for_retransmits: true,
            pdc_groups_enabled: true,
            prefetch_buffer_enable: false,
            prefetch_buffer_size: Bytes(262_144),
            default_delivery_method: DeliveryMethod::default(),
            packet_spraying_type: PacketSpraying::default(),
            entropy_mask_bits: 7,
            starting_port_offset: 256,
            reps_buffer_size_mask_bits: 3,
            entropy_value_set_size: 65_536,
            freezing_timeout: Ps(100_000_000),
            failure_detection_rtt_multiplier: 3,
            initial_retransmit_timeout: Ps(150_000_000),
            max_exponential_rto_backoff_count: 5,
            fixed_rexmit_time_enable: false,
            fixed_rexmit_timeout: Ps(150_000_000),
            ack_request_first_packet: true,
            ack_request_last_packet: true,
            ack_request_every_nth_packet: 1,
            transmit_start: Ps(15_000),
            ack_request_when_window_full: false,
        }
    }
}

/// What of an acknowledgement moves the window: which bytes it newly acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NewlyAcknowledged {
    /// Those of the packets that it retires: the cumulative number and the bitmap say which.
    #[default]
    RetiredPackets,
    /// What the connection's received bytes, which it carries in whole units of 256 B, have grown
    /// by since the largest that came before.
    ReceivedBytes,
}

/// `ScalaUETCongestionControl`: the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CongestionControl {
    /// Compute the window but do not enforce it.
    #[serde(rename = "PassThrough")]
    pub pass_through: bool,
    /// False: the window is the largest one.
    #[serde(rename = "NSCCEnable")]
    pub nscc_enable: bool,
    /// Base RTT a group starts with; also what its target delay follows.
    #[serde(rename = "InitialBaseRTT")]
    pub initial_base_rtt: Ps,
    /// RTT of the network the gains are stated for.
    #[serde(rename = "ReferenceNetworkRTT")]
    pub reference_network_rtt: Ps,
    /// Its link rate.
    #[serde(rename = "ReferenceNetworkLinkSpeed")]
    pub reference_network_link_speed: BitRate,
    /// Use `TargetQueueDelay`, not the one that follows the base RTT.
    #[serde(rename = "OverrideSpecTargetQueueDelay")]
    pub override_spec_target_queue_delay: bool,
    /// The target delay then.
    #[serde(rename = "TargetQueueDelay")]
    pub target_queue_delay: Ps,
    /// A delay below this is next to none: fast increase.
    #[serde(rename = "TargetQueueDelayMargin")]
    pub target_queue_delay_margin: Ps,
    /// No Quick Adapt.
    #[serde(rename = "DisableQuickAdapt")]
    pub disable_quick_adapt: bool,
    /// Quick Adapt fires below the largest window over 2 to this (0 to 31).
    #[serde(rename = "QuickAdaptGate")]
    pub quick_adapt_gate: u64,
    /// Average delay above which it fires; without trimming only.
    #[serde(rename = "QuickAdaptThreshold")]
    pub quick_adapt_threshold: Ps,
    /// Use `MaxCongestionWindow`, not the one that follows the base RTT.
    #[serde(rename = "OverrideUetSpecMaxCWind")]
    pub override_uet_spec_max_cwind: bool,
    /// The largest window then, full packets (1 to 4,096).
    #[serde(rename = "MaxCongestionWindow")]
    pub max_congestion_window: u64,
    /// Receive pool occupancy at which the receiver penalty starts, percent.
    #[serde(rename = "ReceiverCongestionLowThreshold")]
    pub receiver_congestion_low_threshold: f64,
    /// Occupancy at which it is largest, percent.
    #[serde(rename = "ReceiverCongestionHighThreshold")]
    pub receiver_congestion_high_threshold: f64,
    /// Receivers let senders restore the window once the penalty is over.
    #[serde(rename = "RestoreCWindEnable")]
    pub restore_cwind_enable: bool,
    /// Least part of the window one decrease leaves.
    #[serde(rename = "MaxMultiplicativeDecreaseJump")]
    pub max_multiplicative_decrease_jump: f64,
    /// Gain of proportional increase.
    #[serde(rename = "AlphaMultiplier")]
    pub alpha_multiplier: f64,
    /// Gain of fair increase.
    #[serde(rename = "FairIncreaseMultiplier")]
    pub fair_increase_multiplier: f64,
    /// Gain of fast increase.
    #[serde(rename = "FastIncreaseMultiplier")]
    pub fast_increase_multiplier: f64,
    /// Gain of the increase with time.
    #[serde(rename = "EtaMultiplier")]
    pub eta_multiplier: f64,
    /// Depth of a decrease.
    #[serde(rename = "Gamma")]
    pub gamma: f64,
    /// Weight of the newest delay in the average.
    #[serde(rename = "DelayAlpha")]
    pub delay_alpha: f64,
    /// A base RTT is the RTT that lowered it and this ("about 1 µs").
    pub base_rtt_guard: Ps,
    /// Average delay a group starts with.
    pub initial_average_delay: Ps,
    /// The gains' and the least window's packet; none: a full packet's IP bytes.
    pub window_unit: Option<Bytes>,
    /// Fast increase scales with the reference network as the other gains do.
    pub fast_increase_by_reference: bool,
    /// Acknowledged bytes after which growth is applied; none: 8 of the window's unit.
    pub adjust_bytes: Option<Bytes>,
    /// Time after which it is; none: `InitialBaseRTT`.
    pub adjust_period: Option<Ps>,
    /// What counts as newly acknowledged.
    pub newly_acknowledged: NewlyAcknowledged,
}

impl Default for CongestionControl {
    fn default() -> Self {
        CongestionControl {
            pass_through: false,
            nscc_enable: true,
            initial_base_rtt: Ps(6_000_000),
            reference_network_rtt: Ps(6_000_000),
            reference_network_link_speed: BitRate(400_000_000_000),
            override_spec_target_queue_delay: false,
            target_queue_delay: Ps(4_500_000),
            target_queue_delay_margin: Ps(1_000_000),
            disable_quick_adapt: false,
            quick_adapt_gate: 3,
            quick_adapt_threshold: Ps(24_000_000),
            override_uet_spec_max_cwind: false,
            max_congestion_window: 107,
            receiver_congestion_low_threshold: 25.0,
            receiver_congestion_high_threshold: 75.0,
            restore_cwind_enable: false,
            max_multiplicative_decrease_jump: 0.5,
            alpha_multiplier: 4.0,
            fair_increase_multiplier: 5.0,
            fast_increase_multiplier: 1.0,
            eta_multiplier: 0.15,
            gamma: 0.8,
            delay_alpha: 0.25,
            base_rtt_guard: Ps(1_000_000),
            initial_average_delay: Ps(0),
            window_unit: None,
            fast_increase_by_reference: false,
            adjust_bytes: None,
            adjust_period: None,
            newly_acknowledged: NewlyAcknowledged::default(),
        }
    }
}

/// The link between a NIC and its host: `LaneBps` times `LaneCount` in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostLink {
    /// Rate of a lane.
    #[serde(rename = "LaneBps")]
    pub lane_bps: BitRate,
    /// Lanes (1 or more).
    #[serde(rename = "LaneCount")]
    pub lane_count: u64,
}

impl Default for HostLink {
    fn default() -> Self {
        HostLink { lane_bps: BitRate(31_520_000_000), lane_count: 16 }
    }
}

impl HostLink {
    /// Bits per second of a direction.
    pub fn rate(&self) -> u64 {
        self.lane_bps.0.saturating_mul(self.lane_count)
    }
}
