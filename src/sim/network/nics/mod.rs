//! Hosts whose NIC reacts: what the network keeps for them, and their flows.
//!
//! Owns the transports, the queues and pools of every NIC, the headers under way and the flows'
//! counts. A NIC's frame is put on its link when it starts, because nothing can cut it; a NIC has
//! an event of its own only where something waits for the end of a frame, for a deadline, or for
//! room. `events` handles them, `late` takes what arrives without one, `rows` writes what was counted.

mod events;
mod late;
mod port;
mod rows;
#[cfg(test)]
mod tests;

use crate::scenario::{Nic, NicModel, QueueScheduling, Scenario, Table};
use crate::sim::event::NEVER;
use crate::sim::link::Line;
use crate::sim::nic::any::AnyTransport;
use crate::sim::nic::egress::{Egress, EgressSettings, Scheduler};
use crate::sim::nic::hpcc::law::Hop;
use crate::sim::nic::ingress::{Ingress, IngressSettings};
use crate::sim::nic::packets::Packets;
use crate::sim::nic::stats::{FlowStats, NicStats};
use crate::sim::nic::{Done, Io};
use crate::sim::observe::FlowRow;
use crate::sim::packet::{Packet, PfcFrame};
use crate::sim::random::Seeds;
use crate::sim::switch::route::FlowHashes;
use crate::sim::traffic::{FlowStart, Steps};

/// The NICs of a network that is known to have them.
macro_rules! nics {
    ($network:expr) => {
        match $network.nics.as_deref_mut() {
            Some(nics) => nics,
            None => unreachable!("hosts whose NIC reacts have events only where they exist"),
        }
    };
}
use nics;

/// A host whose NIC reacts.
#[derive(Debug)]
pub(super) struct NicHost {
    egress: Egress,
    ingress: Ingress,
    stats: NicStats,
    /// As `stats` at the start of the interval.
    last_stats: NicStats,
    line: Line,
    /// Its switch port.
    port: u32,
    /// Frames whose serialization started, their wire bytes, and the last one's.
    frames: u64,
    wire: u64,
    last_wire: u64,
    /// The frame in serialization is this PFC frame, which the counts do not have yet.
    uncounted: Option<PfcFrame>,
    /// Frames of PFC on their way to it, while its arrivals are late.
    pfc_inbound: u32,
    /// An end of service waits in the heap for a pause of this NIC's.
    release_armed: bool,
    /// Key in its slot of the event list.
    armed: u64,
    /// While nothing is on its link: key in the slot of the switch port it faces.
    announced: u64,
    /// Last instant at which something reached the host or a frame of it started: an idle port
    /// starts no frame earlier.
    touched: u64,
    /// Hashes of packets it sent, by destination and source port.
    hashes: [(u32, u16, FlowHashes); 4],
    /// For when the start of flows is in the heap.
    flows_at: Option<u64>,
}

/// A flow that has started.
#[derive(Debug, Clone, Copy)]
struct Open {
    spec: FlowStart,
    /// It is acknowledged to its end: the slot stands for no flow.
    closed: bool,
}

/// Everything of hosts whose NIC reacts.
#[derive(Debug)]
pub(super) struct Nics {
    transport: AnyTransport,
    hosts: Vec<NicHost>,
    packets: Packets,
    /// Started flows by slot; a slot is used again once its flow is acknowledged to its end.
    open: Vec<Open>,
    /// Their counts.
    stats: Vec<FlowStats>,
    free: Vec<u32>,
    /// Counts of the flows whose slots were used again.
    closed: FlowStats,
    /// Rows of acknowledged flows, if they are asked for.
    rows: Option<Vec<FlowRow>>,
    /// Flows that have started and are not acknowledged to their end.
    unfinished: u64,
    /// IP bytes of packets whose serialization started, over the whole job.
    pub(super) committed: u64,
    done: Vec<Done>,
    /// Collectives: what waits for other transfers.
    steps: Steps,
    /// Transfers that may start, before they are posted.
    next_steps: Vec<FlowStart>,
    /// Transfers that start later than what they waited for.
    late_steps: Vec<FlowStart>,
    /// Hosts that a step has given something to send.
    woken: Vec<u32>,
    /// Every end of a frame is an event of its own: see `port`.
    prompt: bool,
    /// The switches run the UET policy.
    policy: bool,
    model: NicModel,
    /// Choices of paths exist: headers need their hashes.
    choices: bool,
    /// Payload delivered, retransmissions, packets and timeouts when the warm-up ended.
    warm_up: FlowStats,
}

