//! The executor's two ends: jobs of a plan in, a dataset out.
//!
//! Owns the meeting of plan, simulator and dataset: what a job is asked to record, whether the
//! dataset has that already, and which row a job leaves that could not run. Refuses to know how
//! results are stored or computed.

use super::chunks::{Chunk, Task, cut, outstanding};
use super::executor::{Finished, Outcome, Sink, Work};
use crate::record::{
    self, Dataset, Done, JobMeta, JobRows, Provenance, RecordError, TableSet, Timing,
};
use crate::scenario::Scenario;
use crate::sim::observe::Observations;
use crate::sim::random::Seeds;
use crate::sweep::plan::{Job, JobId, Plan};
use crate::units::Ps;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// A chunk whose rows take more memory than this is published as several parts. Where it is split
/// follows from the rows alone.
const MOST_OPEN_BYTES: usize = 32 << 20;

/// The jobs of a plan.
pub trait JobSource: Sync {
    /// All of them, in order.
    fn jobs(&self) -> &[Job];
    /// What a job simulates.
    ///
    /// # Errors
    /// A message, where the scenario cannot be resolved.
    fn scenario(&self, job: usize) -> Result<Scenario, String>;
    /// The same as canonical JSON.
    ///
    /// # Errors
    /// As for [`JobSource::scenario`].
    fn scenario_json(&self, job: usize) -> Result<String, String>;
}

impl JobSource for Plan {
    fn jobs(&self) -> &[Job] {
        &self.jobs
    }
    fn scenario(&self, job: usize) -> Result<Scenario, String> {
        Plan::scenario(self, job).map_err(|error| error.to_string())
    }
    fn scenario_json(&self, job: usize) -> Result<String, String> {
        Plan::scenario_json(self, job).map_err(|error| error.to_string())
    }
}

/// A simulator: one job, a pure function.
pub trait Simulate: Sync {
    /// Simulates a scenario.
    ///
    /// # Errors
    /// A message for the job's row.
    fn simulate(&self, scenario: &Scenario, seeds: Seeds) -> Result<Observations, String>;
}

impl<F: Fn(&Scenario, Seeds) -> Result<Observations, String> + Sync> Simulate for F {
    fn simulate(&self, scenario: &Scenario, seeds: Seeds) -> Result<Observations, String> {
        self(scenario, seeds)
    }
}

/// What a scenario asks to be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Tables; `jobs` always among them.
    pub tables: TableSet,
    /// Length of the intervals.
    pub interval: Ps,
    /// Whether rows of nothing are wanted.
    pub zeros: bool,
}

impl Asked {
    /// Reads a scenario's `record`.
    pub fn of(scenario: &Scenario) -> Self {
        let mut tables: TableSet = scenario.record.tables.iter().copied().collect();
        tables.insert(crate::scenario::Table::Jobs);
        Asked { tables, interval: record_interval(scenario), zeros: scenario.record.zeros }
    }

    /// Whether a dataset's claim covers it.
    pub fn covered_by(&self, done: &Done) -> bool {
        done.holds(self.tables, self.interval, self.zeros)
    }
}

/// Length of a scenario's report intervals.
pub fn record_interval(scenario: &Scenario) -> Ps {
    scenario
        .record
        .interval
        .unwrap_or(scenario.switch.shared_buffer_manager.buffer_stats_report_interval)
}

/// Makes a scenario ask for these tables.
pub fn record_as(scenario: &mut Scenario, tables: TableSet, interval: Ps, zeros: bool) {
    scenario.record.tables = tables.iter().collect();
    scenario.record.interval = Some(interval);
    scenario.record.zeros = zeros;
}

/// The chunks of a plan that a dataset does not hold yet, and how many jobs it does.
pub fn left_to_do(source: &dyn JobSource, done: &BTreeMap<JobId, Done>) -> (Vec<Chunk>, usize) {
    let tasks: Vec<Task> = source
        .jobs()
        .iter()
        .enumerate()
        .map(|(job, j)| Task { job, cost: j.cost, runs: j.infeasible.is_empty() })
        .collect();
    let is_done = |job: usize| {
        done.get(&source.jobs()[job].id).is_some_and(|claim| {
            // An earlier version may have refused what this one runs.
            if claim.status == record::Status::Infeasible
                && source.jobs()[job].infeasible.is_empty()
            {
                return false;
            }
            // One that cannot be resolved fails when it runs, with its message.
            source.scenario(job).is_ok_and(|scenario| Asked::of(&scenario).covered_by(claim))
        })
    };
    // Resolving a scenario takes longer than the rest together.
    let are_done: Vec<bool> = (0..tasks.len()).into_par_iter().map(is_done).collect();
    let chunks = outstanding(cut(&tasks), |job| are_done[job]);
    let left: usize = chunks.iter().map(|chunk| chunk.tasks.len()).sum();
    (chunks, tasks.len() - left)
}

