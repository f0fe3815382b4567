//! From observations to Arrow columns.
//!
//! Owns every column's formula. Integers go over as they are, checked against the signed range;
//! what is derived (means, shares, rates, microseconds) is computed here from integers, so that it
//! has the same bits everywhere. A quotient over nothing (no time, no limit) is null.

use crate::record::chunk::JobRecord;
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result};
use crate::sim::observe::{
    BuffId, DropReason, DropRow, End, FlowRow, HeldPort, Occupancy, PfcEventRow, PfcRow,
    PortBufferRow, PortCounterRow, Side, SwitchBuff, SwitchBufferRow, Totals,
};
use crate::sweep::plan::JobId;
use arrow::array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray,
};
use arrow::datatypes::Int32Type;
use std::sync::Arc;

/// Rows of `port_buffers`.
pub(super) fn port_buffers(job: JobId, rows: &[PortBufferRow]) -> Result<RecordBatch> {
    let mut columns = Columns::of(StoredTable::PortBuffers, job, rows);
    columns.id();
    columns.int("sim_time_ps", |r| r.occupancy.sim_time)?;
    columns.small("node_id", |r| r.node)?;
    columns.small("ifid", |r| r.port)?;
    columns.word("uldl", &SIDES, |r| side(r.side));
    // The order of declaration is the order of `ALL`, as the gauges have it too.
    columns.word("buff_id", &BuffId::ALL.map(BuffId::name), |r| r.buff as i32);
    columns.small("pool_num", |r| u32::from(r.pool))?;
    columns.occupancy(|r| &r.occupancy)?;
    columns.finish()
}

/// Rows of `switch_buffers`.
pub(super) fn switch_buffers(job: JobId, rows: &[SwitchBufferRow]) -> Result<RecordBatch> {
    let mut columns = Columns::of(StoredTable::SwitchBuffers, job, rows);
    columns.id();
    columns.int("sim_time_ps", |r| r.occupancy.sim_time)?;
    columns.small("node_id", |r| r.node)?;
    columns.word("uldl", &SIDES, |r| side(r.side));
    columns.word("buff_id", &["ingressUsage", "egressQueue", "sharedBuffer"], |r| match r.buff {
        SwitchBuff::Ingress => 0,
        SwitchBuff::Egress => 1,
        SwitchBuff::Shared => 2,
    });
    let pools = rows.iter().map(|r| i32::from(r.pool));
    columns.push("pool_num", Arc::new(Int32Array::from_iter_values(pools)));
    columns.occupancy(|r| &r.occupancy)?;
    columns.finish()
}

/// Rows of `drops`.
pub(super) fn drops(job: JobId, rows: &[DropRow]) -> Result<RecordBatch> {
    let mut columns = Columns::of(StoredTable::Drops, job, rows);
    columns.id();
    columns.int("sim_time_ps", |r| r.sim_time)?;
    columns.small("node_id", |r| r.node)?;
    columns.small("ifid", |r| r.port)?;
    columns.small("tc", |r| u32::from(r.tc))?;
    columns.small("pool_num", |r| u32::from(r.pool))?;
    let names = DropReason::ALL.map(DropReason::name);
    // The order of declaration is the order of `ALL`, which a test of the schema holds on to.
    columns.word("reason", &names, |r| r.reason as i32);
    columns.int("ivl_packets", |r| r.packets)?;
    columns.int("ivl_bytes", |r| r.bytes)?;
    columns.finish()
}

/// Rows of `pfc`.
pub(super) fn pfc(job: JobId, rows: &[PfcRow]) -> Result<RecordBatch> {
    let mut columns = Columns::of(StoredTable::Pfc, job, rows);
    columns.id();
    columns.int("sim_time_ps", |r| r.sim_time)?;
    columns.small("node_id", |r| r.node)?;
    columns.small("ifid", |r| r.port)?;
    columns.word("uldl", &SIDES, |r| side(r.side));
    columns.small("tc", |r| u32::from(r.tc))?;
    columns.int("pfcxoff_tx", |r| r.xoff_tx)?;
    columns.int("pfcxoff_rx", |r| r.xoff_rx)?;
    columns.int("pfcxon_tx", |r| r.xon_tx)?;
    columns.int("pfcxon_rx", |r| r.xon_rx)?;
    columns.float("pfc_time_paused_usec", |r| Some(microseconds(r.paused)));
    columns.float("interval_total_time_xoff_usec", |r| Some(microseconds(r.interval_paused)));
    columns.float("interval_max_time_xoff_usec", |r| Some(microseconds(r.interval_max_paused)));
    columns.float("percent_xon", |r| {
        percent(u128::from(r.length.saturating_sub(r.interval_paused)), u128::from(r.length))
    });
    columns.int("pkts_ecn_marked", |r| r.ecn_marked)?;
    columns.finish()
}

