//! The link between a NIC and its host: when payload that is asked for is there.
//!
//! Owns one read request up, then the payload down in transfers, both directions servers in order
//! of request. Refuses to bound what is on its way: the pool of the port does. What goes to the
//! host is `ingress`'s.

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

    /// Time of so many bytes, ps, rounded up; saturates.
    #[inline]
    pub fn time(&self, bytes: u64) -> u64 {
        match bytes.checked_mul(self.ps) {
            Some(product) => product.div_ceil(self.bytes),
            None => {
                let time =
                    (u128::from(bytes) * u128::from(self.ps)).div_ceil(u128::from(self.bytes));
                u64::try_from(time).unwrap_or(u64::MAX)
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
        // 98 B up take 1,554.57 ps; 4,096 + 8 x 34 B down 69,289.34 ps.
        assert_eq!(fetcher.fetch(1_000, 4_096), 1_000 + 1_555 + 69_290);
        assert_eq!(fetcher.fetch(1_000, 4_096), 1_000 + 1_555 + 2 * 69_290);
        assert_eq!(fetcher.fetch(500_000, 1), 500_000 + 1_555 + 556);
        assert_eq!(fetcher.fetch(500_000, 0), 500_000);
    }

    #[test]
    fn an_empty_pool_holds_the_acknowledgement_of_a_full_packet_for_66_37_ns() {
        assert_eq!(Pace::new(504_320_000_000).time(4_184), 66_371);
    }

    #[test]
    fn pools_of_any_size_take_their_time() {
        assert_eq!(Pace::new(400_000_000_000).time(4_154), 83_080);
        assert_eq!(Pace::new(400_000_000_000).time(64_000_000_000), 1_280_000_000_000);
        // These do not fit 64 bits on the way.
        assert_eq!(Pace::new(999_999_999_989).time(1 << 40), 8_796_093_022_305);
        assert_eq!(Pace::new(1).time(u64::MAX), u64::MAX);
    }
}
