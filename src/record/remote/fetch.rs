//! Bringing the local copy up to what the store has.

use super::mirror::{Mirror, local, row_tables};
use super::store::Listed;
use super::{Extent, RemoteError};
use crate::record::part::{self, PartName};
use crate::record::schema::StoredTable;
use crate::sweep::plan::JobId;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

/// No Parquet file is shorter.
const SHORTEST: u64 = 12;
/// Folders that are fetched whole, whoever opens.
const WHOLE: [&str; 2] = ["sources", "suspects"];
/// The folder of journals.
pub(super) const JOURNAL: &str = "journal";

impl Mirror {
    /// Fetches what a reader needs.
    pub fn pull_to_read(&self, extent: Extent) -> Result<(), RemoteError> {
        let (files, folders) = self.objects.list("")?;
        if !has_marker(&files) {
            return Err(RemoteError::NoDataset { url: self.url.to_string() });
        }
        let mut wanted: Vec<String> = names(&files).collect();
        for folder in &folders {
            let all =
                extent == Extent::Everything || folder == JOURNAL || WHOLE.contains(&&**folder);
            if all {
                wanted.extend(names(&self.objects.list(folder)?.0));
            }
        }
        let jobs = self.list_jobs()?;
        wanted.extend(names(&jobs));
        wanted.sort();
        wanted.dedup();
        self.download(&wanted)?;
        if extent == Extent::Jobs { self.stand_in(&parts(&jobs)) } else { Ok(()) }
    }

    /// Fetches what a writer needs, and puts what an earlier one could not. Returns whether there
    /// is a dataset.
    pub fn pull_to_write(&self) -> Result<bool, RemoteError> {
        let (files, folders) = self.objects.list("")?;
        if !has_marker(&files) {
            if !files.is_empty() || !folders.is_empty() {
                return Err(RemoteError::NotADataset { url: self.url.to_string() });
            }
            // What is here is of a dataset that was removed.
            self.forget_all_but(&BTreeSet::new())?;
            return Ok(false);
        }
        let jobs = self.list_jobs()?;
        let there = parts(&jobs);
        let left = self.left_behind(&there)?;
        self.forget_all_but(&left)?;
        let mut wanted: Vec<String> = names(&files).chain(names(&jobs)).collect();
        for folder in WHOLE {
            wanted.extend(names(&self.objects.list(folder)?.0));
        }
        self.download(&wanted)?;
        self.stand_in(&there)?;
        self.put_left_behind(&there, &left)?;
        Ok(true)
    }

    /// Takes in what others published since the last look; whether there was anything.
    pub(super) fn take_in(&self) -> Result<bool, RemoteError> {
        let jobs = self.list_jobs()?;
        let mut new = Vec::new();
        let mut gone: BTreeSet<String> = {
            let state = self.state();
            let changed = |o: &&Listed| state.seen.get(&o.name) != Some(&o.version);
            new.extend(jobs.iter().filter(changed).cloned());
            let seen = state.seen.keys().filter(|name| is_jobs_file(name));
            seen.cloned().collect()
        };
        jobs.iter().for_each(|object| {
            gone.remove(&object.name);
        });
        for name in &gone {
            self.drop_part(name)?;
        }
        let fetched: Vec<String> = names(&new).collect();
        self.download(&fetched)?;
        if !new.is_empty() {
            self.stand_in(&parts(&new))?;
        }
        Ok(!gone.is_empty() || !new.is_empty())
    }

    /// Fetches objects into their files.
    pub(super) fn download(&self, wanted: &[String]) -> Result<(), RemoteError> {
        // In lots, so that a large dataset need not fit into memory.
        for lot in wanted.chunks(16) {
            for (name, (bytes, version)) in lot.iter().zip(self.objects.get(lot)?) {
                write(&self.path(name), &bytes)?;
                let mut state = self.state();
                state.seen.insert(name.clone(), version);
                state.stand_ins.remove(name);
            }
        }
        Ok(())
    }

