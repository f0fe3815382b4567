//! What a scenario's traffic asks of the switches, without expanding it.
//!
//! Owns which classes carry traffic and how large their packets get. A trace counts with its
//! entry's own settings only: its flows are in a file, which this room does not read. With reactive
//! NICs sizes are those of their packets, and what answers data is offered too.

use super::nic::Packets;
use super::traffic::{Common, FlowEntry, Role, Traffic};
use super::{NicModel, RingSteps, Scenario};

/// Smallest number of bytes a packet is charged.
pub const MIN_CHARGE: u64 = 46;
/// Ethernet header and frame check sequence: bytes on the wire beyond the IP packet.
pub const FRAME_OVERHEAD: u64 = 18;
/// IP bytes of a trimmed packet.
const TRIMMED: u64 = 44;

/// Largest code point.
pub(super) const MAX_DSCP: u64 = 63;

/// Classes and packets of a scenario's traffic: by role under the UET policy, by code point without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offered {
    /// Classes that carry traffic, bit n is class n.
    pub classes: u8,
    /// Largest packet of each class as charged, bytes; 0 without traffic.
    pub largest: [u64; 8],
    /// Place in `traffic` of the first entry that uses the class.
    pub first: [Option<usize>; 8],
    /// Classes that carry data, bit n is class n; the others only carry what answers it.
    pub data: u8,
}

impl Offered {
    /// Goes through the traffic of a scenario once. Code points above 63 are passed over.
    pub fn new(scenario: &Scenario) -> Offered {
        let mut offered = Offered::default();
        let hosts = scenario.topology.hosts().max(1);
        let sender = Sender { scenario, packets: scenario.nic.packets() };
        for (entry, traffic) in scenario.traffic.iter().enumerate() {
            let common = traffic.common();
            let mut one = |bytes: u64| {
                let Common { dscp, role, packet, .. } = *common;
                sender.offer(&mut offered, entry, dscp, role, (packet.0, bytes));
            };
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
                Traffic::Trace(_) => sender.offer_trace(&mut offered, entry),
                Traffic::Collective(t) => one(t.largest_transfer(hosts)),
                Traffic::Flows(t) => {
                    for flow in &t.flows {
                        let packet = flow.packet.unwrap_or(common.packet).0;
                        let dscp = flow.dscp.unwrap_or(common.dscp);
                        let role = flow.role.or(common.role);
                        sender.offer(&mut offered, entry, dscp, role, (packet, flow.bytes.0));
                    }
                }
            }
        }
        offered
    }

    fn add(&mut self, entry: usize, class: Option<u8>, packet: u64) {
        let Some(class) = class.map(usize::from) else { return };
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

/// What the hosts make of a flow.
struct Sender<'a> {
    scenario: &'a Scenario,
    packets: Option<Packets>,
}

impl Sender<'_> {
    /// A flow in packets of at most `packet` IP bytes, or as the NIC's model cuts it.
    fn offer(
        &self,
        offered: &mut Offered,
        entry: usize,
        dscp: u64,
        role: Option<Role>,
        (packet, bytes): (u64, u64),
    ) {
        let buffer = &self.scenario.switch.shared_buffer_manager;
        let (class, largest) = match &self.packets {
            None => ((dscp <= MAX_DSCP).then(|| buffer.class_of(dscp, role)), packet.min(bytes)),
            Some(own) if buffer.uet_policy_enabled => {
                (Some(Role::NoTrim.class()), own.largest(bytes))
            }
            Some(own) => (own.class_of(dscp), own.largest(bytes)),
        };
        offered.add(entry, class, largest);
        offered.data |= class.map_or(0, |class| 1 << class);
        self.answer(offered, entry);
    }

    /// The flows of a file: their classes only if the NICs have a class of their own for data.
    fn offer_trace(&self, offered: &mut Offered, entry: usize) {
        match &self.packets {
            Some(Packets { data_class: Some(_), .. }) => {
                self.offer(offered, entry, 0, None, (0, u64::MAX));
            }
            _ => self.answer(offered, entry),
        }
    }

    /// What reactive NICs send because of data.
    fn answer(&self, offered: &mut Offered, entry: usize) {
        let Some(own) = &self.packets else { return };
        let nic = &self.scenario.nic;
        if nic.model == NicModel::Hpcc && !nic.hpcc.ack_high_prio {
            // Answers are in their data's class, and smaller.
            return;
        }
        let switch = &self.scenario.switch;
        let uet = switch.shared_buffer_manager.uet_policy_enabled;
        let class = if uet { Role::Control.class() } else { own.control_class };
        offered.add(entry, Some(class), own.control);
        if uet && switch.packet_trimmer.trimming_enabled {
            offered.add(entry, Some(Role::Trimmed.class()), TRIMMED);
        }
    }
}

