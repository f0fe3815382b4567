//! What the language means.

use super::{BASE, Files, column, floats, ints, load, plan, whole};
use crate::scenario::{Topology, Traffic};
use crate::sweep::plan::{ColumnValues, Overrides, Plan};
use crate::units::Bytes;

#[test]
fn a_file_without_axes_is_one_job() {
    let plan = plan("");
    assert_eq!((plan.points.len(), plan.jobs.len(), plan.name.as_str()), (1, 1, "s"));
    let scenario = plan.scenario(0).unwrap();
    assert_eq!(scenario.duration.0, 2_000_000_000);
    assert_eq!(scenario.switch.shared_buffer_manager.plane_bdp, Bytes(300_000));
    assert!(plan.jobs[0].infeasible.is_empty(), "{:?}", plan.jobs[0].infeasible);
}

#[test]
fn order_is_scenarios_then_axes_then_repetitions() {
    let plan = plan(
        "
axes:
  PlaneBDP: [1KB, 2KB]
  HeadRoomPerPortLimit: [3KB, 4KB]
repetitions: 2
scenarios:
  one: {}
  two: {drop-axes: [PlaneBDP], set: {LossyAlpha: 0.5}}
",
    );
    let rows: Vec<_> = (0..plan.points.len())
        .map(|i| {
            let p = &plan.points[i];
            let (a, b) = (ints(&plan, "PlaneBDP")[i], ints(&plan, "HeadRoomPerPortLimit")[i]);
            (p.scenario.clone().unwrap(), a, b, p.repetition)
        })
        .collect();
    let one = |a, b, r| ("one".to_owned(), Some(a), Some(b), r);
    let two = |b, r| ("two".to_owned(), None, Some(b), r);
    assert_eq!(
        rows,
        [
            one(1000, 3000, 0),
            one(1000, 3000, 1),
            one(1000, 4000, 0),
            one(1000, 4000, 1),
            one(2000, 3000, 0),
            one(2000, 3000, 1),
            one(2000, 4000, 0),
            one(2000, 4000, 1),
            two(3000, 0),
            two(3000, 1),
            two(4000, 0),
            two(4000, 1),
        ]
    );
    let last = plan.scenario(plan.points[11].job.unwrap()).unwrap();
    assert_eq!(last.switch.shared_buffer_manager.lossy_alpha, 0.5);
    assert_eq!(last.switch.shared_buffer_manager.plane_bdp, Bytes(300_000));
    assert_eq!(last.switch.shared_buffer_manager.head_room_per_port_limit, Bytes(4_000));
    assert_eq!(plan.jobs[plan.points[11].job.unwrap()].seeds.repetition, 1);
}

#[test]
fn spaced_axes_are_exact() {
    let plan = plan(
        "
axes:
  topology.delay: {range: {from: 100ns, to: 500ns, step: 100ns}}
  HeadRoomPerPortLimit: {linspace: {from: 1000B, to: 2000B, count: 4, round: 208B}}
",
    );
    let delays = whole(&plan, "topology.delay");
    assert_eq!(delays.len(), 20);
    assert_eq!(
        delays.iter().step_by(4).copied().collect::<Vec<_>>(),
        [100_000, 200_000, 300_000, 400_000, 500_000]
    );
    // 1000/208 = 4.8, 1333.3/208 = 6.4, 1666.7/208 = 8.01, 2000/208 = 9.6
    assert_eq!(whole(&plan, "HeadRoomPerPortLimit")[..4], [1040, 1248, 1664, 2080]);
    assert_eq!(column(&plan, "topology.delay").unit, "ps");
}

#[test]
fn open_ranges_end_before_and_numbers_do_not_accumulate_errors() {
    let one = plan("\naxes: {PlaneBDP: {range: {from: 1KB, to: 2KB, step: 300B, open: true}}}");
    assert_eq!(whole(&one, "PlaneBDP"), [1000, 1300, 1600, 1900]);
    let two = plan("\naxes: {LossyAlpha: {range: {from: 0.1, to: 0.7, step: 0.1}}}");
    assert_eq!(floats(&two, "LossyAlpha"), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]);
    let down = plan(
        "\naxes: {PlaneBDP: {range: {from: 3KB, to: 1KB, step: 1KB}}}"
            .replace("step: 1KB", "step: -1KB")
            .as_str(),
    );
    assert_eq!(whole(&down, "PlaneBDP"), [3000, 2000, 1000]);
}

