//! Flow sizes: fixed, or drawn from a named distribution.
//!
//! A distribution is a piecewise linear cumulative curve over sizes. A draw is the inverse of the
//! curve at one uniform number, rounded up to a whole byte and at least 1: inside a piece from
//! b₀ to b₁ bytes every whole size b₀ + 1 … b₁ is as likely, which makes the mean exact.

use super::curves;
use super::wire;
use crate::scenario::Sizes;
use crate::sim::random::{Stream, unit};
use rand_core::Rng;
use std::sync::Arc;

/// Where the sizes of a pattern's flows come from.
#[derive(Debug, Clone)]
pub(super) enum FlowSize {
    /// Every flow has this many IP bytes.
    Fixed(u64),
    /// Drawn from a distribution.
    Drawn(Arc<Distribution>),
}

impl FlowSize {
    /// The next flow's IP bytes. A fixed size takes no word of the stream, a drawn one takes one.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            FlowSize::Fixed(bytes) => *bytes,
            FlowSize::Drawn(distribution) => distribution.at(unit(stream.next_u64())),
        }
    }

    /// Mean wire bytes of a flow cut in packets of `packet` IP bytes.
    pub(super) fn mean_wire_bytes(&self, packet: u64) -> f64 {
        match self {
            FlowSize::Fixed(bytes) => wire::of_flow(*bytes, packet) as f64,
            FlowSize::Drawn(distribution) => distribution.mean_wire_bytes(packet),
        }
    }
}

/// One linear piece of a cumulative curve.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Flows in [`curves::WHOLE`] that are no larger than the piece's start and end.
    below: f64,
    upto: f64,
    /// Bytes at the start, and bytes a flow.
    bytes: f64,
    slope: f64,
}

/// A distribution of flow sizes, ready to draw from.
#[derive(Debug)]
pub(super) struct Distribution {
    curve: &'static [u32],
    pieces: Vec<Piece>,
    /// For each of [`GUIDE`] equal slices of [0, 1) the piece its start lies in: a draw looks at
    /// one or two pieces rather than searching hundreds.
    guide: Vec<u16>,
}

const GUIDE: usize = 1_024;

impl Distribution {
    pub(super) fn of(sizes: Sizes) -> Distribution {
        let curve = match sizes {
            Sizes::WebSearch => curves::WEB_SEARCH,
            Sizes::Hadoop => curves::HADOOP,
            Sizes::Storage => curves::STORAGE,
            Sizes::GoogleRpc => curves::GOOGLE_RPC,
        };
        let pieces: Vec<Piece> = corners(curve)
            .map(|([b0, c0], [b1, c1])| Piece {
                below: f64::from(c0),
                upto: f64::from(c1),
                bytes: f64::from(b0),
                slope: f64::from(b1 - b0) / f64::from(c1 - c0),
            })
            .collect();
        let mut guide = Vec::with_capacity(GUIDE);
        let mut piece = 0;
        for slice in 0..GUIDE {
            let from = slice as f64 / GUIDE as f64 * f64::from(curves::WHOLE);
            while pieces[piece].upto <= from {
                piece += 1;
            }
            guide.push(piece as u16);
        }
        Distribution { curve, pieces, guide }
    }

    /// The size at `u` in [0, 1) of the inverse curve, in whole bytes.
    #[inline]
    fn at(&self, u: f64) -> u64 {
        let flows = u * f64::from(curves::WHOLE);
        let mut piece = usize::from(self.guide[(u * GUIDE as f64) as usize]);
        // `u` is below 1, but the product above may round up to the whole: the last piece then.
        while self.pieces[piece].upto <= flows && piece + 1 < self.pieces.len() {
            piece += 1;
        }
        let p = &self.pieces[piece];
        let exact = p.bytes + (flows - p.below) * p.slope;
        let whole = exact as u64;
        (whole + u64::from(exact > whole as f64)).max(1)
    }

    /// Mean wire bytes of a flow cut in packets of `packet` IP bytes.
    ///
    /// Exact up to the rounding of doubles: sizes inside a piece are equally likely whole numbers,
    /// so the sums of sizes and of packet counts over a piece are integers in closed form.
    fn mean_wire_bytes(&self, packet: u64) -> f64 {
        corners(self.curve)
            .map(|([b0, c0], [b1, c1])| {
                let (b0, b1) = (u128::from(b0), u128::from(b1));
                let sizes = (b1 - b0) * (b0 + b1 + 1) / 2;
                let packets = packets_upto(b1, packet.into()) - packets_upto(b0, packet.into());
                let wire = (sizes + packets * u128::from(wire::FRAME)) as f64;
                wire / (b1 - b0) as f64 * (f64::from(c1 - c0) / f64::from(curves::WHOLE))
            })
            .sum()
    }
}

