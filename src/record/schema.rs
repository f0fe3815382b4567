//! The frozen layout of every table.
//!
//! Owns names, types, units and descriptions of the columns. Any change of a name, a type, an
//! order or a meaning raises [`SCHEMA_VERSION`]: readers take many files as one table and refuse
//! a mix. Every integer is signed, because notebooks subtract.

use super::balance::LOAD_BALANCING;
use super::transport::TRANSPORT;
use crate::scenario::Table;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// Version of all layouts together; a dataset has one.
pub const SCHEMA_VERSION: u64 = 4;

/// A table of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoredTable {
    /// One row a grid point and repetition; its axis columns differ from sweep to sweep.
    Points,
    /// One row a job.
    Jobs,
    /// Occupancy per port, pool and counter.
    PortBuffers,
    /// Occupancy per switch and pool.
    SwitchBuffers,
    /// Drops per port, class, pool and reason.
    Drops,
    /// PFC and ECN per port and class.
    Pfc,
    /// Frames and bytes per port.
    PortCounters,
    /// One row a flow.
    Flows,
    /// Counters of transports per NIC.
    Transport,
    /// What members of equal-cost sets carried.
    LoadBalancing,
    /// PFC frames received, one by one.
    PfcEvents,
    /// What simulations compared, so that others need not run; differs from run to run.
    Reuse,
    /// Wall time of every job; differs from run to run.
    Timings,
    /// One row a run; differs from run to run.
    Provenance,
}

impl From<Table> for StoredTable {
    fn from(table: Table) -> Self {
        match table {
            Table::Jobs => StoredTable::Jobs,
            Table::PortBuffers => StoredTable::PortBuffers,
            Table::SwitchBuffers => StoredTable::SwitchBuffers,
            Table::Drops => StoredTable::Drops,
            Table::Pfc => StoredTable::Pfc,
            Table::PortCounters => StoredTable::PortCounters,
            Table::Flows => StoredTable::Flows,
            Table::Transport => StoredTable::Transport,
            Table::LoadBalancing => StoredTable::LoadBalancing,
            Table::PfcEvents => StoredTable::PfcEvents,
        }
    }
}

impl StoredTable {
    /// Every table.
    pub const ALL: [StoredTable; 14] = [
        StoredTable::Points,
        StoredTable::Jobs,
        StoredTable::PortBuffers,
        StoredTable::SwitchBuffers,
        StoredTable::Drops,
        StoredTable::Pfc,
        StoredTable::PortCounters,
        StoredTable::Flows,
        StoredTable::Transport,
        StoredTable::LoadBalancing,
        StoredTable::PfcEvents,
        StoredTable::Reuse,
        StoredTable::Timings,
        StoredTable::Provenance,
    ];

