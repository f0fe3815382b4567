//! `summary`: what a dataset's jobs came to, as a run ends with it, without running anything.

use super::exit::Failure;
use super::plan::frozen_plan;
use super::results::job_rows;
use super::summary::{View, summary};
use crate::record::Dataset;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `summary`.
#[derive(Debug, Args)]
pub struct SummaryArgs {
    /// The dataset
    folder: PathBuf,
}

/// Prints it.
///
/// # Errors
/// A folder without a plan; a damaged file.
pub fn run(args: &SummaryArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let plan = frozen_plan(&args.folder)?;
    let rows = job_rows(&Dataset::open(&args.folder)?, &plan)?;
    out.write_all(summary(View::of(&plan), &rows, &args.folder).as_bytes())?;
    Ok(())
}
