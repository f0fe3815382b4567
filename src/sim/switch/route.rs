//! Temporary.
use crate::scenario::EcmpHashMethod;
use crate::scenario::links::NetworkPlan;
use crate::sim::flows::Flow;
use crate::sim::traffic::FlowStart;

/// t
#[derive(Debug, Clone, Copy, Default)]
pub struct FlowHashes;
impl FlowHashes {
    /// t
    pub fn of(_: &FlowStart) -> Self {
        FlowHashes
    }
}
/// t
#[derive(Debug)]
pub struct Routes {
    table: Vec<Vec<Vec<u32>>>,
}
impl Routes {
    /// t
    pub fn new(plan: &NetworkPlan, _m: EcmpHashMethod) -> Routes {
        let mut table = vec![vec![vec![]; plan.hosts as usize]; plan.switches.len()];
        for (s, sw) in plan.switches.iter().enumerate() {
            for d in 0..plan.hosts {
                for (i, p) in sw.ports.iter().enumerate() {
                    if p.peer.node == d {
                        table[s][d as usize].push(i as u32);
                    } else if !p.up && p.peer.node >= plan.hosts {
                        let leaf = &plan.switches[(p.peer.node - plan.hosts) as usize];
                        if leaf.ports.iter().any(|q| q.peer.node == d) {
                            table[s][d as usize].push(i as u32);
                        }
                    }
                }
                if table[s][d as usize].is_empty() {
                    for (i, p) in sw.ports.iter().enumerate() {
                        if p.up {
                            table[s][d as usize].push(i as u32);
                        }
                    }
                }
            }
        }
        Routes { table }
    }
    /// t
    pub fn needs_hashes(&self) -> bool {
        false
    }
    /// t
    #[inline]
    pub fn port(&self, s: usize, flow: &Flow) -> usize {
        let m = &self.table[s][flow.dst as usize];
        if m.len() == 1 {
            m[0] as usize
        } else {
            m[(flow.spec.id % m.len() as u64) as usize] as usize
        }
    }
}
