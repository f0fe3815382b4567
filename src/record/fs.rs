//! The few things done to files, behind a trait so that tests can make each of them fail.
//!
//! Owns the life of a temporary file: created beside its target under a name that readers skip,
//! synced, renamed. The name starts with a dot, which readers of folders skip, and does not end as
//! its target does: a glob of polars takes dot files too. One that is not renamed is removed when dropped; one whose process was killed
//! is removed by the next that opens the dataset and can tell that its owner is dead.

use crate::record::{RecordError, Result};
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// Start of every temporary name.
const TEMPORARY: &str = ".tmp-";

/// A file being written.
pub trait OutFile: Write + Send {
    /// Flushes it to the disk.
    fn sync(&mut self) -> io::Result<()>;
}

/// The operations that change a dataset's folder.
pub trait Fs: Send + Sync + fmt::Debug {
    /// Creates a file that must not exist yet.
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutFile>>;
    /// Gives a file its name, in place of whatever has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes renames and removals in a folder last.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Creates a folder and those above it.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes in what others published, where the folder does not show it by itself. Returns whether
    /// there was anything.
    fn refresh(&self) -> io::Result<bool> {
        Ok(false)
    }
    /// Gets the content of a file that only stands for one.
    fn fetch(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
    /// Whether a file only stands for one that is whole elsewhere.
    fn stands_in(&self, _path: &Path) -> bool {
        false
    }
    /// What a person knows a file or folder by.
    fn shown(&self, path: &Path) -> String {
        path.display().to_string()
    }
}

/// The operating system's files.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealFs;

impl OutFile for fs::File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

impl Fs for RealFs {
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutFile>> {
        Ok(Box::new(fs::File::create_new(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        // Only Unix can open a folder to sync it; elsewhere a rename is as lasting as it gets.
        if cfg!(unix) { fs::File::open(dir)?.sync_all() } else { Ok(()) }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)
    }
}

/// A file under a temporary name, removed on drop unless published.
pub(super) struct TempFile {
    fs: Arc<dyn Fs>,
    file: Option<Box<dyn OutFile>>,
    temporary: PathBuf,
    target: PathBuf,
}

impl TempFile {
    /// Creates it in the folder of its target, which is created too.
    pub fn create(fs: &Arc<dyn Fs>, target: &Path) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = folder_of(target);
        if !folder.exists() {
            fs.create_dir(folder).map_err(RecordError::io("create folder", folder))?;
            // The folder has to outlast a power failure as much as the files in it.
            let above = folder_of(folder);
            fs.sync_dir(above).map_err(RecordError::io("sync folder", above))?;
        }
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("{TEMPORARY}{}-{count}-{name}.tmp", *OWNER));
        let file = fs.create(&temporary).map_err(RecordError::io("create", &temporary))?;
        Ok(TempFile {
            fs: Arc::clone(fs),
            file: Some(file),
            temporary,
            target: target.to_path_buf(),
        })
    }

    /// The name it is to have.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The name it has until then.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Seals it and leaves it where it is, under its temporary name.
    pub fn keep(mut self) -> Result<()> {
        self.seal()?;
        // Nothing is left for drop to remove.
        self.temporary = PathBuf::new();
        Ok(())
    }

    /// Ends writing: the bytes are on the disk, the name is not there yet.
    pub fn seal(&mut self) -> Result<()> {
        if let Some(mut file) = self.file.take() {
            let synced = file.flush().and_then(|()| file.sync());
            synced.map_err(RecordError::io("write", &self.target))?;
        }
        Ok(())
    }

    /// Seals it and gives it its name, in place of what had it.
    pub fn publish(mut self) -> Result<()> {
        self.seal()?;
        let renamed = self.fs.rename(&self.temporary, &self.target);
        renamed.map_err(RecordError::io("put in place", &self.target))?;
        // The temporary name is gone: nothing is left for drop to remove.
        let temporary = std::mem::take(&mut self.temporary);
        let folder = folder_of(&temporary);
        self.fs.sync_dir(folder).map_err(RecordError::io("sync folder", folder))
    }
}

impl Write for TempFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Err(io::Error::other("the file is sealed")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.flush())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            drop(self.file.take());
            // Nothing to be done if this fails: readers skip the name, and the next opening tries.
            let _ = self.fs.remove(&self.temporary);
        }
    }
}

