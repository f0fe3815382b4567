//! The plan: points and jobs in a defined order.
//!
//! Owns what the rest of the program sees of a sweep: every grid point and repetition, the jobs
//! they come to, and the scenario of each job on demand. Refuses to read files after it is made:
//! editing the sweep file changes nothing in a plan that exists. [`frozen`](super::frozen) keeps a
//! plan on disk.

use super::explain::{self, Explanation};
use super::fault::{Sources, SweepError};
use super::grid::{Grid, SEMANTICS_VERSION};
use super::layers::Layer;
use super::load;
use crate::scenario::Scenario;
use crate::sim::random::Seeds;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// Identity of a job: the first 8 bytes of its hash, shown as 16 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// One job of a plan. Its scenario is resolved when it is asked for: [`Plan::scenario`].
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Identity.
    pub id: JobId,
    /// Repetition, from 0.
    pub repetition: u64,
    /// What its random streams are derived from.
    pub seeds: Seeds,
    /// The rules the scenario breaks, each with attribute and value; empty: it can run.
    pub infeasible: Vec<String>,
    /// Estimated cost (packet-hops, roughly); only ratios matter.
    pub cost: f64,
    /// A point that resolves to this job.
    pub point: usize,
}

/// One grid point and repetition: a row of `points`.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Scenario label, if the file has `scenarios`.
    pub scenario: Option<String>,
    /// Repetition, from 0.
    pub repetition: u64,
    /// Index into [`Plan::jobs`]; several points may share one. `None`: excluded.
    pub job: Option<usize>,
    /// The constraint that excluded it.
    pub excluded_by: Option<String>,
}

/// One axis or derived value over all points, in the order of [`Plan::points`].
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name: the key as the file gives it.
    pub name: String,
    /// `B`, `ps`, `bit/s`, or empty.
    pub unit: String,
    /// One value a point; `None` where the axis was dropped.
    pub values: ColumnValues,
}

/// Typed values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// Integers: bytes, ps, bit/s, counts.
    Int(Vec<Option<i64>>),
    /// Numbers.
    Float(Vec<Option<f64>>),
    /// Booleans.
    Bool(Vec<Option<bool>>),
    /// Words and labels.
    Text(Vec<Option<String>>),
    /// Lists of integers.
    IntList(Vec<Option<Vec<i64>>>),
    /// Lists of numbers.
    FloatList(Vec<Option<Vec<f64>>>),
}

/// A file that took part in the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceFile {
    /// Path as opened.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What the command line adds to a sweep file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// `key=value`, each laid over the file, the last one on top.
    pub set: Vec<String>,
    /// `key=[a, b]`, `key=a,b` or `key={range: …}`: axes added or replaced.
    pub axis: Vec<String>,
    /// More points than [`SOFT_LIMIT`](super::SOFT_LIMIT) are meant.
    pub yes: bool,
}

/// One axis, for summaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisSize {
    /// Its key in the file.
    pub name: String,
    /// The keys it varies; several for a zip or a table.
    pub members: Vec<String>,
    /// Number of values.
    pub len: usize,
    /// The first values as people write them (at most a thousand).
    pub values: Vec<String>,
}

/// What a constraint removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exclusion {
    /// The constraint as written.
    pub constraint: String,
    /// Points it removed, repetitions counted. A point counts for the first constraint that
    /// removes it.
    pub points: u64,
}

/// A checked plan.
///
/// Order: entries of `scenarios` outermost, then axes in file order (the first is the slowest),
/// repetitions innermost. Jobs stand in the order in which points first need them. A job holds
/// no scenario: [`Plan::scenario`] makes it, so a plan takes less than 1 KiB a job.
#[derive(Debug)]
pub struct Plan {
    /// `name` of the file, or the file's name without its ending.
    pub name: String,
    /// The seed (with `seeds`, the first of them).
    pub seed: u64,
    /// Repetitions of every point (with `seeds`, how many there are).
    pub repetitions: u64,
    /// Every grid point and repetition, excluded ones included.
    pub points: Vec<Point>,
    /// What is to run, each once.
    pub jobs: Vec<Job>,
    /// Axes and derived values, in step with `points`.
    pub columns: Vec<Column>,
    /// Every file read, in the order read; the first is the sweep file itself.
    pub files: Vec<SourceFile>,
    /// The axes in file order.
    pub axes: Vec<AxisSize>,
    /// One entry for each constraint.
    pub exclusions: Vec<Exclusion>,
    /// What is allowed but probably not meant.
    pub warnings: Vec<String>,
    /// What the command line added.
    pub overrides: Overrides,
    pub(super) grid: Grid,
    pub(super) layers: Vec<Layer>,
    pub(super) sources: Sources,
}

