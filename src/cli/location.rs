//! Where a dataset is: a folder, or an address on object storage.
//!
//! Owns telling one from the other and what either needs before and after a command. The rest of
//! the command line works on folders: that of an address is its local copy.

use super::exit::{Exit, Failure};
use super::plan::frozen_plan;
use crate::record::remote::{self, Extent, SCHEME};
use crate::record::{Dataset, Remote, RemoteError, RemoteUrl};
use crate::run::supervise::{COPY, WORKER};
use crate::sweep::plan::Plan;
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// A dataset's place, as an argument names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A folder.
    Folder(PathBuf),
    /// An address.
    Remote(RemoteUrl),
}

/// Where the local copy of a dataset on object storage goes.
#[derive(Debug, Args)]
pub struct StagingArgs {
    /// For a dataset on object storage: the folder for its local copy, which goes when the command
    /// ended well [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub staging: Option<PathBuf>,
}

/// For `#[arg(value_parser = …)]`.
pub fn location() -> impl TypedValueParser<Value = Location> {
    OsStringValueParser::new().try_map(Location::of)
}

impl Location {
    /// Reads an argument.
    ///
    /// # Errors
    /// An address that makes no sense, or in a build without object storage.
    pub fn of(argument: OsString) -> Result<Self, RemoteError> {
        match argument.to_str().filter(|text| text.starts_with(SCHEME)) {
            Some(text) => Ok(Location::Remote(RemoteUrl::parse(text)?)),
            None => Ok(Location::Folder(argument.into())),
        }
    }

    /// Opens the dataset for reading.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn read(&self, extent: Extent) -> Result<Dataset, Failure> {
        Ok(match self {
            Location::Folder(folder) => Dataset::open(folder)?,
            Location::Remote(url) => remote::read(url, extent)?,
        })
    }

    /// Opens the dataset for reading, as far as its jobs, and its plan unless that is known.
    ///
    /// # Errors
    /// There is no plan or no dataset, or it cannot be read.
    pub fn read_planned<'a>(
        &self,
        known: &'a mut Option<Plan>,
    ) -> Result<(&'a Plan, Dataset), Failure> {
        if let (None, Location::Folder(folder)) = (&known, self) {
            // A folder without a plan is told so, whatever else it holds.
            *known = Some(frozen_plan(folder, self)?);
        }
        let dataset = self.read(Extent::Jobs)?;
        let plan = match known {
            Some(plan) => plan,
            None => known.insert(frozen_plan(dataset.path(), self)?),
        };
        Ok((plan, dataset))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Folder(folder) => write!(f, "{}", folder.display()),
            Location::Remote(url) => write!(f, "{url}"),
        }
    }
}

/// The place of a dataset to be written, for one command.
#[derive(Debug)]
pub enum Place {
    /// A folder.
    Folder(PathBuf),
    /// An address, and its local copy.
    Remote(Remote),
}

impl Place {
    /// Takes a place; a worker the one that the process watching it took.
    ///
    /// # Errors
    /// A local copy that cannot be kept.
    pub fn take(location: Location, args: &StagingArgs) -> Result<Self, Failure> {
        Ok(match location {
            Location::Folder(folder) => Place::Folder(folder),
            Location::Remote(url) => {
                let base = args.staging.clone().unwrap_or_else(std::env::temp_dir);
                let is_worker = std::env::var_os(WORKER).is_some();
                let taken = std::env::var_os(COPY).filter(|_| is_worker).map(PathBuf::from);
                Place::Remote(Remote::stage(&url, &base, taken)?)
            }
        })
    }

    /// The folder that the process works on.
    pub fn folder(&self) -> &Path {
        match self {
            Place::Folder(folder) => folder,
            Place::Remote(remote) => remote.folder(),
        }
    }

    /// The local copy, if it is one.
    pub fn copy(&self) -> Option<&Path> {
        match self {
            Place::Folder(_) => None,
            Place::Remote(remote) => Some(remote.folder()),
        }
    }

    /// Opens the dataset for writing; makes one of nothing.
    ///
    /// # Errors
    /// What is there is something else, or cannot be written.
    pub fn open_or_create(&self) -> Result<Dataset, Failure> {
        Ok(match self {
            Place::Folder(folder) => Dataset::open_or_create(folder)?,
            Place::Remote(remote) => remote.open_or_create()?,
        })
    }

    /// Opens the dataset whose plan is to be run, for writing.
    ///
    /// # Errors
    /// As above; no plan in it; on object storage, no dataset.
    pub fn open_planned(&self) -> Result<(Plan, Dataset), Failure> {
        Ok(match self {
            Place::Folder(folder) => {
                // First: a folder without one is left as it is.
                let plan = frozen_plan(folder, folder.display())?;
                (plan, Dataset::open_or_create(folder)?)
            }
            Place::Remote(remote) => {
                let dataset = remote.open_existing()?;
                (frozen_plan(remote.folder(), dataset.shown())?, dataset)
            }
        })
    }

    /// Fetches what is known of suspects, before the dataset is opened.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn get_suspects(&self) -> Result<(), Failure> {
        match self {
            Place::Folder(_) => Ok(()),
            Place::Remote(remote) => Ok(remote.pull_suspects()?),
        }
    }

    /// Has a file that was just removed from the folder removed everywhere.
    ///
    /// # Errors
    /// A store that refuses it.
    pub fn forget(&self, relative: &Path) -> Result<(), Failure> {
        match self {
            Place::Folder(_) => Ok(()),
            Place::Remote(remote) => Ok(remote.forget(relative)?),
        }
    }

    /// Makes what was noted of a death last.
    ///
    /// # Errors
    /// A store that refuses it.
    pub fn keep_notes(&self) -> Result<(), Failure> {
        match self {
            Place::Folder(_) => Ok(()),
            Place::Remote(remote) => Ok(remote.push_notes()?),
        }
    }

    /// Ends a command that came to `result`: what is in the store needs no copy.
    ///
    /// # Errors
    /// That of `result`; journals that cannot be put.
    pub fn close(self, result: Result<(), Failure>) -> Result<(), Failure> {
        let Place::Remote(remote) = self else { return result };
        let closed = remote.close().map_err(Failure::from);
        match result.and(closed) {
            Ok(()) => {
                remote.discard();
                Ok(())
            }
            Err(mut failure) => {
                // What a worker said its watcher need not say again.
                let told = failure.text.is_empty();
                if failure.exit == Exit::Output && !told && remote.has_results() {
                    failure.text.push_str(&format!(
                        "\n  finished results that are not in the store are in {}: the same \
                         command goes on from there",
                        remote.folder().display()
                    ));
                }
                Err(failure)
            }
        }
    }
}

/// As [`Place::close`], where there may be no place known yet.
///
/// # Errors
/// Those of [`Place::close`].
pub fn close(place: Option<Place>, result: Result<(), Failure>) -> Result<(), Failure> {
    match place {
        Some(place) => place.close(result),
        None => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_addresses_are_told_apart() {
        assert_eq!(Location::of("out/s3".into()).unwrap(), Location::Folder("out/s3".into()));
        let remote = Location::of("s3://bucket/sweeps/a".into());
        if cfg!(feature = "s3") {
            assert_eq!(remote.unwrap().to_string(), "s3://bucket/sweeps/a");
        } else {
            let error = remote.unwrap_err().to_string();
            assert!(error.contains("cargo build --release --features s3"), "{error}");
        }
        assert!(Location::of("s3://".into()).is_err());
    }
}
