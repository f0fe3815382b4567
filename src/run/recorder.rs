//! The executor's two ends: jobs of a plan in, a dataset out.
//!
//! Owns the meeting of plan, simulator and dataset: what a job is asked to record, whether the
//! dataset has that already, and which row a job leaves that could not run. Refuses to know how
//! results are stored or computed.

use super::chunks::{Chunk, Task, cut, cut_shard, outstanding};
use super::executor::{Finished, Outcome, Sink, Work};
use super::journal::{How, Journal, Line};
use super::reuse::Known;
use super::shard::Shard;
use super::suspects::Suspect;
use crate::record::{
    self, Dataset, Done, JobMeta, JobRows, Provenance, RecordError, Status, TableSet, Timing,
};
use crate::scenario::Scenario;
use crate::sim::observe::Observations;
use crate::sim::random::Seeds;
use crate::sim::reuse::{Groups, Watched};
use crate::sweep::plan::{Job, JobId, Plan};
use crate::units::Ps;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

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
    /// The same, keeping what thresholds were compared with; `None`: it cannot.
    fn watched(
        &self,
        scenario: &Scenario,
        seeds: Seeds,
        groups: &Groups,
    ) -> Option<Result<Watched, String>> {
        let _ = (scenario, seeds, groups);
        None
    }
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

/// Which jobs of a plan are wanted, besides not being done.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Only those of a shard.
    pub shard: Option<Shard>,
    /// Those whose row has one of these statuses run again.
    pub again: BTreeSet<Status>,
    /// Jobs that may have taken a process down.
    pub suspects: BTreeMap<JobId, Suspect>,
}

/// What there is to do.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Todo {
    /// Jobs that run in any company.
    pub chunks: Vec<Chunk>,
    /// Suspects, which run alone, each a chunk of its own.
    pub alone: Vec<Chunk>,
    /// Jobs that are set aside, by their index in the plan, and why; they are in `chunks`.
    pub set_aside: BTreeMap<usize, String>,
    /// Jobs wanted that are done already.
    pub skipped: usize,
}

impl Todo {
    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.alone.is_empty()
    }

    /// The tasks of both kinds.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.chunks.iter().chain(&self.alone).flat_map(|chunk| &chunk.tasks)
    }
}

/// The tasks of a plan, in its order.
pub fn tasks(source: &dyn JobSource) -> Vec<Task> {
    let task = |(job, j): (usize, &Job)| Task { job, cost: j.cost, runs: j.infeasible.is_empty() };
    source.jobs().iter().enumerate().map(task).collect()
}

/// The jobs of a plan that are wanted and that a dataset does not hold yet.
pub fn left_to_do(source: &dyn JobSource, done: &BTreeMap<JobId, Done>, wanted: &Wanted) -> Todo {
    let all = tasks(source);
    let (mine, chunks) = match wanted.shard {
        Some(shard) => {
            let mine = shard.of(&all);
            let chunks = cut_shard(&mine, shard.count());
            (mine, chunks)
        }
        None => {
            let chunks = cut(&all);
            (all, chunks)
        }
    };
    let is_done = |job: usize| {
        done.get(&source.jobs()[job].id).is_some_and(|claim| {
            // An earlier version may have refused what this one runs.
            let refused = claim.status == Status::Infeasible;
            if refused && source.jobs()[job].infeasible.is_empty()
                || wanted.again.contains(&claim.status)
            {
                return false;
            }
            // One that cannot be resolved fails when it runs, with its message.
            source.scenario(job).is_ok_and(|scenario| Asked::of(&scenario).covered_by(claim))
        })
    };
    // Resolving a scenario takes longer than the rest together.
    let are_done: BTreeSet<usize> =
        mine.par_iter().map(|task| task.job).filter(|&job| is_done(job)).collect();
    let mut todo =
        Todo { chunks: outstanding(chunks, |job| are_done.contains(&job)), ..Todo::default() };
    todo.skipped = mine.len() - todo.tasks().count();
    if wanted.suspects.is_empty() {
        return todo;
    }
    for chunk in &mut todo.chunks {
        chunk.tasks.retain_mut(|task| {
            let suspect = wanted.suspects.get(&source.jobs()[task.job].id).filter(|_| task.runs);
            match suspect {
                Some(suspect) if suspect.is_set_aside() => {
                    todo.set_aside.insert(task.job, suspect.reason());
                    task.runs = false;
                }
                Some(_) => todo.alone.push(Chunk { tasks: vec![*task] }),
                None => {}
            }
            suspect.is_none_or(Suspect::is_set_aside)
        });
    }
    todo.chunks.retain(|chunk| !chunk.tasks.is_empty());
    todo
}

