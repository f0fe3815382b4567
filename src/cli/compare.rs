//! `compare`: what differs between two datasets.

use super::exit::{Exit, Failure};
use super::location::{Location, location};
use super::results::texts;
use super::text::{Align, TextTable, count};
use crate::record::remote::Extent;
use crate::record::{ColumnDifference, Comparison, Dataset, StoredTable, TableSet};
use crate::sweep::plan::JobId;
use crate::units::thousands;
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;

/// Jobs and points named on the page; all are counted, and all jobs are in the JSON.
const NAMED: usize = 5;

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// A dataset
    #[arg(value_parser = location())]
    a: Location,
    /// Another, for example of the same sweep by another version
    #[arg(value_parser = location())]
    b: Location,
    /// Only these tables (and the points) [default: all but timings and provenance]
    #[arg(long, value_name = "TABLE,…", value_delimiter = ',')]
    tables: Vec<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Compares, prints what differs.
///
/// # Errors
/// Datasets that differ; a table of no such name; a damaged file.
pub fn run(args: &CompareArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let tables = tables(&args.tables)?;
    let (a, b) = (args.a.read(Extent::Everything)?, args.b.read(Extent::Everything)?);
    let found = a.differences(&b, tables)?;
    let versions = (versions(&a)?, versions(&b)?);
    if args.json {
        let json = as_json(args, &found, &versions);
        let text = serde_json::to_string_pretty(&json);
        writeln!(out, "{}", text.map_err(|e| Failure::new(Exit::Internal, e))?)?;
    } else {
        out.write_all(page(args, &found, &versions).as_bytes())?;
    }
    if found.equal() { Ok(()) } else { Err(Failure::silent(Exit::Differ)) }
}

fn tables(names: &[String]) -> Result<TableSet, Failure> {
    if names.is_empty() {
        return Ok(TableSet::all());
    }
    let mut set = TableSet::default();
    for name in names {
        let table = TableSet::all().iter().find(|t| StoredTable::from(*t).name() == name);
        set.insert(table.ok_or_else(|| {
            Failure::new(
                Exit::Usage,
                format!("there is no table {name:?} to compare: {}", TableSet::all().to_list()),
            )
        })?);
    }
    Ok(set)
}

/// What made a dataset: versions with their commits, each once.
fn versions(dataset: &Dataset) -> Result<Vec<String>, Failure> {
    let mut found = BTreeSet::new();
    for batch in dataset.read_table(StoredTable::Provenance)? {
        let batch = batch?;
        let (version, commit) = (texts(&batch, "poolsweep_version"), texts(&batch, "commit"));
        for row in 0..batch.num_rows() {
            let commit = commit(row).map(|c| format!(" ({c})")).unwrap_or_default();
            found.insert(version(row).unwrap_or_default() + &commit);
        }
    }
    Ok(found.into_iter().collect())
}

fn page(args: &CompareArgs, found: &Comparison, versions: &(Vec<String>, Vec<String>)) -> String {
    let mut text = String::new();
    for (side, data, versions) in [("A", &args.a, &versions.0), ("B", &args.b, &versions.1)] {
        let versions = if versions.is_empty() { "-".into() } else { versions.join(", ") };
        text.push_str(&format!("{side}  {data}  poolsweep {versions}\n"));
    }
    text.push_str(&format!(
        "{} compared, {} differ",
        count(found.compared as usize, "job"),
        thousands(found.jobs_differing as i128)
    ));
    if found.paired_by_point > 0 {
        let pairs = thousands(found.paired_by_point as i128);
        text.push_str(&format!(" ({pairs} paired by their point: the ids differ)"));
    }
    text.push('\n');
    for (side, jobs) in [("A", &found.only_left), ("B", &found.only_right)] {
        if !jobs.is_empty() {
            text.push_str(&format!("only in {side}: {}\n", some(jobs)));
        }
    }
    for (side, columns) in [("A", &found.columns_only_left), ("B", &found.columns_only_right)] {
        if !columns.is_empty() {
            text.push_str(&format!("points have only in {side}: {}\n", columns.join(", ")));
        }
    }
    for (side, points) in [("A", found.points_only_left), ("B", found.points_only_right)] {
        if points > 0 {
            text.push_str(&format!("only in {side}: {}\n", count(points as usize, "point")));
        }
    }
    if found.points_changed > 0 {
        let points = count(found.points_changed as usize, "point");
        text.push_str(&format!("{points} of another job:\n"));
        for change in found.changed.iter().take(NAMED) {
            let (left, right) = (id(change.left), id(change.right));
            text.push_str(&format!("  {}: {left} in A, {right} in B\n", change.point));
        }
    }
    for rows in &found.rows {
        text.push_str(&format!(
            "{}: {} with another number of rows, first {}: {} in A, {} in B\n",
            rows.table.name(),
            count(rows.jobs as usize, "job"),
            rows.first,
            thousands(rows.left as i128),
            thousands(rows.right as i128)
        ));
    }
    if !found.columns.is_empty() {
        text.push('\n');
        text.push_str(&columns(&found.columns));
    }
    if found.equal() {
        text.push_str("equal\n");
    }
    text
}

