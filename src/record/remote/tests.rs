//! A dataset over a store in memory, with every call to it made to fail.

use super::mirror::Mirror;
use super::store::{If, Listed, Objects, Put, Store, Version};
use super::{Extent, RemoteError, RemoteUrl};
use crate::record::part::PartName;
use crate::record::tests::{meta, observed};
use crate::record::{ChunkWriter, Dataset, Outcome, Published, Result, StoredTable};
use crate::sweep::plan::JobId;
use bytes::Bytes;
use object_store::memory::InMemory;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

fn url() -> RemoteUrl {
    RemoteUrl::parse("s3://bucket/data/set").unwrap()
}

fn memory() -> Arc<Store> {
    Arc::new(Store::over(&url(), Arc::new(InMemory::new())).unwrap())
}

/// Fails one call, or that and all after it; puts something in the way of a put.
#[derive(Debug)]
struct Faulty {
    inner: Arc<Store>,
    calls: AtomicU64,
    fail_at: AtomicU64,
    for_good: bool,
    in_the_way: Mutex<Option<(String, Bytes)>>,
}

impl Faulty {
    fn new(inner: &Arc<Store>, fail_at: u64, for_good: bool) -> Arc<Self> {
        let (inner, in_the_way) = (Arc::clone(inner), Mutex::new(None));
        let (calls, fail_at) = (AtomicU64::new(0), AtomicU64::new(fail_at));
        Arc::new(Faulty { inner, calls, fail_at, for_good, in_the_way })
    }

    /// Lets this many more calls through.
    fn fail_after(&self, more: u64) {
        self.fail_at.store(self.calls.load(Ordering::SeqCst) + more, Ordering::SeqCst);
    }

    fn call(&self) -> std::result::Result<(), RemoteError> {
        let now = self.calls.fetch_add(1, Ordering::SeqCst);
        let fail_at = self.fail_at.load(Ordering::SeqCst);
        if now == fail_at || self.for_good && now > fail_at {
            return Err(RemoteError::Store {
                action: "reach",
                url: url().to_string(),
                detail: "the cable is out".into(),
                next: "put it back",
            });
        }
        Ok(())
    }
}

impl Objects for Faulty {
    fn list(&self, folder: &str) -> std::result::Result<(Vec<Listed>, Vec<String>), RemoteError> {
        self.call()?;
        self.inner.list(folder)
    }

    fn get(&self, names: &[String]) -> std::result::Result<Vec<(Bytes, Version)>, RemoteError> {
        self.call()?;
        self.inner.get(names)
    }

    fn put(
        &self,
        name: &str,
        bytes: Bytes,
        condition: If,
    ) -> std::result::Result<Put, RemoteError> {
        self.call()?;
        let mut planted = self.in_the_way.lock().unwrap();
        if planted.as_ref().is_some_and(|(target, _)| target == name) {
            let (name, bytes) = planted.take().unwrap();
            self.inner.put(&name, bytes, If::Always)?;
        }
        self.inner.put(name, bytes, condition)
    }

    fn delete(&self, name: &str) -> std::result::Result<(), RemoteError> {
        self.call()?;
        self.inner.delete(name)
    }
}

/// Opens the dataset for writing, with its copy in `root`.
fn open(objects: Arc<dyn Objects>, root: &Path) -> Result<Dataset> {
    let mirror = Mirror::new(url(), root.to_path_buf(), objects);
    mirror.pull_to_write()?;
    Dataset::open_or_create_with(root, Arc::new(mirror))
}

/// Opens it as a reader does, with a copy that has to be kept.
fn reader(objects: Arc<dyn Objects>, extent: Extent) -> Result<Dataset> {
    let mirror = Mirror::temporary(url(), objects)?;
    mirror.pull_to_read(extent)?;
    Dataset::open_with(mirror.root.clone(), Arc::new(mirror))
}

