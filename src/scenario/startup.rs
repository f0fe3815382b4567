//! The start-up of a switch: from its attributes to pools, limits and thresholds.
//!
//! Owns the five stages (headroom, pools, classes, egress limit, PFC) as one pure function of the
//! switch's settings and its number of connected ports. Refuses settings no switch could start
//! with. Knows nothing of links, traffic or time.

mod ns3;

use super::switch::{SharedBufferManager, Switch, SwitchModel};
use crate::units::{Bytes, thousands};
use thiserror::Error;

/// Number of traffic classes, and of pools.
pub const CLASSES: usize = 8;

/// What limits a lossy egress queue (stage 4).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LimitForm {
    /// `alpha × (pool size − egress pool occupancy)`, afresh for each packet.
    Alpha(f64),
    /// An even share of the nominal pool per connected port: the pool's static limit.
    EvenSplit,
    /// `QueueDropThreshold × PlaneBDP`: the pool's static limit.
    FixedCap,
    /// UET policy: the pool's static limit, and one and a half times that (rounded down) for
    /// trimmable retransmits. `PlaneBDP` with trimming, `QueueDropThreshold × PlaneBDP` without.
    Uet {
        /// Packets that may be trimmed are, where they would be dropped.
        trimming: bool,
    },
}

/// One pool after start-up; all sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pool {
    /// Its share of the sizing total, rounded down.
    pub nominal: u64,
    /// What it may hold: `nominal`, and for the last pool also what the others leave.
    pub size: u64,
    /// Egress limit that the ECN band is a fraction of; with a fixed limit, that limit.
    pub static_limit: u64,
    /// Below this average no packet is marked.
    pub ecn_lower: f64,
    /// From this average on every capable packet is marked.
    pub ecn_upper: f64,
    /// The lossless classes that use it: bit n is class n.
    pub priority_group: u8,
    /// What a port may hold of it in headroom: 0 without a priority group.
    pub headroom_per_port: u64,
}

/// A switch as its buffer manager starts; all sizes in bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Startup {
    /// Connected ports.
    pub ports: u32,
    /// The whole buffer.
    pub total: u64,
    /// Stage 1: headroom of all ports.
    pub total_headroom: u64,
    /// Stage 1: what the pools share.
    pub sizing_total: u64,
    /// Stage 2: the pools by number; `None` where the allocation is 0.
    pub pools: [Option<Pool>; CLASSES],
    /// Stage 3: pool of each class, 0 to 7. The pool need not exist.
    pub class_pool: [u8; CLASSES],
    /// Stage 3: the lossless classes, bit n is class n, whether or not their pool exists.
    pub lossless: u8,
    /// Stage 4: what limits lossy egress queues.
    pub limit: LimitForm,
    /// Stage 5: a port pauses its sender above this.
    pub xoff: u64,
    /// Stage 5: a port resumes its sender at or below this.
    pub xon: u64,
}

/// Why a switch cannot start.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", .0.text())]
pub struct StartupError(pub StartupProblem);

/// What is wrong, with the numbers that show it.
#[derive(Debug, Clone, PartialEq)]
pub enum StartupProblem {
    /// Stage 1: the headroom of all ports is larger than the buffer.
    HeadroomAboveBuffer {
        /// Headroom of a port, bytes.
        per_port: u64,
        /// Connected ports.
        ports: u32,
        /// Headroom of all ports, bytes.
        needed: u128,
        /// The whole buffer, bytes.
        total: u64,
    },
    /// Stage 2: every allocation is 0.
    NoPool,
    /// Stage 2: the allocations sum to more than the last one can give back.
    PoolNegative {
        /// The last pool with an allocation.
        pool: usize,
        /// Its size in bytes, below 0.
        size: i128,
    },
    /// An entry of a list that no stage can use.
    Entry {
        /// Documented name of the list.
        attribute: &'static str,
        /// Place in the list.
        index: usize,
        /// What stands there.
        value: String,
        /// What may stand there.
        rule: &'static str,
    },
    /// Stage 4: not a number of 0 or more.
    Alpha(f64),
    /// A switch without links.
    NoPorts,
    /// Trimming without the UET policy.
    TrimmingAlone,
    /// Trimming beside a lossless class.
    TrimmingLossless,
}

