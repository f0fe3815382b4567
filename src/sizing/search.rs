//! The smallest or largest value of one setting that keeps a condition, by ask and tell.
//!
//! Owns which values are looked at next, and what their verdicts come to. A range of values is a
//! [`Scale`]: places from 0, one exact step apart. A [`Search`] asks for places, is told a
//! [`Verdict`] for each, and ends with two neighbours that prove the answer. Refuses to know what a
//! place stands for and how a verdict is made.
//!
//! What is asked follows from what was told and from nothing else: not from time, not from threads.
//! Told the same, a search repeated after an interruption asks the same.
//!
//! ```
//! use poolsweep::sizing::search::{Answer, Goal, Search, Verdict};
//!
//! let mut search = Search::new(Goal::Smallest, 1_000_000, 3);
//! while let Some(places) = search.ask() {
//!     for place in places {
//!         search.tell(place, if place >= 52_000 { Verdict::Holds } else { Verdict::Fails });
//!     }
//! }
//! assert_eq!(search.answer(), Some(Answer::Found { holds: 52_000, fails: 51_999 }));
//! ```

use crate::units::Rational;
use num_traits::{CheckedAdd, CheckedMul, CheckedSub, Signed, Zero};
use std::collections::BTreeMap;
use thiserror::Error;

/// Which end of the values that keep the condition is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// The smallest: the condition is expected to hold above it.
    Smallest,
    /// The largest: the condition is expected to hold below it.
    Largest,
}

/// What the simulations of a value say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The condition holds, at every point and for every repetition.
    Holds,
    /// It does not.
    Fails,
    /// The value cannot be run: the switch refuses it, or nothing is left of the sweep. Counts as
    /// not holding; on the far side of the values that hold it is no surprise.
    Infeasible,
}

/// What a search comes to, in places of its scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The condition holds at one place and not at its neighbour.
    Found {
        /// The answer.
        holds: u64,
        /// One step further in the wanted direction: fails, or cannot be run.
        fails: u64,
    },
    /// It holds at every place looked at, both ends of the range among them.
    Everywhere,
    /// It holds up to the wanted end of the range, though not everywhere.
    UpToEnd {
        /// That end.
        holds: u64,
    },
    /// It holds at no place looked at, both ends of the range among them.
    Nowhere,
}

/// Places of which one's simulations are known to answer all: what is measured is the same there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leap {
    /// The place that was simulated, at which the condition holds.
    pub from: u64,
    /// The last place with the same simulations, towards the one at which it does not.
    pub to: u64,
}

/// A search under way. See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    goal: Goal,
    last: u64,
    probes: u64,
    /// Places passed over, in order.
    leaps: Vec<Leap>,
    /// By place counted so that the condition is expected to fail below and hold above.
    seen: BTreeMap<u64, Verdict>,
}

impl Search {
    /// Over the places 0 to `last`. `probes` (at least 1) places between the known ones are asked
    /// for at once: 1 is bisection, more run side by side. Where verdicts are monotone the answer
    /// does not depend on it.
    pub fn new(goal: Goal, last: u64, probes: u32) -> Self {
        let probes = u64::from(probes.max(1));
        Search { goal, last, probes, leaps: Vec::new(), seen: BTreeMap::new() }
    }

    /// The places wanted next, rising; `None`: the search is over.
    pub fn ask(&self) -> Option<Vec<u64>> {
        let mut places = if [0, self.last].iter().any(|end| !self.seen.contains_key(end)) {
            let mut first = vec![0];
            first.extend(self.between(0, self.last));
            first.push(self.last);
            first.dedup();
            first
        } else {
            let (low, high) = self.open()?;
            self.between(low, high)
        };
        places.retain(|place| !self.seen.contains_key(place));
        places.iter_mut().for_each(|place| *place = self.turned(*place));
        places.sort_unstable();
        (!places.is_empty()).then_some(places)
    }

    /// As [`Search::ask`], passing over places whose simulations are known. `same` tells of a place
    /// that was told and another one whether the simulations of the first answer the second; true
    /// of all places between where it is true of the second.
    ///
    /// Asks for the last place with the simulations of the one that holds, and for its neighbour
    /// beyond: mostly that is the answer and its proof. Where it was not, once, every value between
    /// may differ from the next: from then on also for what [`Search::ask`] wants.
    pub fn ask_knowing(&mut self, same: impl Fn(u64, u64) -> bool) -> Option<Vec<u64>> {
        let asked = self.ask()?;
        let Some((low, holds)) = self.bracket() else { return Some(asked) };
        let from = self.turned(holds);
        let (mut known, mut beyond) = (holds, low);
        while known - beyond > 1 {
            let middle = beyond + (known - beyond) / 2;
            if same(from, self.turned(middle)) { known = middle } else { beyond = middle }
        }
        if known == holds {
            return Some(asked);
        }
        let mut places = vec![self.turned(known), self.turned(known - 1)];
        if !self.leaps.is_empty() {
            places.extend(asked);
        }
        places.retain(|&place| !self.seen.contains_key(&self.turned(place)));
        places.sort_unstable();
        places.dedup();
        self.leaps.push(Leap { from, to: self.turned(known) });
        Some(places)
    }

    /// The places passed over so far.
    pub fn leaps(&self) -> &[Leap] {
        &self.leaps
    }

    /// Two places between which the answer lies, as kept here: one that does not hold and one that
    /// does, with others in between. `None`: the ends were not told, or nothing holds.
    fn bracket(&self) -> Option<(u64, u64)> {
        let ends = [0, self.last].iter().all(|end| self.seen.contains_key(end));
        ends.then(|| self.open())?.filter(|(_, high)| self.seen[high] == Verdict::Holds)
    }

