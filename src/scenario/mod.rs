//! What one job simulates, as plain data with the documented attribute names.
//!
//! Owns the resolved scenario (every default filled in, every quantity in base units), the table
//! of attributes, the start-up arithmetic of the switch, the sizing conditions, and the checks
//! that refuse or warn. Refuses to know about YAML, files, threads or the simulator.
//!
//! A [`Scenario`] serializes to JSON with the documented names and base units (bytes, bit/s, ps);
//! that JSON with its keys sorted is what a job's identity is computed over.

pub mod attributes;
pub mod check;
mod collective;
pub mod inspect;
pub mod links;
mod nic;
pub mod offered;
mod record;
pub mod schema;
pub mod sizing;
pub mod startup;
mod switch;
mod tiers;
mod topology;
mod traffic;

pub use check::{Finding, Report, check, refusals};
pub use collective::{Algorithm, Collective, Fault, Operation, Transfers};
pub use nic::{
    Egress, FixedWindow, Hold, HostLink, HostNic, HpccNic, HpccRateControl, Ingress, Nic, NicBlock,
    NicModel, OwnHostLink, QueueScheduling, Roce, roce, uet, window,
};
pub use record::{Budget, Record, Table};
pub use switch::{
    BufferAlgorithm, DatacenterBuffer, EcmpHashMethod, EcnHandler, EcnMaps, Flowlet, HpccBuffer,
    Interface, LoadBalancingMethod, Marks, Medium, NetworkInterface, PacketTrimmer,
    SharedBufferManager, Switch, SwitchModel,
};
pub use tiers::{TierBuffer, TierEcn, TierFlowlet, TierSwitch, TierTrimmer};
pub use topology::{Explicit, FatTree, LinkEntry, NodeEntry, NodeKind, TierName, Topology};
pub use traffic::{
    AllToAll, Burst, Common, FlowEntry, Flows, Incast, OnOff, Permutation, Ring, RingSteps, Role,
    Sizes, Trace, Traffic, Uniform,
};

use crate::units::Ps;
use serde::{Deserialize, Serialize};

/// One fully resolved scenario: everything that decides the result of a job but its seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// End of the simulated time; events at or after it do not happen. With
    /// [`Until::Drained`] it is only the bound.
    pub duration: Ps,
    /// What ends the job.
    #[serde(default)]
    pub until: Until,
    /// The job ends where pauses are found to wait for one another in a circle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_on_deadlock: bool,
    /// Simulated time left out of the statistics of the `jobs` table.
    #[serde(default)]
    pub warm_up: Ps,
    /// Whether every point of a repetition draws the same random numbers.
    #[serde(default)]
    pub seed_streams: SeedStreams,
    /// Resolution of serialization times.
    #[serde(default)]
    pub timing: Timing,
    /// Nodes and links.
    pub topology: Topology,
    /// Settings of every switch.
    #[serde(default)]
    pub switch: Switch,
    /// Settings of every host's NIC.
    #[serde(default)]
    pub nic: Nic,
    /// Offered load, in order; flow ids follow this order.
    pub traffic: Vec<Traffic>,
    /// Tables to keep, and how often. Not part of a job's identity.
    #[serde(default)]
    pub record: Record,
    /// Limits that end a runaway job deterministically.
    #[serde(default)]
    pub budget: Budget,
}

impl Scenario {
    /// The scenario with what its text leaves out while it is as by default, as values of JSON.
    ///
    /// # Errors
    /// None is known; serialization may fail by its type.
    pub fn in_full(&self) -> Result<serde_json::Value, serde_json::Error> {
        let mut json = serde_json::to_value(self)?;
        json["stop_on_deadlock"] = self.stop_on_deadlock.into();
        json["switch"] = self.switch.in_full()?;
        json["nic"] = self.nic.in_full()?;
        Ok(json)
    }
}

/// What ends a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// The job ends at `duration`.
    #[default]
    Duration,
    /// The job ends 1 ps after the first event that leaves no data anywhere and no flow to come.
    Drained,
}

/// How a point takes part in the seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeedStreams {
    /// Points of one repetition share their random numbers (paired comparison).
    #[default]
    Shared,
    /// Each point draws its own.
    PerPoint,
}

/// Resolution of serialization times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// Rounded up to a whole picosecond.
    #[default]
    Picoseconds,
    /// Whole nanoseconds, as the traces of other simulators have them.
    WholeNs,
}
