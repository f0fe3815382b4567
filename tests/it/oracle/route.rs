//! Ports towards a destination, and the hashes that choose among equal ones.

use super::flowlet::Flowlets;
use poolsweep::scenario::links::NetworkPlan;
use poolsweep::scenario::{EcmpHashMethod, Switch as Settings};
use poolsweep::sim::random::Seeds;
use poolsweep::sim::traffic::FlowStart;

pub struct Router {
    /// Equal-cost ports by destination, in port order.
    members: Vec<Vec<usize>>,
    method: EcmpHashMethod,
    salt: u32,
    pub flowlets: Flowlets,
}

/// Links on a shortest way from every node to a host; hosts between them forward nothing.
fn distances(plan: &NetworkPlan, to: u32) -> Vec<Option<u32>> {
    let nodes = plan.hosts as usize + plan.switches.len();
    let mut far = vec![None; nodes];
    far[to as usize] = Some(0);
    for round in 0.. {
        let mut moved = false;
        for link in &plan.links {
            for (here, there) in [(link.a.node, link.b.node), (link.b.node, link.a.node)] {
                let forwards = here >= plan.hosts || here == to;
                let (here, there) = (here as usize, there as usize);
                if forwards && far[here] == Some(round) && far[there].is_none() {
                    far[there] = Some(round + 1);
                    moved = true;
                }
            }
        }
        if !moved {
            break;
        }
    }
    far
}

impl Router {
    /// The router of a switch, by its place.
    pub fn new(settings: &Settings, seeds: &Seeds, plan: &NetworkPlan, at: usize) -> Router {
        let own = &plan.switches[at];
        let members: Vec<Vec<usize>> = (0..plan.hosts)
            .map(|host| {
                let far = distances(plan, host);
                let here = far[own.node as usize].expect("connected");
                let nearer = |&port: &usize| {
                    let peer = own.ports[port].peer.node;
                    (peer >= plan.hosts || peer == host) && far[peer as usize] == Some(here - 1)
                };
                (0..own.ports.len()).filter(nearer).collect()
            })
            .collect();
        // Sets are numbered by the switches their hosts are at, in order.
        let mut hosts: Vec<u32> = (0..plan.hosts).collect();
        hosts.sort_by_key(|&host| plan.links[host as usize].b.node);
        let mut sets: Vec<Vec<usize>> = Vec::new();
        for host in hosts {
            let set = &members[host as usize];
            if set.len() > 1 && !sets.contains(set) {
                sets.push(set.clone());
            }
        }
        let flowlets = Flowlets::new(settings, seeds.switch_stream(own.node, "flowlet"), sets);
        let method = settings.ecmp_hash_method;
        Router { members, method, salt: fmix32(own.node + 1), flowlets }
    }

    /// The port a packet leaves by; `loads` and `held` are the egress bytes of every port, and
    /// whether the packet's class is held there.
    pub fn port(&mut self, flow: &FlowStart, now: u64, loads: &[u64], held: &[bool]) -> usize {
        let members = &self.members[flow.dst as usize];
        let n = members.len() as u64;
        let source_port = 49_152 + (flow.id % 16_384) as u32;
        let (source, destination) = (address(flow.src), address(flow.dst));
        let mut identity = vec![17u8];
        identity.extend(&source_port.to_be_bytes()[2..]);
        identity.extend(&4_791u16.to_be_bytes());
        identity.extend(&source.to_be_bytes());
        identity.extend(&destination.to_be_bytes());
        let plain = u64::from(fold16(crc32(0, &identity)));
        let mixed = source ^ destination ^ (source_port << 16 | 4_791);
        let low = u64::from((destination - 1) & 0x1ff);
        let value = match self.method {
            EcmpHashMethod::FlowId => flow.id,
            EcmpHashMethod::Crc32 => plain,
            EcmpHashMethod::Crc32WithSalt => {
                u64::from(fold16(fmix32(crc32(self.salt, &identity) ^ self.salt)))
            }
            EcmpHashMethod::Hash => u64::from(fold16(mixed)),
            EcmpHashMethod::HashWithSalt => u64::from(fold16(mixed.wrapping_add(self.salt))),
            EcmpHashMethod::Dpr => low,
            EcmpHashMethod::DprWithFallback if low < n => low,
            EcmpHashMethod::DprWithFallback => plain,
        };
        if n == 1 {
            self.flowlets.nothing_to_choose();
            return members[0];
        }
        self.flowlets.choose(members, value, now, loads, held)
    }
}

fn address(node: u32) -> u32 {
    (10 << 24) + node + 1
}

fn fold16(x: u32) -> u32 {
    (x >> 16) ^ (x & 0xffff)
}

/// MurmurHash3's finalizer of 32 bit.
fn fmix32(mut h: u32) -> u32 {
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// CRC-32 of Ethernet, bit by bit, continued from an earlier value.
fn crc32(before: u32, bytes: &[u8]) -> u32 {
    let mut crc = !before;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[test]
fn published_check_values() {
    assert_eq!(crc32(0, b"123456789"), 0xcbf4_3926);
    assert_eq!(crc32(crc32(0, b"1234"), b"56789"), 0xcbf4_3926);
    assert_eq!((fmix32(0), fmix32(1)), (0, 0x514e_28b7));
}
