//! Every point of a grid resolved, and the plan they make.
//!
//! Owns the numbering of points and jobs, the sharing of jobs between points, and the tallies.
//! Refuses to know how a point is resolved: the grid does.

use super::axis::Axis;
use super::columns::Columns;
use super::expr::Value;
use super::fault::{Fault, Sources, SweepError};
use super::grid::{Grid, Outcome, Resolved, Scratch};
use super::layers::{Layer, Merged};
use super::plan::{AxisSize, Exclusion, Job, JobId, Plan, Point, SourceFile};
use super::settings::Variant;
use crate::scenario::check::Finding;
use indexmap::IndexMap;
use rayon::prelude::*;
use std::collections::HashMap;

/// Points resolved at a time: bounds what is in memory beside the plan.
const BATCH: u64 = 1 << 14;
/// Most different warnings a plan keeps.
const MAX_WARNINGS: usize = 200;
/// Most values an axis shows in a summary.
const SHOWN_VALUES: usize = 1_000;

/// Resolves every point and collects the plan.
pub(super) fn assemble(
    grid: Grid,
    merged: Merged,
    name: String,
    variants: Vec<Variant>,
    mut warnings: Vec<String>,
    sources: Sources,
) -> Result<Plan, SweepError> {
    let rows = grid.points() * grid.repeats.len() as u64;
    let mut points: Vec<Point> = Vec::with_capacity(rows as usize);
    let mut jobs: Vec<Job> = Vec::new();
    let mut by_id: HashMap<JobId, usize> = HashMap::new();
    let mut columns = Columns::new(&grid);
    let mut removed = vec![0u64; grid.constraints.len()];
    // Warnings by attribute and rule: that of the first point, and how many points have it.
    let mut found: IndexMap<(String, String), (Finding, u64)> = IndexMap::new();
    let mut digits = Vec::new();
    let mut start = 0;
    while start < grid.points() {
        let end = (start + BATCH).min(grid.points());
        let batch: Vec<Result<Resolved, Fault>> = (0..(end - start) as usize)
            .into_par_iter()
            .with_min_len(64)
            .map_init(Scratch::default, |scratch, i| match grid.locate(start + i as u64) {
                Some((block, place)) => grid.resolve(block, place, scratch),
                None => Err(Fault::nowhere("a point lies outside the grid")),
            })
            .collect();
        for (point, resolved) in (start..end).zip(batch) {
            // In order, so that of several broken points the first is named.
            let resolved = resolved.map_err(|f| sources.error(f))?;
            let Some((block, place)) = grid.locate(point) else { continue };
            grid.digits(block, place, &mut digits);
            columns.push(&grid, block, &digits, &resolved.derived);
            let ready = match resolved.outcome {
                Outcome::Excluded(i) => {
                    removed[i] += grid.repeats.len() as u64;
                    for repetition in 0..grid.repeats.len() as u64 {
                        points.push(Point {
                            scenario: block.label.clone(),
                            repetition,
                            job: None,
                            excluded_by: Some(grid.constraints[i].expr.source().to_owned()),
                        });
                    }
                    continue;
                }
                Outcome::Ready(ready) => *ready,
            };
            for w in ready.warnings {
                let key = (w.attribute.clone(), without_figures(&w.rule));
                if let Some((_, n)) = found.get_mut(&key) {
                    *n += 1;
                } else if found.len() < MAX_WARNINGS {
                    found.insert(key, (w, 1));
                }
            }
            for (repetition, (id, seeds)) in ready.jobs.into_iter().enumerate() {
                let row = points.len();
                let job = *by_id.entry(id).or_insert_with(|| {
                    jobs.push(Job {
                        id,
                        repetition: seeds.repetition,
                        seeds,
                        infeasible: ready.infeasible.clone(),
                        cost: ready.cost,
                        point: row,
                    });
                    jobs.len() - 1
                });
                points.push(Point {
                    scenario: block.label.clone(),
                    repetition: repetition as u64,
                    job: Some(job),
                    excluded_by: None,
                });
            }
        }
        start = end;
    }
    let exclusions: Vec<Exclusion> = grid
        .constraints
        .iter()
        .zip(&removed)
        .map(|(rule, &n)| Exclusion { constraint: rule.expr.source().to_owned(), points: n })
        .collect();
    for Exclusion { constraint, points } in &exclusions {
        if *points == 0 {
            warnings.push(format!("the constraint `{constraint}` removes no point"));
        } else if *points == rows {
            warnings.push(format!("the constraint `{constraint}` removes every point"));
        }
    }
    let total: u64 = removed.iter().sum();
    if total == rows && !removed.contains(&rows) {
        warnings.push("the constraints together remove every point".to_owned());
    }
    for (warning, n) in found.into_values() {
        let others = match n - 1 {
            0 => String::new(),
            1 => " (and 1 more point alike)".to_owned(),
            n => format!(" (and {n} more points alike)"),
        };
        warnings.push(format!("{warning}{others}"));
    }
    let axes = grid.axes.iter().map(summary).collect();
    let files = sources
        .iter()
        .filter(|s| s.is_file)
        .map(|s| SourceFile { path: s.name.clone(), bytes: s.text.clone().into_bytes() })
        .collect();
    let sets: Vec<Layer> = variants.into_iter().map(|v| v.set).collect();
    Ok(Plan {
        name,
        seed: grid.repeats.first().map_or(0, |r| r.seed),
        repetitions: grid.repeats.len() as u64,
        points,
        jobs,
        columns: columns.finish(),
        files,
        axes,
        exclusions,
        warnings,
        overrides: Default::default(),
        grid,
        layers: merged.layers.into_iter().chain(sets).collect(),
        sources,
    })
}

/// The rule of a warning without the numbers that differ from point to point.
fn without_figures(rule: &str) -> String {
    rule.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect()
}

/// What a summary shows of an axis; the values a zip or table takes together stand together.
fn summary(axis: &Axis) -> AxisSize {
    let shown = |i: usize| {
        let members = axis.members.iter().filter(|m| !m.hidden);
        let values = members.map(|m| match (&m.labels, &m.values[i]) {
            (Some(labels), Value::Text(_)) => labels[i].clone(),
            (Some(labels), value) => format!("{} ({value})", labels[i]),
            (None, value) => value.to_string(),
        });
        values.collect::<Vec<_>>().join(" / ")
    };
    AxisSize {
        name: axis.name.clone(),
        members: axis.members.iter().filter(|m| !m.hidden).map(|m| m.written.clone()).collect(),
        len: axis.len,
        values: (0..axis.len.min(SHOWN_VALUES)).map(shown).collect(),
    }
}
