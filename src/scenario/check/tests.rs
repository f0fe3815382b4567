//! Each rule by a scenario that breaks it and no other.

use super::*;
use proptest::prelude::*;
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

/// The same with settings of the shared buffer.
fn buffer(settings: Value) -> Value {
    json!({"switch": {"SharedBufferManager": settings}})
}

fn traffic(entry: Value) -> Value {
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
    refused(
        json!({"timing": "whole-ns"}),
        &["timing = whole-ns: not supported by this version; use picoseconds"],
    );
    refused(json!({"budget": {"events": 0}}), &["budget.events = 0: must be 1 or more"]);
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
fn what_is_not_built_yet_is_refused() {
    refused(
        buffer(json!({"UETPolicyEnabled": true})),
        &["switch.SharedBufferManager.UETPolicyEnabled = true: not supported by this version; \
           set it to false"],
    );
    refused(
        json!({"switch": {"LoadBalancingMethod": "flowlet"}}),
        &["switch.LoadBalancingMethod = flowlet: not supported by this version; use none"],
    );
    for model in ["fixed-window", "uet", "roce"] {
        refused(
            json!({"nic": {"model": model}}),
            &[&format!("nic.model = {model}: not supported by this version; use open-loop")],
        );
    }
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
    let roce = report(json!({"nic": {"model": "roce"},
        "switch": {"SharedBufferManager": {"UETPolicyEnabled": true}}}));
    assert!(lines(&roce.refusals)[1].contains("does not send the codepoints"), "{roce:?}");
    refused(
        json!({"switch": {"LoadBalancingFlowlet": {"Gap": 2_000_000_000_001u64}}}),
        &["switch.LoadBalancingFlowlet.Gap = 2.000000000001s: must be 0s to 2s"],
    );
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
fn every_pattern_keeps_the_common_ranges() {
    let entry = |settings: Value| {
        let mut entry = json!({"pattern": "permutation", "bytes": 4000, "dscp": 8});
        merge(&mut entry, settings);
        traffic(entry)
    };
    for packet in [0, 65_536] {
        assert_eq!(report(entry(json!({"packet": packet}))).refusals.len(), 1);
    }
    warned(entry(json!({"packet": 65_535})), &[]);
    refused(
        entry(json!({"packet": 0})),
        &["traffic[0].packet = 0B: an IP packet has 1B to 65535B"],
    );
    refused(
        entry(json!({"dscp": 64})),
        &["traffic[0].dscp = 64: a code point is 0 to 63 (class × 8)"],
    );
    refused(
        entry(json!({"rate": 0})),
        &["traffic[0].rate = 0bps: a rate cap is 1kbps to 100Tbps; leave it out for none"],
    );
    refused(
        entry(json!({"jitter": MAX_TIME + 1})),
        &["traffic[0].jitter = 1000000.000000000001s: must be at most 1000000s"],
    );
    refused(
        entry(json!({"bytes": 0})),
        &["traffic[0].bytes = 0B: a flow has 1B to 9223372036854775807B"],
    );
    warned(
        entry(json!({"start": 1_000_000_000u64})),
        &["traffic[0].start = 1ms: not before duration = 1ms: nothing of it is sent"],
    );
    warned(json!({"traffic": []}), &["traffic = []: nothing is sent"]);
}

#[test]
fn senders_and_receivers_are_hosts() {
    for pattern in ["incast", "on-off"] {
        let entry = |settings: Value| {
            let mut entry = json!({"pattern": pattern, "bytes": 4000, "on": 1_000_000, "off": 0,
                "dscp": 8, "senders": 3});
            merge(&mut entry, settings);
            traffic(entry)
        };
        warned(entry(json!({})), &[]);
        refused(
            entry(json!({"receiver": 4})),
            &["traffic[0].receiver = 4: there are only hosts 0 to 3"],
        );
        for senders in [0, 4] {
            refused(
                entry(json!({"senders": senders})),
                &[&format!("traffic[0].senders = {senders}: must be 1 to 3, the other hosts")],
            );
        }
    }
}

#[test]
fn rings_take_steps_that_end() {
    let ring = |settings: Value| {
        let mut entry = json!({"pattern": "ring", "bytes": 4000, "dscp": 8});
        merge(&mut entry, settings);
        traffic(entry)
    };
    warned(ring(json!({"step_time": 1})), &[]);
    refused(
        ring(json!({"step_time": 0})),
        &["traffic[0].step_time = 0s: must be above 0s; leave it out for a step's wire time"],
    );
    refused(
        ring(json!({"step_time": MAX_TIME, "steps": "all-reduce"})),
        &["traffic[0].step_time = 1000000s: 6 steps must take at most 1000000s"],
    );
}

#[test]
fn uniform_load_has_one_kind_of_size() {
    let uniform = |settings: Value| {
        let mut entry = json!({"pattern": "uniform", "load": 0.5, "dscp": 8});
        merge(&mut entry, settings);
        traffic(entry)
    };
    warned(uniform(json!({"bytes": 4000})), &[]);
    warned(uniform(json!({"sizes": "hadoop"})), &[]);
    refused(uniform(json!({})), &["traffic[0].bytes = nothing: give either bytes or sizes"]);
    refused(
        uniform(json!({"bytes": 4000, "sizes": "hadoop"})),
        &["traffic[0].bytes = 4KB: give either bytes or sizes, not both"],
    );
    refused(
        uniform(json!({"bytes": 4000, "load": 0})),
        &["traffic[0].load = 0: must be above 0 and at most 100; 1 is the whole link rate"],
    );
    warned(
        uniform(json!({"bytes": 4000, "load": 1.5})),
        &["traffic[0].load = 1.5: above 1: the hosts offer more than their links carry"],
    );
    refused(
        uniform(json!({"bytes": 4000, "length": 0})),
        &["traffic[0].length = 0s: must be above 0s; leave it out for the duration"],
    );
    refused(
        uniform(json!({"bytes": 982, "length": 1_000_000_000_000_000u64})),
        &["traffic[0].load = 0.5: makes about 100000000000 flows in 1000s; at most 10000000000"],
    );
}

#[test]
fn bursts_have_room_for_a_packet() {
    let on_off = |settings: Value| {
        let mut entry = json!({"pattern": "on-off", "senders": 1, "on": 380, "off": 0, "dscp": 8});
        merge(&mut entry, settings);
        traffic(entry)
    };
    // 19 bytes on the wire take 380 ps at 400 Gbps.
    warned(on_off(json!({})), &[]);
    refused(
        on_off(json!({"on": 379})),
        &["traffic[0].on = 379ps: a burst this short at 400Gbps has no room for a 1B packet"],
    );
    warned(on_off(json!({"on": 379, "burst": "exponential"})), &[]);
    refused(
        on_off(json!({"on": 0})),
        &["traffic[0].on = 0s: must be above 0s and at most 1000000s"],
    );
    let many = report(on_off(json!({"length": MAX_TIME})));
    assert!(many.refusals[0].rule.contains("flows in 1000000s"), "{many:?}");
}

#[test]
fn listed_flows_are_checked_one_by_one() {
    let flow = |settings: Value| {
        let mut flow = json!({"src": 1, "dst": 0, "bytes": 4000});
        merge(&mut flow, settings);
        let good = json!({"src": 2, "dst": 0, "bytes": 1});
        traffic(json!({"pattern": "flows", "dscp": 8, "flows": [good, flow]}))
    };
    warned(flow(json!({})), &[]);
    refused(flow(json!({"src": 4})), &["traffic[0].flows[1].src = 4: there are only hosts 0 to 3"]);
    refused(
        flow(json!({"dst": 1})),
        &["traffic[0].flows[1].dst = 1: a host cannot send to itself"],
    );
    refused(
        flow(json!({"bytes": 0})),
        &["traffic[0].flows[1].bytes = 0B: a flow has 1B to 9223372036854775807B"],
    );
    refused(
        flow(json!({"packet": 0})),
        &["traffic[0].flows[1].packet = 0B: an IP packet has 1B to 65535B"],
    );
    refused(
        flow(json!({"dscp": 70})),
        &["traffic[0].flows[1].dscp = 70: a code point is 0 to 63 (class × 8)"],
    );
    refused(
        flow(json!({"rate": 1})),
        &["traffic[0].flows[1].rate = 1bps: a rate cap is 1kbps to 100Tbps; leave it out for none"],
    );
    refused(
        flow(json!({"start": MAX_TIME + 1})),
        &["traffic[0].flows[1].start = 1000000.000000000001s: must be at most 1000000s"],
    );
    let none = traffic(json!({"pattern": "flows", "flows": []}));
    warned(none, &["traffic[0].flows = []: nothing of it is sent"]);
}

#[test]
fn a_broken_list_does_not_flood_the_report() {
    let flows: Vec<Value> =
        (0..1_000).map(|i| json!({"src": 1, "dst": 1, "bytes": 1000 + i})).collect();
    let found = report(traffic(json!({"pattern": "flows", "dscp": 8, "flows": flows})));
    assert_eq!(found.refusals.len(), MAX_FINDINGS);
}

#[test]
fn a_trace_names_a_file() {
    let trace =
        |file: &str, hash: &str| traffic(json!({"pattern": "trace", "file": file, "blake3": hash}));
    warned(trace("f.csv", &"0a".repeat(32)), &[]);
    refused(trace("", ""), &["traffic[0].file = \"\": must name a CSV or Parquet file"]);
    refused(
        trace("f.csv", "xyz"),
        &["traffic[0].blake3 = xyz: must be 64 hex digits; leave it out"],
    );
}

#[test]
fn shares_that_do_not_sum_to_1_are_mentioned() {
    warned(
        buffer(json!({"PoolAllocationMap": [0.5, 0.4, 0, 0, 0, 0, 0, 0]})),
        &["switch.SharedBufferManager.PoolAllocationMap = [0.5, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0, \
           0.0]: sums to 0.9, not 1; the last pool takes up the difference"],
    );
    let close = [0.9, 0.1 + 1e-10, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    warned(buffer(json!({"PoolAllocationMap": close})), &[]);
}

#[test]
fn two_lossless_pools_overcommit_headroom() {
    warned(
        buffer(json!({"EnablePFC": [1, 1, 0, 0, 0, 0, 0, 0]})),
        &["switch.SharedBufferManager.HeadRoomPerPortLimit = 256KB: overcommitted: reserved once \
           a port, but each of the 2 lossless pools may use all of it"],
    );
}

#[test]
fn the_band_between_xon_and_xoff_is_judged() {
    let xon = |xon: u64| buffer(json!({"StaticPoolXonThreshold": xon}));
    warned(xon(695_999), &[]);
    warned(
        xon(696_000),
        &[
            "switch.SharedBufferManager.StaticPoolXonThreshold = 696KB: only 4,000 B below Xoff, at \
           most one packet of 4,000 B: pause and resume will alternate",
        ],
    );
    warned(
        xon(700_000),
        &["switch.SharedBufferManager.StaticPoolXonThreshold = 700KB: not below \
           StaticPoolXoffThreshold = 700,000 B: a port resumes as soon as its headroom is empty"],
    );
}

#[test]
fn fixed_caps_beyond_their_pool_are_mentioned() {
    let mut over = buffer(json!({"LossyAlpha": 0, "QueueDropThresholdEnable": true}));
    merge(&mut over, json!({"topology": {"hosts": 128}}));
    let found = report(over);
    let caps: Vec<_> =
        found.warnings.iter().filter(|f| f.attribute.ends_with("QueueDropThreshold")).collect();
    assert_eq!(caps.len(), 1, "192 MB fit pool 0 = 200.9 MB: {found:?}");
    assert_eq!(
        caps[0].to_string(),
        "switch.SharedBufferManager.QueueDropThreshold = 1,500,000 B: a cap that 128 ports may fill, \
         192,000,000 B, is more than pool 1 = 22,323,200 B; the pool holds 14 full caps and binds first"
    );
}

#[test]
fn a_lossless_class_in_another_pool_is_mentioned() {
    warned(
        buffer(json!({"TrafficClassPoolMapping": [0, 0, 0, 0, 0, 0, 0, 0]})),
        &["switch.SharedBufferManager.TrafficClassPoolMapping[1] = 0: lossless class 1 uses a \
           pool of another number"],
    );
}

#[test]
fn each_sizing_condition_is_mentioned() {
    warned(buffer(json!({"HeadRoomPerPortLimit": 58_000})), &[]);
    warned(
        buffer(json!({"HeadRoomPerPortLimit": 57_999})),
        &["switch.SharedBufferManager.HeadRoomPerPortLimit = 57999B: below the guideline for \
           class 1 at a switch, 58,000 B: packets may be lost after a pause"],
    );
    let mut late = buffer(json!({"HeadRoomPerPortLimit": 58_000}));
    merge(&mut late, json!({"nic": {"PfcResponseTime": 100_000}}));
    warned(
        late,
        &["switch.SharedBufferManager.HeadRoomPerPortLimit = 58KB: with a PfcResponseTime of \
           100ns the guideline for class 1 at a switch is 63,000 B: packets may be lost after a pause"],
    );
    warned(
        json!({"topology": {"hosts": 128}}),
        &[
            "switch.SharedBufferManager.PoolAllocationMap[1] = 22,323,200 B: pool 1 of a switch holds \
           the pause points of 31 of its 128 ports; class 1 needs 90,112,000 B to lose nothing, or \
           StaticPoolXoffThreshold at most 170,400 B",
        ],
    );
}

#[test]
fn lossy_traffic_beside_lossless_is_mentioned() {
    let mut over = buffer(json!({"TrafficClassPoolMapping": [0, 1, 1, 0, 0, 0, 0, 0]}));
    merge(
        &mut over,
        json!({"traffic": [
            {"pattern": "permutation", "bytes": 4000, "dscp": 8},
            {"pattern": "permutation", "bytes": 4000, "dscp": 16},
        ]}),
    );
    warned(
        over,
        &[
            "switch.SharedBufferManager.TrafficClassPoolMapping = [0, 1, 1, 0, 0, 0, 0, 0]: pool 1 \
             holds lossy class 2 beside lossless class 1: lossy bytes count towards Xoff, and a \
             port they keep above Xon when its last lossless packet leaves stays paused for ever \
             (stuck_pauses)",
            "switch.SharedBufferManager.TrafficClassPoolMapping[1] = 1: lossless class 1 shares \
             its pool with class 2; it needs a pool to itself to lose nothing",
        ],
    );
}

#[test]
fn every_tier_is_judged() {
    let mut scenario = fine();
    scenario["topology"] = json!({"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2,
        "spines": 1, "fabric_delay": 3_000_000});
    let found = check(&serde_json::from_value(scenario).unwrap());
    let tiers: Vec<_> = found.warnings.iter().map(|f| f.rule.as_str()).collect();
    assert_eq!(
        tiers,
        [
            "below the guideline for class 1 at a leaf, 308,000 B: packets may be lost after a pause",
            "below the guideline for class 1 at a spine, 308,000 B: packets may be lost after a pause",
        ]
    );
}

#[test]
fn link_attributes_that_nobody_reads_are_mentioned() {
    warned(
        json!({"switch": {"NetworkInterface": {
            "UplinkNetworkInterface": {"DataRate": 100_000_000_000u64},
            "TransmissionMedium": {"Delay": 1000}}}}),
        &[
            "switch.NetworkInterface.UplinkNetworkInterface.DataRate = 100Gbps: not read: a \
             single switch has no up-links",
            "switch.NetworkInterface.TransmissionMedium.Delay = 1ns: not read: a single switch \
             has no up-links",
        ],
    );
}

/// Numbers near every edge, and any other.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..10u64,
        Just(46u64),
        Just(65_535u64),
        Just(u64::from(u32::MAX)),
        Just(u64::from(u32::MAX) + 1),
        Just(u64::MAX),
        any::<u64>(),
    ]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..1.0, any::<f64>()]
}

