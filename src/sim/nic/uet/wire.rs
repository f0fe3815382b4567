//! Sizes, code points and flags of packets.
//!
//! Owns what a packet of each kind looks like to switches and to the other end. All sizes are IP
//! bytes; 18 more on the wire.

use super::super::{CodePoint, Header, Outgoing, PacketKind};

/// IP bytes of a data packet besides its payload: SES 44, PDS 16, UDP 8, IPv4 20.
pub const DATA_HEADERS: u16 = 88;
/// IP bytes of an acknowledgement, a probe's too: PDS 32, UDP 8, IPv4 20.
pub const ACK_BYTES: u16 = 60;
/// IP bytes of a NACK and of a probe: PDS 16, UDP 8, IPv4 20.
pub const NACK_BYTES: u16 = 44;

/// Class of data in the NIC.
pub const DATA: u8 = 0;
/// Class of acknowledgements, NACKs and probes in the NIC, and at a switch without the UET policy.
pub const CONTROL: u8 = 1;

/// Data: it asks for an acknowledgement.
pub const ACK_REQUEST: u8 = 1;
/// Data: it is a retransmission. Acknowledgements and NACKs: what drew them was.
pub const RETRANSMIT: u8 = 2;
/// Acknowledgements: what drew it was marked.
pub const ECN_ECHO: u8 = 4;
/// NACKs: trimmed on the last hop.
pub const LAST_HOP: u8 = 8;
/// Acknowledgements: the window may be restored once there is no penalty.
pub const RESTORE: u8 = 16;

/// Unit of reported received bytes.
pub const RECEIVED_UNIT: u64 = 256;

/// Step of reported service times, ps.
pub const SERVICE_STEP: u64 = 128_000;

/// A packet of class [`CONTROL`].
pub fn control(header: Header, dst: u32, entropy: u16) -> Outgoing {
    let ip = match header.kind {
        PacketKind::Nack | PacketKind::Probe => NACK_BYTES,
        _ => ACK_BYTES,
    };
    Outgoing {
        header,
        dst,
        ip,
        entropy,
        tc: CONTROL,
        class: CONTROL,
        code_point: CodePoint::Control,
        ect: true,
        unscheduled: false,
    }
}
