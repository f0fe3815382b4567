//! The regular topologies: one switch, two tiers, three tiers.

use super::speeds::{Said, speeds};
use super::wiring::{Pair, wire};
use super::{
    Layer, LinkKind, LinksError, MAX_HOSTS, MAX_LINKS, MAX_PORTS, NetworkPlan, Outline, Shape,
    SwitchKind, Tier, count, reactive, refuse,
};
use crate::scenario::Scenario;
use crate::scenario::topology::{FatTree, Topology};
use crate::units::{BitRate, Ps};

/// Counts of a tree of one to three tiers; every product of them that makes nodes or links has
/// been found to fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    hosts_per_leaf: u32,
    pods: u32,
    leaves_per_pod: u32,
    /// Switches above the leaves of a pod: aggregation switches, or the spines of two tiers.
    above: u32,
    links_above: u32,
    /// Top switches above each of those, and the parallel links to each.
    plane: u32,
    links_top: u32,
    /// Rate and delay of host links, of those above the leaves, and of those to the top.
    speeds: Vec<(u64, u64)>,
}

impl Tree {
    fn leaves(&self) -> u32 {
        self.pods * self.leaves_per_pod
    }

    fn hosts(&self) -> u32 {
        self.leaves() * self.hosts_per_leaf
    }

    /// Every node and link.
    pub fn network(&self) -> NetworkPlan {
        let (hosts, leaves) = (self.hosts(), self.leaves());
        let middle = self.pods * self.above;
        let top = self.above * self.plane;
        let mut pairs = Vec::new();
        let mut link = |lower, upper, layer: usize| {
            let (rate, delay) = self.speeds[layer];
            pairs.push(Pair { lower, upper, rate, delay });
        };
        for host in 0..hosts {
            link(host, hosts + host / self.hosts_per_leaf, 0);
        }
        for leaf in 0..leaves {
            let pod = leaf / self.leaves_per_pod;
            for above in pod * self.above..(pod + 1) * self.above {
                for _ in 0..self.links_above {
                    link(hosts + leaf, hosts + leaves + above, 1);
                }
            }
        }
        if self.plane > 0 {
            for lower in 0..middle {
                let plane = lower % self.above;
                for spine in plane * self.plane..(plane + 1) * self.plane {
                    for _ in 0..self.links_top {
                        link(hosts + leaves + lower, hosts + leaves + middle + spine, 2);
                    }
                }
            }
        }
        wire(hosts, (leaves + middle + top) as usize, &pairs)
    }
}

fn kind(count: u64, (rate, delay): (u64, u64)) -> LinkKind {
    LinkKind { count, rate, delay }
}

/// Host i on port i of one switch.
pub(super) fn single_switch(
    scenario: &Scenario,
    hosts: u32,
    rate: Option<BitRate>,
    delay: Option<Ps>,
) -> Result<Outline, LinksError> {
    count("topology.hosts", u64::from(hosts), 2, MAX_HOSTS)?;
    let said = Said::new("topology.rate", rate, "topology.delay", delay);
    let speed = speeds(scenario, &said, None, Tier::Single)?;
    let links = kind(u64::from(hosts), speed);
    let tree = Tree {
        hosts_per_leaf: hosts,
        pods: 1,
        leaves_per_pod: 1,
        above: 0,
        links_above: 0,
        plane: 0,
        links_top: 0,
        speeds: vec![speed],
    };
    Ok(Outline {
        hosts,
        host_links: links,
        layers: vec![Layer { lower: "host", upper: Tier::Single.name(), links }],
        kinds: vec![SwitchKind {
            tier: Tier::Single,
            count: 1,
            down: hosts,
            up: 0,
            links: vec![links],
        }],
        reactive: reactive(scenario, hosts),
        shape: Shape::Tree(tree),
    })
}

