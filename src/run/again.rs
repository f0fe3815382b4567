//! A job of a dataset again, from its row alone.
//!
//! Owns the way from a row of `jobs` back to what was simulated. Refuses to compare.

use super::recorder::{Simulate, record_as};
use super::simulator::Simulator;
use crate::record::{JobMeta, JobRow, JobRows, Outcome, RecordError};
use crate::scenario::Scenario;
use crate::sim::random::Seeds;
use crate::sweep::identify;
use crate::sweep::plan::JobId;

/// Why a row cannot be run again.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Its scenario is none.
    #[error("its scenario cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// Its id is not that of its scenario.
    #[error("its scenario is that of job {0} to this poolsweep")]
    OtherJob(JobId),
}

/// What the job simulates and records, checked against its id.
///
/// # Errors
/// A scenario that cannot be read or has another id.
pub fn resolve(row: &JobRow) -> Result<(Scenario, Seeds), Refused> {
    let (id, seeds, mut scenario) = identify(&row.scenario, row.repetition, row.seed)?;
    if id != row.id {
        return Err(Refused::OtherJob(id));
    }
    record_as(&mut scenario, row.tables, row.interval, row.zeros);
    Ok((scenario, seeds))
}

/// Runs it on this thread; a job that fails leaves rows too.
///
/// # Errors
/// Results that no column can hold.
pub fn run(
    simulator: &Simulator,
    row: &JobRow,
    scenario: &Scenario,
    seeds: Seeds,
) -> Result<JobRows, RecordError> {
    let meta = JobMeta {
        id: row.id,
        repetition: row.repetition,
        seed: row.seed,
        scenario: row.scenario.clone(),
        tables: row.tables,
        interval: row.interval,
        zeros: row.zeros,
    };
    match super::catch(|| simulator.simulate(scenario, seeds)) {
        Ok(Ok(observed)) => JobRows::new(meta, Outcome::Ran(&observed)),
        Ok(Err(message)) | Err(message) => JobRows::new(meta, Outcome::Failed(&message)),
    }
}
