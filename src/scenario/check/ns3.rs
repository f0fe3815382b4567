//! Rules about the `hpcc` and `ns3-datacenter` models.
//!
//! A configuration whose shared space would be negative is refused: in the code these models come
//! from it wraps round, and nothing is ever paused.

use super::{Report, Started, limits};
use crate::scenario::links::{LinkKind, Outline, PortPlan, SwitchKind};
use crate::scenario::offered::{Offered, classes};
use crate::scenario::sizing::guideline;
use crate::scenario::startup::Startup;
use crate::scenario::{
    DatacenterBuffer, EcnMaps, HpccBuffer, Scenario, SharedBufferManager, Switch, SwitchModel,
};
use crate::units::{BitRate, Bytes, Ps, thousands};
use std::collections::{BTreeMap, BTreeSet};

const HPCC: &str = "switch.HPCC";
const DATACENTER: &str = "switch.Ns3Datacenter";
const MAPS: &str = "switch.EcnMaps";

/// Largest shift: of the 32 bits of a byte count there.
const MAX_SHIFT: u64 = 31;
/// Largest factor anybody could mean.
const MAX_FACTOR: f64 = 1e6;
/// Queues a port.
const QUEUES: u64 = 8;

/// Checks the settings of some switches, whatever their ports; false if they cannot start.
pub(super) fn settings(switch: &Switch, report: &mut Report) -> bool {
    let before = report.refusals.len();
    for (on, attribute) in [
        (switch.shared_buffer_manager.uet_policy_enabled, "SharedBufferManager.UETPolicyEnabled"),
        (switch.packet_trimmer.trimming_enabled, "PacketTrimmer.TrimmingEnabled"),
    ] {
        if on {
            report.refuse(format!("switch.{attribute}"), true, "needs switch.model = scala");
        }
    }
    match switch.model {
        SwitchModel::Ns3Datacenter => datacenter_numbers(&switch.datacenter, report),
        SwitchModel::Hpcc | SwitchModel::Scala => hpcc_numbers(&switch.hpcc, report),
    }
    maps(&switch.ecn_maps, report);
    report.refusals.len() == before
}

/// Checks the settings against the ports there are, and starts each kind of switch.
pub(super) fn check(
    scenario: &Scenario,
    outline: &Outline,
    report: &mut Report,
) -> Option<Vec<Started>> {
    let switch = &scenario.switch;
    let before = report.refusals.len();
    for ports in switch_ports(outline) {
        match switch.model {
            SwitchModel::Ns3Datacenter => reserves(&switch.datacenter, &ports, report),
            SwitchModel::Hpcc | SwitchModel::Scala => shared(&switch.hpcc, &ports, report),
        }
        for (_, link) in &ports {
            if let Err(map) = switch.ecn_maps.marks(link.rate) {
                let rate = BitRate(link.rate);
                let rule = format!("has no entry for a port at {rate} ({} bit/s)", link.rate);
                report.refuse(format!("{MAPS}.{map}"), "given", rule);
            }
        }
    }
    if report.refusals.len() != before {
        return None;
    }
    // Cannot fail: it reads nothing that is not checked above.
    let start = |kind: &SwitchKind| {
        Some(Started { kind: kind.clone(), startup: Startup::new(switch, kind.ports()).ok()? })
    };
    outline.switch_kinds().map(start).collect()
}

/// The kinds of links at the ports of each switch and how many ports have each; what switches have
/// in common once.
fn switch_ports(outline: &Outline) -> BTreeSet<Vec<(u64, LinkKind)>> {
    let plan = outline.network();
    let of = |ports: &[PortPlan]| {
        let mut counts = BTreeMap::new();
        for port in ports {
            let link = &plan.links[port.link];
            *counts.entry((link.rate, link.delay)).or_insert(0u64) += 1;
        }
        let kind = |((rate, delay), count)| (count, LinkKind { count, rate, delay });
        counts.into_iter().map(kind).collect::<Vec<_>>()
    };
    plan.switches.iter().map(|switch| of(&switch.ports)).collect()
}

fn register(attribute: String, value: Bytes, report: &mut Report) {
    if value.0 > limits::MAX_REGISTER {
        limits::register(&attribute, value, report);
    }
}

