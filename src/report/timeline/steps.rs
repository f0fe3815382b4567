//! The steps of time of a timeline, and interval rows put into them.

use serde::Serialize;
use std::collections::BTreeMap;

/// More steps than this no screen shows.
const MOST: u64 = 600;

/// Equal steps of one or more intervals, from 0; the last may be short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Steps {
    /// Length of the recorded intervals, ps.
    interval: u64,
    /// Intervals in a step.
    together: u64,
    count: usize,
    /// End of the last, ps.
    end: u64,
}

/// One step of a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    pub min: i64,
    pub mean: f64,
    pub max: i64,
    pub limit: i64,
}

/// A row of a counter.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// End of its interval, ps.
    pub time: i64,
    pub min: i64,
    pub mean: Option<f64>,
    pub max: i64,
    pub limit: i64,
}

impl Steps {
    /// Of a job that recorded at `interval` and ended at `end`, both ps.
    pub fn new(interval: u64, end: u64) -> Self {
        let interval = interval.max(1);
        let intervals = end.div_ceil(interval).max(1);
        let together = intervals.div_ceil(MOST);
        let count = intervals.div_ceil(together) as usize;
        Steps { interval, together, count, end: end.max(1) }
    }

    /// The step that the interval ending at `time` lies in.
    pub fn of(&self, time: i64) -> usize {
        let interval = (time.max(1) as u64).div_ceil(self.interval) - 1;
        ((interval / self.together) as usize).min(self.count - 1)
    }

    /// Length of the interval that ends at `time`, ps.
    fn length(&self, time: i64) -> u64 {
        let time = time.max(1) as u64;
        match time % self.interval {
            0 => self.interval,
            short => short,
        }
    }

    /// Length of a step, ps.
    fn step_length(&self, step: usize) -> u64 {
        let whole = self.interval * self.together;
        self.end.saturating_sub(whole * step as u64).clamp(1, whole)
    }

    /// Rows of one counter, step by step. An interval without a row held nothing.
    pub fn held(&self, rows: &[Row]) -> BTreeMap<usize, Held> {
        let mut steps: BTreeMap<usize, (Held, u64)> = BTreeMap::new();
        for row in rows {
            let weight = self.length(row.time);
            let mean = row.mean.unwrap_or(row.max as f64) * weight as f64;
            let new = Held { min: row.min, mean: 0.0, max: row.max, limit: row.limit };
            let (held, covered) = steps.entry(self.of(row.time)).or_insert((new, 0));
            held.min = held.min.min(row.min);
            held.max = held.max.max(row.max);
            held.limit = held.limit.min(row.limit);
            held.mean += mean;
            *covered += weight;
        }
        let finish = |(step, (mut held, covered)): (usize, (Held, u64))| {
            let length = self.step_length(step);
            if covered < length {
                held.min = held.min.min(0);
            }
            // A row of no length says what was held at its instant.
            held.mean /= length.max(covered).max(1) as f64;
            (step, held)
        };
        steps.into_iter().map(finish).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(time: i64, min: i64, mean: f64, max: i64) -> Row {
        Row { time, min, mean: Some(mean), max, limit: 100 }
    }

    #[test]
    fn few_intervals_stay_as_they_are() {
        let steps = Steps::new(10, 35);
        assert_eq!((steps.count, steps.together), (4, 1));
        assert_eq!([10, 11, 30, 35].map(|t| steps.of(t)), [0, 1, 2, 3]);
        let held = steps.held(&[row(10, 1, 2.0, 3), row(35, 4, 5.0, 6)]);
        assert_eq!(held[&0], Held { min: 1, mean: 2.0, max: 3, limit: 100 });
        assert_eq!(held[&3], Held { min: 4, mean: 5.0, max: 6, limit: 100 });
        assert_eq!(held.len(), 2);
    }

    #[test]
    fn put_together_the_extremes_stay() {
        let steps = Steps::new(10, 10 * 2 * MOST as i64 as u64);
        assert_eq!((steps.count, steps.together), (MOST as usize, 2));
        let held = steps.held(&[row(10, 5, 10.0, 90), row(20, 3, 20.0, 40), row(40, 7, 8.0, 9)]);
        assert_eq!(held[&0], Held { min: 3, mean: 15.0, max: 90, limit: 100 });
        // The first half of the second step has no row: nothing was held.
        assert_eq!(held[&1], Held { min: 0, mean: 4.0, max: 9, limit: 100 });
    }

    #[test]
    fn a_job_of_no_length_has_one_step() {
        let steps = Steps::new(0, 0);
        assert_eq!((steps.count, steps.of(0)), (1, 0));
    }
}
