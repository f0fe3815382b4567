//! The receiving half of a queue pair.
//!
//! Owns what is expected, which packets are accepted, and when an acknowledgement, a NAK or a CNP
//! is due. Refuses to build packets: it says what is to be sent.

use crate::sim::nic::NEVER;

/// Settings of receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverSettings {
    /// Packets held before the next one is acknowledged; 0 acknowledges each.
    pub threshold: u64,
    /// Longest time an acknowledgement is held, ps.
    pub ack_delay: u64,
    /// Least time between two CNPs, ps.
    pub cnp_interval: u64,
}

/// What a receiver makes of a data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is the expected one.
    Accepted,
    /// It has been received before.
    Duplicate,
    /// Something is missing before it: discarded.
    Gap,
}

/// What is to be sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Nothing, or not yet.
    Nothing,
    /// An acknowledgement of everything below the expected PSN.
    Ack,
    /// A NAK of the expected PSN.
    Nak,
}

/// State of a receiving half. PSNs do not wrap here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiver {
    /// PSN expected next: everything below has been received.
    pub expected: u64,
    /// UDP source port of the packet received last.
    pub entropy: u16,
    /// A NAK of the expected PSN has been sent.
    naked: bool,
    /// Packets held since the last acknowledgement.
    held: u64,
    /// When what is held is acknowledged; [`NEVER`]: the timer is not running.
    pub ack_at: u64,
    /// Whether the host's timers have an entry for it.
    pub ack_armed: bool,
    /// When the next CNP may be sent.
    cnp_at: u64,
    /// A marked packet has come before that.
    marked: bool,
    /// A reply that found the control pool full.
    pub owed: Reply,
}

impl Receiver {
    /// Expects PSN 0.
    pub fn new() -> Receiver {
        Receiver {
            expected: 0,
            entropy: 0,
            naked: false,
            held: 0,
            ack_at: NEVER,
            ack_armed: false,
            cnp_at: 0,
            marked: false,
            owed: Reply::Nothing,
        }
    }

    /// A data packet has arrived; `last` of its message. What it is, and what is to be sent back.
    ///
    /// A duplicate draws an acknowledgement as an accepted packet does; without that a sender
    /// whose last acknowledgement was lost would never learn.
    #[inline]
    pub fn data(
        &mut self,
        s: &ReceiverSettings,
        now: u64,
        psn: u64,
        last: bool,
    ) -> (Verdict, Reply) {
        if psn > self.expected {
            let first = !self.naked;
            if first {
                self.naked = true;
                self.held = 0;
            }
            return (Verdict::Gap, if first { Reply::Nak } else { Reply::Nothing });
        }
        let verdict = if psn == self.expected {
            self.expected += 1;
            self.naked = false;
            Verdict::Accepted
        } else {
            Verdict::Duplicate
        };
        if last || self.held >= s.threshold {
            self.held = 0;
            self.ack_at = now.saturating_add(s.ack_delay);
            return (verdict, Reply::Ack);
        }
        self.held += 1;
        if self.ack_at == NEVER {
            self.ack_at = now.saturating_add(s.ack_delay);
        }
        (verdict, Reply::Nothing)
    }

    /// The acknowledgement timer has come up.
    pub fn ack_due(&mut self) -> Reply {
        self.ack_at = NEVER;
        let held = std::mem::take(&mut self.held);
        if held > 0 { Reply::Ack } else { Reply::Nothing }
    }

    /// A marked packet has arrived: whether a CNP is sent now. If not, one is due when the
    /// interval is over: at the time given, if this is the first such packet.
    #[inline]
    pub fn marked(&mut self, s: &ReceiverSettings, now: u64) -> Result<(), Option<u64>> {
        if now >= self.cnp_at {
            self.cnp_at = now.saturating_add(s.cnp_interval);
            return Ok(());
        }
        let first = !self.marked;
        self.marked = true;
        Err(first.then_some(self.cnp_at))
    }