/// Neighbouring corners of a curve: (bytes, flows) twice.
fn corners(curve: &'static [u32]) -> impl Iterator<Item = ([u32; 2], [u32; 2])> {
    let (pairs, _) = curve.as_chunks::<2>();
    pairs.windows(2).map(|w| (w[0], w[1]))
}

/// Σ ⌈s ÷ packet⌉ over the sizes s = 1 … `bytes`.
fn packets_upto(bytes: u128, packet: u128) -> u128 {
    let (full, rest) = (bytes / packet, bytes % packet);
    packet * full * (full + 1) / 2 + rest * (full + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::random::Seeds;

    const ALL: [Sizes; 4] = [Sizes::WebSearch, Sizes::Hadoop, Sizes::Storage, Sizes::GoogleRpc];

    #[test]
    fn curves_rise_strictly_from_nothing_to_the_whole() {
        for sizes in ALL {
            let curve = Distribution::of(sizes).curve;
            assert_eq!(curve.len() % 2, 0);
            assert_eq!(&curve[..2], [0, 0]);
            assert_eq!(curve[curve.len() - 1], curves::WHOLE);
            assert!(corners(curve).all(|(a, b)| a[0] < b[0] && a[1] < b[1]), "{sizes:?}");
        }
    }

    #[test]
    fn draws_invert_the_curve() {
        let storage = Distribution::of(Sizes::Storage);
        assert_eq!(storage.at(0.0), 1);
        // 22.93 % of the flows have at most 4,000 B, 69.21 % at most 8,000 B.
        assert_eq!(storage.at(0.2293 / 2.0), 2_000);
        assert_eq!(storage.at(0.461), 6_003);
        assert_eq!(storage.at(1.0 - f64::EPSILON / 2.0), 2_000_000);
        let rpc = Distribution::of(Sizes::GoogleRpc);
        assert_eq!(rpc.at(0.999_999_9), 15_096_045);
    }

    #[test]
    fn the_guide_finds_the_piece_a_search_finds() {
        for sizes in ALL {
            let d = Distribution::of(sizes);
            for i in 0..5_000 {
                let u = f64::from(i) / 5_000.0;
                let flows = u * f64::from(curves::WHOLE);
                let piece = d.pieces.partition_point(|p| p.upto <= flows);
                let p = d.pieces[piece];
                let exact = (p.bytes + (flows - p.below) * p.slope).ceil() as u64;
                assert_eq!(d.at(u), exact.max(1));
            }
        }
    }

    #[test]
    fn packets_are_counted_in_closed_form() {
        for packet in [1u64, 7, 1_000, 65_535] {
            for bytes in [0u64, 1, 6, 7, 8, 2_500] {
                let counted: u64 = (1..=bytes).map(|s| s.div_ceil(packet)).sum();
                assert_eq!(packets_upto(bytes.into(), packet.into()), counted.into());
            }
        }
    }

    #[test]
    fn drawn_wire_bytes_have_the_exact_mean() {
        // Web search by hand: the sum over its pieces of weight × (b₀ + b₁ + 1) ÷ 2, in packets
        // larger than any flow, so 18 B of framing each.
        let ws = Distribution::of(Sizes::WebSearch);
        let by_hand = 0.15 * 5_000.0
            + 0.05 * 15_000.0
            + 0.10 * 25_000.0
            + 0.10 * 40_000.0
            + 0.13 * 65_000.0
            + 0.07 * 140_000.0
            + 0.10 * 600_000.0
            + 0.10 * 1_500_000.0
            + 0.10 * 3_500_000.0
            + 0.07 * 7_500_000.0
            + 0.03 * 20_000_000.0
            + 0.5
            + 18.0;
        assert!((ws.mean_wire_bytes(30_000_000) - by_hand).abs() < 1e-6);

        for sizes in ALL {
            let size = FlowSize::Drawn(Arc::new(Distribution::of(sizes)));
            let mut stream = Seeds::default().stream("test");
            let draws: Vec<f64> =
                (0..400_000).map(|_| wire::of_flow(size.draw(&mut stream), 1_000) as f64).collect();
            let n = draws.len() as f64;
            let mean = draws.iter().sum::<f64>() / n;
            let spread = (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n / n).sqrt();
            let exact = size.mean_wire_bytes(1_000);
            assert!((mean - exact).abs() < 5.0 * spread, "{sizes:?}: {mean} for {exact}");
        }
    }
}
