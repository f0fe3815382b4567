//! How much work a job is, roughly.
//!
//! Owns an estimate in packet-hops, for progress and for running long jobs first. Refuses to be
//! exact: only ratios matter, so drops, pauses, rate caps and retransmissions are left out.

use crate::scenario::{RingSteps, Scenario, Sizes, Topology, Traffic, Until};
use crate::units::Bytes;

/// Bytes of a frame beyond its IP bytes, roughly.
const OVERHEAD: f64 = 26.0;
const DEFAULT_RATE: f64 = 400e9;
/// Packets a reactive sender has under way before it hears anything, roughly.
const FIRST_WINDOW: f64 = 100.0;

/// Packet-hops a job takes, at least 1.
pub(crate) fn estimate(scenario: &Scenario) -> f64 {
    let hosts = scenario.topology.hosts() as f64;
    let (rate, hops) = match &scenario.topology {
        Topology::SingleSwitch { rate, .. } => (*rate, 1.0),
        Topology::LeafSpine { leaves, rate, .. } => {
            // One switch inside a leaf, three across.
            let leaves = f64::from((*leaves).max(1));
            (*rate, 1.0 / leaves + 3.0 * (leaves - 1.0) / leaves)
        }
        Topology::FatTree(tree) => {
            // One switch inside a leaf, three inside a pod, five across.
            let half = tree.k.map(|k| k / 2);
            let pods = f64::from(tree.pods.or(tree.k).unwrap_or(1).max(1));
            let leaves = f64::from(tree.leaves_per_pod.or(half).unwrap_or(1).max(1));
            let all = pods * leaves;
            (tree.rate, 5.0 - 2.0 * leaves / all - 2.0 / all)
        }
        Topology::Explicit(own) => {
            let tiers = own.nodes.iter().filter_map(|node| node.tier).max().unwrap_or_default();
            let first = own.links.first().and_then(|link| link.rate);
            (own.rate.or(first), 1.0 + 2.0 * f64::from(tiers as u8))
        }
    };
    let rate = rate.map_or(DEFAULT_RATE, |r| r.0 as f64);
    let time = scenario.duration.0 as f64 * 1e-12;
    let drained = scenario.until == Until::Drained;
    // Reactive NICs cut flows themselves, and answer.
    let mss = scenario.nic.packets().map(|own| own.mss);
    let answers = scenario.nic.answers();
    let total: f64 =
        scenario.traffic.iter().map(|t| packets(t, hosts, rate, time, drained, mss)).sum();
    (total * hops * (1.0 + answers)).max(1.0)
}

/// Data packets of an entry; with `mss` the NICs are reactive.
fn packets(
    traffic: &Traffic,
    hosts: f64,
    rate: f64,
    time: f64,
    drained: bool,
    mss: Option<u64>,
) -> f64 {
    let own = |packet: Bytes| mss.map_or(packet, Bytes);
    let packet = own(traffic.common().packet);
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
            let wanted = senders * count(t.bytes.0 as f64, packet);
            if mss.is_none() {
                return bounded(wanted, senders, packet);
            }
            // Beyond the first windows it is the receiver's link that paces them.
            let first = senders * FIRST_WINDOW;
            if drained { wanted } else { wanted.min(first + carried(1.0, packet)) }
        }
        Traffic::Permutation(t) => bounded(hosts * count(t.bytes.0 as f64, packet), hosts, packet),
        Traffic::AllToAll(t) => {
            let flows = hosts * (hosts - 1.0);
            bounded(flows * count(t.bytes.0 as f64, packet), hosts, packet)
        }
        Traffic::Ring(t) => {
            let (flows, bytes) = match t.steps {
                RingSteps::One => (hosts, t.bytes.0 as f64),
                RingSteps::AllReduce => {
                    (hosts * 2.0 * (hosts - 1.0), (t.bytes.0 as f64 / hosts.max(1.0)).ceil())
                }
            };
            bounded(flows * count(bytes, packet), hosts, packet)
        }
        Traffic::Uniform(t) => {
            let length = t.length.map_or(time, |l| (l.0 as f64 * 1e-12).min(time));
            // Short flows end in short packets.
            let most = packet.0;
            let packet = match (t.bytes, t.sizes) {
                (Some(bytes), _) => bytes.0.min(most),
                (None, Some(Sizes::GoogleRpc)) => most.min(1_000),
                _ => most,
            };
            hosts * t.load.max(0.0) * rate * length / 8.0 / (packet.max(1) as f64 + OVERHEAD)
        }
        Traffic::OnOff(t) => {
            let period = (t.on.0 as f64 + t.off.0 as f64).max(1.0);
            let share = t.on.0 as f64 / period;
            let own = t.common.rate.map_or(rate, |r| (r.0 as f64).min(rate)) / rate;
            f64::from(t.senders) * share * own * carried(1.0, packet)
        }
        Traffic::Flows(t) => {
            t.flows.iter().map(|f| count(f.bytes.0 as f64, f.packet.map_or(packet, own))).sum()
        }
        Traffic::Collective(t) => {
            let payload = packet.0;
            bounded(t.packets(hosts as u64, payload) as f64, hosts, packet)
        }
        // The file is not read for an estimate: half of what the hosts could send.
        Traffic::Trace(_) => 0.5 * carried(hosts, packet),
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
    fn a_reactive_incast_costs_its_answers_and_waits_for_its_receiver() {
        let of = |nic: serde_json::Value, duration: u64| {
            cost(json!({"duration": duration, "nic": nic,
                "topology": {"kind": "single-switch", "hosts": 33},
                "traffic": [{"pattern": "incast", "senders": 32, "bytes": 4_096_000}]}))
        };
        let long = 1_000_000_000_000;
        assert_eq!(of(json!({"model": "uet"}), long), 64_000.0);
        let rare = json!({"model": "uet", "ScalaUETPdsManager": {"AckRequestEveryNthPacket": 8}});
        assert_eq!(of(rare, long), 36_000.0);
        let roce = of(json!({"model": "roce"}), long);
        assert!((roce - 32_000.0 * 18.0 / 17.0).abs() < 1e-6);
        // 1 ms brings some 12,130 packets over one link, not 32 times that.
        let short = of(json!({"model": "uet"}), 1_000_000_000);
        assert!((30_000.0..31_000.0).contains(&short), "{short}");
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
