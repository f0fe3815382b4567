//! Real processes, interrupted and killed in the middle, then run again.

#![cfg(unix)]

use super::Place;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Thousands of tiny jobs: several chunks, a second or so in all.
const MANY: &str = "\
schema: 1
name: many
repetitions: 6000
base:
  duration: 20us
  topology: {kind: single-switch, hosts: 3, rate: 100Gbps, delay: 100ns}
  traffic:
    - {pattern: incast, receiver: 0, senders: 2, bytes: 20KB, packet: 1000B, dscp: 8, jitter: 2us}
  record: {interval: 10us}
";

/// Starts a run and waits until its first part is there.
fn started(place: &Place, dataset: &str, threads: &str) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("poolsweep"));
    command.current_dir(place.path(".")).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.args(["run", "sweep.yaml", "--out", dataset, "--threads", threads]);
    let child = command.spawn().unwrap();
    let jobs = place.path(dataset).join("jobs");
    let begin = Instant::now();
    let part = |name: &str| name.starts_with("part-");
    while !std::fs::read_dir(&jobs).is_ok_and(|mut entries| {
        entries.any(|entry| part(&entry.unwrap().file_name().to_string_lossy()))
    }) {
        assert!(begin.elapsed() < Duration::from_secs(120), "no part after two minutes");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

fn send(child: &Child, signal: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

fn jobs_done(place: &Place, dataset: &str) -> usize {
    poolsweep::record::Dataset::open(place.path(dataset)).unwrap().done().unwrap().len()
}

#[test]
fn interrupted_then_run_again_equals_uninterrupted() {
    let place = Place::new(MANY);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "whole"]);
    let whole = place.rows("whole");
    for (dataset, signal) in [("int", "-INT"), ("term", "-TERM")] {
        let child = started(&place, dataset, "2");
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{stderr}");
        assert!(stderr.contains("the same command goes on"), "{stderr}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(stdout.contains("outstanding"), "{stdout}");
        let done = jobs_done(&place, dataset);
        assert!((1..6_000).contains(&done), "{done} jobs done");
        let again = place.succeeds(&["run", "sweep.yaml", "-q", "--out", dataset]);
        assert!(again.contains("6,000 ok"), "{again}");
        assert!(place.rows(dataset) == whole);
    }
}

#[test]
fn killed_then_run_again_equals_uninterrupted() {
    let place = Place::new(MANY);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "whole"]);
    let whole = place.rows("whole");
    let mut child = started(&place, "killed", "2");
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "it ended by itself before the kill");
    let done = jobs_done(&place, "killed");
    assert!((1..6_000).contains(&done), "{done} jobs done");
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "killed"]);
    assert!(place.rows("killed") == whole);
}

/// A job that lasts for many minutes, and one that is done at once.
const LONG: &str = "\
schema: 1
name: long
base:
  topology: {kind: single-switch, hosts: 8}
  traffic:
    - {pattern: uniform, load: 0.9, bytes: 100KB, packet: 1000B}
  record: {interval: 1s}
axes:
  duration: [10s, 10us]
";

#[test]
fn a_second_signal_ends_at_once() {
    let place = Place::new(LONG);
    // The long job starts first; when the short one is published, it is in flight.
    let mut child = started(&place, "data", "2");
    send(&child, "-INT");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(child.try_wait().unwrap(), None, "the job in flight was not waited for");
    send(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(5));
}
