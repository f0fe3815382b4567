//! Occupancy over time: counts, extremes and time-weighted sums, updated on change.
//!
//! Owns the gauges behind `port_buffers`, `switch_buffers` and the peaks of `jobs`. How much is
//! measured is chosen at compile time: a table nobody asked for costs nothing. Refuses to sample:
//! a gauge is touched when its value changes and when an interval in which it held something ends.

use super::observe::{BuffId, Occupancy};
use num_traits::{AsPrimitive, PrimInt};

/// How much a job measures, chosen at compile time.
pub trait Depth {
    /// Gauges with extremes and integrals per port and pool.
    const PORTS: bool;
    /// Gauges per switch and pool too.
    const SWITCHES: bool;
}

/// Peaks only: what the `jobs` table needs.
#[derive(Debug)]
pub struct Peaks;
/// Intervals per port and pool.
#[derive(Debug)]
pub struct Ports;
/// Intervals per port and pool, and per switch and pool.
#[derive(Debug)]
pub struct Everything;

impl Depth for Peaks {
    const PORTS: bool = false;
    const SWITCHES: bool = false;
}
impl Depth for Ports {
    const PORTS: bool = true;
    const SWITCHES: bool = false;
}
impl Depth for Everything {
    const PORTS: bool = true;
    const SWITCHES: bool = true;
}

/// One measured value over the current piece of an interval.
///
/// `W` holds a value: 32 bits for the counters of a port, none of which exceeds the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gauge<W> {
    value: W,
    min: W,
    max: W,
    /// Changes; a piece is short enough for 32 bits.
    count: u32,
    /// Sum of change × (time − start of the piece), modulo 2^64: the integral is
    /// value × length − this, exact while it stays below 2^64 ([`Gauges::span`]).
    moment: u64,
    /// Place of the interval's earlier pieces among those set aside.
    earlier: u32,
    active: bool,
}

/// No earlier piece.
const NONE: u32 = u32::MAX;

/// A width of values.
pub trait Width: PrimInt + AsPrimitive<u64> {}
impl Width for u32 {}
impl Width for u64 {}

impl<W: Width> Gauge<W>
where
    u64: AsPrimitive<W>,
{
    fn zero() -> Gauge<W> {
        let zero = W::zero();
        let (count, moment, earlier, active) = (0, 0, NONE, false);
        Gauge { value: zero, min: zero, max: zero, count, moment, earlier, active }
    }

    #[inline]
    fn change(&mut self, new: u64, since_start: u64) -> W {
        let change = new.wrapping_sub(self.value.as_());
        self.moment = self.moment.wrapping_add(change.wrapping_mul(since_start));
        self.value = new.as_();
        self.count += 1;
        self.value
    }

    fn close(&self, sim_time: u64, length: u64, limit: u64) -> Occupancy {
        Occupancy {
            sim_time,
            length,
            limit,
            count: u64::from(self.count),
            min: self.min.as_(),
            max: self.max.as_(),
            integral: u128::from(self.value.as_().wrapping_mul(length).wrapping_sub(self.moment)),
        }
    }

    /// Starts the next piece at the value held.
    fn restart(&mut self) {
        self.min = self.value;
        self.max = self.value;
        self.count = 0;
        self.moment = 0;
    }
}

/// Adds an earlier piece of the same interval.
fn join(whole: &mut Occupancy, earlier: &Occupancy) {
    whole.length += earlier.length;
    whole.count += earlier.count;
    whole.min = whole.min.min(earlier.min);
    whole.max = whole.max.max(earlier.max);
    whole.integral += earlier.integral;
}

/// A set of gauges that share intervals.
#[derive(Debug, Clone)]
pub struct Gauges<W> {
    gauges: Vec<Gauge<W>>,
    /// Gauges that hold something or changed in this interval.
    active: Vec<u32>,
    /// Earlier pieces of this interval.
    earlier: Vec<Occupancy>,
    /// Start of the interval.
    interval_start: u64,
    /// Start of the interval, or the last cut inside it: what moments count from.
    start: u64,
}

/// Longest piece of an interval, ps: 10 ms, so that changes can be counted in 32 bits.
const LONGEST: u64 = 10_000_000_000;

/// The longest piece, ps, whose integrals are exact if no value exceeds `most` bytes: longer
/// intervals have to be cut.
pub fn span(most: u64) -> u64 {
    (u64::MAX / most.max(1)).clamp(1, LONGEST)
}

/// A part of a counter: its own counter, its moment, and what of a value is in it.
type Part<'a, W> = (BuffId, u64, &'a dyn Fn(W) -> u64);

impl<W: Width> Default for Gauges<W>
where
    u64: AsPrimitive<W>,
{
    fn default() -> Self {
        Gauges::new(0)
    }
}

