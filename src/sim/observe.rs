//! What a job measured, as plain rows.
//!
//! Owns the shape of the observations. `record` names and types the columns; adding one touches
//! the probe that measures it and the schema, nothing between. All times are ps, all sizes are
//! charged bytes unless a field says otherwise. Rows are in order of time, then node, port and the
//! rest of their key.

use super::nic::stats::NicStats;
use super::switch::route::MemberStats;
use std::sync::Arc;

/// Everything one job leaves.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observations {
    /// Headline results: the job's row in `jobs`.
    pub totals: Totals,
    /// Rows of `port_buffers`; empty unless asked for (as every table below).
    pub port_buffers: Vec<PortBufferRow>,
    /// Rows of `switch_buffers`.
    pub switch_buffers: Vec<SwitchBufferRow>,
    /// Rows of `drops`.
    pub drops: Vec<DropRow>,
    /// Rows of `pfc`.
    pub pfc: Vec<PfcRow>,
    /// Rows of `port_counters`.
    pub port_counters: Vec<PortCounterRow>,
    /// Rows of `flows`.
    pub flows: Vec<FlowRow>,
    /// Rows of `transport`.
    pub transport: Vec<TransportRow>,
    /// Rows of `load_balancing`.
    pub load_balancing: Vec<LoadBalancingRow>,
    /// Rows of `pfc_events`, by time, node, port and class.
    pub pfc_events: Vec<PfcEventRow>,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum End {
    /// At its `duration`.
    #[default]
    Duration,
    /// Drained before it.
    Drained,
    /// The budget of events ran out.
    EventBudget,
    /// The budget of simulated time ran out.
    TimeBudget,
    /// Pauses wait for one another in a circle, and the job was to stop there.
    Deadlock,
}

/// Which counter of a port and pool a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BuffId {
    /// Bytes the port brought into the pool (`ingressUsage`).
    Ingress,
    /// Bytes queued to leave by the port (`egressQueue`).
    Egress,
    /// Bytes in the port's headroom (`hdrm`).
    Headroom,
    /// Of the ingress bytes, those beyond the queue's reserve (`shared`).
    Shared,
    /// Of the ingress bytes, those within the queue's reserve (`reserve`).
    Reserve,
}

impl BuffId {
    /// Every counter.
    pub const ALL: [BuffId; 5] =
        [BuffId::Ingress, BuffId::Egress, BuffId::Headroom, BuffId::Shared, BuffId::Reserve];

    /// The documented name.
    pub fn name(self) -> &'static str {
        match self {
            BuffId::Ingress => "ingressUsage",
            BuffId::Egress => "egressQueue",
            BuffId::Headroom => "hdrm",
            BuffId::Shared => "shared",
            BuffId::Reserve => "reserve",
        }
    }
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// Headroom full.
    IngressHeadroom,
    /// Pool full at ingress.
    IngressPool,
    /// Egress queue limit.
    EgressQueueLimit,
    /// Pool full at egress.
    EgressPool,
    /// A trim that found no room.
    TrimFailed,
    /// The receiving NIC's pool was full.
    NicReceivePool,
    /// Over the ingress threshold with no headroom left.
    IngressAdmission,
}

impl DropReason {
    /// How many there are.
    pub const COUNT: usize = 7;

    /// Every reason, in the order of their columns.
    pub const ALL: [DropReason; DropReason::COUNT] = [
        DropReason::IngressHeadroom,
        DropReason::IngressPool,
        DropReason::EgressQueueLimit,
        DropReason::EgressPool,
        DropReason::TrimFailed,
        DropReason::NicReceivePool,
        DropReason::IngressAdmission,
    ];

    /// The documented name.
    pub fn name(self) -> &'static str {
        match self {
            DropReason::IngressHeadroom => "ingress_headroom",
            DropReason::IngressPool => "ingress_pool",
            DropReason::EgressQueueLimit => "egress_queue_limit",
            DropReason::EgressPool => "egress_pool",
            DropReason::TrimFailed => "trim_failed",
            DropReason::NicReceivePool => "nic_receive_pool",
            DropReason::IngressAdmission => "ingress_admission",
        }
    }
}

/// Side of a port, or the whole switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Faces the lower tier.
    Down,
    /// Faces the upper tier.
    Up,
    /// The shared buffer.
    Whole,
}

impl Side {
    /// The value of the `uldl` column.
    pub fn name(self) -> &'static str {
        match self {
            Side::Down => "dl",
            Side::Up => "ul",
            Side::Whole => "-",
        }
    }
}