/// Rows of `pfc_events`.
pub(super) fn pfc_events(job: JobId, rows: &[PfcEventRow]) -> Result<RecordBatch> {
    let mut columns = Columns::of(StoredTable::PfcEvents, job, rows);
    columns.id();
    columns.int("sim_time_ps", |r| r.sim_time)?;
    columns.small("node_id", |r| r.node)?;
    columns.small("ifid", |r| r.port)?;
    columns.small("tc", |r| u32::from(r.tc))?;
    let pauses = rows.iter().map(|r| Some(r.pause));
    columns.push("pause", Arc::new(pauses.collect::<BooleanArray>()));
    columns.finish()
}

/// Rows of `port_counters`.
pub(super) fn port_counters(job: JobId, rows: &[PortCounterRow]) -> Result<RecordBatch> {
    let mut columns = Columns::of(StoredTable::PortCounters, job, rows);
    columns.id();
    columns.int("sim_time_ps", |r| r.sim_time)?;
    columns.small("node_id", |r| r.node)?;
    columns.small("ifid", |r| r.port)?;
    columns.word("uldl", &SIDES, |r| side(r.side));
    columns.int("total_packets_tx", |r| r.packets_tx)?;
    columns.int("total_packets_rx", |r| r.packets_rx)?;
    columns.int("total_bytes_tx", |r| r.bytes_tx)?;
    columns.int("total_bytes_rx", |r| r.bytes_rx)?;
    columns.int("interval_packets_tx", |r| r.interval_packets_tx)?;
    columns.int("interval_packets_rx", |r| r.interval_packets_rx)?;
    columns.int("interval_bytes_tx", |r| r.interval_bytes_tx)?;
    columns.int("interval_bytes_rx", |r| r.interval_bytes_rx)?;
    columns.float("tx_rate_bps", |r| rate(r.interval_bytes_tx, r.length));
    columns.float("rx_rate_bps", |r| rate(r.interval_bytes_rx, r.length));
    columns.float("tx_link_percent_util", |r| utilization(r.interval_bytes_tx, r));
    columns.float("rx_link_percent_util", |r| utilization(r.interval_bytes_rx, r));
    columns.int("tx_drops", |r| r.tx_drops)?;
    columns.int("rx_drops", |r| r.rx_drops)?;
    columns.int("trims", |r| r.trims)?;
    columns.int("trim_cut_bytes", |r| r.trim_cut_bytes)?;
    columns.finish()
}

/// Rows of `flows`.
pub(super) fn flows(job: JobId, rows: &[FlowRow]) -> Result<RecordBatch> {
    let mut columns = Columns::of(StoredTable::Flows, job, rows);
    columns.id();
    columns.int("flow_id", |r| r.flow_id)?;
    columns.small("pattern", |r| r.pattern)?;
    columns.small("src", |r| r.src)?;
    columns.small("dst", |r| r.dst)?;
    columns.small("tc", |r| u32::from(r.tc))?;
    columns.int("bytes", |r| r.bytes)?;
    columns.int("start_ps", |r| r.start)?;
    columns.maybe("end_ps", |r| r.end)?;
    columns.maybe("fct_ps", |r| r.end.map(|end| end.saturating_sub(r.start)))?;
    columns.int("sent_packets", |r| r.sent_packets)?;
    columns.int("sent_bytes", |r| r.sent_bytes)?;
    columns.int("received_packets", |r| r.received_packets)?;
    columns.int("received_bytes", |r| r.received_bytes)?;
    columns.int("received_trimmed", |r| r.received_trimmed)?;
    columns.int("received_ce", |r| r.received_ce)?;
    columns.int("retransmitted_packets", |r| r.retransmitted)?;
    columns.int("timeouts", |r| r.timeouts)?;
    columns.float("goodput_bps", |r| rate(r.bytes, r.end?.saturating_sub(r.start)));
    columns.finish()
}

