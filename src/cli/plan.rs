//! `plan`: what a sweep file would run, without running it.

use super::exit::{Exit, Failure};
use super::location::{Location, Place, StagingArgs, location};
use super::sweep_file::SweepFile;
use super::text::{self, Align, TextTable};
use crate::record::{Dataset, StoredTable};
use crate::run::estimate::{bytes_per_row, plan_rows_at_most};
use crate::run::progress::rough;
use crate::run::reuse::structures;
use crate::sweep::plan::{JobId, Plan};
use crate::units::thousands;
use clap::Args;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Name of the file that holds a dataset's plan.
pub const PLAN_FILE: &str = "plan.json";
/// Values shown of an axis.
const VALUES_SHOWN: usize = 16;
/// Reasons shown why jobs are infeasible.
const REASONS_SHOWN: usize = 5;
/// Jobs of a plan whose structures are counted: it takes longer than planning them.
const MOST_COUNTED: usize = 20_000;
/// Packet-hops a core simulates in a second, roughly; for the estimate of the time only.
const HOPS_PER_SECOND: f64 = 12e6;

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    sweep: SweepFile,
    /// List every point
    #[arg(long)]
    list: bool,
    /// Say where a key's value comes from, instead of the plan
    #[arg(long, value_name = "KEY")]
    explain: Option<String>,
    /// Freeze the plan in this dataset: what runs there reads it, never the sweep file again
    #[arg(long, value_name = "DIR", value_parser = location())]
    out: Option<Location>,
    #[command(flatten)]
    staging: StagingArgs,
    /// Refuse the plan if any point is one the switch would refuse
    #[arg(long)]
    strict: bool,
}

/// Prints the plan.
///
/// # Errors
/// An invalid file; infeasible points with `--strict`; a dataset that cannot be written.
pub fn run(args: &PlanArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let plan = args.sweep.load()?;
    if let Some(key) = &args.explain {
        write!(out, "{}", plan.explain(key)?)?;
        return Ok(());
    }
    if args.list {
        list(&plan, out)?;
        writeln!(out)?;
    }
    overview(&plan, out)?;
    if args.strict {
        args.sweep.refuse_infeasible(&plan)?;
    }
    if let Some(location) = &args.out {
        let place = Place::take(location.clone(), &args.staging)?;
        let change = place.open_or_create().and_then(|dataset| freeze(&dataset, &plan));
        let mut frozen = None;
        place.close(change.map(|change| frozen = Some(change)))?;
        match frozen.flatten() {
            Some(change) => writeln!(out, "\n{change}")?,
            None => writeln!(out, "\nfrozen in {location}")?,
        }
        writeln!(out, "next: poolsweep run {location}")?;
    }
    Ok(())
}

/// Freezes a plan into a dataset: points, plan and the files it was made from. What is there
/// already is left alone. If another plan was there, says what changed.
///
/// # Errors
/// What the disk refuses.
pub fn freeze(dataset: &Dataset, plan: &Plan) -> Result<Option<String>, Failure> {
    let json = format!("{:#}\n", plan.to_json());
    let before = std::fs::read(dataset.path().join(PLAN_FILE)).ok();
    if before.as_deref() == Some(json.as_bytes()) && dataset.has_points() {
        return Ok(None);
    }
    let planned = dataset.planned()?.unwrap_or_default();
    if let Some((sweep, others)) = plan.files.split_first() {
        dataset.write_sources(sweep, others)?;
    }
    dataset.write_points(&plan.hash(), &plan.points, &plan.jobs, &plan.columns)?;
    // Last: a run reads this, and finds the rest.
    dataset.write_plan(json.as_bytes())?;
    if planned.is_empty() {
        return Ok(None);
    }
    let now: BTreeSet<JobId> = plan.jobs.iter().map(|job| job.id).collect();
    let done = dataset.done()?;
    let kept = now.intersection(&planned).count();
    let finished = now.intersection(&planned).filter(|job| done.contains_key(job)).count();
    let (added, dropped) = (now.len() - kept, planned.len() - kept);
    let added_done = now.difference(&planned).filter(|job| done.contains_key(job)).count();
    let mut text = format!(
        "the plan in {}: {} added, {dropped} dropped, {kept} kept ({finished} of them done)",
        dataset.shown(),
        text::count(added, "job"),
    );
    if added_done > 0 {
        text.push_str(&format!("; {added_done} of those added are done from an earlier plan"));
    }
    if dropped > 0 {
        text.push_str("; rows of dropped jobs stay in the tables, no point names them");
    }
    Ok(Some(text))
}

