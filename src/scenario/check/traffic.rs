//! Rules about the offered load.

use super::{Report, limits};
use crate::scenario::links::{MAX_RATE, MIN_RATE, Outline};
use crate::scenario::offered::{FRAME_OVERHEAD, MAX_DSCP};
use crate::scenario::{
    Burst, Collective, Common, Flows, NicModel, OnOff, Ring, RingSteps, Scenario, Traffic, Uniform,
};
use crate::units::{BitRate, Bytes, Ps};
use std::fmt::Display;

/// Largest IP packet.
const MAX_PACKET: u64 = 65_535;
/// Largest flow: tables keep signed integers.
const MAX_FLOW: u64 = i64::MAX as u64;
/// Largest load: beyond it a slip is likelier than a wish.
const MAX_LOAD: f64 = 100.0;
/// Most flows an entry may be expected to draw: as many as the default budget has events.
const MAX_FLOWS: f64 = 1e10;
/// Mean flow size taken for a distribution when flows are only estimated, bytes.
const SOME_SIZE: u64 = 1_000;
/// Picoseconds of a second, as a number.
const SECOND: f64 = 1e12;

pub(super) fn check(scenario: &Scenario, outline: Option<&Outline>, report: &mut Report) {
    if scenario.traffic.is_empty() {
        report.warn("traffic", "[]", "nothing is sent");
    }
    for (place, traffic) in scenario.traffic.iter().enumerate() {
        Entry { place, scenario, outline, report }.check(traffic);
    }
}

/// One entry of `traffic` under check.
struct Entry<'a> {
    place: usize,
    scenario: &'a Scenario,
    outline: Option<&'a Outline>,
    report: &'a mut Report,
}