#[test]
fn halves_go_up_and_ends_are_pinned() {
    let one = plan("\naxes: {PlaneBDP: {linspace: {from: 1B, to: 2B, count: 3, integer: true}}}");
    assert_eq!(whole(&one, "PlaneBDP"), [1, 2, 2]);
    let log = plan("\naxes: {LossyAlpha: {logspace: {from: 1/8, to: 8, count: 7}}}");
    assert_eq!(floats(&log, "LossyAlpha"), [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]);
    let rounded = plan("\naxes: {LossyAlpha: {logspace: {from: 1, to: 10, count: 3}}}");
    assert_eq!(floats(&rounded, "LossyAlpha"), [1.0, 3.16227766017, 10.0]);
}

#[test]
fn zips_labels_tables_and_lists() {
    let files = Files::new(&[
        (
            "s.yaml",
            &format!(
                "{BASE}
axes:
  speed:
    zip:
      topology.rate: [100Gbps, 200Gbps]
      PlaneBDP: [75KB, 150KB]
  bytes: {{values: {{small: 64KB, large: 1MB}}}}
  PoolAllocationMap:
    - [0.9, 0.1, 0, 0, 0, 0, 0, 0]
    - [1, 0, 0, 0, 0, 0, 0, 0]
  links: {{table: t/links.csv}}
"
            ),
        ),
        ("t/links.csv", "HeadRoomPerPortLimit,topology.delay\n16KB,100ns\n32KB,200ns\n"),
    ]);
    let plan = files.plan(&Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.points.len(), 16);
    assert_eq!(
        whole(&plan, "topology.rate")[..9],
        [[100_000_000_000; 8].as_slice(), &[200_000_000_000]].concat()
    );
    assert_eq!(whole(&plan, "HeadRoomPerPortLimit")[..3], [16_000, 32_000, 16_000]);
    let ColumnValues::Text(labels) = &column(&plan, "bytes.label").values else { panic!() };
    assert_eq!(labels[4].as_deref(), Some("large"));
    let ColumnValues::FloatList(lists) = &column(&plan, "PoolAllocationMap").values else {
        panic!()
    };
    assert_eq!(lists[2].as_ref().unwrap()[..2], [1.0, 0.0]);
    assert_eq!(plan.files.len(), 2);
    let sizes: Vec<(&str, usize)> = plan.axes.iter().map(|a| (a.name.as_str(), a.len)).collect();
    assert_eq!(sizes, [("speed", 2), ("bytes", 2), ("PoolAllocationMap", 2), ("links", 2)]);
    assert_eq!(plan.axes[1].values, ["small (64KB)", "large (1MB)"]);
    assert_eq!(plan.axes[0].values, ["100Gbps / 75KB", "200Gbps / 150KB"]);
    assert_eq!(plan.axes[3].values, ["16KB / 100ns", "32KB / 200ns"]);
}

#[test]
fn parts_of_the_scenario_can_be_an_axis() {
    let plan = plan(
        "
axes:
  topology:
    values:
      one: {kind: single-switch, hosts: 8}
      two: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2}
  traffic:
    values:
      many: [{pattern: incast, senders: 4, bytes: 1MB}]
      all: [{pattern: permutation, bytes: 1MB}]
derived:
  let.hosts_seen: if(topology.kind == 'leaf-spine', topology.leaves * topology.hosts_per_leaf, topology.hosts)
",
    );
    let kinds: Vec<(bool, bool)> = (0..4)
        .map(|i| {
            let s = plan.scenario(i).unwrap();
            (
                matches!(s.topology, Topology::LeafSpine { .. }),
                matches!(s.traffic[0], Traffic::Permutation(_)),
            )
        })
        .collect();
    assert_eq!(kinds, [(false, false), (false, true), (true, false), (true, true)]);
    assert_eq!(floats(&plan, "let.hosts_seen"), [8.0; 4]);
    // The JSON of a job reads back as its scenario, defaults of its own shape filled in.
    for job in 0..4 {
        let json = plan.scenario_json(job).unwrap();
        let back: crate::scenario::Scenario = serde_json::from_str(&json).unwrap();
        assert_eq!(back, plan.scenario(job).unwrap());
    }
    assert!(plan.scenario_json(3).unwrap().contains("\"links_per_spine\":1"));
}

#[test]
fn derived_values_depend_on_each_other_in_any_order() {
    let plan = plan(
        "
axes: {StaticPoolXoffThreshold: [100KB, 200KB]}
derived:
  StaticPoolXonThreshold: let.half
  let.half: floor(StaticPoolXoffThreshold * let.share)
  let.share: 0.5
",
    );
    assert_eq!(whole(&plan, "StaticPoolXonThreshold"), [50_000, 100_000]);
    let scenario = plan.scenario(1).unwrap();
    assert_eq!(scenario.switch.shared_buffer_manager.static_pool_xon_threshold, Bytes(100_000));
}

