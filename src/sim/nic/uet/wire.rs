//! Sizes, code points and flags of packets, and times of the host link.
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
        rate: 0,
    }
}

/// Payload of a PCIe transfer, bytes.
const TRANSFER: u64 = 512;
/// What each transfer has besides, bytes.
const TRANSFER_OVERHEAD: u64 = 34;
/// A read request, its overhead included, bytes.
const REQUEST: u64 = 98;

/// Time of bytes at a rate: a reduced fraction, so that 64 bits do for what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    ps: u64,
    bytes: u64,
}

impl Pace {
    /// Of a rate in bit/s (0 counts as 1).
    pub fn new(rate: u64) -> Pace {
        let (mut a, mut b) = (8_000_000_000_000u64, rate.max(1));
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Pace { ps: 8_000_000_000_000 / a, bytes: rate.max(1) / a }
    }

    /// Time of so many bytes, ps, rounded up.
    #[inline]
    pub fn time(&self, bytes: u64) -> u64 {
        match bytes.checked_mul(self.ps) {
            Some(product) => product.div_ceil(self.bytes),
            None => {
                (u128::from(bytes) * u128::from(self.ps)).div_ceil(u128::from(self.bytes)) as u64
            }
        }
    }
}

/// Fetches of payload over the host link: one server for requests, one for what they bring.
#[derive(Debug, Clone)]
pub struct Fetcher {
    pace: Pace,
    request: u64,
    /// Payload of the last size asked for and its time.
    last: (u64, u64),
    requests_until: u64,
    payload_until: u64,
}

impl Fetcher {
    /// An idle one.
    pub fn new(pace: Pace) -> Fetcher {
        let request = pace.time(REQUEST);
        Fetcher { pace, request, last: (0, 0), requests_until: 0, payload_until: 0 }
    }

    /// Time of bytes over the host link.
    #[inline]
    pub fn time(&self, bytes: u64) -> u64 {
        self.pace.time(bytes)
    }

    /// When payload asked for now is in the NIC. None needs no fetch.
    #[inline]
    pub fn fetch(&mut self, now: u64, payload: u64) -> u64 {
        if payload == 0 {
            return now;
        }
        if self.last.0 != payload {
            let bytes = payload + payload.div_ceil(TRANSFER) * TRANSFER_OVERHEAD;
            self.last = (payload, self.pace.time(bytes));
        }
        self.requests_until = self.requests_until.max(now) + self.request;
        self.payload_until = self.payload_until.max(self.requests_until) + self.last.1;
        self.payload_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unloaded_fetch_of_a_full_packet_takes_70_8_ns_and_the_next_one_69_3_more() {
        let mut fetcher = Fetcher::new(Pace::new(504_320_000_000));
        assert_eq!(fetcher.fetch(1_000, 4_096), 1_000 + 1_555 + 69_290);
        assert_eq!(fetcher.fetch(1_000, 4_096), 1_000 + 1_555 + 2 * 69_290);
        assert_eq!(fetcher.fetch(7, 0), 7);
    }

    #[test]
    fn an_empty_pool_holds_the_acknowledgement_of_a_full_packet_for_66_37_ns() {
        let pace = Pace::new(504_320_000_000);
        assert_eq!(pace.time(4_184), 66_371);
        // 4 MB at a slow rate do not fit 64 bits on the way.
        assert_eq!(Pace::new(999_999_999_989).time(1 << 40), 8_796_093_022_305);
    }
}