/// Occupancy of one counter over one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    /// End of the interval.
    pub sim_time: u64,
    /// Length of the interval.
    pub length: u64,
    /// What the value is compared with.
    pub limit: u64,
    /// Changes in the interval.
    pub count: u64,
    /// Smallest value held at any instant, the one at its start included.
    pub min: u64,
    /// Largest value held.
    pub max: u64,
    /// Time-weighted sum, byte·ps: the mean is this over `length`.
    pub integral: u128,
}

/// A row of `port_buffers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortBufferRow {
    /// Switch.
    pub node: u32,
    /// Port.
    pub port: u32,
    /// Side of the port.
    pub side: Side,
    /// Counter.
    pub buff: BuffId,
    /// Pool.
    pub pool: u8,
    /// Measured values.
    pub occupancy: Occupancy,
}

/// Which counter of a switch a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SwitchBuff {
    /// `ingressUsage` over the ports of a side.
    Ingress,
    /// `egressQueue` over the ports of a side.
    Egress,
    /// `sharedBuffer`: a pool over all ports, or everything with pool −1.
    Shared,
}

/// A row of `switch_buffers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchBufferRow {
    /// Switch.
    pub node: u32,
    /// Ports summed over.
    pub side: Side,
    /// Counter.
    pub buff: SwitchBuff,
    /// Pool; −1 is pools and headroom together.
    pub pool: i8,
    /// Measured values.
    pub occupancy: Occupancy,
}

/// A row of `drops`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropRow {
    /// End of the interval.
    pub sim_time: u64,
    /// Node.
    pub node: u32,
    /// Port: the arriving one for ingress drops, the leaving one for egress drops.
    pub port: u32,
    /// Traffic class.
    pub tc: u8,
    /// Pool (a NIC's is the class).
    pub pool: u8,
    /// Reason.
    pub reason: DropReason,
    /// Packets in the interval.
    pub packets: u64,
    /// Charged bytes in the interval (a NIC's are IP bytes).
    pub bytes: u64,
}

/// A row of `pfc_events`: a PFC frame was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PfcEventRow {
    /// When.
    pub sim_time: u64,
    /// Node that received it, hosts too.
    pub node: u32,
    /// Port it was received at.
    pub port: u32,
    /// Traffic class it is about.
    pub tc: u8,
    /// A pause, not a resume.
    pub pause: bool,
}

/// A row of `pfc`: running totals unless named `interval_`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PfcRow {
    /// End of the interval.
    pub sim_time: u64,
    /// Length of the interval.
    pub length: u64,
    /// Node, hosts too.
    pub node: u32,
    /// Port.
    pub port: u32,
    /// Side of the port (a host's port faces up).
    pub side: Side,
    /// Traffic class.
    pub tc: u8,
    /// Pause frames sent.
    pub xoff_tx: u64,
    /// Pause frames received.
    pub xoff_rx: u64,
    /// Resume frames sent.
    pub xon_tx: u64,
    /// Resume frames received.
    pub xon_rx: u64,
    /// Time the class was held here as an egress.
    pub paused: u64,
    /// The same inside the interval.
    pub interval_paused: u64,
    /// Its longest stretch, cut to the interval.
    pub interval_max_paused: u64,
    /// Packets newly marked CE at the start of a frame.
    pub ecn_marked: u64,
}

/// A row of `port_counters`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortCounterRow {
    /// End of the interval.
    pub sim_time: u64,
    /// Length of the interval.
    pub length: u64,
    /// Node, hosts too.
    pub node: u32,
    /// Port.
    pub port: u32,
    /// Side of the port.
    pub side: Side,
    /// Link rate, bit/s.
    pub rate: u64,
    /// Frames sent, PFC included.
    pub packets_tx: u64,
    /// Frames received.
    pub packets_rx: u64,
    /// Wire bytes sent.
    pub bytes_tx: u64,
    /// Wire bytes received.
    pub bytes_rx: u64,
    /// The four above inside the interval.
    pub interval_packets_tx: u64,
    /// Frames received in the interval.
    pub interval_packets_rx: u64,
    /// Wire bytes sent in the interval.
    pub interval_bytes_tx: u64,
    /// Wire bytes received in the interval.
    pub interval_bytes_rx: u64,
    /// Packets dropped on leaving by this port.
    pub tx_drops: u64,
    /// Packets dropped on arriving at this port.
    pub rx_drops: u64,
    /// Packets trimmed at this port.
    pub trims: u64,
    /// Charged bytes taken off by trimming.
    pub trim_cut_bytes: u64,
}

