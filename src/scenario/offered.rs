//! What a scenario's traffic asks of the switches, without expanding it.
//!
//! Owns which classes carry traffic and how large their packets get. A trace counts with its
//! entry's own settings only: its flows are in a file, which this room does not read.

use super::traffic::{Common, Traffic};
use super::{RingSteps, Scenario};

/// Smallest number of bytes a packet is charged.
pub const MIN_CHARGE: u64 = 46;
/// Ethernet header and frame check sequence: bytes on the wire beyond the IP packet.
pub const FRAME_OVERHEAD: u64 = 18;

/// Largest code point.
pub(super) const MAX_DSCP: u64 = 63;

/// Classes and packets of a scenario's traffic under the default policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offered {
    /// Classes that carry traffic, bit n is class n.
    pub classes: u8,
    /// Largest packet of each class as charged, bytes; 0 without traffic.
    pub largest: [u64; 8],
    /// Place in `traffic` of the first entry that uses the class.
    pub first: [Option<usize>; 8],
}

impl Offered {
    /// Goes through the traffic of a scenario once. Code points above 63 are passed over.
    pub fn new(scenario: &Scenario) -> Offered {
        let mut offered = Offered::default();
        let hosts = scenario.topology.hosts().max(1);
        for (entry, traffic) in scenario.traffic.iter().enumerate() {
            let common = traffic.common();
            let mut one = |bytes: u64| offered.add(entry, common.dscp, common.packet.0.min(bytes));
            match traffic {
                Traffic::Incast(t) => one(t.bytes.0),
                Traffic::Permutation(t) => one(t.bytes.0),
                Traffic::AllToAll(t) => one(t.bytes.0),
                Traffic::Ring(t) => one(match t.steps {
                    RingSteps::One => t.bytes.0,
                    RingSteps::AllReduce => t.bytes.0.div_ceil(hosts),
                }),
                Traffic::Uniform(t) => one(t.bytes.map_or(u64::MAX, |b| b.0)),
                Traffic::OnOff(_) => one(u64::MAX),
                Traffic::Trace(_) => {}
                Traffic::Collective(t) => one(t.largest_transfer(hosts)),
                Traffic::Flows(t) => {
                    for flow in &t.flows {
                        let packet = flow.packet.unwrap_or(common.packet).0.min(flow.bytes.0);
                        offered.add(entry, flow.dscp.unwrap_or(common.dscp), packet);
                    }
                }
            }
        }
        offered
    }

    fn add(&mut self, entry: usize, dscp: u64, packet: u64) {
        if dscp > MAX_DSCP {
            return;
        }
        let class = (dscp / 8) as usize;
        self.classes |= 1 << class;
        self.largest[class] = self.largest[class].max(packet.max(MIN_CHARGE));
        self.first[class].get_or_insert(entry);
    }

    /// Largest packet of all classes as charged; that of [`Common`]'s default without traffic.
    pub fn largest_packet(&self) -> u64 {
        match self.largest.into_iter().max() {
            Some(largest) if largest > 0 => largest,
            _ => Common::default().packet.0,
        }
    }

    /// Largest packet of a class (0 to 7) as charged; of all classes if it carries none.
    pub fn largest_of(&self, class: u8) -> u64 {
        match self.largest[usize::from(class)] {
            0 => self.largest_packet(),
            largest => largest,
        }
    }

    /// Whether a class (0 to 7) carries traffic.
    pub fn carries(&self, class: u8) -> bool {
        self.classes >> class & 1 == 1
    }
}

impl Traffic {
    /// The settings every pattern has.
    pub fn common(&self) -> &Common {
        match self {
            Traffic::Incast(t) => &t.common,
            Traffic::Permutation(t) => &t.common,
            Traffic::AllToAll(t) => &t.common,
            Traffic::Ring(t) => &t.common,
            Traffic::Uniform(t) => &t.common,
            Traffic::OnOff(t) => &t.common,
            Traffic::Flows(t) => &t.common,
            Traffic::Trace(t) => &t.common,
            Traffic::Collective(t) => &t.common,
        }
    }

    /// The pattern's name in a file.
    pub fn pattern(&self) -> &'static str {
        match self {
            Traffic::Incast(_) => "incast",
            Traffic::Permutation(_) => "permutation",
            Traffic::AllToAll(_) => "all-to-all",
            Traffic::Ring(_) => "ring",
            Traffic::Uniform(_) => "uniform",
            Traffic::OnOff(_) => "on-off",
            Traffic::Flows(_) => "flows",
            Traffic::Trace(_) => "trace",
            Traffic::Collective(_) => "collective",
        }
    }
}

/// The classes of a mask (bit n is class n), for people: `0, 1`.
pub(super) fn classes(mask: u8) -> String {
    let names: Vec<String> =
        (0..8).filter(|class| mask >> class & 1 == 1).map(|class| class.to_string()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn offered(traffic: serde_json::Value) -> Offered {
        let scenario: Scenario = serde_json::from_value(json!({
            "duration": 1, "topology": {"kind": "single-switch", "hosts": 4}, "traffic": traffic,
        }))
        .unwrap();
        Offered::new(&scenario)
    }

    #[test]
    fn classes_and_packets_follow_the_traffic() {
        let o = offered(json!([
            {"pattern": "incast", "senders": 1, "bytes": 10_000, "packet": 1500, "dscp": 15},
            {"pattern": "permutation", "bytes": 10, "dscp": 16},
            {"pattern": "ring", "bytes": 401, "steps": "all-reduce", "dscp": 24},
            {"pattern": "flows", "dscp": 8, "flows": [
                {"src": 0, "dst": 1, "bytes": 9000},
                {"src": 0, "dst": 1, "bytes": 9000, "dscp": 63, "packet": 9000},
                {"src": 0, "dst": 1, "bytes": 9000, "dscp": 64},
            ]},
            {"pattern": "trace", "file": "f", "dscp": 32},
            {"pattern": "collective", "operation": "all-to-all", "bytes": 401, "dscp": 40},
            {"pattern": "collective", "operation": "barrier", "dscp": 48},
        ]));
        assert_eq!(o.classes, 0b1110_1110);
        assert_eq!(o.largest, [0, 4_000, MIN_CHARGE, 101, 0, 101, MIN_CHARGE, 9_000]);
        assert_eq!(o.first[1], Some(0));
        assert_eq!(o.first[7], Some(3));
        assert_eq!((o.largest_packet(), o.largest_of(1), o.largest_of(0)), (9_000, 4_000, 9_000));
    }

    #[test]
    fn without_traffic_the_default_packet_stands_in() {
        let o = offered(json!([]));
        assert_eq!((o.classes, o.largest_packet(), o.largest_of(3)), (0, 4_000, 4_000));
    }
}
