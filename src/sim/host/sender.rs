//! The sending side of an open-loop NIC, advanced lazily.
//!
//! What a host sends follows from its own state alone, so it needs no event a frame: the frame
//! after the one in progress is computed when the network asks for the next arrival, and computed
//! again if something reaches the host before that frame starts. The results are those of handling
//! every end of serialization at its instant.

use crate::sim::event::Kind;
use crate::sim::flows::FlowTable;
use crate::sim::link::{Line, spacing};
use crate::sim::packet::{ETHERNET_BYTES, Frame, PFC_WIRE_BYTES, Packet, PfcFrame};
use crate::sim::traffic::{FlowSource, FlowStart};
use std::collections::VecDeque;

/// What makes the next frame start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trigger {
    /// The port is free and has something to send.
    Free,
    /// A rate cap falls due at an idle port.
    Cap,
    /// Flows start at an idle port.
    Start,
}

/// What the next frame is, unless something reaches the host before it starts.
#[derive(Debug, Clone, Copy)]
enum Choice {
    Pfc,
    /// Class and place in its turn.
    Joined(u8, usize),
    /// A flow that is about to start.
    Starting,
}

/// The next frame a host sends if nothing reaches it first.
#[derive(Debug, Clone, Copy)]
pub struct Next {
    /// Start of serialization, ps.
    pub start: u64,
    /// End of serialization, ps.
    pub end: u64,
    trigger: Trigger,
    choice: Choice,
}

/// What is to come at a host.
#[derive(Debug, Clone, Copy)]
pub enum Upcoming {
    /// A frame.
    Frame(Next),
    /// Flows start then, but none of them may send: later ones have to be looked at then.
    Wake(u64),
    /// Nothing until something reaches the host.
    Nothing,
}

/// Flows of one class that take turns, and how many of them have a rate cap.
#[derive(Debug, Clone, Default)]
struct Turn {
    flows: VecDeque<u32>,
    capped: usize,
}

/// A frame and the time it is completely sent.
pub type Sent = (u64, Frame);

/// The sending side of one host.
#[derive(Debug)]
pub struct Sender {
    host: u32,
    line: Line,
    /// End of the last frame committed.
    free_at: u64,
    /// Last instant at which something reached the host: an idle port picks no earlier.
    settled: u64,
    /// Classes with a flow in turn, a bit each.
    ready: u8,
    /// Classes held by the switch.
    paused: u8,
    turns: [Turn; 8],
    pfc: VecDeque<PfcFrame>,
    /// The flows that start next, all at one instant.
    starting: VecDeque<FlowStart>,
    /// That instant; `u64::MAX`: no flow is left to start.
    next_start: u64,
    /// The last frame committed, until its end has been counted.
    uncounted: Option<Frame>,
    /// Frames sent to their end.
    pub packets_sent: u64,
    /// Their wire bytes.
    pub bytes_sent: u64,
    /// Pause frames sent to their end and not yet taken, by class.
    xoff_sent: [u64; 8],
    /// Resume frames, likewise.
    xon_sent: [u64; 8],
    /// IP bytes committed to frames.
    pub committed_bytes: u64,
}

impl Sender {
    /// An idle host at the end of a line.
    pub fn new(host: u32, line: Line) -> Sender {
        Sender {
            host,
            line,
            free_at: 0,
            settled: 0,
            ready: 0,
            paused: 0,
            turns: Default::default(),
            pfc: VecDeque::new(),
            starting: VecDeque::new(),
            next_start: 0,
            uncounted: None,
            packets_sent: 0,
            bytes_sent: 0,
            xoff_sent: [0; 8],
            xon_sent: [0; 8],
            committed_bytes: 0,
        }
    }

    /// Looks up the flows that start first. To be called once, before anything else.
    pub fn prepare(&mut self, flows: &mut FlowTable, source: &mut FlowSource) {
        self.fetch(flows, source);
    }

    /// The host's line.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// Classes held by the switch, a bit each.
    pub fn paused(&self) -> u8 {
        self.paused
    }

    /// Holds or releases a class. The caller has advanced the host to this instant.
    pub fn set_paused(&mut self, tc: u8, held: bool) {
        let bit = 1 << tc;
        if held { self.paused |= bit } else { self.paused &= !bit }
    }

    /// Queues a PFC frame. The caller has advanced the host to this instant.
    pub fn queue_pfc(&mut self, frame: PfcFrame) {
        self.pfc.push_back(frame);
    }

    /// Something has reached the host at `now`; what it sends next starts no earlier.
    pub fn settle(&mut self, now: u64) {
        self.settled = now;
    }

