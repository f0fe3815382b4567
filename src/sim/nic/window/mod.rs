//! A fixed window and line rate, nothing else: the yardstick between open loop and congestion
//! control.
//!
//! Owns the transports of all hosts of a job. A connection is a source, destination and class; it
//! exists from its first message on, sends its messages one after another, and has at most a
//! window of IP bytes in flight. Packets are accepted in any order and acknowledged one by one;
//! one that is not within a constant time from the end of its serialization is sent again, before
//! anything new. A packet is generated as soon as window and pool have room: there is no fetch,
//! no start delay, no reaction to marks. Refuses to know switches and events.

mod connection;
#[cfg(test)]
mod tests;

use super::turns::Turns;
use super::{
    CodePoint, Done, Header, Incoming, Io, Message, NEVER, Outgoing, PacketKind, Transport, Whole,
};
use crate::scenario::window::FixedWindow as Settings;
use connection::{Connection, NONE, State};
use std::collections::{BTreeMap, VecDeque};

/// One NIC.
#[derive(Debug, Default)]
struct Host {
    turns: Turns,
    /// Timeouts of transmissions that have ended: when, whose, which. In order, the time being
    /// constant; the first one stands whenever [`FixedWindow::timer`] has returned.
    timeouts: VecDeque<(u64, u32, u64)>,
    /// Connections whose acknowledgement waits for room in the control pool.
    owed: VecDeque<u32>,
}

/// A message that is not acknowledged whole.
#[derive(Debug, Clone, Copy)]
struct Posted {
    flow: u32,
    entropy: u16,
    /// Payload not generated yet.
    left: u64,
    /// Packets not at the receiver yet.
    absent: u64,
    /// Packets not acknowledged yet.
    unacknowledged: u64,
    /// Next message of the connection, or next free place.
    next: u32,
}

/// The fixed-window transports of a job.
#[derive(Debug)]
pub struct FixedWindow {
    window: u64,
    mss: u64,
    header: u16,
    ack: u16,
    timeout: u64,
    control: u8,
    ect: bool,
    hosts: Vec<Host>,
    /// By source, destination and class; read when a message is posted only.
    places: BTreeMap<(u32, u32, u8), u32>,
    connections: Vec<Connection>,
    messages: Vec<Posted>,
    /// First free place in `messages`; free places are chained.
    free: u32,
}

impl FixedWindow {
    /// Idle NICs of `hosts` hosts, from settings that have passed their checks.
    pub fn new(settings: &Settings, hosts: u32) -> FixedWindow {
        let header = u16::try_from(settings.header.0).unwrap_or(u16::MAX - 1);
        FixedWindow {
            window: settings.window.0,
            mss: settings.mss.0.clamp(1, u64::from(u16::MAX - header)),
            header,
            ack: u16::try_from(settings.ack.0).unwrap_or(u16::MAX),
            timeout: settings.retransmit_timeout.0.max(1),
            control: (settings.control_class & 7) as u8,
            ect: settings.ect,
            hosts: (0..hosts).map(|_| Host::default()).collect(),
            places: BTreeMap::new(),
            connections: Vec::new(),
            messages: Vec::new(),
            free: NONE,
        }
    }

    fn place(&mut self, posted: Posted) -> u32 {
        if self.free == NONE {
            self.messages.push(posted);
            return self.messages.len() as u32 - 1;
        }
        let place = self.free;
        self.free = self.messages[place as usize].next;
        self.messages[place as usize] = posted;
        place
    }

    /// A connection may have something to send again.
    #[inline]
    fn wake(&mut self, index: u32) {
        let connection = &mut self.connections[index as usize];
        if !connection.ready {
            connection.ready = true;
            self.hosts[connection.src as usize].turns.enter(connection.tc, index);
        }
    }

