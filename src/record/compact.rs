//! Many small parts into few large ones, the rows as they were.
//!
//! Works on a few hundred parts at a time, under the lock: other writers wait at their next chunk.
//! Every file is checked before its rows get a new checksum. Rows are merged as a stream, so that
//! memory does not grow with the parts. Journals are left alone, and so are parts that lack a file
//! they claim, and the provenance of runs that have not ended.

use crate::record::checksum::{self, PLAN_HASH, Siblings};
use crate::record::dataset::{Dataset, Publishing};
use crate::record::fs::TempFile;
use crate::record::part::{self, Draft, PartName, Writer, damaged};
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result, TableSet, beside, switch};
use crate::sweep::plan::JobId;
use arrow::array::RecordBatch;
use arrow::compute::interleave_record_batch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Most parts put together at once: each has a file open and a few pages in memory.
const MOST_SOURCES: usize = 256;

/// Most files of `timings` or `provenance` put together at once; they are read one by one.
const MOST_FILES: usize = 4096;

/// Rows merged at a time.
const MERGED_ROWS: usize = 8192;

/// How large a part may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all its files together.
    pub bytes: u64,
    /// Its jobs.
    pub jobs: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 256 << 20, jobs: 100_000 }
    }
}

/// What compacting changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Parts before.
    pub parts_before: usize,
    /// Parts now.
    pub parts: usize,
    /// Parquet files before, all tables.
    pub files_before: usize,
    /// Parquet files now.
    pub files: usize,
    /// Their bytes before.
    pub bytes_before: u64,
    /// Their bytes now.
    pub bytes: u64,
    /// Small parts left as they are, because a file that they claim is missing.
    pub skipped: usize,
}

/// A part to be put together with others.
#[derive(Debug, Clone)]
struct Small {
    part: PartName,
    bytes: u64,
    jobs: usize,
}

impl Dataset {
    /// Puts small parts together. Safe at any time and to be killed at any time.
    ///
    /// # Errors
    ///
    /// A damaged file, by name, or what the disk refuses: what was put together until then stays.
    /// [`RecordError::NoLocks`] where other processes cannot be kept out.
    pub fn compact(&self, limits: Limits) -> Result<Compacted> {
        let mut told = Compacted::default();
        (told.parts_before, told.files_before, told.bytes_before) = self.extent()?;
        let mut skip = BTreeSet::new();
        loop {
            // Taken anew for every group: other writers get their turn.
            let mut publishing = self.publishing()?;
            if !publishing.lock.held() {
                return Err(RecordError::NoLocks { path: self.path().to_path_buf() });
            }
            let group = self.next_group(&publishing, limits, &mut skip)?;
            if group.len() < 2 {
                break;
            }
            self.put_together(&mut publishing, &group)?;
        }
        self.compact_runs(StoredTable::Timings, limits)?;
        self.compact_runs(StoredTable::Reuse, limits)?;
        self.compact_runs(StoredTable::Provenance, limits)?;
        (told.parts, told.files, told.bytes) = self.extent()?;
        told.skipped = skip.len();
        Ok(told)
    }

    /// Parts, files and bytes.
    fn extent(&self) -> Result<(usize, usize, u64)> {
        let (mut parts, mut files, mut bytes) = (0, 0, 0);
        for table in StoredTable::ALL.into_iter().filter(|&t| t != StoredTable::Points) {
            let found = self.volatile_files(table)?;
            files += found.len();
            bytes += found.iter().map(|path| size(path)).sum::<u64>();
            parts += if table == StoredTable::Jobs { found.len() } else { 0 };
        }
        Ok((parts, files, bytes))
    }

    /// Small parts that fit into one, the smallest first.
    ///
    /// Any two of them do, so that at the end at most one is left.
    fn next_group(
        &self,
        publishing: &Publishing<'_>,
        limits: Limits,
        skip: &mut BTreeSet<PartName>,
    ) -> Result<Vec<PartName>> {
        let index = &publishing.known.index;
        let mut small: Vec<Small> = index
            .parts()
            .filter(|part| !skip.contains(part))
            .map(|part| {
                let sizes = tables().map(|table| size(&self.file(table, part)));
                let jobs = index.jobs_of(part).len();
                Small { part: part.clone(), bytes: sizes.sum(), jobs }
            })
            .filter(|small| small.bytes <= limits.bytes / 2 && small.jobs <= limits.jobs / 2)
            .collect();
        small.sort_by(|a, b| (a.bytes, &a.part).cmp(&(b.bytes, &b.part)));
        let (mut bytes, mut jobs, mut group) = (0, 0, Vec::new());
        for small in small {
            if !self.has_what_it_claims(&small.part)? {
                skip.insert(small.part);
                continue;
            }
            bytes += small.bytes;
            jobs += small.jobs;
            if bytes > limits.bytes || jobs > limits.jobs || group.len() == MOST_SOURCES {
                break;
            }
            group.push(small.part);
        }
        Ok(group)
    }

