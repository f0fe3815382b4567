//! Plan, executor and dataset together, with a simulator that makes up its rows.

use super::*;
use crate::record::{Fs, OutFile, RealFs};
use crate::run::events::Silent;
use crate::run::executor::{Ended, Options, execute};
use crate::scenario::{Incast, Table, Topology, Traffic};
use crate::sim::observe::{BuffId, Occupancy};
use crate::sim::observe::{End, PortBufferRow, Side, Totals};
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::SystemTime;

struct Grid {
    jobs: Vec<Job>,
    tables: Vec<Table>,
    rows: u64,
}

/// `count` jobs: one in seven infeasible, one in ten panics, one in twelve is out of budget.
fn grid(count: usize) -> Grid {
    let jobs = (0..count)
        .map(|index| Job {
            // Not in the order of the plan, as hashes are.
            id: JobId((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            repetition: 0,
            seeds: Seeds { sweep: 1, repetition: index as u64, point: None },
            infeasible: if index % 7 == 6 { vec!["too much headroom".into()] } else { vec![] },
            cost: 6e6,
            point: index,
        })
        .collect();
    Grid { jobs, tables: vec![Table::Jobs, Table::PortBuffers], rows: 3 }
}

impl JobSource for Grid {
    fn jobs(&self) -> &[Job] {
        &self.jobs
    }
    fn scenario(&self, job: usize) -> Result<Scenario, String> {
        Ok(Scenario {
            duration: Ps(1_000_000_000 + job as u64),
            stop_on_deadlock: false,
            until: Default::default(),
            warm_up: Ps(0),
            seed_streams: Default::default(),
            timing: Default::default(),
            topology: Topology::SingleSwitch { hosts: 4, rate: None, delay: None },
            switch: Default::default(),
            nic: Default::default(),
            traffic: vec![Traffic::Incast(Incast {
                receiver: 0,
                senders: 3,
                bytes: crate::units::Bytes(self.rows),
                common: Default::default(),
            })],
            record: crate::scenario::Record { tables: self.tables.clone(), ..Default::default() },
            budget: Default::default(),
        })
    }
    fn scenario_json(&self, job: usize) -> Result<String, String> {
        serde_json::to_string(&self.scenario(job)?).map_err(|error| error.to_string())
    }
}

fn made_up(scenario: &Scenario, seeds: Seeds) -> Result<Observations, String> {
    let job = seeds.repetition;
    assert!(job % 10 != 3, "job {job} fell over");
    let Traffic::Incast(incast) = &scenario.traffic[0] else { return Err("what?".into()) };
    let row = |time: u64| PortBufferRow {
        node: 4,
        port: 1,
        side: Side::Down,
        buff: BuffId::Ingress,
        pool: 0,
        occupancy: Occupancy {
            sim_time: 1_000 * time,
            length: 1_000,
            limit: 5_000,
            count: 3,
            min: job,
            max: job + time,
            integral: 1_000 * u128::from(job),
        },
    };
    let end = if job % 12 == 11 { End::EventBudget } else { End::Duration };
    Ok(Observations {
        totals: Totals { end, drops: [job, 0, 0, 0, 0, 0, 0], measured: 1, ..Totals::default() },
        port_buffers: (1..=incast.bytes.0).map(row).collect(),
        ..Observations::default()
    })
}

fn provenance() -> Provenance {
    Provenance {
        run_id: "test".into(),
        plan_hash: "hash".into(),
        version: "0".into(),
        commit: None,
        lock_hash: None,
        target: String::new(),
        cpu_features: String::new(),
        command_line: vec![],
        sources: vec![],
        host: "here".into(),
        slurm_job_id: None,
        slurm_array_job_id: None,
        slurm_array_task_id: None,
        threads: 1,
        start: SystemTime::UNIX_EPOCH,
        end: None,
    }
}

fn run_with<S: Simulate>(
    dataset: &Dataset,
    source: &Grid,
    simulator: &S,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Ended, RecordError> {
    let todo = left_to_do(source, &dataset.done()?, &Wanted::default());
    let (chunks, skipped) = (todo.chunks, todo.skipped);
    let options = Options { threads: NonZeroUsize::new(threads), skipped, ..Options::default() };
    let run = provenance();
    let recorder = Recorder::new(dataset, source, &run);
    let work = Simulations::new(source, simulator);
    execute(chunks, vec![], &options, &work, &recorder, stop, &mut Silent)
}

fn run(path: &Path, source: &Grid, threads: usize) -> Ended {
    let dataset = Dataset::open_or_create(path).unwrap();
    run_with(&dataset, source, &made_up, threads, &AtomicBool::new(false)).unwrap()
}

/// Every row of a table as CSV, in an order that no part boundary can change.
fn rows(path: &Path, table: &str) -> Vec<String> {
    let out = tempfile::tempdir().unwrap();
    Dataset::open(path).unwrap().export_csv(out.path()).unwrap();
    let text = std::fs::read_to_string(out.path().join(format!("{table}.csv"))).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Every file of the tables that must not depend on the machine, with its bytes.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for table in ["jobs", "port_buffers"] {
        for entry in std::fs::read_dir(path.join(table)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{table}/{}", entry.file_name().to_string_lossy());
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    found
}

#[test]
fn one_thread_and_four_write_the_same_bytes() {
    let (one, four) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ended = run(one.path(), &grid(60), 1);
    assert_eq!((ended.tally.not_run, ended.tally.failed), (8, 5));
    run(four.path(), &grid(60), 4);
    assert!(files(one.path()).len() > 10);
    assert!(files(one.path()) == files(four.path()));
}

#[test]
fn every_job_has_its_row_and_status() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &grid(24), 2);
    let dataset = Dataset::open(folder.path()).unwrap();
    let status = |index: usize| {
        let row = dataset.job(grid(24).jobs[index].id).unwrap();
        (row.status.name(), row.reason.unwrap_or_default())
    };
    assert_eq!(status(0), ("ok", String::new()));
    assert_eq!(status(6), ("infeasible", "too much headroom".into()));
    assert_eq!(status(11).0, "budget");
    let (failed, reason) = status(3);
    assert_eq!(failed, "failed");
    assert!(reason.ends_with("job 3 fell over"), "{reason}");
}

#[test]
fn a_second_run_has_nothing_to_do() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &grid(30), 2);
    let before = files(folder.path());
    let ended = run(folder.path(), &grid(30), 2);
    assert_eq!(ended.tally, Default::default());
    assert!(files(folder.path()) == before);
    // More jobs of the same kind: only those run.
    let ended = run(folder.path(), &grid(34), 2);
    assert_eq!(ended.tally.ran + ended.tally.not_run + ended.tally.failed, 4);
}

#[test]
fn another_table_runs_jobs_again_and_replaces_their_rows() {
    let (folder, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let small = Grid { tables: vec![Table::Jobs], ..grid(30) };
    run(folder.path(), &small, 2);
    let ended = run(folder.path(), &grid(30), 2);
    // Infeasible ones have nothing to add.
    assert_eq!(ended.tally.ran + ended.tally.failed, 26);
    run(fresh.path(), &grid(30), 2);
    assert_eq!(rows(folder.path(), "port_buffers"), rows(fresh.path(), "port_buffers"));
    assert_eq!(rows(folder.path(), "jobs").len(), 31);
}

#[test]
fn what_an_earlier_version_refused_and_this_one_runs_is_run() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &grid(14), 2);
    let mut able = grid(14);
    able.jobs[6].infeasible.clear();
    let ended = run(folder.path(), &able, 2);
    assert_eq!((ended.tally.ran, ended.tally.not_run), (1, 0));
    assert_eq!(rows(folder.path(), "jobs").len(), 15);
    assert_eq!(run(folder.path(), &able, 2).tally, Default::default());
}

