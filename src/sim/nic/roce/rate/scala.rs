//! The documented loop: episodes of alternating reduction and increase halves.

use crate::scenario::roce::Roce;
use crate::sim::nic::NEVER;

/// Distance to line rate at which an episode ends, bit/s.
const NEAR: f64 = 100_000_000.0;

/// Parameters of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalaParameters {
    /// Length of a half, ps, at least 1.
    half: u64,
    /// Weight of the newest half in the estimate.
    weight: f64,
    /// Increases of fast recovery.
    attempts: i64,
    /// Part of the target at the start of an episode that is one additive step.
    step: f64,
    /// Increase halves skipped for one taken while CNPs continue.
    skips: u64,
    /// Lowest rate as a part of line rate.
    floor: f64,
    /// Estimate of a new queue pair.
    initial: f64,
}

impl ScalaParameters {
    /// From settings that have passed their checks.
    pub fn new(settings: &Roce) -> ScalaParameters {
        let steps = settings.number_active_increase_steps.max(1) as f64;
        ScalaParameters {
            half: settings.control_interval_duration_ns.saturating_mul(500).max(1),
            weight: settings.congestion_probability_weight,
            attempts: i64::try_from(settings.fast_recovery_attempt).unwrap_or(i64::MAX),
            step: (1.0 - settings.initial_target_rate_percentage) / steps,
            skips: settings.num_of_control_loops_per_increase,
            floor: settings.minimum_rate_percentage,
            initial: settings.initial_congestion_estimate,
        }
    }
}

/// State of a queue pair.
///
/// The target is held at the floor as the rate is: without that, reductions in additive increase
/// could take it below any rate there is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scala {
    line: f64,
    current: f64,
    target: f64,
    step: f64,
    /// Congestion estimate, 0 to 1.
    estimate: f64,
    /// Increases less reductions since the last cut by estimate.
    count: i64,
    /// Increase halves skipped since the last one taken in spite of CNPs.
    skipped: u64,
    /// CNPs since the last reduction half.
    cnps: u64,
    /// Data packets sent since the last reduction half; while idle they add up.
    packets: u64,
    /// Next half; [`NEVER`]: idle.
    due: u64,
    /// Whether that is a reduction half.
    reduces: bool,
}

impl Scala {
    /// Idle at line rate (bit/s).
    pub fn new(parameters: &ScalaParameters, line: u64) -> Scala {
        let line = line as f64;
        Scala {
            line,
            current: line,
            target: line,
            step: 0.0,
            estimate: parameters.initial,
            count: 0,
            skipped: 0,
            cnps: 0,
            packets: 0,
            due: NEVER,
            reduces: false,
        }
    }

    /// A CNP has arrived: an idle queue pair starts an episode with a reduction half.
    pub fn cnp(&mut self, p: &ScalaParameters, now: u64) {
        self.advance(p, now);
        self.cnps += 1;
        if self.due == NEVER {
            self.target = self.current;
            self.step = self.target * p.step;
            self.skipped = 0;
            self.fold(p);
            self.reduce(p, true);
            self.reduces = false;
            self.due = now.saturating_add(p.half);
        }
    }

    /// Runs the halves due by `now`.
    #[inline]
    pub fn advance(&mut self, p: &ScalaParameters, now: u64) {
        if self.due <= now {
            self.catch_up(p, now);
        }
    }

    fn catch_up(&mut self, p: &ScalaParameters, now: u64) {
        while self.due <= now && self.due != NEVER {
            self.fold(p);
            if self.reduces {
                self.reduce(p, false);
            } else if self.increases(p) && self.increase(p) {
                self.due = NEVER;
                return;
            }
            self.reduces = !self.reduces;
            self.due = self.due.saturating_add(p.half);
        }
    }

    /// A data packet is sent.
    #[inline]
    pub fn sent(&mut self) {
        self.packets += 1;
    }

    /// The allowed rate; 0: idle at line rate.
    #[inline]
    pub fn rate(&self) -> u64 {
        if self.due == NEVER { 0 } else { self.current as u64 }
    }

    /// Folds the share of packets that drew a CNP into the estimate.
    fn fold(&mut self, p: &ScalaParameters) {
        let share = match self.cnps {
            0 => 0.0,
            cnps if cnps >= self.packets => 1.0,
            cnps => cnps as f64 / self.packets as f64,
        };
        self.estimate = (1.0 - p.weight) * self.estimate + p.weight * share;
    }

    fn reduce(&mut self, p: &ScalaParameters, first: bool) {
        if self.cnps > 0 {
            let floor = p.floor * self.line;
            if first || self.count < p.attempts {
                self.current *= 1.0 - self.estimate / 2.0;
                self.count = 0;
            } else {
                self.target = (self.target - self.step).max(floor);
                self.current = (self.current + self.target) / 2.0;
                self.count -= 1;
            }
            self.current = self.current.max(floor);
        }
        self.cnps = 0;
        self.packets = 0;
    }