    /// The interval after a CNP is over and marked packets have come meanwhile: one is sent.
    pub fn cnp_due(&mut self, s: &ReceiverSettings, now: u64) {
        self.marked = false;
        self.cnp_at = now.saturating_add(s.cnp_interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: ReceiverSettings =
        ReceiverSettings { threshold: 16, ack_delay: 1_000_000_000, cnp_interval: 0 };

    #[test]
    fn the_seventeenth_packet_and_the_last_one_are_acknowledged() {
        let mut receiver = Receiver::new();
        let acked: Vec<u64> = (0..256)
            .filter(|&psn| receiver.data(&S, psn * 83_080, psn, psn == 255).1 == Reply::Ack)
            .map(|psn| psn + 1)
            .collect();
        let expected: Vec<u64> = (1..=15).map(|n| n * 17).chain([256]).collect();
        assert_eq!(acked, expected);
        let without = ReceiverSettings { threshold: 0, ..S };
        let mut receiver = Receiver::new();
        assert!((0..9).all(|psn| receiver.data(&without, 0, psn, false).1 == Reply::Ack));
    }

    #[test]
    fn one_nak_a_gap_and_silence_until_it_is_filled() {
        let mut receiver = Receiver::new();
        assert_eq!(receiver.data(&S, 0, 0, false), (Verdict::Accepted, Reply::Nothing));
        assert_eq!(receiver.data(&S, 1, 2, false), (Verdict::Gap, Reply::Nak));
        assert_eq!(receiver.data(&S, 2, 3, true), (Verdict::Gap, Reply::Nothing));
        assert_eq!(receiver.ack_due(), Reply::Nothing, "the NAK has cancelled what was held");
        assert_eq!(receiver.data(&S, 3, 0, false), (Verdict::Duplicate, Reply::Nothing));
        assert_eq!(receiver.data(&S, 3, 1, false), (Verdict::Accepted, Reply::Nothing));
        assert_eq!(receiver.data(&S, 4, 3, false), (Verdict::Gap, Reply::Nak), "a new gap");
        assert_eq!(receiver.expected, 2);
    }

    #[test]
    fn the_acknowledgement_timer_restarts_with_acknowledgements_not_with_packets() {
        let mut receiver = Receiver::new();
        receiver.data(&S, 10, 0, false);
        assert_eq!(receiver.ack_at, 10 + S.ack_delay);
        receiver.data(&S, 500, 1, false);
        assert_eq!(receiver.ack_at, 10 + S.ack_delay);
        assert_eq!(receiver.data(&S, 600, 2, true).1, Reply::Ack);
        assert_eq!(receiver.ack_at, 600 + S.ack_delay);
        receiver.data(&S, 700, 3, false);
        assert_eq!(receiver.ack_at, 600 + S.ack_delay);
        assert_eq!(receiver.ack_due(), Reply::Ack);
        assert_eq!(receiver.ack_due(), Reply::Nothing);
        assert_eq!(receiver.ack_at, NEVER);
    }

    #[test]
    fn cnps_are_spaced_and_one_more_follows_marks_in_between() {
        let mut receiver = Receiver::new();
        assert_eq!([receiver.marked(&S, 5), receiver.marked(&S, 5)], [Ok(()); 2]);
        let spaced = ReceiverSettings { cnp_interval: 50, ..S };
        let mut receiver = Receiver::new();
        assert_eq!(receiver.marked(&spaced, 5), Ok(()));
        assert_eq!(receiver.marked(&spaced, 20), Err(Some(55)));
        assert_eq!(receiver.marked(&spaced, 54), Err(None));
        receiver.cnp_due(&spaced, 55);
        assert_eq!(receiver.marked(&spaced, 80), Err(Some(105)));
        receiver.cnp_due(&spaced, 105);
        assert_eq!(receiver.marked(&spaced, 155), Ok(()));
    }
}
