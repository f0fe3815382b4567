//! The hashes that choose a member of an equal-cost set.
//!
//! A flow is seen as the headers its packets carry: node i has the IPv4 address 10.0.0.0 + i + 1,
//! the protocol is UDP, the destination port 4791 (RoCEv2), and the source port is what the sender
//! spreads paths with. The choice is a pure function of flow and switch, so that it can be made
//! once, when a flow starts.

use crate::scenario::EcmpHashMethod;

/// What the hashes see of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowIdentity {
    /// Node id of the sender.
    pub src: u32,
    /// Node id of the receiver.
    pub dst: u32,
    /// Source port: the sender's entropy.
    pub source_port: u16,
    /// Flow id, which only the method `flowId` looks at.
    pub id: u64,
}

const PROTOCOL: u8 = 17;
const DESTINATION_PORT: u16 = 4791;
const NETWORK: u32 = 0x0a00_0000;

/// The place, in port order, of the member that a flow takes at switch `node`: [`hash`] modulo
/// `members`, which is at least 1.
pub fn member(method: EcmpHashMethod, node: u32, identity: &FlowIdentity, members: usize) -> usize {
    debug_assert!(members > 0, "a set without members has no choice");
    if members == 1 {
        return 0;
    }
    (hash(method, node, identity, members) % members as u64) as usize
}

/// The flow's hash at switch `node`: 16 bits, 9 for `dpr`, the whole id for `flowId`.
///
/// Only `dprWithFallback` depends on `members`, the size of the set to choose from: its value is
/// that of `dpr` where it is below `members`, of `crc32` elsewhere.
pub fn hash(method: EcmpHashMethod, node: u32, identity: &FlowIdentity, members: usize) -> u64 {
    match method {
        EcmpHashMethod::Dpr => identity.dpr(),
        EcmpHashMethod::Hash => fold16(identity.xor()),
        EcmpHashMethod::HashWithSalt => fold16(identity.xor().wrapping_add(salt(node))),
        EcmpHashMethod::Crc32 => fold16(identity.crc32(0)),
        EcmpHashMethod::Crc32WithSalt => {
            let salt = salt(node);
            fold16(fmix32(identity.crc32(salt) ^ salt))
        }
        EcmpHashMethod::DprWithFallback => {
            let dpr = identity.dpr();
            if dpr < members as u64 { dpr } else { fold16(identity.crc32(0)) }
        }
        EcmpHashMethod::FlowId => identity.id,
    }
}

impl FlowIdentity {
    fn addresses(&self) -> (u32, u32) {
        let address = |node: u32| NETWORK.wrapping_add(node).wrapping_add(1);
        (address(self.src), address(self.dst))
    }

    /// The low 9 bits of the destination's address less 1.
    fn dpr(&self) -> u64 {
        let (_, dst) = self.addresses();
        u64::from(dst.wrapping_sub(1) & 0x1ff)
    }

    /// Addresses and ports, one over the other.
    pub(super) fn xor(&self) -> u32 {
        let (src, dst) = self.addresses();
        src ^ dst ^ (u32::from(self.source_port) << 16 | u32::from(DESTINATION_PORT))
    }

    /// CRC-32 of protocol, ports and addresses, big-endian, continued from `crc` as zlib does.
    pub(super) fn crc32(&self, crc: u32) -> u32 {
        let (src, dst) = self.addresses();
        let mut bytes = [0; 13];
        bytes[0] = PROTOCOL;
        bytes[1..3].copy_from_slice(&self.source_port.to_be_bytes());
        bytes[3..5].copy_from_slice(&DESTINATION_PORT.to_be_bytes());
        bytes[5..9].copy_from_slice(&src.to_be_bytes());
        bytes[9..].copy_from_slice(&dst.to_be_bytes());
        let mut hasher = crc32fast::Hasher::new_with_initial(crc);
        hasher.update(&bytes);
        hasher.finalize()
    }
}

/// What makes the hashes of two switches differ.
pub(super) fn salt(node: u32) -> u32 {
    fmix32(node.wrapping_add(1))
}

/// The 32-bit finalizer of MurmurHash3.
pub(super) fn fmix32(mut h: u32) -> u32 {
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

pub(super) fn fold16(x: u32) -> u64 {
    u64::from((x >> 16) ^ (x & 0xffff))
}

#[cfg(test)]
mod tests {
    use super::EcmpHashMethod::*;
    use super::*;

    fn flow(src: u32, dst: u32, id: u64) -> FlowIdentity {
        FlowIdentity { src, dst, source_port: 49_152 + (id % 16_384) as u16, id }
    }

    /// Node, source, destination and flow id.
    type At = (u32, u32, u32, u64);

    /// Values computed apart, with Python's zlib.crc32(data, salt): `dpr`, `hash`, `hashWithSalt`,
    /// `crc32`, `crc32WithSalt`.
    const GOLDEN: [(At, [u64; 5]); 5] = [
        ((128, 0, 1, 0), [1, 53_940, 34_312, 48_496, 21_272]),
        ((128, 5, 127, 20_000), [127, 56_337, 30_895, 414, 35_825]),
        ((143, 5, 127, 20_000), [127, 56_337, 20_935, 414, 59_751]),
        ((1_200, 1_000, 600, 3), [88, 54_020, 5_425, 1_634, 30_101]),
        ((7, 300, 511, 16_383), [511, 61_029, 16_285, 64_114, 5_769]),
    ];

    #[test]
    fn hashes_have_the_values_computed_apart() {
        for ((node, src, dst, id), values) in GOLDEN {
            let identity = flow(src, dst, id);
            let methods = [Dpr, Hash, HashWithSalt, Crc32, Crc32WithSalt];
            for (method, value) in methods.into_iter().zip(values) {
                assert_eq!(hash(method, node, &identity, 8), value, "{method:?} {identity:?}");
                for members in [1, 2, 7, 8, 64] {
                    let expected = value as usize % members;
                    assert_eq!(member(method, node, &identity, members), expected);
                }
            }
        }
    }

    #[test]
    fn dpr_falls_back_where_it_names_no_member() {
        for ((node, src, dst, id), [dpr, _, _, crc32, _]) in GOLDEN {
            for members in [2, 88, 89, 127, 128, 512] {
                let value = if dpr < members as u64 { dpr } else { crc32 };
                let expected = value as usize % members;
                assert_eq!(member(DprWithFallback, node, &flow(src, dst, id), members), expected);
            }
        }
    }

    #[test]
    fn flow_ids_spread_ideally() {
        let mut counts = [0; 6];
        for id in 0..60 {
            counts[member(FlowId, 9, &flow(1, 2, id), 6)] += 1;
        }
        assert_eq!(counts, [10; 6]);
    }

    #[test]
    fn fmix32_is_murmurs() {
        let values = [0, 1, 2, 129].map(fmix32);
        assert_eq!(values, [0, 0x514e_28b7, 0x30f4_c306, 0x3885_6bd9]);
    }

    #[test]
    fn a_salt_lets_switches_choose_apart() {
        let choices = |method, node| -> Vec<usize> {
            (0..64).map(|id| member(method, node, &flow(1, 2, id), 8)).collect()
        };
        assert_eq!(choices(Crc32, 128), choices(Crc32, 129));
        assert_eq!(choices(Hash, 128), choices(Hash, 129));
        assert_ne!(choices(Crc32WithSalt, 128), choices(Crc32WithSalt, 129));
        assert_ne!(choices(HashWithSalt, 128), choices(HashWithSalt, 129));
    }
}
