//! The network a topology describes: nodes, ports and links.
//!
//! Owns the numbering of nodes and ports, the rate and delay of every link, the agreement of the
//! topology with the devices' own attributes, and the pause time of a link. Refuses to route.
//! One file a concern: `trees` are the regular topologies, `listed` the explicit one, `speeds`
//! rates and delays, `wiring` numbers ports.
//!
//! Hosts are numbered first, then leaves, aggregation switches and spines (a single switch counts
//! as a leaf). A host's only port is 0. Ports of a switch are numbered down-links first, by lower
//! node and then parallel link, then up-links, by upper node and then parallel link; those of an
//! explicit topology down-links first, then up-links, as the links are listed.

mod listed;
mod speeds;
mod trees;
mod wiring;

use super::topology::{TierName, Topology};
use super::{NicModel, Scenario};
use std::borrow::Cow;
use thiserror::Error;
use trees::Tree;

/// Rate of an interface that says nothing, bit/s.
pub const DEFAULT_RATE: u64 = 400_000_000_000;
/// One-way delay of a cable that says nothing, ps.
pub const DEFAULT_DELAY: u64 = 500_000;
/// Slowest rate a link may have, bit/s: below it a pause would outlast any job.
pub const MIN_RATE: u64 = 1_000;
/// Fastest rate a link may have, bit/s.
pub const MAX_RATE: u64 = 100_000_000_000_000;
/// Longest one-way delay of a link, ps.
pub const MAX_DELAY: u64 = 1_000_000_000_000;
/// Most hosts of a topology.
pub const MAX_HOSTS: u64 = 65_536;
/// Most ports of one switch.
pub const MAX_PORTS: u64 = 65_536;
/// Most links of a topology.
pub const MAX_LINKS: u64 = 1_048_576;
/// Quanta a pause frame of a switch asks for, and a NIC's unless it is told otherwise.
pub const PAUSE_QUANTA: u16 = 65_535;

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkEnd {
    /// Node id.
    pub node: u32,
    /// Port of that node.
    pub port: u32,
}

/// A link: both directions run at `rate` and take `delay`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The end in the lower tier.
    pub a: LinkEnd,
    /// The end in the upper tier.
    pub b: LinkEnd,
    /// Rate, bit/s.
    pub rate: u64,
    /// One-way delay, ps.
    pub delay: u64,
}

/// One connected port of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortPlan {
    /// Index into [`NetworkPlan::links`].
    pub link: usize,
    /// The other end.
    pub peer: LinkEnd,
    /// Whether the port faces the upper tier.
    pub up: bool,
}

/// One switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchPlan {
    /// Node id.
    pub node: u32,
    /// Its ports by number.
    pub ports: Vec<PortPlan>,
}

/// Every node and link of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPlan {
    /// Number of hosts; they are nodes 0 to `hosts` − 1, and host i's link is `links[i]`.
    pub hosts: u32,
    /// The switches in order of node id.
    pub switches: Vec<SwitchPlan>,
    /// Host links by host, then the others by lower end, upper end and parallel link, or as they
    /// are listed.
    pub links: Vec<Link>,
}

/// Rate and delay that all links between two tiers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkKind {
    /// Number of such links.
    pub count: u64,
    /// Rate, bit/s.
    pub rate: u64,
    /// One-way delay, ps.
    pub delay: u64,
}

/// The links between two tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layer {
    /// What is at the lower ends.
    pub lower: &'static str,
    /// What is at the upper ends.
    pub upper: &'static str,
    /// How many, how fast, how long.
    pub links: LinkKind,
}

/// Tier of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// The switch of a `single-switch` topology.
    Single,
    /// The lowest of several.
    Leaf,
    /// Between leaves and spines.
    Aggregation,
    /// The highest of several.
    Spine,
}

impl Tier {
    /// What to call it.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Single => "switch",
            _ => self.settings().name(),
        }
    }

    /// Whose settings it has: a single switch is a leaf.
    pub fn settings(self) -> TierName {
        match self {
            Tier::Single | Tier::Leaf => TierName::Leaf,
            Tier::Aggregation => TierName::Aggregation,
            Tier::Spine => TierName::Spine,
        }
    }
}

impl From<TierName> for Tier {
    fn from(name: TierName) -> Self {
        match name {
            TierName::Leaf => Tier::Leaf,
            TierName::Aggregation => Tier::Aggregation,
            TierName::Spine => Tier::Spine,
        }
    }
}

/// Switches that have the same ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchKind {
    /// Their tier.
    pub tier: Tier,
    /// How many there are.
    pub count: u64,
    /// Ports facing down.
    pub down: u32,
    /// Ports facing up.
    pub up: u32,
    /// The kinds of links at their ports, each once.
    pub links: Vec<LinkKind>,
}

impl SwitchKind {
    /// Connected ports.
    pub fn ports(&self) -> u32 {
        self.down + self.up
    }
}

