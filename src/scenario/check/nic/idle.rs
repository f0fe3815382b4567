//! Warnings about attributes that the chosen NIC model does not read.

use crate::scenario::attributes::{self, Kind};
use crate::scenario::check::Report;
use crate::scenario::offered::{MAX_DSCP, first_listed};
use crate::scenario::{Common, FlowEntry, Nic, NicModel, Scenario, SwitchModel, Table, Traffic};
use crate::units::{BitRate, Bytes, Ps};
use serde_json::Value;

/// Attributes of other models, and what a reactive model decides itself.
pub(super) fn check(scenario: &Scenario, report: &mut Report) {
    blocks(&scenario.nic, report);
    unscheduled(scenario, report);
    if scenario.nic.model.is_reactive() {
        flows(scenario, report);
    } else if scenario.record.has(Table::Transport) {
        let rule = "has no rows with nic.model = open-loop: there is no transport";
        report.warn("record.tables", "transport", rule);
    }
}

/// A label nobody writes, or nobody reads.
fn unscheduled(scenario: &Scenario, report: &mut Report) {
    let Some(bytes) = scenario.nic.unscheduled else { return };
    let (nic, switch) = (scenario.nic.model, scenario.switch.model);
    let path = "nic.unscheduled";
    if !nic.labels_unscheduled() {
        let rule = format!("has no effect with nic.model = {}", nic.name());
        report.warn(path, bytes, rule);
    } else if switch != SwitchModel::Ns3Datacenter {
        let rule = format!("has no effect with switch.model = {}", switch.name());
        report.warn(path, bytes, rule);
    }
}

/// What stands in the blocks of other models.
fn blocks(nic: &Nic, report: &mut Report) {
    let model = nic.model.name();
    let mut idle = nic.idle_blocks().peekable();
    if idle.peek().is_some() {
        // Texts are made only where there is something to say.
        let usual = Nic::of_model(nic.model).in_full();
        if let (Ok(own), Ok(usual)) = (nic.in_full(), usual) {
            for block in idle {
                let path = format!("nic.{}", block.key());
                differences(&path, &own[block.key()], &usual[block.key()], &mut |path, value| {
                    report.warn(path, value, format!("has no effect with nic.model = {model}"));
                });
            }
        }
    }
    if !nic.model.is_reactive() {
        for (host, own) in nic.hosts.iter().filter(|(_, own)| !own.host_link.is_none()) {
            let value = own.host_link.lane_count.map_or("given".to_owned(), |n| n.to_string());
            let rule = format!("has no effect with nic.model = {model}; use receive_rate");
            report.warn(format!("nic.hosts.{host}.HostLink"), value, rule);
        }
    }
}

/// Calls `say` with the path and value of every leaf that is not as usual.
fn differences(path: &str, own: &Value, usual: &Value, say: &mut impl FnMut(&str, String)) {
    match (own, usual) {
        (Value::Object(own), Value::Object(usual)) => {
            for (key, value) in own {
                let usual = usual.get(key).unwrap_or(&Value::Null);
                differences(&format!("{path}.{key}"), value, usual, say);
            }
        }
        (own, usual) if own != usual => say(path, shown(path, own)),
        _ => {}
    }
}

/// A value with its unit.
fn shown(path: &str, value: &Value) -> String {
    let kind = attributes::find(path).map(|attribute| attribute.kind);
    match (kind, value.as_u64(), value) {
        (Some(Kind::Bytes), Some(n), _) => Bytes(n).to_string(),
        (Some(Kind::Rate), Some(n), _) => BitRate(n).to_string(),
        (Some(Kind::Time), Some(n), _) => Ps(n).to_string(),
        (_, _, Value::String(word)) => word.clone(),
        (_, _, other) => other.to_string(),
    }
}

/// What flows ask for and a reactive NIC decides itself.
fn flows(scenario: &Scenario, report: &mut Report) {
    let nic = &scenario.nic;
    let policy = scenario.switch.shared_buffer_manager.uet_policy_enabled;
    let model = nic.model.name();
    let usual = Common::default();
    for (place, traffic) in scenario.traffic.iter().enumerate() {
        let common = traffic.common();
        let mut warn =
            |key: &str, common: Option<String>, listed: Option<(String, String)>, why: &str| {
                let rule = format!("has no effect with nic.model = {model}: {why}");
                if let Some(value) = common {
                    report.warn(format!("traffic[{place}].{key}"), value, rule.as_str());
                }
                if let Some((key, value)) = listed {
                    report.warn(key, value, rule);
                }
            };
        // Two patterns read their sizes from packet and rate, whoever sends them.
        let sizes = matches!(traffic, Traffic::Uniform(_) | Traffic::OnOff(_));
        let listed = |key: &str, own: &dyn Fn(&FlowEntry) -> Option<String>| {
            first_listed(traffic, place, key, own)
        };
        if !sizes {
            warn(
                "packet",
                (common.packet != usual.packet).then(|| common.packet.to_string()),
                listed("packet", &|flow| flow.packet.map(|packet| packet.to_string())),
                "packets follow its MSS",
            );
        }
        if !matches!(traffic, Traffic::OnOff(_)) {
            warn(
                "rate",
                common.rate.map(|rate| rate.to_string()),
                listed("rate", &|flow| flow.rate.map(|rate| rate.to_string())),
                "its window or rate control paces senders",
            );
        }
        warn(
            "ect",
            common.ect.then(|| "true".to_owned()),
            listed("ect", &|flow| flow.ect.map(|ect| ect.to_string())),
            "its own settings say whether data is ECN-capable",
        );
        warn(
            "role",
            common.role.map(|role| role.name().to_owned()),
            listed("role", &|flow| flow.role.map(|role| role.name().to_owned())),
            "it sets the code points itself",
        );
        // Under the policy no code point is read at all, which is said elsewhere.
        if nic.model == NicModel::Uet && !policy {
            let own = |dscp: u64| (dscp != 0 && dscp <= MAX_DSCP).then(|| dscp.to_string());
            warn(
                "dscp",
                own(common.dscp),
                listed("dscp", &|flow| flow.dscp.and_then(own)),
                "data is class 0, what answers it class 1",
            );
        }
    }
}
