//! Results of one simulation as the rows of other jobs.
//!
//! Owns what is kept of a simulation so that it can answer others (the table `reuse`), and the
//! making of another job's rows from its: the same, but for the job's name, its scenario and what
//! counters are compared with. Refuses to know which job may answer which: `sim::reuse` tells.

use crate::record::chunk::{JobMeta, JobRows, Status};
use crate::record::compare::ORIGIN;
use crate::record::dataset::Dataset;
use crate::record::part::{self, damaged};
use crate::record::schema::StoredTable;
use crate::record::volatile::Provenance;
use crate::record::{RecordError, Result, rows};
use crate::scenario::Table;
use crate::sim::observe::{BuffId, Observations, Occupancy};
use crate::sim::reuse::{Groups, Point, RowLimits};
use crate::sweep::plan::JobId;
use arrow::array::{
    ArrayRef, AsArray, BinaryArray, DictionaryArray, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes of one row's moments: the integral and the length, little-endian.
const MOMENTS: usize = 16 + 8;

/// Time-weighted sums behind the means of rows, by row: byte·ps, and the length of the interval in
/// ps. Shares of other limits are exact only from these.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Moments(Vec<u8>);

impl Moments {
    fn of<'a>(rows: impl Iterator<Item = &'a Occupancy>) -> Moments {
        let mut bytes = Vec::with_capacity(rows.size_hint().0 * MOMENTS);
        for row in rows {
            bytes.extend_from_slice(&row.integral.to_le_bytes());
            bytes.extend_from_slice(&row.length.to_le_bytes());
        }
        Moments(bytes)
    }

    /// Integral and length of each row.
    fn rows(&self) -> impl Iterator<Item = (u128, u64)> {
        self.0.chunks_exact(MOMENTS).map(|row| {
            let (mut integral, mut length) = ([0; 16], [0; 8]);
            integral.copy_from_slice(&row[..16]);
            length.copy_from_slice(&row[16..]);
            (u128::from_le_bytes(integral), u64::from_le_bytes(length))
        })
    }
}

/// What is kept of a simulation beside its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// The job.
    pub job: JobId,
    /// Hash of everything but its thresholds.
    pub structure: String,
    /// What its thresholds were compared with, as JSON.
    pub compared: String,
    /// Of its rows in `port_buffers`.
    pub ports: Moments,
    /// Of its rows in `switch_buffers`.
    pub switches: Moments,
}

impl RunRecord {
    /// Of a simulation's observations.
    pub fn new(job: JobId, structure: String, compared: String, observed: &Observations) -> Self {
        RunRecord {
            job,
            structure,
            compared,
            ports: Moments::of(observed.port_buffers.iter().map(|row| &row.occupancy)),
            switches: Moments::of(observed.switch_buffers.iter().map(|row| &row.occupancy)),
        }
    }

    /// Bytes held, roughly.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.compared.len() + self.ports.0.len() + self.switches.0.len()
    }
}

