//! Start-up of the models without pools, `hpcc` and `ns3-datacenter`.
//!
//! Owns what of them fits the figures of a start-up: a queue a class, all of which may fill the
//! buffer, and which are lossless. What depends on a port's line is their managers' own.

use super::{CLASSES, LimitForm, Pool, Startup};
use crate::scenario::switch::{Switch, SwitchModel};

/// Class n is queue n, and stands for pool n.
const OWN_QUEUE: [u8; CLASSES] = [0, 1, 2, 3, 4, 5, 6, 7];

/// The start-up of a switch without pools.
pub(super) fn start(switch: &Switch, ports: u32) -> Startup {
    let (total, lossless) = match switch.model {
        SwitchModel::Ns3Datacenter => {
            (switch.datacenter.buffer_pool.0, switch.datacenter.lossless())
        }
        SwitchModel::Hpcc | SwitchModel::Scala => (switch.hpcc.buffer_size.0, 0b1111_1110),
    };
    let queue = |class: u8| Pool {
        nominal: total,
        size: total,
        static_limit: total,
        ecn_lower: f64::INFINITY,
        ecn_upper: f64::INFINITY,
        priority_group: lossless & 1 << class,
        headroom_per_port: 0,
    };
    Startup {
        ports,
        total,
        total_headroom: 0,
        sizing_total: total,
        pools: OWN_QUEUE.map(|class| Some(queue(class))),
        class_pool: OWN_QUEUE,
        lossless,
        limit: LimitForm::FixedCap,
        xoff: total,
        xon: 0,
    }
}
