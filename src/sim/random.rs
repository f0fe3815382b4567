//! Named random streams.
//!
//! Owns the derivation of every stream's seed. One stream per purpose, consumed in event order by
//! its owner only, so that adding a recorder, a thread or a consumer never changes another draw.

use rand_core::SeedableRng;
pub use rand_xoshiro::Xoshiro256PlusPlus as Stream;

/// What a job's streams are derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seeds {
    /// The sweep's seed.
    pub sweep: u64,
    /// Repetition, from 0.
    pub repetition: u64,
    /// Mixed in only with `seed_streams: per-point`: first 8 bytes of the scenario's hash.
    pub point: Option<u64>,
}

impl Seeds {
    /// The stream of one purpose.
    ///
    /// Seeded with the first 8 bytes (little-endian) of BLAKE3 over sweep seed, repetition, the
    /// point if it takes part, all u64 little-endian, then the name.
    pub fn stream(&self, name: &str) -> Stream {
        self.derive(None, name)
    }

    /// A switch's own stream: as [`Seeds::stream`] with the node id before the name.
    pub fn switch_stream(&self, node: u32, name: &str) -> Stream {
        self.derive(Some(u64::from(node)), name)
    }

    fn derive(&self, node: Option<u64>, name: &str) -> Stream {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.sweep.to_le_bytes());
        hasher.update(&self.repetition.to_le_bytes());
        if let Some(point) = self.point {
            hasher.update(&point.to_le_bytes());
        }
        if let Some(node) = node {
            hasher.update(&node.to_le_bytes());
        }
        hasher.update(name.as_bytes());
        let mut first = [0u8; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        Stream::seed_from_u64(u64::from_le_bytes(first))
    }
}

/// A draw in [0, 1): the upper 53 bits of the next u64.
#[inline]
pub fn unit(next: u64) -> f64 {
    (next >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}
