//! What a job measures beside occupancy: drops, frames, deliveries; and the rows it leaves.

use super::Network;
use super::pause::{PauseMeter, meter_parts};
use crate::sim::event::{EventList, Kind};
use crate::sim::flows::FlowTable;
use crate::sim::meter::Depth;
use crate::sim::observe::{
    BuffId, DropReason, DropRow, End, Observations, PfcRow, PortBufferRow, PortCounterRow, Side,
    Totals,
};
use crate::sim::packet::Packet;
use crate::sim::switch::buffer::BufferManager;
use std::collections::VecDeque;

/// Purposes of report events, in their order at one instant.
pub const INTERVAL: u64 = 0;
/// The warm-up ends.
pub const WARM_UP: u64 = 1;
/// A piece of an interval becomes too long for exact integrals.
pub const CUT: u64 = 2;

/// What is asked for, and the limits rows are compared with.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Interval of the tables below, ps; 0: none of them is asked for.
    pub interval: u64,
    /// Rows of nothing but zeros too.
    pub zeros: bool,
    /// Tables asked for.
    pub port_buffers: bool,
    /// As above.
    pub switch_buffers: bool,
    /// As above.
    pub drops: bool,
    /// As above.
    pub pfc: bool,
    /// As above.
    pub port_counters: bool,
    /// As above.
    pub transport: bool,
    /// As above.
    pub load_balancing: bool,
    /// As above.
    pub pfc_events: bool,
    /// Limit of each pool's counters, by switch.
    pub limits: Vec<[[u64; 5]; 8]>,
    /// Size of each pool and of the whole buffer, by switch.
    pub sizes: Vec<([u64; 8], u64)>,
    /// Lossless classes.
    pub lossless: u8,
    /// End of the warm-up.
    pub warm_up: u64,
    /// Longest piece of an interval whose integrals are exact, ps.
    pub span: u64,
}

/// Frames and wire bytes of a port.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counters {
    packets_tx: u64,
    packets_rx: u64,
    bytes_tx: u64,
    bytes_rx: u64,
    tx_drops: u64,
    rx_drops: u64,
    trims: u64,
    trim_cut_bytes: u64,
}

impl Counters {
    /// A frame was sent to its end.
    #[inline]
    pub fn send(&mut self, wire: u64) {
        self.packets_tx += 1;
        self.bytes_tx += wire;
    }

    /// Frames and wire bytes sent to their end so far.
    pub fn sent_in_all(&mut self, packets: u64, bytes: u64) {
        (self.packets_tx, self.bytes_tx) = (packets, bytes);
    }

    /// A frame arrived.
    #[inline]
    pub fn receive(&mut self, wire: u64) {
        self.packets_rx += 1;
        self.bytes_rx += wire;
    }
}

/// Running counts of a job.
#[derive(Debug, Default)]
pub struct Tally {
    /// Largest occupancy, egress queue and headroom of a port and pool, by `BuffId`.
    pub peaks: [u64; 3],
    /// Packets through switches.
    pub hops: u64,
    /// Packets newly marked.
    pub marks: u64,
    /// IP bytes sent to hosts that arrive at or after the end.
    pub beyond_end: u64,
    /// Those of trimmed packets among them as they were sent, less what is left of them.
    pub cut_beyond_end: u64,
    /// IP bytes dropped, over the whole job.
    pub dropped_ip: u64,
    /// IP bytes taken off by trimming, over the whole job.
    pub cut_ip: u64,
    /// IP bytes that reached a host (and its pool if there is one), over the whole job.
    pub arrived_ip: u64,
    trims: u64,
    trim_cut_bytes: u64,
    drops: [u64; DropReason::COUNT],
    dropped_bytes: u64,
    first_drop: Option<u64>,
    unpaused: u64,
    pause_frames: u64,
    resume_frames: u64,
    delivered_packets: u64,
    delivered_bytes: u64,
    warm_up: u64,
    /// Packets and bytes dropped in this interval, by place, class and reason.
    interval_drops: Vec<[u64; 2]>,
    interval_dropped: Vec<u32>,
    counters: Vec<Counters>,
    last_counters: Vec<Counters>,
    /// Frames on the way to hosts that take them at once, for their counters.
    late: Vec<VecDeque<(u64, u64)>>,
}

