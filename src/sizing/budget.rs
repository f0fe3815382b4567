//! Where every byte of a switch's buffer goes.
//!
//! Owns the line-by-line account of a started switch, and of settings that do not fit. The lines
//! of a budget always sum to `TotalSharedBufferSize` exactly. Refuses to choose settings.

use crate::scenario::offered::Offered;
use crate::scenario::startup::{CLASSES, Startup};

/// What some bytes are for. Class masks have bit n for class n and name classes with traffic only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Headroom of all ports.
    Headroom {
        /// Connected ports.
        ports: u32,
        /// Bytes a port.
        per_port: u64,
    },
    /// What a pool holds when every port stands at its pause point.
    PausePoints {
        /// The pool.
        pool: u8,
        /// Its lossless classes.
        classes: u8,
        /// Connected ports.
        ports: u32,
        /// Xoff, bytes.
        xoff: u64,
        /// Largest packet of the classes as charged.
        packet: u64,
    },
    /// What a pool with a lossless class has beyond that, for its lossy classes if it has any.
    Beyond {
        /// The pool.
        pool: u8,
        /// Lossy classes that share it.
        lossy: u8,
    },
    /// A pool of lossy classes.
    Lossy {
        /// The pool.
        pool: u8,
        /// Its classes.
        classes: u8,
    },
    /// A pool that no traffic uses.
    Idle {
        /// The pool.
        pool: u8,
    },
    /// What the other pools take because the proportions of pools are fixed (UET policy).
    Proportions,
    /// What does not fit; its bytes are negative.
    DoesNotFit,
}

/// A line of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// What the bytes are for.
    pub part: Part,
    /// How many there are.
    pub bytes: i128,
    /// How many more the part would need.
    pub short: u64,
}

impl Line {
    pub(super) fn new(part: Part, bytes: impl Into<i128>) -> Line {
        Line { part, bytes: bytes.into(), short: 0 }
    }
}

/// An account of a whole buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// `TotalSharedBufferSize`, bytes.
    pub total: u64,
    /// The lines; they sum to `total`.
    pub lines: Vec<Line>,
}

impl Budget {
    /// The account of a started switch of the `scala` model.
    pub fn of(startup: &Startup, offered: &Offered) -> Budget {
        let ports = startup.ports;
        let per_port = startup.total_headroom / u64::from(ports.max(1));
        let headroom = Part::Headroom { ports, per_port };
        let mut lines = vec![Line::new(headroom, startup.total_headroom)];
        for (number, pool) in (0u8..).zip(startup.pools.iter()) {
            let Some(pool) = pool else { continue };
            let users = users(startup, offered, number);
            let (lossless, lossy) = (users & startup.lossless, users & !startup.lossless);
            if lossless != 0 {
                let packet = largest(offered, lossless);
                let xoff = startup.xoff;
                let need = xoff.saturating_add(packet).saturating_mul(u64::from(ports));
                let points =
                    Part::PausePoints { pool: number, classes: lossless, ports, xoff, packet };
                let (have, short) = (need.min(pool.size), need.saturating_sub(pool.size));
                lines.push(Line { short, ..Line::new(points, have) });
                if pool.size > have {
                    lines.push(Line::new(Part::Beyond { pool: number, lossy }, pool.size - have));
                }
            } else if lossy != 0 {
                lines.push(Line::new(Part::Lossy { pool: number, classes: lossy }, pool.size));
            } else {
                lines.push(Line::new(Part::Idle { pool: number }, pool.size));
            }
        }
        Budget { total: startup.total, lines }
    }

    /// Sum of the lines, bytes; equal to `total`.
    pub fn sum(&self) -> i128 {
        self.lines.iter().map(|line| line.bytes).sum()
    }

    /// Bytes of pools that lossy classes have to themselves.
    pub fn lossy(&self) -> i128 {
        let lossy = self.lines.iter().filter(|line| matches!(line.part, Part::Lossy { .. }));
        lossy.map(|line| line.bytes).sum()
    }

    /// Bytes that parts of it lack.
    pub fn short(&self) -> u64 {
        let short = self.lines.iter().map(|line| match line.part {
            Part::DoesNotFit => u64::try_from(-line.bytes).unwrap_or(u64::MAX),
            _ => line.short,
        });
        short.fold(0, u64::saturating_add)
    }
}

/// Classes with traffic that use a pool.
fn users(startup: &Startup, offered: &Offered, pool: u8) -> u8 {
    let used = (0..CLASSES).filter(|&class| startup.class_pool[class] == pool);
    used.fold(0, |mask, class| mask | 1 << class) & offered.classes
}

/// Largest packet of some classes as charged.
pub(super) fn largest(offered: &Offered, classes: u8) -> u64 {
    let of =
        (0..8u8).filter(|class| classes >> class & 1 == 1).map(|class| offered.largest_of(class));
    of.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Switch;

    fn offered(classes: u8) -> Offered {
        let mut offered = Offered { classes, ..Offered::default() };
        offered.largest[..3].copy_from_slice(&[4_000, 4_000, 1_500]);
        offered
    }

    #[test]
    fn the_default_switch_is_short_of_pool_1() {
        let startup = Startup::new(&Switch::default(), 128).unwrap();
        let budget = Budget::of(&startup, &offered(0b110));
        let pool_1 =
            Part::PausePoints { pool: 1, classes: 0b10, ports: 128, xoff: 700_000, packet: 4_000 };
        assert_eq!(
            budget.lines,
            [
                Line::new(Part::Headroom { ports: 128, per_port: 256_000 }, 32_768_000),
                Line::new(Part::Lossy { pool: 0, classes: 0b100 }, 200_908_800),
                Line { short: 67_788_800, ..Line::new(pool_1, 22_323_200) },
            ]
        );
        assert_eq!((budget.sum(), budget.total), (256_000_000, 256_000_000));
        assert_eq!((budget.lossy(), budget.short()), (200_908_800, 67_788_800));
    }

    #[test]
    fn what_is_beyond_the_pause_points_and_what_is_idle() {
        let mut switch = Switch::default();
        switch.shared_buffer_manager.pool_allocation_map[..3].copy_from_slice(&[0.5, 0.49, 0.01]);
        switch.shared_buffer_manager.traffic_class_pool_mapping[2] = 1;
        let startup = Startup::new(&switch, 128).unwrap();
        let budget = Budget::of(&startup, &offered(0b110));
        let parts: Vec<Part> = budget.lines.iter().map(|line| line.part).collect();
        assert_eq!(parts[1], Part::Idle { pool: 0 });
        assert_eq!(parts[3], Part::Beyond { pool: 1, lossy: 0b100 });
        assert_eq!(parts[4], Part::Idle { pool: 2 });
        assert_eq!((budget.sum(), budget.short()), (256_000_000, 0));
    }
}
