//! RoCE: reliable connected queue pairs, go-back-N, CNPs and a rate a queue pair.
//!
//! Owns the transports of all hosts of a job. A queue pair is a source, destination and class; it
//! exists from its first message on, its rate and its PSNs run on, and it sends one message at a
//! time: the next starts when every packet of the current one is acknowledged. There is no
//! window: what is outstanding is bounded by the pool of the port and by the allowed rate.
//!
//! Readings where the documentation leaves room: a packet is numbered when its payload has been
//! fetched, which is when it becomes ready in its queue; a full pool stops the queue pairs of its
//! class only; expiry of the retransmission timer restarts it; a reply that finds the control
//! pool full is sent when there is room again, for what is expected by then.
//!
//! Refuses to know switches, events and what else a port sends.

mod fetch;
mod host;
#[cfg(test)]
pub(in crate::sim::nic) mod pipe;
mod rate;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;
mod timers;

use super::egress::Urgent;
use super::{
    CodePoint, Done, Header, Incoming, Io, Message, NEVER, Outgoing, PacketKind, Transport, Whole,
    source_port,
};
use crate::scenario::roce::{Pacing, Roce as Settings, SourcePort, StalePackets};
use crate::sim::packet::ETHERNET_BYTES;
use fetch::serialization;
use host::Host;
use rate::{Limiter, Parameters};
use receiver::{Receiver, ReceiverSettings, Reply, Verdict};
use sender::{DATA_HEADER, NONE, Sender};
use std::collections::BTreeMap;
use timers::Kind;

/// IP bytes of an ACK or a NAK.
pub const ACK_BYTES: u16 = 108;
/// IP bytes of a CNP.
pub const CNP_BYTES: u16 = 104;

/// Flag of a data packet: the last of its message.
const LAST: u8 = 1;

/// What the RoCE transport has to know of a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicRates {
    /// Line rate: the lower of its own and of its switch port's, bit/s, above 0.
    pub line: u64,
    /// Rate of its host link in one direction, `LaneBps` × `LaneCount`, bit/s, above 0.
    pub host_link: u64,
}

/// A queue pair, both halves.
#[derive(Debug, Clone, Copy)]
struct Pair {
    src: u32,
    dst: u32,
    tc: u8,
    entropy: u16,
    tx: Sender,
    rx: Receiver,
}

/// A message that waits for its queue pair.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    flow: u32,
    bytes: u64,
    id: u64,
    next: u32,
}

/// The RoCE transports of a job.
#[derive(Debug)]
pub struct Roce {
    settings: Settings,
    mss: u16,
    control: u8,
    receivers: ReceiverSettings,
    rates: Parameters,
    hosts: Vec<Host>,
    /// By source, destination and class; read when a message is posted only.
    places: BTreeMap<(u32, u32, u8), u32>,
    pairs: Vec<Pair>,
    /// Rates of the queue pairs, in the order of `pairs`.
    limiters: Vec<Limiter>,
    waiting: Vec<Waiting>,
    /// First free place in `waiting`; free places are chained.
    free: u32,
}

impl Roce {
    /// Idle NICs, in the order of host numbers, from settings that have passed their checks.
    pub fn new(settings: &Settings, nics: &[NicRates]) -> Roce {
        let coalesced = settings.ack_coalescing_enabled;
        Roce {
            settings: *settings,
            mss: u16::try_from(settings.mss.0).unwrap_or(u16::MAX - DATA_HEADER).max(1),
            control: (settings.rdma_control_packet_tc & 7) as u8,
            receivers: ReceiverSettings {
                threshold: if coalesced { settings.ack_threshold } else { 0 },
                ack_delay: settings.ack_delay.0,
                cnp_interval: settings.effective_cnp_interval().0,
            },
            rates: Parameters::new(settings),
            hosts: nics.iter().map(|nic| Host::new(nic.line, nic.host_link)).collect(),
            places: BTreeMap::new(),
            pairs: Vec::new(),
            limiters: Vec::new(),
            waiting: Vec::new(),
            free: NONE,
        }
    }

    /// The queue pair of a message, a new one if it is the first.
    fn pair_of(&mut self, message: &Message) -> u32 {
        let key = (message.src, message.dst, message.tc);
        *self.places.entry(key).or_insert_with(|| {
            let index = self.pairs.len() as u32;
            self.pairs.push(Pair {
                src: message.src,
                dst: message.dst,
                tc: message.tc,
                entropy: source_port(message.id),
                tx: Sender::new(),
                rx: Receiver::new(),
            });
            let line = self.hosts[message.src as usize].line;
            self.limiters.push(Limiter::new(&self.rates, line));
            index
        })
    }

