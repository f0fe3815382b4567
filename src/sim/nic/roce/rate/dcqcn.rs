//! DCQCN's reaction point as published in 2015.
//!
//! Where the paper is silent: the byte counter counts IP bytes of data, the hyper step is taken
//! min(T, BC) − F times as in QCN, the target never exceeds line rate, and the rate is line rate
//! again, its timer and counters at rest, once less than 1 bit/s is missing.

use crate::scenario::roce::Dcqcn as Settings;
use crate::sim::nic::NEVER;

/// Parameters of the reaction point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DcqcnParameters {
    g: f64,
    /// ps, at least 1.
    alpha_timer: u64,
    /// ps, at least 1.
    rate_timer: u64,
    /// Bytes, at least 1.
    byte_counter: u64,
    fast_recovery: u64,
    rate_ai: f64,
    rate_hai: f64,
    min_rate: f64,
}

impl DcqcnParameters {
    /// From settings that have passed their checks.
    pub fn new(settings: &Settings) -> DcqcnParameters {
        DcqcnParameters {
            g: settings.g,
            alpha_timer: settings.alpha_timer.0.max(1),
            rate_timer: settings.rate_timer.0.max(1),
            byte_counter: settings.byte_counter.0.max(1),
            fast_recovery: settings.fast_recovery,
            rate_ai: settings.rate_ai.0 as f64,
            rate_hai: settings.rate_hai.0 as f64,
            min_rate: settings.min_rate.0 as f64,
        }
    }
}

/// State of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dcqcn {
    line: f64,
    current: f64,
    target: f64,
    alpha: f64,
    /// From when α has not been decayed; [`NEVER`]: no CNP so far.
    alpha_at: u64,
    /// Increases by time since the last CNP.
    by_time: u64,
    /// Increases by bytes since the last CNP.
    by_bytes: u64,
    /// Bytes towards the next of those.
    bytes: u64,
    /// Next increase by time; [`NEVER`]: at line rate.
    due: u64,
}

impl Dcqcn {
    /// At line rate (bit/s), α = 1.
    pub fn new(line: u64) -> Dcqcn {
        let line = line as f64;
        Dcqcn {
            line,
            current: line,
            target: line,
            alpha: 1.0,
            alpha_at: NEVER,
            by_time: 0,
            by_bytes: 0,
            bytes: 0,
            due: NEVER,
        }
    }

    /// A CNP has arrived.
    pub fn cnp(&mut self, p: &DcqcnParameters, now: u64) {
        self.advance(p, now);
        self.decay(p, now);
        self.target = self.current;
        self.current = (self.current * (1.0 - self.alpha / 2.0)).max(p.min_rate.min(self.line));
        self.alpha = (1.0 - p.g) * self.alpha + p.g;
        self.alpha_at = now;
        (self.by_time, self.by_bytes, self.bytes) = (0, 0, 0);
        self.due = now.saturating_add(p.rate_timer);
    }

    /// Runs the increases by time due by `now`.
    #[inline]
    pub fn advance(&mut self, p: &DcqcnParameters, now: u64) {
        if self.due <= now {
            self.catch_up(p, now);
        }
    }

    fn catch_up(&mut self, p: &DcqcnParameters, now: u64) {
        while self.due <= now && self.due != NEVER {
            self.due = self.due.saturating_add(p.rate_timer);
            self.by_time += 1;
            self.increase(p);
        }
    }

    /// A data packet of `ip` bytes is sent.
    #[inline]
    pub fn sent(&mut self, p: &DcqcnParameters, ip: u16) {
        if self.due == NEVER {
            return;
        }
        self.bytes += u64::from(ip);
        if self.bytes >= p.byte_counter {
            self.bytes -= p.byte_counter;
            self.by_bytes += 1;
            self.increase(p);
        }
    }

    /// The allowed rate; 0: line rate.
    #[inline]
    pub fn rate(&self) -> u64 {
        if self.due == NEVER { 0 } else { self.current as u64 }
    }

    /// α decays once for each whole period without a CNP; caught up at the next CNP, the only one
    /// who reads it.
    fn decay(&mut self, p: &DcqcnParameters, now: u64) {
        if self.alpha_at == NEVER {
            return;
        }
        for _ in 0..(now - self.alpha_at) / p.alpha_timer {
            self.alpha *= 1.0 - p.g;
            // Below this a cut changes nothing.
            if self.alpha < 1e-300 {
                break;
            }
        }
    }