fn publish(dataset: &Dataset, jobs: &[u64], tables: &str, interval: u64) -> Result<Published> {
    let mut chunk = ChunkWriter::new(dataset, "0123456789abcdef");
    for &job in jobs {
        chunk.push(meta(job, tables, interval), Outcome::Ran(&observed(job, interval)))?;
    }
    chunk.finish()
}

/// Every object, by name.
fn objects(store: &Store) -> BTreeMap<String, Bytes> {
    let (mut listed, folders) = store.list("").unwrap();
    for folder in &folders {
        listed.extend(store.list(folder).unwrap().0);
    }
    let names: Vec<String> = listed.into_iter().map(|object| object.name).collect();
    let bytes = store.get(&names).unwrap().into_iter().map(|(bytes, _)| bytes);
    names.iter().cloned().zip(bytes).collect()
}

/// Rows by job that a reader of everything finds in a table.
fn rows(store: &Arc<Store>, table: StoredTable) -> BTreeMap<JobId, usize> {
    let dataset = reader(Arc::clone(store) as _, Extent::Everything).unwrap();
    let mut rows = BTreeMap::new();
    for batch in dataset.read_table(table).unwrap() {
        for (job, run) in crate::record::part::runs(Path::new("x"), &batch.unwrap()).unwrap() {
            *rows.entry(job).or_default() += run.num_rows();
        }
    }
    rows
}

fn claims(store: &Arc<Store>) -> BTreeMap<u64, (String, u64)> {
    let dataset = reader(Arc::clone(store) as _, Extent::Jobs).unwrap();
    let done = dataset.done().unwrap();
    done.into_iter().map(|(id, done)| (id.0, (done.tables.to_list(), done.interval.0))).collect()
}

fn part(jobs: &[u64]) -> String {
    PartName::of(jobs.iter().map(|&job| JobId(job))).to_string()
}

#[test]
fn the_store_holds_what_a_folder_would() {
    let (store, dir) = (memory(), tempfile::tempdir().unwrap());
    let up = open(Arc::clone(&store) as _, &dir.path().join("copy")).unwrap();
    let plain = Dataset::open_or_create(dir.path().join("plain")).unwrap();
    for dataset in [&up, &plain] {
        publish(dataset, &[1, 2], "jobs,drops,flows", 5).unwrap();
        publish(dataset, &[3], "jobs,drops", 5).unwrap();
        // Fewer tables, one more, another interval; one job of two, and a new one.
        publish(dataset, &[2, 4], "jobs,drops,pfc", 7).unwrap();
        publish(dataset, &[3], "jobs,pfc", 7).unwrap();
        dataset.write_plan(b"{}").unwrap();
    }
    let there = objects(&store);
    assert!(there.len() > 10, "{:?}", there.keys());
    for (name, bytes) in &there {
        let path = dir.path().join("plain").join(name);
        assert_eq!(&std::fs::read(&path).unwrap(), bytes, "{name}");
    }
    let local: usize = ["jobs", "drops", "flows", "pfc"]
        .map(|table| std::fs::read_dir(dir.path().join("plain").join(table)).unwrap().count())
        .iter()
        .sum();
    assert_eq!(there.len(), local + 2, "dataset.json and plan.json aside");
    assert_eq!(up.shown(), "s3://bucket/data/set");
}

