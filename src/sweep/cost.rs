//! How much work a job is, roughly.
//!
//! Owns an estimate in packet-hops, for progress and for running long jobs first. Refuses to be
//! exact: only ratios matter, so drops, pauses and rate caps are left out.

use crate::scenario::{RingSteps, Scenario, Sizes, Topology, Traffic, Until};
use crate::units::Bytes;

/// Bytes of a frame beyond its IP bytes, roughly.
const OVERHEAD: f64 = 26.0;
const DEFAULT_RATE: f64 = 400e9;

/// Packet-hops a job takes, at least 1.
pub(crate) fn estimate(scenario: &Scenario) -> f64 {
    let hosts = scenario.topology.hosts() as f64;
    let (rate, hops) = match &scenario.topology {
        Topology::SingleSwitch { rate, .. } => (rate, 1.0),
        Topology::LeafSpine { leaves, rate, .. } => {
            // One switch inside a leaf, three across.
            let leaves = f64::from((*leaves).max(1));
            (rate, 1.0 / leaves + 3.0 * (leaves - 1.0) / leaves)
        }
    };
    let rate = rate.map_or(DEFAULT_RATE, |r| r.0 as f64);
    let time = scenario.duration.0 as f64 * 1e-12;
    let drained = scenario.until == Until::Drained;
    let total: f64 = scenario.traffic.iter().map(|t| packets(t, hosts, rate, time, drained)).sum();
    (total * hops).max(1.0)
}

fn packets(traffic: &Traffic, hosts: f64, rate: f64, time: f64, drained: bool) -> f64 {
    let count = |bytes: f64, packet: Bytes| (bytes / packet.0.max(1) as f64).ceil();
    // What `links` links can carry in the time there is.
    let carried =
        |links: f64, packet: Bytes| links * rate * time / 8.0 / (packet.0.max(1) as f64 + OVERHEAD);
    let bounded = |wanted: f64, links: f64, packet: Bytes| {
        if drained { wanted } else { wanted.min(carried(links, packet)) }
    };
    match traffic {
        Traffic::Incast(t) => {
            let senders = f64::from(t.senders);
            bounded(senders * count(t.bytes.0 as f64, t.common.packet), senders, t.common.packet)
        }
        Traffic::Permutation(t) => {
            bounded(hosts * count(t.bytes.0 as f64, t.common.packet), hosts, t.common.packet)
        }
        Traffic::AllToAll(t) => {
            let flows = hosts * (hosts - 1.0);
            bounded(flows * count(t.bytes.0 as f64, t.common.packet), hosts, t.common.packet)
        }
        Traffic::Ring(t) => {
            let (flows, bytes) = match t.steps {
                RingSteps::One => (hosts, t.bytes.0 as f64),
                RingSteps::AllReduce => {
                    (hosts * 2.0 * (hosts - 1.0), (t.bytes.0 as f64 / hosts.max(1.0)).ceil())
                }
            };
            bounded(flows * count(bytes, t.common.packet), hosts, t.common.packet)
        }
        Traffic::Uniform(t) => {
            let length = t.length.map_or(time, |l| (l.0 as f64 * 1e-12).min(time));
            // Short flows end in short packets.
            let packet = match (t.bytes, t.sizes) {
                (Some(bytes), _) => bytes.0.min(t.common.packet.0),
                (None, Some(Sizes::GoogleRpc)) => t.common.packet.0.min(1_000),
                _ => t.common.packet.0,
            };
            hosts * t.load.max(0.0) * rate * length / 8.0 / (packet.max(1) as f64 + OVERHEAD)
        }
        Traffic::OnOff(t) => {
            let period = (t.on.0 as f64 + t.off.0 as f64).max(1.0);
            let share = t.on.0 as f64 / period;
            let own = t.common.rate.map_or(rate, |r| (r.0 as f64).min(rate)) / rate;
            f64::from(t.senders) * share * own * carried(1.0, t.common.packet)
        }
        Traffic::Flows(t) => t
            .flows
            .iter()
            .map(|f| count(f.bytes.0 as f64, f.packet.unwrap_or(t.common.packet)))
            .sum(),
        Traffic::Collective(t) => {
            let payload = t.common.packet.0;
            bounded(t.packets(hosts as u64, payload) as f64, hosts, t.common.packet)
        }
        // The file is not read for an estimate: half of what the hosts could send.
        Traffic::Trace(t) => 0.5 * carried(hosts, t.common.packet),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cost(scenario: serde_json::Value) -> f64 {
        estimate(&serde_json::from_value(scenario).unwrap())
    }

    #[test]
    fn an_incast_costs_its_packets() {
        let incast =
            json!({"pattern": "incast", "senders": 32, "bytes": 4_000_000, "packet": 4_000});
        let topology = json!({"kind": "single-switch", "hosts": 33});
        let base = json!({"duration": 1e12 as u64, "topology": topology, "traffic": [incast]});
        assert_eq!(cost(base.clone()), 32_000.0);
        let mut short = base;
        short["duration"] = json!(1_000_000);
        assert!(cost(short) < 1_000.0);
    }

    #[test]
    fn a_collective_costs_its_packets_and_those_of_its_barriers() {
        let ring = json!({"pattern": "collective", "operation": "all-reduce", "bytes": 64_000,
            "repeat": 10});
        let topology = json!({"kind": "single-switch", "hosts": 8});
        let job = json!({"duration": 1e12 as u64, "topology": topology, "traffic": [ring]});
        assert_eq!(cost(job), 10.0 * (14.0 + 112.0 * 2.0));
    }

    #[test]
    fn load_costs_by_time_and_hops() {
        let with = |topology: serde_json::Value, duration: u64| {
            cost(json!({"duration": duration, "topology": topology,
                "traffic": [{"pattern": "uniform", "load": 0.8, "bytes": 1_000_000}]}))
        };
        let single = json!({"kind": "single-switch", "hosts": 16});
        let fabric = json!({"kind": "leaf-spine", "leaves": 4, "hosts_per_leaf": 4, "spines": 2});
        let a = with(single.clone(), 1_000_000_000);
        assert!((with(single, 2_000_000_000) / a - 2.0).abs() < 1e-9);
        assert!((with(fabric, 1_000_000_000) / a - 2.5).abs() < 1e-9);
    }
}
