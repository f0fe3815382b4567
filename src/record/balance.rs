//! The table of equal-cost sets: its columns and their formulas.
//!
//! Owns one list of counters, from which both the layout and the rows are made; every counter has a
//! twin of the interval.

use super::rows::{Columns, quotient};
use super::schema::{Column, JOB_ID, NODE_ID, SIM_TIME, StoredTable, float, small, walk, word};
use crate::record::Result;
use crate::sim::observe::LoadBalancingRow;
use crate::sim::switch::route::MemberStats;
use crate::sweep::plan::JobId;
use arrow::array::{DictionaryArray, RecordBatch};
use arrow::datatypes::Int32Type;
use std::sync::Arc;

/// Columns of a list of counters, and what fills them.
macro_rules! counters {
    ($($name:ident $unit:literal: $text:literal),* $(,)?) => {
        const COUNTERS: &[Counter] = &[$(
            Counter {
                name: stringify!($name),
                interval: concat!("ivl_", stringify!($name)),
                of: |stats| stats.$name,
            },
        )*];

        /// Columns of `load_balancing`.
        pub(super) const LOAD_BALANCING: &[Column] = &[
            JOB_ID,
            SIM_TIME,
            NODE_ID,
            small("ecmp_group_id", "place of the set among those of the switch with several members"),
            word("ecmp_group_ifids", "ports of the set, in order"),
            small("group_size", "members of the set"),
            small("flow_table_slots", "slots of the set's flow table; 0: the hash alone chooses"),
            small("ifid", "port of the member"),
            $(
                walk(stringify!($name), $unit, concat!($text, ", so far")),
                walk(concat!("ivl_", stringify!($name)), $unit, concat!($text, ", in the interval")),
            )*
            float("ivl_share", "1", "share of the set's bytes in the interval; null: it had none").or_null(),
        ];
    };
}

struct Counter {
    name: &'static str,
    interval: &'static str,
    of: fn(&MemberStats) -> u64,
}

counters! {
    bytes "B": "charged bytes admitted at the member's port by way of the set",
    packets "1": "packets admitted likewise",
    assignments "1": "choices of a slot that ended at the member",
    movements_in "1": "slots that came from another member",
    movements_out "1": "slots that left for another member",
    paused_skips "1": "choices that passed the member over because its port was paused",
    paused_selections "1": "choices that ended at the member although its port was paused",
}

/// Rows of `load_balancing`.
pub(super) fn load_balancing(job: JobId, rows: &[LoadBalancingRow]) -> Result<RecordBatch> {
    let mut columns = Columns::of(StoredTable::LoadBalancing, job, rows);
    columns.id();
    columns.int("sim_time_ps", |r| r.sim_time)?;
    columns.small("node_id", |r| r.node)?;
    columns.small("ecmp_group_id", |r| r.group)?;
    let groups: DictionaryArray<Int32Type> = rows.iter().map(|r| Some(&*r.group_ports)).collect();
    columns.push("ecmp_group_ifids", Arc::new(groups));
    columns.small("group_size", |r| r.group_size)?;
    columns.small("flow_table_slots", |r| r.slots as u32)?;
    columns.small("ifid", |r| r.port)?;
    for counter in COUNTERS {
        columns.int(counter.name, |r| (counter.of)(&r.stats))?;
        columns.int(counter.interval, |r| (counter.of)(&r.stats) - (counter.of)(&r.before))?;
    }
    columns.float("ivl_share", |r| {
        quotient(u128::from(r.stats.bytes - r.before.bytes), u128::from(r.group_bytes))
    });
    columns.finish()
}
