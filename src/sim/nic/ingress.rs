//! The receiving side of a NIC: pools, the host link behind them, pauses the NIC sends.
//!
//! Owns what is charged to the receive pools. Whole data stays charged until the host link has
//! taken its payload: one first-in first-out server, 512 B of payload for every 546 B it carries.
//! Everything else is looked at and released at once. Unlike a switch, a NIC pauses at Xoff, not
//! above it, and gives up a pause at the half-time check if the class is below Xoff. Releases are
//! worked out when somebody asks; only a pause that waits for its end needs an event
//! ([`Ingress::next_release`]).

use super::NEVER;
use crate::sim::host::receiver::Signal;
use std::collections::VecDeque;

/// ps × bit/s of a payload byte: 8 bits at 1 bit/s take 8·10^12 ps, and 546 B carry 512.
const PS_PER_BYTE_AT_1BPS: u64 = 8_000_000_000_000 / 512 * 546;

/// Settings of a NIC's ingress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IngressSettings {
    /// Pool of each class, bytes.
    pub pools: [u64; 8],
    /// Bit rate of the host link: `LaneBps` × `LaneCount`.
    pub link: u64,
    /// Classes whose sender is paused, a bit each.
    pub pfc_classes: u8,
    /// Pause at this share of the pool.
    pub xoff: [f64; 8],
    /// Resume at this share of the pool.
    pub xon: [f64; 8],
}

/// Answer to [`Ingress::arrive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// It fits its pool.
    pub fits: bool,
    /// Bytes in the pool with it.
    pub held: u64,
    /// What to tell the switch.
    pub signal: Signal,
}

/// Receive pools of one NIC.
#[derive(Debug)]
pub struct Ingress {
    settings: IngressSettings,
    used: [u64; 8],
    /// What the host link is taking, in order: when it is done, class, bytes.
    serving: VecDeque<(u64, u8, u32)>,
    link_free: u64,
    /// Classes with a pause outstanding, a bit each.
    paused: u8,
}

impl Ingress {
    /// Empty pools.
    pub fn new(settings: IngressSettings) -> Ingress {
        Ingress { settings, used: [0; 8], serving: VecDeque::new(), link_free: 0, paused: 0 }
    }

    /// Size of a class's pool, bytes.
    #[inline]
    pub fn pool(&self, class: u8) -> u64 {
        self.settings.pools[usize::from(class & 7)]
    }

    /// Bytes in all pools at `now`.
    pub fn held(&mut self, now: u64) -> u64 {
        self.settle(now);
        self.used.iter().sum()
    }

    /// A packet of `ip` bytes arrives; `payload`: what the host link has to take of it, or `None`
    /// for a packet that is released at once.
    #[inline]
    pub fn arrive(&mut self, now: u64, class: u8, ip: u64, payload: Option<u64>) -> Arrived {
        self.settle(now);
        let c = usize::from(class & 7);
        let held = self.used[c] + ip;
        let mut signal = Signal::None;
        let bit = 1u8 << (class & 7);
        if self.settings.pfc_classes & bit != 0
            && self.paused & bit == 0
            && held as f64 >= self.settings.xoff[c] * self.settings.pools[c] as f64
        {
            self.paused |= bit;
            signal = Signal::Pause;
        }
        let fits = held <= self.settings.pools[c];
        if let (true, Some(payload)) = (fits, payload) {
            self.used[c] = held;
            let time = (payload * PS_PER_BYTE_AT_1BPS).div_ceil(self.settings.link);
            self.link_free = self.link_free.max(now) + time;
            self.serving.push_back((self.link_free, class & 7, ip as u32));
        }
        Arrived { fits, held, signal }
    }

    #[inline]
    fn settle(&mut self, now: u64) {
        while let Some(&(done, class, bytes)) = self.serving.front() {
            if done > now {
                break;
            }
            self.used[usize::from(class & 7)] -= u64::from(bytes);
            self.serving.pop_front();
        }
    }

