//! `retry`: runs jobs of a dataset again that did not come to a result.

use super::execute::{ExecuteArgs, run_outstanding};
use super::exit::{Exit, Failure};
use super::location::{Location, Place, StagingArgs, location};
use super::watch::watched;
use crate::record::Status;
use crate::run::supervise::WORKER;
use crate::run::suspects::{self, Suspects};
use clap::Args;
use std::collections::BTreeSet;
use std::io::Write;

/// Arguments of `retry`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("which").required(true).multiple(true)))]
pub struct RetryArgs {
    /// The dataset
    #[arg(value_name = "DIR", value_parser = location())]
    dataset: Location,
    #[command(flatten)]
    staging: StagingArgs,
    /// Jobs with the status failed
    #[arg(long, group = "which")]
    failed: bool,
    /// Jobs with the status quarantined; what they did before is forgotten
    #[arg(long, group = "which")]
    quarantined: bool,
    #[command(flatten)]
    execute: ExecuteArgs,
}

/// Runs them, and whatever else is outstanding, and prints the summary.
///
/// # Errors
/// As `run`.
pub fn run(args: &RetryArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let place = Place::take(args.dataset.clone(), &args.staging)?;
    let folder = || Ok(place.folder().to_owned());
    // What dies again must not be forgotten again by the process that goes on.
    if args.quarantined && std::env::var_os(WORKER).is_none() {
        forgive(&place)?;
    }
    let worked = watched(args.execute.in_process, Some(&place), folder, |stop, run| {
        let (plan, dataset) = place.open_planned()?;
        let mut again = BTreeSet::new();
        if args.failed {
            again.insert(Status::Failed);
        }
        if args.quarantined {
            again.insert(Status::Quarantined);
        }
        run_outstanding(&args.execute, &plan, &dataset, again, run, &stop, out)
    });
    place.close(worked)
}

/// Forgets what jobs that are set aside did.
fn forgive(place: &Place) -> Result<(), Failure> {
    let refused = |error: std::io::Error| Failure::new(Exit::Output, error);
    place.get_suspects()?;
    let suspects = Suspects::of(place.folder());
    let all = suspects.all().map_err(refused)?;
    for (&job, _) in all.iter().filter(|(_, suspect)| suspect.is_set_aside()) {
        suspects.forgive(job).map_err(refused)?;
        place.forget(&suspects::relative(job))?;
    }
    Ok(())
}
