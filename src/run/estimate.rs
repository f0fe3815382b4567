//! How much a plan would record.
//!
//! Owns upper bounds on rows, reckoned from a scenario alone. What depends on the result (drops,
//! intervals in which nothing happens) is bounded from above or not at all.

use super::recorder::{Asked, JobSource};
use crate::record::StoredTable;
use crate::scenario::links::Outline;
use crate::scenario::startup::{CLASSES, Startup};
use crate::scenario::{Scenario, Table, Topology};
use std::collections::BTreeMap;

/// Jobs looked at; more are scaled from an even sample.
const SAMPLE: usize = 500;

/// Rows of the tables of a scenario at most; a table whose rows cannot be bounded is left out.
pub fn rows_at_most(scenario: &Scenario) -> BTreeMap<StoredTable, f64> {
    let asked = Asked::of(scenario);
    let mut rows = BTreeMap::from([(StoredTable::Jobs, 1.0)]);
    let Ok(outline) = Outline::new(scenario) else {
        return rows;
    };
    let intervals = scenario.duration.0.div_ceil(asked.interval.0.max(1)) as f64;
    let hosts = f64::from(outline.hosts);
    let (mut ports, mut port_counters, mut switch_counters) = (0.0, 0.0, 0.0);
    for kind in outline.switch_kinds() {
        let (count, width) = (kind.count as f64, f64::from(kind.ports()));
        ports += count * width;
        let switch = scenario.switch.of_tier(kind.tier.settings());
        if let Ok(startup) = Startup::new(&switch, kind.ports()) {
            let pools = || startup.pools.iter().flatten();
            let headrooms = pools().filter(|pool| pool.priority_group != 0).count();
            port_counters += count * width * (2 * pools().count() + headrooms) as f64;
            // Ingress and egress by side, shared over all, and the whole buffer.
            switch_counters += count * (5 * pools().count() + 1) as f64;
        }
    }
    for table in asked.tables.iter() {
        let at_most = match table {
            Table::Jobs => 1.0,
            Table::PortBuffers => port_counters * intervals,
            Table::SwitchBuffers => switch_counters * intervals,
            Table::Pfc => (ports + hosts) * CLASSES as f64 * intervals,
            Table::PortCounters => (ports + hosts) * intervals,
            Table::Transport if scenario.nic.model.is_reactive() => hosts * intervals,
            Table::Transport => continue,
            // In a tree every port is in one set at most.
            Table::LoadBalancing if !matches!(scenario.topology, Topology::Explicit(_)) => {
                ports * intervals
            }
            Table::LoadBalancing => continue,
            Table::Drops | Table::Flows | Table::PfcEvents => continue,
        };
        rows.insert(StoredTable::from(table), at_most);
    }
    rows
}

/// Rows of all runnable jobs of a plan at most, from an even sample of them.
pub fn plan_rows_at_most(source: &dyn JobSource) -> BTreeMap<StoredTable, f64> {
    let jobs = source.jobs();
    let runnable: Vec<usize> = (0..jobs.len()).filter(|&j| jobs[j].infeasible.is_empty()).collect();
    let step = runnable.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<usize> = runnable.iter().copied().step_by(step).collect();
    let scale = runnable.len() as f64 / sample.len().max(1) as f64;
    let mut total = BTreeMap::new();
    for scenario in sample.iter().filter_map(|&job| source.scenario(job).ok()) {
        for (table, rows) in rows_at_most(&scenario) {
            *total.entry(table).or_insert(0.0) += rows * scale;
        }
    }
    // Jobs that cannot run leave their row too.
    total.insert(StoredTable::Jobs, jobs.len() as f64);
    total
}

/// Bytes a row takes on disk, measured on typical sweeps; for estimates only.
pub fn bytes_per_row(table: StoredTable) -> f64 {
    match table {
        StoredTable::Jobs => 100.0,
        StoredTable::PortBuffers => 8.0,
        StoredTable::SwitchBuffers => 9.0,
        StoredTable::PortCounters => 6.0,
        StoredTable::Pfc => 2.0,
        _ => 20.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::recorder::Simulate;
    use crate::run::simulator::Simulator;
    use crate::sim::random::Seeds;

    const SCENARIO: &str = r#"{
        "duration": 100000000,
        "topology": {"kind": "single-switch", "hosts": 5},
        "traffic": [{"pattern": "incast", "senders": 4, "bytes": 400000, "dscp": 8}],
        "record": {"interval": 1000000, "tables":
            ["jobs", "port_buffers", "switch_buffers", "pfc", "port_counters"], "zeros": true}
    }"#;

    #[test]
    fn what_is_recorded_stays_within_the_bound_and_reaches_it_with_zeros() {
        let scenario: Scenario = serde_json::from_str(SCENARIO).unwrap();
        let bound = rows_at_most(&scenario);
        let seen = Simulator::default().simulate(&scenario, Seeds::default()).unwrap();
        let counts = [
            (StoredTable::PortBuffers, seen.port_buffers.len()),
            (StoredTable::SwitchBuffers, seen.switch_buffers.len()),
            (StoredTable::Pfc, seen.pfc.len()),
            (StoredTable::PortCounters, seen.port_counters.len()),
        ];
        for (table, count) in counts {
            let (most, count) = (bound[&table], count as f64);
            assert!(count <= most, "{table:?}: {count} rows, at most {most}");
            assert!(count > most / 3.0, "{table:?}: {count} rows, at most {most} says nothing");
        }
    }
}
