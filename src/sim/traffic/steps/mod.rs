//! Collectives: messages in dependent steps.
//!
//! Owns who waits for whom. A rank's step is complete when every transfer it receives in it has
//! arrived and every transfer it sends in it has been *sent*: handed to the port once, which is
//! when a sending node of a replayed trace completes, and not acknowledged, which would put a
//! round trip between steps. Then the next step starts, at the same instant. A transfer that
//! arrives before its receiver has come to the step that waits for it counts when it gets there.
//! A run of a collective starts at a rank, barrier first, when the rank is done with the run
//! before; a rank is done when all its steps are complete. So a rank may be in the next run while
//! another one is still in this one, and with the barrier no transfer of the operation starts
//! before every rank has entered the run.
//!
//! Each of the two trees of a double tree goes on by itself; a rank is done when it is done with
//! both.
//!
//! Refuses to know how transfers are sent: whoever carries them says [`Steps::sent`] and
//! [`Steps::received`], in any order, each once a transfer.
//!
//! Inside a collective flow ids go by run; in a run the barrier's tree comes first, then the
//! operation (a double tree's first tree before its second), each in the order of its shape: ring,
//! halving-doubling and sequential all-to-all by step, then sender; interleaved all-to-all by
//! distance, then sender; a tree upwards by sender, then downwards by receiver; everything with a
//! root by the rank at the other end, counted from the root (a ring reduce by sender).
//!
//! With `jitter` each rank enters the first run later by one draw of the stream `jitter`, in order
//! of rank. A transfer that falls due at a rank before its entry starts at its entry: only then is
//! [`FlowStart::start`] later than the call that handed it out.

mod group;
mod schedule;

#[cfg(test)]
mod tests;

use super::pattern::Setting;
use super::{FlowStart, Problem};
use crate::scenario::Collective;
use group::Group;

/// The collectives of a job.
#[derive(Debug, Default)]
pub struct Steps {
    /// In order of their ids.
    groups: Vec<Group>,
    remaining: u64,
}

/// When a run of a collective took place, ps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTimes {
    /// Place of its pattern in `traffic`.
    pub pattern: u32,
    /// Which run of it, from 0.
    pub run: u32,
    /// When the first rank entered it, barrier included.
    pub entered: u64,
    /// When the first rank started the operation itself, after the barrier; `None`: not yet.
    pub started: Option<u64>,
    /// When the last rank was done with it; `None`: not yet.
    pub ended: Option<u64>,
}

impl Steps {
    /// Adds a collective whose ids are above all so far, entered by all its ranks. Gives the
    /// transfers that wait for nothing, and the number of all.
    pub(super) fn add(
        &mut self,
        collective: &Collective,
        setting: &Setting<'_>,
    ) -> Result<(Vec<FlowStart>, u64), Problem> {
        let mut group = Group::new(collective, setting)?;
        let (count, mut out) = (group.remaining(), Vec::new());
        group.open(&mut out);
        self.remaining += group.remaining();
        self.groups.push(group);
        Ok((out, count))
    }

    /// Whether there is no collective: then nothing need be told.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// A flow has been sent at `now`. The transfers that may start are added to `out`, in the
    /// order in which they are to start; nothing for a flow of another pattern.
    pub fn sent(&mut self, id: u64, now: u64, out: &mut Vec<FlowStart>) {
        self.with(id, |group| group.sent(id, now, out));
    }

    /// A flow has been received at `now`, every byte of it. As [`Steps::sent`].
    pub fn received(&mut self, id: u64, now: u64, out: &mut Vec<FlowStart>) {
        self.with(id, |group| group.received(id, now, out));
    }

    /// Transfers that have not been handed out: while there are any, there is more to come.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Times of the runs somebody has entered, by pattern and run.
    pub fn runs(&self) -> impl Iterator<Item = RunTimes> {
        self.groups.iter().flat_map(Group::runs)
    }

    /// Does something with the collective a flow belongs to, if any.
    fn with(&mut self, id: u64, act: impl FnOnce(&mut Group)) {
        let place = self.groups.partition_point(|group| group.ids().1 <= id);
        let Some(group) = self.groups.get_mut(place).filter(|group| group.ids().0 <= id) else {
            return;
        };
        let before = group.remaining();
        act(group);
        self.remaining -= before - group.remaining();
    }
}
