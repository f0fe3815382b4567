//! The explicit topology: nodes and links one by one.

use super::speeds::{Said, speeds};
use super::wiring::{Pair, wire};
use super::{
    Layer, LinkKind, LinksError, MAX_HOSTS, MAX_LINKS, MAX_PORTS, NetworkPlan, Outline, Shape,
    SwitchKind, Tier, reactive, refuse,
};
use crate::scenario::Scenario;
use crate::scenario::topology::{Explicit, LinkEntry, NodeKind, TierName};
use std::collections::BTreeMap;

/// A named node: its id, and its tier if it is a switch.
type Node = (u32, Option<TierName>);
/// Nodes by name, the number of hosts, and the tiers of the switches in order of their ids.
type Named<'a> = (BTreeMap<&'a str, Node>, u32, Vec<TierName>);
/// What switches of one kind have in common: tier, ports down and up, and speeds of their links.
type Alike = (TierName, u32, u32, Vec<(u64, u64)>);

/// Counts, speeds and wiring of a list.
pub(super) fn outline(scenario: &Scenario, own: &Explicit) -> Result<Outline, LinksError> {
    let (names, hosts, tiers) = name_nodes(own)?;
    let mut host_pairs: Vec<Option<Pair>> = vec![None; hosts as usize];
    let mut fabric = Vec::new();
    for (place, entry) in own.links.iter().enumerate() {
        let (lower, upper) = ends(entry, place, &names)?;
        let pair = pair(scenario, own, place, lower, upper)?;
        let fits = (1..=MAX_LINKS - fabric.len() as u64).contains(&u64::from(entry.count));
        if !fits {
            let rule = format!("must be 1 or more, and at most {MAX_LINKS} links in all");
            return refuse(format!("topology.links[{place}].count"), entry.count, rule);
        }
        if lower.1.is_some() {
            fabric.extend(std::iter::repeat_n(pair, entry.count as usize));
            continue;
        }
        let known = host_pairs[lower.0 as usize].replace(pair);
        if known.is_some() || entry.count != 1 {
            let host = if names[&*entry.a] == lower { &entry.a } else { &entry.b };
            let rule = "a host has one link; give a second host, or a switch before it";
            return refuse(format!("topology.links[{place}]"), host, rule);
        }
    }
    let host_of =
        |id: u32| names.iter().find(|(_, node)| node.0 == id).map_or("", |(name, _)| name);
    let mut pairs = Vec::with_capacity(own.links.len());
    for (host, pair) in (0..).zip(host_pairs) {
        match pair {
            Some(pair) => pairs.push(pair),
            None => {
                let rule = "this host has no link; connect it to a switch or remove it";
                return refuse("topology.nodes", host_of(host), rule);
            }
        }
    }
    pairs.extend(fabric);
    if let Some(node) = unreached(hosts + tiers.len() as u32, &pairs) {
        let rule = "cannot be reached from the first host; every node must be connected";
        return refuse("topology.nodes", host_of(node), rule);
    }
    let plan = wire(hosts, tiers.len(), &pairs);
    if let Some(wide) = plan.switches.iter().find(|s| s.ports.len() as u64 > MAX_PORTS) {
        let rule = format!("a switch of {} ports; at most {MAX_PORTS}", wide.ports.len());
        return refuse("topology.links", host_of(wide.node), rule);
    }
    let layers = layers(&plan, &tiers);
    let of_hosts = || plan.links[..hosts as usize].iter();
    let host_links = LinkKind {
        count: u64::from(hosts),
        rate: of_hosts().map(|link| link.rate).max().unwrap_or(0),
        delay: of_hosts().map(|link| link.delay).max().unwrap_or(0),
    };
    Ok(Outline {
        hosts,
        host_links,
        layers,
        kinds: kinds(&plan, &tiers),
        reactive: reactive(scenario, hosts),
        shape: Shape::Listed(plan),
    })
}

/// Ids by name, the number of hosts, and the tiers of the switches in order of their ids.
fn name_nodes(own: &Explicit) -> Result<Named<'_>, LinksError> {
    let hosts = own.nodes.iter().filter(|node| node.kind == NodeKind::Host).count() as u64;
    if !(2..=MAX_HOSTS).contains(&hosts) {
        let rule = format!("there must be 2 to {MAX_HOSTS} nodes of kind host");
        return refuse("topology.nodes", format!("{hosts} hosts"), rule);
    }
    let mut switches = Vec::new();
    let mut names = BTreeMap::new();
    let mut next_host = 0;
    for (place, node) in own.nodes.iter().enumerate() {
        let id = match node.kind {
            NodeKind::Host => {
                if let Some(tier) = node.tier {
                    let rule = "only a switch has a tier; remove it";
                    return refuse(format!("topology.nodes[{place}].tier"), tier.name(), rule);
                }
                next_host += 1;
                (next_host - 1, None)
            }
            NodeKind::Switch => {
                let tier = node.tier.unwrap_or_default();
                switches.push((tier, place));
                (0, Some(tier))
            }
        };
        if names.insert(node.name.as_str(), id).is_some() {
            let rule = "two nodes have this name; rename one of them";
            return refuse(format!("topology.nodes[{place}].name"), &node.name, rule);
        }
    }
    if switches.is_empty() || switches.len() as u64 > MAX_LINKS {
        let rule = format!("there must be 1 to {MAX_LINKS} nodes of kind switch");
        return refuse("topology.nodes", format!("{} switches", switches.len()), rule);
    }
    switches.sort_unstable();
    for (id, &(tier, place)) in (hosts as u32..).zip(&switches) {
        names.insert(own.nodes[place].name.as_str(), (id, Some(tier)));
    }
    Ok((names, hosts as u32, switches.into_iter().map(|(tier, _)| tier).collect()))
}

