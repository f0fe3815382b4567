//! The network a topology describes: nodes, ports and links.
//!
//! Owns the numbering of nodes and ports, the rate and delay of every link, the agreement of the
//! topology with the devices' own attributes, and the pause time of a link. Refuses to route.
//!
//! Hosts are numbered first, then leaves, then spines (a single switch counts as a leaf). A host's
//! only port is 0. Ports of a switch are numbered down-links first, by lower node and then
//! parallel link, then up-links, by upper node and then parallel link.

use super::topology::Topology;
use super::{NicModel, Scenario};
use crate::units::{BitRate, Ps};
use thiserror::Error;

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
/// Quanta a pause frame asks for.
pub const PAUSE_QUANTA: u64 = 65_535;

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
    /// Host links by host, then fabric links by leaf, spine and parallel link.
    pub links: Vec<Link>,
}

/// Rate and delay that all links between two tiers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkKind {
    /// Number of such links.
    pub count: u64,
    /// Rate, bit/s.
    pub rate: u64,
    /// One-way delay, ps.
    pub delay: u64,
}

/// Tier of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// The switch of a `single-switch` topology.
    Single,
    /// Hosts below, spines above.
    Leaf,
    /// Leaves below.
    Spine,
}

impl Tier {
    /// What to call it.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Single => "switch",
            Tier::Leaf => "leaf",
            Tier::Spine => "spine",
        }
    }
}

/// Switches that have the same ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchKind {
    /// Their tier.
    pub tier: Tier,
    /// How many there are.
    pub count: u64,
    /// Ports facing down.
    pub down: u32,
    /// Ports facing up.
    pub up: u32,
}

impl SwitchKind {
    /// Connected ports.
    pub fn ports(&self) -> u32 {
        self.down + self.up
    }
}

/// A topology in numbers, without its nodes: all that most rules need to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outline {
    /// Number of hosts, 2 to [`MAX_HOSTS`].
    pub hosts: u32,
    /// Links between hosts and their switch.
    pub host_links: LinkKind,
    /// Links between leaves and spines.
    pub fabric_links: Option<LinkKind>,
    /// The host-facing switches.
    pub lower: SwitchKind,
    /// The spines.
    pub upper: Option<SwitchKind>,
    /// Hosts whose NIC reacts, which have events of their own: all of them or none.
    pub reactive: u32,
}

/// Why a topology cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{attribute} = {value}: {rule}")]
pub struct LinksError {
    /// Path of the attribute at fault.
    pub attribute: &'static str,
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

/// How long a pause frame stops a link, ps: [`PAUSE_QUANTA`] × 512 bit at `rate` (bit/s, above 0),
/// rounded up, plus the one-way delay. Saturates at rates below any allowed one.
pub fn pause_time(rate: u64, delay: u64) -> u64 {
    let bit_ps = u128::from(PAUSE_QUANTA) * 512 * 1_000_000_000_000;
    let wait = bit_ps.div_ceil(u128::from(rate.max(1)));
    u64::try_from(wait).unwrap_or(u64::MAX).saturating_add(delay)
}

impl Outline {
    /// Counts and speeds of a scenario's topology.
    ///
    /// Fails on counts out of range, rates and delays out of range, and a device attribute that
    /// disagrees with what the topology says of the same link.
    pub fn new(scenario: &Scenario) -> Result<Outline, LinksError> {
        match scenario.topology {
            Topology::SingleSwitch { hosts, rate, delay } => {
                count("topology.hosts", u64::from(hosts), 2, MAX_HOSTS)?;
                Ok(Outline {
                    hosts,
                    host_links: host_links(scenario, u64::from(hosts), rate, delay)?,
                    fabric_links: None,
                    lower: SwitchKind { tier: Tier::Single, count: 1, down: hosts, up: 0 },
                    upper: None,
                    reactive: reactive(scenario, hosts),
                })
            }
            Topology::LeafSpine {
                leaves,
                hosts_per_leaf,
                spines,
                links_per_spine,
                rate,
                delay,
                fabric_rate,
                fabric_delay,
            } => {
                let size = u64::from;
                count("topology.leaves", size(leaves), 1, MAX_HOSTS)?;
                count("topology.hosts_per_leaf", size(hosts_per_leaf), 1, MAX_HOSTS)?;
                count("topology.spines", size(spines), 1, MAX_PORTS)?;
                count("topology.links_per_spine", size(links_per_spine), 1, MAX_PORTS)?;
                let hosts = size(leaves) * size(hosts_per_leaf);
                if !(2..=MAX_HOSTS).contains(&hosts) {
                    return Err(LinksError {
                        attribute: "topology.hosts_per_leaf",
                        value: hosts_per_leaf.to_string(),
                        rule: format!(
                            "{leaves} leaves make {hosts} hosts; there must be 2 to {MAX_HOSTS}"
                        ),
                    });
                }
                let up = size(spines) * size(links_per_spine);
                let spine_ports = size(leaves) * size(links_per_spine);
                let fabric = up * size(leaves);
                let widest = spine_ports.max(up + size(hosts_per_leaf));
                if widest > MAX_PORTS || fabric + hosts > MAX_LINKS {
                    return Err(LinksError {
                        attribute: "topology.links_per_spine",
                        value: links_per_spine.to_string(),
                        rule: format!(
                            "makes {} links and a switch of {widest} ports; at most {MAX_LINKS} \
                             and {MAX_PORTS} are supported",
                            fabric + hosts
                        ),
                    });
                }
                // Both fit: they are at most the widest switch's ports.
                let (up, spine_ports) = (up as u32, spine_ports as u32);
                Ok(Outline {
                    hosts: hosts as u32,
                    host_links: host_links(scenario, hosts, rate, delay)?,
                    fabric_links: Some(fabric_links(
                        scenario,
                        fabric,
                        fabric_rate.or(rate),
                        fabric_delay.or(delay),
                    )?),
                    lower: SwitchKind {
                        tier: Tier::Leaf,
                        count: size(leaves),
                        down: hosts_per_leaf,
                        up,
                    },
                    upper: Some(SwitchKind {
                        tier: Tier::Spine,
                        count: size(spines),
                        down: spine_ports,
                        up: 0,
                    }),
                    reactive: reactive(scenario, hosts as u32),
                })
            }
        }
    }

