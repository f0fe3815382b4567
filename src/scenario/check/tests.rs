//! Each rule by a scenario that breaks it and no other.

mod arbitrary;
mod nic;
mod ns3;
mod traffic;
mod warnings;

use super::*;
use serde_json::{Value, json};

/// A scenario that nothing is to be said about.
fn fine() -> Value {
    json!({
        "duration": 1_000_000_000u64,
        "topology": {"kind": "single-switch", "hosts": 4},
        "switch": {"SharedBufferManager": {"EnablePFC": [0, 1, 0, 0, 0, 0, 0, 0]}},
        "traffic": [
            {"pattern": "incast", "senders": 3, "bytes": 100_000, "dscp": 8},
        ],
    })
}

/// Lays `over` over `onto`: objects key by key, everything else whole.
fn merge(onto: &mut Value, over: Value) {
    match (onto, over) {
        (Value::Object(onto), Value::Object(over)) => {
            for (key, value) in over {
                merge(onto.entry(key).or_insert(Value::Null), value);
            }
        }
        (onto, over) => *onto = over,
    }
}

fn report(over: Value) -> Report {
    let mut scenario = fine();
    if over.get("topology").is_some_and(|topology| topology.get("kind").is_some()) {
        scenario["topology"] = Value::Null;
    }
    merge(&mut scenario, over);
    check(&serde_json::from_value(scenario).unwrap())
}

fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(Finding::to_string).collect()
}

#[track_caller]
fn refused(over: Value, expected: &[&str]) {
    assert_eq!(lines(&report(over).refusals), expected);
}

#[track_caller]
fn warned(over: Value, expected: &[&str]) {
    let report = report(over);
    assert_eq!(lines(&report.refusals), Vec::<String>::new());
    assert_eq!(lines(&report.warnings), expected);
}

/// Settings of the shared buffer.
fn buffer(settings: Value) -> Value {
    json!({"switch": {"SharedBufferManager": settings}})
}

/// One entry of traffic in place of the usual.
fn sending(entry: Value) -> Value {
    json!({"traffic": [entry]})
}

#[test]
fn a_fine_scenario_is_accepted_in_silence() {
    warned(json!({}), &[]);
}

#[test]
fn the_run_has_its_limits() {
    refused(
        json!({"duration": 0}),
        &[
            "duration = 0s: must be above 0s and at most 1000000s",
            "warm_up = 0s: must be shorter than duration = 0s",
        ],
    );
    refused(
        json!({"warm_up": 1_000_000_000u64}),
        &["warm_up = 1ms: must be shorter than duration = 1ms"],
    );
    refused(json!({"budget": {"events": 0}}), &["budget.events = 0: must be 1 or more"]);
    refused(
        json!({"budget": {"simulated_time": 0}}),
        &["budget.simulated_time = 0s: must be above 0s"],
    );
    refused(
        json!({"warm_up": 1_000_000, "budget": {"simulated_time": 1_000_000}}),
        &["budget.simulated_time = 1us: must be longer than warm_up = 1us"],
    );
    refused(json!({"record": {"interval": 0}}), &["record.interval = 0s: must be above 0s"]);
    refused(
        buffer(json!({"BufferStatsReportInterval": 0})),
        &["switch.SharedBufferManager.BufferStatsReportInterval = 0s: must be above 0s"],
    );
    warned(
        json!({"record": {"interval": 999}}),
        &["record.interval = 999ps: a duration of 1ms makes over a million intervals a counter"],
    );
}

#[test]
fn a_topology_that_cannot_be_built_is_refused() {
    refused(
        json!({"topology": {"hosts": 70_000}}),
        &["topology.hosts = 70000: must be 2 to 65536"],
    );
    refused(
        json!({"topology": {"rate": 100_000_000_000u64},
            "nic": {"NetworkInterface": {"DataRate": 200_000_000_000u64}}}),
        &["nic.NetworkInterface.DataRate = 200Gbps: disagrees with topology.rate = 100Gbps; \
           remove one of them or make them equal"],
    );
}

#[test]
fn the_switch_keeps_bytes_in_32_bits() {
    for name in
        ["TotalSharedBufferSize", "StaticPoolXoffThreshold", "StaticPoolXonThreshold", "PlaneBDP"]
    {
        let accepted = report(buffer(json!({name: 4_294_967_295u64})));
        assert!(accepted.accepted(), "{accepted:?}");
        refused(
            buffer(json!({name: 4_294_967_296u64})),
            &[&format!("switch.SharedBufferManager.{name} = 4GiB: must be at most 4294967295B")],
        );
    }
    refused(
        buffer(json!({"QueueDropThreshold": 4_294_967_296u64})),
        &["switch.SharedBufferManager.QueueDropThreshold = 4294967296: must be at most 4294967295"],
    );
}