/// The ends of a link, the lower first.
fn ends(
    entry: &LinkEntry,
    place: usize,
    names: &BTreeMap<&str, Node>,
) -> Result<(Node, Node), LinksError> {
    let find = |key: &str, name: &String| match names.get(name.as_str()) {
        Some(&node) => Ok(node),
        None => {
            let known: Vec<&str> = names.keys().copied().collect();
            let near = known
                .iter()
                .max_by(|a, b| strsim::jaro(a, name).total_cmp(&strsim::jaro(b, name)))
                .copied()
                .unwrap_or("");
            let rule = format!("no node has this name; the nearest is {near}");
            refuse(format!("topology.links[{place}].{key}"), name, rule)
        }
    };
    let (a, b) = (find("a", &entry.a)?, find("b", &entry.b)?);
    if a.0 == b.0 {
        let rule = "a link connects two nodes; this one ends where it starts";
        return refuse(format!("topology.links[{place}].b"), &entry.b, rule);
    }
    match (a.1, b.1) {
        (None, None) => {
            let rule = "connects two hosts; a host connects to a switch";
            refuse(format!("topology.links[{place}].b"), &entry.b, rule)
        }
        // Hosts are lower than any tier; of two in one tier the first is the lower.
        (low, high) if low <= high => Ok((a, b)),
        _ => Ok((b, a)),
    }
}

fn pair(
    scenario: &Scenario,
    own: &Explicit,
    place: usize,
    lower: Node,
    upper: Node,
) -> Result<Pair, LinksError> {
    let entry = &own.links[place];
    let key = |own: bool, name: &'static str| match own {
        true => format!("topology.links[{place}].{name}").into(),
        false => match name {
            "rate" => "topology.rate".into(),
            _ => "topology.delay".into(),
        },
    };
    let said = Said {
        rate_key: key(entry.rate.is_some(), "rate"),
        rate: entry.rate.or(own.rate),
        delay_key: key(entry.delay.is_some(), "delay"),
        delay: entry.delay.or(own.delay),
    };
    let above = upper.1.unwrap_or_default().into();
    let (rate, delay) = speeds(scenario, &said, lower.1.map(Tier::from), above)?;
    Ok(Pair { lower: lower.0, upper: upper.0, rate, delay })
}

/// The first node that no path connects with node 0.
fn unreached(nodes: u32, pairs: &[Pair]) -> Option<u32> {
    let mut group: Vec<u32> = (0..nodes).collect();
    fn root(group: &mut [u32], mut node: u32) -> u32 {
        while group[node as usize] != node {
            let above = group[group[node as usize] as usize];
            group[node as usize] = above;
            node = above;
        }
        node
    }
    for pair in pairs {
        let (a, b) = (root(&mut group, pair.lower), root(&mut group, pair.upper));
        group[a.max(b) as usize] = a.min(b);
    }
    (0..nodes).find(|&node| root(&mut group, node) != 0)
}

/// The links by tiers and speed.
fn layers(plan: &NetworkPlan, tiers: &[TierName]) -> Vec<Layer> {
    let tier = |node: u32| node.checked_sub(plan.hosts).map(|at| tiers[at as usize]);
    let mut counts: BTreeMap<(Option<TierName>, Option<TierName>, u64, u64), u64> = BTreeMap::new();
    for link in &plan.links {
        let key = (tier(link.a.node), tier(link.b.node), link.rate, link.delay);
        *counts.entry(key).or_default() += 1;
    }
    let name = |tier: Option<TierName>| tier.map_or("host", TierName::name);
    counts
        .into_iter()
        .map(|((lower, upper, rate, delay), count)| Layer {
            lower: name(lower),
            upper: name(upper),
            links: LinkKind { count, rate, delay },
        })
        .collect()
}

/// The switches by tier, ports and links.
fn kinds(plan: &NetworkPlan, tiers: &[TierName]) -> Vec<SwitchKind> {
    let mut counts: BTreeMap<Alike, u64> = BTreeMap::new();
    for (switch, &tier) in plan.switches.iter().zip(tiers) {
        let up = switch.ports.iter().filter(|port| port.up).count() as u32;
        let link = |at: usize| (plan.links[at].rate, plan.links[at].delay);
        let mut speeds: Vec<(u64, u64)> = switch.ports.iter().map(|p| link(p.link)).collect();
        speeds.sort_unstable();
        speeds.dedup();
        let down = switch.ports.len() as u32 - up;
        *counts.entry((tier, down, up, speeds)).or_default() += 1;
    }
    let of_speed = |speed: (u64, u64)| {
        let alike = plan.links.iter().filter(|link| (link.rate, link.delay) == speed).count();
        LinkKind { count: alike as u64, rate: speed.0, delay: speed.1 }
    };
    counts
        .into_iter()
        .map(|((tier, down, up, speeds), count)| SwitchKind {
            tier: tier.into(),
            count,
            down,
            up,
            links: speeds.into_iter().map(of_speed).collect(),
        })
        .collect()
}
