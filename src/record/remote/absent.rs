//! What is left of object storage in a build without the feature `s3`: the message.
//!
//! The types have no values, so that nothing else needs to know of the feature.

use super::{Extent, RemoteError};
use crate::record::{Dataset, Result};
use std::fmt;
use std::path::{Path, PathBuf};

/// An address on object storage; there is none in this build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteUrl {}

impl RemoteUrl {
    /// Always refused.
    ///
    /// # Errors
    /// [`RemoteError::NotBuilt`].
    pub fn parse(_: &str) -> std::result::Result<Self, RemoteError> {
        Err(RemoteError::NotBuilt)
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// A dataset on object storage; there is none in this build.
#[derive(Debug)]
pub enum Remote {}

#[expect(missing_docs, reason = "documented with the feature; none of these can be called")]
impl Remote {
    pub fn stage(url: &RemoteUrl, _: &Path, _: Option<PathBuf>) -> Result<Self> {
        match *url {}
    }
    pub fn folder(&self) -> &Path {
        match *self {}
    }
    pub fn open_or_create(&self) -> Result<Dataset> {
        match *self {}
    }
    pub fn open_existing(&self) -> Result<Dataset> {
        match *self {}
    }
    pub fn pull_suspects(&self) -> Result<()> {
        match *self {}
    }
    pub fn push_notes(&self) -> Result<()> {
        match *self {}
    }
    pub fn forget(&self, _: &Path) -> Result<()> {
        match *self {}
    }
    pub fn close(&self) -> Result<()> {
        match *self {}
    }
    pub fn has_results(&self) -> bool {
        match *self {}
    }
    pub fn discard(self) {
        match self {}
    }
}

/// Never called.
///
/// # Errors
/// None.
pub fn read(url: &RemoteUrl, _: Extent) -> Result<Dataset> {
    match *url {}
}
