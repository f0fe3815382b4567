//! The Ultra Ethernet transport (UET): connections, groups, windows, timers of all hosts of a job.
//!
//! Owns the documented NIC between a message and its port's queues: segmentation, groups of
//! connections by destination, the window and pool gates, fetches, entropy, acknowledgements,
//! NACKs, probes and timeouts. Refuses to know links, switches, receive pools and PFC (the queues
//! and who drives them do), and the prefetch buffer, which this version does not have.
//!
//! Where the documentation is silent: a packet's NACK counts only once its latest transmission has
//! left; an acknowledgement also retires the packet that drew it; SACK blocks start at multiples
//! of 64; a receiving connection is open from its first packet to its last missing one; the largest
//! window stays where `OverrideUetSpecMaxCWind` puts it when the base RTT is lowered; a connection's
//! local UDP port is 49,152 and the flow's number modulo 16,384; read requests do not compete
//! with received data for the host link; the received bytes that an acknowledgement carries are
//! the IP bytes of the connection's packets that have come, each once, rounded down to its unit of
//! 256 B, and what is in flight follows the packets even where the window follows those bytes.

mod connection;
mod host;
mod nscc;
mod receive;
mod send;
mod spray;
mod wire;

use super::host_link::{Fetcher, Pace};
use super::stats::FlowStats;
use super::{Header, Incoming, Io, Message, NicRates, Outgoing, PacketKind, Transport};
use crate::scenario::uet::{CongestionControl, PdsManager};
use crate::sim::random::Seeds;
use connection::{Receiver, Sender};
use host::{Host, Timers};
use nscc::{Gains, Nscc};
use spray::{Sprayer, Spraying};
use std::collections::{BTreeMap, VecDeque};
pub use wire::DATA_HEADERS;

/// What connections of one host to one destination share.
#[derive(Debug)]
struct Group {
    /// Changes when the group ends: what named it before names nothing.
    generation: u32,
    host: u32,
    peer: u32,
    /// Open connections, to and from the peer.
    open: u32,
    /// Whether it stands among its host's ready groups.
    ready: bool,
    nscc: Nscc,
    /// IP bytes committed and not acknowledged, trimmed or timed out.
    in_flight: u64,
    /// IP bytes fetched and not acknowledged.
    fetched: u64,
    sprayer: Sprayer,
    /// Connections that may have something to send, in turn.
    active: VecDeque<u32>,
}

/// UET NICs of all hosts, and every connection.
#[derive(Debug)]
pub struct Uet {
    pds: PdsManager,
    cc: CongestionControl,
    mss: u64,
    ack_every: u64,
    hosts: Vec<Host>,
    groups: Vec<Group>,
    free_groups: Vec<u32>,
    /// Groups by host and peer; none while groups are off.
    peers: BTreeMap<(u32, u32), u32>,
    /// Connections, two halves each.
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    free_connections: Vec<u32>,
}

impl Uet {
    /// NICs at rest, in the order of host numbers. Settings are taken as checked: an MSS of 1 to 65,447 bytes, egress pools that hold a full packet and an
    /// acknowledgement, messages below 2^32 packets.
    pub fn new(pds: &PdsManager, cc: &CongestionControl, nics: &[NicRates], seeds: &Seeds) -> Uet {
        let mss = pds.rdma_data_mss.0.clamp(1, u64::from(u16::MAX - DATA_HEADERS));
        let full = mss + u64::from(DATA_HEADERS);
        let timeouts: Vec<u64> = if pds.fixed_rexmit_time_enable {
            vec![pds.fixed_rexmit_timeout.0]
        } else {
            (0..=pds.max_exponential_rto_backoff_count.min(15))
                .map(|level| pds.initial_retransmit_timeout.0.saturating_mul(1 << level))
                .collect()
        };
        let hosts = nics.iter().enumerate().map(|(host, rates)| {
            let gains = Gains::new(cc, pds.trimming_enabled, rates.line, full);
            let window = (gains.bdp() / full as f64) as u64;
            let draws = seeds.stream(&format!("entropy of host {host}"));
            let spraying = Spraying::new(pds, window);
            Host::new(
                gains,
                spraying,
                draws,
                Timers::new(&timeouts),
                Fetcher::new(Pace::new(rates.host_link)),
            )
        });
        Uet {
            pds: pds.clone(),
            cc: cc.clone(),
            mss,
            ack_every: pds.ack_request_every_nth_packet.max(1),
            hosts: hosts.collect(),
            groups: Vec::new(),
            free_groups: Vec::new(),
            peers: BTreeMap::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            free_connections: Vec::new(),
        }
    }