impl Dataset {
    /// Writes what simulations of one run compared, as a file of its own.
    ///
    /// # Errors
    ///
    /// What the disk refuses.
    pub fn write_reuse(&self, run: &Provenance, records: &[RunRecord]) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let words = |of: &dyn Fn(&RunRecord) -> String| -> ArrayRef {
            let all: Vec<String> = records.iter().map(of).collect();
            let all: DictionaryArray<Int32Type> = all.iter().map(|w| Some(w.as_str())).collect();
            Arc::new(all)
        };
        let compared = records.iter().map(|record| record.compared.as_str());
        let bytes = |of: fn(&RunRecord) -> &Moments| -> ArrayRef {
            Arc::new(BinaryArray::from_iter_values(records.iter().map(|r| of(r).0.as_slice())))
        };
        let columns: Vec<ArrayRef> = vec![
            words(&|record| record.job.to_string()),
            words(&|_| run.run_id.clone()),
            words(&|record| record.structure.clone()),
            Arc::new(StringArray::from_iter_values(compared)),
            bytes(|record| &record.ports),
            bytes(|record| &record.switches),
        ];
        self.write_of_run(StoredTable::Reuse, run, records.iter().map(|r| r.job), columns)
    }

    /// What simulations of earlier runs compared.
    ///
    /// # Errors
    ///
    /// A damaged file.
    pub fn read_reuse(&self) -> Result<Vec<RunRecord>> {
        let mut records = Vec::new();
        let folder = self.folder(StoredTable::Reuse);
        for batch in self.read_table(StoredTable::Reuse)? {
            let batch = batch?;
            let jobs = part::words(&folder, &batch, "job_id")?;
            let structures = part::words(&folder, &batch, "structure")?;
            let column = |name: &str| {
                let wrong = || damaged(&folder, format!("column `{name}`"));
                batch.column_by_name(name).ok_or_else(wrong)
            };
            let compared = column("compared")?;
            let compared = compared.as_string_opt::<i32>();
            let ports = column("port_moments")?.as_binary_opt::<i32>();
            let switches = column("switch_moments")?.as_binary_opt::<i32>();
            let (Some(compared), Some(ports), Some(switches)) = (compared, ports, switches) else {
                return Err(damaged(&folder, "columns of other types"));
            };
            for row in 0..batch.num_rows() {
                records.push(RunRecord {
                    job: part::parse_id(&folder, jobs(row))?,
                    structure: structures(row).to_owned(),
                    compared: compared.value(row).to_owned(),
                    ports: Moments(ports.value(row).to_vec()),
                    switches: Moments(switches.value(row).to_vec()),
                });
            }
        }
        Ok(records)
    }

    /// The jobs whose results are those of another's simulation.
    ///
    /// # Errors
    ///
    /// A damaged file.
    pub fn covered_jobs(&self) -> Result<BTreeSet<JobId>> {
        let folder = self.folder(StoredTable::Jobs);
        let mut covered = BTreeSet::new();
        for batch in self.read_table(StoredTable::Jobs)? {
            let batch = batch?;
            let jobs = part::words(&folder, &batch, "job_id")?;
            let from = batch.column_by_name(ORIGIN);
            let from = from.ok_or_else(|| damaged(&folder, format!("no column `{ORIGIN}`")))?;
            for row in (0..batch.num_rows()).filter(|&row| from.is_valid(row)) {
                covered.insert(part::parse_id(&folder, jobs(row))?);
            }
        }
        Ok(covered)
    }

    /// The rows of a job that this dataset has, in the tables it claims.
    ///
    /// # Errors
    ///
    /// [`RecordError::UnknownJob`], or a damaged file.
    pub fn rows_of_job(&self, job: JobId) -> Result<JobRows> {
        let row = self.job(job)?;
        let mut batches = BTreeMap::new();
        for table in row.tables.iter().filter(|&table| table != Table::Jobs) {
            batches.insert(table, self.read_job(table.into(), job)?);
        }
        let claim = crate::record::Done {
            status: row.status,
            tables: row.tables,
            interval: row.interval,
            zeros: row.zeros,
        };
        Ok(JobRows::recorded(job, claim, row.row, batches))
    }
}

/// A simulation's rows with what else it takes to make those of other jobs.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Rows of the job that was simulated.
    pub rows: &'a JobRows,
    /// What was kept beside them.
    pub record: &'a RunRecord,
}

impl JobRows {
    /// The rows of another job, whose events are those of the source's simulation, one by one, at a
    /// point whose counters are compared with other limits. `None`: the source does not hold what
    /// the job asks for.
    ///
    /// # Errors
    ///
    /// Limits beyond the range of columns.
    pub fn covered(
        meta: JobMeta,
        source: Source<'_>,
        groups: &Groups,
        point: &Point,
    ) -> Result<Option<JobRows>> {
        let from = &source.rows.record;
        let mut tables = meta.tables;
        tables.insert(Table::Jobs);
        let claim = (tables, meta.interval, meta.zeros);
        let ran = matches!(from.status, Status::Ok | Status::Budget);
        if !ran || claim != (from.tables, from.interval, from.zeros) {
            return Ok(None);
        }
        let id = meta.id;
        let mut batches = BTreeMap::new();
        for (&table, rows) in &source.rows.batches {
            let stored = StoredTable::from(table);
            let moments = match table {
                Table::PortBuffers => Some(&source.record.ports),
                Table::SwitchBuffers => Some(&source.record.switches),
                _ => None,
            };
            let count: usize = rows.iter().map(RecordBatch::num_rows).sum();
            if moments.is_some_and(|moments| moments.0.len() != count * MOMENTS) {
                return Ok(None);
            }
            let mut moments = moments.map(Moments::rows);
            let of = |batch: &RecordBatch| {
                let mut columns = batch.columns().to_vec();
                columns[0] = one_word(id, batch.num_rows());
                if let Some(moments) = &mut moments {
                    relimit(stored, id, batch, &mut columns, moments, groups, point)?;
                }
                RecordBatch::try_new(stored.schema(), columns)
                    .map_err(|source| RecordError::Rows { table: stored.name(), source })
            };
            batches.insert(table, rows.iter().map(of).collect::<Result<Vec<_>>>()?);
        }
        let mut record = from.clone();
        (record.id, record.repetition, record.seed) = (id, meta.repetition, meta.seed);
        record.scenario = meta.scenario;
        record.reused_from = Some(source.record.job);
        record.row = match &from.row {
            Some(row) => Some(renamed(row, &record)?),
            None => None,
        };
        // The row is formed with the chunk's others; formed alone here, an error names its job.
        crate::record::chunk::job_rows(&[&record])?;
        Ok(Some(JobRows { record, batches, compared: None }))
    }
}

