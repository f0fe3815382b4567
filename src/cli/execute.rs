//! What `run` and `retry` share: executing what a dataset lacks of a plan, and saying how it went.

use super::exit::{Exit, Failure};
use super::results::job_rows;
use super::summary::{View, summary};
use super::text::count;
use crate::record::{Dataset, Status};
use crate::run::journal::{Journal, Noted};
use crate::run::progress::{Style, reporter, rough};
use crate::run::recorder::{Recorder, Simulations, Wanted, left_to_do};
use crate::run::reuse::{Answered, Known};
use crate::run::shard::Shard;
use crate::run::simulator::Simulator;
use crate::run::suspects::Suspects;
use crate::run::{Ended, Options, Stop, execute, origin};
use crate::sweep::plan::Plan;
use clap::Args;
use std::collections::BTreeSet;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime};

/// Arguments of every command that runs jobs.
#[derive(Debug, Args)]
pub struct ExecuteArgs {
    /// Run only shard K of N: N runs, here or elsewhere, share the plan without talking
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,
    /// Worker threads [default: one a core this process may use]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Start no further job once N failed
    #[arg(long, value_name = "N")]
    pub max_failures: Option<NonZeroUsize>,
    /// What stderr shows meanwhile [default: a bar on a terminal, else lines]
    #[arg(long, value_name = "STYLE")]
    pub progress: Option<Style>,
    /// No progress, no warnings
    #[arg(long, short)]
    pub quiet: bool,
    /// Simulate every job, also those whose results follow exactly from another's
    #[arg(long)]
    pub no_reuse: bool,
    /// Run the jobs in this very process, as debuggers and profilers want it: a job that takes it
    /// down ends the run
    #[arg(long)]
    pub in_process: bool,
}

/// Runs what is wanted and outstanding, and prints what came out.
///
/// # Errors
/// A folder that cannot be written; interruption; failed jobs.
pub fn run_outstanding(
    args: &ExecuteArgs,
    plan: &Plan,
    dataset: &Dataset,
    again: BTreeSet<Status>,
    run: String,
    stop: &AtomicBool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let begin = Instant::now();
    let Execution { ended, skipped, answered } =
        Session::new(args, dataset, run, stop).execute(plan, &plan.hash(), again)?;

    let rows = job_rows(dataset, plan)?;
    if args.shard.is_none() {
        out.write_all(summary(View::of(plan), &rows, Path::new(&dataset.shown())).as_bytes())?;
    }
    let ran = ended.tally.ran + ended.tally.failed + ended.tally.not_run;
    let took = rough(begin.elapsed());
    if answered.covered > 0 {
        writeln!(out, "{}", reuse_line(answered))?;
    }
    match args.shard {
        None => writeln!(out, "time    {} now in {took}, {} before", jobs(ran), jobs(skipped))?,
        Some(shard) => writeln!(
            out,
            "shard {shard}: {} now in {took}, {} before, {} outstanding; all shards: poolsweep \
             status {}",
            jobs(ran),
            jobs(skipped),
            jobs(ended.tally.outstanding),
            dataset.shown()
        )?,
    }
    out.flush()?;
    let mine: BTreeSet<usize> = match args.shard {
        None => (0..plan.jobs.len()).collect(),
        Some(shard) => {
            let all = crate::run::recorder::tasks(plan);
            shard.of(&all).iter().map(|task| task.job).collect()
        }
    };
    let with = |status: &str| {
        let row = |&job: &usize| rows.get(&plan.jobs[job].id);
        mine.iter().filter_map(row).filter(|row| row.status == status).count()
    };
    outcome(&ended, with("failed"), with("quarantined"))
}

/// How an execution of a plan ended.
pub struct Execution {
    /// Jobs by how they went, and what stopped it.
    pub ended: Ended,
    /// Jobs wanted that were done before.
    pub skipped: usize,
    /// How the others were answered.
    pub answered: Answered,
}

/// A run of one or several plans into one dataset: one journal, one row of `provenance`.
pub struct Session<'a> {
    args: &'a ExecuteArgs,
    dataset: &'a Dataset,
    run: String,
    stop: &'a AtomicBool,
    journal: Option<Journal>,
    /// When the first execution began.
    start: Option<SystemTime>,
    /// Simulations that may answer other jobs.
    known: Option<Known<'a>>,
}

impl<'a> Session<'a> {
    /// A run of this name that has executed nothing yet.
    pub fn new(
        args: &'a ExecuteArgs,
        dataset: &'a Dataset,
        run: String,
        stop: &'a AtomicBool,
    ) -> Self {
        let known = (!args.no_reuse).then(|| Known::new(dataset));
        Session { args, dataset, run, stop, journal: None, start: None, known }
    }