    /// Puts a message at the tail of its queue pair's.
    fn enqueue(&mut self, index: u32, message: &Message) {
        let entry =
            Waiting { flow: message.flow, bytes: message.bytes, id: message.id, next: NONE };
        let place = if self.free == NONE {
            self.waiting.push(entry);
            self.waiting.len() as u32 - 1
        } else {
            let place = self.free;
            self.free = self.waiting[place as usize].next;
            self.waiting[place as usize] = entry;
            place
        };
        let queue = &mut self.pairs[index as usize].tx.queue;
        if queue.1 == NONE {
            queue.0 = place;
        } else {
            self.waiting[queue.1 as usize].next = place;
        }
        queue.1 = place;
    }

    /// An idle queue pair starts its next message, if it has one.
    fn start_message(&mut self, now: u64, index: u32) {
        let pair = &mut self.pairs[index as usize];
        let place = pair.tx.queue.0;
        if place == NONE {
            return;
        }
        let entry = self.waiting[place as usize];
        self.waiting[place as usize].next = self.free;
        self.free = place;
        pair.tx.queue.0 = entry.next;
        if entry.next == NONE {
            pair.tx.queue.1 = NONE;
        }
        pair.tx.start(entry.flow, entry.bytes, self.mss);
        if self.settings.source_port == SourcePort::Flow {
            pair.entropy = source_port(entry.id);
        }
        self.wake(now, index);
    }

    /// A queue pair may have something to send again.
    fn wake(&mut self, now: u64, index: u32) {
        let pair = &mut self.pairs[index as usize];
        let host = &mut self.hosts[pair.src as usize];
        if !pair.tx.ready {
            pair.tx.ready = true;
            host.turns.enter(pair.tc, index);
        }
        host.kick(now.saturating_add(self.settings.start_delay.0));
    }

    /// The allowed rate at which a queue pair is slowed, 0 if it is not.
    #[inline]
    fn allowed(&mut self, now: u64, index: u32) -> u64 {
        let limiter = &mut self.limiters[index as usize];
        limiter.advance(&self.rates, now);
        limiter.rate()
    }

    /// The same, 0 too if slowed packets are not spaced.
    #[inline]
    fn spaced(&mut self, now: u64, index: u32) -> u64 {
        match self.settings.pacing {
            Pacing::Spaced => self.allowed(now, index),
            Pacing::Occupies => 0,
        }
    }

    /// Generates packets until nobody has more or the pools are full.
    fn generate(&mut self, now: u64, number: u32, io: &mut Io<'_>) {
        let mut open = u8::MAX;
        while let Some((class, index)) = self.hosts[number as usize].turns.next(open) {
            let spaced = self.spaced(now, index);
            let host = &mut self.hosts[number as usize];
            let pair = &mut self.pairs[index as usize];
            // Slowed and spaced: a packet that could not start for longer than the pool takes to
            // drain is generated as one before it starts. So those that wait for their time take
            // no more of the pool than the rate they are due.
            let mut due = 0;
            if spaced != 0 {
                let (at, bytes) = pair.tx.last;
                let gap = serialization(u64::from(bytes) + ETHERNET_BYTES, spaced);
                due = at.saturating_add(gap);
            }
            let horizon = || now.saturating_add(serialization(io.egress.pool(class), host.line));
            let soon = due == 0 || pair.tx.waiting == 0 || due <= horizon();
            let Some(segment) = pair.tx.segment().filter(|_| soon) else {
                pair.tx.ready = false;
                host.turns.turn(class, false);
                continue;
            };
            let ip = segment.payload + DATA_HEADER;
            if !io.egress.reserve(class, ip) {
                open &= !(1 << class);
                continue;
            }
            let ready = host.fetch.read(now, segment.payload).max(due);
            pair.tx.last = (ready, ip);
            let mut header = Header::new(PacketKind::Data, index, segment.psn as u32);
            header.bits = ready;
            header.flags = if segment.last { LAST } else { 0 };
            let packet = Outgoing {
                header,
                dst: pair.dst,
                ip,
                entropy: pair.entropy,
                tc: class,
                class,
                code_point: CodePoint::NoTrim,
                ect: self.settings.enable_ecn,
                rate: 0,
            };
            io.egress.queue(ready, packet);
            if pair.tx.generated(ready, self.settings.retransmit_timeout.0) {
                io.done.push(Done::Sent(pair.tx.flow));
            }
            if !pair.tx.armed {
                pair.tx.armed = true;
                host.timers.push(pair.tx.deadline, Kind::Retransmit, index);
            }
            let more = pair.tx.segment().is_some();
            pair.tx.ready = more;
            host.turns.turn(class, more);
        }
    }

