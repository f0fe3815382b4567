//! The sending side of a NIC's port: pools, queues a class, pauses, the next frame.
//!
//! Owns what waits and what is reserved. It has no events: who drives it asks for the next
//! instant at which a frame could start ([`Egress::next`]) and has it picked then
//! ([`Egress::pick`]). A frame in serialization is never cut; its reservation ends with it.
//! Refuses to know transports.

use super::{NEVER, Outgoing};
use crate::sim::packet::{ETHERNET_BYTES, Framing, PfcFrame};
use std::collections::VecDeque;

/// Classes a NIC may have.
pub const CLASSES: usize = 8;

/// How a class is chosen among those that may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// The highest class number.
    Strict,
    /// One packet each in turn.
    RoundRobin,
    /// So many packets each in turn, by class; 0 counts as 1.
    Weighted([u32; CLASSES]),
}

/// Settings of a NIC's egress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EgressSettings {
    /// Pool of each class, wire bytes.
    pub pools: [u64; CLASSES],
    /// Choice among classes.
    pub scheduler: Scheduler,
}

/// A frame ahead of all classes: never paused, never charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgent {
    /// A PFC frame.
    Pfc(PfcFrame),
    /// A packet (a CNP).
    Packet(Outgoing),
}

/// The next frame of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picked {
    /// A PFC frame.
    Pfc(PfcFrame),
    /// A packet.
    Packet(Outgoing),
}

/// When a port may start its next frame if nothing reaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// As its frame in serialization ends, then.
    Free(u64),
    /// As a packet becomes ready at an idle port, then.
    Ready(u64),
    /// Not at all.
    Never,
}

/// Queues, pools and pauses of one NIC's port.
#[derive(Debug)]
pub struct Egress {
    settings: EgressSettings,
    /// End of the last frame started.
    free_at: u64,
    /// Class and wire bytes of the frame in serialization; 0 bytes once released or not charged.
    sending: (u8, u64),
    used: [u64; CLASSES],
    /// Classes with something queued, a bit each.
    queued: u8,
    /// Classes held by the switch, a bit each.
    paused: u8,
    /// Classes whose pool has refused a reservation since it was last refilled.
    starved: u8,
    /// A transport that queues one packet at a time waits for the end of the frame in
    /// serialization.
    wanted: bool,
    /// Class of the last packet and how many it has sent in this turn.
    turn: (u8, u32),
    /// A packet that was chosen to start at this instant.
    chosen: Option<Outgoing>,
    urgent: VecDeque<Urgent>,
    /// Packets by class, in order of readiness.
    queues: [VecDeque<(u64, Outgoing)>; CLASSES],
}

impl Egress {
    /// An idle port.
    pub fn new(settings: EgressSettings) -> Egress {
        Egress {
            settings,
            free_at: 0,
            sending: (0, 0),
            used: [0; CLASSES],
            queued: 0,
            paused: 0,
            starved: 0,
            wanted: false,
            turn: (CLASSES as u8 - 1, 0),
            chosen: None,
            urgent: VecDeque::new(),
            queues: Default::default(),
        }
    }

    /// Reserves room for `ip` bytes of IP (18 more on the wire) in a class's pool. A refusal marks
    /// the pool starved.
    #[inline]
    pub fn reserve(&mut self, class: u8, ip: u16) -> bool {
        let c = usize::from(class);
        let used = self.used[c] + u64::from(ip) + ETHERNET_BYTES;
        let fits = used <= self.settings.pools[c];
        if fits {
            self.used[c] = used
        } else {
            self.starved |= 1 << class
        }
        fits
    }

    /// Gives back a reservation whose packet will not be queued.
    #[inline]
    pub fn unreserve(&mut self, class: u8, ip: u16) {
        self.used[usize::from(class)] -= u64::from(ip) + ETHERNET_BYTES;
    }

    /// Queues a packet, its room reserved before; it may start at `ready` at the earliest. Packets
    /// of a class go in order of readiness, then of queueing.
    #[inline]
    pub fn queue(&mut self, ready: u64, packet: Outgoing) {
        let queue = &mut self.queues[usize::from(packet.class)];
        self.queued |= 1 << packet.class;
        let later = queue.iter().rev().take_while(|(at, _)| *at > ready).count();
        if later == 0 {
            queue.push_back((ready, packet));
        } else {
            queue.insert(queue.len() - later, (ready, packet));
        }
    }