impl<W: Width> Gauges<W>
where
    u64: AsPrimitive<W>,
{
    /// `count` gauges at 0, in an interval that starts at time 0.
    pub fn new(count: usize) -> Gauges<W> {
        Gauges {
            gauges: vec![Gauge::zero(); count],
            active: Vec::new(),
            earlier: Vec::new(),
            interval_start: 0,
            start: 0,
        }
    }

    /// The value rises.
    #[inline]
    pub fn rise(&mut self, index: usize, new: u64, now: u64) {
        let gauge = &mut self.gauges[index];
        let value = gauge.change(new, now - self.start);
        gauge.max = gauge.max.max(value);
        if !gauge.active {
            gauge.active = true;
            self.active.push(index as u32);
        }
    }

    /// The value falls: it was above 0, so the gauge is active already.
    #[inline]
    pub fn fall(&mut self, index: usize, new: u64, now: u64) {
        let gauge = &mut self.gauges[index];
        let value = gauge.change(new, now - self.start);
        gauge.min = gauge.min.min(value);
    }

    /// A value changes that consists of two parts with gauges of their own: what is within
    /// `reserve`, and what is beyond. Of the parts only what does not follow from the whole is kept
    /// up to date, and [`Gauges::work_out_parts`] does the rest.
    #[inline]
    fn change_parts(&mut self, whole: usize, new: u64, now: u64, reserve: u64) {
        let since_start = now - self.start;
        let gauges = &mut self.gauges[whole..=whole + BuffId::Reserve as usize];
        let before = gauges[0].value.as_();
        if before.max(new) > reserve {
            gauges[BuffId::Shared as usize].count += 1;
        }
        if before.min(new) < reserve {
            let within = &mut gauges[BuffId::Reserve as usize];
            let change = new.min(reserve).wrapping_sub(before.min(reserve));
            within.moment = within.moment.wrapping_add(change.wrapping_mul(since_start));
            within.count += 1;
        }
    }

    /// As [`Gauges::rise`], of ingress bytes with their parts.
    #[inline]
    pub fn rise_in_parts(&mut self, whole: usize, new: u64, now: u64, reserve: u64) {
        self.change_parts(whole, new, now, reserve);
        self.rise(whole, new, now);
    }

    /// As [`Gauges::fall`], of ingress bytes with their parts.
    #[inline]
    pub fn fall_in_parts(&mut self, whole: usize, new: u64, now: u64, reserve: u64) {
        self.change_parts(whole, new, now, reserve);
        self.fall(whole, new, now);
    }

    /// Brings the gauges of parts up to date; `reserve` is that of a whole, by its place. To be
    /// called before an interval is cut or closed, where there are parts: `counters` a port and
    /// pool.
    pub fn work_out_parts(&mut self, counters: usize, reserve: impl Fn(usize) -> u64) {
        for turn in 0..self.active.len() {
            let whole = self.active[turn] as usize;
            if whole % counters != BuffId::Ingress as usize {
                continue;
            }
            let (of, reserve) = (self.gauges[whole], reserve(whole));
            let moment = self.gauges[whole + BuffId::Reserve as usize].moment;
            let within = |bytes: W| bytes.as_().min(reserve);
            let beyond = |bytes: W| bytes.as_().saturating_sub(reserve);
            let parts: [Part<'_, W>; 2] = [
                (BuffId::Reserve, moment, &within),
                (BuffId::Shared, of.moment.wrapping_sub(moment), &beyond),
            ];
            for (buff, moment, part) in parts {
                let index = whole + buff as usize;
                let gauge = &mut self.gauges[index];
                gauge.value = part(of.value).as_();
                gauge.min = part(of.min).as_();
                gauge.max = part(of.max).as_();
                gauge.moment = moment;
                if !gauge.active && gauge.max > W::zero() {
                    gauge.active = true;
                    self.active.push(index as u32);
                }
            }
        }
    }

    /// The value changes by a signed amount.
    #[cfg(test)]
    pub fn add(&mut self, index: usize, change: i64, now: u64) {
        let new = self.gauges[index].value.as_().wrapping_add_signed(change);
        if change < 0 { self.fall(index, new, now) } else { self.rise(index, new, now) }
    }

    /// Largest value of each gauge since the interval or the last cut started, for those that
    /// held something.
    pub fn peaks(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.active.iter().map(|&i| (i as usize, self.gauges[i as usize].max.as_()))
    }

    /// Cuts the interval without ending it: peaks start again at the values held, while the
    /// interval's own row still covers all of it.
    pub fn cut(&mut self, now: u64) {
        let length = now - self.start;
        if length == 0 {
            return;
        }
        for &index in &self.active {
            let gauge = &mut self.gauges[index as usize];
            let mut piece = gauge.close(now, length, 0);
            match self.earlier.get_mut(gauge.earlier as usize) {
                Some(earlier) => {
                    join(&mut piece, earlier);
                    *earlier = piece;
                }
                None => {
                    // It held nothing in pieces before this one.
                    piece.length = now - self.interval_start;
                    if self.start > self.interval_start {
                        piece.min = 0;
                    }
                    gauge.earlier = self.earlier.len() as u32;
                    self.earlier.push(piece);
                }
            }
            gauge.restart();
        }
        self.start = now;
    }

    /// Ends the interval at `now`; `row` gets every gauge that held something or changed, or
    /// every gauge with `zeros`, in order of their places.
    pub fn close(
        &mut self,
        now: u64,
        zeros: bool,
        limit: impl Fn(usize) -> u64,
        mut row: impl FnMut(usize, Occupancy),
    ) {
        let (whole, piece) = (now - self.interval_start, now - self.start);
        if whole > 0 {
            let earlier = &self.earlier;
            let mut emit = |index: usize, gauge: &Gauge<W>| {
                let mut occupancy = gauge.close(now, piece, limit(index));
                if let Some(earlier) = earlier.get(gauge.earlier as usize) {
                    join(&mut occupancy, earlier);
                }
                occupancy.length = whole;
                row(index, occupancy);
            };
            if zeros {
                self.gauges.iter().enumerate().for_each(|(index, gauge)| emit(index, gauge));
            } else {
                self.active.sort_unstable();
                for &index in &self.active {
                    emit(index as usize, &self.gauges[index as usize]);
                }
            }
        }
        self.earlier.clear();
        let gauges = &mut self.gauges;
        self.active.retain(|&index| {
            let gauge = &mut gauges[index as usize];
            gauge.restart();
            gauge.earlier = NONE;
            gauge.active = gauge.value > W::zero();
            gauge.active
        });
        self.interval_start = now;
        self.start = now;
    }
}

