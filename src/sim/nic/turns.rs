//! Whose turn it is to generate a packet at one NIC.
//!
//! Owns the order among connections with something to send: they take turns, one packet each, and
//! classes take turns as connections do. Refuses to know what a connection sends.

use super::egress::CLASSES;
use std::collections::VecDeque;

/// Connections of one NIC that have something to send.
#[derive(Debug, Clone)]
pub struct Turns {
    /// By class.
    queues: [VecDeque<u32>; CLASSES],
    /// Classes with such a connection, a bit each.
    classes: u8,
    /// Class that generated last.
    last: u8,
}

impl Default for Turns {
    fn default() -> Self {
        Turns { queues: Default::default(), classes: 0, last: CLASSES as u8 - 1 }
    }
}

impl Turns {
    /// A connection of a class has something to send: it goes to the tail.
    #[inline]
    pub fn enter(&mut self, class: u8, connection: u32) {
        self.queues[usize::from(class)].push_back(connection);
        self.classes |= 1 << class;
    }

    /// Whether nobody has anything to send.
    pub fn is_empty(&self) -> bool {
        self.classes == 0
    }

    /// The connection in turn among the classes that are `open`, a bit each, and its class.
    #[inline]
    pub fn next(&self, open: u8) -> Option<(u8, u32)> {
        let classes = self.classes & open;
        let above = classes & !(u8::MAX >> (7 - self.last));
        let from = if above == 0 { classes } else { above };
        let class = from.trailing_zeros() as usize;
        let head = self.queues.get(class)?.front()?;
        Some((class as u8, *head))
    }

    /// The head of a class has had its turn: it goes to the tail if it has more, else it leaves.
    #[inline]
    pub fn turn(&mut self, class: u8, more: bool) {
        self.last = class;
        let queue = &mut self.queues[usize::from(class)];
        // Alone it is its own tail.
        if more && queue.len() == 1 {
            return;
        }
        let head = queue.pop_front();
        if more {
            queue.extend(head);
        }
        if queue.is_empty() {
            self.classes &= !(1 << class);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_connections_take_turns() {
        let mut turns = Turns::default();
        for (class, connection) in [(0, 10), (0, 11), (3, 30), (7, 70)] {
            turns.enter(class, connection);
        }
        let mut order = Vec::new();
        while let Some((class, connection)) = turns.next(!0) {
            order.push(connection);
            turns.turn(class, order.len() < 6);
        }
        assert_eq!(order, [10, 30, 70, 11, 30, 70, 10, 30, 11]);
        assert!(turns.is_empty());
        turns.enter(2, 1);
        assert_eq!((turns.next(0b11), turns.next(0b100)), (None, Some((2, 1))));
    }
}
