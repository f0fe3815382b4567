//! A small dataset of real jobs, spoilt in many ways.

use super::*;
use crate::record::{JobMeta, Outcome, Verified};
use crate::run::recorder::{Asked, Simulate};
use crate::sim::observe::Observations;
use crate::sweep::plan::{Overrides, Plan};
use std::fs;
use std::path::{Path, PathBuf};

const SWEEP: &str = "
schema: 1
name: small
base:
  duration: 20us
  topology: {kind: single-switch, hosts: 4, rate: 400Gbps, delay: 500ns}
  traffic:
    - {pattern: incast, receiver: 0, senders: 3, bytes: 100KB, packet: 4000B, dscp: 8, jitter: 1us}
  record: {interval: 5us}
axes:
  topology.delay: [100ns, 500ns, 1us]
  HeadRoomPerPortLimit: [64KB, 256KB]
";

/// Two parts, the first observation changed by `change`.
fn recorded(root: &Path, change: impl Fn(&mut Observations)) -> Dataset {
    let file = root.with_extension("yaml");
    fs::write(&file, SWEEP).unwrap();
    let plan = Plan::load(&file, &Overrides::default()).unwrap();
    let dataset = Dataset::open_or_create(root).unwrap();
    let simulator = Simulator::default();
    let mut rows = Vec::new();
    for (index, job) in plan.jobs.iter().enumerate() {
        let scenario = plan.scenario(index).unwrap();
        let asked = Asked::of(&scenario);
        let mut observed = simulator.simulate(&scenario, job.seeds).unwrap();
        if index == 0 {
            change(&mut observed);
        }
        let meta = JobMeta {
            id: job.id,
            repetition: job.repetition,
            seed: job.seeds.sweep,
            scenario: plan.scenario_json(index).unwrap(),
            tables: asked.tables,
            interval: asked.interval,
            zeros: asked.zeros,
        };
        rows.push(JobRows::new(meta, Outcome::Ran(&observed)).unwrap());
    }
    let later = rows.split_off(3);
    dataset.publish(&plan.hash(), rows).unwrap();
    dataset.publish(&plan.hash(), later).unwrap();
    dataset.write_points(&plan.hash(), &plan.points, &plan.jobs, &plan.columns).unwrap();
    dataset.write_plan(plan.to_json().to_string().as_bytes()).unwrap();
    dataset
}

fn clean() -> (tempfile::TempDir, Dataset) {
    let dir = tempfile::tempdir().unwrap();
    let dataset = recorded(&dir.path().join("out"), |_| ());
    (dir, dataset)
}

fn parquet_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "parquet") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The only file that findings name.
fn spoilt(read: &Verified) -> &Path {
    let mut files: Vec<_> = read.findings.iter().map(|finding| finding.file.as_path()).collect();
    files.dedup();
    assert_eq!(files.len(), 1, "{:?}", read.findings);
    assert!(!read.findings[0].remedy.is_empty());
    files[0]
}

#[test]
fn a_clean_dataset_is_sound_and_comes_out_the_same() {
    let (_dir, dataset) = clean();
    let read = dataset.verify(true).unwrap();
    assert_eq!(read.findings, []);
    assert_eq!(read.notes, [""; 0]);
    assert_eq!((read.parts, read.jobs, read.outstanding), (2, 6, 0));
    let again = recheck(&dataset, &read.repeatable).unwrap();
    assert_eq!(again.findings, []);
    assert_eq!(again.jobs, 6);
    assert_eq!(again.rows, read.rows.values().sum::<u64>());
    dataset.compact(crate::record::Limits::default()).unwrap();
    let read = dataset.verify(true).unwrap();
    assert_eq!((read.findings.as_slice(), read.parts), (&[][..], 1));
    assert_eq!(recheck(&dataset, &read.repeatable).unwrap().rows, again.rows);
}

