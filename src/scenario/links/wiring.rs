//! From pairs of nodes to numbered ports.

use super::{Link, LinkEnd, NetworkPlan, PortPlan, SwitchPlan};

/// A link before its ports have numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    /// Node at the end that faces up.
    pub lower: u32,
    /// Node at the end that faces down.
    pub upper: u32,
    /// Rate, bit/s.
    pub rate: u64,
    /// One-way delay, ps.
    pub delay: u64,
}

/// Numbers the ports of a network: at every switch those that face down first, then those that
/// face up, each in the order of the pairs. Nodes below `hosts` are hosts, and their pairs come
/// first, by host; switches are numbered on from there.
pub(super) fn wire(hosts: u32, switches: usize, pairs: &[Pair]) -> NetworkPlan {
    let place = |node: u32| (node - hosts) as usize;
    let mut down = vec![0u32; switches];
    let mut up = vec![0u32; switches];
    for pair in pairs {
        down[place(pair.upper)] += 1;
        if pair.lower >= hosts {
            up[place(pair.lower)] += 1;
        }
    }
    let nowhere = PortPlan { link: 0, peer: LinkEnd { node: 0, port: 0 }, up: false };
    let mut plan: Vec<SwitchPlan> = (0..switches)
        .map(|at| SwitchPlan {
            node: hosts + at as u32,
            ports: vec![nowhere; (down[at] + up[at]) as usize],
        })
        .collect();
    // The next port that faces up, and the next that faces down.
    let mut next_up = down;
    let mut next_down = vec![0u32; switches];
    let take = |next: &mut u32| {
        *next += 1;
        *next - 1
    };
    let mut links = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let a = LinkEnd {
            node: pair.lower,
            port: if pair.lower < hosts { 0 } else { take(&mut next_up[place(pair.lower)]) },
        };
        let b = LinkEnd { node: pair.upper, port: take(&mut next_down[place(pair.upper)]) };
        let link = links.len();
        if pair.lower >= hosts {
            plan[place(a.node)].ports[a.port as usize] = PortPlan { link, peer: b, up: true };
        }
        plan[place(b.node)].ports[b.port as usize] = PortPlan { link, peer: a, up: false };
        links.push(Link { a, b, rate: pair.rate, delay: pair.delay });
    }
    NetworkPlan { hosts, switches: plan, links }
}
