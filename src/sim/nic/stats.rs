//! What transports count: by flow, and by NIC.
//!
//! Running totals only; who records turns them into rows. Names of NIC counters are the
//! documented ones.

/// Counts of a flow. Retransmissions are included in `sent_packets`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowStats {
    /// Data packets whose serialization started.
    pub sent_packets: u64,
    /// Their IP bytes.
    pub sent_bytes: u64,
    /// Of them, retransmissions.
    pub retransmitted: u64,
    /// Data packets that arrived whole, duplicates included.
    pub received_packets: u64,
    /// IP bytes of data that arrived whole, duplicates included.
    pub received_bytes: u64,
    /// Data packets that arrived trimmed.
    pub received_trimmed: u64,
    /// Data packets that arrived with CE, trimmed ones included.
    pub received_ce: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Payload bytes handed to the application, each once.
    pub payload_bytes: u64,
}

impl FlowStats {
    /// Both together.
    #[must_use]
    pub fn plus(mut self, other: &FlowStats) -> FlowStats {
        self.sent_packets += other.sent_packets;
        self.sent_bytes += other.sent_bytes;
        self.retransmitted += other.retransmitted;
        self.received_packets += other.received_packets;
        self.received_bytes += other.received_bytes;
        self.received_trimmed += other.received_trimmed;
        self.received_ce += other.received_ce;
        self.timeouts += other.timeouts;
        self.payload_bytes += other.payload_bytes;
        self
    }
}

/// Smallest, largest, last and summed value of what was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Samples {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: u128,
    /// The smallest; meaningless while `count` is 0.
    pub min: u64,
    /// The largest.
    pub max: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Samples { count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Samples {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }
}

/// Counts of a NIC. Running totals; the samples are of the interval and reset by who records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "documented column names; described in the schema")]
pub struct NicStats {
    /// Packets handed to serialization, probes and PFC frames left out.
    pub total_pkts_sent: u64,
    pub total_pkts_rcvd: u64,
    pub write_pkts_sent: u64,
    pub write_pkts_rcvd: u64,
    pub ack_pkts_sent: u64,
    pub ack_pkts_rcvd: u64,
    pub nack_pkts_sent: u64,
    pub nack_pkts_rcvd: u64,
    pub wqes_created: u64,
    pub wqes_completed: u64,
    pub num_out_of_order_events_on_nic: u64,
    pub num_dup_events_on_nic: u64,
    pub probe_sent: u64,
    pub probe_ack_rcvd: u64,
    /// Retransmission timeouts.
    pub num_rto: u64,
    /// Packets retransmitted.
    pub num_rtx: u64,
    pub m_marked_pkts_rcvd: u64,
    pub num_quick_adapt: u64,
    pub num_cnp_sent: u64,
    pub num_cnp_recvd: u64,
    /// Trimmed data packets received.
    pub trimmed_pkts_rcvd: u64,
    /// Congestion window (bytes) at each first transmission, or allowed rate (bit/s) for `roce`.
    pub window: Samples,
    /// Valid RTT samples, ps.
    pub rtt: Samples,
    /// Bytes in flight of the group (or queue pair) at each first transmission.
    pub in_flight: Samples,
}
