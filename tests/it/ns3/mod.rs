//! The `hpcc` and `ns3-datacenter` models against traces of the simulators they come from.
//!
//! Every pause and resume at its nanosecond, node and port, every flow completion and every drop.
//! The traces are those cases whose outcome does not depend on the order of simultaneous events.

mod incasts;
mod losses;
mod priorities;
pub mod properties;
mod script;

use poolsweep::scenario::links::{Link, LinkEnd, NetworkPlan, PortPlan, SwitchPlan};
use poolsweep::scenario::{Scenario, Topology};
use poolsweep::sim::observe::{DropReason, Observations};
use poolsweep::sim::random::Seeds;
use poolsweep::sim::run_on;
use poolsweep::sim::traffic::Traces;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// ps in a ns.
const NS: u64 = 1_000;

/// A recorded case and its nodes' numbers here.
struct Case {
    folder: PathBuf,
    json: Value,
    /// Their node to ours: hosts first, then switches.
    nodes: BTreeMap<u64, u32>,
    hosts: u32,
    /// What times are counted from, ns.
    origin: u64,
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a whole number"))
}

impl Case {
    fn read(name: &str) -> Case {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ns3").join(name);
        let text = fs::read_to_string(folder.join("case.json")).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        let switches: Vec<u64> = list(&json, "switches").map(|s| number(&s["node"])).collect();
        let mut hosts: Vec<u64> = list(&json, "links")
            .flat_map(|link| [number(&link["a"]), number(&link["b"])])
            .filter(|node| !switches.contains(node))
            .collect();
        hosts.sort_unstable();
        hosts.dedup();
        let nodes = hosts.iter().chain(&switches).copied().zip(0..).collect();
        let first = list(&json, "flows").map(|flow| number(&flow["start_ns"])).min().unwrap();
        Case { folder, nodes, hosts: hosts.len() as u32, origin: first, json }
    }

    fn plan(&self) -> NetworkPlan {
        let end = |link: &Value, node: &str, port: &str| LinkEnd {
            node: self.nodes[&number(&link[node])],
            port: number(&link[port]) as u32 - 1,
        };
        let mut links: Vec<Link> = list(&self.json, "links")
            .map(|link| Link {
                a: end(link, "a", "a_port"),
                b: end(link, "b", "b_port"),
                rate: number(&link["rate_bps"]),
                delay: number(&link["delay_ns"]) * NS,
            })
            .collect();
        // Host links by host, then the others.
        links.sort_by_key(|link| link.a.node);
        let switches = (self.hosts..self.nodes.len() as u32)
            .map(|node| {
                let mut ports: Vec<(u32, PortPlan)> = links
                    .iter()
                    .enumerate()
                    .flat_map(|(at, link)| [(at, link.a, link.b), (at, link.b, link.a)])
                    .filter(|(_, own, _)| own.node == node)
                    .map(|(link, own, peer)| (own.port, PortPlan { link, peer, up: false }))
                    .collect();
                ports.sort_by_key(|(port, _)| *port);
                assert!(ports.iter().zip(0..).all(|((port, _), at)| *port == at));
                SwitchPlan { node, ports: ports.into_iter().map(|(_, plan)| plan).collect() }
            })
            .collect();
        NetworkPlan { hosts: self.hosts, switches, links }
    }

    fn scenario(&self, switch: Value, until: u64) -> Scenario {
        let flows: Vec<Value> = list(&self.json, "flows")
            .map(|flow| {
                json!({
                    "src": self.nodes[&number(&flow["src"])],
                    "dst": self.nodes[&number(&flow["dst"])],
                    "bytes": flow["bytes"],
                    "dscp": number(&flow["priority"]) * 8,
                    "start": (number(&flow["start_ns"]) - self.origin) * NS,
                })
            })
            .collect();
        serde_json::from_value(json!({
            "duration": (until - self.origin + 1_000) * NS,
            "timing": "whole-ns",
            "topology": {"kind": "single-switch", "hosts": self.hosts},
            "switch": switch,
            "nic": {"model": "hpcc", "HPCC": {
                "PACKET_PAYLOAD_SIZE": self.json["payload_bytes"],
                "L2_ACK_INTERVAL": self.json["ack_when_inorder_bytes_at_least"],
                "L2_CHUNK_SIZE": self.json["ack_also_when_multiple_of"],
            }},
            "traffic": [{"pattern": "flows", "flows": flows}],
            // One interval a nanosecond: what happened in it happened at its start.
            "record": {"tables": ["pfc", "flows", "drops"], "interval": NS},
            "budget": {},
        }))
        .unwrap()
    }

