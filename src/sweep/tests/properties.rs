//! Random grids against a reference, and broken files.

use super::{BASE, Files, load};
use crate::scenario::Traffic;
use crate::sweep::SweepError;
use crate::sweep::plan::{ColumnValues, Overrides};
use proptest::prelude::*;
use std::collections::HashMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// One axis of a random grid: a key and its values in base units.
#[derive(Debug, Clone)]
struct RandomAxis {
    key: &'static str,
    unit: &'static str,
    values: Vec<i64>,
}

const KEYS: [(&str, &str); 5] = [
    ("PlaneBDP", "B"),
    ("HeadRoomPerPortLimit", "B"),
    ("senders", ""),
    ("topology.delay", "ps"),
    ("QueueDropThreshold", ""),
];

fn axes() -> impl Strategy<Value = Vec<RandomAxis>> {
    let axis = |(key, unit): (&'static str, &'static str)| {
        prop::collection::vec(1i64..6, 1..4).prop_map(move |values| RandomAxis {
            key,
            unit,
            values,
        })
    };
    prop::sample::subsequence(KEYS.to_vec(), 0..=4)
        .prop_shuffle()
        .prop_flat_map(move |keys| keys.into_iter().map(axis).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Points, columns, exclusions and job sharing are those of nested loops.
    #[test]
    fn a_grid_is_its_nested_loops(
        axes in axes(),
        repetitions in 1u64..4,
        limit in 1i64..12,
        variants in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let mut text = format!("{BASE}repetitions: {repetitions}\naxes:\n");
        for a in &axes {
            let values: Vec<String> = a.values.iter().map(|v| format!("{v}{}", a.unit)).collect();
            writeln!(text, "  {}: [{}]", a.key, values.join(", ")).unwrap();
        }
        if axes.is_empty() {
            text += "  {}\n";
        }
        // Numbers of one dimension: every axis over its own unit.
        let terms: Vec<String> = axes.iter().map(|a| match a.unit {
            "" => a.key.to_owned(),
            unit => format!("{} / 1{unit}", a.key),
        }).collect();
        let rule = format!("0 + {} <= {limit}", if terms.is_empty() { "0".into() } else { terms.join(" + ") });
        writeln!(text, "constraints:\n  - {rule}").unwrap();
        // Each variant drops one axis, or none if there is none.
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        if variants.is_empty() {
            blocks.push((0..axes.len()).collect());
        } else {
            text += "scenarios:\n";
            for (i, index) in variants.iter().enumerate() {
                let dropped = (!axes.is_empty()).then(|| index.index(axes.len()));
                let names = dropped.map_or(String::new(), |d| axes[d].key.to_owned());
                writeln!(text, "  v{i}: {{drop-axes: [{names}]}}").unwrap();
                blocks.push((0..axes.len()).filter(|a| Some(*a) != dropped).collect());
            }
        }
        let plan = load(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));

        // The reference: rows of optional values in order, and what each comes to.
        let fixed = |key: &str| match key {
            "PlaneBDP" => 300_000,
            "HeadRoomPerPortLimit" => 256_000,
            "senders" => 4,
            "topology.delay" => 500_000,
            _ => 5,
        };
        let mut rows: Vec<Vec<Option<i64>>> = Vec::new();
        for active in &blocks {
            let mut block = vec![vec![None; axes.len()]];
            for &a in active {
                block = block
                    .into_iter()
                    .flat_map(|row| axes[a].values.iter().map(move |v| {
                        let mut row = row.clone();
                        row[a] = Some(*v);
                        row
                    }))
                    .collect();
            }
            rows.extend(block);
        }
        prop_assert_eq!(plan.points.len(), rows.len() * repetitions as usize);
        let mut seen: HashMap<(Vec<i64>, u64), usize> = HashMap::new();
        for (i, point) in plan.points.iter().enumerate() {
            let row = &rows[i / repetitions as usize];
            let repetition = i as u64 % repetitions;
            prop_assert_eq!(point.repetition, repetition);
            for (a, value) in row.iter().enumerate() {
                let column = plan.columns.iter().find(|c| c.name == axes[a].key).unwrap();
                let ColumnValues::Int(values) = &column.values else { panic!() };
                prop_assert_eq!(values[i], *value);
            }
            let full: Vec<i64> =
                row.iter().zip(&axes).map(|(v, a)| v.unwrap_or_else(|| fixed(a.key))).collect();
            let kept = full.iter().sum::<i64>() <= limit;
            prop_assert_eq!(point.job.is_some(), kept);
            let Some(job) = point.job else { continue };
            let next = seen.len();
            prop_assert_eq!(*seen.entry((full.clone(), repetition)).or_insert(next), job);
            prop_assert_eq!(plan.jobs[job].seeds.repetition, repetition);
            let s = plan.scenario(job).unwrap();
            for (a, value) in axes.iter().zip(&full) {
                let buffer = &s.switch.shared_buffer_manager;
                let got = match a.key {
                    "PlaneBDP" => buffer.plane_bdp.0,
                    "HeadRoomPerPortLimit" => buffer.head_room_per_port_limit.0,
                    "QueueDropThreshold" => buffer.queue_drop_threshold,
                    "senders" => match &s.traffic[0] {
                        Traffic::Incast(t) => u64::from(t.senders),
                        _ => 0,
                    },
                    _ => serde_json::to_value(&s.topology).unwrap()["delay"].as_u64().unwrap(),
                };
                prop_assert_eq!(got as i64, *value);
            }
        }
        prop_assert_eq!(seen.len(), plan.jobs.len());
    }

    /// `linspace` against whole-number arithmetic.
    #[test]
    fn linspace_is_exact(from in 0i64..1_000_000_000, span in 0i64..1_000_000_000, count in 2i64..40) {
        let to = from + span;
        let text = format!("{BASE}axes: {{PlaneBDP: {{linspace: {{from: {from}B, to: {to}B, count: {count}, integer: true}}}}}}");
        let plan = load(&text).unwrap_or_else(|e| panic!("{e}"));
        let ColumnValues::Int(values) = &plan.columns[0].values else { panic!() };
        for (i, value) in values.iter().enumerate() {
            // Halves up: floor(x + 1/2) with x = from + i · span / (count − 1).
            let below = 2 * (count - 1);
            let expected = (from * below + 2 * i as i64 * span + (count - 1)).div_euclid(below);
            prop_assert_eq!(*value, Some(expected));
        }
    }
}

