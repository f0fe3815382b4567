//! Shortest paths as tables: switch and destination to an equal-cost set.

use crate::scenario::links::NetworkPlan;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use thiserror::Error;

/// An equal-cost set of one switch. Sets of one switch with the same members are one set; ids are
/// dense over all switches, those of a switch consecutive ([`Routes::sets_of`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(pub u32);

/// A network in which some host cannot send to some other.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    /// No link ends at a host.
    #[error("host {host} has no link to a switch; connect it or remove it")]
    Unconnected {
        /// The host.
        host: u32,
    },
    /// No path leads to a host.
    #[error("switch {node} has hosts but no path to host {host}; connect the two")]
    NoPath {
        /// Node id of the switch.
        node: u32,
        /// The host.
        host: u32,
    },
}

/// The equal-cost sets of every switch: for a destination all ports that lie on a shortest path
/// in hops, in port order.
///
/// Hosts of one switch are reached alike from every other switch, so that the tables have an entry
/// a pair of switches, not a pair of switch and host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routes {
    /// By host: index among the switches that have hosts.
    edge_of: Vec<u32>,
    /// By host: the set at its own switch, which has its port alone.
    own: Vec<SetId>,
    /// By switch and edge; [`OWN`] where they are one.
    remote: Vec<SetId>,
    edges: usize,
    /// Members of all sets, set by set.
    ports: Vec<u32>,
    /// By set: its part of `ports`.
    sets: Vec<Range<u32>>,
    /// By switch: its part of `sets`.
    of_switch: Vec<Range<u32>>,
}

/// Stands for the sets of the edge's own hosts.
const OWN: SetId = SetId(u32::MAX);
const UNREACHED: u32 = u32::MAX;

impl Routes {
    /// The tables of a network.
    ///
    /// # Errors
    ///
    /// [`RouteError`] where a host has no switch, or a switch with hosts no path to another host.
    pub fn new(network: &NetworkPlan) -> Result<Routes, RouteError> {
        let neighbours = Neighbours::new(network);
        let edges = neighbours.edges()?;
        let distances: Vec<Vec<u32>> =
            edges.switches.iter().map(|&edge| neighbours.distances(edge)).collect();

        let hosts = edges.of_host.len();
        let mut routes = Routes {
            edge_of: edges.of_host,
            own: vec![OWN; hosts],
            remote: Vec::with_capacity(network.switches.len() * edges.switches.len()),
            edges: edges.switches.len(),
            ports: Vec::new(),
            sets: Vec::new(),
            of_switch: Vec::with_capacity(network.switches.len()),
        };
        for (switch, ports) in neighbours.ports.iter().enumerate() {
            let first = routes.sets.len() as u32;
            let has_hosts = ports.iter().any(|node| matches!(node, Node::Host(_)));
            let mut known = BTreeMap::new();
            for (port, neighbour) in (0..).zip(ports) {
                if let Node::Host(host) = *neighbour {
                    routes.own[host as usize] = routes.intern(&mut known, vec![port]);
                }
            }
            for (edge, distance) in distances.iter().enumerate() {
                let here = distance[switch];
                if here == 0 {
                    routes.remote.push(OWN);
                    continue;
                }
                if here == UNREACHED && has_hosts {
                    let host = routes.edge_of.iter().position(|&of| of as usize == edge);
                    let node = network.switches[switch].node;
                    return Err(RouteError::NoPath { node, host: host.unwrap_or(0) as u32 });
                }
                // A switch without hosts that reaches nothing is on no path: an empty set.
                let nearer = |node: &Node| match *node {
                    Node::Switch(peer) => distance[peer] != UNREACHED && distance[peer] < here,
                    Node::Host(_) => false,
                };
                let members = (0..).zip(ports).filter(|(_, node)| nearer(node));
                let members = members.map(|(port, _)| port).collect();
                let set = routes.intern(&mut known, members);
                routes.remote.push(set);
            }
            routes.of_switch.push(first..routes.sets.len() as u32);
        }
        Ok(routes)
    }

    /// The set by which switch `switch` (its place in the network's list) reaches host `dst`.
    ///
    /// # Panics
    ///
    /// If there is no such switch or host.
    #[inline]
    pub fn set(&self, switch: usize, dst: u32) -> SetId {
        let edge = self.edge_of[dst as usize] as usize;
        match self.remote[switch * self.edges + edge] {
            OWN => self.own[dst as usize],
            set => set,
        }
    }

    /// The ports of a set, in port order.
    #[inline]
    pub fn members(&self, set: SetId) -> &[u32] {
        let Range { start, end } = self.sets[set.0 as usize];
        &self.ports[start as usize..end as usize]
    }

