//! Who sends what to whom in which step: the algorithms of collectives, in closed form.
//!
//! Owns the geometry of one algorithm over ranks 0 to n − 1. Nothing is stored: a rank's sends and
//! receives in a step, and the step in which a transfer counts at its receiver, are computed.
//! Refuses to know hosts, times and what has happened.
//!
//! A transfer's place is its number in this order:
//!
//! | shape | order |
//! |---|---|
//! | ring, exchange, rotation | step, then sender |
//! | everybody | distance to the receiver less 1, then sender |
//! | chain, up, to the root | sender, by its distance from the root, from 1 |
//! | from the root | receiver, by its distance from the root, from 1 |
//! | up and down | upwards by sender, then downwards by receiver, both by label from 1 |
//!
//! Trees are binary heaps over labels: label 0 is the root, the parent of label q is
//! (q − 1) ÷ 2, rounded down. Labels are ranks counted from the root, or for the second tree of a
//! double tree ranks counted down from n − 1: the inner labels of a heap are the lower ⌊n ÷ 2⌋, so
//! that no rank is an inner one in both.

/// One algorithm over a number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Number of ranks, at least 2.
    pub(super) ranks: u32,
    /// What they do.
    pub(super) shape: Shape,
    /// Payload bytes of a transfer; of the smallest in an exchange.
    pub(super) bytes: u64,
}

/// What the ranks of a schedule do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// In every step each rank sends to the next.
    Ring { steps: u32 },
    /// In step s each rank sends to the one s + 1 places ahead.
    Rotation,
    /// Each rank sends to every other at once.
    Everybody,
    /// Exchanges with the partner at distance 1, 2, 4, …, halving what is sent each time, over
    /// `rounds` steps; then, if `back`, the same in reverse.
    Exchange { rounds: u32, back: bool },
    /// From the rank after the root to the next and on, the last one to the root.
    Chain { root: u32 },
    /// From the leaves of a tree to its root.
    Up { root: u32 },
    /// The same and back down; labels run down from the last rank if `mirrored`.
    UpDown { mirrored: bool },
    /// Everybody to the root at once.
    ToRoot { root: u32 },
    /// The root to everybody, at once or one after the other.
    FromRoot { root: u32, at_once: bool },
}

/// A transfer a rank sends in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Send {
    /// Its place in the schedule's list.
    pub(super) place: u64,
    /// Receiving rank.
    pub(super) to: u32,
    /// Payload bytes.
    pub(super) bytes: u64,
}

/// The ends of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    /// Sending rank.
    pub(super) from: u32,
    /// Receiving rank.
    pub(super) to: u32,
    /// Step of the receiving rank that waits for it.
    pub(super) step: u32,
}

impl Schedule {
    /// Number of transfers.
    pub(super) fn transfers(&self) -> u64 {
        let (n, others) = (u64::from(self.ranks), u64::from(self.ranks) - 1);
        match self.shape {
            Shape::Ring { steps } => n * u64::from(steps),
            Shape::Rotation | Shape::Everybody => n * others,
            Shape::Exchange { rounds, back } => n * u64::from(rounds << u32::from(back)),
            Shape::UpDown { .. } => 2 * others,
            Shape::Chain { .. }
            | Shape::Up { .. }
            | Shape::ToRoot { .. }
            | Shape::FromRoot { .. } => others,
        }
    }

    /// Steps of a rank, at least 1.
    pub(super) fn steps(&self, rank: u32) -> u32 {
        match self.shape {
            Shape::Ring { steps } => steps,
            Shape::Rotation => self.ranks - 1,
            Shape::Everybody | Shape::ToRoot { .. } => 1,
            Shape::Exchange { rounds, back } => rounds << u32::from(back),
            Shape::Chain { root } | Shape::Up { root } => 1 + u32::from(rank != root),
            Shape::UpDown { .. } => 3,
            Shape::FromRoot { root, at_once } => {
                if rank == root && !at_once {
                    self.ranks - 1
                } else {
                    1
                }
            }
        }
    }

    /// How many transfers a rank receives in a step.
    pub(super) fn receives(&self, rank: u32, step: u32) -> u32 {
        let label = self.label(rank);
        match self.shape {
            Shape::Ring { .. } | Shape::Rotation | Shape::Exchange { .. } => 1,
            Shape::Everybody => self.ranks - 1,
            Shape::Chain { .. } => u32::from(step == 0 && label != 1),
            Shape::Up { .. } => {
                if step == 0 {
                    self.children(label)
                } else {
                    0
                }
            }
            Shape::UpDown { .. } => match step {
                0 => self.children(label),
                1 => u32::from(label > 0),
                _ => 0,
            },
            Shape::ToRoot { .. } => {
                if label == 0 {
                    self.ranks - 1
                } else {
                    0
                }
            }
            Shape::FromRoot { .. } => u32::from(label > 0),
        }
    }