impl Tally {
    /// Counts for that many hosts and switch ports; `counters` asks for frames by port.
    pub fn new(hosts: usize, ports: usize, counters: bool, plan: &Plan) -> Tally {
        let all = if counters { hosts + ports } else { 0 };
        Tally {
            interval_drops: vec![[0; 2]; (hosts + ports) * 8 * DropReason::COUNT],
            counters: vec![Counters::default(); all],
            last_counters: vec![Counters::default(); all],
            late: vec![VecDeque::new(); if counters { hosts } else { 0 }],
            warm_up: plan.warm_up,
            ..Tally::default()
        }
    }

    /// Counters of a port, hosts first.
    #[inline]
    pub fn counters_mut(&mut self, place: usize) -> &mut Counters {
        &mut self.counters[place]
    }

    /// A frame will arrive at a host at `at`.
    #[inline]
    pub fn receive_later(&mut self, host: usize, at: u64, wire: u64) {
        self.late[host].push_back((at, wire));
    }

    /// A packet is delivered at `at`.
    #[inline]
    pub fn deliver(&mut self, ip: u64, at: u64) {
        if at >= self.warm_up {
            self.delivered_packets += 1;
            self.delivered_bytes += ip;
        }
    }

    /// A packet will arrive at its host at or after the end.
    pub fn send_beyond_end(&mut self, packet: Packet) {
        self.beyond_end += packet.ip();
        self.cut_beyond_end += packet.sent_ip() - packet.ip();
    }

    /// A packet was trimmed at a port: what that took off it, charged and of its IP packet.
    pub fn trim(&mut self, place: usize, charged: u64, ip: u64) {
        self.trims += 1;
        self.trim_cut_bytes += charged;
        self.cut_ip += ip;
        if let Some(counters) = self.counters.get_mut(place) {
            counters.trims += 1;
            counters.trim_cut_bytes += charged;
        }
    }

    /// PFC frames were sent.
    pub fn count_pfc(&mut self, pause: bool, frames: u64) {
        if pause { self.pause_frames += frames } else { self.resume_frames += frames }
    }

    /// A packet is dropped.
    pub fn drop(
        &mut self,
        now: u64,
        place: usize,
        tc: u8,
        reason: DropReason,
        bytes: u64,
        unpaused: bool,
    ) {
        self.drops[reason as usize] += 1;
        self.dropped_bytes += bytes;
        self.unpaused += u64::from(unpaused);
        self.first_drop.get_or_insert(now);
        let index = (place * 8 + usize::from(tc)) * DropReason::COUNT + reason as usize;
        let entry = &mut self.interval_drops[index];
        if entry[0] == 0 {
            self.interval_dropped.push(index as u32);
        }
        entry[0] += 1;
        entry[1] += bytes;
        if let Some(counters) = self.counters.get_mut(place) {
            match reason {
                DropReason::EgressQueueLimit | DropReason::EgressPool | DropReason::TrimFailed => {
                    counters.tx_drops += 1;
                }
                _ => counters.rx_drops += 1,
            }
        }
    }

    /// The warm-up ends: what `jobs` counts starts again. (Deliveries look at their own time.)
    fn restart(&mut self) {
        self.peaks = [0; 3];
        self.hops = 0;
        self.marks = 0;
        self.drops = [0; DropReason::COUNT];
        self.dropped_bytes = 0;
        self.first_drop = None;
        self.unpaused = 0;
        self.trims = 0;
        self.trim_cut_bytes = 0;
        self.pause_frames = 0;
        self.resume_frames = 0;
    }

