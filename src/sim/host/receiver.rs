//! A receiver that is slower than its link: one first-in first-out server behind a pool a class.
//!
//! Owns what is charged to the pools and when the NIC pauses its switch. Its thresholds are
//! fractions of the pool, not rounded. Unlike the switch it pauses at Xoff, not above it, and it
//! gives up a pause at the half-time check if the class is below Xoff.

use crate::sim::link::spacing;
use crate::sim::packet::Packet;
use std::collections::VecDeque;

/// Settings of a slow receiver.
#[derive(Debug, Clone)]
pub struct ReceiverSettings {
    /// Service rate, bit/s.
    pub rate: u64,
    /// Pool of each class, IP bytes.
    pub pool: u64,
    /// Classes whose sender is paused, a bit each.
    pub pfc_classes: u8,
    /// Pause at this share of the pool.
    pub xoff: [f64; 8],
    /// Resume at this share of the pool.
    pub xon: [f64; 8],
}

/// What an arrival or a half-time check asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Nothing to send.
    None,
    /// A pause frame.
    Pause,
    /// A resume frame.
    Resume,
}

/// The receiving side of a host that has a `receive_rate`.
#[derive(Debug)]
pub struct Receiver {
    settings: ReceiverSettings,
    held: [u64; 8],
    waiting: VecDeque<Packet>,
    /// Classes with a pause outstanding, a bit each.
    paused: u8,
}

impl Receiver {
    /// An empty receiver.
    pub fn new(settings: ReceiverSettings) -> Receiver {
        Receiver { settings, held: [0; 8], waiting: VecDeque::new(), paused: 0 }
    }

    /// A packet arrives: whether it fits, whether the server was idle, and what to signal.
    pub fn arrive(&mut self, packet: Packet) -> (bool, bool, Signal) {
        let class = usize::from(packet.tc());
        let ip = packet.ip();
        let mut signal = Signal::None;
        let bit = 1u8 << packet.tc();
        let would_hold = self.held[class] + ip;
        if self.settings.pfc_classes & bit != 0
            && self.paused & bit == 0
            && would_hold as f64 >= self.threshold(self.settings.xoff[class])
        {
            self.paused |= bit;
            signal = Signal::Pause;
        }
        if would_hold > self.settings.pool {
            return (false, false, signal);
        }
        self.held[class] = would_hold;
        self.waiting.push_back(packet);
        (true, self.waiting.len() == 1, signal)
    }

    /// Service time of the packet at the head, ps.
    pub fn service_time(&self) -> Option<u64> {
        self.waiting.front().map(|p| spacing(p.ip(), self.settings.rate))
    }

    /// The packet at the head has been served; what to signal for its class.
    pub fn serve(&mut self) -> Option<(Packet, Signal)> {
        let packet = self.waiting.pop_front()?;
        let class = usize::from(packet.tc());
        self.held[class] -= packet.ip();
        let bit = 1u8 << packet.tc();
        let mut signal = Signal::None;
        if self.paused & bit != 0
            && self.held[class] as f64 <= self.threshold(self.settings.xon[class])
        {
            self.paused &= !bit;
            signal = Signal::Resume;
        }
        Some((packet, signal))
    }

    /// Half a pause time has gone by: pause again, or give the pause up.
    pub fn half_time(&mut self, tc: u8) -> Signal {
        let class = usize::from(tc);
        if self.held[class] as f64 >= self.threshold(self.settings.xoff[class]) {
            Signal::Pause
        } else {
            self.paused &= !(1 << tc);
            Signal::Resume
        }
    }

    /// IP bytes held over all classes.
    pub fn held(&self) -> u64 {
        self.held.iter().sum()
    }

    fn threshold(&self, share: f64) -> f64 {
        share * self.settings.pool as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Role;
    use crate::sim::packet::Label;

    fn packet(ip: u16) -> Packet {
        Packet::new(0, 0, ip, Label::new(1, false, Role::NoTrim))
    }

    #[test]
    fn pauses_at_xoff_admits_what_fits_and_resumes_at_xon() {
        let mut r = Receiver::new(ReceiverSettings {
            rate: 8_000_000_000,
            pool: 10_000,
            pfc_classes: 2,
            xoff: [0.8; 8],
            xon: [0.4; 8],
        });
        assert_eq!(r.arrive(packet(4_000)), (true, true, Signal::None));
        assert_eq!(r.service_time(), Some(4_000_000));
        // 8,000 reaches 0.8 × 10,000: at Xoff, not above it.
        assert_eq!(r.arrive(packet(4_000)), (true, false, Signal::Pause));
        assert_eq!(r.arrive(packet(2_000)), (true, false, Signal::None));
        assert_eq!(r.arrive(packet(1)), (false, false, Signal::None));
        assert_eq!(r.serve().map(|s| s.1), Some(Signal::None));
        assert_eq!(r.half_time(1), Signal::Resume, "6,000 is below Xoff: given up above Xon");
        assert_eq!(r.arrive(packet(2_000)), (true, false, Signal::Pause));
        assert_eq!(r.half_time(1), Signal::Pause);
        assert_eq!(r.serve().map(|s| s.1), Some(Signal::Resume), "4,000 is at Xon");
        assert_eq!(r.held(), 4_000);
    }
}
