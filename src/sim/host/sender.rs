//! The sending side of an open-loop NIC, advanced lazily.
//!
//! What a host sends follows from its own state alone, so it needs no event a frame: the frame
//! after the one in progress is computed when the network asks for the next arrival, and computed
//! again if something reaches the host before that frame starts. The results are those of handling
//! every end of serialization at its instant.

mod quick;

use super::turn::Turn;
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
    /// The flow whose turn it is in a class.
    Joined(u8),
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

/// A frame and the time it is completely sent.
pub type Sent = (u64, Frame);

/// The sending side of one host.
///
/// In this order, so that what every packet touches shares cache lines and a class that is not in
/// use costs none.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Sender {
    line: Line,
    /// End of the last frame committed.
    free_at: u64,
    /// Last instant at which something reached the host: an idle port picks no earlier.
    settled: u64,
    /// When flows start next; `u64::MAX`: none is left to start.
    next_start: u64,
    host: u32,
    /// Classes with a flow in turn, a bit each.
    ready: u8,
    /// Classes held by the switch.
    paused: u8,
    /// The last frame committed is a PFC frame that the counts by class do not have yet.
    uncounted: Option<PfcFrame>,
    /// What it sends next if nothing reaches it, while nothing of it is in flight.
    announced: Option<Next>,
    /// Frames committed, and their wire bytes.
    frames: u64,
    wire: u64,
    /// PFC frames among them.
    pfc_frames: u64,
    /// The last frame committed.
    last: Option<Frame>,
    pfc: VecDeque<PfcFrame>,
    /// The first of the flows that start next, in list order.
    first: Option<FlowStart>,
    /// The others, at the same instant.
    more: VecDeque<FlowStart>,
    turns: [Turn; 8],
    /// Pause frames sent to their end and not yet taken, by class.
    xoff_sent: [u64; 8],
    /// Resume frames, likewise.
    xon_sent: [u64; 8],
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
            first: None,
            more: VecDeque::new(),
            next_start: 0,
            announced: None,
            frames: 0,
            wire: 0,
            pfc_frames: 0,
            last: None,
            xoff_sent: [0; 8],
            xon_sent: [0; 8],
            uncounted: None,
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

    /// Frames whose serialization ended before `now`, and their wire bytes. The caller has
    /// advanced the host to this instant.
    pub fn sent_before(&self, now: u64) -> (u64, u64) {
        match self.last {
            Some(last) if self.free_at >= now => (self.frames - 1, self.wire - last.wire()),
            _ => (self.frames, self.wire),
        }
    }

    /// IP bytes committed to frames.
    pub fn committed_bytes(&self) -> u64 {
        let data = self.frames - self.pfc_frames;
        self.wire - self.pfc_frames * u64::from(PFC_WIRE_BYTES) - data * ETHERNET_BYTES
    }

    /// Pause and resume frames sent to their end before `now` since the last call, by class.
    pub fn take_pfc_counts(&mut self, now: u64) -> ([u64; 8], [u64; 8]) {
        if self.free_at < now {
            self.count_pfc();
        }
        (std::mem::take(&mut self.xoff_sent), std::mem::take(&mut self.xon_sent))
    }

    fn count_pfc(&mut self) {
        if let Some(pfc) = self.uncounted.take() {
            let counts = if pfc.pauses() { &mut self.xoff_sent } else { &mut self.xon_sent };
            counts[usize::from(pfc.tc)] += 1;
        }
    }

    /// The job ends at `now`: takes back from its flow a packet whose serialization has not
    /// ended. The caller has advanced the host to this instant.
    pub fn give_back_unfinished(&self, now: u64, flows: &mut FlowTable) {
        if let Some(Frame::Data(packet)) = self.last
            && self.free_at >= now
        {
            flows.get_mut(packet.flow()).remaining += packet.ip();
        }
    }

    /// Forgets what was announced: something has changed.
    pub fn retract(&mut self) {
        self.announced = None;
    }

    /// Whether a frame is announced.
    pub fn has_announced(&self) -> bool {
        self.announced.is_some()
    }

    /// Computes what the host sends next if nothing reaches it, and remembers it.
    #[inline]
    pub fn announce(
        &mut self,
        now: u64,
        flows: &mut FlowTable,
        source: &mut FlowSource,
    ) -> Upcoming {
        let upcoming = self.upcoming(now, flows, source);
        self.announced = match upcoming {
            Upcoming::Frame(next) => Some(next),
            Upcoming::Wake(_) | Upcoming::Nothing => None,
        };
        upcoming
    }

    /// Sends the frame that was announced.
    #[inline]
    pub fn send_announced(&mut self, flows: &mut FlowTable, source: &mut FlowSource) -> Frame {
        let next = self.announced.take().expect("an arrival was announced");
        self.commit(&next, flows, source).1
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
        let sendable = self.ready & !self.paused;
        if self.next_start >= earliest && self.pfc.is_empty() && sendable != 0 {
            // The common case: a port that is free, and flows without caps in turn.
            let tc = 7 - sendable.leading_zeros() as u8;
            let turn = &self.turns[usize::from(tc & 7)];
            if let Some(&slot) = turn.ring().and_then(VecDeque::front) {
                return Upcoming::Frame(Next {
                    start: earliest,
                    end: earliest + self.line.serialize(next_wire(flows, slot)),
                    trigger: Trigger::Free,
                    choice: Choice::Joined(tc),
                });
            }
        }
        self.upcoming_slowly(now, earliest, flows, source)
    }

    fn upcoming_slowly(
        &mut self,
        now: u64,
        earliest: u64,
        flows: &mut FlowTable,
        source: &mut FlowSource,
    ) -> Upcoming {
        self.join_before(earliest, flows, source);
        if !self.pfc.is_empty() {
            let end = earliest + self.line.serialize(u64::from(PFC_WIRE_BYTES));
            let (trigger, choice) = (Trigger::Free, Choice::Pfc);
            return Upcoming::Frame(Next { start: earliest, end, trigger, choice });
        }
        let sendable = self.ready & !self.paused;
        if let Some((tc, slot)) = self.pick(sendable, earliest) {
            let end = earliest + self.line.serialize(next_wire(flows, slot));
            let (trigger, choice) = (Trigger::Free, Choice::Joined(tc));
            return Upcoming::Frame(Next { start: earliest, end, trigger, choice });
        }
        let capped = self.first_due(sendable);
        let frame = |start: u64, wire: u64, trigger, choice| {
            Upcoming::Frame(Next { start, end: start + self.line.serialize(wire), trigger, choice })
        };
        let start = self.first.map(|_| self.next_start);
        match (capped, start) {
            (Some((due, tc, slot)), start) if start.is_none_or(|s| due <= s) => {
                frame(due, next_wire(flows, slot), Trigger::Cap, Choice::Joined(tc))
            }
            (_, Some(start)) => {
                // Highest class that may send; first in list order inside it.
                let mut best: Option<&FlowStart> = None;
                for flow in self.first.iter().chain(&self.more) {
                    let free = self.paused >> flow.tc & 1 == 0;
                    if free && best.is_none_or(|b| flow.tc > b.tc) {
                        best = Some(flow);
                    }
                }
                match best {
                    Some(flow) => frame(start, first_wire(flow), Trigger::Start, Choice::Starting),
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
        self.count_pfc();
        let frame = match next.choice {
            Choice::Joined(tc) => self.take(tc, next.start, flows),
            Choice::Pfc => {
                let frame = self.pfc.pop_front().expect("an announced PFC frame is queued");
                self.pfc_frames += 1;
                self.uncounted = Some(frame);
                Frame::Pfc(frame)
            }
            Choice::Starting => self.start(next.start, flows, source),
        };
        self.frames += 1;
        self.wire += frame.wire();
        self.last = Some(frame);
        self.free_at = next.end;
        (next.end, frame)
    }

    /// Flows start at an idle port, and one of them sends at once.
    fn start(&mut self, at: u64, flows: &mut FlowTable, source: &mut FlowSource) -> Frame {
        if let Some(packet) = self.start_only(flows, source) {
            return Frame::Data(packet);
        }
        self.join_before(at + 1, flows, source);
        let sendable = self.ready & !self.paused;
        let (tc, _) = self.pick(sendable, at).expect("an announced flow has something to send");
        self.take(tc, at, flows)
    }

    /// The flow that starts next sends all it has, without taking a turn, if it is the only one and
    /// has one packet; `None`: nothing has happened.
    #[inline]
    fn start_only(&mut self, flows: &mut FlowTable, source: &mut FlowSource) -> Option<Packet> {
        let spec = self.first.as_ref()?;
        if !self.more.is_empty() || spec.bytes > u64::from(spec.packet) {
            return None;
        }
        let slot = flows.open(spec);
        let flow = flows.get_mut(slot);
        let label = flow.next_label();
        flow.remaining = 0;
        let packet = Packet::new(slot, spec.dst, spec.bytes as u16, label);
        self.fetch(flows, source);
        Some(packet)
    }

    /// First flow in turn that may send at `at`, from the highest class down.
    #[inline]
    fn pick(&mut self, mut classes: u8, at: u64) -> Option<(u8, u32)> {
        while classes != 0 {
            let tc = 7 - classes.leading_zeros() as u8;
            if let Some(slot) = self.turns[usize::from(tc & 7)].first(at) {
                return Some((tc, slot));
            }
            classes &= !(1 << tc);
        }
        None
    }

    /// Earliest cap to fall due; the highest class, then the first in turn, among equals.
    fn first_due(&self, mut classes: u8) -> Option<(u64, u8, u32)> {
        let mut best: Option<(u64, u8, u32)> = None;
        while classes != 0 {
            let tc = 7 - classes.leading_zeros() as u8;
            classes &= !(1 << tc);
            if let Some((due, slot)) = self.turns[usize::from(tc & 7)].first_due()
                && best.is_none_or(|b| due < b.0)
            {
                best = Some((due, tc, slot));
            }
        }
        best
    }

    /// Takes the next packet of the flow whose turn it is at `start`; the flow goes to the back or
    /// leaves.
    #[inline]
    fn take(&mut self, tc: u8, start: u64, flows: &mut FlowTable) -> Frame {
        let turn = &mut self.turns[usize::from(tc & 7)];
        let slot = turn.first(start).expect("an announced flow may send");
        let flow = flows.get_mut(slot);
        let (ip, label) = (flow.remaining.min(u64::from(flow.packet)), flow.next_label());
        flow.remaining -= ip;
        let (dst, capped, last) = (flow.dst, flow.capped, flow.remaining == 0);
        turn.pop();
        if !last {
            let due =
                capped.then(|| start + spacing(ip + ETHERNET_BYTES, flows.details(slot).spec.rate));
            turn.push(slot, due);
        } else if turn.is_empty() {
            turn.reset();
            self.ready &= !(1 << tc);
        }
        Frame::Data(Packet::new(slot, dst, ip as u16, label))
    }

    /// Lets every flow that starts before `before` join its turn, in order.
    #[inline]
    fn join_before(&mut self, before: u64, flows: &mut FlowTable, source: &mut FlowSource) {
        if self.next_start < before {
            self.join_slowly(before, flows, source);
        }
    }

    #[inline(never)]
    fn join_slowly(&mut self, before: u64, flows: &mut FlowTable, source: &mut FlowSource) {
        while self.next_start < before {
            if let Some(spec) = &self.first {
                join(spec, &mut self.turns, &mut self.ready, flows);
            }
            while let Some(spec) = self.more.pop_front() {
                join(&spec, &mut self.turns, &mut self.ready, flows);
            }
            self.fetch(flows, source);
        }
    }

    /// Gets the flows that start next; those it had have joined.
    #[inline]
    fn fetch(&mut self, flows: &mut FlowTable, source: &mut FlowSource) {
        self.first = source.pop_before(self.host, flows.start_before);
        let Some(first) = &self.first else {
            self.next_start = u64::MAX;
            return;
        };
        self.next_start = first.start;
        flows.announced += 1;
        while let Some(other) = source.pop_before(self.host, self.next_start + 1) {
            self.more.push_back(other);
            flows.announced += 1;
        }
    }
}

/// A flow takes its turn behind those of its class.
#[inline]
fn join(spec: &FlowStart, turns: &mut [Turn; 8], ready: &mut u8, flows: &mut FlowTable) {
    let slot = flows.open(spec);
    let turn = &mut turns[usize::from(spec.tc & 7)];
    turn.push(slot, (spec.rate != 0).then_some(spec.start));
    *ready |= 1 << (spec.tc & 7);
}

/// Wire bytes of the first packet of a flow that starts.
#[inline]
fn first_wire(flow: &FlowStart) -> u64 {
    flow.bytes.min(u64::from(flow.packet)) + ETHERNET_BYTES
}

/// Wire bytes of a flow's next packet.
#[inline]
fn next_wire(flows: &FlowTable, slot: u32) -> u64 {
    let flow = flows.get(slot);
    flow.remaining.min(u64::from(flow.packet)) + ETHERNET_BYTES
}
