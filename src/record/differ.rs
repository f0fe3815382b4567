//! Two datasets compared whole: which jobs, which points, which columns.
//!
//! Owns the pairing of jobs and the counting of what differs. Goes part by part, so it holds the
//! rows of about one part of either side, and of everything else ids only. Refuses to compare
//! `timings`, `provenance` and `reuse`, which differ between any two runs.

use crate::record::compare::{ORIGIN, shown};
use crate::record::dataset::Dataset;
use crate::record::index::Index;
use crate::record::part::{self, PartName, damaged, runs, words};
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result, TableSet};
use crate::sweep::plan::JobId;
use arrow::array::{Array, ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::collections::{BTreeMap, BTreeSet};

/// The first place at which a column differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstDifference {
    /// Job of the first side.
    pub job: JobId,
    /// Row among the job's in the table, from 0.
    pub row: usize,
    /// Value of the first side; `null` if there is none.
    pub left: String,
    /// Value of the second.
    pub right: String,
}

/// How a column differs over all jobs compared.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDifference {
    /// The table.
    pub table: StoredTable,
    /// The column.
    pub column: &'static str,
    /// Jobs that differ in it.
    pub jobs: u64,
    /// Rows that do.
    pub rows: u64,
    /// The first of them, in order of the first side's parts.
    pub first: FirstDifference,
    /// Largest `|left − right| ÷ max(|left|, |right|)` of a number, 0 to 2; `None`: no numbers.
    pub largest_relative: Option<f64>,
}

/// Jobs with another number of rows in a table; their values are not compared there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsDifference {
    /// The table.
    pub table: StoredTable,
    /// How many jobs.
    pub jobs: u64,
    /// The first of them, on the first side.
    pub first: JobId,
    /// Its rows on the first side.
    pub left: u64,
    /// Its rows on the second.
    pub right: u64,
}

/// A point that is another job on the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPoint {
    /// Its values, `name=value` in order of names.
    pub point: String,
    /// Job of the first side; `None`: excluded.
    pub left: Option<JobId>,
    /// Job of the second.
    pub right: Option<JobId>,
}

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Jobs compared, those paired by their point included.
    pub compared: u64,
    /// Those paired by their point because their ids differ.
    pub paired_by_point: u64,
    /// Jobs among the compared that differ in some table.
    pub jobs_differing: u64,
    /// Jobs of the first side without a partner.
    pub only_left: Vec<JobId>,
    /// Jobs of the second.
    pub only_right: Vec<JobId>,
    /// Axis and derived columns only the first side's points have.
    pub columns_only_left: Vec<String>,
    /// Only the second's.
    pub columns_only_right: Vec<String>,
    /// Points (by the columns both have) only on the first side.
    pub points_only_left: u64,
    /// Only on the second.
    pub points_only_right: u64,
    /// How many points are another job.
    pub points_changed: u64,
    /// The first few of them.
    pub changed: Vec<ChangedPoint>,
    /// Tables and columns that differ, in order of the schema.
    pub columns: Vec<ColumnDifference>,
    /// Tables with other numbers of rows.
    pub rows: Vec<RowsDifference>,
}

/// Changed points that are named; the others are counted.
pub const POINTS_NAMED: usize = 20;

impl Comparison {
    /// Whether nothing differs.
    pub fn equal(&self) -> bool {
        self.only_left.is_empty()
            && self.only_right.is_empty()
            && self.columns_only_left.is_empty()
            && self.columns_only_right.is_empty()
            && self.points_only_left + self.points_only_right + self.points_changed == 0
            && self.columns.is_empty()
            && self.rows.is_empty()
    }
}

