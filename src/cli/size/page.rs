//! The answer as a person reads it.

use super::answer::{Answer, Incast, Part, SwitchPart};
use crate::cli::text::{Align, TextTable, about_time, count};
use crate::scenario::offered::classes;
use crate::sizing::budget::{Budget, Part as Share};
use crate::sizing::formulas::Estimate;
use crate::sizing::proposal::{Outcome, Settings, XoffRule};
use crate::units::{BitRate, Bytes, Ps, format_rational, thousands};
use std::fmt::Write;

/// The page. Ends with a line break.
pub(super) fn page(answer: &Answer) -> String {
    let mut page = String::new();
    for part in &answer.parts {
        if !page.is_empty() {
            page.push('\n');
        }
        link(part, &mut page);
        if let Some(switch) = &part.switch {
            self::switch(switch, &mut page);
        }
    }
    proposal(answer, &mut page);
    page
}

fn line(page: &mut String, text: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "{text}");
}

fn size(bytes: impl Into<i128>) -> String {
    format!("{} B", thousands(bytes))
}

/// What the sizing is for, and every number for its headroom.
fn link(part: &Part, page: &mut String) {
    let (case, cable) = (&part.case, &part.cable);
    let metres = format_rational((cable.metres * 100).round() / 100);
    let whose = match &part.switch {
        Some(switch) => {
            let (kind, tier) = (&switch.sizing.kind, switch.sizing.kind.tier.name());
            let ports = count(kind.ports() as usize, "port");
            let lossless = match switch.sizing.lossless {
                0 => String::new(),
                _ => format!("class {} on ", switch.sizing.class),
            };
            format!("{tier} of {ports}; {lossless}the link that needs most: ")
        }
        None => String::new(),
    };
    line(
        page,
        format_args!(
            "{whose}{} over {metres} m, {} one way; packets of {}; {}",
            BitRate(case.rate),
            Ps(case.delay),
            size(case.packet),
            match case.response {
                0 => "a pause acts at once".to_owned(),
                ps => format!("a pause acts after {}", Ps(ps)),
            }
        ),
    );
    page.push('\n');
    let mut table = TextTable::new([
        ("headroom by".into(), Align::Left),
        ("bytes".into(), Align::Right),
        ("with".into(), Align::Left),
    ]);
    for Estimate { name, bytes, note } in &part.formulas {
        match bytes {
            Ok(bytes) => table.row([(*name).into(), thousands(*bytes), note.clone()]),
            Err(error) => table.row([(*name).into(), "-".into(), error.to_string()]),
        }
    }
    page.push_str(&table.render());
    if part.is_modelled() {
        page.push('\n');
        model(part, page);
    }
}

/// What this product's model says.
fn model(part: &Part, page: &mut String) {
    let worst = match &part.worst {
        Ok(worst) => worst,
        Err(error) => return line(page, format_args!("  {error}")),
    };
    let case = &part.case;
    let mut table = TextTable::new([
        ("this model, nothing draining".into(), Align::Left),
        ("bytes".into(), Align::Right),
        (String::new(), Align::Left),
    ]);
    table.row([
        "worst case".into(),
        thousands(worst.bytes),
        format!(
            "{} of {} start in {}: a frame of the switch's own, {}, 2 x {}{}",
            count(worst.frames as usize, "packet"),
            about_time(case.frame_time() as f64),
            about_time(worst.held_after as f64),
            count(case.pfc_frames as usize, "PFC frame"),
            Ps(case.delay),
            if case.response == 0 { String::new() } else { format!(", {}", Ps(case.response)) }
        ),
    ]);
    table.row([
        "no frame in the way".into(),
        thousands(worst.quiet_bytes),
        "the same if the switch sends nothing to the sender".into(),
    ]);
    if let Some(mix) = worst.any_mix {
        let note = "at most, whatever sizes the sender mixes";
        table.row(["any mix of packets".into(), thousands(mix), note.into()]);
    }
    match &part.replay {
        Ok(replay) => {
            let [(less, lost), (_, held)] = replay.around;
            let note = format!(
                "peak of the worst case; {} drops with it, {} with {}",
                thousands(held),
                thousands(lost),
                size(less)
            );
            table.row(["simulated".into(), thousands(replay.needs), note]);
        }
        Err(error) => table.row(["simulated".into(), "-".into(), error.to_string()]),
    }
    table.row([
        "to set".into(),
        thousands(part.headroom),
        "the least that meets the guideline, response included, and holds any mix".into(),
    ]);
    page.push_str(&table.render());
}

