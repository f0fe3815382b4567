//! `run`: runs what a dataset does not hold yet, and says what came out.

use super::exit::{Exit, Failure};
use super::plan::write_plan;
use super::results::job_rows;
use super::summary::{View, summary};
use super::sweep_file::SweepFile;
use crate::record::Dataset;
use crate::run::interrupt::on_signals;
use crate::run::progress::{reporter, rough};
use crate::run::recorder::{Recorder, Simulations, left_to_do};
use crate::run::simulator::Simulator;
use crate::run::{Ended, Options, Stop, execute, origin};
use crate::sweep::plan::Plan;
use clap::Args;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

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
    /// Worker threads [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Start no further job once N failed
    #[arg(long, value_name = "N")]
    max_failures: Option<NonZeroUsize>,
    /// Refuse to run if any point is one the switch would refuse
    #[arg(long)]
    strict: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the outstanding jobs and prints the summary.
///
/// # Errors
/// An invalid file; a folder that cannot be written; interruption; failed jobs.
pub fn run(args: &RunArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let begin = Instant::now();
    // From here on a signal is answered in an orderly way, also while planning.
    let stop = on_signals(Exit::Interrupted as i32).map_err(|error| {
        Failure::new(Exit::Internal, format!("installing signal handlers: {error}"))
    })?;
    let plan = args.sweep.load()?;
    if args.strict {
        args.sweep.refuse_infeasible(&plan)?;
    }
    if !args.quiet {
        warn(&plan);
    }
    let folder = args.out.clone().unwrap_or_else(|| Path::new("out").join(&plan.name));
    let dataset = Dataset::open_or_create(&folder)?;
    let (chunks, skipped) = left_to_do(&plan, &dataset.done()?);
    let simulator = Simulator::default();
    write_plan(&dataset, &plan)?;

    let options = Options { threads: args.threads, max_failures: args.max_failures, skipped };
    let mut provenance = origin::provenance(&plan.hash(), &plan.files, options.thread_count());
    let ended = if chunks.is_empty() {
        Ended { tally: Default::default(), stopped: None }
    } else {
        dataset.write_provenance(&provenance)?;
        let work = Simulations::new(&plan, &simulator);
        let recorder = Recorder::new(&dataset, &plan, &provenance);
        let mut reporter = reporter(args.quiet);
        let ended = execute(chunks, &options, &work, &recorder, &stop, &mut *reporter)?;
        provenance.end = Some(SystemTime::now());
        dataset.write_provenance(&provenance)?;
        ended
    };

    let rows = job_rows(&dataset, &plan)?;
    out.write_all(summary(View::of(&plan), &rows, &folder).as_bytes())?;
    let ran = ended.tally.ran + ended.tally.failed + ended.tally.infeasible;
    let took = rough(begin.elapsed());
    writeln!(out, "time    {} now in {took}, {} before", jobs(ran), jobs(skipped))?;
    out.flush()?;
    let failed =
        plan.jobs.iter().filter_map(|job| rows.get(&job.id)).any(|row| row.status == "failed");
    outcome(&ended, failed)
}

fn jobs(number: usize) -> String {
    super::text::count(number, "job")
}

fn outcome(ended: &Ended, failed: bool) -> Result<(), Failure> {
    let left = jobs(ended.tally.outstanding);
    match ended.stopped {
        Some(Stop::Interrupted) => Err(Failure::new(
            Exit::Interrupted,
            format!("interrupted: {left} outstanding; the same command goes on with them"),
        )),
        Some(Stop::TooManyFailures) => Err(Failure::new(
            Exit::JobsFailed,
            format!(
                "stopped by --max-failures: {left} not started; failed jobs keep their \
                 rows, the same command goes on with the others"
            ),
        )),
        // An output error does not come here: it is an error of the execution.
        Some(Stop::Output) | None if failed => Err(Failure::new(
            Exit::JobsFailed,
            "some jobs failed: their rows in jobs have the status failed and the reason; \
             poolsweep repro runs one again",
        )),
        Some(Stop::Output) | None => Ok(()),
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
