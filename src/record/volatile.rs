//! Tables that may differ between two runs of one plan: how long jobs took, and what ran them.
//! Neither takes part in what is done or in comparisons.

use crate::record::dataset::Dataset;
use crate::record::part::{self, Draft};
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result};
use crate::sweep::plan::{JobId, SourceFile};
use arrow::array::{
    ArrayRef, BinaryBuilder, DictionaryArray, Int32Array, Int64Array, ListBuilder, RecordBatch,
    StringArray, StringBuilder,
};
use arrow::datatypes::Int32Type;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long one job took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The job.
    pub job: JobId,
    /// Number of the worker thread.
    pub thread: u32,
    /// When it began.
    pub start: SystemTime,
    /// Wall time.
    pub wall: Duration,
    /// CPU time of its thread, if measured.
    pub cpu: Option<Duration>,
}

/// What ran the jobs: one row a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Provenance {
    /// Name of the run, unique in the dataset; letters, digits, `-`, `_` and `.` go into the file
    /// name, others become `_`.
    pub run_id: String,
    /// Hash of the plan.
    pub plan_hash: String,
    /// Version of poolsweep.
    pub version: String,
    /// Commit it was built from, if known.
    pub commit: Option<String>,
    /// Hash of the lock file it was built with, if known.
    pub lock_hash: Option<String>,
    /// Target it was built for.
    pub target: String,
    /// CPU features it was built for, with commas.
    pub cpu_features: String,
    /// Arguments, the command first.
    pub command_line: Vec<String>,
    /// Sweep files as opened.
    pub sources: Vec<SourceFile>,
    /// Machine.
    pub host: String,
    /// `SLURM_JOB_ID`.
    pub slurm_job_id: Option<String>,
    /// `SLURM_ARRAY_JOB_ID`.
    pub slurm_array_job_id: Option<String>,
    /// `SLURM_ARRAY_TASK_ID`.
    pub slurm_array_task_id: Option<String>,
    /// Worker threads.
    pub threads: u32,
    /// When the run began.
    pub start: SystemTime,
    /// When it ended; `None` while it goes on.
    pub end: Option<SystemTime>,
}

impl Dataset {
    /// Writes the timings of jobs of one run, as a file of its own.
    ///
    /// The name follows from the run and the jobs. A job recorded again has a row for each time.
    ///
    /// # Errors
    ///
    /// What the disk refuses.
    pub fn write_timings(&self, run: &Provenance, timings: &[Timing]) -> Result<()> {
        if timings.is_empty() {
            return Ok(());
        }
        let texts = |value: &str| -> ArrayRef {
            let all: DictionaryArray<Int32Type> =
                std::iter::repeat_n(Some(value), timings.len()).collect();
            Arc::new(all)
        };
        let ids: Vec<_> = timings.iter().map(|t| t.job.to_string()).collect();
        let ids: DictionaryArray<Int32Type> = ids.iter().map(|id| Some(id.as_str())).collect();
        let thread = timings.iter().map(|t| clamp32(t.thread));
        let start = timings.iter().map(|t| since_epoch(t.start));
        let wall = timings.iter().map(|t| microseconds(t.wall));
        let cpu = timings.iter().map(|t| t.cpu.map(microseconds));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(ids),
            texts(&run.run_id),
            texts(&run.host),
            Arc::new(Int32Array::from_iter_values(thread)),
            Arc::new(Int64Array::from_iter_values(start)),
            Arc::new(Int64Array::from_iter_values(wall)),
            Arc::new(cpu.collect::<Int64Array>()),
        ];
        self.write_of_run(StoredTable::Timings, run, timings.iter().map(|t| t.job), columns)
    }

    /// Writes rows of jobs of one run, as a file of its own. The name follows from run and jobs.
    pub(super) fn write_of_run(
        &self,
        table: StoredTable,
        run: &Provenance,
        jobs: impl Iterator<Item = JobId>,
        columns: Vec<ArrayRef>,
    ) -> Result<()> {
        let chunk = part::PartName::of(jobs);
        let stem = chunk.as_str().trim_end_matches(".parquet");
        let name = format!("{stem}-{}.parquet", plain(&run.run_id));
        self.write_rows(table, &name, &run.plan_hash, columns)
    }

    /// Writes the row of a run, in place of its earlier one: once at its start and once at its end.
    ///
    /// # Errors
    ///
    /// What the disk refuses.
    pub fn write_provenance(&self, run: &Provenance) -> Result<()> {
        let text = |value: &str| -> ArrayRef { Arc::new(StringArray::from(vec![value])) };
        let maybe = |value: &Option<String>| -> ArrayRef {
            Arc::new(StringArray::from(vec![value.as_deref()]))
        };
        let paths: Vec<_> =
            run.sources.iter().map(|s| s.path.to_string_lossy().into_owned()).collect();
        let mut bytes = ListBuilder::new(BinaryBuilder::new());
        bytes.append_value(run.sources.iter().map(|source| Some(&source.bytes)));
        let columns: Vec<ArrayRef> = vec![
            text(&run.run_id),
            text(&run.plan_hash),
            text(&run.version),
            maybe(&run.commit),
            maybe(&run.lock_hash),
            text(&run.target),
            text(&run.cpu_features),
            list(&run.command_line),
            list(&paths),
            Arc::new(bytes.finish()),
            text(&run.host),
            maybe(&run.slurm_job_id),
            maybe(&run.slurm_array_job_id),
            maybe(&run.slurm_array_task_id),
            Arc::new(Int32Array::from(vec![clamp32(run.threads)])),
            Arc::new(Int64Array::from(vec![since_epoch(run.start)])),
            Arc::new(Int64Array::from(vec![run.end.map(since_epoch)])),
        ];
        let name = format!("part-{}.parquet", plain(&run.run_id));
        self.write_rows(StoredTable::Provenance, &name, &run.plan_hash, columns)
    }

    fn write_rows(
        &self,
        table: StoredTable,
        name: &str,
        plan_hash: &str,
        columns: Vec<ArrayRef>,
    ) -> Result<()> {
        let batch = RecordBatch::try_new(table.schema(), columns)
            .map_err(|source| RecordError::Rows { table: table.name(), source })?;
        let target = self.folder(table).join(name);
        let draft = Draft { table, schema: table.schema(), plan_hash, siblings: None };
        part::write(self.fs(), &target, &draft, [&batch])?.file.publish()
    }
}

fn list(values: &[String]) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value(values.iter().map(Some));
    Arc::new(lists.finish())
}

fn plain(name: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.chars().map(|c| if keep(c) { c } else { '_' }).collect()
}

/// Clocks are not results: one that is off must not cost the results, so these are cut, not
/// checked.
fn microseconds(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn since_epoch(time: SystemTime) -> i64 {
    microseconds(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn clamp32(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
