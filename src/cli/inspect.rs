//! `inspect`: one scenario of a sweep in plain figures.

use super::exit::{Exit, Failure};
use super::results::parse_id;
use super::sweep_file::SweepFile;
use super::text::count;
use crate::scenario::inspect::inspect;
use crate::sweep::plan::Plan;
use clap::Args;
use std::io::{self, Write};

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    #[command(flatten)]
    sweep: SweepFile,
    /// The job, by its id or its number from 0 [default: the first]
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
}

/// Prints the scenario.
///
/// # Errors
/// An invalid file; no such job.
pub fn run(args: &InspectArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let plan = args.sweep.load()?;
    let job = find(&plan, args.job.as_deref().unwrap_or("0"))?;
    if args.job.is_none() && plan.jobs.len() > 1 {
        let jobs = count(plan.jobs.len(), "job");
        // Not part of the page; nobody misses it where stderr is closed.
        let _ = writeln!(
            io::stderr(),
            "note: the first of {jobs}; --job JOB or --set KEY=VALUE chooses another"
        );
    }
    out.write_all(inspect(&plan.scenario(job)?).as_bytes())?;
    Ok(())
}

/// The job of a plan with this id or number.
///
/// # Errors
/// There is none.
pub(super) fn find(plan: &Plan, wanted: &str) -> Result<usize, Failure> {
    let by_id = || {
        let id = parse_id(wanted)?;
        plan.jobs.iter().position(|job| job.id == id)
    };
    let by_number = || wanted.parse().ok().filter(|&number: &usize| number < plan.jobs.len());
    by_id().or_else(by_number).ok_or_else(|| {
        Failure::new(
            Exit::Invalid,
            format!(
                "the plan has no job {wanted}: it has {}, numbered from 0; poolsweep plan --list \
                 shows their ids",
                count(plan.jobs.len(), "job")
            ),
        )
    })
}