    /// Rows of a recorded file, as numbers; nothing if the case has none.
    fn rows(&self, file: &str) -> Vec<Vec<u64>> {
        let Ok(text) = fs::read_to_string(self.folder.join(file)) else { return vec![] };
        let parse = |word: &str| match word.strip_prefix("0b") {
            Some(address) => u64::from_str_radix(address, 16).unwrap() >> 8,
            None => word.parse().unwrap(),
        };
        text.lines().map(|line| line.split_whitespace().map(parse).collect()).collect()
    }

    /// Compares a run with everything that was recorded.
    fn compare(&self, run: &Observations) {
        // Time, node, port, type (1 pause, 0 resume), where the frame is received.
        let recorded: Vec<[u64; 4]> = self
            .rows("pfc.txt")
            .iter()
            .filter(|row| row[4] < 2)
            .map(|row| [row[0], u64::from(self.nodes[&row[1]]), row[3] - 1, row[4]])
            .collect();
        assert!(recorded.is_sorted_by_key(|event| event[0]));
        let mut sorted = recorded;
        sorted.sort_unstable();
        assert_eq!(received(run, self.origin), sorted);
        self.compare_sent(run);

        // Source, destination, bytes, start, duration of the flows that ended.
        let mut recorded: Vec<[u64; 5]> = self
            .rows("fct.txt")
            .iter()
            .map(|row| {
                let node = |at: usize| u64::from(self.nodes[&row[at]]);
                [node(0), node(1), row[4], row[5], row[6]]
            })
            .collect();
        recorded.sort_unstable();
        let mut ended: Vec<[u64; 5]> = run
            .flows
            .iter()
            .filter_map(|flow| {
                let took = (flow.end? - flow.start) / NS;
                let start = flow.start / NS + self.origin;
                Some([u64::from(flow.src), u64::from(flow.dst), flow.bytes, start, took])
            })
            .collect();
        ended.sort_unstable();
        assert_eq!(ended, recorded);

        // Time, node, port, queue.
        let mut recorded: Vec<[u64; 4]> = self
            .rows("drops.txt")
            .iter()
            .map(|row| [row[0], u64::from(self.nodes[&row[1]]), row[2] - 1, row[3]])
            .collect();
        recorded.sort_unstable();
        let mut dropped: Vec<[u64; 4]> = Vec::new();
        for row in &run.drops {
            assert_eq!(row.reason, DropReason::IngressAdmission);
            let at = row.sim_time / NS - 1 + self.origin;
            for _ in 0..row.packets {
                dropped.push([at, u64::from(row.node), u64::from(row.port), u64::from(row.tc)]);
            }
        }
        dropped.sort_unstable();
        assert_eq!(dropped, recorded);
    }

    /// Compares the pauses and resumes that switches decided to send, where they were recorded: 2 and
    /// 3, at the sender and the instant of the decision. A frame waits at most for the one in
    /// transmission, and no two of a port cross, so each is that of its reception in order; here a
    /// frame is counted when it has been sent.
    fn compare_sent(&self, run: &Observations) {
        let mut decided: BTreeMap<(u32, u64, u64), Vec<u64>> = BTreeMap::new();
        for row in self.rows("pfc.txt").iter().filter(|row| row[4] >= 2) {
            let own = (self.nodes[&row[1]], row[3] - 1, 3 - row[4]);
            decided.entry(own).or_default().push(row[0]);
        }
        if decided.is_empty() {
            return;
        }
        let mut before = BTreeMap::new();
        let mut sent: BTreeMap<(u32, u64, u64), Vec<u64>> = BTreeMap::new();
        for row in run.pfc.iter().filter(|row| row.node >= self.hosts) {
            let (xoff, xon) = before
                .insert((row.node, row.port, row.tc), (row.xoff_tx, row.xon_tx))
                .unwrap_or_default();
            let at = row.sim_time / NS - 1 + self.origin;
            for (count, kind) in [(row.xon_tx - xon, 0), (row.xoff_tx - xoff, 1)] {
                for _ in 0..count {
                    sent.entry((row.node, u64::from(row.port), kind)).or_default().push(at);
                }
            }
        }
        assert_eq!(sent.keys().collect::<Vec<_>>(), decided.keys().collect::<Vec<_>>());
        // 43 B of the frame itself, and an acknowledgement's 60 B or nothing before it.
        for (port, times) in &decided {
            let own = &sent[port];
            assert_eq!(own.len(), times.len(), "{port:?}");
            for (sent, decided) in own.iter().zip(times) {
                assert!(
                    (decided + 3..=decided + 3 + 4).contains(sent),
                    "{port:?}: {sent} {decided}"
                );
            }
        }
    }