/// A row of `flows`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowRow {
    /// Place in the expanded list of the scenario.
    pub flow_id: u64,
    /// Place of its pattern in `traffic`.
    pub pattern: u32,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Traffic class.
    pub tc: u8,
    /// IP bytes.
    pub bytes: u64,
    /// Start.
    pub start: u64,
    /// Arrival of the last byte, if all arrived.
    pub end: Option<u64>,
    /// Packets sent.
    pub sent_packets: u64,
    /// IP bytes sent.
    pub sent_bytes: u64,
    /// Packets received whole.
    pub received_packets: u64,
    /// IP bytes of packets received whole.
    pub received_bytes: u64,
    /// Packets received that a switch had trimmed.
    pub received_trimmed: u64,
    /// Packets received with CE, trimmed ones too.
    pub received_ce: u64,
    /// Packets sent again, among `sent_packets`.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// A row of `transport`: a NIC that reacts, over one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportRow {
    /// End of the interval.
    pub sim_time: u64,
    /// Host.
    pub node: u32,
    /// Running totals, and the interval's samples.
    pub stats: NicStats,
    /// Running totals at the interval's start.
    pub before: NicStats,
    /// What `stats.window` samples are rates (bit/s), not windows (bytes).
    pub rates: bool,
}

/// A row of `load_balancing`: a member of an equal-cost set, over one interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadBalancingRow {
    /// End of the interval.
    pub sim_time: u64,
    /// Switch.
    pub node: u32,
    /// Place of the set among those of the switch that have several members.
    pub group: u32,
    /// The ports of the set, in order, with commas.
    pub group_ports: Arc<str>,
    /// How many they are.
    pub group_size: u32,
    /// Slots of the set's flow table; 0 where the hash alone chooses.
    pub slots: u64,
    /// Port of the member.
    pub port: u32,
    /// Running totals.
    pub stats: MemberStats,
    /// Running totals at the interval's start.
    pub before: MemberStats,
    /// Bytes of the whole set in the interval.
    pub group_bytes: u64,
}

/// A switch port and class held by a pause that waits for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldPort {
    /// Switch.
    pub node: u32,
    /// Port.
    pub port: u32,
    /// Traffic class.
    pub tc: u8,
}

/// Headline results of a job. A warm-up is left out of everything but `end`, `end_time`,
/// `flows_unfinished`, `stuck_pauses`, the deadlock and `events`; completed flows count by when they complete.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Totals {
    /// How the job ended.
    pub end: End,
    /// Simulated time at the end.
    pub end_time: u64,
    /// Measured time: end − warm-up.
    pub measured: u64,
    /// Packets dropped, by [`DropReason`] in the order of [`DropReason::ALL`].
    pub drops: [u64; DropReason::COUNT],
    /// Charged bytes dropped.
    pub dropped_bytes: u64,
    /// Time of the first drop.
    pub first_drop: Option<u64>,
    /// Lossless packets dropped on arrival at a port that had not paused the pool before them.
    pub drops_without_pause: u64,
    /// Largest ingress occupancy of a port and pool.
    pub peak_ingress: u64,
    /// Largest headroom of a port and pool.
    pub peak_headroom: u64,
    /// Largest egress queue of a port and pool.
    pub peak_egress: u64,
    /// Pause frames sent (refreshes included), all nodes.
    pub pause_frames: u64,
    /// Resume frames sent, all nodes.
    pub resume_frames: u64,
    /// Largest held time of a port and class.
    pub paused_max: u64,
    /// Held time summed over connected ports (hosts' too) and lossless classes.
    pub paused_sum: u128,
    /// Number of pairs `paused_sum` runs over.
    pub paused_pairs: u64,
    /// Port and pool pairs paused at the end with no lossless byte of theirs inside.
    pub stuck_pauses: u64,
    /// When pauses were first found to wait for one another in a circle.
    pub deadlock: Option<u64>,
    /// The held ports and classes that circle, in order.
    pub deadlock_ports: Vec<HeldPort>,
    /// Packets newly marked CE.
    pub ecn_marks: u64,
    /// Packets trimmed.
    pub trims: u64,
    /// Charged bytes taken off by trimming.
    pub trim_cut_bytes: u64,
    /// IP bytes delivered in whole packets.
    pub delivered_bytes: u64,
    /// Packets delivered whole.
    pub delivered_packets: u64,
    /// Payload bytes handed to applications, each once; none for open-loop senders.
    pub payload_bytes: Option<u64>,
    /// Data packets NICs that react started to send, retransmissions included.
    pub data_packets_sent: u64,
    /// Retransmissions among them.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Median completion time of finished flows (nearest rank).
    pub fct_p50: Option<u64>,
    /// 99th percentile.
    pub fct_p99: Option<u64>,
    /// Longest.
    pub fct_max: Option<u64>,
    /// Flows that completed, after the warm-up.
    pub flows_finished: u64,
    /// Flows that started and did not complete.
    pub flows_unfinished: u64,
    /// Events handled: arrivals and ends of serialization at switches, PFC and service events.
    pub events: u64,
    /// Packets that arrived at switches, dropped ones included: one packet at one switch is one
    /// hop.
    pub packet_hops: u64,
}
