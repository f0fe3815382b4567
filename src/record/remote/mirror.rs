//! The local copy of a dataset on object storage, and how what is written to it goes up.
//!
//! A [`Mirror`] is the [`Fs`] of a dataset whose folder is the copy. What gets its name there goes
//! up at once, but for the parts of tables: they wait for their jobs part, so that the copy has the
//! whole chunk before the first object of it is put. So when the network fails nothing that was
//! computed is lost: after the first failure nothing is changed any more, and what the copy has and
//! the store has not is put by whoever opens the same copy next.

use super::store::{If, Objects, Put, Version};
use super::{RemoteError, RemoteUrl};
use crate::record::part::PartName;
use crate::record::schema::StoredTable;
use crate::record::{Fs, OutFile, RealFs, TableSet};
use crate::scenario::Table;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// See the module.
#[derive(Debug)]
pub struct Mirror {
    pub(super) url: RemoteUrl,
    pub(super) root: PathBuf,
    pub(super) objects: Arc<dyn Objects>,
    state: Mutex<State>,
    broken: AtomicBool,
    /// The folder, if it is to go when nobody reads it any more.
    _temporary: Option<TempDir>,
}

/// What is known of the objects. Names are relative, with slashes.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Objects that belong to the dataset, as last seen.
    pub seen: BTreeMap<String, Version>,
    /// Empty files that stand for objects not fetched.
    pub stand_ins: BTreeSet<String>,
    /// What is to be done up there before a jobs part is put, by its name.
    pending: BTreeMap<String, Vec<Step>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Put(String),
    Remove(String),
}

