//! Warnings about scenarios that run, but probably not as meant.

use super::switch::of_tier;
use super::{Report, Started};
use crate::scenario::offered::{Offered, classes, first_listed};
use crate::scenario::sizing::{Sizing, response_bytes};
use crate::scenario::startup::{LimitForm, Startup};
use crate::scenario::{FlowEntry, Scenario, SharedBufferManager, Switch, Topology};
use crate::units::{Bytes, Ps, thousands};

const BUFFER: &str = "switch.SharedBufferManager.";

/// A computed byte count, as it compares best.
fn size(bytes: u64) -> String {
    format!("{} B", thousands(bytes))
}

/// How far the shares may be from summing to 1 before it is worth a word.
const SUM_TOLERANCE: f64 = 1e-9;

pub(super) fn check(
    scenario: &Scenario,
    started: &[Started],
    offered: &Offered,
    report: &mut Report,
) {
    let uet = scenario.switch.shared_buffer_manager.uet_policy_enabled;
    let mut before = None;
    for started in started {
        let tier = started.kind.tier.settings();
        let switch = scenario.switch.of_tier(tier);
        of_tier(scenario, tier, report, |report| {
            // Switches of one tier differ in their ports alone.
            if before.replace(tier) != Some(tier) {
                match uet {
                    true => unread(&switch, report),
                    false => pool_sum(&switch, report),
                }
                thresholds(&started.startup, offered, report);
                pools(&started.startup, offered, report);
            }
            fixed_caps(&started.startup, report);
            sizing(scenario, &switch, started, offered, report);
        });
    }
    match uet {
        true => unread_classes(scenario, report),
        // Reactive NICs do not read roles at all, which is said elsewhere.
        false if !scenario.nic.model.is_reactive() => idle_roles(scenario, report),
        false => {}
    }
    unused_links(scenario, report);
}

fn pool_sum(switch: &Switch, report: &mut Report) {
    let map = &switch.shared_buffer_manager.pool_allocation_map;
    let sum: f64 = map.iter().sum();
    if (sum - 1.0).abs() > SUM_TOLERANCE {
        report.warn(
            format!("{BUFFER}PoolAllocationMap"),
            format!("{map:?}"),
            format!("sums to {sum}, not 1; the last pool takes up the difference"),
        );
    }
}

/// What is set and not read under the UET policy.
fn unread(switch: &Switch, report: &mut Report) {
    let (buffer, usual) = (&switch.shared_buffer_manager, SharedBufferManager::default());
    let mut warn = |name: &str, value: String, instead: &str| {
        let rule = format!("not read with UETPolicyEnabled = true: {instead}");
        report.warn(format!("{BUFFER}{name}"), value, rule);
    };
    let map = &buffer.pool_allocation_map;
    if *map != usual.pool_allocation_map {
        warn("PoolAllocationMap", format!("{map:?}"), "its pools are 1.5 : 1 : 1");
    }
    let mapping = &buffer.traffic_class_pool_mapping;
    if *mapping != usual.traffic_class_pool_mapping {
        warn("TrafficClassPoolMapping", format!("{mapping:?}"), "class n uses pool n");
    }
    if buffer.lossy_alpha != usual.lossy_alpha {
        warn("LossyAlpha", buffer.lossy_alpha.to_string(), "its egress limits are fixed");
    }
}

/// Code points of traffic that are not read under the UET policy.
fn unread_classes(scenario: &Scenario, report: &mut Report) {
    for (place, traffic) in scenario.traffic.iter().enumerate() {
        const RULE: &str = "not read with UETPolicyEnabled = true: the role decides the class";
        if traffic.common().dscp != 0 {
            report.warn(format!("traffic[{place}].dscp"), traffic.common().dscp, RULE);
        }
        let own = |flow: &FlowEntry| flow.dscp.filter(|&dscp| dscp != 0);
        if let Some((key, dscp)) = first_listed(traffic, place, "dscp", own) {
            report.warn(key, dscp, RULE);
        }
    }
}

