//! The two ends of a connection: what is outstanding at its sender, what has come at its receiver.
//!
//! Owns sequence numbers, one message's from 0. Both ends keep them in rings of 64-number words
//! that grow with the span in use, so that an acknowledgement costs a few words of bits and no
//! search. Refuses to know windows, timers and ports.

use super::wire::RECEIVED_UNIT;
use std::collections::VecDeque;

/// A packet's state at its sender while it is not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// To be retransmitted; not in flight.
    #[default]
    Waiting,
    /// In the port's queue; in flight.
    Queued,
    /// Has left, or is leaving; in flight.
    Sent,
}

/// The latest transmission of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slot {
    /// End of its serialization, ps, once [`State::Sent`].
    pub end: u64,
    /// IP bytes.
    pub ip: u16,
    /// Retransmissions, up to 255.
    pub tries: u8,
    /// Where it is.
    pub state: State,
}

/// What an acknowledgement retires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retired {
    /// IP bytes of packets.
    pub bytes: u64,
    /// Of them, in flight.
    pub flying: u64,
    /// Packets.
    pub packets: u32,
}

/// A connection at its sender.
#[derive(Debug, Default)]
pub struct Sender {
    /// Its host.
    pub host: u32,
    /// The other end's.
    pub peer: u32,
    /// The owner's slot of its flow.
    pub flow: u32,
    /// Its group, valid while the generation is the group's.
    pub group: u32,
    /// Generation of the group when it joined.
    pub generation: u32,
    /// Class of its data at a switch without the UET policy.
    pub tc: u8,
    /// Whether it stands in its group's list of connections that may have something to send.
    pub listed: bool,
    /// Whether its probe has been sent.
    pub probed: bool,
    /// Every packet is acknowledged.
    pub closed: bool,
    /// Packets of its message.
    pub packets: u32,
    /// IP bytes of a full packet.
    pub full: u16,
    /// IP bytes of its last packet.
    pub last: u16,
    /// Next number not used yet.
    pub next: u32,
    /// Lowest number that the other end may still miss.
    pub oldest: u32,
    /// Packets acknowledged.
    pub acked: u32,
    /// Received bytes as the other end last reported them, 24 bits of their units.
    pub reported: u32,
    /// Transmissions, retransmissions included.
    pub transmissions: u64,
    /// Packets handed to its port less packets that came back here; with the receiver's: on the way.
    pub copies: i64,
    /// End of its probe's serialization.
    pub probe_end: u64,
    /// To be retransmitted, oldest first; may hold what has been acknowledged meanwhile.
    pub waiting: VecDeque<u32>,
    /// A ring by number; a power of two of 64-number words.
    pub(super) slots: Vec<Slot>,
    /// Outstanding numbers, a bit each, in the same order.
    pub(super) live: Vec<u64>,
}

impl Sender {
    /// Makes the entry that of a new connection; its memory is kept.
    pub fn renew(&mut self, fresh: Sender) {
        let Sender { mut waiting, slots, mut live, .. } = std::mem::take(self);
        waiting.clear();
        live.fill(0);
        *self = Sender { waiting, slots, live, ..fresh };
    }

    /// IP bytes of a packet.
    #[inline]
    pub fn ip(&self, psn: u32) -> u16 {
        if psn + 1 == self.packets { self.last } else { self.full }
    }

    /// Whether anything may be left to send.
    #[inline]
    pub fn may_send(&self) -> bool {
        !self.waiting.is_empty() || self.next < self.packets
    }

    /// The packet whose turn it is, and whether it is a retransmission.
    #[inline]
    pub fn turn(&mut self) -> Option<(u32, bool)> {
        while let Some(&psn) = self.waiting.front() {
            if self.outstanding(psn).is_some() {
                return Some((psn, true));
            }
            self.waiting.pop_front();
        }
        (self.next < self.packets).then_some((self.next, false))
    }

    /// The packet whose turn it is goes to the port.
    #[inline]
    pub fn commit(&mut self, psn: u32, again: bool) {
        self.copies += 1;
        self.transmissions += 1;
        if again {
            self.waiting.pop_front();
            if let Some(slot) = self.outstanding(psn) {
                slot.tries = slot.tries.saturating_add(1);
                slot.state = State::Queued;
            }
            return;
        }
        let (first, word) = (self.oldest >> 6, psn >> 6);
        if (word - first) as usize >= self.live.len() {
            self.grow(first, word);
        }
        let place = word as usize & (self.live.len() - 1);
        self.live[place] |= 1 << (psn & 63);
        let ip = self.ip(psn);
        self.slots[place << 6 | (psn & 63) as usize] =
            Slot { end: 0, ip, tries: 0, state: State::Queued };
        self.next = psn + 1;
    }

