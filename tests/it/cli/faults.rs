//! Deaths at random places, disks that refuse, and what is left: after all of them the finished
//! dataset is that of an undisturbed run, row for row.

#![cfg(target_os = "linux")]

use super::Place;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Thousands of tiny jobs in many chunks, half a second or so in all.
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

/// Kills in a row.
const KILLS: u32 = 30;

fn run(place: &Place, dataset: &str, shard: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("poolsweep"));
    command.current_dir(place.path(".")).stdout(Stdio::null()).stderr(Stdio::null());
    command.args(["run", dataset, "-q", "--shard", shard]);
    command
}

/// Every file of the dataset is whole, or bears a name that readers skip.
fn no_half_file(place: &Place, dataset: &str) {
    for table in std::fs::read_dir(place.path(dataset)).unwrap() {
        let table = table.unwrap().path();
        if !table.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(&table).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with('.') || !name.ends_with(".parquet") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{}", path.display());
        }
    }
}

#[test]
fn killed_dozens_of_times_the_dataset_is_that_of_an_undisturbed_run() {
    let place = Place::new(MANY);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "whole"]);
    place.succeeds(&["plan", "sweep.yaml", "--out", "data"]);
    // Two shards at once, each killed at another moment of its life, then both started again.
    let mut moment = 12_345u32;
    let mut deaths = 0;
    for round in 0..KILLS {
        let mut runs = ["1/2", "2/2"].map(|shard| run(&place, "data", shard).spawn().unwrap());
        for child in &mut runs {
            moment = moment.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Later and later, so that some work is left for the last ones too.
            let wait = (moment >> 16) % (10 + round * 3);
            std::thread::sleep(Duration::from_millis(u64::from(wait)));
            child.kill().unwrap();
        }
        for child in &mut runs {
            deaths += usize::from(child.wait().unwrap().code().is_none());
        }
        no_half_file(&place, "data");
    }
    assert!(deaths > KILLS as usize, "{deaths} of {} runs were killed", 2 * KILLS);
    place.succeeds(&["run", "data", "-q"]);
    assert!(place.rows("data") == place.rows("whole"));
    let left = |name: &str| name.starts_with('.') && name.ends_with(".tmp");
    for table in ["jobs", "port_buffers", "drops", "pfc"] {
        for file in std::fs::read_dir(place.path("data").join(table)).unwrap() {
            let name = file.unwrap().file_name().to_string_lossy().into_owned();
            assert!(!left(&name), "{table}/{name} is left over");
        }
    }
    assert!(!place.path("data/suspects").exists(), "a kill from outside made a suspect");
}

#[test]
fn a_disk_that_refuses_is_said_and_leaves_no_half_file() {
    let place = Place::new(MANY);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "whole"]);
    place.succeeds(&["plan", "sweep.yaml", "--out", "data"]);
    let binary = assert_cmd::cargo::cargo_bin("poolsweep");
    // No file may grow beyond some blocks of 512 bytes: as a full disk, a write is cut short and
    // the next refused, each time at another place.
    let mut refused = 0;
    for blocks in [8, 40, 90, 150, 220, 400] {
        let script =
            format!("trap '' XFSZ; ulimit -f {blocks}; exec '{}' run data -q", binary.display());
        let mut command = Command::new("bash");
        command.args(["-c", &script]).current_dir(place.path("."));
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(7) => {
                refused += 1;
                assert!(stderr.starts_with("error: ") && stderr.contains("data/"), "{stderr}");
            }
            other => panic!("{other:?}: {stderr}"),
        }
        no_half_file(&place, "data");
    }
    assert!(refused >= 2, "{refused} runs were refused");
    place.succeeds(&["run", "data", "-q"]);
    assert!(place.rows("data") == place.rows("whole"));
}

#[test]
fn thousands_of_jobs_leave_few_files() {
    let place = Place::new(MANY);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "data"]);
    let mut files = 0;
    let mut folders = vec![place.path("data")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files += 1,
            }
        }
    }
    // Six parts of five tables, and some files of the whole.
    assert!(files <= 45, "{files} files for 6,000 jobs");
}

#[test]
fn a_folder_that_cannot_be_written_is_said_before_anything_runs() {
    let place = Place::new(MANY);
    let (code, stdout, stderr) = place.ends(&["run", "sweep.yaml", "-q", "--out", "/proc/nowhere"]);
    assert_eq!((code, stdout.as_str()), (7, ""));
    assert!(stderr.contains("/proc/nowhere"), "{stderr}");
}