    /// Takes a queue pair's packets out of its port's queue.
    fn take_back(&mut self, index: u32, io: &mut Io<'_>, mut which: impl FnMut(&Header) -> bool) {
        let pair = &mut self.pairs[index as usize];
        let mut taken = 0;
        io.egress.remove(pair.tc, |packet| {
            let header = &packet.header;
            let own = header.kind == PacketKind::Data && header.connection == index;
            let gone = own && which(header);
            taken += u32::from(gone);
            gone
        });
        pair.tx.waiting -= taken;
    }

    /// A queue pair goes back to its oldest unacknowledged packet.
    fn go_back(&mut self, now: u64, index: u32, io: &mut Io<'_>) {
        let all = self.settings.stale_packets == StalePackets::Flushed;
        // Packets that are not ready yet have no number yet: their payload is discarded anyway.
        self.take_back(index, io, |header| all || header.bits > now);
        self.pairs[index as usize].tx.rewind();
        self.wake(now, index);
    }

    /// A queue pair is slowed from now on: what it has queued at line rate is generated again.
    fn respace(&mut self, now: u64, index: u32, io: &mut Io<'_>) {
        let base = self.pairs[index as usize].tx.base;
        // First of the packets that lead up to the next one without a gap; stale ones do not.
        let (mut first, mut after) = (0, 0);
        self.take_back(index, io, |header| {
            let psn = header.psn_near(base);
            if psn != after {
                first = psn;
            }
            after = psn + 1;
            true
        });
        let tx = &mut self.pairs[index as usize].tx;
        tx.last.0 = now;
        if after == tx.next {
            tx.next = first.max(tx.base);
        }
        self.wake(now, index);
    }

    /// Queues a reply, or remembers that it is owed.
    fn reply(&mut self, now: u64, index: u32, reply: Reply, io: &mut Io<'_>) {
        if reply == Reply::Nothing {
            return;
        }
        let pair = &mut self.pairs[index as usize];
        let owing = pair.rx.owed != Reply::Nothing;
        if owing || !io.egress.reserve(self.control, ACK_BYTES) {
            pair.rx.owed = reply;
            if !owing {
                self.hosts[pair.dst as usize].owed.push_back(index);
            }
            return;
        }
        self.queue_reply(now, index, reply, io);
    }

    /// Queues a reply whose room is reserved.
    fn queue_reply(&mut self, now: u64, index: u32, reply: Reply, io: &mut Io<'_>) {
        let kind = if reply == Reply::Nak { PacketKind::Nack } else { PacketKind::Ack };
        let packet = self.control_packet(index, kind, ACK_BYTES);
        io.egress.queue(now, packet);
    }

    fn control_packet(&self, index: u32, kind: PacketKind, ip: u16) -> Outgoing {
        let pair = &self.pairs[index as usize];
        let expected = pair.rx.expected as u32;
        let mut header = Header::new(kind, index, expected);
        header.cumulative = expected;
        Outgoing {
            header,
            dst: pair.src,
            ip,
            entropy: pair.rx.entropy,
            tc: self.control,
            class: self.control,
            code_point: CodePoint::Control,
            ect: false,
            rate: 0,
        }
    }

    fn send_cnp(&mut self, index: u32, io: &mut Io<'_>) {
        let packet = self.control_packet(index, PacketKind::Cnp, CNP_BYTES);
        io.egress.queue_urgent(Urgent::Packet(packet));
    }

