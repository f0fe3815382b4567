//! Every operation on files made to fail, one after the other.

use super::*;
use crate::record::{Fs, OutFile, RealFs, RecordError};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What happens at the step that fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Fault {
    /// It fails, and so does whatever is tried afterwards: the process is as good as dead.
    Dead,
    /// It alone fails: the disk was full, then there was room again.
    Once,
}

/// Counts steps and fails at one of them. Syncing is left out, which no test can see and every
/// test would wait for.
#[derive(Debug)]
pub(super) struct Faulty {
    steps: Arc<AtomicU64>,
    fail_at: u64,
    fault: Fault,
}

impl Faulty {
    pub fn new(fail_at: u64, fault: Fault) -> Self {
        Faulty { steps: Arc::default(), fail_at, fault }
    }

    pub fn steps(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.steps)
    }

    fn step(&self) -> io::Result<()> {
        step(&self.steps, self.fail_at, self.fault)
    }
}

/// A dataset on which nothing fails.
pub(super) fn sturdy(root: &Path) -> Dataset {
    Dataset::open_or_create_with(root, Arc::new(Faulty::new(u64::MAX, Fault::Once))).unwrap()
}

fn step(steps: &AtomicU64, fail_at: u64, fault: Fault) -> io::Result<()> {
    let now = steps.fetch_add(1, Ordering::SeqCst);
    if now == fail_at || now > fail_at && fault == Fault::Dead {
        return Err(io::Error::from(io::ErrorKind::StorageFull));
    }
    Ok(())
}

struct FaultyFile {
    file: Box<dyn OutFile>,
    steps: Arc<AtomicU64>,
    fail_at: u64,
    fault: Fault,
}

impl Write for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        step(&self.steps, self.fail_at, self.fault)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl OutFile for FaultyFile {
    fn sync(&mut self) -> io::Result<()> {
        step(&self.steps, self.fail_at, self.fault)
    }
}

impl Fs for Faulty {
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutFile>> {
        self.step()?;
        Ok(Box::new(FaultyFile {
            file: RealFs.create(path)?,
            steps: Arc::clone(&self.steps),
            fail_at: self.fail_at,
            fault: self.fault,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        RealFs.rename(from, to)
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        self.step()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealFs.remove(path)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.step()?;
        RealFs.create_dir(dir)
    }
}

/// Runs `act` on a dataset made by `lay`, failing at each step in turn, and has `check` look at
/// what is left. Returns how many steps there are.
pub(super) fn at_every_step<T>(
    fault: Fault,
    lay: impl Fn(&Path),
    act: impl Fn(&Dataset) -> Result<T>,
    check: impl Fn(&Path, bool),
) -> u64 {
    for fail_at in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("out");
        lay(&root);
        let faulty = Faulty::new(fail_at, fault);
        let steps = faulty.steps();
        let result = Dataset::open_or_create_with(&root, Arc::new(faulty)).and_then(|d| act(&d));
        let failed = steps.load(Ordering::SeqCst) > fail_at;
        if let Err(error) = &result {
            assert!(failed, "{error}");
            let full = error.to_string().contains(&io::ErrorKind::StorageFull.to_string());
            assert!(full, "step {fail_at}: {error}");
            let typed = matches!(error, RecordError::Io { .. } | RecordError::Write { .. });
            assert!(typed, "{error:?}");
        }
        check(&root, result.is_ok());
        if !failed {
            assert!(result.is_ok());
            return fail_at;
        }
    }
    unreachable!("the steps end")
}

const TABLES: &str = "jobs,port_buffers,drops";

fn expected() -> BTreeMap<String, Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    publish(&dataset, &[1, 2], TABLES, 5).unwrap();
    files(dir.path())
}

#[test]
fn a_full_disk_leaves_all_of_a_chunk_or_nothing() {
    let expected = expected();
    let check = |root: &Path, published: bool| {
        let found = files(root);
        if published {
            assert_eq!(found, expected);
        } else {
            let parts: Vec<_> = found.keys().filter(|name| name.ends_with(".parquet")).collect();
            assert!(parts.is_empty(), "{parts:?}");
        }
        if root.exists() {
            assert!(leftovers(root).is_empty());
        }
    };
    let act = |dataset: &Dataset| publish(dataset, &[1, 2], TABLES, 5);
    let steps = at_every_step(Fault::Once, |_| (), act, check);
    assert!(steps > 20, "only {steps} steps were tried");
}

#[test]
fn death_at_any_step_is_made_good_by_the_next_run() {
    let expected = expected();
    let check = |root: &Path, _| {
        // Whatever has its name is whole.
        for (name, bytes) in files(root) {
            assert_eq!(Some(&bytes), expected.get(&name), "{name}");
        }
        let dataset = sturdy(root);
        let done = dataset.done().unwrap();
        assert!(done.is_empty() || done.len() == 2);
        let parts = files(root).into_keys().filter(|name| name.ends_with(".parquet"));
        assert_eq!(parts.count(), if done.is_empty() { 0 } else { 3 });
        publish(&dataset, &[1, 2], TABLES, 5).unwrap();
        assert_eq!(files(root), expected);
    };
    let act = |dataset: &Dataset| publish(dataset, &[1, 2], TABLES, 5);
    at_every_step(Fault::Dead, |_| (), act, check);
}
