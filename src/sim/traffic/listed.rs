//! Patterns that list their flows one by one: `flows` and `trace`.

use super::error::ListedProblem;
use super::pattern::{Setting, Shape, cap, check_dscp, packet, size};
use super::{FlowStart, Problem, TraceFlow};
use crate::scenario::{Common, Flows, Trace};
use std::sync::Arc;

/// A shared list of flows and an index by host: 4 B a flow, 12 B with jitter.
#[derive(Debug)]
pub(super) struct Listed {
    shape: Shape,
    flows: Arc<[TraceFlow]>,
    /// By place, with jitter only.
    delays: Vec<u64>,
    /// Places, host by host in order of (start, place).
    order: Vec<u32>,
    /// By host: the rest of its part of `order`.
    rest: Vec<(u32, u32)>,
}

impl Listed {
    pub(super) fn flows(flows: &Flows, setting: &Setting<'_>) -> Result<Listed, Problem> {
        let list = flows.flows.iter().map(TraceFlow::of_entry).collect();
        Listed::new(list, &flows.common, setting)
    }

    pub(super) fn trace(trace: &Trace, setting: &Setting<'_>) -> Result<Listed, Problem> {
        let Some(flows) = setting.traces.get(&trace.blake3) else {
            let (file, blake3) = (trace.file.clone(), trace.blake3.clone());
            return Err(Problem::NoTrace { file, blake3 });
        };
        Listed::new(Arc::clone(flows), &trace.common, setting)
    }

    fn new(
        flows: Arc<[TraceFlow]>,
        common: &Common,
        setting: &Setting<'_>,
    ) -> Result<Listed, Problem> {
        let shape = Shape::new(setting, common)?;
        let Ok(count) = u32::try_from(flows.len()) else {
            return Err(Problem::TooManyListed { flows: flows.len() });
        };
        for (flow, listed) in flows.iter().enumerate() {
            check(listed, setting.hosts).map_err(|problem| Problem::Listed { flow, problem })?;
        }
        let mut jitter = setting.jitter(common);
        let delays = match jitter.is_on() {
            true => flows.iter().map(|_| jitter.draw()).collect(),
            false => Vec::new(),
        };
        let mut listed = Listed { shape, flows, delays, order: Vec::new(), rest: Vec::new() };

        // A counting sort by host, then each host's places by start.
        let mut ends = vec![0u32; setting.hosts as usize];
        for flow in listed.flows.iter() {
            ends[flow.src as usize] += 1;
        }
        let mut before = 0;
        for end in &mut ends {
            let from = before;
            before += *end;
            listed.rest.push((from, from));
            *end = before;
        }
        let mut order = vec![0; count as usize];
        for (place, flow) in (0..).zip(listed.flows.iter()) {
            let (_, to) = &mut listed.rest[flow.src as usize];
            order[*to as usize] = place;
            *to += 1;
        }
        for &(from, to) in &listed.rest {
            let host = &mut order[from as usize..to as usize];
            host.sort_unstable_by_key(|&place| (listed.start(place), place));
        }
        listed.order = order;
        Ok(listed)
    }

    pub(super) fn count(&self) -> u64 {
        self.flows.len() as u64
    }

    pub(super) fn next(&mut self, host: u32) -> Option<FlowStart> {
        let (from, to) = self.rest[host as usize];
        if from == to {
            return None;
        }
        self.rest[host as usize].0 += 1;
        let place = self.order[from as usize];
        let flow = &self.flows[place as usize];
        Some(self.shape.listed(place.into(), flow, self.start(place)))
    }

    fn start(&self, place: u32) -> u64 {
        let delay = self.delays.get(place as usize).copied().unwrap_or(0);
        let start = self.shape.start().saturating_add(self.flows[place as usize].start);
        start.saturating_add(delay)
    }
}

fn check(flow: &TraceFlow, hosts: u32) -> Result<(), ListedProblem> {
    for (field, host) in [("src", flow.src), ("dst", flow.dst)] {
        if host >= hosts {
            return Err(ListedProblem::Host { field, host, last: hosts - 1 });
        }
    }
    if flow.src == flow.dst {
        return Err(ListedProblem::Itself { host: flow.src });
    }
    let values = || {
        size(flow.bytes)?;
        flow.packet.map_or(Ok(1), |p| packet(p.into()))?;
        flow.dscp.map_or(Ok(()), |d| check_dscp(d.into()))?;
        flow.rate.map_or(Ok(1), cap)
    };
    values().map_err(|problem: Problem| ListedProblem::Value(Box::new(problem)))?;
    Ok(())
}
