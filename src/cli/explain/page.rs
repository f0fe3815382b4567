//! Explanations as text and as JSON.

use super::super::text::{Align, TextTable, count};
use super::job::{Ran, Told};
use super::whole::{Found, Whole};
use super::words::{self, bytes, time};
use crate::record::Status;
use crate::scenario::sizing::Sizing;
use crate::sizing::explain::{Advice, AxisRuns, Counter, Finding, Moment, PointLoss, Run};
use crate::units::thousands;
use serde_json::{Value, json};
use std::path::Path;

/// Lines of a list; more are counted.
const SHOWN: usize = 10;
/// Points in the table of losses.
const POINTS_SHOWN: usize = 40;

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The page of a dataset.
pub fn dataset(told: &Whole, data: &Path) -> String {
    let statuses: Vec<String> = told
        .statuses
        .iter()
        .map(|(status, n)| format!("{} {status}", thousands(*n as i128)))
        .collect();
    let mut text = format!(
        "{}: {}; {} of {} that ran lost packets\n",
        count(told.jobs.len(), "job"),
        if statuses.is_empty() { "nothing ran yet".into() } else { statuses.join(", ") },
        thousands(told.lossy() as i128),
        thousands(told.ended() as i128),
    );
    for found in &told.findings {
        text += &finding(told, found);
    }
    text += &flips(told);
    text += &losses(told);
    if told.findings.is_empty() && told.flips.is_empty() {
        text += "\nnothing found\n";
    }
    if let Some(job) = told.jobs.iter().find(|job| job.drops.is_some_and(|n| n > 0)) {
        text += &format!("\nmore    poolsweep explain {} {}\n", data.display(), job.id);
    }
    text
}

fn finding(told: &Whole, found: &Found) -> String {
    let mut text = format!(
        "\n{}: {} of {}\n  {}\n",
        found.finding.name(),
        thousands(found.jobs.len() as i128),
        count(told.jobs.len(), "job"),
        words::finding(found.finding)
    );
    if let (Finding::Infeasible, Some(reason)) = (found.finding, &told.refusal) {
        text += &format!("  first: {reason}\n");
    }
    for axis in &found.axes {
        text += &format!("  {}: {}\n", told.points.axes[axis.axis].name, words::runs(axis));
    }
    text += &format!("  first job {}\n", told.jobs[found.jobs[0]].id);
    text
}

fn flips(told: &Whole) -> String {
    if told.flips.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\nverdict_flips: {}\n  neighbouring points within 1 % of a setting, one of which loses \
         packets: a knife edge, keep away from it\n",
        count(told.flips.len(), "pair")
    );
    for flip in told.flips.iter().take(SHOWN) {
        let side = |point: usize| {
            let drops = drops_of(told, point).unwrap_or(0);
            format!("{} ({})", told.points.name(point), count(drops as usize, "drop"))
        };
        text += &format!(
            "  {}, {:.3} % apart:\n    {}\n    {}\n",
            told.points.axes[flip.axis].name,
            flip.relative * 100.0,
            side(flip.low),
            side(flip.high)
        );
    }
    if told.flips.len() > SHOWN {
        text += &format!("  and {} more\n", told.flips.len() - SHOWN);
    }
    text
}

fn drops_of(told: &Whole, point: usize) -> Option<u64> {
    told.points.points[point].job.and_then(|job| told.jobs[job].drops)
}

fn losses(told: &Whole) -> String {
    let repeated: Vec<&PointLoss> = told.losses.iter().filter(|l| l.repetitions > 1).collect();
    if repeated.is_empty() {
        return String::new();
    }
    let mut table = TextTable::new([
        ("with loss".into(), Align::Right),
        ("share".into(), Align::Right),
        ("95 % interval".into(), Align::Right),
        ("point".into(), Align::Left),
    ]);
    for loss in repeated.iter().take(POINTS_SHOWN) {
        let name = told.points.name(loss.point);
        let name = name.rsplit_once("repetition ").map_or(&name[..], |(head, _)| head);
        table.row([
            format!("{} of {}", loss.with_loss, loss.repetitions),
            percent(loss.share),
            interval(loss),
            match name.trim_end_matches(", ") {
                "" => "the only point".into(),
                name => name.into(),
            },
        ]);
    }
    let mut text = format!("\nrepetitions with any loss (Wilson)\n{}", table.render());
    if repeated.len() > POINTS_SHOWN {
        text += &format!("  and {}\n", count(repeated.len() - POINTS_SHOWN, "more point"));
    }
    text
}

