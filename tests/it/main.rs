//! Behaviour of the whole crate, one module a subject, in one binary.

mod golden;
mod sweeps;
