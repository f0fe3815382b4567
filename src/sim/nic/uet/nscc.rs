//! Congestion control: the window of a group.
//!
//! Owns window, base RTT, delay average and Quick Adapt, as a function of acknowledgements, trims
//! and timeouts with the clock as an argument. Refuses to know packets, timers and what is in
//! flight (an argument too). The window and everything that moves it is `f64` bytes and
//! picoseconds, computed with `+ - * / min max` in a fixed order, so every machine gets the same
//! bits.

use crate::scenario::uet::CongestionControl;

/// What the window of every group of a host is computed with. Times in ps, windows in bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Gains {
    enabled: bool,
    quick_adapt: bool,
    trimming: bool,
    /// Link rate of the host, bytes per ps.
    rate: f64,
    initial_base_rtt: u64,
    guard: u64,
    /// Largest window a group starts with.
    max_window: f64,
    /// The largest window never follows the base RTT.
    fixed_max: bool,
    /// Least window: `M`, and no less than a full packet, which could never leave otherwise.
    least: f64,
    target: f64,
    margin: f64,
    initial_average: f64,
    /// Bytes² per byte and ps.
    alpha: f64,
    fair: f64,
    fast: f64,
    eta: f64,
    gamma: f64,
    least_left: f64,
    delay_alpha: f64,
    adjust_bytes: u64,
    adjust_period: u64,
    gate: f64,
    threshold: f64,
}

impl Gains {
    /// The constants of a host: link `rate` in bit/s, `full` the IP bytes of a full packet.
    pub fn new(cc: &CongestionControl, trimming: bool, rate: u64, full: u64) -> Gains {
        let rate = rate as f64 / 8e12;
        let base = cc.initial_base_rtt.0 as f64;
        let bdp = rate * base;
        let unit = cc.window_unit.map_or(full, |bytes| bytes.0) as f64;
        let least = unit.max(full as f64);
        let max_window = if cc.override_uet_spec_max_cwind {
            (cc.max_congestion_window * full) as f64
        } else {
            1.5 * bdp
        };
        let target = if cc.override_spec_target_queue_delay {
            cc.target_queue_delay.0 as f64
        } else if trimming {
            0.75 * base
        } else {
            base
        };
        let reference_rtt = cc.reference_network_rtt.0 as f64;
        let reference = cc.reference_network_link_speed.0 as f64 / 8e12 * reference_rtt;
        let scale = bdp / reference;
        Gains {
            enabled: cc.nscc_enable,
            quick_adapt: !cc.disable_quick_adapt,
            trimming,
            rate,
            initial_base_rtt: cc.initial_base_rtt.0,
            guard: cc.base_rtt_guard.0,
            max_window: max_window.max(least),
            fixed_max: cc.override_uet_spec_max_cwind,
            least,
            target,
            margin: cc.target_queue_delay_margin.0 as f64,
            initial_average: cc.initial_average_delay.0 as f64,
            // The target cancels out of the product with the second scale, target over reference.
            alpha: cc.alpha_multiplier * scale * unit / reference_rtt,
            fair: cc.fair_increase_multiplier * scale * unit,
            fast: cc.fast_increase_multiplier
                * if cc.fast_increase_by_reference { scale } else { 1.0 },
            eta: cc.eta_multiplier * scale * unit,
            gamma: cc.gamma,
            least_left: cc.max_multiplicative_decrease_jump,
            delay_alpha: cc.delay_alpha,
            adjust_bytes: cc.adjust_bytes.map_or(8 * unit as u64, |bytes| bytes.0),
            adjust_period: cc.adjust_period.unwrap_or(cc.initial_base_rtt).0,
            gate: 1.0 / (1u64 << cc.quick_adapt_gate.min(31)) as f64,
            threshold: cc.quick_adapt_threshold.0 as f64,
        }
    }

    /// Bandwidth-delay product of the initial base RTT, bytes.
    pub fn bdp(&self) -> f64 {
        self.rate * self.initial_base_rtt as f64
    }

    /// The least window, bytes.
    #[cfg(test)]
    pub fn least(&self) -> f64 {
        self.least
    }
}