    /// How many transfers a rank sends in a step.
    pub(super) fn sends(&self, rank: u32, step: u32) -> u32 {
        let label = self.label(rank);
        match self.shape {
            Shape::Ring { .. } | Shape::Rotation | Shape::Exchange { .. } => 1,
            Shape::Everybody => self.ranks - 1,
            Shape::Chain { .. } | Shape::Up { .. } => u32::from(step == 1),
            Shape::UpDown { .. } => match step {
                0 => 0,
                1 => u32::from(label > 0),
                _ => self.children(label),
            },
            Shape::ToRoot { .. } => u32::from(label > 0),
            Shape::FromRoot { .. } if label > 0 => 0,
            Shape::FromRoot { at_once, .. } => {
                if at_once {
                    self.ranks - 1
                } else {
                    1
                }
            }
        }
    }

    /// The transfer number `nth` (from 0) of those a rank sends in a step.
    pub(super) fn send(&self, rank: u32, step: u32, nth: u32) -> Send {
        let (label, bytes) = (self.label(rank), self.bytes);
        let in_step = |step: u32| u64::from(step) * u64::from(self.ranks) + u64::from(rank);
        // By the label at the other end of the one that is not the root.
        let at = |label: u32| u64::from(label) - 1;
        match self.shape {
            Shape::Ring { .. } => Send { place: in_step(step), to: self.ahead(rank, 1), bytes },
            Shape::Rotation => Send { place: in_step(step), to: self.ahead(rank, step + 1), bytes },
            Shape::Everybody => Send { place: in_step(nth), to: self.ahead(rank, nth + 1), bytes },
            Shape::Exchange { rounds, .. } => {
                let round = round(rounds, step);
                let bytes = bytes << (rounds - 1 - round);
                Send { place: in_step(step), to: rank ^ (1 << round), bytes }
            }
            Shape::Chain { .. } => Send { place: at(label), to: self.ahead(rank, 1), bytes },
            Shape::Up { .. } => Send { place: at(label), to: self.rank(parent(label)), bytes },
            Shape::UpDown { .. } if step == 1 => {
                Send { place: at(label), to: self.rank(parent(label)), bytes }
            }
            Shape::UpDown { .. } => {
                let child = 2 * label + 1 + nth;
                let place = u64::from(self.ranks - 1) + at(child);
                Send { place, to: self.rank(child), bytes }
            }
            Shape::ToRoot { root } => Send { place: at(label), to: root, bytes },
            Shape::FromRoot { .. } => {
                let receiver = 1 + step + nth;
                Send { place: at(receiver), to: self.rank(receiver), bytes }
            }
        }
    }

    /// The ends of the transfer at a place.
    pub(super) fn ends(&self, place: u64) -> Ends {
        let n = u64::from(self.ranks);
        let (row, from) = ((place / n) as u32, (place % n) as u32);
        // One of n − 1 by label from 1.
        let label = |place: u64| place as u32 + 1;
        match self.shape {
            Shape::Ring { .. } => Ends { from, to: self.ahead(from, 1), step: row },
            Shape::Rotation => Ends { from, to: self.ahead(from, row + 1), step: row },
            Shape::Everybody => Ends { from, to: self.ahead(from, row + 1), step: 0 },
            Shape::Exchange { rounds, .. } => {
                Ends { from, to: from ^ (1 << round(rounds, row)), step: row }
            }
            Shape::Chain { .. } => {
                let from = self.rank(label(place));
                Ends { from, to: self.ahead(from, 1), step: 0 }
            }
            Shape::Up { .. } => self.upwards(label(place)),
            Shape::UpDown { .. } if place < n - 1 => self.upwards(label(place)),
            Shape::UpDown { .. } => {
                let child = label(place - (n - 1));
                Ends { from: self.rank(parent(child)), to: self.rank(child), step: 1 }
            }
            Shape::ToRoot { root } => Ends { from: self.rank(label(place)), to: root, step: 0 },
            Shape::FromRoot { root, .. } => {
                Ends { from: root, to: self.rank(label(place)), step: 0 }
            }
        }
    }

    fn upwards(&self, label: u32) -> Ends {
        Ends { from: self.rank(label), to: self.rank(parent(label)), step: 0 }
    }

    /// Number of children of a label in the tree.
    fn children(&self, label: u32) -> u32 {
        let first = 2 * u64::from(label) + 1;
        u64::from(self.ranks).saturating_sub(first).min(2) as u32
    }

    /// The rank `distance` places ahead of one, `distance` below n.
    fn ahead(&self, rank: u32, distance: u32) -> u32 {
        ((u64::from(rank) + u64::from(distance)) % u64::from(self.ranks)) as u32
    }

    /// The label of a rank.
    fn label(&self, rank: u32) -> u32 {
        match self.shape {
            Shape::UpDown { mirrored: true } => self.ranks - 1 - rank,
            Shape::Chain { root }
            | Shape::Up { root }
            | Shape::ToRoot { root }
            | Shape::FromRoot { root, .. } => self.ahead(rank, self.ranks - root),
            _ => rank,
        }
    }

