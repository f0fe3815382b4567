//! The table against the types it describes.

use super::*;
use crate::scenario::*;
use crate::units::{BitRate, Bytes, Ps};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn common() -> Common {
    Common { role: Some(Role::NoTrim), rate: Some(BitRate(1)), ..Common::default() }
}

fn full_hold() -> Option<Hold> {
    Some(Hold { classes: vec![1], from: Ps(0), until: Some(Ps(1)) })
}

/// Scenarios in which every optional key is given and every variant occurs.
fn full() -> Vec<Scenario> {
    let single = Topology::SingleSwitch { hosts: 2, rate: Some(BitRate(1)), delay: Some(Ps(1)) };
    let leaf_spine = Topology::LeafSpine {
        leaves: 1,
        hosts_per_leaf: 2,
        spines: 1,
        links_per_spine: 1,
        rate: Some(BitRate(1)),
        delay: Some(Ps(1)),
        fabric_rate: Some(BitRate(1)),
        fabric_delay: Some(Ps(1)),
    };
    let fat_tree = Topology::FatTree(FatTree {
        k: Some(2),
        pods: Some(1),
        leaves_per_pod: Some(1),
        hosts_per_leaf: Some(2),
        aggregations_per_pod: Some(1),
        spines: Some(1),
        rate: Some(BitRate(1)),
        delay: Some(Ps(1)),
        fabric_rate: Some(BitRate(1)),
        fabric_delay: Some(Ps(1)),
        spine_rate: Some(BitRate(1)),
        spine_delay: Some(Ps(1)),
        ..FatTree::default()
    });
    let explicit = Topology::Explicit(Explicit {
        nodes: vec![NodeEntry {
            name: "s".into(),
            kind: NodeKind::Switch,
            tier: Some(TierName::Spine),
        }],
        links: vec![LinkEntry {
            a: "h".into(),
            b: "s".into(),
            rate: Some(BitRate(1)),
            delay: Some(Ps(1)),
            count: 1,
        }],
        rate: Some(BitRate(1)),
        delay: Some(Ps(1)),
    });
    let bytes = Bytes(1);
    let entry = FlowEntry {
        src: 0,
        dst: 1,
        bytes,
        packet: Some(bytes),
        dscp: Some(0),
        ect: Some(true),
        role: Some(Role::Control),
        start: Ps(0),
        rate: Some(BitRate(1)),
    };
    let traffic = vec![
        Traffic::Incast(Incast { receiver: 0, senders: 1, bytes, common: common() }),
        Traffic::Permutation(Permutation { bytes, common: common() }),
        Traffic::AllToAll(AllToAll { bytes, common: common() }),
        Traffic::Ring(Ring {
            bytes,
            steps: RingSteps::AllReduce,
            step_time: Some(Ps(1)),
            common: common(),
        }),
        Traffic::Uniform(Uniform {
            load: 0.5,
            bytes: Some(bytes),
            sizes: Some(Sizes::Hadoop),
            length: Some(Ps(1)),
            common: common(),
        }),
        Traffic::OnOff(OnOff {
            receiver: 0,
            senders: 1,
            on: Ps(1),
            off: Ps(1),
            burst: Burst::Fixed,
            length: Some(Ps(1)),
            common: common(),
        }),
        Traffic::Flows(Flows { flows: vec![entry], common: common() }),
        Traffic::Trace(Trace { file: "f".into(), blake3: "h".into(), common: common() }),
        Traffic::Collective(Collective {
            operation: Operation::AllReduce,
            algorithm: Some(Algorithm::Ring),
            bytes: Some(bytes),
            ranks: Some(vec![0, 1]),
            group: Some(2),
            root: 0,
            repeat: 1,
            synchronize: true,
            common: common(),
        }),
    ];
    let network_interface = NetworkInterface {
        uplink: Interface { data_rate: Some(BitRate(1)) },
        downlink: Interface { data_rate: Some(BitRate(1)) },
        medium: Medium { delay: Some(Ps(1)) },
    };
    let map = || Some(vec![1.0, 1.0]);
    let ecn_maps = EcnMaps { enable_qcn: true, kmin_map: map(), kmax_map: map(), pmax_map: map() };
    let datacenter = DatacenterBuffer {
        xoff: Some(bytes),
        xoff_total: Some(bytes),
        ..DatacenterBuffer::default()
    };
    // Every key but those that no tier may have.
    let mut tier = serde_json::to_value(Switch { network_interface, ..Switch::default() }).unwrap();
    for key in ["model", "NumUpLinks", "NumDownLinks"] {
        tier.as_object_mut().unwrap().remove(key);
    }
    let buffer = tier["SharedBufferManager"].as_object_mut().unwrap();
    buffer.retain(|key, _| !["UETPolicyEnabled", "BufferStatsReportInterval"].contains(&&**key));
    let tiers = BTreeMap::from([(TierName::Spine, serde_json::from_value(tier).unwrap())]);
    let switch = Switch { network_interface, tiers, datacenter, ecn_maps, ..Switch::default() };
    let host = HostNic {
        pfc_response_time: Some(Ps(0)),
        ignore_pfc: Some(true),
        receive_rate: Some(BitRate(1)),
        receive_pool: Some(bytes),
        pfc_enable_vector: Some([0; 8]),
        pfc_static_xoff_threshold: Some([0.8; 8]),
        pfc_xon_resume_threshold: Some([0.4; 8]),
        quanta_value: Some([1; 8]),
        hold: full_hold(),
        host_link: OwnHostLink { lane_bps: Some(BitRate(1)), lane_count: Some(1) },
    };
    let nic = Nic {
        roce: Roce { cnp_interval: Some(Ps(1)), ..Roce::default() },
        receive_rate: Some(BitRate(1)),
        hold: full_hold(),
        unscheduled: Some(bytes),
        interface: Interface { data_rate: Some(BitRate(1)) },
        medium: Medium { delay: Some(Ps(1)) },
        hosts: BTreeMap::from([(0, host)]),
        ..Nic::default()
    };
    let record = Record { interval: Some(Ps(1)), ..Record::default() };
    [single, leaf_spine, fat_tree, explicit]
        .into_iter()
        .map(|topology| Scenario {
            duration: Ps(1),
            until: Until::default(),
            stop_on_deadlock: true,
            warm_up: Ps(0),
            seed_streams: SeedStreams::default(),
            timing: Timing::default(),
            topology,
            switch: switch.clone(),
            nic: nic.clone(),
            traffic: traffic.clone(),
            record: record.clone(),
            budget: Budget { simulated_time: Some(Ps(1)), ..Budget::default() },
        })
        .collect()
}