fn factor(attribute: String, value: f64, report: &mut Report) {
    if !(0.0..=MAX_FACTOR).contains(&value) {
        report.refuse(attribute, value, "must be 0 to 1000000");
    }
}

fn hpcc_numbers(own: &HpccBuffer, report: &mut Report) {
    register(format!("{HPCC}.BufferSize"), own.buffer_size, report);
    register(format!("{HPCC}.Reserve"), own.reserve, report);
    register(format!("{HPCC}.ResumeOffset"), own.resume_offset, report);
    factor(format!("{HPCC}.HeadroomFactor"), own.headroom_factor, report);
    if own.shift > MAX_SHIFT {
        report.refuse(format!("{HPCC}.Shift"), own.shift, "must be 0 to 31");
    }
}

fn datacenter_numbers(own: &DatacenterBuffer, report: &mut Report) {
    let at = |name: &str| format!("{DATACENTER}.{name}");
    for (name, value) in [
        ("BufferPool", own.buffer_pool),
        ("IngressPool", own.ingress_pool),
        ("EgressPoolLossless", own.egress_pool_lossless),
        ("EgressPoolLossy", own.egress_pool_lossy),
        ("SharedPool", own.shared_pool),
        ("IngressReserve", own.ingress_reserve),
        ("Xoff", own.xoff.unwrap_or_default()),
        ("XoffTotal", own.xoff_total.unwrap_or_default()),
        ("Xon", own.xon),
        ("XonOffset", own.xon_offset),
    ] {
        register(at(name), value, report);
    }
    factor(at("AlphaIngress"), own.alpha_ingress, report);
    factor(at("AlphaEgress"), own.alpha_egress, report);
    factor(at("AlphaUnsched"), own.alpha_unscheduled, report);
    factor(at("XoffFactor"), own.xoff_factor, report);
    if !(0.0..=1.0).contains(&own.gamma) {
        limits::unit_interval(&at("ReverieGamma"), own.gamma, report);
    }
    for (queue, &on) in own.lossless_queues.iter().enumerate() {
        if !(0..=1).contains(&on) {
            let rule = "must be 0 (lossy) or 1 (lossless)";
            report.refuse(format!("{DATACENTER}.LosslessQueues[{queue}]"), on, rule);
        }
    }
}

fn maps(own: &EcnMaps, report: &mut Report) {
    for (name, map, most) in [
        ("KMIN_MAP", &own.kmin_map, f64::MAX),
        ("KMAX_MAP", &own.kmax_map, f64::MAX),
        ("PMAX_MAP", &own.pmax_map, 1.0),
    ] {
        let Some(map) = map else { continue };
        let at = format!("{MAPS}.{name}");
        if map.len() % 2 != 0 {
            report.refuse(at, map.len(), "must be pairs of a rate in bit/s and a value");
            continue;
        }
        for pair in map.chunks_exact(2) {
            if !(pair[0] > 0.0 && pair[0].is_finite() && (0.0..=most).contains(&pair[1])) {
                let rule = match most {
                    1.0 => "must be a rate in bit/s and a probability, 0 to 1",
                    _ => "must be a rate in bit/s and KB, 0 or more",
                };
                report.refuse(at.as_str(), format!("{} {}", pair[0], pair[1]), rule);
            }
        }
    }
}

/// Bytes of all ports' headrooms, one queue each.
fn headrooms(ports: &[(u64, LinkKind)], of: impl Fn(&LinkKind) -> u64) -> u64 {
    ports.iter().fold(0, |sum, (count, link)| sum.saturating_add(count.saturating_mul(of(link))))
}

/// What is left to share of an `hpcc` buffer.
fn shared(own: &HpccBuffer, ports: &[(u64, LinkKind)], report: &mut Report) {
    let headroom = headrooms(ports, |link| own.headroom(link.rate, link.delay));
    let count: u64 = ports.iter().map(|(count, _)| count).sum();
    let reserve = count.saturating_mul(own.reserve.0);
    if headroom.saturating_add(reserve) > own.buffer_size.0 {
        report.refuse(
            format!("{HPCC}.BufferSize"),
            own.buffer_size,
            format!(
                "{} B of headroom and {} B of reserve on {count} ports are more: nothing would be \
                 left to share; raise it, or lower HeadroomFactor or Reserve",
                thousands(headroom),
                thousands(reserve)
            ),
        );
    }
}

