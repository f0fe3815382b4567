//! The choice of a port on the per-packet path.
//!
//! What a flow's hashes have in common at all switches is computed once, when it starts; a switch
//! adds its own part. CRC-32 is linear, so continuing it from a salt differs from starting at 0
//! by a constant of the salt alone.

use super::ecmp::{FlowIdentity, fmix32, fold16, salt};
use super::{RouteError, Routes, SetId};
use crate::scenario::EcmpHashMethod;
use crate::scenario::links::NetworkPlan;
use crate::sim::traffic::FlowStart;

/// What equal-cost choices at any switch depend on, beside flow id and destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowHashes {
    crc: u32,
    xor: u32,
}

impl FlowHashes {
    /// The hashes of a flow that starts.
    pub fn of(flow: &FlowStart) -> FlowHashes {
        let identity =
            FlowIdentity { src: flow.src, dst: flow.dst, source_port: flow.entropy, id: flow.id };
        FlowHashes { crc: identity.crc32(0), xor: identity.xor() }
    }

    /// The hashes of a packet between two hosts with a source port.
    #[inline]
    pub fn between(src: u32, dst: u32, source_port: u16) -> FlowHashes {
        let identity = FlowIdentity { src, dst, source_port, id: 0 };
        FlowHashes { crc: identity.crc32(0), xor: identity.xor() }
    }
}

/// A switch's method, and its part of the salted hashes.
#[derive(Debug, Clone, Copy)]
struct Chooser {
    method: EcmpHashMethod,
    salt: u32,
    /// CRC-32 continued from the salt, xor CRC-32 from 0, of anything as long as an identity.
    crc: u32,
}

/// Routes with the method that chooses among equals.
#[derive(Debug)]
pub struct Forwarding {
    routes: Routes,
    choosers: Vec<Chooser>,
    choices: bool,
    /// By switch and host: the only port, or [`SEVERAL`]. Empty in networks too large for it.
    direct: Vec<u16>,
    hosts: usize,
}

/// Stands for a choice.
const SEVERAL: u16 = u16::MAX;
/// Most entries the direct table may have: 8 MiB.
const DIRECT_LIMIT: usize = 4 << 20;

impl Forwarding {
    /// Routes of a network; `method` is that of a switch, by its place in the network's list.
    ///
    /// # Errors
    ///
    /// As [`Routes::new`].
    pub fn new(
        network: &NetworkPlan,
        method: impl Fn(usize) -> EcmpHashMethod,
    ) -> Result<Forwarding, RouteError> {
        let routes = Routes::new(network)?;
        let any = FlowIdentity { src: 0, dst: 0, source_port: 0, id: 0 };
        let choosers = network
            .switches
            .iter()
            .enumerate()
            .map(|(at, switch)| {
                let salt = salt(switch.node);
                Chooser { method: method(at), salt, crc: any.crc32(salt) ^ any.crc32(0) }
            })
            .collect();
        let choices = (0..network.switches.len())
            .flat_map(|switch| routes.sets_of(switch))
            .any(|set| routes.members(SetId(set)).len() > 1);
        let hosts = network.hosts as usize;
        let direct = if network.switches.len() * hosts <= DIRECT_LIMIT {
            let pairs = (0..network.switches.len())
                .flat_map(|switch| (0..network.hosts).map(move |dst| (switch, dst)));
            let port = |(switch, dst)| match routes.members(routes.set(switch, dst)) {
                [only] => u16::try_from(*only).unwrap_or(SEVERAL),
                _ => SEVERAL,
            };
            pairs.map(port).collect()
        } else {
            Vec::new()
        };
        Ok(Forwarding { routes, choosers, choices, direct, hosts })
    }

    /// The port, local to switch `switch`, by which host `dst` is reached where there is no
    /// choice; `None` where there may be one.
    #[inline]
    pub fn single(&self, switch: usize, dst: u32) -> Option<usize> {
        match self.direct.get(switch * self.hosts + dst as usize) {
            Some(&port) if port != SEVERAL => Some(usize::from(port)),
            _ => None,
        }
    }

    /// Whether some switch has a choice for some destination.
    pub fn has_choices(&self) -> bool {
        self.choices
    }

