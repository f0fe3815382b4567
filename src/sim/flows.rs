//! Flows that are under way: what they still have to send and what has become of the rest.
//!
//! Owns a slab of live flows; a slot is reused once every byte of its flow has been delivered or
//! dropped, so memory follows the flows under way, not the flows of the job.

use super::observe::FlowRow;
use super::packet::Label;
use super::switch::route::FlowHashes;
use super::traffic::FlowStart;

/// A flow under way: what its packets need on their way.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Flow {
    /// IP bytes not yet committed to a frame.
    pub remaining: u64,
    /// IP bytes neither received nor dropped.
    pub outstanding: u64,
    /// When it started, ps.
    pub start: u64,
    /// IP bytes of a packet.
    pub packet: u32,
    /// Receiving host.
    pub dst: u32,
    /// What its packets say of themselves, those that are unscheduled apart.
    label: Label,
    /// Its packets are unscheduled until `remaining` is below this.
    scheduled_below: u64,
    /// It has a rate cap.
    pub capped: bool,
    /// A packet of it was dropped or arrived trimmed.
    lossy: bool,
}

impl Flow {
    /// What its next packet says of itself.
    #[inline]
    pub fn next_label(&self) -> Label {
        self.label.unscheduled(self.remaining >= self.scheduled_below)
    }
}

/// The rest of a flow, kept only where something asks for it: a row, a rate cap, a choice of
/// paths.
#[derive(Debug, Clone, Copy)]
pub struct Details {
    /// Its fixed properties.
    pub spec: FlowStart,
    /// What equal-cost choices depend on.
    pub hashes: FlowHashes,
    /// IP bytes dropped, and those of packets that arrived trimmed (as they were sent).
    lost: u64,
    received_packets: u64,
    received_trimmed: u64,
    received_ce: u64,
    end: Option<u64>,
}

/// Live flows by slot, and what is kept of the others.
#[derive(Debug, Default)]
pub struct FlowTable {
    slots: Vec<Flow>,
    /// By slot; up to date only for flows that need it.
    details: Vec<Details>,
    detailed: bool,
    free: Vec<u32>,
    /// Slots in use.
    live: u64,
    /// Flows taken from the source that have not joined their host's turn yet.
    pub announced: u64,
    /// Flows that have started.
    pub started: u64,
    /// Flows that have completed.
    pub finished: u64,
    /// Completion times of flows that completed at or after `measure_from`.
    pub completion_times: CompletionTimes,
    /// End of the warm-up, ps.
    pub measure_from: u64,
    /// Flows that would start at or after this never do, ps.
    pub start_before: u64,
    /// IP bytes from the start of a flow whose packets are unscheduled.
    pub unscheduled: u64,
    rows: Option<Vec<FlowRow>>,
}

impl FlowTable {
    /// An empty table; `keep_rows` asks for a row a flow, `choices` for what equal-cost choices
    /// need.
    pub fn new(keep_rows: bool, choices: bool) -> FlowTable {
        FlowTable {
            rows: keep_rows.then(Vec::new),
            detailed: keep_rows || choices,
            start_before: u64::MAX,
            ..FlowTable::default()
        }
    }

    /// Flows with bytes that are neither delivered nor dropped, and flows about to start.
    pub fn unfinished(&self) -> u64 {
        self.live + self.announced
    }

