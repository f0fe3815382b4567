//! A winner tree over fixed slots.

use super::{EventList, NEVER};

/// Fixed slots, the smallest key at the root.
///
/// Slots go in pairs, and pairs in groups of four, level by level, up to at most eight below the
/// root: with a wider root there is a level less in most trees. Setting a slot re-plays one path.
/// What the key competes with at a level is looked up by `place ^ 1`, `place ^ 2` and
/// `place ^ 3`, never reading what the level below has just written: the levels overlap, and the
/// key itself goes through one comparison each. Keys carry their slot, so only keys are stored.
///
/// The highest groups are 8 to 15; the groups below group g are 4g to 4g + 3, so that a group's
/// number is its parent's followed by its place there, and the levels leave gaps between them.
/// Memory: at most 40 B a slot.
#[derive(Debug, Clone)]
pub struct WinnerTree {
    pairs: Vec<[u64; 2]>,
    groups: Vec<[u64; 4]>,
    /// The winners of the highest groups, or of the pairs if there are no groups.
    top: [u64; TOP],
    /// Place of the first pair: [`TOP`] times a power of four.
    first: usize,
    root: u64,
}

/// Places below the root.
const TOP: usize = 8;

impl EventList for WinnerTree {
    fn with_slots(slots: usize) -> Self {
        let pairs = slots.div_ceil(2).max(1);
        let mut first = TOP;
        while first < pairs {
            first *= 4;
        }
        // The last level is cut to the groups in use.
        let groups = if first > TOP { first / 4 + pairs.div_ceil(4) } else { 0 };
        WinnerTree {
            pairs: vec![[NEVER; 2]; pairs],
            groups: vec![[NEVER; 4]; groups],
            top: [NEVER; TOP],
            first,
            root: NEVER,
        }
    }

    #[inline(always)]
    fn set(&mut self, slot: usize, key: u64) {
        let groups = self.groups.as_mut_slice();
        let pair = &mut self.pairs[slot >> 1];
        pair[slot & 1] = key;
        let mut key = least(key, pair[slot & 1 ^ 1]);
        let mut place = self.first + (slot >> 1);
        while place >= 2 * TOP {
            let keys = &mut groups[place >> 2];
            keys[place & 3] = key;
            let others = least(keys[place & 3 ^ 2], keys[place & 3 ^ 3]);
            key = least(key, least(keys[place & 3 ^ 1], others));
            place >>= 2;
        }
        let (place, top) = (place & (TOP - 1), &mut self.top);
        top[place] = key;
        let near = least(top[place ^ 1], least(top[place ^ 2], top[place ^ 3]));
        let far =
            least(least(top[place ^ 4], top[place ^ 5]), least(top[place ^ 6], top[place ^ 7]));
        self.root = least(key, least(near, far));
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