/// Every leaf on every spine.
pub(super) fn leaf_spine(scenario: &Scenario) -> Result<Outline, LinksError> {
    let &Topology::LeafSpine {
        leaves,
        hosts_per_leaf,
        spines,
        links_per_spine,
        rate,
        delay,
        fabric_rate,
        fabric_delay,
    } = &scenario.topology
    else {
        unreachable!("only called for this topology")
    };
    let size = u64::from;
    count("topology.leaves", size(leaves), 1, MAX_HOSTS)?;
    count("topology.hosts_per_leaf", size(hosts_per_leaf), 1, MAX_HOSTS)?;
    count("topology.spines", size(spines), 1, MAX_PORTS)?;
    count("topology.links_per_spine", size(links_per_spine), 1, MAX_PORTS)?;
    let hosts = host_count(size(leaves), hosts_per_leaf)?;
    let up = size(spines) * size(links_per_spine);
    let spine_ports = size(leaves) * size(links_per_spine);
    let fabric = up * size(leaves);
    let widest = spine_ports.max(up + size(hosts_per_leaf));
    room("topology.links_per_spine", links_per_spine, widest, fabric + size(hosts))?;
    // Both fit: they are at most the widest switch's ports.
    let (up, spine_ports) = (up as u32, spine_ports as u32);
    let host_said = Said::new("topology.rate", rate, "topology.delay", delay);
    let fabric_said = Said::new(
        "topology.fabric_rate",
        fabric_rate.or(rate),
        "topology.fabric_delay",
        fabric_delay.or(delay),
    );
    let host_speed = speeds(scenario, &host_said, None, Tier::Leaf)?;
    let fabric_speed = speeds(scenario, &fabric_said, Some(Tier::Leaf), Tier::Spine)?;
    let (host_links, fabric) = (kind(size(hosts), host_speed), kind(fabric, fabric_speed));
    Ok(Outline {
        hosts,
        host_links,
        layers: vec![
            Layer { lower: "host", upper: "leaf", links: host_links },
            Layer { lower: "leaf", upper: "spine", links: fabric },
        ],
        kinds: vec![
            SwitchKind {
                tier: Tier::Leaf,
                count: size(leaves),
                down: hosts_per_leaf,
                up,
                links: vec![host_links, fabric],
            },
            SwitchKind {
                tier: Tier::Spine,
                count: size(spines),
                down: spine_ports,
                up: 0,
                links: vec![fabric],
            },
        ],
        reactive: reactive(scenario, hosts),
        shape: Shape::Tree(Tree {
            hosts_per_leaf,
            pods: 1,
            leaves_per_pod: leaves,
            above: spines,
            links_above: links_per_spine,
            plane: 0,
            links_top: 0,
            speeds: vec![host_speed, fabric_speed],
        }),
    })
}