#[test]
fn the_next_writer_elsewhere_goes_on() {
    let (store, dir) = (memory(), tempfile::tempdir().unwrap());
    let first = open(Arc::clone(&store) as _, &dir.path().join("a")).unwrap();
    publish(&first, &[1, 2], "jobs,drops,flows", 5).unwrap();
    let second = open(Arc::clone(&store) as _, &dir.path().join("b")).unwrap();
    assert_eq!(second.done().unwrap(), first.done().unwrap());
    // The rows of job 1 are kept, which takes the content of a file that was only named so far.
    publish(&second, &[2], "jobs,drops,flows", 7).unwrap();
    let tables = "jobs,drops,flows".to_owned();
    assert_eq!(claims(&store), BTreeMap::from([(1, (tables.clone(), 5)), (2, (tables, 7))]));
    assert_eq!(rows(&store, StoredTable::Drops), BTreeMap::from([(JobId(1), 3), (JobId(2), 3)]));
    let one = reader(Arc::clone(&store) as _, Extent::Jobs).unwrap();
    let drops = one.read_job(StoredTable::Drops, JobId(1)).unwrap();
    assert_eq!(drops.iter().map(|batch| batch.num_rows()).sum::<usize>(), 3);
}

#[test]
fn two_writers_see_each_other_s_parts() {
    let (store, dir) = (memory(), tempfile::tempdir().unwrap());
    let a = open(Arc::clone(&store) as _, &dir.path().join("a")).unwrap();
    let b = open(Arc::clone(&store) as _, &dir.path().join("b")).unwrap();
    publish(&a, &[1, 2], "jobs,drops", 5).unwrap();
    let before = objects(&store);
    // The same chunk by mistake; a chunk that overlaps; one of its own.
    assert_eq!(publish(&b, &[1, 2], "jobs,drops", 5).unwrap().parts, [part(&[1, 2])]);
    assert_eq!(objects(&store), before);
    publish(&b, &[2, 3], "jobs,drops", 5).unwrap();
    publish(&a, &[4], "jobs,drops", 5).unwrap();
    let once = BTreeMap::from([1, 2, 3, 4].map(|job| (JobId(job), 1)));
    assert_eq!(rows(&store, StoredTable::Jobs), once);
    assert_eq!(a.done().unwrap().len(), 4);
    // A part that somebody removed is gone for the other too.
    store.delete(&format!("jobs/{}", part(&[4]))).unwrap();
    publish(&b, &[4, 5], "jobs,drops", 5).unwrap();
    assert_eq!(rows(&store, StoredTable::Jobs).values().sum::<usize>(), 5);
}

#[test]
fn another_object_is_never_written_over() {
    let (store, dir) = (memory(), tempfile::tempdir().unwrap());
    let jobs = format!("jobs/{}", part(&[1, 2]));
    let theirs = Bytes::from_static(b"somebody else's");
    let faulty = Faulty::new(&store, u64::MAX, false);
    let dataset = open(Arc::clone(&faulty) as _, &dir.path().join("a")).unwrap();
    *faulty.in_the_way.lock().unwrap() = Some((jobs.clone(), theirs.clone()));
    let error = publish(&dataset, &[1, 2], "jobs,drops", 5).unwrap_err().to_string();
    assert!(
        error.contains(&format!("s3://bucket/data/set/{jobs} was written meanwhile")),
        "{error}"
    );
    assert_eq!(objects(&store)[&jobs], theirs);
    // Nothing goes through any more.
    let error = publish(&dataset, &[3], "jobs", 5).unwrap_err().to_string();
    assert!(error.contains("an upload failed before"), "{error}");

    // One that is known and changes between the look and the put.
    store.delete(&jobs).unwrap();
    let faulty = Faulty::new(&store, u64::MAX, false);
    let dataset = open(Arc::clone(&faulty) as _, &dir.path().join("b")).unwrap();
    publish(&dataset, &[1, 2], "jobs,drops", 5).unwrap();
    *faulty.in_the_way.lock().unwrap() = Some((jobs.clone(), theirs.clone()));
    let error = publish(&dataset, &[1, 2], "jobs,drops", 7).unwrap_err().to_string();
    assert!(error.contains("was written meanwhile"), "{error}");
    assert_eq!(objects(&store)[&jobs], theirs);
}

