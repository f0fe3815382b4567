//! The answer of a search, for people and as JSON.

use super::probe::Probe;
use super::{Found, Question};
use crate::cli::execute::reuse_line;
use crate::cli::exit::{Exit, Failure};
use crate::cli::text::{Align, TextTable, count};
use crate::run::progress::rough;
use crate::sizing::search::{Answer, Goal, Verdict};
use crate::sweep::float;
use crate::units::{Rational, thousands};
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// Places at which verdicts turn back that are named; more are counted.
const FLIPS_NAMED: usize = 3;

fn goal(question: &Question) -> &'static str {
    match question.goal {
        Goal::Smallest => "smallest",
        Goal::Largest => "largest",
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "fails",
        Verdict::Infeasible => "refused",
    }
}

/// What a person reads.
pub fn text(question: &Question, found: &Found) -> String {
    let setting = &question.setting;
    let name = &setting.name;
    let show = |place: u64| setting.value(place).to_string();
    let jobs = found.probes.values().map(|probe| probe.jobs).max().unwrap_or(0);
    let mut out = format!(
        "{}: {} {name} from {} to {} in steps of {} that keeps {}; {} a value\n\n",
        question.ends.name,
        goal(question),
        show(0),
        show(setting.last()),
        setting.step(),
        question.condition.source(),
        count(jobs, "job"),
    );
    let head = [(name.clone(), Align::Right), (String::new(), Align::Left)];
    let mut table = TextTable::new(head.into_iter().chain([("first".into(), Align::Left)]));
    for (&place, probe) in &found.probes {
        let first = probe.first.as_ref().map_or_else(String::new, |w| {
            if probe.points > 1 { format!("{}: {}", w.point, w.why) } else { w.why.clone() }
        });
        table.row([show(place), probe.summary(), first]);
    }
    out.push_str(&table.render());
    out.push('\n');
    answer(question, found, &mut out);
    for warning in warnings(question, found) {
        let _ = writeln!(out, "warning {warning}");
    }
    for leap in found.search.leaps() {
        let values = leap.from.abs_diff(leap.to);
        let _ = writeln!(
            out,
            "reuse   the simulations at {} answer {} exactly, to {}",
            show(leap.from),
            match values {
                1 => "1 more value".to_owned(),
                _ => format!("{} more values", thousands(i128::from(values))),
            },
            show(leap.to)
        );
    }
    if found.answered.covered > 0 {
        let _ = writeln!(out, "{}", reuse_line(found.answered));
    }
    let _ = write!(
        out,
        "data    {}\ntime    {} now in {}, {} before; {}\n",
        question.folder.display(),
        count(found.ran, "job"),
        rough(found.took),
        count(found.before, "job"),
        count(found.probes.len(), "value"),
    );
    out
}

fn answer(question: &Question, found: &Found, out: &mut String) {
    let setting = &question.setting;
    let show = |place: u64| setting.value(place).to_string();
    let summary = |place: u64| found.probes.get(&place).map(Probe::summary).unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = match found.search.answer() {
        Some(Answer::Found { holds, fails }) => {
            let first = found.probes.get(&fails).and_then(|probe| probe.first.as_ref());
            let why = first.map_or_else(String::new, |w| match w.job {
                Some(job) => format!(", first {} (job {job}): {}", w.point, w.why),
                None => format!(", first {}: {}", w.point, w.why),
            });
            writeln!(
                out,
                "answer  {}: {}\nproof   {}: {}{why}",
                show(holds),
                summary(holds),
                show(fails),
                summary(fails)
            )
        }
        Some(Answer::Everywhere) => writeln!(
            out,
            "answer  holds everywhere in the range, at {} too: no value in it is too {}",
            show(end(question)),
            match question.goal {
                Goal::Smallest => "small",
                Goal::Largest => "large",
            }
        ),
        Some(Answer::UpToEnd { holds }) => writeln!(
            out,
            "answer  {}: {}; it is an end of the range, whether the condition holds beyond was not \
             asked",
            show(holds),
            summary(holds)
        ),
        Some(Answer::Nowhere) | None => writeln!(
            out,
            "answer  none: at none of the {} looked at the condition holds, the ends of the range \
             among them",
            count(found.probes.len(), "value")
        ),
    };
}