prop_compose! {
    fn arbitrary_scenario()(
        times in proptest::array::uniform8(number()),
        bytes in proptest::array::uniform8(number()),
        rates in proptest::array::uniform4(proptest::option::of(number())),
        shares in proptest::array::uniform8(float()),
        odds in proptest::array::uniform6(float()),
        pools in proptest::array::uniform8(prop_oneof![0..8i64, any::<i64>()]),
        pfc in proptest::array::uniform8(prop_oneof![0..2i64, any::<i64>()]),
        sizes in proptest::array::uniform5(any::<u32>().prop_flat_map(|wide| {
            prop_oneof![0..5u32, Just(wide)]
        })),
        single in any::<bool>(),
        dscp in number(),
        flags in proptest::array::uniform4(any::<bool>()),
    ) -> Scenario {
        use crate::scenario::*;
        use crate::units::{BitRate, Bytes, Ps};
        let rate = |i: usize| rates[i].map(BitRate);
        let topology = if single {
            Topology::SingleSwitch { hosts: sizes[0], rate: rate(0), delay: Some(Ps(times[0])) }
        } else {
            Topology::LeafSpine {
                leaves: sizes[0],
                hosts_per_leaf: sizes[1],
                spines: sizes[2],
                links_per_spine: sizes[3],
                rate: rate(0),
                delay: None,
                fabric_rate: rate(1),
                fabric_delay: Some(Ps(times[0])),
            }
        };
        let switch = Switch {
            load_balancing_method: LoadBalancingMethod::None,
            pfc_response_time: Ps(times[1]),
            shared_buffer_manager: SharedBufferManager {
                total_shared_buffer_size: Bytes(bytes[0]),
                uet_policy_enabled: flags[0],
                pool_allocation_map: shares,
                traffic_class_pool_mapping: pools,
                enable_pfc: pfc,
                head_room_per_port_limit: Bytes(bytes[1]),
                static_pool_xoff_threshold: Bytes(bytes[2]),
                static_pool_xon_threshold: Bytes(bytes[3]),
                lossy_alpha: odds[0],
                queue_drop_threshold_enable: flags[1],
                queue_drop_threshold: bytes[4],
                plane_bdp: Bytes(bytes[5]),
                buffer_stats_report_interval: Ps(times[2]),
            },
            ecn_handler: EcnHandler {
                enable_ecn: true,
                ewma_weight: odds[1],
                min_threshold: odds[2],
                max_threshold: odds[3],
                max_mark_probability: odds[4],
            },
            ..Switch::default()
        };
        let hold = Hold { classes: vec![dscp], from: Ps(times[3]), until: Some(Ps(times[4])) };
        let own = HostNic { receive_pool: Some(Bytes(bytes[6])), ..HostNic::default() };
        let nic = Nic {
            receive_rate: rate(2),
            pfc_enable_vector: pfc,
            hold: flags[2].then_some(hold),
            hosts: std::collections::BTreeMap::from([(sizes[4], own)]),
            ..Nic::default()
        };
        let common = Common {
            packet: Bytes(bytes[7]),
            dscp,
            start: Ps(times[5]),
            jitter: Ps(times[6]),
            rate: rate(3),
            ..Common::default()
        };
        let bytes = Bytes(bytes[6]);
        let entry = FlowEntry {
            src: sizes[2],
            dst: sizes[3],
            bytes,
            packet: None,
            dscp: Some(dscp),
            ect: None,
            role: None,
            start: Ps(times[5]),
            rate: rate(3),
        };
        let traffic = vec![
            Traffic::Incast(Incast {
                receiver: sizes[3],
                senders: sizes[4],
                bytes,
                common: common.clone(),
            }),
            Traffic::Ring(Ring {
                bytes,
                steps: RingSteps::AllReduce,
                step_time: Some(Ps(times[6])),
                common: common.clone(),
            }),
            Traffic::Uniform(Uniform {
                load: odds[5],
                bytes: flags[3].then_some(bytes),
                sizes: None,
                length: Some(Ps(times[6])),
                common: common.clone(),
            }),
            Traffic::OnOff(OnOff {
                receiver: 0,
                senders: sizes[4],
                on: Ps(times[6]),
                off: Ps(times[7]),
                burst: Burst::Fixed,
                length: None,
                common: common.clone(),
            }),
            Traffic::Flows(Flows { flows: vec![entry], common }),
        ];
        Scenario {
            duration: Ps(times[7]),
            until: Until::Drained,
            warm_up: Ps(times[3]),
            seed_streams: SeedStreams::default(),
            timing: Timing::default(),
            topology,
            switch,
            nic,
            traffic,
            record: Record { interval: Some(Ps(times[4])), ..Record::default() },
            budget: Budget { events: dscp },
        }
    }
}

proptest! {
    #[test]
    fn checking_never_panics(scenario in arbitrary_scenario()) {
        let report = check(&scenario);
        prop_assert!(report.refusals.len() <= MAX_FINDINGS);
        prop_assert_eq!(&refusals(&scenario), &report.refusals);
        // What the checks accept, the start-up and the network accept too.
        if report.accepted() {
            let outline = Outline::new(&scenario).unwrap();
            for kind in outline.switch_kinds() {
                prop_assert!(Startup::new(&scenario.switch, kind.ports()).is_ok());
            }
        }
    }
}