#[test]
fn one_place_of_a_list_may_be_derived_from_another() {
    let plan = plan(
        "
axes: {\"PoolAllocationMap[1]\": [0.1, 0.25]}
derived:
  PoolAllocationMap[0]: 1 - PoolAllocationMap[1] - PoolAllocationMap[2]
  PoolAllocationMap[2]: if(PoolAllocationMap[1] > 0.2, 0.05, PoolAllocationMap[7])
checks:
  - sum(PoolAllocationMap) == 1
",
    );
    assert_eq!(floats(&plan, "PoolAllocationMap[0]"), [0.9, 0.7]);
    assert_eq!(floats(&plan, "PoolAllocationMap[2]"), [0.0, 0.05]);
    let buffer = plan.scenario(1).unwrap().switch.shared_buffer_manager;
    assert_eq!(buffer.pool_allocation_map, [0.7, 0.25, 0.05, 0.0, 0.0, 0.0, 0.0, 0.0]);
    // The whole list, or a place that is not fixed, still needs itself.
    for looks in ["1 - sum(PoolAllocationMap)", "PoolAllocationMap[1 - 1]", "PoolAllocationMap[0]"]
    {
        let text = super::error(&format!("\nderived: {{\"PoolAllocationMap[0]\": \"{looks}\"}}"));
        assert!(text.contains("need each other"), "{looks}: {text}");
    }
}

#[test]
fn constraints_prune_and_are_counted() {
    let plan = plan(
        "
axes:
  senders: [1, 2, 3, 4]
repetitions: 3
constraints:
  - senders != 2
  - senders <= 3
  - senders < 100
",
    );
    let removed: Vec<u64> = plan.exclusions.iter().map(|e| e.points).collect();
    assert_eq!(removed, [3, 3, 0]);
    assert_eq!((plan.points.len(), plan.jobs.len(), plan.excluded()), (12, 6, 6));
    assert_eq!(plan.points[3].excluded_by.as_deref(), Some("senders != 2"));
    assert_eq!(plan.points[3].job, None);
    assert!(plan.warnings.contains(&"the constraint `senders < 100` removes no point".to_owned()));
}

#[test]
fn names_of_fixed_values_lists_and_places_work_in_rules() {
    let plan = plan(
        "
axes: {\"PoolAllocationMap[1]\": [0.1, 0.2]}
constraints:
  - PoolAllocationMap[0] + PoolAllocationMap[1] <= 1
  - traffic[0].bytes == 4MB and bytes / packet == 1000
  - switch.model == scala
  - topology.rate * topology.delay == 25KB
",
    );
    assert_eq!(plan.jobs.len(), 1);
    assert_eq!(floats(&plan, "PoolAllocationMap[1]"), [0.1, 0.2]);
    assert_eq!(plan.exclusions[0].points, 1);
}

#[test]
fn a_rule_a_value_breaks_makes_the_point_infeasible_not_the_file() {
    let plan = plan("\naxes: {HeadRoomPerPortLimit: [16KB, 100MB]}");
    assert_eq!((plan.jobs.len(), plan.infeasible()), (2, 1));
    assert!(plan.jobs[0].infeasible.is_empty());
    assert!(plan.jobs[1].infeasible[0].contains("HeadRoomPerPortLimit"));
}

#[test]
fn extends_merges_deeply_and_remembers_origins() {
    let files = Files::new(&[
        (
            "s.yaml",
            "extends: [lib/a.yaml]\nbase:\n  PlaneBDP: 5KB\n  topology: {hosts: 9}\naxes: {LossyAlpha: [1]}\n",
        ),
        (
            "lib/a.yaml",
            &format!(
                "extends: b.yaml\nx-note: kept out{BASE}axes: {{LossyAlpha: [2, 3], dscp: [0, 8]}}\n"
            ),
        ),
        (
            "lib/b.yaml",
            "base:\n  switch: {SharedBufferManager: {PlaneBDP: 1KB, QueueDropThreshold: 7}}\n",
        ),
    ]);
    let overrides = Overrides { set: vec!["QueueDropThreshold=8".into()], ..Overrides::default() };
    let plan = files.plan(&overrides).unwrap_or_else(|e| panic!("{e}"));
    let scenario = plan.scenario(0).unwrap();
    assert_eq!(scenario.topology.hosts(), 9);
    let buffer = &scenario.switch.shared_buffer_manager;
    assert_eq!((buffer.plane_bdp, buffer.queue_drop_threshold), (Bytes(5_000), 8));
    assert_eq!(floats(&plan, "LossyAlpha"), [1.0, 1.0]);
    let told = plan.explain("PlaneBDP").unwrap();
    let places: Vec<String> = told
        .layers
        .iter()
        .map(|o| format!("{} {}", o.place.rsplit('/').next().unwrap(), o.value))
        .collect();
    assert_eq!(places, ["b.yaml:2 1KB", "s.yaml:3 5KB"]);
    let told = plan.explain("QueueDropThreshold").unwrap().to_string();
    assert!(told.contains("--set QueueDropThreshold: 8  <- in force"), "{told}");
    let told = plan.explain("LossyAlpha").unwrap().to_string();
    assert!(told.contains("axis LossyAlpha (1 values): 1  <- in force"), "{told}");
}

#[test]
fn another_kind_of_topology_replaces_the_whole() {
    let files = Files::new(&[
        (
            "s.yaml",
            "extends: a.yaml\nbase: {topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 3, spines: 1}}\n",
        ),
        ("a.yaml", BASE),
    ]);
    let plan = files.plan(&Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.scenario(0).unwrap().topology.hosts(), 6);
}

#[test]
fn the_command_line_is_the_last_layer() {
    let files = Files::new(&[(
        "s.yaml",
        &format!(
            "{BASE}axes: {{PlaneBDP: [1KB, 2KB], senders: [1, 2]}}\nderived: {{StaticPoolXonThreshold: 1KB}}\n"
        ),
    )]);
    let overrides = Overrides {
        set: vec!["PlaneBDP=7KB".into(), "seed=9".into(), "StaticPoolXonThreshold=3KB".into()],
        axis: vec![
            "senders=1,2,3".into(),
            "LossyAlpha={linspace: {from: 0, to: 1, count: 3}}".into(),
        ],
        yes: false,
    };
    let plan = files.plan(&overrides).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((plan.points.len(), plan.seed), (9, 9));
    assert_eq!(whole(&plan, "senders"), [1, 1, 1, 2, 2, 2, 3, 3, 3]);
    let buffer = plan.scenario(0).unwrap().switch.shared_buffer_manager;
    assert_eq!(buffer.plane_bdp, Bytes(7_000));
    assert_eq!(buffer.static_pool_xon_threshold, Bytes(3_000));
    assert!(plan.warnings.iter().any(|w| w.contains("--set PlaneBDP replaces the axis")));
}

#[test]
fn seeds_can_be_listed() {
    let plan = plan("\nseeds: [5, 6]");
    let seeds: Vec<(u64, u64)> =
        plan.jobs.iter().map(|j| (j.seeds.sweep, j.seeds.repetition)).collect();
    assert_eq!(seeds, [(5, 0), (6, 0)]);
    assert_eq!(plan.points[1].repetition, 1);
}

#[test]
fn points_draw_their_own_numbers_if_asked() {
    let shared = plan("\naxes: {PlaneBDP: [1KB, 2KB]}");
    assert!(shared.jobs.iter().all(|j| j.seeds.point.is_none()));
    let own = plan("\naxes: {PlaneBDP: [1KB, 2KB], seed_streams: [per-point]}");
    assert!(own.jobs[0].seeds.point.is_some());
    assert_ne!(own.jobs[0].seeds.point, own.jobs[1].seeds.point);
}

#[test]
fn traces_are_known_by_what_is_in_them() {
    let text = "
base:
  duration: 1ms
  topology: {kind: single-switch, hosts: 4}
  traffic: [{pattern: trace, file: flows.csv}]
";
    let trace = "src,dst,bytes,start_ns,dscp\n0,1,1000,0,0\n";
    let plan_of = |folder: &str, trace: &str| {
        let files = Files::new(&[
            (&format!("{folder}/s.yaml"), text),
            (&format!("{folder}/flows.csv"), trace),
        ]);
        let plan = files.plan(&Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
        let Traffic::Trace(t) = plan.scenario(0).unwrap().traffic.remove(0) else { panic!() };
        assert!(t.file.ends_with("flows.csv") && t.file.contains(folder));
        (plan.jobs[0].id, t.blake3)
    };
    let (first, hash) = plan_of("a", trace);
    assert_eq!(hash, blake3::hash(trace.as_bytes()).to_hex().to_string());
    assert_eq!(plan_of("b", trace).0, first);
    assert_ne!(plan_of("a", &trace.replace("1000", "1001")).0, first);
}

#[test]
fn an_axis_over_trace_files_hashes_each() {
    let files = Files::new(&[
        (
            "s.yaml",
            "
base: {duration: 1ms, topology: {kind: single-switch, hosts: 4}, traffic: [{pattern: trace}]}
axes: {file: [a.csv, b.csv, c.csv]}
",
        ),
        ("a.csv", "src,dst,bytes,start_ns,dscp\n0,1,1000,0,0\n"),
        ("b.csv", "src,dst,bytes,start_ns,dscp\n0,1,2000,0,0\n"),
        ("c.csv", "src,dst,bytes,start_ns,dscp\n0,1,1000,0,0\n"),
    ]);
    let plan = files.plan(&Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.points.iter().map(|p| p.job).collect::<Vec<_>>(), [Some(0), Some(1), Some(0)]);
    assert_eq!(plan.columns.len(), 1);
}

#[test]
fn a_trace_is_checked_before_anything_runs() {
    let sweep = "
base:
  duration: 1ms
  topology: {kind: single-switch, hosts: 4}
  traffic: [{pattern: trace, file: flows.csv, dscp: 24}]
axes:
  topology.hosts: [3, 4]
  TrafficClassPoolMapping: [[0, 1, 0, 0, 0, 0, 0, 0], [0, 1, 3, 3, 0, 0, 0, 0]]
";
    let files = |flows: &str| {
        Files::new(&[
            ("s.yaml", sweep),
            ("flows.csv", &format!("src,dst,bytes,start_ns,dscp\n{flows}")),
        ])
    };
    let plan = files("0,1,1000,0,0\n1,3,1000,0,\n").plan(&Overrides::default()).unwrap();
    let far = "flow 1 (from 0) has dst 3, but there are only hosts 0 to 2";
    let poolless = "flow 1 (from 0) is of class 3, but its pool 3 does not exist: its share in \
                    PoolAllocationMap is 0";
    let rules: Vec<Vec<&str>> = plan
        .jobs
        .iter()
        .map(|job| job.infeasible.iter().filter_map(|f| Some(f.split_once("csv: ")?.1)).collect())
        .collect();
    assert_eq!(rules, [vec![far], vec![far, poolless], vec![], vec![poolless]]);

    let broken = files("0,1,1000,0,0\n1,2,-5,0,0\n");
    let text = broken.plan(&Overrides::default()).unwrap_err().to_string();
    assert!(text.contains("s.yaml:5:36: traffic[0].file: "), "{text}");
    assert!(text.contains("flows.csv:3: `bytes` is `-5`"), "{text}");
}

#[test]
fn every_entry_of_traffic_can_be_meant() {
    let plan = load(
        "
base:
  duration: 1ms
  topology: {kind: single-switch, hosts: 4}
  traffic:
    - {pattern: permutation, bytes: 1MB}
    - {pattern: uniform, load: 0.5, bytes: 1KB}
axes:
  traffic[].packet: [1000B, 2000B]
  load: [0.1, 0.2]
",
    )
    .unwrap_or_else(|e| panic!("{e}"));
    let scenario = plan.scenario(3).unwrap();
    let (Traffic::Permutation(a), Traffic::Uniform(b)) =
        (&scenario.traffic[0], &scenario.traffic[1])
    else {
        panic!()
    };
    assert_eq!((a.common.packet, b.common.packet, b.load), (Bytes(2_000), Bytes(2_000), 0.2));
}

#[test]
fn doubtful_units_are_pointed_out() {
    let plan = plan("\naxes: {HeadRoomPerPortLimit: [1024KB, 64KB]}");
    assert!(
        plan.warnings.contains(
            &"HeadRoomPerPortLimit: 1024KB is 1024000 B; for powers of two write 1024KiB"
                .to_owned()
        ),
        "{:?}",
        plan.warnings
    );
}

#[test]
fn a_plan_says_what_it_is_in_json() {
    let plan = plan("\naxes: {senders: [1, 2]}\nseed: 4\nconstraints: [senders < 2]");
    let json = plan.to_json();
    assert_eq!(json["points"], 2);
    assert_eq!(json["jobs"], 1);
    assert_eq!(json["seed"], 4);
    assert_eq!(json["axes"][0]["size"], 2);
    assert_eq!(json["exclusions"][0]["points"], 1);
    let files: &[crate::sweep::plan::SourceFile] = &plan.files;
    assert_eq!(
        json["frozen"]["files"][0]["blake3"],
        blake3::hash(&files[0].bytes).to_hex().as_str()
    );
}

#[test]
fn a_plan_crosses_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Plan>();
}
