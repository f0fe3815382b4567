//! Planning and running whole sweeps, as whole processes of the release build.
//!
//! `cargo bench --bench sweep [-- NAME]` prints the median over several runs of wall seconds and
//! the largest resident size seen, for
//!
//! - `plan`: 100,000 points planned, and planned and written;
//! - `threads`: 64 jobs on 1 and on 2 threads, and how many times faster 2 are;
//! - `reuse`: grids over thresholds with and without reuse: points, simulations, CPU seconds;
//! - `overhead`: 100,000 jobs of next to no work, once: the CPU time that is not simulation, a job;
//!   files left; `status` of the finished dataset.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 5;

/// 50 × 40 × 50 points: headroom, Xoff and alpha around one small incast.
const PLAN: &str = "schema: 1
name: plan-100k
base:
  duration: 10us
  topology: {kind: single-switch, hosts: 9, rate: 400Gbps, delay: 500ns}
  traffic:
    - {pattern: incast, receiver: 0, senders: 8, bytes: 40KB, packet: 4000B, dscp: 8}
axes:
  HeadRoomPerPortLimit: {range: {from: 10KB, to: 255KB, step: 5KB}}
  StaticPoolXoffThreshold: {range: {from: 100KB, to: 490KB, step: 10KB}}
  LossyAlpha: {linspace: {from: 0.02, to: 1, count: 50}}
derived:
  StaticPoolXonThreshold: StaticPoolXoffThreshold * 0.5
";

/// 64 jobs of 0.02 to 0.5 s, long and short mixed.
const JOBS: &str = "schema: 1
name: jobs-64
base:
  until: drained
  duration: 1s
  topology: {kind: single-switch, hosts: 33, rate: 400Gbps, delay: 500ns}
  traffic:
    - {pattern: incast, receiver: 0, senders: 8, bytes: 8MB, packet: 4000B, dscp: 8}
axes:
  senders: [8, 16, 24, 32]
  bytes: [80MB, 160MB, 320MB, 640MB]
  HeadRoomPerPortLimit: [64KB, 128KB, 192KB, 256KB]
";

/// 10 × 10 × 5 points of headroom, Xoff and Xon around an incast of 8 into 1; the bytes of a sender
/// are added.
const HEADROOM: &str = "schema: 1
name: headroom-500
base:
  until: drained
  duration: 10ms
  topology: {kind: single-switch, hosts: 9, rate: 400Gbps, delay: 500ns}
  switch: {SharedBufferManager: {TotalSharedBufferSize: 64MB}}
  traffic:
    - {pattern: incast, receiver: 0, senders: 8, bytes: BYTES, packet: 4000B, dscp: 8, jitter: 1us}
axes:
  HeadRoomPerPortLimit: {range: {from: 20KB, to: 200KB, step: 20KB}}
  StaticPoolXoffThreshold: {range: {from: 100KB, to: 1MB, step: 100KB}}
  StaticPoolXonThreshold: [20KB, 40KB, 60KB, 80KB, 90KB]
";

/// 8 × 6 × 6 points of total, share and headroom around two classes, one of them lossy.
const POOLS: &str = "schema: 1
name: pools-288
base:
  until: drained
  duration: 10ms
  topology: {kind: single-switch, hosts: 17, rate: 400Gbps, delay: 500ns}
  switch: {SharedBufferManager: {EnablePFC: [0, 1, 0, 0, 0, 0, 0, 0]}}
  traffic:
    - {pattern: incast, receiver: 0, senders: 12, bytes: 1MB, packet: 4000B, dscp: 8, jitter: 1us}
    - {pattern: incast, receiver: 1, senders: 12, bytes: 1MB, packet: 4000B, dscp: 0, jitter: 1us}
axes:
  TotalSharedBufferSize: {range: {from: 16MB, to: 72MB, step: 8MB}}
  let.share: [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
  HeadRoomPerPortLimit: {range: {from: 50KB, to: 300KB, step: 50KB}}
derived:
  PoolAllocationMap: \"[let.share, 1 - let.share, 0, 0, 0, 0, 0, 0]\"
  StaticPoolXoffThreshold: 300KB
  StaticPoolXonThreshold: 100KB
";

/// 100,000 jobs of one packet each.
const SMALL: &str = "schema: 1
name: small-100k
repetitions: 2000
base:
  duration: 1us
  topology: {kind: single-switch, hosts: 2, rate: 400Gbps, delay: 10ns}
  traffic:
    - {pattern: incast, receiver: 0, senders: 1, bytes: 1KB, packet: 1000B, dscp: 8, jitter: 10ns}
  record: {interval: 1us}
axes:
  HeadRoomPerPortLimit: {range: {from: 10KB, to: 255KB, step: 5KB}}
";

/// CPU seconds of this process's children that have ended, theirs included.
fn children_cpu() -> f64 {
    // Fields 16 and 17 of `stat`, counted behind the name, which may hold blanks; in ticks of 10 ms.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks = |field: usize| fields.get(field).and_then(|f| f.parse().ok()).unwrap_or(0.0);
    (ticks(14) + ticks(15)) / 100.0
}

/// CPU seconds of all jobs of a dataset, by its `timings`.
fn jobs_cpu(dataset: &Path) -> f64 {
    use arrow::array::{Array, Int64Array};
    let dataset = poolsweep::record::Dataset::open(dataset).expect("a dataset");
    let rows = dataset.read_table(poolsweep::record::StoredTable::Timings).expect("timings");
    let mut total = 0;
    for batch in rows {
        let batch = batch.expect("a whole file");
        let column = batch.column_by_name("cpu_us").expect("CPU times");
        let times = column.as_any().downcast_ref::<Int64Array>().expect("integers");
        total += times.iter().flatten().sum::<i64>();
    }
    total as f64 / 1e6
}

/// Jobs of a dataset that were run, and those of them that were simulated.
fn answered(dataset: &Path) -> (usize, usize) {
    let dataset = poolsweep::record::Dataset::open(dataset).expect("a dataset");
    let covered = dataset.covered_jobs().expect("it can be read").len();
    let jobs = dataset.done().expect("it can be read").len();
    (jobs, jobs - covered)
}

/// Files below a folder.
fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|e| if e.path().is_dir() { files(&e.path()) } else { 1 }).sum()
}

