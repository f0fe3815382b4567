//! Datasets checked, merged and compacted by the commands, while others write.

use super::{Place, SWEEP};
use poolsweep::record::Dataset;
use std::process::{Command, Stdio};

#[test]
fn a_dataset_is_verified_and_a_flipped_byte_is_named() {
    let place = Place::new(SWEEP);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "d"]);
    let said = place.succeeds(&["verify", "d", "--all", "--complete"]);
    assert!(said.starts_with("sound: 6 jobs, "), "{said}");
    assert!(said.contains("4 jobs run again"), "{said}");
    let drawn = place.succeeds(&["verify", "d", "--sample", "2", "--seed", "5", "--json"]);
    let drawn: serde_json::Value = serde_json::from_str(&drawn).unwrap();
    assert_eq!(drawn["sound"], true);
    assert_eq!(drawn["run_again"]["jobs"], 2);
    assert_eq!(drawn["run_again"]["seed"], 5);

    let folder = place.path("d").join("port_buffers");
    let path = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let (code, said, error) = place.ends(&["verify", "d", "--sample", "0"]);
    assert_eq!(code, 8, "{error}");
    assert!(said.contains(path.file_name().unwrap().to_str().unwrap()), "{said}");
    assert!(said.contains("run again: the jobs in it are simulated anew"), "{said}");
    assert!(said.contains("NOT SOUND: "), "{said}");
}

#[test]
fn datasets_of_one_plan_are_merged_and_others_refused() {
    let place = Place::new(SWEEP);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "a"]);
    let said = place.succeeds(&["merge", "out", "a", "a"]);
    assert!(said.contains("a: 6 jobs taken (6 in "), "{said}");
    assert!(said.contains("0 jobs taken (0 in 0 parts whole), 6 held already"), "{said}");
    assert!(said.ends_with("out: no job of its plan is outstanding\n"), "{said}");
    assert_eq!(place.rows("out"), place.rows("a"));
    place.succeeds(&["verify", "out", "--complete", "--all"]);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "b", "--axis", "topology.delay=7us"]);
    let (code, _, error) = place.ends(&["merge", "new", "a", "b"]);
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("plan the combined sweep into the target first"), "{error}");
    assert_eq!(place.ends(&["merge", "a", "a"]).0, 2);
}

/// Thousands of tiny jobs: several chunks.
const MANY: &str = "\
schema: 1
name: many
repetitions: 4000
base:
  duration: 20us
  topology: {kind: single-switch, hosts: 3, rate: 100Gbps, delay: 100ns}
  traffic:
    - {pattern: incast, receiver: 0, senders: 2, bytes: 20KB, packet: 1000B, dscp: 8, jitter: 2us}
  record: {interval: 10us}
";

#[test]
fn compacted_while_a_process_runs_and_after_it_is_killed() {
    let place = Place::new(MANY);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "whole"]);
    let start = || {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("poolsweep"));
        command.current_dir(place.path(".")).args(["run", "sweep.yaml", "-q", "--out", "d"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let parts = || {
        let entries = std::fs::read_dir(place.path("d").join("jobs")).into_iter().flatten();
        entries
            .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with('p'))
            .count()
    };
    let mut child = start();
    let mut killed = false;
    loop {
        let ended = child.try_wait().unwrap().is_some();
        if ended && killed {
            break;
        }
        if parts() > 1 {
            place.succeeds(&["compact", "d"]);
            if !killed {
                child.kill().unwrap();
                child.wait().unwrap();
                killed = true;
                child = start();
            }
        } else if ended {
            // It was faster than the look at its parts.
            killed = true;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "d"]);
    let said = place.succeeds(&["compact", "d"]);
    assert!(said.contains(" -> 1, "), "{said}");
    let (one, two) = (place.path("d"), place.path("whole"));
    let (one, two) = (Dataset::open(one).unwrap(), Dataset::open(two).unwrap());
    assert_eq!(one.done().unwrap().len(), 4000);
    assert_eq!(one.compare(&two).unwrap(), []);
    place.succeeds(&["verify", "d", "--complete", "--sample", "5"]);
}
