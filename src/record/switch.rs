//! Putting new files in the place of old ones of other names, so that no reader sees rows twice
//! and no kill loses any.
//!
//! Under the lock, with the new files written and synced under temporary names:
//!
//! 1. a manifest is written: which files go, which take their names; from here on there is no way
//!    back, only forward;
//! 2. the counter of the lock file is raised: whoever looked before looks again;
//! 3. the old files are removed, jobs parts first;
//! 4. the new files get their names, the jobs part last;
//! 5. the manifest is removed.
//!
//! For the milliseconds in between, rows are missing, never double. Whoever takes the lock and
//! finds a manifest knows that its writer died, and does what is left of steps 2 to 5.

use crate::record::fs::{self, Fs, TempFile, folder_of};
use crate::record::lock::Lock;
use crate::record::part::damaged;
use crate::record::{RecordError, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the manifest.
pub(super) const MANIFEST: &str = ".compacting.json";

/// What is being done; paths from the dataset's folder.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// Files that go, in this order.
    remove: Vec<PathBuf>,
    /// Temporary and final names, in this order.
    rename: Vec<(PathBuf, PathBuf)>,
}

/// Puts files in the place of others; the lock is held.
///
/// # Errors
///
/// What the disk refuses: before the manifest is there nothing has happened, afterwards the next
/// who takes the lock goes on.
pub(super) fn switch(
    fs: &Arc<dyn Fs>,
    root: &Path,
    lock: &mut Lock,
    old: &[PathBuf],
    new: Vec<TempFile>,
) -> Result<()> {
    let below = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_path_buf();
    // The temporary names have to outlast a power failure if the manifest does.
    let folders: BTreeSet<&Path> = new.iter().map(|file| folder_of(file.temporary())).collect();
    for folder in folders {
        fs.sync_dir(folder).map_err(RecordError::io("sync folder", folder))?;
    }
    let manifest = Manifest {
        remove: old.iter().map(|path| below(path)).collect(),
        rename: new.iter().map(|f| (below(f.temporary()), below(f.target()))).collect(),
    };
    // Paths of ours are text.
    let text = serde_json::to_vec(&manifest).map_err(|e| damaged(&root.join(MANIFEST), e))?;
    let written = fs::write_whole(fs, &root.join(MANIFEST), &text);
    if written.is_ok() || root.join(MANIFEST).exists() {
        // It may be there though syncing its folder failed: then the files are needed.
        new.into_iter().try_for_each(TempFile::keep)?;
    }
    written?;
    roll_forward(fs.as_ref(), root, lock).map(drop)
}

/// Ends what a manifest says, if there is one; the lock is held. Whether there was.
///
/// # Errors
///
/// What the disk refuses; a manifest that is none, or whose files are gone.
pub(super) fn roll_forward(fs: &dyn Fs, root: &Path, lock: &mut Lock) -> Result<bool> {
    let path = root.join(MANIFEST);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(RecordError::io("read", path)(source)),
    };
    let manifest: Manifest = serde_json::from_slice(&text).map_err(|e| damaged(&path, e))?;
    // While the manifest is there and everything else is as it was: a reader who looked before
    // sees that the count is another, one who looks from now on sees the manifest.
    lock.raise_compacted()?;
    let mut folders = BTreeSet::new();
    for old in &manifest.remove {
        let old = root.join(old);
        match fs.remove(&old) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                return Err(RecordError::io("remove", old)(source));
            }
            _ => drop(folders.insert(folder_of(&old).to_path_buf())),
        }
    }
    // Lasting before the new names are: a power failure must not bring back old beside new.
    sync(fs, &folders)?;
    for (temporary, target) in &manifest.rename {
        let (temporary, target) = (root.join(temporary), root.join(target));
        // Gone: renamed before the last death.
        if temporary.exists() || !target.exists() {
            let renamed = fs.rename(&temporary, &target);
            renamed.map_err(RecordError::io("put in place", &target))?;
        }
        // One by one: the jobs part must not last without the others.
        sync(fs, &BTreeSet::from([folder_of(&target).to_path_buf()]))?;
    }
    fs.remove(&path).map_err(RecordError::io("remove", &path))?;
    sync(fs, &BTreeSet::from([root.to_path_buf()]))?;
    Ok(true)
}

fn sync(fs: &dyn Fs, folders: &BTreeSet<PathBuf>) -> Result<()> {
    let one = |dir: &PathBuf| fs.sync_dir(dir).map_err(RecordError::io("sync folder", dir));
    folders.iter().try_for_each(one)
}
