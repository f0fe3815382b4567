//! What the literal simulator measures: every table and the headline results.

use super::host::FlowState;
use super::switch::Switch;
use super::{Frame, Port};
use poolsweep::scenario::{Scenario, Table};
use poolsweep::sim::observe::{
    BuffId, DropReason, DropRow, End, FlowRow, Observations, Occupancy, PfcRow, PortBufferRow,
    PortCounterRow, Side, SwitchBuff, SwitchBufferRow, Totals,
};
use std::collections::BTreeMap;

/// One value over time.
#[derive(Debug, Clone)]
struct Gauge {
    limit: u64,
    value: u64,
    since: u64,
    count: u64,
    min: u64,
    max: u64,
    integral: u128,
    /// Largest value of the measured time.
    peak: u64,
}

impl Gauge {
    fn new(limit: u64) -> Gauge {
        Gauge { limit, value: 0, since: 0, count: 0, min: 0, max: 0, integral: 0, peak: 0 }
    }

    fn observe(&mut self, now: u64, value: u64) {
        if value == self.value {
            return;
        }
        self.integral += u128::from(self.value) * u128::from(now - self.since);
        (self.value, self.since) = (value, now);
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.peak = self.peak.max(value);
    }

    fn close(&mut self, now: u64, length: u64) -> Occupancy {
        self.integral += u128::from(self.value) * u128::from(now - self.since);
        let row = Occupancy {
            sim_time: now,
            length,
            limit: self.limit,
            count: self.count,
            min: self.min,
            max: self.max,
            integral: self.integral,
        };
        (self.since, self.count, self.integral) = (now, 0, 0);
        (self.min, self.max) = (self.value, self.value);
        row
    }
}

/// PFC and ECN of a port and class.
#[derive(Debug, Clone, Default)]
struct ClassMeter {
    /// Pauses sent and received, resumes sent and received, marks.
    counts: [u64; 5],
    counts_at_start: [u64; 5],
    /// Spans for which the class was held; the last may be open.
    held: Vec<(u64, Option<u64>)>,
}

impl ClassMeter {
    /// Held time between two instants, and its longest stretch.
    fn held_within(&self, from: u64, to: u64) -> (u64, u64) {
        let stretches = self
            .held
            .iter()
            .map(|&(start, end)| end.unwrap_or(to).min(to).saturating_sub(start.max(from)));
        stretches.fold((0, 0), |(sum, longest), s| (sum + s, longest.max(s)))
    }

    /// Held at any instant from this one on, the state at the instant itself included.
    fn held_since(&self, from: u64) -> bool {
        self.held.iter().any(|&(_, end)| end.is_none_or(|end| end >= from))
    }
}

/// Packets and bytes sent and received, drops on leaving and arriving, packets trimmed and the
/// bytes that took.
type PortMeter = [u64; 8];

#[derive(Debug, Clone, Copy)]
struct Place {
    node: u32,
    number: u32,
    side: Side,
    rate: u64,
    host: bool,
}

/// A gauge of a port: its number and side, which counter, which pool.
type PortGauge = (u32, Side, BuffId, u8, Gauge);
/// A gauge of a switch: its node, the ports summed over, which counter, which pool.
type SwitchGauge = (u32, Side, SwitchBuff, i8, Gauge);
/// Where and why packets are dropped: node, port, class, pool, reason.
type DropKey = (u32, u32, u8, u8, DropReason);

pub struct Meters {
    places: Vec<Place>,
    /// By switch.
    port_gauges: Vec<Vec<PortGauge>>,
    switch_gauges: Vec<Vec<SwitchGauge>>,
    classes: Vec<[ClassMeter; 8]>,
    counters: Vec<PortMeter>,
    counters_at_start: Vec<PortMeter>,
    /// Packets and bytes of the interval.
    drops: BTreeMap<DropKey, (u64, u64)>,
    lossless: u8,
    interval_start: u64,
    warm_up: u64,
    zeros: bool,
    tables: Vec<Table>,
    rows: Observations,
}