    /// Whether this increase half is taken.
    fn increases(&mut self, p: &ScalaParameters) -> bool {
        if self.cnps == 0 {
            return true;
        }
        self.skipped += 1;
        let taken = self.skipped > p.skips;
        if taken {
            self.skipped = 0;
        }
        taken
    }

    /// Increases the rate; whether the episode has ended with it.
    fn increase(&mut self, p: &ScalaParameters) -> bool {
        if self.count >= p.attempts {
            self.target = (self.target + self.step).min(self.line);
        }
        self.current = (self.current + self.target) / 2.0;
        self.count += 1;
        let ended = self.line - self.current < NEAR;
        if ended {
            self.current = self.line;
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: u64 = 400_000_000_000;
    const HALF: u64 = 22_500_000;

    fn parameters() -> ScalaParameters {
        ScalaParameters::new(&Roce::default())
    }

    /// A queue pair whose one packet has drawn a CNP at 0.
    fn cut() -> Scala {
        let mut state = Scala::new(&parameters(), LINE);
        state.sent();
        state.cnp(&parameters(), 0);
        state
    }

    #[test]
    fn constants_at_400_gbps() {
        let (p, state) = (parameters(), cut());
        assert_eq!(p.half, HALF);
        assert!((state.step - 4e9).abs() < 1.0, "{}", state.step);
        assert_eq!(p.floor * state.line, 40e9);
        // One increase in six halves of the kind, each kind once in 45 us.
        assert_eq!((p.skips + 1) * 2 * p.half, 270_000_000);
    }

    #[test]
    fn continuous_cnps_allow_one_increase_in_270_us_above_the_floor() {
        let (p, mut state) = (parameters(), cut());
        let mut raised = Vec::new();
        for microsecond in 1..=1_000u64 {
            let before = state.current;
            state.sent();
            state.cnp(&p, microsecond * 1_000_000);
            if state.current > before {
                raised.push(microsecond);
            }
            assert!(state.current >= 40e9);
        }
        // Increase halves at 22.5 + 45 n us; the 6th, 12th, ... are taken.
        assert_eq!(raised, [248, 518, 788]);
    }

    #[test]
    fn recovers_by_halves_and_ends_within_a_tenth_of_a_gigabit() {
        let (p, mut state) = (parameters(), cut());
        assert_eq!(state.rate(), 200_000_000_000);
        let mut rates = Vec::new();
        for n in 0..11 {
            state.advance(&p, HALF + n * 2 * HALF - 1);
            let before = state.rate();
            state.advance(&p, HALF + n * 2 * HALF);
            assert!(state.rate() > before || n == 10, "an increase at each of these instants");
            rates.push(state.rate());
        }
        assert_eq!(
            rates[..4],
            [300_000_000_000, 350_000_000_000, 375_000_000_000, 387_500_000_000]
        );
        assert_eq!(rates[9], 399_804_687_500);
        assert_eq!((rates[10], state.due, state.current), (0, NEVER, LINE as f64));
    }

    #[test]
    fn the_initial_estimate_decides_the_first_cut() {
        for (initial, rate) in [(1.0, 200_000_000_000), (0.0, 300_000_000_000)] {
            let p = ScalaParameters { initial, ..parameters() };
            let mut state = Scala::new(&p, LINE);
            state.sent();
            state.cnp(&p, 5);
            assert_eq!(state.rate(), rate);
        }
    }

    #[test]
    fn a_reduction_in_additive_increase_raises_a_rate_far_below_its_target() {
        let p = parameters();
        let mut state = Scala {
            current: 380e9,
            target: 400e9,
            step: 4e9,
            count: 3,
            cnps: 1,
            ..Scala::new(&p, LINE)
        };
        state.reduce(&p, false);
        assert_eq!((state.target, state.current, state.count), (396e9, 388e9, 2));
        // The next one is back to a cut by estimate, which forgets the increases.
        state.cnps = 1;
        state.reduce(&p, false);
        assert_eq!((state.current, state.count), (388e9 * 0.5, 0));
    }

    #[test]
    fn catching_up_late_is_catching_up_often() {
        let (p, mut often, mut late) = (parameters(), cut(), cut());
        for step in 0..200 {
            often.advance(&p, step * 1_000_000);
        }
        late.advance(&p, 199 * 1_000_000);
        assert_eq!(often, late);
    }

    proptest! {
        /// Whatever comes, the rate stays between floor and line.
        #[test]
        fn between_floor_and_line(events in prop::collection::vec((0u64..60_000_000, any::<bool>()), 1..300)) {
            let p = parameters();
            let mut state = Scala::new(&p, LINE);
            let mut now = 0;
            for (gap, cnp) in events {
                now += gap;
                state.advance(&p, now);
                state.sent();
                if cnp {
                    state.cnp(&p, now);
                }
                prop_assert!(state.current >= 40e9 && state.current <= LINE as f64);
                prop_assert!(state.target >= 40e9 && state.target <= LINE as f64);
                prop_assert!((0.0..=1.0).contains(&state.estimate));
                prop_assert_eq!(state.due == NEVER, state.current == LINE as f64);
            }
        }
    }
}