    /// Name of its folder (of its file, for `points`).
    pub fn name(self) -> &'static str {
        match self {
            StoredTable::Points => "points",
            StoredTable::Jobs => "jobs",
            StoredTable::PortBuffers => "port_buffers",
            StoredTable::SwitchBuffers => "switch_buffers",
            StoredTable::Drops => "drops",
            StoredTable::Pfc => "pfc",
            StoredTable::PortCounters => "port_counters",
            StoredTable::Flows => "flows",
            StoredTable::Transport => "transport",
            StoredTable::LoadBalancing => "load_balancing",
            StoredTable::PfcEvents => "pfc_events",
            StoredTable::Reuse => "reuse",
            StoredTable::Timings => "timings",
            StoredTable::Provenance => "provenance",
        }
    }

    /// Its columns, in order; of `points` those that every sweep has.
    pub fn columns(self) -> &'static [Column] {
        match self {
            StoredTable::Points => POINTS,
            StoredTable::Jobs => JOBS,
            StoredTable::PortBuffers => PORT_BUFFERS,
            StoredTable::SwitchBuffers => SWITCH_BUFFERS,
            StoredTable::Drops => DROPS,
            StoredTable::Pfc => PFC,
            StoredTable::PortCounters => PORT_COUNTERS,
            StoredTable::Flows => FLOWS,
            StoredTable::Transport => TRANSPORT,
            StoredTable::LoadBalancing => LOAD_BALANCING,
            StoredTable::PfcEvents => PFC_EVENTS,
            StoredTable::Reuse => REUSE,
            StoredTable::Timings => TIMINGS,
            StoredTable::Provenance => PROVENANCE,
        }
    }

    /// The columns its rows are in order of, inside a part.
    pub(super) fn sorted_by(self) -> &'static [&'static str] {
        match self {
            StoredTable::Points
            | StoredTable::Reuse
            | StoredTable::Timings
            | StoredTable::Provenance => &[],
            StoredTable::Jobs => &["job_id"],
            StoredTable::Flows => &["job_id", "flow_id"],
            _ => &["job_id", "sim_time_ps"],
        }
    }

    /// The tables that belong to runs: which rows they have, and what is in them, may differ between
    /// two runs of one plan.
    pub const OF_RUNS: [StoredTable; 3] =
        [StoredTable::Reuse, StoredTable::Timings, StoredTable::Provenance];

    /// The Arrow schema of [`StoredTable::columns`].
    pub fn schema(self) -> SchemaRef {
        // Asked for with every batch of rows, and dear to make: texts in maps.
        static SCHEMAS: LazyLock<[SchemaRef; StoredTable::ALL.len()]> = LazyLock::new(|| {
            StoredTable::ALL.map(|table| {
                let fields = table.columns().iter().map(Column::field);
                Arc::new(Schema::new(fields.collect::<Vec<_>>()))
            })
        });
        // The order of declaration is the order of `ALL`.
        Arc::clone(&SCHEMAS[self as usize])
    }
}

/// How a column is typed and encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Integer of 64 bits with few values: dictionary.
    Int64,
    /// Integer of 64 bits that climbs or wanders: delta encoded.
    Walk64,
    /// Integer of 32 bits.
    Int32,
    /// Number.
    Float64,
    /// Truth.
    Bool,
    /// Text that repeats: an Arrow dictionary.
    Word,
    /// Text that does not.
    Text,
    /// List of texts.
    TextList,
    /// A byte string.
    Bytes,
    /// List of byte strings.
    BytesList,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name, as documented.
    pub name: &'static str,
    /// Type and encoding.
    pub kind: Kind,
    /// `B`, `ps`, `us`, `bit/s`, `%`, `1` for a plain number; empty for what is not a quantity.
    pub unit: &'static str,
    /// Whether a row may lack it.
    pub nullable: bool,
    /// What it means.
    pub description: &'static str,
}

impl Column {
    /// The Arrow field, unit and description in its metadata.
    pub fn field(&self) -> Field {
        let kind = match self.kind {
            Kind::Int64 | Kind::Walk64 => DataType::Int64,
            Kind::Int32 => DataType::Int32,
            Kind::Float64 => DataType::Float64,
            Kind::Bool => DataType::Boolean,
            Kind::Word => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Kind::Text => DataType::Utf8,
            Kind::TextList => DataType::new_list(DataType::Utf8, true),
            Kind::Bytes => DataType::Binary,
            Kind::BytesList => DataType::new_list(DataType::Binary, true),
        };
        let metadata = field_metadata(self.unit, self.description);
        Field::new(self.name, kind, self.nullable).with_metadata(metadata)
    }

    pub(super) const fn or_null(mut self) -> Self {
        self.nullable = true;
        self
    }
}

/// Field metadata: `description`, and `unit` where the column is a quantity.
pub(super) fn field_metadata(unit: &str, description: &str) -> HashMap<String, String> {
    let mut metadata = HashMap::new();
    if !unit.is_empty() {
        metadata.insert("unit".to_owned(), unit.to_owned());
    }
    if !description.is_empty() {
        metadata.insert("description".to_owned(), description.to_owned());
    }
    metadata
}

