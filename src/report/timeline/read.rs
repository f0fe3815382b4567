//! Reading the rows of one job.

use super::limits::Limits;
use super::steps::{Row, Steps};
use super::{Counter, Drops, Limit, Pauses, Place, Pool, Timeline};
use crate::record::{Dataset, StoredTable};
use crate::report::ReportError;
use crate::report::cells::{integer, number, texts};
use crate::report::jobs::JobColumns;
use arrow::array::{Array, Int32Array, RecordBatch};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Places on the page, of one job.
const PLACES: usize = 12;
/// Series of drops on the page, of one job.
const DROP_SERIES: usize = 40;

/// The tables a timeline is drawn from.
const TABLES: [StoredTable; 4] =
    [StoredTable::PortBuffers, StoredTable::SwitchBuffers, StoredTable::Drops, StoredTable::Pfc];

/// Node, port, side and pool.
type PlaceKey = (i64, i64, String, i64);
/// Counters by name.
type Counters = BTreeMap<String, Vec<Row>>;
/// Frames and time of a step.
type Paused = BTreeMap<usize, (i64, i64, f64)>;

/// Reads a job over time.
pub fn read(dataset: &Dataset, jobs: &JobColumns, place: usize) -> Result<Timeline, ReportError> {
    let row = dataset.job(jobs.id(place))?;
    let limits = Limits::of(&row.scenario);
    let end = integer(&row.row, "end_ps", 0).unwrap_or(0).max(0) as u64;
    let steps = Steps::new(row.interval.0, end);
    let recorded: Vec<StoredTable> =
        TABLES.into_iter().filter(|&table| jobs.has_table(place, table)).collect();
    let rows = |table: StoredTable| match recorded.contains(&table) {
        true => dataset.read_job(table, row.id),
        false => Ok(Vec::new()),
    };
    let ports = counters(&rows(StoredTable::PortBuffers)?);
    let (drops, drops_left) = drops(&rows(StoredTable::Drops)?, &steps, &limits);
    let (places, places_left) = worst_places(ports, &drops, &steps, &limits);
    let shown: BTreeSet<(i64, i64)> = places.iter().map(|p| (p.node, p.port)).collect();
    let pauses = pauses(&rows(StoredTable::Pfc)?, &steps, &limits, &shown);
    let pools = pools(counters(&rows(StoredTable::SwitchBuffers)?), &steps, &limits);
    Ok(Timeline {
        job: place,
        steps,
        recorded: recorded.into_iter().map(StoredTable::name).collect(),
        places,
        places_left,
        pools,
        drops,
        drops_left,
        pauses,
    })
}

fn small(batch: &RecordBatch, name: &str) -> impl Fn(usize) -> i64 {
    let column = batch.column_by_name(name);
    let column = column.and_then(|c| c.as_any().downcast_ref::<Int32Array>()).cloned();
    move |row| column.as_ref().map_or(0, |column| column.value(row).into())
}

/// The rows of `port_buffers` or `switch_buffers`, by place and counter.
fn counters(batches: &[RecordBatch]) -> BTreeMap<PlaceKey, Counters> {
    let mut all: BTreeMap<PlaceKey, Counters> = BTreeMap::new();
    for batch in batches {
        let (node, port) = (small(batch, "node_id"), small(batch, "ifid"));
        let (side, name) = (texts(batch, "uldl"), texts(batch, "buff_id"));
        let pool = small(batch, "pool_num");
        for row in 0..batch.num_rows() {
            let key = (node(row), port(row), side(row).unwrap_or_default(), pool(row));
            let of = |name: &str| integer(batch, name, row).unwrap_or(0);
            let held = Row {
                time: of("sim_time_ps"),
                min: of("ivl_min_bytes"),
                mean: number(batch, "ivl_mean_bytes", row),
                max: of("ivl_max_bytes"),
                limit: of("buff_limit"),
            };
            let counter = all.entry(key).or_default();
            counter.entry(name(row).unwrap_or_default()).or_default().push(held);
        }
    }
    all
}

fn peak(rows: &[Row]) -> i64 {
    rows.iter().map(|row| row.max).max().unwrap_or(0)
}

fn series(counters: Counters, pool: i64, steps: &Steps, limits: &Limits) -> Vec<Counter> {
    let held = counters.into_iter().filter(|(_, rows)| peak(rows) > 0);
    let counter = |(name, rows): (String, Vec<Row>)| {
        let held = steps.held(&rows);
        let mut bounds: Vec<i64> = held.values().map(|h| h.limit).collect();
        let limit = match bounds.first().copied() {
            Some(first) if bounds.iter().all(|&bound| bound == first) => Limit::Fixed(first),
            _ => Limit::Moving(std::mem::take(&mut bounds)),
        };
        Counter {
            lines: limits.lines(&name, pool),
            name,
            at: held.keys().copied().collect(),
            min: held.values().map(|h| h.min).collect(),
            mean: held.values().map(|h| h.mean).collect(),
            max: held.values().map(|h| h.max).collect(),
            limit,
        }
    };
    held.map(counter).collect()
}