    /// Keeps the largest values of gauges, `counters` a port and pool.
    fn fold_peaks(&mut self, counters: usize, peaks: impl Iterator<Item = (usize, u64)>) {
        for (index, max) in peaks {
            if let Some(peak) = self.peaks.get_mut(index % counters) {
                *peak = (*peak).max(max);
            }
        }
    }
}

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// A report event.
    pub(super) fn report(&mut self, purpose: u64) {
        // What is recorded changes neither a job's count of events nor where its budget ends.
        self.events -= 1;
        if purpose == INTERVAL {
            self.close_interval();
            let next = self.now + self.plan.interval;
            self.schedule(next, Kind::Report, INTERVAL);
        } else if purpose == CUT {
            self.tally.fold_peaks(M::COUNTERS, self.gauges.peaks());
            self.cut_gauges();
            self.schedule(self.now + self.plan.span, Kind::Report, CUT);
        } else {
            self.settle_hosts();
            self.warm_up_nics();
            self.tally.restart();
            self.cut_gauges();
            self.peaks_from_held();
            self.pauses.warm_up_ends(self.now);
        }
    }

    /// Cuts the interval of the gauges now.
    fn cut_gauges(&mut self) {
        self.work_out_parts();
        self.gauges.cut(self.now);
    }

    /// Brings gauges of reserves and of what is beyond them up to date.
    fn work_out_parts(&mut self) {
        if M::COUNTERS > 3 {
            let mut gauges = std::mem::take(&mut self.gauges);
            let reserve = |whole: usize| self.reserve_of(whole / M::COUNTERS / self.stride);
            gauges.work_out_parts(M::COUNTERS, reserve);
            self.gauges = gauges;
        }
    }

    /// Counts what hosts have sent before now.
    fn settle_hosts(&mut self) {
        if self.nics.is_some() {
            self.settle_nics();
            return;
        }
        for place in 0..self.host_side.pfc_senders.len() {
            let host = self.host_side.pfc_senders[place];
            self.settle_host(host);
        }
        if D::SWITCHES {
            for host in 0..self.hosts.len() {
                self.settle_host(host as u32);
                let sender = &self.hosts[host];
                let counters = &mut self.tally.counters[host];
                (counters.packets_tx, counters.bytes_tx) = sender.sent_before(self.now);
                while let Some(&(at, wire)) = self.tally.late[host].front() {
                    if at >= self.now {
                        break;
                    }
                    self.tally.late[host].pop_front();
                    self.tally.counters[host].receive(wire);
                }
            }
        }
    }

    fn settle_host(&mut self, host: u32) {
        self.advance_host(host, Kind::Report);
        let sender = &mut self.hosts[host as usize];
        let (xoff, xon) = sender.take_pfc_counts(self.now);
        for tc in 0..8 {
            for (counts, pause) in [(xoff, true), (xon, false)] {
                let frames = counts[usize::from(tc)];
                if frames != 0 {
                    self.pauses.sent(host as usize, tc, pause, frames);
                    self.tally.count_pfc(pause, frames);
                }
            }
        }
    }

    fn node_and_port(&self, place: usize) -> (u32, u32, Side) {
        let hosts = self.hosts.len();
        if place < hosts {
            return (place as u32, 0, Side::Up);
        }
        let port = &self.ports[place - hosts];
        let side = if port.up { Side::Up } else { Side::Down };
        (self.switches[port.switch as usize].node, u32::from(port.local), side)
    }

    /// Ends an interval now and keeps its rows.
    fn close_interval(&mut self) {
        self.settle_hosts();
        self.tally.fold_peaks(M::COUNTERS, self.gauges.peaks());
        let now = self.now;
        let length = now - self.interval_start;
        self.interval_start = now;
        let zeros = self.plan.zeros;
        let mut sums = self.no_sums();
        if D::PORTS {
            self.work_out_parts();
            let mut gauges = std::mem::take(&mut self.gauges);
            let mut rows = std::mem::take(&mut self.rows.port_buffers);
            let keep = self.plan.port_buffers;
            let parts = |index: usize| {
                let place = index / M::COUNTERS;
                (place / self.stride, place % self.stride, index % M::COUNTERS)
            };
            let limit = |index: usize| {
                let (port, pool, buff) = parts(index);
                self.plan.limits[self.ports[port].switch as usize][pool][buff]
            };
            let exists = |index: usize| limit(index) != u64::MAX;
            gauges.close(now, zeros, limit, |index, occupancy| {
                if D::SWITCHES {
                    self.add_to_sums(&mut sums, parts(index), &occupancy);
                }
                if !keep || !exists(index) {
                    return;
                }
                let (port, pool, buff) = parts(index);
                let (node, ifid, side) = self.node_and_port(self.hosts.len() + port);
                let buff = BuffId::ALL[buff];
                rows.push(PortBufferRow {
                    node,
                    port: ifid,
                    side,
                    buff,
                    pool: pool as u8,
                    occupancy,
                });
            });
            self.gauges = gauges;
            self.rows.port_buffers = rows;
        }
        if D::SWITCHES {
            self.close_switches(&sums, length, zeros);
            self.close_counters(length, zeros);
        }
        self.close_drops();
        self.close_pauses(length, zeros);
        self.close_transport(length, zeros);
        self.close_balance(length, zeros);
    }

    fn close_counters(&mut self, length: u64, zeros: bool) {
        if self.plan.port_counters && length > 0 {
            for place in 0..self.tally.counters.len() {
                let (c, last) = (self.tally.counters[place], self.tally.last_counters[place]);
                let moved = c.packets_tx != last.packets_tx
                    || c.packets_rx != last.packets_rx
                    || c.tx_drops != last.tx_drops
                    || c.rx_drops != last.rx_drops
                    || c.trims != last.trims;
                if !moved && !zeros {
                    continue;
                }
                let (node, port, side) = self.node_and_port(place);
                let hosts = self.hosts.len();
                let rate = if place < hosts {
                    self.hosts[place].line().rate
                } else {
                    self.ports[place - hosts].line.rate
                };
                self.rows.port_counters.push(PortCounterRow {
                    sim_time: self.now,
                    length,
                    node,
                    port,
                    side,
                    rate,
                    packets_tx: c.packets_tx,
                    packets_rx: c.packets_rx,
                    bytes_tx: c.bytes_tx,
                    bytes_rx: c.bytes_rx,
                    interval_packets_tx: c.packets_tx - last.packets_tx,
                    interval_packets_rx: c.packets_rx - last.packets_rx,
                    interval_bytes_tx: c.bytes_tx - last.bytes_tx,
                    interval_bytes_rx: c.bytes_rx - last.bytes_rx,
                    tx_drops: c.tx_drops,
                    rx_drops: c.rx_drops,
                    trims: c.trims,
                    trim_cut_bytes: c.trim_cut_bytes,
                });
            }
        }
        self.tally.last_counters.clone_from(&self.tally.counters);
    }

    fn close_drops(&mut self) {
        let mut dropped = std::mem::take(&mut self.tally.interval_dropped);
        dropped.sort_unstable();
        for &index in &dropped {
            let index = index as usize;
            let [packets, bytes] = std::mem::take(&mut self.tally.interval_drops[index]);
            if !self.plan.drops {
                continue;
            }
            const REASONS: usize = DropReason::COUNT;
            let (place, tc) = (index / REASONS / 8, (index / REASONS % 8) as u8);
            let (node, port, _) = self.node_and_port(place);
            let hosts = self.hosts.len();
            let pool = if place < hosts {
                tc
            } else {
                let switch = self.ports[place - hosts].switch as usize;
                self.switches[switch].manager.pool_of(tc) as u8
            };
            self.rows.drops.push(DropRow {
                sim_time: self.now,
                node,
                port,
                tc,
                pool,
                reason: DropReason::ALL[index % REASONS],
                packets,
                bytes,
            });
        }
        dropped.clear();
        self.tally.interval_dropped = dropped;
    }

    fn close_pauses(&mut self, length: u64, zeros: bool) {
        let mut pauses = std::mem::take(&mut self.pauses);
        let mut rows = std::mem::take(&mut self.rows.pfc);
        let keep = self.plan.pfc && length > 0;
        let now = self.now;
        pauses.close(now, zeros, |index, meter: &PauseMeter| {
            if !keep {
                return;
            }
            let (place, tc) = meter_parts(index);
            let (node, port, side) = self.node_and_port(place);
            rows.push(PfcRow {
                sim_time: now,
                length,
                node,
                port,
                side,
                tc,
                xoff_tx: meter.xoff_tx,
                xoff_rx: meter.xoff_rx,
                xon_tx: meter.xon_tx,
                xon_rx: meter.xon_rx,
                paused: meter.held,
                interval_paused: meter.interval_held,
                interval_max_paused: meter.interval_longest,
                ecn_marked: meter.marked,
            });
        });
        self.pauses = pauses;
        self.rows.pfc = rows;
    }

    /// Closes the job at `self.end_time` (or now, if the budget ran out) and hands over what it
    /// measured.
    pub fn finish(mut self, budget: bool) -> Observations {
        if !budget {
            (self.now, self.key) = (self.end_time, self.end_key);
            self.uncount_ends();
        }
        if self.nics.is_none() {
            for host in 0..self.hosts.len() {
                self.advance_host(host as u32, Kind::Report);
            }
        }
        self.close_interval();
        self.uncount_late();
        if self.now < self.plan.warm_up {
            // Nothing was measured.
            self.tally.restart();
            self.warm_up_nics();
            self.pauses.warm_up_ends(self.now);
        }
        for sender in &self.hosts {
            sender.give_back_unfinished(self.now, &mut self.flows);
        }
        let mut observations = std::mem::take(&mut self.rows);
        // Hosts may be looked at later than what happens to them. Stable: a pause and a resume of
        // one class at one time stay in order.
        observations.pfc_events.sort_by_key(|e| (e.sim_time, e.node, e.port, e.tc));
        let nics = self.nics.take();
        let (flows, mut totals) = self.totals(budget);
        totals.flows_unfinished = flows.started - flows.finished;
        observations.flows = flows.into_rows();
        if let Some(mut nics) = nics {
            nics.total(&mut totals);
            observations.flows = nics.flow_rows();
        }
        observations.totals = totals;
        observations
    }

    fn totals(mut self, budget: bool) -> (FlowTable, Totals) {
        let now = self.now;
        let mut times = std::mem::take(&mut self.flows.completion_times);
        let (mut paused_max, mut paused_sum) = (0, 0u128);
        for (index, meter) in self.pauses.meters() {
            paused_max = paused_max.max(meter.measured());
            if self.plan.lossless >> (index % 8) & 1 != 0 {
                paused_sum += u128::from(meter.measured());
            }
        }
        let lossless = u64::from(self.plan.lossless.count_ones());
        let end = if budget { End::EventBudget } else { self.end };
        let (deadlock, deadlock_ports) = match self.deadlock.take() {
            Some(circle) => (Some(circle.at), circle.ports),
            None => (None, Vec::new()),
        };
        let t = &self.tally;
        let totals = Totals {
            end,
            end_time: now,
            measured: now.saturating_sub(self.plan.warm_up),
            drops: t.drops,
            dropped_bytes: t.dropped_bytes,
            first_drop: t.first_drop,
            drops_without_pause: t.unpaused,
            peak_ingress: t.peaks[BuffId::Ingress as usize],
            peak_headroom: t.peaks[BuffId::Headroom as usize],
            peak_egress: t.peaks[BuffId::Egress as usize],
            pause_frames: t.pause_frames,
            resume_frames: t.resume_frames,
            paused_max,
            paused_sum,
            paused_pairs: (self.hosts.len() + self.ports.len()) as u64 * lossless,
            stuck_pauses: self.stuck_pauses(),
            deadlock,
            deadlock_ports,
            ecn_marks: t.marks,
            trims: t.trims,
            trim_cut_bytes: t.trim_cut_bytes,
            delivered_bytes: t.delivered_bytes,
            delivered_packets: t.delivered_packets,
            payload_bytes: None,
            data_packets_sent: 0,
            retransmitted: 0,
            timeouts: 0,
            fct_p50: times.percentile(50),
            fct_p99: times.percentile(99),
            fct_max: times.percentile(100),
            flows_finished: times.count(),
            flows_unfinished: 0,
            events: self.events,
            packet_hops: t.hops,
        };
        (self.flows, totals)
    }
}
