//! Thresholds of the `ns3-datacenter` model.
//!
//! Owns the six ways to compute them and what they remember of the past: how fast queues drain,
//! and their smoothed length. Refuses to admit or release.

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

/// Bytes sent by one queue, window by window.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    /// Number of the window that `now` counts.
    window: u64,
    now: u64,
    /// Bytes of the window before it.
    last: u64,
}

impl Sent {
    fn turn(&mut self, window: u64) {
        if window != self.window {
            self.last = if window == self.window + 1 { self.now } else { 0 };
            self.now = 0;
            self.window = window;
        }
    }
}

/// One side of all ports: ingress or egress.
#[derive(Debug, Clone)]
pub struct SideState {
    /// Bytes of each queue, port-major.
    pub bytes: Vec<u64>,
    /// Congested queues of each class: sum over ports of min(1, bytes ÷ 20,480).
    congested: [f64; QUEUES],
    sent: Vec<Sent>,
    /// Smoothed bytes of each queue, for Reverie.
    smooth: Vec<u64>,
    /// Bytes a port sends in a window.
    per_window: Vec<f64>,
}

impl SideState {
    /// Empty queues of ports with these lines.
    pub fn new(lines: &[Line]) -> SideState {
        let count = lines.len() * QUEUES;
        let bytes_in = |line: &Line| line.rate as f64 * WINDOW as f64 / 8e12;
        SideState {
            bytes: vec![0; count],
            congested: [0.0; QUEUES],
            sent: vec![Sent::default(); count],
            smooth: vec![0; count],
            per_window: lines.iter().map(bytes_in).collect(),
        }
    }

    /// Bytes are added to a queue.
    #[inline]
    pub fn add(&mut self, index: usize, bytes: u64) {
        self.set(index, self.bytes[index] + bytes);
    }

    /// Bytes leave a queue at `now`, ps; `gamma`: weight of the past in the smoothed length.
    #[inline]
    pub fn take(&mut self, index: usize, bytes: u64, now: u64, gamma: f64) {
        self.set(index, self.bytes[index] - bytes);
        let sent = &mut self.sent[index];
        sent.turn(now / WINDOW);
        sent.now += bytes;
        let held = self.bytes[index];
        let smooth = gamma * self.smooth[index] as f64 + (1.0 - gamma) * held as f64;
        self.smooth[index] = (smooth.floor() as u64).min(held);
    }

    fn set(&mut self, index: usize, bytes: u64) {
        let share = |bytes: u64| (bytes as f64 / CONGESTED).min(1.0);
        self.congested[index % QUEUES] += share(bytes) - share(self.bytes[index]);
        self.bytes[index] = bytes;
    }

    /// Congested queues of a class, at least 1.
    fn congested(&self, index: usize) -> f64 {
        self.congested[index % QUEUES].max(1.0)
    }

    /// What a queue sent in the last whole window over what its port could; 1 for a queue that is
    /// short or sent little.
    fn drain_rate(&mut self, index: usize, now: u64) -> f64 {
        let sent = &mut self.sent[index];
        sent.turn(now / WINDOW);
        if self.bytes[index] as f64 > CONGESTED && sent.last > LEAST_SENT {
            sent.last as f64 / self.per_window[index / QUEUES]
        } else {
            1.0
        }
    }

    /// What a queue's threshold is compared with: its bytes, or for Reverie the smoothed ones.
    #[inline]
    pub fn compared(&self, algorithm: BufferAlgorithm, index: usize) -> u64 {
        match algorithm {
            BufferAlgorithm::Reverie => self.smooth[index].min(self.bytes[index]),
            _ => self.bytes[index],
        }
    }

    /// Bytes a queue may hold. `free` may be below 0; it and `pool` are those of the side, or for
    /// Reverie of the shared pool.
    #[inline]
    pub fn threshold(
        &mut self,
        algorithm: BufferAlgorithm,
        index: usize,
        alpha: f64,
        (free, pool): (i64, u64),
        now: u64,
    ) -> i64 {
        let multiple = alpha * free as f64;
        let bytes = match algorithm {
            BufferAlgorithm::Dt | BufferAlgorithm::Fab => multiple,
            BufferAlgorithm::Abm => multiple / self.congested(index) * self.drain_rate(index, now),
            BufferAlgorithm::Reverie => multiple / self.congested(index),
            // A queue may keep what it has and take all that is free.
            BufferAlgorithm::CompleteSharing => return self.bytes[index] as i64 + free,
            BufferAlgorithm::StaticPartition => {
                return (pool / (self.bytes.len() as u64).max(1)) as i64;
            }
        };
        // The conversion saturates.
        bytes.floor().max(0.0) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side() -> SideState {
        SideState::new(&[Line::new(100_000_000_000, 0); 2])
    }

    #[test]
    fn dt_is_a_multiple_of_what_is_free_and_never_negative() {
        let mut side = side();
        let dt = |side: &mut SideState, free| {
            side.threshold(BufferAlgorithm::Dt, 3, 0.125, (free, 0), 0)
        };
        assert_eq!([1_048_576, 1_007, -8].map(|free| dt(&mut side, free)), [131_072, 125, 0]);
    }

    #[test]
    fn abm_divides_by_congested_queues_and_follows_the_drain() {
        let mut side = side();
        let abm = |side: &mut SideState, now| {
            side.threshold(BufferAlgorithm::Abm, 3, 0.5, (100_000, 0), now)
        };
        side.add(3, 10_240);
        assert_eq!(abm(&mut side, 0), 50_000, "half a congested queue counts as one");
        side.add(3, 20_480);
        side.add(11, 10_240);
        assert_eq!(abm(&mut side, 0), 33_333, "one and a half");
        side.add(4, 1 << 30);
        assert_eq!(abm(&mut side, 0), 33_333, "other classes do not count");
        // 312,500 B could leave in 25 us; 4,096 did.
        side.take(3, 4_096, 24_999_999, 0.0);
        assert_eq!(abm(&mut side, 24_999_999), 33_333, "not before the window has ended");
        assert_eq!(abm(&mut side, 25_000_000), 436, "50,000 ÷ 1.5 × 0.0131072");
        assert_eq!(abm(&mut side, 50_000_000), 33_333, "nothing was sent in the last window");
    }

    #[test]
    fn reverie_compares_a_smoothed_queue() {
        let mut side = side();
        side.add(3, 1_000);
        assert_eq!(side.compared(BufferAlgorithm::Reverie, 3), 0);
        side.take(3, 100, 0, 0.5);
        assert_eq!(side.compared(BufferAlgorithm::Reverie, 3), 450);
        side.take(3, 600, 0, 0.5);
        assert_eq!(side.compared(BufferAlgorithm::Reverie, 3), 300, "never above the queue");
        assert_eq!(side.compared(BufferAlgorithm::Dt, 3), 300);
    }

    #[test]
    fn sharing_is_complete_and_partitions_are_static() {
        let mut side = side();
        side.add(3, 700);
        let own = side.threshold(BufferAlgorithm::CompleteSharing, 3, 9.0, (300, 1_000), 0);
        assert_eq!(own, 1_000);
        let over = side.threshold(BufferAlgorithm::CompleteSharing, 3, 9.0, (-1, 1_000), 0);
        assert_eq!(over, 699);
        let part = side.threshold(BufferAlgorithm::StaticPartition, 3, 9.0, (300, 1_000), 0);
        assert_eq!(part, 62, "1,000 B over 16 queues");
    }
}
