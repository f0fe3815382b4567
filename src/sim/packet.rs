//! Packets and frames as the network carries them.

pub use crate::scenario::offered::{FRAME_OVERHEAD as ETHERNET_BYTES, MIN_CHARGE as LEAST_CHARGE};
use std::fmt;

/// Bytes of a PFC frame on the wire.
pub const PFC_WIRE_BYTES: u64 = 64;

/// A data packet: two words, so that it travels in registers; everything else about it is its
/// flow's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Flow in the low half, receiving host in the high half.
    ends: u64,
    /// IP bytes (16 bits), port it arrived by (16), class (8), ECT (1), CE (1).
    rest: u64,
}

const ECT: u64 = 1 << 40;
const CE: u64 = 1 << 41;

impl Packet {
    /// A packet of `ip` bytes (1 to 65,535) of a flow, by its place in the flow table.
    #[inline]
    pub fn new(flow: u32, dst: u32, ip: u16, tc: u8, ect: bool) -> Packet {
        let ends = u64::from(flow) | u64::from(dst) << 32;
        let ect = if ect { ECT } else { 0 };
        Packet { ends, rest: u64::from(ip) | u64::from(tc) << 32 | ect }
    }

    /// Place of its flow in the flow table.
    #[inline]
    pub fn flow(self) -> u32 {
        self.ends as u32
    }

    /// Receiving host.
    #[inline]
    pub fn dst(self) -> u32 {
        (self.ends >> 32) as u32
    }

    /// IP bytes.
    #[inline]
    pub fn ip(self) -> u64 {
        self.rest & 0xffff
    }

    /// Traffic class.
    #[inline]
    pub fn tc(self) -> u8 {
        (self.rest >> 32) as u8
    }

    /// ECN-capable transport.
    #[inline]
    pub fn ect(self) -> bool {
        self.rest & ECT != 0
    }

    /// Congestion experienced.
    #[inline]
    pub fn ce(self) -> bool {
        self.rest & CE != 0
    }

    /// Marks it.
    #[inline]
    pub fn mark(&mut self) {
        self.rest |= CE;
    }

    /// Port by which it arrived at the switch that holds it.
    #[inline]
    pub fn in_port(self) -> usize {
        (self.rest >> 16 & 0xffff) as usize
    }

    /// The packet as it arrives by a port.
    #[inline]
    pub fn arrived_by(self, port: u16) -> Packet {
        Packet { rest: self.rest & !0xffff_0000 | u64::from(port) << 16, ..self }
    }

    /// Bytes charged to a buffer.
    #[inline]
    pub fn charged(self) -> u64 {
        self.ip().max(LEAST_CHARGE)
    }

    /// Bytes on the wire.
    #[inline]
    pub fn wire(self) -> u64 {
        self.ip() + ETHERNET_BYTES
    }
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packet")
            .field("flow", &self.flow())
            .field("dst", &self.dst())
            .field("ip", &self.ip())
            .field("in_port", &self.in_port())
            .field("tc", &self.tc())
            .field("ect", &self.ect())
            .field("ce", &self.ce())
            .finish()
    }
}

/// A PFC frame: one class, pause or resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PfcFrame {
    /// The class it names.
    pub tc: u8,
    /// Pause with the full quanta, or resume.
    pub pause: bool,
}

/// What a link carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Data.
    Data(Packet),
    /// PFC.
    Pfc(PfcFrame),
}

impl Frame {
    /// Bytes on the wire.
    #[inline]
    pub fn wire(&self) -> u64 {
        match self {
            Frame::Data(packet) => packet.wire(),
            Frame::Pfc(_) => PFC_WIRE_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packet_keeps_what_it_is_given(flow: u32, dst: u32, ip: u16, tc in 0u8..8, ect: bool, port: u16) {
            let mut packet = Packet::new(flow, dst, ip, tc, ect).arrived_by(9).arrived_by(port);
            prop_assert!(!packet.ce());
            packet.mark();
            let parts = (packet.flow(), packet.dst(), packet.ip(), packet.tc(), packet.ect());
            prop_assert_eq!(parts, (flow, dst, u64::from(ip), tc, ect));
            prop_assert_eq!((packet.in_port(), packet.ce()), (usize::from(port), true));
        }
    }
}
