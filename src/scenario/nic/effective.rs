//! What a transport's attributes come to on a link: windows, targets, timeouts.
//!
//! Owns the documented formulas of the values that a job starts with, for people and for checks.
//! Refuses to follow them in time: transports do.

use super::{Nic, NicModel};
use crate::units::Ps;

/// Picoseconds × bits of a byte.
const BYTE_SECOND: u128 = 8 * 1_000_000_000_000;

/// Bytes that a rate (bit/s) carries in a time, rounded down. Saturates.
fn product(rate: u64, time: Ps) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(time.0) / BYTE_SECOND).unwrap_or(u64::MAX)
}

/// The window of the `uet` model as a group starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UetWindow {
    /// Link rate × `InitialBaseRTT`, bytes.
    pub bdp: u64,
    /// Largest window, and the first one, bytes.
    pub largest: u64,
    /// IP bytes of a full packet: the least window.
    pub packet: u64,
    /// Target queueing delay.
    pub target: Ps,
}

/// The documented rate loop of the `roce` model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoceLoop {
    /// From one half to the next.
    pub half: Ps,
    /// Additive step of an episode that starts at line rate, bit/s, rounded to the nearest.
    pub step: u64,
    /// Lowest rate, bit/s, rounded to the nearest.
    pub least: u64,
    /// Shortest time from one increase to the next while notifications continue.
    pub increase: Ps,
}

impl Nic {
    /// The window of the `uet` model on a link of a rate, bit/s.
    pub fn uet_window(&self, rate: u64) -> UetWindow {
        let nscc = &self.congestion_control;
        let packet = self.pds_manager.rdma_data_mss.0.saturating_add(88);
        let bdp = product(rate, nscc.initial_base_rtt);
        let spec = bdp.saturating_mul(3) / 2;
        let largest = match nscc.override_uet_spec_max_cwind {
            true => nscc.max_congestion_window.saturating_mul(packet),
            false => spec,
        };
        let base = nscc.initial_base_rtt.0;
        let target = match nscc.override_spec_target_queue_delay {
            true => nscc.target_queue_delay,
            false if self.pds_manager.trimming_enabled => Ps(base / 4 * 3 + base % 4 * 3 / 4),
            false => nscc.initial_base_rtt,
        };
        // No window is below a packet.
        UetWindow { bdp, largest: largest.max(packet), packet, target }
    }

    /// Retransmission timeouts of the `uet` model: of a first transmission, and the longest.
    pub fn uet_timeouts(&self) -> (Ps, Ps) {
        let pds = &self.pds_manager;
        if pds.fixed_rexmit_time_enable {
            return (pds.fixed_rexmit_timeout, pds.fixed_rexmit_timeout);
        }
        let first = pds.initial_retransmit_timeout;
        let doublings = pds.max_exponential_rto_backoff_count.min(63);
        (first, Ps(first.0.saturating_mul(1 << doublings)))
    }

    /// Bytes of a flow, from its start, whose packets are unscheduled at a host with a link of a
    /// rate, bit/s: what the link carries in the base round-trip time of the `hpcc` model.
    pub fn unscheduled_bytes(&self, rate: u64) -> u64 {
        match self.unscheduled {
            Some(bytes) => bytes.0,
            // A first packet is never an answer to anything.
            None if self.model == NicModel::Hpcc => product(rate, self.hpcc.base_rtt).max(1),
            None => 0,
        }
    }

    /// The rate loop of the `roce` model on a link of a rate, bit/s.
    pub fn roce_loop(&self, rate: u64) -> RoceLoop {
        let roce = &self.roce;
        let interval = roce.control_interval_duration_ns.saturating_mul(1_000);
        let steps = roce.number_active_increase_steps.max(1) as f64;
        let step = rate as f64 * (1.0 - roce.initial_target_rate_percentage) / steps;
        let least = rate as f64 * roce.minimum_rate_percentage;
        let loops = roce.num_of_control_loops_per_increase.saturating_add(1);
        RoceLoop {
            half: Ps(interval / 2),
            step: step.round() as u64,
            least: least.round() as u64,
            increase: Ps(interval.saturating_mul(loops)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::NicModel;

    const LINE: u64 = 400_000_000_000;

    #[test]
    fn the_default_uet_window_is_one_and_a_half_products() {
        let mut nic = Nic::of_model(NicModel::Uet);
        let window = nic.uet_window(LINE);
        assert_eq!((window.bdp, window.largest, window.packet), (300_000, 450_000, 4_184));
        assert_eq!(window.target, Ps(6_000_000));
        nic.pds_manager.trimming_enabled = true;
        assert_eq!(nic.uet_window(LINE).target, Ps(4_500_000));
        nic.congestion_control.override_uet_spec_max_cwind = true;
        nic.congestion_control.override_spec_target_queue_delay = true;
        let window = nic.uet_window(LINE);
        assert_eq!((window.largest, window.target), (447_688, Ps(4_500_000)));
        nic.congestion_control.override_uet_spec_max_cwind = false;
        assert_eq!(nic.uet_window(1_000).largest, 4_184, "never below a packet");
    }

    #[test]
    fn timeouts_double_up_to_the_cap() {
        let mut nic = Nic::of_model(NicModel::Uet);
        assert_eq!(nic.uet_timeouts(), (Ps(150_000_000), Ps(4_800_000_000)));
        nic.pds_manager.fixed_rexmit_time_enable = true;
        nic.pds_manager.fixed_rexmit_timeout = Ps(7);
        assert_eq!(nic.uet_timeouts(), (Ps(7), Ps(7)));
    }

    #[test]
    fn unscheduled_is_what_the_link_carries_in_a_base_round_trip() {
        let mut nic = Nic::of_model(NicModel::Hpcc);
        assert_eq!(nic.unscheduled_bytes(100_000_000_000), 162_500, "13 us");
        assert_eq!(nic.unscheduled_bytes(1), 1);
        nic.unscheduled = Some(crate::units::Bytes(0));
        assert_eq!(nic.unscheduled_bytes(LINE), 0);
        assert_eq!(Nic::of_model(NicModel::OpenLoop).unscheduled_bytes(LINE), 0);
    }

    #[test]
    fn the_default_rate_loop() {
        let own = Nic::of_model(NicModel::Roce).roce_loop(LINE);
        assert_eq!((own.half, own.increase), (Ps(22_500_000), Ps(270_000_000)));
        assert_eq!((own.step, own.least), (4_000_000_000, 40_000_000_000));
    }
}