impl Entry<'_> {
    fn at(&self, key: &str) -> String {
        format!("traffic[{}].{key}", self.place)
    }

    fn check(&mut self, traffic: &Traffic) {
        self.common(traffic.common());
        match traffic {
            Traffic::Incast(t) => {
                self.senders(t.receiver, t.senders);
                self.bytes(t.bytes);
            }
            Traffic::Permutation(t) => self.bytes(t.bytes),
            Traffic::AllToAll(t) => self.bytes(t.bytes),
            Traffic::Ring(t) => self.ring(t),
            Traffic::Uniform(t) => self.uniform(t),
            Traffic::OnOff(t) => self.on_off(t),
            Traffic::Flows(t) => self.flows(t),
            Traffic::Collective(t) => self.collective(t),
            Traffic::Trace(t) => {
                if t.file.is_empty() {
                    let at = self.at("file");
                    self.report.refuse(at, "\"\"", "must name a CSV or Parquet file");
                }
                let hex = t.blake3.len() == 64 && t.blake3.bytes().all(|b| b.is_ascii_hexdigit());
                if !t.blake3.is_empty() && !hex {
                    let at = self.at("blake3");
                    self.report.refuse(at, &t.blake3, "must be 64 hex digits; leave it out");
                }
            }
        }
    }

    fn collective(&mut self, collective: &Collective) {
        for fault in collective.faults(self.scenario.topology.hosts()) {
            let at = self.at(fault.key);
            self.report.refuse(at, fault.value, fault.rule);
        }
        if self.scenario.nic.model == NicModel::OpenLoop {
            let at = self.at("pattern");
            let rule = "its steps wait for one another, and an open-loop sender never learns what \
                        has arrived; choose a nic.model that reacts, such as uet, or send \
                        `all-to-all` or `ring` at fixed times";
            self.report.refuse(at, "collective", rule);
        }
    }

    fn common(&mut self, common: &Common) {
        self.packet("packet", common.packet);
        self.dscp("dscp", common.dscp);
        if let Some(rate) = common.rate {
            self.rate("rate", rate);
        }
        for (key, time) in [("start", common.start), ("jitter", common.jitter)] {
            if time.0 > limits::MAX_TIME {
                limits::time(&self.at(key), time, self.report);
            }
        }
        if common.start >= self.scenario.duration {
            let rule =
                format!("not before duration = {}: nothing of it is sent", self.scenario.duration);
            let at = self.at("start");
            self.report.warn(at, common.start, rule);
        }
    }

    fn packet(&mut self, key: &str, packet: Bytes) {
        if !(1..=MAX_PACKET).contains(&packet.0) {
            let at = self.at(key);
            self.report.refuse(at, packet, "an IP packet has 1B to 65535B");
        }
    }

    fn dscp(&mut self, key: &str, dscp: u64) {
        if dscp > MAX_DSCP {
            let at = self.at(key);
            self.report.refuse(at, dscp, "a code point is 0 to 63 (class × 8)");
        }
    }

    fn rate(&mut self, key: &str, rate: BitRate) {
        if !(MIN_RATE..=MAX_RATE).contains(&rate.0) {
            let at = self.at(key);
            self.report.refuse(at, rate, "a rate cap is 1kbps to 100Tbps; leave it out for none");
        }
    }

    fn flow_bytes(&mut self, key: &str, bytes: Bytes) {
        if !(1..=MAX_FLOW).contains(&bytes.0) {
            let at = self.at(key);
            self.report.refuse(at, bytes, "a flow has 1B to 9223372036854775807B");
        }
    }

    fn bytes(&mut self, bytes: Bytes) {
        self.flow_bytes("bytes", bytes);
    }

    fn host(&mut self, key: &str, host: u32) {
        let hosts = self.scenario.topology.hosts();
        if u64::from(host) >= hosts {
            let at = self.at(key);
            let rule = format!("there are only hosts 0 to {}", hosts.saturating_sub(1));
            self.report.refuse(at, host, rule);
        }
    }

    fn senders(&mut self, receiver: u32, senders: u32) {
        self.host("receiver", receiver);
        let most = self.scenario.topology.hosts().saturating_sub(1);
        if senders == 0 || u64::from(senders) > most {
            let at = self.at("senders");
            self.report.refuse(at, senders, format!("must be 1 to {most}, the other hosts"));
        }
    }

    fn ring(&mut self, ring: &Ring) {
        self.bytes(ring.bytes);
        let Some(step) = ring.step_time else { return };
        let at = self.at("step_time");
        if step.0 == 0 {
            self.report.refuse(at, step, "must be above 0s; leave it out for a step's wire time");
            return;
        }
        let steps = match ring.steps {
            RingSteps::One => 1,
            RingSteps::AllReduce => {
                self.scenario.topology.hosts().saturating_sub(1).saturating_mul(2)
            }
        };
        if step.0.saturating_mul(steps) > limits::MAX_TIME {
            self.report.refuse(at, step, format!("{steps} steps must take at most 1000000s"));
        }
    }

    fn length(&mut self, length: Option<Ps>) {
        let Some(length) = length else { return };
        let at = self.at("length");
        if length.0 == 0 {
            self.report.refuse(at, length, "must be above 0s; leave it out for the duration");
        } else {
            limits::time(&at, length, self.report);
        }
    }

    fn uniform(&mut self, uniform: &Uniform) {
        let load = uniform.load;
        if !(load > 0.0 && load <= MAX_LOAD) {
            let at = self.at("load");
            let rule = "must be above 0 and at most 100; 1 is the whole link rate";
            self.report.refuse(at, load, rule);
        } else if load > 1.0 {
            let at = self.at("load");
            self.report.warn(at, load, "above 1: the hosts offer more than their links carry");
        }
        match (uniform.bytes, uniform.sizes) {
            (Some(bytes), None) => self.bytes(bytes),
            (None, Some(_)) => {}
            (Some(bytes), Some(_)) => {
                let at = self.at("bytes");
                self.report.refuse(at, bytes, "give either bytes or sizes, not both");
            }
            (None, None) => {
                let at = self.at("bytes");
                self.report.refuse(at, "nothing", "give either bytes or sizes");
            }
        }
        self.length(uniform.length);
        if let Some(outline) = self.outline {
            let flow = uniform.bytes.map_or(SOME_SIZE, |b| b.0).saturating_add(FRAME_OVERHEAD);
            let a_second = outline.host_links.rate as f64 * load / (8.0 * flow as f64);
            self.count(uniform.length, a_second * f64::from(outline.hosts), "load", load);
        }
    }

    /// Refuses an entry that draws this many flows a second for longer than anybody would wait.
    fn count(&mut self, length: Option<Ps>, a_second: f64, key: &str, value: impl Display) {
        let length = length.unwrap_or(self.scenario.duration);
        let flows = length.0 as f64 / SECOND * a_second;
        if flows > MAX_FLOWS {
            let at = self.at(key);
            let rule = format!("makes about {flows:.0} flows in {length}; at most 10000000000");
            self.report.refuse(at, value, rule);
        }
    }

    fn on_off(&mut self, on_off: &OnOff) {
        self.senders(on_off.receiver, on_off.senders);
        self.length(on_off.length);
        limits::time(&self.at("off"), on_off.off, self.report);
        let at = self.at("on");
        if on_off.on.0 == 0 || on_off.on.0 > limits::MAX_TIME {
            self.report.refuse(at, on_off.on, "must be above 0s and at most 1000000s");
            return;
        }
        let cycle = on_off.on.0 as f64 + on_off.off.0 as f64;
        self.count(on_off.length, f64::from(on_off.senders) * SECOND / cycle, "on", on_off.on);
        let line = self.outline.map(|o| BitRate(o.host_links.rate));
        let Some(rate) = on_off.common.rate.or(line) else { return };
        // Bits times 10^12, so that nothing is rounded.
        let burst = u128::from(rate.0) * u128::from(on_off.on.0);
        let least = u128::from(FRAME_OVERHEAD + 1) * 8 * 1_000_000_000_000;
        if on_off.burst == Burst::Fixed && burst < least {
            let rule = format!("a burst this short at {rate} has no room for a 1B packet");
            self.report.refuse(at, on_off.on, rule);
        }
    }

    fn flows(&mut self, flows: &Flows) {
        if flows.flows.is_empty() {
            let at = self.at("flows");
            self.report.warn(at, "[]", "nothing of it is sent");
        }
        let hosts = self.scenario.topology.hosts();
        for (i, flow) in flows.flows.iter().enumerate() {
            // Lists run to a hundred thousand flows: no text is made for one that is fine.
            let fine = u64::from(flow.src.max(flow.dst)) < hosts
                && flow.src != flow.dst
                && (1..=MAX_FLOW).contains(&flow.bytes.0)
                && flow.packet.is_none_or(|p| (1..=MAX_PACKET).contains(&p.0))
                && flow.dscp.is_none_or(|d| d <= MAX_DSCP)
                && flow.rate.is_none_or(|r| (MIN_RATE..=MAX_RATE).contains(&r.0))
                && flow.start.0 <= limits::MAX_TIME;
            if fine {
                continue;
            }
            let key = |name: &str| format!("flows[{i}].{name}");
            self.host(&key("src"), flow.src);
            self.host(&key("dst"), flow.dst);
            if flow.src == flow.dst {
                let at = self.at(&key("dst"));
                self.report.refuse(at, flow.dst, "a host cannot send to itself");
            }
            self.flow_bytes(&key("bytes"), flow.bytes);
            if let Some(packet) = flow.packet {
                self.packet(&key("packet"), packet);
            }
            if let Some(dscp) = flow.dscp {
                self.dscp(&key("dscp"), dscp);
            }
            if let Some(rate) = flow.rate {
                self.rate(&key("rate"), rate);
            }
            limits::time(&self.at(&key("start")), flow.start, self.report);
        }
    }
}
