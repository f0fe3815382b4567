//! How far a plan is, from what its dataset and its journals say.
//!
//! Owns the reckoning: what is done by the tables, what is running by the journals, the pace and
//! the time left by estimated cost. A pure function of what was read and of the time it was read
//! at; a clock that is off shifts ages and the time left, nothing else.

use super::chunks::Task;
use super::journal::{ALIVE_EVERY, Story};
use super::shard::{Shard, assign};
use crate::record::{Done, Status};
use crate::sweep::plan::{Job, JobId};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A run that wrote nothing for this long is taken for dead.
pub const SILENT_MS: u64 = 3 * ALIVE_EVERY.as_millis() as u64;

/// Jobs by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// All jobs.
    pub jobs: usize,
    /// Ran to their end.
    pub ok: usize,
    /// The switch would refuse them.
    pub infeasible: usize,
    /// Failed.
    pub failed: usize,
    /// Ended by their budget.
    pub budget: usize,
    /// Set aside.
    pub quarantined: usize,
    /// Started and not ended, by runs that go on.
    pub running: usize,
    /// No row yet, running ones included.
    pub outstanding: usize,
}

impl Counts {
    fn take(&mut self, status: Option<Status>) {
        self.jobs += 1;
        match status {
            Some(Status::Ok) => self.ok += 1,
            Some(Status::Infeasible) => self.infeasible += 1,
            Some(Status::Failed) => self.failed += 1,
            Some(Status::Budget) => self.budget += 1,
            Some(Status::Quarantined) => self.quarantined += 1,
            None => self.outstanding += 1,
        }
    }

    /// Jobs that have a row.
    pub fn done(&self) -> usize {
        self.jobs - self.outstanding
    }
}

/// One shard.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShardStatus {
    /// `k/n`.
    pub shard: String,
    /// Its jobs.
    #[serde(flatten)]
    pub counts: Counts,
    /// Its share of the estimated cost that is done, 0 to 1.
    pub cost_done_share: f64,
    /// What its latest run does; `none` if it has had none.
    pub state: State,
}

/// What a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// There was none.
    None,
    /// It goes on.
    Running,
    /// It finishes what is in flight.
    Stopping,
    /// It ended in an orderly way, having done all.
    Finished,
    /// It ended in an orderly way, early.
    Stopped,
    /// Its process died.
    Died,
    /// It neither ended nor says anything.
    Silent,
}

impl State {
    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            State::None => "not started",
            State::Running => "running",
            State::Stopping => "stopping",
            State::Finished => "finished",
            State::Stopped => "stopped early",
            State::Died => "died",
            State::Silent => "silent",
        }
    }

    fn of(story: &Story, now: u64) -> State {
        match (story.finished, &story.death, &story.stopping) {
            (_, Some(_), _) => State::Died,
            (true, None, None) => State::Finished,
            (true, None, Some(_)) => State::Stopped,
            (false, None, _) if now.saturating_sub(story.last) > SILENT_MS => State::Silent,
            (false, None, Some(_)) => State::Stopping,
            (false, None, None) => State::Running,
        }
    }

    fn goes_on(self) -> bool {
        matches!(self, State::Running | State::Stopping)
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunStatus {
    /// Its name.
    pub run: String,
    /// The machine.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// The Slurm job.
    pub slurm: Option<String>,
    /// `k/n`.
    pub shard: Option<String>,
    /// What it does.
    pub state: State,
    /// How its process died.
    pub death: Option<String>,
    /// Jobs it set out to do.
    pub jobs: usize,
    /// Jobs it has ended.
    pub ended: usize,
    /// Jobs in flight.
    pub in_flight: usize,
    /// When it began, ms since 1970.
    pub began_ms: u64,
    /// When it last wrote, ms since 1970.
    pub last_ms: u64,
}

/// A job in flight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InFlight {
    /// The job.
    pub job_id: String,
    /// The run.
    pub run: String,
    /// The machine.
    pub host: String,
    /// For how long, ms.
    pub for_ms: u64,
}

/// How far a plan is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The plan.
    pub plan_hash: String,
    /// Its jobs.
    #[serde(flatten)]
    pub counts: Counts,
    /// Share of the estimated cost that is done, 0 to 1.
    pub cost_done_share: f64,
    /// Jobs ended a second by the runs that go on; `None` if there are none.
    pub jobs_per_s: Option<f64>,
    /// Time left at the pace of the runs that go on, by cost; `None` without a pace.
    pub eta_s: Option<f64>,
    /// The job that has been in flight longest in a run that goes on.
    pub oldest: Option<InFlight>,
    /// Shards, if there are any, in order.
    pub shards: Vec<ShardStatus>,
    /// Runs of this plan that go on or died, in order of their beginning.
    pub runs: Vec<RunStatus>,
    /// Runs of this plan that ended in an orderly way.
    pub runs_ended: usize,
}

