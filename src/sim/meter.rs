//! Occupancy over time: counts, extremes and time-weighted sums, updated on change.
//!
//! Owns the gauges behind `port_buffers`, `switch_buffers` and the peaks of `jobs`. How much is
//! measured is chosen at compile time: a table nobody asked for costs nothing. Refuses to sample:
//! a gauge is touched when its value changes and when an interval in which it held something ends.

use super::observe::{BuffId, Occupancy};

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

/// One measured value over the current interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauge {
    value: u64,
    min: u64,
    max: u64,
    count: u64,
    /// Sum of change × (time − interval start): the integral is value × length − this.
    moment: i128,
    active: bool,
}

impl Gauge {
    /// Value now.
    pub fn value(&self) -> u64 {
        self.value
    }

    #[inline]
    fn set(&mut self, new: u64, since_start: u64) {
        // Values are sums of charged bytes, far below 2^63.
        let change = new.wrapping_sub(self.value) as i64;
        self.moment += i128::from(change) * i128::from(since_start);
        self.value = new;
        self.count += 1;
        self.min = self.min.min(new);
        self.max = self.max.max(new);
    }

    fn close(&self, sim_time: u64, length: u64, limit: u64) -> Occupancy {
        let area = i128::from(self.value) * i128::from(length) - self.moment;
        Occupancy {
            sim_time,
            length,
            limit,
            count: self.count,
            min: self.min,
            max: self.max,
            integral: area.unsigned_abs(),
        }
    }

    /// Starts the next interval at the value held.
    fn restart(&mut self) {
        self.min = self.value;
        self.max = self.value;
        self.count = 0;
        self.moment = 0;
    }
}

/// A set of gauges that share intervals.
#[derive(Debug, Clone, Default)]
pub struct Gauges {
    gauges: Vec<Gauge>,
    /// Gauges that hold something or changed in this interval.
    active: Vec<u32>,
    /// The part of the interval before a cut, by gauge.
    before_cut: Vec<(u32, Gauge)>,
    /// Start of the interval.
    interval_start: u64,
    /// Start of the interval, or the cut inside it: what moments count from.
    start: u64,
}

impl Gauges {
    /// `count` gauges at 0, in an interval that starts at time 0.
    pub fn new(count: usize) -> Gauges {
        Gauges { gauges: vec![Gauge::default(); count], ..Gauges::default() }
    }

    /// A gauge now.
    pub fn get(&self, index: usize) -> &Gauge {
        &self.gauges[index]
    }

    /// The value changes.
    #[inline]
    pub fn set(&mut self, index: usize, new: u64, now: u64) {
        let gauge = &mut self.gauges[index];
        gauge.set(new, now - self.start);
        if !gauge.active {
            gauge.active = true;
            self.active.push(index as u32);
        }
    }

    /// The value changes by a signed amount.
    #[inline]
    pub fn add(&mut self, index: usize, change: i64, now: u64) {
        let new = self.gauges[index].value.wrapping_add_signed(change);
        self.set(index, new, now);
    }

    /// Largest value of each gauge since the interval or the last cut started, for those that
    /// held something.
    pub fn peaks(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.active.iter().map(|&i| (i as usize, self.gauges[i as usize].max))
    }

    /// Cuts the interval without ending it (at most once an interval): peaks start again at the
    /// values held, while the interval's own row still covers all of it.
    pub fn cut(&mut self, now: u64) {
        if now == self.start {
            return;
        }
        self.active.sort_unstable();
        for &index in &self.active {
            let gauge = &mut self.gauges[index as usize];
            self.before_cut.push((index, *gauge));
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
        let (head, tail) = (self.start - self.interval_start, now - self.start);
        if head + tail > 0 {
            let before_cut = &self.before_cut;
            let mut emit = |index: usize, gauge: &Gauge| {
                let mut whole = gauge.close(now, tail, limit(index));
                whole.length = head + tail;
                if let Ok(at) = before_cut.binary_search_by_key(&(index as u32), |c| c.0) {
                    let part = before_cut[at].1.close(now, head, 0);
                    whole.count += part.count;
                    whole.min = whole.min.min(part.min);
                    whole.max = whole.max.max(part.max);
                    whole.integral += part.integral;
                }
                row(index, whole);
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
        self.before_cut.clear();
        let gauges = &mut self.gauges;
        self.active.retain(|&index| {
            let gauge = &mut gauges[index as usize];
            gauge.restart();
            gauge.active = gauge.value > 0;
            gauge.active
        });
        self.interval_start = now;
        self.start = now;
    }
}

/// Place of a counter among the gauges of ports: three a port and pool.
#[inline]
pub fn port_gauge(port: usize, pool: usize, stride: usize, buff: BuffId) -> usize {
    (port * stride + pool) * 3 + buff as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(gauges: &mut Gauges, now: u64, zeros: bool) -> Vec<(usize, Occupancy)> {
        let mut out = Vec::new();
        gauges.close(now, zeros, |_| 9, |index, o| out.push((index, o)));
        out
    }

    #[test]
    fn extremes_count_the_value_at_the_start() {
        let mut g = Gauges::new(2);
        g.set(1, 100, 10);
        g.set(1, 40, 30);
        let first = rows(&mut g, 50, false);
        let o = first[0].1;
        assert_eq!((first.len(), first[0].0), (1, 1));
        assert_eq!((o.count, o.min, o.max, o.integral), (2, 0, 100, 20 * 100 + 20 * 40));
        g.set(1, 0, 60);
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
            interval in 1u64..25, cut in 1u64..60,
        ) {
            let end = 61u64;
            let mut at: Vec<Vec<(usize, u64)>> = vec![Vec::new(); end as usize];
            for (i, (gauge, value)) in changes.iter().enumerate() {
                at[(i as u64 % end) as usize].push((*gauge, *value));
            }
            let mut g = Gauges::new(3);
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
                if t == cut { g.cut(t) }
                for &(i, value) in &at[t as usize] {
                    g.set(i, value, t);
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