#[test]
fn marking_keeps_its_ranges() {
    for name in ["EwmaWeight", "MaxThreshold", "MaxMarkProbability"] {
        refused(
            json!({"switch": {"EcnHandler": {name: 1.5}}}),
            &[&format!("switch.EcnHandler.{name} = 1.5: must be 0 to 1")],
        );
    }
    refused(
        json!({"switch": {"EcnHandler": {"MinThreshold": -0.1}}}),
        &["switch.EcnHandler.MinThreshold = -0.1: must be 0 to 1"],
    );
    refused(
        json!({"switch": {"EcnHandler": {"MinThreshold": 0.9}}}),
        &["switch.EcnHandler.MinThreshold = 0.9: must not be above MaxThreshold = 0.8"],
    );
}

#[test]
fn pools_keep_their_form() {
    refused(
        buffer(json!({"PoolAllocationMap": [0.9, 0.1, 0, 0, -1, 0, 0, 0]})),
        &["switch.SharedBufferManager.PoolAllocationMap[4] = -1: must be a number of 0 or more"],
    );
    refused(
        buffer(json!({"PoolAllocationMap": [0, 0, 0, 0, 0, 0, 0, 0]})),
        &["switch.SharedBufferManager.PoolAllocationMap = all 0: at least one pool needs a share \
           above 0"],
    );
    refused(
        buffer(json!({"PoolAllocationMap": [1.5, 0.1, 0, 0, 0, 0, 0, 0]})),
        &["switch.SharedBufferManager.PoolAllocationMap[1] = -127,488,000 B: the size left for \
           the last pool is negative; the shares may exceed 1 by at most the last non-zero one"],
    );
    refused(
        buffer(json!({"HeadRoomPerPortLimit": 64_000_001})),
        &[
            "switch.SharedBufferManager.HeadRoomPerPortLimit = 64000001B: reserves 256,000,004 B on \
           4 connected ports, more than TotalSharedBufferSize = 256MB; lower the one or raise \
           the other",
        ],
    );
    refused(
        buffer(json!({"TrafficClassPoolMapping": [0, 1, 8, -1, 0, 0, 0, 0]})),
        &[
            "switch.SharedBufferManager.TrafficClassPoolMapping[2] = 8: must be a pool, 0 to 7",
            "switch.SharedBufferManager.TrafficClassPoolMapping[3] = -1: must be a pool, 0 to 7",
        ],
    );
    refused(
        buffer(json!({"EnablePFC": [0, 1, 2, 0, 0, 0, 0, 0]})),
        &["switch.SharedBufferManager.EnablePFC[2] = 2: must be 0 (lossy) or 1 (lossless)"],
    );
    refused(
        buffer(json!({"LossyAlpha": -0.5})),
        &["switch.SharedBufferManager.LossyAlpha = -0.5: must be a number of 0 or more; 0 \
           selects a fixed limit"],
    );
}

#[test]
fn traffic_needs_a_pool() {
    refused(
        buffer(json!({"TrafficClassPoolMapping": [0, 5, 0, 0, 0, 0, 0, 0]})),
        &["switch.SharedBufferManager.TrafficClassPoolMapping[1] = 5: traffic[0] sends class 1, \
           but pool 5 does not exist: its share in PoolAllocationMap is 0"],
    );
    warned(buffer(json!({"TrafficClassPoolMapping": [0, 1, 5, 0, 0, 0, 0, 0]})), &[]);
}

#[test]
fn rules_hold_for_every_tier_and_name_the_key_at_fault() {
    let fabric = json!({"kind": "fat-tree", "k": 4});
    refused(
        json!({"topology": fabric, "switch": {"tiers": {
            "spine": {"SharedBufferManager": {"LossyAlpha": -1.0}},
            "aggregation": {"EcnHandler": {"MinThreshold": 0.9}},
        }}}),
        &[
            "switch.tiers.aggregation.EcnHandler.MinThreshold = 0.9: must not be above \
             MaxThreshold = 0.8",
            "switch.tiers.spine.SharedBufferManager.LossyAlpha = -1: must be a number of 0 or \
             more; 0 selects a fixed limit",
        ],
    );
    // What is wrong for every switch is said once, under its own key.
    refused(
        json!({"topology": fabric, "switch": {"SharedBufferManager": {"LossyAlpha": -1.0},
            "tiers": {"leaf": {"EcnHandler": {"MinThreshold": 0.1}}}}}),
        &[
            "switch.SharedBufferManager.LossyAlpha = -1: must be a number of 0 or more; 0 selects a \
           fixed limit",
        ],
    );
    // Headroom that only the spines' four ports are too many for.
    let small = json!({"HeadRoomPerPortLimit": 64_000_001});
    let found = report(json!({"topology": fabric,
        "switch": {"tiers": {"spine": {"SharedBufferManager": small}}}}));
    let said = lines(&found.refusals);
    assert!(
        said[0].starts_with("switch.tiers.spine.SharedBufferManager.HeadRoomPerPortLimit"),
        "{said:?}"
    );
    let idle = report(json!({"switch": {"tiers": {"spine": {}}}}));
    assert!(lines(&idle.warnings)[0].starts_with("switch.tiers.spine = given: has no effect"));
}