    /// Commits every frame that starts before the event of `kind` at `now`, and lets flows join
    /// that start before it. `out` gets each frame with the end of its serialization.
    pub fn advance(
        &mut self,
        now: u64,
        kind: Kind,
        flows: &mut FlowTable,
        source: &mut FlowSource,
        mut out: impl FnMut(Sent),
    ) {
        loop {
            let busy = self.free_at > now || (self.free_at == now && kind <= Kind::TxEnd);
            if busy {
                break;
            }
            let Upcoming::Frame(next) = self.upcoming(now, flows, source) else { break };
            let happened = next.start < now
                || (next.start == now
                    && match next.trigger {
                        Trigger::Free => true,
                        Trigger::Cap => kind > Kind::Timer,
                        Trigger::Start => kind > Kind::FlowStart,
                    });
            if !happened {
                break;
            }
            out(self.commit(&next, flows, source));
        }
        self.join_before(now, flows, source);
    }

    /// Counts the last frame if its serialization ended before `now`.
    pub fn count_ended(&mut self, now: u64) {
        if self.free_at < now {
            self.count();
        }
    }

    /// Pause and resume frames sent to their end since the last call, by class.
    pub fn take_pfc_counts(&mut self) -> ([u64; 8], [u64; 8]) {
        (std::mem::take(&mut self.xoff_sent), std::mem::take(&mut self.xon_sent))
    }

    /// The job ends: takes back from its flow a packet whose serialization has not ended. The
    /// caller has advanced the host to this instant and counted what has ended.
    pub fn give_back_unfinished(&self, flows: &mut FlowTable) {
        if let Some(Frame::Data(packet)) = self.uncounted {
            let flow = flows.get_mut(packet.flow);
            flow.sent_packets -= 1;
            flow.sent_bytes -= u64::from(packet.ip);
        }
    }

    /// A flow wakes the host at `now`: everything that starts at it joins its turn.
    pub fn wake(&mut self, now: u64, flows: &mut FlowTable, source: &mut FlowSource) {
        self.join_before(now + 1, flows, source);
    }

    /// What the host does next if nothing reaches it before. The port is idle or its frame in
    /// progress has ended by `now`.
    #[inline]
    pub fn upcoming(
        &mut self,
        now: u64,
        flows: &mut FlowTable,
        source: &mut FlowSource,
    ) -> Upcoming {
        let earliest = self.free_at.max(self.settled);
        self.join_before(earliest, flows, source);
        let frame = |start: u64, wire: u64, trigger, choice| {
            Upcoming::Frame(Next { start, end: start + self.line.serialize(wire), trigger, choice })
        };
        if !self.pfc.is_empty() {
            return frame(earliest, PFC_WIRE_BYTES, Trigger::Free, Choice::Pfc);
        }
        let sendable = self.ready & !self.paused;
        if let Some((tc, place, slot)) = self.pick(sendable, earliest, flows) {
            let wire = next_wire(flows, slot);
            return frame(earliest, wire, Trigger::Free, Choice::Joined(tc, place));
        }
        let capped = self.first_due(sendable, flows);
        let start = self.starting.front().map(|_| self.next_start);
        match (capped, start) {
            (Some((due, tc, place, slot)), start) if start.is_none_or(|s| due <= s) => {
                frame(due, next_wire(flows, slot), Trigger::Cap, Choice::Joined(tc, place))
            }
            (_, Some(start)) => {
                // Highest class that may send; first in list order inside it.
                let mut best: Option<&FlowStart> = None;
                for flow in &self.starting {
                    let free = self.paused >> flow.tc & 1 == 0;
                    if free && best.is_none_or(|b| flow.tc > b.tc) {
                        best = Some(flow);
                    }
                }
                match best {
                    Some(flow) => {
                        let wire = flow.bytes.min(u64::from(flow.packet)) + ETHERNET_BYTES;
                        frame(start, wire, Trigger::Start, Choice::Starting)
                    }
                    None if start < now => {
                        // They have joined by now, and wait.
                        self.join_before(start + 1, flows, source);
                        self.upcoming(now, flows, source)
                    }
                    None => Upcoming::Wake(start),
                }
            }
            _ => Upcoming::Nothing,
        }
    }

    /// Sends a frame that [`Sender::upcoming`] announced.
    #[inline]
    pub fn commit(&mut self, next: &Next, flows: &mut FlowTable, source: &mut FlowSource) -> Sent {
        self.count();
        let frame = match next.choice {
            Choice::Pfc => {
                Frame::Pfc(self.pfc.pop_front().expect("an announced PFC frame is queued"))
            }
            Choice::Joined(tc, place) => self.take(tc, place, next.start, flows),
            Choice::Starting => {
                self.join_before(next.start + 1, flows, source);
                let sendable = self.ready & !self.paused;
                let (tc, place, _) = self
                    .pick(sendable, next.start, flows)
                    .expect("an announced flow has something to send");
                self.take(tc, place, next.start, flows)
            }
        };
        self.uncounted = Some(frame);
        self.free_at = next.end;
        (next.end, frame)
    }

