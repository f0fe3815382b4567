//! Jobs that need not run: those whose events are another one's, one by one.
//!
//! Owns what is known of simulations, in memory for those of this run and on disk for earlier ones,
//! and the search for one that answers a job. Bounded: rows are kept in memory up to a size, and
//! read back or made again beyond it. A job that nothing answers is simulated; nothing here can
//! make a job fail.

use super::executor::lock;
use super::recorder::{JobSource, Simulate, simulated};
use crate::record::{Dataset, JobMeta, JobRows, Outcome, RunRecord, Source};
use crate::scenario::Scenario;
use crate::sim::random::Seeds;
use crate::sim::reuse::{self, Groups, Point, Structure, structure};
use crate::sweep::SEMANTICS_VERSION;
use crate::sweep::plan::{Job, JobId};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// Rows of simulations kept in memory, bytes.
const MOST_KEPT: usize = 64 << 20;

/// How jobs were answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answered {
    /// By their own simulation.
    pub simulated: usize,
    /// By another job's.
    pub covered: usize,
}

impl Answered {
    /// What came after `before`.
    pub fn since(self, before: Answered) -> Answered {
        Answered {
            simulated: self.simulated - before.simulated,
            covered: self.covered - before.covered,
        }
    }
}

/// A simulation that may answer other jobs.
struct Run {
    job: JobId,
    outcome: reuse::Outcome,
    /// What else was kept of it, if it was read from disk.
    stored: Option<RunRecord>,
}

/// The simulations of one structure.
struct Family {
    groups: Groups,
    runs: RwLock<Vec<Arc<Run>>>,
}

/// Rows in memory.
struct Kept {
    rows: JobRows,
    record: RunRecord,
}

#[derive(Default)]
struct Memory {
    kept: BTreeMap<JobId, Arc<Kept>>,
    /// Oldest first.
    order: VecDeque<(JobId, usize)>,
    bytes: usize,
}

/// What is known of simulations.
pub struct Known<'a> {
    dataset: &'a Dataset,
    families: Mutex<BTreeMap<Structure, Option<Arc<Family>>>>,
    memory: Mutex<Memory>,
    /// Records of earlier runs by structure, read when first asked for.
    earlier: OnceLock<Mutex<BTreeMap<String, Vec<RunRecord>>>>,
    most_kept: usize,
    simulated: AtomicUsize,
    covered: AtomicUsize,
}

impl<'a> Known<'a> {
    /// Nothing yet but what a dataset has of earlier runs.
    pub fn new(dataset: &'a Dataset) -> Self {
        Known {
            dataset,
            families: Mutex::default(),
            memory: Mutex::default(),
            earlier: OnceLock::new(),
            most_kept: MOST_KEPT,
            simulated: AtomicUsize::new(0),
            covered: AtomicUsize::new(0),
        }
    }

    /// How jobs were answered so far.
    pub fn answered(&self) -> Answered {
        Answered {
            simulated: self.simulated.load(Ordering::Relaxed),
            covered: self.covered.load(Ordering::Relaxed),
        }
    }

    /// Whether one simulation that is known answers both jobs.
    pub fn same(&self, one: (&Scenario, Seeds), other: (&Scenario, Seeds)) -> bool {
        let key = structure(one.0, one.1, SEMANTICS_VERSION);
        if structure(other.0, other.1, SEMANTICS_VERSION) != key {
            return false;
        }
        let Some(family) = self.family(key, one.0) else { return false };
        let points = (family.groups.point(one.0), family.groups.point(other.0));
        let (Ok(one), Ok(other)) = points else { return false };
        let runs = family.runs.read().unwrap_or_else(PoisonError::into_inner);
        runs.iter().any(|run| run.outcome.holds(&one) && run.outcome.holds(&other))
    }

    /// The rows of a job: those of a simulation known already, or else of its own.
    ///
    /// # Errors
    /// A message for the job's row.
    pub fn rows<S: Simulate + ?Sized>(
        &self,
        simulator: &S,
        scenario: &Scenario,
        seeds: Seeds,
        meta: JobMeta,
    ) -> Result<JobRows, String> {
        let key = structure(scenario, seeds, SEMANTICS_VERSION);
        let family = self.family(key, scenario);
        let at = family.as_ref().and_then(|family| family.groups.point(scenario).ok());
        if let (Some(family), Some(point)) = (&family, at)
            && let Some(rows) = self.answer(family, &point, &meta)
        {
            self.covered.fetch_add(1, Ordering::Relaxed);
            return Ok(rows);
        }
        self.simulated.fetch_add(1, Ordering::Relaxed);
        let Some((family, watched)) = family.and_then(|family| {
            let watched = simulator.watched(scenario, seeds, &family.groups)?;
            Some((family, watched))
        }) else {
            return simulated(simulator, scenario, seeds, meta);
        };
        let reuse::Watched { observations, outcome } = watched?;
        let job = meta.id;
        let rows = JobRows::new(meta, Outcome::Ran(&observations)).map_err(|e| e.to_string())?;
        let Ok(compared) = serde_json::to_string(&outcome) else { return Ok(rows) };
        let record = RunRecord::new(job, key.to_string(), compared, &observations);
        drop(observations);
        self.keep(&rows, &record);
        let run = Arc::new(Run { job, outcome, stored: None });
        family.runs.write().unwrap_or_else(PoisonError::into_inner).push(run);
        Ok(rows.with_record(record))
    }