/// A data acknowledgement as the window sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acked {
    /// Bytes it newly retires.
    pub newly: u64,
    /// Bytes in flight of the group without them.
    pub in_flight: u64,
    /// RTT, ps, service time taken off, where it says one.
    pub rtt: Option<u64>,
    /// ECN echo.
    pub marked: bool,
    /// Receiver penalty, 0 to 127.
    pub penalty: u8,
    /// The receiver lets the window be restored.
    pub restore: bool,
}

/// Congestion control of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Nscc {
    window: f64,
    max_window: f64,
    base_rtt: u64,
    /// What delays are counted from.
    reference: u64,
    average: f64,
    /// Growth not yet applied, bytes².
    growth: f64,
    /// Bytes acknowledged since growth was last applied.
    received: u64,
    last_adjust: u64,
    last_decrease: Option<u64>,
    fast: bool,
    fast_bytes: u64,
    /// Window before the receiver penalty, 0 if there is none to restore.
    saved: f64,
    achieved: u64,
    ignored: u64,
    to_ignore: u64,
    /// End of the observation window, once there is one.
    observed: Option<u64>,
    trim_since: bool,
    /// Times Quick Adapt has fired.
    pub quick_adapts: u64,
}

impl Nscc {
    /// A group's at its start: the window is the largest one.
    pub fn new(gains: &Gains, now: u64) -> Nscc {
        Nscc {
            window: gains.max_window,
            max_window: gains.max_window,
            base_rtt: gains.initial_base_rtt,
            reference: gains.initial_base_rtt,
            average: gains.initial_average,
            growth: 0.0,
            received: 0,
            last_adjust: now,
            last_decrease: None,
            fast: false,
            fast_bytes: 0,
            saved: 0.0,
            achieved: 0,
            ignored: 0,
            to_ignore: 0,
            observed: None,
            trim_since: false,
            quick_adapts: 0,
        }
    }

    /// The window, bytes: between [`Gains::least`] and [`Nscc::max_window`].
    #[inline]
    pub fn window(&self) -> f64 {
        self.window
    }

    /// The largest window, bytes.
    #[cfg(test)]
    pub fn max_window(&self) -> f64 {
        self.max_window
    }

    /// Base RTT, ps.
    #[inline]
    pub fn base_rtt(&self) -> u64 {
        self.base_rtt
    }

    /// Bytes newly acknowledged since growth was last applied.
    #[cfg(test)]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Average delay, ps.
    #[cfg(test)]
    pub fn average(&self) -> f64 {
        self.average
    }

    /// An RTT sample lowers the base RTT if it is that much shorter; the window follows.
    #[inline]
    pub fn base_sample(&mut self, gains: &Gains, rtt: u64) {
        if rtt + gains.guard >= self.base_rtt {
            return;
        }
        self.base_rtt = rtt + gains.guard;
        self.reference = rtt;
        if !gains.fixed_max {
            self.max_window = (1.5 * gains.rate * self.base_rtt as f64).max(gains.least);
        }
        self.window =
            if gains.enabled { self.window.min(self.max_window) } else { self.max_window };
    }

    /// A data acknowledgement.
    pub fn acked(&mut self, gains: &Gains, now: u64, ack: &Acked) {
        if !gains.enabled {
            if let Some(rtt) = ack.rtt {
                self.base_sample(gains, rtt);
            }
            return;
        }
        self.received += ack.newly;
        self.achieved += ack.newly;
        self.ignored += ack.newly;
        let limited = ack.penalty > 0;
        if limited {
            if self.saved == 0.0 {
                self.saved = self.window;
            }
            let cut = (u64::from(ack.penalty) * ack.newly) >> 7;
            self.window = (self.window.min(ack.in_flight as f64) - cut as f64).max(gains.least);
        } else if ack.restore && self.saved > 0.0 {
            self.window = self.saved.min(self.max_window);
            self.saved = 0.0;
        }
        let Some(rtt) = ack.rtt else { return };
        self.base_sample(gains, rtt);
        let delay = rtt.saturating_sub(self.reference) as f64;
        self.fold(gains, delay);
        if self.quick_adapt(gains, now, ack.in_flight, false, ack.marked) {
            self.growth = 0.0;
            self.received = 0;
            return;
        }
        let newly = ack.newly as f64;
        match (ack.marked, delay >= gains.target) {
            (false, true) if !limited => self.growth += gains.fair * newly,
            (false, false) if !limited => self.proportional(gains, ack.newly, delay),
            (true, true) => self.decrease(gains, now),
            _ => {}
        }
        let due = now - self.last_adjust >= gains.adjust_period;
        if due || self.received > gains.adjust_bytes {
            self.window += self.growth / self.window;
            if due {
                self.last_adjust = now;
                self.window += gains.eta;
            }
            self.growth = 0.0;
            self.received = 0;
        }
        self.clamp(gains);
    }

