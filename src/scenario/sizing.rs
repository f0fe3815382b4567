//! The three conditions under which a lossless class loses nothing.
//!
//! Owns the guideline for headroom and the conditions' numbers and verdicts, as pure functions of
//! a started switch, its links and the packets offered. Refuses to search for better settings.

use super::links::LinkKind;
use super::offered::Offered;
use super::startup::Startup;

/// Headroom a link needs by the guideline, bytes: `2 × rate × delay ÷ 8 + 2 × mtu`, rounded up.
///
/// `rate` in bit/s, `delay` one way in ps, `mtu` the largest packet as charged. Saturates.
pub fn guideline(rate: u64, delay: u64, mtu: u64) -> u64 {
    in_flight(rate, u128::from(delay) * 2).saturating_add(mtu.saturating_mul(2))
}

/// Bytes a sender adds while it takes `response` ps to act on a pause, rounded up. Saturates.
pub fn response_bytes(rate: u64, response: u64) -> u64 {
    in_flight(rate, u128::from(response))
}

/// Bytes that leave at `rate` bit/s in `time` ps, rounded up.
fn in_flight(rate: u64, time: u128) -> u64 {
    const BIT_PS_PER_BYTE: u128 = 8 * 1_000_000_000_000;
    let bytes = u128::from(rate).saturating_mul(time).div_ceil(BIT_PS_PER_BYTE);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// What there is against what is asked, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// What the settings give.
    pub have: u64,
    /// What the condition asks.
    pub need: u64,
}

impl Condition {
    /// The verdict.
    pub fn met(&self) -> bool {
        self.have >= self.need
    }
}

/// The conditions of one lossless class at one kind of switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizing {
    /// The class.
    pub class: u8,
    /// Its pool.
    pub pool: u8,
    /// Connected ports of the switch.
    pub ports: u32,
    /// Largest packet of the class as charged.
    pub largest_packet: u64,
    /// Largest packet of any class as charged: a frame of any may be under way at either end.
    pub mtu: u64,
    /// The link that asks for the most headroom.
    pub link: LinkKind,
    /// 1: headroom of a port against the guideline for `link`.
    pub headroom: Condition,
    /// 2: size of the pool against `ports × (Xoff + largest packet)`.
    pub pool_size: Condition,
    /// 3: the other classes mapped to the pool, bit n is class n.
    pub mapped: u8,
    /// 3: those of them that carry traffic; the condition is met if there are none.
    pub sharing: u8,
}

impl Sizing {
    /// The conditions of a class (0 to 7) at a switch whose links are of these kinds.
    ///
    /// `None` for a lossy class, one whose pool does not exist, and a switch without links.
    pub fn new(
        startup: &Startup,
        class: u8,
        links: &[LinkKind],
        offered: &Offered,
    ) -> Option<Sizing> {
        let pool = startup.pool_of(class).filter(|_| startup.is_lossless(class))?;
        let number = startup.class_pool[usize::from(class)];
        let mtu = offered.largest_packet();
        let largest_packet = offered.largest_of(class);
        let (need, link) = links
            .iter()
            .map(|link| (guideline(link.rate, link.delay, mtu), *link))
            .max_by_key(|(need, _)| *need)?;
        let mapped = (0..8u8)
            .filter(|&other| other != class && startup.class_pool[usize::from(other)] == number)
            .fold(0, |mask, other| mask | 1 << other);
        let pause_point = startup.xoff.saturating_add(largest_packet);
        Some(Sizing {
            class,
            pool: number,
            ports: startup.ports,
            largest_packet,
            mtu,
            link,
            headroom: Condition { have: pool.headroom_per_port, need },
            pool_size: Condition {
                have: pool.size,
                need: pause_point.saturating_mul(u64::from(startup.ports)),
            },
            mapped,
            sharing: mapped & offered.classes,
        })
    }

    /// Whether all three conditions are met: then no arrival of the class can be dropped, given
    /// that senders obey pauses at once and the class and its pool have the same number.
    pub fn met(&self) -> bool {
        self.headroom.met() && self.pool_size.met() && self.sharing == 0
    }

