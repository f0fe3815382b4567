//! One scenario in plain text, for whoever has to know what a switch will do with it.
//!
//! Owns the page: links by tier, the five start-up stages with every figure, the sizing conditions
//! of the lossless classes, refusals and warnings. Every number is computed elsewhere; this room
//! only says it.

use super::check::{Finding, Started, check, links_of};
use super::links::{LinkKind, Outline, pause_time};
use super::offered::{Offered, classes};
use super::sizing::{Condition, Sizing, guideline};
use super::startup::{LimitForm, Startup};
use super::{Collective, Nic, Role, Scenario, Traffic, Until};
use crate::units::{BitRate, Ps, thousands};
use std::fmt::{self, Write};

/// The page of a scenario. Ends with a line break.
pub fn inspect(scenario: &Scenario) -> String {
    let mut page = Page(String::new());
    let report = check(scenario);
    let offered = Offered::new(scenario);
    page.summary(scenario);
    if let Ok(outline) = Outline::new(scenario) {
        page.links(&outline, &offered);
        for kind in outline.switch_kinds() {
            // A switch that does not start is explained among the refusals.
            if let Ok(startup) = Startup::new(&scenario.switch, kind.ports()) {
                let started = Started { kind, startup };
                page.stages(scenario, &started);
                page.sizing(&started, &links_of(&outline, &kind), &offered);
            }
        }
    }
    page.findings("REFUSED: this scenario would not run", &report.refusals);
    page.findings("Warnings", &report.warnings);
    if report.refusals.is_empty() && report.warnings.is_empty() {
        page.title("No refusals, no warnings");
    }
    page.0
}

/// Shares of the pools under the UET policy.
const UET_SHARES: [&str; 8] = ["1.5 of 3.5", "1 of 3.5", "1 of 3.5", "", "", "", "", ""];

/// The page as it grows.
struct Page(String);

/// `223,232,000 B`.
fn size(bytes: u64) -> String {
    format!("{} B", thousands(bytes))
}

/// A byte count that need not be whole: `40,181,760 B`, `313,920.5 B`.
fn amount(bytes: f64) -> String {
    let tenths = (bytes * 10.0).round() as i128;
    match tenths % 10 {
        0 => format!("{} B", thousands(tenths / 10)),
        rest => format!("{}.{rest} B", thousands(tenths / 10)),
    }
}

/// What a collective comes to: `all-reduce by ring of 8 ranks, 126 transfers of 14,000 B in all`.
fn collective(collective: &Collective, hosts: u64) -> String {
    let (what, how) = (collective.operation.name(), collective.algorithm().name());
    let ranks = plural(collective.size(hosts), "rank");
    let transfers = plural(collective.flows(hosts), "transfer");
    let bytes = u64::try_from(collective.total_bytes(hosts)).unwrap_or(u64::MAX);
    format!("{what} by {how} of {ranks}, {transfers} of {} in all", size(bytes))
}

/// `1 port`, `2 ports`, `2 leaves`.
fn plural(count: u64, noun: &str) -> String {
    let nouns = match noun {
        _ if count == 1 => noun.to_owned(),
        "leaf" => "leaves".to_owned(),
        "switch" => "switches".to_owned(),
        other => format!("{other}s"),
    };
    format!("{} {nouns}", thousands(count))
}

/// `classes 0, 1`, or what to say if there are none.
fn class_list(mask: u8, none: &str) -> String {
    match mask.count_ones() {
        0 => none.to_owned(),
        1 => format!("class {}", classes(mask)),
        _ => format!("classes {}", classes(mask)),
    }
}

impl Page {
    fn line(&mut self, text: impl fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{text}");
    }

