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

use crate::scenario::{Scenario, Table};
use event::{EventList, WinnerTree};
use meter::{Depth, Everything, Peaks, Ports};
use network::{Network, Stop};
use observe::Observations;
use random::Seeds;
use switch::buffer::Scala;
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
    let record = &scenario.record;
    if record.has(Table::SwitchBuffers) || record.has(Table::PortCounters) {
        run_at::<E, Everything>(scenario, seeds, traces)
    } else if record.has(Table::PortBuffers) {
        run_at::<E, Ports>(scenario, seeds, traces)
    } else {
        run_at::<E, Peaks>(scenario, seeds, traces)
    }
}

fn run_at<E: EventList, D: Depth>(
    scenario: &Scenario,
    seeds: Seeds,
    traces: &Traces,
) -> Result<Observations, SimError> {
    let mut network = Network::<Scala, E, D>::new(scenario, &seeds, traces, Scala::new)?;
    let stop = network.run();
    Ok(network.finish(stop == Stop::Budget))
}
