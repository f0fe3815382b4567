//! What a person or a log sees while a plan is executed.
//!
//! Owns the bar on a terminal and the lines elsewhere. Both count the same things; the time left
//! is reckoned from the cost left, not from the number of jobs, because jobs differ a thousandfold.

use super::events::{Event, Reporter, Stop};
use crate::sweep::plan::Job;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Time between two lines where there is no terminal.
pub const LINE_EVERY: Duration = Duration::from_secs(10);

/// Most failures told one by one; the summary has them all.
const FAILURES_TOLD: usize = 5;

/// What a person or a program sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Style {
    /// A bar.
    Bar,
    /// A line every ten seconds.
    Lines,
    /// Every event as one JSON object a line.
    Json,
    /// Nothing.
    None,
}

/// The reporter for this process; where no style is asked for a bar if stderr is a terminal, else
/// lines.
pub fn reporter(quiet: bool, style: Option<Style>, jobs: &[Job]) -> Box<dyn Reporter> {
    let usual = match std::io::stderr().is_terminal() {
        _ if quiet => Style::None,
        true => Style::Bar,
        false => Style::Lines,
    };
    match style.unwrap_or(usual) {
        Style::None => Box::new(super::events::Silent),
        Style::Bar => Box::new(Bar::new()),
        Style::Lines => Box::new(Lines::new(std::io::stderr(), LINE_EVERY)),
        Style::Json => {
            let ids = jobs.iter().map(|job| job.id).collect();
            Box::new(super::events_json::Events::new(std::io::stderr(), ids))
        }
    }
}

/// Counts, shared by both reporters.
#[derive(Debug, Default)]
struct Counts {
    jobs: usize,
    skipped: usize,
    done: usize,
    not_run: usize,
    failed: usize,
    cost: f64,
    cost_done: f64,
}

impl Counts {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Started { jobs, skipped, cost, .. } => {
                (self.jobs, self.skipped, self.cost) = (*jobs, *skipped, *cost);
            }
            Event::Ran { cost, .. } => {
                self.done += 1;
                self.cost_done += cost;
            }
            Event::NotRun { .. } => {
                self.done += 1;
                self.not_run += 1;
            }
            Event::Failed { cost, .. } => {
                self.done += 1;
                self.failed += 1;
                self.cost_done += cost;
            }
            Event::Published { .. } | Event::Stopping(_) | Event::Finished => {}
        }
    }

    /// Time left at the pace so far; `None` before there is a pace.
    fn left(&self, elapsed: Duration) -> Option<Duration> {
        let share = self.cost_done / self.cost;
        let seconds = elapsed.as_secs_f64() * (1.0 - share) / share;
        (share > 0.0).then(|| Duration::try_from_secs_f64(seconds.max(0.0)).ok())?
    }

    fn line(&self, elapsed: Duration) -> String {
        let rate = self.done as f64 / elapsed.as_secs_f64().max(1e-3);
        let mut line = format!("{}/{} jobs", self.done, self.jobs);
        for (count, what) in
            [(self.failed, "failed"), (self.not_run, "not run"), (self.skipped, "done before")]
        {
            if count > 0 {
                line.push_str(&format!(", {count} {what}"));
            }
        }
        line.push_str(&format!(", {rate:.1} jobs/s"));
        if let Some(left) = self.left(elapsed)
            && self.done < self.jobs
        {
            line.push_str(&format!(", about {} left", rough(left)));
        }
        line
    }
}

/// A duration to two figures of interest: `0.4 s`, `45 s`, `3 min 20 s`, `2 h 05 min`.
pub fn rough(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
    }
}

fn stopping(why: Stop) -> Option<&'static str> {
    match why {
        Stop::Interrupted => Some(
            "stopping: jobs in flight finish and are kept; the same command goes on later; \
             once more ends at once",
        ),
        Stop::TooManyFailures => {
            Some("stopping: too many jobs failed; jobs in flight finish and are kept")
        }
        // The error itself is told by whoever gets it.
        Stop::Output => None,
    }
}

/// One line every so often.
pub struct Lines<W> {
    to: W,
    every: Duration,
    start: Instant,
    last: Instant,
    counts: Counts,
}

