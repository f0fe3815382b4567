//! Exit codes, in one place.
//!
//! Owns the meaning of every exit code and the one error type commands end with. Scripts and batch
//! systems act on these numbers; they do not change.

use crate::record::RecordError;
use crate::sweep::SweepError;
use std::fmt::Display;
use std::io;

/// What the process tells whoever started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done; infeasible points and jobs that used up their budget are results too.
    Done = 0,
    /// A bug of ours.
    Internal = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// A file is invalid, or `--strict` refused it.
    Invalid = 3,
    /// Interrupted; work is outstanding and the same command goes on with it.
    Interrupted = 5,
    /// Some jobs failed.
    JobsFailed = 6,
    /// Results could not be written or read back.
    Output = 7,
    /// A verification failed.
    Unverified = 8,
    /// Results differ from those they were compared with.
    Differ = 9,
}

impl Exit {
    /// The one with this code; a code of nobody's means a bug.
    pub fn of(code: i32) -> Exit {
        let all = [
            Exit::Done,
            Exit::Internal,
            Exit::Usage,
            Exit::Invalid,
            Exit::Interrupted,
            Exit::JobsFailed,
            Exit::Output,
            Exit::Unverified,
            Exit::Differ,
        ];
        all.into_iter().find(|&exit| exit as i32 == code).unwrap_or(Exit::Internal)
    }
}

/// Why a command did not end with [`Exit::Done`].
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What a person reads; empty if everything was said already.
    pub text: String,
}

impl Failure {
    /// A failure with a message.
    pub fn new(exit: Exit, text: impl Display) -> Self {
        Failure { exit, text: text.to_string() }
    }

    /// An exit code about which everything was said already.
    pub fn silent(exit: Exit) -> Self {
        Failure { exit, text: String::new() }
    }
}

/// Writing to stdout. A reader that has seen enough (`| head`) closed the pipe: that is success.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::silent(Exit::Done),
            _ => Failure::new(Exit::Output, format!("writing to stdout: {error}")),
        }
    }
}

/// Whatever is wrong with a sweep file.
impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        Failure::new(Exit::Invalid, error)
    }
}

/// Whatever is wrong with a dataset: what was asked for does not exist, the sweep file asks for
/// columns that cannot be, or the disk says no.
impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        let exit = match &error {
            RecordError::UnknownJob { .. } | RecordError::SameFolder { .. } => Exit::Usage,
            RecordError::NoPlan { .. } | RecordError::OtherPlan { .. } => Exit::Invalid,
            RecordError::Conflict { .. } => Exit::Differ,
            RecordError::SameColumn { .. } => Exit::Invalid,
            RecordError::TwiceInChunk(_)
            | RecordError::ColumnLength { .. }
            | RecordError::Rows { .. } => Exit::Internal,
            _ => Exit::Output,
        };
        Failure::new(exit, error)
    }
}
