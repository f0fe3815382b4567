//! Bursts with silences between them: `on-off`.
//!
//! Every sender starts with a burst at the pattern's start. The list is sender by sender, so that
//! the part of a stream that belongs to a sender begins where the one before it ended: each
//! sender keeps its own copy of the stream from there, found by running through all bursts once.

use super::draw::{self, Jitter};
use super::pattern::{MOST_COUNTED, Setting, Shape};
use super::wire;
use super::{FlowStart, Problem};
use crate::scenario::{self, Burst};
use crate::sim::random::Stream;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The generator.
#[derive(Debug)]
pub(super) struct OnOff {
    shape: Shape,
    receiver: u32,
    /// By host; `None`: it sends nothing.
    senders: Vec<Option<Sender>>,
    count: u64,
}

/// One sender's bursts.
#[derive(Debug, Clone)]
struct Sender {
    bursts: Bursts,
    jitter: Jitter,
    /// Rate of a burst in bit/s.
    rate: u64,
    /// Place in the list of its next burst.
    place: u64,
    /// With jitter, bursts that may yet be overtaken: start, place, IP bytes.
    waiting: BinaryHeap<Reverse<(u64, u64, u64)>>,
}

impl OnOff {
    pub(super) fn new(on_off: &scenario::OnOff, setting: &Setting<'_>) -> Result<OnOff, Problem> {
        let common = &on_off.common;
        let shape = Shape::new(setting, common)?;
        if on_off.on.0 == 0 {
            return Err(Problem::On);
        }
        let mut bursts = Bursts {
            on: on_off.on.0,
            off: on_off.off.0,
            drawn: (on_off.burst == Burst::Exponential).then(|| setting.stream("bursts")),
            now: shape.start(),
            end: setting.end(common, on_off.length),
        };
        let mut jitter = setting.jitter(common);
        let drawn = bursts.drawn.is_some() || jitter.is_on();
        let hosts = setting.senders(on_off.receiver, on_off.senders)?;
        let flows = bursts.expected() * f64::from(on_off.senders);
        if drawn && flows > MOST_COUNTED as f64 {
            return Err(Problem::TooManyToCount { flows, most: MOST_COUNTED });
        }

        let mut senders = vec![None; setting.hosts as usize];
        let mut place = 0;
        for host in hosts {
            let rate = match shape.cap() {
                Some(cap) => cap,
                None => setting.rate(host)?,
            };
            senders[host as usize] = Some(Sender {
                bursts: bursts.clone(),
                jitter: jitter.clone(),
                rate,
                place,
                waiting: BinaryHeap::new(),
            });
            if drawn {
                while bursts.next().is_some() {
                    jitter.draw();
                    place += 1;
                }
                bursts.now = shape.start();
            } else {
                place = place.saturating_add(bursts.count_fixed());
            }
        }
        Ok(OnOff { shape, receiver: on_off.receiver, senders, count: place })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn next(&mut self, host: u32) -> Option<FlowStart> {
        let sender = self.senders[host as usize].as_mut()?;
        let (start, place, bytes) = sender.next(self.shape.packet())?;
        Some(self.shape.flow(place, host, self.receiver, bytes, start))
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.senders.iter().flatten().map(|sender| sender.waiting.len()).sum()
    }
}

impl Sender {
    /// Start, place and IP bytes of the next burst in order of (start, place).
    fn next(&mut self, packet: u64) -> Option<(u64, u64, u64)> {
        if !self.jitter.is_on() {
            return self.generate(packet);
        }
        loop {
            // Later bursts start at or after `now` and have larger places.
            let due = |first: u64| first <= self.bursts.now || self.bursts.over();
            if self.waiting.peek().is_some_and(|Reverse((start, ..))| due(*start)) {
                return self.waiting.pop().map(|Reverse(first)| first);
            }
            let burst = self.generate(packet)?;
            self.waiting.push(Reverse(burst));
        }
    }

    fn generate(&mut self, packet: u64) -> Option<(u64, u64, u64)> {
        let (start, length) = self.bursts.next()?;
        let bytes = wire::ip_bytes(wire::in_time(length, self.rate), packet);
        let place = self.place;
        self.place += 1;
        Some((start.saturating_add(self.jitter.draw()), place, bytes))
    }
}

/// Starts and lengths of one sender's bursts.
#[derive(Debug, Clone)]
struct Bursts {
    on: u64,
    off: u64,
    /// Draws lengths and silences; `None`: always `on` and `off`.
    drawn: Option<Stream>,
    /// Start of the next burst.
    now: u64,
    end: u64,
}

impl Bursts {
    fn over(&self) -> bool {
        self.now >= self.end
    }

    /// Bursts to expect.
    fn expected(&self) -> f64 {
        self.end.saturating_sub(self.now) as f64 / (self.on as f64 + self.off as f64)
    }

    /// Bursts to come of fixed length.
    fn count_fixed(&self) -> u64 {
        self.end.saturating_sub(self.now).div_ceil(self.on.saturating_add(self.off))
    }
}

impl Iterator for Bursts {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        if self.over() {
            return None;
        }
        let (on, off) = match &mut self.drawn {
            None => (self.on, self.off),
            Some(stream) => {
                let mut length = |mean: u64| (draw::exponential(stream) * mean as f64) as u64;
                (length(self.on), length(self.off))
            }
        };
        let start = self.now;
        self.now = start.saturating_add(on).saturating_add(off);
        Some((start, on))
    }
}