    /// When bytes are released next while a pause waits for it; [`NEVER`] otherwise.
    #[inline]
    pub fn next_release(&self) -> u64 {
        match self.serving.front() {
            Some(&(done, ..)) if self.paused != 0 => done,
            _ => NEVER,
        }
    }

    /// Bytes have been released at `now`: classes to resume, a bit each.
    pub fn release(&mut self, now: u64) -> u8 {
        self.settle(now);
        let below = |&class: &usize| {
            let xon = self.settings.xon[class] * self.settings.pools[class] as f64;
            self.paused >> class & 1 != 0 && self.used[class] as f64 <= xon
        };
        let resumed = (0..8).filter(below).fold(0, |mask, class| mask | 1 << class);
        self.paused &= !resumed;
        resumed
    }

    /// Half a pause time has gone by: pause again, or give the pause up.
    pub fn half_time(&mut self, now: u64, class: u8) -> Signal {
        self.settle(now);
        let c = usize::from(class & 7);
        if self.used[c] as f64 >= self.settings.xoff[c] * self.settings.pools[c] as f64 {
            Signal::Pause
        } else {
            self.paused &= !(1 << class);
            Signal::Resume
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(lanes: u64) -> IngressSettings {
        IngressSettings {
            pools: [3_600_000, 400_000, 0, 0, 0, 0, 0, 0],
            link: lanes * 31_520_000_000,
            pfc_classes: 1,
            xoff: [0.8; 8],
            xon: [0.4; 8],
        }
    }

    /// Feeds full packets at the line rate of 400 Gbps; the largest pool use seen.
    fn peak(lanes: u64, packets: u64) -> u64 {
        let mut ingress = Ingress::new(settings(lanes));
        (0..packets)
            .map(|n| ingress.arrive(n * 84_040, 0, 4_184, Some(4_096)).held)
            .max()
            .unwrap_or(0)
    }

    #[test]
    fn the_default_host_link_keeps_up_and_13_lanes_do_not() {
        assert_eq!(peak(16, 1_000), 4_184);
        assert_eq!(peak(14, 1_000), 4_184);
        assert!(peak(13, 10_000) > 50_000);
    }

    #[test]
    fn a_payload_takes_its_share_of_the_link() {
        let mut ingress = Ingress::new(settings(16));
        ingress.arrive(0, 0, 4_184, Some(4_096));
        // 4,096 B × 8 × 546 ÷ 512 at 504.32 Gbps.
        assert_eq!(ingress.held(69_289), 4_184);
        assert_eq!(ingress.held(69_290), 0);
        let control = ingress.arrive(70_000, 1, 60, None);
        assert_eq!((control.held, ingress.held(70_000)), (60, 0));
    }

    #[test]
    fn the_documented_pause_point_and_resume() {
        let mut ingress = Ingress::new(IngressSettings { link: 1_000, ..settings(1) });
        let mut held = 0;
        while held + 4_184 < 2_880_000 {
            let arrived = ingress.arrive(0, 0, 4_184, Some(4_096));
            assert_eq!(arrived.signal, Signal::None);
            held = arrived.held;
        }
        assert_eq!(ingress.next_release(), NEVER, "no pause waits");
        assert_eq!(ingress.arrive(0, 0, 4_184, Some(4_096)).signal, Signal::Pause);
        assert!(held >= 2_875_816 && held + 4_184 >= 2_880_000);
        assert_eq!(ingress.half_time(0, 0), Signal::Pause);
        let mut now = 0;
        let mut resumed = 0;
        while resumed == 0 {
            now = ingress.next_release();
            resumed = ingress.release(now);
        }
        assert_eq!(resumed, 1);
        assert!(ingress.held(now) <= 1_440_000 && ingress.held(now) + 4_184 > 1_440_000);
        assert_eq!(ingress.next_release(), NEVER);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_not_charged() {
        let mut ingress =
            Ingress::new(IngressSettings { link: 1_000, pools: [10_000; 8], ..settings(1) });
        for fits in [true, true, false] {
            assert_eq!(ingress.arrive(0, 0, 4_184, Some(4_096)).fits, fits);
        }
        assert_eq!(ingress.held(0), 8_368);
    }
}