/// Roles that no switch looks at.
fn idle_roles(scenario: &Scenario, report: &mut Report) {
    for (place, traffic) in scenario.traffic.iter().enumerate() {
        const RULE: &str = "has no effect without UETPolicyEnabled = true";
        if let Some(role) = traffic.common().role {
            report.warn(format!("traffic[{place}].role"), role.name(), RULE);
        }
        if let Some((key, role)) = first_listed(traffic, place, "role", |flow| flow.role) {
            report.warn(key, role.name(), RULE);
        }
    }
}

/// Xoff against Xon.
fn thresholds(startup: &Startup, offered: &Offered, report: &mut Report) {
    let (xoff, xon) = (startup.xoff, startup.xon);
    let lossless = startup.lossless & offered.classes;
    if startup.lossless == 0 {
        return;
    }
    if xon >= xoff {
        report.warn(
            format!("{BUFFER}StaticPoolXonThreshold"),
            Bytes(xon),
            format!(
                "not below StaticPoolXoffThreshold = {}: a port resumes as soon as its headroom \
                 is empty",
                size(xoff)
            ),
        );
        return;
    }
    let largest = (0..8u8).filter(|c| lossless >> c & 1 == 1).map(|c| offered.largest_of(c)).max();
    if let Some(packet) = largest.filter(|&packet| xoff - xon <= packet) {
        report.warn(
            format!("{BUFFER}StaticPoolXonThreshold"),
            Bytes(xon),
            format!(
                "only {} below Xoff, at most one packet of {}: pause and resume will alternate",
                size(xoff - xon),
                size(packet)
            ),
        );
    }
}

/// Which classes meet in which pool.
fn pools(startup: &Startup, offered: &Offered, report: &mut Report) {
    let pool_of = |class: u8| startup.class_pool[usize::from(class)];
    for class in (0..8).filter(|&class| startup.is_lossless(class)) {
        if pool_of(class) != class {
            report.warn(
                format!("{BUFFER}TrafficClassPoolMapping[{class}]"),
                pool_of(class),
                format!("lossless class {class} uses a pool of another number"),
            );
        }
    }
    let lossless_pools: Vec<usize> =
        (0..8).filter(|&n| startup.pools[n].is_some_and(|p| p.priority_group != 0)).collect();
    if lossless_pools.len() > 1 {
        let per_port = lossless_pools[0];
        report.warn(
            format!("{BUFFER}HeadRoomPerPortLimit"),
            Bytes(startup.pools[per_port].map_or(0, |p| p.headroom_per_port)),
            format!(
                "overcommitted: reserved once a port, but each of the {} lossless pools may use \
                 all of it",
                lossless_pools.len()
            ),
        );
    }
    for number in lossless_pools {
        let group = startup.pools[number].map_or(0, |p| p.priority_group);
        let lossy = (0..8u8)
            .filter(|&c| offered.carries(c) && !startup.is_lossless(c))
            .filter(|&c| usize::from(pool_of(c)) == number)
            .fold(0u8, |mask, c| mask | 1 << c);
        if lossy != 0 && group & offered.classes != 0 {
            report.warn(
                format!("{BUFFER}TrafficClassPoolMapping"),
                format!("{:?}", startup.class_pool),
                format!(
                    "pool {number} holds lossy class {} beside lossless class {}: lossy bytes \
                     count towards Xoff, and a port they keep above Xon when its last lossless \
                     packet leaves stays paused for ever (stuck_pauses)",
                    classes(lossy),
                    classes(group)
                ),
            );
        }
    }
}

