//! Packet-hops per CPU-second of the buffer models of HPCC's ns-3 code and of ns3-datacenter, and of
//! a large fat-tree against one switch.
//!
//! `cargo bench --bench models [-- NAME…]` prints, for each workload, the median over several runs
//! of CPU seconds of this process. One packet, of data or control, through one switch is one hop.
//! With `once` among the names each workload runs once: for a profiler.
//!
//! - `hpcc-incast`, `ns3-incast`: 32 senders of 16 MB each into one of 33 hosts on one switch,
//!   100 Gbps, 1 us, PFC, NICs at line rate, until drained.
//! - `hpcc-permutation`, `ns3-permutation`: 16 leaves × 8 hosts × 8 spines, 2 MB a flow.
//! - `one-switch`, `fat-tree`: an open-loop permutation of 1,024 hosts, 400 kB a flow in 4,184 B
//!   packets, on one switch and on the fat-tree of k = 16.

use cpu_time::ProcessTime;
use poolsweep::scenario::Scenario;
use poolsweep::sim::observe::Observations;
use poolsweep::sim::random::Seeds;
use poolsweep::sim::traffic::Traces;
use serde_json::{Value, json};

const RUNS: usize = 5;

fn scenario(parts: Value) -> Scenario {
    let mut all = json!({"duration": 1_000_000_000_000u64, "until": "drained"});
    if let (Some(all), Value::Object(parts)) = (all.as_object_mut(), parts) {
        all.extend(parts);
    }
    serde_json::from_value(all).expect("a scenario")
}

fn incast(model: &str) -> Scenario {
    scenario(json!({
        "topology": {"kind": "single-switch", "hosts": 33, "rate": 100_000_000_000u64,
            "delay": 1_000_000},
        "switch": {"model": model},
        "nic": {"model": "hpcc"},
        "traffic": [{"pattern": "incast", "senders": 32, "bytes": 16_000_000, "dscp": 24}],
    }))
}

fn permutation(model: &str) -> Scenario {
    scenario(json!({
        "topology": {"kind": "leaf-spine", "leaves": 16, "hosts_per_leaf": 8, "spines": 8,
            "rate": 100_000_000_000u64, "delay": 1_000_000},
        "switch": {"model": model},
        "nic": {"model": "hpcc"},
        "traffic": [{"pattern": "permutation", "bytes": 2_000_000, "dscp": 24}],
    }))
}

fn large(topology: Value) -> Scenario {
    scenario(json!({
        "topology": topology,
        "switch": {"SharedBufferManager": {"HeadRoomPerPortLimit": 60_000}},
        "traffic": [{"pattern": "permutation", "bytes": 400_000, "packet": 4_184, "dscp": 8}],
    }))
}

fn run(scenario: &Scenario) -> Observations {
    poolsweep::sim::run(scenario, Seeds::default(), &Traces::default()).expect("a valid scenario")
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let once = names.iter().any(|name| name == "once");
    let workloads: [(&str, Scenario); 6] = [
        ("hpcc-incast", incast("hpcc")),
        ("ns3-incast", incast("ns3-datacenter")),
        ("hpcc-permutation", permutation("hpcc")),
        ("ns3-permutation", permutation("ns3-datacenter")),
        ("one-switch", large(json!({"kind": "single-switch", "hosts": 1_024}))),
        ("fat-tree", large(json!({"kind": "fat-tree", "k": 16}))),
    ];
    for (name, scenario) in &workloads {
        if names.iter().any(|n| n != "once") && !names.iter().any(|n| n == name) {
            continue;
        }
        let mut last = Observations::default();
        let mut seconds: Vec<f64> = (0..if once { 1 } else { RUNS })
            .map(|_| {
                let start = ProcessTime::now();
                last = run(scenario);
                start.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        let (time, t) = (seconds[seconds.len() / 2], &last.totals);
        println!(
            "{name:17} {time:6.3} s  {:9} hops  {:6.2} M/s  {:.2} events a hop",
            t.packet_hops,
            t.packet_hops as f64 / time / 1e6,
            t.events as f64 / t.packet_hops as f64,
        );
    }
}
