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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::plan::{Overrides, Plan};

    const SWEEP: &str = "
schema: 1
seed: 5
repetitions: 2
base:
  duration: 1ms
  seed_streams: STREAMS
  topology: {kind: single-switch, hosts: 5}
  traffic:
    - {pattern: uniform, load: 0.8, bytes: 4KB}
    - {pattern: incast, senders: 3, bytes: 1MB, dscp: 8}
axes:
  LossyAlpha: [0.5, 1, 1/8, 0.30000000000000004]
  PoolAllocationMap: [[0.1, 0.3, 0, 0, 0, 0, 0, 0.6], [1, 0, 0, 0, 0, 0, 0, 0]]
";

    #[test]
    fn what_a_dataset_keeps_gives_the_planner_s_ids_and_seeds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.yaml");
        for streams in ["shared", "per-point"] {
            std::fs::write(&path, SWEEP.replace("STREAMS", streams)).unwrap();
            let plan = Plan::load(&path, &Overrides::default()).unwrap();
            assert_eq!(plan.jobs.len(), 16);
            for (index, job) in plan.jobs.iter().enumerate() {
                let json = plan.scenario_json(index).unwrap();
                let (id, seeds, scenario) =
                    identify(&json, job.repetition, job.seeds.sweep).unwrap();
                assert_eq!((id, seeds), (job.id, job.seeds));
                assert_eq!(scenario, plan.scenario(index).unwrap());
            }
        }
    }
}
