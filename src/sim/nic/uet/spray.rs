//! Choice of entropy: the UDP source port of each transmission of a group.
//!
//! Owns the three documented ways. Refuses to know packets: it is told what came back.

use crate::scenario::uet::{PacketSpraying, PdsManager};
use crate::sim::random::Stream;
use rand_core::Rng;
use std::collections::VecDeque;

/// What every sprayer of a host is set to.
#[derive(Debug, Clone, PartialEq)]
pub struct Spraying {
    kind: PacketSpraying,
    first_port: u16,
    /// Mask of default spraying's steps.
    mask: u16,
    /// Recycled values kept.
    remembered: usize,
    values: u64,
    freezing: u64,
    /// Packets of an exploration window.
    explored: u64,
}

/// One packet in so many of an exploration window draws a value.
const EXPLORE_EVERY: u64 = 8;

impl Spraying {
    /// As set; `window` packets make an exploration window.
    pub fn new(pds: &PdsManager, window: u64) -> Spraying {
        Spraying {
            kind: pds.packet_spraying_type,
            first_port: pds.starting_port_offset as u16,
            mask: ((1u32 << pds.entropy_mask_bits.min(16)) - 1) as u16,
            remembered: 1 << pds.reps_buffer_size_mask_bits.min(16),
            values: pds.entropy_value_set_size.clamp(1, 65_536),
            freezing: pds.freezing_timeout.0,
            explored: window,
        }
    }

    /// Whether failures matter to it.
    pub fn recycles(&self) -> bool {
        self.kind == PacketSpraying::RecycledEntropy
    }
}

/// What came back of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// It may be used again: acknowledged without a mark, or trimmed on the last hop.
    Good,
    /// It met congestion: marked, or trimmed on the way.
    Bad,
    /// Nothing: a timeout or an early failure.
    Failed,
}

/// The sprayer of a group.
#[derive(Debug)]
pub struct Sprayer {
    /// The one value, or the step of default spraying.
    port: u16,
    /// Values that came back and are not in use again, oldest first.
    fresh: VecDeque<u16>,
    /// The last values that came back, in a ring; what a frozen sprayer cycles through.
    stored: Vec<u16>,
    /// Where the next one is stored.
    next: usize,
    /// Where a frozen sprayer goes on.
    cycle: usize,
    /// Frozen until the first good value from then on.
    frozen: Option<u64>,
    /// Packets left of an exploration window.
    exploring: u64,
}

impl Sprayer {
    /// A group's at its start; `port` is the local port of the connection that created it.
    pub fn new(settings: &Spraying, port: u16) -> Sprayer {
        Sprayer {
            port: if settings.kind == PacketSpraying::None { port } else { 0 },
            fresh: VecDeque::new(),
            stored: Vec::new(),
            next: 0,
            cycle: 0,
            frozen: None,
            exploring: 0,
        }
    }

    /// Entropy of the next transmission.
    #[inline]
    pub fn pick(&mut self, settings: &Spraying, draws: &mut Stream) -> u16 {
        match settings.kind {
            PacketSpraying::None => self.port,
            PacketSpraying::Default => {
                let step = self.port & settings.mask;
                self.port = self.port.wrapping_add(1);
                settings.first_port.wrapping_add(step)
            }
            PacketSpraying::RecycledEntropy => self.recycle(settings, draws),
        }
    }

    fn recycle(&mut self, settings: &Spraying, draws: &mut Stream) -> u16 {
        if self.frozen.is_some() {
            return self.fresh.pop_front().unwrap_or_else(|| {
                let value = self.stored[self.cycle % self.stored.len()];
                self.cycle = (self.cycle + 1) % self.stored.len();
                value
            });
        }
        let mut explore = false;
        if self.exploring > 0 {
            self.exploring -= 1;
            explore = self.exploring.is_multiple_of(EXPLORE_EVERY);
        }
        match self.fresh.pop_front() {
            Some(value) if !explore => value,
            kept => {
                // What was kept stays the oldest.
                if let Some(value) = kept {
                    self.fresh.push_front(value);
                }
                // The upper half of a draw times the values: every value as likely as another.
                (((draws.next_u64() >> 32) * settings.values) >> 32) as u16
            }
        }
    }

