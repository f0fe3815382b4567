//! A plan that is frozen, divided among processes, watched, and gone on with after deaths.

#![cfg(target_os = "linux")]

use super::{Place, SWEEP};
use poolsweep::record::Outcome;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn status(place: &Place, dataset: &str) -> (i32, Value) {
    let (code, stdout, stderr) = place.ends(&["status", dataset, "--json"]);
    (code, serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stdout}{stderr}")))
}

#[test]
fn a_frozen_plan_runs_without_its_sweep_file() {
    let place = Place::new(SWEEP);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "whole"]);
    let said = place.succeeds(&["plan", "sweep.yaml", "--out", "data"]);
    assert!(said.ends_with("frozen in data\nnext: poolsweep run data\n"), "{said}");
    let (code, before) = status(&place, "data");
    assert_eq!((code, &before["outstanding"]), (5, &Value::from(6)));
    place.write("sweep.yaml", "nonsense");
    let said = place.succeeds(&["run", "data", "-q"]);
    assert!(said.contains("6 jobs now"), "{said}");
    assert!(place.rows("data") == place.rows("whole"));
    let (code, after) = status(&place, "data");
    assert_eq!((code, &after["outstanding"], &after["infeasible"]), (0, &0.into(), &2.into()));
    assert_eq!(after["cost_done_share"], 1.0);
}

#[test]
fn nothing_is_laid_over_a_frozen_plan() {
    let place = Place::new(SWEEP);
    let (code, _, stderr) = place.ends(&["run", "."]);
    assert_eq!(code, 3);
    assert!(stderr.contains("there is no plan in .: poolsweep plan"), "{stderr}");
    place.succeeds(&["plan", "sweep.yaml", "--out", "data"]);
    for option in [["--set", "duration=1us"], ["--axis", "senders=1,2"], ["--out", "other"]] {
        let (code, _, stderr) = place.ends(&["run", "data", option[0], option[1]]);
        assert_eq!(code, 2);
        assert!(stderr.contains(&format!("{} does not go with a dataset", option[0])), "{stderr}");
    }
}

#[test]
fn planning_again_says_what_changed_and_keeps_what_is_done() {
    let place = Place::new(SWEEP);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "data"]);
    place.write("sweep.yaml", &SWEEP.replace("[16KB, 256KB, 100MB]", "[64KB, 256KB]"));
    let said = place.succeeds(&["plan", "sweep.yaml", "--out", "data"]);
    let expected = "the plan in data: 2 jobs added, 4 dropped, 2 kept (2 of them done); rows of \
                    dropped jobs stay in the tables, no point names them\n";
    assert!(said.contains(expected), "{said}");
    let said = place.succeeds(&["run", "data", "-q"]);
    assert!(said.contains("2 jobs now") && said.contains("2 jobs before"), "{said}");
    // Back again: everything is there.
    place.write("sweep.yaml", SWEEP);
    let said = place.succeeds(&["plan", "sweep.yaml", "--out", "data"]);
    assert!(said.contains("4 jobs added, 2 dropped, 2 kept"), "{said}");
    assert!(said.contains("4 of those added are done from an earlier plan"), "{said}");
    assert!(place.succeeds(&["run", "data", "-q"]).contains("0 jobs now"));
}

/// Some hundred jobs of different length.
const UNEVEN: &str = "\
schema: 1
name: uneven
repetitions: 40
base:
  topology: {kind: single-switch, hosts: 5, rate: 100Gbps, delay: 100ns}
  duration: 200us
  traffic:
    - {pattern: incast, receiver: 0, senders: 2, bytes: 20KB, packet: 1000B, dscp: 8, jitter: 2us}
  record: {interval: 50us}
axes:
  senders: [1, 2, 3, 4]
  bytes: [2KB, 200KB]
";

