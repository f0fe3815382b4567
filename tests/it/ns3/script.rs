//! A switch and its hosts, written down link by link, for runs whose every instant is worked out
//! by hand. Times are ns, rates Gbps.

use super::NS;
use poolsweep::scenario::links::{Link, LinkEnd, NetworkPlan, PortPlan, SwitchPlan};
use poolsweep::sim::observe::{DropReason, FlowRow, Observations};
use poolsweep::sim::random::Seeds;
use poolsweep::sim::run_on;
use poolsweep::sim::traffic::Traces;
use serde_json::{Value, json};

/// Source, destination, priority, payload bytes, start.
pub type Flow = (u32, u32, u64, u64, u64);

/// One switch; host `n` is at its port `n`.
pub struct Script {
    /// Rate and delay of each host's link.
    pub lines: Vec<(u64, u64)>,
    pub switch: Value,
    /// Block `HPCC` of the NICs.
    pub nic: Value,
    /// A host that pauses its switch: host, class, from, until.
    pub hold: Option<(u32, u64, u64, u64)>,
    pub flows: Vec<Flow>,
    pub duration: u64,
    /// Length of an interval. With one of 1, what happened in it happened at its start.
    pub interval: u64,
}

impl Script {
    fn plan(&self) -> NetworkPlan {
        let node = self.lines.len() as u32;
        let end = |node, port| LinkEnd { node, port };
        let links = (0..).zip(&self.lines).map(|(host, &(rate, delay))| Link {
            a: end(host, 0),
            b: end(node, host),
            rate: rate * 1_000_000_000,
            delay: delay * NS,
        });
        let ports = (0..node)
            .map(|host| PortPlan { link: host as usize, peer: end(host, 0), up: false })
            .collect();
        NetworkPlan {
            hosts: node,
            switches: vec![SwitchPlan { node, ports }],
            links: links.collect(),
        }
    }

    pub fn run(&self) -> Observations {
        let flows = self.flows.iter().map(|&(src, dst, priority, bytes, start)| {
            json!({"src": src, "dst": dst, "dscp": priority * 8, "bytes": bytes,
                "start": start * NS})
        });
        let mut nic = json!({"model": "hpcc", "HPCC": self.nic});
        if let Some((host, class, from, until)) = self.hold {
            let hold = json!({"classes": [class], "from": from * NS, "until": until * NS});
            nic["hosts"] = json!({host.to_string(): {"hold": hold}});
        }
        let mut switch = self.switch.clone();
        switch["EcnMaps"] = json!({"ENABLE_QCN": false});
        let scenario = serde_json::from_value(json!({
            "duration": self.duration * NS,
            "timing": "whole-ns",
            "topology": {"kind": "single-switch", "hosts": self.lines.len()},
            "switch": switch,
            "nic": nic,
            "traffic": [{"pattern": "flows", "flows": flows.collect::<Vec<_>>()}],
            "record": {"tables": ["pfc_events", "flows", "drops", "transport"],
                "interval": self.interval * NS},
            "budget": {},
        }))
        .expect("a scenario");
        run_on(&scenario, &self.plan(), Seeds::default(), &Traces::default()).expect("it runs")
    }
}

/// When each flow was acknowledged to its end, in the order of the script.
pub fn ends(run: &Observations) -> Vec<Option<u64>> {
    in_order(run).iter().map(|flow| flow.end.map(|end| end / NS)).collect()
}

/// The flows in the order of the script.
pub fn in_order(run: &Observations) -> Vec<&FlowRow> {
    let mut flows: Vec<&FlowRow> = run.flows.iter().collect();
    flows.sort_unstable_by_key(|flow| flow.flow_id);
    flows
}

/// Drops in order: when, at which port, why.
pub fn drops(run: &Observations) -> Vec<(u64, u32, DropReason)> {
    let mut drops = Vec::new();
    for row in &run.drops {
        assert_eq!(row.packets, 1, "no two at once");
        drops.push((row.sim_time / NS - 1, row.port, row.reason));
    }
    drops.sort_unstable_by_key(|&(at, port, _)| (at, port));
    drops
}

/// PFC frames received, in order: when, by which node, for which class, pause or resume.
pub fn frames(run: &Observations) -> Vec<(u64, u32, u8, bool)> {
    run.pfc_events.iter().map(|row| (row.sim_time / NS, row.node, row.tc, row.pause)).collect()
}

/// When a host first sent each of its negative acknowledgements.
pub fn nacks(run: &Observations, host: u32) -> Vec<u64> {
    let rows = run.transport.iter().filter(|row| row.node == host);
    rows.filter(|row| row.stats.nack_pkts_sent > row.before.nack_pkts_sent)
        .map(|row| row.sim_time / NS - 1)
        .collect()
}
