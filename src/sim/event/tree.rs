//! A 4-ary winner tree over fixed slots.

use super::{EventList, NEVER};

/// Fixed slots, the smallest key at the root.
///
/// Setting a slot re-plays one path of four-way comparisons: ⌈log4 slots⌉ levels, each one half
/// of a cache line. Keys carry their slot, so only keys are stored. Group 1 is the root's; the
/// groups below group g are 4g to 4g + 3, so that a group's number is its parent's followed by its
/// place there, and the levels leave gaps between them. Memory: at most 11 B × 4 a slot.
#[derive(Debug, Clone)]
pub struct WinnerTree {
    groups: Vec<[u64; 4]>,
    /// First group of the leaves: a power of four.
    leaves: usize,
    root: u64,
}

impl EventList for WinnerTree {
    fn with_slots(slots: usize) -> Self {
        let mut leaves = 1;
        while leaves * 4 < slots {
            leaves *= 4;
        }
        // The last level is cut to the groups in use.
        let used = slots.div_ceil(4).max(1);
        WinnerTree { groups: vec![[NEVER; 4]; leaves + used], leaves, root: NEVER }
    }

    #[inline]
    fn set(&mut self, slot: usize, key: u64) {
        let groups = self.groups.as_mut_slice();
        let mut group = self.leaves + (slot >> 2);
        let mut place = slot & 3;
        let mut key = key;
        loop {
            let keys = &mut groups[group];
            keys[place] = key;
            key = least(least(keys[0], keys[1]), least(keys[2], keys[3]));
            place = group & 3;
            group >>= 2;
            if group == 0 {
                break;
            }
        }
        self.root = key;
    }

    #[inline]
    fn first(&mut self) -> u64 {
        self.root
    }
}

#[inline]
fn least(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}