impl Dataset {
    /// Compares with another dataset over these tables (and `points`).
    ///
    /// Jobs of one id are compared; jobs whose ids differ are where one point has the one here and
    /// the other there, which is so where the simulator's semantics changed. A table takes part for
    /// a job if both sides recorded it.
    ///
    /// # Errors
    ///
    /// A damaged file in either.
    pub fn differences(&self, other: &Dataset, tables: TableSet) -> Result<Comparison> {
        let (mut left, mut right) = (Index::default(), Index::default());
        left.refresh(self.path())?;
        right.refresh(other.path())?;
        let mut found = Comparison::default();
        let by_point = self.pair_points(other, &mut found)?;
        let mut partners: BTreeMap<JobId, JobId> = BTreeMap::new();
        for &job in left.parts().flat_map(|part| left.jobs_of(part)) {
            if right.part_of(job).is_some() {
                partners.insert(job, job);
            }
        }
        let mut taken: BTreeSet<JobId> = partners.values().copied().collect();
        for (a, b) in by_point {
            let there = left.part_of(a).is_some() && right.part_of(b).is_some();
            if there && !partners.contains_key(&a) && taken.insert(b) {
                partners.insert(a, b);
                found.paired_by_point += 1;
            }
        }
        let all = |index: &Index| -> BTreeSet<JobId> {
            index.parts().flat_map(|part| index.jobs_of(part)).copied().collect()
        };
        found.only_left = all(&left).into_iter().filter(|j| !partners.contains_key(j)).collect();
        found.only_right = all(&right).into_iter().filter(|job| !taken.contains(job)).collect();
        found.compared = partners.len() as u64;
        let mut counts = Counts::default();
        for part in left.parts() {
            let pairs: BTreeMap<JobId, JobId> = left
                .jobs_of(part)
                .iter()
                .filter_map(|job| Some((*job, *partners.get(job)?)))
                .collect();
            self.compare_part(other, part, &right, &pairs, tables, &mut counts)?;
        }
        found.jobs_differing = counts.jobs;
        found.columns = counts.columns.into_values().collect();
        found.rows = counts.rows.into_values().collect();
        Ok(found)
    }

    /// The jobs of one part of this side against their partners, table by table.
    fn compare_part(
        &self,
        other: &Dataset,
        part: &PartName,
        right: &Index,
        pairs: &BTreeMap<JobId, JobId>,
        tables: TableSet,
        counts: &mut Counts,
    ) -> Result<()> {
        let partners: BTreeSet<JobId> = pairs.values().copied().collect();
        let places: BTreeSet<&PartName> =
            partners.iter().filter_map(|job| right.part_of(*job)).collect();
        let mine: BTreeSet<JobId> = pairs.keys().copied().collect();
        // Which tables each recorded decides what is compared.
        let jobs_left = self.rows_of(StoredTable::Jobs, [part], &mine)?;
        let jobs_right = other.rows_of(StoredTable::Jobs, places.iter().copied(), &partners)?;
        let mut differing = BTreeSet::new();
        for table in tables.iter() {
            let stored = StoredTable::from(table);
            let (a, b);
            let (left, right) = if stored == StoredTable::Jobs {
                (&jobs_left, &jobs_right)
            } else {
                a = self.rows_of(stored, [part], &mine)?;
                b = other.rows_of(stored, places.iter().copied(), &partners)?;
                (&a, &b)
            };
            for (job, partner) in pairs {
                let both = recorded(self.path(), &jobs_left, *job)?.contains(table)
                    && recorded(other.path(), &jobs_right, *partner)?.contains(table);
                if !both {
                    continue;
                }
                let of = |rows: &BTreeMap<JobId, Vec<RecordBatch>>, job| whole(stored, rows, job);
                let (l, r) = (of(left, job)?, of(right, partner)?);
                if counts.compare(stored, *job, &l, &r)? {
                    differing.insert(*job);
                }
            }
        }
        counts.jobs += differing.len() as u64;
        Ok(())
    }