    /// Whether a packet may be chosen to start at `now` ([`Egress::choose`]): nothing else waits.
    #[inline]
    pub fn is_open(&self, now: u64) -> bool {
        self.free_at <= now && self.is_empty() && self.urgent.is_empty()
    }

    /// Whether nothing happens by itself: nothing waits, for a start or for the end of a frame.
    #[inline]
    pub fn is_still(&self) -> bool {
        self.queued | self.starved | u8::from(self.wanted) == 0
            && self.chosen.is_none()
            && self.urgent.is_empty()
    }

    /// Chooses a packet of a class that is not held to start at once, at an open port: it needs
    /// neither a queue nor room in a pool.
    #[inline]
    pub fn choose(&mut self, packet: Outgoing) {
        self.chosen = Some(packet);
    }

    /// Queues a frame ahead of all classes.
    pub fn queue_urgent(&mut self, frame: Urgent) {
        self.urgent.push_back(frame);
    }

    /// Removes queued packets of a class; the reservation of each goes back. For transports that
    /// take back what is not on the wire yet.
    pub fn remove(&mut self, class: u8, mut gone: impl FnMut(&Outgoing) -> bool) {
        let c = usize::from(class);
        let used = &mut self.used[c];
        self.queues[c].retain(|(_, packet)| {
            let gone = gone(packet);
            if gone {
                *used -= u64::from(packet.ip) + ETHERNET_BYTES;
            }
            !gone
        });
        if self.queues[c].is_empty() {
            self.queued &= !(1 << class);
        }
    }

    /// Wire bytes reserved in a class's pool.
    pub fn used(&self, class: u8) -> u64 {
        self.used[usize::from(class)]
    }

    /// Size of a class's pool, wire bytes.
    pub fn pool(&self, class: u8) -> u64 {
        self.settings.pools[usize::from(class)]
    }

    /// Classes whose pool has refused a reservation and has not been refilled since, a bit each.
    #[inline]
    pub fn starved(&self) -> u8 {
        self.starved
    }

    /// Forgets that a class's pool was full: its transport tries again.
    #[inline]
    pub fn refill(&mut self, class: u8) {
        self.starved &= !(1 << class);
    }

    /// The same for all starved pools that are at most half full.
    pub fn refill_half_empty(&mut self) {
        for c in 0..CLASSES {
            if 2 * self.used[c] <= self.settings.pools[c] {
                self.starved &= !(1 << c);
            }
        }
    }

    /// Whether a starved pool is at most half full.
    #[inline]
    pub fn has_room(&self) -> bool {
        let mut classes = self.starved;
        while classes != 0 {
            let c = classes.trailing_zeros() as usize & 7;
            if 2 * self.used[c] <= self.settings.pools[c] {
                return true;
            }
            classes &= classes - 1;
        }
        false
    }

    /// Asks for [`super::Transport::room`] at the end of the frame in serialization.
    #[inline]
    pub fn want(&mut self) {
        self.wanted = true;
    }

    /// Whether that was asked for; it no longer is.
    #[inline]
    pub fn take_wanted(&mut self) -> bool {
        std::mem::take(&mut self.wanted)
    }