impl StartupProblem {
    /// Documented name of the attribute at fault, with its place in a list.
    pub fn attribute(&self) -> String {
        match self {
            StartupProblem::HeadroomAboveBuffer { .. } => "HeadRoomPerPortLimit".into(),
            StartupProblem::NoPool => "PoolAllocationMap".into(),
            StartupProblem::PoolNegative { pool, .. } => format!("PoolAllocationMap[{pool}]"),
            StartupProblem::Entry { attribute, index, .. } => format!("{attribute}[{index}]"),
            StartupProblem::Alpha(_) => "LossyAlpha".into(),
            StartupProblem::NoPorts => "topology".into(),
            StartupProblem::TrimmingAlone | StartupProblem::TrimmingLossless => {
                "TrimmingEnabled".into()
            }
        }
    }

    /// Its value, or the quantity that follows from it.
    pub fn value(&self) -> String {
        match self {
            StartupProblem::HeadroomAboveBuffer { per_port, .. } => Bytes(*per_port).to_string(),
            StartupProblem::NoPool => "all 0".into(),
            StartupProblem::PoolNegative { size, .. } => format!("{} B", thousands(*size)),
            StartupProblem::Entry { value, .. } => value.clone(),
            StartupProblem::Alpha(alpha) => alpha.to_string(),
            StartupProblem::NoPorts => "no connected port".into(),
            StartupProblem::TrimmingAlone | StartupProblem::TrimmingLossless => "true".into(),
        }
    }

    /// The rule it breaks, and what to do.
    pub fn rule(&self) -> String {
        match self {
            StartupProblem::HeadroomAboveBuffer { ports, needed, total, .. } => format!(
                "reserves {} B on {ports} connected ports, more than TotalSharedBufferSize = {}; \
                 lower the one or raise the other",
                thousands(i128::try_from(*needed).unwrap_or(i128::MAX)),
                Bytes(*total)
            ),
            StartupProblem::NoPool => "at least one pool needs a share above 0".into(),
            StartupProblem::PoolNegative { .. } => "the size left for the last pool is negative; \
                the shares may exceed 1 by at most the last non-zero one"
                .into(),
            StartupProblem::Entry { rule, .. } => format!("must be {rule}"),
            StartupProblem::Alpha(_) => "must be a number of 0 or more".into(),
            StartupProblem::NoPorts => "a switch needs at least one link".into(),
            StartupProblem::TrimmingAlone => "needs UETPolicyEnabled = true".into(),
            StartupProblem::TrimmingLossless => "needs EnablePFC = 0 for every class".into(),
        }
    }

    fn text(&self) -> String {
        format!("{} = {}: {}", self.attribute(), self.value(), self.rule())
    }
}

impl From<StartupProblem> for StartupError {
    fn from(problem: StartupProblem) -> Self {
        StartupError(problem)
    }
}

