//! What commands leave and print when all goes well.

use super::{Place, SWEEP};
use poolsweep::record::{Dataset, JobMeta, JobRows, Outcome};
use poolsweep::sim::observe::Observations;
use poolsweep::sweep::plan::JobId;
use std::io::Read;
use std::process::Stdio;

#[test]
fn a_run_answers_and_a_second_one_has_nothing_to_do() {
    let place = Place::new(SWEEP);
    let answer = place.succeeds(&["run", "sweep.yaml", "-q"]);
    assert!(answer.starts_with("small: 6 points, 6 jobs: 4 ok, 2 infeasible\n"), "{answer}");
    for words in [
        "HeadRoomPerPortLimit  topology.delay",
        "data    out/small",
        "pl.scan_parquet(\"out/small/points.parquet\")",
        "6 jobs now in",
    ] {
        assert!(answer.contains(words), "no {words:?} in {answer}");
    }
    let again = place.succeeds(&["run", "sweep.yaml", "-q"]);
    assert!(again.contains("0 jobs now in") && again.contains("6 jobs before"), "{again}");
    let more =
        place.succeeds(&["run", "sweep.yaml", "-q", "--axis", "topology.delay=500ns,5us,7us"]);
    assert!(more.contains("3 jobs now in") && more.contains("6 jobs before"), "{more}");
}

#[test]
fn threads_change_nothing() {
    let place = Place::new(&format!("{SWEEP}repetitions: 20\n"));
    let run = |threads: &str, out: &str, more: &[&str]| {
        let run = ["run", "sweep.yaml", "-q", "--threads", threads, "--out", out];
        place.succeeds(&[&run[..], more].concat());
    };
    run("1", "one", &["--no-reuse"]);
    run("4", "four", &["--no-reuse"]);
    for table in ["jobs", "port_buffers", "drops", "pfc"] {
        for entry in std::fs::read_dir(place.path("one").join(table)).unwrap() {
            let one = entry.unwrap().path();
            let four = place.path("four").join(table).join(one.file_name().unwrap());
            assert!(std::fs::read(&one).unwrap() == std::fs::read(&four).unwrap(), "{one:?}");
        }
    }
    assert_eq!(place.rows("one"), place.rows("four"));
    // Which of several jobs that come out alike is simulated may differ, no row does.
    run("4", "few", &[]);
    assert_eq!(place.rows("one"), place.rows("few"));
}

#[test]
fn plan_lists_explains_and_writes() {
    let place = Place::new(SWEEP);
    let list = place.succeeds(&["plan", "sweep.yaml", "--list", "--out", "data"]);
    assert!(list.contains("HeadRoomPerPortLimit=256KB, topology.delay=5us"), "{list}");
    assert!(list.contains("infeasible: "), "{list}");
    assert!(list.contains("small: 6 points, 4 jobs to run, seed 7"), "{list}");
    for file in ["points.parquet", "plan.json", "sweep.yaml"] {
        assert!(place.path("data").join(file).exists(), "{file}");
    }
    let explained = place.succeeds(&["plan", "sweep.yaml", "--explain", "topology.delay"]);
    assert!(explained.contains("sweep.yaml:6") && explained.contains("5us"), "{explained}");
}

#[test]
fn a_job_that_runs_out_of_events_is_a_result() {
    let place = Place::new(SWEEP);
    let answer = place.succeeds(&["run", "sweep.yaml", "-q", "--set", "budget.events=100"]);
    assert!(answer.contains("4 budget") && answer.contains("2 infeasible"), "{answer}");
}

/// A pattern of more flows than can be counted, ahead of another, once `length` is in seconds: jobs that fail.
pub(super) const FAILING: &str = "\
schema: 1
name: failing
base:
  duration: 10s
  until: drained
  topology: {kind: single-switch, hosts: 5}
  traffic:
    - {pattern: uniform, load: 0.5, bytes: 1000B, length: 1us}
    - {pattern: incast, senders: 1, bytes: 4KB}
";

#[test]
fn failed_jobs_have_rows_and_an_exit_code() {
    let place = Place::new(&format!("{FAILING}axes:\n  traffic[0].length: [1us, 9s, 9.5s]\n"));
    let (code, stdout, stderr) = place.ends(&["run", "sweep.yaml", "--threads", "1"]);
    assert_eq!(code, 6, "{stderr}");
    assert!(stdout.contains("1 ok, 2 failed"), "{stdout}");
    assert!(stdout.contains("traffic[0] (uniform): it stands for about"), "{stdout}");
    assert!(stderr.contains("error: some jobs failed"), "{stderr}");

    let limited = ["run", "sweep.yaml", "--out", "two", "--threads", "1", "--max-failures", "1"];
    let (code, stdout, stderr) = place.ends(&limited);
    assert_eq!(code, 6, "{stderr}");
    assert!(stdout.contains("1 failed, 2 outstanding"), "{stdout}");
    assert!(stderr.contains("stopped by --max-failures: 2 jobs not started"), "{stderr}");
}