    fn increase(&mut self, p: &DcqcnParameters) {
        let (most, least) = (self.by_time.max(self.by_bytes), self.by_time.min(self.by_bytes));
        if most >= p.fast_recovery {
            let step = if least > p.fast_recovery {
                (least - p.fast_recovery) as f64 * p.rate_hai
            } else {
                p.rate_ai
            };
            self.target = (self.target + step).min(self.line);
        }
        self.current = (self.target + self.current) / 2.0;
        if self.line - self.current < 1.0 {
            self.current = self.line;
            self.due = NEVER;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: u64 = 40_000_000_000;
    const TIMER: u64 = 55_000_000;

    fn parameters() -> DcqcnParameters {
        DcqcnParameters::new(&Settings::default())
    }

    #[test]
    fn the_first_cut_halves_and_the_second_follows_alpha() {
        let (p, mut state) = (parameters(), Dcqcn::new(LINE));
        assert_eq!(state.rate(), 0);
        state.cnp(&p, 0);
        assert_eq!((state.target, state.current, state.alpha), (40e9, 20e9, 1.0));
        state.cnp(&p, 50_000_000);
        assert_eq!((state.target, state.current, state.alpha), (20e9, 10e9, 1.0));
        // Two whole periods without a CNP: alpha decays twice before it cuts.
        state.cnp(&p, 50_000_000 + 2 * TIMER);
        let alpha = (255.0 / 256.0) * (255.0 / 256.0);
        assert_eq!(state.target, 17.5e9, "10, 15, 17.5 Gbps by time");
        assert_eq!(state.current, 17.5e9 * (1.0 - alpha / 2.0));
        assert_eq!(state.alpha, (255.0 / 256.0) * alpha + 1.0 / 256.0);
    }

    #[test]
    fn fast_recovery_then_additive_increase_by_time() {
        let (p, mut state) = (parameters(), Dcqcn::new(LINE));
        state.cnp(&p, 0);
        state.cnp(&p, 1);
        let mut rates = Vec::new();
        for n in 1..=6 {
            state.advance(&p, 1 + n * TIMER);
            rates.push(state.rate());
        }
        // Target 20 Gbps; four increases by half, then 40 Mbps more each.
        assert_eq!(rates[..4], [15_000_000_000, 17_500_000_000, 18_750_000_000, 19_375_000_000]);
        assert_eq!(rates[4], (20_040_000_000 + 19_375_000_000) / 2);
        assert_eq!((state.target, rates[5]), (20.08e9, (20_080_000_000 + rates[4]) / 2));
    }

    #[test]
    fn the_byte_counter_increases_as_the_timer_does() {
        let p = DcqcnParameters { byte_counter: 8_000, ..parameters() };
        let mut state = Dcqcn::new(LINE);
        state.cnp(&p, 0);
        state.sent(&p, 4_000);
        assert_eq!(state.current, 20e9);
        state.sent(&p, 4_000);
        assert_eq!((state.current, state.by_bytes), (30e9, 1));
    }

    #[test]
    fn hyper_increase_needs_both_counters_beyond_fast_recovery() {
        let p = DcqcnParameters { byte_counter: 1_000, ..parameters() };
        let mut state = Dcqcn::new(LINE);
        state.cnp(&p, 0);
        state.cnp(&p, 0);
        for _ in 0..7 {
            state.sent(&p, 1_000);
        }
        assert_eq!(state.target, 20e9 + 3.0 * 40e6, "5th to 7th, by bytes only");
        state.advance(&p, 5 * TIMER);
        assert_eq!(state.target, 20e9 + 8.0 * 40e6, "the lesser counter is not beyond 5");
        state.advance(&p, 6 * TIMER);
        assert_eq!(state.target, 20e9 + 8.0 * 40e6 + 400e6, "both are: min(6, 7) - 5 hyper steps");
        state.advance(&p, 7 * TIMER);
        assert_eq!(state.target, 20e9 + 8.0 * 40e6 + 400e6 + 800e6);
    }

    proptest! {
        /// Whatever comes, the rate stays between its least value and line rate, and in the end
        /// it is line rate.
        #[test]
        fn between_floor_and_line(events in prop::collection::vec((0u64..200_000_000, any::<bool>()), 1..300)) {
            let p = parameters();
            let mut state = Dcqcn::new(LINE);
            let mut now = 0;
            for (gap, cnp) in events {
                now += gap;
                state.advance(&p, now);
                state.sent(&p, 4_136);
                if cnp {
                    state.cnp(&p, now);
                }
                prop_assert!(state.current >= 100e6 && state.current <= LINE as f64);
                prop_assert!(state.target >= state.current && state.target <= LINE as f64);
                prop_assert!((0.0..=1.0).contains(&state.alpha));
            }
            state.advance(&p, now + 2_000 * TIMER);
            prop_assert_eq!(state.rate(), 0);
        }
    }
}
