//! Every message people will meet, with its exit code.

use super::{Place, SWEEP};

/// Exit code and stderr of `plan` on this sweep.
fn refused(sweep: &str) -> (i32, String) {
    let (code, stdout, stderr) = Place::new(sweep).ends(&["plan", "sweep.yaml"]);
    assert_eq!(stdout, "", "results of an invalid file");
    (code, stderr)
}

/// The sweep with one line replaced must be refused with all of these words.
#[track_caller]
fn refuses(old: &str, new: &str, words: &[&str]) {
    assert!(SWEEP.contains(old));
    let (code, stderr) = refused(&SWEEP.replace(old, new));
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "no {word:?} in: {stderr}");
    }
}

#[test]
fn a_missing_file() {
    let place = Place::new(SWEEP);
    for command in ["plan", "run", "inspect"] {
        let (code, _, stderr) = place.ends(&[command, "nowhere.yaml"]);
        assert_eq!(code, 3);
        assert!(stderr.starts_with("error: cannot read `nowhere.yaml`: "), "{stderr}");
    }
    assert!(!place.path("out").exists());
}

#[test]
fn broken_yaml() {
    refuses("seed: 7", "seed: [7", &["sweep.yaml:", "| "]);
}

#[test]
fn an_unknown_key_names_the_nearest() {
    refuses(
        "  HeadRoomPerPortLimit:",
        "  HeadroomPerPortLimits:",
        &["sweep.yaml:11:", "HeadroomPerPortLimits", "HeadRoomPerPortLimit"],
    );
    refuses("  duration: 50us", "  duraton: 50us", &["sweep.yaml:5:", "duraton", "duration"]);
}

#[test]
fn a_wrong_unit_and_a_missing_one() {
    refuses("rate: 400Gbps", "rate: 400GB", &["sweep.yaml:6:", "400GB", "rate"]);
    refuses("duration: 50us", "duration: 50", &["sweep.yaml:5:", "50", "us"]);
    refuses("duration: 50us", "duration: 50m", &["sweep.yaml:5:", "50m", "ms"]);
}

#[test]
fn an_axis_that_is_none() {
    let place = Place::new(SWEEP);
    let (code, _, stderr) = place.ends(&["plan", "sweep.yaml", "--axis", "LosyAlpha=1,2"]);
    assert_eq!(code, 3);
    assert!(stderr.contains("LosyAlpha") && stderr.contains("LossyAlpha"), "{stderr}");
    let (code, _, stderr) = place.ends(&["plan", "sweep.yaml", "--set", "LossyAlpha"]);
    assert_eq!(code, 3);
    assert!(stderr.contains("LossyAlpha"), "{stderr}");
}

#[test]
fn a_grid_too_large() {
    let place = Place::new(SWEEP);
    let fine = "topology.delay={range: {from: 1ns, to: 400us, step: 1ns}}";
    let (code, _, stderr) = place.ends(&["plan", "sweep.yaml", "--axis", fine]);
    assert_eq!(code, 3);
    assert!(stderr.contains("1200000 points") && stderr.contains("--yes"), "{stderr}");
}

#[test]
fn infeasible_points_are_rows_unless_strict() {
    let place = Place::new(SWEEP);
    for command in ["plan", "run"] {
        let (code, _, stderr) = place.ends(&[command, "sweep.yaml", "--strict"]);
        assert_eq!(code, 3);
        assert!(stderr.contains("--strict: the switch would refuse 2 jobs"), "{stderr}");
        assert!(stderr.contains("HeadRoomPerPortLimit=100MB"), "{stderr}");
    }
    assert!(!place.path("out").exists());
    let stdout = place.succeeds(&["plan", "sweep.yaml"]);
    assert!(stdout.contains("2 jobs that the switch would refuse"), "{stdout}");
}

#[test]
fn trimming_has_its_conditions() {
    let plan = |switch: &str| {
        let key = "  record: {interval";
        let sweep = SWEEP.replace(key, &format!("  switch: {{{switch}}}\n{key}"));
        Place::new(&sweep).ends(&["plan", "sweep.yaml"])
    };
    let trimmer = "PacketTrimmer: {TrimmingEnabled: true}";
    let lossy = "EnablePFC: [0, 0, 0, 0, 0, 0, 0, 0]";
    let uet = "UETPolicyEnabled: true";
    for (buffer, reason) in [
        (lossy, Some("TrimmingEnabled = true: needs UETPolicyEnabled = true")),
        (uet, Some("TrimmingEnabled = true: needs EnablePFC = 0 for every class")),
        (&format!("{uet}, {lossy}"), None),
    ] {
        let (code, stdout, stderr) = plan(&format!("{trimmer}, SharedBufferManager: {{{buffer}}}"));
        assert_eq!(code, 0, "{stderr}");
        let told = stdout.contains("switch.PacketTrimmer.TrimmingEnabled");
        assert_eq!(told, reason.is_some(), "{stdout}");
        assert!(stdout.contains(reason.unwrap_or("4 jobs to run")), "{stdout}");
    }
    // A list that the policy does not read has to have its form.
    let (code, _, stderr) =
        plan(&format!("SharedBufferManager: {{{uet}, TrafficClassPoolMapping: [0, 1]}}"));
    assert_eq!(code, 3);
    assert!(stderr.starts_with("error: sweep.yaml:9:"), "{stderr}");
    assert!(stderr.contains("TrafficClassPoolMapping: has 2 values, needs 8"), "{stderr}");
}

