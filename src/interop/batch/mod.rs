//! Batch systems: what they are told to run.
//!
//! Owns the scripts and manifests that run the shards of a planned dataset somewhere else
//! (`slurm`: an array for Slurm; `k8s`: an Indexed Job for Kubernetes), the words in them that have
//! to be quoted, and the two commands of Slurm that are called (`sbatch`). All texts are pure
//! functions of a [`Work`] and what was asked for. Refuses to simulate, to split a plan into shards
//! (the run does that, by number) and to judge results.

pub mod k8s;
mod quote;
pub mod sbatch;
pub mod slurm;

use serde_json::Value;
use std::path::{Path, PathBuf};

/// Shards unless said otherwise, if there are jobs enough: several times what most clusters run at
/// once, so that the last one to end leaves little idle, and few enough for any queue.
pub const DEFAULT_SHARDS: u32 = 64;

/// Why nothing was written or submitted.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// There is nothing to run shards of.
    #[error("{folder} has no plan.json: run poolsweep plan FILE --out {folder} first")]
    NoPlan {
        /// The dataset as given.
        folder: String,
    },
    /// `plan.json` is not what `plan` writes.
    #[error("{path}: {why}; run poolsweep plan FILE --out again")]
    Plan {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// An option that the batch system would refuse or, worse, misread.
    #[error("{option} {value:?}: {why}")]
    Option {
        /// The option, dashes included.
        option: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it, and what would do.
        why: String,
    },
    /// A command of the batch system did not do what it was asked for.
    #[error("{command}: {why}")]
    Command {
        /// The command.
        command: String,
        /// What it said.
        why: String,
    },
}

impl BatchError {
    /// A refused option.
    fn option(option: &'static str, value: impl ToString, why: impl Into<String>) -> Self {
        BatchError::Option { option, value: value.to_string(), why: why.into() }
    }
}

/// A planned dataset, as far as a batch system has to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The dataset, absolute; symbolic links are kept, since other machines may resolve them
    /// differently.
    pub folder: String,
    /// The sweep's name.
    pub name: String,
    /// Jobs of the plan that can run, finished ones included.
    pub jobs: u64,
}

impl Work {
    /// Reads the plan of a dataset.
    ///
    /// # Errors
    /// No plan, one that cannot be read, or a folder whose path has characters that no script
    /// should hold.
    pub fn open(folder: &Path) -> Result<Self, BatchError> {
        let path = folder.join("plan.json");
        let broken = |why: String| BatchError::Plan { path: path.display().to_string(), why };
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(BatchError::NoPlan { folder: folder.display().to_string() });
            }
            Err(error) => return Err(broken(error.to_string())),
        };
        let plan: Value =
            serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        let count = |key: &str| {
            let number = plan.get(key).and_then(Value::as_u64);
            number.ok_or_else(|| broken(format!("{key} is not a number")))
        };
        let name = plan.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| broken("name is not a string".into()))?.to_owned();
        let jobs = count("jobs")?.saturating_sub(count("infeasible")?);
        if plan.get("frozen").is_none_or(Value::is_null) {
            return Err(broken("the plan in it is not frozen".into()));
        }
        let folder = absolute("DIR", folder)?;
        Ok(Work { folder, name, jobs })
    }

    /// The number of shards: what was asked for, or [`DEFAULT_SHARDS`] if there are as many jobs.
    ///
    /// # Errors
    /// More shards than jobs: the rest would only wait in the queue to do nothing.
    pub fn shards(&self, asked: Option<u32>) -> Result<u32, BatchError> {
        let most = u32::try_from(self.jobs).unwrap_or(u32::MAX).max(1);
        match asked {
            None => Ok(DEFAULT_SHARDS.min(most)),
            Some(0) => Err(BatchError::option("--shards", 0, "there is at least one")),
            Some(asked) if asked > most => {
                let why = format!("the plan has {} that can run: {most} at most", jobs(self.jobs));
                Err(BatchError::option("--shards", asked, why))
            }
            Some(asked) => Ok(asked),
        }
    }
}

fn jobs(number: u64) -> String {
    format!("{number} job{}", if number == 1 { "" } else { "s" })
}

/// A path as scripts hold it: absolute, and of characters that can be quoted everywhere.
///
/// # Errors
/// A path that is not UTF-8 or has control characters, or a working folder that is gone.
pub fn absolute(option: &'static str, path: &Path) -> Result<String, BatchError> {
    let refuse = |why: String| BatchError::option(option, path.display(), why);
    let absolute: PathBuf = std::path::absolute(path).map_err(|error| refuse(error.to_string()))?;
    let text = absolute.to_str().ok_or_else(|| refuse("the path is not UTF-8".into()))?;
    quote::plain(option, text)?;
    // `std::path::absolute` keeps a slash at the end, which would be doubled in every path made of
    // this one.
    Ok(match text.trim_end_matches('/') {
        "" => "/".to_owned(),
        trimmed => trimmed.to_owned(),
    })
}

#[cfg(test)]
mod tests;
