//! Patterns in which every host sends the same number of flows, computed rather than stored:
//! all-to-all and the steps of a ring all-reduce.

use super::pattern::{Setting, Shape, size};
use super::{FlowStart, Problem, wire};
use crate::scenario::{AllToAll, Common, Ring};

/// `columns` flows of every host.
#[derive(Debug)]
pub(super) struct Grid {
    shape: Shape,
    layout: Layout,
    hosts: u32,
    /// Flows a host sends.
    columns: u64,
    bytes: u64,
    /// By host: flows handed out.
    done: Vec<u64>,
    /// With jitter: by host, its starts and columns in order. Without: columns are in order.
    jittered: Option<Vec<(u64, u32)>>,
}

/// What a column is.
#[derive(Debug, Clone, Copy)]
enum Layout {
    /// A distance to the destination, less 1; the list is by source.
    Distance,
    /// A step of this length; the list is by step.
    Step(u64),
}

impl Grid {
    pub(super) fn all_to_all(all: &AllToAll, setting: &Setting<'_>) -> Result<Grid, Problem> {
        let columns = u64::from(setting.hosts) - 1;
        Grid::new(Layout::Distance, columns, size(all.bytes.0)?, &all.common, setting)
    }

    /// The steps of a ring all-reduce. All hosts go in step, so that a step without a `step_time`
    /// lasts as long as it takes the slowest host's link.
    pub(super) fn all_reduce(ring: &Ring, setting: &Setting<'_>) -> Result<Grid, Problem> {
        let bytes = size(ring.bytes.0)?.div_ceil(setting.hosts.into());
        let packet = Shape::new(setting, &ring.common)?.packet();
        let step = match ring.step_time {
            Some(time) => time.0,
            None => {
                let mut longest = 0;
                for host in 0..setting.hosts {
                    let time = wire::time_of_flow(bytes, packet, setting.rate(host)?);
                    longest = longest.max(time);
                }
                longest
            }
        };
        let columns = 2 * (u64::from(setting.hosts) - 1);
        Grid::new(Layout::Step(step), columns, bytes, &ring.common, setting)
    }

    fn new(
        layout: Layout,
        columns: u64,
        bytes: u64,
        common: &Common,
        setting: &Setting<'_>,
    ) -> Result<Grid, Problem> {
        let shape = Shape::new(setting, common)?;
        let hosts = setting.hosts;
        let done = vec![0; hosts as usize];
        let mut grid = Grid { shape, layout, hosts, columns, bytes, done, jittered: None };
        let mut jitter = setting.jitter(common);
        if jitter.is_on() {
            // Drawn in the order of the list, kept by host.
            let columns = columns as usize;
            let mut starts = vec![(0, 0); hosts as usize * columns];
            for place in 0..grid.count() {
                let (host, column) = grid.at(place);
                let start = grid.start(column).saturating_add(jitter.draw());
                starts[host as usize * columns + column as usize] = (start, column as u32);
            }
            starts.chunks_mut(columns).for_each(<[_]>::sort_unstable);
            grid.jittered = Some(starts);
        }
        Ok(grid)
    }

    pub(super) fn count(&self) -> u64 {
        u64::from(self.hosts) * self.columns
    }

    pub(super) fn next(&mut self, host: u32) -> Option<FlowStart> {
        let done = &mut self.done[host as usize];
        if *done == self.columns {
            return None;
        }
        let nth = *done;
        *done += 1;
        let (start, column) = match &self.jittered {
            None => (self.start(nth), nth),
            Some(starts) => {
                let (start, column) = starts[(u64::from(host) * self.columns + nth) as usize];
                (start, u64::from(column))
            }
        };
        let (place, distance) = match self.layout {
            Layout::Distance => (u64::from(host) * self.columns + column, column + 1),
            Layout::Step(_) => (column * u64::from(self.hosts) + u64::from(host), 1),
        };
        let dst = (u64::from(host) + distance) % u64::from(self.hosts);
        Some(self.shape.flow(place, host, dst as u32, self.bytes, start))
    }

    /// Host and column of a place in the list.
    fn at(&self, place: u64) -> (u64, u64) {
        match self.layout {
            Layout::Distance => (place / self.columns, place % self.columns),
            Layout::Step(_) => (place % u64::from(self.hosts), place / u64::from(self.hosts)),
        }
    }

    /// Start of a column, before jitter.
    fn start(&self, column: u64) -> u64 {
        match self.layout {
            Layout::Distance => self.shape.start(),
            Layout::Step(time) => self.shape.start().saturating_add(time.saturating_mul(column)),
        }
    }
}
