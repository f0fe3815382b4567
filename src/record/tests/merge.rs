//! Datasets taken into one another.

use super::checksums::all_vouched;
use super::faults::sturdy;
use super::*;
use crate::record::{RecordError, StoredTable, merge};
use crate::sim::random::Seeds;
use crate::sweep::plan::{Job, Point};
use std::path::PathBuf;

/// A dataset with points and a plan of these jobs.
fn planned(root: &Path, jobs: &[u64], plan: &str) -> Dataset {
    let dataset = sturdy(root);
    let job = |(point, &id): (usize, &u64)| Job {
        id: JobId(id),
        repetition: 0,
        seeds: Seeds::default(),
        infeasible: Vec::new(),
        cost: 1.0,
        point,
    };
    let point = |job| Point { scenario: None, repetition: 0, job: Some(job), excluded_by: None };
    let points: Vec<_> = (0..jobs.len()).map(point).collect();
    let jobs: Vec<_> = jobs.iter().enumerate().map(job).collect();
    dataset.write_points(plan, &points, &jobs, &[]).unwrap();
    dataset.write_plan(format!("{{\"plan_hash\": \"{plan}\"}}").as_bytes()).unwrap();
    dataset
}

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Place { dir: tempfile::tempdir().unwrap() }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

#[test]
fn shards_become_the_whole() {
    let place = Place::new();
    let all = [1, 2, 3, 4, 5];
    let whole = planned(&place.path("whole"), &all, PLAN);
    publish(&whole, &all, "jobs,drops", 5).unwrap();
    let one = planned(&place.path("one"), &all, PLAN);
    publish(&one, &[1, 3], "jobs,drops", 5).unwrap();
    let two = planned(&place.path("two"), &all, PLAN);
    publish(&two, &[2, 3], "jobs,drops", 5).unwrap();
    publish(&two, &[4], "jobs,drops", 5).unwrap();
    fs::create_dir(place.path("two").join("journal")).unwrap();
    fs::write(place.path("two").join("journal/r.jsonl"), "{}\n").unwrap();

    let from = [place.path("one"), place.path("two")];
    let told = merge(&place.path("out"), &from, false).unwrap();
    let told: Vec<_> =
        told.sources.iter().map(|s| (s.parts, s.in_parts, s.single, s.held)).collect();
    assert_eq!(told, [(1, 2, 0, 0), (1, 1, 1, 1)]);
    let again = merge(&place.path("out"), &from, false).unwrap();
    assert_eq!(again.outstanding, 1);
    assert!(again.sources.iter().all(|s| s.in_parts + s.single == 0), "{again:?}");
    publish(&two, &[5], "jobs,drops", 5).unwrap();
    assert_eq!(merge(&place.path("out"), &from, false).unwrap().outstanding, 0);
    let out = Dataset::open(place.path("out")).unwrap();
    assert_eq!(out.compare(&whole).unwrap(), []);
    assert!(place.path("out/journal/r.jsonl").exists());
    assert_eq!(
        fs::read(place.path("out/points.parquet")).unwrap(),
        fs::read(place.path("one/points.parquet")).unwrap()
    );
    all_vouched(&place.path("out"));
    assert!(leftovers(&place.path("out")).is_empty());
}

#[test]
fn another_plan_is_refused_unless_the_target_has_one() {
    let place = Place::new();
    publish(&planned(&place.path("one"), &[1], "a"), &[1], "jobs", 5).unwrap();
    publish(&planned(&place.path("two"), &[2, 9], "b"), &[2, 9], "jobs", 5).unwrap();
    let from = [place.path("one"), place.path("two")];
    let error = merge(&place.path("out"), &from, false).unwrap_err();
    assert!(matches!(error, RecordError::OtherPlan { .. }), "{error}");
    assert!(!place.path("out").exists());
    planned(&place.path("out"), &[1, 2], "ab");
    let told = merge(&place.path("out"), &from, false).unwrap();
    assert_eq!(told.sources[1].others, [JobId(9)]);
    assert_eq!((told.sources[1].single, told.outstanding), (1, 0));
    let told = merge(&place.path("out"), &from, true).unwrap();
    assert_eq!(told.sources[1].single, 1);
    assert_eq!(Dataset::open(place.path("out")).unwrap().done().unwrap().len(), 3);
    let same = merge(&place.path("out"), &[place.path("out")], false).unwrap_err();
    assert!(matches!(same, RecordError::SameFolder { .. }), "{same}");
}

