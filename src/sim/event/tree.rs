//! A winner tree over fixed slots.

use super::{EventList, NEVER};

/// Fixed slots, the smallest key at the root.
///
/// Slots go in pairs, and pairs in groups of four, level by level. Setting a slot re-plays one
/// path. What the key competes with at a level is looked up by `place ^ 1`, `place ^ 2` and
/// `place ^ 3`, never reading what the level below has just written: the levels overlap, and the
/// key itself goes through one comparison each. Keys carry their slot, so only keys are stored.
///
/// Group 1 is the root's; the groups below group g are 4g to 4g + 3, so that a group's number is
/// its parent's followed by its place there, and the levels leave gaps between them. Memory: at
/// most 28 B a slot.
#[derive(Debug, Clone)]
pub struct WinnerTree {
    pairs: Vec<[u64; 2]>,
    groups: Vec<[u64; 4]>,
    /// First group of the level above the pairs: a power of four.
    lowest: usize,
    root: u64,
}

impl EventList for WinnerTree {
    fn with_slots(slots: usize) -> Self {
        let pairs = slots.div_ceil(2).max(1);
        let mut lowest = 1;
        while lowest * 4 < pairs {
            lowest *= 4;
        }
        WinnerTree {
            pairs: vec![[NEVER; 2]; pairs],
            // The last level is cut to the groups in use.
            groups: vec![[NEVER; 4]; lowest + pairs.div_ceil(4)],
            lowest,
            root: NEVER,
        }
    }

    #[inline(always)]
    fn set(&mut self, slot: usize, key: u64) {
        let groups = self.groups.as_mut_slice();
        let pair = &mut self.pairs[slot >> 1];
        pair[slot & 1] = key;
        let mut key = least(key, pair[slot & 1 ^ 1]);
        let mut place = self.lowest * 4 + (slot >> 1);
        while place >= 4 {
            let keys = &mut groups[place >> 2];
            keys[place & 3] = key;
            let others = least(keys[place & 3 ^ 2], keys[place & 3 ^ 3]);
            key = least(key, least(keys[place & 3 ^ 1], others));
            place >>= 2;
        }
        self.root = key;
    }

    #[inline]
    fn first(&mut self) -> u64 {
        self.root
    }
}

#[inline(always)]
fn least(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}
