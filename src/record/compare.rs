//! Whether rows are the same, and where they first are not.
//!
//! Compares what was recorded, never how it was cut into parts, batches or dictionaries: two runs
//! of one plan have equal tables whatever their chunks.

use crate::record::chunk::{JobRows, job_rows};
use crate::record::dataset::Dataset;
use crate::record::part::{PartName, damaged, runs};
use crate::record::read::JobRow;
use crate::record::schema::StoredTable;
use crate::record::stream::ByJob;
use crate::record::{RecordError, Result, TableSet};
use crate::scenario::Table;
use crate::sweep::plan::JobId;
use arrow::array::{Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Columns of `jobs` that say what was recorded of a job and how, not what came out.
pub(super) const CLAIM: [&str; 4] = ["tables", "interval_ps", "zeros", ORIGIN];

/// The column of `jobs` that says whose simulation it was: which job of several that come out alike
/// is simulated depends on which was started first.
pub const ORIGIN: &str = "reused_from";

/// The first difference of a job's rows in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The job.
    pub job: JobId,
    /// The table.
    pub table: StoredTable,
    /// What differs.
    pub what: What,
}

/// What differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The number of rows.
    Rows {
        /// Rows of the first side.
        left: usize,
        /// Rows of the second.
        right: usize,
    },
    /// A value.
    Value {
        /// Column.
        column: &'static str,
        /// Row among the job's in this table, from 0.
        row: usize,
        /// Value of the first side; `null` if there is none.
        left: String,
        /// Value of the second.
        right: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { job, table, what } = self;
        let table = table.name();
        match what {
            What::Rows { left, right } => {
                write!(f, "job {job}, {table}: {left} rows against {right}")
            }
            What::Value { column, row, left, right } => {
                write!(f, "job {job}, {table}, row {row}, {column}: {left} against {right}")
            }
        }
    }
}

impl Dataset {
    /// Compares the rows a job has here (first side) with those it left now, over the tables that
    /// both have. Empty: they are the same.
    ///
    /// # Errors
    ///
    /// [`RecordError::UnknownJob`], or a damaged file.
    pub fn compare_job(&self, again: &JobRows) -> Result<Vec<Difference>> {
        let job = again.id();
        let recorded = self.job(job)?.tables;
        let mut found = Vec::new();
        for table in again.record.tables.iter().filter(|&table| recorded.contains(table)) {
            let stored = StoredTable::from(table);
            let left = self.read_job(stored, job)?;
            let right = match table {
                Table::Jobs => vec![job_rows(&[&again.record])?],
                _ => again.batches.get(&table).cloned().unwrap_or_default(),
            };
            found.extend(difference(job, stored, &left, &right)?);
        }
        Ok(found)
    }

    /// Reads a part of the dataset job by job: for comparing many jobs.
    ///
    /// # Errors
    ///
    /// A name that is no part's, a damaged file.
    pub fn read_part(&self, part: &str) -> Result<PartReader<'_>> {
        let name = PartName::parse(part);
        let part = name.ok_or_else(|| damaged(&self.path().join(part), "no part's name"))?;
        let jobs = ByJob::unchecked(&self.file(StoredTable::Jobs, &part), StoredTable::Jobs)?;
        Ok(PartReader { dataset: self, part, jobs, tables: BTreeMap::new() })
    }

    /// Compares the rows of all jobs in all tables but `points`, `timings` and `provenance` with
    /// those of another dataset, table by table, each held in memory whole.
    ///
    /// # Errors
    ///
    /// A damaged file in either.
    pub fn compare(&self, other: &Dataset) -> Result<Vec<Difference>> {
        let mut found = Vec::new();
        for table in TableSet::all().iter().map(StoredTable::from) {
            let (left, right) = (self.by_job(table)?, other.by_job(table)?);
            let jobs: BTreeSet<_> = left.keys().chain(right.keys()).copied().collect();
            for job in jobs {
                let of = |side: &BTreeMap<_, Vec<_>>| side.get(&job).cloned().unwrap_or_default();
                found.extend(difference(job, table, &of(&left), &of(&right))?);
            }
        }
        Ok(found)
    }

    fn by_job(&self, table: StoredTable) -> Result<BTreeMap<JobId, Vec<RecordBatch>>> {
        let folder = self.folder(table);
        let mut by_job: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for batch in self.read_table(table)? {
            for (job, run) in runs(&folder, &batch?)? {
                by_job.entry(job).or_default().push(run);
            }
        }
        Ok(by_job)
    }
}

/// A part, read once; jobs are asked for in ascending order.
pub struct PartReader<'a> {
    dataset: &'a Dataset,
    part: PartName,
    jobs: ByJob,
    tables: BTreeMap<StoredTable, ByJob>,
}

