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
    run_plan::<E>(scenario, &outline.network(), seeds, traces)
}

fn run_plan<E: EventList>(
    scenario: &Scenario,
    plan: &NetworkPlan,
    seeds: Seeds,
    traces: &Traces,
) -> Result<Observations, SimError> {
    match scenario.switch.model {
        SwitchModel::Scala => {
            run_model::<Scala, E>(scenario, plan, seeds, traces, |startup, lines| {
                Scala::new(startup, lines.len())
            })
        }
        SwitchModel::Hpcc => {
            let (marks, host_rate) = (|rate| marks(scenario, rate), host_rate(plan));
            run_model::<Hpcc, E>(scenario, plan, seeds, traces, |_, lines| {
                Hpcc::new(&scenario.switch.hpcc, lines, marks, host_rate)
            })
        }
        SwitchModel::Ns3Datacenter => {
            run_model::<Datacenter, E>(scenario, plan, seeds, traces, |_, lines| {
                let marks = |rate| marks(scenario, rate);
                Datacenter::new(&scenario.switch.datacenter, lines, marks)
            })
        }
    }
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
    run_plan::<WinnerTree>(scenario, plan, seeds, traces)
}

/// ECN thresholds of a port of a rate; a map without it, which checks refuse, marks nothing.
fn marks(scenario: &Scenario, rate: u64) -> Marks {
    scenario.switch.ecn_maps.marks(rate).unwrap_or(Marks::NONE)
}

/// Rate of the first host's link.
fn host_rate(plan: &NetworkPlan) -> u64 {
    plan.links.first().map_or(0, |link| link.rate)
}

fn run_model<M: BufferManager, E: EventList>(
    scenario: &Scenario,
    plan: &NetworkPlan,
    seeds: Seeds,
    traces: &Traces,
    manager: impl Fn(&Startup, &[Line]) -> M,
) -> Result<Observations, SimError> {
    let record = &scenario.record;
    if record.has(Table::SwitchBuffers) || record.has(Table::PortCounters) {
        run_at::<M, E, Everything>(scenario, plan, seeds, traces, manager)
    } else if record.has(Table::PortBuffers) {
        run_at::<M, E, Ports>(scenario, plan, seeds, traces, manager)
    } else {
        run_at::<M, E, Peaks>(scenario, plan, seeds, traces, manager)
    }
}

fn run_at<M: BufferManager, E: EventList, D: Depth>(
    scenario: &Scenario,
    plan: &NetworkPlan,
    seeds: Seeds,
    traces: &Traces,
    manager: impl Fn(&Startup, &[Line]) -> M,
) -> Result<Observations, SimError> {
    let mut network = Network::<M, E, D>::laid_out(scenario, plan, &seeds, traces, manager)?;
    let stop = network.run();
    Ok(network.finish(stop == Stop::Budget))
}
