//! `repro`: one job of a dataset again, compared row by row.

use super::exit::{Exit, Failure};
use super::location::{Location, location};
use super::results::{parse_id, texts};
use super::text::count;
use crate::record::remote::Extent;
use crate::record::{Dataset, JobRow, JobRows, ORIGIN, Status, StoredTable};
use crate::run::again::{self, Refused};
use crate::run::simulator::Simulator;
use crate::scenario::Scenario;
use crate::sim::random::Seeds;
use crate::sweep::plan::JobId;
use arrow::array::RecordBatch;
use clap::Args;
use std::fmt::Display;
use std::io::Write;

/// Arguments of `repro`.
#[derive(Debug, Args)]
pub struct ReproArgs {
    /// The job's id: 16 hex digits, the job_id column of every table
    job: String,
    /// The dataset
    #[arg(long, value_name = "DIR", value_parser = location())]
    data: Location,
}

/// Runs the job on this thread, compares every table recorded, prints its row.
///
/// # Errors
/// No such job; rows that differ.
pub fn run(args: &ReproArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let Some(id) = parse_id(&args.job) else {
        return Err(Failure::new(
            Exit::Usage,
            format!(
                "{:?} is no job id: it has 16 digits of 0-9 and a-f, as the job_id column of \
                 {}/jobs has them",
                args.job, args.data
            ),
        ));
    };
    let dataset = args.data.read(Extent::Jobs)?;
    let row = dataset.job(id)?;
    print_row(&row, out)?;
    if matches!(row.status, Status::Infeasible | Status::Quarantined) {
        let status = row.status.name();
        writeln!(out, "\nnot run: its status is {status}")?;
        return Ok(());
    }
    let (scenario, seeds) = resolve(&row, &args.data)?;
    let simulator = Simulator::default();
    // Without its trace the job would fail, which says nothing about the recorded rows.
    simulator.traces(&scenario).map_err(|error| {
        Failure::new(
            Exit::Output,
            format!("{error}: the path starts from the folder the sweep was run in"),
        )
    })?;
    let rows = again::run(&simulator, &row, &scenario, seeds)?;
    let differences = compare(&dataset, &row, rows, out)?;
    if differences.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Differ,
        format!("job {id} came out differently:\n  {}", differences.join("\n  ")),
    ))
}

fn print_row(row: &JobRow, out: &mut dyn Write) -> Result<(), Failure> {
    let schema = row.row.schema();
    for field in schema.fields().iter().filter(|field| field.name() != "scenario_json") {
        if let Some(value) = texts(&row.row, field.name())(0) {
            let unit = match field.metadata().get("unit").map(String::as_str) {
                None | Some("1" | "") => String::new(),
                Some(unit) => format!(" {unit}"),
            };
            writeln!(out, "{:28}{value}{unit}", field.name())?;
        }
    }
    Ok(())
}

/// What the job simulates, checked against its id.
pub(super) fn resolve(row: &JobRow, data: &dyn Display) -> Result<(Scenario, Seeds), Failure> {
    again::resolve(row).map_err(|refused| match refused {
        Refused::Unreadable(error) => Failure::new(
            Exit::Output,
            format!(
                "the scenario of job {} in {} cannot be read ({error}): another version of \
                 poolsweep wrote it, see the provenance table for which",
                row.id, data
            ),
        ),
        Refused::OtherJob(id) => Failure::new(
            Exit::Differ,
            format!(
                "job {} is job {id} to this poolsweep: a version with other semantics wrote it, \
                 see the provenance table for which",
                row.id
            ),
        ),
    })
}

/// What differs, a line a table; says of each table that does not how many rows are equal.
///
/// The new rows take the way through a dataset too, so that what is compared went through the
/// same encoding.
fn compare(
    dataset: &Dataset,
    row: &JobRow,
    rows: JobRows,
    out: &mut dyn Write,
) -> Result<Vec<String>, Failure> {
    let folder = tempfile::tempdir().map_err(|error| {
        Failure::new(Exit::Output, format!("making a temporary folder: {error}"))
    })?;
    let fresh = Dataset::open_or_create(folder.path())?;
    fresh.publish("repro", vec![rows])?;
    let mut differences = Vec::new();
    writeln!(out)?;
    for table in row.tables.iter().map(StoredTable::from) {
        let old = lines(dataset, table, row.id)?;
        let new = lines(&fresh, table, row.id)?;
        match first_difference(&old, &new) {
            None => {
                let equal = count(old.len(), "row");
                writeln!(out, "{:28}{equal} equal", table.name())?;
            }
            Some(difference) => differences.push(format!("{}: {difference}", table.name())),
        }
    }
    Ok(differences)
}

/// Rows as text: floats print so that they read back to the same bits, so equal text is equal.
fn lines(
    dataset: &Dataset,
    table: StoredTable,
    job: JobId,
) -> Result<Vec<Vec<(String, String)>>, Failure> {
    let mut rows = Vec::new();
    for batch in dataset.read_job(table, job)? {
        rows.extend(rows_of(&batch));
    }
    Ok(rows)
}

fn rows_of(batch: &RecordBatch) -> Vec<Vec<(String, String)>> {
    let schema = batch.schema();
    let mut rows = vec![Vec::new(); batch.num_rows()];
    // Whose simulation it was is no result.
    for field in schema.fields().iter().filter(|field| field.name() != ORIGIN) {
        let cells = texts(batch, field.name());
        for (index, row) in rows.iter_mut().enumerate() {
            row.push((field.name().clone(), cells(index).unwrap_or_else(|| "null".into())));
        }
    }
    rows
}

fn first_difference(
    old: &[Vec<(String, String)>],
    new: &[Vec<(String, String)>],
) -> Option<String> {
    for (index, (before, now)) in old.iter().zip(new).enumerate() {
        for ((name, was), (_, is)) in before.iter().zip(now) {
            if was != is {
                return Some(format!("row {index}, {name}: recorded {was}, now {is}"));
            }
        }
    }
    (old.len() != new.len())
        .then(|| format!("{} recorded, {} now", count(old.len(), "row"), new.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let row = |value: &str| vec![("drops".to_owned(), value.to_owned())];
        assert_eq!(first_difference(&[row("1")], &[row("1")]), None);
        assert_eq!(
            first_difference(&[row("1"), row("2")], &[row("1"), row("3")]).unwrap(),
            "row 1, drops: recorded 2, now 3"
        );
        assert_eq!(first_difference(&[row("1")], &[]).unwrap(), "1 row recorded, 0 now");
    }
}