#[test]
fn a_trace_that_makes_no_sense_is_told_before_anything_runs() {
    let place = Place::new(&FAILING.replace(
        "    - {pattern: incast, senders: 1, bytes: 4KB}",
        "    - {pattern: trace, file: bad.csv}",
    ));
    place.write("bad.csv", "src,dst,bytes,start_ns,dscp\n1,zero,4000,0,8\n");
    for command in ["plan", "run"] {
        let (code, _, stderr) = place.ends(&[command, "sweep.yaml"]);
        assert_eq!(code, 3);
        assert!(stderr.contains("sweep.yaml:9:30: traffic[1].file: "), "{stderr}");
        assert!(stderr.contains("bad.csv:2:"), "{stderr}");
    }
    assert!(!place.path("out").exists());
}

#[test]
fn repro_of_a_job_without_its_trace_says_so() {
    let place = Place::new(
        "base:\n  duration: 50us\n  topology: {kind: single-switch, hosts: 5}\n  traffic:\n    \
         - {pattern: trace, file: flows.csv}\n",
    );
    place.write("flows.csv", "src,dst,bytes,start_ns,dscp\n1,0,4000,0,8\n");
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "data"]);
    let id = first_job(&place, "data", "ok");
    place.succeeds(&["repro", &id, "--data", "data"]);
    place.write("flows.csv", "src,dst,bytes,start_ns,dscp\n1,0,4001,0,8\n");
    let (code, _, stderr) = place.ends(&["repro", &id, "--data", "data"]);
    assert_eq!(code, 7);
    assert!(stderr.contains("flows.csv is not the file that was planned with"), "{stderr}");
}

fn first_job(place: &Place, dataset: &str, status: &str) -> String {
    let folder = place.path("first-csv");
    let folder = folder.to_str().unwrap();
    place.succeeds(&["export", "--csv", dataset, "--out", folder]);
    let text = std::fs::read_to_string(place.path("first-csv/jobs.csv")).unwrap();
    let row = text.lines().find(|line| line.contains(&format!(",{status},"))).unwrap();
    row.split(',').next().unwrap().to_owned()
}

#[test]
fn repro_says_whether_a_job_comes_out_the_same() {
    let place = Place::new(SWEEP);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "data"]);
    let id = first_job(&place, "data", "ok");
    let same = place.succeeds(&["repro", &id, "--data", "data"]);
    assert!(same.contains("status                      ok"), "{same}");
    assert!(same.contains("1 row equal"), "{same}");
    let refused = first_job(&place, "data", "infeasible");
    let told = place.succeeds(&["repro", &refused, "--data", "data"]);
    assert!(told.contains("not run: its status is infeasible"), "{told}");

    // A dataset whose row of this job is not what the simulator gives.
    let number = u64::from_str_radix(&id, 16).unwrap();
    let job = Dataset::open(place.path("data")).unwrap().job(JobId(number)).unwrap();
    let meta = JobMeta {
        id: job.id,
        repetition: job.repetition,
        seed: job.seed,
        scenario: job.scenario,
        tables: job.tables,
        interval: job.interval,
        zeros: job.zeros,
    };
    let nothing = JobRows::new(meta, Outcome::Ran(&Observations::default())).unwrap();
    let forged = Dataset::open_or_create(place.path("forged")).unwrap();
    forged.publish("hash", vec![nothing]).unwrap();
    let (code, _, stderr) = place.ends(&["repro", &id, "--data", "forged"]);
    assert_eq!(code, 9, "{stderr}");
    assert!(stderr.contains(&format!("job {id} came out differently")), "{stderr}");
    assert!(stderr.contains("jobs: row 0, end_ps: recorded 0, now 50000000"), "{stderr}");
}

#[test]
fn inspect_schema_and_completions() {
    let place = Place::new(SWEEP);
    let page = place.succeeds(&["inspect", "sweep.yaml", "--job", "1"]);
    assert!(page.contains("16,000"), "{page}");
    let (code, _, stderr) = place.ends(&["inspect", "sweep.yaml", "--job", "99"]);
    assert_eq!(code, 3);
    assert!(stderr.contains("no job 99"), "{stderr}");
    let list = place.succeeds(&["plan", "sweep.yaml", "--list"]);
    let id = list.lines().nth(1).unwrap().split_whitespace().nth(1).unwrap();
    assert_eq!(place.succeeds(&["inspect", "sweep.yaml", "--job", id]), page);
    let schema: serde_json::Value = serde_json::from_str(&place.succeeds(&["schema"])).unwrap();
    assert!(schema["$schema"].as_str().unwrap().contains("2020-12"));
    assert!(place.succeeds(&["completions", "bash"]).contains("poolsweep"));
}

#[test]
fn a_closed_pipe_is_success() {
    let place = Place::new(SWEEP);
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("poolsweep"));
    command.current_dir(place.path(".")).arg("schema");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}