fn columns(differences: &[ColumnDifference]) -> String {
    let heads = [
        ("table", Align::Left),
        ("column", Align::Left),
        ("jobs", Align::Right),
        ("rows", Align::Right),
        ("largest", Align::Right),
        ("first", Align::Left),
    ];
    let mut table = TextTable::new(heads.map(|(name, align)| (name.to_owned(), align)));
    for d in differences {
        let first = &d.first;
        table.row([
            d.table.name().to_owned(),
            d.column.to_owned(),
            thousands(d.jobs as i128),
            thousands(d.rows as i128),
            d.largest_relative.map_or("-".into(), |r| format!("{:.3} %", r * 100.0)),
            format!(
                "job {}, row {}: {} in A, {} in B",
                first.job,
                first.row,
                shorten(&first.left),
                shorten(&first.right)
            ),
        ]);
    }
    table.render()
}

/// Long values (a scenario) would hide the rest of the line.
fn shorten(value: &str) -> String {
    const MOST: usize = 40;
    match value.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

fn some(jobs: &[JobId]) -> String {
    let named: Vec<String> = jobs.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if jobs.len() > NAMED { ", …" } else { "" };
    format!("{}: {}{more}", count(jobs.len(), "job"), named.join(", "))
}

fn id(job: Option<JobId>) -> String {
    job.map_or("excluded".into(), |job| format!("job {job}"))
}

fn as_json(args: &CompareArgs, found: &Comparison, versions: &(Vec<String>, Vec<String>)) -> Value {
    let ids = |jobs: &[JobId]| jobs.iter().map(ToString::to_string).collect::<Vec<_>>();
    let columns: Vec<Value> = found
        .columns
        .iter()
        .map(|d| {
            json!({
                "table": d.table.name(), "column": d.column, "jobs": d.jobs, "rows": d.rows,
                "largest_relative": d.largest_relative,
                "first": {
                    "job_id": d.first.job.to_string(), "row": d.first.row,
                    "a": d.first.left, "b": d.first.right,
                },
            })
        })
        .collect();
    let rows: Vec<Value> = found
        .rows
        .iter()
        .map(|r| {
            json!({
                "table": r.table.name(), "jobs": r.jobs,
                "first": {"job_id": r.first.to_string(), "a": r.left, "b": r.right},
            })
        })
        .collect();
    let changed: Vec<Value> = found
        .changed
        .iter()
        .map(|c| {
            json!({
                "point": c.point,
                "a": c.left.map(|job| job.to_string()), "b": c.right.map(|job| job.to_string()),
            })
        })
        .collect();
    json!({
        "equal": found.equal(),
        "a": {"path": args.a.to_string(), "versions": versions.0},
        "b": {"path": args.b.to_string(), "versions": versions.1},
        "jobs": {
            "compared": found.compared, "differ": found.jobs_differing,
            "paired_by_point": found.paired_by_point,
            "only_a": ids(&found.only_left), "only_b": ids(&found.only_right),
        },
        "points": {
            "only_a": found.points_only_left, "only_b": found.points_only_right,
            "changed": found.points_changed, "first_changed": changed,
            "columns_only_a": found.columns_only_left, "columns_only_b": found.columns_only_right,
        },
        "rows": rows,
        "columns": columns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_by_name() {
        let two = tables(&["drops".into(), "jobs".into()]).unwrap();
        assert_eq!(two.to_list(), "jobs,drops");
        assert_eq!(tables(&[]).unwrap(), TableSet::all());
        let refused = tables(&["timings".into()]).unwrap_err();
        assert_eq!(refused.exit, Exit::Usage);
        assert!(refused.text.contains("port_buffers"), "{}", refused.text);
    }

    #[test]
    fn long_values_are_cut() {
        assert_eq!(shorten("12"), "12");
        assert_eq!(shorten(&"x".repeat(41)), "x".repeat(40) + "…");
    }
}
