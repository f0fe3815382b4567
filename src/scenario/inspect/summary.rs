//! The head of the page: how long, what the hosts do, what is sent.

use super::{Page, plural, size};
use crate::scenario::{Collective, Nic, Scenario, Traffic, Until};
use crate::units::Ps;

/// What a collective comes to: `all-reduce by ring of 8 ranks, 126 transfers of 14,000 B in all`.
fn collective(collective: &Collective, hosts: u64) -> String {
    let (what, how) = (collective.operation.name(), collective.algorithm().name());
    let ranks = plural(collective.size(hosts), "rank");
    let transfers = plural(collective.flows(hosts), "transfer");
    let bytes = u64::try_from(collective.total_bytes(hosts)).unwrap_or(u64::MAX);
    format!("{what} by {how} of {ranks}, {transfers} of {} in all", size(bytes))
}

impl Page {
    pub(super) fn summary(&mut self, scenario: &Scenario) {
        self.title("Scenario");
        let duration = scenario.duration;
        self.line(match scenario.until {
            Until::Duration => format!("  runs for {duration}"),
            Until::Drained => format!("  runs until drained, at most {duration}"),
        });
        if scenario.warm_up > Ps(0) {
            self.line(format!("  statistics of `jobs` begin at {}", scenario.warm_up));
        }
        self.nics(&scenario.nic);
        for (place, traffic) in scenario.traffic.iter().enumerate() {
            let common = traffic.common();
            let what = match traffic {
                Traffic::Flows(t) => plural(t.flows.len() as u64, "flow"),
                Traffic::Trace(t) => t.file.clone(),
                Traffic::Collective(t) => collective(t, scenario.topology.hosts()),
                _ => {
                    let buffer = &scenario.switch.shared_buffer_manager;
                    match scenario.nic.packets() {
                        None => format!(
                            "class {}, packets of {}",
                            buffer.class_of(common.dscp, common.role),
                            size(common.packet.0)
                        ),
                        Some(own) if own.data_class.is_some() => {
                            format!("class 0, packets of up to {}", size(own.largest(u64::MAX)))
                        }
                        Some(own) => format!(
                            "class {}, packets of up to {}",
                            common.dscp / 8,
                            size(own.largest(u64::MAX))
                        ),
                    }
                }
            };
            self.line(format!("  traffic[{place}]: {}, {what}", traffic.pattern()));
        }
    }

    /// What the hosts do that a plain sender and receiver would not.
    fn nics(&mut self, nic: &Nic) {
        let mut said = Vec::new();
        if nic.ignore_pfc {
            said.push("ignore PFC".to_owned());
        } else if nic.pfc_response_time > Ps(0) {
            said.push(format!("act on PFC after {}", nic.pfc_response_time));
        }
        if let Some(rate) = nic.receive_rate {
            said.push(format!("take what they receive at {rate}"));
        }
        if let Some(hold) = &nic.hold {
            let classes: Vec<String> = hold.classes.iter().map(u64::to_string).collect();
            let until = hold.until.map_or("the end".to_owned(), |until| until.to_string());
            let classes = classes.join(", ");
            said.push(format!("hold class {classes} from {} to {until}", hold.from));
        }
        if !nic.hosts.is_empty() {
            let some: Vec<String> = nic.hosts.keys().take(8).map(u32::to_string).collect();
            let more = if nic.hosts.len() > 8 { ", ..." } else { "" };
            said.push(format!("have their own settings at host {}{more}", some.join(", ")));
        }
        if !said.is_empty() {
            self.line(format!("  hosts {}", said.join("; ")));
        }
    }
}