/// Runs jobs of a plan; a job's rows are formed on the thread that ran it.
pub struct Simulations<'a, S: ?Sized> {
    source: &'a dyn JobSource,
    simulator: &'a S,
}

impl<'a, S: Simulate + ?Sized> Simulations<'a, S> {
    /// Of this plan, by this simulator.
    pub fn new(source: &'a dyn JobSource, simulator: &'a S) -> Self {
        Simulations { source, simulator }
    }
}

impl<S: Simulate + ?Sized> Work for Simulations<'_, S> {
    type Output = JobRows;

    fn run(&self, job: usize) -> Result<JobRows, String> {
        let scenario = self.source.scenario(job)?;
        let observed = self.simulator.simulate(&scenario, self.source.jobs()[job].seeds)?;
        let meta = meta(self.source, job, Some(&scenario))?;
        JobRows::new(meta, record::Outcome::Ran(&observed)).map_err(|error| error.to_string())
    }
}

fn meta(source: &dyn JobSource, job: usize, known: Option<&Scenario>) -> Result<JobMeta, String> {
    let asked = match known {
        Some(scenario) => Asked::of(scenario),
        None => Asked::of(&source.scenario(job)?),
    };
    let planned = &source.jobs()[job];
    Ok(JobMeta {
        id: planned.id,
        repetition: planned.repetition,
        seed: planned.seeds.sweep,
        scenario: source.scenario_json(job)?,
        tables: asked.tables,
        interval: asked.interval,
        zeros: asked.zeros,
    })
}

/// Writes chunks of a plan's jobs to a dataset.
pub struct Recorder<'a> {
    dataset: &'a Dataset,
    source: &'a dyn JobSource,
    run: &'a Provenance,
    most_open_bytes: usize,
}

impl<'a> Recorder<'a> {
    /// Into this dataset; `run` says which run it is in `timings`.
    pub fn new(dataset: &'a Dataset, source: &'a dyn JobSource, run: &'a Provenance) -> Self {
        Recorder { dataset, source, run, most_open_bytes: MOST_OPEN_BYTES }
    }

    fn row_without_run(
        &self,
        job: usize,
        outcome: record::Outcome<'_>,
    ) -> Result<JobRows, RecordError> {
        let planned = &self.source.jobs()[job];
        // A scenario that cannot be resolved was told as the reason already; its row has none.
        let meta = meta(self.source, job, None).unwrap_or_else(|_| JobMeta {
            id: planned.id,
            repetition: planned.repetition,
            seed: planned.seeds.sweep,
            scenario: String::new(),
            tables: TableSet::default(),
            interval: Ps(0),
            zeros: false,
        });
        JobRows::new(meta, outcome)
    }
}

/// Results of a chunk that are not published yet.
#[derive(Debug, Default)]
pub struct OpenChunk {
    rows: Vec<JobRows>,
    timings: Vec<Timing>,
    bytes: usize,
}

impl Sink<JobRows> for Recorder<'_> {
    type Open = OpenChunk;
    type Error = RecordError;

    fn open(&self) -> Result<OpenChunk, RecordError> {
        Ok(OpenChunk::default())
    }

    fn push(&self, open: &mut OpenChunk, result: Finished<JobRows>) -> Result<(), RecordError> {
        let planned = &self.source.jobs()[result.job];
        let ran = !matches!(result.outcome, Outcome::Infeasible);
        let rows = match result.outcome {
            Outcome::Ran(rows) => rows,
            Outcome::Failed(message) => {
                self.row_without_run(result.job, record::Outcome::Failed(&message))?
            }
            Outcome::Infeasible => {
                let reason = planned.infeasible.join("; ");
                self.row_without_run(result.job, record::Outcome::Infeasible(&reason))?
            }
        };
        open.bytes += rows.memory();
        open.rows.push(rows);
        if ran {
            open.timings.push(Timing {
                job: planned.id,
                thread: u32::try_from(result.worker).unwrap_or(u32::MAX),
                start: result.start,
                wall: result.wall,
                cpu: Some(result.cpu),
            });
        }
        if open.bytes > self.most_open_bytes {
            self.publish(std::mem::take(open))?;
        }
        Ok(())
    }

    fn publish(&self, open: OpenChunk) -> Result<(), RecordError> {
        // Results first: a run killed in between has results without timings, never the reverse.
        self.dataset.publish(&self.run.plan_hash, open.rows)?;
        self.dataset.write_timings(self.run, &open.timings)
    }
}

#[cfg(test)]
mod tests;
