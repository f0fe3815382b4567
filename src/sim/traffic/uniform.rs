//! Poisson arrivals at a load: `uniform`.
//!
//! One Poisson process over all hosts. Its rate is load × the sum of the hosts' link rates over
//! the mean wire bits of a flow; each arrival draws its source among all hosts and its destination
//! among the others (with unequal links a host is therefore offered the load of the mean link).
//! The words taken: one of `arrivals` a flow, one of `sources`,
//! one of `destinations`, and with a distribution one of `sizes`.

use super::draw::{self, Jitter};
use super::pattern::{MOST_COUNTED, Setting, Shape, size};
use super::sizes::{Distribution, FlowSize};
use super::wire;
use super::{FlowStart, Problem};
use crate::scenario;
use crate::sim::random::Stream;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// Flows generated at a time.
const BATCH: usize = 64;

/// The generator. It runs ahead only until the host that is asked has a flow, so that about
/// hosts × ln hosts flows wait, however many the pattern stands for.
#[derive(Debug)]
pub(super) struct Uniform {
    shape: Shape,
    hosts: u32,
    arrivals: Arrivals,
    sources: Stream,
    destinations: Stream,
    size: FlowSize,
    sizes: Stream,
    jitter: Jitter,
    /// Flows generated.
    place: u64,
    /// No arrival is to come: whatever waits may be handed out.
    over: bool,
    queues: Queues,
}

/// Flows generated and not handed out, by host.
#[derive(Debug)]
enum Queues {
    /// Without jitter they arrive in order.
    InOrder(Vec<VecDeque<Waiting>>),
    /// With jitter the earliest may be handed out once the process has passed its start.
    Jittered(Vec<BinaryHeap<Reverse<Waiting>>>),
}

/// A flow that waits. Ordered by start, then place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    start: u64,
    place: u64,
    bytes: u64,
    dst: u32,
}

impl Uniform {
    pub(super) fn new(
        uniform: &scenario::Uniform,
        setting: &Setting<'_>,
    ) -> Result<Uniform, Problem> {
        let common = &uniform.common;
        let shape = Shape::new(setting, common)?;
        let load = uniform.load;
        if !(load > 0.0 && load.is_finite()) {
            return Err(Problem::Load { load });
        }
        let size = match (uniform.bytes, uniform.sizes) {
            (Some(bytes), None) => FlowSize::Fixed(size(bytes.0)?),
            (None, Some(sizes)) => FlowSize::Drawn(Arc::new(Distribution::of(sizes))),
            _ => return Err(Problem::OneSize),
        };
        let mut rates = 0.0;
        for host in 0..setting.hosts {
            rates += setting.rate(host)? as f64;
        }
        let wire_bits = 8.0 * size.mean_wire_bytes(shape.packet());
        let arrivals = Arrivals {
            stream: setting.stream("arrivals"),
            gap: wire_bits * wire::SECOND as f64 / (load * rates),
            now: shape.start(),
            fraction: 0.0,
            end: setting.end(common, uniform.length),
        };
        let jitter = setting.jitter(common);
        let hosts = setting.hosts as usize;
        let queues = match jitter.is_on() {
            false => Queues::InOrder(vec![VecDeque::new(); hosts]),
            true => Queues::Jittered(vec![BinaryHeap::new(); hosts]),
        };
        Ok(Uniform {
            shape,
            hosts: setting.hosts,
            arrivals,
            sources: setting.stream("sources"),
            destinations: setting.stream("destinations"),
            size,
            sizes: setting.stream("sizes"),
            jitter,
            place: 0,
            over: false,
            queues,
        })
    }

    /// Counts by running the arrivals alone.
    pub(super) fn count(&self) -> Result<u64, Problem> {
        let flows = self.arrivals.expected();
        if flows > MOST_COUNTED as f64 {
            return Err(Problem::TooManyToCount { flows, most: MOST_COUNTED });
        }
        let (mut arrivals, mut batch, mut count) = (self.arrivals.clone(), [0; BATCH], self.place);
        loop {
            let filled = arrivals.fill(&mut batch);
            count += filled as u64;
            if filled < BATCH {
                return Ok(count);
            }
        }
    }

    #[inline]
    pub(super) fn next(&mut self, host: u32) -> Option<FlowStart> {
        loop {
            let (passed, over) = (self.arrivals.now, self.over);
            let waiting = match &mut self.queues {
                Queues::InOrder(queues) => queues[host as usize].pop_front(),
                Queues::Jittered(heaps) => {
                    let heap = &mut heaps[host as usize];
                    // Later flows start at or after `passed` and have larger ids.
                    let due =
                        heap.peek().is_some_and(|Reverse(first)| over || first.start <= passed);
                    if due { heap.pop().map(|Reverse(first)| first) } else { None }
                }
            };
            if let Some(Waiting { start, place, bytes, dst }) = waiting {
                return Some(self.shape.flow(place, host, dst, bytes, start));
            }
            if over {
                return None;
            }
            self.generate();
        }
    }

    /// Some more flows, to the queues of their sources, or the end of the process.
    ///
    /// In batches: logarithms of one loop overlap, and the host that is asked is looked at again
    /// only after a batch.
    #[inline(never)]
    fn generate(&mut self) {
        let mut batch = [0; BATCH];
        let arrivals = self.arrivals.fill(&mut batch);
        self.over = arrivals < BATCH;
        for &arrival in &batch[..arrivals] {
            let src = draw::below(&mut self.sources, self.hosts.into()) as u32;
            let other = draw::below(&mut self.destinations, u64::from(self.hosts) - 1) as u32;
            let dst = other + u32::from(other >= src);
            let bytes = self.size.draw(&mut self.sizes);
            let start = arrival.saturating_add(self.jitter.draw());
            let waiting = Waiting { start, place: self.place, bytes, dst };
            self.place += 1;
            match &mut self.queues {
                Queues::InOrder(queues) => queues[src as usize].push_back(waiting),
                Queues::Jittered(heaps) => heaps[src as usize].push(Reverse(waiting)),
            }
        }
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        match &self.queues {
            Queues::InOrder(queues) => queues.iter().map(VecDeque::len).sum(),
            Queues::Jittered(heaps) => heaps.iter().map(BinaryHeap::len).sum(),
        }
    }
}

/// The instants of a Poisson process before `end`.
#[derive(Debug, Clone)]
struct Arrivals {
    stream: Stream,
    /// Mean time between arrivals in ps.
    gap: f64,
    /// The last arrival, or the pattern's start: whole ps, and what the instant exceeds them by.
    now: u64,
    fraction: f64,
    end: u64,
}

impl Arrivals {
    /// Flows to expect.
    fn expected(&self) -> f64 {
        self.end.saturating_sub(self.now) as f64 / self.gap
    }

    /// The next instants; fewer than `instants` holds: there are no more.
    fn fill(&mut self, instants: &mut [u64; BATCH]) -> usize {
        let mut gaps = [0.0; BATCH];
        for gap in &mut gaps {
            *gap = draw::exponential(&mut self.stream) * self.gap;
        }
        for (filled, (instant, gap)) in instants.iter_mut().zip(gaps).enumerate() {
            let passed = self.fraction + gap;
            let whole = passed as u64;
            self.fraction = passed - whole as f64;
            self.now = self.now.saturating_add(whole);
            if self.now >= self.end {
                return filled;
            }
            *instant = self.now;
        }
        BATCH
    }
}
