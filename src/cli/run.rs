//! `run`: runs what a dataset does not hold yet, and says what came out.

use super::execute::{ExecuteArgs, run_outstanding};
use super::exit::{Exit, Failure};
use super::plan::{freeze, frozen_plan};
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
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
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
    refuse_mixtures(args)?;
    let folder = || match args.frozen() {
        Some(folder) => Ok(folder.to_owned()),
        None => Ok(args.folder(&args.sweep.load()?)),
    };
    watched(args.execute.in_process, folder, |stop, run| {
        let (plan, dataset) = args.prepare()?;
        run_outstanding(&args.execute, &plan, &dataset, BTreeSet::new(), run, &stop, out)
    })
}

/// A dataset's plan is as it was made: nothing can be laid over it.
fn refuse_mixtures(args: &RunArgs) -> Result<(), Failure> {
    let Some(folder) = args.frozen() else { return Ok(()) };
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
                "{option} does not go with a dataset: the plan in {} is frozen; plan the sweep file \
                 into it again",
                folder.display()
            ),
        )),
    }
}

impl RunArgs {
    /// The dataset whose plan is to be run, if one is named and not a sweep file.
    fn frozen(&self) -> Option<&Path> {
        self.sweep.file.is_dir().then_some(self.sweep.file.as_path())
    }

    fn folder(&self, plan: &Plan) -> PathBuf {
        self.out.clone().unwrap_or_else(|| Path::new("out").join(&plan.name))
    }

    fn prepare(&self) -> Result<(Plan, Dataset), Failure> {
        let frozen = self.frozen();
        let plan = match frozen {
            Some(folder) => frozen_plan(folder)?,
            None => self.sweep.load()?,
        };
        if self.strict {
            self.sweep.refuse_infeasible(&plan)?;
        }
        if !self.execute.quiet {
            warn(&plan);
        }
        let dataset = Dataset::open_or_create(match frozen {
            Some(folder) => folder.to_owned(),
            None => self.folder(&plan),
        })?;
        if frozen.is_none() {
            let change = freeze(&dataset, &plan)?;
            if let Some(text) = change.filter(|_| !self.execute.quiet) {
                // Whoever closed stderr does not want to know.
                let _ = writeln!(std::io::stderr(), "note: {text}");
            }
        }
        Ok((plan, dataset))
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
