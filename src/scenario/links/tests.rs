//! Ports, links and times of the topologies.

use super::*;
use crate::units::{BitRate, Ps};

fn scenario(topology: serde_json::Value) -> Scenario {
    serde_json::from_value(serde_json::json!({
        "duration": 1, "topology": topology, "traffic": [],
    }))
    .unwrap()
}

fn leaf_spine() -> Scenario {
    scenario(serde_json::json!({
        "kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 3, "spines": 2,
        "links_per_spine": 2, "rate": 100_000_000_000u64, "delay": 100_000,
        "fabric_rate": 40_000_000_000u64,
    }))
}

#[test]
fn one_switch_has_host_i_on_port_i() {
    let s = scenario(serde_json::json!({"kind": "single-switch", "hosts": 5}));
    let n = network(&s).unwrap();
    assert_eq!((n.hosts, n.links.len(), n.switches.len()), (5, 5, 1));
    assert_eq!(n.switches[0].node, 5);
    for (i, port) in n.switches[0].ports.iter().enumerate() {
        let host = LinkEnd { node: i as u32, port: 0 };
        assert_eq!(*port, PortPlan { link: i, peer: host, up: false });
        let b = LinkEnd { node: 5, port: i as u32 };
        assert_eq!(n.links[i], Link { a: host, b, rate: DEFAULT_RATE, delay: DEFAULT_DELAY });
    }
}

#[test]
fn a_leaf_numbers_hosts_then_spines_then_parallel_links() {
    let n = network(&leaf_spine()).unwrap();
    assert_eq!((n.hosts, n.links.len(), n.switches.len()), (6, 6 + 8, 4));
    let leaf = &n.switches[1];
    assert_eq!(leaf.node, 7);
    let peers: Vec<_> = leaf.ports.iter().map(|p| (p.peer.node, p.peer.port, p.up)).collect();
    assert_eq!(
        peers,
        [
            (3, 0, false),
            (4, 0, false),
            (5, 0, false),
            (8, 2, true),
            (8, 3, true),
            (9, 2, true),
            (9, 3, true),
        ]
    );
    let spine = &n.switches[2];
    let peers: Vec<_> = spine.ports.iter().map(|p| (p.peer.node, p.peer.port, p.up)).collect();
    assert_eq!(peers, [(6, 3, false), (6, 4, false), (7, 3, false), (7, 4, false)]);
}

#[test]
fn both_ends_of_every_link_know_it() {
    let n = network(&leaf_spine()).unwrap();
    for switch in &n.switches {
        for (number, port) in switch.ports.iter().enumerate() {
            let own = LinkEnd { node: switch.node, port: number as u32 };
            let link = n.links[port.link];
            let expected = if port.up { (link.a, link.b) } else { (link.b, link.a) };
            assert_eq!((own, port.peer), expected);
        }
    }
    for (i, link) in n.links.iter().enumerate() {
        let fabric = i >= 6;
        assert_eq!(link.rate, if fabric { 40_000_000_000 } else { 100_000_000_000 });
        assert_eq!(link.delay, 100_000, "fabric_delay defaults to the host links'");
    }
}

#[test]
fn without_the_topologys_word_the_devices_count() {
    let mut s = scenario(serde_json::json!({
        "kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 1, "spines": 1,
    }));
    s.nic.interface.data_rate = Some(BitRate(200_000_000_000));
    s.nic.medium.delay = Some(Ps(100_000));
    s.switch.network_interface.uplink.data_rate = Some(BitRate(800_000_000_000));
    s.switch.network_interface.medium.delay = Some(Ps(700_000));
    let o = Outline::new(&s).unwrap();
    assert_eq!((o.host_links.rate, o.host_links.delay), (200_000_000_000, 100_000));
    let fabric = o.layers[1].links;
    assert_eq!((fabric.rate, fabric.delay), (DEFAULT_RATE, 700_000));
}

