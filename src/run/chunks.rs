//! Which jobs are published together.
//!
//! Owns the cut of a plan into chunks of consecutive jobs: a pure function of the plan's costs.
//! Refuses to look at threads, at the clock or at what is done already, so that two processes (or
//! the same one after an interruption) cut alike.

/// Packet-hops of about two seconds on one core: a chunk is not worth its files below that.
pub const MIN_CHUNK_COST: f64 = 24e6;

/// Added to every job's estimate: building a network and its rows costs this even without traffic.
pub const JOB_OVERHEAD: f64 = 2_000.0;

/// A big plan is cut into about this many chunks.
pub const AIM_CHUNKS: usize = 300;

/// Least bound on the jobs of a chunk, for plans of jobs that cost next to nothing.
pub const MIN_JOBS_BOUND: usize = 1_024;

/// Least chunks of a shard, if its work is worth them.
pub const LEAST_SHARD_CHUNKS: usize = 8;

/// One job to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Task {
    /// Index of the job in the plan.
    pub job: usize,
    /// Estimated cost, in packet-hops.
    pub cost: f64,
    /// Whether it is to run; a job that breaks a rule of the switch, or is set aside, only leaves a
    /// row.
    pub runs: bool,
}

impl Task {
    /// The estimate with the fixed part; never less than that, whatever the estimate.
    pub fn full_cost(&self) -> f64 {
        if !self.runs {
            return 0.0;
        }
        // A NaN or negative estimate must not upset the order: `max` answers the other operand.
        JOB_OVERHEAD + self.cost.max(0.0)
    }
}

/// Consecutive jobs published as one unit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chunk {
    /// Its jobs, in the order of the plan.
    pub tasks: Vec<Task>,
}

impl Chunk {
    fn largest(&self) -> f64 {
        self.tasks.iter().map(Task::full_cost).fold(0.0, f64::max)
    }

    fn total(&self) -> f64 {
        self.tasks.iter().map(Task::full_cost).sum()
    }
}

/// Cuts all jobs of a plan into chunks.
///
/// A chunk closes at about two seconds of estimated work, or at the share that gives
/// [`AIM_CHUNKS`] chunks if that is more.
pub fn cut(tasks: &[Task]) -> Vec<Chunk> {
    cut_into(tasks, AIM_CHUNKS)
}

/// Cuts the jobs of one of `shards` shards: all shards together come to about [`AIM_CHUNKS`]
/// chunks, but none to fewer than [`LEAST_SHARD_CHUNKS`] if its work is worth that many files, so
/// that a killed one does not lose everything.
pub fn cut_shard(tasks: &[Task], shards: usize) -> Vec<Chunk> {
    cut_into(tasks, (AIM_CHUNKS / shards.max(1)).max(LEAST_SHARD_CHUNKS))
}

fn cut_into(tasks: &[Task], chunks: usize) -> Vec<Chunk> {
    let total: f64 = tasks.iter().map(Task::full_cost).sum();
    let aim = (total / chunks as f64).max(MIN_CHUNK_COST);
    let most = tasks.len().div_ceil(chunks).max(MIN_JOBS_BOUND);
    cut_by(tasks, aim, most)
}

/// Cuts at a cost or a number of jobs, whichever comes first.
pub fn cut_by(tasks: &[Task], aim: f64, most: usize) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut open = Chunk::default();
    let mut cost = 0.0;
    for task in tasks {
        open.tasks.push(*task);
        cost += task.full_cost();
        if cost >= aim || open.tasks.len() >= most {
            chunks.push(std::mem::take(&mut open));
            cost = 0.0;
        }
    }
    if !open.tasks.is_empty() {
        chunks.push(open);
    }
    chunks
}

/// Leaves out the jobs that are done; chunks without any left disappear.
pub fn outstanding(chunks: Vec<Chunk>, done: impl Fn(usize) -> bool) -> Vec<Chunk> {
    chunks
        .into_iter()
        .map(|mut chunk| {
            chunk.tasks.retain(|task| !done(task.job));
            chunk
        })
        .filter(|chunk| !chunk.tasks.is_empty())
        .collect()
}

/// The order in which chunks are started: the one with the longest job first, so that no long job
/// is left for the end while other cores idle; ties by total cost, then in the order of the plan.
pub fn longest_first(chunks: &mut [Chunk]) {
    chunks.sort_by(|a, b| {
        b.largest().total_cmp(&a.largest()).then_with(|| b.total().total_cmp(&a.total()))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(costs: &[f64]) -> Vec<Task> {
        costs.iter().enumerate().map(|(job, &cost)| Task { job, cost, runs: true }).collect()
    }

    fn sizes(chunks: &[Chunk]) -> Vec<usize> {
        chunks.iter().map(|chunk| chunk.tasks.len()).collect()
    }

    #[test]
    fn long_jobs_stand_alone_and_short_ones_share() {
        let chunks = cut(&tasks(&[30e6, 30e6, 10e6, 10e6, 10e6, 1.0]));
        assert_eq!(sizes(&chunks), [1, 1, 3, 1]);
    }

    #[test]
    fn a_big_plan_has_a_few_hundred_chunks() {
        for count in [100_000, 1_000_000] {
            let chunks = cut(&tasks(&vec![3e6; count]));
            assert!((200..=AIM_CHUNKS + 1).contains(&chunks.len()), "{}", chunks.len());
        }
        let free = cut(&vec![Task { job: 0, cost: 5e9, runs: false }; 1_000_000]);
        assert!(free.len() <= AIM_CHUNKS + 1, "{}", free.len());
    }

    #[test]
    fn every_job_is_in_one_chunk_in_order() {
        let all = tasks(&(0..5_000).map(|i| f64::from(i % 7) * 1e6).collect::<Vec<_>>());
        let again: Vec<Task> = cut(&all).into_iter().flat_map(|chunk| chunk.tasks).collect();
        assert_eq!(again, all);
    }

    #[test]
    fn senseless_estimates_do_no_harm() {
        let mut chunks = cut(&tasks(&[f64::NAN, -1e30, 1e9, f64::INFINITY]));
        longest_first(&mut chunks);
        let mut jobs: Vec<usize> = chunks.iter().flat_map(|c| &c.tasks).map(|t| t.job).collect();
        jobs.sort_unstable();
        assert_eq!(jobs, [0, 1, 2, 3]);
    }

    #[test]
    fn what_is_done_does_not_move_the_cuts() {
        let all = tasks(&[10e6; 9]);
        let chunks = cut(&all);
        assert_eq!(sizes(&chunks), [3, 3, 3]);
        let left = outstanding(chunks, |job| job < 4);
        assert_eq!(sizes(&left), [2, 3]);
        assert_eq!(left[0].tasks[0].job, 4);
    }

    #[test]
    fn longest_job_first() {
        let mut chunks = cut_by(&tasks(&[1e6, 1e6, 9e6, 0.0, 5e6, 5e6]), f64::INFINITY, 2);
        longest_first(&mut chunks);
        let first: Vec<usize> = chunks.iter().map(|chunk| chunk.tasks[0].job).collect();
        assert_eq!(first, [2, 4, 0]);
    }
}
