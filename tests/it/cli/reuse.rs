//! Sweeps whose jobs are answered by few simulations: the same datasets as without.

use super::Place;
use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

/// Headroom, Xoff and Xon of an incast, with every table that says what a counter is compared with.
const GRID: &str = "\
schema: 1
name: grid
seed: 3
base:
  duration: 60us
  topology: {kind: single-switch, hosts: 5, rate: 400Gbps, delay: 500ns}
  switch: {SharedBufferManager: {TotalSharedBufferSize: 8MB}}
  traffic:
    - {pattern: incast, receiver: 0, senders: 4, bytes: 400KB, packet: 4000B, dscp: 8, jitter: 1us}
  record:
    interval: 7us
    tables: [jobs, port_buffers, switch_buffers, drops, pfc, port_counters, flows, pfc_events]
axes:
  HeadRoomPerPortLimit: [0B, 8KB, 40KB, 60KB, 100KB, 400KB, 900KB]
  StaticPoolXoffThreshold: [40KB, 100KB, 300KB, 700KB]
  StaticPoolXonThreshold: [10KB, 30KB, 39KB]
";

const JOBS: usize = 7 * 4 * 3;

/// The line of a run that says how jobs were answered: simulated, all, follow.
fn reuse(said: &str) -> (usize, usize, usize) {
    let line = said.lines().find(|line| line.starts_with("reuse ")).unwrap_or_else(|| {
        panic!("nothing is said of reuse: {said}");
    });
    let numbers: Vec<usize> = line
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    (numbers[0], numbers[1], numbers[2])
}

/// Whether two datasets have equal rows in all tables.
fn assert_equal(place: &Place, a: &str, b: &str) {
    let (code, said, error) = place.ends(&["compare", a, b]);
    assert_eq!(code, 0, "{a} against {b}: {said}{error}");
    assert_eq!(place.rows(a), place.rows(b));
}

#[test]
fn a_grid_needs_few_simulations_and_has_the_same_rows() {
    let place = Place::new(GRID);
    let said = place.succeeds(&["run", "sweep.yaml", "-q", "--out", "all", "--no-reuse"]);
    assert!(!said.contains("reuse "), "{said}");
    for threads in ["1", "2"] {
        let out = format!("few{threads}");
        let said =
            place.succeeds(&["run", "sweep.yaml", "-q", "--out", &out, "--threads", threads]);
        let (simulated, of, follow) = reuse(&said);
        assert_eq!((of, simulated + follow), (JOBS, JOBS), "{said}");
        // With two threads, alike ones may start at once.
        assert!(simulated * 2 < JOBS, "{said}");
        assert_equal(&place, "all", &out);
        let said = place.succeeds(&["verify", &out, "--all", "--complete"]);
        assert!(said.contains(&format!("{JOBS} jobs run again")), "{said}");
        // Of each that was not simulated the row names one that was.
        let csv =
            std::fs::read_to_string(place.path(&format!("{out}-csv")).join("jobs.csv")).unwrap();
        let mut lines = csv.lines();
        let head: Vec<&str> = lines.next().unwrap().split(',').collect();
        let place_of = |name| head.iter().position(|&column| column == name).unwrap();
        let (id, from) = (place_of("job_id"), place_of("reused_from"));
        let cells: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
        let own: BTreeSet<&str> =
            cells.iter().filter(|row| row[from].is_empty()).map(|row| row[id]).collect();
        assert_eq!(own.len(), simulated, "{said}");
        assert!(cells.iter().all(|row| row[from].is_empty() || own.contains(row[from])));
        place.succeeds(&[
            "repro",
            cells.iter().find(|row| !row[from].is_empty()).unwrap()[id],
            "--data",
            &out,
        ]);
    }
}

#[test]
fn what_earlier_runs_compared_answers_new_values_and_shards() {
    let place = Place::new(GRID);
    // One value of an axis first: the others come with simulations on disk.
    let first = ["run", "sweep.yaml", "-q", "--out", "d", "--axis", "HeadRoomPerPortLimit=[900KB]"];
    let said = place.succeeds(&first);
    let (simulated, ..) = reuse(&said);
    let said = place.succeeds(&["run", "sweep.yaml", "-q", "--out", "d", "--threads", "1"]);
    let (later, of, _) = reuse(&said);
    assert_eq!(of, JOBS - 12);
    // As many as in one go: nothing was simulated for want of what the first run knew.
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "all", "--no-reuse"]);
    let said = place.succeeds(&["run", "sweep.yaml", "-q", "--out", "once", "--threads", "1"]);
    assert_eq!(simulated + later, reuse(&said).0);
    assert_equal(&place, "d", "all");
    // Put together, what was compared is still there.
    place.succeeds(&["compact", "d"]);
    let wider = ["--axis", "StaticPoolXonThreshold=[10KB, 30KB, 39KB, 38KB]"];
    let run = ["run", "sweep.yaml", "-q", "--out", "d", "--threads", "1"];
    let said = place.succeeds(&[&run[..], &wider[..]].concat());
    assert!(reuse(&said).0 < reuse(&said).1, "{said}");
    place.succeeds(&["verify", "d", "--all", "--complete"]);

    for shard in ["1/2", "2/2"] {
        let said = place.succeeds(&["run", "sweep.yaml", "-q", "--out", "s", "--shard", shard]);
        reuse(&said);
    }
    assert_equal(&place, "s", "all");
    place.succeeds(&["merge", "m", "s", "once"]);
    assert_equal(&place, "m", "all");
}

#[test]
fn a_killed_run_goes_on_with_what_it_knew() {
    let slow =
        GRID.replace("duration: 60us", "duration: 3ms").replace("400KB, packet", "40MB, packet");
    let place = Place::new(&slow);
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("poolsweep"));
    command.current_dir(place.path(".")).args([
        "run",
        "sweep.yaml",
        "-q",
        "--out",
        "d",
        "--in-process",
    ]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let jobs = place.path("d").join("jobs");
    let parts = || std::fs::read_dir(&jobs).map_or(0, Iterator::count);
    while parts() == 0 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    // However far it came.
    let _ = child.kill();
    child.wait().unwrap();
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "d"]);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "all", "--no-reuse"]);
    assert_equal(&place, "d", "all");
}
