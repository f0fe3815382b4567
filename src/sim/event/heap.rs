//! The standard library's heap behind the same interface: the list that tests compare with.

use super::{EventList, NEVER};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A binary heap with lazy deletion: an entry counts only while its slot still holds its key.
#[derive(Debug, Clone)]
pub struct HeapList {
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    current: Vec<u64>,
}

impl EventList for HeapList {
    fn with_slots(slots: usize) -> Self {
        HeapList { heap: BinaryHeap::new(), current: vec![NEVER; slots] }
    }

    fn set(&mut self, slot: usize, key: u64) {
        if self.current[slot] == key {
            return;
        }
        self.current[slot] = key;
        if key != NEVER {
            self.heap.push(Reverse((key, slot)));
        }
    }

    fn first(&mut self) -> u64 {
        while let Some(&Reverse((key, slot))) = self.heap.peek() {
            if self.current[slot] == key {
                return key;
            }
            self.heap.pop();
        }
        NEVER
    }
}
