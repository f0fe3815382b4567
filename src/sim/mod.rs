//! The simulator: a pure function from a scenario and its seeds to observations.
//!
//! Owns events and their total order, links, hosts, switches, traffic and measurement. Refuses to
//! know about YAML, files, threads or wall clocks: same input, same bits, on any machine.

pub mod observe;
pub mod random;
pub mod traffic;