#[test]
fn a_byte_changed_anywhere_is_found_in_its_file() {
    let (_dir, dataset) = clean();
    for path in parquet_files(dataset.path()) {
        let good = fs::read(&path).unwrap();
        // Eight places of each file, spread from the first byte to the last.
        for place in (0..8).map(|i| i * (good.len() - 1) / 7) {
            let mut bytes = good.clone();
            bytes[place] ^= 0x10;
            fs::write(&path, bytes).unwrap();
            assert_eq!(spoilt(&dataset.verify(false).unwrap()), path, "byte {place}");
        }
        fs::write(&path, &good[..good.len() * 2 / 3]).unwrap();
        assert_eq!(spoilt(&dataset.verify(false).unwrap()), path);
        fs::write(&path, good).unwrap();
    }
    assert_eq!(dataset.verify(true).unwrap().findings, []);
}

#[test]
fn swapped_renamed_foreign_and_missing_files_are_found() {
    let (_dir, dataset) = clean();
    let table = |name: &str| parquet_files(&dataset.path().join(name));
    let ports = table("port_buffers");
    let (one, two) = (fs::read(&ports[0]).unwrap(), fs::read(&ports[1]).unwrap());
    fs::write(&ports[0], &two).unwrap();
    fs::write(&ports[1], &one).unwrap();
    assert_eq!(dataset.verify(false).unwrap().findings.len(), 2, "swapped");
    fs::write(&ports[0], &one).unwrap();
    fs::remove_file(&ports[1]).unwrap();
    let read = dataset.verify(false).unwrap();
    assert_eq!(spoilt(&read), ports[1], "missing");
    fs::write(&ports[1], &two).unwrap();

    let jobs = table("jobs");
    let foreign = dataset.path().join("jobs/part-0000000000000001-0000000000000002.parquet");
    fs::copy(&jobs[0], &foreign).unwrap();
    assert_eq!(dataset.verify(false).unwrap().findings[0].file, foreign, "copied");
    fs::remove_file(&foreign).unwrap();
    let foreign = dataset.path().join("drops/x.parquet");
    fs::copy(&ports[0], &foreign).unwrap();
    assert_eq!(spoilt(&dataset.verify(false).unwrap()), foreign, "foreign");
    fs::remove_file(&foreign).unwrap();

    // A writer was killed before its jobs part: named, and no fault unless all is to be there.
    fs::remove_file(&jobs[1]).unwrap();
    let read = dataset.verify(false).unwrap();
    assert_eq!(read.findings, []);
    assert_eq!(read.outstanding, 3);
    assert!(read.notes.iter().any(|note| note.contains("1 part without jobs part")), "{read:?}");
    assert_eq!(spoilt(&dataset.verify(true).unwrap()), dataset.path());
    fs::remove_file(dataset.path().join("plan.json")).unwrap();
    assert!(spoilt(&dataset.verify(false).unwrap()).ends_with("plan.json"));
}

#[test]
fn a_changed_value_with_right_checksums_is_found_by_running_again() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = recorded(&dir.path().join("out"), |observed| {
        observed.port_buffers[3].occupancy.max += 1;
    });
    let read = dataset.verify(true).unwrap();
    assert_eq!(read.findings, []);
    let again = recheck(&dataset, &read.repeatable).unwrap();
    assert_eq!(again.findings.len(), 1, "{:?}", again.findings);
    let problem = &again.findings[0].problem;
    assert!(problem.contains("port_buffers, row 3, "), "{problem}");
    let others: BTreeMap<_, _> = read
        .repeatable
        .iter()
        .filter(|(job, _)| !problem.contains(&job.to_string()))
        .map(|(job, part)| (*job, part.clone()))
        .collect();
    assert_eq!(others.len(), 5);
    assert_eq!(recheck(&dataset, &others).unwrap().findings, []);
}

#[test]
fn a_sample_follows_from_seed_and_jobs_alone() {
    let jobs: BTreeMap<_, _> = (0..100).map(|job| (JobId(job), "p".to_owned())).collect();
    let drawn = sample(&jobs, 10, 7);
    assert_eq!(drawn.len(), 10);
    assert_eq!(drawn, sample(&jobs, 10, 7));
    assert_ne!(drawn, sample(&jobs, 10, 8));
    let few = jobs.clone().into_iter().take(3).collect();
    assert_eq!(sample(&few, 10, 7), few);
    assert!(sample(&jobs, 0, 7).is_empty());
}