impl Startup {
    /// Runs the five stages for a switch with this many connected ports.
    ///
    /// Fails on settings the switch refuses; it does not judge those it only warns about.
    pub fn new(switch: &Switch, ports: u32) -> Result<Startup, StartupError> {
        let buffer = &switch.shared_buffer_manager;
        if ports == 0 {
            return Err(StartupProblem::NoPorts.into());
        }
        if switch.model != SwitchModel::Scala {
            return Ok(ns3::start(switch, ports));
        }
        let (uet, trimming) = (buffer.uet_policy_enabled, switch.packet_trimmer.trimming_enabled);
        let (total_headroom, sizing_total) = headroom(buffer, ports)?;
        let lossless = lossless_classes(buffer)?;
        if trimming && !uet {
            return Err(StartupProblem::TrimmingAlone.into());
        }
        if trimming && lossless != 0 {
            return Err(StartupProblem::TrimmingLossless.into());
        }
        let (sizes, class_pool, limit) = match uet {
            true => (uet_pool_sizes(sizing_total), UET_CLASS_POOL, LimitForm::Uet { trimming }),
            false => (pool_sizes(buffer, sizing_total)?, class_pools(buffer)?, limit_form(buffer)?),
        };
        let cap = buffer.queue_drop_threshold.saturating_mul(buffer.plane_bdp.0);
        let mut pools = [None; CLASSES];
        for (number, sizes) in sizes.iter().enumerate() {
            let Some((nominal, size)) = *sizes else { continue };
            let priority_group = (0..CLASSES)
                .filter(|&class| {
                    lossless >> class & 1 == 1 && usize::from(class_pool[class]) == number
                })
                .fold(0, |group, class| group | 1 << class);
            let static_limit = match limit {
                LimitForm::Alpha(_) => nominal,
                LimitForm::EvenSplit => nominal / u64::from(ports),
                LimitForm::FixedCap | LimitForm::Uet { trimming: false } => cap,
                LimitForm::Uet { trimming: true } => buffer.plane_bdp.0,
            };
            pools[number] = Some(Pool {
                nominal,
                size,
                static_limit,
                ecn_lower: switch.ecn_handler.min_threshold * static_limit as f64,
                ecn_upper: switch.ecn_handler.max_threshold * static_limit as f64,
                priority_group,
                headroom_per_port: match priority_group {
                    0 => 0,
                    _ => buffer.head_room_per_port_limit.0,
                },
            });
        }
        Ok(Startup {
            ports,
            total: buffer.total_shared_buffer_size.0,
            total_headroom,
            sizing_total,
            pools,
            class_pool,
            lossless,
            limit,
            xoff: buffer.static_pool_xoff_threshold.0,
            xon: buffer.static_pool_xon_threshold.0,
        })
    }

    /// Whether packets of a class (0 to 7) are lossless.
    pub fn is_lossless(&self, class: u8) -> bool {
        self.lossless >> class & 1 == 1
    }

    /// The pool of a class (0 to 7), if it exists.
    pub fn pool_of(&self, class: u8) -> Option<&Pool> {
        self.pools[usize::from(self.class_pool[usize::from(class)])].as_ref()
    }
}

/// Stage 1: headroom of all ports, and what is left for the pools.
fn headroom(buffer: &SharedBufferManager, ports: u32) -> Result<(u64, u64), StartupError> {
    let (per_port, total) = (buffer.head_room_per_port_limit.0, buffer.total_shared_buffer_size.0);
    let needed = u128::from(per_port) * u128::from(ports);
    match u64::try_from(needed).ok().and_then(|used| Some((used, total.checked_sub(used)?))) {
        Some(split) => Ok(split),
        None => Err(StartupProblem::HeadroomAboveBuffer { per_port, ports, needed, total }.into()),
    }
}

/// Nominal and final size of every pool with an allocation.
type Sizes = [Option<(u64, u64)>; CLASSES];

/// Stage 3 under the UET policy: class n uses pool n.
const UET_CLASS_POOL: [u8; CLASSES] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Stage 2 under the UET policy: three pools, 1.5 : 1 : 1, each rounded down but the last.
fn uet_pool_sizes(sizing_total: u64) -> Sizes {
    let share = |of_seven: u64| (u128::from(sizing_total) * u128::from(of_seven) / 7) as u64;
    let (data, trimmed) = (share(3), share(2));
    let mut sizes = [None; CLASSES];
    for (pool, size) in [data, trimmed, sizing_total - data - trimmed].into_iter().enumerate() {
        sizes[pool] = Some((size, size));
    }
    sizes
}

/// Stage 2: the pools by `PoolAllocationMap`.
fn pool_sizes(buffer: &SharedBufferManager, sizing_total: u64) -> Result<Sizes, StartupError> {
    let mut sizes = [None; CLASSES];
    let mut sum = 0u128;
    let mut last = None;
    for (number, &share) in buffer.pool_allocation_map.iter().enumerate() {
        if !(share.is_finite() && share >= 0.0) {
            return Err(StartupProblem::Entry {
                attribute: "PoolAllocationMap",
                index: number,
                value: share.to_string(),
                rule: "a number of 0 or more",
            }
            .into());
        }
        if share > 0.0 {
            // The conversion saturates; a share that large is refused below.
            let nominal = (share * sizing_total as f64).floor() as u64;
            sum += u128::from(nominal);
            sizes[number] = Some((nominal, nominal));
            last = Some((number, nominal));
        }
    }
    let Some((number, nominal)) = last else { return Err(StartupProblem::NoPool.into()) };
    let size = i128::from(nominal) + i128::from(sizing_total) - sum as i128;
    match u64::try_from(size) {
        Ok(size) => sizes[number] = Some((nominal, size)),
        Err(_) => return Err(StartupProblem::PoolNegative { pool: number, size }.into()),
    }
    Ok(sizes)
}