    /// First flow in turn that may send at `at`, from the highest class down.
    #[inline]
    fn pick(&self, mut classes: u8, at: u64, flows: &FlowTable) -> Option<(u8, usize, u32)> {
        while classes != 0 {
            let tc = 7 - classes.leading_zeros() as u8;
            let turn = &self.turns[usize::from(tc)];
            if turn.capped == 0 {
                return turn.flows.front().map(|&slot| (tc, 0, slot));
            }
            let due = |slot: &u32| flows.get(*slot).due <= at;
            if let Some(place) = turn.flows.iter().position(due) {
                return Some((tc, place, turn.flows[place]));
            }
            classes &= !(1 << tc);
        }
        None
    }

    /// Earliest cap to fall due; the highest class, then the first in turn, among equals.
    fn first_due(&self, mut classes: u8, flows: &FlowTable) -> Option<(u64, u8, usize, u32)> {
        let mut best: Option<(u64, u8, usize, u32)> = None;
        while classes != 0 {
            let tc = 7 - classes.leading_zeros() as u8;
            classes &= !(1 << tc);
            for (place, &slot) in self.turns[usize::from(tc)].flows.iter().enumerate() {
                let due = flows.get(slot).due;
                if best.is_none_or(|b| due < b.0) {
                    best = Some((due, tc, place, slot));
                }
            }
        }
        best
    }

    /// Takes the next packet of a flow in turn; the flow goes to the back or leaves.
    #[inline]
    fn take(&mut self, tc: u8, place: usize, start: u64, flows: &mut FlowTable) -> Frame {
        let turn = &mut self.turns[usize::from(tc)];
        let slot = turn.flows[place];
        let flow = flows.get_mut(slot);
        let ip = flow.remaining.min(u64::from(flow.spec.packet));
        flow.remaining -= ip;
        flow.sent_packets += 1;
        flow.sent_bytes += ip;
        let capped = flow.spec.rate != 0;
        if flow.remaining == 0 {
            turn.flows.remove(place);
            turn.capped -= usize::from(capped);
            if turn.flows.is_empty() {
                self.ready &= !(1 << tc);
            }
        } else {
            if capped {
                let wire = ip + ETHERNET_BYTES;
                flow.due = start + spacing(wire, flow.spec.rate);
            }
            if turn.flows.len() > 1 {
                turn.flows.remove(place);
                turn.flows.push_back(slot);
            }
        }
        self.committed_bytes += ip;
        let (ect, dst) = (flow.spec.ect, flow.spec.dst);
        Frame::Data(Packet { flow: slot, dst, ip: ip as u16, in_port: 0, tc, ect, ce: false })
    }

    /// Lets every flow that starts before `before` join its turn, in order.
    #[inline]
    fn join_before(&mut self, before: u64, flows: &mut FlowTable, source: &mut FlowSource) {
        if self.next_start < before {
            self.join_slowly(before, flows, source);
        }
    }

    fn join_slowly(&mut self, before: u64, flows: &mut FlowTable, source: &mut FlowSource) {
        while self.next_start < before {
            while let Some(spec) = self.starting.pop_front() {
                let slot = flows.open(spec);
                let turn = &mut self.turns[usize::from(spec.tc)];
                turn.flows.push_back(slot);
                turn.capped += usize::from(spec.rate != 0);
                self.ready |= 1 << spec.tc;
            }
            self.fetch(flows, source);
        }
    }

    /// Gets the flows that start next.
    fn fetch(&mut self, flows: &mut FlowTable, source: &mut FlowSource) {
        let in_time = source.peek(self.host).is_some_and(|flow| flow.start < flows.start_before);
        let Some(first) = (if in_time { source.pop(self.host) } else { None }) else {
            self.next_start = u64::MAX;
            return;
        };
        self.next_start = first.start;
        self.starting.push_back(first);
        while source.peek(self.host).is_some_and(|f| f.start == first.start) {
            self.starting.extend(source.pop(self.host));
        }
        flows.announced += self.starting.len() as u64;
    }

    /// Counts the last frame committed: its serialization has ended.
    #[inline]
    fn count(&mut self) {
        let Some(frame) = self.uncounted.take() else { return };
        self.packets_sent += 1;
        self.bytes_sent += frame.wire();
        if let Frame::Pfc(pfc) = frame {
            let counts = if pfc.pause { &mut self.xoff_sent } else { &mut self.xon_sent };
            counts[usize::from(pfc.tc)] += 1;
        }
    }
}

/// Wire bytes of a flow's next packet.
#[inline]
fn next_wire(flows: &FlowTable, slot: u32) -> u64 {
    let flow = flows.get(slot);
    flow.remaining.min(u64::from(flow.spec.packet)) + ETHERNET_BYTES
}
