//! What a run compared its thresholds with: for which other thresholds it would have been the same.
//!
//! Owns intervals and hulls of compared values, and the choice at compile time whether they are
//! kept. Refuses to know what a threshold is for: managers say what they compare, `reuse` asks
//! whether another setting would have answered alike. Off, nothing is kept and nothing is done.

use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// Whether comparisons are followed.
pub trait Watch: Debug + Clone + Copy + Default {
    /// They are.
    const ON: bool;
    /// Follows one threshold in whole bytes.
    type Bound: Bound;
    /// Follows one dynamic limit.
    type Limits: Limits;
}

/// Comparisons of one threshold.
pub trait Bound: Debug + Clone + Copy + Default {
    /// The threshold was compared: `value` at most the threshold passed, or more than it did not.
    fn compared(&mut self, value: u64, passed: bool);
    /// What follows of all comparisons; everything where they are not followed.
    fn interval(&self) -> Interval;
}

/// Admissions under one pool's dynamic limit.
pub trait Limits: Debug + Clone + Copy + Default {
    /// A queue that would be `queue` bytes, of a pool that held `held` at egress, was let in or not.
    fn offered(&mut self, queue: u64, held: u64, passed: bool);
    /// What follows of all offers; everything where they are not followed.
    fn hull(&self) -> Hull;
}

/// Comparisons are not followed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Off;

/// Comparisons are followed.
#[derive(Debug, Clone, Copy, Default)]
pub struct On;

impl Watch for Off {
    const ON: bool = false;
    type Bound = ();
    type Limits = ();
}

impl Watch for On {
    const ON: bool = true;
    type Bound = Interval;
    type Limits = Hull;
}

impl Bound for () {
    #[inline(always)]
    fn compared(&mut self, _: u64, _: bool) {}
    fn interval(&self) -> Interval {
        Interval::default()
    }
}

impl Limits for () {
    #[inline(always)]
    fn offered(&mut self, _: u64, _: u64, _: bool) {}
    fn hull(&self) -> Hull {
        Hull::default()
    }
}

/// The thresholds `least ≤ T < beyond` with which every comparison comes out as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Largest value that passed; 0 if none did.
    pub least: u64,
    /// Smallest value that did not; `u64::MAX` if all did.
    pub beyond: u64,
}

impl Default for Interval {
    fn default() -> Self {
        Interval { least: 0, beyond: u64::MAX }
    }
}

impl Bound for Interval {
    #[inline(always)]
    fn compared(&mut self, value: u64, passed: bool) {
        if passed {
            self.least = self.least.max(value);
        } else {
            self.beyond = self.beyond.min(value);
        }
    }
    fn interval(&self) -> Interval {
        *self
    }
}

impl Interval {
    /// Whether every comparison would have come out alike with this threshold.
    pub fn holds(&self, threshold: u64) -> bool {
        self.least <= threshold && threshold < self.beyond
    }

    /// Takes in the comparisons of another switch.
    pub fn add(&mut self, other: &Interval) {
        self.least = self.least.max(other.least);
        self.beyond = self.beyond.min(other.beyond);
    }
}

/// Corners kept of either side of a dynamic limit; a run with more can be reused only where the
/// limit is equal.
const CORNERS: usize = 16;

/// One side of a dynamic limit's admissions: points (queue, held) none of which another one makes
/// superfluous, by rising queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corners {
    points: [(u64, u64); CORNERS],
    count: usize,
    /// The one that made the last point superfluous: mostly it does the next too.
    recent: usize,
    /// All queues offered, or-ed: how large they may be.
    bits: u64,
    /// There were more than fit.
    overflow: bool,
}

impl Default for Corners {
    fn default() -> Self {
        Corners { points: [(0, 0); CORNERS], count: 0, recent: 0, bits: 0, overflow: false }
    }
}

/// Twice the area of the triangle of three points, by its sense: above 0 for a turn to the left.
fn turn(a: (u64, u64), b: (u64, u64), c: (u64, u64)) -> i128 {
    let d = |x: u64, y: u64| i128::from(x) - i128::from(y);
    d(b.0, a.0) * d(c.1, a.1) - d(b.1, a.1) * d(c.0, a.0)
}

impl Corners {
    /// The points.
    pub fn points(&self) -> &[(u64, u64)] {
        &self.points[..self.count]
    }

    /// Takes a point in, unless others make it superfluous. `upper`: the corners to the upper right
    /// are kept, else those to the lower left.
    #[inline(always)]
    fn take(&mut self, at: (u64, u64), upper: bool) {
        self.bits |= at.0;
        let known = self.points[self.recent % CORNERS];
        let covers = match upper {
            true => known.0 >= at.0 && known.1 >= at.1,
            false => self.count > 0 && known.0 <= at.0 && known.1 <= at.1,
        };
        if !covers {
            self.look(at, upper);
        }
    }

