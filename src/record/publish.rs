//! Putting a chunk in place: all of it or nothing, and never a job twice.
//!
//! # New jobs
//!
//! Their files are written under temporary names, synced, and renamed, `jobs` last. Killed before
//! that last rename, the jobs are not done; the next opening removes their parts.
//!
//! # Jobs recorded again
//!
//! A job that has a row already (with fewer tables or another interval) keeps its part: the part's
//! files are written anew, with the new rows of these jobs and the old rows of the others, and each
//! takes the place of the old one by a single rename. So whoever reads a table, whenever, sees
//! each job's rows once. The order of the renames:
//!
//! 1. `jobs`, the rows as they were but claiming no table for the jobs being replaced;
//! 2. the other tables (those that nobody claims any more are removed);
//! 3. `jobs`, with the new rows.
//!
//! Killed in between, no row of `jobs` is lost or doubled, and the claim of step 1 makes the jobs
//! in question run again: rows of two intervals can never pass for those of one.
//!
//! # Two processes on one chunk
//!
//! The name follows from the jobs, so both write the same part; the second finds everything there
//! and leaves it. Files are written before the lock is taken; renames happen under it, after
//! another look at what is there.

use crate::record::checksum::{self, Siblings};
use crate::record::chunk::{JobRows, by_id, job_rows};
use crate::record::dataset::{Dataset, Done, Publishing};
use crate::record::fs::TempFile;
use crate::record::index::Index;
use crate::record::part::{self, Draft, PartName, Written};
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result, TableSet};
use crate::scenario::Table;
use crate::sweep::plan::JobId;
use arrow::array::{ArrayRef, DictionaryArray, RecordBatch};
use arrow::datatypes::Int32Type;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was published.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Published {
    /// The files' common name in their tables' folders; one, unless jobs were recorded again.
    pub parts: Vec<String>,
    /// Jobs of the chunk.
    pub jobs: usize,
    /// Rows of the chunk by table, `jobs` included.
    pub rows: BTreeMap<StoredTable, usize>,
}

/// Jobs of a chunk that go into one part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub part: PartName,
    /// Of the chunk.
    pub jobs: Vec<JobId>,
    /// Whether the part is there.
    pub replaces: bool,
    /// Whether the part has other jobs too, whose rows are kept.
    pub mixed: bool,
}

/// A part's files, written and synced.
pub(super) struct Prepared {
    pub files: BTreeMap<Table, TempFile>,
    /// What those beside the jobs part are.
    pub siblings: Siblings,
}

pub(super) type Jobs = BTreeMap<JobId, JobRows>;

impl Dataset {
    /// Writes the jobs of a chunk as one unit. Fine to call from several threads at once.
    ///
    /// # Errors
    ///
    /// A job twice in the chunk; whatever the disk refuses. Then none of the new jobs is there; of
    /// jobs recorded again the old rows are, or they run again.
    pub fn publish(&self, plan_hash: &str, jobs: Vec<JobRows>) -> Result<Published> {
        let jobs = by_id(jobs)?;
        if jobs.is_empty() {
            return Ok(Published::default());
        }
        let mut groups = group(&self.publishing()?.known.index, &jobs);
        loop {
            // The long part, while others may publish. What needs old rows has to wait.
            let mut prepared = Vec::new();
            for group in &groups {
                let alone = !group.mixed;
                prepared
                    .push(alone.then(|| self.prepare(plan_hash, group, &jobs, None)).transpose()?);
            }
            let mut publishing = self.publishing()?;
            let now = group(&publishing.known.index, &jobs);
            if now != groups {
                // Somebody else recorded some of the jobs meanwhile, or put parts together. Both
                // end: there are only so many jobs, and only so many parts.
                groups = now;
                continue;
            }
            for (group, prepared) in groups.iter().zip(prepared) {
                self.place(plan_hash, &mut publishing, group, &jobs, prepared)?;
            }
            return Ok(summary(&groups, &jobs));
        }
    }

