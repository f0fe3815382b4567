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

/// Traffic of a role under the UET policy, lossy unless `settings` say otherwise.
fn uet(traffic: Value, settings: Value) -> Value {
    let mut over = buffer(json!({"UETPolicyEnabled": true, "EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0]}));
    merge(&mut over, buffer(settings));
    merge(&mut over, sending(traffic));
    over
}

fn incast(more: Value) -> Value {
    let mut entry = json!({"pattern": "incast", "senders": 3, "bytes": 100_000});
    merge(&mut entry, more);
    entry
}

#[test]
fn roles_without_the_policy_are_mentioned_once_an_entry() {
    warned(
        sending(incast(json!({"dscp": 8, "role": "trimmable-retransmit"}))),
        &["traffic[0].role = trimmable-retransmit: has no effect without UETPolicyEnabled = true"],
    );
    let flow = |role: Value| json!({"src": 0, "dst": 1, "bytes": 9, "dscp": 8, "role": role});
    warned(
        sending(json!({"pattern": "flows", "flows":
            [flow(Value::Null), flow(json!("control")), flow(json!("trimmed"))]})),
        &["traffic[0].flows[1].role = control: has no effect without UETPolicyEnabled = true"],
    );
    warned(uet(incast(json!({"role": "trimmable"})), json!({})), &[]);
}

#[test]
fn what_the_uet_policy_does_not_read_is_mentioned() {
    warned(
        uet(
            incast(json!({"dscp": 40})),
            json!({
                "PoolAllocationMap": [0.2, 0, 0, 0, 0, 0, 0, 0],
                "TrafficClassPoolMapping": [0, 0, 0, 0, 0, 0, 0, 5],
                "LossyAlpha": 0.5,
            }),
        ),
        &[
            "switch.SharedBufferManager.PoolAllocationMap = [0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, \
             0.0]: not read with UETPolicyEnabled = true: its pools are 1.5 : 1 : 1",
            "switch.SharedBufferManager.TrafficClassPoolMapping = [0, 0, 0, 0, 0, 0, 0, 5]: not \
             read with UETPolicyEnabled = true: class n uses pool n",
            "switch.SharedBufferManager.LossyAlpha = 0.5: not read with UETPolicyEnabled = true: \
             its egress limits are fixed",
            "traffic[0].dscp = 40: not read with UETPolicyEnabled = true: the role decides the \
             class",
        ],
    );
    warned(
        uet(
            json!({"pattern": "flows", "flows": [
                {"src": 0, "dst": 1, "bytes": 9, "dscp": 0},
                {"src": 0, "dst": 1, "bytes": 9, "dscp": 1},
                {"src": 0, "dst": 1, "bytes": 9, "dscp": 2}]}),
            json!({}),
        ),
        &["traffic[0].flows[1].dscp = 1: not read with UETPolicyEnabled = true: the role decides \
           the class"],
    );
}

#[test]
fn caps_of_the_uet_policy_name_what_they_come_from() {
    let caps = |over: Value| {
        let mut over = over;
        merge(&mut over, json!({"topology": {"hosts": 128}}));
        lines(&report(over).warnings)
    };
    // Data is lossless here: it has no cap. Pools 1 and 2 hold 63.8 MB each.
    let found = caps(uet(incast(json!({})), json!({"EnablePFC": [1, 0, 0, 0, 0, 0, 0, 0]})));
    assert_eq!(
        found,
        [
            "switch.SharedBufferManager.QueueDropThreshold = 1,500,000 B: 128 ports may each fill \
             this cap: 192,000,000 B, 301 % of pool 1 = 63,780,571 B; the pool holds 42 full caps \
             and binds first",
            "switch.SharedBufferManager.QueueDropThreshold = 1,500,000 B: 128 ports may each fill \
             this cap: 192,000,000 B, 301 % of pool 2 = 63,780,572 B; the pool holds 42 full caps \
             and binds first",
        ]
    );
    let mut trimming = uet(incast(json!({})), json!({"PlaneBDP": 500_000}));
    merge(&mut trimming, json!({"switch": {"PacketTrimmer": {"TrimmingEnabled": true}}}));
    let found = caps(trimming);
    assert_eq!(found.len(), 2, "64 MB fit pool 0 only: {found:?}");
    assert!(found[0].starts_with("switch.SharedBufferManager.PlaneBDP = 500,000 B: 128 ports"));
}

#[test]
fn a_lossless_class_of_the_uet_policy_is_sized_by_its_own_pool() {
    warned(
        uet(
            incast(json!({})),
            json!({"EnablePFC": [1, 0, 0, 0, 0, 0, 0, 0], "TotalSharedBufferSize": 7_000_000,
                "PlaneBDP": 10_000}),
        ),
        &["switch.SharedBufferManager.TotalSharedBufferSize = 2,561,142 B: pool 0 of a switch \
             holds the pause points of 3 of its 4 ports; class 0 needs 2,816,000 B to lose \
             nothing, or StaticPoolXoffThreshold at most 636,285 B"],
    );
}
