//! `retry`: runs jobs of a dataset again that did not come to a result.

use super::execute::{ExecuteArgs, run_outstanding};
use super::exit::{Exit, Failure};
use super::plan::frozen_plan;
use super::watch::watched;
use crate::record::{Dataset, Status};
use crate::run::supervise::WORKER;
use crate::run::suspects::Suspects;
use clap::Args;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `retry`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("which").required(true).multiple(true)))]
pub struct RetryArgs {
    /// The dataset
    folder: PathBuf,
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
    let folder = || Ok(args.folder.clone());
    // What dies again must not be forgotten again by the process that goes on.
    if args.quarantined && std::env::var_os(WORKER).is_none() {
        let suspects = Suspects::of(&args.folder);
        let forgotten = suspects.all().and_then(|all| {
            let set_aside = all.iter().filter(|(_, s)| s.is_set_aside());
            set_aside.map(|(&job, _)| job).try_for_each(|job| suspects.forgive(job))
        });
        forgotten.map_err(|e| Failure::new(Exit::Output, e))?;
    }
    watched(args.execute.in_process, folder, |stop, run| {
        let plan = frozen_plan(&args.folder)?;
        let dataset = Dataset::open_or_create(&args.folder)?;
        let mut again = BTreeSet::new();
        if args.failed {
            again.insert(Status::Failed);
        }
        if args.quarantined {
            again.insert(Status::Quarantined);
        }
        run_outstanding(&args.execute, &plan, &dataset, again, run, &stop, out)
    })
}