    /// The port, local to switch `switch`, by which a flow leaves it.
    #[inline]
    pub fn port(&self, switch: usize, dst: u32, id: u64, hashes: FlowHashes) -> usize {
        let members = self.routes.members(self.routes.set(switch, dst));
        if let [only] = members {
            return *only as usize;
        }
        let hash = self.hash(switch, dst, id, hashes, members.len());
        members[(hash % members.len() as u64) as usize] as usize
    }

    /// The tables.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The hash of a flow at switch `switch`, for a set of that many members.
    pub fn hash(
        &self,
        switch: usize,
        dst: u32,
        id: u64,
        hashes: FlowHashes,
        members: usize,
    ) -> u64 {
        let FlowHashes { crc, xor } = hashes;
        let Chooser { method, salt, crc: continued } = self.choosers[switch];
        // The low 9 bits of the destination's address less 1: 10.0.0.0 ends in zeros.
        let dpr = u64::from(dst & 0x1ff);
        match method {
            EcmpHashMethod::Dpr => dpr,
            EcmpHashMethod::Hash => fold16(xor),
            EcmpHashMethod::HashWithSalt => fold16(xor.wrapping_add(salt)),
            EcmpHashMethod::Crc32 => fold16(crc),
            EcmpHashMethod::Crc32WithSalt => fold16(fmix32(crc ^ continued ^ salt)),
            EcmpHashMethod::DprWithFallback if dpr < members as u64 => dpr,
            EcmpHashMethod::DprWithFallback => fold16(crc),
            EcmpHashMethod::FlowId => id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ecmp;
    use super::*;
    use crate::scenario::Role;
    use crate::scenario::links::{Link, LinkEnd, PortPlan, SwitchPlan};
    use proptest::prelude::*;

    /// Two switches with a host each and `n` links between them.
    fn parallel(n: u32) -> NetworkPlan {
        let mut links = Vec::new();
        let mut ports = [Vec::new(), Vec::new()];
        for (s, own) in ports.iter_mut().enumerate() {
            let host = s as u32;
            let peer = LinkEnd { node: host, port: 0 };
            own.push(PortPlan { link: links.len(), peer, up: false });
            let b = LinkEnd { node: 2 + host, port: 0 };
            links.push(Link { a: peer, b, rate: 1_000_000_000, delay: 0 });
        }
        for i in 1..=n {
            let (a, b) = (LinkEnd { node: 2, port: i }, LinkEnd { node: 3, port: i });
            ports[0].push(PortPlan { link: links.len(), peer: b, up: true });
            ports[1].push(PortPlan { link: links.len(), peer: a, up: true });
            links.push(Link { a, b, rate: 1_000_000_000, delay: 0 });
        }
        let [a, b] = ports;
        let switches = vec![SwitchPlan { node: 2, ports: a }, SwitchPlan { node: 3, ports: b }];
        NetworkPlan { hosts: 2, switches, links }
    }

    proptest! {
        /// The choice per packet is the choice the definition makes.
        #[test]
        fn choice_is_the_hash_of_the_identity(n in 1u32..9, id in 0u64..100_000, src in 0u32..2, entropy: u16) {
            use EcmpHashMethod::{Crc32, Crc32WithSalt, Dpr, DprWithFallback, FlowId, Hash, HashWithSalt};
            let network = parallel(n);
            let dst = 1 - src;
            let flow = FlowStart {
                id, pattern: 0, src, dst, bytes: 1, packet: 1, tc: 0, ect: false,
                role: Role::NoTrim, start: 0, rate: 0, entropy,
            };
            let identity = FlowIdentity { src, dst, source_port: entropy, id };
            for method in [Dpr, Hash, HashWithSalt, Crc32, Crc32WithSalt, DprWithFallback, FlowId] {
                let forwarding = Forwarding::new(&network, |_| method).expect("connected");
                let port = forwarding.port(src as usize, dst, id, FlowHashes::of(&flow));
                let member = ecmp::member(method, 2 + src, &identity, n as usize);
                prop_assert_eq!(port, member + 1, "{:?}", method);
            }
        }
    }
}