/// The places that lost most, then those that came closest to a limit, then the fullest; and how
/// many are left.
fn worst_places(
    all: BTreeMap<PlaceKey, Counters>,
    drops: &[Drops],
    steps: &Steps,
    limits: &Limits,
) -> (Vec<Place>, usize) {
    let mut ranked: Vec<_> = all
        .into_iter()
        .filter(|(_, counters)| counters.values().any(|rows| peak(rows) > 0))
        .map(|(key, counters)| {
            let here = |d: &&Drops| (d.node, d.port, d.pool) == (key.0, key.1, key.3);
            let lost: i64 = drops.iter().filter(here).flat_map(|d| &d.packets).sum();
            let rows = || counters.values().flatten();
            // Thousandths, so that they can be compared.
            let used =
                rows().filter(|r| r.limit > 0).map(|r| r.max as i128 * 1000 / r.limit as i128);
            let fullest = rows().map(|row| row.max).max();
            (Reverse((lost, used.max(), fullest)), key, counters)
        })
        .collect();
    ranked.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    let left = ranked.len().saturating_sub(PLACES);
    let place = |(_, (node, port, side, pool), counters)| Place {
        node,
        name: limits.name(node),
        port,
        side,
        pool,
        counters: series(counters, pool, steps, limits),
    };
    (ranked.into_iter().take(PLACES).map(place).collect(), left)
}

fn pools(all: BTreeMap<PlaceKey, Counters>, steps: &Steps, limits: &Limits) -> Vec<Pool> {
    let mut fullest: Vec<_> = all
        .into_iter()
        .map(|(key, counters)| (Reverse(counters.values().map(|r| peak(r)).max()), key, counters))
        .filter(|(peak, ..)| peak.0 > Some(0))
        .collect();
    fullest.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    let pool = |(_, (node, _, _, pool), counters)| Pool {
        node,
        name: limits.name(node),
        pool,
        counters: series(counters, pool, steps, limits),
    };
    fullest.into_iter().take(PLACES).map(pool).collect()
}

/// The series that lost most, and how many are left.
fn drops(batches: &[RecordBatch], steps: &Steps, limits: &Limits) -> (Vec<Drops>, usize) {
    let mut all: BTreeMap<_, BTreeMap<usize, (i64, i64)>> = BTreeMap::new();
    for batch in batches {
        let (node, port) = (small(batch, "node_id"), small(batch, "ifid"));
        let (class, pool) = (small(batch, "tc"), small(batch, "pool_num"));
        let reason = texts(batch, "reason");
        for row in 0..batch.num_rows() {
            let of = |name: &str| integer(batch, name, row).unwrap_or(0);
            let reason = reason(row).unwrap_or_default();
            let key = (node(row), port(row), class(row), pool(row), reason);
            let step = all.entry(key).or_default().entry(steps.of(of("sim_time_ps"))).or_default();
            step.0 += of("ivl_packets");
            step.1 += of("ivl_bytes");
        }
    }
    let mut series: Vec<Drops> = all
        .into_iter()
        .map(|((node, port, class, pool, reason), by_step)| Drops {
            node,
            name: limits.name(node),
            port,
            class,
            pool,
            reason,
            at: by_step.keys().copied().collect(),
            packets: by_step.values().map(|step| step.0).collect(),
            bytes: by_step.values().map(|step| step.1).collect(),
        })
        .collect();
    // A stable sort: those that lost as much stay in the order of their places.
    series.sort_by_key(|d| Reverse(d.packets.iter().sum::<i64>()));
    let left = series.len().saturating_sub(DROP_SERIES);
    series.truncate(DROP_SERIES);
    (series, left)
}

fn pauses(
    batches: &[RecordBatch],
    steps: &Steps,
    limits: &Limits,
    shown: &BTreeSet<(i64, i64)>,
) -> Vec<Pauses> {
    let mut all: BTreeMap<(i64, i64, i64), Paused> = BTreeMap::new();
    let mut so_far: BTreeMap<(i64, i64, i64), (i64, i64)> = BTreeMap::new();
    for batch in batches {
        let (node, port, class) =
            (small(batch, "node_id"), small(batch, "ifid"), small(batch, "tc"));
        for row in 0..batch.num_rows() {
            let key = (node(row), port(row), class(row));
            if !shown.contains(&(key.0, key.1)) {
                continue;
            }
            let of = |name: &str| integer(batch, name, row).unwrap_or(0);
            let sent = (of("pfcxoff_tx"), of("pfcxon_tx"));
            let before = so_far.insert(key, sent).unwrap_or_default();
            let held = number(batch, "interval_total_time_xoff_usec", row).unwrap_or(0.0);
            let step = all.entry(key).or_default().entry(steps.of(of("sim_time_ps"))).or_default();
            step.0 += sent.0 - before.0;
            step.1 += sent.1 - before.1;
            step.2 += held;
        }
    }
    let busy = |step: &(i64, i64, f64)| step.0 != 0 || step.1 != 0 || step.2 > 0.0;
    all.into_iter()
        .filter_map(|((node, port, class), mut by_step)| {
            by_step.retain(|_, step| busy(step));
            (!by_step.is_empty()).then(|| Pauses {
                node,
                port,
                class,
                pool: limits.pool(class),
                at: by_step.keys().copied().collect(),
                paused: by_step.values().map(|step| step.0).collect(),
                resumed: by_step.values().map(|step| step.1).collect(),
                held: by_step.values().map(|step| step.2).collect(),
            })
        })
        .collect()
}