    /// Doubles the rings until they hold words `first` to `last`.
    #[cold]
    fn grow(&mut self, first: u32, last: u32) {
        let words = ((last - first + 1) as usize).next_power_of_two();
        let mut live = vec![0; words];
        let mut slots = vec![Slot::default(); words << 6];
        let old = self.live.len();
        for word in first..first + old as u32 {
            let (from, to) = (word as usize & (old - 1), word as usize & (words - 1));
            live[to] = self.live[from];
            slots[to << 6..(to + 1) << 6].copy_from_slice(&self.slots[from << 6..(from + 1) << 6]);
        }
        (self.live, self.slots) = (live, slots);
    }

    /// The slot of a packet, unless it is acknowledged or not sent yet.
    #[inline]
    pub fn outstanding(&mut self, psn: u32) -> Option<&mut Slot> {
        if psn < self.oldest || psn >= self.next {
            return None;
        }
        let place = (psn >> 6) as usize & (self.live.len() - 1);
        if self.live[place] >> (psn & 63) & 1 == 0 {
            return None;
        }
        Some(&mut self.slots[place << 6 | (psn & 63) as usize])
    }

    /// Retires every number below `cumulative`, `psn`, and those of `bits` from `base` (a multiple
    /// of 64) on. Numbers that were never sent are not touched.
    #[inline]
    pub fn retire(&mut self, cumulative: u32, psn: u32, base: u32, bits: u64) -> Retired {
        let mut retired = Retired::default();
        let cumulative = cumulative.min(self.next);
        if cumulative > self.oldest {
            let last = (cumulative - 1) >> 6;
            for word in self.oldest >> 6..=last {
                let mask = if word == last {
                    u64::MAX >> (63 - ((cumulative - 1) & 63))
                } else {
                    u64::MAX
                };
                self.take(word, mask, &mut retired);
            }
            self.oldest = cumulative;
        }
        if bits != 0 {
            self.listed_in(base >> 6, bits, &mut retired);
        }
        if psn >= self.oldest {
            self.listed_in(psn >> 6, 1 << (psn & 63), &mut retired);
        }
        self.acked += retired.packets;
        retired
    }

    /// By how many bytes a report of received bytes, the low 24 bits of their units, is above all
    /// earlier ones. 0 for one that is below: acknowledgements overtake one another. What is ahead
    /// by half the range of 4 GiB or more counts as below.
    #[inline]
    pub fn report(&mut self, units: u32) -> u64 {
        let more = units.wrapping_sub(self.reported) & 0xff_ffff;
        if more >= 1 << 23 {
            return 0;
        }
        self.reported = units;
        u64::from(more) * RECEIVED_UNIT
    }

    #[inline]
    fn listed_in(&mut self, word: u32, bits: u64, retired: &mut Retired) {
        // A word outside the span would stand for another one in the ring.
        if word >= self.oldest >> 6 && word << 6 < self.next {
            self.take(word, bits, retired);
        }
    }

    #[inline]
    fn take(&mut self, word: u32, mask: u64, retired: &mut Retired) {
        let place = word as usize & (self.live.len() - 1);
        let mut bits = self.live[place] & mask;
        self.live[place] &= !mask;
        while bits != 0 {
            let slot = &self.slots[place << 6 | bits.trailing_zeros() as usize];
            bits &= bits - 1;
            let ip = u64::from(slot.ip);
            retired.bytes += ip;
            retired.packets += 1;
            if slot.state != State::Waiting {
                retired.flying += ip;
            }
        }
    }

    /// Outstanding packets, for tests that add them up.
    #[cfg(test)]
    pub fn outstanding_slots(&mut self) -> Vec<Slot> {
        (self.oldest..self.next).filter_map(|psn| self.outstanding(psn).copied()).collect()
    }
}

/// How a packet fits what a receiver has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The next one.
    Next,
    /// A later one.
    OutOfOrder,
    /// One it has.
    Duplicate,
}

