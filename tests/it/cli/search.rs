//! `search`: its answers are those of a grid run value by value.

use super::Place;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Two senders fill up ports towards a receiver that holds everything back, on four links: each
/// link needs its own headroom.
const ROOM: &str = "\
schema: 1
name: room
seed: 7
base:
  duration: 30us
  topology: {kind: single-switch, hosts: 5, rate: 400Gbps, delay: 500ns}
  switch: {SharedBufferManager: {TotalSharedBufferSize: 8MB}}
  nic: {PfcResponseTime: 0s, hosts: {0: {hold: {classes: [0]}}}}
  traffic:
    - {pattern: incast, receiver: 0, senders: 2, bytes: 1200KB, packet: 4000B, dscp: 0, start: 2us}
axes:
  topology.delay: [500ns, 1us]
  nic.PfcResponseTime: [0s, 200ns]
";

const HEADROOM: [&str; 3] = ["--setting", "HeadRoomPerPortLimit", "--smallest"];

fn search(place: &Place, arguments: &[&str]) -> Value {
    let all = [&["search", "sweep.yaml", "--json", "-q"], arguments].concat();
    serde_json::from_str(&place.succeeds(&all)).unwrap()
}

fn headroom(place: &Place, from: &str, to: &str, more: &[&str]) -> Value {
    search(place, &[&HEADROOM[..], &["--from", from, "--to", to], more].concat())
}

/// Whether `holds` is true of every row of `jobs`, by the values of a setting on an axis of a run.
fn verdicts(
    place: &Place,
    setting: &str,
    values: &[i64],
    unit: &str,
    holds: impl Fn(&BTreeMap<String, String>) -> bool,
) -> BTreeMap<i64, bool> {
    let list: Vec<String> = values.iter().map(|value| format!("{value}{unit}")).collect();
    let axis = format!("{setting}=[{}]", list.join(", "));
    let run = ["run", "sweep.yaml", "-q", "--no-reuse", "--out", "grid", "--axis", &axis];
    place.succeeds(&run);
    place.succeeds(&["export", "--csv", "grid", "--out", "grid-csv"]);
    let table = |name: &str| -> Vec<BTreeMap<String, String>> {
        let path = place.path("grid-csv").join(format!("{name}.csv"));
        csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
    };
    let jobs: BTreeMap<String, BTreeMap<String, String>> =
        table("jobs").into_iter().map(|row| (row["job_id"].clone(), row)).collect();
    let mut found = BTreeMap::new();
    for point in table("points") {
        let verdict = found.entry(point[setting].parse().unwrap()).or_insert(true);
        *verdict &= holds(&jobs[&point["job_id"]]);
    }
    found
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap()
}

#[track_caller]
fn proved(answer: &Value, holds: i64, fails: i64) {
    assert_eq!(answer["outcome"], "found", "{answer:#}");
    assert_eq!((&answer["answer"], &answer["holds"]["value"]), (&holds.into(), &holds.into()));
    assert_eq!(answer["holds"]["verdict"], "holds");
    assert_eq!(answer["fails"]["value"], fails);
    assert_ne!(answer["fails"]["verdict"], "holds");
    // Both were looked at, and say so one by one.
    let probes = answer["probes"].as_array().unwrap();
    for end in ["holds", "fails"] {
        assert!(probes.contains(&answer[end]), "{answer:#}");
    }
}

#[test]
fn the_smallest_headroom_is_the_edge_of_a_grid() {
    let place = Place::new(ROOM);
    let values: Vec<i64> = (9..=31).map(|step| step * 4_000).collect();
    let grid = verdicts(&place, "HeadRoomPerPortLimit", &values, "B", |job| job["drops"] == "0");
    let edge = values.iter().find(|value| grid[value]).copied().unwrap();
    assert!(edge > values[0] && grid.range(edge..).all(|(_, holds)| *holds), "{grid:?}");
    let step = ["--condition", "drops == 0", "--step", "4KB"];
    for probes in ["1", "3"] {
        let out = format!("by-{probes}");
        let more = [&step[..], &["--probes", probes, "--out", &out]].concat();
        let answer = headroom(&place, "36KB", "124KB", &more);
        proved(&answer, edge, edge - 4_000);
        assert_eq!((&answer["monotone"], &answer["unit"]), (&true.into(), &"B".into()));
        assert_eq!((&answer["holds"]["points"], &answer["holds"]["jobs"]), (&4.into(), &4.into()));
        // The link with the longest way and the slowest sender is the one that needs it.
        let first = &answer["fails"]["first"];
        assert_eq!(first["point"], "topology.delay=1us, nic.PfcResponseTime=200ns");
        assert!(first["why"].as_str().unwrap().starts_with("drops = "), "{first}");
        let job = first["job_id"].as_str().unwrap();
        place.succeeds(&["repro", job, "--data", &out]);
    }
}