#[test]
fn rows_of_nobody_give_way_and_equal_bytes_are_fine() {
    let (store, dir) = (memory(), tempfile::tempdir().unwrap());
    let drops = format!("drops/{}", part(&[1, 2]));
    let dataset = open(Arc::clone(&store) as _, &dir.path().join("a")).unwrap();
    store.put(&drops, Bytes::from_static(b"of a run that died"), If::Always).unwrap();
    publish(&dataset, &[1, 2], "jobs,drops", 5).unwrap();
    assert_eq!(rows(&store, StoredTable::Drops).len(), 2);
    // Its jobs part gone, the part is put again over its own bytes.
    let before = objects(&store);
    store.delete(&format!("jobs/{}", part(&[1, 2]))).unwrap();
    let dataset = open(Arc::clone(&store) as _, &dir.path().join("b")).unwrap();
    publish(&dataset, &[1, 2], "jobs,drops", 5).unwrap();
    assert_eq!(objects(&store), before);
}

#[test]
fn rows_of_nobody_go_once_their_jobs_are_done_elsewhere() {
    let (store, dir) = (memory(), tempfile::tempdir().unwrap());
    let faulty = Faulty::new(&store, u64::MAX, true);
    let dataset = open(Arc::clone(&faulty) as _, &dir.path().join("a")).unwrap();
    // The two looks, the put of drops; then it dies.
    faulty.fail_after(3);
    publish(&dataset, &[1, 2], "jobs,drops", 5).unwrap_err();
    let orphan = format!("drops/{}", part(&[1, 2]));
    assert!(objects(&store).contains_key(&orphan));
    let copy = dir.path().join("b");
    let dataset = open(Arc::clone(&store) as _, &copy).unwrap();
    let mirror = Mirror::new(url(), copy, Arc::clone(&store) as _);
    publish(&dataset, &[1], "jobs,drops", 5).unwrap();
    mirror.remove_superseded().unwrap();
    assert!(objects(&store).contains_key(&orphan), "job 2 may be in the making");
    publish(&dataset, &[2, 3], "jobs,drops", 5).unwrap();
    mirror.remove_superseded().unwrap();
    assert!(!objects(&store).contains_key(&orphan));
    assert_eq!(rows(&store, StoredTable::Drops).len(), 3);
}

#[test]
fn what_was_finished_when_the_network_failed_goes_up_later() {
    let (store, dir) = (memory(), tempfile::tempdir().unwrap());
    let copy = dir.path().join("copy");
    let faulty = Faulty::new(&store, u64::MAX, true);
    let dataset = open(Arc::clone(&faulty) as _, &copy).unwrap();
    // The two looks before publishing; the first put fails.
    faulty.fail_after(2);
    let error = publish(&dataset, &[1, 2], "jobs,drops", 5).unwrap_err().to_string();
    assert!(error.contains("the cable is out"), "{error}");
    assert!(!objects(&store).keys().any(|name| name.starts_with("jobs/")), "half a chunk");
    drop(dataset);
    assert!(open(faulty as _, &copy).is_err(), "still no network");
    let dataset = open(Arc::clone(&store) as _, &copy).unwrap();
    assert_eq!(dataset.done().unwrap().len(), 2, "computed again");
    assert_eq!(rows(&store, StoredTable::Drops).len(), 2);
}

#[test]
fn what_was_done_elsewhere_meanwhile_is_not_put_twice() {
    let (store, dir) = (memory(), tempfile::tempdir().unwrap());
    let copy = dir.path().join("copy");
    drop(open(Arc::clone(&store) as _, &copy).unwrap());
    // As a run that could not put it left it.
    let plain = Dataset::open_or_create(&copy).unwrap();
    publish(&plain, &[1, 2], "jobs,drops", 5).unwrap();
    let other = open(Arc::clone(&store) as _, &dir.path().join("other")).unwrap();
    publish(&other, &[2, 3], "jobs,drops", 5).unwrap();
    let again = open(Arc::clone(&store) as _, &copy).unwrap();
    assert_eq!(again.done().unwrap().keys().map(|id| id.0).collect::<Vec<_>>(), [2, 3]);
    assert!(!copy.join("drops").join(part(&[1, 2])).exists());
}