    /// Time of the last thing that was recorded, ns.
    fn last(&self) -> u64 {
        let pfc = self.rows("pfc.txt").iter().map(|row| row[0]).max().unwrap();
        let ends = self.rows("fct.txt").iter().map(|row| row[5] + row[6]).max().unwrap();
        pfc.max(ends)
    }
}

fn list<'a>(json: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    json[key].as_array().unwrap_or_else(|| panic!("{key} is a list")).iter()
}

/// Pauses and resumes received: time, node, port, type; in order.
fn received(run: &Observations, origin: u64) -> Vec<[u64; 4]> {
    let mut before = BTreeMap::new();
    let mut events = Vec::new();
    for row in &run.pfc {
        let (xoff, xon) = before
            .insert((row.node, row.port, row.tc), (row.xoff_rx, row.xon_rx))
            .unwrap_or_default();
        let at = row.sim_time / NS - 1 + origin;
        for (count, kind) in [(row.xon_rx - xon, 0), (row.xoff_rx - xoff, 1)] {
            for _ in 0..count {
                events.push([at, u64::from(row.node), u64::from(row.port), kind]);
            }
        }
    }
    events.sort_unstable();
    events
}

fn hpcc(name: &str) -> (Case, Scenario) {
    let case = Case::read(name);
    let first = &case.json["switches"][0];
    let switch = json!({"model": "hpcc", "EcnMaps": {"ENABLE_QCN": false}, "HPCC": {
        "BufferSize": first["buffer_bytes"],
        "Reserve": first["reserve_bytes_per_port_queue"],
        "ResumeOffset": first["resume_offset_bytes"],
        "Shift": first["pfc_alpha_shift"],
    }});
    let scenario = case.scenario(switch, case.last());
    let plan = case.plan();
    for (switch, own) in list(&case.json, "switches").zip(&plan.switches) {
        for (port, own) in list(switch, "ports").zip(&own.ports) {
            let link = plan.links[own.link];
            let headroom = scenario.switch.hpcc.headroom(link.rate, link.delay);
            assert_eq!(headroom, number(&port["headroom_bytes"]));
        }
    }
    (case, scenario)
}

fn datacenter(name: &str) -> (Case, Scenario) {
    let case = Case::read(name);
    let first = &case.json["switches"][0];
    let switch = json!({"model": "ns3-datacenter", "EcnMaps": {"ENABLE_QCN": false},
    "Ns3Datacenter": {
        "Algorithm": "DT",
        "BufferPool": first["buffer_pool"],
        "IngressPool": first["ingress_pool"],
        "EgressPoolLossless": first["egress_lossless_pool"],
        "IngressReserve": first["reserve"],
        "AlphaIngress": first["alpha_ingress"],
        "AlphaEgress": first["alpha_egress"],
        "Xon": first["xon"],
        "XonOffset": first["xon_offset"],
    }});
    let scenario = case.scenario(switch, case.last());
    (case, scenario)
}

fn reproduce((case, scenario): (Case, Scenario)) {
    assert!(matches!(scenario.topology, Topology::SingleSwitch { .. }), "its plan is the case's");
    let run = run_on(&scenario, &case.plan(), Seeds::default(), &Traces::default()).unwrap();
    case.compare(&run);
}

#[test]
fn hpcc_incast_of_8() {
    reproduce(hpcc("hpcc/incast8_tiefree"));
}

#[test]
fn hpcc_two_switches_with_a_victim() {
    reproduce(hpcc("hpcc/twoswitch_tiefree"));
}

#[test]
fn datacenter_incast_of_8() {
    reproduce(datacenter("nsdc/incast8_tiefree"));
}