    /// How many ports may stand at their pause point before the pool is full.
    pub fn pause_points(&self, xoff: u64) -> u64 {
        self.pool_size.have / xoff.saturating_add(self.largest_packet).max(1)
    }

    /// The largest Xoff with which the pool would meet condition 2; `None` if even 0 would not.
    pub fn largest_xoff(&self) -> Option<u64> {
        (self.pool_size.have / u64::from(self.ports.max(1))).checked_sub(self.largest_packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Switch;
    use crate::units::Bytes;

    const LINK: LinkKind = LinkKind { count: 128, rate: 400_000_000_000, delay: 500_000 };

    fn offered() -> Offered {
        let mut offered = Offered { classes: 0b11, ..Offered::default() };
        offered.largest[..2].copy_from_slice(&[4_000, 4_000]);
        offered
    }

    fn sizing(class: u8, change: impl FnOnce(&mut Switch)) -> Option<Sizing> {
        let mut switch = Switch::default();
        change(&mut switch);
        Sizing::new(&Startup::new(&switch, 128).unwrap(), class, &[LINK], &offered())
    }

    #[test]
    fn the_guideline_asks_58_000_bytes_of_a_400_gbps_link() {
        assert_eq!(guideline(400_000_000_000, 500_000, 4_000), 58_000);
        assert_eq!(guideline(400_000_000_000, 100_000, 4_184), 18_368);
        assert_eq!(guideline(1, 1, 0), 1, "rounded up");
        assert_eq!(guideline(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(response_bytes(400_000_000_000, 100_000), 5_000);
    }

    #[test]
    fn pool_1_of_the_default_switch_misses_condition_2() {
        let s = sizing(1, |_| {}).unwrap();
        assert_eq!(s.headroom, Condition { have: 256_000, need: 58_000 });
        assert_eq!(s.pool_size, Condition { have: 22_323_200, need: 90_112_000 });
        assert_eq!((s.mapped, s.sharing, s.pool), (0, 0, 1));
        assert!(s.headroom.met() && !s.pool_size.met() && !s.met());
        assert_eq!(s.pause_points(700_000), 31);
        assert_eq!(s.largest_xoff(), Some(170_400));
    }

    #[test]
    fn the_two_ways_to_meet_condition_2() {
        let wider = sizing(1, |s| {
            s.shared_buffer_manager.pool_allocation_map[..2].copy_from_slice(&[0.59, 0.41]);
        });
        assert!(wider.unwrap().met());
        let xoff = |xoff| {
            sizing(1, |s| s.shared_buffer_manager.static_pool_xoff_threshold = Bytes(xoff)).unwrap()
        };
        assert!(xoff(170_400).met());
        assert!(!xoff(170_401).met());
    }

    #[test]
    fn pool_0_is_shared_only_if_another_class_carries_traffic() {
        let s = sizing(0, |_| {}).unwrap();
        assert_eq!((s.mapped, s.sharing), (0b1111_1100, 0));
        let shared = sizing(0, |s| s.shared_buffer_manager.traffic_class_pool_mapping[1] = 0);
        assert_eq!(shared.unwrap().sharing, 0b10);
    }

    #[test]
    fn the_link_that_needs_most_decides() {
        let startup = Startup::new(&Switch::default(), 128).unwrap();
        let long = LinkKind { delay: 600_000, rate: 350_000_000_000, count: 1 };
        let s = Sizing::new(&startup, 0, &[LINK, long], &offered()).unwrap();
        assert_eq!((s.link, s.headroom.need), (long, 60_500));
    }

    #[test]
    fn lossy_classes_and_missing_pools_have_no_conditions() {
        assert_eq!(sizing(2, |_| {}), None);
        let missing = sizing(1, |s| s.shared_buffer_manager.traffic_class_pool_mapping[1] = 7);
        assert_eq!(missing, None);
    }
}
