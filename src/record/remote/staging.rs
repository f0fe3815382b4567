//! Where the local copy of a writer is.
//!
//! One folder a process and dataset: several runs of one dataset on one machine each have their
//! own, and meet in the store only. A folder is its process's as long as that holds the lock of the
//! file beside it; one that is left behind is taken over by the next run.

use super::{RemoteError, RemoteUrl, mirror::local};
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// More runs of one dataset on one machine than this have no place.
const MOST: usize = 256;

/// A folder, ours until dropped.
#[derive(Debug)]
pub struct Staging {
    folder: PathBuf,
    /// Held; none where the process that started this one holds it.
    _lock: Option<File>,
}

impl Staging {
    /// The first folder for this dataset below `base` that nobody has.
    pub fn take(url: &RemoteUrl, base: &Path) -> Result<Self, RemoteError> {
        std::fs::create_dir_all(base).map_err(local("create", base.to_path_buf()))?;
        let hash = blake3::hash(url.to_string().as_bytes()).to_hex();
        let name = |number| format!("poolsweep-{}-{number}", &hash[..16]);
        let mut refused = None;
        for number in 1..=MOST {
            let path = base.join(format!("{}.lock", name(number)));
            let mut options = File::options();
            let file = match options.create(true).truncate(false).write(true).open(&path) {
                Ok(file) => file,
                // Another user's.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    refused = Some((path, error));
                    continue;
                }
                Err(error) => return Err(local("open", path)(error)),
            };
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => continue,
                // Nobody can be kept out where there are no locks; such runs need folders apart.
                Ok(()) | Err(TryLockError::Error(_)) => {
                    let folder = base.join(name(number));
                    std::fs::create_dir_all(&folder).map_err(local("create", folder.clone()))?;
                    return Ok(Staging { folder, _lock: Some(file) });
                }
            }
        }
        let (path, error) = refused.unwrap_or_else(|| {
            (base.to_path_buf(), std::io::Error::other(format!("all {MOST} folders are in use")))
        });
        Err(local("lock a folder", path)(error))
    }

    /// The folder that the process that started this one took.
    pub fn adopt(folder: PathBuf) -> Self {
        Staging { folder, _lock: None }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the folder; its lock stays, as somebody may be waiting for it.
    pub fn discard(&self) {
        // Left over, it costs room and is taken over by the next run.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_a_folder_and_the_next_takes_over_what_is_left() {
        let base = tempfile::tempdir().unwrap();
        let url = RemoteUrl::parse("s3://b/p").unwrap();
        let other = RemoteUrl::parse("s3://b/q").unwrap();
        let first = Staging::take(&url, base.path()).unwrap();
        let second = Staging::take(&url, base.path()).unwrap();
        let third = Staging::take(&other, base.path()).unwrap();
        assert_ne!(first.folder(), second.folder());
        assert_ne!(first.folder(), third.folder());
        std::fs::write(first.folder().join("left"), b"x").unwrap();
        let folder = first.folder().to_path_buf();
        drop(first);
        let again = Staging::take(&url, base.path()).unwrap();
        assert_eq!(again.folder(), folder);
        assert!(again.folder().join("left").exists());
        again.discard();
        assert!(!folder.exists());
    }
}
