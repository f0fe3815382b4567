//! What is mentioned.

use super::*;

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
        "switch.SharedBufferManager.QueueDropThreshold = 1,500,000 B: 128 ports may each \
         fill this cap: 192,000,000 B, 860 % of pool 1 = 22,323,200 B; the pool holds 14 full \
         caps and binds first"
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