/// A file with everything in it.
const FULL: &str = "
schema: 1
name: full
seed: 3
repetitions: 2
x-a: &bytes {bytes: 1MB, packet: 1000B}
base:
  duration: 2ms
  topology: {kind: single-switch, hosts: 5, rate: 400Gbps}
  traffic:
    - {pattern: incast, senders: 4, <<: *bytes}
    - {pattern: uniform, load: 0.5, <<: *bytes}
  SharedBufferManager.LossyAlpha: 1/8
axes:
  PlaneBDP: [1KB, 2KB]
  HeadRoomPerPortLimit: {linspace: {from: 1KB, to: 3KB, count: 3}}
  topology.delay: {range: {from: 100ns, to: 300ns, step: 100ns}}
  a:
    zip:
      load: {values: {low: 0.1, high: 0.9}}
      StaticPoolXoffThreshold: [1KB, 2KB]
derived:
  StaticPoolXonThreshold: floor(StaticPoolXoffThreshold * 0.5)
constraints:
  - HeadRoomPerPortLimit * topology.hosts <= 10KB
checks:
  - PlaneBDP > 0B
scenarios:
  one: {set: {EnablePFC: [1, 1, 0, 0, 0, 0, 0, 0]}}
  two: {drop-axes: [PlaneBDP]}
";

#[test]
fn the_full_file_is_right_before_it_is_broken() {
    assert_eq!(load(FULL).unwrap_or_else(|e| panic!("{e}")).points.len(), 2 * (36 + 18));
}

