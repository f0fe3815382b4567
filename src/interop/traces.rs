//! The trace files of HPCC's ns-3 code, written from a dataset.
//!
//! Owns their columns, numbers of nodes and ports, and the completion time of a flow alone. Nodes of
//! an explicit topology whose names are numbers have those numbers, and its ports go by the order
//! of its links, as that code has them; nodes of other topologies have their own numbers.

use crate::record::{Dataset, RecordError, StoredTable, TableSet};
use crate::scenario::links::{LinksError, NetworkPlan, Outline};
use crate::scenario::{NodeKind, Scenario, Table, Topology};
use crate::sweep::plan::JobId;
use arrow::array::{Array, BooleanArray, Int32Array, Int64Array, RecordBatch};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// ps in a ns.
const NS: u64 = 1_000;
/// Bytes of a frame besides its payload.
const HEADERS: u64 = 48;
/// Source port of the first flow between two hosts; each further one has one more.
const FIRST_PORT: u64 = 10_000;
/// Destination port of every flow.
const PORT: u32 = 100;

/// A kind of trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace {
    /// `pfc.txt`: `time_ns node node_type port type`, a line a PFC frame received; type 1 pause, 0
    /// resume; node type 0 host, 1 switch; ports from 1.
    Pfc,
    /// `fct.txt`: `sip dip sport dport bytes start_ns fct_ns standalone_ns`, a line a flow that
    /// ended, in order of their ends.
    Fct,
}

impl Trace {
    /// Name of the file.
    pub fn file(self) -> &'static str {
        match self {
            Trace::Pfc => "pfc.txt",
            Trace::Fct => "fct.txt",
        }
    }

    /// The table it is written from.
    pub fn table(self) -> Table {
        match self {
            Trace::Pfc => Table::PfcEvents,
            Trace::Fct => Table::Flows,
        }
    }
}

/// Why a trace file was not written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The dataset cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// No job has the table.
    #[error("no job of {path} holds the table {table}; add it to record.tables and run again")]
    NoTable {
        /// The dataset.
        path: PathBuf,
        /// The table.
        table: &'static str,
    },
    /// A job's scenario is none that this version knows.
    #[error("the scenario of job {job} cannot be read: {reason}")]
    Scenario {
        /// The job.
        job: JobId,
        /// What is wrong with it.
        reason: String,
    },
    /// A file cannot be written.
    #[error("write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// Writes a trace file of every job that holds its table, as `<folder>/<job id>/<file>`; the files
/// and their lines.
///
/// # Errors
/// A dataset without the table, a damaged one, or what the disk refuses.
pub fn export(
    dataset: &Dataset,
    trace: Trace,
    folder: &Path,
) -> Result<Vec<(PathBuf, usize)>, TraceError> {
    let wanted: TableSet = [trace.table()].into_iter().collect();
    let mut written = Vec::new();
    for (job, done) in dataset.done()? {
        if !done.tables.covers(wanted) {
            continue;
        }
        let text = of_job(dataset, trace, job)?;
        let own = folder.join(job.to_string());
        let path = own.join(trace.file());
        std::fs::create_dir_all(&own)
            .and_then(|()| std::fs::write(&path, &text))
            .map_err(|source| TraceError::Write { path: path.clone(), source })?;
        written.push((path, text.lines().count()));
    }
    if written.is_empty() {
        let table = StoredTable::from(trace.table()).name();
        return Err(TraceError::NoTable { path: dataset.path().to_path_buf(), table });
    }
    Ok(written)
}

/// A job's trace file.
fn of_job(dataset: &Dataset, trace: Trace, job: JobId) -> Result<String, TraceError> {
    let unreadable = |reason: String| TraceError::Scenario { job, reason };
    let json = dataset.job(job)?.scenario;
    let scenario: Scenario =
        serde_json::from_str(&json).map_err(|error| unreadable(error.to_string()))?;
    let names = Names::new(&scenario).map_err(|error| unreadable(error.to_string()))?;
    let batches = dataset.read_job(StoredTable::from(trace.table()), job)?;
    Ok(match trace {
        Trace::Pfc => pfc(&names, &batches),
        Trace::Fct => fct(&scenario, &names, &batches),
    })
}

