//! The sending half: posting, turns and gates, what comes back, timeouts.

use super::super::{
    CodePoint, Done, Header, Incoming, Io, Message, NEVER, Outgoing, PacketKind, source_port,
};
use super::connection::{Receiver, Sender, State};
use super::nscc::Acked;
use super::spray::Feedback;
use super::wire::{
    ACK_REQUEST, DATA, DATA_HEADERS, ECN_ECHO, LAST_HOP, RESTORE, RETRANSMIT, SERVICE_STEP, control,
};
use super::{Uet, count};
use crate::scenario::uet::NewlyAcknowledged;
use std::cmp::Reverse;

impl Uet {
    /// Opens the connection of a message, in both halves.
    pub(super) fn open(&mut self, now: u64, message: &Message) {
        let port = source_port(message.id);
        let group = self.join(now, message.src, message.dst, port);
        let packets = message.bytes.div_ceil(self.mss).max(1);
        debug_assert!(packets < u64::from(u32::MAX), "checked before");
        let last = message.bytes - (packets - 1) * self.mss;
        let sender = Sender {
            host: message.src,
            peer: message.dst,
            flow: message.flow,
            group,
            generation: self.groups[group as usize].generation,
            tc: message.tc,
            listed: true,
            packets: packets as u32,
            full: self.mss as u16 + DATA_HEADERS,
            last: last as u16 + DATA_HEADERS,
            ..Sender::default()
        };
        let receiver = Receiver {
            host: message.dst,
            peer: message.src,
            flow: message.flow,
            port,
            packets: packets as u32,
            ..Receiver::default()
        };
        let connection = match self.free_connections.pop() {
            Some(connection) => connection,
            None => {
                self.senders.push(Sender::default());
                self.receivers.push(Receiver::default());
                self.senders.len() as u32 - 1
            }
        };
        self.senders[connection as usize].renew(sender);
        self.receivers[connection as usize].renew(receiver);
        let own = &mut self.groups[group as usize];
        own.active.push_back(connection);
        let host = &mut self.hosts[message.src as usize];
        if !own.ready {
            own.ready = true;
            host.ready.push_back((group, own.generation));
        }
        host.start = host.start.min(now + self.pds.transmit_start.0);
    }