/// The account of a switch's buffer, what it measures, and the verdict.
fn switch(part: &SwitchPart, page: &mut String) {
    let sizing = &part.sizing;
    match &sizing.outcome {
        Outcome::NothingLossless => {
            line(
                page,
                "\nno lossless class carries traffic: nothing pauses, nothing needs headroom",
            );
        }
        Outcome::Unstoppable(why) => line(page, format_args!("\n{why}")),
        Outcome::OtherModel { model, headroom } => line(
            page,
            format_args!(
                "\nswitch.model {} has no pools to size: each port and queue has {} of headroom on this \
                 link. The worst case and settings are of the model scala",
                model.name(),
                size(*headroom)
            ),
        ),
        Outcome::Fits { .. } | Outcome::TooSmall { .. } => {}
    }
    if let Some(now) = &sizing.now {
        budget("Buffer as set", now, page);
    }
    let title = match &sizing.outcome {
        Outcome::TooSmall { .. } => "Buffer needed at least",
        _ => "Buffer as proposed",
    };
    if let Some(own) = part.budget() {
        budget(title, own, page);
    }
    if let Outcome::TooSmall { budget } = &sizing.outcome {
        line(
            page,
            format_args!(
                "\nno settings lose nothing: the buffer is {} too small. Fewer ports, shorter \
                 cables, fewer lossless classes, smaller packets, or a lower \
                 StaticPoolXoffThreshold that is set and fits",
                size(budget.short())
            ),
        );
    }
    incasts(&part.incasts, page);
    let pools = sizing.lossless.count_ones();
    if pools > 1 && part.budget().is_some() {
        line(
            page,
            format_args!(
                "note: headroom is reserved once a port, but each of {pools} lossless pools may \
                 fill it: a port may hold {pools} times HeadRoomPerPortLimit"
            ),
        );
    }
}

fn budget(title: &str, budget: &Budget, page: &mut String) {
    let mut table = TextTable::new([
        (title.into(), Align::Left),
        ("bytes".into(), Align::Right),
        (String::new(), Align::Left),
    ]);
    for own in &budget.lines {
        let (name, mut note) = share(own.part);
        if own.short > 0 {
            note.push_str(&format!("; {} short", size(own.short)));
        }
        table.row([name, thousands(own.bytes), note]);
    }
    table.row(["TotalSharedBufferSize".into(), thousands(budget.total), "the sum".into()]);
    page.push('\n');
    page.push_str(&table.render());
}

/// Name of a share of the buffer, and what it is made of.
fn share(part: Share) -> (String, String) {
    match part {
        Share::Headroom { ports, per_port } => {
            ("headroom".into(), format!("{} x {}", count(ports as usize, "port"), size(per_port)))
        }
        Share::PausePoints { pool, classes: mask, ports, xoff, packet } => (
            format!("pool {pool}, lossless class {}", classes(mask)),
            format!("{} x (Xoff {} + {})", count(ports as usize, "port"), size(xoff), size(packet)),
        ),
        Share::Beyond { pool, lossy: 0 } => {
            (format!("pool {pool}, beyond that"), "more than its pause points".into())
        }
        Share::Beyond { pool, lossy } => (
            format!("pool {pool}, beyond that"),
            format!("which lossy class {} uses too", classes(lossy)),
        ),
        Share::Lossy { pool, classes: mask } => {
            (format!("pool {pool}, lossy class {}", classes(mask)), "left for lossy traffic".into())
        }
        Share::Idle { pool } => (format!("pool {pool}"), "no traffic uses it".into()),
        Share::Proportions => {
            ("other pools".into(), "the UET policy's proportions are fixed".into())
        }
        Share::DoesNotFit => ("does not fit".into(), String::new()),
    }
}

