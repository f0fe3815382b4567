//! The receiving half: delivery, acknowledgements, NACKs, answers to probes.

use super::super::{Done, Header, Incoming, Io, PacketKind, Whole};
use super::connection::Arrival;
use super::wire::{
    ACK_REQUEST, DATA_HEADERS, ECN_ECHO, LAST_HOP, RECEIVED_UNIT, RESTORE, RETRANSMIT,
    SERVICE_STEP, control,
};
use super::{Uet, count};

/// The largest receiver penalty.
const PENALTY: f64 = 127.0;

impl Uet {
    /// A data packet, whole or trimmed.
    pub(super) fn data(&mut self, now: u64, packet: &Incoming, io: &mut Io<'_>) {
        let connection = packet.header.connection;
        let receiver = &mut self.receivers[connection as usize];
        receiver.copies -= 1;
        if receiver.group.is_none() {
            let (host, peer, port) = (receiver.host, receiver.peer, receiver.port);
            let group = self.join(now, host, peer, port);
            self.receivers[connection as usize].group = Some(group);
        }
        let receiver = &mut self.receivers[connection as usize];
        io.stats.m_marked_pkts_rcvd += u64::from(packet.ce);
        let trimmed = packet.whole != Whole::Whole;
        // The owner has the flow's place back once every packet is acknowledged.
        let over = receiver.complete && self.senders[connection as usize].closed;
        count(io.flows, receiver.flow, over, |flow| {
            flow.received_ce += u64::from(packet.ce);
            flow.received_trimmed += u64::from(trimmed);
            flow.received_packets += u64::from(!trimmed);
            flow.received_bytes += if trimmed { 0 } else { u64::from(packet.ip) };
        });
        if trimmed {
            io.stats.trimmed_pkts_rcvd += 1;
            let mut header = Header::new(PacketKind::Nack, connection, packet.header.psn);
            header.flags = packet.header.flags & RETRANSMIT;
            if packet.whole == Whole::TrimmedLastHop {
                header.flags |= LAST_HOP;
            }
            receiver.copies += 1;
            let nack = control(header, receiver.peer, packet.entropy);
            self.hosts[receiver.host as usize].queue_control(now, nack, io.egress);
            return;
        }
        io.stats.write_pkts_rcvd += 1;
        let arrival = receiver.take(packet.header.psn);
        match arrival {
            Arrival::Next => {}
            Arrival::OutOfOrder => io.stats.num_out_of_order_events_on_nic += 1,
            Arrival::Duplicate => io.stats.num_dup_events_on_nic += 1,
        }
        if !matches!(arrival, Arrival::Duplicate) {
            receiver.received += u64::from(packet.ip);
            let payload = u64::from(packet.ip.saturating_sub(DATA_HEADERS));
            count(io.flows, receiver.flow, over, |flow| flow.payload_bytes += payload);
        }
        if packet.header.flags & ACK_REQUEST != 0 {
            self.acknowledge(now, packet, io);
        }
        let receiver = &mut self.receivers[connection as usize];
        if receiver.expected == receiver.packets && !receiver.complete {
            receiver.complete = true;
            io.done.push(Done::Received(receiver.flow));
            if let Some(group) = receiver.group {
                self.leave(group);
            }
        }
    }

    /// Acknowledges a packet, held for as long as the host takes to get what is before it.
    #[inline]
    fn acknowledge(&mut self, now: u64, packet: &Incoming, io: &mut Io<'_>) {
        let receiver = &mut self.receivers[packet.header.connection as usize];
        let own = &mut self.hosts[receiver.host as usize];
        let ready = (now + own.fetcher.time(packet.held)).max(own.held_until);
        own.held_until = ready;
        let mut header = Header::new(PacketKind::Ack, packet.header.connection, packet.header.psn);
        header.cumulative = receiver.expected;
        (header.base, header.bits) = receiver.block();
        header.set_received(receiver.received / RECEIVED_UNIT);
        header.service = ((ready - now) / SERVICE_STEP).min(u64::from(u16::MAX)) as u16;
        header.flags = packet.header.flags & RETRANSMIT;
        if packet.ce {
            header.flags |= ECN_ECHO;
        }
        if self.cc.restore_cwind_enable {
            header.flags |= RESTORE;
        }
        let low = self.cc.receiver_congestion_low_threshold;
        let high = self.cc.receiver_congestion_high_threshold;
        header.penalty = penalty(packet.held, packet.pool, low, high);
        receiver.copies += 1;
        own.queue_control(ready, control(header, receiver.peer, packet.entropy), io.egress);
    }

    /// A probe is answered at once.
    pub(super) fn probed(&mut self, now: u64, packet: &Incoming, io: &mut Io<'_>) {
        let receiver = &mut self.receivers[packet.header.connection as usize];
        // The probe left its copy at the sender's half, its answer takes it back there.
        let header = Header::new(PacketKind::ProbeAck, packet.header.connection, 0);
        let answer = control(header, receiver.peer, packet.entropy);
        self.hosts[receiver.host as usize].queue_control(now, answer, io.egress);
    }
}

/// Receiver penalty at `held` of `pool` bytes; `low` and `high` are percents.
#[inline]
fn penalty(held: u64, pool: u64, low: f64, high: f64) -> u8 {
    let (held, pool) = (held as f64 * 100.0, pool as f64);
    if held < low * pool {
        0
    } else if held >= high * pool {
        PENALTY as u8
    } else {
        (PENALTY * (held / pool - low) / (high - low)) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::penalty;

    #[test]
    fn the_penalty_grows_from_25_to_75_percent_and_is_cut_to_whole_numbers() {
        let at = |percent: u64| penalty(36_000 * percent, 3_600_000, 25.0, 75.0);
        assert_eq!([0, 24, 25, 50, 74, 75, 100].map(at), [0, 0, 0, 63, 124, 127, 127]);
        assert_eq!(penalty(10, 100, 0.0, 0.0), 127);
    }
}
