//! Parts put together: the same rows, whatever fails midway and whoever else writes.

use super::checksums::all_vouched;
use super::faults::{Fault, at_every_step, sturdy};
use super::replace::glob;
use super::*;
use crate::record::{Limits, Provenance, RecordError, StoredTable, Timing};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

pub(in crate::record) fn run(id: &str, ended: bool) -> Provenance {
    Provenance {
        run_id: id.to_owned(),
        plan_hash: PLAN.to_owned(),
        version: "1".to_owned(),
        commit: None,
        lock_hash: None,
        target: "t".to_owned(),
        cpu_features: String::new(),
        command_line: vec!["poolsweep".to_owned()],
        sources: Vec::new(),
        host: "h".to_owned(),
        slurm_job_id: None,
        slurm_array_job_id: None,
        slurm_array_task_id: None,
        threads: 1,
        start: SystemTime::UNIX_EPOCH,
        end: ended.then_some(SystemTime::UNIX_EPOCH),
    }
}

fn timing(job: u64) -> Timing {
    let (start, wall) = (SystemTime::UNIX_EPOCH, Duration::from_millis(job));
    Timing { job: JobId(job), thread: 0, start, wall, cpu: None }
}

/// Three parts whose jobs interleave, of two plans, with different tables.
fn lay(root: &Path) {
    let dataset = sturdy(root);
    publish(&dataset, &[1, 5, 9], "jobs,drops,flows", 5).unwrap();
    publish(&dataset, &[2, 4], "jobs,drops", 7).unwrap();
    let mut chunk = ChunkWriter::new(&dataset, "another");
    chunk.push(meta(3, "jobs,pfc", 5), Outcome::Ran(&observed(3, 5))).unwrap();
    chunk.push(meta(7, "jobs,drops", 5), Outcome::Infeasible("no room")).unwrap();
    chunk.finish().unwrap();
    for (name, job) in [("a", 1), ("b", 2)] {
        dataset.write_timings(&run(name, true), &[timing(job)]).unwrap();
        dataset.write_provenance(&run(name, true)).unwrap();
    }
    dataset.write_provenance(&run("going-on", false)).unwrap();
}

fn laid() -> (tempfile::TempDir, Dataset) {
    let dir = tempfile::tempdir().unwrap();
    lay(dir.path());
    let dataset = sturdy(dir.path());
    (dir, dataset)
}

fn rows_of(dataset: &Dataset, table: StoredTable) -> usize {
    dataset.read_table(table).unwrap().map(|batch| batch.unwrap().num_rows()).sum()
}

#[test]
fn few_parts_hold_the_same_rows() {
    let (_before, expected) = laid();
    let (dir, dataset) = laid();
    let told = dataset.compact(Limits::default()).unwrap();
    assert_eq!((told.parts_before, told.parts, told.skipped), (3, 1, 0));
    assert!(told.files < told.files_before, "{told:?}");
    assert_eq!(dataset.compare(&expected).unwrap(), []);
    assert_eq!(dataset.done().unwrap(), expected.done().unwrap());
    all_vouched(dir.path());
    let jobs: Vec<_> = glob(dir.path(), StoredTable::Jobs).into_keys().map(|job| job.0).collect();
    assert_eq!(jobs, [1, 2, 3, 4, 5, 7, 9]);
    assert_eq!(rows_of(&dataset, StoredTable::Timings), 2);
    assert_eq!(rows_of(&dataset, StoredTable::Provenance), 3);
    // The run that goes on writes its row anew, under its own name.
    dataset.write_provenance(&run("going-on", true)).unwrap();
    assert_eq!(rows_of(&dataset, StoredTable::Provenance), 3);
    assert!(leftovers(dir.path()).is_empty());

    let again = dataset.compact(Limits::default()).unwrap();
    assert_eq!((again.parts_before, again.parts), (1, 1));
    // Jobs of the large part recorded again.
    publish(&dataset, &[4, 11], "jobs,drops,pfc", 5).unwrap();
    assert_eq!(dataset.done().unwrap()[&JobId(4)].tables.to_list(), "jobs,drops,pfc");
    all_vouched(dir.path());
}

#[test]
fn a_part_grows_no_larger_than_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = sturdy(dir.path());
    for job in 1..=10 {
        publish(&dataset, &[job], "jobs,drops", 5).unwrap();
    }
    let told = dataset.compact(Limits { jobs: 4, ..Limits::default() }).unwrap();
    assert!((3..=5).contains(&told.parts), "{told:?}");
    for part in fs::read_dir(dir.path().join("jobs")).unwrap() {
        let path = part.unwrap().path();
        if !path.file_name().unwrap().to_str().unwrap().starts_with('.') {
            assert!(crate::record::checksum::check(&path).unwrap().sum.rows <= 4);
        }
    }
    assert_eq!(dataset.done().unwrap().len(), 10);
}

