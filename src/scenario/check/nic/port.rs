//! Rules about what every reactive NIC has: pools, queues, the link to its host.

use crate::scenario::check::{Report, limits};
use crate::scenario::links::{MAX_RATE, MIN_RATE};
use crate::scenario::nic::Packets;
use crate::scenario::offered::{FRAME_OVERHEAD, Offered};
use crate::scenario::{Nic, NicModel};
use crate::units::{Bytes, thousands};

/// How far shares may sum above 1: they are written as decimals.
const SUM_TOLERANCE: f64 = 1e-9;
/// Most lanes of a host link.
const MAX_LANES: u64 = 1_024;

/// Pools that a NIC has to have: class, IP bytes of its largest packet, what that is.
type Needs = Vec<(u8, u64, &'static str)>;

pub(super) fn check(path: &str, nic: &Nic, offered: &Offered, report: &mut Report) {
    host_link(path, nic, report);
    let Some(packets) = nic.packets().filter(|_| nic.model.has_pools()) else { return };
    let needs = needs(nic.model, &packets, offered);
    let (ingress, egress) = (&nic.ingress, &nic.egress);
    for (block, total, shares, pools, overhead) in [
        ("Ingress", ingress.total_buffer_size, &ingress.pool_allocation_vector, ingress.pools(), 0),
        (
            "Egress",
            egress.total_buffer_size,
            &egress.pool_allocation_vector,
            egress.pools(),
            FRAME_OVERHEAD,
        ),
    ] {
        let path = format!("{path}.{block}");
        if total.0 == 0 || total.0 > limits::MAX_REGISTER {
            report.refuse(format!("{path}.TotalBufferSize"), total, "must be 1B to 4294967295B");
        } else if vector(&path, shares, report) {
            room(&path, shares, &pools, overhead, &needs, report);
        }
    }
    for (class, &weight) in egress.wrr_queue_weights.iter().enumerate() {
        if u32::try_from(weight).is_err() {
            report.refuse(
                format!("{path}.Egress.WRRQueueWeights[{class}]"),
                weight,
                "must be 0 to 4294967295",
            );
        }
    }
}

fn needs(model: NicModel, packets: &Packets, offered: &Offered) -> Needs {
    let mut needs = Needs::new();
    if offered.data == 0 {
        return needs;
    }
    if model == NicModel::Uet {
        // Whatever class a switch gives them.
        needs.push((0, offered.largest_of(0), "data"));
    } else {
        let data = (0..8u8).filter(|&class| offered.data >> class & 1 == 1);
        needs.extend(data.map(|class| (class, offered.largest_of(class), "data")));
    }
    needs.push((packets.control_class, packets.control, "acknowledgements"));
    needs
}

/// The form of a pool vector; false if it has none.
fn vector(path: &str, shares: &[f64; 8], report: &mut Report) -> bool {
    let before = report.refusals.len();
    let name = format!("{path}.PoolAllocationVector");
    for (class, &share) in shares.iter().enumerate() {
        if !(0.0..=1.0).contains(&share) {
            limits::unit_interval(&format!("{name}[{class}]"), share, report);
        }
    }
    if report.refusals.len() != before {
        return false;
    }
    let pools = shares.iter().filter(|&&share| share > 0.0).count();
    let first_gap = shares.iter().position(|&share| share == 0.0).unwrap_or(shares.len());
    let sum: f64 = shares.iter().sum();
    let mut refuse = |rule: String| report.refuse(name.as_str(), format!("{shares:?}"), rule);
    if pools < 2 {
        refuse("needs a share above 0 for at least two classes, 0 and 1".into());
    } else if first_gap < pools {
        refuse(format!("leaves out class {first_gap}: shares start at class 0 and have no gap"));
    }
    if sum > 1.0 + SUM_TOLERANCE {
        refuse(format!("sums to {sum}; the shares may not exceed the buffer, 1"));
    }
    report.refusals.len() == before
}

/// Every class that is used has a pool that takes its packets.
fn room(
    path: &str,
    shares: &[f64; 8],
    pools: &[u64; 8],
    overhead: u64,
    needs: &Needs,
    report: &mut Report,
) {
    for &(class, ip, what) in needs {
        let (share, pool) = (shares[usize::from(class)], pools[usize::from(class)]);
        let need = ip.saturating_add(overhead);
        if pool >= need {
            continue;
        }
        let rule = match share {
            0.0 => format!("class {class} carries {what}, but has no pool: give it a share"),
            _ => format!(
                "the pool of class {class} has {} B, but {what} take up to {} B: none would pass",
                thousands(pool),
                thousands(need)
            ),
        };
        report.refuse(format!("{path}.PoolAllocationVector[{class}]"), share, rule);
    }
}

fn host_link(path: &str, nic: &Nic, report: &mut Report) {
    let link = &nic.host_link;
    if !(MIN_RATE..=MAX_RATE).contains(&link.lane_bps.0) {
        report.refuse(
            format!("{path}.HostLink.LaneBps"),
            link.lane_bps,
            "must be 1kbps to 100Tbps",
        );
    }
    if !(1..=MAX_LANES).contains(&link.lane_count) {
        report.refuse(format!("{path}.HostLink.LaneCount"), link.lane_count, "must be 1 to 1024");
    }
}

/// What only the open-loop NIC reads.
pub(super) fn open_loop_only(path: &str, nic: &Nic, report: &mut Report) {
    let model = nic.model.name();
    if let Some(rate) = nic.receive_rate {
        report.refuse(
            format!("{path}.receive_rate"),
            rate,
            format!(
                "only model open-loop reads it, not {model}: take it out and give the host fewer \
                 lanes (HostLink.LaneCount)"
            ),
        );
    }
    let usual: Bytes = Nic::default().receive_pool;
    if nic.receive_pool != usual {
        report.refuse(
            format!("{path}.receive_pool"),
            nic.receive_pool,
            format!(
                "only model open-loop reads it, not {model}: take it out and set \
                 Ingress.TotalBufferSize and Ingress.PoolAllocationVector"
            ),
        );
    }
}

/// Classes that are to be paused but have no receive pool that could fill.
pub(super) fn pausing(path: &str, nic: &Nic, enabled: u8, report: &mut Report) {
    let pools = nic.ingress.pools();
    for class in (0..8u8).filter(|&class| enabled >> class & 1 == 1) {
        if pools[usize::from(class)] == 0 {
            report.warn(
                format!("{path}.PFCEnableVector[{class}]"),
                1,
                "the class has no pool in Ingress.PoolAllocationVector, so it is never paused",
            );
        }
    }
}