/// What is left of an `ns3-datacenter` ingress pool.
fn reserves(own: &DatacenterBuffer, ports: &[(u64, LinkKind)], report: &mut Report) {
    let count: u64 = ports.iter().map(|(count, _)| count).sum();
    let reserve = own.ingress_reserve.0.saturating_mul(count.saturating_mul(QUEUES));
    if reserve > own.ingress_pool.0 {
        report.refuse(
            format!("{DATACENTER}.IngressPool"),
            own.ingress_pool,
            format!(
                "{} B of reserve on {count} ports with {QUEUES} queues are more: nothing would be \
                 left to share; raise it or lower IngressReserve",
                thousands(reserve)
            ),
        );
    }
}

/// Warnings about a scenario that runs.
pub(super) fn warn(
    scenario: &Scenario,
    started: &[Started],
    offered: &Offered,
    report: &mut Report,
) {
    let switch = &scenario.switch;
    if switch.shared_buffer_manager != SharedBufferManager::default() {
        let rule = format!("not read with switch.model = {}", switch.model.name());
        report.warn("switch.SharedBufferManager", "not as usual", rule);
    }
    if offered.data & 1 == 1 {
        report.warn(
            "traffic",
            "class 0",
            "uses queue 0, which goes first, is never paused and charged nowhere; give data a dscp \
             of 8 or more",
        );
    }
    let lossless = started.first().map_or(0, |s| s.startup.lossless) & offered.classes;
    for started in started {
        for link in &started.kind.links {
            port_headroom(scenario, link, lossless, offered, report);
        }
        if switch.model == SwitchModel::Ns3Datacenter {
            egress_pool(&switch.datacenter, started, report);
        }
    }
    if switch.model == SwitchModel::Hpcc && lossless.count_ones() > 1 {
        report.warn(
            format!("{HPCC}.HeadroomFactor"),
            switch.hpcc.headroom_factor,
            format!(
                "overcommitted: one headroom and one reserve a port are set aside, but each of the \
                 lossless classes {} may use as much",
                classes(lossless)
            ),
        );
    }
}

/// Headroom that a pause would overrun.
fn port_headroom(
    scenario: &Scenario,
    link: &LinkKind,
    lossless: u8,
    offered: &Offered,
    report: &mut Report,
) {
    let switch = &scenario.switch;
    let (attribute, headroom) = match switch.model {
        SwitchModel::Ns3Datacenter => {
            let own = &switch.datacenter;
            let name = if own.xoff.is_some() { "Xoff" } else { "XoffFactor" };
            (format!("{DATACENTER}.{name}"), own.headroom(link.rate, link.delay))
        }
        SwitchModel::Hpcc | SwitchModel::Scala => {
            (format!("{HPCC}.HeadroomFactor"), switch.hpcc.headroom(link.rate, link.delay))
        }
    };
    let need = guideline(link.rate, link.delay, offered.largest_packet());
    if lossless != 0 && headroom < need {
        report.warn(
            attribute,
            format!("{} B", thousands(headroom)),
            format!(
                "below what may still arrive after a pause on a link at {} with {} one way, {} B: \
                 packets may be lost",
                BitRate(link.rate),
                Ps(link.delay),
                thousands(need)
            ),
        );
    }
}

/// An egress pool that headroom bytes overrun.
fn egress_pool(own: &DatacenterBuffer, started: &Started, report: &mut Report) {
    let links = &started.kind.links;
    let widest = links.iter().map(|link| own.headroom(link.rate, link.delay)).max().unwrap_or(0);
    let all = widest.saturating_mul(u64::from(started.kind.ports()) * QUEUES);
    let headroom = own.xoff_total.map_or(all, |total| total.0);
    let inside = own.ingress_pool.0.saturating_add(headroom).min(own.buffer_pool.0);
    if own.egress_pool_lossless.0 < inside {
        report.warn(
            format!("{DATACENTER}.EgressPoolLossless"),
            own.egress_pool_lossless,
            format!(
                "headroom counts against it too: ingress may admit {} B, and lossless packets \
                 beyond the pool are dropped at egress (egress_pool)",
                thousands(inside)
            ),
        );
    }
}
