//! The folder: what makes it a dataset, who may write, and which jobs are done.

use crate::record::chunk::Status;
use crate::record::fs::{self, Fs, RealFs};
use crate::record::index::{Index, list};
use crate::record::lock::{self, LOCK_FILE, Lock};
use crate::record::part::{self, PartName};
use crate::record::schema::{SCHEMA_VERSION, StoredTable};
use crate::record::{RecordError, Result, TableSet, switch};
use crate::scenario::Table;
use crate::sweep::plan::{JobId, SourceFile};
use crate::units::Ps;
use arrow::array::{Array, BooleanArray, Int64Array};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Name of the file that makes a folder a dataset.
const MARKER: &str = "dataset.json";

/// How long a reader waits for parts to be put together: that takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a reader looks again because parts were put together while it looked.
const MOST_LOOKS: usize = 50;

/// What [`MARKER`] holds.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    format: String,
    schema_version: u64,
}

const FORMAT: &str = "poolsweep dataset";

/// What a dataset holds of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// How it went.
    pub status: Status,
    /// Tables that hold its rows.
    pub tables: TableSet,
    /// Length of the intervals.
    pub interval: Ps,
    /// Whether rows of nothing are among them.
    pub zeros: bool,
}

impl Done {
    /// Whether running the job again would add nothing: it is infeasible or set aside, or every
    /// table asked for is there, at this interval if any of them has intervals.
    ///
    /// A `failed` job counts too: it would fail again.
    pub fn holds(&self, tables: TableSet, interval: Ps, zeros: bool) -> bool {
        let alike = self.interval == interval && self.zeros == zeros;
        matches!(self.status, Status::Infeasible | Status::Quarantined)
            || self.tables.covers(tables) && (alike || !tables.has_intervals())
    }
}

/// A dataset's folder, open. One for all threads of a run.
#[derive(Debug)]
pub struct Dataset {
    root: PathBuf,
    fs: Arc<dyn Fs>,
    known: Mutex<Known>,
}

/// What this process knows of the parts, and when it looked.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub index: Index,
    /// The lock's counter then.
    pub count: Option<u64>,
}

/// The right to publish.
pub(super) struct Publishing<'a> {
    pub known: MutexGuard<'a, Known>,
    pub lock: Lock,
}

impl Publishing<'_> {
    /// To be called before the first rename: others will look again.
    pub fn announce(&mut self) -> Result<()> {
        self.known.count = self.lock.raise()?;
        Ok(())
    }
}

impl Dataset {
    /// Opens a dataset for writing; makes one of a folder that is empty or not there.
    ///
    /// Clears away what killed processes left: their temporary files, and parts whose jobs part
    /// never came.
    ///
    /// # Errors
    ///
    /// A folder that holds something else or was written with another schema version, which is
    /// left untouched; a file in `jobs/` that is no part or cannot be read.
    pub fn open_or_create(path: impl Into<PathBuf>) -> Result<Self> {
        Dataset::open_or_create_with(path, Arc::new(RealFs))
    }

    /// As [`Dataset::open_or_create`], all changes made through `fs`.
    ///
    /// # Errors
    ///
    /// Those of [`Dataset::open_or_create`].
    pub fn open_or_create_with(path: impl Into<PathBuf>, fs: Arc<dyn Fs>) -> Result<Self> {
        let root = path.into();
        // Looked at twice: another process may have made it a dataset between the two looks.
        let vacant = !is_marked(&root)? && is_vacant(&root)?;
        if !vacant && !is_marked(&root)? {
            return Err(RecordError::NotADataset { path: root });
        }
        if vacant {
            fs.create_dir(&root).map_err(RecordError::io("create folder", &root))?;
            let marker = Marker { format: FORMAT.to_owned(), schema_version: SCHEMA_VERSION };
            // A struct of a text and a number has no way to fail.
            let mut text = serde_json::to_string_pretty(&marker).unwrap_or_default();
            text.push('\n');
            fs::write_whole(&fs, &root.join(MARKER), text.as_bytes())?;
        }
        let dataset = Dataset { root, fs, known: Mutex::default() };
        dataset.clear()?;
        Ok(dataset)
    }

    /// Opens a dataset that is there for writing, as [`Dataset::open_or_create`] does.
    ///
    /// # Errors
    ///
    /// Those of [`Dataset::open`] and [`Dataset::open_or_create`].
    pub fn open_existing(path: impl Into<PathBuf>) -> Result<Self> {
        let dataset = Dataset::open(path)?;
        dataset.clear()?;
        Ok(dataset)
    }