#[test]
fn a_device_that_disagrees_with_the_topology_is_refused() {
    let mut s = leaf_spine();
    s.nic.interface.data_rate = Some(BitRate(100_000_000_000));
    assert!(network(&s).is_ok(), "an equal value agrees");
    s.nic.interface.data_rate = Some(BitRate(400_000_000_000));
    let e = network(&s).unwrap_err();
    assert_eq!(
        e.to_string(),
        "nic.NetworkInterface.DataRate = 400Gbps: disagrees with topology.rate = 100Gbps; \
         remove one of them or make them equal"
    );
    let mut s = leaf_spine();
    s.switch.network_interface.medium.delay = Some(Ps(1));
    assert_eq!(
        network(&s).unwrap_err().attribute,
        "switch.NetworkInterface.TransmissionMedium.Delay"
    );
    let mut s = leaf_spine();
    s.switch.network_interface.downlink.data_rate = Some(BitRate(100_000_000_000));
    assert!(network(&s).unwrap_err().rule.contains("topology.fabric_rate"));
}

#[test]
fn counts_and_speeds_out_of_range_are_refused() {
    let refused = |topology| network(&scenario(topology)).unwrap_err().attribute;
    use serde_json::json;
    assert_eq!(refused(json!({"kind": "single-switch", "hosts": 1})), "topology.hosts");
    assert_eq!(refused(json!({"kind": "single-switch", "hosts": 65_537})), "topology.hosts");
    assert_eq!(refused(json!({"kind": "single-switch", "hosts": 2, "rate": 999})), "topology.rate");
    assert_eq!(
        refused(json!({"kind": "single-switch", "hosts": 2, "delay": MAX_DELAY + 1})),
        "topology.delay"
    );
    let wide = json!({"kind": "leaf-spine", "leaves": 1000, "hosts_per_leaf": 65,
        "spines": 65_536, "links_per_spine": 65_536});
    assert_eq!(refused(wide), "topology.links_per_spine");
    let many = json!({"kind": "leaf-spine", "leaves": 4_000_000_000u32, "hosts_per_leaf": 1,
        "spines": 1});
    assert_eq!(refused(many), "topology.leaves");
    let many = json!({"kind": "leaf-spine", "leaves": 60_000, "hosts_per_leaf": 60_000,
        "spines": 1});
    assert_eq!(refused(many), "topology.hosts_per_leaf");
    let alone = json!({"kind": "leaf-spine", "leaves": 1, "hosts_per_leaf": 1, "spines": 1});
    assert_eq!(refused(alone), "topology.hosts_per_leaf");
}

#[test]
fn a_pause_at_400_gbps_lasts_84_us() {
    assert_eq!(pause_time(400_000_000_000, 500_000), 84_384_800);
    assert_eq!(pause_time(400_000_000_000, 500_000) / 2, 42_192_400);
    assert_eq!(pause_time(400_000_000_000, 100_000), 83_984_800);
    // 33,553,920 bit at 7 Gbps are 4,793,417,142.857… ps.
    assert_eq!(pause_time(7_000_000_000, 999), 4_793_417_143 + 999);
    assert!(pause_time(MIN_RATE, MAX_DELAY) < 1 << 56);
    assert_eq!(pause_time(0, 1), u64::MAX);
}

#[test]
fn a_thousand_hosts_are_wired_at_once() {
    let s = scenario(serde_json::json!({
        "kind": "leaf-spine", "leaves": 32, "hosts_per_leaf": 32, "spines": 32,
    }));
    let n = network(&s).unwrap();
    assert_eq!(n.links.len(), 2_048);
    assert!(n.switches.iter().enumerate().all(|(i, s)| s.node == 1_024 + i as u32));
}

#[test]
fn durations_fit_the_keys_of_events() {
    let of = |hosts: u32| {
        let s = scenario(serde_json::json!({"kind": "single-switch", "hosts": hosts}));
        Outline::new(&s).unwrap().longest_duration()
    };
    // 33 ports: ranks up to 74 take 7 bits and leave 57; a frame of 65,553 B takes 1,311,060 ps
    // at 400 Gbps, and 500 ns to arrive.
    assert_eq!(of(33), (1 << 57) - 2 - 1_311_060 - 500_000);
    assert_eq!((rank_bits(33, 0), rank_bits(1024, 0), rank_bits(33, 33)), (7, 12, 8));
}

