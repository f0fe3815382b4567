//! Packets and frames as the network carries them.

/// Bytes an Ethernet header and frame check sequence add on the wire.
pub const ETHERNET_BYTES: u64 = 18;
/// Least bytes a packet is charged to a buffer.
pub const LEAST_CHARGE: u64 = 46;
/// Bytes of a PFC frame on the wire.
pub const PFC_WIRE_BYTES: u64 = 64;
/// Quanta a pause asks for.
pub const PAUSE_QUANTA: u64 = 65_535;

/// A data packet: a small `Copy` value; everything else about it is its flow's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Place of its flow in the flow table.
    pub flow: u32,
    /// Receiving host.
    pub dst: u32,
    /// IP bytes, 1 to 65,535.
    pub ip: u16,
    /// Port it arrived by at the switch that holds it.
    pub in_port: u16,
    /// Traffic class.
    pub tc: u8,
    /// ECN-capable transport.
    pub ect: bool,
    /// Congestion experienced.
    pub ce: bool,
}

impl Packet {
    /// Bytes charged to a buffer.
    #[inline]
    pub fn charged(&self) -> u64 {
        u64::from(self.ip).max(LEAST_CHARGE)
    }

    /// Bytes on the wire.
    #[inline]
    pub fn wire(&self) -> u64 {
        u64::from(self.ip) + ETHERNET_BYTES
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
