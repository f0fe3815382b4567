//! Whether paths can wait for one another in a circle.
//!
//! A frame that waits for a link waits, in the end, for the links its successors take from the
//! link's far end. Where these waits cannot close a circle, lossless traffic cannot lock up.

use super::Routes;
use crate::scenario::links::NetworkPlan;

/// Steps after which a network is taken for one that may.
const STEPS: usize = 100_000_000;

/// Whether the links of a network, as its routes use them, can wait for one another in a circle.
///
/// Never true where every path goes up and then down again. A network too large to tell (over
/// 100 million steps) counts as one that may.
pub fn may_circle(network: &NetworkPlan, routes: &Routes) -> bool {
    let mut first = Vec::with_capacity(network.switches.len());
    let mut count = 0;
    for switch in &network.switches {
        first.push(count);
        count += switch.ports.len();
    }
    let place = |switch: usize, port: u32| first[switch] + port as usize;
    let mut waits: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut steps = 0;
    for dst in routes.edge_hosts() {
        for (switch, own) in network.switches.iter().enumerate() {
            for &port in routes.members(routes.set(switch, dst)) {
                let peer = own.ports[port as usize].peer.node;
                let Some(next) = peer.checked_sub(network.hosts) else { continue };
                let next = next as usize;
                let members = routes.members(routes.set(next, dst));
                steps += members.len();
                let from = &mut waits[place(switch, port)];
                for &further in members {
                    if network.switches[next].ports[further as usize].peer.node >= network.hosts {
                        from.push(place(next, further) as u32);
                    }
                }
            }
        }
        if steps > STEPS {
            return true;
        }
        for list in &mut waits {
            list.sort_unstable();
            list.dedup();
        }
    }
    closes(&waits)
}

/// Whether a graph has a circle: what is left when nodes that wait for none are taken away.
fn closes(waits: &[Vec<u32>]) -> bool {
    let mut waiting: Vec<usize> = waits.iter().map(Vec::len).collect();
    let mut waited_by: Vec<Vec<u32>> = vec![Vec::new(); waits.len()];
    for (node, list) in (0u32..).zip(waits) {
        for &of in list {
            waited_by[of as usize].push(node);
        }
    }
    let mut free: Vec<usize> = (0..waits.len()).filter(|&node| waiting[node] == 0).collect();
    let mut gone = 0;
    while let Some(node) = free.pop() {
        gone += 1;
        for &by in &waited_by[node] {
            waiting[by as usize] -= 1;
            if waiting[by as usize] == 0 {
                free.push(by as usize);
            }
        }
    }
    gone < waits.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use crate::scenario::links::network;
    use serde_json::json;

    fn circles(topology: serde_json::Value) -> bool {
        let scenario: Scenario = serde_json::from_value(json!({
            "duration": 1, "topology": topology, "traffic": [],
        }))
        .unwrap();
        let network = network(&scenario).unwrap();
        may_circle(&network, &Routes::new(&network).unwrap())
    }

    fn ring(switches: u32) -> serde_json::Value {
        let name = |kind: &str, at: u32| format!("{kind}{}", at % switches);
        let node = |kind: &str, at| json!({"name": name(&kind[..1], at), "kind": kind});
        let nodes: Vec<_> =
            (0..switches).flat_map(|at| [node("host", at), node("switch", at)]).collect();
        let links: Vec<_> = (0..switches)
            .flat_map(|at| {
                [
                    json!({"a": name("h", at), "b": name("s", at)}),
                    json!({"a": name("s", at), "b": name("s", at + 1)}),
                ]
            })
            .collect();
        json!({"kind": "explicit", "nodes": nodes, "links": links})
    }

    #[test]
    fn rings_of_more_than_three_close_and_trees_do_not() {
        assert!(!circles(ring(3)), "every way is one hop");
        assert!(circles(ring(4)), "hosts across have both ways");
        assert!(circles(ring(5)));
        assert!(!circles(json!({"kind": "fat-tree", "k": 4})));
        assert!(!circles(json!({"kind": "leaf-spine", "leaves": 3, "hosts_per_leaf": 2,
            "spines": 2, "links_per_spine": 2})));
        assert!(!circles(json!({"kind": "single-switch", "hosts": 4})));
    }
}