const fn column(
    kind: Kind,
    name: &'static str,
    unit: &'static str,
    description: &'static str,
) -> Column {
    Column { name, kind, unit, nullable: false, description }
}

const fn int(name: &'static str, unit: &'static str, description: &'static str) -> Column {
    column(Kind::Int64, name, unit, description)
}

pub(super) const fn walk(
    name: &'static str,
    unit: &'static str,
    description: &'static str,
) -> Column {
    column(Kind::Walk64, name, unit, description)
}

pub(super) const fn small(name: &'static str, description: &'static str) -> Column {
    column(Kind::Int32, name, "1", description)
}

pub(super) const fn float(
    name: &'static str,
    unit: &'static str,
    description: &'static str,
) -> Column {
    column(Kind::Float64, name, unit, description)
}

pub(super) const fn word(name: &'static str, description: &'static str) -> Column {
    column(Kind::Word, name, "", description)
}

const fn text(name: &'static str, description: &'static str) -> Column {
    column(Kind::Text, name, "", description)
}

const fn result(name: &'static str, unit: &'static str, description: &'static str) -> Column {
    int(name, unit, description).or_null()
}

pub(super) const JOB_ID: Column =
    word("job_id", "identity of the job, the key that joins all tables");
pub(super) const SIM_TIME: Column = walk("sim_time_ps", "ps", "end of the interval");
pub(super) const NODE_ID: Column = small("node_id", "node: hosts first, then switches");
const IFID: Column = small("ifid", "port of the node");
const ULDL: Column = word("uldl", "side of the port: ul, dl; - for the shared buffer");
const TC: Column = small("tc", "traffic class");
const POOL: Column = small("pool_num", "pool");

const POINTS: &[Column] = &[
    word("job_id", "job of the point; null: excluded").or_null(),
    word("scenario", "label of the scenario, if the sweep names scenarios").or_null(),
    int("repetition", "1", "repetition, from 0"),
    word("excluded_by", "constraint that excluded the point").or_null(),
];