    /// Runs what is wanted of a plan and outstanding. `plan_hash` is what results are stamped with:
    /// that of the plan frozen in the dataset, of which this one may be a part.
    ///
    /// # Errors
    /// A folder that cannot be written. How jobs went is no error here.
    pub fn execute(
        &mut self,
        plan: &Plan,
        plan_hash: &str,
        again: BTreeSet<Status>,
    ) -> Result<Execution, Failure> {
        let (args, dataset) = (self.args, self.dataset);
        let folder = dataset.path();
        let suspects = Suspects::of(folder).all().map_err(|e| Failure::new(Exit::Output, e))?;
        let wanted = Wanted { shard: args.shard, again, suspects };
        let todo = left_to_do(plan, &dataset.done()?, &wanted);
        let simulator = Simulator::default();
        let cpus = std::env::var("SLURM_CPUS_PER_TASK").ok();
        let (threads, skipped) = (args.threads.or_else(|| allotted(cpus.as_deref())), todo.skipped);
        let options = Options { threads, max_failures: args.max_failures, skipped };
        if todo.is_empty() {
            let ended = Ended { tally: Default::default(), stopped: None };
            return Ok(Execution { ended, skipped, answered: Answered::default() });
        }
        let mut provenance =
            origin::provenance(self.run.clone(), plan_hash, &plan.files, options.thread_count());
        provenance.start = *self.start.get_or_insert(provenance.start);
        dataset.write_provenance(&provenance)?;
        let journal = match &mut self.journal {
            Some(journal) => journal,
            none => {
                let mut first = Journal::first_line(&provenance, args.shard.map(|s| s.to_string()));
                first.jobs = todo.tasks().count();
                first.done_before = skipped;
                first.cost = todo.tasks().map(|task| task.full_cost()).sum();
                none.insert(Journal::begin(folder, first).map_err(|e| {
                    Failure::new(Exit::Output, format!("beginning the journal: {e}"))
                })?)
            }
        };
        let known = self.known.as_ref();
        let before = known.map(Known::answered).unwrap_or_default();
        let work = Simulations::new(plan, &simulator).reusing(known);
        let recorder =
            Recorder::new(dataset, plan, &provenance).journal(journal).set_aside(todo.set_aside);
        let mut shown = reporter(args.quiet, args.progress, &plan.jobs);
        let mut reporter = Noted::new(&mut *shown, journal);
        let (chunks, alone) = (todo.chunks, todo.alone);
        let ended = execute(chunks, alone, &options, &work, &recorder, self.stop, &mut reporter)?;
        if journal.is_broken() {
            // Results are there; only who looks at the journal misses something.
            let _ = writeln!(std::io::stderr(), "warning: the journal could not be written");
        }
        provenance.end = Some(SystemTime::now());
        dataset.write_provenance(&provenance)?;
        let answered = known.map(Known::answered).unwrap_or_default().since(before);
        Ok(Execution { ended, skipped, answered })
    }

    /// Whether the simulations that answer one plan's points answer the other's too, point by
    /// point; false without reuse.
    pub fn same(&self, one: &Plan, other: &Plan) -> bool {
        let Some(known) = &self.known else { return false };
        let of = |plan: &Plan, point: usize| {
            let job = plan.points[point].job?;
            let planned = &plan.jobs[job];
            let scenario = plan.scenario(job).ok().filter(|_| planned.infeasible.is_empty())?;
            Some((scenario, planned.seeds))
        };
        one.points.len() == other.points.len()
            && (0..one.points.len()).all(|point| match (of(one, point), of(other, point)) {
                (Some(a), Some(b)) => known.same((&a.0, a.1), (&b.0, b.1)),
                // Left out by a constraint, here and there.
                _ => one.points[point].job.is_none() && other.points[point].job.is_none(),
            })
    }
}

/// What was saved: `reuse   12 of 500 jobs simulated, 488 follow exactly, 41.7 jobs a simulation`.
pub fn reuse_line(answered: Answered) -> String {
    let Answered { simulated, covered } = answered;
    let all = simulated + covered;
    let ratio = match simulated {
        0 => String::new(),
        _ => format!(", {:.1} jobs a simulation", all as f64 / simulated as f64),
    };
    format!("reuse   {simulated} of {} simulated, {covered} follow exactly{ratio}", jobs(all))
}

/// Threads of a batch system's allocation: what it grants, but not more than this process may use.
///
/// Without one, or where it makes no sense, the affinity mask decides alone.
fn allotted(cpus_per_task: Option<&str>) -> Option<NonZeroUsize> {
    let granted: NonZeroUsize = cpus_per_task?.trim().parse().ok()?;
    let usable = std::thread::available_parallelism().unwrap_or(granted);
    Some(granted.min(usable))
}

fn jobs(number: usize) -> String {
    count(number, "job")
}

fn outcome(ended: &Ended, failed: usize, quarantined: usize) -> Result<(), Failure> {
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
        Some(Stop::Output) | None if failed > 0 => Err(Failure::new(
            Exit::JobsFailed,
            "some jobs failed: their rows in jobs have the status failed and the reason; \
             poolsweep repro runs one again, poolsweep retry --failed all of them",
        )),
        Some(Stop::Output) | None if quarantined > 0 => Err(Failure::new(
            Exit::JobsFailed,
            format!(
                "{} set aside as quarantined: the rows in jobs say what they did; poolsweep retry \
                 --quarantined tries them again",
                jobs(quarantined)
            ),
        )),
        Some(Stop::Output) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_follow_the_allocation() {
        assert_eq!(allotted(None), None);
        assert_eq!(allotted(Some("no number")), None);
        assert_eq!(allotted(Some("0")), None);
        assert_eq!(allotted(Some("1")), NonZeroUsize::new(1));
        assert_eq!(allotted(Some("1000000")), std::thread::available_parallelism().ok());
    }
}
