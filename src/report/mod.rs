//! A dataset in words and pictures: one HTML page that needs no network.
//!
//! Owns what is said about a finished dataset (findings, their words, quantities as people write
//! them) and the page made of it: what of the tables goes in, as JSON, and the template it goes
//! into. Refuses to run jobs, and to put anything on the page that is not in the dataset: the same
//! dataset gives the same bytes.

pub mod cells;
mod error;
pub mod explain;
mod findings;
mod grid;
mod head;
mod html;
mod jobs;
pub mod text;
mod timeline;

pub use error::ReportError;

use crate::record::{Dataset, StoredTable};
use crate::sweep::plan::JobId;
use serde::Serialize;
use std::path::Path;

/// What a page is to hold beyond the tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Jobs whose occupancy over time is drawn.
    pub jobs: Vec<JobId>,
    /// How many more, the worst first.
    pub worst: usize,
}

/// Everything the page's script reads.
#[derive(Debug, Serialize)]
struct Content {
    head: head::Head,
    axes: Vec<grid::AxisColumn>,
    points: grid::PointColumns,
    jobs: jobs::JobColumns,
    findings: findings::Findings,
    timelines: Vec<timeline::Timeline>,
}

/// The page of a dataset.
///
/// # Errors
/// A job in `wanted` that the dataset does not have; a damaged file.
pub fn page(dataset: &Dataset, wanted: &Wanted) -> Result<String, ReportError> {
    let points = explain::points::Points::read(dataset)?;
    let jobs = jobs::JobColumns::read(dataset)?;
    let (axes, columns) = (grid::axes(&points), grid::points(&points, &jobs));
    let whole = explain::whole::explain(dataset, points)?;
    let mut timelines = Vec::new();
    for place in jobs.chosen(wanted, dataset)? {
        timelines.push(timeline::read(dataset, &jobs, place)?);
    }
    let head = head::Head::read(dataset)?;
    let findings = findings::Findings::of(&whole, &jobs);
    html::page(&Content { head, axes, points: columns, jobs, findings, timelines })
}

/// Whether a file at `path` would lie among the parts of a table, where readers of the dataset would
/// take it for one.
pub fn among_parts(dataset: &Dataset, path: &Path) -> bool {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(folder) = folder.canonicalize() else { return false };
    StoredTable::ALL.iter().any(|table| {
        dataset.path().join(table.name()).canonicalize().is_ok_and(|parts| parts == folder)
    })
}
