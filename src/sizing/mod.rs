//! Sizing: the questions people bring, answered from what simulations gave.
//!
//! Owns the search for the smallest or largest setting that keeps a condition, and the frontier
//! between two figures. Refuses threads and files: whoever asks runs the simulations and tells what
//! they gave.

pub mod frontier;
pub mod search;