/// The plan frozen in a dataset; `shown` is what a person knows the dataset by.
///
/// # Errors
/// A folder without one; one that cannot be used.
pub fn frozen_plan(folder: &Path, shown: impl Display) -> Result<Plan, Failure> {
    let path = folder.join(PLAN_FILE);
    if !path.exists() {
        return Err(Failure::new(
            Exit::Invalid,
            format!(
                "there is no plan in {shown}: poolsweep plan SWEEP.yaml --out {shown} makes one"
            ),
        ));
    }
    Ok(Plan::load_frozen(&path)?)
}

fn overview(plan: &Plan, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(
        out,
        "{}: {}, {} to run, {}",
        plan.name,
        text::count(plan.points.len(), "point"),
        text::count(plan.jobs.len() - plan.infeasible(), "job"),
        match (plan.seeds().as_slice(), plan.repetitions) {
            ([_], 1) => format!("seed {}", plan.seed),
            ([_], n) => format!("seed {}, {n} repetitions", plan.seed),
            (many, _) => format!("{} seeds from {}", many.len(), plan.seed),
        },
    )?;
    let shared = plan.points.iter().filter(|point| point.job.is_some()).count() - plan.jobs.len();
    if shared > 0 {
        writeln!(out, "{} like another and share its job", text::count(shared, "point"))?;
    }
    axes(plan, out)?;
    excluded(plan, out)?;
    infeasible(plan, out)?;
    if !plan.warnings.is_empty() {
        writeln!(out, "\nwarnings")?;
        for warning in &plan.warnings {
            writeln!(out, "  {}", warning.replace('\n', "\n  "))?;
        }
    }
    expected(plan, out)
}

fn axes(plan: &Plan, out: &mut dyn Write) -> Result<(), Failure> {
    if plan.axes.is_empty() {
        return Ok(());
    }
    let mut table = TextTable::new([
        ("axis".into(), Align::Left),
        ("values".into(), Align::Right),
        (String::new(), Align::Left),
    ]);
    for axis in &plan.axes {
        let mut values =
            axis.values.iter().take(VALUES_SHOWN).cloned().collect::<Vec<_>>().join(", ");
        if axis.len > VALUES_SHOWN {
            values.push_str(", …");
        }
        table.row([axis.name.clone(), thousands(axis.len as i128), values]);
    }
    write!(out, "\n{}", table.render())?;
    Ok(())
}

fn excluded(plan: &Plan, out: &mut dyn Write) -> Result<(), Failure> {
    if plan.exclusions.is_empty() {
        return Ok(());
    }
    let mut table =
        TextTable::new([("constraint".into(), Align::Left), ("removes".into(), Align::Right)]);
    for exclusion in &plan.exclusions {
        table.row([exclusion.constraint.clone(), thousands(exclusion.points)]);
    }
    write!(out, "\n{}", table.render())?;
    Ok(())
}

fn infeasible(plan: &Plan, out: &mut dyn Write) -> Result<(), Failure> {
    let bad: Vec<_> = plan.jobs.iter().filter(|job| !job.infeasible.is_empty()).collect();
    if bad.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{} that the switch would refuse", text::count(bad.len(), "job"))?;
    for job in bad.iter().take(REASONS_SHOWN) {
        writeln!(out, "  {}  {}", job.id, job.infeasible.join("; "))?;
    }
    if bad.len() > REASONS_SHOWN {
        let more = thousands((bad.len() - REASONS_SHOWN) as i128);
        writeln!(out, "  and {more} more: --list")?;
    }
    Ok(())
}

