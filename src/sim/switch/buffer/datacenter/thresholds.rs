//! Thresholds of the `ns3-datacenter` model.
//!
//! Owns the six ways to compute them and what they remember of the past: how fast queues drain,
//! which were congested when their threshold was last computed (a queue that drains afterwards
//! stays counted until the next time), and their smoothed length. Refuses to admit or release.

use crate::scenario::BufferAlgorithm;
use crate::sim::link::Line;

/// Queues a port.
pub const QUEUES: usize = 8;

/// A queue of this many bytes counts as one congested queue, a shorter one as its part of one.
const CONGESTED: f64 = 20_480.0;
/// A queue that sent no more than this in a window has no drain rate.
const LEAST_SENT: u64 = 2_048;
/// Length of the windows in which drain rates are measured, ps.
const WINDOW: u64 = 25_000_000;
/// The same, ns.
const WINDOW_NS: f64 = 25_000.0;

/// How fast a queue drains: measured in windows, and one window's rate holds for the next.
#[derive(Debug, Clone, Copy)]
struct Drain {
    /// Number of the window that `sent` counts.
    window: u64,
    sent: u64,
    /// What it sent in the last whole window over what its port could.
    rate: f64,
}

/// One side of all ports: ingress or egress.
#[derive(Debug, Clone)]
pub struct SideState {
    algorithm: BufferAlgorithm,
    /// Bytes of each queue, port-major.
    pub bytes: Vec<u64>,
    /// Congested queues of each class: the sum of `shares` over the ports.
    congested: [f64; QUEUES],
    /// How much of a congested queue each was when its threshold was last computed.
    shares: Vec<f64>,
    drains: Vec<Drain>,
    /// Smoothed bytes of each queue, for Reverie.
    smooth: Vec<u64>,
    /// Rate of each port, bit/s.
    rates: Vec<f64>,
}

impl SideState {
    /// Empty queues of ports with these lines.
    pub fn new(algorithm: BufferAlgorithm, lines: &[Line]) -> SideState {
        let count = lines.len() * QUEUES;
        SideState {
            algorithm,
            bytes: vec![0; count],
            congested: [0.0; QUEUES],
            shares: vec![0.0; count],
            drains: vec![Drain { window: 0, sent: 0, rate: 1.0 }; count],
            smooth: vec![0; count],
            rates: lines.iter().map(|line| line.rate as f64).collect(),
        }
    }

    /// Bytes are added to a queue, `time` ps after the first packet.
    #[inline(always)]
    pub fn add(&mut self, index: usize, bytes: u64, time: u64) {
        if self.algorithm == BufferAlgorithm::Abm {
            self.turn(index, time);
        }
        self.bytes[index] += bytes;
    }

    /// Bytes leave a queue, `time` ps after the first packet; `gamma`: weight of the past in the
    /// smoothed length.
    #[inline(always)]
    pub fn take(&mut self, index: usize, bytes: u64, time: u64, gamma: f64) {
        if self.algorithm == BufferAlgorithm::Abm {
            self.turn(index, time);
            self.drains[index].sent += bytes;
        }
        self.bytes[index] -= bytes;
        if self.algorithm == BufferAlgorithm::Reverie {
            let held = self.bytes[index];
            let smooth = gamma * self.smooth[index] as f64 + (1.0 - gamma) * held as f64;
            self.smooth[index] = (smooth.floor() as u64).min(held);
        }
    }

    /// Closes the windows of a queue that have ended. To be called before its length changes: a
    /// window's end looks at it.
    fn turn(&mut self, index: usize, time: u64) {
        let (drain, window) = (&mut self.drains[index], time / WINDOW);
        if window == drain.window {
            return;
        }
        let measured = window == drain.window + 1
            && self.bytes[index] as f64 > CONGESTED
            && drain.sent > LEAST_SENT;
        let rate = match measured {
            true => 1e9 * drain.sent as f64 * 8.0 / WINDOW_NS / self.rates[index / QUEUES],
            false => 1.0,
        };
        *drain = Drain { window, sent: 0, rate };
    }

    /// Congested queues of a queue's class, at least 1: what is known of the others, and this one
    /// as it is.
    fn congested(&mut self, index: usize) -> f64 {
        let share = (self.compared(index) as f64 / CONGESTED).min(1.0);
        self.congested[index % QUEUES] += share - self.shares[index];
        self.shares[index] = share;
        self.congested[index % QUEUES].max(1.0)
    }

    /// What a queue's threshold is compared with: its bytes, or for Reverie the smoothed ones.
    #[inline(always)]
    pub fn compared(&self, index: usize) -> u64 {
        match self.algorithm {
            BufferAlgorithm::Reverie => self.smooth[index].min(self.bytes[index]),
            _ => self.bytes[index],
        }
    }

    /// Bytes a queue may hold. `free` may be below 0; it and `pool` are those of the side, or for
    /// Reverie of the shared pool.
    #[inline(always)]
    pub fn threshold(
        &mut self,
        index: usize,
        alpha: f64,
        (free, pool): (i64, u64),
        time: u64,
    ) -> i64 {
        let multiple = alpha * free as f64;
        match self.algorithm {
            BufferAlgorithm::Dt | BufferAlgorithm::Fab => whole(multiple),
            _ => self.other_threshold(index, multiple, (free, pool), time),
        }
    }

