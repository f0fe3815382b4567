//! A 4-ary winner tree over fixed slots.

use super::{EventList, NEVER};

/// Fixed slots, the smallest key at the root.
///
/// Setting a slot re-plays one path of four-way comparisons: ⌈log4 slots⌉ levels, each one half
/// of a cache line. Keys carry their slot, so only keys are stored. Memory: 8 B × 4/3 a slot.
#[derive(Debug, Clone)]
pub struct WinnerTree {
    /// All levels, leaves first, each padded to a multiple of four.
    keys: Vec<[u64; 4]>,
    /// First group of each level above the leaves.
    levels: Vec<usize>,
    root: u64,
}

impl EventList for WinnerTree {
    fn with_slots(slots: usize) -> Self {
        let mut groups = slots.max(1).div_ceil(4);
        let mut total = groups;
        let mut levels = Vec::new();
        while groups > 1 {
            levels.push(total);
            groups = groups.div_ceil(4);
            total += groups;
        }
        WinnerTree { keys: vec![[NEVER; 4]; total], levels, root: NEVER }
    }

    #[inline]
    fn set(&mut self, slot: usize, key: u64) {
        let mut index = slot;
        let mut key = key;
        let mut base = 0;
        for &next in &self.levels {
            let group = &mut self.keys[base + (index >> 2)];
            group[index & 3] = key;
            let least = group[0].min(group[1]).min(group[2].min(group[3]));
            index >>= 2;
            base = next;
            // A key that is not the winner of its group changes nothing above.
            if self.keys[base + (index >> 2)][index & 3] == least {
                return;
            }
            key = least;
        }
        let group = &mut self.keys[base];
        group[index & 3] = key;
        self.root = group[0].min(group[1]).min(group[2].min(group[3]));
    }

    #[inline]
    fn first(&mut self) -> u64 {
        self.root
    }
}
