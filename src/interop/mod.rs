//! What other programs write, and what their scripts read.
//!
//! Owns importing (`hpcc`: the input files of HPCC's ns-3 code) and exporting (`traces`: the trace
//! files of that code). Refuses to run jobs and to know how a dataset is stored.

pub mod hpcc;
pub mod traces;