/// Reckons how far a plan is.
pub fn report(
    plan_hash: &str,
    jobs: &[Job],
    tasks: &[Task],
    done: &BTreeMap<JobId, Done>,
    stories: &[Story],
    now: u64,
) -> Report {
    let mut stories: Vec<&Story> =
        stories.iter().filter(|s| s.run.plan_hash == plan_hash).collect();
    stories.sort_by(|a, b| (a.run.t, &a.run.run).cmp(&(b.run.t, &b.run.run)));
    let states: Vec<State> = stories.iter().map(|s| State::of(s, now)).collect();
    let live = || stories.iter().zip(&states).filter(|(_, state)| state.goes_on()).map(|(s, _)| s);
    let in_flight: BTreeSet<JobId> = live().flat_map(|s| s.in_flight.keys().copied()).collect();

    let status = |task: &Task| done.get(&jobs[task.job].id).map(|claim| claim.status);
    let of = |tasks: &mut dyn Iterator<Item = &Task>| {
        let mut counts = Counts::default();
        let (mut cost, mut cost_done) = (0.0, 0.0);
        for task in tasks {
            let status = status(task);
            counts.take(status);
            if status.is_none() && in_flight.contains(&jobs[task.job].id) {
                counts.running += 1;
            }
            cost += task.full_cost();
            cost_done += if status.is_some() { task.full_cost() } else { 0.0 };
        }
        (counts, if cost > 0.0 { cost_done / cost } else { 1.0 })
    };
    let (counts, cost_done_share) = of(&mut tasks.iter());

    // Ended but not published yet: nothing is left of them but a file to write.
    let ended: BTreeSet<JobId> = live().flat_map(|s| s.ended.iter().copied()).collect();
    let left: f64 = tasks
        .iter()
        .filter(|task| status(task).is_none() && !ended.contains(&jobs[task.job].id))
        .map(Task::full_cost)
        .sum();
    let seconds = |s: &Story| now.saturating_sub(s.run.t).max(1) as f64 / 1e3;
    let pace: f64 = live().map(|s| s.cost_done / seconds(s)).sum();
    let rate: f64 = live().map(|s| s.ended.len() as f64 / seconds(s)).sum();

    let oldest = live()
        .flat_map(|s| s.in_flight.iter().map(move |(job, since)| (*since, *job, s)))
        .min_by_key(|(since, job, _)| (*since, *job))
        .map(|(since, job, s)| InFlight {
            job_id: job.to_string(),
            run: s.run.run.clone(),
            host: s.run.host.clone(),
            for_ms: now.saturating_sub(since),
        });

    // Of several ways to divide a plan the latest counts.
    let shard_of = |s: &Story| s.run.shard.as_deref().and_then(|text| text.parse::<Shard>().ok());
    let count = stories.iter().rev().find_map(|s| shard_of(s)).map_or(0, Shard::count);
    let mut members: Vec<Vec<&Task>> = vec![Vec::new(); count];
    if count > 0 {
        for (task, shard) in tasks.iter().zip(assign(tasks, count)) {
            members[shard].push(task);
        }
    }
    let shards = members.iter().enumerate().map(|(place, mine)| {
        let latest = stories.iter().zip(&states).rev().find(|(s, _)| {
            shard_of(s).is_some_and(|s| (s.number(), s.count()) == (place + 1, count))
        });
        let (counts, cost_done_share) = of(&mut mine.iter().copied());
        let state = latest.map_or(State::None, |(_, state)| *state);
        ShardStatus { shard: format!("{}/{count}", place + 1), counts, cost_done_share, state }
    });
    let shards = shards.collect();

    let run = |(s, state): (&&Story, &State)| RunStatus {
        run: s.run.run.clone(),
        host: s.run.host.clone(),
        pid: s.run.pid,
        slurm: s.run.slurm.clone(),
        shard: s.run.shard.clone(),
        state: *state,
        death: s.death.as_ref().map(|(cause, _)| cause.clone()),
        jobs: s.run.jobs,
        ended: s.ended.len(),
        in_flight: s.in_flight.len(),
        began_ms: s.run.t,
        last_ms: s.last,
    };
    let orderly = |state: &State| matches!(state, State::Finished | State::Stopped);
    Report {
        plan_hash: plan_hash.to_owned(),
        counts,
        cost_done_share,
        jobs_per_s: live().next().map(|_| rate),
        eta_s: (pace > 0.0 && counts.outstanding > 0).then(|| left / pace),
        oldest,
        shards,
        runs: stories.iter().zip(&states).filter(|(_, s)| !orderly(s)).map(run).collect(),
        runs_ended: states.iter().filter(|s| orderly(s)).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TableSet;
    use crate::run::journal::RunLine;
    use crate::sim::random::Seeds;
    use crate::units::Ps;

    fn jobs(costs: &[f64]) -> (Vec<Job>, Vec<Task>) {
        let job = |(index, &cost): (usize, &f64)| Job {
            id: JobId(index as u64),
            repetition: 0,
            seeds: Seeds::default(),
            infeasible: Vec::new(),
            cost,
            point: index,
        };
        let jobs: Vec<Job> = costs.iter().enumerate().map(job).collect();
        let tasks = jobs
            .iter()
            .enumerate()
            .map(|(job, j)| Task { job, cost: j.cost, runs: true })
            .collect();
        (jobs, tasks)
    }

    fn done(jobs: &[(u64, Status)]) -> BTreeMap<JobId, Done> {
        let claim =
            |status| Done { status, tables: TableSet::all(), interval: Ps(1), zeros: false };
        jobs.iter().map(|&(job, status)| (JobId(job), claim(status))).collect()
    }

    fn story(
        shard: Option<&str>,
        began: u64,
        last: u64,
        in_flight: &[(u64, u64)],
        ended: &[u64],
    ) -> Story {
        Story {
            run: RunLine {
                run: format!("r{began}"),
                plan_hash: "p".into(),
                shard: shard.map(str::to_owned),
                jobs: 4,
                t: began,
                ..RunLine::default()
            },
            in_flight: in_flight.iter().map(|&(job, since)| (JobId(job), since)).collect(),
            ended: ended.iter().map(|&job| JobId(job)).collect(),
            cost_done: ended.len() as f64 * 1e6,
            last,
            ..Story::default()
        }
    }

    #[test]
    fn time_left_follows_cost_and_the_oldest_job_is_named() {
        let (jobs, tasks) = jobs(&[1e6 - 2e3; 8]);
        let done = done(&[(0, Status::Ok), (1, Status::Failed)]);
        // Two million of cost in ten seconds; job 2 has ended and is not published.
        let one = story(None, 90_000, 99_000, &[(3, 95_000), (4, 92_000)], &[0, 2]);
        let report = report("p", &jobs, &tasks, &done, &[one], 100_000);
        assert_eq!((report.counts.ok, report.counts.failed, report.counts.outstanding), (1, 1, 6));
        assert_eq!(report.counts.running, 2);
        assert_eq!(report.cost_done_share, 0.25);
        assert_eq!(report.eta_s, Some(25.0));
        assert_eq!(report.jobs_per_s, Some(0.2));
        let oldest = report.oldest.unwrap();
        assert_eq!((oldest.job_id.as_str(), oldest.for_ms), ("0000000000000004", 8_000));
    }

    #[test]
    fn a_run_that_says_nothing_is_not_running() {
        let (jobs, tasks) = jobs(&[1e6; 2]);
        let quiet = story(None, 0, 10, &[(0, 5)], &[]);
        let report = report("p", &jobs, &tasks, &done(&[]), &[quiet], 11 + SILENT_MS);
        assert_eq!(report.runs[0].state, State::Silent);
        assert_eq!((report.counts.running, report.eta_s, report.oldest), (0, None, None));
    }

    #[test]
    fn a_clock_that_jumps_shifts_ages_and_nothing_else() {
        let (jobs, tasks) = jobs(&[1e6; 4]);
        let done = done(&[(0, Status::Ok)]);
        // It began, by its clock, an hour after the one who looks; then its clock was set back.
        let ahead = story(None, 3_600_000, 3_500_000, &[(2, 3_600_000)], &[0]);
        let report = report("p", &jobs, &tasks, &done, &[ahead], 1_000);
        assert_eq!((report.counts.ok, report.counts.outstanding, report.counts.running), (1, 3, 1));
        assert_eq!(report.runs[0].state, State::Running);
        assert_eq!(report.oldest.unwrap().for_ms, 0);
        assert!(report.eta_s.unwrap().is_finite() && report.jobs_per_s.unwrap().is_finite());
    }

    #[test]
    fn shards_are_told_apart_and_other_plans_left_out() {
        let (jobs, tasks) = jobs(&[1e6; 6]);
        let second = Shard::new(2, 3).unwrap().of(&tasks);
        let done = done(&[(second[0].job as u64, Status::Budget)]);
        let mut ended = story(Some("2/3"), 10, 20, &[], &[second[0].job as u64]);
        ended.finished = true;
        ended.stopping = Some("interrupted".into());
        let mut died = story(Some("1/3"), 12, 20, &[(7, 13)], &[]);
        died.death = Some(("SIGABRT".into(), true));
        let mut other = story(Some("1/9"), 15, 20, &[], &[]);
        other.run.plan_hash = "q".into();
        let report = report("p", &jobs, &tasks, &done, &[other, ended, died], 30);
        let states: Vec<State> = report.shards.iter().map(|s| s.state).collect();
        assert_eq!(states, [State::Died, State::Stopped, State::None]);
        let counts: Vec<_> =
            report.shards.iter().map(|s| (s.counts.jobs, s.counts.budget)).collect();
        assert_eq!(counts, [(2, 0), (2, 1), (2, 0)]);
        assert_eq!(report.shards[1].cost_done_share, 0.5);
        assert_eq!((report.runs.len(), report.runs_ended), (1, 1));
        assert_eq!(report.runs[0].death.as_deref(), Some("SIGABRT"));
    }
}