    /// Whether no file is missing. In a larger part, a claim of one would pass for true.
    fn has_what_it_claims(&self, part: &PartName) -> Result<bool> {
        let claims = self.claims(part)?;
        let claimed: TableSet = claims.iter().flat_map(|(_, claim)| claim.tables.iter()).collect();
        Ok(claimed.iter().all(|table| self.file(table.into(), part).exists()))
    }

    fn put_together(&self, publishing: &mut Publishing<'_>, group: &[PartName]) -> Result<()> {
        let index = &publishing.known.index;
        let mut jobs: Vec<JobId> =
            group.iter().flat_map(|part| index.jobs_of(part)).copied().collect();
        jobs.sort_unstable();
        let part = PartName::of(jobs.iter().copied());
        let mut plans = BTreeSet::new();
        let mut listed = BTreeMap::new();
        for old in group {
            let path = self.file(StoredTable::Jobs, old);
            let notes = checksum::check(&path)?.notes;
            let plan = notes.get(PLAN_HASH).map_or("", String::as_str);
            plans.extend(plan.split(',').map(str::to_owned));
            listed.insert(old, Siblings::read(&path, &notes)?);
        }
        let plans = plans.into_iter().collect::<Vec<_>>().join(",");

        let mut siblings = Siblings::default();
        let mut files = Vec::new();
        // The jobs part is written last, when its siblings are known.
        let others = tables().filter(|&table| table != StoredTable::Jobs);
        for table in others.chain([StoredTable::Jobs]) {
            let mut sources = Vec::new();
            for old in group {
                let path = self.file(table, old);
                if table != StoredTable::Jobs {
                    if !path.exists() {
                        continue;
                    }
                    listed[old].vouch(&path, table, &checksum::check(&path)?.sum)?;
                }
                sources.push(path);
            }
            if sources.is_empty() {
                continue;
            }
            let listed = (table == StoredTable::Jobs).then_some(&siblings);
            let schema = table.schema();
            let draft = Draft { table, schema, plan_hash: &plans, siblings: listed };
            let mut writer = Writer::new(self.fs(), &self.file(table, &part), &draft)?;
            merge(table, &sources, |rows| writer.push(rows))?;
            let written = writer.finish()?;
            if table != StoredTable::Jobs {
                siblings.add(table, written.sum);
            }
            files.push(written.file);
        }
        let jobs_first = [StoredTable::Jobs].into_iter();
        let order = jobs_first.chain(tables().filter(|&table| table != StoredTable::Jobs));
        let old = order.flat_map(|table| group.iter().map(move |part| self.file(table, part)));
        let old: Vec<PathBuf> = old.filter(|path| path.exists()).collect();
        self.switch(publishing, &old, files)?;
        publishing.known.index.replace(group, part, jobs);
        Ok(())
    }

    /// Puts files in the place of others and tells everybody.
    fn switch(
        &self,
        publishing: &mut Publishing<'_>,
        old: &[PathBuf],
        new: Vec<TempFile>,
    ) -> Result<()> {
        // Should it fail midway, look again next time.
        publishing.known.count = None;
        switch::switch(self.fs(), self.path(), &mut publishing.lock, old, new)?;
        publishing.known.count = publishing.lock.count()?;
        Ok(())
    }

