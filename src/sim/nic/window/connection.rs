//! One connection of the fixed-window transport, both halves.
//!
//! Owns which packets are outstanding and which have arrived. Refuses to know messages' contents,
//! ports and clocks.

use crate::sim::nic::NEVER;
use std::collections::VecDeque;

/// No entry of a list.
pub const NONE: u32 = u32::MAX;

/// Where a packet is, as its sender knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Queued or on its way.
    InFlight,
    /// Its timeout has expired: it waits to be sent again.
    Overdue,
    /// Acknowledged.
    Retired,
}

/// A packet that has been generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Place of its message.
    pub message: u32,
    /// IP bytes.
    pub ip: u16,
    /// Where it is.
    pub state: State,
    /// Whether its serialization has started once.
    pub sent: bool,
    /// When its last transmission is overdue; [`NEVER`] until that has started.
    pub deadline: u64,
}

/// A connection. PSNs do not wrap here and run on from message to message.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Class of its data.
    pub tc: u8,
    /// IP bytes generated and neither acknowledged nor overdue.
    pub in_flight: u64,
    /// Whether it waits for its turn.
    pub ready: bool,
    /// First and last of the messages not generated whole yet, or [`NONE`].
    pub queue: (u32, u32),
    /// Overdue packets in order of expiry; some may have been acknowledged since.
    overdue: VecDeque<u64>,
    /// PSN of the first slot: everything below is retired.
    base: u64,
    slots: VecDeque<Slot>,
    /// Receiver: everything below has arrived.
    expected: u64,
    /// Receiver: whether PSNs from `expected` on have arrived; never starts with one that has.
    arrived: VecDeque<bool>,
    /// Receiver: an acknowledgement found the control pool full.
    pub owed: bool,
    /// Receiver: UDP source port of the packet received last.
    pub entropy: u16,
}

impl Connection {
    /// Nothing sent or received.
    pub fn new(src: u32, dst: u32, tc: u8) -> Connection {
        Connection {
            src,
            dst,
            tc,
            in_flight: 0,
            ready: false,
            queue: (NONE, NONE),
            overdue: VecDeque::new(),
            base: 0,
            slots: VecDeque::new(),
            expected: 0,
            arrived: VecDeque::new(),
            owed: false,
            entropy: 0,
        }
    }

    /// Oldest PSN that is not retired.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// PSN that the receiver misses first.
    #[inline]
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// A packet that has been generated and is not below the oldest unretired one.
    #[inline]
    pub fn slot(&mut self, psn: u64) -> Option<&mut Slot> {
        let place = psn.checked_sub(self.base)?;
        self.slots.get_mut(usize::try_from(place).ok()?)
    }

    /// The oldest overdue packet, still so.
    pub fn oldest_overdue(&mut self) -> Option<(u64, Slot)> {
        while let Some(&psn) = self.overdue.front() {
            match self.slot(psn) {
                Some(slot) if slot.state == State::Overdue => return Some((psn, *slot)),
                _ => self.overdue.pop_front(),
            };
        }
        None
    }

    /// The oldest overdue packet has been generated again.
    pub fn resent(&mut self) {
        let Some((psn, slot)) = self.oldest_overdue() else { return };
        self.overdue.pop_front();
        self.in_flight += u64::from(slot.ip);
        if let Some(slot) = self.slot(psn) {
            slot.state = State::InFlight;
            slot.deadline = NEVER;
        }
    }

    /// A new packet has been generated: its PSN.
    #[inline]
    pub fn generated(&mut self, message: u32, ip: u16) -> u64 {
        let psn = self.base + self.slots.len() as u64;
        self.in_flight += u64::from(ip);
        let state = State::InFlight;
        self.slots.push_back(Slot { message, ip, state, sent: false, deadline: NEVER });
        psn
    }

    /// A timeout set for `at` has come: whether the packet is overdue now.
    pub fn expire(&mut self, psn: u64, at: u64) -> Option<Slot> {
        let slot = self.slot(psn).filter(|slot| slot.live(at))?;
        slot.state = State::Overdue;
        let slot = *slot;
        self.in_flight -= u64::from(slot.ip);
        self.overdue.push_back(psn);
        Some(slot)
    }

    /// Whether a timeout set for `at` still stands.
    pub fn stands(&mut self, psn: u64, at: u64) -> bool {
        self.slot(psn).is_some_and(|slot| slot.live(at))
    }

    /// Retires a packet if it is not; its message.
    #[inline]
    pub fn retire(&mut self, psn: u64) -> Option<u32> {
        let slot = self.slot(psn)?;
        let before = std::mem::replace(&mut slot.state, State::Retired);
        let (message, ip) = (slot.message, slot.ip);
        if before == State::InFlight {
            self.in_flight -= u64::from(ip);
        }
        while self.slots.front().is_some_and(|slot| slot.state == State::Retired) {
            self.slots.pop_front();
            self.base += 1;
        }
        (before != State::Retired).then_some(message)
    }

    /// A packet has arrived: whether for the first time.
    #[inline]
    pub fn arrive(&mut self, psn: u64) -> bool {
        let Some(place) = psn.checked_sub(self.expected) else { return false };
        if place == 0 && self.arrived.is_empty() {
            self.expected += 1;
            return true;
        }
        // Below what was generated, which the window bounds.
        let place = place as usize;
        if self.arrived.len() <= place {
            self.arrived.resize(place + 1, false);
        }
        let new = !std::mem::replace(&mut self.arrived[place], true);
        while self.arrived.front() == Some(&true) {
            self.arrived.pop_front();
            self.expected += 1;
        }
        new
    }
}

impl Slot {
    fn live(&self, at: u64) -> bool {
        self.state == State::InFlight && self.deadline == at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// A packet arrives for the first time once, and what is missing first is known.
        #[test]
        fn arrivals_are_a_set(psns in prop::collection::vec(0u64..40, 1..120)) {
            let mut connection = Connection::new(0, 1, 0);
            let mut seen = BTreeSet::new();
            for psn in psns {
                prop_assert_eq!(connection.arrive(psn), seen.insert(psn));
                let missing = (0..).find(|psn| !seen.contains(psn));
                prop_assert_eq!(Some(connection.expected()), missing);
            }
        }
    }

    #[test]
    fn bytes_leave_flight_once() {
        let mut connection = Connection::new(0, 1, 0);
        for psn in 0..3 {
            assert_eq!(connection.generated(7, 100), psn);
            if let Some(slot) = connection.slot(psn) {
                slot.deadline = 50 + psn;
            }
        }
        assert!(connection.expire(1, 50).is_none(), "not its deadline");
        assert!(connection.expire(1, 51).is_some() && connection.expire(1, 51).is_none());
        assert!(connection.expire(0, 50).is_some());
        assert_eq!(connection.in_flight, 100);
        assert_eq!(connection.oldest_overdue().map(|(psn, _)| psn), Some(1));
        assert_eq!((connection.retire(1), connection.in_flight), (Some(7), 100));
        assert_eq!(connection.oldest_overdue().map(|(psn, _)| psn), Some(0));
        connection.resent();
        assert_eq!((connection.in_flight, connection.base()), (200, 0));
        assert!(!connection.stands(0, 50), "its new transmission has not started");
        assert_eq!((connection.retire(0), connection.retire(0)), (Some(7), None));
        assert_eq!(
            (connection.retire(2), connection.in_flight, connection.base()),
            (Some(7), 0, 3)
        );
    }
}
