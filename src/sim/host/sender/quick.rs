//! What nearly every packet of a host needs, in one step each.
//!
//! Owns no state and no rule of its own: every method does what the general ones do where nothing
//! unusual is to be seen to, and leaves the rest to them.

use super::{Choice, Next, Sender, Trigger, first_wire, next_wire};
use crate::sim::flows::FlowTable;
use crate::sim::packet::{ETHERNET_BYTES, Frame, Packet};
use crate::sim::traffic::FlowSource;

impl Sender {
    /// The common case of [`Sender::send_announced`] and [`Sender::announce`] in one: the only
    /// flow in turn of its class sends a packet, and has another one to send next. Gives the
    /// packet and the end of the next one; `None`: nothing has happened.
    #[inline(always)]
    pub fn send_and_announce(&mut self, flows: &mut FlowTable) -> Option<(Packet, Option<u64>)> {
        let next = self.announced.as_mut()?;
        let Choice::Joined(tc) = next.choice else { return None };
        let ring = self.turns[usize::from(tc & 7)].ring()?;
        let free_at = next.end;
        // No higher class waits, not even for a rate cap to fall due.
        let highest = (self.ready & !self.paused) >> (tc & 7) == 1;
        let undisturbed = highest
            && self.next_start >= free_at
            && self.settled <= free_at
            && self.pfc.is_empty()
            && self.uncounted.is_none();
        if !undisturbed || ring.len() != 1 {
            return None;
        }
        let slot = ring[0];
        let flow = flows.get_mut(slot);
        let size = u64::from(flow.packet);
        // Not its last packet: those are full, and it stays in turn.
        if flow.remaining <= size {
            return None;
        }
        let packet = Packet::new(slot, flow.dst, size as u16, flow.next_label());
        flow.remaining -= size;
        let following = flow.remaining.min(size) + ETHERNET_BYTES;
        self.frames += 1;
        self.wire += size + ETHERNET_BYTES;
        self.last = Some(Frame::Data(packet));
        self.free_at = free_at;
        next.start = free_at;
        next.end = free_at + self.line.serialize(following);
        next.trigger = Trigger::Free;
        Some((packet, Some(next.end)))
    }

    /// Sends the frame that was announced, if it is the last packet of a flow without a cap and
    /// nothing unusual has to be seen to; `None`: nothing has happened.
    #[inline]
    pub fn send_last(&mut self, flows: &mut FlowTable, source: &mut FlowSource) -> Option<Packet> {
        let Next { end, choice, .. } = *self.announced.as_ref()?;
        if self.uncounted.is_some() {
            return None;
        }
        let packet = match choice {
            Choice::Joined(tc) => {
                let ring = self.turns[usize::from(tc & 7)].ring_mut()?;
                let slot = *ring.front()?;
                let flow = flows.get_mut(slot);
                if flow.remaining > u64::from(flow.packet) {
                    return None;
                }
                let label = flow.next_label();
                let ip = std::mem::take(&mut flow.remaining);
                ring.pop_front();
                if ring.is_empty() {
                    self.ready &= !(1 << (tc & 7));
                }
                Packet::new(slot, flow.dst, ip as u16, label)
            }
            Choice::Starting => self.start_only(flows, source)?,
            Choice::Pfc => return None,
        };
        self.announced = None;
        self.frames += 1;
        self.wire += packet.wire();
        self.last = Some(Frame::Data(packet));
        self.free_at = end;
        Some(packet)
    }

    /// As [`Sender::announce`], where the next frame is a flow's in turn, of a class without caps,
    /// or the only flow that starts next at an idle port. Gives the end of that frame; `None`: it
    /// is less simple, and nothing is announced.
    #[inline]
    pub fn announce_simply(
        &mut self,
        flows: &mut FlowTable,
        source: &mut FlowSource,
    ) -> Option<u64> {
        let earliest = self.free_at.max(self.settled);
        self.join_before(earliest, flows, source);
        if !self.pfc.is_empty() {
            return None;
        }
        let sendable = self.ready & !self.paused;
        let next = if sendable != 0 {
            let tc = 7 - sendable.leading_zeros() as u8;
            let slot = *self.turns[usize::from(tc & 7)].ring()?.front()?;
            let end = earliest + self.line.serialize(next_wire(flows, slot));
            Next { start: earliest, end, trigger: Trigger::Free, choice: Choice::Joined(tc) }
        } else {
            let first = self.first.as_ref()?;
            if self.ready != 0 || !self.more.is_empty() || self.paused >> first.tc & 1 != 0 {
                return None;
            }
            let (start, wire) = (self.next_start, first_wire(first));
            let end = start + self.line.serialize(wire);
            Next { start, end, trigger: Trigger::Start, choice: Choice::Starting }
        };
        self.announced = Some(next);
        Some(next.end)
    }
}