const JOBS: &[Column] = &[
    JOB_ID,
    int("repetition", "1", "repetition, from 0"),
    int("seed", "1", "seed of the sweep"),
    word("status", "ok, infeasible, failed, budget or quarantined"),
    text("reason", "why the status is not ok").or_null(),
    word("end", "what ended the job: duration, drained, deadlock or budget").or_null(),
    result("end_ps", "ps", "simulated time at the end"),
    result("measured_ps", "ps", "measured time: end less warm-up"),
    result("drops", "1", "packets dropped"),
    result("drops_ingress_headroom", "1", "packets dropped: headroom full"),
    result("drops_ingress_pool", "1", "packets dropped: pool full at ingress"),
    result("drops_egress_queue_limit", "1", "packets dropped: egress queue limit"),
    result("drops_egress_pool", "1", "packets dropped: pool full at egress"),
    result("drops_trim_failed", "1", "packets dropped: no room for the trimmed packet"),
    result("drops_nic_receive_pool", "1", "packets dropped: receive pool of a NIC full"),
    result("drops_ingress_admission", "1", "packets dropped: over the ingress threshold"),
    result("dropped_bytes", "B", "charged bytes dropped"),
    result("first_drop_ps", "ps", "time of the first drop; null: none"),
    result(
        "drops_without_pause",
        "1",
        "lossless packets dropped on arrival while their port had not paused the pool",
    ),
    result("peak_ingress_bytes", "B", "largest ingress occupancy of a port and pool"),
    result("peak_headroom_bytes", "B", "largest headroom of a port and pool"),
    result("peak_egress_bytes", "B", "largest egress queue of a port and pool"),
    result("pause_frames", "1", "pause frames sent by all nodes, refreshes included"),
    result("resume_frames", "1", "resume frames sent by all nodes"),
    float(
        "pause_time_fraction",
        "1",
        "largest share of the measured time a port and class was held",
    )
    .or_null(),
    float(
        "pause_time_fraction_mean",
        "1",
        "mean share over connected ports and lossless classes; null: there are none",
    )
    .or_null(),
    result(
        "stuck_pauses",
        "1",
        "port and pool pairs paused at the end with nothing of theirs inside",
    ),
    result("deadlock_ps", "ps", "when pauses were found to wait for one another; null: never"),
    text("deadlock_ports", "the held ports and classes in that circle, as node:ifid:tc").or_null(),
    result("ecn_marks", "1", "packets newly marked CE"),
    result("trims", "1", "packets trimmed"),
    result("trim_cut_bytes", "B", "charged bytes taken off by trimming"),
    result("delivered_bytes", "B", "IP bytes delivered"),
    result("delivered_packets", "1", "packets delivered"),
    float("throughput_bps", "bit/s", "delivered IP bits over measured time").or_null(),
    float(
        "goodput_bps",
        "bit/s",
        "payload bits handed to applications, each once, over measured time; null: open loop",
    )
    .or_null(),
    result("data_packets_sent", "1", "data packets that NICs that react sent"),
    result("retransmitted_packets", "1", "retransmissions among them"),
    float("retransmitted_share", "1", "retransmitted_packets over data_packets_sent").or_null(),
    result("timeouts", "1", "retransmission timeouts"),
    result("fct_p50_ps", "ps", "median completion time of finished flows, nearest rank"),
    result("fct_p99_ps", "ps", "99th percentile of it"),
    result("fct_max_ps", "ps", "longest of it"),
    result("flows_finished", "1", "flows that completed"),
    result("flows_unfinished", "1", "flows that started and did not complete"),
    result("events", "1", "events handled"),
    result("packet_hops", "1", "packets through switches: one packet through one switch is one"),
    word("reused_from", "the job whose simulation these results are; null: this job's own")
        .or_null(),
    word("tables", "tables that hold the rows of this job, with commas"),
    int("interval_ps", "ps", "length of the recorded intervals"),
    column(Kind::Bool, "zeros", "", "whether rows of nothing were recorded too"),
    text("scenario_json", "the resolved scenario as JSON, in B, bit/s and ps"),
];

const PORT_BUFFERS: &[Column] = &[
    JOB_ID,
    SIM_TIME,
    NODE_ID,
    IFID,
    ULDL,
    word(
        "buff_id",
        "counter: ingressUsage, egressQueue or hdrm; of models with reserves also shared and reserve",
    ),
    POOL,
    int("buff_limit", "B", "what the occupancy is compared with"),
    walk("ivl_count", "1", "changes in the interval"),
    walk("ivl_min_bytes", "B", "smallest value held in the interval"),
    walk("ivl_max_bytes", "B", "largest value held in the interval"),
    float("ivl_mean_bytes", "B", "mean over the time of the interval").or_null(),
    float("ivl_max_pct_util", "%", "largest value over the limit; above 100 it was exceeded")
        .or_null(),
    float("ivl_mean_pct_util", "%", "mean over the limit").or_null(),
];

const SWITCH_BUFFERS: &[Column] = &[
    JOB_ID,
    SIM_TIME,
    NODE_ID,
    ULDL,
    word("buff_id", "counter: ingressUsage, egressQueue or sharedBuffer"),
    small("pool_num", "pool; -1: pools and headroom together"),
    int("buff_limit", "B", "what the occupancy is compared with"),
    walk("ivl_count", "1", "changes in the interval"),
    walk("ivl_min_bytes", "B", "smallest value held in the interval"),
    walk("ivl_max_bytes", "B", "largest value held in the interval"),
    float("ivl_mean_bytes", "B", "mean over the time of the interval").or_null(),
    float("ivl_max_pct_util", "%", "largest value over the limit; above 100 it was exceeded")
        .or_null(),
    float("ivl_mean_pct_util", "%", "mean over the limit").or_null(),
];