/// Three tiers.
pub(super) fn fat_tree(scenario: &Scenario, own: &FatTree) -> Result<Outline, LinksError> {
    if let Some(k) = own.k.filter(|k| k % 2 != 0 || !(2..=MAX_PORTS as u32).contains(k)) {
        return refuse("topology.k", k, format!("must be an even number, 2 to {MAX_PORTS}"));
    }
    let half = own.k.map(|k| u64::from(k / 2));
    let given =
        |attribute: &'static str, said: Option<u32>, classic: Option<u64>, max: u64| match said
            .map(u64::from)
            .or(classic)
        {
            Some(value) => count(attribute, value, 1, max).map(|()| value),
            None => refuse(attribute, "nothing", "give it, or `k` for a classic fat tree"),
        };
    let pods = given("topology.pods", own.pods, own.k.map(u64::from), MAX_HOSTS)?;
    let leaves_per_pod = given("topology.leaves_per_pod", own.leaves_per_pod, half, MAX_PORTS)?;
    let hosts_per_leaf = given("topology.hosts_per_leaf", own.hosts_per_leaf, half, MAX_HOSTS)?;
    let above = given("topology.aggregations_per_pod", own.aggregations_per_pod, half, MAX_PORTS)?;
    let classic = half.map(|half| half * half);
    let spines = given("topology.spines", own.spines, classic, MAX_LINKS)?;
    if spines % above != 0 {
        let rule = format!(
            "must be a multiple of aggregations_per_pod = {above}: every aggregation switch of a \
             pod has a plane of spines of its own"
        );
        return refuse("topology.spines", spines, rule);
    }
    let links_above = u64::from(own.links_per_aggregation);
    let links_top = u64::from(own.links_per_spine);
    count("topology.links_per_aggregation", links_above, 1, MAX_PORTS)?;
    count("topology.links_per_spine", links_top, 1, MAX_PORTS)?;
    let hosts = host_count(pods * leaves_per_pod, hosts_per_leaf as u32)?;
    let plane = spines / above;
    // The leaves are no more than the hosts: no product below leaves 64 bits.
    let leaves = pods * leaves_per_pod;
    let leaf_up = above * links_above;
    let (middle_down, middle_up) = (leaves_per_pod * links_above, plane * links_top);
    let top_down = pods * links_top;
    let (lower_links, upper_links) =
        (leaves.saturating_mul(leaf_up), (pods * above).saturating_mul(middle_up));
    let links = lower_links.saturating_add(upper_links).saturating_add(u64::from(hosts));
    let widest = (hosts_per_leaf + leaf_up).max(middle_down + middle_up).max(top_down);
    room("topology.links_per_spine", own.links_per_spine, widest, links)?;
    let fabric_rate = own.fabric_rate.or(own.rate);
    let fabric_delay = own.fabric_delay.or(own.delay);
    let said = [
        Said::new("topology.rate", own.rate, "topology.delay", own.delay),
        Said::new("topology.fabric_rate", fabric_rate, "topology.fabric_delay", fabric_delay),
        Said::new(
            "topology.spine_rate",
            own.spine_rate.or(fabric_rate),
            "topology.spine_delay",
            own.spine_delay.or(fabric_delay),
        ),
    ];
    let speeds = vec![
        speeds(scenario, &said[0], None, Tier::Leaf)?,
        speeds(scenario, &said[1], Some(Tier::Leaf), Tier::Aggregation)?,
        speeds(scenario, &said[2], Some(Tier::Aggregation), Tier::Spine)?,
    ];
    let host_links = kind(u64::from(hosts), speeds[0]);
    let (lower, upper) = (kind(lower_links, speeds[1]), kind(upper_links, speeds[2]));
    let switches = |tier, count, down: u64, up: u64, links| SwitchKind {
        tier,
        count,
        down: down as u32,
        up: up as u32,
        links,
    };
    Ok(Outline {
        hosts,
        host_links,
        layers: vec![
            Layer { lower: "host", upper: "leaf", links: host_links },
            Layer { lower: "leaf", upper: "aggregation", links: lower },
            Layer { lower: "aggregation", upper: "spine", links: upper },
        ],
        kinds: vec![
            switches(Tier::Leaf, leaves, hosts_per_leaf, leaf_up, vec![host_links, lower]),
            switches(Tier::Aggregation, pods * above, middle_down, middle_up, vec![lower, upper]),
            switches(Tier::Spine, spines, top_down, 0, vec![upper]),
        ],
        reactive: reactive(scenario, hosts),
        shape: Shape::Tree(Tree {
            hosts_per_leaf: hosts_per_leaf as u32,
            pods: pods as u32,
            leaves_per_pod: leaves_per_pod as u32,
            above: above as u32,
            links_above: links_above as u32,
            plane: plane as u32,
            links_top: links_top as u32,
            speeds,
        }),
    })
}

/// Hosts of that many leaves, if there may be so many.
fn host_count(leaves: u64, hosts_per_leaf: u32) -> Result<u32, LinksError> {
    let hosts = leaves * u64::from(hosts_per_leaf);
    if !(2..=MAX_HOSTS).contains(&hosts) {
        let rule = format!("{leaves} leaves make {hosts} hosts; there must be 2 to {MAX_HOSTS}");
        return refuse("topology.hosts_per_leaf", hosts_per_leaf, rule);
    }
    Ok(hosts as u32)
}

/// Refuses a switch that is too wide and a network of too many links.
fn room(attribute: &'static str, value: u32, widest: u64, links: u64) -> Result<(), LinksError> {
    if widest <= MAX_PORTS && links <= MAX_LINKS {
        return Ok(());
    }
    let rule = format!(
        "makes {links} links and a switch of {widest} ports; at most {MAX_LINKS} and {MAX_PORTS} \
         are supported"
    );
    refuse(attribute, value, rule)
}
