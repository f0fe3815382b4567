//! Packets and frames as the network carries them.

use crate::scenario::Role;
pub use crate::scenario::offered::{FRAME_OVERHEAD as ETHERNET_BYTES, MIN_CHARGE as LEAST_CHARGE};
use std::fmt;

/// Bytes on the wire of a PFC frame that a switch or an open-loop sender sends.
pub const PFC_WIRE_BYTES: u16 = 64;

/// A data packet: two words, so that it travels in registers; everything else about it is its
/// flow's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Flow in the low half, receiving host in the high half.
    ends: u64,
    /// IP bytes (16 bits), port it arrived by (16), class (8), ECT (1), CE (1), role (3), cut by a
    /// switch (1), unscheduled (1), a bit to spare, IP bytes taken off by the cut (16).
    rest: u64,
}

/// IP bytes a trimmed packet is cut to.
pub const TRIMMED_IP_BYTES: u64 = 44;

const TC: u32 = 32;
const ECT: u64 = 1 << 40;
const CE: u64 = 1 << 41;
const ROLE: u32 = 42;
const CUT: u64 = 1 << 45;
const UNSCHEDULED: u32 = 46;
const CUT_BYTES: u32 = 48;

/// Codes of the role bits: 0 is data that may not be trimmed, so that packets without the UET
/// policy carry none. A trim on the last hop has one more than the roles a sender can name.
const TRIMMABLE: u64 = (Role::Trimmable as u64) << ROLE;
const TRIMMABLE_RETRANSMIT: u64 = (Role::TrimmableRetransmit as u64) << ROLE;
const TRIMMED: u64 = (Role::Trimmed as u64) << ROLE;
const TRIMMED_LAST_HOP: u64 = (Role::Trimmed as u64 + 1) << ROLE;
const _: () = assert!(Role::NoTrim as u64 == 0 && (Role::Control as u64) < Role::Trimmed as u64);
const ROLE_BITS: u64 = 7 << ROLE;

/// What every packet of a flow says of itself: class, ECN capability and role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(u64);

impl Label {
    /// A label; `tc` 0 to 7. The class of a role is [`Role::class`]'s affair.
    #[inline]
    pub fn new(tc: u8, ect: bool, role: Role) -> Label {
        let ect = if ect { ECT } else { 0 };
        Label(u64::from(tc) << TC | ect | (role as u64) << ROLE)
    }

    /// The same of a packet that was sent before its flow could have heard of the network, or of
    /// any other.
    #[inline]
    pub fn unscheduled(self, unscheduled: bool) -> Label {
        Label(self.0 & !(1 << UNSCHEDULED) | u64::from(unscheduled) << UNSCHEDULED)
    }
}

impl Packet {
    /// A packet of `ip` bytes (1 to 65,535) of a flow, by its place in the flow table.
    #[inline]
    pub fn new(flow: u32, dst: u32, ip: u16, label: Label) -> Packet {
        let ends = u64::from(flow) | u64::from(dst) << 32;
        Packet { ends, rest: u64::from(ip) | label.0 }
    }

    /// Whether it is a retransmission that may be trimmed.
    #[inline]
    pub fn is_retransmit(self) -> bool {
        self.rest & ROLE_BITS == TRIMMABLE_RETRANSMIT
    }

    /// Whether a switch may trim it.
    #[inline]
    pub fn is_trimmable(self) -> bool {
        matches!(self.rest & ROLE_BITS, TRIMMABLE | TRIMMABLE_RETRANSMIT)
    }

    /// Whether it was trimmed where it left for its host.
    #[inline]
    pub fn is_trimmed_on_last_hop(self) -> bool {
        self.rest & ROLE_BITS == TRIMMED_LAST_HOP
    }

    /// Whether a switch has cut it. A packet sent in the role of a trimmed one was not.
    #[inline]
    pub fn is_cut(self) -> bool {
        self.rest & CUT != 0
    }

    /// Whether it was sent before its flow could have heard of the network.
    #[inline]
    pub fn is_unscheduled(self) -> bool {
        self.rest >> UNSCHEDULED & 1 != 0
    }

    /// IP bytes it was sent with.
    #[inline]
    pub fn sent_ip(self) -> u64 {
        self.ip() + (self.rest >> CUT_BYTES)
    }

    /// The packet as a switch trims it: at most 44 B of IP, in the class of trimmed packets. ECT
    /// and CE stay.
    pub fn trim(self, last_hop: bool) -> Packet {
        let ip = self.ip().min(TRIMMED_IP_BYTES);
        let role = if last_hop { TRIMMED_LAST_HOP } else { TRIMMED };
        let class = u64::from(Role::Trimmed.class()) << TC;
        let kept = self.rest & !(0xffff | 0xff << TC | ROLE_BITS | 0xffff << CUT_BYTES);
        let cut = self.sent_ip() - ip;
        Packet { rest: kept | ip | class | role | CUT | cut << CUT_BYTES, ..self }
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
        (self.rest >> TC) as u8
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
            .field("role", &((self.rest & ROLE_BITS) >> ROLE))
            .field("sent_ip", &self.sent_ip())
            .finish()
    }
}

