//! `frontier`: its points are those that nobody beats, point by point.

use super::{Place, SWEEP};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Xoff and headroom of an incast, twice each: pauses, losses and room pull apart.
const GRID: &str = "\
schema: 1
name: grid
seed: 3
repetitions: 2
base:
  duration: 60us
  topology: {kind: single-switch, hosts: 5, rate: 400Gbps, delay: 500ns}
  switch: {SharedBufferManager: {TotalSharedBufferSize: 8MB, StaticPoolXonThreshold: 10KB}}
  traffic:
    - {pattern: incast, receiver: 0, senders: 4, bytes: 400KB, packet: 4000B, dscp: 8, jitter: 1us}
axes:
  StaticPoolXoffThreshold: [20KB, 60KB, 100KB, 150KB, 200KB, 250KB, 300KB, 400KB]
  HeadRoomPerPortLimit: [0B, 8KB, 16KB, 40KB, 80KB]
";

type Row = BTreeMap<String, String>;

fn ran(sweep: &str) -> Place {
    let place = Place::new(sweep);
    place.succeeds(&["run", "sweep.yaml", "-q", "--out", "d"]);
    place
}

fn frontier(place: &Place, arguments: &[&str]) -> Value {
    let all = [&["frontier", "d", "--json"], arguments].concat();
    serde_json::from_str(&place.succeeds(&all)).unwrap()
}

/// The rows of `jobs` of every point, repetitions together, by the point's values of two axes.
fn points(place: &Place) -> BTreeMap<(i64, i64), Vec<Row>> {
    place.succeeds(&["export", "--csv", "d", "--out", "csv"]);
    let table = |name: &str| -> Vec<Row> {
        let path = place.path("csv").join(format!("{name}.csv"));
        csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
    };
    let jobs: BTreeMap<String, Row> =
        table("jobs").into_iter().map(|row| (row["job_id"].clone(), row)).collect();
    let mut found: BTreeMap<_, Vec<Row>> = BTreeMap::new();
    for point in table("points") {
        let axis = |name: &str| point[name].parse::<i64>().unwrap();
        let at = (axis("StaticPoolXoffThreshold"), axis("HeadRoomPerPortLimit"));
        found.entry(at).or_default().push(jobs[&point["job_id"]].clone());
    }
    found
}

/// Points by what they come to, less being better: those that no other beats.
fn unbeaten(points: &BTreeMap<(i64, i64), Vec<f64>>) -> BTreeSet<(i64, i64)> {
    let beats = |a: &[f64], b: &[f64]| a != b && a.iter().zip(b).all(|(a, b)| a <= b);
    let alone = |own: &[f64]| !points.values().any(|other| beats(other, own));
    points.iter().filter(|(_, own)| alone(own)).map(|(&at, _)| at).collect()
}

fn on(answer: &Value) -> BTreeSet<(i64, i64)> {
    let points = answer["frontier"].as_array().unwrap();
    let axis = |point: &Value, name: &str| point["axes"][name].as_i64().unwrap();
    let at = |point| (axis(point, "StaticPoolXoffThreshold"), axis(point, "HeadRoomPerPortLimit"));
    let found: BTreeSet<_> = points.iter().map(at).collect();
    assert_eq!(found.len(), points.len());
    found
}

fn worst(rows: &[Row], column: &str) -> f64 {
    rows.iter().map(|row| row[column].parse().unwrap()).fold(f64::MIN, f64::max)
}

/// The mean over two repetitions of a whole number: exact.
fn mean(rows: &[Row], column: &str) -> f64 {
    let sum: i64 = rows.iter().map(|row| row[column].parse::<i64>().unwrap()).sum();
    sum as f64 / rows.len() as f64
}