/// One way to break a file.
#[derive(Debug, Clone)]
enum Damage {
    Delete(prop::sample::Index, usize),
    Insert(prop::sample::Index, String),
    Swap(prop::sample::Index, prop::sample::Index),
    Repeat(prop::sample::Index, usize),
    Indent(prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let piece = prop_oneof![
        Just("{".to_owned()),
        Just("[".to_owned()),
        Just("*".to_owned()),
        Just("&x ".to_owned()),
        Just("!".to_owned()),
        Just(": ".to_owned()),
        Just("\n".to_owned()),
        Just("- ".to_owned()),
        Just("99999999999999999999999999999999999999999".to_owned()),
        Just(".nan".to_owned()),
        Just("1e308".to_owned()),
        Just("\"".to_owned()),
        Just("<<: *bytes".to_owned()),
        Just("\t".to_owned()),
        Just("\u{0}".to_owned()),
        Just("1/0".to_owned()),
        Just("traffic[9].x".to_owned()),
        Just("let.".to_owned()),
        any::<char>().prop_map(String::from),
        "[ -~]{1,6}",
    ];
    prop_oneof![
        (any::<prop::sample::Index>(), 1usize..12).prop_map(|(i, n)| Damage::Delete(i, n)),
        (any::<prop::sample::Index>(), piece).prop_map(|(i, s)| Damage::Insert(i, s)),
        (any::<prop::sample::Index>(), any::<prop::sample::Index>())
            .prop_map(|(i, j)| Damage::Swap(i, j)),
        (any::<prop::sample::Index>(), 1usize..40).prop_map(|(i, n)| Damage::Repeat(i, n)),
        any::<prop::sample::Index>().prop_map(Damage::Indent),
    ]
}

fn break_file(damages: &[Damage]) -> String {
    let mut text: Vec<char> = FULL.chars().collect();
    for damage in damages {
        if text.is_empty() {
            break;
        }
        match damage {
            Damage::Delete(i, n) => {
                let at = i.index(text.len());
                text.drain(at..(at + n).min(text.len()));
            }
            Damage::Insert(i, piece) => {
                let at = i.index(text.len());
                text.splice(at..at, piece.chars());
            }
            Damage::Swap(i, j) => {
                let (i, j) = (i.index(text.len()), j.index(text.len()));
                text.swap(i, j);
            }
            Damage::Repeat(i, n) => {
                let at = i.index(text.len());
                let part: Vec<char> = text[at..(at + n).min(text.len())].to_vec();
                text.splice(at..at, part);
            }
            Damage::Indent(i) => {
                let at = i.index(text.len());
                let line = text[..at].iter().rposition(|c| *c == '\n').map_or(0, |n| n + 1);
                text.insert(line, ' ');
            }
        }
    }
    text.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// A broken file is planned or refused, at a place, soon; it never panics.
    #[test]
    fn broken_files_are_refused_with_a_place(damages in prop::collection::vec(damage(), 1..5)) {
        let text = break_file(&damages);
        let files = Files::new(&[("s.yaml", &text)]);
        let start = Instant::now();
        let result = files.plan(&Overrides::default());
        prop_assert!(start.elapsed() < Duration::from_secs(20));
        if let Err(SweepError::Invalid(problem)) = result {
            prop_assert!(problem.place.is_some(), "{problem}");
            prop_assert!(!problem.message.is_empty());
        }
    }

    /// Any value in any place of the command line.
    #[test]
    fn any_setting_is_taken_or_refused(key in "[a-zA-Z.\\[\\]0-9_]{0,12}|PlaneBDP|LossyAlpha|traffic|topology|seeds", value in "\\PC{0,16}") {
        let files = Files::new(&[("s.yaml", FULL)]);
        let set = vec![format!("{key}={value}")];
        let _ = files.plan(&Overrides { set: set.clone(), ..Overrides::default() }).map_err(|e| e.to_string());
        let _ = files.plan(&Overrides { axis: set, ..Overrides::default() }).map_err(|e| e.to_string());
    }
}
