//! One scenario in plain text, for whoever has to know what a switch will do with it.
//!
//! Owns the page: the hosts' NICs, links by tier, the five start-up stages with every figure, the sizing conditions
//! of the lossless classes, refusals and warnings. Every number is computed elsewhere; this room
//! only says it.

mod nics;
mod queues;
mod summary;

use super::check::{Finding, Started, check};
use super::links::{LinkKind, Outline, pause_time};
use super::offered::{Offered, classes};
use super::sizing::{Condition, Sizing, guideline};
use super::startup::{LimitForm, Startup};
use super::{Role, Scenario, Switch, SwitchModel};
use crate::units::{BitRate, Ps, thousands};
use std::fmt::{self, Write};

/// The page of a scenario. Ends with a line break.
pub fn inspect(scenario: &Scenario) -> String {
    let mut page = Page(String::new());
    let report = check(scenario);
    let offered = Offered::new(scenario);
    page.summary(scenario);
    page.transports(scenario, &offered);
    if let Ok(outline) = Outline::new(scenario) {
        page.links(&outline, &offered);
        for kind in outline.switch_kinds() {
            // A switch that does not start is explained among the refusals.
            let switch = scenario.switch.of_tier(kind.tier.settings());
            if let Ok(startup) = Startup::new(&switch, kind.ports()) {
                let started = Started { kind: kind.clone(), startup };
                if switch.model == SwitchModel::Scala {
                    page.stages(&switch, &started);
                    page.sizing(&started, &kind.links, &offered);
                } else {
                    page.queues(scenario, &started, &kind.links, outline.host_links.rate);
                }
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

    fn links(&mut self, outline: &Outline, offered: &Offered) {
        self.title(format!(
            "Links ({} in all; guideline for packets of {})",
            plural(outline.link_count(), "link"),
            size(offered.largest_packet())
        ));
        for layer in &outline.layers {
            let name = format!("{} to {}", layer.lower, layer.upper);
            self.link_kind(&name, &layer.links, offered);
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

    fn stages(&mut self, switch: &Switch, started: &Started) {
        let (kind, s) = (&started.kind, &started.startup);
        let buffer = &switch.shared_buffer_manager;
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
        self.limits(switch, s);
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

    fn limits(&mut self, switch: &Switch, s: &Startup) {
        let buffer = &switch.shared_buffer_manager;
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
        let marks = if switch.ecn_handler.enable_ecn { "" } else { " (EnableEcn is off)" };
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
mod tests;
