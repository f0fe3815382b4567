//! Packet-hops per CPU-second with NICs that react: one packet, of data or control, through one
//! switch is one hop.
//!
//! `cargo bench --bench transports [-- NAME…]` prints, for each workload, the median over several
//! runs of CPU seconds of this process. With `once` among the names each workload runs once: for a
//! profiler.
//!
//! - `uet-incast`: 32 senders of 16 MB each into one of 33 hosts on one switch, 400 Gbps, 500 ns,
//!   UET policy, trimming on at switch and NICs, until drained.
//! - `roce-incast`: the same with `roce` NICs and PFC.
//! - `uet-permutation`, `roce-permutation`: 16 leaves × 8 hosts × 8 spines, 4 MB a flow.

use cpu_time::ProcessTime;
use poolsweep::scenario::{NicModel, Scenario};
use poolsweep::sim::observe::Observations;
use poolsweep::sim::random::Seeds;
use poolsweep::sim::traffic::Traces;
use serde_json::{Value, json};

const RUNS: usize = 5;
/// Runs of a workload in one measurement: each takes a fraction of a second.
const REPEATS: u32 = 4;

fn scenario(model: NicModel, parts: Value) -> Scenario {
    let mut all = json!({
        "duration": 1_000_000_000_000u64,
        "until": "drained",
        "nic": {"model": model},
    });
    if let (Some(all), Value::Object(parts)) = (all.as_object_mut(), parts) {
        all.extend(parts);
    }
    serde_json::from_value(all).expect("a scenario")
}

fn single_switch() -> Value {
    json!({"kind": "single-switch", "hosts": 33, "rate": 400_000_000_000u64, "delay": 500_000})
}

fn uet_incast() -> Scenario {
    let parts = json!({
        "topology": single_switch(),
        "switch": {
            "SharedBufferManager": {"UETPolicyEnabled": true, "EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0]},
            "PacketTrimmer": {"TrimmingEnabled": true},
        },
        "nic": {"model": "uet", "ScalaUETPdsManager": {"TrimmingEnabled": true}},
        "traffic": [{"pattern": "incast", "senders": 32, "bytes": 16_000_000}],
    });
    scenario(NicModel::Uet, parts)
}

fn roce_incast() -> Scenario {
    let traffic = json!([{"pattern": "incast", "senders": 32, "bytes": 16_000_000}]);
    scenario(NicModel::Roce, json!({"topology": single_switch(), "traffic": traffic}))
}

fn permutation(model: NicModel) -> Scenario {
    let topology = json!({"kind": "leaf-spine", "leaves": 16, "hosts_per_leaf": 8, "spines": 8});
    let traffic = json!([{"pattern": "permutation", "bytes": 4_000_000}]);
    scenario(model, json!({"topology": topology, "traffic": traffic}))
}

fn run(scenario: &Scenario) -> Observations {
    poolsweep::sim::run(scenario, Seeds::default(), &Traces::default()).expect("a valid scenario")
}

/// CPU seconds of a run, and what it measured.
fn measure(scenario: &Scenario, repeats: u32) -> (f64, Observations) {
    let start = ProcessTime::now();
    let mut last = run(scenario);
    for _ in 1..repeats {
        last = run(scenario);
    }
    (start.elapsed().as_secs_f64() / f64::from(repeats), last)
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let once = names.iter().any(|name| name == "once");
    let workloads: [(&str, Scenario); 4] = [
        ("uet-incast", uet_incast()),
        ("roce-incast", roce_incast()),
        ("uet-permutation", permutation(NicModel::Uet)),
        ("roce-permutation", permutation(NicModel::Roce)),
    ];
    for (name, scenario) in &workloads {
        if names.iter().any(|n| n != "once") && !names.iter().any(|n| n == name) {
            continue;
        }
        let (mut seconds, mut last) = (Vec::new(), Observations::default());
        for _ in 0..if once { 1 } else { RUNS } {
            let (time, observed) = measure(scenario, if once { 1 } else { REPEATS });
            seconds.push(time);
            last = observed;
        }
        seconds.sort_by(f64::total_cmp);
        let (time, t) = (seconds[seconds.len() / 2], last.totals);
        println!(
            "{name:17} {:6.3} s  {:9} hops  {:6.2} M/s  {:.2} events a hop",
            time,
            t.packet_hops,
            t.packet_hops as f64 / time / 1e6,
            t.events as f64 / t.packet_hops as f64,
        );
    }
}