fn interval(loss: &PointLoss) -> String {
    format!("{:.1} to {:.1} %", loss.interval.0 * 100.0, loss.interval.1 * 100.0)
}

/// Losses of one point in a line.
pub fn loss(loss: &PointLoss) -> String {
    format!(
        "{} of {} lost packets: {}, 95 % interval {}\n",
        loss.with_loss,
        count(loss.repetitions as usize, "repetition"),
        percent(loss.share),
        interval(loss)
    )
}

/// A page in JSON.
pub fn dataset_json(told: &Whole) -> Value {
    let ids = |jobs: &[usize]| -> Vec<String> {
        jobs.iter().map(|&job| told.jobs[job].id.to_string()).collect()
    };
    let id_of = |point: usize| told.points.ids[point].map(|id| id.to_string());
    let findings: Vec<Value> = told
        .findings
        .iter()
        .map(|found| {
            let axes: Vec<Value> = found.axes.iter().map(|axis| axis_json(told, axis)).collect();
            json!({
                "name": found.finding.name(), "threshold": found.finding.threshold(),
                "meaning": words::finding(found.finding),
                "jobs": found.jobs.len(), "of": told.jobs.len(), "job_ids": ids(&found.jobs),
                "axes": axes,
            })
        })
        .collect();
    let flips: Vec<Value> = told
        .flips
        .iter()
        .map(|flip| {
            let side = |point: usize| {
                json!({
                    "job_id": id_of(point), "point": told.points.name(point),
                    "value": told.points.points[point].values[flip.axis].text,
                    "drops": drops_of(told, point),
                })
            };
            json!({
                "axis": told.points.axes[flip.axis].name, "relative": flip.relative,
                "low": side(flip.low), "high": side(flip.high),
            })
        })
        .collect();
    let losses: Vec<Value> = told
        .losses
        .iter()
        .map(|loss| {
            let mut json = loss_json(loss);
            json["point"] = told.points.name(loss.point).into();
            json["job_id"] = id_of(loss.point).into();
            json
        })
        .collect();
    json!({
        "jobs": told.jobs.len(), "statuses": told.statuses,
        "ended": told.ended(), "with_drops": told.lossy(),
        "findings": findings, "verdict_flips": flips, "points": losses,
    })
}

fn axis_json(told: &Whole, axis: &AxisRuns) -> Value {
    let run = |r: &Run| json!({"from": r.from, "to": r.to, "holds": r.holds, "of": r.of});
    json!({
        "axis": told.points.axes[axis.axis].name,
        "runs": axis.runs.iter().map(run).collect::<Vec<_>>(),
    })
}

/// Losses of one point in JSON.
pub fn loss_json(loss: &PointLoss) -> Value {
    json!({
        "repetitions": loss.repetitions, "with_loss": loss.with_loss, "share": loss.share,
        "interval_95": [loss.interval.0, loss.interval.1],
    })
}

/// The page of a job.
pub fn job(told: &Told) -> String {
    let mut text = format!("job {}", told.id);
    text += &told.point.as_ref().map(|point| format!(": {point}")).unwrap_or_default();
    text.push('\n');
    let Some(ran) = &told.ran else {
        let reason = told.reason.as_deref().unwrap_or("no reason recorded");
        return text + &format!("{}: {reason}\n", told.status.name());
    };
    if told.status == Status::Budget {
        text += "ended by its budget\n";
    }
    text += &places(told, ran);
    match &ran.moment {
        Some(moment) => text += &first(told, moment),
        None if ran.drops > 0 => {
            text += "\nthe first drop could not be reached in a shorter run: its traffic depends \
                     on the duration\n";
        }
        None => {}
    }
    if let Some(sizing) = &ran.explained.sizing {
        text += &conditions(sizing);
    }
    text += &settings(ran);
    text += &pauses(told, ran);
    if !ran.findings.is_empty() {
        text += "\nFindings\n";
        for finding in &ran.findings {
            text += &format!("  {}: {}\n", finding.name(), words::finding(*finding));
        }
    }
    text
}

fn node(told: &Told, node: u32) -> String {
    if node < told.hosts { format!("host {node}") } else { format!("switch {node}") }
}

