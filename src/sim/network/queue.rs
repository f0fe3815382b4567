//! Packets of one class that wait at a switch port.
//!
//! Owns their order. The first one is beside the port's own state and not among the others: where
//! one waits alone, as in an idle network, nothing else is touched, and in a long queue the next
//! one is fetched before it is needed.

use crate::sim::packet::Packet;
use std::collections::{VecDeque, vec_deque};
use std::{iter, option};

/// A queue, first in first out.
#[derive(Debug)]
pub(super) struct Queue {
    /// [`Packet::NONE`] in an empty queue.
    first: Packet,
    /// Those behind it.
    others: VecDeque<Packet>,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { first: Packet::NONE, others: VecDeque::new() }
    }
}

impl Queue {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn len(&self) -> usize {
        usize::from(!self.is_empty()) + self.others.len()
    }

    #[inline(always)]
    pub(super) fn push(&mut self, packet: Packet) {
        if self.is_empty() {
            self.first = packet;
        } else {
            self.others.push_back(packet);
        }
    }

    /// The first packet, which is there.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Packet {
        debug_assert!(!self.is_empty(), "a ready class has a packet");
        std::mem::replace(&mut self.first, self.others.pop_front().unwrap_or(Packet::NONE))
    }
}

impl<'a> IntoIterator for &'a Queue {
    type Item = &'a Packet;
    type IntoIter = iter::Chain<option::IntoIter<&'a Packet>, vec_deque::Iter<'a, Packet>>;

    fn into_iter(self) -> Self::IntoIter {
        let first = (!self.is_empty()).then_some(&self.first);
        first.into_iter().chain(&self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Role;
    use crate::sim::packet::Label;

    #[test]
    fn first_in_first_out_whatever_is_between() {
        let packet = |ip| Packet::new(0, 0, ip, Label::new(0, false, Role::NoTrim));
        let mut queue = Queue::default();
        let (mut pushed, mut popped) = (0, 0);
        // Lengths 1, 2, 3, … and back to nothing.
        for round in 1..6u16 {
            for _ in 0..round {
                pushed += 1;
                queue.push(packet(pushed));
            }
            let waiting: Vec<u64> = queue.into_iter().map(|packet| packet.ip()).collect();
            let expected: Vec<u64> = (popped + 1..=u64::from(pushed)).collect();
            assert_eq!((queue.len(), waiting), (usize::from(round), expected));
            for _ in 0..round {
                popped += 1;
                assert_eq!(queue.pop().ip(), popped);
            }
            assert!(queue.is_empty());
        }
    }
}
