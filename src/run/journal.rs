//! What one run did, line by line, for whoever looks while it goes on or after it died.
//!
//! Owns `journal/RUN.jsonl` of a dataset: one file a process, one JSON object a line, a line when a
//! job starts and one when it ends, written before anything else happens. A line is handed to the
//! system whole, not synced: it outlives the process, which is what it is for, not a power failure.
//! Refuses to be evidence of results: what is done is what the tables hold. Everything in a journal
//! depends on the machine and the clock, and nothing else is made of it.

use super::events::{Event, Reporter, Stop};
use crate::record::Provenance;
use crate::sweep::plan::JobId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Name of the folder.
pub const FOLDER: &str = "journal";

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "e", rename_all = "snake_case")]
pub enum Line {
    /// The run begins.
    Run(Box<RunLine>),
    /// A job starts.
    Start {
        /// The job.
        job: String,
        /// The worker.
        worker: usize,
        /// When, ms since 1970.
        t: u64,
    },
    /// A job ended.
    End {
        /// The job.
        job: String,
        /// `ran`, `failed`, `not_run`.
        how: How,
        /// Its estimated cost, packet-hops.
        cost: f64,
        /// Wall time, us.
        wall_us: u64,
        /// When, ms since 1970.
        t: u64,
    },
    /// Finished jobs are in the dataset.
    Published {
        /// How many.
        jobs: usize,
        /// When, ms since 1970.
        t: u64,
    },
    /// No further jobs are started.
    Stopping {
        /// Why.
        why: String,
        /// When, ms since 1970.
        t: u64,
    },
    /// Still there, though no job started or ended for a while.
    Alive {
        /// When, ms since 1970.
        t: u64,
    },
    /// The run ended in an orderly way.
    Finish {
        /// When, ms since 1970.
        t: u64,
    },
    /// The process died; written by the one that watched it.
    Death {
        /// `SIGABRT`, `SIGKILL by the out-of-memory killer`, `SIGKILL from outside`, …
        cause: String,
        /// Whether by a signal of its own making.
        own: bool,
        /// When, ms since 1970.
        t: u64,
    },
}

/// What a run says of itself when it begins.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunLine {
    /// Its name.
    pub run: String,
    /// The machine.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// `k/n`, if it is one of several.
    pub shard: Option<String>,
    /// The plan.
    pub plan_hash: String,
    /// Version of poolsweep.
    pub version: String,
    /// Threads.
    pub threads: u32,
    /// Jobs to do.
    pub jobs: usize,
    /// Jobs of its share that were done before.
    pub done_before: usize,
    /// Estimated cost of the jobs to do, packet-hops.
    pub cost: f64,
    /// The Slurm job, `ARRAY_TASK` if it is one of an array.
    pub slurm: Option<String>,
    /// When, ms since 1970.
    pub t: u64,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It ran.
    Ran,
    /// It failed.
    Failed,
    /// It only left a row.
    NotRun,
}

/// The journal of this process, being written.
#[derive(Debug)]
pub struct Journal {
    file: Mutex<File>,
    broken: AtomicBool,
}

impl Journal {
    /// Begins the journal of a run.
    ///
    /// # Errors
    /// What the disk refuses; a journal of that name that is there already.
    pub fn begin(dataset: &Path, line: RunLine) -> io::Result<Self> {
        let path = file(dataset, &line.run);
        std::fs::create_dir_all(dataset.join(FOLDER))?;
        let opened = File::options().append(true).create_new(true).open(&path);
        let file = opened
            .map_err(|e| io::Error::new(e.kind(), format!("creating {}: {e}", path.display())))?;
        let journal = Journal { file: Mutex::new(file), broken: AtomicBool::new(false) };
        journal.append(&Line::Run(Box::new(line)))?;
        Ok(journal)
    }

    /// The run of a provenance, as its first line has it.
    pub fn first_line(run: &Provenance, shard: Option<String>) -> RunLine {
        let slurm = match (&run.slurm_array_job_id, &run.slurm_array_task_id) {
            (Some(array), Some(task)) => Some(format!("{array}_{task}")),
            _ => run.slurm_job_id.clone(),
        };
        RunLine {
            run: run.run_id.clone(),
            host: run.host.clone(),
            pid: std::process::id(),
            shard,
            plan_hash: run.plan_hash.clone(),
            version: run.version.clone(),
            threads: run.threads,
            slurm,
            t: millis(run.start),
            ..RunLine::default()
        }
    }

