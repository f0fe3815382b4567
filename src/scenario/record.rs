//! Which tables a job leaves, how often, and the limits that end it.

use crate::units::Ps;
use serde::{Deserialize, Serialize};

/// A table of the dataset that a job may leave rows in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
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
    /// What each member of an equal-cost set carried.
    LoadBalancing,
    /// One row a PFC frame received.
    PfcEvents,
}

/// What a job records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Record {
    /// Length of an interval; none: `BufferStatsReportInterval`.
    pub interval: Option<Ps>,
    /// The tables to keep.
    pub tables: Vec<Table>,
    /// Write rows in which nothing was held and nothing changed too.
    pub zeros: bool,
}

impl Default for Record {
    fn default() -> Self {
        Record {
            interval: None,
            tables: vec![Table::Jobs, Table::PortBuffers, Table::Drops, Table::Pfc],
            zeros: false,
        }
    }
}

impl Record {
    /// Whether a table is asked for.
    pub fn has(&self, table: Table) -> bool {
        self.tables.contains(&table)
    }
}

/// Limits that end a job deterministically, with status `budget`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Most events a job may handle.
    pub events: u64,
    /// Simulated time after which a job ends that would go on; for jobs that run until drained, and
    /// may never be. `None`: `duration` alone ends them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated_time: Option<Ps>,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { events: 10_000_000_000, simulated_time: None }
    }
}
