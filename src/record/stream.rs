//! A part's file read job by job, in order, once.

use crate::record::checksum::{self, Sum};
use crate::record::part::{self, damaged};
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result};
use crate::sweep::plan::JobId;
use arrow::array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The rows of jobs asked for in ascending order.
pub(super) struct ByJob {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    runs: VecDeque<(JobId, RecordBatch)>,
}

impl ByJob {
    /// Opens a file, every byte of it checked; what it is.
    pub fn open(path: &Path, table: StoredTable) -> Result<(Self, Sum)> {
        let mut file = File::open(path).map_err(RecordError::io("open", path))?;
        // The same file is checked and read, whatever takes its name meanwhile.
        let sum = checksum::check_open(path, &mut file)?.sum;
        Ok((ByJob::of(path, file, table)?, sum))
    }

    /// Opens a file, unchecked.
    pub fn unchecked(path: &Path, table: StoredTable) -> Result<Self> {
        let file = File::open(path).map_err(RecordError::io("open", path))?;
        ByJob::of(path, file, table)
    }

    fn of(path: &Path, file: File, table: StoredTable) -> Result<Self> {
        let reader = part::read(path, file, table, None, part::ROW_GROUP_ROWS)?;
        Ok(ByJob { path: path.to_path_buf(), reader, runs: VecDeque::new() })
    }

    /// The rows of a job; those of smaller ids are gone afterwards.
    pub fn take(&mut self, job: JobId) -> Result<Vec<RecordBatch>> {
        let mut rows = Vec::new();
        loop {
            while self.runs.front().is_some_and(|(next, _)| *next <= job) {
                let run = self.runs.pop_front();
                rows.extend(run.filter(|(next, _)| *next == job).map(|(_, run)| run));
            }
            if !self.runs.is_empty() {
                return Ok(rows);
            }
            let Some(batch) = self.reader.next() else { return Ok(rows) };
            let batch = batch.map_err(|e| damaged(&self.path, e))?;
            self.runs = part::runs(&self.path, &batch)?.into();
        }
    }
}