    /// A trimmed packet of `bytes` was reported, already taken out of `in_flight`.
    pub fn trimmed(
        &mut self,
        gains: &Gains,
        now: u64,
        bytes: u64,
        in_flight: u64,
        rtt: Option<u64>,
    ) {
        if let Some(rtt) = rtt {
            self.base_sample(gains, rtt);
        }
        if !gains.enabled {
            return;
        }
        self.fold(gains, gains.initial_base_rtt as f64);
        self.ignored += bytes;
        self.trim_since = true;
        if !self.quick_adapt(gains, now, in_flight, true, true) {
            self.window = (self.window - bytes as f64).max(gains.least);
        }
    }

    /// A packet of `bytes` has timed out.
    pub fn timed_out(&mut self, gains: &Gains, bytes: u64) {
        if gains.enabled {
            self.window = (self.window - bytes as f64).max(gains.least);
        }
    }

    #[inline]
    fn fold(&mut self, gains: &Gains, delay: f64) {
        self.average = gains.delay_alpha * delay + (1.0 - gains.delay_alpha) * self.average;
    }

    #[inline]
    fn clamp(&mut self, gains: &Gains) {
        self.window = self.window.min(self.max_window).max(gains.least);
    }

    fn proportional(&mut self, gains: &Gains, newly: u64, delay: f64) {
        if delay < gains.margin {
            self.fast_bytes += newly;
            if self.fast || self.fast_bytes as f64 > self.window {
                self.fast = true;
                self.window = (self.window + gains.fast * newly as f64).min(self.max_window);
                return;
            }
        } else {
            self.fast_bytes = 0;
        }
        self.fast = false;
        self.growth += gains.alpha * newly as f64 * (gains.target - delay);
    }

    fn decrease(&mut self, gains: &Gains, now: u64) {
        self.fast = false;
        self.fast_bytes = 0;
        let rested = self.last_decrease.is_none_or(|last| now - last > self.base_rtt);
        if self.average > gains.target && rested {
            let left = 1.0 - gains.gamma * (self.average - gains.target) / self.average;
            self.window = (self.window * left.max(gains.least_left)).max(gains.least);
            self.last_decrease = Some(now);
        }
    }

    /// Whether what was just reported is answered by Quick Adapt: it has fired, or a recent firing
    /// has answered it already.
    fn quick_adapt(
        &mut self,
        gains: &Gains,
        now: u64,
        in_flight: u64,
        trim: bool,
        marked: bool,
    ) -> bool {
        if !gains.quick_adapt {
            return false;
        }
        if self.ignored < self.to_ignore && marked {
            return true;
        }
        if self.observed.is_some_and(|end| now < end) {
            return false;
        }
        let reason = self.trim_since || trim || (!gains.trimming && self.average > gains.threshold);
        let fires = self.observed.is_some()
            && reason
            && (self.achieved as f64) < self.max_window * gains.gate;
        if fires {
            self.window = (self.achieved as f64).max(gains.least);
            self.to_ignore = in_flight;
            self.ignored = 0;
            self.trim_since = false;
            self.quick_adapts += 1;
        }
        self.achieved = 0;
        self.observed = Some(now + self.base_rtt + gains.target as u64);
        fires
    }
}

#[cfg(test)]
#[path = "nscc_tests.rs"]
mod tests;
