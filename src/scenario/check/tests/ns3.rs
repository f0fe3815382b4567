//! The models without pools: what is refused, what is mentioned.

use super::*;

/// Four hosts at 100 Gbps and 1 us: headroom 37,500 B a port by default.
fn with(switch: Value) -> Value {
    json!({
        "topology": {"rate": 100_000_000_000u64, "delay": 1_000_000},
        "switch": switch,
    })
}

fn merged(switch: Value) -> Report {
    let mut scenario = json!({
        "duration": 1_000_000_000u64,
        "topology": {"kind": "single-switch", "hosts": 4},
        "nic": {"model": "hpcc"},
        "traffic": [{"pattern": "incast", "senders": 3, "bytes": 100_000, "dscp": 24}],
    });
    merge(&mut scenario, with(switch));
    check(&serde_json::from_value(scenario).unwrap())
}

fn said(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn the_usual_switches_run_without_a_word() {
    assert_eq!(merged(json!({"model": "hpcc"})), Report::default());
    // Its egress pool holds the whole buffer.
    assert_eq!(merged(json!({"model": "ns3-datacenter"})), Report::default());
}

#[test]
fn a_negative_shared_space_is_refused() {
    // 4 × (37,500 + 4,096) = 166,384.
    let of = |bytes: u64| merged(json!({"model": "hpcc", "HPCC": {"BufferSize": bytes}}));
    assert_eq!(said(&of(166_384).refusals), Vec::<String>::new());
    assert_eq!(
        said(&of(166_383).refusals),
        ["switch.HPCC.BufferSize = 166383B: 150,000 B of headroom and 16,384 B of reserve on 4 \
          ports are more: nothing would be left to share; raise it, or lower HeadroomFactor or \
          Reserve"]
    );
    let reserves = json!({"model": "ns3-datacenter", "Ns3Datacenter": {
        "IngressPool": 31_999, "IngressReserve": 1_000}});
    assert_eq!(said(&merged(reserves).refusals).len(), 1);
}

#[test]
fn numbers_have_their_ranges() {
    for (block, name, value) in [
        ("HPCC", "Shift", json!(32)),
        ("HPCC", "HeadroomFactor", json!(-1.0)),
        ("HPCC", "Reserve", json!(1u64 << 32)),
        ("EcnMaps", "KMIN_MAP", json!([25e9])),
        ("EcnMaps", "KMIN_MAP", json!([25e9, 100.0])),
        ("EcnMaps", "PMAX_MAP", json!([100e9, 1.5])),
        ("SharedBufferManager", "UETPolicyEnabled", json!(true)),
    ] {
        let mut switch = json!({"model": "hpcc"});
        switch[block][name] = value;
        let found = merged(switch).refusals;
        assert!(!found.is_empty(), "{name}");
        assert!(found[0].attribute.ends_with(name), "{found:?}");
    }
    for (name, value) in
        [("ReverieGamma", json!(1.1)), ("AlphaIngress", json!(-0.1)), ("AlphaUnsched", json!(-1.0))]
    {
        let mut switch = json!({"model": "ns3-datacenter"});
        switch["Ns3Datacenter"][name] = value;
        assert_eq!(merged(switch).refusals.len(), 1, "{name}");
    }
}

#[test]
fn blocks_of_other_models_are_mentioned() {
    let idle = json!({"model": "hpcc", "Ns3Datacenter": {"Xon": 1}});
    assert_eq!(
        said(&merged(idle).warnings),
        ["switch.Ns3Datacenter = not as usual: has no effect with switch.model = hpcc"]
    );
    let report = report(json!({"switch": {"HPCC": {"Shift": 1}}}));
    assert_eq!(
        said(&report.warnings),
        ["switch.HPCC = not as usual: has no effect with switch.model = scala"]
    );
}

#[test]
fn a_label_nobody_writes_or_reads_is_mentioned() {
    let of = |model: &str, switch: &str| {
        let mut scenario = json!({
            "duration": 1_000_000_000u64,
            "topology": {"kind": "single-switch", "hosts": 4},
            "nic": {"model": model, "unscheduled": 3_000},
            "traffic": [{"pattern": "incast", "senders": 3, "bytes": 100_000, "dscp": 24}],
        });
        merge(&mut scenario, with(json!({"model": switch})));
        said(&check(&serde_json::from_value(scenario).unwrap()).warnings)
    };
    for model in ["hpcc", "open-loop"] {
        assert_eq!(of(model, "ns3-datacenter"), Vec::<String>::new());
        let said = of(model, "hpcc");
        assert_eq!(said, ["nic.unscheduled = 3KB: has no effect with switch.model = hpcc"]);
    }
    let said = of("fixed-window", "ns3-datacenter");
    assert!(
        said.contains(&"nic.unscheduled = 3KB: has no effect with nic.model = fixed-window".into()),
        "{said:?}"
    );
}

#[test]
fn headroom_below_a_pause_is_mentioned() {
    // 2 × 12,500 + 2 × 1,034 = 27,068 may still come.
    let of = |factor: f64| {
        let own = json!({"model": "hpcc", "HPCC": {"HeadroomFactor": factor}});
        said(&merged(own).warnings)
    };
    assert_eq!(of(2.17), Vec::<String>::new());
    assert_eq!(
        of(2.0),
        ["switch.HPCC.HeadroomFactor = 25,000 B: below what may still arrive after a pause on a \
          link at 100Gbps with 1us one way, 27,068 B: packets may be lost"]
    );
}

#[test]
fn several_lossless_queues_overcommit() {
    let mut scenario = json!({
        "duration": 1_000_000_000u64,
        "topology": {"kind": "single-switch", "hosts": 4, "delay": 0},
        "switch": {"model": "hpcc"},
        "nic": {"model": "hpcc"},
        "traffic": [
            {"pattern": "permutation", "bytes": 1, "dscp": 8},
            {"pattern": "permutation", "bytes": 1, "dscp": 32},
            {"pattern": "permutation", "bytes": 1},
        ],
    });
    scenario["switch"]["HPCC"]["HeadroomFactor"] = json!(9);
    let report = check(&serde_json::from_value(scenario).unwrap());
    let about: Vec<&str> = report.warnings.iter().map(|w| w.attribute.as_str()).collect();
    assert!(about.contains(&"traffic"), "class 0: {report:?}");
    let rule = &report.warnings.iter().find(|w| w.rule.starts_with("overcommitted")).unwrap().rule;
    assert!(rule.ends_with("each of the lossless classes 1, 4 may use as much"), "{rule}");
}

#[test]
fn an_egress_pool_that_headroom_overruns_is_mentioned() {
    let own = json!({"model": "ns3-datacenter", "Ns3Datacenter": {
        "BufferPool": 2_200_000, "IngressPool": 1_000_000, "EgressPoolLossless": 1_000_000}});
    // 1,000,000 + 4 ports × 8 queues × 37,500 B.
    assert_eq!(
        said(&merged(own).warnings),
        ["switch.Ns3Datacenter.EgressPoolLossless = 1MB: headroom counts against it too: ingress \
          may admit 2,200,000 B, and lossless packets beyond the pool are dropped at egress \
          (egress_pool)"]
    );
}
