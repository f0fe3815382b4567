//! One value looked at: what its jobs come to.

use super::Question;
use crate::cli::exit::{Exit, Failure};
use crate::cli::figures::{Computed, Row};
use crate::cli::summary::{View, point_name, varying};
use crate::sizing::search::Verdict;
use crate::sweep::expr::Value;
use crate::sweep::plan::{JobId, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// A value looked at.
pub struct Probe {
    /// What it comes to.
    pub verdict: Verdict,
    /// Its points, repetitions counted, those left out by constraints not.
    pub points: usize,
    /// Its jobs.
    pub jobs: usize,
    /// Points at which the condition does not hold.
    pub failing: usize,
    /// Points that the switch refuses.
    pub infeasible: usize,
    /// The first of either.
    pub first: Option<Witness>,
}

/// A point at which the condition does not hold.
pub struct Witness {
    /// The point, by what varies besides the setting.
    pub point: String,
    /// Its job; none: a constraint left the point out.
    pub job: Option<JobId>,
    /// What it came to.
    pub why: String,
}

impl Probe {
    /// Judges the points of a place.
    pub fn judge(
        question: &Question,
        plan: &Plan,
        place: u64,
        rows: &BTreeMap<JobId, Row>,
    ) -> Result<Self, Failure> {
        let setting = &question.setting;
        let position = plan.columns.iter().position(|column| column.name == setting.name);
        let Some(position) = position else {
            return Err(Failure::new(Exit::Internal, "a plan without the setting"));
        };
        let view = View::of(plan);
        let mut shown = varying(view);
        shown.retain(|&column| column != position);
        let witness = |point: usize, job: Option<JobId>, why: String| Witness {
            point: point_name(view, &shown, point),
            job,
            why,
        };
        let mut probe = Probe {
            verdict: Verdict::Holds,
            points: 0,
            jobs: 0,
            failing: 0,
            infeasible: 0,
            first: None,
        };
        let (mut jobs, mut broken) = (BTreeSet::new(), Vec::new());
        let (mut refused, mut excluded) = (None, None);
        for (index, point) in plan.points.iter().enumerate() {
            if !setting.is_at(&plan.columns[position], index, place) {
                continue;
            }
            let Some(job) = point.job.map(|job| plan.jobs[job].id) else {
                let by = point.excluded_by.as_deref().unwrap_or("a constraint");
                excluded.get_or_insert_with(|| witness(index, None, format!("excluded: {by}")));
                continue;
            };
            probe.points += 1;
            jobs.insert(job);
            let row = rows
                .get(&job)
                .ok_or_else(|| Failure::new(Exit::Internal, format!("job {job} left no row")))?;
            let reason = || row.reason.clone().unwrap_or_default();
            let why = match row.status.as_str() {
                "ok" => match question.condition.at(plan, index, row) {
                    Ok(Computed::Value(Value::Bool(true))) => continue,
                    Ok(_) => question.condition.names_at(plan, index, row),
                    Err(error) => {
                        let at = witness(index, None, String::new()).point;
                        let value = setting.value(place);
                        return Err(Failure::new(
                            Exit::Usage,
                            format!("--condition, at {}={value}, {at}: {error}", setting.name),
                        ));
                    }
                },
                "infeasible" => {
                    probe.infeasible += 1;
                    let why = || witness(index, Some(job), format!("infeasible: {}", reason()));
                    refused.get_or_insert_with(why);
                    continue;
                }
                // What it measured is of a part of the time only.
                "budget" => format!("budget used up: {}", reason()),
                status => {
                    broken.push(format!("{job} {status}: {}", reason()));
                    continue;
                }
            };
            probe.failing += 1;
            probe.first.get_or_insert_with(|| witness(index, Some(job), why));
        }
        if let Some(first) = broken.first() {
            return Err(Failure::new(
                Exit::JobsFailed,
                format!(
                    "no answer: {} of {}={} failed, the first {first}; poolsweep repro runs one \
                     again, poolsweep retry --failed or --quarantined all of them",
                    crate::cli::text::count(broken.len(), "job"),
                    setting.name,
                    setting.value(place),
                ),
            ));
        }
        probe.jobs = jobs.len();
        probe.verdict = match (probe.failing, probe.points, probe.infeasible) {
            (1.., _, _) => Verdict::Fails,
            (0, 0, _) | (0, _, 1..) => Verdict::Infeasible,
            _ => Verdict::Holds,
        };
        if probe.verdict == Verdict::Infeasible {
            probe.first = refused.or(excluded);
        }
        Ok(probe)
    }

    /// In words: at how many of its points what is wrong.
    pub fn summary(&self) -> String {
        let points = || crate::cli::text::count(self.points, "point");
        match (self.verdict, self.failing, self.infeasible) {
            (Verdict::Holds, ..) if self.points == 1 => "holds at the only point".into(),
            (Verdict::Holds, ..) => format!("holds at all {}", points()),
            (Verdict::Infeasible, ..) if self.points == 0 => "constraints leave no point".into(),
            (_, 0, infeasible) => format!("refused at {infeasible} of {}", points()),
            (_, failing, 0) => format!("fails at {failing} of {}", points()),
            (_, failing, infeasible) => {
                format!("fails at {failing}, refused at {infeasible} of {}", points())
            }
        }
    }
}
