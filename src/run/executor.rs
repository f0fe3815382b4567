//! Runs the jobs of chunks on every core and hands their results to a sink.
//!
//! Owns threads, the order of starts, and what happens when a job panics, when too many fail, when
//! somebody asks to stop or when the sink cannot write. Memory is bounded: a chunk is open from
//! the start of its first job to its publication, chunks are started one after the other, so at most
//! one more than there are threads is open at any time, and results of few jobs wait for another's.

use super::chunks::{Chunk, Task};
use super::events::{Event, Reporter, Stop};
use super::panics;
use cpu_time::ThreadTime;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How often reporters get a tick and the stop flag is looked at for reporting.
const TICK: Duration = Duration::from_millis(100);

/// What a job computes.
pub trait Work: Sync {
    /// What it leaves.
    type Output: Send;
    /// Runs the job with this index in the plan.
    ///
    /// # Errors
    /// A message for the job's row; a panic becomes one too.
    fn run(&self, job: usize) -> Result<Self::Output, String>;
}

/// Where results go.
pub trait Sink<T>: Sync {
    /// Results of one chunk that are not published yet.
    type Open: Send;
    /// Why writing failed.
    type Error: Send;
    /// A job begins on a worker; called there, before anything of it runs.
    fn begin(&self, _job: usize, _worker: usize) {}
    /// A job ended; called on its worker, before its result is handed on.
    fn end(&self, _task: &Task, _result: &Finished<T>) {}
    /// A chunk without results.
    ///
    /// # Errors
    /// When it cannot be prepared.
    fn open(&self) -> Result<Self::Open, Self::Error>;
    /// Adds a job's result; called in the order of the plan.
    ///
    /// # Errors
    /// When the result cannot be held.
    fn push(&self, open: &mut Self::Open, result: Finished<T>) -> Result<(), Self::Error>;
    /// Makes the chunk's results visible, all or none.
    ///
    /// # Errors
    /// When they cannot be written; nothing of the chunk is visible then.
    fn publish(&self, open: Self::Open) -> Result<(), Self::Error>;
}

/// How one job went.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<T> {
    /// It ran.
    Ran(T),
    /// It was not to be run: it breaks a rule of the switch, or is set aside.
    NotRun,
    /// It failed; the message.
    Failed(String),
}

/// One job's result with what the machine had to do for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished<T> {
    /// Its index in the plan.
    pub job: usize,
    /// How it went.
    pub outcome: Outcome<T>,
    /// Number of the worker. For `timings` only, as all below.
    pub worker: usize,
    /// When it began.
    pub start: SystemTime,
    /// Wall time.
    pub wall: Duration,
    /// CPU time of its thread.
    pub cpu: Duration,
}

/// How to execute.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Threads; `None`: one a core that this process may use.
    pub threads: Option<NonZeroUsize>,
    /// Start no further job once this many failed.
    pub max_failures: Option<NonZeroUsize>,
    /// Jobs of the plan that are done already, for reporting only.
    pub skipped: usize,
}

impl Options {
    /// The number of threads these options mean.
    pub fn thread_count(&self) -> usize {
        let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(all).get()
    }
}

/// Jobs by how they went, in this execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Ran to their end.
    pub ran: usize,
    /// Only left a row.
    pub not_run: usize,
    /// Failed.
    pub failed: usize,
    /// Not started.
    pub outstanding: usize,
}

/// How the execution ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Jobs by how they went.
    pub tally: Tally,
    /// What stopped it early; `None`: every job was done.
    pub stopped: Option<Stop>,
}

/// Executes chunks; returns when nothing is running and everything finished is published.
///
/// The jobs of `alone` are run after all others, one at a time. `stop` may be set by anybody at any time. After it is, or after too many failures, jobs in
/// flight finish, and the finished jobs of every chunk are published, a partial chunk too.
///
/// # Errors
/// The first error of the sink; jobs in flight finish, but nothing further is written.
pub fn execute<W, S>(
    mut chunks: Vec<Chunk>,
    alone: Vec<Chunk>,
    options: &Options,
    work: &W,
    sink: &S,
    stop: &AtomicBool,
    reporter: &mut dyn Reporter,
) -> Result<Ended, S::Error>
where
    W: Work,
    S: Sink<W::Output>,
{
    super::chunks::longest_first(&mut chunks);
    let together = chunks.iter().map(|chunk| chunk.tasks.len()).sum();
    chunks.extend(alone);
    let threads = options.thread_count();
    let state = State::new(chunks, options, work, sink, stop);
    let (sender, receiver) = channel();
    reporter.event(&Event::Started {
        jobs: state.order.len(),
        skipped: options.skipped,
        cost: state.chunks.iter().flat_map(|c| &c.tasks).map(Task::full_cost).sum(),
        threads,
    });
    std::thread::scope(|scope| {
        scope.spawn(|| dispatch(receiver, stop, &mut *reporter));
        let sender = sender;
        match pool(threads) {
            Some(pool) => {
                pool.broadcast(|context| state.worker(context.index(), together, &sender));
            }
            None => state.worker(0, together, &sender),
        }
        state.worker(0, state.order.len(), &sender);
        state.finish_partial(&sender);
    });
    reporter.event(&Event::Finished);
    state.ended()
}

