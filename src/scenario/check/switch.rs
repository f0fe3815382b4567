//! Rules about the switches' settings.

use super::{Report, Started, limits, ns3};
use crate::scenario::links::{MAX_DELAY, Outline};
use crate::scenario::offered::Offered;
use crate::scenario::startup::{Startup, StartupProblem};
use crate::scenario::{
    EcmpHashMethod, LoadBalancingMethod, NicModel, Scenario, Switch, SwitchModel, TierName,
    attributes,
};

const BUFFER: &str = "switch.SharedBufferManager.";
const ECN: &str = "switch.EcnHandler.";

/// Latest gap between flowlets, ps.
const MAX_GAP: u64 = 2_000_000_000_000;

/// Checks the settings, those of tiers too, and starts each kind of switch: `None` if one would
/// not start.
pub(super) fn check(
    scenario: &Scenario,
    outline: Option<&Outline>,
    offered: &Offered,
    report: &mut Report,
) -> Option<Vec<Started>> {
    blocks(scenario, report);
    let mut fine = settings(scenario, &scenario.switch, report);
    for &tier in scenario.switch.tiers.keys() {
        let switch = scenario.switch.of_tier(tier);
        of_tier(scenario, tier, report, |report| {
            fine &= settings(scenario, &switch, report);
        });
        let exists = |o: &Outline| o.kinds.iter().any(|kind| kind.tier.settings() == tier);
        if outline.is_some_and(|outline| !exists(outline)) {
            report.warn(
                format!("switch.tiers.{}", tier.name()),
                "given",
                "has no effect: the topology has no switch of this tier",
            );
        }
    }
    let (true, Some(outline)) = (fine, outline) else { return None };
    if scenario.switch.model != SwitchModel::Scala {
        return ns3::check(scenario, outline, report);
    }
    let mut started = Vec::with_capacity(outline.kinds.len());
    for kind in &outline.kinds {
        let tier = kind.tier.settings();
        of_tier(scenario, tier, report, |report| {
            match Startup::new(&scenario.switch.of_tier(tier), kind.ports()) {
                Ok(startup) => {
                    missing_pools(&startup, offered, report);
                    started.push(Started { kind: kind.clone(), startup });
                }
                Err(e) => problem(&e.0, report),
            }
        });
    }
    Some(started).filter(|started| started.len() == outline.kinds.len())
}

/// What is found of a tier's switches, under the keys that say it: the tier's where it overrides.
pub(super) fn of_tier(
    scenario: &Scenario,
    tier: TierName,
    report: &mut Report,
    find: impl FnOnce(&mut Report),
) {
    if !scenario.switch.tiers.contains_key(&tier) {
        find(report);
        return;
    }
    let mut own = Report::default();
    find(&mut own);
    for finding in own.refusals.iter_mut().chain(&mut own.warnings) {
        if let Some(attribute) = finding.attribute.strip_prefix("switch.") {
            finding.attribute = scenario.switch.path(tier, attribute);
        }
    }
    report.append(own);
}

/// Rules about the settings of some switches, whatever their ports; false if they cannot start.
fn settings(scenario: &Scenario, switch: &Switch, report: &mut Report) -> bool {
    if switch.pfc_response_time.0 > MAX_DELAY {
        report.refuse("switch.PfcResponseTime", switch.pfc_response_time, "must be 0s to 1s");
    }
    if switch.model != SwitchModel::Scala {
        load_balancing(switch, report);
        return ns3::settings(switch, report);
    }
    registers(switch, report);
    let numbers = ecn(switch, report);
    policies(scenario, switch, report);
    load_balancing(switch, report);
    lists(switch, report) && numbers
}

/// What stands in the blocks of other models.
fn blocks(scenario: &Scenario, report: &mut Report) {
    let switch = &scenario.switch;
    let own = |models: &[SwitchModel]| models.contains(&switch.model);
    const NS3: [SwitchModel; 2] = [SwitchModel::Hpcc, SwitchModel::Ns3Datacenter];
    for (block, usual, read) in [
        ("HPCC", switch.hpcc.is_usual(), own(&NS3[..1])),
        ("Ns3Datacenter", switch.datacenter.is_usual(), own(&NS3[1..])),
        ("EcnMaps", switch.ecn_maps.is_usual(), own(&NS3)),
    ] {
        if !usual && !read {
            let rule = format!("has no effect with switch.model = {}", switch.model.name());
            report.warn(format!("switch.{block}"), "not as usual", rule);
        }
    }
}

/// A start-up that failed, with the attribute's whole path.
fn problem(problem: &StartupProblem, report: &mut Report) {
    let short = problem.attribute();
    let name = short.split('[').next().unwrap_or(&short);
    let own = attributes::candidates(name)
        .into_iter()
        .find(|a| a.path.starts_with("switch.") && !a.path.starts_with("switch.tiers."));
    let path = match own {
        Some(attribute) => format!("{}{}", attribute.path, &short[name.len()..]),
        None => short,
    };
    report.refuse(path, problem.value(), problem.rule());
}