const DROPS: &[Column] = &[
    JOB_ID,
    SIM_TIME,
    NODE_ID,
    small("ifid", "port: the arriving one for ingress drops, the leaving one for egress drops"),
    TC,
    small("pool_num", "pool; the class for drops of a NIC"),
    word("reason", "why"),
    walk("ivl_packets", "1", "packets dropped in the interval"),
    walk("ivl_bytes", "B", "charged bytes dropped in the interval; IP bytes for drops of a NIC"),
];

const PFC: &[Column] = &[
    JOB_ID,
    SIM_TIME,
    NODE_ID,
    IFID,
    ULDL,
    TC,
    walk("pfcxoff_tx", "1", "pause frames sent so far"),
    walk("pfcxoff_rx", "1", "pause frames received so far"),
    walk("pfcxon_tx", "1", "resume frames sent so far"),
    walk("pfcxon_rx", "1", "resume frames received so far"),
    float("pfc_time_paused_usec", "us", "time the class was held here as an egress, so far"),
    float("interval_total_time_xoff_usec", "us", "the same inside the interval"),
    float("interval_max_time_xoff_usec", "us", "its longest stretch, cut to the interval"),
    float("percent_xon", "%", "share of the interval not held").or_null(),
    walk("pkts_ecn_marked", "1", "packets newly marked CE so far"),
];

const PFC_EVENTS: &[Column] = &[
    JOB_ID,
    walk("sim_time_ps", "ps", "when the frame was received"),
    NODE_ID,
    IFID,
    TC,
    column(Kind::Bool, "pause", "", "a pause, not a resume"),
];

const PORT_COUNTERS: &[Column] = &[
    JOB_ID,
    SIM_TIME,
    NODE_ID,
    IFID,
    ULDL,
    walk("total_packets_tx", "1", "frames sent so far, PFC included"),
    walk("total_packets_rx", "1", "frames received so far"),
    walk("total_bytes_tx", "B", "wire bytes sent so far"),
    walk("total_bytes_rx", "B", "wire bytes received so far"),
    walk("interval_packets_tx", "1", "frames sent in the interval"),
    walk("interval_packets_rx", "1", "frames received in the interval"),
    walk("interval_bytes_tx", "B", "wire bytes sent in the interval"),
    walk("interval_bytes_rx", "B", "wire bytes received in the interval"),
    float("tx_rate_bps", "bit/s", "wire bits sent over the interval").or_null(),
    float("rx_rate_bps", "bit/s", "wire bits received over the interval").or_null(),
    float("tx_link_percent_util", "%", "rate sent over the link rate").or_null(),
    float("rx_link_percent_util", "%", "rate received over the link rate").or_null(),
    walk("tx_drops", "1", "packets dropped on leaving by this port so far"),
    walk("rx_drops", "1", "packets dropped on arriving at this port so far"),
    walk("trims", "1", "packets trimmed at this port so far"),
    walk("trim_cut_bytes", "B", "charged bytes taken off by trimming so far"),
];

const FLOWS: &[Column] = &[
    JOB_ID,
    walk("flow_id", "1", "place in the expanded list of the scenario"),
    small("pattern", "place of its pattern in traffic"),
    small("src", "sending host"),
    small("dst", "receiving host"),
    TC,
    int("bytes", "B", "IP bytes; payload bytes of a message of NICs that react"),
    walk("start_ps", "ps", "start"),
    walk(
        "end_ps",
        "ps",
        "arrival of the last byte, of its acknowledgement where there are any; null: never",
    )
    .or_null(),
    walk("fct_ps", "ps", "completion time: end less start").or_null(),
    walk("sent_packets", "1", "packets sent"),
    walk("sent_bytes", "B", "IP bytes sent"),
    walk("received_packets", "1", "packets received whole"),
    walk("received_bytes", "B", "IP bytes received"),
    walk("received_trimmed", "1", "trimmed packets received"),
    walk("received_ce", "1", "packets received with CE"),
    walk("retransmitted_packets", "1", "packets sent again, among sent_packets"),
    walk("timeouts", "1", "retransmission timeouts"),
    float("goodput_bps", "bit/s", "bits of the flow over its completion time; null: not completed")
        .or_null(),
];

