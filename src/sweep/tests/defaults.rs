//! Every attribute at its default: the file says what it means anyway.

use super::nics::{agree, ids};
use super::{BASE, Files};
use crate::scenario::attributes::{self, Attribute, Kind};
use crate::sweep::plan::{Overrides, Plan};
use std::fmt::Write;

const TOPOLOGIES: [(&str, &str); 4] = [
    ("single-switch", "{kind: single-switch, hosts: 5}"),
    ("leaf-spine", "{kind: leaf-spine, leaves: 2, hosts_per_leaf: 3, spines: 1}"),
    ("fat-tree", "{kind: fat-tree, k: 4}"),
    (
        "explicit",
        "{kind: explicit, nodes: [{name: a, kind: host}, {name: b, kind: host}, {name: s, kind: \
         switch}], links: [{a: a, b: s}, {a: b, b: s}]}",
    ),
];

const PATTERNS: [(&str, &str); 9] = [
    ("incast", "senders: 1, bytes: 8KB"),
    ("permutation", "bytes: 8KB"),
    ("all-to-all", "bytes: 8KB"),
    ("ring", "bytes: 8KB"),
    ("uniform", "load: 0.5, bytes: 8KB"),
    ("on-off", "senders: 1, on: 1us, off: 1us"),
    ("flows", "flows: [{src: 0, dst: 1, bytes: 8KB}]"),
    ("trace", "file: flows.csv"),
    ("collective", "operation: all-reduce, bytes: 8KB"),
];

const SWITCHES: [&str; 3] = ["scala", "hpcc", "ns3-datacenter"];

fn scenario(topology: &str, pattern: &str, switch: &str) -> Files {
    let text = format!(
        "base:\n  duration: 50us\n  topology: {topology}\n  switch: {{model: {switch}}}\n  \
         traffic:\n    - {{{pattern}}}\n"
    );
    Files::new(&[("s.yaml", &text), ("flows.csv", "src,dst,bytes,start_ns,dscp\n0,1,8000,0,0\n")])
}

/// The scenarios in which an attribute has a meaning, and its path there.
fn homes(a: &Attribute) -> Vec<(String, Files)> {
    let path = a.path.replace("[]", "[0]").replace('*', "0");
    let entry = |(name, rest): &(&str, &str)| format!("pattern: {name}, {rest}");
    let reads = |name: &str| {
        let read = |word: &str| word == name || word == "every pattern";
        a.read_at.split(", ").any(read) || a.path.contains("flows[]") && name == "flows"
    };
    let (one, flows) = (TOPOLOGIES[0].1, entry(&PATTERNS[0]));
    let files: Vec<Files> = if a.path.starts_with("topology.") {
        let fit = TOPOLOGIES.iter().filter(|(kind, _)| a.read_at.contains(kind));
        fit.map(|(_, topology)| scenario(topology, &flows, "scala")).collect()
    } else if a.path.starts_with("traffic[]") {
        let fit = PATTERNS.iter().filter(|(name, _)| reads(name));
        fit.map(|pattern| scenario(one, &entry(pattern), "scala")).collect()
    } else if a.path == "switch.model" {
        vec![scenario(one, &flows, "scala")]
    } else {
        SWITCHES.iter().map(|switch| scenario(one, &flows, switch)).collect()
    };
    files.into_iter().map(|files| (path.clone(), files)).collect()
}

/// A value that is not the default, if the kind has one.
fn another(a: &Attribute, default: &str) -> Option<String> {
    let of = |kind: &Kind| {
        let candidates: Vec<&str> = match kind {
            Kind::Bytes => vec!["1B", "2B"],
            Kind::Rate => vec!["1Gbps", "2Gbps"],
            Kind::Time => vec!["1ns", "2ns"],
            Kind::Count | Kind::Int => vec!["1", "2"],
            Kind::Number => vec!["0.5", "0.25"],
            Kind::Bool => vec!["true", "false"],
            Kind::Enum(words) => words.to_vec(),
            _ => vec![],
        };
        candidates.into_iter().find(|value| *value != default).map(str::to_owned)
    };
    match a.kind {
        Kind::Eight(kind) => of(kind).map(|value| format!("[{}]", [value.as_str(); 8].join(", "))),
        Kind::List(kind) => of(kind).map(|value| format!("[{value}]")),
        ref kind => of(kind),
    }
}

