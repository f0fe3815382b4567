//! Folders that are datasets, and folders that are not.

use super::*;
use crate::record::{Provenance, RecordError, StoredTable, Timing};
use crate::sweep::plan::SourceFile;
use std::time::{Duration, UNIX_EPOCH};

#[test]
fn a_folder_of_something_else_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.tex"), "x").unwrap();
    let error = Dataset::open_or_create(dir.path()).unwrap_err();
    assert!(matches!(error, RecordError::NotADataset { .. }), "{error}");
    assert!(error.to_string().contains("nothing was touched"));
    assert_eq!(files(dir.path()).len(), 1);
    assert!(!dir.path().join(".lock").exists());
    let error = Dataset::open(dir.path()).unwrap_err();
    assert!(matches!(error, RecordError::NoDataset { .. }), "{error}");
    let error = Dataset::open_or_create(dir.path().join("thesis.tex")).unwrap_err();
    assert!(matches!(error, RecordError::Io { action: "list", .. }), "{error}");
}

#[test]
fn another_schema_version_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let marker = dir.path().join("dataset.json");
    fs::write(&marker, r#"{"format": "poolsweep dataset", "schema_version": 99}"#).unwrap();
    for result in [Dataset::open_or_create(dir.path()), Dataset::open(dir.path())] {
        let error = result.unwrap_err();
        assert!(matches!(error, RecordError::OtherVersion { found: 99, .. }), "{error}");
    }
    assert_eq!(files(dir.path()).len(), 1);
    fs::write(&marker, r#"{"format": "photo album", "schema_version": 1}"#).unwrap();
    let error = Dataset::open_or_create(dir.path()).unwrap_err();
    assert!(error.to_string().contains("its format is `photo album`"), "{error}");
    fs::write(&marker, "{").unwrap();
    let error = Dataset::open_or_create(dir.path()).unwrap_err();
    assert!(matches!(error, RecordError::BadMarker { .. }), "{error}");
}

#[test]
fn an_empty_folder_and_a_missing_one_become_datasets() {
    let dir = tempfile::tempdir().unwrap();
    Dataset::open_or_create(dir.path()).unwrap();
    let deep = dir.path().join("a/b");
    publish(&Dataset::open_or_create(&deep).unwrap(), &[1], "jobs", 5).unwrap();
    assert_eq!(Dataset::open_or_create(&deep).unwrap().done().unwrap().len(), 1);
    assert_eq!(Dataset::open(&deep).unwrap().done().unwrap().len(), 1);
    assert!(Dataset::open(dir.path()).unwrap().done().unwrap().is_empty());
}

/// The one part of a table.
fn part(dataset: &Dataset, table: StoredTable) -> std::path::PathBuf {
    let folder = dataset.path().join(table.name());
    fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_truncated_part_is_named_at_any_length() {
    for table in [StoredTable::Drops, StoredTable::Jobs] {
        let dir = tempfile::tempdir().unwrap();
        let dataset = Dataset::open_or_create(dir.path()).unwrap();
        publish(&dataset, &[1, 2], "jobs,drops", 5).unwrap();
        let path = part(&dataset, table);
        let whole = fs::read(&path).unwrap();
        for length in [0, 4, 11, 12, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            let error = dataset.done().unwrap_err();
            let RecordError::Damaged { path: named, .. } = &error else { panic!("{error}") };
            assert_eq!(named, &path, "at {length}");
            assert!(error.to_string().contains("delete it"), "{error}");
        }
        fs::write(&path, &whole).unwrap();
        assert_eq!(dataset.done().unwrap().len(), 2);
    }
}

#[test]
fn following_the_advice_makes_the_jobs_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    publish(&dataset, &[1, 2], "jobs,drops", 5).unwrap();
    publish(&dataset, &[3], "jobs,drops", 5).unwrap();
    let path = dataset.path().join("drops");
    let first = |folder: &Path| {
        let mut all: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
        all.sort();
        all.remove(0)
    };
    fs::remove_file(first(&path)).unwrap();
    let claims = dataset.done().unwrap();
    assert_eq!(claims[&JobId(1)].tables.to_list(), "jobs");
    assert_eq!(claims[&JobId(3)].tables.to_list(), "jobs,drops");
    fs::remove_file(first(&dataset.path().join("jobs"))).unwrap();
    assert_eq!(dataset.done().unwrap().into_keys().collect::<Vec<_>>(), [JobId(3)]);
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    publish(&dataset, &[1, 2], "jobs,drops", 5).unwrap();
    assert_eq!(dataset.done().unwrap().len(), 3);
}

#[test]
fn a_foreign_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    publish(&dataset, &[1], "jobs,drops", 5).unwrap();
    let alien = dataset.path().join("drops/mine.parquet");
    fs::copy(part(&dataset, StoredTable::Drops), &alien).unwrap();
    let error = dataset.done().unwrap_err();
    assert!(matches!(&error, RecordError::Foreign { path, .. } if *path == alien), "{error}");
    assert!(error.to_string().contains("move it elsewhere"));
    fs::remove_file(alien).unwrap();
    // The right name, another table inside.
    fs::copy(part(&dataset, StoredTable::Drops), part(&dataset, StoredTable::Jobs)).unwrap();
    let error = dataset.done().unwrap_err();
    assert!(error.to_string().contains("column 1 is `sim_time_ps`"), "{error}");
    // What no reader takes for a table does not matter.
    fs::copy(part(&dataset, StoredTable::Drops), dataset.path().join("drops/notes.txt")).unwrap();
}

