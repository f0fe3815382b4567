//! Explaining drops and pauses: what is found in many jobs, and what happened in one.
//!
//! Owns the definitions of the findings and their thresholds, the first drop of a job with the
//! counters at that instant, and the setting to move. Refuses to run jobs, to read files and to
//! choose words.

mod axes;
mod cause;
mod facts;
mod findings;
mod ns3;
mod stats;

pub use axes::{Axis, AxisRuns, AxisValue, Flip, PointFacts, Run, axis_runs, flips};
pub use cause::{
    Advice, Because, Counter, DropSite, Explained, Held, Moment, applied, explain, held, moment,
    narrowed, sites,
};
pub use facts::{JobFacts, Settings};
pub use findings::{FLAP_FRAMES, FLAP_LEAST, Finding, HOG_SHARE};
pub use stats::{PointLoss, losses, wilson};

/// Points flip where their settings differ by at most this share.
pub const FLIP_SHARE: f64 = 0.01;

#[cfg(test)]
mod tests;