/// A PFC frame: one class, pause or resume. Who sends it knows how large it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PfcFrame {
    /// The class it names.
    pub tc: u8,
    /// How long the pause lasts, in quanta of 512 bit; 0: it resumes.
    pub quanta: u16,
    /// Its own bytes on the wire.
    pub wire: u16,
}

impl PfcFrame {
    /// Whether it pauses its class; otherwise it resumes it.
    #[inline]
    pub fn pauses(self) -> bool {
        self.quanta != 0
    }
}

/// How large frames are, to a buffer and on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// Charged for a packet beyond its IP bytes.
    charge: u64,
    /// The least a packet is charged.
    least: u64,
    /// On the wire beyond the IP bytes.
    wire: u64,
    /// A PFC frame of a switch on the wire.
    pub pfc: u16,
}

impl Framing {
    /// Ethernet with its frame check sequence; buffers are charged IP bytes.
    pub const ETHERNET: Framing =
        Framing { charge: 0, least: LEAST_CHARGE, wire: ETHERNET_BYTES, pfc: PFC_WIRE_BYTES };
    /// That of HPCC's and ns3-datacenter's code: an Ethernet header, and the same size for buffer
    /// and wire.
    pub const NS3: Framing = Framing { charge: 14, least: 0, wire: 14, pfc: 43 };

    /// Bytes a packet is charged to a buffer.
    #[inline]
    pub const fn charged(self, packet: Packet) -> u64 {
        let bytes = (packet.rest & 0xffff) + self.charge;
        if bytes < self.least { self.least } else { bytes }
    }

    /// Bytes on the wire of a packet of so many IP bytes.
    #[inline]
    pub const fn wire(self, ip: u64) -> u64 {
        ip + self.wire
    }

    /// Bytes of a frame on the wire.
    #[inline]
    pub fn frame(self, frame: &Frame) -> u64 {
        match frame {
            Frame::Data(packet) => self.wire(packet.ip()),
            Frame::Pfc(pfc) => u64::from(pfc.wire),
        }
    }
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
            Frame::Pfc(pfc) => u64::from(pfc.wire),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn role() -> impl Strategy<Value = Role> {
        prop::sample::select(vec![
            Role::NoTrim,
            Role::Trimmable,
            Role::TrimmableRetransmit,
            Role::Control,
            Role::Trimmed,
        ])
    }

    proptest! {
        #[test]
        fn a_packet_keeps_what_it_is_given(
            flow: u32, dst: u32, ip: u16, tc in 0u8..8, ect: bool, port: u16, role in role(),
            early: bool,
        ) {
            let label = Label::new(tc, ect, role).unscheduled(!early).unscheduled(early);
            let mut packet = Packet::new(flow, dst, ip, label).arrived_by(9).arrived_by(port);
            prop_assert!(!packet.ce() && !packet.is_cut());
            prop_assert_eq!(packet.is_unscheduled(), early);
            prop_assert_eq!(packet.sent_ip(), u64::from(ip));
            prop_assert_eq!(packet.is_retransmit(), role == Role::TrimmableRetransmit);
            prop_assert_eq!(packet.is_trimmable(), packet.is_retransmit() || role == Role::Trimmable);
            packet.mark();
            let parts = (packet.flow(), packet.dst(), packet.ip(), packet.tc(), packet.ect());
            prop_assert_eq!(parts, (flow, dst, u64::from(ip), tc, ect));
            prop_assert_eq!((packet.in_port(), packet.ce()), (usize::from(port), true));
        }

        #[test]
        fn a_trim_takes_bytes_class_and_role_and_nothing_else(
            flow: u32, dst: u32, ip in 1u16.., ect: bool, ce: bool, port: u16, last: bool,
            role in role(),
        ) {
            let label = Label::new(0, ect, role);
            let mut packet = Packet::new(flow, dst, ip, label).arrived_by(port);
            if ce {
                packet.mark();
            }
            let cut = packet.trim(last);
            prop_assert_eq!((cut.ip(), cut.sent_ip()), (u64::from(ip.min(44)), u64::from(ip)));
            prop_assert_eq!((cut.charged(), cut.wire()), (46, u64::from(ip.min(44)) + 18));
            prop_assert_eq!((cut.tc(), cut.is_cut(), cut.is_trimmed_on_last_hop()), (1, true, last));
            prop_assert!(!cut.is_trimmable() && !cut.is_retransmit());
            let same = |p: Packet| (p.flow(), p.dst(), p.in_port(), p.ect(), p.ce());
            prop_assert_eq!(same(cut), same(packet));
            // Where it goes on, it arrives by another port and stays what it is.
            let further = cut.arrived_by(!port);
            prop_assert_eq!((further.sent_ip(), further.tc()), (u64::from(ip), 1));
        }
    }
}
