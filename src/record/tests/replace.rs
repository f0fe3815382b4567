//! Jobs recorded again, and several writers on one folder.

use super::checksums::all_vouched;
use super::faults::{Fault, at_every_step, sturdy};
use super::*;
use crate::record::StoredTable;
use arrow::array::{Array, DictionaryArray, Int64Array, StringArray};
use arrow::datatypes::Int32Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeSet;

/// What a plain glob over a table's folder sees: times by job (0 for tables without).
pub(super) fn glob(root: &Path, table: StoredTable) -> BTreeMap<JobId, Vec<i64>> {
    let mut seen: BTreeMap<JobId, Vec<i64>> = BTreeMap::new();
    let Ok(entries) = fs::read_dir(root.join(table.name())) else { return seen };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with('.') {
            continue;
        }
        let file = fs::File::open(&path).unwrap();
        for batch in ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap() {
            let batch = batch.unwrap();
            let ids = batch.column_by_name("job_id").unwrap().as_any();
            let ids: &DictionaryArray<Int32Type> = ids.downcast_ref().unwrap();
            let words: &StringArray = ids.values().as_any().downcast_ref().unwrap();
            let times = batch.column_by_name("sim_time_ps");
            let times = times.map(|t| t.as_any().downcast_ref::<Int64Array>().unwrap().clone());
            for row in 0..batch.num_rows() {
                let id = words.value(ids.keys().value(row) as usize);
                let id = JobId(u64::from_str_radix(id, 16).unwrap());
                seen.entry(id).or_default().push(times.as_ref().map_or(0, |t| t.value(row)));
            }
        }
    }
    seen
}

/// The times of a job recorded at an interval.
fn times(interval: i64) -> Vec<i64> {
    (1..=INTERVALS as i64).map(|i| i * interval).collect()
}

fn claim(dataset: &Dataset, job: u64) -> (String, u64) {
    let done = dataset.done().unwrap()[&JobId(job)];
    (done.tables.to_list(), done.interval.0)
}

#[test]
fn a_whole_chunk_again_takes_the_place_of_the_old() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = sturdy(dir.path());
    let first = publish(&dataset, &[1, 2], "jobs,drops,flows", 5).unwrap();
    let again = publish(&dataset, &[1, 2], "jobs,drops,pfc", 7).unwrap();
    assert_eq!(first.parts, again.parts);
    assert_eq!(claim(&dataset, 1), ("jobs,drops,pfc".to_owned(), 7));
    assert_eq!(glob(dir.path(), StoredTable::Jobs).len(), 2);
    assert_eq!(glob(dir.path(), StoredTable::Drops)[&JobId(2)], times(7));
    assert_eq!(glob(dir.path(), StoredTable::Pfc)[&JobId(1)], times(7));
    assert!(glob(dir.path(), StoredTable::Flows).is_empty(), "nobody claims them");
}

#[test]
fn some_jobs_again_leave_the_others_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = sturdy(dir.path());
    publish(&dataset, &[1, 2, 3], "jobs,drops", 5).unwrap();
    publish(&dataset, &[4, 5], "jobs,drops", 5).unwrap();
    let before = dataset.job(JobId(1)).unwrap();
    // Two old parts and a new job.
    let published = publish(&dataset, &[2, 3, 4, 9], "jobs,pfc", 7).unwrap();
    assert_eq!((published.parts.len(), published.jobs), (3, 4));
    assert_eq!(dataset.job(JobId(1)).unwrap(), before);
    for job in [1, 5] {
        assert_eq!(claim(&dataset, job), ("jobs,drops".to_owned(), 5));
        assert_eq!(glob(dir.path(), StoredTable::Drops)[&JobId(job)], times(5));
    }
    for job in [2, 3, 4, 9] {
        assert_eq!(claim(&dataset, job), ("jobs,pfc".to_owned(), 7));
        assert_eq!(glob(dir.path(), StoredTable::Pfc)[&JobId(job)], times(7));
        assert!(!glob(dir.path(), StoredTable::Drops).contains_key(&JobId(job)));
    }
    assert!(glob(dir.path(), StoredTable::Jobs).values().all(|rows| rows.len() == 1));
    assert!(leftovers(dir.path()).is_empty());
    // A process that comes later sees the same.
    let later = sturdy(dir.path());
    assert_eq!(later.done().unwrap(), dataset.done().unwrap());
}