/// Rows of `jobs`; the records are in order of their ids.
pub(super) fn jobs(records: &[&JobRecord]) -> Result<RecordBatch> {
    let first = records.first().map_or(JobId(0), |r| r.id);
    let mut columns = Columns::of(StoredTable::Jobs, first, records);
    let ids = StringArray::from_iter_values(records.iter().map(|r| r.id.to_string()));
    let keys = Int32Array::from_iter_values(0..records.len() as i32);
    columns.push("job_id", Arc::new(DictionaryArray::new(keys, Arc::new(ids))));
    columns.int("repetition", |r| r.repetition)?;
    columns.int("seed", |r| r.seed)?;
    columns.words("status", |r| Some(r.status.name()));
    let reasons = records.iter().map(|r| r.reason.as_deref());
    columns.push("reason", Arc::new(reasons.collect::<StringArray>()));
    columns.words("end", |r| r.totals.as_ref().map(|t| end_name(t.end)));
    columns.total("end_ps", |t| Some(t.end_time))?;
    columns.total("measured_ps", |t| Some(t.measured))?;
    columns.total("drops", |t| Some(t.drops.iter().sum()))?;
    columns.total("drops_ingress_headroom", |t| Some(t.drops[0]))?;
    columns.total("drops_ingress_pool", |t| Some(t.drops[1]))?;
    columns.total("drops_egress_queue_limit", |t| Some(t.drops[2]))?;
    columns.total("drops_egress_pool", |t| Some(t.drops[3]))?;
    columns.total("drops_trim_failed", |t| Some(t.drops[4]))?;
    columns.total("drops_nic_receive_pool", |t| Some(t.drops[5]))?;
    columns.total("drops_ingress_admission", |t| Some(t.drops[6]))?;
    columns.total("dropped_bytes", |t| Some(t.dropped_bytes))?;
    columns.total("first_drop_ps", |t| t.first_drop)?;
    columns.total("drops_without_pause", |t| Some(t.drops_without_pause))?;
    columns.total("peak_ingress_bytes", |t| Some(t.peak_ingress))?;
    columns.total("peak_headroom_bytes", |t| Some(t.peak_headroom))?;
    columns.total("peak_egress_bytes", |t| Some(t.peak_egress))?;
    columns.total("pause_frames", |t| Some(t.pause_frames))?;
    columns.total("resume_frames", |t| Some(t.resume_frames))?;
    columns.total_float("pause_time_fraction", |t| {
        quotient(u128::from(t.paused_max), u128::from(t.measured))
    });
    columns.total_float("pause_time_fraction_mean", |t| {
        quotient(t.paused_sum, u128::from(t.paused_pairs) * u128::from(t.measured))
    });
    columns.total("stuck_pauses", |t| Some(t.stuck_pauses))?;
    columns.total("deadlock_ps", |t| t.deadlock)?;
    let circles = records.iter().map(|r| r.totals.as_ref().and_then(deadlock_ports));
    columns.push("deadlock_ports", Arc::new(circles.collect::<StringArray>()));
    columns.total("ecn_marks", |t| Some(t.ecn_marks))?;
    columns.total("trims", |t| Some(t.trims))?;
    columns.total("trim_cut_bytes", |t| Some(t.trim_cut_bytes))?;
    columns.total("delivered_bytes", |t| Some(t.delivered_bytes))?;
    columns.total("delivered_packets", |t| Some(t.delivered_packets))?;
    columns.total_float("throughput_bps", |t| rate(t.delivered_bytes, t.measured));
    columns.total_float("goodput_bps", |t| rate(t.payload_bytes?, t.measured));
    columns.total("data_packets_sent", |t| t.payload_bytes.map(|_| t.data_packets_sent))?;
    columns.total("retransmitted_packets", |t| t.payload_bytes.map(|_| t.retransmitted))?;
    columns.total_float("retransmitted_share", |t| {
        quotient(u128::from(t.retransmitted), u128::from(t.data_packets_sent))
    });
    columns.total("timeouts", |t| t.payload_bytes.map(|_| t.timeouts))?;
    columns.total("fct_p50_ps", |t| t.fct_p50)?;
    columns.total("fct_p99_ps", |t| t.fct_p99)?;
    columns.total("fct_max_ps", |t| t.fct_max)?;
    columns.total("flows_finished", |t| Some(t.flows_finished))?;
    columns.total("flows_unfinished", |t| Some(t.flows_unfinished))?;
    columns.total("events", |t| Some(t.events))?;
    columns.total("packet_hops", |t| Some(t.packet_hops))?;
    let origins: Vec<_> =
        records.iter().map(|r| r.reused_from.map(|job| job.to_string())).collect();
    let origins: DictionaryArray<Int32Type> = origins.iter().map(Option::as_deref).collect();
    columns.push("reused_from", Arc::new(origins));
    let lists: Vec<_> = records.iter().map(|r| r.tables.to_list()).collect();
    let tables: DictionaryArray<Int32Type> = lists.iter().map(|list| Some(list.as_str())).collect();
    columns.push("tables", Arc::new(tables));
    columns.int("interval_ps", |r| r.interval.0)?;
    let zeros = records.iter().map(|r| Some(r.zeros));
    columns.push("zeros", Arc::new(zeros.collect::<BooleanArray>()));
    let scenarios = records.iter().map(|r| r.scenario.as_str());
    columns.push("scenario_json", Arc::new(StringArray::from_iter_values(scenarios)));
    columns.finish()
}