#[test]
fn shards_run_at_once_even_one_twice_and_make_the_same_dataset() {
    let place = Place::new(UNEVEN);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "whole"]);
    place.succeeds(&["plan", "sweep.yaml", "--out", "data"]);
    let start = |shard: &str| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("poolsweep"));
        command.current_dir(place.path(".")).stdout(Stdio::null()).stderr(Stdio::piped());
        command.args(["run", "data", "-q", "--shard", shard, "--threads", "1"]).spawn().unwrap()
    };
    let runs = ["1/3", "2/3", "2/3"].map(start);
    for run in runs {
        let output = run.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
    }
    let (code, report) = status(&place, "data");
    assert_eq!(code, 5);
    let shards: Vec<_> = report["shards"].as_array().unwrap().iter().collect();
    let states: Vec<_> = shards.iter().map(|s| s["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["finished", "finished", "none"]);
    let left: Vec<_> = shards.iter().map(|s| s["outstanding"].as_u64().unwrap()).collect();
    assert_eq!(left[..2], [0, 0]);
    assert_eq!(report["outstanding"], left[2]);
    let said = place.succeeds(&["run", "data", "-q", "--shard", "3/3"]);
    assert!(said.starts_with("shard 3/3: "), "{said}");
    assert!(said.contains("0 jobs outstanding; all shards: poolsweep status data"), "{said}");
    assert!(place.rows("data") == place.rows("whole"));
    assert!(place.succeeds(&["status", "data"]).starts_with("uneven: 320 of 320 jobs done"));
    let summary = place.succeeds(&["summary", "data"]);
    assert!(summary.starts_with("uneven: ") && summary.contains("320 ok"), "{summary}");
}

#[test]
fn failed_jobs_run_again_when_asked() {
    let place = Place::new(SWEEP);
    place.succeeds(&["plan", "sweep.yaml", "--out", "data"]);
    // As a version with a bug would have left it.
    place.make_up_rows("data", [Outcome::Failed("made up"), Outcome::Quarantined("made up")]);
    let (code, _, stderr) = place.ends(&["run", "data", "-q"]);
    assert_eq!(code, 6);
    assert!(stderr.contains("poolsweep retry --failed"), "{stderr}");
    let (code, report) = status(&place, "data");
    assert_eq!((code, &report["failed"], &report["quarantined"]), (6, &1.into(), &1.into()));
    let (code, stdout, stderr) = place.ends(&["retry", "data", "-q", "--failed"]);
    assert_eq!(code, 6, "{stdout}{stderr}");
    assert!(stderr.contains("1 job set aside as quarantined"), "{stderr}");
    let said = place.succeeds(&["retry", "data", "-q", "--quarantined"]);
    assert!(said.contains("1 job now"), "{said}");
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "whole"]);
    assert!(place.rows("data") == place.rows("whole"));
}

/// One job that needs more memory than there is, among others that do not.
const HUGE: &str = "\
schema: 1
name: huge
base:
  topology: {kind: single-switch, hosts: 5, rate: 100Gbps, delay: 100ns}
  duration: 100us
  until: drained
  traffic:
    - {pattern: incast, receiver: 0, senders: 4, bytes: 20KB, packet: 1000B, dscp: 8, jitter: 2us}
  record: {interval: 1ns, zeros: true}
scenarios:
  small: {}
  smaller: {set: {bytes: 10KB}}
  huge: {set: {until: duration, duration: 100ms}}
  smallest: {set: {bytes: 5KB}}
";

#[test]
fn a_job_that_takes_the_process_down_twice_alone_is_set_aside() {
    let place = Place::new(HUGE);
    let binary = assert_cmd::cargo::cargo_bin("poolsweep");
    let limited = |arguments: &str| {
        let script = format!("ulimit -v 1600000; exec '{}' {arguments}", binary.display());
        let output =
            Command::new("sh").arg("-c").arg(script).current_dir(place.path(".")).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, stdout, stderr) = limited("run sweep.yaml --out data --threads 2 --progress none");
    assert_eq!(code, Some(6), "{stdout}{stderr}");
    assert!(stdout.contains("3 ok"), "{stdout}");
    let deaths: Vec<&str> = stderr.lines().filter(|l| l.contains("the process died of")).collect();
    assert!((2..=3).contains(&deaths.len()), "{stderr}");
    assert!(deaths.last().unwrap().contains("it is set aside as quarantined"), "{stderr}");
    assert!(stderr.contains("1 job set aside as quarantined"), "{stderr}");
    let (code, report) = status(&place, "data");
    assert_eq!((code, &report["ok"], &report["quarantined"]), (6, &3.into(), &1.into()));
    // It is not tried again by itself.
    let (code, stdout, _) = limited("run data -q");
    assert_eq!(code, Some(6));
    assert!(stdout.contains("0 jobs now"), "{stdout}");
    let rows = place.rows("data");
    let jobs = &rows.iter().find(|(table, _)| table == "jobs").unwrap().1;
    assert!(
        jobs.iter().any(|row| row.contains("took the process down 2 times while alone in flight")),
        "{jobs:?}"
    );
}