fn places(told: &Told, ran: &Ran) -> String {
    if ran.sites.is_empty() {
        return "no packet was lost\n".into();
    }
    let mut table = TextTable::new([
        ("lost".into(), Align::Right),
        ("bytes".into(), Align::Right),
        ("where".into(), Align::Left),
        ("port".into(), Align::Right),
        ("class".into(), Align::Right),
        ("pool".into(), Align::Right),
        ("reason".into(), Align::Left),
        ("first by".into(), Align::Right),
    ]);
    for site in ran.sites.iter().take(SHOWN) {
        table.row([
            thousands(site.packets as i128),
            thousands(site.bytes as i128),
            node(told, site.node),
            site.port.to_string(),
            site.tc.to_string(),
            site.pool.to_string(),
            site.reason.name().into(),
            time(site.first),
        ]);
    }
    let lost: u64 = ran.sites.iter().map(|site| site.packets).sum();
    let mut text = format!("{} lost in {}\n", count(lost as usize, "packet"), time(ran.end));
    text += &table.render();
    if ran.sites.len() > SHOWN {
        text += &format!("  and {}\n", count(ran.sites.len() - SHOWN, "more place"));
    }
    text
}

fn first(told: &Told, moment: &Moment) -> String {
    let site = &moment.site;
    let way = match moment.peer {
        Some((peer, _)) => format!(" (link to {})", node(told, peer)),
        None => String::new(),
    };
    let mut text = format!(
        "\nFirst drop at {} ps ({}), {} port {}{way}, class {}, {}\n  rule: {}\n",
        thousands(moment.time as i128),
        time(moment.time),
        node(told, site.node),
        site.port,
        site.tc,
        bytes(site.bytes / site.packets.max(1)),
        words::rule(site.reason)
    );
    let mut counters = TextTable::new([
        (String::new(), Align::Left),
        (String::new(), Align::Right),
        (String::new(), Align::Left),
    ]);
    let pool = format!("pool {}, all ports", site.pool);
    for (name, counter) in [
        ("headroom (hdrm)", moment.headroom),
        ("ingressUsage", moment.ingress),
        ("egressQueue", moment.egress),
        (&pool, moment.pool),
    ] {
        if let Some(counter) = counter {
            counters.row([
                name.into(),
                held_bytes(counter),
                format!("of {}", bytes(counter.limit)),
            ]);
        }
    }
    text += counters.render().split_once('\n').map_or("", |(_, body)| body);
    text += &format!(
        "  pauses sent by this port for the class: {}, resumes: {}\n",
        moment.pauses_sent, moment.resumes_sent
    );
    if let (Some(received), Some((peer, _))) = (moment.first_pause_received, moment.peer) {
        text += &format!(
            "  {} received the first one at {}, {} before the drop\n",
            node(told, peer),
            time(received),
            time(moment.time.saturating_sub(received))
        );
    }
    text
}

fn held_bytes(counter: Counter) -> String {
    match counter.min == counter.max {
        true => bytes(counter.max),
        false => format!("{} to {}", thousands(counter.min as i128), bytes(counter.max)),
    }
}

fn conditions(sizing: &Sizing) -> String {
    let line = |number: u8, what: &str, have: u64, need: u64| {
        let verdict = match need.checked_sub(have) {
            None | Some(0) => "met".into(),
            Some(short) => format!("MISSED by {}", bytes(short)),
        };
        format!("  {number} {what}: {} of {} asked, {verdict}\n", bytes(have), bytes(need))
    };
    let own = match sizing.sharing {
        0 => "met".into(),
        mask => format!("MISSED: class {} uses it too", crate::scenario::offered::classes(mask)),
    };
    format!(
        "\nSizing conditions of class {} (of senders that obey a pause at once)\n",
        sizing.class
    ) + &line(1, "headroom of a port", sizing.headroom.have, sizing.headroom.need)
        + &line(2, "pool", sizing.pool_size.have, sizing.pool_size.need)
        + &format!("  3 pool {} to itself: {own}\n", sizing.pool)
}

fn settings(ran: &Ran) -> String {
    if ran.moment.is_none() {
        return String::new();
    }
    if ran.explained.advice.is_empty() {
        return "\nWhat to move: the conditions name no setting for this drop; sweep the limits \
                above\n"
            .into();
    }
    let mut text = "\nWhat to move\n".to_owned();
    for (advice, tried) in ran.explained.advice.iter().zip(&ran.tried) {
        text += &format!(
            "  {} from {} to {}\n    {}\n",
            advice.setting,
            words::value(advice.from, advice.unit),
            words::value(advice.to, advice.unit),
            words::because(advice)
        );
        if !advice.fits {
            text += &format!("    does not fit: {}\n", words::does_not_fit(advice));
        } else if let Some(drops) = tried {
            text += &format!("    tried: {}, not {}\n", count(*drops as usize, "drop"), ran.drops);
        }
    }
    text
}

