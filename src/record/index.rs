//! Which jobs are in which part.
//!
//! Rests on one rule: the set of jobs of a part never changes while the part exists (its rows may
//! be replaced). So a name once read is known for good, and looking again costs one listing. Parts
//! vanish when they are put together into one of another name.

use crate::record::part::{self, PartName};
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result};
use crate::sweep::plan::JobId;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// Parts and their jobs.
#[derive(Debug, Default)]
pub(super) struct Index {
    parts: BTreeMap<Arc<PartName>, Vec<JobId>>,
    jobs: BTreeMap<JobId, Arc<PartName>>,
}

impl Index {
    /// Takes in what is in `jobs/` and drops what is not there any more.
    ///
    /// # Errors
    ///
    /// A file in the folder that is no part, or a part that cannot be read.
    pub fn refresh(&mut self, root: &Path) -> Result<()> {
        let folder = root.join(StoredTable::Jobs.name());
        let found = list(&folder)?;
        if self.parts.keys().any(|part| !found.contains(part.as_ref())) {
            // Put together with others, or deleted by hand.
            *self = Index::default();
        }
        for part in found {
            if !self.parts.contains_key(&part) {
                let path = folder.join(part.as_str());
                let mut jobs = Vec::new();
                for batch in part::open(&path, StoredTable::Jobs, Some(&["job_id"]))? {
                    let batch = batch.map_err(|e| part::damaged(&path, e))?;
                    let id = part::words(&path, &batch, "job_id")?;
                    for row in 0..batch.num_rows() {
                        jobs.push(part::parse_id(&path, id(row))?);
                    }
                }
                self.add(part, jobs);
            }
        }
        Ok(())
    }

    /// Takes in a part just published.
    pub fn add(&mut self, part: PartName, jobs: Vec<JobId>) {
        let part = Arc::new(part);
        self.jobs.extend(jobs.iter().map(|&job| (job, Arc::clone(&part))));
        self.parts.insert(part, jobs);
    }

    /// Takes in a part that was made of others.
    pub fn replace(&mut self, old: &[PartName], part: PartName, jobs: Vec<JobId>) {
        old.iter().for_each(|old| drop(self.parts.remove(old)));
        self.add(part, jobs);
    }

    /// The part that holds a job.
    pub fn part_of(&self, job: JobId) -> Option<&PartName> {
        self.jobs.get(&job).map(AsRef::as_ref)
    }

    /// Every part, in order of names.
    pub fn parts(&self) -> impl Iterator<Item = &PartName> {
        self.parts.keys().map(AsRef::as_ref)
    }

    /// The jobs of a part, in order.
    pub fn jobs_of(&self, part: &PartName) -> &[JobId] {
        self.parts.get(part).map_or(&[], Vec::as_slice)
    }
}

/// The parts in a table's folder; none if the folder is not there.
///
/// # Errors
///
/// A Parquet file that is no part: every reader of the folder would take it for one.
pub(super) fn list(folder: &Path) -> Result<BTreeSet<PartName>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(source) => return Err(RecordError::io("list", folder)(source)),
    };
    let mut parts = BTreeSet::new();
    for entry in entries {
        let entry = entry.map_err(RecordError::io("list", folder))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        match PartName::parse(&name) {
            Some(part) => {
                parts.insert(part);
            }
            // Readers take every Parquet file, some of them dot files too.
            None if name.ends_with(".parquet") => {
                return Err(RecordError::Foreign {
                    path: entry.path(),
                    detail: "it is not named as parts are".to_owned(),
                });
            }
            None => {}
        }
    }
    Ok(parts)
}
