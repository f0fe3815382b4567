//! One run that answers other points: where nothing compared would have come out otherwise.
//!
//! Owns what a run keeps of its comparisons, the thresholds another point would start with, and the
//! test of the one against the other: a point inside has the same events, packet by packet, and so
//! the same results, but for the limits that stand beside them. Refuses files and threads, and to
//! decide which runs to try: [`structure`] says which may be.

mod key;

pub use super::network::RowLimits;
pub use key::{Structure, structure};

use super::SimError;
use super::link::Line;
use super::network::{TierSettings, lines};
use super::observe::{BuffId, Observations};
use super::switch::buffer::watch::Interval;
use super::switch::buffer::{Datacenter, Hpcc, Scala, Seen, Start};
use super::switch::ecn::EcnSeen;
use crate::scenario::links::Outline;
use crate::scenario::startup::{Startup, StartupError};
use crate::scenario::{EcnHandler, Scenario, SwitchModel};
use serde::{Deserialize, Serialize};

/// The switches of a structure, those that start alike together.
#[derive(Debug, Clone)]
pub struct Groups {
    /// Group of each switch, in order of their nodes.
    of: Vec<u32>,
    /// A switch of each group, and the lines at its ports.
    groups: Vec<(usize, Vec<Line>)>,
    /// Node of the first switch.
    first_node: u32,
    /// Rate of the first host's link, bit/s.
    host_rate: u64,
}

impl Groups {
    /// Those of a scenario; of every other one with the same [`structure`] too.
    ///
    /// # Errors
    /// A topology that makes no sense.
    pub fn new(scenario: &Scenario) -> Result<Groups, SimError> {
        let outline = Outline::new(scenario).map_err(SimError::Links)?;
        let settings = TierSettings::new(scenario, &outline);
        let layout = outline.network();
        let mut known: Vec<(u8, usize, Vec<Line>)> = Vec::new();
        let mut of = Vec::with_capacity(layout.switches.len());
        for (at, lines) in lines(&layout, scenario.timing).into_iter().enumerate() {
            let tier = settings.tier(at);
            // The last one first: switches of a tier follow one another.
            let group = known.iter().rposition(|known| (known.0, &known.2) == (tier, &lines));
            let group = group.unwrap_or_else(|| {
                known.push((tier, at, lines));
                known.len() - 1
            });
            of.push(group as u32);
        }
        Ok(Groups {
            of,
            groups: known.into_iter().map(|(_, at, lines)| (at, lines)).collect(),
            first_node: layout.hosts,
            host_rate: super::host_rate(&layout),
        })
    }

    /// Group of a switch, by its place among the switches.
    pub(super) fn of(&self, switch: usize) -> usize {
        self.of[switch] as usize
    }

    /// What the switches of a scenario of this structure start with.
    ///
    /// # Errors
    /// Settings a switch refuses.
    pub fn point(&self, scenario: &Scenario) -> Result<Point, SimError> {
        let outline = Outline::new(scenario).map_err(SimError::Links)?;
        let settings = TierSettings::new(scenario, &outline);
        let group = |(at, lines): &(usize, Vec<Line>)| {
            let own = settings.of(*at);
            let startup = Startup::new(own, lines.len() as u32)?;
            let marks = |rate| super::marks(scenario, rate);
            let (start, limits) = match scenario.switch.model {
                SwitchModel::Scala => {
                    let limits = RowLimits::new(&startup, &Scala::new(&startup, 0));
                    (Start::Scala(Box::new(startup.clone())), limits)
                }
                SwitchModel::Hpcc => {
                    let of = &scenario.switch.hpcc;
                    let manager = Hpcc::new(of, lines, marks, self.host_rate);
                    (Start::Hpcc(manager.start()), RowLimits::new(&startup, &manager))
                }
                SwitchModel::Ns3Datacenter => {
                    let of = &scenario.switch.datacenter;
                    let manager = Datacenter::new(of, lines, marks);
                    (Start::Datacenter(manager.start()), RowLimits::new(&startup, &manager))
                }
            };
            let (ecn, gap) = (own.ecn_handler.clone(), own.load_balancing_flowlet.gap.0);
            Ok(GroupStart { start, startup, ecn, gap, limits })
        };
        let groups = self.groups.iter().map(group).collect::<Result<_, StartupError>>()?;
        Ok(Point { groups })
    }

    /// What the counters of a node are compared with at a point; `None`: it is no switch.
    pub fn limits<'a>(&self, point: &'a Point, node: u32) -> Option<&'a RowLimits> {
        let switch = node.checked_sub(self.first_node)? as usize;
        Some(&point.groups[*self.of.get(switch)? as usize].limits)
    }
}

impl RowLimits {
    /// What a counter of a port and pool is compared with; `u64::MAX`: nothing.
    pub fn counter(&self, buff: BuffId, pool: u8) -> u64 {
        self.counters[usize::from(pool & 7)][buff as usize]
    }

    /// What a counter of the switch is compared with; pool −1 is everything.
    pub fn sum(&self, pool: i8) -> u64 {
        usize::try_from(pool).map_or(self.total, |pool| self.pools[pool & 7])
    }
}

/// What the switches of a point start with.
#[derive(Debug, Clone)]
pub struct Point {
    groups: Vec<GroupStart>,
}

#[derive(Debug, Clone)]
struct GroupStart {
    start: Start,
    startup: Startup,
    ecn: EcnHandler,
    /// Of flowlets, ps.
    gap: u64,
    limits: RowLimits,
}

/// What a run compared, by group of its switches.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Outcome {
    groups: Vec<GroupSeen>,
}

/// What the switches of a group compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct GroupSeen {
    pub(super) buffer: Seen,
    pub(super) ecn: EcnSeen,
    /// With the gap of flowlets, ps.
    pub(super) gap: Interval,
}

impl Outcome {
    /// From every switch's place and what it compared.
    pub(super) fn gather(
        groups: &Groups,
        switches: impl Iterator<Item = (usize, GroupSeen)>,
    ) -> Outcome {
        let mut gathered: Vec<Option<GroupSeen>> = vec![None; groups.groups.len()];
        for (at, seen) in switches {
            match &mut gathered[groups.of(at)] {
                Some(group) => {
                    group.buffer.add(&seen.buffer);
                    group.ecn.add(&seen.ecn);
                    group.gap.add(&seen.gap);
                }
                none => *none = Some(seen),
            }
        }
        Outcome { groups: gathered.into_iter().flatten().collect() }
    }

    /// Whether a run of the point, which has the same [`structure`], would have been the same event
    /// by event. May say no where it would, never yes where it would not.
    pub fn holds(&self, point: &Point) -> bool {
        self.groups.len() == point.groups.len()
            && self.groups.iter().zip(&point.groups).all(|(seen, point)| {
                seen.buffer.holds(&point.start)
                    && seen.ecn.holds(&point.ecn, &point.startup)
                    && seen.gap.holds(point.gap)
            })
    }
}

/// A run with what it compared.
#[derive(Debug, Clone)]
pub struct Watched {
    /// As [`run`](super::run) gives them.
    pub observations: Observations,
    /// What it compared.
    pub outcome: Outcome,
}