/// A connection at its receiver.
#[derive(Debug, Default)]
pub struct Receiver {
    /// Its host.
    pub host: u32,
    /// The sender's.
    pub peer: u32,
    /// The owner's slot of its flow.
    pub flow: u32,
    /// Its group, once something has come.
    pub group: Option<u32>,
    /// Local UDP port.
    pub port: u16,
    /// Every packet has come.
    pub complete: bool,
    /// Packets of its message.
    pub packets: u32,
    /// Every number below this has come.
    pub expected: u32,
    /// IP bytes of its packets that have come, each once.
    pub received: u64,
    /// One more than the highest number that has come.
    pub top: u32,
    /// Word whose turn it is in acknowledgements.
    pub(super) block: u32,
    /// As the sender's, of its own packets.
    pub copies: i64,
    /// What has come from the word of `expected` on, a ring of words, a power of two of them.
    pub(super) come: Vec<u64>,
}

impl Receiver {
    /// Makes the entry that of a new connection; its memory is kept.
    pub fn renew(&mut self, fresh: Receiver) {
        let mut come = std::mem::take(&mut self.come);
        come.fill(0);
        *self = Receiver { come, ..fresh };
    }

    /// A whole packet has come.
    #[inline]
    pub fn take(&mut self, psn: u32) -> Arrival {
        if psn < self.expected {
            return Arrival::Duplicate;
        }
        let (first, word) = (self.expected >> 6, psn >> 6);
        if (word - first) as usize >= self.come.len() {
            self.grow(first, word);
        }
        let mask = self.come.len() - 1;
        let bit = 1 << (psn & 63);
        let place = &mut self.come[word as usize & mask];
        if *place & bit != 0 {
            return Arrival::Duplicate;
        }
        *place |= bit;
        self.top = self.top.max(psn + 1);
        if psn != self.expected {
            return Arrival::OutOfOrder;
        }
        let mut word = first;
        loop {
            let come = &mut self.come[word as usize & mask];
            let ones = come.trailing_ones();
            if ones < 64 {
                self.expected = word << 6 | ones;
                break;
            }
            *come = 0;
            word += 1;
        }
        Arrival::Next
    }

    /// Doubles the ring until it holds words `first` to `last`.
    #[cold]
    fn grow(&mut self, first: u32, last: u32) {
        let words = ((last - first + 1) as usize).next_power_of_two();
        let mut come = vec![0; words];
        let old = self.come.len();
        for word in first..first + old as u32 {
            come[word as usize & (words - 1)] = self.come[word as usize & (old - 1)];
        }
        self.come = come;
    }

    /// The block of an acknowledgement: its first number and a bit for each of 64 that have come.
    /// Successive calls go round the blocks while anything is missing below the highest number.
    #[inline]
    pub fn block(&mut self) -> (u32, u64) {
        if self.top <= self.expected {
            return (0, 0);
        }
        let (first, last) = (self.expected >> 6, (self.top - 1) >> 6);
        if self.block < first || self.block > last {
            self.block = first;
        }
        let block = self.block;
        self.block += 1;
        (block << 6, self.come[block as usize & (self.come.len() - 1)])
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Header, PacketKind};
    use super::*;
    use proptest::prelude::*;

    fn sender(packets: u32) -> Sender {
        Sender { packets, full: 4_184, last: 100, ..Sender::default() }
    }

    #[test]
    fn an_acknowledgement_retires_each_packet_once() {
        let mut s = sender(200);
        for psn in 0..200 {
            assert_eq!(s.turn(), Some((psn, false)));
            s.commit(psn, false);
        }
        assert_eq!(s.turn(), None);
        let all = s.retire(3, 70, 64, 0b11);
        assert_eq!(all, Retired { bytes: 6 * 4_184, flying: 6 * 4_184, packets: 6 });
        assert_eq!(s.retire(3, 70, 64, 0b11), Retired::default());
        assert_eq!(s.retire(200, 199, 0, 0).packets, 194);
        assert_eq!((s.acked, s.outstanding_slots()), (200, vec![]));
    }

