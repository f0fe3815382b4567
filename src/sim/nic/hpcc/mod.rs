//! The host of HPCC's and ns3-datacenter's ns-3 code.
//!
//! Owns the transports of all hosts of a job. A flow is a queue pair of its own and sends at line
//! rate without a window, or as a law says that follows what switches wrote into its packets;
//! flows take turns packet by packet, after any answer that waits.
//! Receivers take packets in order only. The sender goes back when it is told of a gap and at no
//! other time: there is no timeout, and a flow whose last packets are lost never ends. A packet is
//! chosen when it can start, so nothing waits in the port's queues. Refuses to know switches and
//! events.

pub mod law;
mod queue_pair;
#[cfg(test)]
mod tests;

use super::{
    CodePoint, Done, Header, Incoming, Io, Message, NEVER, Outgoing, PacketKind, Transport, Whole,
};
use crate::scenario::Nic;
use law::{Control, Hop, Hops, LawSettings};
use queue_pair::{Answer, AnswerRules, QueuePair};
use std::collections::VecDeque;

/// IP bytes of a data packet above its payload: sequence 6, UDP 8, IPv4 20.
pub const DATA_HEADER: u16 = 34;
/// IP bytes of an answer.
const ANSWER: u16 = 46;
/// No queue pair, or no flow.
const NONE: u32 = u32::MAX;
/// Bytes on the wire beyond the IP bytes, for the pace of a law.
const FRAME: u64 = 14;

/// One host.
#[derive(Debug)]
struct Host {
    /// Answers that wait, in order.
    answers: VecDeque<Outgoing>,
    /// Its flows in order of their start, until they are found finished.
    flows: Vec<u32>,
    /// Place in `flows` of the last one that sent.
    last: usize,
    /// When a flow that a law holds back may go on, while the port waits for it.
    wake: u64,
    /// Its law, if it has one.
    law: Option<LawSettings>,
    /// Packets of a flow are unscheduled whose first byte is before this one.
    scheduled_from: u64,
}

/// The transports of a job's hosts.
#[derive(Debug)]
pub struct Hpcc {
    payload: u64,
    rules: AnswerRules,
    /// The class whose pause holds answers back, and the one switches queue them in, if it is not
    /// their data's.
    answer_class: u8,
    answer_tc: Option<u8>,
    ect: bool,
    hosts: Vec<Host>,
    pairs: Vec<QueuePair>,
    free: Vec<u32>,
    /// What laws remember of the queue pairs; empty without laws.
    controls: Vec<Control>,
    /// Telemetry under way, by its place in headers, and places to use again.
    telemetry: Vec<Hops>,
    unused: Vec<u32>,
    /// Paces are cut down to whole ns.
    whole_ns: bool,
}

impl Hpcc {
    /// Idle NICs of hosts with links of these rates (bit/s), from settings that have passed their
    /// checks. `whole_ns`: as the job's serialization times.
    pub fn new(nic: &Nic, rates: &[u64], whole_ns: bool) -> Hpcc {
        let settings = &nic.hpcc;
        Hpcc {
            payload: settings.payload.0.clamp(1, u64::from(u16::MAX - DATA_HEADER)),
            rules: AnswerRules {
                chunk: settings.chunk.0.max(1),
                interval: settings.ack_interval.0,
                nack_interval: settings.nack_interval.0,
            },
            answer_class: if settings.ack_high_prio { 0 } else { 3 },
            answer_tc: settings.ack_high_prio.then_some(0),
            ect: settings.ect,
            hosts: rates
                .iter()
                .map(|&rate| Host {
                    answers: VecDeque::new(),
                    flows: Vec::new(),
                    last: 0,
                    wake: NEVER,
                    law: LawSettings::new(settings, rate),
                    scheduled_from: match nic.unscheduled_bytes(rate) {
                        0 => 0,
                        // The packet that starts at the last of them is one of them.
                        bytes => bytes.saturating_add(1),
                    },
                })
                .collect(),
            pairs: Vec::new(),
            free: Vec::new(),
            controls: Vec::new(),
            telemetry: Vec::new(),
            unused: Vec::new(),
            whole_ns,
        }
    }