    /// Writes the files of a part, with `kept` rows of its other jobs.
    fn prepare(
        &self,
        plan_hash: &str,
        group: &Group,
        jobs: &Jobs,
        mut kept: Option<BTreeMap<Table, Rows>>,
    ) -> Result<Prepared> {
        let mine = || group.jobs.iter().filter_map(|id| jobs.get(id));
        let mut tables: TableSet = mine().flat_map(|job| job.record.tables.iter()).collect();
        kept.iter().flat_map(|k| k.keys()).for_each(|&table| tables.insert(table));
        let mut files = BTreeMap::new();
        let mut siblings = Siblings::default();
        // The jobs part comes last: it vouches for the others.
        let others = tables.iter().filter(|&table| table != Table::Jobs);
        for table in others.chain([Table::Jobs]) {
            let mut rows = kept.as_mut().and_then(|k| k.remove(&table)).unwrap_or_default();
            if table == Table::Jobs && rows.is_empty() {
                let records: Vec<_> = mine().map(|job| &job.record).collect();
                rows.entry(group.jobs[0]).or_default().push(job_rows(&records)?);
            } else {
                for job in mine() {
                    let own = match table {
                        Table::Jobs => vec![job_rows(&[&job.record])?],
                        _ => job.batches.get(&table).cloned().unwrap_or_default(),
                    };
                    rows.insert(job.id(), own);
                }
            }
            let listed = (table == Table::Jobs).then_some(&siblings);
            let written = self.write_part(plan_hash, table, &group.part, &rows, listed)?;
            if table != Table::Jobs {
                siblings.add(table.into(), written.sum);
            }
            files.insert(table, written.file);
        }
        Ok(Prepared { files, siblings })
    }

    fn write_part(
        &self,
        plan_hash: &str,
        table: Table,
        part: &PartName,
        rows: &Rows,
        siblings: Option<&Siblings>,
    ) -> Result<Written> {
        let stored = StoredTable::from(table);
        let target = self.file(stored, part);
        let batches = rows.values().flatten();
        let draft = Draft { table: stored, schema: stored.schema(), plan_hash, siblings };
        part::write(self.fs(), &target, &draft, batches)
    }

    /// Gives a part's files their names.
    pub(super) fn place(
        &self,
        plan_hash: &str,
        publishing: &mut Publishing<'_>,
        group: &Group,
        jobs: &Jobs,
        prepared: Option<Prepared>,
    ) -> Result<()> {
        let mut prepared = prepared;
        if group.replaces {
            let claims = self.claims(&group.part)?;
            if self.holds_all(&claims, group, jobs)? {
                return Ok(());
            }
            if prepared.is_none() {
                let kept = self.kept(&claims, group)?;
                prepared = Some(self.prepare(plan_hash, group, jobs, Some(kept))?);
            }
            publishing.announce()?;
            let coming = prepared.as_ref().map(|p| &p.siblings);
            self.withdraw(plan_hash, group, coming)?;
        } else {
            publishing.announce()?;
        }
        let Some(Prepared { mut files, .. }) = prepared else { return Ok(()) };
        let last = files.remove(&Table::Jobs);
        let tables: TableSet = files.keys().copied().collect();
        let mut placed = Vec::new();
        let mut rename = |file: TempFile| {
            placed.push(file.target().to_path_buf());
            file.publish()
        };
        let renamed = files
            .into_values()
            .try_for_each(&mut rename)
            .and_then(|()| if group.replaces { self.drop_unclaimed(group, tables) } else { Ok(()) })
            .and_then(|()| last.into_iter().try_for_each(rename));
        if let Err(error) = renamed {
            if !group.replaces {
                // Nobody may see half a chunk. The jobs part goes too: its rename may have come
                // through and only the sync of its folder failed. If the disk refuses this as
                // well, the next opening clears it away.
                for path in placed.iter().rev() {
                    let _ = self.fs().remove(path);
                }
            }
            return Err(error);
        }
        if !group.replaces {
            publishing.known.index.add(group.part.clone(), group.jobs.clone());
        }
        Ok(())
    }

    /// Whether another process did all of it, with the same tables and interval.
    fn holds_all(&self, claims: &[(JobId, Done)], group: &Group, jobs: &Jobs) -> Result<bool> {
        let claims: BTreeMap<_, _> = claims.iter().copied().collect();
        let alike = |job: &JobId| {
            let (Some(claim), Some(rows)) = (claims.get(job), jobs.get(job)) else { return false };
            let new = &rows.record;
            (claim.status, claim.tables, claim.interval, claim.zeros)
                == (new.status, new.tables, new.interval, new.zeros)
        };
        if !group.jobs.iter().all(alike) {
            return Ok(false);
        }
        let tables = group.jobs.iter().filter_map(|id| jobs.get(id));
        let tables: TableSet = tables.flat_map(|job| job.record.tables.iter()).collect();
        let there = |table| self.file(StoredTable::from(table), &group.part).exists();
        Ok(tables.iter().all(there))
    }