struct Measured {
    seconds: f64,
    peak_kib: u64,
}

/// Largest resident size of a process so far, KiB.
fn peak(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn run(arguments: &[&str]) -> Measured {
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_poolsweep"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let mut peak_kib = 0;
    let status = loop {
        peak_kib = peak(&child).unwrap_or(0).max(peak_kib);
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(status.success(), "{arguments:?}: {status}");
    Measured { seconds: start.elapsed().as_secs_f64(), peak_kib }
}

/// Median seconds and largest resident size over several runs.
fn measure(what: &str, mut once: impl FnMut() -> Measured) -> f64 {
    once();
    let mut runs: Vec<Measured> = (0..RUNS).map(|_| once()).collect();
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let (seconds, peak) = (runs[RUNS / 2].seconds, runs.iter().map(|r| r.peak_kib).max());
    println!("  {what:<36} {seconds:>7.3} s, at most {} MiB", peak.unwrap_or(0) / 1024);
    seconds
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a sweep file");
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out");
    let fresh = || {
        let _ = std::fs::remove_dir_all(&out);
    };
    if wants("plan") {
        println!("plan: 100,000 points");
        let file = write(folder.path(), "plan.yaml", PLAN);
        measure("planned", || run(&["plan", text(&file)]));
        measure("planned and written", || {
            fresh();
            run(&["plan", text(&file), "--out", text(&out)])
        });
    }
    if wants("threads") {
        println!("threads: 64 jobs");
        let file = write(folder.path(), "jobs.yaml", JOBS);
        let on = |threads: &str| {
            measure(&format!("{threads} thread(s)"), || {
                fresh();
                let out = text(&out);
                run(&["run", text(&file), "--out", out, "--threads", threads, "--no-reuse"])
            })
        };
        let (one, two) = (on("1"), on("2"));
        println!("  2 threads are {:.2} times as fast as 1", one / two);
    }
    if wants("reuse") {
        let grids = [
            ("headroom, Xoff, Xon; 400 KB a sender", HEADROOM.replace("BYTES", "400KB")),
            ("headroom, Xoff, Xon; 8 MB a sender", HEADROOM.replace("BYTES", "8MB")),
            ("total, share, headroom", POOLS.to_owned()),
        ];
        println!("reuse: CPU seconds of whole processes on one thread, medians");
        for (what, sweep) in grids {
            let file = write(folder.path(), "grid.yaml", &sweep);
            let with = |arguments: &[&str]| {
                let mut seconds: Vec<f64> = (0..RUNS)
                    .map(|_| {
                        fresh();
                        let before = children_cpu();
                        let always = ["run", text(&file), "--out", text(&out), "--threads", "1"];
                        run(&[&always[..], arguments].concat());
                        children_cpu() - before
                    })
                    .collect();
                seconds.sort_by(f64::total_cmp);
                seconds[RUNS / 2]
            };
            let all = with(&["--no-reuse"]);
            let few = with(&[]);
            let (jobs, simulated) = answered(&out);
            println!(
                "  {what}: {jobs} points, {simulated} simulations ({:.1} times fewer); {all:.2} s, \
                 {few:.2} s ({:.2} times less)",
                jobs as f64 / simulated as f64,
                all / few
            );
        }
    }
    if wants("overhead") {
        println!("overhead: 100,000 jobs of one packet");
        let file = write(folder.path(), "small.yaml", SMALL);
        fresh();
        let before = children_cpu();
        let all = run(&["run", text(&file), "--out", text(&out), "--in-process", "--no-reuse"]);
        let cpu = children_cpu() - before;
        let simulated = jobs_cpu(&out);
        println!(
            "  run {:>32.3} s, at most {} MiB; {cpu:.2} s of CPU, {simulated:.2} s of them jobs: \
             {:.3} ms a job besides",
            all.seconds,
            all.peak_kib / 1024,
            (cpu - simulated) / 100_000.0 * 1e3
        );
        println!("  {} files", files(&out));
        measure("status", || run(&["status", text(&out)]));
    }
}
