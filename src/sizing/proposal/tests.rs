use super::*;
use crate::scenario::check;
use crate::sizing::replay::{incast, measure};
use crate::units::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

fn scenario(parts: Value) -> Scenario {
    let mut all = json!({
        "duration": 1_000_000_000u64,
        "topology": {"kind": "single-switch", "hosts": 128},
        "traffic": [{"pattern": "incast", "senders": 3, "bytes": 4_000_000, "dscp": 8}],
    });
    all.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
    serde_json::from_value(all).unwrap()
}

/// Lossless class 1 and lossy class 2, both of 4,000 B packets.
fn mixed(buffer: Value) -> Scenario {
    scenario(json!({
        "switch": {"SharedBufferManager": buffer},
        "traffic": [
            {"pattern": "incast", "senders": 3, "bytes": 4_000_000, "dscp": 8},
            {"pattern": "incast", "senders": 3, "bytes": 4_000_000, "dscp": 16},
        ],
    }))
}

fn one(scenario: &Scenario) -> TierSizing {
    let mut all = propose(scenario).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn fits(sizing: &TierSizing) -> (Settings, &Budget) {
    match &sizing.outcome {
        Outcome::Fits { settings, budget } => (*settings, budget),
        other => panic!("{other:?}"),
    }
}

/// Sizing warnings of a scenario: the conditions that are missed.
fn missed(scenario: &Scenario) -> Vec<String> {
    let report = check(scenario);
    assert!(report.accepted(), "{:?}", report.refusals);
    let words = ["guideline", "holds the pause points", "shares its pool", "sums to", "alternate"];
    let all = report.warnings.iter().map(ToString::to_string);
    all.filter(|text| words.iter().any(|word| text.contains(word))).collect()
}

#[test]
fn the_default_switch_keeps_its_xoff_and_gets_a_larger_pool_1() {
    let scenario = mixed(json!({}));
    assert!(!missed(&scenario).is_empty());
    let sizing = one(&scenario);
    let (settings, budget) = fits(&sizing);
    assert_eq!((settings.headroom, settings.xoff, settings.xon), (58_000, 700_000, 300_000));
    assert_eq!(settings.xoff_rule, XoffRule::AsSet);
    assert!(settings.xon_as_set);
    // 90,112,000 of 248,576,000.
    assert_eq!(settings.allocation.unwrap(), [0.63, 0.37, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(settings.mapping.unwrap(), [0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(budget.sum(), 256_000_000);
    assert_eq!((budget.short(), budget.lossy()), (0, 156_602_880));
    assert!(missed(&apply(&scenario, &[sizing])).is_empty());
}

#[test]
fn a_small_buffer_gets_the_largest_xoff_that_leaves_lossy_classes_their_share() {
    let scenario = mixed(json!({"TotalSharedBufferSize": 64_000_000,
        "PoolAllocationMap": [0.5, 0.5, 0, 0, 0, 0, 0, 0]}));
    let sizing = one(&scenario);
    let (settings, budget) = fits(&sizing);
    assert_eq!(settings.xoff_rule, XoffRule::Largest);
    // Half of 64,000,000 − 7,424,000 is 28,288,000: 221,000 a port, less a packet.
    assert_eq!((settings.xoff, settings.xon), (217_000, 108_500));
    assert!(budget.lossy() >= 28_288_000 - 1_000_000, "{budget:?}");
    assert_eq!(budget.sum(), 64_000_000);
    assert!(missed(&apply(&scenario, &[sizing])).is_empty());
}

#[test]
fn a_smaller_one_gets_the_least_xoff_that_keeps_ports_busy() {
    let scenario = mixed(json!({"TotalSharedBufferSize": 20_000_000}));
    let sizing = one(&scenario);
    let (settings, budget) = fits(&sizing);
    assert_eq!(settings.xoff_rule, XoffRule::Least);
    assert_eq!((settings.xoff, settings.xon), (58_000 + 8_000, 58_000));
    assert_eq!((budget.sum(), budget.short()), (20_000_000, 0));
    assert!(missed(&apply(&scenario, &[sizing])).is_empty());
}

#[test]
fn what_does_not_fit_is_said_to_the_byte() {
    let scenario = mixed(json!({"TotalSharedBufferSize": 16_895_999}));
    let sizing = one(&scenario);
    assert_eq!(sizing.now, None, "headroom alone is above the buffer");
    let Outcome::TooSmall { budget } = &sizing.outcome else { panic!("{:?}", sizing.outcome) };
    // 128 × (58,000 + 66,000 + 4,000 + a lossy packet of 4,000) = 16,896,000.
    assert_eq!((budget.sum(), budget.short()), (16_895_999, 1));
    assert_eq!(*budget.lines.last().unwrap(), Line::new(Part::DoesNotFit, -1));
    fits(&one(&mixed(json!({"TotalSharedBufferSize": 16_896_000}))));
}

#[test]
fn a_set_xoff_that_fits_is_kept_however_low() {
    let low = json!({"TotalSharedBufferSize": 10_000_000, "StaticPoolXoffThreshold": 8_000,
        "StaticPoolXonThreshold": 4_000});
    let sizing = one(&mixed(low));
    let (settings, _) = fits(&sizing);
    assert_eq!((settings.xoff, settings.xoff_rule), (8_000, XoffRule::AsSet));
    assert_eq!((settings.xon, settings.xon_as_set), (0, false));
}

#[test]
fn each_lossless_class_gets_its_own_pool() {
    let scenario = scenario(json!({
        "switch": {"SharedBufferManager": {"TrafficClassPoolMapping": [0, 0, 0, 0, 0, 0, 0, 0]}},
        "traffic": [
            {"pattern": "incast", "senders": 3, "bytes": 4_000_000, "dscp": 0},
            {"pattern": "incast", "senders": 3, "bytes": 4_000_000, "dscp": 8, "packet": 9_000},
            {"pattern": "incast", "senders": 3, "bytes": 4_000_000, "dscp": 56},
        ],
    }));
    let sizing = one(&scenario);
    assert_eq!((sizing.lossless, sizing.class, sizing.case.pfc_frames), (0b11, 1, 2));
    let (settings, budget) = fits(&sizing);
    // The lossy class was in pool 0, which a lossless one now has to itself.
    assert_eq!(settings.mapping.unwrap(), [0, 1, 0, 0, 0, 0, 0, 7]);
    assert_eq!(budget.sum(), 256_000_000);
    assert!(missed(&apply(&scenario, &[sizing])).is_empty());
}

#[test]
fn tiers_are_sized_apart_and_written_apart() {
    let scenario = scenario(json!({
        "topology": {"kind": "leaf-spine", "leaves": 4, "hosts_per_leaf": 8, "spines": 2,
            "fabric_delay": 2_000_000},
        "nic": {"PfcResponseTime": 100_000},
    }));
    let all = propose(&scenario).unwrap();
    assert_eq!(all.len(), 2);
    assert!(by_tier(&scenario, &all));
    // Both have a link of 2 us: 200,000 in flight, two packets, 100 ns of response.
    assert_eq!(all[0].guideline, 213_000);
    assert_eq!(all[1].guideline, 213_000);
    let proposed = apply(&scenario, &all);
    assert_eq!(proposed.switch.tiers.len(), 2);
    assert!(missed(&proposed).is_empty(), "{:?}", missed(&proposed));
}

#[test]
fn the_uet_policy_keeps_its_pools() {
    let of = |total: u64| {
        scenario(json!({"switch": {"SharedBufferManager":
            {"UETPolicyEnabled": true, "TotalSharedBufferSize": total}}}))
    };
    let sizing = one(&of(64_000_000));
    let (settings, budget) = fits(&sizing);
    assert_eq!((settings.allocation, settings.mapping), (None, None));
    assert_eq!(settings.xoff_rule, XoffRule::Largest);
    // Three sevenths of 56,576,000 hold 189,000 a port.
    assert_eq!(settings.xoff, 185_000);
    assert_eq!(budget.sum(), 64_000_000);
    let sizing = one(&of(20_000_000));
    let Outcome::TooSmall { budget } = &sizing.outcome else { panic!("{:?}", sizing.outcome) };
    assert_eq!(budget.sum(), 20_000_000);
    // As much more is enough, and a byte less is not.
    let short = budget.short();
    fits(&one(&of(20_000_000 + short)));
}

#[test]
fn what_cannot_be_sized_says_why() {
    let lossy = scenario(json!({"traffic":
        [{"pattern": "incast", "senders": 3, "bytes": 4_000_000, "dscp": 16}]}));
    assert_eq!(one(&lossy).outcome, Outcome::NothingLossless);
    let deaf = scenario(json!({"nic": {"hosts": {"3": {"ignore_pfc": true}}}}));
    let Outcome::Unstoppable(why) = one(&deaf).outcome else { panic!() };
    assert!(why.contains("nic.hosts.3.ignore_pfc = true"), "{why}");
    let slow = scenario(json!({"nic": {"PfcResponseTime": 50_000_000}}));
    assert!(matches!(one(&slow).outcome, Outcome::Unstoppable(_)));
    let other = scenario(json!({"switch": {"model": "hpcc"}}));
    let expected = Outcome::OtherModel { model: SwitchModel::Hpcc, headroom: 75_000 };
    assert_eq!(one(&other).outcome, expected);
    let nothing = scenario(json!({"topology": {"kind": "single-switch", "hosts": 1}}));
    assert!(propose(&nothing).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// Whatever the buffer, what is proposed is lossless with every port at once, held and
    /// draining, and every account sums to the buffer.
    #[test]
    fn proposals_are_lossless(
        total in 1_000_000u64..200_000_000,
        hosts in 2u32..40,
        gbps in prop::sample::select(vec![25u64, 100, 400, 800]),
        delay in 0u64..3_000_000,
        response in prop_oneof![Just(0u64), 0u64..1_000_000],
        packet in 256u64..9_216,
        lossy in any::<bool>(),
        share in 0.0f64..1.0,
        xoff in 5_000u64..2_000_000,
    ) {
        let mut traffic = vec![json!({"pattern": "incast", "senders": 1, "bytes": 4_000_000,
            "dscp": 8, "packet": packet})];
        if lossy {
            traffic.push(json!({"pattern": "incast", "senders": 1, "bytes": 4_000_000,
                "dscp": 16, "packet": 1_500}));
        }
        let scenario = scenario(json!({
            "topology": {"kind": "single-switch", "hosts": hosts, "rate": gbps * 1_000_000_000,
                "delay": delay},
            "nic": {"PfcResponseTime": response},
            "switch": {"SharedBufferManager": {"TotalSharedBufferSize": total,
                "PoolAllocationMap": [share, 1.0 - share, 0, 0, 0, 0, 0, 0],
                "StaticPoolXoffThreshold": xoff, "StaticPoolXonThreshold": xoff / 2}},
            "traffic": traffic,
        }));
        let sizing = one(&scenario);
        if let Some(now) = &sizing.now {
            prop_assert_eq!(now.sum(), i128::from(total));
        }
        match &sizing.outcome {
            Outcome::TooSmall { budget } => {
                prop_assert_eq!(budget.sum(), i128::from(total));
                prop_assert!(budget.short() > 0);
            }
            Outcome::Fits { settings, budget } => {
                prop_assert_eq!((budget.sum(), budget.short()), (i128::from(total), 0));
                let proposed = apply(&scenario, std::slice::from_ref(&sizing));
                prop_assert!(missed(&proposed).is_empty(), "{:?}", missed(&proposed));
                prop_assert!(settings.xon + 2 * packet <= settings.xoff || settings.xon == 0);
                for drains in [false, true] {
                    let run = incast(&sizing.case, &proposed.switch, hosts, 1, drains).unwrap();
                    let found = measure(&run).unwrap();
                    prop_assert_eq!(found.drops, 0);
                    prop_assert!(found.peak_headroom <= settings.headroom);
                    prop_assert!(found.peak_occupancy <= settings.xoff + packet);
                }
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }

    /// A switch whose headroom is one frame below what the replay takes loses packets.
    #[test]
    fn a_frame_less_than_the_replay_takes_is_lossy(
        gbps in prop::sample::select(vec![25u64, 100, 400, 800]),
        delay in 0u64..3_000_000,
        packet in 256u64..9_216,
    ) {
        let case = LinkCase::simple(gbps * 1_000_000_000, delay, packet);
        let taken = worst(&case).unwrap().quiet_bytes;
        let mut switch = Switch::default();
        switch.shared_buffer_manager.pool_allocation_map[..2].copy_from_slice(&[0.1, 0.9]);
        let mut drops = |headroom| {
            switch.shared_buffer_manager.head_room_per_port_limit = Bytes(headroom);
            measure(&incast(&case, &switch, 4, 1, false).unwrap()).unwrap().headroom_drops
        };
        prop_assert_eq!(drops(taken), 0);
        // One packet on each of the three ports that send.
        prop_assert_eq!(drops(taken - packet), 3);
    }
}
