//! One job run again around its first drop.

use super::super::exit::{Exit, Failure};
use super::super::repro::resolve;
use super::super::results::{integer, number};
use super::points::Points;
use crate::record::{Dataset, Status, TableSet};
use crate::run::recorder::{Simulate, record_as};
use crate::run::simulator::Simulator;
use crate::scenario::{Scenario, refusals};
use crate::sim::observe::Observations;
use crate::sim::random::Seeds;
use crate::sizing::explain::{
    Advice, DropSite, Explained, Finding, Held, JobFacts, Moment, applied, explain as causes, held,
    moment, narrowed, sites,
};
use crate::sweep::plan::JobId;

/// What there is to tell of a job.
pub struct Told {
    /// Identity.
    pub id: JobId,
    /// Its point, by what varies.
    pub point: Option<String>,
    /// How it went.
    pub status: Status,
    /// Why it is not `ok`.
    pub reason: Option<String>,
    /// Number of hosts, to tell them from switches.
    pub hosts: u32,
    /// What happened; `None`: it did not run.
    pub ran: Option<Ran>,
}

/// What happened in a job that ran.
pub struct Ran {
    /// Packets dropped, a warm-up left out.
    pub drops: u64,
    /// End of the job, ps.
    pub end: u64,
    /// Where, the warm-up included.
    pub sites: Vec<DropSite>,
    /// The first drop.
    pub moment: Option<Moment>,
    /// Conditions and settings.
    pub explained: Explained,
    /// What came out with each setting moved: drops; `None`: not tried.
    pub tried: Vec<Option<u64>>,
    /// Ports and classes held.
    pub held: Vec<Held>,
    /// Findings of the job.
    pub findings: Vec<Finding>,
    /// Pause frames in the held time of one, per port and class.
    pub flaps: Option<f64>,
    /// Largest held share.
    pub held_share: f64,
}

/// Runs the job again and reads what happened.
pub fn explain(dataset: &Dataset, points: &Points, id: JobId) -> Result<Told, Failure> {
    let row = dataset.job(id)?;
    let point = points.of(id).map(|point| points.name(point));
    let (scenario, seeds) = resolve(&row, &dataset.path().display())?;
    let hosts = scenario.topology.hosts().try_into().unwrap_or(u32::MAX);
    let (status, reason) = (row.status, row.reason.clone());
    let mut told = Told { id, point, status, reason, hosts, ran: None };
    if !matches!(status, Status::Ok | Status::Budget) {
        return Ok(told);
    }
    let run = Again { simulator: Simulator::default(), seeds, id };
    let mut whole = scenario.clone();
    record_as(&mut whole, TableSet::from_list("jobs,drops,pfc"), row.interval, false);
    let seen = run.simulate(&whole)?;
    let facts = JobFacts::of(id, &scenario, &seen.totals);
    let recorded = integer(&row.row, "drops", 0);
    if recorded != facts.drops.and_then(|n| i64::try_from(n).ok()) {
        return Err(Failure::new(
            Exit::Differ,
            format!(
                "job {id} came out differently: {} drops recorded, {} now; poolsweep repro shows \
                 where",
                recorded.unwrap_or(0),
                facts.drops.unwrap_or(0)
            ),
        ));
    }
    let mut first = None;
    if let Some(time) = seen.totals.first_drop {
        let narrow = narrowed(&scenario, time);
        let there = run.simulate(&narrow)?;
        // Traffic that is drawn for the whole duration may come out otherwise in a shorter one.
        if there.totals.first_drop == Some(time) {
            first = moment(&narrow, &there);
        }
    }
    let explained = first.as_ref().map(|m| causes(&scenario, m)).unwrap_or_default();
    let tried = explained.advice.iter().map(|advice| run.try_it(&scenario, advice)).collect();
    told.ran = Some(Ran {
        drops: facts.drops.unwrap_or(0),
        end: seen.totals.end_time,
        sites: sites(&seen.drops),
        moment: first,
        explained,
        tried,
        held: held(&seen.pfc),
        findings: Finding::ALL.into_iter().filter(|finding| finding.holds(&facts)).collect(),
        flaps: facts.flaps(),
        held_share: number(&row.row, "pause_time_fraction", 0).unwrap_or(0.0),
    });
    Ok(told)
}

struct Again {
    simulator: Simulator,
    seeds: Seeds,
    id: JobId,
}

impl Again {
    fn simulate(&self, scenario: &Scenario) -> Result<Observations, Failure> {
        let seen = crate::run::catch(|| self.simulator.simulate(scenario, self.seeds));
        match seen {
            Ok(Ok(seen)) => Ok(seen),
            Ok(Err(message)) | Err(message) => Err(Failure::new(
                Exit::Output,
                format!("job {} cannot be run again: {message}", self.id),
            )),
        }
    }

    /// Drops with a setting moved; `None`: it cannot be moved alone.
    fn try_it(&self, scenario: &Scenario, advice: &Advice) -> Option<u64> {
        let moved = applied(scenario, advice)?;
        if !refusals(&moved).is_empty() {
            return None;
        }
        self.simulate(&moved).ok().map(|seen| seen.totals.drops.iter().sum())
    }
}