    /// The transmit process: groups take turns until none is ready or the port's pool is full.
    pub(super) fn transmit(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        let own = &mut self.hosts[host as usize];
        while let Some(&(number, generation)) = own.ready.front() {
            let group = &mut self.groups[number as usize];
            if group.generation != generation {
                own.ready.pop_front();
                continue;
            }
            let Some(&connection) = group.active.front() else {
                group.ready = false;
                own.ready.pop_front();
                continue;
            };
            let sender = &mut self.senders[connection as usize];
            let Some((psn, again)) = sender.turn() else {
                sender.listed = false;
                group.active.pop_front();
                continue;
            };
            let ip = sender.ip(psn);
            let bytes = u64::from(ip);
            let window = group.nscc.window();
            let room = (group.in_flight + bytes) as f64 <= window;
            let fetches = again || group.fetched as f64 <= window;
            if !(room && fetches || self.cc.pass_through) {
                // A new segment held by what is fetched must not hold another connection's
                // retransmission: nothing else would ever bring the group back.
                let senders = &mut self.senders;
                let mut waits =
                    |&other: &u32| senders[other as usize].turn().is_some_and(|(_, again)| again);
                if room
                    && let Some(place) = group.active.iter().position(&mut waits)
                    && let Some(other) = group.active.remove(place)
                {
                    group.active.push_front(other);
                    continue;
                }
                group.ready = false;
                own.ready.pop_front();
                continue;
            }
            if !io.egress.reserve(DATA, ip) {
                return;
            }
            sender.commit(psn, again);
            group.in_flight += bytes;
            let nth = sender.transmissions - u64::from(self.pds.ack_request_first_packet);
            let mut flags = 0;
            let asks = self.ack_every == 1
                || nth.is_multiple_of(self.ack_every)
                || (self.pds.ack_request_last_packet && psn + 1 == sender.packets)
                || (self.pds.ack_request_when_window_full
                    && (group.in_flight + u64::from(sender.full)) as f64 > window);
            if asks {
                flags |= ACK_REQUEST;
            }
            let trimmable =
                if self.pds.trimming_enabled { CodePoint::Trimmable } else { CodePoint::NoTrim };
            let (ready, code_point) = if again {
                flags |= RETRANSMIT;
                let distinct = self.pds.use_distinct_dscp_for_retransmits;
                (now, if distinct { CodePoint::TrimmableRetransmit } else { trimmable })
            } else {
                group.fetched += bytes;
                io.stats.window.add(window as u64);
                io.stats.in_flight.add(group.in_flight);
                if psn + 1 == sender.packets {
                    io.done.push(Done::Sent(sender.flow));
                }
                (own.fetcher.fetch(now, bytes - u64::from(DATA_HEADERS)), trimmable)
            };
            let mut header = Header::new(PacketKind::Data, connection, psn);
            header.flags = flags;
            let entropy = group.sprayer.pick(&own.spraying, &mut own.draws);
            io.egress.queue(
                ready,
                Outgoing {
                    header,
                    dst: sender.peer,
                    ip,
                    entropy,
                    tc: sender.tc,
                    class: DATA,
                    code_point,
                    ect: true,
                    unscheduled: false,
                },
            );
            // Who is alone stays where it is.
            sender.listed = sender.may_send();
            if !sender.listed || group.active.len() > 1 {
                group.active.pop_front();
                if sender.listed {
                    group.active.push_back(connection);
                }
            }
            group.ready = !group.active.is_empty();
            if !group.ready || own.ready.len() > 1 {
                own.ready.pop_front();
                if group.ready {
                    own.ready.push_back((number, generation));
                }
            }
        }
    }

    /// A packet's serialization, which ends at `end`, has started: clocks run from its end.
    #[inline]
    pub(super) fn left(&mut self, end: u64, host: u32, packet: &Outgoing, io: &mut Io<'_>) {
        let Header { connection, psn, kind, flags, .. } = packet.header;
        let own = &mut self.hosts[host as usize];
        match kind {
            PacketKind::Data => {}
            PacketKind::Probe => {
                io.stats.probe_sent += 1;
                self.senders[connection as usize].probe_end = end;
                return;
            }
            PacketKind::Ack => {
                io.stats.ack_pkts_sent += 1;
                io.stats.total_pkts_sent += 1;
                return;
            }
            PacketKind::Nack => {
                io.stats.nack_pkts_sent += 1;
                io.stats.total_pkts_sent += 1;
                return;
            }
            PacketKind::ProbeAck | PacketKind::Cnp => return,
        }
        let sender = &mut self.senders[connection as usize];
        let again = flags & RETRANSMIT != 0;
        io.stats.total_pkts_sent += 1;
        io.stats.write_pkts_sent += 1;
        io.stats.num_rtx += u64::from(again);
        count(io.flows, sender.flow, sender.closed, |flow| {
            flow.sent_packets += 1;
            flow.sent_bytes += u64::from(packet.ip);
            flow.retransmitted += u64::from(again);
        });
        // Acknowledged meanwhile (by an earlier transmission): nothing to wait for.
        let Some(slot) = sender.outstanding(psn) else { return };
        slot.end = end;
        slot.state = State::Sent;
        own.timers.start(end, slot.tries, connection, psn);
        if own.spraying.recycles() && self.pds.failure_detection_rtt_multiplier > 0 {
            let base = self.groups[sender.group as usize].nscc.base_rtt();
            let at = end + self.pds.failure_detection_rtt_multiplier.saturating_mul(base);
            own.failures.push(Reverse((at, end, connection, psn)));
        }
    }

