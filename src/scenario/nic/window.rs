//! Settings of the fixed-window transport: its block `fixed_window`.
//!
//! Owns names and defaults. The transport is a yardstick of ours, so no name is a documented one;
//! sizes are those of UET packets, so that it compares. Refuses to check values.

use crate::units::{Bytes, Ps};
use serde::{Deserialize, Serialize};

/// The fixed-window transport of every NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FixedWindow {
    /// IP bytes a sender may have unacknowledged at one receiver in one class; a packet larger
    /// than that goes alone.
    pub window: Bytes,
    /// Largest payload of a packet, 1 B or more; with `header` at most 65,535 B.
    pub mss: Bytes,
    /// IP bytes of a data packet above its payload, 20 or more.
    pub header: Bytes,
    /// IP bytes of an acknowledgement, 20 to 65,535.
    pub ack: Bytes,
    /// From the end of a packet's serialization until it is sent again, above 0; constant. The
    /// default is above the 5.12 ms that a full shared buffer of default size takes to leave by
    /// one port of 400 Gbps: packets that only wait are not sent again.
    pub retransmit_timeout: Ps,
    /// Class of acknowledgements, 0 to 7.
    pub control_class: u64,
    /// Whether data is ECN-capable. Marks are counted; nothing reacts to them.
    pub ect: bool,
}

impl Default for FixedWindow {
    fn default() -> Self {
        FixedWindow {
            window: Bytes(450_000),
            mss: Bytes(4_096),
            header: Bytes(88),
            ack: Bytes(60),
            retransmit_timeout: Ps(6_000_000_000),
            control_class: 1,
            ect: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_window_is_one_and_a_half_times_6_us_at_400_gbps() {
        let bdp = 400_000_000_000u64 / 8 * 6 / 1_000_000;
        assert_eq!(FixedWindow::default().window, Bytes(bdp * 3 / 2));
    }

    #[test]
    fn unknown_names_are_refused() {
        let window: FixedWindow = serde_json::from_str(r#"{"window": 9000}"#).unwrap();
        assert_eq!((window.window, window.ack), (Bytes(9_000), Bytes(60)));
        assert!(serde_json::from_str::<FixedWindow>(r#"{"Window": 9000}"#).is_err());
    }
}
