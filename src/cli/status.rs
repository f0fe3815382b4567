//! `status`: how far a dataset is, from any machine that sees its folder, also while it runs.

use super::exit::{Exit, Failure};
use super::location::{Location, location};
use super::text::{self, Align, TextTable};
use crate::run::journal::{self, Story};
use crate::run::progress::rough;
use crate::run::recorder::tasks;
use crate::run::status::{Report, State, report};
use crate::sweep::plan::Plan;
use crate::units::thousands;
use clap::Args;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Runs and shards shown; more are counted.
const SHOWN: usize = 20;

/// Arguments of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The dataset
    #[arg(value_name = "DIR", value_parser = location())]
    dataset: Location,
    /// As JSON; with --watch one object a line
    #[arg(long)]
    json: bool,
    /// Again every so often, until nothing is outstanding
    #[arg(long)]
    watch: bool,
    /// Seconds between two looks
    #[arg(long, value_name = "S", default_value_t = 5, requires = "watch",
          value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
}

/// Prints how far the plan is.
///
/// # Errors
/// A folder without a plan; a damaged part. Outstanding work and failed jobs have the exit codes
/// that `run` has for them, without a word.
pub fn run(args: &StatusArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let mut frozen = None;
    loop {
        let (plan, report) = look(args, &mut frozen)?;
        if args.json {
            let json = match args.watch {
                true => serde_json::to_string(&report),
                false => serde_json::to_string_pretty(&report),
            };
            writeln!(out, "{}", json.map_err(|e| Failure::new(Exit::Internal, e))?)?;
        } else {
            if args.watch && std::io::stdout().is_terminal() {
                // Home, and clear what is below.
                write!(out, "\x1b[H\x1b[J")?;
            }
            show(args, plan, &report, out)?;
        }
        out.flush()?;
        if !args.watch || report.counts.outstanding == 0 {
            return match (
                report.counts.outstanding,
                report.counts.failed + report.counts.quarantined,
            ) {
                (0, 0) => Ok(()),
                (0, _) => Err(Failure::silent(Exit::JobsFailed)),
                _ => Err(Failure::silent(Exit::Interrupted)),
            };
        }
        std::thread::sleep(Duration::from_secs(args.every));
    }
}

/// Looks once; the plan is read with the first look.
fn look<'a>(
    args: &StatusArgs,
    frozen: &'a mut Option<Plan>,
) -> Result<(&'a Plan, Report), Failure> {
    let unreadable =
        |e: std::io::Error| Failure::new(Exit::Output, format!("reading journals: {e}"));
    let (plan, dataset) = args.dataset.read_planned(frozen)?;
    let done = dataset.done()?;
    let mut stories = Vec::new();
    for file in journal::files(dataset.path()).map_err(unreadable)? {
        stories.push(Story::read(&file).map_err(unreadable)?);
    }
    let now = journal::now();
    let report = report(&plan.hash(), &plan.jobs, &tasks(plan), &done, &stories, now);
    Ok((plan, report))
}

fn show(
    args: &StatusArgs,
    plan: &Plan,
    report: &Report,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let counts = &report.counts;
    let folder = &args.dataset;
    let number = |n: usize| thousands(n as i128);
    write!(
        out,
        "{}: {} of {} done",
        plan.name,
        number(counts.done()),
        text::count(counts.jobs, "job")
    )?;
    for (count, what) in [
        (counts.ok, "ok"),
        (counts.infeasible, "infeasible"),
        (counts.budget, "out of budget"),
        (counts.failed, "failed"),
        (counts.quarantined, "quarantined"),
        (counts.running, "running"),
    ] {
        if count > 0 {
            write!(out, ", {} {what}", number(count))?;
        }
    }
    writeln!(out, "; {:.1} % of the cost", report.cost_done_share * 100.0)?;
    if let Some(rate) = report.jobs_per_s {
        write!(out, "pace    {rate:.1} jobs/s")?;
        if let Some(eta) = report.eta_s {
            let left = Duration::try_from_secs_f64(eta).unwrap_or(Duration::MAX);
            write!(out, ", about {} left", rough(left))?;
        }
        writeln!(out)?;
    }
    if let Some(oldest) = &report.oldest {
        let time = rough(Duration::from_millis(oldest.for_ms));
        writeln!(out, "oldest  job {} for {time} on {}", oldest.job_id, oldest.host)?;
    }
    shards(report, out)?;
    runs(report, out)?;
    if counts.outstanding > 0 && report.jobs_per_s.is_none() {
        writeln!(out, "nothing is running: poolsweep run {folder} goes on")?;
    }
    if counts.failed > 0 {
        writeln!(out, "failed jobs: poolsweep retry {folder} --failed runs them again")?;
    }
    if counts.quarantined > 0 {
        writeln!(out, "quarantined jobs: poolsweep retry {folder} --quarantined tries them again")?;
    }
    Ok(())
}

fn shards(report: &Report, out: &mut dyn Write) -> Result<(), Failure> {
    if report.shards.is_empty() {
        return Ok(());
    }
    let head = ["done", "of", "cost", "failed"].map(|name| (name.to_owned(), Align::Right));
    let mut table = TextTable::new(
        [("shard".to_owned(), Align::Left)]
            .into_iter()
            .chain(head)
            .chain([(String::new(), Align::Left)]),
    );
    // What is not finished first matters; finished shards are only counted when there are many.
    let many = report.shards.len() > SHOWN;
    let open = |s: &&crate::run::status::ShardStatus| !many || s.counts.outstanding > 0;
    for shard in report.shards.iter().filter(open).take(SHOWN) {
        table.row([
            shard.shard.clone(),
            thousands(shard.counts.done() as i128),
            thousands(shard.counts.jobs as i128),
            format!("{:.0} %", shard.cost_done_share * 100.0),
            thousands((shard.counts.failed + shard.counts.quarantined) as i128),
            shard.state.name().to_owned(),
        ]);
    }
    write!(out, "\n{}", table.render())?;
    let hidden = report.shards.len() - report.shards.iter().filter(open).take(SHOWN).count();
    if hidden > 0 {
        writeln!(out, "  and {hidden} more")?;
    }
    Ok(())
}

fn runs(report: &Report, out: &mut dyn Write) -> Result<(), Failure> {
    for run in report.runs.iter().take(SHOWN) {
        let slurm = run.slurm.as_ref().map(|id| format!(", Slurm job {id}")).unwrap_or_default();
        let shard = run.shard.as_ref().map(|s| format!(", shard {s}")).unwrap_or_default();
        write!(
            out,
            "run     {} on {} (process {}{slurm}{shard}): {}/{} jobs",
            run.state.name(),
            run.host,
            run.pid,
            run.ended,
            run.jobs
        )?;
        match (&run.death, run.state) {
            (Some(cause), _) => write!(out, ", of {cause}")?,
            (None, State::Silent) => {
                let quiet = journal::now().saturating_sub(run.last_ms);
                let quiet = rough(Duration::from_millis(quiet));
                write!(out, ", nothing written for {quiet}: killed, or its machine is gone")?;
            }
            _ => {}
        }
        writeln!(out)?;
    }
    if report.runs.len() > SHOWN {
        writeln!(out, "  and {} more", report.runs.len() - SHOWN)?;
    }
    Ok(())
}