    /// That of the other algorithms; `multiple` is of what is free.
    fn other_threshold(
        &mut self,
        index: usize,
        multiple: f64,
        (free, pool): (i64, u64),
        time: u64,
    ) -> i64 {
        let bytes = match self.algorithm {
            BufferAlgorithm::Dt | BufferAlgorithm::Fab => multiple,
            BufferAlgorithm::Abm => {
                self.turn(index, time);
                multiple * (1.0 / self.congested(index)) * self.drains[index].rate
            }
            BufferAlgorithm::Reverie => multiple * (1.0 / self.congested(index)),
            // A queue may keep what it has and take all that is free.
            BufferAlgorithm::CompleteSharing => return self.bytes[index] as i64 + free,
            BufferAlgorithm::StaticPartition => {
                return (pool / (self.bytes.len() as u64).max(1)) as i64;
            }
        };
        whole(bytes)
    }
}

/// Whole bytes, not below 0.
#[inline]
fn whole(bytes: f64) -> i64 {
    // The conversion cuts down and saturates.
    bytes.max(0.0) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(algorithm: BufferAlgorithm) -> SideState {
        SideState::new(algorithm, &[Line::new(100_000_000_000, 0); 2])
    }

    #[test]
    fn dt_is_a_multiple_of_what_is_free_and_never_negative() {
        let mut side = side(BufferAlgorithm::Dt);
        let dt = |side: &mut SideState, free| side.threshold(3, 0.125, (free, 0), 0);
        assert_eq!([1_048_576, 1_007, -8].map(|free| dt(&mut side, free)), [131_072, 125, 0]);
    }

    #[test]
    fn abm_divides_by_the_queues_it_found_congested() {
        let mut side = side(BufferAlgorithm::Abm);
        let abm = |side: &mut SideState, index| side.threshold(index, 0.5, (100_000, 0), 0);
        side.add(3, 10_240, 0);
        assert_eq!(abm(&mut side, 3), 50_000, "half a congested queue counts as one");
        side.add(3, 20_480, 0);
        side.add(11, 10_240, 0);
        assert_eq!(abm(&mut side, 3), 50_000, "nobody has looked at the other port's");
        assert_eq!(abm(&mut side, 11), 33_333, "one and a half");
        assert_eq!(abm(&mut side, 3), 33_333);
        side.add(4, 1 << 30, 0);
        abm(&mut side, 4);
        assert_eq!(abm(&mut side, 3), 33_333, "other classes do not count");
        side.take(11, 10_240, 0, 0.0);
        assert_eq!(abm(&mut side, 3), 33_333, "not seen to be empty yet");
        abm(&mut side, 11);
        assert_eq!(abm(&mut side, 3), 50_000);
    }

    #[test]
    fn abm_follows_the_drain_of_the_last_window() {
        let mut side = side(BufferAlgorithm::Abm);
        let abm = |side: &mut SideState, time| side.threshold(3, 0.5, (100_000, 0), time);
        side.add(3, 40_960, 0);
        // 312,500 B could leave in 25 us; 4,096 did.
        side.take(3, 4_096, 24_999_999, 0.0);
        assert_eq!(abm(&mut side, 24_999_999), 50_000, "not before the window has ended");
        // What is taken after the end does not make it a short queue at the end.
        side.take(3, 36_864, 25_000_000, 0.0);
        assert_eq!(abm(&mut side, 25_000_000), 655, "50,000 × 0.0131072");
        assert_eq!(abm(&mut side, 49_999_999), 655);
        assert_eq!(abm(&mut side, 50_000_000), 50_000, "an empty queue has no rate");
        side.add(3, 40_960, 50_000_000);
        side.take(3, 2_048, 50_000_000, 0.0);
        assert_eq!(abm(&mut side, 75_000_000), 50_000, "too little to tell");
        side.take(3, 8_192, 75_000_000, 0.0);
        assert_eq!(abm(&mut side, 125_000_000), 50_000, "nothing was sent in the last window");
    }

    #[test]
    fn reverie_compares_a_smoothed_queue() {
        let mut side = side(BufferAlgorithm::Reverie);
        side.add(3, 1_000, 0);
        assert_eq!(side.compared(3), 0);
        side.take(3, 100, 0, 0.5);
        assert_eq!(side.compared(3), 450);
        side.take(3, 600, 0, 0.5);
        assert_eq!(side.compared(3), 300, "never above the queue");
        // Congested by the smoothed length too.
        side.add(3, 81_920, 0);
        assert_eq!(side.threshold(3, 1.0, (1_000, 0), 0), 1_000);
        side.take(3, 300, 0, 0.5);
        side.add(11, 163_840, 0);
        side.take(11, 81_920, 0, 0.5);
        assert_eq!((side.compared(3), side.compared(11)), (41_110, 40_960));
        side.threshold(3, 1.0, (1_000, 0), 0);
        assert_eq!(side.threshold(11, 1.0, (1_000, 0), 0), 500, "two congested queues");
    }

    #[test]
    fn sharing_is_complete_and_partitions_are_static() {
        let mut shared = side(BufferAlgorithm::CompleteSharing);
        shared.add(3, 700, 0);
        assert_eq!(shared.threshold(3, 9.0, (300, 1_000), 0), 1_000);
        assert_eq!(shared.threshold(3, 9.0, (-1, 1_000), 0), 699);
        let mut parts = side(BufferAlgorithm::StaticPartition);
        let part = parts.threshold(3, 9.0, (300, 1_000), 0);
        assert_eq!(part, 62, "1,000 B over 16 queues");
    }
}
