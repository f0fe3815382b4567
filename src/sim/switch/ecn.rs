//! ECN marking by a weighted moving average of the egress queue.
//!
//! Owns the average's arithmetic, the decision to mark, and for which other bands all decisions
//! would have been the same. The average of a port and pool moves only when a packet is admitted;
//! the decision is taken when a data frame starts.

use crate::scenario::EcnHandler;
use crate::scenario::startup::{Pool, Startup};
use crate::sim::random::{Stream, unit};
use crate::sim::switch::buffer::watch::{Bound, Interval};
use rand_core::Rng;
use serde::{Deserialize, Serialize};

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
    /// What averages were compared with, where that is kept.
    seen: [BandSeen; 8],
}

/// What the averages of a pool were compared with when packets could be marked, as bits: averages
/// and thresholds are not below 0, so their bits are in their order. An average is below an end of
/// the band if its bits and one are at most those of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BandSeen {
    lower: Interval,
    upper: Interval,
    /// A draw was made inside the band: the bits of its ends and of the largest probability.
    drawn: Option<[u64; 3]>,
}

impl BandSeen {
    fn see(&mut self, average: f64, (lower, upper): (f64, f64), max_probability: f64) {
        let beyond = average.to_bits() + 1;
        self.lower.compared(beyond, average < lower);
        if average < lower {
            return;
        }
        self.upper.compared(beyond, average < upper);
        if average < upper {
            self.drawn = Some([lower, upper, max_probability].map(f64::to_bits));
        }
    }

    fn holds(&self, (lower, upper): (f64, f64), max_probability: f64) -> bool {
        let same = [lower, upper, max_probability].map(f64::to_bits);
        self.lower.holds(same[0])
            && self.upper.holds(same[1])
            && self.drawn.is_none_or(|drawn| drawn == same)
    }

    fn add(&mut self, other: &BandSeen) {
        self.lower.add(&other.lower);
        self.upper.add(&other.upper);
        // Switches of one start-up have one band.
        self.drawn = self.drawn.or(other.drawn);
    }
}

/// Where the averages of a switch were, by pool. Weight and whether it marks have to be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EcnSeen([BandSeen; 8]);

impl EcnSeen {
    /// Whether a switch that starts so would have marked, and drawn, alike.
    pub fn holds(&self, handler: &EcnHandler, startup: &Startup) -> bool {
        let bands = bands(startup);
        let max = handler.max_mark_probability;
        self.0.iter().zip(bands).all(|(seen, band)| seen.holds(band, max))
    }

    /// Takes in another switch's.
    pub fn add(&mut self, other: &EcnSeen) {
        self.0.iter_mut().zip(&other.0).for_each(|(seen, other)| seen.add(other));
    }
}

/// Lower and upper threshold of each pool, bytes.
fn bands(startup: &Startup) -> [(f64, f64); 8] {
    let band = |pool: Option<Pool>| match pool {
        Some(pool) => (pool.ecn_lower, pool.ecn_upper),
        None => (f64::INFINITY, f64::INFINITY),
    };
    startup.pools.map(band)
}

impl Marker {
    /// The marker of a switch; `stream` is its own and drawn from only inside a band.
    pub fn new(handler: &EcnHandler, startup: &Startup, stream: Stream) -> Marker {
        Marker {
            enabled: handler.enable_ecn,
            weight: handler.ewma_weight,
            keep: 1.0 - handler.ewma_weight,
            max_probability: handler.max_mark_probability,
            bands: bands(startup),
            stream,
            seen: Default::default(),
        }
    }

    /// Keeps what [`Marker::marks`] compares the average with.
    #[inline]
    pub fn see(&mut self, average: f64, pool: usize) {
        if self.enabled {
            let pool = pool & 7;
            self.seen[pool].see(average, self.bands[pool], self.max_probability);
        }
    }

    /// What was kept.
    pub fn seen(&self) -> EcnSeen {
        EcnSeen(self.seen)
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