    /// Adds a line. A disk that refuses it must not cost the results: after the first refusal
    /// nothing is written any more, and [`Journal::is_broken`] says so.
    pub fn say(&self, line: &Line) {
        if !self.is_broken() && self.append(line).is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a line could not be written.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    fn append(&self, line: &Line) -> io::Result<()> {
        let text = text(line)?;
        // One call, so that lines of several threads never mix.
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&text)
    }
}

impl Line {
    /// A job starts.
    pub fn start(job: JobId, worker: usize) -> Self {
        Line::Start { job: job.to_string(), worker, t: now() }
    }

    /// A job ended.
    pub fn end(job: JobId, how: How, cost: f64, wall: Duration) -> Self {
        let wall_us = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        Line::End { job: job.to_string(), how, cost, wall_us, t: now() }
    }

    /// Chunks were published.
    pub fn published(jobs: usize) -> Self {
        Line::Published { jobs, t: now() }
    }

    /// No further jobs are started.
    pub fn stopping(why: Stop) -> Self {
        let why = match why {
            Stop::Interrupted => "interrupted",
            Stop::TooManyFailures => "too_many_failures",
            Stop::Output => "output",
        };
        Line::Stopping { why: why.to_owned(), t: now() }
    }

    /// Still there.
    pub fn alive() -> Self {
        Line::Alive { t: now() }
    }

    /// The end.
    pub fn finish() -> Self {
        Line::Finish { t: now() }
    }

    /// When it was written, ms since 1970.
    pub fn time(&self) -> u64 {
        match self {
            Line::Run(run) => run.t,
            Line::Start { t, .. }
            | Line::End { t, .. }
            | Line::Published { t, .. }
            | Line::Stopping { t, .. }
            | Line::Alive { t }
            | Line::Finish { t }
            | Line::Death { t, .. } => *t,
        }
    }
}

/// How long a journal stays silent at most while its run goes on.
pub const ALIVE_EVERY: Duration = Duration::from_secs(20);

/// A reporter whose events go into a journal too.
pub struct Noted<'a> {
    inner: &'a mut dyn Reporter,
    journal: &'a Journal,
    last: Instant,
}

impl<'a> Noted<'a> {
    /// Reports to both.
    pub fn new(inner: &'a mut dyn Reporter, journal: &'a Journal) -> Self {
        Noted { inner, journal, last: Instant::now() }
    }
}

impl Reporter for Noted<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Stopping(why) => self.journal.say(&Line::stopping(*why)),
            Event::Finished => self.journal.say(&Line::finish()),
            _ => {}
        }
        self.inner.event(event);
    }

    fn tick(&mut self) {
        if self.last.elapsed() >= ALIVE_EVERY {
            self.last = Instant::now();
            self.journal.say(&Line::alive());
        }
        self.inner.tick();
    }
}

/// Adds how a run died to its journal; for the process that watched it.
///
/// # Errors
/// What the disk refuses; a run that never began one.
pub fn add_death(dataset: &Path, run: &str, cause: &str, own: bool) -> io::Result<()> {
    let line = Line::Death { cause: cause.to_owned(), own, t: now() };
    let mut file = File::options().append(true).open(file(dataset, run))?;
    file.write_all(&text(&line)?)
}

/// What a journal says, in short.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Story {
    /// The run.
    pub run: RunLine,
    /// Jobs started and not ended, with when they started.
    pub in_flight: BTreeMap<JobId, u64>,
    /// Jobs ended, by how.
    pub ran: usize,
    /// Jobs that failed.
    pub failed: usize,
    /// Jobs that only left a row.
    pub not_run: usize,
    /// Jobs ended, published or not.
    pub ended: BTreeSet<JobId>,
    /// Estimated cost of the jobs that ended.
    pub cost_done: f64,
    /// Jobs whose results are in the dataset.
    pub published: usize,
    /// Why no further jobs are started.
    pub stopping: Option<String>,
    /// How the process died, and whether by its own making.
    pub death: Option<(String, bool)>,
    /// Whether it ended in an orderly way.
    pub finished: bool,
    /// When the last line was written, ms since 1970.
    pub last: u64,
}