fn pauses(told: &Told, ran: &Ran) -> String {
    if ran.held.is_empty() {
        return "\nnobody was paused\n".into();
    }
    let mut table = TextTable::new([
        ("held".into(), Align::Right),
        ("share".into(), Align::Right),
        ("where".into(), Align::Left),
        ("port".into(), Align::Right),
        ("class".into(), Align::Right),
        ("pause frames".into(), Align::Right),
    ]);
    for held in ran.held.iter().take(SHOWN) {
        table.row([
            time(held.paused),
            percent(held.paused as f64 / ran.end.max(1) as f64),
            node(told, held.node),
            held.port.to_string(),
            held.tc.to_string(),
            thousands(held.frames as i128),
        ]);
    }
    let mut text = format!("\nHeld by pauses\n{}", table.render());
    if ran.held.len() > SHOWN {
        text += &format!("  and {}\n", count(ran.held.len() - SHOWN, "more place"));
    }
    text
}

/// A job in JSON.
pub fn job_json(told: &Told) -> Value {
    let mut json = json!({
        "job_id": told.id.to_string(), "point": told.point, "status": told.status.name(),
        "reason": told.reason,
    });
    let Some(ran) = &told.ran else { return json };
    let places: Vec<Value> = ran
        .sites
        .iter()
        .map(|s| {
            json!({
                "node_id": s.node, "ifid": s.port, "tc": s.tc, "pool_num": s.pool,
                "reason": s.reason.name(), "packets": s.packets, "bytes": s.bytes,
                "first_by_ps": s.first,
            })
        })
        .collect();
    let held: Vec<Value> = ran
        .held
        .iter()
        .map(|h| {
            json!({
                "node_id": h.node, "ifid": h.port, "tc": h.tc, "paused_ps": h.paused,
                "share": h.paused as f64 / ran.end.max(1) as f64, "pause_frames": h.frames,
            })
        })
        .collect();
    let advice: Vec<Value> =
        ran.explained.advice.iter().zip(&ran.tried).map(|(a, t)| advice_json(a, *t)).collect();
    json["drops"] = ran.drops.into();
    json["end_ps"] = ran.end.into();
    json["places"] = places.into();
    json["first_drop"] = ran.moment.as_ref().map_or(Value::Null, moment_json);
    json["conditions"] = ran.explained.sizing.as_ref().map_or(Value::Null, conditions_json);
    json["advice"] = advice.into();
    json["held"] = held.into();
    json["pause_time_fraction"] = ran.held_share.into();
    json["pause_frames_per_pause_time"] = ran.flaps.into();
    json["findings"] = ran.findings.iter().map(|f| f.name()).collect::<Vec<_>>().into();
    json
}

fn moment_json(moment: &Moment) -> Value {
    let counter = |c: Option<Counter>| {
        c.map(|c| json!({"min_bytes": c.min, "max_bytes": c.max, "limit_bytes": c.limit}))
    };
    let site = &moment.site;
    json!({
        "time_ps": moment.time, "node_id": site.node, "ifid": site.port, "tc": site.tc,
        "pool_num": site.pool, "reason": site.reason.name(), "rule": words::rule(site.reason),
        "peer_node_id": moment.peer.map(|peer| peer.0), "peer_ifid": moment.peer.map(|peer| peer.1),
        "counters": {
            "hdrm": counter(moment.headroom), "ingressUsage": counter(moment.ingress),
            "egressQueue": counter(moment.egress), "sharedBuffer": counter(moment.pool),
        },
        "pauses_sent": moment.pauses_sent, "resumes_sent": moment.resumes_sent,
        "first_pause_received_ps": moment.first_pause_received,
    })
}

fn conditions_json(sizing: &Sizing) -> Value {
    let sharing: Vec<u8> = (0..8u8).filter(|class| sizing.sharing >> class & 1 == 1).collect();
    json!({
        "tc": sizing.class, "pool_num": sizing.pool,
        "headroom": {
            "have_bytes": sizing.headroom.have, "need_bytes": sizing.headroom.need,
            "met": sizing.headroom.met(),
        },
        "pool": {
            "have_bytes": sizing.pool_size.have, "need_bytes": sizing.pool_size.need,
            "met": sizing.pool_size.met(),
        },
        "own_pool": {"sharing": sharing, "met": sizing.sharing == 0},
    })
}

fn advice_json(advice: &Advice, tried: Option<u64>) -> Value {
    json!({
        "setting": advice.setting, "from": advice.from, "to": advice.to, "unit": advice.unit,
        "because": words::because(advice), "fits": advice.fits, "drops_if_moved": tried,
    })
}
