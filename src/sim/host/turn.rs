//! Flows of one class that take turns at a host.
//!
//! Owns their order: a flow joins at the back, goes to the back when it sends, and is passed over
//! while its rate cap is not due, keeping its place. Without caps this is a ring; with them, two
//! heaps, so that a packet costs the logarithm of the flows and not a walk over those that wait.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The flows of a class, by their slot in the flow table.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The order, while no flow has a cap.
    ring: VecDeque<u32>,
    /// The order, from the first capped flow until no flow is left.
    mixed: Option<Box<Mixed>>,
}

#[derive(Debug, Clone, Default)]
struct Mixed {
    /// The next place at the back.
    back: u64,
    /// Place and slot of flows that may send.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    /// Due time, place and slot of flows that wait for their cap.
    waiting: BinaryHeap<Reverse<(u64, u64, u32)>>,
}

impl Mixed {
    fn push(&mut self, slot: u32, due: Option<u64>) {
        let place = self.back;
        self.back += 1;
        match due {
            None => self.ready.push(Reverse((place, slot))),
            Some(due) => self.waiting.push(Reverse((due, place, slot))),
        }
    }
}

impl Turn {
    /// Whether no flow is in turn.
    pub fn is_empty(&self) -> bool {
        match &self.mixed {
            None => self.ring.is_empty(),
            Some(mixed) => mixed.ready.is_empty() && mixed.waiting.is_empty(),
        }
    }

    /// The order, if no flow in it has a cap.
    #[inline]
    pub fn ring(&self) -> Option<&VecDeque<u32>> {
        if self.mixed.is_none() { Some(&self.ring) } else { None }
    }

    /// As [`Turn::ring`], to change.
    #[inline]
    pub fn ring_mut(&mut self) -> Option<&mut VecDeque<u32>> {
        if self.mixed.is_none() { Some(&mut self.ring) } else { None }
    }

    /// A flow goes to the back; one with a cap says when its next packet is due, ps.
    #[inline]
    pub fn push(&mut self, slot: u32, due: Option<u64>) {
        if self.mixed.is_none() && due.is_none() {
            self.ring.push_back(slot);
        } else {
            self.push_mixed(slot, due);
        }
    }

    fn push_mixed(&mut self, slot: u32, due: Option<u64>) {
        let ring = &mut self.ring;
        let mixed = self.mixed.get_or_insert_with(|| {
            let mut mixed = Box::<Mixed>::default();
            ring.drain(..).for_each(|slot| mixed.push(slot, None));
            mixed
        });
        mixed.push(slot, due);
    }

    /// The first flow that may send at `now`. Time never goes back between calls.
    #[inline]
    pub fn first(&mut self, now: u64) -> Option<u32> {
        let Some(mixed) = &mut self.mixed else { return self.ring.front().copied() };
        while let Some(&Reverse((due, place, slot))) = mixed.waiting.peek() {
            if due > now {
                break;
            }
            mixed.waiting.pop();
            mixed.ready.push(Reverse((place, slot)));
        }
        mixed.ready.peek().map(|first| first.0.1)
    }

    /// Takes the flow that [`Turn::first`] gave out of turn.
    #[inline]
    pub fn pop(&mut self) {
        let Some(mixed) = &mut self.mixed else {
            self.ring.pop_front();
            return;
        };
        mixed.ready.pop();
    }

    /// No flow is in turn: the next ones start anew, without heaps if they have no caps.
    pub fn reset(&mut self) {
        self.mixed = None;
    }

    /// Due time and slot of the flow that falls due first, where none may send yet; the first in
    /// turn among equals.
    pub fn first_due(&self) -> Option<(u64, u32)> {
        let first = self.mixed.as_ref()?.waiting.peek()?;
        Some((first.0.0, first.0.2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain list that is walked from its front.
        #[test]
        fn turns_are_those_of_a_list(steps in prop::collection::vec((0u8..3, 0u64..6, 1u64..5), 1..120)) {
            let mut turn = Turn::default();
            let mut list: Vec<(u32, u64)> = Vec::new();
            let (mut now, mut next) = (0, 0u32);
            for (what, wait, step) in steps {
                if what == 0 {
                    let due = (wait > 2).then_some(now + wait);
                    turn.push(next, due);
                    list.push((next, due.unwrap_or(0)));
                    next += 1;
                } else {
                    now += step;
                    let place = list.iter().position(|f| f.1 <= now);
                    prop_assert_eq!(turn.first(now), place.map(|at| list[at].0));
                    match place {
                        Some(at) => {
                            let (slot, _) = list.remove(at);
                            turn.pop();
                            if turn.is_empty() && wait % 2 == 0 {
                                turn.reset();
                            }
                            if what == 1 {
                                let due = (wait > 3).then_some(now + wait);
                                turn.push(slot, due);
                                list.push((slot, due.unwrap_or(0)));
                            }
                        }
                        None => {
                            let due = list.iter().map(|f| f.1).min();
                            let first = due.and_then(|d| list.iter().find(|f| f.1 == d));
                            prop_assert_eq!(turn.first_due(), first.map(|f| (f.1, f.0)));
                        }
                    }
                }
                prop_assert_eq!(turn.is_empty(), list.is_empty());
            }
        }
    }
}