    /// Generates packets until nobody has more, windows are full or pools are.
    fn generate(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        let mut open = u8::MAX;
        while let Some((class, index)) = self.hosts[host as usize].turns.next(open) {
            let connection = &mut self.connections[index as usize];
            let overdue = connection.oldest_overdue();
            let ip = match overdue {
                Some((_, slot)) => Some(slot.ip),
                None => self.messages.get(connection.queue.0 as usize).map(|message| {
                    // An MSS at most: it fits.
                    self.header + message.left.min(self.mss) as u16
                }),
            };
            let room = |ip: &u16| {
                let flight = connection.in_flight;
                flight == 0 || flight + u64::from(*ip) <= self.window
            };
            let Some(ip) = ip.filter(room) else {
                connection.ready = false;
                self.hosts[host as usize].turns.turn(class, false);
                continue;
            };
            if !io.egress.reserve(class, ip) {
                open &= !(1 << class);
                continue;
            }
            let (psn, place) = match overdue {
                Some((psn, slot)) => {
                    connection.resent();
                    (psn, slot.message)
                }
                None => self.segment(index, ip, io),
            };
            let connection = &self.connections[index as usize];
            let mut header = Header::new(PacketKind::Data, index, psn as u32);
            header.bits = u64::from(place);
            let packet = Outgoing {
                header,
                dst: connection.dst,
                ip,
                entropy: self.messages[place as usize].entropy,
                tc: class,
                class,
                code_point: CodePoint::NoTrim,
                ect: self.ect,
                unscheduled: false,
            };
            io.egress.queue(now, packet);
            self.hosts[host as usize].turns.turn(class, true);
        }
    }

    /// Numbers the next packet of a connection's message: its PSN and its message.
    fn segment(&mut self, index: u32, ip: u16, io: &mut Io<'_>) -> (u64, u32) {
        let connection = &mut self.connections[index as usize];
        let place = connection.queue.0;
        let psn = connection.generated(place, ip);
        let message = &mut self.messages[place as usize];
        message.left -= u64::from(ip - self.header);
        if message.left == 0 {
            io.done.push(Done::Sent(message.flow));
            connection.queue.0 = message.next;
            if message.next == NONE {
                connection.queue.1 = NONE;
            }
        }
        (psn, place)
    }

    /// IP bytes of a data packet that are not payload.
    pub fn header(&self) -> u64 {
        u64::from(self.header)
    }

    fn receive_data(&mut self, now: u64, host: u32, packet: &Incoming, io: &mut Io<'_>) {
        let index = packet.header.connection;
        let connection = &mut self.connections[index as usize];
        let psn = packet.header.psn_near(connection.expected());
        io.stats.write_pkts_rcvd += 1;
        io.stats.m_marked_pkts_rcvd += u64::from(packet.ce);
        // Duplicates of an acknowledged packet may belong to no flow any more.
        let slot = connection.slot(psn).filter(|slot| slot.state != State::Retired);
        if let Some(slot) = slot.copied() {
            let flow = &mut io.flows[self.messages[slot.message as usize].flow as usize];
            flow.received_packets += 1;
            flow.received_bytes += u64::from(packet.ip);
            flow.received_ce += u64::from(packet.ce);
        }
        let early = psn > connection.expected();
        if connection.arrive(psn) {
            io.stats.num_out_of_order_events_on_nic += u64::from(early);
            let message = &mut self.messages[packet.header.bits as usize];
            message.absent -= 1;
            let payload = u64::from(packet.ip.saturating_sub(self.header));
            io.flows[message.flow as usize].payload_bytes += payload;
            if message.absent == 0 {
                io.done.push(Done::Received(message.flow));
            }
        } else {
            io.stats.num_dup_events_on_nic += 1;
        }
        connection.entropy = packet.entropy;
        if connection.owed {
            return;
        }
        if io.egress.reserve(self.control, self.ack) {
            self.queue_ack(now, index, psn, io);
        } else {
            connection.owed = true;
            self.hosts[host as usize].owed.push_back(index);
        }
    }

    /// Queues an acknowledgement whose room is reserved.
    fn queue_ack(&mut self, now: u64, index: u32, psn: u64, io: &mut Io<'_>) {
        let connection = &self.connections[index as usize];
        let mut header = Header::new(PacketKind::Ack, index, psn as u32);
        header.cumulative = connection.expected() as u32;
        let packet = Outgoing {
            header,
            dst: connection.src,
            ip: self.ack,
            entropy: connection.entropy,
            tc: self.control,
            class: self.control,
            code_point: CodePoint::Control,
            ect: false,
            unscheduled: false,
        };
        io.egress.queue(now, packet);
    }

    /// Retires what an acknowledgement covers.
    fn receive_ack(&mut self, header: &Header, io: &mut Io<'_>) {
        let index = header.connection;
        let connection = &mut self.connections[index as usize];
        let base = connection.base();
        let (cumulative, psn) = (header.cumulative_near(base), header.psn_near(base));
        for psn in (base..cumulative).chain([psn]) {
            let Some(place) = connection.retire(psn) else { continue };
            let message = &mut self.messages[place as usize];
            message.unacknowledged -= 1;
            if message.unacknowledged == 0 {
                io.stats.wqes_completed += 1;
                io.done.push(Done::Acknowledged(message.flow));
                message.next = self.free;
                self.free = place;
            }
        }
        self.wake(index);
    }
}