#[test]
fn the_points_that_nobody_beats() {
    let place = ran(GRID);
    let all = points(&place);
    assert_eq!(all.len(), 40);
    type Figures<'a> = &'a dyn Fn(&(i64, i64), &[Row]) -> Vec<f64>;
    let by = |figures: Figures<'_>| {
        unbeaten(&all.iter().map(|(at, rows)| (*at, figures(at, rows))).collect())
    };
    // What repetitions come to, and two figures of which one is an axis.
    let pause = "pause_time_fraction";
    let answer = frontier(&place, &["--minimize", pause, "--minimize", "StaticPoolXoffThreshold"]);
    let expected = by(&|at, rows| vec![worst(rows, pause), at.0 as f64]);
    assert!(expected.len() > 2 && expected.len() < 40, "{expected:?}");
    assert_eq!(on(&answer), expected);
    let figures = &answer["frontier"][0]["figures"];
    assert_eq!(answer["figures"][0], "min pause_time_fraction");
    let at = answer["frontier"][0]["axes"].clone();
    let at =
        ["StaticPoolXoffThreshold", "HeadRoomPerPortLimit"].map(|key| at[key].as_i64().unwrap());
    let rows = &all[&(at[0], at[1])];
    assert_eq!(figures["min pause_time_fraction"].as_f64().unwrap(), worst(rows, pause));
    let ids: Vec<&str> = rows.iter().map(|row| row["job_id"].as_str()).collect();
    assert_eq!(answer["frontier"][0]["job_ids"], serde_json::json!(ids));

    // Points equal in both figures are on it together: headroom beyond what is needed.
    let tied = by(&|_, rows| vec![worst(rows, "drops"), worst(rows, "pause_frames")]);
    let answer = frontier(&place, &["--minimize", "drops", "--minimize", "pause_frames"]);
    assert_eq!(on(&answer), tied);
    assert!(tied.len() > 1, "{tied:?}");
    // Not so once the headroom counts.
    let three = ["--minimize", "drops", "--minimize", "pause_frames"];
    let three = [&three[..], &["--minimize", "HeadRoomPerPortLimit"]].concat();
    let expected =
        by(&|at, rows| vec![worst(rows, "drops"), worst(rows, "pause_frames"), at.1 as f64]);
    assert_eq!(on(&frontier(&place, &three)), expected);
    assert_ne!(expected, tied);

    // Much of one, little of the other; expressions over both; the mean is not the worst.
    let room = "8MB - 5 * HeadRoomPerPortLimit - 5 * StaticPoolXoffThreshold";
    for (over, of) in [("worst", worst as fn(&[Row], &str) -> f64), ("mean", mean)] {
        let more = ["--maximize", room, "--minimize", "drops + pause_frames", "--over", over];
        let answer = frontier(&place, &more);
        let expected = by(&|at, rows| {
            let sums: Vec<Row> = rows
                .iter()
                .map(|row| {
                    let sum: i64 = ["drops", "pause_frames"]
                        .iter()
                        .map(|c| row[*c].parse::<i64>().unwrap())
                        .sum();
                    Row::from([("sum".to_owned(), sum.to_string())])
                })
                .collect();
            vec![(at.0 + at.1) as f64, of(&sums, "sum")]
        });
        assert_eq!(on(&answer), expected, "{over}");
        assert_eq!((&answer["over"], &answer["repetitions"]), (&over.into(), &2.into()));
        let head = format!("max {room}");
        let least = answer["frontier"].as_array().unwrap().last().unwrap();
        let point = on(&serde_json::json!({"frontier": [least]})).into_iter().next().unwrap();
        assert_eq!(least["figures"][head], 8_000_000 - 5 * (point.0 + point.1));
    }

    // For people: a line a point, in the order of the first figure.
    let page = place.succeeds(&[
        "frontier",
        "d",
        "--minimize",
        pause,
        "--minimize",
        "StaticPoolXoffThreshold",
    ]);
    assert!(page.starts_with("grid: ") && page.contains(" of 40 points on the frontier"), "{page}");
    assert!(page.contains("the worst of 2 repetitions\n"), "{page}");
    assert!(page.contains("min pause_time_fraction") && page.ends_with("data    d\n"), "{page}");
    // The sweep file stands for its dataset.
    let named = place.succeeds(&[
        "frontier",
        "sweep.yaml",
        "--out",
        "d",
        "--minimize",
        pause,
        "--minimize",
        "StaticPoolXoffThreshold",
    ]);
    assert_eq!(named, page);
}

#[test]
fn what_is_left_out_is_counted_by_why() {
    let place = Place::new(&format!(
        "{SWEEP}constraints:\n  - HeadRoomPerPortLimit > 16KB or topology.delay < 5us\n"
    ));
    let two = ["--minimize", "drops", "--minimize", "HeadRoomPerPortLimit"];
    place.succeeds(&["plan", "sweep.yaml", "--out", "d"]);
    place.succeeds(&["run", "d", "-q", "--shard", "1/2"]);
    let part = frontier(&place, &two);
    place.succeeds(&["run", "d", "-q"]);
    let whole = frontier(&place, &two);
    // Six points: one excluded, two refused.
    assert_eq!(
        (&whole["points"], &whole["left_out"]),
        (&3.into(), &serde_json::json!({"excluded by a constraint": 1, "infeasible": 2}))
    );
    assert!(part["left_out"]["outstanding"].as_u64().unwrap() >= 1, "{part:#}");
    let page = place.succeeds(&[&["frontier", "d"], &two[..]].concat());
    assert!(page.contains("left out 2 points: infeasible\n"), "{page}");
    assert!(page.contains("left out 1 point: excluded by a constraint\n"), "{page}");
    // A figure that has no value at a point: nothing was dropped, so there is no first time.
    let first = ["--minimize", "first_drop_ps", "--minimize", "HeadRoomPerPortLimit"];
    let left = &frontier(&place, &first)["left_out"];
    assert!(left["first_drop_ps has no value"].as_u64().unwrap() >= 1, "{left}");
}

#[test]
fn figures_that_make_no_sense_are_usage_errors() {
    let place = ran(SWEEP);
    let refused = |arguments: &[&str], words: &str| {
        let (code, stdout, stderr) = place.ends(&[&["frontier", "d"], arguments].concat());
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?} {stderr}");
        assert!(stderr.contains(words), "{words}: {stderr}");
    };
    refused(&[], "between two figures or more");
    refused(&["--minimize", "drops"], "between two figures or more");
    let with = |figure: &'static str| ["--minimize", "drops", "--maximize", figure];
    refused(&with("pause_frame"), "did you mean `pause_frames`?");
    refused(&with("drops == 0"), "--maximize: `drops == 0` is a ");
    refused(&with("drops +"), "--maximize: ");
    refused(&with("HeadRoomPerPortLimit + topology.delay"), "--maximize: ");
    refused(&[&with("drops")[..], &["--out", "e"]].concat(), "--out goes with a sweep file");
    let (code, _, stderr) =
        place.ends(&["frontier", "nothing", "--minimize", "drops", "--maximize", "drops"]);
    assert!(code != 0 && stderr.contains("nothing"), "{stderr}");
}
