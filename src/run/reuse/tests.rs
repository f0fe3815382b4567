//! What answers a job, and what it takes when memory is short or nothing is on disk.

use super::*;
use crate::record::{Status, TableSet};
use crate::run::simulator::Simulator;
use crate::sim::observe::Observations;
use crate::sim::reuse::Watched;
use crate::units::{Bytes, Ps};

const SEEDS: Seeds = Seeds { sweep: 5, repetition: 0, point: None };

/// A simulator that counts, and may be unable to keep what it compares.
#[derive(Default)]
struct Counting {
    simulator: Simulator,
    runs: AtomicUsize,
    plain: bool,
}

impl Simulate for Counting {
    fn simulate(&self, scenario: &Scenario, seeds: Seeds) -> Result<Observations, String> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.simulator.simulate(scenario, seeds)
    }

    fn watched(
        &self,
        scenario: &Scenario,
        seeds: Seeds,
        groups: &Groups,
    ) -> Option<Result<Watched, String>> {
        if self.plain {
            return None;
        }
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.simulator.watched(scenario, seeds, groups)
    }
}

/// An incast that pauses, with headroom of so many bytes; job ids follow from it.
fn scenario(headroom: u64) -> Scenario {
    let mut scenario: Scenario = serde_json::from_value(serde_json::json!({
        "duration": 40_000_000,
        "topology": {"kind": "single-switch", "hosts": 4, "rate": 400_000_000_000u64,
            "delay": 500_000},
        "switch": {"SharedBufferManager": {"TotalSharedBufferSize": 8_000_000,
            "StaticPoolXoffThreshold": 60_000, "StaticPoolXonThreshold": 20_000}},
        "traffic": [{"pattern": "incast", "receiver": 0, "senders": 3, "bytes": 400_000,
            "packet": 4_000, "dscp": 8}],
        "record": {"interval": 9_000_000, "tables": ["jobs", "port_buffers", "drops", "pfc"]},
    }))
    .unwrap();
    scenario.switch.shared_buffer_manager.head_room_per_port_limit = Bytes(headroom);
    scenario
}

fn meta(headroom: u64) -> JobMeta {
    JobMeta {
        id: JobId(headroom),
        repetition: 0,
        seed: 5,
        scenario: format!("{{\"headroom\":{headroom}}}"),
        tables: TableSet::from_list("jobs,port_buffers,drops,pfc"),
        interval: Ps(9_000_000),
        zeros: false,
    }
}

/// The rows of the job with so much headroom, and whose simulation they are.
fn rows(known: &Known<'_>, simulator: &Counting, headroom: u64) -> JobRows {
    let mut rows = known.rows(simulator, &scenario(headroom), SEEDS, meta(headroom)).unwrap();
    assert_eq!(rows.status(), Status::Ok);
    rows.take_record();
    rows
}

/// Compares with the job's own simulation.
fn assert_own(rows: &JobRows, headroom: u64) {
    let folder = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(folder.path()).unwrap();
    let own = Simulator::default().simulate(&scenario(headroom), SEEDS).unwrap();
    let own = JobRows::new(meta(headroom), Outcome::Ran(&own)).unwrap();
    dataset.publish("plan", vec![own]).unwrap();
    assert_eq!(dataset.compare_job(rows).unwrap(), [], "{headroom}");
}

#[test]
fn one_simulation_answers_all_headroom_that_is_never_full() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(folder.path()).unwrap();
    let (known, simulator) = (Known::new(&dataset), Counting::default());
    let first = rows(&known, &simulator, 400_000);
    assert_eq!(first.reused_from(), None);
    for headroom in [399_999, 200_000, 100_000] {
        let (one, other) = (scenario(400_000), scenario(headroom));
        assert!(known.same((&one, SEEDS), (&other, SEEDS)));
        let covered = rows(&known, &simulator, headroom);
        assert_eq!(covered.reused_from(), Some(JobId(400_000)));
        assert_own(&covered, headroom);
    }
    assert_eq!(known.answered(), Answered { simulated: 1, covered: 3 });
    // Headroom that fills is another story.
    let (one, other) = (scenario(400_000), scenario(8_000));
    assert!(!known.same((&one, SEEDS), (&other, SEEDS)));
    assert_eq!(rows(&known, &simulator, 8_000).reused_from(), None);
    // As are other seeds.
    assert!(!known.same((&one, SEEDS), (&one, Seeds { sweep: 6, ..SEEDS })));
    assert_eq!(simulator.runs.load(Ordering::Relaxed), 2);
}

#[test]
fn what_memory_does_not_hold_is_read_back_or_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(folder.path()).unwrap();
    let mut known = Known::new(&dataset);
    known.most_kept = 0;
    let simulator = Counting::default();
    let first = rows(&known, &simulator, 400_000);
    // The last one is always kept.
    assert_eq!(rows(&known, &simulator, 300_000).reused_from(), Some(JobId(400_000)));
    rows(&known, &simulator, 8_000);
    // Now the first is gone, and nothing is on disk: simulated again.
    let again = rows(&known, &simulator, 200_000);
    assert_eq!(again.reused_from(), None);
    assert_own(&again, 200_000);
    assert_eq!(simulator.runs.load(Ordering::Relaxed), 3);

    // A run that finds it on disk reads it.
    let observed = simulator.simulator.simulate(&scenario(400_000), SEEDS).unwrap();
    let watched = {
        let groups = Groups::new(&scenario(400_000)).unwrap();
        simulator.simulator.watched(&scenario(400_000), SEEDS, &groups).unwrap().unwrap()
    };
    assert_eq!(watched.observations, observed);
    dataset.publish("plan", vec![first]).unwrap();
    let key = structure(&scenario(400_000), SEEDS, SEMANTICS_VERSION).to_string();
    let compared = serde_json::to_string(&watched.outcome).unwrap();
    let record = RunRecord::new(JobId(400_000), key, compared, &observed);
    let run = crate::run::origin::provenance("r".into(), "plan", &[], 1);
    dataset.write_reuse(&run, &[record]).unwrap();
    let known = Known::new(&dataset);
    let covered = rows(&known, &simulator, 250_000);
    assert_eq!(covered.reused_from(), Some(JobId(400_000)));
    assert_own(&covered, 250_000);
    assert_eq!(simulator.runs.load(Ordering::Relaxed), 3);
}

#[test]
fn a_simulator_that_keeps_nothing_runs_every_job() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(folder.path()).unwrap();
    let known = Known::new(&dataset);
    let simulator = Counting { plain: true, ..Counting::default() };
    for headroom in [400_000, 300_000] {
        assert_eq!(rows(&known, &simulator, headroom).reused_from(), None);
    }
    assert_eq!(known.answered(), Answered { simulated: 2, covered: 0 });
    assert_eq!(simulator.runs.load(Ordering::Relaxed), 2);
}