    /// Puts the files of a table of runs together.
    fn compact_runs(&self, table: StoredTable, limits: Limits) -> Result<()> {
        loop {
            let mut publishing = self.publishing()?;
            let (mut bytes, mut group) = (0, Vec::new());
            for path in self.volatile_files(table)? {
                let own = size(&path);
                // The row of a run that has not ended is written anew under its own name.
                let lasting = table != StoredTable::Provenance || !beside::open_ended(&path)?;
                if own > limits.bytes / 2 || !lasting {
                    continue;
                }
                bytes += own;
                if bytes > limits.bytes || group.len() == MOST_FILES {
                    break;
                }
                group.push(path);
            }
            if group.len() < 2 {
                return Ok(());
            }
            let mut name = blake3::Hasher::new();
            let mut plans = BTreeSet::new();
            for path in &group {
                name.update(path.file_name().unwrap_or_default().as_encoded_bytes());
                let notes = checksum::check(path)?.notes;
                let plan = notes.get(PLAN_HASH).map_or("", String::as_str);
                plans.extend(plan.split(',').map(str::to_owned));
            }
            let name = format!("part-all-{}.parquet", &name.finalize().to_hex()[..16]);
            let plans = plans.into_iter().collect::<Vec<_>>().join(",");
            let schema = table.schema();
            let draft = Draft { table, schema, plan_hash: &plans, siblings: None };
            let target = self.folder(table).join(name);
            let mut writer = Writer::new(self.fs(), &target, &draft)?;
            for path in &group {
                for batch in part::open(path, table, None)? {
                    writer.push(&batch.map_err(|e| damaged(path, e))?)?;
                }
            }
            let written = writer.finish()?;
            self.switch(&mut publishing, &group, vec![written.file])?;
        }
    }
}

/// The tables of jobs.
fn tables() -> impl Iterator<Item = StoredTable> {
    TableSet::all().iter().map(StoredTable::from)
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

/// One of the files whose rows are merged.
struct Source<'a> {
    path: &'a Path,
    reader: ParquetRecordBatchReader,
    /// Its batch, by place in the window.
    slot: usize,
    /// Jobs of the batch that are still to come.
    runs: VecDeque<(JobId, Range<usize>)>,
}

impl Source<'_> {
    /// Takes in the next batch if the one at hand is used up.
    fn fill(&mut self, window: &mut Vec<RecordBatch>) -> Result<()> {
        while self.runs.is_empty() {
            let Some(batch) = self.reader.next() else { return Ok(()) };
            let batch = batch.map_err(|e| damaged(self.path, e))?;
            self.runs = part::bounds(self.path, &batch)?.into();
            self.slot = window.len();
            window.push(batch);
        }
        Ok(())
    }
}

/// Merges files, each in order of jobs and no job in two of them, into one in order of jobs.
fn merge(
    table: StoredTable,
    paths: &[PathBuf],
    mut push: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let mut window = Vec::new();
    let mut sources = Vec::new();
    let mut heads = BinaryHeap::new();
    for path in paths {
        let file = File::open(path).map_err(RecordError::io("open", path))?;
        let reader = part::read(path, file, table, None, MERGED_ROWS / 2)?;
        let mut source = Source { path, reader, slot: 0, runs: VecDeque::new() };
        source.fill(&mut window)?;
        heads.extend(source.runs.front().map(|(job, _)| Reverse((*job, sources.len()))));
        sources.push(source);
    }
    let mut rows: Vec<(usize, usize)> = Vec::with_capacity(MERGED_ROWS);
    while let Some(Reverse((_, place))) = heads.pop() {
        // A job that goes on in the next batch is the smallest again.
        let source = &mut sources[place];
        let slot = source.slot;
        rows.extend(
            source.runs.pop_front().into_iter().flat_map(|(_, run)| run).map(|r| (slot, r)),
        );
        source.fill(&mut window)?;
        heads.extend(source.runs.front().map(|(job, _)| Reverse((*job, place))));
        if rows.len() >= MERGED_ROWS {
            put_out(table, &window, &mut rows, &mut push)?;
            // Only batches that have rows to come are kept.
            let mut kept = Vec::new();
            for source in sources.iter_mut().filter(|source| !source.runs.is_empty()) {
                kept.push(window[source.slot].clone());
                source.slot = kept.len() - 1;
            }
            window = kept;
        }
    }
    if !rows.is_empty() {
        put_out(table, &window, &mut rows, &mut push)?;
    }
    Ok(())
}

/// Hands on the rows chosen from the batches of the window.
fn put_out(
    table: StoredTable,
    window: &[RecordBatch],
    rows: &mut Vec<(usize, usize)>,
    push: &mut impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    // Dictionaries of batches without a row here are none of its business.
    let mut used = BTreeMap::new();
    let mut batches = Vec::new();
    for (slot, _) in rows.iter_mut() {
        let place = *used.entry(*slot).or_insert_with(|| {
            batches.push(&window[*slot]);
            batches.len() - 1
        });
        *slot = place;
    }
    let refused = |source| RecordError::Rows { table: table.name(), source };
    push(&interleave_record_batch(&batches, rows).map_err(refused)?)?;
    rows.clear();
    Ok(())
}
