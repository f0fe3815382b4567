//! One job over time: what its ports and pools held, what they were compared with, drops, pauses.
//!
//! Owns what of it goes on the page: the places that matter most, in so many steps of time that a
//! screen can show. Where intervals are put together the least of the minima and the largest of the
//! maxima stay, so no peak is lost.

mod limits;
mod read;
mod steps;

pub use read::read;

use serde::Serialize;
use steps::Steps;

/// A job over time.
#[derive(Debug, Serialize)]
pub struct Timeline {
    /// Its place among the jobs.
    job: usize,
    steps: Steps,
    /// What was recorded, of the tables drawn from.
    recorded: Vec<&'static str>,
    /// Ports and pools, the worst first.
    places: Vec<Place>,
    /// Places that held something and are not on the page.
    places_left: usize,
    pools: Vec<Pool>,
    drops: Vec<Drops>,
    /// Of port, class and reason, those that lost packets and are not on the page.
    drops_left: usize,
    pauses: Vec<Pauses>,
}

/// A port and pool.
#[derive(Debug, Serialize)]
struct Place {
    node: i64,
    /// `switch 128`.
    name: String,
    port: i64,
    side: String,
    pool: i64,
    counters: Vec<Counter>,
}

/// The pools of a switch.
#[derive(Debug, Serialize)]
struct Pool {
    node: i64,
    name: String,
    /// -1: pools and headroom together.
    pool: i64,
    counters: Vec<Counter>,
}

/// A counter over time. Steps that are not in `at` held nothing.
#[derive(Debug, Serialize)]
struct Counter {
    name: String,
    at: Vec<usize>,
    min: Vec<i64>,
    mean: Vec<f64>,
    max: Vec<i64>,
    /// What it was compared with: one number, or the smallest of each step.
    limit: Limit,
    /// Thresholds that do not move: name and bytes.
    lines: Vec<(&'static str, i64)>,
}

/// A limit that stays, or moves.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Limit {
    Fixed(i64),
    Moving(Vec<i64>),
}

/// Drops of one place, class and reason.
#[derive(Debug, Serialize)]
struct Drops {
    node: i64,
    name: String,
    port: i64,
    class: i64,
    pool: i64,
    reason: String,
    at: Vec<usize>,
    packets: Vec<i64>,
    bytes: Vec<i64>,
}

/// Pauses of one port and class.
#[derive(Debug, Serialize)]
struct Pauses {
    node: i64,
    port: i64,
    class: i64,
    /// The pool of the class, where the scenario says so.
    pool: Option<i64>,
    at: Vec<usize>,
    /// Pause frames sent.
    paused: Vec<i64>,
    /// Resume frames sent.
    resumed: Vec<i64>,
    /// Time the class was held here as an egress, us.
    held: Vec<f64>,
}