    /// An acknowledgement.
    pub(super) fn acknowledged(&mut self, now: u64, packet: &Incoming, io: &mut Io<'_>) {
        io.stats.ack_pkts_rcvd += 1;
        let header = &packet.header;
        let connection = header.connection;
        let sender = &mut self.senders[connection as usize];
        sender.copies -= 1;
        if sender.closed {
            return;
        }
        let rtt = sample(now, sender, header, u64::from(header.service) * SERVICE_STEP);
        let retired = sender.retire(header.cumulative, header.psn, header.base, header.bits);
        let newly = match self.cc.newly_acknowledged {
            NewlyAcknowledged::RetiredPackets => retired.bytes,
            NewlyAcknowledged::ReceivedBytes => sender.report(header.received()),
        };
        let (number, host) = (sender.group, sender.host);
        let done = sender.acked == sender.packets;
        let probe = !std::mem::replace(&mut sender.probed, true);
        let group = &mut self.groups[number as usize];
        let own = &mut self.hosts[host as usize];
        group.in_flight -= retired.flying;
        group.fetched -= retired.bytes;
        let marked = header.flags & ECN_ECHO != 0;
        let ack = Acked {
            newly,
            in_flight: group.in_flight,
            rtt,
            marked,
            penalty: header.penalty,
            restore: header.flags & RESTORE != 0,
        };
        let adapts = group.nscc.quick_adapts;
        group.nscc.acked(&own.gains, now, &ack);
        io.stats.num_quick_adapt += group.nscc.quick_adapts - adapts;
        if let Some(rtt) = rtt {
            io.stats.rtt.add(rtt);
        }
        let feedback = if marked { Feedback::Bad } else { Feedback::Good };
        group.sprayer.feedback(&own.spraying, now, packet.entropy, feedback);
        if probe {
            sender.copies += 1;
            let header = Header::new(PacketKind::Probe, connection, 0);
            let entropy = group.sprayer.pick(&own.spraying, &mut own.draws);
            own.queue_control(now, control(header, sender.peer, entropy), io.egress);
        }
        if done {
            sender.closed = true;
            // Listed with retransmissions that need not go any more: its entry may be another
            // connection's before its turn comes.
            if std::mem::take(&mut sender.listed) {
                group.active.retain(|&listed| listed != connection);
            }
            io.stats.wqes_completed += 1;
            io.done.push(Done::Acknowledged(sender.flow));
            self.leave(number);
        }
        self.wake(number);
        self.transmit(now, host, io);
    }

    /// A NACK: the packet was trimmed. It goes again, ahead of new ones.
    pub(super) fn refused(&mut self, now: u64, packet: &Incoming, io: &mut Io<'_>) {
        io.stats.nack_pkts_rcvd += 1;
        let header = &packet.header;
        let sender = &mut self.senders[header.connection as usize];
        sender.copies -= 1;
        let rtt = sample(now, sender, header, 0);
        let Some(slot) = sender.outstanding(header.psn) else { return };
        if slot.state != State::Sent {
            return;
        }
        slot.state = State::Waiting;
        let bytes = u64::from(slot.ip);
        let (number, host) = (sender.group, sender.host);
        let group = &mut self.groups[number as usize];
        let own = &mut self.hosts[host as usize];
        group.in_flight -= bytes;
        let adapts = group.nscc.quick_adapts;
        group.nscc.trimmed(&own.gains, now, bytes, group.in_flight, rtt);
        io.stats.num_quick_adapt += group.nscc.quick_adapts - adapts;
        if let Some(rtt) = rtt {
            io.stats.rtt.add(rtt);
        }
        let last_hop = header.flags & LAST_HOP != 0;
        let feedback = if last_hop { Feedback::Good } else { Feedback::Bad };
        group.sprayer.feedback(&own.spraying, now, packet.entropy, feedback);
        self.again(header.connection, header.psn);
        self.wake(number);
        self.transmit(now, host, io);
    }

