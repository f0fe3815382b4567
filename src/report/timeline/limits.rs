//! Thresholds that stand in the scenario: fixed lines in a chart.

use crate::scenario::Scenario;
use serde_json::Value;

/// What a job's scenario says about nodes, classes and thresholds.
#[derive(Debug)]
pub struct Limits {
    /// Hosts have the numbers below this; none: unknown.
    hosts: Option<u64>,
    /// The settings of the buffer, if all switches have the same, of the model `scala`.
    manager: Option<Value>,
}

impl Limits {
    /// Of a scenario as recorded; of one that this version cannot read, nothing is known.
    pub fn of(scenario: &str) -> Limits {
        let value: Value = serde_json::from_str(scenario).unwrap_or(Value::Null);
        let typed = serde_json::from_str::<Scenario>(scenario).ok();
        let switch = &value["switch"];
        let tiers = match &switch["tiers"] {
            Value::Object(tiers) => !tiers.is_empty(),
            Value::Array(tiers) => !tiers.is_empty(),
            _ => false,
        };
        let known = switch["model"] == "scala" && !tiers;
        Limits {
            hosts: typed.map(|scenario| scenario.topology.hosts()),
            manager: known.then(|| switch["SharedBufferManager"].clone()),
        }
    }

    /// `host 3`, `switch 128`.
    pub fn name(&self, node: i64) -> String {
        match self.hosts {
            Some(hosts) if u64::try_from(node).is_ok_and(|n| n < hosts) => format!("host {node}"),
            Some(_) => format!("switch {node}"),
            None => format!("node {node}"),
        }
    }

    /// The pool of a class.
    pub fn pool(&self, class: i64) -> Option<i64> {
        let class = usize::try_from(class).ok()?;
        self.manager.as_ref()?["TrafficClassPoolMapping"].get(class)?.as_i64()
    }

    /// The fixed thresholds of a counter of a pool, the highest first.
    pub fn lines(&self, counter: &str, pool: i64) -> Vec<(&'static str, i64)> {
        let Some(manager) = &self.manager else { return Vec::new() };
        let names: &[(&str, &str)] = match counter {
            "ingressUsage" if self.pauses(manager, pool) => {
                &[("Xoff", "StaticPoolXoffThreshold"), ("Xon", "StaticPoolXonThreshold")]
            }
            "hdrm" => &[("headroom limit", "HeadRoomPerPortLimit")],
            _ => &[],
        };
        names.iter().filter_map(|&(name, key)| Some((name, manager[key].as_i64()?))).collect()
    }

    /// Whether a class of the pool pauses.
    fn pauses(&self, manager: &Value, pool: i64) -> bool {
        (0..8).any(|class| {
            let on = &manager["EnablePFC"][class as usize];
            self.pool(class) == Some(pool) && (on.as_i64() == Some(1) || *on == Value::Bool(true))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"{"switch": {"model": "scala", "SharedBufferManager": {
        "EnablePFC": [0, 1, 0, 0, 0, 0, 0, 0], "TrafficClassPoolMapping": [0, 1, 1, 0, 0, 0, 0, 0],
        "StaticPoolXoffThreshold": 700000, "StaticPoolXonThreshold": 300000,
        "HeadRoomPerPortLimit": 46000}}}"#;

    #[test]
    fn thresholds_are_those_of_the_pool() {
        let limits = Limits::of(SCENARIO);
        assert_eq!(limits.lines("ingressUsage", 1), [("Xoff", 700_000), ("Xon", 300_000)]);
        // No class of pool 0 pauses.
        assert!(limits.lines("ingressUsage", 0).is_empty());
        assert_eq!(limits.lines("hdrm", 1), [("headroom limit", 46_000)]);
        assert!(limits.lines("egressQueue", 1).is_empty());
        assert_eq!(limits.pool(2), Some(1));
        // Not a whole scenario: how many hosts there are is not known.
        assert_eq!(limits.name(3), "node 3");
    }

    #[test]
    fn other_models_have_limits_that_move() {
        let limits = Limits::of(&SCENARIO.replace("scala", "hpcc"));
        assert!(limits.lines("ingressUsage", 1).is_empty());
        assert_eq!(limits.pool(1), None);
        assert!(Limits::of("not json").lines("hdrm", 0).is_empty());
    }
}