/// After anything: no job lost or doubled in `jobs`, and no claim that the rows do not bear out.
fn sound(root: &Path, jobs: &[u64]) {
    all_vouched(root);
    let rows = glob(root, StoredTable::Jobs);
    assert_eq!(
        rows.keys().copied().collect::<Vec<_>>(),
        jobs.iter().map(|&j| JobId(j)).collect::<Vec<_>>()
    );
    assert!(rows.values().all(|rows| rows.len() == 1), "{rows:?}");
    let done = Dataset::open(root).unwrap().done().unwrap();
    for table in [StoredTable::Drops, StoredTable::Pfc] {
        let seen = glob(root, table);
        for (job, done) in &done {
            let found = seen.get(job);
            let claimed = done.tables.iter().any(|t| StoredTable::from(t) == table);
            if claimed {
                assert_eq!(found, Some(&times(done.interval.0 as i64)), "{job} {}", table.name());
            } else if let Some(found) = found {
                assert_eq!(found.len(), INTERVALS as usize, "doubled: {job}");
            }
        }
    }
}

#[test]
fn a_replacement_cut_short_anywhere_loses_and_doubles_nothing() {
    let lay = |root: &Path| {
        let dataset = sturdy(root);
        publish(&dataset, &[1, 2, 3], "jobs,drops", 5).unwrap();
    };
    for (again, fault) in [
        (&[1, 2, 3][..], Fault::Dead),
        (&[1, 2, 3], Fault::Once),
        (&[2, 3], Fault::Dead),
        (&[2, 3], Fault::Once),
    ] {
        let act = |dataset: &Dataset| publish(dataset, again, "jobs,drops,pfc", 7);
        let check = |root: &Path, _| {
            sound(root, &[1, 2, 3]);
            let dataset = sturdy(root);
            publish(&dataset, again, "jobs,drops,pfc", 7).unwrap();
            sound(root, &[1, 2, 3]);
            assert_eq!(claim(&dataset, 2), ("jobs,drops,pfc".to_owned(), 7));
            let one = if again.len() == 3 { ("jobs,drops,pfc", 7) } else { ("jobs,drops", 5) };
            assert_eq!(claim(&dataset, 1), (one.0.to_owned(), one.1));
        };
        let steps = at_every_step(fault, lay, act, check);
        assert!(steps > 25, "only {steps} steps were tried");
    }
}

#[test]
fn two_writers_on_one_chunk_write_one_part() {
    let alone = tempfile::tempdir().unwrap();
    publish(&sturdy(alone.path()), &[1, 2], "jobs,drops", 5).unwrap();
    for _ in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                // A dataset each, as processes have.
                scope.spawn(|| {
                    let dataset = sturdy(dir.path());
                    publish(&dataset, &[1, 2], "jobs,drops", 5).unwrap();
                });
            }
        });
        assert_eq!(files(dir.path()), files(alone.path()));
        assert!(leftovers(dir.path()).is_empty());
    }
}

#[test]
fn writers_of_overlapping_chunks_double_nothing() {
    let chunks: [&[u64]; 4] = [&[1, 2, 3], &[3, 4], &[2, 4, 5], &[1, 5]];
    for _ in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let shared = sturdy(dir.path());
        std::thread::scope(|scope| {
            for (place, chunk) in chunks.into_iter().enumerate() {
                let (shared, path) = (&shared, dir.path());
                scope.spawn(move || {
                    let own = sturdy(path);
                    let dataset = if place % 2 == 0 { shared } else { &own };
                    publish(dataset, chunk, "jobs,drops", 5).unwrap();
                });
            }
        });
        sound(dir.path(), &[1, 2, 3, 4, 5]);
        let drops = glob(dir.path(), StoredTable::Drops);
        assert_eq!(drops.keys().copied().collect::<BTreeSet<_>>().len(), 5);
        assert!(drops.values().all(|rows| *rows == times(5)), "{drops:?}");
    }
}

#[test]
fn what_is_there_already_is_not_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = sturdy(dir.path());
    publish(&dataset, &[1, 2], "jobs,drops", 5).unwrap();
    let before = fs::metadata(dir.path().join("jobs")).unwrap().modified().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    publish(&dataset, &[2], "jobs,drops", 5).unwrap();
    assert_eq!(fs::metadata(dir.path().join("jobs")).unwrap().modified().unwrap(), before);
}
