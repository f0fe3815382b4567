//! What a run compared the limits of the Scala switch with.

use super::super::watch::{Bound, Hull, Interval, Limits, Watch};
use super::{Scala, retransmit_limit};
use crate::scenario::startup::{LimitForm, Startup};
use serde::{Deserialize, Serialize};

/// Comparisons of one pool.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PoolSeen {
    /// With its size, at ingress and, for lossy packets, at egress.
    pub size: Interval,
    /// With the headroom of a port.
    pub headroom: Interval,
    /// Of lossy egress queues with their limit, as if it were fixed.
    pub limit: Interval,
    /// The same of trimmable retransmits.
    pub retransmit_limit: Interval,
    /// The same as if it were dynamic.
    pub dynamic: Hull,
}

/// Comparisons of a switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScalaSeen {
    /// With Xoff.
    pub xoff: Interval,
    /// With Xon.
    pub xon: Interval,
    /// By pool, where it exists.
    pub pools: [Option<PoolSeen>; 8],
    /// A packet that may be trimmed was refused.
    pub trimmable: bool,
    /// Such packets were trimmed.
    pub trims: bool,
}

impl<W: Watch> Scala<W> {
    /// What it compared its limits with.
    pub(super) fn compared(&self) -> ScalaSeen {
        let mut pools = [None; 8];
        for (seen, pool) in pools.iter_mut().zip(&self.pools) {
            let of = &pool.compared;
            *seen = pool.exists.then(|| PoolSeen {
                size: of.size.interval(),
                headroom: of.headroom.interval(),
                limit: of.limit.interval(),
                retransmit_limit: of.retransmit_limit.interval(),
                dynamic: of.dynamic.hull(),
            });
        }
        ScalaSeen {
            xoff: self.xoff_compared.interval(),
            xon: self.xon_compared.interval(),
            pools,
            trimmable: self.trimmable,
            trims: self.trims,
        }
    }
}

impl ScalaSeen {
    /// Whether a switch that starts so would have answered alike. Classes, their pools and which
    /// are lossless have to be equal.
    pub fn holds(&self, startup: &Startup) -> bool {
        let trims = startup.limit == LimitForm::Uet { trimming: true };
        self.xoff.holds(startup.xoff)
            && self.xon.holds(startup.xon)
            && (!self.trimmable || self.trims == trims)
            && self.pools.iter().zip(&startup.pools).all(|pools| match pools {
                (Some(seen), Some(pool)) => {
                    seen.size.holds(pool.size)
                        && seen.headroom.holds(pool.headroom_per_port)
                        && match startup.limit {
                            LimitForm::Alpha(alpha) => seen.dynamic.holds(alpha, pool.size),
                            form => {
                                let wider = retransmit_limit(form, pool.static_limit);
                                seen.limit.holds(pool.static_limit)
                                    && seen.retransmit_limit.holds(wider)
                            }
                        }
                }
                (None, None) => true,
                _ => false,
            })
    }

    /// Takes in another switch's.
    pub fn add(&mut self, other: &ScalaSeen) {
        self.xoff.add(&other.xoff);
        self.xon.add(&other.xon);
        self.trimmable |= other.trimmable;
        for (seen, other) in self.pools.iter_mut().zip(&other.pools) {
            if let (Some(seen), Some(other)) = (seen, other) {
                seen.size.add(&other.size);
                seen.headroom.add(&other.headroom);
                seen.limit.add(&other.limit);
                seen.retransmit_limit.add(&other.retransmit_limit);
                seen.dynamic.add(&other.dynamic);
            }
        }
    }
}
