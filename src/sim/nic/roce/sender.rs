//! The sending half of a queue pair.
//!
//! Owns its messages, one at a time, their packets' numbers, what is outstanding and since when.
//! Refuses to know pools, rates and clocks other than its timeout's.

use crate::sim::nic::NEVER;

/// No entry of a list.
pub const NONE: u32 = u32::MAX;

/// IP bytes of a data packet above its payload.
pub const DATA_HEADER: u16 = 40;

/// The packet to generate next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its number.
    pub psn: u64,
    /// Its payload, bytes.
    pub payload: u16,
    /// Whether it is the last of its message.
    pub last: bool,
}

/// State of a sending half. PSNs do not wrap here and run on from message to message:
/// `base ≤ next ≤ end`, `first ≤ base`, `sent ≤ high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    /// Oldest unacknowledged PSN.
    pub base: u64,
    /// PSN generated next.
    pub next: u64,
    /// One above the highest PSN generated so far.
    high: u64,
    /// One above the highest PSN whose serialization has started.
    sent: u64,
    /// First PSN of the message.
    pub first: u64,
    /// One above the last PSN of the message; `base == end`: no message.
    pub end: u64,
    /// Payload of all packets of the message but the last.
    mss: u16,
    /// Payload of the last one.
    last_payload: u16,
    /// Slot of the message's flow.
    pub flow: u32,
    /// Whether all packets of the message have been generated once.
    pub announced: bool,
    /// Whether it waits for its turn.
    pub ready: bool,
    /// Its packets in the egress queue.
    pub waiting: u32,
    /// When its last packet generated was or becomes ready, and its IP bytes.
    pub last: (u64, u16),
    /// When it goes back; [`NEVER`]: nothing is outstanding.
    pub deadline: u64,
    /// Whether the host's timers have an entry for that.
    pub armed: bool,
    /// First and last of the messages that wait, [`NONE`] if there are none.
    pub queue: (u32, u32),
}

impl Sender {
    /// Nothing to send.
    pub fn new() -> Sender {
        Sender {
            base: 0,
            next: 0,
            high: 0,
            sent: 0,
            first: 0,
            end: 0,
            mss: 0,
            last_payload: 0,
            flow: 0,
            announced: false,
            ready: false,
            waiting: 0,
            last: (0, 0),
            deadline: NEVER,
            armed: false,
            queue: (NONE, NONE),
        }
    }

    /// Whether it has a message.
    #[inline]
    pub fn active(&self) -> bool {
        self.base != self.end
    }

    /// Starts a message of a flow; to be called without an active one.
    pub fn start(&mut self, flow: u32, bytes: u64, mss: u16) {
        let packets = bytes.div_ceil(u64::from(mss)).max(1);
        self.first = self.end;
        self.end += packets;
        self.mss = mss;
        // At most one MSS.
        self.last_payload = (bytes - (packets - 1) * u64::from(mss)) as u16;
        self.flow = flow;
        self.announced = false;
    }

    /// The packet to generate next, if there is one.
    #[inline]
    pub fn segment(&self) -> Option<Segment> {
        let psn = self.next;
        let last = psn + 1 == self.end;
        let payload = if last { self.last_payload } else { self.mss };
        (psn != self.end).then_some(Segment { psn, payload, last })
    }

    /// The packet has been generated and is numbered at `at`: a window that was empty starts the
    /// timer then. Whether the message has now been generated whole for the first time.
    #[inline]
    pub fn generated(&mut self, at: u64, timeout: u64) -> bool {
        if self.deadline == NEVER {
            self.deadline = at.saturating_add(timeout);
        }
        self.next += 1;
        self.high = self.high.max(self.next);
        self.waiting += 1;
        let whole = self.next == self.end && !self.announced;
        self.announced |= whole;
        whole
    }

    /// A packet starts to be serialized: whether for the first time.
    #[inline]
    pub fn starts(&mut self, psn: u64) -> bool {
        self.waiting -= 1;
        let first = psn >= self.sent;
        if first {
            self.sent = psn + 1;
        }
        first
    }

    /// Every PSN below `cumulative` has been received: whether that retires something. The timer
    /// stops with an empty window; `restart` is its new deadline otherwise, if it has one.
    #[inline]
    pub fn retire(&mut self, cumulative: u64, restart: Option<u64>) -> bool {
        // Above what was sent there is nothing to acknowledge.
        if cumulative <= self.base || cumulative > self.sent {
            return false;
        }
        self.base = cumulative;
        self.next = self.next.max(cumulative);
        if self.base >= self.high || !self.active() {
            self.deadline = NEVER;
        } else if let Some(deadline) = restart {
            self.deadline = deadline;
        }
        true
    }

    /// Goes back: what is outstanding is generated again.
    pub fn rewind(&mut self) {
        self.next = self.base;
    }

    /// IP bytes from the oldest unacknowledged packet to `psn`, that one included.
    pub fn in_flight(&self, psn: u64) -> u64 {
        let full = u64::from(self.mss + DATA_HEADER);
        let bytes = (psn + 1).saturating_sub(self.base) * full;
        let short = u64::from(self.mss - self.last_payload);
        if psn + 1 == self.end { bytes.saturating_sub(short) } else { bytes }
    }

    /// Whether a PSN belongs to the active message.
    #[inline]
    pub fn owns(&self, psn: u64) -> bool {
        self.active() && psn >= self.first && psn < self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_into_full_packets_and_the_rest() {
        let mut sender = Sender::new();
        assert!(!sender.active() && sender.segment().is_none());
        sender.start(3, 4_096 + 4, 4_096);
        assert_eq!(sender.segment(), Some(Segment { psn: 0, payload: 4_096, last: false }));
        assert!(!sender.generated(5, 100));
        assert_eq!(sender.segment(), Some(Segment { psn: 1, payload: 4, last: true }));
        assert!(sender.generated(6, 100));
        assert_eq!((sender.segment(), sender.deadline), (None, 105));
        assert_eq!((sender.in_flight(0), sender.in_flight(1)), (4_136, 4_136 + 44));
        assert!(sender.starts(0) && sender.starts(1));
        assert!(sender.retire(2, Some(900)));
        assert_eq!((sender.active(), sender.deadline), (false, NEVER));
        sender.start(4, 0, 4_096);
        assert_eq!(sender.segment(), Some(Segment { psn: 2, payload: 0, last: true }));
    }

    #[test]
    fn going_back_keeps_the_timer_and_numbers_again() {
        let mut sender = Sender::new();
        sender.start(0, 10 * 4_096, 4_096);
        for psn in 0..6 {
            sender.generated(psn, 1_000);
            assert!(sender.starts(psn));
        }
        assert!(sender.retire(2, None));
        assert_eq!(sender.deadline, 1_000, "a NAK retires without a restart");
        sender.rewind();
        assert_eq!(sender.segment().map(|s| s.psn), Some(2));
        sender.generated(50, 1_000);
        assert_eq!(sender.deadline, 1_000);
        assert!(!sender.starts(2), "sent before");
        assert!(sender.retire(5, Some(2_000)));
        assert_eq!((sender.next, sender.deadline), (5, 2_000), "a late ACK skips what it covers");
        assert!(!sender.retire(7, None), "never sent");
    }
}
