//! `search`: the smallest or largest value of one setting that keeps a condition.
//!
//! Owns the meeting of the search's questions and the jobs that answer them: every value asked for
//! is a value of an axis over the sweep, run and kept as `run` does. Refuses to decide what to ask.

mod probe;
mod report;
mod setting;

use super::execute::{ExecuteArgs, Execution, Session};
use super::exit::{Exit, Failure};
use super::figures::Figure;
use super::plan::freeze;
use super::sweep_file::SweepFile;
use super::text::count;
use super::watch::watched;
use crate::record::Dataset;
use crate::run::Stop;
use crate::run::progress::Style;
use crate::run::reuse::Answered;
use crate::sizing::search::{Goal, Search};
use crate::sweep::plan::{JobId, Plan};
use crate::units::Rational;
use clap::Args;
use probe::Probe;
pub use report::amount;
use setting::Setting;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// With fewer jobs a value than this, several values are looked at side by side.
const JOBS_SIDE_BY_SIDE: usize = 4;
/// Most values looked at side by side unless asked for.
const MOST_PROBES: usize = 3;

/// Arguments of `search`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("goal").required(true)))]
pub struct SearchArgs {
    #[command(flatten)]
    sweep: SweepFile,
    /// The setting to move, as an axis would name it
    #[arg(long, value_name = "KEY")]
    setting: String,
    /// Find the smallest value that keeps the condition
    #[arg(long, group = "goal")]
    smallest: bool,
    /// Find the largest value that keeps the condition
    #[arg(long, group = "goal")]
    largest: bool,
    /// Smallest value looked at
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    from: String,
    /// Largest value looked at
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    to: String,
    /// Distance of neighbouring values [default: 1 B, 1 ps, 1 bit/s or 1; needed for ratios]
    #[arg(long, value_name = "VALUE")]
    step: Option<String>,
    /// What has to hold at every point and for every repetition: drops == 0
    #[arg(long, value_name = "EXPRESSION")]
    condition: String,
    /// Values looked at side by side, between those known: 1 is bisection [default: 1, or up to 3
    /// where a value is few jobs]
    #[arg(long, value_name = "N")]
    probes: Option<NonZeroUsize>,
    /// The dataset; made if it is not there, completed if it is [default: out/NAME-search]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The answer as JSON
    #[arg(long)]
    json: bool,
    /// Worker threads [default: one a core this process may use]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// What stderr shows meanwhile [default: a bar on a terminal, else lines]
    #[arg(long, value_name = "STYLE")]
    progress: Option<Style>,
    /// No progress, no notes
    #[arg(long, short)]
    quiet: bool,
    /// Run the jobs in this very process, as debuggers and profilers want it
    #[arg(long)]
    in_process: bool,
}

/// Searches, and prints the answer.
///
/// # Errors
/// Arguments that make no sense together; an invalid file; a folder that cannot be written;
/// interruption; failed jobs.
pub fn run(args: &SearchArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let question = Question::read(args)?;
    let folder = || Ok(question.folder.clone());
    watched(args.in_process, None, folder, |stop, run| {
        let found = question.answer(args, run, &stop)?;
        let text = if args.json {
            report::json(&question, &found)?
        } else {
            report::text(&question, &found)
        };
        out.write_all(text.as_bytes())?;
        Ok(())
    })
}

/// What is looked for, checked.
struct Question {
    setting: Setting,
    goal: Goal,
    condition: Figure,
    /// The sweep with the two ends of the range as values of the setting.
    ends: Plan,
    probes: u32,
    folder: PathBuf,
}

/// What came out.
struct Found {
    search: Search,
    /// Every value looked at, by place.
    probes: BTreeMap<u64, Probe>,
    /// Jobs run now.
    ran: usize,
    /// Jobs needed that were there before.
    before: usize,
    took: std::time::Duration,
    /// How the jobs run now were answered.
    answered: Answered,
}