/// What that code calls nodes and ports.
struct Names {
    plan: NetworkPlan,
    /// Numbers of nodes.
    nodes: Vec<u64>,
    /// Numbers of ports by node and port, where they are not one more than ours.
    ports: BTreeMap<(u32, u32), u64>,
}

impl Names {
    fn new(scenario: &Scenario) -> Result<Names, LinksError> {
        let plan = Outline::new(scenario)?.network();
        let count = plan.hosts + plan.switches.len() as u32;
        let mut names =
            Names { plan, nodes: (0..u64::from(count)).collect(), ports: BTreeMap::new() };
        let Topology::Explicit(own) = &scenario.topology else { return Ok(names) };
        // Hosts, then switches by tier, each in the order of the list.
        let mut order: Vec<_> = own.nodes.iter().collect();
        order.sort_by_key(|node| (node.kind == NodeKind::Switch, node.tier.unwrap_or_default()));
        let numbers: Option<Vec<u64>> = order.iter().map(|node| node.name.parse().ok()).collect();
        let Some(numbers) = numbers else { return Ok(names) };
        names.nodes = numbers;
        let ids: BTreeMap<&str, u32> =
            order.iter().zip(0..).map(|(node, id)| (node.name.as_str(), id)).collect();
        // Parallel links keep their order on both sides.
        let mut next = vec![0u64; count as usize];
        let mut between: BTreeMap<(u32, u32), VecDeque<(u64, u64)>> = BTreeMap::new();
        for link in &own.links {
            let (a, b) = (ids[link.a.as_str()], ids[link.b.as_str()]);
            for _ in 0..link.count {
                next[a as usize] += 1;
                next[b as usize] += 1;
                let (at_a, at_b) = (next[a as usize], next[b as usize]);
                let (key, ports) =
                    if a < b { ((a, b), (at_a, at_b)) } else { ((b, a), (at_b, at_a)) };
                between.entry(key).or_default().push_back(ports);
            }
        }
        for link in &names.plan.links {
            let (low, high) =
                if link.a.node < link.b.node { (link.a, link.b) } else { (link.b, link.a) };
            let listed = between.get_mut(&(low.node, high.node)).and_then(VecDeque::pop_front);
            if let Some((at_low, at_high)) = listed {
                names.ports.insert((low.node, low.port), at_low);
                names.ports.insert((high.node, high.port), at_high);
            }
        }
        Ok(names)
    }

    fn port(&self, node: u32, port: u32) -> u64 {
        self.ports.get(&(node, port)).copied().unwrap_or(u64::from(port) + 1)
    }

    /// The address that code gives a node: 11.high.low.1.
    fn address(&self, node: u32) -> u64 {
        let number = self.nodes[node as usize];
        0x0b00_0001 + (number / 256) * 0x1_0000 + (number % 256) * 0x100
    }
}

fn pfc(names: &Names, batches: &[RecordBatch]) -> String {
    let mut text = String::new();
    for batch in batches {
        let (times, nodes) = (integers(batch, "sim_time_ps"), integers(batch, "node_id"));
        let ports = integers(batch, "ifid");
        let pauses = batch.column_by_name("pause").and_then(|c| c.as_any().downcast_ref());
        let Some(pauses): Option<&BooleanArray> = pauses else { continue };
        for row in 0..batch.num_rows() {
            let (node, port) = (nodes[row] as u32, ports[row] as u32);
            // Writing to a text cannot fail.
            let _ = writeln!(
                text,
                "{} {} {} {} {}",
                times[row] / NS,
                names.nodes[node as usize],
                u8::from(node >= names.plan.hosts),
                names.port(node, port),
                u8::from(pauses.value(row))
            );
        }
    }
    text
}

