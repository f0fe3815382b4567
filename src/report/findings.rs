//! What `explain` finds, for the page.

use super::jobs::JobColumns;
use crate::report::explain::whole::Whole;
use crate::report::explain::words;
use crate::sizing::explain::Finding;
use serde::Serialize;

/// Flips and losses on the page; the others are counted.
const LISTED: usize = 200;

/// All of it.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// Jobs that ran to an end.
    ended: usize,
    /// Those that lost packets.
    lossy: usize,
    found: Vec<Found>,
    flips: Vec<FlipFacts>,
    flips_all: usize,
    /// Points of several repetitions, some of which lost packets.
    losses: Vec<Loss>,
    losses_all: usize,
    /// Points of several repetitions.
    repeated: usize,
}

#[derive(Debug, Serialize)]
struct Found {
    name: &'static str,
    meaning: String,
    /// Places of the jobs.
    jobs: Vec<usize>,
    /// Where along the axes: name and words.
    axes: Vec<(String, String)>,
    /// Of infeasible jobs, the first reason.
    first: Option<String>,
}

#[derive(Debug, Serialize)]
struct FlipFacts {
    axis: String,
    relative: f64,
    /// Places of the points.
    low: usize,
    high: usize,
}

#[derive(Debug, Serialize)]
struct Loss {
    point: usize,
    repetitions: u64,
    with_loss: u64,
    share: f64,
    interval: (f64, f64),
}

impl Findings {
    /// Of a whole dataset.
    pub fn of(told: &Whole, jobs: &JobColumns) -> Findings {
        let found = told.findings.iter().map(|found| Found {
            name: found.finding.name(),
            meaning: words::finding(found.finding),
            // Somebody may have written more jobs since they were read.
            jobs: found.jobs.iter().filter_map(|&job| jobs.place(told.jobs[job].id)).collect(),
            axes: found
                .axes
                .iter()
                .map(|axis| (told.points.axes[axis.axis].name.clone(), words::runs(axis)))
                .collect(),
            first: told.refusal.clone().filter(|_| found.finding == Finding::Infeasible),
        });
        let flips = told.flips.iter().map(|flip| FlipFacts {
            axis: told.points.axes[flip.axis].name.clone(),
            relative: flip.relative,
            low: flip.low,
            high: flip.high,
        });
        let losses: Vec<Loss> = told
            .losses
            .iter()
            .filter(|loss| loss.repetitions > 1 && loss.with_loss > 0)
            .map(|loss| Loss {
                point: loss.point,
                repetitions: loss.repetitions,
                with_loss: loss.with_loss,
                share: loss.share,
                interval: loss.interval,
            })
            .collect();
        Findings {
            ended: told.ended(),
            lossy: told.lossy(),
            found: found.collect(),
            flips: flips.take(LISTED).collect(),
            flips_all: told.flips.len(),
            losses_all: losses.len(),
            losses: losses.into_iter().take(LISTED).collect(),
            repeated: told.losses.iter().filter(|loss| loss.repetitions > 1).count(),
        }
    }
}