/// Writes a whole small file atomically.
pub(super) fn write_whole(fs: &Arc<dyn Fs>, target: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = TempFile::create(fs, target)?;
    file.write_all(bytes).map_err(RecordError::io("write", target))?;
    file.publish()
}

/// Writes a file atomically, in place of one that has its name: a reader sees the old one or the whole
/// new one.
///
/// # Errors
///
/// What the operating system refuses.
pub fn write_file(target: &Path, bytes: &[u8]) -> Result<()> {
    write_whole(&(Arc::new(RealFs) as Arc<dyn Fs>), target, bytes)
}

/// Removes the temporary files of a folder whose owners are known dead: they ran on this host, in
/// this process namespace, and their process id is free. Any doubt leaves the file alone.
pub(super) fn remove_orphans(fs: &dyn Fs, dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        if is_orphan(&entry.file_name().to_string_lossy()) {
            // Another process may be removing the same one.
            let _ = fs.remove(&entry.path());
        }
    }
}

/// Whether a name is one of ours that readers are to skip.
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}

fn is_orphan(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(TEMPORARY) else { return false };
    let mut fields = rest.split('-');
    let (Some(host), Some(process)) = (fields.next(), fields.next()) else { return false };
    let Ok(process) = process.parse::<u32>() else { return false };
    // Without /proc nothing is known about other processes.
    host == *HOST
        && process != std::process::id()
        && Path::new("/proc/self").exists()
        && !Path::new(&format!("/proc/{process}")).exists()
}

/// The host's name and, where there are such, its process namespace: two containers may share a
/// name, and process ids mean nothing across them. Free of `-`, which separates fields.
pub(super) static HOST: LazyLock<String> = LazyLock::new(|| {
    let name = fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok())
        .or_else(|| std::env::var("COMPUTERNAME").ok())
        .unwrap_or_else(|| "host".to_owned());
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = space.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' };
    format!("{}_{digits}", name.trim().chars().map(plain).collect::<String>())
});

/// Host, process id, and a word that tells this process from an earlier one of the same id.
static OWNER: LazyLock<String> = LazyLock::new(|| {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}-{:x}", *HOST, std::process::id(), now.as_nanos() as u64)
});

pub(super) fn folder_of(path: &Path) -> &Path {
    // A bare name has the empty path above it.
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real() -> Arc<dyn Fs> {
        Arc::new(RealFs)
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_only_once_published() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.txt");
        let mut file = TempFile::create(&real(), &target).unwrap();
        file.write_all(b"whole").unwrap();
        assert!(!target.exists());
        let temporary = &names(dir.path())[0];
        assert!(is_temporary(temporary) && !temporary.ends_with(".txt"), "{temporary}");
        file.publish().unwrap();
        assert_eq!(names(dir.path()), ["a.txt"]);
        assert_eq!(fs::read(&target).unwrap(), b"whole");
    }

    #[test]
    fn a_dropped_file_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = TempFile::create(&real(), &dir.path().join("a.txt")).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn only_files_of_dead_owners_are_orphans() {
        let dir = tempfile::tempdir().unwrap();
        // Above the largest process id Linux gives.
        let dead = format!(".tmp-{}-4294967295-0-0-a", *HOST);
        let alive = format!(".tmp-{}-{}-0-0-a", *HOST, std::process::id());
        let elsewhere = ".tmp-other_1-4294967295-0-0-a".to_owned();
        for name in [&dead, &alive, &elsewhere] {
            fs::write(dir.path().join(name), b"x").unwrap();
        }
        remove_orphans(&RealFs, dir.path());
        let mut kept = vec![alive, elsewhere];
        kept.sort();
        assert_eq!(names(dir.path()), kept);
    }
}