/// The end of the range that the goal points to.
fn end(question: &Question) -> u64 {
    match question.goal {
        Goal::Smallest => 0,
        Goal::Largest => question.setting.last(),
    }
}

/// What makes the answer less than it seems.
fn warnings(question: &Question, found: &Found) -> Vec<String> {
    let setting = &question.setting;
    let mut warnings = Vec::new();
    let flips = found.search.flips();
    if !flips.is_empty() {
        let mut named: Vec<String> = flips
            .iter()
            .take(FLIPS_NAMED)
            .map(|&(a, b)| format!("holds at {}, fails at {}", setting.value(a), setting.value(b)))
            .collect();
        if flips.len() > FLIPS_NAMED {
            named.push(format!("and {} more", thousands((flips.len() - FLIPS_NAMED) as i128)));
        }
        let (side, other) = match question.goal {
            Goal::Smallest => ("largest", "--largest"),
            Goal::Largest => ("smallest", "--smallest"),
        };
        warnings.push(format!(
            "not monotone: {}; the answer is the edge of the {side} values that hold, others were \
             not looked at one by one (if the condition wants it the other way round, {other})",
            named.join("; ")
        ));
    }
    let missing = found.probes.values().filter_map(|probe| probe.first.as_ref());
    let missing = missing.filter(|w| w.why.contains(" has no value")).count();
    if missing > 0 {
        warnings.push(format!(
            "at {} a column of the condition has no value: that counts as not holding",
            count(missing, "value")
        ));
    }
    warnings
}

/// The same for programs. Amounts are in base units.
pub fn json(question: &Question, found: &Found) -> Result<String, Failure> {
    let setting = &question.setting;
    let unit = question
        .ends
        .columns
        .iter()
        .find(|column| column.name == setting.name)
        .map(|column| column.unit.clone())
        .unwrap_or_default();
    let value = |place: u64| amount(&setting.amount(place));
    let probe = |place: u64, probe: &Probe| {
        let first = probe.first.as_ref().map(
            |w| json!({"point": w.point, "job_id": w.job.map(|j| j.to_string()), "why": w.why}),
        );
        json!({
            "value": value(place),
            "text": setting.value(place).to_string(),
            "verdict": verdict(probe.verdict),
            "points": probe.points,
            "jobs": probe.jobs,
            "failing": probe.failing,
            "infeasible": probe.infeasible,
            "first": first,
        })
    };
    let at = |place: u64| found.probes.get(&place).map(|p| probe(place, p));
    let (outcome, holds, fails) = match found.search.answer() {
        Some(Answer::Found { holds, fails }) => ("found", Some(holds), Some(fails)),
        Some(Answer::Everywhere) => ("holds_everywhere", Some(end(question)), None),
        Some(Answer::UpToEnd { holds }) => ("holds_up_to_end", Some(holds), None),
        Some(Answer::Nowhere) | None => ("fails_everywhere", None, None),
    };
    let probes: Vec<Json> = found.probes.iter().map(|(&place, p)| probe(place, p)).collect();
    let leaps: Vec<Json> =
        found.search.leaps().iter().map(|leap| json!([value(leap.from), value(leap.to)])).collect();
    let document = json!({
        "sweep": question.ends.name,
        "setting": setting.name,
        "unit": unit,
        "goal": goal(question),
        "from": value(0),
        "to": value(setting.last()),
        "step": setting.step().amount().as_ref().map(amount),
        "condition": question.condition.source(),
        "outcome": outcome,
        "answer": holds.map(value),
        "answer_text": holds.map(|place| setting.value(place).to_string()),
        "holds": holds.and_then(at),
        "fails": fails.and_then(at),
        "monotone": found.search.flips().is_empty(),
        "warnings": warnings(question, found),
        "jobs_run": found.ran,
        "jobs_before": found.before,
        "jobs_simulated": found.answered.simulated,
        "values_answered_at_once": leaps,
        "probes": probes,
        "data": question.folder.display().to_string(),
    });
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| Failure::new(Exit::Internal, error))?;
    Ok(text + "\n")
}

/// A whole number as one; anything else as the nearest double.
pub fn amount(value: &Rational) -> Json {
    match i64::try_from(*value.numer()) {
        Ok(whole) if value.is_integer() => Json::from(whole),
        _ => Json::from(float(value)),
    }
}