fn fct(scenario: &Scenario, names: &Names, batches: &[RecordBatch]) -> String {
    let mut flows: Vec<[u64; 6]> = Vec::new();
    for batch in batches {
        let column = |name| integers(batch, name);
        let (ids, src, dst) = (column("flow_id"), column("src"), column("dst"));
        let (bytes, starts, ends) = (column("bytes"), column("start_ps"), column("end_ps"));
        flows
            .extend((0..ids.len()).map(|r| [ids[r], src[r], dst[r], bytes[r], starts[r], ends[r]]));
    }
    flows.sort_unstable();
    let mut next_port: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut lines: Vec<(u64, String)> = Vec::new();
    let mut paths = BTreeMap::new();
    for [_, src, dst, bytes, start, end] in flows {
        let port = next_port.entry((src, dst)).or_insert(FIRST_PORT);
        let own = *port;
        *port += 1;
        // No flow ends at 0; this one did not end.
        if end == 0 {
            continue;
        }
        let payload = scenario.nic.hpcc.payload.0.max(1);
        let tree = paths.entry(dst).or_insert_with(|| Paths::to(&names.plan, dst as u32, payload));
        let alone = tree.alone(src as u32, bytes, payload);
        let (sip, dip) = (names.address(src as u32), names.address(dst as u32));
        let (from, took) = (start / NS, (end - start) / NS);
        lines
            .push((end, format!("{sip:08x} {dip:08x} {own} {PORT} {bytes} {from} {took} {alone}")));
    }
    lines.sort_by_key(|(end, _)| *end);
    lines.into_iter().map(|(_, line)| line + "\n").collect()
}

/// Shortest paths to a host, as that code finds them: breadth first, the first that is found.
struct Paths {
    /// By node: delay in ns, time to send a packet's payload on each link in ns, lowest rate.
    of: BTreeMap<u32, (u64, u64, u64)>,
}

impl Paths {
    fn to(plan: &NetworkPlan, host: u32, payload: u64) -> Paths {
        let mut peers: BTreeMap<u32, Vec<(u32, u64, u64)>> = BTreeMap::new();
        for link in &plan.links {
            for (from, to) in [(link.a, link.b), (link.b, link.a)] {
                peers.entry(from.node).or_default().push((to.node, link.rate, link.delay / NS));
            }
        }
        let mut of = BTreeMap::from([(host, (0, 0, u64::MAX))]);
        let mut queue = VecDeque::from([host]);
        while let Some(node) = queue.pop_front() {
            let (delay, sending, rate) = of[&node];
            for &(peer, own, more) in peers.get(&node).into_iter().flatten() {
                if of.contains_key(&peer) {
                    continue;
                }
                let time = payload * 8_000_000_000 / own;
                of.insert(peer, (delay + more, sending + time, rate.min(own)));
                if peer >= plan.hosts {
                    queue.push_back(peer);
                }
            }
        }
        Paths { of }
    }

    /// Completion time of a flow alone, ns: a round trip and its frames at the lowest rate.
    fn alone(&self, src: u32, bytes: u64, payload: u64) -> u64 {
        let (delay, sending, rate) = self.of.get(&src).copied().unwrap_or((0, 0, u64::MAX));
        let frames = bytes.div_ceil(payload);
        let all = u128::from(bytes + frames * HEADERS) * 8_000_000_000 / u128::from(rate.max(1));
        2 * delay + sending + all as u64
    }
}

/// A column of whole numbers; 0 where there is none.
fn integers(batch: &RecordBatch, name: &str) -> Vec<u64> {
    let Some(column) = batch.column_by_name(name) else { return vec![0; batch.num_rows()] };
    let column = column.as_any();
    let whole = |value: i64| value.unsigned_abs();
    if let Some(long) = column.downcast_ref::<Int64Array>() {
        return (0..long.len())
            .map(|row| if long.is_valid(row) { whole(long.value(row)) } else { 0 })
            .collect();
    }
    match column.downcast_ref::<Int32Array>() {
        Some(short) => short.values().iter().map(|&value| whole(i64::from(value))).collect(),
        None => vec![0; batch.num_rows()],
    }
}
