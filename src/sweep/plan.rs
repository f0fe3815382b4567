//! The plan: points and jobs in a defined order.

use crate::sim::random::Seeds;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

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
