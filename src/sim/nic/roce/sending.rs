//! What the sending half of a NIC does: it generates packets and goes back.
//!
//! Owns pacing and what happens to queued packets. Refuses to know what draws an acknowledgement.

use super::sender::DATA_HEADER;
use super::timers::Kind;
use super::{LAST, Roce};
use crate::scenario::roce::{Pacing, StalePackets};
use crate::sim::link::spacing;
use crate::sim::nic::{CodePoint, Done, Header, Io, NEVER, Outgoing, PacketKind};
use crate::sim::packet::ETHERNET_BYTES;

impl Roce {
    /// The allowed rate at which a queue pair is slowed, 0 if it is not.
    #[inline]
    pub(super) fn allowed(&mut self, now: u64, index: u32) -> u64 {
        self.limiters[index as usize].allowed(&self.rates, now)
    }

    /// The same, 0 too if slowed packets are not spaced.
    #[inline]
    pub(super) fn spaced(&mut self, now: u64, index: u32) -> u64 {
        match self.settings.pacing {
            Pacing::Spaced => self.allowed(now, index),
            Pacing::Occupies => 0,
        }
    }

    /// Generates packets until nobody has more or the pools are full.
    pub(super) fn generate(&mut self, now: u64, number: u32, io: &mut Io<'_>) {
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
                let gap = spacing(u64::from(bytes) + ETHERNET_BYTES, spaced);
                due = at.saturating_add(gap);
            }
            let pool = io.egress.pool(class);
            let pace = host.pace;
            let horizon = || now.saturating_add(pace.time(pool));
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
            let ready = host.fetcher.fetch(now, u64::from(segment.payload)).max(due);
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
                unscheduled: false,
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
    pub(super) fn take_back(
        &mut self,
        index: u32,
        io: &mut Io<'_>,
        mut which: impl FnMut(&Header) -> bool,
    ) {
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
    pub(super) fn go_back(&mut self, now: u64, index: u32, io: &mut Io<'_>) {
        let all = self.settings.stale_packets == StalePackets::Flushed;
        // Packets that are not ready yet have no number yet: their payload is discarded anyway.
        self.take_back(index, io, |header| all || header.bits > now);
        self.pairs[index as usize].tx.rewind();
        self.wake(now, index);
    }

    /// A queue pair is slowed from now on: what it has queued at line rate is generated again.
    pub(super) fn respace(&mut self, now: u64, index: u32, io: &mut Io<'_>) {
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

    /// An ACK or a NAK has arrived.
    pub(super) fn receive_reply(&mut self, now: u64, header: &Header, io: &mut Io<'_>) {
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
    pub(super) fn retransmit_due(&mut self, now: u64, index: u32, io: &mut Io<'_>) {
        let pair = &mut self.pairs[index as usize];
        if pair.tx.deadline == NEVER {
            pair.tx.armed = false;
            return;
        }
        if pair.tx.deadline > now {
            let (deadline, src) = (pair.tx.deadline, pair.src);
            self.hosts[src as usize].timers.push(deadline, Kind::Retransmit, index);
            return;
        }
        // The window is empty until its first packet has its number again: a timer that ran
        // meanwhile could expire before a slow host link has brought the payload, and for ever.
        pair.tx.deadline = NEVER;
        pair.tx.armed = false;
        io.stats.num_rto += 1;
        io.flows[pair.tx.flow as usize].timeouts += 1;
        self.go_back(now, index, io);
    }

    /// A data packet of `host` starts.
    pub(super) fn data_starts(&mut self, now: u64, host: u32, packet: &Outgoing, io: &mut Io<'_>) {
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
