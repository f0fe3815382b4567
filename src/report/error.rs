//! What can keep a page from being made.

use crate::record::RecordError;
use crate::sweep::plan::JobId;
use std::path::PathBuf;

/// What can keep a page from being made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The dataset cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A job was asked for that is not there.
    #[error(
        "--job {job}: {dataset} has no such job; the job_id column of its tables has those it has"
    )]
    NoSuchJob {
        /// The job.
        job: JobId,
        /// Where it was looked for.
        dataset: String,
    },
    /// A job was asked for that has nothing to draw.
    #[error("--job {job}: it did not run ({status}), so there is nothing to draw")]
    DidNotRun {
        /// The job.
        job: JobId,
        /// `infeasible`, `failed`, `quarantined`.
        status: String,
    },
    /// The page would be taken for a part of the dataset.
    #[error("{} is a folder of the dataset's own: write the page elsewhere", .0.display())]
    AmongParts(PathBuf),
    /// Numbers that are no JSON: never, but no reason to end in a panic.
    #[error("the content cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}