impl PartReader<'_> {
    /// The row of a job.
    ///
    /// # Errors
    ///
    /// [`RecordError::UnknownJob`], or a damaged file.
    pub fn row(&mut self, job: JobId) -> Result<JobRow> {
        let rows = self.jobs.take(job)?;
        self.dataset.job_row(job, rows)
    }

    /// Compares the rows recorded of a job (first side) with those it left now; how many rows of
    /// how many tables were compared, and the first difference of each table.
    ///
    /// # Errors
    ///
    /// A damaged file.
    pub fn compare(&mut self, row: &JobRow, again: &JobRows) -> Result<(u64, Vec<Difference>)> {
        let (mut rows, mut found) = (0, Vec::new());
        for table in row.tables.iter() {
            let stored = StoredTable::from(table);
            let (left, right) = match table {
                Table::Jobs => (vec![row.row.clone()], vec![job_rows(&[&again.record])?]),
                _ => {
                    let file = match self.tables.entry(stored) {
                        Entry::Occupied(open) => open.into_mut(),
                        Entry::Vacant(place) => {
                            let path = self.dataset.file(stored, &self.part);
                            place.insert(ByJob::unchecked(&path, stored)?)
                        }
                    };
                    let right = again.batches.get(&table).cloned().unwrap_or_default();
                    (file.take(row.id)?, right)
                }
            };
            rows += left.iter().map(|batch| batch.num_rows() as u64).sum::<u64>();
            found.extend(difference(row.id, stored, &left, &right)?);
        }
        Ok((rows, found))
    }
}

fn difference(
    job: JobId,
    table: StoredTable,
    left: &[RecordBatch],
    right: &[RecordBatch],
) -> Result<Option<Difference>> {
    let refused = |source| RecordError::Rows { table: table.name(), source };
    let schema = table.schema();
    // Files add notes to the schema of what is read from them; the columns are the same.
    let whole = |batches: &[RecordBatch]| {
        let plain =
            batches.iter().map(|b| RecordBatch::try_new(schema.clone(), b.columns().into()));
        concat_batches(&schema, &plain.collect::<std::result::Result<Vec<_>, _>>()?)
    };
    let (left, right) = (whole(left).map_err(refused)?, whole(right).map_err(refused)?);
    let differs = |what| Ok(Some(Difference { job, table, what }));
    if left.num_rows() != right.num_rows() {
        return differs(What::Rows { left: left.num_rows(), right: right.num_rows() });
    }
    for (place, column) in table.columns().iter().enumerate() {
        let (a, b) = (left.column(place), right.column(place));
        let unequal = |&row: &usize| a.slice(row, 1) != b.slice(row, 1);
        if column.name != ORIGIN
            && a != b
            && let Some(row) = (0..a.len()).find(unequal)
        {
            let (left, right) = (shown(a, row).map_err(refused)?, shown(b, row).map_err(refused)?);
            return differs(What::Value { column: column.name, row, left, right });
        }
    }
    Ok(None)
}

/// Every column in which two rows of `jobs` differ, but those that say what was recorded; with
/// both values.
pub(super) fn columns_apart(
    left: &RecordBatch,
    right: &RecordBatch,
) -> Result<Vec<(&'static str, String, String)>> {
    let refused = |source| RecordError::Rows { table: StoredTable::Jobs.name(), source };
    let mut apart = Vec::new();
    for (place, column) in StoredTable::Jobs.columns().iter().enumerate() {
        let (a, b) = (left.column(place), right.column(place));
        if !CLAIM.contains(&column.name) && a != b {
            let (a, b) = (shown(a, 0).map_err(refused)?, shown(b, 0).map_err(refused)?);
            apart.push((column.name, a, b));
        }
    }
    Ok(apart)
}

/// A value as text.
pub(super) fn shown(array: &dyn Array, row: usize) -> std::result::Result<String, ArrowError> {
    let options = FormatOptions::new().with_null("null");
    ArrayFormatter::try_new(array, &options)?.value(row).try_to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{meta, observed};
    use crate::record::{ChunkWriter, Outcome};

    fn rows_of(job: u64, change: impl Fn(&mut crate::sim::observe::Observations)) -> JobRows {
        let mut observed = observed(job, 10);
        change(&mut observed);
        JobRows::new(meta(job, "jobs,drops,flows", 10), Outcome::Ran(&observed)).unwrap()
    }

    #[test]
    fn a_job_run_again_is_compared_value_by_value() {
        let dir = tempfile::tempdir().unwrap();
        let dataset = Dataset::open_or_create(dir.path()).unwrap();
        dataset.publish("", vec![rows_of(1, |_| ()), rows_of(2, |_| ())]).unwrap();
        assert_eq!(dataset.compare_job(&rows_of(2, |_| ())).unwrap(), []);

        let changed = rows_of(2, |o| {
            o.drops[1].bytes = 601;
            o.flows.pop();
            o.totals.first_drop = None;
        });
        let said: Vec<_> =
            dataset.compare_job(&changed).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "job 0000000000000002, jobs, row 0, first_drop_ps: 2 against null",
                "job 0000000000000002, drops, row 1, ivl_bytes: 600 against 601",
                "job 0000000000000002, flows: 2 rows against 1",
            ]
        );
        let error = dataset.compare_job(&rows_of(3, |_| ())).unwrap_err();
        assert!(matches!(error, RecordError::UnknownJob { .. }), "{error}");
    }

    #[test]
    fn datasets_compare_by_rows_not_by_parts() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let one = Dataset::open_or_create(one.path()).unwrap();
        let two = Dataset::open_or_create(two.path()).unwrap();
        one.publish("", (1..=3).map(|job| rows_of(job, |_| ())).collect()).unwrap();
        for job in [3, 1] {
            let mut chunk = ChunkWriter::new(&two, "other");
            chunk.push_rows(rows_of(job, |_| ()));
            chunk.finish().unwrap();
        }
        let missing = one.compare(&two).unwrap();
        assert!(missing.iter().all(|d| d.job == JobId(2)), "{missing:?}");
        assert_eq!(missing.len(), 3, "one a table");
        two.publish("other", vec![rows_of(2, |_| ())]).unwrap();
        assert_eq!(one.compare(&two).unwrap(), []);
    }
}