    /// Takes a verdict, for a place that was asked for or any other in the range.
    pub fn tell(&mut self, place: u64, verdict: Verdict) {
        if place <= self.last {
            self.seen.insert(self.turned(place), verdict);
        }
    }

    /// What came out; `None`: there is more to ask.
    pub fn answer(&self) -> Option<Answer> {
        if self.ask().is_some() {
            return None;
        }
        let holds = |verdict: &Verdict| *verdict == Verdict::Holds;
        Some(match self.edge() {
            None => Answer::Nowhere,
            Some((Some(fails), holds)) => {
                Answer::Found { holds: self.turned(holds), fails: self.turned(fails) }
            }
            Some((None, _)) if self.seen.values().all(holds) => Answer::Everywhere,
            Some((None, holds)) => Answer::UpToEnd { holds: self.turned(holds) },
        })
    }

    /// Every verdict told, by place.
    pub fn seen(&self) -> BTreeMap<u64, Verdict> {
        self.seen.iter().map(|(&place, &verdict)| (self.turned(place), verdict)).collect()
    }

    /// Where the verdicts seen are not monotone: places next to each other among those looked at,
    /// the first of which holds and the second, further on the side where it ought to hold, fails.
    /// The next place that cannot be run is no such surprise.
    ///
    /// The answer is then the edge of the outermost values that hold: what was looked at between
    /// it and the first of these places holds too.
    pub fn flips(&self) -> Vec<(u64, u64)> {
        let runnable: Vec<(u64, Verdict)> = self
            .seen
            .iter()
            .filter(|(_, verdict)| **verdict != Verdict::Infeasible)
            .map(|(&place, &verdict)| (place, verdict))
            .collect();
        let back =
            |pair: &&[(u64, Verdict)]| pair[0].1 == Verdict::Holds && pair[1].1 == Verdict::Fails;
        runnable
            .windows(2)
            .filter(back)
            .map(|pair| (self.turned(pair[0].0), self.turned(pair[1].0)))
            .collect()
    }

    /// A place as the caller counts it from one as kept here, and the other way round.
    fn turned(&self, place: u64) -> u64 {
        match self.goal {
            Goal::Smallest => place,
            Goal::Largest => self.last - place,
        }
    }

    /// The lowest place of the highest run of places that hold, and the seen place below it.
    fn edge(&self) -> Option<(Option<u64>, u64)> {
        let mut run = None;
        for (&place, &verdict) in self.seen.iter().rev() {
            match (verdict, run) {
                (Verdict::Holds, _) => run = Some(place),
                (_, Some(lowest)) => return Some((Some(place), lowest)),
                _ => {}
            }
        }
        run.map(|lowest| (None, lowest))
    }

    /// Two places between which the answer lies, with others in between.
    fn open(&self) -> Option<(u64, u64)> {
        let (low, high) = match self.edge() {
            Some((below, lowest)) => (below?, lowest),
            // Nothing holds so far. What holds can still lie between the last place that fails and
            // the next that cannot be run: too little of it, too much of it.
            None => {
                let failing = |(_, verdict): &(&u64, &Verdict)| **verdict == Verdict::Fails;
                let low = *self.seen.iter().rev().find(failing)?.0;
                (low, *self.seen.range(low + 1..).next()?.0)
            }
        };
        (high - low > 1).then_some((low, high))
    }

    /// Places between two, evenly apart.
    fn between(&self, low: u64, high: u64) -> Vec<u64> {
        let inside = (high - low).saturating_sub(1);
        let count = self.probes.min(inside);
        // The product does not fit 64 bits where the range takes all of them.
        let at = |i: u64| {
            let share = u128::from(high - low) * u128::from(i) / u128::from(count + 1);
            low + u64::try_from(share).unwrap_or(high - low)
        };
        (1..=count).map(at).collect()
    }
}

/// Values one exact step apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    from: Rational,
    step: Rational,
    last: u64,
}

/// Why a range is no [`Scale`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ScaleError {
    /// The step is zero or negative.
    #[error("the step has to be larger than zero")]
    Step,
    /// The range ends before it begins.
    #[error("the range ends below its beginning")]
    Backwards,
    /// The end is no whole number of steps from the beginning.
    #[error("the steps do not land on the end of the range")]
    Between,
    /// The range has more than 2^63 steps, or values that are not exact in 128 bits.
    #[error("the range has too many steps to count")]
    TooLong,
}

impl Scale {
    /// `from`, `from + step`, …, `to`, all in the same base unit.
    ///
    /// # Errors
    /// A step that is not positive or does not land on `to`; `to` below `from`.
    pub fn new(from: Rational, to: Rational, step: Rational) -> Result<Self, ScaleError> {
        if !step.is_positive() {
            return Err(ScaleError::Step);
        }
        let width = to.checked_sub(&from).ok_or(ScaleError::TooLong)?;
        if width < Rational::zero() {
            return Err(ScaleError::Backwards);
        }
        let inverse = step.recip();
        let steps = width.checked_mul(&inverse).ok_or(ScaleError::TooLong)?;
        if !steps.is_integer() {
            return Err(ScaleError::Between);
        }
        let last = i64::try_from(*steps.numer()).map_err(|_| ScaleError::TooLong)?;
        Ok(Scale { from, step, last: last.unsigned_abs() })
    }

    /// The highest place.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The value at a place; `None` only above [`Scale::last`], where it may not be exact.
    pub fn value(&self, place: u64) -> Option<Rational> {
        let steps = Rational::from_integer(i128::from(place));
        self.step.checked_mul(&steps)?.checked_add(&self.from)
    }
}

#[cfg(test)]
mod tests;
