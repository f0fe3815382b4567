//! `import hpcc` and the exports of that code's trace files: what was recorded there comes out.

use super::Place;
use std::fs;
use std::path::{Path, PathBuf};

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ns3/hpcc").join(case)
}

fn sorted(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut lines: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.sort_unstable();
    lines
}

/// Imports a recorded case, runs it, exports both traces and compares them with the recorded ones.
fn reproduces(case: &str) {
    let golden = golden(case);
    let place = Place { folder: tempfile::tempdir().unwrap() };
    let config = golden.join("config.txt");
    let (code, _, notes) =
        place.ends(&["import", "hpcc", config.to_str().unwrap(), "--out", "made.yaml"]);
    assert_eq!(code, 0, "{notes}");
    assert!(notes.contains("RP_TIMER has no effect"), "{notes}");
    place.succeeds(&["run", "made.yaml", "--out", "data"]);
    place.succeeds(&["export", "--pfc-txt", "data", "--fct-txt", "data", "--out", "txt"]);
    let jobs: Vec<PathBuf> =
        fs::read_dir(place.path("txt")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [job] = &jobs[..] else { panic!("one job, not {jobs:?}") };
    for file in ["pfc.txt", "fct.txt"] {
        assert_eq!(sorted(&job.join(file)), sorted(&golden.join(file)), "{file}");
    }
    // In order of time, whatever the order of what happens at once.
    let times = |path: PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|l| l.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(times(job.join("pfc.txt")), times(golden.join("pfc.txt")));
}

#[test]
fn an_incast_of_8_comes_out_as_recorded() {
    reproduces("incast8_tiefree");
}

#[test]
fn two_switches_come_out_as_recorded() {
    reproduces("twoswitch_tiefree");
}

#[test]
fn a_refusal_names_the_file_the_line_and_the_column() {
    let place = Place { folder: tempfile::tempdir().unwrap() };
    place.write("config.txt", "CC_MODES 3\n");
    let (code, stdout, stderr) = place.ends(&["import", "hpcc", "config.txt"]);
    assert_eq!((code, stdout.as_str()), (3, ""));
    assert!(stderr.contains("config.txt:1:1: unknown key \"CC_MODES\""), "{stderr}");
    assert!(stderr.contains("CC_MODE"), "{stderr}");
    let (code, _, stderr) = place.ends(&["import", "hpcc", "nowhere.txt"]);
    assert_eq!(code, 3);
    assert!(stderr.contains("read nowhere.txt"), "{stderr}");
}

#[test]
fn a_sweep_file_is_not_written_over() {
    let place = Place { folder: tempfile::tempdir().unwrap() };
    place.write("made.yaml", "mine");
    let config = golden("incast8_tiefree").join("config.txt");
    let (code, _, stderr) =
        place.ends(&["import", "hpcc", config.to_str().unwrap(), "--out", "made.yaml"]);
    assert_eq!(code, 7);
    assert!(stderr.contains("remove it or give another --out"), "{stderr}");
    assert_eq!(fs::read_to_string(place.path("made.yaml")).unwrap(), "mine");
}

#[test]
fn traces_need_their_table() {
    let place = Place::new(super::SWEEP);
    place.succeeds(&["run", "sweep.yaml", "--out", "data"]);
    let (code, _, stderr) = place.ends(&["export", "--pfc-txt", "data", "--out", "txt"]);
    assert_eq!(code, 7);
    assert!(stderr.contains("pfc_events"), "{stderr}");
}