impl<W: Write + Send> Lines<W> {
    /// Writes to `to`; the first line after `every`.
    pub fn new(to: W, every: Duration) -> Self {
        let now = Instant::now();
        Lines { to, every, start: now, last: now, counts: Counts::default() }
    }

    /// A log that is gone must not end the run.
    fn say(&mut self, text: &str) {
        let _ = writeln!(self.to, "{text}");
    }
}

impl<W: Write + Send> Reporter for Lines<W> {
    fn event(&mut self, event: &Event) {
        self.counts.take(event);
        match event {
            Event::Failed { job, message, .. } if self.counts.failed <= FAILURES_TOLD => {
                self.say(&format!("job {job} of the plan failed: {message}"));
            }
            Event::Stopping(why) => {
                if let Some(text) = stopping(*why) {
                    self.say(text);
                }
            }
            _ => {}
        }
    }

    fn tick(&mut self) {
        if self.last.elapsed() >= self.every {
            self.last = Instant::now();
            let line = self.counts.line(self.start.elapsed());
            self.say(&line);
        }
    }
}

/// A bar on a terminal.
pub struct Bar {
    bar: ProgressBar,
    start: Instant,
    counts: Counts,
}

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(10));
        // The template is ours and constant; a mistake in it would only cost the looks.
        if let Ok(style) = ProgressStyle::with_template("[{elapsed}] {bar:32} {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Bar { bar, start: Instant::now(), counts: Counts::default() }
    }
}

impl Reporter for Bar {
    fn event(&mut self, event: &Event) {
        self.counts.take(event);
        match event {
            Event::Started { jobs, .. } => self.bar.set_length(*jobs as u64),
            Event::Failed { job, message, .. } if self.counts.failed <= FAILURES_TOLD => {
                self.bar.println(format!("job {job} of the plan failed: {message}"));
            }
            Event::Stopping(why) => {
                if let Some(text) = stopping(*why) {
                    self.bar.println(text);
                }
            }
            Event::Finished => self.bar.finish_and_clear(),
            _ => {}
        }
    }

    fn tick(&mut self) {
        self.bar.set_position(self.counts.done as u64);
        self.bar.set_message(self.counts.line(self.start.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started() -> Event {
        Event::Started { jobs: 4, skipped: 2, cost: 100.0, threads: 2 }
    }

    #[test]
    fn the_time_left_follows_cost() {
        let mut counts = Counts::default();
        counts.take(&started());
        let elapsed = Duration::from_secs(30);
        assert_eq!(counts.left(elapsed), None);
        counts.take(&Event::Ran { job: 3, cost: 75.0 });
        assert_eq!(counts.left(elapsed), Some(Duration::from_secs(10)));
        let line = counts.line(elapsed);
        assert_eq!(line, "1/4 jobs, 2 done before, 0.0 jobs/s, about 10 s left");
    }

    #[test]
    fn a_line_every_so_often_and_failures_at_once() {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out, Duration::ZERO);
        lines.event(&started());
        lines.event(&Event::Failed { job: 7, cost: 100.0, message: "no room".into() });
        lines.tick();
        lines.event(&Event::Stopping(Stop::Interrupted));
        let text = String::from_utf8(out).unwrap();
        let told: Vec<&str> = text.lines().collect();
        assert_eq!(told[0], "job 7 of the plan failed: no room");
        assert!(told[1].starts_with("1/4 jobs, 1 failed, 2 done before, "), "{}", told[1]);
        assert!(told[2].starts_with("stopping: jobs in flight finish"), "{}", told[2]);
    }

    #[test]
    fn no_line_before_its_time() {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out, LINE_EVERY);
        lines.event(&started());
        lines.tick();
        assert!(out.is_empty());
    }

    #[test]
    fn durations_read_well() {
        let text = |seconds| rough(Duration::from_secs(seconds));
        assert_eq!([text(45), text(200), text(7_500)], ["45 s", "3 min 20 s", "2 h 05 min"]);
        assert_eq!(rough(Duration::from_millis(340)), "0.3 s");
    }
}
