//! Findings over a whole dataset.

use super::points::Points;
use crate::record::{Dataset, RecordError, StoredTable};
use crate::report::cells::{integer, number, parse_id, texts};
use crate::scenario::Scenario;
use crate::sim::observe::DropReason;
use crate::sizing::explain::{
    AxisRuns, Finding, Flip, JobFacts, PointLoss, Settings, axis_runs, flips, losses,
};
use crate::sweep::plan::JobId;
use arrow::array::RecordBatch;
use std::collections::BTreeMap;

/// What there is to tell.
pub struct Whole {
    /// The points; their `job` is a place in `jobs`.
    pub points: Points,
    /// Jobs by status.
    pub statuses: BTreeMap<String, u64>,
    /// Every job, in order of parts.
    pub jobs: Vec<JobFacts>,
    /// Findings that hold for some job.
    pub findings: Vec<Found>,
    /// Verdicts that flip.
    pub flips: Vec<Flip>,
    /// Losses by point.
    pub losses: Vec<PointLoss>,
    /// The first reason of an infeasible job.
    pub refusal: Option<String>,
}

/// A finding and where it holds.
pub struct Found {
    /// Which.
    pub finding: Finding,
    /// Places of the jobs.
    pub jobs: Vec<usize>,
    /// Where along the axes.
    pub axes: Vec<AxisRuns>,
}

/// Reads `jobs` once.
///
/// # Errors
/// A damaged file.
pub fn explain(dataset: &Dataset, mut points: Points) -> Result<Whole, RecordError> {
    let (mut jobs, mut statuses, mut refusal) = (Vec::new(), BTreeMap::new(), None);
    let mut places: BTreeMap<JobId, usize> = BTreeMap::new();
    for batch in dataset.read_table(StoredTable::Jobs)? {
        let batch = batch?;
        let (ids, status) = (texts(&batch, "job_id"), texts(&batch, "status"));
        let (scenario, reason) = (texts(&batch, "scenario_json"), texts(&batch, "reason"));
        for row in 0..batch.num_rows() {
            let Some(id) = ids(row).and_then(|id| parse_id(&id)) else { continue };
            let status = status(row).unwrap_or_default();
            let facts = facts(&batch, row, id, &status, scenario(row).as_deref());
            if facts.infeasible && refusal.is_none() {
                refusal = reason(row);
            }
            *statuses.entry(status).or_default() += 1;
            places.insert(id, jobs.len());
            jobs.push(facts);
        }
    }
    for (point, id) in points.points.iter_mut().zip(&points.ids) {
        point.job = id.and_then(|id| places.get(&id).copied());
    }
    let findings = Finding::ALL
        .into_iter()
        .filter_map(|finding| {
            let held: Vec<usize> =
                (0..jobs.len()).filter(|&job| finding.holds(&jobs[job])).collect();
            let at = |point: usize| {
                points.points[point].job.is_some_and(|job| finding.holds(&jobs[job]))
            };
            let axes = axis_runs(&points.axes, &points.points, at);
            (!held.is_empty()).then_some(Found { finding, jobs: held, axes })
        })
        .collect();
    let flips = flips(&points.axes, &points.points, &jobs);
    let losses = losses(&points.points, &jobs);
    Ok(Whole { points, statuses, jobs, findings, flips, losses, refusal })
}

fn facts(
    batch: &RecordBatch,
    row: usize,
    id: JobId,
    status: &str,
    scenario: Option<&str>,
) -> JobFacts {
    let count = |name: &str| integer(batch, name, row).map_or(0, |n| n.max(0) as u64);
    // A scenario of another version still has its row.
    let scenario = scenario.and_then(|text| serde_json::from_str::<Scenario>(text).ok());
    let settings = scenario.map_or_else(Settings::default, |scenario| Settings::of(&scenario));
    let mean = number(batch, "pause_time_fraction_mean", row).unwrap_or(0.0);
    JobFacts {
        id,
        infeasible: status == "infeasible",
        drops: integer(batch, "drops", row).map(|n| n.max(0) as u64),
        by_reason: DropReason::ALL.map(|reason| count(&format!("drops_{}", reason.name()))),
        without_pause: count("drops_without_pause"),
        stuck: count("stuck_pauses"),
        deadlock: integer(batch, "deadlock_ps", row).is_some(),
        pause_frames: count("pause_frames"),
        held_share: number(batch, "pause_time_fraction", row).unwrap_or(0.0),
        held: mean * settings.pairs as f64 * count("measured_ps") as f64,
        peak_headroom: count("peak_headroom_bytes"),
        settings,
    }
}

impl Whole {
    /// Jobs that ran to an end.
    pub fn ended(&self) -> usize {
        self.jobs.iter().filter(|job| job.drops.is_some()).count()
    }

    /// Those that lost packets.
    pub fn lossy(&self) -> usize {
        self.jobs.iter().filter(|job| job.drops.is_some_and(|n| n > 0)).count()
    }

    /// Losses over some repetitions of one point.
    pub fn loss_of(&self, repetitions: &[usize]) -> Option<PointLoss> {
        let points: Vec<_> = repetitions.iter().map(|&p| self.points.points[p].clone()).collect();
        losses(&points, &self.jobs).into_iter().next().filter(|loss| loss.repetitions > 1)
    }
}