/// What every port at once measured.
fn incasts(all: &[Incast], page: &mut String) {
    let Some(first) = all.first() else { return };
    let mut table = TextTable::new([
        (format!("Simulated, {} to one", count(first.senders as usize, "sender")), Align::Left),
        ("receiver".into(), Align::Left),
        ("peak headroom".into(), Align::Right),
        ("peak occupancy".into(), Align::Right),
        ("drops".into(), Align::Right),
        (String::new(), Align::Left),
    ]);
    for own in all {
        let settings = if own.proposed { "as proposed" } else { "as set" };
        let receiver = if own.drains { "drains" } else { "held" };
        match &own.measured {
            Ok(seen) => table.row([
                settings.into(),
                receiver.into(),
                thousands(seen.peak_headroom),
                thousands(seen.peak_occupancy),
                thousands(seen.drops),
                match (seen.headroom_drops, seen.pool_drops) {
                    (0, 0) => String::new(),
                    (_, 0) => "headroom full".into(),
                    (0, _) => "pool full".into(),
                    _ => "headroom and pool full".into(),
                },
            ]),
            Err(error) => table.row([settings.into(), receiver.into(), error.to_string()]),
        }
    }
    page.push('\n');
    page.push_str(&table.render());
}

/// The settings, ready to be pasted.
fn proposal(answer: &Answer, page: &mut String) {
    let fits = answer.parts.iter().filter_map(|part| {
        let switch = part.switch.as_ref()?;
        match &switch.sizing.outcome {
            Outcome::Fits { settings, .. } => Some((switch.sizing.kind.tier, settings)),
            _ => None,
        }
    });
    let mut lines = Vec::new();
    for (tier, settings) in fits {
        let indent = if answer.by_tier {
            lines.push(format!("      {}:", tier.settings().name()));
            8
        } else {
            4
        };
        let pad = " ".repeat(indent);
        lines.push(format!("{pad}SharedBufferManager:"));
        lines.extend(
            yaml(settings, answer.from_file).into_iter().map(|own| format!("{pad}  {own}")),
        );
    }
    if lines.is_empty() {
        return;
    }
    line(page, "\nbase:\n  switch:");
    if answer.by_tier {
        line(page, "    tiers:");
    }
    lines.iter().for_each(|own| line(page, own));
}

/// Settings under their documented names.
fn yaml(settings: &Settings, from_file: bool) -> Vec<String> {
    let kept = if from_file { "as set" } else { "as asked, or the default" };
    let xoff = match settings.xoff_rule {
        XoffRule::AsSet => kept,
        XoffRule::Largest => "the largest that leaves lossy traffic its share",
        XoffRule::Least => "the least that keeps a port busy across a resume",
    };
    let xon =
        if settings.xon_as_set { kept } else { "below Xoff by what a resume takes or two packets" };
    let mut lines = vec![
        format!("HeadRoomPerPortLimit: {}", Bytes(settings.headroom)),
        format!("StaticPoolXoffThreshold: {}  # {xoff}", Bytes(settings.xoff)),
        format!("StaticPoolXonThreshold: {}  # {xon}", Bytes(settings.xon)),
    ];
    let list = |values: Vec<String>| values.join(", ");
    if let Some(shares) = settings.allocation {
        let shares = shares.iter().map(ToString::to_string).collect();
        lines.push(format!("PoolAllocationMap: [{}]", list(shares)));
    }
    if let Some(pools) = settings.mapping {
        let pools = pools.iter().map(ToString::to_string).collect();
        lines.push(format!("TrafficClassPoolMapping: [{}]", list(pools)));
    }
    lines
}
