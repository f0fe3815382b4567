//! ECN thresholds by port rate: the block `EcnMaps` of the `hpcc` and `ns3-datacenter` models.
//!
//! Owns the maps as those projects write them. Refuses to mark.

use serde::{Deserialize, Serialize};

/// Bytes of the KB of these maps.
const KB: f64 = 1_000.0;

/// Marking by the egress queue as it is, without an average.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EcnMaps {
    /// Whether switches mark.
    #[serde(rename = "ENABLE_QCN")]
    pub enable_qcn: bool,
    /// Pairs of rate (bit/s) and KB above which packets are marked with some probability; none:
    /// 4 KB for every Gbps.
    #[serde(rename = "KMIN_MAP", skip_serializing_if = "Option::is_none")]
    pub kmin_map: Option<Vec<f64>>,
    /// Pairs of rate and KB above which every packet is marked; none: 16 KB for every Gbps.
    #[serde(rename = "KMAX_MAP", skip_serializing_if = "Option::is_none")]
    pub kmax_map: Option<Vec<f64>>,
    /// Pairs of rate and the probability just below the upper threshold; none: 0.2.
    #[serde(rename = "PMAX_MAP", skip_serializing_if = "Option::is_none")]
    pub pmax_map: Option<Vec<f64>>,
}

impl Default for EcnMaps {
    fn default() -> Self {
        EcnMaps { enable_qcn: true, kmin_map: None, kmax_map: None, pmax_map: None }
    }
}

/// Thresholds of one port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Marks {
    /// Bytes above which packets are marked with some probability.
    pub kmin: f64,
    /// Bytes above which every packet is marked.
    pub kmax: f64,
    /// Probability just below `kmax`.
    pub pmax: f64,
}

impl Marks {
    /// Nothing is marked.
    pub const NONE: Marks = Marks { kmin: f64::INFINITY, kmax: f64::INFINITY, pmax: 0.0 };

    /// Probability of a mark with so many bytes queued.
    #[inline]
    pub fn probability(&self, queue: u64) -> f64 {
        let queue = queue as f64;
        if queue > self.kmax {
            1.0
        } else if queue > self.kmin {
            self.pmax * (queue - self.kmin) / (self.kmax - self.kmin)
        } else {
            0.0
        }
    }
}

impl EcnMaps {
    /// Whether nothing but defaults stands in it.
    pub fn is_usual(&self) -> bool {
        *self == EcnMaps::default()
    }

    /// Thresholds of a port of a rate, bit/s; `Err` names the map without an entry for it.
    ///
    /// # Errors
    /// A map that is given and does not have the rate.
    pub fn marks(&self, rate: u64) -> Result<Marks, &'static str> {
        if !self.enable_qcn {
            return Ok(Marks::NONE);
        }
        let of = |map: &Option<Vec<f64>>, name, usual| {
            let Some(map) = map else { return Ok(usual) };
            let mut pairs = map.chunks_exact(2);
            pairs.find(|pair| pair[0] == rate as f64).map(|pair| pair[1]).ok_or(name)
        };
        let gbps = rate as f64 / 1e9;
        Ok(Marks {
            kmin: of(&self.kmin_map, "KMIN_MAP", 4.0 * gbps)? * KB,
            kmax: of(&self.kmax_map, "KMAX_MAP", 16.0 * gbps)? * KB,
            pmax: of(&self.pmax_map, "PMAX_MAP", 0.2)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_read_by_rate_and_the_usual_ones_grow_with_it() {
        let usual = EcnMaps::default().marks(100_000_000_000).unwrap();
        assert_eq!(usual, Marks { kmin: 400_000.0, kmax: 1_600_000.0, pmax: 0.2 });
        let own = EcnMaps { kmin_map: Some(vec![25e9, 7.0, 100e9, 9.0]), ..EcnMaps::default() };
        assert_eq!(own.marks(100_000_000_000).unwrap().kmin, 9_000.0);
        assert_eq!(own.marks(50_000_000_000), Err("KMIN_MAP"));
        let off = EcnMaps { enable_qcn: false, ..own };
        assert_eq!(off.marks(50_000_000_000), Ok(Marks::NONE));
    }

    #[test]
    fn the_band_is_open_below_and_closed_above() {
        let marks = Marks { kmin: 100.0, kmax: 200.0, pmax: 0.5 };
        let found = [100, 150, 200, 201].map(|queue| marks.probability(queue));
        assert_eq!(found, [0.0, 0.25, 0.5, 1.0]);
        assert_eq!(Marks::NONE.probability(u64::MAX), 0.0);
    }
}
