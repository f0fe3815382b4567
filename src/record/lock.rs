//! One publisher at a time.
//!
//! Publishing is a look at what is there and a few renames; between the two nobody else may
//! rename. Threads of a process wait on a mutex (in [`Dataset`]), processes on a lock of the file
//! `.lock`, which the system releases when its owner dies. Some file systems have no locks: there
//! the processes do without, which is safe as long as they work on different chunks, or on one
//! with the same tables and interval.
//!
//! The file holds a counter that every publisher raises, so that the next can tell in one short
//! read whether anybody published since it last looked. A second counter says how often parts were
//! put together, for readers, who hold no lock: what they listed before that is no longer there.
//!
//! [`Dataset`]: crate::record::Dataset

use crate::record::{RecordError, Result};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Name of the lock file.
pub(super) const LOCK_FILE: &str = ".lock";

/// The lock, held until dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
    held: bool,
}

impl Lock {
    /// Waits until no other process holds it.
    pub fn take(root: &Path) -> Result<Self> {
        let path = root.join(LOCK_FILE);
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(RecordError::io("open", &path))?;
        let held = match file.lock() {
            Ok(()) => true,
            Err(error) if unsupported(&error) => false,
            Err(source) => return Err(RecordError::io("lock", &path)(source)),
        };
        Ok(Lock { file, path, held })
    }

    /// Whether other processes are really kept out.
    pub fn held(&self) -> bool {
        self.held
    }

    /// How often somebody published; `None` where that cannot be known.
    pub fn count(&mut self) -> Result<Option<u64>> {
        if !self.held {
            return Ok(None);
        }
        Ok(Some(self.counters()?.0))
    }

    /// Raises the counter; to be called before the first rename.
    pub fn raise(&mut self) -> Result<Option<u64>> {
        if !self.held {
            return Ok(None);
        }
        let (published, compacted) = self.counters()?;
        self.write(published.wrapping_add(1), compacted).map(Some)
    }

    /// Raises both counters; to be called while the manifest is there, before the first removal.
    pub fn raise_compacted(&mut self) -> Result<Option<u64>> {
        let (published, compacted) = self.counters()?;
        self.write(published.wrapping_add(1), compacted.wrapping_add(1)).map(Some)
    }

    fn counters(&mut self) -> Result<(u64, u64)> {
        let mut bytes = Vec::with_capacity(16);
        let read = self.file.rewind().and_then(|()| self.file.read_to_end(&mut bytes));
        read.map_err(RecordError::io("read", &self.path))?;
        Ok(parse(&bytes))
    }

    fn write(&mut self, published: u64, compacted: u64) -> Result<u64> {
        let bytes = [published.to_le_bytes(), compacted.to_le_bytes()].concat();
        let written = self.file.rewind().and_then(|()| self.file.write_all(&bytes));
        written.map_err(RecordError::io("write", &self.path))?;
        Ok(published)
    }
}

/// How often parts of a dataset were put together; takes no lock.
pub(super) fn compactions(root: &Path) -> u64 {
    std::fs::read(root.join(LOCK_FILE)).map_or(0, |bytes| parse(&bytes).1)
}

/// Nothing in it yet, or half of it after a power failure: start over.
fn parse(bytes: &[u8]) -> (u64, u64) {
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    };
    (number(0), number(8))
}

/// Whether the file system has no locks: the kind, or ENOLCK, ENOSYS, EOPNOTSUPP of Linux.
fn unsupported(error: &io::Error) -> bool {
    error.kind() == ErrorKind::Unsupported || matches!(error.raw_os_error(), Some(37 | 38 | 95))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_outlives_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let mut lock = Lock::take(dir.path()).unwrap();
        assert_eq!(lock.count().unwrap(), Some(0));
        assert_eq!(lock.raise().unwrap(), Some(1));
        drop(lock);
        let mut lock = Lock::take(dir.path()).unwrap();
        assert!(lock.held());
        assert_eq!(lock.count().unwrap(), Some(1));
    }

    #[test]
    fn a_second_taker_waits() {
        let dir = tempfile::tempdir().unwrap();
        let lock = Lock::take(dir.path()).unwrap();
        let (send, receive) = std::sync::mpsc::channel();
        let root = dir.path().to_path_buf();
        let waiting = std::thread::spawn(move || {
            drop(Lock::take(&root).unwrap());
            send.send(()).unwrap();
        });
        let early = receive.recv_timeout(std::time::Duration::from_millis(50));
        assert!(early.is_err(), "taken twice");
        drop(lock);
        receive.recv().unwrap();
        waiting.join().unwrap();
    }
}