impl Meters {
    pub fn new(scenario: &Scenario, ports: &[Port], switches: &[Switch]) -> Meters {
        let mut port_gauges = Vec::new();
        let mut switch_gauges = Vec::new();
        for switch in switches {
            let mine = &ports[switch.first..switch.first + switch.queued.len()];
            let startup = &switch.startup;
            let pools = (0u8..8).filter_map(|n| Some((n, startup.pools[usize::from(n)]?)));
            let mut gauges = Vec::new();
            for port in mine {
                for (n, pool) in pools.clone() {
                    let lossless = pool.priority_group != 0;
                    let limit = if lossless { startup.xoff } else { pool.size };
                    let mut add = |buff, limit| {
                        gauges.push((port.number, port.side, buff, n, Gauge::new(limit)));
                    };
                    add(BuffId::Ingress, limit);
                    add(BuffId::Egress, pool.static_limit);
                    if lossless {
                        add(BuffId::Headroom, pool.headroom_per_port);
                    }
                }
            }
            port_gauges.push(gauges);
            let mut gauges = Vec::new();
            for (n, pool) in pools {
                for side in [Side::Down, Side::Up] {
                    if mine.iter().any(|port| port.side == side) {
                        for buff in [SwitchBuff::Ingress, SwitchBuff::Egress] {
                            gauges.push((side, buff, n as i8, pool.size));
                        }
                    }
                }
                gauges.push((Side::Whole, SwitchBuff::Shared, n as i8, pool.size));
            }
            gauges.push((Side::Whole, SwitchBuff::Shared, -1, startup.total));
            let node = mine[0].node;
            switch_gauges.push(
                gauges
                    .into_iter()
                    .map(|(side, buff, pool, limit)| (node, side, buff, pool, Gauge::new(limit)))
                    .collect(),
            );
        }
        Meters {
            places: ports
                .iter()
                .map(|p| Place {
                    node: p.node,
                    number: p.number,
                    side: p.side,
                    rate: p.rate,
                    host: p.switch.is_none(),
                })
                .collect(),
            port_gauges,
            switch_gauges,
            classes: ports.iter().map(|_| Default::default()).collect(),
            counters: vec![[0; 8]; ports.len()],
            counters_at_start: vec![[0; 8]; ports.len()],
            drops: BTreeMap::new(),
            lossless: switches.iter().fold(0, |all, switch| all | switch.startup.lossless),
            interval_start: 0,
            warm_up: scenario.warm_up.0,
            zeros: scenario.record.zeros,
            tables: scenario.record.tables.clone(),
            rows: Observations::default(),
        }
    }

    /// Looks at every value of a switch as an event has left it.
    pub fn observe(&mut self, now: u64, at: usize, switch: &Switch) {
        for (port, _, buff, pool, gauge) in &mut self.port_gauges[at] {
            let values = match buff {
                BuffId::Ingress => &switch.occupancy,
                BuffId::Egress => &switch.queued,
                BuffId::Headroom => &switch.headroom,
                BuffId::Shared | BuffId::Reserve => continue,
            };
            gauge.observe(now, values[*port as usize][usize::from(*pool)]);
        }
        let sides = &self.places[switch.first..switch.first + switch.queued.len()];
        for (_, side, buff, pool, gauge) in &mut self.switch_gauges[at] {
            let sum = |values: &[[u64; 8]]| -> u64 {
                let ours = values.iter().zip(sides).filter(|(_, place)| place.side == *side);
                ours.map(|(pools, _)| pools[*pool as usize]).sum()
            };
            let value = match (buff, *pool) {
                (SwitchBuff::Ingress, _) => sum(&switch.occupancy),
                (SwitchBuff::Egress, _) => sum(&switch.queued),
                (SwitchBuff::Shared, -1) => {
                    switch.occupancy.iter().chain(&switch.headroom).flatten().sum()
                }
                (SwitchBuff::Shared, pool) => switch.ingress_total(pool as usize),
            };
            gauge.observe(now, value);
        }
    }

    pub fn sent(&mut self, port: usize, frame: &Frame) {
        self.counters[port][0] += 1;
        self.counters[port][1] += frame.wire();
        match *frame {
            Frame::Pfc { tc, quanta } => {
                let pause = quanta > 0;
                self.classes[port][usize::from(tc)].counts[if pause { 0 } else { 2 }] += 1;
                let totals = &mut self.rows.totals;
                totals.pause_frames += u64::from(pause);
                totals.resume_frames += u64::from(!pause);
            }
            Frame::Data(_) => {}
        }
    }

    pub fn received(&mut self, port: usize, frame: &Frame) {
        self.counters[port][2] += 1;
        self.counters[port][3] += frame.wire();
        match *frame {
            Frame::Pfc { tc, quanta } => {
                let pause = quanta > 0;
                self.classes[port][usize::from(tc)].counts[if pause { 1 } else { 3 }] += 1;
            }
            // A packet that a switch drops has come to it all the same.
            Frame::Data(_) => {
                self.rows.totals.packet_hops += u64::from(!self.places[port].host);
            }
        }
    }