    /// The part of all members, numbered set by set, that a set has.
    #[inline]
    pub fn places(&self, set: SetId) -> Range<usize> {
        let Range { start, end } = self.sets[set.0 as usize];
        start as usize..end as usize
    }

    /// Number of sets, of all switches.
    pub fn set_count(&self) -> usize {
        self.sets.len()
    }

    /// Number of members of all sets.
    pub fn place_count(&self) -> usize {
        self.ports.len()
    }

    /// One host of each switch that has hosts: together they stand for every destination.
    pub(super) fn edge_hosts(&self) -> Vec<u32> {
        let mut hosts = vec![0; self.edges];
        for (host, &edge) in (0..).zip(&self.edge_of) {
            hosts[edge as usize] = host;
        }
        hosts
    }

    /// The ids of a switch's sets.
    pub fn sets_of(&self, switch: usize) -> Range<u32> {
        self.of_switch[switch].clone()
    }

    fn intern(&mut self, known: &mut BTreeMap<Vec<u32>, SetId>, members: Vec<u32>) -> SetId {
        if let Some(set) = known.get(&members) {
            return *set;
        }
        let set = SetId(self.sets.len() as u32);
        let from = self.ports.len() as u32;
        self.ports.extend(&members);
        self.sets.push(from..self.ports.len() as u32);
        known.insert(members, set);
        set
    }
}

/// What is at the other end of a port.
#[derive(Debug, Clone, Copy)]
enum Node {
    Host(u32),
    /// By place in the network's list.
    Switch(usize),
}

/// By switch and port: what is there.
struct Neighbours {
    hosts: u32,
    ports: Vec<Vec<Node>>,
}

/// The switches that have hosts.
struct Edges {
    switches: Vec<usize>,
    /// By host: index into `switches`.
    of_host: Vec<u32>,
}

impl Neighbours {
    fn new(network: &NetworkPlan) -> Neighbours {
        let places: BTreeMap<u32, usize> =
            network.switches.iter().map(|switch| switch.node).zip(0..).collect();
        let at = |node: u32| places.get(&node).map_or(Node::Host(node), |&at| Node::Switch(at));
        let switches = network.switches.iter();
        let ports = switches.map(|s| s.ports.iter().map(|port| at(port.peer.node)).collect());
        Neighbours { hosts: network.hosts, ports: ports.collect() }
    }

    fn edges(&self) -> Result<Edges, RouteError> {
        let mut edges = Edges { switches: vec![], of_host: vec![UNREACHED; self.hosts as usize] };
        for (switch, ports) in self.ports.iter().enumerate() {
            let edge = edges.switches.len() as u32;
            let mut has_hosts = false;
            for node in ports {
                if let Node::Host(host) = *node {
                    edges.of_host[host as usize] = edge;
                    has_hosts = true;
                }
            }
            if has_hosts {
                edges.switches.push(switch);
            }
        }
        match edges.of_host.iter().position(|&edge| edge == UNREACHED) {
            Some(host) => Err(RouteError::Unconnected { host: host as u32 }),
            None => Ok(edges),
        }
    }

