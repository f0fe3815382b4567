//! The answer as scripts read it: sizes in bytes, times in ps, rates in bit/s.

use super::answer::{Answer, Incast, Part, SwitchPart};
use crate::sizing::budget::{Budget, Part as Share};
use crate::sizing::proposal::{Outcome, Settings, XoffRule};
use serde_json::{Value, json};

/// One object.
pub(super) fn json(answer: &Answer) -> Value {
    json!({
        "links": answer.parts.iter().map(part).collect::<Vec<_>>(),
        "settings_under": if answer.by_tier { "switch.tiers" } else { "switch" },
    })
}

fn part(part: &Part) -> Value {
    let case = &part.case;
    let metres = *part.cable.metres.numer() as f64 / *part.cable.metres.denom() as f64;
    let formulas = part.formulas.iter().map(|own| match &own.bytes {
        Ok(bytes) => json!({"name": own.name, "bytes": bytes, "note": own.note}),
        Err(error) => json!({"name": own.name, "bytes": null, "note": error.to_string()}),
    });
    let mut all = json!({
        "link": {
            "rate_bps": case.rate,
            "delay_ps": case.delay,
            "cable_m": metres,
            "packet_bytes": case.packet,
            "own_packet_bytes": case.own_packet,
            "response_ps": case.response,
            "pfc_frames": case.pfc_frames,
        },
        "formulas": formulas.collect::<Vec<_>>(),
        "worst_case": match &part.worst {
            Ok(worst) => json!({
                "bytes": worst.bytes,
                "frames": worst.frames,
                "held_after_ps": worst.held_after,
                "frame_ps": case.frame_time(),
                "quiet_bytes": worst.quiet_bytes,
                "any_mix_bytes": worst.any_mix,
            }),
            Err(error) => json!({"bytes": null, "reason": error.to_string()}),
        },
        "simulated": match &part.replay {
            Ok(replay) => json!({
                "peak_headroom_bytes": replay.needs,
                "drops_at": replay.around.iter()
                    .map(|(headroom, drops)| json!({"headroom_bytes": headroom, "drops": drops}))
                    .collect::<Vec<_>>(),
            }),
            Err(error) => json!({"peak_headroom_bytes": null, "reason": error.to_string()}),
        },
        "headroom_bytes": part.worst.is_ok().then_some(part.headroom),
        "switch": part.switch.as_ref().map(switch),
    });
    if !part.is_modelled() {
        for own in ["worst_case", "simulated", "headroom_bytes"] {
            all[own] = Value::Null;
        }
    }
    all
}

fn switch(part: &SwitchPart) -> Value {
    let sizing = &part.sizing;
    let (verdict, reason, settings) = match &sizing.outcome {
        Outcome::Fits { settings, .. } => ("fits", None, Some(self::settings(settings))),
        Outcome::TooSmall { .. } => ("too_small", None, None),
        Outcome::NothingLossless => ("nothing_lossless", None, None),
        Outcome::Unstoppable(why) => ("unstoppable", Some(why.clone()), None),
        Outcome::OtherModel { model, headroom } => {
            let own = format!("{}: {headroom} B of headroom a port and queue", model.name());
            ("other_model", Some(own), None)
        }
    };
    json!({
        "tier": sizing.kind.tier.name(),
        "ports": sizing.kind.ports(),
        "lossless_classes": class_list(sizing.lossless),
        "class": sizing.class,
        "guideline_bytes": sizing.guideline,
        "verdict": verdict,
        "reason": reason,
        "settings": settings,
        "short_bytes": part.budget().map(Budget::short),
        "lossy_bytes": part.budget().map(|budget| int(budget.lossy())),
        "budget_now": sizing.now.as_ref().map(budget),
        "budget": part.budget().map(budget),
        "incasts": part.incasts.iter().map(incast).collect::<Vec<_>>(),
    })
}

fn settings(settings: &Settings) -> Value {
    json!({
        "HeadRoomPerPortLimit": settings.headroom,
        "StaticPoolXoffThreshold": settings.xoff,
        "StaticPoolXonThreshold": settings.xon,
        "PoolAllocationMap": settings.allocation,
        "TrafficClassPoolMapping": settings.mapping,
        "xoff_rule": match settings.xoff_rule {
            XoffRule::AsSet => "as_set",
            XoffRule::Largest => "largest",
            XoffRule::Least => "least",
        },
        "xon_as_set": settings.xon_as_set,
    })
}

fn budget(budget: &Budget) -> Value {
    let lines = budget.lines.iter().map(|line| {
        let (part, pool, classes) = match line.part {
            Share::Headroom { .. } => ("headroom", None, 0),
            Share::PausePoints { pool, classes, .. } => ("pause_points", Some(pool), classes),
            Share::Beyond { pool, lossy } => ("beyond_pause_points", Some(pool), lossy),
            Share::Lossy { pool, classes } => ("lossy", Some(pool), classes),
            Share::Idle { pool } => ("idle", Some(pool), 0),
            Share::Proportions => ("proportions", None, 0),
            Share::DoesNotFit => ("does_not_fit", None, 0),
        };
        json!({
            "part": part,
            "pool": pool,
            "classes": class_list(classes),
            "bytes": int(line.bytes),
            "short_bytes": line.short,
        })
    });
    json!({"total_bytes": budget.total, "lines": lines.collect::<Vec<_>>()})
}

fn incast(own: &Incast) -> Value {
    let mut row = json!({
        "settings": if own.proposed { "proposed" } else { "now" },
        "receiver": if own.drains { "drains" } else { "held" },
        "senders": own.senders,
    });
    match &own.measured {
        Ok(seen) => {
            row["peak_headroom_bytes"] = json!(seen.peak_headroom);
            row["peak_occupancy_bytes"] = json!(seen.peak_occupancy);
            row["drops"] = json!(seen.drops);
            row["drops_headroom"] = json!(seen.headroom_drops);
            row["drops_pool"] = json!(seen.pool_drops);
        }
        Err(error) => row["reason"] = json!(error.to_string()),
    }
    row
}

fn class_list(mask: u8) -> Vec<u8> {
    (0..8).filter(|class| mask >> class & 1 == 1).collect()
}

/// Budgets are of 32-bit sizes: their sums fit.
fn int(bytes: i128) -> i64 {
    i64::try_from(bytes).unwrap_or(if bytes < 0 { i64::MIN } else { i64::MAX })
}
