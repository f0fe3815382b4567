//! Serialization and pause times of a link's end.

use crate::scenario::links;

/// ps × bit/s of one byte: 8 bits at 1 bit/s take 8·10^12 ps.
const PS_PER_BYTE_AT_1BPS: u64 = 8_000_000_000_000;

/// Rate and delay of a link as its transmitter sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// bit/s.
    pub rate: u64,
    /// One-way propagation, ps.
    pub delay: u64,
    /// Whole ps a byte takes, or 0 where it is not whole or not what decides.
    ps_per_byte: u32,
    /// Times are cut down to whole ns.
    whole_ns: bool,
}

impl Line {
    /// A line of a positive rate.
    pub fn new(rate: u64, delay: u64) -> Line {
        let whole = PS_PER_BYTE_AT_1BPS.is_multiple_of(rate);
        let ps_per_byte = if whole { PS_PER_BYTE_AT_1BPS / rate } else { 0 };
        let ps_per_byte = u32::try_from(ps_per_byte).unwrap_or(0);
        Line { rate, delay, ps_per_byte, whole_ns: false }
    }

    /// The same line with serialization times cut down to whole ns.
    #[must_use]
    pub fn in_whole_ns(self) -> Line {
        Line { ps_per_byte: 0, whole_ns: true, ..self }
    }

    /// Time to serialize `wire` bytes, ps: rounded up, or cut down to whole ns.
    #[inline]
    pub fn serialize(&self, wire: u64) -> u64 {
        match self.ps_per_byte {
            0 => self.serialize_slowly(wire),
            time => wire * u64::from(time),
        }
    }

    fn serialize_slowly(&self, wire: u64) -> u64 {
        match self.whole_ns {
            false => spacing(wire, self.rate),
            true => wire * (PS_PER_BYTE_AT_1BPS / 1_000) / self.rate * 1_000,
        }
    }

    /// How long a pause of that many quanta lasts from its arrival, ps.
    pub fn pause_time(&self, quanta: u16) -> u64 {
        links::pause_of(quanta, self.rate, self.delay)
    }
}

/// Time `wire` bytes take at a rate, ps, rounded up.
///
/// `wire` is at most a frame (65,553 B), so the product fits a u64.
#[inline]
pub fn spacing(wire: u64, rate: u64) -> u64 {
    (wire * PS_PER_BYTE_AT_1BPS).div_ceil(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_times() {
        let line = Line::new(400_000_000_000, 500_000);
        assert_eq!(line.serialize(4_202), 84_040);
        assert_eq!(line.pause_time(65_535), 84_384_800);
        assert_eq!(line.pause_time(65_535) / 2, 42_192_400);
        assert_eq!(Line::new(400_000_000_000, 100_000).pause_time(65_535), 83_984_800);
        // One quantum is 512 bit.
        assert_eq!(Line::new(400_000_000_000, 100_000).pause_time(1), 101_280);
        // 62 B at 7 Gbps: 70,857.14… ps, rounded up.
        assert_eq!(Line::new(7_000_000_000, 0).serialize(62), 70_858);
        // A byte takes more than 2^32 ps at 1 kbps.
        assert_eq!(Line::new(1_000, 0).serialize(62), 62 * 8_000_000_000);
    }

    #[test]
    fn whole_nanoseconds_are_cut_down() {
        let line = Line::new(100_000_000_000, 0).in_whole_ns();
        let times = [43, 60, 548, 1_048, 4_048].map(|wire| line.serialize(wire));
        assert_eq!(times, [3_000, 4_000, 43_000, 83_000, 323_000]);
    }
}