/// Caps that the pool cannot keep.
fn fixed_caps(startup: &Startup, report: &mut Report) {
    let name = match startup.limit {
        LimitForm::Alpha(_) | LimitForm::EvenSplit => return,
        LimitForm::FixedCap | LimitForm::Uet { trimming: false } => "QueueDropThreshold",
        LimitForm::Uet { trimming: true } => "PlaneBDP",
    };
    let uet = matches!(startup.limit, LimitForm::Uet { .. });
    for (number, pool) in startup.pools.iter().enumerate() {
        let Some(pool) = pool else { continue };
        if uet && pool.priority_group != 0 {
            // The only class of the pool is lossless, and has no limit.
            continue;
        }
        let asked = u128::from(pool.static_limit) * u128::from(startup.ports);
        if asked > u128::from(pool.size) {
            report.warn(
                format!("{BUFFER}{name}"),
                size(pool.static_limit),
                format!(
                    "{} ports may each fill this cap: {} B, {} % of pool {number} = {}; the pool \
                     holds {} full caps and binds first",
                    startup.ports,
                    thousands(i128::try_from(asked).unwrap_or(i128::MAX)),
                    asked.saturating_mul(100) / u128::from(pool.size.max(1)),
                    size(pool.size),
                    pool.size / pool.static_limit.max(1)
                ),
            );
        }
    }
}

/// The three conditions, for lossless classes that carry traffic.
fn sizing(
    scenario: &Scenario,
    switch: &Switch,
    started: &Started,
    offered: &Offered,
    report: &mut Report,
) {
    let startup = &started.startup;
    let tier = started.kind.tier.name();
    let response = slowest_response(scenario, switch);
    for class in (0..8).filter(|&class| offered.carries(class)) {
        let Some(sizing) = Sizing::new(startup, class, &started.kind.links, offered) else {
            continue;
        };
        let headroom = sizing.headroom;
        let late = headroom.need.saturating_add(response_bytes(sizing.link.rate, response.0));
        if !headroom.met() {
            report.warn(
                format!("{BUFFER}HeadRoomPerPortLimit"),
                Bytes(headroom.have),
                format!(
                    "below the guideline for class {class} at a {tier}, {}: packets may be lost \
                     after a pause",
                    size(headroom.need)
                ),
            );
        } else if headroom.have < late {
            report.warn(
                format!("{BUFFER}HeadRoomPerPortLimit"),
                Bytes(headroom.have),
                format!(
                    "with a PfcResponseTime of {response} the guideline for class {class} at a \
                     {tier} is {}: packets may be lost after a pause",
                    size(late)
                ),
            );
        }
        if !sizing.pool_size.met() {
            report.warn(
                match startup.limit {
                    LimitForm::Uet { .. } => format!("{BUFFER}TotalSharedBufferSize"),
                    _ => format!("{BUFFER}PoolAllocationMap[{}]", sizing.pool),
                },
                size(sizing.pool_size.have),
                format!(
                    "pool {} of a {tier} holds the pause points of {} of its {} ports; class \
                     {class} needs {} to lose nothing{}",
                    sizing.pool,
                    sizing.pause_points(startup.xoff),
                    sizing.ports,
                    size(sizing.pool_size.need),
                    sizing.largest_xoff().map_or(String::new(), |xoff| format!(
                        ", or StaticPoolXoffThreshold at most {}",
                        size(xoff)
                    ))
                ),
            );
        }
        if sizing.sharing != 0 {
            report.warn(
                format!("{BUFFER}TrafficClassPoolMapping[{class}]"),
                sizing.pool,
                format!(
                    "lossless class {class} shares its pool with class {}; it needs a pool to \
                     itself to lose nothing",
                    classes(sizing.sharing)
                ),
            );
        }
    }
}

/// The longest time any receiver of a pause takes to act on it.
fn slowest_response(scenario: &Scenario, switch: &Switch) -> Ps {
    let nic = &scenario.nic;
    let own = nic.hosts.values().filter_map(|host| host.pfc_response_time).max();
    nic.pfc_response_time.max(own.unwrap_or_default()).max(switch.pfc_response_time)
}

/// Attributes of links that the topology does not have.
fn unused_links(scenario: &Scenario, report: &mut Report) {
    let Topology::SingleSwitch { .. } = scenario.topology else { return };
    let own = &scenario.switch.network_interface;
    const RULE: &str = "not read: a single switch has no up-links";
    if let Some(rate) = own.uplink.data_rate {
        report.warn("switch.NetworkInterface.UplinkNetworkInterface.DataRate", rate, RULE);
    }
    if let Some(delay) = own.medium.delay {
        report.warn("switch.NetworkInterface.TransmissionMedium.Delay", delay, RULE);
    }
}