    pub fn marked(&mut self, port: usize, tc: u8) {
        self.classes[port][usize::from(tc)].counts[4] += 1;
        self.rows.totals.ecn_marks += 1;
    }

    pub fn held(&mut self, port: usize, tc: u8, now: u64) {
        self.classes[port][usize::from(tc)].held.push((now, None));
    }

    pub fn let_go(&mut self, port: usize, tc: u8, now: u64) {
        let span = self.classes[port][usize::from(tc)].held.last_mut().expect("a hold");
        span.1 = Some(now);
    }

    pub fn dropped(
        &mut self,
        now: u64,
        port: usize,
        tc: u8,
        pool: u8,
        reason: DropReason,
        bytes: u64,
    ) {
        let leaving = matches!(
            reason,
            DropReason::EgressQueueLimit | DropReason::EgressPool | DropReason::TrimFailed
        );
        self.counters[port][if leaving { 4 } else { 5 }] += 1;
        let place = self.places[port];
        let sum = self.drops.entry((place.node, place.number, tc, pool, reason)).or_default();
        sum.0 += 1;
        sum.1 += bytes;
        let totals = &mut self.rows.totals;
        let column = DropReason::ALL.iter().position(|&r| r == reason).expect("a reason");
        totals.drops[column] += 1;
        totals.dropped_bytes += bytes;
        if now >= self.warm_up {
            totals.first_drop.get_or_insert(now);
        }
    }

    pub fn trimmed(&mut self, port: usize, cut: u64) {
        self.counters[port][6] += 1;
        self.counters[port][7] += cut;
        self.rows.totals.trims += 1;
        self.rows.totals.trim_cut_bytes += cut;
    }

    pub fn dropped_without_pause(&mut self) {
        self.rows.totals.drops_without_pause += 1;
    }

    pub fn delivered(&mut self, ip: u64) {
        self.rows.totals.delivered_bytes += ip;
        self.rows.totals.delivered_packets += 1;
    }

    /// Everything counted so far does not count for the headline results.
    pub fn warm_up(&mut self) {
        self.rows.totals = Totals::default();
        for gauge in self.port_gauges.iter_mut().flatten() {
            gauge.4.peak = gauge.4.value;
        }
    }

    /// Start of the interval under way.
    pub fn interval_start(&self) -> u64 {
        self.interval_start
    }

    /// An interval ends.
    pub fn report(&mut self, now: u64) {
        let start = self.interval_start;
        let length = now - start;
        let (zeros, tables) = (self.zeros, &self.tables);
        for (places, gauges) in self.switch_gauges.iter().zip(&mut self.port_gauges) {
            let node = places[0].0;
            for (port, side, buff, pool, gauge) in gauges {
                let occupancy = gauge.close(now, length);
                if tables.contains(&Table::PortBuffers)
                    && (zeros || occupancy.max > 0 || occupancy.count > 0)
                {
                    let (port, side, buff, pool) = (*port, *side, *buff, *pool);
                    let row = PortBufferRow { node, port, side, buff, pool, occupancy };
                    self.rows.port_buffers.push(row);
                }
            }
        }
        for (node, side, buff, pool, gauge) in self.switch_gauges.iter_mut().flatten() {
            let occupancy = gauge.close(now, length);
            if tables.contains(&Table::SwitchBuffers)
                && (zeros || occupancy.max > 0 || occupancy.count > 0)
            {
                let (node, side, buff, pool) = (*node, *side, *buff, *pool);
                self.rows.switch_buffers.push(SwitchBufferRow {
                    node,
                    side,
                    buff,
                    pool,
                    occupancy,
                });
            }
        }
        for ((node, port, tc, pool, reason), (packets, bytes)) in std::mem::take(&mut self.drops) {
            if tables.contains(&Table::Drops) {
                let row = DropRow { sim_time: now, node, port, tc, pool, reason, packets, bytes };
                self.rows.drops.push(row);
            }
        }
        for (place, classes) in self.places.iter().zip(&mut self.classes) {
            for (tc, class) in (0..).zip(classes) {
                let (paused, _) = class.held_within(0, now);
                let (interval_paused, interval_max_paused) = class.held_within(start, now);
                let moved = class.counts != class.counts_at_start;
                class.counts_at_start = class.counts;
                if tables.contains(&Table::Pfc) && (zeros || moved || class.held_since(start)) {
                    let [xoff_tx, xoff_rx, xon_tx, xon_rx, ecn_marked] = class.counts;
                    self.rows.pfc.push(PfcRow {
                        sim_time: now,
                        length,
                        node: place.node,
                        port: place.number,
                        side: place.side,
                        tc,
                        xoff_tx,
                        xoff_rx,
                        xon_tx,
                        xon_rx,
                        paused,
                        interval_paused,
                        interval_max_paused,
                        ecn_marked,
                    });
                }
            }
        }
        for (port, place) in self.places.iter().enumerate() {
            let (total, before) = (self.counters[port], self.counters_at_start[port]);
            self.counters_at_start[port] = total;
            if tables.contains(&Table::PortCounters) && (zeros || total != before) {
                self.rows.port_counters.push(PortCounterRow {
                    sim_time: now,
                    length,
                    node: place.node,
                    port: place.number,
                    side: place.side,
                    rate: place.rate,
                    packets_tx: total[0],
                    packets_rx: total[2],
                    bytes_tx: total[1],
                    bytes_rx: total[3],
                    interval_packets_tx: total[0] - before[0],
                    interval_packets_rx: total[2] - before[2],
                    interval_bytes_tx: total[1] - before[1],
                    interval_bytes_rx: total[3] - before[3],
                    tx_drops: total[4],
                    rx_drops: total[5],
                    trims: total[6],
                    trim_cut_bytes: total[7],
                });
            }
        }
        self.interval_start = now;
    }

