//! `inspect`: one scenario of a sweep in plain figures.

use super::exit::Failure;
use super::sweep_file::SweepFile;
use crate::scenario::inspect::inspect;
use crate::sweep::plan::load_scenario;
use clap::Args;
use std::io::Write;

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    #[command(flatten)]
    sweep: SweepFile,
    /// Number of the job, from 0; without it the first one
    #[arg(long, value_name = "N")]
    job: Option<usize>,
}

/// Prints the scenario.
///
/// # Errors
/// An invalid file; no such job.
pub fn run(args: &InspectArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let scenario = load_scenario(&args.sweep.file, &args.sweep.overrides(), args.job)?;
    out.write_all(inspect(&scenario).as_bytes())?;
    Ok(())
}