    /// The old rows of a part's other jobs, by table; of tables that none of them claims, nothing.
    fn kept(&self, claims: &[(JobId, Done)], group: &Group) -> Result<BTreeMap<Table, Rows>> {
        let others = || claims.iter().filter(|(job, _)| !group.jobs.contains(job));
        let mut tables: TableSet = others().flat_map(|(_, claim)| claim.tables.iter()).collect();
        tables.insert(Table::Jobs);
        let listed = self.siblings(&group.part)?;
        let mut kept = BTreeMap::new();
        for table in tables.iter() {
            let stored = StoredTable::from(table);
            let path = self.file(stored, &group.part);
            self.fs().fetch(&path).map_err(RecordError::io("get", &path))?;
            if !path.exists() {
                // Deleted by hand; `done` does not count it either.
                continue;
            }
            // A damaged row must not get a new checksum.
            let found = checksum::check(&path)?;
            if table != Table::Jobs {
                listed.vouch(&path, stored, &found.sum)?;
            }
            let mut rows = Rows::new();
            for batch in part::open(&path, stored, None)? {
                let batch = batch.map_err(|e| part::damaged(&path, e))?;
                for (job, run) in part::runs(&path, &batch)? {
                    if !group.jobs.contains(&job) {
                        rows.entry(job).or_default().push(run);
                    }
                }
            }
            kept.insert(table, rows);
        }
        Ok(kept)
    }

    /// Takes back what the jobs part says of the jobs to be replaced.
    ///
    /// The part then lists the files there are and those to come, since a kill may leave either.
    fn withdraw(&self, plan_hash: &str, group: &Group, coming: Option<&Siblings>) -> Result<()> {
        let path = self.file(StoredTable::Jobs, &group.part);
        let mut siblings = self.siblings(&group.part)?;
        coming.into_iter().for_each(|coming| siblings.extend(coming));
        let mut rows = Rows::new();
        for batch in part::open(&path, StoredTable::Jobs, None)? {
            let batch = batch.map_err(|e| part::damaged(&path, e))?;
            for (job, run) in part::runs(&path, &batch)? {
                let run = if group.jobs.contains(&job) {
                    claiming(&run, TableSet::default())?
                } else {
                    run
                };
                rows.entry(job).or_default().push(run);
            }
        }
        let listed = Some(&siblings);
        self.write_part(plan_hash, Table::Jobs, &group.part, &rows, listed)?.file.publish()
    }

    /// What a jobs part says of the files beside it.
    pub(super) fn siblings(&self, part: &PartName) -> Result<Siblings> {
        let path = self.file(StoredTable::Jobs, part);
        Siblings::read(&path, &checksum::notes(&path)?)
    }

    /// Removes the files of a replaced part that hold rows of nobody any more.
    fn drop_unclaimed(&self, group: &Group, written: TableSet) -> Result<()> {
        for table in TableSet::all().iter() {
            let path = self.file(StoredTable::from(table), &group.part);
            if table != Table::Jobs && !written.contains(table) && path.exists() {
                self.fs().remove(&path).map_err(RecordError::io("remove", &path))?;
            }
        }
        Ok(())
    }
}

/// Rows by job, in the order they are written.
type Rows = BTreeMap<JobId, Vec<RecordBatch>>;

/// Sorts the jobs of a chunk by the parts they are in, those in none into a part of their own.
fn group(index: &Index, jobs: &Jobs) -> Vec<Group> {
    let mut by_part: BTreeMap<Option<&PartName>, Vec<JobId>> = BTreeMap::new();
    for &job in jobs.keys() {
        by_part.entry(index.part_of(job)).or_default().push(job);
    }
    let group = |(part, jobs): (Option<&PartName>, Vec<JobId>)| match part {
        Some(part) => {
            let mixed = index.jobs_of(part).len() != jobs.len();
            Group { part: part.clone(), jobs, replaces: true, mixed }
        }
        None => {
            let part = PartName::of(jobs.iter().copied());
            Group { part, jobs, replaces: false, mixed: false }
        }
    };
    by_part.into_iter().map(group).collect()
}

/// Rows of `jobs` that claim these tables and no other.
pub(super) fn claiming(rows: &RecordBatch, tables: TableSet) -> Result<RecordBatch> {
    let refused = |source| RecordError::Rows { table: StoredTable::Jobs.name(), source };
    let place = rows.schema().index_of("tables").map_err(refused)?;
    let list = tables.to_list();
    let lists: DictionaryArray<Int32Type> =
        std::iter::repeat_n(Some(list.as_str()), rows.num_rows()).collect();
    let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
    columns[place] = Arc::new(lists);
    RecordBatch::try_new(StoredTable::Jobs.schema(), columns).map_err(refused)
}

fn summary(groups: &[Group], jobs: &Jobs) -> Published {
    let mut rows = BTreeMap::from([(StoredTable::Jobs, jobs.len())]);
    for (&table, batches) in jobs.values().flat_map(|job| &job.batches) {
        let count: usize = batches.iter().map(RecordBatch::num_rows).sum();
        *rows.entry(StoredTable::from(table)).or_default() += count;
    }
    let parts = groups.iter().map(|group| group.part.to_string()).collect();
    Published { parts, jobs: jobs.len(), rows }
}