/// The first of an entry's listed flows that has something of its own, and where: one warning
/// stands for a list of thousands.
pub(super) fn first_listed<T>(
    traffic: &Traffic,
    place: usize,
    key: &str,
    own: impl Fn(&FlowEntry) -> Option<T>,
) -> Option<(String, T)> {
    let Traffic::Flows(listed) = traffic else { return None };
    let mut flows = listed.flows.iter().enumerate();
    flows.find_map(|(i, flow)| Some((format!("traffic[{place}].flows[{i}].{key}"), own(flow)?)))
}

/// The classes of a mask (bit n is class n), for people: `0, 1`.
pub fn classes(mask: u8) -> String {
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
    fn under_the_uet_policy_the_role_is_the_class() {
        let scenario: Scenario = serde_json::from_value(json!({
            "duration": 1, "topology": {"kind": "single-switch", "hosts": 4},
            "switch": {"SharedBufferManager": {"UETPolicyEnabled": true}},
            "traffic": [
                {"pattern": "incast", "senders": 1, "bytes": 10_000, "packet": 1500, "dscp": 40},
                {"pattern": "flows", "role": "control", "flows": [
                    {"src": 0, "dst": 1, "bytes": 64},
                    {"src": 0, "dst": 1, "bytes": 90, "role": "trimmed"},
                    {"src": 0, "dst": 1, "bytes": 9000, "role": "trimmable-retransmit"},
                ]},
            ],
        }))
        .unwrap();
        let o = Offered::new(&scenario);
        assert_eq!((o.classes, o.largest), (0b111, [4_000, 90, 64, 0, 0, 0, 0, 0]));
        assert_eq!(o.first[..3], [Some(0), Some(1), Some(1)]);
    }

    fn reactive(nic: serde_json::Value, switch: serde_json::Value) -> Offered {
        let scenario: Scenario = serde_json::from_value(json!({
            "duration": 1, "topology": {"kind": "single-switch", "hosts": 4},
            "nic": nic, "switch": switch,
            "traffic": [
                {"pattern": "trace", "file": "f", "dscp": 40},
                {"pattern": "incast", "senders": 1, "bytes": 10_000, "packet": 1500, "dscp": 16},
                {"pattern": "incast", "senders": 1, "bytes": 12, "dscp": 24},
            ],
        }))
        .unwrap();
        Offered::new(&scenario)
    }

    #[test]
    fn reactive_nics_cut_flows_themselves_and_answer_them() {
        let o = reactive(json!({"model": "roce"}), json!({}));
        assert_eq!((o.classes, o.data), (0b1110, 0b1100));
        assert_eq!(o.largest[..4], [0, 108, 4_136, 52]);
        assert_eq!(o.first[..4], [None, Some(0), Some(1), Some(2)]);
        let own = json!({"model": "roce", "ScalaRoceTransport": {"RdmaControlPacketTC": 5}});
        assert_eq!(reactive(own, json!({})).classes, 0b10_1100);
        let o = reactive(json!({"model": "fixed-window"}), json!({}));
        assert_eq!(o.largest[..4], [0, 60, 4_184, 100]);
    }

    #[test]
    fn uet_has_classes_of_its_own() {
        let uet = json!({"model": "uet"});
        let o = reactive(uet.clone(), json!({}));
        assert_eq!((o.data, o.largest[..3].to_vec()), (0b1, vec![4_184, 60, 0]));
        let policy = json!({"SharedBufferManager": {"UETPolicyEnabled": true}});
        let o = reactive(uet.clone(), policy);
        assert_eq!((o.data, o.largest[..3].to_vec()), (0b1, vec![4_184, 0, 60]));
        let trimming = json!({"SharedBufferManager": {"UETPolicyEnabled": true},
            "PacketTrimmer": {"TrimmingEnabled": true}});
        assert_eq!(reactive(uet, trimming).largest[..3], [4_184, 46, 60]);
    }

    #[test]
    fn without_traffic_the_default_packet_stands_in() {
        let o = offered(json!([]));
        assert_eq!((o.classes, o.largest_packet(), o.largest_of(3)), (0, 4_000, 4_000));
    }
}
