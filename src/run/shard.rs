//! One of several runs that share a plan without talking to each other.
//!
//! Owns which jobs belong to which shard: a pure function of the plan's costs and the number of
//! shards, so that every machine, and every later run of the same shard, comes to the same answer.
//! Refuses to look at what is done: a shard's jobs do not change as others finish theirs.

use super::chunks::Task;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;

/// Shard `number` of `count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    count: usize,
}

/// Most shards of a plan.
pub const MOST_SHARDS: usize = 100_000;

impl Shard {
    /// Shard `number`, from 1, of `count`.
    ///
    /// # Errors
    /// A number out of range.
    pub fn new(number: usize, count: usize) -> Result<Self, String> {
        if count == 0 || count > MOST_SHARDS {
            return Err(format!("{count} shards: there can be 1 to {MOST_SHARDS}"));
        }
        if number == 0 || number > count {
            return Err(format!("there is no shard {number} of {count}: they are numbered from 1"));
        }
        Ok(Shard { number, count })
    }

    /// Its number, from 1.
    pub fn number(self) -> usize {
        self.number
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.count
    }

    /// The shard's jobs, in the order of the plan.
    pub fn of(self, tasks: &[Task]) -> Vec<Task> {
        let mine = self.number - 1;
        let shards = assign(tasks, self.count);
        tasks
            .iter()
            .zip(shards)
            .filter(|(_, shard)| *shard == mine)
            .map(|(task, _)| *task)
            .collect()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is no shard: write k/n, such as 3/8");
        let (number, count) = text.split_once('/').ok_or_else(bad)?;
        let read = |part: &str| part.trim().parse::<usize>().map_err(|_| bad());
        Shard::new(read(number)?, read(count)?)
    }
}

/// The shard of every job, from 0: the longest jobs first, each to the shard with the least so far.
/// No shard then has more than the longest job over another. Jobs that only leave a row cost
/// nothing; they are dealt by number instead.
pub fn assign(tasks: &[Task], shards: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    // Costs are estimates in packet-hops: as integers they add up alike in any order.
    let cost = |job: usize| tasks[job].full_cost() as u64;
    order.sort_by_key(|&job| (Reverse(cost(job)), job));
    let mut loads: BinaryHeap<Reverse<(u128, usize, usize)>> =
        (0..shards).map(|shard| Reverse((0, 0, shard))).collect();
    let mut assigned = vec![0; tasks.len()];
    for job in order {
        if let Some(mut least) = loads.peek_mut() {
            let Reverse((load, jobs, shard)) = &mut *least;
            assigned[job] = *shard;
            *load += u128::from(cost(job));
            *jobs += 1;
        }
    }
    assigned
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tasks(costs: &[u32]) -> Vec<Task> {
        let task = |(job, &cost)| Task { job, cost: f64::from(cost), runs: cost % 7 != 3 };
        costs.iter().enumerate().map(task).collect()
    }

    #[test]
    fn shards_are_written_as_a_fraction() {
        assert_eq!("3/8".parse::<Shard>().unwrap().to_string(), "3/8");
        for (text, why) in [
            ("0/8", "numbered from 1"),
            ("9/8", "numbered from 1"),
            ("1/0", "there can be"),
            ("3", "write k/n"),
            ("a/b", "write k/n"),
        ] {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn equal_jobs_are_dealt_evenly() {
        let all = tasks(&[500_000; 100]);
        for count in [1, 3, 7, 100] {
            let sizes: Vec<usize> =
                (1..=count).map(|k| Shard::new(k, count).unwrap().of(&all).len()).collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(most - least <= 1, "{sizes:?}");
        }
    }

    #[test]
    fn jobs_that_only_leave_a_row_are_dealt_too() {
        let all = vec![Task { job: 0, cost: 1e9, runs: false }; 10];
        let mut counts = [0; 5];
        assign(&all, 5).into_iter().for_each(|shard| counts[shard] += 1);
        assert_eq!(counts, [2; 5]);
    }

    proptest! {
        #[test]
        fn every_job_is_in_one_shard_and_shards_are_even(
            costs in prop::collection::vec(0u32..100_000_000, 0..200),
            count in 1usize..40,
        ) {
            let all = tasks(&costs);
            let mut seen: Vec<Task> = Vec::new();
            let mut loads = Vec::new();
            for k in 1..=count {
                let mine = Shard::new(k, count).unwrap().of(&all);
                prop_assert!(mine.is_sorted_by_key(|task| task.job));
                loads.push(mine.iter().map(Task::full_cost).sum::<f64>());
                seen.extend(mine);
            }
            seen.sort_by_key(|task| task.job);
            prop_assert_eq!(&seen, &all);
            let longest = all.iter().map(Task::full_cost).fold(0.0, f64::max);
            let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
            let most = loads.iter().copied().fold(0.0, f64::max);
            prop_assert!(most - least <= longest + 1.0, "{:?}", loads);
        }
    }
}
