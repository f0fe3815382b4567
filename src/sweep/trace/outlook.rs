//! What a plan has to know of a trace: enough to refuse points it does not fit.
//!
//! Owns the largest host number and the classes of a trace's flows, and the rules they break in a
//! scenario. Refuses to keep the flows.

use crate::scenario::check::Finding;
use crate::scenario::{Scenario, Trace};
use crate::sim::traffic::TraceFlow;

/// A trace in a few numbers. Flows are counted from 0, as in the table of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Outlook {
    /// The largest host number, with the first flow and the column that has it.
    highest: Option<(u32, usize, &'static str)>,
    /// By class: the first flow whose own code point is of it.
    classes: [Option<usize>; 8],
    /// The first flow that takes its code point from the pattern.
    plain: Option<usize>,
}

impl Outlook {
    /// Goes through the flows of a trace once.
    pub fn of(flows: &[TraceFlow]) -> Outlook {
        let mut outlook = Outlook::default();
        for (place, flow) in flows.iter().enumerate() {
            for (column, host) in [("src", flow.src), ("dst", flow.dst)] {
                if outlook.highest.is_none_or(|(highest, ..)| host > highest) {
                    outlook.highest = Some((host, place, column));
                }
            }
            let first = match flow.dscp {
                Some(dscp) => &mut outlook.classes[usize::from(dscp / 8 % 8)],
                None => &mut outlook.plain,
            };
            first.get_or_insert(place);
        }
        outlook
    }

    /// The rules that entry `place` of a scenario's `traffic` breaks with this trace: a host that
    /// is not there, a class whose pool does not exist.
    pub fn refusals(&self, place: usize, trace: &Trace, scenario: &Scenario) -> Vec<Finding> {
        let mut found = Vec::new();
        let hosts = scenario.topology.hosts();
        let finding = |rule: String| Finding {
            attribute: format!("traffic[{place}].file"),
            value: trace.file.clone(),
            rule,
        };
        if let Some((host, flow, column)) = self.highest
            && u64::from(host) >= hosts
        {
            found.push(finding(format!(
                "flow {flow} (from 0) has {column} {host}, but there are only hosts 0 to {}",
                hosts.saturating_sub(1)
            )));
        }
        let buffer = &scenario.switch.shared_buffer_manager;
        if buffer.uet_policy_enabled {
            // Classes follow from roles, and all of them have a pool.
            return found;
        }
        let packets = scenario.nic.packets();
        if packets.is_some_and(|own| own.data_class.is_some()) {
            // The NICs have a class of their own for data, whatever the file says.
            return found;
        }
        let nic_pools = packets.map(|_| scenario.nic.egress.pools());
        for class in 0..8 {
            let plain = self.plain.filter(|_| trace.common.dscp / 8 == class as u64);
            let Some(flow) = self.classes[class].into_iter().chain(plain).min() else { continue };
            // A mapping to no pool at all is refused where the switch is checked.
            let pool = buffer.traffic_class_pool_mapping[class];
            let share = usize::try_from(pool).ok().and_then(|p| buffer.pool_allocation_map.get(p));
            if share.is_some_and(|share| *share == 0.0) {
                found.push(finding(format!(
                    "flow {flow} (from 0) is of class {class}, but its pool {pool} does not \
                     exist: its share in PoolAllocationMap is 0"
                )));
            }
            if nic_pools.is_some_and(|pools| pools[class] == 0) {
                found.push(finding(format!(
                    "flow {flow} (from 0) is of class {class}, which has no pool in the NICs: \
                     give it a share in nic.Egress.PoolAllocationVector and \
                     nic.Ingress.PoolAllocationVector"
                )));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::trace::parse_trace;
    use std::path::Path;

    #[test]
    fn the_largest_host_and_every_class_are_kept_with_their_first_flow() {
        let text = "src,dst,bytes,start_ns,dscp\n1,0,9,0,\n0,7,9,0,46\n7,2,9,0,40\n3,2,9,0,0\n";
        let flows = parse_trace(Path::new("t.csv"), text.as_bytes()).unwrap();
        let outlook = Outlook::of(&flows);
        assert_eq!(outlook.highest, Some((7, 1, "dst")));
        assert_eq!(outlook.plain, Some(0));
        let mut classes = [None; 8];
        (classes[5], classes[0]) = (Some(1), Some(3));
        assert_eq!(outlook.classes, classes);
        assert_eq!(Outlook::of(&[]), Outlook::default());
    }

    /// What a scenario with a NIC model says of a trace with flows of classes 0 and 2.
    fn refusals(model: &str) -> Vec<String> {
        let flows = parse_trace(
            Path::new("t.csv"),
            b"src,dst,bytes,start_ns,dscp\n1,0,9,0,0\n0,1,9,0,16\n",
        );
        let trace = serde_json::json!({"pattern": "trace", "file": "t.csv"});
        let scenario: Scenario = serde_json::from_value(serde_json::json!({
            "duration": 1, "topology": {"kind": "single-switch", "hosts": 4},
            "nic": {"model": model}, "traffic": [trace],
        }))
        .unwrap();
        let trace: Trace = serde_json::from_value(trace).unwrap();
        let found = Outlook::of(&flows.unwrap()).refusals(0, &trace, &scenario);
        found.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_class_needs_a_pool_in_reactive_nics_that_send_it() {
        assert_eq!(refusals("open-loop"), Vec::<String>::new());
        assert_eq!(refusals("uet"), Vec::<String>::new());
        assert_eq!(
            refusals("roce"),
            ["traffic[0].file = t.csv: flow 1 (from 0) is of class 2, which has no pool in the \
              NICs: give it a share in nic.Egress.PoolAllocationVector and \
              nic.Ingress.PoolAllocationVector"]
        );
    }

    #[test]
    fn a_class_without_a_pool_is_no_matter_where_roles_decide() {
        let text = "src,dst,bytes,start_ns,dscp\n1,0,9,0,40\n";
        let flows = parse_trace(Path::new("t.csv"), text.as_bytes()).unwrap();
        let mut scenario: Scenario = serde_json::from_value(serde_json::json!({
            "duration": 1, "topology": {"kind": "single-switch", "hosts": 2},
            "switch": {"SharedBufferManager": {"TrafficClassPoolMapping": [0, 1, 0, 0, 0, 6, 0, 0]}},
            "traffic": [{"pattern": "trace", "file": "t.csv"}],
        }))
        .unwrap();
        let refused = |scenario: &Scenario| {
            let crate::scenario::Traffic::Trace(trace) = &scenario.traffic[0] else {
                panic!("a trace")
            };
            Outlook::of(&flows).refusals(0, trace, scenario).len()
        };
        assert_eq!(refused(&scenario), 1);
        scenario.switch.shared_buffer_manager.uet_policy_enabled = true;
        assert_eq!(refused(&scenario), 0);
    }
}
