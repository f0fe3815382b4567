//! What can go wrong with a dataset, each with the way out.

use crate::record::TableSet;
use crate::record::remote::RemoteError;
use crate::record::schema::SCHEMA_VERSION;
use crate::sweep::plan::JobId;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// An error of this room.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The operating system refused something.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
    /// A table could not be encoded or written; disk full shows here.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file it was to become.
        path: PathBuf,
        /// What the encoder said.
        source: parquet::errors::ParquetError,
    },
    /// The folder holds something else.
    #[error(
        "{} is not empty and is no poolsweep dataset (it has no dataset.json): nothing was \
         touched; choose a new folder",
        path.display()
    )]
    NotADataset {
        /// The folder.
        path: PathBuf,
    },
    /// A dataset was to be read and there is none.
    #[error("there is no dataset in {}: give the folder that `run` wrote", path.display())]
    NoDataset {
        /// The folder.
        path: PathBuf,
    },
    /// The marker file does not parse.
    #[error(
        "{} is no dataset marker of poolsweep ({detail}): nothing was touched; choose a new folder",
        path.display()
    )]
    BadMarker {
        /// The marker.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The folder was written with other table layouts.
    #[error(
        "{} has schema version {found}, this poolsweep writes and reads version \
         {SCHEMA_VERSION}: nothing was touched; use the poolsweep that wrote it or a new folder",
        path.display()
    )]
    OtherVersion {
        /// The folder.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// A Parquet file that cannot be read to its end.
    #[error(
        "{} is truncated or damaged ({detail}): {}",
        path.display(),
        remedy(path)
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the reader found.
        detail: String,
    },
    /// A Parquet file that this dataset did not write.
    #[error(
        "{} does not belong to this dataset ({detail}): every reader of the folder would trip \
         over it; move it elsewhere",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// How that shows.
        detail: String,
    },
    /// Parts were being put together when the process died.
    #[error(
        "{} is in the middle of a compaction whose process died: nothing is lost; `poolsweep \
         compact {}`, or whatever else writes to it, ends it",
        path.display(),
        path.display()
    )]
    Unfinished {
        /// The dataset.
        path: PathBuf,
    },
    /// A part went while its table was read.
    #[error(
        "{} was put into a larger part while its table was read: nothing is lost; read again",
        path.display()
    )]
    Moved {
        /// The file.
        path: PathBuf,
    },
    /// Parts cannot be put together where nobody can be kept out.
    #[error(
        "the file system of {} has no file locks, so another process could publish meanwhile: \
         nothing was touched; compact a copy on another file system",
        path.display()
    )]
    NoLocks {
        /// The dataset.
        path: PathBuf,
    },
    /// A dataset cannot be merged into itself.
    #[error("{} is both source and target: give the folders of other datasets", path.display())]
    SameFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A source of a new dataset has no plan.
    #[error(
        "{} has no plan.json to take over: plan the sweep into the target first (`poolsweep plan \
         FILE --out DIR`)",
        path.display()
    )]
    NoPlan {
        /// The source.
        path: PathBuf,
    },
    /// Sources of a new dataset have different plans.
    #[error(
        "{} was planned differently than {}: plan the combined sweep into the target first \
         (`poolsweep plan FILE --out DIR`), then merge",
        path.display(),
        first.display()
    )]
    OtherPlan {
        /// The source.
        path: PathBuf,
        /// The source before it.
        first: PathBuf,
    },
    /// Two datasets hold different results of one job.
    #[error("{}", conflict_text(conflicts))]
    Conflict {
        /// A line a job: the job, the columns, the values and the versions of both.
        conflicts: Vec<String>,
    },
    /// A source is written to faster than it can be read.
    #[error("{} kept changing while it was read: merge again", path.display())]
    Restless {
        /// The file.
        path: PathBuf,
    },
    /// A value does not fit the signed column it belongs in.
    #[error(
        "job {job}: {table}.{column} is {value}, which a signed column of {bits} bits cannot \
         hold: shorten the job or lower the quantity"
    )]
    OutOfRange {
        /// The job.
        job: JobId,
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// The value.
        value: u64,
        /// Width of the column.
        bits: u32,
    },
    /// One chunk names a job twice.
    #[error("job {0} is twice in one chunk: its rows would be doubled")]
    TwiceInChunk(JobId),
    /// No row of this job.
    #[error(
        "job {job} is not in {}: the job_id column of jobs lists those that are",
        path.display()
    )]
    UnknownJob {
        /// The job.
        job: JobId,
        /// The dataset.
        path: PathBuf,
    },
    /// Two columns of `points` share a name.
    #[error(
        "points would have two columns named `{name}`: rename the axis or derived value of that \
         name"
    )]
    SameColumn {
        /// The name.
        name: String,
    },
    /// A column of `points` has too few or too many values.
    #[error("column `{name}` of points has {found} values for {expected} points")]
    ColumnLength {
        /// The column.
        name: String,
        /// Its values.
        found: usize,
        /// Points.
        expected: usize,
    },
    /// Arrow refused a batch: rows and schema disagree.
    #[error("cannot form rows of {table}: {source}")]
    Rows {
        /// The table.
        table: &'static str,
        /// What Arrow said.
        source: arrow::error::ArrowError,
    },
    /// Object storage refused something.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A CSV file could not be written.
    #[error("cannot export {} to CSV: {source}", path.display())]
    Csv {
        /// The file it was to become.
        path: PathBuf,
        /// What the writer said.
        source: arrow::error::ArrowError,
    },
}

impl RecordError {
    /// The file it is about, what is wrong with it, and what to do, if it is about a file.
    pub(super) fn finding(&self) -> (Option<&Path>, String, String) {
        match self {
            RecordError::Damaged { path, detail } => {
                (Some(path), format!("truncated or damaged: {detail}"), remedy(path).to_owned())
            }
            RecordError::Foreign { path, detail } => (
                Some(path),
                format!("does not belong to this dataset: {detail}"),
                "move it elsewhere: every reader of the folder would trip over it".to_owned(),
            ),
            RecordError::Io { action, path, source } => (
                Some(path),
                format!("cannot {action} it: {source}"),
                "make it readable, then verify again".to_owned(),
            ),
            other => (None, other.to_string(), String::new()),
        }
    }

    /// For `map_err`: names what was tried on which path.
    pub(super) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| RecordError::Io { action, path, source }
    }
}

fn conflict_text(conflicts: &[String]) -> String {
    format!(
        "the same jobs came out differently, nothing of these sources was taken: see the \
         provenance tables for what ran them; `poolsweep repro` says which side is right, delete \
         the part of the other\n  {}",
        conflicts.join("\n  ")
    )
}

/// What to do about a damaged file: only parts of job tables have a jobs part beside them.
fn remedy(path: &Path) -> &'static str {
    let folder = path.parent().and_then(Path::file_name).and_then(OsStr::to_str).unwrap_or("");
    if TableSet::from_list(folder) == TableSet::default() {
        "delete it and run again: it is written anew"
    } else {
        "delete it and the file of the same name in jobs/, then run again: the jobs in it are \
         simulated anew"
    }
}