    /// Fetches the suspects alone.
    pub fn pull_suspects(&self) -> Result<(), RemoteError> {
        let (listed, _) = self.objects.list("suspects")?;
        self.download(&names(&listed).collect::<Vec<_>>())
    }

    /// The Parquet files in `jobs/`.
    fn list_jobs(&self) -> Result<Vec<Listed>, RemoteError> {
        let (mut listed, _) = self.objects.list(StoredTable::Jobs.name())?;
        listed.retain(|object| is_jobs_file(&object.name));
        Ok(listed)
    }

    /// Lays empty files for the parts of other tables; those of no jobs part are left out.
    fn stand_in(&self, parts: &BTreeSet<String>) -> Result<(), RemoteError> {
        for table in row_tables() {
            let (listed, _) = self.objects.list(table.name())?;
            for object in listed {
                let file = object.name.rsplit('/').next().unwrap_or_default();
                if !parts.contains(file) {
                    continue;
                }
                if object.size < SHORTEST {
                    // Damaged: whoever looks at the file finds that.
                    self.download(&[object.name])?;
                    continue;
                }
                write(&self.path(&object.name), b"")?;
                let mut state = self.state();
                state.stand_ins.insert(object.name.clone());
                state.seen.insert(object.name, object.version);
            }
        }
        Ok(())
    }

    /// Local jobs parts that the store has not: their upload failed.
    fn left_behind(&self, there: &BTreeSet<String>) -> Result<BTreeSet<String>, RemoteError> {
        let folder = self.root.join(StoredTable::Jobs.name());
        let mut left = BTreeSet::new();
        for name in files_in(&folder)? {
            if PartName::parse(&name).is_some() && !there.contains(&name) {
                left.insert(name);
            }
        }
        Ok(left)
    }

    /// Removes the local files of all tables but for those of the parts given, and everything
    /// that is fetched whole.
    fn forget_all_but(&self, left: &BTreeSet<String>) -> Result<(), RemoteError> {
        let jobs = std::iter::once(StoredTable::Jobs);
        for table in jobs.chain(row_tables()) {
            let folder = self.root.join(table.name());
            for name in files_in(&folder)?.into_iter().filter(|name| !left.contains(name)) {
                remove(&folder.join(name))?;
            }
        }
        let fetched = WHOLE.map(|folder| self.root.join(folder));
        for folder in fetched.iter().chain([&self.root]) {
            for name in files_in(folder)?.into_iter().filter(|name| !name.starts_with(".lock")) {
                remove(&folder.join(name))?;
            }
        }
        Ok(())
    }

    /// Puts parts that an earlier run finished and could not put, unless their jobs have been
    /// done elsewhere since.
    fn put_left_behind(
        &self,
        there: &BTreeSet<String>,
        left: &BTreeSet<String>,
    ) -> Result<(), RemoteError> {
        if left.is_empty() {
            return Ok(());
        }
        let mut done = BTreeSet::new();
        for part in there {
            done.extend(self.jobs_in(part));
        }
        for part in left {
            let jobs = format!("{}/{part}", StoredTable::Jobs.name());
            let mine = self.jobs_in(part);
            if mine.is_empty() || mine.iter().any(|job| done.contains(job)) {
                self.drop_part(&jobs)?;
                continue;
            }
            for table in row_tables() {
                let name = format!("{}/{part}", table.name());
                if self.path(&name).exists() {
                    self.put(&name)?;
                }
            }
            self.put(&jobs)?;
        }
        Ok(())
    }

    /// Removes rows of runs that died before their jobs part, once their jobs are done elsewhere:
    /// who globs a table would see them twice. Rows of jobs that are not done may be in the making.
    pub fn remove_superseded(&self) -> Result<(), RemoteError> {
        self.take_in()?;
        let there = parts(&self.list_jobs()?);
        let mut done = None;
        for table in row_tables() {
            for object in self.objects.list(table.name())?.0 {
                let file = object.name.rsplit('/').next().unwrap_or_default();
                if PartName::parse(file).is_none() || there.contains(file) {
                    continue;
                }
                let done: &BTreeSet<JobId> = done.get_or_insert_with(|| {
                    there.iter().flat_map(|part| self.jobs_in(part)).collect()
                });
                let Some((bytes, _)) = self.objects.get(std::slice::from_ref(&object.name))?.pop()
                else {
                    continue;
                };
                let path = self.path(".superseded");
                write(&path, &bytes)?;
                let jobs = job_ids(&path, table);
                remove(&path)?;
                if !jobs.is_empty() && jobs.iter().all(|job| done.contains(job)) {
                    self.objects.delete(&object.name)?;
                }
            }
        }
        Ok(())
    }

