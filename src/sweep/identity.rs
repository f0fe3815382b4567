//! The identity of a job, recomputed from what a dataset keeps of it.
//!
//! The planner computes identities from a template, point by point; this is the same from one
//! scenario's JSON, so that a job can be run again, and checked, without its sweep file.

use super::base::canonical;
use super::grid::SEMANTICS_VERSION;
use super::plan::JobId;
use super::template::strip;
use crate::scenario::{Scenario, SeedStreams};
use crate::sim::random::Seeds;
use serde_json::Value;

/// Id and seeds of the job that simulates this scenario, given as canonical JSON.
///
/// # Errors
/// Text that is no scenario.
pub fn identify(
    scenario_json: &str,
    repetition: u64,
    seed: u64,
) -> Result<(JobId, Seeds, Scenario), serde_json::Error> {
    let scenario: Scenario = serde_json::from_str(scenario_json)?;
    let mut json: Value = serde_json::from_str(scenario_json)?;
    strip(&mut json);
    let mut hashed = String::new();
    canonical(&json, &mut hashed);
    let text = format!(
        "{{\"repetition\":{repetition},\"scenario\":{hashed},\"seed\":{seed},\
         \"semantics\":{SEMANTICS_VERSION}}}"
    );
    let point = (scenario.seed_streams == SeedStreams::PerPoint)
        .then(|| u64::from_le_bytes(first_bytes(&hashed)));
    let id = JobId(u64::from_be_bytes(first_bytes(&text)));
    Ok((id, Seeds { sweep: seed, repetition, point }, scenario))
}

fn first_bytes(text: &str) -> [u8; 8] {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..8]);
    first
}