#[test]
fn sizing_is_judged_tier_by_tier() {
    let found = report(json!({
        "topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 2},
        "switch": {"tiers": {"spine": {"SharedBufferManager": {"HeadRoomPerPortLimit": 1_000}}}},
    }));
    let said = lines(&found.warnings);
    let of_headroom: Vec<_> = said.iter().filter(|l| l.contains("below the guideline")).collect();
    assert_eq!(of_headroom.len(), 1, "{said:?}");
    let start = "switch.tiers.spine.SharedBufferManager.HeadRoomPerPortLimit = 1KB: below the";
    assert!(of_headroom[0].starts_with(start), "{said:?}");
}

#[test]
fn policies_that_exclude_each_other_are_refused() {
    let both = report(json!({"switch":
        {"LoadBalancingMethod": "flowlet", "EcmpHashMethod": "dprWithFallback"}}));
    assert!(
        lines(&both.refusals).contains(
            &"switch.EcmpHashMethod = dprWithFallback: does not go with LoadBalancingMethod = \
          flowlet; use a hash"
                .to_owned()
        )
    );
    refused(
        json!({"switch": {"PacketTrimmer": {"TrimmingEnabled": true}}}),
        &[
            "switch.PacketTrimmer.TrimmingEnabled = true: needs UETPolicyEnabled = true",
            "switch.PacketTrimmer.TrimmingEnabled = true: needs EnablePFC = 0 for every class",
        ],
    );
    refused(
        json!({"switch": {"PacketTrimmer": {"TrimmingEnabled": true},
            "SharedBufferManager": {"EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0]}}}),
        &["switch.PacketTrimmer.TrimmingEnabled = true: needs UETPolicyEnabled = true"],
    );
    refused(
        json!({"switch": {"PacketTrimmer": {"TrimmingEnabled": true}, "SharedBufferManager":
            {"UETPolicyEnabled": true, "EnablePFC": [0, 0, 0, 0, 0, 0, 0, 1]}}}),
        &["switch.PacketTrimmer.TrimmingEnabled = true: needs EnablePFC = 0 for every class"],
    );
    let roce = report(json!({"nic": {"model": "roce"},
        "switch": {"SharedBufferManager": {"UETPolicyEnabled": true}}}));
    assert!(lines(&roce.refusals)[0].contains("does not send the codepoints"), "{roce:?}");
    refused(
        json!({"switch": {"LoadBalancingFlowlet": {"Gap": 2_000_000_000_001u64}}}),
        &["switch.LoadBalancingFlowlet.Gap = 2.000000000001s: must be 0s to 2s"],
    );
}

#[test]
fn lists_that_the_uet_policy_does_not_read_are_checked_all_the_same() {
    let uet = |key: &str, value: Value| buffer(json!({"UETPolicyEnabled": true, key: value}));
    refused(
        uet("PoolAllocationMap", json!([0.5, 0.5, 0, 0, 0, 0, -0.5, 0])),
        &["switch.SharedBufferManager.PoolAllocationMap[6] = -0.5: must be a number of 0 or more"],
    );
    refused(
        uet("TrafficClassPoolMapping", json!([0, 8, 0, 0, 0, 0, 0, 0])),
        &["switch.SharedBufferManager.TrafficClassPoolMapping[1] = 8: must be a pool, 0 to 7"],
    );
    refused(
        uet("EnablePFC", json!([0, 2, 0, 0, 0, 0, 0, 0])),
        &["switch.SharedBufferManager.EnablePFC[1] = 2: must be 0 (lossy) or 1 (lossless)"],
    );
    refused(
        uet("LossyAlpha", json!(-1)),
        &["switch.SharedBufferManager.LossyAlpha = -1: must be a number of 0 or more; 0 selects \
           a fixed limit"],
    );
    // What only a stage that is not run would refuse is fine.
    assert!(report(uet("PoolAllocationMap", json!([0, 0, 0, 0, 0, 0, 0, 0]))).accepted());
    assert!(report(uet("PoolAllocationMap", json!([1, 1, 1, 0, 0, 0, 0, 0]))).accepted());
    assert!(report(uet("TrafficClassPoolMapping", json!([7, 7, 7, 7, 7, 7, 7, 7]))).accepted());
    // Code points are ranged too, though the role decides.
    let mut odd = sending(json!({"pattern": "incast", "senders": 3, "bytes": 10, "dscp": 64}));
    merge(&mut odd, buffer(json!({"UETPolicyEnabled": true})));
    refused(odd, &["traffic[0].dscp = 64: a code point is 0 to 63 (class × 8)"]);
}

#[test]
fn nics_keep_their_ranges() {
    let nic = |settings: Value| json!({"nic": settings});
    refused(
        nic(json!({"PfcResponseTime": 1_000_000_000_001u64})),
        &["nic.PfcResponseTime = 1.000000000001s: must be 0s to 1s"],
    );
    refused(
        nic(json!({"receive_rate": 0})),
        &["nic.receive_rate = 0bps: must be 1kbps to 100Tbps"],
    );
    refused(nic(json!({"receive_pool": 0})), &["nic.receive_pool = 0B: must be above 0B"]);
    refused(
        nic(json!({"receive_pool": 4_294_967_296u64})),
        &["nic.receive_pool = 4GiB: must be at most 4294967295B"],
    );
    refused(
        nic(json!({"PFCEnableVector": [0, 0, 3, 0, 0, 0, 0, 0]})),
        &["nic.PFCEnableVector[2] = 3: must be 0 or 1"],
    );
    refused(
        nic(json!({"PfcXonResumeThreshold": [0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 1.1]})),
        &["nic.PfcXonResumeThreshold[7] = 1.1: must be 0 to 1"],
    );
    refused(
        nic(json!({"QuantaValue": [0, 1, 2, 3, 4, 5, 65_535, 65_536],
            "hold": {"classes": [6]}})),
        &[
            "nic.QuantaValue[0] = 0: must be 1 to 65535: a frame with 0 resumes",
            "nic.QuantaValue[7] = 65536: must be 1 to 65535: a frame with 0 resumes",
        ],
    );
    warned(
        nic(json!({"QuantaValue": [9, 9, 9, 9, 9, 9, 9, 9]})),
        &["nic.QuantaValue = [9, 9, 9, 9, 9, 9, 9, 9]: has no effect: the NIC pauses no class of \
           PFCEnableVector or hold"],
    );
    warned(
        nic(json!({"PFCEnableVector": [0, 1, 0, 0, 0, 0, 0, 0]})),
        &["nic.PFCEnableVector = [0, 1, 0, 0, 0, 0, 0, 0]: without receive_rate the receive pool \
           never fills, so the NIC never pauses"],
    );
    warned(
        nic(json!({"receive_rate": 1_000_000, "receive_pool": 3_999})),
        &["nic.receive_pool = 3999B: holds no packet of 4000 B: those are all dropped"],
    );
}

#[test]
fn a_hold_names_free_classes_and_ends_after_it_began() {
    let hold = |hold: Value| json!({"nic": {"hold": hold}});
    warned(hold(json!({"classes": [1], "from": 5, "until": 6})), &[]);
    refused(
        hold(json!({"classes": [8, 2, 2]})),
        &["nic.hold.classes = 8: must be a class, 0 to 7", "nic.hold.classes = 2: is listed twice"],
    );
    refused(
        hold(json!({"classes": []})),
        &["nic.hold.classes = []: must name a class; leave `hold` out to hold none"],
    );
    refused(
        hold(json!({"classes": [1], "from": 5, "until": 5})),
        &["nic.hold.until = 5ps: must be after from = 5ps"],
    );
    refused(
        json!({"nic": {"hosts": {"0": {"hold": {"classes": [1]}}}, "receive_rate": 1_000_000,
            "PFCEnableVector": [0, 1, 0, 0, 0, 0, 0, 0]}}),
        &["nic.hosts.0.hold.classes = 1: is enabled in PFCEnableVector, so the NIC would resume \
           it; take it out of one"],
    );
}

#[test]
fn single_hosts_exist_and_repeat_nothing() {
    refused(
        json!({"nic": {"hosts": {"4": {"ignore_pfc": true}}}}),
        &["nic.hosts.4 = 4: there are only hosts 0 to 3"],
    );
    refused(
        json!({"nic": {"receive_pool": 0, "hosts": {"1": {"ignore_pfc": true}}}}),
        &["nic.receive_pool = 0B: must be above 0B"],
    );
    refused(
        json!({"nic": {"hosts": {"1": {"receive_pool": 0}}}}),
        &["nic.hosts.1.receive_pool = 0B: must be above 0B"],
    );
}

#[test]
fn a_duration_has_to_fit_the_keys_of_events() {
    let found = report(json!({"duration": 900_000_000_000_000_000u64})).refusals;
    let text = lines(&found).join("; ");
    assert!(text.starts_with("duration = 900000s: at most "), "{text}");
}