    /// Opens a dataset for reading; changes nothing.
    ///
    /// # Errors
    ///
    /// No dataset there, or one of another schema version.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Dataset::open_with(path, Arc::new(RealFs))
    }

    /// As [`Dataset::open`], files that only stand for others being fetched through `fs`.
    ///
    /// # Errors
    ///
    /// Those of [`Dataset::open`].
    pub fn open_with(path: impl Into<PathBuf>, fs: Arc<dyn Fs>) -> Result<Self> {
        let root = path.into();
        if !is_marked(&root)? {
            return Err(RecordError::NoDataset { path: root });
        }
        Ok(Dataset { root, fs, known: Mutex::default() })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// What a person knows it by: its folder, or its address.
    pub fn shown(&self) -> String {
        self.fs.shown(&self.root)
    }

    /// What is there already. About a microsecond a job.
    ///
    /// A table is claimed for a job only if its part is there too, so deleting a part by hand
    /// makes its jobs run again.
    ///
    /// # Errors
    ///
    /// A truncated, damaged or foreign Parquet file in any table's folder, by name.
    pub fn done(&self) -> Result<BTreeMap<JobId, Done>> {
        self.steadily(|| self.done_now())
    }

    fn done_now(&self) -> Result<BTreeMap<JobId, Done>> {
        let parts = list(&self.folder(StoredTable::Jobs))?;
        let mut there = BTreeMap::new();
        for table in TableSet::all().iter() {
            let stored = StoredTable::from(table);
            let found = list(&self.folder(stored))?;
            // Parts without their jobs part are nobody's: they may be in the making.
            for part in found.intersection(&parts) {
                let file = self.file(stored, part);
                if !self.fs.stands_in(&file) {
                    part::check_ends(&file)?;
                }
            }
            there.insert(table, found);
        }
        let mut done = BTreeMap::new();
        for part in &parts {
            let mut missing: TableSet = TableSet::all();
            there.iter().filter(|(_, f)| f.contains(part)).for_each(|(&t, _)| missing.remove(t));
            for (job, mut claim) in self.claims(part)? {
                missing.iter().for_each(|table| claim.tables.remove(table));
                done.insert(job, claim);
            }
        }
        Ok(done)
    }

    /// What the rows of one jobs part say.
    pub(super) fn claims(&self, part: &PartName) -> Result<Vec<(JobId, Done)>> {
        let path = self.file(StoredTable::Jobs, part);
        let wanted = ["job_id", "status", "tables", "interval_ps", "zeros"];
        let mut claims = Vec::new();
        for batch in part::open(&path, StoredTable::Jobs, Some(&wanted))? {
            let batch = batch.map_err(|e| part::damaged(&path, e))?;
            let id = part::words(&path, &batch, "job_id")?;
            let status = part::words(&path, &batch, "status")?;
            let tables = part::words(&path, &batch, "tables")?;
            let column = |name| batch.column_by_name(name).map(AsRef::as_ref);
            let interval = column("interval_ps")
                .and_then(|a: &dyn Array| a.as_any().downcast_ref::<Int64Array>())
                .ok_or_else(|| part::damaged(&path, "no integers in `interval_ps`"))?;
            let zeros = column("zeros")
                .and_then(|a: &dyn Array| a.as_any().downcast_ref::<BooleanArray>())
                .ok_or_else(|| part::damaged(&path, "no truths in `zeros`"))?;
            for row in 0..batch.num_rows() {
                let status = Status::from_name(status(row)).ok_or_else(|| {
                    part::damaged(&path, format!("`{}` is no status", status(row)))
                })?;
                let claim = Done {
                    status,
                    tables: TableSet::from_list(tables(row)),
                    interval: Ps(interval.value(row).unsigned_abs()),
                    zeros: zeros.value(row),
                };
                claims.push((part::parse_id(&path, id(row))?, claim));
            }
        }
        Ok(claims)
    }

    /// Copies the sweep file as run to `sweep.yaml`, and the files it took in to `sources/`,
    /// numbered in their order.
    ///
    /// # Errors
    ///
    /// What the operating system refuses.
    pub fn write_sources(&self, sweep: &SourceFile, others: &[SourceFile]) -> Result<()> {
        fs::write_whole(&self.fs, &self.root.join("sweep.yaml"), &sweep.bytes)?;
        for (place, source) in others.iter().enumerate() {
            let name = source.path.file_name().unwrap_or_default().to_string_lossy();
            let path = self.root.join("sources").join(format!("{:02}-{name}", place + 1));
            fs::write_whole(&self.fs, &path, &source.bytes)?;
        }
        Ok(())
    }

    /// Writes `plan.json`.
    ///
    /// # Errors
    ///
    /// What the operating system refuses.
    pub fn write_plan(&self, json: &[u8]) -> Result<()> {
        fs::write_whole(&self.fs, &self.root.join("plan.json"), json)
    }

    /// The folder of a table.
    pub(super) fn folder(&self, table: StoredTable) -> PathBuf {
        self.root.join(table.name())
    }

    /// The file of a table and part.
    pub(super) fn file(&self, table: StoredTable, part: &PartName) -> PathBuf {
        self.folder(table).join(part.as_str())
    }

    pub(super) fn fs(&self) -> &Arc<dyn Fs> {
        &self.fs
    }

    /// Waits for the right to publish, and looks at what others published meanwhile.
    pub(super) fn publishing(&self) -> Result<Publishing<'_>> {
        // A panic while publishing leaves what a kill leaves; the index is only ever added to.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lock = Lock::take(&self.root)?;
        if switch::roll_forward(self.fs.as_ref(), &self.root, &mut lock)? {
            known.count = None;
        }
        let count = lock.count()?;
        let news = self.fs.refresh().map_err(RecordError::io("look for parts in", &self.root))?;
        if news || count.is_none() || count != known.count {
            known.index.refresh(&self.root)?;
            known.count = count;
        }
        Ok(Publishing { known, lock })
    }

    /// Looks at what is there, again if parts were put together meanwhile: for readers, who hold
    /// no lock.
    ///
    /// # Errors
    ///
    /// Those of the look; [`RecordError::Unfinished`] if the process that puts parts together died
    /// and nobody has gone on with it.
    pub(super) fn steadily<T>(&self, look: impl Fn() -> Result<T>) -> Result<T> {
        let (mut looked, mut waits) = (0, Instant::now());
        loop {
            let before = lock::compactions(&self.root);
            let busy = || self.root.join(switch::MANIFEST).exists();
            if !busy() {
                let seen = look();
                looked += 1;
                if looked == MOST_LOOKS || lock::compactions(&self.root) == before && !busy() {
                    return seen;
                }
                waits = Instant::now();
            }
            if waits.elapsed() > PATIENCE {
                return Err(RecordError::Unfinished { path: self.root.clone() });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Removes what killed processes left.
    fn clear(&self) -> Result<()> {
        // Under the lock, and after whatever was begun is ended: the temporary files of a process
        // that died while putting parts together are the only copies of rows.
        let publishing = self.publishing()?;
        fs::remove_orphans(self.fs.as_ref(), &self.root);
        for table in StoredTable::ALL {
            fs::remove_orphans(self.fs.as_ref(), &self.folder(table));
        }
        // Without a real lock a part without its jobs part may be in the making.
        if publishing.lock.held() {
            let whole: BTreeSet<&PartName> = publishing.known.index.parts().collect();
            for table in TableSet::all().iter().filter(|&table| table != Table::Jobs) {
                let stored = StoredTable::from(table);
                for part in list(&self.folder(stored))?.iter().filter(|p| !whole.contains(p)) {
                    let path = self.file(stored, part);
                    self.fs.remove(&path).map_err(RecordError::io("remove", &path))?;
                }
            }
        }
        Ok(())
    }
}

/// Whether the folder has the marker of a dataset we can write.
fn is_marked(root: &Path) -> Result<bool> {
    let path = root.join(MARKER);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(false);
        }
        Err(source) => return Err(RecordError::io("read", &path)(source)),
    };
    let bad = |detail: String| RecordError::BadMarker { path: path.clone(), detail };
    let marker: Marker = serde_json::from_slice(&text).map_err(|e| bad(e.to_string()))?;
    if marker.format != FORMAT {
        return Err(bad(format!("its format is `{}`", marker.format)));
    }
    if marker.schema_version != SCHEMA_VERSION {
        let (path, found) = (root.to_path_buf(), marker.schema_version);
        return Err(RecordError::OtherVersion { path, found });
    }
    Ok(true)
}

/// Whether the folder is not there, or holds nothing but what another process of ours may be
/// creating.
fn is_vacant(root: &Path) -> Result<bool> {
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        Err(source) => return Err(RecordError::io("list", root)(source)),
    };
    for entry in entries {
        let entry = entry.map_err(RecordError::io("list", root))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !fs::is_temporary(&name) && name != LOCK_FILE && name != MARKER {
            return Ok(false);
        }
    }
    Ok(true)
}
