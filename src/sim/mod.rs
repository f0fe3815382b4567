//! The simulator: a pure function from a scenario and its seeds to observations.
//!
//! Owns events and their total order, links, hosts, switches, traffic and measurement. Refuses to
//! know about YAML, files, threads or wall clocks: same input, same bits, on any machine.

pub mod event;
pub mod flows;
pub mod host;
pub mod link;
pub mod meter;
pub mod network;
pub mod nic;
pub mod observe;
pub mod packet;
pub mod random;
pub mod reuse;
pub mod switch;
pub mod traffic;

pub use network::SimError;

use crate::scenario::links::{NetworkPlan, Outline};
use crate::scenario::startup::Startup;
use crate::scenario::{Marks, Scenario, SwitchModel, Table};
use event::{EventList, WinnerTree};
use link::Line;
use meter::{Depth, Everything, Peaks, Ports};
use network::{Network, Stop};
use observe::Observations;
use random::Seeds;
use reuse::{Groups, Outcome, Watched};
use switch::buffer::watch::{Off, On, Watch};
use switch::buffer::{BufferManager, Datacenter, Hpcc, Scala};
use traffic::Traces;

/// Runs one job: the same scenario and seeds give the same bits on any machine.
///
/// # Errors
///
/// A scenario that [`crate::scenario::check()`] would refuse.
pub fn run(scenario: &Scenario, seeds: Seeds, traces: &Traces) -> Result<Observations, SimError> {
    run_with::<WinnerTree>(scenario, seeds, traces)
}

/// As [`run`], with the event list of one's choice.
pub fn run_with<E: EventList>(
    scenario: &Scenario,
    seeds: Seeds,
    traces: &Traces,
) -> Result<Observations, SimError> {
    let outline = Outline::new(scenario).map_err(SimError::Links)?;
    network::fits(scenario, &outline)?;
    let job = Run { scenario, plan: &outline.network(), seeds, traces, groups: None };
    Ok(job.by_model::<Off, E>()?.0)
}

/// As [`run`], keeping what every threshold was compared with. `groups` are those of the scenario
/// or of another one with the same structure.
///
/// # Errors
///
/// As [`run`].
pub fn run_watched(
    scenario: &Scenario,
    seeds: Seeds,
    traces: &Traces,
    groups: &Groups,
) -> Result<Watched, SimError> {
    let outline = Outline::new(scenario).map_err(SimError::Links)?;
    network::fits(scenario, &outline)?;
    let plan = &outline.network();
    let job = Run { scenario, plan, seeds, traces, groups: Some(groups) };
    let (observations, outcome) = job.by_model::<On, WinnerTree>()?;
    Ok(Watched { observations, outcome })
}

/// As [`run`], on a layout in place of the one the scenario's topology describes.
///
/// # Errors
///
/// As [`run`].
pub fn run_on(
    scenario: &Scenario,
    plan: &NetworkPlan,
    seeds: Seeds,
    traces: &Traces,
) -> Result<Observations, SimError> {
    let job = Run { scenario, plan, seeds, traces, groups: None };
    Ok(job.by_model::<Off, WinnerTree>()?.0)
}

/// ECN thresholds of a port of a rate; a map without it, which checks refuse, marks nothing.
fn marks(scenario: &Scenario, rate: u64) -> Marks {
    scenario.switch.ecn_maps.marks(rate).unwrap_or(Marks::NONE)
}

/// Rate of the first host's link.
fn host_rate(plan: &NetworkPlan) -> u64 {
    plan.links.first().map_or(0, |link| link.rate)
}

/// A job to run.
struct Run<'a> {
    scenario: &'a Scenario,
    plan: &'a NetworkPlan,
    seeds: Seeds,
    traces: &'a Traces,
    /// For what its switches compared.
    groups: Option<&'a Groups>,
}

impl Run<'_> {
    fn by_model<W: Watch, E: EventList>(&self) -> Result<(Observations, Outcome), SimError> {
        let switch = &self.scenario.switch;
        let (marks, host_rate) = (|rate| marks(self.scenario, rate), host_rate(self.plan));
        match switch.model {
            SwitchModel::Scala => {
                self.by_depth::<Scala<W>, E>(|startup, lines| Scala::started(startup, lines.len()))
            }
            SwitchModel::Hpcc => self.by_depth::<Hpcc<W>, E>(|_, lines| {
                Hpcc::started(&switch.hpcc, lines, marks, host_rate)
            }),
            SwitchModel::Ns3Datacenter => self.by_depth::<Datacenter<W>, E>(|_, lines| {
                Datacenter::started(&switch.datacenter, lines, marks)
            }),
        }
    }

    fn by_depth<M: BufferManager, E: EventList>(
        &self,
        manager: impl Fn(&Startup, &[Line]) -> M,
    ) -> Result<(Observations, Outcome), SimError> {
        let record = &self.scenario.record;
        if record.has(Table::SwitchBuffers) || record.has(Table::PortCounters) {
            self.at::<M, E, Everything>(manager)
        } else if record.has(Table::PortBuffers) {
            self.at::<M, E, Ports>(manager)
        } else {
            self.at::<M, E, Peaks>(manager)
        }
    }

    fn at<M: BufferManager, E: EventList, D: Depth>(
        &self,
        manager: impl Fn(&Startup, &[Line]) -> M,
    ) -> Result<(Observations, Outcome), SimError> {
        let Run { scenario, plan, seeds, traces, groups } = *self;
        let mut network = Network::<M, E, D>::laid_out(scenario, plan, &seeds, traces, manager)?;
        let stop = network.run();
        let outcome = groups.map(|groups| network.outcome(groups)).unwrap_or_default();
        Ok((network.finish(stop == Stop::Budget), outcome))
    }
}