    /// The rank of a label.
    fn rank(&self, label: u32) -> u32 {
        match self.shape {
            Shape::UpDown { mirrored: true } => self.ranks - 1 - label,
            Shape::Chain { root }
            | Shape::Up { root }
            | Shape::ToRoot { root }
            | Shape::FromRoot { root, .. } => self.ahead(label, root),
            _ => label,
        }
    }
}

/// The parent of a label above 0.
fn parent(label: u32) -> u32 {
    (label - 1) / 2
}

/// The exponent of the distance of a step of an exchange.
fn round(rounds: u32, step: u32) -> u32 {
    if step < rounds { step } else { 2 * rounds - 1 - step }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn shapes(ranks: u32) -> Vec<Shape> {
        let mut shapes = vec![
            Shape::Ring { steps: ranks - 1 },
            Shape::Ring { steps: 2 * (ranks - 1) },
            Shape::Rotation,
            Shape::Everybody,
            Shape::UpDown { mirrored: false },
            Shape::UpDown { mirrored: true },
        ];
        for root in 0..ranks {
            shapes.extend([Shape::Chain { root }, Shape::Up { root }, Shape::ToRoot { root }]);
            shapes.extend([true, false].map(|at_once| Shape::FromRoot { root, at_once }));
        }
        if ranks.is_power_of_two() {
            let rounds = ranks.ilog2();
            shapes.extend([true, false].map(|back| Shape::Exchange { rounds, back }));
        }
        shapes
    }

    #[test]
    fn sends_ends_and_receives_agree() {
        for ranks in 2..=17 {
            for shape in shapes(ranks) {
                let schedule = Schedule { ranks, shape, bytes: 3 };
                let mut places = BTreeSet::new();
                let mut arrivals: BTreeMap<(u32, u32), u32> = BTreeMap::new();
                for rank in 0..ranks {
                    for step in 0..schedule.steps(rank) {
                        for nth in 0..schedule.sends(rank, step) {
                            let send = schedule.send(rank, step, nth);
                            let ends = schedule.ends(send.place);
                            assert!(places.insert(send.place), "{schedule:?} {send:?}");
                            assert_eq!((ends.from, ends.to), (rank, send.to), "{schedule:?}");
                            assert_ne!(rank, send.to);
                            assert!(ends.step < schedule.steps(send.to));
                            *arrivals.entry((send.to, ends.step)).or_default() += 1;
                        }
                    }
                }
                assert!(places.into_iter().eq(0..schedule.transfers()), "{schedule:?}");
                for rank in 0..ranks {
                    for step in 0..schedule.steps(rank) {
                        let found = arrivals.get(&(rank, step)).copied().unwrap_or(0);
                        assert_eq!(found, schedule.receives(rank, step), "{schedule:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_rank_is_an_inner_one_in_both_trees() {
        for ranks in 2..=40 {
            let inner = |mirrored| -> BTreeSet<u32> {
                let tree = Schedule { ranks, shape: Shape::UpDown { mirrored }, bytes: 0 };
                (0..ranks).filter(|&rank| tree.receives(rank, 0) > 0).collect()
            };
            let (one, other) = (inner(false), inner(true));
            assert!(one.is_disjoint(&other), "{ranks}: {one:?} {other:?}");
            assert_eq!(one.len() as u32, ranks / 2);
        }
    }

    #[test]
    fn an_exchange_halves_what_it_sends_and_doubles_the_distance() {
        let shape = Shape::Exchange { rounds: 3, back: true };
        let schedule = Schedule { ranks: 8, shape, bytes: 125 };
        let sends: Vec<(u32, u64)> = (0..6)
            .map(|step| schedule.send(5, step, 0))
            .map(|send| (send.to, send.bytes))
            .collect();
        assert_eq!(sends, [(4, 500), (7, 250), (1, 125), (1, 125), (7, 250), (4, 500)]);
    }

    #[test]
    fn a_tree_of_five_goes_up_and_down() {
        let shape = Shape::UpDown { mirrored: false };
        let schedule = Schedule { ranks: 5, shape, bytes: 9 };
        let ends: Vec<(u32, u32)> =
            (0..8).map(|place| schedule.ends(place)).map(|ends| (ends.from, ends.to)).collect();
        assert_eq!(ends, [(1, 0), (2, 0), (3, 1), (4, 1), (0, 1), (0, 2), (1, 3), (1, 4)]);
    }

    #[test]
    fn a_chain_ends_at_its_root() {
        let schedule = Schedule { ranks: 4, shape: Shape::Chain { root: 2 }, bytes: 9 };
        let ends: Vec<(u32, u32)> =
            (0..3).map(|place| schedule.ends(place)).map(|ends| (ends.from, ends.to)).collect();
        assert_eq!(ends, [(3, 0), (0, 1), (1, 2)]);
    }
}