#[test]
fn more_tables_win_and_a_result_beats_a_failure() {
    let place = Place::new();
    let one = planned(&place.path("one"), &[1, 2, 3], PLAN);
    publish(&one, &[1, 2], "jobs,drops", 5).unwrap();
    let mut chunk = ChunkWriter::new(&one, PLAN);
    chunk.push(meta(3, "jobs,drops", 5), Outcome::Failed("no trace")).unwrap();
    chunk.finish().unwrap();
    let two = planned(&place.path("two"), &[1, 2, 3], PLAN);
    publish(&two, &[2, 3], "jobs,drops,pfc", 5).unwrap();
    let from = [place.path("one"), place.path("two")];
    merge(&place.path("out"), &from, false).unwrap();
    let out = Dataset::open(place.path("out")).unwrap();
    let done = out.done().unwrap();
    let tables: Vec<_> = done.values().map(|claim| claim.tables.to_list()).collect();
    assert_eq!(tables, ["jobs,drops", "jobs,drops,pfc", "jobs,drops,pfc"]);
    assert_eq!(done[&JobId(3)].status.name(), "ok");
    for job in [2, 3] {
        let again = JobMeta { tables: TableSet::from_list("jobs,drops,pfc"), ..meta(job, "", 5) };
        let again = crate::record::JobRows::new(again, Outcome::Ran(&observed(job, 5))).unwrap();
        assert_eq!(out.compare_job(&again).unwrap(), []);
    }
    all_vouched(&place.path("out"));
}

#[test]
fn different_results_of_one_job_are_named_and_nothing_is_taken() {
    let place = Place::new();
    let one = planned(&place.path("one"), &[1, 2], PLAN);
    publish(&one, &[1], "jobs,drops", 5).unwrap();
    let two = planned(&place.path("two"), &[1, 2], PLAN);
    let mut changed = observed(1, 5);
    changed.totals.peak_ingress = 9_001;
    let mut chunk = ChunkWriter::new(&two, PLAN);
    chunk.push(meta(1, "jobs,drops", 5), Outcome::Ran(&changed)).unwrap();
    chunk.push(meta(2, "jobs,drops", 5), Outcome::Ran(&observed(2, 5))).unwrap();
    chunk.finish().unwrap();
    let from = [place.path("one"), place.path("two")];
    let error = merge(&place.path("out"), &from, false).unwrap_err();
    let RecordError::Conflict { conflicts } = &error else { panic!("{error}") };
    assert_eq!(conflicts.len(), 1);
    let line = &conflicts[0];
    assert!(
        line.starts_with("job 0000000000000001: peak_ingress_bytes 9000 against 9001 ("),
        "{line}"
    );
    assert!(Dataset::open(place.path("out")).unwrap().done().unwrap().is_empty());
}

#[test]
fn a_damaged_source_is_named() {
    let place = Place::new();
    let one = planned(&place.path("one"), &[1, 2], PLAN);
    publish(&one, &[1, 2], "jobs,drops", 5).unwrap();
    let path = fs::read_dir(place.path("one/drops")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&path).unwrap();
    bytes[40] ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = merge(&place.path("out"), &[place.path("one")], false).unwrap_err();
    assert!(matches!(&error, RecordError::Damaged { path: p, .. } if *p == path), "{error}");
    let out = Dataset::open(place.path("out")).unwrap();
    assert_eq!(out.read_table(StoredTable::Jobs).unwrap().count(), 0);
}