const REUSE: &[Column] = &[
    word("job_id", "job that was simulated"),
    word("run_id", "run that simulated it"),
    word("structure", "hash of everything but its thresholds; only jobs of one can share results"),
    text("compared", "what its thresholds were compared with, as JSON"),
    column(Kind::Bytes, "port_moments", "", "integral and length of its rows of port_buffers"),
    column(Kind::Bytes, "switch_moments", "", "the same of switch_buffers"),
];

const TIMINGS: &[Column] = &[
    JOB_ID,
    word("run_id", "run that simulated the job: joins provenance"),
    word("host", "machine"),
    small("thread", "worker thread"),
    walk("start_us", "us", "start, since 1970-01-01 UTC"),
    walk("wall_us", "us", "wall time"),
    walk("cpu_us", "us", "CPU time of the thread; null: not measured").or_null(),
];

const PROVENANCE: &[Column] = &[
    text("run_id", "the run"),
    text("plan_hash", "hash of the plan"),
    text("poolsweep_version", "version of poolsweep"),
    text("commit", "commit it was built from").or_null(),
    text("lock_hash", "hash of Cargo.lock it was built with").or_null(),
    text("target", "target it was built for"),
    text("cpu_features", "CPU features it was built for"),
    column(Kind::TextList, "command_line", "", "arguments, the command first"),
    column(Kind::TextList, "yaml_paths", "", "sweep files as opened"),
    column(Kind::BytesList, "yaml_bytes", "", "their bytes, in the same order"),
    text("host", "machine"),
    text("slurm_job_id", "Slurm job").or_null(),
    text("slurm_array_job_id", "Slurm array").or_null(),
    text("slurm_array_task_id", "task of the Slurm array").or_null(),
    small("threads", "worker threads"),
    int("start_us", "us", "start, since 1970-01-01 UTC"),
    int("end_us", "us", "end, since 1970-01-01 UTC; null: it did not end by itself").or_null(),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::observe::DropReason;
    use std::fmt::Write;

    #[test]
    fn the_layouts_are_frozen() {
        let mut all = format!("schema version {SCHEMA_VERSION}\n");
        for table in StoredTable::ALL {
            writeln!(all, "\n{} (sorted by {:?})", table.name(), table.sorted_by()).unwrap();
            for field in table.schema().fields() {
                let get = |key: &str| field.metadata().get(key).map_or("", String::as_str);
                let null = if field.is_nullable() { "?" } else { "" };
                let kind = format!("{}{null}", field.data_type());
                let (unit, text) = (get("unit"), get("description"));
                writeln!(all, "  {}: {kind} [{unit}] {text}", field.name()).unwrap();
            }
        }
        insta::assert_snapshot!("layouts", all);
    }

    #[test]
    fn every_table_has_its_own_schema() {
        for table in StoredTable::ALL {
            let named: Vec<_> = table.columns().iter().map(|column| column.name).collect();
            let schema = table.schema();
            let found: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
            assert_eq!(found, named);
        }
    }

    #[test]
    fn every_reason_has_its_column_in_order() {
        let named: Vec<_> = JOBS.iter().filter_map(|c| c.name.strip_prefix("drops_")).collect();
        let reasons: Vec<_> = DropReason::ALL.iter().map(|r| r.name()).collect();
        assert_eq!(&named[..reasons.len()], reasons);
    }

    #[test]
    fn every_number_has_a_unit_and_every_column_a_description() {
        for table in StoredTable::ALL {
            for column in table.columns() {
                let number =
                    matches!(column.kind, Kind::Int64 | Kind::Walk64 | Kind::Int32 | Kind::Float64);
                assert_eq!(number, !column.unit.is_empty(), "{}.{}", table.name(), column.name);
                assert!(!column.description.is_empty());
            }
        }
    }
}
