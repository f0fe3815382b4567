//! Ports towards a destination, and the hashes that choose among equal ones.

use poolsweep::scenario::links::SwitchPlan;
use poolsweep::scenario::{EcmpHashMethod, Scenario, Topology};
use poolsweep::sim::traffic::FlowStart;

pub struct Router {
    /// Equal-cost ports by destination, in port order.
    members: Vec<Vec<usize>>,
    method: EcmpHashMethod,
    salt: u32,
}

impl Router {
    pub fn new(scenario: &Scenario, plan: &SwitchPlan) -> Router {
        let hosts = scenario.topology.hosts() as u32;
        let (leaves, below) = match scenario.topology {
            Topology::SingleSwitch { hosts, .. } => (1, hosts),
            Topology::LeafSpine { leaves, hosts_per_leaf, .. } => (leaves, hosts_per_leaf),
        };
        let place = plan.node - hosts;
        let members = (0..hosts)
            .map(|host| {
                let leaf = host / below;
                let towards = |&port: &usize| {
                    let p = &plan.ports[port];
                    if place == leaf {
                        p.peer.node == host
                    } else if place < leaves {
                        p.up
                    } else {
                        p.peer.node == hosts + leaf
                    }
                };
                (0..plan.ports.len()).filter(towards).collect()
            })
            .collect();
        Router { members, method: scenario.switch.ecmp_hash_method, salt: fmix32(plan.node + 1) }
    }

    /// The port a flow leaves by.
    pub fn port(&self, flow: &FlowStart) -> usize {
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
        members[(value % n) as usize]
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
