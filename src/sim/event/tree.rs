//! A 4-ary winner tree over fixed slots.

use super::{EventList, NEVER};

/// Fixed slots, the smallest key at the root.
///
/// Setting a slot re-plays one path of four-way comparisons: ⌈log4 slots⌉ levels, each one half
/// of a cache line. Keys carry their slot, so only keys are stored. The tree is complete: group 0
/// is the root's, the groups below group g are 4g + 1 to 4g + 4. Memory: 8 B × 4/3 a slot, slots
/// rounded up to a power of four.
#[derive(Debug, Clone)]
pub struct WinnerTree {
    groups: Vec<[u64; 4]>,
    /// First group of the leaves.
    leaves: usize,
    root: u64,
}

impl EventList for WinnerTree {
    fn with_slots(slots: usize) -> Self {
        let (mut leaves, mut width) = (0, 1);
        while width * 4 < slots {
            leaves += width;
            width *= 4;
        }
        // The last level is cut to the groups in use.
        let used = slots.div_ceil(4).max(1);
        WinnerTree { groups: vec![[NEVER; 4]; leaves + used], leaves, root: NEVER }
    }

    #[inline]
    fn set(&mut self, slot: usize, key: u64) {
        let mut group = self.leaves + (slot >> 2);
        let mut place = slot & 3;
        let mut key = key;
        loop {
            let keys = &mut self.groups[group];
            keys[place] = key;
            key = least(keys[0], keys[1]);
            key = least(key, least(keys[2], keys[3]));
            if group == 0 {
                break;
            }
            place = (group - 1) & 3;
            group = (group - 1) >> 2;
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