#[test]
fn interrupted_and_resumed_equals_uninterrupted() {
    let whole = tempfile::tempdir().unwrap();
    run(whole.path(), &grid(60), 2);
    for (at, threads) in [(0, 1), (25, 2), (59, 3)] {
        let folder = tempfile::tempdir().unwrap();
        let dataset = Dataset::open_or_create(folder.path()).unwrap();
        let stop = AtomicBool::new(false);
        let simulator = |scenario: &Scenario, seeds: Seeds| {
            if seeds.repetition == at {
                stop.store(true, Ordering::Relaxed);
            }
            made_up(scenario, seeds)
        };
        run_with(&dataset, &grid(60), &simulator, threads, &stop).unwrap();
        run(folder.path(), &grid(60), 2);
        for table in ["jobs", "port_buffers"] {
            assert_eq!(rows(folder.path(), table), rows(whole.path(), table));
        }
    }
}

#[test]
fn a_chunk_of_many_rows_is_split_by_its_rows_alone() {
    let mut written = Vec::new();
    for threads in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let dataset = Dataset::open_or_create(folder.path()).unwrap();
        let (source, run) = (Grid { rows: 1_000, ..grid(12) }, provenance());
        let recorder =
            Recorder { most_open_bytes: 200_000, ..Recorder::new(&dataset, &source, &run) };
        let work = Simulations::new(&source, &made_up);
        let options = Options { threads: NonZeroUsize::new(threads), ..Options::default() };
        let chunks = left_to_do(&source, &BTreeMap::new(), &Wanted::default()).chunks;
        let count = chunks.len();
        let stop = AtomicBool::new(false);
        execute(chunks, vec![], &options, &work, &recorder, &stop, &mut Silent).unwrap();
        let parts = std::fs::read_dir(folder.path().join("jobs")).unwrap().count();
        assert!(parts > count, "{parts} parts of {count} chunks");
        assert_eq!(rows(folder.path(), "jobs").len(), 13);
        written.push(files(folder.path()));
    }
    assert!(written[0] == written[1]);
}

/// The disk is full after so many writes.
#[derive(Debug)]
struct FullDisk(AtomicI64);

struct Limited(Box<dyn OutFile>, bool);

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.1 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl OutFile for Limited {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }
}

impl Fs for FullDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        RealFs.create_dir(path)
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutFile>> {
        let full = self.0.fetch_sub(1, Ordering::Relaxed) <= 0;
        Ok(Box::new(Limited(RealFs.create(path)?, full)))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealFs.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        RealFs.remove(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        RealFs.sync_dir(path)
    }
}

#[test]
fn a_full_disk_ends_the_run_and_the_next_run_completes_it() {
    let whole = tempfile::tempdir().unwrap();
    run(whole.path(), &grid(40), 2);
    for (files_until_full, threads) in [(2, 1), (5, 2), (12, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(FullDisk(AtomicI64::new(files_until_full)));
        let dataset = Dataset::open_or_create_with(folder.path(), disk).unwrap();
        let error = run_with(&dataset, &grid(40), &made_up, threads, &AtomicBool::new(false))
            .unwrap_err()
            .to_string();
        assert!(error.contains("cannot") && error.contains(".parquet"), "{error}");
        run(folder.path(), &grid(40), 2);
        for table in ["jobs", "port_buffers"] {
            assert_eq!(rows(folder.path(), table), rows(whole.path(), table));
        }
    }
}
