//! The planner: a sweep file becomes checked, deterministic jobs.
//!
//! Owns axes, filters, derived values, repetitions, seeds, job ids and the plan. Refuses to run
//! anything.

mod axis;
mod base;
pub mod expr;
mod fault;
mod keys;
mod layers;
pub mod plan;
mod table;
mod value;
mod yaml;

pub use fault::{Place, Problem, SweepError};