    /// Rows of some jobs in some parts of a table.
    fn rows_of<'p>(
        &self,
        table: StoredTable,
        parts: impl IntoIterator<Item = &'p PartName>,
        jobs: &BTreeSet<JobId>,
    ) -> Result<BTreeMap<JobId, Vec<RecordBatch>>> {
        let mut found: BTreeMap<JobId, Vec<RecordBatch>> = BTreeMap::new();
        for part in parts {
            let path = self.file(table, part);
            if !path.exists() {
                continue;
            }
            for batch in part::open(&path, table, None)? {
                let batch = batch.map_err(|e| damaged(&path, e))?;
                for (job, run) in runs(&path, &batch)? {
                    if jobs.contains(&job) {
                        found.entry(job).or_default().push(run);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Compares the points; the jobs that one point has on either side, where they differ.
    fn pair_points(&self, other: &Dataset, found: &mut Comparison) -> Result<Vec<(JobId, JobId)>> {
        let (left, right) = (self.point_columns()?, other.point_columns()?);
        let (Some(left), Some(right)) = (left, right) else { return Ok(Vec::new()) };
        found.columns_only_left = left.difference(&right).cloned().collect();
        found.columns_only_right = right.difference(&left).cloned().collect();
        let common: Vec<&String> = left.intersection(&right).collect();
        // Points by a hash of their values; several with one are told apart by their number.
        let mut waiting: BTreeMap<([u8; 16], u32), Option<JobId>> = BTreeMap::new();
        let mut seen: BTreeMap<[u8; 16], u32> = BTreeMap::new();
        self.each_point(&common, |key, _, job| {
            let nth = seen.entry(key).or_default();
            waiting.insert((key, *nth), job);
            *nth += 1;
        })?;
        seen.clear();
        let mut pairs = Vec::new();
        other.each_point(&common, |key, name, job| {
            let nth = seen.entry(key).or_default();
            match waiting.remove(&(key, *nth)) {
                None => found.points_only_right += 1,
                Some(before) if before == job => {}
                Some(before) => {
                    found.points_changed += 1;
                    if found.changed.len() < POINTS_NAMED {
                        let point = name.to_owned();
                        found.changed.push(ChangedPoint { point, left: before, right: job });
                    }
                    pairs.extend(before.zip(job));
                }
            }
            *nth += 1;
        })?;
        found.points_only_left = waiting.len() as u64;
        Ok(pairs)
    }

    /// The columns that name a point; `None`: there are no points.
    fn point_columns(&self) -> Result<Option<BTreeSet<String>>> {
        if !self.has_points() {
            return Ok(None);
        }
        let reader = part::open(&self.points_file(), StoredTable::Points, None)?;
        let schema = arrow::array::RecordBatchReader::schema(&reader);
        let names = schema.fields().iter().map(|field| field.name().clone());
        Ok(Some(names.filter(|n| n != "job_id" && n != "excluded_by").collect()))
    }

    fn each_point(
        &self,
        columns: &[&String],
        mut see: impl FnMut([u8; 16], &str, Option<JobId>),
    ) -> Result<()> {
        let path = self.points_file();
        let options = FormatOptions::new().with_null("null");
        for batch in part::open(&path, StoredTable::Points, None)? {
            let batch = batch.map_err(|e| damaged(&path, e))?;
            let id = words(&path, &batch, "job_id")?;
            let mut values = Vec::new();
            for name in columns {
                let array = batch.column_by_name(name);
                let array = array.ok_or_else(|| damaged(&path, format!("no column `{name}`")))?;
                let shown = ArrayFormatter::try_new(array, &options);
                values.push((*name, shown.map_err(|e| damaged(&path, e))?));
            }
            for row in 0..batch.num_rows() {
                let mut name = String::new();
                for (column, value) in &values {
                    let value = value.value(row).to_string();
                    if value != "null" {
                        let comma = if name.is_empty() { "" } else { ", " };
                        name.push_str(&format!("{comma}{column}={value}"));
                    }
                }
                let mut key = [0; 16];
                key.copy_from_slice(&blake3::hash(name.as_bytes()).as_bytes()[..16]);
                let job = match id(row) {
                    "" => None,
                    word => Some(part::parse_id(&path, word)?),
                };
                see(key, &name, job);
            }
        }
        Ok(())
    }
}

/// The tables a job has rows in, by its row in `jobs`.
fn recorded(
    root: &std::path::Path,
    jobs: &BTreeMap<JobId, Vec<RecordBatch>>,
    job: JobId,
) -> Result<TableSet> {
    let row = jobs.get(&job).and_then(|rows| rows.first());
    let row = row.ok_or_else(|| RecordError::UnknownJob { job, path: root.to_path_buf() })?;
    Ok(TableSet::from_list(words(root, row, "tables")?(0)))
}

/// The rows of a job as one batch, without the notes that files add to a schema.
fn whole(
    table: StoredTable,
    rows: &BTreeMap<JobId, Vec<RecordBatch>>,
    job: &JobId,
) -> Result<RecordBatch> {
    let schema = table.schema();
    let batches = rows.get(job).map_or(&[][..], Vec::as_slice);
    let plain = batches.iter().map(|b| RecordBatch::try_new(schema.clone(), b.columns().into()));
    plain
        .collect::<std::result::Result<Vec<_>, _>>()
        .and_then(|batches| concat_batches(&schema, &batches))
        .map_err(|source| RecordError::Rows { table: table.name(), source })
}

/// What was found so far.
#[derive(Default)]
struct Counts {
    jobs: u64,
    columns: BTreeMap<(StoredTable, usize), ColumnDifference>,
    rows: BTreeMap<StoredTable, RowsDifference>,
}

impl Counts {
    /// Compares a job's rows; whether they differ.
    fn compare(
        &mut self,
        table: StoredTable,
        job: JobId,
        left: &RecordBatch,
        right: &RecordBatch,
    ) -> Result<bool> {
        if left.num_rows() != right.num_rows() {
            let (l, r) = (left.num_rows() as u64, right.num_rows() as u64);
            let fresh = RowsDifference { table, jobs: 0, first: job, left: l, right: r };
            self.rows.entry(table).or_insert(fresh).jobs += 1;
            return Ok(true);
        }
        let mut differs = false;
        for (place, column) in table.columns().iter().enumerate() {
            // Paired by their point, ids differ and say nothing; nor does whose simulation it was.
            if column.name == "job_id" || column.name == ORIGIN {
                continue;
            }
            let (a, b) = (left.column(place), right.column(place));
            if a == b {
                continue;
            }
            let unequal: Vec<usize> =
                (0..a.len()).filter(|&row| a.slice(row, 1) != b.slice(row, 1)).collect();
            let Some(&row) = unequal.first() else { continue };
            differs = true;
            let refused = |source| RecordError::Rows { table: table.name(), source };
            let first = FirstDifference {
                job,
                row,
                left: shown(a, row).map_err(refused)?,
                right: shown(b, row).map_err(refused)?,
            };
            let entry = self.columns.entry((table, place)).or_insert_with(|| ColumnDifference {
                table,
                column: column.name,
                jobs: 0,
                rows: 0,
                first,
                largest_relative: None,
            });
            entry.jobs += 1;
            entry.rows += unequal.len() as u64;
            let relative = unequal.iter().filter_map(|&row| relative(a, b, row));
            entry.largest_relative = relative.chain(entry.largest_relative).reduce(f64::max);
        }
        Ok(differs)
    }
}

/// `|a − b| ÷ max(|a|, |b|)` of two numbers.
fn relative(a: &ArrayRef, b: &ArrayRef, row: usize) -> Option<f64> {
    let (a, b) = (number(a, row)?, number(b, row)?);
    let largest = a.abs().max(b.abs());
    (largest > 0.0 && largest.is_finite()).then(|| (a - b).abs() / largest)
}

fn number(array: &ArrayRef, row: usize) -> Option<f64> {
    if array.is_null(row) {
        return None;
    }
    let any = array.as_any();
    any.downcast_ref::<Int64Array>()
        .map(|all| all.value(row) as f64)
        .or_else(|| any.downcast_ref::<Float64Array>().map(|all| all.value(row)))
        .or_else(|| any.downcast_ref::<Int32Array>().map(|all| f64::from(all.value(row))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{meta, observed};
    use crate::record::{JobRows, Outcome};
    use crate::sim::observe::Observations;
    use crate::sweep::plan::{Column, ColumnValues, Job, Point};

    fn rows_of(job: u64, tables: &str, change: impl Fn(&mut Observations)) -> JobRows {
        let mut observed = observed(job, 10);
        change(&mut observed);
        JobRows::new(meta(job, tables, 10), Outcome::Ran(&observed)).unwrap()
    }

    fn dataset(dir: &tempfile::TempDir, chunks: Vec<Vec<JobRows>>) -> Dataset {
        let dataset = Dataset::open_or_create(dir.path()).unwrap();
        for rows in chunks {
            dataset.publish("", rows).unwrap();
        }
        dataset
    }

    const ALL: &str = "jobs,drops,flows";

    #[test]
    fn equal_whatever_the_chunks() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let rows = |job| rows_of(job, ALL, |_| ());
        let a = dataset(&one, vec![vec![rows(1), rows(2)], vec![rows(3)]]);
        let b = dataset(&two, vec![vec![rows(1)], vec![rows(2), rows(3)]]);
        let found = a.differences(&b, TableSet::all()).unwrap();
        assert!(found.equal(), "{found:?}");
        assert_eq!((found.compared, found.jobs_differing), (3, 0));
    }

    #[test]
    fn jobs_columns_rows_and_the_largest_relative_difference() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let a = dataset(&one, vec![(1..=4).map(|job| rows_of(job, ALL, |_| ())).collect()]);
        let changed = |job: u64| {
            rows_of(job, ALL, |observed| {
                observed.totals.peak_ingress *= 2;
                if job == 3 {
                    observed.totals.peak_ingress *= 2;
                    observed.drops.pop().unwrap();
                }
            })
        };
        let same = rows_of(2, ALL, |_| ());
        let b = dataset(&two, vec![vec![same, changed(3), changed(4), changed(5)]]);
        let found = a.differences(&b, TableSet::all()).unwrap();
        assert!(!found.equal());
        assert_eq!((found.only_left, found.only_right), (vec![JobId(1)], vec![JobId(5)]));
        assert_eq!((found.compared, found.jobs_differing), (3, 2));
        let [column] = &found.columns[..] else { panic!("{:?}", found.columns) };
        assert_eq!((column.table, column.column), (StoredTable::Jobs, "peak_ingress_bytes"));
        assert_eq!((column.jobs, column.rows, column.first.job), (2, 2, JobId(3)));
        assert_eq!(column.largest_relative, Some(0.75));
        let [rows] = &found.rows[..] else { panic!("{:?}", found.rows) };
        assert_eq!((rows.table, rows.jobs, rows.first), (StoredTable::Drops, 1, JobId(3)));
        assert_eq!(rows.left, rows.right + 1);
        // Only the tables asked for.
        let drops = a.differences(&b, TableSet::from_list("drops")).unwrap();
        assert_eq!((drops.columns.len(), drops.rows.len()), (0, 1));
    }

    #[test]
    fn points_with_other_jobs_pair_them() {
        let points = |dataset: &Dataset, id: u64| {
            let point = Point { scenario: None, repetition: 0, job: Some(0), excluded_by: None };
            let job = Job {
                id: JobId(id),
                repetition: 0,
                seeds: crate::sim::random::Seeds::default(),
                infeasible: Vec::new(),
                cost: 1.0,
                point: 0,
            };
            let column = Column {
                name: "topology.hosts".into(),
                unit: String::new(),
                values: ColumnValues::Int(vec![Some(4)]),
            };
            dataset.write_points("", &[point], &[job], &[column]).unwrap();
        };
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // What job 1 left, under the id another version gives it.
        let a = dataset(&one, vec![vec![rows_of(1, "jobs", |_| ())]]);
        let renamed = JobRows::new(meta(9, "jobs", 10), Outcome::Ran(&observed(1, 10))).unwrap();
        let b = dataset(&two, vec![vec![renamed]]);
        points(&a, 1);
        points(&b, 9);
        let found = a.differences(&b, TableSet::all()).unwrap();
        assert_eq!((found.compared, found.paired_by_point), (1, 1));
        assert_eq!((found.only_left.len(), found.only_right.len()), (0, 0));
        assert_eq!(found.points_changed, 1);
        let change = &found.changed[0];
        assert_eq!(change.point, "repetition=0, topology.hosts=4");
        assert_eq!((change.left, change.right), (Some(JobId(1)), Some(JobId(9))));
        assert!(!found.equal(), "its job changed");
    }
}
