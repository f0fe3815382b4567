//! Datasets of machines that share nothing into one.
//!
//! Jobs that both sides hold are compared first, so that a difference is told before anything is
//! taken. Then parts are copied whole where the target has none of their jobs and wants all,
//! their checksums verified on the way; of other parts the missing jobs' rows are read and
//! published like any chunk. Sources are only read; they may be written to meanwhile. Merging
//! again takes what came since.

use crate::record::checksum::{self, Checked, PLAN_HASH, Siblings, Sum};
use crate::record::chunk::{JobRows, Status};
use crate::record::compare::{CLAIM, columns_apart};
use crate::record::dataset::{Dataset, Done};
use crate::record::fs::TempFile;
use crate::record::index::list;
use crate::record::part::{self, PartName, damaged};
use crate::record::publish::{Group, Jobs, Prepared, claiming};
use crate::record::schema::StoredTable;
use crate::record::stream::ByJob;
use crate::record::{RecordError, Result, TableSet, beside};
use crate::scenario::Table;
use crate::sweep::plan::JobId;
use arrow::row::{RowConverter, SortField};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Rows published at a time when single jobs are taken.
const MOST_ROWS: usize = 1 << 19;

/// Jobs published at a time when single jobs are taken.
const MOST_JOBS: usize = 10_000;

/// How often a part is looked at anew that changes while it is read.
const TRIES: usize = 20;

/// Differences told at once.
const MOST_CONFLICTS: usize = 10;

/// What a merge took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Of each source, in their order.
    pub sources: Vec<Taken>,
    /// Jobs of the target's plan that it still lacks.
    pub outstanding: usize,
}

/// What was taken from one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// The source.
    pub path: PathBuf,
    /// Parts copied whole.
    pub parts: usize,
    /// The jobs in them.
    pub in_parts: usize,
    /// Jobs taken out of other parts.
    pub single: usize,
    /// Jobs the target held already, with as many tables.
    pub held: usize,
    /// Jobs that the target's points do not name, left where they are.
    pub others: Vec<JobId>,
    /// Jobs that the source itself is to run again.
    pub unfinished: usize,
}

/// What a side holds of a job.
#[derive(Debug, Clone)]
struct Held {
    claim: Done,
    /// Hash of its row in `jobs`, but for the claim.
    row: [u8; 32],
    /// The jobs part.
    path: PathBuf,
}

/// A part of a source as it was at one moment.
struct Seen {
    part: PartName,
    plan_hash: String,
    sum: Sum,
    siblings: Siblings,
    jobs: BTreeMap<JobId, Held>,
}

/// Takes into `out` what the datasets `from` hold of its plan, or of any if `all`.
///
/// If there is nothing in `out` yet, it takes over plan, points and sources of the first; all must
/// have the same plan then.
///
/// # Errors
///
/// [`RecordError::Conflict`] if a job came out differently; [`RecordError::OtherPlan`]; a damaged
/// file; what the disk refuses. What was taken until then stays, by whole parts.
pub fn merge(out: &Path, from: &[PathBuf], all: bool) -> Result<Merged> {
    let sources = from.iter().map(Dataset::open).collect::<Result<Vec<_>>>()?;
    let real = |path: &Path| path.canonicalize().ok();
    if let Some(same) = from.iter().find(|from| real(from).is_some() && real(from) == real(out)) {
        return Err(RecordError::SameFolder { path: same.clone() });
    }
    beside::check_plans(out, &sources)?;
    let target = Dataset::open_or_create(out)?;
    beside::take_over(&target, &sources)?;
    let wanted = target.planned()?;

    let mut held = BTreeMap::new();
    for part in list(&target.folder(StoredTable::Jobs))? {
        held.extend(target.see(&part)?.jobs);
    }
    let mut seen = Vec::new();
    let mut conflicts = Vec::new();
    let mut together = held.clone();
    for source in &sources {
        let parts = source.see_all()?;
        for (job, theirs) in parts.iter().flat_map(|part| &part.jobs) {
            match together.get(job) {
                Some(ours) => conflicts.extend(conflict(*job, ours, theirs)?),
                None => drop(together.insert(*job, theirs.clone())),
            }
        }
        seen.push(parts);
    }
    if !conflicts.is_empty() {
        conflicts.truncate(MOST_CONFLICTS);
        return Err(RecordError::Conflict { conflicts });
    }
    let mut told = Vec::new();
    for (source, parts) in sources.iter().zip(seen) {
        let path = source.path().to_path_buf();
        let mut taken = Taken { path, ..Taken::default() };
        for part in parts {
            target.take(source, part, wanted.as_ref().filter(|_| !all), &mut held, &mut taken)?;
        }
        beside::take_runs(&target, source)?;
        told.push(taken);
    }
    let outstanding = wanted.iter().flatten().filter(|job| !held.contains_key(job)).count();
    Ok(Merged { sources: told, outstanding })
}