/// What a name is of.
#[derive(Debug, PartialEq, Eq)]
enum Kind<'a> {
    /// A jobs part.
    Jobs(&'a str),
    /// The part of another table.
    Rows(&'a str),
    /// Written once.
    Once,
    /// Written again as it changes.
    Changing,
}

impl Mirror {
    /// Of the dataset at `url`, in a folder.
    pub fn new(url: RemoteUrl, root: PathBuf, objects: Arc<dyn Objects>) -> Self {
        Mirror {
            url,
            root,
            objects,
            state: Mutex::default(),
            broken: AtomicBool::new(false),
            _temporary: None,
        }
    }

    /// The same, in a folder of its own that goes with it.
    pub fn temporary(url: RemoteUrl, objects: Arc<dyn Objects>) -> Result<Self, RemoteError> {
        let folder = tempfile::Builder::new().prefix("poolsweep-").tempdir();
        let folder = folder.map_err(local("create a folder for", std::env::temp_dir()))?;
        let mirror = Mirror::new(url, folder.path().to_path_buf(), objects);
        Ok(Mirror { _temporary: Some(folder), ..mirror })
    }

    /// Whether an upload failed.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::SeqCst)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Every change of it is a single insertion or removal.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The relative name of a file of the dataset; none of temporary ones and those elsewhere.
    fn name(&self, path: &Path) -> Option<String> {
        let relative = path.strip_prefix(&self.root).ok()?;
        let words: Option<Vec<&str>> = relative.iter().map(|word| word.to_str()).collect();
        words.filter(|w| w.last().is_some_and(|l| !l.starts_with('.'))).map(|w| w.join("/"))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        name.split('/').fold(self.root.clone(), |path, word| path.join(word))
    }

    fn usable(&self) -> Result<(), RemoteError> {
        if self.is_broken() { Err(RemoteError::Broken) } else { Ok(()) }
    }

    /// Runs `act` unless something failed before; its failure is the last thing that happens.
    pub(super) fn unless_broken<T>(
        &self,
        act: impl FnOnce() -> Result<T, RemoteError>,
    ) -> Result<T, RemoteError> {
        self.usable()?;
        act().inspect_err(|_| self.broken.store(true, Ordering::SeqCst))
    }

    /// A file that just got its name.
    fn named(&self, name: &str) -> Result<(), RemoteError> {
        self.state().stand_ins.remove(name);
        match kind(name) {
            Kind::Rows(part) => {
                let mut state = self.state();
                state.pending.entry(part.to_owned()).or_default().push(Step::Put(name.to_owned()));
                Ok(())
            }
            Kind::Jobs(part) => {
                let steps = self.state().pending.remove(part).unwrap_or_default();
                for step in steps {
                    match step {
                        Step::Put(name) => self.put(&name)?,
                        Step::Remove(name) => self.delete(&name)?,
                    }
                }
                self.put(name)
            }
            Kind::Once => self.put(name),
            Kind::Changing => {
                let bytes = self.read(name)?;
                self.overwrite(name, bytes)
            }
        }
    }

    /// Puts a file that nobody else may have put differently.
    pub(super) fn put(&self, name: &str) -> Result<(), RemoteError> {
        let bytes = self.read(name)?;
        let known = self.state().seen.get(name).cloned();
        let condition = known.map_or(If::Absent, If::Unchanged);
        let first = condition == If::Absent;
        if let Put::Done(version) = self.objects.put(name, bytes.clone(), condition)? {
            self.state().seen.insert(name.to_owned(), version);
            return Ok(());
        }
        let found = self.objects.get(&[name.to_owned()])?;
        let Some((there, version)) = found.into_iter().next() else { return Ok(()) };
        if there == bytes {
            // Another run did the same work, or the answer to our own put got lost.
            self.state().seen.insert(name.to_owned(), version);
            return Ok(());
        }
        let conflict = || RemoteError::Conflict { url: self.url.of(name) };
        let Kind::Rows(part) = kind(name) else { return Err(conflict()) };
        if !first || self.is_claimed(part)? {
            return Err(conflict());
        }
        // Left by a run that died before its jobs part: rows of nobody.
        match self.objects.put(name, bytes, If::Unchanged(version))? {
            Put::Done(version) => {
                self.state().seen.insert(name.to_owned(), version);
                Ok(())
            }
            Put::Refused => Err(conflict()),
        }
    }

    /// Whether the jobs part of this name is up there now.
    fn is_claimed(&self, part: &str) -> Result<bool, RemoteError> {
        let jobs = format!("{}/{part}", StoredTable::Jobs.name());
        let (listed, _) = self.objects.list(StoredTable::Jobs.name())?;
        Ok(listed.iter().any(|object| object.name == jobs))
    }

    /// Puts an object whatever is there.
    pub(super) fn overwrite(&self, name: &str, bytes: Bytes) -> Result<(), RemoteError> {
        if let Put::Done(version) = self.objects.put(name, bytes, If::Always)? {
            self.state().seen.insert(name.to_owned(), version);
        }
        Ok(())
    }

    pub(super) fn delete(&self, name: &str) -> Result<(), RemoteError> {
        self.objects.delete(name)?;
        self.state().seen.remove(name);
        Ok(())
    }

    pub(super) fn read(&self, name: &str) -> Result<Bytes, RemoteError> {
        let path = self.path(name);
        std::fs::read(&path).map(Bytes::from).map_err(local("read", path))
    }
}

impl Fs for Mirror {
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutFile>> {
        RealFs.create(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.usable()?;
        RealFs.rename(from, to)?;
        match self.name(to) {
            Some(name) => Ok(self.unless_broken(|| self.named(&name))?),
            None => Ok(()),
        }
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        // The copy need not outlast a power failure: the store does.
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let Some(name) = self.name(path) else { return RealFs.remove(path) };
        self.usable()?;
        if let Kind::Rows(part) = kind(&name) {
            let mut state = self.state();
            state.stand_ins.remove(&name);
            let known = state.seen.contains_key(&name);
            let steps = state.pending.entry(part.to_owned()).or_default();
            steps.retain(|step| *step != Step::Put(name.clone()));
            if known {
                steps.push(Step::Remove(name));
            }
        } else if self.state().seen.contains_key(&name) {
            self.unless_broken(|| self.delete(&name))?;
        }
        RealFs.remove(path)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        RealFs.create_dir(dir)
    }

    fn refresh(&self) -> io::Result<bool> {
        Ok(self.unless_broken(|| self.take_in())?)
    }

    fn fetch(&self, path: &Path) -> io::Result<()> {
        let Some(name) = self.name(path) else { return Ok(()) };
        if self.state().stand_ins.contains(&name) {
            self.download(&[name])?;
        }
        Ok(())
    }

    fn stands_in(&self, path: &Path) -> bool {
        self.name(path).is_some_and(|name| self.state().stand_ins.contains(&name))
    }

    fn shown(&self, path: &Path) -> String {
        if path == self.root {
            return self.url.to_string();
        }
        self.name(path).map_or_else(|| path.display().to_string(), |name| self.url.of(&name))
    }
}

/// The tables whose parts are named after jobs, but for `jobs`.
pub(super) fn row_tables() -> impl Iterator<Item = StoredTable> {
    let tables: Vec<Table> = TableSet::all().iter().filter(|&t| t != Table::Jobs).collect();
    tables.into_iter().map(StoredTable::from)
}

fn kind(name: &str) -> Kind<'_> {
    let Some((folder, file)) = name.split_once('/') else {
        return if name == "dataset.json" { Kind::Once } else { Kind::Changing };
    };
    let is_part = PartName::parse(file).is_some();
    match folder {
        _ if folder == StoredTable::Jobs.name() && is_part => Kind::Jobs(file),
        _ if is_part && row_tables().any(|table| table.name() == folder) => Kind::Rows(file),
        // Named after the run and its jobs.
        _ if folder == StoredTable::Timings.name() => Kind::Once,
        _ if folder == StoredTable::Reuse.name() => Kind::Once,
        _ => Kind::Changing,
    }
}

/// For `map_err`: names what was tried on which file of the copy.
pub(super) fn local(action: &'static str, path: PathBuf) -> impl FnOnce(io::Error) -> RemoteError {
    move |source| RemoteError::Local { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_names() {
        let part = "part-00000000000000aa-0123456789abcdef.parquet";
        assert_eq!(kind(&format!("jobs/{part}")), Kind::Jobs(part));
        assert_eq!(kind(&format!("drops/{part}")), Kind::Rows(part));
        assert_eq!(kind("timings/part-00000000000000aa-0123456789abcdef-r.parquet"), Kind::Once);
        assert_eq!(kind("provenance/part-r.parquet"), Kind::Changing);
        assert_eq!(kind("plan.json"), Kind::Changing);
        assert_eq!(kind("dataset.json"), Kind::Once);
        assert_eq!(kind(&format!("elsewhere/{part}")), Kind::Changing);
    }
}
