//! The planner: a sweep file becomes checked, deterministic jobs.
//!
//! Owns axes, filters, derived values, repetitions, seeds, job ids and the plan. Refuses to run
//! anything.

mod assemble;
mod axis;
mod base;
mod bind;
mod columns;
mod cost;
mod explain;
pub mod expr;
mod fault;
pub mod frozen;
mod grid;
mod identity;
mod keys;
mod layers;
mod load;
pub mod plan;
mod settings;
mod table;
mod template;
#[cfg(test)]
mod tests;
pub mod trace;
mod value;
mod yaml;

pub(crate) use fault::nearest;
pub(crate) use value::{decimal, float};

pub use explain::{Explanation, Origin};
pub use fault::{Place, Problem, SweepError};
pub use grid::SEMANTICS_VERSION;
pub use identity::identify;
pub use load::{HARD_LIMIT, SOFT_LIMIT};