/// A topology in numbers, without its nodes: all that most rules need to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// Number of hosts, 2 to [`MAX_HOSTS`].
    pub hosts: u32,
    /// Links between hosts and their switches; where they differ, the fastest rate and the longest
    /// delay among them.
    pub host_links: LinkKind,
    /// All links by tiers and speed, those of hosts first.
    pub layers: Vec<Layer>,
    /// The kinds of switches, the lowest tier first: at least one.
    pub kinds: Vec<SwitchKind>,
    /// Hosts whose NIC reacts, which have events of their own: all of them or none.
    pub reactive: u32,
    shape: Shape,
}

/// How nodes are connected.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    Tree(Tree),
    Listed(NetworkPlan),
}

/// Why a topology cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{attribute} = {value}: {rule}")]
pub struct LinksError {
    /// Path of the attribute at fault.
    pub attribute: Cow<'static, str>,
    /// Its value in base units.
    pub value: String,
    /// The rule it breaks.
    pub rule: String,
}

/// The nodes and links of a scenario.
///
/// Fails where [`Outline::new`] does.
pub fn network(scenario: &Scenario) -> Result<NetworkPlan, LinksError> {
    Ok(Outline::new(scenario)?.network())
}

/// Bits of an event's key that hold its rank, for that many switch ports and hosts whose NIC
/// reacts: two ranks a port, three such a host and eight for rare events.
pub fn rank_bits(switch_ports: u64, reactive: u64) -> u32 {
    64 - (2 * switch_ports + 3 * reactive + 8).leading_zeros()
}

/// Hosts with events of their own.
fn reactive(scenario: &Scenario, hosts: u32) -> u32 {
    if scenario.nic.model == NicModel::OpenLoop { 0 } else { hosts }
}

/// How long a pause frame of a switch stops a link, ps: [`pause_of`] the [`PAUSE_QUANTA`].
pub fn pause_time(rate: u64, delay: u64) -> u64 {
    pause_of(PAUSE_QUANTA, rate, delay)
}

/// How long a pause frame stops a link, ps: its quanta × 512 bit at `rate` (bit/s, above 0),
/// rounded up, plus the one-way delay. Saturates at rates below any allowed one.
pub fn pause_of(quanta: u16, rate: u64, delay: u64) -> u64 {
    let bit_ps = u128::from(quanta) * 512 * 1_000_000_000_000;
    let wait = bit_ps.div_ceil(u128::from(rate.max(1)));
    u64::try_from(wait).unwrap_or(u64::MAX).saturating_add(delay)
}

impl Outline {
    /// Counts and speeds of a scenario's topology.
    ///
    /// Fails on counts out of range, rates and delays out of range, a device attribute that
    /// disagrees with what the topology says of the same link, and a list of nodes and links that
    /// makes no network.
    pub fn new(scenario: &Scenario) -> Result<Outline, LinksError> {
        match &scenario.topology {
            Topology::SingleSwitch { hosts, rate, delay } => {
                trees::single_switch(scenario, *hosts, *rate, *delay)
            }
            Topology::LeafSpine { .. } => trees::leaf_spine(scenario),
            Topology::FatTree(tree) => trees::fat_tree(scenario, tree),
            Topology::Explicit(own) => listed::outline(scenario, own),
        }
    }

    /// The distinct kinds of switches, lower tier first.
    pub fn switch_kinds(&self) -> impl ExactSizeIterator<Item = &SwitchKind> {
        self.kinds.iter()
    }

    /// Number of switch ports.
    pub fn port_count(&self) -> u64 {
        self.switch_kinds().map(|kind| kind.count * u64::from(kind.ports())).sum()
    }

    /// The longest duration, ps: the time of an event shares 64 bits with its rank, and the
    /// largest frame that starts before the end has to arrive within them.
    pub fn longest_duration(&self) -> u64 {
        const LARGEST_FRAME: u64 = 65_535 + 18;
        let horizon = (u64::MAX >> rank_bits(self.port_count(), u64::from(self.reactive))) - 1;
        let slack = self
            .layers
            .iter()
            .map(|layer| layer.links)
            .map(|link| (LARGEST_FRAME * 8_000_000_000_000).div_ceil(link.rate) + link.delay)
            .max();
        horizon.saturating_sub(slack.unwrap_or(0))
    }

    /// Number of links.
    pub fn link_count(&self) -> u64 {
        self.layers.iter().map(|layer| layer.links.count).sum()
    }

    /// Every node and link.
    pub fn network(&self) -> NetworkPlan {
        match &self.shape {
            Shape::Tree(tree) => tree.network(),
            Shape::Listed(plan) => plan.clone(),
        }
    }
}

/// A number of things within its range.
fn count(attribute: &'static str, value: u64, min: u64, max: u64) -> Result<(), LinksError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    refuse(attribute, value, format!("must be {min} to {max}"))
}

fn refuse<T>(
    attribute: impl Into<Cow<'static, str>>,
    value: impl ToString,
    rule: impl Into<String>,
) -> Result<T, LinksError> {
    let (value, rule) = (value.to_string(), rule.into());
    Err(LinksError { attribute: attribute.into(), value, rule })
}

#[cfg(test)]
mod tests;