#[test]
fn a_classic_fat_tree_of_4_port_switches() {
    let s = scenario(serde_json::json!({"kind": "fat-tree", "k": 4, "rate": 100_000_000_000u64,
        "spine_delay": 2_000_000}));
    let o = Outline::new(&s).unwrap();
    let counts: Vec<_> = o.kinds.iter().map(|k| (k.tier, k.count, k.down, k.up)).collect();
    assert_eq!(
        counts,
        [(Tier::Leaf, 8, 2, 2), (Tier::Aggregation, 8, 2, 2), (Tier::Spine, 4, 4, 0)]
    );
    assert_eq!((o.hosts, o.link_count(), o.port_count()), (16, 48, 80));
    let speeds: Vec<_> = o.layers.iter().map(|l| (l.links.rate, l.links.delay)).collect();
    let rate = 100_000_000_000;
    assert_eq!(speeds, [(rate, 500_000), (rate, 500_000), (rate, 2_000_000)]);
    let n = o.network();
    let peers = |at: usize| -> Vec<_> {
        n.switches[at].ports.iter().map(|p| (p.peer.node, p.peer.port, p.up)).collect()
    };
    // Leaf 2 is the first of the second pod; aggregation switches are nodes 24 to 31.
    assert_eq!(peers(2), [(4, 0, false), (5, 0, false), (26, 0, true), (27, 0, true)]);
    // The second aggregation switch of the second pod is below the second plane: spines 34, 35.
    assert_eq!(peers(11), [(18, 3, false), (19, 3, false), (34, 1, true), (35, 1, true)]);
    assert_eq!(peers(16), [24, 26, 28, 30].map(|node| (node, 2, false)));
}

#[test]
fn a_fat_tree_takes_counts_one_by_one() {
    let s = scenario(serde_json::json!({"kind": "fat-tree", "pods": 3, "leaves_per_pod": 2,
        "hosts_per_leaf": 5, "aggregations_per_pod": 2, "spines": 6,
        "links_per_aggregation": 3, "links_per_spine": 2}));
    let o = Outline::new(&s).unwrap();
    let counts: Vec<_> = o.kinds.iter().map(|k| (k.count, k.down, k.up)).collect();
    assert_eq!(counts, [(6, 5, 6), (6, 6, 6), (6, 6, 0)]);
    let n = o.network();
    assert_eq!(n.links.len() as u64, o.link_count());
    for (at, switch) in n.switches.iter().enumerate() {
        let kind = &o.kinds[at / 6];
        assert_eq!(switch.ports.len() as u32, kind.ports());
        for (number, port) in switch.ports.iter().enumerate() {
            let own = LinkEnd { node: switch.node, port: number as u32 };
            let link = n.links[port.link];
            let expected = if port.up { (link.a, link.b) } else { (link.b, link.a) };
            assert_eq!((own, port.peer), expected);
            assert_eq!(port.up, number as u32 >= kind.down, "down-links come first");
        }
    }
}

#[test]
fn fat_trees_that_do_not_fit_are_refused() {
    let refused = |topology| network(&scenario(topology)).unwrap_err().attribute;
    use serde_json::json;
    assert_eq!(refused(json!({"kind": "fat-tree"})), "topology.pods");
    assert_eq!(refused(json!({"kind": "fat-tree", "k": 3})), "topology.k");
    assert_eq!(refused(json!({"kind": "fat-tree", "k": 4, "spines": 3})), "topology.spines");
    assert_eq!(refused(json!({"kind": "fat-tree", "k": 4, "pods": 0})), "topology.pods");
    assert_eq!(refused(json!({"kind": "fat-tree", "k": 66})), "topology.hosts_per_leaf");
    let wide = json!({"kind": "fat-tree", "k": 4, "links_per_spine": 65_536});
    assert_eq!(refused(wide), "topology.links_per_spine");
}

