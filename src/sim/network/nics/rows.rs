//! What is written of hosts whose NIC reacts: transport rows, flow rows, headline results.

use super::super::Network;
use super::Nics;
use crate::scenario::NicModel;
use crate::sim::event::{EventList, Kind};
use crate::sim::meter::Depth;
use crate::sim::nic::stats::{FlowStats, Samples};
use crate::sim::observe::{FlowRow, Totals, TransportRow};
use crate::sim::switch::buffer::BufferManager;
use crate::sim::traffic::FlowStart;

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// Counts what NICs have sent before now.
    pub(in crate::sim::network) fn settle_nics(&mut self) {
        let now = self.now;
        if self.nics.is_none() {
            return;
        }
        for host in 0..self.hosts.len() as u32 {
            self.advance_nic(host, Kind::Report);
            self.arm_nic(host);
        }
        let Some(nics) = self.nics.as_deref_mut() else { return };
        for (host, nic) in nics.hosts.iter_mut().enumerate() {
            let ended = nic.egress.free_at() < now;
            if ended && let Some(frame) = nic.uncounted.take() {
                self.pauses.sent(host, frame.tc, frame.pauses(), 1);
                self.tally.count_pfc(frame.pauses(), 1);
            }
            if D::SWITCHES {
                let last = if ended { (0, 0) } else { (nic.frames.min(1), nic.last_wire) };
                let counters = self.tally.counters_mut(host);
                counters.sent_in_all(nic.frames - last.0, nic.wire - last.1);
            }
        }
    }

    /// Rows of `transport` for the interval that ends now.
    pub(in crate::sim::network) fn close_transport(&mut self, length: u64, zeros: bool) {
        let now = self.now;
        let Some(nics) = self.nics.as_deref_mut() else { return };
        for (host, nic) in (0..).zip(&mut nics.hosts) {
            let moved = nic.stats != nic.last_stats;
            if self.plan.transport && length > 0 && (moved || zeros) {
                self.rows.transport.push(TransportRow {
                    sim_time: now,
                    node: host,
                    stats: nic.stats,
                    before: nic.last_stats,
                    rates: nics.model == NicModel::Roce,
                });
            }
            for samples in [&mut nic.stats.window, &mut nic.stats.rtt, &mut nic.stats.in_flight] {
                *samples = Samples::default();
            }
            nic.last_stats = nic.stats;
        }
    }

    /// The warm-up ends: what flows have done so far does not count.
    pub(in crate::sim::network) fn warm_up_nics(&mut self) {
        if let Some(nics) = self.nics.as_deref_mut() {
            nics.warm_up = nics.all_flows();
        }
    }
}

impl Nics {
    /// Fills in the headline results of transports.
    pub(in crate::sim::network) fn total(&self, totals: &mut Totals) {
        let (all, before) = (self.all_flows(), &self.warm_up);
        totals.payload_bytes = Some(all.payload_bytes - before.payload_bytes);
        totals.data_packets_sent = all.sent_packets - before.sent_packets;
        totals.retransmitted = all.retransmitted - before.retransmitted;
        totals.timeouts = all.timeouts - before.timeouts;
    }

    /// Rows of every flow that has started, in order of their ids; none unless asked for.
    pub(in crate::sim::network) fn flow_rows(&mut self) -> Vec<FlowRow> {
        let Some(mut rows) = self.rows.take() else { return Vec::new() };
        let under_way = self.open.iter().zip(&self.stats).filter(|(open, _)| !open.closed);
        rows.extend(under_way.map(|(open, stats)| flow_row(&open.spec, stats, None)));
        rows.sort_unstable_by_key(|row| row.flow_id);
        rows
    }
}

/// Row of a flow; `end`: when its last acknowledgement arrived.
pub(super) fn flow_row(spec: &FlowStart, stats: &FlowStats, end: Option<u64>) -> FlowRow {
    FlowRow {
        flow_id: spec.id,
        pattern: spec.pattern,
        src: spec.src,
        dst: spec.dst,
        tc: spec.tc,
        bytes: spec.bytes,
        start: spec.start,
        end,
        sent_packets: stats.sent_packets,
        sent_bytes: stats.sent_bytes,
        received_packets: stats.received_packets,
        received_bytes: stats.received_bytes,
        received_trimmed: stats.received_trimmed,
        received_ce: stats.received_ce,
        retransmitted: stats.retransmitted,
        timeouts: stats.timeouts,
    }
}
