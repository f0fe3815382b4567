//! ECN marking by a weighted moving average of the egress queue.
//!
//! Owns the average's arithmetic and the decision to mark. The average of a port and pool moves
//! only when a packet is admitted; the decision is taken when a data frame starts.

use crate::scenario::EcnHandler;
use crate::scenario::startup::Startup;
use crate::sim::random::{Stream, unit};
use rand_core::Rng;

/// The marker of one switch.
#[derive(Debug, Clone)]
pub struct Marker {
    enabled: bool,
    weight: f64,
    keep: f64,
    max_probability: f64,
    /// Lower and upper threshold of each pool, bytes.
    bands: [(f64, f64); 8],
    stream: Stream,
}

impl Marker {
    /// The marker of a switch; `stream` is its own and drawn from only inside a band.
    pub fn new(handler: &EcnHandler, startup: &Startup, stream: Stream) -> Marker {
        let mut bands = [(f64::INFINITY, f64::INFINITY); 8];
        for (band, pool) in bands.iter_mut().zip(&startup.pools) {
            if let Some(pool) = pool {
                *band = (pool.ecn_lower, pool.ecn_upper);
            }
        }
        Marker {
            enabled: handler.enable_ecn,
            weight: handler.ewma_weight,
            keep: 1.0 - handler.ewma_weight,
            max_probability: handler.max_mark_probability,
            bands,
            stream,
        }
    }

    /// Whether a packet is marked with a probability: one draw if it is neither 0 nor 1.
    #[inline]
    pub fn draws(&mut self, probability: f64) -> bool {
        if probability <= 0.0 || probability >= 1.0 {
            return probability >= 1.0;
        }
        unit(self.stream.next_u64()) < probability
    }

    /// Moves an average after an admission that left `queue` bytes queued.
    #[inline]
    pub fn admit(&self, average: &mut f64, queue: u64) {
        *average = self.keep * *average + self.weight * queue as f64;
    }

    /// Whether an ECN-capable packet that starts now is marked. Takes one draw inside the band,
    /// none outside it.
    #[inline]
    pub fn marks(&mut self, average: f64, pool: usize) -> bool {
        if !self.enabled {
            return false;
        }
        let (lower, upper) = self.bands[pool & 7];
        if average < lower {
            false
        } else if average >= upper {
            true
        } else {
            let probability = self.max_probability * (average - lower) / (upper - lower);
            unit(self.stream.next_u64()) < probability
        }
    }
}
