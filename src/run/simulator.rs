//! The real simulator, with the trace files its scenarios name.
//!
//! Owns reading trace files, once each, when the first job that needs one runs.

use super::recorder::Simulate;
use crate::scenario::{Scenario, Traffic};
use crate::sim::observe::Observations;
use crate::sim::random::Seeds;
use crate::sim::reuse::{Groups, Watched};
use crate::sim::traffic::{TraceFlow, Traces};
use crate::sweep::trace::{TraceError, parse_trace};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Why a scenario's trace cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// The file cannot be read.
    #[error("cannot read trace {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is not the one that was planned with.
    #[error(
        "trace {} is not the file that was planned with (BLAKE3 {found}, planned {planned}): \
         put that file back, or plan again",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// Its hash now.
        found: String,
        /// Its hash when the plan was made.
        planned: String,
    },
    /// Its contents make no sense.
    #[error(transparent)]
    Parse(#[from] TraceError),
}

/// The simulator of this crate.
#[derive(Debug, Default)]
pub struct Simulator {
    loaded: Mutex<BTreeMap<String, Arc<[TraceFlow]>>>,
}

impl Simulator {
    /// The traces a scenario names, read now unless they were before.
    ///
    /// # Errors
    /// A file that is gone, changed or wrong.
    pub fn traces(&self, scenario: &Scenario) -> Result<Traces, TraceFileError> {
        let mut traces = Traces::new();
        for entry in &scenario.traffic {
            if let Traffic::Trace(trace) = entry {
                let flows = self.load(Path::new(&trace.file), &trace.blake3)?;
                traces.insert(&trace.blake3, flows);
            }
        }
        Ok(traces)
    }

    fn load(&self, path: &Path, planned: &str) -> Result<Arc<[TraceFlow]>, TraceFileError> {
        // Held while reading, so that two jobs do not parse one file twice.
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flows) = loaded.get(planned) {
            return Ok(Arc::clone(flows));
        }
        let path = path.to_path_buf();
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(source) => return Err(TraceFileError::Read { path, source }),
        };
        let found = blake3::hash(&bytes).to_hex().to_string();
        if found != planned {
            return Err(TraceFileError::Changed { path, found, planned: planned.to_owned() });
        }
        let flows: Arc<[TraceFlow]> = parse_trace(&path, &bytes)?.into();
        loaded.insert(planned.to_owned(), Arc::clone(&flows));
        Ok(flows)
    }
}

impl Simulate for Simulator {
    fn simulate(&self, scenario: &Scenario, seeds: Seeds) -> Result<Observations, String> {
        let traces = self.traces(scenario).map_err(|error| error.to_string())?;
        crate::sim::run(scenario, seeds, &traces).map_err(|error| error.to_string())
    }

    fn watched(
        &self,
        scenario: &Scenario,
        seeds: Seeds,
        groups: &Groups,
    ) -> Option<Result<Watched, String>> {
        let run = || {
            let traces = self.traces(scenario).map_err(|error| error.to_string())?;
            let watched = crate::sim::run_watched(scenario, seeds, &traces, groups);
            watched.map_err(|error| error.to_string())
        };
        Some(run())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_once_and_must_be_the_planned_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let text = "src,dst,bytes,start_ns,dscp\n0,1,1000,0,8\n";
        std::fs::write(&path, text).unwrap();
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        let simulator = Simulator::default();
        let changed = simulator.load(&path, "00").unwrap_err().to_string();
        assert!(changed.contains("is not the file that was planned with"), "{changed}");
        assert_eq!(simulator.load(&path, &hash).unwrap().len(), 1);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(simulator.load(&path, &hash).unwrap().len(), 1);
        let gone = Simulator::default().load(&path, &hash).unwrap_err().to_string();
        assert!(gone.starts_with("cannot read trace "), "{gone}");
    }
}
