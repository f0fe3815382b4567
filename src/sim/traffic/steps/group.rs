//! One collective under way: where every rank stands, and what it may send next.
//!
//! Owns the state of the ranks through all runs and the times of the runs. Memory follows the
//! number of ranks and how far one of them can get ahead of another, not the number of transfers.

use super::RunTimes;
use super::schedule::{Ends, Schedule, Shape};
use crate::scenario::{Algorithm, Collective, Operation};
use crate::sim::traffic::FlowStart;
use crate::sim::traffic::Problem;
use crate::sim::traffic::pattern::{Setting, Shape as Flow};
use std::collections::VecDeque;

/// Schedules that go on side by side; the next phase begins at a rank when it is done with all.
#[derive(Debug)]
struct Phase {
    /// Place of its first transfer in a run.
    first: u64,
    schedules: Vec<Schedule>,
}

/// Where a rank stands.
#[derive(Debug, Clone, Copy)]
struct Rank {
    /// When it enters the first run; nothing of it starts before.
    entry: u64,
    /// Its run, from 0.
    run: u32,
    /// Its phase in the run.
    phase: u32,
    /// Schedules of the phase it is not done with.
    open: u32,
}

/// Where a rank stands in one column: the schedules with one index in their phases.
#[derive(Debug, Clone, Default)]
struct Column {
    /// Steps done since the beginning, all runs and phases together.
    done: u64,
    /// Step in the schedule of the rank's phase; the number of its steps: done with it.
    step: u32,
    /// Transfers of the step that have not been sent.
    sending: u32,
    /// Transfers received for this step, the next one, …: a sender may be ahead of a receiver.
    received: VecDeque<u32>,
}

/// A transfer's place among the phases.
#[derive(Debug, Clone, Copy)]
struct Spot {
    run: u32,
    phase: usize,
    column: usize,
    ends: Ends,
}

/// One collective.
#[derive(Debug)]
pub(super) struct Group {
    flow: Flow,
    pattern: u32,
    /// Flow id of its first transfer.
    first: u64,
    /// Transfers of a run.
    of_run: u64,
    /// Transfers of all runs.
    count: u64,
    repeat: u32,
    /// The host of each rank.
    hosts: Vec<u32>,
    phases: Vec<Phase>,
    /// Columns of a rank, at least 1.
    width: usize,
    ranks: Vec<Rank>,
    /// Column by column inside a rank.
    columns: Vec<Column>,
    runs: Vec<Run>,
    /// Transfers that have not been handed out.
    remaining: u64,
}

/// Times of a run, and who is done with it.
#[derive(Debug, Clone, Copy)]
struct Run {
    entered: u64,
    started: Option<u64>,
    latest: u64,
    ranks_done: u32,
}

impl Group {
    /// A collective nobody has entered.
    pub(super) fn new(collective: &Collective, setting: &Setting<'_>) -> Result<Group, Problem> {
        if let Some(fault) = collective.faults(setting.hosts.into()).into_iter().next() {
            return Err(Problem::Collective(fault));
        }
        let flow = Flow::new(setting, &collective.common)?;
        let hosts = collective.hosts(setting.hosts);
        let mut phases = Vec::new();
        let mut of_run = 0;
        for schedules in phases_of(collective, setting.hosts, hosts.len() as u32) {
            let transfers: u64 = schedules.iter().map(Schedule::transfers).sum();
            phases.push(Phase { first: of_run, schedules });
            of_run += transfers;
        }
        let width = phases.iter().map(|phase| phase.schedules.len()).max().unwrap_or(1);
        let mut jitter = setting.jitter(&collective.common);
        let mut enters = || flow.start().saturating_add(jitter.draw());
        let ranks: Vec<Rank> =
            hosts.iter().map(|_| Rank { entry: enters(), run: 0, phase: 0, open: 0 }).collect();
        let count = of_run * u64::from(collective.repeat);
        Ok(Group {
            flow,
            pattern: setting.place,
            first: setting.first,
            of_run,
            count,
            repeat: collective.repeat,
            phases,
            width,
            columns: vec![Column::default(); ranks.len() * width],
            ranks,
            hosts,
            runs: Vec::new(),
            remaining: count,
        })
    }

    /// Every rank enters the first run; what starts then comes out.
    pub(super) fn open(&mut self, out: &mut Vec<FlowStart>) {
        for rank in 0..self.ranks.len() as u32 {
            let now = self.ranks[rank as usize].entry;
            self.begin_phase(rank, now, out);
            self.advance(rank, now, out);
        }
    }