    #[test]
    fn a_retransmission_acknowledged_while_it_waits_is_skipped() {
        let mut s = sender(3);
        s.commit(0, false);
        s.commit(1, false);
        for psn in 0..2 {
            s.outstanding(psn).unwrap().state = State::Waiting;
            s.waiting.push_back(psn);
        }
        assert_eq!(s.retire(1, 0, 0, 0), Retired { bytes: 4_184, flying: 0, packets: 1 });
        assert_eq!(s.turn(), Some((1, true)));
        s.commit(1, true);
        assert_eq!((s.outstanding(1).unwrap().tries, s.turn()), (1, Some((2, false))));
    }

    #[test]
    fn successive_acknowledgements_show_successive_blocks() {
        let mut r = Receiver { packets: 200, ..Receiver::default() };
        for psn in (1..200).filter(|psn| psn % 2 == 1) {
            assert_eq!(r.take(psn), Arrival::OutOfOrder);
        }
        let odd = 0xaaaa_aaaa_aaaa_aaaa;
        let blocks = [(); 5].map(|()| r.block());
        assert_eq!(blocks, [(0, odd), (64, odd), (128, odd), (192, odd & 0xff), (0, odd)]);
        assert_eq!((r.take(0), r.expected), (Arrival::Next, 2));
        assert_eq!(r.take(1), Arrival::Duplicate);
    }

    #[test]
    fn reports_of_received_bytes_grow_by_whole_units_and_go_round() {
        let mut s = sender(4);
        // 4,184, 8,368 and 12,552 B.
        assert_eq!([16, 32, 49].map(|units| s.report(units)), [4_096, 4_096, 4_352]);
        assert_eq!([32, 49].map(|units| s.report(units)), [0, 0], "overtaken, and again");
        s.reported = 0xff_fffe;
        assert_eq!([0xff_ffff, 0, 3].map(|units| s.report(units)), [256, 256, 768]);
        assert_eq!((s.report(0xff_ffff), s.reported), (0, 3));
        let mut header = Header::new(PacketKind::Ack, 0, 0);
        header.set_received((1 << 24) + 3);
        assert_eq!(header.received(), 3, "24 bits");
    }

    proptest! {
        /// Packets come in any order and more than once, some acknowledgements are lost and others
        /// overtake: what the reports add up to is what the farthest one says, less than 256 B
        /// below what had come by then.
        #[test]
        fn reports_add_up_to_what_has_come(
            full in 89u16..,
            order in prop::collection::vec((0u32..60, 0usize..5, any::<bool>()), 1..200),
        ) {
            let mut s = Sender { packets: 60, full, last: 89, ..Sender::default() };
            let mut r = Receiver { packets: 60, ..Receiver::default() };
            for psn in 0..60 {
                s.commit(psn, false);
            }
            // Acknowledgements by when they come, with the bytes that had come when they left.
            let mut acks = Vec::new();
            for (n, (psn, late, lost)) in order.into_iter().enumerate() {
                if r.take(psn) != Arrival::Duplicate {
                    r.received += u64::from(s.ip(psn));
                }
                let mut header = Header::new(PacketKind::Ack, 0, psn);
                header.set_received(r.received / RECEIVED_UNIT);
                if !lost {
                    acks.push((n + late, n, header, r.received));
                }
            }
            acks.sort_unstable_by_key(|&(at, n, ..)| (at, n));
            let (mut sum, mut most) = (0, 0);
            for (_, _, header, received) in acks {
                sum += s.report(header.received());
                most = most.max(received);
                prop_assert!(sum <= most && most - sum < 256, "{} of {}", sum, most);
            }
        }

        /// Any order of arrival, with repetitions: each number is new once, and the sender that
        /// sees every acknowledgement has everything retired, in whatever order.
        #[test]
        fn both_ends_agree(order in prop::collection::vec(0u32..400, 1..1_200)) {
            let (mut s, mut r) = (sender(400), Receiver { packets: 400, ..Receiver::default() });
            for psn in 0..400 {
                s.commit(psn, false);
            }
            let mut come = std::collections::BTreeSet::new();
            for psn in order {
                let new = come.insert(psn);
                prop_assert_eq!(r.take(psn) != Arrival::Duplicate, new);
                let expected = (0..).find(|psn| !come.contains(psn)).unwrap();
                prop_assert_eq!(r.expected, expected);
                let (base, bits) = r.block();
                let retired = s.retire(r.expected, psn, base, bits);
                prop_assert_eq!(retired.packets, u32::from(new));
                prop_assert_eq!(s.outstanding(psn), None);
            }
            prop_assert_eq!(s.acked as usize, come.len());
        }
    }
}