    #[inline(never)]
    fn look(&mut self, at: (u64, u64), upper: bool) {
        let covers = |known: &(u64, u64)| match upper {
            true => known.0 >= at.0 && known.1 >= at.1,
            false => known.0 <= at.0 && known.1 <= at.1,
        };
        let gone = |known: &(u64, u64)| match upper {
            true => known.0 <= at.0 && known.1 <= at.1,
            false => known.0 >= at.0 && known.1 >= at.1,
        };
        if let Some(found) = self.points[..self.count].iter().position(covers) {
            self.recent = found;
        } else if self.points[..self.count].iter().all(gone) {
            // A queue that grows as its pool does.
            (self.points[0], self.count, self.recent) = (at, 1, 0);
        } else {
            self.insert(at, upper);
        }
    }

    #[cold]
    fn insert(&mut self, at: (u64, u64), upper: bool) {
        let mut all = [(0, 0); CORNERS + 1];
        let mut count = 0;
        let mut placed = false;
        for &known in &self.points[..self.count] {
            if !placed && at.0 <= known.0 {
                (all[count], placed) = (at, true);
                count += 1;
            }
            let gone = match upper {
                true => at.0 >= known.0 && at.1 >= known.1,
                false => at.0 <= known.0 && at.1 <= known.1,
            };
            if !gone {
                all[count] = known;
                count += 1;
            }
        }
        if !placed {
            all[count] = at;
            count += 1;
        }
        // By rising queue, `held` falls from corner to corner. What lies inside the line of its
        // neighbours is never the first to fail.
        let mut kept: usize = 0;
        for next in 0..count {
            while kept >= 2 {
                let sense = turn(all[kept - 2], all[kept - 1], all[next]);
                if (upper && sense >= 0) || (!upper && sense <= 0) {
                    kept -= 1;
                } else {
                    break;
                }
            }
            all[kept] = all[next];
            kept += 1;
        }
        if kept > CORNERS {
            self.overflow = true;
            kept = CORNERS;
        }
        self.points[..kept].copy_from_slice(&all[..kept]);
        self.count = kept;
        self.recent = self.points[..kept].iter().position(|&point| point == at).unwrap_or(0);
    }

    fn add(&mut self, other: &Corners, upper: bool) {
        for &point in other.points() {
            self.take(point, upper);
        }
        self.bits |= other.bits;
        self.overflow |= other.overflow;
    }
}

/// Admissions and refusals under one pool's dynamic limit `alpha × (size − held)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hull {
    admitted: Corners,
    refused: Corners,
}

impl Limits for Hull {
    #[inline(always)]
    fn offered(&mut self, queue: u64, held: u64, passed: bool) {
        if passed {
            self.admitted.take((queue, held), true);
        } else {
            self.refused.take((queue, held), false);
        }
    }
    fn hull(&self) -> Hull {
        *self
    }
}

/// The limit has to be 2^−10 B below a refused queue: rounding of the manager's product is less than
/// that for queues below 2^40 B.
const MARGIN_BITS: u32 = 10;

impl Hull {
    /// Whether every offer would have been answered alike with this limit. May say no where it
    /// would, within a thousandth of a byte; never yes where it would not.
    pub fn holds(&self, alpha: f64, size: u64) -> bool {
        let none = self.admitted.count == 0 && self.refused.count == 0;
        if self.admitted.overflow || self.refused.overflow {
            return false;
        }
        if none {
            return true;
        }
        let Some(alpha) = Factor::new(alpha) else { return false };
        let queues = self.admitted.bits | self.refused.bits;
        let held = |corners: &Corners| corners.points().iter().all(|&(_, held)| held < 1 << 50);
        if queues >> 40 != 0 || size >> 50 != 0 || !held(&self.admitted) || !held(&self.refused) {
            return false;
        }
        self.admitted.points().iter().all(|&(queue, held)| {
            // Rounding to the nearest never goes below a whole number that is not above.
            held < size && alpha.times(size - held) >= alpha.whole(queue)
        }) && self.refused.points().iter().all(|&(queue, held)| {
            // Beyond the pool's size the limit is 0, and a packet has some bytes.
            let free = i128::from(size) - i128::from(held);
            alpha.signed(free) + alpha.margin() <= alpha.whole(queue)
        })
    }

    /// Takes in the offers of another switch.
    pub fn add(&mut self, other: &Hull) {
        self.admitted.add(&other.admitted, true);
        self.refused.add(&other.refused, false);
    }
}

/// A factor as `mantissa × 2^−shift`: products are compared as whole numbers, shifted alike.
struct Factor {
    mantissa: i128,
    shift: u32,
}

impl Factor {
    /// `None` for factors too large or too small for whole numbers.
    fn new(alpha: f64) -> Option<Factor> {
        if !(alpha > 0.0 && alpha.is_finite()) {
            return None;
        }
        let bits = alpha.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32 - 1075;
        let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
        // Products stay below 2^53 × 2^50 × 2^16; shifted bytes below 2^40 × 2^80.
        let shift = u32::try_from(-exponent).ok()?;
        (MARGIN_BITS..=80).contains(&shift).then_some(Factor { mantissa: mantissa.into(), shift })
    }

    fn times(&self, bytes: u64) -> i128 {
        self.signed(i128::from(bytes))
    }

    fn signed(&self, bytes: i128) -> i128 {
        self.mantissa * bytes
    }

    fn whole(&self, bytes: u64) -> i128 {
        i128::from(bytes) << self.shift
    }

    fn margin(&self) -> i128 {
        1 << (self.shift - MARGIN_BITS)
    }
}

#[cfg(test)]
mod tests;
