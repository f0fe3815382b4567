//! Importing what HPCC's ns-3 code is run with: its configuration, topology and flow files.
//!
//! Owns their formats and what each key becomes. Every key is used, reported as having no effect,
//! or refused; none is passed over in silence. Refuses to check what the scenario's own checks do,
//! and to read files: the caller hands in their text.

mod config;
mod flows;
mod topology;
mod words;
mod write;

pub use config::{Config, Files};
pub use words::ImportError;

use flows::Flows;
use topology::Topology;

/// A file that was read: what messages call it, and what it holds.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its name as messages give it.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// A sweep file made of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The sweep file.
    pub yaml: String,
    /// What of the configuration has no effect, or another one, and why; one line each.
    pub notes: Vec<String>,
}

/// Makes a sweep file of a configuration and the two files it names.
///
/// # Errors
/// What cannot be read or is not simulated, at its file, line and column.
pub fn import(
    config: &Config,
    topology: Source<'_>,
    flows: Source<'_>,
) -> Result<Imported, ImportError> {
    let topology = Topology::read(topology)?;
    let flows = Flows::read(flows, &topology)?;
    let mut notes = config.notes.clone();
    notes.extend(topology.notes());
    notes.extend(flows.notes());
    let yaml = write::sweep_file(config, &topology, &flows, &notes);
    Ok(Imported { yaml, notes })
}

#[cfg(test)]
mod tests;