    fn receive_data(&mut self, now: u64, packet: &Incoming, io: &mut Io<'_>) {
        let index = packet.header.connection;
        let pair = &mut self.pairs[index as usize];
        let host = &mut self.hosts[pair.dst as usize];
        let psn = packet.header.psn_near(pair.rx.expected);
        let last = packet.header.flags & LAST != 0;
        io.stats.write_pkts_rcvd += 1;
        // Duplicates of a message that is complete at both ends belong to no flow any more.
        if pair.tx.owns(psn) {
            let flow = &mut io.flows[pair.tx.flow as usize];
            flow.received_packets += 1;
            flow.received_bytes += u64::from(packet.ip);
            flow.received_ce += u64::from(packet.ce);
        }
        pair.rx.entropy = packet.entropy;
        let mut notify = false;
        if packet.ce {
            io.stats.m_marked_pkts_rcvd += 1;
            match pair.rx.marked(&self.receivers, now) {
                Ok(()) => notify = true,
                Err(Some(at)) => host.timers.push(at, Kind::Cnp, index),
                Err(None) => {}
            }
        }
        let (verdict, reply) = pair.rx.data(&self.receivers, now, psn, last);
        match verdict {
            Verdict::Accepted => {
                // What was missing has come: no NAK is owed any more.
                if pair.rx.owed == Reply::Nak {
                    pair.rx.owed = Reply::Ack;
                }
                if last {
                    io.done.push(Done::Received(pair.tx.flow));
                }
            }
            Verdict::Duplicate => io.stats.num_dup_events_on_nic += 1,
            Verdict::Gap => io.stats.num_out_of_order_events_on_nic += 1,
        }
        if pair.rx.ack_at < NEVER && !pair.rx.ack_armed {
            pair.rx.ack_armed = true;
            host.timers.push(pair.rx.ack_at, Kind::Ack, index);
        }
        if notify {
            self.send_cnp(index, io);
        }
        self.reply(now, index, reply, io);
    }

    /// An ACK or a NAK has arrived.
    fn receive_reply(&mut self, now: u64, header: &Header, io: &mut Io<'_>) {
        let index = header.connection;
        let nak = header.kind == PacketKind::Nack;
        let timeout = self.settings.retransmit_timeout.0;
        let tx = &mut self.pairs[index as usize].tx;
        if !tx.active() {
            return;
        }
        let cumulative = header.cumulative_near(tx.base);
        let retired = tx.retire(cumulative, (!nak).then(|| now.saturating_add(timeout)));
        if retired && !tx.active() {
            io.stats.wqes_completed += 1;
            io.done.push(Done::Acknowledged(tx.flow));
            self.start_message(now, index);
        } else if nak && cumulative == tx.base {
            self.go_back(now, index, io);
        }
    }

    /// A retransmission timeout may have expired.
    fn retransmit_due(&mut self, now: u64, index: u32, io: &mut Io<'_>) {
        let timeout = self.settings.retransmit_timeout.0;
        let pair = &mut self.pairs[index as usize];
        if pair.tx.deadline == NEVER {
            pair.tx.armed = false;
            return;
        }
        let expired = pair.tx.deadline <= now;
        if expired {
            pair.tx.deadline = now.saturating_add(timeout.max(1));
            io.stats.num_rto += 1;
            io.flows[pair.tx.flow as usize].timeouts += 1;
        }
        let (deadline, src) = (pair.tx.deadline, pair.src);
        self.hosts[src as usize].timers.push(deadline, Kind::Retransmit, index);
        if expired {
            self.go_back(now, index, io);
        }
    }

    /// An acknowledgement may have been held long enough.
    fn ack_due(&mut self, now: u64, index: u32, io: &mut Io<'_>) {
        let pair = &mut self.pairs[index as usize];
        let at = pair.rx.ack_at;
        pair.rx.ack_armed = at != NEVER && at > now;
        if pair.rx.ack_armed {
            self.hosts[pair.dst as usize].timers.push(at, Kind::Ack, index);
        } else if at <= now {
            let reply = pair.rx.ack_due();
            self.reply(now, index, reply, io);
        }
    }