/// Byte counts the switch keeps in 32 bits.
fn registers(switch: &Switch, report: &mut Report) {
    let buffer = &switch.shared_buffer_manager;
    for (name, value) in [
        ("TotalSharedBufferSize", buffer.total_shared_buffer_size),
        ("HeadRoomPerPortLimit", buffer.head_room_per_port_limit),
        ("StaticPoolXoffThreshold", buffer.static_pool_xoff_threshold),
        ("StaticPoolXonThreshold", buffer.static_pool_xon_threshold),
        ("PlaneBDP", buffer.plane_bdp),
    ] {
        if value.0 > limits::MAX_REGISTER {
            limits::register(&format!("{BUFFER}{name}"), value, report);
        }
    }
    if buffer.queue_drop_threshold > limits::MAX_REGISTER {
        report.refuse(
            format!("{BUFFER}QueueDropThreshold"),
            buffer.queue_drop_threshold,
            "must be at most 4294967295",
        );
    }
}

/// Ranges of the marking; false if one is broken.
fn ecn(switch: &Switch, report: &mut Report) -> bool {
    let ecn = &switch.ecn_handler;
    let mut fine = true;
    for (name, value) in [
        ("EwmaWeight", ecn.ewma_weight),
        ("MinThreshold", ecn.min_threshold),
        ("MaxThreshold", ecn.max_threshold),
        ("MaxMarkProbability", ecn.max_mark_probability),
    ] {
        if !(0.0..=1.0).contains(&value) {
            fine &= limits::unit_interval(&format!("{ECN}{name}"), value, report);
        }
    }
    if fine && ecn.min_threshold > ecn.max_threshold {
        report.refuse(
            format!("{ECN}MinThreshold"),
            ecn.min_threshold,
            format!("must not be above MaxThreshold = {}", ecn.max_threshold),
        );
        fine = false;
    }
    fine
}

/// The UET policy and what depends on it.
fn policies(scenario: &Scenario, switch: &Switch, report: &mut Report) {
    let buffer = &switch.shared_buffer_manager;
    let silent =
        matches!(scenario.nic.model, NicModel::FixedWindow | NicModel::Roce | NicModel::Hpcc);
    if buffer.uet_policy_enabled && silent {
        report.refuse(
            "nic.model",
            scenario.nic.model.name(),
            "does not send the codepoints that UETPolicyEnabled = true needs",
        );
    }
    // The start-up names only the first of them, and none if the topology is at fault.
    if switch.packet_trimmer.trimming_enabled {
        if !buffer.uet_policy_enabled {
            problem(&StartupProblem::TrimmingAlone, report);
        }
        if buffer.enable_pfc.iter().any(|&on| on != 0) {
            problem(&StartupProblem::TrimmingLossless, report);
        }
    }
}

fn load_balancing(switch: &Switch, report: &mut Report) {
    if switch.load_balancing_method == LoadBalancingMethod::Flowlet {
        let method = match switch.ecmp_hash_method {
            EcmpHashMethod::Dpr => Some("dpr"),
            EcmpHashMethod::DprWithFallback => Some("dprWithFallback"),
            _ => None,
        };
        if let Some(method) = method {
            report.refuse(
                "switch.EcmpHashMethod",
                method,
                "does not go with LoadBalancingMethod = flowlet; use a hash",
            );
        }
    }
    let gap = switch.load_balancing_flowlet.gap;
    if gap.0 > MAX_GAP {
        report.refuse("switch.LoadBalancingFlowlet.Gap", gap, "must be 0s to 2s");
    }
}

/// The three lists of eight: checked whole, whether or not the policy reads them.
fn lists(switch: &Switch, report: &mut Report) -> bool {
    let buffer = &switch.shared_buffer_manager;
    let before = report.refusals.len();
    for (i, &share) in buffer.pool_allocation_map.iter().enumerate() {
        if !(share.is_finite() && share >= 0.0) {
            report.refuse(
                format!("{BUFFER}PoolAllocationMap[{i}]"),
                share,
                "must be a number of 0 or more",
            );
        }
    }
    for (i, &pool) in buffer.traffic_class_pool_mapping.iter().enumerate() {
        if !(0..8).contains(&pool) {
            report.refuse(
                format!("{BUFFER}TrafficClassPoolMapping[{i}]"),
                pool,
                "must be a pool, 0 to 7",
            );
        }
    }
    for (i, &on) in buffer.enable_pfc.iter().enumerate() {
        if !(0..=1).contains(&on) {
            report.refuse(
                format!("{BUFFER}EnablePFC[{i}]"),
                on,
                "must be 0 (lossy) or 1 (lossless)",
            );
        }
    }
    if !(buffer.lossy_alpha.is_finite() && buffer.lossy_alpha >= 0.0) {
        report.refuse(
            format!("{BUFFER}LossyAlpha"),
            buffer.lossy_alpha,
            "must be a number of 0 or more; 0 selects a fixed limit",
        );
    }
    report.refusals.len() == before
}

/// Classes that carry traffic into a pool that is not there.
fn missing_pools(startup: &Startup, offered: &Offered, report: &mut Report) {
    for class in (0..8u8).filter(|&class| offered.carries(class)) {
        if startup.pool_of(class).is_some() {
            continue;
        }
        let pool = startup.class_pool[usize::from(class)];
        let from = offered.first[usize::from(class)].unwrap_or(0);
        report.refuse(
            format!("{BUFFER}TrafficClassPoolMapping[{class}]"),
            pool,
            format!(
                "traffic[{from}] {} class {class}, but pool {pool} does not exist: its share \
                 in PoolAllocationMap is 0",
                if offered.data >> class & 1 == 1 { "sends" } else { "is acknowledged in" }
            ),
        );
    }
}