/// The row of `jobs` of a source, as that of this record.
fn renamed(row: &RecordBatch, record: &crate::record::chunk::JobRecord) -> Result<RecordBatch> {
    let stored = StoredTable::Jobs;
    let mut columns = row.columns().to_vec();
    for (column, values) in stored.columns().iter().zip(&mut columns) {
        *values = match column.name {
            "job_id" => one_word(record.id, 1),
            "repetition" => Arc::new(Int64Array::from(vec![record.repetition as i64])),
            "seed" => Arc::new(Int64Array::from(vec![record.seed as i64])),
            "scenario_json" => Arc::new(StringArray::from(vec![record.scenario.as_str()])),
            "reused_from" => match record.reused_from {
                Some(job) => one_word(job, 1),
                None => continue,
            },
            _ => continue,
        };
    }
    RecordBatch::try_new(stored.schema(), columns)
        .map_err(|source| RecordError::Rows { table: stored.name(), source })
}

/// The same id in every row.
fn one_word(job: JobId, rows: usize) -> ArrayRef {
    let words = StringArray::from(vec![job.to_string()]);
    Arc::new(DictionaryArray::new(Int32Array::from(vec![0; rows]), Arc::new(words)))
}

/// Puts other limits, and the shares of them, into rows of occupancy.
fn relimit(
    table: StoredTable,
    job: JobId,
    batch: &RecordBatch,
    columns: &mut [ArrayRef],
    moments: &mut impl Iterator<Item = (u128, u64)>,
    groups: &Groups,
    point: &Point,
) -> Result<()> {
    let wrong = |name: &str| {
        let text = format!("no column `{name}` of its type");
        RecordError::Rows {
            table: table.name(),
            source: arrow::error::ArrowError::SchemaError(text),
        }
    };
    let place = |name: &'static str| {
        table.columns().iter().position(|c| c.name == name).ok_or_else(|| wrong(name))
    };
    let column = |name: &'static str| place(name).map(|at| batch.column(at));
    let small = |name: &'static str| {
        column(name)?.as_primitive_opt::<Int32Type>().ok_or_else(|| wrong(name))
    };
    let (nodes, pools) = (small("node_id")?, small("pool_num")?);
    let buffs = cast(column("buff_id")?, &DataType::Utf8)
        .map_err(|source| RecordError::Rows { table: table.name(), source })?;
    let buffs = buffs.as_string_opt::<i32>().ok_or_else(|| wrong("buff_id"))?;
    let most = column("ivl_max_bytes")?.as_primitive_opt::<Int64Type>();
    let most = most.ok_or_else(|| wrong("ivl_max_bytes"))?;
    let limit_at = |limits: &RowLimits, row: usize| match table {
        StoredTable::PortBuffers => {
            let buff = BuffId::ALL.into_iter().find(|buff| buff.name() == buffs.value(row))?;
            Some(limits.counter(buff, u8::try_from(pools.value(row)).ok()?))
        }
        _ => Some(limits.sum(i8::try_from(pools.value(row)).ok()?)),
    };
    let (mut limits, mut max_share, mut mean_share) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..batch.num_rows() {
        let node = u32::try_from(nodes.value(row)).ok();
        let limit = node
            .and_then(|node| groups.limits(point, node))
            .and_then(|limits| limit_at(limits, row))
            .ok_or_else(|| wrong("node_id"))?;
        let (integral, length) = moments.next().ok_or_else(|| wrong("ivl_mean_bytes"))?;
        let out = || RecordError::OutOfRange {
            job,
            table: table.name(),
            column: "buff_limit",
            value: limit,
            bits: 64,
        };
        limits.push(i64::try_from(limit).map_err(|_| out())?);
        max_share.push(rows::max_share(most.value(row).unsigned_abs(), limit));
        mean_share.push(rows::mean_share(integral, length, limit));
    }
    columns[place("buff_limit")?] = Arc::new(Int64Array::from(limits));
    columns[place("ivl_max_pct_util")?] = Arc::new(Float64Array::from(max_share));
    columns[place("ivl_mean_pct_util")?] = Arc::new(Float64Array::from(mean_share));
    Ok(())
}

#[cfg(test)]
mod tests;
