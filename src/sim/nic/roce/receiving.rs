//! What the receiving half of a NIC does: it takes data and queues what goes back.
//!
//! Owns ACKs, NAKs and CNPs as packets. Refuses to decide when they are due: each queue pair's
//! receiver does.

use super::receiver::{Reply, Verdict};
use super::timers::Kind;
use super::{ACK_BYTES, CNP_BYTES, DATA_HEADER, LAST, Roce};
use crate::sim::nic::egress::Urgent;
use crate::sim::nic::{CodePoint, Done, Header, Incoming, Io, NEVER, Outgoing, PacketKind};

impl Roce {
    /// Queues a reply, or remembers that it is owed.
    pub(super) fn reply(&mut self, now: u64, index: u32, reply: Reply, io: &mut Io<'_>) {
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
    pub(super) fn queue_reply(&mut self, now: u64, index: u32, reply: Reply, io: &mut Io<'_>) {
        let kind = if reply == Reply::Nak { PacketKind::Nack } else { PacketKind::Ack };
        let packet = self.control_packet(index, kind, ACK_BYTES);
        io.egress.queue(now, packet);
    }

    pub(super) fn control_packet(&self, index: u32, kind: PacketKind, ip: u16) -> Outgoing {
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
            unscheduled: false,
        }
    }

    pub(super) fn send_cnp(&mut self, index: u32, io: &mut Io<'_>) {
        let packet = self.control_packet(index, PacketKind::Cnp, CNP_BYTES);
        io.egress.queue_urgent(Urgent::Packet(packet));
    }

    pub(super) fn receive_data(&mut self, now: u64, packet: &Incoming, io: &mut Io<'_>) {
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
                let payload = u64::from(packet.ip.saturating_sub(DATA_HEADER));
                io.flows[pair.tx.flow as usize].payload_bytes += payload;
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

    /// An acknowledgement may have been held long enough.
    pub(super) fn ack_due(&mut self, now: u64, index: u32, io: &mut Io<'_>) {
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
}
