//! Topologies as a scenario names them.

use crate::units::{BitRate, Ps};
use serde::{Deserialize, Serialize};

/// Nodes and links. Node ids: hosts first, then leaves, then aggregation switches, then spines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// Host i on port i of one switch.
    SingleSwitch {
        /// Number of hosts, at least 2.
        hosts: u32,
        /// Rate of every link; none: the interfaces' own.
        #[serde(default)]
        rate: Option<BitRate>,
        /// One-way delay of every link; none: the media's own.
        #[serde(default)]
        delay: Option<Ps>,
    },
    /// Two tiers; every leaf has `links_per_spine` parallel links to every spine.
    LeafSpine {
        /// Number of leaves.
        leaves: u32,
        /// Hosts on each leaf.
        hosts_per_leaf: u32,
        /// Number of spines.
        spines: u32,
        /// Parallel links from a leaf to a spine.
        #[serde(default = "one")]
        links_per_spine: u32,
        /// Rate of host links.
        #[serde(default)]
        rate: Option<BitRate>,
        /// One-way delay of host links.
        #[serde(default)]
        delay: Option<Ps>,
        /// Rate of leaf-spine links; none: as host links.
        #[serde(default)]
        fabric_rate: Option<BitRate>,
        /// One-way delay of leaf-spine links; none: as host links.
        #[serde(default)]
        fabric_delay: Option<Ps>,
    },
    /// Three tiers: pods of leaves and aggregation switches, each aggregation switch of a pod
    /// below a plane of spines of its own.
    FatTree(FatTree),
    /// Nodes and links one by one.
    Explicit(Explicit),
}

/// A fat tree. Every leaf connects to every aggregation switch of its pod; aggregation switch `a`
/// of every pod connects to the spines of plane `a`, an equal share of all spines.
///
/// With `k`, what is not given is that of the classic tree of k-port switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FatTree {
    /// Ports of every switch in the classic tree; even.
    #[serde(default)]
    pub k: Option<u32>,
    /// Number of pods; with `k`: k.
    #[serde(default)]
    pub pods: Option<u32>,
    /// Leaves in each pod; with `k`: k ÷ 2.
    #[serde(default)]
    pub leaves_per_pod: Option<u32>,
    /// Hosts on each leaf; with `k`: k ÷ 2.
    #[serde(default)]
    pub hosts_per_leaf: Option<u32>,
    /// Aggregation switches in each pod; with `k`: k ÷ 2.
    #[serde(default)]
    pub aggregations_per_pod: Option<u32>,
    /// Spines in all, a multiple of `aggregations_per_pod`; with `k`: (k ÷ 2)².
    #[serde(default)]
    pub spines: Option<u32>,
    /// Parallel links from a leaf to an aggregation switch.
    #[serde(default = "one")]
    pub links_per_aggregation: u32,
    /// Parallel links from an aggregation switch to a spine.
    #[serde(default = "one")]
    pub links_per_spine: u32,
    /// Rate of host links.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// One-way delay of host links.
    #[serde(default)]
    pub delay: Option<Ps>,
    /// Rate of links between leaves and aggregation switches; none: as host links.
    #[serde(default)]
    pub fabric_rate: Option<BitRate>,
    /// One-way delay of these links; none: as host links.
    #[serde(default)]
    pub fabric_delay: Option<Ps>,
    /// Rate of links to spines; none: as the links below them.
    #[serde(default)]
    pub spine_rate: Option<BitRate>,
    /// One-way delay of links to spines; none: as the links below them.
    #[serde(default)]
    pub spine_delay: Option<Ps>,
}

impl FatTree {
    /// Hosts, if every count is known; saturates.
    pub fn hosts(&self) -> u64 {
        let half = |own: Option<u32>| u64::from(own.or(self.k.map(|k| k / 2)).unwrap_or(0));
        let pods = u64::from(self.pods.or(self.k).unwrap_or(0));
        pods.saturating_mul(half(self.leaves_per_pod)).saturating_mul(half(self.hosts_per_leaf))
    }
}

/// Nodes and links, listed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explicit {
    /// Hosts and switches; ids go by kind and tier, then by place in this list.
    pub nodes: Vec<NodeEntry>,
    /// Links; the ports of a switch go by place in this list, those that face down first.
    pub links: Vec<LinkEntry>,
    /// Rate of links that give none; none here either: the interfaces' own.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// One-way delay of links that give none; none here either: the media's own.
    #[serde(default)]
    pub delay: Option<Ps>,
}

/// A node of an explicit topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeEntry {
    /// What links call it.
    pub name: String,
    /// Host or switch.
    pub kind: NodeKind,
    /// Tier of a switch; none: leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<TierName>,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// A host: one link.
    Host,
    /// A switch.
    Switch,
}

/// Tier of a switch, the lowest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum TierName {
    /// The lowest; a single switch is one.
    #[default]
    Leaf,
    /// Between leaves and spines.
    Aggregation,
    /// The highest.
    Spine,
}

impl TierName {
    /// Every tier, the lowest first.
    pub const ALL: [TierName; 3] = [TierName::Leaf, TierName::Aggregation, TierName::Spine];

    /// Its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            TierName::Leaf => "leaf",
            TierName::Aggregation => "aggregation",
            TierName::Spine => "spine",
        }
    }
}

/// A link of an explicit topology, or several parallel ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkEntry {
    /// Name of one end. Between switches of one tier this end counts as the lower.
    pub a: String,
    /// Name of the other end.
    pub b: String,
    /// Rate of both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// One-way delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Ps>,
    /// Parallel links.
    #[serde(default = "one")]
    pub count: u32,
}

fn one() -> u32 {
    1
}

impl Topology {
    /// Number of hosts; saturates where the product would not fit.
    pub fn hosts(&self) -> u64 {
        match self {
            Topology::SingleSwitch { hosts, .. } => u64::from(*hosts),
            Topology::LeafSpine { leaves, hosts_per_leaf, .. } => {
                u64::from(*leaves) * u64::from(*hosts_per_leaf)
            }
            Topology::FatTree(tree) => tree.hosts(),
            Topology::Explicit(own) => {
                own.nodes.iter().filter(|node| node.kind == NodeKind::Host).count() as u64
            }
        }
    }
}