    /// The jobs of a local jobs part.
    fn jobs_in(&self, part: &str) -> BTreeSet<JobId> {
        job_ids(&self.root.join(StoredTable::Jobs.name()).join(part), StoredTable::Jobs)
    }

    /// Forgets a part that is not up there: its files and what was known of them.
    fn drop_part(&self, jobs: &str) -> Result<(), RemoteError> {
        let file = jobs.rsplit('/').next().unwrap_or_default();
        let tables = std::iter::once(StoredTable::Jobs).chain(row_tables());
        for name in tables.map(|table| format!("{}/{file}", table.name())) {
            remove(&self.path(&name))?;
            let mut state = self.state();
            state.seen.remove(&name);
            state.stand_ins.remove(&name);
        }
        Ok(())
    }

    /// Lengths of the journals up there.
    pub(super) fn journals(&self) -> Result<BTreeMap<String, u64>, RemoteError> {
        let (listed, _) = self.objects.list(JOURNAL)?;
        Ok(listed.into_iter().map(|object| (object.name, object.size)).collect())
    }
}

/// The jobs that a file has rows of; none of one that cannot be read, which whoever opens the
/// dataset will say.
fn job_ids(path: &Path, table: StoredTable) -> BTreeSet<JobId> {
    let read = || -> crate::record::Result<BTreeSet<JobId>> {
        let mut jobs = BTreeSet::new();
        for batch in part::open(path, table, Some(&["job_id"]))? {
            let batch = batch.map_err(|e| part::damaged(path, e))?;
            let id = part::words(path, &batch, "job_id")?;
            for row in 0..batch.num_rows() {
                jobs.insert(part::parse_id(path, id(row))?);
            }
        }
        Ok(jobs)
    };
    read().unwrap_or_default()
}

fn has_marker(files: &[Listed]) -> bool {
    files.iter().any(|object| object.name == "dataset.json")
}

fn names(listed: &[Listed]) -> impl Iterator<Item = String> {
    listed.iter().map(|object| object.name.clone())
}

/// The file names of the parts among jobs files.
fn parts(jobs: &[Listed]) -> BTreeSet<String> {
    let files = jobs.iter().filter_map(|object| object.name.rsplit('/').next());
    files.filter(|file| PartName::parse(file).is_some()).map(str::to_owned).collect()
}

fn is_jobs_file(name: &str) -> bool {
    name.strip_prefix(StoredTable::Jobs.name())
        .and_then(|rest| rest.strip_prefix('/'))
        .is_some_and(|file| file.ends_with(".parquet") && !file.contains('/'))
}

/// The names of the files in a folder of the copy; none if it is not there.
pub(super) fn files_in(folder: &Path) -> Result<Vec<String>, RemoteError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(local("list", folder.to_path_buf())(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(local("list", folder.to_path_buf()))?;
        let name = entry.file_name().into_string();
        if let (Ok(name), false) = (name, entry.path().is_dir()) {
            files.push(name);
        }
    }
    files.sort();
    Ok(files)
}

fn remove(path: &Path) -> Result<(), RemoteError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(local("remove", path.to_path_buf())(error))
        }
        _ => Ok(()),
    }
}

/// Writes a file under a temporary name and renames it: a run killed meanwhile leaves no half.
fn write(path: &Path, bytes: &[u8]) -> Result<(), RemoteError> {
    let folder = path.parent().unwrap_or(path);
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        let mut file =
            tempfile::Builder::new().prefix(".tmp-").suffix(".tmp").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    });
    written.map_err(local("write", path.to_path_buf()))
}