    /// A transmission's value came back, or did not.
    #[inline]
    pub fn feedback(&mut self, settings: &Spraying, now: u64, value: u16, feedback: Feedback) {
        if settings.recycles() {
            match feedback {
                Feedback::Good => self.push(settings, now, value),
                Feedback::Bad => {}
                Feedback::Failed => {
                    if !self.stored.is_empty() && self.frozen.is_none() {
                        self.frozen = Some(now + settings.freezing);
                    }
                }
            }
        }
    }

    fn push(&mut self, settings: &Spraying, now: u64, value: u16) {
        if self.fresh.len() == settings.remembered {
            self.fresh.pop_front();
        }
        self.fresh.push_back(value);
        if self.stored.len() < settings.remembered {
            self.stored.push(value);
        } else {
            self.stored[self.next] = value;
        }
        self.next = (self.next + 1) % settings.remembered;
        if self.frozen.is_some_and(|until| now >= until) {
            self.frozen = None;
            self.exploring = settings.explored;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::random::Seeds;

    fn sprayer(kind: PacketSpraying) -> (Spraying, Sprayer, Stream) {
        let pds = PdsManager { packet_spraying_type: kind, ..PdsManager::default() };
        let settings = Spraying::new(&pds, 71);
        let sprayer = Sprayer::new(&settings, 777);
        (settings, sprayer, Seeds::default().stream("entropy"))
    }

    #[test]
    fn without_spraying_the_port_stays() {
        let (settings, mut sprayer, mut draws) = sprayer(PacketSpraying::None);
        let ports = [(); 3].map(|()| sprayer.pick(&settings, &mut draws));
        assert_eq!(ports, [777; 3]);
    }

    #[test]
    fn default_spraying_goes_round_128_ports() {
        let (settings, mut sprayer, mut draws) = sprayer(PacketSpraying::Default);
        for step in 0..300 {
            assert_eq!(sprayer.pick(&settings, &mut draws), 256 + step % 128);
        }
    }

    #[test]
    fn recycled_entropies_come_back_oldest_first_and_overwrite_the_oldest() {
        let (settings, mut sprayer, mut draws) = sprayer(PacketSpraying::RecycledEntropy);
        for value in 1..=9 {
            sprayer.feedback(&settings, 0, value, Feedback::Good);
        }
        sprayer.feedback(&settings, 0, 100, Feedback::Bad);
        for value in 2..=9 {
            assert_eq!(sprayer.pick(&settings, &mut draws), value);
        }
        let drawn: Vec<u16> = (0..64).map(|_| sprayer.pick(&settings, &mut draws)).collect();
        assert!(drawn.iter().filter(|&&value| value >= 256).count() > 32, "{drawn:?}");
    }

    #[test]
    fn a_failure_freezes_what_is_stored_and_then_9_of_71_packets_explore() {
        let (settings, mut sprayer, mut draws) = sprayer(PacketSpraying::RecycledEntropy);
        sprayer.feedback(&settings, 0, 7, Feedback::Failed);
        assert_eq!(sprayer.frozen, None, "nothing is stored");
        for value in [1, 2, 3] {
            sprayer.feedback(&settings, 0, value, Feedback::Good);
        }
        sprayer.feedback(&settings, 10, 9, Feedback::Failed);
        let frozen: Vec<u16> = (0..7).map(|_| sprayer.pick(&settings, &mut draws)).collect();
        assert_eq!(frozen, [1, 2, 3, 1, 2, 3, 1]);
        sprayer.feedback(&settings, 100_000_009, 4, Feedback::Good);
        assert!(sprayer.frozen.is_some(), "the timeout is not over");
        sprayer.feedback(&settings, 100_000_010, 5, Feedback::Good);
        assert_eq!(sprayer.frozen, None);
        let mut explored = Vec::new();
        for packet in 1..=71 {
            sprayer.feedback(&settings, 100_000_010, 5, Feedback::Good);
            let before = sprayer.fresh.len();
            sprayer.pick(&settings, &mut draws);
            if sprayer.fresh.len() == before {
                explored.push(packet);
            }
        }
        assert_eq!(explored, [7, 15, 23, 31, 39, 47, 55, 63, 71]);
    }
}