#[test]
fn a_hundred_thousand_steps_take_a_handful_of_simulations() {
    let place = Place::new(ROOM);
    let answer = headroom(&place, "0B", "400KB", &["--condition", "drops == 0"]);
    let edge = answer["answer"].as_i64().unwrap();
    proved(&answer, edge, edge - 1);
    // One simulation each at both ends and beside the answer would be 16.
    assert!(answer["jobs_simulated"].as_u64().unwrap() <= 16, "{answer:#}");
    let leaps = answer["values_answered_at_once"].as_array().unwrap();
    // From the smallest value known to hold, in one go.
    assert_eq!(leaps[0], serde_json::json!([200_000, edge]));
    // Every simulation of the proof by itself, without reuse.
    let grid = verdicts(&place, "HeadRoomPerPortLimit", &[edge - 1, edge], "B", |job| {
        assert_eq!(job["reused_from"], "");
        job["drops"] == "0"
    });
    assert_eq!(grid, BTreeMap::from([(edge - 1, false), (edge, true)]));
    let page = place.succeeds(
        &[
            &["search", "sweep.yaml", "-q", "--from", "0B", "--to", "400KB"],
            &HEADROOM[..],
            &["--condition", "drops == 0"],
        ]
        .concat(),
    );
    assert!(page.contains("\nproof   "), "{page}");
    assert!(page.contains("\nreuse   the simulations at 200KB answer "), "{page}");
    assert!(page.contains("\ntime    0 jobs now in "), "{page}");
}

#[test]
fn the_same_again_runs_nothing_and_a_wider_range_what_is_new() {
    let place = Place::new(ROOM);
    let step = ["--condition", "drops == 0", "--step", "4KB"];
    let first = headroom(&place, "36KB", "124KB", &step);
    let ran = first["jobs_run"].as_u64().unwrap();
    assert_eq!((ran > 0, &first["jobs_before"]), (true, &0.into()));
    let mut again = headroom(&place, "36KB", "124KB", &step);
    assert_eq!((&again["jobs_run"], &again["jobs_before"]), (&0.into(), &ran.into()));
    assert_eq!(again["probes"], first["probes"]);
    assert_eq!(again["jobs_simulated"], 0);
    again = headroom(&place, "36KB", "300KB", &step);
    assert_eq!(again["answer"], first["answer"]);
    let before = again["jobs_before"].as_u64().unwrap();
    // 36 KB and the two beside the answer, at least.
    assert!(before >= 12, "{again:#}");
    // A plan of something else in the folder is told of, its own ones are not.
    let arguments = [&["search", "sweep.yaml", "--progress", "none"], &HEADROOM[..], &step];
    let arguments = [&arguments.concat()[..], &["--from", "36KB", "--out", "n", "--to"]].concat();
    let says = |more: &[&str]| place.ends(&[&arguments[..], more].concat()).2;
    assert_eq!(says(&["124KB"]), "");
    assert_eq!(says(&["128KB"]), "");
    let other = says(&["124KB", "--set", "senders=1"]);
    assert!(other.starts_with("note: the plan in n: "), "{other}");
    // All of it is one dataset, whole and sound.
    assert_eq!(again["data"], "out/room-search");
    place.succeeds(&["verify", "out/room-search", "--all", "--complete"]);
}

#[test]
fn the_largest_is_the_other_edge() {
    let place = Place::new(ROOM);
    let largest = ["--setting", "HeadRoomPerPortLimit", "--largest", "--from", "0B"];
    // Losses are kept up to one byte below what keeps none.
    let losing = [&largest[..], &["--to", "400KB", "--condition", "drops > 0"]].concat();
    let smallest = headroom(&place, "0B", "400KB", &["--condition", "drops == 0"]);
    let each = search(&place, &losing);
    // At every point: the shortest link decides.
    let shortest = ["--condition", "drops == 0", "--axis", "topology.delay=500ns"];
    let shortest = [&shortest[..], &["--axis", "nic.PfcResponseTime=0s", "--out", "s"]].concat();
    let edge = headroom(&place, "0B", "400KB", &shortest)["answer"].as_i64().unwrap();
    proved(&each, edge - 1, edge);
    assert!(smallest["answer"].as_i64().unwrap() > edge);
}

