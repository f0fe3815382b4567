//! Window laws: what a sender makes of the telemetry in its acknowledgements.
//!
//! Owns the two laws and what they remember of a flow. A law gives a rate; the window is what that
//! rate sends in the base round-trip time. Refuses to know packets and ports.

use crate::scenario::{HpccNic, HpccRateControl};

/// Hops whose telemetry a packet can carry.
pub const MOST_HOPS: usize = 5;
/// ps in a s, in bits of a byte.
const BYTE_SECOND: f64 = 8e12;
/// Smallest power a law divides by.
const LEAST_POWER: f64 = 1e-6;

/// What a switch port writes into a packet as it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hop {
    /// Bytes left in the port's queues.
    pub queue: u64,
    /// Wire bytes of the frames it has started before.
    pub sent: u64,
    /// Now, ps.
    pub time: u64,
    /// Its rate, bit/s.
    pub rate: u64,
}

/// Telemetry of a packet's way so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hops {
    count: usize,
    hops: [Hop; MOST_HOPS],
}

impl Hops {
    /// Adds a hop; beyond [`MOST_HOPS`] nothing is kept of it.
    pub fn push(&mut self, hop: Hop) {
        if let Some(place) = self.hops.get_mut(self.count) {
            *place = hop;
            self.count += 1;
        }
    }
}

/// Settings of a law at one host, rates in bit/s.
#[derive(Debug, Clone, Copy)]
pub struct LawSettings {
    /// Which law; not `None`.
    pub control: HpccRateControl,
    /// The line's rate.
    pub line: f64,
    /// Base round-trip time, ps.
    pub base_rtt: f64,
    target: f64,
    stages: u64,
    step: f64,
    least: f64,
    fast_react: bool,
    gamma: f64,
    flows: f64,
}

impl LawSettings {
    /// Settings for a host with a line of a rate, bit/s; `None` without a law.
    pub fn new(own: &HpccNic, line: u64) -> Option<LawSettings> {
        if own.rate_control == HpccRateControl::None {
            return None;
        }
        Some(LawSettings {
            control: own.rate_control,
            line: line as f64,
            base_rtt: own.base_rtt.0 as f64,
            target: own.u_target,
            stages: own.mi_thresh,
            step: own.rate_ai.0 as f64,
            least: own.min_rate.0 as f64,
            fast_react: own.fast_react,
            gamma: own.gamma,
            flows: own.expected_flows as f64,
        })
    }
}

/// What a law remembers of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Control {
    /// Allowed rate, bit/s.
    pub rate: f64,
    /// The rate increases and decreases count from: that of one round trip ago.
    reference: f64,
    /// Smoothed utilization, or power.
    level: f64,
    /// Increases since the last decrease.
    stage: u64,
    /// First byte that was not sent at the last update of `reference`.
    last_update: u64,
    hops: Hops,
}

impl Control {
    /// A flow that starts at line rate.
    pub fn new(line: f64) -> Control {
        Control {
            rate: line,
            reference: line,
            level: 1.0,
            stage: 0,
            last_update: 0,
            hops: Hops::default(),
        }
    }

    /// Bytes that may be in flight.
    pub fn window(&self, own: &LawSettings) -> u64 {
        ((self.rate * own.base_rtt / BYTE_SECOND) as u64).max(1)
    }

    /// An acknowledgement of every byte before `acked` arrives with telemetry; `next` is the first
    /// byte not sent.
    pub fn acknowledged(&mut self, own: &LawSettings, acked: u64, next: u64, hops: &Hops) {
        if self.last_update == 0 || hops.count != self.hops.count {
            // The first of a flow, or by another way: nothing to compare with.
            (self.last_update, self.hops) = (next.max(1), *hops);
            return;
        }
        let round = acked > self.last_update;
        if !round && own.control == HpccRateControl::Hpcc && !own.fast_react {
            return;
        }
        let Some((largest, gap)) = self.largest(own, hops) else { return };
        self.hops = *hops;
        let share = gap.min(own.base_rtt) / own.base_rtt;
        self.level = self.level * (1.0 - share) + largest * share;
        let rate = match own.control {
            HpccRateControl::PowerTcp => {
                if round {
                    self.reference = self.rate;
                }
                let wanted = self.reference / self.level.max(LEAST_POWER) + own.line / own.flows;
                own.gamma * wanted + (1.0 - own.gamma) * self.rate
            }
            HpccRateControl::Hpcc | HpccRateControl::None => {
                let over = self.level / own.target;
                let decrease = over >= 1.0 || self.stage >= own.stages;
                let base = if decrease { self.reference / over } else { self.reference };
                if round {
                    self.stage = if decrease { 0 } else { self.stage + 1 };
                }
                base + own.step
            }
        };
        self.rate = rate.clamp(own.least.min(own.line), own.line);
        if round {
            if own.control == HpccRateControl::Hpcc {
                self.reference = self.rate;
            }
            self.last_update = self.last_update.max(next);
        }
    }

