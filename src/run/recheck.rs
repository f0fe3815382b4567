//! Running a random sample of a dataset's jobs again and comparing every row, bit for bit.
//!
//! The sample follows from the seed and the job ids alone, so it can be drawn again anywhere.

use super::again;
use super::simulator::Simulator;
use crate::record::{Dataset, Finding, JobRow, JobRows, PartReader, RecordError};
use crate::sweep::plan::JobId;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Jobs simulated before they are compared, by thread: bounds the memory.
const JOBS_A_THREAD: usize = 4;

/// What running again came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rechecked {
    /// Jobs run again.
    pub jobs: usize,
    /// Rows compared.
    pub rows: u64,
    /// Jobs that came out differently or could not be run.
    pub findings: Vec<Finding>,
}

/// Draws `number` of the jobs; all of them if there are not more.
pub fn sample(jobs: &BTreeMap<JobId, String>, number: usize, seed: u64) -> BTreeMap<JobId, String> {
    let rank = |job: &JobId| {
        let text = [seed.to_le_bytes(), job.0.to_le_bytes()].concat();
        *blake3::hash(&text).as_bytes()
    };
    let mut ranked: Vec<_> = jobs.keys().map(|job| (rank(job), *job)).collect();
    ranked.sort_unstable();
    ranked.truncate(number);
    let drawn = ranked.iter().filter_map(|(_, job)| Some((*job, jobs.get(job)?.clone())));
    drawn.collect()
}

/// Draws `number` of the jobs, about half of them among the `covered`, whose results are those of
/// another job's simulation, if there are so many of either kind.
pub fn sample_of_both(
    jobs: &BTreeMap<JobId, String>,
    covered: &BTreeSet<JobId>,
    number: usize,
    seed: u64,
) -> BTreeMap<JobId, String> {
    let (others, own): (BTreeMap<_, _>, BTreeMap<_, _>) =
        jobs.iter().map(|(&job, part)| (job, part.clone())).partition(|(j, _)| covered.contains(j));
    let of_own = (number / 2).max(number.saturating_sub(others.len()));
    let mut drawn = sample(&own, of_own, seed);
    drawn.extend(sample(&others, number - drawn.len(), seed));
    drawn
}

/// Runs jobs again on all cores; each is given with the part it is in.
///
/// # Errors
/// A part that cannot be read.
pub fn recheck(
    dataset: &Dataset,
    jobs: &BTreeMap<JobId, String>,
) -> Result<Rechecked, RecordError> {
    let simulator = Simulator::default();
    let mut order: Vec<(&str, JobId)> = jobs.iter().map(|(job, part)| (&**part, *job)).collect();
    order.sort_unstable();
    let mut told = Rechecked::default();
    // The part at hand, read once for all of its jobs.
    let mut open: Option<(&str, PartReader<'_>)> = None;
    for wave in order.chunks(JOBS_A_THREAD * rayon::current_num_threads()) {
        let mut rows = Vec::new();
        let mut reader: Option<(&str, PartReader<'_>)> = None;
        for &(part, job) in wave {
            rows.push(at(dataset, &mut reader, part)?.row(job)?);
        }
        let again: Vec<_> = rows.par_iter().map(|row| run(&simulator, row)).collect();
        for ((&(part, job), row), again) in wave.iter().zip(&rows).zip(again) {
            told.jobs += 1;
            let file = dataset.path().join("jobs").join(part);
            match again {
                Ok(again) => {
                    let (rows, differences) = at(dataset, &mut open, part)?.compare(row, &again)?;
                    told.rows += rows;
                    told.findings.extend(differences.iter().map(|difference| {
                        let file = dataset.path().join(difference.table.name()).join(part);
                        Finding::new(
                            &file,
                            format!("recorded against run again: {difference}"),
                            "see provenance for what ran it; if this poolsweep is right, delete \
                             this file and the one of its name in jobs/, then run again",
                        )
                    }));
                }
                Err(refused) => told.findings.push(Finding::new(
                    &file,
                    format!("job {job} cannot be run again: {refused}"),
                    "verify in the folder the sweep was run in, with the poolsweep that \
                     provenance names; --sample 0 reads without running",
                )),
            }
        }
    }
    Ok(told)
}

/// The reader of a part, the one at hand if it is that.
fn at<'o, 'd, 'p>(
    dataset: &'d Dataset,
    open: &'o mut Option<(&'p str, PartReader<'d>)>,
    part: &'p str,
) -> Result<&'o mut PartReader<'d>, RecordError> {
    let reader = match open.take() {
        Some((name, reader)) if name == part => reader,
        _ => dataset.read_part(part)?,
    };
    Ok(&mut open.insert((part, reader)).1)
}

fn run(simulator: &Simulator, row: &JobRow) -> Result<JobRows, String> {
    let (scenario, seeds) = again::resolve(row).map_err(|refused| refused.to_string())?;
    // Without its trace it would fail, which says nothing about the recorded rows.
    simulator.traces(&scenario).map_err(|error| error.to_string())?;
    again::run(simulator, row, &scenario, seeds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
