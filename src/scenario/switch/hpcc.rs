//! Settings of the `hpcc` buffer model: its block `HPCC`.
//!
//! Owns names and defaults, and what a port's rate and delay make of them. Refuses to check values:
//! `check` does.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The `SwitchMmu` of HPCC's ns-3 code. Everything is by port and queue; queue n is class n.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HpccBuffer {
    /// The whole buffer.
    #[serde(rename = "BufferSize")]
    pub buffer_size: Bytes,
    /// What each port and queue has to itself.
    #[serde(rename = "Reserve")]
    pub reserve: Bytes,
    /// How far below the threshold a queue's shared bytes must be for a resume.
    #[serde(rename = "ResumeOffset")]
    pub resume_offset: Bytes,
    /// Threshold of a port at the hosts' rate: free shared bytes ÷ 2^`Shift`, 0 to 31.
    #[serde(rename = "Shift")]
    pub shift: u64,
    /// Headroom of a port and queue in multiples of rate × one-way delay.
    #[serde(rename = "HeadroomFactor")]
    pub headroom_factor: f64,
}

impl Default for HpccBuffer {
    fn default() -> Self {
        HpccBuffer {
            buffer_size: Bytes(12 << 20),
            reserve: Bytes(4_096),
            resume_offset: Bytes(3_072),
            shift: 3,
            headroom_factor: 3.0,
        }
    }
}

impl HpccBuffer {
    /// Whether nothing but defaults stands in it.
    pub fn is_usual(&self) -> bool {
        *self == HpccBuffer::default()
    }

    /// Headroom of a queue of a port, bytes.
    pub fn headroom(&self, rate: u64, delay: u64) -> u64 {
        headroom(self.headroom_factor, rate, delay)
    }

    /// Shift of a port: one less for every doubling of its rate above the hosts', both bit/s.
    pub fn shift_at(&self, mut rate: u64, host_rate: u64) -> u32 {
        let mut shift = u32::try_from(self.shift).unwrap_or(63).min(63);
        while rate > host_rate && shift > 0 {
            shift -= 1;
            rate /= 2;
        }
        shift
    }
}

/// `factor` × ⌊rate × delay ÷ 8⌋, bytes rounded down; `rate` in bit/s, `delay` in ps.
pub(super) fn headroom(factor: f64, rate: u64, delay: u64) -> u64 {
    let product = u128::from(rate) * u128::from(delay) / 8_000_000_000_000;
    // The conversion saturates.
    (factor * product as f64).floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_is_three_whole_products() {
        let usual = HpccBuffer::default();
        assert_eq!(usual.headroom(100_000_000_000, 995_000), 37_311);
        assert_eq!(usual.headroom(100_000_000_000, 1_000_000), 37_500);
        assert_eq!(HpccBuffer { headroom_factor: 0.5, ..usual }.headroom(8, 3_000_000_000_000), 1);
    }

    #[test]
    fn blocks_are_left_out_while_they_say_nothing() {
        use crate::scenario::Switch;
        let keys = |switch: &Switch| {
            let json = serde_json::to_value(switch).unwrap();
            let known = ["HPCC", "Ns3Datacenter", "EcnMaps"];
            known.into_iter().filter(|key| json.get(key).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(keys(&Switch::default()), Vec::<&str>::new());
        let own: Switch = serde_json::from_str(r#"{"HPCC": {"Shift": 2}}"#).unwrap();
        assert_eq!((keys(&own), own.hpcc.shift, own.hpcc.reserve), (vec!["HPCC"], 2, Bytes(4_096)));
        assert!(serde_json::from_str::<Switch>(r#"{"HPCC": {"shift": 2}}"#).is_err());
    }

    #[test]
    fn faster_ports_have_higher_thresholds() {
        let usual = HpccBuffer::default();
        let shift = |rate| usual.shift_at(rate, 100);
        assert_eq!([100, 101, 200, 201, 400, 800, 9_999].map(shift), [3, 2, 2, 2, 1, 0, 0]);
        assert_eq!(shift(10), 3);
    }
}