    /// The acknowledgement of a probe: it may lower the base RTT.
    pub(super) fn probe_acknowledged(&mut self, now: u64, packet: &Incoming, io: &mut Io<'_>) {
        io.stats.probe_ack_rcvd += 1;
        let sender = &mut self.senders[packet.header.connection as usize];
        sender.copies -= 1;
        let group = &mut self.groups[sender.group as usize];
        if group.generation == sender.generation {
            let gains = &self.hosts[sender.host as usize].gains;
            group.nscc.base_sample(gains, now.saturating_sub(sender.probe_end));
        }
    }

    /// Deadlines of a host.
    pub(super) fn due(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        let own = &mut self.hosts[host as usize];
        let mut pass = own.start <= now;
        if pass {
            own.start = NEVER;
        }
        while let Some(&Reverse((at, end, connection, psn))) = own.failures.peek() {
            let sender = &mut self.senders[connection as usize];
            let slot = if sender.host == host { sender.outstanding(psn) } else { None };
            if slot.is_some_and(|slot| slot.state == State::Sent && slot.end == end) {
                if at > now {
                    break;
                }
                let group = &mut self.groups[sender.group as usize];
                group.sprayer.feedback(&own.spraying, now, 0, Feedback::Failed);
            }
            own.failures.pop();
        }
        loop {
            let own = &mut self.hosts[host as usize];
            let senders = &mut self.senders;
            let left = |connection: u32, psn: u32| {
                let sender = &mut senders[connection as usize];
                let slot = if sender.host == host { sender.outstanding(psn) } else { None };
                slot.and_then(|slot| (slot.state == State::Sent).then_some(slot.end))
            };
            let Some((_, connection, psn)) = own.timers.pop(now, left) else { break };
            self.expired(now, connection, psn, io);
            pass = true;
        }
        if pass {
            self.transmit(now, host, io);
        }
    }

    /// A retransmission timer has run out.
    fn expired(&mut self, now: u64, connection: u32, psn: u32, io: &mut Io<'_>) {
        let sender = &mut self.senders[connection as usize];
        let Some(slot) = sender.outstanding(psn) else { return };
        slot.state = State::Waiting;
        let bytes = u64::from(slot.ip);
        io.stats.num_rto += 1;
        count(io.flows, sender.flow, sender.closed, |flow| flow.timeouts += 1);
        let number = sender.group;
        let group = &mut self.groups[number as usize];
        let own = &self.hosts[sender.host as usize];
        group.in_flight -= bytes;
        group.nscc.timed_out(&own.gains, bytes);
        group.sprayer.feedback(&own.spraying, now, 0, Feedback::Failed);
        self.again(connection, psn);
        self.wake(number);
    }

    /// A packet waits for its retransmission.
    fn again(&mut self, connection: u32, psn: u32) {
        let sender = &mut self.senders[connection as usize];
        sender.waiting.push_back(psn);
        if !sender.listed {
            sender.listed = true;
            self.groups[sender.group as usize].active.push_back(connection);
        }
    }

    /// Something has come back: a group that has something to send goes to the head.
    #[inline]
    fn wake(&mut self, number: u32) {
        let group = &mut self.groups[number as usize];
        if !group.ready && !group.active.is_empty() {
            group.ready = true;
            self.hosts[group.host as usize].ready.push_front((number, group.generation));
        }
    }
}

/// The RTT an acknowledgement or NACK stands for, if it is known which transmission drew it.
#[inline]
fn sample(now: u64, sender: &mut Sender, header: &Header, service: u64) -> Option<u64> {
    let again = header.flags & RETRANSMIT != 0;
    let slot = sender.outstanding(header.psn)?;
    let known = slot.state != State::Queued && slot.tries == u8::from(again);
    known.then(|| now.saturating_sub(slot.end + service))
}
