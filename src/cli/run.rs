//! `run`: runs what a dataset does not hold yet, and says what came out.

use super::execute::{ExecuteArgs, run_outstanding};
use super::exit::{Exit, Failure};
use super::location::{Location, Place, StagingArgs, close, location};
use super::plan::freeze;
use super::sweep_file::SweepFile;
use super::watch::watched;
use crate::record::Dataset;
use crate::sweep::plan::Plan;
use clap::Args;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Warnings printed before a run; `plan` has them all.
const WARNINGS_SHOWN: usize = 10;

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    sweep: SweepFile,
    /// The dataset; made if it is not there, completed if it is [default: out/NAME]
    #[arg(long, value_name = "DIR", value_parser = location())]
    out: Option<Location>,
    #[command(flatten)]
    staging: StagingArgs,
    /// Refuse to run if any point is one the switch would refuse
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    execute: ExecuteArgs,
}

/// Runs the outstanding jobs and prints the summary.
///
/// # Errors
/// An invalid file; a folder that cannot be written; interruption; failed jobs.
pub fn run(args: &RunArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let frozen = args.frozen()?;
    if let Some(dataset) = &frozen {
        refuse_mixtures(args, dataset)?;
    }
    let known = frozen.clone().or_else(|| args.out.clone());
    let place = known.map(|at| Place::take(at, &args.staging)).transpose()?;
    let folder = || match &place {
        Some(place) => Ok(place.folder().to_owned()),
        None => Ok(default_folder(&args.sweep.load()?)),
    };
    let worked = watched(args.execute.in_process, place.as_ref(), folder, |stop, run| {
        let (plan, dataset) = args.prepare(frozen.is_some(), place.as_ref())?;
        run_outstanding(&args.execute, &plan, &dataset, BTreeSet::new(), run, &stop, out)
    });
    close(place, worked)
}

/// A dataset's plan is as it was made: nothing can be laid over it.
fn refuse_mixtures(args: &RunArgs, dataset: &Location) -> Result<(), Failure> {
    let laid = [
        ("--set", !args.sweep.set.is_empty()),
        ("--axis", !args.sweep.axis.is_empty()),
        ("--out", args.out.is_some()),
    ];
    match laid.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::new(
            Exit::Usage,
            format!(
                "{option} does not go with a dataset: the plan in {dataset} is frozen; plan the \
                 sweep file into it again"
            ),
        )),
    }
}

/// Where a sweep's dataset goes if nothing else is said.
fn default_folder(plan: &Plan) -> PathBuf {
    Path::new("out").join(&plan.name)
}

impl RunArgs {
    /// The dataset whose plan is to be run, if one is named and not a sweep file.
    fn frozen(&self) -> Result<Option<Location>, Failure> {
        let named = Location::of(self.sweep.file.clone().into_os_string());
        Ok(match named.map_err(|error| Failure::new(Exit::Usage, error))? {
            Location::Folder(path) if !path.is_dir() => None,
            dataset => Some(dataset),
        })
    }

    fn prepare(&self, frozen: bool, place: Option<&Place>) -> Result<(Plan, Dataset), Failure> {
        if let Some(place) = place.filter(|_| frozen) {
            let (plan, dataset) = place.open_planned()?;
            self.look_at(&plan)?;
            return Ok((plan, dataset));
        }
        let plan = self.sweep.load()?;
        self.look_at(&plan)?;
        let dataset = match place {
            Some(place) => place.open_or_create()?,
            None => Dataset::open_or_create(default_folder(&plan))?,
        };
        let change = freeze(&dataset, &plan)?;
        if let Some(text) = change.filter(|_| !self.execute.quiet) {
            // Whoever closed stderr does not want to know.
            let _ = writeln!(std::io::stderr(), "note: {text}");
        }
        Ok((plan, dataset))
    }

    fn look_at(&self, plan: &Plan) -> Result<(), Failure> {
        if self.strict {
            self.sweep.refuse_infeasible(plan)?;
        }
        if !self.execute.quiet {
            warn(plan);
        }
        Ok(())
    }
}

fn warn(plan: &Plan) {
    let mut stderr = std::io::stderr();
    let more = plan.warnings.len().saturating_sub(WARNINGS_SHOWN);
    // Whoever closed stderr does not want warnings; the run goes on.
    for warning in plan.warnings.iter().take(WARNINGS_SHOWN) {
        let _ = writeln!(stderr, "warning: {warning}");
    }
    if more > 0 {
        let _ = writeln!(stderr, "warning: and {more} more: poolsweep plan lists them");
    }
}