    /// Closes the last interval and sums up.
    pub fn finish(mut self, end: u64, how: End, stuck: u64, flows: &[FlowState]) -> Observations {
        if end > self.interval_start {
            self.report(end);
        }
        if self.warm_up >= end {
            self.rows.totals = Totals::default();
        }
        let warm_up = self.warm_up.min(end);
        let peak = |id: BuffId| {
            let gauges = self.port_gauges.iter().flatten().filter(|gauge| gauge.2 == id);
            let measured = gauges.filter(|_| self.warm_up < end);
            measured.map(|gauge| gauge.4.peak).max().unwrap_or(0)
        };
        let held = |class: &ClassMeter| class.held_within(warm_up, end).0;
        let classes = || self.classes.iter().flat_map(|port| port.iter().enumerate());
        let lossless = |tc: usize| self.lossless >> tc & 1 == 1;
        let ended = flows.iter().filter(|f| f.end.is_some()).count() as u64;
        // Flows that ended in the warm-up are no result of the measured time.
        let mut times: Vec<u64> = flows
            .iter()
            .filter(|f| f.end.is_some_and(|end| end >= self.warm_up))
            .filter_map(|f| Some(f.end? - f.spec.start))
            .collect();
        times.sort_unstable();
        let rank = |percent: usize| {
            let place = (percent * times.len()).div_ceil(100);
            times.get(place.checked_sub(1)?).copied()
        };
        let started = flows.iter().filter(|f| f.started).count() as u64;
        let totals = Totals {
            end: how,
            end_time: end,
            measured: end - warm_up,
            peak_ingress: peak(BuffId::Ingress),
            peak_headroom: peak(BuffId::Headroom),
            peak_egress: peak(BuffId::Egress),
            paused_max: classes().map(|(_, class)| held(class)).max().unwrap_or(0),
            paused_sum: classes()
                .filter(|(tc, _)| lossless(*tc))
                .map(|(_, class)| u128::from(held(class)))
                .sum(),
            paused_pairs: self.places.len() as u64 * u64::from(self.lossless.count_ones()),
            stuck_pauses: stuck,
            fct_p50: rank(50),
            fct_p99: rank(99),
            fct_max: times.last().copied(),
            flows_finished: times.len() as u64,
            flows_unfinished: started - ended,
            ..self.rows.totals.clone()
        };
        let mut rows = self.rows;
        rows.totals = totals;
        if self.tables.contains(&Table::Flows) {
            let mut listed: Vec<&FlowState> = flows.iter().filter(|f| f.started).collect();
            listed.sort_by_key(|f| f.spec.id);
            rows.flows = listed
                .into_iter()
                .map(|f| FlowRow {
                    flow_id: f.spec.id,
                    pattern: f.spec.pattern,
                    src: f.spec.src,
                    dst: f.spec.dst,
                    tc: f.spec.tc,
                    bytes: f.spec.bytes,
                    start: f.spec.start,
                    end: f.end,
                    sent_packets: f.sent_packets,
                    sent_bytes: f.sent_bytes,
                    received_packets: f.received_packets,
                    received_bytes: f.received_bytes,
                    received_trimmed: f.received_trimmed,
                    received_ce: f.received_ce,
                    retransmitted: 0,
                    timeouts: 0,
                })
                .collect();
        }
        rows
    }
}
