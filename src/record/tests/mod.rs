//! Tests of the room as a whole, on real files: what goes in comes out, whatever fails midway.

mod checksums;
pub(super) mod compact;
mod export;
mod faults;
mod folder;
mod layout;
mod merge;
mod replace;
mod roundtrip;

use crate::record::{ChunkWriter, Dataset, JobMeta, Outcome, Published, Result, TableSet};
use crate::sim::nic::stats::{NicStats, Samples};
use crate::sim::observe::{
    BuffId, DropReason, DropRow, End, FlowRow, HeldPort, LoadBalancingRow, Observations, Occupancy,
    PfcEventRow, PfcRow, PortBufferRow, PortCounterRow, Side, SwitchBuff, SwitchBufferRow, Totals,
    TransportRow,
};
use crate::sim::switch::route::MemberStats;
use crate::sweep::plan::JobId;
use crate::units::Ps;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const PLAN: &str = "0123456789abcdef";

/// Intervals a job of [`observed`] has.
const INTERVALS: u64 = 3;

pub(super) fn meta(job: u64, tables: &str, interval: u64) -> JobMeta {
    JobMeta {
        id: JobId(job),
        repetition: job % 2,
        seed: 42,
        scenario: format!(r#"{{"duration":{}}}"#, job * 1000),
        tables: TableSet::from_list(tables),
        interval: Ps(interval),
        zeros: false,
    }
}

/// A few rows in every table, with values that tell jobs and intervals apart.
pub(super) fn observed(job: u64, interval: u64) -> Observations {
    let ends = || (1..=INTERVALS).map(move |i| i * interval);
    let before = MemberStats { bytes: 600, packets: 6, assignments: 2, ..Default::default() };
    let occupancy = |sim_time: u64, limit: u64| Occupancy {
        sim_time,
        length: interval,
        limit,
        count: 4,
        min: 1,
        max: 1000 + job,
        integral: u128::from(interval) * 500,
    };
    Observations {
        totals: Totals {
            end: End::Drained,
            end_time: 5_000_000,
            measured: 4_000_000,
            drops: [1, 2, 3, 4, 5, 6, 0],
            dropped_bytes: 21_000,
            first_drop: Some(job),
            paused_max: 1_000_000,
            paused_sum: 4_000_000,
            paused_pairs: 4,
            peak_ingress: 9_000,
            delivered_bytes: 500_000,
            delivered_packets: 500,
            fct_p50: Some(7),
            flows_finished: 1,
            flows_unfinished: 1,
            events: 10_000,
            packet_hops: 500,
            deadlock: Some(3_000_000),
            deadlock_ports: vec![
                HeldPort { node: 9, port: 2, tc: 1 },
                HeldPort { node: 10, port: 3, tc: 1 },
            ],
            ..Totals::default()
        },
        port_buffers: ends()
            .map(|sim_time| PortBufferRow {
                node: 9,
                port: 2,
                side: Side::Down,
                buff: BuffId::Headroom,
                pool: 1,
                occupancy: occupancy(sim_time, 2000),
            })
            .collect(),
        switch_buffers: ends()
            .map(|sim_time| SwitchBufferRow {
                node: 9,
                side: Side::Whole,
                buff: SwitchBuff::Shared,
                pool: -1,
                occupancy: occupancy(sim_time, 0),
            })
            .collect(),
        drops: ends()
            .map(|sim_time| DropRow {
                sim_time,
                node: 9,
                port: 2,
                tc: 3,
                pool: 1,
                reason: DropReason::NicReceivePool,
                packets: 6,
                bytes: 600,
            })
            .collect(),
        pfc: ends()
            .map(|sim_time| PfcRow {
                sim_time,
                length: interval,
                node: 9,
                port: 2,
                side: Side::Up,
                tc: 3,
                xoff_tx: 1,
                xoff_rx: 2,
                xon_tx: 3,
                xon_rx: 4,
                paused: 1_500_000,
                interval_paused: interval / 4,
                interval_max_paused: interval / 4,
                ecn_marked: 5,
            })
            .collect(),
        port_counters: ends()
            .map(|sim_time| PortCounterRow {
                sim_time,
                length: interval,
                node: 9,
                port: 2,
                side: Side::Up,
                rate: 400_000_000_000,
                packets_tx: 10,
                packets_rx: 20,
                bytes_tx: 30,
                bytes_rx: 40,
                interval_packets_tx: 1,
                interval_packets_rx: 2,
                // Half of what the link carries in the interval: 0.05 B a ps at 400 Gbit/s.
                interval_bytes_tx: interval / 40,
                interval_bytes_rx: 0,
                tx_drops: 7,
                rx_drops: 8,
                trims: 9,
                trim_cut_bytes: 900,
            })
            .collect(),
        flows: (0..2)
            .map(|flow_id| FlowRow {
                flow_id,
                pattern: 0,
                src: 1,
                dst: 0,
                tc: 3,
                bytes: 1_000_000,
                start: 10,
                end: (flow_id == 0).then_some(17),
                sent_packets: 1000,
                sent_bytes: 1_000_000,
                received_packets: 999,
                received_bytes: 999_000,
                received_trimmed: 1,
                received_ce: 2,
                retransmitted: 3,
                timeouts: 1,
            })
            .collect(),
        pfc_events: ends()
            .map(|sim_time| PfcEventRow { sim_time, node: 9, port: 2, tc: 1, pause: job == 1 })
            .collect(),
        load_balancing: ends()
            .map(|sim_time| LoadBalancingRow {
                sim_time,
                node: 9,
                group: 1,
                group_ports: "4,5".into(),
                group_size: 2,
                slots: 512,
                port: 5,
                stats: MemberStats { bytes: 700, packets: 7, assignments: 3, ..before },
                before,
                group_bytes: 400,
            })
            .collect(),
        transport: (0..2)
            .map(|host| TransportRow {
                sim_time: interval,
                node: host,
                stats: NicStats { total_pkts_sent: 9, window: window(host), ..NicStats::default() },
                before: NicStats { total_pkts_sent: 4, ..NicStats::default() },
                rates: host == 1,
            })
            .collect(),
    }
}

/// No sample at host 0, two at the others.
fn window(host: u32) -> Samples {
    let mut window = Samples::default();
    for value in [400, 200].iter().take(2 * host as usize) {
        window.add(*value);
    }
    window
}

/// Publishes jobs that ran.
fn publish(dataset: &Dataset, jobs: &[u64], tables: &str, interval: u64) -> Result<Published> {
    let mut chunk = ChunkWriter::new(dataset, PLAN);
    for &job in jobs {
        chunk.push(meta(job, tables, interval), Outcome::Ran(&observed(job, interval)))?;
    }
    chunk.finish()
}

/// Every file of a folder that a glob would find, by path from it.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if !path.file_name().unwrap().to_str().unwrap().starts_with('.') {
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Names of dot files anywhere below, the lock aside.
fn leftovers(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.starts_with('.') && name != ".lock" {
                found.push(name);
            }
        }
    }
    found
}