/// Two hosts below one switch, one below another, and two links of their own speed between them.
fn listed() -> serde_json::Value {
    serde_json::json!({
        "kind": "explicit", "rate": 100_000_000_000u64,
        "nodes": [
            {"name": "top", "kind": "switch", "tier": "spine"},
            {"name": "a", "kind": "host"}, {"name": "low", "kind": "switch"},
            {"name": "b", "kind": "host"}, {"name": "c", "kind": "host"},
        ],
        "links": [
            {"a": "top", "b": "low", "count": 2, "rate": 40_000_000_000u64, "delay": 7},
            {"a": "c", "b": "top"}, {"a": "low", "b": "a", "delay": 9}, {"a": "b", "b": "low"},
        ],
    })
}

#[test]
fn a_list_of_nodes_and_links_is_numbered_by_tier_and_place() {
    let o = Outline::new(&scenario(listed())).unwrap();
    let n = o.network();
    let nodes: Vec<_> = n.switches.iter().map(|s| s.node).collect();
    assert_eq!((n.hosts, nodes), (3, vec![3, 4]));
    let peers = |at: usize| -> Vec<_> {
        n.switches[at].ports.iter().map(|p| (p.peer.node, p.peer.port, p.up)).collect()
    };
    assert_eq!(peers(0), [(0, 0, false), (1, 0, false), (4, 1, true), (4, 2, true)]);
    assert_eq!(peers(1), [(2, 0, false), (3, 2, false), (3, 3, false)]);
    let speeds: Vec<_> = n.links.iter().map(|l| (l.rate, l.delay)).collect();
    let (slow, fast) = (40_000_000_000, 100_000_000_000);
    assert_eq!(speeds, [(fast, 9), (fast, 500_000), (fast, 500_000), (slow, 7), (slow, 7)]);
    assert_eq!((o.host_links.rate, o.host_links.delay, o.link_count()), (fast, 500_000, 5));
    let kinds: Vec<_> = o.kinds.iter().map(|k| (k.tier, k.down, k.up, k.links.len())).collect();
    assert_eq!(kinds, [(Tier::Leaf, 2, 2, 3), (Tier::Spine, 3, 0, 2)]);
}

#[test]
fn a_list_that_makes_no_network_is_refused_where_it_is_wrong() {
    let refused = |change: fn(&mut serde_json::Value)| {
        let mut topology = listed();
        change(&mut topology);
        network(&scenario(topology)).unwrap_err().to_string()
    };
    use serde_json::json;
    let said = refused(|t| t["links"][1]["b"] = json!("tob"));
    assert_eq!(said, "topology.links[1].b = tob: no node has this name; the nearest is top");
    let said = refused(|t| t["nodes"][3]["name"] = json!("a"));
    assert!(said.starts_with("topology.nodes[3].name = a: two nodes"), "{said}");
    let said = refused(|t| t["links"][1]["b"] = json!("a"));
    assert!(said.starts_with("topology.links[1].b = a: connects two hosts"), "{said}");
    let said = refused(|t| t["links"][1]["b"] = json!("c"));
    assert!(said.contains("ends where it starts"), "{said}");
    let said = refused(|t| t["links"][3]["a"] = json!("a"));
    assert!(said.starts_with("topology.links[3] = a: a host has one link"), "{said}");
    let said = refused(|t| t["links"][3]["count"] = json!(2));
    assert!(said.starts_with("topology.links[3] = b: a host has one link"), "{said}");
    let said = refused(|t| t["links"].as_array_mut().unwrap().truncate(3));
    assert!(said.starts_with("topology.nodes = b: this host has no link"), "{said}");
    let said = refused(|t| {
        t["links"].as_array_mut().unwrap().remove(0);
    });
    assert!(said.starts_with("topology.nodes = c: cannot be reached"), "{said}");
    let said = refused(|t| t["nodes"][1]["tier"] = json!("leaf"));
    assert!(said.starts_with("topology.nodes[1].tier = leaf: only a switch"), "{said}");
    let said = refused(|t| t["links"][0]["rate"] = json!(1));
    assert!(said.starts_with("topology.links[0].rate = 1bps: a link's rate"), "{said}");
    let said = refused(|t| t["nodes"] = json!([{"name": "x", "kind": "switch"}]));
    assert!(said.starts_with("topology.nodes = 0 hosts"), "{said}");
}
