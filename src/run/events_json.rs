//! Progress for programs: every event as a JSON object on a line of its own.
//!
//! Owns the names of the fields. They are for dashboards and wrappers of batch systems; results are
//! in the dataset.

use super::events::{Event, Reporter, Stop};
use crate::sweep::plan::JobId;
use serde_json::{Value, json};
use std::io::Write;
use std::time::Instant;

/// Writes events as they come.
pub(super) struct Events<W> {
    to: W,
    ids: Vec<JobId>,
    start: Instant,
}

impl<W: Write + Send> Events<W> {
    /// Writes to `to`; `ids` are those of the plan's jobs in its order.
    pub fn new(to: W, ids: Vec<JobId>) -> Self {
        Events { to, ids, start: Instant::now() }
    }

    fn id(&self, job: usize) -> Option<String> {
        self.ids.get(job).map(JobId::to_string)
    }

    fn json(&self, event: &Event) -> Value {
        let mut line = match event {
            Event::Started { jobs, skipped, cost, threads } => json!({
                "event": "started", "jobs": jobs, "done_before": skipped, "cost": cost,
                "threads": threads,
            }),
            Event::Ran { job, cost } => {
                json!({"event": "ran", "job": job, "job_id": self.id(*job), "cost": cost})
            }
            Event::NotRun { job } => {
                json!({"event": "not_run", "job": job, "job_id": self.id(*job)})
            }
            Event::Failed { job, cost, message } => json!({
                "event": "failed", "job": job, "job_id": self.id(*job), "cost": cost,
                "message": message,
            }),
            Event::Published { jobs } => json!({"event": "published", "jobs": jobs}),
            Event::Stopping(why) => {
                let why = match why {
                    Stop::Interrupted => "interrupted",
                    Stop::TooManyFailures => "too_many_failures",
                    Stop::Output => "output",
                };
                json!({"event": "stopping", "why": why})
            }
            Event::Finished => json!({"event": "finished"}),
        };
        line["seconds"] = json!(self.start.elapsed().as_secs_f64());
        line
    }
}

impl<W: Write + Send> Reporter for Events<W> {
    fn event(&mut self, event: &Event) {
        let line = self.json(event);
        // A reader that is gone must not end the run.
        let _ = writeln!(self.to, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_line() {
        let mut out = Vec::new();
        let mut events = Events::new(&mut out, vec![JobId(0xa), JobId(0xb)]);
        events.event(&Event::Started { jobs: 2, skipped: 1, cost: 30.0, threads: 2 });
        events.event(&Event::Failed { job: 1, cost: 5.0, message: "no\nroom".into() });
        events.event(&Event::Stopping(Stop::Interrupted));
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!((&lines[0]["event"], &lines[0]["jobs"]), (&json!("started"), &json!(2)));
        assert_eq!(lines[1]["job_id"], "000000000000000b");
        assert_eq!(lines[1]["message"], "no\nroom");
        assert_eq!(lines[2]["why"], "interrupted");
        assert!(lines.iter().all(|line| line["seconds"].is_f64()));
    }
}
