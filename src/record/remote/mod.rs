//! Datasets on object storage: `s3://bucket/prefix` in place of a folder.
//!
//! Owns the address, the local copy that stands for what is up there (the *mirror*), and the order
//! in which finished files go up. Refuses to know how tables look: a [`Dataset`] works on the
//! mirror as on any folder, through an [`Fs`] that uploads what is given its name.
//!
//! The feature `s3` brings all of it. Without it an address does not parse, and says why.
//!
//! # Promises
//!
//! - An object is whole: it is put in one piece, and a store shows it whole or not at all.
//! - A part goes up by a conditional put. One that is there already with other content is never
//!   written over, unless it is known and is being replaced (then it has to be as last seen), or
//!   it has no jobs part and so is nobody's.
//! - The jobs part goes up last, after everything that its rows claim.
//! - Before a chunk is published the list of `jobs/` is read anew, so that runs at one place see
//!   each other's parts.
//!
//! # What is not promised
//!
//! Object stores have no locks. Two runs that publish the *same jobs cut into different chunks*
//! between one's look and its put both succeed, and these jobs then have two rows. It takes two
//! runs of one shard, one of them having been interrupted inside the chunk, and milliseconds; the
//! rows are equal, and whoever checks that each job has one row finds it.
//!
//! [`Dataset`]: crate::record::Dataset
//! [`Fs`]: crate::record::Fs

use std::io;
use std::path::PathBuf;

#[cfg(not(feature = "s3"))]
mod absent;
#[cfg(feature = "s3")]
mod fetch;
#[cfg(feature = "s3")]
mod mirror;
#[cfg(feature = "s3")]
mod session;
#[cfg(feature = "s3")]
mod staging;
#[cfg(feature = "s3")]
mod store;
#[cfg(all(test, feature = "s3"))]
mod tests;
#[cfg(feature = "s3")]
mod url;

#[cfg(not(feature = "s3"))]
pub use absent::{Remote, RemoteUrl, read};
#[cfg(feature = "s3")]
pub use session::{Remote, read};
#[cfg(feature = "s3")]
pub use url::RemoteUrl;

/// What an address on object storage starts with.
pub const SCHEME: &str = "s3://";

/// How much of a dataset to get before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What tells which jobs are done; rows of other tables as single jobs are read.
    Jobs,
    /// All tables.
    Everything,
}

/// What can go wrong with a dataset on object storage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// This build has no object storage.
    #[error(
        "this poolsweep was built without object storage: build it with `cargo build --release \
         --features s3`"
    )]
    NotBuilt,
    /// The address makes no sense.
    #[error("{detail}: an address reads s3://bucket/prefix")]
    BadUrl {
        /// What is wrong with it.
        detail: String,
    },
    /// The client refused its settings.
    #[error("cannot use {url}: {detail}; check the AWS_* environment variables")]
    Settings {
        /// The dataset.
        url: String,
        /// What it said.
        detail: String,
    },
    /// The store refused something.
    #[error("cannot {action} {url}: {detail}; {next}")]
    Store {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which object or list.
        url: String,
        /// Its answer.
        detail: String,
        /// What to look at.
        next: &'static str,
    },
    /// Somebody else's object is in the way.
    #[error(
        "{url} was written meanwhile by another run, with other content: it was not written over; \
         the same command goes on from what is there now"
    )]
    Conflict {
        /// The object.
        url: String,
    },
    /// Objects, but no dataset.
    #[error(
        "{url} holds other objects and is no poolsweep dataset (it has no dataset.json): nothing \
         was touched; choose a new prefix"
    )]
    NotADataset {
        /// The address.
        url: String,
    },
    /// No dataset to read or go on with.
    #[error("there is no dataset in {url}: give the address that `run` or `plan` wrote to")]
    NoDataset {
        /// The address.
        url: String,
    },
    /// Something after a failed upload.
    #[error("an upload failed before: nothing is changed any more")]
    Broken,
    /// The local copy could not be kept.
    #[error("cannot {action} {} of the local copy: {source}", path.display())]
    Local {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
}

impl From<RemoteError> for io::Error {
    fn from(error: RemoteError) -> Self {
        io::Error::other(error)
    }
}