impl Transport for FixedWindow {
    fn post(&mut self, now: u64, message: &Message, io: &mut Io<'_>) {
        io.stats.wqes_created += 1;
        let packets = message.bytes.div_ceil(self.mss).max(1);
        let place = self.place(Posted {
            flow: message.flow,
            entropy: super::source_port(message.id),
            left: message.bytes,
            absent: packets,
            unacknowledged: packets,
            next: NONE,
        });
        let index =
            *self.places.entry((message.src, message.dst, message.tc)).or_insert_with(|| {
                self.connections.push(Connection::new(message.src, message.dst, message.tc));
                self.connections.len() as u32 - 1
            });
        let queue = &mut self.connections[index as usize].queue;
        if queue.1 == NONE {
            queue.0 = place;
        } else {
            self.messages[queue.1 as usize].next = place;
        }
        queue.1 = place;
        self.wake(index);
        self.generate(now, message.src, io);
    }

    fn receive(&mut self, now: u64, host: u32, packet: &Incoming, io: &mut Io<'_>) {
        io.stats.total_pkts_rcvd += 1;
        match packet.header.kind {
            PacketKind::Data if packet.whole == Whole::Whole => {
                self.receive_data(now, host, packet, io);
            }
            // As good as lost.
            PacketKind::Data => io.stats.trimmed_pkts_rcvd += 1,
            PacketKind::Ack => {
                io.stats.ack_pkts_rcvd += 1;
                self.receive_ack(&packet.header, io);
                self.generate(now, host, io);
            }
            // Nobody sends these here.
            PacketKind::Nack | PacketKind::Probe | PacketKind::ProbeAck | PacketKind::Cnp => {}
        }
    }

    /// Connections stay, so that no header outlives its own: nothing to count.
    fn lost(&mut self, _header: &Header) {}

    fn deadline(&self, host: u32) -> u64 {
        self.hosts[host as usize].timeouts.front().map_or(NEVER, |(at, ..)| *at)
    }

    fn timer(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        while let Some(&(at, index, psn)) = self.hosts[host as usize].timeouts.front() {
            let connection = &mut self.connections[index as usize];
            if at > now && connection.stands(psn, at) {
                break;
            }
            self.hosts[host as usize].timeouts.pop_front();
            if let Some(slot) = connection.expire(psn, at) {
                io.stats.num_rto += 1;
                io.flows[self.messages[slot.message as usize].flow as usize].timeouts += 1;
                self.wake(index);
            }
        }
        self.generate(now, host, io);
    }

    fn sending(&mut self, _now: u64, end: u64, host: u32, packet: &Outgoing, io: &mut Io<'_>) {
        io.stats.total_pkts_sent += 1;
        if packet.header.kind != PacketKind::Data {
            io.stats.ack_pkts_sent += 1;
            return;
        }
        io.stats.write_pkts_sent += 1;
        let index = packet.header.connection;
        let connection = &mut self.connections[index as usize];
        let psn = packet.header.psn_near(connection.base());
        let in_flight = connection.in_flight;
        let at = end.saturating_add(self.timeout);
        // One acknowledged while it waited to be sent again may belong to no flow any more.
        let slot = connection.slot(psn).filter(|slot| slot.state != State::Retired);
        let Some(slot) = slot else {
            io.stats.num_rtx += 1;
            return;
        };
        slot.deadline = at;
        let first = !std::mem::replace(&mut slot.sent, true);
        let flow = &mut io.flows[self.messages[slot.message as usize].flow as usize];
        flow.sent_packets += 1;
        flow.sent_bytes += u64::from(packet.ip);
        self.hosts[host as usize].timeouts.push_back((at, index, psn));
        if first {
            io.stats.window.add(self.window);
            io.stats.in_flight.add(in_flight);
        } else {
            flow.retransmitted += 1;
            io.stats.num_rtx += 1;
        }
    }

    fn room(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        io.egress.refill_half_empty();
        while let Some(&index) = self.hosts[host as usize].owed.front() {
            if !io.egress.reserve(self.control, self.ack) {
                break;
            }
            self.hosts[host as usize].owed.pop_front();
            let connection = &mut self.connections[index as usize];
            connection.owed = false;
            // Everything below what is missing first; that one is not acknowledged.
            let below = connection.expected().saturating_sub(1);
            if connection.expected() == 0 {
                io.egress.unreserve(self.control, self.ack);
                continue;
            }
            self.queue_ack(now, index, below, io);
        }
        self.generate(now, host, io);
    }
}
