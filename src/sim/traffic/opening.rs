//! What starts of a collective by itself; the rest comes from [`super::steps`].

use super::FlowStart;
use std::collections::VecDeque;

/// Flows that are known from the beginning, by host.
#[derive(Debug)]
pub(super) struct Opening {
    /// By host, in order of (start, id).
    flows: Vec<VecDeque<FlowStart>>,
    count: u64,
}

impl Opening {
    /// `flows` of a pattern that stands for `count` of them.
    pub(super) fn new(flows: Vec<FlowStart>, count: u64, hosts: u32) -> Opening {
        let mut by_host = vec![VecDeque::new(); hosts as usize];
        for flow in flows {
            by_host[flow.src as usize].push_back(flow);
        }
        for flows in &mut by_host {
            flows.make_contiguous().sort_unstable_by_key(|flow| (flow.start, flow.id));
        }
        Opening { flows: by_host, count }
    }

    /// How many flows the pattern stands for, those that are not known yet included.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn next(&mut self, host: u32) -> Option<FlowStart> {
        self.flows[host as usize].pop_front()
    }
}
