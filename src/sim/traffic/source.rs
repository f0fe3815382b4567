//! All patterns of a scenario together, host by host.

use super::pattern::{Pattern, Setting};
use super::{FlowStart, Problem, Traces, TrafficError};
use crate::scenario::Scenario;
use crate::sim::random::Seeds;

/// Hands out every flow of a scenario, host by host in order of (start, id).
///
/// The flows and their order depend on the scenario and the seeds alone, never on how hosts are
/// asked in turn.
#[derive(Debug)]
pub struct FlowSource {
    patterns: Vec<Pattern>,
    /// The next flow of each host and pattern, pattern by pattern inside a host.
    heads: Vec<Option<FlowStart>>,
    /// By host: the pattern whose head is next; any while the host has none.
    next: Vec<u32>,
    duration: u64,
    /// Hosts whose next flow starts before the scenario's duration.
    waiting: u32,
}

impl FlowSource {
    /// The flows of `scenario.traffic` between `hosts` hosts.
    ///
    /// `host_rate` gives a host's link rate in bit/s; `traces` holds the flows of every trace
    /// file the scenario names, under the hash it gives.
    ///
    /// # Errors
    ///
    /// A pattern that cannot be expanded: hosts, sizes, packets, code points, rates or a load out
    /// of range, a trace that was not loaded, or too many flows to count.
    pub fn new(
        scenario: &Scenario,
        hosts: u32,
        host_rate: &dyn Fn(u32) -> u64,
        seeds: &Seeds,
        traces: &Traces,
    ) -> Result<FlowSource, TrafficError> {
        let duration = scenario.duration.0;
        let mut patterns = Vec::with_capacity(scenario.traffic.len());
        let mut first = 0;
        for (place, traffic) in (0..).zip(&scenario.traffic) {
            let fail = |problem| TrafficError { place, pattern: traffic.pattern(), problem };
            if hosts < 2 {
                return Err(fail(Problem::Hosts { hosts }));
            }
            let setting = Setting { place, first, hosts, host_rate, seeds, duration, traces };
            let pattern = Pattern::new(traffic, &setting).map_err(fail)?;
            // Counting may be as long as generating: only where an id depends on it.
            if patterns.len() + 1 < scenario.traffic.len() {
                first += pattern.count().map_err(fail)?;
            }
            patterns.push(pattern);
        }
        let mut source = FlowSource {
            heads: Vec::with_capacity(hosts as usize * patterns.len()),
            next: vec![0; hosts as usize],
            patterns,
            duration,
            waiting: 0,
        };
        for host in 0..hosts {
            for pattern in &mut source.patterns {
                source.heads.push(pattern.next(host));
            }
            source.choose(host);
            source.waiting += u32::from(source.is_waiting(host));
        }
        Ok(source)
    }

    /// The next flow of a host in order of (start, id) without taking it; `None`: never again.
    ///
    /// Flows that start at or after the scenario's duration may be among them.
    #[inline]
    pub fn peek(&mut self, host: u32) -> Option<&FlowStart> {
        self.heads.get(self.head(host)?)?.as_ref()
    }

    /// Takes the next flow of a host.
    #[inline]
    pub fn pop(&mut self, host: u32) -> Option<FlowStart> {
        let head = self.head(host)?;
        self.heads.get(head)?.as_ref()?;
        self.take(host, head)
    }

    /// Takes the next flow of a host if it starts before `before`.
    #[inline]
    pub fn pop_before(&mut self, host: u32, before: u64) -> Option<FlowStart> {
        let head = self.head(host)?;
        if self.heads.get(head)?.as_ref()?.start >= before {
            return None;
        }
        self.take(host, head)
    }

    #[inline]
    fn take(&mut self, host: u32, head: usize) -> Option<FlowStart> {
        let pattern = head - host as usize * self.patterns.len();
        let following = self.patterns[pattern].next(host);
        let flow = std::mem::replace(&mut self.heads[head], following)?;
        if self.patterns.len() > 1 {
            self.choose(host);
        }
        if flow.start < self.duration && !self.is_waiting(host) {
            self.waiting -= 1;
        }
        Some(flow)
    }

    /// Whether a flow that was not taken starts before the scenario's duration.
    #[inline]
    pub fn pending(&mut self) -> bool {
        self.waiting > 0
    }

    /// Place in `heads` of a host's next flow; `None`: there is no such host.
    #[inline]
    fn head(&self, host: u32) -> Option<usize> {
        let pattern = *self.next.get(host as usize)?;
        Some(host as usize * self.patterns.len() + pattern as usize)
    }

    /// Chooses the earliest head of a host; ids rise with the patterns, so the first of equals.
    fn choose(&mut self, host: u32) {
        let from = host as usize * self.patterns.len();
        let heads = &self.heads[from..from + self.patterns.len()];
        let starts = (0..).zip(heads).filter_map(|(p, head)| Some((head.as_ref()?.start, p)));
        self.next[host as usize] = starts.min().map_or(0, |(_, pattern)| pattern);
    }

    #[inline]
    fn is_waiting(&self, host: u32) -> bool {
        let head = self.head(host).and_then(|head| self.heads.get(head)?.as_ref());
        head.is_some_and(|flow| flow.start < self.duration)
    }

    /// Flows generated and not yet taken, heads apart.
    #[cfg(test)]
    pub(super) fn buffered(&self) -> usize {
        self.patterns.iter().map(Pattern::waiting).sum()
    }
}