impl Plan {
    /// Reads, checks and multiplies out a sweep file.
    ///
    /// # Errors
    /// The first thing wrong with the file, with its place; a grid that is too large.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Plan, SweepError> {
        load::plan(path, overrides)
    }

    /// The scenario of a job, given its place in [`Plan::jobs`].
    ///
    /// # Errors
    /// None for a job of this plan: it was resolved once when the plan was made.
    pub fn scenario(&self, job: usize) -> Result<Scenario, SweepError> {
        self.resolve(job).map(|(scenario, _)| scenario)
    }

    /// The seeds repetitions draw from: one, or those that `seeds` lists.
    pub fn seeds(&self) -> Vec<u64> {
        let mut seeds: Vec<u64> = self.grid.repeats.iter().map(|r| r.seed).collect();
        seeds.dedup();
        seeds
    }

    /// The scenario of a job as JSON: sorted keys, base units, every default filled in.
    ///
    /// # Errors
    /// As [`Plan::scenario`].
    pub fn scenario_json(&self, job: usize) -> Result<String, SweepError> {
        self.resolve(job).map(|(_, text)| text)
    }

    fn resolve(&self, job: usize) -> Result<(Scenario, String), SweepError> {
        let row = self.jobs.get(job).map_or(usize::MAX, |j| j.point);
        let point = row as u64 / self.repetitions.max(1);
        self.grid.scenario(point).map_err(|f| self.sources.error(f))
    }

    /// Where a key's value comes from: every layer that gives it, the winning one last.
    ///
    /// # Errors
    /// An unknown name, or one that could mean several places.
    pub fn explain(&self, key: &str) -> Result<Explanation, SweepError> {
        explain::explain(self, key).map_err(|f| self.sources.error(f))
    }

    /// Points that some constraint removed, repetitions counted.
    pub fn excluded(&self) -> u64 {
        self.exclusions.iter().map(|e| e.points).sum()
    }

    /// Jobs that break a rule of the switch.
    pub fn infeasible(&self) -> usize {
        self.jobs.iter().filter(|j| !j.infeasible.is_empty()).count()
    }

    /// The plan in short, as it is kept beside a dataset.
    pub fn to_json(&self) -> serde_json::Value {
        let axes: Vec<_> = self
            .axes
            .iter()
            .map(|a| serde_json::json!({"name": a.name, "members": a.members, "size": a.len}))
            .collect();
        let exclusions: Vec<_> = self
            .exclusions
            .iter()
            .map(|e| serde_json::json!({"constraint": e.constraint, "points": e.points}))
            .collect();
        // One seed serves all repetitions, unless the file lists them.
        let seeds = self.seeds();
        serde_json::json!({
            "name": self.name,
            "seed": self.seed,
            "seeds": seeds,
            "repetitions": self.repetitions,
            "semantics_version": SEMANTICS_VERSION,
            "plan_hash": self.hash(),
            "points": self.points.len(),
            "jobs": self.jobs.len(),
            "infeasible": self.infeasible(),
            "excluded": self.excluded(),
            "axes": axes,
            "exclusions": exclusions,
            "warnings": self.warnings,
            "frozen": super::frozen::Frozen::of(self),
        })
    }

    /// Hash over the ids of all jobs in their order, 64 hex digits.
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for job in &self.jobs {
            hasher.update(&job.id.0.to_be_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// One scenario of a sweep file: that of the given job, or of the first point that runs.
///
/// # Errors
/// As [`Plan::load`]; a file whose constraints leave no point; a number that is no job's.
pub fn load_scenario(
    path: &Path,
    overrides: &Overrides,
    job: Option<usize>,
) -> Result<Scenario, SweepError> {
    let plan = Plan::load(path, overrides)?;
    let job = job.unwrap_or(0);
    if job >= plan.jobs.len() {
        let n = plan.jobs.len();
        let fault = super::fault::Fault::nowhere(format!("the plan has no job {job}: it has {n}"))
            .help("jobs are counted from 0; `poolsweep plan --list` shows them");
        return Err(plan.sources.error(fault));
    }
    plan.scenario(job)
}
