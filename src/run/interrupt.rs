//! Asking a run to stop.
//!
//! Owns the meaning of SIGINT and SIGTERM: the first one stops the start of further jobs, so that
//! what is in flight finishes and is published; a second one, of either kind, ends the process at
//! once with the same exit code. Finished chunks are whole on disk either way.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Installs the handlers; the flag is set by the first signal.
///
/// # Errors
/// What the system says when it refuses a handler.
pub fn on_signals(exit_code: i32) -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: at the first signal the flag is still unset, so only the second exits.
        flag::register_conditional_shutdown(signal, exit_code, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