/// The columns of one batch, filled in the order of the schema.
pub(super) struct Columns<'a, T> {
    table: StoredTable,
    job: JobId,
    rows: &'a [T],
    filled: Vec<ArrayRef>,
}

impl<'a, T> Columns<'a, T> {
    pub(super) fn of(table: StoredTable, job: JobId, rows: &'a [T]) -> Self {
        Columns { table, job, rows, filled: Vec::with_capacity(table.columns().len()) }
    }

    /// The same job in every row.
    pub(super) fn id(&mut self) {
        let keys = Int32Array::from(vec![0; self.rows.len()]);
        let values = StringArray::from(vec![self.job.to_string()]);
        self.push("job_id", Arc::new(DictionaryArray::new(keys, Arc::new(values))));
    }

    pub(super) fn int(&mut self, column: &'static str, value: impl Fn(&T) -> u64) -> Result<()> {
        let fit = |row| self.fit64(column, value(row));
        let values = self.rows.iter().map(fit).collect::<Result<Vec<i64>>>()?;
        self.push(column, Arc::new(Int64Array::from(values)));
        Ok(())
    }

    pub(super) fn maybe(
        &mut self,
        column: &'static str,
        value: impl Fn(&T) -> Option<u64>,
    ) -> Result<()> {
        let fit = |row| value(row).map(|v| self.fit64(column, v)).transpose();
        let values = self.rows.iter().map(fit).collect::<Result<Vec<Option<i64>>>>()?;
        self.push(column, Arc::new(Int64Array::from(values)));
        Ok(())
    }

    pub(super) fn small(&mut self, column: &'static str, value: impl Fn(&T) -> u32) -> Result<()> {
        let fit = |row| {
            let value = value(row);
            i32::try_from(value).map_err(|_| self.out_of_range(column, u64::from(value), 32))
        };
        let values = self.rows.iter().map(fit).collect::<Result<Vec<i32>>>()?;
        self.push(column, Arc::new(Int32Array::from(values)));
        Ok(())
    }

    pub(super) fn float(&mut self, column: &'static str, value: impl Fn(&T) -> Option<f64>) {
        let values: Float64Array = self.rows.iter().map(value).collect();
        self.push(column, Arc::new(values));
    }

    /// A word out of a fixed list, by its place. All words stand in the dictionary, used or not,
    /// so no row is hashed.
    fn word(&mut self, column: &'static str, words: &[&str], place: impl Fn(&T) -> i32) {
        let keys = Int32Array::from_iter_values(self.rows.iter().map(place));
        let words = StringArray::from_iter_values(words);
        self.push(column, Arc::new(DictionaryArray::new(keys, Arc::new(words))));
    }

    /// Words of tables with few rows.
    fn words(&mut self, column: &'static str, word: impl Fn(&T) -> Option<&'static str>) {
        let words: DictionaryArray<Int32Type> = self.rows.iter().map(word).collect();
        self.push(column, Arc::new(words));
    }

    fn occupancy(&mut self, of: impl Fn(&T) -> &Occupancy + Copy) -> Result<()> {
        self.int("buff_limit", |r| of(r).limit)?;
        self.int("ivl_count", |r| of(r).count)?;
        self.int("ivl_min_bytes", |r| of(r).min)?;
        self.int("ivl_max_bytes", |r| of(r).max)?;
        self.float("ivl_mean_bytes", |r| quotient(of(r).integral, u128::from(of(r).length)));
        self.float("ivl_max_pct_util", |r| max_share(of(r).max, of(r).limit));
        self.float("ivl_mean_pct_util", |r| {
            let o = of(r);
            mean_share(o.integral, o.length, o.limit)
        });
        Ok(())
    }

    pub(super) fn push(&mut self, column: &'static str, values: ArrayRef) {
        debug_assert_eq!(self.table.columns()[self.filled.len()].name, column);
        self.filled.push(values);
    }

    pub(super) fn finish(self) -> Result<RecordBatch> {
        let table = self.table;
        RecordBatch::try_new(table.schema(), self.filled)
            .map_err(|source| RecordError::Rows { table: table.name(), source })
    }

    fn fit64(&self, column: &'static str, value: u64) -> Result<i64> {
        i64::try_from(value).map_err(|_| self.out_of_range(column, value, 64))
    }