impl Nics {
    /// The NICs of a scenario; `None` for open-loop senders, which the network knows itself.
    pub(super) fn new(
        scenario: &Scenario,
        lines: &[(Line, u32)],
        seeds: &Seeds,
        choices: bool,
        steps: Steps,
    ) -> Option<Nics> {
        let rates: Vec<u64> = lines.iter().map(|(line, _)| line.rate).collect();
        let transport = AnyTransport::new(scenario, &rates, seeds)?;
        let hosts = (0u32..)
            .zip(lines)
            .map(|(host, &(line, port))| {
                let nic = scenario.nic.of_host(host);
                NicHost {
                    egress: Egress::new(egress(&nic)),
                    ingress: Ingress::new(ingress(&nic)),
                    stats: NicStats::default(),
                    last_stats: NicStats::default(),
                    line,
                    port,
                    frames: 0,
                    wire: 0,
                    last_wire: 0,
                    uncounted: None,
                    pfc_inbound: 0,
                    release_armed: false,
                    armed: NEVER,
                    announced: NEVER,
                    touched: 0,
                    // No host has that number.
                    hashes: [(u32::MAX, 0, FlowHashes::default()); 4],
                    flows_at: None,
                }
            })
            .collect();
        Some(Nics {
            prompt: !steps.is_empty(),
            transport,
            hosts,
            packets: Packets::default(),
            open: Vec::new(),
            stats: Vec::new(),
            free: Vec::new(),
            closed: FlowStats::default(),
            rows: scenario.record.has(Table::Flows).then(Vec::new),
            unfinished: 0,
            committed: 0,
            done: Vec::new(),
            steps,
            next_steps: Vec::new(),
            late_steps: Vec::new(),
            woken: Vec::new(),
            policy: scenario.switch.shared_buffer_manager.uet_policy_enabled,
            model: scenario.nic.model,
            choices,
            warm_up: FlowStats::default(),
        })
    }

    /// The transport and what it acts on at a host.
    #[inline]
    fn parts(&mut self, host: u32) -> (&mut AnyTransport, Io<'_>) {
        let nic = &mut self.hosts[host as usize];
        let io = Io {
            egress: &mut nic.egress,
            flows: &mut self.stats,
            stats: &mut nic.stats,
            done: &mut self.done,
        };
        (&mut self.transport, io)
    }

    /// Whether arrivals of packets need not be events: see `late`.
    pub(super) fn may_be_late(&self) -> bool {
        self.model == NicModel::Hpcc && !self.prompt
    }

    /// Whether switches are to write telemetry into packets.
    pub(super) fn wants_telemetry(&self) -> bool {
        self.transport.wants_telemetry()
    }

    /// A switch port writes telemetry into a packet that it starts.
    pub(super) fn stamp(&mut self, packet: Packet, hop: Hop) {
        let header = self.packets.get(packet.flow()).header;
        self.transport.stamp(&header, hop);
    }

    /// The NIC's class that a traffic class of the switch stands for.
    #[inline]
    fn class_of(&self, tc: u8) -> Option<u8> {
        match (self.model, self.policy, tc) {
            (NicModel::Uet, true, 0) => Some(0),
            (NicModel::Uet, true, 2) => Some(1),
            (NicModel::Uet, true, _) => None,
            (_, _, tc) => Some(tc),
        }
    }

    /// The traffic class that a NIC names when it pauses a class of its own.
    #[inline]
    fn tc_of(&self, class: u8) -> u8 {
        match (self.model, self.policy, class) {
            (NicModel::Uet, true, 1) => 2,
            (_, _, class) => class,
        }
    }

    /// Counts of all flows together.
    fn all_flows(&self) -> FlowStats {
        self.stats.iter().fold(self.closed, |sum, flow| sum.plus(flow))
    }

    /// Whether nothing is left to be acknowledged, on its way, or queued.
    fn quiet(&self) -> bool {
        self.unfinished == 0
            && self.steps.remaining() == 0
            && self.late_steps.is_empty()
            && self.packets.live() == 0
            && self.hosts.iter().all(|nic| nic.egress.waiting() == 0)
    }
}

/// Pools that nothing fills, for models without any.
const BOUNDLESS: [u64; 8] = [u64::MAX / 4; 8];

fn egress(nic: &Nic) -> EgressSettings {
    if nic.model == NicModel::Hpcc {
        return EgressSettings { pools: BOUNDLESS, scheduler: Scheduler::Strict };
    }
    let weights = nic.egress.wrr_queue_weights.map(|weight| u32::try_from(weight).unwrap_or(0));
    EgressSettings {
        pools: nic.egress.pools(),
        scheduler: match nic.egress.queue_scheduling_type {
            QueueScheduling::StrictPriority => Scheduler::Strict,
            QueueScheduling::RoundRobin => Scheduler::RoundRobin,
            QueueScheduling::WeightedRoundRobin => Scheduler::Weighted(weights),
        },
    }
}

fn ingress(nic: &Nic) -> IngressSettings {
    if nic.model == NicModel::Hpcc {
        // Hosts take everything at once: nothing is asked of these.
        let shares = [1.0; 8];
        let (pools, link, pfc_classes) = (BOUNDLESS, u64::MAX, 0);
        return IngressSettings { pools, link, pfc_classes, xoff: shares, xon: shares };
    }
    let classes = nic.pfc_enable_vector.iter().enumerate();
    IngressSettings {
        pools: nic.ingress.pools(),
        link: nic.host_link.rate(),
        pfc_classes: classes.fold(0, |mask, (class, &on)| mask | u8::from(on != 0) << class),
        xoff: nic.pfc_static_xoff_threshold,
        xon: nic.pfc_xon_resume_threshold,
    }
}
