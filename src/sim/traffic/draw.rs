//! Draws the patterns share.
//!
//! Owns how a stream's words become integers, exponentials and permutations. Every routine says
//! how many words it takes, because the words of a stream are part of a job's definition.

use crate::sim::random::{Stream, unit};
use rand_core::Rng;

/// A uniform integer in `0..n`, free of bias. `n` is at least 1.
///
/// Lemire's method on 64-bit words: the upper half of word × n, drawn again (rarely: with
/// probability below n ÷ 2⁶⁴) while the lower half falls in the part that would favour some values.
#[inline]
pub(super) fn below(stream: &mut Stream, n: u64) -> u64 {
    debug_assert!(n > 0, "an empty range has no draw");
    let mut product = u128::from(stream.next_u64()) * u128::from(n);
    if (product as u64) < n {
        let favoured = n.wrapping_neg() % n;
        while (product as u64) < favoured {
            product = u128::from(stream.next_u64()) * u128::from(n);
        }
    }
    (product >> 64) as u64
}

/// An exponential with mean 1: −ln(1 − u) for one uniform u in [0, 1). One word.
#[inline]
pub(super) fn exponential(stream: &mut Stream) -> f64 {
    -libm::log(1.0 - unit(stream.next_u64()))
}

/// A derangement of `0..n`, uniform among all of them. `n` is at least 2.
///
/// Fisher-Yates from the top (place i takes the value of a uniform place in `0..=i`, for
/// i = n − 1 down to 1), the whole shuffle repeated until no value is in its own place: e shuffles
/// on average, whatever n.
pub(super) fn derangement(stream: &mut Stream, n: u32) -> Vec<u32> {
    debug_assert!(n >= 2, "fewer than two values cannot be deranged");
    let mut values: Vec<u32> = Vec::new();
    loop {
        values.clear();
        values.extend(0..n);
        for i in (1..values.len()).rev() {
            let j = below(stream, i as u64 + 1) as usize;
            values.swap(i, j);
        }
        if values.iter().zip(0u32..).all(|(&value, place)| value != place) {
            return values;
        }
    }
}

/// The delays that `jitter` adds to starts: one draw a flow, in flow order; none without jitter.
#[derive(Debug, Clone)]
pub(super) struct Jitter {
    span: u64,
    stream: Stream,
}

impl Jitter {
    pub(super) fn new(span: u64, stream: Stream) -> Jitter {
        Jitter { span, stream }
    }

    /// Whether starts are delayed at all.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.span > 0
    }

    /// The next flow's delay in ps, in `0..span`.
    #[inline]
    pub(super) fn draw(&mut self) -> u64 {
        if self.span == 0 { 0 } else { below(&mut self.stream, self.span) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::random::Seeds;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn stream(seed: u64) -> Stream {
        Seeds { sweep: seed, ..Seeds::default() }.stream("test")
    }

    #[test]
    fn below_covers_its_range_evenly() {
        let mut s = stream(1);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[below(&mut s, 7) as usize] += 1;
        }
        // Standard deviation 93: five of them.
        assert!(counts.iter().all(|&c| c.abs_diff(10_000) < 465), "{counts:?}");
    }

    #[test]
    fn below_rejects_where_the_range_does_not_divide() {
        // Three quarters of the words: without rejection every third value would have twice the
        // weight of the others, half of all draws.
        let n = (1u64 << 63) + (1 << 62);
        let mut s = stream(2);
        let thirds = (0..20_000).filter(|_| below(&mut s, n).is_multiple_of(3)).count();
        assert!(thirds.abs_diff(6_667) < 340, "{thirds}");
    }

    #[test]
    fn exponential_has_mean_and_variance_one() {
        let mut s = stream(3);
        let draws: Vec<f64> = (0..200_000).map(|_| exponential(&mut s)).collect();
        let mean = draws.iter().sum::<f64>() / 200_000.0;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 200_000.0;
        assert!((mean - 1.0).abs() < 0.012, "{mean}");
        assert!((variance - 1.0).abs() < 0.035, "{variance}");
        assert!(draws.iter().all(|x| *x >= 0.0 && x.is_finite()));
    }

    #[test]
    fn every_derangement_of_four_is_as_likely() {
        let mut s = stream(4);
        let mut counts: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for _ in 0..18_000 {
            *counts.entry(derangement(&mut s, 4)).or_default() += 1;
        }
        assert_eq!(counts.len(), 9);
        assert!(counts.values().all(|&c| c.abs_diff(2_000) < 220), "{counts:?}");
    }

    proptest! {
        #[test]
        fn a_derangement_moves_everything(seed: u64, n in 2u32..200) {
            let values = derangement(&mut stream(seed), n);
            prop_assert!(values.iter().zip(0u32..).all(|(&v, i)| v != i));
            let mut sorted = values.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..n).collect::<Vec<_>>());
        }
    }
}