#[test]
fn what_the_switch_refuses_does_not_hold() {
    let place = Place::new(ROOM);
    let largest = ["--setting", "HeadRoomPerPortLimit", "--largest", "--from", "1MB"];
    let more = ["--to", "100MB", "--condition", "drops >= 0"];
    let answer = search(&place, &[&largest[..], &more].concat());
    let edge = answer["answer"].as_i64().unwrap();
    proved(&answer, edge, edge + 1);
    assert_eq!(answer["fails"]["verdict"], "refused");
    assert_eq!((&answer["fails"]["infeasible"], &answer["monotone"]), (&4.into(), &true.into()));
    let why = answer["fails"]["first"]["why"].as_str().unwrap();
    assert!(why.starts_with("infeasible: ") && why.contains("HeadRoomPerPortLimit"), "{why}");
    let grid = verdicts(&place, "HeadRoomPerPortLimit", &[edge, edge + 1], "B", |job| {
        job["status"] == "ok"
    });
    assert_eq!(grid, BTreeMap::from([(edge, true), (edge + 1, false)]));
    // All of a range can be refused.
    let none = search(
        &place,
        &[
            "--setting",
            "HeadRoomPerPortLimit",
            "--largest",
            "--from",
            "100MB",
            "--to",
            "101MB",
            "--condition",
            "drops >= 0",
            "--out",
            "none",
        ],
    );
    assert_eq!((&none["outcome"], &none["answer"]), (&"fails_everywhere".into(), &Value::Null));
    assert_eq!(none["jobs_simulated"], 0);
}

/// Pauses become rare as Xoff grows; the receiver drains.
const PAUSES: &str = "\
schema: 1
name: pauses
seed: 3
repetitions: 2
base:
  duration: 60us
  topology: {kind: single-switch, hosts: 5, rate: 400Gbps, delay: 500ns}
  switch: {SharedBufferManager: {TotalSharedBufferSize: 8MB, StaticPoolXonThreshold: 10KB}}
  traffic:
    - {pattern: incast, receiver: 0, senders: 4, bytes: 400KB, packet: 4000B, dscp: 8, jitter: 1us}
";

#[test]
fn pause_time_over_repetitions() {
    let place = Place::new(PAUSES);
    let values: Vec<i64> = (1..=20).map(|step| step * 20_000).collect();
    let grid = verdicts(&place, "StaticPoolXoffThreshold", &values, "B", |job| {
        number(job, "pause_time_fraction") < 0.01
    });
    let edge = values.iter().rev().find(|value| !grid[value]).map(|value| value + 20_000).unwrap();
    assert!(edge < 400_000, "{grid:?}");
    let answer = search(
        &place,
        &[
            "--setting",
            "StaticPoolXoffThreshold",
            "--smallest",
            "--from",
            "20KB",
            "--to",
            "400KB",
            "--step",
            "20KB",
            "--condition",
            "pause_time_fraction < 0.01",
        ],
    );
    proved(&answer, edge, edge - 20_000);
    assert_eq!((&answer["holds"]["points"], &answer["holds"]["jobs"]), (&2.into(), &2.into()));
    assert!(answer["fails"]["failing"].as_u64().unwrap() >= 1);
    // The column is what the run says, and a repetition is named.
    let first = &answer["fails"]["first"];
    assert!(first["why"].as_str().unwrap().starts_with("pause_time_fraction = 0."), "{first}");
}

#[test]
fn conditions_over_columns_axes_and_the_setting_itself() {
    let place = Place::new(ROOM);
    let all = headroom(&place, "0B", "400KB", &["--condition", "drops == 0"]);
    let edge = all["answer"].as_i64().unwrap();
    // Only short links have to keep it: a smaller answer.
    let short = "topology.delay == 1us or drops == 0 and pause_frames > 0";
    let short = headroom(&place, "0B", "400KB", &["--condition", short]);
    let less = short["answer"].as_i64().unwrap();
    proved(&short, less, less - 1);
    assert!(less < edge, "{less} {edge}");
    let first = &short["fails"]["first"];
    assert!(first["point"].as_str().unwrap().contains("topology.delay=500ns"), "{first}");
    let why = first["why"].as_str().unwrap();
    assert!(why.contains("topology.delay = 500ns") && why.contains("pause_frames = "), "{why}");
    // What is compared with the setting changes although the simulations do not.
    let spare = "HeadRoomPerPortLimit >= 2 * peak_headroom_bytes and drops == 0";
    let spare = headroom(&place, "0B", "400KB", &["--condition", spare]);
    proved(&spare, 2 * edge, 2 * edge - 1);
}