impl Question {
    fn read(args: &SearchArgs) -> Result<Self, Failure> {
        let goal = if args.smallest { Goal::Smallest } else { Goal::Largest };
        let range = setting::Range::read(args)?;
        let mut overrides = args.sweep.overrides();
        overrides.axis.push(range.axis(&args.setting));
        let ends = Plan::load(&args.sweep.file, &overrides)?;
        let setting = Setting::new(&args.setting, range, &ends)?;
        let condition = Figure::read("--condition", &args.condition, &ends)?;
        condition.must_be_condition("--condition", &ends)?;
        let jobs = (ends.jobs.len() / setting.ends().max(1)).max(1);
        let probes = match args.probes {
            Some(probes) => probes.get(),
            None => (JOBS_SIDE_BY_SIDE / jobs).clamp(1, MOST_PROBES),
        };
        let usual = || Path::new("out").join(format!("{}-search", ends.name));
        Ok(Question {
            folder: args.out.clone().unwrap_or_else(usual),
            probes: u32::try_from(probes).unwrap_or(u32::MAX),
            setting,
            goal,
            condition,
            ends,
        })
    }

    /// The sweep with these values of the setting.
    fn plan(&self, amounts: &BTreeSet<Rational>) -> Result<Plan, Failure> {
        let mut overrides = self.ends.overrides.clone();
        overrides.axis.pop();
        overrides.axis.push(self.setting.axis(amounts));
        // Whoever asks for a search means as many values as it takes.
        overrides.yes = true;
        Ok(self.ends.replan(&overrides)?)
    }

    fn answer(&self, args: &SearchArgs, run: String, stop: &AtomicBool) -> Result<Found, Failure> {
        let begin = Instant::now();
        let dataset = Dataset::open_or_create(&self.folder)?;
        let execute = ExecuteArgs {
            shard: None,
            threads: args.threads,
            max_failures: None,
            progress: args.progress,
            quiet: args.quiet,
            no_reuse: false,
            in_process: args.in_process,
        };
        let mut session = Session::new(&execute, &dataset, run, stop);
        let mut search = Search::new(self.goal, self.setting.last(), self.probes);
        // Values of an earlier search over the same sweep stay in the plan.
        let mut planned = self.setting.planned(&self.folder, &self.ends);
        let mut noted = args.quiet || !planned.is_empty();
        let (mut probes, mut needed, mut ran) = (BTreeMap::new(), BTreeSet::new(), 0);
        let mut answered = Answered::default();
        let at = |place: u64| self.plan(&BTreeSet::from([self.setting.amount(place)]));
        while let Some(places) = search.ask_knowing(|one, other| {
            let plans = at(one).and_then(|one| Ok((one, at(other)?)));
            plans.is_ok_and(|(one, other)| session.same(&one, &other))
        }) {
            let amounts: BTreeSet<Rational> =
                places.iter().map(|&place| self.setting.amount(place)).collect();
            planned.extend(&amounts);
            let frozen = self.plan(&planned)?;
            let change = freeze(&dataset, &frozen)?;
            // Only what the first of this search's plans takes the place of is news.
            let first = !std::mem::replace(&mut noted, true);
            if let Some(text) = change.filter(|_| first) {
                // Whoever closed stderr does not want to know.
                let _ = writeln!(std::io::stderr(), "note: {text}");
            }
            let round = self.plan(&amounts)?;
            let Execution { ended, answered: now, .. } =
                session.execute(&round, &frozen.hash(), BTreeSet::new())?;
            answered.simulated += now.simulated;
            answered.covered += now.covered;
            if ended.stopped == Some(Stop::Interrupted) {
                return Err(Failure::new(
                    Exit::Interrupted,
                    format!(
                        "interrupted: the same command goes on; {} of this step outstanding",
                        count(ended.tally.outstanding, "job")
                    ),
                ));
            }
            ran += ended.tally.ran + ended.tally.failed + ended.tally.not_run;
            let wanted: BTreeSet<JobId> = round.jobs.iter().map(|job| job.id).collect();
            let rows = super::figures::rows(&dataset, &wanted, &[&self.condition])?;
            needed.extend(wanted);
            for place in places {
                let probe = Probe::judge(self, &round, place, &rows)?;
                search.tell(place, probe.verdict);
                probes.insert(place, probe);
            }
        }
        // A job without the setting belongs to every step, and is needed once.
        let before = needed.len().saturating_sub(ran);
        Ok(Found { search, probes, ran, before, took: begin.elapsed(), answered })
    }
}
