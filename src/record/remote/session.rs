//! A dataset on object storage, from opening to the end of a command.

use super::fetch::{JOURNAL, files_in};
use super::mirror::Mirror;
use super::staging::Staging;
use super::store::{Objects, Store};
use super::{Extent, RemoteError, RemoteUrl};
use crate::record::{Dataset, Fs, Result};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a journal goes up while a run goes on.
const JOURNAL_EVERY: Duration = Duration::from_secs(10);

/// A dataset on object storage being written, and the folder of its local copy.
#[derive(Debug)]
pub struct Remote {
    url: RemoteUrl,
    staging: Staging,
    open: Mutex<Option<Open>>,
}

/// What there is while the dataset is open.
#[derive(Debug)]
struct Open {
    mirror: Arc<Mirror>,
    stop: Sender<()>,
    pushing: JoinHandle<()>,
}

/// Opens a dataset on object storage for reading; its copy goes with it.
///
/// # Errors
/// No dataset there; a store that cannot be read.
pub fn read(url: &RemoteUrl, extent: Extent) -> Result<Dataset> {
    let store = Store::from_environment(url, false)?;
    let mirror = Mirror::temporary(url.clone(), Arc::new(store))?;
    mirror.pull_to_read(extent)?;
    let root = mirror.root.clone();
    Dataset::open_with(root, Arc::new(mirror))
}

impl Remote {
    /// Takes a folder for the copy below `base`, or the one that the process that started this one
    /// took. Nothing is asked of the store yet.
    ///
    /// # Errors
    /// A folder that cannot be made.
    pub fn stage(url: &RemoteUrl, base: &Path, taken: Option<PathBuf>) -> Result<Self> {
        let staging = match taken {
            Some(folder) => Staging::adopt(folder),
            None => Staging::take(url, base)?,
        };
        Ok(Remote { url: url.clone(), staging, open: Mutex::new(None) })
    }

    /// The folder of the copy.
    pub fn folder(&self) -> &Path {
        self.staging.folder()
    }

    /// Opens the dataset for writing; makes one if there is nothing.
    ///
    /// # Errors
    /// Other objects there; a store that cannot be used; those of the dataset.
    pub fn open_or_create(&self) -> Result<Dataset> {
        self.open(false)
    }

    /// Opens the dataset for writing.
    ///
    /// # Errors
    /// As above, and if there is none.
    pub fn open_existing(&self) -> Result<Dataset> {
        self.open(true)
    }

    fn open(&self, must_exist: bool) -> Result<Dataset> {
        // Quick to say that bucket or credentials are wrong, before there is anything to lose.
        self.store(false)?.list("")?;
        let mirror = Arc::new(self.mirror()?);
        if !mirror.pull_to_write()? && must_exist {
            return Err(RemoteError::NoDataset { url: self.url.to_string() }.into());
        }
        let dataset =
            Dataset::open_or_create_with(self.folder(), Arc::clone(&mirror) as Arc<dyn Fs>)?;
        let (stop, stopped) = channel();
        let pushed = Arc::clone(&mirror);
        let pushing = std::thread::spawn(move || {
            let mut sent = BTreeMap::new();
            while stopped.recv_timeout(JOURNAL_EVERY) == Err(RecvTimeoutError::Timeout) {
                // A look at the run misses something, the run nothing: the end tries again.
                let _ = push_journals(&pushed, &mut sent);
            }
        });
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        *open = Some(Open { mirror, stop, pushing });
        Ok(dataset)
    }

    fn store(&self, patient: bool) -> std::result::Result<Store, RemoteError> {
        Store::from_environment(&self.url, patient)
    }

    fn mirror(&self) -> std::result::Result<Mirror, RemoteError> {
        let store = Arc::new(self.store(true)?);
        Ok(Mirror::new(self.url.clone(), self.folder().to_path_buf(), store))
    }

    /// Fetches what is known of suspects.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn pull_suspects(&self) -> Result<()> {
        let quick = Arc::new(self.store(false)?);
        let mirror = Mirror::new(self.url.clone(), self.folder().to_path_buf(), quick);
        Ok(mirror.pull_suspects()?)
    }

    /// Puts journals and suspects as they are in the copy; for the process that watches a run,
    /// after a death.
    ///
    /// # Errors
    /// A store that refuses them.
    pub fn push_notes(&self) -> Result<()> {
        let mirror = self.mirror()?;
        let mut there = mirror.journals()?;
        push_journals(&mirror, &mut there)?;
        for file in files_in(&self.folder().join("suspects"))? {
            if file.ends_with(".json") {
                let name = format!("suspects/{file}");
                mirror.overwrite(&name, mirror.read(&name)?)?;
            }
        }
        Ok(())
    }

    /// Removes the object of a file of the copy that is gone.
    ///
    /// # Errors
    /// A store that refuses it.
    pub fn forget(&self, relative: &Path) -> Result<()> {
        let words: Vec<_> = relative.iter().map(|word| word.to_string_lossy()).collect();
        Ok(self.mirror()?.delete(&words.join("/"))?)
    }

    /// Ends writing: the journals go up. The copy stays.
    ///
    /// # Errors
    /// A store that refuses them.
    pub fn close(&self) -> Result<()> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Open { mirror, stop, pushing }) = open else { return Ok(()) };
        drop(stop);
        // It does not panic; were it to, the journals are put below.
        let _ = pushing.join();
        if mirror.is_broken() {
            // What failed was said; another wait would not help.
            return Ok(());
        }
        // A bucket may allow no removals: readers leave such rows out, the next run tries again.
        let _ = mirror.remove_superseded();
        let mut there = mirror.journals()?;
        Ok(push_journals(&mirror, &mut there)?)
    }

    /// Whether the copy has parts that the store may not have.
    pub fn has_results(&self) -> bool {
        files_in(&self.folder().join("jobs")).is_ok_and(|files| !files.is_empty())
    }

    /// Removes the copy, once all of it is in the store.
    pub fn discard(self) {
        self.staging.discard();
    }
}

/// Puts the journals that are longer here than `there`.
fn push_journals(
    mirror: &Mirror,
    there: &mut BTreeMap<String, u64>,
) -> std::result::Result<(), RemoteError> {
    for file in files_in(&mirror.root.join(JOURNAL))? {
        let name = format!("{JOURNAL}/{file}");
        let bytes: Bytes = mirror.read(&name)?;
        let length = bytes.len() as u64;
        if there.get(&name).is_none_or(|&known| known < length) {
            mirror.overwrite(&name, bytes)?;
            there.insert(name, length);
        }
    }
    Ok(())
}
