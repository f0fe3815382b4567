//! Executing a plan.
//!
//! Owns threads, chunks, what is left to do, progress, panics and interruption. Refuses to know
//! what a job computes ([`Work`]) or how results are stored ([`Sink`]): completion order can never
//! leak into results, because a sink sees the jobs of a chunk in the order of the plan, whatever
//! the number of threads.

pub mod again;
pub mod chunks;
pub mod estimate;
pub mod events;
mod events_json;
mod executor;
pub mod interrupt;
pub mod journal;
pub mod origin;
mod panics;
pub mod progress;
pub mod recheck;
pub mod recorder;
pub mod reuse;
pub mod shard;
pub mod simulator;
pub mod status;
pub mod supervise;
pub mod suspects;

pub use chunks::{Chunk, Task};
pub use events::{Event, Reporter, Stop};
pub use executor::{Ended, Finished, Options, Outcome, Sink, Tally, Work, execute};
pub use panics::catch;