    /// Hands the port its next packet if it can start one now.
    fn fill(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        if io.egress.free_at() > now || !io.egress.is_empty() {
            io.egress.want();
            return;
        }
        self.hosts[host as usize].wake = NEVER;
        let open = io.egress.is_open(now);
        let Some(packet) = self.choose(now, host, io) else { return };
        if open {
            io.egress.choose(packet);
        } else {
            // The pool has no bound.
            io.egress.reserve(packet.class, packet.ip);
            io.egress.queue(0, packet);
        }
    }

    #[inline]
    fn choose(&mut self, now: u64, host: u32, io: &mut Io<'_>) -> Option<Outgoing> {
        let paused = io.egress.paused();
        let own = &mut self.hosts[host as usize];
        if paused >> self.answer_class & 1 == 0
            && let Some(answer) = own.answers.pop_front()
        {
            return Some(answer);
        }
        let count = own.flows.len();
        let mut wake = NEVER;
        let (mut chosen, mut finished) = (None, count);
        // Those of the list that come after the last one, then round to it.
        let mut first = own.last + 1;
        if first >= count {
            // The list may have become shorter.
            first = if first == count { 0 } else { first % count.max(1) };
        }
        for place in (first..count).chain(0..first) {
            let index = own.flows[place] as usize;
            let pair = &self.pairs[index];
            let bound = |law: &LawSettings| pair.in_flight() >= self.controls[index].window(law);
            if pair.left() > 0 && paused >> pair.tc & 1 == 0 && !own.law.as_ref().is_some_and(bound)
            {
                if pair.available <= now {
                    chosen = Some(place);
                    break;
                }
                wake = wake.min(pair.available);
            } else if pair.is_finished() {
                finished = finished.min(place);
            }
        }
        let chosen_pair = chosen.map(|place| own.flows[place]);
        if finished < count {
            self.forget(host, finished, &mut chosen);
        }
        if chosen.is_none() {
            self.hosts[host as usize].wake = wake;
        }
        self.hosts[host as usize].last = chosen?;
        Some(self.data(chosen_pair?, host, io))
    }

    /// Takes finished flows from a place on out of a host's list; `kept` is a place in it. Where
    /// turns go on does not move with them.
    fn forget(&mut self, host: u32, from: usize, kept: &mut Option<usize>) {
        let flows = std::mem::take(&mut self.hosts[host as usize].flows);
        let mut left = Vec::with_capacity(flows.len());
        for (place, index) in flows.into_iter().enumerate() {
            let pair = &mut self.pairs[index as usize];
            if place >= from && pair.is_finished() {
                pair.listed = false;
                self.release(index);
                continue;
            }
            if *kept == Some(place) {
                *kept = Some(left.len());
            }
            left.push(index);
        }
        self.hosts[host as usize].flows = left;
    }

    /// The next packet of a flow that has one.
    fn data(&mut self, index: u32, host: u32, io: &mut Io<'_>) -> Outgoing {
        let telemetry = match self.hosts[host as usize].law {
            Some(_) => self.telemetry_place(),
            None => NONE,
        };
        let pair = &mut self.pairs[index as usize];
        let (first, payload) = (pair.next, pair.left().min(self.payload));
        pair.next += payload;
        pair.under_way += 1;
        if pair.next == pair.size && pair.fresh < pair.size {
            io.done.push(Done::Sent(pair.flow));
        }
        let mut header = Header::new(PacketKind::Data, index, first as u32);
        header.bits = first;
        header.base = telemetry;
        Outgoing {
            header,
            dst: pair.dst,
            // At most a packet's payload: it fits.
            ip: DATA_HEADER + payload as u16,
            entropy: pair.entropy,
            tc: pair.tc,
            class: pair.tc,
            code_point: CodePoint::NoTrim,
            ect: self.ect,
            unscheduled: first < self.hosts[host as usize].scheduled_from,
        }
    }