    /// Adds a flow that starts.
    #[inline]
    pub fn open(&mut self, spec: &FlowStart) -> u32 {
        let flow = Flow {
            remaining: spec.bytes,
            outstanding: spec.bytes,
            start: spec.start,
            packet: spec.packet,
            dst: spec.dst,
            label: Label::new(spec.tc, spec.ect, spec.role),
            scheduled_below: match self.unscheduled {
                0 => u64::MAX,
                // The packet that starts at the last of them is one of them.
                bytes => spec.bytes.saturating_sub(bytes),
            },
            capped: spec.rate != 0,
            lossy: false,
        };
        self.live += 1;
        self.announced -= 1;
        self.started += 1;
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = flow;
            slot
        } else {
            self.slots.push(flow);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 flows under way")
        };
        if self.detailed || flow.capped {
            self.open_details(slot, spec);
        }
        slot
    }

    fn open_details(&mut self, slot: u32, spec: &FlowStart) {
        let details = Details {
            spec: *spec,
            hashes: FlowHashes::of(spec),
            lost: 0,
            received_packets: 0,
            received_trimmed: 0,
            received_ce: 0,
            end: None,
        };
        let slot = slot as usize;
        if slot >= self.details.len() {
            self.details.resize(slot + 1, details);
        }
        self.details[slot] = details;
    }

    /// The details of a flow that needs them.
    #[inline]
    pub fn details(&self, slot: u32) -> &Details {
        &self.details[slot as usize]
    }

    /// A flow by slot.
    #[inline]
    pub fn get(&self, slot: u32) -> &Flow {
        &self.slots[slot as usize]
    }

    /// A flow by slot, to change.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut Flow {
        &mut self.slots[slot as usize]
    }

    /// A packet of `ip` bytes has been received at `at`.
    #[inline]
    pub fn receive(&mut self, slot: u32, ip: u64, ce: bool, at: u64) {
        let flow = &mut self.slots[slot as usize];
        flow.outstanding -= ip;
        let (last, whole, start) = (flow.outstanding == 0, !flow.lossy, flow.start);
        if self.detailed {
            let details = &mut self.details[slot as usize];
            details.received_packets += 1;
            details.received_ce += u64::from(ce);
            if last && whole {
                details.end = Some(at);
            }
        }
        if last {
            if whole {
                self.finished += 1;
                if at >= self.measure_from {
                    self.completion_times.push(at - start);
                }
            }
            self.close(slot);
        }
    }

    /// A packet that was sent with `ip` bytes has arrived trimmed: nothing more of it will.
    #[cold]
    pub fn receive_trimmed(&mut self, slot: u32, ip: u64, ce: bool) {
        if self.detailed {
            let details = &mut self.details[slot as usize];
            details.received_trimmed += 1;
            details.received_ce += u64::from(ce);
        }
        self.lose(slot, ip);
    }

    /// A packet that was sent with `ip` bytes has been dropped.
    pub fn lose(&mut self, slot: u32, ip: u64) {
        let flow = &mut self.slots[slot as usize];
        flow.outstanding -= ip;
        flow.lossy = true;
        let last = flow.outstanding == 0;
        if self.detailed {
            self.details[slot as usize].lost += ip;
        }
        if last {
            self.close(slot);
        }
    }

    #[inline]
    fn close(&mut self, slot: u32) {
        if let Some(rows) = &mut self.rows {
            rows.push(row(&self.slots[slot as usize], &self.details[slot as usize]));
        }
        self.live -= 1;
        self.free.push(slot);
    }

    /// Every flow under way, by slot.
    pub fn live_flows(&self) -> impl Iterator<Item = (usize, &Flow)> {
        let mut free = vec![false; self.slots.len()];
        for &slot in &self.free {
            free[slot as usize] = true;
        }
        self.slots.iter().enumerate().filter(move |(slot, _)| !free[*slot])
    }

    /// Rows of every flow that has started, in order of their ids.
    pub fn into_rows(self) -> Vec<FlowRow> {
        if self.rows.is_none() {
            return Vec::new();
        }
        let live: Vec<FlowRow> =
            self.live_flows().map(|(slot, flow)| row(flow, &self.details[slot])).collect();
        let mut rows = self.rows.unwrap_or_default();
        rows.extend(live);
        rows.sort_unstable_by_key(|r| r.flow_id);
        rows
    }
}

/// Completion times, all of them: percentiles are exact. Four bytes for a time below 4.29 ms.
#[derive(Debug, Default)]
pub struct CompletionTimes {
    short: Vec<u32>,
    long: Vec<u64>,
}

impl CompletionTimes {
    /// Adds a time, ps.
    #[inline]
    pub fn push(&mut self, time: u64) {
        match u32::try_from(time) {
            Ok(short) => self.short.push(short),
            Err(_) => self.long.push(time),
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        (self.short.len() + self.long.len()) as u64
    }

    /// The percentile by nearest rank, 1 to 100.
    pub fn percentile(&mut self, percent: usize) -> Option<u64> {
        let count = self.short.len() + self.long.len();
        let index = (count * percent).div_ceil(100).checked_sub(1)?;
        if index + 1 == count {
            return self.long.iter().copied().max().or(self
                .short
                .iter()
                .copied()
                .max()
                .map(u64::from));
        }
        // Every long time is longer than every short one.
        Some(match index.checked_sub(self.short.len()) {
            None => u64::from(*self.short.select_nth_unstable(index).1),
            Some(index) => *self.long.select_nth_unstable(index).1,
        })
    }
}

fn row(flow: &Flow, details: &Details) -> FlowRow {
    let spec = &details.spec;
    let sent_bytes = spec.bytes - flow.remaining;
    FlowRow {
        flow_id: spec.id,
        pattern: spec.pattern,
        src: spec.src,
        dst: spec.dst,
        tc: spec.tc,
        bytes: spec.bytes,
        start: spec.start,
        end: details.end,
        // Every packet but a flow's last one is full.
        sent_packets: sent_bytes.div_ceil(u64::from(spec.packet)),
        sent_bytes,
        received_packets: details.received_packets,
        received_bytes: spec.bytes - flow.outstanding - details.lost,
        received_trimmed: details.received_trimmed,
        received_ce: details.received_ce,
        retransmitted: 0,
        timeouts: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn percentiles_are_nearest_ranks(mut times in prop::collection::vec(0u64..9_000_000_000, 0..200)) {
            let mut kept = CompletionTimes::default();
            times.iter().for_each(|&time| kept.push(time));
            times.sort_unstable();
            prop_assert_eq!(kept.count(), times.len() as u64);
            for percent in [50usize, 99, 100] {
                let rank = (times.len() * percent).div_ceil(100);
                prop_assert_eq!(kept.percentile(percent), rank.checked_sub(1).map(|i| times[i]));
            }
        }
    }
}
