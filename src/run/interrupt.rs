//! Asking a run to stop.
//!
//! Owns the meaning of SIGINT, SIGTERM and SIGUSR1 (which batch systems send before a time limit):
//! the first one stops the start of further jobs, so that what is in flight finishes and is
//! published; a second one, of any kind, ends the process at once with the same exit code. Finished
//! chunks are whole on disk either way.

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The signals that ask.
pub const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGUSR1];

/// Installs the handlers; the flag is set by the first signal, a second one ends the process.
///
/// # Errors
/// What the system says when it refuses a handler.
pub fn on_signals(exit_code: i32) -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        // In this order: at the first signal the flag is still unset, so only the second exits.
        flag::register_conditional_shutdown(signal, exit_code, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// The same for a worker that is watched: a signal only sets the flag, however often it comes; its
/// watcher, who may get the same signal, says when to end at once.
///
/// # Errors
/// What the system says when it refuses a handler.
pub fn on_signals_watched() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