#[test]
fn everywhere_nowhere_and_a_single_value() {
    let place = Place::new(ROOM);
    let dry = ["--condition", "drops == 0"];
    let everywhere = headroom(&place, "200KB", "300KB", &dry);
    assert_eq!(everywhere["outcome"], "holds_everywhere");
    assert_eq!((&everywhere["answer"], &everywhere["fails"]), (&200_000.into(), &Value::Null));
    let nowhere = headroom(&place, "0B", "10KB", &dry);
    assert_eq!(
        (&nowhere["outcome"], &nowhere["answer"]),
        (&"fails_everywhere".into(), &Value::Null)
    );
    for (at, outcome) in [("200KB", "holds_everywhere"), ("10KB", "fails_everywhere")] {
        let single = headroom(&place, at, at, &dry);
        assert_eq!(single["outcome"], outcome);
        assert_eq!(single["probes"].as_array().unwrap().len(), 1);
        let page = [&["search", "sweep.yaml", "-q", "--from", at, "--to", at], &HEADROOM[..], &dry];
        let page = place.succeeds(&page.concat());
        assert!(page.contains("\nanswer  ") && !page.contains("\nproof "), "{page}");
    }
}

#[test]
fn verdicts_that_turn_back_are_told() {
    let place = Place::new(ROOM);
    let condition = "drops == 0 or HeadRoomPerPortLimit < 20KB";
    let more = ["--step", "4KB", "--condition", condition];
    let answer = headroom(&place, "0B", "200KB", &[&more[..], &["--probes", "9"]].concat());
    let plain = ["--step", "4KB", "--condition", "drops == 0"];
    let plain = headroom(&place, "0B", "200KB", &plain);
    // The edge of the largest values that hold, not of the first.
    assert_eq!((&answer["answer"], &answer["monotone"]), (&plain["answer"], &false.into()));
    let warning = answer["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("not monotone: holds at "), "{warning}");
    assert!(warning.contains("--largest"), "{warning}");
    assert_eq!(plain["warnings"], serde_json::json!([]));
    // The wrong direction altogether.
    let wrong = headroom(&place, "0B", "200KB", &["--condition", "drops > 0"]);
    assert_eq!((&wrong["outcome"], &wrong["answer"]), (&"holds_up_to_end".into(), &0.into()));
    assert_eq!(wrong["monotone"], false);
}

#[test]
fn a_ratio_needs_a_step_and_is_found_with_one() {
    // Lossy, once: the larger alpha, the less is dropped.
    let lossy = "StaticPoolXonThreshold: 10KB, EnablePFC: [1, 0, 0, 0, 0, 0, 0, 0]";
    let sweep = PAUSES.replace("StaticPoolXonThreshold: 10KB", lossy);
    let place = Place::new(&sweep.replace("repetitions: 2\n", ""));
    let alpha = ["--setting", "LossyAlpha", "--smallest"];
    let range = ["--from", "0.125", "--to", "1"];
    let all = [&["search", "sweep.yaml", "-q", "--condition", "drops == 0"], &alpha[..], &range];
    let (code, _, stderr) = place.ends(&all.concat());
    assert_eq!(code, 2);
    assert!(stderr.contains("LossyAlpha is a ratio, which has no smallest unit"), "{stderr}");
    let half = ["--from", "0.5", "--to", "0.5", "--step", "1", "--condition", "drops < 0"];
    let half = search(&place, &[&alpha[..], &half].concat());
    let drops = half["probes"][0]["first"]["why"].as_str().unwrap();
    let drops = drops.strip_prefix("drops = ").unwrap();
    let condition = format!("drops <= {drops}");
    let more = ["--step", "0.125", "--condition", &condition];
    let answer = search(&place, &[&alpha[..], &range, &more].concat());
    assert_eq!((&answer["step"], &answer["unit"]), (&0.125.into(), &"".into()));
    assert_eq!((&answer["outcome"], &answer["answer"]), (&"found".into(), &0.5.into()));
    assert_eq!(answer["fails"]["value"], 0.375);
}

#[track_caller]
fn refused(place: &Place, arguments: &[&str], code: i32, words: &[&str]) {
    let all = [&["search", "sweep.yaml", "-q"], arguments].concat();
    let (ended, stdout, stderr) = place.ends(&all);
    assert_eq!((ended, stdout.as_str()), (code, ""), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
    assert!(!place.path("out").exists(), "something was written");
}

#[test]
fn questions_without_sense_are_refused_before_anything_runs() {
    let place = Place::new(ROOM);
    let range = ["--from", "0B", "--to", "400KB"];
    let of = |condition| [&HEADROOM[..], &range, &["--condition", condition]].concat();
    refused(&place, &of("drop == 0"), 2, &["`drop` is neither a column", "did you mean `drops`?"]);
    refused(&place, &of("drops"), 2, &["--condition: `drops` is a number", "`drops == 0`"]);
    refused(&place, &of("drops == "), 2, &["--condition"]);
    refused(&place, &of("topology.delay > 4KB and drops == 0"), 2, &["--condition"]);
    let dry = ["--condition", "drops == 0"];
    let unknown = ["--setting", "HeadRoomPerPortLimt", "--smallest"];
    refused(&place, &[&unknown, &range[..], &dry].concat(), 3, &["HeadRoomPerPortLimit"]);
    let fixed = ["--set", "HeadRoomPerPortLimit=64KB"];
    refused(&place, &[&HEADROOM[..], &range, &dry, &fixed].concat(), 2, &["fixed by --set"]);
    let word = ["--setting", "LoadBalancingMethod", "--smallest", "--from", "0", "--to", "1"];
    refused(&place, &[&word[..], &dry].concat(), 3, &["LoadBalancingMethod"]);
    let both = [&HEADROOM[..], &["--largest"], &range, &dry].concat();
    refused(&place, &both, 2, &["--smallest", "--largest"]);
    for (range, words) in [
        (["--from", "400KB", "--to", "0B"], ["above", "give the smaller one first"]),
        (["--from", "0", "--to", "400KB"], ["write both with units", "0B"]),
        (["--from", "0B", "--to", "1us"], ["--from 0B is a ", "--to 1us a "]),
        (["--from", "many", "--to", "400KB"], ["--from", ""]),
    ] {
        refused(&place, &[&HEADROOM[..], &range, &dry].concat(), 2, &words);
    }
    for (step, words) in [
        ("0B", "larger than zero"),
        ("3KB", "do not land on the end"),
        ("1us", "--step 1us"),
        ("0.5B", "--step"),
    ] {
        let more = [&HEADROOM[..], &range, &dry, &["--step", step]].concat();
        refused(&place, &more, 2, &[words]);
    }
}

#[test]
fn failed_jobs_are_no_answer_and_budgets_do_not_hold() {
    let place = Place::new(super::results::FAILING);
    let length = ["--setting", "traffic[0].length", "--largest", "--from", "1us"];
    let more = ["--to", "9s", "--step", "8999999us", "--condition", "drops == 0", "-q"];
    let (code, stdout, stderr) =
        place.ends(&[&["search", "sweep.yaml"], &length[..], &more].concat());
    assert_eq!((code, stdout.as_str()), (6, ""), "{stderr}");
    assert!(stderr.contains("no answer: ") && stderr.contains("it stands for about"), "{stderr}");
    assert!(stderr.contains("poolsweep retry --failed"), "{stderr}");

    let place = Place::new(ROOM);
    let short = ["--condition", "drops == 0", "--set", "budget.events=100"];
    let answer = headroom(&place, "200KB", "201KB", &short);
    assert_eq!(answer["outcome"], "fails_everywhere");
    let why = answer["probes"][0]["first"]["why"].as_str().unwrap();
    assert!(why.starts_with("budget used up: "), "{why}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_goes_on() {
    use std::process::{Command, Stdio};
    let slow =
        format!("{}repetitions: 40\n", ROOM.replace("start: 2us", "start: 2us, jitter: 1us"));
    let place = Place::new(&slow);
    let step = ["--condition", "drops == 0", "--step", "4KB", "--from", "36KB", "--to", "124KB"];
    let arguments = [&["search", "sweep.yaml", "-q"], &HEADROOM[..], &step].concat();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("poolsweep"));
    command.current_dir(place.path(".")).args(&arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let jobs = place.path("out/room-search/jobs");
    let part = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("part-"))
    };
    while !std::fs::read_dir(&jobs).is_ok_and(|mut entries| entries.any(part)) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before its first part");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(5), 0), "{stderr}");
    assert!(stderr.contains("the same command goes on"), "{stderr}");
    let went_on = search(&place, &[&HEADROOM[..], &step].concat());
    let whole = search(&place, &[&HEADROOM[..], &step, &["--out", "whole"]].concat());
    assert_eq!(went_on["probes"], whole["probes"]);
    assert_eq!((&went_on["answer"], &whole["jobs_before"]), (&whole["answer"], &0.into()));
    assert!(went_on["jobs_before"].as_u64().unwrap() > 0);
    let ids = |dataset: &str| -> BTreeSet<String> {
        place.rows(dataset).into_iter().flat_map(|(_, lines)| lines).collect()
    };
    assert!(ids("out/room-search") == ids("whole"));
}