    /// Ids of its transfers: from the first up to (not including) the second.
    pub(super) fn ids(&self) -> (u64, u64) {
        (self.first, self.first + self.count)
    }

    /// Transfers that have not been handed out.
    pub(super) fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Times of the runs somebody has entered.
    pub(super) fn runs(&self) -> impl Iterator<Item = RunTimes> {
        let all = self.ranks.len();
        (0..).zip(&self.runs).map(move |(run, times)| RunTimes {
            pattern: self.pattern,
            run,
            entered: times.entered,
            started: times.started,
            ended: (times.ranks_done as usize == all).then_some(times.latest),
        })
    }

    /// A transfer has been sent.
    pub(super) fn sent(&mut self, id: u64, now: u64, out: &mut Vec<FlowStart>) {
        let spot = self.spot(id);
        let rank = spot.ends.from;
        let sending = &mut self.columns[rank as usize * self.width + spot.column].sending;
        debug_assert!(*sending > 0, "flow {id} has been sent twice");
        *sending = sending.saturating_sub(1);
        if *sending == 0 {
            self.advance(rank, now, out);
        }
    }

    /// A transfer has been received.
    pub(super) fn received(&mut self, id: u64, now: u64, out: &mut Vec<FlowStart>) {
        let spot = self.spot(id);
        let rank = spot.ends.to;
        let due = self.steps_before(spot);
        let column = &mut self.columns[rank as usize * self.width + spot.column];
        debug_assert!(due >= column.done, "flow {id} has been received twice");
        let Some(ahead) = due.checked_sub(column.done) else { return };
        let ahead = ahead as usize;
        if column.received.len() <= ahead {
            column.received.resize(ahead + 1, 0);
        }
        column.received[ahead] += 1;
        if ahead == 0 {
            self.advance(rank, now, out);
        }
    }

    /// Where a transfer belongs.
    fn spot(&self, id: u64) -> Spot {
        let place = id - self.first;
        let (run, within) = ((place / self.of_run) as u32, place % self.of_run);
        let phase = self.phases.partition_point(|phase| phase.first <= within) - 1;
        let mut place = within - self.phases[phase].first;
        let mut column = 0;
        for schedule in &self.phases[phase].schedules {
            if place < schedule.transfers() {
                break;
            }
            place -= schedule.transfers();
            column += 1;
        }
        let ends = self.phases[phase].schedules[column].ends(place);
        Spot { run, phase, column, ends }
    }

    /// How many steps its receiver does in the column of a transfer before the one that waits for
    /// it.
    fn steps_before(&self, spot: Spot) -> u64 {
        let (mut of_run, mut before) = (0, 0);
        for (place, phase) in self.phases.iter().enumerate() {
            if place == spot.phase {
                before = of_run;
            }
            let steps = phase.schedules.get(spot.column).map_or(0, |s| s.steps(spot.ends.to));
            of_run += u64::from(steps);
        }
        u64::from(spot.run) * of_run + before + u64::from(spot.ends.step)
    }

    /// A rank begins its phase: the first step of each of its schedules.
    fn begin_phase(&mut self, rank: u32, now: u64, out: &mut Vec<FlowStart>) {
        let Rank { run, phase, .. } = self.ranks[rank as usize];
        if phase == 0 && self.runs.len() <= run as usize {
            self.runs.push(Run { entered: now, started: None, latest: 0, ranks_done: 0 });
        }
        let times = &mut self.runs[run as usize];
        if phase == 0 {
            times.entered = times.entered.min(now);
        }
        if phase as usize + 1 == self.phases.len() {
            times.started = Some(times.started.map_or(now, |earlier| earlier.min(now)));
        }
        let schedules = self.phases[phase as usize].schedules.len();
        self.ranks[rank as usize].open = schedules as u32;
        for column in 0..schedules {
            self.columns[rank as usize * self.width + column].step = 0;
            self.begin_step(rank, column, now, out);
        }
    }

    /// A rank begins its step in a column: what it sends starts.
    fn begin_step(&mut self, rank: u32, column: usize, now: u64, out: &mut Vec<FlowStart>) {
        let Rank { run, phase, .. } = self.ranks[rank as usize];
        let phase = &self.phases[phase as usize];
        let schedule = phase.schedules[column];
        let before: u64 = phase.schedules[..column].iter().map(Schedule::transfers).sum();
        let first = u64::from(run) * self.of_run + phase.first + before;
        let state = &mut self.columns[rank as usize * self.width + column];
        let sends = schedule.sends(rank, state.step);
        for nth in 0..sends {
            let send = schedule.send(rank, state.step, nth);
            let (src, dst) = (self.hosts[rank as usize], self.hosts[send.to as usize]);
            out.push(self.flow.flow(first + send.place, src, dst, send.bytes, now));
        }
        state.sending = sends;
        self.remaining -= u64::from(sends);
    }