#[test]
fn a_folder_that_is_no_dataset_is_left_alone() {
    let place = Place::new(SWEEP);
    std::fs::create_dir(place.path("photos")).unwrap();
    place.write("photos/cat.jpg", "meow");
    let (code, _, stderr) = place.ends(&["run", "sweep.yaml", "--out", "photos"]);
    assert_eq!(code, 7);
    assert!(stderr.contains("photos is not empty and is no poolsweep dataset"), "{stderr}");
    assert_eq!(std::fs::read_dir(place.path("photos")).unwrap().count(), 1);
    for arguments in [
        ["export", "--csv", "photos", "--out", "csv"],
        ["repro", "0000000000000000", "--data", "photos", "--"],
    ] {
        let (code, _, stderr) = place.ends(&arguments);
        assert_eq!(code, 7, "{stderr}");
        assert!(stderr.contains("there is no dataset in photos"), "{stderr}");
    }
}

#[test]
fn a_dataset_of_another_version_is_left_alone() {
    let place = Place::new(SWEEP);
    place.succeeds(&["run", "sweep.yaml", "--out", "data", "-q"]);
    let marker = std::fs::read_to_string(place.path("data/dataset.json")).unwrap();
    let version = format!("\"schema_version\": {}", poolsweep::record::SCHEMA_VERSION);
    let newer = marker.replace(&version, "\"schema_version\": 99");
    assert_ne!(newer, marker);
    place.write("data/dataset.json", &newer);
    for arguments in [
        vec!["run", "sweep.yaml", "--out", "data"],
        vec!["export", "--csv", "data", "--out", "csv"],
    ] {
        let (code, _, stderr) = place.ends(&arguments);
        assert_eq!(code, 7);
        assert!(stderr.contains("has schema version 99"), "{stderr}");
    }
}

#[test]
fn a_truncated_part_is_named_with_the_way_out() {
    let place = Place::new(SWEEP);
    place.succeeds(&["run", "sweep.yaml", "--out", "data", "-q"]);
    let part = std::fs::read_dir(place.path("data/jobs")).unwrap().next().unwrap().unwrap();
    let bytes = std::fs::read(part.path()).unwrap();
    std::fs::write(part.path(), &bytes[..bytes.len() / 2]).unwrap();
    let (code, _, stderr) = place.ends(&["run", "sweep.yaml", "--out", "data", "-q"]);
    assert_eq!(code, 7);
    let name = part.file_name().into_string().unwrap();
    assert!(stderr.contains(&name) && stderr.contains("truncated or damaged"), "{stderr}");
}

#[test]
fn job_ids() {
    let place = Place::new(SWEEP);
    place.succeeds(&["run", "sweep.yaml", "--out", "data", "-q"]);
    let (code, _, stderr) = place.ends(&["repro", "zebra", "--data", "data"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("\"zebra\" is no job id: it has 16 digits of 0-9 and a-f"), "{stderr}");
    let (code, _, stderr) = place.ends(&["repro", "00000000000000ff", "--data", "data"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("job 00000000000000ff is not in data"), "{stderr}");
}

#[test]
fn usage() {
    let place = Place::new(SWEEP);
    for arguments in [vec![], vec!["rum"], vec!["run"], vec!["run", "sweep.yaml", "--threads", "0"]]
    {
        let (code, stdout, _) = place.ends(&arguments);
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}");
    }
    let (code, stdout, _) = place.ends(&["--help"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("Exit codes: 0 done"), "{stdout}");
    assert!(place.succeeds(&["--version"]).starts_with("poolsweep "));
}

#[test]
fn an_attribute_that_is_none_names_the_nearest() {
    let place = Place::new(SWEEP);
    let (code, _, stderr) = place.ends(&["attributes", "HeadRomPerPortLimit"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("nearest: HeadRoomPerPortLimit"), "{stderr}");
    let all = place.succeeds(&["attributes"]);
    assert!(all.contains("switch.SharedBufferManager.HeadRoomPerPortLimit"));
}

#[test]
fn a_folder_that_cannot_be_made() {
    let place = Place::new(SWEEP);
    let (code, _, stderr) = place.ends(&["run", "sweep.yaml", "--out", "sweep.yaml/data", "-q"]);
    assert_eq!(code, 7, "{stderr}");
    assert!(stderr.contains("sweep.yaml/data"), "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_stdout() {
    let place = Place::new(SWEEP);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("poolsweep"));
    command.current_dir(place.path(".")).arg("schema").stdout(full);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: writing to stdout: "), "{stderr}");
}
