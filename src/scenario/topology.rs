//! Topologies as a scenario names them.

use crate::units::{BitRate, Ps};
use serde::{Deserialize, Serialize};

/// Nodes and links. Node ids: hosts first, then leaves, then spines.
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
        }
    }
}
