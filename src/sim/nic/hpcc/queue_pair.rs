//! One flow at both of its ends.
//!
//! Owns what the sender may send next and what the receiver answers. Refuses to know ports.

use super::NONE;

/// A flow.
#[derive(Debug, Clone, Copy)]
pub struct QueuePair {
    /// Its slot at the owner's; [`NONE`] once it is acknowledged to its end.
    pub flow: u32,
    pub src: u32,
    pub dst: u32,
    pub tc: u8,
    /// UDP source port.
    pub entropy: u16,
    /// Payload bytes.
    pub size: u64,
    /// First byte to send next.
    pub next: u64,
    /// First byte that is not acknowledged.
    unacknowledged: u64,
    /// First byte that was never sent.
    pub fresh: u64,
    /// When its law lets it send again, ps.
    pub available: u64,
    /// Receiver: first byte that is missing.
    expected: u64,
    /// Receiver: what the last negative acknowledgement named, and when the same may be named again.
    refused: (u64, u64),
    /// Packets and answers that name it and have neither arrived nor been lost.
    pub under_way: u32,
    /// It stands in its sender's list.
    pub listed: bool,
}

/// What a receiver makes of a data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// In order, and acknowledged.
    Ack,
    /// In order, without an answer.
    Silent,
    /// Out of order: a negative acknowledgement.
    Nack,
    /// Out of order, of which the sender was told just now.
    Told,
    /// Received before.
    Duplicate,
}

/// When a receiver answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerRules {
    /// At whole multiples of this.
    pub chunk: u64,
    /// At every packet from which on it has this much.
    pub interval: u64,
    /// Between two negative acknowledgements of the same bytes, ps.
    pub nack_interval: u64,
}

impl QueuePair {
    /// A flow of which nothing was sent. One of nothing carries a byte.
    pub fn new(flow: u32, (src, dst): (u32, u32), tc: u8, entropy: u16, size: u64) -> QueuePair {
        QueuePair {
            flow,
            src,
            dst,
            tc,
            entropy,
            size: size.max(1),
            next: 0,
            unacknowledged: 0,
            fresh: 0,
            available: 0,
            expected: 0,
            refused: (0, 0),
            under_way: 0,
            listed: true,
        }
    }

    /// Payload bytes to send.
    #[inline]
    pub fn left(&self) -> u64 {
        self.size.saturating_sub(self.next)
    }

    /// Payload bytes sent and not acknowledged.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.next.saturating_sub(self.unacknowledged)
    }

    /// Whether every byte is acknowledged.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.unacknowledged >= self.size
    }

    /// Whether nothing can name it any more.
    pub fn is_gone(&self) -> bool {
        self.flow == NONE && self.under_way == 0 && !self.listed
    }

    /// First byte the receiver misses.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// An acknowledgement arrives; a negative one has the sender go back.
    pub fn acknowledge(&mut self, expected: u64, negative: bool) {
        self.unacknowledged = self.unacknowledged.max(expected);
        if negative {
            self.next = self.unacknowledged;
        }
    }

    /// A data packet arrives at the receiver.
    pub fn arrive(&mut self, now: u64, first: u64, payload: u64, rules: &AnswerRules) -> Answer {
        if first == self.expected {
            self.expected += payload;
            let answered =
                self.expected >= rules.interval || self.expected.is_multiple_of(rules.chunk);
            return if answered { Answer::Ack } else { Answer::Silent };
        }
        if first < self.expected {
            return Answer::Duplicate;
        }
        let (named, again) = self.refused;
        if named == self.expected && now < again {
            return Answer::Told;
        }
        self.refused = (self.expected, now + rules.nack_interval);
        Answer::Nack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: AnswerRules = AnswerRules { chunk: 4_000, interval: 9_000, nack_interval: 500 };

    #[test]
    fn answers_at_chunks_and_from_the_interval_on() {
        let mut qp = QueuePair::new(0, (0, 1), 3, 0, 11_000);
        let answers: Vec<Answer> =
            (0..11).map(|n| qp.arrive(0, n * 1_000, 1_000, &RULES)).collect();
        let acks: Vec<usize> =
            (0..11).filter(|&n| answers[n] == Answer::Ack).map(|n| n + 1).collect();
        assert_eq!(acks, [4, 8, 9, 10, 11]);
        assert!(answers.iter().all(|a| matches!(a, Answer::Ack | Answer::Silent)));
    }

    #[test]
    fn a_gap_is_told_once_in_a_while_and_the_sender_goes_back() {
        let mut qp = QueuePair::new(0, (0, 1), 3, 0, 11_000);
        assert_eq!(qp.arrive(7, 1_000, 1_000, &RULES), Answer::Nack, "the first one always");
        assert_eq!(qp.arrive(506, 2_000, 1_000, &RULES), Answer::Told);
        assert_eq!(qp.arrive(507, 3_000, 1_000, &RULES), Answer::Nack);
        assert_eq!(qp.arrive(508, 0, 1_000, &RULES), Answer::Silent);
        assert_eq!(qp.arrive(509, 2_000, 1_000, &RULES), Answer::Nack, "another gap");
        assert_eq!(qp.arrive(510, 0, 1_000, &RULES), Answer::Duplicate);
        qp.next = 4_000;
        qp.acknowledge(1_000, true);
        assert_eq!((qp.next, qp.left()), (1_000, 10_000));
        qp.acknowledge(11_000, false);
        qp.acknowledge(500, true);
        assert!(qp.is_finished() && qp.left() == 0, "an old answer takes nothing back");
    }
}