    fn receive_data(&mut self, now: u64, host: u32, packet: &Incoming, io: &mut Io<'_>) {
        let index = packet.header.connection;
        let pair = &mut self.pairs[index as usize];
        let payload = u64::from(packet.ip.saturating_sub(DATA_HEADER));
        io.stats.write_pkts_rcvd += 1;
        io.stats.m_marked_pkts_rcvd += u64::from(packet.ce);
        let answer = pair.arrive(now, packet.header.bits, payload, &self.rules);
        let in_order = matches!(answer, Answer::Ack | Answer::Silent);
        io.stats.num_out_of_order_events_on_nic +=
            u64::from(matches!(answer, Answer::Nack | Answer::Told));
        io.stats.num_dup_events_on_nic += u64::from(answer == Answer::Duplicate);
        if pair.flow != NONE {
            let flow = &mut io.flows[pair.flow as usize];
            flow.received_packets += 1;
            flow.received_bytes += u64::from(packet.ip);
            flow.received_ce += u64::from(packet.ce);
            if in_order {
                flow.payload_bytes += payload;
                if pair.expected() >= pair.size {
                    io.done.push(Done::Received(pair.flow));
                }
            }
        }
        let kind = match answer {
            Answer::Ack => PacketKind::Ack,
            Answer::Nack => PacketKind::Nack,
            Answer::Silent | Answer::Told | Answer::Duplicate => {
                self.drop_telemetry(&packet.header);
                return;
            }
        };
        pair.under_way += 1;
        let mut header = Header::new(kind, index, packet.header.psn);
        header.bits = pair.expected();
        // The answer carries back what the data has gathered.
        header.base = packet.header.base;
        self.hosts[host as usize].answers.push_back(Outgoing {
            header,
            dst: pair.src,
            ip: ANSWER,
            entropy: pair.entropy,
            tc: self.answer_tc.unwrap_or(pair.tc),
            class: self.answer_class,
            code_point: CodePoint::Control,
            ect: false,
            unscheduled: false,
        });
        self.fill(now, host, io);
    }

    fn receive_answer(&mut self, now: u64, host: u32, header: &Header, io: &mut Io<'_>) {
        let negative = header.kind == PacketKind::Nack;
        let pair = &mut self.pairs[header.connection as usize];
        if pair.flow != NONE {
            pair.acknowledge(header.bits, negative);
            if let (Some(law), Some(hops)) =
                (&self.hosts[host as usize].law, self.telemetry.get(header.base as usize))
            {
                let control = &mut self.controls[header.connection as usize];
                control.acknowledged(law, header.bits, pair.next, hops);
            }
            if pair.is_finished() {
                io.stats.wqes_completed += 1;
                io.done.push(Done::Acknowledged(pair.flow));
                pair.flow = NONE;
            }
        }
        self.drop_telemetry(header);
        self.fill(now, host, io);
    }

    /// A place for a packet's telemetry.
    fn telemetry_place(&mut self) -> u32 {
        match self.unused.pop() {
            Some(place) => {
                self.telemetry[place as usize] = Hops::default();
                place
            }
            None => {
                self.telemetry.push(Hops::default());
                self.telemetry.len() as u32 - 1
            }
        }
    }

    /// Nobody will read a packet's telemetry any more.
    fn drop_telemetry(&mut self, header: &Header) {
        if header.base != NONE {
            self.unused.push(header.base);
        }
    }

    /// Whether switches are to write telemetry into data packets.
    pub fn wants_telemetry(&self) -> bool {
        self.hosts.iter().any(|host| host.law.is_some())
    }

    /// A switch port writes telemetry into a packet.
    pub fn stamp(&mut self, header: &Header, hop: Hop) {
        if header.kind == PacketKind::Data
            && let Some(hops) = self.telemetry.get_mut(header.base as usize)
        {
            hops.push(hop);
        }
    }

    /// The receiving host of the flow that an answer ends as it arrives.
    #[inline]
    pub fn ends_flow(&self, header: &Header) -> Option<u32> {
        let pair = &self.pairs[header.connection as usize];
        let answers = matches!(header.kind, PacketKind::Ack | PacketKind::Nack);
        (answers && header.bits >= pair.size && pair.flow != NONE).then_some(pair.dst)
    }

    /// Frees a queue pair that nothing names any more.
    fn release(&mut self, index: u32) {
        if self.pairs[index as usize].is_gone() {
            self.free.push(index);
        }
    }