    /// The largest utilization (or power) of a hop since the last acknowledgement, and the time
    /// that passed there, ps. `None` if none passed anywhere.
    fn largest(&self, own: &LawSettings, hops: &Hops) -> Option<(f64, f64)> {
        let pairs = hops.hops[..hops.count].iter().zip(&self.hops.hops);
        let mut found: Option<(f64, f64)> = None;
        for (hop, before) in pairs.filter(|(hop, before)| hop.time > before.time) {
            let gap = (hop.time - before.time) as f64;
            let rate = hop.rate as f64;
            let sent = hop.sent.wrapping_sub(before.sent) as f64;
            // Bytes the hop could send in a base round-trip time.
            let product = rate * own.base_rtt / BYTE_SECOND;
            let level = match own.control {
                HpccRateControl::PowerTcp => {
                    let grown = hop.queue as f64 - before.queue as f64;
                    let current = (grown + sent) * BYTE_SECOND / gap / rate;
                    current * (hop.queue as f64 + product) / product
                }
                HpccRateControl::Hpcc | HpccRateControl::None => {
                    let queue = hop.queue.min(before.queue) as f64;
                    sent * BYTE_SECOND / gap / rate + queue / product
                }
            };
            if found.is_none_or(|(largest, _)| level > largest) {
                found = Some((level, gap));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{BitRate, Ps};

    /// 100 Gbps and 8 us: 100,000 B.
    fn settings(control: HpccRateControl) -> LawSettings {
        let own = HpccNic {
            rate_control: control,
            base_rtt: Ps(8_000_000),
            rate_ai: BitRate(1_000_000_000),
            ..HpccNic::default()
        };
        LawSettings::new(&own, 100_000_000_000).unwrap()
    }

    fn hops(queue: u64, sent: u64, time: u64) -> Hops {
        let mut hops = Hops::default();
        hops.push(Hop { queue, sent, time, rate: 100_000_000_000 });
        hops
    }

    #[test]
    fn hpcc_divides_by_utilization_over_its_target() {
        let own = settings(HpccRateControl::Hpcc);
        let mut control = Control::new(own.line);
        assert_eq!(control.window(&own), 100_000);
        control.acknowledged(&own, 1_000, 50_000, &hops(50_000, 0, 0));
        assert_eq!(control.rate, own.line, "the first one only starts the comparison");
        // A round trip at line rate with 50,000 B queued: 1 + 0.5.
        control.acknowledged(&own, 50_001, 90_000, &hops(50_000, 100_000, 8_000_000));
        let expected = 100e9 * 0.95 / 1.5 + 1e9;
        assert!((control.rate - expected).abs() < 1.0, "{}", control.rate);
        assert_eq!(control.window(&own), (expected * 8e-6 / 8.0) as u64);
        // Half a round trip of nothing: level 1.5 → 0.75; within the round, from the reference.
        control.acknowledged(&own, 60_000, 95_000, &hops(0, 100_000, 12_000_000));
        assert!((control.rate - (expected + 1e9)).abs() < 1.0, "{}", control.rate);
        assert_eq!((control.stage, control.last_update), (0, 90_000));
        control.acknowledged(&own, 90_001, 99_000, &hops(0, 100_000, 13_000_000));
        assert_eq!((control.stage, control.last_update), (1, 99_000));
    }

    #[test]
    fn powertcp_follows_the_product_of_current_and_voltage() {
        let own = settings(HpccRateControl::PowerTcp);
        let mut control = Control::new(own.line);
        control.acknowledged(&own, 1_000, 50_000, &hops(0, 0, 0));
        // The queue grows by 50,000 B while 100,000 B leave: 1.5 × (50,000 + 100,000) ÷ 100,000.
        control.acknowledged(&own, 2_000, 60_000, &hops(50_000, 100_000, 8_000_000));
        let expected = 0.9 * (100e9 / 2.25 + 10e9) + 0.1 * 100e9;
        assert!((control.rate - expected).abs() < 1.0, "{}", control.rate);
        // Nothing queued at line rate: power 1, and the window grows back.
        control.acknowledged(&own, 50_001, 90_000, &hops(0, 250_000, 16_000_000));
        let expected = 0.9 * (expected + 10e9) + 0.1 * expected;
        assert!((control.rate - expected).abs() < 1.0, "{}", control.rate);
    }

    #[test]
    fn rates_stay_within_the_line_and_the_least() {
        for control in [HpccRateControl::Hpcc, HpccRateControl::PowerTcp] {
            let own = settings(control);
            let mut flow = Control::new(own.line);
            for turn in 0..50 {
                let at = turn * 8_000_000;
                flow.acknowledged(&own, turn * 10, turn * 10, &hops(1 << 40, turn * 100_000, at));
                assert!((100e6..=100e9).contains(&flow.rate));
            }
            assert!(flow.rate < 30e9, "{control:?} {}", flow.rate);
        }
    }

    #[test]
    fn a_longer_way_than_five_hops_is_cut() {
        let mut hops = Hops::default();
        (0..7).for_each(|time| hops.push(Hop { time, ..Hop::default() }));
        assert_eq!((hops.count, hops.hops[4].time), (5, 4));
    }
}