impl Dataset {
    /// The jobs that `points` names; `None` if there is no such table.
    pub fn planned(&self) -> Result<Option<BTreeSet<JobId>>> {
        let path = self.points_file();
        if !path.exists() {
            return Ok(None);
        }
        let mut jobs = BTreeSet::new();
        for batch in part::open(&path, StoredTable::Points, Some(&["job_id"]))? {
            let batch = batch.map_err(|e| damaged(&path, e))?;
            let id = part::words(&path, &batch, "job_id")?;
            // An excluded point has none.
            for word in (0..batch.num_rows()).map(id).filter(|word| !word.is_empty()) {
                jobs.insert(part::parse_id(&path, word)?);
            }
        }
        Ok(Some(jobs))
    }

    /// Every part, as it is now.
    fn see_all(&self) -> Result<Vec<Seen>> {
        self.steadily(|| {
            let parts = list(&self.folder(StoredTable::Jobs))?;
            parts.iter().map(|part| self.see(part)).collect()
        })
    }

    /// A part's jobs, every byte of the jobs part checked.
    fn see(&self, part: &PartName) -> Result<Seen> {
        let path = self.file(StoredTable::Jobs, part);
        for _ in 0..TRIES {
            let Checked { sum, notes } = checksum::check(&path)?;
            let missing = TableSet::all().iter().filter(|&t| !self.file(t.into(), part).exists());
            let missing: TableSet = missing.collect();
            let mut jobs = BTreeMap::new();
            for ((job, mut claim), row) in self.claims(part)?.into_iter().zip(digests(&path)?) {
                missing.iter().for_each(|table| claim.tables.remove(table));
                jobs.insert(job, Held { claim, row, path: path.clone() });
            }
            if checksum::check(&path)?.sum == sum {
                let siblings = Siblings::read(&path, &notes)?;
                let plan_hash = notes.get(PLAN_HASH).cloned().unwrap_or_default();
                return Ok(Seen { part: part.clone(), plan_hash, sum, siblings, jobs });
            }
        }
        Err(RecordError::Restless { path })
    }

    /// Takes what is wanted of a source's part.
    fn take(
        &self,
        source: &Dataset,
        mut seen: Seen,
        wanted: Option<&BTreeSet<JobId>>,
        held: &mut BTreeMap<JobId, Held>,
        taken: &mut Taken,
    ) -> Result<()> {
        for _ in 0..TRIES {
            let before = taken.clone();
            let take = sort_out(&seen.jobs, wanted, held, taken)?;
            if take.is_empty() {
                return Ok(());
            }
            let whole = take.len() == seen.jobs.len() && take.iter().all(|j| !held.contains_key(j));
            let done = if whole && self.copy(source, &seen)? {
                taken.parts += 1;
                taken.in_parts += take.len();
                true
            } else if self.take_rows(source, &seen, &take)? {
                taken.single += take.len();
                true
            } else {
                false
            };
            if done {
                for job in take {
                    held.extend(seen.jobs.remove(&job).map(|now| (job, now)));
                }
                return Ok(());
            }
            // It changed since it was looked at.
            *taken = before;
            let path = source.file(StoredTable::Jobs, &seen.part);
            if !path.exists() {
                // Put into another; the next merge finds it there.
                return Err(RecordError::Restless { path });
            }
            seen = source.see(&seen.part)?;
        }
        Err(RecordError::Restless { path: source.file(StoredTable::Jobs, &seen.part) })
    }