    fn out_of_range(&self, column: &'static str, value: u64, bits: u32) -> RecordError {
        RecordError::OutOfRange { job: self.job, table: self.table.name(), column, value, bits }
    }
}

impl Columns<'_, &JobRecord> {
    fn total(&mut self, column: &'static str, of: impl Fn(&Totals) -> Option<u64>) -> Result<()> {
        self.maybe(column, |r| r.totals.as_ref().and_then(&of))
    }

    fn total_float(&mut self, column: &'static str, of: impl Fn(&Totals) -> Option<f64>) {
        self.float(column, |r| r.totals.as_ref().and_then(&of));
    }
}

const SIDES: [&str; 3] = ["dl", "ul", "-"];

fn side(side: Side) -> i32 {
    match side {
        Side::Down => 0,
        Side::Up => 1,
        Side::Whole => 2,
    }
}

fn end_name(end: End) -> &'static str {
    match end {
        End::Duration => "duration",
        End::Drained => "drained",
        End::EventBudget | End::TimeBudget => "budget",
        End::Deadlock => "deadlock",
    }
}

/// The ports of a circle of pauses: `33:4:1,34:2:1`.
fn deadlock_ports(totals: &Totals) -> Option<String> {
    totals.deadlock?;
    let named = |held: &HeldPort| format!("{}:{}:{}", held.node, held.port, held.tc);
    Some(totals.deadlock_ports.iter().map(named).collect::<Vec<_>>().join(","))
}

/// Bits over time, bit/s.
fn rate(bytes: u64, ps: u64) -> Option<f64> {
    // Below 2^64 · 8 · 10^12 < 2^107.
    quotient(u128::from(bytes) * 8 * PS_PER_SECOND, u128::from(ps))
}

fn utilization(bytes: u64, row: &PortCounterRow) -> Option<f64> {
    let capacity = u128::from(row.rate) * u128::from(row.length);
    percent(u128::from(bytes) * 8 * PS_PER_SECOND, capacity)
}

const PS_PER_SECOND: u128 = 1_000_000_000_000;

fn microseconds(ps: u64) -> f64 {
    ps as f64 / 1e6
}

/// `ivl_max_pct_util`.
pub(super) fn max_share(max: u64, limit: u64) -> Option<f64> {
    percent(u128::from(max), u128::from(limit))
}

/// `ivl_mean_pct_util`, of an integral in byte·ps over a length in ps.
pub(super) fn mean_share(integral: u128, length: u64, limit: u64) -> Option<f64> {
    percent(integral, u128::from(length) * u128::from(limit))
}

fn percent(part: u128, whole: u128) -> Option<f64> {
    // Multiplied first: 7 of 100 is 7, not a hair more.
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// One rounding of each operand and one of the quotient: exact where all three are below 2^53.
pub(super) fn quotient(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sides_stand_where_their_codes_point() {
        for s in [Side::Down, Side::Up, Side::Whole] {
            assert_eq!(SIDES[side(s) as usize], s.name());
        }
        for (place, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place);
        }
        for (place, buff) in BuffId::ALL.into_iter().enumerate() {
            assert_eq!(buff as usize, place);
        }
    }

    #[test]
    fn derived_values_come_from_integers() {
        // 1250 B in 1 us are 10 Gbit/s.
        assert_eq!(rate(1250, 1_000_000), Some(10e9));
        assert_eq!(rate(1250, 0), None);
        assert_eq!(percent(3, 4), Some(75.0));
        assert_eq!(percent(5, 4), Some(125.0));
        assert_eq!(percent(7, 100), Some(7.0));
        assert_eq!(percent(1, 0), None);
        assert_eq!(microseconds(1_500_000), 1.5);
        assert_eq!(rate(u64::MAX, 1).map(|r| r > 1e32), Some(true));
    }

    #[test]
    fn a_value_beyond_the_signed_range_is_named() {
        let row = DropRow {
            sim_time: 1,
            node: 0,
            port: 0,
            tc: 0,
            pool: 0,
            reason: DropReason::IngressPool,
            packets: 1,
            bytes: 1 << 63,
        };
        let said = drops(JobId(7), &[row]).unwrap_err().to_string();
        assert!(
            said.contains("0000000000000007: drops.ivl_bytes is 9223372036854775808"),
            "{said}"
        );
        let row = DropRow { bytes: 1, node: u32::MAX, ..row };
        let said = drops(JobId(7), &[row]).unwrap_err().to_string();
        assert!(said.contains("drops.node_id is 4294967295") && said.contains("32 bits"), "{said}");
    }
}