/// Runs jobs of a plan; a job's rows are formed on the thread that ran it.
pub struct Simulations<'a, S: ?Sized> {
    source: &'a dyn JobSource,
    simulator: &'a S,
    known: Option<&'a Known<'a>>,
}

impl<'a, S: Simulate + ?Sized> Simulations<'a, S> {
    /// Of this plan, by this simulator.
    pub fn new(source: &'a dyn JobSource, simulator: &'a S) -> Self {
        Simulations { source, simulator, known: None }
    }

    /// Answering jobs from simulations that are known already.
    pub fn reusing(mut self, known: Option<&'a Known<'a>>) -> Self {
        self.known = known;
        self
    }
}

impl<S: Simulate + ?Sized> Work for Simulations<'_, S> {
    type Output = JobRows;

    fn run(&self, job: usize) -> Result<JobRows, String> {
        let scenario = self.source.scenario(job)?;
        let seeds = self.source.jobs()[job].seeds;
        let meta = meta(self.source, job, Some(&scenario))?;
        if let Some(known) = self.known {
            return known.rows(self.simulator, &scenario, seeds, meta);
        }
        simulated(self.simulator, &scenario, seeds, meta)
    }
}

/// The rows of a job's own simulation.
///
/// # Errors
/// A message for the job's row.
pub(super) fn simulated<S: Simulate + ?Sized>(
    simulator: &S,
    scenario: &Scenario,
    seeds: Seeds,
    meta: JobMeta,
) -> Result<JobRows, String> {
    let observed = simulator.simulate(scenario, seeds)?;
    JobRows::new(meta, record::Outcome::Ran(&observed)).map_err(|error| error.to_string())
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
    journal: Option<&'a Journal>,
    set_aside: BTreeMap<usize, String>,
    most_open_bytes: usize,
}

impl<'a> Recorder<'a> {
    /// Into this dataset; `run` says which run it is in `timings`.
    pub fn new(dataset: &'a Dataset, source: &'a dyn JobSource, run: &'a Provenance) -> Self {
        Recorder {
            dataset,
            source,
            run,
            journal: None,
            set_aside: BTreeMap::new(),
            most_open_bytes: MOST_OPEN_BYTES,
        }
    }

    /// Keeping a journal too.
    pub fn journal(mut self, journal: &'a Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// With the jobs that are set aside, and why.
    pub fn set_aside(mut self, jobs: BTreeMap<usize, String>) -> Self {
        self.set_aside = jobs;
        self
    }

    fn note(&self, line: impl FnOnce() -> Line) {
        if let Some(journal) = self.journal {
            journal.say(&line());
        }
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

    fn begin(&self, job: usize, worker: usize) {
        self.note(|| Line::start(self.source.jobs()[job].id, worker));
    }

    fn end(&self, task: &Task, result: &Finished<JobRows>) {
        let how = match result.outcome {
            Outcome::Ran(_) => How::Ran,
            Outcome::Failed(_) => How::Failed,
            Outcome::NotRun => How::NotRun,
        };
        let id = self.source.jobs()[task.job].id;
        self.note(|| Line::end(id, how, task.full_cost(), result.wall));
    }

    fn open(&self) -> Result<OpenChunk, RecordError> {
        Ok(OpenChunk::default())
    }

    fn push(&self, open: &mut OpenChunk, result: Finished<JobRows>) -> Result<(), RecordError> {
        let planned = &self.source.jobs()[result.job];
        let ran = !matches!(result.outcome, Outcome::NotRun);
        let rows = match result.outcome {
            Outcome::Ran(rows) => rows,
            Outcome::Failed(message) => {
                self.row_without_run(result.job, record::Outcome::Failed(&message))?
            }
            Outcome::NotRun => match self.set_aside.get(&result.job) {
                Some(reason) => {
                    self.row_without_run(result.job, record::Outcome::Quarantined(reason))?
                }
                None => {
                    let reason = planned.infeasible.join("; ");
                    self.row_without_run(result.job, record::Outcome::Infeasible(&reason))?
                }
            },
        };
        open.bytes += rows.size();
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
        let jobs = open.rows.len();
        let mut rows = open.rows;
        let records: Vec<_> = rows.iter_mut().filter_map(JobRows::take_record).collect();
        self.dataset.publish(&self.run.plan_hash, rows)?;
        self.note(|| Line::published(jobs));
        self.dataset.write_reuse(self.run, &records)?;
        self.dataset.write_timings(self.run, &open.timings)
    }
}

#[cfg(test)]
mod tests;