/// What has to be there besides a key.
fn besides(path: &str) -> Vec<String> {
    let hold = path.strip_suffix("hold.from").map(|start| format!("{start}hold.classes=[0]"));
    hold.into_iter().collect()
}

fn set(path: &str, value: &str) -> Overrides {
    let mut set = besides(path);
    set.push(format!("{path}={value}"));
    Overrides { set, ..Overrides::default() }
}

fn axis(path: &str, values: &[&str]) -> Overrides {
    let axis = vec![format!("{path}=[{}]", values.join(", "))];
    Overrides { set: besides(path), axis, ..Overrides::default() }
}

#[test]
fn every_attribute_may_be_set_to_its_default_and_nothing_changes() {
    let mut wrong = String::new();
    let mut seen = 0;
    for a in attributes::all() {
        let Some(default) = a.default else { continue };
        // The planner fills it in, whatever is there.
        if a.path == "traffic[].blake3" {
            continue;
        }
        let homes = homes(a);
        assert!(!homes.is_empty(), "{}: no scenario has it", a.path);
        for (path, files) in homes {
            let alone = Overrides { set: besides(&path), ..Overrides::default() };
            let alone = ids(&files.plan(&alone).expect("a scenario"));
            let other = another(a, default).unwrap_or_else(|| default.to_owned());
            // What is recorded is no part of a job, and no axis.
            let recorded = path.starts_with("record.") || a.name() == "BufferStatsReportInterval";
            let ways = [
                ("set", set(&path, default)),
                ("alone on an axis", axis(&path, &[default])),
                ("first on an axis", axis(&path, &[default, &other])),
                ("last on an axis", axis(&path, &[&other, default])),
            ];
            for (way, overrides) in ways.into_iter().take(if recorded { 1 } else { 4 }) {
                seen += 1;
                // What cannot be simulated in this scenario is a point all the same.
                let plan: Plan = match files.plan(&overrides) {
                    Ok(plan) => plan,
                    Err(error) => {
                        let _ = writeln!(wrong, "{path} {way}: {error}");
                        continue;
                    }
                };
                agree(&plan);
                if !ids(&plan).contains(&alone[0]) {
                    let _ = writeln!(wrong, "{path} {way}: another job");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(seen > 1_000, "{seen}");
}

#[test]
fn blocks_may_be_empty_and_their_defaults_have_names() {
    let plan = |more: &str| {
        Files::new(&[("s.yaml", &format!("{BASE}{more}"))])
            .plan(&Overrides::default())
            .unwrap_or_else(|error| panic!("{more}: {error}"))
    };
    let alone = ids(&plan(""));
    for block in ["HPCC", "Ns3Datacenter", "EcnMaps", "tiers", "EcnHandler"] {
        assert_eq!(ids(&plan(&format!("  switch: {{{block}: {{}}}}"))), alone, "{block}");
    }
    for more in ["  switch: {tiers: {spine: {EcnHandler: {}}}}", "  stop_on_deadlock: false"] {
        agree(&plan(more));
    }
    // Expressions may name what the file does not say, and lists be changed in one place.
    let plan = plan(
        "  switch: {model: ns3-datacenter}\naxes: {\"LosslessQueues[2]\": [0, 1]}\nderived: \
         {let.factor: switch.HPCC.HeadroomFactor * 2, XoffTotal: Ns3Datacenter.Xon * 2}",
    );
    agree(&plan);
    assert_eq!(super::floats(&plan, "let.factor"), [6.0, 6.0]);
    let queues = |job: usize| plan.scenario(job).unwrap().switch.datacenter.lossless_queues;
    assert_eq!(queues(0), [0, 1, 0, 1, 1, 1, 1, 1]);
    assert_eq!(queues(1), [0, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(plan.scenario(1).unwrap().switch.datacenter.xoff_total.map(|b| b.0), Some(2_496));
}
