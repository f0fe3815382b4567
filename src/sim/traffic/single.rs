//! Patterns in which a host sends at most one flow: incast, permutation, one round of a ring.

use super::draw;
use super::pattern::{Setting, Shape, size};
use super::{FlowStart, Problem};
use crate::scenario::{Common, Incast, Permutation, Ring};

/// At most one flow a host.
#[derive(Debug)]
pub(super) struct Single {
    /// By host.
    flows: Vec<Option<FlowStart>>,
    count: u64,
}

impl Single {
    pub(super) fn incast(incast: &Incast, setting: &Setting<'_>) -> Result<Single, Problem> {
        let senders = setting.senders(incast.receiver, incast.senders)?;
        let pairs = senders.map(|src| (src, incast.receiver));
        Single::new(pairs, incast.bytes.0, &incast.common, setting)
    }

    pub(super) fn permutation(p: &Permutation, setting: &Setting<'_>) -> Result<Single, Problem> {
        let partners = draw::derangement(&mut setting.stream("permutation"), setting.hosts);
        Single::new((0..).zip(partners), p.bytes.0, &p.common, setting)
    }

    pub(super) fn ring(ring: &Ring, setting: &Setting<'_>) -> Result<Single, Problem> {
        let hosts = setting.hosts;
        let pairs = (0..hosts).map(|src| (src, if src + 1 == hosts { 0 } else { src + 1 }));
        Single::new(pairs, ring.bytes.0, &ring.common, setting)
    }

    fn new(
        pairs: impl Iterator<Item = (u32, u32)>,
        bytes: u64,
        common: &Common,
        setting: &Setting<'_>,
    ) -> Result<Single, Problem> {
        let shape = Shape::new(setting, common)?;
        let bytes = size(bytes)?;
        let mut jitter = setting.jitter(common);
        let mut flows = vec![None; setting.hosts as usize];
        let mut count = 0;
        for (src, dst) in pairs {
            let start = shape.start().saturating_add(jitter.draw());
            flows[src as usize] = Some(shape.flow(count, src, dst, bytes, start));
            count += 1;
        }
        Ok(Single { flows, count })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn next(&mut self, host: u32) -> Option<FlowStart> {
        self.flows[host as usize].take()
    }
}