    /// Copies a part whole; `false` if it is not what it was, or the target has a job of it by
    /// now.
    fn copy(&self, source: &Dataset, seen: &Seen) -> Result<bool> {
        let mut files = BTreeMap::new();
        for table in TableSet::all().iter().map(|table| (table, StoredTable::from(table))) {
            let (table, stored) = table;
            let sums = match table {
                Table::Jobs => std::slice::from_ref(&seen.sum),
                _ => seen.siblings.of(stored),
            };
            let path = source.file(stored, &seen.part);
            match sums {
                [] if !path.exists() => {}
                [sum] => {
                    let target = self.file(stored, &seen.part);
                    let Some(file) = self.copy_file(&path, &target, sum)? else { return Ok(false) };
                    files.insert(table, file);
                }
                // Jobs of it are being replaced.
                _ => return Ok(false),
            }
        }
        let mut publishing = self.publishing()?;
        let jobs: Vec<JobId> = seen.jobs.keys().copied().collect();
        if jobs.iter().any(|&job| publishing.known.index.part_of(job).is_some()) {
            return Ok(false);
        }
        let group = Group { part: seen.part.clone(), jobs, replaces: false, mixed: false };
        let prepared = Some(Prepared { files, siblings: seen.siblings.clone() });
        self.place(&seen.plan_hash, &mut publishing, &group, &Jobs::new(), prepared)?;
        Ok(true)
    }

    /// Copies a file under a temporary name; `None` if it is not what it is said to be.
    fn copy_file(&self, path: &Path, target: &Path, sum: &Sum) -> Result<Option<TempFile>> {
        let mut from = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(RecordError::io("open", path)(source)),
        };
        let mut file = TempFile::create(self.fs(), target)?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 1 << 18];
        loop {
            let read = from.read(&mut buffer).map_err(RecordError::io("read", path))?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            file.write_all(&buffer[..read]).map_err(RecordError::io("write", target))?;
        }
        if hasher.count() != sum.bytes || hasher.finalize().to_hex().as_str() != sum.blake3 {
            // Replaced meanwhile, or damaged: the latter is an error that names the file.
            checksum::check(path)?;
            return Ok(None);
        }
        file.seal()?;
        Ok(Some(file))
    }

    /// Takes jobs out of a part; `false` if it is not what it was.
    fn take_rows(&self, source: &Dataset, seen: &Seen, take: &[JobId]) -> Result<bool> {
        let path = source.file(StoredTable::Jobs, &seen.part);
        if !path.exists() {
            return Ok(false);
        }
        let (mut jobs, sum) = ByJob::open(&path, StoredTable::Jobs)?;
        if sum != seen.sum {
            return Ok(false);
        }
        let claims = || take.iter().filter_map(|job| Some((*job, seen.jobs.get(job)?.claim)));
        let tables: TableSet = claims().flat_map(|(_, claim)| claim.tables.iter()).collect();
        let mut files = BTreeMap::new();
        for table in tables.iter().filter(|&table| table != Table::Jobs) {
            let path = source.file(table.into(), &seen.part);
            if !path.exists() {
                return Ok(false);
            }
            let (file, sum) = ByJob::open(&path, table.into())?;
            if seen.siblings.vouch(&path, table.into(), &sum).is_err() {
                let now = checksum::check(&source.file(StoredTable::Jobs, &seen.part))?.sum;
                return match now == seen.sum {
                    true => seen.siblings.vouch(&path, table.into(), &sum).map(|()| false),
                    false => Ok(false),
                };
            }
            files.insert(table, file);
        }
        let (mut open, mut count) = (Vec::new(), 0);
        for (job, claim) in claims() {
            let rows = jobs.take(job)?;
            let [row] = rows.as_slice() else {
                let path = source.file(StoredTable::Jobs, &seen.part);
                return Err(damaged(&path, format!("it has not one row of job {job}")));
            };
            let mut batches = BTreeMap::new();
            for (&table, file) in files.iter_mut().filter(|(t, _)| claim.tables.contains(**t)) {
                let rows = file.take(job)?;
                count += rows.iter().map(|rows| rows.num_rows()).sum::<usize>();
                batches.insert(table, rows);
            }
            open.push(JobRows::recorded(job, claim, claiming(row, claim.tables)?, batches));
            if count > MOST_ROWS || open.len() == MOST_JOBS {
                self.publish(&seen.plan_hash, std::mem::take(&mut open))?;
                count = 0;
            }
        }
        self.publish(&seen.plan_hash, open)?;
        Ok(true)
    }
}

