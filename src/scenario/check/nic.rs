//! Rules about the hosts' NICs.

mod idle;
mod pauses;
mod port;
mod ranges;
mod roce;
mod uet;

use super::{Finding, Report, limits};
use crate::scenario::links::{DEFAULT_RATE, LinkKind, MAX_DELAY, MAX_RATE, MIN_RATE, Outline};
use crate::scenario::offered::Offered;
use crate::scenario::{Hold, Nic, NicModel, Scenario};

pub(super) fn check(
    scenario: &Scenario,
    outline: Option<&Outline>,
    offered: &Offered,
    report: &mut Report,
) {
    let nic = &scenario.nic;
    transport(scenario, outline, report);
    idle::check(scenario, report);
    let mut common = Report::default();
    let links = outline.map(|outline| outline.host_links);
    settings("nic", nic, offered, links, &mut common);
    let hosts = scenario.topology.hosts();
    for &host in nic.hosts.keys() {
        let path = format!("nic.hosts.{host}");
        if u64::from(host) >= hosts {
            let rule = format!("there are only hosts 0 to {}", hosts.saturating_sub(1));
            report.refuse(path.as_str(), host, rule);
        }
        let mut own = Report::default();
        settings(&path, &nic.of_host(host), offered, links, &mut own);
        // What a host shares with all NICs is said once, of all NICs.
        let new = |found: &Finding, said: &[Finding]| {
            let of_all = found.attribute.replacen(&path, "nic", 1);
            !said
                .iter()
                .any(|s| s.attribute == of_all && s.value == found.value && s.rule == found.rule)
        };
        own.refusals.retain(|f| new(f, &common.refusals));
        own.warnings.retain(|f| new(f, &common.warnings));
        report.append(own);
    }
    report.append(common);
}

/// The rules of the model's own attributes, which are those of every host.
fn transport(scenario: &Scenario, outline: Option<&Outline>, report: &mut Report) {
    let nic = &scenario.nic;
    match nic.model {
        NicModel::OpenLoop => {}
        NicModel::FixedWindow => roce::check_window(&nic.fixed_window, report),
        NicModel::Hpcc => roce::check_hpcc(&nic.hpcc, scenario.switch.model, report),
        NicModel::Uet => {
            uet::check(nic, report);
            uet::warn(scenario, outline.map_or(DEFAULT_RATE, |o| o.host_links.rate), report);
        }
        NicModel::Roce => {
            roce::check(&nic.roce, report);
            roce::warn(&nic.roce, report);
        }
    }
}

/// The rules of one NIC's settings, its host's own among them.
fn settings(
    path: &str,
    nic: &Nic,
    offered: &Offered,
    links: Option<LinkKind>,
    report: &mut Report,
) {
    if nic.pfc_response_time.0 > MAX_DELAY {
        report.refuse(format!("{path}.PfcResponseTime"), nic.pfc_response_time, "must be 0s to 1s");
    }
    if nic.model.is_reactive() {
        port::open_loop_only(path, nic, report);
    } else {
        receiver(path, nic, offered, report);
    }
    port::check(path, nic, offered, report);
    let mut enabled = 0u8;
    for (class, &on) in nic.pfc_enable_vector.iter().enumerate() {
        match on {
            0 => {}
            1 => enabled |= 1 << class,
            other => {
                report.refuse(format!("{path}.PFCEnableVector[{class}]"), other, "must be 0 or 1")
            }
        }
    }
    thresholds(path, nic, enabled, report);
    if nic.model.is_reactive() {
        port::pausing(path, nic, enabled, report);
    } else if enabled != 0 && nic.receive_rate.is_none() {
        report.warn(
            format!("{path}.PFCEnableVector"),
            format!("{:?}", nic.pfc_enable_vector),
            "without receive_rate the receive pool never fills, so the NIC never pauses",
        );
    }
    if let Some(held) = &nic.hold {
        hold(path, held, enabled, report);
    }
    pauses::check(path, nic, enabled, links, report);
}

/// The receive side of the open-loop NIC.
fn receiver(path: &str, nic: &Nic, offered: &Offered, report: &mut Report) {
    if let Some(rate) = nic.receive_rate
        && !(MIN_RATE..=MAX_RATE).contains(&rate.0)
    {
        report.refuse(format!("{path}.receive_rate"), rate, "must be 1kbps to 100Tbps");
    }
    if nic.receive_pool.0 == 0 {
        report.refuse(format!("{path}.receive_pool"), nic.receive_pool, "must be above 0B");
    }
    if nic.receive_pool.0 > limits::MAX_REGISTER {
        limits::register(&format!("{path}.receive_pool"), nic.receive_pool, report);
    } else if nic.receive_rate.is_some() && nic.receive_pool.0 < offered.largest_packet() {
        report.warn(
            format!("{path}.receive_pool"),
            nic.receive_pool,
            format!("holds no packet of {} B: those are all dropped", offered.largest_packet()),
        );
    }
}

fn thresholds(path: &str, nic: &Nic, enabled: u8, report: &mut Report) {
    for (class, (&xoff, &xon)) in
        nic.pfc_static_xoff_threshold.iter().zip(&nic.pfc_xon_resume_threshold).enumerate()
    {
        for (name, value) in [("PfcStaticXoffThreshold", xoff), ("PfcXonResumeThreshold", xon)] {
            if !(0.0..=1.0).contains(&value) {
                limits::unit_interval(&format!("{path}.{name}[{class}]"), value, report);
            }
        }
        if enabled >> class & 1 == 1 && xon >= xoff {
            report.warn(
                format!("{path}.PfcXonResumeThreshold[{class}]"),
                xon,
                format!("not below PfcStaticXoffThreshold = {xoff}: pauses end as they begin"),
            );
        }
    }
}

fn hold(path: &str, hold: &Hold, enabled: u8, report: &mut Report) {
    let at = |key: &str| format!("{path}.hold.{key}");
    let mut seen = 0u8;
    for &class in &hold.classes {
        if class > 7 {
            report.refuse(at("classes"), class, "must be a class, 0 to 7");
            continue;
        }
        if seen >> class & 1 == 1 {
            report.refuse(at("classes"), class, "is listed twice");
        }
        seen |= 1 << class;
        if enabled >> class & 1 == 1 {
            report.refuse(
                at("classes"),
                class,
                "is enabled in PFCEnableVector, so the NIC would resume it; take it out of one",
            );
        }
    }
    if hold.classes.is_empty() {
        report.refuse(at("classes"), "[]", "must name a class; leave `hold` out to hold none");
    }
    limits::time(&at("from"), hold.from, report);
    if let Some(until) = hold.until {
        limits::time(&at("until"), until, report);
        if until <= hold.from {
            report.refuse(at("until"), until, format!("must be after from = {}", hold.from));
        }
    }
}