fn expected(plan: &Plan, out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = TextTable::new([
        ("table".into(), Align::Left),
        ("rows at most".into(), Align::Right),
        ("about".into(), Align::Right),
    ]);
    for (stored, rows) in plan_rows_at_most(plan) {
        let bytes = text::about_bytes(rows * bytes_per_row(stored));
        table.row([stored.name().into(), thousands(rows as i128), bytes]);
    }
    write!(out, "\n{}", table.render())?;
    if asks_for(plan, crate::scenario::Table::Drops) {
        writeln!(
            out,
            "  {} has a row an interval, port, class and reason with drops",
            StoredTable::Drops.name()
        )?;
    }
    if asks_for(plan, crate::scenario::Table::Flows) {
        writeln!(out, "  {} has a row a flow", StoredTable::Flows.name())?;
    }
    let cost: f64 = plan.jobs.iter().filter(|j| j.infeasible.is_empty()).map(|j| j.cost).sum();
    let time = Duration::try_from_secs_f64(cost / HOPS_PER_SECOND).unwrap_or(Duration::MAX);
    writeln!(
        out,
        "\ncost about {} packet-hops: {} on one core, roughly",
        significant(cost),
        if time < Duration::from_secs(1) { "under 1 s".into() } else { rough(time) },
    )?;
    let jobs = plan.jobs.iter().filter(|job| job.infeasible.is_empty()).count();
    if (2..=MOST_COUNTED).contains(&jobs) {
        let least = structures(plan);
        if least < jobs {
            writeln!(
                out,
                "reuse {} simulations at least: jobs that differ in thresholds alone share one where \
                 none of them decides otherwise",
                thousands(least as i128)
            )?;
        }
    }
    Ok(())
}

/// Three figures are more than an estimate is good for.
fn significant(value: f64) -> String {
    match value {
        v if v >= 1e9 => format!("{:.1} G", v / 1e9),
        v if v >= 1e6 => format!("{:.1} M", v / 1e6),
        v => thousands(v as i128),
    }
}

fn asks_for(plan: &Plan, table: crate::scenario::Table) -> bool {
    !plan.jobs.is_empty() && plan.scenario(0).is_ok_and(|scenario| scenario.record.has(table))
}

fn list(plan: &Plan, out: &mut dyn Write) -> Result<(), Failure> {
    // By hand, not as a table: a million points are written as they come.
    let shown: Vec<usize> = (0..plan.columns.len()).collect();
    let view = super::summary::View::of(plan);
    for (index, point) in plan.points.iter().enumerate() {
        let name = super::summary::point_name(view, &shown, index);
        match point.job.map(|job| &plan.jobs[job]) {
            None => {
                let by = point.excluded_by.as_deref().unwrap_or("a constraint");
                writeln!(out, "{index:>7}  {:16}  {name}  excluded: {by}", "-")?;
            }
            Some(job) if job.infeasible.is_empty() => {
                writeln!(out, "{index:>7}  {}  {name}", job.id)?;
            }
            Some(job) => {
                let why = job.infeasible.join("; ");
                writeln!(out, "{index:>7}  {}  {name}  infeasible: {why}", job.id)?;
            }
        }
    }
    Ok(())
}

impl SweepFile {
    /// Refuses a plan with points the switch would refuse.
    ///
    /// # Errors
    /// The points and the rules they break.
    pub fn refuse_infeasible(&self, plan: &Plan) -> Result<(), Failure> {
        let view = super::summary::View::of(plan);
        let shown = super::summary::varying(view);
        let mut bad = plan.jobs.iter().filter(|job| !job.infeasible.is_empty());
        let count = plan.infeasible();
        let Some(first) = bad.next() else {
            return Ok(());
        };
        Err(Failure::new(
            Exit::Invalid,
            format!(
                "--strict: the switch would refuse {}; the first, {}: {}",
                text::count(count, "job"),
                super::summary::point_name(view, &shown, first.point),
                first.infeasible.join("; ")
            ),
        ))
    }
}
