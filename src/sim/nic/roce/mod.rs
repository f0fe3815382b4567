//! RoCE: reliable connected queue pairs, go-back-N, CNPs and a rate a queue pair.
//!
//! Owns the transports of all hosts of a job. A queue pair is a source, destination and class; it
//! exists from its first message on, its rate and its PSNs run on, and it sends one message at a
//! time: the next starts when every packet of the current one is acknowledged. There is no
//! window: what is outstanding is bounded by the pool of the port and by the allowed rate.
//!
//! Readings where the documentation leaves room: a packet is numbered when its payload has been
//! fetched, which is when it becomes ready in its queue; a full pool stops the queue pairs of its
//! class only; a retransmission timer that has expired starts again when a packet is numbered
//! again; a reply that finds the control pool full is sent when there is room again, for what is
//! expected by then.
//!
//! Refuses to know switches, events and what else a port sends.

mod host;
#[cfg(test)]
pub(in crate::sim::nic) mod pipe;
mod rate;
mod receiver;
mod receiving;
mod sender;
mod sending;
#[cfg(test)]
mod tests;
mod timers;

use super::{
    Header, Incoming, Io, Message, NEVER, NicRates, Outgoing, PacketKind, Transport, Whole,
    source_port,
};
use crate::scenario::roce::{Pacing, Roce as Settings, SourcePort};
use host::Host;
use rate::{Limiter, Parameters};
use receiver::{Receiver, ReceiverSettings, Reply};
pub use sender::DATA_HEADER;
use sender::{NONE, Sender};
use std::collections::BTreeMap;
use timers::Kind;

/// IP bytes of an ACK or a NAK.
pub const ACK_BYTES: u16 = 108;
/// IP bytes of a CNP.
pub const CNP_BYTES: u16 = 104;

/// Flag of a data packet: the last of its message.
const LAST: u8 = 1;

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