impl Story {
    /// Reads the journal of one run. A last line that is not whole yet is left out.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(path: &Path) -> io::Result<Story> {
        let bytes = std::fs::read(path)?;
        let mut story = Story::default();
        let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
        for line in bytes[..whole].split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            // A line of another version is passed over: a journal is no evidence.
            if let Ok(line) = serde_json::from_slice::<Line>(line) {
                story.take(line);
            }
        }
        Ok(story)
    }

    fn take(&mut self, line: Line) {
        self.last = line.time();
        match line {
            Line::Run(run) => self.run = *run,
            Line::Start { job, t, .. } => {
                if let Some(job) = id(&job) {
                    self.in_flight.insert(job, t);
                }
            }
            Line::End { job, how, cost, .. } => {
                if let Some(job) = id(&job) {
                    self.in_flight.remove(&job);
                    self.ended.insert(job);
                }
                self.cost_done += cost;
                match how {
                    How::Ran => self.ran += 1,
                    How::Failed => self.failed += 1,
                    How::NotRun => self.not_run += 1,
                }
            }
            Line::Published { jobs, .. } => self.published += jobs,
            Line::Stopping { why, .. } => self.stopping = Some(why),
            Line::Finish { .. } => self.finished = true,
            Line::Death { cause, own, .. } => self.death = Some((cause, own)),
            Line::Alive { .. } => {}
        }
    }
}

/// The journals of a dataset, in order of names.
///
/// # Errors
/// A folder that cannot be listed.
pub fn files(dataset: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(dataset.join(FOLDER)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The journal of a run.
pub fn file(dataset: &Path, run: &str) -> PathBuf {
    dataset.join(FOLDER).join(format!("{run}.jsonl"))
}

fn text(line: &Line) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}

fn id(text: &str) -> Option<JobId> {
    u64::from_str_radix(text, 16).ok().map(JobId)
}

/// Milliseconds since 1970, as lines have them.
pub fn now() -> u64 {
    millis(SystemTime::now())
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_tells_its_story() {
        let folder = tempfile::tempdir().unwrap();
        let line =
            RunLine { run: "r1".into(), jobs: 3, shard: Some("1/2".into()), ..RunLine::default() };
        let journal = Journal::begin(folder.path(), line.clone()).unwrap();
        let (a, b, c) = (JobId(1), JobId(2), JobId(3));
        let second = Duration::from_secs(1);
        journal.say(&Line::start(a, 0));
        journal.say(&Line::start(b, 1));
        journal.say(&Line::end(a, How::Ran, 10.0, second));
        journal.say(&Line::start(c, 0));
        journal.say(&Line::end(c, How::Failed, 5.0, second));
        journal.say(&Line::published(2));
        journal.say(&Line::stopping(Stop::Interrupted));
        assert!(!journal.is_broken());
        add_death(folder.path(), "r1", "SIGABRT", true).unwrap();
        let files = files(folder.path()).unwrap();
        assert_eq!(files, [file(folder.path(), "r1")]);
        // Half a line, as a reader may catch it.
        let mut half = File::options().append(true).open(&files[0]).unwrap();
        half.write_all(b"{\"e\":\"start\",\"job\":\"00").unwrap();
        let story = Story::read(&files[0]).unwrap();
        assert_eq!(story.run, line);
        assert_eq!(story.in_flight.keys().collect::<Vec<_>>(), [&b]);
        assert_eq!((story.ran, story.failed, story.not_run, story.published), (1, 1, 0, 2));
        assert_eq!((story.cost_done, story.finished), (15.0, false));
        assert_eq!(story.stopping.as_deref(), Some("interrupted"));
        assert_eq!(story.death, Some(("SIGABRT".to_owned(), true)));
    }

    #[test]
    fn one_file_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let line = RunLine { run: "r1".into(), ..RunLine::default() };
        Journal::begin(folder.path(), line.clone()).unwrap();
        let error = Journal::begin(folder.path(), line).unwrap_err().to_string();
        assert!(error.contains("r1.jsonl"), "{error}");
    }
}