/// A value and its extremes in an interval, where counts and sums are known otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extremes {
    value: u64,
    /// Smallest value held, the one at the start included.
    pub min: u64,
    /// Largest value held.
    pub max: u64,
}

impl Extremes {
    /// The value rises.
    #[inline]
    pub fn rise(&mut self, by: u64) {
        self.value += by;
        self.max = self.max.max(self.value);
    }

    /// The value falls.
    #[inline]
    pub fn fall(&mut self, by: u64) {
        self.value -= by;
        self.min = self.min.min(self.value);
    }

    /// The next interval starts at the value held.
    pub fn restart(&mut self) {
        self.min = self.value;
        self.max = self.value;
    }
}

/// Place of a counter among the gauges of ports: `stride` pools a port, and so many counters of
/// [`BuffId::ALL`] a pool.
#[inline(always)]
pub fn port_gauge(
    port: usize,
    pool: usize,
    (stride, counters): (usize, usize),
    buff: BuffId,
) -> usize {
    (port * stride + pool) * counters + buff as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(gauges: &mut Gauges<u32>, now: u64, zeros: bool) -> Vec<(usize, Occupancy)> {
        let mut out = Vec::new();
        gauges.close(now, zeros, |_| 9, |index, o| out.push((index, o)));
        out
    }

    #[test]
    fn extremes_count_the_value_at_the_start() {
        let mut g = Gauges::<u32>::new(2);
        g.rise(1, 100, 10);
        g.fall(1, 40, 30);
        let first = rows(&mut g, 50, false);
        let o = first[0].1;
        assert_eq!((first.len(), first[0].0), (1, 1));
        assert_eq!((o.count, o.min, o.max, o.integral), (2, 0, 100, 20 * 100 + 20 * 40));
        g.fall(1, 0, 60);
        let o = rows(&mut g, 100, false)[0].1;
        assert_eq!((o.count, o.min, o.max, o.integral), (1, 0, 40, 400));
        assert!(rows(&mut g, 150, false).is_empty(), "nothing held, nothing changed");
        assert_eq!(rows(&mut g, 200, true).len(), 2);
    }

    proptest! {
        /// Gauges against a plain list of values per ps, cut or not.
        #[test]
        fn gauges_match_a_plain_history(
            changes in prop::collection::vec((0usize..3, 0u64..50), 0..60),
            interval in 1u64..25, cuts in prop::collection::vec(1u64..60, 0..5),
        ) {
            let end = 61u64;
            let mut at: Vec<Vec<(usize, u64)>> = vec![Vec::new(); end as usize];
            for (i, (gauge, value)) in changes.iter().enumerate() {
                at[(i as u64 % end) as usize].push((*gauge, *value));
            }
            let mut g = Gauges::<u32>::new(3);
            // values[gauge]: the value over each ps, extremes seen in it, changes in it
            let mut values = [0u64; 3];
            let (mut min, mut max, mut count, mut sum) = ([0u64; 3], [0u64; 3], [0u64; 3], [0u128; 3]);
            for t in 0..=end {
                if t > 0 && (t % interval == 0 || t == end) {
                    let got = rows(&mut g, t, true);
                    for (i, o) in got {
                        prop_assert_eq!((o.count, o.min, o.max, o.integral), (count[i], min[i], max[i], sum[i]), "gauge {} at {}", i, t);
                        (count[i], min[i], max[i], sum[i]) = (0, values[i], values[i], 0);
                    }
                }
                if t == end { break }
                if cuts.contains(&t) { g.cut(t) }
                for &(i, value) in &at[t as usize] {
                    let change = value as i64 - values[i] as i64;
                    g.add(i, change, t);
                    values[i] = value;
                    count[i] += 1;
                    min[i] = min[i].min(value);
                    max[i] = max[i].max(value);
                }
                for i in 0..3 { sum[i] += u128::from(values[i]) }
            }
        }
    }
}
