//! What happens while a plan is executed, for whoever reports it.
//!
//! Owns the events and the reporter's interface. One stream, many reporters: a bar, lines in a
//! log, nothing. Refuses to print.

/// Why no further jobs are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A signal asked for it.
    Interrupted,
    /// As many jobs failed as were allowed to.
    TooManyFailures,
    /// Results could not be written.
    Output,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Execution starts.
    Started {
        /// Jobs to do.
        jobs: usize,
        /// Jobs of the plan that are done already.
        skipped: usize,
        /// Estimated cost of the jobs to do, packet-hops.
        cost: f64,
        /// Threads.
        threads: usize,
    },
    /// A job ran to its end.
    Ran {
        /// Its index in the plan.
        job: usize,
        /// Its estimated cost.
        cost: f64,
    },
    /// A job only leaves a row: it breaks a rule of the switch, or is set aside.
    NotRun {
        /// Its index in the plan.
        job: usize,
    },
    /// A job failed.
    Failed {
        /// Its index in the plan.
        job: usize,
        /// Its estimated cost.
        cost: f64,
        /// Why.
        message: String,
    },
    /// A chunk's results are in the dataset.
    Published {
        /// Its jobs.
        jobs: usize,
    },
    /// No further jobs are started; those in flight finish.
    Stopping(Stop),
    /// Nothing is running any more.
    Finished,
}

/// Somebody who reports events. Called from one thread only.
pub trait Reporter: Send {
    /// Something happened.
    fn event(&mut self, event: &Event);
    /// Called several times a second, whether or not anything happened.
    fn tick(&mut self) {}
}

/// Reports nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Reporter for Silent {
    fn event(&mut self, _: &Event) {}
}
