//! The executor against a mock simulator and a mock dataset.

use super::*;
use crate::run::chunks::{cut_by, outstanding};
use crate::run::events::Silent;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// "Simulates" job j: its result is a hash of j; chosen jobs panic or fail; some take longer.
#[derive(Default)]
struct Mock {
    panics: BTreeSet<usize>,
    fails: BTreeSet<usize>,
    ran: Mutex<Vec<usize>>,
    /// Sets the flag when this job runs.
    interrupt_at: Option<(usize, &'static AtomicBool)>,
}

fn value(job: usize) -> u64 {
    (job as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Work for Mock {
    type Output = u64;
    fn run(&self, job: usize) -> Result<u64, String> {
        lock(&self.ran).push(job);
        if let Some((at, flag)) = self.interrupt_at
            && at == job
        {
            flag.store(true, Ordering::Relaxed);
        }
        // Later jobs are faster, so that completion is out of order with several threads.
        std::thread::sleep(Duration::from_micros(200u64.saturating_sub(job as u64 * 7 % 200)));
        assert!(!self.panics.contains(&job), "job {job} fell over");
        if self.fails.contains(&job) { Err(format!("job {job} gave up")) } else { Ok(value(job)) }
    }
}

type Part = Vec<(usize, Outcome<u64>)>;

/// Parts by their jobs, in order of publication; `Err` at the n-th call of a kind.
#[derive(Default)]
struct Parts {
    parts: Mutex<Vec<Part>>,
    pushes: AtomicUsize,
    publications: AtomicUsize,
    opened: AtomicUsize,
    most_open: AtomicUsize,
    fail_push: Option<usize>,
    fail_publish: Option<usize>,
}

impl Parts {
    fn rows(&self) -> BTreeMap<usize, Outcome<u64>> {
        let mut rows = BTreeMap::new();
        for (job, outcome) in lock(&self.parts).iter().flatten() {
            assert!(rows.insert(*job, outcome.clone()).is_none(), "job {job} published twice");
        }
        rows
    }

    fn part_set(&self) -> BTreeSet<Vec<usize>> {
        lock(&self.parts).iter().map(|part| part.iter().map(|(job, _)| *job).collect()).collect()
    }
}

impl Sink<u64> for Parts {
    type Open = Part;
    type Error = String;
    fn open(&self) -> Result<Self::Open, String> {
        let open = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_open.fetch_max(open, Ordering::Relaxed);
        Ok(Vec::new())
    }
    fn push(&self, open: &mut Self::Open, result: Finished<u64>) -> Result<(), String> {
        if self.fail_push == Some(self.pushes.fetch_add(1, Ordering::Relaxed)) {
            return Err("too wide a value".into());
        }
        if let Some((last, _)) = open.last() {
            assert!(*last < result.job, "out of order");
        }
        open.push((result.job, result.outcome));
        Ok(())
    }
    fn publish(&self, open: Self::Open) -> Result<(), String> {
        self.opened.fetch_sub(1, Ordering::Relaxed);
        if self.fail_publish == Some(self.publications.fetch_add(1, Ordering::Relaxed)) {
            return Err("no space left on device".into());
        }
        lock(&self.parts).push(open);
        Ok(())
    }
}

fn tasks(count: usize) -> Vec<Task> {
    // Every eleventh job is infeasible.
    (0..count)
        .map(|job| Task { job, cost: (job * 37 % 101) as f64 * 1e6, runs: job % 11 != 10 })
        .collect()
}

fn options(threads: usize) -> Options {
    Options { threads: NonZeroUsize::new(threads), ..Options::default() }
}

fn leaked_flag() -> &'static AtomicBool {
    Box::leak(Box::new(AtomicBool::new(false)))
}

fn run_all(mock: &Mock, chunks: Vec<Chunk>, threads: usize) -> (Parts, Ended) {
    let parts = Parts::default();
    let stop = AtomicBool::new(false);
    let ended =
        execute(chunks, vec![], &options(threads), mock, &parts, &stop, &mut Silent).unwrap();
    (parts, ended)
}

#[test]
fn any_number_of_threads_gives_the_same_parts() {
    let mock = || Mock { panics: [7, 30].into(), fails: [13].into(), ..Mock::default() };
    let (one, ended) = run_all(&mock(), cut_by(&tasks(100), 200e6, 100), 1);
    assert_eq!(ended.tally, Tally { ran: 88, not_run: 9, failed: 3, outstanding: 0 });
    assert_eq!(ended.stopped, None);
    for threads in [2, 3, 8] {
        let (many, same) = run_all(&mock(), cut_by(&tasks(100), 200e6, 100), threads);
        assert_eq!(many.rows(), one.rows());
        assert_eq!(many.part_set(), one.part_set());
        assert_eq!(same, ended);
        assert!(many.most_open.load(Ordering::Relaxed) <= threads + 1);
    }
}

#[test]
fn a_panic_is_a_failed_row_with_its_message_and_the_others_go_on() {
    let mock = Mock { panics: [3].into(), fails: [4].into(), ..Mock::default() };
    let (parts, ended) = run_all(&mock, cut_by(&tasks(10), 1.0, 10), 2);
    let rows = parts.rows();
    assert_eq!(ended.tally.failed, 2);
    let Outcome::Failed(message) = &rows[&3] else { panic!("{:?}", rows[&3]) };
    assert!(message.starts_with("panic at src/run/executor/tests.rs:"), "{message}");
    assert!(message.ends_with("job 3 fell over"), "{message}");
    assert_eq!(rows[&4], Outcome::Failed("job 4 gave up".into()));
    assert_eq!(rows[&5], Outcome::Ran(value(5)));
}

#[test]
fn infeasible_jobs_leave_rows_without_running() {
    let mock = Mock::default();
    let (parts, _) = run_all(&mock, cut_by(&tasks(33), 50e6, 10), 2);
    assert_eq!(parts.rows()[&10], Outcome::NotRun);
    assert!(lock(&mock.ran).iter().all(|job| job % 11 != 10));
}

#[test]
fn the_longest_job_starts_first() {
    let mock = Mock::default();
    let all = tasks(50);
    let longest = all.iter().filter(|t| t.runs).max_by(|a, b| a.cost.total_cmp(&b.cost)).unwrap();
    run_all(&mock, cut_by(&all, 1.0, 1), 1);
    assert_eq!(lock(&mock.ran)[0], longest.job);
}

#[test]
fn max_failures_stops_starting_and_publishes_what_finished() {
    let mock = Mock { fails: (0..100).collect(), ..Mock::default() };
    let parts = Parts::default();
    let stop = AtomicBool::new(false);
    let limited = Options { max_failures: NonZeroUsize::new(5), ..options(2) };
    let chunks = cut_by(&tasks(100), f64::INFINITY, 30);
    let ended = execute(chunks, vec![], &limited, &mock, &parts, &stop, &mut Silent).unwrap();
    assert_eq!(ended.stopped, Some(Stop::TooManyFailures));
    // One more may have been in flight.
    assert!((5..=6).contains(&ended.tally.failed), "{:?}", ended.tally);
    let done = ended.tally.failed + ended.tally.not_run;
    assert_eq!(parts.rows().len(), done);
    assert_eq!(ended.tally.outstanding, 100 - done);
}

#[test]
fn the_last_failure_allowed_on_the_last_job_stops_nothing() {
    let mock = Mock { fails: [0].into(), ..Mock::default() };
    let parts = Parts::default();
    let stop = AtomicBool::new(false);
    let limited = Options { max_failures: NonZeroUsize::new(1), ..options(1) };
    let ended =
        execute(cut_by(&tasks(1), 1.0, 1), vec![], &limited, &mock, &parts, &stop, &mut Silent)
            .unwrap();
    assert_eq!(ended.stopped, None);
}

#[test]
fn interrupted_and_resumed_equals_uninterrupted() {
    let whole = run_all(&Mock::default(), cut_by(&tasks(120), f64::INFINITY, 17), 2).0.rows();
    for (at, threads) in [(0, 1), (20, 1), (60, 2), (77, 3), (119, 4)] {
        let flag = leaked_flag();
        let mock = Mock { interrupt_at: Some((at, flag)), ..Mock::default() };
        let parts = Parts::default();
        let cut = || cut_by(&tasks(120), f64::INFINITY, 17);
        let ended =
            execute(cut(), vec![], &options(threads), &mock, &parts, flag, &mut Silent).unwrap();
        let first = parts.rows();
        assert_eq!(first.len() + ended.tally.outstanding, 120);
        if ended.tally.outstanding > 0 {
            assert_eq!(ended.stopped, Some(Stop::Interrupted));
        }
        let mut seen: Vec<usize> = lock(&mock.ran).clone();
        seen.sort_unstable();
        let published: Vec<usize> = first.keys().copied().filter(|job| job % 11 != 10).collect();
        assert_eq!(published, seen, "a finished job was lost");
        let left = outstanding(cut(), |job| first.contains_key(&job));
        let mut rows = run_all(&Mock::default(), left, 2).0.rows();
        rows.extend(first);
        assert_eq!(rows, whole);
    }
}

#[test]
fn a_stop_before_the_start_runs_nothing() {
    let (mock, parts) = (Mock::default(), Parts::default());
    let stop = AtomicBool::new(true);
    let chunks = cut_by(&tasks(9), 1.0, 3);
    let ended = execute(chunks, vec![], &options(2), &mock, &parts, &stop, &mut Silent).unwrap();
    assert_eq!(ended.stopped, Some(Stop::Interrupted));
    assert_eq!(ended.tally.outstanding, 9);
    assert!(parts.rows().is_empty());
}

#[test]
fn a_writer_error_ends_the_run_and_what_was_published_can_be_resumed() {
    let whole = run_all(&Mock::default(), cut_by(&tasks(60), f64::INFINITY, 7), 1).0.rows();
    for threads in [1, 3] {
        for nth in 0..8 {
            for parts in [
                Parts { fail_publish: Some(nth), ..Parts::default() },
                Parts { fail_push: Some(nth * 7), ..Parts::default() },
            ] {
                let stop = AtomicBool::new(false);
                let chunks = cut_by(&tasks(60), f64::INFINITY, 7);
                let mock = Mock::default();
                let error =
                    execute(chunks, vec![], &options(threads), &mock, &parts, &stop, &mut Silent)
                        .unwrap_err();
                assert!(error == "no space left on device" || error == "too wide a value");
                let first = parts.rows();
                assert!(first.len() < 60);
                let left = outstanding(cut_by(&tasks(60), f64::INFINITY, 7), |job| {
                    first.contains_key(&job)
                });
                let mut rows = run_all(&Mock::default(), left, threads).0.rows();
                rows.extend(first);
                assert_eq!(rows, whole);
            }
        }
    }
}

#[derive(Default)]
struct Log(Vec<Event>);

impl Reporter for Log {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

#[test]
fn every_job_is_reported_once_between_started_and_finished() {
    let mock = Mock { fails: [5].into(), ..Mock::default() };
    let (parts, stop, mut log) = (Parts::default(), AtomicBool::new(false), Log::default());
    let chunks = cut_by(&tasks(22), f64::INFINITY, 5);
    execute(chunks, vec![], &Options { skipped: 4, ..options(2) }, &mock, &parts, &stop, &mut log)
        .unwrap();
    let events = log.0;
    assert!(matches!(events[0], Event::Started { jobs: 22, skipped: 4, threads: 2, .. }));
    assert_eq!(events.last(), Some(&Event::Finished));
    let mut jobs: Vec<usize> = events
        .iter()
        .filter_map(|event| match event {
            Event::Ran { job, .. } | Event::NotRun { job } | Event::Failed { job, .. } => {
                Some(*job)
            }
            _ => None,
        })
        .collect();
    jobs.sort_unstable();
    assert_eq!(jobs, (0..22).collect::<Vec<_>>());
    let published: usize = events
        .iter()
        .filter_map(|event| match event {
            Event::Published { jobs } => Some(*jobs),
            _ => None,
        })
        .sum();
    assert_eq!(published, 22);
}

#[test]
fn a_signal_is_reported_once() {
    // Set before the start: dispatcher and worker both see it, whichever is first.
    for _ in 0..50 {
        let (parts, stop, mut log) = (Parts::default(), AtomicBool::new(true), Log::default());
        let chunks = cut_by(&tasks(22), f64::INFINITY, 5);
        execute(chunks, vec![], &options(2), &Mock::default(), &parts, &stop, &mut log).unwrap();
        let said = log.0.iter().filter(|e| **e == Event::Stopping(Stop::Interrupted)).count();
        assert_eq!(said, 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Chunk size and threads decide where rows are stored, never which.
    #[test]
    fn any_chunk_size_gives_the_same_rows(
        count in 1usize..60,
        most in 1usize..20,
        threads in 1usize..5,
        panics in proptest::collection::btree_set(0usize..60, 0..4),
    ) {
        let mock = || Mock { panics: panics.clone(), ..Mock::default() };
        let (reference, _) = run_all(&mock(), cut_by(&tasks(count), f64::INFINITY, count), 1);
        let (parts, ended) = run_all(&mock(), cut_by(&tasks(count), f64::INFINITY, most), threads);
        prop_assert_eq!(parts.rows(), reference.rows());
        prop_assert_eq!(ended.tally.outstanding, 0);
    }
}

#[test]
fn the_longest_of_a_few_start_first() {
    let costs = [1e6, 3e6, 2e6, 3e6];
    let tasks = |costs: &[f64]| -> Vec<Task> {
        let task = |(job, &cost)| Task { job, cost, runs: true };
        costs.iter().enumerate().map(task).collect()
    };
    assert_eq!(starts(&tasks(&costs)), [1, 3, 2, 0]);
    // No job overtakes more than a window of others.
    let rising: Vec<f64> = (0..200).map(|job| f64::from(job) * 1e6).collect();
    let order = starts(&tasks(&rising));
    assert_eq!((order[0], order[63], order[64], order[199]), (63, 0, 127, 192));
}