#[test]
fn a_job_of_many_batches_stays_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = sturdy(dir.path());
    for job in [2, 1] {
        let mut long = observed(job, 10);
        let row = long.drops[0];
        long.drops =
            (0..20_000).map(|t| crate::sim::observe::DropRow { sim_time: t, ..row }).collect();
        let mut chunk = ChunkWriter::new(&dataset, PLAN);
        chunk.push(meta(job, "jobs,drops", 10), Outcome::Ran(&long)).unwrap();
        chunk.finish().unwrap();
    }
    assert_eq!(dataset.compact(Limits::default()).unwrap().parts, 1);
    let drops = glob(dir.path(), StoredTable::Drops);
    for job in [1, 2] {
        assert_eq!(drops[&JobId(job)], (0..20_000).collect::<Vec<i64>>());
    }
}

#[test]
fn a_claim_without_its_file_is_not_made_true() {
    let (dir, dataset) = laid();
    let part = publish(&dataset, &[21], "jobs,drops", 5).unwrap().parts.remove(0);
    fs::remove_file(dir.path().join("drops").join(part)).unwrap();
    let told = dataset.compact(Limits::default()).unwrap();
    assert_eq!((told.parts, told.skipped), (2, 1));
    assert_eq!(dataset.done().unwrap()[&JobId(21)].tables.to_list(), "jobs");
}

#[test]
fn damaged_rows_get_no_new_checksum() {
    let (dir, dataset) = laid();
    let before = files(dir.path());
    let name = before.keys().find(|name| name.starts_with("drops/")).unwrap();
    let mut bytes = before[name].clone();
    bytes[30] ^= 4;
    fs::write(dir.path().join(name), bytes).unwrap();
    let error = dataset.compact(Limits::default()).unwrap_err();
    assert!(matches!(&error, RecordError::Damaged { path, .. } if path.ends_with(name)), "{error}");
    assert_eq!(files(dir.path()).len(), before.len());
}

#[test]
fn cut_short_anywhere_it_loses_and_doubles_nothing() {
    let (_kept, expected) = laid();
    for fault in [Fault::Dead, Fault::Once] {
        let act = |dataset: &Dataset| dataset.compact(Limits::default());
        let check = |root: &Path, _| {
            // As a reader sees it who knows nothing of manifests.
            let seen = glob(root, StoredTable::Jobs);
            assert!(seen.values().all(|rows| rows.len() == 1), "{seen:?}");
            for table in [StoredTable::Drops, StoredTable::Pfc] {
                assert!(glob(root, table).values().all(|rows| rows.len() == INTERVALS as usize));
            }
            let dataset = sturdy(root);
            assert!(!root.join(".compacting.json").exists());
            assert_eq!(dataset.compare(&expected).unwrap(), []);
            assert_eq!(dataset.done().unwrap(), expected.done().unwrap());
            assert_eq!(rows_of(&dataset, StoredTable::Timings), 2);
            assert_eq!(rows_of(&dataset, StoredTable::Provenance), 3);
            all_vouched(root);
            // And it can be ended.
            assert_eq!(dataset.compact(Limits::default()).unwrap().parts, 1);
            assert_eq!(dataset.compare(&expected).unwrap(), []);
        };
        let steps = at_every_step(fault, lay, act, check);
        assert!(steps > 40, "only {steps} steps were tried");
    }
}

#[test]
fn writers_and_readers_go_on_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    publish(&sturdy(dir.path()), &[1000], "jobs,drops", 5).unwrap();
    let (stop, root) = (AtomicBool::new(false), dir.path());
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2u64)
            .map(|writer| {
                scope.spawn(move || {
                    // A dataset each, as processes have.
                    let dataset = sturdy(root);
                    for round in 0..30 {
                        // The second repeats jobs of the first and has some of its own.
                        let jobs = [round, 100 * writer + 30 + round];
                        publish(&dataset, &jobs, "jobs,drops", 5).unwrap();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let dataset = sturdy(dir.path());
            while !stop.load(Ordering::SeqCst) {
                dataset.compact(Limits::default()).unwrap();
            }
        });
        scope.spawn(|| {
            let dataset = Dataset::open(dir.path()).unwrap();
            let mut before = 0;
            while !stop.load(Ordering::SeqCst) {
                let done = dataset.done().unwrap();
                assert!(done.len() >= before, "jobs went: {before} to {}", done.len());
                assert!(done.contains_key(&JobId(1000)));
                before = done.len();
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        stop.store(true, Ordering::SeqCst);
    });
    let jobs = glob(dir.path(), StoredTable::Jobs);
    let expected: BTreeSet<u64> = (0..60).chain(130..160).chain([1000]).collect();
    assert_eq!(jobs.keys().map(|job| job.0).collect::<BTreeSet<_>>(), expected);
    assert!(jobs.values().all(|rows| rows.len() == 1));
    assert!(glob(dir.path(), StoredTable::Drops).values().all(|rows| *rows == [5, 10, 15]));
    all_vouched(dir.path());
}
