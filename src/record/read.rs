//! Reading a dataset back: whole tables part by part, and single jobs.

use crate::record::chunk::Status;
use crate::record::dataset::Dataset;
use crate::record::index::{Index, list};
use crate::record::part::{self, damaged};
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result, TableSet};
use crate::sweep::plan::JobId;
use crate::units::Ps;
use arrow::array::{Array, BooleanArray, Int64Array, RecordBatch, StringArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::collections::VecDeque;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The row of a job, as much of it as running it again takes.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRow {
    /// Identity.
    pub id: JobId,
    /// Repetition, from 0.
    pub repetition: u64,
    /// Seed of the sweep.
    pub seed: u64,
    /// How it went.
    pub status: Status,
    /// Why it is not `ok`.
    pub reason: Option<String>,
    /// Tables that hold its rows.
    pub tables: TableSet,
    /// Length of the intervals.
    pub interval: Ps,
    /// Whether rows of nothing are among them.
    pub zeros: bool,
    /// The resolved scenario as JSON.
    pub scenario: String,
    /// The whole row, one row long.
    pub row: RecordBatch,
}

/// The batches of a table, part after part in order of their names; one part is open at a time.
#[derive(Debug)]
pub struct TableReader {
    table: StoredTable,
    waiting: VecDeque<PathBuf>,
    open: Option<(PathBuf, ParquetRecordBatchReader)>,
}

impl Dataset {
    /// Reads a table. Parts without their jobs part are left out; a table nobody wrote is empty.
    ///
    /// # Errors
    ///
    /// A foreign file in the folder; from the iterator, a damaged one when its turn comes.
    pub fn read_table(&self, table: StoredTable) -> Result<TableReader> {
        let waiting = match table {
            StoredTable::Points => {
                let file = self.points_file();
                if file.exists() { VecDeque::from([file]) } else { VecDeque::new() }
            }
            _ if StoredTable::OF_RUNS.contains(&table) => self.volatile_files(table)?,
            _ => self.steadily(|| {
                let whole = list(&self.folder(StoredTable::Jobs))?;
                let parts = list(&self.folder(table))?;
                Ok(parts.intersection(&whole).map(|part| self.file(table, part)).collect())
            })?,
        };
        Ok(TableReader { table, waiting, open: None })
    }

    /// The rows of one job in a table of jobs.
    ///
    /// # Errors
    ///
    /// [`RecordError::UnknownJob`], or a damaged file.
    pub fn read_job(&self, table: StoredTable, job: JobId) -> Result<Vec<RecordBatch>> {
        self.steadily(|| self.read_job_now(table, job))
    }

    fn read_job_now(&self, table: StoredTable, job: JobId) -> Result<Vec<RecordBatch>> {
        let mut index = Index::default();
        index.refresh(self.path())?;
        let unknown = || RecordError::UnknownJob { job, path: self.shown().into() };
        let path = self.file(table, index.part_of(job).ok_or_else(unknown)?);
        self.fs().fetch(&path).map_err(RecordError::io("get", &path))?;
        let mut rows = Vec::new();
        if path.exists() {
            for batch in part::open(&path, table, None)? {
                let batch = batch.map_err(|e| damaged(&path, e))?;
                let runs = part::runs(&path, &batch)?;
                rows.extend(runs.into_iter().filter(|(id, _)| *id == job).map(|(_, run)| run));
            }
        }
        Ok(rows)
    }

    /// The row of one job.
    ///
    /// # Errors
    ///
    /// [`RecordError::UnknownJob`], or a damaged file.
    pub fn job(&self, job: JobId) -> Result<JobRow> {
        let rows = self.read_job(StoredTable::Jobs, job)?;
        self.job_row(job, rows)
    }

    /// Reads the row of a job.
    pub(super) fn job_row(&self, job: JobId, rows: Vec<RecordBatch>) -> Result<JobRow> {
        let unknown = || RecordError::UnknownJob { job, path: self.shown().into() };
        let row = rows.into_iter().next().ok_or_else(unknown)?;
        let folder = self.folder(StoredTable::Jobs);
        let bad = |column: &str| damaged(&folder, format!("column `{column}` of job {job}"));
        let word = |column: &str| Result::Ok(part::words(&folder, &row, column)?(0));
        let status = Status::from_name(word("status")?).ok_or_else(|| bad("status"))?;
        Ok(JobRow {
            id: job,
            repetition: value(&row, "repetition").ok_or_else(|| bad("repetition"))?,
            seed: value(&row, "seed").ok_or_else(|| bad("seed"))?,
            status,
            reason: text(&row, "reason"),
            tables: TableSet::from_list(word("tables")?),
            interval: Ps(value(&row, "interval_ps").ok_or_else(|| bad("interval_ps"))?),
            zeros: truth(&row, "zeros").ok_or_else(|| bad("zeros"))?,
            scenario: text(&row, "scenario_json").ok_or_else(|| bad("scenario_json"))?,
            row,
        })
    }

    /// The files of a table that belongs to runs, not to jobs.
    pub(super) fn volatile_files(&self, table: StoredTable) -> Result<VecDeque<PathBuf>> {
        let folder = self.folder(table);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(VecDeque::new()),
            Err(source) => return Err(RecordError::io("list", &folder)(source)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry.map_err(RecordError::io("list", &folder))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".parquet") && !name.starts_with('.') {
                files.push(entry.path());
            }
        }
        files.sort();
        Ok(files.into())
    }
}

impl Iterator for TableReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((path, reader)) = &mut self.open {
                match reader.next() {
                    Some(batch) => return Some(batch.map_err(|e| damaged(path, e))),
                    None => self.open = None,
                }
            }
            let path = self.waiting.pop_front()?;
            match part::open(&path, self.table, None) {
                Ok(reader) => self.open = Some((path, reader)),
                Err(RecordError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                    return Some(Err(RecordError::Moved { path }));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn value(row: &RecordBatch, column: &str) -> Option<u64> {
    let array = row.column_by_name(column)?.as_any().downcast_ref::<Int64Array>()?;
    u64::try_from(array.value(0)).ok()
}

fn truth(row: &RecordBatch, column: &str) -> Option<bool> {
    Some(row.column_by_name(column)?.as_any().downcast_ref::<BooleanArray>()?.value(0))
}

fn text(row: &RecordBatch, column: &str) -> Option<String> {
    let array = row.column_by_name(column)?.as_any().downcast_ref::<StringArray>()?;
    array.is_valid(0).then(|| array.value(0).to_owned())
}