#[test]
fn parts_without_their_jobs_part_are_skipped_then_cleared() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    publish(&dataset, &[1], "jobs,drops", 5).unwrap();
    let stale = dataset.path().join("drops/part-0000000000000009-0123456789abcdef.parquet");
    fs::copy(part(&dataset, StoredTable::Drops), &stale).unwrap();
    let rows: usize =
        dataset.read_table(StoredTable::Drops).unwrap().map(|b| b.unwrap().num_rows()).sum();
    assert_eq!(rows, 3);
    Dataset::open(dir.path()).unwrap();
    assert!(stale.exists(), "a reader changes nothing");
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    assert!(!stale.exists());
    assert_eq!(dataset.done().unwrap().len(), 1);
}

#[test]
fn sources_plan_timings_and_provenance_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    let source = |path: &str, bytes: &[u8]| SourceFile { path: path.into(), bytes: bytes.to_vec() };
    let main = source("sweeps/a.yaml", b"base: 1");
    dataset.write_sources(&main, &[source("lib/b.yaml", b"b")]).unwrap();
    dataset.write_plan(b"{}").unwrap();
    let start = UNIX_EPOCH + Duration::from_secs(10);
    let mut run = Provenance {
        run_id: "host/1".to_owned(),
        plan_hash: PLAN.to_owned(),
        version: "0.1.0".to_owned(),
        commit: None,
        lock_hash: Some("ab".to_owned()),
        target: "x86_64".to_owned(),
        cpu_features: "sse2".to_owned(),
        command_line: vec!["poolsweep".to_owned(), "run".to_owned()],
        sources: vec![main],
        host: "host".to_owned(),
        slurm_job_id: None,
        slurm_array_job_id: None,
        slurm_array_task_id: Some("3".to_owned()),
        threads: 2,
        start,
        end: None,
    };
    dataset.write_provenance(&run).unwrap();
    run.end = Some(start + Duration::from_secs(1));
    dataset.write_provenance(&run).unwrap();
    let timing =
        Timing { job: JobId(1), thread: 1, start, wall: Duration::from_millis(3), cpu: None };
    dataset.write_timings(&run, &[timing]).unwrap();
    dataset.write_timings(&run, &[]).unwrap();
    let files = files(dir.path());
    assert_eq!(files["sweep.yaml"], b"base: 1");
    assert_eq!(files["sources/01-b.yaml"], b"b");
    assert_eq!(files["plan.json"], b"{}");
    assert!(files.contains_key("provenance/part-host_1.parquet"), "{:?}", files.keys());
    for table in [StoredTable::Provenance, StoredTable::Timings] {
        let rows: usize = dataset.read_table(table).unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(rows, 1, "{}", table.name());
    }
    assert!(dataset.done().unwrap().is_empty(), "a timing is no result");
}