    /// A packet of a queue pair has arrived or is lost.
    fn landed(&mut self, index: u32) {
        self.pairs[index as usize].under_way -= 1;
        self.release(index);
    }
}

impl Transport for Hpcc {
    fn post(&mut self, now: u64, message: &Message, io: &mut Io<'_>) {
        io.stats.wqes_created += 1;
        let pair = QueuePair::new(
            message.flow,
            (message.src, message.dst),
            message.tc,
            super::source_port(message.id),
            message.bytes,
        );
        let index = match self.free.pop() {
            Some(index) => {
                self.pairs[index as usize] = pair;
                index
            }
            None => {
                self.pairs.push(pair);
                self.pairs.len() as u32 - 1
            }
        };
        if let Some(law) = &self.hosts[message.src as usize].law {
            let control = Control::new(law.line);
            self.controls.resize(self.pairs.len(), control);
            self.controls[index as usize] = control;
        }
        self.hosts[message.src as usize].flows.push(index);
        self.fill(now, message.src, io);
    }

    fn receive(&mut self, now: u64, host: u32, packet: &Incoming, io: &mut Io<'_>) {
        io.stats.total_pkts_rcvd += 1;
        match packet.header.kind {
            PacketKind::Data if packet.whole == Whole::Whole => {
                self.receive_data(now, host, packet, io);
            }
            // As good as lost.
            PacketKind::Data => {
                io.stats.trimmed_pkts_rcvd += 1;
                self.drop_telemetry(&packet.header);
            }
            kind @ (PacketKind::Ack | PacketKind::Nack) => {
                io.stats.ack_pkts_rcvd += u64::from(kind == PacketKind::Ack);
                io.stats.nack_pkts_rcvd += u64::from(kind == PacketKind::Nack);
                self.receive_answer(now, host, &packet.header, io);
            }
            // Nobody sends these here.
            PacketKind::Probe | PacketKind::ProbeAck | PacketKind::Cnp => {}
        }
        self.landed(packet.header.connection);
    }

    fn lost(&mut self, header: &Header) {
        self.drop_telemetry(header);
        self.landed(header.connection);
    }

    fn deadline(&self, host: u32) -> u64 {
        self.hosts[host as usize].wake
    }

    fn timer(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        self.hosts[host as usize].wake = NEVER;
        self.fill(now, host, io);
    }

    fn sending(&mut self, now: u64, _end: u64, host: u32, packet: &Outgoing, io: &mut Io<'_>) {
        io.stats.total_pkts_sent += 1;
        match packet.header.kind {
            PacketKind::Ack => io.stats.ack_pkts_sent += 1,
            PacketKind::Nack => io.stats.nack_pkts_sent += 1,
            _ => {
                io.stats.write_pkts_sent += 1;
                let pair = &mut self.pairs[packet.header.connection as usize];
                let after = packet.header.bits + u64::from(packet.ip - DATA_HEADER);
                let again = packet.header.bits < pair.fresh;
                pair.fresh = pair.fresh.max(after);
                if let Some(law) = &self.hosts[host as usize].law {
                    let control = &self.controls[packet.header.connection as usize];
                    let bytes = (u64::from(packet.ip) + FRAME) as f64;
                    let gap = (bytes * 8e12 / control.rate) as u64;
                    pair.available = now + if self.whole_ns { gap / 1_000 * 1_000 } else { gap };
                    if !again {
                        io.stats.window.add(control.window(law));
                        io.stats.in_flight.add(pair.in_flight());
                    }
                }
                io.stats.num_rtx += u64::from(again);
                if pair.flow != NONE {
                    let flow = &mut io.flows[pair.flow as usize];
                    flow.sent_packets += 1;
                    flow.sent_bytes += u64::from(packet.ip);
                    flow.retransmitted += u64::from(again);
                }
            }
        }
        let own = &self.hosts[host as usize];
        if !own.answers.is_empty() || !own.flows.is_empty() {
            io.egress.want();
        }
    }

    fn room(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        self.fill(now, host, io);
    }

    fn resumed(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        self.fill(now, host, io);
    }
}