/// The jobs to take, in order; counts the others.
fn sort_out(
    theirs: &BTreeMap<JobId, Held>,
    wanted: Option<&BTreeSet<JobId>>,
    held: &BTreeMap<JobId, Held>,
    taken: &mut Taken,
) -> Result<Vec<JobId>> {
    let mut take = Vec::new();
    for (&job, now) in theirs {
        if wanted.is_some_and(|wanted| !wanted.contains(&job)) {
            taken.others.push(job);
        } else if !now.claim.tables.contains(Table::Jobs) {
            taken.unfinished += 1;
        } else {
            match held.get(&job) {
                // Looked at again: a source changes while it is merged.
                Some(ours) => match conflict(job, ours, now)? {
                    Some(conflict) => {
                        return Err(RecordError::Conflict { conflicts: vec![conflict] });
                    }
                    None if better(&now.claim, &ours.claim) => take.push(job),
                    None => taken.held += 1,
                },
                None => take.push(job),
            }
        }
    }
    Ok(take)
}

/// Whether a claim takes the place of another: a result that of a job that could not finish, then
/// more tables that of fewer.
fn better(new: &Done, old: &Done) -> bool {
    let rank = |claim: &Done| (has_result(claim.status), claim.tables.iter().count());
    rank(new) > rank(old)
}

/// Whether the row is what the simulation gives, wherever it runs: memory and files that a
/// scenario names may be missing on one machine and not on another.
fn has_result(status: Status) -> bool {
    !matches!(status, Status::Failed | Status::Quarantined)
}

/// What differs in the rows of a job, if anything does.
fn conflict(job: JobId, ours: &Held, theirs: &Held) -> Result<Option<String>> {
    let comparable = [ours, theirs]
        .iter()
        .all(|held| has_result(held.claim.status) && held.claim.tables != TableSet::default());
    if !comparable || ours.row == theirs.row {
        return Ok(None);
    }
    let side = |held: &Held| {
        let rows = ByJob::unchecked(&held.path, StoredTable::Jobs)?.take(job)?;
        let notes = checksum::notes(&held.path)?;
        let version = notes.get("poolsweep_version").cloned().unwrap_or_default();
        let gone = || damaged(&held.path, format!("it has no row of job {job}"));
        Ok::<_, RecordError>((rows.into_iter().next().ok_or_else(gone)?, version))
    };
    let ((left, our_version), (right, their_version)) = (side(ours)?, side(theirs)?);
    let apart = columns_apart(&left, &right)?;
    let apart: Vec<_> =
        apart.iter().map(|(name, a, b)| format!("{name} {a} against {b}")).collect();
    Ok(Some(format!(
        "job {job}: {} ({}, poolsweep {our_version}, against {}, poolsweep {their_version})",
        apart.join(", "),
        ours.path.display(),
        theirs.path.display()
    )))
}

/// A hash of every row of a jobs part, in order, without what says which tables were recorded.
fn digests(path: &Path) -> Result<Vec<[u8; 32]>> {
    let names = StoredTable::Jobs.columns().iter().map(|column| column.name);
    let names: Vec<_> = names.filter(|name| !CLAIM.contains(name)).collect();
    let refused = |source| RecordError::Rows { table: StoredTable::Jobs.name(), source };
    let mut digests = Vec::new();
    for batch in part::open(path, StoredTable::Jobs, None)? {
        let batch = batch.map_err(|e| damaged(path, e))?;
        let columns: Vec<_> =
            names.iter().filter_map(|name| batch.column_by_name(name).cloned()).collect();
        let fields = columns.iter().map(|c| SortField::new(c.data_type().clone())).collect();
        let rows = RowConverter::new(fields).and_then(|rows| rows.convert_columns(&columns));
        let rows = rows.map_err(refused)?;
        digests.extend(rows.iter().map(|row| *blake3::hash(row.as_ref()).as_bytes()));
    }
    Ok(digests)
}