/// Adds the path of every leaf; lists of plain values are leaves.
fn leaves(path: &str, value: &Value, into: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let key = if path == "nic.hosts" || path == "switch.tiers" { "*" } else { key };
                let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                leaves(&path, value, into);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for item in items {
                leaves(&format!("{path}[]"), item, into);
            }
        }
        leaf => {
            into.insert(path.to_owned(), leaf.clone());
        }
    }
}

#[test]
fn the_table_has_every_key_of_a_scenario_and_no_other() {
    let mut of_types = BTreeMap::new();
    for scenario in full() {
        leaves("", &scenario.in_full().unwrap(), &mut of_types);
    }
    let of_types: BTreeSet<String> = of_types.into_keys().collect();
    let of_table: BTreeSet<String> = all().iter().map(|a| a.path.to_owned()).collect();
    assert_eq!(of_table.len(), all().len(), "a path stands twice in the table");
    assert_eq!(of_types.difference(&of_table).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(of_table.difference(&of_types).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// A default of the table as JSON in base units; knows only the spellings the table uses.
fn base_units(kind: &Kind, text: &str) -> Value {
    let scaled = |units: &[(&str, u64)]| {
        let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic()).unwrap());
        let factor = units.iter().find(|(name, _)| *name == unit).unwrap().1;
        json!(number.parse::<u64>().unwrap() * factor)
    };
    match kind {
        Kind::Bytes => scaled(&[("B", 1), ("KB", 1_000), ("MB", 1_000_000), ("MiB", 1 << 20)]),
        Kind::Time => scaled(&[
            ("s", 1_000_000_000_000),
            ("ms", 1_000_000_000),
            ("us", 1_000_000),
            ("ns", 1_000),
        ]),
        Kind::Rate => scaled(&[("Gbps", 1_000_000_000), ("Mbps", 1_000_000)]),
        Kind::Count | Kind::Int => json!(text.parse::<u64>().unwrap()),
        Kind::Number => json!(text.parse::<f64>().unwrap()),
        Kind::Bool => json!(text.parse::<bool>().unwrap()),
        Kind::Enum(words) => {
            assert!(words.contains(&text), "{text}");
            json!(text)
        }
        Kind::Text => json!(text),
        Kind::Eight(kind) | Kind::List(kind) => {
            text.trim_matches(['[', ']']).split(", ").map(|item| base_units(kind, item)).collect()
        }
    }
}

/// The smallest scenario a file can hold, every default filled in by the types.
fn defaults() -> BTreeMap<String, Value> {
    let flow = json!({"src": 0, "dst": 1, "bytes": 1});
    let hold = json!({"classes": [0]});
    let traffic = json!([
        {"pattern": "incast", "senders": 1, "bytes": 1},
        {"pattern": "ring", "bytes": 1},
        {"pattern": "uniform", "load": 1.0},
        {"pattern": "on-off", "senders": 1, "on": 1, "off": 1},
        {"pattern": "flows", "flows": [flow]},
        {"pattern": "trace", "file": "f"},
        {"pattern": "collective", "operation": "barrier"},
    ]);
    let mut found = BTreeMap::new();
    for topology in [
        json!({"kind": "single-switch", "hosts": 2}),
        json!({"kind": "leaf-spine", "leaves": 1, "hosts_per_leaf": 1, "spines": 1}),
        json!({"kind": "fat-tree"}),
        json!({"kind": "explicit", "nodes": [{"name": "h", "kind": "host"}],
            "links": [{"a": "h", "b": "s"}]}),
    ] {
        let scenario: Scenario = serde_json::from_value(json!({
            "duration": 1, "topology": topology, "traffic": traffic,
            "nic": {"hold": hold, "hosts": {"0": {"hold": hold}}},
        }))
        .unwrap();
        leaves("", &scenario.in_full().unwrap(), &mut found);
    }
    found
}

#[test]
fn the_defaults_of_the_table_are_those_of_the_types() {
    // Given above because the file has to give them.
    let required = [
        "duration",
        "topology.kind",
        "topology.hosts",
        "topology.leaves",
        "topology.hosts_per_leaf",
        "topology.spines",
        "topology.nodes[].name",
        "topology.nodes[].kind",
        "topology.links[].a",
        "topology.links[].b",
        "nic.hold.classes",
        "nic.hosts.*.hold.classes",
        "traffic[].pattern",
        "traffic[].senders",
        "traffic[].bytes",
        "traffic[].load",
        "traffic[].on",
        "traffic[].off",
        "traffic[].flows[].src",
        "traffic[].flows[].dst",
        "traffic[].flows[].bytes",
        "traffic[].file",
        "traffic[].operation",
    ];
    let found = defaults();
    for a in all() {
        match a.default {
            Some(text) => assert_eq!(found[a.path], base_units(&a.kind, text), "{}", a.path),
            None if required.contains(&a.path) => {}
            None => assert!(found.get(a.path).is_none_or(Value::is_null), "{}", a.path),
        }
    }
}

#[test]
fn every_row_says_something() {
    for a in all() {
        assert!(a.meaning.ends_with('.') && a.meaning.len() > 15, "{}", a.path);
        assert!(!a.read_at.is_empty(), "{}", a.path);
    }
}

#[test]
fn names_are_found_by_path_and_by_unique_end() {
    let path = |name: &str| find(name).map(|a| a.path);
    assert_eq!(path("PlaneBDP"), Some("switch.SharedBufferManager.PlaneBDP"));
    assert_eq!(path("SharedBufferManager.PlaneBDP"), path("PlaneBDP"));
    assert_eq!(path("switch.SharedBufferManager.PlaneBDP"), path("PlaneBDP"));
    assert_eq!(path("hosts"), Some("topology.hosts"));
    assert_eq!(path("traffic[0].bytes"), Some("traffic[].bytes"));
    assert_eq!(path("traffic[0].flows[12].bytes"), Some("traffic[].flows[].bytes"));
    assert_eq!(path("nic.hosts.3.receive_rate"), Some("nic.hosts.*.receive_rate"));
    assert_eq!(path("receive_rate"), Some("nic.receive_rate"));
    assert_eq!(path("senders"), Some("traffic[].senders"));
    assert_eq!(path("BDP"), None);
    assert_eq!(path(""), None);
    assert_eq!(path("traffic[x].bytes"), None);
}

#[test]
fn a_shared_name_lists_its_candidates() {
    assert!(find("PfcResponseTime").is_none());
    let paths: Vec<_> = candidates("PfcResponseTime").iter().map(|a| a.path).collect();
    assert_eq!(paths, ["switch.PfcResponseTime", "nic.PfcResponseTime"]);
}

#[test]
fn a_typo_finds_the_nearest_name() {
    assert_eq!(nearest("HeadroomPerPort")[0], "HeadRoomPerPortLimit");
    assert_eq!(nearest("StaticPoolXofThreshold")[0], "StaticPoolXoffThreshold");
    assert_eq!(nearest("topology.host")[0], "topology.hosts");
    assert!(nearest("zzzzzz").is_empty());
}