    /// Whether nothing waits in a queue.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queued == 0 && self.chosen.is_none()
    }

    /// Holds or releases a class.
    pub fn set_paused(&mut self, class: u8, held: bool) {
        let bit = 1 << class;
        if held { self.paused |= bit } else { self.paused &= !bit }
    }

    /// Classes held, a bit each.
    pub fn paused(&self) -> u8 {
        self.paused
    }

    /// End of the frame in serialization, or of the last one.
    pub fn free_at(&self) -> u64 {
        self.free_at
    }

    /// Packets and frames waiting, IP bytes of the packets: a data frame in serialization is not
    /// among them.
    pub fn waiting(&self) -> u64 {
        let queued = self.queues.iter().flatten().map(|(_, packet)| u64::from(packet.ip));
        let urgent = self.urgent.iter().map(|frame| match frame {
            Urgent::Pfc(_) => 0,
            Urgent::Packet(packet) => u64::from(packet.ip),
        });
        let chosen = self.chosen.map_or(0, |packet| u64::from(packet.ip));
        queued.sum::<u64>() + urgent.sum::<u64>() + chosen
    }

    /// The frame in serialization has ended by `now`: its room goes back. To be called before
    /// anything else at an instant.
    #[inline]
    pub fn settle(&mut self, now: u64) {
        if self.free_at <= now && self.sending.1 != 0 {
            self.used[usize::from(self.sending.0)] -= self.sending.1;
            self.sending.1 = 0;
        }
    }

    /// When the next frame may start, at the earliest at `now`.
    #[inline]
    pub fn next(&self, now: u64) -> Next {
        if self.chosen.is_some() || !self.urgent.is_empty() {
            return Next::Free(self.free_at.max(now));
        }
        let mut classes = self.queued & !self.paused;
        if classes == 0 {
            // A starved pool waits for the end of the frame in serialization.
            let waits = self.starved != 0 && self.sending.1 != 0 || self.wanted;
            return if waits { Next::Free(self.free_at.max(now)) } else { Next::Never };
        }
        let mut ready = NEVER;
        while classes != 0 {
            let c = classes.trailing_zeros() as usize & 7;
            ready = ready.min(self.queues[c].front().map_or(NEVER, |(at, _)| *at));
            classes &= classes - 1;
        }
        // At an instant that is both, the end of serialization comes first and finds it not ready
        // unless it became ready earlier; a timer then starts it.
        if ready < self.free_at || self.free_at > now {
            Next::Free(self.free_at.max(now))
        } else {
            Next::Ready(ready.max(now))
        }
    }

    /// Wire bytes of the smallest frame that could start next; 0: none waits.
    pub fn next_wire(&self, framing: Framing) -> u64 {
        if let Some(frame) = self.urgent.front() {
            return match frame {
                Urgent::Pfc(pfc) => u64::from(pfc.wire),
                Urgent::Packet(packet) => framing.wire(u64::from(packet.ip)),
            };
        }
        let mut classes = self.queued & !self.paused;
        let mut least = NEVER;
        while classes != 0 {
            let c = classes.trailing_zeros() as usize & 7;
            let wire = self.queues[c].front().map(|(_, p)| framing.wire(u64::from(p.ip)));
            least = least.min(wire.unwrap_or(NEVER));
            classes &= classes - 1;
        }
        if least == NEVER { 0 } else { least }
    }

    /// Picks the frame that starts at `now` at an idle port. `before`: only packets that became
    /// ready before `now` count (an end of serialization precedes what falls due with it).
    #[inline]
    pub fn pick(&mut self, now: u64, before: bool) -> Option<Picked> {
        match self.chosen.take() {
            Some(packet) => Some(Picked::Packet(packet)),
            None => self.pick_queued(now, before),
        }
    }

    fn pick_queued(&mut self, now: u64, before: bool) -> Option<Picked> {
        if let Some(frame) = self.urgent.pop_front() {
            return Some(match frame {
                Urgent::Pfc(frame) => Picked::Pfc(frame),
                Urgent::Packet(packet) => Picked::Packet(packet),
            });
        }
        let mut ready = 0u8;
        let mut classes = self.queued & !self.paused;
        while classes != 0 {
            let c = classes.trailing_zeros() as usize & 7;
            let at = self.queues[c].front().map_or(NEVER, |(at, _)| *at);
            if at < now || (at == now && !before) {
                ready |= 1 << c;
            }
            classes &= classes - 1;
        }
        if ready == 0 {
            return None;
        }
        let class = self.choose_class(ready);
        let c = usize::from(class);
        let (_, packet) = self.queues[c].pop_front()?;
        if self.queues[c].is_empty() {
            self.queued &= !(1 << class);
        }
        self.sending = (class, u64::from(packet.ip) + ETHERNET_BYTES);
        Some(Picked::Packet(packet))
    }

    /// The frame just picked will have left at `end`.
    #[inline]
    pub fn started(&mut self, end: u64) {
        self.free_at = end;
    }

    #[inline]
    fn choose_class(&mut self, ready: u8) -> u8 {
        let highest = 7 - ready.leading_zeros() as u8;
        let weights = match &self.settings.scheduler {
            Scheduler::Strict => return highest,
            Scheduler::RoundRobin => [1; CLASSES],
            Scheduler::Weighted(weights) => *weights,
        };
        let (last, sent) = self.turn;
        if ready >> last & 1 != 0 && sent < weights[usize::from(last)].max(1) {
            self.turn.1 += 1;
            return last;
        }
        // The next class above the last one, round to it.
        let next = (1..=CLASSES as u8)
            .map(|step| (last + step) % CLASSES as u8)
            .find(|class| ready >> class & 1 != 0)
            .unwrap_or(highest);
        self.turn = (next, 1);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CodePoint, Header, PacketKind};
    use super::*;
    use proptest::prelude::*;

    fn settings(scheduler: Scheduler) -> EgressSettings {
        EgressSettings { pools: [230_400, 25_600, 0, 0, 0, 0, 0, 0], scheduler }
    }

    fn packet(class: u8, ip: u16) -> Outgoing {
        Outgoing {
            header: Header::new(PacketKind::Data, 0, 0),
            dst: 1,
            ip,
            entropy: 0,
            tc: class,
            class,
            code_point: CodePoint::NoTrim,
            ect: true,
            unscheduled: false,
        }
    }

    #[test]
    fn a_default_pool_takes_54_full_packets_and_has_room_again_at_27() {
        let mut egress = Egress::new(settings(Scheduler::Strict));
        let mut reserved = 0;
        while egress.reserve(0, 4_184) {
            egress.queue(0, packet(0, 4_184));
            reserved += 1;
        }
        assert_eq!((reserved, egress.used(0), egress.starved()), (54, 226_908, 1));
        let (mut sent, mut now) = (0, 0);
        while !egress.has_room() {
            assert!(egress.pick(now, false).is_some());
            egress.started(now + 84_040);
            assert_eq!(egress.next(now), Next::Free(now + 84_040));
            now += 84_040;
            egress.settle(now);
            sent += 1;
        }
        assert_eq!((sent, egress.used(0)), (27, 113_454));
    }

    #[test]
    fn control_goes_before_data_and_urgent_frames_before_both() {
        let mut egress = Egress::new(settings(Scheduler::Strict));
        for class in [0, 1] {
            assert!(egress.reserve(class, 60));
            egress.queue(0, packet(class, 60));
        }
        let pfc = PfcFrame { tc: 0, quanta: 65_535, wire: 84 };
        egress.queue_urgent(Urgent::Pfc(pfc));
        assert_eq!(egress.next_wire(Framing::ETHERNET), 84, "its own size");
        egress.set_paused(1, true);
        assert_eq!(egress.pick(5, false), Some(Picked::Pfc(pfc)));
        assert_eq!(egress.pick(5, false), Some(Picked::Packet(packet(0, 60))), "1 is held");
        assert_eq!(egress.pick(5, false), None);
        egress.set_paused(1, false);
        assert_eq!(egress.pick(5, false), Some(Picked::Packet(packet(1, 60))));
    }

    #[test]
    fn what_falls_due_with_the_end_of_a_frame_is_not_picked_by_it() {
        let mut egress = Egress::new(settings(Scheduler::Strict));
        egress.started(100);
        egress.queue(100, packet(1, 60));
        assert_eq!(egress.next(40), Next::Free(100));
        assert_eq!(egress.pick(100, true), None);
        assert_eq!(egress.next(100), Next::Ready(100));
        assert!(egress.pick(100, false).is_some());
    }

    #[test]
    fn weights_count_packets() {
        let mut egress = Egress::new(settings(Scheduler::Weighted([1, 3, 0, 0, 0, 0, 0, 0])));
        for class in [0, 1] {
            for _ in 0..8 {
                egress.queue(0, packet(class, 60));
            }
        }
        let order: Vec<u8> = (0..8)
            .map(|_| match egress.pick(1, false) {
                Some(Picked::Packet(packet)) => packet.class,
                _ => 9,
            })
            .collect();
        assert_eq!(order, [0, 1, 1, 1, 0, 1, 1, 1]);
    }

    proptest! {
        /// A class's packets leave in order of readiness, then of queueing.
        #[test]
        fn order_of_readiness(ready in prop::collection::vec(0u64..20, 1..40)) {
            let mut egress = Egress::new(settings(Scheduler::Strict));
            for (number, &at) in ready.iter().enumerate() {
                egress.queue(at, packet(0, number as u16));
            }
            let mut expected: Vec<(u64, u16)> = ready.iter().enumerate().map(|(n, &at)| (at, n as u16)).collect();
            expected.sort();
            for (_, number) in expected {
                let Some(Picked::Packet(packet)) = egress.pick(20, false) else { panic!("queued") };
                prop_assert_eq!(packet.ip, number);
            }
        }
    }
}
