//! How many packets and wire bytes a flow is, and how long they take.

/// Ethernet header and frame check sequence, in bytes.
pub(super) const FRAME: u64 = 18;

/// Picoseconds in a second.
pub(super) const SECOND: u64 = 1_000_000_000_000;

/// Bytes on the wire of a flow of `bytes` IP bytes in packets of `packet`.
pub(super) fn of_flow(bytes: u64, packet: u64) -> u64 {
    bytes.saturating_add(bytes.div_ceil(packet).saturating_mul(FRAME))
}

/// The most IP bytes whose packets of `packet` take at most `wire` bytes; at least 1.
pub(super) fn ip_bytes(wire: u64, packet: u64) -> u64 {
    let frame = packet + FRAME;
    (wire / frame * packet + (wire % frame).saturating_sub(FRAME)).max(1)
}

/// Time at `rate` bit/s to serialize a flow, each packet rounded up to a whole ps.
pub(super) fn time_of_flow(bytes: u64, packet: u64, rate: u64) -> u64 {
    let rest = bytes % packet;
    let full = (bytes / packet).saturating_mul(serialization(packet + FRAME, rate));
    full.saturating_add(if rest > 0 { serialization(rest + FRAME, rate) } else { 0 })
}

/// Wire bytes that pass at `rate` bit/s in `time` ps, rounded down.
pub(super) fn in_time(time: u64, rate: u64) -> u64 {
    let bytes = u128::from(time) * u128::from(rate) / (8 * u128::from(SECOND));
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn serialization(wire: u64, rate: u64) -> u64 {
    let time = (u128::from(wire) * 8 * u128::from(SECOND)).div_ceil(u128::from(rate));
    u64::try_from(time).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_flow_pays_for_each_of_its_frames() {
        assert_eq!(of_flow(4_000, 4_000), 4_018);
        assert_eq!(of_flow(4_001, 4_000), 4_037);
        assert_eq!(of_flow(1, 65_535), 19);
    }

    #[test]
    fn times_round_up_packet_by_packet() {
        // 1,018 B at 400 Gbps are 20,360 ps; 19 B are 380 ps.
        assert_eq!(time_of_flow(3_001, 1_000, 400_000_000_000), 3 * 20_360 + 380);
        // 82 B at 3 bit/s: 218.67 s a packet, each rounded up by itself.
        assert_eq!(time_of_flow(128, 64, 3), 2 * 218_666_666_666_667);
        assert_eq!(in_time(20_360, 400_000_000_000), 1_018);
        assert_eq!(in_time(20_359, 400_000_000_000), 1_017);
    }

    proptest! {
        #[test]
        fn as_many_ip_bytes_as_fit(wire in 19u64..1_000_000, packet in 1u64..65_536) {
            let bytes = ip_bytes(wire, packet);
            prop_assert!(of_flow(bytes, packet) <= wire);
            prop_assert!(of_flow(bytes + 1, packet) > wire);
        }
    }
}