    /// Takes a rank as far as it can go.
    fn advance(&mut self, rank: u32, now: u64, out: &mut Vec<FlowStart>) {
        let now = now.max(self.ranks[rank as usize].entry);
        loop {
            let phase = self.ranks[rank as usize].phase as usize;
            let Some(schedules) = self.phases.get(phase).map(|p| p.schedules.len()) else { return };
            for column in 0..schedules {
                while self.finish_step(rank, column) {
                    self.begin_step(rank, column, now, out);
                }
            }
            if self.ranks[rank as usize].open > 0 || !self.next_phase(rank, now) {
                return;
            }
            self.begin_phase(rank, now, out);
        }
    }

    /// Ends a rank's step in a column if it is complete; whether another one follows.
    fn finish_step(&mut self, rank: u32, column: usize) -> bool {
        let Rank { phase, .. } = self.ranks[rank as usize];
        let schedule = &self.phases[phase as usize].schedules[column];
        let state = &mut self.columns[rank as usize * self.width + column];
        let steps = schedule.steps(rank);
        let received = state.received.front().copied().unwrap_or(0);
        if state.step == steps
            || state.sending > 0
            || received < schedule.receives(rank, state.step)
        {
            return false;
        }
        state.received.pop_front();
        state.done += 1;
        state.step += 1;
        if state.step == steps {
            self.ranks[rank as usize].open -= 1;
        }
        state.step < steps
    }

    /// Moves a rank that is done with its phase to the next one; whether there is one.
    fn next_phase(&mut self, rank: u32, now: u64) -> bool {
        let state = &mut self.ranks[rank as usize];
        state.phase += 1;
        if (state.phase as usize) < self.phases.len() {
            return true;
        }
        let times = &mut self.runs[state.run as usize];
        times.latest = times.latest.max(now);
        times.ranks_done += 1;
        if state.run + 1 == self.repeat {
            return false;
        }
        state.run += 1;
        state.phase = 0;
        true
    }
}

/// The schedules of one run, phase by phase.
fn phases_of(collective: &Collective, hosts: u32, ranks: u32) -> Vec<Vec<Schedule>> {
    let (whole, part, half) = collective.portions(hosts.into());
    let root = collective.root;
    let one = |shape, bytes| vec![Schedule { ranks, shape, bytes }];
    let tree = |mirrored, bytes| Schedule { ranks, shape: Shape::UpDown { mirrored }, bytes };
    let exchange = |back| one(Shape::Exchange { rounds: ranks.ilog2(), back }, part);
    let at_once = collective.algorithm() == Algorithm::Interleaved;
    let mut phases = Vec::new();
    if collective.has_barrier() {
        phases.push(vec![tree(false, 0)]);
    }
    phases.push(match (collective.operation, collective.algorithm()) {
        (Operation::AllReduce | Operation::Barrier, Algorithm::Tree) => vec![tree(false, whole)],
        (Operation::AllReduce | Operation::Barrier, Algorithm::DoubleTree) => {
            vec![tree(false, half), tree(true, half)]
        }
        (Operation::AllReduce | Operation::Barrier, Algorithm::HalvingDoubling) => exchange(true),
        (Operation::AllReduce | Operation::Barrier, _) => {
            one(Shape::Ring { steps: 2 * (ranks - 1) }, part)
        }
        (Operation::ReduceScatter, Algorithm::HalvingDoubling) => exchange(false),
        (Operation::ReduceScatter, _) => one(Shape::Ring { steps: ranks - 1 }, part),
        (Operation::AllGather, _) => one(Shape::Ring { steps: ranks - 1 }, whole),
        (Operation::Reduce, Algorithm::Tree) => one(Shape::Up { root }, whole),
        (Operation::Reduce, _) => one(Shape::Chain { root }, whole),
        (Operation::Broadcast, _) => one(Shape::FromRoot { root, at_once }, whole),
        (Operation::Scatter, _) => one(Shape::FromRoot { root, at_once: true }, part),
        (Operation::Gather, _) => one(Shape::ToRoot { root }, whole),
        (Operation::AllToAll, _) if at_once => one(Shape::Everybody, part),
        (Operation::AllToAll, _) => one(Shape::Rotation, part),
    });
    phases
}
