//! The arguments every command that reads a sweep file has.

use super::exit::{Exit, Failure};
use super::location::Location;
use crate::sweep::plan::{Overrides, Plan};
use clap::Args;
use std::path::PathBuf;

/// A sweep file and what is laid over it.
#[derive(Debug, Args)]
pub struct SweepFile {
    /// The sweep file
    pub file: PathBuf,
    /// Set a key, as if the file said so: topology.delay=1us
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Add or replace an axis: HeadRoomPerPortLimit=64KB,128KB
    #[arg(long, value_name = "KEY=VALUES")]
    pub axis: Vec<String>,
    /// More than 100,000 points are meant
    #[arg(long)]
    pub yes: bool,
}

impl SweepFile {
    /// The overrides as the planner takes them.
    pub fn overrides(&self) -> Overrides {
        Overrides { set: self.set.clone(), axis: self.axis.clone(), yes: self.yes }
    }

    /// Reads the file and plans it.
    ///
    /// # Errors
    /// An invalid file.
    pub fn load(&self) -> Result<Plan, Failure> {
        if let Location::Remote(url) = Location::of(self.file.clone().into_os_string())
            .map_err(|error| Failure::new(Exit::Usage, error))?
        {
            return Err(Failure::new(
                Exit::Usage,
                format!("{url}: a sweep file is read from a local file, not from object storage"),
            ));
        }
        Ok(Plan::load(&self.file, &self.overrides())?)
    }
}