    fn title(&mut self, text: impl fmt::Display) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.line(text);
    }

    fn summary(&mut self, scenario: &Scenario) {
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
                    let class = buffer.class_of(common.dscp, common.role);
                    format!("class {class}, packets of {}", size(common.packet.0))
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

    fn links(&mut self, outline: &Outline, offered: &Offered) {
        self.title(format!(
            "Links ({} in all; guideline for packets of {})",
            plural(outline.link_count(), "link"),
            size(offered.largest_packet())
        ));
        let lower = outline.lower.tier.name();
        self.link_kind(&format!("host to {lower}"), &outline.host_links, offered);
        if let Some(fabric) = &outline.fabric_links {
            self.link_kind("leaf to spine", fabric, offered);
        }
    }

    fn link_kind(&mut self, name: &str, link: &LinkKind, offered: &Offered) {
        let pause = pause_time(link.rate, link.delay);
        self.line(format!(
            "  {name}: {} at {}, {} one way",
            plural(link.count, "link"),
            BitRate(link.rate),
            Ps(link.delay)
        ));
        self.line(format!(
            "    a pause lasts {}, is sent again every {}; headroom guideline {}",
            Ps(pause),
            Ps(pause / 2),
            size(guideline(link.rate, link.delay, offered.largest_packet()))
        ));
    }

    fn stages(&mut self, scenario: &Scenario, started: &Started) {
        let (kind, s) = (&started.kind, &started.startup);
        let buffer = &scenario.switch.shared_buffer_manager;
        self.title(format!(
            "{} of {}: {} down, {} up",
            plural(kind.count, kind.tier.name()),
            plural(u64::from(kind.ports()), "port"),
            kind.down,
            kind.up
        ));
        self.line("  1. Headroom");
        self.line(format!(
            "     total headroom  {} x {} = {}",
            size(buffer.head_room_per_port_limit.0),
            plural(u64::from(s.ports), "port"),
            size(s.total_headroom)
        ));
        self.line(format!(
            "     sizing total    {} - {} = {}",
            size(s.total),
            size(s.total_headroom),
            size(s.sizing_total)
        ));
        self.line("  2. Pools");
        for (number, pool) in s.pools.iter().enumerate() {
            let Some(pool) = pool else { continue };
            let share = match s.limit {
                LimitForm::Uet { .. } => UET_SHARES[number].to_owned(),
                _ => buffer.pool_allocation_map[number].to_string(),
            };
            let moved = match i128::from(pool.size) - i128::from(pool.nominal) {
                0 => String::new(),
                more if more > 0 => {
                    format!(" (nominal {}, and the rest of the buffer)", size(pool.nominal))
                }
                _ => format!(" (nominal {}, less what the others take)", size(pool.nominal)),
            };
            self.line(format!("     pool {number}  share {share}: {}{moved}", size(pool.size)));
        }
        self.line("  3. Classes");
        self.classes(s);
        self.limits(scenario, s);
        self.line("  5. PFC");
        if s.lossless == 0 {
            self.line("     no lossless class: nothing is paused");
        } else {
            self.line(format!("     Xoff {}, Xon {}", size(s.xoff), size(s.xon)));
        }
    }

    fn classes(&mut self, s: &Startup) {
        let uet = matches!(s.limit, LimitForm::Uet { .. });
        if uet {
            self.line(format!(
                "     UETPolicyEnabled: the role decides; data {}, trimmed {}, control {}",
                Role::NoTrim.class(),
                Role::Trimmed.class(),
                Role::Control.class()
            ));
        }
        for number in 0..8u8 {
            let mapped = (0..8u8)
                .filter(|&class| s.class_pool[usize::from(class)] == number)
                .fold(0u8, |mask, class| mask | 1 << class);
            match &s.pools[usize::from(number)] {
                None if mapped == 0 || uet => {}
                None => self.line(format!(
                    "     pool {number}  does not exist; mapped to it: {}",
                    class_list(mapped, "none")
                )),
                Some(pool) => self.line(format!(
                    "     pool {number}  lossless: {}; lossy: {}; headroom of a port {}",
                    class_list(pool.priority_group, "none"),
                    class_list(mapped & !s.lossless, "none"),
                    size(pool.headroom_per_port)
                )),
            }
        }
    }

    fn limits(&mut self, scenario: &Scenario, s: &Startup) {
        let buffer = &scenario.switch.shared_buffer_manager;
        self.line("  4. Egress limit of a lossy queue");
        self.line(match s.limit {
            LimitForm::Alpha(alpha) => {
                format!("     LossyAlpha {alpha}: {alpha} x what is left of the pool")
            }
            LimitForm::EvenSplit => format!(
                "     LossyAlpha 0: an even split of the nominal pool over {}",
                plural(u64::from(s.ports), "port")
            ),
            LimitForm::FixedCap => format!(
                "     LossyAlpha 0: {} x {} (QueueDropThreshold x PlaneBDP)",
                thousands(buffer.queue_drop_threshold),
                size(buffer.plane_bdp.0)
            ),
            LimitForm::Uet { trimming } => {
                let cap = match trimming {
                    true => format!(
                        "{} (PlaneBDP), beyond it packets are trimmed",
                        size(buffer.plane_bdp.0)
                    ),
                    false => format!(
                        "{} x {} (QueueDropThreshold x PlaneBDP)",
                        thousands(buffer.queue_drop_threshold),
                        size(buffer.plane_bdp.0)
                    ),
                };
                format!("     UETPolicyEnabled: {cap}; 1.5 times that for trimmable retransmits")
            }
        });
        let marks = if scenario.switch.ecn_handler.enable_ecn { "" } else { " (EnableEcn is off)" };
        for (number, pool) in s.pools.iter().enumerate() {
            let Some(pool) = pool else { continue };
            self.line(format!(
                "     pool {number}  static limit {}, ECN band {} to {}{marks}",
                size(pool.static_limit),
                amount(pool.ecn_lower),
                amount(pool.ecn_upper)
            ));
        }
    }

    fn sizing(&mut self, started: &Started, links: &[LinkKind], offered: &Offered) {
        for class in 0..8 {
            let Some(s) = Sizing::new(&started.startup, class, links, offered) else { continue };
            let traffic = if offered.carries(class) { "" } else { " (carries no traffic here)" };
            self.line(format!("  Sizing of lossless class {class}, pool {}{traffic}", s.pool));
            self.condition(
                "1. headroom of a port",
                s.headroom,
                &format!(
                    "2 x {} x {} / 8 + 2 x {}",
                    BitRate(s.link.rate),
                    Ps(s.link.delay),
                    size(s.mtu)
                ),
            );
            self.condition(
                "2. pool",
                s.pool_size,
                &format!(
                    "{} x (Xoff {} + {}); it holds the pause points of {}",
                    plural(u64::from(s.ports), "port"),
                    size(started.startup.xoff),
                    size(s.largest_packet),
                    plural(s.pause_points(started.startup.xoff), "port")
                ),
            );
            if !s.pool_size.met()
                && let Some(xoff) = s.largest_xoff()
            {
                self.line(format!("          met by an Xoff of at most {}", size(xoff)));
            }
            let idle = class_list(s.mapped & !s.sharing, "");
            let beside =
                if idle.is_empty() { idle } else { format!(" (mapped too: {idle}, idle)") };
            self.line(match s.sharing {
                0 => format!("    ok    3. pool to itself{beside}"),
                _ => format!(
                    "    MISS  3. pool to itself: shared with {}{beside}",
                    class_list(s.sharing, "")
                ),
            });
        }
    }

    fn condition(&mut self, name: &str, condition: Condition, formula: &str) {
        let (mark, sign) = if condition.met() { ("ok  ", ">=") } else { ("MISS", "< ") };
        self.line(format!(
            "    {mark}  {name} {} {sign} {} = {formula}",
            size(condition.have),
            size(condition.need)
        ));
    }

    fn findings(&mut self, title: &str, findings: &[Finding]) {
        if findings.is_empty() {
            return;
        }
        self.title(title);
        for finding in findings {
            self.line(format!("  - {finding}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page(scenario: serde_json::Value) -> String {
        inspect(&serde_json::from_value(scenario).unwrap())
    }

    #[test]
    fn the_default_switch_with_128_ports() {
        let page = page(json!({
            "duration": 2_000_000_000u64,
            "topology": {"kind": "single-switch", "hosts": 128},
            "traffic": [{"pattern": "incast", "senders": 32, "bytes": 4_000_000, "dscp": 8}],
        }));
        insta::assert_snapshot!(page, @r"
        Scenario
          runs for 2ms
          traffic[0]: incast, class 1, packets of 4,000 B

        Links (128 links in all; guideline for packets of 4,000 B)
          host to switch: 128 links at 400Gbps, 500ns one way
            a pause lasts 84.3848us, is sent again every 42.1924us; headroom guideline 58,000 B

        1 switch of 128 ports: 128 down, 0 up
          1. Headroom
             total headroom  256,000 B x 128 ports = 32,768,000 B
             sizing total    256,000,000 B - 32,768,000 B = 223,232,000 B
          2. Pools
             pool 0  share 0.9: 200,908,800 B
             pool 1  share 0.1: 22,323,200 B
          3. Classes
             pool 0  lossless: class 0; lossy: classes 2, 3, 4, 5, 6, 7; headroom of a port 256,000 B
             pool 1  lossless: class 1; lossy: none; headroom of a port 256,000 B
          4. Egress limit of a lossy queue
             LossyAlpha 1: 1 x what is left of the pool
             pool 0  static limit 200,908,800 B, ECN band 40,181,760 B to 160,727,040 B
             pool 1  static limit 22,323,200 B, ECN band 4,464,640 B to 17,858,560 B
          5. PFC
             Xoff 700,000 B, Xon 300,000 B
          Sizing of lossless class 0, pool 0 (carries no traffic here)
            ok    1. headroom of a port 256,000 B >= 58,000 B = 2 x 400Gbps x 500ns / 8 + 2 x 4,000 B
            ok    2. pool 200,908,800 B >= 90,112,000 B = 128 ports x (Xoff 700,000 B + 4,000 B); it holds the pause points of 285 ports
            ok    3. pool to itself (mapped too: classes 2, 3, 4, 5, 6, 7, idle)
          Sizing of lossless class 1, pool 1
            ok    1. headroom of a port 256,000 B >= 58,000 B = 2 x 400Gbps x 500ns / 8 + 2 x 4,000 B
            MISS  2. pool 22,323,200 B <  90,112,000 B = 128 ports x (Xoff 700,000 B + 4,000 B); it holds the pause points of 31 ports
                  met by an Xoff of at most 170,400 B
            ok    3. pool to itself

        Warnings
          - switch.SharedBufferManager.HeadRoomPerPortLimit = 256KB: overcommitted: reserved once a port, but each of the 2 lossless pools may use all of it
          - switch.SharedBufferManager.PoolAllocationMap[1] = 22,323,200 B: pool 1 of a switch holds the pause points of 31 of its 128 ports; class 1 needs 90,112,000 B to lose nothing, or StaticPoolXoffThreshold at most 170,400 B
        ");
    }

    #[test]
    fn two_tiers_with_a_fixed_cap_and_a_miss_of_everything() {
        let page = page(json!({
            "duration": 1_000_000,
            "until": "drained",
            "warm_up": 1_000,
            "nic": {"PfcResponseTime": 100_000, "receive_rate": 200_000_000_000u64,
                "hold": {"classes": [1, 3]}, "hosts": {"0": {"ignore_pfc": true}}},
            "topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 3, "spines": 2,
                "fabric_delay": 2_000_000},
            "switch": {
                "EcnHandler": {"EnableEcn": false},
                "SharedBufferManager": {"LossyAlpha": 0, "QueueDropThresholdEnable": true,
                    "TotalSharedBufferSize": 2_000_000,
                    "PoolAllocationMap": [0.5, 0.4, 0, 0, 0, 0, 0, 0],
                    "TrafficClassPoolMapping": [0, 1, 1, 0, 0, 0, 0, 6],
                    "EnablePFC": [0, 1, 0, 0, 0, 0, 0, 0]}},
            "traffic": [
                {"pattern": "permutation", "bytes": 4_000_000, "dscp": 8},
                {"pattern": "all-to-all", "bytes": 4_000_000, "dscp": 16, "packet": 1000},
            ],
        }));
        insta::assert_snapshot!(page, @r"
        Scenario
          runs until drained, at most 1us
          statistics of `jobs` begin at 1ns
          hosts act on PFC after 100ns; take what they receive at 200Gbps; hold class 1, 3 from 0s to the end; have their own settings at host 0
          traffic[0]: permutation, class 1, packets of 4,000 B
          traffic[1]: all-to-all, class 2, packets of 1,000 B

        Links (10 links in all; guideline for packets of 4,000 B)
          host to leaf: 6 links at 400Gbps, 500ns one way
            a pause lasts 84.3848us, is sent again every 42.1924us; headroom guideline 58,000 B
          leaf to spine: 4 links at 400Gbps, 2us one way
            a pause lasts 85.8848us, is sent again every 42.9424us; headroom guideline 208,000 B

        2 leaves of 5 ports: 3 down, 2 up
          1. Headroom
             total headroom  256,000 B x 5 ports = 1,280,000 B
             sizing total    2,000,000 B - 1,280,000 B = 720,000 B
          2. Pools
             pool 0  share 0.5: 360,000 B
             pool 1  share 0.4: 360,000 B (nominal 288,000 B, and the rest of the buffer)
          3. Classes
             pool 0  lossless: none; lossy: classes 0, 3, 4, 5, 6; headroom of a port 0 B
             pool 1  lossless: class 1; lossy: class 2; headroom of a port 256,000 B
             pool 6  does not exist; mapped to it: class 7
          4. Egress limit of a lossy queue
             LossyAlpha 0: 5 x 300,000 B (QueueDropThreshold x PlaneBDP)
             pool 0  static limit 1,500,000 B, ECN band 300,000 B to 1,200,000 B (EnableEcn is off)
             pool 1  static limit 1,500,000 B, ECN band 300,000 B to 1,200,000 B (EnableEcn is off)
          5. PFC
             Xoff 700,000 B, Xon 300,000 B
          Sizing of lossless class 1, pool 1
            ok    1. headroom of a port 256,000 B >= 208,000 B = 2 x 400Gbps x 2us / 8 + 2 x 4,000 B
            MISS  2. pool 360,000 B <  3,520,000 B = 5 ports x (Xoff 700,000 B + 4,000 B); it holds the pause points of 0 ports
                  met by an Xoff of at most 68,000 B
            MISS  3. pool to itself: shared with class 2

        2 spines of 2 ports: 2 down, 0 up
          1. Headroom
             total headroom  256,000 B x 2 ports = 512,000 B
             sizing total    2,000,000 B - 512,000 B = 1,488,000 B
          2. Pools
             pool 0  share 0.5: 744,000 B
             pool 1  share 0.4: 744,000 B (nominal 595,200 B, and the rest of the buffer)
          3. Classes
             pool 0  lossless: none; lossy: classes 0, 3, 4, 5, 6; headroom of a port 0 B
             pool 1  lossless: class 1; lossy: class 2; headroom of a port 256,000 B
             pool 6  does not exist; mapped to it: class 7
          4. Egress limit of a lossy queue
             LossyAlpha 0: 5 x 300,000 B (QueueDropThreshold x PlaneBDP)
             pool 0  static limit 1,500,000 B, ECN band 300,000 B to 1,200,000 B (EnableEcn is off)
             pool 1  static limit 1,500,000 B, ECN band 300,000 B to 1,200,000 B (EnableEcn is off)
          5. PFC
             Xoff 700,000 B, Xon 300,000 B
          Sizing of lossless class 1, pool 1
            ok    1. headroom of a port 256,000 B >= 208,000 B = 2 x 400Gbps x 2us / 8 + 2 x 4,000 B
            MISS  2. pool 744,000 B <  1,408,000 B = 2 ports x (Xoff 700,000 B + 4,000 B); it holds the pause points of 1 port
                  met by an Xoff of at most 368,000 B
            MISS  3. pool to itself: shared with class 2

        Warnings
          - switch.SharedBufferManager.PoolAllocationMap = [0.5, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]: sums to 0.9, not 1; the last pool takes up the difference
          - switch.SharedBufferManager.TrafficClassPoolMapping = [0, 1, 1, 0, 0, 0, 0, 6]: pool 1 holds lossy class 2 beside lossless class 1: lossy bytes count towards Xoff, and a port they keep above Xon when its last lossless packet leaves stays paused for ever (stuck_pauses)
          - switch.SharedBufferManager.QueueDropThreshold = 1,500,000 B: 5 ports may each fill this cap: 7,500,000 B, 2083 % of pool 0 = 360,000 B; the pool holds 0 full caps and binds first
          - switch.SharedBufferManager.QueueDropThreshold = 1,500,000 B: 5 ports may each fill this cap: 7,500,000 B, 2083 % of pool 1 = 360,000 B; the pool holds 0 full caps and binds first
          - switch.SharedBufferManager.PoolAllocationMap[1] = 360,000 B: pool 1 of a leaf holds the pause points of 0 of its 5 ports; class 1 needs 3,520,000 B to lose nothing, or StaticPoolXoffThreshold at most 68,000 B
          - switch.SharedBufferManager.TrafficClassPoolMapping[1] = 1: lossless class 1 shares its pool with class 2; it needs a pool to itself to lose nothing
          - switch.SharedBufferManager.QueueDropThreshold = 1,500,000 B: 2 ports may each fill this cap: 3,000,000 B, 403 % of pool 0 = 744,000 B; the pool holds 0 full caps and binds first
          - switch.SharedBufferManager.QueueDropThreshold = 1,500,000 B: 2 ports may each fill this cap: 3,000,000 B, 403 % of pool 1 = 744,000 B; the pool holds 0 full caps and binds first
          - switch.SharedBufferManager.PoolAllocationMap[1] = 744,000 B: pool 1 of a spine holds the pause points of 1 of its 2 ports; class 1 needs 1,408,000 B to lose nothing, or StaticPoolXoffThreshold at most 368,000 B
        ");
    }

    #[test]
    fn the_uet_policy_with_trimming() {
        let page = page(json!({
            "duration": 2_000_000_000u64,
            "topology": {"kind": "single-switch", "hosts": 128},
            "switch": {
                "SharedBufferManager":
                    {"UETPolicyEnabled": true, "EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0]},
                "PacketTrimmer": {"TrimmingEnabled": true},
            },
            "traffic": [
                {"pattern": "incast", "senders": 32, "bytes": 4_000_000, "role": "trimmable"},
                {"pattern": "permutation", "bytes": 64, "packet": 64, "role": "control"},
            ],
        }));
        insta::assert_snapshot!(page, @r"
        Scenario
          runs for 2ms
          traffic[0]: incast, class 0, packets of 4,000 B
          traffic[1]: permutation, class 2, packets of 64 B

        Links (128 links in all; guideline for packets of 4,000 B)
          host to switch: 128 links at 400Gbps, 500ns one way
            a pause lasts 84.3848us, is sent again every 42.1924us; headroom guideline 58,000 B

        1 switch of 128 ports: 128 down, 0 up
          1. Headroom
             total headroom  256,000 B x 128 ports = 32,768,000 B
             sizing total    256,000,000 B - 32,768,000 B = 223,232,000 B
          2. Pools
             pool 0  share 1.5 of 3.5: 95,670,857 B
             pool 1  share 1 of 3.5: 63,780,571 B
             pool 2  share 1 of 3.5: 63,780,572 B
          3. Classes
             UETPolicyEnabled: the role decides; data 0, trimmed 1, control 2
             pool 0  lossless: none; lossy: class 0; headroom of a port 0 B
             pool 1  lossless: none; lossy: class 1; headroom of a port 0 B
             pool 2  lossless: none; lossy: class 2; headroom of a port 0 B
          4. Egress limit of a lossy queue
             UETPolicyEnabled: 300,000 B (PlaneBDP), beyond it packets are trimmed; 1.5 times that for trimmable retransmits
             pool 0  static limit 300,000 B, ECN band 60,000 B to 240,000 B
             pool 1  static limit 300,000 B, ECN band 60,000 B to 240,000 B
             pool 2  static limit 300,000 B, ECN band 60,000 B to 240,000 B
          5. PFC
             no lossless class: nothing is paused

        No refusals, no warnings
        ");
    }

    #[test]
    fn a_scenario_that_is_refused_says_why() {
        let page = page(json!({
            "duration": 1_000,
            "topology": {"kind": "single-switch", "hosts": 4},
            "switch": {"SharedBufferManager": {"HeadRoomPerPortLimit": 100_000_000}},
            "traffic": [
                {"pattern": "flows", "flows": []},
                {"pattern": "trace", "file": "burst.csv"},
            ],
        }));
        insta::assert_snapshot!(page, @r"
        Scenario
          runs for 1ns
          traffic[0]: flows, 0 flows
          traffic[1]: trace, burst.csv

        Links (4 links in all; guideline for packets of 4,000 B)
          host to switch: 4 links at 400Gbps, 500ns one way
            a pause lasts 84.3848us, is sent again every 42.1924us; headroom guideline 58,000 B

        REFUSED: this scenario would not run
          - switch.SharedBufferManager.HeadRoomPerPortLimit = 100MB: reserves 400,000,000 B on 4 connected ports, more than TotalSharedBufferSize = 256MB; lower the one or raise the other

        Warnings
          - traffic[0].flows = []: nothing of it is sent
        ");
    }

    #[test]
    fn amounts_show_a_tenth_only_where_there_is_one() {
        assert_eq!(amount(40_181_760.0), "40,181,760 B");
        assert_eq!(amount(1_234.5), "1,234.5 B");
        assert_eq!(amount(0.0), "0 B");
    }
}