/// Stage 3: the pool of every class.
fn class_pools(buffer: &SharedBufferManager) -> Result<[u8; CLASSES], StartupError> {
    let mut pools = [0; CLASSES];
    for (class, &pool) in buffer.traffic_class_pool_mapping.iter().enumerate() {
        pools[class] = u8::try_from(pool)
            .ok()
            .filter(|&pool| usize::from(pool) < CLASSES)
            .ok_or_else(|| StartupProblem::Entry {
                attribute: "TrafficClassPoolMapping",
                index: class,
                value: pool.to_string(),
                rule: "a pool, 0 to 7",
            })?;
    }
    Ok(pools)
}

/// Stage 3: the lossless classes.
fn lossless_classes(buffer: &SharedBufferManager) -> Result<u8, StartupError> {
    let mut lossless = 0;
    for (class, &enabled) in buffer.enable_pfc.iter().enumerate() {
        match enabled {
            0 => {}
            1 => lossless |= 1 << class,
            other => {
                return Err(StartupProblem::Entry {
                    attribute: "EnablePFC",
                    index: class,
                    value: other.to_string(),
                    rule: "0 (lossy) or 1 (lossless)",
                }
                .into());
            }
        }
    }
    Ok(lossless)
}

/// Stage 4: which limit holds.
fn limit_form(buffer: &SharedBufferManager) -> Result<LimitForm, StartupError> {
    let alpha = buffer.lossy_alpha;
    if !(alpha.is_finite() && alpha >= 0.0) {
        return Err(StartupProblem::Alpha(alpha).into());
    }
    Ok(match (alpha > 0.0, buffer.queue_drop_threshold_enable) {
        (true, _) => LimitForm::Alpha(alpha),
        (false, false) => LimitForm::EvenSplit,
        (false, true) => LimitForm::FixedCap,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(change: impl FnOnce(&mut SharedBufferManager)) -> Result<Startup, StartupError> {
        let mut switch = Switch::default();
        change(&mut switch.shared_buffer_manager);
        Startup::new(&switch, 128)
    }

    /// Sizes, bands and groups of the pools that exist.
    fn pools(startup: &Startup) -> Vec<(u64, u64, u64, f64, f64, u8)> {
        let of = |p: &Pool| {
            (p.nominal, p.size, p.static_limit, p.ecn_lower, p.ecn_upper, p.priority_group)
        };
        startup.pools.iter().flatten().map(of).collect()
    }

    #[test]
    fn the_default_switch_with_128_ports() {
        let s = start(|_| {}).unwrap();
        assert_eq!((s.total_headroom, s.sizing_total), (32_768_000, 223_232_000));
        assert_eq!(
            pools(&s),
            [
                (200_908_800, 200_908_800, 200_908_800, 40_181_760.0, 160_727_040.0, 0b01),
                (22_323_200, 22_323_200, 22_323_200, 4_464_640.0, 17_858_560.0, 0b10),
            ]
        );
        assert_eq!((s.xoff, s.xon), (700_000, 300_000));
        assert_eq!(s.limit, LimitForm::Alpha(1.0));
        assert_eq!(s.class_pool, [0, 1, 0, 0, 0, 0, 0, 0]);
        assert!(s.is_lossless(0) && s.is_lossless(1) && !s.is_lossless(2));
        assert!(s.pools.iter().flatten().all(|p| p.headroom_per_port == 256_000));
    }

    #[test]
    fn alpha_0_splits_the_pools_evenly() {
        let s = start(|b| b.lossy_alpha = 0.0).unwrap();
        assert_eq!(s.limit, LimitForm::EvenSplit);
        let found: Vec<_> = pools(&s).iter().map(|p| (p.2, p.3, p.4)).collect();
        assert_eq!(found, [(1_569_600, 313_920.0, 1_255_680.0), (174_400, 34_880.0, 139_520.0)]);
    }

    #[test]
    fn alpha_0_with_a_threshold_caps_queues() {
        let s = start(|b| {
            b.lossy_alpha = 0.0;
            b.queue_drop_threshold_enable = true;
        })
        .unwrap();
        assert_eq!(s.limit, LimitForm::FixedCap);
        let found: Vec<_> = pools(&s).iter().map(|p| (p.2, p.3, p.4)).collect();
        assert_eq!(found, [(1_500_000, 300_000.0, 1_200_000.0); 2]);
    }

    #[test]
    fn alpha_above_0_does_not_read_the_threshold() {
        let s = start(|b| b.queue_drop_threshold_enable = true).unwrap();
        assert_eq!(s.limit, LimitForm::Alpha(1.0));
    }

    #[test]
    fn pool_1_holds_the_pause_points_of_31_ports() {
        let s = start(|_| {}).unwrap();
        let pool = s.pools[1].unwrap();
        assert_eq!(pool.size / (s.xoff + 4_000), 31);
        assert_eq!(128 * (s.xoff + 4_000), 90_112_000);
        let wider = start(|b| b.pool_allocation_map[..2].copy_from_slice(&[0.59, 0.41])).unwrap();
        assert!(wider.pools[1].unwrap().size >= 90_112_000);
        let below = start(|b| b.pool_allocation_map[..2].copy_from_slice(&[0.6, 0.4])).unwrap();
        assert!(below.pools[1].unwrap().size < 90_112_000);
    }

    #[test]
    fn the_last_pool_takes_the_difference_and_keeps_its_band() {
        let s = start(|b| b.pool_allocation_map[..3].copy_from_slice(&[0.5, 0.2, 0.1])).unwrap();
        let last = s.pools[2].unwrap();
        assert_eq!((last.nominal, last.static_limit), (22_323_200, 22_323_200));
        assert_eq!(s.pools.iter().flatten().map(|p| p.size).sum::<u64>(), 223_232_000);
        assert_eq!(last.size, 223_232_000 - 111_616_000 - 44_646_400);
    }

    #[test]
    fn a_sum_above_1_shrinks_the_last_pool_down_to_nothing() {
        let s = start(|b| b.pool_allocation_map[..2].copy_from_slice(&[1.0, 0.5])).unwrap();
        assert_eq!(s.pools[1].unwrap().size, 0);
        let e = start(|b| b.pool_allocation_map[..2].copy_from_slice(&[1.5, 0.1])).unwrap_err();
        assert_eq!(e.0, StartupProblem::PoolNegative { pool: 1, size: -111_616_000 });
        assert!(start(|b| b.pool_allocation_map[0] = 1e300).is_err());
    }

    #[test]
    fn headroom_must_fit_the_buffer() {
        assert_eq!(
            start(|b| b.head_room_per_port_limit = Bytes(2_000_000)).unwrap().sizing_total,
            0
        );
        let e = start(|b| b.head_room_per_port_limit = Bytes(2_000_001)).unwrap_err();
        assert_eq!(
            e.to_string(),
            "HeadRoomPerPortLimit = 2000001B: reserves 256,000,128 B on 128 connected ports, more \
             than TotalSharedBufferSize = 256MB; lower the one or raise the other"
        );
        assert!(start(|b| b.head_room_per_port_limit = Bytes(u64::MAX)).is_err());
    }

    #[test]
    fn a_pool_without_a_lossless_class_has_no_headroom() {
        let s = start(|b| b.enable_pfc = [0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        assert_eq!(s.pools[0].unwrap().headroom_per_port, 0);
        assert_eq!(s.pools[1].unwrap().headroom_per_port, 256_000);
        assert_eq!(s.total_headroom, 32_768_000, "headroom is reserved all the same");
    }

    #[test]
    fn numbers_outside_their_range_name_their_place() {
        let text = |change: fn(&mut SharedBufferManager)| start(change).unwrap_err().to_string();
        assert_eq!(
            text(|b| b.pool_allocation_map[3] = -0.1),
            "PoolAllocationMap[3] = -0.1: must be a number of 0 or more"
        );
        assert!(text(|b| b.pool_allocation_map[3] = f64::NAN).contains("NaN"));
        assert!(text(|b| b.pool_allocation_map = [0.0; 8]).contains("a share above 0"));
        assert!(text(|b| b.traffic_class_pool_mapping[2] = 8).contains("0 to 7"));
        assert!(text(|b| b.traffic_class_pool_mapping[2] = -1).contains("[2] = -1"));
        assert!(text(|b| b.enable_pfc[7] = 2).contains("EnablePFC[7] = 2"));
        assert!(text(|b| b.lossy_alpha = -1.0).contains("LossyAlpha = -1"));
    }

    fn uet(change: impl FnOnce(&mut Switch), ports: u32) -> Result<Startup, StartupError> {
        let mut switch = Switch::default();
        switch.shared_buffer_manager.uet_policy_enabled = true;
        change(&mut switch);
        Startup::new(&switch, ports)
    }

    #[test]
    fn the_uet_policy_has_three_pools_and_reads_no_map() {
        let s = uet(
            |s| {
                let buffer = &mut s.shared_buffer_manager;
                buffer.total_shared_buffer_size = Bytes(160_000);
                buffer.head_room_per_port_limit = Bytes(20_000);
                buffer.pool_allocation_map = [0.0; 8];
                buffer.traffic_class_pool_mapping = [7; 8];
                buffer.lossy_alpha = 0.0;
            },
            6,
        )
        .unwrap();
        assert_eq!((s.total_headroom, s.sizing_total), (120_000, 40_000));
        assert_eq!(
            pools(&s),
            [
                (17_142, 17_142, 1_500_000, 300_000.0, 1_200_000.0, 0b001),
                (11_428, 11_428, 1_500_000, 300_000.0, 1_200_000.0, 0b010),
                (11_430, 11_430, 1_500_000, 300_000.0, 1_200_000.0, 0b000),
            ]
        );
        assert_eq!(s.class_pool, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(s.limit, LimitForm::Uet { trimming: false });
        let headroom: Vec<_> = s.pools.iter().flatten().map(|p| p.headroom_per_port).collect();
        assert_eq!(headroom, [20_000, 20_000, 0]);
        assert_eq!(s.pool_of(3), None);
    }

    #[test]
    fn with_trimming_the_cap_is_one_plane_bdp() {
        let lossy = |s: &mut Switch| {
            s.packet_trimmer.trimming_enabled = true;
            s.shared_buffer_manager.enable_pfc = [0; 8];
        };
        let s = uet(lossy, 128).unwrap();
        assert_eq!(s.limit, LimitForm::Uet { trimming: true });
        let found: Vec<_> = pools(&s).iter().map(|p| (p.1, p.2, p.3, p.4)).collect();
        assert_eq!(
            found,
            [
                (95_670_857, 300_000, 60_000.0, 240_000.0),
                (63_780_571, 300_000, 60_000.0, 240_000.0),
                (63_780_572, 300_000, 60_000.0, 240_000.0),
            ]
        );
        let e = uet(|s| s.packet_trimmer.trimming_enabled = true, 128).unwrap_err();
        assert_eq!(e.to_string(), "TrimmingEnabled = true: needs EnablePFC = 0 for every class");
        let mut alone = Switch::default();
        lossy(&mut alone);
        let e = Startup::new(&alone, 128).unwrap_err();
        assert_eq!(e.to_string(), "TrimmingEnabled = true: needs UETPolicyEnabled = true");
    }

    #[test]
    fn a_class_without_a_pool_has_none() {
        let s = start(|b| b.traffic_class_pool_mapping[5] = 4).unwrap();
        assert_eq!(s.pool_of(5), None);
        assert_eq!(s.pool_of(1).unwrap().size, 22_323_200);
    }

    #[test]
    fn a_switch_without_ports_does_not_start() {
        assert_eq!(Startup::new(&Switch::default(), 0), Err(StartupProblem::NoPorts.into()));
    }
}