    /// Hops from every switch to one of them, breadth first; hosts do not forward.
    fn distances(&self, to: usize) -> Vec<u32> {
        let mut distances = vec![UNREACHED; self.ports.len()];
        distances[to] = 0;
        let mut queue = VecDeque::from([to]);
        while let Some(switch) = queue.pop_front() {
            for node in &self.ports[switch] {
                if let Node::Switch(peer) = *node
                    && distances[peer] == UNREACHED
                {
                    distances[peer] = distances[switch] + 1;
                    queue.push_back(peer);
                }
            }
        }
        distances
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use crate::scenario::links::{LinkEnd, PortPlan, SwitchPlan, network};
    use serde_json::json;

    fn plan(topology: serde_json::Value) -> NetworkPlan {
        let scenario: Scenario = serde_json::from_value(json!({
            "duration": 1, "topology": topology, "traffic": [],
        }))
        .expect("a scenario");
        network(&scenario).expect("a network")
    }

    /// Switches by the nodes at their ports; hosts are nodes 0 to `hosts` − 1.
    fn wired(hosts: u32, switches: &[(u32, &[u32])]) -> NetworkPlan {
        let switch = |&(node, peers): &(u32, &[u32])| {
            let port =
                |&peer| PortPlan { link: 0, peer: LinkEnd { node: peer, port: 0 }, up: false };
            SwitchPlan { node, ports: peers.iter().map(port).collect() }
        };
        NetworkPlan { hosts, switches: switches.iter().map(switch).collect(), links: Vec::new() }
    }

    #[test]
    fn one_switch_sends_to_the_hosts_port() {
        let routes = Routes::new(&plan(json!({"kind": "single-switch", "hosts": 33}))).unwrap();
        for host in 0..33 {
            assert_eq!(routes.members(routes.set(0, host)), [host]);
        }
        assert_eq!(routes.sets_of(0), 0..33);
    }

    #[test]
    fn a_leaf_uses_all_up_links_and_a_spine_the_parallel_ones() {
        let routes = Routes::new(&plan(json!({
            "kind": "leaf-spine", "leaves": 3, "hosts_per_leaf": 4, "spines": 2,
            "links_per_spine": 2,
        })))
        .unwrap();
        for leaf in 0..3u32 {
            for host in 0..12 {
                let set = routes.set(leaf as usize, host);
                match host / 4 == leaf {
                    true => assert_eq!(routes.members(set), [host % 4]),
                    false => assert_eq!(routes.members(set), [4, 5, 6, 7]),
                }
            }
            // Four hosts, and one set for all that is beyond the spines.
            assert_eq!(routes.sets_of(leaf as usize), 5 * leaf..5 * leaf + 5);
        }
        for spine in 3..5 {
            for host in 0..12 {
                let leaf = host / 4;
                assert_eq!(routes.members(routes.set(spine, host)), [2 * leaf, 2 * leaf + 1]);
            }
            assert_eq!(routes.sets_of(spine).len(), 3);
        }
        assert_eq!(routes.sets_of(4).end as usize, routes.sets.len());
    }

    #[test]
    fn only_shortest_paths_are_taken() {
        // A ring of four switches, a host at each, and a chord from the first to the third.
        let routes = Routes::new(&wired(
            4,
            &[(4, &[0, 5, 7, 6]), (5, &[1, 4, 6]), (6, &[2, 5, 7, 4]), (7, &[3, 6, 4])],
        ))
        .unwrap();
        let members = |switch, host| routes.members(routes.set(switch, host));
        assert_eq!(members(0, 2), [3], "the chord is shorter than both ways round");
        assert_eq!(members(1, 3), [1, 2], "either way round");
        assert_eq!(members(3, 1), [1, 2]);
        assert_eq!(members(0, 1), [1]);
    }

    #[test]
    fn every_hop_comes_nearer_in_three_tiers() {
        // Four edges below two aggregations each of two pods, two cores.
        let routes_of = wired(
            4,
            &[
                (4, &[0, 8, 9]),
                (5, &[1, 8, 9]),
                (6, &[2, 10, 11]),
                (7, &[3, 10, 11]),
                (8, &[4, 5, 12]),
                (9, &[4, 5, 13]),
                (10, &[6, 7, 12]),
                (11, &[6, 7, 13]),
                (12, &[8, 10]),
                (13, &[9, 11]),
            ],
        );
        let routes = Routes::new(&routes_of).unwrap();
        for start in 0..10usize {
            for dst in 0..4u32 {
                // Follow every choice: all arrive within five switches.
                let mut here = vec![start];
                for hop in 0.. {
                    assert!(hop < 5, "from switch {start} to host {dst}");
                    let mut next = Vec::new();
                    for switch in here {
                        for &port in routes.members(routes.set(switch, dst)) {
                            let peer = routes_of.switches[switch].ports[port as usize].peer.node;
                            match peer < 4 {
                                true => assert_eq!(peer, dst),
                                false => next.push(peer as usize - 4),
                            }
                        }
                    }
                    if next.is_empty() {
                        break;
                    }
                    here = next;
                }
            }
        }
        assert_eq!(routes.members(routes.set(0, 3)), [1, 2]);
        assert_eq!(routes.members(routes.set(8, 3)), [1]);
    }

    #[test]
    fn a_network_in_pieces_is_refused() {
        let error = Routes::new(&wired(2, &[(2, &[0]), (3, &[1])])).unwrap_err();
        assert_eq!(error.to_string(), "switch 2 has hosts but no path to host 1; connect the two");
        let error = Routes::new(&wired(2, &[(2, &[0])])).unwrap_err();
        assert_eq!(error, RouteError::Unconnected { host: 1 });
        // A switch that nobody needs does no harm.
        let routes = Routes::new(&wired(2, &[(2, &[0, 1]), (3, &[])])).unwrap();
        assert!(routes.members(routes.set(1, 0)).is_empty());
    }

    #[test]
    fn tables_are_small() {
        let routes = Routes::new(&plan(json!({
            "kind": "leaf-spine", "leaves": 32, "hosts_per_leaf": 32, "spines": 32,
        })))
        .unwrap();
        assert_eq!(routes.remote.len(), 64 * 32);
        assert_eq!(routes.sets.len(), 32 * 33 + 32 * 32);
        assert_eq!(routes.ports.len(), 32 * (32 + 32) + 32 * 32);
    }
}