/// Threads of our own, so that a library user's global pool is left alone.
///
/// `None`: work on this thread. One thread needs no pool (a debugger or profiler sees the job at
/// once), and where the system refuses further threads, fewer is slower, not wrong.
fn pool(threads: usize) -> Option<rayon::ThreadPool> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
    (threads > 1).then(|| builder.thread_name(|index| format!("job-{index}")).build().ok())?
}

/// Passes events on until all workers are gone.
fn dispatch(receiver: Receiver<Event>, stop: &AtomicBool, reporter: &mut dyn Reporter) {
    let mut said = false;
    let mut last = Instant::now();
    loop {
        match receiver.recv_timeout(TICK) {
            // The worker that stops for a signal says so too.
            Ok(Event::Stopping(Stop::Interrupted)) if said => {}
            Ok(event) => {
                said |= matches!(event, Event::Stopping(_));
                reporter.event(&event);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if stop.load(Ordering::Relaxed) && !said {
            said = true;
            reporter.event(&Event::Stopping(Stop::Interrupted));
        }
        if last.elapsed() >= TICK {
            last = Instant::now();
            reporter.tick();
        }
    }
}

/// A chunk between its first result and its publication.
struct Slot<O, T> {
    /// Results whose predecessors in the chunk are missing, by place in the chunk.
    waiting: BTreeMap<usize, Finished<T>>,
    /// Place of the next result the sink wants.
    next: usize,
    /// Whether a worker is handing results on; the others only leave theirs in `waiting`.
    busy: bool,
    open: Option<O>,
    published: bool,
}

impl<O, T> Slot<O, T> {
    fn new() -> Self {
        Slot { waiting: BTreeMap::new(), next: 0, busy: false, open: None, published: false }
    }
}

/// Jobs of a chunk that may be started out of the order of the plan: so many results at most wait
/// for one before them.
const WINDOW: usize = 64;

/// The order in which the jobs of a chunk are started, by their places in it: in that of the plan,
/// but the longest of each few first, so that the last ones to end are short. Among those that are
/// equally long neighbours start far from each other: they are the ones that may come out alike, and
/// the later of two can then have the results of the earlier.
fn starts(tasks: &[Task]) -> Vec<usize> {
    /// 2^64 over the golden ratio: multiples of it, wrapped, are spread evenly at any number.
    const STRIDE: usize = 0x9e37_79b9_7f4a_7c15;
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    for window in order.chunks_mut(WINDOW) {
        window.sort_by(|&a, &b| {
            let longer = tasks[b].full_cost().total_cmp(&tasks[a].full_cost());
            longer.then_with(|| a.wrapping_mul(STRIDE).cmp(&b.wrapping_mul(STRIDE)))
        });
    }
    order
}

struct State<'a, W: Work, S: Sink<W::Output>> {
    chunks: Vec<Chunk>,
    /// Every job as (chunk, place in it), in the order of starts: [`starts`].
    order: Vec<(usize, usize)>,
    cursor: AtomicUsize,
    slots: Vec<Mutex<Slot<S::Open, W::Output>>>,
    tally: Mutex<Tally>,
    stopped: Mutex<Option<Stop>>,
    error: Mutex<Option<S::Error>>,
    halt: AtomicBool,
    stop: &'a AtomicBool,
    max_failures: usize,
    work: &'a W,
    sink: &'a S,
}

/// A panic while a lock is held is a bug elsewhere that is reported there; counts stay usable.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a, W: Work, S: Sink<W::Output>> State<'a, W, S> {
    fn new(
        chunks: Vec<Chunk>,
        options: &Options,
        work: &'a W,
        sink: &'a S,
        stop: &'a AtomicBool,
    ) -> Self {
        let order: Vec<(usize, usize)> = chunks
            .iter()
            .enumerate()
            .flat_map(|(chunk, c)| starts(&c.tasks).into_iter().map(move |place| (chunk, place)))
            .collect();
        State {
            slots: chunks.iter().map(|_| Mutex::new(Slot::new())).collect(),
            cursor: AtomicUsize::new(0),
            tally: Mutex::new(Tally { outstanding: order.len(), ..Tally::default() }),
            stopped: Mutex::new(None),
            error: Mutex::new(None),
            halt: AtomicBool::new(false),
            stop,
            max_failures: options.max_failures.map_or(usize::MAX, NonZeroUsize::get),
            order,
            chunks,
            work,
            sink,
        }
    }

    /// Runs jobs until those before `until` in the order of starts are taken.
    fn worker(&self, worker: usize, until: usize, events: &Sender<Event>) {
        while !self.halt.load(Ordering::Relaxed) {
            if self.stop.load(Ordering::Relaxed) {
                // Nothing is lost if every job was started before the signal came.
                if self.cursor.load(Ordering::Relaxed) < self.order.len() {
                    self.stop_for(Stop::Interrupted, events);
                }
                return;
            }
            let next = self.cursor.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
                (next < until).then_some(next + 1)
            });
            let Ok(next) = next else { return };
            let (chunk, place) = self.order[next];
            let task = self.chunks[chunk].tasks[place];
            if task.runs {
                self.sink.begin(task.job, worker);
            }
            let finished = self.run(task, worker);
            self.sink.end(&task, &finished);
            self.count(&task, &finished.outcome, events);
            if let Err(error) = self.deliver(chunk, place, finished, events) {
                lock(&self.error).get_or_insert(error);
                self.stop_for(Stop::Output, events);
            }
        }
    }

    fn run(&self, task: Task, worker: usize) -> Finished<W::Output> {
        let job = task.job;
        let (start, wall, cpu) = (SystemTime::now(), Instant::now(), ThreadTime::now());
        let outcome = if !task.runs {
            Outcome::NotRun
        } else {
            match panics::catch(|| self.work.run(job)) {
                Ok(Ok(output)) => Outcome::Ran(output),
                Ok(Err(message)) | Err(message) => Outcome::Failed(message),
            }
        };
        Finished { job, outcome, worker, start, wall: wall.elapsed(), cpu: cpu.elapsed() }
    }

    fn count(&self, task: &Task, outcome: &Outcome<W::Output>, events: &Sender<Event>) {
        let (job, cost) = (task.job, task.full_cost());
        let mut tally = lock(&self.tally);
        tally.outstanding -= 1;
        let event = match outcome {
            Outcome::Ran(_) => {
                tally.ran += 1;
                Event::Ran { job, cost }
            }
            Outcome::NotRun => {
                tally.not_run += 1;
                Event::NotRun { job }
            }
            Outcome::Failed(message) => {
                tally.failed += 1;
                Event::Failed { job, cost, message: message.clone() }
            }
        };
        let too_many = tally.failed >= self.max_failures && tally.outstanding > 0;
        drop(tally);
        send(events, event);
        if too_many {
            self.stop_for(Stop::TooManyFailures, events);
        }
    }

    fn stop_for(&self, why: Stop, events: &Sender<Event>) {
        self.halt.store(true, Ordering::Relaxed);
        let mut stopped = lock(&self.stopped);
        // An output error outranks what came before it: it decides what the caller must do.
        if stopped.is_none() || (why == Stop::Output && *stopped != Some(Stop::Output)) {
            *stopped = Some(why);
            send(events, Event::Stopping(why));
        }
    }

    /// Leaves a result with its chunk; hands on what is in order unless another worker is at it.
    fn deliver(
        &self,
        chunk: usize,
        place: usize,
        finished: Finished<W::Output>,
        events: &Sender<Event>,
    ) -> Result<(), S::Error> {
        let length = self.chunks[chunk].tasks.len();
        let mut slot = lock(&self.slots[chunk]);
        slot.waiting.insert(place, finished);
        if slot.busy {
            return Ok(());
        }
        slot.busy = true;
        let mut open = match slot.open.take() {
            Some(open) => open,
            None => self.sink.open()?,
        };
        loop {
            let next = slot.next;
            if let Some(result) = slot.waiting.remove(&next) {
                slot.next += 1;
                drop(slot);
                self.sink.push(&mut open, result)?;
                slot = lock(&self.slots[chunk]);
            } else if slot.next == length {
                slot.published = true;
                drop(slot);
                self.sink.publish(open)?;
                send(events, Event::Published { jobs: length });
                return Ok(());
            } else {
                slot.open = Some(open);
                slot.busy = false;
                return Ok(());
            }
        }
    }

    /// After an early stop: publishes what is finished of the chunks that are not.
    fn finish_partial(&self, events: &Sender<Event>) {
        for slot in &self.slots {
            if lock(&self.error).is_some() {
                return;
            }
            let mut slot = lock(slot);
            if slot.published || (slot.next == 0 && slot.waiting.is_empty()) {
                continue;
            }
            if let Err(error) = self.publish_partial(&mut slot, events) {
                lock(&self.error).get_or_insert(error);
                self.stop_for(Stop::Output, events);
            }
        }
    }

    fn publish_partial(
        &self,
        slot: &mut Slot<S::Open, W::Output>,
        events: &Sender<Event>,
    ) -> Result<(), S::Error> {
        let mut open = match slot.open.take() {
            Some(open) => open,
            None => self.sink.open()?,
        };
        let jobs = slot.next + slot.waiting.len();
        for (_, result) in std::mem::take(&mut slot.waiting) {
            self.sink.push(&mut open, result)?;
        }
        slot.published = true;
        self.sink.publish(open)?;
        send(events, Event::Published { jobs });
        Ok(())
    }

    fn ended(self) -> Result<Ended, S::Error> {
        if let Some(error) = self.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let tally = *lock(&self.tally);
        let stopped = *lock(&self.stopped);
        Ok(Ended { tally, stopped })
    }
}

/// The dispatcher outlives the workers; were it gone, there would be nobody to tell.
fn send(events: &Sender<Event>, event: Event) {
    let _ = events.send(event);
}

#[cfg(test)]
mod tests;