    /// A data packet of `host` starts.
    fn data_starts(&mut self, now: u64, host: u32, packet: &Outgoing, io: &mut Io<'_>) {
        let index = packet.header.connection;
        let rate = self.allowed(now, index);
        self.limiters[index as usize].sent(&self.rates, packet.ip);
        let tx = &mut self.pairs[index as usize].tx;
        let psn = packet.header.psn_near(tx.base);
        let first = tx.starts(psn);
        io.stats.write_pkts_sent += 1;
        io.stats.num_rtx += u64::from(!first);
        if tx.owns(psn) {
            let flow = &mut io.flows[tx.flow as usize];
            flow.sent_packets += 1;
            flow.sent_bytes += u64::from(packet.ip);
            flow.retransmitted += u64::from(!first);
        }
        if first {
            let line = self.hosts[host as usize].line;
            io.stats.window.add(if rate == 0 { line } else { rate });
            io.stats.in_flight.add(tx.in_flight(psn));
        }
        // Spaced: the one that has just started makes way for the next one.
        if !tx.ready && tx.segment().is_some() {
            tx.ready = true;
            let class = packet.class;
            self.hosts[host as usize].turns.enter(class, index);
            self.generate(now, host, io);
        }
    }
}

impl Transport for Roce {
    fn post(&mut self, now: u64, message: &Message, io: &mut Io<'_>) {
        io.stats.wqes_created += 1;
        let index = self.pair_of(message);
        self.enqueue(index, message);
        if !self.pairs[index as usize].tx.active() {
            self.start_message(now, index);
        }
    }

    fn receive(&mut self, now: u64, _host: u32, packet: &Incoming, io: &mut Io<'_>) {
        io.stats.total_pkts_rcvd += 1;
        match packet.header.kind {
            PacketKind::Data if packet.whole == Whole::Whole => self.receive_data(now, packet, io),
            PacketKind::Ack => {
                io.stats.ack_pkts_rcvd += 1;
                self.receive_reply(now, &packet.header, io);
            }
            PacketKind::Nack => {
                io.stats.nack_pkts_rcvd += 1;
                self.receive_reply(now, &packet.header, io);
            }
            PacketKind::Cnp => {
                io.stats.num_cnp_recvd += 1;
                let index = packet.header.connection;
                let before = self.spaced(now, index);
                self.limiters[index as usize].cnp(&self.rates, now);
                if before == 0 && self.spaced(now, index) != 0 {
                    self.respace(now, index, io);
                }
            }
            // Cut data is as good as lost, and nobody sends the others here.
            PacketKind::Data | PacketKind::Probe | PacketKind::ProbeAck => {}
        }
    }

    /// Queue pairs stay, so that no header outlives its own: nothing to count.
    fn lost(&mut self, _header: &Header) {}

    fn deadline(&self, host: u32) -> u64 {
        let host = &self.hosts[host as usize];
        host.at.min(host.timers.earliest())
    }

    fn timer(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        while let Some((kind, index)) = self.hosts[host as usize].timers.pop(now) {
            match kind {
                Kind::Ack => self.ack_due(now, index, io),
                Kind::Cnp => {
                    self.pairs[index as usize].rx.cnp_due(&self.receivers, now);
                    self.send_cnp(index, io);
                }
                Kind::Retransmit => self.retransmit_due(now, index, io),
            }
        }
        if self.hosts[host as usize].at <= now {
            self.hosts[host as usize].at = NEVER;
            self.generate(now, host, io);
        }
    }

    fn rate(&mut self, now: u64, packet: &Outgoing) -> u64 {
        match (packet.header.kind, self.settings.pacing) {
            (PacketKind::Data, Pacing::Occupies) => self.allowed(now, packet.header.connection),
            _ => 0,
        }
    }

    fn sending(&mut self, now: u64, _end: u64, host: u32, packet: &Outgoing, io: &mut Io<'_>) {
        io.stats.total_pkts_sent += 1;
        match packet.header.kind {
            PacketKind::Data => self.data_starts(now, host, packet, io),
            PacketKind::Ack => io.stats.ack_pkts_sent += 1,
            PacketKind::Nack => io.stats.nack_pkts_sent += 1,
            PacketKind::Cnp => io.stats.num_cnp_sent += 1,
            PacketKind::Probe | PacketKind::ProbeAck => {}
        }
    }

    fn room(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        io.egress.refill_half_empty();
        while let Some(&index) = self.hosts[host as usize].owed.front() {
            if !io.egress.reserve(self.control, ACK_BYTES) {
                break;
            }
            self.hosts[host as usize].owed.pop_front();
            let reply = std::mem::replace(&mut self.pairs[index as usize].rx.owed, Reply::Nothing);
            self.queue_reply(now, index, reply, io);
        }
        let host = &mut self.hosts[host as usize];
        if !host.turns.is_empty() {
            host.kick(now.saturating_add(self.settings.start_delay.0));
        }
    }
}
