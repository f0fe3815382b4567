//! `summary`: what a dataset's jobs came to, as a run ends with it, without running anything.

use super::exit::Failure;
use super::location::{Location, location};
use super::results::job_rows;
use super::summary::{View, summary};
use clap::Args;
use std::io::Write;
use std::path::Path;

/// Arguments of `summary`.
#[derive(Debug, Args)]
pub struct SummaryArgs {
    /// The dataset
    #[arg(value_name = "DIR", value_parser = location())]
    dataset: Location,
}

/// Prints it.
///
/// # Errors
/// A folder without a plan; a damaged file.
pub fn run(args: &SummaryArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let mut frozen = None;
    let (plan, dataset) = args.dataset.read_planned(&mut frozen)?;
    let rows = job_rows(&dataset, plan)?;
    let shown = dataset.shown();
    out.write_all(summary(View::of(plan), &rows, Path::new(&shown)).as_bytes())?;
    Ok(())
}
