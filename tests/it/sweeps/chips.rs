//! Real chips by their totals: the presets, and the sweep over them.

use super::{Answer, PACKET, answers, folder, plan, run, simulated};
use poolsweep::scenario::Table;
use poolsweep::units::Bytes;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Public totals of the shared buffers, bytes.
const TOTALS: [(&str, u64); 13] = [
    ("spectrum-1", 13_945_824),
    ("spectrum-2", 34_287_552),
    ("spectrum-3", 60_817_392),
    ("spectrum-4", 158_229_504),
    ("spectrum-5", 136_209_408),
    ("spectrum-6", 226_492_416),
    ("tomahawk", 15_982_720),
    ("tomahawk-2", 43_481_152),
    ("tomahawk-3", 67_117_468),
    ("tomahawk-4", 113_620_296),
    ("tomahawk-5", 167_546_528),
    ("tomahawk-6", 265_332_900),
    ("trident-2", 12_766_208),
];

/// Bytes of headroom, and what the lossless class and its Xoff get.
fn shares(a: &Answer) -> (u64, u64, u64) {
    let startup = a.startup();
    let ports = u64::from(startup.ports);
    let total = a.scenario.switch.shared_buffer_manager.total_shared_buffer_size.0;
    let headroom = ports * a.scenario.switch.shared_buffer_manager.head_room_per_port_limit.0;
    (1_000 * headroom / total, startup.pools[3].expect("pool 3").size, startup.xoff)
}

#[test]
fn every_chip_pauses_all_its_ports_without_loss_and_no_larger_xoff_does() {
    let (plan, answers) = answers("chips.yaml", &[]);
    assert_eq!(answers.len(), 39);
    answers.par_iter().for_each(|a| {
        let startup = a.startup();
        let case = format!("{} at {} B of Xoff", a.label, startup.xoff);
        let ports = u64::from(startup.ports);
        assert_eq!(a.senders(), ports - 1, "{case}");
        let sizing = a.sizing(3);
        assert!(sizing.met(), "{case}: {sizing:?}");
        let largest = sizing.largest_xoff().expect("a pool for all");
        assert_eq!(startup.xoff, largest / 1_000 * 1_000, "{case}: the largest, to 1 KB");
        assert_eq!(a.drops(), 0, "{case}");
        // Senders stand paused with their headroom in use: all of it but the two packets that the
        // guideline adds, and one that fits less on a long wire, where each takes 18 B more.
        assert!(a.seen.totals.peak_headroom >= sizing.headroom.need - 3 * PACKET, "{case}");
        let mut scenario = a.scenario.clone();
        scenario.record.tables = vec![Table::Jobs];
        let more = sizing.pool_size.have / (ports - 1);
        scenario.switch.shared_buffer_manager.static_pool_xoff_threshold = Bytes(more);
        let job = &plan.jobs[plan.points[a.point].job.expect("planned")];
        let lost = run(&scenario, job).totals.drops.iter().sum::<u64>();
        assert!(lost > 0, "{case}: {more} B lose nothing");
    });
    // Axes: 100 m, 500 m, 1 km, the only one.
    let of = |label: &str| -> Vec<(u64, u64, u64)> {
        answers.iter().filter(|a| a.label == label).map(shares).collect()
    };
    let all: BTreeMap<&str, _> = TOTALS.iter().map(|(label, _)| (*label, of(label))).collect();
    let near: Vec<u64> = all.values().map(|chip| chip[0].0).collect();
    assert_eq!((near.iter().min(), near.iter().max()), (Some(&27), Some(&61)), "per mille");
    let xoff: Vec<u64> = all.values().map(|chip| chip[0].2).collect();
    assert_eq!((xoff.iter().min(), xoff.iter().max()), (Some(&188_000), Some(&1_250_000)));
    let far = |label: &str| (all[label][2].0, all[label][2].2);
    assert_eq!(far("trident-2"), (145, 166_000));
    assert_eq!(far("tomahawk-6"), (486, 528_000));
    assert_eq!(far("spectrum-6"), (569, 376_000));
    assert!(2 * far("spectrum-6").1 < all["spectrum-6"][0].2);
}

#[test]
fn the_preset_of_a_chip_is_its_switch_at_100_m_and_runs_clean() {
    let (_, answers) = answers("chips.yaml", &[]);
    let mut found: Vec<String> = (std::fs::read_dir(folder().join("presets")).expect("presets"))
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    let mut known: Vec<String> = TOTALS.iter().map(|(name, _)| format!("{name}.yaml")).collect();
    known.push("default-128.yaml".to_owned());
    known.sort();
    assert_eq!(found, known);
    for (name, total) in TOTALS {
        let plan = plan(&format!("presets/{name}.yaml"));
        assert_eq!((plan.name.as_str(), plan.points.len()), (name, 1));
        let preset = &simulated(&plan, &[])[0];
        let near = answers.iter().find(|a| a.label == name).expect("a scenario of that name");
        assert_eq!(preset.scenario.switch, near.scenario.switch, "{name}");
        assert_eq!(preset.scenario.topology, near.scenario.topology, "{name}");
        let manager = &preset.scenario.switch.shared_buffer_manager;
        assert_eq!(manager.total_shared_buffer_size, Bytes(total), "{name}");
        assert_eq!(preset.drops(), 0, "{name}");
    }
}
