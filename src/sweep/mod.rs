//! The planner: a sweep file becomes checked, deterministic jobs.
//!
//! Owns axes, filters, derived values, repetitions, seeds, job ids and the plan. Refuses to run
//! anything.

pub mod expr;
pub mod plan;