    /// The group a connection of `host` with `peer` joins, opened if need be. `port` is the
    /// connection's local UDP port.
    fn join(&mut self, now: u64, host: u32, peer: u32, port: u16) -> u32 {
        if self.pds.pdc_groups_enabled
            && let Some(&group) = self.peers.get(&(host, peer))
        {
            self.groups[group as usize].open += 1;
            return group;
        }
        let own = &self.hosts[host as usize];
        let (nscc, sprayer) = (Nscc::new(&own.gains, now), Sprayer::new(&own.spraying, port));
        let group = match self.free_groups.pop() {
            Some(group) => {
                let old = &mut self.groups[group as usize];
                (old.host, old.peer, old.open, old.ready) = (host, peer, 1, false);
                (old.in_flight, old.fetched) = (0, 0);
                (old.nscc, old.sprayer) = (nscc, sprayer);
                group
            }
            None => {
                self.groups.push(Group {
                    generation: 0,
                    host,
                    peer,
                    open: 1,
                    ready: false,
                    nscc,
                    in_flight: 0,
                    fetched: 0,
                    sprayer,
                    active: VecDeque::new(),
                });
                self.groups.len() as u32 - 1
            }
        };
        if self.pds.pdc_groups_enabled {
            self.peers.insert((host, peer), group);
        }
        group
    }

    /// A connection of a group has closed; the last one ends the group.
    fn leave(&mut self, number: u32) {
        let group = &mut self.groups[number as usize];
        group.open -= 1;
        if group.open == 0 {
            group.generation += 1;
            group.active.clear();
            if self.pds.pdc_groups_enabled {
                self.peers.remove(&(group.host, group.peer));
            }
            self.free_groups.push(number);
        }
    }

    /// Frees a connection's entry once nothing can name it any more.
    fn free_if_done(&mut self, connection: u32) {
        let sender = &mut self.senders[connection as usize];
        let receiver = &self.receivers[connection as usize];
        if sender.closed && receiver.complete && sender.copies + receiver.copies == 0 {
            // Not twice: a free entry is not closed.
            sender.closed = false;
            self.free_connections.push(connection);
        }
    }
}

/// A flow's counts, or nowhere once the flow is no longer the transport's.
#[inline]
fn count(flows: &mut [FlowStats], flow: u32, over: bool, count: impl FnOnce(&mut FlowStats)) {
    if !over {
        count(&mut flows[flow as usize]);
    }
}

impl Transport for Uet {
    fn post(&mut self, now: u64, message: &Message, io: &mut Io<'_>) {
        self.open(now, message);
        io.stats.wqes_created += 1;
    }

    fn receive(&mut self, now: u64, host: u32, packet: &Incoming, io: &mut Io<'_>) {
        let connection = packet.header.connection;
        if packet.header.kind != PacketKind::Probe && packet.header.kind != PacketKind::ProbeAck {
            io.stats.total_pkts_rcvd += 1;
        }
        match packet.header.kind {
            PacketKind::Data => self.data(now, packet, io),
            PacketKind::Ack => self.acknowledged(now, packet, io),
            PacketKind::Nack => self.refused(now, packet, io),
            PacketKind::Probe => self.probed(now, packet, io),
            PacketKind::ProbeAck => self.probe_acknowledged(now, packet, io),
            // No UET NIC sends one.
            PacketKind::Cnp => return,
        }
        debug_assert!((host as usize) < self.hosts.len());
        if self.receivers[connection as usize].complete {
            self.free_if_done(connection);
        }
    }

    fn lost(&mut self, header: &Header) {
        self.senders[header.connection as usize].copies -= 1;
        self.free_if_done(header.connection);
    }

    #[inline]
    fn deadline(&self, host: u32) -> u64 {
        self.hosts[host as usize].deadline()
    }

    fn timer(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        self.due(now, host, io);
    }

    fn sending(&mut self, now: u64, end: u64, host: u32, packet: &Outgoing, io: &mut Io<'_>) {
        debug_assert!(now <= end);
        self.left(end, host, packet, io);
    }

    fn room(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        let starved = io.egress.starved();
        for class in [wire::CONTROL, wire::DATA] {
            if starved >> class & 1 == 0 || 2 * io.egress.used(class) > io.egress.pool(class) {
                continue;
            }
            io.egress.refill(class);
            if class == wire::CONTROL {
                self.hosts[host as usize].queue_unqueued(io.egress);
            } else {
                self.transmit(now, host, io);
            }
        }
    }
}

#[cfg(test)]
mod tests;
