//! A run and the process that watches it, as a person sees them.
//!
//! Owns what is said, and done, when the process that runs the jobs dies.

use super::exit::{Exit, Failure};
use super::location::Place;
use crate::run::journal::{self, Story};
use crate::run::supervise::{self, Control, Ended};
use crate::run::suspects::Suspects;
use crate::run::{interrupt, origin};
use crate::sweep::plan::JobId;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Jobs in flight that are named; more are counted.
const NAMED: usize = 8;

/// Runs `work` in a process of its own that is watched, or here.
///
/// `work` gets the flag that asks to stop and the name of the run. `place` is the dataset's if it is
/// known before the sweep file is read. `folder` is the one it is worked on in, asked for only after
/// a death.
///
/// # Errors
/// Those of `work`; a death that cannot be gone on from.
pub fn watched(
    in_process: bool,
    place: Option<&Place>,
    folder: impl Fn() -> Result<PathBuf, Failure>,
    work: impl FnOnce(Arc<AtomicBool>, String) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let refused = |e| Failure::new(Exit::Internal, format!("installing signal handlers: {e}"));
    let code = Exit::Interrupted as i32;
    if let Ok(run) = std::env::var(supervise::WORKER) {
        let stop = interrupt::on_signals_watched().map_err(refused)?;
        supervise::obey(Arc::clone(&stop), code);
        return work(stop, run);
    }
    if in_process {
        return work(interrupt::on_signals(code).map_err(refused)?, origin::run_id());
    }
    let control = Control::install().map_err(refused)?;
    loop {
        let run = origin::run_id();
        let ended = supervise::work(&run, place.and_then(Place::copy), &control).map_err(|e| {
            let text = format!("starting the process that runs the jobs: {e}; try --in-process");
            Failure::new(Exit::Internal, text)
        })?;
        match ended {
            Ended::Exit(code) => {
                return match Exit::of(code) {
                    Exit::Done => Ok(()),
                    exit => Err(Failure::silent(exit)),
                };
            }
            Ended::Died { cause, own } => {
                let noted = after_death(&folder()?, &run, &cause, own);
                let kept = place.map_or(Ok(()), Place::keep_notes);
                // That the run ended is told first; notes not kept are told if it could go on.
                noted.and(kept)?;
            }
        }
        if control.stopping() {
            return Err(Failure::new(
                Exit::Interrupted,
                "interrupted: the same command goes on with what is outstanding",
            ));
        }
    }
}

/// Takes note of a death; an error if the run does not go on.
fn after_death(folder: &Path, run: &str, cause: &str, own: bool) -> Result<(), Failure> {
    // It may have died before it had a journal.
    let _ = journal::add_death(folder, run, cause, own);
    if !own {
        return Err(Failure::new(
            Exit::Interrupted,
            format!(
                "the process that runs the jobs was ended: {cause}; finished chunks are kept, the \
                 same command goes on with the others"
            ),
        ));
    }
    let story = Story::read(&journal::file(folder, run)).unwrap_or_default();
    let in_flight: Vec<JobId> = story.in_flight.into_keys().collect();
    if in_flight.is_empty() {
        return Err(Failure::new(
            Exit::Internal,
            format!("the process that runs the jobs died of {cause} with no job in flight"),
        ));
    }
    let suspects = Suspects::of(folder);
    let known = suspects
        .died(&in_flight, run, cause)
        .and_then(|()| suspects.all())
        .map_err(|e| Failure::new(Exit::Output, format!("the process died of {cause}; {e}")))?;
    let mut names: Vec<String> = in_flight.iter().take(NAMED).map(JobId::to_string).collect();
    if in_flight.len() > NAMED {
        names.push(format!("and {} more", in_flight.len() - NAMED));
    }
    let names = names.join(", ");
    let then = match in_flight.as_slice() {
        [job] if known.get(job).is_some_and(|s| s.is_set_aside()) => {
            "twice now, alone in flight: it is set aside as quarantined, the others go on"
        }
        [_] => "alone in flight: it is tried once more, alone, after the others",
        _ => "in flight: they are tried again one at a time, after the others",
    };
    // Whoever closed stderr does not want to know.
    let _ = writeln!(std::io::stderr(), "warning: the process died of {cause} with {names} {then}");
    Ok(())
}