/// A job that lasts for many minutes.
const LONG: &str = "\
schema: 1
name: long
base:
  topology: {kind: single-switch, hosts: 8}
  duration: 10s
  traffic:
    - {pattern: uniform, load: 0.9, bytes: 100KB, packet: 1000B}
  record: {interval: 1s}
";

/// The children of a process.
fn children(process: u32) -> Vec<u32> {
    let output = Command::new("ps").args(["-o", "pid=", "--ppid", &process.to_string()]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn a_kill_from_outside_makes_nobody_a_suspect() {
    let place = Place::new(LONG);
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("poolsweep"));
    command.current_dir(place.path(".")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.args(["run", "sweep.yaml", "--out", "data"]).spawn().unwrap();
    let begin = Instant::now();
    let in_flight =
        || place.path("data/plan.json").exists() && status(&place, "data").1["running"] == 1;
    while !in_flight() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the job never started");
        std::thread::sleep(Duration::from_millis(20));
    }
    let workers = children(run.id());
    assert_eq!(workers.len(), 1);
    let killed = Command::new("kill").args(["-KILL", &workers[0].to_string()]).status().unwrap();
    assert!(killed.success());
    let output = run.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{stderr}");
    assert!(stderr.contains("SIGKILL from outside"), "{stderr}");
    assert!(!place.path("data/suspects").exists());
    let (_, report) = status(&place, "data");
    assert_eq!(report["runs"][0]["state"], "died");
    assert_eq!(report["runs"][0]["death"], "SIGKILL from outside");
}

#[test]
fn who_watches_takes_the_worker_along() {
    let place = Place::new(LONG);
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("poolsweep"));
    command.current_dir(place.path(".")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = command.args(["run", "sweep.yaml", "--out", "data"]).spawn().unwrap();
    let begin = Instant::now();
    let workers = loop {
        let workers = children(run.id());
        if workers.len() == 1 {
            break workers;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "no worker");
        std::thread::sleep(Duration::from_millis(5));
    };
    run.kill().unwrap();
    run.wait().unwrap();
    let gone = || {
        let alive = std::fs::read_to_string(format!("/proc/{}/stat", workers[0]));
        alive.map_or(true, |stat| stat.rsplit(')').next().unwrap().trim().starts_with('Z'))
    };
    while !gone() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the worker lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_budget_of_simulated_time_ends_a_job_that_would_go_on() {
    let place = Place::new(SWEEP);
    let set = ["--set", "budget.simulated_time=20us", "--set", "HeadRoomPerPortLimit=256KB"];
    let run = |out: &str, more: &[&str]| {
        let mut arguments = vec!["run", "sweep.yaml", "-q", "--out", out];
        arguments.extend(more);
        place.succeeds(&arguments);
        place.rows(out)
    };
    let budget = run("budget", &set);
    let shorter = run("shorter", &["--set", "duration=20us", "--set", set[3]]);
    let table = |rows: &[(String, Vec<String>)], name: &str| {
        let lines = rows.iter().find(|(table, _)| table == name).unwrap().1.clone();
        // Ids differ: another scenario.
        lines.iter().map(|l| l.split_once(',').map_or("", |(_, rest)| rest).to_owned()).collect()
    };
    let mut all: [Vec<String>; 2] = [&budget, &shorter].map(|rows| table(rows, "port_buffers"));
    all.iter_mut().for_each(|lines| lines.sort());
    assert!(!all[0].is_empty());
    assert_eq!(all[0], all[1]);
    let jobs: Vec<String> = table(&budget, "jobs");
    assert!(
        jobs.iter().any(|row| row.contains("the budget of simulated time ran out")),
        "{jobs:?}"
    );
}
