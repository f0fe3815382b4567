//! Results on disk: frozen schemas, Parquet parts, and a dataset that survives being killed.
//!
//! Owns the names, types and units of every column, the way a job's [`Observations`] become rows,
//! the files those rows live in, and reading them back. Refuses to run anything, to know the
//! simulator's state, and to put a value that depends on the machine or the clock anywhere but in
//! `timings` and `provenance`.
//!
//! The order of work: [`Dataset::open_or_create`], [`Dataset::done`], then for every chunk of jobs
//! a [`ChunkWriter`] (or [`JobRows`] made by the workers and given to [`Dataset::publish`]).
//!
//! # Promises to readers
//!
//! - A file under its final name is whole: it was written under a dot name, synced and renamed.
//! - A job has at most one row in `jobs`, whoever looks and whenever, also while it is replaced.
//! - A job's row in `jobs` appears after its rows in the other tables. Rows without it belong to a
//!   writer that died; [`Dataset::read_table`] skips them.
//!
//! [`Observations`]: crate::sim::observe::Observations

mod balance;
mod beside;
mod checksum;
mod chunk;
mod compact;
mod compare;
mod dataset;
mod differ;
mod error;
mod export;
mod fs;
mod index;
mod lock;
mod merge;
mod part;
mod points;
mod publish;
mod read;
pub mod remote;
mod reuse;
mod rows;
mod schema;
mod stream;
mod switch;
mod tables;
mod transport;
mod verify;
mod volatile;

#[cfg(test)]
mod tests;

pub use chunk::{ChunkWriter, JobMeta, JobRows, Outcome, Status};
pub use compact::{Compacted, Limits};
pub use compare::{Difference, ORIGIN, PartReader, What};
pub use dataset::{Dataset, Done};
pub use differ::{ChangedPoint, ColumnDifference, Comparison, FirstDifference, RowsDifference};
pub use error::RecordError;
pub use export::Exported;
pub use fs::{Fs, OutFile, RealFs, write_file};
pub use merge::{Merged, Taken, merge};
pub use publish::Published;
pub use read::{JobRow, TableReader};
pub use remote::{Remote, RemoteError, RemoteUrl};
pub use reuse::{Moments, RunRecord, Source};
pub use schema::{Column, Kind, SCHEMA_VERSION, StoredTable};
pub use tables::TableSet;
pub use verify::{Finding, Verified};
pub use volatile::{Provenance, Timing};

/// The result of everything in this room.
pub type Result<T> = std::result::Result<T, RecordError>;