#[test]
fn whatever_call_fails_no_row_is_wrong_and_the_next_run_goes_on() {
    let tables = ["jobs,drops,flows", "jobs,drops,pfc"];
    for for_good in [false, true] {
        let mut fail_at = 0;
        loop {
            let (store, dir) = (memory(), tempfile::tempdir().unwrap());
            let copy = dir.path().join("copy");
            let laid = open(Arc::clone(&store) as _, &dir.path().join("first")).unwrap();
            publish(&laid, &[1, 2], tables[0], 5).unwrap();
            // One job again, with other tables and another interval, and a new one.
            let act = |objects: Arc<dyn Objects>| {
                let dataset = open(objects, &copy)?;
                publish(&dataset, &[2, 3], tables[1], 7)
            };
            let faulty = Faulty::new(&store, fail_at, for_good);
            let failed = act(faulty as _).is_err();
            let seen = claims(&store);
            assert_eq!(seen[&1], (tables[0].to_owned(), 5), "at {fail_at}");
            assert_eq!(rows(&store, StoredTable::Drops)[&JobId(1)], 3, "at {fail_at}");
            for job in [2, 3] {
                let Some((claimed, interval)) = seen.get(&job) else { continue };
                let whole = [(tables[0], 5), (tables[1], 7), ("", 5), ("", 7)];
                assert!(whole.contains(&(claimed, *interval)), "{claimed} {interval} at {fail_at}");
                if claimed.contains("drops") {
                    let dataset = reader(Arc::clone(&store) as _, Extent::Jobs).unwrap();
                    let drops = dataset.read_job(StoredTable::Drops, JobId(job)).unwrap();
                    let times = drops[0].column_by_name("sim_time_ps").unwrap().to_data();
                    let first = times.buffers()[0].typed_data::<i64>()[times.offset()];
                    assert_eq!(first as u64, *interval, "rows of another interval at {fail_at}");
                }
            }
            assert!(rows(&store, StoredTable::Jobs).values().all(|&n| n == 1), "at {fail_at}");
            act(Arc::clone(&store) as _).unwrap();
            let both = (tables[1].to_owned(), 7);
            let end =
                BTreeMap::from([(1, (tables[0].to_owned(), 5)), (2, both.clone()), (3, both)]);
            assert_eq!(claims(&store), end, "at {fail_at}");
            assert_eq!(rows(&store, StoredTable::Pfc).len(), 2, "at {fail_at}");
            if !failed {
                break;
            }
            fail_at += 1;
        }
        assert!(fail_at > 20, "only {fail_at} calls");
    }
}

#[test]
fn other_objects_are_left_alone_and_damage_is_found() {
    let (store, dir) = (memory(), tempfile::tempdir().unwrap());
    let error = reader(Arc::clone(&store) as _, Extent::Jobs).unwrap_err().to_string();
    assert!(error.contains("there is no dataset in s3://bucket/data/set"), "{error}");
    store.put("photo.jpg", Bytes::from_static(b"x"), If::Always).unwrap();
    let error = open(Arc::clone(&store) as _, &dir.path().join("a")).unwrap_err().to_string();
    assert!(error.contains("is no poolsweep dataset"), "{error}");
    store.delete("photo.jpg").unwrap();
    let dataset = open(Arc::clone(&store) as _, &dir.path().join("a")).unwrap();
    publish(&dataset, &[1], "jobs,drops", 5).unwrap();
    store.put(&format!("drops/{}", part(&[1])), Bytes::from_static(b"PAR1"), If::Always).unwrap();
    let dataset = reader(Arc::clone(&store) as _, Extent::Jobs).unwrap();
    let error = dataset.done().unwrap_err().to_string();
    assert!(error.contains("shorter than any Parquet file"), "{error}");
}
