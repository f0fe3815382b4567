//! The frontier between figures that pull apart: the points no other point beats in all of them.
//!
//! Owns what a point's repetitions come to and which points are on the frontier. Refuses to know
//! what the figures are.

use crate::units::Rational;
use num_traits::{CheckedAdd, CheckedDiv, Zero};
use std::cmp::Ordering;

/// What is wanted of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// As little as can be.
    Minimize,
    /// As much as can be.
    Maximize,
}

impl Direction {
    /// Better ones first.
    fn order(self, a: &Rational, b: &Rational) -> Ordering {
        match self {
            Direction::Minimize => a.cmp(b),
            Direction::Maximize => b.cmp(a),
        }
    }
}

/// How the repetitions of a point become one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// The worst of them: the largest of what is minimized, the smallest of what is maximized.
    Worst,
    /// Their mean.
    Mean,
}

impl Over {
    /// The figure of a point; `None` where there is none, or where a mean is not exact in 128 bits.
    pub fn of(self, direction: Direction, repetitions: &[Rational]) -> Option<Rational> {
        match self {
            Over::Worst => repetitions.iter().max_by(|a, b| direction.order(a, b)).copied(),
            Over::Mean => {
                let add = |sum: Rational, value: &Rational| sum.checked_add(value);
                let sum = repetitions.iter().try_fold(Rational::zero(), add)?;
                let count = i128::try_from(repetitions.len()).ok()?;
                sum.checked_div(&Rational::from_integer(count))
            }
        }
    }
}

/// The rows on the frontier, the best in the first figure first, rows that are equal in all figures
/// in their order.
///
/// A row is beaten by one that is at least as good in every figure and better in one: rows that are
/// equal in all do not beat each other, and are on the frontier together. Every row has one figure a
/// direction.
pub fn frontier(directions: &[Direction], rows: &[Vec<Rational>]) -> Vec<usize> {
    let compare = |a: &[Rational], b: &[Rational]| {
        let each = directions.iter().zip(a.iter().zip(b));
        each.map(|(direction, (a, b))| direction.order(a, b))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    let beats = |a: &[Rational], b: &[Rational]| {
        let mut each = directions.iter().zip(a.iter().zip(b));
        a != b && each.all(|(direction, (a, b))| direction.order(a, b).is_le())
    };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| compare(&rows[a], &rows[b]));
    // In this order no row is beaten by a later one, so only those already found can beat it.
    let mut found: Vec<usize> = Vec::new();
    for row in order {
        // The latest found are the nearest, and the likeliest to beat it.
        if !found.iter().rev().any(|&other| beats(&rows[other], &rows[row])) {
            found.push(row);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Direction::{Maximize, Minimize};
    use super::*;
    use proptest::prelude::*;

    fn rows(rows: &[[i128; 2]]) -> Vec<Vec<Rational>> {
        rows.iter().map(|row| row.map(Rational::from_integer).to_vec()).collect()
    }

    #[test]
    fn only_what_nothing_beats() {
        let all = rows(&[[5, 5], [1, 9], [3, 3], [9, 9], [4, 8], [1, 1]]);
        assert_eq!(frontier(&[Minimize, Maximize], &all), [1]);
        assert_eq!(frontier(&[Minimize, Minimize], &all), [5]);
        assert_eq!(frontier(&[Maximize, Minimize], &all), [3, 0, 2, 5]);
        assert!(frontier(&[Minimize, Maximize], &[]).is_empty());
    }

    #[test]
    fn equals_are_on_it_together_and_half_ties_are_beaten() {
        let all = rows(&[[2, 5], [1, 5], [1, 5], [1, 4], [0, 4]]);
        assert_eq!(frontier(&[Minimize, Maximize], &all), [4, 1, 2]);
    }

    #[test]
    fn repetitions_become_the_worst_or_the_mean() {
        let values: Vec<Rational> = [3, 1, 4].map(Rational::from_integer).to_vec();
        assert_eq!(Over::Worst.of(Minimize, &values), Some(Rational::from_integer(4)));
        assert_eq!(Over::Worst.of(Maximize, &values), Some(Rational::from_integer(1)));
        assert_eq!(Over::Mean.of(Minimize, &values), Some(Rational::new(8, 3)));
        assert_eq!(Over::Worst.of(Minimize, &[]), None);
        assert_eq!(Over::Mean.of(Minimize, &[]), None);
        let large = [Rational::from_integer(i128::MAX); 2];
        assert_eq!(Over::Mean.of(Minimize, &large), None);
    }

    proptest! {
        #[test]
        fn it_is_what_the_definition_says(
            raw in prop::collection::vec((0i128..8, 0i128..8, 0i128..8), 0..60),
            up in prop::array::uniform3(any::<bool>()),
        ) {
            let all: Vec<Vec<Rational>> =
                raw.iter().map(|&(a, b, c)| [a, b, c].map(Rational::from_integer).to_vec()).collect();
            let directions = up.map(|up| if up { Maximize } else { Minimize });
            let good = |row: &[Rational], i: usize| {
                if up[i] { row[i] } else { Rational::zero() - row[i] }
            };
            let beaten = |row: &Vec<Rational>| all.iter().any(|other| {
                (0..3).all(|i| good(other, i) >= good(row, i))
                    && (0..3).any(|i| good(other, i) > good(row, i))
            });
            let mut found = frontier(&directions, &all);
            found.sort_unstable();
            let wanted: Vec<usize> =
                (0..all.len()).filter(|&row| !beaten(&all[row])).collect();
            prop_assert_eq!(found, wanted);
        }
    }
}
