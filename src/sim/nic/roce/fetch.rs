//! Reads of payload over the host link.
//!
//! Owns when a payload is there: one read request up, then the payload down in pieces, both
//! directions servers in order of request. Refuses to bound what is on its way: the pool of the
//! port does.

/// Bytes of a read request, overhead included.
const REQUEST: u64 = 64 + OVERHEAD;
/// Payload bytes of a transfer at most.
const TRANSFER: u64 = 512;
/// Bytes of a transfer above its payload.
const OVERHEAD: u64 = 34;

/// Time `bytes` take at `rate` bit/s, whole ps rounded up.
#[inline]
pub fn serialization(bytes: u64, rate: u64) -> u64 {
    match bytes.checked_mul(8_000_000_000_000) {
        Some(bits) => bits.div_ceil(rate.max(1)),
        // More than a packet: a pool.
        None => u64::try_from((u128::from(bytes) * 8_000_000_000_000).div_ceil(rate.max(1).into()))
            .unwrap_or(u64::MAX),
    }
}

/// The host link of one NIC as its fetches see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetch {
    /// Bit rate of a direction.
    rate: u64,
    /// When the last request has left.
    requested: u64,
    /// When the last payload has arrived.
    arrived: u64,
    /// Payload bytes of the last read and the time they take, which hardly ever changes.
    last: (u16, u64),
    request: u64,
}

impl Fetch {
    /// An idle link of `rate` bit/s in each direction.
    pub fn new(rate: u64) -> Fetch {
        let request = serialization(REQUEST, rate);
        Fetch { rate, requested: 0, arrived: 0, last: (0, 0), request }
    }

    /// Reads a payload; when it is there. An empty one is there at once.
    #[inline]
    pub fn read(&mut self, now: u64, payload: u16) -> u64 {
        if payload == 0 {
            return now;
        }
        if self.last.0 != payload {
            let bytes = u64::from(payload);
            let wire = bytes + bytes.div_ceil(TRANSFER) * OVERHEAD;
            self.last = (payload, serialization(wire, self.rate));
        }
        self.requested = self.requested.max(now) + self.request;
        self.arrived = self.arrived.max(self.requested) + self.last.1;
        self.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_of_any_size_take_their_time() {
        assert_eq!(serialization(4_154, 400_000_000_000), 83_080);
        assert_eq!(serialization(64_000_000_000, 400_000_000_000), 1_280_000_000_000);
        assert_eq!(serialization(u64::MAX, 1), u64::MAX);
    }

    #[test]
    fn a_full_packet_takes_71_ns_and_the_next_one_69_more() {
        let mut fetch = Fetch::new(504_320_000_000);
        // 98 B up take 1,554.57 ps; 4,096 + 8 x 34 B down 69,289.34 ps.
        assert_eq!(fetch.read(1_000, 4_096), 1_000 + 1_555 + 69_290);
        assert_eq!(fetch.read(1_000, 4_096), 1_000 + 1_555 + 2 * 69_290);
        assert_eq!(fetch.read(500_000, 1), 500_000 + 1_555 + 556);
        assert_eq!(fetch.read(500_000, 0), 500_000);
    }
}