    /// The distinct kinds of switches, lower tier first.
    pub fn switch_kinds(&self) -> impl Iterator<Item = SwitchKind> {
        std::iter::once(self.lower).chain(self.upper)
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
        let links = std::iter::once(self.host_links).chain(self.fabric_links);
        let slack = links
            .map(|link| (LARGEST_FRAME * 8_000_000_000_000).div_ceil(link.rate) + link.delay)
            .max();
        horizon.saturating_sub(slack.unwrap_or(0))
    }

    /// Number of links.
    pub fn link_count(&self) -> u64 {
        self.host_links.count + self.fabric_links.map_or(0, |links| links.count)
    }

    /// Parallel links from a leaf to each spine; 0 without spines.
    fn parallel(&self) -> u32 {
        self.upper.map_or(0, |spines| self.lower.up / spines.count as u32)
    }

    /// Every node and link.
    pub fn network(&self) -> NetworkPlan {
        let (hosts, lower) = (self.hosts, self.lower);
        let leaves = lower.count as u32;
        let spines = self.upper.map_or(0, |s| s.count as u32);
        let parallel = self.parallel();
        let mut links = Vec::with_capacity(self.link_count() as usize);
        let mut switches: Vec<SwitchPlan> = (0..leaves + spines)
            .map(|at| {
                let ports = if at < leaves { lower.ports() } else { leaves * parallel };
                SwitchPlan { node: hosts + at, ports: Vec::with_capacity(ports as usize) }
            })
            .collect();
        // In this order every list of ports grows by number: hosts before up-links at a leaf, and
        // leaves in rising order at a spine.
        for host in 0..hosts {
            let leaf = &mut switches[(host / lower.down) as usize];
            let a = LinkEnd { node: host, port: 0 };
            let b = LinkEnd { node: leaf.node, port: host % lower.down };
            leaf.ports.push(PortPlan { link: links.len(), peer: a, up: false });
            links.push(Link { a, b, rate: self.host_links.rate, delay: self.host_links.delay });
        }
        let Some(fabric) = self.fabric_links else {
            return NetworkPlan { hosts, switches, links };
        };
        for leaf in 0..leaves {
            for spine in 0..spines {
                for k in 0..parallel {
                    let a = LinkEnd { node: hosts + leaf, port: lower.down + spine * parallel + k };
                    let b = LinkEnd { node: hosts + leaves + spine, port: leaf * parallel + k };
                    let link = links.len();
                    let up = PortPlan { link, peer: b, up: true };
                    switches[leaf as usize].ports.push(up);
                    let down = PortPlan { link, peer: a, up: false };
                    switches[(leaves + spine) as usize].ports.push(down);
                    links.push(Link { a, b, rate: fabric.rate, delay: fabric.delay });
                }
            }
        }
        NetworkPlan { hosts, switches, links }
    }
}

/// Links between hosts and switches: the topology's word, else the two devices'.
fn host_links(
    scenario: &Scenario,
    count: u64,
    rate: Option<BitRate>,
    delay: Option<Ps>,
) -> Result<LinkKind, LinksError> {
    let down = scenario.switch.network_interface.downlink.data_rate;
    let ends = [
        ("nic.NetworkInterface.DataRate", scenario.nic.interface.data_rate),
        ("switch.NetworkInterface.DownlinkNetworkInterface.DataRate", down),
    ];
    Ok(LinkKind {
        count,
        rate: link_rate("topology.rate", rate, ends)?,
        delay: link_delay(
            "topology.delay",
            delay,
            ("nic.TransmissionMedium.Delay", scenario.nic.medium.delay),
        )?,
    })
}

/// Links between leaves and spines: the topology's word, else the two switches'.
fn fabric_links(
    scenario: &Scenario,
    count: u64,
    rate: Option<BitRate>,
    delay: Option<Ps>,
) -> Result<LinkKind, LinksError> {
    let own = &scenario.switch.network_interface;
    let ends = [
        ("switch.NetworkInterface.UplinkNetworkInterface.DataRate", own.uplink.data_rate),
        ("switch.NetworkInterface.DownlinkNetworkInterface.DataRate", own.downlink.data_rate),
    ];
    Ok(LinkKind {
        count,
        rate: link_rate("topology.fabric_rate", rate, ends)?,
        delay: link_delay(
            "topology.fabric_delay",
            delay,
            ("switch.NetworkInterface.TransmissionMedium.Delay", own.medium.delay),
        )?,
    })
}

/// What the topology says, which no end may contradict, else the lower of the two ends.
fn link_rate(
    name: &'static str,
    said: Option<BitRate>,
    ends: [(&'static str, Option<BitRate>); 2],
) -> Result<u64, LinksError> {
    let in_range = |attribute, rate: BitRate| {
        if (MIN_RATE..=MAX_RATE).contains(&rate.0) {
            return Ok(());
        }
        Err(LinksError {
            attribute,
            value: rate.to_string(),
            rule: "a link's rate must be 1kbps to 100Tbps".into(),
        })
    };
    if let Some(rate) = said {
        in_range(name, rate)?;
    }
    for (attribute, own) in ends {
        let Some(own) = own else { continue };
        in_range(attribute, own)?;
        if said.is_some_and(|said| said != own) {
            return Err(LinksError {
                attribute,
                value: own.to_string(),
                rule: format!(
                    "disagrees with {name} = {}; remove one of them or make them equal",
                    said.unwrap_or_default()
                ),
            });
        }
    }
    let own = ends.map(|(_, rate)| rate.map_or(DEFAULT_RATE, |r| r.0));
    Ok(said.map_or(own[0].min(own[1]), |r| r.0))
}

/// What the topology says, which the lower-tier end may not contradict, else that end's delay.
fn link_delay(
    name: &'static str,
    said: Option<Ps>,
    (attribute, own): (&'static str, Option<Ps>),
) -> Result<u64, LinksError> {
    for (attribute, delay) in [(name, said), (attribute, own)] {
        if let Some(delay) = delay.filter(|d| d.0 > MAX_DELAY) {
            return Err(LinksError {
                attribute,
                value: delay.to_string(),
                rule: "a link's one-way delay must be 0s to 1s".into(),
            });
        }
    }
    match (said, own) {
        (Some(said), Some(own)) if said != own => Err(LinksError {
            attribute,
            value: own.to_string(),
            rule: format!("disagrees with {name} = {said}; remove one of them or make them equal"),
        }),
        _ => Ok(said.or(own).map_or(DEFAULT_DELAY, |d| d.0)),
    }
}

/// A number of things within its range.
fn count(attribute: &'static str, value: u64, min: u64, max: u64) -> Result<(), LinksError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(LinksError { attribute, value: value.to_string(), rule: format!("must be {min} to {max}") })
}

#[cfg(test)]
mod tests;