    /// The simulations of a structure; `None`: its topology makes no sense.
    fn family(&self, key: Structure, scenario: &Scenario) -> Option<Arc<Family>> {
        if let Some(family) = lock(&self.families).get(&key) {
            return family.clone();
        }
        let family = Groups::new(scenario).ok().map(|groups| {
            let runs = RwLock::new(self.earlier_runs(key));
            Arc::new(Family { groups, runs })
        });
        lock(&self.families).entry(key).or_insert(family).clone()
    }

    /// What earlier runs compared in jobs of a structure.
    fn earlier_runs(&self, key: Structure) -> Vec<Arc<Run>> {
        let earlier = self.earlier.get_or_init(|| {
            let mut by_structure: BTreeMap<String, Vec<RunRecord>> = BTreeMap::new();
            // Without them jobs are simulated, which is right as well.
            for record in self.dataset.read_reuse().unwrap_or_default() {
                by_structure.entry(record.structure.clone()).or_default().push(record);
            }
            Mutex::new(by_structure)
        });
        let records = lock(earlier).remove(&key.to_string()).unwrap_or_default();
        let run = |record: RunRecord| {
            let outcome = serde_json::from_str(&record.compared).ok()?;
            Some(Arc::new(Run { job: record.job, outcome, stored: Some(record) }))
        };
        records.into_iter().filter_map(run).collect()
    }

    /// The job's rows, if a simulation answers it and its rows can be had.
    fn answer(&self, family: &Family, point: &Point, meta: &JobMeta) -> Option<JobRows> {
        let mut seen = 0;
        loop {
            let run = {
                let runs = family.runs.read().unwrap_or_else(PoisonError::into_inner);
                let mut left = runs.iter().enumerate().skip(seen);
                let (at, run) = left.find(|(_, run)| run.outcome.holds(point))?;
                seen = at + 1;
                Arc::clone(run)
            };
            // What it left before is what it is run again to replace.
            if run.job == meta.id {
                continue;
            }
            let Some(kept) = self.kept(&run) else { continue };
            let source = Source { rows: &kept.rows, record: &kept.record };
            let rows = JobRows::covered(meta.clone(), source, &family.groups, point);
            if let Ok(Some(rows)) = rows {
                return Some(rows);
            }
        }
    }

    /// The rows of a simulation, from memory or from disk.
    fn kept(&self, run: &Run) -> Option<Arc<Kept>> {
        if let Some(kept) = lock(&self.memory).kept.get(&run.job) {
            return Some(Arc::clone(kept));
        }
        let record = run.stored.as_ref()?;
        let rows = self.dataset.rows_of_job(run.job).ok()?;
        Some(self.keep(&rows, record))
    }

    fn keep(&self, rows: &JobRows, record: &RunRecord) -> Arc<Kept> {
        let kept = Arc::new(Kept { rows: rows.clone(), record: record.clone() });
        let bytes = rows.memory() + record.memory();
        let mut memory = lock(&self.memory);
        if memory.kept.insert(record.job, Arc::clone(&kept)).is_none() {
            memory.order.push_back((record.job, bytes));
            memory.bytes += bytes;
        }
        while memory.bytes > self.most_kept
            && memory.order.len() > 1
            && let Some((job, bytes)) = memory.order.pop_front()
        {
            memory.kept.remove(&job);
            memory.bytes -= bytes;
        }
        kept
    }
}

/// How many structures the jobs of a plan that run have: at least so many have to be simulated.
pub fn structures(source: &dyn JobSource) -> usize {
    let of = |(job, planned): (usize, &Job)| {
        let scenario = planned.infeasible.is_empty().then(|| source.scenario(job).ok())??;
        Some(structure(&scenario, planned.seeds, SEMANTICS_VERSION))
    };
    let all: BTreeSet<Structure> = source.jobs().par_iter().enumerate().filter_map(of).collect();
    all.len()
}

#[cfg(test)]
mod tests;
